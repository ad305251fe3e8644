"""A trained run, opened: its config, its tokenizers, its best weights, and ways to use them."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from nmt.alignment.matrix import reduce_heads
from nmt.checkpoint import RunFolder, newest_run, read_tensors
from nmt.config.attention import LocalAttention, LuongAttention
from nmt.config.load import changed
from nmt.config.model import ConvEncoderSection, TransformerSection
from nmt.config.schema import Config, DecodingSection
from nmt.data.batching import Example
from nmt.data.documents import context_pieces, sentences_before
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.ensemble import Ensemble, mean_log_probability
from nmt.decoding.forced import Forced, forced_decode
from nmt.decoding.reading import read_sources
from nmt.decoding.sample import Sampling
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

Weights = NDArray[np.float32]


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

    @property
    def longest_source(self) -> int:
        """The most pieces of a source that it reads at once: no training pair had more, or its positions end there."""
        encoder, attention = self.config.model.encoder, self.config.model.attention
        limits = [self.config.data.max_length]
        if isinstance(encoder, TransformerSection | ConvEncoderSection) and encoder.positions == "learned":
            limits.append(encoder.max_positions - 1)  # the end of the sentence takes one
        if isinstance(attention, LuongAttention | LocalAttention) and attention.score == "location":
            limits.append(attention.max_source_positions - 1)
        return max(1, min(limits))

    def warn_of_long(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Warn of given pairs, so many source and target pieces each, that are longer than any in training.

        They are read whole: nobody knows which part of a target belongs to which of its source.
        """
        longest = self.config.data.max_length
        for number, sizes in enumerate(pairs, start=1):
            if max(sizes) > longest:
                warnings.warn(
                    f"line {number}: its {max(sizes):,} pieces are more than the {longest} that training had "
                    f"(data.max_length), so little can be told of it; give sentences one by one",
                    stacklevel=1,
                )

    def decoding(self, changes: Mapping[str, object]) -> DecodingSection:
        """The run's decoding settings, some of them changed. Raises ConfigError where they cannot be."""
        return changed(self.config.decoding, changes, "decoding")

    def translator(
        self,
        changes: Mapping[str, object] | None = None,
        *,
        seed: int = 1,
        sampling: Sampling | None = None,
        draw_attention: bool = False,
        others: Sequence["Run"] = (),
    ) -> Translator:
        """A translator with the run's decoding settings, or with changes to them; `others` join it in an ensemble.

        With `sampling` translations are drawn, with `draw_attention` where it looks, both by `seed`. Raises ConfigError
        where it cannot draw, has no weights to cover the source, or the others have another tokenizer.
        """
        runs, decoding = [self, *others], self.decoding(changes or {})
        check_ensemble(runs)
        self._check(runs, decoding, draw_attention)
        models = [run.model for run in runs]
        return Translator(
            models[0] if len(models) == 1 else Ensemble(models),
            self.source,
            self.target,
            SearchSettings(
                beam=decoding.beam,
                length_penalty=decoding.length_penalty,
                max_length_ratio=decoding.max_length_ratio,
                max_length_add=decoding.max_length_add,
                min_length_ratio=decoding.min_length_ratio,
                min_length_add=decoding.min_length_add,
                plain_length=decoding.length_normalization == "plain",
                coverage_penalty=decoding.coverage_penalty,
                no_repeat_ngram=decoding.no_repeat_ngram,
                beam_groups=decoding.beam_groups,
                diversity_penalty=decoding.diversity_penalty,
            ),
            batch_size=decoding.batch_size,
            device=self.device,
            dtype=precision(decoding.precision, self.device),
            seed=seed,
            sampling=sampling,
            draw_attention=draw_attention,
            looked=partial(mean_map, runs),
            longest=min(run.longest_source for run in runs),
            context=max(run.config.data.document_context for run in runs),
            context_length=document_run(runs).config.data.max_length,
        )

    def _check(self, runs: Sequence["Run"], decoding: DecodingSection, draw_attention: bool) -> None:
        for run in runs:
            name, kind = run.folder.path, run.config.model.attention.type
            if draw_attention and not run.model.decoder.draws:
                raise ConfigError(
                    f"{name}: its attention is {kind}, which draws nothing: leave --sample-attention out, or take a "
                    f"run with attention hard"
                )
            if decoding.coverage_penalty and not run.has_weights:
                raise ConfigError(
                    f"{name}: its attention is none, which has no weights that could cover the source: give "
                    f"--coverage-penalty 0, or take a run with another model.attention"
                )

    def before(self, lines: Sequence[str], names: Sequence[str] | None = None) -> list[tuple[str, ...]]:
        """The sentences before each line of a text that count here; a blank line ends a document, or its name does.

        An empty list where none count. Raises ConfigError where documents have names all the same.
        """
        (names,), count = names_for_each([self], names), self.config.data.document_context
        return sentences_before(lines, count, names) if count else []

    def contexts(
        self, lines: Sequence[str], before: Sequence[tuple[str, ...]] = ()
    ) -> list[tuple[tuple[int, ...], ...]]:
        """The sentences before each line in pieces; without `before` those of `lines` themselves."""
        longest = self.config.data.max_length
        before = before or self.before(lines) or [()] * len(lines)
        return [context_pieces(self.source, sentences, longest) for sentences in before]

    def pairs(
        self, sources: Sequence[str], targets: Sequence[tuple[int, ...]], before: Sequence[tuple[str, ...]] = ()
    ) -> list[Example]:
        """Each line with its target, which is in pieces already, and the sentences before it as `contexts` has them."""
        pieces = (self.source.encode(source).numbers for source in sources)
        return [Example(*pair) for pair in zip(pieces, targets, self.contexts(sources, before), strict=True)]

    def forced(self, examples: Sequence[Example], *, need_weights: bool = True) -> list[Forced]:
        """The forced pass of given pairs. The maps of a whole text may not fit into memory: ask for some at a time."""
        decoding, size = self.config.decoding, self.config.decoding.batch_size
        with products_in(precision(decoding.precision, self.device), self.device):
            return forced_decode(self.model, examples, batch_size=size, device=self.device, need_weights=need_weights)

    def read(self, sources: Sequence[Sequence[int]]) -> list[tuple[NDArray[np.float32], ...]]:
        """Where the pieces of each source looked while it was read (`decoding/reading.py`)."""
        decoding = self.config.decoding
        with products_in(precision(decoding.precision, self.device), self.device):
            return read_sources(self.model, sources, batch_size=decoding.batch_size, device=self.device)

    def looked(self, examples: Sequence[Example]) -> list[Weights]:
        """Where given pairs were looked at, [T, S] each: of hops the last, which tells what was read; of heads the
        config's choice, or their mean. Raises DataError where there is no such head or layer."""
        layer, head, size = self.alignment_layer(), self.config.alignment.head, self.config.decoding.batch_size
        found: list[Weights] = []
        # Batch by batch: the maps of all layers and heads of many hypotheses may not fit into memory.
        for start in range(0, len(examples), size):
            maps = [forced.weights[layer] for forced in self.forced(examples[start : start + size])]
            last = self.model.decoder.last_map
            found += [weights_HTS[-1] if last else reduce_heads(weights_HTS, head) for weights_HTS in maps]
        return found


