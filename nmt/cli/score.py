"""`nmt score`: the log-probability of given translations."""

import json
from pathlib import Path
from typing import Annotated

import typer

from nmt.cli.options import DeviceOption, DocumentsOption, JsonOption, RunsOption
from nmt.cli.runs import chosen_runs
from nmt.cli.streams import tell


def score(
    source: Annotated[Path, typer.Option("--source", metavar="FILE", help="Text.")],
    target: Annotated[Path, typer.Option("--target", metavar="FILE", help="Its translation, line by line.")],
    run: RunsOption = None,
    documents: DocumentsOption = None,
    json_output: JsonOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Print the natural log-probability of each given translation, its end included, and tell the perplexity.

    It is that of `translate --format jsonl` where encoding the text gives the pieces that were written, and unless the
    line was translated in parts: here it is read whole, with a warning. --json prints one object, with the whole text's
    log-probability, its perplexity over pieces, and those of each line.
    """
    from nmt.data.corpus import read_parallel
    from nmt.data.documents import read_names
    from nmt.experiment.score import score_text

    text = read_parallel(source, target)
    names = None if documents is None else read_names(documents, text.source, source)
    scored = score_text(chosen_runs(run, device), text, names)
    if json_output:
        typer.echo(json.dumps(scored.as_dict()))
        return
    for one in scored.log_probabilities:
        typer.echo(f"{one:.6f}")
    tell(f"log-probability {scored.total:.4f}, perplexity {scored.perplexity:.4g} over {sum(scored.pieces):,} pieces")
