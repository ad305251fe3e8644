"""The output layer and its loss in one, against torch's own cross-entropy."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from nmt.training.loss import (
    CHUNK,
    Guided,
    TokenScores,
    guided_alignment,
    smoothed_cross_entropy,
    token_scores,
    training_loss,
)

WIDTH, PIECES = 5, 7

Parts = tuple[Tensor, Tensor, Tensor, Tensor]


def draw(rows: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Parts:
    """Readout [N, R], weight [V, R], bias [V], target [N]."""
    generator = torch.Generator().manual_seed(seed)
    readout, weight, bias = (
        torch.randn(shape, generator=generator, dtype=dtype).requires_grad_()
        for shape in ((rows, WIDTH), (PIECES, WIDTH), (PIECES,))
    )
    return readout, weight, bias, torch.randint(PIECES, (rows,), generator=generator)


def torchs(parts: Parts, smoothing: float) -> Tensor:
    readout, weight, bias, target = parts
    return cross_entropy(linear(readout, weight, bias), target, label_smoothing=smoothing, reduction="sum")


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-9) -> None:
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def agree(parts: Parts, smoothing: float, factor: float = 1.0) -> None:
    (found, gained_N), expected = smoothed_cross_entropy(*parts, smoothing), torchs(parts, smoothing)
    close(found, expected)
    readout, weight, bias, target = parts
    close(gained_N, linear(readout, weight, bias).log_softmax(1).gather(1, target.unsqueeze(1)).squeeze(1))
    assert not gained_N.requires_grad
    leaves = parts[:3]
    pairs = zip(
        torch.autograd.grad(factor * found, leaves), torch.autograd.grad(factor * expected, leaves), strict=True
    )
    for a, b in pairs:
        close(a, b)


# smoothed_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 3])
def test_it_is_torchs_cross_entropy(rows: int, smoothing: float) -> None:
    agree(draw(rows), smoothing)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3 * CHUNK), st.floats(0.0, 0.9), st.floats(-4.0, 4.0), st.integers(0, 99))
def test_it_is_torchs_cross_entropy_whatever_the_size(rows: int, smoothing: float, factor: float, seed: int) -> None:
    agree(draw(rows, seed), smoothing, factor)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_are_the_numeric_ones(smoothing: float) -> None:
    readout, weight, bias, target = draw(4)
    assert torch.autograd.gradcheck(
        lambda *leaves: smoothed_cross_entropy(*leaves, target, smoothing)[0], (readout, weight, bias)
    )


def test_a_hand_worked_value() -> None:
    """One row, scores 0 and ln 3: p = (1/4, 3/4); with ε = 0.2 the targets are (0.1, 0.9)."""
    readout, weight = torch.ones(1, 1, dtype=torch.float64), torch.tensor([[0.0], [math.log(3)]], dtype=torch.float64)
    found, _ = smoothed_cross_entropy(readout, weight, torch.zeros(2, dtype=torch.float64), torch.tensor([1]), 0.2)
    assert found.item() == pytest.approx(-0.1 * math.log(0.25) - 0.9 * math.log(0.75))


def test_large_scores_stay_finite() -> None:
    readout, weight, bias, target = draw(70, dtype=torch.float32)
    parts = (readout * 1e4, weight, bias, target)
    found, _ = smoothed_cross_entropy(*parts, 0.1)
    close(found, torchs(parts, 0.1), 1e-4)
    assert all(torch.isfinite(grad).all() for grad in torch.autograd.grad(found, (readout, weight, bias)))


def test_bfloat16_products_are_close() -> None:
    parts = draw(70, dtype=torch.float32)
    exact = torchs(parts, 0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough, _ = smoothed_cross_entropy(*parts, 0.1)
    assert rough.dtype == torch.float32
    close(rough, exact, 0.02)
    expected = torch.autograd.grad(exact, parts[:3])
    for a, b in zip(torch.autograd.grad(rough, parts[:3]), expected, strict=True):
        assert a.dtype == torch.float32
        assert torch.linalg.vector_norm(a - b) <= 0.03 * torch.linalg.vector_norm(b)


def test_without_gradients_the_value_is_the_same() -> None:
    parts = draw(70)
    with torch.inference_mode():
        close(smoothed_cross_entropy(*parts, 0.1)[0], torchs(parts, 0.1))


# training_loss


def batch(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Readout [B, T, R], target [B, T] and mask with sentences of 4, 1 and 2 tokens; there is something on padding."""
    readout_NR, _, _, target_N = draw(12, dtype=dtype)
    mask_BT = torch.arange(4).unsqueeze(0) < torch.tensor([4, 1, 2]).unsqueeze(1)
    return readout_NR.detach().view(3, 4, WIDTH), target_N.view(3, 4), mask_BT


