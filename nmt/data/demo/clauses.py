"""Random clauses: a verb with a subject, objects and adverbials that make sense together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nmt.data.demo import function_words as fw
from nmt.data.demo.adjectives import MOODS
from nmt.data.demo.lexicon import Verb, all_adjectives, all_nouns
from nmt.data.demo.lexicon import verb as find_verb
from nmt.data.demo.phrases import Phrases, pronoun_for
from nmt.data.demo.places import Places
from nmt.data.demo.tree import (
    Clause,
    Fixed,
    Name,
    NounPhrase,
    Phrase,
    Prepositional,
    Pronoun,
    Tense,
)
from nmt.data.demo.verb_groups import (
    ACTIONS,
    FOR_OTHERS,
    MAKING,
    MEMORABLE,
    ONCE,
    SOMEWHERE,
    STATES,
    TRADING,
    WITH_OTHERS,
    tags,
)

_TENSES: tuple[tuple[Tense, float], ...] = (
    ("present", 40),
    ("past", 20),
    ("perfect", 13),
    ("future", 9),
    ("can", 5),
    ("must", 4),
    ("want", 5),
    ("should", 3),
    ("may", 3),
    ("could", 4),
    ("wanted", 4),
)


@dataclass(frozen=True)
class Clauses:
    """Draws clauses from the phrases of `phrases`."""

    phrases: Phrases

    @property
    def places(self) -> Places:
        return Places(self.phrases)

    def tense(self, verb: Verb, allowed: tuple[Tense, ...] = ()) -> Tense | None:
        """A tense the verb has, or None if none of the allowed ones will do."""
        options = [(tense, weight) for tense, weight in _TENSES if not allowed or tense in allowed]
        if not verb.past:
            options = [item for item in options if item[0] != "past"]
        if not verb.participle or "p" in verb.unused:
            options = [item for item in options if item[0] != "perfect"]
        if "m" in verb.unused:
            options = [item for item in options if item[0] in ("present", "past")]
        return self.phrases.draw.weighted(options) if options else None

    def action(
        self,
        subject: Phrase | None = None,
        allowed: tuple[Tense, ...] = (),
        plain: bool = False,
        verbs: tuple[Verb, ...] = ACTIONS,
    ) -> Clause:
        """Somebody does something; `plain` leaves out times, adverbs and negation."""
        draw = self.phrases.draw
        while True:
            verb = draw.pick(verbs)
            tense = self.tense(verb, allowed)
            if tense is None or (subject is not None and not self._can_do(subject, verb)):
                continue
            own = subject or self.phrases.subject(verb.subjects)
            if self._is_animal(own) and tense not in ("present", "past", "perfect"):
                continue
            negated = not plain and draw.chance(0.13) and _may_be_negated(own) and tense != "may"
            clause = self.fill(Clause(verb, own, tense, negated))
            item = clause.object
            plainly = plain or tense not in ("present", "past", "perfect")
            if isinstance(item, NounPhrase) and item.determiner == "no" and plainly:
                clause = replace(clause, object=replace(item, determiner="the"))
            return clause if plain else self._modify(clause)

    def _is_animal(self, subject: Phrase) -> bool:
        return isinstance(subject, NounPhrase) and "animal" in subject.noun.tags

    def _can_do(self, subject: Phrase, verb: Verb) -> bool:
        if isinstance(subject, NounPhrase):
            return bool(subject.noun.tags & verb.subjects)
        return bool(verb.subjects & tags("person adult kin"))

    def fill(self, clause: Clause) -> Clause:
        """Add what the verb governs."""
        verb, frame, owner = clause.verb, clause.verb.frame, clause.subject
        if frame in ("acc", "dat", "dat acc", "acc put"):
            clause = replace(clause, object=self._object(clause))
        if frame == "dat acc":
            clause = replace(clause, indirect=self.phrases.somebody(owner, definite=True))
        elif frame == "acc put":
            clause = replace(clause, complement=self.places.put_goal())
        elif ":" in frame:
            english, german, case = frame.split(":")
            phrase = self._person_or_thing(verb, owner, clause.negated)
            clause = replace(
                clause, complement=Prepositional(english, german, "dat" if case == "dat" else "acc", phrase)
            )
        elif frame not in ("acc", "dat"):
            clause = replace(clause, complement=self.places.somewhere(frame, verb))
        return self._adjuncts(clause)

    def _person_or_thing(self, verb: Verb, owner: Phrase | None, negated: bool) -> Phrase:
        people = verb.objects & tags("person kid kin animal")
        things = verb.objects - tags("person kid kin")
        draw = self.phrases.draw
        if "person" in people and (not things or draw.chance(0.55)):
            return self.phrases.somebody(owner, definite=negated)
        if people & tags("kid kin") and (not things or draw.chance(0.4)):
            return self.phrases.person(people, owner, definite=negated)
        return self.phrases.thing(things, owner, negated)

    def _object(self, clause: Clause) -> Phrase:
        verb, owner = clause.verb, clause.subject
        if verb.frame == "dat":
            return self.phrases.somebody(owner, definite=True)
        item = self._person_or_thing(verb, owner, clause.negated)
        if verb.base in ("have", "build") and isinstance(item, NounPhrase) and item.definite:
            item = replace(item, determiner="a" if item.noun.countable and not item.plural else "", of=None, numeral="")
        return self._suited(verb, owner, item) if isinstance(item, NounPhrase) else item

    def _suited(self, verb: Verb, owner: Phrase | None, item: NounPhrase) -> NounPhrase:
        """The object as fits the verb: nobody bakes an old cake, buys her own hat or wears three coats."""
        if verb.base in MAKING:
            item = replace(item, adjectives=self.phrases.adjectives(item.noun, made=True))
        if verb.base in TRADING:
            sold = tuple(word for word in item.adjectives if word.english not in ("full", "empty", "dirty"))
            item = replace(item, adjectives=sold)
            if verb.base != "sell" and item.determiner in ("my", "his", "her", "our", "their"):
                item = replace(item, determiner="the")
        if verb.base == "wear" and item.plural and "several" not in item.noun.tags:
            item = replace(item, plural=False, determiner="a", numeral="", of=None)
        woman = pronoun_for(owner) == Pronoun("she")
        if verb.base in ("wear", "need") and "dress" in item.noun.english and not woman:
            item = replace(item, noun=all_nouns()["shirt"])
        return item

    def _adjuncts(self, clause: Clause) -> Clause:
        draw, base, item = self.phrases.draw, clause.verb.base, clause.object
        adjuncts: list[Prepositional] = []
        idle = clause.verb.frame in ("stay", "place") and draw.chance(0.5)
        if clause.negated or isinstance(item, Pronoun) or idle:
            return clause
        if base in FOR_OTHERS and draw.chance(0.2):
            adjuncts.append(Prepositional("for", "für", "acc", self.phrases.somebody(clause.subject)))
        elif base in WITH_OTHERS and clause.verb.frame != "town" and draw.chance(0.25):
            adjuncts.append(self._companion(clause.subject))
        sight = isinstance(item, NounPhrase) and "sight" in item.noun.tags
        if base in SOMEWHERE and not clause.verb.particle and not sight and draw.chance(0.25):
            adjuncts.append(self.places.place(clause.verb))
        if base == "open" and isinstance(item, NounPhrase) and "door" in item.noun.english and draw.chance(0.3):
            adjuncts.append(
                Prepositional("with", "mit", "dat", NounPhrase(all_nouns()["key"], draw.pick(("the", "a"))))
            )
        if isinstance(item, NounPhrase) and item.noun.english in ("coffee", "tea") and draw.chance(0.5):
            english, german, case = draw.pick((("with", "mit", "dat"), ("without", "ohne", "acc")))
            milk = NounPhrase(all_nouns()["milk"], "")
            adjuncts = [Prepositional(english, german, "dat" if case == "dat" else "acc", milk)]
        return replace(clause, adjuncts=tuple(adjuncts))

    def _companion(self, subject: Phrase | None) -> Prepositional:
        other = self.phrases.somebody(subject, definite=True)
        if self.phrases.draw.chance(0.2):
            return Prepositional("without", "ohne", "acc", other)
        return Prepositional("with", "mit", "dat", other)

    def _modify(self, clause: Clause) -> Clause:
        """A time, or an adverb of frequency."""
        draw = self.phrases.draw
        if draw.chance(0.28):
            return self.with_time(clause)
        none = isinstance(clause.object, NounPhrase) and clause.object.determiner == "no"
        if not clause.negated and not none and clause.verb.base not in STATES | ONCE and draw.chance(0.14):
            return self.with_adverb(clause)
        return clause

    def with_time(self, clause: Clause, fronted: bool | None = None) -> Clause:
        """Say when, if the tense and the verb allow it."""
        draw, tense = self.phrases.draw, clause.tense
        lasting = clause.verb.base in STATES
        base = clause.verb.base
        soon = (draw.pick(fw.DAYS), draw.pick(fw.AT_TIMES))
        options: tuple[Fixed, ...]
        if lasting and tense != "past":
            return clause
        if tense == "present":
            habits = fw.HABITS[3:] if clause.negated else fw.HABITS
            options = (fw.TODAY, soon[0]) if base in ONCE else (fw.TODAY, fw.NOW, *soon, *soon, *habits)
        elif tense in ("past", "could", "wanted"):
            years = (draw.pick(fw.AGO), draw.pick(fw.IN_YEARS), draw.pick(fw.LAST))
            days = (fw.YESTERDAY, fw.YESTERDAY, *soon, fw.LAST[0], draw.pick(fw.AGO[::3]))
            options = years if lasting else (*years, *years, *days) if base in MEMORABLE else days
            if tense != "past":
                options = (fw.YESTERDAY, fw.LAST[0])
        elif tense == "perfect":
            if base == "build":
                return clause
            options = (fw.TODAY,)
        elif tense == "future":
            options = (fw.TOMORROW, fw.TOMORROW, fw.TODAY, draw.pick(fw.NEXT), draw.pick(fw.NEXT), draw.pick(soon))
        else:
            options = (fw.TODAY, fw.TOMORROW, fw.NOW, draw.pick(soon))
        front = draw.chance(0.5) if fronted is None else fronted
        return replace(clause, time=draw.pick(options), fronted=front)

    def with_adverb(self, clause: Clause) -> Clause:
        draw = self.phrases.draw
        if clause.tense == "perfect":
            return replace(clause, adverb=draw.pick((fw.ALREADY, fw.ALREADY, fw.NEVER)))
        if clause.tense in ("present", "past", "could"):
            return replace(clause, adverb=draw.pick((fw.OFTEN, fw.OFTEN, fw.ALWAYS, fw.NEVER, fw.SOMETIMES)))
        if clause.tense in ("can", "must", "want", "should"):
            return replace(clause, adverb=draw.pick((fw.ALWAYS, fw.NEVER))) if clause.tense != "must" else clause
        return clause

    def mood(self, subject: Phrase, tense: Tense = "present", words: tuple[str, ...] = MOODS) -> Clause:
        """How somebody feels: "is tired"."""
        predicate = all_adjectives()[self.phrases.draw.pick(words)]
        return Clause(find_verb("be"), subject, tense, predicate=predicate)


def _may_be_negated(subject: Phrase) -> bool:
    if isinstance(subject, NounPhrase):
        return subject.determiner not in ("many", "some", "no", "a") and not subject.numeral
    return isinstance(subject, Name | Pronoun)
