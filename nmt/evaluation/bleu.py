"""BLEU, chrF and TER by sacreBLEU, with signatures, 95 % intervals, and the checks that sacreBLEU leaves out.

Texts are detokenized and cased: what a reader would read. sacreBLEU tokenizes them itself, so that scores compare
across papers (Post 2018, "A call for clarity in reporting BLEU scores").
"""

import bisect
import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nmt.errors import ConfigError, DataError

if TYPE_CHECKING:
    from sacrebleu import BLEU
    from sacrebleu.metrics.base import Metric

# sacreBLEU is imported inside the functions: it takes as long to load as all else that a quick command needs.

_MOST_SAMPLED = 20_000
"""Lines; sacreBLEU holds the counts of all resamples at once, 72 KB a line for chrF."""
_WITHOUT_SPACES = frozenset({"ja", "ko", "th", "lo", "km", "my"})


@dataclass(frozen=True)
class Score:
    """A score of a whole test set, on a scale of 0 to 100 (TER: 0 and above).

    `signature` is sacreBLEU's and names all that the value depends on; `interval` is half the width of the 95 %
    interval by bootstrap resampling of sentences (Koehn 2004), None where none was asked for, or the text
    is too long for it (20,000 lines).
    """

    name: str
    value: float
    higher_is_better: bool
    signature: str
    interval: float | None = None

    def text(self) -> str:
        """The score for people, to one decimal: `BLEU = 34.5 ± 1.2 (95 % interval)`."""
        spread = "" if self.interval is None else f" ± {self.interval:.1f} (95 % interval)"
        return f"{self.name} = {self.value:.1f}{spread}"

    @property
    def key(self) -> str:
        """What JSON files call it: `bleu`, `chrf` or `ter`."""
        return self.name.lower().rstrip("0123456789")

    def as_dict(self) -> dict[str, float | str | None]:
        """The score for JSON files."""
        return {"value": self.value, "interval": self.interval, "signature": self.signature}


@dataclass(frozen=True)
class LengthBucket:
    """BLEU of the sentences whose source has `low` to `high` words, both included.

    `high` is None in the last bucket, which has no upper end; `bleu` is None in a bucket without sentences.
    """

    low: int
    high: int | None
    sentences: int
    bleu: float | None


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    interval: bool = False,
    seed: int = 12345,
    samples: int = 1000,
    tokenize: str | None = None,
) -> Score:
    """Corpus BLEU: brevity penalty · exp(mean of log n-gram precisions, n = 1 to 4) (Papineni et al. 2002).

    `tokenize` names sacreBLEU's tokenizer: `13a` unless given; `zh`, `ja-mecab`, `ko-mecab` or `char` for scripts
    without blanks. `interval` adds the 95 % interval of `samples` resamples drawn with `seed`.

    Raises DataError where the texts differ in length or are empty, ConfigError on a tokenizer that is unknown or not
    installed.
    """
    return _score(lambda: _bleu_metric(tokenize), hypotheses, references, True, samples if interval else 1, seed)


def chrf(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    interval: bool = False,
    seed: int = 12345,
    samples: int = 1000,
) -> Score:
    """Corpus chrF2: F-score of character n-grams, n = 1 to 6, recall weighing twice (Popović 2015).

    Interval and errors as for `bleu`; it needs no tokenizer.
    """

    def metric() -> "Metric":
        from sacrebleu import CHRF

        return CHRF()

    return _score(metric, hypotheses, references, True, samples if interval else 1, seed)


def ter(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    interval: bool = False,
    seed: int = 12345,
    samples: int = 1000,
    cased: bool = False,
) -> Score:
    """Corpus TER: edits, shifts of phrases counting as one, per 100 reference words (Snover et al. 2006).

    Lower is better. Words are lower-cased unless `cased`, for that is what `sacrebleu -m ter` and the published figures
    do; the signature says which it was. Interval and errors as for `bleu`.
    """

    def metric() -> "Metric":
        from sacrebleu import TER

        return TER(case_sensitive=cased)

    return _score(metric, hypotheses, references, False, samples if interval else 1, seed)


def word_lengths(sentences: Sequence[str]) -> list[int]:
    """The number of words, as `str.split()` finds them, of each sentence."""
    return [len(sentence.split()) for sentence in sentences]


