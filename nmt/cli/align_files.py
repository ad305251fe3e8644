"""What `nmt align` leaves of maps in its folder: JSON lines, arrays and pictures, named by kind, line and map."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nmt.cli.streams import tell
from nmt.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nmt.alignment.document import DocumentAlignment
    from nmt.alignment.links import Links
    from nmt.alignment.matrix import AlignmentMatrix
    from nmt.experiment.maps import Looked

FORMATS = ("png", "svg", "pdf", "html")
"""Of pictures; the last is a page of all sentences."""

_OURS = re.compile(
    r"target\.txt|links(\.forward|\.reverse)?\.txt|document\.jsonl|(alignments|self)\.(.*\.)?(jsonl|npz|html)"
)
"""What is written beside pictures, whose names no text has."""
_MAP = r"(layer\d+|(layer\d+\.)?(head|hop)\d+)"


@dataclass(frozen=True)
class MapFiles:
    """The maps of one kind in a folder, of `alignments` or of self-attention; each kind leaves the other's alone.

    alignments.jsonl    alignments.layer0.head1.jsonl    alignments.npz    0001.png         alignments.html
    self.jsonl          self.layer0.head1.jsonl          self.npz          0001.self.png    self.html

    With alignments, of a run that looks at the sentences before: document.jsonl, 0002.document.png (beside no page);
    or these alone.

    `form` is the pictures', None for no pictures; `arcs` draws lines between words; `arrays` asks for NumPy's.
    """

    folder: Path
    kind: Literal["alignments", "self"]
    form: str | None
    arcs: bool = False
    arrays: bool = False

    def check(self, inputs: "Mapping[str, Path | None]") -> None:
        """Raise ConfigError where an input, by its option, would be written over, WriteError where nothing can be."""
        from nmt.files import check_folder

        folder = self.folder.resolve()
        for option, path in inputs.items():
            place = None if path is None else path.resolve()
            # Several runs write into folders beneath it.
            if place is not None and folder in (place.parent, place.parent.parent) and _OURS.fullmatch(place.name):
                raise ConfigError(f"{option} {path}: would be written over; name another folder with --output")
        check_folder(self.folder)

    def write(self, looked: "Looked") -> None:
        """The usual map and each that was asked for, in the place of what was there."""
        from nmt.alignment.export import write_json_lines, write_numpy

        self.remove_earlier()
        for name, alignments in {"": looked.alignments, **looked.each}.items():
            write_json_lines(self._file(name, "jsonl"), alignments)
            if self.arrays:
                write_numpy(self._file(name, "npz"), alignments)

    def remove_earlier(self, *, links: bool = False) -> None:
        """Remove what an earlier command drew, or wrote of single maps: these need not be what is looked at now.

        With `links`, the usual map and its links as well, where no others take their place.
        """
        marks = ["alignments.jsonl", "document.jsonl"] if self.kind == "alignments" else ["self.jsonl"]
        below = self.folder.glob(f"*/{self.kind}.jsonl")
        if not any((self.folder / mark).exists() for mark in marks) and not any(below):
            return  # not a folder of ours, so neither are its pictures
        ending = r"(\.document)?" if self.kind == "alignments" else re.escape(self._ending())
        picture = rf"(\d{{4}}|[1-9]\d{{4,}}){ending}\.({'|'.join(FORMATS[:-1])})"
        single = rf"{self.kind}\.{_MAP}\.(jsonl|npz)|{self.kind}\.(npz|html)"
        directions = r"|links\.(forward|reverse)\.txt|document\.jsonl" if self.kind == "alignments" else ""
        usual = rf"|{self.kind}\.jsonl|links\.txt" if links else ""
        ours = re.compile(rf"{picture}|{single}{directions}{usual}", re.ASCII)
        for path in self.folder.iterdir():
            if ours.fullmatch(path.name):
                path.unlink()

    def draw(
        self, looked: "Looked", *, title: str, languages: tuple[str, str], gold: "Sequence[Links] | None" = None
    ) -> None:
        """A page, or a picture of each line: its map, or those that were asked for side by side."""
        if self.form == "html":
            from nmt.alignment.html import write_page

            maps = {_title(name): alignments for name, alignments in looked.each.items()} or {"": looked.alignments}
            write_page(self._file("", "html"), maps, title=title, languages=languages, gold=gold)
        elif self.form is not None:
            self._draw_each(looked, self.form, gold)

    def _draw_each(self, looked: "Looked", form: str, gold: "Sequence[Links] | None") -> None:
        from nmt.alignment.plot import plot_alignment
        from nmt.alignment.plot_arcs import plot_arcs
        from nmt.alignment.plot_grid import plot_grid

        notes: set[str] = set()
        for number, alignment in enumerate(looked.alignments):
            path = self.folder / f"{number + 1:04}{self._ending()}.{form}"
            links = gold[number] if gold is not None else None
            rows = _side_by_side(looked, number)
            if self.arcs:
                notes |= set(plot_arcs(rows or [{"": alignment.matrix}], path))
            elif rows:
                notes |= set(plot_grid(rows, path, gold=links))
            else:
                notes |= set(plot_alignment(alignment.matrix, path, gold=links))
        for note in sorted(notes):
            tell(note)

    def write_documents(self, found: "Sequence[DocumentAlignment]") -> None:
        """Where in the sentences before each line looked: JSON lines, and pictures where those are asked for.

        A page has no place for them: with the form html there are no pictures of them.
        """
        from nmt.alignment.document import write_documents
        from nmt.alignment.plot import plot_alignment

        write_documents(self.folder / "document.jsonl", found)
        notes: set[str] = set()
        for one in found if self.form not in (None, "html") else ():
            notes |= set(plot_alignment(one.matrix(), self.folder / f"{one.index + 1:04}.document.{self.form}"))
        for note in sorted(notes):
            tell(note)

    def _ending(self) -> str:
        return "" if self.kind == "alignments" else f".{self.kind}"

    def _file(self, name: str, ending: str) -> Path:
        return self.folder / ".".join(part for part in (self.kind, name, ending) if part)


def _side_by_side(looked: "Looked", number: int) -> "list[dict[str, AlignmentMatrix]]":
    return [{_title(name): looked.each[name][number].matrix for name in row} for row in looked.rows]


def _title(name: str) -> str:
    """What stands above a map: `layer 0, head 1` for `layer0.head1`, and a run's name as it is."""
    return re.sub(r"(\d+)", r" \1", name).replace(".", ", ") if re.fullmatch(_MAP, name) else name
