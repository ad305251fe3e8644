"""Links: parsing, printing, and the plainest ways to make them."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.links import (
    Links,
    argmax_links,
    check_range,
    diagonal_links,
    format_links,
    parse_links,
    read_links,
    threshold_links,
)
from nmt.errors import ConfigError, DataError

links_of_a_line = st.frozensets(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=30)


def test_sure_and_possible_links_are_told_apart() -> None:
    assert parse_links("0-0 1p2  3-1\n") == Links(
        sure=frozenset({(0, 0), (3, 1)}), possible=frozenset({(0, 0), (3, 1), (1, 2)})
    )


def test_a_line_that_counts_from_one_is_shifted() -> None:
    assert parse_links("1-1 2p3", base=1) == Links(frozenset({(0, 0)}), frozenset({(0, 0), (1, 2)}))


def test_a_repeated_link_counts_once_and_sure_wins() -> None:
    links = parse_links("2-1 2-1 2p1 0p0 0p0")
    assert links.sure == {(2, 1)}
    assert links.possible == {(2, 1), (0, 0)}


def test_possible_links_always_include_the_sure_ones() -> None:
    assert Links(sure=frozenset({(0, 1)}), possible=frozenset({(2, 2)})).possible == {(0, 1), (2, 2)}


def test_an_empty_line_has_no_links() -> None:
    assert parse_links("  \n") == Links(frozenset(), frozenset())


@pytest.mark.parametrize(
    "token", ["1", "1-", "-1", "1_2", "1-2-3", "a-b", "-1-2", "1--2", "1.0-2", "1P2", "²-1", "9" * 99 + "-1"]
)
def test_a_malformed_token_is_named_with_its_place_and_the_allowed_form(token: str) -> None:
    with pytest.raises(DataError, match=r"i-j .*ipj") as caught:
        parse_links(f"0-0 {token}", where="gold.txt:7")
    assert str(caught.value).startswith(f"gold.txt:7: {token!r} ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("token", ["0-1", "1-0", "0p0"])
def test_a_zero_in_a_file_that_counts_from_one_is_an_error(token: str) -> None:
    with pytest.raises(DataError, match=rf"^g:2: '{token}' .*base 0"):
        parse_links(token, base=1, where="g:2")


@pytest.mark.parametrize("base", [2, -1])
def test_only_bases_zero_and_one_are_allowed(base: int, tmp_path) -> None:
    with pytest.raises(ConfigError, match="0 and 1"):
        parse_links("", base=base)
    (tmp_path / "links").write_text("")
    with pytest.raises(ConfigError, match="0 and 1"):
        read_links(tmp_path / "links", base=base)


def test_a_file_is_read_line_by_line_empty_ones_included(tmp_path) -> None:
    path = tmp_path / "links"
    path.write_bytes(b"0-0 1p1\r\n\n2-2")
    assert [sorted(links.possible) for links in read_links(path)] == [[(0, 0), (1, 1)], [], [(2, 2)]]
    path.write_bytes(b"0-0\n\n\n")
    assert len(read_links(path)) == 3
    path.write_bytes(b"")
    assert read_links(path) == []


def test_a_fault_in_a_file_is_named_by_file_and_line(tmp_path) -> None:
    path = tmp_path / "links"
    path.write_text("0-0\n1-1 x\n")
    with pytest.raises(DataError, match=re.escape(f"{path}:2: 'x'")):
        read_links(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path) -> None:
    with pytest.raises(DataError, match="nowhere: no such file"):
        read_links(tmp_path / "nowhere")
    with pytest.raises(DataError, match="cannot be read"):
        read_links(tmp_path)
    (tmp_path / "bytes").write_bytes(b"0-0 \xff\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read_links(tmp_path / "bytes")


def test_links_are_written_sorted_by_number_not_by_text() -> None:
    assert format_links([(10, 0), (2, 1), (2, 0), (2, 1)]) == "2-0 2-1 10-0"
    assert format_links([]) == ""


@given(links_of_a_line)
def test_what_is_written_is_read_back(links: frozenset[tuple[int, int]]) -> None:
    assert parse_links(format_links(links)) == Links(links, links)


def test_argmax_takes_the_best_source_word_and_the_leftmost_of_equals() -> None:
    weights = np.array([[0.1, 0.7, 0.2], [0.4, 0.2, 0.4], [0.0, 0.0, 1e-9]], dtype=np.float32)
    assert argmax_links(weights) == {(1, 0), (0, 1), (2, 2)}


def test_rows_of_zeros_and_rows_that_are_not_finite_give_no_link() -> None:
    nan, inf = float("nan"), float("inf")
    assert argmax_links(np.array([[0, 0], [0.5, nan], [inf, 0], [0.2, 0.8]])) == {(1, 3)}


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3)])
def test_without_words_on_one_side_there_are_no_argmax_links(shape: tuple[int, int]) -> None:
    assert argmax_links(np.ones(shape)) == frozenset()


@given(st.integers(1, 6), st.integers(1, 6), st.randoms(use_true_random=False))
def test_argmax_agrees_with_a_plain_search(source: int, target: int, random) -> None:
    # Few distinct values, so that equals are common.
    weights = [[random.choice([0.0, 0.25, 0.5]) for _ in range(source)] for _ in range(target)]
    expected = {(row.index(max(row)), t) for t, row in enumerate(weights) if any(row)}
    assert argmax_links(np.array(weights)) == expected


def test_a_threshold_takes_every_weight_that_reaches_it() -> None:
    weights = np.array([[0.1, 0.7, 0.2], [0.4, 0.2, 0.4], [0.1, 0.1, 0.1], [float("nan")] * 3], dtype=np.float32)
    assert threshold_links(weights, 0.2) == {(1, 0), (2, 0), (0, 1), (1, 1), (2, 1)}
    assert threshold_links(weights, 0.41) == {(1, 0)}
    assert threshold_links(np.array([[1.0, 0.0]]), 1.0) == {(0, 0)}
    assert threshold_links(np.zeros((0, 3)), 0.5) == threshold_links(np.zeros((3, 0)), 0.5) == frozenset()


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.01, float("nan")])
def test_a_threshold_that_is_no_weight_is_an_error(threshold: float) -> None:
    with pytest.raises(ConfigError, match=r"--threshold .*above 0 and up to 1"):
        threshold_links(np.ones((1, 1)), threshold)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (3, 3, "0-0 1-1 2-2"),
        (6, 3, "1-0 3-1 5-2"),  # middles 1/6, 3/6, 5/6 of six words: 1, 3, 5
        (2, 4, "0-0 0-1 1-2 1-3"),
        (1, 3, "0-0 0-1 0-2"),
        (5, 1, "2-0"),
        (0, 3, ""),
        (3, 0, ""),
    ],
)
def test_diagonal_links_by_hand(source: int, target: int, expected: str) -> None:
    assert format_links(diagonal_links(source, target)) == expected


@given(st.integers(1, 70), st.integers(1, 70))
def test_diagonal_links_stay_inside_never_go_back_and_give_each_target_word_one(source: int, target: int) -> None:
    links = sorted((t, s) for s, t in diagonal_links(source, target))
    assert [t for t, _ in links] == list(range(target))
    places = [s for _, s in links]
    assert places == sorted(places)
    check_range(diagonal_links(source, target), source, target)
    for t, s in links:  # the middle of the target word lies within the source word
        assert s / source <= (t + 0.5) / target + 1e-12
        assert (t + 0.5) / target < (s + 1) / source + 1e-12


@pytest.mark.parametrize("link", [(2, 0), (0, 3), (-1, 0), (0, -1)])
def test_a_link_outside_its_sentence_pair_is_an_error(link: tuple[int, int]) -> None:
    check_range({(1, 2), (0, 0)}, 2, 3, "x:1")
    with pytest.raises(DataError, match=rf"^x:1: link {link[0]}-{link[1]} .* 2 source and 3 target"):
        check_range({(1, 2), link}, 2, 3, "x:1")
