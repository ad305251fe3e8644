"""Reading configs: the YAML dialect, `--set`, paths, messages, and the way back to YAML."""

import shutil
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from nmt.config.dialect import parse_yaml, write_yaml
from nmt.config.load import config_schema, differences, dump_config, load_config, parse_config
from nmt.config.messages import _models
from nmt.config.schema import Config
from nmt.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))  # those of sweeps: tests/sweep/test_shipped.py
DEMO = ROOT / "data" / "demo"
KINDS = "none, bahdanau, luong, local, soft, hard, multihead, attention_over_attention, memory, ntm"
FILES = {"source": "a.en", "target": "a.de"}
MINIMAL: dict[str, Any] = {
    "name": "x",
    "data": {"source_language": "en", "target_language": "de", "train": FILES, "valid": FILES},
    "training": {"max_steps": 7},
}


def parse(*overrides: str) -> Config:
    return parse_config(MINIMAL, "FILE", overrides)


def message(*overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(*overrides)
    return str(caught.value)


def message_of(path: str, value: object) -> str:
    """The message about a config, as in a file, that has VALUE at PATH."""
    data = deepcopy(MINIMAL)
    *keys, last = path.split(".")
    here = data
    for key in keys:
        here = here.setdefault(key, {})
    here[last] = value
    with pytest.raises(ConfigError) as caught:
        parse_config(data, "FILE")
    return str(caught.value)


# The dialect.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001), ("1E3", 1000.0), ("-.5", -0.5), ("5.", 5.0), ("+1.5e+2", 150.0), ("-.inf", float("-inf")),
        ("12", 12), ("-3", -3), ("010", 10), ("0o17", 15), ("0x1F", 31),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        ("no", "no"), ("Yes", "Yes"), ("on", "on"), ("off", "off"), ("y", "y"), ("none", "none"),
        ("1_000", "1_000"), ("1:30", "1:30"), ("2024-01-31", "2024-01-31"), ("e3", "e3"), (".", "."),
        ("'1e-3'", "1e-3"),
        ("{a: &x [1, 2], b: *x}", {"a": [1, 2], "b": [1, 2]}),
    ],
)  # fmt: skip
def test_scalars(text: str, value: object) -> None:
    found = parse_yaml(text, "FILE")
    assert found == value
    assert type(found) is type(value)


def test_merge_keys_give_way_to_the_sections_own() -> None:
    text = "base: &base {a: 1, b: 2}\nnext: &next {<<: *base, b: 3}\nlast: {<<: *next, a: 4, c: 5}\n"
    value = parse_yaml(text, "FILE")
    assert value == {"base": {"a": 1, "b": 2}, "next": {"a": 1, "b": 3}, "last": {"a": 4, "b": 3, "c": 5}}


def test_of_several_merged_sections_the_first_wins() -> None:
    text = "one: &one {a: 1}\ntwo: &two {a: 2, b: 2}\nboth: {<<: [*one, *two], c: 3}\n"
    value = parse_yaml(text, "FILE")
    assert isinstance(value, dict)
    assert value["both"] == {"a": 1, "b": 2, "c": 3}


def test_a_section_that_merges_itself_is_itself() -> None:
    assert parse_yaml("a: &a {<<: *a, b: 1}", "FILE") == {"a": {"b": 1}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &a 1\nb: {<<: *a}\n", "FILE: line 1, column 4: only a section, or a list of sections, can be merged"),
        ("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", "FILE: line 5, column 3: the key 'c' is given twice, first in line 3"),
        ("a: {b: 1, 'b': 2}", "FILE: line 1, column 11: the key 'b' is given twice, first in line 1"),
        ("a:\n  2: b\n", "FILE: line 2, column 3: the key 2 is not text; put it in quotes"),
        ("true: b\n", "FILE: line 1, column 1: the key true is not text; put it in quotes"),
        ("? [a]\n: b\n", "FILE: line 1, column 3: the key that is a list or a section is not text; put it in quotes"),
        ("a: !!int x\n", "FILE: line 1, column 4: 'x' is not of the kind int"),
        ("a: 1\n---\nb: 2\n", "FILE: line 2, column 1: expected a single document in the stream"),
        ("a: 1\nb: {c: 2\n", "FILE: line 3, column 1: while parsing a flow mapping, expected ',' or '}'"),
        ("a: 1\nb: '\x01'\n", "FILE: line 2: the character U+0001 is not allowed"),
        (
            "a: !!python/object:os.system x\n",
            "FILE: line 1, column 4: the tag tag:yaml.org,2002:python/object:os.system",
        ),
        ("a: " + "9" * 5000, "FILE: line 1, column 4: '99999"),
        ("[" * 5000, "FILE: sections or lists are nested too deeply"),
    ],
)
def test_a_text_that_is_no_yaml_is_one_line_with_the_place(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "FILE")
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@given(VALUES)
@example("\x85")
@example("a\u2028 b")
@example({"a": "1e-3", "b": "no", "c": "0o17", "d": "2024-01-31", "e": "<<", "f": "1e5", "<<": "~"})
@settings(deadline=None)
def test_what_is_written_is_read_again(value: object) -> None:
    assert parse_yaml(write_yaml(value), "FILE") == value


