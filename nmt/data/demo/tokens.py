"""From words with concept keys to text and links.

Both languages realise the same tree. Every word carries the keys of the concepts it expresses (a path in the tree, such
as `0.o.n` for the noun of the first clause's object), and two words are linked where they share a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nmt.data.demo.tree import Fixed


@dataclass(frozen=True)
class Word:
    """One whitespace word without its punctuation; a comma is a word of its own until `finish`."""

    text: str
    keys: frozenset[str] = frozenset()


COMMA = Word(",")
Words = list[Word]


@dataclass(frozen=True)
class Pair:
    """A sentence in both languages and the sorted links (source word, target word), 0-based."""

    english: str
    german: str
    links: tuple[tuple[int, int], ...]

    @property
    def pharaoh(self) -> str:
        return " ".join(f"{source}-{target}" for source, target in self.links)


def word(text: str, *keys: str) -> Word:
    return Word(text, frozenset(keys))


def bare_words(line: str) -> list[str]:
    """The words of a line without their punctuation."""
    return [item.strip(".,?!") for item in line.split()]


def fixed_words(item: Fixed, path: str, german: bool) -> Words:
    """The words of one side, with a key for each of the item's links."""
    texts = (item.german if german else item.english).split()
    keys: list[list[str]] = [[] for _ in texts]
    for link in item.links.split():
        source, target = link.split("-")
        keys[int(target if german else source)].append(f"{path}.{link}")
    return [word(text, *own) for text, own in zip(texts, keys, strict=True)]


def finish(words: Sequence[Word], mark: str) -> tuple[str, list[frozenset[str]]]:
    """Glue commas and the final mark to words and write the first letter large.

    Commas that meet become one, and a comma before the end gives way to the mark.
    """
    texts: list[str] = []
    keys: list[frozenset[str]] = []
    for item in words:
        if item is COMMA:
            if texts and not texts[-1].endswith(","):
                texts[-1] += ","
        else:
            texts.append(item.text)
            keys.append(item.keys)
    texts[-1] = texts[-1].removesuffix(",") + mark
    texts[0] = texts[0][0].upper() + texts[0][1:]
    return " ".join(texts), keys


def link(english: Sequence[frozenset[str]], german: Sequence[frozenset[str]]) -> tuple[tuple[int, int], ...]:
    """Every pair of words that share a key."""
    places: dict[str, list[int]] = {}
    for target, keys in enumerate(german):
        for key in keys:
            places.setdefault(key, []).append(target)
    pairs = {(source, target) for source, keys in enumerate(english) for key in keys for target in places.get(key, ())}
    return tuple(sorted(pairs))
