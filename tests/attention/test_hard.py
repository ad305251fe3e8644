"""Hard attention: its gradient estimate against enumeration, its draws, and the twin that takes their expectation."""

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nmt.attention.base import Attended
from nmt.attention.hard import HardAttention, HardState
from nmt.attention.normalizers import softmax
from nmt.attention.soft import SoftAttention
from nmt.config.model import ModelSection
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq
from nmt.training.loss import Loss, score_function, training_loss
from nmt.uniform import draw, seeds

WIDTH = 4


def mechanism(**settings: float) -> HardAttention:
    torch.manual_seed(2)
    weights = {"expected_share": 0.0, "reward_weight": 1.0, "entropy_weight": 0.0} | settings
    return HardAttention(query_width=WIDTH, key_width=WIDTH, hidden=3, **weights).double().train()


def question(rows: int = 3, steps: int = 2, source: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(4)
    query_BTQ, states_BSD = (
        3.0 * torch.randn(rows, length, WIDTH, generator=generator, dtype=torch.float64) for length in (steps, source)
    )
    return query_BTQ, states_BSD, torch.arange(source).unsqueeze(0) < (source - torch.arange(rows).unsqueeze(1) % 3)


def ask(attention: HardAttention | SoftAttention, parts: tuple[Tensor, Tensor, Tensor], **state: Any) -> Attended:
    query_BTQ, states_BSD, mask_BS = parts
    memory = attention.remember(states_BSD, mask_BS)
    return attention(query_BTQ, memory, HardState(**state) if state else attention.initial_state(memory))


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-9) -> None:
    torch.testing.assert_close(found, expected, rtol=0.0, atol=tolerance)


@contextmanager
def drawing(positions: tuple[int, ...]) -> Iterator[None]:
    """Within, step t looks at position positions[t], whatever its probability."""
    left = iter(positions)
    method = HardAttention._positions

    def given_positions(self: HardAttention, weights_BTS: Tensor, how: HardState) -> Tensor:
        return torch.full(weights_BTS.shape[:2], next(left))

    HardAttention._positions = given_positions  # type: ignore[method-assign]
    try:
        yield
    finally:
        HardAttention._positions = method  # type: ignore[method-assign]


# The estimate


@pytest.mark.parametrize("baseline", [-3.0, 0.0, 0.7])
def test_the_mean_estimate_is_the_gradient_for_one_step(baseline: float) -> None:
    """L = Σ_i α_i log p(y|i): dL/dlogits_i = α_i (log p(y|i) − L), whatever the baseline."""
    logits = torch.tensor([0.3, -1.2, 0.8, 0.1], dtype=torch.float64, requires_grad=True)
    gains = torch.tensor([-0.5, -2.0, -1.1, -0.2], dtype=torch.float64)
    alpha = logits.softmax(0)
    exact = (alpha * (gains - (alpha * gains).sum())).detach()
    estimate = torch.zeros(4, dtype=torch.float64)
    attention, one = mechanism(), torch.ones(1, 1, dtype=torch.bool)
    for position in range(4):
        weights_BTS = logits.softmax(0).view(1, 1, 4)
        drawn = attention._drawn(weights_BTS, torch.tensor([[position]]), torch.tensor([False]))
        added, _ = score_function(gains[position].view(1, 1), one, drawn, baseline)
        (grad,) = torch.autograd.grad(-added, logits)
        estimate += alpha[position].detach() * grad
    close(estimate, exact)


