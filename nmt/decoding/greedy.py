"""One hypothesis for each sentence, piece by piece; greedy search takes the most probable piece each time."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from nmt.data.tokenizer import BEGIN, END
from nmt.decoding.rules import Prefixes, Rules, Written
from nmt.decoding.search import Hypothesis, Model, SearchSettings, started

Choose = Callable[[Tensor, Written], Tensor]
"""From log-probabilities [N, V], −∞ on what may not be written, to the next piece of each hypothesis, [N]."""


def greedy_search(
    model: Model,
    sources: Sequence[Sequence[int]],
    settings: SearchSettings,
    device: torch.device,
    *,
    seed_B: Tensor | None = None,
    prefixes: Prefixes | None = None,
    before: Sequence[Sequence[Sequence[int]]] = (),
) -> list[Hypothesis]:
    """The translation of each source (pieces without end) that takes the most probable piece at every step.

    `seed_B`, a number for each source, asks an attention that can to draw where it looks; `before` are the sentences
    before each, for a model that looks there.
    """
    return search_singly(
        model, sources, settings, device, _most_probable, seed_B=seed_B, prefixes=prefixes, before=before
    )


def _most_probable(scores_NV: Tensor, written: Written) -> Tensor:
    return scores_NV.argmax(dim=1)


@torch.inference_mode()
def search_singly(
    model: Model,
    sources: Sequence[Sequence[int]],
    settings: SearchSettings,
    device: torch.device,
    choose: Choose,
    *,
    seed_B: Tensor | None = None,
    prefixes: Prefixes | None = None,
    before: Sequence[Sequence[Sequence[int]]] = (),
) -> list[Hypothesis]:
    """One translation of each source, each piece chosen by `choose`. Finished sentences leave the batch."""
    state = started(model, sources, before, seed_B, device)
    rules = Rules(settings, sources, device, prefixes)
    found: dict[int, Hypothesis] = {}
    sentence_N = torch.arange(len(sources), device=device)
    pieces_NT = torch.empty(len(sources), 0, dtype=torch.long, device=device)
    previous_N = torch.full((len(sources),), BEGIN, dtype=torch.long, device=device)
    totals_N = torch.zeros(len(sources), dtype=torch.float64, device=device)
    while len(sentence_N):
        step = model.step(previous_N, state)
        written = Written(sentence_N, pieces_NT)
        scores_NV = rules.gains(step.logits_NV, written)
        piece_N = choose(scores_NV, written)
        totals_N = totals_N + scores_NV.gather(1, piece_N.unsqueeze(1)).squeeze(1)
        ended_N = piece_N == END
        penalty = settings.penalty(written.length + 1)
        for row in ended_N.nonzero().squeeze(1).tolist():
            total = float(totals_N[row])
            found[int(sentence_N[row])] = Hypothesis(tuple(pieces_NT[row].tolist()), total, total / penalty)
        keep_N = (~ended_N).nonzero().squeeze(1)
        state, previous_N = step.state.reorder(keep_N), piece_N[keep_N]
        sentence_N, totals_N = sentence_N[keep_N], totals_N[keep_N]
        pieces_NT = torch.cat([pieces_NT[keep_N], previous_N.unsqueeze(1)], dim=1)
    return [found[index] for index in range(len(sources))]
