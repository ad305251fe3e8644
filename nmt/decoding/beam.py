"""Beam search, by rules under which its promises hold.

Each step takes the best continuations of a sentence's live hypotheses, the end of the sentence among them: as many as
its beam has places left. A hypothesis that ends leaves, and the beam shrinks by it. The search of a sentence is over
when none is live, or earlier if even at the longest length none of the live could overtake what has ended. Hence a beam
of 1 is greedy search, and a beam wide enough to hold every prefix is exhaustive search.

Diverse beam search (A. Vijayakumar et al., arXiv 1610.02424, algorithm 1, Hamming diversity) divides the beam among G
groups, each a beam of K/G that shrinks and ends by itself. At step t one group chooses after the other, by

    log p(y_≤t | x) − λ Σ_τ≤t n_τ(y_τ)        n_τ(v): how often groups before it chose piece v, or the end, at step τ

which steers the choice alone: log-probabilities and scores stay the model's. Hence one group is plain beam search, and
with λ = 0 every group is that of a beam of K/G. What several groups found counts once.

Shapes: B sentences still searched, K beam, G groups, V vocabulary, T pieces written; row b K + k is hypothesis k of
sentence b, group g has the places from g K/G on, and a place without a live hypothesis has score −∞.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from nmt.data.tokenizer import BEGIN, END
from nmt.decoding.rules import Prefixes, Rules, Written
from nmt.decoding.search import Hypothesis, Model, SearchSettings, started
from nmt.errors import CheckpointError


@dataclass
class _Sentence:
    """One sentence's search: its longest length, and the hypotheses that have ended, by their pieces."""

    limit: int
    ended: dict[tuple[int, ...], Hypothesis] = field(default_factory=dict)

    @property
    def best(self) -> list[Hypothesis]:
        """What has ended, best first."""
        return sorted(self.ended.values(), key=lambda found: -found.score)

    def decided(self, best_live: float, wanted: int, settings: SearchSettings) -> bool:
        """Whether no live hypothesis, the best of log-probability `best_live`, can still enter the best `wanted`.

        −∞ says that none is live. Log-probability only falls, and the length penalty at the longest length forgives the
        most of it.
        """
        if best_live == -torch.inf:
            return True
        if len(self.ended) < wanted:
            return False
        return self.best[wanted - 1].score >= best_live / settings.penalty(self.limit + 1)


