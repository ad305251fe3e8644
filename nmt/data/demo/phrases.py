"""Random noun phrases: which nouns, determiners and adjectives go together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from nmt.data.demo import adjectives, nouns
from nmt.data.demo.draw import Draw
from nmt.data.demo.function_words import NUMERALS
from nmt.data.demo.lexicon import Adjective, Noun, all_adjectives, all_nouns, cities, unseen_compounds
from nmt.data.demo.tree import Conjoined, Name, NounPhrase, Phrase, Pronoun
from nmt.data.demo.verb_groups import tags

PEOPLE = tuple(Name(name, name, she=False) for name in nouns.MEN.split()) + tuple(
    Name(name, name, she=True) for name in nouns.WOMEN.split()
)
PRONOUNS = (Pronoun("I"), Pronoun("he"), Pronoun("she"), Pronoun("we"), Pronoun("they"))
CITIES = tuple(Name(english, german) for english, german in cities().items())
_OWN = {"I": "my", "he": "his", "she": "her", "we": "our", "they": "their"}
_COUNTABLE = (
    (("the", False), 38),
    (("a", False), 26),
    (("own", False), 10),
    (("the", True), 9),
    (("", True), 6),
    (("numeral", True), 4),
    (("this", False), 4),
    (("this", True), 2),
    (("own", True), 3),
    (("many", True), 2),
    (("some", True), 2),
    (("no", False), 2),
    (("genitive", False), 8),
)
_MASS = ((("the", False), 40), (("", False), 35), (("own", False), 8), (("this", False), 8), (("no", False), 5))
_COMPOUND_SHARE = 0.16
# What somebody can own, and what it can be like while somebody makes it.
_OWNED = tags("goods mail vehicle animal tale print room tool")
_OWNED_NAMES = tags("house garden")
_MADE = tags("big small beautiful long short good interesting important modern warm red green blue white black")


@cache
def nouns_with(wanted: frozenset[str], compound: bool, unseen: bool) -> tuple[Noun, ...]:
    """Nouns that have any of the wanted, or names; compounds only, or simple nouns only."""
    return tuple(
        noun
        for noun in all_nouns().values()
        if (noun.tags & wanted or (noun.parts[1] if noun.parts else noun.english) in wanted)
        and (noun.parts is not None) == compound
        and (unseen or noun.english not in unseen_compounds())
    )


@cache
def adjectives_for(noun: Noun) -> tuple[Adjective, ...]:
    return tuple(item for item in all_adjectives().values() if item.tags & noun.tags)


def pronoun_for(phrase: Phrase | None) -> Pronoun | None:
    """The pronoun that takes up a person, or several; None where English and German may differ."""
    match phrase:
        case Pronoun():
            return phrase
        case Name():
            return Pronoun("she" if phrase.she else "he")
        case Conjoined():
            return Pronoun("they")
        case NounPhrase():
            if "person" not in phrase.noun.tags:
                return None
            if phrase.plural:
                return Pronoun("they")
            return next((Pronoun(word) for word in ("he", "she") if word in phrase.noun.tags), None)
        case _:
            return None


@dataclass(frozen=True)
class Phrases:
    """Draws phrases; `unseen` admits the compounds that are kept for the test set."""

    draw: Draw
    unseen: bool = False

    def noun(self, wanted: frozenset[str]) -> Noun:
        compounds = nouns_with(wanted, True, self.unseen)
        share = _COMPOUND_SHARE if len(compounds) > 2 else _COMPOUND_SHARE / 2
        if compounds and self.draw.chance(share):
            unseen = [noun for noun in compounds if noun.english in unseen_compounds()]
            return self.draw.pick(unseen if unseen and self.draw.chance(0.25) else compounds)
        return self.draw.pick(nouns_with(wanted, False, self.unseen))

    def adjectives(self, noun: Noun, share: float = 0.3, made: bool = False) -> tuple[Adjective, ...]:
        """None, one, or (a size before a colour) two adjectives; `made` is for what the sentence has somebody make."""
        fitting = adjectives_for(noun)
        if made:
            fitting = tuple(item for item in fitting if item.english in _MADE)
        if not fitting or not self.draw.chance(share):
            return ()
        first = self.draw.pick(fitting)
        colours = [item for item in fitting if item.english in adjectives.COLOURS]
        if first.english in adjectives.SIZES and colours and self.draw.chance(0.15):
            return first, self.draw.pick(colours)
        return (first,)

    def owner_word(self, owner: Phrase | None) -> str:
        """The possessive that goes with a subject, or "my" and "our"."""
        pronoun = pronoun_for(owner)
        if pronoun is not None and pronoun.english in _OWN:
            return _OWN[pronoun.english]
        return self.draw.pick(("my", "our"))

    def genitive(self) -> str:
        return self.draw.pick(PEOPLE).english + "'s"

    def thing(self, wanted: frozenset[str], owner: Phrase | None = None, negated: bool = False) -> NounPhrase:
        """A thing, an animal or a place as an object; a negated clause takes no quantity."""
        noun = self.noun(wanted)
        word, plural = self.draw.weighted(_COUNTABLE if noun.countable else _MASS)
        owned = noun.english in _OWNED_NAMES or (bool(noun.tags & _OWNED) and "public" not in noun.tags)
        if word in ("own", "genitive") and not owned:
            word = "the"
        if "several" in noun.tags:
            word, plural = "" if word == "a" else word, True
        if negated and word in ("many", "some", "no", "numeral"):
            word, plural = "the", False
        if word == "own":
            word = self.owner_word(owner)
        if word == "genitive":
            word = self.genitive()
        numeral = self.draw.pick(tuple(NUMERALS)[:6]) if word == "numeral" else ""
        if numeral:
            word = "the" if self.draw.chance(0.25) else ""
        phrase = NounPhrase(noun, word, plural, self.adjectives(noun), numeral)
        if word == "the" and not numeral and owned and self.draw.chance(0.1):
            phrase = replace(phrase, of=self.possessor())
        return phrase

    def possessor(self) -> NounPhrase:
        """Somebody in the genitive, after "of"."""
        noun = self.noun(frozenset({"person"}))
        if "kin" in noun.tags:
            return NounPhrase(noun, self.draw.pick(("my", "our")), "one" not in noun.tags and self.draw.chance(0.2))
        return NounPhrase(noun, "the", self.draw.chance(0.25), self.adjectives(noun, 0.15))

    def place(self, wanted: frozenset[str]) -> NounPhrase:
        """A place after a preposition: mostly "the", sometimes with an adjective."""
        noun = self.noun(wanted)
        word = self.draw.weighted((("the", 75), ("a", 14), ("this", 5), ("our", 6)))
        return NounPhrase(noun, word, False, self.adjectives(noun, 0.22))

    def person(self, wanted: frozenset[str], owner: Phrase | None = None, definite: bool = False) -> NounPhrase:
        """A person or an animal as a noun phrase."""
        noun = self.noun(wanted)
        if "kin" in noun.tags:
            word, plural = self.owner_word(owner), "one" not in noun.tags and self.draw.chance(0.25)
            if self.draw.chance(0.2):
                word = self.genitive()
            return NounPhrase(noun, word, plural, self.adjectives(noun, 0.12))
        options = (
            (("the", False), 52),
            (("a", False), 0 if definite else 14),
            (("the", True), 16),
            (("this", False), 5),
        )
        more = ((("", True), 0), (("numeral", True), 0 if definite else 5), (("many", True), 0 if definite else 3))
        word, plural = self.draw.weighted(
            (*options, *more, (("this", True), 3), (("some", True), 0 if definite else 2))
        )
        numeral = self.draw.pick(tuple(NUMERALS)[:6]) if word == "numeral" else ""
        if numeral:
            word = "the" if self.draw.chance(0.3) else ""
        return NounPhrase(noun, word, plural, self.adjectives(noun, 0.25), numeral)

    def subject(self, wanted: frozenset[str], definite: bool = False) -> Phrase:
        """Somebody who does something."""
        people = wanted & tags("person adult kin kid")
        if not people or (wanted != people and self.draw.chance(0.2)):
            return self.person(wanted - people, definite=definite)
        kind = self.draw.weighted((("noun", 52), ("name", 20), ("pronoun", 22), ("two", 6)))
        if kind == "name":
            return self.draw.pick(PEOPLE)
        if kind == "pronoun":
            return self.draw.pick((PRONOUNS[0], PRONOUNS[1], PRONOUNS[2], *PRONOUNS))
        if kind == "two":
            first = self.draw.pick(PEOPLE)
            second: Phrase = self.draw.pick([name for name in PEOPLE if name != first])
            if self.draw.chance(0.4):
                second = replace(self.person(frozenset({"kin"}), owner=first), plural=False)
            return Conjoined(first, second)
        return self.person(people, definite=definite)

    def somebody(self, subject: Phrase | None, definite: bool = False) -> Phrase:
        """A person as an object: not the subject again."""
        kind = self.draw.weighted((("noun", 60), ("name", 18), ("pronoun", 22)))
        own = subject.english if isinstance(subject, Pronoun) else ""
        if kind == "pronoun":
            first = own in ("I", "we")
            barred = ("I", "we") if first else (own,)
            return self.draw.pick([item for item in PRONOUNS if item.english not in barred])
        if kind == "name":
            return self.draw.pick([name for name in PEOPLE if name != subject])
        person = self.person(frozenset({"person"}), owner=subject, definite=definite)
        while isinstance(subject, NounPhrase) and subject.noun == person.noun:
            person = self.person(frozenset({"person"}), owner=subject, definite=definite)
        return person
