"""Pairs taken out of a text are no longer in it, and stand in it once."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.config.schema import Config
from nmt.data.corpus import ParallelText, overlap
from nmt.errors import DataError
from nmt.experiment.texts import hold_out, read_texts


def text(lines: list[str]) -> ParallelText:
    return ParallelText(tuple(lines), tuple(line.upper() for line in lines))


@given(st.integers(1, 6), st.sampled_from([1, 2]), st.integers(0, 9))
def test_parts_and_rest_make_up_the_text(pairs: int, parts: int, repeated: int) -> None:
    whole = text([f"line {number}" for number in range(2 * pairs * parts + 3)] + ["again"] * repeated)
    rest, taken = hold_out(whole, pairs, parts)
    assert [len(part) for part in taken] == [pairs] * parts
    everything = [pair for part in [rest, *taken] for pair in zip(part.source, part.target, strict=True)]
    assert sorted(everything) == sorted(zip(whole.source, whole.target, strict=True))
    for part in taken:
        assert overlap(rest, part) == 0
    assert hold_out(whole, pairs, parts)[1] == taken


def test_too_many_are_refused() -> None:
    with pytest.raises(DataError, match="hold_out"):
        hold_out(text(["a", "b", "c"]), 1, 2)
    with pytest.raises(DataError, match="stand there once"):
        hold_out(text(["same"] * 10), 1, 1)


@pytest.mark.parametrize("change", [(), ("data.test=null",)], ids=["valid", "valid and test"])
def test_every_seed_holds_out_the_same_pairs(tiny_config: Callable[..., Config], change: tuple[str, ...]) -> None:
    settings = ("data.valid=null", "data.hold_out=4", *change)
    first, *others = (read_texts(tiny_config(*settings, f"seed={seed}")) for seed in (1, 2, 77))
    assert first.held_out == ("valid", "test")[: len(change) + 1]
    for texts in others:
        assert (texts.train, texts.valid, texts.test) == (first.train, first.valid, first.test)
        assert texts.digest() == first.digest()
