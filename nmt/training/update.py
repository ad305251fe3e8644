"""One update: forward pass, loss, backward pass, clipping, Adam."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.data.batching import Batch
from nmt.model.decoder import Decoded
from nmt.model.seq2seq import Seq2Seq
from nmt.runtime import products_in
from nmt.training.loss import Guided, training_loss

_KEPT = 0.9
"""What remains of the baseline at each update: b ← 0.9 b + 0.1 log p (Xu et al. 2015, eq. 10)."""


@dataclass(frozen=True)
class Update:
    """One update: cross-entropy of a token, norm of the gradient, what attention added, and the baseline after it."""

    loss: float
    norm: float
    terms: Mapping[str, float]
    baseline: float | None

    @property
    def finite(self) -> bool:
        """Whether it was made: with a loss or a gradient that is not finite nothing is changed."""
        return math.isfinite(self.loss) and math.isfinite(self.norm)


@dataclass(frozen=True)
class Guide:
    """What links teach, and how much it weighs: a layer's map of this number, −1 the last, None the mean of all."""

    weight: float
    layer: int
    head: int | None


@dataclass(frozen=True)
class UpdateSettings:
    """What all updates have in common: precision of products (None: their own), ε of label smoothing, largest norm,
    and what links teach, where a batch has any."""

    dtype: torch.dtype | None
    smoothing: float
    clip: float | None
    guide: Guide | None = None


def update(
    model: Seq2Seq,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    settings: UpdateSettings,
    *,
    baseline: float | None = None,
) -> Update:
    """One update; `baseline` is the one after the update before."""
    optimizer.zero_grad(set_to_none=True)
    with products_in(settings.dtype, batch.source_BS.device):
        sides = (batch.source_BS, batch.source_mask_BS, batch.previous_BT, batch.context_BKS)
        is_guided = settings.guide is not None and batch.links_BTS is not None
        decoded = model(*sides, need_weights=is_guided)
        loss = training_loss(
            decoded.readout_BTR,
            batch.target_BT,
            batch.target_mask_BT,
            weight=model.output,
            bias=model.output_bias,
            smoothing=settings.smoothing,
            drawn=decoded.drawn,
            baseline=baseline,
            guided=_guided(decoded, batch.links_BTS, settings.guide),
        )
    loss.total.backward()
    norm: Tensor = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip or math.inf)
    # All numbers at once: each time one is asked for, a GPU's queue runs empty.
    numbers = [loss.cross_entropy.float(), norm.float(), *(term.float() for term in loss.terms.values())]
    cross_entropy, gradient, *values = torch.stack(numbers).tolist()
    terms = {name: value for name, value in zip(loss.terms, values, strict=True) if math.isfinite(value)}
    if "reward" in terms:
        baseline = terms["reward"] if baseline is None else _KEPT * baseline + (1.0 - _KEPT) * terms["reward"]
        terms["baseline"] = baseline
    made = Update(cross_entropy, gradient, terms, baseline)
    if made.finite:
        optimizer.step()
    return made


def _guided(decoded: Decoded, links_BTS: Tensor | None, guide: Guide | None) -> Guided | None:
    if guide is None or links_BTS is None:
        return None
    return Guided(decoded.distribution(guide.layer, guide.head), links_BTS, guide.weight)
