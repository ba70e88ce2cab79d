"""What makes `check` fail: a changed program, one without a snapshot, a snapshot without a function."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hlodiff.diff.compared import Compared
from hlodiff.ir.model import Frame

# "broken": no verdict was possible. It outranks every error, since nobody knows what else is wrong.
Severity = Literal["broken", "error", "warning", "warn", "info"]
CLEAN, FAILED, UNJUDGED = 0, 1, 2
# What the comparison of a program with its snapshot leads to, and the report of that program tells.
PROGRAM_RULES = ("changed", "new", "orphaned", "not-checked", "broken")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a policy has to say.

    Args:
        severity: "error" fails, "broken" and a "warning" that a recorded program was not checked leave no verdict;
            "warn" and "info" are told and decide nothing.
        rule: a short fixed name: one of PROGRAM_RULES, or what else was looked at, such as "growth".
        program: function and case.
        target: what it is compiled for; None where that is not known.
        what: one sentence.
        advice: what to type next; "" when there is nothing.
        details: lines that explain it.
        source: Python frames of what caused it, innermost first, as the program has them; () where it has no line.
        subject: what of the program it is about, in words that stay the same while lines move: a metric, or an
            instruction's opcode, type and scope.
    """

    severity: Severity
    rule: str
    program: str
    target: str | None
    what: str
    advice: str = ""
    details: tuple[str, ...] = ()
    source: tuple[Frame, ...] = ()
    subject: str = ""

    @property
    def fingerprint(self) -> str:
        """Tells a finding from others and stays the same from run to run, also where lines of Python moved.

        Example:
            >>> Finding("error", "budget", "f", "cpu", "temp_bytes is 2 KiB", subject="temp_bytes").fingerprint
            'fb35bd6e39375b5a'
        """
        parts = (self.rule, self.program, self.target or "", self.subject)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def judge(programs: Iterable[Compared]) -> tuple[Finding, ...]:
    """Judge compared programs.

    Args:
        programs: both stages of each.

    Returns:
        at most one finding of a rule for each function, case and target, in the order of the programs.

    Example:
        >>> judge([Compared("f", "cpu", "compiled", "added")])[0].what
        'has no snapshot'
    """
    findings: dict[tuple[str, str, str | None], Finding] = {}
    for program in programs:
        found = _finding(program)
        if found:
            findings.setdefault((found.rule, found.program, found.target), found)
    return tuple(findings.values())


def exit_code(findings: Iterable[Finding]) -> int:
    """0 clean, 1 a finding fails, 2 no verdict was possible.

    Example:
        >>> exit_code([Finding("info", "not-checked", "f", "cpu", "libtpu is not installed")])
        0
    """
    severities = {finding.severity for finding in findings}
    if "broken" in severities:
        return UNJUDGED
    if "error" in severities:
        return FAILED
    return UNJUDGED if "warning" in severities else CLEAN


def _finding(program: Compared) -> Finding | None:
    name, target = program.name, program.target
    if program.status == "identical":
        return None
    if program.status == "changed":
        return Finding("error", "changed", name, target, "compiles to another program than the snapshot")
    if program.status == "added":
        return Finding("error", "new", name, target, "has no snapshot", f"hlodiff update {name}")
    if program.status == "removed":
        what = "has a snapshot, but nothing of this name is registered for this target any more"
        return Finding("error", "orphaned", name, target, what, "hlodiff update --prune")
    if program.broken:
        return Finding("broken", "broken", name, target, program.reason, program.advice)
    # What has a snapshot and was not looked at is no pass; what never had one is only told.
    severity: Severity = "warning" if program.recorded else "info"
    return Finding(severity, "not-checked", name, target, program.reason, program.advice)
