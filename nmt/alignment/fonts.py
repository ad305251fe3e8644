"""Fonts for any script: which of those that are installed have the letters, and what to install where none has them.

matplotlib takes each letter from the first family of a list that has it; it joins and orders the letters of Arabic,
Devanagari and other such scripts itself.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from matplotlib.font_manager import FontProperties, findfont, findSystemFonts, fontManager, get_font

_BASE_FONT = "DejaVu Sans"  # comes with matplotlib: Latin, Greek, Cyrillic, Hebrew, Arabic, Armenian, Georgian
_EAST_ASIAN_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH", "HALFWIDTH")
_REGIONS = {"HIRAGANA": "JP", "KATAKANA": "JP", "HANGUL": "KR"}  # whose form of a Chinese character is wanted
EAST_ASIAN_FONTS = (
    *(f"Noto Sans CJK {region}" for region in ("SC", "JP", "KR", "TC")),
    *("Source Han Sans SC", "WenQuanYi Zen Hei", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Malgun Gothic"),
)
_OTHER_FONTS = ("Noto Sans", "FreeSans", "Arial Unicode MS", "Nirmala UI", "Segoe UI")


def choose_fonts(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Choose font families that have the letters of `texts` between them, and write a note for each script without one.

    A note is a line that says which package of Debian's has the font.
    """
    letters = sorted({letter for text in texts for letter in text if unicodedata.category(letter)[0] not in "CZ"})
    scripts = {_script(letter) for letter in letters}
    families = [_BASE_FONT]
    missing = _add_families(families, letters, scripts)
    if missing and _fonts_installed_since():
        missing = _add_families(families, missing, scripts)
    return families, _notes(missing)


def _add_families(families: list[str], letters: list[str], scripts: set[str]) -> list[str]:
    """Put those families that are needed at the end of the list, and return the letters that no family has."""
    missing, installed = [], {entry.name for entry in fontManager.ttflist}
    for letter in letters:
        if not any(_has(family, letter) for family in families):
            candidates = _candidates(_script(letter), scripts, installed)
            found = next((family for family in candidates if family in installed and _has(family, letter)), None)
            if found is None:
                missing.append(letter)
            else:
                families.append(found)
    return missing


def _candidates(script: str, scripts: set[str], installed: set[str]) -> Iterator[str]:
    if script in _EAST_ASIAN_SCRIPTS:
        # Chinese characters look different in Japan and Korea; kana and Hangul tell which are meant.
        yield from (f"Noto Sans CJK {region}" for name, region in _REGIONS.items() if name in scripts)
        yield from EAST_ASIAN_FONTS
    else:
        yield f"Noto Sans {script.title()}"
        yield from _OTHER_FONTS
        # Some scripts are called otherwise in a font's name than in the names of their letters.
        yield from sorted(family for family in installed if family.startswith(("Noto Sans ", "Noto Serif ")))


def _fonts_installed_since() -> bool:
    """Look for fonts that matplotlib, which keeps a list of them in the user's cache, has not met; True if there are.

    Without it, what a note says to install would not be found afterwards.
    """
    known = {entry.fname for entry in fontManager.ttflist}
    paths = [path for path in findSystemFonts() if path not in known]
    added = False
    for path in paths:
        try:
            fontManager.addfont(path)
        except (OSError, RuntimeError):  # no font that FreeType can read
            continue
        added = True
    return added


def _notes(missing: list[str]) -> list[str]:
    notes = []
    without = {_script(letter) for letter in missing if unicodedata.category(letter)[0] in "LMN"}
    for letter in missing:
        script = _script(letter)
        if script in _EAST_ASIAN_SCRIPTS:
            notes.append("no font for Chinese, Japanese or Korean letters found: install fonts-noto-cjk")
        elif script in without:
            notes.append(f"no font for {script.title()} letters found: install fonts-noto-core")
        else:
            notes.append(f"no font for the sign {letter} (U+{ord(letter):04X}) found: install fonts-symbola")
    return list(dict.fromkeys(notes))


def _script(letter: str) -> str:
    """The first word of a letter's name, which for most is its script's."""
    return unicodedata.name(letter, "UNKNOWN").replace("-", " ").split()[0]


def _has(family: str, letter: str) -> bool:
    return ord(letter) in _letters(family)


@cache
def _letters(family: str) -> frozenset[int]:
    path = findfont(FontProperties(family=[family]), fallback_to_default=False)
    return frozenset(get_font(path).get_charmap())
