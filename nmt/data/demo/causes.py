"""Why somebody does something, in spite of what, and in which weather."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nmt.data.demo.clauses import Clauses
from nmt.data.demo.draw import Draw
from nmt.data.demo.lexicon import Verb, all_adjectives, all_nouns, verb
from nmt.data.demo.phrases import pronoun_for
from nmt.data.demo.tree import Clause, NounPhrase, Phrase, Pronoun, Tense
from nmt.data.demo.verb_groups import ACTIONS, COSTLY, INDOOR_VERBS, MOODS_FOR, OUTDOOR_VERBS, tags, wishes_for

# What good weather and bad weather are a reason for, and what has no other reason than a mood.
_FAIR = tags("go travel play dance sit")
_FOUL = tags("stay drive sleep")
_FELT = tags("sleep stay laugh cry play dance eat sit wait")


def inner(clause: Clause) -> Clause:
    """The clause as it stands after a conjunction: its time is not first."""
    return replace(clause, fronted=False)


@dataclass(frozen=True)
class Causes:
    """Draws clauses for "because", "although" and "if"."""

    clauses: Clauses

    @property
    def draw(self) -> Draw:
        return self.clauses.phrases.draw

    def _wish(self, main: Clause, actor: Phrase, tenses: tuple[Tense, ...]) -> Clause:
        return self.clauses.action(actor, tenses, plain=True, verbs=wishes_for(main.verb))

    def cause(self, main: Clause, past: bool) -> Clause:
        """A reason for what the main clause says."""
        same = pronoun_for(main.subject)
        base = main.verb.base
        tense: Tense = "past" if past else "present"
        moody = base in _FELT or (base in MOODS_FOR and self.draw.chance(0.6))
        if same and not main.negated and moody:
            return self.clauses.mood(same, tense, words=MOODS_FOR[base])
        if main.negated and same and self.draw.chance(0.7):
            ill = self.clauses.mood(same, tense, words=("sick", "tired"))
            return self.lack(same, past, main) if self.draw.chance(0.6) else ill
        if base in _FAIR | _FOUL and not main.negated and self.draw.chance(0.4):
            return self.sky(past, good=base in _FAIR)
        if same is None:
            return self.sky(past, good=not main.negated)
        return self._wish(main, same, ("wanted",) if past else ("want", "must"))

    def obstacle(self, main: Clause, past: bool) -> Clause:
        """What the main clause happens in spite of."""
        same = pronoun_for(main.subject)
        tense: Tense = "past" if past else "present"
        if same is None or main.negated or self.draw.chance(0.25):
            return self.sky(past, good=main.negated)
        if self.draw.chance(0.45):
            return self.lack(same, past, main)
        if self.draw.chance(0.6):
            return self.clauses.mood(same, tense, words=("tired", "sick", "sad", "hungry"))
        return self._wish(main, same, ("wanted",) if past else ("must", "should", "want"))

    def lack(self, subject: Phrase, past: bool, main: Clause) -> Clause:
        """Somebody has no time, or no money, for what the main clause says."""
        costly = main.verb.base in COSTLY and self.draw.chance(0.6)
        noun = all_nouns()["money" if costly else "time"]
        return Clause(verb("have"), subject, "past" if past else "present", object=NounPhrase(noun, "no"))

    def sky(self, past: bool = False, good: bool = True) -> Clause:
        """The weather."""
        tense: Tense = "past" if past else "present"
        if good and self.draw.chance(0.4):
            return Clause(verb("shine"), NounPhrase(all_nouns()["sun"]), tense)
        if not good and self.draw.chance(0.4):
            return Clause(verb("rain"), Pronoun("it"), tense)
        predicate = all_adjectives()[self.draw.pick(("good", "warm") if good else ("bad", "cold"))]
        return Clause(verb("be"), NounPhrase(all_nouns()["weather"]), tense, predicate=predicate)

    def means(self, subject: Phrase) -> Clause:
        """Somebody has time or money."""
        noun = all_nouns()[self.draw.pick(("time", "money"))]
        return Clause(verb("have"), subject, object=NounPhrase(noun, ""))

    def mood(self, subject: Phrase) -> tuple[Clause, tuple[Verb, ...]]:
        """A mood, and what people do in it."""
        clause = self.clauses.mood(subject)
        word = clause.predicate.english if clause.predicate else ""
        return clause, tuple(item for item in ACTIONS if word in MOODS_FOR.get(item.base, ()))

    def weather(self) -> tuple[Clause, tuple[Verb, ...]]:
        """A weather, and what people do in it."""
        good = self.draw.chance(0.5)
        return self.sky(good=good), OUTDOOR_VERBS if good else INDOOR_VERBS
