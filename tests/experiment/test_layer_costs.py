"""What layers cost: the fit against data of known order, products against torch's own count, one tiny measurement."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from nmt.experiment import layer_costs
from nmt.experiment.layer_costs import KINDS, NEIGHBOURHOOD, Costs, Fit, fit, measure, slope

LENGTHS = tuple(2**power for power in range(4, 13))
N = np.array(LENGTHS, dtype=float)


@given(
    fixed=st.sampled_from([0.0, 50.0, 4000.0]), linear=st.sampled_from([0.0, 1.0, 30.0]), square=st.floats(1e-3, 10.0)
)
@settings(deadline=None, max_examples=50)
def test_exact_data_are_fitted_exactly(fixed: float, linear: float, square: float) -> None:
    costs = fixed + linear * N + square * N**2
    found = fit(LENGTHS, costs)
    fitted = found.fixed + found.linear * N + found.square * N**2
    np.testing.assert_allclose(fitted, costs, rtol=1e-6)
    assert found.square == pytest.approx(square, rel=1e-3)
    if linear:
        assert found.linear == pytest.approx(linear, rel=0.05)
        assert found.even() == pytest.approx(linear / square, rel=0.05)


@pytest.mark.parametrize("order", [1, 2])
def test_noisy_data_of_one_order_are_fitted_by_that_order(order: int) -> None:
    noise = np.random.default_rng(1).uniform(0.9, 1.1, len(N))
    found = fit(LENGTHS, 3.0 * N**order * noise)
    assert (found.linear, found.square)[order - 1] == pytest.approx(3.0, rel=0.1)
    assert min(found.fixed, found.linear, found.square) >= 0.0
    rest = found.linear * N if order == 2 else found.square * N**2
    assert (rest[-3:] < 0.1 * (3.0 * N**order)[-3:]).all()


def test_both_terms_are_even_where_they_cross() -> None:
    assert Fit(fixed=7.0, linear=12.0, square=0.5).even() == 24.0
    assert Fit(fixed=7.0, linear=12.0, square=0.0).even() == math.inf


@pytest.mark.parametrize("order", [0.0, 1.0, 1.5, 2.0])
def test_the_slope_is_the_order_at_the_long_end(order: float) -> None:
    costs = N**order
    costs[:-3] *= 100.0
    assert slope(LENGTHS, costs) == pytest.approx(order)


@pytest.mark.parametrize("name", [name for name in KINDS if "restricted" not in name])
def test_products_are_those_that_torch_counts(name: str) -> None:
    length, width, batch = 20, 32, 2
    counter = FlopCounterMode(display=False)
    layer, mask_BS = KINDS[name].build(width), torch.ones(batch, length, dtype=torch.bool)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        layer(torch.randn(batch, length, width), mask_BS)
    assert 3 * counter.get_total_flops() == pytest.approx(batch * KINDS[name].cost(length, width) * 2 * width**2)


@pytest.mark.parametrize("length", [1, 3, 16, 33, 64, 65, 200])
def test_pairs_are_those_within_reach(length: int) -> None:
    places = np.arange(length)
    pairs = (abs(places[:, None] - places) <= NEIGHBOURHOOD // 2).sum()
    found = KINDS["restricted, no projections"].cost(length, 8)
    assert found == pytest.approx(3 * 2 * pairs / 8)


@pytest.mark.parametrize("name", KINDS)
def test_theory_is_the_order_of_the_products(name: str) -> None:
    """At a length whose ends do not matter."""
    length, width = 10**6, 64
    order = KINDS[name].order(width)
    assert KINDS[name].cost(length, width) == pytest.approx(order.linear * length + order.square * length**2, rel=1e-3)


@pytest.fixture(scope="module")
def costs() -> Costs:
    return measure((3, 5), (8,), batch=2, seconds=0.1)


def test_every_layer_is_measured_in_every_round(costs: Costs) -> None:
    assert list(costs.seconds) == [8]
    assert costs.seconds[8].keys() == KINDS.keys()
    assert costs.rounds >= 3
    for name, seconds in costs.seconds[8].items():
        assert seconds.shape == (costs.rounds, 2)
        assert (seconds > 0.0).all()
        assert (costs.share(8, name) > 0.0).all()
    middle, worst = costs.spread()
    assert 1.0 <= middle <= worst


def test_times_are_told_of_what_they_were_taken_of(monkeypatch: pytest.MonkeyPatch) -> None:
    class Trial:
        def __init__(self, layer: torch.nn.Module, x_BSD: torch.Tensor) -> None:
            batch, length, width = x_BSD.shape
            parameters = sum(parameter.numel() for parameter in layer.parameters())
            self.time = batch * (length + 1e3 * width + 1e6 * parameters)

        def seconds(self, calls: int = 1) -> float:
            return self.time

    monkeypatch.setattr(layer_costs, "_Trial", Trial)
    found = measure((3, 5, 7), (8, 4), batch=2, seconds=0.1)
    for width in (8, 4):
        for name, kind in KINDS.items():
            parameters = sum(parameter.numel() for parameter in kind.build(width).parameters())
            expected = np.array([3.0, 5.0, 7.0]) + 1e3 * width + 1e6 * parameters
            np.testing.assert_array_equal(found.seconds[width][name], np.stack([expected] * found.rounds))


def test_the_fastest_round_counts_in_products_at_the_limit() -> None:
    seconds = np.array([[2.0, 9.0], [4.0, 8.0], [3.0, 10.0]])
    costs = Costs((4, 8), {4: {"convolution": seconds}}, limit=64.0)
    np.testing.assert_allclose(costs.cost(4, "convolution"), [4.0, 16.0])  # 2 × 64 / (2 × 4²), 8 × 64 / (2 × 4²)
    np.testing.assert_allclose(costs.share(4, "convolution"), [18 * 4 / 4.0, 18 * 8 / 16.0])
    assert costs.spread() == (pytest.approx((3 / 2 + 9 / 8) / 2), 1.5)
