"""From numbered pairs to batches: sentences of like length together, a token budget, and a place to go on from.

Shapes: B batch, S source, T target.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nmt.data.tokenizer import BEGIN, END, PADDING


@dataclass(frozen=True)
class Example:
    """A pair in pieces, without begin and end.

    Where they count, `before` are the source sentences before it, and `links` has for each target piece the source
    pieces that it is linked to. `seed` is the number by which an attention that draws does so outside training; without
    one it takes the most probable positions.
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    before: tuple[tuple[int, ...], ...] = ()
    links: tuple[tuple[int, ...], ...] = ()
    seed: int | None = None

    @property
    def length(self) -> int:
        """Positions that the longer side takes in a batch, its end included."""
        return max(len(self.source), len(self.target)) + 1


@dataclass(frozen=True)
class Batch:
    """Pairs as tensors.

    `source_BS` ends in the end piece, a real position; `previous_BT` begins with the begin piece and is what the
    decoder sees when it predicts `target_BT`, which ends in the end piece. Masks are True on real tokens. `context_BKS`
    are the K sentences before each, `links_BTS` the links of each target piece in equal parts, which sum to 1 or, where
    it has none, as the end never has, to 0; `seed_B` has the pairs' seeds. Each is None where no pair of the batch has
    any.
    """

    source_BS: Tensor
    source_mask_BS: Tensor
    previous_BT: Tensor
    target_BT: Tensor
    target_mask_BT: Tensor
    context_BKS: Tensor | None = None
    links_BTS: Tensor | None = None
    seed_B: Tensor | None = None

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        given = {name: tensor for name, tensor in vars(self).items() if tensor is not None}
        return Batch(**{name: tensor.to(device, non_blocking=True) for name, tensor in given.items()})


@dataclass(frozen=True)
class Position:
    """Where in the training text the next batch begins: a pass (from 0) and a batch of it (from 0)."""

    epoch: int = 0
    batch: int = 0


