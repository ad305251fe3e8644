"""Which of the maps of a model's attention are looked at, by number and by name; and what they are between words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.export import SentenceAlignment
from nmt.alignment.links import argmax_links
from nmt.alignment.matrix import AlignmentMatrix, LayerChoice, MapChoice, check_map, reduce_heads
from nmt.alignment.units import Units, pool_units
from nmt.decoding.parts import joined_maps
from nmt.errors import DataError

AT_ONCE = 512
"""Sentences whose weights between pieces, of all layers and heads, are in memory together."""


@dataclass(frozen=True)
class Map:
    """One map of a layer: that of head or hop `number`, or the mean of all (None)."""

    layer: int
    number: int | None


@dataclass(frozen=True)
class Maps:
    """The maps that are looked at: `usual`, and where all were asked for each by itself.

    Of those, `rows` has a row for each layer and in it a map for each head or hop, by names such as `layer0.head1`.
    """

    usual: Map
    rows: tuple[Mapping[str, Map], ...] = ()

    @property
    def named(self) -> dict[str, Map]:
        """All of them; the name of `usual` is empty."""
        return {"": self.usual} | {name: one for row in self.rows for name, one in row.items()}


@dataclass(frozen=True)
class Looked:
    """Each line's usual map and, where all were asked for, those by themselves: by their names, which stand in `rows`.

    These are `layer0.head1`, `layer0` or `head1`, or `hop1`; a row for each layer.
    """

    alignments: list[SentenceAlignment]
    each: dict[str, list[SentenceAlignment]]
    rows: tuple[tuple[str, ...], ...]


def choose_maps(
    usual: Map, shape: tuple[int, int], kind: str, choice: MapChoice | None = None, layer: LayerChoice = None
) -> Maps:
    """The maps that `choice` and `layer` ask for, of `shape` layers with so many heads or hops each.

    What they do not say is as in `usual`, and so is the usual map where all are asked for. Raises DataError where there
    is no such head or hop.
    """
    layers, count = shape
    number, each = usual.number, choice is not None and choice.which == "all"
    if choice is not None and choice.which != "all":
        number = None if choice.which == "mean" else choice.which
    if number is not None:
        check_map(number, count, kind=kind)
    chosen = Map(layer if isinstance(layer, int) else usual.layer, number)
    if not each and layer != "all":
        return Maps(chosen)
    rows = []
    for row in range(layers) if layer == "all" else (chosen.layer,):
        first = f"layer{row}" if layer == "all" else ""
        columns = {f"{kind}{column}": Map(row, column) for column in range(count)} if each else {"": Map(row, number)}
        rows.append({".".join(filter(None, (first, name))): one for name, one in columns.items()})
    return Maps(chosen, tuple(rows))


def check_layer(layer: int, layers: int, *, of: str) -> None:
    """Raise DataError where `of`, a coder with so many layers that look at the source, has none of this number."""
    if not 0 <= layer < layers:
        numbers = "only 0" if layers == 1 else f"0 to {layers - 1}"
        raise DataError(
            f"layer {layer} was asked for, and {layers} of this {of} look at the source (counted from 0); allowed: "
            f"{numbers}, or all"
        )


def sentence_maps(
    weights: Callable[[Map], NDArray[np.floating]], maps: Mapping[str, Map], source: Units, target: Units, index: int
) -> dict[str, SentenceAlignment]:
    """A sentence's maps between units, by their names; `weights` gives a map between pieces, [T, S]."""
    found = {}
    for name, one in maps.items():
        pooled = pool_units(weights(one), source, target)
        matrix = AlignmentMatrix(source.labels, target.labels, pooled)
        found[name] = SentenceAlignment(matrix, argmax_links(matrix.weights), index)
    return found


def map_between_pieces(parts: Sequence[Sequence[NDArray[np.float32]]], one: Map) -> NDArray[np.floating]:
    """One map of a line, [T, S], from those of its parts, which have an array [H, T, S] for each layer.

    The others are not put together: of a long line with many heads they do not fit into memory.
    """
    return joined_maps([reduce_heads(layers[one.layer], one.number) for layers in parts])


def gather(maps: Maps, sentences: Iterable[Mapping[str, SentenceAlignment]]) -> Looked:
    """The maps of all sentences."""
    found: dict[str, list[SentenceAlignment]] = {name: [] for name in maps.named}
    for sentence in sentences:
        for name, alignment in sentence.items():
            found[name].append(alignment)
    return Looked(found.pop(""), found, tuple(tuple(row) for row in maps.rows))
