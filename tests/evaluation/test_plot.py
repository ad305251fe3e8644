"""The picture of BLEU by length: what it shows, that it can be read in print, and what it refuses."""

import itertools
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from nmt.errors import DataError
from nmt.evaluation import plot
from nmt.evaluation.bleu import LengthBucket
from nmt.evaluation.plot import draw_by_length, plot_by_length

ENOUGH = (150, 180, 140, 100, 130)
SOME = (150, 180, 0, 99, 1)


def buckets(values: Sequence[float | None], counts: Sequence[int] = ENOUGH) -> list[LengthBucket]:
    lows, highs = (0, 11, 21, 31, 41), (10, 20, 30, 40, None)
    return [LengthBucket(*one) for one in zip(lows, highs, counts, values, strict=True)]


def many(count: int) -> dict[str, list[LengthBucket]]:
    return {f"run {number}": buckets([float(number)] * 5) for number in range(count)}


ONE = {"bahdanau": buckets((41.5, 38.0, 35.5, 33.0, 30.0))}
TWO = {**ONE, "none": buckets((20.0, 12.0, 8.5, 4.0, 0.0))}
GAP = {
    "bahdanau": buckets((41.5, 38.0, None, 33.0, 30.0), SOME),
    "none": buckets((20.0, 12.0, None, 4.0, 0.0), SOME),
}


def lines_of(figure: Figure) -> tuple[list[Line2D], list[Line2D]]:
    """The runs' lines, and the hollow markers over them."""
    drawn = figure.axes[0].lines
    return [line for line in drawn if line.get_linestyle() != "None"], [
        line for line in drawn if line.get_linestyle() == "None"
    ]


def texts_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_each_run_has_a_line_through_its_scores_and_its_name_in_the_legend() -> None:
    figure, notes = draw_by_length(TWO)
    lines, hollow = lines_of(figure)
    assert [list(line.get_ydata()) for line in lines] == [[41.5, 38.0, 35.5, 33.0, 30.0], [20.0, 12.0, 8.5, 4.0, 0.0]]
    assert legend_of(figure) == ["bahdanau", "none"]
    for line, key in zip(lines, figure.legends[0].legend_handles, strict=True):
        assert isinstance(key, Line2D)
        look = (line.get_color(), line.get_marker(), line.get_linestyle())
        assert (key.get_color(), key.get_marker(), key.get_linestyle()) == look
    assert (hollow, notes) == ([], [])


def test_one_run_needs_no_legend() -> None:
    figure, _ = draw_by_length(ONE)
    assert figure.legends == []


def test_a_bucket_without_sentences_is_a_gap_and_a_small_one_is_hollow() -> None:
    figure, _ = draw_by_length(GAP)
    lines, hollow = lines_of(figure)
    assert all(math.isnan(line.get_ydata()[2]) for line in lines)
    assert all(line.get_markerfacecolor() == line.get_color() for line in lines)
    assert [(list(one.get_xdata()), list(one.get_ydata())) for one in hollow] == [
        ([3, 4], [33.0, 30.0]),
        ([3, 4], [4.0, 0.0]),
    ]
    for line, one in zip(lines, hollow, strict=True):
        assert one.get_markerfacecolor() == "white"
        assert (one.get_marker(), one.get_markeredgecolor()) == (line.get_marker(), line.get_color())
        assert one.get_zorder() >= line.get_zorder()


def test_hollow_is_explained_where_there_is_any() -> None:
    assert "hollow: fewer than 100" in draw_by_length(GAP)[0].axes[0].get_xlabel()
    figure, _ = draw_by_length(TWO)  # a hundred sentences are enough
    assert figure.axes[0].get_xlabel() == "source words (n: number of sentences)"


def test_the_axes_say_what_they_are_and_how_many_sentences_there_are() -> None:
    axes = draw_by_length(GAP)[0].axes[0]
    assert axes.get_ylabel() == "BLEU"
    assert axes.get_xlabel().startswith("source words (n: number of sentences")
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "0–10\nn = 150",
        "11–20\nn = 180",
        "21–30\nn = 0",
        "31–40\nn = 99",
        "41 or more\nn = 1",
    ]


@pytest.mark.parametrize("top", [0.0, 0.3, 7.0, 36.0, 91.2, 100.0])
def test_bleu_starts_at_0_and_every_point_is_inside(top: float) -> None:
    figure, _ = draw_by_length({"run": buckets((top, top / 2, None, 0.0, 0.0))})
    low, high = figure.axes[0].get_ylim()
    assert low == 0.0
    assert max(top, 1.0) <= high <= max(1.3 * top + 3, 1.0)
    assert {low, high} <= set(figure.axes[0].get_yticks())


def test_lines_can_be_told_apart_without_colour() -> None:
    lines, _ = lines_of(draw_by_length(many(40))[0])
    looks = [(line.get_marker(), str(line._unscaled_dash_pattern)) for line in lines]  # nothing public tells the dashes
    assert len(set(looks)) == 40
    for one, other in itertools.pairwise(looks):
        assert one[0] != other[0]
        assert one[1] != other[1]


