"""scripts/align_reference.py: words keep their numbers, and the aligner's links are those of the demo corpus."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nmt.alignment.links import read_links
from nmt.data.corpus import read_lines
from nmt.evaluation.aer import score_alignments

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("align_reference")


def test_words_lose_what_clings_to_them_and_keep_their_number(script: ModuleType) -> None:
    assert (
        script.bare('"Two, well-known (red)\u3000hats!" ... don\'t – 3.5%') == "two well-known red hats ... don't – 3.5"
    )
    for line in (*read_lines(ROOT / "data" / "demo" / "test.de"), "", "  ", "¿Qué?", "«Ça»\u00a0!"):
        assert len(script.bare(line).split()) == len(line.split())


@pytest.mark.slow
def test_links_of_the_demo_corpus_are_found(script: ModuleType, tmp_path: Path) -> None:
    """600 pairs and a blank one, against their gold links: far better than the diagonal's 57 %."""
    pytest.importorskip("eflomal")
    for ending in ("en", "de"):
        text = (ROOT / "data" / "demo" / f"test.{ending}").read_text(encoding="utf-8")
        (tmp_path / f"text.{ending}").write_text(f"{text}\n", encoding="utf-8")
    half = [file.with_name(f"half.{file.name}") for file in (tmp_path / "text.en", tmp_path / "text.de")]
    for file in half:
        lines = (tmp_path / file.name.removeprefix("half.")).read_text(encoding="utf-8").splitlines(keepends=True)
        file.write_text("".join(lines[:300]), encoding="utf-8")
    text = [tmp_path / "text.en", tmp_path / "text.de"]
    script.main([*text, tmp_path / "links"], [*half, tmp_path / "silver"])
    found = read_links(tmp_path / "links")
    assert found[600].sure == frozenset()
    gold = read_links(ROOT / "data" / "demo" / "test.links")
    assert score_alignments([links.sure for links in found[:600]], gold).aer < 0.25
    silver = read_links(tmp_path / "silver")
    assert len(silver) == 300
    assert any(links.possible > links.sure for links in silver)
    sure = score_alignments([links.sure for links in silver], gold[:300])
    assert sure.precision > score_alignments([links.possible for links in silver], gold[:300]).precision > 0.75
