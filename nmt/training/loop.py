"""The training loop: a generator of events that knows no BLEU, no files and no terminal.

Whoever reads the events writes logs and saves states; while an event is being read the loop stands still, between two
updates, so that everything an exact resume needs can be taken from the model, the optimizer and `Progress`.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import torch

from nmt.data.batching import Batch, Position, TrainingBatches
from nmt.errors import TrainingError, is_out_of_memory
from nmt.model.seq2seq import Seq2Seq
from nmt.runtime import random_state, set_random_state
from nmt.training.optim import Moment, Schedule, learning_rate, set_rate
from nmt.training.update import Guide, Update, UpdateSettings, update


@dataclass(frozen=True)
class Limits:
    """When to stop; None: not on that account."""

    steps: int | None = None
    epochs: int | None = None
    minutes: float | None = None

    def used(self, step: int, epochs: float, seconds: float) -> float:
        """The share of the nearest limit that is used up."""
        amounts = ((step, self.steps), (epochs, self.epochs), (seconds / 60.0, self.minutes))
        return max((amount / limit for amount, limit in amounts if limit is not None), default=0.0)

    def reached(self, step: int, epochs: float, seconds: float) -> str | None:
        """The limit that is used up, in words."""
        if self.steps is not None and step >= self.steps:
            return f"training.max_steps: {self.steps} reached"
        if self.epochs is not None and epochs >= self.epochs:
            return f"training.max_epochs: {self.epochs} reached"
        if self.minutes is not None and seconds >= 60.0 * self.minutes:
            return f"training.max_minutes: {self.minutes:g} reached"
        return None


@dataclass(frozen=True)
class Plan:
    """How to train: plain values, as in the training section.

    `metric` is the validation score that counts, `sign` 1 where more of it is better and −1 where less is.
    """

    limits: Limits
    schedule: Schedule
    label_smoothing: float
    clip: float | None
    validate_every: int
    log_every: int
    metric: str
    sign: int
    patience: int | None
    plateau_factor: float
    plateau_patience: int
    autocast: torch.dtype | None
    guide: Guide | None = None

    @property
    def updates(self) -> UpdateSettings:
        """What all updates have in common."""
        return UpdateSettings(self.autocast, self.label_smoothing, self.clip, self.guide)


@dataclass(frozen=True)
class Progress:
    """How far training has come: with the weights, the optimizer and the random generators all that a resume needs.

    `baseline` is the moving average of the reward, for an attention that draws.
    """

    step: int = 0
    position: Position = field(default_factory=Position)
    epochs: float = 0.0
    seconds: float = 0.0
    best: float | None = None
    best_step: int = 0
    stale: int = 0
    reduction: float = 1.0
    plateau_stale: int = 0
    validated_step: int = 0
    baseline: float | None = None


@dataclass(frozen=True)
class Logged:
    """A few updates: mean loss over their target tokens, tokens a second, rate and gradient norm of the last.

    `terms` holds means over the updates of what attention adds: reward, baseline and entropy of one that draws, and
    what links teach.
    """

    progress: Progress
    loss: float
    tokens_per_second: float
    learning_rate: float
    gradient_norm: float
    used: float
    terms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Validated:
    """Scores on the validation text, and whether they are the best so far."""

    progress: Progress
    scores: Mapping[str, float]
    improved: bool


@dataclass(frozen=True)
class Finished:
    """What ended training; `interrupted` where that was the user."""

    progress: Progress
    reason: str
    interrupted: bool = False


@dataclass(frozen=True)
class Failed:
    """An update that was not made: loss or gradient is no number, or memory is short. The state is the one before, and
    an error follows."""

    progress: Progress
    reason: str


Event = Logged | Validated | Failed | Finished


def train(
    model: Seq2Seq,
    optimizer: torch.optim.Optimizer,
    batches: TrainingBatches,
    plan: Plan,
    progress: Progress,
    *,
    device: torch.device,
    validate: Callable[[], Mapping[str, float]],
    interrupted: Callable[[], bool],
) -> Iterator[Event]:
    """Train from `progress` on until a limit, impatience or an interruption.

    Raises TrainingError, before the update, where loss or gradient is not a finite number, or memory does not suffice.
    """
    meter, settings, reason, stopped = _Meter(progress.seconds), plan.updates, _reason(plan, progress), False
    for batch, after, per_epoch in batches.from_position(progress.position):
        if reason is not None:
            break
        model.train()
        used = plan.limits.used(progress.step + 1, progress.epochs, progress.seconds)
        rate = learning_rate(plan.schedule, Moment(progress.step + 1, used, progress.reduction))
        set_rate(optimizer, rate)
        made = _update(model, optimizer, batch.to(device), settings, progress, rate)
        if isinstance(made, str):
            yield Failed(progress, made)
            raise TrainingError(made)
        progress = replace(
            progress,
            step=progress.step + 1,
            position=after,
            epochs=after.epoch + after.batch / per_epoch,
            seconds=meter.update(made, batch),
            baseline=made.baseline,
        )
        if progress.step % plan.log_every == 0:
            yield Logged(progress, *meter.read(), rate, made.norm, used, meter.read_terms())
        if progress.step % plan.validate_every == 0:
            event = _validation(progress, plan, validate(), meter)
            progress = event.progress
            yield event
        stopped = interrupted()
        reason = "interrupted" if stopped else _reason(plan, progress)
    if not stopped and progress.step > progress.validated_step:
        event = _validation(progress, plan, validate(), meter)
        progress = event.progress
        yield event
        stopped = interrupted()  # while it was validated: the test is left to --resume
        reason = "interrupted" if stopped else reason
    yield Finished(progress, reason or "no batches", stopped)


def _update(
    model: Seq2Seq,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    settings: UpdateSettings,
    progress: Progress,
    rate: float,
) -> Update | str:
    """The update, or why there is none: then all is as it was before, the random generators, too."""
    before, step = random_state(), progress.step + 1
    try:
        made = update(model, optimizer, batch, settings, baseline=progress.baseline)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        set_random_state(before)
        (sentences, source), target = batch.source_BS.shape, batch.previous_BT.shape[1]
        return (
            f"step {step}: there is not enough memory for a batch of {sentences} sentences of {source} and "
            f"{target} pieces; train a new run with a lower training.batch_tokens, or a smaller model"
        )
    if made.finite:
        return made
    set_random_state(before)
    return _advice(step, made.loss, rate)


def _validation(progress: Progress, plan: Plan, scores: Mapping[str, float], meter: "_Meter") -> Validated:
    """Where training stands after a validation: the best score, patience, plateau's reductions."""
    score = scores[plan.metric]
    improved = progress.best is None or plan.sign * score > plan.sign * progress.best
    plateau_stale = 0 if improved else progress.plateau_stale + 1
    reduce = plateau_stale > plan.plateau_patience
    progress = replace(
        progress,
        seconds=meter.seconds(),
        best=score if improved else progress.best,
        best_step=progress.step if improved else progress.best_step,
        stale=0 if improved else progress.stale + 1,
        reduction=progress.reduction * (plan.plateau_factor if reduce else 1.0),
        plateau_stale=0 if reduce else plateau_stale,
        validated_step=progress.step,
    )
    return Validated(progress, scores, improved)


