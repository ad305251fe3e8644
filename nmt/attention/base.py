"""The one idea behind every mechanism, and the interface that they share.

Given a query, where in a memory of keys and values should I look, and what do I read there? Score, normalise, weighted
sum:

    e_ts = score(q_t, k_s)        a_t = normalise(e_t)        c_t = Σ_s a_ts v_s

A memory is made once for a sentence (`remember`) and returned, never kept on the module; a query of one step (T = 1) or
of all steps at once goes through the same call. Row t of the weights holds what was used *when predicting* target
token t.

Shapes: B batch, S source, T target, H heads, D width of a value, K width of a key, Q width of a query. Masks are
boolean, True on real tokens. A row with no real token gives zero weights and a zero context, never NaN.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Drawn:
    """What a mechanism that draws where to look adds to the training loss, step by step.

    `alpha_BTS` is the distribution that is drawn from, and `entropy_BT` its entropy in nats. `log_probability_BT` is
    that of the position drawn, 0 where nothing was drawn and the expectation stood in, as `drawn_B` tells of each
    sentence. The loss takes `reward_weight` times the reward of the latter, and `entropy_weight` times the entropy
    (`training/loss.py`).
    """

    alpha_BTS: Tensor
    log_probability_BT: Tensor
    entropy_BT: Tensor
    drawn_B: Tensor
    reward_weight: float
    entropy_weight: float


def join_drawn(steps: Sequence[Drawn | None]) -> Drawn | None:
    """One after the other along T; None where a step has none."""
    found = [step for step in steps if step is not None]
    if not found or len(found) < len(steps):
        return None
    return replace(
        found[0],
        alpha_BTS=torch.cat([step.alpha_BTS for step in found], dim=1),
        log_probability_BT=torch.cat([step.log_probability_BT for step in found], dim=1),
        entropy_BT=torch.cat([step.entropy_BT for step in found], dim=1),
    )


class AttentionState(Protocol):
    """What a mechanism carries from one target step to the next, for those that look at their own past."""

    def reorder(self, index_N: Tensor) -> Self:
        """The state of the rows `index_N` of the batch, as beam search asks for it."""
        ...


@dataclass(frozen=True)
class DocumentMemory:
    """The K sentences before a sentence, in the document's order: keys, values and reality of their words."""

    keys_BKSA: Tensor
    values_BKSD: Tensor
    mask_BKS: Tensor

    def reorder(self, index_N: Tensor) -> "DocumentMemory":
        """That of the rows `index_N` of the batch; an index may repeat."""
        return DocumentMemory(self.keys_BKSA[index_N], self.values_BKSD[index_N], self.mask_BKS[index_N])


@dataclass(frozen=True)
class Memory:
    """A sentence as attention sees it.

    `keys_BSK` are what queries are compared with, projected once for the sentence; `values_BSD` are what is read;
    `mask_BS` is True on real source tokens. `document` are the sentences before it, for an attention that looks there.
    """

    keys_BSK: Tensor
    values_BSD: Tensor
    mask_BS: Tensor
    document: DocumentMemory | None = None

    def reorder(self, index_N: Tensor) -> "Memory":
        """The memory of the rows `index_N` of the batch; an index may repeat."""
        return replace(
            self,
            keys_BSK=self.keys_BSK[index_N],
            values_BSD=self.values_BSD[index_N],
            mask_BS=self.mask_BS[index_N],
            document=None if self.document is None else self.document.reorder(index_N),
        )

    def joined(self, after: "Memory") -> "Memory":
        """This memory and, to the right of it, another: what a sentence that is still being written remembers."""
        if not self.keys_BSK.shape[1]:
            return after
        return Memory(
            keys_BSK=torch.cat([self.keys_BSK, after.keys_BSK], dim=1),
            values_BSD=torch.cat([self.values_BSD, after.values_BSD], dim=1),
            mask_BS=torch.cat([self.mask_BS, after.mask_BS], dim=1),
        )


@dataclass(frozen=True)
class DocumentWeights:
    """Where in the sentences before a target word looked.

    `words_BTKS` are the weights of the words within each sentence, `sentences_BTK` those of the sentences; the product
    of both is the weight of a word among all. `gate_BT` is the mean of λ, the share that the sentence's own context had
    in what was read.
    """

    words_BTKS: Tensor
    sentences_BTK: Tensor
    gate_BT: Tensor


