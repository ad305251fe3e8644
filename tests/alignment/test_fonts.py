"""Fonts for any script: taken where they are installed, and named in one line where they are not."""

import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontEntry

from nmt.alignment import fonts, picture
from nmt.alignment.fonts import choose_fonts
from nmt.alignment.matrix import AlignmentMatrix
from nmt.alignment.plot import plot_alignment

TEXTS = {
    "Chinese": "老师今天打开窗户。",
    "Japanese": "先生は今日窓を開けます。ラーメン",
    "Korean": "선생님이 오늘 창문을 엽니다",
    "Arabic": "يفتح المعلم النافذة اليوم،",
    "Devanagari": "शिक्षक आज खिड़की खोलता है।",
    "Thai": "ครูเปิดหน้าต่างวันนี้",
    "Inuktitut": "ᐃᓄᒃᑎᑐᑦ",  # whose letters are called Canadian syllabics, and its font Canadian Aboriginal
}


class Fonts:
    """A machine on which no font is known but matplotlib's own."""

    def __init__(self) -> None:
        self.ttflist = [entry for entry in fonts.fontManager.ttflist if entry.name == "DejaVu Sans"]

    def addfont(self, path: str) -> None:
        if not Path(path).exists():
            raise FileNotFoundError(path)
        self.ttflist.append(FontEntry(fname=path, name=Path(path).stem))


@pytest.fixture
def only_base(monkeypatch: pytest.MonkeyPatch) -> Fonts:
    known = Fonts()
    monkeypatch.setattr(fonts, "fontManager", known)
    monkeypatch.setattr(fonts, "findSystemFonts", list)
    return known


@pytest.mark.usefixtures("only_base")
def test_letters_without_a_font_give_one_note_a_script_and_no_warning(tmp_path: Path, monkeypatch) -> None:
    if "font.enable_last_resort" in matplotlib.rcParams:  # it would draw the letters' scripts, and nothing would warn
        monkeypatch.setitem(picture._SETTINGS, "font.enable_last_resort", False)
    source = ("我们", "在", "。", "ひらがな", "안녕", "Größe", "Привет", "א", "a\u200db")
    target = ("खाना", "वे", "।", "\U000130b8", "\U0001f9ff")
    matrix = AlignmentMatrix(source, target, np.full((len(target), len(source)), 0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        notes = plot_alignment(matrix, tmp_path / "a.png")
    assert sorted(notes) == [
        "no font for Chinese, Japanese or Korean letters found: install fonts-noto-cjk",
        "no font for Devanagari letters found: install fonts-noto-core",
        "no font for Egyptian letters found: install fonts-noto-core",
        "no font for the sign \U0001f9ff (U+1F9FF) found: install fonts-symbola",
    ]


def test_a_font_for_a_script_is_taken_where_it_is_installed(monkeypatch) -> None:
    monkeypatch.setattr(fonts, "_has", lambda family, letter: family == "Noto Sans Devanagari" or letter.isascii())
    entry = type("Entry", (), {"name": "Noto Sans Devanagari", "fname": ""})
    monkeypatch.setattr(fonts.fontManager, "ttflist", [*fonts.fontManager.ttflist, entry])
    assert choose_fonts(["a", "खाना"]) == (["DejaVu Sans", "Noto Sans Devanagari"], [])


def test_kana_and_hangul_tell_whose_chinese_characters_are_meant(monkeypatch) -> None:
    entries = [type("Entry", (), {"name": f"Noto Sans CJK {region}", "fname": ""}) for region in ("SC", "JP", "KR")]
    monkeypatch.setattr(fonts.fontManager, "ttflist", [*fonts.fontManager.ttflist, *entries])
    monkeypatch.setattr(fonts, "_has", lambda family, letter: family.startswith("Noto Sans CJK"))
    assert choose_fonts(["直"])[0][1:] == ["Noto Sans CJK SC"]
    assert choose_fonts(["直", "です"])[0][1:] == ["Noto Sans CJK JP"]
    assert choose_fonts(["直", "안녕"])[0][1:] == ["Noto Sans CJK KR"]


def test_a_font_that_was_installed_after_matplotlib_made_its_list_is_found(
    only_base: Fonts, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(fonts, "_has", lambda family, letter: family == "Noto Sans Khmer" or letter.isascii())
    assert choose_fonts(["a", "ខ"]) == (["DejaVu Sans"], ["no font for Khmer letters found: install fonts-noto-core"])
    path = tmp_path / "Noto Sans Khmer.ttf"
    path.touch()
    monkeypatch.setattr(fonts, "findSystemFonts", lambda: [str(tmp_path / "gone.ttf"), str(path)])
    assert choose_fonts(["a", "ខ"]) == (["DejaVu Sans", "Noto Sans Khmer"], [])
    assert choose_fonts(["a", "ខ"]) == (["DejaVu Sans", "Noto Sans Khmer"], [])
    assert [entry.name for entry in only_base.ttflist].count("Noto Sans Khmer") == 1


@pytest.mark.parametrize("name", TEXTS)
def test_every_letter_has_a_font_and_is_drawn(name: str) -> None:
    families, notes = choose_fonts([TEXTS[name]])
    if notes:
        (note,) = notes
        pytest.skip(note)
    with picture.own_settings(), warnings.catch_warnings():
        warnings.simplefilter("error")
        canvas = FigureCanvasAgg(Figure())
        canvas.figure.text(0.1, 0.5, TEXTS[name], family=families)
        canvas.draw()


def test_arabic_is_joined_and_runs_from_right_to_left() -> None:
    """Shaped, a word is not as wide as its letters one by one; and its first letter stands on the right."""
    pixels = {text: ink(text) for text in ("ببب", "با", "اب")}
    alone = ink("ب")
    assert pixels["ببب"].any(axis=0).sum() < 3 * alone.any(axis=0).sum()
    # Alef is a tall stroke: with it first, the tall part is on the right, with it last, on the left.
    for text, side in (("اب", 1), ("با", 0)):
        heights = pixels[text].sum(axis=0)
        columns = np.flatnonzero(heights)
        tallest = int(heights.argmax())
        assert (tallest > (columns[0] + columns[-1]) / 2) == bool(side), text


def ink(text: str) -> np.ndarray:
    with picture.own_settings():
        canvas = FigureCanvasAgg(Figure(figsize=(3, 1), dpi=100))
        canvas.figure.text(0.5, 0.4, text, family=choose_fonts([text])[0], size=30, ha="center")
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[:, :, 0] < 128
