"""The texts that a config names, read and checked before anything is written; and what is learnt from them."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nmt.alignment.links import Links, check_range, read_links
from nmt.alignment.units import Units, linked_pieces, units_of
from nmt.characters import is_blank
from nmt.config.schema import Config, LinkedFiles, ParallelFiles
from nmt.data.batching import Example
from nmt.data.corpus import ParallelText, read_parallel, require_equal, without_blank
from nmt.data.documents import context_pieces, read_names, sentences_before
from nmt.data.tokenizer import Pieces, Tokenizer, train_tokenizer
from nmt.errors import DataError
from nmt.files import write_text

_SPLIT = 1
"""What held-out pairs are drawn by, whatever the run's seed: runs of several seeds compare on the same texts alone."""


@dataclass(frozen=True)
class Texts:
    """Training, validation and test text, and lines worth telling about them.

    `gold` are the links of the test, `valid_gold` those of the validation text, where known. `held_out` names those
    texts (valid, test) that were taken out of the training text.
    """

    train: ParallelText
    valid: ParallelText
    test: ParallelText | None
    gold: Sequence[Links] | None
    valid_gold: Sequence[Links] | None
    held_out: tuple[str, ...]
    notes: tuple[str, ...]

    def digest(self) -> str:
        """A fingerprint of every line, by which a resumed run knows that its texts are still the same."""
        sums = hashlib.blake2b(digest_size=16)
        for text in (self.train, self.valid, self.test):
            if text is None:
                continue
            for side in (text.source, text.target, *text.before):
                sums.update("\n".join(side).encode() + b"\0")
        if self.train.links:
            sums.update(repr(self.train.links).encode())
        return sums.hexdigest()


def read_texts(config: Config) -> Texts:
    """Raises DataError where a file is missing, empty, or does not fit its neighbour."""
    data = config.data
    whole = _with_links(config, _read(data.train, data.document_context))
    train = without_blank(whole)
    if not len(train):
        raise DataError(f"{data.train.source}: no line has text on both sides; training needs sentence pairs")
    pairs = zip(whole.source, whole.target, strict=True)
    ends = sum(is_blank(source) and is_blank(target) for source, target in pairs) if data.document_context else 0
    dropped = len(whole) - len(train) - ends
    notes = [f"{dropped:,} training pairs with a blank side are left out"] if dropped else []
    read = {
        name: _read(files, data.document_context)
        for name, files in (("valid", data.valid), ("test", data.test))
        if files is not None
    }
    missing = tuple(name for name in ("valid", "test") if name not in read) if data.hold_out is not None else ()
    if data.hold_out is not None and missing:
        train, taken = hold_out(train, data.hold_out, len(missing))
        read |= zip(missing, taken, strict=True)
        notes.append(f"held out of the training text: {data.hold_out:,} pairs each for {' and '.join(missing)}")
    if train.links:
        notes.append(f"attention is taught {sum(map(len, train.links)):,} links of the training text")
    linked = {
        name: files
        for name, files in (("valid", data.valid), ("test", data.test))
        if files is not None and files.alignment is not None
    }
    if linked and config.alignment.unit == "piece":
        notes.append("gold links stand between words, alignment.unit is piece: no alignment error rate")
        linked = {}
    gold = {name: _links_of(files, read[name], config.alignment.unit) for name, files in linked.items()}
    return Texts(train, read["valid"], read.get("test"), gold.get("test"), gold.get("valid"), missing, tuple(notes))


def _links_of(files: LinkedFiles, text: ParallelText, unit: str) -> list[Links]:
    assert files.alignment is not None
    return read_gold(files.alignment, 0, text.source, text.target, source_name=files.source, unit=unit)


def _read(files: ParallelFiles, document_context: int) -> ParallelText:
    """A text, with the sentences before each of its own where those count."""
    text = read_parallel(files.source, files.target)
    if not document_context:
        return text
    names = None if files.documents is None else read_names(files.documents, text.source, files.source)
    return replace(text, before=tuple(sentences_before(text.source, document_context, names)))


def _with_links(config: Config, text: ParallelText) -> ParallelText:
    """The training text with the links that attention is taught, where it is taught any; the sure ones alone.

    Raises DataError where they do not fit the text, or there are none.
    """
    guided = config.training.guided_alignment
    if guided is None:
        return text
    files, unit = config.data.train, _unit_of_links(config)
    read = read_gold(guided.links, 0, text.source, text.target, source_name=files.source, unit=unit)
    if not any(links.sure for links in read):
        raise DataError(
            f"{guided.links}: has no sure link (i-j); give those of {files.source} and {files.target}, or leave "
            f"training.guided_alignment out"
        )
    return replace(text, links=tuple(tuple(sorted(links.sure)) for links in read))


