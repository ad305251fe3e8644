"""Text without spaces, from training to the error rate: Chinese and Japanese, aligned by characters."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt.alignment.export import read_json_lines
from nmt.alignment.links import format_links, read_links
from nmt.config.load import parse_config
from nmt.errors import DataError
from nmt.experiment.align import align_given, align_text
from nmt.experiment.run import Run, open_run
from nmt.experiment.texts import read_gold
from nmt.experiment.train import start_training

# Each character of one belongs to the characters of the other at the same place of the list; は and を to none.
NOUNS = (("猫", "猫"), ("老师", "先生"), ("孩子", "子供"))
VERBS = (("看", "見る"), ("画", "描く"), ("买", "買う"))
PAIRS = [
    (f"{noun[0]}{verb[0]}{thing[0]}。", f"{noun[1]}は{thing[1]}を{verb[1]}。")
    for noun, verb, thing in product(NOUNS, VERBS, NOUNS)
]


def links_of(source: str, target: str) -> str:
    """The characters of equal words, and the full stops."""
    links = set()
    for chinese, japanese in (*NOUNS, *VERBS, ("。", "。")):
        for start in (place for place in range(len(source)) if source.startswith(chinese, place)):
            end = target.rfind(japanese) if start > 1 else target.find(japanese)
            links |= {(start + i, end + j) for i in range(len(chinese)) for j in range(len(japanese))}
    return format_links(links)


@dataclass(frozen=True)
class Characters:
    run: Run
    folder: Path


@pytest.fixture(scope="module")
def trained_on_characters(tmp_path_factory: pytest.TempPathFactory) -> Characters:
    folder = tmp_path_factory.mktemp("characters")
    parts = {"train": PAIRS[:20] * 2, "valid": PAIRS[20:23], "test": PAIRS[23:]}
    for name, pairs in parts.items():
        for side, ending in enumerate(("zh", "ja")):
            (folder / f"{name}.{ending}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    gold = "".join(f"{links_of(*pair)}\n" for pair in parts["test"])
    (folder / "test.links").write_text(gold, encoding="utf-8")
    files: dict[str, Any] = {n: {"source": f"{folder}/{n}.zh", "target": f"{folder}/{n}.ja"} for n in parts}
    files["test"]["alignment"] = f"{folder}/test.links"
    settings = {
        "name": "characters",
        "data": {"source_language": "zh", "target_language": "ja", **files},
        "tokenizer": {"vocabulary_size": 30, "shared": False, "character_coverage": 1.0},
        "model": {"embedding": 16, "encoder": {"hidden": 16}, "decoder": {"hidden": 16}},
        "training": {"max_steps": 4, "batch_tokens": 200, "validate_every": 4, "precision": "float32"},
        "alignment": {"unit": "character", "examples": 2},
    }
    start_training(parse_config(settings, "a config"), folder / "run", device="cpu")
    return Characters(open_run(folder / "run", "cpu"), folder)


def test_training_writes_links_pictures_and_the_error_rate_of_characters(trained_on_characters: Characters) -> None:
    folder = trained_on_characters.folder
    references = read_links(folder / "run" / "test.ref.links")
    for (source, target), links in zip(PAIRS[23:], references, strict=True):
        assert {place for _, place in links.sure} == set(range(len(target)))  # each target character has its link
        assert max(place for place, _ in links.sure) < len(source)
    drawn = read_json_lines(folder / "run" / "alignments" / "test.hyp.jsonl")
    assert [one.matrix.source for one in drawn] == [tuple(source) for source, _ in PAIRS[23:25]]
    assert (folder / "run" / "alignments" / "test.0002.png").exists()
    assert '"aer"' in (folder / "run" / "test.scores.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("unit", ["character", "word", "piece"])
def test_units_of_text_without_spaces(trained_on_characters: Characters, unit: str) -> None:
    run = trained_on_characters.run
    sources, targets = [source for source, _ in PAIRS[:4]], [target for _, target in PAIRS[:4]]
    for found, source, target in zip(align_given(run, sources, targets, unit=unit), sources, targets, strict=True):
        matrix = found.matrix
        if unit == "character":
            assert (matrix.source, matrix.target) == (tuple(source), tuple(target))
        elif unit == "word":
            assert (matrix.source, matrix.target) == ((source,), (target,))
        else:
            assert "".join(matrix.source).replace("▁", "") == source
            assert "".join(matrix.target).replace("▁", "") == target
        assert matrix.weights.shape == (len(matrix.target), len(matrix.source))


def test_characters_share_what_their_pieces_look_at(trained_on_characters: Characters) -> None:
    """Of a piece of several characters each source character has an equal part, and each target one its row."""
    run = trained_on_characters.run
    source, target = PAIRS[5]
    (characters,) = align_given(run, [source], [target], unit="character")
    (pieces,) = align_given(run, [source], [target], unit="piece")
    spans = [run.source.encode(source).spans, run.target.encode(target).spans]
    for row, (start, end) in enumerate(spans[1]):
        for column, (left, right) in enumerate(spans[0]):
            block = characters.matrix.weights[start:end, left:right]
            if block.size:
                np.testing.assert_allclose(block.sum(axis=1), pieces.matrix.weights[row, column], atol=1e-6)
                np.testing.assert_allclose(
                    block, block[:1, :1].repeat(end - start, 0).repeat(right - left, 1), atol=1e-6
                )


def test_the_runs_own_translation_is_aligned_by_characters(trained_on_characters: Characters) -> None:
    found = align_text(trained_on_characters.run, ["猫看 猫。"], None)
    assert found.alignments[0].matrix.source == tuple("猫看猫。")  # spaces are no characters to align
    assert found.alignments[0].matrix.target == tuple("".join(found.targets[0].split()))


def test_gold_links_of_characters_are_checked_against_characters(trained_on_characters: Characters) -> None:
    path = trained_on_characters.folder / "one.links"
    path.write_text("0-0 3-4\n", encoding="utf-8")
    (links,) = read_gold(path, 0, ["猫看猫。"], ["猫は猫を見る。"], source_name="s", unit="character")
    assert links.sure == {(0, 0), (3, 4)}
    with pytest.raises(DataError, match=r"one\.links:1: link 3-4 .* 1 source and 1 target words"):
        read_gold(path, 0, ["猫看猫。"], ["猫は猫を見る。"], source_name="s", unit="word")
