"""Sampling: each piece is drawn from the model's distribution, sharpened and cut short as one likes.

    p_i ∝ exp(log p_i / temperature), over the `top_k` most probable pieces (A. Fan, M. Lewis, Y. Dauphin, ACL 2018,
    arXiv 1805.04833), of these over the fewest that together have `top_p` of it (nucleus sampling, A. Holtzman et al.,
    ICLR 2020, arXiv 1904.09751)

What is drawn depends on the line's seed and the step alone: neighbours and batch size change nothing. The
log-probability of a translation is the model's own, as if nothing had been sharpened or cut.

Shapes: B sentences of a batch, N hypotheses, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.decoding.greedy import search_singly
from nmt.decoding.rules import Prefixes, Written
from nmt.decoding.search import Hypothesis, Model, SearchSettings
from nmt.uniform import draw, uniform


@dataclass(frozen=True)
class Sampling:
    """How to sample: `temperature` above 0, `top_k` of 1 or more, `top_p` in (0, 1]; None: of all pieces."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None


def sample_search(
    model: Model,
    sources: Sequence[Sequence[int]],
    settings: SearchSettings,
    device: torch.device,
    sampling: Sampling,
    line_B: Tensor,
    *,
    seed_B: Tensor | None = None,
    prefixes: Prefixes | None = None,
    before: Sequence[Sequence[Sequence[int]]] = (),
) -> list[Hypothesis]:
    """A translation of each source (pieces without end), drawn from `line_B`, a number for each source.

    `seed_B` asks an attention that can to draw where it looks; `before` are the sentences before each, for a model that
    looks there.
    """
    line_B = line_B.to(device)

    def choose(scores_NV: Tensor, written: Written) -> Tensor:
        # Steps count downwards here, so that an attention that draws by the same number draws other ones.
        step = torch.tensor(-1 - written.length, device=device)
        return draw(distribution(scores_NV, sampling), uniform(line_B[written.sentence_N], step))

    return search_singly(model, sources, settings, device, choose, seed_B=seed_B, prefixes=prefixes, before=before)


def distribution(scores_NV: Tensor, sampling: Sampling) -> Tensor:
    """What is drawn from, of log-probabilities that may be −∞: rows that sum to 1, in the vocabulary's order."""
    scores_NV = scores_NV.double()
    if sampling.top_k is not None and sampling.top_k < scores_NV.shape[1]:
        best_NK, index_NK = scores_NV.topk(sampling.top_k, dim=1)
        scores_NV = torch.full_like(scores_NV, -torch.inf).scatter_(1, index_NK, best_NK)
    # From the best down, so that no temperature is too low.
    weights_NV = torch.softmax((scores_NV - scores_NV.amax(dim=1, keepdim=True)) / sampling.temperature, dim=1)
    if sampling.top_p is not None and sampling.top_p < 1.0:
        sorted_NV, order_NV = weights_NV.sort(dim=1, descending=True)
        before_NV = sorted_NV.cumsum(dim=1) - sorted_NV
        kept_NV = torch.zeros_like(weights_NV).scatter_(1, order_NV, (before_NV < sampling.top_p).double())
        weights_NV = weights_NV * kept_NV
        weights_NV = weights_NV / weights_NV.sum(dim=1, keepdim=True)
    return weights_NV
