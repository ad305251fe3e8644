"""What a sweep came to: means over seeds, tables, and a page that needs nothing else. The runs are copies of one."""

import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt.alignment.export import SentenceAlignment, read_json_lines, write_json_lines
from nmt.alignment.matrix import AlignmentMatrix
from nmt.checkpoint import RunFolder
from nmt.experiment.train import Trained
from nmt.sweep.folder import Record, State, SweepFolder
from nmt.sweep.page import make_map, make_page
from nmt.sweep.sentences import lengths, same_sentences
from nmt.sweep.summary import summarise
from nmt.sweep.table import as_csv, as_latex, as_markdown, make_table

ODD = "wide <b> & | 5 %"
Add = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> SweepFolder:
    found = SweepFolder(tmp_path / "out")
    found.describe(name="a <script>alert(1)</script>", objective="bleu", axes=["size"], sampler="grid")
    return found


@pytest.fixture
def add(folder: SweepFolder, trained: Trained) -> Add:
    """A function that adds a run to the sweep: a copy of a trained one, less its weights, with another BLEU."""

    def copy(size: str, seed: int, value: float, *changes: str, state: State = "done", reason: str = "") -> Path:
        number = len(folder.records())
        record = Record(f"run{number}", number, {"size": size}, seed, state, reason)
        folder.write(record)
        path = folder.run(record.name)
        unwanted = shutil.ignore_patterns("model.safetensors", "last", "tokenizer.model")
        shutil.copytree(trained.folder.path, path, ignore=unwanted)
        run = RunFolder(path)
        run.write_config(run.config([f"name={record.name}", f"seed={seed}", *changes]))
        scores = run.meta()["scores"]
        scores["bleu"]["value"] = value
        run.update_meta(scores=scores)
        return path

    return copy


@pytest.fixture
def swept(folder: SweepFolder, add: Add) -> SweepFolder:
    """Two settings that finished, one with two seeds; and runs that failed, were pruned or have not begun."""
    add("small", 1, 10.0)
    add("small", 2, 14.0)
    add(ODD, 1, 20.0, "model.encoder.hidden=32")
    add("small", 3, 99.0, state="pruned", reason="pruned after step 20: others were better")
    add("none", 1, 98.0, state="failed", reason="out of <memory>")
    folder.write(Record("late", 9, {"size": "late"}, 1, "waiting"))
    return folder


def test_means_and_deviations_are_over_the_seeds_that_finished(swept: SweepFolder) -> None:
    summary = summarise(swept)
    small, odd = summary.finished
    spread = small.spread("test_bleu")
    assert spread is not None
    assert (spread.mean, spread.deviation, spread.count) == (12.0, pytest.approx(8.0**0.5), 2)
    spread = odd.spread("test_bleu")
    assert spread is not None
    assert (spread.mean, spread.deviation, spread.count) == (20.0, None, 1)
    assert summary.left_out == [
        "run3: pruned: pruned after step 20: others were better",
        "run4: failed: out of <memory>",
        "late: waiting",
    ]


def test_other_numbers_are_those_of_the_run_folder(swept: SweepFolder, trained: Trained) -> None:
    result = summarise(swept).finished[0].results[0]
    meta = trained.folder.meta()
    entries = [json.loads(line) for line in trained.folder.metrics_file.read_text(encoding="utf-8").splitlines()]
    assert result.value("parameters") == meta["parameters"]
    assert result.value("test_aer") == meta["scores"]["aer"]["value"]
    assert result.value("minutes") == meta["seconds"] / 60
    assert result.value("bleu") == meta["best"]["score"]
    assert result.value("loss") == min(entry["loss"] for entry in entries if entry["event"] == "validation")
    speeds = [entry["target_tokens_per_second"] for entry in entries if entry["event"] == "update"]
    assert min(speeds) <= (result.value("tokens_per_second") or 0) <= max(speeds)


def test_the_best_is_bold_and_what_is_a_cost_is_not_ranked(swept: SweepFolder) -> None:
    table = make_table(summarise(swept))
    assert table.names == ["size"]
    assert table.numbers[:2] == ["runs", "BLEU"]
    small, odd = table.rows
    assert [cell.text for cell in small[:3]] == ["small", "2 of 3", "12.0 ± 2.8"]
    assert [cell.text for cell in odd[:3]] == [ODD, "1", "20.0"]
    assert (small[2].best, odd[2].best) == (False, True)
    parameters = 1 + table.numbers.index("parameters")
    assert not small[parameters].best
    assert not odd[parameters].best
    aer = 1 + table.numbers.index("AER %")
    assert small[aer].best
    assert odd[aer].best, "equal as far as the digits tell"


