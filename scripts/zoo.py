"""The zoo's page, docs/attention.md: every kind of attention, its equation, YAML, pictures and scores, side by side.

    python scripts/zoo.py names         the kinds, in the page's order: files of configs/
    python scripts/zoo.py draw SWEEP    pictures of what the runs of the sweep looked at, into docs/zoo: needs weights
    python scripts/zoo.py page          write docs/attention.md and the picture of BLEU by length: needs none

The sweep is that of configs/sweeps/attention.yaml; its small results are kept in docs/sweeps/attention. `bash
scripts/sweep.sh attention` trains, keeps, and calls both.
"""

import importlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nmt.alignment.links import read_links
from nmt.sweep.folder import SweepFolder
from nmt.sweep.results import Result
from nmt.sweep.summary import Setting, Summary, summarise

ROOT = Path(__file__).resolve().parents[1]
SWEEP = ROOT / "docs" / "sweeps" / "attention"
DRAWN = ROOT / "docs" / "zoo"
PAGE = ROOT / "docs" / "attention.md"

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
"""From a file of configs/, which is a variant of the sweep, to its title and its module in nmt.attention."""

SENTENCE = 318
"""The test sentence whose picture is drawn, from 0."""

CHIEF = ("none", "bahdanau", "luong", "local_p", "hard", "multihead")
"""The kinds whose BLEU by length is drawn."""


def draw(sweep: Path, to: Path) -> None:
    """Draw where the first run of each kind looked, those whose weights are there."""
    from nmt.alignment.export import write_json_lines
    from nmt.alignment.matrix import parse_choice
    from nmt.alignment.plot import plot_alignment
    from nmt.data.corpus import read_lines
    from nmt.experiment.align import align_text
    from nmt.experiment.run import open_run

    for setting in summarise(SweepFolder(sweep)).finished:
        first = setting.results[0]
        test = first.config.data.test
        if not first.folder.weights_file.exists() or test is None or test.alignment is None:
            continue
        run = open_run(first.folder.path)
        if not run.has_weights:
            continue
        choice = parse_choice(None, "all") if run.model.decoder.last_map else parse_choice("all", None)
        sentence = [read_lines(file)[SENTENCE] for file in (test.source, test.target)]
        aligned = align_text(run, sentence[:1], sentence[1:], choice=choice)
        gold = read_links(test.alignment)[SENTENCE]
        folder = to / setting.name
        folder.mkdir(parents=True, exist_ok=True)
        plot_alignment(aligned.alignments[0].matrix, folder / "alignment.png", gold=gold)
        write_json_lines(folder / "alignment.jsonl", aligned.alignments)
        for name, (alignment,) in aligned.each.items() if len(aligned.each) > 1 else ():
            plot_alignment(alignment.matrix, folder / f"alignment.{name}.png", gold=gold)


def page(sweep: Path, drawn: Path) -> str:
    """The page, from what was kept of the runs that have finished."""
    summary = summarise(SweepFolder(sweep))
    found = _found(summary)
    parts = [(drawn / "introduction.md").read_text(encoding="utf-8").strip(), _table(found, _speeds(drawn))]
    parts.append(_lengths(found))
    parts += [_section(name, setting, drawn) for name, setting in found.items()]
    return "\n\n".join(parts) + "\n"


def _found(summary: Summary) -> dict[str, Setting]:
    """The settings that have finished, in the page's order."""
    settings = {setting.name: setting for setting in summary.finished}
    return {name: settings[name] for name in KINDS if name in settings}


def _speeds(drawn: Path) -> dict[str, float]:
    """Target tokens a second, by kind, where they were measured."""
    file = drawn / "speed.json"
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {name: entry["tokens_per_second"] for name, entry in found.items()}


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _scores(setting: Setting, name: str, text: str, scale: float = 1.0) -> str:
    """A score of each run, one after the other: two are too few for a mean to say more than they do."""
    scores: list[Any] = [(result.meta.get("scores") or {}).get(name) for result in setting.results]
    return " · ".join(text.format(scale * one["value"], one.get("interval")) for one in scores if one) or "none"


