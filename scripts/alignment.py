"""Alignment error rates for docs/results/alignment.md: python scripts/alignment.py RUNS FILE.

RUNS is the folder of the runs that `scripts/alignment.sh` trains, which calls this. Between `<!-- rates NAME -->` and
`<!-- end -->` the page has the table of that name; all else stays as it is. Every run is forced to give the references.
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from nmt.alignment.links import Link, Links, diagonal_links, read_links
from nmt.alignment.symmetrize import HEURISTICS
from nmt.data.corpus import ParallelText, read_parallel
from nmt.evaluation.aer import AlignmentScore, score_alignments
from nmt.experiment.align import align_text
from nmt.experiment.linking import above_threshold, symmetrized
from nmt.experiment.run import Run, open_run

THRESHOLDS = (0.2, 0.3, 0.4)


def layer_rates(run: Run, text: ParallelText, gold: list[Links]) -> str:
    """The diagonal, each layer's best words, and of the layer that the run aligns by the links above thresholds."""
    usual, why = run.usual_layer()
    diagonal = [
        diagonal_links(len(source.split()), len(target.split()))
        for source, target in zip(text.source, text.target, strict=True)
    ]
    rows = [row("always along the diagonal", diagonal, gold)]
    for layer in range(run.model.decoder.attending_layers):
        found = align_text(run, text.source, text.target, unit="word", layer=layer).alignments
        default = f", the default: {why}" if layer == usual else ""
        rows.append(row(f"best word, layer {layer}{default}", (one.links for one in found), gold))
    found = align_text(run, text.source, text.target, unit="word").alignments
    for threshold in THRESHOLDS:
        links = (one.links for one in above_threshold(found, threshold))
        rows.append(row(f"layer {usual}, `--threshold {threshold:g}`", links, gold))
    return table(rows)


def direction_rates(forward: Run, reverse: Run, text: ParallelText, gold: list[Links]) -> str:
    """Each direction alone, and the links that each heuristic makes of both."""
    found = align_text(forward, text.source, text.target, unit="word").alignments
    rows: list[str] = []
    for heuristic in HEURISTICS:
        both = symmetrized(found, reverse, text.source, text.target, heuristic, unit="word")
        rows = rows or [row("forward", both.forward, gold), row("reverse", both.reverse, gold)]
        rows.append(row(f"`{heuristic}`", (one.links for one in both.alignments), gold))
    return table(rows)


def row(what: str, links: Iterable[frozenset[Link]], gold: list[Links]) -> str:
    """One way to make links, and its rates."""
    score: AlignmentScore = score_alignments(list(links), gold)
    rates = (f"{100 * rate:.1f} %" for rate in (score.aer, score.precision, score.recall))
    return f"| {what} | {' | '.join(rates)} | {score.links:,} |"


def table(rows: Iterable[str]) -> str:
    """The rows, in Markdown."""
    return "\n".join(["| links | AER | precision | recall | links |", "| --- | ---: | ---: | ---: | ---: |", *rows, ""])


def filled(page: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """The page, each block with the table of its name."""
    block = re.compile(r"(<!-- rates (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return block.sub(lambda match: f"{match[1]}{tables[match[2]]()}{match[3]}", page)


def main(runs: Path, page: Path) -> None:
    """Measure, and write the page."""
    demo, captions = Path("data/demo/test"), Path("data/multi30k/test_2016_flickr")

    def layers(name: str, test: Path) -> str:
        return layer_rates(open_run(runs / name), *read_test(test))

    def directions() -> str:
        return direction_rates(open_run(runs / "forward"), open_run(runs / "reverse"), *read_test(demo))

    tables: dict[str, Callable[[], str]] = {
        "multi30k": lambda: layers("multi30k_transformer", captions),
        "demo": lambda: layers("demo_transformer", demo),
        "directions": directions,
    }
    page.write_text(filled(page.read_text(encoding="utf-8"), tables), encoding="utf-8")


def read_test(test: Path) -> tuple[ParallelText, list[Links]]:
    """A test text, English and German, and its links."""
    return read_parallel(test.with_suffix(".en"), test.with_suffix(".de")), read_links(test.with_suffix(".links"))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
