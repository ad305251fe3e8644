"""Attention over attention against its formulas in plain loops, however the steps are cut into calls and blocks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import entmax
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nmt.attention import attention_over_attention as module
from nmt.attention.attention_over_attention import AttentionOverAttention, PrefixState, prefix_weights
from nmt.attention.base import Attended
from nmt.attention.normalizers import NORMALIZERS
from nmt.errors import ConfigError

WIDTH, STEPS = 4, 7
LENGTHS = (5, 3, 1, 0)
"""Real tokens of each sentence; the last one has none at all."""
ONE_STEP = len(LENGTHS) * max(LENGTHS) * STEPS
"""The most numbers in the block of one step."""

BLOCKS = {"one step": 1, "two steps": 2 * ONE_STEP, "all steps": STEPS * ONE_STEP}
every_block = pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS.keys())
every_normalizer = pytest.mark.parametrize("normalizer", NORMALIZERS)

PLAIN = {
    "softmax": lambda scores: torch.softmax(scores, dim=0),
    "sparsemax": lambda scores: entmax.sparsemax(scores, dim=0),
    "entmax15": lambda scores: entmax.entmax15(scores, dim=0),
}


def build(normalizer: str = "softmax") -> AttentionOverAttention:
    return AttentionOverAttention(query_width=WIDTH, key_width=WIDTH, normalizer=NORMALIZERS[normalizer])


def question(steps: int = STEPS) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, states and mask; large numbers on padding."""
    generator = torch.Generator().manual_seed(11)
    mask_BS = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1)
    query_BTQ = torch.randn(len(LENGTHS), steps, WIDTH, generator=generator, dtype=torch.float64)
    states_BSD = torch.randn(*mask_BS.shape, WIDTH, generator=generator, dtype=torch.float64)
    return query_BTQ, states_BSD.masked_fill(~mask_BS.unsqueeze(2), 50.0), mask_BS


def ask(attention: AttentionOverAttention, query_BTQ: Tensor, states_BSD: Tensor, mask_BS: Tensor) -> Attended:
    return attention(query_BTQ, attention.remember(states_BSD, mask_BS))


def close(found: Tensor | None, expected: Tensor | None, tolerance: float = 1e-10) -> None:
    assert found is not None
    assert expected is not None
    torch.testing.assert_close(found, expected, rtol=0.0, atol=tolerance)


def by_loops(normalizer: str, query_BTQ: Tensor, states_BSD: Tensor, mask_BS: Tensor) -> tuple[Tensor, Tensor]:
    """Weights [B, T, S] and contexts [B, T, D] as the paper writes them, over real positions alone."""
    normalize = PLAIN[normalizer]
    weights: list[list[Tensor]] = []
    for query_TQ, states_SD, mask_S in zip(query_BTQ, states_BSD, mask_BS, strict=True):
        real = [i for i in range(len(mask_S)) if mask_S[i]]
        weights.append([])
        for t in range(len(query_TQ)):
            row_S = torch.zeros(len(mask_S), dtype=torch.float64)
            if real:
                scores = {(i, j): states_SD[i] @ query_TQ[j] for i in real for j in range(t + 1)}
                alpha = [normalize(torch.stack([scores[i, j] for i in real])) for j in range(t + 1)]
                beta = [normalize(torch.stack([scores[i, j] for j in range(t + 1)])) for i in real]
                for number, i in enumerate(real):
                    for j in range(t + 1):
                        share = sum(beta_i[j] for beta_i in beta) / len(real)
                        row_S = row_S + share * alpha[j][number] * torch.eye(len(mask_S), dtype=torch.float64)[i]
            weights[-1].append(row_S)
    weights_BTS = torch.stack([torch.stack(rows) for rows in weights])
    return weights_BTS, torch.einsum("bts,bsd->btd", weights_BTS, states_BSD)


# The formulas


