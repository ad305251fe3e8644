"""The run folder: everything that a trained model needs to be used, moved or trained on, and nothing pickled.

    config.yaml                     the resolved config
    tokenizer.model                 SentencePiece; tokenizer.source.model and tokenizer.target.model where separate
    model.safetensors               the best weights
    validated/00000300.safetensors  the weights of the last validations, by step (training.keep_last): for averages
    last/state.safetensors          weights, optimizer, random generators and progress: what an exact resume needs
    meta.json                       format version, progress, scores, which layer aligns, environment
    metrics.jsonl  train.log        the training's numbers and its story
    test.hyp  test.hyp.links  test.ref.links  test.scores.json  alignments/

Logs grow line by line; every other file is written beside its place, flushed, and renamed: a crash leaves the old one
or the new one, never half.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from nmt.config.dialect import parse_yaml
from nmt.config.load import dump_config, parse_config
from nmt.config.schema import Config
from nmt.data.tokenizer import Tokenizer, load_tokenizer
from nmt.errors import CheckpointError
from nmt.files import replacing, write_text

FORMAT = "nmt run"
VERSION = 1


def read_header(file: Path, name: str, version: int, *, what: str, made: tuple[str, str]) -> dict[str, Any]:
    """The JSON file that makes a folder `what` it is, in a format of this name, up to this version.

    `made`: the command that makes such folders, and an example. Raises CheckpointError where the file is not there, or
    not such a one.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        hint = f"it has no {file.name}" if file.parent.is_dir() else "there is no such folder"
        raise CheckpointError(
            f"{file.parent}: not {what} ({hint}); name one that `{made[0]}` has made, such as {made[1]}"
        ) from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file}: cannot be read ({error})") from None
    if not isinstance(found, dict) or found.get("format") != name:
        raise CheckpointError(f"{file.parent}: not {what} (its {file.name} is another program's)")
    if not isinstance(found.get("version"), int):
        raise CheckpointError(f"{file}: names no format version; it is damaged")
    if found["version"] > version:
        raise CheckpointError(
            f"{file.parent}: has format {found['version']}, this nmt reads up to {version}; install a newer nmt"
        )
    return found


class RunFolder:
    """Paths of a run folder, and its reading and writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "config.yaml"
        self.meta_file = path / "meta.json"
        self.weights_file = path / "model.safetensors"
        self.validated = path / "validated"
        self.state_file = path / "last" / "state.safetensors"
        self.metrics_file = path / "metrics.jsonl"
        self.log_file = path / "train.log"
        self.scores_file = path / "test.scores.json"
        self.alignments = path / "alignments"

    def meta(self) -> dict[str, Any]:
        """The contents of meta.json. Raises CheckpointError where it is no run folder, or one of a later format."""
        made = "nmt train", "runs/bahdanau"
        return read_header(self.meta_file, FORMAT, VERSION, what="a run folder", made=made)

    def measured_layer(self) -> int | None:
        """The decoder's layer that aligns best, as its training found; None where that could not be measured."""
        measured = self.meta().get("alignment")
        layer = measured.get("layer") if isinstance(measured, dict) else measured
        if layer is not None and type(layer) is not int:
            raise CheckpointError(f"{self.meta_file}: its alignment layer is no number; it is damaged")
        return layer

    def update_meta(self, **changes: object) -> None:
        """Write meta.json with some entries changed, and those that are None taken out."""
        known = self.meta() if self.meta_file.exists() else {"format": FORMAT, "version": VERSION}
        entries = {name: value for name, value in (known | changes).items() if value is not None}
        write_text(self.meta_file, json.dumps(entries, indent=2, ensure_ascii=False) + "\n")

    def config(self, changes: Sequence[str] = ()) -> Config:
        """The stored config, with changes to it (`a.b=c`)."""
        try:
            text = self.config_file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise CheckpointError(f"{self.config_file}: is missing, the run folder is not whole") from None
        except (OSError, UnicodeDecodeError) as error:
            raise CheckpointError(f"{self.config_file}: cannot be read, it may be damaged ({error})") from None
        return parse_config(parse_yaml(text, str(self.config_file)), str(self.config_file), changes)

    def write_config(self, config: Config) -> None:
        """Store the resolved config."""
        write_text(self.config_file, dump_config(config))

    def tokenizers(self, kind: str, shared: bool) -> tuple[Tokenizer, Tokenizer]:
        """The source's and the target's tokenizer: one object where they share it."""
        files = self._tokenizer_files(shared)
        source = load_tokenizer(files[0], kind=kind)
        return source, source if shared else load_tokenizer(files[1], kind=kind)

    def write_tokenizers(self, source: Tokenizer, target: Tokenizer, shared: bool) -> None:
        """Store the tokenizers."""
        for tokenizer, file in zip((source, target), self._tokenizer_files(shared), strict=True):
            with replacing(file) as temporary:
                temporary.write_bytes(tokenizer.model)

    def kept_weights(self) -> list[Path]:
        """The files of the weights that validations have kept, in the order of their steps."""
        return sorted(self.validated.glob("[0-9]*.safetensors"), key=lambda file: file.stem)

    def remove_leftovers(self) -> None:
        """Remove what a process that was killed while it wrote has left behind; no other one may be writing now."""
        for folder in (self.path, self.validated, self.state_file.parent):
            for file in folder.glob(".*.tmp.*"):
                file.unlink(missing_ok=True)

    def keep_weights(self, tensors: Mapping[str, Tensor], step: int, last: int) -> None:
        """Keep a validation's weights, and of earlier ones so many that there are `last`."""
        if last:
            kept = self.validated / f"{step:08}.safetensors"
            write_tensors(kept, tensors, {"step": step})
            # Later ones were made before the training was taken back to an earlier state.
            files = self.kept_weights()
            earlier = files[: files.index(kept) + 1][-last:]
            for file in files:
                if file not in earlier:
                    file.unlink()

    def _tokenizer_files(self, shared: bool) -> tuple[Path, Path]:
        names = ("tokenizer.model",) * 2 if shared else ("tokenizer.source.model", "tokenizer.target.model")
        return self.path / names[0], self.path / names[1]


