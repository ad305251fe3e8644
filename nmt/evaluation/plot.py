"""BLEU by the length of the source, drawn, in the manner of Bahdanau et al. 2015, figure 2: a line for each run.

Lines differ in marker, dashes and colour, so that they can be told apart in print. BLEU starts at 0, so that heights
compare. Lengths are in inches, the unit of matplotlib's figures.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from nmt.alignment.fonts import choose_fonts
from nmt.alignment.labels import printable, shortened
from nmt.alignment.picture import check_suffix, own_settings, save_figure
from nmt.evaluation.bleu import LengthBucket

_FEW = 100  # sentences: on fewer, BLEU is too uncertain to be drawn like the rest
_FONT_SIZE = 9.0  # points
_WIDTH, _HEIGHT = 5.0, 3.2  # without the legend
_LONGEST_NAME = 60  # characters
# Okabe and Ito's colours, less their yellow, which is pale on white. The three numbers have no common factor, so that
# hundreds of lines go by before two look alike.
_COLOURS = ("#000000", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_MARKERS = ("o", "s", "^", "D", "v", "<", ">", "d")
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1, 1, 1, 1, 1)))


def plot_by_length(runs: Mapping[str, Sequence[LengthBucket]], path: Path) -> list[str]:
    """Write a picture of the runs' BLEU by source length to `path`, as PNG, SVG or PDF by its suffix.

    A bucket of fewer than 100 sentences is drawn hollow, one without any leaves a gap. With one run there is no legend.

    Returns notes for the user: usually none, else a line on letters of a run's name that no installed font has. Raises
    DataError on another suffix and where the file cannot be written, ValueError on buckets that differ between runs.
    """
    check_suffix(path)
    with own_settings():
        figure, notes = draw_by_length(runs)
        save_figure(figure, path)
    return notes


def draw_by_length(runs: Mapping[str, Sequence[LengthBucket]]) -> tuple[Figure, list[str]]:
    """Draw the picture that `plot_by_length` writes, and return it with the same notes."""
    names = [shortened(printable(name), _LONGEST_NAME) for name in runs]
    families, notes = choose_fonts(names)
    with own_settings():
        figure = Figure(figsize=(_WIDTH, _HEIGHT), dpi=100, facecolor="white", layout="constrained")
        canvas = FigureCanvasAgg(figure)
        lines = draw_lines(figure.add_subplot(), runs)
        if len(runs) > 1:
            _draw_legend(canvas, lines, names, families)
    return figure, notes


def draw_lines(axes: Axes, runs: Mapping[str, Sequence[LengthBucket]]) -> list[Line2D]:
    """Draw the runs' BLEU by source length into given axes; the lines come back in the runs' order."""
    buckets = next(iter(runs.values()))
    for others in runs.values():
        if _bounds(others) != _bounds(buckets):
            raise ValueError("runs are drawn side by side where they translated the same text, in the same buckets")
    lines = [_draw_line(axes, number, values) for number, values in enumerate(runs.values())]
    _draw_axes(axes, buckets)
    return lines


def _bounds(buckets: Sequence[LengthBucket]) -> list[tuple[int, int | None, int]]:
    return [(bucket.low, bucket.high, bucket.sentences) for bucket in buckets]


def _draw_line(axes: Axes, number: int, buckets: Sequence[LengthBucket]) -> Line2D:
    """Draw the line of run `number`, and the hollow markers over it."""
    heights = [math.nan if bucket.bleu is None else bucket.bleu for bucket in buckets]
    marker, dashes = look_of(number)
    look = {**marker, "markersize": 6, "clip_on": False, "zorder": 3}  # a marker at 0 stays whole
    (line,) = axes.plot(heights, **dashes, **look)
    few = [place for place, bucket in enumerate(buckets) if _is_small(bucket)]
    if few:
        axes.plot(few, [heights[place] for place in few], linestyle="none", markerfacecolor="white", **look)
    return line


def look_of(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What tells line `number` from others, for matplotlib's `plot`: colour and marker; dashes."""
    marker = {
        "color": _COLOURS[number % len(_COLOURS)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "markeredgewidth": 1.1,
    }
    return marker, {"linestyle": _DASHES[number % len(_DASHES)], "linewidth": 1.3}


def _is_small(bucket: LengthBucket) -> bool:
    return 0 < bucket.sentences < _FEW


def _draw_axes(axes: Axes, buckets: Sequence[LengthBucket]) -> None:
    hollow = f";\nhollow: fewer than {_FEW}" if any(_is_small(bucket) for bucket in buckets) else ""
    labels = [f"{_words(bucket)}\nn = {bucket.sentences:,}" for bucket in buckets]
    axes.set_xticks(range(len(buckets)), labels=labels)
    axes.set_xlim(-0.4, len(buckets) - 0.6)
    ticks = MaxNLocator(nbins=6, steps=[1, 2, 5, 10]).tick_values(0.0, max(1.0, axes.dataLim.y1))
    axes.set_yticks(ticks)
    axes.set_ylim(0.0, ticks[-1])
    axes.set_xlabel(f"source words (n: number of sentences{hollow})", size=_FONT_SIZE)
    axes.set_ylabel("BLEU", size=_FONT_SIZE)
    axes.tick_params(labelsize=_FONT_SIZE)
    axes.spines[["top", "right"]].set_visible(False)


def _words(bucket: LengthBucket) -> str:
    if bucket.high is None:
        return f"{bucket.low} or more"
    return f"{bucket.low}–{bucket.high}"


def _draw_legend(canvas: FigureCanvasAgg, lines: list[Line2D], names: list[str], families: list[str]) -> None:
    """Name the lines beside the axes, in a figure that is wider by as much."""
    figure = canvas.figure
    legend = figure.legend(
        handles=lines,
        labels=["-"] * len(lines),
        loc="outside right upper",
        prop={"size": _FONT_SIZE, "family": families},
        handlelength=4.0,
        labelspacing=0.8,
        borderaxespad=0.5,
    )
    # Written afterwards, as matplotlib leaves out labels that begin with an underscore.
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)
    width = legend.get_window_extent(canvas.get_renderer()).width / figure.dpi  # type: ignore[no-untyped-call]
    figure.set_size_inches(_WIDTH + width, max(_HEIGHT, 0.25 * len(legend.get_texts()) + 0.3))
