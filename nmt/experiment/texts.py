"""The texts that a config names, read and checked before anything is written; and what is learnt from them."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt.alignment.links import Links, check_range, read_links
from nmt.config.schema import Config
from nmt.data.batching import Example
from nmt.data.corpus import ParallelText, read_parallel, require_equal, without_blank
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.errors import DataError


@dataclass(frozen=True)
class Texts:
    """Training, validation and test text, gold links of the test where known, and lines worth telling about them."""

    train: ParallelText
    valid: ParallelText
    test: ParallelText | None
    gold: Sequence[Links] | None
    notes: tuple[str, ...]


def read_texts(config: Config) -> Texts:
    """Raises DataError where a file is missing, empty, or does not fit its neighbour."""
    data = config.data
    whole = read_parallel(data.train.source, data.train.target)
    train = without_blank(whole)
    if not len(train):
        raise DataError(f"{data.train.source}: no line has text on both sides; training needs sentence pairs")
    dropped = len(whole) - len(train)
    notes = (f"{dropped:,} training pairs with a blank side are left out",) if dropped else ()
    valid = read_parallel(data.valid.source, data.valid.target)
    if data.test is None:
        return Texts(train, valid, None, None, notes)
    test = read_parallel(data.test.source, data.test.target)
    return Texts(train, valid, test, _gold(config, test), notes)


def _gold(config: Config, test: ParallelText) -> list[Links] | None:
    """The gold links of the test text."""
    files = config.data.test
    if files is None or files.alignment is None:
        return None
    gold = read_links(files.alignment)
    require_equal(gold, files.alignment, test.source, files.source)
    if config.alignment.unit == "word":
        for number, (links, source, target) in enumerate(zip(gold, test.source, test.target, strict=True), start=1):
            where = f"{files.alignment}:{number}"
            check_range(links.possible, len(source.split()), len(target.split()), where)
    return gold


def learn_tokenizers(config: Config, train: ParallelText) -> tuple[Tokenizer, Tokenizer, list[str]]:
    """The tokenizers of both languages, one object where they share it, and lines worth telling about them."""
    settings = config.tokenizer
    sides = {"source text": train.source, "target text": train.target}
    if settings.shared:
        sides = {"training text": (*train.source, *train.target)}
    trained = [
        train_tokenizer(
            lines,
            kind=settings.type,
            vocabulary_size=settings.vocabulary_size,
            character_coverage=settings.character_coverage,
            what=what,
        )
        for what, lines in sides.items()
    ]
    notes = [one.note for one in trained if one.note is not None]
    return trained[0].tokenizer, trained[-1].tokenizer, notes


def training_examples(
    config: Config, text: ParallelText, source: Tokenizer, target: Tokenizer
) -> tuple[list[Example], int]:
    """The pairs of a text in pieces, those with a blank side or one longer than `max_length` left out; and how many."""
    longest = config.data.max_length
    examples = [
        Example(source.encode(one).numbers, target.encode(other).numbers)
        for one, other in zip(text.source, text.target, strict=True)
    ]
    kept = [e for e in examples if e.source and e.target and e.length <= longest + 1]
    if not kept:
        raise DataError(f"every pair is longer than data.max_length ({longest} pieces) or blank; raise it")
    return kept, len(examples) - len(kept)
