"""The history of recorded programs for machines: JSON with everything, CSV with a line for each commit."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from hlodiff.integrations.history import HistoryRow
from hlodiff.integrations.history.text import ShownHistory, notes_of
from hlodiff.report.lines import json_text, printable

FORMAT_VERSION = "1.0"
_FIXED = ("function", "case", "target", "stage", "commit", "date", "author", "subject", "status", "notes")
# Spreadsheets take a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def history_json(shown: Sequence[ShownHistory], revision: str) -> str:
    """The report as JSON.

    Args:
        shown: histories.
        revision: what was asked for, as in `git log`.

    Returns:
        one JSON object, ending in a newline; rows are newest first.
    """
    value = {"format_version": FORMAT_VERSION, "revision": revision, "histories": [_history(one) for one in shown]}
    return json_text(value)


def _history(one: ShownHistory) -> dict[str, Any]:
    history = one.history
    return {
        "name": history.name,
        "target": history.key.target or None,
        "kind": history.kind,
        "stage": one.stage if history.kind == "program" else None,
        "metrics": list(one.metrics),
        "ends": next((row.ends for row in reversed(history.rows) if row.ends), "range"),
        "renamed_to": history.successor or None,
        "untold": one.untold,
        "commits": [row_json(row, one) for row in one.rows],
    }


def row_json(row: HistoryRow, one: ShownHistory) -> dict[str, Any]:
    """One commit: who and when, what became of the file, values before and after it, and toolchain."""
    readable = row.now if row.now is not None and not row.now.problem else None
    return {
        "commit": row.commit.id,
        "date": row.commit.date,
        "author": row.commit.author,
        "subject": row.commit.subject,
        "merge": row.merge,
        "status": row.status,
        "aside": row.step.aside,
        "folder": row.step.folder,
        "renamed_from": row.step.was or None,
        "counted_differently": row.recounted,
        "old": {metric: row.old_value(metric) for metric in one.metrics},
        "new": {metric: row.value(metric) for metric in one.metrics},
        "jax": str(readable.toolchain.get("jax") or "") or None if readable else None,
        "toolchain_changes": [
            {"what": change.what, "old": change.old, "new": change.new} for change in row.toolchain()
        ],
        "changed_programs": list(row.other_programs()),
        "notes": list(notes_of(row, one.history, one.metrics)),
    }


def history_csv(shown: Sequence[ShownHistory]) -> str:
    """The report as CSV, for spreadsheets and plots: oldest first, one column for each metric.

    Args:
        shown: histories.

    Returns:
        lines with a head; text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    metrics = list(dict.fromkeys(metric for one in shown for metric in one.metrics))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_FIXED, *metrics])
    for one in shown:
        for row in reversed(one.rows):
            writer.writerow([*map(_plain, _fixed(row, one)), *(_number(row, metric) for metric in metrics)])
    return out.getvalue()


def _fixed(row: HistoryRow, one: ShownHistory) -> tuple[str, ...]:
    key, commit = row.step.key, row.commit
    stage = one.stage if one.history.kind == "program" else ""
    notes = "; ".join(notes_of(row, one.history, one.metrics))
    return (
        key.function, key.case, key.target, stage, commit.id, commit.date, commit.author, commit.subject, row.status,
        notes,
    )  # fmt: skip


def _plain(text: str) -> str:
    text = printable(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _number(row: HistoryRow, metric: str) -> str:
    value = row.value(metric)
    return "" if value is None else f"{value:.17g}"
