"""A whole training: what the run folder holds, what is refused before it, and going on exactly where it stopped."""

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.alignment.export import read_json_lines
from nmt.alignment.links import read_links
from nmt.attention import ATTENTIONS
from nmt.checkpoint import RunFolder, newest_run, read_tensors
from nmt.config.load import parse_config
from nmt.config.schema import Config
from nmt.data.corpus import read_lines
from nmt.errors import CheckpointError, ConfigError, DataError, TrainingError
from nmt.evaluation.aer import score_alignments
from nmt.evaluation.bleu import bleu, bleu_by_length, tokenizer_for
from nmt.experiment import train as experiment
from nmt.experiment.align import align_given, align_translations
from nmt.experiment.run import open_run
from nmt.experiment.train import Trained, resume_training, start_training

Make = Callable[..., Config]


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_lines(folder / "metrics.jsonl")]


def log(folder: Path) -> list[str]:
    return read_lines(folder / "train.log")


def start(config: Config, path: Path, **options: Any) -> Trained:
    return start_training(config, path, device="cpu", **options)


def resume(config: Config | None, path: Path) -> Trained:
    return resume_training(config, path, device="cpu")


def stop_after(monkeypatch: pytest.MonkeyPatch, updates: int) -> None:
    """Let the next training be interrupted after so many updates, as by Ctrl-C."""

    @contextmanager
    def stopper(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
        asked = iter([False] * (updates - 1))
        yield lambda: next(asked, True)

    monkeypatch.setattr(experiment, "stop_on_interrupt", stopper)


# What a training leaves behind.


def test_every_file_of_the_run_folder_is_there_and_nothing_else(trained: Trained) -> None:
    found = {str(path.relative_to(trained.folder.path)) for path in trained.folder.path.rglob("*") if path.is_file()}
    assert found == {
        "config.yaml",
        "tokenizer.model",
        "model.safetensors",
        "last/state.safetensors",
        *(f"validated/{step:08}.safetensors" for step in (60, 80, 100)),
        "meta.json",
        "metrics.jsonl",
        "train.log",
        "test.hyp",
        "test.hyp.links",
        "test.ref.links",
        "test.scores.json",
        "alignments/test.hyp.jsonl",
        "alignments/test.0001.png",
        "alignments/test.0002.png",
    }


def test_meta_says_how_far_training_came_and_that_it_finished(trained: Trained) -> None:
    meta = trained.folder.meta()
    assert (meta["step"], meta["ended"]) == (100, "training.max_steps: 100 reached")
    assert trained.reason == meta["ended"]
    assert not trained.interrupted
    assert meta["finished"] > meta["started"]
    assert meta["scores"] == dict(trained.scores) == json.loads(trained.folder.scores_file.read_text())
    assert meta["best"]["metric"] == "bleu"
    assert meta["best"]["file"] == "model.safetensors"
    assert {"python", "torch", "device"} <= meta["environment"].keys()
    assert meta["parameters"] == sum(tensor.numel() for tensor in read_tensors(trained.folder.weights_file)[0].values())
    assert newest_run(trained.folder.path.parent) == trained.folder.path


def test_the_stored_config_is_the_one_that_was_trained(trained: Trained, tiny_config: Make) -> None:
    assert trained.folder.config() == tiny_config("training.max_steps=100")


def test_the_best_weights_are_those_of_the_best_validation(trained: Trained) -> None:
    meta, seen = trained.folder.meta(), [one for one in metrics(trained.folder.path) if one["event"] == "validation"]
    best = max(seen, key=lambda one: one["bleu"])  # the first of equals
    assert (meta["best"]["score"], meta["best"]["step"]) == (best["bleu"], best["step"])
    assert read_tensors(trained.folder.weights_file)[1] == {"step": best["step"]}
    assert [one["best"] for one in seen] == [
        one["bleu"] > max([other["bleu"] for other in seen[:number]], default=-1.0) for number, one in enumerate(seen)
    ]


@pytest.mark.parametrize(("metric", "best"), [("bleu", 4), ("loss", 8)])
def test_the_best_weights_are_kept_and_tested(
    tiny_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metric: str, best: int
) -> None:
    """Five validations, of which neither the first nor the last is the best by either score."""
    given = [
        {"bleu": bleu, "loss": loss} for bleu, loss in ((1.0, 3.0), (9.0, 2.0), (5.0, 2.5), (9.0, 1.0), (2.0, 4.0))
    ]
    seen: dict[int, dict[str, torch.Tensor]] = {}
    tested = []

    def validator(run: Any, text: Any, tell: Any) -> Callable[[], dict[str, float]]:
        rest = iter(given)

        def validate() -> dict[str, float]:
            seen[2 * len(seen) + 2] = {name: one.clone() for name, one in run.model.state_dict().items()}
            return next(rest)

        return validate

    def final(run: Any, *_: Any) -> dict[str, Any]:
        tested.append({name: one.clone() for name, one in run.model.state_dict().items()})
        return {}

    monkeypatch.setattr(experiment, "validator", validator)
    monkeypatch.setattr(experiment, "final_scores", final)
    config = tiny_config(
        "training.max_steps=10", "training.validate_every=2", f"training.early_stopping.metric={metric}"
    )
    folder = start(config, tmp_path / "run").folder
    stored, values = read_tensors(folder.weights_file)
    assert values["step"] == folder.meta()["best"]["step"] == best
    assert all(torch.equal(stored[name], seen[best][name]) for name in stored)
    assert all(torch.equal(tested[0][name], seen[best][name]) for name in stored)
    assert not all(torch.equal(seen[10][name], seen[best][name]) for name in stored)


def test_metrics_have_a_line_for_every_report_and_validation(trained: Trained) -> None:
    lines = metrics(trained.folder.path)
    updates = [one for one in lines if one["event"] == "update"]
    validations = [one for one in lines if one["event"] == "validation"]
    assert [one["step"] for one in updates] == list(range(5, 101, 5))
    assert [one["step"] for one in validations] == list(range(20, 101, 20))
    assert [one["step"] for one in lines] == sorted(one["step"] for one in lines)
    for one in updates:
        assert {"loss", "learning_rate", "gradient_norm", "epoch", "seconds", "target_tokens_per_second"} <= one.keys()
    for one in validations:
        assert {"loss", "perplexity", "accuracy", "bleu", "chrf", "seconds"} <= one.keys()
        assert one["perplexity"] == pytest.approx(math.exp(one["loss"]))
    assert [one["seconds"] for one in lines] == sorted(one["seconds"] for one in lines)


def test_something_is_learnt(trained: Trained) -> None:
    losses = [one["loss"] for one in metrics(trained.folder.path) if one["event"] == "update"]
    assert losses[-1] < 0.7 * losses[0]


def test_the_log_begins_with_the_run_and_ends_with_what_ended_it(trained: Trained, corpus: Any) -> None:
    lines = log(trained.folder.path)
    assert lines[0] == f"run {trained.folder.path.resolve()}"
    assert lines[-1] == "ended: training.max_steps: 100 reached"
    assert any(str(corpus.folder / "train.en") in line for line in lines)
    assert any("attention bahdanau" in line and "float32 on cpu" in line for line in lines)
    assert "40 training pairs (0 left out" in "\n".join(lines)


def test_translations_are_those_of_the_run_line_for_line(trained: Trained, opened: Any, corpus: Any) -> None:
    hypotheses = read_lines(trained.folder.path / "test.hyp")
    assert hypotheses == [one.texts[0] for one in opened.translator().translate(corpus.lines("test.en"))]
    assert len(hypotheses) == len(corpus.lines("test.en"))


def test_scores_are_those_of_the_files(trained: Trained, corpus: Any) -> None:
    scores = json.loads(trained.folder.scores_file.read_text())
    assert scores.keys() == {"sentences", "in_training", "bleu", "chrf", "by_length", "aer", "aer_diagonal"}
    assert (scores["sentences"], scores["in_training"]) == (8, 0)
    hypotheses = read_lines(trained.folder.path / "test.hyp")
    expected = bleu(hypotheses, corpus.lines("test.de"), tokenize=tokenizer_for("de"))
    assert scores["bleu"]["value"] == pytest.approx(expected.value)
    buckets = bleu_by_length(corpus.lines("test.en"), hypotheses, corpus.lines("test.de"), tokenize=tokenizer_for("de"))
    assert scores["by_length"] == [asdict(bucket) for bucket in buckets]
    assert "tok:13a" in scores["bleu"]["signature"]
    assert scores["bleu"]["interval"] > 0
    assert scores["aer_diagonal"]["value"] == 0.0  # word i belongs to word i
    links = [one.possible for one in read_links(trained.folder.path / "test.ref.links")]
    found = score_alignments(links, read_links(corpus.folder / "test.links"))
    assert scores["aer"] == {"value": found.aer, "precision": found.precision, "recall": found.recall}


def test_links_are_of_the_hypotheses_and_of_the_references(trained: Trained, opened: Any, corpus: Any) -> None:
    sources, references = corpus.lines("test.en"), corpus.lines("test.de")
    given = align_given(opened, sources, references)
    own = align_translations(opened, opened.translator().translate(sources))
    folder = trained.folder.path
    assert [one.possible for one in read_links(folder / "test.ref.links")] == [one.links for one in given]
    assert [one.possible for one in read_links(folder / "test.hyp.links")] == [one.links for one in own]
    for one, source, target in zip(given, sources, references, strict=True):
        assert (one.matrix.source, one.matrix.target) == (tuple(source.split()), tuple(target.split()))
        assert {link[1] for link in one.links} == set(range(len(target.split()))), "each target word has its best"
    assert [one.matrix.target for one in own] == [tuple(line.split()) for line in read_lines(folder / "test.hyp")]


def test_the_first_matrices_are_kept_as_json_and_drawn(trained: Trained, corpus: Any) -> None:
    found = read_json_lines(trained.folder.alignments / "test.hyp.jsonl")
    assert [one.index for one in found] == [0, 1]
    assert [one.matrix.source for one in found] == [tuple(line.split()) for line in corpus.lines("test.en")[:2]]
    for one in found:
        sums = one.matrix.weights.sum(axis=1)
        assert (sums > 0).all()
        assert (sums <= 1 + 1e-4).all()
    for number in (1, 2):
        assert (trained.folder.alignments / f"test.000{number}.png").read_bytes().startswith(b"\x89PNG")


def test_the_state_holds_all_that_a_resume_needs(trained: Trained) -> None:
    tensors, values = read_tensors(trained.folder.state_file)
    names = {name.removeprefix("model.") for name in tensors if name.startswith("model.")}
    assert names == read_tensors(trained.folder.weights_file)[0].keys()
    for moment in ("step", "exp_avg", "exp_avg_sq"):
        assert {f"optimizer.{moment}.{name}" for name in names} <= tensors.keys()
    assert "random.cpu" in tensors
    assert values["step"] == 100
    assert values["position"]["epoch"] > 0


# Variants.


@pytest.mark.parametrize("attention", sorted(ATTENTIONS))
def test_every_attention_trains_and_is_the_same_after_loading(
    tiny_config: Make, tmp_path: Path, corpus: Any, attention: str
) -> None:
    config = tiny_config(f"model.attention={{type: {attention}}}", "training.max_steps=4", "training.validate_every=4")
    trained = start(config, tmp_path / "first")
    shutil.move(tmp_path / "first", tmp_path / "run")
    has_weights = attention != "none"
    said = [line for line in log(tmp_path / "run") if "has no weights, so there are no alignments" in line]
    assert bool(said) != has_weights
    assert ("aer" in trained.scores) == has_weights
    for name in ("test.hyp.links", "test.ref.links", "alignments"):
        assert (tmp_path / "run" / name).exists() == has_weights
    sources, references = corpus.lines("test.en"), corpus.lines("test.de")
    opened = open_run(tmp_path / "run", "cpu")
    translated = [one.texts[0] for one in opened.translator().translate(sources)]
    assert translated == read_lines(tmp_path / "run" / "test.hyp")
    if has_weights:
        links = [one.links for one in align_given(opened, sources, references)]
        assert links == [one.possible for one in read_links(tmp_path / "run" / "test.ref.links")]


def test_a_training_that_draws_reports_reward_baseline_and_entropy(tiny_config: Make, tmp_path: Path) -> None:
    start(tiny_config("model.attention={type: hard}", "training.max_steps=20", "data.test=null"), tmp_path / "run")
    updates = [one for one in metrics(tmp_path / "run") if one["event"] == "update"]
    for one in updates:
        assert one["reward"] < 0
        assert one["baseline"] < 0
        assert 0 < one["entropy"] < math.log(100)
    assert any(re.search(r"loss \S+  reward \S+  entropy \S+  baseline ", line) for line in log(tmp_path / "run"))


def test_separate_vocabularies_and_no_test_text(tiny_config: Make, tmp_path: Path) -> None:
    changes = ("tokenizer={vocabulary_size: 60, shared: false}", "data.test=null", "training.max_steps=3")
    trained = start(tiny_config(*changes), tmp_path / "run")
    assert trained.scores == {}
    assert trained.folder.meta()["finished"]
    assert (tmp_path / "run" / "tokenizer.source.model").exists()
    assert (tmp_path / "run" / "tokenizer.target.model").exists()
    assert not (tmp_path / "run" / "test.hyp").exists()


def test_a_vocabulary_that_was_lowered_is_said_in_the_log(tiny_config: Make, tmp_path: Path) -> None:
    start(tiny_config("tokenizer.vocabulary_size=9000", "training.max_steps=2"), tmp_path / "run")
    assert any("supports" in line and "not 9000" in line for line in log(tmp_path / "run"))


def test_test_sources_that_stand_in_training_are_warned_of(tiny_config: Make, own_corpus: Any, tmp_path: Path) -> None:
    for ending in ("en", "de"):
        lines = own_corpus.lines(f"test.{ending}")[:3]
        with (own_corpus.folder / f"train.{ending}").open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    trained = start(tiny_config("training.max_steps=2", of=own_corpus), tmp_path / "run")
    assert trained.scores["in_training"] == 3
    said = [line for line in log(tmp_path / "run") if "also stand in training" in line]
    assert len(said) == 1
    assert said[0].startswith("warning: 3 of 8 test sources")


def test_pairs_with_a_blank_side_are_left_out_and_said(tiny_config: Make, own_corpus: Any, tmp_path: Path) -> None:
    with (own_corpus.folder / "train.en").open("a") as source, (own_corpus.folder / "train.de").open("a") as target:
        source.write("a cat\n \n\n")
        target.write("\nein Hund\n\n")
    start(tiny_config("training.max_steps=2", of=own_corpus), tmp_path / "run")
    assert any(line.startswith("3 training pairs with a blank side") for line in log(tmp_path / "run"))
    assert any(line.startswith("40 training pairs") for line in log(tmp_path / "run"))


def test_blank_lines_in_the_test_text_keep_their_place(tiny_config: Make, own_corpus: Any, tmp_path: Path) -> None:
    for name, blank in (("test.en", ""), ("test.de", ""), ("test.links", "")):
        lines = own_corpus.lines(name)
        lines.insert(1, blank)
        (own_corpus.folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    start(tiny_config("training.max_steps=2", of=own_corpus), tmp_path / "run")
    for name in ("test.hyp", "test.hyp.links", "test.ref.links"):
        lines = read_lines(tmp_path / "run" / name)
        assert len(lines) == 9
        assert lines[1] == ""


def test_long_pairs_are_left_out_and_counted(tiny_config: Make, tmp_path: Path) -> None:
    start(tiny_config("data.max_length=28", "tokenizer.type=char", "training.max_steps=2"), tmp_path / "run")
    (line,) = [line for line in log(tmp_path / "run") if "training pairs" in line]
    kept, left_out = map(int, re.findall(r"\d+", line)[:2])
    assert kept + left_out == 40
    assert min(kept, left_out) > 0


# Refused, before anything is written.


def test_nothing_is_written_where_a_file_is_missing(tiny_config: Make, own_corpus: Any, tmp_path: Path) -> None:
    for name in ("train.en", "valid.de", "test.en", "test.links"):
        path = own_corpus.folder / name
        content = path.read_bytes()
        path.unlink()
        with pytest.raises(DataError, match=rf"^{re.escape(str(path))}: no such file"):
            start(tiny_config(of=own_corpus), tmp_path / "run")
        assert not (tmp_path / "run").exists()
        path.write_bytes(content)


def test_an_existing_run_survives_a_start_that_is_refused(
    tiny_config: Make, trained: Trained, own_corpus: Any, tmp_path: Path
) -> None:
    path = Path(shutil.copytree(trained.folder.path, tmp_path / "run"))
    before = {one: one.read_bytes() for one in path.rglob("*") if one.is_file()}
    (own_corpus.folder / "valid.en").unlink()
    with pytest.raises(DataError):
        start(tiny_config(of=own_corpus), path, overwrite=True)
    with pytest.raises(ConfigError, match="too small"):
        start(tiny_config("tokenizer.vocabulary_size=9"), path, overwrite=True)
    with pytest.raises(CheckpointError, match="there is a run already"):
        start(tiny_config(), path)
    assert {one: one.read_bytes() for one in path.rglob("*") if one.is_file()} == before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("test.links", "0-0\n1-1\n0-0 77-1\n" + "0-0\n" * 5, r"test\.links:3: .*77-1"),
        ("test.links", "0-0\n1-1\n0-0 1-77\n" + "0-0\n" * 5, r"test\.links:3: .*1-77"),
        ("test.links", "0-0\n", r"test\.links has 1 .*test\.en has 8"),
        ("test.links", "0-0\n0=0\n" + "0-0\n" * 6, r"test\.links:2: '0=0' is not a link"),
        ("train.de", "ein\n", r"train\.en has 40 lines but .*train\.de has 1"),
        ("valid.en", "\n" * 8, r"valid\.en: is empty"),
        ("test.de", "\n" * 8, r"test\.de: is empty"),
    ],
)
def test_texts_and_links_that_do_not_fit_are_named(
    tiny_config: Make, own_corpus: Any, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (own_corpus.folder / name).write_text(content)
    with pytest.raises(DataError, match=message) as error:
        start(tiny_config(of=own_corpus), tmp_path / "run")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_training_pairs_without_text_on_both_sides_are_refused(
    tiny_config: Make, own_corpus: Any, tmp_path: Path
) -> None:
    (own_corpus.folder / "train.en").write_text("a\n\n")
    (own_corpus.folder / "train.de").write_text("\nb\n")
    with pytest.raises(DataError, match=r"train\.en: no line has text on both sides"):
        start(tiny_config(of=own_corpus), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def lengthen(corpus: Any, which: str) -> None:
    """Make every sentence of a text long."""
    for ending in ("en", "de"):
        path = corpus.folder / f"{which}.{ending}"
        path.write_text((" ".join(["the cat sees a house"] * 20) + "\n") * len(corpus.lines(path.name)))


def test_a_length_limit_that_leaves_nothing_names_the_text_and_writes_nothing(
    tiny_config: Make, own_corpus: Any, tmp_path: Path
) -> None:
    lengthen(own_corpus, "train")
    with pytest.raises(DataError, match=r"train\.en.*data\.max_length"):
        start(tiny_config("data.max_length=20", of=own_corpus), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_length_limit_is_for_training_pairs_alone(tiny_config: Make, own_corpus: Any, tmp_path: Path) -> None:
    lengthen(own_corpus, "valid")
    start(tiny_config("data.max_length=20", "training.max_steps=2", of=own_corpus), tmp_path / "run")
    assert math.isfinite(metrics(tmp_path / "run")[-1]["loss"])


def test_overwriting_replaces_all_of_the_old_run(tiny_config: Make, trained: Trained, tmp_path: Path) -> None:
    path = Path(shutil.copytree(trained.folder.path, tmp_path / "run"))
    (path / "alignments" / "stale.png").touch()
    start(tiny_config("training.max_steps=2", "data.test=null"), path, overwrite=True)
    assert RunFolder(path).meta()["step"] == 2
    assert "scores" not in RunFolder(path).meta() or not RunFolder(path).meta()["scores"]
    assert not (path / "alignments").exists()
    assert not (path / "test.hyp").exists()
    assert [one["step"] for one in metrics(path)] == [2]


# Going on.


def same_state(one: Path, other: Path) -> bool:
    a, _ = read_tensors(RunFolder(one).state_file)
    b, _ = read_tensors(RunFolder(other).state_file)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def timeless(folder: Path) -> list[dict[str, Any]]:
    """The metrics without what the clock decides."""
    clock = ("seconds", "target_tokens_per_second")
    return [{key: value for key, value in one.items() if key not in clock} for one in metrics(folder)]


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("model.attention={type: luong}", "training.precision=bfloat16"),
        ("training.schedule=inverse_sqrt", "training.warmup=10", "model.decoder.layers=2", "training.weight_decay=0.1"),
        ("training.schedule=cosine", "training.warmup=5"),
        ("model.attention={type: hard}",),
        ("training.schedule=plateau", "training.plateau={factor: 0.5, patience: 0}", "training.validate_every=5"),
    ],
    ids=["bahdanau", "luong in bfloat16", "inverse_sqrt", "cosine", "hard", "plateau"],
)
def test_an_interrupted_training_goes_on_exactly(
    tiny_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: Sequence[str]
) -> None:
    config = tiny_config(*changes, "data.test=null")
    start(config, tmp_path / "whole")
    with monkeypatch.context() as patch:
        stop_after(patch, 20)
        stopped = start(config, tmp_path / "parts")
    assert stopped.interrupted
    assert stopped.folder.meta()["step"] == 20
    torch.manual_seed(12345)
    resumed = resume(config, tmp_path / "parts")
    assert not resumed.interrupted
    assert same_state(tmp_path / "whole", tmp_path / "parts")
    assert timeless(tmp_path / "parts") == timeless(tmp_path / "whole")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert weights[0] == weights[1]


def test_an_interruption_between_two_reports_loses_nothing_of_the_weights(
    tiny_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config("data.test=null", "training.max_steps=30")
    start(config, tmp_path / "whole")
    for updates in (7, 6, 1):
        with monkeypatch.context() as patch:
            stop_after(patch, updates)
            if (tmp_path / "parts").exists():
                resume(None, tmp_path / "parts")
            else:
                start(config, tmp_path / "parts")
    assert RunFolder(tmp_path / "parts").meta()["step"] == 14
    resume(None, tmp_path / "parts")
    assert same_state(tmp_path / "whole", tmp_path / "parts")
    assert [one["step"] for one in metrics(tmp_path / "parts")] == [one["step"] for one in metrics(tmp_path / "whole")]


def test_an_interrupted_training_says_how_to_go_on_and_is_not_finished(
    tiny_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(monkeypatch, 3)
    stopped = start(tiny_config(), tmp_path / "run")
    assert stopped.interrupted
    assert log(tmp_path / "run")[-1] == f"ended: interrupted; go on with: nmt train --resume --run {tmp_path / 'run'}"
    assert "finished" not in stopped.folder.meta()
    assert not (tmp_path / "run" / "test.hyp").exists()
    with pytest.raises(CheckpointError, match="no finished run"):
        newest_run(tmp_path)


def test_larger_limits_train_on_as_if_they_had_been_so_from_the_start(tiny_config: Make, tmp_path: Path) -> None:
    start(tiny_config("data.test=null"), tmp_path / "whole")
    start(tiny_config("data.test=null", "training.max_steps=20"), tmp_path / "parts")
    resume(tiny_config("data.test=null", "training.max_epochs=100"), tmp_path / "parts")
    assert same_state(tmp_path / "whole", tmp_path / "parts")
    assert timeless(tmp_path / "parts") == timeless(tmp_path / "whole")
    assert RunFolder(tmp_path / "parts").config().training.max_steps == 40
    assert any(line.startswith("going on from step 20") for line in log(tmp_path / "parts"))


def test_what_was_logged_after_the_saved_state_is_written_once(tiny_config: Make, tmp_path: Path) -> None:
    config = tiny_config("data.test=null", "training.max_steps=30")
    start(config, tmp_path / "whole")
    start(tiny_config("data.test=null", "training.max_steps=20"), tmp_path / "parts")
    with (tmp_path / "parts" / "metrics.jsonl").open("a") as file:
        file.write('{"event": "update", "step": 25, "loss": 1.0}\n{"event": "upd')  # as a killed process leaves it
    resume(config, tmp_path / "parts")
    assert timeless(tmp_path / "parts") == timeless(tmp_path / "whole")


def test_changed_keys_are_listed_and_nothing_is_touched(tiny_config: Make, trained: Trained, tmp_path: Path) -> None:
    path = Path(shutil.copytree(trained.folder.path, tmp_path / "run"))
    before = {one: one.read_bytes() for one in path.rglob("*") if one.is_file()}
    changes = ("training.max_steps=200", "model.dropout=0.5", "training.clip=null", "decoding.beam=7", "seed=2")
    with pytest.raises(CheckpointError) as error:
        resume(tiny_config(*changes), path)
    message = str(error.value)
    assert "\n" not in message
    assert all(key in message for key in ("model.dropout", "training.clip", "decoding.beam", "seed"))
    assert re.search(r"differs from the run's in [^;]*max_steps", message) is None
    assert {one: one.read_bytes() for one in path.rglob("*") if one.is_file()} == before


def test_there_must_be_something_to_go_on_with(tiny_config: Make, trained: Trained, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not a run folder"):
        resume(tiny_config(), tmp_path / "nowhere")
    path = Path(shutil.copytree(trained.folder.path, tmp_path / "run"))
    with pytest.raises(CheckpointError, match=r"has finished .*raise a limit"):
        resume(None, path)
    RunFolder(path).update_meta(finished=None)
    shutil.rmtree(path / "last")
    with pytest.raises(CheckpointError, match=r"state\.safetensors: is missing"):
        resume(None, path)


def test_a_training_that_was_cut_off_in_its_test_is_tested_again(trained: Trained, tmp_path: Path) -> None:
    path = Path(shutil.copytree(trained.folder.path, tmp_path / "run"))
    before = metrics(path)
    RunFolder(path).update_meta(finished=None)
    (path / "test.scores.json").unlink()
    resumed = resume(None, path)
    assert metrics(path) == before
    assert json.loads((path / "test.scores.json").read_text()) == dict(resumed.scores) == dict(trained.scores)


def test_the_same_config_trains_to_the_same_weights(tiny_config: Make, tmp_path: Path) -> None:
    config = tiny_config("training.max_steps=10", "data.test=null")
    for name in ("one", "two"):
        start(config, tmp_path / name)
    assert same_state(tmp_path / "one", tmp_path / "two")
    start(tiny_config("training.max_steps=10", "data.test=null", "seed=2"), tmp_path / "three")
    assert not same_state(tmp_path / "one", tmp_path / "three")


# What cannot go on.


@pytest.mark.parametrize("step", [3, 25])
def test_a_loss_that_is_no_number_stops_before_the_update_and_leaves_the_state(
    tiny_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    import nmt.training.update as updating

    real, calls = updating.training_loss, []

    def faulty(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        loss, factor = real(*arguments, **options), math.nan if len(calls) == step else 1.0
        return replace(loss, total=loss.total * factor, cross_entropy=loss.cross_entropy * factor)

    monkeypatch.setattr(updating, "training_loss", faulty)
    with pytest.raises(TrainingError, match=rf"step {step}: the loss \(nan\).*training\.learning_rate"):
        start(tiny_config("data.test=null"), tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    assert log(tmp_path / "run")[-1].startswith(f"ended: step {step}: the loss (nan)")
    assert "finished" not in folder.meta()
    tensors, values = read_tensors(folder.state_file)
    assert values["step"] == step - 1
    assert all(tensor.isfinite().all() for name, tensor in tensors.items() if not name.startswith("random"))
    # With the fault gone, the run goes on from there.
    assert resume(None, tmp_path / "run").folder.meta()["step"] == 40


def test_every_schedule_and_metric_of_the_schema_trains(tiny_config: Make, tmp_path: Path) -> None:
    for number, change in enumerate(
        ("training.early_stopping.metric=loss", "training.early_stopping.metric=perplexity", "training.max_epochs=1")
    ):
        config = tiny_config("data.test=null", "training.max_steps=4", "training.validate_every=2", change)
        trained = start(config, tmp_path / str(number))
        best = trained.folder.meta()["best"]
        seen = [one[best["metric"]] for one in metrics(tmp_path / str(number)) if one["event"] == "validation"]
        assert best["score"] == (max(seen) if best["metric"] == "bleu" else min(seen))


def test_patience_ends_a_training_and_is_named(tiny_config: Make, tmp_path: Path) -> None:
    changes = ("training.learning_rate=1e-9", "training.validate_every=2", "training.early_stopping.patience=2")
    trained = start(tiny_config(*changes, "data.test=null"), tmp_path / "run")
    assert trained.reason.startswith("early stopping: bleu has not improved")
    assert log(tmp_path / "run")[-1] == f"ended: {trained.reason}"
    assert trained.folder.meta()["step"] == 6


def test_a_config_that_was_stored_is_read_back_equal(trained: Trained) -> None:
    import yaml

    stored = yaml.safe_load(trained.folder.config_file.read_text(encoding="utf-8"))
    assert parse_config(stored, "stored") == trained.folder.config()


def test_changed_texts_are_noticed_before_going_on(
    tiny_config: Make, own_corpus: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(monkeypatch, 3)
    start(tiny_config(of=own_corpus), tmp_path / "run")
    monkeypatch.undo()
    text = own_corpus.folder / "valid.de"
    text.write_text(text.read_text(encoding="utf-8").replace("die", "der"), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"texts .* have changed"):
        resume(None, tmp_path / "run")


def test_a_run_that_goes_on_is_not_finished_until_it_is_tested(
    tiny_config: Make, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copytree(trained.folder.path, tmp_path / "runs" / "run"))
    steps = trained.folder.config().training.max_steps
    assert steps is not None
    stop_after(monkeypatch, 2)
    resume(trained.folder.config().model_copy(update={"training": more_steps(trained, steps + 10)}), path)
    meta = RunFolder(path).meta()
    assert not {"finished", "scores"} & meta.keys()
    assert not (path / "test.scores.json").exists()
    with pytest.raises(CheckpointError, match="no finished run"):
        newest_run(tmp_path / "runs")


def test_a_limit_can_be_raised_without_the_yaml(tiny_config: Make, tmp_path: Path) -> None:
    start(tiny_config("training.max_steps=2"), tmp_path / "run")
    raised = resume_training(None, tmp_path / "run", changes=["training.max_steps=5"], device="cpu")
    assert raised.folder.meta()["step"] == 5
    assert raised.folder.config().training.max_steps == 5
    with pytest.raises(CheckpointError, match=r"training\.learning_rate"):
        resume_training(None, tmp_path / "run", changes=["training.learning_rate=0.5"], device="cpu")


def more_steps(trained: Trained, steps: int) -> Any:
    return trained.folder.config().training.model_copy(update={"max_steps": steps})
