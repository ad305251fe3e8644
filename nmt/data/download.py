"""Public corpora: fetched from where they are published or from a mirror, checked, and unpacked.

Every file is known by two SHA-256 sums. That of the packed file tells whether what arrived is what was published; that
of the text tells whether a file that already lies there is the right one, so that nothing else needs to be kept.
"""

import gzip
import hashlib
import http.client
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import unquote
from urllib.request import Request, urlopen

from nmt import __version__
from nmt.errors import DataError
from nmt.files import replacing

Progress = Callable[[str, int, int | None], None]
"""Called with a file's name, its bytes so far, and its bytes in all where that is known."""

_BLOCK = 1 << 16
_TIMEOUT = 30.0
_PAUSES = (1.0, 4.0)  # seconds before the second and the third attempt


@dataclass(frozen=True)
class Sums:
    """SHA-256 of a file as published (gzip) and of the text in it."""

    packed: str
    text: str


@dataclass(frozen=True)
class Corpus:
    """A corpus that `nmt data NAME` provides; without files, it is made here instead of fetched."""

    name: str
    description: str
    languages: tuple[str, ...]
    pairs: str
    """How many sentences, in words."""
    source: str
    """Where it comes from, and on what terms."""
    address: str = ""
    """What stands before each file's name on the web."""
    files: Mapping[str, Sums] = field(default_factory=dict)
    """The text files; each is published under its name and `.gz`."""

    @property
    def command(self) -> str:
        """What makes or fetches it."""
        return f"nmt data {self.name}"


_MULTI30K = Corpus(
    name="multi30k",
    description="captions of photographs and their translations by professionals (task 1, raw text)",
    languages=("en", "de", "fr"),
    pairs="29,000 train, 1,014 val, 1,000 test_2016_flickr",
    source="Elliott et al. 2016, 2017; research data, see https://github.com/multi30k/dataset",
    address="https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/",
    files={
        "train.en": Sums(
            packed="d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
            text="460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
        ),
        "train.de": Sums(
            packed="726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
            text="2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
        ),
        "train.fr": Sums(
            packed="622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
            text="5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d",
        ),
        "val.en": Sums(
            packed="14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
            text="1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
        ),
        "val.de": Sums(
            packed="f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
            text="660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
        ),
        "val.fr": Sums(
            packed="ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
            text="5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc",
        ),
        "test_2016_flickr.en": Sums(
            packed="611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
            text="399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
        ),
        "test_2016_flickr.de": Sums(
            packed="9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
            text="4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
        ),
        "test_2016_flickr.fr": Sums(
            packed="6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
            text="cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6",
        ),
    },
)

CORPORA: dict[str, Corpus] = {
    corpus.name: corpus
    for corpus in (
        Corpus(
            name="demo",
            description="sentences that a small grammar makes in both languages, with gold word alignments",
            languages=("en", "de"),
            pairs="6,000 train, 300 valid, 600 test",
            source="made on this machine in seconds, without a network; the toolkit's own licence",
        ),
        _MULTI30K,
    )
}
"""Every corpus that can be had by name."""


def fetch_multi30k(directory: Path, *, mirror: str | None = None, progress: Progress | None = None) -> list[Path]:
    """Multi30k, task 1, raw text: `train`, `val` and `test_2016_flickr` in English, German and French.

    Raises:
        DataError: as `fetch` does.
    """
    return fetch(_MULTI30K, directory, mirror=mirror, progress=progress)


def fetch(
    corpus: Corpus, directory: Path, *, mirror: str | None = None, progress: Progress | None = None
) -> list[Path]:
    """The text files of CORPUS in DIRECTORY; those that are there with the right content stay as they are.

    A file appears under its name only when it is whole and its sum is right. MIRROR stands for the public address: a
    folder (`file:///folder`) or a web address that has the same `.gz` files.

    Raises:
        DataError: the files cannot be reached or written, a sum is wrong, MIRROR is no address, or a file of the same
            name and other content is in the way.
    """
    base = corpus.address if mirror is None else _base(mirror)
    missing = [name for name, sums in corpus.files.items() if not is_there(directory / name, sums.text)]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name in missing:
            with tempfile.TemporaryDirectory(prefix="nmt-") as scratch:
                packed = Path(scratch, f"{name}.gz")
                _download(base + packed.name, packed, progress)
                _check(packed, corpus.files[name].packed, base + packed.name)
                _unpack(packed, directory / name)
    except OSError as error:
        raise DataError(f"{error.filename or directory}: cannot be written: {error.strerror or error}") from None
    return [directory / name for name in corpus.files]


