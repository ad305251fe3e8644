"""What layers cost as the sentence grows, drawn: both axes logarithmic, so that an order of growth is a slope.

Lengths are in inches, the unit of matplotlib's figures.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from nmt.alignment.picture import check_suffix, own_settings, save_figure
from nmt.evaluation.plot import look_of

_FONT_SIZE = 9.0  # points
_WIDTH, _HEIGHT = 4.0, 3.9  # of a panel; the legend stands below
_GUIDE = "0.6"  # grey


def plot_costs(lengths: Sequence[int], panels: Mapping[int, Mapping[str, Sequence[float]]], path: Path) -> None:
    """Write a picture, PNG, SVG or PDF by the suffix of `path`: a panel for each width, in it a line for each layer.

    `panels` holds the cost of each layer at each of the lengths, in products of a vector with a d × d matrix. Grey
    guides have slopes 1 and 2. Raises DataError on another suffix and where the file cannot be written.
    """
    check_suffix(path)
    with own_settings():
        save_figure(draw_costs(lengths, panels), path)


def draw_costs(lengths: Sequence[int], panels: Mapping[int, Mapping[str, Sequence[float]]]) -> Figure:
    """Draw the picture that `plot_costs` writes."""
    with own_settings():
        figure = Figure(figsize=(_WIDTH * len(panels), _HEIGHT), dpi=100, facecolor="white", layout="constrained")
        FigureCanvasAgg(figure)
        row = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
        for axes, (width, costs) in zip(row, panels.items(), strict=True):
            for number, (name, values) in enumerate(costs.items()):
                marker, dashes = look_of(number)
                axes.plot(lengths, values, label=name, markersize=4, **marker, **dashes)
            _dress(axes, lengths, width)
        what = "cost of a sentence, forward and backward\n(products of a vector with a d × d matrix)"
        row[0].set_ylabel(what, size=_FONT_SIZE)
        for axes in row:
            _guide(axes, lengths)
        handles, names = row[0].get_legend_handles_labels()
        figure.legend(
            handles,
            names,
            loc="outside lower center",
            ncols=3,
            fontsize=_FONT_SIZE,
            handlelength=4.0,
            columnspacing=2.0,
        )
    return figure


def _dress(axes: Axes, lengths: Sequence[int], width: int) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(lengths[::2], labels=[f"{length:,}" for length in lengths[::2]])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_title(f"d = {width}", size=_FONT_SIZE)
    axes.set_xlabel("n, positions of a sentence", size=_FONT_SIZE)
    axes.tick_params(labelsize=_FONT_SIZE)
    axes.spines[["top", "right"]].set_visible(False)


def _guide(axes: Axes, lengths: Sequence[int]) -> None:
    """Lines of slope 1 and 2 from the middle of the lower edge, within what is drawn already."""
    low, high = axes.get_ylim()
    start, end = lengths[len(lengths) // 2], lengths[-1]
    for order, name in ((1, "n"), (2, "n²")):
        foot = 1.5 * low
        stop = min(end, start * (0.8 * high / foot) ** (1 / order))
        top = foot * (stop / start) ** order
        axes.plot([start, stop], [foot, top], color=_GUIDE, linewidth=0.8, linestyle=(0, (1, 1)), zorder=0)
        axes.annotate(name, (stop, top), (2, 0), textcoords="offset points", color=_GUIDE, size=_FONT_SIZE, va="center")
    axes.set_ylim(low, high)
