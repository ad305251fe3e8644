"""From a line to pieces and back, and where each piece stands."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.data.tokenizer import (
    BEGIN,
    END,
    PADDING,
    SPECIAL_TEXTS,
    UNKNOWN,
    Pieces,
    Tokenizer,
    load_tokenizer,
    train_tokenizer,
    word_starts,
)
from nmt.errors import CheckpointError, ConfigError, DataError

KINDS = ("bpe", "unigram", "char", "word")
SIZES = {"bpe": 90, "unigram": 52, "char": 60, "word": 40}
MARKUP = "<s> </s> <pad> <unk>"
LINES = [
    "the small dog sees the other small dog .",
    "the dogs have seen another cat , not a dog .",
    "seeing is believing , said the cat to the dogs .",
    "Übergrößen für Käsebrötchen !",
    "a dog and a cat see a small cat .",
    f"markup such as {MARKUP} is text",
] * 3


def learn(kind: str, lines: list[str] | None = None, size: int | None = None) -> Tokenizer:
    return train_tokenizer(
        LINES if lines is None else lines,
        kind=kind,
        vocabulary_size=SIZES[kind] if size is None else size,
        character_coverage=1.0,
        what="text",
    ).tokenizer


@pytest.fixture(scope="module")
def learnt() -> dict[str, Tokenizer]:
    return {kind: learn(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_known_text_comes_back(learnt: dict[str, Tokenizer], kind: str) -> None:
    for line in LINES:
        assert learnt[kind].decode(learnt[kind].encode(line).numbers) == line


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_new_words_of_known_characters_come_back(learnt: dict[str, Tokenizer], kind: str) -> None:
    for line in ("dogcat dogged small", "Ünseen <s>cat</s>", "<pad><unk>", "</s>", "<s>"):
        assert learnt[kind].decode(learnt[kind].encode(line).numbers) == line


@pytest.mark.parametrize("kind", KINDS)
def test_special_texts_are_text_like_any_other(learnt: dict[str, Tokenizer], kind: str) -> None:
    pieces = learnt[kind].encode(MARKUP)
    assert min(pieces.numbers) > END
    assert learnt[kind].decode(pieces.numbers) == MARKUP
    # Not even the tokenizer's own names for the special pieces reach their numbers.
    assert not {PADDING, BEGIN, END} & set(learnt[kind].encode(" ".join(SPECIAL_TEXTS)).numbers)


def test_special_texts_are_learnt_from() -> None:
    lines = [f"{MARKUP} {MARKUP}"] * 20
    for kind in KINDS:
        tokenizer = learn(kind, lines, size=20)
        assert min(tokenizer.encode(MARKUP).numbers) > END, kind
        assert tokenizer.decode(tokenizer.encode(MARKUP).numbers) == MARKUP, kind


@pytest.mark.parametrize("kind", KINDS)
def test_special_numbers_are_the_same_everywhere_and_have_no_text(learnt: dict[str, Tokenizer], kind: str) -> None:
    assert (PADDING, UNKNOWN, BEGIN, END) == (0, 1, 2, 3)
    assert learnt[kind].written([PADDING, UNKNOWN, BEGIN, END]).texts == SPECIAL_TEXTS
    assert learnt[kind].decode([BEGIN, PADDING, UNKNOWN, END]) == ""
    numbers = learnt[kind].encode("the small cat").numbers
    assert learnt[kind].decode([BEGIN, *numbers, END, PADDING]) == "the small cat"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_known_is_unknown(learnt: dict[str, Tokenizer], kind: str) -> None:
    assert UNKNOWN in learnt[kind].encode("the 猫 sees").numbers


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", ["", " ", "\t \u3000", "\u200b", "\ufeff", "\u00ad", " \u200d \u2060", "\0"])
def test_a_line_without_visible_text_has_no_pieces(learnt: dict[str, Tokenizer], kind: str, line: str) -> None:
    assert learnt[kind].encode(line) == Pieces((), (), ())


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_beyond_the_text_is_lowered_to_the_largest_possible_and_said(kind: str) -> None:
    trained = train_tokenizer(LINES, kind=kind, vocabulary_size=5000, character_coverage=1.0, what="target text")
    size = len(trained.tokenizer)
    assert size < 5000
    assert trained.note is not None
    assert "\n" not in trained.note
    assert trained.note.startswith("the target text supports")
    assert {str(size), "5000"} <= set(re.findall(r"\d+", trained.note))
    again = train_tokenizer(LINES, kind=kind, vocabulary_size=size, character_coverage=1.0, what="target text")
    assert (len(again.tokenizer), again.note) == (size, None)
    larger = train_tokenizer(LINES, kind=kind, vocabulary_size=size + 1, character_coverage=1.0, what="target text")
    assert len(larger.tokenizer) == size


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_vocabulary_as_large_as_asked_for_is_not_spoken_of(kind: str) -> None:
    trained = train_tokenizer(LINES, kind=kind, vocabulary_size=SIZES[kind], character_coverage=1.0, what="text")
    assert (len(trained.tokenizer), trained.note) == (SIZES[kind], None)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_too_small_a_vocabulary_is_refused_with_a_number_that_works(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"^tokenizer\.vocabulary_size: 10 is too small for the source text") as error:
        train_tokenizer(LINES, kind=kind, vocabulary_size=10, character_coverage=1.0, what="source text")
    message = str(error.value)
    assert "\n" not in message
    enough = max(int(number) for number in re.findall(r"\d+", message))
    assert len(learn(kind, size=enough)) == enough
    with pytest.raises(ConfigError, match="too small"):
        learn(kind, size=enough - 2)


def test_a_text_without_text_is_refused() -> None:
    with pytest.raises(DataError, match="the source text holds no text"):
        train_tokenizer(["", " "], kind="bpe", vocabulary_size=50, character_coverage=1.0, what="source text")


def test_the_word_type_keeps_words_whole_and_unknown_words_apart(learnt: dict[str, Tokenizer]) -> None:
    line = "the zebra yak  sees wombats dog"
    pieces = learnt["word"].encode(line)
    assert [line[start:end] for start, end in pieces.spans] == line.split()
    assert [number == UNKNOWN for number in pieces.numbers] == [False, True, True, False, True, False]


# SentencePiece takes its own mark of a word boundary, and the replacement character, for spaces.
visible = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cf", "Cn", "Co", "Z"], exclude_characters="▁\ufffd"), max_size=8
)
plain_lines = st.lists(visible | st.sampled_from(["dog", "the", "<s>", "größen"]), max_size=6).map(" ".join)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(line=st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | plain_lines)
def test_spans_lie_in_the_line_in_order(learnt: dict[str, Tokenizer], kind: str, line: str) -> None:
    pieces = learnt[kind].encode(line)
    assert len(pieces.numbers) == len(pieces.texts) == len(pieces.spans)
    before = 0
    for start, end in pieces.spans:
        assert before <= start <= end <= len(line)
        before = start


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(line=plain_lines)
def test_spans_cover_every_visible_character(learnt: dict[str, Tokenizer], kind: str, line: str) -> None:
    covered = {place for start, end in learnt[kind].encode(line).spans for place in range(start, end)}
    assert {place for place, character in enumerate(line) if not character.isspace()} <= covered


@pytest.mark.parametrize("kind", KINDS)
def test_spans_of_known_text_are_its_pieces_in_turn(learnt: dict[str, Tokenizer], kind: str) -> None:
    for line in LINES:
        pieces = learnt[kind].encode(line)
        surface = [line[start:end].strip() for start, end in pieces.spans]
        assert surface == [text.replace("▁", "") for text in pieces.texts]
        assert "".join(surface) == "".join(line.split())


def test_spans_count_in_characters_of_the_original_line(learnt: dict[str, Tokenizer]) -> None:
    # A character of four bytes, a ligature that normalisation takes apart, two spaces that it makes one.
    line = "😀 \ufb01 the  dog"
    pieces = learnt["bpe"].encode(line)
    places = [index for index, text in enumerate(pieces.texts) if text.startswith("▁the")]
    start, end = pieces.spans[places[0]]
    assert line[start:end].strip() in ("the", "th", "t")
    assert line[pieces.spans[-1][0] : pieces.spans[-1][1]].strip() != ""
    assert pieces.spans[-1][1] == len(line)


@pytest.mark.parametrize("kind", KINDS)
def test_written_pieces_stand_where_the_text_grows(learnt: dict[str, Tokenizer], kind: str) -> None:
    tokenizer = learnt[kind]
    for line in (LINES[0], LINES[3], "dogcat small" if kind != "word" else "dog cat"):
        numbers = tokenizer.encode(line).numbers
        pieces = tokenizer.written(numbers)
        text = tokenizer.decode(numbers)
        assert pieces.numbers == numbers
        assert "".join(text[start:end] for start, end in pieces.spans) == text
        assert pieces.spans[-1][1] == len(text)
        stripped = [text[start:end].strip() for start, end in pieces.spans]
        assert stripped == [piece.replace("▁", "") for piece in pieces.texts]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_whatever_a_model_writes_has_spans_in_its_text(
    learnt: dict[str, Tokenizer], kind: str, data: st.DataObject
) -> None:
    tokenizer = learnt[kind]
    numbers = data.draw(st.lists(st.integers(END + 1, len(tokenizer) - 1), max_size=12))
    text = tokenizer.decode(numbers)
    spans = tokenizer.written(numbers).spans
    assert len(spans) == len(numbers)
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]
    assert "".join(text[start:end] for start, end in spans) == text


def test_words_and_where_they_start() -> None:
    line = "  the cat\u00a0the\u3000the "
    starts = word_starts(line)
    assert [word for _, word in starts] == line.split()
    assert all(line.startswith(word, start) for start, word in starts)
    assert len({start for start, _ in starts}) == 4


def test_a_tokenizer_is_loaded_as_it_was(learnt: dict[str, Tokenizer], tmp_path: Path) -> None:
    for kind, tokenizer in learnt.items():
        path = tmp_path / kind
        path.write_bytes(tokenizer.model)
        loaded = load_tokenizer(path, kind=kind)
        assert len(loaded) == len(tokenizer)
        for line in (LINES[1], "zebra yak the"):
            assert loaded.encode(line) == tokenizer.encode(line)


@pytest.mark.parametrize("content", [None, b"", b"no model", b"\x80\x04\x95"])
def test_a_missing_or_damaged_tokenizer_is_named(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "tokenizer.model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CheckpointError, match=rf"^{re.escape(str(path))}: ") as error:
        load_tokenizer(path, kind="bpe")
    assert "\n" not in str(error.value)


# Bytes, and what a model may write.


@pytest.fixture(scope="module")
def with_bytes() -> dict[str, Tokenizer]:
    return {
        kind: train_tokenizer(
            LINES,
            kind=kind,
            vocabulary_size=SIZES[kind] + 256,
            character_coverage=1.0,
            what="text",
            byte_fallback=True,
        ).tokenizer
        for kind in KINDS
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", ["a dog 猫 sees", "\U0001f600", "the \U0001f600猫, cat", "Ελλάδα and a cat"])
def test_unknown_characters_become_bytes_and_come_back(
    with_bytes: dict[str, Tokenizer], learnt: dict[str, Tokenizer], kind: str, line: str
) -> None:
    pieces = with_bytes[kind].encode(line)
    assert UNKNOWN not in pieces.numbers
    assert UNKNOWN in learnt[kind].encode(line).numbers
    assert with_bytes[kind].decode(pieces.numbers) == line
    written = with_bytes[kind].written(pieces.numbers)
    assert written.spans[0][0] == 0
    assert written.spans[-1][1] == len(line)
    assert all(one[0] <= one[1] == other[0] for one, other in pairwise(written.spans))


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_model_writes_is_one_line(with_bytes: dict[str, Tokenizer], kind: str) -> None:
    tokenizer = with_bytes[kind]
    numbers = [tokenizer._processor.piece_to_id(f"<0x{byte:02X}>") for byte in (0x0A, 0x0D, 0xE2, 0x0A, 0xFF)]
    assert UNKNOWN not in numbers
    for count in range(1, 6):
        assert not set(tokenizer.decode(numbers[:count])) & {"\n", "\r"}
        spans = tokenizer.written(numbers[:count]).spans
        assert all(begin <= end for begin, end in spans)
        assert spans[-1][1] == len(tokenizer.decode(numbers[:count]))


def test_unknown_pieces_have_no_text(learnt: dict[str, Tokenizer]) -> None:
    for tokenizer in learnt.values():
        assert tokenizer.decode([UNKNOWN, *tokenizer.encode("the dog").numbers, UNKNOWN]).strip() == "the dog"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", ["the", "the dog", "猫 sees", "a 猫", "猫", "東京 猫"])
def test_text_begins_with_a_start_as_it_was_given(learnt: dict[str, Tokenizer], kind: str, start: str) -> None:
    tokenizer = learnt[kind]
    begun = tokenizer.encode(start).numbers
    numbers = (*begun, *tokenizer.encode("cat .").numbers)
    text = tokenizer.decode(numbers, start)
    assert text == f"{start} cat ."
    written = tokenizer.written(numbers, start)
    assert written.spans[len(begun) - 1][1] <= len(start) + 1
    assert written.spans[-1][1] == len(text)
    assert text[slice(*written.spans[-1])].strip() in (".", "cat .")
    assert tokenizer.decode(begun, start) == start
    assert not any(special in "".join(written.texts) for special in SPECIAL_TEXTS)
    assert written.texts[: len(begun)] == tokenizer.encode(start).texts


def test_which_pieces_grow_a_word() -> None:
    lines = ["the dogs, they're 7 x-rays e\u0301 我们来了 ほん."] * 4
    tokenizer = learn("char", lines, 60)
    grows = {tokenizer._processor.id_to_piece(n): grown for n, grown in enumerate(tokenizer.grows_word) if n > END}
    assert all(grows[one] for one in "thedogs7")
    assert not any(grows[one] for one in ("▁", ",", ".", "'", "-", "我", "们", "ほ"))
