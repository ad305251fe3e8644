"""Masks have the right share of zeros, scale what is left, and act in training alone."""

import math

import pytest
import torch

from nmt.model.dropout import Dropout, dropout_mask


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(40000,), (7, 11, 521), (200, 201)])
def test_the_share_of_zeros_is_the_rate(rate: float, shape: tuple[int, ...]) -> None:
    torch.manual_seed(3)
    mask = dropout_mask(shape, rate, torch.empty(0))
    count = mask.numel()
    zeros = int((mask == 0).sum())
    deviation = math.sqrt(rate * (1 - rate) / count)
    assert abs(zeros / count - rate) < 5 * deviation + 1 / 65536
    torch.testing.assert_close(mask[mask != 0], torch.full((count - zeros,), 1 / (1 - rate)))


def test_neighbours_and_quarters_are_independent() -> None:
    """Four elements share one random number: none may tell of another."""
    torch.manual_seed(4)
    kept = (dropout_mask((400_000,), 0.5, torch.empty(0)) != 0).float() - 0.5
    for distance in (1, 2, 3, 4, 5, 8):
        correlation = float((kept[:-distance] * kept[distance:]).mean()) / 0.25
        assert abs(correlation) < 5 / math.sqrt(len(kept))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_module_keeps_precision_and_expectation(dtype: torch.dtype) -> None:
    torch.manual_seed(5)
    module = Dropout(0.25)
    x = torch.ones(300, 300, dtype=dtype)
    y = module(x)
    assert y.dtype is dtype
    assert abs(float(y.float().mean()) - 1.0) < 0.02


def test_it_acts_in_training_alone_and_follows_the_seed() -> None:
    module, x = Dropout(0.5), torch.randn(50, 50)
    assert module.eval()(x) is x
    assert Dropout(0.0)(x) is x
    module.train()
    torch.manual_seed(6)
    first, second = module(x), module(x)
    torch.manual_seed(6)
    assert torch.equal(module(x), first)
    assert not torch.equal(first, second)
