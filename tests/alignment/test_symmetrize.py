"""Symmetrised links: worked by hand, against the published pseudo-code, and what must hold for all of them.

In the pictures a row is a target word, a column a source word: # both directions have the link, f the forward one
alone, r the reverse one alone; in what is expected, x is a link.
"""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.links import Link
from nmt.alignment.symmetrize import HEURISTICS, symmetrize, transpose
from nmt.errors import ConfigError

Directions = tuple[frozenset[Link], frozenset[Link]]


def cells(picture: str, letters: str) -> frozenset[Link]:
    rows = [row.split() for row in picture.strip().split("\n")]
    return frozenset(
        (source, target) for target, row in enumerate(rows) for source, c in enumerate(row) if c in letters
    )


def worked(heuristic: str, given: str, expected: str) -> None:
    assert symmetrize(cells(given, "#f"), cells(given, "#r"), heuristic) == cells(expected, "x")


def test_intersection_and_union() -> None:
    worked("intersection", "# f\nr #", "x .\n. x")
    worked("union", "# f .\nr # .", "x x .\nx x .")


def test_grow_diag_takes_in_neighbours_of_the_union_that_reach_a_word_without_a_link() -> None:
    # Linked at first: s0 s1 s3, t0 t1 t3. (t0, s0): its right neighbour r lies between linked words and stays out.
    # (t1, s1): right of it f reaches s2, a word without a link: in. (t1, s2), in since just now, has f below on its
    # right, which reaches t2: in. No neighbour is left; (t3, s1) is next to none of them.
    worked(
        "grow-diag",
        """
        # r . .
        . # f .
        . . . f
        . r . #
        """,
        """
        x . . .
        . x x .
        . . . x
        . . . x
        """,
    )


def test_what_grew_upwards_grows_on_in_the_next_pass() -> None:
    # First pass: at t2, # takes in f; t1 has been passed. Second pass: at t1, f takes in r.
    worked("grow-diag", "r . .\n. f .\n. . #", "x . .\n. x .\n. . x")


def test_neighbours_above_and_beside_come_before_those_across_corners() -> None:
    # From (t1, s1): above r reaches t0, in; on its left r reaches s0, in; at the corner f finds both words linked: out.
    worked("grow-diag", "f r\nr #", ". x\nx x")


def test_without_an_intersection_nothing_grows() -> None:
    worked("grow-diag", "f r\n. .", ". .\n. .")


def test_final_and_adds_links_between_two_unlinked_words() -> None:
    # Nothing is next to (t0, s0). Forward: (t1, s3) and (t3, s1) have two unlinked words each: in. Reverse: so has
    # (t2, s2): in. (t2, s3) has none any more, (t0, s2) and (t3, s0) one at most: out.
    worked(
        "grow-diag-final-and",
        """
        # . r .
        . . . f
        . . r r
        r f . .
        """,
        """
        x . . .
        . . . x
        . . x .
        . x . .
        """,
    )


def test_final_and_goes_through_forward_links_first() -> None:
    # Both want s2; the forward one has it, although it stands lower.
    worked(
        "grow-diag-final-and",
        """
        # . .
        . . .
        . . r
        . . f
        """,
        """
        x . .
        . . .
        . . .
        . . x
        """,
    )


def directions() -> st.SearchStrategy[Directions]:
    links = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=14)
    return st.tuples(links, links)


@given(directions())
def test_each_holds_the_one_before(both: Directions) -> None:
    order = ["intersection", "grow-diag", "grow-diag-final-and", "union"]
    assert set(order) == set(HEURISTICS)
    found = [symmetrize(*both, name) for name in order]
    assert found[0] <= found[1] <= found[2] <= found[3]


@given(directions())
def test_grow_diag_is_what_the_pseudo_code_gives(both: Directions) -> None:
    """Koehn et al. 2005, on the whole grid and with nothing kept between its questions."""
    forward, reverse = both
    union, alignment = forward | reverse, set(forward & reverse)
    neighbours = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
    before = None
    while before != len(alignment):
        before = len(alignment)
        for e, f in product(range(6), range(6)):
            for e_step, f_step in neighbours if (f, e) in alignment else ():
                e_new, f_new = e + e_step, f + f_step
                e_aligned = any(target == e_new for _, target in alignment)
                f_aligned = any(source == f_new for source, _ in alignment)
                if not (e_aligned and f_aligned) and (f_new, e_new) in union:
                    alignment.add((f_new, e_new))
    assert symmetrize(forward, reverse, "grow-diag") == alignment


@given(directions())
def test_final_and_leaves_no_link_of_the_union_between_two_unlinked_words(both: Directions) -> None:
    found = symmetrize(*both, "grow-diag-final-and")
    sources, targets = {source for source, _ in found}, {target for _, target in found}
    assert all(source in sources or target in targets for source, target in both[0] | both[1])


@given(directions(), st.sampled_from(sorted(HEURISTICS)))
def test_directions_that_agree_stay_as_they_are(both: Directions, heuristic: str) -> None:
    assert symmetrize(both[0], both[0], heuristic) == both[0]


@given(directions())
def test_transposing_twice_changes_nothing(both: Directions) -> None:
    assert transpose(transpose(both[0])) == both[0]
    assert transpose([(1, 2), (0, 3)]) == {(2, 1), (3, 0)}


def test_another_name_is_an_error_that_lists_the_heuristics() -> None:
    with pytest.raises(ConfigError, match="--symmetrize grow: is unknown; allowed: intersection, union, grow-diag, "):
        symmetrize(frozenset(), frozenset(), "grow")
