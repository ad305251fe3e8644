"""The YAML that configs are written in: the core schema of YAML 1.2, with text as keys and no key twice.

PyYAML reads YAML 1.1, in which `1e-3` is text, `no` is false and the second of two equal keys wins in silence. Here
`1e-3` is a number, only `true` and `false` are booleans (so the language code `no` stays what it is), and dates,
underscores in numbers and tags of other programs do not exist.
"""

import re
from collections.abc import Callable
from typing import Any

import yaml

from nmt.errors import ConfigError

_STANDARD = "tag:yaml.org,2002:"
_NUMBER = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
_RESOLVERS = [
    (_STANDARD + kind, re.compile(rf"(?:{pattern})\Z"))
    for kind, pattern in (
        ("null", r"~|null|Null|NULL|"),
        ("bool", r"true|True|TRUE|false|False|FALSE"),
        ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
        ("float", rf"{_NUMBER}|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
        ("merge", r"<<"),
    )
]


def _integer(text: str) -> int:
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)  # a leading 0 alone is no octal number, unlike in YAML 1.1
    return int(text, base)


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _bool(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _scalar(convert: Callable[[str], object]) -> Callable[[Any, Any], object]:
    def construct(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> object:
        text = str(loader.construct_scalar(node))
        try:
            return convert(text)
        except (ValueError, KeyError):  # an explicit tag such as `!!int abc`, or thousands of digits
            short = text if len(text) < 40 else text[:37] + "..."
            raise yaml.constructor.ConstructorError(
                None, None, f"{short!r} is not of the kind {node.tag.removeprefix(_STANDARD)}", node.start_mark
            ) from None

    return construct


def _refuse_tag(_: yaml.SafeLoader, node: yaml.Node) -> None:
    raise yaml.constructor.ConstructorError(None, None, f"the tag {node.tag} is not allowed", node.start_mark)


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {None: _RESOLVERS}  # noqa: RUF012 (None: tried whatever the first character is)
    yaml_constructors = {  # noqa: RUF012
        _STANDARD + "map": yaml.SafeLoader.construct_yaml_map,
        _STANDARD + "seq": yaml.SafeLoader.construct_yaml_seq,
        _STANDARD + "str": yaml.SafeLoader.construct_yaml_str,
        _STANDARD + "null": yaml.SafeLoader.construct_yaml_null,
        _STANDARD + "bool": _scalar(_bool),
        _STANDARD + "int": _scalar(_integer),
        _STANDARD + "float": _scalar(_float),
        None: _refuse_tag,
    }

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        # Looked at here, where every mapping passes once as it is written: later, merge keys have been mixed in, and a
        # merged key that is given again is no mistake.
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: dict[str, int] = {}
        for key, _ in node.value:
            mark = key.start_mark
            if not isinstance(key, yaml.ScalarNode) or key.tag not in (_STANDARD + "str", _STANDARD + "merge"):
                shown = key.value if isinstance(key, yaml.ScalarNode) else "that is a list or a section"
                raise yaml.composer.ComposerError(None, None, f"the key {shown} is not text; put it in quotes", mark)
            if key.value in seen:
                first = seen[key.value]
                problem = f"the key {key.value!r} is given twice, first in line {first}"
                raise yaml.composer.ComposerError(None, None, problem, mark)
            seen[key.value] = mark.line + 1
        return node

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        # Not PyYAML's own: some of its versions take the wrong one of two values when a merged section has merged too.
        merged = [value for key, value in node.value if key.tag == _STANDARD + "merge"]
        own = [(key, value) for key, value in node.value if key.tag != _STANDARD + "merge"]
        node.value = own  # before anything is followed, which may lead back here
        pairs: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for value in merged:
            for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if not isinstance(source, yaml.MappingNode):
                    problem = "only a section, or a list of sections, can be merged with <<"
                    raise yaml.constructor.ConstructorError(None, None, problem, source.start_mark)
                self.flatten_mapping(source)
                for key, found in source.value:
                    pairs.setdefault(key.value, (key, found))
        node.value = [*({**pairs, **{key.value: (key, value) for key, value in own}}).values()]


class _Dumper(yaml.SafeDumper):
    # What either version of YAML would take for something other than text is written in quotes, so that other programs
    # read it the same way.
    yaml_implicit_resolvers = {  # noqa: RUF012
        **yaml.SafeDumper.yaml_implicit_resolvers,
        None: _RESOLVERS,
    }

    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        # Line breaks of Unicode survive only as escapes, which only double quotes have.
        style = '"' if set(text) & set("\x85\u2028\u2029\ufeff") else None
        return self.represent_scalar(_STANDARD + "str", text, style)


_Dumper.add_representer(str, _Dumper.represent_text)


def parse_yaml(text: str, where: str) -> object:
    """The value of a YAML text.

    Raises:
        ConfigError: the text is not YAML, has a key twice, or a key that is not text; in one line with WHERE, the line
            and the column.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" line {mark.line + 1}, column {mark.column + 1}:" if mark else ""
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(f"{where}:{place} {problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(
            f"{where}: line {line}: the character U+{ord(text[error.position]):04X} is not allowed"
        ) from None
    except RecursionError:
        raise ConfigError(f"{where}: sections or lists are nested too deeply") from None


def write_yaml(value: object) -> str:
    """The YAML text of plain dicts, lists and scalars, in their order; `parse_yaml` gives an equal value back."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)
