"""What may be written next: rules that forbid pieces, each by itself.

A rule puts −∞ on what it forbids and leaves every other log-probability as the model has it, so that a translation's
log-probability stays the model's own, whichever rules were in force.

Shapes: B sentences of a batch, N hypotheses, V vocabulary, T pieces written so far, P longest prefix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from nmt.data.tokenizer import BEGIN, END, PADDING, UNKNOWN
from nmt.decoding.search import SearchSettings, log_probabilities

_FREE = -1


@dataclass(frozen=True)
class Written:
    """Hypotheses about to be continued: which sentence of the batch each belongs to, and its pieces so far."""

    sentence_N: Tensor
    pieces_NT: Tensor

    @property
    def length(self) -> int:
        """T, the same for all."""
        return self.pieces_NT.shape[1]


class Rule(Protocol):
    """One reason not to write a piece."""

    def forbid(self, scores_NV: Tensor, written: Written) -> None:
        """Put −∞ on what may not be written next, in place."""
        ...


class NoSpecials:
    """Padding, unknown and begin are no text."""

    def forbid(self, scores_NV: Tensor, written: Written) -> None:
        scores_NV[:, [PADDING, UNKNOWN, BEGIN]] = -torch.inf


class NoRepeat:
    """No n pieces in a row stand twice in a translation (R. Paulus, C. Xiong, R. Socher, arXiv 1705.04304, 2.5)."""

    def __init__(self, size: int) -> None:
        self.size = size

    def forbid(self, scores_NV: Tensor, written: Written) -> None:
        if written.length < self.size:
            return
        ngrams_NWn = written.pieces_NT.unfold(1, self.size, 1)
        context_Nn = written.pieces_NT[:, written.length - self.size + 1 :]
        seen_NW = (ngrams_NWn[:, :, :-1] == context_Nn.unsqueeze(1)).all(dim=2)
        # Padding is forbidden anyway, so it stands in for "nothing" where a context differs.
        scores_NV.scatter_(1, ngrams_NWn[:, :, -1].masked_fill(~seen_NW, PADDING), -torch.inf)


class Shortest:
    """No end before `least_B` pieces, unless nothing else may be written."""

    def __init__(self, least_B: Sequence[int], device: torch.device) -> None:
        self.until = max(least_B)
        self.least_B = torch.tensor(least_B, device=device)

    def forbid(self, scores_NV: Tensor, written: Written) -> None:
        if written.length >= self.until:
            return
        end_N = scores_NV[:, END].clone()
        scores_NV[:, END] = end_N.masked_fill(self.least_B[written.sentence_N] > written.length, -torch.inf)
        stuck_N = scores_NV.amax(dim=1) == -torch.inf
        scores_NV[:, END] = torch.where(stuck_N, end_N, scores_NV[:, END])


class Longest:
    """Nothing but the end after `most_B` pieces."""

    def __init__(self, most_B: Sequence[int], device: torch.device) -> None:
        self.from_length = min(most_B)
        self.most_B = torch.tensor(most_B, device=device)

    def forbid(self, scores_NV: Tensor, written: Written) -> None:
        if written.length < self.from_length:
            return
        end_N = scores_NV[:, END].clone()
        scores_NV.masked_fill_((self.most_B[written.sentence_N] <= written.length).unsqueeze(1), -torch.inf)
        scores_NV[:, END] = end_N


@dataclass(frozen=True)
class Prefixes:
    """The first pieces of each sentence's translation, none where it is free from the start.

    `follows_V` is True on what may come right after a prefix: what does not grow its last word.
    """

    pieces: Sequence[Sequence[int]]
    follows_V: Tensor


class Prefixed:
    """Prefixes come before every other rule: what the user gives may hold an unknown piece, or repeat itself."""

    def __init__(self, prefixes: Prefixes, device: torch.device) -> None:
        self.length_B = torch.tensor([len(prefix) for prefix in prefixes.pieces], device=device)
        self.until = int(self.length_B.max())
        rows = [[*prefix, *[_FREE] * (self.until - len(prefix))] for prefix in prefixes.pieces]
        self.pieces_BP = torch.tensor(rows, dtype=torch.long, device=device)
        self.barred_V = ~prefixes.follows_V.to(device)

    def forbid(self, scores_NV: Tensor, written: Written) -> None:
        """What would grow the last word of a prefix that has just been written."""
        length_N = self.length_B[written.sentence_N]
        just_N = (length_N == written.length) & (length_N > 0)
        scores_NV.masked_fill_(just_N.unsqueeze(1) & self.barred_V, -torch.inf)

    def wanted(self, written: Written) -> Tensor | None:
        """The piece that each hypothesis must go on with, −1 where it is free; None where all are."""
        if written.length >= self.until:
            return None
        return self.pieces_BP[written.sentence_N, written.length]


class Rules:
    """All rules of a batch of sentences, and the longest length of each (`limits`)."""

    def __init__(
        self,
        settings: SearchSettings,
        sources: Sequence[Sequence[int]],
        device: torch.device,
        prefixes: Prefixes | None = None,
    ) -> None:
        lengths = [len(source) for source in sources]
        self.limits = [settings.max_length(one) for one in lengths]
        least = [settings.min_length(one) for one in lengths]
        self.prefixed = Prefixed(prefixes, device) if prefixes is not None else None
        rules: list[Rule] = [NoSpecials()]
        if settings.no_repeat_ngram is not None:
            rules.append(NoRepeat(settings.no_repeat_ngram))
        if self.prefixed is not None:
            rules.append(self.prefixed)
        if any(least):
            rules.append(Shortest(least, device))
        self.rules = [*rules, Longest(self.limits, device)]

    def gains(self, logits_NV: Tensor, written: Written) -> Tensor:
        """Log-probabilities of the next piece, −∞ on what may not be written."""
        scores_NV = log_probabilities(logits_NV)
        wanted_N = None if self.prefixed is None else self.prefixed.wanted(written)
        if wanted_N is None:
            for rule in self.rules:
                rule.forbid(scores_NV, written)
            return scores_NV
        kept_N1 = scores_NV.gather(1, wanted_N.clamp(min=0).unsqueeze(1))
        for rule in self.rules:
            rule.forbid(scores_NV, written)
        bound_N1 = (wanted_N != _FREE).unsqueeze(1)
        forced_NV = torch.full_like(scores_NV, -torch.inf).scatter_(1, wanted_N.clamp(min=0).unsqueeze(1), kept_N1)
        return torch.where(bound_N1, forced_NV, scores_NV)
