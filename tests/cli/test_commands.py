"""The commands as people use them: train, translate, evaluate, align, and one line for every mistake."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.image import imread
from typer.testing import CliRunner

from nmt.alignment.export import read_json_lines
from nmt.alignment.links import read_links
from nmt.checkpoint import RunFolder, read_tensors
from nmt.cli import streams
from nmt.cli.app import app
from nmt.config.load import dump_config
from nmt.config.schema import Config
from nmt.data.corpus import read_lines, read_parallel
from nmt.experiment.evaluate import evaluate_run
from nmt.experiment.train import start_training

Make = Callable[..., Config]


def nmt(*arguments: object, stdin: str | bytes | None = None) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the program, run in this process."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def done(*arguments: object, stdin: str | bytes | None = None) -> str:
    """What a command that must succeed prints."""
    code, output, errors = nmt(*arguments, stdin=stdin)
    assert code == 0, errors
    return output


def mistake(*arguments: object, stdin: str | bytes | None = None) -> str:
    """The one line that a command that must be refused says."""
    code, output, errors = nmt(*arguments, stdin=stdin)
    assert (code, output) == (2, ""), errors
    assert errors.startswith("nmt: ")
    assert errors.endswith("\n")
    assert errors.count("\n") == 1, errors
    return errors


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test works in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def yaml_file(tiny_config: Make) -> Path:
    """A config on the disk that trains for two steps."""
    path = Path("tiny.yaml")
    path.write_text(dump_config(tiny_config("training.max_steps=2")), encoding="utf-8")
    return path


@pytest.fixture
def run(trained: Any) -> Path:
    """The trained run: do not change it."""
    return Path(trained.folder.path)


@pytest.fixture
def runs(run: Path) -> Path:
    """A folder `runs` with two finished runs, of which `newer` finished last."""
    for name, finished in (("older", "2030-01-01T00:00:00.000+00:00"), ("newer", "2030-01-02T00:00:00.000+00:00")):
        RunFolder(Path(shutil.copytree(run, Path("runs", name)))).update_meta(finished=finished)
    return Path("runs")


@pytest.fixture(scope="module")
def blind(tiny_config: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without attention."""
    path = tmp_path_factory.mktemp("blind") / "run"
    start_training(tiny_config("model.attention={type: none}", "training.max_steps=2"), path, device="cpu")
    return path


@pytest.fixture(scope="module")
def transformer(tiny_config: Make, corpus: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Transformer with two layers of two heads on both sides, and links to choose a layer by."""
    layers = "{type: transformer, hidden: 16, layers: 2, heads: 2, feed_forward: 32}"
    changes = (f"model.encoder={layers}", f"model.decoder={layers}", "training.max_steps=2", "data.test=null")
    path = tmp_path_factory.mktemp("transformer") / "run"
    valid = f"data.valid.alignment={corpus.folder}/valid.links"
    start_training(tiny_config(*changes, valid), path, device="cpu")
    return path


@pytest.fixture(scope="module")
def several(tiny_config: Make, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run with two heads and one with three hops."""
    folder = tmp_path_factory.mktemp("several")
    for name, setting in (("multihead", "heads: 2"), ("memory", "hops: 3")):
        changes = (f"model.attention={{type: {name}, {setting}}}", "training.max_steps=2", "data.test=null")
        start_training(tiny_config(*changes), folder / name, device="cpu")
    return {"head": folder / "multihead", "hop": folder / "memory"}


# From one command to the next.


def test_the_commands_in_turn(yaml_file: Path, corpus: Any) -> None:
    code, output, errors = nmt("train", "--config", yaml_file)
    assert (code, output) == (0, "runs/tiny\n")
    assert errors.split("\n")[-2] == "ended: training.max_steps: 2 reached"
    source, reference = corpus.folder / "test.en", corpus.folder / "test.de"
    translated = done("translate", "--input", source)
    assert translated.split("\n")[:-1] == read_lines(Path("runs/tiny/test.hyp"))
    scores = json.loads(done("evaluate", "--source", source, "--reference", reference, "--json"))
    stored = json.loads(Path("runs/tiny/test.scores.json").read_text())
    for name in ("bleu", "chrf"):
        assert scores[name]["value"] == pytest.approx(stored[name]["value"])
        assert scores[name].keys() == stored[name].keys()
    links = done("align", "--source", source, "--target", reference)
    assert links == Path("runs/tiny/test.ref.links").read_text() == Path("alignments/links.txt").read_text()
    gold = corpus.folder / "test.links"
    rates = json.loads(done("aer", "--hypothesis", "alignments/links.txt", "--gold", gold, "--json"))
    assert rates["aer"] == pytest.approx(stored["aer"]["value"])


# train.


def test_train_writes_where_it_is_told_and_prints_the_folder(yaml_file: Path) -> None:
    assert done("train", "--config", yaml_file, "--run", "here/it/goes", "--set", "data.test=null") == "here/it/goes\n"
    assert RunFolder(Path("here/it/goes")).meta()["finished"]
    assert not Path("runs").exists()


def test_a_run_that_is_there_is_refused_overwritten_or_gone_on_with(yaml_file: Path) -> None:
    command = ("train", "--config", yaml_file, "--set", "data.test=null")
    done(*command)
    before = RunFolder(Path("runs/tiny")).meta()
    message = mistake(*command)
    assert all(word in message for word in ("runs/tiny", "--resume", "--overwrite", "--run"))
    assert RunFolder(Path("runs/tiny")).meta() == before
    done(*command, "--set", "training.max_steps=5", "--resume")
    assert RunFolder(Path("runs/tiny")).meta()["step"] == 5
    done(*command, "--overwrite")
    assert RunFolder(Path("runs/tiny")).meta()["step"] == 2
    assert "has finished" in mistake("train", "--resume", "--run", "runs/tiny")
    assert RunFolder(Path("runs/tiny")).meta()["step"] == 2


def test_a_resume_with_other_settings_lists_them(yaml_file: Path) -> None:
    done("train", "--config", yaml_file, "--set", "data.test=null")
    command = ("train", "--config", yaml_file, "--resume", "--set", "data.test=null")
    message = mistake(*command, "--set", "training.max_steps=9", "--set", "model.dropout=0.4", "--set", "seed=3")
    assert "model.dropout" in message
    assert "seed" in message


def test_a_folder_of_other_files_is_not_trained_into(yaml_file: Path) -> None:
    Path("thesis").mkdir()
    Path("thesis/text.tex").write_text("words")
    for extra in ((), ("--overwrite",)):
        assert "thesis: holds files but no run" in mistake("train", "--config", yaml_file, "--run", "thesis", *extra)
    assert os.listdir("thesis") == ["text.tex"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("model.atention={type: luong}",), ("model.atention", "model.attention")),
        (("model.attention={type: luongg}",), ("luongg", "bahdanau", "luong", "none")),
        (("training.max_steps=many",), ("training.max_steps",)),
        (("training.max_steps",), ("--set", "section.key=value")),
        (("data.train.source=nowhere.en",), ("nowhere.en", "no such file")),
        (("data.train.source=.",), ("is a folder",)),
        (("model.attention={type: luong, score: dot}", "model.decoder.hidden=18"), ("16", "18", "dot")),
        (("model.encoder.hidden=15",), ("15", "even")),
    ],
)
def test_settings_that_cannot_be_are_one_line(
    yaml_file: Path, changes: tuple[str, ...], words: tuple[str, ...]
) -> None:
    message = mistake("train", "--config", yaml_file, *(part for change in changes for part in ("--set", change)))
    assert all(word in message for word in words), message
    assert not Path("runs").exists()


