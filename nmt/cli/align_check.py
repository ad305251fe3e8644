"""What is looked at, and what is wrong with the options of `nmt align` by themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nmt.cli.align_files import FORMATS, MapFiles
from nmt.cli.align_links import LinkOptions
from nmt.cli.align_texts import AlignTexts
from nmt.errors import ConfigError

if TYPE_CHECKING:
    from nmt.alignment.matrix import LayerChoice, MapChoice


@dataclass(frozen=True)
class Look:
    """What is looked at, between which units."""

    unit: str | None
    choice: "MapChoice | None"
    layer: "LayerChoice"


def check(
    look: Look, texts: AlignTexts, links: LinkOptions, files: MapFiles, json_output: bool, *, several: bool
) -> None:
    """What is wrong with the options by themselves is said before anything is read."""
    choices = (("unit", look.unit, ("word", "character", "piece")), ("format", files.form, FORMATS))
    for name, value, allowed in choices:
        if value is not None and value not in allowed:
            raise ConfigError(f"--{name} {value}: is unknown; allowed: {', '.join(allowed)}")
    reverse = {"--reverse-run": links.reverse_run is not None, "--symmetrize": links.heuristic is not None}
    if files.kind == "self":
        gold = {"--gold": texts.gold is not None, "--gold-base": texts.gold_base is not None}
        given = {"--target": texts.target is not None, **gold, "--json": json_output}
        refuse(
            "--self looks at the source alone, and makes no links",
            {**given, **reverse, "--threshold": links.threshold is not None},
        )
        refuse("--self looks at one run", {"all but one --run": several})
        refuse("--self looks at single sentences", {"--documents": texts.documents is not None})
    if several:
        maps = {"--layer": look.layer is not None, "--head or --hop": look.choice is not None}
        refuse("several runs are compared each by its usual map", {**maps, **reverse})
        if texts.target is None:
            raise ConfigError("several runs are compared on one translation: give it with --target")
    if files.arcs and files.form == "html":
        raise ConfigError("--arcs draws pictures, not a page: give --format png, svg or pdf")
    if files.arcs and not (files.kind == "self" and files.form):
        raise ConfigError("--arcs draws self-attention as lines between words: give --self and --plot with it")
    if json_output and texts.gold is None:
        raise ConfigError(
            "--json prints the alignment error rate: give --target and --gold with it; links and weights are JSON "
            "anyway, in DIR/alignments.jsonl"
        )
    if texts.gold_base is not None and texts.gold is None:
        raise ConfigError(f"--gold-base {texts.gold_base}: numbers the words of gold links: give these with --gold")
    if texts.gold is not None and texts.target is None:
        raise ConfigError("--gold links stand between a source and its reference: give the reference with --target")
    if texts.gold is not None and look.unit == "piece":
        raise ConfigError("--gold links stand between words, not pieces: leave --unit piece out")
    links.check()


def refuse(why: str, options: Mapping[str, bool]) -> None:
    """Raise ConfigError where any of the options is given."""
    given = [option for option, is_given in options.items() if is_given]
    if given:
        raise ConfigError(f"{why}: leave {' and '.join(given)} out")