def test_the_mean_of_many_draws_approaches_the_gradient() -> None:
    attention, rows = mechanism(), 200_000
    torch.manual_seed(0)
    logits = torch.tensor([0.3, -1.2, 0.8, 0.1], dtype=torch.float64, requires_grad=True)
    gains = torch.tensor([-0.5, -2.0, -1.1, -0.2], dtype=torch.float64)
    alpha = logits.softmax(0)
    exact = (alpha * (gains - (alpha * gains).sum())).detach()
    weights_BTS = alpha.expand(rows, 1, 4)
    every_B = torch.zeros(rows, dtype=torch.bool)
    position_BT = attention._positions(weights_BTS.detach(), HardState(every_B))
    drawn = attention._drawn(weights_BTS, position_BT, every_B)
    added, _ = score_function(gains[position_BT], torch.ones(rows, 1, dtype=torch.bool), drawn, -1.0)
    (estimate,) = torch.autograd.grad(-added / rows, logits)
    close(estimate, exact, 6.0 / math.sqrt(rows))  # an estimate's deviation is below 1


def translator() -> Seq2Seq:
    """A small model with hard attention, whose context is fed into the recurrence."""
    section = ModelSection.model_validate(
        {
            "embedding": 3,
            "dropout": 0.0,
            "attention": {"type": "hard", "expected_share": 0.0, "entropy_weight": 0.0},
            "encoder": {"hidden": 4},
            "decoder": {"hidden": 5},
        }
    )
    torch.manual_seed(7)
    model = build_model(section, source_vocabulary=6, target_vocabulary=6, shared=True).double().train()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.8)
    return model


def path_loss(model: Seq2Seq, path: tuple[int, ...], baseline: float) -> tuple[Loss, Tensor]:
    """The loss with given draws, and the log-probability of these draws."""
    target_BT = torch.tensor([[5, 2]])
    mask_BT = torch.ones(1, 2, dtype=torch.bool)
    with drawing(path):
        decoded = model(torch.tensor([[4, 2]]), torch.ones(1, 2, dtype=torch.bool), torch.tensor([[1, 5]]))
    assert decoded.drawn is not None
    loss = training_loss(
        decoded.readout_BTR,
        target_BT,
        mask_BT,
        weight=model.output,
        bias=model.output_bias,
        smoothing=0.0,
        drawn=decoded.drawn,
        baseline=baseline,
    )
    scores_TV = model.logits(decoded.readout_BTR)[0].log_softmax(dim=1)
    close(scores_TV.gather(1, target_BT.t()).sum(), -2.0 * loss.cross_entropy)
    return loss, decoded.drawn.log_probability_BT.sum()


@pytest.mark.parametrize("baseline", [-1.5, 0.0])
def test_the_mean_estimate_is_the_gradient_for_two_steps_with_feedback(baseline: float) -> None:
    """Over the four paths of S = 2, T = 2: the mean of the estimates is the gradient of the expected log p(y)."""
    model = translator()
    parameters = list(model.parameters())
    estimate = [torch.zeros_like(parameter) for parameter in parameters]
    bound = torch.zeros((), dtype=torch.float64)
    for path in itertools.product(range(2), repeat=2):
        loss, log_probability = path_loss(model, path, baseline)
        share = log_probability.exp()
        for total, grad in zip(estimate, torch.autograd.grad(loss.total, parameters, retain_graph=True), strict=True):
            total += share.detach() * grad
        # Without the reward's term, whose gradient is what the estimate stands for.
        bound = bound + share * plain_loss(model, path)
    exact = torch.autograd.grad(bound, parameters)
    for found, wanted in zip(estimate, exact, strict=True):
        close(found, wanted)
    score = model.decoder.attention.score
    assert all(
        grad.abs().max() > 1e-4
        for parameter, grad in zip(parameters, exact, strict=True)
        if any(parameter is part for part in score.parameters())
    ), "there is something to be estimated"


def plain_loss(model: Seq2Seq, path: tuple[int, ...]) -> Tensor:
    """−log p(y) a token along a path, by torch's own functions."""
    with drawing(path):
        decoded = model(torch.tensor([[4, 2]]), torch.ones(1, 2, dtype=torch.bool), torch.tensor([[1, 5]]))
    return torch.nn.functional.cross_entropy(model.logits(decoded.readout_BTR)[0], torch.tensor([5, 2]))


