"""Options that several commands share, so that they read the same everywhere."""

from pathlib import Path
from typing import Annotated

import typer

RunOption = Annotated[
    Path | None,
    typer.Option("--run", metavar="DIR", help="Run folder; default: the newest finished run under runs/."),
]
RunsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--run",
        metavar="DIR",
        help="Run folder; default: the newest finished run under runs/. May be repeated: an ensemble.",
    ),
]
DeviceOption = Annotated[
    str,
    typer.Option("--device", metavar="auto|cpu|cuda", help="Where to compute; auto takes a GPU where there is one."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting, e.g. training.max_steps=500; may be repeated."),
]
DocumentsOption = Annotated[
    Path | None,
    typer.Option(
        "--documents",
        metavar="FILE",
        help="Name of each source line's document, line by line; default: a blank line ends one. For runs with "
        "data.document_context.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
