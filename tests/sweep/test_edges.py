"""What seldom happens to a sweep: a refused draw, another sweep's folder, an end at a bad moment, doubles."""

import shutil
import signal
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState

from nmt.checkpoint import RunFolder
from nmt.errors import CheckpointError
from nmt.sweep.folder import SweepFolder
from nmt.sweep.keep import keep_results
from nmt.sweep.plan import Plan, load_plan
from nmt.sweep.start import open_sweep
from nmt.sweep.study import Study
from nmt.sweep.summary import summarise
from nmt.sweep.work import Row, Worker

Write = Callable[..., Path]
SEARCH = {"sampler": "random", "trials": 3}


def finish(worker: Worker) -> dict[str, Row]:
    found: dict[str, Row] = {}
    with closing(worker.work(lambda: False)) as stages:
        for rows in stages:
            found = {row.name: row for row in rows}
    return found


def states(folder: SweepFolder) -> list[str]:
    return [record.state for record in folder.records()]


@pytest.mark.usefixtures("quick")
def test_a_draw_that_is_no_config_is_a_failed_run(
    write_sweep: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = {"model.dropout": {"low": 0.1, "high": 0.3}, "model.encoder.hidden": [16, 32]}
    plan, folder = load_plan(write_sweep(axes=axes, search=SEARCH)), SweepFolder(tmp_path / "out")
    sound = Plan.build

    def build(self: Plan, choices: Any, *, name: str = "run", seed: int = 1) -> Any:
        if name == "0001":  # as a schema does that allows multiples of something alone
            choices = [choice if choice.axis == "model.dropout" else _odd(choice) for choice in choices]
        return sound(self, choices, name=name, seed=seed)

    monkeypatch.setattr(Plan, "build", build)
    rows = finish(open_sweep(plan, folder.path, resume=False))
    assert {name: row.state for name, row in rows.items()} == {"0000": "done", "0001": "failed", "0002": "done"}
    record = folder.records()[1]
    assert record.state == "failed"
    assert "model.encoder.hidden: 17 " in record.reason
    assert "\n" not in record.reason
    assert set(record.choices) == set(axes)
    monkeypatch.undo()


def _odd(choice: Any) -> Any:
    return type(choice)(choice.axis, "17", choice.where, {"model.encoder.hidden": 17})


@pytest.mark.usefixtures("quick")
def test_a_folder_of_another_sweep_is_left_alone(write_sweep: Write, tmp_path: Path) -> None:
    plan, folder = load_plan(write_sweep(axes={"model.dropout": [0.1, 0.2]})), SweepFolder(tmp_path / "out")
    finish(open_sweep(plan, folder.path, resume=False))
    kept = keep_results(folder, tmp_path / "kept")
    other = load_plan(write_sweep(axes={"model.dropout": [0.1, 0.2]}, name="other"))
    for path in (folder.path, kept.path):
        with pytest.raises(CheckpointError, match=r"another name 'sweep'; name another folder"):
            open_sweep(other, path, resume=True)
    renamed = load_plan(write_sweep(variants={"size": {"a": {"model.dropout": 0.1}}}))
    with pytest.raises(CheckpointError, match="another axes"):
        open_sweep(renamed, kept.path, resume=True)
    fewer = load_plan(write_sweep(axes={"model.dropout": [0.1]}))
    with pytest.raises(CheckpointError, match=r"runs that the YAML does not ask for: dropout0\.2-seed1; put them back"):
        open_sweep(fewer, kept.path, resume=True)
    more = load_plan(write_sweep(axes={"model.dropout": [0.1, 0.2, 0.3]}))
    assert {row.state for row in finish(open_sweep(more, kept.path, resume=True)).values()} == {"done"}


@pytest.mark.usefixtures("quick")
def test_a_result_that_was_kept_but_not_told_is_found_again(
    write_sweep: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, folder = load_plan(write_sweep(axes={"model.dropout": [0.1]})), SweepFolder(tmp_path / "out")
    worker = open_sweep(plan, folder.path, resume=False)

    def lost(*_: object) -> None:
        raise CheckpointError("the database cannot be used")

    monkeypatch.setattr(worker._study, "done", lost)
    with pytest.raises(CheckpointError):
        finish(worker)
    assert states(folder) == ["done"]
    assert {row.state for row in finish(open_sweep(plan, folder.path, resume=True)).values()} == {"done"}
    assert len((folder.run("dropout0.1-seed1") / "train.log").read_text().splitlines()) == 1


@pytest.mark.usefixtures("quick")
def test_when_the_sweep_ends_by_an_error_its_trainings_save(write_sweep: Write, tmp_path: Path) -> None:
    plan, folder = load_plan(write_sweep(axes={"model.dropout": [0.1]})), SweepFolder(tmp_path / "out")
    worker = open_sweep(plan, folder.path, resume=False)
    (folder.path / "hold").touch()
    with closing(worker.work(lambda: False)) as stages:
        next(rows for rows in stages if rows[0].step == 5)
        (training,) = worker._own.values()  # and then who reads the stages fails
    assert training.child.asked == 1, "a second time is to stop without saving"
    assert states(folder) == ["waiting"]
    assert (folder.run("dropout0.1-seed1") / "last" / "state.safetensors").read_text() == "5"


@pytest.mark.usefixtures("quick")
def test_a_training_that_the_system_stopped_with_the_sweep_is_given_back(write_sweep: Write, tmp_path: Path) -> None:
    plan, folder = load_plan(write_sweep(axes={"model.dropout": [0.1]})), SweepFolder(tmp_path / "out")
    worker = open_sweep(plan, folder.path, resume=False)
    (folder.path / "hold").touch()
    stop = threading.Event()
    with closing(worker.work(stop.is_set)) as stages:
        for rows in stages:
            if rows[0].step == 5 and not stop.is_set():
                (training,) = worker._own.values()
                process = training.child._process
                assert process is not None
                process.send_signal(signal.SIGINT)  # its own; the sweep's comes when it has ended
                process.wait()
                stop.set()
    assert states(folder) == ["waiting"]


@pytest.mark.usefixtures("quick")
def test_a_sweep_that_was_stopped_while_it_began_can_be_begun(write_sweep: Write, tmp_path: Path) -> None:
    plan, folder = load_plan(write_sweep(axes={"model.dropout": [0.1]})), SweepFolder(tmp_path / "out")
    Study(plan, folder, join=False)  # the database is there, the description is not
    assert {row.state for row in finish(open_sweep(plan, folder.path, resume=False)).values()} == {"done"}


@pytest.mark.usefixtures("quick")
def test_an_attempt_without_a_name_keeps_nobody_waiting(
    write_sweep: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, folder = load_plan(write_sweep(axes={"model.dropout": [0.1, 0.2]})), SweepFolder(tmp_path / "out")
    worker = open_sweep(plan, folder.path, resume=False)
    worker._study._study.ask().set_user_attr("host", worker._study._host)  # killed while it chose
    assert {row.state for row in finish(worker).values()} == {"done"}


@pytest.mark.usefixtures("quick")
def test_doubles_are_taken_up_again(write_sweep: Write, tmp_path: Path) -> None:
    """Two machines that chose one run at once have both left it."""
    plan, folder = load_plan(write_sweep(axes={"model.dropout": [0.1]})), SweepFolder(tmp_path / "out")
    worker = open_sweep(plan, folder.path, resume=False)
    study = worker._study
    for _ in range(2):
        trial = study._study.ask()
        study._chosen(trial)
        trial.set_user_attr("double", True)
        study._study.tell(trial, state=TrialState.FAIL)
    assert [row.state for row in finish(worker).values()] == ["done"]


@pytest.mark.usefixtures("quick")
def test_what_a_search_draws_twice_counts_once(write_sweep: Write, tmp_path: Path) -> None:
    plan = load_plan(write_sweep(axes={"model.dropout": [0.1]}, search=SEARCH))
    folder = SweepFolder(tmp_path / "out")
    finish(open_sweep(plan, folder.path, resume=False))
    summary = summarise(folder)
    assert [len(setting.results) for setting in summary.settings] == [1]
    assert summary.left_out == [f"{name}: the same choices and seed as 0000" for name in ("0001", "0002")]


@pytest.mark.usefixtures("quick")
def test_a_process_sees_how_far_the_runs_of_others_are(write_sweep: Write, tmp_path: Path) -> None:
    plan, folder = load_plan(write_sweep(axes={"model.dropout": [0.1]})), SweepFolder(tmp_path / "out")
    worker = open_sweep(plan, folder.path, resume=False)
    (folder.path / "hold").touch()
    with closing(worker.work(lambda: False)) as stages:
        next(rows for rows in stages if rows[0].step == 5)
        other = open_sweep(plan, folder.path, resume=True)
        with closing(other.work(lambda: True)) as seen:
            (row,) = next(seen)
    assert (row.state, row.step, row.score) == ("running", 5, pytest.approx(100 * 0.1 * 4 / 6))
    assert row.left is not None


@pytest.mark.usefixtures("quick")
def test_of_a_damaged_run_what_was_kept_stays(write_sweep: Write, tmp_path: Path) -> None:
    plan, folder = load_plan(write_sweep(axes={"model.dropout": [0.1, 0.2]})), SweepFolder(tmp_path / "out")
    finish(open_sweep(plan, folder.path, resume=False))
    shutil.rmtree(folder.run("dropout0.2-seed1"))
    kept = keep_results(folder, tmp_path / "kept")
    assert states(kept) == ["done", "waiting"]
    shutil.rmtree(folder.run("dropout0.1-seed1"))
    kept = keep_results(folder, tmp_path / "kept")
    assert states(kept) == ["done", "waiting"]
    assert RunFolder(kept.run("dropout0.1-seed1")).meta()["finished"]


@pytest.mark.usefixtures("quick")
def test_a_folder_may_have_braces_in_its_name(write_sweep: Write, tmp_path: Path) -> None:
    plan, folder = load_plan(write_sweep(axes={"model.dropout": [0.1]})), SweepFolder(tmp_path / "a {b}")
    assert {row.state for row in finish(open_sweep(plan, folder.path, resume=False)).values()} == {"done"}
    assert folder.database.exists()
