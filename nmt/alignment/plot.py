"""Pictures of alignments, in the manner of Bahdanau et al. 2015, figure 3: a grey map, source words above it.

One map a picture; its parts are public, for pictures of several (`plot_grid.py`). Lengths are in inches, the unit of
matplotlib's figures; S source, T target words.
"""

import textwrap
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation, Text

from nmt.alignment.fonts import choose_fonts
from nmt.alignment.labels import labels_of, printable
from nmt.alignment.links import Links, check_range
from nmt.alignment.matrix import AlignmentMatrix
from nmt.alignment.picture import LINE, MAX_PIXELS, SMALL, check_suffix, own_settings, save_figure, size_of

EDGE = 0.08
"""Free space around a picture."""
GAP = 0.06
"""Between a map and what is beside it."""
BAR = 0.09
"""Width of the bar of greys."""

_FONT_SIZE, _TITLE_SIZE = 9.0, 10.0  # points
_CELL = (0.17, 0.30)  # the smallest still holds a line of 9 points; the largest keeps short sentences from sprawling
_MAP = 4.0  # the map's longer side, where cells of that size allow it
_NARROWEST = 2.0  # with a title
_GOLD = "#ff6a13"  # an orange that stands out from black, white and every grey between


def plot_alignment(
    matrix: AlignmentMatrix, path: Path, *, title: str | None = None, gold: Links | None = None
) -> list[str]:
    """Write a picture of `matrix` to `path`, as PNG, SVG or PDF by its suffix, and return notes for the user.

    Rows are target words from top to bottom, columns source words from left to right; black is a weight of 0, white of
    1, whatever the sentence, so that pictures compare. `gold` links are outlined, sure ones solid, possible ones
    dashed. The picture grows with the number of words. Labels longer than 80 characters are shortened in the middle. A
    side without words is drawn as such, so that one empty translation does not stop a whole set of pictures.

    Each note is a line on letters that no installed font has, and on which font to install; usually there is none.

    The folder of `path` is made if missing. Raises DataError on another suffix, on gold links outside the matrix, and
    where the file cannot be written.
    """
    check_suffix(path)
    with own_settings():
        figure, notes = draw_alignment(matrix, title=title, gold=gold)
        save_figure(figure, path)
    return notes


def draw_alignment(
    matrix: AlignmentMatrix, *, title: str | None = None, gold: Links | None = None
) -> tuple[Figure, list[str]]:
    """Draw the picture that `plot_alignment` writes, and return it with the same notes.

    Raises DataError on gold links outside the matrix.
    """
    if gold is not None:
        check_range(gold.possible, len(matrix.source), len(matrix.target), "gold")
    source, target, title = (
        labels_of(matrix.source),
        labels_of(matrix.target),
        printable(" ".join((title or "").split())),
    )
    families, notes = choose_fonts([*source, *target, title])
    with own_settings():
        figure = Figure(dpi=100, facecolor="white")
        canvas = FigureCanvasAgg(figure)
        axes = figure.add_axes((0.1, 0.1, 0.8, 0.8), label="map")
        draw_map(axes, matrix, len(source), len(target))
        labels = write_labels(axes, source, target, families)
        heading = figure.text(0.5, 1.0, title, ha="center", va="top", size=_TITLE_SIZE, family=families)
        legend = None if gold is None else draw_legend(figure, outline(axes, gold))
        _lay_out(canvas, axes, labels, draw_bar(figure), heading, legend)
    return figure, notes


