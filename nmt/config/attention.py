"""The kinds of `model.attention`, one section each, told apart by `type`."""

from typing import Annotated, Literal

from pydantic import Field

from nmt.config.section import Positive, Section

ScoreName = Literal["dot", "scaled_dot", "general", "concat", "additive", "location", "cosine"]
NormalizerName = Literal["softmax", "sparsemax", "entmax15"]
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


class LocalAttention(Section):
    """A window of the source, after the recurrent step (Luong, Pham, Manning, arXiv 1508.04025, section 3.2)."""

    type: Literal["local"]
    """The kind of attention."""
    variant: Literal["local_m", "local_p"] = "local_p"
    """Where the window's centre is: at the target's own position, or where the decoder's state predicts it."""
    window: Positive = 10
    """D: the window reaches so many pieces to either side of its centre."""
    score: ScoreName = "general"
    """How a state and a source position are compared."""
    input_feeding: bool = True
    """Feed the attentional vector into the next step; false trains without a loop over the target."""
    hidden: Positive | None = None
    """Width of the hidden layer of the predicted centre and of the scores concat and additive; default: the decoder's
    width."""
    max_source_positions: Positive = 100
    """Rows of the score location: source pieces beyond have weight 0."""
    normalizer: NormalizerName = "softmax"
    """What turns scores into weights."""


class SoftAttention(Section):
    """The expectation over all positions, before the recurrent step (Xu et al., arXiv 1502.03044)."""

    type: Literal["soft"]
    """The kind of attention."""
    hidden: Positive | None = None
    """Width of the score's hidden layer; default: the decoder's width."""
    normalizer: NormalizerName = "softmax"
    """What turns scores into weights."""


class HardAttention(Section):
    """One position, drawn, before the recurrent step (Xu et al., arXiv 1502.03044)."""

    type: Literal["hard"]
    """The kind of attention."""
    hidden: Positive | None = None
    """Width of the score's hidden layer; default: the decoder's width."""
    expected_share: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    """Probability that the expectation stands in for a sentence's draws in training."""
    reward_weight: Annotated[float, Field(ge=0.0)] = 1.0
    """λ_r of the reward's term in the loss."""
    entropy_weight: Annotated[float, Field(ge=0.0)] = 0.002
    """λ_e of the entropy's term in the loss, which keeps the draws from settling too early."""


class AttentionOverAttention(Section):
    """The target so far weighs its own steps' attention (Cui et al., arXiv 1607.04423)."""

    type: Literal["attention_over_attention"]
    """The kind of attention."""
    normalizer: NormalizerName = "softmax"
    """What turns scores into weights, over the source and over the target so far."""


class MultiHeadAttention(Section):
    """Several scaled dot products side by side (Vaswani et al., arXiv 1706.03762)."""

    type: Literal["multihead"]
    """The kind of attention."""
    heads: Positive = 4
    """Number of heads; they divide the decoder's width evenly. A Transformer decoder's are given in its own section."""
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
    NoAttention
    | BahdanauAttention
    | LuongAttention
    | LocalAttention
    | SoftAttention
    | HardAttention
    | MultiHeadAttention
    | AttentionOverAttention
    | MemoryAttention
    | NtmAttention,
    Field(discriminator="type"),
]
