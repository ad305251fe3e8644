"""`nmt sweep` and `nmt report` as people use them; trainings are fake but for those of the last test."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from nmt.cli.app import app
from nmt.cli.sweep import _table
from nmt.config.load import dump_config
from nmt.config.schema import Config
from nmt.sweep import child, work
from nmt.sweep.work import Row

FAKE = Path(__file__).parents[1] / "sweep" / "fake_train.py"
YAML = "name: quick\nconfig: tiny.yaml\naxes:\n  model.dropout: [0.1, 0.3]\nseeds: [1, 2]\n"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_config: Callable[..., Config]) -> None:
    """Every test works in a folder of its own, with a tiny config and a sweep of it."""
    monkeypatch.chdir(tmp_path)
    config = tiny_config("training.max_steps=2", "training.validate_every=2")
    Path("tiny.yaml").write_text(dump_config(config), encoding="utf-8")
    Path("sweep.yaml").write_text(YAML, encoding="utf-8")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "TRAIN", (sys.executable, str(FAKE)))
    monkeypatch.setattr(work, "_LOOK", 0.01)
    monkeypatch.setattr(work, "_ASK", 0.05)


def nmt(*arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the program, run in this process."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.usefixtures("quick")
def test_a_sweep_ends_with_its_table_and_its_page() -> None:
    code, output, errors = nmt("sweep", "--config", "sweep.yaml", "--jobs", 1)
    assert code == 0, errors
    assert re.search(r"^0\.3 +2 +31\.5 ± 0\.7", output, flags=re.MULTILINE)
    assert "Budget of each run: max_steps 2." in output
    assert "dropout0.1-seed2  running\n" in errors
    assert re.search(r"^dropout0\.3-seed1  done  step 2  bleu 30\.0  1,00\d tokens/s$", errors, flags=re.MULTILINE)
    assert errors.endswith("the page is runs/quick/report.html\n")
    names = {path.name for path in Path("runs/quick").iterdir()}
    made = {"report.html", "charts.svg", "table.csv", "table.md", "table.tex"}
    assert made | {"sweep.json", "sweep.db", "runs", "trials"} <= names
    code, again, errors = nmt("report", "runs/quick")
    assert (code, again) == (0, output)
    code, again, errors = nmt("report", "runs/quick", "--keep", "docs/quick", "--no-texts")
    assert (code, again) == (0, output)
    assert errors == "the page is docs/quick/report.html\n"
    assert Path("docs/quick/table.csv").read_bytes() == Path("runs/quick/table.csv").read_bytes()
    code, again, errors = nmt("report", "runs/quick", "--no-texts")
    assert (code, again, errors) == (2, "", "nmt: --no-texts says what --keep leaves out; give --keep DIR, too\n")
    code, numbers, errors = nmt("report", "runs/quick", "--json")
    assert [one["test_bleu"]["mean"] for one in json.loads(numbers)] == [11.5, 31.5]
    code, _, errors = nmt("sweep", "--config", "sweep.yaml")
    assert (code, errors.count("\n")) == (2, 1)
    assert errors.startswith("nmt: runs/quick: there is a sweep already; go on with it")


def test_mistakes_are_told_before_anything_is_made() -> None:
    Path("sweep.yaml").write_text(YAML + "axis: {}\n", encoding="utf-8")
    assert nmt("sweep", "--config", "sweep.yaml") == (
        2,
        "",
        "nmt: sweep.yaml: axis: unknown key (did you mean axes?)\n",
    )
    Path("sweep.yaml").write_text(YAML, encoding="utf-8")
    code, _, errors = nmt("sweep", "--config", "sweep.yaml", "--jobs", 100_000)
    assert code == 2
    assert errors.startswith("nmt: --jobs 100000: this machine has ")
    code, _, errors = nmt("sweep", "--config", "sweep.yaml", "--resume")
    assert errors == (
        "nmt: runs/quick: not a sweep's folder (there is no such folder); name one that `nmt sweep` has made, such as "
        "runs/attention\n"
    )
    code, _, errors = nmt("report", "runs/quick")
    assert (code, errors.count("\n")) == (2, 1)
    assert not Path("runs").exists()


def drawn(rows: list[Row], height: int) -> str:
    console = Console(width=100, record=True, file=open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115
    console.print(_table(rows, "bleu", height))
    return console.export_text()


def test_the_live_table_tells_of_each_run() -> None:
    rows = [
        Row("a[b]", "running", "", 1200, 34.56, 4100.0, 3725.0),
        Row("bad", "failed", "out of memory"),
        Row("worse", "failed", "a reason " * 30),
        Row("late", "waiting"),
    ]
    text = drawn(rows, 10)
    assert re.search(r"a\[b\] +│ running +│ +1,200 +│ +34\.6 +│ +4,100 +│ +1:02:05", text)
    assert re.search(r"^│ bad +│ failed +│", text, flags=re.MULTILINE)
    assert re.search(r"^bad: out of memory *\nworse: a reason .*…$", text, flags=re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 100
    assert "1 running, 2 failed, 1 waiting" in text


def test_a_low_terminal_shows_what_trains_first() -> None:
    rows = [Row(f"run{number}", "running" if number == 7 else "waiting") for number in range(9)]
    text = drawn(rows, 3)
    assert text.count("run") - text.count("running") - 1 == 3
    assert "run7" in text
    assert "1 running, 8 waiting" in text


@pytest.mark.slow
def test_real_trainings(tiny_config: Callable[..., Config]) -> None:
    """Of the fake's counterpart: two settings, one of which cannot be trained, and the page of the other."""
    variants = "  {plain: {}, broken: {tokenizer.vocabulary_size: 8}}\n"
    Path("sweep.yaml").write_text(f"name: real\nconfig: tiny.yaml\nvariants:\n  v:\n  {variants}", encoding="utf-8")
    code, output, errors = nmt("sweep", "--config", "sweep.yaml", "--jobs", 1)
    assert code == 0, errors
    assert "Not counted: broken-seed1: failed: tokenizer.vocabulary_size: 8 is too small" in output
    assert Path("runs/real/runs/plain-seed1/model.safetensors").exists()
    page = Path("runs/real/report.html").read_text(encoding="utf-8")
    assert page.count('aria-label="where plain looked"') == 2
    code, output, errors = nmt("sweep", "--config", "sweep.yaml", "--resume")
    assert code == 0, errors
    assert "broken-seed1  failed" in errors
    assert "plain-seed1  running" not in errors
