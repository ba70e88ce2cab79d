"""Reads a report view from untrusted JSON, such as an upload of a fork's pull request."""

from __future__ import annotations

import json
import math
import re
import stat
import types
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hlodiff.errors import UsageError
from hlodiff.registry import folder_name_problem
from hlodiff.report.json_form import FORMAT_VERSION
from hlodiff.report.known_text import WITHHELD, known_text
from hlodiff.report.lines import NEXT
from hlodiff.report.view import ReportView
from hlodiff.report.wording import inside

# Allowed next commands of a check: alone, or followed by names.
_ALONE = (
    "hlodiff accept --class toolchain",
    "hlodiff check",
    "hlodiff review",
    "hlodiff update",
    "hlodiff update --prune",
)
_WITH_NAMES = ("accept", "check", "update")
_MOST_NAMES = 3
# Later minor versions only add fields, which have defaults.
_READ_VERSIONS = ("1.0", "1.1", FORMAT_VERSION)
_ENDINGS = ("", "once it is repaired", "once it can be judged", "once within limits")


def known_command(text: str, names: Collection[str]) -> str:
    """The next command, rebuilt from known words.

    Args:
        text: the next command in a result.
        names: functions and cases of the result.

    Returns:
        the command; "" if any word is neither one of ours nor a name that can be registered.

    Example:
        >>> known_command("hlodiff update f", {"f"}), known_command("hlodiff upgrade 'x @ https://evil'", {"f"})
        ('hlodiff update f', '')
    """
    if _DIFF.fullmatch(text):
        return text
    command, _, ending = text.partition(", ")
    if ending not in _ENDINGS:
        return ""
    end = f", {ending}" if ending else ""
    if command in _ALONE:
        return f"{command}{end}"
    program, verb, *chosen = [*command.split(" "), ""]
    chosen = chosen[:-1]
    if program != "hlodiff" or verb not in _WITH_NAMES or not 0 < len(chosen) <= _MOST_NAMES:
        return ""
    known = all(name in names and not any(map(folder_name_problem, name.split("/"))) for name in chosen)
    return f"hlodiff {verb} {' '.join(chosen)}{end}" if known else ""


_MOST_TEXT = 20_000  # characters of one text; reasons and logs are the longest
_MOST_ITEMS = 200_000  # of one list
_DEEPEST = 30
_LONGEST_NAME = 400
_NAMES = ("function", "name", "of", "program")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{0,99}")
_SIDES = ("old", "new")  # files, folders and revisions; in toolchains, versions
_PLAIN = r"(?!-)[\w./+@~^:-]{1,400}"
_PATH = re.compile(rf"{_PLAIN}(?: \([\w.]{{1,100}}\))?", re.ASCII)
# The page command after a diff of one or two files, folders or revisions, without shell syntax.
_DIFF = re.compile(rf"hlodiff diff(?: {_PLAIN}){{1,2}} --format html -o diff\.html", re.ASCII)
_VERBATIM = ("old_source", "new_source", "deleted")  # Python lines: kept whole or dropped
_ADVICE = "advice"  # a field of programs and findings: a command to type


_LARGEST_FILE = 64 * 1024**2  # bytes; 500 changed programs need a tenth of it


def read_result(path: Path) -> str:
    """The text of a regular file within the size limit; a device or pipe might never end."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UsageError("is not a plain file", where=str(path), hint="give the JSON file itself")
        if status.st_size > _LARGEST_FILE:
            hint = "show fewer programs: `hlodiff check NAME --format json -o FILE`"
            raise UsageError(f"is larger than {_LARGEST_FILE // 1024**2} MiB", where=str(path), hint=hint)
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError("is not UTF-8 text", where=str(path), hint="give the JSON file itself") from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror or error}", where=str(path)) from None


def read_untrusted_view(text: str, where: str = "the result") -> ReportView:
    """Read untrusted output of `--format json`.

    Every value must have the type, and every word be one, that a report can have; unknown values are dropped, long ones
    truncated. People type what a report suggests, so no command is taken from it: advice is dropped, the next command
    is rebuilt from known words, and other texts keep only known words (`known_text`). The texts are still untrusted:
    forms escape them.

    Args:
        text: the whole JSON.
        where: its file, for errors.

    Returns:
        the view.

    Raises:
        UsageError: it is not such JSON, or from an unsupported version.

    Example:
        >>> read_untrusted_view("[]")
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
    if value.get("format_version") not in _READ_VERSIONS:
        found = str(value.get("format_version"))[:20]
        raise _refused(where, f"format_version is {found!r}, this version of hlodiff reads {FORMAT_VERSION!r}")
    if not isinstance(value.get("sheet"), Mapping):
        raise _refused(where, "it has no `sheet`")
    of = _ResultFile(where, _names_of(value["sheet"]))
    view = _read(ReportView, value["sheet"], "sheet", of)
    assert isinstance(view, ReportView)
    if view.folder and not inside(view.folder):
        raise _refused(where, "sheet.folder leads out of the repository")
    names = {one.name for one in view.programs} | {one.program for one in view.findings}
    lines = tuple(line for line in view.text if not line.text.lstrip().startswith(WITHHELD))
    following = str(value["sheet"].get("next", ""))  # before `_scalar` removes words from texts
    return replace(view, next=known_command(following, names), text=lines)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _refused(where: str, what: str) -> UsageError:
    hint = "write it with `hlodiff check --format json -o FILE`"
    return UsageError(f"not a result of hlodiff: {what}", where=where, hint=hint)


