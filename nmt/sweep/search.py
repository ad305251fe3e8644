"""What chooses a sweep's runs and ends those that are behind, as its YAML names it: Optuna's samplers and pruners."""

from collections.abc import Sequence

import numpy as np
import optuna

from nmt.config.sweep import SearchSection
from nmt.sweep.axes import Axis, Choice
from nmt.sweep.plan import PlannedRun


def make_sampler(search: SearchSection, runs: Sequence[PlannedRun], offset: int = 0) -> optuna.samplers.BaseSampler:
    """The sampler; of a grid over these runs. `offset` is added to the search's seed."""
    seed = search.seed + offset
    if search.sampler == "grid":
        return _Grid({"run": _first_seeds_first(runs, seed)}, seed=seed)
    if search.sampler == "random":
        return optuna.samplers.RandomSampler(seed=seed)
    return optuna.samplers.TPESampler(seed=seed, constant_liar=True)  # others' unfinished runs count as bad ones


def make_pruner(search: SearchSection) -> optuna.pruners.BasePruner:
    """The pruner."""
    if search.pruner == "median":
        return optuna.pruners.MedianPruner(search.startup_trials, search.warmup_steps)
    if search.pruner == "successive_halving":
        return optuna.pruners.SuccessiveHalvingPruner()
    return optuna.pruners.NopPruner()


def suggest(trial: optuna.Trial, axis: Axis) -> Choice:
    """The choice that the sampler makes for a trial of a search on an axis."""
    if axis.range is None:
        return axis.choice(str(trial.suggest_categorical(axis.name, [choice.label for choice in axis.choices])))
    low, high, step, log = axis.range.low, axis.range.high, axis.range.step, axis.range.log
    if axis.whole:
        return axis.choice(trial.suggest_int(axis.name, int(low), int(high), step=int(step or 1), log=log))
    return axis.choice(trial.suggest_float(axis.name, low, high, step=step, log=log))


class _Grid(optuna.samplers.GridSampler):
    """Optuna's, which after the last run would stop a loop of Optuna's own; here is none."""

    def after_trial(self, *_: object, **__: object) -> None:
        pass


def _first_seeds_first(runs: Sequence[PlannedRun], seed: int) -> list[str]:
    """The names in such an order that Optuna's grid, which shuffles them, asks for each setting's first seed first.

    So a sweep that is stopped half-way has runs of every setting. All hangs on Optuna's shuffle but that each is run.
    """
    settings: dict[tuple[tuple[str, str], ...], int] = {}
    ranks = []
    for run in runs:
        key = tuple(run.choices.items())
        ranks.append(settings.get(key, 0))
        settings[key] = ranks[-1] + 1
    wanted = [runs[place].name for place in sorted(range(len(runs)), key=ranks.__getitem__)]
    shuffled = np.arange(len(runs))
    np.random.RandomState(seed).shuffle(shuffled)  # the generator that Optuna has
    names = [""] * len(runs)
    for name, place in zip(wanted, shuffled, strict=True):
        names[place] = name
    return names
