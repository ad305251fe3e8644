"""The YAML of a sweep: one config, what is changed in it, and how the runs are chosen."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from nmt.config.section import FilePath, Positive, Section

ObjectiveName = Literal[
    "bleu", "chrf", "loss", "perplexity", "accuracy", "test_bleu", "test_chrf", "test_aer", "tokens_per_second"
]
"""What a run may be judged by: its best validation, its test, or its speed in training."""


class RangeSection(Section):
    """Numbers from which a search draws; whole ones where both ends are whole, and the step, if there is one."""

    low: float
    """The lowest."""
    high: float
    """The highest."""
    step: Annotated[float, Field(gt=0)] | None = None
    """Draw low, low + step, low + 2 step and so on up to high alone: even numbers, or multiples of the heads."""
    log: bool = False
    """Draw evenly on a logarithmic scale, for what spans powers of ten; low is then above 0, and there is no step."""

    @model_validator(mode="after")
    def _ends(self) -> "RangeSection":
        if self.low >= self.high:
            raise ValueError(f"low {self.low:g} must be below high {self.high:g}")
        if self.log and self.low <= 0:
            raise ValueError(f"low {self.low:g} must be above 0 where log is true")
        if self.log and self.step is not None:
            raise ValueError("step: log draws between the ends; leave step or log out")
        steps = (self.high - self.low) / (self.step or 1)
        if self.step is not None and abs(steps - round(steps)) > 1e-9 * steps:
            raise ValueError(f"step {self.step:g} does not lead from low {self.low:g} to high {self.high:g}")
        return self


class SearchSection(Section):
    """Which runs are made, and which of them are ended early."""

    sampler: Literal["grid", "random", "tpe"] = "grid"
    """grid: every combination with every seed. random: combinations by chance. tpe: those that look best after the runs
    so far (Bergstra et al. 2011)."""
    trials: Positive | None = None
    """How many runs random and tpe make; grid makes all."""
    objective: ObjectiveName | None = None
    """What a run is judged by; default: the config's training.early_stopping.metric."""
    pruner: Literal["none", "median", "successive_halving"] = "none"
    """What ends runs early. median: those whose best validation is worse than the median of the others' at that step.
    successive_halving: all but the best quarter at each rung (Li et al. 2018)."""
    startup_trials: Annotated[int, Field(ge=0)] = 5
    """Runs that must have finished before median ends any."""
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    """Steps of a run before which median does not end it."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    """Seed of the search itself."""

    @model_validator(mode="after")
    def _fits(self) -> "SearchSection":
        if self.sampler == "grid" and self.trials is not None:
            raise ValueError("trials: grid makes every combination; leave trials out, or take sampler random or tpe")
        if self.sampler != "grid" and self.trials is None:
            raise ValueError(f"trials: is missing; say how many runs {self.sampler} is to make")
        steady = ("test_bleu", "test_chrf", "test_aer", "tokens_per_second")
        if self.pruner != "none" and self.objective in steady:
            raise ValueError(
                f"pruner: {self.pruner} compares validations, and {self.objective} is known only at a run's end; take "
                f"pruner none, or a validation score as objective"
            )
        return self


class SweepSection(Section):
    """Many experiments: a config, axes along which it is changed, seeds."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Its name: the folder is runs/NAME unless --output says otherwise."""
    config: FilePath
    """The config that all runs start from."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Changes to it that all runs share: dotted key to value."""
    axes: dict[str, Any] = Field(default_factory=dict)
    """Dotted key to its list of values; for random and tpe also to {low, high, step, log}."""
    variants: dict[str, dict[str, dict[str, Any]]] = Field(default_factory=dict)
    """Axis to its named variants, each of them dotted keys and their values; `seeds` beside the keys replaces those of
    the sweep for this variant."""
    seeds: Any = None
    """A list: each combination is trained once with each; default: the config's own seed."""
    search: SearchSection = SearchSection()
    """Which runs are made, and which of them are ended early."""
    storage: str | None = None
    """URL of the database that holds the sweep's state, such as postgresql://host/name, so that several machines may
    work on it, by the same command; the sweep's folder is then to lie on a disk that they share, so that each can go on
    with another's runs. Default: SQLite in the sweep's folder."""
