"""Lines in and lines out: files, pipes and terminals."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from nmt.errors import DataError

if TYPE_CHECKING:
    from io import BufferedReader

_BLOCK = 1 << 16  # as much as a pipe holds


def input_lines(path: Path | None) -> list[str]:
    """All lines of a file, or of stdin. Raises DataError where it cannot be read as UTF-8 text."""
    from nmt.data.corpus import read_lines, split_lines

    if path is not None:
        return read_lines(path)
    _require_stdin()
    if sys.stdin.isatty():
        tell("reading from the terminal; end with Ctrl-D")
    return split_lines(_decoded(sys.stdin.buffer.read()).removeprefix("\ufeff"))


def lines_as_they_come() -> Iterator[list[str]]:
    """The lines of stdin while they are being written: each time those that have arrived.

    A terminal is asked for each line. Where a line is not UTF-8, those before it come first, then DataError.
    """
    _require_stdin()
    number = 1
    for arrived in _arrived():
        lines, wrong = [], None
        for line in arrived:
            try:
                text = _decoded(line, number)
            except DataError as error:
                wrong = error
                break
            lines.append((text.removeprefix("\ufeff") if number == 1 else text).removesuffix("\r"))
            number += 1
        yield lines
        if wrong:
            raise wrong


def _require_stdin() -> None:
    if sys.stdin is None:  # closed before this process began
        raise DataError("stdin: is closed; give a file, or a pipe")


def _arrived() -> Iterator[list[bytes]]:
    """Lines of stdin, without their ends: waits for one, then takes what is there; its writer may want an answer."""
    asking, stdin = sys.stdin.isatty(), cast("BufferedReader", sys.stdin.buffer)
    rest = b""
    while True:
        if asking:
            print("> ", end="", file=sys.stderr, flush=True)
        block = stdin.read1(_BLOCK)
        if not block:
            break
        *lines, rest = (rest + block).split(b"\n")
        if lines:
            yield lines
    if asking:
        print(file=sys.stderr)
    if rest:
        yield [rest]


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

    if path.exists() and not path.is_file() and not path.is_dir():  # a device, or a pipe with a name
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield _writer(file)
        return
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        yield _writer(file)


def _writer(file: TextIO) -> Callable[[str], None]:
    return lambda line: print(line, file=file)


def tell(message: str) -> None:
    """A line about what is being done, apart from the results."""
    if sys.stderr is None:  # closed; print would take stdout
        return
    print(message, file=sys.stderr, flush=True)
