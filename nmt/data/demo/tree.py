"""Abstract sentences: what is said, before either language gives it words and an order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nmt.data.demo.lexicon import Adjective, Gender, Noun, Verb

Case = Literal["nom", "acc", "dat", "gen"]
Tense = Literal["present", "past", "perfect", "future", "can", "must", "want", "should", "may", "could", "wanted"]


@dataclass(frozen=True)
class Fixed:
    """Words that never change, with the links between them: `0-1` links the first English and second German word."""

    english: str
    german: str
    links: str
    plural: bool = False


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun by its English nominative; `gender` is that of the noun an "it" stands for."""

    english: Literal["I", "he", "she", "it", "we", "they"]
    gender: Gender = "n"


@dataclass(frozen=True)
class Name:
    """A person or a city."""

    english: str
    german: str
    she: bool | None = None
    """Whether the person is a woman; None for cities."""


@dataclass(frozen=True)
class Relativizer:
    """ "who" or "that", agreeing with the noun before it."""

    gender: Gender
    plural: bool
    human: bool


@dataclass(frozen=True)
class NounPhrase:
    """A noun with what agrees with it.

    `determiner` is empty (bare), an English determiner ("the", "a", "no", "my", "this", "many" ...), or a name
    in the genitive ("Anna's").
    """

    noun: Noun
    determiner: str = "the"
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    numeral: str = ""
    of: NounPhrase | None = None
    relative: Clause | None = None

    @property
    def definite(self) -> bool:
        return self.determiner in ("the", "this", "my", "his", "her", "our", "their") or self.determiner.endswith("'s")


@dataclass(frozen=True)
class Conjoined:
    first: Phrase
    second: Phrase


Phrase = NounPhrase | Name | Pronoun | Conjoined | Relativizer | Fixed


@dataclass(frozen=True)
class Prepositional:
    """A preposition of both languages, the German case, and a phrase."""

    english: str
    german: str
    case: Case
    phrase: Phrase


@dataclass(frozen=True)
class Comparison:
    """ "as old as" or "older than" somebody."""

    kind: Literal["as", "than"]
    phrase: Phrase


@dataclass(frozen=True)
class Subordinate:
    """A clause with its conjunction, a key of `function_words.CONJUNCTIONS`."""

    conjunction: str
    clause: Clause


@dataclass(frozen=True)
class Infinitive:
    """ "in order to ..." (purpose) or "to ..." after "try"; the clause has no subject."""

    purpose: bool
    clause: Clause


@dataclass(frozen=True)
class Clause:
    """A verb with everything around it."""

    verb: Verb
    subject: Phrase | None = None
    tense: Tense = "present"
    negated: bool = False
    indirect: Phrase | None = None
    object: Phrase | None = None
    instead: Phrase | None = None
    """The second half of "not the coat but the hat"."""
    predicate: Adjective | None = None
    comparison: Comparison | None = None
    complement: Prepositional | Fixed | None = None
    adjuncts: tuple[Prepositional, ...] = ()
    time: Fixed | None = None
    fronted: bool = False
    """Whether the time comes first."""
    adverb: Fixed | None = None
    question: bool = False
    wh: Fixed | NounPhrase | None = None
    also: Clause | None = None
    """A second predicate of the same subject, after "and"."""
    opening: Subordinate | None = None
    extension: Subordinate | Infinitive | None = None


@dataclass(frozen=True)
class Exclamation:
    """ "What a beautiful house!" or, with `how`, "How beautiful the house is!"."""

    phrase: NounPhrase
    how: Adjective | None = None


@dataclass(frozen=True)
class Sentence:
    """Main clauses and the conjunctions between them ("and", "but")."""

    clauses: tuple[Clause | Exclamation, ...]
    conjunctions: tuple[str, ...] = ()
    mark: Literal[".", "?", "!"] = "."
