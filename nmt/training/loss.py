"""The training loss, and the one place that adds its terms up.

Shapes: N real target tokens (padding is taken out before), R width of the readout, V vocabulary, B batch, T target.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.attention.base import Drawn
from nmt.model.recurrence import product_dtype

CHUNK = 64
"""Rows whose scores are turned into probabilities at once: few enough to stay in the processor's cache.

The products have a multiple of it, too: for every number of rows that they have not met before, the libraries below
torch first write a kernel, which can take as long as the product.
"""


_LEAST = 1e-30
"""A weight below is as good as 0: 1 / α, the slope of its logarithm, must be a number that products can bear."""


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
    ) -> tuple[Tensor, Tensor]:
        rows = len(target_N)
        readout = torch.nn.functional.pad(readout_NR.to(dtype), (0, 0, 0, -rows % CHUNK))
        weight = weight_VR.to(dtype)
        scores_NV = readout @ weight.t()
        scores_NV[rows:] = 0.0
        pieces, exact = weight_VR.shape[0], weight_VR.dtype
        total = torch.zeros((), dtype=exact, device=weight_VR.device)
        gained = []
        bias_grad = torch.zeros_like(bias_V)
        for start in range(0, rows, CHUNK):
            chunk = scores_NV[start : min(start + CHUNK, rows)]
            target = target_N[start : start + CHUNK].unsqueeze(1)
            logs = torch.log_softmax(torch.add(chunk, bias_V), dim=1)
            gained.append(logs.gather(1, target).squeeze(1))
            total -= (1 - smoothing) * gained[-1].sum()
            if smoothing:
                total -= smoothing / pieces * logs.sum()
            gradient = logs.exp_().sub_(smoothing / pieces)
            gradient.scatter_add_(1, target, gradient.new_full(target.shape, smoothing - 1.0))
            bias_grad += gradient.sum(dim=0)
            chunk.copy_(gradient)
        ctx.save_for_backward(readout, weight, scores_NV, bias_grad)
        ctx.exact, ctx.rows, ctx.given = exact, rows, readout_NR.dtype
        gained_N = torch.cat(gained) if gained else total.new_zeros(0)
        ctx.mark_non_differentiable(gained_N)
        return total, gained_N

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        readout, weight, gradient_NV, bias_grad = ctx.saved_tensors
        # Scaling the narrow results, not the N × V gradient, saves a pass over the largest tensor of the step.
        readout_grad = (gradient_NV @ weight)[: ctx.rows].to(ctx.exact).mul_(scale).to(ctx.given)
        weight_grad = (gradient_NV.t() @ (readout * scale)).to(ctx.exact)
        return readout_grad, weight_grad, bias_grad * scale, None, None, None


def smoothed_cross_entropy(
    readout_NR: Tensor, weight_VR: Tensor, bias_V: Tensor, target_N: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Σ_n −(1 − ε) log p(y_n) − (ε / V) Σ_v log p(v), with p = softmax(W r_n + b) (Szegedy et al. 2016, section 7).

    With it log p(y_n) of every token, [N], through which no gradient goes.
    """
    dtype = product_dtype(readout_NR)
    with torch.autocast(readout_NR.device.type, enabled=False):
        loss, gained_N = _SmoothedCrossEntropy.apply(  # type: ignore[no-untyped-call]
            readout_NR, weight_VR, bias_V, target_N, smoothing, dtype
        )
    return loss, gained_N


@dataclass(frozen=True)
class Guided:
    """What links teach: α and the links A, [B, T, S] both, and the weight of their term (`guided_alignment`)."""

    alpha_BTS: Tensor
    links_BTS: Tensor
    weight: float


@dataclass(frozen=True)
class Loss:
    """A batch's loss, averaged over its real target tokens.

    `total` is what is differentiated, `cross_entropy` the part that every model has. `terms` are the figures of what
    attention adds, by name: `reward` is the mean log p(y) of the tokens for which it drew, NaN where it drew for none,
    `entropy` that of its distributions in nats, `guided` the mean −Σ_s A_ts log α_ts of the tokens that links teach.
    """

    total: Tensor
    cross_entropy: Tensor
    terms: Mapping[str, Tensor] = field(default_factory=dict)


def training_loss(
    readout_BTR: Tensor,
    target_BT: Tensor,
    mask_BT: Tensor,
    *,
    weight: Tensor,
    bias: Tensor,
    smoothing: float,
    drawn: Drawn | None = None,
    baseline: float | None = None,
    guided: Guided | None = None,
) -> Loss:
    """The smoothed cross-entropy of a batch, and what attention adds to it."""
    total, gained_N = smoothed_cross_entropy(readout_BTR[mask_BT], weight, bias, target_BT[mask_BT], smoothing)
    tokens = mask_BT.sum()
    cross_entropy, terms = (total / tokens).detach(), dict[str, Tensor]()
    if drawn is not None:
        gained_BT = gained_N.new_zeros(mask_BT.shape).masked_scatter(mask_BT, gained_N)
        added, terms = score_function(gained_BT, mask_BT, drawn, baseline)
        total = total + added
    if guided is not None:
        taught, rows = guided_alignment(guided.alpha_BTS, guided.links_BTS)
        total = total + guided.weight * taught
        terms["guided"] = taught.detach() / rows
    return Loss(total / tokens, cross_entropy, terms)


def score_function(
    gained_BT: Tensor, mask_BT: Tensor, drawn: Drawn, baseline: float | None
) -> tuple[Tensor, dict[str, Tensor]]:
    """What draws z_t and their distributions α_t add to the loss, summed over a batch's real tokens, and their figures.

        − λ_r Σ_t R_t log α_t(z_t) − λ_e Σ_t H(α_t),        R_t = Σ_{u ≥ t} (log p(y_u) − b)

    The gradient of the first term is that of the expected log p(y) with respect to α, on average (Xu et al. 2015, arXiv
    1502.03044, section 4.1): a draw has a part in all words from its own on. `gained_BT` is log p(y_u), through which
    no gradient goes. b is `baseline`, about the mean log p(y) of a token, so that R_t is about 0 wherever in the
    sentence t is; None takes the batch's own mean.
    """
    drawn_BT = mask_BT & drawn.drawn_B.unsqueeze(1)
    mean = gained_BT[drawn_BT].mean()
    excess_BT = (gained_BT - (mean if baseline is None else baseline)).masked_fill(~drawn_BT, 0.0)
    reward_BT = excess_BT.flip(1).cumsum(dim=1).flip(1)
    reward = (reward_BT * drawn.log_probability_BT)[drawn_BT].sum()
    entropy = drawn.entropy_BT[mask_BT].sum()
    figures = {"reward": mean, "entropy": entropy.detach() / mask_BT.sum()}
    return -drawn.reward_weight * reward - drawn.entropy_weight * entropy, figures


def guided_alignment(alpha_BTS: Tensor, links_BTS: Tensor) -> tuple[Tensor, Tensor]:
    """−Σ_t Σ_s A_ts log α_ts of a batch (Chen et al. 2016, arXiv 1607.01628), and the number of rows t that count.

    A row of `links_BTS` sums to 1, or is 0 where its token has no link. A position that α cannot reach, as those
    outside of a window, is left out, and a row whose links are all of that kind does not count.
    """
    reached_BTS = (links_BTS > 0) & (alpha_BTS > _LEAST)
    logs_BTS = torch.where(reached_BTS, alpha_BTS, 1.0).log()
    return -(links_BTS * logs_BTS).sum(), reached_BTS.any(dim=2).sum()


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
