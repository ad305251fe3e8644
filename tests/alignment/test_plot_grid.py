"""Pictures of several maps: every map is there with its words and its title, and all of it can be read."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

from nmt.alignment.links import Links
from nmt.alignment.matrix import AlignmentMatrix
from nmt.alignment.plot_arcs import draw_arcs, plot_arcs
from nmt.alignment.plot_grid import Rows, draw_grid, plot_grid
from nmt.errors import DataError

WORDS = [
    "The",
    "agreement",
    "on",
    "the",
    "European",
    "Area",
    "was",
    "signed",
    "in",
    "1992",
    ",",
    "gyp",
    "jq",
    "Ähre",
    ".",
]
LONG = ["Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz", "kurz"]
GOLD = Links(frozenset({(0, 0)}), frozenset({(1, 1)}))


def many(count: int) -> tuple[str, ...]:
    return tuple(itertools.islice(itertools.cycle(WORDS), count))


def rows_of(layers: int, heads: int, source: tuple[str, ...], target: tuple[str, ...]) -> Rows:
    generator = np.random.default_rng(0)

    def matrix() -> AlignmentMatrix:
        weights = generator.dirichlet(np.full(max(len(source), 1), 0.2), size=len(target))
        return AlignmentMatrix(source, target, weights[:, : len(source)])

    return [{f"layer {layer}, head {head}": matrix() for head in range(heads)} for layer in range(layers)]


SHAPES: dict[str, tuple[int, int, tuple[str, ...], tuple[str, ...]]] = {
    "one word": (2, 2, ("a",), ("b",)),
    "5 words": (3, 4, many(5), many(4)),
    "60 words": (1, 2, many(60), many(60)),
    "60 by 1": (2, 1, many(60), ("b",)),
    "long words": (2, 2, tuple(LONG), tuple(LONG)),
    "no target": (1, 2, many(3), ()),
    "nothing": (2, 1, (), ()),
}


def parts_of(figure: Figure) -> list[tuple[str, float, float, float, float]]:
    """Texts and axes, with the boxes that they take in the picture."""
    figure.set_dpi(150)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    boxes = [(text.get_text(), *text.get_window_extent(canvas.get_renderer()).extents) for text in texts]
    return boxes + [(axes.get_label(), *axes.get_window_extent().extents) for axes in figure.axes]


def assert_readable(figure: Figure) -> None:
    boxes = parts_of(figure)
    width, height = figure.get_size_inches() * 150
    for what, left, bottom, right, top in boxes:
        assert 0 <= left < right <= width + 0.1, what
        assert 0 <= bottom < top <= height + 0.1, what
    for one, other in itertools.combinations(boxes, 2):
        apart = one[3] <= other[1] or other[3] <= one[1] or one[4] <= other[2] or other[4] <= one[2]
        assert apart, (one, other)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_text_overlaps_another_or_a_map_or_leaves_the_picture(shape: str) -> None:
    layers, heads, source, target = SHAPES[shape]
    gold = GOLD if min(len(source), len(target)) > 1 else None
    figure, notes = draw_grid(rows_of(layers, heads, source, target), gold=gold)
    assert notes == []
    assert len(figure.axes) == layers * heads + 1  # the scale
    assert_readable(figure)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_word_of_arcs_overlaps_another_or_leaves_the_picture(shape: str) -> None:
    layers, heads, source, target = SHAPES[shape]
    for rows in (rows_of(layers, heads, source, target), [{"": rows_of(1, 1, source, target)[0]["layer 0, head 0"]}]):
        figure, notes = draw_arcs(rows)
        assert notes == []
        assert len(figure.axes) == len(rows) * len(rows[0])
        assert_readable(figure)


def test_layers_are_rows_and_heads_columns_each_with_its_title_and_all_words() -> None:
    source, target = many(5), many(4)
    for figure, beside in (
        (draw_grid(rows_of(3, 2, source, target))[0], [*source, *target]),
        (draw_arcs(rows_of(3, 2, source, target))[0], [*target, *source]),
    ):
        boxes = {axes.get_label(): axes.get_window_extent() for axes in figure.axes}
        for layer, head in itertools.product(range(3), range(2)):
            box = boxes[f"layer {layer}, head {head}"]
            assert box.x0 == pytest.approx(boxes[f"layer 0, head {head}"].x0)
            assert box.y0 == pytest.approx(boxes[f"layer {layer}, head 0"].y0)
        assert boxes["layer 0, head 0"].x1 < boxes["layer 0, head 1"].x0
        assert boxes["layer 0, head 0"].y0 > boxes["layer 1, head 0"].y1
        for axes in figure.axes:
            if axes.get_label() != "scale":
                written = [text.get_text() for text in axes.texts]
                assert sorted(written) == sorted([*beside, axes.get_label()])


def test_letters_do_not_shrink_with_the_sentence() -> None:
    """60 words are read as easily as five; the picture grows instead."""
    for draw in (draw_grid, draw_arcs):
        sizes = []
        for count in (5, 60):
            figure, _ = draw(rows_of(1, 2, many(count), many(count)))
            sizes.append({text.get_fontsize() for text in figure.axes[0].texts if text.get_text() in WORDS})
        assert sizes == [{6.0}, {6.0}]


def test_each_map_has_its_own_weights(tmp_path: Path) -> None:
    """Black is 0 and white 1, whatever a map's greatest weight."""
    values = np.array([[0.1, 0.6], [0.5, 0.25]])
    rows = [
        {"a": AlignmentMatrix(("s", "t"), ("u", "v"), values), "b": AlignmentMatrix(("s", "t"), ("u", "v"), values.T)}
    ]
    plot_grid(rows, tmp_path / "grid.png", gold=Links(frozenset(), frozenset()))
    pixels, (figure, _) = imread(tmp_path / "grid.png"), draw_grid(rows)
    for axes, weights in zip(figure.axes, (values, values.T), strict=False):
        left, bottom, width, height = axes.get_position().bounds
        for row, column in itertools.product(range(2), range(2)):
            across = left + width * (column + 0.5) / 2
            down = 1 - bottom - height * (1 - (row + 0.5) / 2)
            pixel = pixels[int(down * pixels.shape[0]), int(across * pixels.shape[1])]
            np.testing.assert_allclose(pixel[:3], weights[row, column], atol=0.01)


