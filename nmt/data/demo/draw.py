"""Seeded choices that give the same corpus on every machine and Python version."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Draw:
    """All choices of the generator, made from `random.Random(seed).random()` alone.

    Python promises that sequence for a given seed; `choice`, `sample` and `shuffle` may change between versions.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, limit: int) -> int:
        """An integer in [0, limit)."""
        return min(int(self._random.random() * limit), limit - 1)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        if not items:
            raise ValueError("nothing to pick from")
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[tuple[Item, float]]) -> Item:
        """One of (item, weight), with a probability proportional to its weight."""
        mark = self._random.random() * sum(weight for _, weight in items)
        for item, weight in items:
            mark -= weight
            if mark < 0:
                return item
        return items[-1][0]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """A new list in random order (Fisher and Yates)."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = self.below(last + 1)
            result[last], result[other] = result[other], result[last]
        return result
