"""What is wrong with a config, in people's words instead of the validator's."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

_KINDS = {
    "int_type": "is not a whole number",
    "float_type": "is not a number",
    "finite_number": "is not a finite number",
    "bool_type": "is not true or false",
    "string_type": "is not text; put it in quotes",
    "path_type": "is not a file name",
    "tuple_type": "is not a list",
    "list_type": "is not a list",
}
_BOUNDS = {
    "greater_than": ("gt", "must be above"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than": ("lt", "must be below"),
    "less_than_equal": ("le", "must be at most"),
}
_PATTERNS = {
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$": "may hold letters, digits, '.', '_' and '-', and begins with a letter or digit",
    r"^[A-Za-z0-9_-]+$": "is no code of a language: letters, digits, '_' and '-' alone, such as en",
}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: the dotted path of the key (empty: the whole config), and what about it."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


@dataclass(frozen=True)
class _Place:
    """Where an error is: its path, the section that should have the last key, and what the schema says of that key."""

    names: tuple[str, ...] = ()
    owner: type[BaseModel] | None = None
    tag: str | None = None  # the owner's type, where the owner is one of several
    rivals: tuple[type[BaseModel], ...] = ()  # those several
    field: FieldInfo | None = None
    here: type[BaseModel] | None = None  # the section that the path itself leads to

    @property
    def path(self) -> str:
        return ".".join(self.names)


def describe(error: ValidationError, schema: type[BaseModel]) -> list[Problem]:
    """Every error of a failed validation against SCHEMA, in its order."""
    return [_describe(details, schema) for details in error.errors(include_url=False)]


def _describe(details: ErrorDetails, schema: type[BaseModel]) -> Problem:
    place = _locate(details["loc"], schema)
    kind, given, context = details["type"], _show(details["input"]), details.get("ctx", {})
    if kind == "extra_forbidden":
        return Problem(place.path, _unknown_key(place, schema))
    if kind == "missing":
        return Problem(place.path, "is missing")
    if kind == "value_error":
        return _own_words(place, str(context["error"]))
    if kind in ("union_tag_invalid", "union_tag_not_found", "literal_error"):
        return _unknown_name(place, details)
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return Problem(place.path, _no_section(place, details["input"]))
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        bound = context[name]
        return Problem(place.path, f"{given} {words} {bound if isinstance(bound, int) else f'{bound:g}'}")
    if kind == "string_pattern_mismatch":
        return Problem(
            place.path, f"{given} {_PATTERNS.get(context['pattern'], 'does not match ' + context['pattern'])}"
        )
    if kind == "int_type" and isinstance(details["input"], float) and details["input"].is_integer():
        return Problem(place.path, f"{given} must be a whole number: write {details['input']:.0f}")
    message = details["msg"]
    return Problem(place.path, f"{given} {_KINDS.get(kind, 'is not accepted: ' + message[:1].lower() + message[1:])}")


def _locate(loc: Iterable[str | int], schema: type[BaseModel]) -> _Place:
    """Follow a location of the validator through SCHEMA; it names the chosen type of a union as if that were a key."""
    place = _Place(here=schema)
    options: tuple[type[BaseModel], ...] = ()
    tag: str | None = None
    for part in loc:
        chosen = [model for model in options if len(options) > 1 and part in _literals(model.model_fields["type"])]
        if chosen:
            tag = str(part)
            place = _Place(place.names, place.owner, place.tag, options, place.field, chosen[0])
            options = ()
        elif isinstance(part, int):
            place = _Place((*place.names[:-1], f"{place.names[-1]}[{part}]"), place.owner, field=place.field)
        else:
            owner = place.here
            field = owner.model_fields.get(part) if owner else None
            rivals = place.rivals if tag else ()
            options = tuple(_models(field.annotation)) if field else ()
            here = options[0] if len(options) == 1 else None
            place = _Place((*place.names, quote_key(part)), owner, tag, rivals, field, here)
            tag = None
    return place


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """The sections that an annotation admits."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is not None:
        for part in get_args(annotation):
            yield from _models(part)


