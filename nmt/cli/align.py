"""`nmt align`: which source word each target word looked at, as links, matrices and pictures."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt.cli.align_files import FORMATS, MapFiles
from nmt.cli.align_links import LinkOptions, print_links
from nmt.cli.align_options import (
    ArcsOption,
    ArraysOption,
    FolderOption,
    FormatOption,
    GoldBaseOption,
    GoldOption,
    HeadOption,
    HopOption,
    LayerOption,
    ReverseOption,
    RunsOption,
    SelfOption,
    SymmetrizeOption,
    TargetOption,
    ThresholdOption,
    UnitOption,
)
from nmt.cli.options import DeviceOption, DocumentsOption, JsonOption
from nmt.cli.runs import chosen_run
from nmt.cli.streams import input_lines, tell
from nmt.errors import ConfigError

if TYPE_CHECKING:
    from nmt.alignment.links import Links
    from nmt.alignment.matrix import LayerChoice, MapChoice
    from nmt.experiment.align import Aligned
    from nmt.experiment.run import Run


def align(
    run: RunsOption = None,
    source: Annotated[Path | None, typer.Option("--source", metavar="FILE", help="Text; default: stdin.")] = None,
    target: TargetOption = None,
    gold: GoldOption = None,
    gold_base: GoldBaseOption = None,
    documents: DocumentsOption = None,
    reverse_run: ReverseOption = None,
    symmetrize: SymmetrizeOption = None,
    threshold: ThresholdOption = None,
    unit: UnitOption = None,
    layer: LayerOption = None,
    head: HeadOption = None,
    hop: HopOption = None,
    own: SelfOption = False,
    plot: Annotated[bool, typer.Option("--plot", help="Draw each sentence's matrix.")] = False,
    arcs: ArcsOption = False,
    form: FormatOption = None,
    arrays: ArraysOption = False,
    folder: FolderOption = Path("alignments"),
    json_output: JsonOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Align text with its translation: the run's own, or with --target a given one (forced).

    Writes DIR/links.txt (Pharaoh, source first, from 0), DIR/alignments.jsonl (words, weights, links), DIR/target.txt,
    and with --plot DIR/0001.png and so on. Prints the links, or with --gold the alignment error rate (--json: as JSON).

    --layer, --head or --hop all adds each map alone, DIR/alignments.layer0.head0.jsonl and so on, and draws them side
    by side; links and rate stay those of the default. With --self: DIR/self.jsonl, DIR/0001.self.png and so on.

    --reverse-run adds DIR/links.forward.txt and DIR/links.reverse.txt. Several runs are all forced to give the same
    --target; each writes into DIR/NAME, and they are drawn side by side. Of a run that looks at the sentences before,
    document.jsonl tells where, and with pictures (png, svg or pdf) 0002.document.png and so on.
    """
    from nmt.alignment.matrix import parse_choice, parse_layer

    look = _Look(unit, parse_choice(head, hop), parse_layer(layer))
    texts, links = _Texts(source, target, gold, gold_base, documents), LinkOptions(threshold, reverse_run, symmetrize)
    files = MapFiles(folder, "self" if own else "alignments", form or ("png" if plot else None), arcs, arrays)
    _check(look, texts, links, files, json_output, several=len(run or []) > 1)
    if own:
        _look_at_source(chosen_run(run[0] if run else None, device), texts, look, files)
    elif run and len(run) > 1:
        _align_runs(run, texts, look.unit, links, files, json_output, device)
    else:
        _align_run(chosen_run(run[0] if run else None, device), texts, look, links, files, json_output, device)


@dataclass(frozen=True)
class _Look:
    """What is looked at, between which units."""

    unit: str | None
    choice: "MapChoice | None"
    layer: "LayerChoice"


