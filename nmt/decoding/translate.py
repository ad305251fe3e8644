"""Text in, text out: lines to translations, in order, whatever they contain."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch

from nmt.characters import is_blank
from nmt.data.batching import Example, inference_groups
from nmt.data.documents import SentencesBefore, context_pieces, sentences_before
from nmt.data.tokenizer import Pieces, Tokenizer
from nmt.decoding.beam import beam_search
from nmt.decoding.coverage import Looked, with_coverage
from nmt.decoding.ensemble import Ensemble
from nmt.decoding.greedy import greedy_search
from nmt.decoding.parts import parts_of
from nmt.decoding.rules import Prefixes
from nmt.decoding.sample import Sampling, sample_search
from nmt.decoding.search import Hypothesis, SearchSettings
from nmt.errors import ConfigError
from nmt.model.seq2seq import Seq2Seq
from nmt.runtime import products_in
from nmt.uniform import seeds

READ_AHEAD = 8
"""Batches that are read before the first is translated, so that sentences of like length can share one."""

_PART = 1 << 40
"""What is drawn for part p of line i is drawn as for line i + p · 2⁴⁰."""

_Found = tuple[int, Sequence[Hypothesis]]
"""How many source pieces a part has, and its hypotheses, best first."""


@dataclass(frozen=True)
class Translation:
    """A line and its translations, best first; a line in which there is nothing to translate has one, of no pieces.

    `start` are the words that they had to begin with, `before` the sentences before it, where those counted. Of a line
    that was translated in parts, pieces follow one another, and log-probabilities and scores are sums. `seeds` has for
    each part what its attention drew by, where it drew where to look.
    """

    source: str
    source_pieces: tuple[int, ...]
    hypotheses: tuple[Hypothesis, ...]
    texts: tuple[str, ...]
    start: str = ""
    before: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Part:
    """A line, or a piece of one that is too long, on its way through the search; `line` is its number in the text.

    `pair` is its source, with the sentences before it and where attention draws its seed, and no target.
    """

    line: int
    number: int
    pair: Example
    prefix: tuple[int, ...]


class Translator:
    """A model with its tokenizers and its way of searching.

    `dtype` is the precision of products, None its own. With `sampling` translations are drawn, with `draw_attention` an
    attention that can draws where it looks: both by `seed` and the number of the line alone. A coverage penalty asks
    `looked` where the model looked. Lines of more than `longest` pieces are translated in parts. `context` sentences
    before each line count, `context_length` pieces of each.
    """

    def __init__(
        self,
        model: Seq2Seq | Ensemble,
        source: Tokenizer,
        target: Tokenizer,
        settings: SearchSettings,
        *,
        batch_size: int,
        device: torch.device,
        dtype: torch.dtype | None = None,
        seed: int = 1,
        sampling: Sampling | None = None,
        draw_attention: bool = False,
        looked: Looked | None = None,
        longest: int | None = None,
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
        self.sampling = sampling
        self.draw_attention = draw_attention
        self.looked = looked
        self.longest = longest
        self.context = context
        self.context_length = context_length

    def translate(
        self,
        lines: Sequence[str],
        wanted: int = 1,
        *,
        first: int = 0,
        prefixes: Sequence[str] | None = None,
        before: Sequence[tuple[str, ...]] = (),
    ) -> list[Translation]:
        """The best `wanted` translations of each line, no two of one text; neighbours change nothing but what a
        document's sentences do.

        There may be fewer, where the beam found several segmentations of one text. `first` is the number of the first
        line in its text, for what is drawn and for warnings. `prefixes` are the words that each translation begins
        with, where they are not blank. `before` are the sentences before each line; where it is empty and they count,
        they are those of `lines`, and a blank line ends a document. Raises ConfigError where `wanted` is above the
        beam.
        """
        if wanted > self.settings.beam:
            raise ConfigError(f"{wanted} translations of a line were asked for, but the beam is {self.settings.beam}")
        if self.context and not before:
            before = sentences_before(lines, self.context)
        before = before or [()] * len(lines)
        sources = [self.source.encode(line) for line in lines]
        starts = [""] * len(lines)
        if prefixes is not None:
            starts = ["" if is_blank(prefix) else " ".join(prefix.split()) for prefix in prefixes]
        parts = [
            part
            for index, source in enumerate(sources)
            for part in self._parts(source, first + index, starts[index], before[index])
        ]
        found: dict[int, list[_Found]] = {first + index: [] for index in range(len(lines))}
        for part, several in zip(parts, self._search(parts, wanted), strict=True):
            found[part.line].append((len(part.pair.source), several))
        return [
            self._translation(line, first + index, found[first + index], starts[index], before[index], wanted)
            for index, line in enumerate(lines)
        ]

    def chunks(
        self,
        lines: Iterable[str],
        wanted: int = 1,
        *,
        first: int = 0,
        read_ahead: int | None = None,
        prefixes: Iterable[str] | None = None,
        before: Iterable[tuple[str, ...]] | None = None,
    ) -> Iterator[list[Translation]]:
        """Translations as they are ready, in order, of lines that may still be coming.

        `read_ahead` lines are gathered first, so that those of like length can share a batch; None: a few batches.
        `before` are the sentences before each line, None those of `lines`.
        """
        walk = SentencesBefore(self.context)
        rest, starts = iter(lines), None if prefixes is None else iter(prefixes)
        told = None if before is None else iter(before)
        while chunk := list(islice(rest, read_ahead or self.batch_size * READ_AHEAD)):
            given = None if starts is None else list(islice(starts, len(chunk)))
            known = [walk.of(line) for line in chunk] if told is None else list(islice(told, len(chunk)))
            yield self.translate(chunk, wanted, first=first, prefixes=given, before=known)
            first += len(chunk)

    def _parts(self, source: Pieces, line: int, start: str, before: Sequence[str]) -> list[_Part]:
        """What there is to search for a line: nothing, the line, or parts of it, and the prefix for the first."""
        if not source.numbers:
            return []
        prefix = self.target.encode(start).numbers
        context = context_pieces(self.source, before, self.context_length)
        if self.longest is None or len(source.numbers) <= self.longest:
            return [self._part(line, 0, source.numbers, context, prefix)]
        cut = parts_of(source, self.longest)
        warnings.warn(
            f"line {line + 1}: its {len(source.numbers):,} pieces are more than the {self.longest} that are read at "
            f"once (data.max_length, or the model's positions); it is translated in {len(cut)} parts",
            stacklevel=1,
        )
        return [self._part(line, number, part, context, () if number else prefix) for number, part in enumerate(cut)]

    def _part(
        self,
        line: int,
        number: int,
        source: tuple[int, ...],
        context: tuple[tuple[int, ...], ...],
        prefix: tuple[int, ...],
    ) -> _Part:
        seed = self._seed(line, number) if self.draw_attention else None
        return _Part(line, number, Example(source, (), context, seed=seed), prefix)

    def _seed(self, line: int, number: int) -> int:
        """What all that is drawn for a part of a line is drawn by."""
        return int(seeds(self.seed, torch.tensor(line + number * _PART)))

    def _search(self, parts: Sequence[_Part], wanted: int) -> list[list[Hypothesis]]:
        """The hypotheses of each part, best first, in the order given: batches of parts of like length."""
        found: dict[int, list[Hypothesis]] = {}
        for group in inference_groups([part.pair for part in parts], self.batch_size):
            results = self._search_batch([parts[index] for index in group], wanted)
            found.update(zip(group, results, strict=True))
        return [found[index] for index in range(len(parts))]

    def _search_batch(self, parts: Sequence[_Part], wanted: int) -> list[list[Hypothesis]]:
        settings, sources = self.settings, [part.pair.source for part in parts]
        before = [part.pair.before for part in parts]
        line_B = torch.tensor([self._seed(part.line, part.number) for part in parts])
        seed_B = line_B if self.draw_attention else None
        prefixes = None
        if any(part.prefix for part in parts):
            prefixes = Prefixes([part.prefix for part in parts], ~torch.tensor(self.target.grows_word))
        asked = (self.model, sources, settings, self.device)
        with products_in(self.dtype, self.device):
            if self.sampling is not None:
                drawn = sample_search(*asked, self.sampling, line_B, seed_B=seed_B, prefixes=prefixes, before=before)
                found = [[one] for one in drawn]
            elif settings.beam == 1:
                found = [[one] for one in greedy_search(*asked, seed_B=seed_B, prefixes=prefixes, before=before)]
            else:
                # Several, or scores that are still to change, need all that the beam can find.
                all_of_them = wanted > 1 or settings.coverage_penalty > 0
                enough = settings.beam if all_of_them else wanted
                found = beam_search(*asked, enough, seed_B=seed_B, prefixes=prefixes, before=before)
        if settings.coverage_penalty and self.looked is not None:
            return with_coverage([part.pair for part in parts], found, settings.coverage_penalty, self.looked)
        return found

    def _translation(
        self, line: str, index: int, parts: Sequence[_Found], start: str, before: tuple[str, ...], wanted: int
    ) -> Translation:
        """The best of a line's hypotheses, those of its parts joined; of those of one text the better stays."""
        start = start if parts else ""
        texts: dict[str, Hypothesis] = {}
        for hypothesis in _joined(parts):
            texts.setdefault(self.target.decode(hypothesis.pieces, start), hypothesis)
        best = tuple(texts.values())[:wanted]
        # A line without parts is one pair all the same, where it is forced.
        drawn = range(max(1, len(parts))) if self.draw_attention else ()
        numbers = tuple(self._seed(index, number) for number in drawn)
        return Translation(line, self.source.encode(line).numbers, best, tuple(texts)[:wanted], start, before, numbers)


def _joined(parts: Sequence[_Found]) -> list[Hypothesis]:
    """The hypotheses of a line from those of its parts: the best ones together, the second ones, and so on."""
    if not parts:
        return [Hypothesis((), 0.0, 0.0)]
    if len(parts) == 1:
        return list(parts[0][1])
    joined = []
    for rank in range(max(len(several) for _, several in parts)):
        chosen = [several[min(rank, len(several) - 1)] for _, several in parts]
        pieces = tuple(piece for one in chosen for piece in one.pieces)
        sizes = tuple((size, len(one.pieces)) for (size, _), one in zip(parts, chosen, strict=True))
        total, score = sum(one.log_probability for one in chosen), sum(one.score for one in chosen)
        joined.append(Hypothesis(pieces, total, score, sizes))
    return joined
