"""Where did the model look? Matrices and links of its own translations, or of given ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nmt.alignment.export import SentenceAlignment
from nmt.alignment.matrix import LayerChoice, MapChoice
from nmt.alignment.units import units_of
from nmt.data.batching import Example
from nmt.data.tokenizer import Pieces
from nmt.decoding.translate import Translation
from nmt.errors import ConfigError, DataError
from nmt.experiment.maps import AT_ONCE, Looked, Map, Maps, choose_maps, gather, sentence_maps
from nmt.experiment.run import Run


@dataclass(frozen=True)
class Aligned(Looked):
    """The alignment of each line with `targets`; `each` holds, where all maps were asked for, those by each alone."""

    targets: list[str]


def align_translations(
    run: Run, translations: Sequence[Translation], *, unit: str | None = None
) -> list[SentenceAlignment]:
    """The alignment of each line with its best translation."""
    sources = [translation.source for translation in translations]
    written, before = _written(run, translations), [translation.before for translation in translations]
    return _align(run, sources, _texts(translations), written, unit, aligning_maps(run), before).alignments


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
    layer: LayerChoice = None,
    before: Sequence[tuple[str, ...]] = (),
) -> Aligned:
    """The alignment of each line with its given translation or, without `targets`, the run's own.

    Looks at the mean of an attention's heads (or the one of `alignment.head`), the last of its hops, or what `choice`
    says instead; of a decoder in which several layers look at the source, at `layer`, or the run's own choice. With all
    heads, hops or layers, the usual map stands beside each alone. `before` are the sentences before each line; where it
    is empty and they count, they are those of `sources`, and a blank line ends a document.

    Raises DataError where the run has no weights or no such map or layer, ConfigError where heads are asked for and it
    has hops, or the reverse.
    """
    maps = aligning_maps(run, choice, layer)  # what cannot be is said before the translation, which may take long
    if targets is not None:
        return _align(run, sources, targets, [run.target.encode(target) for target in targets], unit, maps, before)
    translations = run.translator().translate(sources, before=before)
    return _align(run, sources, _texts(translations), _written(run, translations), unit, maps, before)


def aligning_maps(run: Run, choice: MapChoice | None = None, layer: LayerChoice = None) -> Maps:
    """The maps of the decoder's attention that `align_text` looks at; it raises what is said there."""
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
    usual = run.alignment_layer(layer if isinstance(layer, int) else None)
    # An empty pair tells how many there are.
    weights = run.forced([Example((), ())])[0].weights
    layers, count = len(weights), len(weights[usual])
    number = count - 1 if kind == "hop" else run.config.alignment.head
    return choose_maps(Map(usual, number), (layers, count), kind, choice, layer)


def forced_maps(
    run: Run,
    sources: Sequence[str],
    targets: Sequence[str],
    written: Sequence[Pieces],
    maps: Mapping[str, Map],
    *,
    unit: str | None = None,
    before: Sequence[tuple[str, ...]] = (),
) -> Iterator[dict[str, SentenceAlignment]]:
    """Each line's maps, by their names, when `written`, the pieces of its target, is forced; `before` as above."""
    unit = unit or run.config.alignment.unit
    read = [run.source.encode(source) for source in sources]
    contexts = run.contexts(sources, before)
    examples = [
        Example(source.numbers, target.numbers, context)
        for source, target, context in zip(read, written, contexts, strict=True)
    ]
    for start in range(0, len(examples), AT_ONCE):
        for index, forced in enumerate(run.forced(examples[start : start + AT_ONCE]), start=start):
            columns = units_of(sources[index], read[index].texts, read[index].spans, unit)
            rows = units_of(targets[index], written[index].texts, written[index].spans, unit)
            yield sentence_maps(forced.weights, maps, columns, rows, index)


def _align(
    run: Run,
    sources: Sequence[str],
    targets: Sequence[str],
    written: Sequence[Pieces],
    unit: str | None,
    maps: Maps,
    before: Sequence[tuple[str, ...]],
) -> Aligned:
    found = gather(maps, forced_maps(run, sources, targets, written, maps.named, unit=unit, before=before))
    return Aligned(found.alignments, found.each, found.rows, list(targets))


def _texts(translations: Sequence[Translation]) -> list[str]:
    return [translation.texts[0] for translation in translations]


def _written(run: Run, translations: Sequence[Translation]) -> list[Pieces]:
    return [run.target.written(translation.hypotheses[0].pieces) for translation in translations]
