"""The first view of a page: what a reviewer decides from, as values for its template."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hlodiff.report.escape import printable
from hlodiff.report.key_numbers import by_how_much, number_in_words
from hlodiff.report.record import Report
from hlodiff.report.sheet import Place, Program, Said, Sheet

_STATUS = {"added": {"check": "new", "diff": "added"}, "removed": {"check": "orphaned", "diff": "removed"}}
_STAGES = {"stablehlo": "StableHLO", "compiled": "compiled"}
_MOST_NUMBERS = 4


@dataclass(frozen=True, slots=True)
class Row:
    """One program in the table, in words.

    Args:
        index: its number in the report.
        program: what the sheet says.
        status: in the words of the command.
        by_kind: edits by kind: added, removed, changed, moved.
        findings: severities, worst first.
        numbers: (name, both sides, change) of those that changed.
        where: the line of Python.
        body: number of the body that is shown when it is opened; "" for none.
    """

    index: int
    program: Program
    status: str
    by_kind: dict[str, int]
    findings: tuple[str, ...]
    numbers: tuple[tuple[str, str, str], ...]
    where: str
    body: str

    @property
    def classes(self) -> list[str]:
        """The classes of its change."""
        return self.program.word.split(", ") if self.program.word else []

    @property
    def stage(self) -> str:
        """Its stage in words."""
        return _STAGES[self.program.stage]

    @property
    def text(self) -> str:
        """What the filter for text looks into."""
        program = self.program
        words = (program.name, program.target or "", program.headline, program.reason, self.where, *self.findings)
        return " ".join((*words, self.status, program.word, *(scope.name for scope in program.scopes)))


def rows_of(report: Report, sheet: Sheet, bodies: Sequence[int]) -> list[Row]:
    """All programs of a report.

    Args:
        report: what a command found out.
        sheet: the same in words.
        bodies: for each program the number of its body, -1 for none.
    """
    return [
        _row(number, program, report, sheet, "" if bodies[number] < 0 else str(bodies[number]))
        for number, program in enumerate(sheet.programs)
    ]


def _row(number: int, program: Program, report: Report, sheet: Sheet, body: str) -> Row:
    compared = report.programs[number]
    found = [one.severity for one in sheet.findings if (one.program, one.target) == (program.name, program.target)]
    counts = {kind: n for kind, n in compared.diff.summary.items() if n} if compared.diff else {}
    numbers = tuple((n.name, number_in_words(n), by_how_much(n)) for n in program.numbers[:_MOST_NUMBERS])
    status = "broken" if program.broken else status_in_words(program.status, report.command)
    return Row(number, program, status, counts, tuple(dict.fromkeys(found)), numbers, where_of(program.where), body)


def status_in_words(status: str, command: str) -> str:
    """What became of a program, as the totals call it.

    Example:
        >>> status_in_words("added", "check"), status_in_words("not_checked", "diff")
        ('new', 'not checked')
    """
    plain = {"identical": "unchanged", "not_checked": "not checked"}.get(status, status)
    return _STATUS.get(status, {}).get(command, plain)


def where_of(place: Place | None) -> str:
    """A line of Python in words; "" for none."""
    if place is None:
        return ""
    return f"{place.file}:{place.line}" + (f" ({place.function})" if place.function else "")


def tiles_of(sheet: Sheet, rows: Iterable[Row]) -> list[dict[str, Any]]:
    """How many programs there are of each status, in the order of severity, those of none left out."""
    counts: dict[str, dict[str, Any]] = {}
    order = ("broken", "changed", "removed", "added", "not_checked", "identical")
    for row in rows:
        kind = "broken" if row.program.broken else row.program.status
        tile = counts.setdefault(kind, {"kind": kind, "word": row.status, "count": 0})
        tile["count"] += 1
    return [counts[kind] for kind in order if kind in counts]


def options_of(rows: Sequence[Row]) -> dict[str, list[str]]:
    """What the filters of the table offer, each in the order of the table."""
    return {
        "status": list(dict.fromkeys(row.status for row in rows)),
        "class": list(dict.fromkeys(word for row in rows for word in row.classes)),
        "target": list(dict.fromkeys(row.program.target for row in rows if row.program.target)),
        "stage": list(dict.fromkeys(row.stage for row in rows)),
        "finding": list(dict.fromkeys(word for row in rows for word in row.findings)),
    }


def finding_of(finding: Said, rows: Sequence[Row]) -> dict[str, Any]:
    """A finding with the program to look at: the compiled one where both stages changed."""
    own = [row for row in rows if (row.program.name, row.program.target) == (finding.program, finding.target)]
    own = [row for row in own if row.body] or own
    changed = [row for row in own if row.program.status == "changed"] or own
    return {"said": finding, "where": where_of(finding.where), "row": changed[-1] if changed else None}


def scenarios_of(report: Report) -> list[tuple[str, str]]:
    """Each scenario and what became of it."""
    states = zip(report.scenarios, report.scenario_states(), strict=True)
    return [(one.name, status_in_words(state, report.command).replace("_", " ")) for one, state in states]


def plain(value: object) -> str:
    """Words that others wrote, as one line without control or direction characters."""
    return printable(str(value))
