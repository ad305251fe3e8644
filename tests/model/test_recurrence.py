"""The hand-written recurrences against torch's own GRU, a plain loop, and numeric derivatives."""

from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from nmt.model.additive_recurrence import additive_sequence
from nmt.model.recurrence import FROZEN, gru_sequence, gru_step

BF16_TOLERANCE = 0.03
"""Largest difference of a state in bfloat16: products of values about 1 with 8 bits each, over a dozen steps."""

Numbers = dict[str, Tensor]


def draw(shapes: dict[str, tuple[int, ...]], seed: int = 0, dtype: torch.dtype = torch.float64) -> Numbers:
    generator = torch.Generator().manual_seed(seed)
    return {
        name: (0.7 * torch.randn(shape, generator=generator, dtype=dtype)).requires_grad_()
        for name, shape in shapes.items()
    }


def gru_parts(steps: int, directions: int, batch: int, width: int) -> dict[str, tuple[int, ...]]:
    return {
        "inputs": (steps, directions, batch, 3 * width),
        "initial": (directions, batch, width),
        "weight": (directions, 3 * width, width),
        "bias": (directions, 3 * width),
    }


def additive_parts(
    steps: int, batch: int, source: int, *, width: int, score: int, values: int
) -> dict[str, tuple[int, ...]]:
    return {
        "inputs_TBG": (steps, batch, 3 * width),
        "initial_BH": (batch, width),
        "keys_BSA": (batch, source, score),
        "values_BSV": (batch, source, values),
        "query_AH": (score, width),
        "energy_A": (score,),
        "context_GV": (3 * width, values),
        "weight_GH": (3 * width, width),
        "bias_G": (3 * width,),
    }


def additive(parts: Numbers, mask_BS: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    rest = {name: part for name, part in parts.items() if name not in ("inputs_TBG", "initial_BH")}
    return additive_sequence(parts["inputs_TBG"], parts["initial_BH"], mask_BS=mask_BS, **rest)


def mask_of(lengths: Sequence[int], source: int) -> Tensor:
    return torch.arange(source).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)


def plain_loop(parts: Numbers, mask_BS: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Bahdanau's recurrence sentence by sentence, step by step, over the real tokens alone, with torch's GRU cell."""
    columns = []
    no_input_bias = torch.zeros_like(parts["bias_G"])
    identity = torch.eye(len(no_input_bias), dtype=no_input_bias.dtype)
    for row, real_S in enumerate(mask_BS):
        keys_SA, values_SV = parts["keys_BSA"][row, real_S], parts["values_BSV"][row, real_S]
        state_1H, states, contexts, weights = parts["initial_BH"][row : row + 1], [], [], []
        for inputs_BG in parts["inputs_TBG"]:
            scores_S = torch.tanh(state_1H @ parts["query_AH"].t() + keys_SA) @ parts["energy_A"]
            weight_S = torch.softmax(scores_S, dim=0)
            context_V = weight_S @ values_SV
            gates_1G = (inputs_BG[row] + parts["context_GV"] @ context_V).unsqueeze(0)
            state_1H = torch.gru_cell(gates_1G, state_1H, identity, parts["weight_GH"], no_input_bias, parts["bias_G"])
            states.append(state_1H.squeeze(0))
            contexts.append(context_V)
            weights.append(torch.zeros(len(real_S), dtype=weight_S.dtype).masked_scatter(real_S, weight_S))
        columns.append((torch.stack(states), torch.stack(contexts), torch.stack(weights)))
    states_TBH, contexts_TBV, weights_TBS = (torch.stack(part, dim=1) for part in zip(*columns, strict=True))
    return states_TBH, contexts_TBV, weights_TBS


def gradients(outputs: Sequence[Tensor], leaves: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The gradient of a sum of the outputs with different factors at each place."""
    generator = torch.Generator().manual_seed(9)
    total = sum(
        (output * torch.randn(output.shape, generator=generator, dtype=torch.float64).to(output.dtype)).sum()
        for output in outputs
    )
    assert isinstance(total, Tensor)
    return torch.autograd.grad(total, leaves, retain_graph=True)


def close(found: Sequence[Tensor], expected: Sequence[Tensor], tolerance: float = 1e-10) -> None:
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=0.0, atol=tolerance)


# gru_sequence


