"""What search asks of a model, what it returns, and the rules that every search obeys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from nmt.data.batching import context_batch, source_batch


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
    """How to search: the beam, what is added to a score, and which translations there may be.

    `length_penalty` is α, `plain_length` says of which of the two penalties (`length_penalty` below);
    `coverage_penalty` is β (`coverage.py`). Lengths are ratio × source pieces + add, the end not counted. No
    `no_repeat_ngram` pieces in a row stand twice in a translation. `beam_groups`, a divisor of the beam, share it
    equally, and `diversity_penalty` is λ, which keeps them apart (`beam.py`).
    """

    beam: int
    length_penalty: float
    max_length_ratio: float
    max_length_add: int
    min_length_ratio: float = 0.0
    min_length_add: int = 0
    plain_length: bool = False
    coverage_penalty: float = 0.0
    no_repeat_ngram: int | None = None
    beam_groups: int = 1
    diversity_penalty: float = 0.0

    def max_length(self, source_pieces: int) -> int:
        """The most pieces of a translation, its end not counted."""
        return int(self.max_length_ratio * source_pieces + self.max_length_add)

    def min_length(self, source_pieces: int) -> int:
        """The fewest pieces of a translation, its end not counted; never more than the most."""
        return min(int(self.min_length_ratio * source_pieces + self.min_length_add), self.max_length(source_pieces))

    def penalty(self, length: int) -> float:
        """What a log-probability is divided by: rises with the length, which counts the end piece."""
        return length_penalty(length, self.length_penalty, plain=self.plain_length)


@dataclass(frozen=True)
class Hypothesis:
    """A translation in pieces, without its end.

    `log_probability` is natural, its end included; `score` is divided by the length penalty, and has the coverage
    penalty added. `parts` are there where the line was translated in parts: how many source and target pieces each has.
    """

    pieces: tuple[int, ...]
    log_probability: float
    score: float
    parts: tuple[tuple[int, int], ...] = ()


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


def length_penalty(length: int, alpha: float, *, plain: bool = False) -> float:
    """((5 + length) / 6)^α (Wu et al. 2016, arXiv 1609.08144, eq. 14), or plain, length^α; it counts the end piece."""
    return float((length if plain else (5.0 + length) / 6.0) ** alpha)


def log_probabilities(logits_NV: Tensor) -> Tensor:
    """Natural, in float32 or wider."""
    return torch.log_softmax(logits_NV.float() if logits_NV.dtype != torch.float64 else logits_NV, dim=-1)
