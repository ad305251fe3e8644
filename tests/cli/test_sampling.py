"""What is drawn in translation: by seed and line alone, and only where an attention draws."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from nmt.alignment.links import argmax_links, parse_links
from nmt.alignment.units import pool_units, units_of
from nmt.cli.app import app
from nmt.config.schema import Config
from nmt.data.batching import Example
from nmt.decoding.coverage import coverage_penalty
from nmt.decoding.parts import pairs_of
from nmt.decoding.search import length_penalty
from nmt.decoding.translate import Translation
from nmt.experiment.align import align_translations
from nmt.experiment.hypotheses import json_lines
from nmt.experiment.run import Run, open_run
from nmt.experiment.train import Trained, start_training

Make = Callable[..., Config]


def translate(*arguments: object, stdin: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["translate", *map(str, arguments)], input=stdin)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def hard(tiny_config: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with hard attention that is unsure of where to look, and whose output depends on it."""
    path = tmp_path_factory.mktemp("runs") / "hard"
    changes = ("model.attention={type: hard}", "training.max_steps=30", "training.validate_every=30", "data.test=null")
    start_training(tiny_config(*changes), path, device="cpu")
    return path


@pytest.fixture
def opened(hard: Path) -> Run:
    run = open_run(hard, "cpu")
    with torch.no_grad():
        run.model.decoder.readout.context.weight.mul_(30.0)
    return run


@pytest.mark.parametrize("beam", [1, 3])
def test_a_line_is_translated_by_seed_and_number_alone(opened: Run, corpus: object, beam: int) -> None:
    lines = corpus.lines("test.en")  # type: ignore[attr-defined]

    def texts(seed: int | None, batch: int, first: int = 0) -> list[str]:
        changes = {"beam": beam, "batch_size": batch}
        translator = opened.translator(changes, seed=seed or 1, draw_attention=seed is not None)
        chunks = translator.chunks(lines[first:], first=first, read_ahead=3)
        return [one.texts[0] for chunk in chunks for one in chunk]

    drawn = texts(1, 8)
    assert texts(1, 1) == drawn
    assert texts(1, 8, first=5) == drawn[5:]
    assert texts(2, 8) != drawn
    assert texts(None, 8) != drawn
    assert texts(None, 1) == texts(None, 8)


def test_equal_lines_are_drawn_for_each_by_itself(opened: Run) -> None:
    found = opened.translator({"beam": 1}, draw_attention=True).translate(["the cat sees a house ."] * 12)
    assert len({one.texts[0] for one in found}) > 1


def pairs_drawn(run: Run, found: Translation) -> list[list[Example]]:
    """The pairs of each hypothesis' parts, with what their attention drew by."""
    wholes = run.pairs([found.source] * len(found.hypotheses), [one.pieces for one in found.hypotheses])
    return [pairs_of(pair, one.parts, found.seeds) for pair, one in zip(wholes, found.hypotheses, strict=True)]


def gained(run: Run, pairs: list[Example]) -> float:
    return sum(float(one.log_probabilities.sum()) for one in run.forced(pairs, need_weights=False))


@pytest.mark.filterwarnings("ignore:line")
@pytest.mark.parametrize("longest", [100, 4], ids=["whole", "in parts"])
def test_a_forced_pass_draws_again_what_a_search_drew(opened: Run, corpus: object, longest: int) -> None:
    """For every hypothesis of a beam: only by the same draws is it as probable as the search said."""
    lines = corpus.lines("test.en")  # type: ignore[attr-defined]
    translator = opened.translator({"beam": 3}, seed=4, draw_attention=True)
    translator.longest = longest
    without = []
    for found in translator.translate([*lines[:4], "", *lines[4:]], 3, first=7):
        for one, pairs in zip(found.hypotheses, pairs_drawn(opened, found), strict=True):
            assert len(pairs) == max(1, len(one.parts))
            if found.source:
                assert gained(opened, pairs) == pytest.approx(one.log_probability, abs=1e-3)
                without.append(gained(opened, [replace(pair, seed=None) for pair in pairs]) - one.log_probability)
    assert max(map(abs, without)) > 0.1, "the most probable positions are others"


