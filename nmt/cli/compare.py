"""`nmt compare`: runs side by side on one text, with significance tests."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt.cli.options import DeviceOption, DocumentsOption, JsonOption
from nmt.cli.runs import chosen_run
from nmt.cli.streams import tell
from nmt.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nmt.evaluation.ngrams import NgramDifferences
    from nmt.evaluation.significance import MetricTest
    from nmt.evaluation.words import FrequencyBucket
    from nmt.experiment.compare import Difference


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Run folders; the first is the baseline.")],
    source: Annotated[Path, typer.Option("--source", metavar="FILE", help="Text to translate.")],
    reference: Annotated[Path, typer.Option("--reference", metavar="FILE", help="Its reference translations.")],
    sentences: Annotated[
        int, typer.Option("--sentences", min=0, help="How many of the sentences that differ most are shown.")
    ] = 5,
    ngrams: Annotated[
        int, typer.Option("--ngrams", min=0, help="How many n-grams that one run gets right more often are shown.")
    ] = 10,
    documents: DocumentsOption = None,
    json_output: JsonOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Translate a text with several runs, and say in what they differ from the first.

    BLEU, chrF2 and TER with 95 % intervals and two p-values, of paired bootstrap resampling and of paired approximate
    randomisation; the sentences where two runs differ most, by chrF2; the n-grams of the references (1 to 4 words)
    that one of two gets right more often; and how well words are translated (F-score) by how often they stand in the
    first run's training text.
    """
    if len(runs) < 2:
        raise ConfigError(f"{runs[0]}: is the only run; give two or more, the first of them the baseline")
    from nmt.data.corpus import read_parallel
    from nmt.data.documents import read_names
    from nmt.experiment.compare import compare_runs
    from nmt.experiment.evaluate import run_names

    names = run_names(runs, option="")
    text = read_parallel(source, reference)
    ends = None if documents is None else read_names(documents, text.source, source)
    opened = {name: chosen_run(path, device) for name, path in zip(names, runs, strict=True)}
    comparison = compare_runs(opened, text, sentences=sentences, ngrams=ngrams, names=ends)
    for note in comparison.notes:
        tell(note)
    if json_output:
        typer.echo(json.dumps(comparison.as_dict(), indent=2, ensure_ascii=False))
        return
    for name, test in comparison.tests.items():
        _print_test(name, test)
    if comparison.frequencies:
        _print_frequencies(comparison.frequencies)
    for name, found in comparison.differences.items():
        _print_ngrams(names[0], name, comparison.ngrams[name])
        _print_differences(names[0], name, found)


def _print_test(metric: str, test: "MetricTest") -> None:
    width = max(len(name) for name in test.systems)
    typer.echo(f"{metric:<{width}}  value  interval  p bootstrap  p randomisation")
    for name, found in test.systems.items():
        p_values = (found.p_bootstrap, found.p_randomisation)
        first, second = ("baseline" if value is None else f"{value:.4f}" for value in p_values)
        spread = f"± {found.interval:.1f}"
        typer.echo(f"{name:<{width}}  {found.value:>5.1f}  {spread:>8}  {first:>11}  {second:>15}")
    typer.echo(f"{test.signature}\n")


def _print_frequencies(frequencies: "Mapping[str, Sequence[FrequencyBucket]]") -> None:
    widths = [max(6, len(name)) for name in frequencies]
    heads = "".join(f"  {name:>{width}}" for name, width in zip(frequencies, widths, strict=True))
    typer.echo(f"times in training   words{heads}  (F-score, %)")
    for row in zip(*frequencies.values(), strict=True):
        times = f"{row[0].low}" if row[0].low == row[0].high else f"{row[0].low}–{row[0].high or ''}"
        values = ["—" if bucket.f is None else f"{100 * bucket.f:.1f}" for bucket in row]
        cells = "".join(f"  {value:>{width}}" for value, width in zip(values, widths, strict=True))
        typer.echo(f"{times:>17}  {row[0].wanted:>6}{cells}")
    typer.echo()


def _print_ngrams(base: str, other: str, found: "NgramDifferences") -> None:
    first, second = (max(6, len(name)) for name in (base, other))
    for what, listed in (("more", found.better), ("less", found.worse)):
        if not listed:
            continue
        typer.echo(f"{other} against {base}: n-grams of the references that it gets right {what} often")
        typer.echo(f"{'wanted':>6}  {base:>{first}}  {other:>{second}}")
        for one in listed:
            typer.echo(f"{one.wanted:>6}  {one.base:>{first}}  {one.other:>{second}}  {' '.join(one.words)}")
        typer.echo()


def _print_differences(base: str, other: str, found: "Sequence[Difference]") -> None:
    if not found:
        return
    typer.echo(f"{other} against {base}: the sentences that differ most, in points of chrF2")
    width = max(len("reference"), len(base), len(other))
    for one in found:
        typer.echo(f"{one.points:+.1f}  line {one.line}")
        lines = {"source": one.source, "reference": one.reference, **one.translations}
        for name, line in lines.items():
            typer.echo(f"  {name:<{width}}  {line}")
    typer.echo()
