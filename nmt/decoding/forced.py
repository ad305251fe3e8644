"""Forced decoding: given pairs, where did attention look, and how probable is the target? One pass for all of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from nmt.data.batching import Example, inference_groups, make_batch
from nmt.model.decoder import Decoded
from nmt.model.seq2seq import Seq2Seq


@dataclass(frozen=True)
class Forced:
    """One pair's forced pass.

    `weights` has an array [H, T, S] for each layer that attends, T and S with the end pieces, padding cut off;
    `log_probabilities` [T] are natural, those of each target piece and of the end. `document` is there for a model that
    looks at the sentences before, where there are some. Where nobody needs weights, there are none of either.
    """

    weights: tuple[NDArray[np.float32], ...]
    log_probabilities: NDArray[np.float32]
    document: "ForcedDocument | None" = None


@dataclass(frozen=True)
class ForcedDocument:
    """Where one pair's pass looked in the K sentences before: weights of each sentence's pieces, [T, S], of the
    sentences, [T, K], and the share of the sentence's own context in what was read, [T]; T with the end piece."""

    words: tuple[NDArray[np.float32], ...]
    sentences: NDArray[np.float32]
    gate: NDArray[np.float32]


@torch.inference_mode()
def forced_decode(
    model: Seq2Seq, examples: Sequence[Example], *, batch_size: int, device: torch.device, need_weights: bool = True
) -> list[Forced]:
    """The forced pass of every pair, in the order given; without `need_weights` its log-probabilities alone.

    Pairs with seeds have attention draw what it drew in a search by the same seed and pieces.
    """
    model.eval()
    results: dict[int, Forced] = {}
    for indices in inference_groups(examples, batch_size):
        batch = make_batch([examples[index] for index in indices]).to(device)
        sides = batch.source_BS, batch.source_mask_BS, batch.previous_BT, batch.context_BKS
        decoded = model(*sides, seed_B=batch.seed_B, need_weights=need_weights)
        weights = [layer.float().cpu().numpy() for layer in decoded.weights]
        for row, index in enumerate(indices):
            target = len(examples[index].target) + 1
            source = len(examples[index].source) + 1
            cut = tuple(layer[row, :, :target, :source].copy() for layer in weights)
            # Sentence by sentence: the scores of a whole batch over the vocabulary may not fit into memory.
            scores_TV = torch.log_softmax(model.logits(decoded.readout_BTR[row, :target]).float(), dim=-1)
            gained_T = scores_TV.gather(1, batch.target_BT[row, :target].unsqueeze(1)).squeeze(1)
            document = _document_of(decoded, row, examples[index]) if need_weights else None
            results[index] = Forced(cut, gained_T.cpu().numpy().copy(), document)
    return [results[index] for index in range(len(examples))]


def _document_of(decoded: Decoded, row: int, example: Example) -> ForcedDocument | None:
    """Where one pair of a batch looked in the sentences before it, padding cut off."""
    weights = decoded.document
    if weights is None or not example.before:
        return None
    steps, count = len(example.target) + 1, len(example.before)
    words_TKS = weights.words_BTKS[row, :steps].float().cpu().numpy()
    return ForcedDocument(
        tuple(words_TKS[:, number, : len(sentence)].copy() for number, sentence in enumerate(example.before)),
        weights.sentences_BTK[row, :steps, :count].float().cpu().numpy().copy(),
        weights.gate_BT[row, :steps].float().cpu().numpy().copy(),
    )
