"""What the runs of a sweep came to, read from their folders: no weights, no database."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nmt.checkpoint import RunFolder
from nmt.config.schema import Config
from nmt.errors import CheckpointError
from nmt.sweep.folder import Record, SweepFolder
from nmt.sweep.metrics import METRICS, VALIDATION


@dataclass(frozen=True)
class Result:
    """A run that has finished. `validations` and `updates` are the entries of its metrics.jsonl."""

    record: Record
    folder: RunFolder
    config: Config
    meta: Mapping[str, Any]
    validations: Sequence[Mapping[str, Any]]
    updates: Sequence[Mapping[str, Any]]

    def value(self, name: str) -> float | None:
        """A number of METRICS; None where the run has none."""
        found: float | None
        if name.startswith("test_"):
            scores = self.meta.get("scores") or {}
            found = scores.get(name.removeprefix("test_"), {}).get("value")
        elif name in VALIDATION:
            choose = max if METRICS[name].higher_is_better else min
            found = choose((one[name] for one in self.validations if name in one), default=None)
        elif name == "tokens_per_second":
            speeds = [one["target_tokens_per_second"] for one in self.updates]
            found = statistics.median(speeds) if speeds else None
        else:
            found = self.meta["seconds"] / 60.0 if name == "minutes" else self.meta.get(name)
        return found


def read_result(record: Record, folder: SweepFolder) -> Result:
    """The result of a run. Raises CheckpointError where its folder is missing or damaged, or it has not finished."""
    run = RunFolder(folder.run(record.name))
    meta = run.meta()
    if not meta.get("finished"):
        raise CheckpointError(f"{run.path}: has not finished")
    try:
        lines = run.metrics_file.read_text(encoding="utf-8").splitlines()
        entries = [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{run.metrics_file}: cannot be read, it may be damaged ({error})") from None
    kinds = {kind: [one for one in entries if one.get("event") == kind] for kind in ("validation", "update")}
    return Result(record, run, run.config(), meta, kinds["validation"], kinds["update"])
