"""All alignments of a text on one page, in which pointing at a word lights up the words that it is aligned to.

The page (`page.html`) is a single file that needs no network, no library and no server, and works by mouse, touch and
keyboard. Its words are there as text, without JavaScript as well; its weights are rounded to thousandths.
"""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from nmt.alignment.export import SentenceAlignment
from nmt.alignment.labels import printable
from nmt.alignment.links import Links, check_range, format_links
from nmt.characters import is_blank
from nmt.files import write_text


def write_page(
    path: Path,
    maps: Mapping[str, Sequence[SentenceAlignment]],
    *,
    title: str,
    gold: Sequence[Links] | None = None,
    languages: tuple[str, str] | None = None,
) -> None:
    """Write the page of a text's alignments: `maps` holds each sentence's by one name or, to choose from, by several.

    `gold` links are framed in the words that they lead to, sure ones solid, possible ones dashed. `languages`, of
    source and target, tell a browser which letters to draw: Chinese and Japanese share characters and not their shapes.

    Raises DataError on gold links outside their sentence, ValueError where maps of a sentence differ in their words, or
    the numbers of sentences differ, and WriteError where the file cannot be written.
    """
    sentences = [list(same) for same in zip(*maps.values(), strict=True)]
    golds: Sequence[Links | None] = [None] * len(sentences) if gold is None else gold
    pairs, data = [], []
    for number, (alignments, links) in enumerate(zip(sentences, golds, strict=True), start=1):
        pairs.append(_pair(number, alignments, languages or ("", "")))
        data.append(_data(number, alignments, links))
    parts = {
        "title": escape(printable(title)),
        "key": "" if gold is None else _GOLD_KEY,
        "choice": _choice(list(maps)) if len(maps) > 1 else "",
        "pairs": "\n".join(pairs),
        # Nothing in a script may look like its end.
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    }
    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    write_text(path, re.sub(r"<!--(\w+)-->", lambda found: parts[found[1]], template))


_GOLD_KEY = '; <span class="word sure">sure</span> and <span class="word possible">possible</span> gold link'


def _pair(number: int, alignments: list[SentenceAlignment], languages: tuple[str, str]) -> str:
    """One sentence pair: two lines of words, and a place to say what is lit."""
    first = alignments[0].matrix
    if any((one.matrix.source, one.matrix.target) != (first.source, first.target) for one in alignments):
        raise ValueError(f"sentence {number}: maps on one page are of the same words")
    lines = (
        _line(side, words, language)
        for side, words, language in zip(("source", "target"), (first.source, first.target), languages, strict=True)
    )
    return (
        f'<section class="pair" data-index="{number - 1}"><h2>{number}</h2>{"".join(lines)}<output></output></section>'
    )


def _line(side: str, words: Sequence[str], language: str) -> str:
    spoken = f' lang="{escape(language)}"' if language else ""
    if not words:
        return f'<div class="line {side} empty">(no words)</div>'
    # One word of a line can be reached by Tab, the others from there by the arrow keys.
    spans = (
        f'<span class="word" role="button" aria-pressed="false" tabindex="{-1 if place else 0}">{_shown(word)}</span>'
        for place, word in enumerate(words)
    )
    return f'<div class="line {side}" role="group" aria-label="{side}" dir="auto"{spoken}>{" ".join(spans)}</div>'


def _shown(word: str) -> str:
    return escape(printable(word)) if not is_blank(word) else "␣"


def _choice(names: Sequence[str]) -> str:
    options = "".join(f"<option>{escape(printable(name))}</option>" for name in names)
    return f'<p><label>Map: <select id="map">{options}</select></label></p>'


def _data(number: int, alignments: list[SentenceAlignment], gold: Links | None) -> dict[str, Any]:
    """What the page's script knows of a sentence: weights in thousandths, [T][S], and links as Pharaoh text."""
    matrix = alignments[0].matrix
    if gold is not None:
        check_range(gold.possible, len(matrix.source), len(matrix.target), f"gold, sentence {number}")
    return {
        "maps": [
            {
                "weights": np.rint(1000 * alignment.matrix.weights).astype(int).tolist(),
                "links": format_links(alignment.links),
            }
            for alignment in alignments
        ],
        "sure": "" if gold is None else format_links(gold.sure),
        "possible": "" if gold is None else format_links(gold.possible - gold.sure),
    }
