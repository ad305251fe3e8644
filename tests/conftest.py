"""A tiny corpus with gold links, configs for it, and one trained run that many tests share."""

import importlib.util
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import pytest
import torch

from nmt.config.load import parse_config
from nmt.config.schema import Config
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.experiment.run import Run, open_run
from nmt.experiment.train import Trained, start_training

# A change is judged by the same cases on every machine; HYPOTHESIS_PROFILE=default draws new ones.
hypothesis.settings.register_profile("same", derandomize=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(scope="session")
def load_script() -> Callable[[str], ModuleType]:
    """A function that loads a file of scripts/, which is no package, by its name."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "scripts" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(autouse=True)
def exact_numbers() -> Iterator[None]:
    """Trainings flush denormal numbers for the whole process; the next test shall not notice."""
    yield
    torch.set_flush_denormal(False)


SUBJECTS = (("the cat", "die Katze"), ("a child", "ein Kind"), ("my father", "mein Vater"), ("Anna", "Anna"))
VERBS = (("sees", "sieht"), ("buys", "kauft"), ("paints", "malt"), ("finds", "findet"))
OBJECTS = (
    ("a house", "ein Haus"),
    ("the green book", "das grüne Buch"),
    ("bread", "Brot"),
    ("two trees", "zwei Bäume"),
)
SENTENCES = tuple(
    (f"{subject[0]} {verb[0]} {thing[0]} .", f"{subject[1]} {verb[1]} {thing[1]} .")
    for subject, verb, thing in product(SUBJECTS, VERBS, OBJECTS)
)


@dataclass(frozen=True)
class Corpus:
    """Where the texts are: `train.en` and so on. Word i of a source belongs to word i of its target."""

    folder: Path

    def lines(self, name: str) -> list[str]:
        return (self.folder / name).read_text(encoding="utf-8").split("\n")[:-1]


def write_corpus(folder: Path) -> Corpus:
    """Half of the sentences to learn from, the rest for validation and test, with links from word i to word i."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": SENTENCES[::2] + SENTENCES[1::8], "valid": SENTENCES[3::8], "test": SENTENCES[5::8]}
    for name, pairs in parts.items():
        for ending, side in (("en", 0), ("de", 1)):
            (folder / f"{name}.{ending}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    for name in parts:
        links = (" ".join(f"{word}-{word}" for word in range(len(source.split()))) for source, _ in parts[name])
        (folder / f"{name}.links").write_text("".join(f"{line}\n" for line in links), encoding="utf-8")
    return Corpus(folder)


def tiny_settings(corpus: Corpus) -> dict[str, Any]:
    """A config as plain data: the smallest of everything, a learning rate that is high and steady."""
    folder = corpus.folder
    files = {name: {"source": f"{folder}/{name}.en", "target": f"{folder}/{name}.de"} for name in ("train", "valid")}
    test = {"source": f"{folder}/test.en", "target": f"{folder}/test.de", "alignment": f"{folder}/test.links"}
    return {
        "name": "tiny",
        "data": {"source_language": "en", "target_language": "de", **files, "test": test},
        "tokenizer": {"vocabulary_size": 80},
        "model": {"embedding": 16, "encoder": {"hidden": 16}, "decoder": {"hidden": 16}},
        "training": {
            "max_steps": 40,
            "batch_tokens": 128,
            "learning_rate": 0.01,
            "schedule": "constant",
            "warmup": 0,
            "validate_every": 20,
            "log_every": 5,
            "precision": "float32",
        },
        "decoding": {"beam": 3},
        "alignment": {"examples": 2},
    }


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The tiny corpus, shared: do not change it."""
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def own_corpus(tmp_path: Path) -> Corpus:
    """A copy of the tiny corpus to damage."""
    return write_corpus(tmp_path / "corpus")


@pytest.fixture(scope="session")
def tiny_config(corpus: Corpus) -> Callable[..., Config]:
    """A function from `a.b=c` changes to a config of the tiny corpus, or of another one."""

    def make(*changes: str, of: Corpus = corpus) -> Config:
        return parse_config(tiny_settings(of), "the tiny config", changes)

    return make


@pytest.fixture(scope="session")
def tokenizer(corpus: Corpus) -> Tokenizer:
    """A tokenizer of the tiny corpus."""
    lines = [*corpus.lines("train.en"), *corpus.lines("train.de")]
    trained = train_tokenizer(lines, kind="bpe", vocabulary_size=80, character_coverage=1.0, what="corpus")
    return trained.tokenizer


@pytest.fixture(scope="session")
def trained(tiny_config: Callable[..., Config], tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A whole training with Bahdanau's attention, shared: copy its folder before changing it."""
    path = tmp_path_factory.mktemp("runs") / "tiny"
    return start_training(tiny_config("training.max_steps=100"), path, device="cpu")


@pytest.fixture(scope="session")
def opened(trained: Trained) -> Run:
    """The trained run, opened."""
    return open_run(trained.folder.path, "cpu")


@pytest.fixture(scope="session")
def backwards(tiny_config: Callable[..., Config], corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run from German to English."""
    files = {
        f"data.{name}": f"{{source: '{corpus.folder}/{name}.de', target: '{corpus.folder}/{name}.en'}}"
        for name in ("train", "valid")
    }
    changes = [f"{key}={value}" for key, value in files.items()]
    languages = ["data.source_language=de", "data.target_language=en", "data.test=null"]
    path = tmp_path_factory.mktemp("runs") / "reverse"
    start_training(tiny_config(*changes, *languages, "training.max_steps=30"), path, device="cpu")
    return open_run(path, "cpu")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """The models here are too small for more than one thread to pay."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
