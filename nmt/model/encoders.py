"""What reads the source. Shapes: B batch, S source, E embedding, D width of a state, H heads."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt.attention.none import summary
from nmt.model.dropout import Dropout
from nmt.model.layers import GruLayer
from nmt.model.recurrence import FROZEN, gru_sequence
from nmt.model.transformer_layers import SelfAttention


@dataclass(frozen=True)
class Document:
    """The K sentences before each sentence of a batch, read by the same encoder, in the document's order."""

    states_BKSD: Tensor
    mask_BKS: Tensor


@dataclass(frozen=True)
class Encoded:
    """A batch of sentences, read.

    `states_BSD` are zero on padding, `mask_BS` is True on real tokens, `summary_BD` tells of the whole sentence: of a
    GRU [→h_n; ←h_1], of what has no direction the mean of the states. `document` are the sentences before, where those
    count. Row s of `weights` [B, H, S, S], a tensor for each layer of self-attention, tells where position s looked;
    the tuple is empty where nobody asked or there is no such layer.
    """

    states_BSD: Tensor
    mask_BS: Tensor
    summary_BD: Tensor
    document: Document | None = None
    weights: tuple[Tensor, ...] = ()


class Encoder(nn.Module, ABC):
    """What reads embedded sentences; `width` is D, and `attending_layers` look at the sentence that they read."""

    width: int
    attending_layers: int

    @abstractmethod
    def forward(self, embedded_BSE: Tensor, mask_BS: Tensor, *, need_weights: bool = False) -> Encoded:
        """Read a batch; what stands on padding changes nothing. Weights are made with `need_weights` alone."""


class BidirectionalGru(nn.Module):
    """One layer, read in both directions at once: [B, S, I] to [B, S, D], D twice `hidden`, zero on padding.

    On padding the update gate is held at 1, so that the backward direction starts where the sentence ends, whatever
    else is in the batch.
    """

    def __init__(self, *, input_width: int, hidden: int) -> None:
        super().__init__()
        self.ahead = GruLayer(input_widths=(input_width,), hidden=hidden)
        self.back = GruLayer(input_widths=(input_width,), hidden=hidden)

    def forward(self, inputs_BSI: Tensor, mask_BS: Tensor) -> Tensor:
        ahead, back, width = self.ahead, self.back, self.ahead.hidden
        inputs_SBI = inputs_BSI.transpose(0, 1)
        padding_SB1 = ~mask_BS.t().unsqueeze(-1)
        both_SDBG = torch.stack([ahead.inputs(inputs_SBI), back.inputs(inputs_SBI).flip(0)], dim=1)
        padding_SDB1 = torch.stack([padding_SB1, padding_SB1.flip(0)], dim=1)
        reset, update, candidate = both_SDBG.split(width, dim=-1)
        both_SDBG = torch.cat([reset, update.masked_fill(padding_SDB1, FROZEN), candidate], dim=-1)
        initial_DBH = both_SDBG.new_zeros(
            2, mask_BS.shape[0], width, dtype=torch.promote_types(both_SDBG.dtype, torch.float32)
        )
        weight_DGH = torch.stack([ahead.weight_hh, back.weight_hh])
        bias_DG = torch.stack([ahead.bias_hh, back.bias_hh])
        states_SDBH = gru_sequence(both_SDBG, initial_DBH, weight_DGH, bias_DG)
        states_SBD = torch.cat([states_SDBH[:, 0], states_SDBH[:, 1].flip(0)], dim=-1)
        return states_SBD.masked_fill(padding_SB1, 0.0).transpose(0, 1)


class GruEncoder(Encoder):
    """A bidirectional GRU: h_s = [→h_s; ←h_s] (Bahdanau, Cho, Bengio 2015, section 3.2).

    `hidden` is the width of both directions together; dropout between layers and on the states. With `self_attention`
    the states look at one another once before they are given on; the summary is the GRU's own.
    """

    def __init__(
        self,
        *,
        embedding: int,
        hidden: int,
        layers: int,
        dropout: float,
        self_attention: SelfAttention | None = None,
    ) -> None:
        super().__init__()
        self.width = hidden
        widths = [embedding] + [hidden] * (layers - 1)
        self.layers = nn.ModuleList(BidirectionalGru(input_width=width, hidden=hidden // 2) for width in widths)
        self.self_attention = self_attention
        self.attending_layers = 0 if self_attention is None else 1
        self.dropout = Dropout(dropout)

    def forward(self, embedded_BSE: Tensor, mask_BS: Tensor, *, need_weights: bool = False) -> Encoded:
        states_BSD, weights_BHSS = embedded_BSE, None
        for number, layer in enumerate(self.layers):
            states_BSD = layer(self.dropout(states_BSD) if number else states_BSD, mask_BS)
        summary_BD = summary(states_BSD, mask_BS)
        if self.self_attention is not None:
            states_BSD, weights_BHSS, _ = self.self_attention(states_BSD, mask_BS, need_weights=need_weights)
            states_BSD = states_BSD.masked_fill(~mask_BS.unsqueeze(-1), 0.0)
        weights = () if weights_BHSS is None else (weights_BHSS,)
        return Encoded(self.dropout(states_BSD), mask_BS, summary_BD, weights=weights)