@dataclass(frozen=True, slots=True)
class _ResultFile:
    """Context of reading: the file, for errors, and the names of functions and cases in it."""

    where: str
    names: frozenset[str]


def _names_of(view: Mapping[str, Any]) -> frozenset[str]:
    """The valid names of programs and findings, and their parts."""
    found: set[str] = set()
    for key, field in (("programs", "name"), ("findings", "program")):
        rows = view.get(key)
        for row in rows[:_MOST_ITEMS] if isinstance(rows, list) else ():
            name = row.get(field) if isinstance(row, Mapping) else None
            if isinstance(name, str) and len(name) < _LONGEST_NAME:
                found.update(name.split("/") if not any(map(folder_name_problem, name.split("/"))) else ())
                found.add(name)
    return frozenset(name for name in found if not any(map(folder_name_problem, name.split("/"))))


def _read(kind: Any, value: Any, path: str, of: _ResultFile) -> Any:
    """The value checked and converted to a type; `path` is its location in the JSON."""
    if path.count(".") > _DEEPEST:
        raise _refused(of.where, f"{path[:200]} is too deep")
    if is_dataclass(kind):
        return _record(kind, value, path, of)
    origin = get_origin(kind)
    if origin is tuple:
        if not isinstance(value, list) or len(value) > _MOST_ITEMS:
            raise _refused(of.where, f"{path} is not a list that a report can have")
        item = get_args(kind)[0]
        return tuple(_read(item, one, f"{path}.{number}", of) for number, one in enumerate(value))
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        return _read(next(one for one in get_args(kind) if one is not types.NoneType), value, path, of)
    if origin is Literal:
        if not isinstance(value, str) or value not in get_args(kind):
            raise _refused(of.where, f"{path} is {str(value)[:40]!r}, not one of {', '.join(map(str, get_args(kind)))}")
        return value
    return _scalar(kind, value, path, of)


def _record(kind: Any, value: Any, path: str, of: _ResultFile) -> Any:
    if not isinstance(value, Mapping):
        raise _refused(of.where, f"{path} is not an object")
    hints, found = _hints(kind), {}
    for field in fields(kind):
        if field.name in value and field.name != _ADVICE:
            found[field.name] = _read(hints[field.name], value[field.name], f"{path}.{field.name}", of)
        elif field.default is MISSING:
            raise _refused(of.where, f"{path}.{field.name} is missing")
    found |= {name: value[name] for name in _NAMES if name in found and _IDENTIFIER.fullmatch(str(value[name]))}
    found |= {name: value[name] for name in _SIDES if name in found and _PATH.fullmatch(str(value[name]))}
    found |= {"style": NEXT} if value.get("style") == NEXT and "style" in found else {}
    found |= {name: type(found[name])() for name in _VERBATIM if WITHHELD in str(found.get(name, ""))}
    return kind(**found)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _scalar(kind: Any, value: Any, path: str, of: _ResultFile) -> Any:
    if kind is str and isinstance(value, str):
        return known_text(value[:_MOST_TEXT], of.names)
    if kind is bool and isinstance(value, bool):
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int and is_number and isinstance(value, int) and 0 <= value < 2**53:
        return value
    if kind is float and is_number and abs(value) < 1e300 and math.isfinite(value):
        return value
    what = {str: "a string", bool: "a boolean", int: "a whole number", float: "a number"}[kind]
    raise _refused(of.where, f"{path} is not {what} that a report can have")
