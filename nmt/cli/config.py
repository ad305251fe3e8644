"""`nmt config`: what a config says, before anything is trained with it."""

import json
from pathlib import Path
from typing import Annotated

import typer

from nmt.cli.options import SetOption
from nmt.errors import ConfigError

app = typer.Typer(help="Check a config, show every value of it, or print its schema.", no_args_is_help=True)

# What a config must say and has no default for; the rest of `nmt config show` without a file are the defaults.
_EXAMPLE = {
    "name": "example",
    "data": {
        "source_language": "en",
        "target_language": "de",
        "train": {"source": "data/demo/train.en", "target": "data/demo/train.de"},
        "valid": {"source": "data/demo/valid.en", "target": "data/demo/valid.de"},
    },
    "training": {"max_steps": 3000},
}


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="YAML files.", show_default=False)],
    overrides: SetOption = None,
) -> None:
    """Say whether files are valid configs, with all their errors."""
    from nmt.config.load import load_config

    errors = []
    for file in files:
        try:
            load_config(file, overrides or ())
        except ConfigError as error:
            errors.append(str(error))
        else:
            typer.echo(f"{file}: ok")
    if errors:
        raise ConfigError("\n".join(errors))


@app.command()
def show(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A YAML file.", show_default=False)] = None,
    overrides: SetOption = None,
) -> None:
    """Print a config with every value that it leaves to its default.

    Without a file: all defaults, with an example of what has none.
    """
    from nmt.config.load import dump_config, load_config, parse_config

    if file is None:
        typer.echo("# the defaults; name, data and training.max_steps have none and are examples")
        config = parse_config(_EXAMPLE, "the example", overrides or ())
    else:
        config = load_config(file, overrides or ())
    typer.echo(dump_config(config), nl=False)


@app.command()
def schema(
    sweep: Annotated[bool, typer.Option("--sweep", help="That of a sweep's YAML instead.")] = False,
) -> None:
    """Print the JSON schema of a config, for editors: every key, its meaning, its range and its default."""
    from nmt.config.load import config_schema
    from nmt.config.schema import Config
    from nmt.config.sweep import SweepSection

    typer.echo(json.dumps(config_schema(SweepSection if sweep else Config), indent=2, ensure_ascii=False))