def _table(found: dict[str, Setting], speeds: dict[str, float]) -> str:
    lines = [
        "## Side by side",
        "",
        _row(("attention", "BLEU", "chrF2", "AER, %", "parameters", "tokens/s", "speed")),
        _row(("---",) * 7),
    ]
    for name, setting in found.items():
        speed, base = speeds.get(name), speeds.get("bahdanau")
        cells = (
            f"[{KINDS[name][0]}](#{_anchor(KINDS[name][0])})",
            _scores(setting, "bleu", "{:.1f} ± {:.1f}"),
            _scores(setting, "chrf", "{:.1f}"),
            _scores(setting, "aer", "{:.1f}", 100.0),
            f"{setting.results[0].meta['parameters']:,}",
            f"{speed:,.0f}" if speed else "—",
            f"{speed / base:.2f}" if speed and base else "—",
        )
        lines.append(_row(cells))
    signatures = {result.meta["scores"]["bleu"]["signature"] for result in _results(found)}
    return "\n".join([*lines, "", *(f"BLEU: `{signature}`." for signature in sorted(signatures))])


def _results(found: dict[str, Setting]) -> Iterator[Result]:
    for setting in found.values():
        yield from setting.results


def draw_lengths(sweep: Path, file: Path) -> None:
    """Write the picture of BLEU by length."""
    from nmt.evaluation.plot import plot_by_length
    from nmt.sweep.sentences import lengths

    found = lengths([setting for name, setting in _found(summarise(SweepFolder(sweep))).items() if name in CHIEF])
    if found:
        plot_by_length({name: [one for one in buckets if one.sentences] for name, buckets in found.items()}, file)


def _lengths(found: dict[str, Setting]) -> str:
    from nmt.sweep.sentences import lengths

    buckets = lengths(list(found.values()))
    shown = [one for one in next(iter(buckets.values()), []) if one.sentences]
    heads = [f"{one.low}–{one.high} ({one.sentences})" for one in shown]
    lines = ["## BLEU by the number of source words (sentences)", "", _row(("attention", *heads))]
    lines.append(_row(("---",) * (1 + len(heads))))
    for name, places in buckets.items():
        lines.append(_row((KINDS[name][0], *(f"{one.bleu:.1f}" for one in places if one.bleu is not None))))
    lines += ["", "![BLEU by the number of source words](zoo/by_length.png)"]
    return "\n".join(lines)


def _section(name: str, setting: Setting, drawn: Path) -> str:
    title, module = KINDS[name]
    doc = importlib.import_module(f"nmt.attention.{module}").__doc__ or ""
    parts = [f"## {title}", f"`configs/{name}.yaml`, `nmt/attention/{module}.py`:"]
    parts.append(f"```\n{doc.strip()}\n```")
    parts.append(f"```yaml\n{_attention_block(ROOT / 'configs' / f'{name}.yaml')}\n```")
    scores = setting.results[0].meta["scores"]
    aer = f", AER {100 * scores['aer']['value']:.1f} %" if "aer" in scores else ""
    parts.append(
        f"Seed {setting.results[0].record.seed}: BLEU {scores['bleu']['value']:.1f}, chrF2 "
        f"{scores['chrf']['value']:.1f}{aer}; {setting.results[0].meta['parameters']:,} parameters."
    )
    if (drawn / name / "alignment.png").exists():
        parts.append(f"![where {title} looked](zoo/{name}/alignment.png)")
    each = sorted((drawn / name).glob("alignment.h*.png"))
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
        case ["draw", sweep]:
            draw(Path(sweep), DRAWN)
        case ["page"]:
            draw_lengths(SWEEP, DRAWN / "by_length.png")
            PAGE.write_text(page(SWEEP, DRAWN), encoding="utf-8")
        case _:
            sys.exit(f"{__doc__}")


if __name__ == "__main__":
    main(sys.argv[1:])
