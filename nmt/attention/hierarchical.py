"""Hierarchical attention over the sentences before: Z. Yang et al., "Hierarchical attention networks for document
classification", NAACL 2016, N16-1174; in translation L. Miculicich et al., "Document-level neural machine translation
with hierarchical attention networks", EMNLP 2018, arXiv 1809.01576.

    words to a sentence      α_kw = softmax_w(u_w · tanh(W_w h_kw + b_w))    s_k = Σ_w α_kw h_kw
    sentences to a document  α_k = softmax_k(u_s · tanh(W_s s_k + b_s))      d = Σ_k α_k s_k
    with the sentence's own  λ = sigmoid(W_g [d; c] + b_g)                   output = λ ⊙ c + (1 − λ) ⊙ d

The queries come from the decoder's state, u_w = U_w q and u_s = U_s q, so that each target word looks back anew; or,
as in Yang's networks, they are learnt vectors. With Yang's sentence encoder, a bidirectional GRU over s_1 … s_K, a
sentence knows its place in the document; without it the order of the sentences counts for nothing.

It is an addition to any attention, whose context is c: a sentence with none before it has d = 0. Shapes: K sentences of
S words before this one, in the document's order; states h [B, K, S, D], query q [B, T, Q], c and output [B, T, C];
W_w and W_s [A, D], U_w and U_s [A, Q], W_g [C, 2 C]. Where C is not D, d goes through a linear layer.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from nmt.attention.base import Attended, Attention, AttentionState, DocumentMemory, DocumentWeights, Memory
from nmt.attention.normalizers import softmax


class LearntQuery(nn.Module):
    """One vector, whatever the state: [B, T, Q] to [B, T, A]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.randn(width) / width**0.5)

    def forward(self, query_BTQ: Tensor) -> Tensor:
        return self.vector.expand(*query_BTQ.shape[:2], -1)


class SentenceGru(nn.Module):
    """What a sentence means where it stands: a bidirectional GRU over the sentences' vectors (Yang et al., eq. 8)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gru = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)

    def forward(self, sentences_BTKD: Tensor, mask_BK: Tensor) -> Tensor:
        """[B, T, K, D], of which the real sentences come first."""
        steps, most = sentences_BTKD.shape[1:3]
        lengths_N = mask_BK.sum(dim=1).clamp(min=1).repeat_interleave(steps).cpu()
        sentences_NKD = sentences_BTKD.flatten(0, 1).to(next(self.gru.parameters()).dtype)
        packed = nn.utils.rnn.pack_padded_sequence(sentences_NKD, lengths_N, batch_first=True, enforce_sorted=False)
        with torch.autocast(sentences_BTKD.device.type, enabled=False):  # cuDNN's would take float16 for it, unscaled
            states, _ = self.gru(packed)
        read_NKD, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=most)
        return read_NKD.view_as(sentences_BTKD)


class HierarchicalAttention(Attention):
    """An attention, `inner`, and beside it one over the words of the sentences before, then over those sentences.

    `hidden` is A; `conditioned`: queries from the decoder's state, or learnt vectors; `sentence_gru`: Yang's sentence
    encoder. Weights, maps and state are those of `inner`; `Attended.document` has its own. Raises nothing.
    """

    reads_document = True

    def __init__(
        self,
        *,
        inner: Attention,
        query_width: int,
        key_width: int,
        hidden: int,
        conditioned: bool = True,
        sentence_gru: bool = False,
    ) -> None:
        super().__init__()
        self.inner = inner
        self.context_width = inner.context_width
        self.has_weights, self.last_map, self.draws = inner.has_weights, inner.last_map, inner.draws
        self.word = nn.Linear(key_width, hidden)
        self.sentence = nn.Linear(key_width, hidden)
        queries = (nn.Linear(query_width, hidden, bias=False) if conditioned else LearntQuery(hidden) for _ in range(2))
        self.word_query, self.sentence_query = queries
        self.encoder = SentenceGru(key_width) if sentence_gru else None
        same = key_width == self.context_width
        self.value = None if same else nn.Linear(key_width, self.context_width, bias=False)
        self.gate = nn.Linear(2 * self.context_width, self.context_width)

    def remember(self, states_BSD: Tensor, mask_BS: Tensor) -> Memory:
        return self.inner.remember(states_BSD, mask_BS)

    def remember_document(self, memory: Memory, states_BKSD: Tensor, mask_BKS: Tensor) -> Memory:
        document = DocumentMemory(torch.tanh(self.word(states_BKSD)), states_BKSD, mask_BKS)
        return replace(memory, document=document)

    def initial_state(self, memory: Memory, seed_B: Tensor | None = None) -> AttentionState | None:
        return self.inner.initial_state(memory, seed_B)

    def forward(
        self, query_BTQ: Tensor, memory: Memory, state: AttentionState | None = None, *, need_weights: bool = True
    ) -> Attended:
        attended = self.inner(query_BTQ, memory, state, need_weights=need_weights)
        own_BTC = attended.context_BTD
        before_BTC, looked = torch.zeros_like(own_BTC), None
        if memory.document is not None:
            before_BTC, looked = self.read(query_BTQ, memory.document)
        gate_BTC = torch.sigmoid(self.gate(torch.cat([before_BTC, own_BTC], dim=-1)))
        context_BTC = gate_BTC * own_BTC + (1.0 - gate_BTC) * before_BTC
        weights = DocumentWeights(*looked, gate_BTC.mean(dim=-1)) if looked is not None and need_weights else None
        return replace(attended, context_BTD=context_BTC, document=weights)

    def read(self, query_BTQ: Tensor, document: DocumentMemory) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """d for each query, [B, T, C], and what it was read with: α of words, [B, T, K, S], and of sentences."""
        batch, most = document.mask_BKS.shape[:2]
        asked_NTA = self.word_query(query_BTQ).repeat_interleave(most, dim=0)
        scores_NTS = torch.bmm(asked_NTA, document.keys_BKSA.flatten(0, 1).mT.to(asked_NTA.dtype))
        words_NTS = softmax(scores_NTS, document.mask_BKS.flatten(0, 1))
        values_NSD = document.values_BKSD.flatten(0, 1)
        sentences_NTD = torch.bmm(words_NTS.to(values_NSD.dtype), values_NSD)
        sentences_BTKD = sentences_NTD.unflatten(0, (batch, most)).transpose(1, 2)
        mask_BK = document.mask_BKS.any(dim=-1)
        if self.encoder is not None:
            sentences_BTKD = self.encoder(sentences_BTKD, mask_BK)
        keys_BTKA = torch.tanh(self.sentence(sentences_BTKD))
        scores_BTK = (keys_BTKA * self.sentence_query(query_BTQ).unsqueeze(2)).sum(dim=-1)
        sentence_BTK = softmax(scores_BTK, mask_BK)
        read_BTD = (sentence_BTK.unsqueeze(-1) * sentences_BTKD).sum(dim=2)
        words_BTKS = words_NTS.unflatten(0, (batch, most)).transpose(1, 2)
        return (read_BTD if self.value is None else self.value(read_BTD)), (words_BTKS, sentence_BTK)
