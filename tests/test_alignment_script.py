"""scripts/alignment.py: rates of the layers and of two directions, and where on the page they are put."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nmt.alignment.links import Links, diagonal_links
from nmt.alignment.symmetrize import transpose
from nmt.data.corpus import ParallelText
from nmt.experiment.align import align_text
from nmt.experiment.run import Run
from tests.conftest import Corpus

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("alignment")


@pytest.fixture(scope="module")
def text(corpus: Corpus) -> ParallelText:
    return ParallelText(corpus.lines("valid.en")[:5], corpus.lines("valid.de")[:5])


@pytest.fixture(scope="module")
def own_links(opened: Run, text: ParallelText) -> list[Links]:
    """Links that the run itself makes: as gold ones, they make its rate 0."""
    found = align_text(opened, text.source, text.target, unit="word").alignments
    return [Links(one.links, one.links) for one in found]


def _rows(table: str) -> dict[str, list[str]]:
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {row[0].partition(",")[0]: row[1:] for row in rows}


def test_a_layer_has_no_error_against_its_own_links(
    script: ModuleType, opened: Run, text: ParallelText, own_links: list[Links]
) -> None:
    rows = _rows(script.layer_rates(opened, text, own_links))
    words = sum(len(line.split()) for line in text.target)
    assert rows["best word"] == ["0.0 %", "100.0 %", "100.0 %", f"{words:,}"]
    assert rows["always along the diagonal"][-1] == f"{words:,}"


def test_the_diagonal_has_no_error_against_itself(script: ModuleType, opened: Run, text: ParallelText) -> None:
    pairs = zip(text.source, text.target, strict=True)
    links = [diagonal_links(len(source.split()), len(target.split())) for source, target in pairs]
    rows = _rows(script.layer_rates(opened, text, [Links(one, one) for one in links]))
    assert rows["always along the diagonal"][:3] == ["0.0 %", "100.0 %", "100.0 %"]


def test_two_directions_have_a_row_each_and_one_for_each_heuristic(
    script: ModuleType, opened: Run, backwards: Run, text: ParallelText, own_links: list[Links]
) -> None:
    rows = _rows(script.direction_rates(opened, backwards, text, own_links))
    assert list(rows)[:3] == ["forward", "reverse", "`intersection`"]
    assert {"`union`", "`grow-diag`", "`grow-diag-final-and`"} <= set(rows)
    assert rows["forward"][0] == "0.0 %"
    assert rows["`intersection`"][1] == "100.0 %"  # of links of both directions, all are of the forward one
    assert rows["`union`"][2] == "100.0 %"
    back = align_text(backwards, text.target, text.source, unit="word").alignments
    reverse_links = [Links(links, links) for one in back for links in [transpose(one.links)]]
    assert _rows(script.direction_rates(opened, backwards, text, reverse_links))["reverse"][0] == "0.0 %"


def test_tables_are_put_where_the_page_names_them(script: ModuleType) -> None:
    page = "a\n<!-- rates one -->\nold\n<!-- end -->\nb\n<!-- sweep two -->\nleft\n<!-- end -->\n"
    filled = script.filled(page, {"one": lambda: "new\n"})
    assert filled == page.replace("old", "new")


def test_the_page_has_a_block_for_each_table() -> None:
    page = (ROOT / "docs" / "results" / "alignment.md").read_text(encoding="utf-8")
    assert re.findall(r"<!-- rates (\w+) -->", page) == ["multi30k", "demo", "directions"]
