"""`nmt evaluate`: BLEU, chrF and TER of a run on a text."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt.cli.options import DeviceOption, JsonOption, RunOption
from nmt.cli.runs import chosen_run

if TYPE_CHECKING:
    from nmt.evaluation.bleu import LengthBucket


def evaluate(
    source: Annotated[Path, typer.Option("--source", metavar="FILE", help="Text to translate.")],
    reference: Annotated[Path, typer.Option("--reference", metavar="FILE", help="Its reference translations.")],
    run: RunOption = None,
    by_length: Annotated[bool, typer.Option("--by-length", help="Also BLEU by the number of source words.")] = False,
    json_output: JsonOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Translate a text and score it by BLEU, chrF and TER, with sacreBLEU's signatures and 95 % intervals."""
    from nmt.data.corpus import read_parallel
    from nmt.experiment.evaluate import evaluate_run

    text = read_parallel(source, reference)
    opened = chosen_run(run, device)
    evaluation = evaluate_run(opened, text, by_length=by_length)
    if json_output:
        result: dict[str, object] = {score.key: score.as_dict() for score in evaluation.scores}
        if by_length:
            result["by_length"] = [asdict(bucket) for bucket in evaluation.buckets]
        typer.echo(json.dumps(result | {"sentences": evaluation.sentences}, indent=2, ensure_ascii=False))
        return
    for score in evaluation.scores:
        typer.echo(f"{score.text()}  {score.signature}")
    if by_length:
        _print_buckets(evaluation.buckets)


def _print_buckets(buckets: "tuple[LengthBucket, ...]") -> None:
    typer.echo("source words  sentences   BLEU")
    for bucket in buckets:
        words = f"{bucket.low}–{bucket.high}" if bucket.high is not None else f"{bucket.low}–"
        value = "—" if bucket.bleu is None else f"{bucket.bleu:.1f}"
        typer.echo(f"{words:>12}  {bucket.sentences:>9}  {value:>5}")
