"""Pictures of alignments, in the manner of Bahdanau et al. 2015, figure 3: a grey map, source words above it.

Imports matplotlib's objects alone: no pyplot, no figure kept, no setting left changed. What other pictures need as well
is public: settings, fonts, saving. Lengths are in inches, the unit of matplotlib's figures; S source, T target words.
"""

import textwrap
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation, Text

from nmt.alignment.links import Links, check_range
from nmt.alignment.matrix import AlignmentMatrix
from nmt.errors import DataError
from nmt.files import replacing

_FORMATS = (".png", ".svg", ".pdf")
_BASE_FONT = "DejaVu Sans"  # comes with matplotlib: Latin, Greek, Cyrillic, Hebrew, Arabic, Armenian, Georgian
_EAST_ASIAN_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH", "HALFWIDTH")
_EAST_ASIAN_FONTS = (
    *(f"Noto Sans CJK {region}" for region in ("SC", "JP", "KR", "TC")),
    *("Source Han Sans SC", "WenQuanYi Zen Hei", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Malgun Gothic"),
)
_OTHER_FONTS = ("Noto Sans", "FreeSans", "Arial Unicode MS", "Nirmala UI", "Segoe UI")

_FONT_SIZE, _SMALL, _TITLE_SIZE = 9.0, 7.0, 10.0  # points
_CELL = (0.17, 0.30)  # the smallest still holds a line of 9 points; the largest keeps short sentences from sprawling
_MAP = 4.0  # the map's longer side, where cells of that size allow it
_EDGE = 0.08  # free space around the picture
_GAP = 0.06  # between the map and what is beside it
_BAR = 0.09  # width of the bar of greys
_DOTS, _MAX_PIXELS = 200, 12_000  # of a PNG: dots an inch, and a limit on the side, for memory's sake
_NARROWEST = 2.0  # with a title
_LONGEST_LABEL = 80  # characters
_GOLD = "#ff6a13"  # an orange that stands out from black, white and every grey between
_LINE = 0.6  # width of a line, in points
_SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,  # words such as $x_1$ are words
    "axes.linewidth": _LINE,
    "hatch.linewidth": _LINE,
    "svg.hashsalt": "nmt",  # any fixed text makes the same picture the same file
    "legend.fontsize": _SMALL,
    "legend.frameon": False,
    **{f"legend.{space}": 0 for space in ("borderpad", "borderaxespad")},
    **{f"legend.{space}": 1 for space in ("handlelength", "handleheight", "columnspacing")},
    "legend.handletextpad": 0.5,
}


def plot_alignment(
    matrix: AlignmentMatrix, path: Path, *, title: str | None = None, gold: Links | None = None
) -> list[str]:
    """Write a picture of `matrix` to `path`, as PNG, SVG or PDF by its suffix, and return notes for the user.

    Rows are target words from top to bottom, columns source words from left to right; black is a weight of 0, white of
    1, whatever the sentence, so that pictures compare. `gold` links are outlined, sure ones solid, possible ones
    dashed. The picture grows with the number of words. Labels longer than 80 characters are shortened in the middle. A
    side without words is drawn as such, so that one empty translation does not stop a whole set of pictures.

    Each note is a line on letters that no installed font has, and on which font to install; usually there is none.

    The folder of `path` is made if missing. Raises DataError on another suffix, on gold links outside the matrix, and
    where the file cannot be written.
    """
    check_suffix(path)
    with own_settings():
        figure, notes = draw_alignment(matrix, title=title, gold=gold)
        save_figure(figure, path)
    return notes


def draw_alignment(
    matrix: AlignmentMatrix, *, title: str | None = None, gold: Links | None = None
) -> tuple[Figure, list[str]]:
    """Draw the picture that `plot_alignment` writes, and return it with the same notes.

    Raises DataError on gold links outside the matrix.
    """
    if gold is not None:
        check_range(gold.possible, len(matrix.source), len(matrix.target), "gold")
    source, target, title = _labels(matrix.source), _labels(matrix.target), printable(" ".join((title or "").split()))
    families, notes = choose_fonts([*source, *target, title])
    with own_settings():
        figure = Figure(dpi=100, facecolor="white")
        canvas = FigureCanvasAgg(figure)
        axes = figure.add_axes((0.1, 0.1, 0.8, 0.8), label="map")
        _draw_map(axes, matrix, len(source), len(target))
        labels = _write_labels(axes, source, target, families)
        heading = figure.text(0.5, 1.0, title, ha="center", va="top", size=_TITLE_SIZE, family=families)
        legend = None if gold is None else _outline(figure, axes, gold)
        _lay_out(canvas, axes, labels, _draw_bar(figure), heading, legend)
    return figure, notes


