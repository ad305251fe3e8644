"""Where the words of a source looked in their own sentence, by the encoder's self-attention."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nmt.alignment.links import argmax_links
from nmt.alignment.matrix import MapChoice
from nmt.config.schema import Config
from nmt.data.batching import source_batch
from nmt.errors import ConfigError, DataError
from nmt.experiment.run import Run, open_run
from nmt.experiment.self_attention import self_attention
from nmt.experiment.train import start_training

SOURCES = ["the cat sees a green house .", "", "my father  finds two trees ."]
ALL = MapChoice("head", "all")
ENCODERS = {
    "transformer": ("{type: transformer, hidden: 16, layers: 3, heads: 2, feed_forward: 32}", 3),
    "gru": ("{hidden: 16, self_attention: true, heads: 2}", 1),
}


@pytest.fixture(scope="module")
def runs(tiny_config: Callable[..., Config], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Runs whose encoders attend to themselves; the second one's decoder attends to nothing."""
    found = {}
    for name, attention in (("transformer", "bahdanau"), ("gru", "none")):
        changes = (f"model.encoder={ENCODERS[name][0]}", f"model.attention={{type: {attention}}}", "data.test=null")
        path = tmp_path_factory.mktemp("runs") / name
        start_training(tiny_config(*changes, "training.max_steps=4"), path, device="cpu")
        found[name] = open_run(path, "cpu")
    return found


def weights(found: list[Any]) -> list[Any]:
    return [one.matrix.weights for one in found]


def by_hand(run: Run, line: str, layer: int) -> Any:
    """The mean of a layer's heads between words, for text whose pieces each belong to one word."""
    pieces, words = run.source.encode(line), line.split()
    with torch.inference_mode():
        encoded = run.model.encode(*source_batch([pieces.numbers]), need_weights=True)
    weights_SS = encoded.weights[layer][0].mean(dim=0).numpy()
    owner, word = [], -1
    for text in pieces.texts:
        word += text.startswith("▁")
        owner.append(word)
    assert word == len(words) - 1
    pooled = np.zeros((len(words), len(words)))
    for u in range(len(words)):
        rows = [place for place, one in enumerate(owner) if one == u]
        for v in range(len(words)):
            columns = [place for place, one in enumerate(owner) if one == v]
            pooled[u, v] = np.mean([sum(weights_SS[row, column] for column in columns) for row in rows])
    return pooled


@pytest.mark.parametrize("kind", ENCODERS)
def test_rows_are_averaged_columns_summed_and_the_end_is_left_out(runs: dict[str, Run], kind: str) -> None:
    run, (_, layers) = runs[kind], ENCODERS[kind]
    for layer in range(layers):
        found = self_attention(run, SOURCES, layer=layer).alignments
        for line, one in zip(SOURCES, found, strict=True):
            assert one.matrix.source == one.matrix.target == tuple(line.split())
            assert one.links == argmax_links(one.matrix.weights)
            if line:
                np.testing.assert_allclose(one.matrix.weights, by_hand(run, line, layer), atol=1e-6)
                rows = one.matrix.weights.sum(axis=1)
                assert ((rows > 0) & (rows < 1)).all(), "the end of the sentence has its share"
        assert [one.index for one in found] == [0, 1, 2]


@pytest.mark.parametrize("kind", ENCODERS)
def test_the_default_is_the_last_layers_mean_and_all_gives_each(runs: dict[str, Run], kind: str) -> None:
    run, (_, layers) = runs[kind], ENCODERS[kind]
    looked = self_attention(run, SOURCES, choice=ALL, layer="all")
    assert looked.rows == tuple(tuple(f"layer{layer}.head{head}" for head in range(2)) for layer in range(layers))
    for layer in range(layers):
        heads = [weights(looked.each[f"layer{layer}.head{head}"]) for head in range(2)]
        for head, expected in enumerate(heads):
            alone = self_attention(run, SOURCES, choice=MapChoice("head", head), layer=layer)
            assert (alone.each, alone.rows) == ({}, ())
            for one, other in zip(weights(alone.alignments), expected, strict=True):
                np.testing.assert_array_equal(one, other)
        mean = [np.mean(pair, axis=0) for pair in zip(*heads, strict=True)]
        for one, other in zip(weights(self_attention(run, SOURCES, layer=layer).alignments), mean, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
        same = all(
            np.allclose(one, other, atol=1e-6) for one, other in zip(weights(looked.alignments), mean, strict=True)
        )
        assert same == (layer == layers - 1)


def test_each_line_is_read_by_itself(runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    import nmt.experiment.self_attention as experiment

    together = weights(self_attention(runs["transformer"], SOURCES).alignments)
    monkeypatch.setattr(experiment, "AT_ONCE", 1)
    alone = self_attention(runs["transformer"], SOURCES).alignments
    for one, other in zip(together, weights(alone), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert [one.index for one in alone] == [0, 1, 2]


@pytest.mark.parametrize("unit", ["piece", "character"])
def test_other_units(runs: dict[str, Run], unit: str) -> None:
    run = runs["transformer"]
    (found,) = self_attention(run, SOURCES[:1], unit=unit).alignments
    expected = run.source.encode(SOURCES[0]).texts if unit == "piece" else tuple(SOURCES[0].replace(" ", ""))
    assert found.matrix.source == found.matrix.target == expected


def test_nothing_is_translated(runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "translator", lambda _: pytest.fail("translated"))
    monkeypatch.setattr(Run, "forced", lambda *_: pytest.fail("translated"))
    self_attention(runs["transformer"], SOURCES)
    assert self_attention(runs["transformer"], [], choice=ALL).each == {"head0": [], "head1": []}


@pytest.mark.parametrize("kind", ENCODERS)
def test_maps_that_are_not_there_are_refused(runs: dict[str, Run], kind: str) -> None:
    run, (_, layers) = runs[kind], ENCODERS[kind]
    with pytest.raises(DataError, match=rf"^layer {layers} was asked for, and {layers} of this encoder look"):
        self_attention(run, SOURCES, layer=layers)
    with pytest.raises(DataError, match=r"^head 2 was asked for, and this attention has 2 "):
        self_attention(run, SOURCES, choice=MapChoice("head", 2))
    with pytest.raises(ConfigError, match=r"^--hop all: self-attention has heads"):
        self_attention(run, SOURCES, choice=MapChoice("hop", "all"))


def test_an_encoder_without_self_attention_is_told_of_with_what_to_do(opened: Run) -> None:
    with pytest.raises(DataError, match=r"no self-attention .*type transformer, or with .*self_attention true$"):
        self_attention(opened, SOURCES)


def test_the_layer_of_alignments_is_another_matter(runs: dict[str, Run], tiny_config: Any, tmp_path: Path) -> None:
    """`alignment.layer` and `alignment.head` are the decoder's."""
    small = "{type: transformer, hidden: 16, layers: 2, heads: 2, feed_forward: 32}"
    changes = (f"model.encoder={small}", f"model.decoder={small}", "alignment={layer: 0, head: 1}", "data.test=null")
    start_training(tiny_config(*changes, "training.max_steps=2"), tmp_path / "run", device="cpu")
    run = open_run(tmp_path / "run", "cpu")
    default = weights(self_attention(run, SOURCES).alignments)
    last = weights(self_attention(run, SOURCES, layer=1, choice=MapChoice("head", "mean")).alignments)
    for one, other in zip(default, last, strict=True):
        np.testing.assert_array_equal(one, other)
