"""Lines longer than what a model has learnt from, in parts that are not, and where a model looked in all of them."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from nmt.data.batching import Example
from nmt.data.tokenizer import Pieces

_CLOSING = r"[\"'”’»)\]」』）]*$"
_SENTENCE_END = re.compile(rf"[.!?…]{_CLOSING}")
_CLAUSE_END = re.compile(rf"[,;:–—]{_CLOSING}")
_WIDE_SENTENCE_END = re.compile(rf"[。！？｡]{_CLOSING}")
_WIDE_CLAUSE_END = re.compile(rf"[、，；：]{_CLOSING}")

_SHORT = 4
"""A sentence of no more pieces, its end included, is none by itself: `Dr.`, `No. 5.`"""


def parts_of(pieces: Pieces, limit: int) -> list[tuple[int, ...]]:
    """The pieces of a line, cut into parts of at most `limit` pieces; a line within the limit stays whole.

    Each sentence is a part, since a model that has learnt from single sentences writes one where it reads several, and
    leaves out the rest; a very short one, which may be an abbreviation, stays with the next. One beyond the limit is
    cut at its last clause end within the limit; where there is none, between two words, or wherever the limit is.
    """
    count, start, parts = len(pieces.numbers), 0, []
    if count <= limit:
        return [pieces.numbers]
    cased = any(letter.isupper() for letter in "".join(pieces.texts))
    places = range(1, count)
    quality = dict(zip(places, (_quality(pieces, place, cased) for place in places), strict=True))
    sentence_ends = [place for place in places if quality[place] == 3]
    while start < count:
        longest = min(start + limit, count)
        following = bisect_right(sentence_ends, start + _SHORT)
        end = sentence_ends[following] if following < len(sentence_ends) else count
        if end <= longest:
            cut = end
        else:
            cut = max(range(start + 1, longest + 1), key=lambda place: (min(2, quality[place]), place))
        parts.append(pieces.numbers[start:cut])
        start = cut
    return parts


def pairs_of(pair: Example, parts: Sequence[tuple[int, int]], seeds: Sequence[int] = ()) -> list[Example]:
    """The pairs of a line's parts, of so many source and target pieces each (`Hypothesis.parts`); without parts the
    pair itself. The sentences before stand before every part, as they do in a search; `seeds` has one for each pair,
    where attention drew by them."""
    sizes = parts or [(len(pair.source), len(pair.target))]
    pairs, sources, targets = [], iter(pair.source), iter(pair.target)
    drawn: Sequence[int | None] = seeds or [None] * len(sizes)
    for (read, written), seed in zip(sizes, drawn, strict=True):
        sides = tuple(islice(sources, read)), tuple(islice(targets, written))
        pairs.append(replace(pair, source=sides[0], target=sides[1], seed=seed))
    return pairs


def joined_maps(parts: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Where a line looked, [..., T, S], from where its parts did: block by block, as no part saw another.

    Only the last part's end is the line's, so rows and columns of the others' ends are left out.
    """
    blocks = [*(part[..., :-1, :-1] for part in parts[:-1]), parts[-1]]
    rows, columns = (sum(block.shape[axis] for block in blocks) for axis in (-2, -1))
    joined = np.zeros((*parts[0].shape[:-2], rows, columns), np.float32)
    row = column = 0
    for block in blocks:
        below, right = row + block.shape[-2], column + block.shape[-1]
        joined[..., row:below, column:right] = block
        row, column = below, right
    return joined


def joined_rows(parts: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The rows [T, ...] of a line, its end included, from those of its parts; as in `joined_maps`."""
    return np.concatenate([*(part[:-1] for part in parts[:-1]), parts[-1]])


def _quality(pieces: Pieces, place: int, cased: bool) -> int:
    """How good it is to cut before the piece at `place`: 3 after a sentence, 2 after a clause, 1 between words.

    `cased`: whether the line has capitals, with which sentences then begin.
    """
    before = "".join(pieces.texts[max(0, place - 3) : place])
    between = pieces.texts[place].startswith("▁")
    after = "".join(pieces.texts[place : place + 2]).removeprefix("▁")
    # What goes on in lower case is the same sentence: `e.g. this`.
    ended = between and _SENTENCE_END.search(before) and not (cased and after[:1].islower())
    if _WIDE_SENTENCE_END.search(before) or ended:
        return 3
    if _WIDE_CLAUSE_END.search(before) or (between and _CLAUSE_END.search(before)):
        return 2
    return 1 if between else 0
