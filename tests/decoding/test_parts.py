"""Lines that are too long, cut where it hurts least."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.batching import Example
from nmt.data.tokenizer import Pieces
from nmt.decoding.parts import joined_maps, joined_rows, pairs_of, parts_of


def pieces_of(*texts: str) -> Pieces:
    return Pieces(tuple(range(len(texts))), texts, tuple((0, 0) for _ in texts))


def cut(limit: int, *texts: str) -> list[str]:
    return ["".join(texts[number] for number in part) for part in parts_of(pieces_of(*texts), limit)]


def test_a_line_within_the_limit_stays_whole() -> None:
    assert cut(3, "▁a", "▁b", "▁c") == ["▁a▁b▁c"]
    assert cut(3) == [""]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("▁A a a a . ▁B b b b . ▁C", ["▁Aaaa.", "▁Bbbb.", "▁C"]),  # each sentence, though two would fit
        ("▁A a a a ? ” ▁B b b b", ["▁Aaaa?”", "▁Bbbb"]),
        ("▁ A a a . ▁ B b b b", ["▁Aaa.", "▁Bbbb"]),  # pieces of one character
        ("▁D r . ▁B b b . ▁C c c", ["▁Dr.▁Bbb.", "▁Ccc"]),  # what is very short is perhaps no sentence
        ("▁A a a a a . ▁b ▁c ▁d ▁e", ["▁Aaaaa.▁b▁c", "▁d▁e"]),  # none begins in lower case,
        ("▁a a a a a . ▁b ▁c ▁d ▁e", ["▁aaaaa.", "▁b▁c▁d▁e"]),  # but where nothing has capitals
        ("▁A a a a , ▁b b b b ▁c", ["▁Aaaa,", "▁bbbb▁c"]),  # beyond the limit: at a clause end
        ("▁A a , ▁a a , ▁b b b b ▁c", ["▁Aa,▁aa,", "▁bbbb▁c"]),  # the last one within it
        ("▁A a a a ▁b b b b b ▁c", ["▁Aaaa", "▁bbbbb▁c"]),  # between words
        ("▁A a a a a a a a b", ["▁Aaaaaaaa", "b"]),  # one long word
        ("▁3 . 5 ▁a a a a a a a", ["▁3.5", "▁aaaaaaa"]),  # a point within a number ends nothing
        ("▁我 们 来 了 。 他 们 来 了 。", ["▁我们来了。", "他们来了。"]),
    ],
)
def test_every_sentence_is_a_part_and_one_that_is_too_long_is_cut_where_it_hurts_least(
    line: str, expected: list[str]
) -> None:
    assert cut(8, *line.split()) == expected


@given(st.lists(st.sampled_from(["▁a", "b", ".", "▁", ",", "。", "▁C.", "!"]), max_size=60), st.integers(1, 9))
def test_nothing_is_lost_and_no_part_is_too_long(texts: list[str], limit: int) -> None:
    parts = parts_of(pieces_of(*texts), limit)
    assert [number for part in parts for number in part] == list(range(len(texts)))
    assert all(0 < len(part) <= limit for part in parts) or not texts
    assert (len(parts) == 1) == (len(texts) <= limit)


def test_pairs_of_parts_follow_one_another_each_with_the_sentences_before() -> None:
    pair = Example((4, 5, 6, 7, 8), (9, 10, 11), ((4, 4),))
    assert pairs_of(pair, ()) == [pair]
    parts = [Example((4, 5), (9,), ((4, 4),)), Example((6, 7), (), ((4, 4),)), Example((8,), (10, 11), ((4, 4),))]
    assert pairs_of(pair, [(2, 1), (2, 0), (1, 2)]) == parts


def test_maps_of_parts_are_blocks_without_the_ends_of_any_but_the_last() -> None:
    first, second, last = np.full((2, 2, 3), 1.0), np.full((2, 1, 2), 2.0), np.full((2, 3, 2), 3.0)
    expected = [[1, 1, 0, 0, 0], [0, 0, 0, 3, 3], [0, 0, 0, 3, 3], [0, 0, 0, 3, 3]]
    found = joined_maps([first.astype(np.float32), second.astype(np.float32), last.astype(np.float32)])
    np.testing.assert_array_equal(found, [expected, expected])
    np.testing.assert_array_equal(joined_rows([one[0, :, 0] for one in (first, second, last)]), [1, 3, 3, 3])
