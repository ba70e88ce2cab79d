"""The first view of a page: what a reviewer decides from, as values for its template."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hlodiff.policy import PROGRAM_RULES, over_programs
from hlodiff.report.alike import SEVERITIES
from hlodiff.report.counts import outcomes
from hlodiff.report.escape import printable
from hlodiff.report.key_numbers import by_how_much, number_in_words
from hlodiff.report.record import Report
from hlodiff.report.sheet import Place, Program, Said, Sheet

_WORDS = {"identical": "unchanged", "not_checked": "not checked", "over_budget": "over budget"}
_OF_COMMAND = {"added": {"check": "new"}, "removed": {"check": "orphaned"}}
_STAGES = {"stablehlo": "StableHLO", "compiled": "compiled"}
# The order of the table and of the totals' colours: what a reviewer has to look at first.
_WORST = ("broken", "over_budget", "changed", "removed", "added", "not_checked", "identical")
_MOST_NUMBERS = 4
_MOST_FINDINGS = 12


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a program in the table.

    Args:
        index: its number in the report.
        program: what the sheet says.
        status: in the words of the command.
        by_kind: edits by kind: added, removed, changed, moved.
        body: number of what is shown when it is opened; "" for nothing.
    """

    index: int
    program: Program
    status: str
    by_kind: dict[str, int]
    body: str

    @property
    def kind(self) -> str:
        """What became of it, for its colour."""
        return "broken" if self.program.broken else self.program.status

    @property
    def word(self) -> str:
        """Which stage."""
        return _STAGES[self.program.stage]


@dataclass(frozen=True, slots=True)
class Row:
    """One program in the table: a function and case on a target, with both stages.

    Args:
        stages: StableHLO first.
        kind: what became of it: the worse of its stages, or "over_budget".
        status: the same in the words of the command.
        findings: severities, worst first.
    """

    stages: tuple[Stage, ...]
    kind: str
    status: str
    findings: tuple[str, ...]

    @property
    def main(self) -> Stage:
        """The stage to look at: what differs before what does not, compiled before StableHLO."""
        return min(
            self.stages, key=lambda one: (not one.body, one.kind == "identical", one.program.stage != "compiled")
        )

    @property
    def classes(self) -> list[str]:
        """The classes of its change."""
        words = [word for stage in reversed(self.stages) for word in stage.program.word.split(", ") if word]
        return list(dict.fromkeys(words))

    @property
    def differs(self) -> list[str]:
        """The stages in which it differs."""
        return [stage.word for stage in self.stages if stage.kind != "identical"]

    @property
    def numbers(self) -> list[tuple[str, str, str]]:
        """Name, both sides and change of the numbers that changed, those of the compiled program where it has any."""
        found = next((stage.program.numbers for stage in reversed(self.stages) if stage.program.numbers), ())
        return [(one.name, number_in_words(one), by_how_much(one)) for one in found[:_MOST_NUMBERS]]

    @property
    def where(self) -> str:
        """The line of Python: that of StableHLO is what was written."""
        return next((where_of(stage.program.where) for stage in self.stages if stage.program.where), "")

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """Why it was not checked, and what to do about that, each once."""
        return list(dict.fromkeys((s.program.reason, s.program.advice) for s in self.stages if s.program.reason))

    @property
    def text(self) -> str:
        """What the filter for text looks into."""
        words = [self.main.program.name, self.main.program.target or "", self.status, self.where, *self.findings]
        for stage in self.stages:
            program = stage.program
            words += [stage.word, program.word, program.headline, program.reason, program.id]
            words += [scope.name for scope in program.scopes]
        return " ".join(dict.fromkeys(words))


