"""German words and their order.

The order is that of the fields of a German clause: prefield, finite verb, middle field, the rest of the verb, and the
clauses after it. In the middle field stand, in this order, the subject (unless it has the prefield), pronouns, the
time, definite objects, adverb or "nicht", indefinite objects, and prepositional phrases.
"""

from __future__ import annotations

from typing import Literal

from nmt.data.demo.english import agreement
from nmt.data.demo.function_words import CONJUNCTIONS, COORDINATORS, NUMERALS, VERY
from nmt.data.demo.morphology import adjective, auxiliary, determiner, finite, noun, pronoun, relative
from nmt.data.demo.tokens import COMMA, Word, Words, fixed_words, word
from nmt.data.demo.tree import (
    Case,
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

Order = Literal["main", "verb first", "verb last"]
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("in", "das"): "ins",
}


def phrase_words(phrase: Phrase, path: str, case: Case, negation: frozenset[str] = frozenset()) -> Words:
    """A noun phrase, name or pronoun; `negation` holds the keys of a "not" that turns "ein" into "kein"."""
    match phrase:
        case Fixed():
            return fixed_words(phrase, path, german=True)
        case Pronoun():
            return [word(pronoun(phrase.english, phrase.gender, case), path)]
        case Name():
            return [word(phrase.german, path)]
        case Relativizer():
            return [word(relative(phrase.gender, phrase.plural, case), path)]
        case Conjoined():
            first = phrase_words(phrase.first, path + ".1", case)
            return [*first, word("und", path + ".&"), *phrase_words(phrase.second, path + ".2", case)]
        case NounPhrase():
            return _noun_phrase(phrase, path, case, negation)


def _noun_phrase(phrase: NounPhrase, path: str, case: Case, negation: frozenset[str] = frozenset()) -> Words:
    gender, plural = phrase.noun.gender, phrase.plural
    article = "no" if negation else phrase.determiner
    words: Words = []
    if article.endswith("'s"):
        words.append(word(article.replace("'", ""), path + ".d"))
    elif article:
        words.append(word(determiner(article, gender, plural, case), path + ".d", *negation))
    if phrase.numeral:
        words.append(word(NUMERALS[phrase.numeral], path + ".q"))
    for index, item in enumerate(phrase.adjectives):
        words.append(word(adjective(item, article, gender, plural, case), f"{path}.a{index}"))
    words.append(word(noun(phrase.noun, plural, case), path + ".n"))
    if phrase.of:
        words += _noun_phrase(phrase.of, path + ".o", "gen")
    if phrase.relative and case == "nom":
        words += _relative(phrase.relative, path)
    return words


def _relative(clause: Clause, path: str) -> Words:
    """A relative clause between its commas; that of an object stands behind the rest of the verb (see `_tail`)."""
    return [COMMA, *clause_words(clause, path + ".r", "verb last"), COMMA]


def _prepositional(item: Prepositional, path: str) -> Words:
    phrase = phrase_words(item.phrase, path, item.case)
    short = CONTRACTIONS.get((item.german, phrase[0].text))
    if short and isinstance(item.phrase, NounPhrase) and item.phrase.determiner == "the":
        return [word(short, path + ".p", *phrase[0].keys), *phrase[1:]]
    return [word(item.german, path + ".p"), *phrase]


def _takes_kein(clause: Clause) -> bool:
    """Whether the object of a negated clause says "kein"."""
    item = clause.object
    return (
        clause.negated
        and clause.instead is None
        and isinstance(item, NounPhrase)
        and item.determiner in ("", "a")
        and not item.numeral
    )


def _verbal(clause: Clause, path: str, first: bool, plural: bool) -> tuple[Words, Words]:
    """The finite verb and what stands at the end of the clause."""
    verb, key, support = clause.verb, path + ".v", path + ".x"
    if clause.tense in ("present", "past"):
        end = [word(verb.prefix, key)] if verb.prefix else []
        return [word(finite(verb, clause.tense == "past", first, plural), key)], end
    if clause.tense == "perfect":
        helper = "sein" if verb.with_sein else "haben"
        return [word(auxiliary(helper, first, plural), support)], [word(verb.prefix + verb.german_participle, key)]
    modal = {"future": "werden", "must": "may" if clause.negated else "must"}.get(clause.tense, clause.tense)
    return [word(auxiliary(modal, first, plural), support)], [word(verb.prefix + verb.german, key)]


def _middle(clause: Clause, path: str) -> Words:
    """The middle field after the subject."""
    case: Case = "dat" if clause.verb.frame == "dat" else "acc"
    kein = _takes_kein(clause)
    pronouns: Words = []
    definite: Words = []
    indefinite: Words = []
    for item, key, own in ((clause.object, ".o", case), (clause.indirect, ".i", "dat")):
        if isinstance(item, Pronoun):
            pronouns += phrase_words(item, path + key, "dat" if own == "dat" else "acc")
    if clause.indirect and not isinstance(clause.indirect, Pronoun):
        definite += phrase_words(clause.indirect, path + ".i", "dat")
    item = clause.object
    if item and not isinstance(item, Pronoun | Relativizer):
        vague = isinstance(item, Fixed) or (isinstance(item, NounPhrase) and not item.definite)
        words = phrase_words(item, path + ".o", case, frozenset({path + ".x-"}) if kein else frozenset())
        if clause.instead:
            words += [COMMA, word("sondern", path + ".&"), *phrase_words(clause.instead, path + ".o2", case)]
            vague = True
        if vague:
            indefinite += words
        else:
            definite += words
    words = list(pronouns)
    if clause.time and not clause.fronted:
        words += fixed_words(clause.time, path + ".t", german=True)
    words += definite
    if clause.adverb and clause.adverb is not VERY:
        words += fixed_words(clause.adverb, path + ".b", german=True)
    if clause.negated and not kein:
        words.append(word("nicht", path + ".x-"))
    return words + indefinite + _last_of_middle(clause, path)


