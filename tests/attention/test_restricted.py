"""Restricted self-attention against full attention with what is out of reach masked, and what it makes on the way."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nmt.attention.multihead import MultiHeadAttention
from nmt.attention.normalizers import softmax
from nmt.attention.restricted import RestrictedSelfAttention
from nmt.errors import ConfigError

WIDTH, HEADS = 6, 2


class Masked(MultiHeadAttention):
    """Full attention with a band for a mask: n × n scores, most of them thrown away."""

    reach: int

    def _past(self, steps: int, mask_BS: Tensor) -> Tensor:
        everywhere = torch.ones(steps, steps, dtype=torch.bool)
        return everywhere.tril(self.reach) & everywhere.triu(-self.reach)


def both(neighbourhood: int) -> tuple[RestrictedSelfAttention, Masked]:
    torch.manual_seed(0)
    restricted = RestrictedSelfAttention(width=WIDTH, heads=HEADS, normalizer=softmax, neighbourhood=neighbourhood)
    full = Masked(query_width=WIDTH, key_width=WIDTH, width=WIDTH, heads=HEADS, normalizer=softmax)
    full.reach = (neighbourhood - 1) // 2
    full.load_state_dict(restricted.state_dict())
    return restricted.double(), full.double()


def states(lengths: list[int], width: int) -> tuple[Tensor, Tensor]:
    mask_BS = torch.arange(width).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*mask_BS.shape, WIDTH, generator=generator, dtype=torch.float64), mask_BS


@given(
    lengths=st.lists(st.integers(0, 20), min_size=1, max_size=3),
    more=st.integers(0, 3),
    neighbourhood=st.sampled_from([3, 5, 9, 31, 81]),
    need_weights=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_it_is_full_attention_with_the_rest_masked(
    lengths: list[int], more: int, neighbourhood: int, need_weights: bool
) -> None:
    (restricted, full), (x_BSD, mask_BS) = both(neighbourhood), states(lengths, max(lengths) + more or 1)
    found, gradients = [], []
    for attention in (restricted, full):
        own_BSD = x_BSD.clone().requires_grad_()
        attended = attention(own_BSD, attention.remember(own_BSD, mask_BS), need_weights=need_weights)
        found.append(attended)
        probe = torch.linspace(-1.0, 1.0, attended.context_BTD.numel(), dtype=torch.float64)
        loss = (attended.context_BTD.flatten() * probe).sum()
        gradients.append(torch.autograd.grad(loss, [own_BSD, *attention.parameters()]))
    torch.testing.assert_close(found[0].context_BTD, found[1].context_BTD, rtol=0.0, atol=1e-12)
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0.0, atol=1e-11)
    if need_weights:
        torch.testing.assert_close(found[0].weights_BHTS, found[1].weights_BHTS, rtol=0.0, atol=1e-12)
    else:
        assert found[0].weights_BHTS is None


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that anything makes."""

    size = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else [made]:
            if isinstance(tensor, Tensor):
                self.size = max(self.size, tensor.untyped_storage().size() // tensor.element_size())
        return made


@pytest.mark.parametrize("training", [False, True])
def test_nothing_of_n_times_n_is_made_on_the_way_there_or_back(training: bool) -> None:
    (restricted, full), length, sizes = both(5), 1000, []
    x_BSD, mask_BS = states([length], length)
    for attention in (restricted, full):
        with torch.set_grad_enabled(training), Largest() as largest:
            own_BSD = x_BSD.clone().requires_grad_(training)
            attended = attention(own_BSD, attention.remember(own_BSD, mask_BS), need_weights=False)
            if training:
                attended.context_BTD.sum().backward()
        sizes.append(largest.size)
    assert sizes[0] <= 10 * length * max(5, WIDTH) < length * length <= sizes[1]


@pytest.mark.parametrize("neighbourhood", [-1, 0, 1, 4])
def test_a_neighbourhood_has_a_middle_and_something_around_it(neighbourhood: int) -> None:
    with pytest.raises(ConfigError, match=f"a neighbourhood of {neighbourhood} is not odd, 3 or more"):
        both(neighbourhood)
