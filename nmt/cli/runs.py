"""The run that a command works with."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.cli.streams import tell

if TYPE_CHECKING:
    from nmt.experiment.run import Run


def chosen_run(path: Path | None, device: str) -> "Run":
    """The run in a folder; without one the newest that is finished, and which that is, is said."""
    from nmt.experiment.run import open_run

    run = open_run(path, device)
    if path is None:
        tell(f"run {run.folder.path}")
    return run


def chosen_runs(paths: Sequence[Path] | None, device: str) -> "list[Run]":
    """The runs of an ensemble, or one; the newest that is finished where none is named."""
    return [chosen_run(path, device) for path in paths] if paths else [chosen_run(None, device)]
