"""Multi-head attention against torch's own, the fused path against the plain one, and causal self-attention."""

import pytest
import torch
from torch import Tensor, nn

from nmt.attention.base import Attended, Memory
from nmt.attention.multihead import MultiHeadAttention
from nmt.attention.normalizers import NORMALIZERS, softmax
from nmt.errors import ConfigError

QUERY, KEY, WIDTH, CONTEXT, HEADS = 6, 10, 8, 5, 2
LENGTHS, STEPS = (5, 3, 1, 0), 4


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def mask_of(lengths: tuple[int, ...]) -> Tensor:
    return torch.arange(max(lengths)).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)


def attention_of(
    query: int = WIDTH, key: int = WIDTH, context: int | None = None, **options: object
) -> MultiHeadAttention:
    torch.manual_seed(0)
    options = {"normalizer": softmax, **options}
    return MultiHeadAttention(
        query_width=query, key_width=key, width=WIDTH, heads=HEADS, context_width=context, **options
    ).double()


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(found, expected, rtol=0.0, atol=tolerance)


def torchs(attention: MultiHeadAttention) -> nn.MultiheadAttention:
    """torch's attention with the same weights; it wants queries and contexts of one width."""
    theirs = nn.MultiheadAttention(WIDTH, HEADS, bias=False, kdim=KEY, vdim=KEY, batch_first=True).double()
    parts = (attention.query, attention.key, attention.value)
    for part, target in zip(parts, (theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight), strict=True):
        target.data = part.weight.data.clone()
    theirs.out_proj.weight.data = attention.output.weight.data.clone()
    return theirs


def ask(
    attention: MultiHeadAttention, query_BTQ: Tensor, states_BSD: Tensor, mask_BS: Tensor, **options: bool
) -> Attended:
    return attention(query_BTQ, attention.remember(states_BSD, mask_BS), **options)


@pytest.mark.parametrize("causal", [False, True])
def test_it_is_torchs_multi_head_attention(causal: bool) -> None:
    attention = attention_of(WIDTH, KEY, WIDTH, causal=causal)
    lengths = (5, 3, 1)
    mask_BS, source = mask_of(lengths), max(lengths)
    query_BTW, states_BSD = random(3, source, WIDTH, seed=1), random(3, source, KEY, seed=2)
    future = torch.ones(source, source, dtype=torch.bool).triu(1) if causal else None
    expected, weights = torchs(attention)(
        query_BTW, states_BSD, states_BSD, key_padding_mask=~mask_BS, attn_mask=future, average_attn_weights=False
    )
    found = ask(attention, query_BTW, states_BSD, mask_BS)
    close(found.context_BTD, expected)
    assert found.weights_BHTS is not None
    close(found.weights_BHTS, weights)
    close(ask(attention, query_BTW, states_BSD, mask_BS, need_weights=False).context_BTD, expected)


def test_widths_of_queries_keys_and_contexts_are_free() -> None:
    query_BTQ, states_BSD, mask_BS = random(4, STEPS, QUERY, seed=1), random(4, 5, KEY, seed=2), mask_of(LENGTHS)
    for context in (None, CONTEXT):
        attention = attention_of(QUERY, KEY, context)
        found = ask(attention, query_BTQ, states_BSD, mask_BS).context_BTD
        assert found.shape[-1] == attention.context_width == (context or KEY)


def test_heads_divide_the_width() -> None:
    with pytest.raises(ConfigError, match="3 heads do not divide the width 8 evenly"):
        MultiHeadAttention(query_width=8, key_width=8, width=8, heads=3, normalizer=softmax)


# The fused path


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("steps", [1, 3, 5])
def test_fused_is_plain_with_its_gradients(causal: bool, steps: int) -> None:
    attention, mask_BS = attention_of(causal=causal), mask_of(LENGTHS)
    mask_BS = torch.cat([mask_BS, mask_BS[:1].roll(1, dims=1).clone()])
    mask_BS[-1, 0] = False  # padding on the left: under causality its first rows see nothing
    query_BTW = random(5, steps, WIDTH, seed=1).requires_grad_()
    states_BSW = random(5, 5, WIDTH, seed=2).requires_grad_()
    probe = random(5, steps, WIDTH, seed=3)
    leaves = [query_BTW, states_BSW, *attention.parameters()]
    found = []
    for need_weights in (True, False):
        attended = ask(attention, query_BTW, states_BSW, mask_BS, need_weights=need_weights)
        assert (attended.weights_BHTS is not None) == need_weights
        gradients = torch.autograd.grad((attended.context_BTD * probe).sum(), leaves)
        found.append([attended.context_BTD, *gradients])
    for plain, fused in zip(*found, strict=True):
        assert fused.isfinite().all()
        close(fused, plain)
    assert (found[1][0][3] == 0).all(), "a sentence without a real token"
    if causal and steps == 5:
        assert (found[1][0][4, 0] == 0).all(), "a step before the first real token"


