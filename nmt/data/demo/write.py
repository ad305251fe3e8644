"""The files of the demo corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt.data.demo.corpus import make_pairs
from nmt.data.demo.documents import Document, Line, make_documents
from nmt.data.demo.tokens import Pair, bare_words


@dataclass(frozen=True)
class DemoSummary:
    """What was written."""

    pairs: dict[str, int]
    """Sentence pairs of each split."""
    documents: dict[str, int]
    """Documents of each split."""
    english_words: int
    """Different English words in the training pairs, without punctuation."""
    german_words: int
    """Different German words in the training pairs, without punctuation."""


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_bytes("".join(line + "\n" for line in lines).encode())


def _write_pairs(directory: Path, split: str, pairs: Sequence[Pair]) -> None:
    _write(directory / f"{split}.en", [pair.english for pair in pairs])
    _write(directory / f"{split}.de", [pair.german for pair in pairs])
    _write(directory / f"{split}.links", [pair.pharaoh for pair in pairs])


def _pronoun(line: Line) -> str:
    return f"{line.place[0]}\t{line.place[1]}\t{line.gender}" if line.place else ""


def _write_documents(directory: Path, split: str, documents: Sequence[Document]) -> None:
    """One sentence a line, an empty line between documents, in five files alike."""
    columns: dict[str, list[str]] = {"en": [], "de": [], "links": [], "pronouns": [], "wrong": []}
    for index, document in enumerate(documents):
        if index:
            for column in columns.values():
                column.append("")
        columns["en"] += [line.pair.english for line in document]
        columns["de"] += [line.pair.german for line in document]
        columns["links"] += [line.pair.pharaoh for line in document]
        columns["pronouns"] += [_pronoun(line) for line in document]
        columns["wrong"] += ["\t".join(line.wrong) for line in document]
    for name, column in columns.items():
        _write(directory / f"{split}.{name}", column)


def _vocabulary(lines: Sequence[str]) -> int:
    return len({word for line in lines for word in bare_words(line)[1:]})


def write_demo_corpus(directory: Path, seed: int = 1) -> DemoSummary:
    """Write the sentence pairs, their links and the documents below `directory`, which is created if need be.

    The same seed gives the same bytes everywhere.
    """
    pairs = make_pairs(seed)
    documents = make_documents(seed, pairs["train"])
    (directory / "documents").mkdir(parents=True, exist_ok=True)
    for split, split_pairs in pairs.items():
        _write_pairs(directory, split, split_pairs)
    for split, split_documents in documents.items():
        _write_documents(directory / "documents", split, split_documents)
    return DemoSummary(
        pairs={split: len(items) for split, items in pairs.items()},
        documents={split: len(items) for split, items in documents.items()},
        english_words=_vocabulary([pair.english for pair in pairs["train"]]),
        german_words=_vocabulary([pair.german for pair in pairs["train"]]),
    )
