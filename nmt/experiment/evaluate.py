"""How good is a run on a text?"""

from dataclasses import dataclass

from nmt.data.corpus import ParallelText
from nmt.evaluation.bleu import LengthBucket, Score, bleu, bleu_by_length, chrf, ter, tokenizer_for
from nmt.experiment.run import Run


@dataclass(frozen=True)
class Evaluation:
    """Scores of a run's translations, and BLEU by the number of source words where that was asked for."""

    scores: tuple[Score, ...]
    buckets: tuple[LengthBucket, ...]
    sentences: int


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
