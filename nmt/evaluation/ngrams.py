"""Which n-grams does one system get right, and another does not?

As in compare-mt (G. Neubig et al., "compare-mt: a tool for holistic comparison of language generation systems", NAACL
2019 demonstrations, arXiv 1903.07926): each n-gram of the references, n = 1 to 4, is ranked by the log-odds of its
matches, smoothed by α = 1, so that one seen once does not stand before one seen often.

    match(g) = Σ over sentences of min(times in the translation, times in the reference)
    log-odds(g) = log((match_other(g) + α) / (match_base(g) + α))
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nmt.evaluation.bleu import check_lines, word_tokenizer

LONGEST = 4
"""Words of the longest n-grams, as in BLEU."""

Ngram = tuple[str, ...]


@dataclass(frozen=True)
class NgramMatches:
    """An n-gram: how often the references have it (`wanted`), and how often each of two systems matches them.

    `log_odds` is natural, above 0 where `other` has more matches than `base`.
    """

    words: Ngram
    wanted: int
    base: int
    other: int
    log_odds: float


@dataclass(frozen=True)
class NgramDifferences:
    """N-grams that a system matches more often than the one it is compared with, and less often; clearest first."""

    better: tuple[NgramMatches, ...]
    worse: tuple[NgramMatches, ...]


def ngram_matches(
    hypotheses: Sequence[str], references: Sequence[str], *, longest: int = LONGEST, tokenize: str | None = None
) -> Counter[Ngram]:
    """How often each n-gram of up to `longest` words is matched, split into words as for BLEU, cased.

    Raises DataError where the texts differ in length or are empty, ConfigError on a tokenizer as for `bleu`.
    """
    check_lines(hypotheses, references, "hypotheses")
    split, found = word_tokenizer(tokenize), Counter[Ngram]()
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        written, wanted = (Counter(_ngrams(split(line), longest)) for line in (hypothesis, reference))
        found.update(written & wanted)
    return found


def compare_ngrams(
    base: Sequence[str],
    other: Sequence[str],
    references: Sequence[str],
    count: int,
    *,
    longest: int = LONGEST,
    smoothing: float = 1.0,
    tokenize: str | None = None,
) -> NgramDifferences:
    """The `count` n-grams that speak most clearly for `other`, and for `base`; `smoothing` is α, above 0.

    Of equal odds, those come first whose matches differ more, then the longer ones. Errors as for `ngram_matches`.
    """
    wanted, first, second = (
        ngram_matches(lines, references, longest=longest, tokenize=tokenize) for lines in (references, base, other)
    )
    found = [
        NgramMatches(words, wanted[words], one, two, math.log((two + smoothing) / (one + smoothing)))
        for words in first | second
        if (one := first[words]) != (two := second[words])
    ]
    found.sort(key=lambda one: (-abs(one.log_odds), -abs(one.other - one.base), -len(one.words), one.words))
    better, worse = ([one for one in found if (one.log_odds > 0) == is_better] for is_better in (True, False))
    return NgramDifferences(tuple(better[:count]), tuple(worse[:count]))


def _ngrams(words: Sequence[str], longest: int) -> Iterator[Ngram]:
    for start in range(len(words)):
        for end in range(start + 1, min(start + longest, len(words)) + 1):
            yield tuple(words[start:end])
