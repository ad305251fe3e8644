"""`nmt config`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nmt.cli.app import app
from nmt.config.dialect import parse_yaml
from nmt.config.load import config_schema, differences, load_config, parse_config

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted(str(path) for path in (ROOT / "configs").glob("*.yaml"))


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["config", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_check_says_of_each_file_that_it_is_valid() -> None:
    assert run("check", *CONFIGS) == (0, "".join(f"{path}: ok\n" for path in CONFIGS), "")


def test_check_goes_on_after_a_bad_file_and_tells_all_errors(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(Path(CONFIGS[0]).read_text().replace("dropout: 0.2", "dropout: 2\n  atention: 3"))
    code, output, errors = run("check", str(bad), CONFIGS[1], "nope/none.yaml")
    assert (code, output) == (2, f"{CONFIGS[1]}: ok\n")
    first, *middle, last = errors.splitlines()
    assert first == f"nmt: {bad}: 2 errors"
    assert middle == [
        "  model.dropout: 2 must be below 1",
        "  model.atention: unknown key (did you mean model.attention?)",
    ]
    assert last.startswith("nope/none.yaml: not found")


def test_check_minds_set() -> None:
    code, output, errors = run("check", CONFIGS[0], "--set", "model.dropout=7", "--set", "training.max_step=1")
    assert (code, output) == (2, "")
    assert errors.splitlines() == [
        f"nmt: {CONFIGS[0]}: 2 errors",
        "  --set model.dropout: 7 must be below 1",
        "  --set training.max_step: unknown key (did you mean training.max_steps?)",
    ]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: Path(path).name)
def test_show_prints_what_loads_back_to_the_same_config(path: str) -> None:
    code, output, _ = run("show", path, "--set", "seed=9", "--set", "training.clip=null")
    assert code == 0
    shown = parse_config(parse_yaml(output, "SHOWN"), "SHOWN")
    assert shown == load_config(Path(path), ["seed=9", "training.clip=null"])
    assert differences(shown, load_config(Path(path))) == ["seed", "training.clip"]


def test_show_without_a_file_prints_the_defaults() -> None:
    code, output, _ = run("show", "--set", "model.attention.type=luong")
    shown = parse_config(parse_yaml(output, "SHOWN"), "SHOWN")
    assert code == 0
    assert shown.model.attention.type == "luong"
    assert "batch_tokens: 2048" in output


def test_schema_is_json() -> None:
    code, output, _ = run("schema")
    assert code == 0
    assert json.loads(output) == config_schema()


def test_schema_of_a_sweep_describes_every_key() -> None:
    code, output, _ = run("schema", "--sweep")
    schema = json.loads(output)
    assert code == 0
    assert {"config", "axes", "variants", "seeds", "search", "storage"} <= schema["properties"].keys()
    for section in (schema, *schema["$defs"].values()):
        # A section that says the same of itself is referred to.
        assert all("description" in key or "$ref" in key for key in section["properties"].values())
