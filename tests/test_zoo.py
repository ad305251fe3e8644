"""The zoo: a config for every kind, and a page that is what its kept results say."""

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from nmt.attention import ATTENTIONS
from nmt.attention.normalizers import NORMALIZERS
from nmt.attention.scores import SCORES
from nmt.config.attention import LocalAttention, LuongAttention, MemoryAttention, NoAttention
from nmt.config.load import load_config
from nmt.data.corpus import read_lines
from nmt.experiment.train import Trained

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "zoo"


@pytest.fixture(scope="module")
def zoo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("zoo", ROOT / "scripts" / "zoo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    assert (ROOT / "docs" / "attention.md").read_text(encoding="utf-8") == zoo.page(KEPT)


def test_every_kind_was_trained_and_nothing_else_is_kept(zoo: ModuleType) -> None:
    assert {path.parent.name for path in KEPT.glob("*/scores.json")} == zoo.KINDS.keys()
    for name in zoo.KINDS:
        section = load_config(ROOT / "configs" / f"{name}.yaml").model.attention
        has_weights = not isinstance(section, NoAttention)
        names = {path.name for path in (KEPT / name).iterdir() if not path.name.startswith("alignment.h")}
        wanted = {"scores.json", "metrics.jsonl"}
        assert names == wanted | ({"test.ref.links", "alignment.png", "alignment.jsonl"} if has_weights else set())
        if has_weights:
            assert len(read_lines(KEPT / name / "test.ref.links")) == 600


def test_what_the_page_needs_is_kept_of_a_run(
    zoo: ModuleType, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zoo, "SENTENCE", 2)
    zoo.keep(trained.folder.path, tmp_path / "zoo" / "bahdanau")
    kept = {path.name for path in (tmp_path / "zoo" / "bahdanau").iterdir()}
    assert kept == {"scores.json", "metrics.jsonl", "test.ref.links", "alignment.png", "alignment.jsonl"}
    scores = json.loads((tmp_path / "zoo" / "bahdanau" / "scores.json").read_text(encoding="utf-8"))
    written = json.loads(trained.folder.scores_file.read_text(encoding="utf-8"))
    assert scores.items() >= written.items()
    assert scores["updates"] == 100
    assert sum(bucket["sentences"] for bucket in scores["by_length"]) == 8
    shutil.copy(KEPT / "introduction.md", tmp_path / "zoo")
    speed = {"bahdanau": {"tokens_per_second": 1234.4}}
    (tmp_path / "zoo" / "speed.json").write_text(json.dumps(speed), encoding="utf-8")
    page = zoo.page(tmp_path / "zoo")
    assert f"| {written['bleu']['value']:.1f} ± {written['bleu']['interval']:.1f} |" in page
    assert "| 1,234 | 1.00 |" in page
    assert "α_t = softmax(e_t)" in page
    assert "![where Bahdanau: additive, before the step looked](zoo/bahdanau/alignment.png)" in page
