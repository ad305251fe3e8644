"""What the sentences before are worth, docs/results/documents.md: python scripts/documents.py RUNS FILE.

RUNS is the folder of the runs that `scripts/documents.sh` trains, which calls this. Two questions about the pronouns of
the demo documents, which only the sentence before decides: does the translation have the right one, and is the right
translation likelier than those with the pronouns of the other genders?
"""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nmt.alignment.plot import plot_alignment
from nmt.data.corpus import ParallelText, read_lines, read_parallel
from nmt.experiment.align import given_targets
from nmt.experiment.contrast import contrast, read_wrong
from nmt.experiment.document import document_alignments
from nmt.experiment.run import open_run

ROOT = Path(__file__).resolve().parents[1]
TEST = ROOT / "data" / "demo" / "documents"
FORMS = ("er", "ihn", "sie", "es")

RUNS = {
    "without": "none: each sentence by itself",
    "one": "1 sentence before",
    "two_unordered": "2 sentences before",
    "two": "2 sentences before, `sentence_gru`",
}
"""From a run's folder to what it looks at."""


DRAWN = 13
"""The test sentence whose picture is drawn, from 0: its "it" is the key, and a tea pot stands further above."""


def pronouns_of(sentence: str) -> Counter[str]:
    """How often each German pronoun for a thing stands in a sentence."""
    words = (word.strip(".,?!").lower() for word in sentence.split())
    return Counter(word for word in words if word in FORMS)


def right_pronouns(
    hypotheses: Sequence[str], references: Sequence[str], genders: Sequence[str]
) -> dict[str, list[bool]]:
    """For each gender, of its sentences: whether the translation has the reference's pronouns and no other.

    `genders` is empty at a sentence without a pronoun for a thing.
    """
    found: dict[str, list[bool]] = {}
    for hypothesis, reference, gender in zip(hypotheses, references, genders, strict=True):
        if gender:
            found.setdefault(gender, []).append(pronouns_of(hypothesis) == pronouns_of(reference))
    return found


def row(what: str, folder: Path, text: ParallelText, genders: Sequence[str]) -> str:
    """One run's figures, as a row of the table."""
    run = open_run(folder)
    scores = json.loads((folder / "test.scores.json").read_text(encoding="utf-8"))
    right = right_pronouns(read_lines(folder / "test.hyp"), text.target, genders)
    shares = [100 * sum(right[gender]) / len(right[gender]) for gender in "mfn"]
    everything = [one for each in right.values() for one in each]
    contrasted = contrast(run, text, read_wrong(TEST / "test.wrong", text.source, TEST / "test.en"))
    cells = (
        what,
        f"{scores['bleu']['value']:.1f} ± {scores['bleu']['interval']:.1f}",
        f"{100 * sum(everything) / len(everything):.1f} %",
        " / ".join(f"{share:.1f}" for share in shares),
        f"{100 * contrasted.accuracy:.1f} %",
        f"{run.folder.meta()['parameters']:,}",
    )
    return f"| {' | '.join(cells)} |"


def draw(folder: Path, text: ParallelText, path: Path) -> None:
    """Where one reference's words looked in the sentences before."""
    run = open_run(folder)
    before = run.before(text.source)[DRAWN]
    targets = given_targets(run, [text.target[DRAWN]])
    (found,) = document_alignments(run, [text.source[DRAWN]], targets, before=[before])
    plot_alignment(found.matrix(), path)


def page(runs: Path, picture: Path) -> str:
    """The page, in Markdown."""
    text = read_parallel(TEST / "test.en", TEST / "test.de")
    genders = [line.split("\t")[-1] for line in read_lines(TEST / "test.pronouns")]
    count = Counter(filter(None, genders))
    rows = "\n".join(row(what, runs / name, text, genders) for name, what in RUNS.items())
    scores = json.loads((runs / "two" / "test.scores.json").read_text(encoding="utf-8"))
    draw(runs / "two", text, picture)
    majority = 100 * max(count.values()) / count.total()
    return f"""# What the sentences before are worth

How much one or two sentences of context help to choose a pronoun.

```
bash scripts/documents.sh
```

The documents of the demo corpus: `configs/documents.yaml`, and the same with fewer sentences before or none. Of the
{count.total()} test sentences with "it", whose German gender only the sentence before decides, equally
many follow nouns of each of the three genders: always taking the same gender would be right in {majority:.1f} %.
*Pronouns* is the share of translations (beam 5) that have the reference's pronouns and no other; m / f / n are those of
each gender. *Contrast* is the share of references that are likelier than both translations with the pronouns of the
other genders.

| looks at | BLEU | pronouns | m / f / n, % | contrast | parameters |
| --- | --- | --- | --- | --- | --- |
{rows}

BLEU: `{scores["bleu"]["signature"]}`, all {len([line for line in text.source if line])} test sentences.
Each was trained once, with one seed. The last row is `configs/documents.yaml` as it is.

Attention over the sentences of a document is blind to their order: of two things that stand there, it cannot tell which
is the nearer one. The GRU over the sentences' vectors (Yang et al., N16-1174, eq. 8) tells it.

Where the words of "{text.target[DRAWN]}" ("{text.source[DRAWN]}") looked, with two sentences before and the GRU; ¶
stands between them:

![where each word looked in the sentences before]({picture.name})

A weight tells which state of the encoder was read, and a state knows more than its word: with other sentences the
pronoun looks at the full stop, to which the bidirectional GRU has carried what it needs.
"""


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    file = Path(sys.argv[2])
    file.write_text(page(Path(sys.argv[1]), file.with_suffix(".png")), encoding="utf-8")