def test_the_budget_is_stated_beneath_or_in_a_column_where_it_differs(add: Add, folder: SweepFolder) -> None:
    add("a", 1, 10.0)
    add("b", 1, 10.0)
    table = make_table(summarise(folder))
    assert "Budget of each run: max_steps 100." in table.notes
    add("c", 1, 10.0, "training.max_minutes=12")
    table = make_table(summarise(folder))
    assert table.names == ["size", "budget"]
    assert [row[1].text for row in table.rows] == ["max_steps 100"] * 2 + ["max_steps 100, max_minutes 12"]


def test_a_search_has_the_best_first(folder: SweepFolder, add: Add) -> None:
    for size, value in (("a", 10.0), ("b", 30.0), ("c", 20.0)):
        add(size, 1, value)
    assert [setting.choices["size"] for setting in summarise(folder).settings] == ["a", "b", "c"]
    for objective, order in (("test_bleu", ["b", "c", "a"]), ("test_aer", ["a", "b", "c"])):
        folder.describe(name="search", objective=objective, axes=["size"], sampler="tpe")
        folder.write(Record("bad", 9, {"size": "bad"}, 1, "failed"))
        assert [setting.choices["size"] for setting in summarise(folder).settings] == [*order, "bad"]


def test_csv_holds_the_numbers_as_they_are(swept: SweepFolder) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(summarise(swept)))))
    assert [row["size"] for row in rows] == ["small", ODD]
    assert float(rows[0]["test_bleu"]) == 12.0
    assert float(rows[0]["test_bleu_deviation"]) == pytest.approx(8.0**0.5)
    assert (rows[1]["test_bleu_deviation"], rows[1]["runs"]) == ("", "1")


def test_markdown_and_latex_escape_what_has_a_meaning_there(swept: SweepFolder) -> None:
    table = make_table(summarise(swept))
    lines = as_markdown(table).splitlines()
    assert lines[3].startswith(r"| wide <b> & \| 5 % | 1 | **20.0** |")
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines[:4]} == {len(table.names) + len(table.numbers) + 1}
    latex = as_latex(table)
    assert r"wide <b> \& | 5 \% & 1 & \textbf{20.0} &" in latex
    assert r"12.0 $\pm$ 2.8" in latex
    assert latex.count("\\\\\n") == 3


def set_lengths(folder: SweepFolder, name: str, **changes: float) -> None:
    """Change the first bucket of a run's BLEU by length."""
    run = RunFolder(folder.run(name))
    scores = run.meta()["scores"]
    scores["by_length"][0] |= changes
    run.update_meta(scores=scores)


def test_bleu_by_length_is_the_mean_over_seeds(swept: SweepFolder) -> None:
    set_lengths(swept, "run0", bleu=10.0)
    set_lengths(swept, "run1", bleu=30.0)
    set_lengths(swept, "run2", bleu=50.0)
    found = lengths(summarise(swept).finished)
    assert {name: buckets[0].bleu for name, buckets in found.items()} == {"small": 20.0, ODD: 50.0}


def test_lengths_of_different_texts_are_not_compared(swept: SweepFolder) -> None:
    assert lengths(summarise(swept).finished).keys() == {"small", ODD}
    set_lengths(swept, "run1", sentences=3)  # a seed that held out other sentences
    assert lengths(summarise(swept).finished) == {}


def test_the_same_sentences_are_told_by_each_setting(swept: SweepFolder, trained: Trained) -> None:
    first, second = same_sentences(summarise(swept).finished)
    hypotheses = (trained.folder.path / "test.hyp").read_text(encoding="utf-8").split("\n")
    assert [first.number, second.number] == [1, 2]
    assert [one.setting for one in second.translations] == ["small", ODD]
    assert [one.text for one in second.translations] == [hypotheses[1]] * 2
    assert all(one.matrix is not None for one in second.translations)


def test_where_the_texts_are_gone_the_rest_is_still_told(swept: SweepFolder, add: Add) -> None:
    for name in ("run0", "run1", "run2"):
        run = RunFolder(swept.run(name))
        run.write_config(run.config(["data.test={source: gone.en, target: gone.de}"]))
    settings = summarise(swept).finished
    assert {sentence.source for sentence in same_sentences(settings)} == {None}
    assert "BLEU against" in make_page(summarise(swept))


