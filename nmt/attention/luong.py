"""Global attention: M.-T. Luong, H. Pham, C. D. Manning, "Effective approaches to attention-based neural machine
translation", EMNLP 2015, arXiv 1508.04025.

    a_t = softmax_s(score(h_t, h̄_s))        c_t = Σ_s a_ts h̄_s

with a score of `scores.py`: the paper's are dot, general, concat and location. Shapes: query h_t [B, T, Q], states h̄
[B, S, D]; weights [B, 1, T, S], context [B, T, D]. The paper asks with the *current* state, after the recurrent step,
and feeds the attentional vector h̃_t = tanh(W_c [c_t; h_t]) into the next step: both are the decoder's wiring.
"""

from nmt.attention.base import Normalizer, Score, ScoredAttention


class LuongAttention(ScoredAttention):
    """Any score, normalised over the sentence. Raises nothing; the score has checked its widths."""

    def __init__(self, *, score: Score, key_width: int, normalizer: Normalizer) -> None:
        super().__init__(score=score, normalizer=normalizer, context_width=key_width)
