"""The model section and two vocabulary sizes become a model: encoder, decoder, and the wiring of a GRU's attention."""

import math
from dataclasses import dataclass
from typing import Any, cast

from torch import nn

from nmt.attention.base import Attention
from nmt.attention.multihead import MultiHeadAttention as HeadsAttention
from nmt.attention.normalizers import find_normalizer, softmax
from nmt.config.attention import LocalAttention, LuongAttention, MultiHeadAttention
from nmt.config.model import (
    SELF_ATTENTION_HEADS,
    ConvEncoderSection,
    GruDecoderSection,
    ModelSection,
    TransformerSection,
)
from nmt.model.build.attention import build_attention, summary_of, with_context
from nmt.model.convolution import ConvolutionalBlock, ConvolutionalEncoder
from nmt.model.decoder import Decoder
from nmt.model.encoders import Encoder, GruEncoder
from nmt.model.gru_decoder import GruDecoder, Recurrence, additive_recurrence, constant_recurrence
from nmt.model.layers import READOUTS
from nmt.model.positions import POSITIONS, PositionedInputs
from nmt.model.seq2seq import Seq2Seq
from nmt.model.transformer import TransformerDecoder, TransformerEncoder
from nmt.model.transformer_layers import (
    ACTIVATIONS,
    CrossAttention,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Residual,
    SelfAttention,
    start_uniform,
)

PADDING = 0
"""The number of the padding piece in every vocabulary."""


@dataclass(frozen=True)
class Wiring:
    """How the paper of an attention places it in the decoder: the defaults of `model.decoder`.

    `attend_before`: with the previous state, before the recurrent step. `whole_summary`: the first state is made of
    both directions' ends, not of the backward one alone. `recurrence`: a fast form of a layer that attends before.
    """

    attend_before: bool
    readout: str
    whole_summary: bool = False
    recurrence: Recurrence | None = None


WIRINGS: dict[str, Wiring] = {
    "none": Wiring(attend_before=True, readout="maxout", whole_summary=True, recurrence=constant_recurrence),
    "bahdanau": Wiring(attend_before=True, readout="maxout", recurrence=additive_recurrence),
    "soft": Wiring(attend_before=True, readout="maxout", recurrence=additive_recurrence),
    "hard": Wiring(attend_before=True, readout="maxout"),
    **dict.fromkeys(
        ("luong", "local", "multihead", "attention_over_attention", "memory", "ntm"),
        Wiring(attend_before=False, readout="attentional"),
    ),
}
"""From the name in YAML (`model.attention.type`) to its paper's wiring."""


def build_encoder(section: ModelSection) -> Encoder:
    """The encoder that `model.encoder` names."""
    encoder, dropout = section.encoder, section.dropout
    if isinstance(encoder, TransformerSection):
        return TransformerEncoder(
            inputs=_inputs(encoder, section.embedding),
            layers=[
                EncoderLayer(
                    self_attention=_self_attention(encoder, dropout, causal=False),
                    feed_forward=_feed_forward(encoder, dropout),
                )
                for _ in range(encoder.layers)
            ],
            norm=encoder.norm == "pre",
        )
    if isinstance(encoder, ConvEncoderSection):
        return ConvolutionalEncoder(
            inputs=_inputs(encoder, section.embedding),
            blocks=[
                ConvolutionalBlock(width=encoder.hidden, kernel=encoder.kernel, dropout=dropout)
                for _ in range(encoder.layers)
            ],
        )
    on_top = None
    if encoder.self_attention:
        on_top = SelfAttention(
            attention=_heads(encoder.hidden, encoder.heads or SELF_ATTENTION_HEADS, causal=False),
            residual=Residual(width=encoder.hidden, pre_norm=False, dropout=dropout),
        )
        start_uniform(on_top)
    return GruEncoder(
        embedding=section.embedding,
        hidden=encoder.hidden,
        layers=encoder.layers,
        dropout=dropout,
        self_attention=on_top,
    )


def build_decoder(section: ModelSection) -> Decoder[Any, Any]:
    """The decoder that `model.decoder` names."""
    if isinstance(section.decoder, TransformerSection):
        return _transformer_decoder(section, section.decoder)
    return _gru_decoder(section, section.decoder)


