"""The splits of the corpus: length buckets, no sentence twice, nothing in valid and test that train does not teach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from nmt.data.demo.compose import Composer
from nmt.data.demo.draw import Draw
from nmt.data.demo.lexicon import all_nouns
from nmt.data.demo.realise import realise
from nmt.data.demo.tokens import Pair, bare_words

# Words of the English side, both ends included.
BUCKETS = ((3, 10), (11, 20), (21, 30), (31, 40))
# Pairs of each split, bucket by bucket.
SIZES = {"train": (2100, 1800, 1200, 900), "valid": (105, 90, 60, 45), "test": (150, 180, 140, 130)}
LONGEST_GERMAN = 45
# How often a word form of valid or test stands in train, at least.
SEEN = 5


def word_counts(lines: Iterable[str]) -> Counter[str]:
    """How often each word form stands in the lines, not counting sentence-initial capitals or punctuation."""
    counts: Counter[str] = Counter()
    for line in lines:
        first, *rest = bare_words(line)
        counts.update((first[0].lower() + first[1:], *rest))
        counts[first] += 1
    return counts


@cache
def german_compounds() -> frozenset[str]:
    """Every form of the German compounds."""
    compounds = [noun for noun in all_nouns().values() if noun.parts]
    forms = {form for noun in compounds for form in (noun.german, noun.german_plural, noun.oblique)}
    return frozenset(
        forms | {form + "n" for form in forms} | {form + ending for form in forms for ending in ("s", "es")}
    )


def candidate(grammar: Composer, bucket: int) -> Pair:
    """One sentence that is likely to be of the bucket's length."""
    draw = grammar.draw
    if bucket == 0:
        if draw.chance(0.85):
            return realise(grammar.simple.sentence())
        return realise(grammar.sentence(1, 1))
    shapes: tuple[tuple[tuple[int, int], float], ...] = (
        (((1, 1), 6), ((1, 2), 2), ((2, 0), 3), ((2, 1), 1)),
        (((1, 2), 3), ((2, 1), 5), ((2, 2), 1), ((3, 0), 1), ((1, 3), 2)),
        (((2, 2), 4), ((3, 1), 5), ((3, 2), 2), ((2, 3), 2)),
    )[bucket - 1]
    return realise(grammar.sentence(*draw.weighted(shapes)))


@dataclass
class Splits:
    """Draws the splits one after the other and remembers what has been used."""

    draw: Draw
    english: set[str] = field(default_factory=set)
    german: set[str] = field(default_factory=set)

    def take(self, split: str, known: tuple[Counter[str], Counter[str]] | None = None) -> list[Pair]:
        """The pairs of a split, in random order; `known` counts the word forms of train."""
        grammar = Composer.build(self.draw, unseen=split == "test")
        pairs: list[Pair] = []
        for bucket, size in enumerate(SIZES[split]):
            wanted = len(pairs) + size
            while len(pairs) < wanted:
                pair = candidate(grammar, bucket)
                if self._fits(pair, bucket) and (known is None or is_taught(pair, known)):
                    self.english.add(pair.english)
                    self.german.add(pair.german)
                    pairs.append(pair)
        return self.draw.shuffled(pairs)

    def _fits(self, pair: Pair, bucket: int) -> bool:
        shortest, longest = BUCKETS[bucket]
        if not shortest <= len(pair.english.split()) <= longest or len(pair.german.split()) > LONGEST_GERMAN:
            return False
        return pair.english not in self.english and pair.german not in self.german


def is_taught(pair: Pair, known: tuple[Counter[str], Counter[str]]) -> bool:
    """Whether train has every word form often enough (German compounds count by their parts)."""
    compounds = german_compounds()
    for line, counts in zip((pair.english, pair.german), known, strict=True):
        for index, word in enumerate(bare_words(line)):
            form = word[0].lower() + word[1:] if index == 0 and counts[word] < SEEN else word
            if counts[form] < SEEN and form not in compounds and word not in compounds:
                return False
    return True


def make_pairs(seed: int) -> dict[str, list[Pair]]:
    """All splits of the sentence corpus."""
    splits = Splits(Draw(seed))
    train = splits.take("train")
    known = word_counts(pair.english for pair in train), word_counts(pair.german for pair in train)
    return {"train": train, "valid": splits.take("valid", known), "test": splits.take("test", known)}
