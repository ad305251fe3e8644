"""Which sentences stand before a sentence."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.batching import Example, context_batch, make_batch
from nmt.data.corpus import ParallelText, without_blank
from nmt.data.documents import SentencesBefore, read_names, sentences_before
from nmt.data.tokenizer import PADDING
from nmt.errors import DataError

LINES = ["a", "b", "c", "", "d", " ", "", "e", "f"]


def test_a_blank_line_ends_a_document() -> None:
    assert sentences_before(LINES, 2) == [(), ("a",), ("a", "b"), (), (), (), (), (), ("e",)]
    assert sentences_before(LINES, 1)[2] == ("b",)


def test_with_names_a_document_ends_where_the_name_changes() -> None:
    names = ["1", "1", "2", "2", "2", "2", "1", "1", "1"]
    assert sentences_before(LINES, 3, names) == [(), ("a",), (), (), ("c",), (), (), (), ("e",)]


@given(st.lists(st.sampled_from(["a", "b", "", "  "])), st.integers(1, 4))
def test_no_sentence_comes_from_another_document_or_from_behind(lines: list[str], count: int) -> None:
    for index, before in enumerate(sentences_before(lines, count)):
        start = max((place + 1 for place in range(index) if not lines[place].strip()), default=0)
        expected = tuple(lines[start:index]) if lines[index].strip() else ()
        assert before == expected[-count:]


@given(st.lists(st.sampled_from(["a", "b", ""])))
def test_a_text_may_come_in_parts(lines: list[str]) -> None:
    walk = SentencesBefore(2)
    assert [walk.of(line) for line in lines] == sentences_before(lines, 2)


def test_names_belong_to_lines(tmp_path: Path) -> None:
    path = tmp_path / "names"
    path.write_text("one\none \ntwo\n", encoding="utf-8")
    assert read_names(path, "abc", "text") == ["one", "one", "two"]
    with pytest.raises(DataError, match=r"text has 2 lines but .*names has 3"):
        read_names(path, "ab", "text")


def test_pairs_left_out_of_training_still_stand_before_others() -> None:
    text = ParallelText(("a", "b", "c"), ("A", "", "C"), tuple(sentences_before(["a", "b", "c"], 2)))
    assert without_blank(text) == ParallelText(("a", "c"), ("A", "C"), ((), ("a", "b")))


def test_a_batch_has_the_sentences_before_in_their_order() -> None:
    context_BKS = context_batch([((5, 6), (7,)), (), ((8,),)])
    expected = [[[5, 6], [7, 0]], [[0, 0], [0, 0]], [[8, 0], [0, 0]]]
    assert PADDING == 0
    assert context_BKS is not None
    assert context_BKS.tolist() == expected
    batch = make_batch([Example((4,), (4,), ((5, 6), (7,))), Example((4,), (4,)), Example((4,), (4,), ((8,),))])
    assert batch.context_BKS is not None
    assert batch.to(torch.device("cpu")).context_BKS.tolist() == expected


def test_without_sentences_before_a_batch_is_as_ever() -> None:
    assert context_batch([(), ()]) is None
    assert make_batch([Example((4,), (4,))]).to(torch.device("cpu")).context_BKS is None
