"""Restricted self-attention: A. Vaswani et al., "Attention is all you need", NIPS 2017, arXiv 1706.03762, section 4.

    MultiHead(Q, K, V), where position t looks at the positions s with |s − t| ≤ w = (r − 1)/2 alone

A sentence is cut into blocks of w positions. All that a block may look at lies in itself and its two neighbours, so its
queries meet 3 w keys: the cost is O(r·n·d), and nothing of n × n is made unless weights are asked for.

Shapes as in `multihead.py`, with T = S = n; N blocks, w positions in each.
"""

import torch
from torch import Tensor, nn

from nmt.attention.base import Attended, AttentionState, Memory, Normalizer
from nmt.attention.multihead import MultiHeadAttention
from nmt.errors import ConfigError


class RestrictedSelfAttention(MultiHeadAttention):
    """Multi-head attention of a sentence to itself, each position to its `neighbourhood` r, itself in the middle.

    The queries are the memory's own positions, all of them. Raises ConfigError where the neighbourhood is even or below
    3, or where the heads do not divide the width.
    """

    def __init__(self, *, width: int, heads: int, normalizer: Normalizer, neighbourhood: int) -> None:
        if neighbourhood < 3 or neighbourhood % 2 == 0:
            raise ConfigError(f"restricted self-attention: a neighbourhood of {neighbourhood} is not odd, 3 or more")
        super().__init__(query_width=width, key_width=width, width=width, heads=heads, normalizer=normalizer)
        self.reach = neighbourhood // 2

    def forward(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        length = query_BTQ.shape[1]
        block = min(self.reach, length)
        blocks = -(-length // block)
        around = Memory(
            keys_BSK=_around(memory.keys_BSK, block),
            values_BSD=_around(memory.values_BSD, block),
            mask_BS=_around(memory.mask_BS, block),
        )
        attended = super().forward(_blocks(query_BTQ, block).flatten(0, 1), around, need_weights=need_weights)
        context_BTC = attended.context_BTD.reshape(-1, blocks * block, self.context_width)[:, :length]
        weights = attended.weights_BHTS
        return Attended(context_BTC, None if weights is None else _spread(weights, blocks, length))

    def _past(self, steps: int, mask_BS: Tensor) -> Tensor | None:
        """[w, 3 w], True within reach; the keys begin a block, of `steps` positions, before the queries."""
        here_W1 = torch.arange(steps, device=mask_BS.device).unsqueeze(1) + steps
        there_V = torch.arange(3 * steps, device=mask_BS.device)
        return (there_V - here_W1).abs() <= steps


def _blocks(tensor_BSX: Tensor, block: int, more: int = 0) -> Tensor:
    """Cut into blocks [B, N, w, …], the last filled up with zeros, and `more` blocks of zeros on each side."""
    before, behind = more * block, more * block + -tensor_BSX.shape[1] % block
    padding = (0, 0) * (tensor_BSX.dim() - 2) + (before, behind)
    blocks_BNWX: Tensor = nn.functional.pad(tensor_BSX, padding).unflatten(1, (-1, block))
    return blocks_BNWX


def _around(tensor_BSX: Tensor, block: int) -> Tensor:
    """Each block with its two neighbours, [B N, 3 w, …]; zeros, in a mask False, where there is none."""
    blocks_BNWX = _blocks(tensor_BSX, block, more=1)
    return torch.cat([blocks_BNWX[:, :-2], blocks_BNWX[:, 1:-1], blocks_BNWX[:, 2:]], dim=2).flatten(0, 1)


def _spread(weights_XHWV: Tensor, blocks: int, length: int) -> Tensor:
    """The weights of each block [B N, H, w, 3 w] in their places among all positions, [B, H, n, n]."""
    heads, block = weights_XHWV.shape[1:3]
    spread_BHNWS = weights_XHWV.new_zeros(weights_XHWV.shape[0] // blocks, heads, blocks, block, (blocks + 2) * block)
    for number, weights_BHWV in enumerate(weights_XHWV.unflatten(0, (-1, blocks)).unbind(1)):
        spread_BHNWS[:, :, number, :, number * block : (number + 3) * block] = weights_BHWV
    return spread_BHNWS.flatten(2, 3)[:, :, :length, block : block + length]
