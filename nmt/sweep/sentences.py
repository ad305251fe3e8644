"""The same sentences, translated by every setting: texts, alignments and BLEU by length, from the run folders alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nmt.alignment.export import read_json_lines
from nmt.alignment.matrix import AlignmentMatrix
from nmt.data.corpus import read_lines
from nmt.errors import DataError
from nmt.evaluation.bleu import LengthBucket
from nmt.sweep.results import Result
from nmt.sweep.summary import Setting

_SHOWN = 8
"""Sentences on the page, where runs have not drawn more or fewer."""


@dataclass(frozen=True)
class Translated:
    """A setting's translation of a sentence, and where it looked, if it drew that."""

    setting: str
    number: int
    text: str
    matrix: AlignmentMatrix | None


@dataclass(frozen=True)
class Sentence:
    """A sentence of the test text; its source and reference are None where the files are no longer there."""

    number: int
    source: str | None
    reference: str | None
    translations: Sequence[Translated]


def same_sentences(settings: Sequence[Setting]) -> list[Sentence]:
    """The test sentences whose alignments were drawn, by the first run of each setting."""
    firsts = [setting.results[0] for setting in settings]
    texts = [_hypotheses(result) for result in firsts]
    maps = [_matrices(result) for result in firsts]
    source, reference = _test_text(firsts)
    drawn = sorted({index for found in maps for index in found}) or range(min(_SHOWN, max(map(len, texts), default=0)))
    return [
        Sentence(
            index + 1,
            _line(source, index),
            _line(reference, index),
            [
                Translated(setting.name, number, _line(texts[number], index) or "", maps[number].get(index))
                for number, setting in enumerate(settings)
                if _line(texts[number], index) is not None
            ],
        )
        for index in drawn
    ]


def lengths(settings: Sequence[Setting]) -> dict[str, list[LengthBucket]]:
    """BLEU by the number of source words of each setting whose runs have it, the mean over its seeds.

    Empty where the runs were tested on different texts: then lengths do not compare.
    """
    seeds = {setting.name: [_buckets(result) for result in setting.results] for setting in settings}
    seeds = {name: buckets for name, buckets in seeds.items() if all(buckets)}
    if len({tuple(map(_bounds, run)) for buckets in seeds.values() for run in buckets}) > 1:
        return {}
    return {name: [_mean(places) for places in zip(*buckets, strict=True)] for name, buckets in seeds.items()}


def _buckets(result: Result) -> list[LengthBucket]:
    return [LengthBucket(**bucket) for bucket in (result.meta.get("scores") or {}).get("by_length", ())]


def _bounds(bucket: LengthBucket) -> tuple[int, int | None, int]:
    return bucket.low, bucket.high, bucket.sentences


def _mean(buckets: Sequence[LengthBucket]) -> LengthBucket:
    scores = [bucket.bleu for bucket in buckets if bucket.bleu is not None]
    return replace(buckets[0], bleu=sum(scores) / len(scores)) if scores else buckets[0]


def _test_text(results: Sequence[Result]) -> tuple[Sequence[str] | None, Sequence[str] | None]:
    """The test text of the runs: where all have the same, and it is still there or was held out and kept."""
    files = {_test_files(result) for result in results}
    texts = {_read(*pair) if pair is not None else None for pair in files}
    if len(texts) != 1:
        return None, None
    source, reference = texts.pop() or (None, None)
    return source, reference


def _read(source: Path, reference: Path) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    try:
        return tuple(read_lines(source)), tuple(read_lines(reference))
    except DataError:
        return None


def _test_files(result: Result) -> tuple[Path, Path] | None:
    data, kept = result.config.data, result.folder.path / "held_out"
    if data.test is not None:
        return data.test.source, data.test.target
    files = kept / f"test.{data.source_language}", kept / f"test.{data.target_language}"
    return files if files[0].exists() else None


def _hypotheses(result: Result) -> list[str]:
    try:
        return read_lines(result.folder.path / "test.hyp")
    except DataError:
        return []  # a run without a test text


def _matrices(result: Result) -> Mapping[int, AlignmentMatrix]:
    try:
        found = read_json_lines(result.folder.alignments / "test.hyp.jsonl")
    except DataError:
        return {}  # attention none has no such file
    return {one.index: one.matrix for one in found if one.index is not None}


def _line(lines: Sequence[str] | None, index: int) -> str | None:
    return lines[index] if lines is not None and index < len(lines) else None