@dataclass(frozen=True)
class _Texts:
    """Where the text is and, where they are given, its translation and the gold links of both."""

    source: Path | None
    target: Path | None
    gold: Path | None
    gold_base: int | None
    documents: Path | None

    def names(self, sources: list[str]) -> list[str] | None:
        """The name of each line's document, where names were given."""
        from nmt.data.documents import read_names

        return None if self.documents is None else read_names(self.documents, sources, self.source or "stdin")

    def unit(self, wanted: str | None, run: "Run") -> str:
        """What is aligned: what was asked for, or the run's; gold links stand between words, or characters."""
        unit = wanted or run.config.alignment.unit
        return "word" if wanted is None and unit == "piece" and self.gold is not None else unit

    def read(self, unit: str) -> "tuple[list[str], list[str] | None, list[Links] | None]":
        """Sources, targets and gold links."""
        from nmt.data.corpus import require_equal
        from nmt.experiment.texts import read_gold

        sources, name = input_lines(self.source), self.source or "stdin"
        if self.target is None:
            return sources, None, None
        targets = input_lines(self.target)
        require_equal(sources, name, targets, self.target)
        if self.gold is None:
            return sources, targets, None
        base = 0 if self.gold_base is None else self.gold_base
        return sources, targets, read_gold(self.gold, base, sources, targets, source_name=name, unit=unit)


def _check(
    look: _Look, texts: _Texts, links: LinkOptions, files: MapFiles, json_output: bool, *, several: bool
) -> None:
    """What is wrong with the options by themselves is said before anything is read."""
    choices = (("unit", look.unit, ("word", "character", "piece")), ("format", files.form, FORMATS))
    for name, value, allowed in choices:
        if value is not None and value not in allowed:
            raise ConfigError(f"--{name} {value}: is unknown; allowed: {', '.join(allowed)}")
    reverse = {"--reverse-run": links.reverse_run is not None, "--symmetrize": links.heuristic is not None}
    if files.kind == "self":
        gold = {"--gold": texts.gold is not None, "--gold-base": texts.gold_base is not None}
        given = {"--target": texts.target is not None, **gold, "--json": json_output}
        _refuse(
            "--self looks at the source alone, and makes no links",
            {**given, **reverse, "--threshold": links.threshold is not None},
        )
        _refuse("--self looks at one run", {"all but one --run": several})
        _refuse("--self looks at single sentences", {"--documents": texts.documents is not None})
    if several:
        maps = {"--layer": look.layer is not None, "--head or --hop": look.choice is not None}
        _refuse("several runs are compared each by its usual map", {**maps, **reverse})
        if texts.target is None:
            raise ConfigError("several runs are compared on one translation: give it with --target")
    if files.arcs and files.form == "html":
        raise ConfigError("--arcs draws pictures, not a page: give --format png, svg or pdf")
    if files.arcs and not (files.kind == "self" and files.form):
        raise ConfigError("--arcs draws self-attention as lines between words: give --self and --plot with it")
    if json_output and texts.gold is None:
        raise ConfigError(
            "--json prints the alignment error rate: give --target and --gold with it; links and weights are JSON "
            "anyway, in DIR/alignments.jsonl"
        )
    if texts.gold_base is not None and texts.gold is None:
        raise ConfigError(f"--gold-base {texts.gold_base}: numbers the words of gold links: give these with --gold")
    if texts.gold is not None and texts.target is None:
        raise ConfigError("--gold links stand between a source and its reference: give the reference with --target")
    if texts.gold is not None and look.unit == "piece":
        raise ConfigError("--gold links stand between words, not pieces: leave --unit piece out")
    links.check()


def _refuse(why: str, options: Mapping[str, bool]) -> None:
    """Raise ConfigError where any of the options is given."""
    given = [option for option, is_given in options.items() if is_given]
    if given:
        raise ConfigError(f"{why}: leave {' and '.join(given)} out")


def _look_at_source(run: "Run", texts: _Texts, look: _Look, files: MapFiles) -> None:
    from nmt.experiment.self_attention import self_attention

    sources, _, _ = texts.read(look.unit or run.config.alignment.unit)
    looked = self_attention(run, sources, unit=look.unit, choice=look.choice, layer=look.layer)
    files.write(looked)
    language = run.config.data.source_language
    files.draw(looked, title=f"{run.config.name}: self-attention", languages=(language, language))
    _tell_count(len(sources), "read", files.folder)


