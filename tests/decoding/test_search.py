"""Search: against brute force on a tiny vocabulary, and as people meet it, text in and text out."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from nmt.data.batching import Example
from nmt.data.tokenizer import BEGIN, END, PADDING, UNKNOWN, Tokenizer
from nmt.decoding import beam
from nmt.decoding.beam import beam_search
from nmt.decoding.forced import forced_decode
from nmt.decoding.greedy import greedy_search
from nmt.decoding.rules import Prefixes
from nmt.decoding.sample import Sampling, distribution, sample_search
from nmt.decoding.search import Hypothesis, SearchSettings, length_penalty, log_probabilities
from nmt.decoding.translate import Translator
from nmt.errors import CheckpointError
from nmt.model.seq2seq import Seq2Seq
from nmt.uniform import seeds
from tests.decoding.fakes import (
    CPU,
    KINDS,
    PIECES,
    SOURCES,
    WORDS,
    Fake,
    FakeStep,
    Read,
    close,
    settings,
    tiny_model,
    wu,
)

ALPHAS = (0.0, 0.6, 1.0, 2.5)


def brute_force(
    model: Fake,
    source: tuple[int, ...],
    longest: int,
    penalty: Callable[[int], float],
    allowed: Callable[[tuple[int, ...]], bool] = lambda pieces: True,
) -> list[Hypothesis]:
    """Every translation of at most `longest` pieces, best first; `penalty` counts the end."""
    found = []
    for length in range(longest + 1):
        for pieces in filter(allowed, product(WORDS, repeat=length)):
            total = model.log_probability(source, pieces)
            found.append(Hypothesis(pieces, total, total / penalty(length + 1)))
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


def forced_total(model: Seq2Seq, source: tuple[int, ...], pieces: tuple[int, ...]) -> float:
    forced = forced_decode(model, [Example(source, pieces)], batch_size=1, device=CPU)
    return float(forced[0].log_probabilities.sum())


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(4))
def test_the_widest_beam_is_brute_force(alpha: float, seed: int) -> None:
    longest = 3  # with the end, L = 4 choices in a row among V = 4: a beam of V^(L−1) holds every prefix
    model = Fake(seed)
    width = (len(WORDS) + 1) ** longest
    found = beam_search(model, SOURCES, settings(width, alpha, longest), CPU, wanted=width)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        wanted = brute_force(model, source, longest, wu(alpha))
        assert len(hypotheses) == len(wanted) == 40
        assert all(close(one, other) for one, other in zip(hypotheses, wanted, strict=True))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_best_of_the_widest_beam_is_the_best_of_all_with_early_stopping(alpha: float) -> None:
    for seed in range(8):
        model = Fake(seed, end=float(seed % 3))
        found = beam_search(model, SOURCES, settings(64, alpha, 3), CPU)
        for source, hypotheses in zip(SOURCES, found, strict=True):
            assert close(hypotheses[0], brute_force(model, source, 3, wu(alpha))[0])


@pytest.mark.parametrize("alpha", ALPHAS)
def test_plain_length_normalisation_is_brute_force_too(alpha: float) -> None:
    model = Fake(7, end=1.0)
    for wanted in (1, 64):
        found = beam_search(model, SOURCES, settings(64, alpha, 3, plain_length=True), CPU, wanted=wanted)
        for source, hypotheses in zip(SOURCES, found, strict=True):
            expected = brute_force(model, source, 3, lambda length: length**alpha)[:wanted]
            assert all(close(one, other) for one, other in zip(hypotheses, expected, strict=True))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_beam_of_one_is_greedy(alpha: float) -> None:
    for seed in range(10):
        model = Fake(seed)
        greedy = greedy_search(model, SOURCES, settings(1, alpha, 6), CPU)
        found = beam_search(model, SOURCES, settings(1, alpha, 6), CPU)
        assert all(close(one[0], other) for one, other in zip(found, greedy, strict=True))
        assert all(len(one) == 1 for one in found)


def test_greedy_takes_the_most_probable_piece_each_time() -> None:
    model = Fake(3, end=-1.0)
    for source, found in zip(SOURCES, greedy_search(model, SOURCES, settings(1, 1.0, 5), CPU), strict=True):
        read: tuple[int, ...] = (BEGIN,)
        for piece in (*found.pieces, END)[:5]:
            logits_V = model.logits((*source, END), read)
            assert piece == max((END, *WORDS), key=lambda one: float(logits_V[one]))
            read = (*read, piece)
        assert found.log_probability == pytest.approx(model.log_probability(source, found.pieces), abs=1e-4)


@pytest.mark.parametrize("attention", KINDS, ids=str)
def test_a_beam_of_one_is_greedy_for_every_attention(attention: dict[str, object]) -> None:
    model = tiny_model(attention)
    greedy = greedy_search(model, SOURCES, settings(1, 1.0, 12), CPU)
    found = beam_search(model, SOURCES, settings(1, 1.0, 12), CPU)
    assert all(close(one[0], other) for one, other in zip(found, greedy, strict=True))


@pytest.mark.parametrize("width", [1, 2, 3, 5, 9])
def test_hypotheses_are_sorted_different_and_scored_as_defined(width: int) -> None:
    for seed in range(5):
        model = Fake(seed)
        for source, found in zip(
            SOURCES, beam_search(model, SOURCES, settings(width, 0.8, 5), CPU, wanted=width), strict=True
        ):
            scores = [hypothesis.score for hypothesis in found]
            assert scores == sorted(scores, reverse=True)
            assert len({hypothesis.pieces for hypothesis in found}) == len(found) == width
            for hypothesis in found:
                total = model.log_probability(source, hypothesis.pieces)
                assert hypothesis.log_probability == pytest.approx(total, abs=1e-4)
                assert hypothesis.score == pytest.approx(total / ((6 + len(hypothesis.pieces)) / 6) ** 0.8, abs=1e-4)


GROUPS = {"beam_groups": 2, "diversity_penalty": 0.8}
plain_and_in_groups = pytest.mark.parametrize("groups", [{}, GROUPS], ids=["plain", "groups"])


@plain_and_in_groups
@pytest.mark.parametrize("attention", KINDS, ids=str)
def test_scores_agree_with_forced_decoding(attention: dict[str, object], groups: dict[str, Any]) -> None:
    model, asked = tiny_model(attention), settings(4, 1.0, 9, **groups)
    for source, found in zip(SOURCES, beam_search(model, SOURCES, asked, CPU, wanted=4), strict=True):
        for hypothesis in found:
            total = forced_total(model, source, hypothesis.pieces)
            assert hypothesis.log_probability == pytest.approx(total, rel=1e-5, abs=1e-4)
            assert hypothesis.score == pytest.approx(
                total / length_penalty(len(hypothesis.pieces) + 1, 1.0), rel=1e-5, abs=1e-4
            )


@pytest.mark.parametrize(("width", "groups"), [(1, {}), (4, {}), (4, GROUPS)], ids=["greedy", "plain", "groups"])
@pytest.mark.parametrize("attention", KINDS, ids=str)
def test_neighbours_change_nothing(attention: dict[str, object], width: int, groups: dict[str, Any]) -> None:
    model = tiny_model(attention, seed=2)
    asked = SearchSettings(beam=width, length_penalty=1.0, max_length_ratio=1.5, max_length_add=4, **groups)
    sources = [*SOURCES, (7, 8, 9, 10, 11) * 4, (11,), (10, 9)]

    def search(batch: Sequence[tuple[int, ...]]) -> list[list[Hypothesis]]:
        if width == 1:
            return [[found] for found in greedy_search(model, batch, asked, CPU)]
        return beam_search(model, batch, asked, CPU, wanted=width)

    def agree(found: list[list[Hypothesis]], wanted: list[list[Hypothesis]]) -> bool:
        pairs = [pair for several in zip(found, wanted, strict=True) for pair in zip(*several, strict=True)]
        return all(close(one, other) for one, other in pairs)

    alone = [search([source])[0] for source in sources]
    assert agree(search(sources), alone)
    assert agree(search(sources[::-1])[::-1], alone)
    assert agree(search([sources[1], sources[4], sources[1]]), [alone[index] for index in (1, 4, 1)])


@plain_and_in_groups
def test_the_best_is_the_same_however_many_are_wanted(groups: dict[str, Any]) -> None:
    for seed in range(12):
        model = Fake(seed, end=float(seed % 4) - 1.0)
        asked = settings(6, ALPHAS[seed % 4], 7, **groups)
        best = [beam_search(model, SOURCES, asked, CPU, wanted=wanted) for wanted in range(1, 7)]
        for wanted, found in enumerate(best, start=1):
            assert all(len(one) == wanted or groups for one in found)
            assert [one[0] for one in found] == [one[0] for one in best[0]]
            assert [one[:wanted] for one in best[-1]] == found


@plain_and_in_groups
@pytest.mark.parametrize("alpha", ALPHAS)
def test_stopping_early_changes_nothing_and_saves_steps(
    alpha: float, groups: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    early, saved, asked = [], 0, settings(4, alpha, 12, **groups)
    for seed in range(15):
        model = Fake(seed, end=1.0)
        early.append(beam_search(model, SOURCES, asked, CPU))
        saved -= model.steps
    monkeypatch.setattr(beam._Sentence, "decided", lambda self, best_live, wanted, settings: best_live == -math.inf)
    for seed in range(15):
        model = Fake(seed, end=1.0)
        assert early[seed] == beam_search(model, SOURCES, asked, CPU)
        saved += model.steps
    # Where length is forgiven that much, one of several groups can always still overtake.
    assert saved > 0 or (groups and alpha == 2.5)


def test_finished_sentences_leave_the_batch() -> None:
    rows = []

    class Counting(Fake):
        def step(self, previous_N: Tensor, state: Read) -> FakeStep:
            rows.append(len(previous_N))
            return super().step(previous_N, state)

    asked = SearchSettings(beam=2, length_penalty=0.0, max_length_ratio=1.0, max_length_add=0)
    greedy_search(Counting(1, end=-50.0), SOURCES, asked, CPU)
    assert rows == [4, 4, 3, 2, 1, 1, 1, 1]
    rows.clear()
    beam_search(Counting(1, end=-50.0), SOURCES, asked, CPU)
    assert rows == [8, 8, 6, 4, 2, 2, 2, 2]


@pytest.mark.parametrize("width", [1, 3])
def test_each_sentence_has_its_own_longest_length(width: int) -> None:
    asked = SearchSettings(beam=width, length_penalty=1.0, max_length_ratio=1.5, max_length_add=1)
    model = Fake(5, end=-50.0)
    found = [one[0] for one in beam_search(model, SOURCES, asked, CPU)]
    if width == 1:
        found = greedy_search(model, SOURCES, asked, CPU)
    assert [len(one.pieces) for one in found] == [2, 5, 4, 11]
    for source, one in zip(SOURCES, found, strict=True):
        assert one.log_probability == pytest.approx(model.log_probability(source, one.pieces), rel=1e-5)
        assert asked.max_length(len(source)) == len(one.pieces)


@pytest.mark.parametrize("never", [PADDING, UNKNOWN, BEGIN])
def test_what_is_no_text_is_never_written(never: int) -> None:
    class Eager(Fake):
        def logits(self, source: tuple[int, ...], prefix: tuple[int, ...]) -> Tensor:
            logits_V = super().logits(source, prefix)
            logits_V[never] += 20.0
            return logits_V

    for found in beam_search(Eager(1), SOURCES, settings(3, 1.0, 4), CPU, wanted=3):
        assert all(set(hypothesis.pieces) <= set(WORDS) for hypothesis in found)
    for hypothesis in greedy_search(Eager(1), SOURCES, settings(1, 1.0, 4), CPU):
        assert set(hypothesis.pieces) <= set(WORDS)


def test_log_probabilities_are_natural_wide_and_leave_the_logits_alone() -> None:
    logits_NV = torch.randn(3, PIECES)
    before = logits_NV.clone()
    scores_NV = log_probabilities(logits_NV)
    assert torch.equal(logits_NV, before)
    torch.testing.assert_close(scores_NV, logits_NV.log_softmax(dim=1))
    assert log_probabilities(logits_NV.bfloat16()).dtype == torch.float32
    assert log_probabilities(logits_NV.double()).dtype == torch.float64


def test_the_length_penalty_by_hand() -> None:
    assert length_penalty(9, 0.5, plain=True) == 3.0
    assert length_penalty(9, 0.0, plain=True) == 1.0
    assert length_penalty(1, 1.0) == 1.0
    assert length_penalty(7, 1.0) == 2.0
    assert length_penalty(19, 0.5) == 2.0
    assert length_penalty(40, 0.0) == 1.0


# What may be written.


def repeats(pieces: tuple[int, ...], size: int) -> bool:
    ngrams = [pieces[start : start + size] for start in range(len(pieces) - size + 1)]
    return len(set(ngrams)) < len(ngrams)


RULES: list[tuple[dict[str, Any], Callable[[tuple[int, ...]], bool]]] = [
    ({"min_length_add": 2}, lambda pieces: len(pieces) >= 2),
    ({"no_repeat_ngram": 1}, lambda pieces: not repeats(pieces, 1)),
    ({"no_repeat_ngram": 2}, lambda pieces: not repeats(pieces, 2)),
    ({"no_repeat_ngram": 1, "min_length_add": 3}, lambda pieces: len(pieces) >= 3 and not repeats(pieces, 1)),
]


@pytest.mark.parametrize(("rule", "allowed"), RULES, ids=lambda value: str(value) if isinstance(value, dict) else "")
def test_the_widest_beam_is_brute_force_over_what_is_allowed(
    rule: dict[str, Any], allowed: Callable[[tuple[int, ...]], bool]
) -> None:
    for seed in range(3):
        model = Fake(seed)
        found = beam_search(model, SOURCES, settings(256, 0.7, 4, **rule), CPU, wanted=256)
        for source, hypotheses in zip(SOURCES, found, strict=True):
            expected = brute_force(model, source, 4, wu(0.7), allowed)
            assert all(close(one, other) for one, other in zip(hypotheses, expected, strict=True))


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize(("rule", "allowed"), RULES, ids=lambda value: str(value) if isinstance(value, dict) else "")
def test_narrow_searches_write_only_what_is_allowed(
    rule: dict[str, Any], allowed: Callable[[tuple[int, ...]], bool], width: int
) -> None:
    model = Fake(2)
    asked = settings(width, 1.0, 3, **rule)
    found = beam_search(model, SOURCES, asked, CPU, wanted=width)
    assert all(allowed(one.pieces) for several in found for one in several)
    if width == 1:
        greedy = greedy_search(model, SOURCES, asked, CPU)
        assert all(close(one[0], other) for one, other in zip(found, greedy, strict=True))


@pytest.mark.parametrize("width", [1, 2, 5])
def test_where_rules_leave_nothing_the_end_may_come_early(width: int) -> None:
    asked = settings(width, 1.0, 9, no_repeat_ngram=1, min_length_add=7)  # three words, and seven are wanted
    for several in beam_search(Fake(1), SOURCES, asked, CPU, wanted=width):
        assert several
        assert all(sorted(one.pieces) == list(WORDS) for one in several)


def test_the_shortest_length_follows_the_source_and_never_passes_the_longest() -> None:
    asked = SearchSettings(3, 1.0, max_length_ratio=2.0, max_length_add=1, min_length_ratio=1.5, min_length_add=4)
    assert [asked.min_length(len(source)) for source in SOURCES] == [3, 7, 5, 14]
    for source, several in zip(SOURCES, beam_search(Fake(1, end=5.0), SOURCES, asked, CPU, wanted=3), strict=True):
        assert all(asked.min_length(len(source)) <= len(one.pieces) <= asked.max_length(len(source)) for one in several)
        assert several[0].log_probability == pytest.approx(
            Fake(1, end=5.0).log_probability(source, several[0].pieces), abs=1e-4
        )


FOLLOWS = torch.ones(PIECES, dtype=torch.bool)


@pytest.mark.parametrize("width", [1, 4])
def test_a_prefix_comes_first_and_the_best_that_goes_on_from_it_follows(width: int) -> None:
    starts = [(4, 4), (), (6,), (5, 6, 5)]
    model, asked = Fake(3), settings(64 if width > 1 else 1, 0.8, 3)
    prefixes = Prefixes(starts, FOLLOWS)
    if width == 1:
        found = [[one] for one in greedy_search(model, SOURCES, asked, CPU, prefixes=prefixes)]
    else:
        found = beam_search(model, SOURCES, asked, CPU, wanted=64, prefixes=prefixes)
    for source, start, several in zip(SOURCES, starts, found, strict=True):
        expected = brute_force(model, source, 3, wu(0.8), lambda pieces: pieces[: len(start)] == start)  # noqa: B023
        assert all(one.pieces[: len(start)] == start for one in several)
        if width > 1:
            assert all(close(one, other) for one, other in zip(several, expected, strict=True))
        assert several[0].log_probability == pytest.approx(model.log_probability(source, several[0].pieces), abs=1e-4)
    free = greedy_search(model, SOURCES, settings(1, 0.8, 3), CPU)[1]
    assert width > 1 or close(found[1][0], free)


def test_a_prefix_is_written_whatever_other_rules_say() -> None:
    start = (UNKNOWN, 5, 5, 5, 5)
    asked = settings(2, 1.0, 3, no_repeat_ngram=1)
    (several,) = beam_search(Fake(1), [(4, 5)], asked, CPU, wanted=2, prefixes=Prefixes([start], FOLLOWS))
    assert [one.pieces for one in several] == [start]  # already beyond the longest length
    assert several[0].log_probability == pytest.approx(Fake(1).log_probability((4, 5), start), abs=1e-4)


def test_after_a_prefix_stands_what_may_follow_it() -> None:
    follows_V = torch.tensor([piece != 4 for piece in range(PIECES)])
    prefixes = Prefixes([(5,), ()], follows_V)
    found = beam_search(Fake(1), [(4, 5)] * 2, settings(64, 1.0, 3), CPU, wanted=64, prefixes=prefixes)
    assert {one.pieces[1:2] for one in found[0]} == {(), (5,), (6,)}
    assert any(one.pieces[2:] == (4,) for one in found[0])  # later, it is a piece like any other
    assert {one.pieces[:1] for one in found[1]} == {(), (4,), (5,), (6,)}


# Sampling.

MANY = 4000


def drawn(model: Any, sources: Sequence[tuple[int, ...]], how: Sampling, lines: Sequence[int], **others: Any) -> Any:
    line_B = seeds(1, torch.tensor(lines))
    return sample_search(model, sources, settings(1, 1.0, 2, **others), CPU, how, line_B)


def test_samples_come_as_often_as_the_model_says() -> None:
    model = Fake(4)
    found = drawn(model, [(5, 6)] * MANY, Sampling(), range(MANY))
    counts = Counter(one.pieces for one in found)
    # Padding, unknown and begin are never drawn, so every step's rest is larger by their share.
    texts = [pieces for length in range(3) for pieces in product(WORDS, repeat=length)]
    shares = [tempered(model, (5, 6), pieces, Sampling()) for pieces in texts]
    assert sum(shares) == pytest.approx(1.0)
    for pieces, share in zip(texts, shares, strict=True):
        deviation = math.sqrt(share * (1 - share) / MANY)
        assert abs(counts[pieces] / MANY - share) < 5 * deviation + 1e-9, pieces
    for one in found[:20]:
        assert one.log_probability == pytest.approx(model.log_probability((5, 6), one.pieces), abs=1e-4)


def tempered(model: Fake, source: tuple[int, ...], pieces: tuple[int, ...], how: Sampling) -> float:
    """The probability that `pieces` are drawn, at most two before the end: step by step, in plain Python."""
    read, share = (BEGIN,), 1.0
    for piece in (*pieces, END):
        logits_V = model.logits((*source, END), read)
        weights = {one: math.exp(float(logits_V[one]) / how.temperature) for one in (END, *WORDS)}
        share *= 1.0 if len(read) == 3 else weights[piece] / sum(weights.values())
        read = (*read, piece)
    return share


def test_temperature_sharpens() -> None:
    model, how = Fake(4), Sampling(temperature=0.5)
    counts = Counter(one.pieces for one in drawn(model, [(5, 6)] * MANY, how, range(MANY)))
    for pieces in ((4,), (5,), (6,), ()):
        share = tempered(model, (5, 6), pieces, how)
        assert abs(counts[pieces] / MANY - share) < 5 * math.sqrt(share * (1 - share) / MANY) + 1e-9
    cold = drawn(model, SOURCES, Sampling(temperature=1e-300), range(4))
    greedy = greedy_search(model, SOURCES, settings(1, 1.0, 2), CPU)
    assert all(close(one, other) for one, other in zip(cold, greedy, strict=True))


def test_what_is_drawn_from_by_hand() -> None:
    scores_NV = torch.tensor([[0.1, 0.4, 0.2, 0.3, 0.0]]).log()
    for how, expected in (
        (Sampling(), [0.1, 0.4, 0.2, 0.3, 0.0]),
        (Sampling(top_k=2), [0.0, 4 / 7, 0.0, 3 / 7, 0.0]),
        (Sampling(top_k=9), [0.1, 0.4, 0.2, 0.3, 0.0]),
        (Sampling(top_p=0.39), [0.0, 1.0, 0.0, 0.0, 0.0]),
        (Sampling(top_p=0.5), [0.0, 4 / 7, 0.0, 3 / 7, 0.0]),
        (Sampling(top_p=0.85), [0.0, 4 / 9, 2 / 9, 3 / 9, 0.0]),
        (Sampling(top_p=1.0), [0.1, 0.4, 0.2, 0.3, 0.0]),
        (Sampling(top_k=3, top_p=0.5), [0.0, 4 / 7, 0.0, 3 / 7, 0.0]),
        (Sampling(temperature=0.5), [1 / 30, 16 / 30, 4 / 30, 9 / 30, 0.0]),
        (Sampling(temperature=0.5, top_p=0.6), [0.0, 16 / 25, 0.0, 9 / 25, 0.0]),
        (Sampling(top_k=1), [0.0, 1.0, 0.0, 0.0, 0.0]),
    ):
        torch.testing.assert_close(distribution(scores_NV, how), torch.tensor([expected]).double())
    equal_NV = distribution(torch.zeros(1, 6), Sampling(top_k=2))
    assert equal_NV.count_nonzero() == 2  # of equals no more than were asked for


@pytest.mark.parametrize("attention", KINDS, ids=str)
def test_neighbours_and_batches_draw_nothing_else(attention: dict[str, object]) -> None:
    model, how = tiny_model(attention), Sampling(temperature=6.0, top_p=0.95)
    sources = [*SOURCES, (9, 9, 8), (10,)]
    alone = [drawn(model, [source], how, [line])[0] for line, source in enumerate(sources)]
    assert all(close(one, other) for one, other in zip(drawn(model, sources, how, range(6)), alone, strict=True))
    some = drawn(model, [sources[3], sources[0]], how, [3, 0])
    assert close(some[0], alone[3])
    assert close(some[1], alone[0])
    again = drawn(model, [sources[3]] * 30, how, range(30))
    assert len({one.pieces for one in again}) > 5


def test_samples_obey_the_rules() -> None:
    for one in drawn(Fake(1), [(4,)] * 200, Sampling(temperature=3.0), range(200), min_length_add=1, no_repeat_ngram=1):
        assert len(one.pieces) >= 1
        assert not repeats(one.pieces, 1)
        assert set(one.pieces) <= set(WORDS)


# Text in, text out.


@pytest.fixture(scope="module")
def translator(tokenizer: Tokenizer) -> Callable[..., Translator]:
    """A function that makes translators: one random model, which writes at most three pieces more than it reads."""
    model = tiny_model({"type": "bahdanau"}, vocabulary=len(tokenizer), seed=3)

    def make(width: int = 2, batch_size: int = 4, ratio: float = 1.0) -> Translator:
        asked = SearchSettings(beam=width, length_penalty=1.0, max_length_ratio=ratio, max_length_add=3)
        return Translator(model, tokenizer, tokenizer, asked, batch_size=batch_size, device=CPU)

    return make


LINES = ["the cat sees a house .", "", "Anna buys bread .", "a child", "   ", "my father paints two trees . " * 3, "a"]


def test_lines_come_back_in_order_one_for_one(translator: Callable[..., Translator]) -> None:
    found = translator().translate(LINES)
    assert [one.source for one in found] == LINES
    for line, one in zip(LINES, found, strict=True):
        assert one.texts == translator().translate([line])[0].texts
        assert len(one.texts) == len(one.hypotheses) == 1
    assert translator().translate([]) == []


@pytest.mark.parametrize("width", [1, 3])
def test_batch_size_and_order_change_no_text(translator: Callable[..., Translator], width: int) -> None:
    found = {line: translator(width).translate([line])[0] for line in LINES}
    for batch_size in (1, 2, 3, 100):
        for lines in (LINES, LINES[::-1]):
            for one in translator(width, batch_size).translate(lines):
                assert one.texts == found[one.source].texts
                score = found[one.source].hypotheses[0].score
                assert one.hypotheses[0].score == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("line", ["", " ", "\t\u3000 ", "\u200b", "\u200b \ufeff", "\r"])
def test_a_line_with_nothing_to_translate_stays_blank(
    translator: Callable[..., Translator], line: str, width: int
) -> None:
    found = translator(width).translate([line, "a cat", line], wanted=2 if width > 1 else 1)
    for one in (found[0], found[2]):
        assert (one.source, one.texts, one.source_pieces) == (line, ("",), ())
        assert one.hypotheses == (Hypothesis((), 0.0, 0.0),)
    assert found[1].texts == translator(width).translate(["a cat"], wanted=2 if width > 1 else 1)[0].texts


@pytest.mark.parametrize(
    "line", ["😀", "the 😀 sees 猫", "e\u0301", "a\u2028b", "\U0001f468\u200d\U0001f469", "<s> </s> <pad>"]
)
def test_whatever_stands_in_a_line_is_translated(translator: Callable[..., Translator], line: str) -> None:
    found = translator().translate([line])[0]
    assert found.source_pieces
    assert math.isfinite(found.hypotheses[0].score)
    assert "\n" not in found.texts[0]


@pytest.mark.parametrize("width", [1, 2])
def test_a_very_long_line(translator: Callable[..., Translator], width: int) -> None:
    line = " ".join(["the cat sees two green trees"] * 167)
    assert len(line.split()) > 1000
    found = translator(width, ratio=0.05).translate(["a cat", line])
    assert len(found[1].source_pieces) > 1000
    assert math.isfinite(found[1].hypotheses[0].score)
    assert found[0].texts == translator(width, ratio=0.05).translate(["a cat"])[0].texts


def test_the_text_is_that_of_the_pieces(translator: Callable[..., Translator], tokenizer: Tokenizer) -> None:
    for one in translator(3).translate(LINES, wanted=3):
        assert one.texts == tuple(tokenizer.decode(hypothesis.pieces) for hypothesis in one.hypotheses)
        assert one.source_pieces == tokenizer.encode(one.source).numbers
    full = translator(3).translate(["a cat"], wanted=3)[0]
    assert len(full.texts) == 3


class Watched:
    """Lines that know how many of them have been taken."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.read = 0

    def __iter__(self) -> Iterator[str]:
        for number in range(self.count):
            self.read += 1
            yield LINES[number % len(LINES)]


