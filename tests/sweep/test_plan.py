"""From a sweep's YAML to its runs, and every mistake in it at once."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nmt.config.load import parse_config
from nmt.config.schema import Config
from nmt.errors import ConfigError
from nmt.sweep import plan
from nmt.sweep.names import short_names
from nmt.sweep.plan import load_plan

Write = Callable[..., Path]


def mistakes(path: Path) -> list[str]:
    """The lines of a refusal, less the file's name and the number of errors."""
    with pytest.raises(ConfigError) as refused:
        load_plan(path)
    first, *others = str(refused.value).split("\n")
    assert first.startswith(f"{path}: ")
    if not others:
        return [first.removeprefix(f"{path}: ")]
    assert first == f"{path}: {len(others)} errors"
    return [line.strip() for line in others]


def test_a_grid_is_every_combination_with_every_seed(write_sweep: Write, tiny_config: Callable[..., Config]) -> None:
    variants = {
        "plain": {"model.attention": {"type": "none"}, "seeds": [7]},
        "wide": {"model.encoder.hidden": 32, "model.decoder.hidden": 32},
    }
    path = write_sweep(axes={"model.dropout": [0.1, 0.3]}, variants={"size": variants}, seeds=[1, 2])
    runs = load_plan(path).grid()
    assert [run.name for run in runs] == [
        "plain-dropout0.1-seed7",
        "plain-dropout0.3-seed7",
        "wide-dropout0.1-seed1",
        "wide-dropout0.1-seed2",
        "wide-dropout0.3-seed1",
        "wide-dropout0.3-seed2",
    ]
    last = runs[-1]
    assert (last.choices, last.seed) == ({"size": "wide", "model.dropout": "0.3"}, 2)
    assert last.config == tiny_config(
        "training.max_steps=6",
        "training.validate_every=2",
        "model.dropout=0.3",
        "model.encoder.hidden=32",
        "model.decoder.hidden=32",
        "seed=2",
        f"name={last.name}",
    )


def test_without_seeds_the_configs_own_counts_and_set_is_for_all(write_sweep: Write) -> None:
    path = write_sweep("seed=5", set={"training.clip": 9.0}, axes={"model.dropout": [0.1]})
    (run,) = load_plan(path).grid()
    assert (run.seed, run.config.seed, run.config.training.clip) == (5, 5, 9.0)


def test_a_section_is_set_before_the_keys_in_it_whatever_their_order(write_sweep: Write) -> None:
    axes = {"model.attention.score": ["dot", "concat"], "model.attention": [{"type": "luong"}]}
    runs = load_plan(write_sweep(axes=axes)).grid()
    assert [run.config.model.attention.score for run in runs] == ["dot", "concat"]


def test_files_are_looked_for_from_the_configs_folder(
    write_sweep: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_sweep(axes={"data.test": [None, {"source": "a.txt", "target": "b.txt"}]})
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    monkeypatch.chdir("/")
    test = load_plan(path).grid()[1].config.data.test
    assert test is not None
    assert test.source == tmp_path / "a.txt"


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([{"type": "luong"}, {"type": "none"}], ["attention_type_luong", "attention_type_none"]),
        ([{"type": "luong", "score": "dot"}, {"type": "luong", "score": "dot", "hidden": None}], None),
    ],
)
def test_names_of_runs_are_names_of_folders_and_differ(
    write_sweep: Write, values: list[Any], names: list[str] | None
) -> None:
    runs = load_plan(write_sweep(axes={"model.attention": values})).grid()
    assert len({run.name for run in runs}) == len(values)
    if names is not None:
        assert [run.name.removesuffix("-seed1") for run in runs] == names
    for run in runs:
        assert run.config.name == run.name  # which the schema lets pass


