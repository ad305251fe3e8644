"""Alignment error rate: by hand, by brute force, and against published rates of another aligner."""

import json
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from nmt.alignment.links import Links, parse_links, read_links
from nmt.cli.aer import aer
from nmt.errors import ConfigError, DataError
from nmt.evaluation.aer import AlignmentScore, score_alignments

HANSARDS = Path(__file__).resolve().parents[2].parent / "shared/data/alignment"

app = typer.Typer()
app.command()(aer)


def links(line: str) -> frozenset[tuple[int, int]]:
    return parse_links(line).possible


def test_by_hand() -> None:
    # |A| = 5, |S| = 4; sure hits 0-0 and 3-3, possible hits these and 1-2; misses 1-1 and 0-1, false 2-0 and 5-5.
    score = score_alignments(
        [links("0-0 1-2 2-0"), links("3-3 5-5")], [parse_links("0-0 1-1 1p2"), parse_links("3-3 0-1 2p2")]
    )
    assert score == AlignmentScore(
        aer=pytest.approx(1 - (2 + 3) / (5 + 4)),
        precision=pytest.approx(3 / 5),
        recall=pytest.approx(2 / 4),
        links=5,
        sure=4,
        possible=6,
        sentences=2,
    )


def test_rates_are_over_the_whole_set_not_means_of_sentences() -> None:
    score = score_alignments([links("0-0"), links("0-1 0-2 0-3")], [parse_links("0-0"), parse_links("1-1")])
    assert score.precision == pytest.approx(1 / 4)
    assert score.recall == pytest.approx(1 / 2)
    assert score.aer == pytest.approx(1 - 2 / 6)


@pytest.mark.parametrize(
    ("hypothesis", "gold", "aer", "precision", "recall"),
    [
        ("0-0 1-1", "0-0 1-1", 0, 1, 1),
        ("", "0-0", 1, 1, 0),
        ("0-0", "", 1, 0, 1),
        ("0-0", "0p0", 0, 1, 1),
        ("", "", 0, 1, 1),
        ("", "0p0", 0, 1, 1),
        ("0-1", "1-0", 1, 0, 0),  # direction matters
    ],
)
def test_edges(hypothesis: str, gold: str, aer: float, precision: float, recall: float) -> None:
    score = score_alignments([links(hypothesis)], [parse_links(gold)])
    assert (score.aer, score.precision, score.recall) == (aer, precision, recall)


@given(st.data())
def test_against_counting_one_link_at_a_time(data: st.DataObject) -> None:
    some = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    sentences = data.draw(st.lists(st.tuples(some, some, some), min_size=1, max_size=5))
    a = s = a_and_s = a_and_p = 0
    for hypothesis, sure, possible in sentences:
        for source in range(4):
            for target in range(4):
                in_a, in_s = (source, target) in hypothesis, (source, target) in sure
                in_p = in_s or (source, target) in possible
                a, s = a + in_a, s + in_s
                a_and_s, a_and_p = a_and_s + (in_a and in_s), a_and_p + (in_a and in_p)
    score = score_alignments([h for h, _, _ in sentences], [Links(sure, possible) for _, sure, possible in sentences])
    assert score.precision == pytest.approx(a_and_p / a if a else 1)
    assert score.recall == pytest.approx(a_and_s / s if s else 1)
    assert score.aer == pytest.approx(1 - (a_and_s + a_and_p) / (a + s) if a + s else 0)
    assert 0 <= score.aer <= 1


def test_unequal_lengths_and_empty_sets_are_errors() -> None:
    with pytest.raises(DataError, match=r"2 sentences .* gold links for 1"):
        score_alignments([links(""), links("")], [parse_links("")])
    with pytest.raises(DataError, match="no sentence"):
        score_alignments([], [])


@pytest.mark.skipif(not HANSARDS.is_dir(), reason="the published alignments are not on this machine")
@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("forward", "AER 16.4 %  precision 80.0 %  recall 90.1 %  (7312 links, 447 sentences)"),
        ("reverse", "AER 15.9 %  precision 81.3 %  recall 88.7 %  (6747 links, 447 sentences)"),
        ("intersection", "AER 11.2 %  precision 92.4 %  recall 84.5 %  (4899 links, 447 sentences)"),
        ("grow-diagonal", "AER 10.5 %  precision 90.8 %  recall 87.8 %  (5374 links, 447 sentences)"),
        ("union", "AER 19.5 %  precision 74.4 %  recall 94.4 %  (9160 links, 447 sentences)"),
    ],
)
def test_published_rates_of_another_aligner_on_the_hansards(name: str, rates: str) -> None:
    hypotheses = [line.possible for line in read_links(HANSARDS / f"fast_align.{name}.pharaoh")]
    gold = read_links(HANSARDS / "hansards447.gold", base=1)
    assert score_alignments(hypotheses, gold).text() == rates


@pytest.fixture
def files(tmp_path) -> list[str]:
    (tmp_path / "hyp").write_text("0-0 1p1\n\n")
    (tmp_path / "gold").write_text("1-1 2-2 3p1\n1-1\n")
    return ["--hypothesis", str(tmp_path / "hyp"), "--gold", str(tmp_path / "gold")]


def test_the_command_prints_one_line_for_people(files: list[str]) -> None:
    result = CliRunner().invoke(app, [*files, "--gold-base", "1"])
    assert result.exit_code == 0
    assert result.stdout == "AER 20.0 %  precision 100.0 %  recall 66.7 %  (2 links, 2 sentences)\n"
    assert result.stderr == ""


def test_the_command_prints_json_and_counts_possible_links_of_the_hypothesis(files: list[str]) -> None:
    result = CliRunner().invoke(app, [*files, "--gold-base", "1", "--json"])
    assert json.loads(result.stdout) == {
        "aer": pytest.approx(0.2),
        "precision": 1.0,
        "recall": pytest.approx(2 / 3),
        "links": 2,
        "sentences": 2,
    }


def test_the_command_wonders_aloud_about_a_gold_file_without_a_zero(files: list[str]) -> None:
    result = CliRunner().invoke(app, [*files, "--json"])
    assert "--gold-base 1" in result.stderr
    assert json.loads(result.stdout)["precision"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["--gold-base", "2"], ConfigError, "0 and 1"),
        (["--gold", "nowhere"], DataError, "nowhere: no such file"),
    ],
)
def test_the_command_leaves_mistakes_to_the_caller(files: list[str], arguments: list[str], kind, message: str) -> None:
    result = CliRunner().invoke(app, [*files, *arguments])
    assert isinstance(result.exception, kind)
    assert message in str(result.exception)
