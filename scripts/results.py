"""Put what sweeps came to into the pages of docs/results, and gather the pages: python scripts/results.py.

Between `<!-- sweep NAME -->` and `<!-- end -->` a page has the table of docs/sweeps/NAME; `<!-- sweep NAME: ONE, TWO
-->` has that of some of its settings. docs/results.md lists the pages, each with its first sentence. Nothing is
trained.
"""

import re
from dataclasses import replace
from pathlib import Path

from nmt.sweep.folder import SweepFolder
from nmt.sweep.summary import summarise
from nmt.sweep.table import as_markdown, make_table

INTRODUCTION = """# Results

What was measured: each page names the commands that made it, and `bash scripts/reproduce.sh` runs the scripts.

"""
DOCS = Path(__file__).resolve().parents[1] / "docs"
_BLOCK = re.compile(r"(<!-- sweep ([\w.-]+)(?:: ([^>]*?))? -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, sweeps: Path) -> str:
    """A page, with the tables as they are now."""

    def table(match: re.Match[str]) -> str:
        opening, name, settings, closing = match.groups()
        return f"{opening}{_table(sweeps / name, settings)}{closing}"

    return _BLOCK.sub(table, text)


def _table(sweep: Path, settings: str | None) -> str:
    summary = summarise(SweepFolder(sweep))
    if settings is not None:
        named = {setting.name: setting for setting in summary.settings}
        wanted = [named[name.strip()] for name in settings.split(",")]
        names = {record.name for setting in wanted for record in setting.records}
        left_out = [line for line in summary.left_out if line.split(":")[0] in names]
        summary = replace(summary, settings=wanted, left_out=left_out)
    return as_markdown(make_table(summary)) if summary.finished else "No run has finished yet.\n"


def gathered(results: Path) -> str:
    """The page that lists the others: title and first sentence of each."""
    lines = ["- [The attention zoo](attention.md): every kind of attention on the demo corpus, with pictures."]
    for file in sorted(results.glob("*.md")):
        title, first = _opening(file.read_text(encoding="utf-8"))
        lines.append(f"- [{title}](results/{file.name}): {first}")
    return INTRODUCTION + "\n".join(lines) + "\n"


def _opening(page: str) -> tuple[str, str]:
    """A page's title, and the first sentence of its first paragraph that is text."""
    title, *blocks = re.sub(r"^```.*?^```\n?", "", page, flags=re.DOTALL | re.MULTILINE).strip().split("\n\n")
    first = " ".join(next(block for block in blocks if block[:1] not in "|#<!-`").split())
    first = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", first)  # the links of a page in a folder below lead elsewhere here
    return title.removeprefix("# "), re.split(r"(?<=[.?!]) (?=[A-Z*`])", first)[0]


def main() -> None:
    for file in sorted((DOCS / "results").glob("*.md")):
        text = file.read_text(encoding="utf-8")
        file.write_text(filled(text, DOCS / "sweeps"), encoding="utf-8")
    (DOCS / "results.md").write_text(gathered(DOCS / "results"), encoding="utf-8")


if __name__ == "__main__":
    main()
