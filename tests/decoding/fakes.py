"""What searches are tested on: a model of random tables, and small random ones of every kind."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from nmt.attention import ATTENTIONS
from nmt.attention.scores import SCORES
from nmt.config.model import ModelSection
from nmt.data.tokenizer import BEGIN, END
from nmt.decoding.search import Hypothesis, SearchSettings
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq

CPU = torch.device("cpu")
WORDS = (4, 5, 6)
PIECES = 7
KINDS: list[dict[str, object]] = [
    *({"type": kind} for kind in ATTENTIONS),
    *({"type": "luong", "score": score} for score in SCORES),
    {"type": "luong", "input_feeding": False},
]
SOURCES: list[tuple[int, ...]] = [(4,), (5, 6, 4), (6, 6), (4, 5, 6, 4, 5, 6, 5)]


@dataclass(frozen=True)
class Read:
    """The state of the fake model: each hypothesis's source and what it has read so far."""

    rows: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

    def reorder(self, index_N: Tensor, *, within: bool = False) -> "Read":
        return Read(tuple(self.rows[index] for index in index_N.tolist()))


@dataclass(frozen=True)
class FakeStep:
    logits_NV: Tensor
    state: Read


class Fake:
    """A model whose next piece depends on source and prefix by a random table; `end` makes the end more probable."""

    def __init__(self, seed: int, *, end: float = 0.0) -> None:
        self.seed = seed
        self.end = end
        self.steps = 0

    def logits(self, source: tuple[int, ...], prefix: tuple[int, ...]) -> Tensor:
        table = random.Random(repr((self.seed, source, prefix)))
        logits_V = torch.tensor([table.gauss(0.0, 1.5) for _ in range(PIECES)], dtype=torch.float64)
        logits_V[END] += self.end
        return logits_V

    def start(self, source_BS: Tensor, mask_BS: Tensor, seed_B: Tensor | None = None) -> Read:
        rows = zip(source_BS, mask_BS, strict=True)
        return Read(tuple((tuple(source[mask].tolist()), ()) for source, mask in rows))

    def step(self, previous_N: Tensor, state: Read) -> FakeStep:
        self.steps += 1
        rows = tuple(
            (source, (*prefix, piece)) for (source, prefix), piece in zip(state.rows, previous_N.tolist(), strict=True)
        )
        return FakeStep(torch.stack([self.logits(*row) for row in rows]), Read(rows))

    def log_probability(self, source: tuple[int, ...], pieces: tuple[int, ...]) -> float:
        """Of a translation and its end, straight from the tables."""
        read, total = (BEGIN,), 0.0
        for piece in (*pieces, END):
            total += float(torch.log_softmax(self.logits((*source, END), read), dim=0)[piece])
            read = (*read, piece)
        return total


def settings(width: int, alpha: float, longest: int, **others: Any) -> SearchSettings:
    """At most `longest` pieces, whatever the source."""
    return SearchSettings(beam=width, length_penalty=alpha, max_length_ratio=0.0, max_length_add=longest, **others)


def wu(alpha: float) -> Callable[[int], float]:
    return lambda length: ((5 + length) / 6) ** alpha


def close(found: Hypothesis, wanted: Hypothesis) -> bool:
    return (
        found.pieces == wanted.pieces
        and found.log_probability == pytest.approx(wanted.log_probability, abs=1e-4)
        and found.score == pytest.approx(wanted.score, abs=1e-4)
    )


def tiny_model(attention: dict[str, object], vocabulary: int = 12, seed: int = 1, **sections: object) -> Seq2Seq:
    """A random model whose choices are clear: large weights, and no bias or padding embedding that is zero."""
    torch.manual_seed(seed)
    plain = {"embedding": 16, "encoder": {"hidden": 16}, "decoder": {"hidden": 16, "layers": 2}, "attention": attention}
    section = ModelSection.model_validate({**plain, **sections})
    model = build_model(section, source_vocabulary=vocabulary, target_vocabulary=vocabulary, shared=True).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0).add_(torch.randn_like(parameter), alpha=0.3)
    return model
