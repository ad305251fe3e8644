"""Paired tests against what must hold whatever the text, and word accuracy by frequency against a table by hand."""

from collections import Counter

import pytest

from nmt.errors import ConfigError, DataError
from nmt.evaluation.bleu import bleu, chrf, ter
from nmt.evaluation.significance import paired_tests, sentence_scores
from nmt.evaluation.words import accuracy_by_frequency, word_counts

REFERENCES = [f"the cat number {number} sits on the mat ." for number in range(40)]
PERFECT = list(REFERENCES)
WORSE = [line.replace("cat", "dog").replace("mat", "sofa") for line in REFERENCES]
NEARLY = [line.replace("sits", "sat") if number == 7 else line for number, line in enumerate(REFERENCES)]
FEW = {"samples": 200, "trials": 500}


def test_scores_are_those_of_the_metrics_alone() -> None:
    found = paired_tests({"a": PERFECT, "b": WORSE}, REFERENCES, **FEW)
    assert list(found) == ["BLEU", "chrF2", "TER"]
    for (name, test), metric in zip(found.items(), (bleu, chrf, ter), strict=True):
        for system, lines in (("a", PERFECT), ("b", WORSE)):
            assert test.systems[system].value == pytest.approx(metric(lines, REFERENCES).value), name
        assert "bs:200" in test.signature
        assert "seed:12345" in test.signature


def test_a_large_difference_is_significant_and_none_is_not() -> None:
    for test in paired_tests({"base": WORSE, "same": WORSE, "better": PERFECT}, REFERENCES, **FEW).values():
        base, same, better = test.systems.values()
        assert (base.p_bootstrap, base.p_randomisation) == (None, None)
        assert better.p_bootstrap is not None
        assert better.p_randomisation is not None
        assert max(better.p_bootstrap, better.p_randomisation) < 0.01
        assert (same.p_bootstrap, same.p_randomisation) == (1.0, 1.0)


def test_one_sentence_of_many_is_luck() -> None:
    for test in paired_tests({"base": NEARLY, "better": PERFECT}, REFERENCES, **FEW).values():
        assert test.systems["better"].p_randomisation == 1.0  # exchanged or not, the difference is as large


def test_a_tests_seed_is_its_own() -> None:
    systems = {"a": PERFECT, "b": NEARLY}
    assert paired_tests(systems, REFERENCES, **FEW) == paired_tests(systems, REFERENCES, **FEW)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ConfigError, match="compares two systems or more"):
        paired_tests({"a": PERFECT}, REFERENCES)
    with pytest.raises(DataError, match="39 translations by b and 40 references"):
        paired_tests({"a": PERFECT, "b": WORSE[1:]}, REFERENCES)


def test_sentences_are_scored_one_by_one() -> None:
    scores = sentence_scores(["the cat", "a dog"], ["the cat", "the cat"])
    assert scores[0] == pytest.approx(100.0)
    assert scores[1] < 30.0


def test_words_are_counted_as_bleu_splits_them() -> None:
    assert word_counts(["The cat, the mat."]) == {"The": 1, "cat": 1, ",": 1, "the": 1, "mat": 1, ".": 1}
    assert word_counts(["我们"], tokenize="zh") == {"我": 1, "们": 1}


def test_accuracy_by_frequency_by_hand() -> None:
    training = Counter({"the": 10, "cat": 1, "sat": 2, "dog": 1})
    hypotheses = ["the the cat sat", "a unicorn"]
    references = ["the cat sat the sat", "a dog"]
    never, once, more = accuracy_by_frequency(hypotheses, references, training, edges=(1, 2))
    # never in training: a (right), unicorn (wrong)
    assert (never.low, never.high, never.wanted, never.translated, never.matched) == (0, 0, 1, 2, 1)
    assert (never.precision, never.recall, never.f) == (0.5, 1.0, pytest.approx(2 / 3))
    # once: cat (right), dog (missed)
    assert (once.low, once.high, once.wanted, once.translated, once.matched) == (1, 1, 2, 1, 1)
    # twice or more: the the (right), sat (one of two)
    assert (more.low, more.high, more.wanted, more.translated, more.matched) == (2, None, 4, 3, 3)


def test_a_bucket_without_words_has_no_score() -> None:
    buckets = accuracy_by_frequency(["cat"], ["cat"], Counter({"cat": 3}))
    assert [bucket.f for bucket in buckets] == [None, None, 1.0, None, None, None, None]
    assert (buckets[0].precision, buckets[0].recall) == (None, None)
