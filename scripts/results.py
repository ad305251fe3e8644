"""Put what sweeps came to into the pages of docs/results, and gather the pages: python scripts/results.py.

Between `<!-- sweep NAME -->` and `<!-- end -->` a page has the table of docs/sweeps/NAME; `<!-- sweep NAME: ONE, TWO
-->` has that of some of its settings, and `<!-- sweep NAME: ONE; OTHER: TWO, THREE -->` those of several sweeps in one.
docs/results.md lists the pages, each with its first sentence. Nothing is trained.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nmt.errors import CheckpointError
from nmt.sweep.folder import SweepFolder
from nmt.sweep.summary import Summary, summarise
from nmt.sweep.table import as_markdown, make_table

INTRODUCTION = """# Results

What was measured: each page names the commands behind its figures. `bash scripts/reproduce.sh` trains and measures
again what scripts write, hours on two cores; it first deletes what `docs/sweeps/` has, and with `--resume` it does not.

"""
DOCS = Path(__file__).resolve().parents[1] / "docs"
_BLOCK = re.compile(r"(<!-- sweep ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, sweeps: Path) -> tuple[str, list[str]]:
    """A page with the tables as they are now; and what it names that is not there, whose tables stay as they were."""
    missing = []

    def table(match: re.Match[str]) -> str:
        opening, parts, closing = match.groups()
        try:
            return f"{opening}{_table(_joined([_part(part, sweeps) for part in parts.split(';')]))}{closing}"
        except (CheckpointError, KeyError):
            missing.append(parts)
            return match[0]

    return _BLOCK.sub(table, text), missing


def _part(part: str, sweeps: Path) -> Summary:
    """`NAME`, or `NAME: ONE, TWO`: a sweep, or some of its settings, in this order."""
    name, _, names = part.partition(":")
    summary = summarise(SweepFolder(sweeps / name.strip()))
    if not names:
        return summary
    known = {setting.name: setting for setting in summary.settings}
    settings = [known[name.strip()] for name in names.split(",")]
    runs = {record.name for setting in settings for record in setting.records}
    left_out = [line for line in summary.left_out if line.split(":")[0] in runs]
    return replace(summary, settings=settings, left_out=left_out)


def _joined(parts: Sequence[Summary]) -> Summary:
    """Settings of several sweeps as those of one, whose only axis is their names."""
    if len(parts) == 1:
        return parts[0]
    settings = [replace(setting, choices={"setting": setting.name}) for part in parts for setting in part.settings]
    left_out = [line for part in parts for line in part.left_out]
    return replace(parts[0], axes=["setting"], settings=settings, left_out=left_out)


def _table(summary: Summary) -> str:
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
        text, missing = filled(file.read_text(encoding="utf-8"), DOCS / "sweeps")
        file.write_text(text, encoding="utf-8")
        for line in missing:
            print(f"{file.name}: a table stays as it was, since docs/sweeps has not all of: {line}", file=sys.stderr)
    (DOCS / "results.md").write_text(gathered(DOCS / "results"), encoding="utf-8")


if __name__ == "__main__":
    main()