def _base(mirror: str) -> str:
    """The mirror's address, with the slash that file names are added to."""
    scheme, separator, rest = mirror.partition("://")
    if separator and scheme in ("http", "https") and rest.strip("/"):
        return mirror.rstrip("/") + "/"
    if separator and scheme == "file":
        folder = rest.removeprefix("localhost")
        if folder.startswith("/"):
            return f"file://{folder.rstrip('/')}/"
        advice = Path(rest).absolute().as_uri()
        raise DataError(f"--mirror {mirror}: a file address needs the whole path, such as {advice}")
    advice = "" if ":" in mirror else f"; for a folder, give {Path(mirror).absolute().as_uri()}"
    raise DataError(f"--mirror {mirror!r} is no address: give file:///folder, https://… or http://…{advice}")


def is_there(path: Path, expected: str) -> bool:
    """Whether the file with the EXPECTED SHA-256 is there.

    Raises:
        DataError: another one is there, which is the user's own and not ours to replace; or it cannot be read.
    """
    try:
        found = _sum(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    if found != expected:
        raise DataError(
            f"{path}: is there with other content (SHA-256 {found}, expected {expected}): "
            "remove it, or give another folder with --output"
        )
    return True


def _sum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check(path: Path, expected: str, address: str) -> None:
    found = _sum(path)
    if found != expected:
        raise DataError(f"{address}: SHA-256 is {found}, expected {expected}: not the published file, nothing was kept")


def _unpack(packed: Path, destination: Path) -> None:
    with gzip.open(packed, "rb") as text, replacing(destination) as whole, whole.open("wb") as stream:
        shutil.copyfileobj(text, stream)


def _download(address: str, destination: Path, progress: Progress | None) -> None:
    """Fetch a file; what may pass is tried again after a pause, what will not is an error at once."""
    for pause in (*_PAUSES, None):
        try:
            with destination.open("wb") as copy:
                done = 0
                for block, size in _blocks(address):
                    copy.write(block)
                    done += len(block)
                    if progress:
                        progress(destination.name, done, size)
            return
        except _UnreachableError as error:
            if pause is None or not error.may_pass:
                raise DataError(f"{address}: cannot be fetched: {error}{_advice(address)}") from None
            time.sleep(pause)


def _advice(address: str) -> str:
    folder = "; if the network is closed here, give a folder that has the files with --mirror file:///path"
    return "" if address.startswith("file:") else folder


class _UnreachableError(Exception):
    """The reason why an address gave no file, and whether to try again."""

    def __init__(self, reason: object, may_pass: bool) -> None:
        super().__init__(str(reason))
        self.may_pass = may_pass


def _blocks(address: str) -> Iterator[tuple[bytes, int | None]]:
    """The content of a file in blocks, each with the size of the whole where that is known."""
    try:
        with _open(address) as (stream, size):
            done = 0
            while block := stream.read(_BLOCK):
                done += len(block)
                yield block, size
            if size is not None and done < size:  # which urllib does not tell from the end of the file
                raise _UnreachableError(f"the connection broke off after {done} of {size} bytes", may_pass=True)
    except HTTPError as error:
        may_pass = error.code == 429 or error.code >= 500
        raise _UnreachableError(f"the server says {error.code} {error.reason}", may_pass) from None
    except URLError as error:
        reason = error.reason
        raise _UnreachableError(getattr(reason, "strerror", None) or reason, may_pass=True) from None
    except (http.client.InvalidURL, ValueError) as error:
        raise _UnreachableError(error, may_pass=False) from None
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _UnreachableError(str(error) or type(error).__name__, may_pass=True) from None
    except OSError as error:
        raise _UnreachableError(error.strerror or error, may_pass=False) from None


@contextmanager
def _open(address: str) -> Iterator[tuple[BinaryIO, int | None]]:
    if address.startswith("file://"):
        path = Path(unquote(address.removeprefix("file://")))
        with path.open("rb") as stream:
            yield stream, path.stat().st_size
        return
    request = Request(address, headers={"User-Agent": f"nmt/{__version__}"})
    with urlopen(request, timeout=_TIMEOUT) as response:
        size = response.headers.get("Content-Length", "")
        yield response, int(size) if size.isdigit() else None
