"""The page of alignments: what it holds, and what it does in a browser.

The browser is Chromium, without a window; where it is not installed, those tests are skipped and say so.
"""

import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt.alignment.export import SentenceAlignment
from nmt.alignment.html import write_page
from nmt.alignment.links import Links, argmax_links
from nmt.alignment.matrix import AlignmentMatrix
from nmt.errors import DataError
from nmt.files import WriteError

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NASTY = [
    "<b>&amp;",
    "</script><script>alert(1)</script>",
    '"x"',
    "'",
    "<!--data-->",
    "$&",
    "\\1",
    "a\x00b",
    "\ud800",
    " ",
]


def aligned(source: list[str], target: list[str], weights: Any = None, seed: int = 0) -> SentenceAlignment:
    if weights is None:
        weights = np.random.default_rng(seed).dirichlet(np.full(max(1, len(source)), 0.3), len(target))
    matrix = AlignmentMatrix(tuple(source), tuple(target), np.array(weights)[:, : len(source)])
    return SentenceAlignment(matrix, argmax_links(matrix.weights), seed)


WEIGHTS = [[0.7, 0.2, 0.1], [0.0, 0.004, 0.996]]
SMALL = aligned(["the", "small", "house"], ["das", "Haus"], WEIGHTS)
SECOND = aligned(["it", "rains"], ["es", "regnet"], [[1, 0], [0.5, 0.5]])
ARABIC = aligned(["the", "house"], ["هذا", "البيت", "كبير"])
LONG = aligned(
    [f"word{number}" for number in range(60)], [f"Donaudampfschifffahrt{number}" for number in range(60)], seed=3
)
EMPTY = aligned(["a", "b"], [])


class Reader(HTMLParser):
    """The words of each line, the data, and every address and tag that the page names."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[list[str]] = []
        self.data, self.tags, self.addresses = "", [], []
        self.at = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset", "action")]
        classes = (known.get("class") or "").split()
        if "line" in classes:
            self.lines.append([])
        self.at = "word" if "word" in classes and self.lines else known.get("id") or ""
        if self.at == "word":
            self.lines[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.at = ""

    def handle_data(self, data: str) -> None:
        if self.at == "word":
            self.lines[-1][-1] += data
        if self.at == "data":
            self.data += data


def test_the_page_holds_words_weights_and_links(tmp_path: Path) -> None:
    gold = [Links(frozenset({(0, 0)}), frozenset({(2, 1)})), Links(frozenset(), frozenset())]
    write_page(tmp_path / "a.html", {"": [SMALL, EMPTY]}, title="A <text>", gold=gold)
    page = Reader((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert page.lines == [["the", "small", "house"], ["das", "Haus"], ["a", "b"], []]
    small, empty = json.loads(page.data)
    assert small["maps"] == [{"weights": [[700, 200, 100], [0, 4, 996]], "links": "0-0 2-1"}]
    assert (small["sure"], small["possible"]) == ("0-0", "2-1")
    assert empty == {"maps": [{"weights": [], "links": ""}], "sure": "", "possible": ""}


def test_words_that_look_like_mark_up_are_words(tmp_path: Path) -> None:
    names = {"<i>mean</i>": [aligned(NASTY, NASTY)], "</script>": [aligned(NASTY, NASTY)]}
    write_page(tmp_path / "a.html", names, title="</title><h1>&", languages=('"><b>', "de"))
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    page = Reader(text)
    shown = [*NASTY[:-3], "a\ufffdb", "\ufffd", "␣"]
    assert page.lines == [shown, shown]
    assert page.tags.count("script") == 2
    assert "b" not in page.tags
    assert page.tags.count("h1") == 1
    assert "\x00" not in text


def test_the_page_asks_nothing_of_the_network(tmp_path: Path) -> None:
    write_page(tmp_path / "a.html", {"": [SMALL]}, title="t")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert Reader(text).addresses == []
    assert not re.search(r"https?:|//[a-z]|@import|url\(", text)


def test_what_does_not_fit_together_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    gold = [Links(frozenset({link}), frozenset()) for link in ((0, 0), (9, 0))]
    with pytest.raises(DataError, match="gold, sentence 2: link 9-0 "):
        write_page(path, {"": [SMALL, SECOND]}, title="t", gold=gold)
    with pytest.raises(ValueError, match="sentence 1: maps on one page are of the same words"):
        write_page(path, {"a": [SMALL], "b": [SECOND]}, title="t")
    with pytest.raises(ValueError, match="argument 2 is longer"):
        write_page(path, {"a": [SMALL], "b": [SMALL, SECOND]}, title="t")
    assert not path.exists()
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="cannot be written"):
        write_page(tmp_path / "file" / "a.html", {"": [SMALL]}, title="t")


# In a browser.


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    program = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if program is None:
        pytest.skip("no Chromium found: install chromium")
    with sync_api.sync_playwright() as playwright:
        # The sandbox cannot be had in most containers; the page is our own.
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


class Shown:
    """A page in the browser, with what went wrong in it and what it asked for."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.page = browser.new_context(**options).new_page()
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def word(self, pair: int, side: str, place: int) -> Any:
        return self.page.locator(".pair").nth(pair).locator(f".{side} .word").nth(place)

    def weights(self, pair: int, side: str) -> list[float]:
        """How strongly the words of a line are lit: the opacity of their colour, as it is painted."""
        painted = (
            self.page.locator(".pair")
            .nth(pair)
            .locator(f".{side} .word")
            .evaluate_all("words => words.map(word => getComputedStyle(word).backgroundColor)")
        )
        return [0.0 if colour.count(",") == 3 and colour.endswith(" 0)") else opacity(colour) for colour in painted]

    def marked(self, mark: str) -> list[str]:
        return list(self.page.locator(f"main .{mark}").all_text_contents())

    def told(self, pair: int) -> str:
        return re.sub("[\u2068\u2069]", "", self.page.locator("output").nth(pair).text_content())


