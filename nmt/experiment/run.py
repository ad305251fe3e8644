"""A trained run, opened: its config, its tokenizers, its best weights, and ways to use them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from nmt.checkpoint import RunFolder, newest_run, read_tensors
from nmt.config.schema import Config
from nmt.data.batching import Example
from nmt.data.documents import context_pieces, sentences_before
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.forced import Forced, forced_decode
from nmt.decoding.reading import read_sources
from nmt.decoding.search import SearchSettings
from nmt.decoding.translate import Translator
from nmt.errors import ConfigError
from nmt.experiment.maps import check_layer
from nmt.model.build import build_model
from nmt.model.seq2seq import Seq2Seq
from nmt.runtime import choose_device, precision, products_in
from nmt.training.state import load_parameters

RUNS = Path("runs")
"""Where runs are, unless `--run` says otherwise."""


@dataclass(frozen=True)
class Run:
    """A model with everything that belongs to it.

    `measured_layer` is the layer of the decoder that its training found to align best, where there were links of the
    validation text to find it by.
    """

    folder: RunFolder
    config: Config
    model: Seq2Seq
    source: Tokenizer
    target: Tokenizer
    device: torch.device
    measured_layer: int | None = None

    @property
    def has_weights(self) -> bool:
        """Whether its attention has weights to look at."""
        return self.model.decoder.has_weights

    def usual_layer(self) -> tuple[int, str]:
        """The layer of the decoder that alignments are read from unless another is asked for, and why it is that one.

        Where neither the config nor a measurement says it, the last but one: its heads, averaged, come nearest to an
        alignment as a rule (S. Garg et al., "Jointly learning to align and translate with Transformer models", EMNLP
        2019, arXiv 1909.02074).
        """
        if self.config.alignment.layer is not None:
            return self.config.alignment.layer, "named by its config"
        if self.measured_layer is not None:
            return self.measured_layer, "of the best AER on the validation text"
        return max(0, self.model.decoder.attending_layers - 2), "the last but one"

    def alignment_layer(self, layer: int | None = None) -> int:
        """Which of a pair's maps (`Forced.weights`) its alignment is read from: those of `layer`, or the usual ones.

        Raises DataError where there is no such layer.
        """
        chosen = self.usual_layer()[0] if layer is None else layer
        check_layer(chosen, self.model.decoder.attending_layers, of="decoder")
        return chosen

    def translator(
        self,
        *,
        beam: int | None = None,
        length_penalty: float | None = None,
        batch_size: int | None = None,
        seed: int | None = None,
    ) -> Translator:
        """A translator with the run's settings, or others; with `seed` its attention draws where it looks.

        Raises ConfigError where the attention cannot draw.
        """
        if seed is not None and not self.model.decoder.draws:
            raise ConfigError(
                f"{self.folder.path}: its attention is {self.config.model.attention.type}, which draws nothing: leave "
                f"--sample-attention out, or take a run with attention hard"
            )
        decoding = self.config.decoding
        settings = SearchSettings(
            beam=decoding.beam if beam is None else beam,
            length_penalty=decoding.length_penalty if length_penalty is None else length_penalty,
            max_length_ratio=decoding.max_length_ratio,
            max_length_add=decoding.max_length_add,
        )
        return Translator(
            self.model,
            self.source,
            self.target,
            settings,
            batch_size=decoding.batch_size if batch_size is None else batch_size,
            device=self.device,
            dtype=precision(decoding.precision, self.device),
            seed=seed,
            context=self.config.data.document_context,
            context_length=self.config.data.max_length,
        )

    def before(self, lines: Sequence[str], names: Sequence[str] | None = None) -> list[tuple[str, ...]]:
        """The sentences before each line of a text that count here; a blank line ends a document, or its name does.

        An empty list where none count. Raises ConfigError where documents have names all the same.
        """
        count = self.config.data.document_context
        if names is not None and not count:
            raise ConfigError(
                f"{self.folder.path}: translates each sentence by itself, so where documents end does not count: leave "
                f"--documents out, or take a run with data.document_context"
            )
        return sentences_before(lines, count, names) if count else []

    def contexts(
        self, lines: Sequence[str], before: Sequence[tuple[str, ...]] = ()
    ) -> list[tuple[tuple[int, ...], ...]]:
        """The sentences before each line in pieces; without `before` those of `lines` themselves."""
        longest = self.config.data.max_length
        before = before or self.before(lines) or [()] * len(lines)
        return [context_pieces(self.source, sentences, longest) for sentences in before]

    def forced(self, examples: Sequence[Example]) -> list[Forced]:
        """The forced pass of given pairs."""
        decoding = self.config.decoding
        with products_in(precision(decoding.precision, self.device), self.device):
            return forced_decode(self.model, examples, batch_size=decoding.batch_size, device=self.device)

    def read(self, sources: Sequence[Sequence[int]]) -> list[tuple[NDArray[np.float32], ...]]:
        """Where the pieces of each source looked while it was read (`decoding/reading.py`)."""
        decoding = self.config.decoding
        with products_in(precision(decoding.precision, self.device), self.device):
            return read_sources(self.model, sources, batch_size=decoding.batch_size, device=self.device)


def model_of(config: Config, source: Tokenizer, target: Tokenizer) -> Seq2Seq:
    """A fresh model for these tokenizers."""
    shared = config.tokenizer.shared
    return build_model(config.model, source_vocabulary=len(source), target_vocabulary=len(target), shared=shared)


def open_run(path: Path | None, device: str = "auto") -> Run:
    """The run in a folder, or the newest finished one under `runs/`. Raises CheckpointError where there is none."""
    folder = RunFolder(newest_run(RUNS) if path is None else path)
    measured = folder.measured_layer()
    config = folder.config()
    source, target = folder.tokenizers(config.tokenizer.type, config.tokenizer.shared)
    chosen = choose_device(device)
    model = model_of(config, source, target)
    tensors, _ = read_tensors(folder.weights_file)
    load_parameters(model, tensors, folder.weights_file)
    return Run(folder, config, model.to(chosen).eval(), source, target, chosen, measured)
