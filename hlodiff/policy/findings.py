"""What a policy has to say, and which exit code that gives."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hlodiff.hlo.model import Frame

if TYPE_CHECKING:
    from hlodiff.config import Severity as Configured

# "broken": no verdict was possible. It outranks every error, since nobody knows what else is wrong.
Severity = Literal["broken", "error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("broken", "error", "warning", "info")
CLEAN, FAILED, UNJUDGED = 0, 1, 2
# What the comparison of a program with its snapshot leads to, and the report of that program tells.
PROGRAM_RULES = ("changed", "new", "orphaned", "not-checked", "broken")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a finding says, wherever it is shown: the part that the policy's record and a report's view share.

    Args:
        severity: "error" fails, "broken" and a "warning" that something recorded was not checked leave no verdict; a
            "warning" of a budget or rule (`warn` in the configuration) and an "info" are reported and decide nothing.
        rule: a short fixed name: one of PROGRAM_RULES, or what else was looked at, such as "growth".
        program: function and case.
        target: what it is compiled for; None where that is not known.
        what: one sentence.
        advice: what to type next; "" when there is nothing.
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
    """One thing a policy has to say.

    Args:
        source: Python frames of what caused it, innermost first, as the program has them; () where it has no line.
        subject: what of the program it is about, in words that stay the same while lines move: a metric, or an
            instruction's opcode, type and scope.
        id: what `hlodiff accept` calls the record of traces or growth that it is about; "" where none waits.
    """

    source: tuple[Frame, ...] = ()
    subject: str = ""
    id: str = ""

    @property
    def fingerprint(self) -> str:
        """Tells a finding from others and stays the same from run to run, also where lines of Python moved.

        Example:
            >>> Finding("error", "budget", "f", "cpu", "temp_bytes is 2 KiB", subject="temp_bytes").fingerprint
            'fb35bd6e39375b5a'
        """
        parts = (self.rule, self.program, self.target or "", self.subject)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def rule_label(severity: Configured) -> Severity:
    """The severity of a finding for the word in the configuration, where a warning is called `warn`."""
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
    from hlodiff.policy.rules import RULES_BY_NAME  # which need most of the differ

    return name in RULES_BY_NAME


def exit_code(findings: Iterable[Finding]) -> int:
    """0 clean, 1 a finding fails, 2 no verdict was possible.

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
    """Which programs are over a budget or break a rule, so that it fails: by function and case, and target.

    Example:
        >>> over_programs([Finding("error", "budget", "f", "cpu", "temp_bytes is 2 KiB; at most 1 KiB")])
        frozenset({('f', 'cpu')})
    """
    return frozenset((f.program, f.target) for f in findings if f.severity == "error" and of_policy(f))


SCENARIO_RULES = ("traces", "traces-new", "traces-orphaned", "traces-broken", "traces-budget")