def _gru_decoder(section: ModelSection, decoder: GruDecoderSection) -> GruDecoder:
    """Wired as the attention's paper does unless `model.decoder` says otherwise."""
    attention = section.attention
    wiring = WIRINGS[attention.type]
    readout = decoder.readout or wiring.readout
    # tanh in as few dimensions as a tied embedding has would be a bottleneck, above all where the readout is fed back.
    width = section.embedding if section.tied and readout == "maxout" else decoder.hidden
    built = with_context(section, build_attention(section))
    # The fast forms have softmax written into their backward pass, and know no other sentence.
    fast = getattr(attention, "normalizer", "softmax") == "softmax" and section.context is None
    return GruDecoder(
        embedding=section.embedding,
        hidden=decoder.hidden,
        layers=decoder.layers,
        attention=built,
        readout=READOUTS[readout](
            embedding=section.embedding, hidden=decoder.hidden, context=built.context_width, width=width
        ),
        attend_before=wiring.attend_before if decoder.attend is None else decoder.attend == "before",
        input_feeding=isinstance(attention, LuongAttention | LocalAttention) and attention.input_feeding,
        initial_width=section.encoder.hidden if wiring.whole_summary else summary_of(section)[1],
        dropout=section.dropout,
        recurrence=wiring.recurrence if fast else None,
    )


def _transformer_decoder(section: ModelSection, decoder: TransformerSection) -> TransformerDecoder:
    """Its cross-attention has the normaliser of `model.attention`, its self-attention softmax; the last layer alone
    looks at the sentences before."""
    attention, dropout = cast(MultiHeadAttention, section.attention), section.dropout
    layers = []
    for number in range(decoder.layers):
        looking: Attention = HeadsAttention(
            query_width=decoder.hidden,
            key_width=section.encoder.hidden,
            width=decoder.hidden,
            heads=attention.heads,
            normalizer=find_normalizer(attention.normalizer),
            context_width=decoder.hidden,
        )
        if number == decoder.layers - 1:
            looking = with_context(section, looking)
        layers.append(
            DecoderLayer(
                self_attention=_self_attention(decoder, dropout, causal=True),
                cross_attention=CrossAttention(attention=looking, residual=_residual(decoder, dropout)),
                feed_forward=_feed_forward(decoder, dropout),
            )
        )
    inputs = _inputs(decoder, section.embedding)
    return TransformerDecoder(inputs=inputs, layers=layers, norm=decoder.norm == "pre")


def _inputs(section: TransformerSection | ConvEncoderSection, embedding: int) -> PositionedInputs:
    positions = POSITIONS[section.positions](section.hidden, section.max_positions)
    return PositionedInputs(embedding=embedding, width=section.hidden, positions=positions)


def _heads(width: int, heads: int, *, causal: bool) -> HeadsAttention:
    """Self-attention of states of one width."""
    return HeadsAttention(
        query_width=width, key_width=width, width=width, heads=heads, normalizer=softmax, causal=causal
    )


def _self_attention(section: TransformerSection, dropout: float, *, causal: bool) -> SelfAttention:
    attention = _heads(section.hidden, section.heads, causal=causal)
    return SelfAttention(attention=attention, residual=_residual(section, dropout))


def _residual(section: TransformerSection, dropout: float) -> Residual:
    return Residual(width=section.hidden, pre_norm=section.norm == "pre", dropout=dropout)


def _feed_forward(section: TransformerSection, dropout: float) -> FeedForward:
    return FeedForward(
        width=section.hidden,
        hidden=section.feed_forward,
        activation=ACTIVATIONS[section.activation],
        residual=_residual(section, dropout),
        dropout=dropout,
    )


def build_model(section: ModelSection, *, source_vocabulary: int, target_vocabulary: int, shared: bool) -> Seq2Seq:
    """A model with freshly drawn parameters. `shared`: both languages have one vocabulary.

    Embeddings are drawn from a normal distribution of deviation 1/√E, so that tied output scores start near 1 in size.
    """
    target_embedding = _embedding(target_vocabulary, section.embedding)
    source_embedding = target_embedding if section.tied and shared else _embedding(source_vocabulary, section.embedding)
    decoder = build_decoder(section)
    untied = nn.Linear(decoder.readout_width, target_vocabulary)
    return Seq2Seq(
        source_embedding=source_embedding,
        target_embedding=target_embedding,
        encoder=build_encoder(section),
        decoder=decoder,
        output=cast(nn.Parameter, target_embedding.weight if section.tied else untied.weight),
        dropout=section.dropout,
    )


def _embedding(pieces: int, width: int) -> nn.Embedding:
    embedding = nn.Embedding(pieces, width, padding_idx=PADDING)
    nn.init.normal_(embedding.weight, std=1.0 / math.sqrt(width))
    nn.init.zeros_(embedding.weight.data[PADDING])
    return embedding