def _literals(field: FieldInfo | None) -> list[str]:
    """The names that a field admits."""

    def collect(annotation: object) -> Iterator[str]:
        if get_origin(annotation) is Literal:
            yield from (str(name) for name in get_args(annotation))
        else:
            for part in get_args(annotation):
                yield from collect(part)

    return list(collect(field.annotation)) if field else []


def _unknown_key(place: _Place, schema: type[BaseModel]) -> str:
    key, section = place.names[-1], ".".join(place.names[:-1])
    allowed = list(place.owner.model_fields) if place.owner else []
    of_type = f" for type {place.tag}" if place.tag else ""
    others = [_literals(model.model_fields["type"])[0] for model in place.rivals if key in model.model_fields]
    if others:
        return f"unknown key{of_type} (it belongs to {', '.join(others)}); allowed: {', '.join(allowed)}"
    near = get_close_matches(key.lower(), allowed, n=1)
    if near:
        return f"unknown key{of_type} (did you mean {section + '.' if section else ''}{near[0]}?)"
    elsewhere = sorted({path for path in _paths(schema) if path.rsplit(".", 1)[-1] == key})
    if elsewhere:
        return f"unknown key{of_type} (did you mean {' or '.join(elsewhere)}?)"
    return f"unknown key{of_type}; allowed: {', '.join(allowed)}"


def _paths(section: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in section.model_fields.items():
        yield prefix + name
        for model in _models(field.annotation):
            yield from _paths(model, f"{prefix}{name}.")


def _unknown_name(place: _Place, details: ErrorDetails) -> Problem:
    """A name that is not one of those allowed: of a type, or of anything else that has a list of names."""
    path, given = place.path, details["input"]
    allowed = _literals(place.field)
    if details["type"] != "literal_error":
        path += ".type"
        allowed = [
            _literals(model.model_fields["type"])[0] for model in _models(place.field and place.field.annotation)
        ]
        if details["type"] == "union_tag_not_found":
            slip = get_close_matches("type", given if isinstance(given, Mapping) else [], n=1)
            if slip:
                return Problem(f"{place.path}.{quote_key(slip[0])}", f"unknown key (did you mean {path}?)")
            return Problem(path, f"is missing; allowed: {', '.join(allowed)}")
        given = given["type"]
    near = get_close_matches(given.lower(), allowed, n=1) if isinstance(given, str) else []
    hint = f" (did you mean {near[0]}?)" if near else ""
    return Problem(path, f"{_show(given)} is unknown{hint}; allowed: {', '.join(allowed)}")


def _no_section(place: _Place, given: object) -> str:
    if given is None:
        return "is empty; give it keys, or leave it out"
    types = [_literals(model.model_fields["type"])[0] for model in _models(place.field and place.field.annotation)
             if "type" in model.model_fields]  # fmt: skip
    if isinstance(given, str) and given in types:
        return f"{_show(given)} is not a section; write {{type: {given}}}"
    keys = f"; allowed: {', '.join(place.here.model_fields)}" if place.here else ""
    return f"{_show(given)} is not a section with keys{keys}"


def _own_words(place: _Place, message: str) -> Problem:
    """A rule's own message; `key: …` in front of it belongs to the path."""
    key, _, rest = message.partition(": ")
    if place.here and key in place.here.model_fields:
        return Problem(".".join((*place.names, key)), rest)
    return Problem(place.path, message)


def quote_key(name: str) -> str:
    """A key as it stands in a path; in quotes where it would be mistaken for a path, or break the line."""
    return name if name.isprintable() and name and not set(name) & set(". ") else repr(name)


def _show(value: object) -> str:
    """A given value in one short line, as it stands in YAML."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return "a section"
    if isinstance(value, list | tuple):
        return "a list"
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