@given(
    st.text()
    | st.sampled_from(["\x85", "a\u2028b", "1e-3", "no", "on", "1_000", "1:30", "0o17", "2024-01-31", ".inf", "~"])
)
@settings(deadline=None)
def test_text_is_text_for_programs_that_read_yaml_1_1_too(text: str) -> None:
    assert yaml.safe_load(write_yaml({"key": text})) == {"key": text}


# Whole configs.


def numbers(minimum: float, maximum: float, exclude_max: bool = False) -> st.SearchStrategy[float]:
    return st.floats(minimum, maximum, exclude_max=exclude_max, allow_subnormal=False)


ATTENTIONS = st.one_of(
    st.just({"type": "none"}),
    st.fixed_dictionaries({"type": st.just("bahdanau")}, optional={"hidden": st.none() | st.integers(1, 999)}),
    st.fixed_dictionaries(
        {"type": st.just("luong"), "score": st.sampled_from(["general", "concat", "additive", "location"])},
        optional={"input_feeding": st.booleans(), "max_source_positions": st.integers(1, 999)},
    ),
)
CODES = st.from_regex(r"[A-Za-z0-9_-]+", fullmatch=True)
PATHS = st.text(min_size=1).filter(lambda text: "\0" not in text)
PAIRS = st.fixed_dictionaries({"source": PATHS, "target": PATHS})
DATA: dict[str, Any] = {
    "name": st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z"),
    "seed": st.integers(0, 2**63 - 1),
    "data": st.fixed_dictionaries(
        {"source_language": CODES, "target_language": CODES, "train": PAIRS, "valid": PAIRS},
        optional={"test": st.none() | PAIRS},
    ),
    "model": st.fixed_dictionaries({"attention": ATTENTIONS}, optional={"dropout": numbers(0, 1, exclude_max=True)}),
    "training": st.fixed_dictionaries(
        {"max_minutes": numbers(1e-9, 1e300)},
        optional={"learning_rate": numbers(1e-300, 1e300), "betas": st.tuples(numbers(0, 0.99), numbers(0, 0.99))},
    ),
}


@given(st.fixed_dictionaries(DATA))
@settings(deadline=None)
def test_a_dumped_config_loads_back_equal(data: dict[str, Any]) -> None:
    config = parse_config(data, "FILE")
    text = dump_config(config)
    again = parse_config(parse_yaml(text, "DUMP"), "DUMP")
    assert again == config
    assert dump_config(again) == text
    assert differences(config, again) == []


def test_a_dump_has_every_key_in_the_schemas_order() -> None:
    dumped = parse_yaml(dump_config(parse()), "DUMP")
    assert isinstance(dumped, dict)
    assert list(dumped) == list(Config.model_fields)
    assert list(dumped["training"]) == list(Config.model_fields["training"].annotation.model_fields)  # type: ignore[union-attr]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_shipped_configs_load_and_are_named_after_their_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    config = load_config(path)
    assert config.name == path.stem
    assert config.data.train.source.is_relative_to(ROOT / "data")


