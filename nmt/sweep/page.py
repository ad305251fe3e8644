"""A sweep as one HTML page that needs nothing else: no network, no script, no font; every text in it is escaped."""

import base64
import unicodedata
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from nmt.alignment.matrix import AlignmentMatrix
from nmt.sweep import plot
from nmt.sweep.charts import charts_of
from nmt.sweep.sentences import same_sentences
from nmt.sweep.summary import Summary
from nmt.sweep.table import make_table

_CELL, _LETTER = 15, 6.6  # pixels: of a map's cell, and of a letter beside it
_LONGEST_LABEL = 24  # letters


@dataclass(frozen=True)
class Chart:
    """A picture as an address that holds it, with what it shows in words."""

    title: str
    address: str


@dataclass(frozen=True)
class Map:
    """An alignment map, ready to be placed: pixels, labels, and sizes in pixels of the screen."""

    address: str
    columns: list[str]
    rows: list[str]
    left: float
    top: float
    cell: int = _CELL


def make_page(summary: Summary) -> str:
    """The page of a sweep of which at least one run has finished; of another it says that there is nothing yet."""
    settings = summary.finished
    environment = Environment(
        loader=PackageLoader("nmt.sweep", ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    differing = summary.differing_keys()
    return environment.get_template("page.html").render(
        summary=summary,
        settings=settings,
        table=make_table(summary) if settings else None,
        swatches=[_address(plot.swatch(number), "svg+xml") for number in range(len(settings))],
        charts=[Chart(title, _address(plot.chart(draw), "svg+xml")) for title, draw in charts_of(summary).items()],
        sentences=same_sentences(settings),
        make_map=make_map,
        differing=differing,
    )


def _address(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def make_map(matrix: AlignmentMatrix) -> Map:
    """An alignment map with its words; a word that is very long is cut in the middle."""
    columns, rows = ([_shortened(word) for word in side] for side in (matrix.source, matrix.target))
    left, top = (6 + _LETTER * max(map(_width, side), default=0) for side in (rows, columns))
    address = _address(plot.map_pixels(matrix), "png") if rows and columns else ""
    return Map(address, columns, rows, left, top)


def _shortened(word: str) -> str:
    half = _LONGEST_LABEL // 2
    return word if len(word) <= _LONGEST_LABEL else f"{word[:half]}…{word[1 - half :]}"


def _width(word: str) -> int:
    """In letters; East Asian ones are twice as wide."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in word)
