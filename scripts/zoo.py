"""The zoo's page, docs/attention.md: every kind of attention, its equation, YAML, picture and scores, side by side.

    python scripts/zoo.py names                  the kinds, in the page's order: files of configs/
    python scripts/zoo.py keep RUN FOLDER        take what the page needs from a finished run: no weights
    python scripts/zoo.py page FOLDER FILE       write the page from what was kept

`scripts/zoo.sh` trains them and calls all three.
"""

import importlib
import json
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

KINDS: dict[str, tuple[str, str]] = {
    "none": ("No attention", "none"),
    "bahdanau": ("Bahdanau: additive, before the step", "bahdanau"),
    "luong": ("Luong: general score, after the step", "luong"),
    "luong_dot": ("Luong, score dot", "scores"),
    "luong_scaled_dot": ("Luong, score scaled_dot", "scores"),
    "luong_cosine": ("Luong, score cosine", "scores"),
    "luong_concat": ("Luong, score concat", "scores"),
    "luong_location": ("Luong, score location", "scores"),
    "luong_no_feeding": ("Luong without input feeding", "luong"),
    "local_m": ("Local, monotonic", "local"),
    "local_p": ("Local, predictive", "local"),
    "soft": ("Soft", "soft"),
    "hard": ("Hard", "hard"),
    "multihead": ("Multi-head", "multihead"),
    "attention_over_attention": ("Attention over attention", "attention_over_attention"),
    "memory": ("Memory network, adjacent", "memory"),
    "memory_layerwise": ("Memory network, layer-wise", "memory"),
    "ntm": ("Neural Turing machine addressing", "ntm"),
    "sparsemax": ("Bahdanau with sparsemax", "normalizers"),
    "entmax15": ("Bahdanau with 1.5-entmax", "normalizers"),
}
"""From a file of configs/ to its title and the module of nmt.attention that says what it is."""

SENTENCE = 318
"""The test sentence whose picture is drawn, from 0."""

DRAWN = ("none", "bahdanau", "luong", "local_p", "hard", "multihead")
"""The kinds whose BLEU by length is drawn."""


