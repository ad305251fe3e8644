"""The picture of what layers cost: what is drawn, and where."""

from pathlib import Path

import numpy as np
import pytest

from nmt.errors import DataError
from nmt.experiment.plot import draw_costs, plot_costs

LENGTHS = (16, 32, 64, 128)
PANELS = {8: {"one": [1.0, 2.0, 4.0, 8.0], "other": [9.0, 8.0, 7.0, 6.0]}, 16: {"one": [3.0] * 4, "other": [5.0] * 4}}


def test_a_panel_for_each_width_and_a_line_for_each_layer() -> None:
    figure = draw_costs(LENGTHS, PANELS)
    assert [axes.get_title() for axes in figure.axes] == ["d = 8", "d = 16"]
    for axes, costs in zip(figure.axes, PANELS.values(), strict=True):
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        drawn = {line.get_label(): line for line in axes.lines if not str(line.get_label()).startswith("_")}
        assert drawn.keys() == costs.keys()
        for name, values in costs.items():
            np.testing.assert_array_equal(drawn[name].get_xdata(), LENGTHS)
            np.testing.assert_array_equal(drawn[name].get_ydata(), values)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "other"]
    assert len({(line.get_color(), line.get_marker()) for line in figure.axes[0].lines[:2]}) == 2


def test_guides_have_slopes_of_one_and_two_and_change_no_limit() -> None:
    for axes in draw_costs(LENGTHS, PANELS).axes:
        slopes = []
        for line in axes.lines[2:]:
            x, y = (np.log(np.asarray(data, dtype=float)) for data in (line.get_xdata(), line.get_ydata()))
            slopes.append((y[1] - y[0]) / (x[1] - x[0]))
            assert np.log(axes.get_ylim()[0]) < y.min() < y.max() < np.log(axes.get_ylim()[1])
        assert slopes == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_it_is_written(suffix: str, tmp_path: Path) -> None:
    plot_costs(LENGTHS, PANELS, tmp_path / f"costs.{suffix}")
    assert (tmp_path / f"costs.{suffix}").stat().st_size > 1000


def test_another_suffix_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="pictures end in"):
        plot_costs(LENGTHS, PANELS, tmp_path / "costs.jpg")
