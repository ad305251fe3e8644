"""Where commands read and write: inputs are left alone, outputs are checked before the work, streams may be missing."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nmt.cli import translate as command
from nmt.cli.app import app
from nmt.config.schema import Config
from nmt.experiment.run import Run
from nmt.experiment.train import Trained, start_training

Make = Callable[..., Config]


@pytest.fixture(autouse=True)
def _texts(corpus: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("test.en", "test.de", "test.links"):
        shutil.copy(corpus.folder / name, name)


@pytest.fixture
def run(trained: Trained) -> Path:
    return trained.folder.path


def nmt(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def mistake(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stdout) == (2, ""), result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


@pytest.mark.parametrize(
    ("option", "name"), [("--gold", "links.txt"), ("--target", "target.txt"), ("--source", "alignments.en.html")]
)
def test_align_does_not_write_over_what_it_reads(run: Path, option: str, name: str) -> None:
    files = {"--source": "test.en", "--target": "test.de", "--gold": "test.links"}
    Path("out").mkdir()
    shutil.copy(files[option], f"out/{name}")
    before = Path("out", name).read_bytes()
    given = [part for pair in (files | {option: f"out/../out/{name}"}).items() for part in pair]
    said = mistake("align", "--run", run, *given, "--output", "out")
    assert f"nmt: {option} out/../out/{name}: would be written over; name another folder with --output" in said
    assert Path("out", name).read_bytes() == before
    assert len(list(Path("out").iterdir())) == 1
    nmt("align", "--run", run, *given, "--output", "elsewhere")


def test_an_output_that_cannot_be_is_told_before_the_work(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("folder").mkdir()
    monkeypatch.setattr(command, "_lines", lambda *_: pytest.fail("it has begun to translate"))
    for place in ("folder", "."):
        said = mistake("translate", "--run", run, "--input", "test.en", "--output", place)
        assert said == f"nmt: {place}: cannot be written (it is a folder); give a writable place with room\n"
    monkeypatch.setattr("nmt.experiment.align.align_text", lambda *_, **__: pytest.fail("it has begun to align"))
    said = mistake("align", "--run", run, "--source", "test.en", "--output", "test.de")
    assert said == "nmt: test.de: cannot be written (it is no folder); give a writable place with room\n"
    said = mistake("align", "--run", run, "--source", "test.en", "--output", "test.de/below")
    assert "test.de: cannot be written (it is no folder)" in said


def test_a_pipe_with_a_name_is_written_to_and_stays_one(run: Path) -> None:
    os.mkfifo("pipe")
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(Path("pipe").read_text(encoding="utf-8")), daemon=True)
    reader.start()
    nmt("translate", "--run", run, "--input", "test.en", "--output", "pipe")
    reader.join(30)
    assert found == [nmt("translate", "--run", run, "--input", "test.en")]
    assert Path("pipe").is_fifo()


def test_named_documents_may_come_from_a_pipe(tiny_config: Make, tmp_path: Path) -> None:
    path = tmp_path / "documents"
    changes = (
        "data.document_context=1",
        "model.context={type: hierarchical}",
        "training.max_steps=2",
        "data.test=null",
    )
    start_training(tiny_config(*changes), path, device="cpu")
    lines = Path("test.en").read_text(encoding="utf-8")
    Path("names").write_text("a\n" * lines.count("\n"), encoding="utf-8")
    os.mkfifo("pipe")
    threading.Thread(target=lambda: Path("pipe").write_text(lines, encoding="utf-8"), daemon=True).start()
    asked = ("translate", "--run", path, "--documents", "names", "--input")
    assert nmt(*asked, "pipe") == nmt(*asked, "test.en")


def test_a_map_that_the_reverse_run_has_not_is_told_before_the_work(
    run: Path, backwards: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmt.experiment.align.forced_maps", lambda *_, **__: pytest.fail("it has begun to align"))
    given = ("align", "--run", run, "--source", "test.en", "--reverse-run", backwards.folder.path)
    said = mistake(*given, "--head", "5")
    assert "head 5 was asked for" in said
    assert said.startswith(f"nmt: --reverse-run {backwards.folder.path}: ")


def test_what_has_no_weights_cannot_be_drawn(tiny_config: Make, tmp_path: Path) -> None:
    changes = ("model.attention={type: none}", "training.max_steps=2", "data.test=null")
    start_training(tiny_config(*changes), tmp_path / "blind", device="cpu")
    said = mistake("translate", "--run", tmp_path / "blind", "--draw", "--input", "test.en")
    assert "--draw: the attention of this run is none" in said


def _shell(line: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    program = f'"{sys.executable}" -m nmt'
    env = {**os.environ, **environment}
    return subprocess.run(["bash", "-c", line.replace("nmt", program, 1)], capture_output=True, text=True, env=env)


def test_standard_streams_may_be_closed(run: Path) -> None:
    done = _shell(f"nmt translate --run {run} <&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "nmt: stdin: is closed; give a file, or a pipe\n"
    done = _shell(f"nmt translate --run {run} --input test.en --output out.de >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("out.de").read_text(encoding="utf-8").count("\n") == Path("test.en").read_text().count("\n")
    done = _shell("nmt config check nowhere.yaml 2>&-")
    assert (done.returncode, done.stdout) == (2, "")


def test_output_is_utf8_in_any_locale() -> None:
    done = _shell("nmt config schema", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "α" in done.stdout


@pytest.mark.parametrize(
    "error",
    ["MemoryError", 'RuntimeError("DefaultCPUAllocator: can\'t allocate memory")', "OSError(errno.EDQUOT, 'q')"],
)
def test_want_of_memory_or_room_is_one_line(error: str) -> None:
    code = f"""
import errno, sys
from nmt.cli import app
@app.app.command()
def extra():
    raise {error}
sys.argv = ["nmt", "extra"]
app.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("nmt: ")
