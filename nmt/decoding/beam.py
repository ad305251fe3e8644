"""Beam search, by rules under which its promises hold.

Each step takes the best continuations of a sentence's live hypotheses, the end of the sentence among them: as many as
its beam has places left. A hypothesis that ends leaves, and the beam shrinks by it. The search of a sentence is over
when none is live, or earlier if even at the longest length none of the live could overtake what has ended. Hence a beam
of 1 is greedy search, and a beam wide enough to hold every prefix is exhaustive search.

Shapes: B sentences still searched, K beam, V vocabulary; row b K + k is hypothesis k of sentence b, and a place without
a live hypothesis has score −∞.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from nmt.data.tokenizer import BEGIN, END
from nmt.decoding.rules import Prefixes, Rules, Written
from nmt.decoding.search import Hypothesis, Model, SearchSettings, started


@dataclass
class _Sentence:
    """One sentence's search: its longest length, and the hypotheses that have ended."""

    limit: int
    ended: list[Hypothesis] = field(default_factory=list)

    def decided(self, best_live: float, wanted: int, settings: SearchSettings) -> bool:
        """Whether no live hypothesis, the best of log-probability `best_live`, can still enter the best `wanted`.

        −∞ says that none is live. Log-probability only falls, and the length penalty at the longest length forgives the
        most of it.
        """
        if best_live == -torch.inf:
            return True
        if len(self.ended) < wanted:
            return False
        scores = sorted((hypothesis.score for hypothesis in self.ended), reverse=True)
        return scores[wanted - 1] >= best_live / settings.penalty(self.limit + 1)


@torch.inference_mode()
def beam_search(
    model: Model,
    sources: Sequence[Sequence[int]],
    settings: SearchSettings,
    device: torch.device,
    wanted: int = 1,
    *,
    seed_B: Tensor | None = None,
    prefixes: Prefixes | None = None,
    before: Sequence[Sequence[Sequence[int]]] = (),
) -> list[list[Hypothesis]]:
    """The best `wanted` translations of each source (pieces without end), best first, at most as many as the beam.

    `seed_B`, a number for each source, asks an attention that can to draw where it looks: the hypotheses of a sentence
    share their draws. `before` are the sentences before each, for a model that looks there. With `wanted` as large as
    the beam, every search goes on until no hypothesis is live.
    """
    beam = settings.beam
    state = started(model, sources, before, seed_B, device)
    state = state.reorder(torch.arange(len(sources), device=device).repeat_interleave(beam))
    rules = Rules(settings, sources, device, prefixes)
    searches = [_Sentence(limit) for limit in rules.limits]
    alive = list(range(len(sources)))
    scores_BK = torch.full((len(sources), beam), -torch.inf, dtype=torch.float64, device=device)
    scores_BK[:, 0] = 0.0
    pieces_BKT = torch.empty(len(sources), beam, 0, dtype=torch.long, device=device)
    previous_N = torch.full((len(sources) * beam,), BEGIN, dtype=torch.long, device=device)
    while alive:
        step = model.step(previous_N, state)
        alive_N = torch.tensor(alive, device=device).repeat_interleave(beam)
        gains_NV = rules.gains(step.logits_NV, Written(alive_N, pieces_BKT.flatten(0, 1)))
        places = torch.tensor([beam - len(searches[sentence].ended) for sentence in alive], device=device)
        best = _best(scores_BK, gains_NV, places)
        scores_BK, origin_BK, piece_BK = best
        pieces_BKT = pieces_BKT.gather(1, origin_BK.unsqueeze(2).expand(-1, -1, pieces_BKT.shape[2]))
        _collect([searches[sentence] for sentence in alive], best, pieces_BKT, settings)
        pieces_BKT = torch.cat([pieces_BKT, piece_BK.unsqueeze(2)], dim=2)
        scores_BK = scores_BK.masked_fill(piece_BK == END, -torch.inf)
        top = scores_BK.amax(dim=1).tolist()
        keep = [row for row, sentence in enumerate(alive) if not searches[sentence].decided(top[row], wanted, settings)]
        alive = [alive[row] for row in keep]
        keep_B = torch.tensor(keep, dtype=torch.long, device=device)
        rows_N = (keep_B.unsqueeze(1) * beam + origin_BK[keep_B]).flatten()
        state = step.state.reorder(rows_N, within=len(keep) == len(scores_BK))
        previous_N = piece_BK[keep_B].flatten()
        scores_BK, pieces_BKT = scores_BK[keep_B], pieces_BKT[keep_B]
    return [sorted(search.ended, key=lambda found: -found.score)[:wanted] for search in searches]


def _best(scores_BK: Tensor, gains_NV: Tensor, places_B: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The best continuations of each sentence: log-probability, the hypothesis they continue, the piece added.

    Beyond the places left there is −∞.
    """
    batch, beam = scores_BK.shape
    pieces = gains_NV.shape[1]
    totals_BKV = scores_BK.to(gains_NV.dtype).unsqueeze(2) + gains_NV.view(batch, beam, pieces)
    index_BK = totals_BKV.flatten(1).topk(beam, dim=1).indices
    origin_BK, piece_BK = index_BK // pieces, index_BK % pieces
    # The sum of a long translation would lose digits in float32.
    best_BK = scores_BK.gather(1, origin_BK) + gains_NV.view(batch, -1).gather(1, index_BK)
    rank_K = torch.arange(beam, device=best_BK.device)
    return best_BK.masked_fill(rank_K >= places_B.unsqueeze(1), -torch.inf), origin_BK, piece_BK


def _collect(
    searches: list[_Sentence], best: tuple[Tensor, Tensor, Tensor], pieces_BKT: Tensor, settings: SearchSettings
) -> None:
    """Move the hypotheses that have just ended to their sentence; `pieces_BKT` are those before the end."""
    scores_BK, _, piece_BK = best
    penalty = settings.penalty(pieces_BKT.shape[2] + 1)
    ended = ((piece_BK == END) & (scores_BK > -torch.inf)).nonzero().tolist()
    for row, place in ended:
        total = float(scores_BK[row, place])
        searches[row].ended.append(Hypothesis(tuple(pieces_BKT[row, place].tolist()), total, total / penalty))
