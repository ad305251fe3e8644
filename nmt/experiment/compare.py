"""Runs side by side on one text: is a difference more than luck, in which sentences does it lie, in which n-grams, in
which words?"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nmt.data.corpus import ParallelText, read_parallel
from nmt.errors import DataError
from nmt.evaluation.bleu import tokenizer_for
from nmt.evaluation.ngrams import NgramDifferences, compare_ngrams
from nmt.evaluation.significance import MetricTest, paired_tests, sentence_scores
from nmt.evaluation.words import FrequencyBucket, accuracy_by_frequency, word_counts
from nmt.experiment.run import Run, names_for_each
from nmt.experiment.texts import read_texts


@dataclass(frozen=True)
class Difference:
    """A sentence that two runs translate differently well: by how many points of chrF2 the second is better."""

    line: int
    source: str
    reference: str
    translations: Mapping[str, str]
    points: float


@dataclass(frozen=True)
class Comparison:
    """Tests of each metric, the sentences and n-grams where each run differs most from the first, words by frequency.

    `frequencies` is empty where the training text is no longer there; `notes` then says so.
    """

    tests: Mapping[str, MetricTest]
    differences: Mapping[str, Sequence[Difference]]
    ngrams: Mapping[str, NgramDifferences]
    frequencies: Mapping[str, Sequence[FrequencyBucket]]
    sentences: int
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The comparison for JSON."""
        words = {
            name: [{**asdict(one), "f": one.f, "precision": one.precision, "recall": one.recall} for one in buckets]
            for name, buckets in self.frequencies.items()
        }
        return {
            "sentences": self.sentences,
            "metrics": {name: asdict(test) for name, test in self.tests.items()},
            "differences": {name: [asdict(one) for one in found] for name, found in self.differences.items()},
            "ngrams": {name: asdict(found) for name, found in self.ngrams.items()},
            "words_by_frequency": words,
        }


def compare_runs(
    runs: Mapping[str, Run], text: ParallelText, *, sentences: int, ngrams: int, names: Sequence[str] | None = None
) -> Comparison:
    """Translate a text with each run, and compare; `sentences` and `ngrams` are how many of each are wanted of a pair.

    The target language and the training text are the first run's. `names` tell the documents of lines apart, for those
    runs to which they count; raises ConfigError where they count to none.
    """
    first = next(iter(runs.values()))
    tokenize = tokenizer_for(first.config.data.target_language)
    named = zip(runs.items(), names_for_each(list(runs.values()), names), strict=True)
    translated = {name: _translations(run, text, of_run) for (name, run), of_run in named}
    base, *others = translated
    scores = {name: sentence_scores(lines, text.target) for name, lines in translated.items()}
    differences = {
        other: _differences(text, {name: translated[name] for name in (base, other)}, scores, sentences)
        for other in others
    }
    grams = {
        other: compare_ngrams(translated[base], translated[other], text.target, ngrams, tokenize=tokenize)
        for other in others
    }
    frequencies, notes = _frequencies(first, text, translated, tokenize)
    tests = paired_tests(translated, text.target, tokenize=tokenize)
    return Comparison(tests, differences, grams, frequencies, len(text), notes)


def _translations(run: Run, text: ParallelText, names: Sequence[str] | None) -> list[str]:
    before = run.before(text.source, names)
    return [found.texts[0] for found in run.translator().translate(text.source, before=before)]


def _differences(
    text: ParallelText, pair: Mapping[str, Sequence[str]], scores: Mapping[str, Sequence[float]], count: int
) -> list[Difference]:
    """The sentences whose scores lie farthest apart, largest first; none that both translate equally well."""
    base, other = pair
    points = [scores[other][place] - scores[base][place] for place in range(len(text))]
    order = sorted(range(len(text)), key=lambda place: -abs(points[place]))[:count]
    return [
        Difference(
            place + 1,
            text.source[place],
            text.target[place],
            {name: lines[place] for name, lines in pair.items()},
            points[place],
        )
        for place in order
        if points[place]
    ]


def _frequencies(
    run: Run, text: ParallelText, translated: Mapping[str, Sequence[str]], tokenize: str | None
) -> tuple[dict[str, list[FrequencyBucket]], tuple[str, ...]]:
    try:
        files = run.config.data.train
        # Held-out pairs are no training text; without any, the other texts need not be there any more.
        text_of = (
            read_texts(run.config).train if run.config.data.hold_out else read_parallel(files.source, files.target)
        )
        training = word_counts(text_of.target, tokenize=tokenize)
    except DataError as error:
        return {}, (f"no words by frequency, as the training text cannot be read: {error}",)
    found = {
        name: accuracy_by_frequency(lines, text.target, training, tokenize=tokenize)
        for name, lines in translated.items()
    }
    return found, ()
