"""Greedy search: the most probable piece at every step."""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmt.data.tokenizer import BEGIN, END
from nmt.decoding.search import Hypothesis, Model, SearchSettings, length_penalty, log_probabilities, started


@torch.inference_mode()
def greedy_search(
    model: Model,
    sources: Sequence[Sequence[int]],
    settings: SearchSettings,
    device: torch.device,
    *,
    seed_B: Tensor | None = None,
    before: Sequence[Sequence[Sequence[int]]] = (),
) -> list[Hypothesis]:
    """One translation of each source (pieces without end). Finished sentences leave the batch.

    `seed_B`, a number for each source, asks an attention that can to draw where it looks; `before` are the sentences
    before each, for a model that looks there.
    """
    state = started(model, sources, before, seed_B, device)
    limits = torch.tensor([settings.max_length(len(source)) for source in sources], device=device)
    pieces: list[list[int]] = [[] for _ in sources]
    totals = [0.0] * len(sources)
    alive = list(range(len(sources)))
    previous_N = torch.full((len(sources),), BEGIN, dtype=torch.long, device=device)
    for length in range(int(limits.max()) + 1):
        step = model.step(previous_N, state)
        scores_NV = log_probabilities(step.logits_NV)
        best_N = scores_NV.argmax(dim=1).masked_fill(limits <= length, END)
        gained = scores_NV.gather(1, best_N.unsqueeze(1)).squeeze(1).tolist()
        for row, (sentence, piece) in enumerate(zip(alive, best_N.tolist(), strict=True)):
            totals[sentence] += gained[row]
            if piece != END:
                pieces[sentence].append(piece)
        keep_N = (best_N != END).nonzero().squeeze(1)
        alive = [alive[row] for row in keep_N.tolist()]
        if not alive:
            break
        state, previous_N, limits = step.state.reorder(keep_N), best_N[keep_N], limits[keep_N]
    alpha = settings.length_penalty
    return [
        Hypothesis(tuple(found), total, total / length_penalty(len(found) + 1, alpha))
        for found, total in zip(pieces, totals, strict=True)
    ]