def _reason(plan: Plan, progress: Progress) -> str | None:
    """Why training should stop now."""
    if plan.patience is not None and progress.stale >= plan.patience:
        return (
            f"early stopping: {plan.metric} has not improved on {progress.best:.4g} (step {progress.best_step}) in "
            f"{progress.stale} validations"
        )
    lowest = plan.schedule.min_learning_rate
    if plan.schedule.name == "plateau" and plan.schedule.learning_rate * progress.reduction < lowest:
        return f"plateau: the learning rate fell below {lowest:g}"
    return plan.limits.reached(progress.step, progress.epochs, progress.seconds)


def _advice(step: int, loss: float, rate: float) -> str:
    what = "the gradient" if math.isfinite(loss) else f"the loss ({loss})"
    return (
        f"step {step}: {what} is not a finite number, so training stopped before the update; train anew (--overwrite) "
        f"with a lower training.learning_rate (the rate was {rate:.2g}), a longer training.warmup, or "
        f"training.precision float32"
    )


class _Meter:
    """Seconds of training, and loss and target tokens since the last reading."""

    def __init__(self, before: float) -> None:
        self._before = before
        self._start = time.perf_counter()
        self._busy = 0.0
        self._mark = self._start
        self._loss = 0.0
        self._tokens = 0
        self._terms: dict[str, list[float]] = {}

    def seconds(self) -> float:
        """Seconds of training so far, those of earlier runs included; starts a new stretch."""
        self._mark = time.perf_counter()
        return self._before + self._mark - self._start

    def update(self, made: Update, batch: Batch) -> float:
        """Count a batch; returns the seconds of training so far."""
        tokens = int(batch.target_mask_BT.sum())
        self._loss += made.loss * tokens
        self._tokens += tokens
        for name, value in made.terms.items():
            self._terms.setdefault(name, []).append(value)
        self._busy += time.perf_counter() - self._mark
        return self.seconds()

    def read(self) -> tuple[float, float]:
        """Mean loss a token and tokens a second since the last reading; time in validations does not count."""
        result = self._loss / max(self._tokens, 1), self._tokens / max(self._busy, 1e-9)
        self._loss, self._tokens, self._busy = 0.0, 0, 0.0
        return result

    def read_terms(self) -> dict[str, float]:
        """Mean of each term over the updates since the last reading."""
        means = {name: sum(values) / len(values) for name, values in self._terms.items()}
        self._terms = {}
        return means
