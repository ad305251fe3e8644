"""A tree in both languages, with its links."""

from __future__ import annotations

from nmt.data.demo import english, german
from nmt.data.demo.tokens import Pair, finish, link
from nmt.data.demo.tree import Sentence


def realise(sentence: Sentence) -> Pair:
    """The English and the German sentence, and the links between their words."""
    english_text, english_keys = finish(english.sentence_words(sentence), sentence.mark)
    german_text, german_keys = finish(german.sentence_words(sentence), sentence.mark)
    return Pair(english_text, german_text, link(english_keys, german_keys))
