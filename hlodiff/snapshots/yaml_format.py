"""Prints and reads summary.yaml: safely, in the given order, with numbers as numbers."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import yaml

from hlodiff.errors import StoreError

SUMMARY_VERSION = 3
"""Version of summary.yaml. Increase it whenever something is counted differently: such numbers are not comparable."""
FORMAT_VERSION = 1
"""Version of traces.yaml and growth.yaml."""

# libyaml reads a summary 10 times as fast as the pure Python loader; both refuse all tags but YAML's own.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# hlodiff writes four levels. libyaml parses nested values recursively and crashes at 100,000.
_MAX_DEPTH = 50
# A summary of 100,000 rows has 3 MB.
_MAX_CHARACTERS = 32 * 1024**2


_KEYS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:int")


class _Loader(_SafeLoader):  # type: ignore[misc]  # the base is chosen at run time
    """Refuses duplicate keys: YAML would silently keep the last one.

    Only the plain numbers that hlodiff writes are parsed: a sexagesimal number (`1:59:59`) takes quadratic time.
    """

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[object] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag not in _KEYS:
                what = "a key is neither a word nor a whole number"
                raise yaml.constructor.ConstructorError(None, None, what, key.start_mark)
            name = key.tag, key.value
            if name in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key `{str(key.value)[:40]}` is there twice", key.start_mark
                )
            seen.add(name)
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("null", r"null|Null|NULL|~|", "nN~\0"),
    ("bool", r"true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF", "tTfFyYnNoO"),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,299})", "-+0123456789"),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]{1,4})?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
     "-+.0123456789"),
):  # fmt: skip
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})$"), ["", *_first] if _tag == "null" else list(_first)
    )

_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


NEWER = "run `git pull` in your clone of hlodiff and install it from there again"
"""Hint if a newer hlodiff has written a file."""


class FutureFormatError(StoreError):
    """A snapshot was written by a newer hlodiff: it is neither read nor overwritten."""


class _InlineMapping(dict[int | str, Any]):
    """A mapping that is printed on one line."""


class _Dumper(_Base):  # type: ignore[misc]  # the base is chosen at run time
    """Prints rows on one line and never an anchor."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    _InlineMapping, lambda dumper, row: dumper.represent_mapping("tag:yaml.org,2002:map", row, True)
)
_Dumper.add_representer(
    list, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, _is_flat(items))
)


def dump_yaml(summary: Mapping[str, Any]) -> str:
    """Print a summary.

    Args:
        summary: plain values; keys are printed in their order.

    Returns:
        YAML text, one line per list entry.

    Example:
        >>> print(dump_yaml({"format_version": 1, "arguments": [{"shape": [2, 3]}]}), end="")
        format_version: 1
        arguments:
        - {shape: [2, 3]}
    """
    text: str = yaml.dump(_plain(summary), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 30)
    return text


def load_yaml(text: str, where: str, newest: int = FORMAT_VERSION) -> dict[str, Any]:
    """Read an untrusted YAML file of hlodiff.

    Args:
        text: YAML.
        where: the file, for errors.
        newest: the newest `format_version` that can be read; SUMMARY_VERSION for a summary.yaml.

    Returns:
        the table; its `format_version` was checked.

    Raises:
        StoreError: broken YAML, a tag, an anchor, a newer format, or not a mapping.
    """
    try:
        _refuse_hostile(text, where)
        value = yaml.load(text, Loader=_Loader)  # a safe loader
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None)
        raise StoreError(
            f"broken YAML: {str(problem or error).splitlines()[0][:200]}",
            where=_place(getattr(error, "problem_mark", None), where),
        ) from None
    except (RecursionError, ValueError, OverflowError) as error:
        raise StoreError(f"broken YAML: {type(error).__name__}: {str(error)[:100]}", where=where) from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise StoreError("expected `key: value` pairs", where=where)
    _check_version(value, where, newest)
    return value


def _refuse_hostile(text: str, where: str) -> None:
    """Refuse aliases, tags and deep nesting before building anything."""
    if len(text) > _MAX_CHARACTERS:
        raise StoreError(f"larger than {_MAX_CHARACTERS} characters", where=where)
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise StoreError("aliases (`*name`) are not allowed in a summary", where=where)
        if getattr(event, "tag", None) is not None:
            raise StoreError("tags (`!name`) are not allowed in a summary", where=_place(event.start_mark, where))
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                raise StoreError(
                    f"broken YAML: values are nested more than {_MAX_DEPTH} deep", where=_place(event.start_mark, where)
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_version(summary: Mapping[str, Any], where: str, newest: int) -> None:
    version = summary.get("format_version")
    if isinstance(version, (str, float)):  # a future format may count differently: "2.1"
        with contextlib.suppress(ValueError, OverflowError):
            version = math.ceil(float(version))
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise StoreError(f"`format_version` is {version!r}, not a positive number", where=where)
    if version > newest:
        raise FutureFormatError(
            f"format version {version} is newer than this hlodiff reads (up to {newest})",
            where=where,
            hint=NEWER,
        )


def _plain(value: Any, in_list: bool = False) -> Any:
    """Convert to YAML types; whole floats become integers, so that 12.0 and 12 print the same bytes."""
    if isinstance(value, Mapping):
        items = {key if isinstance(key, int) else str(key): _plain(item) for key, item in value.items()}
        return _InlineMapping(items) if in_list else items
    if isinstance(value, (list, tuple)):
        return [_plain(item, in_list=True) for item in value]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


def _is_flat(items: list[Any]) -> bool:
    return not any(isinstance(item, (dict, list)) for item in items)


def _place(mark: Any, where: str) -> str:
    return f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