@dataclass(frozen=True)
class _Live:
    """Hypotheses being written: log-probability, what is held against each for the sake of diversity (λ Σ n), pieces;
    and how many places each group has left for them."""

    scores_BK: Tensor
    held_BK: Tensor
    pieces_BKT: Tensor
    places_BG: Tensor

    def of(self, keep_B: Tensor) -> "_Live":
        """Those of some of the sentences."""
        return _Live(self.scores_BK[keep_B], self.held_BK[keep_B], self.pieces_BKT[keep_B], self.places_BG[keep_B])


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

    No two are the same, so several groups may find fewer. `seed_B`, a number for each source, asks an attention that
    can to draw where it looks: the hypotheses of a sentence share their draws. `before` are the sentences before each,
    for a model that looks there. With `wanted` as large as the beam, every search goes on until no hypothesis is live.
    """
    beam = settings.beam
    state = started(model, sources, before, seed_B, device)
    state = state.reorder(torch.arange(len(sources), device=device).repeat_interleave(beam))
    rules = Rules(settings, sources, device, prefixes)
    searches = [_Sentence(limit) for limit in rules.limits]
    alive = list(range(len(sources)))
    live = _begun(len(sources), settings, device)
    previous_N = torch.full((len(sources) * beam,), BEGIN, dtype=torch.long, device=device)
    while alive:
        step = model.step(previous_N, state)
        alive_N = torch.tensor(alive, device=device).repeat_interleave(beam)
        gains_NV = rules.gains(step.logits_NV, Written(alive_N, live.pieces_BKT.flatten(0, 1)))
        written, origin_BK = _continued(live, gains_NV, settings.diversity_penalty)
        live = _collected([searches[sentence] for sentence in alive], written, settings)
        top = live.scores_BK.amax(dim=1).tolist()
        if any(map(math.isnan, top)):
            raise CheckpointError(
                "the model's probabilities are no numbers: its weights are damaged, or overflow in this precision; "
                "take another run, or decoding.precision float32"
            )
        keep = [row for row, sentence in enumerate(alive) if not searches[sentence].decided(top[row], wanted, settings)]
        keep_B = torch.tensor(keep, dtype=torch.long, device=device)
        rows_N = (keep_B.unsqueeze(1) * beam + origin_BK[keep_B]).flatten()
        state = step.state.reorder(rows_N, within=len(keep) == len(alive))
        alive, live = [alive[row] for row in keep], live.of(keep_B)
        previous_N = live.pieces_BKT[:, :, -1].flatten()
    return [search.best[:wanted] for search in searches]


def _begun(sentences: int, settings: SearchSettings, device: torch.device) -> _Live:
    """One empty hypothesis in each group, and all places free."""
    beam, groups = settings.beam, settings.beam_groups
    scores_BK = torch.full((sentences, beam), -torch.inf, dtype=torch.float64, device=device)
    scores_BK.view(sentences, groups, -1)[:, :, 0] = 0.0
    pieces_BKT = torch.empty(sentences, beam, 0, dtype=torch.long, device=device)
    places_BG = torch.full((sentences, groups), beam // groups, device=device)
    return _Live(scores_BK, torch.zeros_like(scores_BK), pieces_BKT, places_BG)


def _continued(live: _Live, gains_NV: Tensor, strength: float) -> tuple[_Live, Tensor]:
    """The best continuations, at most as many as there are places, and the hypothesis that each continues, [B, K].

    Groups choose in their order, and what the earlier ones chose costs the later ones `strength` (λ) each time.
    """
    batch, groups = live.places_BG.shape
    size, pieces = live.scores_BK.shape[1] // groups, gains_NV.shape[1]
    gains_BKV, steered_BK = gains_NV.view(batch, -1, pieces), live.scores_BK - live.held_BK
    rank_K = torch.arange(size, device=gains_NV.device)
    taken_BV = gains_NV.new_zeros(batch, pieces)
    scores, held, origins, added = [], [], [], []
    for group in range(groups):
        first = group * size
        totals_BKV = steered_BK[:, first : first + size, None].to(gains_NV.dtype) + gains_BKV[:, first : first + size]
        if group:
            totals_BKV = totals_BKV - strength * taken_BV.unsqueeze(1)
        index_BK = totals_BKV.flatten(1).topk(size, dim=1).indices
        origin_BK, piece_BK = first + index_BK // pieces, index_BK % pieces
        # The sum of a long translation would lose digits in float32.
        score_BK = live.scores_BK.gather(1, origin_BK) + gains_BKV.flatten(1).gather(1, origin_BK * pieces + piece_BK)
        score_BK = score_BK.masked_fill(rank_K >= live.places_BG[:, group, None], -torch.inf)
        scores.append(score_BK)
        held.append(live.held_BK.gather(1, origin_BK) + strength * taken_BV.gather(1, piece_BK))
        origins.append(origin_BK)
        added.append(piece_BK)
        taken_BV.scatter_add_(1, piece_BK, (score_BK > -torch.inf).to(taken_BV.dtype))
    origin_BK = torch.cat(origins, dim=1)
    before_BKT = live.pieces_BKT.gather(1, origin_BK.unsqueeze(2).expand(-1, -1, live.pieces_BKT.shape[2]))
    pieces_BKT = torch.cat([before_BKT, torch.cat(added, dim=1).unsqueeze(2)], dim=2)
    return _Live(torch.cat(scores, dim=1), torch.cat(held, dim=1), pieces_BKT, live.places_BG), origin_BK


def _collected(searches: list[_Sentence], written: _Live, settings: SearchSettings) -> _Live:
    """What is still live, once the hypotheses that have just ended have moved to their sentence."""
    penalty = settings.penalty(written.pieces_BKT.shape[2])
    ended_BK = (written.pieces_BKT[:, :, -1] == END) & (written.scores_BK > -torch.inf)
    for row, place in ended_BK.nonzero().tolist():
        pieces, total = tuple(written.pieces_BKT[row, place, :-1].tolist()), float(written.scores_BK[row, place])
        searches[row].ended.setdefault(pieces, Hypothesis(pieces, total, total / penalty))
    left_BG = written.places_BG - ended_BK.view(*written.places_BG.shape, -1).sum(dim=2)
    return replace(written, scores_BK=written.scores_BK.masked_fill(ended_BK, -torch.inf), places_BG=left_BG)