def test_the_configs_of_the_demo_corpus_with_a_gru_decoder_differ_in_one_thing_alone() -> None:
    demo = {path.stem: load_config(path) for path in CONFIGS if load_config(path).data.train.source.parent == DEMO}
    configs = {name: config for name, config in demo.items() if config.model.decoder.type == "gru"}
    assert {config.model.attention.type for config in configs.values()} == set(KINDS.split(", "))
    first = configs.pop("bahdanau")
    for other in configs.values():
        name, *rest = differences(first, other)
        assert name == "name"
        assert {".".join(key.split(".")[:2]) for key in rest} in (
            {"model.attention"},
            {"model.encoder"},
            {"training.guided_alignment"},
        )


def test_the_json_schema_explains_keys_and_admits_the_shipped_configs_keys() -> None:
    schema = config_schema()
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert schema["properties"]["seed"]["description"] == "Seed of everything random but data.hold_out."
    assert schema["additionalProperties"] is False
    attention = schema["$defs"]["ModelSection"]["properties"]["attention"]
    assert set(attention["discriminator"]["mapping"]) == set(KINDS.split(", "))
    for part, expected in (("encoder", ["gru", "transformer", "conv"]), ("decoder", ["gru", "transformer"])):
        either = schema["$defs"]["ModelSection"]["properties"][part]["oneOf"]
        types = [schema["$defs"][one["$ref"].rsplit("/", 1)[1]]["properties"]["type"]["const"] for one in either]
        assert types == expected


