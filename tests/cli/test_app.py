"""The program as a whole: instant help, one line for a mistake, exit codes, closed pipes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from nmt import __version__
from nmt.cli.app import app

COMMANDS = sorted(get_command(app).commands)  # type: ignore[attr-defined]
LATE = ("torch", "numpy", "matplotlib", "sentencepiece", "sacrebleu")


def nmt(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nmt", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


EXTRA = """
import sys
from nmt import errors
from nmt.cli import app
@app.app.command()
def extra():
    BODY
sys.argv = ["nmt", "extra"]
app.main()
"""


def run_with(body: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """The program with one more command, `extra`, whose body is given."""
    command = [sys.executable, "-c", EXTRA.replace("BODY", body)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, env=environment)


def imported_by_help(arguments: list[str]) -> set[str]:
    program = f"""
import sys
from nmt.cli.app import main
sys.argv = {["nmt", *arguments]!r}
try:
    main()
except SystemExit as end:
    print(end.code, *(name for name in {LATE!r} if name in sys.modules), file=sys.stderr)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Usage: nmt" in run.stdout
    code, *late = run.stderr.split()
    assert code == "0"
    return set(late)


@pytest.mark.parametrize("arguments", [[], *([name] for name in COMMANDS)], ids=lambda arguments: " ".join(arguments))
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_imports_nothing_heavy(arguments: list[str], option: str) -> None:
    assert imported_by_help([*arguments, option]) == set()


def test_help_names_every_command() -> None:
    text = nmt("--help").stdout
    assert {"aer", "config", "data"} <= set(COMMANDS)
    assert all(f"\n  {name} " in text for name in COMMANDS)


def test_version() -> None:
    run = nmt("--version")
    assert (run.returncode, run.stdout, run.stderr) == (0, f"nmt {__version__}\n", "")


def test_the_installed_program_is_the_same_one() -> None:
    program = Path(sys.executable).with_name("nmt")
    if not program.exists():
        pytest.skip("not installed as a program")
    assert subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.startswith("nmt ")


@pytest.mark.parametrize("arguments", [["trian"], ["config", "chek"], ["--frobnicate"], ["config", "check"]])
def test_wrong_usage_exits_with_2_on_stderr(arguments: list[str]) -> None:
    run = nmt(*arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.startswith("nmt: ")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trian"], ("no such command 'trian'", "'train'", "(see nmt --help)")),
        (["config", "chek"], ("no such command 'chek'", "'check'", "(see nmt config --help)")),
        (["train", "--confg", "x"], ("no such option: --confg", "--config", "(see nmt train --help)")),
        (["config", "check"], ("missing argument 'FILE'", "(see nmt config check --help)")),
        (["translate", "--beam", "0"], ("--beam", "(see nmt translate --help)")),
    ],
)
def test_wrong_usage_says_what_was_meant_and_where_to_look(arguments: list[str], words: tuple[str, ...]) -> None:
    errors = nmt(*arguments).stderr
    assert errors.startswith("nmt: ")
    assert errors.count("\n") == 1
    assert all(word in errors for word in words), errors


@pytest.mark.parametrize("arguments", [[], ["config"]])
def test_without_a_command_there_is_help(arguments: list[str]) -> None:
    run = nmt(*arguments)
    text = run.stdout + run.stderr
    assert text.startswith("Usage: nmt")
    assert "nmt: " not in text


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for body in ("write_text", "Path.mkdir"):
        call = f"{body}(Path({str(tmp_path / 'file' / 'x')!r}){', str()' if body == 'write_text' else ''})"
        run = run_with(f"from pathlib import Path; from nmt.files import write_text; {call}")
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr.startswith(f"nmt: {tmp_path / 'file' / 'x'}: ")
        assert run.stderr.count("\n") == 1


def test_our_warnings_are_one_line_and_those_of_libraries_are_as_ever() -> None:
    run = run_with(
        "import warnings, nmt.files; warnings.warn_explicit('so it is', UserWarning, nmt.files.__file__, 1); "
        "warnings.warn_explicit('so what', UserWarning, 'other.py', 7)"
    )
    first, *rest = run.stderr.splitlines()
    assert run.returncode == 0
    assert first == "nmt: warning: so it is"
    assert rest[0] == "other.py:7: UserWarning: so what"


def test_the_users_mistake_is_one_line_and_exit_2() -> None:
    run = nmt("config", "check", "nowhere/x.yaml")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("nmt: nowhere/x.yaml: not found")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("kind", ["ConfigError", "DataError", "CheckpointError", "TrainingError"])
def test_every_kind_of_mistake_is_met(kind: str) -> None:
    run = run_with(f"raise errors.{kind}('so it is')")
    assert (run.returncode, run.stdout, run.stderr) == (2, "", "nmt: so it is\n")


def test_a_fault_of_the_toolkit_keeps_its_plain_traceback() -> None:
    run = run_with("raise ZeroDivisionError('ours')")
    assert run.returncode == 1
    assert run.stderr.startswith("Traceback (most recent call last)")
    assert run.stderr.endswith("ZeroDivisionError: ours\n")


def test_an_interruption_is_a_short_line_and_130() -> None:
    run = run_with("raise KeyboardInterrupt")
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "nmt: interrupted\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_ctrl_c_while_a_command_waits(tmp_path: Path) -> None:
    fifo = tmp_path / "x.yaml"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "nmt", "config", "check", str(fifo)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that were started in the background have been told to ignore it, and so would the command.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process, fifo.open("w"):  # opens once the command has opened its end: then it waits for text
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, "", "nmt: interrupted\n")


@pytest.mark.parametrize(
    "body",
    ["[print('line', number) for number in range(100_000)]", "print('one line')", "sys.stdout.write('x' * 10**6)"],
)
def test_a_reader_that_goes_away_is_no_error(body: str) -> None:
    read, write = os.pipe()
    os.close(read)
    run = run_with(body, stdout=write)
    os.close(write)
    assert (run.returncode, run.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "nmt", "config", "schema"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (run.returncode, run.stderr) == (2, "nmt: output: No space left on device\n")


def test_the_shell_completes_commands() -> None:
    words = {"_NMT_COMPLETE": "complete_bash", "COMP_WORDS": "nmt conf", "COMP_CWORD": "1"}
    assert nmt(env={**os.environ, **words}).stdout.split() == ["config"]
