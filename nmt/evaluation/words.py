"""Which words does a system get right, those that training had often or those that it hardly saw?

As in compare-mt (G. Neubig et al., "compare-mt: a tool for holistic comparison of language generation systems", NAACL
2019 demonstrations, arXiv 1903.07926): words of references and translations are put into buckets by how often they
stand in the training text, and each bucket has precision, recall and F.

    match(w) = min(times in the translation, times in the reference), sentence by sentence, whatever the order
    precision = Σ match / Σ translated    recall = Σ match / Σ wanted    F = 2 Σ match / (Σ translated + Σ wanted)
"""

import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nmt.evaluation.bleu import check_lines, word_tokenizer

EDGES = (1, 2, 5, 10, 100, 1000)
"""Where buckets begin; below the first are words that training had not."""


@dataclass(frozen=True)
class FrequencyBucket:
    """Words that stand in training `low` to `high` times, both included; `high` is None in the last bucket.

    `wanted` counts them in the references, `translated` in the translations, `matched` in both.
    """

    low: int
    high: int | None
    wanted: int
    translated: int
    matched: int

    @property
    def f(self) -> float | None:
        """The F-score, from 0 to 1; None where there are no such words."""
        total = self.wanted + self.translated
        return 2.0 * self.matched / total if total else None

    @property
    def precision(self) -> float | None:
        """The share of the translated words that were wanted."""
        return self.matched / self.translated if self.translated else None

    @property
    def recall(self) -> float | None:
        """The share of the wanted words that were translated."""
        return self.matched / self.wanted if self.wanted else None


def word_counts(lines: Sequence[str], *, tokenize: str | None = None) -> Counter[str]:
    """How often each word stands in a text, split into words as for BLEU, cased."""
    split = word_tokenizer(tokenize)
    return Counter(word for line in lines for word in split(line))


def accuracy_by_frequency(
    hypotheses: Sequence[str],
    references: Sequence[str],
    training: Counter[str],
    edges: Sequence[int] = EDGES,
    *,
    tokenize: str | None = None,
) -> list[FrequencyBucket]:
    """A bucket for words that training had not, then one from each edge to the next, and one from the last on.

    `training` counts the target side of the training text. Raises DataError where the texts differ in length or are
    empty, ConfigError on a tokenizer as for `bleu`.
    """
    check_lines(hypotheses, references, "hypotheses")
    split = word_tokenizer(tokenize)
    counts = [[0, 0, 0] for _ in range(len(edges) + 1)]
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        translated, wanted = Counter(split(hypothesis)), Counter(split(reference))
        for word in translated | wanted:
            bucket = counts[bisect.bisect_right(edges, training[word])]
            bucket[0] += wanted[word]
            bucket[1] += translated[word]
            bucket[2] += min(wanted[word], translated[word])
    lows, highs = [0, *edges], [*(edge - 1 for edge in edges), None]
    return [FrequencyBucket(low, high, *three) for low, high, three in zip(lows, highs, counts, strict=True)]
