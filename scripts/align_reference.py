"""Links of a parallel text by a statistical aligner: python scripts/align_reference.py SOURCE TARGET LINKS.

R. Östling, J. Tiedemann, "Efficient word alignment with Markov Chain Monte Carlo", PBML 106, 2016 (eflomal), in both
directions, made one by grow-diag-final-and. Links stand between what `str.split` calls words, as everywhere here. The
aligner sees those in lower case and without the punctuation that clings to them, so that it knows `hat.` for `hat`. It
draws at random, so that a second run may find a few other links.
"""

import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from nmt.alignment.links import Link, format_links, read_links
from nmt.alignment.symmetrize import grow_diag_final_and
from nmt.data.corpus import read_parallel
from nmt.errors import NmtError
from nmt.files import write_text


def bare(line: str) -> str:
    """A line in lower case whose words have no punctuation at their ends, unless they are nothing else."""
    return " ".join(_stripped(word) or word for word in line.lower().split())


def _stripped(word: str) -> str:
    letters = [index for index, character in enumerate(word) if unicodedata.category(character)[0] not in "PS"]
    return word[letters[0] : letters[-1] + 1] if letters else ""


def align(sources: Sequence[str], targets: Sequence[str]) -> list[frozenset[Link]]:
    """The links of each pair, (source, target) words counted from 0."""
    from eflomal import Aligner

    with TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("forward.links", "reverse.links")]
        sides = [[bare(line) for line in lines] for lines in (sources, targets)]
        Aligner().align(*sides, links_filename_fwd=str(paths[0]), links_filename_rev=str(paths[1]))
        # Both files have the source first.
        forward, reverse = (read_links(path) for path in paths)
    return [grow_diag_final_and(one.sure, other.sure) for one, other in zip(forward, reverse, strict=True)]


def main(source: Path, target: Path, links: Path) -> None:
    text = read_parallel(source, target)
    found = align(text.source, text.target)
    write_text(links, "".join(f"{format_links(pair)}\n" for pair in found))
    print(f"{links}: {sum(len(pair) for pair in found):,} links of {len(found):,} pairs", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        main(*(Path(name) for name in sys.argv[1:]))
    except NmtError as error:
        sys.exit(str(error))
