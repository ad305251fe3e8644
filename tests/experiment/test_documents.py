"""A model that looks at the sentences before: what only they decide it learns, and nothing else of them counts."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from nmt.alignment.links import read_links
from nmt.cli.app import app
from nmt.config.load import parse_config
from nmt.config.schema import Config
from nmt.data.batching import Example
from nmt.data.corpus import ParallelText
from nmt.data.documents import sentences_before
from nmt.decoding.forced import Forced
from nmt.decoding.search import length_penalty
from nmt.decoding.translate import Translator
from nmt.errors import ConfigError, DataError
from nmt.experiment import align
from nmt.experiment.align import Target, align_given, given_targets, own_targets
from nmt.experiment.contrast import contrast, read_wrong
from nmt.experiment.document import document_alignments
from nmt.experiment.hypotheses import matrices
from nmt.experiment.run import Run, Weights, open_run
from nmt.experiment.score import score_text
from nmt.experiment.texts import read_texts
from nmt.experiment.train import start_training
from tests.conftest import Corpus, tiny_settings

NOUNS = (("cat", "Katze", "sie"), ("dog", "Hund", "er"), ("lamp", "Lampe", "sie"), ("tree", "Baum", "er"))
VERBS = (("sees", "sieht"), ("finds", "findet"), ("paints", "malt"), ("buys", "kauft"))
WORDS = (("sleeps", "schläft"), ("falls", "fällt"), ("burns", "brennt"), ("waits", "wartet"))
PRONOUNS = ("er", "sie")


def document(noun: Sequence[str], verb: Sequence[str], word: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Two sentences; that the second one's "it" is er or sie, only the first one tells."""
    return (f"anna {verb[0]} {noun[0]}", f"anna {verb[1]} {noun[1]}"), (f"it {word[0]}", f"{noun[2]} {word[1]}")


DOCUMENTS = [document(*parts) for parts in product(NOUNS, VERBS, WORDS)]
TEST = DOCUMENTS[3::5]
TRAIN = [one for one in DOCUMENTS if one not in TEST]


def lines_of(documents: Sequence[tuple[tuple[str, str], ...]], side: int) -> list[str]:
    return [line for one in documents for line in [*(pair[side] for pair in one), ""]]


def wrong_of(documents: Sequence[tuple[tuple[str, str], ...]]) -> list[tuple[str, ...]]:
    rivals = []
    for source, reference in zip(lines_of(documents, 0), lines_of(documents, 1), strict=True):
        pronoun, *rest = reference.split() or [""]
        others = [other for other in PRONOUNS if other != pronoun]
        rivals.append(tuple(" ".join([other, *rest]) for other in others) if source.startswith("it ") else ())
    return rivals


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("documents")
    for name, documents in (("train", TRAIN), ("valid", TEST), ("test", TEST)):
        for ending, side in (("en", 0), ("de", 1)):
            (path / f"{name}.{ending}").write_text("".join(f"{line}\n" for line in lines_of(documents, side)), "utf-8")
    (path / "test.wrong").write_text("".join("\t".join(line) + "\n" for line in wrong_of(TEST)), "utf-8")
    (path / "test.links").write_text("".join("0-0 1-1\n" if line else "\n" for line in lines_of(TEST, 0)), "utf-8")
    return path


def config_of(folder: Path, *changes: str) -> Config:
    settings: dict[str, Any] = tiny_settings(Corpus(folder))
    settings["model"]["attention"] = {"type": "luong", "input_feeding": False}
    return parse_config(settings, "the config", [*TINY, *changes])


TINY = ("tokenizer.type=word", "tokenizer.vocabulary_size=40", "training.early_stopping.metric=loss")
CONTEXT = ("data.document_context=1", "model.context={type: hierarchical}", "training.max_steps=120")


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "documents"
    start_training(config_of(folder, *CONTEXT), path, device="cpu")
    return open_run(path, "cpu")


