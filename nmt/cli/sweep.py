"""`nmt sweep`: many trainings from one YAML, side by side, and their comparison at the end."""

import shlex
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt.cli.options import DeviceOption
from nmt.cli.report import write_report
from nmt.cli.streams import tell
from nmt.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

    from nmt.sweep.work import Row

_MARGIN = 6  # lines of the terminal that the table leaves free


def sweep(
    config: Annotated[Path, typer.Option("--config", "-c", metavar="FILE", help="YAML file of the sweep.")],
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Runs side by side; they share the cores.")] = 1,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with a sweep, or work on it beside another process; failed runs again."),
    ] = False,
    folder: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="The sweep's folder; default: runs/NAME.")
    ] = None,
    device: DeviceOption = "auto",
) -> None:
    """Train every run that a sweep's YAML asks for, each in a run folder of its own, and compare them.

    Mistakes in the YAML are told before the first run starts. Ctrl-C saves every training; --resume goes on with them.
    """
    from nmt.sweep.plan import load_plan

    plan = load_plan(config)

    from nmt.experiment.interrupt import stop_on_interrupt
    from nmt.experiment.run import RUNS
    from nmt.sweep.start import open_sweep
    from nmt.sweep.work import cores, watched

    if jobs > cores():
        raise ConfigError(f"--jobs {jobs}: this machine has {cores()} cores for them; give at most as many")
    path = folder if folder is not None else RUNS / plan.section.name
    worker = open_sweep(plan, path, resume=resume, jobs=jobs, device=device)
    with stop_on_interrupt(tell) as interrupted, closing(worker.work(interrupted)) as stages:
        _show(stages, watched(plan))
        stopped = interrupted()
    if stopped:
        options: dict[str, object] = {"--config": config, "--output": folder}
        options |= {"--jobs": jobs if jobs > 1 else None, "--device": device if device != "auto" else None}
        given = [part for name, value in options.items() if value is not None for part in (name, str(value))]
        tell(f"ended: interrupted; go on with: {shlex.join(['nmt', 'sweep', '--resume', *given])}")
        raise typer.Exit(130)
    write_report(path)


def _show(stages: "Iterable[list[Row]]", score: str) -> None:
    """Draw each stage over the last one on a terminal; elsewhere write a line for each change."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False, markup=False)
    if not console.is_terminal:
        _write_changes(stages, score)
        return
    with Live(console=console, auto_refresh=False) as live:
        for rows in stages:
            live.update(_table(rows, score, console.height - _MARGIN), refresh=True)


def _write_changes(stages: "Iterable[list[Row]]", score: str) -> None:
    from nmt.sweep.metrics import METRICS

    told: dict[str, tuple[object, ...]] = {}
    for rows in stages:
        for row in rows:
            news = (row.state, row.score)
            if row.state != "waiting" and told.get(row.name) != news:
                told[row.name] = news
                numbers = [f"step {row.step}"] if row.step else []
                numbers += [f"{score} {METRICS[score].text(row.score)}"] if row.score is not None else []
                numbers += [f"{row.tokens_per_second:,.0f} tokens/s"] if row.tokens_per_second else []
                numbers += [f"left {_time(row.left)}"] if row.left is not None else []
                tell("  ".join([row.name, row.state, *numbers, *([row.reason] if row.reason else [])]))


def _table(rows: "Sequence[Row]", score: str, height: int) -> "RenderableType":
    """The runs, each in a line, and why some failed; of more than `height`, those that train first, then the failed."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from nmt.sweep.metrics import METRICS

    counts = [(state, sum(row.state == state for row in rows)) for state in _ORDER]
    table = Table(caption=", ".join(f"{count} {state}" for state, count in counts if count), caption_justify="left")
    table.add_column("run", overflow="fold")
    table.add_column("state")
    for name in ("step", METRICS[score].title, "tokens/s", "left"):
        table.add_column(name, justify="right", no_wrap=True)
    # Beneath the table: a long reason in a column of its own would leave no room for the others.
    reasons = [f"{row.name}: {row.reason}" for row in rows if row.reason][: max(1, height // 3)]
    height -= len(reasons)
    shown = rows if len(rows) <= height else sorted(rows, key=lambda row: _ORDER.index(row.state))[: max(1, height)]
    for row in shown:
        cells = (
            row.name,
            row.state,
            "" if row.step is None else f"{row.step:,}",
            "" if row.score is None else METRICS[score].text(row.score),
            "" if row.tokens_per_second is None else f"{row.tokens_per_second:,.0f}",
            "" if row.left is None else _time(row.left),
        )
        table.add_row(*map(Text, cells), style="bold" if row.state == "running" else None)
    return Group(table, *(Text(reason, no_wrap=True, overflow="ellipsis") for reason in reasons))


_ORDER = ("running", "failed", "done", "pruned", "waiting")


def _time(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
