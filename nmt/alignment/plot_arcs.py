"""Pictures of self-attention as lines between the words, in the manner of Vaswani et al. 2017, figures 3 to 5.

The sentence stands there twice, each line going from a word on the left to one on the right that it looked at, the more
opaque the greater the weight. Several maps stand side by side as in `plot_grid.py`. Lengths are in inches.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from nmt.alignment.fonts import choose_fonts
from nmt.alignment.labels import labels_of
from nmt.alignment.matrix import AlignmentMatrix
from nmt.alignment.picture import DOTS, SMALL, check_suffix, own_settings, save_figure, size_of
from nmt.alignment.plot import EDGE, GAP
from nmt.alignment.plot_grid import SMALLER, Room, Rows, add_panels, lay_out_panels

_FONT_SIZE = 9.0  # points, of a single map
_PITCH = 1.36  # from one word to the next, in sizes of the font
_BETWEEN = (1.1, 3.0)  # the columns, at least and at most, with the font of a single map
_SLOPE = 0.4  # between the columns, of their height
_COLOUR = "#0072b2"
_WIDTH = 1.3  # of a line, in points
_CAPTION = "each word (left), and where it looked (right)"
_FAINTEST = 1 / 255  # a lesser weight leaves no mark on the paper


def plot_arcs(rows: Rows, path: Path) -> list[str]:
    """Write a picture of all maps to `path`, as PNG, SVG or PDF by its suffix, and return notes for the user.

    A weight of 1 is a line of full colour, one of 0 none, whatever the sentence. Notes and errors are as in
    `plot_alignment`.
    """
    check_suffix(path)
    with own_settings():
        figure, notes = draw_arcs(rows)
        save_figure(figure, path)
    return notes


def draw_arcs(rows: Rows) -> tuple[Figure, list[str]]:
    """Draw the picture that `plot_arcs` writes, and return it with the same notes."""
    first, across = next(iter(rows[0].values())), len(rows[0])
    looking, seen = labels_of(first.target), labels_of(first.source)
    families, notes = choose_fonts([*looking, *seen])
    size = SMALLER if len(rows) * across > 1 else _FONT_SIZE
    with own_settings():
        canvas = FigureCanvasAgg(Figure(dpi=DOTS, facecolor="white"))
        panels = add_panels(canvas.figure, rows)
        for axes, matrix in panels.items():
            _draw_lines(axes, matrix, max(len(looking), len(seen)))
            columns = [_write_column(axes, words, x, families, size) for x, words in ((0.0, looking), (1.0, seen))]
        caption = canvas.figure.text(0.5, 0.0, _CAPTION, ha="center", va="bottom", size=SMALL, color="0.35")
        width, height = size_of(caption, canvas)
        # All have the same words, so that those of the last tell the size of each.
        room = _room(canvas, columns, size)
        lay_out_panels(canvas, list(panels), across, room, below=height + 2 * GAP, narrowest=width + 2 * EDGE)
        caption.set_y(EDGE / canvas.figure.get_figheight())
    return canvas.figure, notes


def _draw_lines(axes: Axes, matrix: AlignmentMatrix, height: int) -> None:
    """Words stand at x = 0 and 1, the first at y = 0, on top."""
    rows, columns = np.nonzero(matrix.weights >= _FAINTEST)
    order = np.argsort(matrix.weights[rows, columns], kind="stable")  # the greatest weight lies on top
    rows, columns = rows[order], columns[order]
    ends = [[(0.0, row), (1.0, column)] for row, column in zip(rows.tolist(), columns.tolist(), strict=True)]
    weights = np.clip(matrix.weights[rows, columns], 0.0, 1.0)
    colours = np.column_stack([np.tile(to_rgb(_COLOUR), (len(weights), 1)), weights])
    axes.add_collection(LineCollection(ends, colors=colours, linewidths=_WIDTH, capstyle="butt", clip_on=False))
    axes.set(xlim=(0.0, 1.0), ylim=(height - 0.5, -0.5))
    axes.set_axis_off()


def _write_column(axes: Axes, words: list[str], x: float, families: list[str], size: float) -> list[Annotation]:
    """The words, each on a base line half a capital's height below its line's end."""
    side, gap = ("right", -GAP * 72) if x == 0.0 else ("left", GAP * 72)
    common: dict[str, Any] = {
        "textcoords": "offset points",
        "annotation_clip": False,
        "ha": side,
        "va": "baseline",
        "family": families,
        "size": size,
    }
    return [axes.annotate(word, (x, row), (gap, -0.365 * size), **common) for row, word in enumerate(words)]


def _room(canvas: FigureCanvasAgg, columns: list[list[Annotation]], size: float) -> Room:
    sizes = [[size_of(word, canvas) for word in column] for column in columns]
    left, right = (max(width for width, _ in column) + GAP for column in sizes)
    # Some scripts stand higher than a line of Latin.
    pitch = max(_PITCH * size / 72, 1.2 * max(height for column in sizes for _, height in column))
    height = pitch * max(len(column) for column in sizes)
    least, most = (width * size / _FONT_SIZE for width in _BETWEEN)
    return Room(width=min(most, max(least, _SLOPE * height)), height=height, left=left, right=right, above=0.0)