def test_the_loss_is_the_mean_over_real_tokens() -> None:
    readout_BTR, target_BT, mask_BT = batch()
    _, weight, bias, _ = draw(1)
    found = training_loss(readout_BTR, target_BT, mask_BT, weight=weight, bias=bias, smoothing=0.1).total
    rows = [(row, step) for row, length in enumerate((4, 1, 2)) for step in range(length)]
    single = [torchs((readout_BTR[place], weight, bias, target_BT[place]), 0.1) for place in rows]
    close(found, torch.stack(single).mean())


def test_padding_counts_for_nothing() -> None:
    readout_BTR, target_BT, mask_BT = batch()
    readout_BTR.requires_grad_()
    _, weight, bias, _ = draw(1)
    found = training_loss(readout_BTR, target_BT, mask_BT, weight=weight, bias=bias, smoothing=0.1).total
    (grad,) = torch.autograd.grad(found, [readout_BTR])
    assert grad[mask_BT].all()
    assert (grad[~mask_BT] == 0).all()
    other_BTR = readout_BTR.detach().masked_fill(~mask_BT.unsqueeze(-1), 99.0)
    other_BT = target_BT.masked_fill(~mask_BT, 3)
    other = training_loss(other_BTR, other_BT, mask_BT, weight=weight, bias=bias, smoothing=0.1)
    assert other.total.equal(found)


# guided_alignment

ALPHA_BTS = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.9, 0.0], [0.2, 0.2, 0.6], [0.0, 0.0, 1.0]]], dtype=torch.float64)
LINKS_BTS = torch.tensor([[[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]], dtype=torch.float64)


def test_guided_alignment_by_hand() -> None:
    """Row 0 has two links of weight 1/4, row 1 one of 1/10; rows 2 and 3 have none."""
    taught, rows = guided_alignment(ALPHA_BTS, LINKS_BTS)
    assert taught.item() == pytest.approx(math.log(4) + math.log(10))
    assert rows.item() == 2


def test_links_beyond_the_reach_of_attention_are_left_out() -> None:
    """Row 0 keeps one of its two links, and half of its target with it; row 1 has none left and does not count."""
    links_BTS = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]], dtype=torch.float64)
    alpha_BTS = torch.tensor([[[0.0, 0.25, 0.75], [0.5, 0.5, 0.0]]], dtype=torch.float64).requires_grad_()
    taught, rows = guided_alignment(alpha_BTS, links_BTS)
    assert taught.item() == pytest.approx(0.5 * math.log(4))
    assert rows.item() == 1
    (grad,) = torch.autograd.grad(taught, [alpha_BTS])
    close(grad, torch.tensor([[[0.0, -2.0, 0.0], [0.0, 0.0, 0.0]]], dtype=torch.float64))


@pytest.mark.parametrize("gap", [60.0, 80.0, 100.0, 1000.0])
def test_weights_next_to_nothing_leave_no_infinite_slope(gap: float) -> None:
    scores_BTS = torch.tensor([[[gap, 0.0], [0.0, 0.0]]]).requires_grad_()
    taught, _ = guided_alignment(torch.softmax(scores_BTS, dim=2), torch.tensor([[[0.0, 1.0], [1.0, 0.0]]]))
    (grad,) = torch.autograd.grad(taught, [scores_BTS])
    assert taught.isfinite()
    assert grad.isfinite().all()
    close(grad[0, 1], torch.tensor([-0.5, 0.5]), 1e-6)


