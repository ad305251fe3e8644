"""The run folder: whole whatever happens, moved as one, and refused where it is not ours."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import nmt.checkpoint
import nmt.files
from nmt.checkpoint import RunFolder, create_run, newest_run, read_tensors, write_tensors
from nmt.data.tokenizer import Tokenizer
from nmt.errors import CheckpointError, NmtError
from nmt.experiment.run import open_run

TENSORS = {"a": torch.arange(6.0).view(2, 3), "b": torch.ones(1, dtype=torch.long)}


class CrashError(Exception):
    pass


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def refusal(action: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """The one line that an action is refused with."""
    with pytest.raises(CheckpointError) as error:
        action(*arguments, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def write_meta(folder: Path, **changes: object) -> RunFolder:
    folder.mkdir(parents=True, exist_ok=True)
    run = RunFolder(folder)
    run.update_meta(**changes)
    return run


@pytest.fixture
def copy(trained: Any, tmp_path: Path) -> Path:
    """A copy of the trained run, to be damaged."""
    return Path(shutil.copytree(trained.folder.path, tmp_path / "copy"))


# Atomic.


def test_tensors_and_values_come_back_together(tmp_path: Path) -> None:
    path = tmp_path / "last" / "state.safetensors"
    values = {"step": 3, "best": None, "nested": {"x": 0.1}}
    write_tensors(path, {**TENSORS, "turned": TENSORS["a"].t()}, values)
    tensors, read = read_tensors(path)
    assert read == values
    assert tensors.keys() == {"a", "b", "turned"}
    assert torch.equal(tensors["turned"], TENSORS["a"].t())
    assert tensors["b"].dtype == torch.long


def test_a_crash_in_the_middle_of_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.safetensors"
    write_tensors(path, TENSORS, {"step": 1})
    before = path.read_bytes()

    def half(tensors: object, file: Path, metadata: object) -> None:
        file.write_bytes(before[: len(before) // 2])
        raise CrashError

    monkeypatch.setattr(nmt.checkpoint, "save_file", half)
    with pytest.raises(CrashError):
        write_tensors(path, {"a": torch.zeros(2, 3)}, {"step": 2})
    assert path.read_bytes() == before
    assert files_in(tmp_path) == ["model.safetensors"]


KILLED = """
import os, sys
from pathlib import Path
from nmt.files import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_text("half of the ne")
    os._exit(9)
