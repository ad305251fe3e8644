"""Links of a parallel text by a statistical aligner: python scripts/align_reference.py SOURCE TARGET LINKS.

R. Östling, J. Tiedemann, "Efficient word alignment with Markov Chain Monte Carlo", PBML 106, 2016 (eflomal), in both
directions, made one by grow-diag-final-and. Links stand between what `str.split` calls words, as everywhere here. The
aligner sees those in lower case and without the punctuation that clings to them, so that it knows `hat.` for `hat`. It
draws at random, so that a second run may find a few other links.

With `--test SOURCE TARGET LINKS` it also writes silver links of a test text, which nobody has aligned by hand: another
machine's opinion, good for comparing mechanisms, not as truth. The aligner learns them from both texts together; links
on which both directions agree are sure, the others of grow-diag-final-and possible. The first text's links are made
without the test text.
"""

import argparse
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from nmt.alignment.links import Links, format_links, read_links
from nmt.alignment.symmetrize import grow_diag_final_and, intersection
from nmt.data.corpus import read_parallel
from nmt.errors import NmtError
from nmt.files import write_text


def bare(line: str) -> str:
    """A line in lower case whose words have no punctuation at their ends, unless they are nothing else."""
    return " ".join(_stripped(word) or word for word in line.lower().split())


def _stripped(word: str) -> str:
    letters = [index for index, character in enumerate(word) if unicodedata.category(character)[0] not in "PS"]
    return word[letters[0] : letters[-1] + 1] if letters else ""


def align(sources: Sequence[str], targets: Sequence[str]) -> list[Links]:
    """The links of each pair, (source, target) words counted from 0: sure where both directions agree."""
    from eflomal import Aligner

    with TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("forward.links", "reverse.links")]
        sides = [[bare(line) for line in lines] for lines in (sources, targets)]
        Aligner().align(*sides, links_filename_fwd=str(paths[0]), links_filename_rev=str(paths[1]))
        # Both files have the source first.
        directions = zip(*(read_links(path) for path in paths), strict=True)
    return [
        Links(intersection(one.sure, other.sure), grow_diag_final_and(one.sure, other.sure))
        for one, other in directions
    ]


def main(files: Sequence[Path], test: Sequence[Path] | None = None) -> None:
    """Write the links of a text, and the silver links of a test text: source, target, and where the links go."""
    text = read_parallel(*files[:2])
    _write(files[2], [format_links(pair.possible) for pair in align(text.source, text.target)])
    if test is not None:
        other = read_parallel(*test[:2])
        found = align([*text.source, *other.source], [*text.target, *other.target])[len(text) :]
        _write(test[2], [" ".join(filter(None, (format_links(one.sure), _possible(one)))) for one in found])


def _possible(links: Links) -> str:
    return format_links(links.possible - links.sure).replace("-", "p")


def _write(file: Path, lines: Sequence[str]) -> None:
    write_text(file, "".join(f"{line}\n" for line in lines))
    print(f"{file}: {sum(len(line.split()) for line in lines):,} links of {len(lines):,} pairs", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    names = ("SOURCE", "TARGET", "LINKS")
    parser.add_argument("files", nargs=3, type=Path, metavar=names)
    parser.add_argument("--test", nargs=3, type=Path, metavar=names, help="silver links of a test text")
    given = parser.parse_args()
    try:
        main(given.files, given.test)
    except NmtError as error:
        sys.exit(str(error))
