"""English words and their order."""

from __future__ import annotations

from nmt.data.demo.function_words import CONJUNCTIONS, COORDINATORS
from nmt.data.demo.morphology import ENGLISH_OBJECT, english_auxiliary, english_finite
from nmt.data.demo.tokens import COMMA, Word, Words, fixed_words, word
from nmt.data.demo.tree import (
    Clause,
    Conjoined,
    Exclamation,
    Fixed,
    Infinitive,
    Name,
    NounPhrase,
    Phrase,
    Prepositional,
    Pronoun,
    Relativizer,
    Sentence,
    Subordinate,
)


def agreement(phrase: Phrase | None) -> tuple[bool, bool]:
    """(first person singular, plural) of a subject."""
    match phrase:
        case Pronoun():
            return phrase.english == "I", phrase.english in ("we", "they")
        case NounPhrase() | Relativizer() | Fixed():
            return False, phrase.plural
        case Conjoined():
            return False, True
        case _:
            return False, False


def phrase_words(phrase: Phrase, path: str, subject: bool = False) -> Words:
    """A noun phrase, name or pronoun."""
    match phrase:
        case Fixed():
            return fixed_words(phrase, path, german=False)
        case Pronoun():
            return [word(phrase.english if subject else ENGLISH_OBJECT[phrase.english], path)]
        case Name():
            return [word(phrase.english, path)]
        case Relativizer():
            return [word("who" if phrase.human else "that", path)]
        case Conjoined():
            first = phrase_words(phrase.first, path + ".1", subject)
            return [*first, word("and", path + ".&"), *phrase_words(phrase.second, path + ".2", subject)]
        case NounPhrase():
            return _noun_phrase(phrase, path)


def _noun_phrase(phrase: NounPhrase, path: str) -> Words:
    noun = phrase.noun.english_plural if phrase.plural else phrase.noun.english
    words = [word(phrase.numeral, path + ".q")] if phrase.numeral else []
    words += [word(item.english, f"{path}.a{index}") for index, item in enumerate(phrase.adjectives)]
    words += [word(part, path + ".n") for part in noun.split()]
    if phrase.determiner:
        text = phrase.determiner
        if text == "this" and phrase.plural:
            text = "these"
        if text == "a" and words[0].text[0] in "aeiou":
            text = "an"
        words.insert(0, word(text, path + ".d"))
    if phrase.of:
        words += [word("of", path + ".o.d"), *_noun_phrase(phrase.of, path + ".o")]
    if phrase.relative:
        words += clause_words(phrase.relative, path + ".r")
    return words


def _negation(words: Words, path: str, text: str, key: str) -> Words:
    """An auxiliary with "not"; "can" and "not" are one word."""
    if text == "can":
        return [word("cannot", key, path + ".x-")]
    return [*words, word("not", path + ".x-")]


def _verbal(clause: Clause, path: str, first: bool, plural: bool) -> tuple[Words, Words]:
    """The finite auxiliary with its negation, and the words after it; the first is empty for a plain verb."""
    verb, key = clause.verb, path + ".v"
    asks = clause.question or clause.wh is not None
    lexical = [word(verb.base, key)]
    if clause.tense in ("present", "past"):
        past = clause.tense == "past"
        finite = [word(english_finite(verb, past, first, plural), key)]
        if verb.base == "be":
            return (_negation(finite, path, "be", key) if clause.negated else finite), []
        if not (clause.negated or asks):
            return [], finite
        support = "did" if past else "do" if plural or first else "does"
        auxiliary = [word(support, key)]
    else:
        support = english_auxiliary(clause.tense, first, plural)
        auxiliary = [word(support, path + ".x")]
        if clause.tense == "perfect":
            lexical = [word(verb.participle, key)]
        elif clause.tense in ("want", "wanted"):
            lexical = [word("to", key), *lexical]
            if clause.negated or asks:
                lexical = [word("want", path + ".x"), *lexical]
                support = "did" if clause.tense == "wanted" else "do" if plural or first else "does"
                auxiliary = [word(support, path + ".x")]
            else:
                return [], [*auxiliary, *lexical]
    key = next(iter(auxiliary[0].keys))
    return (_negation(auxiliary, path, support, key) if clause.negated else auxiliary), lexical


