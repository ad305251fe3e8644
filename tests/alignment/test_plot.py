"""Pictures of alignments: what is written on them, that all of it can be read, and that they show the weights."""

import itertools
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from nmt.alignment import picture, plot
from nmt.alignment.labels import labels_of
from nmt.alignment.links import Links
from nmt.alignment.matrix import AlignmentMatrix
from nmt.alignment.plot import draw_alignment, plot_alignment
from nmt.errors import DataError

ENGLISH = [
    "The",
    "agreement",
    "on",
    "the",
    "European",
    "Economic",
    "Area",
    "was",
    "signed",
    "in",
    "August",
    "of",
    "the",
    "year",
    "1992",
    ",",
    "gyp",
    "jq",
    ".",
]
GERMAN = [
    "Die",
    "Übereinkunft",
    "Ähre",
    "über",
    "den",
    "Europäischen",
    "Wirtschaftsraum",
    "wurde",
    "Ägypten",
    "jgqy",
    "Öl",
    ".",
]
LONG = ["Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz", "x" * 40, "kurz"]
LONG_TITLE = "Sentence 17 of the test set, additive attention, and a title that goes on and on"
MATHS = ["$x_1$", "a_b^c", r"\frac", r"$\nothing", "{", "100%", "$$", "$5", "&amp;"]


def matrix_of(source: list[str], target: list[str], seed: int = 0) -> AlignmentMatrix:
    weights = np.random.default_rng(seed).dirichlet(np.full(max(len(source), 1), 0.2), size=len(target))
    return AlignmentMatrix(tuple(source), tuple(target), weights[:, : len(source)])


def many(words: list[str], count: int) -> list[str]:
    return list(itertools.islice(itertools.cycle(words), count))


