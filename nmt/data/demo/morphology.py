"""German and English inflection: determiners, adjective endings, nouns, pronouns, verbs."""

from __future__ import annotations

import re

from nmt.data.demo.lexicon import Adjective, Gender, Noun, Verb
from nmt.data.demo.tree import Case, Tense

CASES: tuple[Case, ...] = ("nom", "acc", "dat", "gen")
# Rows of every table below: m, f, n, plural; columns: the four cases.
_DEFINITE = ("der den dem des", "die die der der", "das das dem des", "die die den der")
_LIKE_DIESER = ("er en em es", "e e er er", "es es em es", "e e en er")
_LIKE_EIN = ("- en em es", "e e er er", "- - em es", "e e en er")
_WEAK = ("e en en en", "e e en en", "e e en en", "en en en en")
_MIXED = ("er en en en", "e e en en", "es es en en", "en en en en")
_STRONG = ("er en em en", "e e er er", "es es em en", "e e en er")

_EIN_STEMS = {"a": "ein", "no": "kein", "my": "mein", "his": "sein", "her": "ihr", "our": "unser", "their": "ihr"}
_DIESER_STEMS = {"this": "dies", "which": "welch"}
_QUANTIFIER_STEMS = {"many": "viel", "some": "einig"}

PRONOUNS = {
    "I": "ich mich mir",
    "he": "er ihn ihm",
    "she": "sie sie ihr",
    "we": "wir uns uns",
    "they": "sie sie ihnen",
    "m": "er ihn ihm",
    "f": "sie sie ihr",
    "n": "es es ihm",
}
ENGLISH_OBJECT = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them", "it": "it"}
RELATIVES = ("der den dem", "die die der", "das das dem", "die die denen")

_AUXILIARIES = {
    "sein": ("bin", "ist", "sind"),
    "haben": ("habe", "hat", "haben"),
    "werden": ("werde", "wird", "werden"),
    "can": ("kann", "kann", "können"),
    "must": ("muss", "muss", "müssen"),
    "want": ("will", "will", "wollen"),
    "should": ("sollte", "sollte", "sollten"),
    "may": ("darf", "darf", "dürfen"),
    "could": ("konnte", "konnte", "konnten"),
    "wanted": ("wollte", "wollte", "wollten"),
}
_IRREGULAR_FIRST = {"mag": "mag", "weiß": "weiß", "ist": "bin"}


def _cell(table: tuple[str, ...], gender: Gender, plural: bool, case: Case) -> str:
    row = 3 if plural else "mfn".index(gender)
    return table[row].split()[CASES.index(case)].replace("-", "")


def determiner(word: str, gender: Gender, plural: bool, case: Case) -> str:
    """German determiner for an English one."""
    if word == "the":
        return _cell(_DEFINITE, gender, plural, case)
    if word in _EIN_STEMS:
        return _EIN_STEMS[word] + _cell(_LIKE_EIN, gender, plural, case)
    stem = _DIESER_STEMS.get(word) or _QUANTIFIER_STEMS[word]
    return stem + _cell(_LIKE_DIESER, gender, plural, case)


def adjective(item: Adjective, word: str, gender: Gender, plural: bool, case: Case) -> str:
    """The German adjective after the German determiner of `word` (an English determiner, or empty)."""
    if word == "the" or word in _DIESER_STEMS:
        table = _WEAK
    elif word in _EIN_STEMS:
        table = _MIXED
    else:
        table = _STRONG
    return item.stem + _cell(table, gender, plural, case)


def noun(item: Noun, plural: bool, case: Case) -> str:
    """The German noun in its case."""
    if plural:
        form = item.german_plural
        return form + "n" if case == "dat" and form[-1] not in "ns" else form
    if item.oblique and case != "nom":
        return item.oblique
    if case == "gen" and item.gender != "f":
        syllables = len(re.findall("[aeiouäöüy]+", item.german.lower()))
        return item.german + ("es" if syllables == 1 or item.german[-1] in "sßzx" else "s")
    return item.german


def pronoun(english: str, gender: Gender, case: Case) -> str:
    """German personal pronoun; `gender` counts for "it" alone."""
    return PRONOUNS[gender if english == "it" else english].split()[CASES.index(case)]


def relative(gender: Gender, plural: bool, case: Case) -> str:
    return _cell(RELATIVES, gender, plural, case)


def auxiliary(name: str, first: bool, plural: bool) -> str:
    """German finite form of haben, sein, werden or of the modal for an English one."""
    return _AUXILIARIES[name][2 if plural else 0 if first else 1]


def finite(verb: Verb, past: bool, first: bool, plural: bool) -> str:
    """German present or past, first or third person, without the separable prefix."""
    if past:
        ending = ("n" if verb.german_past.endswith("e") else "en") if plural else ""
        return verb.german_past + ending
    if plural:
        return "sind" if verb.german == "sein" else verb.german
    if first:
        return _IRREGULAR_FIRST.get(verb.german_third, verb.german.removesuffix("n").removesuffix("e") + "e")
    return verb.german_third


def english_finite(verb: Verb, past: bool, first: bool, plural: bool) -> str:
    """English present or past; `plural` covers every form without -s but "I am" and "I was"."""
    if verb.base == "be":
        if past:
            return "were" if plural else "was"
        return "are" if plural else "am" if first else "is"
    if past:
        return verb.past
    return verb.base if plural or first else verb.third


def english_auxiliary(tense: Tense, first: bool, plural: bool) -> str:
    """English finite auxiliary of a tense that has one."""
    if tense == "perfect":
        return "have" if plural or first else "has"
    if tense == "want":
        return "want" if plural or first else "wants"
    return {"future": "will"}.get(tense, tense)