def _last_of_middle(clause: Clause, path: str) -> Words:
    words: Words = []
    adjuncts: Words = []
    for index, adjunct in enumerate(clause.adjuncts):
        adjuncts += _prepositional(adjunct, f"{path}.j{index}")
    if clause.predicate and clause.comparison:
        compared = phrase_words(clause.comparison.phrase, path + ".q", "nom")
        if clause.comparison.kind == "as":
            words += [word("so", path + ".as"), word(clause.predicate.german, path + ".p"), word("wie", path + ".q-")]
        else:
            words += [word(clause.predicate.german_comparative, path + ".p"), word("als", path + ".q-")]
        words += compared
    elif clause.predicate:
        if clause.adverb is VERY:
            words += fixed_words(clause.adverb, path + ".b", german=True)
        words.append(word(clause.predicate.german, path + ".p"))
    if isinstance(clause.complement, Fixed):
        words += fixed_words(clause.complement, path + ".c", german=True)
    elif clause.complement:
        words += _prepositional(clause.complement, path + ".c")
    return adjuncts + words


def _extension(item: Subordinate | Infinitive, path: str) -> Words:
    if isinstance(item, Subordinate):
        words = fixed_words(CONJUNCTIONS[item.conjunction], path + ".k", german=True)
        return [COMMA, *words, *clause_words(item.clause, path, "verb last"), COMMA]
    clause, verb = item.clause, item.clause.verb
    words = [COMMA, word("um", path + ".k")] if item.purpose else [COMMA]
    words += _middle(clause, path)
    if verb.prefix:
        words.append(word(f"{verb.prefix}zu{verb.german}", path + ".z", path + ".v"))
    else:
        words += [word("zu", path + ".z"), word(verb.german, path + ".v")]
    return [*words, *_tail(clause, path, "verb last", (False, False)), COMMA]


def _tail(clause: Clause, path: str, order: Order, agree: tuple[bool, bool]) -> Words:
    words: Words = []
    if isinstance(clause.object, NounPhrase) and clause.object.relative:
        words += _relative(clause.object.relative, path + ".o")
    if clause.also:
        second: Order = "verb last" if order == "verb last" else "verb first"
        words += [word("und", path + ".+"), *clause_words(clause.also, path + "+", second, agree)]
    if clause.extension:
        words += _extension(clause.extension, path + ".e")
    return words


def clause_words(clause: Clause, path: str, order: Order, agree: tuple[bool, bool] | None = None) -> Words:
    """A clause in the given order; `agree` is the subject's agreement where the clause has no subject."""
    agree = agree or agreement(clause.subject)
    front, end = _verbal(clause, path, *agree)
    subject = phrase_words(clause.subject, path + ".s", "nom") if clause.subject else []
    middle = _middle(clause, path)
    if isinstance(clause.object, Relativizer):
        subject = [*phrase_words(clause.object, path + ".o", "acc"), *subject]
    if order == "verb last":
        if clause.tense in ("present", "past") and end:
            verbs = [word(end[0].text + front[0].text, path + ".v")]
        else:
            verbs = [*end, *front]
        return [*subject, *middle, *verbs, *_tail(clause, path, order, agree)]
    if clause.opening:
        prefield = _extension(clause.opening, path + ".0")[1:]
    elif clause.wh:
        prefield = phrase_words(clause.wh, path + ".w", "acc")
    elif clause.time and clause.fronted:
        prefield = fixed_words(clause.time, path + ".t", german=True)
    else:
        prefield = []
    if order == "main" and not prefield and not clause.question:
        prefield, subject = subject, []
    return [*prefield, *front, *subject, *middle, *end, *_tail(clause, path, order, agree)]


def _exclamation(item: Exclamation, path: str) -> Words:
    if item.how is None:
        return [word("was", path + ".w"), word("für", path + ".w"), *_noun_phrase(item.phrase, path, "nom")]
    verb = word(auxiliary("sein", False, item.phrase.plural), path + ".v")
    words = [word("wie", path + ".w"), word(item.how.german, path + ".p")]
    return [*words, *_noun_phrase(item.phrase, path, "nom"), verb]


def sentence_words(sentence: Sentence) -> list[Word]:
    """All words of a sentence, commas among them."""
    words: Words = []
    for index, clause in enumerate(sentence.clauses):
        if index:
            conjunction = sentence.conjunctions[index - 1]
            comma = [COMMA] if conjunction == "but" else []
            words += [*comma, *fixed_words(COORDINATORS[conjunction], f"&{index}", german=True)]
        if isinstance(clause, Exclamation):
            words += _exclamation(clause, str(index))
        else:
            words += clause_words(clause, str(index), "main")
    return words
