"""The JSON Schemas in hlodiff/report/schemas; `python -m tests.json_schemas` writes docs/json.md from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "hlodiff/report/schemas"
PAGE = ROOT / "docs/json.md"

_HEAD = """# JSON for machines

Every command with `--format json` prints one JSON object. Its format has a JSON Schema, installed with the package in
`hlodiff/report/schemas/` and explained below; this page is made from them.

**What is promised.** `format_version` is `MAJOR.MINOR`. While the major version stays, a field keeps its name, type and
meaning; a minor version adds fields, so ignore those that you do not know. Where a table says *optional*, the field may
be missing. The content of `sheet` may change at any time; only hlodiff reads it. Text in a result may come
from the code that was compiled: escape it before you show it.

    import json, jsonschema
    from importlib.resources import files

    schema = json.loads(files("hlodiff").joinpath("report/schemas/report.json").read_text())
    jsonschema.validate(json.load(open("result.json")), schema)
"""


@cache
def schema(name: str) -> dict[str, Any]:
    """One of the schemas."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def names() -> list[str]:
    """Of all schemas; the report first."""
    return sorted((path.stem for path in FOLDER.glob("*.json")), key=lambda name: (name != "report", name))


def validated(name: str, text: str) -> Any:
    """The value of a JSON text that fits a schema and has no field that the schema does not explain.

    Args:
        name: of the schema.
        text: what a command printed.

    Raises:
        AssertionError: with the first places that do not fit.
    """
    value = json.loads(text)
    errors = list(Draft202012Validator(_closed(schema(name))).iter_errors(value))
    assert not errors, "\n".join(f"{list(one.absolute_path)}: {one.message[:300]}" for one in errors[:5])
    return value


def _closed(part: Any) -> Any:
    """The schema without room for further fields."""
    if isinstance(part, list):
        return [_closed(each) for each in part]
    if not isinstance(part, dict):
        return part
    found = {key: _closed(value) for key, value in part.items()}
    return found | ({"additionalProperties": False} if isinstance(part.get("required"), list) else {})


def page() -> str:
    """docs/json.md as it should be."""
    parts = [_HEAD]
    shared: dict[str, Any] = {}
    for name in names():
        found = schema(name)
        shared |= found.get("$defs", {})
        parts.append(f"\n## {name}\n\n{found['title']}. {found['description']}\n\n{_table(found)}")
    parts.append("\n## Shared\n")
    parts += [f"\n### {name}\n\n{found['description']}\n\n{_table(found)}" for name, found in sorted(shared.items())]
    return "".join(parts)


def _table(part: dict[str, Any]) -> str:
    rows = list(_rows(part, ""))
    return "".join(["| field | type | meaning |\n| --- | --- | --- |\n", *rows]) if rows else ""


def _rows(part: dict[str, Any], path: str) -> Iterator[str]:
    required = part.get("required", [])
    for name, field in part.get("properties", {}).items():
        optional = "" if name in required else "*optional*; "
        meaning = field.get("description", "").replace("|", "\\|")
        yield f"| `{path}{name}` | {_type(field)} | {optional}{meaning} |\n"
        inner, step = field, "."
        while "items" in inner or isinstance(inner.get("additionalProperties"), dict):
            step = f"[]{step}" if "items" in inner else f".*{step}"
            inner = inner["items"] if "items" in inner else inner["additionalProperties"]
        yield from _rows(inner, f"{path}{name}{step}")


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(map(_type, field["anyOf"])))
    if "type" not in field:
        return "any"
    given = field["type"] if isinstance(field["type"], list) else [field["type"]]
    return " or ".join(_named(kind, field) for kind in given)


def _named(kind: str, field: dict[str, Any]) -> str:
    if kind == "array":
        return f"list of {_type(field['items'])}"
    if kind == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"table of {_type(field['additionalProperties'])}"
    return kind


if __name__ == "__main__":
    PAGE.write_text(page())
