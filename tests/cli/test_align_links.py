"""`nmt align` as people use it: other links than the best, both directions, several runs, arrays and the page."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

from nmt.alignment.export import read_json_lines
from nmt.alignment.links import format_links, read_links, threshold_links
from nmt.alignment.symmetrize import HEURISTICS, symmetrize
from nmt.cli.app import app
from nmt.config.schema import Config
from nmt.experiment.run import Run
from nmt.experiment.train import start_training

Align = Callable[..., str]


@pytest.fixture
def align(opened: Run, corpus: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Align:
    """`nmt align` of the test text, in an empty folder; `code=2` expects to be refused in one line, and returns it."""
    monkeypatch.chdir(tmp_path)

    def call(*options: object, code: int = 0, forced: bool = True, run: object = opened.folder.path) -> str:
        files = ["--source", corpus.folder / "test.en", *(["--target", corpus.folder / "test.de"] if forced else [])]
        given = ["--run", run] if run else []
        result = CliRunner().invoke(app, [str(one) for one in ("align", *given, *files, *options)])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert result.exit_code == code, result.stderr
        if code:
            assert result.stdout == ""
            assert result.stderr.count("\n") == 1
            assert not Path("alignments").exists()
        return result.stderr if code else result.stdout

    return call


def links(name: str) -> list[frozenset[tuple[int, int]]]:
    return [one.sure for one in read_links(Path("alignments") / name)]


def test_a_threshold_makes_links_of_all_weights_that_reach_it(align: Align, corpus: Any) -> None:
    printed = align("--threshold", "0.15")
    found = read_json_lines("alignments/alignments.jsonl")
    assert [format_links(threshold_links(one.matrix.weights, 0.15)) for one in found] == printed.split("\n")[:-1]
    assert links("links.txt") == [one.links for one in found]
    gold = corpus.folder / "test.links"
    assert align("--threshold", "0.15", "--gold", gold) != align("--gold", gold)
    align("--threshold", "0.15", "--head", "all")
    (head,) = [read_json_lines(path) for path in Path("alignments").glob("alignments.head*.jsonl")]
    assert [one.links for one in head] == [one.links for one in found]


@pytest.mark.parametrize("heuristic", [None, *HEURISTICS])
def test_links_of_both_directions_are_symmetrized(
    align: Align, backwards: Run, corpus: Any, heuristic: str | None
) -> None:
    gold = corpus.folder / "test.links"
    chosen = ["--symmetrize", heuristic] if heuristic else []
    rate = align("--reverse-run", backwards.folder.path, *chosen, "--gold", gold)
    forward, reverse = links("links.forward.txt"), links("links.reverse.txt")
    both = [symmetrize(*pair, heuristic or "grow-diag-final-and") for pair in zip(forward, reverse, strict=True)]
    assert links("links.txt") == both == [one.links for one in read_json_lines("alignments/alignments.jsonl")]
    result = CliRunner().invoke(app, ["aer", "--hypothesis", "alignments/links.txt", "--gold", str(gold)])
    assert result.stdout == rate
    align()
    assert links("links.txt") == forward
    assert not Path("alignments/links.forward.txt").exists()  # it was of another command


def test_the_reverse_run_is_forced_on_the_same_pairs(align: Align, opened: Run, backwards: Run, corpus: Any) -> None:
    align("--reverse-run", backwards.folder.path, "--threshold", "0.3", "--head", "0")
    reverse = links("links.reverse.txt")
    files = ("--source", corpus.folder / "test.de", "--target", corpus.folder / "test.en", "--threshold", "0.3")
    command = ["align", "--run", backwards.folder.path, *files, "--output", "other"]
    assert CliRunner().invoke(app, [str(one) for one in command]).exit_code == 0
    assert reverse == [frozenset((t, s) for s, t in one.sure) for one in read_links("other/links.txt")]
    align("--reverse-run", backwards.folder.path, forced=False)
    own = Path("alignments/target.txt").read_text(encoding="utf-8").split("\n")[:-1]
    lengths = [len(line.split()) for line in own]
    for pair, words in zip(links("links.txt"), lengths, strict=True):
        assert all(target < words for _, target in pair)


def test_options_that_contradict_each_other_are_said_in_one_line(
    align: Align, opened: Run, backwards: Run, tiny_config: Callable[..., Config], tmp_path: Path
) -> None:
    start_training(
        tiny_config("model.attention={type: none}", "training.max_steps=2", "data.test=null"), tmp_path / "none"
    )
    assert "--reverse-run" in align("--symmetrize", "union", code=2)
    message = align("--symmetrize", "grow", "--reverse-run", backwards.folder.path, code=2)
    assert all(name in message for name in HEURISTICS)
    assert "a run from de to en" in align("--reverse-run", opened.folder.path, code=2)
    assert "attention is none" in align("--reverse-run", tmp_path / "none", run=backwards.folder.path, code=2)
    assert "--unit word" in align("--reverse-run", backwards.folder.path, "--unit", "piece", code=2)
    assert "nowhere" in align("--reverse-run", "nowhere", code=2)
    for wrong in ("0", "1.5", "-1", "nan"):
        assert "above 0" in align("--threshold", wrong, code=2)
    message = align("--self", "--reverse-run", "x", "--threshold", "0.5", run=opened.folder.path, forced=False, code=2)
    assert "--reverse-run and --threshold" in message
    assert "--format png, svg or pdf" in align("--self", "--arcs", "--format", "html", forced=False, code=2)


def test_arrays_for_numpy_stand_beside_the_lines(align: Align) -> None:
    align("--npz")
    lines = read_json_lines("alignments/alignments.jsonl")
    with np.load("alignments/alignments.npz", allow_pickle=False) as read:
        assert len(read.files) == 4 * len(lines)
        for number, one in enumerate(lines):
            assert tuple(read[f"target_{number}"]) == one.matrix.target
            np.testing.assert_allclose(read[f"weights_{number}"], one.matrix.weights, rtol=1e-5)
    align("--head", "all", "--npz")
    assert Path("alignments/alignments.head0.npz").exists()
    align()
    assert not list(Path("alignments").glob("*.npz"))


def test_the_page_shows_the_runs_alignments_and_gold(align: Align, opened: Run, corpus: Any) -> None:
    align("--format", "html", "--gold", corpus.folder / "test.links")
    page = Path("alignments/alignments.html").read_text(encoding="utf-8")
    count = len(corpus.lines("test.en"))
    assert page.count('<section class="pair"') == count
    assert page.count('lang="en" ') + page.count('lang="en">') >= count
    assert page.count('lang="de"') == count
    assert "gold link" in page
    assert f"<h1>{opened.config.name}</h1>" in page
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert [one["maps"][0]["links"] for one in data] == [format_links(one) for one in links("links.txt")]
    align("--format", "html", "--head", "all")
    page = Path("alignments/alignments.html").read_text(encoding="utf-8")
    assert "<option>head 0</option>" not in page  # a single map is no choice
    align()
    assert not Path("alignments/alignments.html").exists()


def test_a_format_asks_for_pictures_by_itself(align: Align) -> None:
    align("--format", "svg")
    assert Path("alignments/0001.svg").exists()
    align("--plot")
    assert Path("alignments/0001.png").exists()
    assert not Path("alignments/0001.svg").exists()


@pytest.fixture
def two(opened: Run, tmp_path: Path, tiny_config: Callable[..., Config]) -> list[Path]:
    """Two runs of the same languages, with other weights."""
    first = Path(shutil.copytree(opened.folder.path, tmp_path / "runs" / "first_1"))
    second = tmp_path / "runs" / "second"
    start_training(tiny_config("training.max_steps=2", "data.test=null"), second, device="cpu")
    return [first, second]


def test_several_runs_are_forced_on_one_translation_and_shown_side_by_side(
    align: Align, two: list[Path], corpus: Any
) -> None:
    single = {}
    for path in two:
        align("--output", f"alone/{path.name}", run=path)
        single[path.name] = read_json_lines(f"alone/{path.name}/alignments.jsonl")
    options = ["--run", two[1], "--gold", corpus.folder / "test.links", "--plot"]
    printed = align(*options, run=two[0]).split("\n")[:-1]
    assert [line.split("\t")[0] for line in printed] == ["first_1", "second"]
    for name, expected in single.items():
        found = read_json_lines(f"alignments/{name}/alignments.jsonl")
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.matrix.weights, other.matrix.weights, atol=1e-5)
            assert one.links == other.links
        rate = CliRunner().invoke(
            app, ["aer", "--hypothesis", f"alignments/{name}/links.txt", "--gold", str(corpus.folder / "test.links")]
        )
        assert f"{name}\t{rate.stdout}".strip() in printed
        assert sorted(os.listdir(f"alignments/{name}")) == ["alignments.jsonl", "links.txt", "target.txt"]
    align("--plot", "--output", "alone/first_1", run=two[0])
    wide, narrow = imread("alignments/0001.png").shape, imread("alone/first_1/0001.png").shape
    assert wide[1] > narrow[1]
    rates = json.loads(align(*options, "--json", run=two[0]))
    assert list(rates) == ["first_1", "second"]
    align("--run", two[1], "--format", "html", run=two[0])
    page = Path("alignments/alignments.html").read_text(encoding="utf-8")
    assert "<option>first_1</option><option>second</option>" in page
    assert not Path("alignments/0001.png").exists()
    lines = align("--run", two[1], run=two[0]).split("\n")[:-1]
    assert len(lines) == 2 * len(corpus.lines("test.en"))
    assert lines[0] == f"first_1\t{format_links(single['first_1'][0].links)}"


def test_what_several_runs_cannot_be_asked(align: Align, two: list[Path], backwards: Run) -> None:
    assert "--target" in align("--run", two[1], run=two[0], forced=False, code=2)
    assert "--layer out" in align("--run", two[1], "--layer", "0", run=two[0], code=2)
    assert "--reverse-run out" in align("--run", two[1], "--reverse-run", "x", run=two[0], code=2)
    assert "--unit word" in align("--run", two[1], "--unit", "piece", run=two[0], code=2)
    assert "twice" in align("--run", two[0], run=two[0], code=2)
    assert "give --reverse-run" in align("--run", backwards.folder.path, run=two[0], code=2)
    assert "--run" in align("--self", "--run", two[1], run=two[0], forced=False, code=2)
