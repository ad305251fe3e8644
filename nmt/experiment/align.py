"""Where did the model look? Matrices and links of its own translations, or of given ones."""

from collections.abc import Sequence

import numpy as np

from nmt.alignment.export import SentenceAlignment
from nmt.alignment.links import argmax_links
from nmt.alignment.matrix import AlignmentMatrix, reduce_heads
from nmt.alignment.units import pool_units, units_of
from nmt.data.batching import Example
from nmt.data.tokenizer import Pieces
from nmt.decoding.translate import Translation
from nmt.errors import DataError
from nmt.experiment.run import Run


def align_translations(
    run: Run, translations: Sequence[Translation], *, unit: str | None = None, head: int | None = None
) -> list[SentenceAlignment]:
    """The alignment of each line with its best translation."""
    written = [run.target.written(translation.hypotheses[0].pieces) for translation in translations]
    sources = [translation.source for translation in translations]
    texts = [translation.texts[0] for translation in translations]
    return _align(run, sources, texts, written, unit, head)


def align_given(
    run: Run, sources: Sequence[str], targets: Sequence[str], *, unit: str | None = None, head: int | None = None
) -> list[SentenceAlignment]:
    """The alignment of each line with a given translation, forced."""
    return _align(run, sources, targets, [run.target.encode(target) for target in targets], unit, head)


def align_text(
    run: Run,
    sources: Sequence[str],
    targets: Sequence[str] | None,
    *,
    unit: str | None = None,
    head: int | None = None,
) -> tuple[list[SentenceAlignment], list[str]]:
    """The alignment of each line with its given translation or, without `targets`, the run's own; and that."""
    if targets is not None:
        return align_given(run, sources, targets, unit=unit, head=head), list(targets)
    _require_weights(run)
    translations = run.translator().translate(sources)
    alignments = align_translations(run, translations, unit=unit, head=head)
    return alignments, [translation.texts[0] for translation in translations]


def _require_weights(run: Run) -> None:
    if not run.has_weights:
        raise DataError(
            f"{run.folder.path}: its attention is none, which has no weights to look at; take a run with another "
            f"model.attention"
        )


def _align(
    run: Run,
    sources: Sequence[str],
    targets: Sequence[str],
    written: Sequence[Pieces],
    unit: str | None,
    head: int | None,
) -> list[SentenceAlignment]:
    _require_weights(run)
    unit = unit or run.config.alignment.unit
    read = [run.source.encode(source) for source in sources]
    examples = [Example(source.numbers, target.numbers) for source, target in zip(read, written, strict=True)]
    alignments = []
    for index, forced in enumerate(run.forced(examples)):
        columns = units_of(sources[index], read[index].texts, read[index].spans, unit)
        rows = units_of(targets[index], written[index].texts, written[index].spans, unit)
        weights_HTS = forced.weights[-1]
        # Hops follow one another: unless one is asked for, the last tells what was read.
        chosen = len(weights_HTS) - 1 if head is None and run.model.decoder.attention.last_map else head
        pooled = pool_units(reduce_heads(weights_HTS, chosen), columns, rows)
        matrix = AlignmentMatrix(columns.labels, rows.labels, np.asarray(pooled))
        alignments.append(SentenceAlignment(matrix, argmax_links(matrix.weights), index))
    return alignments
