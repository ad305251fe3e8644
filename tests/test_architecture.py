"""Who may import whom, and a few rules that keep the house tidy.

`A: {B, C}` in the table reads: A may import B and C, and whatever A holds. A module obeys the longest name that it
lies under, so that an exception stands beneath the package that it is an exception to.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import nmt

HOUSE = Path(nmt.__file__).parent
FILES = sorted(HOUSE.rglob("*.py"))

BASE = {"nmt.errors", "nmt.files", "nmt.characters"}
"""At the bottom: they import nothing of the house, and every layer may use them."""

PICTURES = {"nmt.alignment.labels", "nmt.alignment.fonts", "nmt.alignment.picture", "nmt.alignment.plot"}
"""What draws, and what every picture needs."""

ALLOWED: dict[str, set[str]] = {
    "nmt": set(),
    "nmt.errors": set(),
    "nmt.files": set(),
    "nmt.characters": set(),
    "nmt.runtime": {"nmt.errors"},
    "nmt.uniform": set(),
    # Settings, text, and the run folder that holds both.
    "nmt.config": BASE,
    "nmt.data": BASE,
    "nmt.checkpoint": {*BASE, "nmt.config", "nmt.data.tokenizer"},
    # Tensors and plain values, never a Batch or a Config; one file reads the model section.
    "nmt.attention": {*BASE, "nmt.uniform"},
    "nmt.model": {*BASE, "nmt.attention"},
    "nmt.model.build": {*BASE, "nmt.attention", "nmt.model", "nmt.config.model", "nmt.config.attention"},
    # The two readers of a model, which do not know each other.
    "nmt.training": {*BASE, "nmt.runtime", "nmt.data", "nmt.model"},
    "nmt.training.loss": {*BASE, "nmt.attention.base", "nmt.model"},
    "nmt.decoding": {*BASE, "nmt.runtime", "nmt.uniform", "nmt.data", "nmt.model"},
    # Alignments and scores.
    "nmt.alignment": BASE,
    "nmt.alignment.links": BASE,
    "nmt.alignment.matrix": {*BASE, "nmt.decoding"},
    "nmt.alignment.symmetrize": {*BASE, "nmt.alignment.links"},
    "nmt.alignment.units": {*BASE, "nmt.alignment.matrix"},
    "nmt.alignment.document": {*BASE, "nmt.alignment.matrix", "nmt.alignment.units"},
    "nmt.alignment.export": {*BASE, "nmt.alignment.links", "nmt.alignment.matrix"},
    "nmt.alignment.labels": {"nmt.characters"},
    "nmt.alignment.fonts": set(),
    "nmt.alignment.picture": {*BASE, "nmt.alignment.fonts"},
    "nmt.alignment.html": {*BASE, "nmt.alignment.links", "nmt.alignment.export", "nmt.alignment.labels"},
    "nmt.alignment.plot": {*BASE, "nmt.alignment.links", "nmt.alignment.matrix", *PICTURES},
    "nmt.alignment.plot_grid": {*BASE, "nmt.alignment.links", "nmt.alignment.matrix", *PICTURES},
    "nmt.alignment.plot_arcs": {*BASE, "nmt.alignment.matrix", *PICTURES, "nmt.alignment.plot_grid"},
    "nmt.evaluation": {*BASE, "nmt.alignment.links"},
    "nmt.evaluation.plot": {*BASE, *PICTURES - {"nmt.alignment.plot"}, "nmt.evaluation.bleu"},
    # What wires all of it, many of those, and the command line.
    "nmt.experiment": {
        *BASE,
        "nmt.runtime",
        "nmt.config",
        "nmt.data",
        "nmt.checkpoint",
        "nmt.attention",
        "nmt.model",
        "nmt.training",
        "nmt.decoding",
        "nmt.alignment",
        "nmt.evaluation",
    },
    "nmt.sweep": {"nmt"},
    "nmt.cli": {"nmt"},
    "nmt.__main__": {"nmt.cli.app"},
}

FORBIDDEN = {
    "nmt.sweep": {"nmt.cli"},
    "nmt.cli": {"nmt.__main__"},
}
"""Exceptions to the two layers that may import nearly everything."""

DRAWING = (
    "nmt.alignment.fonts",
    "nmt.alignment.picture",
    "nmt.alignment.plot",
    "nmt.alignment.plot_grid",
    "nmt.alignment.plot_arcs",
    "nmt.evaluation.plot",
    "nmt.experiment.plot",
    "nmt.sweep.plot",
)

ONLY_IN = {
    "matplotlib": DRAWING,
    "mpl_toolkits": DRAWING,
    "typer": ("nmt.cli",),
    "click": ("nmt.cli",),
    "sentencepiece": ("nmt.data.tokenizer",),
    "sacrebleu": ("nmt.evaluation.bleu", "nmt.evaluation.significance"),
    "safetensors": ("nmt.checkpoint",),
    "entmax": ("nmt.attention.normalizers",),
    "optuna": ("nmt.sweep.study", "nmt.sweep.search"),
    "sqlalchemy": ("nmt.sweep.study",),
    "jinja2": ("nmt.sweep.page",),
    "torch.utils.tensorboard": ("nmt.experiment.tensorboard",),
    "pydantic": ("nmt.config",),
    "yaml": ("nmt.config",),
    "rich": ("nmt.training.logging", "nmt.cli"),
}

WITHOUT_TORCH = (
    "nmt.config",
    "nmt.evaluation",
    "nmt.alignment.links",
    "nmt.sweep.plan",
    "nmt.cli",
    "nmt.errors",
    "nmt.files",
)


def name_of(file: Path) -> str:
    parts = file.relative_to(HOUSE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): ast.parse(file.read_text(encoding="utf-8"), str(file)) for file in FILES}


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def imported(tree: ast.AST, module: str) -> Iterator[tuple[str, int]]:
    """Every module that is imported anywhere in a tree, also in functions and for types alone, with its line."""
    is_package = (HOUSE.parent / Path(*module.split("."))).is_dir()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")[: len(module.split(".")) - node.level + is_package]
                base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                # `from package import module` and `from module import name` look alike.
                inner = f"{base}.{alias.name}"
                yield (inner if inner in MODULES else base), node.lineno
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("__import__", "importlib.import_module"):
            yield ast.literal_eval(node.args[0]), node.lineno


def layer_of(module: str) -> str:
    """The longest name in the table that a module lies under; `nmt` is that of the package's own file alone."""
    names = [name for name in ALLOWED if within(module, name) and (name != "nmt" or module == "nmt")]
    assert names, f"{module} has no place in the table: say what it may import"
    return max(names, key=len)


