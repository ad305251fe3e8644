"""scripts/documents.py: what counts as the right pronoun."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nmt.config.load import load_config

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def documents(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("documents")


def test_a_pronoun_is_right_where_it_is_the_references_and_there_is_no_other(documents: ModuleType) -> None:
    references = ["Er ist neu.", "Ist sie neu?", "Der Hund sieht es.", "Anna liest."]
    found = ["er war alt.", "Ist er neu?", "Es sieht es.", "Er liest."]
    right = documents.right_pronouns(found, references, ["m", "f", "n", ""])
    assert right == {"m": [True], "f": [False], "n": [False]}


def test_the_config_it_compares_is_shipped_and_looks_back() -> None:
    config = load_config(ROOT / "configs" / "documents.yaml")
    assert config.data.document_context == 2
    assert config.model.context is not None
    assert config.model.context.sentence_gru
