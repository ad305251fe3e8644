"""Where in the sentences before did the model look? For runs whose attention looks there, on pairs that are forced."""

from collections.abc import Sequence

from nmt.alignment.document import DocumentAlignment, document_alignment
from nmt.alignment.units import Units, units_of
from nmt.data.batching import Example
from nmt.data.tokenizer import Tokenizer
from nmt.experiment.run import Run


def document_alignments(
    run: Run,
    sources: Sequence[str],
    targets: Sequence[str],
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
    contexts = run.contexts(sources, before)
    written = [run.target.encode(target) for target in targets]
    examples = [
        Example(run.source.encode(source).numbers, target.numbers, context)
        for source, target, context in zip(sources, written, contexts, strict=True)
    ]
    found = []
    for index, forced in enumerate(run.forced(examples)):
        if forced.document is None:
            continue
        # Sentences without pieces are not read, so they are none of the document's.
        lines = [line for line in before[index] if run.source.encode(line).numbers]
        columns = [
            _units(run.source, line, len(weights_TS[0]), unit)
            for line, weights_TS in zip(lines, forced.document.words, strict=True)
        ]
        rows = units_of(targets[index], written[index].texts, written[index].spans, unit)
        document = forced.document
        found.append(document_alignment(document.words, document.sentences, document.gate, columns, rows, index))
    return found


def _units(tokenizer: Tokenizer, line: str, read: int, unit: str) -> Units:
    """The units of a sentence before, of which the first `read` pieces were read."""
    pieces = tokenizer.encode(line)
    return units_of(line, pieces.texts[:read], pieces.spans[:read], unit)
