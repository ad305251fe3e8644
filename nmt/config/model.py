"""The model section: what reads the source, where the decoder looks, what writes the target.

Encoder and decoder are told apart by `type`, a GRU where it is left out.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag, model_validator

from nmt.config.attention import (
    EQUAL_WIDTHS,
    AttentionSection,
    BahdanauAttention,
    LocalAttention,
    LuongAttention,
    MultiHeadAttention,
)
from nmt.config.section import Positive, Rate, Section

ActivationName = Literal["relu", "gelu"]
PositionsName = Literal["sinusoidal", "learned"]
SELF_ATTENTION_HEADS = 4
"""The heads of a GRU encoder's self-attention where none are given."""


def _check_heads(heads: int, hidden: int) -> None:
    if hidden % heads:
        raise ValueError(f"heads: {heads} heads do not divide hidden {hidden} evenly")


class GruEncoderSection(Section):
    """A bidirectional GRU."""

    type: Literal["gru"] = "gru"
    """The kind of encoder."""
    hidden: Positive = 256
    """Width of a state, both directions together; even."""
    layers: Positive = 1
    """Number of layers."""
    self_attention: bool = False
    """One layer of self-attention on the states, with residual and norm."""
    heads: Positive | None = None
    """Of that layer; they divide hidden evenly; default: 4."""

    @model_validator(mode="after")
    def _even(self) -> "GruEncoderSection":
        if self.hidden % 2:
            raise ValueError(f"hidden: {self.hidden} is odd; each direction takes half of it, so give an even number")
        if self.heads is not None and not self.self_attention:
            raise ValueError("heads: a GRU has none without self_attention: true; or take type transformer")
        if self.self_attention:
            _check_heads(self.heads or SELF_ATTENTION_HEADS, self.hidden)
        return self


class GruDecoderSection(Section):
    """A GRU whose wiring defaults to the paper of the chosen attention."""

    type: Literal["gru"] = "gru"
    """The kind of decoder."""
    hidden: Positive = 256
    """Width of a state."""
    layers: Positive = 1
    """Number of layers."""
    attend: Literal["before", "after"] | None = None
    """Attention before the recurrent step, with the previous state (Bahdanau), or after it (Luong)."""
    readout: Literal["maxout", "attentional"] | None = None
    """The last layer: maxout of state, previous word and context (Bahdanau), or tanh of context and state (Luong)."""


class TransformerSection(Section):
    """Layers of self-attention and feed-forward networks (Vaswani et al., arXiv 1706.03762), as encoder or decoder."""

    type: Literal["transformer"]
    """The kind of encoder or decoder."""
    hidden: Positive = 256
    """d_model, the width of a state; an embedding of another width goes through a linear layer."""
    layers: Positive = 3
    """Number of layers."""
    heads: Positive = 4
    """Heads of every attention in it, a decoder's cross-attention included; they divide hidden evenly."""
    feed_forward: Positive = 1024
    """Width inside the feed-forward networks."""
    norm: Literal["pre", "post"] = "pre"
    """Layer norm on what goes into each part of a layer (pre), or on the sum after it, as in the paper (post)."""
    activation: ActivationName = "relu"
    """Inside the feed-forward networks."""
    positions: PositionsName = "sinusoidal"
    """How a piece knows its place: sines of it, without limit, or a learned vector for each."""
    max_positions: Positive = 256
    """Learned vectors; pieces beyond share the last one, and are warned of."""

    @model_validator(mode="after")
    def _even(self) -> "TransformerSection":
        _check_heads(self.heads, self.hidden)
        return self


class ConvEncoderSection(Section):
    """Blocks of convolution with gated linear units (Gehring et al., arXiv 1705.03122)."""

    type: Literal["conv"]
    """The kind of encoder."""
    hidden: Positive = 256
    """Width of a state; an embedding of another width goes through a linear layer."""
    layers: Positive = 4
    """Number of blocks; a state knows of layers × (kernel − 1) + 1 pieces."""
    kernel: Positive = 3
    """Pieces that a convolution reads at once; odd."""
    positions: PositionsName = "sinusoidal"
    """How a piece knows its place: sines of it, without limit, or a learned vector for each, as in the paper."""
    max_positions: Positive = 256
    """Learned vectors; pieces beyond share the last one, and are warned of."""

    @model_validator(mode="after")
    def _odd(self) -> "ConvEncoderSection":
        if self.kernel % 2 == 0:
            raise ValueError(
                f"kernel: {self.kernel} is even; a piece is read with as many on its left as on its right, so give an "
                f"odd number"
            )
        return self


