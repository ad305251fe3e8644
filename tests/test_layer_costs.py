"""scripts/layer_costs.py at tiny sizes: what it prints and writes."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from nmt.experiment.layer_costs import KINDS, Costs

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("layer_costs")


def rows(page: str, head: str) -> dict[str, list[str]]:
    """The rows of the table whose head begins so, by their first cell."""
    lines = page.split(f"| {head} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: rest for name, *rest in cells}


def test_the_page_and_its_picture_are_written(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new"
    script.main(["--quick", "--output", str(folder)])
    page = (folder / "layer_costs.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out.strip() == page.strip()
    assert f"```\npython scripts/layer_costs.py --quick --output {folder}\n```" in page
    assert f"torch {torch.__version__}" in page
    assert rows(page, "layer")["GRU"] == ["O(n·d²)", "O(n)", "O(n)"]
    for width in script.QUICK_WIDTHS:
        assert rows(page, f"d = {width}").keys() == KINDS.keys()
        by_length = rows(page, f"n, d = {width}")
        assert list(by_length) == [str(length) for length in script.QUICK_LENGTHS]
        for cells in by_length.values():
            assert len(cells) == len(KINDS)
            assert cells[0].startswith("1.00, ")
            assert all(re.fullmatch(r"[\d,]+\.\d\d, \d+ %", cell) for cell in cells)
    picture = re.search(r"!\[.+?\]\((.+?)\)", page)
    assert picture is not None
    assert (folder / picture[1]).read_bytes().startswith(b"\x89PNG")


def test_what_costs_as_theory_says_is_told_as_theory_says(script: ModuleType) -> None:
    """Costs made up: of products alone, twice as slow as the limit; in brackets stands the same order."""
    lengths, width, limit = script.LENGTHS, 128, 1e9
    seconds = {
        name: np.array([[2 * kind.cost(length, width) * 2 * width**2 / limit for length in lengths]] * 3)
        for name, kind in KINDS.items()
    }
    page = script.page(Costs(lengths, {width: seconds}, limit), 4, "python scripts/layer_costs.py")
    orders = rows(page, f"d = {width}")
    between = math.log((4 * 4096 + 2 * 4096**2 / 128) / (4 * 1024 + 2 * 1024**2 / 128), 4)  # not yet quadratic
    assert orders["self-attention"] == [
        f"{between:.2f} ({between:.2f})",
        "24.00 (12.00)",
        "12.00 (6.00)",
        "256 (256)",
        "50 %",
    ]
    assert orders["self-attention, no projections"] == ["2.00 (2.00)", "0.00 (0.00)", "12.00 (6.00)", "— (—)", "50 %"]
    assert orders["convolution"] == ["1.00 (1.00)", "36.00 (18.00)", "0.00 (0.00)", "— (—)", "50 %"]
    assert rows(page, f"n, d = {width}")["4,096"][4] == f"{4.5 / (4 + 2 * 4096 / 128):.2f}, 50 %"
    assert "more than a GRU from n = 64 on (by the products from n = 64 on)" in page
    assert "more than a convolution from n = 256 on (by the products from n = 256 on)" in page


@pytest.mark.parametrize(
    ("holds", "told"),
    [
        ([True, True, True], "from n = 1 on"),
        ([True, False, True], "from n = 3 on"),
        ([True, True, False], "at no length here"),
    ],
)
def test_what_holds_from_a_length_on_holds_to_the_end(script: ModuleType, holds: list[bool], told: str) -> None:
    assert script.since((1, 2, 3), holds) == told


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "inf"])
def test_minutes_are_above_0(script: ModuleType, minutes: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        script.main(["--minutes", minutes])
    assert ended.value.code == 2
    assert f"--minutes {minutes}: must be above 0" in capsys.readouterr().err
