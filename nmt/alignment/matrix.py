"""Attention weights as a matrix over words: target words down, source words across.

Shapes: T target and S source words or pieces, H heads, W words of one side (with keep_end, its end of sentence too).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nmt.errors import ConfigError, DataError

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)  # Arrays have no single truth value, so two matrices cannot be compared by ==.
class AlignmentMatrix:
    """How much each target word looked at each source word.

    `source` labels the columns, `target` the rows; `weights` is [T, S] float32, row t holding the weights used when
    target word t was predicted. Raises ValueError where labels and weights differ in number.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Array

    def __post_init__(self) -> None:
        expected = (len(self.target), len(self.source))
        if self.weights.shape != expected:
            raise ValueError(f"weights of shape {self.weights.shape} do not fit [target, source] labels {expected}")
        object.__setattr__(self, "weights", self.weights.astype(np.float32, copy=False))


def pool_words(
    weights_TS: Array,
    source_words: Sequence[int | None],
    target_words: Sequence[int | None],
    source_count: int,
    target_count: int,
    *,
    keep_end: bool = False,
) -> Array:
    """Turn weights between pieces into weights between words.

    word[u, v] = mean over the pieces t of target word u of (sum over the pieces s of source word v of piece[t, s]).

    `weights_TS` is [T, S] over pieces. `source_words` gives for each of the S pieces the word it belongs to (0-based),
    or None for the end of sentence; `target_words` does so for the T pieces. The result is [target_count,
    source_count] float32; the end of sentence is dropped, or with `keep_end` becomes one more row and column, the
    last. Rows are not renormalised, so what went to a dropped column is missing from their sums. A word without any
    piece has a row or column of zeros.

    Raises ValueError where weights, pieces and word counts do not fit together.
    """
    pieces = (len(target_words), len(source_words))
    if weights_TS.shape != pieces:
        raise ValueError(f"weights of shape {weights_TS.shape} do not fit [target, source] pieces {pieces}")
    belongs_SW = _membership(source_words, source_count, keep_end)
    belongs_TW = _membership(target_words, target_count, keep_end)
    counts_W = belongs_TW.sum(axis=0)
    summed_WW = belongs_TW.T @ weights_TS.astype(np.float64) @ belongs_SW
    pooled_WW: Array = summed_WW / np.maximum(counts_W, 1.0)[:, None]
    return pooled_WW.astype(np.float32)


LayerChoice = int | Literal["all"] | None
"""Which layer is wanted: one's number from 0, all of them, or None, the usual one."""


@dataclass(frozen=True)
class MapChoice:
    """Which of the H maps of an attention is wanted: what they are, and one's number from 0, their mean, or all."""

    kind: Literal["head", "hop"]
    which: int | Literal["mean", "all"]


def parse_choice(head: str | None, hop: str | None) -> MapChoice | None:
    """The choice that `--head` or `--hop` asks for by a number from 0, `mean` or `all`; None where neither is given.

    Raises ConfigError where both are given, and on any other text.
    """
    if head is not None and hop is not None:
        raise ConfigError("--head and --hop: an attention has either heads or hops; give one of the two")
    kind: Literal["head", "hop"] = "head" if hop is None else "hop"
    text = head if hop is None else hop
    if text is None:
        return None
    if text == "mean":
        return MapChoice(kind, "mean")
    if text == "all":
        return MapChoice(kind, "all")
    if text.isascii() and text.isdigit():
        return MapChoice(kind, int(text))
    raise ConfigError(f"--{kind} {text}: is unknown; allowed: a {kind}'s number, counted from 0, mean, or all")


def parse_layer(text: str | None) -> LayerChoice:
    """The choice that `--layer` asks for by a number from 0 or `all`. Raises ConfigError on any other text."""
    if text is None:
        return None
    if text == "all":
        return "all"
    if text.isascii() and text.isdigit():
        return int(text)
    raise ConfigError(f"--layer {text}: is unknown; allowed: a layer's number, counted from 0, or all")


def check_map(number: int, count: int, *, kind: str = "head") -> None:
    """Raise DataError where an attention of `count` maps, which are called `kind`, has no map of this number."""
    if not 0 <= number < count:
        numbers = "only 0" if count == 1 else f"0 to {count - 1}"
        raise DataError(
            f"{kind} {number} was asked for, and this attention has {count} (counted from 0); allowed: {numbers}, "
            f"mean, or all"
        )


def reduce_heads(weights_HTS: Array, head: int | None, *, kind: str = "head") -> Array:
    """Make one map [T, S] of the H maps of a layer: their mean, or the single map `head` (0-based).

    `kind` is what the maps are called. Raises DataError where there is no such one.
    """
    if head is None:
        return np.asarray(weights_HTS.mean(axis=0))
    check_map(head, len(weights_HTS), kind=kind)
    return np.asarray(weights_HTS[head])


def _membership(words: Sequence[int | None], count: int, keep_end: bool) -> Array:
    """The [pieces, words] matrix with a 1 where a piece belongs to a word; the end, if kept, is the last column."""
    outside = [word for word in words if word is not None and not 0 <= word < count]
    if outside:
        raise ValueError(f"a piece belongs to word {outside[0]}, and there are {count} words")
    # The end always has its column, so that None is a word like any other; it is cut off again where not asked for.
    columns = np.array([count if word is None else word for word in words], dtype=np.int64)
    member = np.zeros((len(words), count + 1))
    member[np.arange(len(words)), columns] = 1.0
    return member if keep_end else member[:, :count]
