"""Word-alignment links: reading, writing and checking them, and the plainest ways to make them.

A link is a pair `(source, target)` of 0-based word positions. Files are in Pharaoh form, one sentence pair a line, its
links separated by blanks: `i-j` is a sure link, `ipj` a possible one (Och & Ney 2003, "A systematic comparison of
various statistical alignment models").

Shapes: T target words, S source words.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmt.errors import ConfigError, DataError

Link = tuple[int, int]

# Nine digits reach further than any sentence and keep a damaged file from making numbers of unlimited size.
_TOKEN = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")


@dataclass(frozen=True)
class Links:
    """The gold links of one sentence pair, 0-based `(source, target)`.

    Every sure link is a possible one as well; sure links that are missing from `possible` are added to it.
    """

    sure: frozenset[Link]
    possible: frozenset[Link]

    def __post_init__(self) -> None:
        object.__setattr__(self, "possible", self.possible | self.sure)


def parse_links(line: str, *, base: int = 0, where: str = "") -> Links:
    """Read one line of Pharaoh links.

    `base` is the number of the first word in the line, 0 or 1; `where` (`file:line`) opens the messages. A link that
    is repeated counts once, and one that is marked both sure and possible is sure.

    Raises DataError on a malformed token or one that lies before the first word, ConfigError on another base.
    """
    check_base(base)
    sure: set[Link] = set()
    possible: set[Link] = set()
    for token in line.split():
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise DataError(
                f"{_opening(where)}{token!r} is not a link; allowed are i-j (sure) and ipj (possible), source first, "
                f"such as 0-0 or 3p4; mend the line"
            )
        link = (int(match[1]) - base, int(match[3]) - base)
        if min(link) < 0:
            raise DataError(
                f"{_opening(where)}{token!r} lies before word {base}, where counting starts; allowed are i-j and ipj "
                f"from {base} on; if the file counts from 0, read it with base 0 (--gold-base 0)"
            )
        (sure if match[2] == "-" else possible).add(link)
    return Links(frozenset(sure), frozenset(possible))


def read_links(path: str | Path, *, base: int = 0) -> list[Links]:
    """Read a file of Pharaoh links, one sentence pair a line; an empty line is a pair without links.

    Raises DataError on a file that cannot be read or is malformed (naming `file:line`), ConfigError on a base other
    than 0 or 1.
    """
    check_base(base)
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file of links; give a Pharaoh file, one sentence pair a line") from error
    except OSError as error:
        raise DataError(f"{path}: links cannot be read ({error.strerror}); give a readable Pharaoh file") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text; a Pharaoh file holds links such as 0-0 3p4") from error
    # Only a newline ends a line, as in the texts that the links belong to.
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [parse_links(line, base=base, where=f"{path}:{number}") for number, line in enumerate(lines, start=1)]


def format_links(links: Iterable[Link]) -> str:
    """Write links as one Pharaoh line, `i-j` separated by blanks, each once, sorted by source, then target word."""
    return " ".join(f"{source}-{target}" for source, target in sorted(set(links)))


def argmax_links(weights_TS: np.ndarray[Any, Any]) -> frozenset[Link]:
    """Link every target word to its best source word: (argmax_s weights[t, s], t), the leftmost of equals.

    `weights_TS` is [T, S], a row for each target word. A row that is zero throughout, or that holds something that is
    no finite number, gives no link: there is nothing to choose by.
    """
    weights_TS = np.asarray(weights_TS)
    if weights_TS.shape[1] == 0:
        return frozenset()
    usable_T = np.isfinite(weights_TS).all(axis=1) & (weights_TS != 0).any(axis=1)
    best_T = weights_TS.argmax(axis=1)  # numpy's argmax is the first of equals
    return frozenset((int(best_T[target]), int(target)) for target in np.flatnonzero(usable_T))


def threshold_links(weights_TS: np.ndarray[Any, Any], threshold: float) -> frozenset[Link]:
    """Link every target word to all source words whose weight is at least `threshold`: none, one or many.

    `weights_TS` is [T, S], a row for each target word. Raises ConfigError where the threshold is no positive weight.
    """
    check_threshold(threshold)
    weights_TS = np.asarray(weights_TS)
    return frozenset((int(source), int(target)) for target, source in np.argwhere(weights_TS >= threshold))


def diagonal_links(source_length: int, target_length: int) -> frozenset[Link]:
    """Link every target word to the source word beside it on the diagonal, without looking at any text.

    Target word t covers the stretch from t / T to (t + 1) / T of its sentence; its link goes to the source word that
    covers the middle of that stretch: floor((t + 1/2) · S / T). With equal lengths this is t itself, and turning both
    sentences round turns the links round (but where the middle falls between two words; then it is the later one).
    It is the baseline that any learned alignment must beat. Without source words there are no links.
    """
    if source_length == 0:
        return frozenset()
    # In whole numbers, so that no rounding error moves a link.
    return frozenset(
        ((2 * target + 1) * source_length // (2 * target_length), target) for target in range(target_length)
    )


def check_range(links: Iterable[Link], source_length: int, target_length: int, where: str = "") -> None:
    """Raise DataError, naming the first link (in sorted order) that points beyond its sentence pair.

    `links` are 0-based; `where` (`file:line`) opens the message.
    """
    for source, target in sorted(links):
        if not (0 <= source < source_length and 0 <= target < target_length):
            raise DataError(
                f"{_opening(where)}link {source}-{target} (counted from 0) lies outside its sentence pair of "
                f"{source_length} source and {target_length} target words; check that links and texts belong "
                f"together, that the source stands first, and whether the file counts from 0 or 1"
            )


def check_base(base: int) -> None:
    """Raise ConfigError unless `base`, the number of a sentence's first word, is 0 or 1."""
    if base not in (0, 1):
        raise ConfigError(f"links counted from {base}: allowed are 0 and 1; give the number of the first word")


def check_threshold(threshold: float) -> None:
    """Raise ConfigError unless a threshold of weights is above 0 and at most 1."""
    if not 0 < threshold <= 1:
        raise ConfigError(f"--threshold {threshold}: allowed are weights above 0 and up to 1, such as 0.2")


def _opening(where: str) -> str:
    return f"{where}: " if where else ""
