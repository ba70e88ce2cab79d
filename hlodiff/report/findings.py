"""Groups equal findings and equal reasons of several programs: one wrong line can appear in fifty functions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.policy.findings import SEVERITIES, Judgement, is_rule
from hlodiff.report.function_view import ProgramView
from hlodiff.report.wording import format_names, many

F = TypeVar("F", bound=Judgement)
P = TypeVar("P", ProgramComparison, ProgramView)


@dataclass(frozen=True, slots=True)
class FindingGroup(Generic[F]):
    """Findings with the same text.

    Args:
        findings: at least one.
        label: a name for all their programs.
        of: list of their programs if there are several; "" for one.
        more: number of further findings of the same rule and programs that are not listed.
    """

    findings: Sequence[F]
    label: str
    of: str
    more: int = 0


def group_findings(findings: Iterable[F]) -> list[FindingGroup[F]]:
    """Group equal findings, worst first, then in order of appearance.

    Args:
        findings: findings of one report.

    Example:
        >>> from hlodiff.policy import Finding
        >>> found = [Finding("error", "budget", name, "cpu", "copies is 1; at most 0") for name in "fg"]
        >>> [(group.label, group.of) for group in group_findings(found)]
        [('2 programs', 'f on cpu, g on cpu')]
    """
    same: dict[Hashable, list[F]] = {}
    for one in sorted(findings, key=lambda one: SEVERITIES.index(one.severity)):
        same.setdefault((one.severity, one.rule, one.what, one.advice, one.details), []).append(one)
    groups = []
    for found in same.values():
        labels = list(dict.fromkeys(one.label for one in found))
        is_one = len(labels) == 1
        label, of = (labels[0], "") if is_one else (many(len(labels), "program"), format_names(labels))
        groups.append(FindingGroup(found, label, of))
    return groups


def first_of_rules(groups: Iterable[FindingGroup[F]]) -> list[FindingGroup[F]]:
    """The first group of each graph rule and set of programs: a function in f64 violates `no-f64` at every line.

    Args:
        groups: result of `group_findings`.

    Example:
        >>> from hlodiff.policy import Finding
        >>> found = [Finding("error", "no-f64", "f", "cpu", f"{name} is f64") for name in ("tanh", "dot")]
        >>> [(group.findings[0].what, group.more) for group in first_of_rules(group_findings(found))]
        [('tanh is f64', 1)]
    """
    same: dict[Hashable, list[FindingGroup[F]]] = {}
    for number, group in enumerate(groups):
        one = group.findings[0]
        programs = tuple((each.program, each.target) for each in group.findings)
        same.setdefault((one.severity, one.rule, programs) if is_rule(one.rule) else number, []).append(group)
    return [replace(first, more=sum(len(one.findings) for one in others)) for first, *others in same.values()]


def group_reasons(programs: Iterable[P]) -> list[tuple[str, list[P]]]:
    """Programs that were not checked, by reason, with the words for it; those that could not be judged come first.

    Args:
        programs: programs of a report or of its view.

    Example:
        >>> found = [ProgramComparison(name, "cpu", "compiled", "not_checked", reason="no device") for name in "fg"]
        >>> [(words, len(group)) for words, group in group_reasons(found)]
        [('not checked', 2)]
    """
    same: dict[tuple[bool, str, str], list[P]] = {}
    for one in programs:
        if one.status == "not_checked":
            same.setdefault((not one.broken, one.reason, one.advice), []).append(one)
    return [
        ("not checked" if fine else "could not be judged", same[fine, reason, advice])
        for fine, reason, advice in sorted(same, key=lambda key: key[0])
    ]
