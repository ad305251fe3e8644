"""The words of the demo corpus: what a noun, an adjective and a verb are, and how the tables become them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from nmt.data.demo import adjectives, nouns, verbs

Gender = Literal["m", "f", "n"]
GENDERS: dict[str, Gender] = {"m": "m", "f": "f", "n": "n"}


@dataclass(frozen=True)
class Noun:
    """A noun of both languages; a compound has two English words and one German one."""

    english: str
    english_plural: str
    gender: Gender
    german: str
    german_plural: str
    oblique: str
    """Singular outside the nominative, for weak nouns ("den Jungen"); empty for the others."""
    tags: frozenset[str]
    parts: tuple[str, str] | None = None
    """Both parts of a compound, in English."""

    @property
    def countable(self) -> bool:
        return bool(self.german_plural)


@dataclass(frozen=True)
class Adjective:
    """An adjective; the comparatives are empty where the corpus does not compare."""

    english: str
    german: str
    english_comparative: str
    german_comparative: str
    tags: frozenset[str]

    @property
    def stem(self) -> str:
        """What German endings are added to ("müde", "müd-es")."""
        return self.german.removesuffix("e")


@dataclass(frozen=True)
class Verb:
    """A verb of both languages and what it governs.

    Frames: `acc`, `dat`, `dat acc` (objects), `acc put` (object and goal), `for:auf:acc` (a preposition in English, in
    German, its case), `be`, `price`, clauses (`that`, `try`), and the adverbials an intransitive verb takes.
    """

    base: str
    third: str
    past: str
    participle: str
    particle: str
    particle_early: bool
    """The particle stands before a pronoun too ("look for it"); otherwise after it ("turn it on")."""
    german: str
    german_third: str
    german_past: str
    german_participle: str
    prefix: str
    with_sein: bool
    frame: str
    objects: frozenset[str]
    subjects: frozenset[str]
    unused: str

    @property
    def name(self) -> str:
        """The English verb with its particle, unique together with the frame."""
        return f"{self.base} {self.particle}".strip()


def _known(form: str) -> str:
    return "" if form == "-" else form.replace("_", " ")


def _noun(line: str) -> Noun:
    english, plural, gender, german, german_plural, oblique, *tags = line.split()
    forms = (english, _known(plural), GENDERS[gender], german, _known(german_plural), _known(oblique))
    return Noun(*forms, frozenset(tags))


def _compound(first: str, german_first: str, second: Noun) -> Noun:
    return Noun(
        english=f"{first} {second.english}",
        english_plural=f"{first} {second.english_plural}" if second.countable else "",
        gender=second.gender,
        german=german_first + second.german.lower(),
        german_plural=german_first + second.german_plural.lower() if second.countable else "",
        oblique=german_first + second.oblique.lower() if second.oblique else "",
        tags=second.tags,
        parts=(first, second.english),
    )


def _adjective(line: str) -> Adjective:
    english, german, comparative, german_comparative, *tags = line.split()
    return Adjective(english, german, _known(comparative), _known(german_comparative), frozenset(tags))


def _verb(line: str) -> Verb:
    english, german, frame, objects, subjects = (column.strip() for column in line.split("|"))
    base, third, past, participle, *particle = english.split()
    infinitive, german_third, german_past, german_participle, *rest = german.split()
    subject_tags, _, unused = subjects.partition("!")
    return Verb(
        base=base,
        third=third,
        past=_known(past),
        participle=_known(participle),
        particle=particle[0][1:] if particle else "",
        particle_early=bool(particle) and particle[0][0] == "+",
        german=infinitive,
        german_third=german_third,
        german_past=german_past,
        german_participle=german_participle,
        prefix=next((word.strip("[]") for word in rest if word.startswith("[")), ""),
        with_sein="sein" in rest,
        frame=frame,
        objects=frozenset(objects.replace("-", "").split()),
        subjects=frozenset(subject_tags.replace("-", "").split()),
        unused=unused,
    )


def _lines(table: str) -> list[str]:
    return [line for line in table.splitlines() if line.strip()]


@cache
def all_nouns() -> dict[str, Noun]:
    """Every noun by its English singular; compounds come after the simple nouns."""
    simple = [_noun(line) for line in _lines(nouns.NOUNS)]
    by_name = {noun.english: noun for noun in simple}
    for line in _lines(nouns.COMPOUNDS):
        first, german_first, *seconds = line.split()
        for second in seconds:
            compound = _compound(first, german_first, by_name[second])
            by_name[compound.english] = compound
    return by_name


@cache
def all_adjectives() -> dict[str, Adjective]:
    """Every adjective by its English form."""
    return {line.split()[0]: _adjective(line) for line in _lines(adjectives.ADJECTIVES)}


@cache
def all_verbs() -> tuple[Verb, ...]:
    """Every verb; one English word stands several times where its frames differ."""
    return tuple(_verb(line) for line in _lines(verbs.VERBS))


def verb(name: str, frame: str = "") -> Verb:
    """The verb with this English name (and frame, where the name has several)."""
    return next(item for item in all_verbs() if item.name == name and frame in ("", item.frame))


@cache
def unseen_compounds() -> frozenset[str]:
    """English names of the compounds kept for the test set."""
    return frozenset(line.strip() for line in _lines(nouns.UNSEEN))


@cache
def cities() -> dict[str, str]:
    """German name of every city, by its English name."""
    return {line.split()[0]: line.split()[1] for line in _lines(nouns.CITIES)}
