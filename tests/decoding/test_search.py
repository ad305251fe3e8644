"""Search: against brute force on a tiny vocabulary, and as people meet it, text in and text out."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

import pytest
import torch
from torch import Tensor

from nmt.attention import ATTENTIONS
from nmt.attention.scores import SCORES
from nmt.config.model import ModelSection
from nmt.data.batching import Example
from nmt.data.tokenizer import BEGIN, END, PADDING, UNKNOWN, Tokenizer
from nmt.decoding import beam
from nmt.decoding.beam import beam_search
from nmt.decoding.forced import forced_decode
from nmt.decoding.greedy import greedy_search
from nmt.decoding.search import Hypothesis, SearchSettings, length_penalty, log_probabilities
from nmt.decoding.translate import Translator
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq

CPU = torch.device("cpu")
WORDS = (4, 5, 6)
PIECES = 7
ALPHAS = (0.0, 0.6, 1.0, 2.5)
KINDS: list[dict[str, object]] = [
    *({"type": kind} for kind in ATTENTIONS),
    *({"type": "luong", "score": score} for score in SCORES),
    {"type": "luong", "input_feeding": False},
]
SOURCES: list[tuple[int, ...]] = [(4,), (5, 6, 4), (6, 6), (4, 5, 6, 4, 5, 6, 5)]


@dataclass(frozen=True)
class Prefixes:
    """The state of the fake model: each hypothesis's source and what it has read so far."""

    rows: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

    def reorder(self, index_N: Tensor, *, within: bool = False) -> "Prefixes":
        return Prefixes(tuple(self.rows[index] for index in index_N.tolist()))


@dataclass(frozen=True)
class FakeStep:
    logits_NV: Tensor
    state: Prefixes


class Fake:
    """A model whose next piece depends on source and prefix by a random table; `end` makes the end more probable."""

    def __init__(self, seed: int, *, end: float = 0.0) -> None:
        self.seed = seed
        self.end = end
        self.steps = 0

    def logits(self, source: tuple[int, ...], prefix: tuple[int, ...]) -> Tensor:
        table = random.Random(repr((self.seed, source, prefix)))
        logits_V = torch.tensor([table.gauss(0.0, 1.5) for _ in range(PIECES)], dtype=torch.float64)
        logits_V[END] += self.end
        return logits_V

    def start(self, source_BS: Tensor, mask_BS: Tensor, seed_B: Tensor | None = None) -> Prefixes:
        rows = zip(source_BS, mask_BS, strict=True)
        return Prefixes(tuple((tuple(source[mask].tolist()), ()) for source, mask in rows))

    def step(self, previous_N: Tensor, state: Prefixes) -> FakeStep:
        self.steps += 1
        rows = tuple(
            (source, (*prefix, piece)) for (source, prefix), piece in zip(state.rows, previous_N.tolist(), strict=True)
        )
        return FakeStep(torch.stack([self.logits(*row) for row in rows]), Prefixes(rows))

    def log_probability(self, source: tuple[int, ...], pieces: tuple[int, ...]) -> float:
        """Of a translation and its end, straight from the tables."""
        read, total = (BEGIN,), 0.0
        for piece in (*pieces, END):
            total += float(torch.log_softmax(self.logits((*source, END), read), dim=0)[piece])
            read = (*read, piece)
        return total


def settings(width: int, alpha: float, longest: int) -> SearchSettings:
    """At most `longest` pieces, whatever the source."""
    return SearchSettings(beam=width, length_penalty=alpha, max_length_ratio=0.0, max_length_add=longest)


def brute_force(model: Fake, source: tuple[int, ...], longest: int, alpha: float) -> list[Hypothesis]:
    """Every translation of at most `longest` pieces, best first."""
    found = []
    for length in range(longest + 1):
        for pieces in product(WORDS, repeat=length):
            total = model.log_probability(source, pieces)
            found.append(Hypothesis(pieces, total, total / ((5 + length + 1) / 6) ** alpha))
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


def close(found: Hypothesis, wanted: Hypothesis) -> bool:
    return (
        found.pieces == wanted.pieces
        and found.log_probability == pytest.approx(wanted.log_probability, abs=1e-4)
        and found.score == pytest.approx(wanted.score, abs=1e-4)
    )


def tiny_model(attention: dict[str, object], vocabulary: int = 12, seed: int = 1) -> Seq2Seq:
    """A random model whose choices are clear: large weights, and no bias or padding embedding that is zero."""
    torch.manual_seed(seed)
    plain = {"embedding": 16, "encoder": {"hidden": 16}, "decoder": {"hidden": 16, "layers": 2}, "attention": attention}
    section = ModelSection.model_validate(plain)
    model = build_model(section, source_vocabulary=vocabulary, target_vocabulary=vocabulary, shared=True).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0).add_(torch.randn_like(parameter), alpha=0.3)
    return model


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
        wanted = brute_force(model, source, longest, alpha)
        assert len(hypotheses) == len(wanted) == 40
        assert all(close(one, other) for one, other in zip(hypotheses, wanted, strict=True))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_best_of_the_widest_beam_is_the_best_of_all_with_early_stopping(alpha: float) -> None:
    for seed in range(8):
        model = Fake(seed, end=float(seed % 3))
        found = beam_search(model, SOURCES, settings(64, alpha, 3), CPU)
        for source, hypotheses in zip(SOURCES, found, strict=True):
            assert close(hypotheses[0], brute_force(model, source, 3, alpha)[0])


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


