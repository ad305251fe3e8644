"""Local attention: M.-T. Luong, H. Pham, C. D. Manning, "Effective approaches to attention-based neural machine
translation", EMNLP 2015, arXiv 1508.04025, section 3.2.

    local_m    p_t = t                                       the target's own position, counted from 0
    local_p    p_t = n sigmoid(v_p · tanh(W_p h_t))          predicted, a real number; n is the real source length

    a_ts = softmax_s(score(h_t, h̄_s))  over  |s − p_t| ≤ D, inside the sentence;  0 elsewhere
    local_p    times exp(−(s − p_t)² / (2σ²)), σ = D / 2
    c_t = Σ_s a_ts h̄_s

Weights do not always sum to 1: the Gaussian is not made up for, and where local_m's window lies wholly past the end,
weights and context are zero. The state counts steps and keeps n, so that a step of search looks at the 2D + 1 states
about p_t, gathered, and at nothing that is as long as the sentence. Shapes: query h_t [B, T, Q], states h̄ [B, S, D];
W_p [hidden, Q], v_p [hidden]; weights [B, 1, T, S], context [B, T, D]; W the width of a gathered window.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from nmt.attention.base import Attended, Attention, AttentionState, Memory, Normalizer, Score


@dataclass(frozen=True)
class LocalState:
    """How many steps a target has behind it, and how many real positions its source has: int64, [B] each."""

    step_B: Tensor
    length_B: Tensor

    def reorder(self, index_N: Tensor) -> "LocalState":
        """The state of the rows `index_N` of the batch; an index may repeat."""
        return LocalState(self.step_B[index_N], self.length_B[index_N])


class LocalAttention(Attention):
    """Any score, normalised over a window that reaches `window` positions to either side of its centre.

    The centre is predicted (local_p) where `predict`, else the target's own position (local_m). Raises nothing; the
    score has checked its widths.
    """

    def __init__(
        self,
        *,
        score: Score,
        query_width: int,
        key_width: int,
        hidden: int,
        window: int,
        predict: bool,
        normalizer: Normalizer,
    ) -> None:
        super().__init__()
        self.score = score
        self.normalizer = normalizer
        self.window = window
        self.context_width = key_width
        self.inner = nn.Linear(query_width, hidden, bias=False) if predict else None
        self.outer = nn.Linear(hidden, 1, bias=False) if predict else None

    def remember(self, states_BSD: Tensor, mask_BS: Tensor) -> Memory:
        return Memory(keys_BSK=self.score.project(states_BSD), values_BSD=states_BSD, mask_BS=mask_BS)

    def initial_state(self, memory: Memory, seed_B: Tensor | None = None) -> LocalState:
        length_B = memory.mask_BS.sum(dim=1)
        return LocalState(torch.zeros_like(length_B), length_B)

    def centre(self, query_BTQ: Tensor, state: LocalState) -> Tensor:
        """p_t, [B, T]: whole numbers for local_m, float32 or wider for local_p."""
        if self.inner is None or self.outer is None:
            return state.step_B.unsqueeze(1) + torch.arange(query_BTQ.shape[1], device=query_BTQ.device)
        # In bfloat16 neighbouring positions would be one and the same as soon as a sentence has 256 of them.
        with torch.autocast(query_BTQ.device.type, enabled=False):
            hidden_BTA = torch.tanh(self.inner(query_BTQ.to(self.inner.weight.dtype)))
            share_BT = torch.sigmoid(self.outer(hidden_BTA).squeeze(2))
        return state.length_B.unsqueeze(1) * share_BT

    def forward(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        before = state if isinstance(state, LocalState) else self.initial_state(memory)
        steps, source = query_BTQ.shape[1], memory.mask_BS.shape[1]
        after = replace(before, step_B=before.step_B + steps)
        centre_BT = self.centre(query_BTQ, before)
        # One step of search gathers its window. The windows of many steps overlap, and would hold each state many times
        # over; and the gradients of gathered states are added up one by one, which costs more than looking at all.
        gathers = steps == 1 and source > 2 * self.window + 1 and not self.training
        position_BW = self._around(centre_BT, source) if gathers else None
        near = memory if position_BW is None else _gathered(memory, position_BW)
        weights_BTW = self._weights(query_BTQ, near, centre_BT, position_BW)
        context_BTD = torch.bmm(weights_BTW.to(near.values_BSD.dtype), near.values_BSD)
        if not need_weights:
            return Attended(context_BTD, None, after)
        if position_BW is None:
            return Attended(context_BTD, weights_BTW.unsqueeze(1), after)
        nowhere_BTS = weights_BTW.new_zeros(*centre_BT.shape, source)
        weights_BTS = nowhere_BTS.scatter(2, position_BW.unsqueeze(1), weights_BTW)
        return Attended(context_BTD, weights_BTS.unsqueeze(1), after)

    def _around(self, centre_B1: Tensor, source: int) -> Tensor:
        """2D + 1 positions in a row, [B, W], with all those of the window that the memory has."""
        width = 2 * self.window + 1
        # Cut off after the point: rounded down, as what lies below 0 is clamped.
        first_B1 = (centre_B1 - self.window).long().clamp(min=0, max=source - width)
        return first_B1 + torch.arange(width, device=centre_B1.device)

    def _weights(
        self, query_BTQ: Tensor, memory: Memory, centre_BT: Tensor, position_BS: Tensor | None = None
    ) -> Tensor:
        """Weights of what stands at `position_BS`; None: at 0 … S − 1."""
        scores_BTS = self.score(query_BTQ, memory.keys_BSK, position_BS)
        if position_BS is None:
            position_BS = torch.arange(scores_BTS.shape[2], device=scores_BTS.device).unsqueeze(0)
        distance_BTS = position_BS.unsqueeze(1) - centre_BT.unsqueeze(2)
        scores_BTS = scores_BTS.masked_fill(distance_BTS.abs() > self.window, -torch.inf)
        weights_BTS = self.normalizer(scores_BTS, memory.mask_BS)
        if self.inner is None:
            return weights_BTS
        deviation = self.window / 2
        return weights_BTS * torch.exp(-distance_BTS.square() / (2 * deviation**2))


def _gathered(memory: Memory, position_BW: Tensor) -> Memory:
    """The memory of those positions alone."""
    row_B1 = torch.arange(position_BW.shape[0], device=position_BW.device).unsqueeze(1)
    keys, values, mask = memory.keys_BSK, memory.values_BSD, memory.mask_BS
    return Memory(keys[row_B1, position_BW], values[row_B1, position_BW], mask[row_B1, position_BW])