def opacity(colour: str) -> float:
    parts = re.findall(r"[\d.]+", colour)
    return float(parts[3]) if len(parts) == 4 else 1.0


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    gold = [Links(frozenset({(0, 0)}), frozenset({(0, 1)})), *[Links(frozenset(), frozenset())] * 2]
    write_page(folder / "small.html", {"": [SMALL, SECOND, ARABIC]}, title="Small", gold=gold)
    other = aligned(["the", "small", "house"], ["das", "Haus"], [[0, 0, 1], [1, 0, 0]])
    write_page(folder / "maps.html", {"head0": [SMALL], "head1": [other]}, title="Maps")
    write_page(folder / "long.html", {"": [SMALL, LONG]}, title="Long")
    write_page(folder / "nasty.html", {"": [aligned(NASTY, NASTY)]}, title="Nasty")
    write_page(folder / "many.html", {"": [LONG] * 100}, title="Many")
    return folder


def test_pointing_at_a_word_lights_up_what_it_is_aligned_to_by_weight(browser: Any, pages: Path) -> None:
    shown = Shown(browser, pages / "small.html")
    shown.word(0, "target", 0).hover()
    assert shown.weights(0, "source") == pytest.approx([0.7, 0.2, 0.1], abs=0.005)
    assert shown.told(0) == "das: the 0.70, small 0.20, house 0.10"
    assert (shown.marked("linked"), shown.marked("pointed")) == (["the"], ["das"])
    shown.word(0, "source", 2).hover()
    assert shown.weights(0, "target") == pytest.approx([0.1, 0.996], abs=0.005)
    assert shown.told(0) == "house: Haus 1.00, das 0.10"
    assert (shown.marked("linked"), shown.marked("pointed")) == (["Haus"], ["house"])
    shown.word(1, "source", 1).hover()
    assert shown.marked("lit") == ["regnet"]  # those of the first sentence are dark again
    shown.page.locator("h1").hover()
    assert shown.marked("lit") == shown.marked("pointed") == []
    assert shown.told(0) == shown.told(1) == ""
    assert shown.errors == []
    assert shown.asked == [(pages / "small.html").as_uri()]


