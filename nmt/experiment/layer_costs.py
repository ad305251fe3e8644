"""What a layer costs as the sentence grows: A. Vaswani et al., NIPS 2017, arXiv 1706.03762, table 1, measured.

A cost is that of one sentence of n positions, forward and backward, gradients of parameters and input included. Its
unit is the product of a vector with a d × d matrix, 2 d² operations, at P, the best rate of large products in the same
run (`bench.matrix_limit`):

    cost = t P / (2 d²)

A layer of 4 such products a position, and twice as many backward, costs 12 n where nothing is lost.

Shapes: B batch, S = n positions, D = d width.
"""

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nmt.attention.multihead import MultiHeadAttention
from nmt.attention.normalizers import softmax
from nmt.attention.restricted import RestrictedSelfAttention
from nmt.experiment.bench import matrix_limit
from nmt.model.convolution import ConvolutionalBlock
from nmt.model.encoders import BidirectionalGru

HEAD, NEIGHBOURHOOD, KERNEL = 64, 65, 3
"""Width of a head; r, the positions that one looks at in restricted self-attention; k, those of a convolution."""

_PASSES = 3  # the backward pass has two products for each of the forward pass
_SAMPLE, _LIMIT = 0.02, 0.5  # seconds: calls are repeated until they take as long together; for each size of product
_FEWEST = 3  # rounds


@dataclass(frozen=True)
class Fit:
    """cost = c + a n + b n²: `fixed`, `linear` and `square`, none below 0."""

    fixed: float
    linear: float
    square: float

    def even(self) -> float:
        """The n at which a n and b n² are the same; ∞ where there is no b."""
        return self.linear / self.square if self.square else math.inf


@dataclass(frozen=True)
class Kind:
    """A row of the table: what theory says, what builds the layer for a width, and what products are in it.

    `dense`: those of each position with d × d matrices; `sees`: how many positions it looks at, for a score and for
    what is read, each 1/d of such a product. Layers map states [B, S, D] and their mask to states of the same shape.
    """

    complexity: str
    sequential: str
    path: str
    build: Callable[[int], nn.Module]
    dense: float
    sees: float

    def cost(self, length: int, width: int) -> float:
        """The cost of a sentence where nothing is lost: its products alone, all at the machine's limit."""
        if not self.sees:
            return _PASSES * self.dense * length
        reach = min((self.sees - 1) / 2, length - 1)
        pairs = length * (2 * reach + 1) - reach * (reach + 1)
        return _PASSES * (self.dense * length + 2 * pairs / width)

    def order(self, width: int) -> Fit:
        """The same as c + a n + b n², for sentences whose ends do not matter."""
        if math.isinf(self.sees):
            return Fit(0.0, _PASSES * self.dense, _PASSES * 2 / width)
        return Fit(0.0, _PASSES * (self.dense + 2 * self.sees / width), 0.0)


