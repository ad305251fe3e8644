"""Hard attention: K. Xu et al., "Show, attend and tell: neural image caption generation with visual attention", ICML
2015, arXiv 1502.03044, section 4.1.

    e_ts = v · tanh(W s_{t−1} + U h_s)        α_t = softmax(e_t)        z_t ~ α_t        c_t = h_{z_t}

One position is drawn, and the weights are one-hot. No gradient goes through a draw: those of W, U and v come from the
score function, log α_t(z_t) times a reward, and from the entropy of α_t, both added up by the training loss from what
stands in `Attended.drawn`. In training the expectation Σ_s α_ts h_s stands in for a sentence's draws with probability
`expected_share`, decided for each sentence as a whole; such a sentence has no reward, and the gradient of `soft.py`.
Outside training the most probable position is taken (the leftmost of equals), or one is drawn from a number that is
given for each sentence, so that neither neighbours nor earlier calls change it.

Shapes: query s_{t−1} [B, T, Q], states h [B, S, D]; W [A, Q], U [A, D], v [A]; weights [B, 1, T, S], context [B, T, D].
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.attention.base import Attended, AttentionState, Drawn, Memory, ScoredAttention
from nmt.attention.normalizers import softmax
from nmt.attention.scores import AdditiveScore
from nmt.uniform import draw, uniform


@dataclass(frozen=True)
class HardState:
    """How each sentence is to be drawn; where nothing is set, the most probable position is taken.

    `expected_B`, in training, is True where the expectation stands in for the draws. `seed_B`, outside it, is the
    number that draws depend on, and `step` how many there have been.
    """

    expected_B: Tensor | None = None
    seed_B: Tensor | None = None
    step: int = 0

    def reorder(self, index_N: Tensor) -> "HardState":
        """The state of the rows `index_N` of the batch; an index may repeat."""
        expected_B, seed_B = (None if row is None else row[index_N] for row in (self.expected_B, self.seed_B))
        return HardState(expected_B, seed_B, self.step)


class HardAttention(ScoredAttention):
    """A position drawn by v · tanh(W s + U h). Raises nothing."""

    draws = True

    def __init__(
        self,
        *,
        query_width: int,
        key_width: int,
        hidden: int,
        expected_share: float,
        reward_weight: float,
        entropy_weight: float,
    ) -> None:
        score = AdditiveScore(query_width=query_width, key_width=key_width, hidden=hidden)
        super().__init__(score=score, normalizer=softmax, context_width=key_width)
        self.expected_share = expected_share
        self.reward_weight = reward_weight
        self.entropy_weight = entropy_weight

    def initial_state(self, memory: Memory, seed_B: Tensor | None = None) -> HardState:
        """In training, the sentences whose expectation is taken, drawn here from torch's generator."""
        if self.training:
            device = memory.mask_BS.device
            return HardState(torch.rand(len(memory.mask_BS), device=device) < self.expected_share)
        return HardState(seed_B=seed_B)

    def forward(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        weights_BTS = self.normalizer(self.score(query_BTQ, memory.keys_BSK), memory.mask_BS)
        how = state if isinstance(state, HardState) else self.initial_state(memory)
        position_BT = self._positions(weights_BTS.detach(), how)
        chosen_BTS = torch.zeros_like(weights_BTS).scatter(2, position_BT.unsqueeze(2), 1.0)
        chosen_BTS = chosen_BTS * memory.mask_BS.unsqueeze(1)
        drawn = None
        if how.expected_B is not None:
            drawn = self._drawn(weights_BTS, position_BT, how.expected_B)
            chosen_BTS = torch.where(how.expected_B[:, None, None], weights_BTS, chosen_BTS)
        context_BTD = torch.bmm(chosen_BTS.to(memory.values_BSD.dtype), memory.values_BSD)
        after = HardState(how.expected_B, how.seed_B, how.step + query_BTQ.shape[1])
        return Attended(context_BTD, chosen_BTS.unsqueeze(1), after, drawn)

    def _positions(self, weights_BTS: Tensor, how: HardState) -> Tensor:
        batch, steps, _ = weights_BTS.shape
        if how.expected_B is not None:
            return draw(weights_BTS, torch.rand(batch, steps, device=weights_BTS.device))
        if how.seed_B is None:
            return weights_BTS.argmax(dim=2)
        step_T = torch.arange(how.step, how.step + steps, device=weights_BTS.device)
        return draw(weights_BTS, uniform(how.seed_B.unsqueeze(1), step_T))

    def _drawn(self, weights_BTS: Tensor, position_BT: Tensor, expected_B: Tensor) -> Drawn:
        # Padding and what has underflowed have weight 0: their part of the entropy is 0, and so is its gradient.
        logs_BTS = torch.where(weights_BTS > 0, weights_BTS, 1.0).log()
        logs_BT = logs_BTS.gather(2, position_BT.unsqueeze(2)).squeeze(2)
        return Drawn(
            alpha_BTS=weights_BTS,
            log_probability_BT=logs_BT.masked_fill(expected_B.unsqueeze(1), 0.0),
            entropy_BT=-(weights_BTS * logs_BTS).sum(dim=2),
            drawn_B=~expected_B,
            reward_weight=self.reward_weight,
            entropy_weight=self.entropy_weight,
        )
