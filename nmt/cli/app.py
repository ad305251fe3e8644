"""The program `nmt`: its commands, and what the world sees when one of them cannot go on.

Nothing here, nor at the top of a command's file, may import torch: it takes seconds, and `nmt --help` must not.
"""

import errno
import io
import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from nmt import __version__
from nmt.cli import config, data
from nmt.cli.aer import aer
from nmt.cli.align import align
from nmt.cli.average import average
from nmt.cli.bench import bench
from nmt.cli.compare import compare
from nmt.cli.evaluate import evaluate
from nmt.cli.report import report
from nmt.cli.score import score
from nmt.cli.sweep import sweep
from nmt.cli.train import train
from nmt.cli.translate import translate
from nmt.errors import NmtError, is_out_of_memory
from nmt.files import WriteError

_INTERRUPTED = 130
_OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
_PIPE_CLOSED = 141  # what a shell reports of any program whose reader went away

# Typer does not publish it, and where it lies depends on Typer's version.
_UsageError: Any = typer.BadParameter.__bases__[0]


class _Program(TyperGroup):
    """Turns the errors that are for people into one line and an exit code, before Typer sees them."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        try:
            return super().make_context(*args, **options)
        except _UsageError as error:
            raise _refuse(error) from None

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            raise _refuse(error) from None
        except (NmtError, WriteError) as error:
            _complain(str(error))
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            if sys.stderr.isatty():
                print(file=sys.stderr)  # the terminal has just written ^C into this line
            _complain("interrupted")
            raise typer.Exit(_INTERRUPTED) from None
        except OSError as error:
            if error.filename is not None:  # a place that this user or this machine does not have
                _complain(f"{error.filename}: {error.strerror}")
                raise typer.Exit(2) from None
            if error.errno not in _OF_OUTPUT:
                raise
            raise typer.Exit(_give_up_output(error)) from None
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            _complain(
                "there is not enough memory: lower --batch-size or --beam, split long lines, or take a smaller model"
            )
            raise typer.Exit(2) from None


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
app.command()(score)
app.command()(average)
app.command()(compare)
app.command()(sweep)
app.command()(report)
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
    warnings.showwarning = _show_warning
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # as all text that is read, whatever the locale
    try:
        app(prog_name="nmt")
    except KeyboardInterrupt:  # before or after a command, where `_Program` does not look
        _complain("interrupted")
        sys.exit(_INTERRUPTED)
    finally:
        _flush()


def _complain(message: str) -> None:
    if sys.stderr is not None:
        print(f"nmt: {message}", file=sys.stderr)


def _refuse(error: Any) -> Exception:
    """What ends the program after a wrong command line; it has said so in one line, unless help was what was wanted."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return error  # type: ignore[no-any-return]
    message = " ".join(error.format_message().split()).removesuffix(".")
    hint = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
    _complain(f"{message[:1].lower()}{message[1:]}{hint}")
    return typer.Exit(2)


_show_any_warning = warnings.showwarning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Ours are for people; those of libraries are for programmers and keep the place that they are about."""
    if file is None and Path(filename).is_relative_to(Path(__file__).parents[1]):
        _complain(f"warning: {message}")
    else:
        _show_any_warning(message, category, filename, lineno, file, line)


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
