"""Work on a sweep: grids and searches, failures, interruptions, crashes, several processes, each run trained once."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nmt.checkpoint import RunFolder
from nmt.data.corpus import read_lines
from nmt.errors import CheckpointError
from nmt.sweep import study as study_module
from nmt.sweep.folder import SweepFolder
from nmt.sweep.plan import load_plan
from nmt.sweep.start import open_sweep
from nmt.sweep.study import Claim, Study
from nmt.sweep.work import Row, Worker, cores

Write = Callable[..., Path]
FAKE = Path(__file__).with_name("fake_train.py")
PROGRAM = f"""
import sys
from nmt.sweep import child, work
child.TRAIN, work._LOOK, work._ASK = (sys.executable, {str(FAKE)!r}), 0.01, 0.05
from nmt.cli.app import main
main()
"""
TWO_BY_TWO: dict[str, Any] = {
    "axes": {"model.dropout": [0.1, 0.3]},
    "variants": {"size": {"small": {}, "wide": {"model.encoder.hidden": 32}}},
    "seeds": [1, 2],
}


def finish(worker: Worker, stop: Callable[[list[Row]], bool] = lambda rows: False) -> list[Row]:
    """Work until the end, or until `stop` says that the user stops it."""
    rows: list[Row] = []
    asked = threading.Event()
    with closing(worker.work(asked.is_set)) as stages:
        for rows in stages:
            if stop(rows):
                asked.set()
    return rows


def starts(folder: Path) -> dict[str, list[str]]:
    """From which step each run of a sweep started, as often as it did."""
    logs = folder.glob("runs/*/train.log")
    return {log.parent.name: [line.split(" with")[0] for line in read_lines(log)] for log in logs}


def program(path: Path, folder: Path, *options: str) -> "subprocess.Popen[str]":
    """`nmt sweep` as a process of its own, whose trainings are fake."""
    command = [sys.executable, "-c", PROGRAM, "sweep", "--config", str(path), "--output", str(folder), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(what: Callable[[], bool], seconds: float = 60.0) -> None:
    stop = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < stop
        time.sleep(0.02)


@pytest.mark.usefixtures("quick")
def test_every_combination_is_trained_once_in_a_run_folder_of_its_own(write_sweep: Write, tmp_path: Path) -> None:
    plan = load_plan(write_sweep(**TWO_BY_TWO))
    rows = finish(open_sweep(plan, tmp_path / "out", resume=False, jobs=2))
    assert {row.name: row.state for row in rows} == {run.name: "done" for run in plan.grid()}
    assert len(rows) == 8
    assert starts(tmp_path / "out") == {run.name: ["from step 0"] for run in plan.grid()}
    for run in plan.grid():
        folder = RunFolder(tmp_path / "out" / "runs" / run.name)
        assert folder.config() == run.config
        assert read_lines(folder.log_file)[0].endswith(f"with {max(1, cores() // 2)} threads")
    records = SweepFolder(tmp_path / "out").records()
    assert [record.name for record in records] == [run.name for run in plan.grid()]
    assert {record.state for record in records} == {"done"}
    dropouts = {row.name: row.score for row in rows}
    assert dropouts["small-dropout0.3-seed1"] == pytest.approx(30.0)


@pytest.mark.usefixtures("quick")
def test_a_run_that_fails_is_listed_and_ends_nothing(write_sweep: Write, tmp_path: Path) -> None:
    pieces = {f"p{number}": {"tokenizer.vocabulary_size": number} for number in (8, 9, 10, 80)}
    plan = load_plan(write_sweep(variants={"pieces": pieces}))
    rows = {row.name: row for row in finish(open_sweep(plan, tmp_path / "out", resume=False))}
    assert {name: row.reason for name, row in rows.items()} == {
        "p8-seed1": "tokenizer.vocabulary_size: 8 is too small",
        "p9-seed1": "ZeroDivisionError: by nobody's mistake",
        "p10-seed1": "killed by SIGKILL, perhaps for want of memory",
        "p80-seed1": "",
    }
    assert [row.state for row in rows.values()] == ["failed", "failed", "failed", "done"]
    kept = {record.name: record for record in SweepFolder(tmp_path / "out").records()}
    assert kept["p9-seed1"].reason == rows["p9-seed1"].reason
    # Once more, failed runs are tried anew and those that are done are left alone.
    again = finish(open_sweep(plan, tmp_path / "out", resume=True))
    assert [row.state for row in again] == ["failed", "failed", "failed", "done"]
    assert starts(tmp_path / "out") == {"p80-seed1": ["from step 0"]}


@pytest.mark.usefixtures("quick")
def test_an_interruption_saves_all_and_each_goes_on_in_its_folder(write_sweep: Write, tmp_path: Path) -> None:
    plan, out = load_plan(write_sweep(axes={"model.dropout": [0.1, 0.2, 0.3]})), tmp_path / "out"
    worker = open_sweep(plan, out, resume=False, jobs=2)
    (out / "hold").touch()
    finish(worker, lambda rows: sum(row.step == 5 for row in rows) == 2)
    assert [record.state for record in SweepFolder(out).records()] == ["waiting"] * 3
    saved = {file.parents[1].name: file.read_text() for file in out.glob("runs/*/last/state.safetensors")}
    assert list(saved.values()) == ["5", "5"]
    (out / "hold").unlink()
    rows = finish(open_sweep(plan, out, resume=True, jobs=2))
    assert {row.state for row in rows} == {"done"}
    for name, lines in starts(out).items():
        assert lines == ["from step 0"] + (["from step 5"] if name in saved else [])


@pytest.mark.usefixtures("quick")
def test_a_second_ctrl_c_stops_at_once_and_gives_the_runs_back(write_sweep: Write, tmp_path: Path) -> None:
    plan, out = load_plan(write_sweep(axes={"model.dropout": [0.1]})), tmp_path / "out"
    worker = open_sweep(plan, out, resume=False)
    (out / "hold").touch()
    with closing(worker.work(lambda: False)) as stages:
        next(rows for rows in stages if rows[0].step == 5)  # then what a KeyboardInterrupt does: the work is left
    assert [record.state for record in SweepFolder(out).records()] == ["waiting"]
    assert not SweepFolder(out).is_held("dropout0.1-seed1")


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_training_that_outlives_its_sweep_is_let_come_to_its_end(write_sweep: Write, tmp_path: Path) -> None:
    path, out = write_sweep(axes={"model.dropout": [0.1, 0.2]}), tmp_path / "out"
    hold = out / "hold"
    process = program(path, out)
    wait_for(out.exists)
    hold.touch()
    wait_for(lambda: len(list(out.glob("runs/*/metrics.jsonl"))) == 1)
    process.kill()
    process.communicate()
    (name,) = starts(out)
    assert SweepFolder(out).is_held(name)
    worker = open_sweep(load_plan(path), out, resume=True)
    hold.unlink()
    assert [row.state for row in finish(worker)] == ["done", "done"]
    assert list(starts(out).values()) == [["from step 0"]] * 2


def test_a_run_whose_process_is_gone_is_taken_up_at_once(write_sweep: Write, tmp_path: Path, quick: None) -> None:
    plan = load_plan(write_sweep(axes={"model.dropout": [0.1]}))
    folder = SweepFolder(tmp_path / "out")
    worker = open_sweep(plan, folder.path, resume=False)
    claim = worker._study.claim()
    assert claim is not None
    other = Study(plan, folder, join=True)
    assert other.claim() is None
    assert {one.state for one in other.standings().values()} == {"running"}
    claim.lock.close()  # as the system does when the process ends, however that came about
    rows = finish(open_sweep(plan, folder.path, resume=True))
    assert [row.state for row in rows] == ["done"]


def test_a_run_of_a_machine_that_is_gone_is_taken_up_when_its_heart_has_stopped(
    write_sweep: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, folder = load_plan(write_sweep(axes={"model.dropout": [0.1]})), SweepFolder(tmp_path / "out")
    monkeypatch.setattr(study_module.socket, "gethostname", lambda: "elsewhere")
    claim = Study(plan, folder, join=False).claim()
    assert claim is not None
    claim.lock.close()
    monkeypatch.undo()
    assert Study(plan, folder, join=True).claim() is None
    impatient = Study(plan, folder, join=True, beat=1, grace=1)
    found: list[Claim | None] = []
    wait_for(lambda: found.append(impatient.claim()) or found[-1] is not None)
    assert found[-1] is not None
    assert (found[-1].run.name, found[-1].number) == (claim.run.name, claim.number)


@pytest.mark.slow
def test_two_processes_share_a_sweep(write_sweep: Write, tmp_path: Path) -> None:
    """The same command twice, on a database that the YAML names: each run is trained once, by one of them."""
    storage = f"sqlite:///{tmp_path}/state.db"
    path, out = write_sweep(**TWO_BY_TWO, storage=storage), tmp_path / "out"
    processes = [program(path, out) for _ in range(2)]
    said = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    names = [run.name for run in load_plan(path).grid()]
    assert starts(out) == {name: ["from step 0"] for name in names}
    assert not (out / "sweep.db").exists()
    assert "secret" not in (out / "sweep.json").read_text(encoding="utf-8")


@pytest.mark.slow
def test_ctrl_c_ends_the_command_with_130_and_says_how_to_go_on(write_sweep: Write, tmp_path: Path) -> None:
    path, out = write_sweep(axes={"model.dropout": [0.1]}), tmp_path / "out"
    process = program(path, out)
    wait_for(out.exists)
    (out / "hold").touch()
    wait_for(lambda: len(list(out.glob("runs/*/metrics.jsonl"))) == 1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    last = errors.strip().splitlines()[-1]
    assert last == f"ended: interrupted; go on with: nmt sweep --resume --config {path} --output {out}"
    assert len(list(out.glob("runs/*/last/state.safetensors"))) == 1


def test_the_pruner_gives_up_what_is_below_the_median(write_sweep: Write, tmp_path: Path) -> None:
    search = {"pruner": "median", "startup_trials": 1}
    plan = load_plan(write_sweep(axes={"model.dropout": [0.1, 0.2, 0.3, 0.4]}, search=search))
    study = Study(plan, SweepFolder(tmp_path / "out"), join=False)
    first, bad, good, other = (study.claim() for _ in range(4))
    assert first is not None
    assert bad is not None
    assert good is not None
    assert other is not None
    assert not study.report(first, 2, 50.0)
    assert not study.report(bad, 2, 10.0), "nothing has finished to compare with"
    study.done(first, 50.0)
    assert not study.report(good, 2, 60.0)
    assert study.report(other, 2, 40.0)
    study.pruned(other, "worse")
    states = {name: standing.state for name, standing in study.standings().items()}
    expected = {first.run.name: "done", bad.run.name: "running", good.run.name: "running", other.run.name: "pruned"}
    assert states == expected


@pytest.mark.usefixtures("quick")
def test_a_run_that_is_pruned_is_stopped_and_listed(
    write_sweep: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, out = load_plan(write_sweep(axes={"model.dropout": [0.1, 0.2]})), tmp_path / "out"
    worker = open_sweep(plan, out, resume=False)
    (out / "hold").touch()
    reported: list[tuple[int, float]] = []

    def report(claim: Claim, step: int, value: float) -> bool:
        reported.append((step, round(value, 1)))
        return step == 4

    monkeypatch.setattr(worker._study, "report", report)
    rows = finish(worker)
    assert [row.state for row in rows] == ["pruned", "pruned"]
    assert rows[0].reason.startswith("pruned after step ")
    assert sorted(reported) == [(2, 3.3), (2, 6.7), (4, 6.7), (4, 13.3)]
    again = finish(open_sweep(plan, out, resume=True))
    assert [row.state for row in again] == ["pruned", "pruned"]


@pytest.mark.usefixtures("quick")
def test_a_search_draws_from_a_range_and_no_run_twice(write_sweep: Write, tmp_path: Path) -> None:
    axes = {"training.learning_rate": {"low": 0.001, "high": 0.1, "log": True}, "model.dropout": [0.1, 0.3]}
    search = {"sampler": "random", "trials": 3}
    out = tmp_path / "out"
    rows = finish(open_sweep(load_plan(write_sweep(axes=axes, search=search)), out, resume=False))
    assert [row.name for row in rows] == ["0000", "0001", "0002"]
    more = load_plan(write_sweep(axes=axes, search={**search, "trials": 4}))
    assert len(finish(open_sweep(more, out, resume=True))) == 4
    rates = [RunFolder(out / "runs" / f"{number:04}").config().training.learning_rate for number in range(4)]
    assert len(set(rates)) == 4
    assert all(0.001 <= rate <= 0.1 for rate in rates)
    records = SweepFolder(out).records()
    assert [float(record.choices["training.learning_rate"]) for record in records] == pytest.approx(rates, rel=1e-5)


@pytest.mark.usefixtures("quick")
def test_tpe_may_be_judged_by_the_test(write_sweep: Write, tmp_path: Path) -> None:
    search = {"sampler": "tpe", "trials": 3, "objective": "test_bleu"}
    path = write_sweep(axes={"model.dropout": [0.1, 0.5]}, search=search)
    rows = finish(open_sweep(load_plan(path), tmp_path / "out", resume=False))
    assert [row.state for row in rows] == ["done"] * 3


def test_another_sweep_or_other_files_in_the_way_are_refused(write_sweep: Write, tmp_path: Path, quick: None) -> None:
    plan, out = load_plan(write_sweep(axes={"model.dropout": [0.1]})), tmp_path / "out"
    with pytest.raises(CheckpointError, match="not a sweep's folder"):
        open_sweep(plan, out, resume=True)
    open_sweep(plan, out, resume=False)
    with pytest.raises(CheckpointError, match="there is a sweep already; go on with it"):
        open_sweep(plan, out, resume=False)
    other = load_plan(write_sweep("training.clip=5.0", axes={"model.dropout": [0.2]}))
    with pytest.raises(CheckpointError, match=r"begun with another sweep\.axes, config\.training;"):
        open_sweep(other, out, resume=True)
    with pytest.raises(CheckpointError, match="holds files but no sweep"):
        open_sweep(plan, tmp_path, resume=False)


def test_a_database_that_cannot_be_reached_is_told_in_one_line(write_sweep: Write, tmp_path: Path) -> None:
    plan = load_plan(write_sweep(axes={"model.dropout": [0.1]}, storage="sqlite:////nowhere/at/all.db"))
    with pytest.raises(CheckpointError, match="the database cannot be used") as refused:
        open_sweep(plan, tmp_path / "out", resume=False)
    assert "\n" not in str(refused.value)
    mended = load_plan(write_sweep(axes={"model.dropout": [0.1]}, storage=f"sqlite:///{tmp_path}/state.db"))
    open_sweep(mended, tmp_path / "out", resume=False)


def test_a_driver_that_is_missing_is_named_and_a_password_is_not(
    write_sweep: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    plan = load_plan(write_sweep(axes={"model.dropout": [0.1]}, storage="postgresql+psycopg://me:s3cret@host:5/sweeps"))
    with pytest.raises(CheckpointError) as refused:
        open_sweep(plan, tmp_path / "out", resume=False)
    where = "postgresql+psycopg://me:***@host:5/sweeps"
    assert str(refused.value) == f"{where}: the database cannot be used; its driver is missing: pip install psycopg"


@pytest.mark.usefixtures("quick")
def test_a_process_that_was_taken_for_dead_does_no_harm(
    write_sweep: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It trains on, and another one, which has the run now, lets it end and finds what came of it."""
    plan, folder = load_plan(write_sweep(axes={"model.dropout": [0.1]})), SweepFolder(tmp_path / "out")
    monkeypatch.setattr(study_module.socket, "gethostname", lambda: "elsewhere")
    slow = Study(plan, folder, join=False)
    claim = slow.claim()
    assert claim is not None
    monkeypatch.undo()
    impatient = Study(plan, folder, join=True, beat=1, grace=1)
    wait_for(lambda: impatient.claim() is None and impatient.standings()[claim.run.name].state == "waiting")
    assert impatient.claim() is None, "its lock is held"
    assert not slow.report(claim, 2, 10.0)
    slow.done(claim, 10.0)
    claim.lock.close()
    taken = impatient.claim()
    assert taken is not None
    impatient.done(taken, 10.0)
    assert slow.standings()[claim.run.name].state == "done"


def test_without_optuna_one_line_says_how_to_install_it(write_sweep: Write, tmp_path: Path) -> None:
    path = write_sweep(axes={"model.dropout": [0.1]})
    code = "import sys; sys.modules['optuna'] = None; from nmt.cli.app import main; main()"
    command = [sys.executable, "-c", code, "sweep", "--config", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ})
    line = "nmt: nmt sweep needs the package optuna, which is missing: pip install optuna\n"
    assert (result.returncode, result.stderr) == (2, line)