def _align_run(
    run: "Run", texts: _Texts, look: _Look, links: LinkOptions, files: MapFiles, json_output: bool, device: str
) -> None:
    from nmt.alignment.export import write_pharaoh
    from nmt.experiment.align import align_text
    from nmt.experiment.run import names_for_each

    unit = texts.unit(look.unit, run)
    sources, targets, gold = texts.read(unit)
    reverse = links.open_reverse(run, unit, device)
    names = names_for_each([run] if reverse is None else [run, reverse], texts.names(sources))
    before = run.before(sources, names[0])
    layers = run.model.decoder.attending_layers
    if layers > 1 and not isinstance(look.layer, int):
        number, why = run.usual_layer()
        tell(f"links are those of layer {number} (of {layers}, counted from 0): {why}")
    aligned = align_text(run, sources, targets, unit=unit, choice=look.choice, layer=look.layer, before=before)
    aligned, directions = links.link(
        aligned, reverse, sources, unit=unit, choice=look.choice, layer=look.layer, names=names[-1]
    )
    _write(run, sources, aligned, files, unit, before)
    for name, sentences in directions.items():
        write_pharaoh(files.folder / f"links.{name}.txt", sentences)
    files.draw(aligned, title=run.config.name, languages=_languages(run), gold=gold)
    _tell_count(len(sources), "aligned", files.folder)
    print_links({"": aligned.alignments}, gold, json_output)


def _align_runs(
    paths: list[Path],
    texts: _Texts,
    unit: str | None,
    links: LinkOptions,
    files: MapFiles,
    json_output: bool,
    device: str,
) -> None:
    """Runs side by side, each forced to give the same translation: only so do they differ in where they look alone."""
    from nmt.experiment.align import align_text
    from nmt.experiment.evaluate import run_names
    from nmt.experiment.maps import Looked
    from nmt.experiment.run import names_for_each

    names = run_names(paths)
    runs = [chosen_run(path, device) for path in paths]
    unit = texts.unit(unit, runs[0])
    _check_alike(runs, unit)
    sources, targets, gold = texts.read(unit)
    documents = names_for_each(runs, texts.names(sources))
    files.remove_earlier()
    each = {}
    for name, run, ends in zip(names, runs, documents, strict=True):
        before = run.before(sources, ends)
        aligned = align_text(run, sources, targets, unit=unit, before=before)
        aligned = replace(aligned, alignments=links.above_threshold(aligned.alignments))
        own = replace(files, folder=files.folder / re.sub(r"[^\w.-]+", "_", name))
        _write(run, sources, aligned, own, unit, before)
        each[name] = aligned.alignments
    together = Looked(each[names[0]], each, (tuple(names),))
    files.draw(together, title=" and ".join(names), languages=_languages(runs[0]), gold=gold)
    _tell_count(len(sources), f"aligned by {len(runs)} runs", files.folder)
    print_links(each, gold, json_output)


def _check_alike(runs: "list[Run]", unit: str) -> None:
    if unit == "piece":
        raise ConfigError("several runs cut a text into other pieces each: give --unit word or --unit character")
    for run in runs[1:]:
        if _languages(run) != _languages(runs[0]):
            raise ConfigError(
                f"--run {run.folder.path}: it translates {' to '.join(_languages(run))}, and {runs[0].folder.path} "
                f"{' to '.join(_languages(runs[0]))}; runs are compared on one translation; for the links of both "
                f"directions give --reverse-run"
            )


def _write(
    run: "Run", sources: list[str], aligned: "Aligned", files: MapFiles, unit: str, before: list[tuple[str, ...]]
) -> None:
    """Targets, links and maps; of a run that looks at the sentences before, also where in these."""
    from nmt.alignment.export import write_pharaoh
    from nmt.experiment.document import document_alignments
    from nmt.files import write_text

    write_text(files.folder / "target.txt", "".join(f"{line}\n" for line in aligned.targets))
    write_pharaoh(files.folder / "links.txt", [alignment.links for alignment in aligned.alignments])
    files.write(aligned)
    if before:
        files.write_documents(document_alignments(run, sources, aligned.written, unit=unit, before=before))


def _languages(run: "Run") -> tuple[str, str]:
    return run.config.data.source_language, run.config.data.target_language


def _tell_count(count: int, what: str, folder: Path) -> None:
    tell(f"{count} {'sentence' if count == 1 else 'sentences'} {what} in {folder}")
