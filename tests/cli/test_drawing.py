"""Alignments in block characters."""

import numpy as np
import pytest
from rich.cells import cell_len

from nmt.alignment.matrix import AlignmentMatrix
from nmt.cli.drawing import draw


def matrix_of(source: str, target: str, weights: object = None) -> AlignmentMatrix:
    columns, rows = tuple(source.split()), tuple(target.split())
    given = np.eye(len(rows), len(columns)) if weights is None else np.array(weights)
    return AlignmentMatrix(columns, rows, given.astype(np.float32))


def test_a_row_for_each_target_word_under_the_source() -> None:
    weights = [[1.0, 0.0, 0.0], [0.1, 0.5, 0.4], [0.2, 0.05, 0.75]]
    assert draw(matrix_of("The old house", "Das alte Haus", weights), 80) == [
        "        The old house",
        "  Das   ███",
        "  alte      ▒▒▒ ▒▒▒▒▒",
        "  Haus  ░░░     ▓▓▓▓▓",
    ]


@pytest.mark.parametrize("width", [1, 40, 80, 200])
def test_long_sentences_go_on_below(width: int) -> None:
    source, target = (" ".join(f"{side}{number:02}" for number in range(60)) for side in ("s", "target"))
    lines = draw(matrix_of(source, target), width)
    assert all(cell_len(line) <= max(width, 20 + 12) for line in lines)
    heads = [line for line in lines if not line.strip().startswith("target")]
    assert " ".join(" ".join(heads).split()) == source
    assert len(lines) == 61 * len(heads)
    assert sum(line.count("███") for line in lines) == 60
    for head, block in zip(heads, range(len(heads)), strict=True):
        for line in lines[block * 61 + 1 : block * 61 + 61]:
            if "█" in line:  # right under its word
                place = line.index("█")
                assert head[place : place + 3] == f"s{line.split()[0][-2:]}"


def test_wide_characters_take_two_cells_and_long_words_are_cut() -> None:
    lines = draw(matrix_of("我 喜欢 书", f"I like{'x' * 40} books"), 80)
    assert [cell_len(line) for line in lines] == [24 + 2 + 1 + 4 + 1 + 2, 24 + 2, 24 + 3 + 4, 24 + 8 + 2]
    assert lines[2].count("█") == 4
