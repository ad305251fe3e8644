"""From a sweep's YAML to the runs that it asks for; every mistake is told at once, before the first run starts."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nmt.config.dialect import parse_yaml
from nmt.config.load import in_lines, paths_of, read_yaml_text, set_key, validate, with_absolute_paths
from nmt.config.messages import Problem
from nmt.config.schema import Config
from nmt.config.sweep import SweepSection
from nmt.errors import ConfigError
from nmt.sweep.axes import Axis, Choice, check_seeds, read_axes, slug
from nmt.sweep.names import short_names

_MOST = 20_000
"""Combinations that are checked one by one; a grid of more is no grid that anybody trains."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a sweep: its name, its choice on each axis, and its whole config."""

    name: str
    choices: Mapping[str, str]
    seed: int
    config: Config


@dataclass(frozen=True)
class Plan:
    """A sweep that can be run. `base` is the config as plain data, with the changes that all runs share."""

    section: SweepSection
    base: dict[str, Any]
    folder: Path
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    objective: str
    given: dict[str, Any] = field(repr=False)
    """What the sweep's and the config's file say, by which another machine knows that it works on the same sweep."""

    def grid(self) -> list[PlannedRun]:
        """Every combination with every seed, in the order of the file."""
        each = [(choices, seed) for choices in _combinations(self.axes) for seed in self.seeds_of(choices)]
        names: dict[str, int] = {}
        for place, (choices, seed) in enumerate(each):
            name = self._name(choices, seed)
            names[f"{name}-{place}" if name in names else name] = place  # a-b with c has the name of a with b-c
        return [self.run(name, *each[place]) for name, place in names.items()]

    def run(self, name: str, choices: Sequence[Choice], seed: int) -> PlannedRun:
        """The run of one combination. Raises ConfigError where it is none (in a search: between a range's ends)."""
        found = self.build(choices, name=name, seed=seed)
        if not isinstance(found, Config):
            raise ConfigError(in_lines(name, [str(problem) for problem in found]))
        return PlannedRun(name, {choice.axis: choice.label for choice in choices}, seed, found)

    def seeds_of(self, choices: Sequence[Choice]) -> tuple[int, ...]:
        """The seeds of a combination: those of its variant, where one has its own."""
        return next((choice.seeds for choice in choices if choice.seeds is not None), self.seeds)

    def build(self, choices: Sequence[Choice], *, name: str = "run", seed: int = 1) -> Config | list[Problem]:
        """The config of a combination, or what is wrong with it. A section is set before the keys in it."""
        data = deepcopy(self.base)
        changes = [change for choice in choices for change in choice.changes.items()]
        try:
            for key, value in sorted(changes, key=_depth):
                set_key(data, key.split("."), deepcopy(value), key)
        except ConfigError as error:
            return [Problem("", str(error))]
        found = validate({**data, "name": name, "seed": seed}, Config)
        return with_absolute_paths(found, self.folder) if isinstance(found, Config) else found

    def _name(self, choices: Sequence[Choice], seed: int) -> str:
        keys = short_names([axis.name for axis in self.axes])
        parts = [slug(choice, axis, keys[axis.name]) for choice, axis in zip(choices, self.axes, strict=True)]
        return "-".join([*parts, f"seed{seed}"])


def load_plan(path: Path) -> Plan:
    """Read a sweep's YAML, and check every combination that it asks for.

    Relative paths are looked for from the working directory, then from the file's own folder.

    Raises:
        ConfigError: the file or its config cannot be read; or an axis, a value or a combination is not a config, in a
            line for each mistake.
    """
    data = parse_yaml(read_yaml_text(path, Path("configs", "sweeps")), str(path))
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: is not a sweep: keys such as name, config and axes are expected at the top")
    section = validate(data, SweepSection)
    if not isinstance(section, SweepSection):
        raise ConfigError(in_lines(str(path), [str(problem) for problem in section]))
    section = with_absolute_paths(section, path.parent)
    base = parse_yaml(read_yaml_text(section.config), str(section.config))
    if not isinstance(base, dict):
        raise ConfigError(f"{section.config}: is not a config: keys such as name, data and training are expected")
    axes, problems = read_axes(section)
    own_seed = base.get("seed", 1)
    seeds = section.seeds if section.seeds is not None else [own_seed]
    wrong = check_seeds(seeds, "seeds")
    problems += [wrong] if wrong is not None else []
    given = {"sweep": {key: value for key, value in data.items() if key != "storage"}, "config": deepcopy(base)}
    for key, value in sorted(section.set.items(), key=_depth):
        set_key(base, key.split("."), value, f"{path}: set.{key}")
    plan = Plan(
        section,
        base,
        section.config.parent,
        tuple(axes),
        tuple(seeds) if wrong is None else (),
        _objective(section, base),
        given,
    )
    problems += _check(plan)
    if problems:
        raise ConfigError(in_lines(str(path), list(dict.fromkeys(problems))))
    return plan


def _depth(change: tuple[str, Any]) -> int:
    return change[0].count(".")


def _objective(section: SweepSection, base: dict[str, Any]) -> str:
    """The score that runs are judged by: the sweep's, or the one that chooses each run's best state."""
    stopping = base.get("training", {}) if isinstance(base.get("training"), dict) else {}
    stopping = stopping.get("early_stopping")
    own = stopping.get("metric") if isinstance(stopping, dict) else None
    return section.search.objective or own or "bleu"