def check_ensemble(runs: Sequence[Run]) -> None:
    """Raises ConfigError where runs have not all one tokenizer, so that their probabilities have no mean, or look at
    different numbers of sentences before a sentence."""
    first = runs[0]
    for run in runs[1:]:
        if (run.source.model, run.target.model) != (first.source.model, first.target.model):
            raise ConfigError(
                f"{run.folder.path}: has another tokenizer than {first.folder.path}; the runs of an ensemble must have "
                f"one: train them on the same text with the same tokenizer section, or translate with each alone"
            )
    counts = sorted({run.config.data.document_context for run in runs} - {0})
    if len(counts) > 1:
        raise ConfigError(
            f"{first.folder.path} and its fellows: were trained with different data.document_context "
            f"({', '.join(map(str, counts))}); the runs of an ensemble must have one, or none"
        )


def names_for_each(runs: Sequence[Run], names: Sequence[str] | None) -> list[Sequence[str] | None]:
    """The names of a text's documents for each run, None for those that look at single sentences.

    Raises ConfigError where there are names, and all the runs do.
    """
    minding = [run.config.data.document_context > 0 for run in runs]
    if names is not None and not any(minding):
        raise ConfigError(
            f"{' and '.join(str(run.folder.path) for run in runs)}: each sentence is translated by itself, so where "
            f"documents end does not count: leave --documents out, or take a run with data.document_context"
        )
    return [names if minds else None for minds in minding]


def document_run(runs: Sequence[Run]) -> Run:
    """The run of an ensemble that looks at most sentences before a sentence, if any of them does."""
    return max(runs, key=lambda run: run.config.data.document_context)


def mean_map(runs: Sequence[Run], examples: Sequence[Example]) -> list[Weights]:
    """Where the runs of an ensemble looked: the mean of their maps, [T, S] for each pair."""
    return [np.mean(maps, axis=0) for maps in zip(*(run.looked(examples) for run in runs), strict=True)]


def mean_scores(runs: Sequence[Run], examples: Sequence[Example]) -> list[float]:
    """The log-probability of each given pair's target, its end included, by the mean of the runs' probabilities."""
    forced = [run.forced(examples, need_weights=False) for run in runs]
    passes = [[torch.from_numpy(one.log_probabilities).double() for one in each] for each in forced]
    return [float(mean_log_probability(torch.stack(each)).sum()) for each in zip(*passes, strict=True)]


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
