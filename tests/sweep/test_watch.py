"""How far a run has come, from a file that grows, is cut off, and is replaced."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nmt.config.schema import Config
from nmt.sweep.watch import Watch

Make = Callable[..., Config]


def update(step: int, speed: float = 100.0) -> str:
    entry = {"event": "update", "step": step, "epoch": step / 10, "seconds": 2.0 * step}
    return json.dumps({**entry, "target_tokens_per_second": speed}) + "\n"


def validation(step: int, bleu: float) -> str:
    return (
        json.dumps({"event": "validation", "step": step, "epoch": step / 10, "seconds": 2.0 * step, "bleu": bleu})
        + "\n"
    )


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    return Watch(tmp_path / "metrics.jsonl", "bleu")


def test_only_whole_lines_are_taken_and_each_once(watch: Watch) -> None:
    watch.read()
    assert watch.step == 0
    text = update(5) + validation(5, 1.5) + update(10, 200.0)
    watch.file.write_text(text[:-3], encoding="utf-8")
    watch.read()
    assert (watch.step, watch.tokens_per_second, watch.validations) == (5, 100.0, {5: 1.5})
    watch.file.write_text(text + validation(10, 2.5), encoding="utf-8")
    watch.read()
    assert (watch.step, watch.tokens_per_second, watch.validations) == (10, 200.0, {5: 1.5, 10: 2.5})


def test_a_file_that_was_replaced_is_read_anew(watch: Watch, tmp_path: Path) -> None:
    """As `nmt train --resume` does, which takes out what lies after the state that it goes on from."""
    watch.file.write_text(update(5) + validation(5, 1.5) + update(8), encoding="utf-8")
    watch.read()
    other = tmp_path / "other"
    other.write_text(update(5) + validation(5, 1.5), encoding="utf-8")
    other.replace(watch.file)
    watch.read()
    assert (watch.step, watch.validations) == (5, {5: 1.5})


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        (("training.max_steps=40",), 60.0),
        (("training.max_steps=40", "training.max_epochs=2"), 20.0),
        (("training.max_steps=40", "training.max_minutes=0.5"), 10.0),
    ],
)
def test_time_left_is_that_of_the_nearest_limit(
    watch: Watch, tiny_config: Make, limits: tuple[str, ...], left: float
) -> None:
    training = tiny_config(*limits).training
    assert watch.seconds_left(training) is None
    watch.file.write_text(update(10), encoding="utf-8")  # 10 steps, 1 epoch, 20 seconds
    watch.read()
    assert watch.seconds_left(training) == pytest.approx(left)
