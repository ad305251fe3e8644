"""What is drawn in translation: by seed and line alone, and only where an attention draws."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from nmt.cli.app import app
from nmt.config.schema import Config
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
