"""Several models as one: what search asks of a model, answered by the mean of their probabilities.

    p(y_t | y_<t, x) = 1/M Σ_m p_m(y_t | y_<t, x)          over M models

Shapes: B batch, N hypotheses, S source, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt.decoding.search import Model, State, log_probabilities


@dataclass(frozen=True)
class EnsembleState:
    """The state of each model."""

    states: tuple[State, ...]

    def reorder(self, index_N: Tensor, *, within: bool = False) -> "EnsembleState":
        """The state of the hypotheses `index_N`; an index may repeat. `within`: rows stay in their sentences."""
        return EnsembleState(tuple(state.reorder(index_N, within=within) for state in self.states))


@dataclass(frozen=True)
class EnsembleStep:
    """One step: logarithms of the mean probabilities, and the state after it."""

    logits_NV: Tensor
    state: EnsembleState


class Ensemble(nn.Module):
    """Models over one vocabulary, searched as one."""

    def __init__(self, models: Sequence[nn.Module]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)

    def _members(self) -> list[Model]:
        return list(self.models)  # type: ignore[arg-type]  # ModuleList forgets what its modules can do

    def start(
        self, source_BS: Tensor, mask_BS: Tensor, seed_B: Tensor | None = None, context_BKS: Tensor | None = None
    ) -> EnsembleState:
        """The state before the first piece of each sentence; `seed_B` asks every attention that can to draw.

        `context_BKS` are the sentences before each, for those that look there.
        """
        return EnsembleState(tuple(model.start(source_BS, mask_BS, seed_B, context_BKS) for model in self._members()))

    def step(self, previous_N: Tensor, state: EnsembleState) -> EnsembleStep:
        """One step of each model."""
        steps = [model.step(previous_N, one) for model, one in zip(self._members(), state.states, strict=True)]
        logits_NV = mean_log_probability(torch.stack([log_probabilities(step.logits_NV) for step in steps]))
        return EnsembleStep(logits_NV, EnsembleState(tuple(step.state for step in steps)))


def mean_log_probability(scores_M: Tensor) -> Tensor:
    """The logarithm of the mean probability over the first axis, a row for each model."""
    return scores_M.logsumexp(dim=0) - math.log(len(scores_M))
