"""Random sentences of several clauses: subordination, infinitives, relative clauses, coordination."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nmt.data.demo.causes import Causes, inner
from nmt.data.demo.clauses import Clauses
from nmt.data.demo.draw import Draw
from nmt.data.demo.lexicon import Verb, verb
from nmt.data.demo.phrases import adjectives_for, pronoun_for
from nmt.data.demo.simple import Simple
from nmt.data.demo.tree import (
    Clause,
    Infinitive,
    NounPhrase,
    Phrase,
    Pronoun,
    Relativizer,
    Subordinate,
    Tense,
)
from nmt.data.demo.verb_groups import (
    ACTIONS,
    CHOICES,
    DELIBERATE,
    ERRANDS,
    EVENTS,
    FAVOURS,
    HANDLED,
    MOVES,
    PURPOSES,
    REASONED,
    tags,
    wishes_for,
)

PRESENT: tuple[Tense, ...] = ("present", "perfect", "future", "can", "must", "want", "should")
SOON: tuple[Tense, ...] = ("present", "future", "can", "must", "should")
PAST: tuple[Tense, ...] = ("past", "could", "wanted")
_PERSON = tags("person")
_STAYING = tuple(item for item in ACTIONS if item not in MOVES)
_PRAISE = ("beautiful", "good", "cheap", "interesting", "fresh", "new")
_BLAME = ("old", "bad", "heavy", "small", "boring", "dirty")


@dataclass(frozen=True)
class Complexes:
    """Draws clauses with other clauses in them.

    Every pattern takes `past`, the time of the whole sentence, and `depth`, how many clauses may stand in one another.
    """

    simple: Simple
    causes: Causes

    @property
    def clauses(self) -> Clauses:
        return self.simple.clauses

    @property
    def draw(self) -> Draw:
        return self.simple.draw

    def person(self) -> Phrase:
        return self.clauses.phrases.subject(_PERSON, definite=True)

    def action(
        self,
        subject: Phrase | None,
        past: bool,
        allowed: tuple[Tense, ...] = PRESENT,
        verbs: tuple[Verb, ...] = ACTIONS,
    ) -> Clause:
        """An action in the present or in the past, with its own adverbials."""
        return self.clauses.action(subject, PAST if past else allowed, verbs=verbs)

    def other(self, clause: Clause) -> Phrase:
        """Who the next clause is about: the same person, as a pronoun, or somebody else."""
        same = pronoun_for(clause.subject)
        return same if same is not None and self.draw.chance(0.55) else self.person()

    def clause(self, past: bool, depth: int) -> Clause:
        """A clause with up to `depth` levels of clauses in it."""
        kinds = (
            (self.reason, 18),
            (self.condition, 0 if past else 10),
            (self.two_times, 12),
            (self.report, 0 if past else 14),
            (self.whether, 0 if past else 6),
            (self.result, 7),
            (self.purpose, 9),
            (self.attempt, 6),
            (self.related, 13),
            (self.two_actions, 11),
            (self.judged, 8),
        )
        return self.draw.weighted(kinds)(past, depth)

    def deeper(self, clause: Clause, past: bool, depth: int, times: bool = True, reasons: bool = True) -> Clause:
        """Perhaps add one more clause at the end of this one."""
        if depth < 2 or clause.extension or clause.also or self.draw.chance(0.35):
            return clause
        if clause.verb in MOVES and not clause.negated and self.draw.chance(0.6):
            return replace(clause, extension=self._purpose_for(clause, past, depth - 1))
        if (
            clause.verb in DELIBERATE
            and clause.tense in ("present", "past")
            and not clause.negated
            and times
            and self.draw.chance(0.4)
        ):
            return replace(clause, extension=self._time_for(clause, past, depth - 1))
        if clause.verb in REASONED and reasons:
            return replace(clause, extension=self._reason_for(clause, past, depth - 1))
        return clause

    def _reason_for(self, clause: Clause, past: bool, depth: int) -> Subordinate:
        if self.draw.chance(0.25):
            return Subordinate("although", self.causes.obstacle(clause, past))
        cause = self.causes.cause(clause, past)
        return Subordinate("because", self.deeper(cause, past, depth + 1, times=False, reasons=False))

    def _time_for(self, clause: Clause, past: bool, depth: int) -> Subordinate:
        word = self.draw.pick(("while", "before", "when") if past else ("while", "before"))
        tenses: tuple[Tense, ...] = ("past",) if past else ("present",)
        who = self.person() if word == "while" else self.other(clause)
        second = self.clauses.action(who, tenses, plain=True, verbs=DELIBERATE)
        return Subordinate(word, self.deeper(second, past, depth, times=False))

    def _purpose_for(self, clause: Clause, past: bool, depth: int) -> Infinitive:
        second = self.clauses.action(clause.subject, ("present",), plain=True, verbs=ERRANDS)
        nearby = tuple(item for item in second.adjuncts if item.german in ("mit", "ohne", "für"))
        second = replace(
            second, adjuncts=nearby, complement=None if second.verb.frame == "place" else second.complement
        )
        return Infinitive(True, self.deeper(replace(second, subject=None), past, depth, reasons=False))

    def reason(self, past: bool, depth: int) -> Clause:
        """... because ..., or the other way round with "because" first."""
        tenses: tuple[Tense, ...] = ("past", "wanted") if past else ("present", "future", "must", "want", "should")
        main = self.clauses.action(self.person(), tenses, verbs=REASONED)
        link = self._reason_for(main, past, depth)
        if depth == 1 and self.draw.chance(0.3):
            return replace(inner(main), opening=link)
        return replace(main, extension=link)

    def condition(self, past: bool, depth: int) -> Clause:
        """If ..., ..."""
        subject = self.person()
        taken = pronoun_for(subject)
        first = self.draw.chance(0.65)
        condition, verbs = self._condition(subject if first or taken is None else taken)
        about = condition.subject in (subject, taken)
        actor = (taken if first else subject) if taken and about else self.person()
        main = replace(self.action(actor, False, SOON, verbs), time=None, fronted=False)
        if first:
            main = replace(main, opening=Subordinate("if", condition))
            return self.deeper(main, past, depth, reasons=False)
        return replace(main, extension=Subordinate("if", condition))

    def _condition(self, subject: Phrase) -> tuple[Clause, tuple[Verb, ...]]:
        """A condition, and what may follow from it."""
        kind = self.draw.weighted((("sky", 45), ("mood", 25), ("means", 30)))
        if kind == "sky":
            return self.causes.weather()
        if kind == "mood":
            return self.causes.mood(subject)
        return self.causes.means(subject), DELIBERATE

    def two_times(self, past: bool, depth: int) -> Clause:
        """While, before or when one thing happens, another does."""
        tenses: tuple[Tense, ...] = ("past",) if past else ("present",)
        main = self.clauses.action(self.person(), tenses, plain=True, verbs=DELIBERATE)
        if self.draw.chance(0.3):
            main = self.clauses.with_time(main)
        link = self._time_for(main, past, depth)
        if depth == 1 and self.draw.chance(0.4):
            return replace(inner(main), opening=link)
        return replace(main, extension=link)

    def report(self, past: bool, depth: int) -> Clause:
        """Somebody says, believes, hopes or knows that ..."""
        main = Clause(verb(self.draw.pick(("say", "believe", "hope", "know"))), self.person())
        if main.verb.base == "say" and self.draw.chance(0.3):
            main = replace(main, tense="perfect")
        return replace(main, extension=Subordinate("that", self.deeper(self._content(main), past, depth)))

    def _content(self, main: Clause) -> Clause:
        kind = self.draw.weighted((("deed", 60), ("quality", 24), ("comparison", 10), ("cost", 10), ("place", 4)))
        if kind == "quality":
            return self.simple.quality()
        if kind == "comparison":
            return self.simple.comparison()
        if kind == "cost":
            return self.simple.cost()
        if kind == "place":
            return self.simple.location("present")
        return inner(self.action(self.other(main), False))

    def whether(self, past: bool, depth: int) -> Clause:
        """Somebody asks somebody whether ..."""
        asker = self.person()
        main = Clause(verb("ask"), asker, object=self.clauses.phrases.somebody(asker, definite=True))
        topic = self.other(main)
        while topic in (Pronoun("I"), Pronoun("we")):
            topic = self.person()
        content = inner(self.action(topic, False, ("present", "can", "should", "future", "perfect")))
        content = self.deeper(replace(content, negated=False), past, depth)
        return replace(main, extension=Subordinate("whether", content))

    def result(self, past: bool, depth: int) -> Clause:
        """... so that somebody can ..."""
        main = self.clauses.action(self.person(), ("past",) if past else SOON, verbs=FAVOURS)
        main = replace(main, negated=False, adverb=None)
        if isinstance(main.object, NounPhrase) and main.object.determiner == "no":
            main = replace(main, object=replace(main.object, determiner="the"))
        can: tuple[Tense, ...] = ("could",) if past else ("can",)
        second = self.clauses.action(self.other(main), can, plain=True, verbs=wishes_for(main.verb))
        return replace(main, extension=Subordinate("so that", self.deeper(second, past, depth, reasons=False)))

    def purpose(self, past: bool, depth: int) -> Clause:
        """Somebody goes somewhere in order to ..."""
        main = replace(self.action(self.person(), past, PRESENT, MOVES), negated=False, adverb=None)
        return replace(main, extension=self._purpose_for(main, past, depth))

    def attempt(self, past: bool, depth: int) -> Clause:
        """Somebody tries to ..."""
        tense: Tense = "past" if past else self.draw.pick(("present", "perfect", "future", "want"))
        main = Clause(verb("try"), self.person(), tense)
        second = self.clauses.action(main.subject, ("present",), plain=True, verbs=PURPOSES)
        return replace(main, extension=Infinitive(False, self.deeper(replace(second, subject=None), past, depth)))

    def judged(self, past: bool, depth: int) -> Clause:
        """Somebody buys something because it is cheap: the pronoun's gender is that of the object."""
        tense: Tense = "past" if past else "present"
        while True:
            main = self.clauses.action(self.person(), (tense,) if past else PRESENT, verbs=CHOICES)
            item = main.object
            words = _BLAME if main.verb.base == "sell" else _PRAISE
            if not isinstance(item, NounPhrase) or item.noun.tags & tags("person animal several"):
                continue
            item = NounPhrase(item.noun, "the")
            fitting = [adjective for adjective in adjectives_for(item.noun) if adjective.english in words]
            if fitting:
                break
        it = Clause(verb("be"), Pronoun("it", item.noun.gender), tense, predicate=self.draw.pick(fitting))
        main = replace(main, object=item, negated=False, adjuncts=())
        return replace(main, extension=Subordinate("because", it))

    def two_actions(self, past: bool, depth: int) -> Clause:
        """One subject, two predicates."""
        tenses: tuple[Tense, ...] = ("past",) if past else ("present", "perfect", "future")
        main = self.clauses.action(self.person(), tenses, verbs=EVENTS)
        main = replace(main, negated=False, adverb=None)
        others = tuple(
            item for item in EVENTS if item.base != main.verb.base and not (item in MOVES and main.verb in MOVES)
        )
        second = self.clauses.action(main.subject, (main.tense,), plain=True, verbs=others)
        return replace(main, also=replace(second, subject=None))

    def related(self, past: bool, depth: int) -> Clause:
        """A relative clause after the subject or the object."""
        main = replace(self.action(None, past, verbs=DELIBERATE), negated=False, adverb=None)
        item = main.object
        if isinstance(item, NounPhrase) and item.determiner == "the" and item.of is None and main.complement is None:
            item = self.with_relative(item, main.subject, past)
            return replace(main, object=item, adjuncts=(), fronted=main.time is not None)
        subject = self.clauses.phrases.person(_PERSON, definite=True)
        while subject.determiner != "the":
            subject = self.clauses.phrases.person(_PERSON, definite=True)
        main = self.action(subject, past)
        return self.deeper(replace(main, subject=self.with_relative(subject, None, past)), past, depth)

    def with_relative(self, phrase: NounPhrase, subject: Phrase | None, past: bool) -> NounPhrase:
        """The phrase with "who ...", or "that ..."."""
        word = Relativizer(phrase.noun.gender, phrase.plural, "person" in phrase.noun.tags)
        if word.human:
            tenses: tuple[Tense, ...] = ("past",) if past else ("present", "past", "perfect", "want")
            clause = self.clauses.action(phrase, tenses, plain=True, verbs=_STAYING)
            return replace(phrase, relative=replace(clause, subject=word))
        verbs = tuple(item for item in HANDLED if item.objects & phrase.noun.tags)
        if self.draw.chance(0.4) or not verbs:
            predicate = self.draw.pick(adjectives_for(phrase.noun))
            be = Clause(verb("be"), word, "past" if past else "present", predicate=predicate)
            return replace(phrase, relative=be, adjectives=())
        taken = pronoun_for(subject)
        speaker = taken if taken and self.draw.chance(0.5) else self.person()
        clause = self.clauses.action(speaker, ("past",) if past else ("past", "perfect"), plain=True, verbs=verbs)
        return replace(phrase, relative=replace(clause, object=word, adjuncts=()))
