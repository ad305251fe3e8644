"""One run from the weights of a training's last validations: their mean.

Averaging weights that lie near one another on one path of training gives, as a rule, better ones than the last of them
(M. Junczys-Dowmunt, T. Dwojak, R. Sennrich, WMT 2016, arXiv 1605.04809; Vaswani et al. 2017, section 6.1).
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import torch
from torch import Tensor

from nmt.checkpoint import RunFolder, create_run, newest_run, read_tensors, write_tensors
from nmt.errors import CheckpointError, ConfigError
from nmt.experiment.run import RUNS


def average_run(
    path: Path | None, last: int | None = None, output: Path | None = None, *, overwrite: bool = False
) -> RunFolder:
    """A new run whose weights are the mean of those of the last `last` validations of a run, or of all that it kept.

    Goes to `output`, or beside the run, its name with -average. Raises CheckpointError where nothing was kept or
    something is in the way, ConfigError where more validations are asked for than were kept.
    """
    run = RunFolder(newest_run(RUNS) if path is None else path)
    meta, config = run.meta(), run.config()
    files = run.kept_weights()
    if not files:
        raise CheckpointError(
            f"{run.path}: has kept no weights of its validations, so there is nothing to average; train with "
            f"training.keep_last of 1 or more"
        )
    if last is not None and last > len(files):
        raise ConfigError(
            f"--last {last}: {run.path} has kept {len(files)}; give at most {len(files)}, or train with a larger "
            f"training.keep_last"
        )
    files = files[-(last or len(files)) :]
    weights = mean_weights(files)
    target = output if output is not None else _beside(run.path)
    if target.resolve() == run.path.resolve():
        raise CheckpointError(f"{target}: is the run that is averaged; name another folder with --output")
    if RunFolder(target).meta_file.exists() and not overwrite:
        raise CheckpointError(
            f"{target}: there is a run already; replace it (--overwrite), or name another folder with --output"
        )
    source, other = run.tokenizers(config.tokenizer.type, config.tokenizer.shared)
    steps = [int(file.stem) for file in files]
    folder = create_run(target, overwrite=overwrite)
    folder.write_config(config)
    folder.write_tokenizers(source, other, config.tokenizer.shared)
    write_tensors(folder.weights_file, weights, {"step": steps[-1]})
    folder.update_meta(
        averaged={"run": str(run.path.resolve()), "steps": steps},
        step=steps[-1],
        parameters=meta.get("parameters"),
        alignment=meta.get("alignment"),
        finished=datetime.now(UTC).isoformat(timespec="milliseconds"),
        ended=f"the mean of {len(steps)} validations of {run.path}",
    )
    return folder


def _beside(path: Path) -> Path:
    """The folder beside a run, also where the run is named by a dot or two."""
    whole = path.resolve()
    named = path if path.name and path.name != ".." else whole
    return named.with_name(f"{whole.name}-average")


def mean_weights(files: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of each tensor over files that hold the same ones. Raises CheckpointError where they do not."""
    total: dict[str, Tensor] = {}
    for file in files:
        tensors, _ = read_tensors(file)
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        if total and shapes != {name: tensor.shape for name, tensor in total.items()}:
            raise CheckpointError(f"{file}: holds the weights of another model than {files[0]}")
        # In double precision, so that the mean of equals is what they are.
        total = {name: tensor.double() + total.get(name, 0.0) for name, tensor in tensors.items()}
    return {name: (tensor / len(files)).to(torch.float32) for name, tensor in total.items()}
