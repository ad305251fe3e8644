"""Is one system better than another, or was it luck? sacreBLEU's paired tests, on the same sentences.

Paired bootstrap resampling: P. Koehn, "Statistical significance tests for machine translation evaluation", EMNLP 2004.
Paired approximate randomisation: S. Riezler, J. Maxwell, "On some pitfalls in automatic evaluation and significance
testing for MT", 2005. A p-value is the probability of a difference as large as the one found, were the two alike.

sacreBLEU counts only differences that are larger, which makes two equal systems differ significantly. Where n sentences
differ, two of the 2ⁿ ways to exchange them are as extreme as what was found, so no p-value here is below 2^(1 − n).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nmt.errors import ConfigError
from nmt.evaluation.bleu import check_lines, metrics_for, sacrebleu_seed

if TYPE_CHECKING:
    from sacrebleu.significance import Result


@dataclass(frozen=True)
class Tested:
    """A system's score by one metric, half its 95 % interval, and the p-values of its difference to the first system.

    The p-values of the first system itself are None.
    """

    value: float
    interval: float
    p_bootstrap: float | None
    p_randomisation: float | None


@dataclass(frozen=True)
class MetricTest:
    """One metric: its signature, with the samples drawn and their seed, and what it says of each system."""

    signature: str
    systems: Mapping[str, Tested]


def paired_tests(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    *,
    tokenize: str | None = None,
    seed: int = 12345,
    samples: int = 1000,
    trials: int = 10_000,
) -> dict[str, MetricTest]:
    """BLEU, chrF2 and TER of each system, and whether it differs from the first: the baseline.

    `samples` are drawn by the bootstrap, which gives the intervals, too; `trials` by the randomisation.

    Raises DataError where a text has another number of lines than the references, ConfigError on fewer than two systems
    or a tokenizer as for `bleu`.
    """
    if len(systems) < 2:
        raise ConfigError("a paired test compares two systems or more: give another one")
    for name, hypotheses in systems.items():
        check_lines(hypotheses, references, f"translations by {name}")
    with sacrebleu_seed(seed):
        signatures, bootstrap = _draw("bs", samples, systems, references, tokenize)
        _, randomisation = _draw("ar", trials, systems, references, tokenize)
    base = next(iter(systems.values()))
    least = {name: _least_p(base, hypotheses) for name, hypotheses in systems.items()}
    found = {}
    for metric, signature in signatures.items():
        pairs = zip(bootstrap[metric], randomisation[metric], strict=True)
        tested = {name: _tested(*pair, least[name]) for name, pair in zip(systems, pairs, strict=True)}
        found[metric] = MetricTest(signature, tested)
    return found


def _draw(
    kind: str, count: int, systems: Mapping[str, Sequence[str]], references: Sequence[str], tokenize: str | None
) -> "tuple[dict[str, str], dict[str, list[Result]]]":
    """The signature of each metric, and its results in the order of the systems."""
    from sacrebleu.significance import PairedTest, Result

    signatures, scores = PairedTest([*systems.items()], metrics_for(tokenize), [references], kind, count)()
    results = {name: [one for one in scores[name] if isinstance(one, Result)] for name in signatures}
    return {name: signature.format() for name, signature in signatures.items()}, results


def _least_p(base: Sequence[str], other: Sequence[str]) -> float:
    differing = sum(one != two for one, two in zip(base, other, strict=True))
    return min(1.0, 2.0 ** (1 - differing))


def _tested(bootstrap: "Result", randomisation: "Result", least: float) -> Tested:
    p_values = (bootstrap.p_value, randomisation.p_value)
    first, second = (None if value is None else max(least, float(value)) for value in p_values)
    return Tested(float(bootstrap.score), float(bootstrap.ci or 0.0), first, second)


def sentence_scores(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF2 of each sentence: of the metrics the one that says something of a single sentence.

    Raises DataError where the texts differ in length or are empty.
    """
    check_lines(hypotheses, references, "hypotheses")
    metric = metrics_for(None)["chrF2"]
    pairs = zip(hypotheses, references, strict=True)
    return [metric.sentence_score(hypothesis, [reference]).score for hypothesis, reference in pairs]
