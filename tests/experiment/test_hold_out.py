"""Pairs taken out of a text are no longer in it, and stand in it once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.corpus import ParallelText, overlap
from nmt.errors import DataError
from nmt.experiment.texts import hold_out


def text(lines: list[str]) -> ParallelText:
    return ParallelText(tuple(lines), tuple(line.upper() for line in lines))


@given(st.integers(1, 6), st.sampled_from([1, 2]), st.integers(0, 5), st.integers(0, 9))
def test_parts_and_rest_make_up_the_text(pairs: int, parts: int, seed: int, repeated: int) -> None:
    whole = text([f"line {number}" for number in range(2 * pairs * parts + 3)] + ["again"] * repeated)
    rest, taken = hold_out(whole, pairs, parts, seed)
    assert [len(part) for part in taken] == [pairs] * parts
    everything = [pair for part in [rest, *taken] for pair in zip(part.source, part.target, strict=True)]
    assert sorted(everything) == sorted(zip(whole.source, whole.target, strict=True))
    for part in taken:
        assert overlap(rest, part) == 0
    assert hold_out(whole, pairs, parts, seed)[1] == taken


def test_too_many_are_refused() -> None:
    with pytest.raises(DataError, match="hold_out"):
        hold_out(text(["a", "b", "c"]), 1, 2, 0)
    with pytest.raises(DataError, match="stand there once"):
        hold_out(text(["same"] * 10), 1, 1, 0)
