"""Addressing of the neural Turing machine: A. Graves, G. Wayne, I. Danihelka, "Neural Turing machines", 2014, arXiv
1410.5401, section 3.3; here over the encoder's states.

    w^c = softmax(β cos(k, h_s))                            where the content is like the key
    w^g = g w^c + (1 − g) w_{t−1}                           or where the last step looked
    w̃(i) = Σ_o w^g((i − o) mod n) s(o),  o ∈ {−1, 0, 1}     shifted round the sentence
    w = w̃^γ / Σ w̃^γ                                         sharpened

One linear layer of the query gives key k, strength β (softplus), gate g (σ), shift s (softmax of 3), γ (1 + softplus).
w_0 is one-hot on position 0; n is the real source length. Shapes: query [B, T, Q], states [B, S, D]; weights
[B, 1, T, S], context [B, T, D]. It looks at its own past, so it goes step by step, whatever T is.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt.attention.base import Attended, Attention, AttentionState, Memory, Normalizer
from nmt.attention.scores import STRENGTH, cosine_scores

_TINY = 1e-20
"""The logarithm of a weight is taken of no less than this; raised to γ it is nothing all the same."""


@dataclass(frozen=True)
class NtmState:
    """Where the step before looked, [B, S]."""

    weights_BS: Tensor

    def reorder(self, index_N: Tensor) -> "NtmState":
        """The state of the rows `index_N` of the batch; an index may repeat."""
        return NtmState(self.weights_BS[index_N])


def address(
    content_BS: Tensor, previous_BS: Tensor, gate_B1: Tensor, shift_B3: Tensor, gamma_B1: Tensor, mask_BS: Tensor
) -> Tensor:
    """Interpolate, shift and sharpen, [B, S]; a row without real tokens is zero."""
    gated_BS = gate_B1 * content_BS + (1.0 - gate_B1) * previous_BS
    length_B1 = mask_BS.sum(dim=1, keepdim=True).clamp(min=1)
    position_1S = torch.arange(mask_BS.shape[1], device=mask_BS.device).unsqueeze(0)
    offsets = torch.arange(-1, 2, device=mask_BS.device).view(3, 1, 1)
    from_3BS = (position_1S - offsets) % length_B1
    moved_3BS = gated_BS.unsqueeze(0).expand(3, -1, -1).gather(2, from_3BS)
    shifted_BS = (shift_B3.t().unsqueeze(2) * moved_3BS).sum(dim=0).masked_fill(~mask_BS, 0.0)
    powers_BS = (gamma_B1 * shifted_BS.clamp(min=_TINY).log()).masked_fill(~mask_BS, torch.finfo(content_BS.dtype).min)
    return torch.softmax(powers_BS, dim=1).masked_fill(~mask_BS, 0.0)


class NtmAttention(Attention):
    """Content and location addressing with memory of the last step. Raises nothing."""

    def __init__(self, *, query_width: int, key_width: int, normalizer: Normalizer) -> None:
        super().__init__()
        self.normalizer = normalizer
        self.context_width = key_width
        self.parameters_of = nn.Linear(query_width, key_width + 6)
        nn.init.constant_(self.parameters_of.bias[key_width : key_width + 1], STRENGTH)

    def remember(self, states_BSD: Tensor, mask_BS: Tensor) -> Memory:
        return Memory(keys_BSK=states_BSD, values_BSD=states_BSD, mask_BS=mask_BS)

    def initial_state(self, memory: Memory, seed_B: Tensor | None = None) -> NtmState:
        first_BS = torch.zeros(memory.mask_BS.shape, dtype=memory.values_BSD.dtype, device=memory.mask_BS.device)
        first_BS[:, 0] = 1.0
        return NtmState(first_BS * memory.mask_BS)

    def forward(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        given: Tensor = self.parameters_of(query_BTQ)
        given = given.to(torch.promote_types(given.dtype, torch.float32))
        key, beta, gate, shift, gamma = given.split([self.context_width, 1, 1, 3, 1], dim=2)
        softplus = nn.functional.softplus
        scores_BTS = cosine_scores(key, memory.keys_BSK, softplus(beta))
        content_BTS = self.normalizer(scores_BTS, memory.mask_BS)
        gates = (torch.sigmoid(gate), torch.softmax(shift, dim=2), 1.0 + softplus(gamma))
        before = state if isinstance(state, NtmState) else self.initial_state(memory)
        weights_BS, steps = before.weights_BS.to(content_BTS.dtype), []
        each = zip(content_BTS.unbind(1), *(part.unbind(1) for part in gates), strict=True)
        for content_BS, gate_B1, shift_B3, gamma_B1 in each:
            weights_BS = address(content_BS, weights_BS, gate_B1, shift_B3, gamma_B1, memory.mask_BS)
            steps.append(weights_BS)
        weights_BTS = torch.stack(steps, dim=1)
        context_BTD = torch.bmm(weights_BTS.to(memory.values_BSD.dtype), memory.values_BSD)
        return Attended(context_BTD, weights_BTS.unsqueeze(1), NtmState(weights_BS))
