"""Soft attention, the twin of hard attention: K. Xu et al., "Show, attend and tell: neural image caption generation
with visual attention", ICML 2015, arXiv 1502.03044, section 4.2.

    e_ts = v · tanh(W s_{t−1} + U h_s)        α_t = softmax(e_t)        c_t = E[h_s] = Σ_s α_ts h_s

The expectation of what hard attention draws (`hard.py`), of which every gradient is exact; it is Bahdanau's mechanism.
Shapes: query s_{t−1} [B, T, Q], states h [B, S, D]; W [A, Q], U [A, D], v [A]; weights [B, 1, T, S], context [B, T, D].
"""

from nmt.attention.bahdanau import BahdanauAttention


class SoftAttention(BahdanauAttention):
    """The expected state under v · tanh(W s + U h), normalised over the sentence. Raises nothing."""