def write_tensors(path: Path, tensors: Mapping[str, Tensor], values: Mapping[str, object]) -> None:
    """Tensors and plain values in one file, so that they cannot belong to different moments."""
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        try:
            save_file(ready, temporary, metadata={"values": json.dumps(values)})
        except SafetensorError as error:  # its word for a full disk
            raise CheckpointError(f"{path}: cannot be written ({error}); make room, then --resume") from None


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `write_tensors` wrote. Raises CheckpointError where the file is missing or damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            tensors = {name: file.get_tensor(name) for name in names}
            return tensors, json.loads((file.metadata() or {}).get("values", "{}"))
    except FileNotFoundError:
        raise CheckpointError(f"{path}: is missing; training has not come as far as saving it") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path}: cannot be read, it may be damaged ({error})") from None


def check_free(path: Path, *, overwrite: bool) -> None:
    """Raises CheckpointError where something is in the way of a new run: a run unless `overwrite`, else anything."""
    folder = RunFolder(path)
    if path.is_file():
        raise CheckpointError(f"{path}: is a file; name a folder for the run with --run")
    if not path.is_dir() or not any(path.iterdir()):
        return
    if not folder.meta_file.exists():
        raise CheckpointError(f"{path}: holds files but no run; name another folder with --run, or empty this one")
    folder.meta()
    if not overwrite:
        raise CheckpointError(
            f"{path}: there is a run already; go on with it (--resume), replace it (--overwrite), or name another "
            f"folder (--run)"
        )


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Within, no other process of this machine trains in the run folder, which is made where it is missing.

    The lock is on the folder itself, and ends with the process, however that comes about. Raises CheckpointError where
    another process has it, or the folder cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be made ({error.strerror}); name another with --run") from None
    try:
        with suppress(ImportError):  # Windows has no such lock
            import fcntl

            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CheckpointError(
                    f"{path}: another process is training this run; wait for its end, stop it, or name another folder "
                    f"with --run"
                ) from None
            except OSError:
                pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)


def create_run(path: Path, *, overwrite: bool) -> RunFolder:
    """A new run folder, holding no run yet; what `check_free` lets pass is removed.

    Raises CheckpointError where something is in the way, or the folder cannot be made.
    """
    check_free(path, overwrite=overwrite)
    try:
        path.mkdir(parents=True, exist_ok=True)
        for inside in path.iterdir():
            # What is inside, not the folder: that may be a link to a larger disk.
            if inside.is_dir() and not inside.is_symlink():
                shutil.rmtree(inside)
            else:
                inside.unlink()
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be made or emptied ({error.strerror}); name another with --run"
        ) from None
    return RunFolder(path)


def newest_run(runs: Path) -> Path:
    """The run under `runs` that finished last. Raises CheckpointError where there is none."""
    finished = []
    for meta_file in runs.glob("*/meta.json"):
        try:
            meta = RunFolder(meta_file.parent).meta()
        except CheckpointError:
            continue  # another program's folder, or a damaged one, is no reason not to find the others
        if meta.get("finished"):
            finished.append((str(meta["finished"]), meta_file.parent))
    if not finished:
        raise CheckpointError(f"no finished run under {runs}/; train one with `nmt train`, or name one with --run")
    return max(finished)[1]
