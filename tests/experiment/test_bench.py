"""The operations that a speed is measured in, against a count by hand."""

import pytest
import torch

from nmt.config.model import ModelSection
from nmt.data.batching import Example
from nmt.experiment.bench import _operations, matrix_limit, training_speed
from nmt.model.build import build_model

E, H, V = 6, 8, 20


def section(attention: dict[str, object]) -> ModelSection:
    return ModelSection.model_validate(
        {"embedding": E, "tied": False, "encoder": {"hidden": H}, "decoder": {"hidden": H}, "attention": attention}
    )


def by_hand(source: int, target: int, kind: str) -> int:
    """Multiply-adds of the forward pass of one pair."""
    half = H // 2
    encoder = source * 2 * (3 * half * E + 3 * half * half)
    keys = source * H * H
    bridge = half * H
    if kind == "bahdanau":
        step = 3 * H * E + 3 * H * H + H * H + 3 * H * H  # word, state, query, context
        step += source * H  # context read; the energy's product with a vector is not counted by torch
        readout = 2 * H * (H + E + H)
    else:
        step = 3 * H * E + 3 * H * H
        step += 2 * source * H  # scores and context
        readout = H * 2 * H
    return encoder + keys + bridge + target * (step + readout + H * V)


@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_operations_are_those_counted_by_hand(kind: str) -> None:
    attention: dict[str, object] = {"type": kind}
    if kind == "luong":
        attention |= {"score": "general", "input_feeding": False}
    model = build_model(section(attention), source_vocabulary=V, target_vocabulary=V, shared=True)
    lengths = [(5, 7), (9, 4)]
    examples = [Example((4,) * (source - 1), (4,) * (target - 1)) for source, target in lengths]
    found = _operations(model, examples, torch.device("cpu"))
    expected = 2 * sum(by_hand(source, target, kind) for source, target in lengths)
    assert found == pytest.approx(expected, rel=0.02)


def test_operations_of_a_transformer_are_those_counted_by_hand() -> None:
    layers, inner = {"encoder": 2, "decoder": 3}, 12
    coders = {
        name: {"type": "transformer", "hidden": H, "layers": count, "heads": 2, "feed_forward": inner}
        for name, count in layers.items()
    }
    section = ModelSection.model_validate({"embedding": E, "tied": False, **coders})
    model = build_model(section, source_vocabulary=V, target_vocabulary=V, shared=True)
    lengths = [(5, 7), (9, 4), (30, 40)]
    examples = [Example((4,) * (source - 1), (4,) * (target - 1)) for source, target in lengths]
    projections, network = 4 * H * H, 2 * H * inner
    expected = 0
    for source, target in lengths:
        expected += (source + target) * E * H  # from embeddings to states
        expected += layers["encoder"] * source * (projections + 2 * source * H + network)
        expected += layers["decoder"] * target * (projections + 2 * target * H + network)
        expected += layers["decoder"] * (target * 2 * H * H + source * 2 * H * H + 2 * target * source * H)
        expected += target * H * V
    assert _operations(model, examples, torch.device("cpu")) == pytest.approx(2 * expected, rel=1e-6)


def test_operations_of_convolutions_are_those_counted_by_hand() -> None:
    encoder = {"type": "conv", "hidden": H, "layers": 3, "kernel": 5}
    decoder = {"type": "transformer", "hidden": H, "layers": 1, "heads": 2, "feed_forward": 12}
    section = ModelSection.model_validate({"embedding": H, "encoder": encoder, "decoder": decoder})
    model = build_model(section, source_vocabulary=V, target_vocabulary=V, shared=True)
    source, target = 30, 4
    expected = source * 3 * 5 * H * 2 * H + target * (4 * H * H + 2 * target * H + 2 * H * 12 + H * V)
    expected += target * 2 * H * H + source * 2 * H * H + 2 * target * source * H
    found = _operations(model, [Example((4,) * (source - 1), (4,) * (target - 1))], torch.device("cpu"))
    assert found == pytest.approx(2 * expected, rel=1e-6)


def test_speed_is_reported_with_its_share() -> None:
    device = torch.device("cpu")
    speed = training_speed(
        section({"type": "bahdanau"}), vocabulary=V, sentences=4, dtype=None, device=device, seconds=0.01
    )
    assert 0.0 < speed.share < 1.0
    assert speed.share == pytest.approx(speed.tokens_per_second * speed.flops_per_token / speed.limit)
    assert matrix_limit(torch.float32, device, seconds=0.01) > 0.0
