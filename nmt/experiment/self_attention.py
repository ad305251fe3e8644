"""Where did each source word look while the source was read? The maps of an encoder's self-attention."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from nmt.alignment.export import SentenceAlignment
from nmt.alignment.matrix import LayerChoice, MapChoice
from nmt.alignment.units import units_of
from nmt.errors import ConfigError, DataError
from nmt.experiment.maps import (
    AT_ONCE,
    Looked,
    Map,
    Maps,
    check_layer,
    choose_maps,
    gather,
    map_between_pieces,
    sentence_maps,
)
from nmt.experiment.run import Run


def self_attention(
    run: Run,
    sources: Sequence[str],
    *,
    unit: str | None = None,
    choice: MapChoice | None = None,
    layer: LayerChoice = None,
) -> Looked:
    """Each line's matrix over itself: row u tells where unit u looked. Nothing is translated.

    Looks at the last layer's mean of heads, or what `choice` and `layer` say instead; the links are those of each unit
    to the one it looked at most. Raises DataError where the encoder has no self-attention, or no such layer or head,
    ConfigError where hops are asked for.
    """
    maps = _maps(run, choice, layer)
    return gather(maps, _read_maps(run, sources, maps.named, unit or run.config.alignment.unit))


def _maps(run: Run, choice: MapChoice | None, layer: LayerChoice) -> Maps:
    layers = run.model.encoder.attending_layers
    if not layers:
        raise DataError(
            f"{run.folder.path}: its encoder has no self-attention to look at; take a run with model.encoder.type "
            f"transformer, or with model.encoder.self_attention true"
        )
    if choice is not None and choice.kind != "head":
        raise ConfigError(f"--hop {choice.which}: self-attention has heads, not hops; give --head instead")
    usual = layer if isinstance(layer, int) else layers - 1
    check_layer(usual, layers, of="encoder")
    (weights,) = run.read([()])  # an empty line tells how many heads there are
    return choose_maps(Map(usual, None), (layers, len(weights[usual])), "head", choice, layer)


def _read_maps(
    run: Run, sources: Sequence[str], maps: Mapping[str, Map], unit: str
) -> Iterator[dict[str, SentenceAlignment]]:
    pieces = [run.source.encode(source) for source in sources]
    for start in range(0, len(pieces), AT_ONCE):
        read = run.read([one.numbers for one in pieces[start : start + AT_ONCE]])
        for index, weights in enumerate(read, start=start):
            units = units_of(sources[index], pieces[index].texts, pieces[index].spans, unit)
            yield sentence_maps(partial(map_between_pieces, [weights]), maps, units, units, index)
