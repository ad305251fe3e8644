"""The axes of a sweep: along each a run takes one choice, and a choice changes one key or several."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nmt.config.load import validate
from nmt.config.sweep import RangeSection, SweepSection

_OWN_KEYS = {"name": "runs are named by what is changed in them", "seed": "give the list `seeds` instead"}
_LONGEST_LABEL = 40  # characters


@dataclass(frozen=True)
class Choice:
    """One place on an axis: what it is called, the dotted keys that it sets, and the seeds of its own."""

    axis: str
    label: str
    where: str
    changes: Mapping[str, Any]
    seeds: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Axis:
    """A list of choices; or, in a search, a range of numbers, of which some that are to be checked stand as choices."""

    name: str
    where: str
    choices: tuple[Choice, ...]
    range: RangeSection | None = None
    whole: bool = False

    def choice(self, value: float | str) -> Choice:
        """The choice of a label, or of a number from the range."""
        if self.range is None:
            return next(choice for choice in self.choices if choice.label == value)
        return _value(self.name, self.where, value, f"{value:.6g}" if isinstance(value, float) else str(value))


def read_axes(section: SweepSection) -> tuple[list[Axis], list[str]]:
    """The axes of a sweep, variants first, and a line for everything that is wrong with them by themselves."""
    axes: list[Axis] = []
    problems: list[str] = []
    for name, variants in section.variants.items():
        where = f"variants.{name}"
        if not variants:
            problems.append(f"{where}: is empty; name at least one variant, or leave it out")
            continue
        found = [_variant(name, f"{where}.{label}", label, changes) for label, changes in variants.items()]
        problems += [one for one in found if isinstance(one, str)]
        good = tuple(one for one in found if isinstance(one, Choice))
        axes += [Axis(name, where, good)] if good else []
    for key, values in section.axes.items():
        axis = _axis(key, values, section.search.sampler)
        if isinstance(axis, Axis):
            axes.append(axis)
        else:
            problems.append(axis)
    names = [axis.name for axis in axes]
    problems += [f"axes.{name}: variants has an axis of this name, too" for name in names if names.count(name) > 1]
    problems += [wrong for key in section.set for wrong in _wrong_key(key, f"set.{key}")]
    return axes, problems + list(dict.fromkeys(_doubles(axes)))


def _wrong_key(key: str, where: str) -> list[str]:
    if key in _OWN_KEYS:
        return [f"{where}: cannot be changed; {_OWN_KEYS[key]}"]
    return [] if all(key.split(".")) else [f"{where}: {key!r} is no dotted key, such as model.dropout"]


def _variant(axis: str, where: str, label: str, changes: Mapping[str, Any]) -> Choice | str:
    seeds = changes.get("seeds")
    if seeds is not None:
        wrong = check_seeds(seeds, f"{where}.seeds")
        if wrong is not None:
            return wrong
        seeds = tuple(seeds)
    changes = {key: value for key, value in changes.items() if key != "seeds"}
    wrong_keys = [wrong for key in changes for wrong in _wrong_key(key, where)]
    return wrong_keys[0] if wrong_keys else Choice(axis, label, where, changes, seeds)


def check_seeds(seeds: object, where: str) -> str | None:
    """What is wrong with a list of seeds."""
    if not isinstance(seeds, list) or not all(type(seed) is int and 0 <= seed < 2**63 for seed in seeds):
        return f"{where}: {seeds!r} is no list of whole numbers of 0 or more, such as [1, 2, 3]"
    if not seeds:
        return f"{where}: is an empty list; give at least one seed, or leave it out"
    return f"{where}: {seeds} holds a seed twice" if len(seeds) != len({*seeds}) else None


def _axis(key: str, values: object, sampler: str) -> Axis | str:
    where = f"axes.{key}"
    for wrong in _wrong_key(key, where):
        return wrong
    if isinstance(values, Mapping) and "low" in values:
        found = validate(values, RangeSection)
        if not isinstance(found, RangeSection):
            return f"{where}: {'; '.join(map(str, found))}"
        if sampler == "grid":
            return f"{where}: a range is for sampler random or tpe; give grid a list of values"
        whole = all(type(values[end]) is int for end in ("low", "high", "step") if values.get(end) is not None)
        checked = [values["low"], values["high"]]
        if whole or found.step is not None:  # the second tells whether all of a kind, such as odd numbers, are wrong
            checked.insert(1, values["low"] + (values.get("step") or 1))
        choices = tuple(_value(key, where, one, f"{one:g}") for one in dict.fromkeys(checked))
        return Axis(key, where, choices, found, whole)
    if not isinstance(values, list):
        return f"{where}: {_label(values)} is no list of values; write [{_label(values)}], or a range {{low, high}}"
    if not values:
        return f"{where}: is an empty list; give at least one value, or leave the axis out"
    labels = [_label(value) for value in values]
    doubles = [label for label in dict.fromkeys(labels) if labels.count(label) > 1]
    if doubles:
        return f"{where}: {doubles[0]} is given twice"
    return Axis(key, where, tuple(_value(key, where, *pair) for pair in zip(values, labels, strict=True)))


def _value(key: str, where: str, value: object, label: str) -> Choice:
    return Choice(key, label, f"{where} = {label}", {key: value})


def _label(value: object) -> str:
    """A value as it stands in YAML, in one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False).replace('"', "")


def _doubles(axes: list[Axis]) -> Iterator[str]:
    """Keys that two axes set: the one would undo the other."""
    owners: dict[str, Axis] = {}
    for axis in axes:
        for key in dict.fromkeys(key for choice in axis.choices for key in choice.changes):
            if owners.setdefault(key, axis) is not axis:
                yield f"{key}: is set by {owners[key].where} and by {axis.where}; the one would undo the other"


def slug(choice: Choice, axis: Axis, key: str) -> str:
    """What a choice adds to the name of a run: letters, digits, '.', '_' and '-' alone, told apart on its axis.

    `key` is the short name of the axis, which stands before a value; of variants the label says enough.
    """
    before = key if list(choice.changes) == [axis.name] else ""
    names = [_safe(before + one.label)[:_LONGEST_LABEL] for one in axis.choices]
    place = axis.choices.index(choice)
    if names[place] and names.count(names[place]) == 1:
        return names[place]
    return f"{_safe(key) or 'choice'}{place + 1}"


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("_-.")
