"""What a training tells: lines for people, a bar on a terminal, and `metrics.jsonl` for programs."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from nmt.files import write_text
from nmt.training.loop import Event, Logged, Validated


class TrainingLog:
    """Writes each event where it belongs.

    Lines go to `log_file` and to stderr, numbers to `metrics_file`. On a terminal updates move a bar instead of
    printing lines; elsewhere they are plain lines.
    """

    def __init__(self, log_file: Path, metrics_file: Path, *, sign_of_best: str) -> None:
        self._log = log_file.open("a", encoding="utf-8")
        self._metrics = metrics_file.open("a", encoding="utf-8")
        self._metric = sign_of_best
        self._console = Console(stderr=True, highlight=False, markup=False)
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def line(self, text: str) -> None:
        """A line for people. Training outlives its terminal, or the reader of its pipe: the file has all lines."""
        print(text, file=self._log, flush=True)
        with suppress(OSError):
            if self._bar is not None:
                self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
            else:
                print(text, file=sys.stderr, flush=True)

    def status(self, text: str) -> None:
        """What takes its time now, on the bar."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=text)

    def event(self, event: Event) -> None:
        """An event of the loop."""
        if isinstance(event, Logged):
            self._logged(event)
        elif isinstance(event, Validated):
            self._validated(event)

    @contextmanager
    def progress(self) -> Iterator[None]:
        """While training runs: a bar with the share done, the time left, the loss and the speed, on a terminal."""
        if not self._console.is_terminal:
            yield
            return
        columns = (BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TextColumn("{task.description}"))
        with Progress(*columns, console=self._console, transient=True) as self._bar:
            self._task = self._bar.add_task("starting", total=1.0)
            try:
                yield
            finally:
                self._bar = None

    def close(self) -> None:
        """Close the files."""
        self._log.close()
        self._metrics.close()

    def metrics(self, kind: str, values: dict[str, object]) -> None:
        """A line of numbers for programs."""
        print(json.dumps({"event": kind, **values}), file=self._metrics, flush=True)

    def _logged(self, event: Logged) -> None:
        progress = event.progress
        seconds = progress.seconds * (1.0 - event.used) / max(event.used, 1e-9)
        left = str(timedelta(seconds=round(seconds)))
        terms = "".join(f"  {name} {value:.3f}" for name, value in event.terms.items())
        numbers = f"loss {event.loss:.3f}{terms}  {event.tokens_per_second:,.0f} tokens/s"
        self.metrics(
            "update",
            {
                "step": progress.step,
                "epoch": round(progress.epochs, 4),
                "seconds": round(progress.seconds, 2),
                "loss": event.loss,
                "learning_rate": event.learning_rate,
                "gradient_norm": event.gradient_norm,
                "target_tokens_per_second": round(event.tokens_per_second, 1),
                **event.terms,
            },
        )
        text = (
            f"step {progress.step:>6}  epoch {progress.epochs:6.2f}  {numbers}  rate {event.learning_rate:.2e}  "
            f"left {left}"
        )
        if self._bar is None or self._task is None:
            self.line(text)
            return
        print(text, file=self._log, flush=True)
        self._bar.update(self._task, completed=event.used, description=f"step {progress.step}  {numbers}  left {left}")

    def _validated(self, event: Validated) -> None:
        progress = event.progress
        scores = "  ".join(f"{name} {value:.4g}" for name, value in event.scores.items())
        mark = f"  best {self._metric} so far" if event.improved else ""
        self.line(f"step {progress.step:>6}  validation  {scores}{mark}")
        self.metrics(
            "validation",
            {
                "step": progress.step,
                "epoch": round(progress.epochs, 4),
                "seconds": round(progress.seconds, 2),
                **event.scores,
                "best": event.improved,
            },
        )


def forget_after(metrics_file: Path, step: int) -> None:
    """Take out what was written after `step`: a run that goes on from there will write it again."""
    if not metrics_file.exists():
        return
    kept = []
    for line in metrics_file.read_text(encoding="utf-8").splitlines():
        try:
            if json.loads(line)["step"] <= step:
                kept.append(line)
        except ValueError:
            continue  # cut off when the run was stopped by force
    write_text(metrics_file, "".join(f"{line}\n" for line in kept))