def join_document(steps: Sequence[DocumentWeights | None]) -> DocumentWeights | None:
    """One after the other along T; None where a step has none."""
    found = [step for step in steps if step is not None]
    if not found or len(found) < len(steps):
        return None
    parts = zip(*((step.words_BTKS, step.sentences_BTK, step.gate_BT) for step in found), strict=True)
    return DocumentWeights(*(torch.cat(part, dim=1) for part in parts))


@dataclass(frozen=True)
class Attended:
    """What one call of attention returns.

    `context_BTD` is what was read, `weights_BHTS` where (hops count as heads), None where nobody asked or a mechanism
    has none; `state` is what the next step needs, None for a mechanism that does not look at its own past; `drawn` what
    a mechanism that draws adds to the loss, in training alone; `document` where in the sentences before it looked, None
    where nobody asked or there are none.
    """

    context_BTD: Tensor
    weights_BHTS: Tensor | None
    state: AttentionState | None = None
    drawn: Drawn | None = None
    document: DocumentWeights | None = None


class Attention(nn.Module, ABC):
    """A mechanism: `remember` a sentence once, then answer queries from that memory.

    `context_width` is D; `has_weights` is False for a mechanism that looks nowhere in particular. `last_map` is True
    where the H maps follow one another, as hops do, so that the last one, not their mean, tells what was read. `draws`
    is True for a mechanism that can draw where to look, `reads_document` for one that looks at the sentences before.
    """

    context_width: int
    has_weights: bool = True
    last_map: bool = False
    draws: bool = False
    reads_document: bool = False

    @abstractmethod
    def remember(self, states_BSD: Tensor, mask_BS: Tensor) -> Memory:
        """Project the encoder's states once for the sentence."""

    def remember_document(self, memory: Memory, states_BKSD: Tensor, mask_BKS: Tensor) -> Memory:
        """The memory of a sentence with that of the K sentences before it; most mechanisms look at none."""
        raise NotImplementedError(f"{type(self).__name__} looks at one sentence alone")

    def initial_state(self, memory: Memory, seed_B: Tensor | None = None) -> AttentionState | None:
        """The state before the first target token.

        `seed_B`, a number for each sentence, asks a mechanism that draws to do so outside training, too: what is drawn
        depends on that number and the step alone.
        """
        return None

    @abstractmethod
    def forward(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        """Answer T queries at once, or one (T = 1). Without `need_weights`, weights that cost something may be None."""

    def __call__(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        """See `forward`; repeated here for its types."""
        attended: Attended = super().__call__(query_BTQ, memory, state, need_weights=need_weights)
        return attended


class Score(nn.Module, ABC):
    """score(q, k), split so that what depends on the source alone is computed once for a sentence."""

    def project(self, states_BSD: Tensor) -> Tensor:
        """The source's part of the score, [B, S, K]; the states themselves unless a score says otherwise."""
        return states_BSD

    @abstractmethod
    def forward(self, query_BTQ: Tensor, keys_BSK: Tensor, position_BS: Tensor | None = None) -> Tensor:
        """Scores [B, T, S]; −∞ at a position that the score cannot reach.

        `position_BS` tells where in the sentence the keys stand, for a score that looks at it; None: at 0 … S − 1.
        """

    def __call__(self, query_BTQ: Tensor, keys_BSK: Tensor, position_BS: Tensor | None = None) -> Tensor:
        """See `forward`; repeated here for its types."""
        scores_BTS: Tensor = super().__call__(query_BTQ, keys_BSK, position_BS)
        return scores_BTS


class Normalizer(Protocol):
    """What turns scores into weights that are 0 on padding and sum to 1 over real tokens."""

    def __call__(self, scores_BTS: Tensor, mask_BS: Tensor) -> Tensor:
        """Weights [B, T, S]."""
        ...


class ScoredAttention(Attention):
    """Score every position, normalise, and read the weighted sum: the whole sentence at every step.

    Raises nothing of its own; scores that need queries and keys of one width check it when they are built.
    """

    def __init__(self, *, score: Score, normalizer: Normalizer, context_width: int) -> None:
        super().__init__()
        self.score = score
        self.normalizer = normalizer
        self.context_width = context_width

    def remember(self, states_BSD: Tensor, mask_BS: Tensor) -> Memory:
        return Memory(keys_BSK=self.score.project(states_BSD), values_BSD=states_BSD, mask_BS=mask_BS)

    def forward(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        scores_BTS = self.score(query_BTQ, memory.keys_BSK)
        weights_BTS = self.normalizer(scores_BTS, memory.mask_BS)
        context_BTD = torch.bmm(weights_BTS.to(memory.values_BSD.dtype), memory.values_BSD)
        return Attended(context_BTD, weights_BTS.unsqueeze(1))
