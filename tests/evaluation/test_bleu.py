"""BLEU, chrF and TER: by hand, by brute force, and the checks that sacreBLEU leaves out."""

import math
import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.errors import ConfigError, DataError
from nmt.evaluation.bleu import LengthBucket, Score, bleu, bleu_by_length, chrf, ter, word_lengths

HYPOTHESES = ["The cat sat on the mat.", "A dog runs through tall grass.", "Two men are playing chess."]
REFERENCES = ["The cat sat on a mat.", "A dog runs through the tall grass.", "Two men play chess outside."]


def plain_bleu(hypotheses: list[str], references: list[str]) -> float:
    """BLEU as in its paper, with the smoothing of mteval (a count of zero becomes 1/2, then 1/4, ...)."""
    logs, halves = [], 0
    for n in range(1, 5):
        hits = total = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            found, wanted = (
                Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
                for words in (hypothesis.split(), reference.split())
            )
            hits, total = hits + (found & wanted).total(), total + found.total()
        if n == 1 and hits == 0:
            return 0.0
        halves += hits == 0
        if total == 0:
            return 0.0
        logs.append(math.log((hits or 0.5**halves) / total))
    length, wanted_length = (sum(len(line.split()) for line in lines) for lines in (hypotheses, references))
    penalty = min(1.0, math.exp(1 - wanted_length / length))
    return 100 * penalty * math.exp(sum(logs) / 4)


def test_bleu_by_hand() -> None:
    # "a b c d e" against "a b c d f g": 4/5, 3/4, 2/3, 1/2, whose product is 1/5; one word of six is missing.
    score = bleu(["a b c d e"], ["a b c d f g"])
    assert score.value == pytest.approx(100 * math.exp(1 - 6 / 5) * 0.2**0.25)
    assert (score.name, score.higher_is_better, score.interval) == ("BLEU", True, None)


