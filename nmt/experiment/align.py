"""Where did the model look? Matrices and links of its own translations, or of given ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nmt.alignment.export import SentenceAlignment
from nmt.alignment.links import argmax_links
from nmt.alignment.matrix import AlignmentMatrix, MapChoice, reduce_heads
from nmt.alignment.units import pool_units, units_of
from nmt.data.batching import Example
from nmt.data.tokenizer import Pieces
from nmt.decoding.translate import Translation
from nmt.errors import ConfigError, DataError
from nmt.experiment.run import Run


@dataclass(frozen=True)
class Aligned:
    """The alignment of each line with `targets`; `each` holds, where all maps were asked for, those by each map alone.

    Its keys are `head0`, `head1` and so on, or `hop0`.
    """

    targets: list[str]
    alignments: list[SentenceAlignment]
    each: dict[str, list[SentenceAlignment]]


def align_translations(
    run: Run, translations: Sequence[Translation], *, unit: str | None = None
) -> list[SentenceAlignment]:
    """The alignment of each line with its best translation."""
    sources = [translation.source for translation in translations]
    before = [translation.before for translation in translations]
    return _align(run, sources, _texts(translations), _written(run, translations), unit, _maps(run), before).alignments


def align_given(
    run: Run,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    unit: str | None = None,
    before: Sequence[tuple[str, ...]] = (),
) -> list[SentenceAlignment]:
    """The alignment of each line with a given translation, forced; `before` as in `align_text`."""
    return align_text(run, sources, targets, unit=unit, before=before).alignments


def align_text(
    run: Run,
    sources: Sequence[str],
    targets: Sequence[str] | None,
    *,
    unit: str | None = None,
    choice: MapChoice | None = None,
    layer: int | None = None,
    before: Sequence[tuple[str, ...]] = (),
) -> Aligned:
    """The alignment of each line with its given translation or, without `targets`, the run's own.

    Looks at the mean of an attention's heads (or the one of `alignment.head`), the last of its hops, or what `choice`
    says instead; of a decoder in which several layers look at the source, at `layer`, or the run's own choice. With all
    heads or hops, the default map stands beside each alone. `before` are the sentences before each line; where it is
    empty and they count, they are those of `sources`, and a blank line ends a document.

    Raises DataError where the run has no weights or no such map or layer, ConfigError where heads are asked for and it
    has hops, or the reverse.
    """
    maps = _maps(run, choice, layer)  # what cannot be is said before the translation, which may take long
    if targets is not None:
        return _align(
            run, sources, targets, [run.target.encode(target) for target in targets], unit, maps, before, layer
        )
    translations = run.translator().translate(sources, before=before)
    return _align(run, sources, _texts(translations), _written(run, translations), unit, maps, before, layer)


def _texts(translations: Sequence[Translation]) -> list[str]:
    return [translation.texts[0] for translation in translations]


def _written(run: Run, translations: Sequence[Translation]) -> list[Pieces]:
    return [run.target.written(translation.hypotheses[0].pieces) for translation in translations]


def _maps(run: Run, choice: MapChoice | None = None, layer: int | None = None) -> dict[str, int | None]:
    """The map that links come from, under the name "", and those beside it; None is the mean of all."""
    if not run.has_weights:
        raise DataError(
            f"{run.folder.path}: its attention is none, which has no weights to look at; take a run with another "
            f"model.attention"
        )
    # Hops follow one another: the last tells what was read.
    kind = "hop" if run.model.decoder.last_map else "head"
    if choice is not None and choice.kind != kind:
        raise ConfigError(
            f"--{choice.kind} {choice.which}: the attention of {run.folder.path} ({run.config.model.attention.type}) "
            f"has {kind}s; give --{kind} instead"
        )
    # An empty pair tells how many there are.
    weights_HTS = run.forced([Example((), ())])[0].weights[run.alignment_layer(layer)]
    if choice is not None and isinstance(choice.which, int):
        reduce_heads(weights_HTS, choice.which, kind=kind)
        return {"": choice.which}
    if choice is not None and choice.which == "mean":
        return {"": None}
    count = len(weights_HTS)
    each: dict[str, int | None] = {f"{kind}{number}": number for number in range(count)}
    usual = count - 1 if kind == "hop" else run.config.alignment.head
    return {"": usual} | (each if choice is not None else {})


def _align(
    run: Run,
    sources: Sequence[str],
    targets: Sequence[str],
    written: Sequence[Pieces],
    unit: str | None,
    maps: Mapping[str, int | None],
    before: Sequence[tuple[str, ...]],
    layer: int | None = None,
) -> Aligned:
    layer, unit = run.alignment_layer(layer), unit or run.config.alignment.unit
    read = [run.source.encode(source) for source in sources]
    contexts = run.contexts(sources, before)
    examples = [
        Example(source.numbers, target.numbers, context)
        for source, target, context in zip(read, written, contexts, strict=True)
    ]
    found: dict[str, list[SentenceAlignment]] = {name: [] for name in maps}
    for index, forced in enumerate(run.forced(examples)):
        columns = units_of(sources[index], read[index].texts, read[index].spans, unit)
        rows = units_of(targets[index], written[index].texts, written[index].spans, unit)
        for name, number in maps.items():
            pooled = pool_units(reduce_heads(forced.weights[layer], number), columns, rows)
            matrix = AlignmentMatrix(columns.labels, rows.labels, np.asarray(pooled))
            found[name].append(SentenceAlignment(matrix, argmax_links(matrix.weights), index))
    alignments = found.pop("")
    return Aligned(list(targets), alignments, each=found)
