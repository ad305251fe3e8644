"""The parts that encoders and decoders are made of: a GRU layer, the readouts, and how they start.

Shapes: T steps, B batch, I width of an input, H width of a state, G = 3 H gates in torch's order r, z, n.
"""

import torch
from torch import Tensor, nn

from nmt.model.recurrence import gru_step


class GruLayer(nn.Module):
    """The parameters of one direction of one GRU layer, and its products.

    The input may have several parts, [x; c]: `inputs` takes the first, computed for all steps at once, and `part` gives
    the columns of a further one. Recurrent weights start orthogonal, input weights uniform (Glorot), biases at 0.
    """

    def __init__(self, *, input_widths: tuple[int, ...], hidden: int) -> None:
        super().__init__()
        self.input_widths = input_widths
        self.hidden = hidden
        self.weight_ih = nn.Parameter(torch.empty(3 * hidden, sum(input_widths)))
        self.weight_hh = nn.Parameter(torch.empty(3 * hidden, hidden))
        self.bias_ih = nn.Parameter(torch.zeros(3 * hidden))
        self.bias_hh = nn.Parameter(torch.zeros(3 * hidden))
        for gate in range(3):
            rows = slice(gate * hidden, (gate + 1) * hidden)
            nn.init.xavier_uniform_(self.weight_ih.data[rows])
            nn.init.orthogonal_(self.weight_hh.data[rows])

    def inputs(self, first: Tensor) -> Tensor:
        """The first part's share of the gates with b_ih, [..., G]."""
        return nn.functional.linear(first, self.part(0), self.bias_ih)

    def part(self, index: int) -> Tensor:
        """The columns of W_ih for part `index` of the input, [G, I]."""
        start = sum(self.input_widths[:index])
        return self.weight_ih[:, start : start + self.input_widths[index]]

    def step(self, inputs_BG: Tensor, hidden_BH: Tensor) -> Tensor:
        """The next state [B, H]."""
        return gru_step(inputs_BG, hidden_BH, self.weight_hh, self.bias_hh)


class AttentionalReadout(nn.Module):
    """h̃_t = tanh(W_c [c_t; h_t]) (Luong et al. 2015, eq. 5); the previous word is not looked at."""

    def __init__(self, *, embedding: int, hidden: int, context: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.joint = nn.Linear(context + hidden, width, bias=False)

    def forward(self, embedded: Tensor, hidden: Tensor, context: Tensor) -> Tensor:
        return torch.tanh(self.joint(torch.cat([context.to(hidden.dtype), hidden], dim=-1)))


class MaxoutReadout(nn.Module):
    """Deep output with maxout: the larger of each consecutive pair of U_o s_t + V_o E y_{t−1} + C_o c_t.

    Bahdanau, Cho, Bengio 2015, appendix A.2.2 (there over s_{t−1}; here over s_t, as implementations of it do).
    """

    def __init__(self, *, embedding: int, hidden: int, context: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.state = nn.Linear(hidden, 2 * width, bias=False)
        self.word = nn.Linear(embedding, 2 * width, bias=False)
        self.context = nn.Linear(context, 2 * width, bias=False)

    def forward(self, embedded: Tensor, hidden: Tensor, context: Tensor) -> Tensor:
        pairs: Tensor = self.state(hidden) + self.word(embedded) + self.context(context)
        return torch.amax(pairs.unflatten(-1, (self.width, 2)), dim=-1)


READOUTS: dict[str, type[AttentionalReadout] | type[MaxoutReadout]] = {
    "attentional": AttentionalReadout,
    "maxout": MaxoutReadout,
}
"""From the name in YAML (`model.decoder.readout`) to the class."""
