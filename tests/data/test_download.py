"""Fetching corpora: sums, mirrors, what is left behind when something goes wrong."""

import gzip
import hashlib
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nmt.data import download
from nmt.data.download import CORPORA, Corpus, Sums, fetch, fetch_multi30k
from nmt.errors import DataError

MULTI30K = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "multi30k"
TEXTS = {"train.en": b"a cat\n" * 30_000, "train.de": "eine Kätzin\n".encode(), "empty.en": b""}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    folder = tmp_path / "a mirror"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(text, mtime=0))
    return folder


@pytest.fixture
def corpus(mirror: Path) -> Corpus:
    files = {
        name: Sums(packed=sha256((mirror / f"{name}.gz").read_bytes()), text=sha256(text))
        for name, text in TEXTS.items()
    }
    return Corpus("tiny", "three files", ("en", "de"), "few", "here", address="http://nowhere.invalid/", files=files)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_are_unpacked_and_nothing_else_is_left(corpus: Corpus, mirror: Path, tmp_path: Path) -> None:
    seen = []
    output = tmp_path / "new" / "folder"
    paths = fetch(corpus, output, mirror=mirror.as_uri(), progress=lambda *step: seen.append(step))
    assert paths == [output / name for name in TEXTS]
    assert {path.name: path.read_bytes() for path in paths} == TEXTS
    assert names(output) == sorted(TEXTS)
    size = (mirror / "train.en.gz").stat().st_size
    assert [step for step in seen if step[0] == "train.en.gz"][-1] == ("train.en.gz", size, size)


@pytest.mark.parametrize("form", ["file://{}", "file://{}/", "file://localhost{}"])
def test_forms_of_a_folders_address(form: str, corpus: Corpus, mirror: Path, tmp_path: Path) -> None:
    address = form.format(mirror.as_posix())
    assert len(fetch(corpus, tmp_path / "out", mirror=address)) == len(TEXTS)


def test_what_is_there_is_not_fetched_again(corpus: Corpus, mirror: Path, tmp_path: Path) -> None:
    fetch(corpus, tmp_path / "out", mirror=mirror.as_uri())
    (tmp_path / "out" / "train.de").unlink()
    seen = []
    fetch(corpus, tmp_path / "out", mirror=mirror.as_uri(), progress=lambda name, *_: seen.append(name))
    assert seen == ["train.de.gz"]
    for path in mirror.iterdir():
        path.unlink()
    assert fetch(corpus, tmp_path / "out", mirror=mirror.as_uri()) == [tmp_path / "out" / name for name in TEXTS]


