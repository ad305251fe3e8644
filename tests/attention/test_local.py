"""Local attention: its window against plain loops, a gathered step against all steps at once, and what a step costs."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from nmt.attention.base import Attended, Memory
from nmt.attention.local import LocalAttention, LocalState
from nmt.attention.normalizers import NORMALIZERS
from nmt.attention.scores import SCORES

WIDTH, HIDDEN, ROWS = 6, 5, 25
"""ROWS: of the score location; fewer than the longest source here."""

both_variants = pytest.mark.parametrize("predict", [False, True], ids=["local_m", "local_p"])
too_long = pytest.mark.filterwarnings("ignore:a source is longer than")


def build(
    predict: bool, window: int, score: str = "general", normalizer: str = "softmax", dtype: torch.dtype = torch.float64
) -> LocalAttention:
    """With centres, where they are predicted, all over the sentence."""
    attention = LocalAttention(
        score=SCORES[score](WIDTH, WIDTH, HIDDEN, ROWS),
        query_width=WIDTH,
        key_width=WIDTH,
        hidden=HIDDEN,
        window=window,
        predict=predict,
        normalizer=NORMALIZERS[normalizer],
    )
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.normal_(std=0.5, generator=generator)
        if attention.outer is not None:
            attention.outer.weight *= 4.0
    return attention.to(dtype).eval()


def question(lengths: Sequence[int], steps: int, source: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, states and mask; something stands on padding, too."""
    generator = torch.Generator().manual_seed(1)
    mask_BS = torch.arange(source or max(lengths)).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)
    query_BTQ = torch.randn(len(lengths), steps, WIDTH, generator=generator, dtype=torch.float64)
    return query_BTQ, torch.randn(*mask_BS.shape, WIDTH, generator=generator, dtype=torch.float64), mask_BS


def one_by_one(attention: LocalAttention, query_BTQ: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
    """Contexts and weights, step by step."""
    state, steps = attention.initial_state(memory), []
    for query_BQ in query_BTQ.unbind(1):
        steps.append(attention(query_BQ.unsqueeze(1), memory, state))
        state = steps[-1].state
    weights = [step.weights_BHTS for step in steps]
    return torch.cat([step.context_BTD for step in steps], dim=1), torch.cat(weights, dim=2)


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-12) -> None:
    torch.testing.assert_close(found, expected, rtol=0.0, atol=tolerance)


# What the weights are


def by_loops(attention: LocalAttention, query_BTQ: Tensor, states_BSD: Tensor, lengths: Sequence[int]) -> Tensor:
    """The equations with the general score, position by position."""
    weights_BTS = torch.zeros(*query_BTQ.shape[:2], states_BSD.shape[1], dtype=torch.float64)
    for row, length in enumerate(lengths):
        for step, query_Q in enumerate(query_BTQ[row]):
            centre = float(step)
            if attention.inner is not None and attention.outer is not None:
                inner, outer = attention.inner.weight, attention.outer.weight[0]
                centre = length * float(torch.sigmoid(outer @ torch.tanh(inner @ query_Q)))
            near = [place for place in range(length) if abs(place - centre) <= attention.window]
            scores = [float(query_Q @ attention.score.key.weight @ states_BSD[row, place]) for place in near]
            for place, score in zip(near, scores, strict=True):
                weight = math.exp(score) / sum(map(math.exp, scores))
                if attention.inner is not None:
                    weight *= math.exp(-((place - centre) ** 2) / (2 * (attention.window / 2) ** 2))
                weights_BTS[row, step, place] = weight
    return weights_BTS


@both_variants
@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 14), min_size=1, max_size=3),
    padding=st.integers(0, 2),
    window=st.integers(1, 4),
    steps=st.integers(1, 16),
)
def test_weights_are_those_of_the_equations(
    predict: bool, lengths: list[int], padding: int, window: int, steps: int
) -> None:
    attention = build(predict, window)
    query_BTQ, states_BSD, mask_BS = question(lengths, steps, max(*lengths, 1) + padding)
    with torch.no_grad():
        memory = attention.remember(states_BSD, mask_BS)
        together: Attended = attention(query_BTQ, memory)
        expected_BTS = by_loops(attention, query_BTQ, states_BSD, lengths)
        for context_BTD, weights_BHTS in (
            (together.context_BTD, together.weights_BHTS),
            one_by_one(attention, query_BTQ, memory),
        ):
            close(weights_BHTS[:, 0], expected_BTS, 1e-10)
            assert (weights_BHTS[:, 0] != 0).equal(expected_BTS != 0), "exactly 0 outside"
            close(context_BTD, torch.einsum("bts,bsd->btd", expected_BTS, states_BSD), 1e-10)


