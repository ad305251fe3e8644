"""Adam, and the learning rate of each step.

A schedule is a function of what training has done so far, so that a resumed run has the same rates. After w steps of
warm-up, in which the rate rises linearly, with step counted from 1 and p the share of the limits that is used up:

    constant      r
    inverse_sqrt  r √(w / step)                          (Vaswani et al. 2017)
    cosine        m + (r − m)(1 + cos πp) / 2            (Loshchilov & Hutter 2017), p from the end of the warm-up
    plateau       r f^k after k times more than `patience` validations without a better score
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Schedule:
    """The settings of a learning-rate schedule, as in the training section."""

    name: str
    learning_rate: float
    min_learning_rate: float
    warmup: int


@dataclass(frozen=True)
class Moment:
    """What a schedule may look at: the step (from 1), the share of the limits used, and plateau's factor so far."""

    step: int
    used: float
    reduction: float = 1.0


def _inverse_sqrt(schedule: Schedule, moment: Moment) -> float:
    return schedule.learning_rate * math.sqrt(max(schedule.warmup, 1) / max(moment.step, 1))


def _cosine(schedule: Schedule, moment: Moment) -> float:
    # The share of the limits used when the warm-up ended follows from the present share: both grow with the steps.
    warm = moment.used * schedule.warmup / max(moment.step, 1)
    share = min(max((moment.used - warm) / max(1.0 - warm, 1e-9), 0.0), 1.0)
    span = schedule.learning_rate - schedule.min_learning_rate
    return schedule.min_learning_rate + span * (1.0 + math.cos(math.pi * share)) / 2.0


SCHEDULES: dict[str, Callable[[Schedule, Moment], float]] = {
    "constant": lambda schedule, moment: schedule.learning_rate,
    "inverse_sqrt": _inverse_sqrt,
    "cosine": _cosine,
    "plateau": lambda schedule, moment: max(schedule.learning_rate * moment.reduction, schedule.min_learning_rate),
}
"""From the name in YAML (`training.schedule`) to the rate after the warm-up."""


def learning_rate(schedule: Schedule, moment: Moment) -> float:
    """The rate of one step."""
    if moment.step <= schedule.warmup:
        return schedule.learning_rate * moment.step / schedule.warmup
    return SCHEDULES[schedule.name](schedule, moment)


def make_optimizer(
    parameters: Iterable[nn.Parameter], *, betas: tuple[float, float], weight_decay: float
) -> torch.optim.Adam:
    """Adam (Kingma & Ba 2015), or AdamW (Loshchilov & Hutter 2019) where there is weight decay, in one fused pass."""
    # ε of 1e-9 as Vaswani et al. 2017 have it: embeddings of rare pieces have small gradients.
    kind = torch.optim.AdamW if weight_decay else torch.optim.Adam
    return kind(parameters, lr=0.0, betas=betas, eps=1e-9, weight_decay=weight_decay, fused=True)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """The rate of the next update."""
    for group in optimizer.param_groups:
        group["lr"] = rate