def texts_of(figure: Figure) -> list[Text]:
    return [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


def boxes_of(figure: Figure, dots: float) -> list[tuple[str, float, float, float, float]]:
    figure.set_dpi(dots)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    return [(text.get_text(), *text.get_window_extent(renderer).extents) for text in texts_of(figure)]


SHAPES = {
    "one word": (["a"], ["b"]),
    "2 letters": (["a", "b"], ["c", "d"]),
    "5 words": (ENGLISH[:5], GERMAN[:5]),
    "20 words": (many(ENGLISH, 20), many(GERMAN, 20)),
    "60 words": (many(ENGLISH, 60), many(GERMAN, 60)),
    "60 by 1": (many(ENGLISH, 60), GERMAN[:1]),
    "2 by 60": (ENGLISH[:2], many(GERMAN, 60)),
    "long words": (LONG, LONG),
    "mathematics": (MATHS, MATHS),
    "no target": (ENGLISH[:3], []),
    "nothing": ([], []),
}


@pytest.mark.parametrize("dots", [100, 200])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("extras", ["", "gold", "title", "gold and title"])
def test_no_text_overlaps_another_or_the_map_or_leaves_the_picture(shape: str, extras: str, dots: int) -> None:
    source, target = SHAPES[shape]
    fits = min(len(source), len(target)) > 1
    gold = Links(frozenset({(0, 0)}), frozenset({(1, 1)})) if "gold" in extras and fits else None
    title = LONG_TITLE if "title" in extras else None
    figure, _ = draw_alignment(matrix_of(source, target), title=title, gold=gold)
    boxes = boxes_of(figure, dots)
    width, height = figure.get_size_inches() * dots
    for text, left, bottom, right, top in boxes:
        assert 0 <= left < right <= width, text
        assert 0 <= bottom < top <= height, text
    others = [(axes.get_label(), *axes.get_window_extent().extents) for axes in figure.axes]
    assert len(others) == 2  # the map and the scale
    for one, other in itertools.combinations([*boxes, *others], 2):
        apart = one[3] <= other[1] or other[3] <= one[1] or one[4] <= other[2] or other[4] <= one[2]
        assert apart, (one, other)


@pytest.mark.parametrize("shape", ["5 words", "60 words", "60 by 1", "2 by 60", "long words"])
def test_cells_are_square_and_labels_stand_in_line_with_them(shape: str) -> None:
    source, target = SHAPES[shape]
    figure, _ = draw_alignment(matrix_of(source, target))
    boxes = boxes_of(figure, 200)
    area = figure.axes[0].get_window_extent()
    cell = area.width / len(source)
    assert area.height / len(target) == pytest.approx(cell)
    above = [box for box in boxes if box[2] >= area.y1]
    beside = [box for box in boxes if box[3] <= area.x0]
    assert [box[0] for box in above] == source
    assert [box[0] for box in beside] == target
    for place, box in enumerate(above):
        assert area.x0 + place * cell < (box[1] + box[3]) / 2 < area.x0 + (place + 1) * cell
    for place, box in enumerate(beside):
        assert area.y1 - (place + 1) * cell < (box[2] + box[4]) / 2 < area.y1 - place * cell


def test_a_picture_of_60_words_is_still_of_a_size_for_print_and_its_letters_are_not_smaller() -> None:
    small, _ = draw_alignment(matrix_of(*SHAPES["5 words"]))
    large, _ = draw_alignment(matrix_of(*SHAPES["60 words"]))
    assert max(small.get_size_inches()) < 3.5
    assert 6 < max(large.get_size_inches()) < 14
    sizes = [
        {text.get_fontsize() for text in texts_of(figure) if text.get_text() in ENGLISH} for figure in (small, large)
    ]
    assert sizes == [{9.0}, {9.0}]


def test_a_long_title_is_broken_into_lines_and_does_not_stretch_the_picture() -> None:
    plain, _ = draw_alignment(matrix_of(*SHAPES["5 words"]))
    titled, _ = draw_alignment(matrix_of(*SHAPES["5 words"]), title=LONG_TITLE)
    assert titled.get_size_inches()[0] < 1.1 * plain.get_size_inches()[0]
    assert " ".join(titled.texts[0].get_text().split("\n")) == LONG_TITLE


def test_the_map_is_black_at_0_and_white_at_1_with_the_first_target_word_on_top(tmp_path: Path) -> None:
    weights = np.array([[0.1, 0.6], [0.5, 0.25], [0.4, 0.1]])  # neither 0 nor 1: the scale must not follow the weights
    matrix = AlignmentMatrix(("a", "b"), ("c", "d", "e"), weights)
    plot_alignment(matrix, tmp_path / "map.png")
    picture = imread(tmp_path / "map.png")
    figure, _ = draw_alignment(matrix)
    left, bottom, width, height = figure.axes[0].get_position().bounds
    for row, column in itertools.product(range(3), range(2)):
        across = left + width * (column + 0.5) / 2
        down = 1 - bottom - height * (1 - (row + 0.5) / 3)
        pixel = picture[int(down * picture.shape[0]), int(across * picture.shape[1])]
        np.testing.assert_allclose(pixel[:3], weights[row, column], atol=0.01)


def test_gold_links_are_outlined_in_their_cells_sure_solid_and_possible_dashed() -> None:
    gold = Links(frozenset({(0, 1)}), frozenset({(2, 0)}))
    figure, _ = draw_alignment(matrix_of(ENGLISH[:3], GERMAN[:2]), gold=gold)
    outlines = {}
    for patch in figure.axes[0].patches:
        assert isinstance(patch, Rectangle)
        assert not patch.get_fill()
        assert patch.get_edgecolor()[:3] == to_rgb(plot._GOLD)
        x, y = patch.get_x() + patch.get_width() / 2, patch.get_y() + patch.get_height() / 2
        outlines[x, y] = patch.get_linestyle()
        assert 0.5 < patch.get_width() < 1
    assert set(outlines) == {(0, 1), (2, 0)}
    assert outlines[0, 1] in ("-", "solid")
    assert outlines[2, 0] not in ("-", "solid")
    assert {"sure link", "possible link"} <= {text.get_text() for text in texts_of(figure)}


def test_the_legend_names_only_what_is_there() -> None:
    matrix = matrix_of(["a"], ["b"])
    for gold, expected in (
        (None, set()),
        (Links(frozenset(), frozenset()), set()),
        (Links(frozenset({(0, 0)}), frozenset()), {"sure link"}),
        (Links(frozenset(), frozenset({(0, 0)})), {"possible link"}),
    ):
        figure, _ = draw_alignment(matrix, gold=gold)
        assert {text.get_text() for text in texts_of(figure)} & {"sure link", "possible link"} == expected


def test_gold_links_outside_the_matrix_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gold: link 3-0 "):
        plot_alignment(
            matrix_of(ENGLISH[:3], GERMAN[:3]), tmp_path / "a.png", gold=Links(frozenset({(3, 0)}), frozenset())
        )
    assert list(tmp_path.iterdir()) == []


def test_no_text_is_read_as_mathematics(tmp_path: Path) -> None:
    figure, _ = draw_alignment(
        matrix_of(MATHS, MATHS), title="$x^2$", gold=Links(frozenset({(0, 0)}), frozenset({(1, 1)}))
    )
    texts = texts_of(figure)
    assert all(not text.get_parse_math() and not text.get_usetex() for text in texts)
    assert {"$x^2$", *MATHS} <= {text.get_text() for text in texts}
    for suffix in ("png", "svg", "pdf"):  # $\nothing, read as mathematics, could not be drawn
        assert plot_alignment(matrix_of(MATHS, MATHS), tmp_path / f"a.{suffix}", title=r"$\nothing$") == []


def test_an_svg_holds_every_word_as_it_is(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(picture._SETTINGS, "svg.fonttype", "none")
    source, target = [*ENGLISH, *MATHS], [*GERMAN, *LONG, "<b>", "-->"]
    plot_alignment(matrix_of(source, target), tmp_path / "a.svg", title="Titel")
    written = [
        "".join(node.itertext()) for node in ElementTree.parse(tmp_path / "a.svg").iter() if node.tag.endswith("}text")
    ]
    assert sorted(written) == sorted([*source, *target, "0", "0.5", "1", "Titel"])


def test_a_users_settings_neither_spoil_the_picture_nor_are_changed(tmp_path: Path) -> None:
    matrix = matrix_of(MATHS, MATHS)
    plot_alignment(matrix, tmp_path / "plain.svg")
    with matplotlib.rc_context({"text.usetex": True, "axes.grid": True, "font.size": 30, "image.cmap": "jet"}):
        before = dict(matplotlib.rcParams)
        plot_alignment(matrix, tmp_path / "own.svg")
        assert dict(matplotlib.rcParams) == before
    assert (tmp_path / "own.svg").read_bytes() == (tmp_path / "plain.svg").read_bytes()


@pytest.mark.parametrize(
    ("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")]
)
def test_the_suffix_gives_the_format_and_the_same_picture_is_the_same_file(
    suffix: str, start: bytes, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        assert plot_alignment(matrix_of(ENGLISH, GERMAN), tmp_path / f"{name}.{suffix}", title="t") == []
    first, second = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("a", "b"))
    assert first.startswith(start)
    assert first == second
    assert b"CreationDate" not in first  # two files of one second would be equal all the same
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["a.jpg", "a", "png"])
def test_another_suffix_is_an_error_that_names_the_allowed_ones(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\.png, \.svg, \.pdf"):
        plot_alignment(matrix_of(["a"], ["b"]), tmp_path / name)


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"a\.png: cannot be written"):
        plot_alignment(matrix_of(["a"], ["b"]), tmp_path / "file" / "a.png")


