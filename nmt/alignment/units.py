"""What rows and columns of an alignment stand for, and which piece belongs to which: words, characters or pieces."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.matrix import pool_words


@dataclass(frozen=True)
class Units:
    """The units of a line, and for each of its pieces the units that it covers, at least one if there is any."""

    labels: tuple[str, ...]
    owners: tuple[tuple[int, ...], ...]


def units_of(line: str, pieces: Sequence[str], spans: Sequence[tuple[int, int]], unit: str) -> Units:
    """Units of a line whose pieces stand at `spans` (characters, end exclusive).

    `word`: what `str.split` gives; `character`: every character that is not a space; `piece`: the pieces themselves. A
    piece that covers no visible character, such as a lone word boundary, belongs to the unit after it, at the end of
    the line to the last.
    """
    if unit == "piece":
        return Units(tuple(pieces), tuple((index,) for index in range(len(pieces))))
    owner, labels = _owner_of_characters(line, unit)
    return Units(tuple(labels), tuple(_covered(owner, start, end, len(labels)) for start, end in spans))


def _owner_of_characters(line: str, unit: str) -> tuple[list[int | None], list[str]]:
    """For each character of the line its unit (None for a space), and the units' labels."""
    owner: list[int | None] = []
    labels: list[str] = []
    apart = True
    for character in line:
        if character.isspace():
            owner.append(None)
            apart = True
            continue
        if apart or unit == "character":
            labels.append("")
        labels[-1] += character
        owner.append(len(labels) - 1)
        apart = False
    return owner, labels


def _covered(owner: Sequence[int | None], start: int, end: int, count: int) -> tuple[int, ...]:
    covered = sorted({unit for unit in owner[start:end] if unit is not None})
    if covered or not count:
        return tuple(covered)
    after = next((unit for unit in owner[start:] if unit is not None), count - 1)
    return (after,)


def pool_units(weights_TS: NDArray[np.float32], source: Units, target: Units) -> NDArray[np.float32]:
    """From pieces, ends included, to units: summed over a source unit's pieces, averaged over a target unit's.

    A piece that covers several units gives each source unit an equal part, and each target unit its row.
    """
    columns, shares = _spread(source)
    rows, _ = _spread(target)
    pieces_TS = weights_TS[np.append(rows, len(target.owners))][:, np.append(columns, len(source.owners))]
    pieces_TS = pieces_TS * np.append(shares, 1.0).astype(np.float32)
    flat = [[unit for owners in side.owners for unit in owners] for side in (source, target)]
    return pool_words(pieces_TS, [*flat[0], None], [*flat[1], None], len(source.labels), len(target.labels))


def linked_pieces(links: Iterable[tuple[int, int]], source: Units, target: Units) -> tuple[tuple[int, ...], ...]:
    """For each target piece the source pieces, in order, of the units that its own units are linked to.

    `links` are (source, target) units; a piece of units without links has none.
    """
    pieces: list[list[int]] = [[] for _ in source.labels]
    for piece, owners in enumerate(source.owners):
        for unit in owners:
            pieces[unit].append(piece)
    linked: list[set[int]] = [set() for _ in target.labels]
    for one, other in links:
        linked[other].update(pieces[one])
    return tuple(tuple(sorted(set().union(*(linked[unit] for unit in owners)))) for owners in target.owners)


def _spread(units: Units) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Each piece as often as it covers units: its index, and the part of it that each is."""
    index = [piece for piece, owners in enumerate(units.owners) for _ in owners]
    share = [1.0 / len(owners) for owners in units.owners for _ in owners]
    return np.array(index, dtype=np.int64), np.array(share, dtype=np.float64)
