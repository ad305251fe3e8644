"""`nmt data`."""

import gzip
import hashlib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nmt.cli import data
from nmt.cli.app import app
from nmt.data.download import CORPORA, Corpus, Sums

MULTI30K = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "multi30k"


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["data", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_list_names_every_corpus_with_its_command_and_source() -> None:
    code, output, _ = run("list")
    assert code == 0
    for corpus in CORPORA.values():
        assert f"nmt data {corpus.name} " in output
        assert corpus.source in output
        assert corpus.pairs in output


def test_every_listed_corpus_is_a_command() -> None:
    for corpus in CORPORA.values():
        code, output, _ = run(corpus.name, "--help")
        assert code == 0
        assert f"data/{corpus.name}" in output


@pytest.mark.skipif(not MULTI30K.is_dir(), reason="the published files are not on this machine")
def test_multi30k_prints_paths_and_reports_progress_apart(tmp_path: Path) -> None:
    arguments = ["multi30k", "--output", str(tmp_path), "--mirror", MULTI30K.as_uri()]
    code, output, errors = run(*arguments)
    files = [str(tmp_path / name) for name in CORPORA["multi30k"].files]
    assert (code, output.splitlines()) == (0, files)
    assert len(errors.splitlines()) == len(files)
    assert errors.startswith("fetching train.en.gz (568,929 bytes)\n")
    assert run(*arguments) == (0, output, "")


def test_a_bad_mirror_is_the_users_mistake(tmp_path: Path) -> None:
    code, output, errors = run("multi30k", "--output", str(tmp_path), "--mirror", "file://x")
    assert (code, output) == (2, "")
    assert errors.startswith("nmt: --mirror file://x: a file address needs the whole path, such as file:///")


def test_a_bar_stands_for_the_lines_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with data._bars() as report:
        report("train.en.gz", 5, 10)
        report("train.en.gz", 10, 10)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("train.en.gz") == 1
    assert "10/10 bytes" in printed.err


def test_one_entry_in_the_table_makes_a_command(tmp_path: Path) -> None:
    text = b"a line\n"
    packed = gzip.compress(text)
    (tmp_path / "a.en.gz").write_bytes(packed)
    sums = Sums(hashlib.sha256(packed).hexdigest(), hashlib.sha256(text).hexdigest())
    corpus = Corpus("other", "another one", ("en",), "1", "here", address=f"{tmp_path.as_uri()}/", files={"a.en": sums})
    data._fetcher(corpus)(tmp_path / "out", None)
    assert (tmp_path / "out" / "a.en").read_bytes() == text


@pytest.mark.slow
def test_demo_prints_the_files_that_it_wrote(tmp_path: Path) -> None:
    output = tmp_path / "demo"
    code, printed, errors = run("demo", "--output", str(output))
    names = [f"{split}.{ending}" for split in ("train", "valid", "test") for ending in ("en", "de", "links")]
    assert (code, printed.splitlines()) == (0, [str(output / name) for name in names])
    lines = {name: len((output / name).read_text().splitlines()) for name in names}
    listed = CORPORA["demo"].pairs
    assert listed == ", ".join(f"{lines[f'{split}.en']:,} {split}" for split in ("train", "valid", "test"))
    assert f"{listed} pairs" in errors
    assert str(output / "documents") in errors


@pytest.mark.slow
def test_demo_where_nothing_can_be_written_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, printed, errors = run("demo", "--output", str(tmp_path / "file" / "demo"))
    assert (code, printed) == (2, "")
    assert errors.splitlines()[-1].startswith(f"nmt: {tmp_path / 'file'}")
    assert errors.endswith("cannot be read: Not a directory\n")


@pytest.mark.slow
def test_demo_leaves_a_file_of_the_users_alone(tmp_path: Path) -> None:
    mine = tmp_path / "valid.en"
    mine.write_text("mine\n")
    code, printed, errors = run("demo", "--output", str(tmp_path))
    assert (code, printed) == (2, "")
    assert f"nmt: {mine}: is there with other content" in errors.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["valid.en"]
    assert mine.read_text() == "mine\n"
