"""The training loss, and the one place that adds its terms up.

Shapes: N real target tokens (padding is taken out before), R width of the readout, V vocabulary, B batch, T target.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.model.recurrence import product_dtype

CHUNK = 64
"""Rows whose scores are turned into probabilities at once: few enough to stay in the processor's cache.

The products have a multiple of it, too: for every number of rows that they have not met before, the libraries below
torch first write a kernel, which can take as long as the product.
"""


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Output layer and loss in one: the scores' gradient is written over the scores, while they are at hand."""

    @staticmethod
    def forward(
        ctx: Any,
        readout_NR: Tensor,
        weight_VR: Tensor,
        bias_V: Tensor,
        target_N: Tensor,
        smoothing: float,
        dtype: torch.dtype,
    ) -> Tensor:
        rows = len(target_N)
        readout = torch.nn.functional.pad(readout_NR.to(dtype), (0, 0, 0, -rows % CHUNK))
        weight = weight_VR.to(dtype)
        scores_NV = readout @ weight.t()
        scores_NV[rows:] = 0.0
        pieces, exact = weight_VR.shape[0], weight_VR.dtype
        total = torch.zeros((), dtype=exact, device=weight_VR.device)
        bias_grad = torch.zeros_like(bias_V)
        for start in range(0, rows, CHUNK):
            chunk = scores_NV[start : min(start + CHUNK, rows)]
            target = target_N[start : start + CHUNK].unsqueeze(1)
            logs = torch.log_softmax(torch.add(chunk, bias_V), dim=1)
            total -= (1 - smoothing) * logs.gather(1, target).sum()
            if smoothing:
                total -= smoothing / pieces * logs.sum()
            gradient = logs.exp_().sub_(smoothing / pieces)
            gradient.scatter_add_(1, target, gradient.new_full(target.shape, smoothing - 1.0))
            bias_grad += gradient.sum(dim=0)
            chunk.copy_(gradient)
        ctx.save_for_backward(readout, weight, scores_NV, bias_grad)
        ctx.exact, ctx.rows, ctx.given = exact, rows, readout_NR.dtype
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        readout, weight, gradient_NV, bias_grad = ctx.saved_tensors
        # Scaling the narrow results, not the N × V gradient, saves a pass over the largest tensor of the step.
        readout_grad = (gradient_NV @ weight)[: ctx.rows].to(ctx.exact).mul_(scale).to(ctx.given)
        weight_grad = (gradient_NV.t() @ (readout * scale)).to(ctx.exact)
        return readout_grad, weight_grad, bias_grad * scale, None, None, None


def smoothed_cross_entropy(
    readout_NR: Tensor, weight_VR: Tensor, bias_V: Tensor, target_N: Tensor, smoothing: float
) -> Tensor:
    """Σ_n −(1 − ε) log p(y_n) − (ε / V) Σ_v log p(v), with p = softmax(W r_n + b) (Szegedy et al. 2016, section 7)."""
    dtype = product_dtype(readout_NR)
    with torch.autocast(readout_NR.device.type, enabled=False):
        loss: Tensor = _SmoothedCrossEntropy.apply(  # type: ignore[no-untyped-call]
            readout_NR, weight_VR, bias_V, target_N, smoothing, dtype
        )
    return loss


def training_loss(
    readout_BTR: Tensor, target_BT: Tensor, mask_BT: Tensor, *, weight: Tensor, bias: Tensor, smoothing: float
) -> Tensor:
    """The smoothed cross-entropy of a batch, averaged over its real target tokens."""
    total = smoothed_cross_entropy(readout_BTR[mask_BT], weight, bias, target_BT[mask_BT], smoothing)
    return total / mask_BT.sum()


@dataclass(frozen=True)
class TokenScores:
    """Sums over the real tokens of a text: −log p of the right piece, how often it came first, how many there were."""

    negative_log_likelihood: float
    correct: int
    tokens: int

    def __add__(self, other: "TokenScores") -> "TokenScores":
        return TokenScores(
            self.negative_log_likelihood + other.negative_log_likelihood,
            self.correct + other.correct,
            self.tokens + other.tokens,
        )


def token_scores(readout_BTR: Tensor, target_BT: Tensor, mask_BT: Tensor, weight: Tensor, bias: Tensor) -> TokenScores:
    """How well a batch is predicted, without smoothing."""
    target_N = target_BT[mask_BT]
    nll, correct = 0.0, 0
    for readout, target in zip(readout_BTR[mask_BT].split(1024), target_N.split(1024), strict=True):
        scores = torch.nn.functional.linear(readout.float(), weight.float(), bias.float())
        nll += float(torch.nn.functional.cross_entropy(scores, target, reduction="sum"))
        correct += int((scores.argmax(dim=1) == target).sum())
    return TokenScores(nll, correct, len(target_N))
