"""Files that are whole or not there at all."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary sibling to write to, which takes the place of `path` when the block ends without an exception.

    It is flushed to the disk before it is renamed, so that a crash leaves the old file or the new one. The folder is
    made where it is missing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The process number keeps two programs apart; the suffix stays last, as matplotlib and others look at it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file, whole."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_with(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` make the file at the path it is given, whole."""
    with replacing(path) as temporary:
        write(temporary)