@pytest.mark.parametrize("read_ahead", [None, 1, 3])
def test_a_stream_keeps_order_and_answers_while_lines_are_coming(
    translator: Callable[..., Translator], read_ahead: int | None
) -> None:
    lines = Watched(40)
    chunks = translator(batch_size=2).chunks(lines, read_ahead=read_ahead)
    assert lines.read == 0
    first = next(chunks)
    assert lines.read == len(first) == (read_ahead or 16)
    found = [*first, *(one for chunk in chunks for one in chunk)]
    assert [one.source for one in found] == [LINES[number % len(LINES)] for number in range(40)]
    expected = {one.source: one.texts for one in translator().translate(LINES)}
    assert all(one.texts == expected[one.source] for one in found)


def test_a_stream_without_lines_is_empty(translator: Callable[..., Translator]) -> None:
    assert list(translator().chunks([])) == []


def test_translating_switches_dropout_off(translator: Callable[..., Translator]) -> None:
    made = translator()
    assert not made.model.training


def test_probabilities_that_are_no_numbers_end_the_search() -> None:
    class Broken(Fake):
        def logits(self, source: tuple[int, ...], prefix: tuple[int, ...]) -> Tensor:
            return super().logits(source, prefix) * (math.nan if len(prefix) == 3 else 1.0)

    with pytest.raises(CheckpointError, match="the model's probabilities are no numbers"):
        beam_search(Broken(1), SOURCES, settings(3, 1.0, 8), CPU)