def _type_of(section: object) -> str:
    """The tag of a section, `gru` where it has none; what is no name at all is the tag of nothing."""
    given = section.get("type", "gru") if isinstance(section, Mapping) else getattr(section, "type", "gru")
    return given if isinstance(given, str) else ""


EncoderSection = Annotated[
    Annotated[GruEncoderSection, Tag("gru")]
    | Annotated[TransformerSection, Tag("transformer")]
    | Annotated[ConvEncoderSection, Tag("conv")],
    Discriminator(_type_of),
]
DecoderSection = Annotated[
    Annotated[GruDecoderSection, Tag("gru")] | Annotated[TransformerSection, Tag("transformer")],
    Discriminator(_type_of),
]


class HierarchicalContext(Section):
    """Attention over the words of the sentences before, then over those sentences, beside the sentence's own (Yang et
    al., N16-1174; Miculicich et al., arXiv 1809.01576); of a Transformer decoder in its last layer."""

    type: Literal["hierarchical"]
    """The kind of context."""
    hidden: Positive | None = None
    """Width inside its scores; default: decoder.hidden."""
    conditioned: bool = True
    """Queries made from the decoder's state (true), or learnt vectors, the same for every word (false)."""
    sentence_gru: bool = False
    """A bidirectional GRU over the sentences' vectors, so that their order counts; needs an even encoder.hidden."""


class ModelSection(Section):
    """The encoder-decoder."""

    embedding: Positive = 128
    """Width of an embedding."""
    tied: bool = True
    """One matrix for source, target and output embeddings; with separate vocabularies, for target and output."""
    dropout: Rate = 0.2
    """Dropout on embeddings and on the readout; of a GRU between layers and on the encoder's states; of a Transformer
    on what each part of a layer adds, and inside its feed-forward networks; of a convolution on what it reads."""
    encoder: EncoderSection = GruEncoderSection()
    """What reads the source."""
    attention: AttentionSection = BahdanauAttention(type="bahdanau")
    """Where the decoder looks; of a Transformer decoder multihead, and nothing else."""
    decoder: DecoderSection = GruDecoderSection()
    """What writes the target."""
    context: HierarchicalContext | None = None
    """Where it looks in the sentences before, as many as data.document_context says; null: nowhere."""

    @model_validator(mode="before")
    @classmethod
    def _cross_attention(cls, data: Any) -> Any:
        """A Transformer decoder's attention is multihead, with the decoder's heads, where the config leaves it out."""
        decoder = data.get("decoder") if isinstance(data, Mapping) else None
        if _type_of(decoder) != "transformer":
            return data
        attention = data.get("attention", {"type": "multihead"})
        if not isinstance(attention, Mapping) or attention.get("type") != "multihead":
            return data
        default = TransformerSection.model_fields["heads"].default
        heads = decoder.get("heads", default) if isinstance(decoder, Mapping) else getattr(decoder, "heads", default)
        if type(heads) is not int or heads < 1:
            return data  # The decoder's own error is the one to tell.
        return {**data, "attention": {"heads": heads, **attention}}

    @model_validator(mode="after")
    def _widths(self) -> "ModelSection":
        attention, encoder, decoder = self.attention, self.encoder.hidden, self.decoder.hidden
        score = attention.score if isinstance(attention, LuongAttention | LocalAttention) else None
        equal = score in EQUAL_WIDTHS or attention.type in ("memory", "attention_over_attention")
        if isinstance(self.decoder, TransformerSection):
            self._check_cross_attention(self.decoder)
        elif equal and encoder != decoder:
            what = f"attention.score {score}" if score else f"attention {attention.type}"
            raise ValueError(
                f"{what} needs states of one width, but encoder.hidden is {encoder} and decoder.hidden is {decoder}: "
                f"make them equal{', or take score general' if score else ''}"
            )
        elif isinstance(attention, MultiHeadAttention) and decoder % attention.heads:
            raise ValueError(f"attention.heads: {attention.heads} heads do not divide decoder.hidden {decoder} evenly")
        if self.context is not None and self.context.sentence_gru and encoder % 2:
            raise ValueError(
                f"context.sentence_gru: each direction takes half of encoder.hidden, and {encoder} is odd; make it even"
            )
        return self

    def _check_cross_attention(self, decoder: TransformerSection) -> None:
        attention = self.attention
        if not isinstance(attention, MultiHeadAttention):
            raise ValueError(
                f"attention: {attention.type} is for a GRU decoder; a Transformer's is multihead: take that, or leave "
                f"attention out"
            )
        if attention.heads != decoder.heads:
            raise ValueError(
                f"attention.heads: {attention.heads} is not decoder.heads, {decoder.heads}, which counts for all of a "
                f"Transformer decoder: leave attention.heads out"
            )