def _unit_of_links(config: Config) -> str:
    """What links of a text stand between: words, unless alignments are shown of characters."""
    return "character" if config.alignment.unit == "character" else "word"


def hold_out(text: ParallelText, pairs: int, parts: int) -> tuple[ParallelText, list[ParallelText]]:
    """Take `parts` times `pairs` pairs out of a text, at random, none of whose sources stands in it twice.

    Those of one text are the same every time. Raises DataError where less than half of it would be left to learn from.
    """
    counts = Counter(source.strip() for source in text.source)
    free = [index for index, source in enumerate(text.source) if counts[source.strip()] == 1]
    wanted = pairs * parts
    if wanted > len(free) or 2 * wanted > len(text):
        raise DataError(
            f"data.hold_out: {pairs} pairs {'each for valid and test ' if parts == 2 else ''}are too many to take out "
            f"of {len(text)}; at least half must be left, and each source must stand there once; give fewer"
        )
    order = [free[index] for index in np.random.default_rng(_SPLIT).permutation(len(free))[:wanted].tolist()]
    chosen = set(order)
    rest = text.select([index for index in range(len(text)) if index not in chosen])
    return rest, [text.select(sorted(order[part * pairs : (part + 1) * pairs])) for part in range(parts)]


def write_held_out(texts: Texts, folder: Path, config: Config) -> None:
    """Keep what was held out beside the run, as valid.en, valid.de and so on."""
    for name in texts.held_out:
        text = texts.valid if name == "valid" else texts.test
        assert text is not None
        ends = [config.data.source_language, config.data.target_language]
        if ends[0] == ends[1]:  # as in simplification
            ends = [f"source.{ends[0]}", f"target.{ends[1]}"]
        for end, lines in zip(ends, (text.source, text.target), strict=True):
            write_text(folder / f"{name}.{end}", "".join(f"{line}\n" for line in lines))


def read_gold(
    path: Path, base: int, sources: Sequence[str], targets: Sequence[str], *, source_name: object, unit: str
) -> list[Links]:
    """Gold links of a text, between its words or, where `unit` is character, its visible characters.

    Raises DataError where they do not fit the text: too few lines, or words that are not there.
    """
    gold = read_links(path, base=base)
    require_equal(gold, path, sources, source_name)
    for number, (links, source, target) in enumerate(zip(gold, sources, targets, strict=True), start=1):
        words, others = (side.split() if unit == "word" else "".join(side.split()) for side in (source, target))
        check_range(links.possible, len(words), len(others), f"{path}:{number}")
    return gold


def learn_tokenizers(config: Config, train: ParallelText) -> tuple[Tokenizer, Tokenizer, list[str]]:
    """The tokenizers of both languages, one object where they share it, and lines worth telling about them."""
    settings = config.tokenizer
    sides = {"source text": train.source, "target text": train.target}
    if settings.shared:
        sides = {"training text": (*train.source, *train.target)}
    trained = [
        train_tokenizer(
            lines,
            kind=settings.type,
            vocabulary_size=settings.vocabulary_size,
            character_coverage=settings.character_coverage,
            byte_fallback=settings.byte_fallback,
            what=what,
        )
        for what, lines in sides.items()
    ]
    notes = [one.note for one in trained if one.note is not None]
    return trained[0].tokenizer, trained[-1].tokenizer, notes


def examples_of(config: Config, text: ParallelText, source: Tokenizer, target: Tokenizer) -> list[Example]:
    """The pairs of a text in pieces."""
    longest, unit, examples = config.data.max_length, _unit_of_links(config), []
    none: Sequence[tuple[()]] = [()] * len(text)
    rows = zip(text.source, text.target, text.before or none, text.links or none, strict=True)
    for one, other, before, links in rows:
        read, written = source.encode(one), target.encode(other)
        linked = linked_pieces(links, _units(one, read, unit), _units(other, written, unit)) if links else ()
        examples.append(Example(read.numbers, written.numbers, context_pieces(source, before, longest), linked))
    return examples


def _units(line: str, pieces: Pieces, unit: str) -> Units:
    return units_of(line, pieces.texts, pieces.spans, unit)


def training_examples(config: Config, text: ParallelText, source: Tokenizer, target: Tokenizer) -> list[Example]:
    """The pairs to learn from, those left out that have a side longer than `data.max_length`, or one without pieces.

    Raises DataError where none is left.
    """
    longest, files = config.data.max_length, config.data.train
    examples = examples_of(config, text, source, target)
    kept = [e for e in examples if e.source and e.target and e.length <= longest + 1]
    if not kept:
        raise DataError(
            f"{files.source}, {files.target}: every pair has a side of more than {longest} pieces; raise "
            f"data.max_length, or a larger tokenizer.vocabulary_size makes fewer pieces of a sentence"
        )
    return kept
