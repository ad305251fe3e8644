"""`nmt aer`: alignment error rate of a file of links."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from nmt.alignment.links import Links
    from nmt.evaluation.aer import AlignmentScore


def aer(
    hypothesis: Path = typer.Option(..., "--hypothesis", help="Links to be scored, Pharaoh form, counted from 0."),
    gold: Path = typer.Option(..., "--gold", help="Gold links: sure i-j, possible ipj."),
    gold_base: int = typer.Option(0, "--gold-base", help="Number of a sentence's first word in the gold: 0 or 1."),
    json_output: bool = typer.Option(False, "--json", help="Print the rates as JSON, as fractions."),
) -> None:
    """Print alignment error rate, precision and recall of links against gold links."""
    # Imported here, so that `nmt --help` need not wait for numpy.
    from nmt.alignment.links import read_links

    gold_links = read_links(gold, base=gold_base)
    score = score_files(hypothesis, gold_links)
    if gold_base == 0 and _starts_at_one(gold_links):
        typer.echo(f"{gold}: no link touches word 0; if this file counts from 1, say --gold-base 1", err=True)
    if json_output:
        typer.echo(json.dumps(score.as_dict()))
    else:
        typer.echo(score.text())


def score_files(hypothesis: Path, gold: "list[Links]") -> "AlignmentScore":
    """Score a file of links, possible ones counting as links like sure ones, against gold links.

    Raises DataError where the file is malformed or has another number of sentences than the gold.
    """
    from nmt.alignment.links import read_links
    from nmt.evaluation.aer import score_alignments

    return score_alignments([links.possible for links in read_links(hypothesis)], gold)


def _starts_at_one(gold: "list[Links]") -> bool:
    """Whether there are links, and none on either side touches word 0: the mark of a file that counts from 1."""
    firsts = [min(link) for links in gold for link in links.possible]
    return bool(firsts) and min(firsts) > 0
