"""`nmt align`: which source word each target word looked at, as links, matrices and pictures."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt.cli.options import DeviceOption, JsonOption, RunOption
from nmt.cli.runs import chosen_run
from nmt.cli.streams import input_lines, tell
from nmt.errors import ConfigError

if TYPE_CHECKING:
    from nmt.alignment.export import SentenceAlignment
    from nmt.alignment.links import Links
    from nmt.experiment.align import Aligned


_FORMATS = ("png", "svg", "pdf")
_EACH = r"(head|hop)\d+"
_OURS = re.compile(rf"(\d{{4}}|[1-9]\d{{4,}})(\.{_EACH})?\.({'|'.join(_FORMATS)})|alignments\.{_EACH}\.jsonl", re.ASCII)


_TargetOption = Annotated[
    Path | None,
    typer.Option("--target", metavar="FILE", help="Its translation, to be aligned; default: the run's own."),
]
_GoldOption = Annotated[
    Path | None, typer.Option("--gold", metavar="FILE", help="Gold links of source and target, for AER.")
]
_UnitOption = Annotated[
    str | None, typer.Option("--unit", metavar="word|character|piece", help="What is aligned; default: the run's.")
]
_LayerOption = Annotated[
    int | None,
    typer.Option("--layer", min=0, help="Of a Transformer decoder, from 0; default: the run's, or the last but one."),
]
_HeadOption = Annotated[
    str | None,
    typer.Option(
        "--head", metavar="N|mean|all", help="One head, from 0; the mean of all (default); or all, each alone."
    ),
]
_HopOption = Annotated[
    str | None,
    typer.Option("--hop", metavar="N|mean|all", help="The same of a memory network's hops; default: the last one."),
]


def align(
    run: RunOption = None,
    source: Annotated[Path | None, typer.Option("--source", metavar="FILE", help="Text; default: stdin.")] = None,
    target: _TargetOption = None,
    gold: _GoldOption = None,
    gold_base: Annotated[int, typer.Option("--gold-base", help="0 or 1: the number of the first word there.")] = 0,
    unit: _UnitOption = None,
    layer: _LayerOption = None,
    head: _HeadOption = None,
    hop: _HopOption = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw each sentence's matrix.")] = False,
    form: Annotated[str, typer.Option("--format", metavar="|".join(_FORMATS), help="Of the pictures.")] = "png",
    folder: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where links, matrices and pictures go.")
    ] = Path("alignments"),
    json_output: JsonOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Align text with its translation: the run's own, or with --target a given one (forced).

    Writes DIR/links.txt (Pharaoh, source first, from 0), DIR/alignments.jsonl (words, weights, links), DIR/target.txt,
    and with --plot DIR/0001.png and so on. Prints the links, or with --gold the alignment error rate (--json: as JSON).

    --head all adds DIR/alignments.head0.jsonl and so on, and draws DIR/0001.head0.png and so on instead; links.txt,
    alignments.jsonl and the rate then come from the default, the heads' mean. --hop all does so with hops.
    """
    from nmt.alignment.matrix import parse_choice
    from nmt.experiment.align import align_text
    from nmt.experiment.texts import read_gold

    _check(unit, form, gold, target, json_output)
    choice = parse_choice(head, hop)
    unit = unit or ("word" if gold is not None else None)  # gold links stand between words, whatever the run draws
    sources = input_lines(source)
    targets = _references(target, sources, source)
    links = None
    if gold is not None and targets is not None and unit is not None:
        links = read_gold(gold, gold_base, sources, targets, source_name=source or "stdin", unit=unit)
    opened = chosen_run(run, device)
    aligned = align_text(opened, sources, targets, unit=unit, choice=choice, layer=layer)
    _remove_earlier(folder)
    _write(aligned, folder)
    if plot:
        for name, alignments in (aligned.each or {"": aligned.alignments}).items():
            _plot(alignments, links, folder, name, form)
    count = len(aligned.alignments)
    tell(f"{count} {'sentence' if count == 1 else 'sentences'} aligned in {folder}")
    _print(aligned.alignments, links, json_output)


def _check(unit: str | None, form: str, gold: Path | None, target: Path | None, json_output: bool) -> None:
    choices = (("unit", unit, ("word", "character", "piece")), ("format", form, _FORMATS))
    for name, value, allowed in choices:
        if value is not None and value not in allowed:
            raise ConfigError(f"--{name} {value}: is unknown; allowed: {', '.join(allowed)}")
    if json_output and gold is None:
        raise ConfigError(
            "--json prints the alignment error rate: give --target and --gold with it; links and weights are JSON "
            "anyway, in DIR/alignments.jsonl"
        )
    if gold is not None and target is None:
        raise ConfigError("--gold links stand between a source and its reference: give the reference with --target")
    if gold is not None and unit == "piece":
        raise ConfigError("--gold links stand between words, not pieces: leave --unit piece out")


def _references(target: Path | None, sources: Sequence[str], source: Path | None) -> list[str] | None:
    """The given translations."""
    from nmt.data.corpus import require_equal

    if target is None:
        return None
    targets = input_lines(target)
    require_equal(sources, source or "stdin", targets, target)
    return targets


def _remove_earlier(folder: Path) -> None:
    """Remove what an earlier command drew, or wrote of single maps: these need not be what is aligned now."""
    if not (folder / "alignments.jsonl").exists():
        return  # not a folder of ours, so neither are its pictures
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name):
            path.unlink()


def _write(aligned: "Aligned", folder: Path) -> None:
    from nmt.alignment.export import write_json_lines, write_pharaoh
    from nmt.files import write_text

    write_text(folder / "target.txt", "".join(f"{line}\n" for line in aligned.targets))
    write_pharaoh(folder / "links.txt", [alignment.links for alignment in aligned.alignments])
    write_json_lines(folder / "alignments.jsonl", aligned.alignments)
    for name, alignments in aligned.each.items():
        write_json_lines(folder / f"alignments.{name}.jsonl", alignments)


def _plot(
    alignments: "Sequence[SentenceAlignment]", links: "Sequence[Links] | None", folder: Path, name: str, form: str
) -> None:
    """Draw each sentence; the name of a single map stands in the file's name."""
    from nmt.alignment.plot import plot_alignment

    notes: set[str] = set()
    for number, alignment in enumerate(alignments):
        gold = links[number] if links is not None and number < len(links) else None
        picture = ".".join(part for part in (f"{number + 1:04}", name, form) if part)
        notes |= set(plot_alignment(alignment.matrix, folder / picture, gold=gold))
    for note in sorted(notes):
        tell(note)


def _print(alignments: "Sequence[SentenceAlignment]", links: "Sequence[Links] | None", json_output: bool) -> None:
    from nmt.alignment.links import format_links
    from nmt.evaluation.aer import score_alignments

    if links is not None:
        score = score_alignments([alignment.links for alignment in alignments], links)
        typer.echo(json.dumps(score.as_dict()) if json_output else score.text())
        return
    for alignment in alignments:
        typer.echo(format_links(alignment.links))
