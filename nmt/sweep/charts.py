"""Which charts a sweep has: those that there are numbers for."""

from functools import partial

from nmt.evaluation.plot import draw_lines
from nmt.sweep import plot
from nmt.sweep.metrics import METRICS, VALIDATION
from nmt.sweep.sentences import lengths
from nmt.sweep.summary import Summary


def charts_of(summary: Summary) -> dict[str, plot.Draw]:
    """From a chart's title to what draws it."""
    settings = summary.finished
    metric = summary.objective if summary.objective in VALIDATION else "bleu"
    charts: dict[str, plot.Draw] = {}
    if any(setting.spread(metric) for setting in settings):
        for against in ("steps", "minutes"):
            title = f"{METRICS[metric].title} in training, by {against}"
            charts[title] = partial(plot.draw_curves, settings=settings, metric=metric, against=against)
    for across in ("test_aer", "parameters", "tokens_per_second"):
        if any(setting.spread(across) and setting.spread("test_bleu") for setting in settings):
            title = f"BLEU against {METRICS[across].title}"
            charts[title] = partial(plot.draw_scatter, settings=settings, across=across, up="test_bleu")
    buckets = lengths(settings)
    if len(buckets) == len(settings) > 0:
        charts["BLEU by the number of source words"] = partial(draw_lines, runs=buckets)
    return charts


def charts_picture(summary: Summary) -> bytes | None:
    """All of them on one sheet, as SVG; None where there are none."""
    charts = charts_of(summary)
    return plot.sheet(charts, [setting.name for setting in summary.finished]) if charts else None
