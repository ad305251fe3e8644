"""Is the right translation more probable to a model than wrong ones? R. Sennrich, "How grammatical is character-level
neural machine translation?", EACL 2017, arXiv 1612.04629; for pronouns M. Müller et al., "A large-scale test set for
the evaluation of context-aware pronoun translation", WMT 2018, arXiv 1810.02268.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from nmt.data.corpus import ParallelText, read_lines, require_equal
from nmt.errors import DataError
from nmt.experiment.run import Run


@dataclass(frozen=True)
class Contrast:
    """Of the lines that have wrong translations beside the right one, how many have the right one first."""

    right: tuple[bool, ...]

    @property
    def accuracy(self) -> float:
        """Their share, 0 to 1."""
        return sum(self.right) / len(self.right)

    def text(self) -> str:
        """In words."""
        return f"contrastive accuracy {100 * self.accuracy:.1f} % of {len(self.right):,} lines"

    def as_dict(self) -> dict[str, float | int]:
        """For JSON."""
        return {"accuracy": self.accuracy, "lines": len(self.right)}


def read_wrong(path: Path, sources: Sequence[str], source_name: object) -> list[tuple[str, ...]]:
    """The wrong translations of each line, with tabs between them; an empty line has none.

    Raises DataError where the file has not a line for each source, or no wrong translation at all.
    """
    lines = read_lines(path)
    require_equal(sources, source_name, lines, path)
    wrong = [tuple(filter(None, (part.strip() for part in line.split("\t")))) for line in lines]
    if not any(wrong):
        raise DataError(f"{path}: has no wrong translation; give some, with tabs between those of one line")
    return wrong


def contrast(run: Run, text: ParallelText, wrong: Sequence[Sequence[str]]) -> Contrast:
    """Compare log p of each reference with that of its wrong translations; equal ones do not count as right."""
    before = text.before or run.before(text.source) or [()] * len(text)
    asked = [
        (source, candidate, sentences)
        for source, reference, rivals, sentences in zip(text.source, text.target, wrong, before, strict=True)
        for candidate in (reference, *rivals)
        if rivals
    ]
    targets = [run.target.encode(candidate).numbers for _, candidate, _ in asked]
    pairs = run.pairs([source for source, _, _ in asked], targets, [sentences for _, _, sentences in asked])
    gained = [float(forced.log_probabilities.sum()) for forced in run.forced(pairs, need_weights=False)]
    spans = pairwise(accumulate((1 + len(rivals) for rivals in wrong if rivals), initial=0))
    return Contrast(tuple(gained[start] > max(gained[start + 1 : end]) for start, end in spans))
