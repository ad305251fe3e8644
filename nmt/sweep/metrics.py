"""The numbers that a run is judged by, drawn at, and listed with: their names, and which way each is better."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """A number of a run. `scale` is what people see it multiplied by, `decimals` how exactly.

    What is not `ranked` tells what a run cost, which is no merit.
    """

    name: str
    title: str
    higher_is_better: bool
    decimals: int = 1
    scale: float = 1.0
    ranked: bool = True

    def text(self, value: float) -> str:
        """A value for people, in the unit of the title."""
        return f"{self.scale * value:,.{self.decimals}f}"


METRICS = {
    metric.name: metric
    for metric in (
        Metric("test_bleu", "BLEU", True),
        Metric("test_chrf", "chrF2", True),
        Metric("test_aer", "AER %", False, scale=100.0),
        Metric("bleu", "validation BLEU", True),
        Metric("chrf", "validation chrF2", True),
        Metric("loss", "validation loss", False, 3),
        Metric("perplexity", "validation perplexity", False, 2),
        Metric("accuracy", "validation accuracy %", True, scale=100.0),
        Metric("parameters", "parameters", False, 0, ranked=False),
        Metric("tokens_per_second", "tokens/s", True, 0),
        Metric("minutes", "minutes", False, ranked=False),
    )
}
"""In the order of the table's columns."""

VALIDATION = frozenset({"bleu", "chrf", "loss", "perplexity", "accuracy"})
"""Those that a validation gives, and that are known while a run trains; a run's is its best."""