def test_texts_that_each_run_held_out_are_one_where_they_say_the_same(swept: SweepFolder, trained: Trained) -> None:
    test = trained.folder.config().data.test
    assert test is not None
    for name in ("run0", "run1", "run2"):
        run = RunFolder(swept.run(name))
        (run.path / "held_out").mkdir()
        for file, ending in ((test.source, "en"), (test.target, "de")):
            shutil.copy(file, run.path / "held_out" / f"test.{ending}")
        run.write_config(run.config(["data.test=null", "data.hold_out=5"]))
    settings = summarise(swept).finished
    assert all(sentence.source for sentence in same_sentences(settings))
    other = swept.run("run2") / "held_out" / "test.de"
    other.write_text(other.read_text("utf-8").upper(), "utf-8")
    assert {sentence.source for sentence in same_sentences(settings)} == {None}


class _Reader(HTMLParser):
    """Every tag's addresses, and the text that a reader sees."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "xlink:href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader


def test_the_page_needs_nothing_else_and_escapes_every_text(swept: SweepFolder) -> None:
    (swept.run("run0") / "test.hyp").write_text("<img src=x onerror=alert(2)>\n" * 8, encoding="utf-8")
    drawn = swept.run("run2") / "alignments" / "test.hyp.jsonl"
    matrix = AlignmentMatrix(("</text><script>", "&"), ("'\"",), np.array([[0.25, 0.75]]))
    write_json_lines(drawn, [SentenceAlignment(matrix, frozenset(), 0)])
    page = make_page(summarise(swept))
    reader = read(page)
    assert "script" not in reader.tags
    assert "link" not in reader.tags
    assert reader.addresses
    assert all(address.startswith("data:image/") for address in reader.addresses)
    assert "url(" not in page
    assert "@import" not in page
    for text in (
        "a <script>alert(1)</script>",
        ODD,
        "out of <memory>",
        "<img src=x onerror=alert(2)>",
        "</text><script>",
    ):
        assert text in reader.text
    for title in (
        "validation BLEU in training, by steps",
        "validation BLEU in training, by minutes",
        "BLEU against AER %",
        "BLEU against parameters",
        "BLEU against tokens/s",
        "BLEU by the number of source words",
        "model.encoder.hidden",
    ):
        assert title in reader.text


def test_a_sweep_without_a_finished_run_has_a_page_that_says_so(folder: SweepFolder) -> None:
    folder.write(Record("x", 0, {"size": "small"}, 1, "failed", "no <memory>"))
    text = read(make_page(summarise(folder))).text
    assert "No run has finished yet." in text
    assert "x: failed: no <memory>" in text


def test_a_run_that_is_damaged_is_left_out_and_told(swept: SweepFolder) -> None:
    (swept.run("run1") / "metrics.jsonl").write_text("{", encoding="utf-8")
    (swept.run("run2") / "meta.json").unlink()
    summary = summarise(swept)
    assert [len(setting.results) for setting in summary.finished] == [1]
    assert any("metrics.jsonl: cannot be read" in line for line in summary.left_out)
    assert any("run2: not a run folder" in line for line in summary.left_out)


@pytest.mark.parametrize("words", [1, 5, 60])
def test_a_map_has_room_for_its_words(words: int) -> None:
    matrix = AlignmentMatrix(tuple(f"word{n}" for n in range(words)), ("a", "字" * 40), np.full((2, words), 1 / words))
    drawn = make_map(matrix)
    assert len(drawn.columns) == words
    assert drawn.rows[1] == "字" * 12 + "…" + "字" * 11
    assert drawn.left > 2 * 24 * 6
    assert make_map(AlignmentMatrix((), (), np.zeros((0, 0)))).address == ""


@pytest.mark.slow
def test_a_browser_shows_the_page_without_network(swept: SweepFolder, tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium here: the page was read, but not shown")
    page = tmp_path / "report.html"
    page.write_text(make_page(summarise(swept)), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    offline = ["--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=400,800"]
    command = [browser, *options, *offline, "--dump-dom", page.as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    reader = read(result.stdout)
    assert reader.tags.count("figure") == read(page.read_text(encoding="utf-8")).tags.count("figure")
    assert ODD in reader.text
    assert "alert" not in result.stderr


def test_what_is_drawn_is_read_back(swept: SweepFolder) -> None:
    """The page's maps are the run's own: as many columns as the source has words."""
    own = read_json_lines(swept.run("run0") / "alignments" / "test.hyp.jsonl")
    page = make_page(summarise(swept))
    assert page.count('aria-label="where small looked"') == len(own)
