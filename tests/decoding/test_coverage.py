"""The coverage penalty, by hand."""

import math

import numpy as np
import pytest

from nmt.data.batching import Example
from nmt.decoding.coverage import coverage_penalty, with_coverage
from nmt.decoding.search import Hypothesis

WEIGHTS = np.array([[0.5, 0.3, 0.2], [0.7, 0.1, 0.2], [0.5, 0.1, 0.4]], dtype=np.float32)


def test_by_hand() -> None:
    # Columns sum to 1.7 and 0.5; the third, of 0.8, is the source's end.
    assert coverage_penalty(WEIGHTS, 0.2) == pytest.approx(0.2 * math.log(0.5))
    assert coverage_penalty(WEIGHTS, 0.0) == 0.0
    assert coverage_penalty(np.ones((1, 3), dtype=np.float32), 0.4) == 0.0


def test_what_nothing_looked_at_is_bad_but_finite() -> None:
    missed = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], dtype=np.float32)
    twice = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]], dtype=np.float32)
    assert -math.inf < coverage_penalty(twice, 1.0) < coverage_penalty(missed, 1.0) < math.log(1e-3)


def test_scores_gain_it_and_the_order_follows() -> None:
    found = [[Hypothesis((4,), -1.0, -1.0), Hypothesis((5,), -1.2, -1.1)], [Hypothesis((6,), -3.0, -2.0)]]
    maps = {4: [[0.1, 0.9]], 5: [[1.0, 0.0]], 6: [[0.5, 0.5]]}
    rescored = with_coverage(
        [Example((7,), ()), Example((8,), ())],
        found,
        0.5,
        lambda pairs: [np.array(maps[pair.target[0]], dtype=np.float32) for pair in pairs],
    )
    assert [[one.pieces for one in several] for several in rescored] == [[(5,), (4,)], [(6,)]]
    assert rescored[0][0] == found[0][1]
    assert rescored[0][1].score == pytest.approx(-1.0 + 0.5 * math.log(0.1))
    assert rescored[0][1].log_probability == -1.0
    assert rescored[1][0].score == pytest.approx(-2.0 + 0.5 * math.log(0.5))
