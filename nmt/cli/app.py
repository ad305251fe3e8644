"""The program `nmt`: its commands, and what the world sees when one of them cannot go on.

Nothing here, nor at the top of a command's file, may import torch: it takes seconds, and `nmt --help` must not.
"""

import errno
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from nmt import __version__
from nmt.cli import config, data
from nmt.cli.aer import aer
from nmt.cli.align import align
from nmt.cli.bench import bench
from nmt.cli.evaluate import evaluate
from nmt.cli.train import train
from nmt.cli.translate import translate
from nmt.errors import NmtError

_INTERRUPTED = 130
_PIPE_CLOSED = 141  # what a shell reports of any program whose reader went away


class _Program(TyperGroup):
    """Turns the errors that are for people into one line and an exit code, before Typer sees them."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except NmtError as error:
            _complain(str(error))
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            if sys.stderr.isatty():
                print(file=sys.stderr)  # the terminal has just written ^C into this line
            _complain("interrupted")
            raise typer.Exit(_INTERRUPTED) from None
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.ENOSPC):
                raise
            raise typer.Exit(_give_up_output(error)) from None


app = typer.Typer(
    cls=_Program,
    help="Train, use, inspect and compare attention-based translation models.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    # Plain help and errors: they fit any terminal and any pipe, and are there at once.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(train)
app.command()(translate)
app.command()(evaluate)
app.command()(align)
app.command()(bench)
app.command()(aer)
app.add_typer(config.app, name="config")
app.add_typer(data.app, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nmt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the program with the arguments of this process, and end the process."""
    try:
        app(prog_name="nmt")
    except KeyboardInterrupt:  # before or after a command, where `_Program` does not look
        _complain("interrupted")
        sys.exit(_INTERRUPTED)
    finally:
        _flush()


def _complain(message: str) -> None:
    print(f"nmt: {message}", file=sys.stderr)


def _flush() -> None:
    """Write what is left while what prevents it can still be met in words; Python itself would only complain."""
    if sys.stdout is None:  # closed before this process began
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        sys.exit(_give_up_output(error))


def _give_up_output(error: OSError) -> int:
    """Let nothing more be written where writing has failed; returns the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return _PIPE_CLOSED  # the reader has what it wanted
    _complain(f"{error.filename or 'output'}: {error.strerror}")
    return 2
