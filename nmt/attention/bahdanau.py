"""Additive attention: D. Bahdanau, K. Cho, Y. Bengio, "Neural machine translation by jointly learning to align and
translate", ICLR 2015, arXiv 1409.0473.

    e_ts = v_a · tanh(W_a s_{t−1} + U_a h_s)        α_t = softmax(e_t)        c_t = Σ_s α_ts h_s

Shapes: query s_{t−1} [B, T, Q], states h [B, S, D]; W_a [A, Q], U_a [A, D], v_a [A]; weights [B, 1, T, S], context
[B, T, D]. The paper asks with the *previous* state, before the recurrent step: that is the decoder's wiring
(`attend: before`), not the mechanism's concern.
"""

from nmt.attention.base import Normalizer, ScoredAttention
from nmt.attention.scores import AdditiveScore


class BahdanauAttention(ScoredAttention):
    """v_a · tanh(W_a s + U_a h), normalised over the sentence. Raises nothing."""

    def __init__(self, *, query_width: int, key_width: int, hidden: int, normalizer: Normalizer) -> None:
        score = AdditiveScore(query_width=query_width, key_width=key_width, hidden=hidden)
        super().__init__(score=score, normalizer=normalizer, context_width=key_width)
