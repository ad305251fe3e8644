"""Links above a threshold, and links of two runs, one of each direction."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nmt.alignment.symmetrize import HEURISTICS, symmetrize
from nmt.config.schema import Config
from nmt.errors import ConfigError, DataError
from nmt.experiment.align import align_given, align_text
from nmt.experiment.linking import above_threshold, check_reverse, symmetrized
from nmt.experiment.run import Run, open_run
from nmt.experiment.train import start_training

SOURCES = ["the cat sees a house .", "", "Anna buys bread ."]
TARGETS = ["die Katze sieht ein Haus .", "", "Anna kauft Brot ."]


def test_links_above_a_threshold_are_those_of_the_weights(opened: Run) -> None:
    alignments = align_given(opened, SOURCES, TARGETS)
    for before, after in zip(alignments, above_threshold(alignments, 0.2), strict=True):
        assert after.matrix is before.matrix
        expected = {
            (source, target) for (target, source), weight in np.ndenumerate(before.matrix.weights) if weight >= 0.2
        }
        assert after.links == expected
    with pytest.raises(ConfigError, match="--threshold 0"):
        above_threshold(alignments, 0.0)


@pytest.mark.parametrize("heuristic", HEURISTICS)
@pytest.mark.parametrize("threshold", [None, 0.3])
def test_both_directions_are_made_one_the_reverse_transposed(
    opened: Run, backwards: Run, heuristic: str, threshold: float | None
) -> None:
    alignments = align_given(opened, SOURCES, TARGETS)
    turned = align_given(backwards, TARGETS, SOURCES)
    if threshold is not None:
        alignments, turned = above_threshold(alignments, threshold), above_threshold(turned, threshold)
    found = symmetrized(alignments, backwards, SOURCES, TARGETS, heuristic, unit="word", threshold=threshold)
    assert found.forward == [one.links for one in alignments]
    assert found.reverse == [frozenset((t, s) for s, t in one.links) for one in turned]
    if threshold is None:
        # From each target word one link, and in the reverse direction from each source word.
        assert {target for _, target in found.forward[0]} == {source for source, _ in found.reverse[0]} == set(range(6))
    for one, other, forward, reverse in zip(found.alignments, alignments, found.forward, found.reverse, strict=True):
        assert one.links == symmetrize(forward, reverse, heuristic)
        assert (one.matrix, one.index) == (other.matrix, other.index)


def test_own_translations_are_given_to_the_reverse_run(opened: Run, backwards: Run) -> None:
    own = align_text(opened, SOURCES, None)
    found = symmetrized(own.alignments, backwards, SOURCES, own.targets, "union", unit="character")
    assert all(one.links >= forward for one, forward in zip(found.alignments, found.forward, strict=True))


def test_a_reverse_run_that_does_not_fit_is_said(opened: Run, backwards: Run) -> None:
    check_reverse(opened, backwards, "word")
    with pytest.raises(ConfigError, match=r"--reverse-run .*tiny: it translates en to de, .* is a run from de to en"):
        check_reverse(opened, opened, "word")
    with pytest.raises(ConfigError, match="give --unit word"):
        check_reverse(opened, backwards, "piece")


def test_a_reverse_run_without_weights_is_said(opened: Run, tiny_config: Callable[..., Config], tmp_path: Path) -> None:
    config = tiny_config("model.attention={type: none}", "training.max_steps=2", "data.test=null")
    start_training(config, tmp_path / "blind", device="cpu")
    alignments = align_given(opened, SOURCES, TARGETS)
    with pytest.raises(DataError, match=r"blind: its attention is none"):
        symmetrized(alignments, open_run(tmp_path / "blind", "cpu"), SOURCES, TARGETS, "union", unit="word")
