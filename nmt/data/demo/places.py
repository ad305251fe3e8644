"""Random places: where somebody is, goes to, comes from or puts something."""

from __future__ import annotations

from dataclasses import dataclass

from nmt.data.demo import function_words as fw
from nmt.data.demo.draw import Draw
from nmt.data.demo.lexicon import Verb
from nmt.data.demo.phrases import CITIES, Phrases
from nmt.data.demo.tree import Fixed, Prepositional
from nmt.data.demo.verb_groups import tags


@dataclass(frozen=True)
class Places:
    """Draws prepositional phrases of place."""

    phrases: Phrases

    @property
    def draw(self) -> Draw:
        return self.phrases.draw

    def put_goal(self) -> Prepositional:
        if self.draw.chance(0.55):
            return Prepositional("on", "auf", "acc", self.phrases.place(tags("table chair cupboard bed")))
        return Prepositional("into", "in", "acc", self.phrases.place(tags("container")))

    def place(self, verb: Verb | None = None) -> Prepositional:
        """Where somebody is."""
        base = verb.base if verb else ""
        draw = self.draw
        options: list[tuple[tuple[str, str, str], float]] = [
            (("in", "in", "inside"), 52),
            (("at", "an", "station river window"), 10),
            (("behind", "hinter", "near"), 7),
            (("in front of", "vor", "near"), 8),
            (("next to", "neben", "near"), 7),
            (("under", "unter", "tree"), 6),
            (("on", "auf", "bridge street"), 5),
            (("at", "auf", "market"), 4),
        ]
        if base in ("sit", "eat", "read", "write", "drink"):
            options += [(("at", "an", "table"), 14), (("on", "auf", "chair"), 8 if base != "eat" else 0)]
        if base in ("work", "live", "lose", "forget", "find"):
            options = options[:1]
        if base in ("see", "paint"):
            options = [
                (("in", "in", "park garden forest city village"), 80),
                (("on", "auf", "bridge street"), 20),
            ]
        english, german, where = draw.weighted(options)
        return Prepositional(english, german, "dat", self.phrases.place(tags(where)))

    def somewhere(self, frame: str, verb: Verb) -> Prepositional | Fixed | None:
        """The adverbial of an intransitive verb, or none."""
        draw, city = self.draw, self.draw.pick(CITIES)
        if frame == "place":
            return self.place(verb) if verb.base in ("sit", "stand") or draw.chance(0.8) else None
        if frame == "stay":
            home: tuple[Prepositional | Fixed, ...] = (
                fw.AT_HOME,
                fw.AT_HOME,
                self.place(),
                Prepositional("in", "in", "dat", city),
            )
            return draw.pick(home)
        if frame == "town":
            town = self.phrases.place(tags("house village hotel city"))
            return Prepositional("in", "in", "dat", city if draw.chance(0.6) else town)
        if frame in ("goal", "drive"):
            goal = Prepositional("to", "zu", "dat", self.phrases.place(tags("goal")))
            inside = Prepositional("into", "in", "acc", self.phrases.place(tags("inside")))
            to_city = Prepositional("to", "nach", "dat", city)
            weights = (35, 35, 0, 20) if frame == "goal" else (30, 0, 50, 20)
            goals: tuple[Prepositional | Fixed, ...] = (goal, inside, to_city, fw.HOME)
            return draw.weighted(tuple(zip(goals, weights, strict=True)))
        if frame == "city":
            return Prepositional("to", "nach", "dat", city)
        if frame == "origin":
            inside = Prepositional("from", "aus", "dat", self.phrases.place(tags("inside")))
            return Prepositional("from", "aus", "dat", city) if draw.chance(0.6) else inside
        if frame == "arrival":
            station = Prepositional("at", "an", "dat", self.phrases.place(tags("station")))
            return draw.pick((station, Prepositional("in", "in", "dat", city)))
        return None