def leaves(section: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The path of every key of the schema that holds a value; of unions that need no type, of the default one."""
    for name, field in section.model_fields.items():
        models = list(_models(field.annotation))
        free = [model for model in models if not any(inner.is_required() for inner in model.model_fields.values())]
        if len(models) == 1 or free:
            yield from leaves((free or models)[0], f"{prefix}{name}.")
        elif not models:
            yield prefix + name


LEAVES = sorted(leaves(Config))


@pytest.mark.parametrize("path", LEAVES)
def test_an_unknown_key_names_the_nearest_wherever_it_stands(path: str) -> None:
    wrong = path[:-1] + "xy"
    lines = message_of(wrong, 1).splitlines()
    mine = [line for line in lines if f"{wrong}: " in line]
    assert len(mine) == 1
    of_type = " for type gru" if path.startswith(("model.encoder.", "model.decoder.")) else ""
    assert mine[0].endswith(f"{wrong}: unknown key{of_type} (did you mean {path}?)")


@pytest.mark.parametrize("path", LEAVES)
def test_every_key_refuses_a_section_with_its_path_in_one_line(path: str) -> None:
    lines = [line for line in message_of(path, {"surely": "not"}).splitlines() if f"{path}: " in line]
    assert len(lines) == 1
    assert "a section is not" in lines[0] or "a section is unknown; allowed:" in lines[0]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("model.atention", {}, "model.atention: unknown key (did you mean model.attention?)"),
        ("model.ATTENTION", {}, "model.ATTENTION: unknown key (did you mean model.attention?)"),
        ("max_steps", 5, "max_steps: unknown key (did you mean training.max_steps?)"),
        ("training.hidden", 5, "training.hidden: unknown key (did you mean model.attention.hidden or "
                               "model.context.hidden or model.decoder.hidden or model.encoder.hidden?)"),
        ("alignment.zzz", 5, "alignment.zzz: unknown key; allowed: unit, examples, layer, head"),
        ("model.attention", {"type": "bahdanu"},
         f"model.attention.type: 'bahdanu' is unknown (did you mean bahdanau?); allowed: {KINDS}"),
        ("model.attention", {"type": 3}, f"model.attention.type: 3 is unknown; allowed: {KINDS}"),
        ("model.attention", {"type": "luong", "window": 5},
         "model.attention.window: unknown key for type luong (it belongs to local); allowed: type, score, "
         "input_feeding, hidden, max_source_positions, normalizer"),
        ("model.attention", {"type": "luong", "scor": "dot"},
         "model.attention.scor: unknown key for type luong (did you mean model.attention.score?)"),
        ("model.attention", {"type": "bahdanau", "score": "dot"},
         "model.attention.score: unknown key for type bahdanau (it belongs to luong, local); "
         "allowed: type, hidden, normalizer"),
        ("model.attention", {"typ": "luong"}, "model.attention.typ: unknown key (did you mean model.attention.type?)"),
        ("model.attention", {}, f"model.attention.type: is missing; allowed: {KINDS}"),
        ("model.attention", "luong", "model.attention: 'luong' is not a section; write {type: luong}"),
        ("model.attention", {"type": "luong", "score": "dott"}, "model.attention.score: 'dott' is unknown "
         "(did you mean dot?); allowed: dot, scaled_dot, general, concat, additive, location, cosine"),
        ("training.max_steps", "abc", "training.max_steps: 'abc' is not a whole number"),
        ("training.max_steps", True, "training.max_steps: true is not a whole number"),
        ("training.max_steps", 2.5, "training.max_steps: 2.5 is not a whole number"),
        ("training.max_steps", 1e4, "training.max_steps: 10000.0 must be a whole number: write 10000"),
        ("training.clip", [1], "training.clip: a list is not a number"),
        ("training.betas", [0.9, 1.2], "training.betas[1]: 1.2 must be below 1"),
        ("training.betas", 3, "training.betas: 3 is not a list"),
        ("training.early_stopping.metric", "blue", "training.early_stopping.metric: 'blue' is unknown "
         "(did you mean bleu?); allowed: bleu, chrf, loss, perplexity, accuracy"),
        ("model.dropout", 1.5, "model.dropout: 1.5 must be below 1"),
        ("model.dropout", -0.5, "model.dropout: -0.5 must be at least 0"),
        ("model.dropout", True, "model.dropout: true is not a number"),
        ("model.tied", "yes", "model.tied: 'yes' is not true or false"),
        ("tokenizer.character_coverage", 2, "tokenizer.character_coverage: 2 must be at most 1"),
        ("training.max_minutes", 0, "training.max_minutes: 0 must be above 0"),
        ("name", 2024, "name: 2024 is not text; put it in quotes"),
        ("name", "a b", "name: 'a b' may hold letters, digits, '.', '_' and '-', and begins with a letter or digit"),
        ("data.train", {"target": "x"}, "data.train.source: is missing"),
        ("data.train", "x", "data.train: 'x' is not a section with keys; allowed: source, target, documents"),
        ("data.train", {"source": 3, "target": "x"}, "data.train.source: 3 is not a file name"),
        ("decoding", None, "decoding: is empty; give it keys, or leave it out"),
        ("decoding.beam_groups", 2,
         "decoding.beam_groups: 2 groups do not share a beam of 5 evenly; allowed: 1, 5, or another beam"),
        ("decoding.beam_groups", 0, "decoding.beam_groups: 0 must be at least 1"),
        ("decoding.diversity_penalty", 101, "decoding.diversity_penalty: 101 must be at most 100"),
        ("model.encoder.hidden", 65,
         "model.encoder.hidden: 65 is odd; each direction takes half of it, so give an even number"),
        ("model.encoder", {"type": "lstm"}, "model.encoder.type: 'lstm' is unknown; allowed: gru, transformer, conv"),
        ("model.decoder", {"type": "transfomer"},
         "model.decoder.type: 'transfomer' is unknown (did you mean transformer?); allowed: gru, transformer"),
        ("model.encoder", {"type": 3}, "model.encoder.type: 3 is unknown; allowed: gru, transformer, conv"),
        ("model.encoder", {"type": None}, "model.encoder.type: null is unknown; allowed: gru, transformer, conv"),
        ("model.encoder", "transformer", "model.encoder: 'transformer' is not a section; write {type: transformer}"),
        ("model.encoder", None, "model.encoder: is empty; give it keys, or leave it out"),
        ("model.encoder", {"typ": "transformer"},
         "model.encoder.typ: unknown key for type gru (did you mean model.encoder.type?)"),
        ("model.encoder", {"feed_forward": 64}, "model.encoder.feed_forward: unknown key for type gru (it belongs to "
         "transformer); allowed: type, hidden, layers, self_attention, heads"),
        ("model.encoder", {"heads": 4},
         "model.encoder.heads: a GRU has none without self_attention: true; or take type transformer"),
        ("model.encoder", {"self_attention": True, "hidden": 10},
         "model.encoder.heads: 4 heads do not divide hidden 10 evenly"),
        ("model.encoder", {"type": "transformer", "heads": 3},
         "model.encoder.heads: 3 heads do not divide hidden 256 evenly"),
        ("model.encoder", {"type": "transformer", "norm": "middle"},
         "model.encoder.norm: 'middle' is unknown; allowed: pre, post"),
        ("model.encoder", {"type": "conv", "kernel": 4}, "model.encoder.kernel: 4 is even; a piece is read with as "
         "many on its left as on its right, so give an odd number"),
        ("model.encoder", {"type": "conv", "heads": 4}, "model.encoder.heads: unknown key for type conv (it belongs to "
         "gru, transformer); allowed: type, hidden, layers, kernel, positions, max_positions"),
        ("model.decoder", {"type": "conv"}, "model.decoder.type: 'conv' is unknown; allowed: gru, transformer"),
        ("model.decoder", {"type": "transformer", "attend": "after"}, "model.decoder.attend: unknown key for type "
         "transformer (it belongs to gru); allowed: type, hidden, layers, heads, feed_forward, norm, activation, "
         "positions, max_positions"),
        ("model.decoder", {"type": "transformer", "heads": "x"}, "model.decoder.heads: 'x' is not a whole number"),
        ("model", {"decoder": {"type": "transformer"}, "attention": {"type": "luong"}},
         "model.attention: luong is for a GRU decoder; a Transformer's is multihead: take that, or leave attention "
         "out"),
        ("model", {"decoder": {"type": "transformer"}, "attention": {"type": "multihead", "heads": 8}},
         "model: attention.heads: 8 is not decoder.heads, 4, which counts for all of a Transformer decoder: leave "
         "attention.heads out"),
        ("model", {"decoder": {"type": "transformer"}, "attention": None},
         "model.attention: is empty; give it keys, or leave it out"),
        ("alignment.layer", 0,
         "alignment.layer: 0 is for a model.decoder of type transformer, which this is not: leave it out"),
        ("alignment.head", 1,
         "alignment.head: 1 is for a model.attention of type multihead, which this is not: leave it out"),
        ("training.guided_alignment", {}, "training.guided_alignment.links: is missing"),
        ("training.guided_alignment", {"links": "l", "weight": 0},
         "training.guided_alignment.weight: 0 must be above 0"),
        ("training.guided_alignment", {"links": "l", "head": 0},
         "training.guided_alignment.head: 0 is for a model.attention of type multihead, which this is not: leave it "
         "out"),
        ("training.guided_alignment", {"links": "l", "layer": 0},
         "training.guided_alignment.layer: 0 is for a model.decoder of type transformer, which this is not: leave it "
         "out"),
        ("training", {}, "training: no limit is set: give max_steps, max_epochs or max_minutes"),
        ("line\nbreak", 1, "'line\\nbreak': unknown key; allowed: " + ", ".join(Config.model_fields)),
    ],
)  # fmt: skip
def test_messages(path: str, value: object, expected: str) -> None:
    assert message_of(path, value) == f"FILE: {expected}"


def test_every_pattern_of_the_schema_is_put_into_words() -> None:
    assert "does not match" not in message_of("name", "!")
    assert "does not match" not in message_of("data.target_language", "!")


def test_a_whole_bound_is_told_to_the_last_digit() -> None:
    assert message_of("seed", 2**63) == "FILE: seed: 9223372036854775808 must be below 9223372036854775808"


def test_a_long_value_does_not_fill_the_screen() -> None:
    assert len(message_of("training.max_steps", "x" * 10_000)) < 120


def test_several_errors_are_told_at_once() -> None:
    text = message("model.dropout=2", "training.max_steps=abc", "seed=-1")
    assert text.splitlines() == [
        "FILE: 3 errors",
        "  --set seed: -1 must be at least 0",
        "  --set model.dropout: 2 must be below 1",
        "  --set training.max_steps: 'abc' is not a whole number",
    ]


@pytest.mark.parametrize(("data", "words"), [(None, "is empty"), ([1], "is not a config"), ("x", "is not a config")])
def test_what_is_no_section_is_no_config(data: object, words: str) -> None:
    with pytest.raises(ConfigError, match=f"^FILE: {words}"):
        parse_config(data, "FILE")


TRANSFORMER = "model.decoder={type: transformer, layers: 2, heads: 2}"


def test_a_section_without_a_type_is_a_gru() -> None:
    model = parse("model.encoder={hidden: 16}", "model.decoder={layers: 2}").model
    assert (model.encoder.type, model.encoder.hidden) == ("gru", 16)
    assert (model.decoder.type, model.decoder.layers) == ("gru", 2)


@pytest.mark.parametrize("given", [[], ["model.attention={type: multihead}"], ["model.attention.type=multihead"]])
def test_a_transformer_decoder_looks_by_multihead_attention_with_its_own_heads(given: list[str]) -> None:
    config = parse(TRANSFORMER, *given)
    assert (config.model.attention.type, config.model.attention.heads) == ("multihead", 2)
    assert config.model.attention.normalizer == "softmax"
    again = parse_config(parse_yaml(dump_config(config), "DUMP"), "DUMP")
    assert again == config


@pytest.mark.parametrize("kind", ["transformer", "conv"])
def test_an_encoder_leaves_the_attention_as_it_is(kind: str) -> None:
    assert parse(f"model.encoder={{type: {kind}}}").model.attention.type == "bahdanau"


def test_layer_and_head_of_alignments_must_be_there() -> None:
    assert parse(TRANSFORMER, "alignment.layer=1", "alignment.head=1").alignment.layer == 1
    assert message(TRANSFORMER, "alignment.layer=2").startswith("FILE: alignment.layer: 2 is not there; ")
    assert "has 2, counted from 0" in message(TRANSFORMER, "alignment.head=2")
    assert parse("model.attention={type: multihead}", "alignment.head=3").alignment.head == 3


GUIDED = "training.guided_alignment.links=train.links"


def test_layer_and_head_that_are_taught_must_be_there() -> None:
    taught = "training.guided_alignment"
    assert parse(TRANSFORMER, GUIDED, f"{taught}.layer=1", f"{taught}.head=1").training.guided_alignment is not None
    assert f"FILE: {taught}.layer: 2 is not there; " in message(TRANSFORMER, GUIDED, f"{taught}.layer=2")
    assert f"FILE: {taught}.head: 2 is not there; " in message(TRANSFORMER, GUIDED, f"{taught}.head=2")


@pytest.mark.parametrize("kind", ["bahdanau", "luong", "local", "soft", "multihead", "memory", "ntm"])
@pytest.mark.parametrize("normalizer", ["sparsemax", "entmax15"])
def test_weights_that_are_0_are_not_taught(kind: str, normalizer: str) -> None:
    said = message(GUIDED, f"model.attention={{type: {kind}, normalizer: {normalizer}}}")
    assert said.startswith("FILE: training.guided_alignment: needs the logarithm of every weight, and those of ")
    assert normalizer in said
    assert "\n" not in said


def test_no_attention_is_not_taught() -> None:
    said = message(GUIDED, "model.attention={type: none}")
    assert said.startswith("FILE: training.guided_alignment: attention none has no weights to teach: ")
    assert "\n" not in said


def test_a_whole_number_is_a_number() -> None:
    assert parse("model.dropout=0").model.dropout == 0


# --set.


def test_set_changes_the_named_key_alone_and_not_the_data() -> None:
    before = deepcopy(MINIMAL)
    config = parse("training.max_steps=5", "model.encoder.hidden = 64", "training.clip=", "data.source_language=no")
    changed = ["data.source_language", "model.encoder.hidden", "training.max_steps", "training.clip"]
    assert differences(parse(), config) == changed
    assert (config.training.max_steps, config.training.clip, config.data.source_language) == (5, None, "no")
    assert before == MINIMAL


def test_set_replaces_a_section_and_the_last_one_wins() -> None:
    config = parse("model.attention={type: bahdanau, hidden: 3}", "model.attention={type: luong, score: concat}")
    assert config.model.attention.type == "luong"
    assert config.model.attention.hidden is None


def test_set_reaches_into_a_section_that_is_written_but_empty() -> None:
    assert parse_config({**MINIMAL, "decoding": None}, "FILE", ["decoding.beam=2"]).decoding.beam == 2


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("training.max_steps", "--set 'training.max_steps': give it as section.key=value, such as "
                               "training.max_steps=500"),
        ("training..x=3", "--set 'training..x=3': give it as section.key=value, such as training.max_steps=500"),
        ("=3", "--set '=3': give it as section.key=value, such as training.max_steps=500"),
        ("training.max_steps.x=3", "--set training.max_steps.x: training.max_steps is not a section, so it has "
                                   "no keys"),
        ("model={a: 1", "--set model: line 1, column 6: while parsing a flow mapping, expected ',' or '}', but got "
                        "'<stream end>'"),
        ("model={a: 1, a: 2}", "--set model: line 1, column 8: the key 'a' is given twice, first in line 1"),
        ("training.max_step=3", "FILE: --set training.max_step: unknown key (did you mean training.max_steps?)"),
        ("modle.dropout=0.1", "FILE: --set modle: unknown key (did you mean model?)"),
        ("model.attention={type: luong, windw: 5}", "FILE: --set model.attention.windw: unknown key for type luong; "
         "allowed: type, score, input_feeding, hidden, max_source_positions, normalizer"),
    ],
)  # fmt: skip
def test_set_says_what_is_wrong_with_it(override: str, expected: str) -> None:
    assert message(override) == expected


# Differences.


@given(
    st.sampled_from(
        ["seed=2", "model.dropout=0.5", "training.early_stopping.metric=chrf", "data.test={source: a, target: b}"]
    )
)
@settings(deadline=None)
def test_one_change_is_one_difference_in_either_direction(override: str) -> None:
    key = override.partition("=")[0]
    assert differences(parse(), parse(override)) == differences(parse(override), parse()) == [key]


def test_another_type_counts_once_with_the_keys_that_both_have() -> None:
    luong = parse("model.attention={type: luong, hidden: 3}")
    assert differences(parse(), luong) == ["model.attention.type", "model.attention.hidden"]


# Files.


def write(path: Path, **changes: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(write_yaml({**MINIMAL, **changes}), encoding="utf-8")
    return path


def test_relative_paths_are_looked_for_here_then_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    file = write(there / "x.yaml", data={
        "source_language": "en", "target_language": "de",
        "train": {"source": "both", "target": "beside"},
        "valid": {"source": "nowhere", "target": str(tmp_path / "abs")},
    })  # fmt: skip
    here.mkdir()
    for path in (here / "both", there / "both", there / "beside"):
        path.touch()
    monkeypatch.chdir(here)
    for given_path in (file, Path("../there/x.yaml")):
        data = load_config(given_path).data
        assert (data.train.source, data.train.target) == (here / "both", there / "beside")
        assert (data.valid.source, data.valid.target) == (here / "nowhere", tmp_path / "abs")


def test_a_stored_config_loads_without_looking_for_its_paths(tmp_path: Path) -> None:
    config = load_config(write(tmp_path / "x.yaml"))
    assert config.data.train.source.is_absolute()
    assert parse_config(parse_yaml(dump_config(config), "RUN"), "RUN") == config


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("bahdanau.yaml", "bahdanau.yaml: not found (did you mean configs/bahdanau.yaml?)"),
        ("luong", "luong: not found (did you mean configs/luong.yaml?)"),
        ("configs/bahdanu.yaml", "configs/bahdanu.yaml: not found (did you mean configs/bahdanau.yaml?)"),
        ("zzzzzz", "zzzzzz: not found; configs/ has: bahdanau.yaml, luong.yaml, none.yaml"),
        ("nothere.yaml", "nothere.yaml: not found; configs/ has: bahdanau.yaml, luong.yaml, none.yaml"),
        ("configs", "configs: cannot be read: Is a directory"),
    ],
)
def test_a_file_that_is_not_there_suggests_one(
    asked: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    for name in ("bahdanau.yaml", "luong.yaml", "none.yaml"):
        shutil.copy(ROOT / "configs" / name, tmp_path / "configs")
    with pytest.raises(ConfigError) as caught:
        load_config(Path(asked))
    assert str(caught.value) == expected
    shutil.rmtree(tmp_path / "configs")
    with pytest.raises(ConfigError, match=r": not found$"):
        load_config(Path(asked))


def test_a_file_that_is_not_utf8_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"name: \xff")
    with pytest.raises(ConfigError, match=r"x.yaml: is not UTF-8 text \(byte 6\)$"):
        load_config(tmp_path / "x.yaml")


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    file = write(tmp_path / "x.yaml")
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load_config(file).name == "x"
