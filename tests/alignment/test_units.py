"""Which piece belongs to which word, and weights between words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.alignment.units import Units, linked_pieces, pool_units, units_of
from nmt.data.tokenizer import Tokenizer, train_tokenizer

LINE = "un happy  cats"
# un|hap|py, then the two spaces with what follows, as SentencePiece gives them.
SPANS = [(0, 2), (2, 6), (6, 8), (8, 13), (13, 14)]
PIECES = ["▁un", "▁hap", "py", "▁cat", "s"]

HAND = np.array(
    # un    hap   py    cat   s     end
    [
        [0.10, 0.20, 0.30, 0.10, 0.05, 0.25],  # die
        [0.00, 0.40, 0.20, 0.10, 0.10, 0.20],  # Kat
        [0.20, 0.00, 0.00, 0.50, 0.30, 0.00],  # zen
        [0.05, 0.05, 0.10, 0.10, 0.00, 0.70],  # end
    ],
    dtype=np.float32,
)
TARGET = Units(("die", "Katzen"), ((0,), (1,), (1,)))


def test_words_are_what_split_gives_and_pieces_belong_by_place() -> None:
    assert units_of(LINE, PIECES, SPANS, "word") == Units(("un", "happy", "cats"), ((0,), (1,), (1,), (2,), (2,)))


def test_characters_are_those_that_can_be_seen() -> None:
    units = units_of("ab  c", ["▁ab", "▁", "c"], [(0, 2), (2, 4), (4, 5)], "character")
    assert units == Units(("a", "b", "c"), ((0, 1), (2,), (2,)))
    assert units_of("猫は", ["猫", "は"], [(0, 1), (1, 2)], "character") == Units(("猫", "は"), ((0,), (1,)))


def test_pieces_stand_for_themselves() -> None:
    assert units_of(LINE, PIECES, SPANS, "piece") == Units(tuple(PIECES), ((0,), (1,), (2,), (3,), (4,)))


def test_a_lone_word_boundary_belongs_to_the_word_after_it() -> None:
    spans = [(0, 0), (0, 2), (2, 3), (3, 5), (5, 7)]
    assert units_of("ab cd  ", ["▁", "ab", "▁", "cd", "▁"], spans, "word") == Units(
        ("ab", "cd"), ((0,), (0,), (1,), (1,), (1,))
    )


def test_a_piece_may_cover_several_words() -> None:
    assert units_of("in front of it", ["▁in▁front▁of", "▁it"], [(0, 11), (11, 14)], "word").owners == ((0, 1, 2), (3,))
    assert units_of("a b", ["▁a▁", "b"], [(0, 2), (2, 3)], "word").owners == ((0,), (1,))


@pytest.mark.parametrize("space", ["\u3000", "\u00a0", "\u2028", "\t", "\x85", "\f"])
def test_words_are_those_of_split_whatever_the_space(space: str) -> None:
    line = f"ab{space}cd"
    assert units_of(line, ["▁ab", "▁cd"], [(0, 2), (2, 5)], "word") == Units(tuple(line.split()), ((0,), (1,)))


@pytest.mark.parametrize("unit", ["word", "character", "piece"])
def test_a_line_without_text_has_no_units(unit: str) -> None:
    assert units_of("", [], [], unit) == Units((), ())
    assert units_of("  ", [], [], unit) == Units((), ())


def test_pieces_of_a_text_without_words_belong_to_none() -> None:
    assert units_of(" ", ["▁"], [(0, 1)], "word") == Units((), ((),))
    pooled = pool_units(np.ones((2, 2), dtype=np.float32), Units((), ((),)), Units((), ((),)))
    assert pooled.shape == (0, 0)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char", "word"])
@settings(max_examples=40, deadline=None)
@given(
    words=st.lists(st.sampled_from(["ab", "abc", "x", "größer", "猫", "zzzz"]), min_size=1, max_size=6), gap=st.data()
)
def test_every_piece_of_a_real_tokenizer_belongs_to_the_words_it_shows(
    words: list[str], gap: st.DataObject, kind: str
) -> None:
    gaps = gap.draw(st.lists(st.sampled_from([" ", "  ", "\u3000", "\t"]), min_size=len(words), max_size=len(words)))
    line = "".join(word + space for word, space in zip(words, gaps, strict=True))
    pieces = LEARNT[kind].encode(line)
    units = units_of(line, pieces.texts, pieces.spans, "word")
    assert units.labels == tuple(line.split())
    assert {unit for owners in units.owners for unit in owners} == set(range(len(words)))
    firsts = [owners[0] for owners in units.owners]
    assert firsts == sorted(firsts)
    for text, owners in zip(pieces.texts, units.owners, strict=True):
        shown = text.replace("▁", "")
        assert shown in "".join(units.labels[unit] for unit in owners)
    characters = units_of(line, pieces.texts, pieces.spans, "character")
    assert "".join(characters.labels) == "".join(line.split())


def _learn(kind: str) -> Tokenizer:
    lines = ["ab abc x größer 猫 zzzz", "x ab größer zzzz abc 猫"] * 3
    return train_tokenizer(lines, kind=kind, vocabulary_size=40, character_coverage=1.0, what="text").tokenizer


LEARNT = {kind: _learn(kind) for kind in ("bpe", "unigram", "char", "word")}


def test_weights_are_summed_over_a_source_word_and_averaged_over_a_target_word() -> None:
    source = units_of(LINE, PIECES, SPANS, "word")
    pooled = pool_units(HAND, source, TARGET)
    np.testing.assert_allclose(
        pooled, [[0.10, 0.50, 0.15], [(0.0 + 0.2) / 2, (0.6 + 0.0) / 2, (0.2 + 0.8) / 2]], atol=1e-6
    )
    assert pooled.dtype == np.float32


def test_a_row_keeps_its_sum_but_for_what_the_end_had() -> None:
    source = units_of(LINE, PIECES, SPANS, "word")
    pooled = pool_units(HAND, source, TARGET)
    np.testing.assert_allclose(pooled.sum(axis=1), [1 - 0.25, 1 - (0.2 + 0.0) / 2], atol=1e-6)


def test_a_source_piece_over_several_words_is_shared_out_and_a_target_piece_gives_each_its_row() -> None:
    weights = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.0, 0.0, 1.0]], dtype=np.float32)
    source = Units(("a", "b", "c"), ((0, 1), (2,)))
    target = Units(("d", "e", "f"), ((0, 1), (1, 2)))
    pooled = pool_units(weights, source, target)
    np.testing.assert_allclose(
        pooled, [[0.3, 0.3, 0.3], [(0.3 + 0.1) / 2, (0.3 + 0.1) / 2, 0.5], [0.1, 0.1, 0.7]], atol=1e-6
    )
    np.testing.assert_allclose(pooled.sum(axis=1), 0.9, atol=1e-6)


owners = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True).map(tuple), min_size=1, max_size=6)


@given(owners, owners, st.integers(0, 99))
def test_no_weight_is_lost_or_made(source: list[tuple[int, ...]], target: list[tuple[int, ...]], seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(source) + 1), len(target) + 1).astype(np.float32)
    pooled = pool_units(weights, Units(("w",) * 4, tuple(source)), Units(("w",) * 4, tuple(target)))
    for word in range(4):
        rows = [index for index, one in enumerate(target) if word in one]
        expected = np.mean([1.0 - weights[row, -1] for row in rows]) if rows else 0.0
        assert pooled[word].sum() == pytest.approx(expected, abs=1e-5)


def test_pieces_as_units_are_the_weights_without_the_ends() -> None:
    source = units_of(LINE, PIECES, SPANS, "piece")
    target = units_of("die Katzen", ["▁die", "▁Kat", "zen"], [(0, 3), (3, 7), (7, 10)], "piece")
    np.testing.assert_allclose(pool_units(HAND, source, target), HAND[:-1, :-1], atol=1e-7)


# Links of units, as links of pieces.


def test_every_piece_of_a_linked_word_points_to_every_piece_of_the_other() -> None:
    """un 0 | hap py 1 | cat s 2 to die 0 | Kat zen 1."""
    source = units_of(LINE, PIECES, SPANS, "word")
    assert linked_pieces([(2, 1)], source, TARGET) == ((), (3, 4), (3, 4))
    assert linked_pieces([(2, 1), (0, 1), (1, 0)], source, TARGET) == ((1, 2), (0, 3, 4), (0, 3, 4))
    assert linked_pieces([], source, TARGET) == ((), (), ())


def test_a_piece_of_several_words_has_the_links_of_all_of_them_once() -> None:
    over, apart = Units(("a", "b"), ((0, 1),)), Units(("c", "d"), ((0,), (1,)))
    assert linked_pieces([(0, 0), (1, 1)], apart, over) == ((0, 1),)
    assert linked_pieces([(0, 0), (1, 0)], over, apart) == ((0,), ())
