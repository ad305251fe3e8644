"""Files that are whole or not there at all."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class WriteError(OSError):
    """A file that cannot be written; its text is one line, for people, that names the file."""

    def __str__(self) -> str:
        return f"{self.filename}: cannot be written ({self.strerror}); give a writable place with room"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary sibling to write to, which takes the place of `path` when the block ends without an exception.

    It is flushed to the disk before it is renamed, so that a crash leaves the old file or the new one. The folder is
    made where it is missing. WriteError where the file cannot be written; if it is a folder, before the block.
    """
    if path.is_dir() or not path.name:
        raise WriteError(errno.EISDIR, "it is a folder", str(path))
    # The process number keeps two programs apart; the suffix stays last, as matplotlib and others look at it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch()
        try:
            mode = stat.S_IMODE(temporary.stat().st_mode)
            yield temporary
            # Some libraries make files that only their owner may read; the umask says who else may.
            temporary.chmod(mode)
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        if _is_about_another(error, temporary, path.parent):
            raise
        raise WriteError(error.errno, error.strerror, str(path)) from error


def _is_about_another(error: OSError, temporary: Path, folder: Path) -> bool:
    """Whether what failed in the block was not the file: a pipe, or a file or folder of another name."""
    if error.errno == errno.EPIPE:
        return True
    if error.filename is None:
        return False
    # Where folders are missing, the error names the one that could not be made.
    return Path(str(error.filename)) not in (temporary, folder, *folder.parents)


def check_folder(path: Path) -> None:
    """Raise WriteError where files could not be written into this folder, which need not be there yet."""
    place = path
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise WriteError(errno.ENOTDIR, "it is no folder", str(place))
    if not os.access(place, os.W_OK | os.X_OK):
        raise WriteError(errno.EACCES, os.strerror(errno.EACCES), str(place))


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file, whole."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
