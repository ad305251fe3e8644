"""An encoder, a decoder and their embeddings: from piece numbers to logits and attention weights.

Search knows three calls: `start` (a batch of sources), `step` (the last piece of each hypothesis), `reorder` (which
hypotheses live on), and nothing of what is inside. Shapes: B batch, N hypotheses, S source, T target, V vocabulary,
R width of the readout, K sentences before a sentence.
"""

from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from nmt.model.decoder import Decoded, Decoder, Reorderable
from nmt.model.dropout import Dropout
from nmt.model.encoders import Document, Encoded, Encoder


@dataclass(frozen=True)
class SearchState:
    """What a step needs besides the last piece: what the decoder remembers of the sentences, and its state."""

    memory: Reorderable
    decoder: Reorderable

    def reorder(self, index_N: Tensor, *, within: bool = False) -> "SearchState":
        """The state of the hypotheses `index_N`; an index may repeat.

        `within`: each row takes one of the same sentence, whose memory then need not be copied.
        """
        memory = self.memory if within else self.memory.reorder(index_N)
        return SearchState(memory, self.decoder.reorder(index_N))


@dataclass(frozen=True)
class Step:
    """One step of search: logits of the next piece, and the state after it."""

    logits_NV: Tensor
    state: SearchState


class Seq2Seq(nn.Module):
    """An encoder-decoder from built parts.

    `output` is the weight of the last layer, [V, R]: the target embeddings themselves where they are tied. A readout of
    another width than R goes through a linear layer first. Dropout of rate `dropout` is applied to embeddings and
    readout.
    """

    def __init__(
        self,
        *,
        source_embedding: nn.Embedding,
        target_embedding: nn.Embedding,
        encoder: Encoder,
        decoder: Decoder[Any, Any],
        output: nn.Parameter,
        dropout: float,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.padding = cast(int, source_embedding.padding_idx)
        self.target_embedding = target_embedding
        self.encoder = encoder
        self.decoder = decoder
        self.output = output
        self.output_bias = nn.Parameter(torch.zeros(output.shape[0]))
        width = output.shape[1]
        self.narrow = None if decoder.readout_width == width else nn.Linear(decoder.readout_width, width, bias=False)
        self.dropout = Dropout(dropout)

    def encode(self, source_BS: Tensor, mask_BS: Tensor, *, need_weights: bool = False) -> Encoded:
        """Read a batch of sources; with `need_weights`, also where self-attention looked."""
        embedded_BSE = self.dropout(self.source_embedding(source_BS))
        encoded: Encoded = self.encoder(embedded_BSE, mask_BS, need_weights=need_weights)
        return encoded

    def start(
        self, source_BS: Tensor, mask_BS: Tensor, seed_B: Tensor | None = None, context_BKS: Tensor | None = None
    ) -> SearchState:
        """The state before the first target piece.

        `seed_B`, a number for each sentence, asks an attention to draw; `context_BKS` are the K sentences before each,
        padded, for a decoder that looks there.
        """
        encoded = self.encode(source_BS, mask_BS)
        if context_BKS is not None and self.decoder.reads_document:
            encoded = replace(encoded, document=self._document(context_BKS))
        memory = self.decoder.remember(encoded)
        return SearchState(memory, self.decoder.initial_state(encoded, memory, seed_B))

    def _document(self, context_BKS: Tensor) -> Document | None:
        """The sentences before, read like any other; None where no sentence of the batch has one."""
        numbers_NS = context_BKS.flatten(0, 1)
        mask_NS = numbers_NS.ne(self.padding)
        real_M = mask_NS.any(dim=1).nonzero().squeeze(1)
        if not len(real_M):
            return None
        states_MSD = self.encode(numbers_NS[real_M], mask_NS[real_M]).states_BSD
        states_NSD = states_MSD.new_zeros(*mask_NS.shape, states_MSD.shape[-1]).index_copy(0, real_M, states_MSD)
        places = context_BKS.shape[:2]
        return Document(states_NSD.unflatten(0, places), mask_NS.unflatten(0, places))

    def decode(self, previous_BT: Tensor, state: SearchState, *, need_weights: bool = True) -> Decoded:
        """T steps, given the T previous target pieces: what the output layer reads, weights, the state after them."""
        embedded_BTE = self.dropout(self.target_embedding(previous_BT))
        decoded: Decoded = self.decoder(embedded_BTE, state.memory, state.decoder, need_weights=need_weights)
        readout_BTR = self.dropout(decoded.readout_BTR)
        if self.narrow is not None:
            readout_BTR = self.narrow(readout_BTR)
        return replace(decoded, readout_BTR=readout_BTR)

    def forward(
        self,
        source_BS: Tensor,
        mask_BS: Tensor,
        previous_BT: Tensor,
        context_BKS: Tensor | None = None,
        *,
        seed_B: Tensor | None = None,
        need_weights: bool = True,
    ) -> Decoded:
        """Teacher forcing: the whole target at once; `seed_B` and `context_BKS` as in `start`."""
        state = self.start(source_BS, mask_BS, seed_B, context_BKS)
        return self.decode(previous_BT, state, need_weights=need_weights)

    def logits(self, readout: Tensor) -> Tensor:
        """Scores of every piece of the target vocabulary, [..., V]."""
        return nn.functional.linear(readout, self.output, self.output_bias)

    def step(self, previous_N: Tensor, state: SearchState) -> Step:
        """One step of search."""
        decoded = self.decode(previous_N.unsqueeze(1), state, need_weights=False)
        logits_NV = self.logits(decoded.readout_BTR.squeeze(1))
        return Step(logits_NV, SearchState(state.memory, decoded.state))
