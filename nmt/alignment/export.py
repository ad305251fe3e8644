"""Alignments as files: JSON lines or NumPy arrays with words, weights and links, and plain Pharaoh links.

Each file gets its name when it is whole, so that a reader never meets half of one; its folder is made if missing.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from nmt.alignment.links import Link, check_range, format_links, parse_links
from nmt.alignment.matrix import AlignmentMatrix
from nmt.errors import DataError
from nmt.files import replacing


@dataclass(frozen=True, eq=False)
class SentenceAlignment:
    """One sentence pair's matrix and the links drawn from it; `index` is its 0-based line in the text, where known."""

    matrix: AlignmentMatrix
    links: frozenset[Link]
    index: int | None = None


def write_json_lines(path: str | Path, alignments: Iterable[SentenceAlignment]) -> None:
    """Write one JSON object a line: `index` (where known), `source`, `target`, `weights` ([T][S]) and `links`.

    Weights are rounded to 6 significant digits; `links` is a Pharaoh string. Raises DataError where the file cannot be
    written, ValueError on weights that are no finite numbers, which JSON cannot hold.
    """
    with _whole_text(Path(path)) as file:
        for alignment in alignments:
            json.dump(_to_object(alignment), file, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            file.write("\n")


def read_json_lines(path: str | Path) -> list[SentenceAlignment]:
    """Read what `write_json_lines` wrote; blank lines are passed over.

    Raises DataError on a file that cannot be read, and on a line (`file:line`) that is no such object.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise DataError(f"{path}: alignments cannot be read ({error.strerror}); give a JSON lines file") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text; give a JSON lines file written by this toolkit") from error
    return [_from_line(line, f"{path}:{number}") for number, line in enumerate(lines, start=1) if line.strip()]


def write_pharaoh(path: str | Path, sentences: Iterable[Iterable[Link]]) -> None:
    """Write 0-based Pharaoh links, `i-j` with the source first, one sentence pair a line (empty: no links).

    Raises DataError where the file cannot be written.
    """
    with _whole_text(Path(path)) as file:
        for links in sentences:
            file.write(format_links(links) + "\n")


def write_numpy(path: str | Path, alignments: Iterable[SentenceAlignment]) -> None:
    """Write a NumPy archive (`.npz`, compressed) with four arrays for each sentence, numbered from 0 in their order.

    `source_0` and `target_0` are the words (strings), `weights_0` is [T, S] float32, as it was computed, and `links_0`
    is [links, 2] int64, source first, sorted. `numpy.load(path)` reads it; nothing in it is pickled. Raises DataError
    where it cannot be written.
    """
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for number, alignment in enumerate(alignments):
        matrix = alignment.matrix
        arrays[f"source_{number}"] = np.array(matrix.source, dtype=np.str_)
        arrays[f"target_{number}"] = np.array(matrix.target, dtype=np.str_)
        arrays[f"weights_{number}"] = matrix.weights
        arrays[f"links_{number}"] = np.array(sorted(alignment.links), dtype=np.int64).reshape(-1, 2)
    with _whole_file(Path(path)) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # every name is an array's


def _to_object(alignment: SentenceAlignment) -> dict[str, Any]:
    matrix = alignment.matrix
    return {
        **({} if alignment.index is None else {"index": alignment.index}),
        "source": matrix.source,
        "target": matrix.target,
        "weights": [[float(f"{weight:.6g}") for weight in row] for row in matrix.weights.tolist()],
        "links": format_links(alignment.links),
    }


def _from_line(line: str, where: str) -> SentenceAlignment:
    try:
        read = json.loads(line)
        source, target = _words(read["source"]), _words(read["target"])
        weights = np.array(read["weights"], dtype=np.float32)
        # Without target words there are no rows, from which the number of columns could be read.
        matrix = AlignmentMatrix(source, target, weights if target else weights.reshape(0, len(source)))
        index, links = read.get("index"), read["links"]
        if not (isinstance(links, str) and (index is None or isinstance(index, int))):
            raise TypeError("links must be a string, index a whole number")
    except KeyError as error:
        raise DataError(
            f"{where}: no {error.args[0]!r}; an alignment has source, target, weights and links; write the file anew"
        ) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(
            f"{where}: not an alignment ({error}); allowed is one JSON object a line with source and target words, "
            f"weights [target][source] and links; write the file anew"
        ) from error
    parsed = parse_links(links, where=where).possible
    check_range(parsed, len(source), len(target), where)
    return SentenceAlignment(matrix, parsed, index)


def _words(read: object) -> tuple[str, ...]:
    if not (isinstance(read, list) and all(isinstance(word, str) for word in read)):
        raise TypeError("source and target must be lists of words")
    return tuple(read)


@contextmanager
def _whole_text(path: Path) -> Iterator[TextIO]:
    """Open a text file for writing that gets the name `path` once it is whole and on the disk."""
    with _whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        yield file


@contextmanager
def _whole_file(path: Path) -> Iterator[Path]:
    """A temporary file that gets the name `path` once it is whole and on the disk."""
    try:
        with replacing(path) as temporary:
            yield temporary
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}); give a writable place with room") from error
