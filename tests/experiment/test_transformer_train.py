"""Transformers and convolutions trained for a few steps, also with a GRU: kept, loaded, resumed, aligned."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nmt.alignment.links import read_links
from nmt.alignment.matrix import parse_choice
from nmt.checkpoint import read_tensors
from nmt.config.schema import Config
from nmt.data.batching import Example
from nmt.data.corpus import read_lines
from nmt.errors import DataError
from nmt.experiment.align import align_given, align_text
from nmt.experiment.run import Run, open_run
from nmt.experiment.train import resume_training, start_training

Make = Callable[..., Config]

SMALL = "{type: transformer, hidden: 16, layers: 2, heads: 2, feed_forward: 32}"
POST = "{type: transformer, hidden: 16, heads: 4, feed_forward: 32, norm: post, positions: learned, max_positions: 6}"
CONV = "{type: conv, hidden: 16, layers: 2, kernel: 5}"
MIXES: dict[str, tuple[str, ...]] = {
    "transformer": (f"model.encoder={SMALL}", f"model.decoder={SMALL}"),
    "post": (f"model.encoder={POST}", f"model.decoder={POST}", "model.embedding=12"),
    "encoder": (f"model.encoder={SMALL}",),
    "decoder": (f"model.decoder={SMALL}",),
    "conv": (f"model.encoder={CONV}",),
    "conv-transformer": (f"model.encoder={CONV}", f"model.decoder={SMALL}"),
    "self-attention": ("model.encoder={hidden: 16, self_attention: true, heads: 2}",),
    "bfloat16": (f"model.encoder={SMALL}", f"model.decoder={SMALL}", "training.precision=bfloat16"),
}


@pytest.mark.filterwarnings("ignore:a sentence is longer than the learned positions")
@pytest.mark.parametrize("mix", MIXES)
def test_every_mix_trains_and_is_the_same_after_loading(
    mix: str, tiny_config: Make, tmp_path: Path, corpus: Any
) -> None:
    config = tiny_config(*MIXES[mix], "training.max_steps=6", "training.validate_every=3")
    trained = start_training(config, tmp_path / "first", device="cpu")
    assert trained.reason == "training.max_steps: 6 reached"
    shutil.move(tmp_path / "first", tmp_path / "run")
    assert 0.0 <= trained.scores["aer"]["value"] <= 1.0
    opened = open_run(tmp_path / "run", "cpu")
    assert opened.config == config
    sources, references = corpus.lines("test.en"), corpus.lines("test.de")
    translated = [one.texts[0] for one in opened.translator().translate(sources)]
    assert translated == read_lines(tmp_path / "run" / "test.hyp")
    one_by_one = [opened.translator({"batch_size": 1}).translate([source])[0].texts[0] for source in sources]
    assert one_by_one == translated
    links = [one.links for one in align_given(opened, sources, references)]
    assert links == [one.possible for one in read_links(tmp_path / "run" / "test.ref.links")]


def test_something_is_learnt(tiny_config: Make, tmp_path: Path) -> None:
    """The few training pairs by heart: label smoothing alone leaves a loss of about 0.6."""
    large = SMALL.replace("16", "32")
    changes = (f"model.encoder={large}", f"model.decoder={large}", "model.embedding=32", "data.test=null")
    config = tiny_config(*changes, "training.max_steps=150", "training.validate_every=150", "model.dropout=0.1")
    start_training(config, tmp_path / "run", device="cpu")
    found = [json.loads(line) for line in read_lines(tmp_path / "run" / "metrics.jsonl")]
    losses = [one["loss"] for one in found if one["event"] == "update"]
    assert losses[0] > 4.0
    assert losses[-1] < 1.5


def test_a_resumed_training_is_as_if_it_had_never_stopped(tiny_config: Make, tmp_path: Path) -> None:
    settings = (*MIXES["transformer"], "data.test=null", "training.validate_every=5")
    whole = start_training(tiny_config(*settings, "training.max_steps=10"), tmp_path / "whole", device="cpu")
    parted = start_training(tiny_config(*settings, "training.max_steps=5"), tmp_path / "parted", device="cpu")
    resume_training(tiny_config(*settings, "training.max_steps=10"), tmp_path / "parted", device="cpu")
    expected, _ = read_tensors(whole.folder.state_file)
    found, _ = read_tensors(parted.folder.state_file)
    assert found.keys() == expected.keys()
    assert all(found[name].equal(expected[name]) for name in expected)


@pytest.fixture(scope="module")
def three_layers(tiny_config: Make, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose decoder has three layers of two heads, hardly trained."""
    layers = SMALL.replace("layers: 2", "layers: 3")
    path = tmp_path_factory.mktemp("layers") / "run"
    config = tiny_config(
        f"model.decoder={layers}", "training.max_steps=2", "training.validate_every=2", "data.test=null"
    )
    start_training(config, path, device="cpu")
    return open_run(path, "cpu")


