"""What a training must not do: lose an earlier run, share a folder, or leave half of something behind."""

import shutil
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nmt.checkpoint import RunFolder, create_run, hold
from nmt.config.schema import Config
from nmt.errors import CheckpointError, ConfigError, TrainingError
from nmt.experiment import train as experiment
from nmt.experiment.average import average_run
from nmt.experiment.train import Trained, resume_training, start_training
from nmt.training import loop
from tests.conftest import Corpus

Make = Callable[..., Config]


@pytest.fixture
def copy(trained: Trained, tmp_path: Path) -> Path:
    """A copy of a run that has finished, after 100 steps."""
    shutil.copytree(trained.folder.path, tmp_path / "run")
    return tmp_path / "run"


def everything(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_a_model_that_cannot_be_built_replaces_nothing(
    copy: Path, tiny_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise ConfigError("the package entmax is missing")

    monkeypatch.setattr(experiment, "model_of", missing)
    before = everything(copy)
    with pytest.raises(ConfigError):
        start_training(tiny_config("training.max_steps=2"), copy, overwrite=True, device="cpu")
    assert everything(copy) == before
    with pytest.raises(ConfigError):
        start_training(tiny_config("training.max_steps=2"), copy.parent / "new", device="cpu")
    assert not (copy.parent / "new").exists()


def test_one_process_alone_trains_in_a_folder(copy: Path, tiny_config: Make) -> None:
    before = everything(copy)
    with hold(copy):
        with pytest.raises(CheckpointError, match="another process is training this run"):
            start_training(tiny_config("training.max_steps=2"), copy, overwrite=True, device="cpu")
        with pytest.raises(CheckpointError, match="another process is training this run"):
            resume_training(None, copy, changes=["training.max_steps=120"], device="cpu")
    assert everything(copy) == before
    with hold(copy):
        pass  # it is free again


def test_a_run_goes_on_where_its_texts_have_moved(copy: Path, corpus: Corpus, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(corpus.folder, moved)
    sides = [("source", "en"), ("target", "de")]
    changes = [f"data.{part}.{side}={moved}/{part}.{end}" for part in ("train", "valid", "test") for side, end in sides]
    with pytest.raises(CheckpointError, match="this run has finished"):
        resume_training(None, copy, changes=changes, device="cpu")
    trained = resume_training(None, copy, changes=[*changes, "training.max_steps=102"], device="cpu")
    assert trained.folder.config().data.train.source == moved / "train.en"
    assert trained.folder.meta()["step"] == 102
    (moved / "valid.de").write_text("Anders.\n" * len(corpus.lines("valid.de")), encoding="utf-8")
    with pytest.raises(CheckpointError, match="the texts that its config names have changed"):
        resume_training(None, copy, changes=["training.max_steps=104"], device="cpu")
    with pytest.raises(CheckpointError, match=r"differs from the run's in data\.max_length; .*the paths of the same"):
        resume_training(None, copy, changes=["data.max_length=50"], device="cpu")


def test_a_resume_that_fails_leaves_the_run_as_it_was(copy: Path) -> None:
    (copy / "last" / "state.safetensors").unlink()
    before = everything(copy)
    for _ in range(2):
        with pytest.raises(CheckpointError, match=r"state\.safetensors: is missing"):
            resume_training(None, copy, changes=["training.max_steps=120"], device="cpu")
    assert everything(copy) == before


def test_texts_in_the_run_folder_are_not_emptied_away(copy: Path, tiny_config: Make, corpus: Corpus) -> None:
    shutil.copytree(corpus.folder, copy / "held_out")
    config = tiny_config("training.max_steps=2", f"data.valid.source={copy}/held_out/valid.en")
    with pytest.raises(ConfigError, match=r"^data\.valid\.source: .* lies in the run folder"):
        start_training(config, copy, overwrite=True, device="cpu")
    assert (copy / "held_out" / "valid.en").exists()


def test_what_a_killed_process_left_is_no_weights_and_goes(copy: Path, tmp_path: Path) -> None:
    left = copy / "validated" / ".00000120.77.tmp.safetensors"
    shutil.copy(copy / "model.safetensors", left)
    averaged = average_run(copy, output=tmp_path / "average")
    assert averaged.meta()["averaged"]["steps"] == [60, 80, 100]
    resume_training(None, copy, changes=["training.max_steps=101"], device="cpu")
    assert not left.exists()


def test_held_out_texts_of_one_language_have_two_names(tiny_config: Make, tmp_path: Path) -> None:
    languages = ["data.source_language=en", "data.target_language=en"]
    config = tiny_config(*languages, "data.valid=null", "data.test=null", "data.hold_out=4", "training.max_steps=2")
    start_training(config, tmp_path / "run", device="cpu")
    names = {file.name for file in (tmp_path / "run" / "held_out").iterdir()}
    assert names == {f"{part}.{side}.en" for part in ("valid", "test") for side in ("source", "target")}


def test_without_memory_the_state_before_is_saved_and_told(
    tiny_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound, calls = loop.update, []

    def update(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 4:
            raise RuntimeError(
                "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
            )
        return sound(*arguments, **options)

    monkeypatch.setattr(loop, "update", update)
    config = tiny_config("training.max_steps=6", "training.validate_every=100", "data.test=null")
    with pytest.raises(TrainingError, match=r"^step 4: there is not enough memory for a batch of \d+ sentences"):
        start_training(config, tmp_path / "run", device="cpu")
    folder = RunFolder(tmp_path / "run")
    assert folder.meta()["step"] == 3
    monkeypatch.undo()
    assert resume_training(None, folder.path, device="cpu").folder.meta()["step"] == 6


def test_other_errors_of_an_update_are_not_taken_for_want_of_memory(
    tiny_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def update(*_: Any, **__: Any) -> Any:
        raise RuntimeError("shapes differ")

    monkeypatch.setattr(loop, "update", update)
    with pytest.raises(RuntimeError, match="shapes differ"):
        start_training(tiny_config("training.max_steps=2", "data.test=null"), tmp_path / "run", device="cpu")


def test_a_stop_during_the_last_validation_leaves_the_test_to_a_resume(
    tiny_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    sound = experiment.validator

    def validator(*arguments: Any) -> Any:
        validate = sound(*arguments)

        def stopped() -> Any:
            asked.append(True)  # Ctrl-C while it validates
            return validate()

        return stopped

    @contextmanager
    def stopper(say: Any) -> Any:
        yield lambda: bool(asked)

    monkeypatch.setattr(experiment, "validator", validator)
    monkeypatch.setattr(experiment, "stop_on_interrupt", stopper)
    trained = start_training(
        tiny_config("training.max_steps=3", "training.validate_every=2"), tmp_path / "a", device="cpu"
    )
    assert trained.interrupted
    asked.clear()
    config = tiny_config("training.max_steps=3", "training.validate_every=100")
    trained = start_training(config, tmp_path / "b", device="cpu")
    assert (trained.interrupted, trained.scores) == (True, {})
    assert not trained.folder.meta().get("finished")
    monkeypatch.undo()
    resumed = resume_training(None, tmp_path / "b", device="cpu")
    assert resumed.folder.meta()["finished"]
    assert resumed.scores


def test_a_new_run_may_have_a_link_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "disk")
    with hold(tmp_path / "run"):
        create_run(tmp_path / "run", overwrite=False)
    assert (tmp_path / "run").is_symlink()