def test_every_mistake_is_told_at_once_in_one_line_each(write_sweep: Write) -> None:
    path = write_sweep(
        axes={
            "model.dropuot": [0.1, 0.2],
            "model.decoder.hidden": [16, 15],
            "training.clip": [1.0, -1.0],
            "training.warmup": [],
            "training.max_steps": 5,
            "data.valid": [{"source": "nowhere", "target": "nowhere"}],
        },
        variants={
            "attention": {
                "bahdanau": {"model.attention": {"type": "bahdanau"}},
                "dot": {"model.attention": {"type": "luong", "score": "dot"}},
            },
            "size": {},
        },
        seeds=[],
    )
    found = mistakes(path)
    expected = (
        "axes.training.warmup: is an empty list",
        "axes.training.max_steps: 5 is no list of values; write [5]",
        "variants.size: is empty",
        "seeds: is an empty list",
        "axes.model.dropuot: unknown key (did you mean model.dropout?)",
        "axes.training.clip: -1.0 must be above 0",
        "variants.attention.dot with axes.model.decoder.hidden = 15: model: attention.score dot needs states of one",
        "axes.data.valid: data.valid.source: ",
        "axes.data.valid: data.valid.target: ",
    )
    for start in expected:
        assert len([line for line in found if line.startswith(start)]) == 1, f"{start}\n{found}"
    assert len(found) == len(expected)


