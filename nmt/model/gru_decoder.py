"""What writes the target: a GRU, wired to an attention as that attention's paper does.

    attend before (Bahdanau)  c_t = attend(s_{t−1})  s_t = GRU([E y_{t−1}; c_t], s_{t−1})   readout(E y_{t−1}, s_t, c_t)
    attend after (Luong)      h_t = GRU(E y_{t−1}, h_{t−1})   c_t = attend(h_t)   readout(E y_{t−1}, h_t, c_t)
    input feeding             the readout of step t − 1 joins the input of step t

Where nothing flows from the attention back into the recurrence, all steps run together; Bahdanau's wiring has a
recurrence written by hand; everything else goes step by step. The three give the same numbers.

Shapes: B batch, T target, S source, E embedding, H width of a state, G = 3 H, V width of an encoder state, R width of
the readout, L layers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor, nn

from nmt.attention.base import Attention, AttentionState, Memory, ScoredAttention, join_document, join_drawn
from nmt.attention.scores import AdditiveScore
from nmt.model.additive_recurrence import additive_sequence
from nmt.model.decoder import Decoded, Decoder, remembered
from nmt.model.dropout import dropout_mask
from nmt.model.encoders import Encoded
from nmt.model.layers import AttentionalReadout, GruLayer, MaxoutReadout
from nmt.model.recurrence import gru_sequence


@dataclass(frozen=True)
class GruState:
    """What a step leaves for the next: every layer's state [B, H], the fed-back readout, the attention's own state."""

    hidden: tuple[Tensor, ...]
    fed_BR: Tensor | None = None
    attention: AttentionState | None = None

    def reorder(self, index_N: Tensor) -> "GruState":
        """The state of the rows `index_N` of the batch; an index may repeat."""
        return GruState(
            tuple(layer[index_N] for layer in self.hidden),
            None if self.fed_BR is None else self.fed_BR[index_N],
            None if self.attention is None else self.attention.reorder(index_N),
        )


Recurrence = Callable[[GruLayer, Attention, Tensor, Tensor, Memory], tuple[Tensor, Tensor, Tensor | None]]
"""A first layer that attends before each step, all steps at once: (layer, attention, inputs [T, B, G], state [B, H],
memory) to states [T, B, H], contexts [T, B, V] and weights [B, 1, T, S], None where attention has none."""


def additive_recurrence(
    layer: GruLayer, attention: Attention, inputs_TBG: Tensor, hidden_BH: Tensor, memory: Memory
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The recurrence of Bahdanau's wiring, as one node of the graph; `attention` has an additive score and softmax."""
    score = cast(AdditiveScore, cast(ScoredAttention, attention).score)
    states_TBH, contexts_TBV, weights_TBS = additive_sequence(
        inputs_TBG,
        hidden_BH,
        keys_BSA=memory.keys_BSK,
        values_BSV=memory.values_BSD,
        mask_BS=memory.mask_BS,
        query_AH=score.query.weight,
        energy_A=score.energy.weight.squeeze(0),
        context_GV=layer.part(1),
        weight_GH=layer.weight_hh,
        bias_G=layer.bias_hh,
    )
    return states_TBH, contexts_TBV, weights_TBS.transpose(0, 1).unsqueeze(1)


def constant_recurrence(
    layer: GruLayer, attention: Attention, inputs_TBG: Tensor, hidden_BH: Tensor, memory: Memory
) -> tuple[Tensor, Tensor, Tensor | None]:
    """For an attention that gives one context, whatever it is asked: no step waits for what another has read."""
    steps = inputs_TBG.shape[0]
    attended = attention(hidden_BH.unsqueeze(1).expand(-1, steps, -1), memory)
    context_BTV = attended.context_BTD
    inputs_TBG = inputs_TBG + nn.functional.linear(context_BTV[:, :1], layer.part(1)).transpose(0, 1)
    states_TBH = _sequence(layer, inputs_TBG, hidden_BH)
    return states_TBH, context_BTV.transpose(0, 1), attended.weights_BHTS


