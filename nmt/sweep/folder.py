"""The folder of a sweep: its description, its runs, and what became of each.

sweep.json          what was asked for
sweep.db            Optuna's storage: the state, where no database is named
runs/NAME           a run folder like any other
trials/NAME         config.yaml (what the run is trained from), output.txt, state.json, lock
report.html  table.csv  table.md  table.tex
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

from nmt.checkpoint import read_header
from nmt.errors import CheckpointError
from nmt.files import write_text

State = Literal["waiting", "running", "done", "pruned", "failed"]
FORMAT, VERSION = "nmt sweep", 1


@dataclass(frozen=True)
class Record:
    """A run of a sweep, and what became of it; `reason`, where it failed or was pruned, is one line."""

    name: str
    number: int
    choices: Mapping[str, str]
    seed: int
    state: State
    reason: str = ""


class SweepFolder:
    """Paths of a sweep's folder, and its reading and writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.description_file = path / "sweep.json"
        self.database = path / "sweep.db"
        self.lock_file = path / "lock"

    def run(self, name: str) -> Path:
        """The run folder of a run."""
        return self.path / "runs" / name

    def trial(self, name: str) -> Path:
        """The folder for what the sweep itself keeps of a run."""
        return self.path / "trials" / name

    def exists(self) -> bool:
        """Whether a sweep was begun here."""
        return self.description_file.exists()

    def check_free(self) -> None:
        """Raises CheckpointError where anything is in the way of a new sweep."""
        if self.exists():
            raise CheckpointError(
                f"{self.path}: there is a sweep already; go on with it, or work on it beside another process "
                f"(--resume), or name another folder (--output)"
            )
        # A beginning that failed, for want of a database say, or was stopped, has left its lock and a state of no runs.
        left = {self.lock_file.name, *(f"{self.database.name}{end}" for end in ("", "-journal", "-wal", "-shm"))}
        found = {one.name for one in self.path.iterdir()} if self.path.is_dir() else set()
        if self.path.is_file() or found - left:
            raise CheckpointError(f"{self.path}: holds files but no sweep; name another folder with --output")

    def describe(self, **entries: object) -> None:
        """Write what was asked for."""
        text = json.dumps({"format": FORMAT, "version": VERSION, **entries}, indent=2, ensure_ascii=False)
        write_text(self.description_file, f"{text}\n")

    def description(self) -> dict[str, Any]:
        """What was asked for. Raises CheckpointError where this is no sweep's folder, or one of a later format."""
        made = "nmt sweep", "runs/attention"
        return read_header(self.description_file, FORMAT, VERSION, what="a sweep's folder", made=made)

    def write(self, record: Record) -> None:
        """Keep what became of a run."""
        text = json.dumps(asdict(record), indent=2, ensure_ascii=False)
        write_text(self.trial(record.name) / "state.json", f"{text}\n")

    def records(self) -> list[Record]:
        """All runs so far, in the order of the plan. Raises CheckpointError where a record is damaged."""
        found = []
        for file in self.path.glob("trials/*/state.json"):
            try:
                found.append(Record(**json.loads(file.read_text(encoding="utf-8"))))
            except (OSError, ValueError, TypeError) as error:
                raise CheckpointError(f"{file}: cannot be read, it may be damaged ({error})") from None
        return sorted(found, key=lambda record: record.number)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within, no other process of this machine works on the sweep's state: SQLite bears one writer at a time."""
        self.path.mkdir(parents=True, exist_ok=True)
        with self.lock_file.open("a", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def hold(self, name: str) -> IO[str] | None:
        """The lock of a run, if it is free: an open file, to be handed on to the process that trains it.

        It is locked until the last process that has it open has ended or closed it, however that came about.
        """
        file = self.trial(name) / "lock"
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = file.open("a", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            return None
        os.set_inheritable(lock.fileno(), True)
        return lock

    def is_held(self, name: str) -> bool:
        """Whether a process of this machine trains the run."""
        lock = self.hold(name)
        if lock is not None:
            lock.close()
        return lock is None
