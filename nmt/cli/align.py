"""`nmt align`: which source word each target word looked at, as links, matrices and pictures."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt.cli.align_files import FORMATS, MapFiles
from nmt.cli.options import DeviceOption, JsonOption, RunOption
from nmt.cli.runs import chosen_run
from nmt.cli.streams import input_lines, tell
from nmt.errors import ConfigError

if TYPE_CHECKING:
    from nmt.alignment.export import SentenceAlignment
    from nmt.alignment.links import Links
    from nmt.alignment.matrix import LayerChoice, MapChoice
    from nmt.experiment.align import Aligned
    from nmt.experiment.maps import Looked
    from nmt.experiment.run import Run


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
    str | None,
    typer.Option(
        "--layer",
        metavar="N|all",
        help="Of a Transformer, from 0, or all, each alone; default: the one that the run aligns by, which is said.",
    ),
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
_SelfOption = Annotated[
    bool,
    typer.Option(
        "--self",
        help="Instead: where the source's words look in their own sentence, by the encoder's self-attention (the "
        "decoder's is not shown); default: its last layer, the mean of heads.",
    ),
]
_FolderOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Where links, matrices and pictures go.")
]
_ArcsOption = Annotated[bool, typer.Option("--arcs", help="With --self --plot: lines between words, not a grey map.")]


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
    own: _SelfOption = False,
    plot: Annotated[bool, typer.Option("--plot", help="Draw each sentence's matrix.")] = False,
    arcs: _ArcsOption = False,
    form: Annotated[str, typer.Option("--format", metavar="|".join(FORMATS), help="Of the pictures.")] = "png",
    folder: _FolderOption = Path("alignments"),
    json_output: JsonOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Align text with its translation: the run's own, or with --target a given one (forced).

    Writes DIR/links.txt (Pharaoh, source first, from 0), DIR/alignments.jsonl (words, weights, links), DIR/target.txt,
    and with --plot DIR/0001.png and so on. Prints the links, or with --gold the alignment error rate (--json: as JSON).

    --layer, --head or --hop all adds each map alone, DIR/alignments.layer0.head0.jsonl and so on, and draws them side
    by side; links and rate stay those of the default. With --self: DIR/self.jsonl, DIR/0001.self.png and so on.
    """
    from nmt.alignment.matrix import parse_choice, parse_layer
    from nmt.experiment.self_attention import self_attention

    _check_self(own, plot, arcs, {"--target": target is not None, "--gold": gold is not None, "--json": json_output})
    _check(unit, form, gold, target, json_output)
    choice, which = parse_choice(head, hop), parse_layer(layer)
    unit = unit or ("word" if gold is not None else None)  # gold links stand between words, whatever the run draws
    given = _read(source, target, gold, gold_base, unit)
    opened = chosen_run(run, device)
    looked: Looked
    if own:
        looked = self_attention(opened, given.sources, unit=unit, choice=choice, layer=which)
    else:
        looked = _align(opened, given, unit, choice, which, folder)
    files = MapFiles(folder, "self" if own else "alignments")
    files.write(looked)
    if plot:
        files.draw(looked, form, gold=given.links, arcs=arcs)
    count = len(given.sources)
    tell(f"{count} {'sentence' if count == 1 else 'sentences'} {'read' if own else 'aligned'} in {folder}")
    if not own:
        _print(looked.alignments, given.links, json_output)


def _check(unit: str | None, form: str, gold: Path | None, target: Path | None, json_output: bool) -> None:
    choices = (("unit", unit, ("word", "character", "piece")), ("format", form, FORMATS))
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


def _check_self(own: bool, plot: bool, arcs: bool, others: Mapping[str, bool]) -> None:
    """`others`: options of the alignment with a translation, and whether they are given."""
    given = [option for option, is_given in others.items() if is_given]
    if own and given:
        raise ConfigError(f"--self looks at the source alone, and makes no links: leave {' and '.join(given)} out")
    if arcs and not (own and plot):
        raise ConfigError("--arcs draws self-attention as lines between words: give --self and --plot with it")


@dataclass(frozen=True)
class _Given:
    """The text, and where they are given its translation and the gold links of both."""

    sources: list[str]
    targets: list[str] | None
    links: "list[Links] | None"


def _read(source: Path | None, target: Path | None, gold: Path | None, base: int, unit: str | None) -> _Given:
    from nmt.data.corpus import require_equal
    from nmt.experiment.texts import read_gold

    sources = input_lines(source)
    if target is None:
        return _Given(sources, None, None)
    targets = input_lines(target)
    require_equal(sources, source or "stdin", targets, target)
    if gold is None or unit is None:
        return _Given(sources, targets, None)
    links = read_gold(gold, base, sources, targets, source_name=source or "stdin", unit=unit)
    return _Given(sources, targets, links)


def _align(
    run: "Run", given: _Given, unit: str | None, choice: "MapChoice | None", layer: "LayerChoice", folder: Path
) -> "Aligned":
    """Align, and write links and targets into the folder."""
    from nmt.alignment.export import write_pharaoh
    from nmt.experiment.align import align_text
    from nmt.files import write_text

    layers = run.model.decoder.attending_layers
    if layers > 1 and not isinstance(layer, int):
        number, why = run.usual_layer()
        tell(f"links are those of layer {number} (of {layers}, counted from 0): {why}")
    aligned = align_text(run, given.sources, given.targets, unit=unit, choice=choice, layer=layer)
    write_text(folder / "target.txt", "".join(f"{line}\n" for line in aligned.targets))
    write_pharaoh(folder / "links.txt", [alignment.links for alignment in aligned.alignments])
    return aligned


def _print(alignments: "Sequence[SentenceAlignment]", links: "Sequence[Links] | None", json_output: bool) -> None:
    from nmt.alignment.links import format_links
    from nmt.evaluation.aer import score_alignments

    if links is not None:
        score = score_alignments([alignment.links for alignment in alignments], links)
        typer.echo(json.dumps(score.as_dict()) if json_output else score.text())
        return
    for alignment in alignments:
        typer.echo(format_links(alignment.links))