@pytest.fixture(scope="module")
def alone(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same model, which reads each sentence by itself."""
    path = tmp_path_factory.mktemp("runs") / "alone"
    start_training(config_of(folder, "training.max_steps=120"), path, device="cpu")
    return open_run(path, "cpu")


def text_of(documents: Sequence[tuple[tuple[str, str], ...]]) -> ParallelText:
    return ParallelText(tuple(lines_of(documents, 0)), tuple(lines_of(documents, 1)))


def translated(run: Run, lines: Sequence[str], **options: Any) -> list[str]:
    return [one.texts[0] for one in run.translator(options).translate(lines)]


def pronouns_right(found: Sequence[str], documents: Sequence[tuple[tuple[str, str], ...]]) -> float:
    pairs = zip(lines_of(documents, 0), lines_of(documents, 1), found, strict=True)
    right = [out.split()[:1] == reference.split()[:1] for source, reference, out in pairs if source.startswith("it ")]
    return sum(right) / len(right)


def test_what_only_the_sentence_before_decides_is_learnt(run: Run, alone: Run) -> None:
    lines = lines_of(TEST, 0)
    assert pronouns_right(translated(run, lines), TEST) == 1.0
    assert pronouns_right(translated(alone, lines), TEST) < 0.8
    wrong = wrong_of(TEST)
    assert contrast(run, text_of(TEST), wrong).accuracy == 1.0
    assert contrast(alone, text_of(TEST), wrong).accuracy < 0.8


def test_without_its_document_a_line_has_one_translation(run: Run) -> None:
    lines = [line for line in lines_of(TEST, 0) if line.startswith("it ")]
    found = translated(run, [part for line in lines for part in (line, "")])[::2]
    assert found == [found[lines.index(line)] for line in lines]


def test_neighbours_batches_and_parts_change_nothing(run: Run) -> None:
    lines = lines_of(TEST, 0)
    expected = translated(run, lines)
    assert translated(run, lines, batch_size=1) == expected
    assert translated(run, lines, beam=1, batch_size=2) == translated(run, lines, beam=1)
    streamed = [one.texts[0] for chunk in run.translator().chunks(iter(lines), read_ahead=2) for one in chunk]
    assert streamed == expected
    assert translated(run, lines[3:6]) == expected[3:6], "another document before it"
    names = [str(number // 3) for number in range(len(lines))]
    full = [(line, name) for line, name in zip(lines, names, strict=True) if line]
    before = run.before([line for line, _ in full], [name for _, name in full])
    named = run.translator().translate([line for line, _ in full], before=before)
    assert [one.texts[0] for one in named] == [text for text in expected if text]


def test_scores_of_documents_are_those_of_a_forced_pass(run: Run) -> None:
    lines = lines_of(TEST, 0)[:6]
    found = run.translator({"beam": 3, "coverage_penalty": 0.2}).translate(lines, 3)
    contexts = run.contexts(lines)
    for translation, context in zip(found, contexts, strict=True):
        for one in translation.hypotheses if translation.source_pieces else ():
            (forced,) = run.forced([Example(translation.source_pieces, one.pieces, context)])
            assert one.log_probability == pytest.approx(float(forced.log_probabilities.sum()), abs=1e-4)
            missing = np.log(np.minimum(forced.weights[0].mean(axis=0).sum(axis=0)[:-1], 1.0)).sum()
            total = one.log_probability / length_penalty(len(one.pieces) + 1, run.config.decoding.length_penalty)
            assert one.score == pytest.approx(total + 0.2 * missing, abs=1e-3)
    text = ParallelText(tuple(lines), tuple(one.texts[0] for one in found))
    for score, one in zip(score_text([run], text).log_probabilities, found, strict=True):
        if run.target.encode(one.texts[0]).numbers == one.hypotheses[0].pieces:
            assert score == pytest.approx(one.hypotheses[0].log_probability, abs=1e-4)


def test_the_forced_pass_tells_where_it_looked(run: Run) -> None:
    first, second = TEST[0]
    pair = run.source.encode(second[0]).numbers, run.target.encode(second[1]).numbers
    (context,) = run.contexts([second[0]], [(first[0],)])
    alone, forced = run.forced([Example(*pair), Example(*pair, context)])
    assert alone.document is None
    assert forced.document is not None
    (words,) = forced.document.words
    assert words.shape == (len(pair[1]) + 1, len(context[0]))
    assert words.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert forced.document.sentences[:, 0] == pytest.approx(1.0, abs=1e-5)
    assert forced.document.gate.shape == (len(pair[1]) + 1,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["data.document_context=1"], "of no use without model.context"),
        (["model.context={type: hierarchical}"], "set data.document_context"),
        (["data.train.documents=names"], "of no use without document_context"),
        ([*CONTEXT, "data.hold_out=5", "data.valid=null"], "hold_out takes single sentences out of their documents"),
        ([*CONTEXT, "model.context={type: flat}"], "flat"),
    ],
)
def test_what_does_not_fit_together_is_said(folder: Path, changes: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config_of(folder, *changes)


def test_a_file_may_name_the_documents_of_training(folder: Path, tmp_path: Path) -> None:
    names = tmp_path / "names"
    lines = lines_of(TRAIN, 0)
    names.write_text("".join(f"{number // 6}\n" for number in range(len(lines))), "utf-8")
    texts = read_texts(config_of(folder, *CONTEXT, f"data.train.documents={names}"))
    before = dict(zip(texts.train.source, texts.train.before, strict=True))
    assert texts.notes == (), "ends of documents are no faulty pairs"
    assert texts.train.before[2] == (lines[1],), "blank lines are passed over"
    assert before.keys() == {line for line in lines if line}
    assert texts.valid.before == tuple(sentences_before(lines_of(TEST, 0), 1))


def test_commands(run: Run, alone: Run, folder: Path, tmp_path: Path) -> None:
    def invoke(*arguments: object, given: str | None = None) -> Any:
        return CliRunner().invoke(app, [str(one) for one in arguments], input=given)

    lines = lines_of(TEST, 0)
    expected = translated(run, lines)
    out = invoke("translate", "--run", run.folder.path, given="".join(f"{line}\n" for line in lines))
    assert out.stdout.splitlines() == expected
    names, full = tmp_path / "names", tmp_path / "full"
    full.write_text("".join(f"{line}\n" for line in lines if line), "utf-8")
    names.write_text("".join(f"{number // 3}\n" for number, line in enumerate(lines) if line), "utf-8")
    out = invoke("translate", "--run", run.folder.path, "--input", full, "--documents", names)
    assert out.stdout.splitlines() == [line for line in expected if line]
    out = invoke(
        *("evaluate", "--run", run.folder.path, "--source", folder / "test.en", "--reference", folder / "test.de"),
        *("--contrast", folder / "test.wrong"),
    )
    assert f"contrastive accuracy 100.0 % of {len(TEST)} lines" in out.stdout


@pytest.mark.parametrize("of", ["run", "alone"])
def test_names_of_documents_need_a_run_to_which_they_count(of: str, request: pytest.FixtureRequest) -> None:
    opened: Run = request.getfixturevalue(of)
    if of == "run":
        assert opened.before(["a", "b"], ["1", "1"]) == [(), ("a",)]
    else:
        with pytest.raises(ConfigError, match="leave --documents out"):
            opened.before(["a", "b"], ["1", "1"])


def test_wrong_translations_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "wrong"
    path.write_text("x\ty\n\n", "utf-8")
    assert read_wrong(path, ["a", "b"], "text") == [("x", "y"), ()]
    with pytest.raises(DataError, match="text has 1 lines but"):
        read_wrong(path, ["a"], "text")
    path.write_text("\n\n", "utf-8")
    with pytest.raises(DataError, match="has no wrong translation"):
        read_wrong(path, ["a", "b"], "text")


def invoked(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def full(folder: Path, tmp_path: Path) -> Path:
    """The test text without blank lines, and `names`, which tell its documents apart."""
    for ending, side in (("en", 0), ("de", 1)):
        lines = [line for line in lines_of(TEST, side) if line]
        (tmp_path / f"full.{ending}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    (tmp_path / "names").write_text("".join(f"{number // 2}\n" for number in range(2 * len(TEST))), "utf-8")
    return tmp_path


def pairs(full: Path, source: str, target: str) -> tuple[list[str], list[str]]:
    first, second = ((full / f"full.{ending}").read_text("utf-8").splitlines() for ending in (source, target))
    return first, second


def before_of(full: Path) -> list[tuple[str, ...]]:
    return sentences_before(pairs(full, "de", "en")[0], 1, (full / "names").read_text("utf-8").splitlines())


@pytest.fixture(scope="module")
def backwards(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """From German to English; what it read before decides where it looks next, as its attention is Bahdanau's."""
    changes = [
        f"data.{name}={{source: '{folder}/{name}.de', target: '{folder}/{name}.en'}}" for name in ("train", "valid")
    ]
    changes += ["data.source_language=de", "data.target_language=en", "data.test=null"]
    path = tmp_path_factory.mktemp("runs") / "backwards"
    start_training(config_of(folder, *CONTEXT, "model.attention={type: bahdanau}", *changes), path, device="cpu")
    return open_run(path, "cpu")


@pytest.mark.parametrize("of", ["run", "alone"])
def test_a_reverse_run_takes_the_documents_of_its_names(
    of: str, backwards: Run, full: Path, request: pytest.FixtureRequest
) -> None:
    def align(name: str, opened: Run, source: str, target: str, *options: object) -> str:
        files = ("--source", full / f"full.{source}", "--target", full / f"full.{target}", "--output", full / name)
        out = invoked("align", "--run", opened.folder.path, *files, *options)
        assert out.exit_code == 0, out.stderr
        return out.stdout

    weights = [one.matrix.weights for one in align_given(backwards, *pairs(full, "de", "en"), before=before_of(full))]
    threshold = float(np.median(np.concatenate([one.ravel() for one in weights])))
    options = ("--documents", full / "names", "--threshold", threshold)
    opened: Run = request.getfixturevalue(of)
    align("both", opened, "en", "de", "--reverse-run", backwards.folder.path, *options)
    named = align("named", backwards, "de", "en", *options)
    assert named != align("flowing", backwards, "de", "en", "--threshold", threshold), "documents count in its links"
    reverse = [one.sure for one in read_links(full / "both" / "links.reverse.txt")]
    assert reverse == [frozenset((s, t) for t, s in one.sure) for one in read_links(full / "named" / "links.txt")]


def test_names_need_one_of_two_directions_to_which_they_count(alone: Run, full: Path, tmp_path: Path) -> None:
    turned = [f"data.{name}={{source: '{full}/full.de', target: '{full}/full.en'}}" for name in ("train", "valid")]
    languages = ["data.source_language=de", "data.target_language=en", "data.test=null", "training.max_steps=1"]
    start_training(config_of(full, *turned, *languages), tmp_path / "turned", device="cpu")
    files = ("--source", full / "full.en", "--target", full / "full.de", "--documents", full / "names")
    command = ("align", "--run", alone.folder.path, "--reverse-run", tmp_path / "turned", *files)
    out = invoked(*command, "--output", tmp_path / "out")
    assert out.exit_code == 2
    assert "leave --documents out" in out.stderr
    assert not (tmp_path / "out").exists()


def test_evaluate_takes_names_for_those_runs_to_which_they_count(
    run: Run, alone: Run, full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ("--source", full / "full.en", "--reference", full / "full.de")
    names = ("--documents", full / "names")
    out = invoked("evaluate", "--run", run.folder.path, "--run", alone.folder.path, *files, *names, "--json")
    assert out.exit_code == 0, out.stderr
    for opened, given in ((run, names), (alone, ())):
        single = invoked("evaluate", "--run", opened.folder.path, *files, *given, "--json")
        assert json.loads(out.stdout)[opened.folder.path.name] == json.loads(single.stdout)
    monkeypatch.setattr(Translator, "translate", lambda *_, **__: pytest.fail("translated"))
    again = shutil.copytree(alone.folder.path, full / "again")
    out = invoked("evaluate", "--run", alone.folder.path, "--run", again, *files, *names)
    assert out.exit_code == 2
    assert "leave --documents out" in out.stderr


def test_several_runs_are_aligned_each_with_the_sentences_that_count_to_it(run: Run, alone: Run, full: Path) -> None:
    files = ("--source", full / "full.en", "--target", full / "full.de", "--documents", full / "names")
    both, single = full / "both", full / "single"
    out = invoked("align", "--run", alone.folder.path, "--run", run.folder.path, *files, "--output", both, "--plot")
    assert out.exit_code == 0, out.stderr
    assert invoked("align", "--run", run.folder.path, *files, "--output", single, "--plot").exit_code == 0
    found = {path.name for path in (both / "documents").iterdir() if "document" in path.name}
    assert found == {path.name for path in single.iterdir() if "document" in path.name}
    assert found == {"document.jsonl", *(f"{number:04}.document.png" for number in range(2, 2 * len(TEST) + 1, 2))}
    for name in ("document.jsonl", "alignments.jsonl"):
        assert (both / "documents" / name).read_text("utf-8") == (single / name).read_text("utf-8")
    assert not [path for path in (both / "alone").iterdir() if "document" in path.name]
    again = shutil.copytree(alone.folder.path, full / "again")
    out = invoked("align", "--run", alone.folder.path, "--run", again, *files, "--output", full / "refused")
    assert out.exit_code == 2
    assert "leave --documents out" in out.stderr
    assert not (full / "refused").exists()


def test_beside_a_page_no_documents_are_drawn(run: Run, full: Path) -> None:
    files = ("--source", full / "full.en", "--target", full / "full.de", "--documents", full / "names")
    command = ("align", "--run", run.folder.path, *files, "--output", full / "out", "--format", "html")
    assert invoked(*command).exit_code == 0
    assert sorted(path.name for path in (full / "out").iterdir()) == [
        *("alignments.html", "alignments.jsonl", "document.jsonl", "links.txt", "target.txt")
    ]


def test_documents_are_aligned_by_words(run: Run, alone: Run) -> None:
    sources, targets = lines_of(TEST, 0), lines_of(TEST, 1)
    found = document_alignments(run, sources, given_targets(run, targets))
    assert [one.index for one in found] == [index for index, line in enumerate(sources) if line.startswith("it ")]
    for one in found:
        assert one.sentences == (tuple(sources[one.index - 1].split()),)
        assert one.target == tuple(targets[one.index].split())
        assert one.matrix().weights.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert document_alignments(alone, sources, given_targets(alone, targets)) == []


def test_align_writes_and_draws_where_it_looked_before(run: Run, alone: Run, folder: Path, tmp_path: Path) -> None:
    out, files = tmp_path / "out", ("--source", str(folder / "test.en"), "--target", str(folder / "test.de"))

    def align(of: Run, *options: str) -> set[str]:
        command = ["align", "--run", str(of.folder.path), *files, "--output", str(out), *options]
        assert CliRunner().invoke(app, command).exit_code == 0
        return {path.name for path in out.iterdir() if "document" in path.name}

    lines = [number for number, line in enumerate(lines_of(TEST, 0), start=1) if line.startswith("it ")]
    assert align(run, "--plot") == {"document.jsonl", *(f"{line:04}.document.png" for line in lines)}
    assert len((out / "document.jsonl").read_text("utf-8").splitlines()) == len(lines)
    names = tmp_path / "names"
    names.write_text("".join(f"{number}\n" for number, _ in enumerate(lines_of(TEST, 0))), "utf-8")
    assert align(run, "--documents", str(names)) == {"document.jsonl"}
    assert (out / "document.jsonl").read_text("utf-8") == "", "each line is a document of its own"
    assert align(alone) == set(), "what an earlier command left is gone"


@pytest.fixture(scope="module")
def nowhere_else(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that looks at the sentences before, and at no word of the sentence itself."""
    path = tmp_path_factory.mktemp("runs") / "before"
    changes = ("model.attention={type: none}", "training.max_steps=3", "data.test=null")
    start_training(config_of(folder, *CONTEXT, *changes), path, device="cpu")
    return open_run(path, "cpu")


def test_a_run_that_looks_before_alone_tells_and_draws_that(nowhere_else: Run, run: Run, full: Path) -> None:
    files = ("--source", full / "full.en", "--target", full / "full.de", "--documents", full / "names")
    command = ("align", "--output", full / "out", "--plot", *files)
    assert invoked(*command, "--run", run.folder.path, "--npz").exit_code == 0
    assert (full / "out" / "links.txt").exists()
    out = invoked(*command, "--run", nowhere_else.folder.path)
    assert (out.exit_code, out.stdout) == (0, "")
    assert "there are no links" in out.stderr
    pictures = {f"{number:04}.document.png" for number in range(2, 2 * len(TEST) + 1, 2)}
    left = {path.name for path in (full / "out").iterdir()}
    assert left == {"target.txt", "document.jsonl", *pictures}, "of the links and maps that were there, none is left"
    sources, targets = pairs(full, "en", "de")
    before = nowhere_else.before(sources, (full / "names").read_text("utf-8").splitlines())
    expected = document_alignments(nowhere_else, sources, given_targets(nowhere_else, targets), before=before)
    objects = [json.loads(line) for line in (full / "out" / "document.jsonl").read_text("utf-8").splitlines()]
    assert [one["index"] for one in objects] == [one.index for one in expected] == list(range(1, 2 * len(TEST), 2))
    for one, two in zip(objects, expected, strict=True):
        np.testing.assert_allclose(one["sentences"][0]["joint"], two.joint[0], atol=1e-5)
    own = invoked("align", "--run", nowhere_else.folder.path, *files[:2], *files[4:], "--output", full / "out")
    assert own.exit_code == 0, own.stderr
    assert {path.name for path in (full / "out").iterdir()} == {"target.txt", "document.jsonl"}
    written = [one.texts[0] for one in nowhere_else.translator().translate(sources, before=before)]
    assert (full / "out" / "target.txt").read_text("utf-8").splitlines() == written


def test_a_run_that_looks_before_alone_makes_no_links(nowhere_else: Run, run: Run, full: Path, folder: Path) -> None:
    files = ("--source", folder / "test.en", "--target", folder / "test.de", "--output", full / "out")
    for option, *value in (
        ("--gold", folder / "test.links"),
        ("--reverse-run", run.folder.path),
        ("--threshold", 0.5),
        ("--layer", 0),
        ("--head", 0),
        ("--npz",),
        ("--format", "html"),
    ):
        out = invoked("align", "--run", nowhere_else.folder.path, *files, option, *value)
        assert out.exit_code == 2
        assert "its attention is none, so it makes no links" in out.stderr
        assert f"leave {option}" in out.stderr
        assert out.stderr.count("\n") == 1
    out = invoked("align", "--run", run.folder.path, "--run", nowhere_else.folder.path, *files)
    assert out.exit_code == 2
    assert "attention is none" in out.stderr
    assert "of it alone tells where in the sentences before it looked" in out.stderr
    assert not (full / "out").exists()


def test_bench_measures_no_model_that_looks_at_the_sentences_before() -> None:
    config = Path(__file__).resolve().parents[2] / "configs" / "documents.yaml"
    result = CliRunner().invoke(app, ["bench", "--config", str(config), "--seconds", "0.1"])
    assert result.exit_code == 2
    assert "model.context" in result.output


def test_the_runs_own_pieces_are_aligned(run: Run) -> None:
    """Another segmentation than that of the text: what is forced are the pieces that were written."""
    sources = lines_of(TEST, 0)[:2]
    unknown = run.target.encode("猫").numbers
    assert len(unknown) == 1
    given = given_targets(run, lines_of(TEST, 1)[:2])
    pieces = run.target.written(unknown + given[1].pieces.numbers[1:])
    (one,) = document_alignments(run, sources, [given[0], Target(given[1].text, pieces)], unit="piece")
    (context,) = run.contexts(sources[1:], [(sources[0],)])
    (forced,) = run.forced([Example(run.source.encode(sources[1]).numbers, pieces.numbers, context)])
    assert forced.document is not None
    np.testing.assert_allclose(one.gate, forced.document.gate[:-1], atol=1e-6)


@pytest.mark.filterwarnings("ignore:line")
def test_parts_of_a_line_each_look_at_the_sentences_before(run: Run) -> None:
    before, line = lines_of(TEST, 0)[:2]
    made = run.translator()
    made.longest = len(run.source.encode(line).numbers)
    (whole, *_), (found,) = (made.translate([text], before=[(before,)]) for text in (line, f"{line} {line}"))
    assert found.hypotheses[0].pieces == whole.hypotheses[0].pieces * 2
    twice, once = (
        document_alignments(run, [one.source], own_targets(run, [one]), before=[(before,)])[0] for one in (found, whole)
    )
    assert twice.target == once.target * 2
    np.testing.assert_allclose(twice.gate, np.tile(once.gate, 2), atol=1e-5)
    np.testing.assert_allclose(twice.weights, np.tile(once.weights, (2, 1)), atol=1e-5)
    np.testing.assert_allclose(twice.joint[0], np.tile(once.joint[0], (2, 1)), atol=1e-5)


@pytest.mark.filterwarnings("ignore:line")
def test_the_order_of_an_ensemble_does_not_cut_the_sentences_before(
    run: Run, alone: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plain run was trained on shorter sentences, the other one's are cut where it was."""
    short = replace(
        alone, config=alone.config.model_copy(update={"data": alone.config.data.model_copy(update={"max_length": 2})})
    )
    text = text_of(TEST)
    assert len(run.source.encode(text.source[0]).numbers) == 3
    forward, back = ([short, run], [run, short])
    assert forward[0].translator(others=[run]).context_length == run.config.data.max_length
    scores = [score_text(runs, text).log_probabilities for runs in (forward, back)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)
    translations = run.translator().translate(text.source)
    # Its maps of a sentence's own words do not depend on the sentences before, so what is forced is looked at.
    asked: list[list[Example]] = []
    looked = Run.looked

    def spy(self: Run, examples: Sequence[Example]) -> list[Weights]:
        asked.append(list(examples))
        return looked(self, examples)

    monkeypatch.setattr(Run, "looked", spy)
    for runs in (forward, back):
        matrices(runs, [(one, 0) for one in translations])
    contexts = run.contexts(text.source)
    assert max(len(sentence) for context in contexts for sentence in context) == 3
    assert [[one.before for one in examples] for examples in asked] == [contexts] * 4


def test_maps_are_made_for_some_lines_at_a_time_and_not_for_scores(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bool]] = []
    forced = Run.forced

    def spy(self: Run, examples: Sequence[Example], *, need_weights: bool = True) -> list[Forced]:
        found = forced(self, examples, need_weights=need_weights)
        asked.append((len(examples), any(one.weights or one.document for one in found)))
        return found

    text, lines = text_of(TEST), len(text_of(TEST))
    targets = given_targets(run, text.target)
    expected = document_alignments(run, text.source, targets)
    monkeypatch.setattr(Run, "forced", spy)
    monkeypatch.setattr(align, "AT_ONCE", 4)
    found = document_alignments(run, text.source, targets)
    assert [one.index for one in found] == [one.index for one in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.gate, other.gate, atol=1e-5)
    assert sum(count for count, _ in asked) == lines
    assert max(count for count, _ in asked) == 4
    asked.clear()
    score_text([run], text)
    contrast(run, text, wrong_of(TEST))
    assert asked == [(lines, False), (2 * len(TEST), False)]
