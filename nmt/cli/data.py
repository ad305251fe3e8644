"""`nmt data`: corpora to train on, made or fetched."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from nmt.data.download import CORPORA, Corpus, Progress, fetch

app = typer.Typer(help="Make or fetch corpora.", no_args_is_help=True)


@app.command("list")
def list_corpora() -> None:
    """Print which corpora there are, and the command for each."""
    width = max(len(corpus.command) for corpus in CORPORA.values())
    for corpus in CORPORA.values():
        rows = (
            ("", corpus.description),
            ("languages", ", ".join(corpus.languages)),
            ("pairs", corpus.pairs),
            ("source", corpus.source),
        )
        for number, (label, text) in enumerate(rows):
            typer.echo(f"{'' if number else corpus.command:{width}}  {label + ': ' if label else ''}{text}")


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="Folder to write to.")] = Path("data/demo"),
) -> None:
    """Make the demo corpus, which has gold word alignments."""
    from nmt.data.demo import write_demo_corpus

    typer.echo("making the demo corpus, some seconds", err=True)
    made = write_demo_corpus(output)
    counts = ", ".join(f"{pairs:,} {split}" for split, pairs in made.pairs.items())
    words = f"{made.english_words:,} English and {made.german_words:,} German words"
    typer.echo(f"{counts} pairs with {words}; documents in {output / 'documents'}", err=True)
    for split in made.pairs:
        for ending in ("en", "de", "links"):
            typer.echo(output / f"{split}.{ending}")


def _fetcher(corpus: Corpus) -> Callable[..., None]:
    def command(
        output: Annotated[Path, typer.Option("--output", metavar="DIR", help="Folder to write to.")] = Path(
            "data", corpus.name
        ),
        mirror: Annotated[
            str | None,
            typer.Option(
                "--mirror",
                metavar="URL",
                show_default=False,
                help="Where to fetch from instead: a folder that has the .gz files (file:///folder), or a web address.",
            ),
        ] = None,
    ) -> None:
        with _progress() as report:
            paths = fetch(corpus, output, mirror=mirror, progress=report)
        for path in paths:
            typer.echo(path)

    command.__doc__ = f"Fetch {corpus.name}: {corpus.description}. Files that are there already are not fetched again."
    return command


for _corpus in CORPORA.values():
    if _corpus.files:
        app.command(_corpus.name)(_fetcher(_corpus))


@contextmanager
def _progress() -> Iterator[Progress]:
    """What to call with a file's name, its bytes so far and in all: a bar on a terminal, else one line a file."""
    if sys.stderr.isatty():
        with _bars() as bars:
            yield bars
    else:
        yield _lines()


def _lines() -> Progress:
    started = set()

    def report(name: str, done: int, total: int | None) -> None:
        if name not in started:
            started.add(name)
            typer.echo(f"fetching {name}" + (f" ({total:,} bytes)" if total else ""), err=True)

    return report


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bars:
        tasks = {}

        def report(name: str, done: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name)
            bars.update(tasks[name], completed=done, total=total)

        yield report