def test_a_vocabulary_that_cannot_be_is_one_line(yaml_file: Path) -> None:
    code, output, errors = nmt("train", "--config", yaml_file, "--set", "tokenizer.vocabulary_size=9")
    assert (code, output) == (2, "")
    assert errors.splitlines()[-1].startswith("nmt: tokenizer.vocabulary_size: 9 is too small")
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("only one\n", ("train.de", "has 1", "train.en", "has 40")),
        ("", ("train.de", "has 0", "train.en", "has 40")),
        ("\n" * 40, ("train.de", "is empty")),
    ],
)
def test_texts_that_cannot_be_are_one_line(
    yaml_file: Path, own_corpus: Any, tiny_config: Make, content: str, words: tuple[str, ...]
) -> None:
    yaml_file.write_text(dump_config(tiny_config(of=own_corpus)), encoding="utf-8")
    (own_corpus.folder / "train.de").write_text(content)
    message = mistake("train", "--config", yaml_file)
    assert all(word in message for word in words)
    assert not Path("runs").exists()


def test_text_that_is_not_utf8_is_named_with_its_line(yaml_file: Path, own_corpus: Any, tiny_config: Make) -> None:
    yaml_file.write_text(dump_config(tiny_config(of=own_corpus)), encoding="utf-8")
    path = own_corpus.folder / "valid.de"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\xfc", 1))
    assert f"{path}:2: not UTF-8" in mistake("train", "--config", yaml_file)


def test_a_config_that_is_not_there_is_guessed(yaml_file: Path) -> None:
    Path("configs").mkdir()
    Path("configs/bahdanau.yaml").touch()
    assert "did you mean configs/bahdanau.yaml?" in mistake("train", "--config", "bahdanu.yaml")
    assert "configs/ has: bahdanau.yaml" in mistake("train", "--config", "zzzzzzzz")


def test_what_train_needs_is_said(yaml_file: Path) -> None:
    assert "--config" in mistake("train")
    assert "--config" in mistake("train", "--resume")
    assert "--overwrite" in mistake("train", "--config", yaml_file, "--resume", "--overwrite")
    assert "--config" in mistake("train", "--run", "x", "--set", "seed=2")
    assert "not a run folder" in mistake("train", "--resume", "--run", "x", "--set", "seed=2")
    assert "not a run folder" in mistake("train", "--resume", "--run", "nowhere")
    assert "not a run folder" in mistake("train", "--resume", "--config", yaml_file)
    assert "turbo" in mistake("train", "--config", yaml_file, "--device", "turbo")
    assert not Path("runs").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there(yaml_file: Path, run: Path) -> None:
    assert "--device cuda" in mistake("train", "--config", yaml_file, "--device", "cuda")
    assert not Path("runs").exists()
    assert "--device cuda" in mistake("translate", "--run", run, "--device", "cuda", stdin="a\n")


