"""Words as labels: what neither fonts nor files can hold is replaced, what is too long is shortened."""

import unicodedata
from collections.abc import Iterable

_LONGEST_LABEL = 80  # characters


def labels_of(words: Iterable[str]) -> list[str]:
    """Words as they are written beside a map: without letters that cannot be, shortened in the middle, never none."""
    labels = [shortened(printable(word), _LONGEST_LABEL) if word.strip() else "␣" for word in words]
    return labels or ["(no words)"]


def printable(text: str) -> str:
    """Put a replacement sign for control characters and half surrogates, which neither fonts nor SVG files can hold."""
    return "".join("\ufffd" if unicodedata.category(letter) in ("Cc", "Cs") else letter for letter in text)


def shortened(text: str, longest: int) -> str:
    """Leave out the middle of a text of more than `longest` characters."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[1 - half :]}"
