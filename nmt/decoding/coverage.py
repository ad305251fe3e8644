"""Coverage: did a translation look at every source piece?

    cp(x, y) = β Σ_s log min(Σ_t a_ts, 1)          (Wu et al. 2016, arXiv 1609.08144, eq. 14)

over the weights of one forced pass of a finished translation, the row of its end included, the column of the source's
end not. A source piece that nothing looked at counts as 10⁻⁶: its logarithm would be −∞, and translations that each
miss a word by sparse weights could not be told apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nmt.data.batching import Example
from nmt.decoding.search import Hypothesis

_LEAST = 1e-6

Looked = Callable[[Sequence[Example]], list[NDArray[np.float32]]]
"""From pairs to where each was looked at, [T, S], ends included: the map that alignments are read from."""


def coverage_penalty(weights_TS: NDArray[np.float32], beta: float) -> float:
    """cp of one translation; 0 at best."""
    covered_S = weights_TS.astype(np.float64).sum(axis=0)[:-1]
    return beta * float(np.log(np.clip(covered_S, _LEAST, 1.0)).sum())


def with_coverage(
    sources: Sequence[Example], found: Sequence[Sequence[Hypothesis]], beta: float, looked: Looked
) -> list[list[Hypothesis]]:
    """The hypotheses of each source with the coverage penalty added to their scores, best first; the sources' targets
    do not count."""
    pairs = [replace(one, target=other.pieces) for one, many in zip(sources, found, strict=True) for other in many]
    penalties = iter([coverage_penalty(weights_TS, beta) for weights_TS in looked(pairs)])
    rescored = [[replace(one, score=one.score + next(penalties)) for one in several] for several in found]
    return [sorted(several, key=lambda one: -one.score) for several in rescored]
