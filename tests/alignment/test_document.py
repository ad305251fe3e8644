"""Where in the sentences before target words looked, from pieces to words."""

import json
from pathlib import Path

import numpy as np

from nmt.alignment.document import BREAK, document_alignment, write_documents
from nmt.alignment.units import Units

# Two sentences before, of two words (three pieces) and of one; a target of two words (three pieces), and its end.
COLUMNS = (Units(("old", "lamp"), ((0,), (1,), (1,))), Units(("yes",), ((0,),)))
ROWS = Units(("sie", "brennt"), ((0,), (1,), (1,)))
WORDS = (
    np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.2, 0.4, 0.4]], dtype=np.float32),
    np.ones((4, 1), dtype=np.float32),
)
WEIGHTS = np.array([[0.8, 0.2], [0.5, 0.5], [0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
GATE = np.array([0.6, 0.2, 0.4, 0.9], dtype=np.float32)


def test_weights_are_summed_over_source_words_and_averaged_over_target_words() -> None:
    found = document_alignment(WORDS, WEIGHTS, GATE, COLUMNS, ROWS, 7)
    np.testing.assert_allclose(found.joint[0], [[0.4, 0.4], [(0.5 + 0.0) / 2, (0.0 + 0.25) / 2]], atol=1e-6)
    np.testing.assert_allclose(found.joint[1], [[0.2], [(0.5 + 0.75) / 2]], atol=1e-6)
    np.testing.assert_allclose(found.weights, [[0.8, 0.2], [0.375, 0.625]], atol=1e-6)
    np.testing.assert_allclose(found.gate, [0.6, 0.3], atol=1e-6)
    matrix = found.matrix()
    assert matrix.source == ("old", "lamp", BREAK, "yes")
    np.testing.assert_allclose(matrix.weights.sum(axis=1), 1.0, atol=1e-6)
    assert (matrix.weights[:, 2] == 0).all()


def test_json_has_all_of_it(tmp_path: Path) -> None:
    found = document_alignment(WORDS, WEIGHTS, GATE, COLUMNS, ROWS, 7)
    write_documents(tmp_path / "documents.jsonl", [found])
    (line,) = (tmp_path / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    read = json.loads(line)
    assert (read["index"], read["target"], [one["words"] for one in read["sentences"]]) == (
        7,
        ["sie", "brennt"],
        [["old", "lamp"], ["yes"]],
    )
    np.testing.assert_allclose(read["gate"], found.gate, atol=1e-5)
    for one, joint, weight in zip(read["sentences"], found.joint, found.weights.T, strict=True):
        np.testing.assert_allclose(one["joint"], joint, atol=1e-5)
        np.testing.assert_allclose(one["weight"], weight, atol=1e-5)
