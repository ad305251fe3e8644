"""Runs put together: one setting is what runs have in common that differ in their seeds alone."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nmt.errors import NmtError
from nmt.sweep.folder import Record, SweepFolder
from nmt.sweep.metrics import METRICS, VALIDATION
from nmt.sweep.names import setting_name
from nmt.sweep.results import Result, read_result

_LIMITS = ("max_steps", "max_epochs", "max_minutes")


@dataclass(frozen=True)
class Spread:
    """Mean over seeds, and the sample's standard deviation where there are two or more."""

    mean: float
    deviation: float | None
    count: int


@dataclass(frozen=True)
class Setting:
    """A combination of choices: its records, and the results of those runs that have finished."""

    name: str
    choices: Mapping[str, str]
    records: Sequence[Record]
    results: Sequence[Result]

    def spread(self, metric: str) -> Spread | None:
        """A metric over the seeds that have it; runs that failed or were pruned do not count."""
        values = [value for result in self.results if (value := result.value(metric)) is not None]
        if not values:
            return None
        return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))

    def budget(self) -> str:
        """The limits of its trainings."""
        training = self.results[0].config.training
        limits = [(name, getattr(training, name)) for name in _LIMITS]
        return ", ".join(f"{name} {value:g}" for name, value in limits if value is not None)


@dataclass(frozen=True)
class Summary:
    """All of a sweep: its settings, and lines on the runs that are not in their means.

    Settings of a grid stand in the order of the plan; those of a search, which has none, with the best first.
    """

    name: str
    objective: str
    axes: Sequence[str]
    settings: Sequence[Setting]
    left_out: Sequence[str]

    @property
    def finished(self) -> list[Setting]:
        """The settings of which at least one run has finished."""
        return [setting for setting in self.settings if setting.results]

    def metrics(self) -> list[str]:
        """Those that are listed: the test's, one of the validation, and what a run cost; only where a run has them."""
        validation = self.objective if self.objective in VALIDATION else "bleu"
        names = [name for name in METRICS if name not in VALIDATION or name == validation]
        return [name for name in names if any(setting.spread(name) for setting in self.finished)]

    def differing_keys(self) -> dict[str, list[str]]:
        """Dotted keys of the configs in which settings differ, and each setting's value; — where it has no such key."""
        configs = [_flat(setting.results[0].config.model_dump(mode="json")) for setting in self.finished]
        keys = dict.fromkeys(key for config in configs for key in config if key not in ("name", "seed"))
        values = {key: [json.dumps(config[key]) if key in config else "—" for config in configs] for key in keys}
        return {key: [one.strip('"') for one in found] for key, found in values.items() if len({*found}) > 1}


def summarise(folder: SweepFolder) -> Summary:
    """Read a sweep's folder; a run that cannot be read is left out, and told.

    Raises CheckpointError where it is none.
    """
    description, records = folder.description(), folder.records()
    left_out: list[str] = []
    groups: dict[tuple[tuple[str, str], ...], tuple[list[Record], list[Result]]] = {}
    for record in records:
        members, results = groups.setdefault(tuple(record.choices.items()), ([], []))
        double = next((one.record for one in results if one.record.seed == record.seed), None)
        if double is not None and record.state == "done":  # of a search, which may draw one combination twice
            left_out.append(f"{record.name}: the same choices and seed as {double.name}")
            continue
        members.append(record)
        if record.state != "done":
            left_out.append(f"{record.name}: {record.state}" + (f": {record.reason}" if record.reason else ""))
            continue
        try:
            results.append(read_result(record, folder))
        except NmtError as error:
            left_out.append(f"{record.name}: {error}")
    settings = [Setting(setting_name(dict(choices)) or members[0].name, dict(choices), members, results)
                for choices, (members, results) in groups.items()]  # fmt: skip
    if description["sampler"] != "grid":
        settings = _best_first(settings, description["objective"])
    return Summary(description["name"], description["objective"], description["axes"], settings, left_out)


def _best_first(settings: Sequence[Setting], objective: str) -> list[Setting]:
    """Sorted by the objective, those without it last."""
    means = {setting.name: spread.mean for setting in settings if (spread := setting.spread(objective))}
    sign = -1 if METRICS[objective].higher_is_better else 1
    return sorted(settings, key=lambda setting: (setting.name not in means, sign * means.get(setting.name, 0.0)))


def _flat(section: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in section.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found