def test_the_alignment_told_is_that_of_what_was_drawn(opened: Run, corpus: object) -> None:
    lines = corpus.lines("test.en")  # type: ignore[attr-defined]
    translator = opened.translator({"beam": 1}, seed=3, draw_attention=True)
    steps: list[torch.Tensor] = []
    hook = opened.model.decoder.attention.register_forward_hook(lambda *call: steps.append(call[2].weights_BHTS))
    searched, translations = [], []
    for number, line in enumerate(lines):
        steps.clear()
        translations += translator.translate([line], first=number)
        searched.append(torch.cat(steps, dim=2)[0, 0].numpy())
    hook.remove()
    blank = translator.translate([""], first=len(lines))
    told = [json.loads(line)["alignment"] for line in json_lines([opened], [*blank, *translations], 0, 1)]
    assert told[0] == ""
    likeliest = []
    for one, weights_TS, links in zip(translations, searched, told[1:], strict=True):
        source, target = opened.source.encode(one.source), opened.target.written(one.hypotheses[0].pieces)
        columns = units_of(one.source, source.texts, source.spans, "word")
        rows = units_of(one.texts[0], target.texts, target.spans, "word")
        expected = argmax_links(pool_units(weights_TS, columns, rows))
        assert parse_links(links).sure == expected
        likeliest.append(align_translations(opened, [replace(one, seeds=())])[0].links == expected)
        assert align_translations(opened, [one])[0].links == expected
    assert not all(likeliest)


def test_coverage_is_of_what_was_drawn(opened: Run, corpus: object) -> None:
    lines = corpus.lines("test.en")  # type: ignore[attr-defined]
    translator = opened.translator({"beam": 3, "coverage_penalty": 0.3}, draw_attention=True)
    for found in translator.translate(lines, 3):
        for one, pairs in zip(found.hypotheses, pairs_drawn(opened, found), strict=True):
            (weights_TS,) = opened.looked(pairs)
            penalty = length_penalty(len(one.pieces) + 1, opened.config.decoding.length_penalty)
            expected = one.log_probability / penalty + coverage_penalty(weights_TS, 0.3)
            assert one.score == pytest.approx(expected, abs=1e-3)


def test_the_option_draws_and_the_seed_repeats_it(hard: Path, corpus: object) -> None:
    text = "".join(f"{line}\n" for line in corpus.lines("test.en"))  # type: ignore[attr-defined]
    outputs = [translate("--run", hard, "--sample-attention", "--seed", seed, stdin=text) for seed in (1, 1, 5)]
    assert all(code == 0 for code, _, _ in outputs)
    assert outputs[0][1] == outputs[1][1] == translate("--run", hard, "--sample-attention", stdin=text)[1]
    assert outputs[0][1].count("\n") == text.count("\n")


def test_an_attention_that_draws_nothing_says_so(trained: Trained) -> None:
    code, output, errors = translate("--run", trained.folder.path, "--sample-attention", stdin="the cat\n")
    assert (code, output) == (2, "")
    assert "bahdanau, which draws nothing" in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_that_is_no_64_bit_number_is_refused(hard: Path, seed: int) -> None:
    code, output, errors = translate("--run", hard, "--sample-attention", "--seed", seed, stdin="the cat\n")
    assert (code, output) == (2, "")
    assert "--seed" in errors


def test_the_largest_seed_draws(hard: Path) -> None:
    assert translate("--run", hard, "--sample-attention", "--seed", 2**63 - 1, stdin="the cat\n")[0] == 0


def test_a_seed_without_draws_is_refused(trained: Trained) -> None:
    code, output, errors = translate("--run", trained.folder.path, "--seed", 3, stdin="the cat\n")
    assert (code, output) == (2, "")
    assert "--sample-attention" in errors
