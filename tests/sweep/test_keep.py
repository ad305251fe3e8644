"""The small results of a sweep: enough for the same report and to go on elsewhere; no weights, and texts if wanted."""

import re
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nmt.checkpoint import RunFolder
from nmt.errors import CheckpointError
from nmt.experiment.train import Trained
from nmt.sweep.charts import charts_picture
from nmt.sweep.folder import Record, SweepFolder
from nmt.sweep.keep import keep_results
from nmt.sweep.page import make_page
from nmt.sweep.plan import load_plan
from nmt.sweep.start import open_sweep
from nmt.sweep.summary import summarise
from nmt.sweep.work import Row, Worker

Write = Callable[..., Path]
FOUR: dict[str, Any] = {"axes": {"model.dropout": [0.1, 0.3]}, "seeds": [1, 2]}


def finish(worker: Worker, stop: Callable[[list[Row]], bool] = lambda rows: False) -> dict[str, Row]:
    """Work until the end, or until `stop` says that the user stops it."""
    rows: list[Row] = []
    asked: list[bool] = []
    with closing(worker.work(lambda: bool(asked))) as stages:
        for rows in stages:
            if stop(rows):
                asked.append(True)
    return {row.name: row for row in rows}


@pytest.fixture
def swept(tmp_path: Path, trained: Trained) -> SweepFolder:
    """A sweep of one real run that finished and one that trains."""
    folder = SweepFolder(tmp_path / "swept")
    folder.describe(name="sweep", objective="bleu", axes=["size"], sampler="grid")
    for number, state in enumerate(("done", "running")):
        record = Record(f"run{number}", number, {"size": str(number)}, 1, "done" if state == "done" else "running")
        folder.write(record)
        shutil.copytree(trained.folder.path, folder.run(record.name))
    return folder


def test_a_report_of_what_is_kept_is_the_same(swept: SweepFolder, tmp_path: Path) -> None:
    kept = keep_results(swept, tmp_path / "kept")
    assert charts_picture(summarise(kept)) is not None
    assert make_page(summarise(kept)) == make_page(summarise(swept)).replace("run1: running", "run1: waiting")
    assert not list(kept.path.rglob("*.safetensors"))
    assert not list(kept.path.rglob("tokenizer*"))
    assert not kept.run("run1").exists()
    assert [record.state for record in kept.records()] == ["done", "waiting"]
    size = sum(file.stat().st_size for file in kept.path.rglob("*") if file.is_file())
    assert size < 50_000


def test_without_texts_no_sentence_is_in_the_copy(swept: SweepFolder, tmp_path: Path) -> None:
    (swept.run("run0") / "test.hyp").write_text("A word that nobody else would write: zyzzyva.\n" * 8, encoding="utf-8")
    with_texts = keep_results(swept, tmp_path / "kept")
    assert "zyzzyva" in make_page(summarise(with_texts))
    kept = keep_results(swept, tmp_path / "kept", texts=False)  # takes them away again
    files = [file.read_text(encoding="utf-8") for file in kept.path.rglob("*") if file.is_file()]
    page = make_page(summarise(kept))
    assert not any("zyzzyva" in text for text in [*files, page])
    names = {file.name for file in kept.run("run0").rglob("*") if file.is_file()}
    assert names == {"config.yaml", "meta.json", "metrics.jsonl", "test.scores.json", "test.ref.links"}
    assert "BLEU by the number of source words" in page


@pytest.mark.usefixtures("quick")
def test_elsewhere_a_sweep_goes_on_from_what_was_kept(
    write_sweep: Write, tmp_path: Path, corpus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(corpus.folder)
    plan = load_plan(write_sweep(**FOUR))
    here = SweepFolder(tmp_path / "here")
    worker = open_sweep(plan, here.path, resume=False)
    rows = finish(worker, lambda rows: sum(row.state == "done" for row in rows) == 2)
    before = {name for name, row in rows.items() if row.state == "done"}
    assert before == {"dropout0.1-seed1", "dropout0.3-seed1"}  # each setting once before any has its second seed
    there = keep_results(here, tmp_path / "there")
    shutil.copytree(corpus.folder, tmp_path / "machine")  # where the texts lie at another place
    monkeypatch.chdir(tmp_path / "machine")
    for name in before:
        assert str(corpus.folder) not in (there.run(name) / "config.yaml").read_text(encoding="utf-8")
    text = (tmp_path / "tiny.yaml").read_text(encoding="utf-8")
    (tmp_path / "tiny.yaml").write_text(text.replace(f"{corpus.folder}/", ""), encoding="utf-8")
    plan = load_plan(tmp_path / "sweep.yaml")
    rows = finish(open_sweep(plan, there.path, resume=True))
    assert {row.state for row in rows.values()} == {"done"}
    for run in plan.grid():
        folder = there.run(run.name)
        assert RunFolder(folder).meta()["finished"]
        assert (folder / "train.log").exists() == (run.name not in before)
    assert len(summarise(there).finished) == 2


@pytest.mark.usefixtures("quick")
def test_a_kept_run_of_another_config_is_not_taken_for_this_one(write_sweep: Write, tmp_path: Path) -> None:
    plan = load_plan(write_sweep(**FOUR))
    here = SweepFolder(tmp_path / "here")
    finish(open_sweep(plan, here.path, resume=False))
    there = keep_results(here, tmp_path / "there")
    run = RunFolder(there.run("dropout0.1-seed2"))
    run.write_config(run.config(["model.embedding=24"]))
    row = finish(open_sweep(plan, there.path, resume=True))["dropout0.1-seed2"]
    assert row.state == "failed"
    assert "a run with another model.embedding; move it away" in row.reason


@pytest.mark.usefixtures("quick")
def test_a_search_goes_on_from_its_state_alone(write_sweep: Write, tmp_path: Path) -> None:
    search = {"sampler": "random", "trials": 2}
    plan = load_plan(write_sweep(axes={"model.dropout": {"low": 0.1, "high": 0.3}}, search=search))
    here = SweepFolder(tmp_path / "here")
    finish(open_sweep(plan, here.path, resume=False))
    more = load_plan(write_sweep(axes={"model.dropout": {"low": 0.1, "high": 0.3}}, search=search | {"trials": 3}))
    there = keep_results(here, tmp_path / "there")
    assert len(finish(open_sweep(more, there.path, resume=True))) == 3
    there.database.unlink()
    with pytest.raises(CheckpointError, match=re.escape("sweep.db: is missing; a search cannot go on without")):
        open_sweep(more, there.path, resume=True)


def test_nothing_else_is_written_over(swept: SweepFolder, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is the sweep's own folder"):
        keep_results(swept, swept.path)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "mine.txt").touch()
    with pytest.raises(CheckpointError, match="holds files but no sweep"):
        keep_results(swept, tmp_path / "texts")
    other = SweepFolder(tmp_path / "other")
    other.describe(name="other", objective="bleu", axes=["size"], sampler="grid")
    with pytest.raises(CheckpointError, match="holds the sweep other"):
        keep_results(swept, other.path)
