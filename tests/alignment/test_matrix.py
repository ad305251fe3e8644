"""From weights between pieces to weights between words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.matrix import AlignmentMatrix, MapChoice, parse_choice, pool_words, reduce_heads
from nmt.errors import ConfigError, DataError

# Source "un|happy cat </s>", target "der Un|mut </s>".
PIECES = np.array(
    [
        [0.1, 0.2, 0.3, 0.4],
        [0.5, 0.3, 0.1, 0.1],
        [0.1, 0.1, 0.7, 0.1],
        [0.0, 0.1, 0.1, 0.8],
    ]
)
SOURCE = [0, 0, 1, None]
TARGET = [0, 1, 1, None]


def test_source_pieces_are_summed_and_target_pieces_averaged() -> None:
    words = pool_words(PIECES, SOURCE, TARGET, 2, 2)
    np.testing.assert_allclose(words, [[0.3, 0.3], [(0.8 + 0.2) / 2, (0.1 + 0.7) / 2]], rtol=1e-6)
    assert words.dtype == np.float32


def test_the_end_of_sentence_is_kept_when_asked_for_as_last_row_and_column() -> None:
    words = pool_words(PIECES, SOURCE, TARGET, 2, 2, keep_end=True)
    np.testing.assert_allclose(words, [[0.3, 0.3, 0.4], [0.5, 0.4, 0.1], [0.1, 0.1, 0.8]], rtol=1e-6)


def test_rows_are_not_renormalised() -> None:
    np.testing.assert_allclose(pool_words(PIECES, SOURCE, TARGET, 2, 2).sum(axis=1), [0.6, 0.9], rtol=1e-6)


def test_a_word_without_a_piece_has_zeros() -> None:
    words = pool_words(PIECES, [0, 0, 2, None], [0, 2, 2, None], 3, 3)
    np.testing.assert_allclose(words, [[0.3, 0, 0.3], [0, 0, 0], [0.5, 0, 0.4]], rtol=1e-6)


def test_pieces_of_a_word_need_not_be_neighbours() -> None:
    words = pool_words(PIECES, [1, 0, 1, None], [0, 1, 0, None], 2, 2)
    np.testing.assert_allclose(words, [[(0.2 + 0.1) / 2, (0.4 + 0.8) / 2], [0.3, 0.6]], rtol=1e-6)


def test_nothing_at_all_has_a_shape() -> None:
    assert pool_words(np.ones((1, 1)), [None], [None], 0, 0).shape == (0, 0)
    assert pool_words(np.ones((1, 1)), [None], [None], 0, 0, keep_end=True).tolist() == [[1.0]]
    assert pool_words(np.ones((0, 0)), [], [], 2, 3).tolist() == [[0.0, 0.0]] * 3


@given(st.data())
def test_pooling_agrees_with_a_plain_loop(data: st.DataObject) -> None:
    source_count, target_count = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    source = data.draw(st.lists(st.one_of(st.none(), st.integers(0, source_count - 1)), min_size=1, max_size=7))
    target = data.draw(st.lists(st.one_of(st.none(), st.integers(0, target_count - 1)), min_size=1, max_size=7))
    weights = np.random.default_rng(data.draw(st.integers(0, 99))).random((len(target), len(source)))
    keep_end = data.draw(st.booleans())
    words = pool_words(weights, source, target, source_count, target_count, keep_end=keep_end)
    columns, rows = [*range(source_count), *([None] * keep_end)], [*range(target_count), *([None] * keep_end)]
    assert words.shape == (len(rows), len(columns))
    for u, row_word in enumerate(rows):
        for v, column_word in enumerate(columns):
            sums = [
                sum(weights[t, s] for s in range(len(source)) if source[s] == column_word)
                for t in range(len(target))
                if target[t] == row_word
            ]
            assert words[u, v] == pytest.approx(sum(sums) / len(sums) if sums else 0.0, rel=1e-5)


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        pool_words(PIECES, [0, 1, None], TARGET, 2, 2)
    with pytest.raises(ValueError, match="do not fit"):
        pool_words(PIECES, SOURCE, [0, None], 2, 2)
    for outside in (2, -1):
        with pytest.raises(ValueError, match=f"word {outside}, and there are 2"):
            pool_words(PIECES, [0, 0, outside, None], TARGET, 2, 2, keep_end=True)


def test_heads_are_averaged_or_one_is_taken() -> None:
    heads = np.stack([PIECES, np.zeros_like(PIECES), 2 * PIECES])
    np.testing.assert_allclose(reduce_heads(heads, None), PIECES)
    np.testing.assert_array_equal(reduce_heads(heads, 2), 2 * PIECES)
    np.testing.assert_array_equal(reduce_heads(heads, 0), PIECES)


@pytest.mark.parametrize("head", [-1, 3])
def test_a_head_that_is_not_there_is_an_error_that_says_how_many_there_are(head: int) -> None:
    for kind in ("head", "hop"):
        with pytest.raises(DataError, match=rf"^{kind} {head} .* has 3 .*0 to 2"):
            reduce_heads(np.zeros((3, 2, 2)), head, kind=kind)


@pytest.mark.parametrize(
    ("head", "hop", "expected"),
    [
        (None, None, None),
        ("0", None, MapChoice("head", 0)),
        ("12", None, MapChoice("head", 12)),
        ("mean", None, MapChoice("head", "mean")),
        ("all", None, MapChoice("head", "all")),
        (None, "0", MapChoice("hop", 0)),
        (None, "mean", MapChoice("hop", "mean")),
        (None, "all", MapChoice("hop", "all")),
    ],
)
def test_a_choice_is_a_number_the_mean_or_all(head: str | None, hop: str | None, expected: MapChoice | None) -> None:
    assert parse_choice(head, hop) == expected


@pytest.mark.parametrize("text", ["-1", "1.0", "", "first", "None", "Mean", "1 2", "²", "٣"])
def test_what_is_no_choice_is_an_error_that_says_what_is(text: str) -> None:
    for kind, options in (("head", (text, None)), ("hop", (None, text))):
        with pytest.raises(ConfigError) as error:
            parse_choice(*options)
        assert str(error.value).startswith(f"--{kind} {text}: ")
        assert all(word in str(error.value) for word in ("number", "mean", "all"))


def test_heads_and_hops_cannot_both_be_chosen() -> None:
    for choice in ("0", "mean", "nonsense"):
        with pytest.raises(ConfigError, match=r"--head and --hop"):
            parse_choice("0", choice)


def test_a_matrix_holds_float32_and_refuses_labels_that_do_not_fit() -> None:
    assert AlignmentMatrix(("a", "b"), ("c",), np.array([[0.5, 0.5]])).weights.dtype == np.float32
    with pytest.raises(ValueError, match=r"\(2, 1\)"):
        AlignmentMatrix(("a", "b"), ("c",), np.array([[0.5], [0.5]]))