SHAPES = {
    "one": ONE,
    "two": TWO,
    "a gap": GAP,
    "twenty": many(20),
    "long names": {"r" * 50: TWO["none"], "a name of many words, as folders have them": ONE["bahdanau"]},
    "large numbers": {"run": buckets((1.0,) * 5, (123_456,) * 5)},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dots", [100, 200])
def test_no_text_overlaps_another_or_leaves_the_picture_and_none_is_small(shape: str, dots: int) -> None:
    figure, _ = draw_by_length(SHAPES[shape])
    figure.set_dpi(dots)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    axes = figure.axes[0]
    ticks = [*axes.get_xticklabels(), *axes.get_yticklabels(), axes.xaxis.label, axes.yaxis.label]
    names = [text for legend in figure.legends for text in legend.get_texts()]
    boxes = [(text.get_text(), text.get_window_extent(canvas.get_renderer())) for text in [*ticks, *names]]
    width, height = figure.get_size_inches() * dots
    for text, box in boxes:
        assert 0 <= box.x0 < box.x1 <= width, text
        assert 0 <= box.y0 < box.y1 <= height, text
    boxes.append(("axes", axes.get_window_extent()))
    for (one, first), (other, second) in itertools.combinations(boxes, 2):
        apart = first.x1 <= second.x0 or second.x1 <= first.x0 or first.y1 <= second.y0 or second.y1 <= first.y0
        assert apart, (one, other)
    assert all(text.get_fontsize() >= 9 for text in figure.findobj(Text) if text.get_text())
    assert all(legend.get_window_extent().x0 >= axes.get_window_extent().x1 for legend in figure.legends)
    assert axes.get_window_extent().width > 3.5 * dots  # a legend widens the picture, and takes nothing from the lines


def test_every_name_is_written_as_it_is(tmp_path: Path) -> None:
    names = ["_hidden", "$x_1$", "$broken", "a&b <c>", "tab\there"]
    figure, _ = draw_by_length(dict.fromkeys(names, TWO["none"]))
    assert legend_of(figure) == [*names[:4], "tab\ufffdhere"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_by_length(dict.fromkeys(names, TWO["none"]), tmp_path / "a.svg")
    ElementTree.parse(tmp_path / "a.svg")


def test_a_long_name_is_shortened_in_the_middle() -> None:
    figure, _ = draw_by_length({"start" + "x" * 100 + "end": TWO["none"], "y" * 60: TWO["none"]})
    short, whole = legend_of(figure)
    assert len(short) == len(whole) == 60
    assert short.startswith("startx")
    assert short.endswith("xend")
    assert "…" in short


def test_a_letter_without_a_font_gives_a_note(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        notes = plot_by_length({"\U000130b8": TWO["none"], "b": TWO["none"]}, tmp_path / "a.png")
    assert all("found: install" in note for note in notes)
    assert len(notes) <= 1  # none where somebody has installed the font


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_the_suffix_gives_the_format_and_the_same_picture_is_the_same_file(
    suffix: str, start: bytes, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        assert plot_by_length(GAP, tmp_path / f"{name}.{suffix}") == []
    first, second = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("a", "b"))
    assert first.startswith(start)
    assert first == second


def test_a_users_settings_do_not_spoil_the_picture(tmp_path: Path) -> None:
    plot_by_length(GAP, tmp_path / "plain.svg")
    with matplotlib.rc_context({"axes.grid": True, "font.size": 30, "lines.linewidth": 9, "axes.facecolor": "red"}):
        before = dict(matplotlib.rcParams)
        plot_by_length(GAP, tmp_path / "own.svg")
        assert dict(matplotlib.rcParams) == before
    assert (tmp_path / "own.svg").read_bytes() == (tmp_path / "plain.svg").read_bytes()


def test_another_suffix_is_an_error_before_anything_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plot, "draw_by_length", lambda _: pytest.fail("drawn"))
    for name in ("a.jpg", "png"):
        with pytest.raises(DataError, match=r"\.png, \.svg, \.pdf"):
            plot_by_length(ONE, tmp_path / name)


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"a\.png: cannot be written"):
        plot_by_length(ONE, tmp_path / "file" / "a.png")


def test_runs_of_other_texts_are_not_drawn_side_by_side() -> None:
    with pytest.raises(ValueError, match="same text"):
        draw_by_length({"a": ONE["bahdanau"], "b": GAP["none"]})


def test_the_white_of_a_hollow_marker_is_on_the_picture(tmp_path: Path) -> None:
    """Not only in the objects: the middle of the last marker is white, that of the first has its line's colour."""
    figure, _ = draw_by_length({"run": buckets((50.0, 50.0, None, 50.0, 50.0), SOME)})
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = np.asarray(canvas.buffer_rgba())
    for place, expected in ((0, (0, 0, 0)), (3, (255, 255, 255)), (4, (255, 255, 255))):
        across, up = figure.axes[0].transData.transform((place, 50.0))
        assert tuple(picture[picture.shape[0] - 1 - int(up), int(across), :3]) == expected