@every_block
@every_normalizer
def test_weights_context_and_gradients_are_those_of_the_loops(
    normalizer: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK_ELEMENTS", block)
    query_BTQ, states_BSD, mask_BS = question()
    gradients = []
    for answer in (
        lambda query, states: by_loops(normalizer, query, states, mask_BS),
        lambda query, states: (
            (attended := ask(build(normalizer), query, states, mask_BS)).weights_BHTS[:, 0],  # type: ignore[index]
            attended.context_BTD,
        ),
    ):
        leaves = [query_BTQ.clone().requires_grad_(), states_BSD.clone().requires_grad_()]
        weights_BTS, context_BTD = answer(*leaves)
        (weights_BTS.square().sum() + context_BTD.cos().sum()).backward()
        gradients.append((weights_BTS.detach(), context_BTD.detach(), leaves[0].grad, leaves[1].grad))
    for expected, found in zip(*gradients, strict=True):
        close(found, expected)


@every_normalizer
def test_the_prefix_is_weighed_by_a_distribution_over_what_is_past(normalizer: str) -> None:
    query_BTQ, states_BSD, mask_BS = question()
    state = ask(build(normalizer), query_BTQ, states_BSD, mask_BS).state
    assert isinstance(state, PrefixState)
    beta_BTP = prefix_weights(state.scores_BPS, mask_BS, 3, NORMALIZERS[normalizer])
    assert beta_BTP.shape == (len(LENGTHS), 3, STEPS)
    for step in range(3):
        assert (beta_BTP[:, step, STEPS - 2 + step :] == 0).all()
    close(beta_BTP.sum(dim=2), mask_BS.any(dim=1).double().unsqueeze(1).expand(-1, 3))
    assert (beta_BTP[-1] == 0).all(), "no real source position, nothing to average"


def test_a_target_position_to_come_changes_nothing() -> None:
    query_BTQ, states_BSD, mask_BS = question()
    before = ask(build(), query_BTQ, states_BSD, mask_BS)
    after = ask(build(), torch.cat([query_BTQ[:, :4], 9.0 * query_BTQ[:, 4:]], dim=1), states_BSD, mask_BS)
    close(after.context_BTD[:, :4], before.context_BTD[:, :4])
    assert not torch.allclose(after.context_BTD[:, 4:], before.context_BTD[:, 4:])


# Calls and blocks


@every_block
@pytest.mark.parametrize("calls", [(1, 6), (6, 1), (3, 4), (2, 1, 4), (1,) * 7], ids=str)
def test_however_the_steps_are_cut_into_calls(
    calls: tuple[int, ...], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    query_BTQ, states_BSD, mask_BS = question()
    together = ask(build(), query_BTQ, states_BSD, mask_BS)
    monkeypatch.setattr(module, "BLOCK_ELEMENTS", block)
    attention = build()
    memory = attention.remember(states_BSD, mask_BS)
    state, parts = attention.initial_state(memory), []
    for part_BTQ in query_BTQ.split(list(calls), dim=1):
        parts.append(attention(part_BTQ, memory, state))
        assert isinstance(parts[-1].state, PrefixState)
        state = parts[-1].state
    close(torch.cat([part.context_BTD for part in parts], dim=1), together.context_BTD)
    close(
        torch.cat([part.weights_BHTS for part in parts if part.weights_BHTS is not None], dim=2), together.weights_BHTS
    )


def test_step_by_step_with_reordered_rows_as_in_beam_search() -> None:
    query_BTQ, states_BSD, mask_BS = question()
    attention, index = build(), torch.tensor([2, 0, 0, 1, 3])
    memory = attention.remember(states_BSD, mask_BS)
    state = attention(query_BTQ[:, :4], memory).state
    assert isinstance(state, PrefixState)
    memory, state, parts = memory.reorder(index), state.reorder(index), []
    later_NTQ = torch.cat([query_BTQ, -query_BTQ[:1]])[:, 4:]
    for query_NQ in later_NTQ.unbind(1):
        parts.append(attention(query_NQ.unsqueeze(1), memory, state))
        state = parts[-1].state
    whole_NTQ = torch.cat([query_BTQ[index, :4], later_NTQ], dim=1)
    expected = ask(attention, whole_NTQ, states_BSD[index], mask_BS[index])
    close(torch.cat([part.context_BTD for part in parts], dim=1), expected.context_BTD[:, 4:])


class Largest(TorchDispatchMode):
    """Watches every operation, those of the backward pass included, for the largest tensor that one makes."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else [made]:
            if isinstance(tensor, Tensor):
                # A view that repeats, as expand makes, takes no room of its own.
                room = tensor.untyped_storage().nbytes() // tensor.element_size()
                self.numbers = max(self.numbers, min(tensor.numel(), room))
        return made


@contextmanager
def kept_for_backward() -> Iterator[dict[int, int]]:
    """Numbers that the graph keeps, by where they lie: two views of one tensor count once."""
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        yield kept


@every_normalizer
def test_no_tensor_is_as_large_as_source_times_target_squared(normalizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, limit = 40, 3 * 2 * 12 * 40  # three steps of two sentences of 12 pieces
    monkeypatch.setattr(module, "BLOCK_ELEMENTS", limit)
    query_BTQ = torch.randn(2, steps, WIDTH, dtype=torch.float64, requires_grad=True)
    states_BSD = torch.randn(2, 12, WIDTH, dtype=torch.float64, requires_grad=True)
    mask_BS = torch.arange(12) < torch.tensor([12, 8]).unsqueeze(1)
    largest = Largest()
    with largest:
        with kept_for_backward() as kept:
            loss = ask(build(normalizer), query_BTQ, states_BSD, mask_BS).context_BTD.square().sum()
        loss.backward()
    assert 2 * 12 * steps < largest.numbers <= limit
    assert sum(kept.values()) < 2 * 12 * steps * steps / 2, "nor is it kept in pieces"


# What every mechanism keeps to, in blocks


@every_block
def test_padding_changes_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    query_BTQ, states_BSD, mask_BS = question()
    expected = ask(build(), query_BTQ, states_BSD, mask_BS)
    monkeypatch.setattr(module, "BLOCK_ELEMENTS", block)
    more_BSD = torch.cat([states_BSD.masked_fill(~mask_BS.unsqueeze(2), -7.0), 90.0 + states_BSD[:, :2]], dim=1)
    found = ask(build(), query_BTQ, more_BSD, torch.nn.functional.pad(mask_BS, (0, 2)))
    close(found.context_BTD, expected.context_BTD)


@every_block
@every_normalizer
def test_a_row_of_padding_alone(normalizer: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_ELEMENTS", block)
    query_BTQ, states_BSD, mask_BS = question()
    query_BTQ.requires_grad_()
    states_BSD.requires_grad_()
    attended = ask(build(normalizer), query_BTQ, states_BSD, mask_BS)
    assert attended.weights_BHTS is not None
    assert (attended.weights_BHTS[-1] == 0).all()
    assert (attended.context_BTD[-1] == 0).all()
    attended.context_BTD.square().sum().backward()
    for leaf in (query_BTQ, states_BSD):
        assert leaf.grad is not None
        assert torch.isfinite(leaf.grad).all()
        assert (leaf.grad[-1] == 0).all()


@every_block
def test_bfloat16_autocast_leaves_scores_and_weights_in_float32(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_ELEMENTS", block)
    query_BTQ, states_BSD, mask_BS = question()
    parts = (query_BTQ.bfloat16().requires_grad_(), states_BSD.bfloat16(), mask_BS)
    exact = ask(build(), parts[0].float(), parts[1].float(), mask_BS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = ask(build(), *parts)
    assert isinstance(found.state, PrefixState)
    assert found.state.scores_BPS.dtype == found.state.alpha_BPS.dtype == torch.float32
    close(found.weights_BHTS, exact.weights_BHTS, 1e-6)
    assert found.context_BTD.dtype == torch.bfloat16
    found.context_BTD.sum().backward()
    assert parts[0].grad is not None


def test_unequal_widths() -> None:
    with pytest.raises(
        ConfigError, match=r"6 and 8 wide: make model\.decoder\.hidden and model\.encoder\.hidden equal"
    ):
        AttentionOverAttention(query_width=6, key_width=8, normalizer=NORMALIZERS["softmax"])
