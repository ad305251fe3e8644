"""Which characters can be seen."""

import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
"""Unicode's categories of controls, of format characters such as the zero-width ones, and of spaces."""


def is_blank(text: str) -> bool:
    """Whether there is nothing to be seen: no character, or spaces, controls and zero-width characters alone."""
    return not text.strip() or all(unicodedata.category(character) in _UNSEEN for character in text)