@pytest.mark.parametrize("attention", KINDS, ids=str)
def test_scores_agree_with_forced_decoding(attention: dict[str, object]) -> None:
    model = tiny_model(attention)
    for source, found in zip(SOURCES, beam_search(model, SOURCES, settings(4, 1.0, 9), CPU, wanted=4), strict=True):
        for hypothesis in found:
            total = forced_total(model, source, hypothesis.pieces)
            assert hypothesis.log_probability == pytest.approx(total, rel=1e-5, abs=1e-4)
            assert hypothesis.score == pytest.approx(
                total / length_penalty(len(hypothesis.pieces) + 1, 1.0), rel=1e-5, abs=1e-4
            )


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("attention", KINDS, ids=str)
def test_neighbours_change_nothing(attention: dict[str, object], width: int) -> None:
    model = tiny_model(attention, seed=2)
    asked = SearchSettings(beam=width, length_penalty=1.0, max_length_ratio=1.5, max_length_add=4)
    sources = [*SOURCES, (7, 8, 9, 10, 11) * 4, (11,), (10, 9)]

    def search(batch: Sequence[tuple[int, ...]]) -> list[Hypothesis]:
        if width == 1:
            return greedy_search(model, batch, asked, CPU)
        return [found[0] for found in beam_search(model, batch, asked, CPU)]

    alone = [search([source])[0] for source in sources]
    assert all(close(one, other) for one, other in zip(search(sources), alone, strict=True))
    backwards = search(sources[::-1])[::-1]
    assert all(close(one, other) for one, other in zip(backwards, alone, strict=True))
    twice = search([sources[1], sources[4], sources[1]])
    assert all(close(one, alone[index]) for one, index in zip(twice, (1, 4, 1), strict=True))


def test_the_best_is_the_same_however_many_are_wanted() -> None:
    for seed in range(12):
        model = Fake(seed, end=float(seed % 4) - 1.0)
        asked = settings(6, ALPHAS[seed % 4], 7)
        best = [beam_search(model, SOURCES, asked, CPU, wanted=wanted) for wanted in range(1, 7)]
        for wanted, found in enumerate(best, start=1):
            assert all(len(one) == wanted for one in found)
            assert [one[0] for one in found] == [one[0] for one in best[0]]
            assert [one[:wanted] for one in best[-1]] == found


@pytest.mark.parametrize("alpha", ALPHAS)
def test_stopping_early_changes_nothing_and_saves_steps(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    early, saved = [], 0
    for seed in range(15):
        model = Fake(seed, end=1.0)
        early.append(beam_search(model, SOURCES, settings(4, alpha, 12), CPU))
        saved -= model.steps
    monkeypatch.setattr(beam._Sentence, "decided", lambda self, best_live, wanted, alpha: False)
    for seed in range(15):
        model = Fake(seed, end=1.0)
        assert early[seed] == beam_search(model, SOURCES, settings(4, alpha, 12), CPU)
        saved += model.steps
    assert saved > 0


def test_finished_sentences_leave_the_batch() -> None:
    rows = []

    class Counting(Fake):
        def step(self, previous_N: Tensor, state: Prefixes) -> FakeStep:
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
    torch.testing.assert_close(scores_NV[:, END:], logits_NV.log_softmax(dim=1)[:, END:])
    assert scores_NV[:, [PADDING, UNKNOWN, BEGIN]].eq(-math.inf).all()
    assert log_probabilities(logits_NV.bfloat16()).dtype == torch.float32
    assert log_probabilities(logits_NV.double()).dtype == torch.float64


def test_the_length_penalty_by_hand() -> None:
    assert length_penalty(1, 1.0) == 1.0
    assert length_penalty(7, 1.0) == 2.0
    assert length_penalty(19, 0.5) == 2.0
    assert length_penalty(40, 0.0) == 1.0


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
    stream = translator(batch_size=2).stream(lines, read_ahead=read_ahead)
    assert lines.read == 0
    first = next(stream)
    assert lines.read == (read_ahead or 16)
    rest = list(islice(stream, (read_ahead or 16) - 1))
    assert lines.read == (read_ahead or 16)
    found = [first, *rest, *stream]
    assert [one.source for one in found] == [LINES[number % len(LINES)] for number in range(40)]
    expected = {one.source: one.texts for one in translator().translate(LINES)}
    assert all(one.texts == expected[one.source] for one in found)


def test_a_stream_without_lines_is_empty(translator: Callable[..., Translator]) -> None:
    assert list(translator().stream([])) == []


def test_translating_switches_dropout_off(translator: Callable[..., Translator]) -> None:
    made = translator()
    assert not made.model.training
