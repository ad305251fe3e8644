"""How good is a run on a text?"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from nmt.data.corpus import ParallelText
from nmt.errors import ConfigError
from nmt.evaluation.bleu import LengthBucket, Score, bleu, bleu_by_length, chrf, ter, tokenizer_for
from nmt.experiment.contrast import Contrast, contrast
from nmt.experiment.run import Run, names_for_each


@dataclass(frozen=True)
class Evaluation:
    """Scores of a run's translations, and where they were asked for BLEU by the number of source words, and how often
    a reference is more probable than wrong translations."""

    scores: tuple[Score, ...]
    buckets: tuple[LengthBucket, ...]
    sentences: int
    contrast: Contrast | None = None

    def as_dict(self) -> dict[str, object]:
        """The evaluation for JSON: an object for each score, the buckets where there are some, and the sentences."""
        result: dict[str, object] = {score.key: score.as_dict() for score in self.scores}
        if self.buckets:
            result["by_length"] = [asdict(bucket) for bucket in self.buckets]
        if self.contrast is not None:
            result["contrast"] = self.contrast.as_dict()
        return result | {"sentences": self.sentences}


def evaluate_runs(
    runs: Mapping[str, Run],
    text: ParallelText,
    *,
    by_length: bool = False,
    names: Sequence[str] | None = None,
    wrong: Sequence[Sequence[str]] | None = None,
) -> dict[str, Evaluation]:
    """The evaluation of each run, by its name. `names` tell the documents of lines apart, for those runs to which they
    count; raises ConfigError where they count to none, before anything is translated."""
    named = zip(runs.items(), names_for_each(list(runs.values()), names), strict=True)
    return {
        name: evaluate_run(run, text, by_length=by_length, names=of_run, wrong=wrong) for (name, run), of_run in named
    }


def evaluate_run(
    run: Run,
    text: ParallelText,
    *,
    by_length: bool = False,
    names: Sequence[str] | None = None,
    wrong: Sequence[Sequence[str]] | None = None,
) -> Evaluation:
    """Translate a text with the run's settings and compare with its references; `by_length` asks for the buckets.

    `names` tell the documents of lines apart, for a run to which they count; `wrong` has the wrong translations of each
    line, for the contrast.
    """
    text = replace(text, before=tuple(run.before(text.source, names)))
    hypotheses = [found.texts[0] for found in run.translator().translate(text.source, before=text.before)]
    tokenize = tokenizer_for(run.config.data.target_language)
    scores = (
        bleu(hypotheses, text.target, interval=True, tokenize=tokenize),
        chrf(hypotheses, text.target, interval=True),
        ter(hypotheses, text.target, interval=True),
    )
    buckets = bleu_by_length(text.source, hypotheses, text.target, tokenize=tokenize) if by_length else []
    return Evaluation(scores, tuple(buckets), len(text), None if wrong is None else contrast(run, text, wrong))


def run_names(folders: Sequence[Path], *, option: str = "--run ") -> list[str]:
    """What runs are called side by side: their folders' names, and where two of these are equal, the paths as given.

    Raises ConfigError where a run is given twice; `option` is what stands before it on the command line.
    """
    resolved = [folder.resolve() for folder in folders]
    for number, folder in enumerate(folders):
        if resolved[number] in resolved[:number]:
            raise ConfigError(f"{option}{folder}: is given twice; give each run once")
    names = [folder.name for folder in resolved]
    return [name if names.count(name) == 1 else str(folder) for name, folder in zip(names, folders, strict=True)]
