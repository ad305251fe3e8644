"""`nmt average`: the mean of a run's last weights, as a run of its own."""

from pathlib import Path
from typing import Annotated

import typer

from nmt.cli.options import RunOption
from nmt.cli.streams import tell


def average(
    run: RunOption = None,
    last: Annotated[
        int | None, typer.Option("--last", min=1, metavar="N", help="Of the last N validations; default: all kept.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="The new run; default: the run's name-average.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run that is there.")] = False,
) -> None:
    """Average the weights of a run's last validations (training.keep_last), and write them as a new run.

    Prints the new run's folder, which every command can open.
    """
    from nmt.experiment.average import average_run

    folder = average_run(run, last, output, overwrite=overwrite)
    averaged = folder.meta()["averaged"]
    tell(f"the mean of {averaged['run']} at steps {', '.join(map(str, averaged['steps']))}")
    typer.echo(folder.path)
