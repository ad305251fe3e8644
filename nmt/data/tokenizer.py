"""SentencePiece: from a line to numbered pieces and back, and which word each piece belongs to."""

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import sentencepiece

from nmt.errors import CheckpointError, ConfigError, DataError

PADDING, UNKNOWN, BEGIN, END = 0, 1, 2, 3
"""The numbers of the special pieces, in every vocabulary."""

SPECIAL_TEXTS = ("\ue000pad", "\ue000unknown", "\ue000begin", "\ue000end")
"""Their texts. SentencePiece leaves out of its training whatever looks like a special piece, so they begin with a
private-use character: `<s>`, `</s>`, `<pad>` and `<unk>` in a text are then text like any other."""


@dataclass(frozen=True)
class Pieces:
    """A line in pieces.

    `numbers` are the pieces' numbers without begin or end, `texts` their texts, and `spans` where each stands in the
    line, in characters: (start, end), end exclusive.
    """

    numbers: tuple[int, ...]
    texts: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


class Tokenizer:
    """One SentencePiece model.

    `words_apart`: encode word by word, for models whose pieces are whole words. SentencePiece joins neighbouring
    unknown pieces into one, and a row of unknown words would become a single piece.
    """

    def __init__(self, model: bytes, *, words_apart: bool = False) -> None:
        self.model = model
        self.words_apart = words_apart
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    def encode(self, line: str) -> Pieces:
        """The pieces of a line; none where the line is blank."""
        numbers: list[int] = []
        texts: list[str] = []
        spans: list[tuple[int, int]] = []
        for start, part in word_starts(line) if self.words_apart else [(0, line)]:
            parts = self._processor.encode(part, return_type="offset_mapping")
            numbers += parts["ids"]
            texts += parts["pieces"]
            spans += [(start + begin, start + end) for begin, end in parts["offsets"]]
        return Pieces(tuple(numbers), tuple(texts), tuple(spans))

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of pieces; special pieces have none."""
        text: str = self._processor.decode([number for number in numbers if number > END])
        return text

    def written(self, numbers: Sequence[int]) -> Pieces:
        """Pieces that a model wrote, and where each stands in their text: what the text grows by with each."""
        lengths = [len(self.decode(numbers[:count])) for count in range(len(numbers) + 1)]
        texts = tuple(self._processor.id_to_piece(number) for number in numbers)
        return Pieces(tuple(numbers), texts, tuple(pairwise(lengths)))


def word_starts(line: str) -> list[tuple[int, str]]:
    """The words of a line, as `str.split` finds them, each with the character it starts at."""
    starts, position = [], 0
    for word in line.split():
        position = line.index(word, position)
        starts.append((position, word))
        position += len(word)
    return starts


def load_tokenizer(path: Path, *, kind: str) -> Tokenizer:
    """The tokenizer of a file. Raises CheckpointError where the file is missing or is no SentencePiece model."""
    try:
        tokenizer = Tokenizer(path.read_bytes(), words_apart=kind == "word")
        if not len(tokenizer):
            raise RuntimeError("empty")
        return tokenizer
    except FileNotFoundError:
        raise CheckpointError(f"{path}: the run folder's tokenizer is missing") from None
    except RuntimeError:
        raise CheckpointError(f"{path}: not a SentencePiece model") from None


@dataclass(frozen=True)
class TrainedTokenizer:
    """A tokenizer, and one line about it where it is not what was asked for."""

    tokenizer: Tokenizer
    note: str | None = None


def train_tokenizer(
    lines: Sequence[str], *, kind: str, vocabulary_size: int, character_coverage: float, what: str
) -> TrainedTokenizer:
    """Learn pieces from `lines`; `what` names the text in messages.

    A vocabulary larger than the text supports is lowered to the largest possible, and `note` says so. Raises
    ConfigError where it is too small to hold the text's characters.
    """
    if not any(line.strip() for line in lines):
        raise DataError(f"the {what} holds no text to learn pieces from")
    try:
        trained = _train(lines, kind, vocabulary_size, character_coverage)
    except RuntimeError as error:
        message = str(error)
        possible = re.search(r"value <= (\d+)", message)
        if not possible:
            raise _refusal(message, kind, vocabulary_size, what) from None
        trained = _train(lines, kind, int(possible.group(1)), character_coverage)
    size, note = len(trained), None
    if size < vocabulary_size:
        note = f"the {what} supports {size} pieces at most: the vocabulary has {size}, not {vocabulary_size}"
    return TrainedTokenizer(trained, note)


def _refusal(message: str, kind: str, vocabulary_size: int, what: str) -> ConfigError:
    """SentencePiece's complaint, in words for people."""
    needed = re.search(r"(\d+) vs (\d+)", message)
    if needed:
        return ConfigError(
            f"tokenizer.vocabulary_size: {vocabulary_size} is too small for the {what}, whose characters and special "
            f"pieces alone are {int(needed.group(2)) + 1}: give more, or lower tokenizer.character_coverage"
        )
    return ConfigError(
        f"tokenizer: SentencePiece cannot learn {kind} pieces from the {what}: {message.splitlines()[-1]}"
    )


def _train(lines: Sequence[str], kind: str, vocabulary_size: int, character_coverage: float) -> Tokenizer:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type=kind,
        vocab_size=vocabulary_size,
        character_coverage=character_coverage,
        pad_id=PADDING,
        pad_piece=SPECIAL_TEXTS[PADDING],
        unk_id=UNKNOWN,
        unk_piece=SPECIAL_TEXTS[UNKNOWN],
        bos_id=BEGIN,
        bos_piece=SPECIAL_TEXTS[BEGIN],
        eos_id=END,
        eos_piece=SPECIAL_TEXTS[END],
        max_sentence_length=65536,
        input_sentence_size=2_000_000,
        shuffle_input_sentence=True,
        minloglevel=2,
    )
    return Tokenizer(model.getvalue(), words_apart=kind == "word")
