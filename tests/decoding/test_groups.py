"""Diverse beam search: against the algorithm written out hypothesis by hypothesis, and what it promises."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
import torch

from nmt.data.batching import source_batch
from nmt.data.tokenizer import BEGIN, END, PADDING, UNKNOWN
from nmt.decoding.beam import beam_search
from nmt.decoding.ensemble import Ensemble
from nmt.decoding.rules import Prefixes
from nmt.decoding.search import Hypothesis
from nmt.model.seq2seq import Seq2Seq
from tests.decoding.fakes import CPU, KINDS, PIECES, SOURCES, Fake, close, settings, tiny_model, wu

Pieces = tuple[int, ...]
Following = Callable[[Pieces], Sequence[float]]
"""From what is written to the log-probability of every piece that may come next."""
May = Callable[[Pieces, int], bool]

TRANSFORMER = {"type": "transformer", "hidden": 16, "layers": 2, "heads": 2, "feed_forward": 16}
CONVOLUTION = {"type": "conv", "hidden": 16}


def diverse(
    following: Following,
    beam: int,
    groups: int,
    strength: float,
    alpha: float,
    longest: int,
    may: May = lambda pieces, piece: True,
) -> list[Hypothesis]:
    """What the groups find, best first, each text once."""
    live: list[list[tuple[Pieces, float, float]]] = [[((), 0.0, 0.0)] for _ in range(groups)]
    places = [beam // groups] * groups
    ended: dict[Pieces, Hypothesis] = {}
    for length in range(longest + 1):
        taken: Counter[int] = Counter()
        for group in range(groups):
            options = []
            for pieces, total, held in live[group]:
                for piece, gain in enumerate(following(pieces)):
                    late = length == longest and piece != END
                    if piece not in (PADDING, UNKNOWN, BEGIN) and not late and may(pieces, piece):
                        options.append((total + gain, held + strength * taken[piece], pieces, piece))
            options.sort(key=lambda option: option[1] - option[0])
            chosen = options[: places[group]]
            taken.update(piece for *_, piece in chosen)
            live[group] = []
            for total, held, pieces, piece in chosen:
                if piece == END:
                    ended[pieces] = Hypothesis(pieces, total, total / wu(alpha)(length + 1))
                    places[group] -= 1
                else:
                    live[group].append(((*pieces, piece), total, held))
    return sorted(ended.values(), key=lambda one: -one.score)


def fake_following(model: Fake, source: Pieces) -> Following:
    return lambda pieces: torch.log_softmax(model.logits((*source, END), (BEGIN, *pieces)), dim=0).tolist()


def forced_following(models: Sequence[Seq2Seq], source: Pieces) -> Following:
    """By a whole pass for each prefix, of one sentence, and the mean of all models' probabilities."""
    sides = source_batch([source])

    @cache
    def following(pieces: Pieces) -> list[float]:
        previous_BT = torch.tensor([(BEGIN, *pieces)])
        with torch.inference_mode():
            readouts = [model(*sides, previous_BT, need_weights=False).readout_BTR[0, -1] for model in models]
            probabilities = [model.logits(one).softmax(dim=-1) for model, one in zip(models, readouts, strict=True)]
            return torch.stack(probabilities).mean(dim=0).log().tolist()

    return following


def same(found: Sequence[Hypothesis], wanted: Sequence[Hypothesis]) -> bool:
    return len(found) == len(wanted) and all(close(one, other) for one, other in zip(found, wanted, strict=True))


@pytest.mark.parametrize("strength", [0.0, 0.4, 1.5, 20.0])
@pytest.mark.parametrize(("beam", "groups"), [(4, 1), (4, 2), (3, 3), (6, 2), (9, 3)])
def test_search_is_the_algorithm(beam: int, groups: int, strength: float) -> None:
    for seed in range(6):
        model, alpha = Fake(seed, end=seed / 2 - 1), (0.0, 0.7, 1.5)[seed % 3]
        asked = settings(beam, alpha, 5, beam_groups=groups, diversity_penalty=strength)
        for source, found in zip(SOURCES, beam_search(model, SOURCES, asked, CPU, wanted=beam), strict=True):
            assert same(found, diverse(fake_following(model, source), beam, groups, strength, alpha, 5))


def unrepeated(pieces: Pieces, piece: int) -> bool:
    return piece == END or (*pieces[-1:], piece) not in pairwise(pieces)


