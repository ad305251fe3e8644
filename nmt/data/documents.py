"""Which sentences stand before a sentence: documents end at blank lines, or where their name changes."""

from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

from nmt.characters import is_blank
from nmt.data.corpus import read_lines, require_equal
from nmt.data.tokenizer import Tokenizer


class SentencesBefore:
    """Goes through a text line by line, and tells of each the sentences before it in its document, at most `count`.

    Without names, a blank line ends a document; with them, a document ends where the name changes, and blank lines are
    passed over. A blank line has none before it.
    """

    def __init__(self, count: int) -> None:
        self._before: deque[str] = deque(maxlen=count)
        self._name: str | None = None

    def of(self, line: str, name: str | None = None) -> tuple[str, ...]:
        """Those before `line`, in the text's order; the next line comes after it."""
        blank = is_blank(line)
        if name != self._name or (blank and name is None):
            self._before.clear()
            self._name = name
        before = () if blank else tuple(self._before)
        if not blank:
            self._before.append(line)
        return before


def sentences_before(lines: Iterable[str], count: int, names: Sequence[str] | None = None) -> list[tuple[str, ...]]:
    """The sentences before each line of a whole text, whose documents may have names, one a line."""
    walk = SentencesBefore(count)
    if names is None:
        return [walk.of(line) for line in lines]
    return [walk.of(line, name) for line, name in zip(lines, names, strict=True)]


def read_names(path: Path, lines: Sequence[str], what: object) -> list[str]:
    """The name of each line's document. Raises DataError where the file is missing, or has not a line for each."""
    names = read_lines(path)
    require_equal(lines, what, names, path)
    return [name.strip() for name in names]


def context_pieces(tokenizer: Tokenizer, before: Sequence[str], longest: int) -> tuple[tuple[int, ...], ...]:
    """The sentences before a sentence in pieces, each cut off after `longest`; one without pieces is passed over."""
    encoded = (tokenizer.encode(line).numbers[:longest] for line in before)
    return tuple(pieces for pieces in encoded if pieces)
