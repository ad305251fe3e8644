"""Random sentences of one clause: statements, questions, comparisons, exclamations."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nmt.data.demo import function_words as fw
from nmt.data.demo.adjectives import COLOURS, MOODS
from nmt.data.demo.clauses import Clauses
from nmt.data.demo.draw import Draw
from nmt.data.demo.lexicon import Adjective, Noun, all_adjectives, all_nouns, verb
from nmt.data.demo.phrases import PEOPLE, Phrases, adjectives_for
from nmt.data.demo.tree import (
    Clause,
    Comparison,
    Exclamation,
    Fixed,
    Name,
    NounPhrase,
    Phrase,
    Prepositional,
    Pronoun,
    Sentence,
    Tense,
)
from nmt.data.demo.verb_groups import ACTIONS, STATES, tags

THINGS = tags("text question furniture vessel tool cloth vehicle food drink building room area street bridge luggage")
NATURE = tags("flower plant animal river")
_SUBJECTS = THINGS | NATURE | tags("dish opening machine hot cool bakeable public container question art")
_CHANGING = (*MOODS, "cold", "warm", "dirty", "full", "empty", "quiet", "friendly")
_LIVING = tags("person adult kid job animal")
_GROUPS = ("person", "adult", "animal", "furniture", "cloth", "vehicle", "building", "area", "text", "vessel")
_WHEREABLE = tuple(item for item in ACTIONS if item.frame in ("place", "town") or item.base in ("buy", "find", "see"))
_WHATABLE = tuple(
    item
    for item in ACTIONS
    if item.frame == "acc" and not item.objects & tags("person kid") and item.base not in ("have", "lose", "need")
)


@dataclass(frozen=True)
class Simple:
    """Draws sentences of one clause."""

    clauses: Clauses

    @property
    def phrases(self) -> Phrases:
        return self.clauses.phrases

    @property
    def draw(self) -> Draw:
        return self.clauses.phrases.draw

    def sentence(self) -> Sentence:
        """A sentence of any of these kinds."""
        kinds = (
            (self.plain, 46),
            (self.described, 19),
            (self.compared, 11),
            (self.yes_or_no, 8),
            (self.asked, 10),
            (self.exclaimed, 4),
            (self.priced, 8),
            (self.contrasted, 4),
            (self.located, 3),
            (self.begun, 4),
        )
        return self.draw.weighted(kinds)()

    def plain(self) -> Sentence:
        return Sentence((self.clauses.action(),))

    def quality(self, past: bool = False) -> Clause:
        """What something or somebody is like."""
        tense: Tense = "past" if past else "present"
        if self.draw.chance(0.25):
            return self.clauses.mood(self.phrases.subject(tags("person"), definite=True), tense)
        predicate = self.draw.pick([item for item in all_adjectives().values() if item.english not in MOODS])
        wanted = predicate.tags & _SUBJECTS
        if not wanted or (predicate.tags & _LIVING and self.draw.chance(0.3)):
            subject = self.phrases.person(predicate.tags & _LIVING, definite=True)
        else:
            subject = self.phrases.thing(wanted, negated=True)
        word = "the" if subject.determiner in ("a", "") else subject.determiner
        subject = replace(subject, adjectives=(), determiner=word)
        return Clause(verb("be"), subject, tense, self.draw.chance(0.12), predicate=predicate)

    def described(self) -> Sentence:
        clause = self.quality(past=self.draw.chance(0.3))
        word = clause.predicate.english if clause.predicate else ""
        lasting = word in (*COLOURS, "old", "new", "young", "big", "small", "modern")
        if word not in COLOURS and self.draw.chance(0.25):
            clause = replace(clause, adverb=fw.VERY)
        elif not clause.negated and word in _CHANGING and self.draw.chance(0.25):
            clause = replace(clause, adverb=self.draw.pick((fw.OFTEN, fw.ALWAYS, fw.SOMETIMES)))
        elif not lasting and self.draw.chance(0.15):
            time = fw.TODAY if clause.tense == "present" else fw.YESTERDAY
            clause = replace(clause, time=time, fronted=self.draw.chance(0.5))
        return Sentence((clause,))

    def compared(self) -> Sentence:
        return Sentence((self.comparison(),))

    def comparison(self, past: bool = False) -> Clause:
        """ "older than" or "as old as"."""
        first, second, shared = self._comparable()
        subject: Phrase = self._one_or_more(first)
        other: Phrase = self._one_or_more(second)
        if "person" in first.tags:
            subject = self.phrases.subject(tags("person"), definite=True)
            if isinstance(subject, NounPhrase) and subject.noun == second:
                subject = self.draw.pick(PEOPLE)
            if isinstance(subject, Name) and self.draw.chance(0.5):
                other = self.draw.pick([name for name in PEOPLE if name != subject])
            elif "kin" in second.tags:
                other = NounPhrase(second, self.phrases.owner_word(subject))
        comparison = Comparison("than" if self.draw.chance(0.65) else "as", other)
        tense: Tense = "past" if past or self.draw.chance(0.2) else "present"
        return Clause(verb("be"), subject, tense, self.draw.chance(0.2), predicate=shared, comparison=comparison)

    def _one_or_more(self, noun: Noun) -> NounPhrase:
        words = ("the", "the", "this", "my", "our") if "goods" in noun.tags else ("the", "the", "this")
        return NounPhrase(noun, self.draw.pick(words), "several" in noun.tags or self.draw.chance(0.25))

    def _comparable(self) -> tuple[Noun, Noun, Adjective]:
        group = tags(self.draw.pick(_GROUPS))
        while True:
            first, second = self.phrases.noun(group), self.phrases.noun(group)
            shared = [
                item for item in adjectives_for(first) if item in adjectives_for(second) and item.german_comparative
            ]
            if "person" in first.tags:
                shared = [item for item in adjectives_for(all_nouns()["man"]) if item.german_comparative]
            if first != second and shared:
                return first, second, self.draw.pick(shared)

    def _askable(self, clause: Clause) -> bool:
        if isinstance(clause.subject, NounPhrase):
            return clause.subject.definite
        return clause.subject != Pronoun("I")

    def yes_or_no(self) -> Sentence:
        while True:
            clause = self.clauses.action()
            if not clause.negated and clause.tense != "must" and self._askable(clause):
                return Sentence((replace(clause, fronted=False, question=True),), mark="?")

    def asked(self) -> Sentence:
        """A question with a question word."""
        kinds = ((self._why, 3), (self._where, 3), (self._when, 3), (self._what, 5), (self._who, 3))
        while True:
            clause = self.draw.weighted(kinds)()
            if isinstance(clause.subject, Fixed) or self._askable(clause):
                return Sentence((clause,), mark="?")

    def _why(self) -> Clause:
        clause = self.clauses.action(allowed=("present", "past", "perfect", "want", "must"), plain=True)
        return replace(clause, wh=fw.WHY, negated=self.draw.chance(0.2) and not isinstance(clause.object, NounPhrase))

    def _where(self) -> Clause:
        clause = self.clauses.action(plain=True, verbs=_WHEREABLE)
        return replace(clause, wh=fw.WHERE, complement=None, adjuncts=())

    def _when(self) -> Clause:
        if self.draw.chance(0.4):
            clause = self.clauses.action(allowed=("present", "past"), plain=True)
            return replace(clause, wh=fw.HOW_OFTEN if clause.verb.base not in STATES else fw.WHY)
        verbs = tuple(item for item in ACTIONS if item.base not in STATES)
        return replace(self.clauses.action(plain=True, verbs=verbs), wh=fw.WHEN)

    def _what(self) -> Clause:
        while True:
            clause = self.clauses.action(plain=True, verbs=_WHATABLE)
            item = clause.object
            if not isinstance(item, NounPhrase):
                continue
            if self.draw.chance(0.5):
                return replace(clause, wh=fw.WHAT, object=None, adjuncts=())
            if item.noun.countable and item.noun.tags & tags("goods text cloth food small opening"):
                which = NounPhrase(item.noun, "which", item.plural, item.adjectives if self.draw.chance(0.4) else ())
                return replace(clause, wh=which, object=None, adjuncts=())

    def _who(self) -> Clause:
        clause = self.clauses.action(fw.WHO, plain=True)
        return self.clauses.with_time(clause, fronted=False) if self.draw.chance(0.4) else clause

    def exclaimed(self) -> Sentence:
        """ "What a beautiful house!", "How beautiful the house is!"."""
        unsurprising = (*COLOURS, "new", "modern", "round")
        while True:
            noun = self.phrases.noun(THINGS | NATURE)
            fitting = [item for item in adjectives_for(noun) if item.english not in unsurprising]
            if fitting and noun.countable and "several" not in noun.tags:
                break
        adjective = self.draw.pick(fitting)
        if self.draw.chance(0.55):
            return Sentence((Exclamation(NounPhrase(noun, "a", False, (adjective,))),), mark="!")
        phrase = NounPhrase(noun, self.draw.pick(("the", "this")), self.draw.chance(0.3))
        return Sentence((Exclamation(phrase, adjective),), mark="!")

    def cost(self) -> Clause:
        subject = replace(self.phrases.thing(tags("goods"), negated=True), of=None)
        if subject.determiner in ("a", "") or subject.determiner.endswith("'s"):
            subject = replace(subject, determiner=self.draw.pick(("the", "this")))
        return Clause(verb("cost"), subject, object=fw.price(self.draw.pick(fw.PRICES)))

    def priced(self) -> Sentence:
        if self.draw.chance(0.2):
            return Sentence((replace(self.cost(), object=None, wh=fw.HOW_MUCH),), mark="?")
        return Sentence((self.cost(),))

    def contrasted(self) -> Sentence:
        return Sentence((self.contrast(("present", "past", "perfect", "want")),))

    def contrast(self, allowed: tuple[Tense, ...]) -> Clause:
        """ "does not buy the coat but the hat"."""
        while True:
            clause = self.clauses.action(allowed=allowed, plain=True, verbs=_WHATABLE)
            item, subject = clause.object, clause.subject
            if not isinstance(item, NounPhrase) or (isinstance(subject, NounPhrase) and not subject.definite):
                continue
            other = self.phrases.noun((item.noun.tags & clause.verb.objects) or clause.verb.objects)
            if other != item.noun and all(noun.countable and "several" not in noun.tags for noun in (other, item.noun)):
                break
        determiner = self.draw.pick(("the", "the", "a"))
        first = NounPhrase(item.noun, determiner, False, self.phrases.adjectives(item.noun, 0.2))
        second = NounPhrase(other, determiner, False, self.phrases.adjectives(other, 0.2))
        return replace(clause, negated=True, object=first, instead=second, adjuncts=())

    def location(self, tense: Tense) -> Clause:
        """Something or somebody is somewhere."""
        subject: Phrase = self.phrases.subject(tags("person animal"), definite=True)
        where = self.clauses.places.place()
        if self.draw.chance(0.5):
            subject = self.phrases.thing(tags("small vessel"), negated=True)
            subject = replace(subject, determiner=self.draw.pick(("the", "my", "our")), of=None)
            spots = (
                ("on", "auf", "table chair"),
                ("in", "in", "container room"),
                ("under", "unter", "table chair bed"),
            )
            english, german, wanted = self.draw.pick(spots)
            where = Prepositional(english, german, "dat", self.phrases.place(tags(wanted)))
        return Clause(verb("be"), subject, tense, self.draw.chance(0.15), complement=where)

    def located(self) -> Sentence:
        clause = self.location("past" if self.draw.chance(0.3) else "present")
        if clause.negated or not self._askable(clause) or self.draw.chance(0.7):
            return Sentence((clause,))
        return Sentence((replace(clause, question=True),), mark="?")

    def begun(self) -> Sentence:
        """ "The film begins at eight o'clock."."""
        tense: Tense = self.draw.pick(("present", "past", "future"))
        clause = Clause(verb("begin"), NounPhrase(all_nouns()[self.draw.pick(("film", "school"))], "the"), tense)
        if self.draw.chance(0.2):
            return Sentence((replace(clause, wh=fw.WHEN),), mark="?")
        return Sentence((replace(clause, time=self.draw.pick(fw.AT_TIMES), fronted=self.draw.chance(0.3)),))