def test_gold_links_are_outlined_in_every_map() -> None:
    figure, _ = draw_grid(rows_of(2, 2, many(3), many(3)), gold=GOLD)
    outlined = [len(axes.patches) for axes in figure.axes if axes.get_label() != "scale"]
    assert outlined == [2] * 4
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["sure link", "possible link"]
    with pytest.raises(DataError, match=r"gold: link 1-1 "):
        draw_grid(rows_of(2, 2, ("a",), ("b",)), gold=GOLD)


def test_an_arc_goes_from_a_word_to_one_that_it_looked_at_as_opaque_as_the_weight() -> None:
    weights = np.array([[0.0, 0.75, 0.25], [0.001, 0.0, 0.999], [1.0, 0.0, 0.0]])
    figure, _ = draw_arcs([{"": AlignmentMatrix(tuple("abc"), tuple("abc"), weights)}])
    (axes,) = figure.axes
    (lines,) = axes.collections
    found = {}
    for (start, end), colour in zip(lines.get_segments(), lines.get_colors(), strict=True):
        assert (start[0], end[0]) == (0.0, 1.0)
        found[int(start[1]), int(end[1])] = colour[3]
    assert found == pytest.approx({(0, 1): 0.75, (0, 2): 0.25, (1, 2): 0.999, (2, 0): 1.0})
    assert list(lines.get_colors()[:, 3]) == sorted(lines.get_colors()[:, 3]), "the greatest lies on top"
    places = {(text.get_text(), text.xy) for text in axes.texts if text.get_text()}
    assert places == {(word, (x, row)) for x in (0.0, 1.0) for row, word in enumerate("abc")}
    bottom, top = axes.get_ylim()
    assert bottom > top, "the first word is on top"


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
@pytest.mark.parametrize("plot", [plot_grid, plot_arcs])
def test_every_format_can_be_written_and_is_the_same_each_time(plot, suffix: str, tmp_path: Path) -> None:
    rows = rows_of(2, 2, many(4), many(4))
    for name in ("a", "b"):
        assert plot(rows, tmp_path / "new" / f"{name}.{suffix}") == []
    first, second = ((tmp_path / "new" / f"{name}.{suffix}").read_bytes() for name in ("a", "b"))
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix])
    assert first == second
    with pytest.raises(DataError, match=r"\.png, \.svg, \.pdf"):
        plot(rows, tmp_path / "a.gif")
