"""`nmt compare`: runs side by side, as people use it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nmt.cli.app import app
from nmt.config.load import dump_config
from nmt.config.schema import Config
from nmt.evaluation.bleu import chrf
from nmt.experiment.train import Trained, start_training


def nmt(*arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the program, run in this process."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def young(tiny_config: Callable[..., Config], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has hardly begun, so that its translations are bad."""
    path = tmp_path_factory.mktemp("young") / "young"
    start_training(tiny_config("training.max_steps=2", "data.test=null"), path, device="cpu")
    return path


@pytest.fixture
def text(corpus: Any) -> tuple[str, Path, str, Path]:
    return "--source", corpus.folder / "test.en", "--reference", corpus.folder / "test.de"


def test_two_runs_as_json(trained: Trained, young: Path, text: tuple[object, ...], corpus: Any) -> None:
    code, output, errors = nmt("compare", trained.folder.path, young, *text, "--sentences", 2, "--ngrams", 3, "--json")
    assert code == 0, errors
    found = json.loads(output)
    assert found["sentences"] == 8
    assert list(found["metrics"]) == ["BLEU", "chrF2", "TER"]
    for metric in found["metrics"].values():
        assert list(metric["systems"]) == ["tiny", "young"]
        assert metric["systems"]["tiny"]["p_bootstrap"] is None
        assert 0.0 < metric["systems"]["young"]["p_randomisation"] <= 1.0
    stored = json.loads(trained.folder.scores_file.read_text(encoding="utf-8"))
    assert found["metrics"]["BLEU"]["systems"]["tiny"]["value"] == pytest.approx(stored["bleu"]["value"])
    references = corpus.lines("test.de")
    (first, second) = found["differences"]["young"]
    assert abs(first["points"]) >= abs(second["points"]) > 0
    for one in (first, second):
        assert one["reference"] == references[one["line"] - 1]
        scores = [chrf([line], [one["reference"]]).value for line in one["translations"].values()]
        assert one["points"] == pytest.approx(scores[1] - scores[0], abs=1.0)
    better, worse = (found["ngrams"]["young"][name] for name in ("better", "worse"))
    assert len(worse) == 3
    for one in worse:
        assert one["other"] < one["base"] <= one["wanted"]
        assert one["wanted"] == sum(f" {line} ".count(f" {' '.join(one['words'])} ") for line in references)
    assert all(one["base"] < one["other"] <= one["wanted"] for one in better)
    words = sum(len(line.split()) for line in references)
    assert [sum(one["wanted"] for one in buckets) for buckets in found["words_by_frequency"].values()] == [words] * 2


def test_runs_for_people(trained: Trained, young: Path, text: tuple[object, ...]) -> None:
    code, output, errors = nmt("compare", trained.folder.path, young, *text, "--sentences", 1, "--ngrams", 2)
    assert code == 0, errors
    heads = [line for line in output.splitlines() if "p bootstrap" in line]
    assert [line.split()[0] for line in heads] == ["BLEU", "chrF2", "TER"]
    assert output.count("baseline") == 6
    assert "times in training" in output
    assert "young against tiny: the sentences that differ most, in points of chrF2" in output
    assert output.count("  reference  ") == 1
    lines = output.splitlines()
    start = lines.index("young against tiny: n-grams of the references that it gets right less often")
    assert lines[start + 1].split() == ["wanted", "tiny", "young"]
    for line in lines[start + 2 : start + 4]:
        wanted, base, other = map(int, line.split()[:3])
        assert wanted >= base > other
    assert lines[start + 4] == ""


def test_no_ngrams_where_none_are_wanted_or_none_differ(
    trained: Trained, young: Path, text: tuple[object, ...], tmp_path: Path
) -> None:
    again = shutil.copytree(trained.folder.path, tmp_path / "again")
    for other, options in ((young, ("--ngrams", 0)), (again, ())):
        code, output, errors = nmt("compare", trained.folder.path, other, *text, *options)
        assert code == 0, errors
        assert "BLEU" in output
        assert "n-grams" not in output


def test_where_the_training_text_is_gone_the_rest_is_told(
    trained: Trained, young: Path, text: tuple[object, ...], tmp_path: Path
) -> None:
    run = Path(shutil.copytree(trained.folder.path, tmp_path / "moved"))
    config = trained.folder.config(["data.train={source: gone.en, target: gone.de}"])
    (run / "config.yaml").write_text(dump_config(config), encoding="utf-8")
    code, output, errors = nmt("compare", run, young, *text)
    assert code == 0
    assert "no words by frequency, as the training text cannot be read: gone.en: no such file" in errors
    assert "times in training" not in output
    assert "BLEU" in output


def test_mistakes_are_told_in_one_line(trained: Trained, young: Path, text: tuple[object, ...]) -> None:
    path = trained.folder.path
    for arguments, message in (
        ((path,), f"{path}: is the only run; give two or more, the first of them the baseline"),
        ((path, path), f"{path}: is given twice; give each run once"),
        ((path, "nowhere"), "nowhere: not a run folder (there is no such folder)"),
    ):
        code, output, errors = nmt("compare", *arguments, *text)
        assert (code, output) == (2, "")
        assert errors.startswith(f"nmt: {message}")
        assert errors.count("\n") == 1


def test_documents_are_refused_where_they_count_to_no_run(
    trained: Trained, young: Path, text: tuple[object, ...], tmp_path: Path
) -> None:
    (tmp_path / "names.txt").write_text("one\n" * 8, encoding="utf-8")
    code, output, errors = nmt("compare", trained.folder.path, young, *text, "--documents", tmp_path / "names.txt")
    assert (code, output) == (2, "")
    assert "leave --documents out" in errors
