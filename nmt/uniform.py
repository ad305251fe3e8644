"""Random numbers that depend on what they are drawn for, not on what was drawn before.

Whatever is sampled while decoding is drawn from (seed of the line, step): neighbours, batch size and order change
nothing, which no generator with a state of its own can promise.
"""

import torch
from torch import Tensor

_STRIDE = -7046029254386353131  # 0x9E3779B97F4A7C15, as a signed number; so are the next two
_MIXERS = (-4658895280553007687, -7723592293110705685)


def uniform(seed: Tensor, step: Tensor) -> Tensor:
    """Numbers of [0, 1), one for each pair of `seed` and `step` (int64, broadcast), float64.

    The output function of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
    generators", OOPSLA 2014) over a counter: of the seed first, so that neighbouring seeds have nothing in common.
    """
    mixed = _mix(_mix(seed * _STRIDE) + step * _STRIDE)
    return _shifted(mixed, 11).double() * 2.0**-53


def _mix(value: Tensor) -> Tensor:
    value = (value ^ _shifted(value, 30)) * _MIXERS[0]
    value = (value ^ _shifted(value, 27)) * _MIXERS[1]
    return value ^ _shifted(value, 31)


def _shifted(value: Tensor, bits: int) -> Tensor:
    """Shifted to the right with zeros coming in, which torch's shift of signed numbers does not do."""
    return (value >> bits) & ((1 << (64 - bits)) - 1)


def seeds(seed: int, lines: Tensor) -> Tensor:
    """A number for each line of a text, int64, from the user's seed."""
    return _mix(torch.full_like(lines, seed) * _STRIDE) ^ lines


def draw(weights_NV: Tensor, uniform_N: Tensor) -> Tensor:
    """Where the cumulated weights along the last axis pass a number of [0, 1): a draw from them; never of weight 0.

    Adding zeros on the right changes nothing. Weights that are all 0 give position 0.
    """
    cumulated_NV = weights_NV.double().cumsum(dim=-1)
    # Against the sum itself, which need not be 1 to the last digit. Only weight moves it: none is found without.
    passed_NV = cumulated_NV <= uniform_N.double().unsqueeze(-1) * cumulated_NV[..., -1:]
    index_V = torch.arange(weights_NV.shape[-1], device=weights_NV.device)
    possible_N = (weights_NV > 0).long().mul(index_V).amax(dim=-1)
    return torch.minimum(passed_NV.sum(dim=-1), possible_N)
