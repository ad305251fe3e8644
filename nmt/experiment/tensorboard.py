"""Event files for TensorBoard, beside a training: whatever it writes into metrics.jsonl, which stays the source."""

import json
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nmt.checkpoint import RunFolder
from nmt.errors import ConfigError

_LOOK = 1.0
"""Seconds from one look at metrics.jsonl to the next."""
_NOT_DRAWN = frozenset({"event", "step", "epoch", "seconds", "best"})


@contextmanager
def event_files(run: Path) -> Iterator[None]:
    """While a training runs within, its numbers go to the folder `tensorboard` of its run folder, too.

    A run that goes on has its earlier numbers written anew, so that the event files hold what metrics.jsonl holds, each
    step once. What a training before has left is not touched until this one begins to write. Raises ConfigError where
    the package tensorboard is missing.
    """
    follower = _Follower(RunFolder(run))
    over = threading.Event()
    thread = threading.Thread(target=follower.follow, args=(over,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class _Follower:
    def __init__(self, folder: RunFolder) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ConfigError(
                "--tensorboard needs the package tensorboard, which is missing: pip install tensorboard, or "
                "leave the option out; metrics.jsonl has the same numbers"
            ) from None
        self._make_writer = SummaryWriter
        self._file, self._events = folder.metrics_file, folder.path / "tensorboard"
        self._before = self._look()
        self._offset = 0
        self._writer: Any = None

    def _look(self) -> tuple[int, int, int] | None:
        """What tells one state of the file from another."""
        try:
            stat = self._file.stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_mtime_ns, stat.st_size

    def follow(self, over: threading.Event) -> None:
        """Read what is written, until the training is over, and then once more."""
        try:
            while not over.wait(_LOOK):
                self._read()
            self._read()
        except OSError as error:
            warnings.warn(f"{self._events}: event files cannot be written ({error.strerror})", stacklevel=1)
        finally:
            if self._writer is not None:
                self._writer.close()

    def _read(self) -> None:
        if self._look() in (None, self._before):
            return  # still the file of the training before, which this one may be about to remove
        if self._writer is None:
            for old in self._events.glob("events.out.tfevents.*"):
                old.unlink()
            self._writer = self._make_writer(str(self._events))
        with self._file.open("rb") as file:
            file.seek(self._offset)
            written = file.read()
        whole = written[: written.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            self._write(json.loads(line))
        self._writer.flush()

    def _write(self, entry: dict[str, Any]) -> None:
        group = "validation" if entry["event"] == "validation" else "training"
        for name, value in entry.items():
            if name not in _NOT_DRAWN:
                self._writer.add_scalar(f"{group}/{name}", value, entry["step"])
