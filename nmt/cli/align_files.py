"""What `nmt align` leaves of maps in its folder: JSON lines and pictures, named by kind, line and map."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nmt.cli.streams import tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nmt.alignment.links import Links
    from nmt.alignment.matrix import AlignmentMatrix
    from nmt.experiment.maps import Looked

FORMATS = ("png", "svg", "pdf")
"""Of pictures."""

_MAP = r"(layer\d+|(layer\d+\.)?(head|hop)\d+)"


@dataclass(frozen=True)
class MapFiles:
    """The maps of one kind in a folder, of `alignments` or of self-attention; each kind leaves the other's alone.

    alignments.jsonl    alignments.layer0.head1.jsonl    0001.png
    self.jsonl          self.layer0.head1.jsonl          0001.self.png
    """

    folder: Path
    kind: Literal["alignments", "self"]

    def write(self, looked: "Looked") -> None:
        """The JSON lines of the usual map and of each that was asked for, in the place of what was there."""
        from nmt.alignment.export import write_json_lines

        self._remove_earlier()
        write_json_lines(self._lines(), looked.alignments)
        for name, alignments in looked.each.items():
            write_json_lines(self._lines(name), alignments)

    def _remove_earlier(self) -> None:
        """Remove what an earlier command drew, or wrote of single maps: these need not be what is looked at now."""
        if not self._lines().exists():
            return  # not a folder of ours, so neither are its pictures
        picture = rf"(\d{{4}}|[1-9]\d{{4,}}){re.escape(self._ending())}\.({'|'.join(FORMATS)})"
        ours = re.compile(rf"{picture}|{self.kind}\.{_MAP}\.jsonl", re.ASCII)
        for path in self.folder.iterdir():
            if ours.fullmatch(path.name):
                path.unlink()

    def draw(self, looked: "Looked", form: str, *, gold: "Sequence[Links] | None" = None, arcs: bool = False) -> None:
        """A picture of each line: its map, or those that were asked for side by side; `arcs`: lines between words."""
        from nmt.alignment.plot import plot_alignment
        from nmt.alignment.plot_arcs import plot_arcs
        from nmt.alignment.plot_grid import plot_grid

        notes: set[str] = set()
        for number, alignment in enumerate(looked.alignments):
            path = self.folder / f"{number + 1:04}{self._ending()}.{form}"
            links = gold[number] if gold is not None else None
            rows = _side_by_side(looked, number)
            if arcs:
                notes |= set(plot_arcs(rows or [{"": alignment.matrix}], path))
            elif rows:
                notes |= set(plot_grid(rows, path, gold=links))
            else:
                notes |= set(plot_alignment(alignment.matrix, path, gold=links))
        for note in sorted(notes):
            tell(note)

    def _ending(self) -> str:
        return "" if self.kind == "alignments" else f".{self.kind}"

    def _lines(self, name: str = "") -> Path:
        return self.folder / ".".join(part for part in (self.kind, name, "jsonl") if part)


def _side_by_side(looked: "Looked", number: int) -> "list[dict[str, AlignmentMatrix]]":
    return [{_title(name): looked.each[name][number].matrix for name in row} for row in looked.rows]


def _title(name: str) -> str:
    """From `layer0.head1` to what stands above a map, `layer 0, head 1`."""
    return re.sub(r"(\d+)", r" \1", name).replace(".", ", ")