class _Looking(nn.Module):
    """Attention of a sentence to itself, as a layer."""

    def __init__(self, attention: MultiHeadAttention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        memory = self.attention.remember(x_BSD, mask_BS)
        return self.attention(x_BSD, memory, need_weights=False).context_BTD


def _self_attention(width: int, *, restricted: bool, projections: bool) -> nn.Module:
    """Without projections (W_Q, W_K, W_V, W_O) states themselves are queries, keys and values."""
    heads = max(1, width // HEAD)
    attention: MultiHeadAttention
    if restricted:
        attention = RestrictedSelfAttention(width=width, heads=heads, normalizer=softmax, neighbourhood=NEIGHBOURHOOD)
    else:
        attention = MultiHeadAttention(query_width=width, key_width=width, width=width, heads=heads, normalizer=softmax)
    if not projections:
        for name in ("query", "key", "value", "output"):
            setattr(attention, name, nn.Identity())
    return _Looking(attention)


def _gru(width: int) -> nn.Module:
    """Both directions, each of half the width."""
    return BidirectionalGru(input_width=width, hidden=width // 2)


def _convolution(width: int) -> nn.Module:
    """With its gated linear unit, twice as wide as the states."""
    return ConvolutionalBlock(width=width, kernel=KERNEL, dropout=0.0)


def _full(projections: bool) -> Callable[[int], nn.Module]:
    return partial(_self_attention, restricted=False, projections=projections)


def _near(projections: bool) -> Callable[[int], nn.Module]:
    return partial(_self_attention, restricted=True, projections=projections)


KINDS: dict[str, Kind] = {
    "self-attention": Kind("O(n²·d + n·d²)", "O(1)", "O(1)", _full(True), 4, math.inf),
    "self-attention, no projections": Kind("O(n²·d)", "O(1)", "O(1)", _full(False), 0, math.inf),
    "restricted": Kind("O(r·n·d + n·d²)", "O(1)", "O(n/r)", _near(True), 4, NEIGHBOURHOOD),
    "restricted, no projections": Kind("O(r·n·d)", "O(1)", "O(n/r)", _near(False), 0, NEIGHBOURHOOD),
    "GRU": Kind("O(n·d²)", "O(n)", "O(n)", _gru, 4.5, 0),
    "convolution": Kind("O(k·n·d²)", "O(1)", "O(n/k)", _convolution, 2 * KERNEL, 0),
}
"""The layers, by name."""


@dataclass(frozen=True)
class Costs:
    """What was measured: of each width and kind the seconds of a sentence, [rounds, lengths].

    `limit` is P, in operations a second.
    """

    lengths: tuple[int, ...]
    seconds: dict[int, dict[str, NDArray[np.float64]]]
    limit: float

    @property
    def rounds(self) -> int:
        return len(next(iter(next(iter(self.seconds.values())).values())))

    def cost(self, width: int, kind: str) -> NDArray[np.float64]:
        """Of each length, the fastest round's: what else the machine does makes a round slower, never faster."""
        fastest: NDArray[np.float64] = self.seconds[width][kind].min(axis=0)
        return fastest * self.limit / (2 * width**2)

    def share(self, width: int, kind: str) -> NDArray[np.float64]:
        """Of each length, the share of the machine's limit that the layer's products reach, 0 to 1."""
        least = [KINDS[kind].cost(length, width) for length in self.lengths]
        return np.array(least) / self.cost(width, kind)

    def spread(self) -> tuple[float, float]:
        """The median round's time, divided by the fastest's: in the middle of all that was timed, and at worst."""
        taken = [times for kinds in self.seconds.values() for times in kinds.values()]
        ratios = np.concatenate([np.median(times, axis=0) / times.min(axis=0) for times in taken])
        return float(np.median(ratios)), float(ratios.max())


def measure(lengths: Sequence[int], widths: Sequence[int], *, batch: int, seconds: float) -> Costs:
    """Time every kind at every width and length, in rounds, so that what slows the machine slows all of them.

    A round begins while it may end before `seconds` are over, warm-up included; there are three at least. With less
    than a minute, samples are shorter, too. The batch is the same at every length: with as many tokens at every length
    it would shrink as sentences grow, and a layer whose products gain from more sentences, as a GRU's do, would seem to
    grow faster than it does.
    """
    start, part = time.perf_counter(), min(1.0, seconds / 60)
    limit = matrix_limit(torch.float32, torch.device("cpu"), part * _LIMIT)
    torch.manual_seed(1)
    places = list(itertools.product(widths, lengths, KINDS))
    layers = {(width, kind): KINDS[kind].build(width) for width in widths for kind in KINDS}
    states = {(width, n): torch.randn(batch, n, width, requires_grad=True) for width in widths for n in lengths}
    trials = [_Trial(layers[width, kind], states[width, length]) for width, length, kind in places]
    calls = []
    for trial in trials:
        trial.seconds()  # libraries write their kernels, and memory is asked for
        calls.append(max(1, round(part * _SAMPLE / trial.seconds())))
    rounds: list[list[float]] = []
    longest = 0.0
    while len(rounds) < _FEWEST or time.perf_counter() - start + longest < seconds:
        before = time.perf_counter()
        rounds.append([trial.seconds(count) / batch for trial, count in zip(trials, calls, strict=True)])
        longest = max(longest, time.perf_counter() - before)
    limit = max(limit, matrix_limit(torch.float32, torch.device("cpu"), part * _LIMIT))
    taken = np.array(rounds).reshape(len(rounds), len(widths), len(lengths), len(KINDS))
    by_width = {
        width: {kind: taken[:, row, :, column] for column, kind in enumerate(KINDS)} for row, width in enumerate(widths)
    }
    return Costs(tuple(lengths), by_width, limit)


class _Trial:
    """One layer on one batch, forward and backward, ready to be called."""

    def __init__(self, layer: nn.Module, x_BSD: Tensor) -> None:
        self.layer = layer
        self.x_BSD = x_BSD
        self.mask_BS = torch.ones(x_BSD.shape[:2], dtype=torch.bool)
        self.gradient_BSD = torch.ones_like(x_BSD)
        self.wanted = [x_BSD, *layer.parameters()]

    def seconds(self, calls: int = 1) -> float:
        """The time of a call, the mean of as many as are asked for."""
        start = time.perf_counter()
        for _ in range(calls):
            torch.autograd.grad(self.layer(self.x_BSD, self.mask_BS), self.wanted, self.gradient_BSD)
        return (time.perf_counter() - start) / calls


def fit(lengths: Sequence[int], costs: Sequence[float] | NDArray[np.float64]) -> Fit:
    """Least squares of the relative errors, so that short sentences count for as much as long ones.

    c is what a call costs before it reads anything. Without it a would have to make up for that at the short end.
    """
    n, cost = np.array(lengths, dtype=float), np.asarray(costs, dtype=float)
    terms = np.stack([np.ones_like(n), n, n**2], axis=1) / cost[:, None]
    scale = np.linalg.norm(terms, axis=0)
    best, least = np.zeros(3), math.inf
    for kept in itertools.product((False, True), repeat=3):
        # Of three factors, none negative, some may have to be 0: few enough choices to try them all.
        chosen = np.array(kept)
        factors = np.zeros(3)
        factors[chosen] = np.linalg.lstsq((terms / scale)[:, chosen], np.ones_like(n), rcond=None)[0]
        error = float(np.square((terms / scale) @ factors - 1.0).sum())
        if (factors >= 0).all() and error < least:
            best, least = factors / scale, error
    return Fit(*best.tolist())


def slope(lengths: Sequence[int], costs: Sequence[float] | NDArray[np.float64], *, points: int = 3) -> float:
    """The order of growth at the long end: by what power of n costs grow, over the last lengths."""
    logarithms = np.log(np.array(lengths[-points:], dtype=float)), np.log(np.asarray(costs[-points:], dtype=float))
    return float(np.polyfit(*logarithms, 1)[0])
