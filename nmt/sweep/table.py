"""The table of a sweep: means and standard deviations over seeds, as CSV, Markdown and LaTeX, and plain for others."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from nmt.sweep.metrics import METRICS
from nmt.sweep.names import short_names
from nmt.sweep.summary import Setting, Spread, Summary


@dataclass(frozen=True)
class Cell:
    """What stands in a cell; `best` where no other setting is better, as far as the digits shown can tell."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Table:
    """Columns of names, then columns of numbers; `notes` are the lines beneath."""

    names: Sequence[str]
    numbers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str]


def make_table(summary: Summary) -> Table:
    """A row for each setting of which a run has finished."""
    settings, metrics = summary.finished, summary.metrics()
    budgets = [setting.budget() for setting in settings]
    differ = len({*budgets}) > 1
    columns = [_column(settings, name) for name in metrics]
    rows = []
    for place, setting in enumerate(settings):
        names = [setting.choices[axis] for axis in summary.axes] + ([budgets[place]] if differ else [])
        rows.append([*map(Cell, names), Cell(_runs(setting)), *(column[place] for column in columns)])
    names = [*short_names(summary.axes).values()] + (["budget"] if differ else [])
    return Table(names, ["runs", *(METRICS[name].title for name in metrics)], rows, _notes(summary, budgets))


def _runs(setting: Setting) -> str:
    """How many runs the means are of; of how many, where some are missing."""
    done, asked = len(setting.results), len(setting.records)
    return str(done) if done == asked else f"{done} of {asked}"


def _column(settings: Sequence[Setting], name: str) -> list[Cell]:
    metric = METRICS[name]
    spreads = [setting.spread(name) for setting in settings]
    means = [spread.mean for spread in spreads if spread is not None]
    best = metric.text(max(means) if metric.higher_is_better else min(means))
    ranked = metric.ranked and len(settings) > 1
    return [
        Cell("—") if spread is None else Cell(_text(spread, name), ranked and metric.text(spread.mean) == best)
        for spread in spreads
    ]


def _text(spread: Spread, name: str) -> str:
    metric = METRICS[name]
    deviation = spread.deviation if metric.ranked or spread.deviation else None
    return metric.text(spread.mean) + ("" if deviation is None else f" ± {metric.text(deviation)}")


def _notes(summary: Summary, budgets: Sequence[str]) -> list[str]:
    notes = []
    if any(len(setting.results) > 1 for setting in summary.finished):
        notes.append("Mean ± standard deviation over seeds; the best of each column in bold.")
    if len({*budgets}) == 1:
        notes.append(f"Budget of each run: {budgets[0]}.")
    results = [result for setting in summary.finished for result in setting.results]
    scores = [(result.meta.get("scores") or {}).get("bleu", {}) for result in results]
    signatures = dict.fromkeys(score["signature"] for score in scores if "signature" in score)
    notes += [f"BLEU: {signature}" for signature in signatures]
    return notes + [f"Not counted: {line}" for line in summary.left_out]


def as_markdown(table: Table) -> str:
    """The table as Markdown, the best in bold, the notes beneath."""

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    heads = [*table.names, *table.numbers]
    lines = [line(heads), line(["---"] * len(table.names) + ["---:"] * len(table.numbers))]
    lines += [line([f"**{cell.text}**" if cell.best else cell.text for cell in row]) for row in table.rows]
    return "\n".join([*lines, "", *(f"{note}\n" for note in table.notes)])


def as_csv(summary: Summary) -> str:
    """The numbers as they are, means and deviations in columns of their own, for programs."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    metrics = summary.metrics()
    heads = [part for name in metrics for part in (name, f"{name}_deviation")]
    writer.writerow([*summary.axes, "budget", "runs", "runs_asked", *heads])
    for setting in summary.finished:
        spreads = [setting.spread(name) for name in metrics]
        numbers = [part for one in spreads for part in ((one.mean, one.deviation) if one else (None, None))]
        names = [setting.choices[axis] for axis in summary.axes]
        writer.writerow([*names, setting.budget(), len(setting.results), len(setting.records), *numbers])
    return file.getvalue()


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "—": "---",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def as_latex(table: Table) -> str:
    """The table for a paper; it needs the package booktabs."""

    def line(cells: Sequence[str]) -> str:
        return f"  {' & '.join(cells)} \\\\"

    rows = [line([f"\\textbf{{{_latex(cell.text)}}}" if cell.best else _latex(cell.text) for cell in row])
            for row in table.rows]  # fmt: skip
    lines = [
        "% \\usepackage{booktabs}",
        *(f"% {note}" for note in table.notes),
        f"\\begin{{tabular}}{{{'l' * len(table.names)}{'r' * len(table.numbers)}}}",
        "  \\toprule",
        line([_latex(head) for head in [*table.names, *table.numbers]]),
        "  \\midrule",
        *rows,
        "  \\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def as_json(summary: Summary) -> list[dict[str, object]]:
    """The numbers as they are, an object for each setting."""
    found: list[dict[str, object]] = []
    for setting in summary.finished:
        spreads = {name: setting.spread(name) for name in summary.metrics()}
        numbers = {
            name: {"mean": spread.mean, "deviation": spread.deviation, "runs": spread.count}
            for name, spread in spreads.items()
            if spread is not None
        }
        found.append({"choices": dict(setting.choices), "budget": setting.budget(), **numbers})
    return found
