"""The sweeps in configs/sweeps load, and expand to the runs that they promise."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nmt.config.load import differences, load_config
from nmt.sweep import plan as planning
from nmt.sweep.plan import load_plan

ROOT = Path(__file__).resolve().parents[2]
SWEEPS = ROOT / "configs" / "sweeps"


@pytest.fixture(autouse=True)
def _from_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_attention_has_every_kind_of_the_zoo_as_in_its_own_config(load_script: Callable[[str], ModuleType]) -> None:
    runs = load_plan(SWEEPS / "attention.yaml").grid()
    seeds = Counter(run.choices["attention"] for run in runs)
    assert list(seeds) == list(load_script("zoo").KINDS)
    assert sorted(name for name, count in seeds.items() if count == 2) == ["bahdanau", "local_p", "luong", "multihead"]
    assert set(seeds.values()) == {1, 2}
    for run in runs:
        own = load_config(ROOT / "configs" / f"{run.choices['attention']}.yaml")
        allowed = {"name", "seed", "training.max_minutes"}
        assert set(differences(own, run.config)) <= allowed, run.name
        assert run.config.model == own.model


def test_each_has_the_name_of_its_file_which_scripts_rely_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_missing_files", lambda data: [])
    files = sorted(SWEEPS.glob("*.yaml"))
    assert files
    for file in files:
        plan = load_plan(file)
        assert plan.section.name == file.stem
        assert len(plan.grid()) > 1
        assert not (ROOT / "configs" / file.name).exists(), "runs/NAME would be both"


def test_encoders_are_those_of_their_own_configs() -> None:
    for run in load_plan(SWEEPS / "encoders.yaml").grid():
        own = load_config(ROOT / "configs" / f"{run.choices['encoder']}.yaml")
        assert set(differences(own, run.config)) <= {"name", "training.max_minutes"}, run.name


def test_multi30k_gives_each_model_the_same_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_missing_files", lambda data: [])  # the corpus is fetched, not shipped
    runs = load_plan(SWEEPS / "multi30k.yaml").grid()
    assert {run.choices["model"]: run.config.model.decoder.type for run in runs} == {
        "bahdanau": "gru",
        "bahdanau_guided": "gru",
        "multihead": "gru",
        "multihead_guided": "gru",
        "luong": "gru",
        "luong_no_feeding": "gru",
        "local_p": "gru",
        "transformer": "transformer",
    }
    limits = {(run.config.training.max_steps, run.config.training.max_epochs) for run in runs}
    assert limits == {(None, None)}
    assert {run.config.training.max_minutes for run in runs} == {12}
    transformer = load_config(ROOT / "configs" / "multi30k_transformer.yaml")
    run = next(run for run in runs if run.choices["model"] == "transformer")
    changed = {"name", "data.test.alignment", "training.max_epochs", "training.max_minutes"}
    batches = {"training.batch_sentences", "training.warmup", "training.validate_every"}
    assert set(differences(transformer, run.config)) == changed | batches
    assert not batches & set(differences(run.config, runs[0].config)), "they are those of the others"
    for name in ("bahdanau", "multihead"):
        plain, guided = (next(run for run in runs if run.choices["model"] == kind) for kind in (name, f"{name}_guided"))
        assert set(differences(plain.config, guided.config)) == {"name", "training.guided_alignment"}


def test_the_example_in_the_readme_is_a_sweep(tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Many experiments", 1)[1]
    yaml = section.split("```yaml\n", 1)[1].split("```", 1)[0]
    (tmp_path / "example.yaml").write_text(yaml, encoding="utf-8")
    runs = load_plan(tmp_path / "example.yaml").grid()
    assert [run.name for run in runs] == [
        "bahdanau-dropout0.1-seed1",
        "bahdanau-dropout0.1-seed2",
        "bahdanau-dropout0.3-seed1",
        "bahdanau-dropout0.3-seed2",
        "luong-dropout0.1-seed1",
        "luong-dropout0.3-seed1",
    ]
    search = re.sub(r"# (search: {.*}).*", r"\1", yaml).replace("[1, 2] ", "[1] ")
    (tmp_path / "search.yaml").write_text(search.replace(", seeds: [1]}", "}"), encoding="utf-8")
    assert load_plan(tmp_path / "search.yaml").section.search.pruner == "median"
