"""Lines that are too long, cut where it hurts least."""

from itertools import pairwise

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
    ("texts", "expected"),
    [
        (("▁a", ".", "▁b", ".", "▁c", "▁d"), ["▁a.▁b.", "▁c▁d"]),  # the last sentence end, not the first
        (("▁a", ".", "▁b", ",", "▁c", "▁d"), ["▁a.", "▁b,▁c▁d"]),  # a sentence end before a later clause end
        (("▁a", ",", "▁b", "▁c", "▁d", "▁e"), ["▁a,", "▁b▁c▁d▁e"]),
        (("▁a", "▁b", "c", "▁d", "e", "f"), ["▁a▁bc", "▁def"]),
        (("▁a", "b", "c", "d", "e", "f"), ["▁abcd", "ef"]),  # one long word
        (("▁3", ".", "5", "▁b", "▁c", "▁d"), ["▁3.5▁b", "▁c▁d"]),  # a point within a number ends nothing
        (("▁a", "?", "”", "▁b", "▁c", "▁d"), ["▁a?”", "▁b▁c▁d"]),
        (("▁", "a", ".", "▁", "b", "c"), ["▁a.", "▁bc"]),  # pieces of one character
        (("▁我", "们", "。", "他", "们", "来"), ["▁我们。", "他们来"]),
    ],
)
def test_the_best_place_within_the_limit(texts: tuple[str, ...], expected: list[str]) -> None:
    assert cut(4, *texts) == expected


@given(st.lists(st.sampled_from(["▁a", "b", ".", "▁", ",", "。", "▁c.", "!"]), max_size=60), st.integers(1, 9))
def test_nothing_is_lost_and_no_part_is_too_long(texts: list[str], limit: int) -> None:
    parts = parts_of(pieces_of(*texts), limit)
    assert [number for part in parts for number in part] == list(range(len(texts)))
    assert all(0 < len(part) <= limit for part in parts) or not texts
    assert all(len(one) + len(other) > limit or len(parts) > 1 for one, other in pairwise(parts))


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