def _predicate(clause: Clause, path: str) -> Words:
    """Everything after the verb but the time, `also` and the extension."""
    words: Words = []
    particle = [word(part, path + ".v") for part in clause.verb.particle.split()]
    late = bool(particle) and not clause.verb.particle_early and isinstance(clause.object, Pronoun)
    if not late:
        words += particle
    if clause.indirect:
        words += phrase_words(clause.indirect, path + ".i")
    if clause.object and not isinstance(clause.object, Relativizer):
        words += phrase_words(clause.object, path + ".o")
    if clause.instead:
        words += [word("but", path + ".&"), *phrase_words(clause.instead, path + ".o2")]
    if late:
        words += particle
    if clause.predicate:
        words += _predicative(clause, path)
    if isinstance(clause.complement, Fixed):
        words += fixed_words(clause.complement, path + ".c", german=False)
    elif clause.complement:
        words += _prepositional(clause.complement, path + ".c")
    for index, adjunct in enumerate(clause.adjuncts):
        words += _prepositional(adjunct, f"{path}.j{index}")
    return words


def _predicative(clause: Clause, path: str) -> Words:
    adjective, comparison = clause.predicate, clause.comparison
    assert adjective is not None
    if comparison is None:
        return [word(adjective.english, path + ".p")]
    compared = phrase_words(comparison.phrase, path + ".q")
    if comparison.kind == "as":
        return [word("as", path + ".as"), word(adjective.english, path + ".p"), word("as", path + ".q-"), *compared]
    words = [word(part, path + ".p") for part in adjective.english_comparative.split()]
    return [*words, word("than", path + ".q-"), *compared]


def _prepositional(item: Prepositional, path: str) -> Words:
    words = [word(part, path + ".p") for part in item.english.split()]
    return [*words, *phrase_words(item.phrase, path)]


def _extension(item: Subordinate | Infinitive, path: str) -> Words:
    if isinstance(item, Subordinate):
        words = fixed_words(CONJUNCTIONS[item.conjunction], path + ".k", german=False)
        return words + clause_words(item.clause, path)
    clause = item.clause
    words = [word("in", path + ".k"), word("order", path + ".k")] if item.purpose else []
    words += [word("to", path + ".z"), word(clause.verb.base, path + ".v"), *_predicate(clause, path)]
    return words + _tail(clause, path)


def _tail(clause: Clause, path: str) -> Words:
    words: Words = []
    if clause.time and not clause.fronted:
        words += fixed_words(clause.time, path + ".t", german=False)
    if clause.also:
        words += [word("and", path + ".+"), *clause_words(clause.also, path + "+", agreement(clause.subject))]
    if clause.extension:
        words += _extension(clause.extension, path + ".e")
    return words


def clause_words(clause: Clause, path: str, agree: tuple[bool, bool] | None = None) -> Words:
    """A clause in its English order; `agree` is the subject's agreement where the clause has no subject."""
    first, plural = agree or agreement(clause.subject)
    auxiliary, lexical = _verbal(clause, path, first, plural)
    subject = phrase_words(clause.subject, path + ".s", subject=True) if clause.subject else []
    words: Words = []
    if clause.opening:
        words += [*_extension(clause.opening, path + ".0"), COMMA]
    if clause.time and clause.fronted:
        words += fixed_words(clause.time, path + ".t", german=False)
    if isinstance(clause.object, Relativizer):
        words += phrase_words(clause.object, path + ".o")
    adverb = fixed_words(clause.adverb, path + ".b", german=False) if clause.adverb else []
    if clause.question or clause.wh:
        if clause.wh:
            words += phrase_words(clause.wh, path + ".w")
        words += [*auxiliary[:1], *subject, *auxiliary[1:], *adverb, *lexical]
    else:
        words += [*subject, *auxiliary, *adverb, *lexical]
    return words + _predicate(clause, path) + _tail(clause, path)


def _exclamation(item: Exclamation, path: str) -> Words:
    if item.how is None:
        phrase = _noun_phrase(item.phrase, path)
        return [word("what", path + ".w"), *phrase]
    verb = word("are" if item.phrase.plural else "is", path + ".v")
    return [word("how", path + ".w"), word(item.how.english, path + ".p"), *_noun_phrase(item.phrase, path), verb]


def sentence_words(sentence: Sentence) -> list[Word]:
    """All words of a sentence, commas among them."""
    words: Words = []
    for index, clause in enumerate(sentence.clauses):
        if index:
            words += [COMMA, *fixed_words(COORDINATORS[sentence.conjunctions[index - 1]], f"&{index}", german=False)]
        if isinstance(clause, Exclamation):
            words += _exclamation(clause, str(index))
        else:
            words += clause_words(clause, str(index))
    return words
