"""What search asks of a model, what it returns, and the rules that every search obeys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from nmt.data.batching import context_batch, source_batch
from nmt.data.tokenizer import BEGIN, PADDING, UNKNOWN


class State(Protocol):
    """What a step leaves for the next."""

    def reorder(self, index_N: Tensor, *, within: bool = False) -> "State":
        """The state of the hypotheses `index_N`; an index may repeat. `within`: rows stay in their sentences."""
        ...


class Step(Protocol):
    """The result of one step."""

    @property
    def logits_NV(self) -> Tensor:
        """Scores of the next piece."""
        ...

    @property
    def state(self) -> State:
        """The state after the step."""
        ...


class Model(Protocol):
    """Whatever can be searched: with `State.reorder`, the only calls that a search makes."""

    def start(
        self, source_BS: Tensor, mask_BS: Tensor, seed_B: Tensor | None = None, context_BKS: Tensor | None = None
    ) -> State:
        """The state before the first piece of each sentence.

        `seed_B` asks an attention that can to draw; `context_BKS` are the sentences before each, where there are some.
        """
        ...

    def step(self, previous_N: Tensor, state: Any) -> Step:
        """One step, given each hypothesis's last piece."""
        ...


@dataclass(frozen=True)
class SearchSettings:
    """How to search: beam, α of the length penalty, and the longest translation, ratio × source pieces + add."""

    beam: int
    length_penalty: float
    max_length_ratio: float
    max_length_add: int

    def max_length(self, source_pieces: int) -> int:
        """The most pieces of a translation, its end not counted."""
        return int(self.max_length_ratio * source_pieces + self.max_length_add)


@dataclass(frozen=True)
class Hypothesis:
    """A translation in pieces, without its end.

    `log_probability` is natural, its end included; `score` is divided by the length penalty.
    """

    pieces: tuple[int, ...]
    log_probability: float
    score: float


def started(
    model: Model,
    sources: Sequence[Sequence[int]],
    before: Sequence[Sequence[Sequence[int]]],
    seed_B: Tensor | None,
    device: torch.device,
) -> State:
    """The state before the first piece of sources given in pieces; `before` is empty where no other sentence counts."""
    numbers_BS, mask_BS = (tensor.to(device) for tensor in source_batch(sources))
    seed_B, context_BKS = None if seed_B is None else seed_B.to(device), context_batch(before)
    if context_BKS is None:
        return model.start(numbers_BS, mask_BS, seed_B)
    return model.start(numbers_BS, mask_BS, seed_B, context_BKS.to(device))


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^α (Wu et al. 2016, arXiv 1609.08144, eq. 14); the length counts the end piece."""
    return float(((5.0 + length) / 6.0) ** alpha)


def log_probabilities(logits_NV: Tensor) -> Tensor:
    """Natural, in float32 or wider; what is never written (padding, unknown, begin) has −∞."""
    scores = torch.log_softmax(logits_NV.float() if logits_NV.dtype != torch.float64 else logits_NV, dim=-1)
    scores[:, [PADDING, UNKNOWN, BEGIN]] = -torch.inf
    return scores
