"""The charts of a sweep's page, as SVG, and alignment maps, as a few pixels: pictures that need no network.

Settings differ by colour, marker and dashes, as in BLEU by length, so that they can be told apart in grey.
"""

import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import image
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from nmt.alignment.fonts import choose_fonts
from nmt.alignment.labels import printable, shortened
from nmt.alignment.matrix import AlignmentMatrix
from nmt.alignment.picture import own_settings
from nmt.evaluation.plot import look_of
from nmt.sweep.metrics import METRICS
from nmt.sweep.summary import Setting

_SIZE = (4.4, 3.2)  # inches
_FONT_SIZE = 9.5  # points
_COLUMNS, _LEGEND_COLUMNS = 2, 4  # of a sheet of charts
_LONGEST_NAME = 40  # characters

Draw = Callable[[Axes], object]
"""What draws a chart into the axes that it is given."""


def swatch(number: int) -> bytes:
    """The line and marker of setting `number`, for a legend."""
    with own_settings():
        figure = Figure(figsize=(0.5, 0.18))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        marker, dashes = look_of(number)
        axes.plot([0.0, 0.5, 1.0], [0.5, 0.5, 0.5], **marker, **dashes, markevery=[1])
        axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
        axes.set_axis_off()
        return _svg(figure)


def draw_curves(axes: Axes, settings: Sequence[Setting], metric: str, against: str) -> None:
    """A validation score of each run, over its steps or over its minutes (`against`)."""
    for number, setting in enumerate(settings):
        marker, dashes = look_of(number)
        for result in setting.results:
            points = [(_place(one, against), METRICS[metric].scale * one[metric]) for one in result.validations]
            # Colour and dashes alone: markers of many validations would hide the lines.
            axes.plot(*zip(*points, strict=True), color=marker["color"], **dashes)
            axes.plot(*points[-1], **marker)
    _finish(axes, f"{against} of training", METRICS[metric].title)


def _place(validation: Mapping[str, Any], against: str) -> float:
    return float(validation["step"]) if against == "steps" else float(validation["seconds"]) / 60.0


def draw_scatter(axes: Axes, settings: Sequence[Setting], across: str, up: str) -> None:
    """One metric of each setting against another: means over seeds, and deviations as bars."""
    for number, setting in enumerate(settings):
        spreads = setting.spread(across), setting.spread(up)
        if spreads[0] is None or spreads[1] is None:
            continue
        (x, dx), (y, dy) = (
            (scale * one.mean, scale * (one.deviation or 0.0))
            for one, scale in zip(spreads, (METRICS[across].scale, METRICS[up].scale), strict=True)
            if one is not None
        )
        marker, _ = look_of(number)
        axes.errorbar(x, y, xerr=dx, yerr=dy, elinewidth=1.0, capsize=2.5, **marker)
    _finish(axes, METRICS[across].title, METRICS[up].title)


def chart(draw: Draw) -> bytes:
    """One chart, as SVG."""
    with own_settings():
        figure = Figure(figsize=_SIZE, facecolor="white", layout="constrained")
        draw(figure.add_subplot())
        return _svg(figure)


def sheet(charts: Mapping[str, Draw], names: Sequence[str]) -> bytes:
    """All charts on one sheet under their titles, and beneath them what each line and marker stands for, as SVG."""
    columns = min(_COLUMNS, len(charts))
    rows = math.ceil(len(charts) / columns)
    shown = [shortened(printable(name), _LONGEST_NAME) for name in names]
    families, _ = choose_fonts(shown)
    with own_settings():
        legend_rows = math.ceil(len(shown) / _LEGEND_COLUMNS)
        height = rows * (_SIZE[1] + 0.3) + 0.22 * legend_rows + 0.2
        figure = Figure(figsize=(columns * _SIZE[0], height), facecolor="white", layout="constrained")
        for place, (title, draw) in enumerate(charts.items(), start=1):
            axes = figure.add_subplot(rows, columns, place)
            draw(axes)
            axes.set_title(title, size=_FONT_SIZE + 1)
        lines = [Line2D([], [], **(look_of(number)[0] | look_of(number)[1])) for number in range(len(shown))]
        legend = figure.legend(
            handles=lines,
            labels=["-"] * len(lines),
            loc="outside lower center",
            ncols=min(_LEGEND_COLUMNS, len(lines)),
            prop={"size": _FONT_SIZE, "family": families},
            handlelength=3.5,
            frameon=False,
        )
        # Written afterwards, as matplotlib leaves out labels that begin with an underscore.
        for text, name in zip(legend.get_texts(), shown, strict=True):
            text.set_text(name)
        return _svg(figure)


def map_pixels(matrix: AlignmentMatrix) -> bytes:
    """The weights of an alignment as a PNG of one pixel a cell, white 0 and black 1."""
    file = io.BytesIO()
    greys = 1.0 - np.clip(np.asarray(matrix.weights, dtype=float), 0.0, 1.0)
    image.imsave(file, np.repeat(greys[:, :, None], 3, axis=2), format="png")
    return file.getvalue()


def _finish(axes: Axes, across: str, up: str) -> None:
    """Names and ticks, when all is drawn."""
    axes.set_xlabel(across, size=_FONT_SIZE)
    axes.set_ylabel(up, size=_FONT_SIZE)
    axes.tick_params(labelsize=_FONT_SIZE)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(0.08)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=5))
        axis.set_major_formatter(FuncFormatter(_tick))


def _tick(value: float, _: int | None) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def _svg(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
