"""Attention over attention: Y. Cui et al., "Attention-over-attention neural networks for reading comprehension", ACL
2017, arXiv 1607.04423, section 3; the document is the source here, the query is the target so far.

    M(i, j) = h_i · y_j                             between source states and decoder states y_1 … y_t
    α(j) = softmax_i M(i, j)                        where each target position looks
    β(i) = softmax_{j ≤ t} M(i, j)                  which target position each source position looks back at
    β_t = 1/n Σ_i β(i)                              over the n real source positions
    a_t = Σ_{j ≤ t} β_tj α(j)      c_t = Σ_i a_ti h_i

y_t is the query; α does not depend on t, so a step computes one row of it and joins it to those before. Shapes: query
[B, T, D], states [B, S, D]; prefix of P = T steps, more where a state came with some; M and α [B, P, S], β_t [B, P];
weights [B, 1, T, S], context [B, T, D]. β of many steps is made in blocks over t: no tensor of S T² ever stands.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from nmt.attention.base import Attended, Attention, AttentionState, Memory, Normalizer
from nmt.attention.scores import require_equal_widths

BLOCK_ELEMENTS = 2**22
"""Numbers in a block of β(i), [B, steps, S, P], at most, unless one step alone has more."""


@dataclass(frozen=True)
class PrefixState:
    """M and α of the target so far, both [B, P, S]."""

    scores_BPS: Tensor
    alpha_BPS: Tensor

    def reorder(self, index_N: Tensor) -> "PrefixState":
        """The state of the rows `index_N` of the batch; an index may repeat."""
        return PrefixState(self.scores_BPS[index_N], self.alpha_BPS[index_N])

    def extended(self, scores_BTS: Tensor, alpha_BTS: Tensor) -> "PrefixState":
        """With T steps more."""
        return PrefixState(
            torch.cat([self.scores_BPS, scores_BTS], dim=1), torch.cat([self.alpha_BPS, alpha_BTS], dim=1)
        )


def prefix_weights(scores_BPS: Tensor, mask_BS: Tensor, steps: int, normalizer: Normalizer) -> Tensor:
    """β_t of the last `steps` steps of a prefix, [B, steps, P]: 0 on what comes after t, and in rows of padding alone.

    The normaliser sees B · steps sentences of P tokens, of which those up to t are real, and S queries to each.
    """
    position_P = torch.arange(scores_BPS.shape[1], device=scores_BPS.device)
    past_TP = position_P <= position_P[-steps:].unsqueeze(1)
    scores_NSP = scores_BPS.mT.unsqueeze(1).expand(-1, steps, -1, -1).flatten(0, 1)
    beta_NSP = normalizer(scores_NSP, past_TP.repeat(len(mask_BS), 1))
    share_BS = mask_BS.to(beta_NSP.dtype) / mask_BS.sum(dim=1, keepdim=True).clamp(min=1)
    mean_N1P = torch.bmm(share_BS.repeat_interleave(steps, dim=0).unsqueeze(1), beta_NSP)
    beta_BTP: Tensor = mean_N1P.view(len(mask_BS), steps, -1)
    return beta_BTP


class AttentionOverAttention(Attention):
    """The prefix weighs its own steps' attention. Raises ConfigError where queries and keys differ in width."""

    def __init__(self, *, query_width: int, key_width: int, normalizer: Normalizer) -> None:
        super().__init__()
        require_equal_widths("attention attention_over_attention", query_width, key_width)
        self.normalizer = normalizer
        self.context_width = key_width

    def remember(self, states_BSD: Tensor, mask_BS: Tensor) -> Memory:
        """The states as they are; as keys in float32 or wider, since β compares scores of the whole prefix."""
        keys_BSK = states_BSD.to(torch.promote_types(states_BSD.dtype, torch.float32))
        return Memory(keys_BSK=keys_BSK, values_BSD=states_BSD, mask_BS=mask_BS)

    def initial_state(self, memory: Memory, seed_B: Tensor | None = None) -> PrefixState:
        batch, source, _ = memory.keys_BSK.shape
        none_B0S = memory.keys_BSK.new_zeros(batch, 0, source)
        return PrefixState(none_B0S, none_B0S)

    def forward(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        before = state if isinstance(state, PrefixState) else self.initial_state(memory)
        # autocast would take these products, small as they are, in bfloat16.
        with torch.autocast(query_BTQ.device.type, enabled=False):
            scores_BTS = torch.bmm(query_BTQ.to(memory.keys_BSK.dtype), memory.keys_BSK.mT)
            after = before.extended(scores_BTS, self.normalizer(scores_BTS, memory.mask_BS))
            weights_BTS = self._weights(after, memory.mask_BS, query_BTQ.shape[1])
        context_BTD = torch.bmm(weights_BTS.to(memory.values_BSD.dtype), memory.values_BSD)
        return Attended(context_BTD, weights_BTS.unsqueeze(1), after)

    def _weights(self, prefix: PrefixState, mask_BS: Tensor, steps: int) -> Tensor:
        """a_t of the last `steps` steps, [B, steps, S], a block at a time.

        Of several blocks none is kept for the backward pass, which would be all of S T² in pieces: it makes each anew.
        """
        total = prefix.scores_BPS.shape[1]
        size = max(1, BLOCK_ELEMENTS // max(1, prefix.scores_BPS.numel()))
        if steps <= size:
            return self._block(prefix.scores_BPS, prefix.alpha_BPS, mask_BS, steps)
        blocks = []
        for start in range(total - steps, total, size):
            end = min(start + size, total)
            past = (prefix.scores_BPS[:, :end], prefix.alpha_BPS[:, :end])
            block_BTS: Tensor = checkpoint(
                self._block, *past, mask_BS, end - start, use_reentrant=False, preserve_rng_state=False
            )
            blocks.append(block_BTS)
        return torch.cat(blocks, dim=1)

    def _block(self, scores_BPS: Tensor, alpha_BPS: Tensor, mask_BS: Tensor, steps: int) -> Tensor:
        return torch.bmm(prefix_weights(scores_BPS, mask_BS, steps, self.normalizer), alpha_BPS)
