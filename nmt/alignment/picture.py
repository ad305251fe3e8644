"""What every picture needs: settings that are ours for a while, words as labels, fonts that have their letters, saving.

Imports matplotlib's objects alone: no pyplot, no figure kept, no setting left changed.
"""

import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import style
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.text import Text

from nmt.errors import DataError
from nmt.files import replacing

MAX_PIXELS = 12_000
"""The longer side of a PNG at most, for memory's sake."""
LINE = 0.6
"""Width of a thin line, in points."""
SMALL = 7.0
"""Size of small letters, in points."""

DOTS = 200
"""An inch of a PNG. Small letters are measured at this scale: hinting makes them narrower or wider at others."""

_FORMATS = (".png", ".svg", ".pdf")
_LONGEST_LABEL = 80  # characters
_BASE_FONT = "DejaVu Sans"  # comes with matplotlib: Latin, Greek, Cyrillic, Hebrew, Arabic, Armenian, Georgian
_EAST_ASIAN_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH", "HALFWIDTH")
_EAST_ASIAN_FONTS = (
    *(f"Noto Sans CJK {region}" for region in ("SC", "JP", "KR", "TC")),
    *("Source Han Sans SC", "WenQuanYi Zen Hei", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Malgun Gothic"),
)
_OTHER_FONTS = ("Noto Sans", "FreeSans", "Arial Unicode MS", "Nirmala UI", "Segoe UI")

_SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,  # words such as $x_1$ are words
    "axes.linewidth": LINE,
    "hatch.linewidth": LINE,
    "svg.hashsalt": "nmt",  # any fixed text makes the same picture the same file
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    **{f"legend.{space}": 0 for space in ("borderpad", "borderaxespad")},
    **{f"legend.{space}": 1 for space in ("handlelength", "handleheight", "columnspacing")},
    "legend.handletextpad": 0.5,
}


def labels_of(words: Iterable[str]) -> list[str]:
    """Words as they are written beside a map: without letters that cannot be, shortened in the middle, never none."""
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


def size_of(part: Artist, canvas: FigureCanvasAgg) -> tuple[float, float]:
    """Width and height in inches of what is drawn."""
    box, dots = part.get_window_extent(canvas.get_renderer()), canvas.figure.dpi  # type: ignore[no-untyped-call]
    return box.width / dots, box.height / dots


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
    dots = min(DOTS, MAX_PIXELS / max(figure.get_size_inches()))
    try:
        with replacing(path) as temporary:
            figure.savefig(temporary, format=suffix[1:], dpi=dots, metadata=metadata)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}); give a writable place with room") from error