def test_a_drawing_that_breaks_off_leaves_the_old_picture(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "a.png").write_bytes(b"old")

    def break_off(self: Figure, path: Path, **_: object) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(Figure, "savefig", break_off)
    with pytest.raises(KeyboardInterrupt):
        plot_alignment(matrix_of(["a"], ["b"]), tmp_path / "a.png")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


@pytest.mark.parametrize(("source", "target"), [([], []), (["a"], []), ([], ["a", "b"])])
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_side_without_words_is_drawn_as_such(
    source: list[str], target: list[str], suffix: str, tmp_path: Path
) -> None:
    plot_alignment(matrix_of(source, target), tmp_path / f"a.{suffix}")
    assert (tmp_path / f"a.{suffix}").stat().st_size > 0
    figure, _ = draw_alignment(matrix_of(source, target))
    written = [text.get_text() for text in texts_of(figure)]
    assert written.count("(no words)") == (not source) + (not target)
    assert not figure.axes[0].images  # a map would claim weights


@pytest.mark.parametrize(
    ("word", "label"),
    [("\u202edog\u202c", "\ufffddog\ufffd"), ("\u200b", "␣"), ("می\u200cخواهم", "می\u200cخواهم"), ("a\0", "a\ufffd")],
    ids=["turned", "unseen", "joined", "control"],
)
def test_labels_show_what_stands_there(word: str, label: str) -> None:
    assert labels_of([word]) == [label]


def test_labels_of_more_than_80_characters_are_shortened_in_the_middle() -> None:
    word = "".join(chr(ord("a") + place % 26) for place in range(200))
    figure, _ = draw_alignment(matrix_of([word, "y" * 80], ["z"]))
    written = [text.get_text() for text in texts_of(figure)]
    assert "y" * 80 in written
    (short,) = (text for text in written if "…" in text)
    assert len(short) == 80
    start, end = short.split("…")
    assert word.startswith(start)
    assert word.endswith(end)


def test_a_very_long_sentence_stays_within_memory(tmp_path: Path) -> None:
    plot_alignment(matrix_of(["w"] * 1500, ["v"]), tmp_path / "a.png")
    assert max(imread(tmp_path / "a.png").shape) <= 12_000


def test_blanks_and_control_characters_get_a_sign(tmp_path: Path) -> None:
    matrix = matrix_of([" ", "a\x00b", "\ud800"], ["\x0b"])
    figure, _ = draw_alignment(matrix)
    assert {"␣", "a\ufffdb", "\ufffd"} <= {text.get_text() for text in texts_of(figure)}
    plot_alignment(matrix, tmp_path / "a.svg")
    ElementTree.parse(tmp_path / "a.svg")


def test_a_single_east_asian_character_stands_upright_above_its_column() -> None:
    figure, _ = draw_alignment(matrix_of(["窓", "は", "ab", "開く"], ["x"]))
    turned = {text.get_text(): text.get_rotation() for text in texts_of(figure)}
    assert (turned["窓"], turned["は"], turned["ab"], turned["開く"]) == (0, 0, 90, 90)


def test_pyplot_stays_out() -> None:
    code = "import sys, nmt.alignment.plot; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