def bleu_by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    edges: Sequence[int] = (10, 20, 30, 40),
    *,
    tokenize: str | None = None,
) -> list[LengthBucket]:
    """Corpus BLEU of the sentences of each source length: 0 to edges[0] words, edges[0] + 1 to edges[1], …, and beyond.

    Every bucket is in the result, those without sentences too, so that two systems' lists compare line by line.

    Raises DataError where the texts differ in length or are empty, ConfigError on edges that do not rise from 0 up or
    on a tokenizer as for `bleu`.
    """
    edges = list(edges)
    if edges != sorted(set(edges)) or (edges and edges[0] < 0):
        raise ConfigError(f"length edges {edges}: allowed are whole numbers from 0 up, each above the one before")
    check_lines(sources, references, "sources")
    check_lines(hypotheses, references, "hypotheses")
    members: list[list[int]] = [[] for _ in range(len(edges) + 1)]
    for number, length in enumerate(word_lengths(sources)):
        members[bisect.bisect_left(edges, length)].append(number)
    lows, highs = [0, *(edge + 1 for edge in edges)], [*edges, None]
    return [
        LengthBucket(
            low=low,
            high=high,
            sentences=len(numbers),
            bleu=bleu([hypotheses[n] for n in numbers], [references[n] for n in numbers], tokenize=tokenize).value
            if numbers
            else None,
        )
        for low, high, numbers in zip(lows, highs, members, strict=True)
    ]


def metrics_for(tokenize: str | None) -> "dict[str, Metric]":
    """sacreBLEU's metrics as `bleu`, `chrf` and `ter` use them, by their names in sacreBLEU; errors as for `bleu`."""
    from sacrebleu import CHRF, TER

    return {"BLEU": _bleu_metric(tokenize), "chrF2": CHRF(), "TER": TER()}


def word_tokenizer(tokenize: str | None) -> Callable[[str], list[str]]:
    """What splits a line into words as BLEU does; errors as for `bleu`."""
    tokenizer = _bleu_metric(tokenize).tokenizer

    def split(line: str) -> list[str]:
        return tokenizer(line.rstrip()).split()  # type: ignore[no-any-return]

    return split


def _bleu_metric(tokenize: str | None) -> "BLEU":
    from sacrebleu import BLEU

    if tokenize is not None and tokenize not in BLEU.TOKENIZERS:
        raise ConfigError(
            f"{tokenize!r} is no tokenizer of sacreBLEU; allowed are {', '.join(sorted(BLEU.TOKENIZERS))}"
        )
    try:
        return BLEU(tokenize=tokenize)
    except (ImportError, RuntimeError, OSError) as error:
        # What is missing differs: a package for Japanese or Korean, a downloaded model for the spm family.
        reason = " ".join(str(error).split())
        raise ConfigError(f"sacreBLEU's tokenizer {tokenize!r} cannot be used here: {reason}") from error


def _score(
    make_metric: Callable[[], "Metric"],
    hypotheses: Sequence[str],
    references: Sequence[str],
    higher_is_better: bool,
    samples: int,
    seed: int,
) -> Score:
    check_lines(hypotheses, references, "hypotheses")
    if samples > 1 and len(references) > _MOST_SAMPLED:
        warnings.warn(f"no interval above {_MOST_SAMPLED:,} lines: its samples would not fit into memory", stacklevel=2)
        samples = 1
    metric = make_metric()
    with sacrebleu_seed(seed):
        try:
            score = metric.corpus_score(hypotheses, [references], n_bootstrap=samples)
        except TypeError:
            # Where some resamples score exactly 0, sacreBLEU mixes two kinds of float that its mean refuses. A text of
            # which that is true has no interval worth telling.
            samples = 1
            score = metric.corpus_score(hypotheses, [references])
    signature = metric.get_signature().format()
    half_width = None
    if samples > 1:
        # The JSON form is where sacreBLEU publishes the interval; it leaves it out where every resample scored 0.
        half_width = json.loads(score.format(width=6, is_json=True, signature=signature)).get("confidence_var", 0.0)
    return Score(score.name, score.score, higher_is_better, signature, half_width)


def check_lines(texts: Sequence[str], references: Sequence[str], name: str) -> None:
    """Raise DataError unless there are as many `texts` as references; sacreBLEU cuts the longer list in silence."""
    if len(texts) != len(references):
        raise DataError(
            f"{len(texts)} {name} and {len(references)} references were given; allowed is one reference for each line; "
            f"check that both files belong to the same test set"
        )
    if not references:
        raise DataError("no line to score: the texts are empty; give files with at least one line")


@contextmanager
def sacrebleu_seed(seed: int) -> Iterator[None]:
    """Set the seed of sacreBLEU's resampling, which it takes from the environment alone, then put back what was."""
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before


def tokenizer_for(language: str) -> str | None:
    """sacreBLEU's tokenizer for a target language: None (13a) where words stand between spaces.

    Chinese has its own; the other languages without spaces are scored by characters, which needs no further package.
    """
    code = language.lower().split("-")[0].split("_")[0]
    return "zh" if code == "zh" else "char" if code in _WITHOUT_SPACES else None