def pad(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Rows of unequal length as one matrix of numbers, and its mask."""
    width = max(len(row) for row in rows)
    numbers = torch.full((len(rows), width), PADDING, dtype=torch.long)
    mask = torch.zeros(len(rows), width, dtype=torch.bool)
    for index, row in enumerate(rows):
        numbers[index, : len(row)] = torch.tensor(row, dtype=torch.long)
        mask[index, : len(row)] = True
    return numbers, mask


def source_batch(sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Sources alone, each with its end piece: numbers [B, S] and mask."""
    return pad([[*source, END] for source in sources])


def context_batch(contexts: Sequence[Sequence[Sequence[int]]]) -> Tensor | None:
    """The sentences before each sentence: numbers [B, K, S], padding where there is none.

    They have no end pieces, so that attention looks at words. None where no sentence has any before it.
    """
    most = max((len(sentences) for sentences in contexts), default=0)
    if not most:
        return None
    rows: list[list[int]] = []
    for sentences in contexts:
        rows += [list(sentence) for sentence in sentences] + [[] for _ in range(most - len(sentences))]
    return pad(rows)[0].view(len(contexts), most, -1)


def links_batch(examples: Sequence[Example], steps: int, width: int) -> Tensor | None:
    """The links of each target piece, [B, T, S], those of a piece in equal parts; None where there are none."""
    places: list[tuple[int, int, int]] = []
    parts: list[float] = []
    for number, example in enumerate(examples):
        for target, sources in enumerate(example.links):
            places += [(number, target, source) for source in sources]
            parts += [1.0 / len(sources) for _ in sources]
    if not places:
        return None
    links_BTS = torch.zeros(len(examples), steps, width)
    links_BTS[tuple(torch.tensor(places).t())] = torch.tensor(parts)
    return links_BTS


def make_batch(examples: Sequence[Example]) -> Batch:
    """Pairs as one batch, in the order given; all of them have a seed, or none."""
    source_BS, source_mask_BS = source_batch([example.source for example in examples])
    previous_BT, target_mask_BT = pad([[BEGIN, *example.target] for example in examples])
    target_BT, _ = pad([[*example.target, END] for example in examples])
    context_BKS = context_batch([example.before for example in examples])
    links_BTS = links_batch(examples, target_BT.shape[1], source_BS.shape[1])
    seeds = [example.seed for example in examples]
    seed_B = torch.tensor(seeds) if any(seed is not None for seed in seeds) else None
    return Batch(source_BS, source_mask_BS, previous_BT, target_BT, target_mask_BT, context_BKS, links_BTS, seed_B)


def group(order: Sequence[int], lengths: Sequence[int], tokens: int, sentences: int | None) -> list[list[int]]:
    """Cut an order into batches of at most `tokens` (sentences × the longest of them) and at most `sentences`.

    The order goes from short to long. A sentence longer than the budget is a batch of its own; batches of more than
    eight have a multiple of eight, so that products meet few different shapes.
    """
    groups: list[list[int]] = []
    start = 0
    while start < len(order):
        size = 1
        while start + size < len(order) and size != sentences and (size + 1) * lengths[order[start + size]] <= tokens:
            size += 1
        if size > 8 and start + size < len(order):
            size -= size % 8
        groups.append(list(order[start : start + size]))
        start += size
    return groups


class TrainingBatches:
    """The training text as an endless row of batches, the same for the same seed, from any position on.

    Each pass draws its order anew from (seed, pass): sentences are sorted by the length of both sides, those of one
    length shuffled, cut into batches, and the batches shuffled.
    """

    def __init__(self, examples: Sequence[Example], *, tokens: int, sentences: int | None, seed: int) -> None:
        self.examples = examples
        self.tokens = tokens
        self.sentences = sentences
        self.seed = seed

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of one pass, as indices of the examples."""
        generator = np.random.default_rng([self.seed, number])
        targets = np.array([len(example.target) for example in self.examples])
        sources = np.array([len(example.source) for example in self.examples])
        order = np.lexsort((generator.random(len(targets)), sources, np.maximum(sources, targets)))
        lengths = [example.length for example in self.examples]
        groups = group(order.tolist(), lengths, self.tokens, self.sentences)
        return [groups[index] for index in generator.permutation(len(groups))]

    def from_position(self, position: Position) -> Iterator[tuple[Batch, Position, int]]:
        """Batches from a position on: each with the position after it and the number of batches in its pass."""
        while True:
            groups = self.epoch(position.epoch)
            for number in range(position.batch, len(groups)):
                last = number + 1 == len(groups)
                after = Position(position.epoch + 1) if last else Position(position.epoch, number + 1)
                yield make_batch([self.examples[index] for index in groups[number]]), after, len(groups)
            position = Position(position.epoch + 1)

    def padding_share(self) -> float:
        """The share of positions that are padding, both sides counted, in the first pass."""
        real = sum(len(example.source) + len(example.target) + 2 for example in self.examples)
        taken = 0
        for indices in self.epoch(0):
            batch = [self.examples[index] for index in indices]
            widest = max(len(e.source) for e in batch) + max(len(e.target) for e in batch) + 2
            taken += len(batch) * widest
        return 1.0 - real / taken


INFERENCE_TOKENS = 8192
"""Positions in a batch at most where nothing is learnt: a bound on memory, whatever the number of sentences."""


def inference_groups(examples: Sequence[Example], batch_size: int) -> list[list[int]]:
    """Indices in batches of like length, longest first, for what does not depend on its order.

    The sentences before a sentence take positions as it does, padding included.
    """
    order = sorted(range(len(examples)), key=lambda index: -examples[index].length)
    groups: list[list[int]] = []
    start = 0
    while start < len(order):
        longest, size, most, widest = examples[order[start]].length, 0, 0, 0
        for index in order[start : start + batch_size]:
            before = examples[index].before
            most, widest = max(most, len(before)), max([widest, *map(len, before)])
            if size and (size + 1) * (longest + most * widest) > INFERENCE_TOKENS:
                break
            size += 1
        groups.append(order[start : start + size])
        start += size
    return groups