def is_allowed(module: str, target: str) -> bool:
    layer = layer_of(module)
    if any(within(target, name) for name in FORBIDDEN.get(layer, ())):
        return False
    # `nmt` itself holds the version and imports nothing.
    return target == "nmt" or within(target, layer) or any(within(target, name) for name in ALLOWED[layer])


def ours(module: str) -> Iterator[tuple[str, int]]:
    return ((target, line) for target, line in imported(MODULES[module], module) if within(target, "nmt"))


def test_the_house_is_found() -> None:
    assert {"nmt.errors", "nmt.model.build", "nmt.cli.app", "nmt.training.loop"} <= MODULES.keys()
    assert ("nmt.checkpoint", False) in {(target, False) for target, _ in ours("nmt.experiment.run")}
    assert "nmt.alignment.links" in {target for target, _ in ours("nmt.cli.aer")}, "imports in functions count"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_its_layer_may(module: str) -> None:
    wrong = [f"line {line}: {target}" for target, line in ours(module) if not is_allowed(module, target)]
    assert not wrong, f"{module} may not import {', '.join(wrong)}"


@pytest.mark.parametrize(
    ("module", "target"),
    [
        ("nmt.training.loop", "nmt.decoding.beam"),
        ("nmt.decoding.translate", "nmt.training.state"),
        ("nmt.training.loss", "nmt.data.batching"),
        ("nmt.training.loss", "nmt.config.schema"),
        ("nmt.training.loop", "nmt.config.schema"),
        ("nmt.attention.luong", "nmt.data.batching"),
        ("nmt.attention.luong", "nmt.model.layers"),
        ("nmt.model.seq2seq", "nmt.config.schema"),
        ("nmt.model.seq2seq", "nmt.data.batching"),
        ("nmt.model.build", "nmt.data.batching"),
        ("nmt.config.load", "nmt.data.corpus"),
        ("nmt.data.corpus", "nmt.config.schema"),
        ("nmt.evaluation.aer", "nmt.alignment.matrix"),
        ("nmt.evaluation.bleu", "nmt.alignment.plot"),
        ("nmt.evaluation.plot", "nmt.alignment.matrix"),
        ("nmt.alignment.plot", "nmt.evaluation.plot"),
        ("nmt.alignment.plot", "nmt.alignment.plot_grid"),
        ("nmt.alignment.picture", "nmt.alignment.plot"),
        ("nmt.alignment.links", "nmt.alignment.matrix"),
        ("nmt.checkpoint", "nmt.experiment.run"),
        ("nmt.experiment.run", "nmt.cli.app"),
        ("nmt.experiment.run", "nmt.sweep.work"),
        ("nmt.model.build", "nmt.experiment.run"),
        ("nmt.sweep.work", "nmt.cli.app"),
        ("nmt.errors", "nmt.files"),
        ("nmt.alignment.units", "nmt.alignment.links"),
        ("nmt.cli.app", "nmt.__main__"),
    ],
)
def test_the_table_forbids_what_it_should(module: str, target: str) -> None:
    assert not is_allowed(module, target)


