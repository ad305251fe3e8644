"""Where in the sentences before did each target word look? Weights of words and of sentences, and their product.

Shapes: T target words, K sentences before, S words of one of them.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmt.alignment.matrix import AlignmentMatrix, Array
from nmt.alignment.units import Units, pool_units
from nmt.files import write_text

BREAK = "¶"
"""The label of the empty column between two sentences of a document's matrix."""


@dataclass(frozen=True, eq=False)
class DocumentAlignment:
    """How much each target word looked at each word of the sentences before, in the document's order.

    `joint` has an array [T, S] for each sentence, which sum to 1 over all of them where every piece belongs to a word;
    `weights` [T, K] are those of the sentences, `gate` [T] the share of the sentence's own context in what was read.
    `index` is the 0-based line in the text.
    """

    target: tuple[str, ...]
    sentences: tuple[tuple[str, ...], ...]
    joint: tuple[Array, ...]
    weights: Array
    gate: Array
    index: int

    def matrix(self) -> AlignmentMatrix:
        """The joint weights as one matrix, the sentences side by side with an empty column between two of them."""
        gap, columns, labels = np.zeros((len(self.target), 1), np.float32), [], []
        for number, (words, joint) in enumerate(zip(self.sentences, self.joint, strict=True)):
            if number:
                columns.append(gap)
                labels.append(BREAK)
            columns.append(joint)
            labels += words
        return AlignmentMatrix(tuple(labels), self.target, np.concatenate(columns, axis=1))


def document_alignment(
    words: Sequence[Array], weights_TK: Array, gate_T: Array, columns: Sequence[Units], rows: Units, index: int
) -> DocumentAlignment:
    """From pieces (the target's end included) to units; `words` are the weights of each sentence's pieces, [T, S].

    Pooled as alignments are: summed over a source unit's pieces, averaged over a target unit's.
    """
    # A column of zeros stands for the end piece, which these sentences do not have.
    joint = tuple(
        pool_units(np.pad(part_TS * weights_TK[:, number, None], ((0, 0), (0, 1))), units, rows)
        for number, (part_TS, units) in enumerate(zip(words, columns, strict=True))
    )
    scalars_TN = np.column_stack([weights_TK, gate_T, np.zeros_like(gate_T)])
    pooled = pool_units(scalars_TN, Units(("",) * (len(words) + 1), tuple((n,) for n in range(len(words) + 1))), rows)
    labels = tuple(units.labels for units in columns)
    return DocumentAlignment(rows.labels, labels, joint, pooled[:, :-1], pooled[:, -1], index)


def write_documents(path: Path, alignments: Iterable[DocumentAlignment]) -> None:
    """One JSON object a line: `index`, `target`, `gate` [T], `sentences`: `words`, `weight` [T], `joint` [T][S]."""
    write_text(path, "".join(f"{json.dumps(_to_object(one), ensure_ascii=False)}\n" for one in alignments))


def _to_object(alignment: DocumentAlignment) -> dict[str, Any]:
    parts = zip(alignment.sentences, alignment.weights.T, alignment.joint, strict=True)
    return {
        "index": alignment.index,
        "target": alignment.target,
        "gate": _rounded(alignment.gate.tolist()),
        "sentences": [
            {"words": words, "weight": _rounded(weight.tolist()), "joint": _rounded(joint.tolist())}
            for words, weight, joint in parts
        ],
    }


def _rounded(numbers: Any) -> Any:
    """Numbers, or lists of them, to 6 significant digits."""
    return [_rounded(one) for one in numbers] if isinstance(numbers, list) else float(f"{numbers:.6g}")
