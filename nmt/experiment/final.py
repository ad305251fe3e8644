"""The end of a training: how good is it on the test text, and where did it look?"""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from nmt.alignment.export import write_json_lines, write_pharaoh
from nmt.alignment.links import diagonal_links
from nmt.alignment.plot import plot_alignment
from nmt.data.corpus import ParallelText, overlap
from nmt.decoding.translate import Translation
from nmt.evaluation.aer import score_alignments
from nmt.evaluation.bleu import bleu, bleu_by_length, chrf, tokenizer_for
from nmt.experiment.align import align_given, align_translations
from nmt.experiment.layers import choose_layer
from nmt.experiment.run import Run
from nmt.experiment.texts import Texts
from nmt.files import write_text


def final_scores(run: Run, texts: Texts, say: Callable[[str], None]) -> dict[str, Any]:
    """Choose the layer that aligns; score the test text, write the run folder's test files and pictures.

    Returns what test.scores.json holds, nothing where there is no test text.
    """
    run, test = choose_layer(run, texts, say), texts.test
    if test is None:
        return {}
    folder, language = run.folder, run.config.data.target_language
    say(f"translating {len(test):,} test sentences")
    translations = run.translator().translate(test.source, before=test.before)
    hypotheses = [translation.texts[0] for translation in translations]
    write_text(folder.path / "test.hyp", "".join(f"{line}\n" for line in hypotheses))
    scores: dict[str, Any] = {"sentences": len(test), "in_training": _seen(texts.train, test, say)}
    for score in (
        bleu(hypotheses, test.target, interval=True, tokenize=tokenizer_for(language)),
        chrf(hypotheses, test.target, interval=True),
    ):
        say(f"test {score.text()}  {score.signature}")
        scores[score.key] = score.as_dict()
    buckets = bleu_by_length(test.source, hypotheses, test.target, tokenize=tokenizer_for(language))
    scores["by_length"] = [asdict(bucket) for bucket in buckets]
    if run.has_weights:
        scores |= _alignments(run, texts, test, translations, say)
    else:
        say("attention none has no weights, so there are no alignments")
    write_text(folder.scores_file, json.dumps(scores, indent=2, ensure_ascii=False) + "\n")
    return scores


def _seen(train: ParallelText, test: ParallelText, say: Callable[[str], None]) -> int:
    count = overlap(train, test)
    warning = "warning: " if count else ""
    scores = "; scores on them measure memory, not translation" if count else ""
    say(f"{warning}{count:,} of {len(test):,} test sources also stand in training{scores}")
    return count


def _alignments(
    run: Run, texts: Texts, test: ParallelText, translations: list[Translation], say: Callable[[str], None]
) -> dict[str, Any]:
    """Links of hypotheses and references, pictures of the first, and the alignment error rate where gold is known."""
    folder = run.folder
    of_hypotheses = align_translations(run, translations)
    of_references = align_given(run, test.source, test.target, before=test.before)
    write_pharaoh(folder.path / "test.hyp.links", [alignment.links for alignment in of_hypotheses])
    write_pharaoh(folder.path / "test.ref.links", [alignment.links for alignment in of_references])
    examples = of_hypotheses[: run.config.alignment.examples]
    folder.alignments.mkdir(exist_ok=True)
    write_json_lines(folder.alignments / "test.hyp.jsonl", examples)
    notes: set[str] = set()
    for number, alignment in enumerate(examples, start=1):
        notes |= set(plot_alignment(alignment.matrix, folder.alignments / f"test.{number:04}.png"))
    for note in sorted(notes):
        say(note)
    if examples:
        say(f"{len(examples)} alignments drawn in {folder.alignments}")
    if texts.gold is None:
        return {}
    found = score_alignments([alignment.links for alignment in of_references], texts.gold)
    diagonal = score_alignments(
        [diagonal_links(len(one.matrix.source), len(one.matrix.target)) for one in of_references], texts.gold
    )
    say(f"test {found.text()}, on the references; always looking along the diagonal: {100 * diagonal.aer:.1f} %")
    return {
        "aer": {"value": found.aer, "precision": found.precision, "recall": found.recall},
        "aer_diagonal": {"value": diagonal.aer},
    }