RULES: list[tuple[dict[str, Any], Pieces, May]] = [
    ({"no_repeat_ngram": 2}, (), unrepeated),
    ({"min_length_add": 3}, (), lambda pieces, piece: piece != END or len(pieces) >= 3),
    ({}, (5, 6), lambda pieces, piece: len(pieces) >= 2 or piece == (5, 6)[len(pieces)]),
    ({"no_repeat_ngram": 2}, (6,), lambda pieces, piece: unrepeated(pieces, piece) if pieces else piece == 6),
]


@pytest.mark.parametrize(("rule", "start", "may"), RULES, ids=["ngram", "shortest", "prefix", "prefix and ngram"])
def test_search_is_the_algorithm_over_what_may_be_written(rule: dict[str, Any], start: Pieces, may: May) -> None:
    prefixes = Prefixes([start] * len(SOURCES), torch.ones(PIECES, dtype=torch.bool)) if start else None
    asked = settings(6, 1.0, 6, beam_groups=3, diversity_penalty=0.9, **rule)
    for seed in range(5):
        model = Fake(seed, end=0.5)
        several = beam_search(model, SOURCES, asked, CPU, wanted=6, prefixes=prefixes)
        for source, found in zip(SOURCES, several, strict=True):
            assert same(found, diverse(fake_following(model, source), 6, 3, 0.9, 1.0, 6, may))


SECTIONS: list[dict[str, Any]] = [
    *({"attention": kind} for kind in KINDS),
    {"attention": {"type": "multihead", "heads": 2}, "encoder": TRANSFORMER, "decoder": TRANSFORMER},
    {"attention": {"type": "bahdanau"}, "encoder": CONVOLUTION},
]


@pytest.mark.parametrize("sections", [*SECTIONS, {}], ids=str)
def test_search_is_the_algorithm_for_every_attention_and_for_all_at_once(sections: dict[str, Any]) -> None:
    chosen = [sections] if sections else [SECTIONS[0], SECTIONS[-2], SECTIONS[-1]]
    models = [tiny_model(seed=seed, **one).double() for seed, one in enumerate(chosen, start=4)]
    model = models[0] if sections else Ensemble(models)
    sources = [(5, 6, 4), (7, 6, 8, 9, 10)]
    asked = settings(4, 1.0, 5, beam_groups=2, diversity_penalty=1.0)
    for source, found in zip(sources, beam_search(model, sources, asked, CPU, wanted=4), strict=True):
        assert same(found, diverse(forced_following(models, source), 4, 2, 1.0, 1.0, 5))


def test_one_group_is_plain_beam_search() -> None:
    for seed in range(5):
        model, plain = Fake(seed), settings(5, 1.0, 6)
        one_group = replace(plain, beam_groups=1, diversity_penalty=9.0)
        assert beam_search(model, SOURCES, one_group, CPU, 5) == beam_search(model, SOURCES, plain, CPU, 5)


@pytest.mark.parametrize(("beam", "groups"), [(6, 3), (6, 2), (4, 4)])
def test_without_a_penalty_groups_are_one_smaller_beam(beam: int, groups: int) -> None:
    for seed in range(5):
        model, asked = Fake(seed), settings(beam, 1.0, 6, beam_groups=groups)
        for wanted in (1, beam):
            small = beam_search(model, SOURCES, settings(beam // groups, 1.0, 6), CPU, wanted)
            assert beam_search(model, SOURCES, asked, CPU, wanted) == small


class Peaked(Fake):
    """The first piece is 4 by 10 nats before 5, and by 20 before 6."""

    def logits(self, source: Pieces, prefix: Pieces) -> torch.Tensor:
        logits_V = super().logits(source, prefix)
        return logits_V if len(prefix) > 1 else torch.tensor([-50.0] * 4 + [0.0, -10.0, -20.0], dtype=torch.float64)


@pytest.mark.parametrize(
    ("strength", "firsts"),
    [
        (4.0, {4}),
        (9.9, {4, 5}),  # the third group, to which 4 costs 19.8
        (10.1, {4, 5}),
        (19.9, {4, 5}),
        (20.1, {4, 5, 6}),
    ],
)
def test_groups_begin_differently_once_the_penalty_is_above_what_that_costs(strength: float, firsts: set[int]) -> None:
    asked = settings(3, 1.0, 4, beam_groups=3, diversity_penalty=strength)
    for several in beam_search(Peaked(1), SOURCES, asked, CPU, wanted=3):
        assert {one.pieces[0] for one in several} == firsts
    for several in beam_search(Peaked(1), SOURCES, replace(asked, beam_groups=1), CPU, wanted=3):
        assert {one.pieces[0] for one in several} == {4}
