"""A sheet from JSON that nobody vouches for: what a pull request from a fork has uploaded."""

from __future__ import annotations

import json
import math
import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hlodiff.errors import UsageError
from hlodiff.report.annotations import inside
from hlodiff.report.json_report import FORMAT_VERSION
from hlodiff.report.sheet import Sheet

_MOST_TEXT = 20_000  # characters of one text; reasons and logs are the longest
_MOST_ITEMS = 200_000  # of one list
_DEEPEST = 30
_COMMAND = re.compile(r"hlodiff [\w ./*?@=:,'~^{}-]{1,1000}")


def read_sheet(text: str, where: str = "the result") -> Sheet:
    """Read what `--format json` has written, as if an enemy had.

    Every value must have the type, and every word be one of those, that a report can have; what is not known is left
    out, what is too long is cut. The texts in it are still another's: forms escape them.

    Args:
        text: the whole JSON.
        where: its file, for errors.

    Returns:
        the sheet in it.

    Raises:
        UsageError: it is no such JSON, or another version's.

    Example:
        >>> read_sheet("[]")
        Traceback (most recent call last):
        hlodiff.errors.UsageError: the result: not a result of hlodiff: an object was expected
        hint: write it with `hlodiff check --format json -o FILE`
    """
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _refused(where, f"no JSON: {str(error)[:200]}") from None
    if not isinstance(value, Mapping):
        raise _refused(where, "an object was expected")
    if value.get("format_version") != FORMAT_VERSION:
        found = str(value.get("format_version"))[:20]
        raise _refused(where, f"format_version is {found!r}, this version of hlodiff reads {FORMAT_VERSION!r}")
    if not isinstance(value.get("sheet"), Mapping):
        raise _refused(where, "it has no `sheet`")
    sheet = _read(Sheet, value["sheet"], "sheet", where)
    assert isinstance(sheet, Sheet)
    if sheet.folder and not inside(sheet.folder):
        raise _refused(where, "sheet.folder leads out of the repository")
    # People type what stands there: nothing but a command of ours.
    return sheet if _COMMAND.fullmatch(sheet.next) else replace(sheet, next="")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _refused(where: str, what: str) -> UsageError:
    hint = "write it with `hlodiff check --format json -o FILE`"
    return UsageError(f"not a result of hlodiff: {what}", where=where, hint=hint)


def _read(kind: Any, value: Any, path: str, where: str) -> Any:
    """The value as one of this type; `path` says where it stands."""
    if path.count(".") > _DEEPEST:
        raise _refused(where, f"{path[:200]} is too deep")
    if is_dataclass(kind):
        return _record(kind, value, path, where)
    origin = get_origin(kind)
    if origin is tuple:
        if not isinstance(value, list) or len(value) > _MOST_ITEMS:
            raise _refused(where, f"{path} is no list that a report can have")
        item = get_args(kind)[0]
        return tuple(_read(item, one, f"{path}.{number}", where) for number, one in enumerate(value))
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        return _read(next(one for one in get_args(kind) if one is not types.NoneType), value, path, where)
    if origin is Literal:
        if not isinstance(value, str) or value not in get_args(kind):
            raise _refused(where, f"{path} is {str(value)[:40]!r}, not one of {', '.join(map(str, get_args(kind)))}")
        return value
    return _scalar(kind, value, path, where)


def _record(kind: Any, value: Any, path: str, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise _refused(where, f"{path} is no object")
    hints, found = _hints(kind), {}
    for field in fields(kind):
        if field.name in value:
            found[field.name] = _read(hints[field.name], value[field.name], f"{path}.{field.name}", where)
        elif field.default is MISSING:
            raise _refused(where, f"{path}.{field.name} is missing")
    return kind(**found)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _scalar(kind: Any, value: Any, path: str, where: str) -> Any:
    if kind is str and isinstance(value, str):
        return value[:_MOST_TEXT]
    if kind is bool and isinstance(value, bool):
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int and is_number and isinstance(value, int) and 0 <= value < 2**53:
        return value
    if kind is float and is_number and abs(value) < 1e300 and math.isfinite(value):
        return value
    raise _refused(where, f"{path} is no {kind.__name__} that a report can have")
