"""From files to pairs, and what a line is: text between line feeds, whatever else it contains."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt.characters import is_blank
from nmt.errors import DataError


def split_lines(text: str) -> list[str]:
    r"""The lines of a text: only \n separates them, and the \r before it goes with it.

    `str.splitlines` would also break at form feeds, at U+2028 and at other characters that stand inside sentences, and
    the two sides of a parallel text would lose step.
    """
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file, without a byte-order mark. Raises DataError where there is no such text file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise DataError(f"{path}: is a folder; name a text file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        return split_lines(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1  # of the bytes after a byte-order mark, if there is one
        raise DataError(
            f"{path}:{number}: not UTF-8 (byte 0x{error.object[error.start]:02x}); convert the file, for example with "
            f"iconv -f latin1 -t utf-8"
        ) from None


@dataclass(frozen=True)
class ParallelText:
    """Sentences and their translations, one for one.

    Where they count, `before` are the source sentences before each, and `links` the (source, target) words of each pair
    that belong together, counted from 0.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    links: tuple[tuple[tuple[int, int], ...], ...] = ()

    def __len__(self) -> int:
        return len(self.source)

    def __post_init__(self) -> None:
        assert len(self.source) == len(self.target)
        assert len(self.before) in (0, len(self.source))
        assert len(self.links) in (0, len(self.source))

    def select(self, indices: Sequence[int]) -> "ParallelText":
        """The pairs with these numbers."""
        return ParallelText(
            tuple(self.source[index] for index in indices),
            tuple(self.target[index] for index in indices),
            tuple(self.before[index] for index in indices) if self.before else (),
            tuple(self.links[index] for index in indices) if self.links else (),
        )


def require_equal(first: Sequence[object], first_name: object, second: Sequence[object], second_name: object) -> None:
    """Raises DataError, naming both, where two texts differ in their number of lines."""
    if len(first) != len(second):
        raise DataError(
            f"{first_name} has {len(first)} lines but {second_name} has {len(second)}: "
            f"line i of the one must belong to line i of the other"
        )


def read_parallel(source: Path, target: Path) -> ParallelText:
    """Two files aligned by line. Raises DataError where one is missing, they differ in length, or hold no text."""
    if source == target:
        raise DataError(f"{source}: is named as source and as target; give each language's own file")
    source_lines, target_lines = read_lines(source), read_lines(target)
    require_equal(source_lines, source, target_lines, target)
    for path, lines in ((source, source_lines), (target, target_lines)):
        if all(is_blank(line) for line in lines):
            raise DataError(f"{path}: is empty; it must hold one sentence a line")
    return ParallelText(tuple(source_lines), tuple(target_lines))


def without_blank(text: ParallelText) -> ParallelText:
    """The pairs of which neither side is blank: nothing can be learnt from the others."""
    pairs = enumerate(zip(text.source, text.target, strict=True))
    return text.select([index for index, (source, target) in pairs if not is_blank(source) and not is_blank(target)])


def overlap(train: ParallelText, test: ParallelText) -> int:
    """The number of test sources that also stand in training, spaces at the ends aside."""
    seen = {line.strip() for line in train.source}
    return sum(line.strip() in seen for line in test.source)