def test_a_reward_counts_the_words_from_its_draw_on() -> None:
    """Hand-worked: gains −1, −2, −4 with b = −2 leave 1, 0, −2, hence rewards −1, −2, −2; the second row is padded."""
    attention = mechanism(entropy_weight=0.5)
    weights_BTS = torch.full((2, 3, 2), 0.5, dtype=torch.float64)
    drawn = attention._drawn(weights_BTS, torch.zeros(2, 3, dtype=torch.long), torch.tensor([False, False]))
    logs_BT = drawn.log_probability_BT.clone().requires_grad_()
    drawn = replace(drawn, log_probability_BT=logs_BT)
    gains_BT = torch.tensor([[-1.0, -2.0, -4.0], [-3.0, 9.0, 9.0]], dtype=torch.float64)
    mask_BT = torch.tensor([[True, True, True], [True, False, False]])
    added, figures = score_function(gains_BT, mask_BT, drawn, -2.0)
    (grad,) = torch.autograd.grad(added, logs_BT)
    close(grad, torch.tensor([[1.0, 2.0, 2.0], [1.0, 0.0, 0.0]], dtype=torch.float64))
    close(added, torch.tensor(-6.0 * math.log(2.0) - 0.5 * 4 * math.log(2.0), dtype=torch.float64))
    close(figures["reward"], torch.tensor(-2.5, dtype=torch.float64))
    close(figures["entropy"], torch.tensor(math.log(2.0), dtype=torch.float64))


def test_a_sentence_whose_expectation_is_taken_has_no_reward() -> None:
    attention = mechanism()
    weights_BTS = torch.full((2, 1, 2), 0.5, dtype=torch.float64, requires_grad=True)
    drawn = attention._drawn(weights_BTS, torch.zeros(2, 1, dtype=torch.long), torch.tensor([True, False]))
    gains_BT = torch.tensor([[-1.0], [-3.0]], dtype=torch.float64)
    added, figures = score_function(gains_BT, torch.ones(2, 1, dtype=torch.bool), drawn, 0.0)
    (grad,) = torch.autograd.grad(added, weights_BTS)
    assert (grad[0] == 0).all()
    assert grad[1].any()
    close(figures["reward"], gains_BT[1, 0])


# Expectation and entropy


def test_the_expectation_is_soft_attention() -> None:
    attention = mechanism()
    soft = SoftAttention(query_width=WIDTH, key_width=WIDTH, hidden=3, normalizer=softmax).double()
    soft.load_state_dict(attention.state_dict())
    parts, values = question(), torch.randn(3, 2, WIDTH, dtype=torch.float64)
    found = ask(attention, parts, expected_B=torch.ones(3, dtype=torch.bool))
    expected = ask(soft, parts)
    close(found.weights_BHTS, expected.weights_BHTS)
    pairs = zip(
        torch.autograd.grad((found.context_BTD * values).sum(), list(attention.parameters())),
        torch.autograd.grad((expected.context_BTD * values).sum(), list(soft.parameters())),
        strict=True,
    )
    for a, b in pairs:
        close(a, b)


def test_a_sentence_is_drawn_or_expected_as_a_whole() -> None:
    torch.manual_seed(0)
    attention = mechanism(expected_share=0.25)
    query_BTQ, states_BSD, mask_BS = question(rows=4000, steps=3)
    memory = attention.remember(states_BSD, mask_BS)
    state, steps = attention.initial_state(memory), []
    for query_BQ in query_BTQ.unbind(1):
        steps.append(attention(query_BQ.unsqueeze(1), memory, state))
        state = steps[-1].state
    one_hot_BT = torch.cat([step.weights_BHTS for step in steps], dim=2)[:, 0].amax(dim=2) == 1.0
    assert (one_hot_BT == one_hot_BT[:, :1]).all()
    assert abs(one_hot_BT[:, 0].double().mean().item() - 0.75) < 6 * math.sqrt(0.25 * 0.75 / 4000)
    assert one_hot_BT[:, 0].equal(steps[0].drawn.drawn_B)


