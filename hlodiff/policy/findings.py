"""Findings of a policy, and the exit code they give."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hlodiff.hlo.model import Frame

if TYPE_CHECKING:
    from hlodiff.config import Severity as Configured

# "broken" means that no verdict was possible. It outranks errors, because other problems may be hidden.
Severity = Literal["broken", "error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("broken", "error", "warning", "info")
CLEAN, FAILED, UNJUDGED = 0, 1, 2
# Rules from comparing a program with its snapshot; reports show these findings with the program.
PROGRAM_RULES = ("changed", "new", "orphaned", "not-checked", "broken")
_LINES_OF_LOG = 12


@dataclass(frozen=True, slots=True)
class Judgement:
    """The fields that a policy's finding and a report's view of it share.

    Args:
        severity: "error" fails; "broken", and a "warning" that something recorded was not checked, mean no verdict. A
            "warning" of a budget or rule (`warn` in the configuration) and an "info" are only reported.
        rule: a short fixed name: one of PROGRAM_RULES, a graph rule, or another check such as "growth".
        program: function and case.
        target: target it is compiled for; None if unknown.
        what: one sentence.
        advice: the next command; "" for none.
        details: lines that explain it.
    """

    severity: Severity
    rule: str
    program: str
    target: str | None
    what: str
    advice: str = ""
    details: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What it is about: `train_step on cpu`."""
        return f"{self.program} on {self.target}" if self.target else self.program


@dataclass(frozen=True, slots=True)
class Finding(Judgement):
    """One finding of a policy.

    Args:
        source: Python frames of the cause, innermost first, as in the program; () if it has no line.
        subject: what it is about, stable while lines move: a metric, or an instruction's opcode, type and scope.
        id: id for `hlodiff accept` of the pending traces or growth; "" if none is pending.
    """

    source: tuple[Frame, ...] = ()
    subject: str = ""
    id: str = ""

    @property
    def fingerprint(self) -> str:
        """Identifies a finding across runs, also if Python lines moved.

        Example:
            >>> Finding("error", "budget", "f", "cpu", "temp_bytes is 2 KiB", subject="temp_bytes").fingerprint
            'fb35bd6e39375b5a'
        """
        parts = (self.rule, self.program, self.target or "", self.subject)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def rule_label(severity: Configured) -> Severity:
    """The severity for a word of the configuration, where a warning is `warn`."""
    return "warning" if severity == "warn" else severity


def of_policy(finding: Judgement) -> bool:
    """Whether a finding comes from a budget or a graph rule of the project.

    Example:
        >>> of_policy(Finding("warning", "no-f64", "f", "cpu", "tanh %t f64[8] is of double precision"))
        True
    """
    return finding.rule == "budget" or is_rule(finding.rule)


def is_rule(name: str) -> bool:
    """Whether a graph rule has this name."""
    from hlodiff.policy.rules import RULES_BY_NAME  # imports most of the differ

    return name in RULES_BY_NAME


def exit_code(findings: Iterable[Finding]) -> int:
    """0 if clean, 1 if a finding fails, 2 if no verdict was possible.

    Example:
        >>> exit_code([Finding("info", "not-checked", "f", "cpu", "libtpu is not installed")])
        0
    """
    severities = {finding.severity for finding in findings if finding.severity != "warning" or not of_policy(finding)}
    if "broken" in severities:
        return UNJUDGED
    if "error" in severities:
        return FAILED
    return UNJUDGED if "warning" in severities else CLEAN


def over_programs(findings: Iterable[Judgement]) -> frozenset[tuple[str, str | None]]:
    """Programs that fail a budget or a rule, by function and case, and target.

    Example:
        >>> over_programs([Finding("error", "budget", "f", "cpu", "temp_bytes is 2 KiB; at most 1 KiB")])
        frozenset({('f', 'cpu')})
    """
    return frozenset((f.program, f.target) for f in findings if f.severity == "error" and of_policy(f))


SCENARIO_RULES = ("traces", "traces-new", "traces-orphaned", "traces-broken", "traces-budget")


def end_of_log(log: str) -> tuple[str, ...]:
    """The last lines of a worker's log, which say why it failed; () for no log.

    Example:
        >>> end_of_log("".join(f"line {number}\\n" for number in range(20)))[0]
        'line 8'
    """
    return tuple(log.rstrip().split("\n")[-_LINES_OF_LOG:]) if log else ()
