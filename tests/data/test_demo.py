"""The demo corpus: the committed files, and hand-worked sentences of every construction."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nmt.data.demo import DemoSummary, write_demo_corpus
from nmt.data.demo import function_words as fw
from nmt.data.demo.lexicon import all_adjectives, all_nouns, unseen_compounds, verb
from nmt.data.demo.realise import realise
from nmt.data.demo.tree import (
    Clause,
    Comparison,
    Exclamation,
    Infinitive,
    Name,
    NounPhrase,
    Prepositional,
    Pronoun,
    Relativizer,
    Sentence,
    Subordinate,
)

DEMO = Path(__file__).resolve().parents[2] / "data" / "demo"
SPLITS = ("train", "valid", "test")
BUCKETS = ((3, 10), (11, 20), (21, 30), (31, 40))
ANNA, PAUL, BERLIN = Name("Anna", "Anna", she=True), Name("Paul", "Paul", she=False), Name("Berlin", "Berlin")
ME, HE, SHE, THEY = Pronoun("I"), Pronoun("he"), Pronoun("she"), Pronoun("they")


def lines(name: str) -> list[str]:
    text = (DEMO / name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


def bare(line: str) -> list[str]:
    return [word.strip(".,?!") for word in line.split()]


def links_of(line: str) -> list[tuple[int, int]]:
    return [(int(source), int(target)) for source, target in (link.split("-") for link in line.split())]


def np(noun: str, determiner: str = "the", *adjectives: str, **more: Any) -> NounPhrase:
    words = tuple(all_adjectives()[word] for word in adjectives)
    return NounPhrase(all_nouns()[noun], determiner, adjectives=words, **more)


def be(subject: Any, adjective: str, **more: Any) -> Clause:
    return Clause(verb("be"), subject, predicate=all_adjectives()[adjective], **more)


WEATHER = be(np("weather"), "bad")
EXAMPLES = {
    "articles, adjectives and possessives agree": (
        Sentence(
            (
                Clause(
                    verb("give"), np("man", "the", "old"), indirect=np("sister", "his"), object=np("apple", "a", "red")
                ),
            )
        ),
        "The old man gives his sister a red apple.",
        "Der alte Mann gibt seiner Schwester einen roten Apfel.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8",
    ),
    "strong endings without an article, a compound and a number": (
        Sentence((Clause(verb("have"), ME, object=np("coffee cup", "", "old", plural=True, numeral="three")),)),
        "I have three old coffee cups.",
        "Ich habe drei alte Kaffeetassen.",
        "0-0 1-1 2-2 3-3 4-4 5-4",
    ),
    "weak nouns and the genitive": (
        Sentence((Clause(verb("see"), np("student"), object=np("house", of=np("neighbour", "the", "young"))),)),
        "The student sees the house of the young neighbour.",
        "Der Student sieht das Haus des jungen Nachbarn.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-5 7-6 8-7",
    ),
    "a separable verb": (
        Sentence((Clause(verb("open"), np("teacher"), object=np("window")),)),
        "The teacher opens the window.",
        "Der Lehrer macht das Fenster auf.",
        "0-0 1-1 2-2 2-5 3-3 4-4",
    ),
    "a separable verb in a clause with its verb at the end": (
        Sentence(
            (be(np("child"), "happy", extension=Subordinate("because", Clause(verb("open"), HE, object=np("door")))),)
        ),
        "The child is happy because he opens the door.",
        "Das Kind ist glücklich, weil er die Tür aufmacht.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-8 7-6 8-7",
    ),
    "the perfect, with a verb of several words": (
        Sentence((Clause(verb("look for"), ANNA, "perfect", object=np("key", "her")),)),
        "Anna has looked for her key.",
        "Anna hat ihren Schlüssel gesucht.",
        "0-0 1-1 2-4 3-4 4-2 5-3",
    ),
    "the perfect with sein": (
        Sentence((Clause(verb("arrive"), THEY, "perfect", complement=Prepositional("in", "in", "dat", BERLIN)),)),
        "They have arrived in Berlin.",
        "Sie sind in Berlin angekommen.",
        "0-0 1-1 2-4 3-2 4-3",
    ),
    "a modal, and the time first": (
        Sentence((Clause(verb("turn on"), np("boy"), "must", object=np("lamp"), time=fw.TODAY, fronted=True),)),
        "Today the boy must turn on the lamp.",
        "Heute muss der Junge die Lampe einschalten.",
        "0-0 1-2 2-3 3-1 4-6 5-6 6-4 7-5",
    ),
    "the future, and the time in the middle": (
        Sentence(
            (
                Clause(
                    verb("drive"),
                    SHE,
                    "future",
                    complement=Prepositional("to", "zu", "dat", np("station")),
                    time=fw.TOMORROW,
                ),
            )
        ),
        "She will drive to the station tomorrow.",
        "Sie wird morgen zum Bahnhof fahren.",
        "0-0 1-1 2-5 3-3 4-3 5-4 6-2",
    ),
    "two days ago": (
        Sentence((Clause(verb("call"), np("doctor"), "past", object=Pronoun("we"), time=fw.AGO[0], fronted=True),)),
        "Two days ago the doctor called us.",
        "Vor zwei Tagen rief der Arzt uns an.",
        "0-1 1-2 2-0 3-4 4-5 5-3 5-7 6-6",
    ),
    "do-support with nicht": (
        Sentence((Clause(verb("see"), np("dog"), negated=True, object=np("cat")),)),
        "The dog does not see the cat.",
        "Der Hund sieht die Katze nicht.",
        "0-0 1-1 2-2 3-5 4-2 5-3 6-4",
    ),
    "not a, which is kein": (
        Sentence((Clause(verb("have"), np("farmer"), negated=True, object=np("horse", "a", "black")),)),
        "The farmer does not have a black horse.",
        "Der Bauer hat kein schwarzes Pferd.",
        "0-0 1-1 2-2 3-3 4-2 5-3 6-4 7-5",
    ),
    "cannot, one word for two": (
        Sentence((Clause(verb("sleep"), HE, "can", negated=True),)),
        "He cannot sleep.",
        "Er kann nicht schlafen.",
        "0-0 1-1 1-2 2-3",
    ),
    "must not, which is darf nicht": (
        Sentence((Clause(verb("wash"), THEY, "must", negated=True, object=np("shirt", "this")),)),
        "They must not wash this shirt.",
        "Sie dürfen dieses Hemd nicht waschen.",
        "0-0 1-1 2-4 3-5 4-2 5-3",
    ),
    "not the coat but the hat": (
        Sentence((Clause(verb("buy"), np("man"), "want", negated=True, object=np("coat"), instead=np("hat")),)),
        "The man does not want to buy the coat but the hat.",
        "Der Mann will nicht den Mantel, sondern den Hut kaufen.",
        "0-0 1-1 2-2 3-3 4-2 5-9 6-9 7-4 8-5 9-6 10-7 11-8",
    ),
    "the subordinate clause first": (
        Sentence((Clause(verb("stay"), np("woman"), complement=fw.AT_HOME, opening=Subordinate("if", WEATHER)),)),
        "If the weather is bad, the woman stays at home.",
        "Wenn das Wetter schlecht ist, bleibt die Frau zu Hause.",
        "0-0 1-1 2-2 3-4 4-3 5-6 6-7 7-5 8-8 9-9",
    ),
    "a purpose with a separable verb": (
        Sentence(
            (
                Clause(
                    verb("go"),
                    ANNA,
                    complement=fw.HOME,
                    extension=Infinitive(True, Clause(verb("turn off"), object=np("radio"))),
                ),
            )
        ),
        "Anna goes home in order to turn off the radio.",
        "Anna geht nach Hause, um das Radio auszuschalten.",
        "0-0 1-1 2-2 2-3 3-4 4-4 5-7 6-7 7-7 8-5 9-6",
    ),
    "a relative clause that stands after the participle": (
        Sentence(
            (
                Clause(
                    verb("read"),
                    PAUL,
                    "perfect",
                    object=np(
                        "letter", relative=Clause(verb("write"), ANNA, "past", object=Relativizer("m", False, False))
                    ),
                ),
            )
        ),
        "Paul has read the letter that Anna wrote.",
        "Paul hat den Brief gelesen, den Anna schrieb.",
        "0-0 1-1 2-4 3-2 4-3 5-5 6-6 7-7",
    ),
    "two predicates, two sentences, and the comma after a clause": (
        Sentence(
            (
                Clause(
                    verb("know"),
                    HE,
                    extension=Subordinate("that", Clause(verb("rain"), Pronoun("it"))),
                ),
                Clause(verb("close"), SHE, object=np("box"), also=Clause(verb("sing"), object=np("song", "a"))),
            ),
            ("and",),
        ),
        "He knows that it rains, and she closes the box and sings a song.",
        "Er weiß, dass es regnet, und sie macht die Kiste zu und singt ein Lied.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 7-10 8-8 9-9 10-11 11-12 12-13 13-14",
    ),
    "comparison": (
        Sentence((be(np("church"), "beautiful", comparison=Comparison("than", np("school"))),)),
        "The church is more beautiful than the school.",
        "Die Kirche ist schöner als die Schule.",
        "0-0 1-1 2-2 3-3 4-3 5-4 6-5 7-6",
    ),
    "a question with do": (
        Sentence((Clause(verb("pick up"), np("mother", "her"), "past", object=np("child"), wh=fw.WHEN),), mark="?"),
        "When did her mother pick up the child?",
        "Wann holte ihre Mutter das Kind ab?",
        "0-0 1-1 1-6 2-2 3-3 4-1 4-6 5-1 5-6 6-4 7-5",
    ),
    "a price": (
        Sentence((Clause(verb("cost"), np("shoe", "this", plural=True), object=fw.price("4.80")),)),
        "These shoes cost 4.80 euros.",
        "Diese Schuhe kosten 4,80 Euro.",
        "0-0 1-1 2-2 3-3 4-4",
    ),
    "a time of the clock": (
        Sentence((Clause(verb("begin"), np("film"), "past", time=fw.AT_TIMES[0]),)),
        "The film began at 7:30.",
        "Der Film fing um 7:30 Uhr an.",
        "0-0 1-1 2-2 2-6 3-3 4-4 4-5",
    ),
    "an exclamation": (
        Sentence((Exclamation(np("tree", "a", "old")),), mark="!"),
        "What an old tree!",
        "Was für ein alter Baum!",
        "0-0 0-1 1-2 2-3 3-4",
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_hand_worked_examples(name: str) -> None:
    sentence, english, german, links = EXAMPLES[name]
    pair = realise(sentence)
    assert (pair.english, pair.german, pair.pharaoh) == (english, german, links)


@pytest.mark.parametrize(
    ("determiner", "noun", "forms"),
    [
        ("the", "table", "der kalte Tisch|den kalten Tisch|dem kalten Tisch"),
        ("a", "table", "ein kalter Tisch|einen kalten Tisch|einem kalten Tisch"),
        ("", "milk", "kalte Milch|kalte Milch|kalter Milch"),
        ("", "water", "kaltes Wasser|kaltes Wasser|kaltem Wasser"),
        ("our", "boy", "unser kalter Junge|unseren kalten Jungen|unserem kalten Jungen"),
        ("no", "cup", "keine kalte Tasse|keine kalte Tasse|keiner kalten Tasse"),
        ("this", "house", "dieses kalte Haus|dieses kalte Haus|diesem kalten Haus"),
        ("Anna's", "coat", "Annas kalter Mantel|Annas kalten Mantel|Annas kaltem Mantel"),
    ],
)
def test_declension(determiner: str, noun: str, forms: str) -> None:
    from nmt.data.demo.german import phrase_words

    phrase = np(noun, determiner, "cold")
    found = [" ".join(word.text for word in phrase_words(phrase, "0", case)) for case in ("nom", "acc", "dat")]
    assert "|".join(found) == forms


def test_plural_declension() -> None:
    from nmt.data.demo.german import phrase_words

    for determiner, forms in (
        ("the", "die alten Hunde|den alten Hunden"),
        ("many", "viele alte Hunde|vielen alten Hunden"),
    ):
        phrase = np("dog", determiner, "old", plural=True)
        found = [" ".join(word.text for word in phrase_words(phrase, "0", case)) for case in ("nom", "dat")]
        assert "|".join(found) == forms
    assert phrase_words(np("car", plural=True), "0", "dat")[-1].text == "Autos"
    assert phrase_words(np("woman", plural=True), "0", "dat")[-1].text == "Frauen"


def test_generating_again_gives_the_committed_bytes(tmp_path: Path) -> None:
    summary = write_demo_corpus(tmp_path / "demo")
    (tmp_path / "demo" / "test.en").unlink()
    assert write_demo_corpus(tmp_path / "demo") == summary  # what is there is no obstacle, what is not is written
    written = {path.relative_to(tmp_path / "demo"): path.read_bytes() for path in (tmp_path / "demo").rglob("*.*")}
    committed = {path.relative_to(DEMO): path.read_bytes() for path in DEMO.rglob("*.*") if path.name != "README.md"}
    assert written.keys() == committed.keys()
    assert [name for name in written if written[name] != committed[name]] == []
    assert sum(map(len, written.values())) < 4_000_000
    assert isinstance(summary, DemoSummary)
    assert summary.pairs == {split: len(lines(f"{split}.en")) for split in SPLITS}
    assert summary.documents == {split: lines(f"documents/{split}.en").count("") + 1 for split in SPLITS}


def test_no_sentence_stands_twice() -> None:
    for side in ("en", "de"):
        sentences = [line for split in SPLITS for line in lines(f"{split}.{side}")]
        assert len(set(sentences)) == len(sentences)


def test_one_german_sentence_for_an_english_one() -> None:
    """In the documents only the sentences with an ambiguous pronoun have several."""
    german: dict[str, set[str]] = defaultdict(set)
    for split in SPLITS:
        for source, target in zip(lines(f"{split}.en"), lines(f"{split}.de"), strict=True):
            german[source].add(target)
        columns = [lines(f"documents/{split}.{name}") for name in ("en", "de", "pronouns")]
        for source, target, pronoun in zip(*columns, strict=True):
            if not pronoun:
                german[source].add(target)
    assert [source for source, targets in german.items() if len(targets) > 1] == []


@pytest.mark.parametrize(
    ("split", "shares"), [("train", (0.35, 0.3, 0.2, 0.15)), ("valid", (0.35, 0.3, 0.2, 0.15)), ("test", ())]
)
def test_length_buckets(split: str, shares: tuple[float, ...]) -> None:
    lengths = [len(line.split()) for line in lines(f"{split}.en")]
    assert min(lengths) >= 3
    assert max(lengths) <= 40
    assert max(len(line.split()) for line in lines(f"{split}.de")) <= 45
    counts = [sum(low <= length <= high for length in lengths) for low, high in BUCKETS]
    if shares:
        assert [count / len(lengths) for count in counts] == pytest.approx(shares, abs=0.01)
    else:
        assert min(counts) >= 120


@pytest.mark.parametrize("folder", ["", "documents/"])
@pytest.mark.parametrize("split", SPLITS)
def test_links_are_sorted_and_reach_every_word(folder: str, split: str) -> None:
    columns = [lines(f"{folder}{split}.{name}") for name in ("en", "de", "links")]
    assert len({len(column) for column in columns}) == 1
    for source, target, links in zip(*columns, strict=True):
        assert bool(source) == bool(target) == bool(links)
        pairs = links_of(links)
        assert pairs == sorted(set(pairs))
        assert {index for index, _ in pairs} == set(range(len(source.split())))
        assert {index for _, index in pairs} == set(range(len(target.split())))


def test_the_lines_are_ordinary_text() -> None:
    for split in SPLITS:
        for side in ("en", "de"):
            for line in lines(f"{split}.{side}"):
                assert line == " ".join(line.split())
                assert line[0].isupper()
                assert line[-1] in ".?!"
                assert not any(word in line for word in (" ,", ",,", ",.", " a a", " an b"))


def test_a_and_an() -> None:
    for split in SPLITS:
        for line in lines(f"{split}.en"):
            words = bare(line.lower())
            for article, word in pairwise(words):
                if article in ("a", "an"):
                    assert (article == "an") == (word[0] in "aeiou"), line


def test_a_separable_verb_links_to_both_its_parts() -> None:
    found = 0
    for source, target, links in zip(*(lines(f"train.{name}") for name in ("en", "de", "links")), strict=True):
        words, german = bare(source), bare(target)
        if "invites" in words and "lädt" in german and german.count("ein") == words.count("invites") == 1:
            targets = {german[index] for place, index in links_of(links) if words[place] == "invites"}
            assert targets == {"lädt", "ein"}
            found += 1
    assert found >= 10


def test_train_teaches_every_word_form_of_valid_and_test() -> None:
    compounds = {form for noun in all_nouns().values() if noun.parts for form in (noun.german, noun.german_plural)}
    compounds |= {form + ending for form in compounds for ending in ("n", "s", "es")}
    for side in ("en", "de"):
        counts: Counter[str] = Counter()
        for line in lines(f"train.{side}"):
            first, *rest = bare(line)
            counts.update({first, first[0].lower() + first[1:]})
            counts.update(rest)
        for split in ("valid", "test"):
            for line in lines(f"{split}.{side}"):
                first, *rest = bare(line)
                assert max(counts[first], counts[first[0].lower() + first[1:]]) >= 5 or first in compounds
                assert [word for word in rest if counts[word] < 5 and word not in compounds] == []


def test_unseen_compounds_stand_in_test_alone() -> None:
    english = {split: " ".join(" ".join(bare(line)) for line in lines(f"{split}.en")) for split in SPLITS}
    for compound in unseen_compounds():
        assert compound not in english["train"]
        assert compound not in english["valid"]
        for part in all_nouns()[compound].parts or ():
            others = [
                noun for name, noun in all_nouns().items() if noun.parts and part in noun.parts and name != compound
            ]
            assert any(noun.english in english["train"] for noun in others)
    assert sum(english["test"].count(compound) for compound in unseen_compounds()) >= 10


@pytest.mark.parametrize("split", SPLITS)
def test_documents(split: str) -> None:
    columns = [lines(f"documents/{split}.{name}") for name in ("en", "de", "pronouns", "wrong")]
    pronouns = {"m": ("er", "ihn"), "f": ("sie", "sie"), "n": ("es", "es")}
    genders: Counter[str] = Counter()
    by_sentence: dict[str, list[str]] = defaultdict(list)
    sizes, pairs, before = [0], set(), ""
    for source, target, pronoun, wrong in zip(*columns, strict=True):
        assert bool(pronoun) == bool(wrong)
        if not source:
            sizes.append(0)
        else:
            sizes[-1] += 1
            assert bool(pronoun) == ("it" in bare(source.lower()))
        if pronoun:
            source_index, target_index, gender = pronoun.split("\t")
            assert bare(source.lower())[int(source_index)] == "it"
            words, place = bare(target.lower()), int(target_index)
            assert words[place] in pronouns[gender]
            case = pronouns["m"].index("ihn" if "ihn" in f"{target} {wrong}".lower() else "er")
            others = [forms[case] for other, forms in pronouns.items() if other != gender]
            assert [bare(one.lower()) for one in wrong.split("\t")] == [
                [*words[:place], other, *words[place + 1 :]] for other in others
            ]
            genders[gender] += 1
            by_sentence[source].append(gender)
            assert before
            pairs.add((before, source))
        before = source
    assert set(sizes) == {2, 3, 4}
    assert sum(genders.values()) == len(sizes) == len(pairs)
    assert max(genders.values()) - min(genders.values()) <= 1
    assert all(Counter(found)["m"] == Counter(found)["f"] == Counter(found)["n"] for found in by_sentence.values())
    if split == "test":
        assert sum(genders.values()) >= 300


def test_document_pairs_are_not_shared_between_splits() -> None:
    found: dict[tuple[str, str], str] = {}
    for split in SPLITS:
        before = ""
        for source, pronoun in zip(lines(f"documents/{split}.en"), lines(f"documents/{split}.pronouns"), strict=True):
            if pronoun:
                assert found.setdefault((before, source), split) == split
            before = source


def test_documents_use_the_words_of_the_corpus() -> None:
    for side in ("en", "de"):
        known = {word.lower() for line in lines(f"train.{side}") for word in bare(line)}
        for split in SPLITS:
            for line in lines(f"documents/{split}.{side}"):
                assert [word for word in bare(line.lower()) if word not in known] == []
