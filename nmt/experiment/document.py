"""Where in the sentences before did the model look? For runs whose attention looks there, on pairs that are forced."""

from collections.abc import Sequence

from nmt.alignment.document import DocumentAlignment, document_alignment
from nmt.alignment.units import Units, units_of
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.parts import joined_rows
from nmt.experiment.align import Target, forced_parts
from nmt.experiment.run import Run


def document_alignments(
    run: Run,
    sources: Sequence[str],
    targets: Sequence[Target],
    *,
    unit: str | None = None,
    before: Sequence[tuple[str, ...]] = (),
) -> list[DocumentAlignment]:
    """Where each target word looked in the sentences before its own; lines with none before them are left out.

    `before` are those of each line; where it is empty, they are those of `sources`, and a blank line ends a document.
    The list is empty where the run looks at single sentences.
    """
    unit, before = unit or run.config.alignment.unit, before or run.before(sources)
    if not before:
        return []
    found = []
    for index, parts in enumerate(forced_parts(run, sources, targets, before)):
        documents = [part.document for part in parts if part.document is not None]
        if not documents:
            continue
        words = [joined_rows(sentence) for sentence in zip(*(one.words for one in documents), strict=True)]
        weights_TK = joined_rows([one.sentences for one in documents])
        gate_T = joined_rows([one.gate for one in documents])
        # Sentences without pieces are not read, so they are none of the document's.
        lines = [line for line in before[index] if run.source.encode(line).numbers]
        columns = [
            _units(run.source, line, len(weights_TS[0]), unit) for line, weights_TS in zip(lines, words, strict=True)
        ]
        found.append(document_alignment(words, weights_TK, gate_T, columns, targets[index].units(unit), index))
    return found


def _units(tokenizer: Tokenizer, line: str, read: int, unit: str) -> Units:
    """The units of a sentence before, of which the first `read` pieces were read."""
    pieces = tokenizer.encode(line)
    return units_of(line, pieces.texts[:read], pieces.spans[:read], unit)
