"""`nmt translate`: one line out for each line in, or the best N, as text, TSV or JSON."""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt.cli.options import DeviceOption, DocumentsOption, RunsOption
from nmt.cli.runs import chosen_runs
from nmt.cli.streams import input_lines, lines_as_they_come, output
from nmt.errors import ConfigError, DataError

if TYPE_CHECKING:
    from nmt.decoding.sample import Sampling
    from nmt.decoding.search import SearchSettings
    from nmt.decoding.translate import Translator
    from nmt.experiment.hypotheses import Render
    from nmt.experiment.run import Run

_Before = Callable[[Sequence[str]], list[tuple[str, ...]]]

_InputOption = Annotated[
    Path | None, typer.Option("--input", "-i", metavar="FILE", help="Text to translate; default: stdin.")
]
_OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where translations go; default: stdout.")
]
_BeamOption = Annotated[int | None, typer.Option("--beam", min=1, help="Hypotheses kept at each step; 1: greedy.")]
_GroupsOption = Annotated[
    int | None, typer.Option("--beam-groups", min=1, metavar="G", help="Diverse beam search: G groups share the beam.")
]
_DiversityOption = Annotated[
    float | None,
    typer.Option("--diversity-penalty", min=0.0, help="λ of --beam-groups: what earlier groups took costs later ones."),
]
_NbestOption = Annotated[
    int | None, typer.Option("--nbest", min=1, metavar="N", help="The best N of each line, N at most the beam.")
]
_LengthPenaltyOption = Annotated[
    float | None, typer.Option("--length-penalty", min=0.0, help="α of Wu et al.; 0 favours short translations.")
]
_NormalizationOption = Annotated[
    str | None,
    typer.Option("--length-normalization", metavar="wu|plain", help="By ((5 + length) / 6)^α, or by length^α."),
]
_CoverageOption = Annotated[
    float | None, typer.Option("--coverage-penalty", min=0.0, help="β of Wu et al.; needs attention weights.")
]
_MinLengthOption = Annotated[
    float | None,
    typer.Option("--min-length-ratio", min=0.0, help="× the source's pieces, + the run's min_length_add: at least."),
]
_MaxLengthOption = Annotated[
    float | None,
    typer.Option("--max-length-ratio", min=0.0, help="× the source's pieces, + the run's max_length_add: at most."),
]
_RepeatOption = Annotated[
    int | None, typer.Option("--no-repeat-ngram", min=1, metavar="N", help="Write no N pieces in a row twice.")
]
_PrefixOption = Annotated[
    Path | None, typer.Option("--prefix", metavar="FILE", help="The first words of each line's translation.")
]
_SampleOption = Annotated[bool, typer.Option("--sample", help="Draw each piece, instead of searching for the best.")]
_TemperatureOption = Annotated[
    float | None, typer.Option("--temperature", help="Of --sample: below 1 sharper, above 1 flatter; default: 1.")
]
_TopKOption = Annotated[
    int | None, typer.Option("--top-k", min=1, help="Of --sample: from the K most probable pieces alone.")
]
_TopPOption = Annotated[
    float | None, typer.Option("--top-p", help="Of --sample: from the fewest pieces that together have P.")
]
_SampleAttentionOption = Annotated[
    bool,
    typer.Option(
        "--sample-attention",
        help="Draw where hard attention looks, which the alignment then tells; default: the most probable place.",
    ),
]
_SeedOption = Annotated[int | None, typer.Option("--seed", min=0, max=2**63 - 1, help="Of what is drawn; default: 1.")]
_FormatOption = Annotated[str, typer.Option("--format", metavar="text|tsv|jsonl", help="What is written of each.")]
_DrawOption = Annotated[
    bool | None,
    typer.Option("--draw/--no-draw", help="The alignment under each translation; default: on a terminal."),
]
_BatchOption = Annotated[
    int | None, typer.Option("--batch-size", min=1, help="Sentences translated at once; changes speed alone.")
]


