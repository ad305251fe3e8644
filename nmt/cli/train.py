"""`nmt train`: tokenizer, training, validation, and at the end scores and alignments of the test text."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from nmt.cli.options import DeviceOption, SetOption
from nmt.errors import ConfigError


def train(
    config: Annotated[
        Path | None, typer.Option("--config", "-c", metavar="FILE", help="YAML file of the experiment.")
    ] = None,
    changes: SetOption = None,
    run: Annotated[
        Path | None, typer.Option("--run", metavar="DIR", help="Run folder; default: runs/NAME, NAME from the config.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a stopped run, exactly where it stopped.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run that is there.")] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write event files for TensorBoard, too, into RUN/tensorboard.")
    ] = False,
    device: DeviceOption = "auto",
) -> None:
    """Train a model from a config, then score it on the test text and draw its alignments."""
    from nmt.config.load import load_config
    from nmt.experiment.run import RUNS
    from nmt.experiment.tensorboard import event_files
    from nmt.experiment.train import resume_training, start_training

    if resume and overwrite:
        raise ConfigError("--resume goes on with a run and --overwrite replaces it: give one of them")
    if config is None and resume and run is None:
        raise ConfigError("--resume needs --run DIR, the run to go on with (or --config FILE, whose name says which)")
    if config is None and not resume:
        raise ConfigError("nmt train needs --config FILE, such as --config configs/bahdanau.yaml")
    loaded = load_config(config, changes or []) if config is not None else None
    folder = run if run is not None else RUNS / loaded.name if loaded is not None else None
    assert folder is not None
    with event_files(folder) if tensorboard else nullcontext():
        if resume:
            trained = resume_training(loaded, folder, changes=changes or [], device=device)
        else:
            assert loaded is not None
            trained = start_training(loaded, folder, overwrite=overwrite, device=device)
    if trained.interrupted:
        raise typer.Exit(130)
    typer.echo(folder)