@pytest.mark.parametrize("source", [6, 12], ids=["dense", "gathered"])
def test_the_gaussian_is_not_made_up_for(source: int) -> None:
    """A query of zeros: equal scores, and p = 6 · sigmoid(0) = 3; D = 4 gives σ = 2."""
    attention = build(True, 4)
    query_BTQ, states_BSD, mask_BS = question([6], 1, source)
    attended: Attended = attention(0.0 * query_BTQ, attention.remember(states_BSD, mask_BS))
    gaussian = [math.exp(-9 / 8), math.exp(-1 / 2), math.exp(-1 / 8), 1.0, math.exp(-1 / 8), math.exp(-1 / 2)]
    expected_S = torch.tensor(gaussian, dtype=torch.float64) / 6
    close(attended.weights_BHTS[0, 0, 0, :6], expected_S)
    assert attended.weights_BHTS.sum().item() == pytest.approx(0.7171, abs=1e-4)


@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("source", [4, 30], ids=["dense", "gathered"])
def test_a_window_past_the_end_reads_nothing(normalizer: str, source: int) -> None:
    attention = build(False, 2, normalizer=normalizer)
    query_BTQ, states_BSD, mask_BS = question([4], 9, source)
    states_BSD.requires_grad_()
    context_BTD, weights_BHTS = one_by_one(attention, query_BTQ, attention.remember(states_BSD, mask_BS))
    total_T = weights_BHTS[0, 0].sum(dim=-1)
    close(total_T, torch.tensor([1.0] * 6 + [0.0] * 3, dtype=torch.float64), 1e-6)
    assert (weights_BHTS[:, :, 6:] == 0).all()
    assert (context_BTD[:, 6:] == 0).all()
    context_BTD.square().sum().backward()
    assert states_BSD.grad is not None
    assert states_BSD.grad.isfinite().all()


# One step, gathered, against all steps at once

LENGTHS, STEPS = (40, 33, 5, 0), 45


@too_long
@both_variants
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)], ids=str)
def test_gathered_steps_are_all_steps_at_once(predict: bool, score: str, dtype: torch.dtype, tolerance: float) -> None:
    attention = build(predict, 3, score, dtype=dtype)
    query_BTQ, states_BSD, mask_BS = question(LENGTHS, STEPS)
    memory = attention.remember(states_BSD.to(dtype), mask_BS)
    together: Attended = attention(query_BTQ.to(dtype), memory)
    context_BTD, weights_BHTS = one_by_one(attention, query_BTQ.to(dtype), memory)
    close(weights_BHTS, together.weights_BHTS, tolerance)
    close(context_BTD, together.context_BTD, tolerance * 5)


@too_long
@both_variants
@pytest.mark.parametrize("score", SCORES)
def test_gathered_steps_have_the_gradients_of_all_steps_at_once(predict: bool, score: str) -> None:
    attention = build(predict, 3, score)
    query_BTQ, states_BSD, mask_BS = question(LENGTHS, STEPS)
    leaves = [query_BTQ.requires_grad_(), states_BSD.requires_grad_(), *attention.parameters()]
    probe_BTD = question(LENGTHS, STEPS)[0].flip(1)
    gradients = []
    for gathered in (True, False):
        memory = attention.remember(states_BSD, mask_BS)
        context_BTD = (
            one_by_one(attention, query_BTQ, memory)[0] if gathered else attention(query_BTQ, memory).context_BTD
        )
        gradients.append(torch.autograd.grad((context_BTD * probe_BTD).sum(), leaves, materialize_grads=True))
    for found, expected in zip(*gradients, strict=True):
        close(found, expected, 1e-10)
    assert gradients[0][1][:, :, 0].ne(0).any(dim=1).tolist() == [True, True, True, False]


@both_variants
@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_every_normalizer_knows_the_window(predict: bool, normalizer: str) -> None:
    attention = build(predict, 3, normalizer=normalizer)
    query_BTQ, states_BSD, mask_BS = question(LENGTHS, STEPS)
    memory = attention.remember(states_BSD, mask_BS)
    together: Attended = attention(query_BTQ, memory)
    context_BTD, weights_BHTS = one_by_one(attention, query_BTQ, memory)
    close(weights_BHTS, together.weights_BHTS, 1e-6)
    close(context_BTD, together.context_BTD, 1e-5)
    centre_BT1 = attention.centre(query_BTQ, attention.initial_state(memory)).unsqueeze(2)
    outside_BTS = (torch.arange(mask_BS.shape[1]) - centre_BT1).abs() > 3
    assert (weights_BHTS[:, 0][outside_BTS] == 0).all()


# What a step costs


