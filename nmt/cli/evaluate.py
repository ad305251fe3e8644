"""`nmt evaluate`: BLEU, chrF and TER of runs on a text."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt.cli.options import DeviceOption, DocumentsOption, JsonOption
from nmt.cli.runs import chosen_run
from nmt.cli.streams import tell
from nmt.errors import ConfigError

if TYPE_CHECKING:
    from nmt.evaluation.bleu import LengthBucket
    from nmt.experiment.evaluate import Evaluation


_RunsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--run",
        metavar="DIR",
        help="Run folder; default: the newest finished run under runs/. May be repeated: runs side by side.",
    ),
]
_WrongOption = Annotated[
    Path | None,
    typer.Option(
        "--contrast", metavar="FILE", help="Wrong translations of each line, tabs between: is the right one likelier?"
    ),
]


def evaluate(
    source: Annotated[Path, typer.Option("--source", metavar="FILE", help="Text to translate.")],
    reference: Annotated[Path, typer.Option("--reference", metavar="FILE", help="Its reference translations.")],
    run: _RunsOption = None,
    by_length: Annotated[bool, typer.Option("--by-length", help="Also BLEU by the number of source words.")] = False,
    plot: Annotated[bool, typer.Option("--plot", help="Draw BLEU by length, a line for each run.")] = False,
    picture: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The picture, png, svg or pdf; default: by_length.png."),
    ] = None,
    documents: DocumentsOption = None,
    wrong: _WrongOption = None,
    json_output: JsonOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Translate a text and score it by BLEU, chrF and TER, with sacreBLEU's signatures and 95 % intervals.

    Several runs are scored one after the other, and named by their folders; --json then prints an object for each.
    """
    from nmt.data.corpus import read_parallel
    from nmt.data.documents import read_names
    from nmt.experiment.contrast import read_wrong
    from nmt.experiment.evaluate import evaluate_runs, run_names

    _check(by_length, plot, picture)
    names = run_names(run or [])
    text = read_parallel(source, reference)
    ends = None if documents is None else read_names(documents, text.source, source)
    rivals = None if wrong is None else read_wrong(wrong, text.source, source)
    opened = [chosen_run(path, device) for path in run] if run else [chosen_run(None, device)]
    names = names or [opened[0].folder.path.name]
    runs = dict(zip(names, opened, strict=True))
    evaluations = evaluate_runs(runs, text, by_length=by_length, names=ends, wrong=rivals)
    if json_output:
        objects = {name: evaluation.as_dict() for name, evaluation in evaluations.items()}
        typer.echo(json.dumps(objects if len(names) > 1 else objects[names[0]], indent=2, ensure_ascii=False))
    else:
        _print(evaluations)
    if plot:
        _plot(evaluations, picture or Path("by_length.png"))


def _check(by_length: bool, plot: bool, picture: Path | None) -> None:
    if plot and not by_length:
        raise ConfigError("--plot draws BLEU by length: give --by-length with it")
    if picture is not None and not plot:
        raise ConfigError(
            f"--output {picture}: names the picture that --plot draws; give --plot and --by-length with it"
        )
    if picture is not None:
        from nmt.alignment.picture import check_suffix

        check_suffix(picture)


def _plot(evaluations: "Mapping[str, Evaluation]", picture: Path) -> None:
    from nmt.evaluation.plot import plot_by_length

    for note in plot_by_length({name: evaluation.buckets for name, evaluation in evaluations.items()}, picture):
        tell(note)
    tell(f"BLEU by length drawn in {picture}")


def _print(evaluations: "Mapping[str, Evaluation]") -> None:
    several = len(evaluations) > 1
    for name, evaluation in evaluations.items():
        if several:
            typer.echo(name)
        for score in evaluation.scores:
            typer.echo(f"{score.text()}  {score.signature}")
        if evaluation.contrast is not None:
            typer.echo(evaluation.contrast.text())
        if several:
            typer.echo()
    columns = {name if several else "BLEU": evaluation.buckets for name, evaluation in evaluations.items()}
    if all(columns.values()):
        if several:
            typer.echo("BLEU by length")
        _print_buckets(columns)


def _print_buckets(columns: "Mapping[str, tuple[LengthBucket, ...]]") -> None:
    widths = [max(5, len(name)) for name in columns]
    heads = (f"  {name:>{width}}" for name, width in zip(columns, widths, strict=True))
    typer.echo(f"source words  sentences{''.join(heads)}")
    for row in zip(*columns.values(), strict=True):
        words = f"{row[0].low}–{row[0].high}" if row[0].high is not None else f"{row[0].low}–"
        values = ("—" if bucket.bleu is None else f"{bucket.bleu:.1f}" for bucket in row)
        cells = (f"  {value:>{width}}" for value, width in zip(values, widths, strict=True))
        typer.echo(f"{words:>12}  {row[0].sentences:>9}{''.join(cells)}")
