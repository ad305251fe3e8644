"""The README's commands work as they are written: each `nmt` line is run, in the order in which it stands there.

Trainings get a limit of a few steps, and tiny models, since what is tested is the command and not the score. Commands
that fetch from the network are tested where their transport is (tests/data/test_download.py), the scripts by being run.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ELSEWHERE = {
    "nmt data multi30k": "tests/data/test_download.py, with a mirror",
    "nmt train --config configs/multi30k_bahdanau.yaml": "docs/results/multi30k.md, and shipped configs below",
    "sacrebleu -t wmt14/full -l en-de --echo src | nmt translate --run runs/mine | sacrebleu -t wmt14/full -l en-de": (
        "fetches from the network; tests/cli/test_commands.py has the pipe"
    ),
    "nmt sweep --config dropout.yaml --jobs 2": "tests/sweep, with shorter trainings; test_shipped.py loads it",
    "nmt report runs/dropout": "tests/sweep/test_report.py and tests/cli/test_sweep.py",
    "nmt bench": "tests/experiment/test_bench.py; here with --seconds 0.1",
}
SMALL = ("training.max_steps=2", "model.embedding=16", "model.encoder.hidden=16", "model.decoder.hidden=16")


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def commands(text: str = README) -> list[str]:
    return [line for block in blocks("bash", text) for line in block.splitlines() if re.search(r"(^|\| )nmt ", line)]


def section(title: str) -> str:
    return README.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like the repository, with less text in it."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "configs", folder / "configs")
    for part in (Path("data", "demo"), Path("data", "demo", "documents")):
        (folder / part).mkdir(parents=True)
        for name, count in (("train", 300), ("valid", 10), ("test", 10)):
            for file in (ROOT / part).glob(f"{name}.*"):
                lines = file.read_text(encoding="utf-8").split("\n")[:count]
                (folder / part / file.name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    for ending in ("en", "de", "links"):
        shutil.copy(folder / "data" / "demo" / f"valid.{ending}", folder / f"small.{ending}")
    return folder


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line as a shell would, `nmt` being this one."""
    program = f"{shlex.quote(sys.executable)} -m nmt "
    line = re.sub(r"(^|\| )nmt ", lambda found: found.group(1) + program, command)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{command}\n{result.stderr}"
    return result


def shortened(command: str) -> str:
    if not command.startswith("nmt train") or "--resume" in command:
        return command
    return command + "".join(f" --set {change}" for change in SMALL)


def test_every_command_is_run_or_named() -> None:
    found = commands()
    assert not [line for line in found if " # " in line or line.endswith("\\")], "these tests take a line as it stands"
    assert len(found) > 10
    for command in ELSEWHERE:
        assert command in found, f"{command} is no longer in the README"


def test_the_commands_work_in_their_order(place: Path) -> None:
    own = commands(section("Your own language pair"))
    for command in commands():
        if command in own:
            continue
        if command == "nmt bench":
            command += " --seconds 0.1 --hidden 16 --embedding 16 --vocabulary 50 --attention luong"
        elif command in ELSEWHERE:
            continue
        result = run(shortened(command), place)
        if "translate" in command:
            assert result.stdout.count("\n") == (2 if command.startswith("printf") else 1)
        if "--gold" in command:
            assert re.match(r"AER \d+\.\d %  precision", result.stdout)
    for picture in ("look/0001.png", "layers/0001.png", "layers/0001.self.png"):
        assert (place / "runs" / picture).exists()


def test_your_own_language_pair_as_it_is_written(place: Path) -> None:
    title = "Your own language pair"
    config = blocks("yaml", section(title))[0]
    assert len(config.splitlines()) == 12
    folder = place / "own"
    folder.mkdir()
    (folder / "mine.yaml").write_text(config, encoding="utf-8")
    for ending in ("en", "de"):
        lines = (ROOT / "data" / "demo" / f"train.{ending}").read_text(encoding="utf-8").splitlines()[:900]
        (folder / f"text.{ending}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = commands(section(title))
    assert len(lines) == 3
    for command in lines:
        run(shortened(command), folder)
    translated = (folder / "translations.txt").read_text(encoding="utf-8").splitlines()
    assert len(translated) == 200
    assert len(list((folder / "pictures").glob("*.png"))) == 5


@pytest.mark.parametrize("config", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_config_trains(config: Path, place: Path) -> None:
    texts = " ".join(
        f"--set 'data.{name}={{source: small.en, target: small.de}}'" for name in ("train", "valid", "test")
    )
    if re.search(r"^ *guided_alignment:", config.read_text(encoding="utf-8"), flags=re.MULTILINE):
        texts += " --set training.guided_alignment.links=small.links"
    command = shortened(f"nmt train --config configs/{config.name} --run shipped/{config.stem} {texts}")
    result = run(command, place)
    assert result.stderr.rstrip().splitlines()[-1] == "ended: training.max_steps: 2 reached"
