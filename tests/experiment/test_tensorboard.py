"""Event files hold what metrics.jsonl holds, each step once, whatever was there before."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nmt.config.schema import Config
from nmt.errors import ConfigError
from nmt.experiment import tensorboard
from nmt.experiment.tensorboard import event_files
from nmt.experiment.train import resume_training, start_training


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensorboard, "_LOOK", 0.01)


def drawn(run: Path) -> dict[str, dict[int, float]]:
    """Every curve that TensorBoard would draw, step by step; a step that is there twice fails."""
    events = EventAccumulator(str(run / "tensorboard")).Reload()
    found = {name: [(one.step, one.value) for one in events.Scalars(name)] for name in events.Tags()["scalars"]}
    for name, points in found.items():
        assert len(dict(points)) == len(points), name
    return {name: dict(points) for name, points in found.items()}


def expected(run: Path) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        group = {"update": "training", "validation": "validation"}[entry["event"]]
        for name, value in entry.items():
            if name not in ("event", "step", "epoch", "seconds", "best"):
                found.setdefault(f"{group}/{name}", {})[entry["step"]] = value
    return found


def same(run: Path) -> None:
    curves, numbers = drawn(run), expected(run)
    assert curves.keys() == numbers.keys()
    for name in numbers:
        assert curves[name] == pytest.approx(numbers[name], rel=1e-6), name


def test_a_training_and_its_continuation(tiny_config: Callable[..., Config], tmp_path: Path) -> None:
    run = tmp_path / "run"
    changes = ("training.validate_every=2", "training.log_every=1", "data.test=null")
    with event_files(run):
        start_training(tiny_config("training.max_steps=2", *changes), run, device="cpu")
    same(run)
    assert {"training/loss", "training/target_tokens_per_second", "validation/bleu"} <= drawn(run).keys()
    with event_files(run):
        resume_training(tiny_config("training.max_steps=4", *changes), run, device="cpu")
    same(run)
    assert list(drawn(run)["training/loss"]) == [1, 2, 3, 4]


def lines(*steps: int) -> Iterator[str]:
    return (json.dumps({"event": "update", "step": step, "loss": 1.0 / step}) + "\n" for step in steps)


def test_what_another_training_left_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    """As with --overwrite: until the folder is emptied, nothing is written into it."""
    file = tmp_path / "metrics.jsonl"
    file.write_text("".join(lines(7)), encoding="utf-8")
    with event_files(tmp_path):
        assert not (tmp_path / "tensorboard").exists()
        file.unlink()
        file.write_text("".join(lines(1, 2)), encoding="utf-8")
    assert list(drawn(tmp_path)["training/loss"]) == [1, 2]


def test_half_a_line_waits_for_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    with event_files(tmp_path), file.open("w", encoding="utf-8") as metrics:
        whole = "".join(lines(1, 2))
        metrics.write(whole[:-5])
        metrics.flush()
    assert list(drawn(tmp_path)["training/loss"]) == [1]


def test_a_training_that_never_begins_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), event_files(tmp_path):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_without_the_package_one_line_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("torch.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    missing: Any = None
    monkeypatch.setitem(sys.modules, "tensorboard", missing)
    where = pytest.raises(ConfigError, match=r"^--tensorboard needs the package tensorboard.*pip install")
    with where as refused, event_files(tmp_path):
        pass
    assert "\n" not in str(refused.value)
