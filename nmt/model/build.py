"""The only file that turns names into classes: the model section and two vocabulary sizes become a model."""

import math
from dataclasses import dataclass
from typing import cast

from torch import nn

from nmt.attention import ATTENTIONS
from nmt.attention.base import Attention
from nmt.attention.normalizers import find_normalizer
from nmt.attention.scores import SCORES
from nmt.config.attention import (
    AttentionOverAttention,
    BahdanauAttention,
    HardAttention,
    LocalAttention,
    LuongAttention,
    MemoryAttention,
    MultiHeadAttention,
    NtmAttention,
    SoftAttention,
)
from nmt.config.schema import ModelSection
from nmt.model.encoders import GruEncoder
from nmt.model.gru_decoder import GruDecoder, Recurrence, additive_recurrence, constant_recurrence
from nmt.model.layers import READOUTS
from nmt.model.seq2seq import Seq2Seq

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


def build_attention(section: ModelSection) -> Attention:
    """The attention that `model.attention` names, for queries of the decoder's width."""
    attention, query, key = section.attention, section.decoder.hidden, section.encoder.hidden
    kind = ATTENTIONS[attention.type]
    if isinstance(attention, BahdanauAttention | SoftAttention):
        hidden, normalizer = attention.hidden or query, find_normalizer(attention.normalizer)
        return kind(query_width=query, key_width=key, hidden=hidden, normalizer=normalizer)
    if isinstance(attention, LuongAttention):
        score = SCORES[attention.score](query, key, attention.hidden or query, attention.max_source_positions)
        return kind(score=score, key_width=key, normalizer=find_normalizer(attention.normalizer))
    if isinstance(attention, LocalAttention):
        hidden = attention.hidden or query
        return kind(
            score=SCORES[attention.score](query, key, hidden, attention.max_source_positions),
            query_width=query,
            key_width=key,
            hidden=hidden,
            window=attention.window,
            predict=attention.variant == "local_p",
            normalizer=find_normalizer(attention.normalizer),
        )
    if isinstance(attention, HardAttention):
        return kind(
            query_width=query,
            key_width=key,
            hidden=attention.hidden or query,
            expected_share=attention.expected_share,
            reward_weight=attention.reward_weight,
            entropy_weight=attention.entropy_weight,
        )
    if isinstance(attention, AttentionOverAttention):
        return kind(query_width=query, key_width=key, normalizer=find_normalizer(attention.normalizer))
    if isinstance(attention, MultiHeadAttention):
        normalizer = find_normalizer(attention.normalizer)
        return kind(query_width=query, key_width=key, width=query, heads=attention.heads, normalizer=normalizer)
    if isinstance(attention, MemoryAttention):
        return kind(
            query_width=query,
            key_width=key,
            hops=attention.hops,
            adjacent=attention.tying == "adjacent",
            temporal=attention.temporal,
            max_source_positions=attention.max_source_positions,
            normalizer=find_normalizer(attention.normalizer),
        )
    if isinstance(attention, NtmAttention):
        return kind(query_width=query, key_width=key, normalizer=find_normalizer(attention.normalizer))
    return kind(key_width=key)


def build_decoder(section: ModelSection) -> GruDecoder:
    """The decoder, wired as the attention's paper does unless `model.decoder` says otherwise."""
    attention, decoder = section.attention, section.decoder
    wiring = WIRINGS[attention.type]
    readout = decoder.readout or wiring.readout
    # tanh in as few dimensions as a tied embedding has would be a bottleneck, above all where the readout is fed back.
    width = section.embedding if section.tied and readout == "maxout" else decoder.hidden
    built = build_attention(section)
    # The fast forms have softmax written into their backward pass.
    fast = getattr(attention, "normalizer", "softmax") == "softmax"
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
        initial_width=section.encoder.hidden if wiring.whole_summary else section.encoder.hidden // 2,
        dropout=section.dropout,
        recurrence=wiring.recurrence if fast else None,
    )


def build_model(section: ModelSection, *, source_vocabulary: int, target_vocabulary: int, shared: bool) -> Seq2Seq:
    """A model with freshly drawn parameters. `shared`: both languages have one vocabulary.

    Embeddings are drawn from a normal distribution of deviation 1/√E, so that tied output scores start near 1 in size.
    """
    target_embedding = _embedding(target_vocabulary, section.embedding)
    source_embedding = target_embedding if section.tied and shared else _embedding(source_vocabulary, section.embedding)
    decoder = build_decoder(section)
    untied = nn.Linear(decoder.readout.width, target_vocabulary)
    encoder = GruEncoder(
        embedding=section.embedding,
        hidden=section.encoder.hidden,
        layers=section.encoder.layers,
        dropout=section.dropout,
    )
    return Seq2Seq(
        source_embedding=source_embedding,
        target_embedding=target_embedding,
        encoder=encoder,
        decoder=decoder,
        output=cast(nn.Parameter, target_embedding.weight if section.tied else untied.weight),
        dropout=section.dropout,
    )


def _embedding(pieces: int, width: int) -> nn.Embedding:
    embedding = nn.Embedding(pieces, width, padding_idx=PADDING)
    nn.init.normal_(embedding.weight, std=1.0 / math.sqrt(width))
    nn.init.zeros_(embedding.weight.data[PADDING])
    return embedding
