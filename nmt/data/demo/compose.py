"""Random sentences of any length: simple ones, complex ones, and main clauses joined by "and" and "but"."""

from __future__ import annotations

from dataclasses import dataclass

from nmt.data.demo.causes import Causes
from nmt.data.demo.clauses import Clauses
from nmt.data.demo.complexes import Complexes
from nmt.data.demo.draw import Draw
from nmt.data.demo.phrases import Phrases, pronoun_for
from nmt.data.demo.simple import Simple
from nmt.data.demo.tree import Clause, Pronoun, Sentence
from nmt.data.demo.verb_groups import ACTIONS


@dataclass(frozen=True)
class Composer:
    """Draws whole sentences."""

    simple: Simple
    complexes: Complexes

    @classmethod
    def build(cls, draw: Draw, unseen: bool = False) -> Composer:
        """The whole grammar, with or without the compounds that are kept for the test set."""
        clauses = Clauses(Phrases(draw, unseen))
        simple = Simple(clauses)
        return cls(simple, Complexes(simple, Causes(clauses)))

    @property
    def draw(self) -> Draw:
        return self.simple.draw

    def statement(self, past: bool, depth: int) -> Clause:
        """A simple or a complex clause."""
        if depth == 0 or self.draw.chance(0.2):
            return self.complexes.action(self.complexes.person(), past)
        return self.complexes.clause(past, depth)

    def sentence(self, clauses: int, depth: int) -> Sentence:
        """Main clauses joined by "and" or "but"."""
        past = self.draw.chance(0.33)
        parts = [self.statement(past, depth if clauses == 1 or self.draw.chance(0.7) else 0)]
        words: list[str] = []
        for _ in range(clauses - 1):
            contrast = words[-1:] != ["but"]
            word, clause = self._next(parts[-1], past, depth if self.draw.chance(0.6) else 0, contrast)
            parts.append(clause)
            words.append(word)
        return Sentence(tuple(parts), tuple(words))

    def _next(self, before: Clause, past: bool, depth: int, contrast: bool) -> tuple[str, Clause]:
        """One more main clause, and "but" where it contrasts with the one before."""
        same = pronoun_for(before.subject)
        wished = before.tense in ("want", "wanted", "must", "should") and not before.negated
        if contrast and same and before.extension is None and wished and self.draw.chance(0.6):
            return "but", self.complexes.causes.lack(same, past, before)
        if contrast and before.verb in ACTIONS and before.also is None and self.draw.chance(0.45):
            clause = self.complexes.clauses.action(None, (before.tense,), plain=True, verbs=(before.verb,))
            told = clause.object is not None or clause.complement is not None
            if told and clause.subject not in (before.subject, same) and not isinstance(clause.subject, Pronoun):
                return "but", clause
        if same and before.extension is None and self.draw.chance(0.3):
            return "and", self.complexes.action(same, past)
        return "and", self.statement(past, depth)
