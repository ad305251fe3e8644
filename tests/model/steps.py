"""A model all at once and step by step, and whether both are the same."""

import torch
from torch import Tensor

from nmt.model.seq2seq import Seq2Seq


def forced(model: Seq2Seq, parts: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
    decoded = model(*parts)
    return model.logits(decoded.readout_BTR), decoded.weights


def stepped(model: Seq2Seq, parts: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The same by search's own calls."""
    source_BS, mask_BS, previous_BT = parts
    state, logits, weights = model.start(source_BS, mask_BS), [], []
    for previous_N in previous_BT.unbind(1):
        step = model.step(previous_N, state)
        weights.append(model.decode(previous_N.unsqueeze(1), state).weights)  # for which no search asks
        state = step.state
        logits.append(step.logits_NV)
    return torch.stack(logits, dim=1), tuple(torch.cat(layer, dim=2) for layer in zip(*weights, strict=True))


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(found, expected, rtol=0.0, atol=tolerance)