def draw_map(axes: Axes, matrix: AlignmentMatrix, columns: int, rows: int, *, maps: int = 1) -> None:
    """The cells, one unit wide and high, the middle of the first at (0, 0), the first row on top.

    `maps`: how many share the picture's longer side.
    """
    if matrix.weights.size:
        # Many viewers of PDF and SVG blur the pixels of an image into each other, and show seams between drawn squares.
        # An image with many pixels a cell has neither fault.
        pixels = np.kron(matrix.weights, np.ones((max(1, min(16, MAX_PIXELS // (4 * maps * max(columns, rows)))),) * 2))
        extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
        axes.imshow(pixels, cmap="gray", vmin=0.0, vmax=1.0, interpolation="none", aspect="auto", extent=extent)
    else:
        axes.patch.set(facecolor="0.92", hatch="///", edgecolor="0.8")
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), xticks=[], yticks=[])


def write_labels(
    axes: Axes, source: list[str], target: list[str], families: list[str], *, size: float = _FONT_SIZE
) -> tuple[list[Annotation], list[Annotation]]:
    """Write the words above and beside the map, each on a base line half a capital's height from its cell's middle.

    Texts that are centred by their own height would stand out of line wherever a word has an Ü or a g. Words above run
    upwards; a single Chinese, Japanese or Korean character stands upright. `size` is in points.
    """
    half, gap = 0.365 * size, GAP * 72  # points, 72 an inch
    common: dict[str, Any] = {
        "textcoords": "offset points",
        "annotation_clip": False,
        "va": "baseline",
        "family": families,
        "size": size,
    }
    upwards: dict[str, Any] = {"xytext": (half, gap), "rotation": 90, "rotation_mode": "anchor", "ha": "left"}
    upright: dict[str, Any] = {"xytext": (0, gap + 0.12 * size), "ha": "center"}  # it reaches below its base line
    above = [
        axes.annotate(word, (column, -0.5), **(upright if _is_one_wide(word) else upwards), **common)
        for column, word in enumerate(source)
    ]
    beside = [axes.annotate(word, (-0.5, row), (-gap, -half), ha="right", **common) for row, word in enumerate(target)]
    return above, beside


def _is_one_wide(word: str) -> bool:
    return len(word) == 1 and unicodedata.east_asian_width(word) in "WF"


def draw_bar(figure: Figure) -> Axes:
    """The thin bar that says which grey is which weight."""
    bar = figure.add_axes((0.9, 0.1, 0.05, 0.8), label="scale")
    greys = np.linspace(0, 1, 256)[:, None]
    bar.imshow(greys, cmap="gray", origin="lower", interpolation="none", aspect="auto", extent=(0, 1, 0, 1))
    bar.set_xticks([])
    bar.yaxis.tick_right()
    bar.set_yticks([0, 0.5, 1], labels=["0", "0.5", "1"], fontsize=SMALL)
    bar.tick_params(length=2, width=LINE, pad=2)
    return bar


def outline(axes: Axes, gold: Links) -> list[Rectangle]:
    """Outline the cells of gold links; returns an outline of each kind that there is, with its name."""
    solid: dict[str, Any] = {"fill": False, "edgecolor": _GOLD, "linewidth": 1.3, "joinstyle": "miter"}
    dashed: dict[str, Any] = {**solid, "linestyle": (0, (1.8, 1.2))}
    inset = 0.12  # of a cell, so that neighbours' outlines stay apart
    kinds = []
    for links, look, name in ((gold.sure, solid, "sure link"), (gold.possible - gold.sure, dashed, "possible link")):
        for source, target in links:
            corner = (source - 0.5 + inset, target - 0.5 + inset)
            axes.add_patch(Rectangle(corner, 1 - 2 * inset, 1 - 2 * inset, **look))
        if links:
            kinds.append(Rectangle((0, 0), 1, 1, label=name, **look))
    return kinds


def draw_legend(figure: Figure, outlines: list[Rectangle]) -> Legend | None:
    """Say in a line under the picture what the outlines mean; nothing where there are none."""
    return figure.legend(handles=outlines, loc="lower center", ncols=2) if outlines else None


def _lay_out(
    canvas: FigureCanvasAgg,
    axes: Axes,
    labels: tuple[list[Annotation], list[Annotation]],
    bar: Axes,
    title: Text,
    legend: Legend | None,
) -> None:
    """Measure what is written, then size the figure and place its parts so that there is room for all of it."""
    figure = canvas.figure
    above, beside = ([size_of(label, canvas) for label in side] for side in labels)
    cell = fit_cell(above, beside, limits=_CELL, longer_side=_MAP)
    map_width, map_height = len(above) * cell, len(beside) * cell
    bar_height = min(max(map_height, 0.6), 1.6)
    left = EDGE + max(width for width, _ in beside) + GAP
    right = 2 * GAP + BAR + max(size_of(label, canvas)[0] for label in bar.get_yticklabels()) + GAP + EDGE
    legend_width, legend_height = (0.0, 0.0) if legend is None else size_of(legend, canvas)
    width = max(left + map_width + right, legend_width + 2 * EDGE, _NARROWEST if title.get_text() else 0.0)
    _wrap(title, size_of(title, canvas)[0], width - 2 * EDGE)
    title_width, title_height = size_of(title, canvas)
    spare = max(0.0, title_width + 2 * EDGE - width)
    left, width = left + (width + spare - left - map_width - right) / 2, width + spare
    top = EDGE + (title_height + 2 * GAP if title_height else 0.0) + max(height for _, height in above) + GAP
    bottom = EDGE + (legend_height + 2 * GAP if legend is not None else 0.0)
    height = top + max(map_height, bar_height) + bottom
    figure.set_size_inches(width, height)
    start = height - top
    axes.set_position((left / width, (start - map_height) / height, map_width / width, map_height / height))
    bar_left = left + map_width + 2 * GAP
    bar.set_position((bar_left / width, (start - bar_height) / height, BAR / width, bar_height / height))
    title.set_y(1 - EDGE / height)
    if legend is not None:
        legend.set_bbox_to_anchor((0.5, EDGE / height))


def fit_cell(
    above: list[tuple[float, float]],
    beside: list[tuple[float, float]],
    *,
    limits: tuple[float, float],
    longer_side: float,
) -> float:
    """The side of a map's cells: such that its longer side is as given, within limits, and its labels have room.

    `above` and `beside` are widths and heights of the labels. Some scripts stand higher than a line of Latin; their
    cells grow, so that no label touches the next.
    """
    thickest = max(*(width for width, _ in above), *(height for _, height in beside))
    return max(1.2 * thickest, min(limits[1], max(limits[0], longer_side / max(len(above), len(beside)))))


def _wrap(title: Text, width: float, allowed: float) -> None:
    """Break a title that is wider than allowed into lines; a single word that is wider stays whole."""
    if width > allowed:
        letters = int(len(title.get_text()) * allowed / width)
        title.set_text("\n".join(textwrap.wrap(title.get_text(), letters, break_long_words=False)))
