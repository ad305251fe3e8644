"""How probable are given translations?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nmt.data.corpus import ParallelText
from nmt.experiment.run import Run, check_ensemble, document_run, mean_scores
from nmt.experiment.texts import examples_of


@dataclass(frozen=True)
class Scored:
    """Log-probabilities of a text's translations, natural, their ends included, and how many pieces each has."""

    log_probabilities: tuple[float, ...]
    pieces: tuple[int, ...]

    @property
    def total(self) -> float:
        """Of the whole text."""
        return sum(self.log_probabilities)

    @property
    def perplexity(self) -> float:
        """exp of the mean negative log-probability of a piece; ends count."""
        return math.exp(min(-self.total / max(1, sum(self.pieces)), 700.0))

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "log_probability": self.total,
            "perplexity": self.perplexity,
            "pieces": sum(self.pieces),
            "lines": [
                {"log_probability": one, "pieces": count}
                for one, count in zip(self.log_probabilities, self.pieces, strict=True)
            ],
        }


def score_text(runs: Sequence[Run], text: ParallelText, names: Sequence[str] | None = None) -> Scored:
    """Score each pair by forced passes, with several runs by the mean of their probabilities.

    `names` tell the documents of lines apart, for runs to which they count. A pair of which both sides are blank has
    log-probability 0 and no pieces: nothing was translated. Raises ConfigError where the runs do not fit together.
    """
    check_ensemble(runs)
    reader = document_run(runs)
    text = replace(text, before=tuple(reader.before(text.source, names)))
    examples = examples_of(reader.config, text, reader.source, reader.target)
    reader.warn_of_long((len(example.source), len(example.target)) for example in examples)
    empty = [not example.source and not example.target for example in examples]
    found = mean_scores(runs, examples)
    return Scored(
        tuple(0.0 if nothing else one for nothing, one in zip(empty, found, strict=True)),
        tuple(0 if nothing else len(one.target) + 1 for nothing, one in zip(empty, examples, strict=True)),
    )