class GruDecoder(Decoder[Memory, GruState]):
    """A GRU decoder from built parts.

    `attend_before` and `input_feeding` are the wiring; `recurrence` is a fast form of the first layer for a decoder
    that attends before and feeds nothing back, or None. `initial_width` columns of the encoder's summary, its last
    ones, give the first state, s_0 = tanh(W ←h_1): the backward half, or all of it.
    """

    def __init__(
        self,
        *,
        embedding: int,
        hidden: int,
        layers: int,
        attention: Attention,
        readout: AttentionalReadout | MaxoutReadout,
        attend_before: bool,
        input_feeding: bool,
        initial_width: int,
        dropout: float,
        recurrence: Recurrence | None = None,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.attending_layers = 1
        self.readout = readout
        self.readout_width = readout.width
        self.attend_before = attend_before
        self.input_feeding = input_feeding
        self.initial_width = initial_width
        self.rate = dropout
        self.recurrence = recurrence
        parts = (embedding, attention.context_width if attend_before else 0, readout.width if input_feeding else 0)
        self.layers = nn.ModuleList(
            GruLayer(input_widths=(hidden,) if number else parts, hidden=hidden) for number in range(layers)
        )
        self.bridges = nn.ModuleList(nn.Linear(initial_width, hidden) for _ in range(layers))

    def remember(self, encoded: Encoded) -> Memory:
        return remembered(self.attention, encoded)

    def initial_state(self, encoded: Encoded, memory: Memory, seed_B: Tensor | None = None) -> GruState:
        summary_BI = encoded.summary_BD[:, -self.initial_width :]
        hidden = tuple(torch.tanh(bridge(summary_BI)).to(summary_BI.dtype) for bridge in self.bridges)
        fed_BR = summary_BI.new_zeros(summary_BI.shape[0], self.readout.width) if self.input_feeding else None
        return GruState(hidden, fed_BR, self.attention.initial_state(memory, seed_B))

    def forward(self, embedded_BTE: Tensor, memory: Memory, state: GruState, *, need_weights: bool = True) -> Decoded:
        looks_back = self.input_feeding or (self.attend_before and self.recurrence is None)
        # A step of search is one step: what makes many steps fast would only be in its way.
        if looks_back or (embedded_BTE.shape[1] == 1 and not self.training):
            return self._one_by_one(embedded_BTE, memory, state, need_weights)
        return self._together(embedded_BTE, memory, state, need_weights)

    def _layers(self) -> list[GruLayer]:
        return cast(list[GruLayer], list(self.layers))

    def _masks(self, embedded_BTE: Tensor) -> list[Tensor | None]:
        """Dropout between layers, [T, B, H] above each layer but the last, drawn for all steps at once."""
        between = self._layers()[:-1]
        if not self.training or self.rate == 0.0:
            return [None] * len(between)
        batch, steps, _ = embedded_BTE.shape
        return [dropout_mask((steps, batch, layer.hidden), self.rate, embedded_BTE) for layer in between]

    def _together(self, embedded_BTE: Tensor, memory: Memory, state: GruState, need_weights: bool) -> Decoded:
        layers, masks = self._layers(), self._masks(embedded_BTE)
        inputs_TBG = layers[0].inputs(embedded_BTE.transpose(0, 1))
        first = state.hidden[0]
        if self.attend_before and self.recurrence is not None:
            states_TBH, contexts_TBV, weights = self.recurrence(layers[0], self.attention, inputs_TBG, first, memory)
            context_BTV = contexts_TBV.transpose(0, 1)
        else:
            states_TBH = _sequence(layers[0], inputs_TBG, first)
        hidden = [states_TBH[-1]]
        for layer, mask, before in zip(layers[1:], masks, state.hidden[1:], strict=True):
            below = states_TBH if mask is None else states_TBH * mask
            states_TBH = _sequence(layer, layer.inputs(below), before)
            hidden.append(states_TBH[-1])
        states_BTH = states_TBH.transpose(0, 1)
        attention_state, drawn, document = state.attention, None, None
        if not self.attend_before:
            attended = self.attention(states_BTH, memory, state.attention, need_weights=need_weights)
            context_BTV, weights = attended.context_BTD, attended.weights_BHTS
            attention_state, drawn, document = attended.state, attended.drawn, attended.document
        readout_BTR = self.readout(embedded_BTE, states_BTH, context_BTV)
        after = GruState(tuple(hidden), None, attention_state)
        return Decoded(readout_BTR, _kept(weights, need_weights), after, drawn, document)

    def _one_by_one(self, embedded_BTE: Tensor, memory: Memory, state: GruState, need_weights: bool) -> Decoded:
        # unbind once: indexing one step out of a long tensor costs a tensor of zeros in every backward step.
        masks = [None if mask is None else mask.unbind(0) for mask in self._masks(embedded_BTE)]
        inputs = self._layers()[0].inputs(embedded_BTE.transpose(0, 1)).unbind(0)
        steps: list[Decoded] = []
        for number, (embedded_BE, inputs_BG) in enumerate(zip(embedded_BTE.unbind(1), inputs, strict=True)):
            step_masks = [None if mask is None else mask[number] for mask in masks]
            steps.append(self._step(embedded_BE, inputs_BG, memory, state, step_masks, need_weights))
            state = steps[-1].state
        return Decoded(
            torch.cat([step.readout_BTR for step in steps], dim=1),
            tuple(torch.cat(layer, dim=2) for layer in zip(*(step.weights for step in steps), strict=True)),
            state,
            join_drawn([step.drawn for step in steps]),
            join_document([step.document for step in steps]),
        )

    def _step(
        self,
        embedded_BE: Tensor,
        inputs_BG: Tensor,
        memory: Memory,
        state: GruState,
        masks: list[Tensor | None],
        need_weights: bool,
    ) -> Decoded:
        layers = self._layers()
        linear = nn.functional.linear
        if self.attend_before:
            query_B1Q = state.hidden[0].unsqueeze(1)
            attended = self.attention(query_B1Q, memory, state.attention, need_weights=need_weights)
            inputs_BG = inputs_BG + linear(attended.context_BTD.squeeze(1), layers[0].part(1))
        if state.fed_BR is not None:
            inputs_BG = inputs_BG + linear(state.fed_BR, layers[0].part(2))
        hidden = [layers[0].step(inputs_BG, state.hidden[0])]
        for layer, mask, before in zip(layers[1:], masks, state.hidden[1:], strict=True):
            below = hidden[-1] if mask is None else hidden[-1] * mask
            hidden.append(layer.step(layer.inputs(below), before))
        if not self.attend_before:
            attended = self.attention(hidden[-1].unsqueeze(1), memory, state.attention, need_weights=need_weights)
        readout_BR = self.readout(embedded_BE, hidden[-1], attended.context_BTD.squeeze(1))
        fed_BR = readout_BR if self.input_feeding else None
        after = replace(state, hidden=tuple(hidden), fed_BR=fed_BR, attention=attended.state)
        weights = _kept(attended.weights_BHTS, need_weights)
        return Decoded(readout_BR.unsqueeze(1), weights, after, attended.drawn, attended.document)


def _sequence(layer: GruLayer, inputs_TBG: Tensor, hidden_BH: Tensor) -> Tensor:
    """States [T, B, H] of one layer."""
    states_TDBH = gru_sequence(
        inputs_TBG.unsqueeze(1), hidden_BH.unsqueeze(0), layer.weight_hh.unsqueeze(0), layer.bias_hh.unsqueeze(0)
    )
    return states_TDBH.squeeze(1)


def _kept(weights_BHTS: Tensor | None, wanted: bool) -> tuple[Tensor, ...]:
    """One tensor for the one layer that attends; none where there are no weights, or nobody asked."""
    return (weights_BHTS,) if wanted and weights_BHTS is not None else ()
