"""`nmt translate`: one line out for each line in."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt.cli.options import DeviceOption, DocumentsOption, RunOption
from nmt.cli.runs import chosen_run
from nmt.cli.streams import input_lines, lines_as_they_come, output
from nmt.errors import ConfigError

if TYPE_CHECKING:
    from nmt.experiment.run import Run


def translate(
    run: RunOption = None,
    source: Annotated[
        Path | None, typer.Option("--input", "-i", metavar="FILE", help="Text to translate; default: stdin.")
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where translations go; default: stdout.")
    ] = None,
    beam: Annotated[int | None, typer.Option("--beam", min=1, help="Hypotheses kept at each step; 1: greedy.")] = None,
    length_penalty: Annotated[
        float | None, typer.Option("--length-penalty", min=0.0, help="α of Wu et al.; 0 favours short translations.")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", min=1, help="Sentences translated at once; changes speed alone.")
    ] = None,
    sample_attention: Annotated[
        bool,
        typer.Option("--sample-attention", help="Draw where hard attention looks; default: the most probable place."),
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, max=2**63 - 1, help="Of what is drawn; default: 1.")
    ] = None,
    documents: DocumentsOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Translate text, line by line; a blank line stays blank. Settings default to the run's.

    Stdin may be a pipe that waits for answers: what has arrived is translated at once.
    """

    if length_penalty is not None and not math.isfinite(length_penalty):
        raise ConfigError(f"--length-penalty {length_penalty}: is not a number of 0 or more; give one such as 1.0")
    if seed is not None and not sample_attention:
        raise ConfigError(f"--seed {seed}: nothing is drawn without --sample-attention; give both or neither")
    drawn = (1 if seed is None else seed) if sample_attention else None
    opened = chosen_run(run, device)
    translator = opened.translator(beam=beam, length_penalty=length_penalty, batch_size=batch_size, seed=drawn)
    number, before = 0, _before(opened, source, documents)
    with output(target) as write:
        for lines in lines_as_they_come(source):
            for translation in translator.stream(lines, first=number, before=before(lines)):
                write(translation.texts[0])
                number += 1


def _before(
    run: "Run", source: Path | None, documents: Path | None
) -> Callable[[Sequence[str]], list[tuple[str, ...]]]:
    """What tells the sentences before each of the lines that have just arrived, after all those before them."""
    from nmt.data.documents import SentencesBefore, read_names

    if documents is None:
        walk = SentencesBefore(run.config.data.document_context)
        return lambda lines: [walk.of(line) for line in lines]
    if source is None:
        raise ConfigError(f"--documents {documents}: names the lines of a file: give that with --input")
    lines = input_lines(source)
    names = read_names(documents, lines, source)
    run.before(lines, names)
    return lambda arrived: run.before(arrived, names)
