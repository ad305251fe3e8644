"""Alignments as files."""

import json
import os
from collections.abc import Iterator

import numpy as np
import pytest

from nmt.alignment.export import (
    SentenceAlignment,
    read_json_lines,
    write_json_lines,
    write_numpy,
    write_pharaoh,
)
from nmt.alignment.links import read_links
from nmt.alignment.matrix import AlignmentMatrix
from nmt.errors import DataError

WORDS = SentenceAlignment(
    AlignmentMatrix(("größe", "的", "\u2028"), ("$x_1$", '"'), np.array([[1 / 3, 1e-9, 2 / 3], [0, 1, 0]])),
    frozenset({(2, 0), (1, 1)}),
    index=4,
)
NO_TARGET = SentenceAlignment(AlignmentMatrix(("a", "b"), (), np.zeros((0, 2))), frozenset())
NO_SOURCE = SentenceAlignment(AlignmentMatrix((), ("a", "b"), np.zeros((2, 0))), frozenset())


def test_a_line_holds_words_rounded_weights_and_links(tmp_path) -> None:
    write_json_lines(tmp_path / "a.jsonl", [WORDS, NO_TARGET])
    text = (tmp_path / "a.jsonl").read_text(encoding="utf-8")
    first, second = (json.loads(line) for line in text.removesuffix("\n").split("\n"))
    assert first == {
        "index": 4,
        "source": ["größe", "的", "\u2028"],
        "target": ["$x_1$", '"'],
        "weights": [[0.333333, 1e-9, 0.666667], [0.0, 1.0, 0.0]],
        "links": "1-1 2-0",
    }
    assert second == {"source": ["a", "b"], "target": [], "weights": [], "links": ""}
    assert "größe" in text  # readable, not escaped


def test_what_is_written_is_read_back(tmp_path) -> None:
    write_json_lines(tmp_path / "a.jsonl", iter([WORDS, NO_TARGET, NO_SOURCE]))
    read = read_json_lines(tmp_path / "a.jsonl")
    for before, after in zip([WORDS, NO_TARGET, NO_SOURCE], read, strict=True):
        assert (after.matrix.source, after.matrix.target) == (before.matrix.source, before.matrix.target)
        assert (after.links, after.index) == (before.links, before.index)
        assert after.matrix.weights.shape == before.matrix.weights.shape
        np.testing.assert_allclose(after.matrix.weights, before.matrix.weights, rtol=5e-6)


def test_a_numpy_archive_holds_words_weights_and_links_of_each_sentence_and_no_pickle(tmp_path) -> None:
    write_numpy(tmp_path / "a.npz", iter([WORDS, NO_TARGET, NO_SOURCE]))
    with np.load(tmp_path / "a.npz", allow_pickle=False) as read:
        assert sorted(read) == sorted(f"{n}_{i}" for n in ("source", "target", "weights", "links") for i in range(3))
        for number, alignment in enumerate([WORDS, NO_TARGET, NO_SOURCE]):
            assert tuple(read[f"source_{number}"].tolist()) == alignment.matrix.source
            assert tuple(read[f"target_{number}"].tolist()) == alignment.matrix.target
            weights = read[f"weights_{number}"]
            assert weights.dtype == np.float32
            np.testing.assert_array_equal(weights, alignment.matrix.weights)  # exact, where JSON lines are rounded
            assert [tuple(link) for link in read[f"links_{number}"].tolist()] == sorted(alignment.links)
    write_numpy(tmp_path / "none.npz", [])
    assert list(np.load(tmp_path / "none.npz")) == []
    with pytest.raises(DataError, match=": cannot be written"):
        write_numpy(tmp_path / "a.npz" / "b.npz", [])


def test_weights_that_json_cannot_hold_are_refused_and_nothing_is_left(tmp_path) -> None:
    broken = SentenceAlignment(AlignmentMatrix(("a",), ("b",), np.array([[np.nan]])), frozenset())
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json_lines(tmp_path / "a.jsonl", [WORDS, broken])
    assert list(tmp_path.iterdir()) == []


GOOD = {"source": ["a"], "target": ["b"], "weights": [[1.0]], "links": "0-0"}


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "3",
        json.dumps({**GOOD, "source": "a"}),
        json.dumps({**GOOD, "target": [1]}),
        json.dumps({**GOOD, "weights": [[1.0, 2.0]]}),
        json.dumps({**GOOD, "weights": [1.0]}),
        json.dumps({**GOOD, "weights": [["x"]]}),
        json.dumps({**GOOD, "weights": None}),
        json.dumps({**GOOD, "links": [[0, 0]]}),
        json.dumps({**GOOD, "links": "0:0"}),
        json.dumps({**GOOD, "links": "0-1"}),
        json.dumps({**GOOD, "index": "1"}),
        json.dumps({key: value for key, value in GOOD.items() if key != "weights"}),
    ],
)
def test_a_line_that_is_no_alignment_is_named_by_file_and_line(line: str, tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n\n{line}\n")
    with pytest.raises(DataError, match=r"a\.jsonl:3: ") as caught:
        read_json_lines(path)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_or_written_are_named(tmp_path) -> None:
    with pytest.raises(DataError, match=r"none\.jsonl: alignments cannot be read"):
        read_json_lines(tmp_path / "none.jsonl")
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(DataError, match="not UTF-8"):
        read_json_lines(tmp_path / "bytes")
    for place in (tmp_path / "bytes" / "links", tmp_path):  # below a file, and where a folder is
        with pytest.raises(DataError, match=": cannot be written"):
            write_pharaoh(place, [])
    write_pharaoh(tmp_path / "new" / "links", [])
    assert read_links(tmp_path / "new" / "links") == []


def test_pharaoh_lines_are_sorted_and_empty_where_there_is_no_link(tmp_path) -> None:
    path = tmp_path / "links"
    write_pharaoh(path, [[(1, 0), (0, 2)], [], {(10, 1), (9, 1)}])
    assert path.read_bytes() == b"0-2 1-0\n\n9-1 10-1\n"
    assert [len(links.sure) for links in read_links(path)] == [2, 0, 2]


def test_a_write_that_breaks_off_leaves_the_old_file_and_no_other(tmp_path) -> None:
    path = tmp_path / "links"
    write_pharaoh(path, [[(0, 0)]])

    def breaking() -> Iterator[list[tuple[int, int]]]:
        yield [(5, 5)]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_pharaoh(path, breaking())
    assert path.read_text() == "0-0\n"
    assert os.listdir(tmp_path) == ["links"]


def test_the_file_takes_its_name_only_when_whole(tmp_path) -> None:
    path = tmp_path / "links"
    path.write_text("old\n")
    seen = []

    def watching() -> Iterator[list[tuple[int, int]]]:
        yield [(0, 0)]
        seen.append(path.read_text())

    write_pharaoh(path, watching())
    assert seen == ["old\n"]
    assert path.read_text() == "0-0\n"
