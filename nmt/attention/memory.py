"""End-to-end memory networks: S. Sukhbaatar et al., "End-to-end memory networks", NIPS 2015, arXiv 1503.08895.

    m_i = A_k x_i        c_i = C_k x_i        p = softmax(u_k · m_i)        o_k = Σ_i p_i c_i        k = 1 … K hops

    adjacent    u_{k+1} = u_k + o_k, with A_{k+1} = C_k: K + 1 matrices in all
    layerwise   u_{k+1} = H u_k + o_k, with one A and one C for all hops
    temporal    m_i = A_k x_i + T_A(i), c_i = C_k x_i + T_C(i): the position tells, too; tied as A and C are

u_1 is the decoder's state, x_i the encoder's states; the context is the last u. Shapes: query [B, T, D], states
[B, S, D], weights [B, K, T, S] (hops count as heads), context [B, T, D].
"""

import math

import torch
from torch import Tensor, nn

from nmt.attention.base import Attended, Attention, AttentionState, Memory, Normalizer
from nmt.attention.scores import require_equal_widths


class MemoryAttention(Attention):
    """K hops over the source. Raises ConfigError where queries and keys differ in width.

    With `temporal`, positions beyond `max_source_positions` share the last one's embedding.
    """

    last_map = True

    def __init__(
        self,
        *,
        query_width: int,
        key_width: int,
        hops: int,
        adjacent: bool,
        temporal: bool,
        max_source_positions: int,
        normalizer: Normalizer,
    ) -> None:
        super().__init__()
        require_equal_widths("attention memory", query_width, key_width)
        self.hops = hops
        self.adjacent = adjacent
        self.normalizer = normalizer
        self.context_width = key_width
        count = hops + 1 if adjacent else 2
        self.embeddings = nn.Parameter(torch.empty(count, key_width, key_width))
        nn.init.normal_(self.embeddings, std=1.0 / math.sqrt(key_width))
        positions = (count, max_source_positions, key_width)
        self.positions = nn.Parameter(torch.empty(positions).normal_(std=0.1)) if temporal else None
        self.between = None if adjacent else nn.Linear(key_width, key_width, bias=False)

    def remember(self, states_BSD: Tensor, mask_BS: Tensor) -> Memory:
        """Input memories of all hops side by side as keys, output memories as values."""
        embedded = [self._embedded(index, states_BSD) for index in range(len(self.embeddings))]
        inputs = embedded[:-1] if self.adjacent else [embedded[0]]
        outputs = embedded[1:] if self.adjacent else [embedded[1]]
        return Memory(keys_BSK=torch.cat(inputs, dim=2), values_BSD=torch.cat(outputs, dim=2), mask_BS=mask_BS)

    def forward(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        width = self.context_width
        inputs, outputs = memory.keys_BSK.split(width, dim=2), memory.values_BSD.split(width, dim=2)
        u_BTD, weights = query_BTQ, []
        for hop in range(self.hops):
            keys, values = (memories[hop if self.adjacent else 0] for memories in (inputs, outputs))
            scores_BTS = torch.bmm(u_BTD.to(keys.dtype), keys.transpose(1, 2))
            weights_BTS = self.normalizer(scores_BTS, memory.mask_BS)
            weights.append(weights_BTS)
            read_BTD = torch.bmm(weights_BTS.to(values.dtype), values)
            u_BTD = (u_BTD if self.between is None else self.between(u_BTD)) + read_BTD
        return Attended(u_BTD, torch.stack(weights, dim=1))

    def _embedded(self, index: int, states_BSD: Tensor) -> Tensor:
        embedded_BSD = nn.functional.linear(states_BSD, self.embeddings[index])
        if self.positions is None:
            return embedded_BSD
        rows = torch.arange(states_BSD.shape[1], device=states_BSD.device).clamp(max=self.positions.shape[1] - 1)
        return embedded_BSD + self.positions[index, rows]
