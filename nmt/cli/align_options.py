"""The options of `nmt align`, but for those that it shares with other commands."""

from pathlib import Path
from typing import Annotated

import typer

from nmt.cli.align_files import FORMATS

RunsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--run",
        metavar="DIR",
        help="Run folder; default: the newest finished run under runs/. Repeated, with --target: runs side by side.",
    ),
]
TargetOption = Annotated[
    Path | None,
    typer.Option("--target", metavar="FILE", help="Its translation, to be aligned; default: the run's own."),
]
GoldOption = Annotated[
    Path | None, typer.Option("--gold", metavar="FILE", help="Gold links of source and target, for AER.")
]
GoldBaseOption = Annotated[
    int | None,
    typer.Option("--gold-base", metavar="0|1", help="With --gold: the number of the first word there; default: 0."),
]
ReverseOption = Annotated[
    Path | None,
    typer.Option("--reverse-run", metavar="DIR", help="A run of the other direction; links are then made of both."),
]
SymmetrizeOption = Annotated[
    str | None,
    typer.Option(
        "--symmetrize",
        metavar="NAME",
        help="How: intersection, union, grow-diag or grow-diag-final-and (default).",
    ),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option("--threshold", metavar="P", help="A link wherever a weight is at least P; default: the best alone."),
]
UnitOption = Annotated[
    str | None, typer.Option("--unit", metavar="word|character|piece", help="What is aligned; default: the run's.")
]
LayerOption = Annotated[
    str | None,
    typer.Option(
        "--layer",
        metavar="N|all",
        help="Of a Transformer, from 0, or all, each alone; default: the one that the run aligns by, which is said.",
    ),
]
HeadOption = Annotated[
    str | None,
    typer.Option(
        "--head", metavar="N|mean|all", help="One head, from 0; the mean of all (default); or all, each alone."
    ),
]
HopOption = Annotated[
    str | None,
    typer.Option("--hop", metavar="N|mean|all", help="The same of a memory network's hops; default: the last one."),
]
SelfOption = Annotated[
    bool,
    typer.Option(
        "--self",
        help="Instead: where the source's words look in their own sentence, by the encoder's self-attention (the "
        "decoder's is not shown); default: its last layer, the mean of heads.",
    ),
]
FolderOption = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="DIR", help="Where links, matrices and pictures go; earlier ones go away."),
]
ArcsOption = Annotated[bool, typer.Option("--arcs", help="With --self --plot: lines between words, not a grey map.")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="|".join(FORMATS),
        help="Of pictures, which it asks for; html: one page, without those of the sentences before. Default: png.",
    ),
]
ArraysOption = Annotated[bool, typer.Option("--npz", help="Also DIR/alignments.npz, for NumPy.")]