sentences = st.lists(st.sampled_from("abcd"), min_size=1, max_size=9).map(" ".join)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6))
def test_bleu_agrees_with_its_definition(pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = [h for h, _ in pairs], [r for _, r in pairs]
    assert bleu(hypotheses, references, tokenize="none").value == pytest.approx(plain_bleu(hypotheses, references))


def test_bleu_is_cased_and_tokenizes_as_13a() -> None:
    assert bleu(["THE CAT SAT HERE TODAY"], ["the cat sat here today"]).value == 0
    # 13a parts the full stop from the word, so that both texts have the same five tokens.
    assert bleu(["the cat sat here ."], ["the cat sat here."]).value == pytest.approx(100)
    signature = bleu(HYPOTHESES, REFERENCES).signature.split("|")
    assert {"nrefs:1", "case:mixed", "eff:no", "tok:13a", "smooth:exp"} < set(signature)


def test_another_tokenizer_can_be_named() -> None:
    hypotheses, references = ["我们在北京吃饭"], ["我们在上海吃饭"]
    assert bleu(hypotheses, references).value == 0
    by_character = bleu(hypotheses, references, tokenize="zh")
    assert by_character.value > 10
    assert "tok:zh" in by_character.signature
    assert "tok:char" in bleu(hypotheses, references, tokenize="char").signature


def test_an_unknown_tokenizer_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'13b' .*13a, .*zh"):
        bleu(HYPOTHESES, REFERENCES, tokenize="13b")


def test_a_tokenizer_whose_package_is_missing_is_an_error_of_one_line(monkeypatch) -> None:
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_ja_mecab.MeCab", None)
    with pytest.raises(ConfigError, match=r"pip install sacrebleu\[ja\]") as caught:
        bleu(HYPOTHESES, REFERENCES, tokenize="ja-mecab")
    assert "\n" not in str(caught.value)


def test_chrf_by_hand() -> None:
    # "abc" against "abd": 2 of 3 letters, 1 of 2 pairs, 0 of 1 triples, precision and recall alike.
    score = chrf(["abc"], ["abd"])
    assert score.value == pytest.approx(100 * (2 / 3 + 1 / 2 + 0) / 3)
    assert (score.name, score.higher_is_better) == ("chrF2", True)
    assert "nc:6" in score.signature


def test_ter_by_hand() -> None:
    # One word is put in the place of another, and one is missing, of 4 + 4 words; then a phrase has moved, one edit.
    assert ter(["a b c x", "a b c"], ["a b c d", "a b c d"]).value == pytest.approx(100 * 2 / 8)
    score = ter(["c d a b"], ["a b c d"])
    assert score.value == pytest.approx(100 * 1 / 4)
    assert (score.name, score.higher_is_better) == ("TER", False)


def test_ter_is_cased_when_asked_for() -> None:
    assert ter(["A b"], ["a b"]).value == 0
    assert "case:lc" in ter(["A b"], ["a b"]).signature
    assert ter(["A b"], ["a b"], cased=True).value == 50
    assert "case:mixed" in ter(["A b"], ["a b"], cased=True).signature


def test_a_perfect_translation_has_the_best_scores_and_no_spread() -> None:
    for metric, best in ((bleu, 100), (chrf, 100), (ter, 0)):
        score = metric(REFERENCES, REFERENCES, interval=True, samples=40)
        assert score.value == pytest.approx(best)
        assert score.interval == pytest.approx(0, abs=1e-4)


def test_the_interval_is_the_95_percent_one() -> None:
    # 400 words, half of them wrong: the share of wrong ones in a resample has a standard deviation of 50 / sqrt(400).
    score = ter(["a", "x"] * 200, ["a", "b"] * 200, interval=True)
    assert score.value == 50
    assert score.interval == pytest.approx(1.96 * 50 / 20, rel=0.1)
    assert {"bs:1000", "seed:12345"} < set(score.signature.split("|"))


@pytest.mark.parametrize("metric", [bleu, chrf, ter])
def test_the_interval_depends_on_the_seed_alone(metric) -> None:
    first = metric(HYPOTHESES, REFERENCES, interval=True, samples=60, seed=7)
    assert first.interval > 0
    assert "seed:7" in first.signature
    assert "bs:60" in first.signature
    assert metric(HYPOTHESES, REFERENCES, interval=True, samples=60, seed=7) == first
    assert metric(HYPOTHESES, REFERENCES, interval=True, samples=60, seed=8).interval != first.interval
    assert metric(HYPOTHESES, REFERENCES).value == first.value


@pytest.mark.parametrize("before", [None, "99"])
def test_the_environment_is_left_as_it_was(before: str | None, monkeypatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    if before is not None:
        monkeypatch.setenv("SACREBLEU_SEED", before)
    assert "seed:5" in bleu(HYPOTHESES, REFERENCES, interval=True, samples=10, seed=5).signature
    assert os.environ.get("SACREBLEU_SEED") == before


@pytest.mark.parametrize("metric", [bleu, chrf, ter])
def test_texts_of_unequal_length_and_empty_ones_are_errors(metric) -> None:
    with pytest.raises(DataError, match="3 hypotheses and 2 references"):
        metric(HYPOTHESES, REFERENCES[:2])
    with pytest.raises(DataError, match="2 hypotheses and 3 references"):
        metric(HYPOTHESES[:2], REFERENCES)
    with pytest.raises(DataError, match="empty"):
        metric([], [])


def test_empty_lines_are_lines() -> None:
    assert bleu(["", *HYPOTHESES], ["Something.", *REFERENCES]).value < bleu(HYPOTHESES, REFERENCES).value
    assert bleu([""], ["a"]).value == 0
    assert ter([""], ["a b"]).value == 100


def test_a_score_for_people() -> None:
    assert Score("BLEU", 34.46, True, "s", 1.24).text() == "BLEU = 34.5 ± 1.2 (95 % interval)"
    assert Score("TER", 50.0, False, "s").text() == "TER = 50.0"


def test_a_score_for_json_files() -> None:
    scores = [score(HYPOTHESES, REFERENCES) for score in (bleu, chrf, ter)]
    assert [score.key for score in scores] == ["bleu", "chrf", "ter"]
    score = Score("BLEU", 34.46, True, "s", 1.24)
    assert score.as_dict() == {"value": 34.46, "interval": 1.24, "signature": "s"}


def test_words_are_counted_as_str_split_does() -> None:
    assert word_lengths(["", " a  b\t", "x"]) == [0, 2, 1]


def test_buckets_hold_the_sentences_of_their_lengths_both_ends_included() -> None:
    sources = ["w " * length for length in (0, 1, 2, 3, 4, 9)]
    hypotheses = ["a b c d", "a b c x", "x a b c d", "a b c d e", "e f g h", "a b c d"]
    references = ["a b c d", "a b c d", "a b c d e", "a b c d f", "e f g h", "e f g h"]
    assert bleu_by_length(sources, hypotheses, references, edges=(2, 4, 8)) == [
        LengthBucket(0, 2, 3, pytest.approx(plain_bleu(hypotheses[:3], references[:3]))),
        LengthBucket(3, 4, 2, pytest.approx(plain_bleu(hypotheses[3:5], references[3:5]))),
        LengthBucket(5, 8, 0, None),
        LengthBucket(9, None, 1, 0.0),
    ]


def test_default_buckets_and_none_at_all() -> None:
    buckets = bleu_by_length(HYPOTHESES, HYPOTHESES, REFERENCES)
    assert [(bucket.low, bucket.high) for bucket in buckets] == [(0, 10), (11, 20), (21, 30), (31, 40), (41, None)]
    (whole,) = bleu_by_length(HYPOTHESES, HYPOTHESES, REFERENCES, edges=())
    assert whole == LengthBucket(0, None, 3, bleu(HYPOTHESES, REFERENCES).value)


def test_buckets_refuse_texts_that_do_not_fit_and_edges_that_do_not_rise() -> None:
    with pytest.raises(DataError, match="2 sources and 3 references"):
        bleu_by_length(HYPOTHESES[:2], HYPOTHESES, REFERENCES)
    with pytest.raises(DataError, match="2 hypotheses and 3 references"):
        bleu_by_length(HYPOTHESES, HYPOTHESES[:2], REFERENCES)
    for edges in ((10, 10), (20, 10), (-1, 10)):
        with pytest.raises(ConfigError, match="length edges"):
            bleu_by_length(HYPOTHESES, HYPOTHESES, REFERENCES, edges=edges)


def test_sacrebleu_is_not_loaded_before_a_score_is_asked_for() -> None:
    code = "import sys, nmt.evaluation.bleu; sys.exit('sacrebleu' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_text_too_long_for_its_resamples_has_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bleu(HYPOTHESES, REFERENCES, interval=True).interval is not None
    monkeypatch.setattr("nmt.evaluation.bleu._MOST_SAMPLED", len(REFERENCES) - 1)
    with pytest.warns(UserWarning, match="no interval above"):
        score = bleu(HYPOTHESES, REFERENCES, interval=True)
    assert (score.interval, score.value) == (None, bleu(HYPOTHESES, REFERENCES).value)