def rows_of(report: Report, sheet: Sheet, bodies: Sequence[int]) -> list[Row]:
    """All programs of a report, those to look at first in front.

    Args:
        report: what a command found out.
        sheet: the same in words.
        bodies: for each stage the number of its body, -1 for none.
    """
    found: dict[tuple[str, str | None], list[Stage]] = {}
    for number, program in enumerate(sheet.programs):
        diff = report.programs[number].diff
        counts = {kind: n for kind, n in diff.summary.items() if n} if diff else {}
        body = "" if bodies[number] < 0 else str(bodies[number])
        stage = Stage(number, program, status_in_words(program.status, report.command), counts, body)
        found.setdefault((program.name, program.target), []).append(stage)
    over, states = over_programs(sheet.findings), outcomes(sheet.programs)
    rows = []
    for label, stages in found.items():
        stages.sort(key=lambda stage: stage.program.stage != "stablehlo")
        severities = {one.severity for one in sheet.findings if (one.program, one.target) == label}
        kind: str = "over_budget" if label in over and states[label] != "not_checked" else states[label]
        kind = "broken" if any(stage.kind == "broken" for stage in stages) else kind
        status = "could not be judged" if kind == "broken" else status_in_words(kind, report.command)
        rows.append(Row(tuple(stages), kind, status, tuple(word for word in SEVERITIES if word in severities)))
    return sorted(rows, key=lambda row: _WORST.index(row.kind))


def status_in_words(status: str, command: str) -> str:
    """What became of a program, as the totals call it.

    Example:
        >>> status_in_words("added", "check"), status_in_words("not_checked", "diff")
        ('new', 'not checked')
    """
    return _OF_COMMAND.get(status, {}).get(command) or _WORDS.get(status, status)


def where_of(place: Place | None) -> str:
    """A line of Python in words; "" for none."""
    if place is None:
        return ""
    return f"{place.file}:{place.line}" + (f" ({place.function})" if place.function else "")


def tiles_of(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """How many programs came to what, those to look at first in front."""
    tiles: dict[str, dict[str, Any]] = {}
    for row in rows:
        tile = tiles.setdefault(row.kind, {"kind": row.kind, "word": row.status, "count": 0})
        tile["count"] += 1
    return list(tiles.values())


def options_of(rows: Sequence[Row]) -> dict[str, list[str]]:
    """What the filters of the table offer, each in the order of the table."""
    return {
        "status": list(dict.fromkeys(row.status for row in rows)),
        "class": list(dict.fromkeys(word for row in rows for word in row.classes)),
        "target": list(dict.fromkeys(row.main.program.target for row in rows if row.main.program.target)),
        "stage": list(dict.fromkeys(word for row in rows for word in row.differs)),
        "finding": [word for word in SEVERITIES if any(word in row.findings for row in rows)],
    }


def columns_of(rows: Sequence[Row]) -> dict[str, bool]:
    """Which columns of the table have anything in them."""
    stages = {stage.word for row in rows for stage in row.stages}
    return {
        "target": any(row.main.program.target for row in rows),
        "StableHLO": "StableHLO" in stages,
        "compiled": "compiled" in stages,
        "numbers": any(row.numbers or row.reasons for row in rows),
        "where": any(row.where for row in rows),
    }


def told_findings(sheet: Sheet) -> list[Said]:
    """The findings that stand apart, worst first: what the table does not say by the status of a program."""
    own = [one for one in sheet.findings if one.severity == "broken" or one.rule not in PROGRAM_RULES]
    return own[:_MOST_FINDINGS]


def finding_of(finding: Said, rows: Sequence[Row]) -> dict[str, Any]:
    """A finding with the program to look at."""
    label = finding.program, finding.target
    own = [row.main for row in rows if (row.main.program.name, row.main.program.target) == label]
    return {"said": finding, "where": where_of(finding.where), "stage": own[0] if own and own[0].body else None}


def scenarios_of(report: Report) -> list[tuple[str, str]]:
    """Each scenario and what became of it."""
    states = zip(report.scenarios, report.scenario_states(), strict=True)
    return [(one.name, status_in_words(state, report.command)) for one, state in states]


def plain(value: object) -> str:
    """Words that others wrote, as one line without control or direction characters."""
    return printable(str(value))