def keep(run_folder: Path, kept: Path) -> None:
    """Take scores, metrics, links and pictures from a finished run."""
    from nmt.alignment.export import write_json_lines
    from nmt.alignment.links import read_links
    from nmt.alignment.matrix import parse_choice
    from nmt.alignment.plot import plot_alignment
    from nmt.data.corpus import read_lines
    from nmt.evaluation.bleu import bleu_by_length
    from nmt.experiment.align import align_text
    from nmt.experiment.run import open_run

    run = open_run(run_folder)
    meta, test = run.folder.meta(), run.config.data.test
    assert test is not None
    assert test.alignment is not None
    scores = json.loads((run_folder / "test.scores.json").read_text(encoding="utf-8"))
    sources, references = read_lines(Path(test.source)), read_lines(Path(test.target))
    buckets = bleu_by_length(sources, read_lines(run_folder / "test.hyp"), references)
    scores |= {name: meta[name] for name in ("parameters", "precision", "ended")} | {"updates": meta["step"]}
    scores["by_length"] = [asdict(bucket) for bucket in buckets if bucket.sentences]
    kept.mkdir(parents=True, exist_ok=True)
    shutil.copy(run_folder / "metrics.jsonl", kept)
    if run.has_weights:
        shutil.copy(run_folder / "test.ref.links", kept)
        kind = "hop" if run.model.decoder.last_map else "head"
        choice = parse_choice("all", None) if kind == "head" else parse_choice(None, "all")
        aligned = align_text(run, [sources[SENTENCE]], [references[SENTENCE]], choice=choice)
        gold = read_links(Path(test.alignment))[SENTENCE]
        plot_alignment(aligned.alignments[0].matrix, kept / "alignment.png", gold=gold)
        write_json_lines(kept / "alignment.jsonl", aligned.alignments)
        for name, (alignment,) in aligned.each.items() if len(aligned.each) > 1 else ():
            plot_alignment(alignment.matrix, kept / f"alignment.{name}.png", gold=gold)
    # Last: where it is, all of it is.
    (kept / "scores.json").write_text(json.dumps(scores, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def page(kept: Path) -> str:
    """The page, from what was kept of the runs that have finished."""
    found = _found(kept)
    speeds_file = kept / "speed.json"
    speeds = json.loads(speeds_file.read_text(encoding="utf-8")) if speeds_file.exists() else {}
    parts = [(kept / "introduction.md").read_text(encoding="utf-8").strip(), _table(found, speeds), _lengths(found)]
    for name, scores in found.items():
        parts.append(_section(name, scores, kept))
    return "\n\n".join(parts) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(found: dict[str, Any], speeds: dict[str, Any]) -> str:
    signature = next(iter(found.values()))["bleu"]["signature"]
    lines = [
        "## Side by side",
        "",
        _row(("attention", "BLEU", "chrF2", "AER", "parameters", "tokens/s", "speed")),
        _row(("---",) * 7),
    ]
    base = speeds.get("bahdanau", {}).get("tokens_per_second")
    for name, scores in found.items():
        speed = speeds.get(name, {}).get("tokens_per_second")
        aer = f"{100 * scores['aer']['value']:.1f} %" if "aer" in scores else "none"
        lines.append(
            _row(
                (
                    f"[{KINDS[name][0]}](#{_anchor(KINDS[name][0])})",
                    *(f"{scores[key]['value']:.1f} ± {scores[key]['interval']:.1f}" for key in ("bleu", "chrf")),
                    aer,
                    f"{scores['parameters']:,}",
                    f"{speed:,.0f}" if speed else "—",
                    f"{speed / base:.2f}" if speed and base else "—",
                )
            )
        )
    return "\n".join([*lines, "", f"BLEU: `{signature}`."])


def draw_lengths(kept: Path) -> None:
    """Write the picture of BLEU by length."""
    from nmt.evaluation.bleu import LengthBucket
    from nmt.evaluation.plot import plot_by_length

    found = {
        name: [LengthBucket(**bucket) for bucket in scores["by_length"]]
        for name, scores in _found(kept).items()
        if name in DRAWN
    }
    plot_by_length(found, kept / "by_length.png")


def _found(kept: Path) -> dict[str, dict[str, Any]]:
    """Scores of the runs that have finished, in the page's order."""
    files = {name: kept / name / "scores.json" for name in KINDS}
    return {name: json.loads(file.read_text(encoding="utf-8")) for name, file in files.items() if file.exists()}


def _lengths(found: dict[str, Any]) -> str:
    buckets = next(iter(found.values()))["by_length"]
    heads = [f"{bucket['low']}–{bucket['high']} ({bucket['sentences']})" for bucket in buckets]
    lines = ["## BLEU by the number of source words (sentences)", "", _row(("attention", *heads))]
    lines.append(_row(("---",) * (1 + len(heads))))
    lines += [
        _row((KINDS[name][0], *(f"{bucket['bleu']:.1f}" for bucket in scores["by_length"])))
        for name, scores in found.items()
    ]
    lines += ["", "![BLEU by the number of source words](zoo/by_length.png)"]
    return "\n".join(lines)


def _section(name: str, scores: dict[str, Any], kept: Path) -> str:
    title, module = KINDS[name]
    doc = importlib.import_module(f"nmt.attention.{module}").__doc__ or ""
    parts = [f"## {title}", f"`configs/{name}.yaml`, `nmt/attention/{module}.py`:"]
    parts.append(f"```\n{doc.strip()}\n```")
    parts.append(f"```yaml\n{_attention_block(ROOT / 'configs' / f'{name}.yaml')}\n```")
    aer = f", AER {100 * scores['aer']['value']:.1f} %" if "aer" in scores else ""
    parts.append(
        f"BLEU {scores['bleu']['value']:.1f}, chrF2 {scores['chrf']['value']:.1f}{aer}; {scores['parameters']:,} "
        f"parameters."
    )
    if (kept / name / "alignment.png").exists():
        parts.append(f"![where {title} looked](zoo/{name}/alignment.png)")
    each = sorted((kept / name).glob("alignment.h*.png"))
    if each:
        what = "hop" if ".hop" in each[0].name else "head"
        parts.append(f"Each {what} by itself:")
        parts.append("\n".join(f"![{file.stem.split('.')[1]}](zoo/{name}/{file.name})" for file in each))
    return "\n\n".join(parts)


def _attention_block(config: Path) -> str:
    """The lines of `model.attention` as they stand in the file, less their indentation."""
    lines = config.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("  attention:"))
    end = next(number for number in range(start + 1, len(lines)) if not lines[number].startswith("    "))
    return "\n".join(line[2:] for line in lines[start:end])


def _anchor(title: str) -> str:
    """The name that a heading gets on the page."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def main(arguments: list[str]) -> None:
    """See the module's text."""
    match arguments:
        case ["names"]:
            print("\n".join(KINDS))
        case ["keep", run, folder]:
            keep(Path(run), Path(folder))
        case ["page", folder, file]:
            draw_lengths(Path(folder))
            Path(file).write_text(page(Path(folder)), encoding="utf-8")
        case _:
            sys.exit(f"{__doc__}")


if __name__ == "__main__":
    main(sys.argv[1:])
