"""What every decoder is: what `Seq2Seq`, training and search know of it, and no more.

A decoder remembers a sentence once (`remember`), starts (`initial_state`), and goes T steps at a time (`forward`).
Memory and state are its own: others only pass them on, and `reorder` their rows.

Shapes: B batch, N hypotheses, T target, S source, E embedding, D width of an encoder's state, R width of the readout.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from torch import Tensor, nn

from nmt.attention.base import Attention, DocumentWeights, Drawn, Memory
from nmt.model.encoders import Encoded


class Reorderable(Protocol):
    """What has a row for each sentence or hypothesis of a batch."""

    def reorder(self, index_N: Tensor) -> Self:
        """The same of the rows `index_N` of the batch; an index may repeat."""
        ...


@dataclass(frozen=True)
class Decoded:
    """T steps of a decoder: what the output layer reads, where attention looked (one tensor a layer), the next state.

    Row t of `weights` [B, H, T, S] holds the weights used when predicting target token t; the tuple is empty where
    nobody asked for them or attention has none. `drawn` is what attention adds to the loss, `document` where in the
    sentences before it looked.
    """

    readout_BTR: Tensor
    weights: tuple[Tensor, ...]
    state: Any
    drawn: Drawn | None = None
    document: DocumentWeights | None = None

    def distribution(self, layer: int, head: int | None) -> Tensor:
        """α of one layer, [B, T, S]: of one head (or hop), or the mean of all; of draws, what they are drawn from."""
        if self.drawn is not None:
            return self.drawn.alpha_BTS
        weights_BHTS = self.weights[layer]
        return weights_BHTS.mean(dim=1) if head is None else weights_BHTS[:, head]


MemoryKind = TypeVar("MemoryKind", bound=Reorderable)
StateKind = TypeVar("StateKind", bound=Reorderable)


class Decoder(nn.Module, ABC, Generic[MemoryKind, StateKind]):
    """A decoder with its own kinds of memory and state.

    `attention` is the mechanism that looks at the source, the last layer's where `attending_layers` is more than one;
    those of the layers are alike. `readout_width` is R.
    """

    attention: Attention
    attending_layers: int
    readout_width: int

    @property
    def has_weights(self) -> bool:
        """Whether there are weights to look at."""
        return self.attention.has_weights

    @property
    def last_map(self) -> bool:
        """Whether the last of a layer's H maps, not their mean, tells what was read."""
        return self.attention.last_map

    @property
    def reads_document(self) -> bool:
        """Whether the sentences before a sentence count."""
        return self.attention.reads_document

    @property
    def draws(self) -> bool:
        """Whether it can draw where to look."""
        return self.attention.draws

    @abstractmethod
    def remember(self, encoded: Encoded) -> MemoryKind:
        """Project the encoder's states once for the sentence, and those of the sentences before it where they count."""

    @abstractmethod
    def initial_state(self, encoded: Encoded, memory: MemoryKind, seed_B: Tensor | None = None) -> StateKind:
        """The state before the first target token; `seed_B` is for an attention that draws."""

    @abstractmethod
    def forward(
        self, embedded_BTE: Tensor, memory: MemoryKind, state: StateKind, *, need_weights: bool = True
    ) -> Decoded:
        """T steps from `state`, given the T previous words: all of a target in training, one in search."""


def remembered(attention: Attention, encoded: Encoded) -> Memory:
    """A sentence, and the sentences before it where those count, as one attention sees them."""
    memory, document = attention.remember(encoded.states_BSD, encoded.mask_BS), encoded.document
    if document is None or not attention.reads_document:
        return memory
    return attention.remember_document(memory, document.states_BKSD, document.mask_BKS)