@pytest.mark.parametrize("source", [5, 300])
def test_half_precision_is_close_whichever_path_it_takes(source: int) -> None:
    attention = attention_of(causal=True).float()
    states_BSW = random(3, source, WIDTH, seed=1).float().requires_grad_()
    mask_BS = mask_of((source, source - 2, 0))
    exact, rounded = [], []
    for found, halved in ((exact, False), (rounded, True)):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=halved):
            context_BTD = ask(attention, states_BSW, states_BSW, mask_BS, need_weights=False).context_BTD.float()
        found += [context_BTD, *torch.autograd.grad(context_BTD.sum(), [states_BSW, attention.value.weight])]
    for one, other in zip(exact, rounded, strict=True):
        torch.testing.assert_close(other, one, rtol=0.03, atol=0.03 * one.detach().abs().max().item())


def test_bfloat16_is_close_on_either_path() -> None:
    attention, mask_BS = attention_of().float(), mask_of(LENGTHS)
    parts = (random(4, STEPS, WIDTH, seed=1).float(), random(4, 5, WIDTH, seed=2).float(), mask_BS)
    exact = ask(attention, *parts).context_BTD
    for need_weights in (True, False):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rough = ask(attention, *parts, need_weights=need_weights)
        close(rough.context_BTD.float(), exact, 0.05)
        assert (rough.context_BTD[3] == 0).all()


def test_the_kernel_is_asked_where_nobody_wants_weights_and_softmax_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    kernel = nn.functional.scaled_dot_product_attention

    def watch(*parts: Tensor, **options: Tensor) -> Tensor:
        asked.append(True)
        return kernel(*parts, **options)

    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", watch)
    parts = (random(4, STEPS, WIDTH, seed=1), random(4, 5, WIDTH, seed=2), mask_of(LENGTHS))
    for name, normalizer in NORMALIZERS.items():
        for need_weights in (True, False):
            asked.clear()
            ask(attention_of(normalizer=normalizer), *parts, need_weights=need_weights)
            assert bool(asked) == (name == "softmax" and not need_weights)


# Causal self-attention


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("place", range(STEPS))
def test_what_comes_later_changes_nothing_before_it(need_weights: bool, place: int) -> None:
    attention, x_BTW = attention_of(causal=True), random(2, STEPS, WIDTH, seed=1)
    mask_BT = torch.ones(2, STEPS, dtype=torch.bool)
    other_BTW = x_BTW.clone()
    other_BTW[:, place] += 1.0
    before, after = (ask(attention, x, x, mask_BT, need_weights=need_weights).context_BTD for x in (x_BTW, other_BTW))
    assert [not a.equal(b) for a, b in zip(before.unbind(1), after.unbind(1), strict=True)] == [
        step >= place for step in range(STEPS)
    ]


def test_weights_are_zero_on_what_comes_later() -> None:
    x_BTW = random(2, STEPS, WIDTH, seed=1)
    weights_BHTS = ask(attention_of(causal=True), x_BTW, x_BTW, torch.ones(2, STEPS, dtype=torch.bool)).weights_BHTS
    assert weights_BHTS is not None
    assert (weights_BHTS != 0).equal(torch.ones(STEPS, STEPS, dtype=torch.bool).tril().expand(2, HEADS, -1, -1))


@pytest.mark.parametrize("name", NORMALIZERS)
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("parts", [(1, 1, 1, 1), (2, 2), (3, 1), (1, 3)])
def test_a_remembered_past_is_as_all_at_once(name: str, need_weights: bool, parts: tuple[int, ...]) -> None:
    attention, x_BTW = attention_of(causal=True, normalizer=NORMALIZERS[name]), random(2, STEPS, WIDTH, seed=1)
    mask_BT = torch.ones(2, STEPS, dtype=torch.bool)
    expected = ask(attention, x_BTW, x_BTW, mask_BT, need_weights=need_weights).context_BTD
    past, found = attention.remember(x_BTW[:, :0], mask_BT[:, :0]), []
    for part in x_BTW.split(parts, dim=1):
        past = past.joined(attention.remember(part, mask_BT[:, : part.shape[1]]))
        found.append(attention(part, past, need_weights=need_weights).context_BTD)
    close(torch.cat(found, dim=1), expected)


def test_joined_memories_stand_side_by_side() -> None:
    def memory(length: int, seed: int) -> Memory:
        mask_BS = random(3, length, seed=seed) > 0
        return Memory(random(3, length, 4, seed=seed + 1), random(3, length, 5, seed=seed + 2), mask_BS)

    left, right, nothing = memory(2, 10), memory(3, 20), memory(0, 30)
    both = left.joined(right)
    for name in ("keys_BSK", "values_BSD", "mask_BS"):
        assert getattr(both, name).equal(torch.cat([getattr(left, name), getattr(right, name)], dim=1))
        assert getattr(nothing.joined(right), name).equal(getattr(right, name))
