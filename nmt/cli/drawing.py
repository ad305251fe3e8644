"""The alignment under a translation, in block characters, for a terminal.

                The teacher opens the window.
        Der     ███
        Lehrer      ▓▓▓▓▓▓▓
        macht               █████     ░░░░░░░

The source stands across as it is read, a row for each target word, and under each source word how much that word was
looked at. What is wider than the terminal goes on below.
"""

import shutil
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt.alignment.matrix import AlignmentMatrix
    from nmt.decoding.translate import Translation
    from nmt.experiment.run import Run

_SHADES = " ░▒▓█"
_LONGEST_LABEL = 20
_LEAST_WIDTH = 20


def drawn_lines(runs: "Sequence[Run]", translations: "Sequence[Translation]", first: int, wanted: int) -> Iterator[str]:
    """The texts of each line, and under each of them its alignment."""
    from nmt.experiment.hypotheses import matrices, text_lines

    width = shutil.get_terminal_size().columns
    ranks = [(translation, rank) for translation in translations for rank in range(len(translation.texts))]
    looked = iter(matrices(runs, ranks))
    for translation in translations:
        for rank, text in enumerate(text_lines(runs, [translation], first, wanted)):
            yield text
            matrix = next(looked) if rank < len(translation.texts) else None
            if matrix is not None and matrix.target and matrix.source:
                yield from draw(matrix, width)


def draw(matrix: "AlignmentMatrix", width: int) -> list[str]:
    """The lines of a drawing, none wider than `width` cells unless a word is, trailing spaces cut off."""
    from rich.cells import cell_len, set_cell_size

    label = min(_LONGEST_LABEL, max(cell_len(word) for word in matrix.target))
    lines = []
    for start, end in _bands([cell_len(word) for word in matrix.source], max(_LEAST_WIDTH, width - label - 4)):
        words = matrix.source[start:end]
        lines.append(f"{'':{label + 4}}{' '.join(words)}")
        for target, weights_S in zip(matrix.target, matrix.weights[:, start:end], strict=True):
            blocks = (_shade(float(one)) * cell_len(word) for one, word in zip(weights_S, words, strict=True))
            lines.append(f"  {set_cell_size(target, label)}  {' '.join(blocks)}".rstrip())
    return lines


def _shade(weight: float) -> str:
    """Of five: nothing below an eighth, full from seven eighths on."""
    return _SHADES[round(4 * min(max(weight, 0.0), 1.0))]


def _bands(widths: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Runs of words, each (start, end), that fit into so many cells with a space between two; a long word is alone."""
    start, taken = 0, -1
    for index, width in enumerate(widths):
        if index > start and taken + 1 + width > room:
            yield start, index
            start, taken = index, -1
        taken += 1 + width
    yield start, len(widths)
