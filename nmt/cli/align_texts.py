"""The text that `nmt align` reads, its translation, and the gold links of both."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.cli.streams import input_lines

if TYPE_CHECKING:
    from nmt.alignment.links import Links
    from nmt.experiment.run import Run


@dataclass(frozen=True)
class AlignTexts:
    """Where the text is and, where they are given, its translation and the gold links of both."""

    source: Path | None
    target: Path | None
    gold: Path | None
    gold_base: int | None
    documents: Path | None

    def names(self, sources: list[str]) -> list[str] | None:
        """The name of each line's document, where names were given."""
        from nmt.data.documents import read_names

        return None if self.documents is None else read_names(self.documents, sources, self.source or "stdin")

    def unit(self, wanted: str | None, run: "Run") -> str:
        """What is aligned: what was asked for, or the run's; gold links stand between words, or characters."""
        unit = wanted or run.config.alignment.unit
        return "word" if wanted is None and unit == "piece" and self.gold is not None else unit

    def read(self, unit: str) -> "tuple[list[str], list[str] | None, list[Links] | None]":
        """Sources, targets and gold links."""
        from nmt.data.corpus import require_equal
        from nmt.experiment.texts import read_gold

        sources, name = input_lines(self.source), self.source or "stdin"
        if self.target is None:
            return sources, None, None
        targets = input_lines(self.target)
        require_equal(sources, name, targets, self.target)
        if self.gold is None:
            return sources, targets, None
        base = 0 if self.gold_base is None else self.gold_base
        return sources, targets, read_gold(self.gold, base, sources, targets, source_name=name, unit=unit)
