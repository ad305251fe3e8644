"""From a config to a trained, tested run folder."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from nmt.checkpoint import RunFolder, check_free, create_run, hold, read_tensors, write_tensors
from nmt.config.load import differences, paths_of
from nmt.config.schema import Config
from nmt.data.batching import Example, TrainingBatches
from nmt.data.tokenizer import Tokenizer
from nmt.errors import CheckpointError, ConfigError, TrainingError
from nmt.experiment.final import final_scores
from nmt.experiment.guided import guide_of
from nmt.experiment.interrupt import stop_on_interrupt
from nmt.experiment.run import Run, model_of
from nmt.experiment.texts import Texts, learn_tokenizers, read_texts, training_examples, write_held_out
from nmt.experiment.validation import validator
from nmt.model.seq2seq import Seq2Seq
from nmt.runtime import choose_device, environment, precision, prepare_process, threads
from nmt.training.logging import TrainingLog, forget_after
from nmt.training.loop import Failed, Finished, Limits, Logged, Plan, Progress, Validated, train
from nmt.training.optim import Schedule, make_optimizer
from nmt.training.state import capture, load_parameters, parameters, restore

LIMITS = (
    "training.max_steps",
    "training.max_epochs",
    "training.max_minutes",
    "training.early_stopping.patience",
)
"""The keys that a resumed run may change, and where its texts lie: what is in them is compared."""
_PATHS = re.compile(r"data\.(train|valid|test)\.(source|target|documents|alignment)|training\.guided_alignment\.links")

SIGNS = {"bleu": 1, "chrf": 1, "accuracy": 1, "loss": -1, "perplexity": -1}
"""Which way each validation score is better."""


@dataclass(frozen=True)
class Trained:
    """What came of a training: its folder, what ended it, and the scores of the test, where there is one."""

    folder: RunFolder
    reason: str
    interrupted: bool
    scores: Mapping[str, Any]


def start_training(config: Config, path: Path, *, overwrite: bool = False, device: str = "auto") -> Trained:
    """Train anew. Nothing is written before the config's files have been read and found in order.

    Raises ConfigError, DataError, CheckpointError or TrainingError; a TrainingError leaves the state before the faulty
    update in the run folder.
    """
    chosen = choose_device(device)
    check_free(path, overwrite=overwrite)
    _check_texts_apart(config, path)
    texts = read_texts(config)
    print(f"learning {config.tokenizer.vocabulary_size:,} {config.tokenizer.type} pieces", file=sys.stderr)
    source, target, notes = learn_tokenizers(config, texts.train)
    examples = training_examples(config, texts.train, source, target)
    # Built before anything is replaced: a package may be missing for it, or memory.
    training = _Training(config, RunFolder(path), texts, (source, target), examples, chosen)
    with hold(path):
        folder = create_run(path, overwrite=overwrite)
        folder.write_config(config)
        folder.write_tokenizers(source, target, config.tokenizer.shared)
        write_held_out(texts, folder.path / "held_out", config)
        folder.update_meta(started=_now(), texts=texts.digest())
        return training.run(notes, resume=False)


def _check_texts_apart(config: Config, path: Path) -> None:
    """Raise ConfigError where a text lies in the run folder, which a new run empties."""
    for key, file in paths_of(config).items():
        if file.resolve().is_relative_to(path.resolve()):
            raise ConfigError(
                f"{key}: {file} lies in the run folder {path}, which a new run empties; move it out first"
            )


def resume_training(config: Config | None, path: Path, *, changes: Sequence[str] = (), device: str = "auto") -> Trained:
    """Go on with a run exactly where it stopped; `config` may differ in its limits, and in where the texts lie now.

    Without `config`, the stored one is taken, with `changes` (`a.b=c`) to it. Raises CheckpointError where there is
    nothing to go on with, or where the configs differ in more.
    """
    chosen = choose_device(device)
    folder = RunFolder(path)
    meta = folder.meta()
    if "averaged" in meta:
        raise CheckpointError(f"{path}: is an average, with no state to go on from; resume {meta['averaged']['run']}")
    stored = folder.config()
    if config is None and changes:
        config = folder.config(changes)
    if config is not None:
        changed = [key for key in differences(stored, config) if key not in LIMITS and not _PATHS.fullmatch(key)]
        if changed:
            raise CheckpointError(
                f"{path}: the config differs from the run's in {', '.join(changed)}; --resume may change the limits of "
                f"training ({', '.join(LIMITS)}) and the paths of the same texts alone: take those changes back, or "
                f"train a new run"
            )
    limits = config is not None and any(key in LIMITS for key in differences(stored, config))
    if meta.get("finished") and not limits:
        raise CheckpointError(
            f"{path}: this run has finished ({meta.get('ended')}); to train on, raise a limit, for example --set "
            f"training.max_steps=N"
        )
    config = config or stored
    source, target = folder.tokenizers(config.tokenizer.type, config.tokenizer.shared)
    texts = read_texts(config)
    if texts.digest() != meta.get("texts"):
        raise CheckpointError(
            f"{path}: the texts that its config names have changed since it began, so it cannot go on exactly; put "
            f"them back, or train a new run"
        )
    examples = training_examples(config, texts.train, source, target)
    notes = []
    if limits:
        notes = ["the limits have changed: a schedule that ends with the training follows the new ones from here on"]
    training = _Training(config, folder, texts, (source, target), examples, chosen)
    with hold(path):
        return training.run(notes, resume=True)


class _Training:
    """One call of `nmt train`: the objects that its steps share."""

    def __init__(
        self,
        config: Config,
        folder: RunFolder,
        texts: Texts,
        tokenizers: tuple[Tokenizer, Tokenizer],
        examples: Sequence[Example],
        device: torch.device,
    ) -> None:
        prepare_process()
        self.config, self.folder, self.texts, self.device = config, folder, texts, device
        self.source, self.target = tokenizers
        self.examples = examples
        torch.manual_seed(config.seed)
        self.model: Seq2Seq = model_of(config, self.source, self.target).to(device)
        settings = config.training
        self.optimizer = make_optimizer(
            self.model.parameters(), betas=settings.betas, weight_decay=settings.weight_decay
        )
        self.dtype = precision(settings.precision, device)

    def run(self, notes: list[str], *, resume: bool) -> Trained:
        progress = self._restored() if resume else Progress()
        self.folder.write_config(self.config)  # of a resumed run only now: what cannot go on stays as it was
        self.folder.remove_leftovers()
        forget_after(self.folder.metrics_file, progress.step)
        # Until it has been tested anew, the run is not finished, whatever it was before.
        stale = dict.fromkeys(("finished", "ended", "scores", "alignment"))
        self.folder.update_meta(environment=environment(self.device), **stale)
        self.folder.scores_file.unlink(missing_ok=True)
        log = TrainingLog(
            self.folder.log_file, self.folder.metrics_file, sign_of_best=self.config.training.early_stopping.metric
        )
        try:
            self._introduce(log, notes, progress)
            finished = self._train(log, progress)
            scores = {} if finished.interrupted else self._test(log)
            how = f"; go on with: nmt train --resume --run {self.folder.path}" if finished.interrupted else ""
            log.line(f"ended: {finished.reason}{how}")
        except TrainingError as error:
            log.line(f"ended: {error}")
            raise
        finally:
            log.close()
        return Trained(self.folder, finished.reason, finished.interrupted, scores)

    def _restored(self) -> Progress:
        tensors, values = read_tensors(self.folder.state_file)
        return restore(self.model, self.optimizer, tensors, values, self.folder.state_file)

    def _introduce(self, log: TrainingLog, notes: list[str], progress: Progress) -> None:
        config, model = self.config, self.model
        data = config.data
        log.line(f"run {self.folder.path.resolve()}")
        for name, files in (("train", data.train), ("valid", data.valid), ("test", data.test)):
            if files is not None:
                log.line(f"{name}: {files.source} and {files.target}")
        for note in [*self.texts.notes, *notes]:
            log.line(note)
        count = sum(parameter.numel() for parameter in model.parameters())
        pieces = f"{len(self.source):,}" + ("" if config.tokenizer.shared else f" and {len(self.target):,}")
        how = "bfloat16" if self.dtype is torch.bfloat16 else "float32"
        log.line(
            f"model: {count:,} parameters, attention {config.model.attention.type}, {pieces} pieces; {how} on "
            f"{self.device.type}, {threads()}"
        )
        self.folder.update_meta(parameters=count, precision=how)
        warmup, last = config.training.warmup, config.training.max_steps
        if last is not None and warmup >= last:
            log.line(f"note: the warm-up of {warmup} steps is not over when training ends, after {last}")
        if progress.step:
            log.line(f"going on from step {progress.step} (epoch {progress.epochs:.2f})")

    def _train(self, log: TrainingLog, progress: Progress) -> Finished:
        config = self.config
        batches = TrainingBatches(
            self.examples,
            tokens=config.training.batch_tokens,
            sentences=config.training.batch_sentences,
            seed=config.seed,
        )
        left_out, longest = len(self.texts.train) - len(self.examples), config.data.max_length
        log.line(
            f"{len(self.examples):,} training pairs ({left_out:,} left out, longer than {longest} pieces), "
            f"{len(batches.epoch(0)):,} batches, {100 * batches.padding_share():.1f} % padding"
        )
        validate = validator(self._opened(), self.texts.valid, log.status)
        with stop_on_interrupt(log.line) as interrupted, log.progress():
            events = train(
                self.model,
                self.optimizer,
                batches,
                self._plan(),
                progress,
                device=self.device,
                validate=validate,
                interrupted=interrupted,
            )
            for event in events:
                log.event(event)
                if not isinstance(event, Logged):
                    self._save(event)
        assert isinstance(event, Finished)
        return event

    def _save(self, event: Validated | Failed | Finished) -> None:
        """Keep the state, and the weights where they are the best so far."""
        progress, metric = event.progress, self.config.training.early_stopping.metric
        if isinstance(event, Validated):
            self.folder.keep_weights(parameters(self.model), progress.step, self.config.training.keep_last)
        if isinstance(event, Validated) and event.improved:
            write_tensors(self.folder.weights_file, parameters(self.model), {"step": progress.step})
        write_tensors(self.folder.state_file, *capture(self.model, self.optimizer, progress))
        best = {"metric": metric, "score": progress.best, "step": progress.best_step, "file": "model.safetensors"}
        changes: dict[str, object] = {"step": progress.step, "epochs": progress.epochs, "seconds": progress.seconds}
        if isinstance(event, Finished | Failed):
            changes["ended"] = event.reason
        self.folder.update_meta(best=best, **changes)

    def _plan(self) -> Plan:
        settings = self.config.training
        metric = settings.early_stopping.metric
        return Plan(
            limits=Limits(settings.max_steps, settings.max_epochs, settings.max_minutes),
            schedule=Schedule(settings.schedule, settings.learning_rate, settings.min_learning_rate, settings.warmup),
            label_smoothing=settings.label_smoothing,
            clip=settings.clip,
            validate_every=settings.validate_every,
            log_every=settings.log_every,
            metric=metric,
            sign=SIGNS[metric],
            patience=settings.early_stopping.patience,
            plateau_factor=settings.plateau.factor,
            plateau_patience=settings.plateau.patience,
            autocast=self.dtype,
            guide=guide_of(self._opened()),
        )

    def _opened(self) -> Run:
        return Run(self.folder, self.config, self.model, self.source, self.target, self.device)

    def _test(self, log: TrainingLog) -> Mapping[str, Any]:
        """What the best weights align by, and their scores and alignments on the test text."""
        tensors, _ = read_tensors(self.folder.weights_file)
        load_parameters(self.model, tensors, self.folder.weights_file)
        scores = final_scores(self._opened(), self.texts, log.line)
        self.folder.update_meta(scores=scores, finished=_now())
        return scores


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