def test_the_entropy_is_that_of_the_distribution() -> None:
    attention = mechanism()
    parts = question()
    attended = ask(attention, parts)
    scores_BTS = attention.score(parts[0], attention.score.project(parts[1]))
    for row in range(3):
        real = scores_BTS[row][:, parts[2][row]]
        close(attended.drawn.entropy_BT[row], torch.distributions.Categorical(logits=real).entropy())


# The draws


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5), st.integers(0, 3))
def test_draws_come_as_often_as_their_weight_says(weights: list[float], padding: int) -> None:
    total = sum(weights)
    if total < 1e-3:
        return
    weights_S = torch.tensor(weights + [0.0] * padding, dtype=torch.float64) / total
    count = 1000
    uniform_T = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    found_T = draw(weights_S.expand(1, count, -1), uniform_T.unsqueeze(0))[0]
    shares_S = torch.bincount(found_T, minlength=len(weights_S)) / count
    close(shares_S.double(), weights_S, 1.5 / count)
    assert (weights_S[found_T] > 0).all()


@pytest.mark.parametrize("edge", [0.0, 1.0 - 2.0**-53])
def test_no_edge_draws_what_has_no_weight(edge: float) -> None:
    weights_BTS = torch.tensor([[[0.0, 0.3, 0.7, 0.0]]])
    position = draw(weights_BTS, torch.tensor([[edge]], dtype=torch.float64))
    assert position.item() == (1 if edge == 0.0 else 2)
    assert draw(torch.zeros(1, 1, 3), torch.tensor([[edge]], dtype=torch.float64)).item() == 0


def test_outside_training_the_most_probable_position_is_read() -> None:
    attention = mechanism().eval()
    parts = question()
    attended = ask(attention, parts)
    weights_BTS = softmax(attention.score(parts[0], attention.score.project(parts[1])), parts[2])
    assert attended.drawn is None
    assert attended.weights_BHTS[:, 0].argmax(dim=2).equal(weights_BTS.argmax(dim=2))
    close(attended.context_BTD, torch.einsum("bts,bsd->btd", attended.weights_BHTS[:, 0], parts[1]))


def test_what_is_drawn_depends_on_seed_and_step_alone() -> None:
    attention = mechanism().eval()
    query_BTQ, states_BSD, mask_BS = question(rows=60, steps=4)
    lines = seeds(1, torch.arange(60))
    whole = ask(attention, (query_BTQ, states_BSD, mask_BS), seed_B=lines).weights_BHTS
    order = torch.randperm(60, generator=torch.Generator().manual_seed(3))
    moved = ask(attention, (query_BTQ[order], states_BSD[order], mask_BS[order]), seed_B=lines[order])
    assert moved.weights_BHTS.equal(whole[order])
    memory = attention.remember(states_BSD, mask_BS)
    state, steps = HardState(seed_B=lines), []
    for query_BQ in query_BTQ.unbind(1):
        steps.append(attention(query_BQ.unsqueeze(1), memory, state))
        state = steps[-1].state
    assert torch.cat([step.weights_BHTS for step in steps], dim=2).equal(whole)
    other = ask(attention, (query_BTQ, states_BSD, mask_BS), seed_B=seeds(2, torch.arange(60))).weights_BHTS
    assert not other.equal(whole)
    assert (whole.sum(dim=-1) == 1.0).all()


def test_draws_outside_training_follow_the_weights() -> None:
    attention, rows = mechanism().eval(), 20_000
    query_BTQ, states_BSD, mask_BS = (part[:1].expand(rows, *part.shape[1:]) for part in question())
    attended = ask(attention, (query_BTQ, states_BSD, mask_BS), seed_B=seeds(5, torch.arange(rows)))
    weights_BTS = softmax(attention.score(query_BTQ[:1], attention.score.project(states_BSD[:1])), mask_BS[:1])
    close(attended.weights_BHTS[:, 0].mean(dim=0), weights_BTS[0], 6 * 0.5 / math.sqrt(rows))
