"""Lines in and lines out: files, pipes and terminals."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TextIO

from nmt.errors import DataError


def input_lines(path: Path | None) -> list[str]:
    """All lines of a file, or of stdin. Raises DataError where it cannot be read as UTF-8 text."""
    from nmt.data.corpus import read_lines, split_lines

    if path is not None:
        return read_lines(path)
    return split_lines(_decoded(sys.stdin.buffer.read()).removeprefix("\ufeff"))


def lines_as_they_come(path: Path | None) -> Iterator[str]:
    """The lines of a file, or of stdin while they are being written; a terminal is asked for each."""
    if path is not None:
        yield from input_lines(path)
        return
    asking = sys.stdin.isatty()
    for number in count(1):
        if asking:
            print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.buffer.readline()
        if not line:
            if asking:
                print(file=sys.stderr)
            return
        text = _decoded(line, number)
        yield (text.removeprefix("\ufeff") if number == 1 else text).removesuffix("\n").removesuffix("\r")


def _decoded(content: bytes, first: int = 1) -> str:
    """Text of UTF-8 bytes whose first line has number `first`."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        number = first + content.count(b"\n", 0, error.start)
        raise DataError(
            f"stdin:{number}: not UTF-8 (byte 0x{content[error.start]:02x}); convert the text first, for example with "
            f"iconv -f latin1 -t utf-8"
        ) from None


@contextmanager
def output(path: Path | None) -> Iterator[Callable[[str], None]]:
    """A function that writes a line: to stdout at once, or to a file that is there only when it is whole."""
    if path is None:
        yield lambda line: print(line, flush=True)
        return
    from nmt.files import replacing

    try:
        with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
            yield _writer(file)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror})") from None


def _writer(file: TextIO) -> Callable[[str], None]:
    return lambda line: print(line, file=file)


def tell(message: str) -> None:
    """A line about what is being done, apart from the results."""
    print(message, file=sys.stderr, flush=True)
