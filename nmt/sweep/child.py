"""One run of a sweep, as a process of its own: what happens to it does not happen to the sweep."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

from nmt.checkpoint import RunFolder
from nmt.config.load import dump_config
from nmt.files import write_text
from nmt.sweep.folder import SweepFolder
from nmt.sweep.plan import PlannedRun

TRAIN = (sys.executable, "-m", "nmt", "train")
INTERRUPTED = 130


class Child:
    """An `nmt train` that trains a run, or goes on with it where it was stopped."""

    def __init__(self, run: PlannedRun, folder: SweepFolder, lock: IO[str], *, threads: int, device: str) -> None:
        self._lock = lock
        self.asked = 0
        """How often it was asked to stop."""
        trial, path = folder.trial(run.name), folder.run(run.name)
        self._output = trial / "output.txt"
        config = trial / "config.yaml"
        write_text(config, dump_config(run.config))
        self._process: subprocess.Popen[bytes] | None = None
        if is_finished(path):
            return
        how = ["--resume"]
        if not RunFolder(path).state_file.exists():
            # It ended before it had anything to save, perhaps before it was a run folder at all.
            shutil.rmtree(path, ignore_errors=True)
            how = ["--config", str(config)]
        command = [*TRAIN, *how, "--run", str(path), "--device", device]
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "OMP_NUM_THREADS": str(threads)},
                pass_fds=[lock.fileno()],
                start_new_session=True,  # Ctrl-C is the sweep's, which asks each run once
            )

    def ended(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self._process is None or self._process.poll() is not None

    def interrupt(self, times: int = 1) -> None:
        """Ask it to save and stop, as Ctrl-C does, where it has not been asked so often; twice: to stop at once."""
        while self.asked < times and self._process is not None and self._process.poll() is None:
            self.asked += 1
            self._process.send_signal(signal.SIGINT)

    def wait(self, seconds: float) -> None:
        """Wait for its end, and bring it about where it takes longer."""
        if self._process is not None:
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def release(self) -> None:
        """Let another process train the run."""
        self._lock.close()

    def was_interrupted(self) -> bool:
        """Whether it ended as it was asked to."""
        return self._process is not None and self.asked > 0 and self._process.returncode != 0

    def was_stopped(self) -> bool:
        """Whether it saved and ended because somebody asked it to, this process or another."""
        return self._process is not None and self._process.returncode == INTERRUPTED

    def failure(self) -> str | None:
        """Why it failed, in one line; None where it did not."""
        code = self._process.returncode if self._process is not None else 0
        if code == 0:
            return None
        if code < 0:
            hint = ", perhaps for want of memory" if -code == signal.SIGKILL else ""
            return f"killed by {signal.Signals(-code).name}{hint}"
        if code == INTERRUPTED:
            return "interrupted from outside; --resume goes on with it"
        return last_complaint(self._output) or f"ended with exit code {code}; see {self._output}"


def is_finished(path: Path) -> bool:
    """Whether a run folder holds a run that was trained and tested to its end."""
    folder = RunFolder(path)
    return folder.meta_file.exists() and bool(folder.meta().get("finished"))


def last_complaint(output: Path) -> str | None:
    """The error that a program ended with, in one line: its own, or the last line of a traceback."""
    lines = [line.rstrip() for line in output.read_text(encoding="utf-8", errors="replace").splitlines()]
    starts = [number for number, line in enumerate(lines) if line.startswith("nmt: ") and "warning:" not in line]
    if starts:
        first, *rest = lines[starts[-1] :]
        return "; ".join([first.removeprefix("nmt: "), *(line.strip() for line in rest if line.startswith("  "))])
    return next((line.strip() for line in reversed(lines) if line.strip()), None)
