"""`nmt translate`, `nmt score` and `nmt average` as people use them; what they refuse in one line."""

import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from nmt.alignment.links import parse_links
from nmt.checkpoint import RunFolder, read_tensors
from nmt.cli import translate as cli_translate
from nmt.cli.app import app
from nmt.config.schema import Config
from nmt.experiment.run import Run, open_run
from nmt.experiment.train import Trained, start_training

Make = Callable[..., Config]


def nmt(*arguments: object, stdin: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def done(*arguments: object, stdin: str | None = None) -> str:
    code, output, errors = nmt(*arguments, stdin=stdin)
    assert code == 0, errors
    return output


def mistake(*arguments: object, stdin: str | None = None) -> str:
    code, output, errors = nmt(*arguments, stdin=stdin)
    assert (code, output) == (2, ""), errors
    assert errors.startswith("nmt: ")
    assert errors.count("\n") == 1, errors
    return errors


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(trained: Trained) -> Path:
    return trained.folder.path


@pytest.fixture(scope="module")
def blind(tiny_config: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without attention, of the same tokenizer."""
    path = tmp_path_factory.mktemp("blind") / "run"
    changes = ("model.attention={type: none}", "training.max_steps=2", "training.keep_last=0", "data.test=null")
    start_training(tiny_config(*changes), path, device="cpu")
    return path


@pytest.fixture(scope="module")
def foreign(tiny_config: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of another tokenizer, with bytes for what it does not know."""
    path = tmp_path_factory.mktemp("foreign") / "run"
    changes = ("tokenizer.vocabulary_size=340", "tokenizer.byte_fallback=true", "training.max_steps=2")
    start_training(tiny_config(*changes, "data.test=null"), path, device="cpu")
    return path


def objects(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.split("\n")[:-1]]


TEXT = "the cat sees a house .\n\nAnna buys bread .\n"


# Formats.


def test_json_lines_tell_everything_of_each_hypothesis(run: Path, opened: Run) -> None:
    found = [
        json.loads(line)
        for line in done("translate", "--run", run, "--nbest", 3, "--format", "jsonl", stdin=TEXT).split("\n")[:-1]
    ]
    assert [(one["index"], one["rank"]) for one in found] == [(0, 1), (0, 2), (0, 3), (1, 1), (2, 1), (2, 2), (2, 3)]
    best = done("translate", "--run", run, stdin=TEXT).split("\n")[:-1]
    assert [one["hypothesis"] for one in found if one["rank"] == 1] == best
    for one in found:
        assert one["source"] == TEXT.split("\n")[one["index"]]
        assert len({other["hypothesis"] for other in found if other["index"] == one["index"]}) in (1, 3)
        assert "".join(one["pieces"]).replace("▁", " ").strip() == one["hypothesis"]
        penalty = (5 + len(one["pieces"]) + 1) / 6
        assert one["score"] == pytest.approx(one["log_probability"] / penalty)
        links = parse_links(one["alignment"]).possible
        words = len(one["hypothesis"].split()), len(one["source"].split())
        assert sorted(target for _, target in links) == list(range(words[0]))
        assert all(source < words[1] for source, _ in links)
    forced = done(
        "align", "--run", run, "--source", write("one.en", found[0]["source"]), "--target", write("one.de", best[0])
    )
    assert forced.strip() == found[0]["alignment"]


def write(name: str, *lines: str) -> Path:
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Path(name)


def test_tables_and_text_of_several(run: Path) -> None:
    rows = [
        line.split("\t")
        for line in done("translate", "--run", run, "--nbest", 2, "--format", "tsv", stdin=TEXT).split("\n")[:-1]
    ]
    assert [row[:2] for row in rows] == [["0", "1"], ["0", "2"], ["1", "1"], ["2", "1"], ["2", "2"]]
    assert float(rows[0][2]) > float(rows[1][2])
    plain = done("translate", "--run", run, "--nbest", 2, stdin=TEXT).split("\n")[:-1]
    texts = [row[3] for row in rows]
    assert plain == [*texts[:3], "", *texts[3:]]  # two lines for each line, whatever there is


def test_a_terminal_is_shown_alignments(run: Path, blind: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = done("translate", "--run", run, stdin=TEXT)
    drawn = done("translate", "--run", run, "--draw", stdin=TEXT).split("\n")
    texts = plain.split("\n")
    assert drawn[0] == texts[0]
    assert drawn[1].split() == TEXT.split("\n")[0].split()  # the source, across
    assert [line.split()[0] for line in drawn[2 : 2 + len(texts[0].split())]] == texts[0].split()
    assert [line for line in drawn if line in texts] == [texts[0], "", texts[2], ""]
    best = ("translate", "--run", run, "--beam", 3, "--nbest", 3)
    first, *several = done(*best, stdin="the cat sees\n").split("\n")[:3]
    below = done(*best, "--draw", stdin="the cat sees\n").split("\n")
    assert below[0] == first
    for text in several:  # each under the drawing of the one before, and above its own
        row = below.index(text)
        assert below[row - 1].startswith("  ")
        assert [line.split()[0] for line in below[row + 2 : row + 2 + len(text.split())]] == text.split()
    # What a terminal shows; a file and a pipe have a line for each line.
    monkeypatch.setattr(cli_translate, "_on_terminal", lambda: True)
    assert done("translate", "--run", blind, stdin="a house\n").count("\n") == 1
    assert done("translate", "--run", run, stdin=TEXT).split("\n") == drawn
    assert done("translate", "--run", run, "--no-draw", stdin=TEXT) == plain
    done("translate", "--run", run, "--output", "out", stdin=TEXT)
    assert Path("out").read_text(encoding="utf-8") == plain
    assert done("translate", "--run", run, "--format", "tsv", stdin=TEXT).count("\n") == 3


def test_a_run_without_attention_has_no_alignment_to_tell(blind: Path) -> None:
    (line,) = done("translate", "--run", blind, "--format", "jsonl", stdin="a house\n").split("\n")[:-1]
    assert json.loads(line)["alignment"] is None


# Ensembles, averages, scores.


def test_an_ensemble_of_a_run_with_itself_is_the_run(run: Path, corpus: Any) -> None:
    source = corpus.folder / "test.en"
    alone, twice = (
        objects(done("translate", *runs, "--input", source, "--format", "jsonl"))
        for runs in (("--run", run), ("--run", run, "--run", run))
    )
    for one, other in zip(alone, twice, strict=True):
        assert [one.pop(name) for name in ("log_probability", "score")] == pytest.approx(
            [other.pop(name) for name in ("log_probability", "score")], abs=1e-4
        )
        assert one == other


def test_given_translations_have_the_score_of_the_search(run: Path, blind: Path, corpus: Any) -> None:
    lines = [*corpus.lines("test.en"), ""]
    for runs in (("--run", run), ("--run", run, "--run", blind)):
        found = [
            json.loads(line)
            for line in done(
                "translate", *runs, "--format", "jsonl", stdin="".join(f"{line}\n" for line in lines)
            ).split("\n")[:-1]
        ]
        texts = write("source.txt", *lines), write("target.txt", *(one["hypothesis"] for one in found))
        scores = [
            float(line) for line in done("score", *runs, "--source", texts[0], "--target", texts[1]).split("\n")[:-1]
        ]
        data = json.loads(done("score", *runs, "--source", texts[0], "--target", texts[1], "--json"))
        assert [one["log_probability"] for one in data["lines"]] == pytest.approx(scores, abs=1e-5)
        assert data["log_probability"] == pytest.approx(sum(scores), abs=1e-4)
        assert scores[-1] == 0.0
        opened = open_run(run, "cpu")
        same = 0
        for one, score in zip(found, scores, strict=True):
            if list(opened.target.encode(one["hypothesis"]).texts) == one["pieces"]:
                assert score == pytest.approx(one["log_probability"], abs=1e-4)
                same += 1
        assert same > 2
    assert "has 9 lines" in mistake("score", "--run", run, "--source", texts[0], "--target", write("short", "a"))


def test_an_average_goes_beside_its_run_however_that_is_named(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(run, "mine")
    place = Path.cwd()
    for inside, name in (("mine", "."), ("mine/validated", "..")):
        monkeypatch.chdir(place / inside)
        written = done("average", "--run", name, "--overwrite").strip()
        assert Path(written).resolve() == place / "mine-average"
        assert (place / "mine-average" / "model.safetensors").exists()


def test_averages_are_runs_like_any_other(run: Path, corpus: Any) -> None:
    mine = Path(shutil.copytree(run, "mine"))
    kept = RunFolder(mine).kept_weights()
    assert [int(file.stem) for file in kept] == [60, 80, 100]
    assert done("average", "--run", mine, "--last", 2) == "mine-average\n"
    averaged, _ = read_tensors(Path("mine-average/model.safetensors"))
    members = [read_tensors(file)[0] for file in kept[1:]]
    for name, tensor in averaged.items():
        torch.testing.assert_close(tensor, (members[0][name] + members[1][name]) / 2)
    source, target = corpus.folder / "test.en", corpus.folder / "test.de"
    assert done("translate", "--run", "mine-average", "--input", source).count("\n") == len(corpus.lines("test.en"))
    done("evaluate", "--run", "mine-average", "--source", source, "--reference", target)
    done("align", "--run", "mine-average", "--source", source)
    done("score", "--run", "mine-average", "--source", source, "--target", target)
    done("translate", "--run", "mine", "--run", "mine-average", "--input", source)
    assert "--overwrite" in mistake("average", "--run", mine)
    assert "is an average" in mistake("train", "--resume", "--run", "mine-average", "--set", "training.max_steps=999")
    done("average", "--run", mine, "--overwrite", "--last", 1)
    assert RunFolder(Path("mine-average")).meta()["averaged"]["steps"] == [100]
    last, _ = read_tensors(Path("mine-average/model.safetensors"))
    assert all(torch.equal(last[name], members[1][name]) for name in last)
    assert "has kept 3" in mistake("average", "--run", mine, "--last", 4, "--output", "other")
    assert "is the run that is averaged" in mistake("average", "--run", mine, "--output", "mine", "--overwrite")
    assert RunFolder(mine).kept_weights() == [mine / "validated" / file.name for file in kept]


def test_nothing_to_average(blind: Path) -> None:
    assert "training.keep_last" in mistake("average", "--run", blind)
    assert not (blind / "validated").exists()


# Prefixes and samples.


def test_prefixes_are_the_first_words(run: Path) -> None:
    starts = write("starts", "die Katze kauft", "anything", "")
    found = done("translate", "--run", run, "--prefix", starts, stdin=TEXT).split("\n")
    assert found[0].startswith("die Katze kauft")
    assert found[1] == ""
    assert found[2] == done("translate", "--run", run, stdin="Anna buys bread .\n").strip()
    source = write("source", *TEXT.split("\n")[:-1])
    assert done("translate", "--run", run, "--prefix", starts, "--input", source).split("\n") == found
    wrong = write("wrong", "a", "b")
    assert "wrong has 2 lines, but the text has 3" in mistake(
        "translate", "--run", run, "--prefix", wrong, "--input", source
    )
    assert "starts has 3 lines" in nmt("translate", "--run", run, "--prefix", starts, stdin="a\n")[2]


def test_a_prefix_of_what_cannot_be_seen_is_none(run: Path) -> None:
    texts = write("in.en", "I see the dog .", "I see the cat .")
    given = ("translate", "--run", run, "--input", texts)
    assert done(*given, "--prefix", write("prefix.de", "\u200b", "\ufeff \u00a0")) == done(*given)


def test_samples_depend_on_the_seed_and_the_line_alone(run: Path, corpus: Any) -> None:
    source = corpus.folder / "test.en"
    sample = ("translate", "--run", run, "--input", source, "--sample", "--temperature", 1.5, "--top-k", 20)
    drawn = done(*sample, "--top-p", 0.95, "--seed", 3)
    assert done(*sample, "--top-p", 0.95, "--seed", 3, "--batch-size", 1) == drawn
    assert done(*sample, "--top-p", 0.95, "--seed", 4) != drawn
    greedy = done("translate", "--run", run, "--input", source, "--beam", 1)
    assert done("translate", "--run", run, "--input", source, "--sample", "--top-k", 1) == greedy


# Groups.


def test_groups_are_those_of_the_search(run: Path, opened: Run, corpus: Any) -> None:
    source = corpus.folder / "test.en"
    command = ("translate", "--run", run, "--input", source, "--beam", 6, "--nbest", 6, "--format", "jsonl")
    plain, default = done(*command), done(*command, "--beam-groups", 3)
    found = done(*command, "--beam-groups", 3, "--diversity-penalty", 2)
    assert len({plain, default, found}) == 3
    singly = objects(done(*command, "--beam-groups", 3, "--diversity-penalty", 2, "--batch-size", 1))
    assert [one["pieces"] for one in singly] == [one["pieces"] for one in objects(found)]
    assert done(*command, "--beam-groups", 3, "--diversity-penalty", 0.5) == default
    made = opened.translator({"beam": 6, "beam_groups": 3, "diversity_penalty": 2.0})
    expected = made.translate(corpus.lines("test.en"), 6)
    pairs = [(one.source, text) for one in expected for text in one.texts]
    assert [(one["source"], one["hypothesis"]) for one in objects(found)] == pairs
    for one, other in pairwise(objects(found)):
        if one["index"] == other["index"]:
            assert other["rank"] == one["rank"] + 1
            assert one["score"] >= other["score"]


def test_groups_of_the_run_leave_validation_and_samples_alone(tiny_config: Make, tmp_path: Path) -> None:
    changes = ("training.max_steps=2", "training.validate_every=2", "data.test=null")
    groups = ("decoding={beam: 4, beam_groups: 2, diversity_penalty: 3.0, coverage_penalty: 0.3}",)
    scores = []
    for name, decoding in (("plain", ()), ("groups", groups)):
        start_training(tiny_config(*changes, *decoding), tmp_path / name, device="cpu")
        lines = map(json.loads, (tmp_path / name / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
        scores.append([(one["bleu"], one["chrf"]) for one in lines if one["event"] == "validation"])
    assert scores[0] == scores[1] != []
    given = [("--run", tmp_path / name) for name in ("plain", "groups")]
    drawn = [done("translate", *one, "--sample", "--temperature", 2, stdin=TEXT) for one in given]
    assert drawn[0] == drawn[1]
    assert done("translate", *given[1], "--nbest", 4, stdin=TEXT) == done(
        "translate", *given[0], "--coverage-penalty", 0.3, "--beam", 4, "--beam-groups", 2, "--diversity-penalty", 3,
        "--nbest", 4, stdin=TEXT,
    )  # fmt: skip
    assert done("translate", *given[1], "--beam-groups", 1, "--beam", 1, stdin=TEXT).count("\n") == 3
    message = mistake("translate", *given[1], "--beam", 1, stdin=TEXT)
    assert "decoding.beam_groups: 2 groups do not share a beam of 1 evenly; allowed: 1," in message


# Bytes instead of unknown pieces.


def test_bytes_stand_for_what_is_unknown_and_a_line_stays_a_line(foreign: Path) -> None:
    run = open_run(foreign, "cpu")
    pieces = run.source.encode("a 猫 \U0001f600")
    assert 1 not in pieces.numbers
    assert run.source.decode(pieces.numbers) == "a 猫 \U0001f600"
    text = "猫\n\U0001f600 sees a house\n\u200b\n"
    out = done("translate", "--run", foreign, "--format", "jsonl", "--sample", "--temperature", 5, stdin=text * 20)
    assert out.count("\n") == 60
    assert all("\n" not in json.loads(line)["hypothesis"] for line in out.split("\n")[:-1])
    assert done("translate", "--run", foreign, "--sample", "--temperature", 5, stdin=text * 20).count("\n") == 60


# What cannot be.


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--nbest", 9), ("--nbest 9", "above the beam, 3", "--beam 9")),
        (("--nbest", 0), ("--nbest",)),
        (("--format", "xml"), ("--format xml", "text, tsv, jsonl")),
        (("--format", "tsv", "--draw"), ("--draw", "--format tsv")),
        (("--temperature", 2), ("--temperature 2.0", "--sample")),
        (("--top-k", 2), ("--top-k 2", "--sample")),
        (("--sample", "--temperature", 0), ("--temperature 0.0", "above 0")),
        (("--sample", "--temperature", "nan"), ("--temperature nan",)),
        (("--sample", "--top-p", 0), ("--top-p 0.0", "above 0")),
        (("--sample", "--top-p", 1.5), ("--top-p 1.5", "at most 1")),
        (("--sample", "--top-k", 0), ("--top-k",)),
        (("--sample", "--beam", 4), ("--beam 4", "--sample")),
        (("--sample", "--nbest", 2), ("--nbest 2", "--sample")),
        (("--beam", 4, "--beam-groups", 3), ("beam_groups: 3", "beam of 4", "allowed: 1, 2, 4")),
        (("--beam", 1, "--beam-groups", 2), ("beam_groups: 2", "beam of 1", "allowed: 1,")),
        (("--beam-groups", 0), ("--beam-groups",)),
        (("--diversity-penalty", 0.5), ("--diversity-penalty 0.5", "--beam-groups")),
        (("--beam-groups", 3, "--diversity-penalty", "inf"), ("--diversity-penalty inf",)),
        (("--beam-groups", 3, "--diversity-penalty", -1), ("--diversity-penalty",)),
        (("--sample", "--beam-groups", 3), ("--beam-groups 3", "--sample")),
        (("--sample", "--diversity-penalty", 0.5), ("--diversity-penalty 0.5", "--sample")),
        (("--length-normalization", "none"), ("length_normalization", "wu, plain")),
        (("--min-length-ratio", 3), ("min_length_ratio", "max_length_ratio")),
        (("--max-length-ratio", 0), ("max_length_ratio", "above 0")),
        (("--no-repeat-ngram", 0), ("--no-repeat-ngram",)),
        (("--coverage-penalty", "inf"), ("--coverage-penalty inf",)),
        (("--prefix", "nowhere"), ("nowhere", "no such file")),
    ],
    ids=str,
)
def test_options_that_cannot_be_are_one_line(run: Path, options: tuple[object, ...], words: tuple[str, ...]) -> None:
    message = mistake("translate", "--run", run, *options, stdin="a\n")
    assert all(word in message for word in words), message


def test_runs_that_do_not_fit_are_one_line(run: Path, blind: Path, foreign: Path) -> None:
    for command in (("translate",), ("score", "--source", write("a", "a house"), "--target", write("b", "ein Haus"))):
        message = mistake(*command, "--run", run, "--run", foreign, stdin="a\n")
        assert all(word in message for word in (str(run), str(foreign), "another tokenizer"))
    message = mistake("translate", "--run", run, "--run", blind, "--coverage-penalty", 0.2, stdin="a\n")
    assert str(blind) in message
    assert "--coverage-penalty" in message
    assert done("translate", "--run", run, "--coverage-penalty", 0.2, stdin="a house\n").strip()
