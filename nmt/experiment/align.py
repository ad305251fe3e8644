"""Where did the model look? Matrices and links of its own translations, or of given ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from nmt.alignment.export import SentenceAlignment
from nmt.alignment.matrix import LayerChoice, MapChoice
from nmt.alignment.units import Units, units_of
from nmt.data.batching import Example
from nmt.data.tokenizer import Pieces
from nmt.decoding.forced import Forced
from nmt.decoding.parts import pairs_of
from nmt.decoding.translate import Translation
from nmt.errors import ConfigError, DataError
from nmt.experiment.maps import AT_ONCE, Looked, Map, Maps, choose_maps, gather, map_between_pieces, sentence_maps
from nmt.experiment.run import Run


@dataclass(frozen=True)
class Target:
    """A translation that is forced: its text and pieces, the parts of a line that was translated in parts, and what
    the attention of each drew by, where it drew."""

    text: str
    pieces: Pieces
    parts: tuple[tuple[int, int], ...] = ()
    seeds: tuple[int, ...] = ()

    def units(self, unit: str) -> Units:
        """Its words, characters or pieces."""
        return units_of(self.text, self.pieces.texts, self.pieces.spans, unit)


@dataclass(frozen=True)
class Aligned(Looked):
    """The alignment of each line with what was `written`; `each` holds, where all maps were asked for, those by each
    alone."""

    written: list[Target]

    @property
    def targets(self) -> list[str]:
        """The texts alone."""
        return [target.text for target in self.written]


def align_translations(
    run: Run, translations: Sequence[Translation], *, unit: str | None = None
) -> list[SentenceAlignment]:
    """The alignment of each line with its best translation."""
    sources, before = [one.source for one in translations], [one.before for one in translations]
    return _align(run, sources, own_targets(run, translations), unit, aligning_maps(run), before).alignments


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
        given = given_targets(run, targets)
        read = (len(run.source.encode(source).numbers) for source in sources)
        run.warn_of_long(zip(read, (len(target.pieces.numbers) for target in given), strict=True))
        return _align(run, sources, given, unit, maps, before)
    translations = run.translator().translate(sources, before=before)
    return _align(run, sources, own_targets(run, translations), unit, maps, before)


def given_targets(run: Run, texts: Sequence[str]) -> list[Target]:
    """Given translations, each in one part."""
    return [Target(text, run.target.encode(text)) for text in texts]


def own_targets(run: Run, translations: Sequence[Translation]) -> list[Target]:
    """The best translation of each line, in the pieces and parts that the run wrote."""
    best = [(one.texts[0], one.hypotheses[0], one.seeds) for one in translations]
    return [Target(text, run.target.written(one.pieces), one.parts, seeds) for text, one, seeds in best]


def aligning_maps(run: Run, choice: MapChoice | None = None, layer: LayerChoice = None) -> Maps:
    """The maps of the decoder's attention that `align_text` looks at; it raises what is said there."""
    if not run.has_weights:
        alone = "; `nmt align` of it alone tells where in the sentences before it looked"
        raise DataError(
            f"{run.folder.path}: its attention is none, which has no weights to look at; take a run with another "
            f"model.attention{alone if run.model.decoder.reads_document else ''}"
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
    targets: Sequence[Target],
    maps: Mapping[str, Map],
    *,
    unit: str | None = None,
    before: Sequence[tuple[str, ...]] = (),
) -> Iterator[dict[str, SentenceAlignment]]:
    """Each line's maps, by their names, when its target is forced; `before` as above."""
    unit = unit or run.config.alignment.unit
    for index, parts in enumerate(forced_parts(run, sources, targets, before)):
        read = run.source.encode(sources[index])
        columns = units_of(sources[index], read.texts, read.spans, unit)
        weights = partial(map_between_pieces, [part.weights for part in parts])
        yield sentence_maps(weights, maps, columns, targets[index].units(unit), index)


def forced_parts(
    run: Run, sources: Sequence[str], targets: Sequence[Target], before: Sequence[tuple[str, ...]]
) -> Iterator[list[Forced]]:
    """The forced passes of each line's parts, mostly one; those of some lines at a time are in memory together."""
    pairs = run.pairs(sources, [target.pieces.numbers for target in targets], before)
    parts = [pairs_of(pair, target.parts, target.seeds) for pair, target in zip(pairs, targets, strict=True)]
    for start in range(0, len(parts), AT_ONCE):
        some = parts[start : start + AT_ONCE]
        forced = iter(run.forced(list(chain.from_iterable(some))))
        yield from (list(islice(forced, len(each))) for each in some)


def _align(
    run: Run,
    sources: Sequence[str],
    targets: Sequence[Target],
    unit: str | None,
    maps: Maps,
    before: Sequence[tuple[str, ...]],
) -> Aligned:
    found = gather(maps, forced_maps(run, sources, targets, maps.named, unit=unit, before=before))
    return Aligned(found.alignments, found.each, found.rows, list(targets))
