"""The Transformer: A. Vaswani et al., "Attention is all you need", NIPS 2017, arXiv 1706.03762.

    encoder layer   self-attention, feed-forward                              over the source
    decoder layer   causal self-attention, cross-attention, feed-forward      over the target, looking at the source

Layers of `transformer_layers.py`, one above the other, over embeddings with positions (`positions.py`); with pre-norm
one more layer norm stands above the last. The decoder keeps the keys and values of the words that it has written, for
each layer, so that a step of search costs one word, and gives the same numbers as all words at once.

Shapes: B batch, S source, T target, E embedding, D width of a state (d_model), H heads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from torch import Tensor, nn

from nmt.attention.base import Attention, Memory
from nmt.attention.none import mean_state
from nmt.model.decoder import Decoded, Decoder, remembered
from nmt.model.encoders import Encoded, Encoder
from nmt.model.positions import PositionedInputs
from nmt.model.transformer_layers import DecoderLayer, EncoderLayer, start_uniform


class TransformerEncoder(Encoder):
    """Layers of self-attention; the summary of a sentence is the mean of its real states.

    `norm`: one layer norm above the last layer, for layers of pre-norm.
    """

    def __init__(self, *, inputs: PositionedInputs, layers: Sequence[EncoderLayer], norm: bool) -> None:
        super().__init__()
        self.width = inputs.width
        self.attending_layers = len(layers)
        self.inputs = inputs
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(inputs.width) if norm else None
        start_uniform(inputs)

    def forward(self, embedded_BSE: Tensor, mask_BS: Tensor, *, need_weights: bool = False) -> Encoded:
        states_BSD: Tensor = self.inputs(embedded_BSE)
        weights = []
        for layer in self.layers:
            states_BSD, weights_BHSS = layer(states_BSD, mask_BS, need_weights)
            if weights_BHSS is not None:
                weights.append(weights_BHSS)
        if self.norm is not None:
            states_BSD = self.norm(states_BSD)
        states_BSD = states_BSD.masked_fill(~mask_BS.unsqueeze(-1), 0.0)
        return Encoded(states_BSD, mask_BS, mean_state(states_BSD, mask_BS), weights=tuple(weights))


@dataclass(frozen=True)
class LayerMemories:
    """The source as the cross-attention of each layer sees it."""

    layers: tuple[Memory, ...]

    def reorder(self, index_N: Tensor) -> "LayerMemories":
        """Those of the rows `index_N` of the batch; an index may repeat."""
        return LayerMemories(tuple(memory.reorder(index_N) for memory in self.layers))


@dataclass(frozen=True)
class TransformerState:
    """What a step leaves for the next: each layer's memory of the words written so far, and how many there are."""

    past: tuple[Memory, ...]
    position: int

    def reorder(self, index_N: Tensor) -> "TransformerState":
        """The state of the rows `index_N` of the batch; an index may repeat."""
        return TransformerState(tuple(memory.reorder(index_N) for memory in self.past), self.position)


class TransformerDecoder(Decoder[LayerMemories, TransformerState]):
    """Layers of causal self-attention and cross-attention; weights are one tensor a layer, the first layer's first.

    `norm`: one layer norm above the last layer, for layers of pre-norm.
    """

    def __init__(self, *, inputs: PositionedInputs, layers: Sequence[DecoderLayer], norm: bool) -> None:
        super().__init__()
        self.attending_layers = len(layers)
        self.readout_width = inputs.width
        self.inputs = inputs
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(inputs.width) if norm else None
        start_uniform(inputs)

    @property
    def attention(self) -> Attention:  # type: ignore[override]  # read alone, in every decoder
        """The last layer's cross-attention."""
        return self._layers()[-1].cross_attention.attention

    def _layers(self) -> list[DecoderLayer]:
        return cast(list[DecoderLayer], list(self.layers))

    def remember(self, encoded: Encoded) -> LayerMemories:
        return LayerMemories(tuple(remembered(layer.cross_attention.attention, encoded) for layer in self._layers()))

    def initial_state(self, encoded: Encoded, memory: LayerMemories, seed_B: Tensor | None = None) -> TransformerState:
        """No word so far; nothing here draws, so the seed is of no use."""
        none_B0D = encoded.states_BSD.new_zeros(encoded.states_BSD.shape[0], 0, self.inputs.width)
        none_B0 = encoded.mask_BS[:, :0]
        past = tuple(layer.self_attention.attention.remember(none_B0D, none_B0) for layer in self._layers())
        return TransformerState(past, 0)

    def forward(
        self, embedded_BTE: Tensor, memory: LayerMemories, state: TransformerState, *, need_weights: bool = True
    ) -> Decoded:
        x_BTD: Tensor = self.inputs(embedded_BTE, state.position)
        weights, past = [], []
        for layer, source, before in zip(self._layers(), memory.layers, state.past, strict=True):
            x_BTD, attended, after = layer(x_BTD, source, before, need_weights)
            past.append(after)
            if need_weights and attended.weights_BHTS is not None:
                weights.append(attended.weights_BHTS)
        if self.norm is not None:
            x_BTD = self.norm(x_BTD)
        after_all = TransformerState(tuple(past), state.position + embedded_BTE.shape[1])
        return Decoded(x_BTD, tuple(weights), after_all, document=attended.document)
