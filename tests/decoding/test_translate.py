"""From lines to texts: distinct n-best lists, prefixes as words, long lines in parts."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from nmt.data.batching import Example
from nmt.data.tokenizer import BEGIN, END, Tokenizer
from nmt.decoding.forced import forced_decode
from nmt.decoding.sample import Sampling
from nmt.decoding.search import SearchSettings
from nmt.decoding.translate import Translator
from nmt.errors import ConfigError
from nmt.experiment.run import Run, check_ensemble, document_run

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Table:
    """The state of a model that knows the last piece alone, so there is nothing to reorder."""

    def reorder(self, index_N: Tensor, *, within: bool = False) -> "Table":
        return self


@dataclass(frozen=True)
class TableStep:
    logits_NV: Tensor
    state: Table


class Chain:
    """A model whose next piece depends on the last one alone, by given probabilities."""

    def __init__(self, vocabulary: int, after: dict[int, dict[int, float]]) -> None:
        self.rows_VV = torch.full((vocabulary, vocabulary), 1e-6)
        for last, following in after.items():
            for piece, probability in following.items():
                self.rows_VV[last, piece] = probability

    def eval(self) -> "Chain":
        return self

    def start(self, source_BS: Tensor, mask_BS: Tensor, seed_B: Tensor | None = None) -> Table:
        return Table()

    def step(self, previous_N: Tensor, state: Table) -> TableStep:
        return TableStep(self.rows_VV[previous_N].log(), state)


def split_piece(tokenizer: Tokenizer) -> tuple[int, int, int]:
    """A piece, and two others whose text together is the same."""
    processor = tokenizer._processor
    for number in range(END + 1, len(tokenizer)):
        text = processor.id_to_piece(number)
        for place in range(2, len(text)):
            halves = processor.piece_to_id(text[:place]), processor.piece_to_id(text[place:])
            if text.startswith("▁") and min(halves) > END:
                return number, *halves
    raise AssertionError("no such piece")


def translator(model: Any, tokenizer: Tokenizer, width: int = 4, **others: Any) -> Translator:
    asked = SearchSettings(beam=width, length_penalty=0.0, max_length_ratio=1.0, max_length_add=5)
    return Translator(model, tokenizer, tokenizer, asked, batch_size=4, device=CPU, **others)


@pytest.mark.parametrize("whole", [0.5, 0.3])
def test_of_two_segmentations_of_one_text_the_better_stays(tokenizer: Tokenizer, whole: float) -> None:
    piece, left, right = split_piece(tokenizer)
    other = next(number for number in range(4, 30) if number not in (piece, left, right))
    after = {BEGIN: {piece: whole, left: 0.4, other: 0.1}, left: {right: 0.99}}
    model = Chain(len(tokenizer), {**after, piece: {END: 0.99}, right: {END: 0.99}, other: {END: 0.99}})
    (found,) = translator(model, tokenizer).translate(["the cat"], wanted=3)
    assert len(found.texts) == len(set(found.texts)) == 3
    text = tokenizer.decode([piece])
    assert found.texts[0] == text == tokenizer.decode([left, right])
    assert found.hypotheses[0].pieces == ((piece,) if whole > 0.4 else (left, right))
    assert found.texts[1] == tokenizer.decode([other])


@pytest.mark.parametrize("groups", [1, 2])
def test_fewer_differ_than_were_asked_for(tokenizer: Tokenizer, groups: int) -> None:
    piece, left, right = split_piece(tokenizer)
    after = {BEGIN: {piece: 0.5, left: 0.4}, left: {right: 1.0}, piece: {END: 1.0}, right: {END: 1.0}}
    made = translator(Chain(len(tokenizer), after), tokenizer, width=2)
    # The second of two groups writes the same text, in other pieces.
    made.settings = replace(made.settings, beam_groups=groups, diversity_penalty=3.0)
    (found,) = made.translate(["the cat"], wanted=2)
    assert found.texts == (tokenizer.decode([piece]),)


def test_more_than_the_beam_is_refused(opened: Run) -> None:
    with pytest.raises(ConfigError, match="3 translations of a line were asked for, but the beam is 2"):
        opened.translator({"beam": 2}).translate(["the cat"], wanted=3)


GROUPS = {"beam_groups": 2, "diversity_penalty": 0.7}


@pytest.mark.parametrize("groups", [{}, GROUPS], ids=["plain", "groups"])
def test_the_best_is_the_same_however_many_are_wanted(opened: Run, corpus: Any, groups: dict[str, float]) -> None:
    lines = corpus.lines("test.en")
    made = opened.translator({"beam": 6, "length_penalty": 0.3, **groups})
    first = [(one.texts[0], one.hypotheses[0]) for one in made.translate(lines)]
    for wanted in (2, 6):
        found = made.translate(lines, wanted)
        assert [(one.texts[0], one.hypotheses[0]) for one in found] == first
        for one in found:
            assert len(set(one.texts)) == len(one.texts)
            assert all(better.score >= worse.score for better, worse in pairwise(one.hypotheses))


@pytest.mark.parametrize("groups", [{}, GROUPS], ids=["plain", "groups"])
def test_pieces_have_the_log_probability_of_a_forced_pass(opened: Run, corpus: Any, groups: dict[str, float]) -> None:
    changes = {"beam": 4, "no_repeat_ngram": 2, "min_length_add": 3, "coverage_penalty": 0.3, **groups}
    for found in opened.translator(changes).translate(corpus.lines("test.en")[:4], wanted=4):
        for one in found.hypotheses:
            pair = Example(found.source_pieces, one.pieces)
            (forced,) = forced_decode(opened.model, [pair], batch_size=1, device=CPU)
            assert one.log_probability == pytest.approx(float(forced.log_probabilities.sum()), abs=1e-4)
            weights_TS = forced.weights[0].mean(axis=0)
            missing = sum(torch.tensor(min(float(weights_TS[:, s].sum()), 1.0)).log() for s in range(len(pair.source)))
            total = one.log_probability / ((5 + len(one.pieces) + 1) / 6)
            assert one.score == pytest.approx(total + 0.3 * float(missing), abs=1e-4)


# Prefixes.


@pytest.mark.parametrize(("width", "groups"), [(1, {}), (3, {}), (4, GROUPS)], ids=["greedy", "plain", "groups"])
def test_translations_begin_with_the_given_words(
    opened: Run, corpus: Any, width: int, groups: dict[str, float]
) -> None:
    lines = corpus.lines("test.en")
    starts = ["ein Kind", "", "  Anna  malt ", "das", "Ungeheuerlich 猫", "die Katze", " ", "mein"][: len(lines)]
    made = opened.translator({"beam": width, **groups})
    found = made.translate(lines[: len(starts)], wanted=width, prefixes=starts)
    free = made.translate(lines[: len(starts)], wanted=width)
    for start, one, other in zip(starts, found, free, strict=True):
        words = start.split()
        assert all(text.startswith(" ".join(words)) for text in one.texts)
        assert all(text.split()[: len(words)] == words for text in one.texts)
        if not words:
            assert one.texts == other.texts
    for start, line, one in zip(starts, lines, found, strict=False):
        assert made.translate([line], wanted=width, prefixes=[start])[0].texts == one.texts


def test_a_prefix_of_a_blank_line_is_not_translated_either(opened: Run) -> None:
    assert opened.translator().translate([" "], prefixes=["das Haus"])[0].texts == ("",)


# Lines that are too long.


@pytest.fixture
def warned() -> Callable[..., list[str]]:
    def call(made: Translator, lines: list[str], **others: Any) -> tuple[Any, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = made.translate(lines, **others)
        return found, [str(one.message) for one in caught]

    return call  # type: ignore[return-value]


def test_a_line_beyond_the_limit_is_translated_in_parts_and_named(opened: Run, warned: Any) -> None:
    sentence = "The cat sees a house ."
    made = opened.translator()
    made.longest = 2 * len(opened.source.encode(sentence).numbers) + 2  # two would fit
    found, messages = warned(made, ["Anna buys bread .", f"{sentence} " * 3], first=10)
    (single,) = made.translate([sentence])
    assert found[1].texts == (" ".join([single.texts[0]] * 3),)
    assert found[1].hypotheses[0].pieces == single.hypotheses[0].pieces * 3
    assert found[1].hypotheses[0].score == pytest.approx(3 * single.hypotheses[0].score, abs=1e-3)
    assert len(messages) == 1
    assert messages[0].startswith("line 12: its ")
    assert "in 3 parts" in messages[0]
    assert found[0].texts == made.translate(["Anna buys bread ."])[0].texts


@pytest.mark.parametrize("line", ["the cat sees two trees . " * 500, "a" * 3000, "\u200b 😀" * 1500], ids=len)
def test_thousands_of_pieces_are_no_matter(opened: Run, warned: Any, line: str) -> None:
    assert len(opened.source.encode(line).numbers) > 1000
    ((found,), messages) = warned(opened.translator({"beam": 1, "max_length_ratio": 0.1}), [line])
    assert "\n" not in found.texts[0]
    assert len(messages) == 1
    assert found.source_pieces == opened.source.encode(line).numbers


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ((), 100),
        (("data.max_length=30",), 30),
        (("model.encoder={type: transformer, hidden: 16, heads: 2, positions: learned, max_positions: 40}",), 39),
        (("model.encoder={type: transformer, hidden: 16, heads: 2}",), 100),
        (("model.encoder={type: conv, hidden: 16, positions: learned, max_positions: 40}",), 39),
        (("model.attention={type: luong, score: location, max_source_positions: 50}",), 49),
        (("model.attention={type: luong, max_source_positions: 50}",), 100),
    ],
)
def test_the_limit_is_what_training_had_or_the_model_can_tell_apart(
    opened: Run, tiny_config: Any, changes: tuple[str, ...], limit: int
) -> None:
    run = replace(opened, config=tiny_config(*changes))
    assert run.longest_source == run.translator().longest == limit


def test_members_of_an_ensemble_look_at_one_number_of_sentences_or_at_none(opened: Run, tiny_config: Any) -> None:
    two, three = (
        replace(opened, config=tiny_config("model.context={type: hierarchical}", f"data.document_context={count}"))
        for count in (2, 3)
    )
    check_ensemble([opened, two, two])
    assert document_run([opened, two]) is two
    with pytest.raises(ConfigError, match=r"different data.document_context \(2, 3\)"):
        check_ensemble([opened, two, three])


def test_parts_are_drawn_each_by_itself(opened: Run, warned: Any) -> None:
    made = opened.translator(sampling=Sampling(temperature=2.0))
    made.longest = 12
    (found, again), _ = warned(made, ["the cat sees a house . " * 6] * 2)
    assert found.texts != again.texts
    assert warned(made, ["a", "the cat sees a house . " * 6])[0][1].texts == again.texts
    (parts,) = {len(found.source_pieces) // 12 + 1} - {1}
    assert parts > 2