def test_a_forced_pass_gives_the_maps_of_every_layer_and_head(three_layers: Run) -> None:
    (forced,) = three_layers.forced([Example((5, 6, 7), (8, 9))])
    assert [layer.shape for layer in forced.weights] == [(2, 3, 4)] * 3
    for layer in forced.weights:
        np.testing.assert_allclose(layer.sum(axis=-1), 1.0, atol=1e-5)


def test_alignments_are_read_from_the_last_layer_but_one_unless_one_is_named(three_layers: Run, opened: Run) -> None:
    assert three_layers.alignment_layer() == 1
    assert [three_layers.alignment_layer(layer) for layer in range(3)] == [0, 1, 2]
    for layer in (-1, 3):
        words = (
            f"layer {layer} was asked for, and 3 of this decoder look at the source (counted from 0); allowed: 0 to 2"
        )
        with pytest.raises(DataError, match=re.escape(words)):
            three_layers.alignment_layer(layer)
    assert opened.alignment_layer() == opened.alignment_layer(0) == 0
    with pytest.raises(DataError, match="allowed: only 0"):
        opened.alignment_layer(1)


def test_the_config_may_name_the_layer_of_alignments(three_layers: Run) -> None:
    alignment = three_layers.config.alignment.model_copy(update={"layer": 2})
    config = three_layers.config.model_copy(update={"alignment": alignment})
    parts = (three_layers.folder, config, three_layers.model, three_layers.source, three_layers.target)
    run = Run(*parts, torch.device("cpu"))
    assert run.alignment_layer() == 2
    assert run.alignment_layer(0) == 0


def test_each_layer_and_head_can_be_aligned_by(three_layers: Run, corpus: Any) -> None:
    sources, targets = corpus.lines("test.en")[:2], corpus.lines("test.de")[:2]
    by_layer = [align_text(three_layers, sources, targets, layer=layer) for layer in range(3)]
    matrices = [aligned.alignments[0].matrix.weights for aligned in by_layer]
    assert not np.allclose(matrices[0], matrices[1])
    default = align_text(three_layers, sources, targets).alignments[0].matrix.weights
    np.testing.assert_array_equal(default, matrices[1])
    heads = align_text(three_layers, sources, targets, layer=2, choice=parse_choice("all", None))
    mean = np.mean([one[0].matrix.weights for one in heads.each.values()], axis=0)
    np.testing.assert_allclose(mean, matrices[2], atol=1e-6)
    alignment = three_layers.config.alignment.model_copy(update={"layer": 2, "head": 1})
    run = replace(three_layers, config=three_layers.config.model_copy(update={"alignment": alignment}))
    chosen = align_text(run, sources, targets).alignments[0].matrix.weights
    np.testing.assert_array_equal(chosen, heads.each["head1"][0].matrix.weights)
    with pytest.raises(DataError, match="layer 3 was asked for"):
        align_text(three_layers, sources, targets, layer=3)


def test_text_longer_than_the_learned_positions_is_translated_and_warned_of(tiny_config: Make, tmp_path: Path) -> None:
    config = tiny_config(*MIXES["post"], "training.max_steps=2", "training.validate_every=2", "data.test=null")
    with pytest.warns(UserWarning, match="max_positions 6"):
        start_training(config, tmp_path / "run", device="cpu")
    with pytest.warns(UserWarning, match="max_positions 6"):
        (translation,) = open_run(tmp_path / "run", "cpu").translator().translate(["a house " * 40])
    assert len(translation.texts) == 1