def test_no_module_needs_itself() -> None:
    graph = {module: {target for target, _ in ours(module)} for module in MODULES}
    finished: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module not in finished:
            for target in graph.get(module, set()) - {"nmt"}:
                visit(target, (*path, module))
            finished.add(module)

    for module in graph:
        visit(module, ())


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_is_met_in_one_place(library: str) -> None:
    for module, tree in MODULES.items():
        if not any(within(module, place) for place in ONLY_IN[library]):
            wrong = [f"{module}, line {line}" for target, line in imported(tree, module) if within(target, library)]
            assert not wrong, f"{library} belongs in {' and '.join(ONLY_IN[library])} alone, but is in {wrong}"


LOADED = """
import importlib, sys
late, *names = sys.argv[1:]
for name in names:
    importlib.import_module(name)
    found = set(late.split()) & sys.modules.keys()
    if found:
        sys.exit(f"{name} imports {sorted(found)}")
"""


def test_what_must_be_instant_is_imported_without_torch() -> None:
    names = [module for module in MODULES if any(within(module, one) for one in WITHOUT_TORCH)]
    assert {"nmt.config.load", "nmt.cli.app", "nmt.evaluation.bleu", "nmt.alignment.links"} <= set(names)
    drawing = [name for name in DRAWING if name != "nmt.sweep.plot"]  # it reads run folders, which may hold tensors
    for late, modules in (
        ("torch safetensors matplotlib", [name for name in names if name not in drawing]),
        ("torch safetensors", drawing),
    ):
        command = [sys.executable, "-c", LOADED, late, *modules]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("module", [name for name in MODULES if any(within(name, one) for one in WITHOUT_TORCH[:3])])
def test_what_has_no_tensors_never_imports_torch(module: str) -> None:
    assert not [line for target, line in imported(MODULES[module], module) if within(target, "torch")]


def test_no_file_has_more_than_300_lines() -> None:
    lengths = {str(file.relative_to(HOUSE)): len(file.read_text(encoding="utf-8").split("\n")) - 1 for file in FILES}
    assert {name: lines for name, lines in lengths.items() if lines > 300} == {}


def test_no_function_has_more_than_50_lines() -> None:
    found = {
        f"{module}.{node.name}": node.end_lineno - node.lineno + 1
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    }
    assert len(found) > 100
    assert {name: lines for name, lines in found.items() if lines > 50} == {}


def test_there_are_no_attics() -> None:
    attics = {"utils", "util", "helpers", "helper", "common", "misc", "tools"}
    assert [module for module in MODULES if attics & set(module.split("."))] == []


def test_nothing_is_pickled() -> None:
    libraries = ("pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve")
    calls = {"torch.load", "torch.save", "torch.jit.load", "torch.jit.save", "np.load", "np.save", "numpy.load"}
    for module, tree in MODULES.items():
        assert not [target for target, _ in imported(tree, module) if any(within(target, one) for one in libraries)]
        assert not [line for target, line in imported(tree, module) if within(target, "torch.serialization")]
        used = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not used & calls, module
        from_torch = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "torch"]
        assert not {alias.name for node in from_torch for alias in node.names} & {"load", "save"}, module


def test_texts_are_read_and_written_as_utf8_whatever_the_machine_prefers() -> None:
    """`open`, `read_text` and `write_text` name their encoding."""
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if name not in ("read_text", "write_text", "open"):
                continue
            modes = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            is_own = isinstance(node.func, ast.Name) and name == "write_text"  # nmt.files.write_text, always UTF-8
            is_plain = name == "open" and (any("b" in mode for mode in modes) or ast.unparse(node.func) == "os.open")
            if not is_own and not is_plain:
                assert "encoding" in {keyword.arg for keyword in node.keywords}, f"{module}, line {node.lineno}"


def test_zip_says_whether_lengths_must_agree() -> None:
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip":
                strict = {keyword.arg for keyword in node.keywords}
                assert "strict" in strict, f"{module}, line {node.lineno}"


def test_an_exception_stands_beneath_the_package_that_it_is_one_to() -> None:
    order = list(ALLOWED)
    for package, module in pairwise(order):
        assert not within(package, module) or package == module, f"{package} stands before {module}"
