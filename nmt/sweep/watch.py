"""How far a run has come, read from the metrics.jsonl that it writes."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nmt.config.training import TrainingSection


@dataclass
class Watch:
    """The numbers of a run so far: `read` takes in what has been written since the last time.

    `score` is the validation score that is wanted.
    """

    file: Path
    score: str
    step: int = 0
    epoch: float = 0.0
    seconds: float = 0.0
    tokens_per_second: float | None = None
    validations: dict[int, float] = field(default_factory=dict)
    """From a step to the score of its validation."""
    _place: tuple[int, int] = (0, 0)

    def read(self) -> None:
        """Take in new lines; of a file that was replaced, all of them."""
        try:
            stat = self.file.stat()
        except OSError:
            return
        inode, offset = self._place
        if stat.st_ino != inode or stat.st_size < offset:
            offset, self.step, self.validations = 0, 0, {}
        with self.file.open("rb") as file:
            file.seek(offset)
            written = file.read()
        whole = written[: written.rfind(b"\n") + 1]
        self._place = (stat.st_ino, offset + len(whole))
        for line in whole.splitlines():
            self._take(json.loads(line))

    def _take(self, entry: dict[str, Any]) -> None:
        self.step, self.epoch, self.seconds = entry["step"], entry["epoch"], entry["seconds"]
        if entry["event"] == "update":
            self.tokens_per_second = entry["target_tokens_per_second"]
        elif self.score in entry:
            self.validations[self.step] = entry[self.score]

    def seconds_left(self, training: TrainingSection) -> float | None:
        """What the nearest limit leaves, at the speed so far; None before there is one."""
        used = max(
            self.step / (training.max_steps or float("inf")),
            self.epoch / (training.max_epochs or float("inf")),
            self.seconds / (60.0 * (training.max_minutes or float("inf"))),
        )
        return self.seconds * max(0.0, 1.0 - used) / used if used else None
