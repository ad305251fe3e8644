"""N-grams that one of two systems matches more often: by hand, and turned round."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.errors import DataError
from nmt.evaluation.ngrams import NgramMatches, compare_ngrams, ngram_matches

REFERENCES = ["the cat sat on the mat", "the dog sat"]
BASE = ["the cat sat on a mat", "a dog sat"]
OTHER = ["the the the", "the dog sat down"]


def test_matches_by_hand() -> None:
    words = {("the",): 1, ("cat",): 1, ("sat",): 2, ("on",): 1, ("mat",): 1, ("dog",): 1}
    pairs = {("the", "cat"): 1, ("cat", "sat"): 1, ("sat", "on"): 1, ("dog", "sat"): 1}
    longer = {("the", "cat", "sat"): 1, ("cat", "sat", "on"): 1, ("the", "cat", "sat", "on"): 1}
    assert ngram_matches(BASE, REFERENCES) == {**words, **pairs, **longer}
    assert ngram_matches(BASE, REFERENCES, longest=1) == words
    # The first line has "the" three times, its reference twice; none of them may count for the second line.
    assert ngram_matches(OTHER, REFERENCES, longest=1) == {("the",): 3, ("dog",): 1, ("sat",): 1}


def test_differences_by_hand() -> None:
    found = compare_ngrams(BASE, OTHER, REFERENCES, 10)
    two = pytest.approx(math.log(2.0))
    assert found.better == (
        NgramMatches(("the",), 3, 1, 3, two),
        NgramMatches(("the", "dog", "sat"), 1, 0, 1, two),
        NgramMatches(("the", "dog"), 1, 0, 1, two),
    )
    assert [" ".join(one.words) for one in found.worse] == [
        *("the cat sat on", "cat sat on", "the cat sat", "cat sat", "sat on", "the cat", "cat", "mat", "on", "sat")
    ]
    assert found.worse[-1] == NgramMatches(("sat",), 2, 2, 1, pytest.approx(math.log(2.0 / 3.0)))
    fewer = compare_ngrams(BASE, OTHER, REFERENCES, 2)
    assert (fewer.better, fewer.worse) == (found.better[:2], found.worse[:2])


def test_smoothing_puts_what_is_seen_often_first() -> None:
    """Three matches against none say more than one against none, which without α would be the same."""
    references = ["a b"] * 3 + ["c d"]
    found = compare_ngrams(["x"] * 4, references, references, 10, longest=1)
    assert [(one.words, one.log_odds) for one in found.better] == [
        (("a",), pytest.approx(math.log(4.0))),
        (("b",), pytest.approx(math.log(4.0))),
        (("c",), pytest.approx(math.log(2.0))),
        (("d",), pytest.approx(math.log(2.0))),
    ]


def test_words_are_those_of_bleu() -> None:
    (one,) = compare_ngrams(["Hat"], ["hat."], ["hat"], 10).better
    assert one.words == ("hat",)
    assert compare_ngrams(["Hat"], ["hat."], ["hat"], 10).worse == ()
    found = compare_ngrams(["他"], ["我们"], ["我们"], 10, tokenize="zh").better
    assert [one.words for one in found] == [("我", "们"), ("们",), ("我",)]


def test_texts_of_unequal_length_are_refused() -> None:
    with pytest.raises(DataError, match="1 hypotheses and 2 references"):
        compare_ngrams(["a"], ["a", "b"], ["a", "b"], 10)


TEXTS = st.lists(
    st.tuples(*[st.lists(st.sampled_from("abc"), max_size=7).map(" ".join)] * 3), min_size=1, max_size=5
).map(lambda rows: tuple(zip(*rows, strict=True)))


@given(TEXTS, st.integers(0, 12))
def test_turned_round_the_lists_change_places(texts: tuple[tuple[str, ...], ...], count: int) -> None:
    base, other, references = texts
    forward, back = compare_ngrams(base, other, references, count), compare_ngrams(other, base, references, count)

    def counts(found: tuple[NgramMatches, ...]) -> list[tuple[tuple[str, ...], int, int, int]]:
        return [(one.words, one.wanted, one.base, one.other) for one in found]

    for one, two in ((forward.better, back.worse), (forward.worse, back.better)):
        assert counts(one) == [(words, wanted, second, first) for words, wanted, first, second in counts(two)]
        assert [each.log_odds for each in one] == pytest.approx([-each.log_odds for each in two])
    assert all(one.base < one.other <= one.wanted for one in forward.better)
    assert all(one.other < one.base <= one.wanted for one in forward.worse)


@given(TEXTS)
def test_equal_translations_differ_in_no_ngram(texts: tuple[tuple[str, ...], ...]) -> None:
    base, _, references = texts
    found = compare_ngrams(base, base, references, 10)
    assert (found.better, found.worse) == ((), ())


@given(TEXTS)
def test_a_reference_matches_all_of_itself(texts: tuple[tuple[str, ...], ...]) -> None:
    """Against a text of other words: every n-gram of the references, as often as wanted."""
    _, _, references = texts
    found = compare_ngrams(["x"] * len(references), references, references, 1000)
    expected = {
        tuple(words[start:end])
        for words in map(str.split, references)
        for start in range(len(words))
        for end in range(start + 1, min(start + 4, len(words)) + 1)
    }
    assert {one.words for one in found.better} == expected
    assert all(one.wanted == one.other for one in found.better)
