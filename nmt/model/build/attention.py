"""`model.attention` and `model.context` become an attention."""

from collections.abc import Callable

from torch import Tensor

from nmt.attention import ATTENTIONS
from nmt.attention.base import Attention
from nmt.attention.hierarchical import HierarchicalAttention
from nmt.attention.none import mean_state, summary
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
from nmt.config.model import GruEncoderSection, ModelSection


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
    return kind(key_width=key, summarize=summary_of(section)[0])


def summary_of(section: ModelSection) -> tuple[Callable[[Tensor, Tensor], Tensor], int]:
    """What makes a sentence's summary of the encoder's states, and how many of its last columns say where to begin:
    a GRU's backward half, all of what has no direction."""
    encoder = section.encoder
    if isinstance(encoder, GruEncoderSection):
        return summary, encoder.hidden // 2
    return mean_state, encoder.hidden


def with_context(section: ModelSection, attention: Attention) -> Attention:
    """The attention with what `model.context` adds to it."""
    context = section.context
    if context is None:
        return attention
    return HierarchicalAttention(
        inner=attention,
        query_width=section.decoder.hidden,
        key_width=section.encoder.hidden,
        hidden=context.hidden or section.decoder.hidden,
        conditioned=context.conditioned,
        sentence_gru=context.sentence_gru,
    )