@pytest.mark.parametrize(("steps", "directions"), [(1, 1), (7, 1), (7, 2)])
def test_gru_sequence_is_torchs_gru(steps: int, directions: int) -> None:
    torch.manual_seed(0)
    width, batch = 5, 3
    oracles = [nn.GRU(4, width).double() for _ in range(directions)]
    words_TBI = torch.randn(steps, batch, 4, dtype=torch.float64, requires_grad=True)
    initial_DBH = torch.randn(directions, batch, width, dtype=torch.float64, requires_grad=True)
    inputs = [nn.functional.linear(words_TBI, gru.weight_ih_l0, gru.bias_ih_l0) for gru in oracles]
    found_TDBH = gru_sequence(
        torch.stack(inputs, dim=1),
        initial_DBH,
        torch.stack([gru.weight_hh_l0 for gru in oracles]),
        torch.stack([gru.bias_hh_l0 for gru in oracles]),
    )
    expected = [
        gru(words_TBI, initial_BH.unsqueeze(0))[0] for gru, initial_BH in zip(oracles, initial_DBH, strict=True)
    ]
    expected_TDBH = torch.stack(expected, dim=1)
    leaves = [words_TBI, initial_DBH, *(parameter for gru in oracles for parameter in gru.parameters())]
    close([found_TDBH], [expected_TDBH])
    close(gradients([found_TDBH], leaves), gradients([expected_TDBH], leaves))


def test_gru_step_is_torchs_gru_cell() -> None:
    torch.manual_seed(0)
    cell = nn.GRUCell(4, 5).double()
    word_BI, hidden_BH = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 5, dtype=torch.float64)
    inputs_BG = nn.functional.linear(word_BI, cell.weight_ih, cell.bias_ih)
    close([gru_step(inputs_BG, hidden_BH, cell.weight_hh, cell.bias_hh)], [cell(word_BI, hidden_BH)])


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 3), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.integers(0, 99))
def test_gru_sequence_gradients_are_the_numeric_ones(
    steps: int, directions: int, batch: int, width: int, seed: int
) -> None:
    parts = draw(gru_parts(steps, directions, batch, width), seed)
    assert torch.autograd.gradcheck(gru_sequence, tuple(parts.values()))


def test_last_state_alone_has_the_right_gradients() -> None:
    parts = draw(gru_parts(4, 1, 2, 3))
    assert torch.autograd.gradcheck(lambda *values: gru_sequence(*values)[-1], tuple(parts.values()))


def test_a_frozen_step_keeps_the_state_and_has_no_gradient() -> None:
    parts = draw(gru_parts(4, 1, 2, 3))
    frozen_TB = torch.tensor([[False, True], [True, True], [False, False], [True, False]])
    update = slice(3, 6)
    inputs = parts["inputs"].detach().clone()
    inputs[..., update] = inputs[..., update].masked_fill(frozen_TB[:, None, :, None], FROZEN)
    inputs.requires_grad_()
    states_TBH = gru_sequence(inputs, parts["initial"], parts["weight"], parts["bias"]).squeeze(1)
    before_TBH = torch.cat([parts["initial"], states_TBH[:-1]])
    assert states_TBH[frozen_TB].equal(before_TBH[frozen_TB])
    assert not (states_TBH == before_TBH)[~frozen_TB].any()
    (grad,) = gradients([states_TBH], [inputs])
    assert (grad.squeeze(1)[frozen_TB] == 0).all()
    assert grad.squeeze(1)[~frozen_TB].all()


def test_the_gradient_goes_through_frozen_steps_whole() -> None:
    parts = draw(gru_parts(3, 1, 2, 3))
    inputs = parts["inputs"].detach().clone()
    inputs[..., 3:6] = FROZEN
    states_TDBH = gru_sequence(inputs, parts["initial"], parts["weight"], parts["bias"])
    (grad,) = torch.autograd.grad(states_TDBH[-1].sum(), [parts["initial"]])
    assert grad.equal(torch.ones_like(grad))


# additive_sequence


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 4), st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(0, 99))
def test_additive_sequence_is_the_plain_loop(steps: int, lengths: list[int], seed: int) -> None:
    parts = draw(additive_parts(steps, len(lengths), 5, width=4, score=3, values=6), seed)
    mask_BS = mask_of(lengths, 5)
    found, expected = additive(parts, mask_BS), plain_loop(parts, mask_BS)
    close(found, expected)
    leaves = list(parts.values())
    for count in (1, 2, 3):
        close(gradients(found[:count], leaves), gradients(expected[:count], leaves))


def test_additive_sequence_with_holes_in_the_mask() -> None:
    parts = draw(additive_parts(3, 2, 4, width=4, score=3, values=6))
    mask_BS = torch.tensor([[False, True, False, True], [True, False, True, True]])
    close(additive(parts, mask_BS), plain_loop(parts, mask_BS))


