"""`nmt align`: which source word each target word looked at, as links, matrices and pictures."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt.cli.align_check import Look, check, refuse
from nmt.cli.align_files import MapFiles
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
from nmt.cli.align_texts import AlignTexts
from nmt.cli.options import DeviceOption, DocumentsOption, JsonOption
from nmt.cli.runs import chosen_run
from nmt.cli.streams import tell
from nmt.errors import ConfigError

if TYPE_CHECKING:
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
    document.jsonl tells where, and with pictures (png, svg or pdf) 0002.document.png and so on; with attention none
    that is all.
    """
    from nmt.alignment.matrix import parse_choice, parse_layer

    look = Look(unit, parse_choice(head, hop), parse_layer(layer))
    texts = AlignTexts(source, target, gold, gold_base, documents)
    links = LinkOptions(threshold, reverse_run, symmetrize)
    files = MapFiles(folder, "self" if own else "alignments", form or ("png" if plot else None), arcs, arrays)
    check(look, texts, links, files, json_output, several=len(run or []) > 1)
    files.check({"--source": source, "--target": target, "--gold": gold, "--documents": documents})
    if own:
        _look_at_source(chosen_run(run[0] if run else None, device), texts, look, files)
    elif run and len(run) > 1:
        _align_runs(run, texts, look.unit, links, files, json_output, device)
    else:
        _align_run(chosen_run(run[0] if run else None, device), texts, look, links, files, json_output, device)


def _look_at_source(run: "Run", texts: AlignTexts, look: Look, files: MapFiles) -> None:
    from nmt.experiment.self_attention import self_attention

    sources, _, _ = texts.read(look.unit or run.config.alignment.unit)
    looked = self_attention(run, sources, unit=look.unit, choice=look.choice, layer=look.layer)
    files.write(looked)
    language = run.config.data.source_language
    files.draw(looked, title=f"{run.config.name}: self-attention", languages=(language, language))
    _tell_count(len(sources), "read", files.folder)


def _look_before(run: "Run", texts: AlignTexts, look: Look, links: LinkOptions, files: MapFiles) -> None:
    """Of a run without weights of the sentence itself: where it looked in the sentences before, and no links."""
    from nmt.experiment.align import given_targets, own_targets
    from nmt.experiment.document import document_alignments

    refuse(
        f"{run.folder.path}: its attention is none, so it makes no links, and looks at the sentences before alone",
        {
            "--gold": texts.gold is not None,
            "--reverse-run": links.reverse_run is not None,
            "--threshold": links.threshold is not None,
            "--layer": look.layer is not None,
            "--head or --hop": look.choice is not None,
            "--npz": files.arrays,
            "--format html": files.form == "html",
        },
    )
    unit = texts.unit(look.unit, run)
    sources, targets, _ = texts.read(unit)
    before = run.before(sources, texts.names(sources))
    if targets is None:
        written = own_targets(run, run.translator().translate(sources, before=before))
    else:
        written = given_targets(run, targets)
    _write_lines(files.folder / "target.txt", [target.text for target in written])
    files.remove_earlier(links=True)
    files.write_documents(document_alignments(run, sources, written, unit=unit, before=before))
    tell("its attention is none, so there are no links; document.jsonl tells where in the sentences before it looked")
    _tell_count(len(sources), "read", files.folder)


def _align_run(
    run: "Run", texts: AlignTexts, look: Look, links: LinkOptions, files: MapFiles, json_output: bool, device: str
) -> None:
    from nmt.alignment.export import write_pharaoh
    from nmt.experiment.align import align_text
    from nmt.experiment.run import names_for_each

    if not run.has_weights and run.model.decoder.reads_document:
        _look_before(run, texts, look, links, files)
        return
    unit = texts.unit(look.unit, run)
    sources, targets, gold = texts.read(unit)
    reverse = links.open_reverse(run, unit, look.choice, look.layer, device)
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
    texts: AlignTexts,
    unit: str | None,
    links: LinkOptions,
    files: MapFiles,
    json_output: bool,
    device: str,
) -> None:
    """Runs side by side, each forced to give the same translation: only so do they differ in where they look alone."""
    from nmt.experiment.align import align_text, aligning_maps
    from nmt.experiment.evaluate import run_names
    from nmt.experiment.maps import Looked
    from nmt.experiment.run import names_for_each

    names = run_names(paths)
    runs = [chosen_run(path, device) for path in paths]
    unit = texts.unit(unit, runs[0])
    _check_alike(runs, unit)
    for one in runs:
        aligning_maps(one)  # what has none is said before anything is written
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

    _write_lines(files.folder / "target.txt", aligned.targets)
    write_pharaoh(files.folder / "links.txt", [alignment.links for alignment in aligned.alignments])
    files.write(aligned)
    if before:
        files.write_documents(document_alignments(run, sources, aligned.written, unit=unit, before=before))


def _write_lines(path: Path, lines: list[str]) -> None:
    from nmt.files import write_text

    write_text(path, "".join(f"{line}\n" for line in lines))


def _languages(run: "Run") -> tuple[str, str]:
    return run.config.data.source_language, run.config.data.target_language


def _tell_count(count: int, what: str, folder: Path) -> None:
    tell(f"{count} {'sentence' if count == 1 else 'sentences'} {what} in {folder}")
