"""From YAML and `--set` to a `Config`, and back; every error of a file is told at once."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from nmt.config.dialect import parse_yaml, write_yaml
from nmt.config.messages import Problem, describe, quote_key
from nmt.config.schema import Config
from nmt.errors import ConfigError

_Model = TypeVar("_Model", bound=BaseModel)


def load_config(path: Path, overrides: Sequence[str] = ()) -> Config:
    """The config in a YAML file, changed by `a.b=c` OVERRIDES whose values are YAML.

    Relative paths are looked for from the working directory, then from the file's own folder; the config has absolute
    ones. Whether the files exist is for the code that reads them to say.

    Raises:
        ConfigError: the file cannot be read, is no YAML, or does not describe a config; an override is malformed.
    """
    data = parse_yaml(read_yaml_text(path), str(path))
    return with_absolute_paths(parse_config(data, str(path), overrides), path.parent)


def parse_config(data: object, where: str, overrides: Sequence[str] = ()) -> Config:
    """The config that plain DATA from WHERE describes, after `a.b=c` OVERRIDES; DATA stays as it is.

    Raises:
        ConfigError: DATA does not describe a config, or an override is malformed. One error is one line; of several,
            the first line is their number.
    """
    if data is None:
        raise ConfigError(f"{where}: is empty; a config needs at least name, data and training")
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: is not a config: keys such as name, data and training are expected at the top")
    data, touched = deepcopy(data), []
    for override in overrides:
        touched += _apply(data, override)
    found = validate(data, Config)
    if isinstance(found, Config):
        return found
    raise ConfigError(in_lines(where, [_blame(problem, touched) for problem in found]))


def validate(data: object, section: type[_Model]) -> _Model | list[Problem]:
    """The SECTION that plain DATA describes, or everything that is wrong with it."""
    try:
        return section.model_validate(data)
    except ValidationError as error:
        return describe(error, section)


def in_lines(where: str, problems: Sequence[str]) -> str:
    """The text of an error in WHERE: one line for each problem; of several, the first line is their number."""
    if len(problems) == 1:
        return f"{where}: {problems[0]}"
    return "\n  ".join([f"{where}: {len(problems)} errors", *problems])


def changed(section: _Model, changes: Mapping[str, object], name: str) -> _Model:
    """A section with other values for some of its keys; NAME is the section's, for messages.

    Raises:
        ConfigError: a value is out of range or at odds with another one.
    """
    try:
        return type(section).model_validate(section.model_dump() | dict(changes))
    except ValidationError as error:
        raise ConfigError("; ".join(f"{name}.{problem}" for problem in describe(error, type(section)))) from None


def dump_config(config: Config) -> str:
    """The config as YAML, every key in the schema's order; `parse_config` of it is equal."""
    return write_yaml(config.model_dump(mode="json"))


def differences(a: Config, b: Config) -> list[str]:
    """The dotted keys in which two configs differ.

    Where a section's type differs, keys that only one of the two types has are not listed: they follow from the type.
    """
    return list(_differences(a.model_dump(), b.model_dump(), ""))


def config_schema(section: type[BaseModel] = Config) -> dict[str, Any]:
    """The JSON schema of a config, or of another YAML, with a description of every key, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **section.model_json_schema()}


def read_yaml_text(path: Path, shelf: Path = Path("configs")) -> str:
    """The text of a YAML file. Raises ConfigError where there is none, with the one on the SHELF that was meant."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: not found{_suggest(path, shelf)}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _suggest(path: Path, shelf: Path) -> str:
    """The file on the shelf that was probably meant."""
    known = sorted(file.stem for file in shelf.glob("*.yaml"))
    # Without the ending, which all have in common, so that only a name that is nearly right is near.
    near = get_close_matches(path.stem, known, n=1, cutoff=0.75)
    if near:
        return f" (did you mean {shelf / near[0]}.yaml?)"
    return f"; {shelf}/ has: {', '.join(f'{name}.yaml' for name in known)}" if known else ""


def _apply(data: dict[str, Any], override: str) -> list[str]:
    """Change DATA by `a.b=c`; returns the paths that this set or created."""
    path, equals, text = override.partition("=")
    keys = [key.strip() for key in path.split(".")]
    if not equals or not all(keys):
        raise ConfigError(f"--set {override!r}: give it as section.key=value, such as training.max_steps=500")
    where = f"--set {path.strip()}"
    return set_key(data, keys, parse_yaml(text, where), where)


def set_key(data: dict[str, Any], keys: Sequence[str], value: object, where: str) -> list[str]:
    """Change plain DATA at the path KEYS, making sections on the way; returns the paths that this set or created.

    Raises:
        ConfigError: what is on the way is not a section; WHERE says who asked for it.
    """
    names = [quote_key(key) for key in keys]
    touched, here = [".".join(names)], data
    for depth, key in enumerate(keys[:-1], start=1):
        if here.get(key) is None:
            here[key] = {}
            touched.append(".".join(names[:depth]))
        here = here[key]
        if not isinstance(here, dict):
            raise ConfigError(f"{where}: {'.'.join(names[:depth])} is not a section, so it has no keys")
    here[keys[-1]] = value
    return touched


def _blame(problem: Problem, touched: list[str]) -> str:
    """The problem in one line; `--set` in front of it where that put it there."""
    given = any(problem.path == path or problem.path.startswith(f"{path}.") for path in touched)
    return f"--set {problem}" if given else str(problem)


def with_absolute_paths(section: _Model, folder: Path) -> _Model:
    """The section with relative paths made absolute: from the working directory where they exist, else from FOLDER."""
    return _with_paths(section, lambda path: _absolute(path, folder))


def with_relative_paths(section: _Model) -> _Model:
    """The section with paths beneath the working directory made relative to it, for use on another machine."""
    here = Path.cwd()
    return _with_paths(section, lambda path: path.relative_to(here) if path.is_relative_to(here) else path)


def paths_of(section: BaseModel, prefix: str = "") -> dict[str, Path]:
    """Every file that a section names, by its dotted key."""
    found: dict[str, Path] = {}
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Path):
            found[f"{prefix}{name}"] = value
        elif isinstance(value, BaseModel):
            found |= paths_of(value, f"{prefix}{name}.")
    return found


def _with_paths(section: _Model, change: Callable[[Path], Path]) -> _Model:
    changes: dict[str, object] = {}
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Path):
            changes[name] = change(value)
        elif isinstance(value, BaseModel):
            changes[name] = _with_paths(value, change)
    return section.model_copy(update=changes)


def _absolute(path: Path, folder: Path) -> Path:
    # os.path instead of pathlib: it answers False, without raising, where a folder on the way may not be searched.
    places = [os.path.abspath(path), os.path.abspath(folder / path)]
    return Path(next((place for place in places if os.path.exists(place)), places[0]))


def _differences(a: Mapping[str, Any], b: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for key in a:
        if key in b and a[key] != b[key]:
            if isinstance(a[key], Mapping) and isinstance(b[key], Mapping):
                yield from _differences(a[key], b[key], f"{prefix}{key}.")
            else:
                yield prefix + key
