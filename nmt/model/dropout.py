"""Dropout (Srivastava et al. 2014), with masks that cost less than the products around them."""

import torch
from torch import Tensor, nn

_LEVELS = 1 << 16


def dropout_mask(shape: tuple[int, ...], rate: float, like: Tensor) -> Tensor:
    """Zeros with probability `rate`, elsewhere 1 / (1 − rate), in the precision and on the device of `like`.

    On a processor a random number is split into four of 16 bits each: drawing a number for every element can take
    longer than a matrix product. The rate is thereby rounded to a multiple of 1/65,536.
    """
    if like.device.type != "cpu":
        return torch.empty(shape, dtype=like.dtype, device=like.device).bernoulli_(1.0 - rate).div_(1.0 - rate)
    count = torch.Size(shape).numel()
    numbers = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    threshold = round(rate * _LEVELS) - _LEVELS // 2
    kept = numbers.view(torch.int16)[:count].view(shape) >= threshold
    return kept.to(like.dtype).mul_(1.0 / (1.0 - rate))


class Dropout(nn.Module):
    """x ⊙ mask / (1 − rate) in training, x itself in use."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0.0:
            return x
        return x * dropout_mask(tuple(x.shape), self.rate, x)
