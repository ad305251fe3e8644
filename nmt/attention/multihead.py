"""Multi-head attention: A. Vaswani et al., "Attention is all you need", NIPS 2017, arXiv 1706.03762, section 3.2.2.

    head_i = softmax(Q W_i^Q (K W_i^K)ᵀ / √d_k) V W_i^V        MultiHead(Q, K, V) = [head_1; …; head_h] W^O

Heads are consecutive blocks of d_k = width / h columns of the projections; none has a bias. Shapes: query [B, T, Q],
states [B, S, D] as keys and values; W^Q [width, Q], W^K and W^V [width, D], W^O [D, width]; weights [B, h, T, S],
context [B, T, D].
"""

import math

import torch
from torch import Tensor, nn

from nmt.attention.base import Attended, Attention, AttentionState, Memory, Normalizer
from nmt.errors import ConfigError


class MultiHeadAttention(Attention):
    """h scaled dot products side by side. Raises ConfigError where the heads do not divide the width."""

    def __init__(self, *, query_width: int, key_width: int, width: int, heads: int, normalizer: Normalizer) -> None:
        super().__init__()
        if width % heads:
            raise ConfigError(f"model.attention.heads: {heads} heads do not divide the width {width} evenly")
        self.heads = heads
        self.normalizer = normalizer
        self.context_width = key_width
        self.query = nn.Linear(query_width, width, bias=False)
        self.key = nn.Linear(key_width, width, bias=False)
        self.value = nn.Linear(key_width, width, bias=False)
        self.output = nn.Linear(width, key_width, bias=False)

    def remember(self, states_BSD: Tensor, mask_BS: Tensor) -> Memory:
        return Memory(keys_BSK=self.key(states_BSD), values_BSD=self.value(states_BSD), mask_BS=mask_BS)

    def forward(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        queries, keys, values = (
            self._heads(tensor) for tensor in (self.query(query_BTQ), memory.keys_BSK, memory.values_BSD)
        )
        scores_NTS = torch.bmm(queries / math.sqrt(queries.shape[-1]), keys.transpose(1, 2))
        weights_NTS = self.normalizer(scores_NTS, memory.mask_BS.repeat_interleave(self.heads, dim=0))
        read_NTW = torch.bmm(weights_NTS.to(values.dtype), values)
        read_BTW = read_NTW.unflatten(0, (-1, self.heads)).transpose(1, 2).flatten(2)
        return Attended(self.output(read_BTW), weights_NTS.unflatten(0, (-1, self.heads)))

    def _heads(self, tensor_BXW: Tensor) -> Tensor:
        """[B, X, width] to [B h, X, d_k]."""
        heads_BXHW: Tensor = tensor_BXW.unflatten(2, (self.heads, -1))
        return heads_BXHW.transpose(1, 2).flatten(0, 1)