@pytest.mark.parametrize(
    ("entries", "line"),
    [
        ({"axes": {"model.dropout": [0.1, 0.1]}}, "axes.model.dropout: 0.1 is given twice"),
        ({"axes": {"seed": [1, 2]}}, "axes.seed: cannot be changed; give the list `seeds` instead"),
        (
            {"axes": {"model..dropout": [0.1]}},
            "axes.model..dropout: 'model..dropout' is no dotted key, such as model.dropout",
        ),
        ({"seeds": [1, 1]}, "seeds: [1, 1] holds a seed twice"),
        ({"seeds": [-1]}, "seeds: [-1] is no list of whole numbers of 0 or more, such as [1, 2, 3]"),
        ({"axis": {}}, "axis: unknown key (did you mean axes?)"),
        (
            {"axes": {"model.dropout": {"low": 0.1, "high": 0.3}}},
            "axes.model.dropout: a range is for sampler random or tpe; give grid a list of values",
        ),
        (
            {"axes": {"model.dropout": [0.1]}, "variants": {"v": {"a": {"model.dropout": 0.2}}}},
            "model.dropout: is set by variants.v and by axes.model.dropout; the one would undo the other",
        ),
        (
            {"variants": {"a": {"x": {"seeds": [1]}}, "b": {"y": {"seeds": [2]}}}},
            "variants.a.x with variants.b.y: seeds: differ between variants.a.x and variants.b.y",
        ),
        ({"search": {"sampler": "tpe"}}, "search.trials: is missing; say how many runs tpe is to make"),
        (
            {"search": {"sampler": "tpe", "trials": 3}, "seeds": [1, 2]},
            "seeds: tpe trains each combination once; give one seed, or take a grid",
        ),
        (
            {"search": {"pruner": "median", "objective": "test_bleu"}},
            "search.pruner: median compares validations, and test_bleu is known only at a run's end; take pruner none, "
            "or a validation score as objective",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line(write_sweep: Write, entries: dict[str, Any], line: str) -> None:
    assert mistakes(write_sweep(**entries)) == [line]


def test_what_is_wrong_with_the_config_itself_is_said_of_it(write_sweep: Write) -> None:
    path = write_sweep(axes={"model.dropout": [0.1, 0.3]}, set={"training.clip": -1.0})
    assert mistakes(path) == [f"{path.parent / 'tiny.yaml'}: training.clip: -1.0 must be above 0"]


def test_an_objective_that_no_run_has_is_refused(write_sweep: Write) -> None:
    path = write_sweep("data.test=null", search={"objective": "test_bleu"})
    assert mistakes(path) == [
        "search.objective: test_bleu needs a test text: give data.test, or take another objective"
    ]


def test_a_missing_package_is_told_of_the_choice_that_needs_it(
    write_sweep: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_sweep(axes={"model.attention.normalizer": ["softmax", "sparsemax"]})
    assert len(load_plan(path).grid()) == 2
    monkeypatch.setattr(plan, "find_spec", lambda name: None)
    hint = "needs the package entmax, which is missing: pip install entmax, or take softmax"
    assert mistakes(path) == [f"axes.model.attention.normalizer: sparsemax {hint}"]


def test_a_search_draws_from_ranges_whose_ends_are_checked(write_sweep: Write) -> None:
    search = {"sampler": "random", "trials": 3}
    path = write_sweep(axes={"model.encoder.hidden": {"low": 16, "high": 32, "step": 8}}, search=search)
    (axis,) = load_plan(path).axes
    assert axis.whole
    assert axis.choice(24).changes == {"model.encoder.hidden": 24}
    path = write_sweep(axes={"model.dropout": {"low": 0.1, "high": 1.5}}, search=search)
    assert mistakes(path) == ["axes.model.dropout: 1.5 must be below 1"]


def test_a_range_whose_kind_of_number_is_wrong_is_told(write_sweep: Write) -> None:
    search = {"sampler": "random", "trials": 3}
    path = write_sweep(axes={"model.encoder.hidden": {"low": 16, "high": 32}}, search=search)
    (line,) = mistakes(path)
    assert line.startswith("axes.model.encoder.hidden: 17 ")
    for given, what in (
        ({"low": 16, "high": 32, "step": 5}, "step 5 does not lead from low 16 to high 32"),
        ({"low": 1, "high": 9, "step": 2, "log": True}, "step: log draws between the ends; leave step or log out"),
        ({"low": 1, "high": 9, "step": 0}, "step: 0 must be above 0"),
    ):
        (line,) = mistakes(write_sweep(axes={"model.encoder.hidden": given}, search=search))
        assert what in line


def test_links_to_learn_from_are_looked_for(write_sweep: Write) -> None:
    guided = {"links": "nowhere.links", "weight": 0.1}
    guided_variants = {"links": {"plain": {}, "guided": {"training.guided_alignment": guided}}}
    (line,) = mistakes(write_sweep(variants=guided_variants))
    assert line.startswith("variants.links.guided: training.guided_alignment.links: ")
    assert line.endswith("nowhere.links: no such file")


def test_a_kind_without_links_cannot_be_judged_by_them(write_sweep: Write, corpus: Any) -> None:
    attention = {"kind": {"none": {"model.attention": {"type": "none"}}, "usual": {}}}
    path = write_sweep(variants=attention, search={"objective": "test_aer"})
    assert mistakes(path) == ["variants.kind.none: model.attention: none makes no links, which test_aer judges runs by"]


def test_runs_that_would_have_one_name_get_two(write_sweep: Write) -> None:
    variants = {
        "a": {"small": {}, "small-deep": {"model.dropout": 0.2}},
        "b": {"deep-wide": {}, "wide": {"seeds": [1]}},
    }
    names = [run.name for run in load_plan(write_sweep(variants=variants)).grid()]
    assert len(set(names)) == 4
    assert "small-deep-wide-seed1" in names


def test_names_in_other_letters_become_numbers(write_sweep: Write) -> None:
    variants = {"размер": {"малый": {}, "большой": {"model.encoder.hidden": 32}}}
    names = [run.name for run in load_plan(write_sweep(variants=variants)).grid()]
    assert names == ["choice1-seed1", "choice2-seed1"]


def test_keys_that_end_alike_are_told_apart(write_sweep: Write) -> None:
    path = write_sweep(axes={"model.encoder.hidden": [16, 32], "model.decoder.hidden": [16], "model.dropout": [0.1]})
    assert [run.name for run in load_plan(path).grid()] == [
        "encoder.hidden16-decoder.hidden16-dropout0.1-seed1",
        "encoder.hidden32-decoder.hidden16-dropout0.1-seed1",
    ]
    assert short_names(["a.b.c", "c", "b.c"]) == {"a.b.c": "a.b.c", "c": "c", "b.c": "b.c"}


def test_a_missing_file_is_told_with_the_one_that_was_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs" / "sweeps").mkdir(parents=True)
    (tmp_path / "configs" / "sweeps" / "attention.yaml").write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"did you mean configs/sweeps/attention\.yaml"):
        load_plan(Path("configs/sweeps/atention.yaml"))


def test_what_was_asked_for_is_plain_data(write_sweep: Write) -> None:
    """By which another machine knows the sweep: it has to go through JSON, and tells of no database's password."""
    plan = load_plan(write_sweep(storage="sqlite:///secret"))
    assert "secret" not in json.dumps(plan.given)
    assert parse_config(plan.given["config"], "the config") is not None
