"""SentencePiece: from a line to numbered pieces and back, and which word each piece belongs to."""

import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path

import sentencepiece

from nmt.characters import is_blank
from nmt.errors import CheckpointError, ConfigError, DataError

PADDING, UNKNOWN, BEGIN, END = 0, 1, 2, 3
"""The numbers of the special pieces, in every vocabulary."""

SPECIAL_TEXTS = ("\ue000pad", "\ue000unknown", "\ue000begin", "\ue000end")
"""Their texts. SentencePiece leaves out of its training whatever looks like a special piece, so they begin with a
private-use character: `<s>`, `</s>`, `<pad>` and `<unk>` in a text are then text like any other."""

_BOUNDARY = "\u2581"
"""What stands for a space in a piece's text."""

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Letters of scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""


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
        """The pieces of a line; none where there is nothing to be seen in it."""
        if is_blank(line):
            return Pieces((), (), ())
        numbers: list[int] = []
        texts: list[str] = []
        spans: list[tuple[int, int]] = []
        for start, part in word_starts(line) if self.words_apart else [(0, line)]:
            parts = self._processor.encode(part, return_type="offset_mapping")
            numbers += parts["ids"]
            texts += parts["pieces"]
            spans += [(start + begin, start + end) for begin, end in parts["offsets"]]
        return Pieces(tuple(numbers), tuple(texts), tuple(spans))

    def decode(self, numbers: Iterable[int], start: str = "") -> str:
        """The text of pieces, one line; special pieces have none.

        `start` is what the first pieces are the encoding of: it stands in the text as it is given.
        """
        if not start:
            return self._decode(numbers)
        return start + self._after_a_word(list(numbers)[len(self.encode(start).numbers) :])

    def _after_a_word(self, numbers: Iterable[int]) -> str:
        """What pieces add to a text that has begun, the space before them included."""
        return self._decode([self._word, *numbers])[len(self._decode([self._word])) :]

    @cached_property
    def _word(self) -> int:
        """A piece that is seen by itself."""
        ordinary = (one for one in range(END + 1, len(self)) if not self._processor.is_byte(one))
        return next(one for one in ordinary if self._decode([one]).strip())

    def _decode(self, numbers: Iterable[int]) -> str:
        text: str = self._processor.decode([number for number in numbers if number > END])
        if self.words_apart:  # where the boundary may have become bytes, which SentencePiece puts together again
            text = text.replace(_BOUNDARY, " ").removeprefix(" ")
        # Bytes may be those of a line's end.
        return text.replace("\n", " ").replace("\r", " ")

    def written(self, numbers: Sequence[int], start: str = "") -> Pieces:
        """Pieces that a model wrote, and where each stands in their text: what the text grows by with each."""
        begun = self.encode(start)
        rest = numbers[len(begun.numbers) :]
        grown = self._after_a_word if start else self._decode
        lengths = [len(start) + len(grown(rest[:count])) for count in range(len(rest) + 1)]
        # The first bytes of a character count as several while it is not whole.
        lengths = list(accumulate(reversed(lengths), min))[::-1]
        # An unknown piece has no text of its own; the words that a translation was to begin with may hold some.
        texts = (*begun.texts, *(self._processor.id_to_piece(number) for number in rest))
        return Pieces(tuple(numbers), texts, (*begun.spans, *pairwise(lengths)))

    @cached_property
    def grows_word(self) -> tuple[bool, ...]:
        """For each piece, whether it grows the word that it is written after: with a letter, digit, mark or byte.

        In scripts that put no spaces between words, none does.
        """
        numbers = range(len(self))
        return tuple(self._processor.is_byte(one) or _grows(self._processor.id_to_piece(one)) for one in numbers)


def _grows(piece: str) -> bool:
    return unicodedata.category(piece[0])[0] in "LMN" and not _UNSPACED.match(piece)


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
    lines: Sequence[str],
    *,
    kind: str,
    vocabulary_size: int,
    character_coverage: float,
    what: str,
    byte_fallback: bool = False,
) -> TrainedTokenizer:
    """Learn pieces from `lines`; `what` names the text in messages.

    A vocabulary larger than the text supports is lowered to the largest possible, and `note` says so. Raises
    ConfigError where it is too small to hold the text's characters.
    """
    if all(is_blank(line) for line in lines):
        raise DataError(f"the {what} holds no text to learn pieces from")
    try:
        trained = _train(lines, kind, vocabulary_size, character_coverage, byte_fallback)
    except RuntimeError as error:
        message = str(error)
        possible = re.search(r"value <= (\d+)", message)
        if not possible:
            raise _refusal(message, kind, vocabulary_size, what) from None
        trained = _train(lines, kind, int(possible.group(1)), character_coverage, byte_fallback)
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


def _train(
    lines: Sequence[str], kind: str, vocabulary_size: int, character_coverage: float, byte_fallback: bool
) -> Tokenizer:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type=kind,
        vocab_size=vocabulary_size,
        character_coverage=character_coverage,
        byte_fallback=byte_fallback,
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
