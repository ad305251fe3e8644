"""`nmt report`: what a sweep came to, as a table and as a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt.cli.options import JsonOption
from nmt.cli.streams import tell
from nmt.errors import ConfigError

if TYPE_CHECKING:
    from nmt.sweep.table import Table


def report(
    folder: Annotated[Path, typer.Argument(metavar="SWEEP", help="The folder of a sweep.", show_default=False)],
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Copy the small results there, no weights, and report from it."),
    ] = None,
    texts: Annotated[
        bool,
        typer.Option("--texts/--no-texts", help="With --keep: whether sentences of the test text go with it."),
    ] = True,
    json_output: JsonOption = False,
) -> None:
    """Print the table of a sweep, at any time: means and standard deviations over seeds of the runs that have finished.

    Writes it into the sweep's folder, too: table.csv, table.md, table.tex, charts.svg, and report.html, one page with
    the table, charts, and the same sentences translated by every setting. It needs no weights: what --keep copies is
    enough, for a report and to go on with the sweep elsewhere (nmt sweep --resume --output DIR).
    """
    from nmt.sweep.folder import SweepFolder
    from nmt.sweep.keep import keep_results

    if keep is not None:
        folder = keep_results(SweepFolder(folder), keep, texts=texts).path
    elif not texts:
        raise ConfigError("--no-texts says what --keep leaves out; give --keep DIR, too")
    write_report(folder, json_output)


def write_report(folder: Path, json_output: bool = False) -> None:
    """Write a sweep's tables and page, and print the table."""
    import json

    from nmt.files import replacing, write_text
    from nmt.sweep.charts import charts_picture
    from nmt.sweep.folder import SweepFolder
    from nmt.sweep.page import make_page
    from nmt.sweep.summary import summarise
    from nmt.sweep.table import as_csv, as_json, as_latex, as_markdown, make_table

    summary = summarise(SweepFolder(folder))
    write_text(folder / "report.html", make_page(summary))
    if not summary.finished:
        tell(f"{folder}: no run has finished yet")
        for line in summary.left_out:
            tell(line)
        if json_output:
            typer.echo("[]")
        return
    table = make_table(summary)
    for name, text in (("csv", as_csv(summary)), ("md", as_markdown(table)), ("tex", as_latex(table))):
        write_text(folder / f"table.{name}", text)
    picture = charts_picture(summary)
    if picture is not None:
        with replacing(folder / "charts.svg") as temporary:
            temporary.write_bytes(picture)
    if json_output:
        typer.echo(json.dumps(as_json(summary), indent=2, ensure_ascii=False))
    else:
        _print(table)
    tell(f"the page is {folder / 'report.html'}")


def _print(table: "Table") -> None:
    """The table, its best in bold on a terminal, and the notes."""
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(box=None, pad_edge=False)
    for name in table.names:
        drawn.add_column(name, no_wrap=True)
    for name in table.numbers:
        drawn.add_column(name, justify="right", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*(Text(cell.text, style="bold" if cell.best else "") for cell in row))
    # As wide as it is: a terminal that is narrower wraps lines, and nothing is cut off.
    width = Console(width=10_000).measure(drawn).maximum
    console = Console(highlight=False, markup=False, width=max(width, Console().width))
    console.print(drawn)
    for note in table.notes:
        console.print(note, soft_wrap=True)
