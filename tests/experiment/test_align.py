"""Which of an attention's maps is looked at: one head or hop, their mean, or each by itself."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt.alignment.export import SentenceAlignment
from nmt.alignment.links import argmax_links, parse_links
from nmt.alignment.matrix import MapChoice
from nmt.config.schema import Config
from nmt.data.corpus import ParallelText
from nmt.decoding.translate import Translator
from nmt.errors import ConfigError, DataError
from nmt.experiment.align import align_given, align_text, align_translations
from nmt.experiment.hypotheses import json_lines, matrices
from nmt.experiment.run import Run, open_run
from nmt.experiment.score import score_text
from nmt.experiment.train import start_training

SOURCES = ["the cat sees a house .", "", "Anna buys bread ."]
TARGETS = ["die Katze sieht ein Haus .", "", "Anna kauft Brot ."]
KINDS = {"multihead": ("head", 2), "memory": ("hop", 3), "bahdanau": ("head", 1)}


@pytest.fixture(scope="module")
def runs(tiny_config: Callable[..., Config], tmp_path_factory: pytest.TempPathFactory, opened: Run) -> dict[str, Run]:
    """A run with two heads, one with three hops, and one with a single map."""
    found = {"bahdanau": opened}
    for name, setting in (("multihead", "heads: 2"), ("memory", "hops: 3")):
        path = tmp_path_factory.mktemp("runs") / name
        config = tiny_config(f"model.attention={{type: {name}, {setting}}}", "training.max_steps=4", "data.test=null")
        start_training(config, path, device="cpu")
        found[name] = open_run(path, "cpu")
    return found


def weights(alignments: list[SentenceAlignment]) -> list[Any]:
    return [alignment.matrix.weights for alignment in alignments]


def assert_same(one: list[Any], other: list[Any]) -> None:
    assert len(one) == len(other) == len(SOURCES)
    for first, second in zip(one, other, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-7)


def differ(one: list[Any], other: list[Any]) -> bool:
    return not all(np.allclose(first, second, rtol=1e-4) for first, second in zip(one, other, strict=True))


@pytest.mark.parametrize("attention", KINDS)
def test_all_gives_each_map_and_beside_them_the_default(runs: dict[str, Run], attention: str) -> None:
    run, (kind, count) = runs[attention], KINDS[attention]
    found = align_text(run, SOURCES, TARGETS, choice=MapChoice(kind, "all"))  # type: ignore[arg-type]
    assert list(found.each) == [f"{kind}{number}" for number in range(count)]
    maps = [weights(alignments) for alignments in found.each.values()]
    mean = [np.mean(sentence, axis=0) for sentence in zip(*maps, strict=True)]
    assert_same(weights(found.alignments), mean if kind == "head" else maps[-1])
    assert all(differ(maps[0], other) for other in maps[1:])
    for number, alignments in enumerate(found.each.values()):
        alone = align_text(run, SOURCES, TARGETS, choice=MapChoice(kind, number))  # type: ignore[arg-type]
        assert alone.each == {}
        assert_same(weights(alone.alignments), maps[number])
        for one in (*alignments, *alone.alignments):
            assert one.links == argmax_links(one.matrix.weights)
    average = align_text(run, SOURCES, TARGETS, choice=MapChoice(kind, "mean"))  # type: ignore[arg-type]
    assert_same(weights(average.alignments), mean)


@pytest.mark.parametrize("attention", KINDS)
def test_the_default_is_the_mean_of_heads_or_the_last_hop(runs: dict[str, Run], attention: str) -> None:
    run, (kind, count) = runs[attention], KINDS[attention]
    expected = MapChoice("head", "mean") if kind == "head" else MapChoice("hop", count - 1)
    for targets in (TARGETS, None):
        found = align_text(run, SOURCES, targets)
        assert found.each == {}
        assert_same(weights(found.alignments), weights(align_text(run, SOURCES, targets, choice=expected).alignments))
    assert_same(weights(align_given(run, SOURCES, TARGETS)), weights(align_text(run, SOURCES, TARGETS).alignments))
    own = align_translations(run, run.translator().translate(SOURCES))
    assert_same(weights(own), weights(align_text(run, SOURCES, None).alignments))


def test_the_text_that_is_aligned_comes_with_it(runs: dict[str, Run]) -> None:
    run = runs["multihead"]
    assert align_text(run, SOURCES, TARGETS).targets == TARGETS
    own = [translation.texts[0] for translation in run.translator().translate(SOURCES)]
    assert align_text(run, SOURCES, None).targets == own


def test_no_text_has_no_alignments_of_each_map(runs: dict[str, Run]) -> None:
    found = align_text(runs["multihead"], [], [], choice=MapChoice("head", "all"))
    assert (found.targets, found.alignments, found.each) == ([], [], {"head0": [], "head1": []})


@pytest.mark.parametrize("attention", KINDS)
def test_what_cannot_be_chosen_is_said_before_anything_is_translated(
    runs: dict[str, Run], attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, (kind, count) = runs[attention], KINDS[attention]
    monkeypatch.setattr(Run, "translator", lambda _: pytest.fail("translated"))
    with pytest.raises(DataError, match=rf"{kind} {count} was asked for, and this attention has {count} "):
        align_text(run, SOURCES, None, choice=MapChoice(kind, count))  # type: ignore[arg-type]
    other = "hop" if kind == "head" else "head"
    for which in (0, "mean", "all"):
        with pytest.raises(ConfigError, match=rf"^--{other} {which}: .*\({attention}\) has {kind}s; give --{kind}"):
            align_text(run, SOURCES, None, choice=MapChoice(other, which))  # type: ignore[arg-type]


def test_without_weights_there_is_nothing_to_choose(tiny_config: Callable[..., Config], tmp_path: Path) -> None:
    config = tiny_config("model.attention={type: none}", "training.max_steps=2", "data.test=null")
    start_training(config, tmp_path / "run", device="cpu")
    run = open_run(tmp_path / "run", "cpu")
    for choice in (None, MapChoice("head", 0), MapChoice("hop", "all")):
        with pytest.raises(DataError, match="attention is none"):
            align_text(run, SOURCES, TARGETS, choice=choice)


# Lines that are translated in parts.


def in_parts(run: Run, parts: list[str], changes: dict[str, object]) -> Translator:
    made = run.translator(changes)
    made.longest = max(len(run.source.encode(part).numbers) for part in parts)
    return made


@pytest.mark.filterwarnings("ignore:line")
@pytest.mark.parametrize("attention", KINDS)
def test_parts_are_aligned_each_by_itself_and_see_nothing_of_one_another(runs: dict[str, Run], attention: str) -> None:
    run, parts = runs[attention], ["the cat sees a house .", "Anna buys bread .", "Anna finds two trees ."]
    changes: dict[str, object] = {"beam": 3}
    if attention != "bahdanau":  # they have learnt next to nothing, not even to write
        changes |= {"min_length_add": 3, "max_length_ratio": 0.5, "max_length_add": 4}
    made = in_parts(run, parts, changes)
    (found, short), singles = made.translate([" ".join(parts), parts[1]], 2), made.translate(parts, 2)
    sizes = [len(run.source.encode(part).numbers) for part in parts]
    for rank, hypothesis in enumerate(found.hypotheses):
        chosen = [single.hypotheses[min(rank, len(single.hypotheses) - 1)] for single in singles]
        assert hypothesis.parts == tuple((size, len(one.pieces)) for size, one in zip(sizes, chosen, strict=True))
    assert short.hypotheses[0].parts == ()

    piece = align_translations(run, [found], unit="piece")[0].matrix.weights
    expected = np.zeros_like(piece)
    row = column = 0
    for one in align_translations(run, singles, unit="piece"):
        rows, columns = one.matrix.weights.shape
        expected[row : row + rows, column : column + columns] = one.matrix.weights
        row, column = row + rows, column + columns
    assert (row, column) == piece.shape
    assert row > len(parts)
    np.testing.assert_allclose(piece, expected, atol=1e-5)

    line = next(json_lines([run], [found], 0, 2))
    (matrix,) = matrices([run], [(found, 0)])
    (words,) = align_translations(run, [found])
    assert matrix is not None
    np.testing.assert_allclose(matrix.weights, words.matrix.weights, atol=1e-5)
    assert parse_links(json.loads(line)["alignment"]).sure == words.links


def test_given_pairs_that_are_longer_than_any_in_training_are_told(opened: Run) -> None:
    short, long = "the cat sees a house .", "the cat sees a house . " * 30
    told = r"^line 2: its [0-9,]+ pieces are more than the 100 that training had .*one by one$"
    for sources, targets in (([short, long], [short, short]), ([short, short], [short, long])):
        with pytest.warns(UserWarning, match=told):
            align_given(opened, sources, targets)
        with pytest.warns(UserWarning, match=told):
            score_text([opened], ParallelText(tuple(sources), tuple(targets)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        align_given(opened, [short], [short])
