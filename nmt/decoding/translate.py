"""Text in, text out: lines to translations, in order, whatever they contain."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch

from nmt.data.batching import inference_groups
from nmt.data.documents import SentencesBefore, context_pieces, sentences_before
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.beam import beam_search
from nmt.decoding.greedy import greedy_search
from nmt.decoding.search import Hypothesis, SearchSettings
from nmt.errors import ConfigError
from nmt.model.seq2seq import Seq2Seq
from nmt.runtime import products_in
from nmt.uniform import seeds

READ_AHEAD = 8
"""Batches that are read before the first is translated, so that sentences of like length can share one."""


@dataclass(frozen=True)
class Translation:
    """A line and its translations, best first; a line in which there is nothing to translate has one, of no pieces.

    `before` are the sentences before it, where those counted.
    """

    source: str
    source_pieces: tuple[int, ...]
    hypotheses: tuple[Hypothesis, ...]
    texts: tuple[str, ...]
    before: tuple[str, ...] = ()


class Translator:
    """A model with its tokenizers and its way of searching.

    `dtype` is the precision of products, None its own. With `seed` an attention that can draws where it looks, by that
    seed and the number of the line alone. `context` sentences before each line count, `context_length` pieces of each.
    """

    def __init__(
        self,
        model: Seq2Seq,
        source: Tokenizer,
        target: Tokenizer,
        settings: SearchSettings,
        *,
        batch_size: int,
        device: torch.device,
        dtype: torch.dtype | None = None,
        seed: int | None = None,
        context: int = 0,
        context_length: int = 0,
    ) -> None:
        self.model = model.eval()
        self.source = source
        self.target = target
        self.settings = settings
        self.batch_size = batch_size
        self.device = device
        self.dtype = dtype
        self.seed = seed
        self.context = context
        self.context_length = context_length

    def translate(
        self, lines: Sequence[str], wanted: int = 1, *, first: int = 0, before: Sequence[tuple[str, ...]] = ()
    ) -> list[Translation]:
        """The best `wanted` translations of each line: neighbours change nothing but what a document's sentences do.

        `first` is the number of the first line in its text, for what is drawn. `before` are the sentences before each
        line; where it is empty and they count, they are those of `lines`, and a blank line ends a document.
        """
        if self.context and not before:
            before = sentences_before(lines, self.context)
        sources = [self.source.encode(line).numbers for line in lines]
        contexts = [context_pieces(self.source, sentences, self.context_length) for sentences in before]
        found: dict[int, list[Hypothesis]] = {
            index: [Hypothesis((), 0.0, 0.0)] for index, source in enumerate(sources) if not source
        }
        full = [index for index in range(len(lines)) if sources[index]]
        for group in inference_groups([len(sources[index]) for index in full], self.batch_size):
            indices = [full[place] for place in group]
            results = self._search(
                [sources[index] for index in indices],
                [contexts[index] for index in indices] if contexts else [],
                wanted,
                [first + index for index in indices],
            )
            found.update(zip(indices, results, strict=True))
        return [
            Translation(
                line,
                sources[index],
                tuple(found[index]),
                tuple(self.target.decode(hypothesis.pieces) for hypothesis in found[index]),
                tuple(before[index]) if before else (),
            )
            for index, line in enumerate(lines)
        ]

    def stream(
        self,
        lines: Iterable[str],
        wanted: int = 1,
        *,
        first: int = 0,
        read_ahead: int | None = None,
        before: Iterable[tuple[str, ...]] | None = None,
    ) -> Iterator[Translation]:
        """Translations as they are ready, in order, of lines that may still be coming.

        `read_ahead` lines are gathered first, so that those of like length can share a batch; None: a few batches.
        `before` are the sentences before each line, None those of `lines`.
        """
        walk = SentencesBefore(self.context)
        told = iter(before) if before is not None else None
        rest = iter(lines)
        while chunk := list(islice(rest, read_ahead or self.batch_size * READ_AHEAD)):
            known = [walk.of(line) for line in chunk] if told is None else list(islice(told, len(chunk)))
            yield from self.translate(chunk, wanted, first=first, before=known)
            first += len(chunk)

    def _search(
        self,
        sources: Sequence[Sequence[int]],
        before: Sequence[Sequence[Sequence[int]]],
        wanted: int,
        lines: Sequence[int],
    ) -> list[list[Hypothesis]]:
        if wanted > self.settings.beam:
            raise ConfigError(f"{wanted} translations of a line were asked for, but the beam is {self.settings.beam}")
        seed_B = None if self.seed is None else seeds(self.seed, torch.tensor(lines))
        parts = (self.model, sources, self.settings, self.device)
        with products_in(self.dtype, self.device):
            if self.settings.beam == 1:
                return [[found] for found in greedy_search(*parts, seed_B=seed_B, before=before)]
            return beam_search(*parts, wanted, seed_B=seed_B, before=before)