def _combinations(axes: Sequence[Axis]) -> Iterator[tuple[Choice, ...]]:
    return itertools.product(*(axis.choices for axis in axes))


def _check(plan: Plan) -> list[str]:
    """A line for everything that is wrong with a combination, in terms of the fewest choices that make it so."""
    count = 1
    for axis in plan.axes:
        count *= len(axis.choices)
    if count > _MOST:
        return [
            f"the axes have {count:,} combinations, of which {_MOST:,} can be checked: give fewer values, or ranges"
        ]
    if plan.section.search.sampler != "grid" and len(plan.seeds) > 1:
        return [f"seeds: {plan.section.search.sampler} trains each combination once; give one seed, or take a grid"]
    check, axes = _Check(plan), list(plan.axes)
    causes: dict[Problem, dict[tuple[str, ...], tuple[Choice, ...]]] = {}
    while True:
        for choices in _combinations(axes):
            for problem in check.problems(choices):
                cause = check.cause(choices, problem)
                causes.setdefault(problem, {})[tuple(choice.where for choice in cause)] = cause
        # A choice that is wrong by itself hides what is wrong with others: those that are left are looked at again.
        wrong = {where for found in causes.values() for key in found if len(key) == 1 for where in key}
        left = [[choice for choice in axis.choices if choice.where not in wrong] for axis in axes]
        if all(len(some) == len(axis.choices) for some, axis in zip(left, axes, strict=True)):
            return [line for problem, found in causes.items() for line in _lines(plan, problem, found)]
        axes = [replace(axis, choices=tuple(some)) for some, axis in zip(left, axes, strict=True) if some]


class _Check:
    """What is wrong with combinations of choices, each looked at once."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._known: dict[tuple[str, ...], list[Problem]] = {}

    def problems(self, choices: Sequence[Choice]) -> list[Problem]:
        """All that is wrong with a combination, which need not have a choice on every axis."""
        key = tuple(choice.where for choice in choices)
        if key not in self._known:
            found = self._plan.build(choices)
            self._known[key] = self._beyond_schema(found) if isinstance(found, Config) else found
            owners = {choice.seeds: choice.where for choice in choices if choice.seeds is not None}
            if len(owners) > 1:
                self._known[key].append(Problem("seeds", f"differ between {' and '.join(owners.values())}"))
        return self._known[key]

    def cause(self, choices: Sequence[Choice], problem: Problem) -> tuple[Choice, ...]:
        """The fewest of the choices that have the problem by themselves; none where the base has it."""
        return next(
            some
            for count in range(len(choices) + 1)
            for some in itertools.combinations(choices, count)
            if problem in self.problems(some)
        )

    def _beyond_schema(self, config: Config) -> list[Problem]:
        """Files and packages that are not there, and a test that the objective needs."""
        objective, data = self._plan.objective, config.data
        problems = [*_missing_files(config), *_missing_packages(config)]
        if objective.startswith("test_") and data.test is None and data.hold_out is None:
            hint = "needs a test text: give data.test, or take another objective"
            problems.append(Problem("search.objective", f"{objective} {hint}"))
        elif objective == "test_aer" and (data.test is None or data.test.alignment is None):
            hint = "needs gold links: give data.test.alignment, or take another objective"
            problems.append(Problem("search.objective", f"{objective} {hint}"))
        elif objective == "test_aer" and config.model.attention.type == "none":
            problems.append(Problem("model.attention", "none makes no links, which test_aer judges runs by"))
        return problems


def _missing_files(config: Config) -> list[Problem]:
    return [Problem(key, f"{file}: no such file") for key, file in paths_of(config).items() if not file.exists()]


def _missing_packages(config: Config) -> list[Problem]:
    """The run itself would find it out, but only when it is its turn."""
    normalizer = getattr(config.model.attention, "normalizer", "softmax")
    if normalizer == "softmax" or find_spec("entmax") is not None:
        return []
    hint = "needs the package entmax, which is missing: pip install entmax, or take softmax"
    return [Problem("model.attention.normalizer", f"{normalizer} {hint}")]


def _lines(plan: Plan, problem: Problem, causes: Mapping[tuple[str, ...], tuple[Choice, ...]]) -> Iterator[str]:
    """A line for each cause of a problem; one for the axis where each of its choices has it."""
    single = {cause[0].where for cause in causes.values() if len(cause) == 1}
    whole = [axis for axis in plan.axes if {choice.where for choice in axis.choices} <= single]
    for axis in whole:
        yield f"axes.{problem}" if problem.path == axis.name else f"{axis.where}: {problem}"
    covered = {choice.where for axis in whole for choice in axis.choices}
    for cause in causes.values():
        if not cause:
            yield str(problem) if problem.path.startswith("search.") else f"{plan.section.config}: {problem}"
        elif len(cause) > 1 or cause[0].where not in covered:
            named = [choice.where for choice in cause]
            own = len(cause) == 1 and list(cause[0].changes) == [problem.path]
            yield f"axes.{problem}" if own and cause[0].axis == problem.path else f"{' with '.join(named)}: {problem}"
