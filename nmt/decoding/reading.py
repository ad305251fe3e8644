"""Where the words of a source looked while it was read: the maps of the encoder's self-attention."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from nmt.data.batching import Example, inference_groups, source_batch
from nmt.model.seq2seq import Seq2Seq


@torch.inference_mode()
def read_sources(
    model: Seq2Seq, sources: Sequence[Sequence[int]], *, batch_size: int, device: torch.device
) -> list[tuple[NDArray[np.float32], ...]]:
    """For each source, in the order given, an array [H, S, S] of each layer that attends; S with the end piece.

    Row s holds the weights of position s; padding is cut off. Without self-attention there are no arrays.
    """
    model.eval()
    results: dict[int, tuple[NDArray[np.float32], ...]] = {}
    for indices in inference_groups([Example(tuple(source), ()) for source in sources], batch_size):
        source_BS, mask_BS = source_batch([sources[index] for index in indices])
        encoded = model.encode(source_BS.to(device), mask_BS.to(device), need_weights=True)
        weights = [layer.float().cpu().numpy() for layer in encoded.weights]
        for row, index in enumerate(indices):
            length = len(sources[index]) + 1
            results[index] = tuple(layer[row, :, :length, :length].copy() for layer in weights)
    return [results[index] for index in range(len(sources))]
