"""What runs are called side by side, and what an evaluation is in JSON."""

from pathlib import Path

import pytest

from nmt.errors import ConfigError
from nmt.evaluation.bleu import LengthBucket, Score
from nmt.experiment.evaluate import Evaluation, run_names


def test_runs_are_called_as_their_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_names([Path("runs/bahdanau"), tmp_path / "runs" / "luong", Path(".")]) == [
        "bahdanau",
        "luong",
        tmp_path.name,
    ]
    assert run_names([]) == []


def test_folders_of_one_name_are_told_apart_by_their_paths() -> None:
    assert run_names([Path("a/run"), Path("b/run"), Path("c/other")]) == ["a/run", "b/run", "other"]


@pytest.mark.parametrize("again", ["runs/one", "./runs/one", "runs/two/../one", "link"])
def test_a_run_is_given_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs/one").mkdir(parents=True)
    Path("runs/two").mkdir()
    Path("link").symlink_to("runs/one")
    with pytest.raises(ConfigError, match=rf"^--run {Path(again)}: is given twice"):
        run_names([Path("runs/one"), Path("runs/two"), Path(again)])


def test_an_evaluation_as_json_has_buckets_only_where_they_were_asked_for() -> None:
    score = Score("chrF2", 61.5, True, "signature", 0.5)
    plain = {"chrf": {"value": 61.5, "interval": 0.5, "signature": "signature"}, "sentences": 9}
    assert Evaluation((score,), (), 9).as_dict() == plain
    bucket = LengthBucket(0, 10, 9, 30.0)
    expected = {"low": 0, "high": 10, "sentences": 9, "bleu": 30.0}
    assert Evaluation((score,), (bucket,), 9).as_dict() == plain | {"by_length": [expected]}
