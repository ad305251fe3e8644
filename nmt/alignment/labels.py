"""Words as labels: what neither fonts nor files can hold is replaced, what is too long is shortened."""

import unicodedata
from collections.abc import Iterable

from nmt.characters import is_blank

_LONGEST_LABEL = 80  # characters
_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
"""Unicode's classes of characters that turn the direction of the text after them."""


def labels_of(words: Iterable[str]) -> list[str]:
    """Words as they are written beside a map: without letters that cannot be, shortened in the middle, never none."""
    labels = [shortened(printable(word), _LONGEST_LABEL) if not is_blank(word) else "␣" for word in words]
    return labels or ["(no words)"]


def printable(text: str) -> str:
    """Put a replacement sign for what cannot be written.

    These are control characters and half surrogates, which neither fonts nor SVG files can hold, and those that turn
    the direction of writing, which would show another word.
    """
    return "".join("\ufffd" if _is_control(letter) else letter for letter in text)


def _is_control(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cs") or unicodedata.bidirectional(letter) in _TURNING


def shortened(text: str, longest: int) -> str:
    """Leave out the middle of a text of more than `longest` characters."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[1 - half :]}"