def translate(
    run: RunsOption = None,
    source: _InputOption = None,
    target: _OutputOption = None,
    beam: _BeamOption = None,
    beam_groups: _GroupsOption = None,
    diversity_penalty: _DiversityOption = None,
    nbest: _NbestOption = None,
    length_penalty: _LengthPenaltyOption = None,
    length_normalization: _NormalizationOption = None,
    coverage_penalty: _CoverageOption = None,
    min_length_ratio: _MinLengthOption = None,
    max_length_ratio: _MaxLengthOption = None,
    no_repeat_ngram: _RepeatOption = None,
    prefix: _PrefixOption = None,
    sample: _SampleOption = False,
    temperature: _TemperatureOption = None,
    top_k: _TopKOption = None,
    top_p: _TopPOption = None,
    sample_attention: _SampleAttentionOption = False,
    seed: _SeedOption = None,
    form: _FormatOption = "text",
    draw: _DrawOption = None,
    batch_size: _BatchOption = None,
    documents: DocumentsOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Translate text, line by line; a blank line stays blank. Settings default to the run's.

    Stdin may be a pipe that waits for answers: what has arrived is translated at once. With --nbest N, text has N lines
    for each (blank where fewer differ); tsv has index (from 0), rank (from 1), score and text of each hypothesis; jsonl
    an object, with pieces, log_probability and alignment. --run repeated: the mean of the runs' probabilities.
    """
    scored = _given(length_penalty=length_penalty, coverage_penalty=coverage_penalty)
    allowed = _given(min_length_ratio=min_length_ratio, max_length_ratio=max_length_ratio)
    others = _given(length_normalization=length_normalization, no_repeat_ngram=no_repeat_ngram)
    beams = _given(beam=beam, beam_groups=beam_groups, diversity_penalty=diversity_penalty)
    sampling = _sampling(sample, _given(temperature=temperature, top_k=top_k, top_p=top_p), beams | _given(nbest=nbest))
    seed = _seed(seed, draws=sample or sample_attention)
    render = _renderer(form, draw, target)
    starts, runs = None if prefix is None else _Prefixes(prefix), chosen_runs(run, device)
    changes = scored | allowed | others | beams | _given(batch_size=batch_size)
    translator = runs[0].translator(
        changes, seed=seed, sampling=sampling, draw_attention=sample_attention, others=runs[1:]
    )
    _check(translator.settings, nbest, diversity_penalty, draw=draw and not any(run.has_weights for run in runs))
    text, before = _text(runs, source, documents)
    with output(target) as write:
        for line in _lines(translator, runs, text, starts, before, nbest or 1, render):
            write(line)


def _given(**options: float | str | None) -> dict[str, float | str]:
    """Options that were given, by name. Raises ConfigError on one that is no finite number."""
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"--{name.replace('_', '-')} {value}: is not a number of 0 or more; give one such as 1.0")
    return given


def _seed(seed: int | None, *, draws: bool) -> int:
    if seed is not None and not draws:
        raise ConfigError(f"--seed {seed}: nothing is drawn without --sample or --sample-attention; give one with it")
    return 1 if seed is None else seed


def _sampling(sample: bool, drawn: Mapping[str, Any], searched: Mapping[str, Any]) -> "Sampling | None":
    from nmt.decoding.sample import Sampling

    for name in drawn:
        if not sample:
            raise ConfigError(f"--{name.replace('_', '-')} {drawn[name]}: nothing is drawn without --sample; give both")
    for name, value in searched.items():
        if sample and value > (0 if name == "diversity_penalty" else 1):
            raise ConfigError(
                f"--{name.replace('_', '-')} {value}: is for a search, and --sample draws one translation; give one of "
                f"them"
            )
    if drawn.get("temperature", 1.0) <= 0:
        raise ConfigError(
            f"--temperature {drawn['temperature']}: must be above 0; for the most probable pieces leave --sample "
            f"out and give --beam 1"
        )
    if not 0 < drawn.get("top_p", 1.0) <= 1:
        raise ConfigError(f"--top-p {drawn['top_p']}: is a probability, above 0 and at most 1; give one such as 0.9")
    return Sampling(**drawn) if sample else None


def _check(
    settings: "SearchSettings", nbest: int | None, diversity_penalty: float | None, *, draw: bool | None
) -> None:
    """Raises ConfigError on what the search, with the run's settings, has no use for; `draw`: what cannot be drawn."""
    if draw:
        raise ConfigError("--draw: the attention of this run is none, which has no weights to draw; leave it out")
    if nbest is not None and nbest > settings.beam:
        raise ConfigError(f"--nbest {nbest}: is above the beam, {settings.beam}; lower it, or give --beam {nbest}")
    if diversity_penalty is not None and settings.beam_groups == 1:
        raise ConfigError(
            f"--diversity-penalty {diversity_penalty}: is between groups, and this beam has one; give --beam-groups"
        )


def _renderer(form: str, draw: bool | None, target: Path | None) -> "Render":
    """What makes lines of translations; on a terminal, text with drawings."""
    from nmt.cli.drawing import drawn_lines
    from nmt.experiment.hypotheses import RENDERERS

    if form not in RENDERERS:
        raise ConfigError(f"--format {form}: is unknown; allowed: {', '.join(RENDERERS)}")
    if draw and form != "text":
        raise ConfigError(f"--draw: goes with text, not with --format {form}, which tells alignments in its own way")
    wanted = draw if draw is not None else target is None and _on_terminal()
    return drawn_lines if wanted and form == "text" else RENDERERS[form]


def _on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


class _Prefixes:
    """The first words of each line's translation, handed out as lines come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = input_lines(path)

    def of(self, first: int, count: int, *, last: bool) -> list[str]:
        """Those of `count` lines, the first of which is line `first`. Raises DataError where numbers differ."""
        total = first + count
        if total > len(self.lines) or (last and total < len(self.lines)):
            raise DataError(
                f"{self.path} has {len(self.lines)} lines, but the text has {total}{'' if last else ' or more'}: line "
                f"i of the one must belong to line i of the other (blank: translated freely)"
            )
        return self.lines[first:total]


def _text(runs: "Sequence[Run]", source: Path | None, documents: Path | None) -> tuple[list[str] | None, _Before]:
    """The lines of a file, and what tells the sentences before each of the lines that have just arrived.

    The file is read once, as it may be a pipe.
    """
    from nmt.data.documents import SentencesBefore, read_names
    from nmt.experiment.run import document_run

    run, lines = document_run(runs), None if source is None else input_lines(source)
    if documents is None:
        walk = SentencesBefore(run.config.data.document_context)
        return lines, lambda arrived: [walk.of(line) for line in arrived]
    if lines is None or source is None:
        raise ConfigError(f"--documents {documents}: names the lines of a file: give that with --input")
    names = read_names(documents, lines, source)
    run.before(lines, names)
    return lines, lambda arrived: run.before(arrived, names)


def _lines(
    translator: "Translator",
    runs: "Sequence[Run]",
    text: list[str] | None,
    starts: _Prefixes | None,
    before: _Before,
    wanted: int,
    render: "Render",
) -> Iterator[str]:
    """What is to be written, as it is ready; without `text`, of what arrives at stdin."""
    number = 0
    for lines in lines_as_they_come() if text is None else [text]:
        given = None if starts is None else starts.of(number, len(lines), last=text is not None)
        for chunk in translator.chunks(lines, wanted, first=number, prefixes=given, before=before(lines)):
            yield from render(runs, chunk, number, wanted)
            number += len(chunk)
    if starts is not None:
        starts.of(number, 0, last=True)
