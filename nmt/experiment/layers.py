"""Which layer aligns? Those of a decoder that look at the source, measured by links of the validation text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nmt.alignment.links import Link, Links
from nmt.alignment.matrix import MapChoice
from nmt.data.corpus import ParallelText
from nmt.evaluation.aer import AlignmentScore, score_alignments
from nmt.experiment.align import aligning_maps, forced_maps, given_targets
from nmt.experiment.run import Run
from nmt.experiment.texts import Texts


@dataclass(frozen=True)
class LayerScore:
    """How well a layer aligns, by the map that alignments are read from, and by each of its heads alone."""

    usual: AlignmentScore
    heads: tuple[AlignmentScore, ...]

    def text(self) -> str:
        """The score for people; with several heads also the best of them."""
        best = min(range(len(self.heads)), key=lambda head: self.heads[head].aer)
        alone = f"; best single head: {best}, at {100 * self.heads[best].aer:.1f} %" if len(self.heads) > 1 else ""
        return f"{self.usual.text()}{alone}"

    def as_dict(self) -> dict[str, object]:
        """The score for JSON files, and the heads' AER."""
        return {**self.usual.as_dict(), "heads": [head.aer for head in self.heads]}


def choose_layer(run: Run, texts: Texts, say: Callable[[str], None]) -> Run:
    """The run, with its alignments read from the layer that has the best AER on the validation text.

    Where there is nothing to choose, or nothing to choose by, or the config names the layer, the run as it was. The
    choice and the layers' scores are kept in meta.json.
    """
    if run.model.decoder.attending_layers == 1 or run.config.alignment.layer is not None or texts.valid_gold is None:
        return run
    say(f"which layer aligns? Forcing {len(texts.valid):,} validation references")
    scores = measure_layers(run, texts.valid, texts.valid_gold)
    usual = run.alignment_layer()
    best = min(range(len(scores)), key=lambda layer: (scores[layer].usual.aer, layer != usual))
    for layer, score in enumerate(scores):
        say(f"layer {layer}: {score.text()}")
    say(f"alignments are read from layer {best}, of the best AER")
    run.folder.update_meta(alignment={"layer": best, "valid": [score.as_dict() for score in scores]})
    return replace(run, measured_layer=best)


def measure_layers(run: Run, text: ParallelText, gold: Sequence[Links]) -> list[LayerScore]:
    """How well each layer of the decoder aligns a text with its given translation, in one forced pass."""
    usual = aligning_maps(run, layer="all").rows
    single = aligning_maps(run, MapChoice("head", "all"), "all").rows
    maps = {name: one for row in (*usual, *single) for name, one in row.items()}
    links: dict[str, list[frozenset[Link]]] = {name: [] for name in maps}
    targets = given_targets(run, text.target)
    for sentence in forced_maps(run, text.source, targets, maps, before=text.before):
        for name, alignment in sentence.items():
            links[name].append(alignment.links)
    scores = {name: score_alignments(found, gold) for name, found in links.items()}
    return [
        LayerScore(scores[layer], tuple(scores[head] for head in heads))
        for (layer,), heads in zip(usual, single, strict=True)
    ]