def test_gold_links_of_the_word_are_framed_sure_and_possible_ones_apart(browser: Any, pages: Path) -> None:
    shown = Shown(browser, pages / "small.html")
    shown.word(0, "source", 0).hover()
    assert (shown.marked("sure"), shown.marked("possible")) == (["das"], ["Haus"])
    style = "word => getComputedStyle(word).outlineStyle"
    assert [shown.word(0, "target", place).evaluate(style) for place in (0, 1)] == ["solid", "dashed"]
    assert "gold link" in shown.page.locator(".key").text_content()
    assert "gold link" not in Shown(browser, pages / "long.html").page.locator(".key").text_content()


def test_the_keyboard_reaches_every_word(browser: Any, pages: Path) -> None:
    shown = Shown(browser, pages / "small.html")

    def at(*keys: str) -> str:
        for key in keys:
            shown.page.keyboard.press(key)
        focused = shown.page.evaluate("document.activeElement.textContent")
        assert shown.marked("pointed") == [focused]
        return str(focused)

    assert at("Tab") == "the"
    assert at("ArrowRight", "ArrowRight") == "house"
    assert at("ArrowRight") == "house"  # the last
    assert at("ArrowDown") == "Haus"  # the nearest place in a shorter line
    assert at("Home") == "das"
    assert at("ArrowDown", "End") == "rains"
    assert at("Shift+Tab") == "das"  # a line is left by Tab and entered where it was left
    assert at("Tab", "Tab", "Tab", "Tab") == "هذا"
    assert at("ArrowLeft") == "البيت"  # which runs from right to left
    assert at("ArrowRight") == "هذا"
    assert shown.errors == []


def test_enter_or_a_click_holds_a_word_until_escape_or_another_click(browser: Any, pages: Path) -> None:
    shown = Shown(browser, pages / "small.html")
    for key in ("Enter", " "):
        shown.word(0, "target", 0).focus()
        shown.page.keyboard.press(key)
        shown.page.keyboard.press("ArrowRight")
        shown.word(1, "source", 0).hover()
        assert shown.marked("pointed") == ["das"]
        assert shown.page.locator("main [aria-pressed=true]").all_text_contents() == ["das"]
        shown.page.keyboard.press("Escape")
        assert shown.marked("pointed") == ["Haus"]  # where the focus is
    shown.word(0, "source", 1).click()
    shown.word(0, "source", 0).hover()
    assert shown.marked("pointed") == ["small"]
    shown.word(0, "source", 0).click()
    assert shown.marked("pointed") == ["the"]
    for end in (lambda: shown.word(0, "source", 0).click(), lambda: shown.page.locator("h1").click()):
        end()
        shown.page.locator("h1").hover()
        assert shown.marked("pointed") == []
        assert shown.page.locator("main [aria-pressed=true]").count() == 0
        shown.word(0, "source", 0).click()


def test_a_tap_holds_a_word_and_another_lets_it_go(browser: Any, pages: Path) -> None:
    shown = Shown(browser, pages / "small.html", has_touch=True, viewport={"width": 390, "height": 800})
    shown.word(0, "target", 1).tap()
    assert (shown.marked("pointed"), shown.marked("linked")) == (["Haus"], ["house"])
    shown.word(0, "target", 0).tap()
    assert shown.marked("pointed") == ["das"]
    shown.word(0, "target", 0).tap()
    assert shown.marked("pointed") == []


