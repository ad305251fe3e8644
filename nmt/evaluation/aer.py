"""Alignment error rate, precision and recall of word links against gold links."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt.alignment.links import Link, Links
from nmt.errors import DataError


@dataclass(frozen=True)
class AlignmentScore:
    """Rates over a whole set, as fractions from 0 to 1, and the counts they come from.

    `links` counts the hypothesis's links |A|, `sure` the gold's sure ones |S|, `possible` all of the gold's, sure ones
    included, |P|.
    """

    aer: float
    precision: float
    recall: float
    links: int
    sure: int
    possible: int
    sentences: int

    def text(self) -> str:
        """The score for people, in per cent: `AER 16.4 %  precision 80.0 %  recall 90.1 %  (7312 links, …)`."""
        rates = f"AER {self.aer:.1%}  precision {self.precision:.1%}  recall {self.recall:.1%}".replace("%", " %")
        links = "1 link" if self.links == 1 else f"{self.links} links"
        sentences = "1 sentence" if self.sentences == 1 else f"{self.sentences} sentences"
        return f"{rates}  ({links}, {sentences})"

    def as_dict(self) -> dict[str, float | int]:
        """The score for JSON files: rates as fractions, and how much they were counted over."""
        rates = {"aer": self.aer, "precision": self.precision, "recall": self.recall}
        return {**rates, "links": self.links, "sentences": self.sentences}


def score_alignments(hypotheses: Sequence[frozenset[Link]], gold: Sequence[Links]) -> AlignmentScore:
    """Score links A against sure gold links S and possible ones P ⊇ S, all counted over the whole set.

    AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|),  precision = |A ∩ P| / |A|,  recall = |A ∩ S| / |S|
    (Och & Ney 2003, "A systematic comparison of various statistical alignment models").

    AER is the mean of the errors 1 − precision and 1 − recall, weighted by |A| and |S|. That stays true where something
    is empty: without links in A nothing can be wrong (precision 1), without sure links nothing can be missed
    (recall 1), without either AER is 0. An A without links against sure ones has AER 1.

    Raises DataError where the two differ in their number of sentences, or have none.
    """
    if len(hypotheses) != len(gold):
        raise DataError(
            f"links for {len(hypotheses)} sentences were given and gold links for {len(gold)}; allowed is one line of "
            f"each for every sentence pair; check that both files belong to the same text"
        )
    if not gold:
        raise DataError("no sentence to score: both link files are empty; give files with one line a sentence pair")
    links = sum(len(hypothesis) for hypothesis in hypotheses)
    sure = sum(len(reference.sure) for reference in gold)
    possible_hits = sum(len(a & reference.possible) for a, reference in zip(hypotheses, gold, strict=True))
    sure_hits = sum(len(a & reference.sure) for a, reference in zip(hypotheses, gold, strict=True))
    return AlignmentScore(
        aer=1 - (sure_hits + possible_hits) / (links + sure) if links + sure else 0.0,
        precision=possible_hits / links if links else 1.0,
        recall=sure_hits / sure if sure else 1.0,
        links=links,
        sure=sure,
        possible=sum(len(reference.possible) for reference in gold),
        sentences=len(gold),
    )
