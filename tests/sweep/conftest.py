"""Sweeps of trainings that take a moment: fake_train.py stands in for `nmt train`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nmt.config.dialect import write_yaml
from nmt.config.load import dump_config
from nmt.config.schema import Config
from nmt.sweep import child, work

FAKE = Path(__file__).with_name("fake_train.py")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the sweeps of this process train with the fake, and look at it often."""
    monkeypatch.setattr(child, "TRAIN", (sys.executable, str(FAKE)))
    monkeypatch.setattr(work, "_LOOK", 0.01)
    monkeypatch.setattr(work, "_ASK", 0.05)


@pytest.fixture
def write_sweep(tiny_config: Callable[..., Config], tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a sweep's YAML beside a tiny config, and returns its path."""

    def write(*changes: str, **entries: Any) -> Path:
        config = tiny_config("training.max_steps=6", "training.validate_every=2", *changes)
        (tmp_path / "tiny.yaml").write_text(dump_config(config), encoding="utf-8")
        path = tmp_path / "sweep.yaml"
        path.write_text(write_yaml({"name": "sweep", "config": "tiny.yaml", **entries}), encoding="utf-8")
        return path

    return write
