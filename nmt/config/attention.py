"""The kinds of `model.attention`, one section each, told apart by `type`."""

from typing import Annotated, Literal

from pydantic import Field

from nmt.config.section import Positive, Section

ScoreName = Literal["dot", "scaled_dot", "general", "concat", "additive", "location", "cosine"]
NormalizerName = Literal["softmax"]
EQUAL_WIDTHS = frozenset({"dot", "scaled_dot", "cosine"})
"""The scores that need queries and keys of one width."""


class NoAttention(Section):
    """The plain encoder-decoder (Cho et al. 2014): the sentence's summary at every step."""

    type: Literal["none"]
    """The kind of attention."""


class BahdanauAttention(Section):
    """Additive attention before the recurrent step (Bahdanau, Cho, Bengio, arXiv 1409.0473)."""

    type: Literal["bahdanau"]
    """The kind of attention."""
    hidden: Positive | None = None
    """Width of the score's hidden layer; default: the decoder's width."""
    normalizer: NormalizerName = "softmax"
    """What turns scores into weights."""


class LuongAttention(Section):
    """Global attention after the recurrent step (Luong, Pham, Manning, arXiv 1508.04025)."""

    type: Literal["luong"]
    """The kind of attention."""
    score: ScoreName = "general"
    """How a state and a source position are compared."""
    input_feeding: bool = True
    """Feed the attentional vector into the next step; false trains without a loop over the target."""
    hidden: Positive | None = None
    """Width of the hidden layer of the scores concat and additive; default: the decoder's width."""
    max_source_positions: Positive = 100
    """Rows of the score location: source pieces beyond have weight 0."""
    normalizer: NormalizerName = "softmax"
    """What turns scores into weights."""


class MultiHeadAttention(Section):
    """Several scaled dot products side by side (Vaswani et al., arXiv 1706.03762)."""

    type: Literal["multihead"]
    """The kind of attention."""
    heads: Positive = 4
    """Number of heads; they divide the decoder's width evenly."""
    normalizer: NormalizerName = "softmax"
    """What turns scores into weights."""


class MemoryAttention(Section):
    """Several hops over the source (Sukhbaatar et al., arXiv 1503.08895)."""

    type: Literal["memory"]
    """The kind of attention."""
    hops: Positive = 3
    """How often the source is read for one target word."""
    tying: Literal["adjacent", "layerwise"] = "adjacent"
    """Which embeddings the hops share: one hop's output is the next one's input, or all share both."""
    temporal: bool = True
    """Whether memories tell their position."""
    max_source_positions: Positive = 100
    """Positions that temporal tells apart; those beyond count as the last."""
    normalizer: NormalizerName = "softmax"
    """What turns scores into weights."""


class NtmAttention(Section):
    """Addressing by content and by where the step before looked (Graves et al., arXiv 1410.5401)."""

    type: Literal["ntm"]
    """The kind of attention."""
    normalizer: NormalizerName = "softmax"
    """What turns the scores of the content into weights."""


AttentionSection = Annotated[
    NoAttention | BahdanauAttention | LuongAttention | MultiHeadAttention | MemoryAttention | NtmAttention,
    Field(discriminator="type"),
]
