"""Which links `nmt align` makes of weights, and what it prints of them."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nmt.errors import ConfigError, NmtError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nmt.alignment.export import SentenceAlignment
    from nmt.alignment.links import Link, Links
    from nmt.alignment.matrix import LayerChoice, MapChoice
    from nmt.experiment.align import Aligned
    from nmt.experiment.run import Run

_USUAL_HEURISTIC = "grow-diag-final-and"


@dataclass(frozen=True)
class LinkOptions:
    """Each target word's best link, or all above a threshold; of one run, or of two of opposite directions."""

    threshold: float | None
    reverse_run: Path | None
    heuristic: str | None

    def check(self) -> None:
        """Raise ConfigError where a value is none, or options contradict each other."""
        from nmt.alignment.links import check_threshold
        from nmt.alignment.symmetrize import check_heuristic

        if self.threshold is not None:
            check_threshold(self.threshold)
        if self.heuristic is not None:
            check_heuristic(self.heuristic)
            if self.reverse_run is None:
                raise ConfigError(
                    f"--symmetrize {self.heuristic}: makes links of two directions one; give the run of the other "
                    f"direction with --reverse-run"
                )

    def open_reverse(
        self, run: "Run", unit: str, choice: "MapChoice | None", layer: "LayerChoice", device: str
    ) -> "Run | None":
        """The run of the other direction, if there is one. NmtError where it does not fit, or has no such map."""
        from nmt.experiment.align import aligning_maps
        from nmt.experiment.linking import check_reverse
        from nmt.experiment.run import open_run

        if self.reverse_run is None:
            return None
        reverse = open_run(self.reverse_run, device)
        check_reverse(run, reverse, unit)
        try:
            aligning_maps(reverse, _single(choice), layer if isinstance(layer, int) else None)
        except NmtError as error:
            raise ConfigError(f"--reverse-run {self.reverse_run}: {error}") from None
        return reverse

    def above_threshold(self, alignments: "list[SentenceAlignment]") -> "list[SentenceAlignment]":
        """The same, where there is a threshold by it."""
        from nmt.experiment.linking import above_threshold

        return alignments if self.threshold is None else above_threshold(alignments, self.threshold)

    def link(
        self,
        aligned: "Aligned",
        reverse: "Run | None",
        sources: "Sequence[str]",
        *,
        unit: str,
        choice: "MapChoice | None",
        layer: "LayerChoice",
        names: "Sequence[str] | None",
    ) -> "tuple[Aligned, dict[str, list[frozenset[Link]]]]":
        """The alignments with their links, and where there are two directions the links of each, by their names.

        `names` tell the documents of lines apart, for a reverse run to which they count.
        """
        from nmt.experiment.linking import symmetrized

        each = {name: self.above_threshold(alignments) for name, alignments in aligned.each.items()}
        aligned = replace(aligned, alignments=self.above_threshold(aligned.alignments), each=each)
        if reverse is None:
            return aligned, {}
        both = symmetrized(
            aligned.alignments,
            reverse,
            sources,
            aligned.targets,
            self.heuristic or _USUAL_HEURISTIC,
            unit=unit,
            threshold=self.threshold,
            choice=_single(choice),
            layer=None if layer == "all" else layer,
            before=reverse.before(aligned.targets, names),
        )
        return replace(aligned, alignments=both.alignments), {"forward": both.forward, "reverse": both.reverse}


def _single(choice: "MapChoice | None") -> "MapChoice | None":
    """The one map that links are read from; of all of them the usual one."""
    return None if choice is None or choice.which == "all" else choice


def print_links(
    runs: "Mapping[str, Sequence[SentenceAlignment]]", gold: "Sequence[Links] | None", json_output: bool
) -> None:
    """Print the links, or against gold links the error rate; of several runs each after the run's name."""
    from nmt.alignment.links import format_links
    from nmt.evaluation.aer import score_alignments

    several = len(runs) > 1
    links = {name: [alignment.links for alignment in alignments] for name, alignments in runs.items()}
    if gold is None:
        for name, sentences in links.items():
            for sentence in sentences:
                typer.echo(f"{name}\t{format_links(sentence)}" if several else format_links(sentence))
        return
    scores = {name: score_alignments(sentences, gold) for name, sentences in links.items()}
    if json_output:
        objects = {name: score.as_dict() for name, score in scores.items()}
        typer.echo(json.dumps(objects if several else next(iter(objects.values())), ensure_ascii=False))
        return
    for name, score in scores.items():
        typer.echo(f"{name}\t{score.text()}" if several else score.text())
