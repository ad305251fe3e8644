"""How good is a run on a text?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from nmt.data.corpus import ParallelText
from nmt.errors import ConfigError
from nmt.evaluation.bleu import LengthBucket, Score, bleu, bleu_by_length, chrf, ter, tokenizer_for
from nmt.experiment.run import Run


@dataclass(frozen=True)
class Evaluation:
    """Scores of a run's translations, and BLEU by the number of source words where that was asked for."""

    scores: tuple[Score, ...]
    buckets: tuple[LengthBucket, ...]
    sentences: int

    def as_dict(self) -> dict[str, object]:
        """The evaluation for JSON: an object for each score, the buckets where there are some, and the sentences."""
        result: dict[str, object] = {score.key: score.as_dict() for score in self.scores}
        if self.buckets:
            result["by_length"] = [asdict(bucket) for bucket in self.buckets]
        return result | {"sentences": self.sentences}


def evaluate_run(run: Run, text: ParallelText, *, by_length: bool = False) -> Evaluation:
    """Translate a text with the run's settings and compare with its references; `by_length` asks for the buckets."""
    hypotheses = [found.texts[0] for found in run.translator().translate(text.source)]
    tokenize = tokenizer_for(run.config.data.target_language)
    scores = (
        bleu(hypotheses, text.target, interval=True, tokenize=tokenize),
        chrf(hypotheses, text.target, interval=True),
        ter(hypotheses, text.target, interval=True),
    )
    buckets = bleu_by_length(text.source, hypotheses, text.target, tokenize=tokenize) if by_length else []
    return Evaluation(scores, tuple(buckets), len(text))


def run_names(folders: Sequence[Path]) -> list[str]:
    """What runs are called side by side: their folders' names, and where two of these are equal, the paths as given.

    Raises ConfigError where a run is given twice.
    """
    resolved = [folder.resolve() for folder in folders]
    for number, folder in enumerate(folders):
        if resolved[number] in resolved[:number]:
            raise ConfigError(f"--run {folder}: is given twice; give each run once")
    names = [folder.name for folder in resolved]
    return [name if names.count(name) == 1 else str(folder) for name, folder in zip(names, folders, strict=True)]