class Recorded(TorchDispatchMode):
    """Every operation, and the shape of what it makes."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[str, tuple[int, ...]]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        self.made.append((str(function), tuple(made.shape) if isinstance(made, Tensor) else ()))
        return made


@too_long
@both_variants
@pytest.mark.parametrize("score", SCORES)
def test_a_step_costs_the_same_whatever_the_source(predict: bool, score: str) -> None:
    attention = build(predict, 3, score)
    made = []
    for source in (37, 370):
        query_BTQ, states_BSD, mask_BS = question([source, 36], 1)
        memory = attention.remember(states_BSD, mask_BS)
        state = attention.initial_state(memory)
        with torch.inference_mode(), Recorded() as recorded:
            assert attention(query_BTQ, memory, state, need_weights=False).weights_BHTS is None
        made.append(recorded.made)
    assert made[0] == made[1]
    assert max(math.prod(shape) for _, shape in made[0]) <= 2 * (2 * 3 + 1) * WIDTH


@too_long
@both_variants
@pytest.mark.parametrize("score", SCORES)
def test_a_step_does_not_touch_what_is_outside(predict: bool, score: str) -> None:
    attention = build(predict, 3, score)
    query_BTQ, states_BSD, mask_BS = question((40, 33), 1)
    memory = attention.remember(states_BSD, mask_BS)
    state = LocalState(torch.tensor([20, 31]), mask_BS.sum(dim=1))
    centre_BT = attention.centre(query_BTQ, state)
    far_BS1 = ((torch.arange(40) - centre_BT).abs() > 2 * 3 + 1).unsqueeze(2)
    broken = Memory(
        memory.keys_BSK.masked_fill(far_BS1, torch.nan), memory.values_BSD.masked_fill(far_BS1, torch.nan), mask_BS
    )
    before: Attended = attention(query_BTQ, memory, state)
    after: Attended = attention(query_BTQ, broken, state)
    assert after.context_BTD.equal(before.context_BTD)
    assert attention(query_BTQ, broken, state, need_weights=False).context_BTD.equal(before.context_BTD)


@too_long
@both_variants
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("steps", [1, 4], ids=["gathered", "dense"])
def test_no_step_waits_for_a_number(predict: bool, score: str, steps: int) -> None:
    """A fake tensor has no numbers: to ask it for its value is an error."""
    attention = build(predict, 3, score)
    with FakeTensorMode(allow_non_fake_inputs=True) as fake:
        query_BTQ, states_BSD, mask_BS = (fake.from_tensor(part) for part in question((40, 33), steps))
        attended: Attended = attention(query_BTQ, attention.remember(states_BSD, mask_BS))
    assert attended.context_BTD.shape == (2, steps, WIDTH)


def test_location_warns_of_a_source_that_is_too_long_though_a_step_does_not_see_it() -> None:
    attention = build(False, 3, "location")
    _, states_BSD, mask_BS = question([ROWS + 1], 1)
    with pytest.warns(UserWarning, match="max_source_positions"):
        attention.remember(states_BSD, mask_BS)


# The state, and precision


@both_variants
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("source", [7, 30], ids=["dense", "gathered"])
def test_the_state_counts_steps_and_keeps_the_length(predict: bool, need_weights: bool, source: int) -> None:
    attention = build(predict, 3)
    query_BTQ, states_BSD, mask_BS = question([5, source], 4)
    memory = attention.remember(states_BSD, mask_BS)
    state = attention(query_BTQ, memory, None, need_weights=need_weights).state
    state = attention(query_BTQ[:, :1], memory, state, need_weights=need_weights).state
    assert state.step_B.tolist() == [5, 5]
    assert state.length_B.tolist() == [5, source]
    assert state.step_B.dtype == torch.int64


@both_variants
def test_a_reordered_state_goes_on_as_those_rows(predict: bool) -> None:
    attention = build(predict, 3)
    query_BTQ, states_BSD, mask_BS = question(LENGTHS, 1)
    memory = attention.remember(states_BSD, mask_BS)
    state = LocalState(torch.tensor([17, 4, 2, 9]), mask_BS.sum(dim=1))
    index = torch.tensor([1, 0, 0, 3, 2])
    before: Attended = attention(query_BTQ, memory, state)
    after: Attended = attention(query_BTQ[index], memory.reorder(index), state.reorder(index))
    close(after.context_BTD, before.context_BTD[index])
    close(after.weights_BHTS, before.weights_BHTS[index])
    assert isinstance(after.state, LocalState)
    assert after.state.step_B.tolist() == [5, 18, 18, 10, 3]
    assert after.state.length_B.tolist() == [33, 40, 40, 0, 5]


@both_variants
def test_centre_and_window_are_exact_under_autocast(predict: bool) -> None:
    """bfloat16 knows no odd number above 256."""
    attention = build(predict, 3, dtype=torch.float32)
    query_BTQ, states_BSD, mask_BS = question([1000] * 4, 1)
    memory = attention.remember(states_BSD.float(), mask_BS)
    state = LocalState(torch.tensor([301, 555, 777, 901]), mask_BS.sum(dim=1))
    exact: Attended = attention(query_BTQ.float(), memory, state)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        centre_BT = attention.centre(query_BTQ.float(), state)
        rough: Attended = attention(query_BTQ.float(), memory, state)
    assert centre_BT.equal(attention.centre(query_BTQ.float(), state))
    assert (rough.weights_BHTS > 0).equal(exact.weights_BHTS > 0)
    assert rough.weights_BHTS.dtype == torch.float32
    close(rough.weights_BHTS, exact.weights_BHTS, 0.05)


def test_attention_without_a_state_starts_at_the_first_step() -> None:
    attention = build(False, 1)
    query_BTQ, states_BSD, mask_BS = question([9], 4)
    found: Attended = attention(query_BTQ, attention.remember(states_BSD, mask_BS))
    assert (found.weights_BHTS[0, 0] > 0).sum(dim=1).tolist() == [2, 3, 3, 3]
