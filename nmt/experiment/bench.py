"""How fast is training here, in tokens and as a share of what this machine could do at most?

    share = 3 × F / (t × P)

F is the floating-point operations (two for each multiply-add) of all matrix products of the forward pass over real
tokens, padding not counted; the backward pass has twice as many. t is the time of the updates, everything included:
batches, forward and backward pass, clipping, Adam. P is the best rate of a product of two square matrices of 512, 1,024
or 2,048 rows, in the same precision, with the same threads, in the same run.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from nmt.config.model import ModelSection
from nmt.data.batching import Batch, Example, TrainingBatches, make_batch
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq
from nmt.runtime import prepare_process
from nmt.training.optim import make_optimizer, set_rate
from nmt.training.update import UpdateSettings, update

LENGTHS = (14.0, 4.5, 4, 40)
"""Pieces of a sentence: mean, deviation, shortest, longest; about those of image captions."""


@dataclass(frozen=True)
class Speed:
    """Training speed of one model: target tokens a second, operations a token, and the share of the limit (0 to 1)."""

    tokens_per_second: float
    flops_per_token: float
    share: float
    limit: float
    parameters: int


def matrix_limit(dtype: torch.dtype, device: torch.device, seconds: float = 0.5) -> float:
    """The best rate of a square matrix product, in floating-point operations a second."""
    best = 0.0
    for size in (512, 1024, 2048):
        left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
        stop = time.perf_counter() + seconds
        while time.perf_counter() < stop:
            start = time.perf_counter()
            left @ right
            _wait(device)
            best = max(best, 2.0 * size**3 / (time.perf_counter() - start))
    return best


def training_speed(
    section: ModelSection,
    *,
    vocabulary: int,
    sentences: int,
    dtype: torch.dtype | None,
    device: torch.device,
    seconds: float,
) -> Speed:
    """Train a model on random sentences for about `seconds`, after a pass over them that is not timed."""
    prepare_process()
    torch.manual_seed(1)
    examples = _sentences(40 * sentences, vocabulary)
    batches = TrainingBatches(examples, tokens=10**9, sentences=sentences, seed=1)
    ready = [make_batch([examples[index] for index in indices]).to(device) for indices in batches.epoch(0)]
    model = build_model(section, source_vocabulary=vocabulary, target_vocabulary=vocabulary, shared=True).to(device)
    operations = _operations(model, examples, device)
    optimizer = make_optimizer(model.parameters(), betas=(0.9, 0.98), weight_decay=0.0)
    set_rate(optimizer, 1e-4)
    exact = dtype or torch.float32
    limit = matrix_limit(exact, device)
    _pass(model, optimizer, ready, dtype)
    taken, passes = 0.0, 0
    while taken < seconds:
        taken += _pass(model, optimizer, ready, dtype)
        passes += 1
    limit = max(limit, matrix_limit(exact, device))
    tokens = sum(len(example.target) + 1 for example in examples)
    return Speed(
        tokens_per_second=passes * tokens / taken,
        flops_per_token=3.0 * operations / tokens,
        share=3.0 * operations * passes / taken / limit,
        limit=limit,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
    )


def _pass(
    model: Seq2Seq, optimizer: torch.optim.Optimizer, batches: Sequence[Batch], dtype: torch.dtype | None
) -> float:
    """Seconds of one pass over the batches."""
    model.train()
    start = time.perf_counter()
    for batch in batches:
        update(model, optimizer, batch, UpdateSettings(dtype, smoothing=0.1, clip=1.0))
    _wait(batches[0].source_BS.device)
    return time.perf_counter() - start


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _sentences(count: int, vocabulary: int) -> list[Example]:
    """Random pieces in sentences of random length, both sides of like length."""
    mean, deviation, shortest, longest = LENGTHS
    generator = np.random.default_rng(1)
    targets = generator.normal(mean, deviation, count)
    sources = targets + generator.normal(0.0, 2.0, count)
    pairs = np.clip(np.stack([sources, targets], axis=1).round().astype(int), shortest, longest).tolist()
    numbers = [[tuple(generator.integers(4, vocabulary, length).tolist()) for length in pair] for pair in pairs]
    return [Example(source, target) for source, target in numbers]


def _operations(model: Seq2Seq, examples: Sequence[Example], device: torch.device) -> float:
    """Floating-point operations of the forward pass over all examples, each by itself, so that there is no padding.

    For lengths S and T they are a + b S + c T + d S T + e S² + f T² (the squares are self-attention's), so that six
    sizes give those of any other.
    """
    sizes = np.array([(8, 8), (8, 16), (16, 8), (16, 16), (24, 8), (8, 24)])
    measured = [_forward_operations(model, source, target, device) for source, target in sizes.tolist()]
    factors = np.linalg.solve(_terms(sizes), np.array(measured, dtype=float))
    lengths = np.array([[len(e.source) + 1, len(e.target) + 1] for e in examples])
    output = 2.0 * model.output.numel() * lengths[:, 1].sum()
    return float((_terms(lengths) @ factors).sum() + output)


def _terms(lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """1, S, T, S T, S² and T² of each pair of lengths."""
    source, target = lengths.astype(float).T
    return np.stack([np.ones_like(source), source, target, source * target, source**2, target**2], axis=1)


def _forward_operations(model: Seq2Seq, source: int, target: int, device: torch.device) -> int:
    batch = make_batch([Example((4,) * (source - 1), (4,) * (target - 1))]).to(device)
    counter = FlopCounterMode(display=False)
    # Fused attention is not counted on a processor: within, it is made of plain products.
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        model.eval()(batch.source_BS, batch.source_mask_BS, batch.previous_BT)
    return int(counter.get_total_flops())
