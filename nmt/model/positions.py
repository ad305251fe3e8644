"""How a layer without an order of its own knows where a piece stands (Vaswani et al. 2017, section 3.5).

Shapes: T pieces, D width (d_model), P rows of learned positions, B batch, E embedding.
"""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn


class Positions(nn.Module, ABC):
    """A vector for each position of a sentence."""

    @abstractmethod
    def forward(self, first: int, count: int, like: Tensor) -> Tensor:
        """Those of the positions first … first + count − 1, [T, D], on the device of `like`; float32 or wider."""


class SinusoidalPositions(Positions):
    """P(t, 2i) = sin(t / 10000^(2i/D))        P(t, 2i + 1) = cos(t / 10000^(2i/D))

    Computed for the positions asked for, so that no sentence is too long.
    """

    def __init__(self, *, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, first: int, count: int, like: Tensor) -> Tensor:
        # In double precision: float32 has few digits left for the angle of a late position.
        position_T1 = torch.arange(first, first + count, dtype=torch.float64, device=like.device).unsqueeze(1)
        even_I = torch.arange(0, self.width, 2, dtype=torch.float64, device=like.device)
        angle_TI = position_T1 * torch.exp(even_I * (-math.log(10_000.0) / self.width))
        positions_TD = torch.stack([angle_TI.sin(), angle_TI.cos()], dim=-1).flatten(1)[:, : self.width]
        return positions_TD.to(torch.promote_types(like.dtype, torch.float32))


class LearnedPositions(Positions):
    """Row t of a matrix [P, D]; pieces beyond P share its last row, and the first such batch is warned of.

    Search may well write more than training had: a worse guess at the end of one sentence is better than none of the
    whole text.
    """

    def __init__(self, *, width: int, max_positions: int) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.empty(max_positions, width).normal_(std=1.0 / math.sqrt(width)))

    def forward(self, first: int, count: int, like: Tensor) -> Tensor:
        last = self.rows.shape[0] - 1
        if first + count - 1 > last:
            warnings.warn(
                f"a sentence is longer than the learned positions (max_positions {last + 1}): pieces beyond share the "
                f"last one",
                stacklevel=1,
            )
        return self.rows[torch.arange(first, first + count, device=like.device).clamp(max=last)]


POSITIONS: dict[str, Callable[[int, int], Positions]] = {
    "sinusoidal": lambda width, max_positions: SinusoidalPositions(width=width),
    "learned": lambda width, max_positions: LearnedPositions(width=width, max_positions=max_positions),
}
"""From the name in YAML (`positions`) to what builds them: width, largest number of learned ones."""


class PositionedInputs(nn.Module):
    """x_t = √D E y_t + P(t): what the first layer of a Transformer, or of convolutions, reads (section 3.4).

    Embeddings of another width than D go through a linear layer first.
    """

    def __init__(self, *, embedding: int, width: int, positions: Positions) -> None:
        super().__init__()
        self.width = width
        self.positions = positions
        self.widen = None if embedding == width else nn.Linear(embedding, width, bias=False)

    def forward(self, embedded_BTE: Tensor, first: int = 0) -> Tensor:
        """[B, T, D], of pieces that stand at `first` and the positions after it."""
        embedded_BTD = embedded_BTE if self.widen is None else self.widen(embedded_BTE)
        positions_TD: Tensor = self.positions(first, embedded_BTE.shape[1], embedded_BTE)
        return embedded_BTD * math.sqrt(self.width) + positions_TD
