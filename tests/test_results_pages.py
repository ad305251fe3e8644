"""docs/results: tables are those of the kept sweeps, the page that gathers them is up to date, scripts fill it."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nmt.experiment.train import Trained
from nmt.sweep.folder import Record, SweepFolder

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def results(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("results")


@pytest.fixture
def sweeps(tmp_path: Path, trained: Trained) -> Path:
    """The folder of a sweep `two`, whose settings one and two have finished; three has not."""
    folder = SweepFolder(tmp_path / "two")
    folder.describe(name="two", objective="bleu", axes=["size"], sampler="grid")
    for number, size in enumerate(("one", "two", "three")):
        folder.write(Record(f"{size}-seed1", number, {"size": size}, 1, "waiting" if size == "three" else "done"))
        folder.run(f"{size}-seed1").parent.mkdir(exist_ok=True)
        folder.run(f"{size}-seed1").symlink_to(trained.folder.path)
    return tmp_path


def test_pages_are_as_the_kept_sweeps_have_it(results: ModuleType) -> None:
    for page in (DOCS / "results").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert (text, []) == results.filled(text, DOCS / "sweeps"), f"{page.name}: python scripts/results.py"
    assert (DOCS / "results.md").read_text(encoding="utf-8") == results.gathered(DOCS / "results")


def test_links_between_pages_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("results/*.md")):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page}: {target}"


def test_a_block_is_filled_with_the_table_that_it_names(results: ModuleType, sweeps: Path) -> None:
    page = "before\n<!-- sweep two -->\nold\n<!-- end -->\nbetween\n<!-- sweep two: two -->\n<!-- end -->\nafter\n"
    filled, missing = results.filled(page, sweeps)
    assert (missing, results.filled(filled, sweeps)) == ([], (filled, []))
    everything, one = re.findall(r"-->\n(.*?)<!-- end -->", filled, flags=re.DOTALL)
    assert [line.split(" |")[0] for line in everything.splitlines()[2:4]] == ["| one", "| two"]
    assert "Not counted: three-seed1: waiting" in everything
    assert [line.split(" |")[0] for line in one.splitlines()[:3]] == ["| size", "| ---", "| two"]
    assert "three" not in one
    assert re.sub(r"(-->\n).*?(<!-- end)", r"\1\2", filled, flags=re.DOTALL).splitlines()[0] == "before"
    assert (filled.startswith("before\n"), filled.endswith("\nafter\n"), "\nbetween\n" in filled) == (True,) * 3


def test_a_block_joins_settings_of_several_sweeps(results: ModuleType, sweeps: Path) -> None:
    (sweeps / "more").symlink_to(sweeps / "two")
    filled, _ = results.filled("<!-- sweep two: two; more: one, three -->\n<!-- end -->\n", sweeps)
    rows = [line.split(" |")[0] for line in filled.splitlines() if line.startswith("|")]
    assert rows == ["| setting", "| ---", "| two", "| one"]
    assert filled.count("Not counted: three-seed1: waiting") == 1


def test_what_is_not_kept_yet_is_told_and_leaves_the_page_as_it_was(results: ModuleType, sweeps: Path) -> None:
    blocks = [f"<!-- sweep {parts} -->\nold\n<!-- end -->\n" for parts in ("none", "two: four", "two: one; none: one")]
    page = "".join(blocks)
    filled, missing = results.filled(page, sweeps)
    assert filled == page
    assert [line.split(": ")[0] for line in missing] == ["none", "two", "two"]


def test_pages_are_gathered_by_title_and_first_sentence(results: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# Second\n\n| a |\n\nIt has\n[links](c.md) et al. 2017. And more.\n", "utf-8")
    (tmp_path / "a.md").write_text("# First\n\n```bash\nnmt data demo\n\nnmt\n```\n\nWhat is it?\n\nMore.\n", "utf-8")
    lines = results.gathered(tmp_path).splitlines()
    assert lines[-2:] == ["- [First](results/a.md): What is it?", "- [Second](results/b.md): It has links et al. 2017."]


def test_speeds_are_put_into_their_page(load_script: Callable[[str], ModuleType]) -> None:
    bench = load_script("bench")
    speed = {"tokens_per_second": 1234.5, "flops_per_token": 5.2e7, "limit": 2.1e12, "share": 0.125}
    page = bench.write(bench.PAGE.read_text(encoding="utf-8"), {"as it is": dict.fromkeys(bench.NAMES, speed)})
    rows = re.findall(r"^\| (?!attention|---)(.*) \|$", page, flags=re.MULTILINE)
    assert rows[:2] == ["*as it is* | | | |", "bahdanau | 1,234 | 52.0 | 2,100 | 12.5 %"]
    assert len(rows) == 1 + len(bench.NAMES)
    assert page.startswith(bench.PAGE.read_text(encoding="utf-8").split("<!-- speeds -->", 1)[0])


@pytest.mark.parametrize("script", ["sweep.sh", "reproduce.sh"])
def test_a_script_says_what_it_may_be_given(script: str, tmp_path: Path) -> None:
    command = ["bash", str(ROOT / "scripts" / script), "nonsense"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    wanted = {
        "sweep.sh": "NAME: one of attention encoders guided_alignment kinds multi30k",
        "reproduce.sh": "[--resume]; nonsense",
    }
    assert wanted[script] in done.stderr


def test_what_is_kept_of_public_corpora_has_no_sentences() -> None:
    for config in (DOCS / "sweeps").glob("*/runs/*/config.yaml"):
        if "data/multi30k" in config.read_text(encoding="utf-8"):
            assert not (config.parent / "test.hyp").exists()
            assert not (config.parent / "alignments").exists()