@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_go_on(yaml_file: Path) -> None:
    endless = ("train", "--config", str(yaml_file), "--set", "training.max_steps=1000000", "--set", "data.test=null")
    command = [sys.executable, "-m", "nmt", *endless, "--set", "training.log_every=1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("step      3 "):
                break
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    assert (process.returncode, output) == (130, "")
    assert "Traceback" not in errors
    last = read_lines(Path("runs/tiny/train.log"))[-1]
    assert last == "ended: interrupted; go on with: nmt train --resume --run runs/tiny"
    assert errors.split("\n")[-2] == last
    step = read_tensors(Path("runs/tiny/last/state.safetensors"))[1]["step"]
    assert step >= 3
    limit = ("--set", f"training.max_steps={step + 4}", "--set", "training.log_every=1")
    code, output, errors = nmt("train", "--config", yaml_file, "--resume", "--set", "data.test=null", *limit)
    assert (code, output) == (0, "runs/tiny\n")
    assert f"going on from step {step} " in errors
    assert RunFolder(Path("runs/tiny")).meta()["step"] == step + 4
    updates = [json.loads(line) for line in read_lines(Path("runs/tiny/metrics.jsonl"))]
    assert [one["step"] for one in updates if one["event"] == "update"] == list(range(1, step + 5))


# translate.

TEXT = "the cat sees a house .\n\n  \nAnna buys bread .\r\nmy father\u2028finds bread .\f\nlast one"


def test_one_line_out_for_each_line_in_and_a_blank_one_stays_blank(run: Path, opened: Any) -> None:
    output = done("translate", "--run", run, stdin=TEXT)
    lines = output.split("\n")
    assert lines.pop() == ""
    assert len(lines) == 6
    assert lines[1:3] == ["", ""]
    given = TEXT.split("\n")
    given[3] = given[3].removesuffix("\r")
    assert lines == [one.texts[0] for one in opened.translator().translate(given)]
    assert lines[0]


def test_files_and_streams_agree(run: Path) -> None:
    Path("in.txt").write_text(TEXT, encoding="utf-8", newline="")
    piped = done("translate", "--run", run, stdin=TEXT)
    assert done("translate", "--run", run, "--input", "in.txt") == piped
    assert done("translate", "--run", run, "--input", "in.txt", "--output", "new/out.txt") == ""
    assert Path("new/out.txt").read_text(encoding="utf-8") == piped
    assert done("translate", "--run", run, "--batch-size", "1", stdin=TEXT) == piped
    assert os.listdir("new") == ["out.txt"]


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("\n", 1), ("\n\n", 2), ("a", 1), ("a\n", 1)])
def test_ends_of_text(run: Path, text: str, lines: int) -> None:
    assert done("translate", "--run", run, stdin=text).count("\n") == lines


def test_search_settings_can_be_given(run: Path, opened: Any, corpus: Any) -> None:
    source = corpus.folder / "test.en"
    greedy = done("translate", "--run", run, "--input", source, "--beam", "1").split("\n")[:-1]
    assert greedy == [one.texts[0] for one in opened.translator({"beam": 1}).translate(corpus.lines("test.en"))]
    short = done("translate", "--run", run, "--input", source, "--beam", "9", "--length-penalty", "0").split("\n")[:-1]
    expected = opened.translator({"beam": 9, "length_penalty": 0.0}).translate(corpus.lines("test.en"))
    assert short == [one.texts[0] for one in expected]
    for option, *values in (
        ("--beam", "0", "two"),
        ("--length-penalty", "-1", "inf", "-inf", "nan"),
        ("--batch-size", "0"),
    ):
        for value in values:
            assert option in mistake("translate", "--run", run, option, value, stdin="a\n")


def test_the_newest_finished_run_is_the_default_and_is_named(runs: Path) -> None:
    code, output, errors = nmt("translate", stdin="Anna buys bread .\n")
    assert (code, errors) == (0, "run runs/newer\n")
    assert output.count("\n") == 1
    assert nmt("translate", "--run", runs / "older", stdin="Anna buys bread .\n") == (0, output, "")


def test_the_default_run_is_named_by_every_command(runs: Path, corpus: Any) -> None:
    source, reference = corpus.folder / "test.en", corpus.folder / "test.de"
    assert "run runs/newer\n" in nmt("evaluate", "--source", source, "--reference", reference)[2]
    assert "run runs/newer\n" in nmt("align", "--source", source)[2]


def test_no_run_at_all_is_one_line(corpus: Any) -> None:
    source, reference = corpus.folder / "test.en", corpus.folder / "test.de"
    for command in (
        ("translate", "--input", source),
        ("evaluate", "--source", source, "--reference", reference),
        ("align", "--source", source),
    ):
        assert "no finished run under runs/" in mistake(*command)
        message = mistake(*command, "--run", corpus.folder)
        assert str(corpus.folder) in message
        assert "not a run folder" in message


