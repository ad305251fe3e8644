"""Which maps of an attention are looked at, and under which names they stand."""

from functools import partial

import numpy as np
import pytest

from nmt.alignment.matrix import LayerChoice, MapChoice
from nmt.alignment.units import Units
from nmt.errors import DataError
from nmt.experiment.maps import Map, check_layer, choose_maps, gather, map_between_pieces, sentence_maps

ALL = MapChoice("head", "all")
USUAL = Map(layer=1, number=None)
SHAPE = (3, 2)


@pytest.mark.parametrize(
    ("choice", "layer", "usual", "rows"),
    [
        (None, None, Map(1, None), []),
        (None, 2, Map(2, None), []),
        (MapChoice("head", 1), None, Map(1, 1), []),
        (MapChoice("head", "mean"), 0, Map(0, None), []),
        (ALL, None, Map(1, None), [{"head0": Map(1, 0), "head1": Map(1, 1)}]),
        (ALL, 2, Map(2, None), [{"head0": Map(2, 0), "head1": Map(2, 1)}]),
        (None, "all", Map(1, None), [{f"layer{layer}": Map(layer, None)} for layer in range(3)]),
        (MapChoice("head", 1), "all", Map(1, 1), [{f"layer{layer}": Map(layer, 1)} for layer in range(3)]),
        (
            ALL,
            "all",
            Map(1, None),
            [{f"layer{layer}.head{head}": Map(layer, head) for head in range(2)} for layer in range(3)],
        ),
    ],
)
def test_what_is_asked_for_is_what_is_looked_at(
    choice: MapChoice | None, layer: LayerChoice, usual: Map, rows: list[dict[str, Map]]
) -> None:
    maps = choose_maps(USUAL, SHAPE, "head", choice, layer)
    assert (maps.usual, list(maps.rows)) == (usual, rows)
    assert maps.named == {"": usual, **{name: one for row in rows for name, one in row.items()}}


def test_what_is_not_asked_for_stays_as_it_is() -> None:
    """A run whose config names a head, or whose attention has hops."""
    usual = Map(layer=0, number=2)
    assert choose_maps(usual, (1, 3), "hop").usual == usual
    assert choose_maps(usual, (1, 3), "hop", MapChoice("hop", "all")).usual == usual
    assert choose_maps(usual, (1, 3), "hop", MapChoice("hop", "mean")).usual == Map(0, None)
    (first, second) = choose_maps(usual, (2, 3), "head", None, "all").rows
    assert (first, second) == ({"layer0": Map(0, 2)}, {"layer1": Map(1, 2)})


@pytest.mark.parametrize("layer", [None, 0, "all"])
def test_a_map_that_is_not_there_is_refused(layer: LayerChoice) -> None:
    with pytest.raises(DataError, match=r"^hop 2 was asked for, and this attention has 2 .*: 0 to 1, mean, or all"):
        choose_maps(USUAL, SHAPE, "hop", MapChoice("hop", 2), layer)


def test_a_layer_that_is_not_there_is_refused() -> None:
    for layer in range(3):
        check_layer(layer, 3, of="encoder")
    for layer, layers, allowed in ((3, 3, "0 to 2"), (-1, 3, "0 to 2"), (1, 1, "only 0")):
        with pytest.raises(DataError, match=rf"^layer {layer} was asked .* {layers} of this encoder .*: {allowed}, or"):
            check_layer(layer, layers, of="encoder")


def test_each_map_is_that_of_its_layer_and_head_between_words() -> None:
    """Two pieces of one source word, one target word, ends; worked out by hand."""
    source, target = Units(("ab",), ((0,), (0,))), Units(("c",), ((0,),))
    first = np.array([[[0.1, 0.2, 0.7], [0.0, 0.0, 1.0]], [[0.5, 0.1, 0.4], [0.3, 0.3, 0.4]]], dtype=np.float32)
    weights = [first, np.flip(first, axis=0)]
    maps = choose_maps(USUAL, (2, 2), "head", ALL, "all")
    look = partial(map_between_pieces, [weights])
    looked = gather(maps, [sentence_maps(look, maps.named, source, target, index) for index in (0, 1)])
    assert looked.rows == (("layer0.head0", "layer0.head1"), ("layer1.head0", "layer1.head1"))
    found = {name: [one.matrix.weights.item() for one in alignments] for name, alignments in looked.each.items()}
    expected = {"layer0.head0": 0.3, "layer0.head1": 0.6, "layer1.head0": 0.6, "layer1.head1": 0.3}
    assert found == {name: [pytest.approx(weight)] * 2 for name, weight in expected.items()}
    for index, one in enumerate(looked.alignments):
        assert one.matrix.weights.item() == pytest.approx(0.45)
        assert (one.index, one.links, one.matrix.source, one.matrix.target) == (index, {(0, 0)}, ("ab",), ("c",))
