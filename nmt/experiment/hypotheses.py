"""Translations as lines: text, TSV, or JSON with pieces, scores and alignment."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

from nmt.alignment.links import argmax_links, format_links
from nmt.alignment.matrix import AlignmentMatrix
from nmt.alignment.units import pool_units, units_of
from nmt.decoding.parts import joined_maps, pairs_of
from nmt.decoding.translate import Translation
from nmt.experiment.run import Run, Weights, document_run, mean_map


def text_lines(runs: Sequence[Run], translations: Sequence[Translation], first: int, wanted: int) -> Iterator[str]:
    """The texts alone: `wanted` lines for each line, those that are not there blank."""
    for translation in translations:
        yield from [*translation.texts, *[""] * (wanted - len(translation.texts))]


def tsv_lines(runs: Sequence[Run], translations: Sequence[Translation], first: int, wanted: int) -> Iterator[str]:
    """The line's number (from 0), rank (from 1), score and text of each hypothesis."""
    for index, translation in enumerate(translations, start=first):
        for rank, (one, text) in enumerate(zip(translation.hypotheses, translation.texts, strict=True), start=1):
            yield "\t".join((str(index), str(rank), f"{one.score:.6f}", text.replace("\t", " ")))


def json_lines(runs: Sequence[Run], translations: Sequence[Translation], first: int, wanted: int) -> Iterator[str]:
    """An object for each hypothesis; `alignment` is its links in Pharaoh format, null where no run has weights."""
    every = [(one, rank) for one in translations for rank in range(len(one.hypotheses))]
    looked = iter(matrices(runs, every))
    for index, translation in enumerate(translations, start=first):
        for rank, (one, text) in enumerate(zip(translation.hypotheses, translation.texts, strict=True), start=1):
            matrix = next(looked)
            record = {
                "index": index,
                "rank": rank,
                "source": translation.source,
                "hypothesis": text,
                "pieces": runs[0].target.written(one.pieces, translation.start).texts,
                "log_probability": one.log_probability,
                "score": one.score,
                "alignment": None if matrix is None else format_links(argmax_links(matrix.weights)),
            }
            yield json.dumps(record, ensure_ascii=False, allow_nan=False)


Render = Callable[[Sequence[Run], Sequence[Translation], int, int], Iterator[str]]

RENDERERS: dict[str, Render] = {"text": text_lines, "tsv": tsv_lines, "jsonl": json_lines}
"""From the name of a format to what writes translations in it: those of a run, or an ensemble's; the number of the
first one's line; and how many were asked for of each line."""


def matrices(runs: Sequence[Run], chosen: Sequence[tuple[Translation, int]]) -> list[AlignmentMatrix | None]:
    """Where each translation's hypothesis of a rank (from 0) looked, by one forced pass; None where no run has weights.

    Of an ensemble the mean of those runs that have weights. Parts of a line are forced each by itself, and attention
    that drew draws the same positions again.
    """
    seeing = [run for run in runs if run.has_weights]
    if not seeing:
        return [None] * len(chosen)
    hypotheses = [one.hypotheses[rank] for one, rank in chosen]
    pairs = document_run(runs).pairs(
        [one.source for one, _ in chosen], [one.pieces for one in hypotheses], [one.before for one, _ in chosen]
    )
    rows = zip(pairs, hypotheses, chosen, strict=True)
    parts = [pairs_of(pair, hypothesis.parts, one.seeds) for pair, hypothesis, (one, _) in rows]
    maps = iter(mean_map(seeing, list(chain.from_iterable(parts))))
    joined = [joined_maps(list(islice(maps, len(each)))) for each in parts]
    return [_matrix(runs[0], *one, weights_TS) for one, weights_TS in zip(chosen, joined, strict=True)]


def _matrix(run: Run, translation: Translation, rank: int, weights_TS: Weights) -> AlignmentMatrix:
    unit, source = run.config.alignment.unit, run.source.encode(translation.source)
    target = run.target.written(translation.hypotheses[rank].pieces, translation.start)
    columns = units_of(translation.source, source.texts, source.spans, unit)
    rows = units_of(translation.texts[rank], target.texts, target.spans, unit)
    return AlignmentMatrix(columns.labels, rows.labels, pool_units(weights_TS, columns, rows))
