"""No attention, the plain encoder-decoder: K. Cho et al., "Learning phrase representations using RNN encoder-decoder
for statistical machine translation", EMNLP 2014, arXiv 1406.1078.

    c_t = c = [→h_n; ←h_1]

The sentence's summary, what each direction of the encoder knew at its end, is the context of every step; of an encoder
without directions it is the mean of the states. Shapes: states [B, S, D], with two directions the first half of D read
forwards and the second backwards; context [B, T, D]. There are no weights.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from nmt.attention.base import Attended, Attention, AttentionState, Memory


def summary(states_BSD: Tensor, mask_BS: Tensor) -> Tensor:
    """[→h_n; ←h_1], [B, D]: the forward half at the last real position, the backward half at the first."""
    forward_width = states_BSD.shape[-1] // 2
    last_B = (mask_BS.sum(dim=1) - 1).clamp(min=0)
    row_B = torch.arange(states_BSD.shape[0], device=states_BSD.device)
    return torch.cat([states_BSD[row_B, last_B, :forward_width], states_BSD[:, 0, forward_width:]], dim=-1)


def mean_state(states_BSD: Tensor, mask_BS: Tensor) -> Tensor:
    """The mean of the real states, [B, D]; zero where there are none."""
    total_BD = states_BSD.masked_fill(~mask_BS.unsqueeze(-1), 0.0).sum(dim=1)
    return total_BD / mask_BS.sum(dim=1, keepdim=True).clamp(min=1)


class NoAttention(Attention):
    """The summary, at every step; `summarize` makes it of states and mask. Raises nothing."""

    has_weights = False

    def __init__(self, *, key_width: int, summarize: Callable[[Tensor, Tensor], Tensor] = summary) -> None:
        super().__init__()
        self.context_width = key_width
        self.summarize = summarize

    def remember(self, states_BSD: Tensor, mask_BS: Tensor) -> Memory:
        value_B1D = self.summarize(states_BSD, mask_BS).unsqueeze(1)
        value_B1D = value_B1D * mask_BS.any(dim=1)[:, None, None]
        return Memory(keys_BSK=value_B1D, values_BSD=value_B1D, mask_BS=mask_BS)

    def forward(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        return Attended(memory.values_BSD.expand(-1, query_BTQ.shape[1], -1), None)
