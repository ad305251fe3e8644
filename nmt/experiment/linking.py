"""Other links than each target word's best: those above a threshold, and those of two runs, one of each direction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nmt.alignment.export import SentenceAlignment
from nmt.alignment.links import Link, threshold_links
from nmt.alignment.matrix import LayerChoice, MapChoice
from nmt.alignment.symmetrize import symmetrize, transpose
from nmt.errors import ConfigError
from nmt.experiment.align import align_text
from nmt.experiment.run import Run


@dataclass(frozen=True)
class Symmetrized:
    """Alignments whose links come from both directions, and each direction's own links, all `(source, target)`."""

    alignments: list[SentenceAlignment]
    forward: list[frozenset[Link]]
    reverse: list[frozenset[Link]]


def above_threshold(alignments: Sequence[SentenceAlignment], threshold: float) -> list[SentenceAlignment]:
    """The same alignments with a link wherever a weight is at least `threshold`. Raises ConfigError as that does."""
    return [replace(one, links=threshold_links(one.matrix.weights, threshold)) for one in alignments]


def check_reverse(run: Run, reverse: Run, unit: str) -> None:
    """Raise ConfigError unless `reverse` translates the other way round, and what is aligned is the same in both."""
    languages = (run.config.data.source_language, run.config.data.target_language)
    others = (reverse.config.data.source_language, reverse.config.data.target_language)
    if others != languages[::-1]:
        raise ConfigError(
            f"--reverse-run {reverse.folder.path}: it translates {' to '.join(others)}, and {run.folder.path} "
            f"{' to '.join(languages)}; allowed is a run from {' to '.join(languages[::-1])}"
        )
    if unit == "piece":
        raise ConfigError(
            "--reverse-run: two runs cut a text into other pieces each, which cannot be linked; give --unit word or "
            "--unit character"
        )


def symmetrized(
    alignments: Sequence[SentenceAlignment],
    reverse: Run,
    sources: Sequence[str],
    targets: Sequence[str],
    heuristic: str,
    *,
    unit: str,
    threshold: float | None = None,
    choice: MapChoice | None = None,
    layer: LayerChoice = None,
    before: Sequence[tuple[str, ...]] = (),
) -> Symmetrized:
    """The same alignments with links of both directions, made one by a heuristic (`nmt.alignment.symmetrize`).

    `reverse` translates from the targets' language to the sources'; it is forced to give each source for its target,
    and its links, which are its best or those above `threshold`, are transposed. Weights stay those of `alignments`.
    `choice` and `layer` are the map that it is read from, `before` the sentences before each target, as in
    `align_text`, which raises what it says there.
    """
    backwards = align_text(reverse, targets, sources, unit=unit, choice=choice, layer=layer, before=before).alignments
    if threshold is not None:
        backwards = above_threshold(backwards, threshold)
    forward, back = [one.links for one in alignments], [transpose(one.links) for one in backwards]
    both = [symmetrize(one, other, heuristic) for one, other in zip(forward, back, strict=True)]
    linked = [replace(one, links=links) for one, links in zip(alignments, both, strict=True)]
    return Symmetrized(linked, forward, back)
