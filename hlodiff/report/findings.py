"""Equal findings of several programs, listed once: one wrong line can appear in fifty functions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hlodiff.policy.findings import Judgement, is_rule
from hlodiff.report.wording import format_names, many

SEVERITIES = ("broken", "error", "warning", "info")


F = TypeVar("F", bound=Judgement)


@dataclass(frozen=True, slots=True)
class Groupable:
    """What findings with the same words are about: a name for all of them, and their programs where several are."""

    label: str
    of: str


def group_findings(findings: Iterable[F]) -> list[tuple[list[F], Groupable]]:
    """Worst first, else in order of appearance: those that say the same, with what they are about.

    Args:
        findings: of one report.

    Returns:
        groups of at least one; `of` names the programs where there are several and is "" for one.

    Example:
        >>> from hlodiff.policy import Finding
        >>> found = [Finding("error", "budget", name, "cpu", "copies is 1; at most 0") for name in "fg"]
        >>> [(about.label, about.of) for _, about in group_findings(found)]
        [('2 programs', 'f on cpu, g on cpu')]
    """
    groups: dict[Hashable, list[F]] = {}
    for one in sorted(findings, key=lambda one: SEVERITIES.index(one.severity)):
        groups.setdefault((one.severity, one.rule, one.what, one.advice, one.details), []).append(one)
    return [(group, _about(group)) for group in groups.values()]


def first_of_rules(groups: Iterable[tuple[list[F], Groupable]]) -> list[tuple[list[F], Groupable, int]]:
    """Of what one graph rule says of the same programs, the first: a function in f64 breaks it in every line.

    Args:
        groups: as `alike` gives them.

    Returns:
        the first group of each rule and programs, and how many findings are left unsaid with it.

    Example:
        >>> from hlodiff.policy import Finding
        >>> found = [Finding("error", "no-f64", "f", "cpu", f"{name} is f64") for name in ("tanh", "dot")]
        >>> [(group[0].what, more) for group, _, more in first_of_rules(group_findings(found))]
        [('tanh is f64', 1)]
    """
    found: dict[Hashable, list[tuple[list[F], Groupable]]] = {}
    for number, (group, about) in enumerate(groups):
        one = group[0]
        programs = tuple((each.program, each.target) for each in group)
        key = (one.severity, one.rule, programs) if is_rule(one.rule) else number
        found.setdefault(key, []).append((group, about))
    return [(*same[0], sum(len(group) for group, _ in same[1:])) for same in found.values()]


def _about(group: Sequence[Judgement]) -> Groupable:
    labels = list(dict.fromkeys(one.label for one in group))
    if len(labels) == 1:
        return Groupable(labels[0], "")
    return Groupable(many(len(labels), "program"), format_names(labels))
