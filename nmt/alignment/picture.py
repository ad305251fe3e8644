"""What every picture needs: settings that are ours for a while, sizes of what is drawn, saving.

Imports matplotlib's objects alone: no pyplot, no figure kept, no setting left changed.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import style
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from nmt.alignment.fonts import EAST_ASIAN_FONTS
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


def check_suffix(path: Path) -> None:
    """Raise DataError unless the suffix is one that pictures have."""
    if path.suffix.lower() not in _FORMATS:
        raise DataError(f"{path}: pictures end in {', '.join(_FORMATS)}; give one of these")


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
    east_asian = set(EAST_ASIAN_FONTS) & {family for text in figure.findobj(Text) for family in text.get_fontfamily()}
    matplotlib.rcParams["pdf.fonttype"] = 3 if east_asian else 42
    dots = min(DOTS, MAX_PIXELS / max(figure.get_size_inches()))
    try:
        with replacing(path) as temporary:
            figure.savefig(temporary, format=suffix[1:], dpi=dots, metadata=metadata)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}); give a writable place with room") from error