def _draw_map(axes: Axes, matrix: AlignmentMatrix, columns: int, rows: int) -> None:
    """The cells, one unit wide and high, the middle of the first at (0, 0), the first row on top."""
    if matrix.weights.size:
        # Many viewers of PDF and SVG blur the pixels of an image into each other, and show seams between drawn squares.
        # An image with many pixels a cell has neither fault.
        pixels = np.kron(matrix.weights, np.ones((max(1, min(16, _MAX_PIXELS // (4 * max(columns, rows)))),) * 2))
        extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
        axes.imshow(pixels, cmap="gray", vmin=0.0, vmax=1.0, interpolation="none", aspect="auto", extent=extent)
    else:
        axes.patch.set(facecolor="0.92", hatch="///", edgecolor="0.8")
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), xticks=[], yticks=[])


def _write_labels(
    axes: Axes, source: list[str], target: list[str], families: list[str]
) -> tuple[list[Annotation], list[Annotation]]:
    """Write the words above and beside the map, each on a base line half a capital's height from its cell's middle.

    Texts that are centred by their own height would stand out of line wherever a word has an Ü or a g.
    """
    half, gap = 0.365 * _FONT_SIZE, _GAP * 72  # points, 72 an inch
    common: dict[str, Any] = {
        "textcoords": "offset points",
        "annotation_clip": False,
        "va": "baseline",
        "family": families,
        "size": _FONT_SIZE,
    }
    upright: dict[str, Any] = {"rotation": 90, "rotation_mode": "anchor", "ha": "left"}
    above = [
        axes.annotate(word, (column, -0.5), (half, gap), **upright, **common) for column, word in enumerate(source)
    ]
    beside = [axes.annotate(word, (-0.5, row), (-gap, -half), ha="right", **common) for row, word in enumerate(target)]
    return above, beside


def _draw_bar(figure: Figure) -> Axes:
    """The thin bar that says which grey is which weight."""
    bar = figure.add_axes((0.9, 0.1, 0.05, 0.8), label="scale")
    greys = np.linspace(0, 1, 256)[:, None]
    bar.imshow(greys, cmap="gray", origin="lower", interpolation="none", aspect="auto", extent=(0, 1, 0, 1))
    bar.set_xticks([])
    bar.yaxis.tick_right()
    bar.set_yticks([0, 0.5, 1], labels=["0", "0.5", "1"], fontsize=_SMALL)
    bar.tick_params(length=2, width=_LINE, pad=2)
    return bar


def _outline(figure: Figure, axes: Axes, gold: Links) -> Legend | None:
    """Outline the cells of gold links, and say in a line under the map what the outlines mean."""
    solid: dict[str, Any] = {"fill": False, "edgecolor": _GOLD, "linewidth": 1.3, "joinstyle": "miter"}
    dashed: dict[str, Any] = {**solid, "linestyle": (0, (1.8, 1.2))}
    inset = 0.12  # of a cell, so that neighbours' outlines stay apart
    handles = []
    for links, look, name in ((gold.sure, solid, "sure link"), (gold.possible - gold.sure, dashed, "possible link")):
        for source, target in links:
            corner = (source - 0.5 + inset, target - 0.5 + inset)
            axes.add_patch(Rectangle(corner, 1 - 2 * inset, 1 - 2 * inset, **look))
        if links:
            handles.append(Rectangle((0, 0), 1, 1, label=name, **look))
    return figure.legend(handles=handles, loc="lower center", ncols=2) if handles else None


def _lay_out(
    canvas: FigureCanvasAgg,
    axes: Axes,
    labels: tuple[list[Annotation], list[Annotation]],
    bar: Axes,
    title: Text,
    legend: Legend | None,
) -> None:
    """Measure what is written, then size the figure and place its parts so that there is room for all of it."""
    figure = canvas.figure
    renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]

    def size(part: Artist) -> tuple[float, float]:
        box = part.get_window_extent(renderer)
        return box.width / figure.dpi, box.height / figure.dpi

    above, beside = ([size(label) for label in side] for side in labels)
    # Some scripts stand higher than a line of Latin; their cells grow, so that no label touches the next.
    thickest = max(*(width for width, _ in above), *(height for _, height in beside))
    cell = max(1.2 * thickest, min(_CELL[1], max(_CELL[0], _MAP / max(len(above), len(beside)))))
    map_width, map_height = len(above) * cell, len(beside) * cell
    bar_height = min(max(map_height, 0.6), 1.6)
    left = _EDGE + max(width for width, _ in beside) + _GAP
    right = 2 * _GAP + _BAR + max(size(label)[0] for label in bar.get_yticklabels()) + _GAP + _EDGE
    legend_width, legend_height = (0.0, 0.0) if legend is None else size(legend)
    width = max(left + map_width + right, legend_width + 2 * _EDGE, _NARROWEST if title.get_text() else 0.0)
    _wrap(title, size(title)[0], width - 2 * _EDGE)
    title_width, title_height = size(title)
    spare = max(0.0, title_width + 2 * _EDGE - width)
    left, width = left + (width + spare - left - map_width - right) / 2, width + spare
    top = _EDGE + (title_height + 2 * _GAP if title_height else 0.0) + max(height for _, height in above) + _GAP
    bottom = _EDGE + (legend_height + 2 * _GAP if legend is not None else 0.0)
    height = top + max(map_height, bar_height) + bottom
    figure.set_size_inches(width, height)
    start = height - top
    axes.set_position((left / width, (start - map_height) / height, map_width / width, map_height / height))
    bar_left = left + map_width + 2 * _GAP
    bar.set_position((bar_left / width, (start - bar_height) / height, _BAR / width, bar_height / height))
    title.set_y(1 - _EDGE / height)
    if legend is not None:
        legend.set_bbox_to_anchor((0.5, _EDGE / height))


def _wrap(title: Text, width: float, allowed: float) -> None:
    """Break a title that is wider than allowed into lines; a single word that is wider stays whole."""
    if width > allowed:
        letters = int(len(title.get_text()) * allowed / width)
        title.set_text("\n".join(textwrap.wrap(title.get_text(), letters, break_long_words=False)))


def _labels(words: Iterable[str]) -> list[str]:
    labels = []
    for word in words:
        label = printable(word) if word.strip() else "␣"
        if len(label) > _LONGEST_LABEL:
            half = _LONGEST_LABEL // 2
            label = f"{label[:half]}…{label[1 - half :]}"
        labels.append(label)
    return labels or ["(no words)"]


def check_suffix(path: Path) -> None:
    """Raise DataError unless the suffix is one that pictures have."""
    if path.suffix.lower() not in _FORMATS:
        raise DataError(f"{path}: pictures end in {', '.join(_FORMATS)}; give one of these")


def printable(text: str) -> str:
    """Put a replacement sign for control characters and half surrogates, which neither fonts nor SVG files can hold."""
    return "".join("\ufffd" if unicodedata.category(letter) in ("Cc", "Cs") else letter for letter in text)


def choose_fonts(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Choose font families that have the letters of `texts` between them, and write a note for each script without one.

    matplotlib takes each letter from the first family that has it.
    """
    families, notes, installed = [_BASE_FONT], [], {entry.name for entry in fontManager.ttflist}
    for letter in sorted({letter for text in texts for letter in text}):
        # Joiners and other marks without a picture of their own need no font.
        if unicodedata.category(letter)[0] in "CZ" or any(_has(family, letter) for family in families):
            continue
        script = unicodedata.name(letter, "UNKNOWN").replace("-", " ").split()[0]
        east_asian = script in _EAST_ASIAN_SCRIPTS
        candidates = _EAST_ASIAN_FONTS if east_asian else (f"Noto Sans {script.title()}", *_OTHER_FONTS)
        found = next((family for family in candidates if family in installed and _has(family, letter)), None)
        if found is not None:
            families.append(found)
        elif east_asian:
            notes.append("no font for Chinese, Japanese or Korean letters found: install fonts-noto-cjk")
        elif unicodedata.category(letter)[0] in "LMN":
            notes.append(f"no font for {script.title()} letters found: install fonts-noto-core")
        else:
            notes.append(f"no font for the sign {letter} (U+{ord(letter):04X}) found: install fonts-symbola")
    return families, list(dict.fromkeys(notes))


def _has(family: str, letter: str) -> bool:
    path = findfont(FontProperties(family=[family]), fallback_to_default=False)
    return bool(get_font(path).get_char_index(ord(letter)))


@contextmanager
def own_settings() -> Iterator[None]:
    """For a while: ours on matplotlib's defaults, whatever the user's (TeX, say); no warnings of missing letters."""
    with style.context(["default", _SETTINGS]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the suffix, whole. Raises DataError where it cannot be written."""
    suffix = path.suffix.lower()
    # Without the date the same picture is the same file.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
    # Publishers want TrueType (42) in a PDF, but the usual East Asian fonts come out empty unless written as Type 3.
    east_asian = set(_EAST_ASIAN_FONTS) & {family for text in figure.findobj(Text) for family in text.get_fontfamily()}
    matplotlib.rcParams["pdf.fonttype"] = 3 if east_asian else 42
    dots = min(_DOTS, _MAX_PIXELS / max(figure.get_size_inches()))
    try:
        with replacing(path) as temporary:
            figure.savefig(temporary, format=suffix[1:], dpi=dots, metadata=metadata)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}); give a writable place with room") from error