def test_a_file_of_the_users_own_is_not_replaced(corpus: Corpus, mirror: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.mkdir()
    (output / "train.de").write_text("mine\n")
    with pytest.raises(DataError) as caught:
        fetch(corpus, output, mirror=mirror.as_uri())
    found, expected = sha256(b"mine\n"), corpus.files["train.de"].text
    assert str(caught.value).startswith(
        f"{output / 'train.de'}: is there with other content (SHA-256 {found}, expected {expected})"
    )
    assert (output / "train.de").read_text() == "mine\n"
    assert names(output) == ["train.de"]


def test_a_wrong_sum_names_both_and_leaves_nothing(corpus: Corpus, mirror: Path, tmp_path: Path) -> None:
    bad = gzip.compress(b"something else\n")
    (mirror / "train.en.gz").write_bytes(bad)
    with pytest.raises(DataError) as caught:
        fetch(corpus, tmp_path / "out", mirror=mirror.as_uri())
    text = str(caught.value)
    assert "train.en.gz" in text
    assert f"SHA-256 is {sha256(bad)}, expected {corpus.files['train.en'].packed}" in text
    assert "\n" not in text
    assert names(tmp_path / "out") == []


def test_what_arrived_before_a_wrong_sum_stays_and_is_whole(corpus: Corpus, mirror: Path, tmp_path: Path) -> None:
    (mirror / "train.de.gz").write_bytes(b"no gzip at all")
    with pytest.raises(DataError, match=r"train\.de\.gz: SHA-256 is"):
        fetch(corpus, tmp_path / "out", mirror=mirror.as_uri())
    assert names(tmp_path / "out") == ["train.en"]
    assert (tmp_path / "out" / "train.en").read_bytes() == TEXTS["train.en"]


def test_an_interruption_leaves_nothing_half_written(corpus: Corpus, mirror: Path, tmp_path: Path) -> None:
    def interrupt(name: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(corpus, tmp_path / "out", mirror=mirror.as_uri(), progress=interrupt)
    assert names(tmp_path / "out") == []


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("file://rel/dir", "a file address needs the whole path, such as file://{here}/rel/dir"),
        (
            "rel/dir",
            "is no address: give file:///folder, https://… or http://…; for a folder, give file://{here}/rel/dir",
        ),
        ("{here}", "is no address: give file:///folder, https://… or http://…; for a folder, give file://{here}"),
        ("ftp://host/dir", "is no address: give file:///folder, https://… or http://…"),
        ("https://", "is no address: give file:///folder, https://… or http://…"),
    ],
)
def test_a_mirror_that_is_no_address_is_refused_with_advice(
    address: str, expected: str, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as caught:
        fetch(corpus, tmp_path / "out", mirror=address.format(here=tmp_path))
    assert str(caught.value).endswith(expected.format(here=tmp_path))
    assert not (tmp_path / "out").exists()


def test_a_folder_without_the_files(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^file:///.*/train.en.gz: cannot be fetched: No such file or directory$"):
        fetch(corpus, tmp_path / "out", mirror=tmp_path.as_uri())


def test_an_output_that_cannot_be_written(corpus: Corpus, mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file/train.en: cannot be read: Not a directory$"):
        fetch(corpus, tmp_path / "file", mirror=mirror.as_uri())


class Server(ThreadingHTTPServer):
    """Serves a folder; the first answers are failures, as planned."""

    folder: Path
    plan: list[str]
    asked: list[tuple[str, str]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["User-Agent"]))
        step = self.server.plan.pop(0) if self.server.plan else "200"
        content = (self.server.folder / self.path.rpartition("/")[2]).read_bytes()
        self.send_response(int(step) if step.isdigit() else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if step == "cut" else content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(download, "_PAUSES", (0.0, 0.0))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server(("127.0.0.1", 0), Handler)
    server.folder, server.plan, server.asked = mirror, [], []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def address_of(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}/raw"


@pytest.mark.parametrize("plan", [[], ["503"], ["cut"], ["500", "cut"]])
def test_from_the_web_with_failures_that_pass(plan: list[str], corpus: Corpus, server: Server, tmp_path: Path) -> None:
    server.plan = list(plan)
    paths = fetch(corpus, tmp_path / "out", mirror=address_of(server))
    assert {path.name: path.read_bytes() for path in paths} == TEXTS
    assert [path for path, _ in server.asked] == ["/raw/train.en.gz"] * len(plan) + [
        f"/raw/{name}.gz" for name in TEXTS
    ]
    assert {agent.partition("/")[0] for _, agent in server.asked} == {"nmt"}


@pytest.mark.parametrize(
    ("plan", "attempts", "reason"),
    [
        (["404"], 1, "the server says 404 Not Found"),
        (["500"] * 3, 3, "the server says 500 Internal Server Error"),
        (["cut"] * 3, 3, "the connection broke off after"),
    ],
)
def test_a_web_that_fails_is_one_line_with_advice(
    plan: list[str], attempts: int, reason: str, corpus: Corpus, server: Server, tmp_path: Path
) -> None:
    server.plan = list(plan)
    with pytest.raises(DataError) as caught:
        fetch(corpus, tmp_path / "out", mirror=address_of(server))
    text = str(caught.value)
    assert text.startswith(f"{address_of(server)}/train.en.gz: cannot be fetched: {reason}")
    assert text.endswith("--mirror file:///path")
    assert "\n" not in text
    assert len(server.asked) == attempts
    assert names(tmp_path / "out") == []


def test_without_a_mirror_the_corpus_own_address_is_asked(corpus: Corpus, server: Server, tmp_path: Path) -> None:
    own = Corpus("tiny", "", (), "", "", address=address_of(server) + "/", files=corpus.files)
    assert len(fetch(own, tmp_path / "out")) == len(TEXTS)


def test_a_closed_network_is_one_line_with_advice(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "_PAUSES", ())
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(DataError, match=r"cannot be fetched: Connection refused; .*--mirror file:///path$"):
        fetch(corpus, tmp_path / "out", mirror=address)


def test_the_table_is_well_formed() -> None:
    for name, corpus in CORPORA.items():
        assert corpus.name == name
        assert corpus.command == f"nmt data {name}"
        assert not corpus.files or corpus.address.startswith("https://")
        assert corpus.address.endswith("/") or not corpus.files
        sums = [sum_ for file in corpus.files.values() for sum_ in (file.packed, file.text)]
        assert all(len(bytes.fromhex(sum_)) == 32 for sum_ in sums)
        assert len(set(sums)) == len(sums)


def test_multi30k_is_asked_for_where_it_is_published(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def refuse(request: object, timeout: float) -> None:
        asked.append((request.full_url, timeout))  # type: ignore[attr-defined]
        raise OSError("closed")

    monkeypatch.setattr(download, "urlopen", refuse)
    with pytest.raises(DataError, match="closed"):
        fetch_multi30k(tmp_path)
    assert asked == [("https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/train.en.gz", 30.0)]


@pytest.mark.skipif(not MULTI30K.is_dir(), reason="the published files are not on this machine")
def test_multi30k_itself(tmp_path: Path) -> None:
    paths = fetch_multi30k(tmp_path, mirror=MULTI30K.as_uri())
    counts = {path.name: path.read_bytes().count(b"\n") for path in paths}
    lines = {"train": 29_000, "val": 1_014, "test_2016_flickr": 1_000}
    assert counts == {f"{part}.{language}": count for part, count in lines.items() for language in ("en", "de", "fr")}
    again: list[str] = []
    assert fetch_multi30k(tmp_path, mirror=MULTI30K.as_uri(), progress=lambda name, *_: again.append(name)) == paths
    assert again == []
