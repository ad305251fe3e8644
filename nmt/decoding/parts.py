"""Lines longer than what a model has learnt from, in parts that are not."""

import re

from nmt.data.tokenizer import Pieces

_CLOSING = r"[\"'”’»)\]」』）]*$"
_SENTENCE_END = re.compile(rf"[.!?…]{_CLOSING}")
_CLAUSE_END = re.compile(rf"[,;:–—]{_CLOSING}")
_WIDE_SENTENCE_END = re.compile(rf"[。！？｡]{_CLOSING}")
_WIDE_CLAUSE_END = re.compile(rf"[、，；：]{_CLOSING}")


def parts_of(pieces: Pieces, limit: int) -> list[tuple[int, ...]]:
    """The pieces of a line, cut into parts of at most `limit` pieces.

    Each part ends at the last sentence end within the limit; where there is none, at the last clause end, or between
    two words, or wherever the limit is.
    """
    parts, start = [], 0
    while len(pieces.numbers) - start > limit:
        cut = max(range(start + 1, start + limit + 1), key=lambda place: (_quality(pieces, place), place))
        parts.append(pieces.numbers[start:cut])
        start = cut
    return [*parts, pieces.numbers[start:]]


def _quality(pieces: Pieces, place: int) -> int:
    """How good it is to cut before the piece at `place`: 3 after a sentence, 2 after a clause, 1 between words."""
    before = "".join(pieces.texts[max(0, place - 3) : place])
    between = pieces.texts[place].startswith("▁")
    if _WIDE_SENTENCE_END.search(before) or (between and _SENTENCE_END.search(before)):
        return 3
    if _WIDE_CLAUSE_END.search(before) or (between and _CLAUSE_END.search(before)):
        return 2
    return 1 if between else 0