"""


def test_a_process_that_dies_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "meta.json"
    path.write_text("old and whole")
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False).returncode == 9
    assert path.read_text() == "old and whole"
    nmt.files.write_text(path, "new and whole")
    assert path.read_text() == "new and whole"


def test_what_is_renamed_is_on_the_disk_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    flushed = []

    def note(number: int) -> None:
        flushed.append((os.readlink(f"/proc/self/fd/{number}"), path.read_text()))

    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc here")
    monkeypatch.setattr(nmt.files.os, "fsync", note)
    nmt.files.write_text(path, "new")
    ((name, content),) = flushed
    assert Path(name).parent == tmp_path
    assert Path(name) != path
    assert content == "old"
    assert path.read_text() == "new"


def test_meta_is_changed_entry_by_entry(tmp_path: Path) -> None:
    run = write_meta(tmp_path / "run", step=1, scores={"bleu": 1.0})
    run.update_meta(step=2)
    meta = run.meta()
    assert (meta["step"], meta["scores"], meta["format"], meta["version"]) == (2, {"bleu": 1.0}, "nmt run", 1)


# Nothing pickled.


def test_nothing_in_a_run_folder_is_a_pickle_or_an_archive(trained: Any) -> None:
    for path in trained.folder.path.rglob("*"):
        if path.is_dir():
            continue
        content = path.read_bytes()
        assert not content.startswith((b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")), path
        if path.suffix == ".safetensors":
            # The first eight bytes are a length, which may look like anything; JSON of that length follows.
            (length,) = struct.unpack("<Q", content[:8])
            assert "__metadata__" in json.loads(content[8 : 8 + length])
        else:
            assert not re.match(rb"\x80[\x02-\x05]|\(l?[dlp]p?0?\n|c[\w.]+\n", content), path


def test_reading_does_not_run_what_a_file_holds(tmp_path: Path) -> None:
    pickle = b"cos\nsystem\n(S'touch " + str(tmp_path / "ran").encode() + b"'\ntR."
    for name in ("state.safetensors", "other.safetensors"):
        (tmp_path / name).write_bytes(pickle)
        assert "cannot be read" in refusal(read_tensors, tmp_path / name)
    assert not (tmp_path / "ran").exists()


# What is refused.


def test_a_folder_that_is_not_there_or_no_run(tmp_path: Path) -> None:
    missing = refusal(RunFolder(tmp_path / "nowhere").meta)
    assert missing.startswith(f"{tmp_path / 'nowhere'}: not a run folder (there is no such folder)")
    assert "(it has no meta.json)" in refusal(RunFolder(tmp_path).meta)
    assert str(tmp_path) in refusal(open_run, tmp_path, "cpu")


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b"[]",
        b"null",
        b'{"format": "other", "version": 1}',
        b'{"format": "nmt run"',
        b"\xff\xfe",
        b"",
        b'{"format": "nmt run"}',
        b'{"format": "nmt run", "version": "1"}',
    ],
)
def test_a_meta_json_of_another_program_or_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "meta.json").write_bytes(content)
    assert str(tmp_path) in refusal(RunFolder(tmp_path).meta)
    assert str(tmp_path) in refusal(create_run, tmp_path, overwrite=True)
    assert (tmp_path / "meta.json").read_bytes() == content


def test_a_run_of_a_later_version(copy: Path) -> None:
    run = RunFolder(copy)
    run.update_meta(version=nmt.checkpoint.VERSION + 1)
    message = refusal(open_run, copy, "cpu")
    assert str(copy) in message
    assert f"format {nmt.checkpoint.VERSION + 1}" in message
    assert f"up to {nmt.checkpoint.VERSION}" in message
    assert refusal(create_run, copy, overwrite=True) == message
    assert run.weights_file.exists()


def test_missing_parts_are_named(copy: Path) -> None:
    for name in ("model.safetensors", "tokenizer.model", "config.yaml"):
        path = copy / name
        content = path.read_bytes()
        path.unlink()
        message = refusal(open_run, copy, "cpu")
        assert message.startswith(f"{path}: ")
        assert "missing" in message
        path.write_bytes(content)
    open_run(copy, "cpu")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.model", "config.yaml"])
@pytest.mark.parametrize("damage", ["half", "empty", "noise"])
def test_damaged_parts_are_named(copy: Path, name: str, damage: str) -> None:
    path = copy / name
    content = path.read_bytes()
    path.write_bytes({"half": content[: len(content) // 2], "empty": b"", "noise": bytes(range(256))}[damage])
    with pytest.raises(NmtError) as error:
        open_run(copy, "cpu")
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value) or name == "config.yaml"


def test_weights_of_another_model_are_named(copy: Path) -> None:
    run = RunFolder(copy)
    tensors, values = read_tensors(run.weights_file)
    write_tensors(run.weights_file, {**tensors, "strange": torch.ones(1)}, values)
    assert "strange" in refusal(open_run, copy, "cpu")
    name = next(name for name, tensor in tensors.items() if tensor.dim() == 2)
    write_tensors(run.weights_file, {**tensors, name: torch.ones(2, 2)}, values)
    message = refusal(open_run, copy, "cpu")
    assert str(run.weights_file) in message
    assert name in message
    assert "(2, 2)" in message


# Making a run folder.


def test_a_new_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    assert create_run(tmp_path / "a" / "b", overwrite=False).path.is_dir()
    assert create_run(tmp_path / "a" / "b", overwrite=False).path.is_dir(), "an empty folder holds no run"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_with_other_files_is_never_taken(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    message = refusal(create_run, tmp_path, overwrite=overwrite)
    assert message.startswith(f"{tmp_path}: ")
    assert "--run" in message
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    assert str(tmp_path / "thesis.tex") in refusal(create_run, tmp_path / "thesis.tex", overwrite=overwrite)


def test_a_run_that_is_there_is_replaced_only_when_asked(copy: Path) -> None:
    before = files_in(copy)
    message = refusal(create_run, copy, overwrite=False)
    assert all(word in message for word in (str(copy), "--resume", "--overwrite", "--run"))
    assert files_in(copy) == before
    create_run(copy, overwrite=True)
    assert files_in(copy) == []


# The newest run.


def test_the_newest_run_is_the_one_that_finished_last(tmp_path: Path) -> None:
    write_meta(tmp_path / "b", finished="2030-01-01T10:00:00.000+00:00")
    write_meta(tmp_path / "a", finished="2030-01-02T09:00:00.000+00:00")
    write_meta(tmp_path / "c", finished="2030-01-01T11:00:00.000+00:00")
    write_meta(tmp_path / "z", started="2031-01-01T00:00:00.000+00:00", step=5)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").touch()
    assert newest_run(tmp_path) == tmp_path / "a"


def test_no_finished_run_is_said_with_what_to_do(tmp_path: Path) -> None:
    write_meta(tmp_path / "z", started="2031-01-01T00:00:00.000+00:00")
    for runs in (tmp_path, tmp_path / "nowhere"):
        message = refusal(newest_run, runs)
        assert message.startswith(f"no finished run under {runs}")
        assert "nmt train" in message
        assert "--run" in message


@pytest.mark.parametrize("content", [b"{}", b"no json", b'{"format": "nmt run", "version": 99}'])
def test_what_is_no_run_of_ours_does_not_hide_those_that_are(tmp_path: Path, content: bytes) -> None:
    write_meta(tmp_path / "ours", finished="2030-01-01T10:00:00.000+00:00")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "meta.json").write_bytes(content)
    assert newest_run(tmp_path) == tmp_path / "ours"


# Moving.

ELSEWHERE = """
import sys
from pathlib import Path
from nmt.experiment.run import open_run
run = open_run(Path(sys.argv[1]), "cpu")
for one in run.translator().translate(sys.argv[2:]):
    print(one.texts[0], repr(one.hypotheses[0].score))
