"""The zoo: a config for every kind, and a page that is what its kept results say."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nmt.alignment.links import read_links
from nmt.attention import ATTENTIONS
from nmt.attention.normalizers import NORMALIZERS
from nmt.attention.scores import SCORES
from nmt.config.attention import LocalAttention, LuongAttention, MemoryAttention, NoAttention
from nmt.config.load import load_config
from nmt.evaluation.aer import score_alignments
from nmt.experiment.train import Trained
from nmt.sweep.folder import Record, SweepFolder
from nmt.sweep.keep import keep_results
from nmt.sweep.summary import summarise

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def zoo(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("zoo")


def test_every_mechanism_variant_score_and_normalizer_is_in_the_zoo(zoo: ModuleType) -> None:
    sections = [load_config(ROOT / "configs" / f"{name}.yaml").model.attention for name in zoo.KINDS]
    assert {section.type for section in sections} == ATTENTIONS.keys()
    local = [section for section in sections if isinstance(section, LocalAttention)]
    assert {section.variant for section in local} == {"local_m", "local_p"}
    memory = [section for section in sections if isinstance(section, MemoryAttention)]
    assert {section.tying for section in memory} == {"adjacent", "layerwise"}
    luong = [section for section in sections if isinstance(section, LuongAttention)]
    assert {section.score for section in luong} | {"additive"} == SCORES.keys()  # additive is Bahdanau's
    assert {section.input_feeding for section in luong} == {True, False}
    normalizers = {getattr(section, "normalizer", "softmax") for section in sections}
    assert normalizers == NORMALIZERS.keys()


def test_the_page_is_what_was_kept(zoo: ModuleType) -> None:
    """Rebuilt without training; a result, a config or a docstring that changes must change the page."""
    assert zoo.PAGE.read_text(encoding="utf-8") == zoo.page(zoo.SWEEP, zoo.DRAWN)


def test_every_kind_was_trained_and_drawn_and_nothing_else_is_kept(zoo: ModuleType) -> None:
    summary = summarise(SweepFolder(zoo.SWEEP))
    assert [setting.name for setting in summary.settings] == list(zoo.KINDS)
    assert list(summary.left_out) == []
    drawn = {path.name for path in zoo.DRAWN.iterdir() if path.is_dir()}
    has_weights = {
        name
        for name in zoo.KINDS
        if not isinstance(load_config(ROOT / "configs" / f"{name}.yaml").model.attention, NoAttention)
    }
    assert drawn == has_weights == zoo.KINDS.keys() - {"none"}
    for name in drawn:
        names = {path.name for path in (zoo.DRAWN / name).iterdir() if not path.name.startswith("alignment.h")}
        assert names == {"alignment.png", "alignment.jsonl"}


def test_the_error_rate_of_every_kind_is_that_of_its_kept_links(zoo: ModuleType) -> None:
    gold = read_links(ROOT / "data" / "demo" / "test.links")
    for setting in summarise(SweepFolder(zoo.SWEEP)).finished:
        for result in setting.results if setting.name != "none" else ():
            links = [one.possible for one in read_links(result.folder.path / "test.ref.links")]
            found = score_alignments(links, gold)
            assert result.meta["scores"]["aer"]["value"] == pytest.approx(found.aer), result.record.name


def test_what_the_page_needs_is_drawn_and_kept_of_a_run(
    zoo: ModuleType, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zoo, "SENTENCE", 2)
    folder = SweepFolder(tmp_path / "attention")
    folder.describe(name="attention", objective="bleu", axes=["attention"], sampler="grid")
    folder.write(Record("bahdanau-seed1", 0, {"attention": "bahdanau"}, 1, "done"))
    folder.run("bahdanau-seed1").parent.mkdir()
    folder.run("bahdanau-seed1").symlink_to(trained.folder.path)
    zoo.draw(folder.path, tmp_path / "zoo")
    assert {path.name for path in (tmp_path / "zoo" / "bahdanau").iterdir()} == {"alignment.png", "alignment.jsonl"}
    (tmp_path / "zoo" / "introduction.md").write_text("# The zoo\n", encoding="utf-8")
    (tmp_path / "zoo" / "speed.json").write_text(json.dumps({"bahdanau": {"tokens_per_second": 1234.4}}), "utf-8")
    kept = keep_results(folder, tmp_path / "kept").path
    zoo.draw(kept, tmp_path / "none")  # without weights there is nothing to draw from
    assert not (tmp_path / "none").exists()
    page = zoo.page(kept, tmp_path / "zoo")
    written = json.loads(trained.folder.scores_file.read_text(encoding="utf-8"))
    assert f"| {written['bleu']['value']:.1f} ± {written['bleu']['interval']:.1f} |" in page
    assert "| 1,234 | 1.00 |" in page
    assert "α_t = softmax(e_t)" in page
    assert "![where Bahdanau: additive, before the step looked](zoo/bahdanau/alignment.png)" in page
    zoo.draw_lengths(kept, tmp_path / "by_length.png")
    assert (tmp_path / "by_length.png").exists()
