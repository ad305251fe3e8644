"""`nmt bench`: training speed here, as a share of this machine's limit."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt.cli.options import DeviceOption, JsonOption
from nmt.cli.streams import tell
from nmt.errors import ConfigError

if TYPE_CHECKING:
    from nmt.config.model import ModelSection
    from nmt.experiment.bench import Speed

KINDS = {
    "bahdanau": {"type": "bahdanau"},
    "luong": {"type": "luong", "score": "general", "input_feeding": True},
    "luong_no_feeding": {"type": "luong", "score": "general", "input_feeding": False},
}


def bench(
    kinds: Annotated[
        list[str] | None,
        typer.Option("--attention", metavar="|".join(KINDS), help="What to measure; may be repeated; default: all."),
    ] = None,
    configs: Annotated[
        list[Path] | None,
        typer.Option("--config", metavar="FILE", help="Measure the model of this YAML instead; may be repeated."),
    ] = None,
    embedding: Annotated[int, typer.Option("--embedding", min=1, help="Width of an embedding.")] = 256,
    hidden: Annotated[int, typer.Option("--hidden", min=2, help="Width of encoder and decoder; even.")] = 512,
    vocabulary: Annotated[int, typer.Option("--vocabulary", min=8, help="Pieces, of both languages together.")] = 8000,
    sentences: Annotated[int, typer.Option("--sentences", min=1, help="Sentences in a batch.")] = 64,
    tied: Annotated[bool, typer.Option("--tied/--untied", help="Whether the output layer is the embeddings.")] = False,
    precision: Annotated[
        str, typer.Option("--precision", metavar="auto|float32|bfloat16", help="Of products.")
    ] = "auto",
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="How long to measure each.")] = 20.0,
    json_output: JsonOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Measure training speed on random sentences, next to the best matrix product of this machine.

    With --config the model's sizes and the number of pieces are the file's, and the options for them do not count.
    """
    _check(kinds or [], configs or [], hidden, precision)
    from nmt.experiment.bench import training_speed
    from nmt.runtime import choose_device, threads
    from nmt.runtime import precision as precision_of

    chosen = choose_device(device)
    dtype = precision_of(precision, chosen)
    where = f"{'bfloat16' if dtype else 'float32'} on {chosen.type}, {threads()}"
    if configs:
        models = _models_of(configs)
        tell(f"{where}; {sentences} sentences a batch")
    else:
        models = _models(kinds or list(KINDS), embedding, hidden, vocabulary, tied)
        what = f"embedding {embedding}, hidden {hidden}, {vocabulary} pieces, {sentences} sentences a batch"
        tell(f"{where}; {what}, output {'tied' if tied else 'untied'}")
    results = {}
    for name, (section, pieces) in models.items():
        tell(f"measuring {name}")
        results[name] = training_speed(
            section, vocabulary=pieces, sentences=sentences, dtype=dtype, device=chosen, seconds=seconds
        )
    _print(results, json_output)


def _models(
    kinds: list[str], embedding: int, hidden: int, vocabulary: int, tied: bool
) -> "dict[str, tuple[ModelSection, int]]":
    """A model of the given sizes for each kind, and its number of pieces."""
    from nmt.config.model import ModelSection

    sizes = {"encoder": {"hidden": hidden}, "decoder": {"hidden": hidden}, "embedding": embedding, "tied": tied}
    sections = {kind: ModelSection.model_validate({**sizes, "attention": KINDS[kind]}) for kind in kinds}
    return {kind: (section, vocabulary) for kind, section in sections.items()}


def _models_of(files: list[Path]) -> "dict[str, tuple[ModelSection, int]]":
    """The model of each file by the file's name, and its number of pieces."""
    from nmt.config.load import load_config

    configs = {file.stem: load_config(file) for file in files}
    for file, config in zip(files, configs.values(), strict=True):
        if config.model.context is not None:
            raise ConfigError(
                f"--config {file}: its model.context looks at the sentences before, and these are single random ones: "
                f"measure it without model.context"
            )
    return {name: (config.model, config.tokenizer.vocabulary_size) for name, config in configs.items()}


def _check(kinds: list[str], configs: list[Path], hidden: int, precision: str) -> None:
    if kinds and configs:
        raise ConfigError("--attention and --config: give one of the two; a YAML has its own attention")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ConfigError(f"--attention {unknown[0]}: is unknown; allowed: {', '.join(KINDS)}")
    if precision not in ("auto", "float32", "bfloat16"):
        raise ConfigError(f"--precision {precision}: is unknown; allowed: auto, float32, bfloat16")
    if hidden % 2:
        raise ConfigError(f"--hidden {hidden}: is odd; each direction of the encoder takes half of it")


def _print(results: "dict[str, Speed]", json_output: bool) -> None:
    if json_output:
        typer.echo(json.dumps({kind: asdict(speed) for kind, speed in results.items()}, indent=2))
        return
    width = max(18, 2 + max(len(name) for name in results))
    typer.echo(f"{'attention':<{width}}{'tokens/s':>10}{'MFLOP/token':>13}{'limit GFLOP/s':>15}{'share':>8}")
    for kind, speed in results.items():
        typer.echo(
            f"{kind:<{width}}{speed.tokens_per_second:>10,.0f}{speed.flops_per_token / 1e6:>13.1f}"
            f"{speed.limit / 1e9:>15,.0f}{100 * speed.share:>6.1f} %"
        )
