"""Which layer aligns: measured by links of the validation text, kept, and used from there on."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nmt.alignment.links import Links, read_links
from nmt.alignment.matrix import MapChoice
from nmt.checkpoint import RunFolder
from nmt.config.schema import Config
from nmt.data.corpus import read_lines
from nmt.errors import CheckpointError, DataError
from nmt.evaluation.aer import score_alignments
from nmt.experiment import train
from nmt.experiment.align import align_given, align_text
from nmt.experiment.layers import choose_layer
from nmt.experiment.run import Run, open_run
from nmt.experiment.texts import read_texts
from nmt.experiment.train import resume_training, start_training

Make = Callable[..., Config]

LAYERS, HEADS = 3, 2
DECODER = f"{{type: transformer, hidden: 16, layers: {LAYERS}, heads: {HEADS}, feed_forward: 32}}"
SHORT = (f"model.decoder={DECODER}", "training.max_steps=4", "training.validate_every=4")


@pytest.fixture(scope="module")
def linked(corpus: Any) -> str:
    """A change of the config: links of the validation text."""
    return f"data.valid.alignment={corpus.folder}/valid.links"


@pytest.fixture(scope="module")
def measured(tiny_config: Make, linked: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose decoder has three layers of two heads, hardly trained, with links to choose by."""
    path = tmp_path_factory.mktemp("layers") / "run"
    start_training(tiny_config(*SHORT, linked), path, device="cpu")
    return path


@pytest.fixture
def run(measured: Path, tmp_path: Path) -> Run:
    """The run in a folder of its own, as if it had not been measured."""
    folder = RunFolder(Path(shutil.copytree(measured, tmp_path / "own")))
    folder.update_meta(alignment=None)
    return open_run(folder.path, "cpu")


def test_training_measures_each_layer_and_head_and_keeps_the_best(measured: Path, corpus: Any) -> None:
    kept, run = RunFolder(measured).meta()["alignment"], open_run(measured, "cpu")
    text = (corpus.lines("valid.en"), corpus.lines("valid.de"))
    gold = read_links(corpus.folder / "valid.links")
    for layer, scores in enumerate(kept["valid"]):
        links = [one.links for one in align_text(run, *text, layer=layer).alignments]
        assert {**score_alignments(links, gold).as_dict(), "heads": scores["heads"]} == scores
        heads = align_text(run, *text, layer=layer, choice=MapChoice("head", "all")).each
        alone = [score_alignments([one.links for one in found], gold).aer for found in heads.values()]
        assert scores["heads"] == alone
        assert len(alone) == HEADS
    rates = [scores["aer"] for scores in kept["valid"]]
    assert len(set(rates)) == LAYERS, "layers that align alike would not tell which was taken"
    assert kept["layer"] == rates.index(min(rates))
    assert run.usual_layer() == (kept["layer"], "of the best AER on the validation text")


def test_the_log_has_a_line_for_each_layer(measured: Path) -> None:
    kept, log = RunFolder(measured).meta()["alignment"], read_lines(measured / "train.log")
    for layer, scores in enumerate(kept["valid"]):
        (line,) = [line for line in log if line.startswith(f"layer {layer}: ")]
        assert line.startswith(f"layer {layer}: AER {100 * scores['aer']:.1f} %")
        best = min(range(HEADS), key=lambda head: scores["heads"][head])
        assert line.endswith(f"best single head: {best}, at {100 * scores['heads'][best]:.1f} %")
    assert f"alignments are read from layer {kept['layer']}, of the best AER" in log


def test_the_test_text_is_aligned_by_the_layer_that_was_chosen(measured: Path, corpus: Any) -> None:
    layer = RunFolder(measured).meta()["alignment"]["layer"]
    run = open_run(measured, "cpu")
    text = (corpus.lines("test.en"), corpus.lines("test.de"))
    kept = [one.possible for one in read_links(measured / "test.ref.links")]
    assert kept == [one.links for one in align_given(run, *text)]
    by_layer = [[one.links for one in align_text(run, *text, layer=other).alignments] for other in range(LAYERS)]
    assert [links == kept for links in by_layer] == [other == layer for other in range(LAYERS)]