@pytest.mark.parametrize("output", [0, 1, 2], ids=["states", "contexts", "weights"])
def test_each_result_of_additive_sequence_alone_has_the_right_gradients(output: int) -> None:
    parts = draw(additive_parts(4, 2, 3, width=4, score=3, values=6))
    mask_BS, leaves = mask_of((3, 2), 3), list(parts.values())
    found, expected = additive(parts, mask_BS)[output], plain_loop(parts, mask_BS)[output]
    close(gradients([found], leaves), gradients([expected], leaves))


@pytest.mark.parametrize("lengths", [(3, 2, 0), (0, 0, 0)], ids=["one row empty", "all rows empty"])
def test_additive_sequence_gradients_are_the_numeric_ones(lengths: Sequence[int]) -> None:
    parts = draw(additive_parts(3, 3, 3, width=2, score=3, values=2))
    mask_BS = mask_of(lengths, 3)

    def compute(*values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return additive(dict(zip(parts, values, strict=True)), mask_BS)

    assert torch.autograd.gradcheck(compute, tuple(parts.values()))


def test_padding_has_no_weight_and_no_gradient() -> None:
    parts = draw(additive_parts(3, 3, 4, width=4, score=3, values=6))
    mask_BS = mask_of((4, 2, 0), 4)
    states_TBH, contexts_TBV, weights_TBS = additive(parts, mask_BS)
    assert (weights_TBS[:, ~mask_BS] == 0).all()
    assert (contexts_TBV[:, 2] == 0).all()
    for grad in gradients([states_TBH, contexts_TBV, weights_TBS], [parts["keys_BSA"], parts["values_BSV"]]):
        assert (grad[~mask_BS] == 0).all()
        assert grad[mask_BS].any(dim=-1).all()


# Both


def gru_of(parts: Numbers, mask_BS: Tensor) -> tuple[Tensor, ...]:
    return (gru_sequence(*parts.values()),)


BOTH: list[tuple[Callable[[Numbers, Tensor], tuple[Tensor, ...]], dict[str, tuple[int, ...]]]] = [
    (gru_of, gru_parts(12, 2, 4, 16)),
    (additive, additive_parts(12, 4, 6, width=16, score=16, values=16)),
]
both = pytest.mark.parametrize(("compute", "shapes"), BOTH, ids=["gru", "additive"])
MASK_BS = mask_of((6, 4, 1, 0), 6)


@both
def test_without_gradients_the_numbers_are_the_same(
    compute: Callable[[Numbers, Tensor], tuple[Tensor, ...]], shapes: dict[str, tuple[int, ...]]
) -> None:
    parts = draw(shapes)
    expected = compute(parts, MASK_BS)
    with torch.inference_mode():
        close(compute(parts, MASK_BS), expected, 0.0)


@both
def test_nothing_is_written_over(
    compute: Callable[[Numbers, Tensor], tuple[Tensor, ...]], shapes: dict[str, tuple[int, ...]]
) -> None:
    parts = draw(shapes)
    before = {name: part.detach().clone() for name, part in parts.items()}
    outputs = compute(parts, MASK_BS)
    kept = [output.detach().clone() for output in outputs]
    gradients(outputs, list(parts.values()))
    assert all(part.equal(before[name]) for name, part in parts.items())
    assert all(output.equal(copy) for output, copy in zip(outputs, kept, strict=True))


@both
def test_a_second_backward_pass_gives_the_same(
    compute: Callable[[Numbers, Tensor], tuple[Tensor, ...]], shapes: dict[str, tuple[int, ...]]
) -> None:
    parts = draw(shapes)
    outputs, leaves = compute(parts, MASK_BS), list(parts.values())
    first = gradients(outputs, leaves)
    close(gradients(outputs, leaves), first, 0.0)


@both
def test_bfloat16_products_are_close_and_all_else_is_float32(
    compute: Callable[[Numbers, Tensor], tuple[Tensor, ...]], shapes: dict[str, tuple[int, ...]]
) -> None:
    parts = draw(shapes, dtype=torch.float32)
    parts = {name: (part.detach() / 4).requires_grad_() for name, part in parts.items()}
    leaves = list(parts.values())
    exact = compute(parts, MASK_BS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = compute(parts, MASK_BS)
    assert {output.dtype for output in rough} == {torch.float32}
    close(rough, exact, BF16_TOLERANCE)
    assert any(not a.equal(b) for a, b in zip(rough, exact, strict=True)), "the products did run in bfloat16"
    found, expected = gradients(rough, leaves), gradients(exact, leaves)
    for name, a, b in zip(parts, found, expected, strict=True):
        assert a.dtype == torch.float32, name
        assert torch.linalg.vector_norm(a - b) <= BF16_TOLERANCE * torch.linalg.vector_norm(b), name
