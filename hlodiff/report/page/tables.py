"""Numbers before and after: op counts, metrics, memory and cost, as the tables of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hlodiff.diff.compared import Compared
from hlodiff.report.escape import printable
from hlodiff.report.key_numbers import arrow
from hlodiff.report.numbers import change_in_words
from hlodiff.report.sheet import Unit

_KINDS = {
    "entry": "In the entry",
    "fusion": "In fusions",
    "loop": "In loop bodies",
    "branch": "In branches",
    "reduction": "In reductions",
}
_GROUPS = (("memory.", "Memory"), ("cost.", "Cost"), ("collective", "Collectives"), ("custom_calls.", "Custom calls"))

Pairs = Mapping[str, tuple[float, float]]


def tables_of(program: Compared) -> list[dict[str, Any]]:
    """All numbers of a program, those of JSON, in tables.

    Args:
        program: any.

    Returns:
        tables with a title and rows of name, old and new number, the same in words, and the change in words.

    Example:
        >>> tables_of(Compared("f", "cpu", "compiled", "added", op_counts={"add": 2}))[0]["rows"]
        [['add', 0, 2, '0', '2', 'was 0']]
    """
    metrics = program.metrics()
    grouped: dict[str, dict[str, tuple[float, float]]] = {"Counts": {}}
    for name, pair in metrics.items():
        prefix, title = next((group for group in _GROUPS if name.startswith(group[0])), ("", "Counts"))
        short = name.removeprefix(prefix) if prefix.endswith(".") else name
        grouped.setdefault(title, {})[short] = pair
    tables = [_table("Operations", program.op_count_pairs())]
    order = ["Memory", "Cost", "Collectives", "Counts", "Custom calls"]
    tables += [_table(title, grouped.get(title, {}), title == "Memory") for title in order]
    kinds = program.metrics_by_kind()
    tables += [_table(_KINDS.get(kind, kind), pairs) for kind, pairs in kinds.items() if len(kinds) > 1]
    return [table for table in tables if table["rows"]]


def _table(title: str, pairs: Pairs, is_bytes: bool = False) -> dict[str, Any]:
    rows = [_row(name, *pair, "bytes" if is_bytes or "bytes" in name else "count") for name, pair in pairs.items()]
    rows.sort(key=lambda row: (row[1] == row[2], -abs(row[2] - row[1]) if title == "Operations" else 0))
    return {"title": title, "rows": rows}


def _row(name: str, old: float, new: float, unit: Unit) -> list[Any]:
    before, _, after = arrow(old, new, unit).partition(" -> ")
    by = change_in_words(old, new) if old != new else ""
    return [printable(name.replace("_", " ")), old, new, before, after or before, by]
