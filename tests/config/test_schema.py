"""The schema: what every section promises, and the rules between fields."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from nmt.config.messages import _models
from nmt.config.schema import Config

CONFIGS = sorted((Path(__file__).resolve().parents[2] / "configs").glob("**/*.yaml"))


def minimal(**sections: object) -> dict[str, object]:
    files = {"source": "a.en", "target": "a.de"}
    data = {"source_language": "en", "target_language": "de", "train": files, "valid": files}
    return {"name": "x", "data": data, "training": {"max_steps": 1}, **sections}


def sections(root: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield root
    for field in root.model_fields.values():
        for model in _models(field.annotation):
            yield from sections(model)


SECTIONS = sorted(set(sections(Config)), key=lambda section: section.__name__)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.__name__)
def test_every_section_is_frozen_closed_strict_and_described(section: type[BaseModel]) -> None:
    settings = section.model_config
    assert (settings.get("frozen"), settings.get("extra"), settings.get("strict")) == (True, "forbid", True)
    undescribed = [name for name, field in section.model_fields.items() if not field.description]
    assert undescribed == []


def test_a_minimal_config_gets_defaults() -> None:
    config = Config.model_validate(minimal())
    assert config.model.attention.type == "bahdanau"
    assert config.data.test is None
    assert config.training.batch_tokens == 2048


@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_products_of_states_need_states_of_one_width(score: str) -> None:
    attention = {"type": "luong", "score": score}
    with pytest.raises(ValidationError, match=r"encoder.hidden is 64 and decoder.hidden is 256"):
        Config.model_validate(minimal(model={"attention": attention, "encoder": {"hidden": 64}}))
    Config.model_validate(minimal(model={"attention": attention, "encoder": {"hidden": 256}}))
    Config.model_validate(minimal(model={"attention": {"type": "luong"}, "encoder": {"hidden": 64}}))


def test_a_bidirectional_encoder_has_an_even_width() -> None:
    with pytest.raises(ValidationError, match="65 is odd"):
        Config.model_validate(minimal(model={"encoder": {"hidden": 65}}))


@pytest.mark.parametrize("limit", ["max_steps", "max_epochs", "max_minutes"])
def test_training_needs_one_limit(limit: str) -> None:
    with pytest.raises(ValidationError, match="no limit is set"):
        Config.model_validate(minimal(training={}))
    Config.model_validate(minimal(training={limit: 2}))


def test_the_lowest_rate_is_below_the_highest() -> None:
    with pytest.raises(ValidationError, match="must be below learning_rate"):
        Config.model_validate(minimal(training={"max_steps": 1, "learning_rate": 1e-4, "min_learning_rate": 1e-4}))


def test_what_a_schedule_does_not_look_at_is_refused() -> None:
    for given, what in (
        ({"schedule": "constant", "min_learning_rate": 1e-5}, "min_learning_rate: schedule constant has none"),
        ({"schedule": "cosine", "plateau": {"factor": 0.3}}, "plateau: schedule cosine does not look at it"),
    ):
        with pytest.raises(ValidationError, match=what):
            Config.model_validate(minimal(training={"max_steps": 1, **given}))
    for given in (
        {"schedule": "cosine", "min_learning_rate": 1e-5},
        {"schedule": "plateau", "plateau": {"factor": 0.3}},
    ):
        Config.model_validate(minimal(training={"max_steps": 1, **given}))


@pytest.mark.parametrize("code", ["../up", "a/b", "", "zh Hans"])
def test_a_language_is_a_code(code: str) -> None:
    files = {"source": "a.en", "target": "a.de"}
    data = {"source_language": code, "target_language": "de", "train": files, "valid": files}
    with pytest.raises(ValidationError):
        Config.model_validate(minimal(data=data))


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "a b"])
def test_a_name_is_a_plain_folder_name(name: str) -> None:
    with pytest.raises(ValidationError):
        Config.model_validate(minimal(name=name))