@pytest.mark.parametrize("head", [None, 1])
@pytest.mark.parametrize("layer", range(LAYERS))
def test_the_layer_that_gave_the_links_is_the_one_that_is_chosen(run: Run, layer: int, head: int | None) -> None:
    config = run.config.model_copy(update={"alignment": run.config.alignment.model_copy(update={"head": head})})
    run, texts = replace(run, config=config), read_texts(config)
    links = [one.links for one in align_text(run, texts.valid.source, texts.valid.target, layer=layer).alignments]
    said: list[str] = []
    chosen = choose_layer(run, replace(texts, valid_gold=[Links(one, one) for one in links]), said.append)
    assert chosen.alignment_layer() == open_run(run.folder.path, "cpu").alignment_layer() == layer
    assert run.folder.meta()["alignment"]["valid"][layer]["aer"] == 0.0
    assert any(line.startswith(f"layer {layer}: AER 0.0 %") for line in said)


def test_where_all_align_alike_it_is_the_last_but_one(run: Run) -> None:
    texts = read_texts(run.config)
    none = [Links(frozenset(), frozenset())] * len(texts.valid)
    assert choose_layer(run, replace(texts, valid_gold=none), lambda _: None).alignment_layer() == LAYERS - 2


def test_nothing_is_measured_without_a_choice(
    run: Run, opened: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "forced", lambda *_: pytest.fail("measured"))
    named = run.config.model_copy(update={"alignment": run.config.alignment.model_copy(update={"layer": 2})})
    texts = read_texts(run.config)
    before = [one.folder.meta_file.read_bytes() for one in (run, opened)]
    for given, links in (
        (replace(run, config=named), texts.valid_gold),  # the config says it
        (run, None),  # nothing to choose by
        (opened, texts.valid_gold),  # one layer
    ):
        assert choose_layer(given, replace(texts, valid_gold=links), pytest.fail) is given
    assert [one.folder.meta_file.read_bytes() for one in (run, opened)] == before
    assert replace(run, config=named, measured_layer=0).usual_layer() == (2, "named by its config")


def test_a_run_that_was_not_measured_opens_and_aligns_by_the_last_but_one(run: Run) -> None:
    assert "alignment" not in run.folder.meta()
    assert run.measured_layer is None
    assert run.usual_layer() == (LAYERS - 2, "the last but one")


@pytest.mark.parametrize("kept", [{"layer": "2"}, {"layer": True}, "2", [2]])
def test_a_choice_that_is_no_number_is_told_of(run: Run, kept: object) -> None:
    run.folder.update_meta(alignment=kept)
    with pytest.raises(CheckpointError, match=r"meta\.json: its alignment layer is no number"):
        open_run(run.folder.path, "cpu")


def test_a_choice_beyond_the_layers_is_refused_where_it_counts(run: Run) -> None:
    run.folder.update_meta(alignment={"layer": LAYERS})
    with pytest.raises(DataError, match=f"layer {LAYERS} was asked for"):
        open_run(run.folder.path, "cpu").alignment_layer()


def test_a_resumed_training_forgets_the_choice_of_its_earlier_weights(
    measured: Path, tmp_path: Path, tiny_config: Make, linked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(Path(shutil.copytree(measured, tmp_path / "resumed")))
    longer = tiny_config(*SHORT, linked, "training.max_steps=5")
    monkeypatch.setattr(train, "final_scores", lambda *_: {})
    resume_training(longer, folder.path, device="cpu")
    assert folder.measured_layer() is None


def test_links_that_do_not_fit_are_told_of_before_training(tiny_config: Make, own_corpus: Any, tmp_path: Path) -> None:
    file = own_corpus.folder / "valid.links"
    config = tiny_config(*SHORT, f"data.valid.alignment={file}", of=own_corpus)
    lines = file.read_text().split("\n")
    for content, words in ((lines[:1], "valid.links has 1 lines"), (["0-0 99-0", *lines[1:]], "valid.links:1: ")):
        file.write_text("\n".join(content))
        with pytest.raises(DataError, match=words):
            start_training(config, tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_links_are_of_no_use_between_pieces(tiny_config: Make, linked: str) -> None:
    texts = read_texts(tiny_config(*SHORT, linked, "alignment.unit=piece"))
    assert (texts.gold, texts.valid_gold) == (None, None)
    assert len([note for note in texts.notes if "alignment.unit is piece" in note]) == 1


def test_the_choice_is_kept_without_a_test_text(tiny_config: Make, linked: str, tmp_path: Path) -> None:
    start_training(tiny_config(*SHORT, linked, "data.test=null"), tmp_path / "run", device="cpu")
    assert json.loads((tmp_path / "run" / "meta.json").read_text())["alignment"]["layer"] in range(LAYERS)
