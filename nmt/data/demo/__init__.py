"""The demo corpus: English and German from a small grammar, with gold word alignments."""

import hashlib
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from nmt.data.demo.write import DemoSummary
from nmt.data.demo.write import write_demo_corpus as _make
from nmt.data.download import is_there
from nmt.files import replacing

__all__ = ["DemoSummary", "write_demo_corpus"]


def write_demo_corpus(directory: Path, seed: int = 1) -> DemoSummary:
    """Write the sentence pairs, their links and the documents below `directory`, which is created if need be.

    The same seed gives the same bytes everywhere; files that are there with the right content stay as they are.

    Raises:
        DataError: a file of the same name and other content is in the way; then nothing is written.
        WriteError: a file cannot be written.
    """
    with TemporaryDirectory(prefix="nmt-") as scratch:
        summary = _make(Path(scratch), seed)
        made = {path.relative_to(scratch): path for path in sorted(Path(scratch).rglob("*")) if path.is_file()}
        sums = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in made.items()}
        missing = [name for name in made if not is_there(directory / name, sums[name])]
        for name in missing:
            with replacing(directory / name) as whole:
                shutil.copyfile(made[name], whole)
    return summary
