"""Learning rates at hand-worked points, and the optimizer against Adam's own equations."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from nmt.training.optim import SCHEDULES, Moment, Schedule, learning_rate, make_optimizer, set_rate


def rate(
    name: str,
    step: int,
    used: float = 0.0,
    *,
    warmup: int = 0,
    highest: float = 0.4,
    lowest: float = 0.0,
    reduction: float = 1.0,
) -> float:
    return learning_rate(Schedule(name, highest, lowest, warmup), Moment(step, used, reduction))


# Schedules


@pytest.mark.parametrize("name", SCHEDULES)
def test_warm_up_rises_linearly_to_the_rate(name: str) -> None:
    found = [rate(name, step, step / 1000, warmup=4) for step in (1, 2, 3, 4)]
    assert found == pytest.approx([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_step_after_the_warm_up_is_below_the_rate_or_at_it(name: str) -> None:
    after = rate(name, 101, 0.0101, warmup=100)
    assert 0.395 < after <= 0.4


@pytest.mark.parametrize("step", [1, 7, 10**6])
def test_constant(step: int) -> None:
    assert rate("constant", step, 0.9) == 0.4


@pytest.mark.parametrize(
    ("step", "warmup", "expected"),
    [(16, 4, 0.2), (64, 4, 0.1), (400, 4, 0.04), (1, 0, 0.4), (4, 0, 0.2), (100, 0, 0.04)],
)
def test_inverse_sqrt(step: int, warmup: int, expected: float) -> None:
    assert rate("inverse_sqrt", step, warmup=warmup) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("used", "expected"),
    [(0.0, 0.5), (0.25, 0.1 + 0.2 * (1 + math.sqrt(0.5))), (0.5, 0.3), (2 / 3, 0.2), (1.0, 0.1), (1.2, 0.1)],
)
def test_cosine(used: float, expected: float) -> None:
    assert rate("cosine", 7, used, highest=0.5, lowest=0.1) == pytest.approx(expected)


@pytest.mark.parametrize(("step", "expected"), [(10, 0.5), (60, 0.3), (110, 0.1)])
def test_cosine_begins_where_the_warm_up_ends(step: int, expected: float) -> None:
    """110 steps, 10 of them warm-up: half-way between is step 60."""
    found = rate("cosine", step, step / 110, warmup=10, highest=0.5, lowest=0.1)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("warmup", [0, 3, 40])
@pytest.mark.parametrize("lowest", [0.0, 0.1])
def test_cosine_falls_all_the_way_to_the_lowest_rate(warmup: int, lowest: float) -> None:
    found = [rate("cosine", step, step / 50, warmup=warmup, lowest=lowest) for step in range(max(warmup, 1), 51)]
    assert all(before > after for before, after in pairwise(found))
    assert found[-1] == pytest.approx(lowest)


def test_a_warm_up_as_long_as_the_training_does_not_divide_by_zero() -> None:
    assert rate("cosine", 50, 1.0, warmup=50) == pytest.approx(0.4)
    assert 0.0 <= rate("cosine", 51, 1.0, warmup=50) <= 0.4


@pytest.mark.parametrize(("reduction", "expected"), [(1.0, 0.4), (0.5, 0.2), (0.25, 0.1), (0.125, 0.08)])
def test_plateau(reduction: float, expected: float) -> None:
    assert rate("plateau", 9, reduction=reduction, lowest=0.08) == pytest.approx(expected)


@pytest.mark.parametrize("name", SCHEDULES)
@settings(deadline=None)
@given(
    st.integers(1, 10**6),
    st.floats(0.0, 1.5),
    st.integers(0, 10**5),
    st.floats(1e-6, 1.0),
    st.floats(0.0, 0.99),
    st.floats(1e-6, 1.0),
)
def test_rates_are_never_above_the_highest_nor_below_zero(
    name: str, step: int, used: float, warmup: int, highest: float, share: float, reduction: float
) -> None:
    found = rate(name, step, used, warmup=warmup, highest=highest, lowest=share * highest, reduction=reduction)
    assert 0.0 <= found <= highest * (1 + 1e-12)


# The optimizer


def parameters() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64)) for shape in ((3, 2), (4,))]


def gradients(count: int) -> list[list[torch.Tensor]]:
    generator = torch.Generator().manual_seed(1)
    return [[torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in parameters()] for _ in range(count)]


RATES = (0.1, 0.2, 0.05, 0.05)


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_updates_are_adams(weight_decay: float) -> None:
    """θ ← θ (1 − r λ) − r m̂ / (√v̂ + ε), with bias-corrected means of the gradient and of its square."""
    found = parameters()
    optimizer = make_optimizer(found, betas=(0.8, 0.95), weight_decay=weight_decay)
    expected = [parameter.detach().clone() for parameter in found]
    means, squares = [torch.zeros_like(p) for p in expected], [torch.zeros_like(p) for p in expected]
    for step, (r, grads) in enumerate(zip(RATES, gradients(len(RATES)), strict=True), start=1):
        for number, (parameter, grad) in enumerate(zip(found, grads, strict=True)):
            parameter.grad = grad.clone()
            means[number] = 0.8 * means[number] + 0.2 * grad
            squares[number] = 0.95 * squares[number] + 0.05 * grad**2
            mean, square = means[number] / (1 - 0.8**step), squares[number] / (1 - 0.95**step)
            expected[number] = expected[number] * (1 - r * weight_decay) - r * mean / (square.sqrt() + 1e-9)
        set_rate(optimizer, r)
        optimizer.step()
        for parameter, value in zip(found, expected, strict=True):
            torch.testing.assert_close(parameter.detach(), value, rtol=1e-10, atol=1e-10)


def test_updates_are_torchs_adam() -> None:
    found, expected = parameters(), parameters()
    optimizer = make_optimizer(found, betas=(0.9, 0.98), weight_decay=0.0)
    oracle = torch.optim.Adam(expected, betas=(0.9, 0.98), eps=1e-9, fused=False, foreach=False)
    for r, grads in zip(RATES, gradients(len(RATES)), strict=True):
        for a, b, grad in zip(found, expected, grads, strict=True):
            a.grad, b.grad = grad.clone(), grad.clone()
        set_rate(optimizer, r)
        oracle.param_groups[0]["lr"] = r
        optimizer.step()
        oracle.step()
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_a_fresh_optimizer_does_nothing_before_its_rate_is_set() -> None:
    found, before = parameters(), parameters()
    optimizer = make_optimizer(found, betas=(0.9, 0.98), weight_decay=0.1)
    for parameter, grad in zip(found, gradients(1)[0], strict=True):
        parameter.grad = grad
    optimizer.step()
    assert all(a.equal(b) for a, b in zip(found, before, strict=True))


def test_the_rate_is_set_in_every_group() -> None:
    first, second = parameters()
    optimizer = torch.optim.SGD([{"params": [first]}, {"params": [second]}], lr=1.0)
    set_rate(optimizer, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.25]
