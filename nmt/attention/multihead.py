"""Multi-head attention: A. Vaswani et al., "Attention is all you need", NIPS 2017, arXiv 1706.03762, section 3.2.2.

    head_i = softmax(Q W_i^Q (K W_i^K)ᵀ / √d_k) V W_i^V        MultiHead(Q, K, V) = [head_1; …; head_h] W^O

One class serves a GRU decoder, a Transformer's cross-attention, and self-attention, where queries and states are the
same; `causal`, for the latter, lets step t see the positions up to its own.

Heads are consecutive blocks of d_k = width / h columns of the projections; none has a bias. Shapes: query [B, T, Q],
states [B, S, D] as keys and values; W^Q [width, Q], W^K and W^V [width, D], W^O [C, width]; weights [B, h, T, S],
context [B, T, C], C being D unless given.
"""

import math

import torch
from torch import Tensor, nn

from nmt.attention.base import Attended, Attention, AttentionState, Memory, Normalizer
from nmt.attention.normalizers import softmax
from nmt.errors import ConfigError


class MultiHeadAttention(Attention):
    """h scaled dot products side by side. Raises ConfigError where the heads do not divide the width.

    `causal`: the queries are the last T of the S positions of the memory, which may hold earlier ones; none looks
    beyond its own.
    """

    def __init__(
        self,
        *,
        query_width: int,
        key_width: int,
        width: int,
        heads: int,
        normalizer: Normalizer,
        context_width: int | None = None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        if width % heads:
            raise ConfigError(f"attention multihead: {heads} heads do not divide the width {width} evenly")
        self.heads = heads
        self.normalizer = normalizer
        self.context_width = context_width or key_width
        self.causal = causal
        self.query = nn.Linear(query_width, width, bias=False)
        self.key = nn.Linear(key_width, width, bias=False)
        self.value = nn.Linear(key_width, width, bias=False)
        self.output = nn.Linear(width, self.context_width, bias=False)

    def remember(self, states_BSD: Tensor, mask_BS: Tensor) -> Memory:
        return Memory(keys_BSK=self.key(states_BSD), values_BSD=self.value(states_BSD), mask_BS=mask_BS)

    def forward(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        queries, keys, values = (
            self._heads(tensor) for tensor in (self.query(query_BTQ), memory.keys_BSK, memory.values_BSD)
        )
        past_TS = self._past(query_BTQ.shape[1], memory.mask_BS)
        weights_BHTS = None
        if need_weights or self.normalizer is not softmax or _slow_when_fused(queries, keys):
            scores_NTS = torch.bmm(queries.flatten(0, 1) / math.sqrt(queries.shape[-1]), keys.flatten(0, 1).mT)
            if past_TS is not None:
                scores_NTS = scores_NTS.masked_fill(~past_TS, -torch.inf)
            weights_NTS = self.normalizer(scores_NTS, memory.mask_BS.repeat_interleave(self.heads, dim=0))
            weights_BHTS = weights_NTS.unflatten(0, (-1, self.heads))
            read_BHTW = torch.bmm(weights_NTS.to(values.dtype), values.flatten(0, 1)).view_as(queries)
        else:
            read_BHTW = _fused(queries, keys, values, memory.mask_BS, past_TS)
        return Attended(self.output(read_BHTW.transpose(1, 2).flatten(2)), weights_BHTS if need_weights else None)

    def _heads(self, tensor_BXW: Tensor) -> Tensor:
        """[B, X, width] to [B, h, X, d_k]."""
        heads_BXHW: Tensor = tensor_BXW.unflatten(2, (self.heads, -1))
        return heads_BXHW.transpose(1, 2)

    def _past(self, steps: int, mask_BS: Tensor) -> Tensor | None:
        """[T, S], True up to a step's own position; None where every step may look everywhere."""
        if not self.causal or steps == 1:
            return None
        source = mask_BS.shape[1]
        return torch.ones(steps, source, dtype=torch.bool, device=mask_BS.device).tril(source - steps)


def _slow_when_fused(queries: Tensor, keys: Tensor) -> bool:
    """Whether the plain path is faster, the backward pass included.

    On a processor that of torch's kernel takes ten times as long in bfloat16 on rows of 20 positions, as long on 256.
    """
    halved = queries.dtype == torch.bfloat16 and queries.device.type == "cpu"
    return halved and queries.requires_grad and keys.shape[2] <= 256


def _fused(queries: Tensor, keys: Tensor, values: Tensor, mask_BS: Tensor, past_TS: Tensor | None) -> Tensor:
    """What the heads read, [B, h, T, d_k], by torch's own kernel, which keeps no weights.

    A row with nothing to look at looks everywhere and is set to 0 afterwards: what kernels make of one differs.
    """
    seen_B1TS = mask_BS[:, None, None, :]
    if past_TS is not None:
        seen_B1TS = seen_B1TS & past_TS
    somewhere_B1T1 = seen_B1TS.any(dim=-1, keepdim=True)
    read_BHTW = nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=seen_B1TS | ~somewhere_B1T1)
    return read_BHTW.masked_fill(~somewhere_B1T1, 0.0)