def test_another_map_is_chosen_by_its_name_and_shown_for_the_held_word(browser: Any, pages: Path) -> None:
    shown = Shown(browser, pages / "maps.html")
    shown.word(0, "target", 0).click()
    assert shown.marked("linked") == ["the"]
    shown.page.locator("select").select_option("head1")
    assert shown.marked("linked") == ["house"]
    assert shown.weights(0, "source") == pytest.approx([0, 0, 1])
    assert Shown(browser, pages / "small.html").page.locator("select").count() == 0


@pytest.mark.parametrize("width", [320, 900])
@pytest.mark.parametrize("name", ["small", "long", "nasty"])
def test_words_can_be_read_and_do_not_run_out_of_the_page(browser: Any, pages: Path, name: str, width: int) -> None:
    shown = Shown(browser, pages / f"{name}.html", viewport={"width": width, "height": 800})
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    words = shown.page.locator("main .word")
    assert all(size == "16px" for size in words.evaluate_all("all => all.map(one => getComputedStyle(one).fontSize)"))
    boxes = words.evaluate_all(
        "all => all.map(one => [...one.getClientRects()].map(r => [r.x, r.y, r.right, r.bottom]))"
    )
    flat = [(number, *box) for number, of_word in enumerate(boxes) for box in of_word]
    assert all(0 <= left < right <= width for _, left, _, right, _ in flat)
    for one, other in pairwise(flat):
        apart = (
            one[3] <= other[1] + 0.5 or other[3] <= one[1] + 0.5 or one[4] <= other[2] + 0.5 or other[4] <= one[2] + 0.5
        )
        assert apart, (one, other)
    assert shown.errors == []


def luminance(colour: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_stand_out_in_both_schemes_however_strongly_they_are_lit(
    browser: Any, tmp_path: Path, scheme: str
) -> None:
    """WCAG 2 asks for a contrast of 4.5 to 1 between letters and what is behind them."""
    steps = np.linspace(0, 1, 21)
    write_page(tmp_path / "a.html", {"": [aligned(["x"], [str(step) for step in steps], steps[:, None])]}, title="t")
    shown = Shown(browser, tmp_path / "a.html", color_scheme=scheme)
    shown.word(0, "source", 0).hover()

    def numbers(colour: str) -> list[float]:
        return [float(part) for part in re.findall(r"[\d.]+", colour)]

    script = "all => all.map(one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor])"
    (_, paper), *_ = shown.page.locator("body").evaluate_all(script)
    back = np.array(numbers(paper)[:3])
    assert (luminance(list(back)) < 0.1) == (scheme == "dark")
    for ink, lit in shown.page.locator("main .word, output, p").evaluate_all(script):
        behind = opacity(lit) * np.array(numbers(lit)[:3]) + (1 - opacity(lit)) * back
        light, dark = sorted((luminance(numbers(ink)[:3]), luminance(list(behind))), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, lit)


def test_a_hundred_long_sentences_work_to_the_last(browser: Any, pages: Path) -> None:
    shown = Shown(browser, pages / "many.html")
    assert shown.page.locator("main .word").count() == 12_000
    shown.word(99, "target", 59).hover()
    assert shown.marked("pointed") == ["Donaudampfschifffahrt59"]
    weights = LONG.matrix.weights[59]
    assert shown.weights(99, "source") == pytest.approx(weights, abs=0.005)
    assert shown.errors == []


def test_mark_up_in_words_does_nothing(browser: Any, pages: Path) -> None:
    shown = Shown(browser, pages / "nasty.html")
    assert shown.word(0, "source", 1).text_content() == NASTY[1]
    shown.word(0, "source", 1).hover()
    assert shown.marked("pointed") == [NASTY[1]]
    assert shown.errors == []


def test_without_javascript_the_words_can_be_read(browser: Any, pages: Path) -> None:
    shown = Shown(browser, pages / "small.html", java_script_enabled=False)
    assert shown.page.locator(".line").first.inner_text().split() == ["the", "small", "house"]
