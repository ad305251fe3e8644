"""`nmt align`: which source word each target word looked at, as links, matrices and pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt.cli.options import DeviceOption, RunOption
from nmt.cli.streams import input_lines, tell
from nmt.errors import ConfigError, DataError

if TYPE_CHECKING:
    from nmt.alignment.export import SentenceAlignment
    from nmt.alignment.links import Links


def align(
    run: RunOption = None,
    source: Annotated[Path | None, typer.Option("--source", metavar="FILE", help="Text; default: stdin.")] = None,
    target: Annotated[
        Path | None,
        typer.Option("--target", metavar="FILE", help="Its translation, to be aligned; default: the run's own."),
    ] = None,
    gold: Annotated[
        Path | None, typer.Option("--gold", metavar="FILE", help="Gold links of source and target, for AER.")
    ] = None,
    gold_base: Annotated[int, typer.Option("--gold-base", help="0 or 1: the number of the first word there.")] = 0,
    unit: Annotated[
        str | None, typer.Option("--unit", metavar="word|character|piece", help="What is aligned; default: the run's.")
    ] = None,
    head: Annotated[int | None, typer.Option("--head", min=0, help="One head, from 0; default: their mean.")] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw each sentence's matrix.")] = False,
    form: Annotated[str, typer.Option("--format", metavar="png|svg|pdf", help="Of the pictures.")] = "png",
    folder: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where links, matrices and pictures go.")
    ] = Path("alignments"),
    device: DeviceOption = "auto",
) -> None:
    """Align text with its translation: the run's own, or with --target a given one (forced).

    Writes DIR/links.txt (Pharaoh, source first, from 0), DIR/alignments.jsonl (words, weights, links), DIR/target.txt,
    and with --plot DIR/0001.png and so on. Prints the links, or with --gold the alignment error rate.
    """
    from nmt.alignment.export import write_json_lines, write_pharaoh
    from nmt.alignment.links import format_links, read_links
    from nmt.experiment.align import align_given, align_translations
    from nmt.experiment.run import open_run
    from nmt.files import write_text

    _check(unit, form, gold, target)
    links = read_links(gold, base=gold_base) if gold is not None else None
    opened = open_run(run, device)
    if run is None:
        tell(f"run {opened.folder.path}")
    sources = input_lines(source)
    if target is not None:
        targets = input_lines(target)
        alignments = align_given(opened, sources, _as_many(targets, target, sources, source), unit=unit, head=head)
    else:
        translations = opened.translator().translate(sources)
        targets = [translation.texts[0] for translation in translations]
        alignments = align_translations(opened, translations, unit=unit, head=head)
    write_text(folder / "target.txt", "".join(f"{line}\n" for line in targets))
    write_pharaoh(folder / "links.txt", [alignment.links for alignment in alignments])
    write_json_lines(folder / "alignments.jsonl", alignments)
    if plot:
        _plot(alignments, links, folder, form)
    tell(f"{len(alignments)} sentences aligned in {folder}")
    if links is not None and gold is not None:
        typer.echo(_rate(alignments, links, gold))
        return
    for alignment in alignments:
        typer.echo(format_links(alignment.links))


def _check(unit: str | None, form: str, gold: Path | None, target: Path | None) -> None:
    for name, value, allowed in (
        ("unit", unit, ("word", "character", "piece")),
        ("format", form, ("png", "svg", "pdf")),
    ):
        if value is not None and value not in allowed:
            raise ConfigError(f"--{name} {value}: is unknown; allowed: {', '.join(allowed)}")
    if gold is not None and target is None:
        raise ConfigError("--gold links stand between a source and its reference: give the reference with --target")


def _as_many(targets: Sequence[str], target: Path, sources: Sequence[str], source: Path | None) -> Sequence[str]:
    from nmt.data.corpus import require_equal

    require_equal(sources, source or "stdin", targets, target)
    return targets


def _plot(alignments: "Sequence[SentenceAlignment]", links: "Sequence[Links] | None", folder: Path, form: str) -> None:
    from nmt.alignment.plot import plot_alignment

    notes: set[str] = set()
    for number, alignment in enumerate(alignments):
        gold = links[number] if links is not None and number < len(links) else None
        notes |= set(plot_alignment(alignment.matrix, folder / f"{number + 1:04}.{form}", gold=gold))
    for note in sorted(notes):
        tell(note)


def _rate(alignments: "Sequence[SentenceAlignment]", links: "Sequence[Links]", gold: Path) -> str:
    from nmt.alignment.links import check_range
    from nmt.evaluation.aer import score_alignments

    if len(links) != len(alignments):
        raise DataError(
            f"{gold} has {len(links)} lines but the text has {len(alignments)}: one line of links a sentence"
        )
    for number, (alignment, one) in enumerate(zip(alignments, links, strict=True), start=1):
        matrix = alignment.matrix
        check_range(one.possible, len(matrix.source), len(matrix.target), f"{gold}:{number}")
    return score_alignments([alignment.links for alignment in alignments], links).text()
