"""The convolutional encoder: J. Gehring et al., "Convolutional sequence to sequence learning", ICML 2017, arXiv
1705.03122, section 3; as the encoder of other decoders, J. Gehring et al., ACL 2017, arXiv 1611.02344.

    [A; B] = W [h_{s−(k−1)/2}; …; h_{s+(k−1)/2}] + b          h'_s = √½ (h_s + A ⊙ σ(B))

Blocks of a convolution with a gated linear unit, one above the other, over embeddings with positions. A block of kernel
width k widens what a state knows of by (k − 1)/2 pieces on each side, so that L blocks see L (k − 1) + 1 pieces. What
stands outside of the sentence is zero, be it padding or nothing at all.

Weights start as in section 3.5 of the paper: A and B have four times the variance of the states, since a gate lets
about half of A through. There is no weight normalisation here, and attention reads h alone, not h + e as in the paper.

Shapes: B batch, S source, E embedding, D width of a state, k kernel; W [2 D, D, k], b [2 D].
"""

import math
from collections.abc import Sequence
from typing import cast

from torch import Tensor, nn

from nmt.attention.none import mean_state
from nmt.model.dropout import Dropout
from nmt.model.encoders import Encoded, Encoder
from nmt.model.positions import PositionedInputs
from nmt.model.transformer_layers import start_uniform


class ConvolutionalBlock(nn.Module):
    """A convolution with a gated linear unit, and a residual connection around both; dropout on what it reads.

    `kernel` is odd. The sum stays in float32 under autocast.
    """

    def __init__(self, *, width: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(width, 2 * width, kernel, padding=kernel // 2)
        self.dropout = Dropout(dropout)
        nn.init.normal_(self.convolution.weight, std=math.sqrt(4.0 * (1.0 - dropout) / (kernel * width)))
        nn.init.zeros_(cast(Tensor, self.convolution.bias))

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        """The states after it, [B, S, D]; zero on padding, as `x_BSD` has to be."""
        read_BDS = self.dropout(x_BSD).transpose(1, 2)
        added_BSD = nn.functional.glu(self.convolution(read_BDS), dim=1).transpose(1, 2)
        return ((x_BSD + added_BSD) * math.sqrt(0.5)).masked_fill(~mask_BS.unsqueeze(-1), 0.0)


class ConvolutionalEncoder(Encoder):
    """Blocks of convolution; the summary of a sentence is the mean of its real states."""

    def __init__(self, *, inputs: PositionedInputs, blocks: Sequence[ConvolutionalBlock]) -> None:
        super().__init__()
        self.width = inputs.width
        self.attending_layers = 0
        self.inputs = inputs
        self.blocks = nn.ModuleList(blocks)
        start_uniform(inputs)

    def forward(self, embedded_BSE: Tensor, mask_BS: Tensor, *, need_weights: bool = False) -> Encoded:
        states_BSD: Tensor = self.inputs(embedded_BSE).masked_fill(~mask_BS.unsqueeze(-1), 0.0)
        for block in self.blocks:
            states_BSD = block(states_BSD, mask_BS)
        return Encoded(states_BSD, mask_BS, mean_state(states_BSD, mask_BS))