"""


def test_a_run_moved_elsewhere_translates_the_same_when_all_else_is_gone(
    trained: Any, opened: Any, corpus: Any, tmp_path: Path
) -> None:
    lines = [*corpus.lines("test.en"), "", "something else entirely"]
    expected = [(one.texts[0], one.hypotheses[0].score) for one in opened.translator().translate(lines)]
    (tmp_path / "far").mkdir()
    moved = Path(shutil.copytree(trained.folder.path, tmp_path / "far" / "away"))
    places = [(path, path.with_name(f"{path.name}.hidden")) for path in (corpus.folder, trained.folder.path)]
    for path, hidden in places:
        path.rename(hidden)
    try:
        command = [sys.executable, "-c", ELSEWHERE, "away", *lines]
        run = subprocess.run(command, cwd=moved.parent, capture_output=True, text=True, check=True)
    finally:
        for path, hidden in places:
            hidden.rename(path)
    found = [line.rsplit(" ", 1) for line in run.stdout.split("\n")[:-1]]
    assert [text for text, _ in found] == [text for text, _ in expected]
    assert [float(score) for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-4)


def test_the_tokenizer_of_each_side_is_kept_where_they_differ(tmp_path: Path, tokenizer: Tokenizer) -> None:
    run = RunFolder(tmp_path)
    other = Tokenizer(tokenizer.model)
    run.write_tokenizers(tokenizer, other, shared=False)
    assert files_in(tmp_path) == ["tokenizer.source.model", "tokenizer.target.model"]
    source, target = run.tokenizers("bpe", shared=False)
    assert source is not target
    assert (source.model, target.model) == (tokenizer.model, other.model)
    run.write_tokenizers(tokenizer, tokenizer, shared=True)
    source, target = run.tokenizers("word", shared=True)
    assert source is target
    assert source.words_apart


def test_the_last_weights_are_kept_and_no_more(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for step in (5, 90, 1000, 20000):
        folder.keep_weights({"a": torch.full((2,), float(step))}, step, 3)
    assert [int(file.stem) for file in folder.kept_weights()] == [90, 1000, 20000]
    assert [read_tensors(file)[0]["a"][0] for file in folder.kept_weights()] == [90.0, 1000.0, 20000.0]
    # Taken back to step 1,000, the training comes by another way.
    folder.keep_weights({"a": torch.ones(2)}, 1500, 3)
    assert [int(file.stem) for file in folder.kept_weights()] == [90, 1000, 1500]
    folder.keep_weights({"a": torch.ones(2)}, 1600, 1)
    assert [int(file.stem) for file in folder.kept_weights()] == [1600]
    folder.keep_weights({"a": torch.ones(2)}, 1700, 0)
    assert [int(file.stem) for file in folder.kept_weights()] == [1600]
