"""Documents in which only the sentence before decides the German gender of "it"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nmt.data.demo import function_words as fw
from nmt.data.demo.adjectives import COLOURS
from nmt.data.demo.clauses import Clauses
from nmt.data.demo.draw import Draw
from nmt.data.demo.lexicon import Adjective, Gender, Noun, Verb, verb
from nmt.data.demo.phrases import Phrases, adjectives_for, nouns_with
from nmt.data.demo.realise import realise
from nmt.data.demo.tokens import Pair, bare_words
from nmt.data.demo.tree import Clause, NounPhrase, Phrase, Pronoun, Sentence, Tense
from nmt.data.demo.verb_groups import tags

# Documents of each split, a multiple of three; every document has one pronoun.
SIZES = {"train": 2001, "valid": 150, "test": 360}
GENDERS: tuple[Gender, ...] = ("m", "f", "n")
# Nouns of every gender that the same sentences fit, and verbs for those sentences.
_GROUPS = (
    ("vessel dish tool", ("buy", "find", "need", "look for")),
    ("furniture machine luggage", ("buy", "sell", "look at", "need")),
    ("cloth", ("wear", "wash", "buy", "look at")),
    ("print written", ("read", "find", "like", "forget")),
    ("building room", ("look at", "see", "like")),
    ("food", ("eat", "buy", "like")),
)
_COMPOUND_SHARE = 0.2
# Adjectives that two sentences about one thing do not both have.
_RELATED = (
    ("old", "new", "modern"),
    ("big", "small"),
    ("good", "bad", "boring", "interesting", "beautiful", "famous"),
    ("cold", "warm", "fresh"),
    ("long", "short"),
    ("empty", "full"),
)
_ADULTS = tags("adult kin")
_TENSES: tuple[Tense, ...] = ("present", "past", "perfect", "future", "can", "want", "wanted")


@dataclass(frozen=True)
class Line:
    """A sentence of a document; if it has a pronoun, that one's place (English word, German word) and gender, and the
    German sentences with the pronouns of the other genders."""

    pair: Pair
    place: tuple[int, int] | None = None
    gender: Gender | None = None
    wrong: tuple[str, ...] = ()


Document = tuple[Line, ...]


def _pronoun_line(clause: Clause, gender: Gender) -> Line:
    """The sentence of a clause about "it", which is a thing of this gender."""
    pairs = {each: _about(clause, each) for each in GENDERS}
    pair = pairs.pop(gender)
    words = [word.strip(".,?!").lower() for word in pair.english.split()]
    source = words.index("it")
    target = next(target for index, target in pair.links if index == source)
    return Line(pair, (source, target), gender, tuple(other.german for other in pairs.values()))


def _about(clause: Clause, gender: Gender) -> Pair:
    it = Pronoun("it", gender)
    final = replace(clause, object=it) if clause.object == Pronoun("it") else replace(clause, subject=it)
    return realise(Sentence((final,), mark="?" if clause.question else "."))


@dataclass
class Documents:
    """Draws documents by threes: one sentence with "it", after a noun of each gender."""

    draw: Draw
    known: frozenset[str]
    """Words of the training sentences, in lower case; documents have no others."""
    used: set[tuple[str, str]] = field(default_factory=set)
    """Pairs of antecedent's and pronoun's sentence that a document has."""

    def __post_init__(self) -> None:
        self.phrases = Phrases(self.draw)
        self.clauses = Clauses(self.phrases)

    def take(self, split: str) -> list[Document]:
        """All documents of a split, in random order."""
        documents: list[Document] = []
        while len(documents) < SIZES[split]:
            documents += self._three()
        return self.draw.shuffled(documents)

    def _three(self) -> list[Document]:
        while True:
            group, names = self.draw.pick(_GROUPS)
            nouns = [self._noun(group, gender) for gender in GENDERS]
            pronoun = self._pronoun_clause(nouns, names)
            if pronoun is None:
                continue
            documents = [self._document(noun, nouns, names, pronoun) for noun in nouns]
            keys = [self._key(document) for document in documents]
            if all(self._is_known(line.pair) for document in documents for line in document) and not any(
                key in self.used for key in keys
            ):
                self.used.update(keys)
                return documents

    def _is_known(self, pair: Pair) -> bool:
        return all(word.lower() in self.known for line in (pair.english, pair.german) for word in bare_words(line))

    def _key(self, document: Document) -> tuple[str, str]:
        index = next(index for index, line in enumerate(document) if line.place)
        return document[index - 1].pair.english, document[index].pair.english

    def _noun(self, group: str, gender: Gender) -> Noun:
        compound = self.draw.chance(_COMPOUND_SHARE)
        for kind in (compound, False):
            nouns = nouns_with(tags(group), kind, False)
            fitting = [
                noun for noun in nouns if noun.gender == gender and noun.countable and "several" not in noun.tags
            ]
            if fitting:
                return self.draw.pick(fitting)
        raise AssertionError(f"no noun of gender {gender} among {group}")

    def _verb(self, nouns: list[Noun], names: tuple[str, ...]) -> Verb | None:
        dress = any("dress" in noun.english for noun in nouns)
        verbs = [verb(name) for name in names if not (dress and name == "wear")]
        fitting = [item for item in verbs if all(noun.tags & item.objects for noun in nouns)]
        return self.draw.pick(fitting) if fitting else None

    def _adjectives(self, nouns: list[Noun]) -> list[Adjective]:
        return [item for item in adjectives_for(nouns[0]) if all(item in adjectives_for(noun) for noun in nouns)]

    def _somebody(self) -> Phrase:
        """A person, never a child or a girl, which German calls "es"."""
        return self.phrases.subject(_ADULTS, definite=True)

    def _pronoun_clause(self, nouns: list[Noun], names: tuple[str, ...]) -> Clause | None:
        """A clause about "it" that fits all the nouns; the gender comes later."""
        it = Pronoun("it")
        tense: Tense = self.draw.pick(("present", "past"))
        kind = self.draw.weighted((("quality", 50), ("object", 45), ("price", 5)))
        if kind == "price" and all("goods" in noun.tags for noun in nouns):
            return Clause(verb("cost"), it, object=fw.price(self.draw.pick(fw.PRICES)))
        if kind == "object":
            item = self._verb(nouns, names)
            chosen = self.clauses.tense(item, _TENSES) if item else None
            if item is None or chosen is None:
                return None
            clause = Clause(item, self._somebody(), chosen, self.draw.chance(0.15), object=it)
            if self.draw.chance(0.4):
                clause = self.clauses.with_time(clause)
            return replace(clause, question=self._may_ask(clause))
        fitting = self._adjectives(nouns)
        if not fitting:
            return None
        predicate = self.draw.pick(fitting)
        adverb = fw.VERY if predicate.english not in COLOURS and self.draw.chance(0.45) else None
        negated = self.draw.chance(0.2)
        return Clause(verb("be"), it, tense, negated, predicate=predicate, adverb=adverb)

    def _may_ask(self, clause: Clause) -> bool:
        plain = clause.time is None and not clause.negated and clause.subject != Pronoun("I")
        return plain and self.draw.chance(0.12)

    def _document(self, noun: Noun, nouns: list[Noun], names: tuple[str, ...], clause: Clause) -> Document:
        past = clause.tense in ("past", "wanted")
        rest = tuple(name for name in names if name != clause.verb.name)
        lines = [self._antecedent(noun, rest, past, clause.predicate), _pronoun_line(clause, noun.gender)]
        shape = self.draw.weighted((("", 40), ("before", 24), ("after", 16), ("both", 20)))
        if shape in ("before", "both"):
            others = [other for other in nouns if other != noun]
            lines.insert(0, self._antecedent(self.draw.pick(others), names, past, None))
        if shape in ("after", "both"):
            closing = self.clauses.action(self._somebody(), ("past",) if past else ("present", "future"), plain=True)
            lines.append(Line(realise(Sentence((closing,)))))
        return tuple(lines)

    def _antecedent(self, noun: Noun, names: tuple[str, ...], past: bool, predicate: Adjective | None) -> Line:
        """A sentence with one thing in it, which says nothing about `predicate`."""
        barred = _related(predicate.english) if predicate else ()
        qualities = [item for item in adjectives_for(noun) if item.english not in barred]
        if self.draw.chance(0.35) and qualities:
            word = self.draw.pick(("the", "this", "my", "our") if "goods" in noun.tags else ("the", "this"))
            tense: Tense = "past" if past else "present"
            be = Clause(verb("be"), NounPhrase(noun, word), tense, predicate=self.draw.pick(qualities))
            return Line(realise(Sentence((be,))))
        item = self._verb([noun], names) or verb("see")
        adjectives = (self.draw.pick(qualities),) if qualities and self.draw.chance(0.35) else ()
        phrase = NounPhrase(noun, self.draw.pick(("a", "a", "the", "this")), False, adjectives)
        allowed: tuple[Tense, ...] = ("past", "wanted") if past else ("present", "perfect", "want")
        clause = Clause(item, self._somebody(), self.clauses.tense(item, allowed) or "present", object=phrase)
        if self.draw.chance(0.3):
            clause = self.clauses.with_time(clause)
        return Line(realise(Sentence((clause,))))


def _related(word: str) -> tuple[str, ...]:
    """The adjective, and those that agree or clash with it."""
    if word in COLOURS:
        return COLOURS
    return next((group for group in _RELATED if word in group), (word,))


def make_documents(seed: int, train: Sequence[Pair]) -> dict[str, list[Document]]:
    """The documents of all splits, in the words of the training sentences."""
    lines = [line for pair in train for line in (pair.english, pair.german)]
    documents = Documents(Draw(seed), frozenset(word.lower() for line in lines for word in bare_words(line)))
    return {split: documents.take(split) for split in SIZES}
