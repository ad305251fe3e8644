"""What a line is, and which files make a parallel text."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.corpus import (
    ParallelText,
    overlap,
    read_lines,
    read_parallel,
    require_equal,
    split_lines,
    without_blank,
)
from nmt.errors import DataError

INSIDE = {
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "form feed": "\f",
    "vertical tab": "\v",
    "next line": "\x85",
    "file separator": "\x1c",
    "lone carriage return": "\r",
    "no-break space": "\u00a0",
    "nul": "\0",
}


def written(folder: Path, content: bytes, name: str = "text") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("character", INSIDE.values(), ids=INSIDE.keys())
def test_only_a_line_feed_separates_lines(tmp_path: Path, character: str) -> None:
    text = f"one{character}still one\ntwo\n"
    assert split_lines(text) == [f"one{character}still one", "two"]
    assert read_lines(written(tmp_path, text.encode())) == [f"one{character}still one", "two"]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\nb", ["a", "b"]),
        (b"a\n\n", ["a", ""]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\nb\n", ["a\r", "b"]),
        (b"a \n  b\n", ["a ", "  b"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"a\xef\xbb\xbf\n\xef\xbb\xbfb\n", ["a\ufeff", "\ufeffb"]),
    ],
)
def test_lines_of_a_file(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    assert read_lines(written(tmp_path, content)) == lines


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]))))
def test_lines_survive_writing_and_splitting(lines: list[str]) -> None:
    assert split_lines("".join(f"{line}\n" for line in lines)) == lines
    assert split_lines("".join(f"{line}\r\n" for line in lines)) == lines


def test_what_is_no_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, b"good\n\xe2\x80\xa8 still line two\nGr\xfc\xdfe\n")
    with pytest.raises(DataError, match=rf"^{re.escape(str(path))}:3: not UTF-8 \(byte 0xfc\).*iconv") as error:
        read_lines(path)
    assert "\n" not in str(error.value)
    path = written(tmp_path, b"\xef\xbb\xbfgood\n\xfcber\n")  # the byte-order mark counts for nothing
    with pytest.raises(DataError, match=r":2: not UTF-8 \(byte 0xfc\)"):
        read_lines(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere.en"
    with pytest.raises(DataError, match=rf"^{re.escape(str(missing))}: no such file$"):
        read_lines(missing)
    with pytest.raises(DataError, match=rf"^{re.escape(str(tmp_path))}: is a folder"):
        read_lines(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        read_lines(written(tmp_path, b"") / "below")


def test_unequal_texts_name_both_files_and_both_counts(tmp_path: Path) -> None:
    source, target = written(tmp_path, b"a\nb\nc\n", "x.en"), written(tmp_path, b"a\nb\n", "x.de")
    with pytest.raises(DataError) as error:
        read_parallel(source, target)
    message = str(error.value)
    assert f"{source} has 3 lines" in message
    assert f"{target} has 2" in message
    assert "\n" not in message
    require_equal("ab", source, [1, 2], target)


def test_a_separator_on_one_side_alone_does_not_shift_the_other(tmp_path: Path) -> None:
    source = written(tmp_path, "a\u2028b\nc\x85\nd\n".encode(), "x.en")
    target = written(tmp_path, b"1\r\n2\r\n3", "x.de")
    text = read_parallel(source, target)
    assert list(zip(text.source, text.target, strict=True)) == [("a\u2028b", "1"), ("c\x85", "2"), ("d", "3")]


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\t\n\xe2\x80\x83\n"])
def test_a_text_without_text_is_refused(tmp_path: Path, content: bytes) -> None:
    full = written(tmp_path, b"a\n" * content.count(b"\n"), "full")
    blank = written(tmp_path, content, "blank")
    for pair in ((full, blank), (blank, full)):
        # Where neither file has a line, the one that is read first is blamed.
        with pytest.raises(DataError, match=rf"^{re.escape(str(blank if content else pair[0]))}: is empty"):
            read_parallel(*pair)


def test_pairs_with_a_blank_side_are_left_out_and_the_rest_stays_in_step() -> None:
    text = ParallelText(("a", "", "c", " \t", "e", "\u2003"), ("1", "2", " ", "4", "5", ""))
    assert without_blank(text) == ParallelText(("a", "e"), ("1", "5"))


def test_pairs_take_their_links_along() -> None:
    text = ParallelText(("a", "b", "c"), ("1", "", "3"), links=(((0, 0),), (), ((1, 2), (2, 1))))
    assert without_blank(text).links == (((0, 0),), ((1, 2), (2, 1)))
    assert text.select([2, 0]).links == (((1, 2), (2, 1)), ((0, 0),))


def test_overlap_counts_test_sources_that_training_has() -> None:
    train = ParallelText(("a b", "c ", "d"), ("1", "2", "3"))
    test = ParallelText((" a b", "c", "c", "A b", "e", "a"), ("1", "x", "y", "z", "3", "1"))
    assert overlap(train, test) == 3
    assert overlap(train, ParallelText((), ())) == 0


def test_one_file_for_both_sides_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.en"
    path.write_text("a\n", encoding="utf-8")
    with pytest.raises(DataError, match="source and as target"):
        read_parallel(path, path)
