"""The parts of a Transformer's layers (Vaswani et al. 2017, arXiv 1706.03762, section 3.1 to 3.3).

Around every part f there is a residual connection with layer norm, in one of two places:

    post-norm (the paper)          x' = LN(x + f(x))
    pre-norm (Xiong et al. 2020)   x' = x + f(LN(x))

with dropout on f(·). The sum stays in float32 under autocast, and so do the norms that read it.

Shapes: B batch, S source, T target, D width of a state (d_model), F width inside a feed-forward network, H heads.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from nmt.attention.base import Attended, Attention, Memory
from nmt.attention.multihead import MultiHeadAttention
from nmt.model.dropout import Dropout

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": nn.functional.relu, "gelu": nn.functional.gelu}
"""From the name in YAML (`activation`) to the function."""


class Residual(nn.Module):
    """The connection around a part: f reads `enter(x)`, and `leave(x, f(…))` is what comes after it."""

    def __init__(self, *, width: int, pre_norm: bool, dropout: float) -> None:
        super().__init__()
        self.pre_norm = pre_norm
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def enter(self, x_BTD: Tensor) -> Tensor:
        entering_BTD: Tensor = self.norm(x_BTD) if self.pre_norm else x_BTD
        return entering_BTD

    def leave(self, x_BTD: Tensor, added_BTD: Tensor) -> Tensor:
        sum_BTD: Tensor = x_BTD + self.dropout(added_BTD)
        return sum_BTD if self.pre_norm else self.norm(sum_BTD)


class SelfAttention(nn.Module):
    """The words of a sentence look at one another; with a causal attention, at those before them and themselves."""

    def __init__(self, *, attention: MultiHeadAttention, residual: Residual) -> None:
        super().__init__()
        self.attention = attention
        self.residual = residual

    def forward(
        self, x_BTD: Tensor, mask_BT: Tensor, past: Memory | None = None, *, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None, Memory]:
        """The states after it, where they looked [B, H, T, S], and the memory of these words.

        Where there is a `past`, the memory of the words before them, S counts these, too, and they come first.
        """
        query_BTD = self.residual.enter(x_BTD)
        memory = self.attention.remember(query_BTD, mask_BT)
        if past is not None:
            memory = past.joined(memory)
        attended = self.attention(query_BTD, memory, need_weights=need_weights)
        return self.residual.leave(x_BTD, attended.context_BTD), attended.weights_BHTS, memory


class CrossAttention(nn.Module):
    """The words of the target look at the source."""

    def __init__(self, *, attention: Attention, residual: Residual) -> None:
        super().__init__()
        self.attention = attention
        self.residual = residual

    def forward(self, x_BTD: Tensor, memory: Memory, need_weights: bool) -> tuple[Tensor, Attended]:
        """The states after it, and what they read where."""
        attended = self.attention(self.residual.enter(x_BTD), memory, need_weights=need_weights)
        return self.residual.leave(x_BTD, attended.context_BTD), attended


class FeedForward(nn.Module):
    """f(x) = φ(x W_1 + b_1) W_2 + b_2, at every position alike; dropout inside, too (section 3.3)."""

    def __init__(
        self, *, width: int, hidden: int, activation: Callable[[Tensor], Tensor], residual: Residual, dropout: float
    ) -> None:
        super().__init__()
        self.inner = nn.Linear(width, hidden)
        self.outer = nn.Linear(hidden, width)
        self.activation = activation
        self.residual = residual
        self.dropout = Dropout(dropout)

    def forward(self, x_BTD: Tensor) -> Tensor:
        hidden_BTF = self.dropout(self.activation(self.inner(self.residual.enter(x_BTD))))
        return self.residual.leave(x_BTD, self.outer(hidden_BTF))


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network."""

    def __init__(self, *, self_attention: SelfAttention, feed_forward: FeedForward) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        start_uniform(self)

    def forward(self, x_BSD: Tensor, mask_BS: Tensor, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        """The states after it, and where they looked, [B, H, S, S]."""
        x_BSD, weights_BHSS, _ = self.self_attention(x_BSD, mask_BS, need_weights=need_weights)
        return self.feed_forward(x_BSD), weights_BHSS


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention, then a feed-forward network."""

    def __init__(
        self, *, self_attention: SelfAttention, cross_attention: CrossAttention, feed_forward: FeedForward
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        start_uniform(self)

    def forward(
        self, x_BTD: Tensor, memory: Memory, past: Memory, need_weights: bool
    ) -> tuple[Tensor, Attended, Memory]:
        """The states after it, what it read in the source, and the memory of the target so far.

        No step looks ahead, so padding of the target, all on its right, needs no mask.
        """
        mask_BT = torch.ones(x_BTD.shape[:2], dtype=torch.bool, device=x_BTD.device)
        x_BTD, _, past = self.self_attention(x_BTD, mask_BT, past)
        x_BTD, attended = self.cross_attention(x_BTD, memory, need_weights)
        return self.feed_forward(x_BTD), attended, past


def start_uniform(module: nn.Module) -> None:
    """Matrices from the uniform distribution of Glorot & Bengio 2010, biases at 0."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
