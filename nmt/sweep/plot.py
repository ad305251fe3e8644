"""The charts of a sweep's page, as SVG, and alignment maps, as a few pixels: pictures that need no network.

Settings differ by colour, marker and dashes, as in BLEU by length, so that they can be told apart in grey.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from matplotlib import image
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from nmt.alignment.matrix import AlignmentMatrix
from nmt.alignment.picture import own_settings
from nmt.evaluation.bleu import LengthBucket
from nmt.evaluation.plot import draw_by_length, look_of
from nmt.sweep.metrics import METRICS
from nmt.sweep.summary import Setting

_SIZE = (4.4, 3.2)  # inches
_FONT_SIZE = 9.5  # points


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


def learning_curves(settings: Sequence[Setting], metric: str, against: str) -> bytes:
    """A validation score of each run, over its steps or over its minutes (`against`)."""
    with _chart(f"{against} of training", METRICS[metric].title) as (axes, finish):
        for number, setting in enumerate(settings):
            marker, dashes = look_of(number)
            for result in setting.results:
                points = [(_place(one, against), METRICS[metric].scale * one[metric]) for one in result.validations]
                # Colour and dashes alone: markers of many validations would hide the lines.
                axes.plot(*zip(*points, strict=True), color=marker["color"], **dashes)
                axes.plot(*points[-1], **marker)
        return finish()


def _place(validation: Mapping[str, Any], against: str) -> float:
    return float(validation["step"]) if against == "steps" else float(validation["seconds"]) / 60.0


def scatter(settings: Sequence[Setting], across: str, up: str) -> bytes:
    """One metric of each setting against another: means over seeds, and deviations as bars."""
    with _chart(METRICS[across].title, METRICS[up].title) as (axes, finish):
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
        return finish()


def by_length(buckets: Mapping[str, Sequence[LengthBucket]]) -> bytes:
    """BLEU by the number of source words, a line for each setting."""
    figure, _ = draw_by_length(buckets, legend=False)
    with own_settings():
        figure.set_size_inches(*_SIZE)
        return _svg(figure)


def map_pixels(matrix: AlignmentMatrix) -> bytes:
    """The weights of an alignment as a PNG of one pixel a cell, white 0 and black 1."""
    file = io.BytesIO()
    greys = 1.0 - np.clip(np.asarray(matrix.weights, dtype=float), 0.0, 1.0)
    image.imsave(file, np.repeat(greys[:, :, None], 3, axis=2), format="png")
    return file.getvalue()


@contextmanager
def _chart(across: str, up: str) -> Iterator[tuple[Axes, Callable[[], bytes]]]:
    """Axes with their names, and what to call when all is drawn: it gives the SVG."""
    with own_settings():
        figure = Figure(figsize=_SIZE, facecolor="white", layout="constrained")
        axes = figure.add_subplot()

        def finish() -> bytes:
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
            return _svg(figure)

        yield axes, finish


def _tick(value: float, _: int | None) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def _svg(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