def test_its_gradient_at_the_scores_is_the_difference_of_weights_and_links() -> None:
    scores_BTS = torch.randn(1, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3)).requires_grad_()
    alpha_BTS = torch.softmax(scores_BTS, dim=2)
    (grad,) = torch.autograd.grad(guided_alignment(alpha_BTS, LINKS_BTS)[0], [scores_BTS])
    linked_BT1 = LINKS_BTS.sum(dim=2, keepdim=True)
    close(grad, alpha_BTS * linked_BT1 - LINKS_BTS)


def test_links_add_their_weight_to_the_loss_of_a_token() -> None:
    """Seven real tokens; the figure is the mean over the two that are taught."""
    readout_BTR, target_BT, mask_BT = batch()
    _, weight, bias, _ = draw(1)
    links_BTS = torch.zeros(3, 4, 3, dtype=torch.float64)
    links_BTS[0], alpha_BTS = LINKS_BTS[0], ALPHA_BTS.expand(3, -1, -1)
    plain = training_loss(readout_BTR, target_BT, mask_BT, weight=weight, bias=bias, smoothing=0.1)
    found = training_loss(
        readout_BTR,
        target_BT,
        mask_BT,
        weight=weight,
        bias=bias,
        smoothing=0.1,
        guided=Guided(alpha_BTS, links_BTS, 0.3),
    )
    close(found.total - plain.total, torch.tensor(0.3 * math.log(40) / 7, dtype=torch.float64))
    close(found.cross_entropy, plain.cross_entropy)
    assert found.terms["guided"].item() == pytest.approx(math.log(40) / 2)


# token_scores


def test_token_scores_are_those_of_the_real_tokens() -> None:
    readout_BTR, target_BT, mask_BT = batch(torch.float32)
    weight, bias = (part.detach() for part in draw(1, dtype=torch.float32)[1:3])
    found = token_scores(readout_BTR, target_BT, mask_BT, weight, bias)
    scores = linear(readout_BTR, weight, bias)
    nll, correct = 0.0, 0
    for row, length in enumerate((4, 1, 2)):
        for step in range(length):
            target = int(target_BT[row, step])
            nll -= float(scores[row, step].log_softmax(dim=0)[target])
            correct += int(scores[row, step].argmax()) == target
    assert found.tokens == 7
    assert found.correct == correct
    assert found.negative_log_likelihood == pytest.approx(nll, rel=1e-5)


def test_token_scores_of_many_tokens() -> None:
    readout, weight, bias, target = (part.detach() for part in draw(2500, dtype=torch.float32))
    found = token_scores(readout.unsqueeze(0), target.unsqueeze(0), torch.ones(1, 2500, dtype=torch.bool), weight, bias)
    scores = linear(readout, weight, bias)
    assert found.tokens == 2500
    assert found.correct == int((scores.argmax(dim=1) == target).sum())
    assert found.negative_log_likelihood == pytest.approx(float(torchs((readout, weight, bias, target), 0.0)), rel=1e-5)


def test_sure_predictions() -> None:
    readout = 50.0 * torch.eye(3).unsqueeze(0)
    mask = torch.ones(1, 3, dtype=torch.bool)
    right = token_scores(readout, torch.tensor([[0, 1, 2]]), mask, torch.eye(3), torch.zeros(3))
    wrong = token_scores(readout, torch.tensor([[1, 2, 0]]), mask, torch.eye(3), torch.zeros(3))
    assert (right.correct, wrong.correct) == (3, 0)
    assert right.negative_log_likelihood == pytest.approx(0.0, abs=1e-6)
    assert wrong.negative_log_likelihood == pytest.approx(150.0)


def test_token_scores_add_up() -> None:
    assert TokenScores(1.5, 2, 3) + TokenScores(0.25, 1, 4) == TokenScores(1.75, 3, 7)