def test_text_that_cannot_be_read_or_written(run: Path) -> None:
    assert "nowhere.txt: no such file" in mistake("translate", "--run", run, "--input", "nowhere.txt")
    assert "is a folder" in mistake("translate", "--run", run, "--input", ".")
    code, output, errors = nmt("translate", "--run", run, stdin=b"good\nGr\xfc\xdfe\nlater\n")
    assert (code, output.count("\n")) == (2, 1)  # what came before it has been answered
    assert errors.startswith("nmt: stdin:2: not UTF-8")
    assert errors.count("\n") == 1
    Path("file").touch()
    assert "file/out" in mistake("translate", "--run", run, "--output", "file/out", stdin="a\n")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a",
        b"a\r\nb\n\n",
        b"\r\n\n",
        b"a\xe2\x80\xa8b\x0c\nc\n",
        b"\xef\xbb\xbfa\nb\n",
        b"a\n\xef\xbb\xbfb\n",
        b"a\r\r\n",
    ],
)
def test_stdin_has_the_same_lines_as_a_file(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("in.txt").write_bytes(content)
    expected = read_lines(Path("in.txt"))
    for size in (1, 2, 100):
        monkeypatch.setattr(streams, "_BLOCK", size)
        for read in (
            streams.input_lines,
            lambda path: streams.input_lines(path) if path else list(chain(*streams.lines_as_they_come())),
        ):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
            assert read(None) == expected
            assert read(Path("in.txt")) == expected


def test_a_terminal_that_is_read_to_its_end_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for asked, said in ((True, "reading from the terminal; end with Ctrl-D\n"), (False, "")):
        stdin = io.TextIOWrapper(io.BytesIO(b"a\n"))
        monkeypatch.setattr(stdin, "isatty", lambda asked=asked: asked)
        monkeypatch.setattr(sys, "stdin", stdin)
        assert streams.input_lines(None) == ["a"]
        assert capsys.readouterr().err == said


def test_a_translation_that_fails_leaves_the_old_output(run: Path) -> None:
    Path("out.txt").write_text("old\n")
    mistake("translate", "--run", run, "--output", "out.txt", stdin=b"good\n\xff\n")
    assert Path("out.txt").read_text() == "old\n"
    assert sorted(os.listdir()) == ["out.txt"]


# evaluate.


def test_evaluate_prints_scores_with_signatures_and_intervals(run: Path, corpus: Any) -> None:
    command = (
        "evaluate",
        "--run",
        run,
        "--source",
        corpus.folder / "test.en",
        "--reference",
        corpus.folder / "test.de",
    )
    output = done(*command)
    assert [line.split()[0] for line in output.split("\n")[:-1]] == ["BLEU", "chrF2", "TER"]
    assert all("±" in line and "version:" in line for line in output.split("\n")[:-1])
    stored = json.loads((run / "test.scores.json").read_text())
    assert f"BLEU = {stored['bleu']['value']:.1f}" in output
    scores = json.loads(done(*command, "--json", "--by-length"))
    assert scores.keys() == {"bleu", "chrf", "ter", "by_length", "sentences"}
    assert scores["sentences"] == sum(bucket["sentences"] for bucket in scores["by_length"]) == 8
    assert scores["bleu"]["value"] == pytest.approx(stored["bleu"]["value"])
    assert scores["bleu"]["signature"] == stored["bleu"]["signature"]
    assert "by_length" not in json.loads(done(*command, "--json"))
    table = done(*command, "--by-length").split("\n")
    assert table[3].split() == ["source", "words", "sentences", "BLEU"]
    assert len(table) == 4 + len(scores["by_length"]) + 1


def test_scores_by_length_are_computed_where_they_are_asked_for(opened: Any, corpus: Any) -> None:
    text = read_parallel(corpus.folder / "test.en", corpus.folder / "test.de")
    assert evaluate_run(opened, text).buckets == ()
    assert evaluate_run(opened, text, by_length=True).buckets


def test_runs_are_evaluated_side_by_side(run: Path, blind: Path, corpus: Any) -> None:
    text = ("evaluate", "--source", corpus.folder / "test.en", "--reference", corpus.folder / "test.de")
    other = Path(shutil.copytree(blind, "blind"))
    single = [done(*text, "--run", one, "--by-length").split("\n") for one in (run, other)]
    lines = done(*text, "--run", run, "--run", other, "--by-length").split("\n")
    assert lines[:11] == ["tiny", *single[0][:3], "", "blind", *single[1][:3], "", "BLEU by length"]
    assert lines[11].split() == ["source", "words", "sentences", "tiny", "blind"]
    for row, *alone in zip(lines[12:-1], single[0][4:-1], single[1][4:-1], strict=True):
        assert row.split() == [*alone[0].split(), alone[1].split()[-1]]
    assert len(lines) == 12 + 5 + 1
    assert "by length" not in done(*text, "--run", run, "--run", other)


def test_runs_side_by_side_as_json_are_an_object_each(run: Path, blind: Path, corpus: Any) -> None:
    text = ("evaluate", "--source", corpus.folder / "test.en", "--reference", corpus.folder / "test.de", "--json")
    other = Path(shutil.copytree(blind, "other/tiny"))
    single = [json.loads(done(*text, "--run", one, "--by-length")) for one in (run, other)]
    assert single[0] != single[1]
    both = json.loads(done(*text, "--run", run, "--run", other, "--by-length"))
    assert both == {str(run): single[0], "other/tiny": single[1]}
    assert list(json.loads(done(*text, "--run", Path(shutil.copytree(run, "new")), "--run", other))) == ["new", "tiny"]


@pytest.mark.parametrize("name", ["by_length.png", "to/some.svg", "a.PDF"])
def test_bleu_by_length_is_drawn(
    run: Path, blind: Path, corpus: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nmt.evaluation.plot as plot

    drawn = []
    real = plot.draw_by_length
    monkeypatch.setattr(plot, "draw_by_length", lambda runs: (drawn.append(runs), real(runs))[1])
    command = ("evaluate", "--source", corpus.folder / "test.en", "--reference", corpus.folder / "test.de")
    where = () if name == "by_length.png" else ("--output", name)
    options = ("--by-length", "--plot", *where, "--json")
    code, output, errors = nmt(*command, "--run", run, "--run", Path(shutil.copytree(blind, "blind")), *options)
    assert (code, errors) == (0, f"BLEU by length drawn in {name}\n")
    assert Path(name).read_bytes()[:4] in (b"\x89PNG", b"<?xm", b"%PDF")
    (given,) = drawn
    scores = json.loads(output)
    assert {run: [bucket.bleu for bucket in buckets] for run, buckets in given.items()} == {
        run: [bucket["bleu"] for bucket in scores[run]["by_length"]] for run in ("tiny", "blind")
    }


def test_one_run_is_drawn_too(runs: Path, corpus: Any) -> None:
    command = ("evaluate", "--source", corpus.folder / "test.en", "--reference", corpus.folder / "test.de")
    plain = done(*command, "--by-length")
    code, output, errors = nmt(*command, "--by-length", "--plot")
    assert (code, output) == (0, plain)
    assert errors == "run runs/newer\nBLEU by length drawn in by_length.png\n"
    assert Path("by_length.png").exists()


def test_what_evaluate_cannot_draw_or_compare_is_refused_before_anything_is_translated(
    run: Path, corpus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nmt.experiment.evaluate as experiment

    monkeypatch.setattr(experiment, "evaluate_run", lambda *_, **__: pytest.fail("translated"))
    command = ("evaluate", "--source", corpus.folder / "test.en", "--reference", corpus.folder / "test.de")
    one = (*command, "--run", run)
    assert "--by-length" in mistake(*one, "--plot")
    assert "--by-length" in mistake(*one, "--plot", "--output", "a.png")
    assert all(word in mistake(*one, "--by-length", "--output", "a.png") for word in ("--output a.png", "--plot"))
    for name in ("a.gif", "a", "png"):
        message = mistake(*one, "--by-length", "--plot", "--output", name)
        assert all(word in message for word in (f"{name}: ", ".png", ".svg", ".pdf"))
    assert "given twice" in mistake(*one, "--run", run)
    assert "not a run folder" in mistake(*one, "--run", "nowhere")
    assert os.listdir() == []


def test_a_picture_that_cannot_be_written_is_one_line_after_the_scores(run: Path, corpus: Any) -> None:
    Path("file").touch()
    files = ("--source", corpus.folder / "test.en", "--reference", corpus.folder / "test.de")
    command = ("evaluate", *files, "--run", run, "--by-length")
    code, output, errors = nmt(*command, "--plot", "--output", "file/a.png")
    assert (code, output) == (2, done(*command))
    assert errors.startswith("nmt: file/a.png: cannot be written (")
    assert errors.count("\n") == 1


def test_evaluate_refuses_texts_that_do_not_fit(run: Path, corpus: Any) -> None:
    Path("short.de").write_text("eins\n")
    Path("empty").touch()
    source = corpus.folder / "test.en"
    message = mistake("evaluate", "--run", run, "--source", source, "--reference", "short.de")
    assert "has 8 lines" in message
    assert "short.de has 1" in message
    assert "nowhere.de" in mistake("evaluate", "--run", run, "--source", source, "--reference", "nowhere.de")
    assert "empty" in mistake("evaluate", "--run", run, "--source", "empty", "--reference", "empty")


# align.


def test_align_its_own_translation(run: Path, corpus: Any) -> None:
    output = done("align", "--run", run, "--source", corpus.folder / "test.en", "--output", "there")
    assert output == (run / "test.hyp.links").read_text() == Path("there/links.txt").read_text()
    assert Path("there/target.txt").read_text() == (run / "test.hyp").read_text()
    found = read_json_lines(Path("there/alignments.jsonl"))
    assert [one.matrix.source for one in found] == [tuple(line.split()) for line in corpus.lines("test.en")]
    assert [one.links for one in found] == [one.possible for one in read_links(Path("there/links.txt"))]
    assert sorted(os.listdir("there")) == ["alignments.jsonl", "links.txt", "target.txt"]
    piped = done("align", "--run", run, stdin=(corpus.folder / "test.en").read_bytes())
    assert piped == output
    assert Path("alignments/links.txt").exists()


def test_align_a_given_translation(run: Path, corpus: Any) -> None:
    source, target = corpus.folder / "test.en", corpus.folder / "test.de"
    output = done("align", "--run", run, "--source", source, "--target", target)
    assert output == (run / "test.ref.links").read_text()
    found = read_json_lines(Path("alignments/alignments.jsonl"))
    assert [one.matrix.target for one in found] == [tuple(line.split()) for line in corpus.lines("test.de")]


def test_to_force_its_own_translation_is_to_align_it(run: Path, corpus: Any) -> None:
    source = corpus.folder / "test.en"
    output = done("align", "--run", run, "--source", source, "--output", "own")
    assert done("align", "--run", run, "--source", source, "--target", "own/target.txt", "--output", "forced") == output


def test_align_against_gold_links_prints_the_error_rate(run: Path, corpus: Any) -> None:
    files = ("--source", corpus.folder / "test.en", "--target", corpus.folder / "test.de")
    gold = corpus.folder / "test.links"
    output = done("align", "--run", run, *files, "--gold", gold)
    stored = json.loads((run / "test.scores.json").read_text())["aer"]["value"]
    assert output.startswith(f"AER {100 * stored:.1f} %")
    assert output.count("\n") == 1
    assert done("aer", "--hypothesis", "alignments/links.txt", "--gold", gold) == output
    rates = json.loads(done("align", "--run", run, *files, "--gold", gold, "--json"))
    assert rates == json.loads(done("aer", "--hypothesis", "alignments/links.txt", "--gold", gold, "--json"))
    raised = re.sub(r"(\d+)-(\d+)", lambda link: f"{int(link[1]) + 1}-{int(link[2]) + 1}", gold.read_text())
    Path("from1.links").write_text(raised)
    assert done("align", "--run", run, *files, "--gold", "from1.links", "--gold-base", "1") == output


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_align_draws_each_sentence(run: Path, form: str) -> None:
    output = done(
        "align", "--run", run, "--plot", "--format", form, stdin="Anna buys bread .\n\nthe cat sees a house .\n"
    )
    assert output.count("\n") == 3
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    for number in (1, 3):
        assert Path(f"alignments/000{number}.{form}").read_bytes().startswith(starts[form])


def test_pictures_of_an_earlier_text_do_not_stay(run: Path) -> None:
    Path("there").mkdir()
    for name in ("0007.png", "mine.png", "00001.png"):  # in a folder that is not ours, even the first is not
        Path("there", name).touch()
    command = ("align", "--run", run, "--output", "there")
    done(*command, "--plot", stdin="Anna buys bread .\nthe cat sees a house .\n")
    assert Path("there/0007.png").exists()
    code, _, errors = nmt(*command, "--plot", "--format", "svg", stdin="Anna buys bread .\n")
    assert (code, errors) == (0, "1 sentence aligned in there\n")
    written = {"alignments.jsonl", "links.txt", "target.txt"}
    assert set(os.listdir("there")) == written | {"0001.svg", "mine.png", "00001.png"}
    done(*command, stdin="Anna buys bread .\n")
    assert set(os.listdir("there")) == written | {"mine.png", "00001.png"}


WRITTEN = {"alignments.jsonl", "links.txt", "target.txt"}
TWO_LINES = "Anna buys bread .\nthe cat sees a house .\n"


@pytest.mark.parametrize(("kind", "count"), [("head", 2), ("hop", 3)])
def test_each_map_is_written_by_itself_and_drawn_beside_the_others(
    several: dict[str, Path], kind: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nmt.alignment.plot_grid as plot

    drawn = []
    monkeypatch.setattr(plot, "plot_grid", lambda rows, path, gold: drawn.append((path, rows)) or [])
    command = ("align", "--run", several[kind])
    plain = done(*command, "--output", "plain", stdin=TWO_LINES)
    assert done(*command, f"--{kind}", "all", "--plot", stdin=TWO_LINES) == plain  # links are those of the default map
    names = [f"{kind}{number}" for number in range(count)]
    assert set(os.listdir("alignments")) == WRITTEN | {f"alignments.{name}.jsonl" for name in names}
    assert [path for path, _ in drawn] == [Path("alignments/0001.png"), Path("alignments/0002.png")]
    for file in WRITTEN:
        assert Path("alignments", file).read_bytes() == Path("plain", file).read_bytes()
    for number, name in enumerate(names):
        links = done(*command, f"--{kind}", number, "--output", name, stdin=TWO_LINES)
        assert set(os.listdir(name)) == WRITTEN
        assert Path(name, "alignments.jsonl").read_bytes() == Path(f"alignments/alignments.{name}.jsonl").read_bytes()
        alone = read_json_lines(Path(f"alignments/alignments.{name}.jsonl"))
        assert [one.links for one in alone] == [one.possible for one in read_links(Path(name, "links.txt"))]
        assert links == Path(name, "links.txt").read_text()
        for (_, (row,)), one in zip(drawn, alone, strict=True):
            title, matrix = list(row.items())[number]
            assert title == f"{kind} {number}"
            np.testing.assert_allclose(matrix.weights, one.matrix.weights, rtol=1e-5)


def test_a_picture_of_each_sentence_holds_all_maps(several: dict[str, Path]) -> None:
    command = ("align", "--run", several["head"], "--plot")
    done(*command, stdin=TWO_LINES)
    single = imread("alignments/0001.png")
    done(*command, "--head", "all", stdin=TWO_LINES)
    assert {name for name in os.listdir("alignments") if name.endswith("png")} == {"0001.png", "0002.png"}
    assert imread("alignments/0001.png").shape != single.shape


@pytest.mark.parametrize(("kind", "default"), [("head", "mean"), ("hop", "2")])
def test_the_default_map_is_the_mean_of_heads_and_the_last_hop(
    several: dict[str, Path], kind: str, default: str
) -> None:
    found = {}
    for choice in ((), (f"--{kind}", default), (f"--{kind}", "mean"), (f"--{kind}", "0")):
        done("align", "--run", several[kind], *choice, stdin=TWO_LINES)
        found[choice] = Path("alignments/alignments.jsonl").read_text()
    assert found[()] == found[f"--{kind}", default]
    assert len(set(found.values())) == (2 if default == "mean" else 3)


def test_every_layer_and_head_is_written_by_itself(transformer: Path) -> None:
    command = ("align", "--run", transformer)
    layer = RunFolder(transformer).meta()["alignment"]["layer"]
    code, plain, errors = nmt(*command, "--output", "plain", stdin=TWO_LINES)
    said = f"links are those of layer {layer} (of 2, counted from 0): of the best AER on the validation text"
    assert (code, errors) == (0, f"{said}\n2 sentences aligned in plain\n")
    assert nmt(*command, "--layer", layer, stdin=TWO_LINES) == (0, plain, "2 sentences aligned in alignments\n")
    code, output, errors = nmt(*command, "--layer", "all", "--head", "all", stdin=TWO_LINES)
    assert (code, output) == (0, plain)
    assert errors.startswith(f"{said}\n")
    names = {f"layer{number}.head{head}" for number in range(2) for head in range(2)}
    assert set(os.listdir("alignments")) == WRITTEN | {f"alignments.{name}.jsonl" for name in names}
    for number, head in ((0, 1), (1, 0)):
        done(*command, "--layer", number, "--head", head, "--output", "one", stdin=TWO_LINES)
        each = Path(f"alignments/alignments.layer{number}.head{head}.jsonl").read_bytes()
        assert Path("one/alignments.jsonl").read_bytes() == each
    done(*command, "--layer", "all", stdin=TWO_LINES)
    assert set(os.listdir("alignments")) == WRITTEN | {"alignments.layer0.jsonl", "alignments.layer1.jsonl"}
    assert Path(f"alignments/alignments.layer{layer}.jsonl").read_text() == Path("plain/alignments.jsonl").read_text()


def test_layers_that_cannot_be_chosen_are_refused(transformer: Path, run: Path) -> None:
    for own in ((), ("--self",)):
        for text in ("-1", "first", "mean", "1.0", ""):
            message = mistake("align", "--run", transformer, "--layer", text, *own, stdin=TWO_LINES)
            assert all(word in message for word in (f"--layer {text}: ", "number", "all"))
        assert "layer 2 was asked for" in mistake("align", "--run", transformer, "--layer", "2", *own, stdin=TWO_LINES)
    assert "only 0" in mistake("align", "--run", run, "--layer", "1", stdin=TWO_LINES)
    assert not Path("alignments").exists()


def test_self_attention_is_written_beside_the_alignments_and_prints_nothing(transformer: Path) -> None:
    command = ("align", "--run", transformer)
    done(*command, "--head", "all", "--plot", stdin=TWO_LINES)
    before = {path: path.read_bytes() for path in Path("alignments").iterdir()}
    code, output, errors = nmt(*command, "--self", "--plot", stdin=TWO_LINES)
    assert (code, output, errors) == (0, "", "2 sentences read in alignments\n")
    found = read_json_lines(Path("alignments/self.jsonl"))
    for line, one in zip(TWO_LINES.split("\n"), found, strict=False):
        assert one.matrix.source == one.matrix.target == tuple(line.split())
    pictures = {Path(f"alignments/000{line}.self.png") for line in (1, 2)}
    assert set(Path("alignments").iterdir()) == {*before, Path("alignments/self.jsonl"), *pictures}
    assert all(path.read_bytes() == content for path, content in before.items())
    done(*command, "--self", "--layer", "all", "--head", "all", stdin="Anna buys bread .\n")
    names = {f"self.layer{layer}.head{head}.jsonl" for layer in range(2) for head in range(2)}
    assert set(os.listdir("alignments")) == {path.name for path in before} | {"self.jsonl"} | names
    assert len(read_json_lines(Path("alignments/self.jsonl"))) == 1


@pytest.mark.parametrize("choice", [(), ("--layer", "all"), ("--head", "all", "--layer", "all")])
def test_arcs_are_another_picture_of_the_same_maps(
    transformer: Path, choice: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    import nmt.alignment.plot_arcs as plot

    drawn = []
    monkeypatch.setattr(plot, "plot_arcs", lambda rows, path: drawn.append((str(path), rows)) or [])
    done("align", "--run", transformer, "--self", "--plot", "--arcs", *choice, stdin=TWO_LINES)
    assert [path for path, _ in drawn] == ["alignments/0001.self.png", "alignments/0002.self.png"]
    expected = {(): [[""]], ("--layer", "all"): [["layer 0"], ["layer 1"]]}.get(
        choice, [[f"layer {layer}, head {head}" for head in range(2)] for layer in range(2)]
    )
    for _, rows in drawn:
        assert [list(row) for row in rows] == expected


def test_what_self_attention_refuses(transformer: Path, run: Path, blind: Path, corpus: Any) -> None:
    source, target, gold = (corpus.folder / name for name in ("test.en", "test.de", "test.links"))
    own = ("align", "--source", source, "--self")
    for path in (run, blind):
        message = mistake(*own, "--run", path)
        assert all(word in message for word in (str(path), "no self-attention", "transformer", "self_attention true"))
    command = (*own, "--run", transformer)
    message = mistake(*command, "--target", target, "--gold", gold)
    assert all(word in message for word in ("--self", "--target", "--gold"))
    assert "--json" in mistake(*command, "--json")
    assert "give --head" in mistake(*command, "--hop", "0")
    assert "head 2 was asked for" in mistake(*command, "--head", "2")
    for options in (("--arcs",), ("--plot", "--arcs"), ("--self", "--arcs")):
        message = mistake("align", "--run", transformer, "--source", source, *options)
        assert all(word in message for word in ("--arcs", "--self", "--plot"))
    assert not Path("alignments").exists()


def test_the_error_rate_is_that_of_the_chosen_map_and_gold_is_outlined_in_each(
    several: dict[str, Path], corpus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nmt.alignment.plot as plot
    import nmt.alignment.plot_grid as plot_grid

    drawn = []
    monkeypatch.setattr(plot_grid, "plot_grid", lambda rows, path, gold: drawn.append((path.name, gold)) or [])
    monkeypatch.setattr(plot, "plot_alignment", lambda matrix, path, gold: drawn.append((path.name, gold)) or [])
    gold = corpus.folder / "test.links"
    files = ("--source", corpus.folder / "test.en", "--target", corpus.folder / "test.de", "--gold", gold)
    command = ("align", "--run", several["hop"], *files)
    rate = done(*command, "--hop", "all", "--plot")
    assert rate == done(*command, "--plot") == done(*command, "--hop", "2")
    assert drawn == 2 * [(f"{line:04}.png", links) for line, links in enumerate(read_links(gold), start=1)]


def test_pictures_and_matrices_of_single_maps_do_not_stay(several: dict[str, Path]) -> None:
    Path("there").mkdir()
    own = {"0001.head0.png", "0001.txt", "alignments.head.jsonl", "alignments.head0.layer1.jsonl", "1.png", "notes"}
    own |= {"0001.self.png", "self.jsonl", "self.head0.jsonl"}
    earlier = ("0002.svg", "12345.pdf", "12345.png", "alignments.hop2.jsonl", "alignments.layer12.jsonl")
    earlier += ("alignments.layer0.head1.jsonl",)
    for name in own:
        Path("there", name).touch()
    command = ("align", "--run", several["head"], "--output", "there")
    done(*command, "--head", "all", "--plot", stdin=TWO_LINES)
    for name in earlier:
        Path("there", name).touch()
    done(*command, "--plot", stdin="Anna buys bread .\n")
    assert set(os.listdir("there")) == WRITTEN | own | {"0001.png"}
    done(*command, "--head", "all", stdin="Anna buys bread .\n")
    assert set(os.listdir("there")) == WRITTEN | own | {"alignments.head0.jsonl", "alignments.head1.jsonl"}


def test_maps_that_cannot_be_chosen_are_refused(run: Path, several: dict[str, Path], blind: Path) -> None:
    def refused(path: Path, *options: str) -> str:
        return mistake("align", "--run", path, *options, stdin=TWO_LINES)

    for kind, other, last in (("head", "hop", 1), ("hop", "head", 2)):
        for which in ("0", "mean", "all"):
            message = refused(several[kind], f"--{other}", which)
            assert all(word in message for word in (f"--{other} {which}", f"{kind}s", f"give --{kind}"))
        message = refused(several[kind], f"--{kind}", str(last + 1))
        assert all(word in message for word in (f"{kind} {last + 1} ", f"0 to {last}", "mean", "all"))
        for which in ("-1", "first", "0.5", ""):
            message = refused(several[kind], f"--{kind}", which)
            assert all(word in message for word in (f"--{kind} {which}: ", "number", "mean", "all"))
        assert "--head and --hop" in refused(several[kind], "--head", "0", "--hop", "0")
    message = refused(run, "--head", "1")
    assert "head 1 " in message
    assert "only 0" in message
    assert "attention is none" in refused(blind, "--head", "0")
    assert not Path("alignments").exists()


def test_align_where_nothing_can_be_written_is_one_line(run: Path) -> None:
    Path("file").touch()
    for folder in ("file", "file/below"):
        message = mistake("align", "--run", run, "--output", folder, stdin="Anna buys bread .\n")
        assert message == "nmt: file: cannot be written (it is no folder); give a writable place with room\n", folder


@pytest.mark.parametrize("unit", ["word", "character", "piece"])
def test_align_in_other_units(run: Path, unit: str) -> None:
    Path("in.txt").write_text("Anna buys bread .\n")
    Path("to.txt").write_text("Anna kauft Brot .\n")
    links = done("align", "--run", run, "--source", "in.txt", "--target", "to.txt", "--unit", unit)
    (found,) = read_json_lines(Path("alignments/alignments.jsonl"))
    if unit == "word":
        assert found.matrix.target == ("Anna", "kauft", "Brot", ".")
    elif unit == "character":
        assert found.matrix.target == tuple("AnnakauftBrot.")
    else:
        assert "".join(found.matrix.target).replace("▁", "") == "AnnakauftBrot."
    assert len(links.split()) == len(found.matrix.target)


def test_what_align_refuses(run: Path, blind: Path, corpus: Any) -> None:
    source, target, gold = (corpus.folder / name for name in ("test.en", "test.de", "test.links"))
    command = ("align", "--run", run, "--source", source)
    message = mistake(*command, "--gold", gold)
    assert "--target" in message
    assert "--gold" in mistake(*command, "--json")
    assert all(word in mistake(*command, "--unit", "letter") for word in ("letter", "word", "character", "piece"))
    assert all(word in mistake(*command, "--format", "gif") for word in ("gif", "png", "svg", "pdf"))
    assert "2" in mistake(*command, "--target", target, "--gold", gold, "--gold-base", "2")
    assert "with --gold" in mistake(*command, "--target", target, "--gold-base", "1")
    assert "leave --gold-base out" in mistake(*command, "--self", "--gold-base", "0")
    assert "nowhere" in mistake(*command, "--target", target, "--gold", "nowhere")
    assert "attention is none" in mistake("align", "--run", blind, "--source", source)
    Path("short").write_text("a\n")
    message = mistake(*command, "--target", "short")
    assert "has 8 lines" in message
    assert "short has 1" in message
    assert not Path("alignments").exists()


def test_gold_links_that_do_not_fit_are_named_with_their_line(run: Path, corpus: Any) -> None:
    files = ("align", "--run", run, "--source", corpus.folder / "test.en", "--target", corpus.folder / "test.de")
    lines = (corpus.folder / "test.links").read_text().split("\n")
    Path("far.links").write_text("\n".join([lines[0], "0-0 99-0", *lines[2:]]))
    Path("few.links").write_text("0-0\n")
    for extra in ((), ("--plot",)):
        message = mistake(*files, "--gold", "far.links", *extra)
        assert "far.links:2: " in message
        assert "99-0" in message
        assert "few.links has 1 lines" in mistake(*files, "--gold", "few.links", *extra)
    assert not Path("alignments").exists()


# The program itself, as another process.


@pytest.mark.slow
def test_a_mistake_deep_inside_is_one_line_for_a_real_process(run: Path) -> None:
    shutil.copytree(run, "run")
    Path("run/model.safetensors").write_bytes(b"\0" * 100)
    command = [sys.executable, "-m", "nmt", "translate", "--run", "run"]
    result = subprocess.run(command, input="a\n", capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("nmt: run/model.safetensors: cannot be read")
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_lines_are_answered_while_others_are_still_to_come(run: Path) -> None:
    command = [sys.executable, "-m", "nmt", "translate", "--run", str(run)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        answers = []
        for _ in range(3):
            process.stdin.write("Anna buys bread .\n")
            process.stdin.flush()
            answers.append(process.stdout.readline())
        first = answers[0]
        assert first.endswith("\n")
        assert answers == [first] * 3
        process.stdin.write("Anna buys bread .\n" * 9 + "Anna buys bread .")
        process.stdin.close()
        assert process.stdout.read() == first * 10
        assert process.stderr.read() == ""
    assert process.returncode == 0
