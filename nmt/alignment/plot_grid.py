"""Pictures of several maps of one sentence pair: a row for each layer, a column for each head.

Every map has its words beside it, so that it can be read where it stands, however large the picture. The idea of seeing
all heads at once is J. Vig's ("A multiscale visualization of attention in the Transformer model", ACL 2019, arXiv
1906.05714). Lengths are in inches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

from nmt.alignment.fonts import choose_fonts
from nmt.alignment.labels import labels_of
from nmt.alignment.links import Links, check_range
from nmt.alignment.matrix import AlignmentMatrix
from nmt.alignment.picture import DOTS, check_suffix, own_settings, save_figure, size_of
from nmt.alignment.plot import BAR, EDGE, GAP, draw_bar, draw_legend, draw_map, fit_cell, outline, write_labels

Rows = Sequence[Mapping[str, AlignmentMatrix]]
"""Maps of one sentence pair by their titles, as many in each row."""

SMALLER = 6.0
"""Size of a word in a picture of many maps, in points."""

_TITLE_SIZE = 8.0  # points
_CELL = (0.11, 0.20)  # the smallest still holds a line of 6 points
_MAP = 1.6  # a map's longer side, where cells of that size allow it
_APART = 0.15  # two panels


@dataclass(frozen=True)
class Room:
    """What each panel takes: the size of what is drawn in it, and how much there is for words around that."""

    width: float
    height: float
    left: float
    right: float
    above: float


def plot_grid(rows: Rows, path: Path, *, gold: Links | None = None) -> list[str]:
    """Write a picture of all maps to `path`, as PNG, SVG or PDF by its suffix, and return notes for the user.

    What a map shows, the notes and the errors are as in `plot_alignment`.
    """
    check_suffix(path)
    with own_settings():
        figure, notes = draw_grid(rows, gold=gold)
        save_figure(figure, path)
    return notes


def draw_grid(rows: Rows, *, gold: Links | None = None) -> tuple[Figure, list[str]]:
    """Draw the picture that `plot_grid` writes, and return it with the same notes."""
    first = next(iter(rows[0].values()))
    if gold is not None:
        check_range(gold.possible, len(first.source), len(first.target), "gold")
    source, target, across = labels_of(first.source), labels_of(first.target), len(rows[0])
    families, notes = choose_fonts([*source, *target])
    with own_settings():
        canvas = FigureCanvasAgg(Figure(dpi=DOTS, facecolor="white"))
        panels = add_panels(canvas.figure, rows)
        kinds: list[Rectangle] = []
        for axes, matrix in panels.items():
            draw_map(axes, matrix, len(source), len(target), maps=max(len(rows), across))
            labels = write_labels(axes, source, target, families, size=SMALLER)
            kinds = [] if gold is None else outline(axes, gold)
        bar, legend = draw_bar(canvas.figure), draw_legend(canvas.figure, kinds)
        # All have the same words, so that those of the last tell the size of each.
        _lay_out(canvas, list(panels), across, labels, bar, legend)
    return canvas.figure, notes


def add_panels(figure: Figure, rows: Rows) -> dict[Axes, AlignmentMatrix]:
    """Axes for each map, row by row, labelled by its title; where they stand is for `lay_out_panels` to say."""
    return {figure.add_axes((0.1, 0.1, 0.8, 0.8), label=title): matrix for row in rows for title, matrix in row.items()}


def lay_out_panels(
    canvas: FigureCanvasAgg,
    panels: Sequence[Axes],
    across: int,
    room: Room,
    *,
    beside: float = 0.0,
    below: float = 0.0,
    narrowest: float = 0.0,
) -> None:
    """Write the title of each panel above it, size the figure, and place the panels, `across` in a row.

    `beside` and `below` are free space to the right of the panels and below them; the figure is at least `narrowest`.
    """
    figure = canvas.figure
    titles = [
        axes.annotate(
            str(axes.get_label()),
            (0.5, 1.0),
            (0.0, 72 * (room.above + GAP)),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="center",
            va="bottom",
            size=_TITLE_SIZE,
        )
        for axes in panels
    ]
    sizes = [size_of(title, canvas) for title in titles]
    spare = max(0.0, (max(width for width, _ in sizes) - room.width) / 2)
    left, right = max(room.left, spare), max(room.right, spare)
    above = room.above + GAP + max(height for _, height in sizes)
    step_across, step_down = left + room.width + right + _APART, above + room.height + _APART
    down = -(-len(panels) // across)
    width = max(2 * EDGE + across * step_across - _APART + beside, narrowest)
    height = 2 * EDGE + down * step_down - _APART + below
    figure.set_size_inches(width, height)
    for number, axes in enumerate(panels):
        row, column = divmod(number, across)
        top = height - EDGE - row * step_down - above
        _place(figure, axes, EDGE + column * step_across + left, top - room.height, room.width, room.height)


def _place(figure: Figure, axes: Axes, left: float, bottom: float, width: float, height: float) -> None:
    whole_width, whole_height = figure.get_size_inches()
    axes.set_position((left / whole_width, bottom / whole_height, width / whole_width, height / whole_height))


def _lay_out(
    canvas: FigureCanvasAgg,
    panels: Sequence[Axes],
    across: int,
    labels: tuple[list[Annotation], list[Annotation]],
    bar: Axes,
    legend: Legend | None,
) -> None:
    over, left = ([size_of(label, canvas) for label in side] for side in labels)
    cell = fit_cell(over, left, limits=_CELL, longer_side=_MAP)
    room = Room(
        width=len(over) * cell,
        height=len(left) * cell,
        left=max(width for width, _ in left) + GAP,
        right=0.0,
        above=max(height for _, height in over) + GAP,
    )
    bar_height = min(max(room.height, 0.6), 1.6)
    spare = max(0.0, bar_height - room.height) if len(panels) == across else 0.0
    numbers = max(size_of(label, canvas)[0] for label in bar.get_yticklabels())
    legend_width, legend_height = (0.0, 0.0) if legend is None else size_of(legend, canvas)
    lay_out_panels(
        canvas,
        panels,
        across,
        room,
        beside=2 * GAP + BAR + numbers + GAP,
        below=(0.0 if legend is None else legend_height + 2 * GAP) + spare,
        narrowest=legend_width + 2 * EDGE,
    )
    width, height = canvas.figure.get_size_inches()
    top = panels[0].get_position().y1 * height
    _place(canvas.figure, bar, width - EDGE - GAP - numbers - BAR, top - bar_height, BAR, bar_height)
    if legend is not None:
        legend.set_bbox_to_anchor((0.5, EDGE / height))
