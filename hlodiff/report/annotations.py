"""GitHub annotations: workflow commands that attach a finding to the Python line that caused it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.policy.findings import SEVERITIES
from hlodiff.report.headline import format_totals
from hlodiff.report.lines import clip, printable, unordered
from hlodiff.report.view import FindingView, ReportView
from hlodiff.report.wording import line_in_repository, many

MOST_OF_A_KIND = 10  # GitHub shows at most this many per step
_MOST_LABELS = 3
_LONGEST = 1_000  # of a message; GitHub cuts at 4 KiB
_KINDS = {"broken": "error", "error": "error", "warning": "warning", "info": "notice"}


def to_annotations(view: ReportView, link: str = "") -> str:
    """The findings as `::error file=...,line=...::...` commands, at most 10 of a kind, worst first.

    Args:
        view: the report's view.
        link: address of the whole report.

    Returns:
        one command per line, then the totals as a plain line. With more than 10 of a kind, the tenth has the number of
        the rest.

    Example:
        >>> print(to_annotations(ReportView("diff", "a", "b", ())), end="")
        nothing to compare
    """
    kinds: dict[str, list[list[FindingView]]] = {}
    # Equal findings of several programs at one line become one annotation.
    found: dict[object, list[FindingView]] = {}
    for finding in _worst_first(view):
        key = (finding.severity, finding.rule, finding.what, finding.where)
        found.setdefault(key if finding.where else object(), []).append(finding)
    for group in found.values():
        kinds.setdefault(_KINDS[group[0].severity], []).append(group)
    lines = [line for kind in ("error", "warning", "notice") for line in _commands(kind, kinds.get(kind, []), view)]
    words = f"{format_totals(view)} {link}".rstrip()
    return "".join(f"{line}\n" for line in [*lines, unordered(printable(words))])


def _worst_first(view: ReportView) -> Sequence[FindingView]:
    """Findings by severity, then those on budgets and rules, then the most edited programs."""
    edited = {(p.name, p.target): p.edited for p in view.programs}
    beside = set(view.further_findings())

    def rank(finding: FindingView) -> tuple[int, bool, int]:
        return (
            SEVERITIES.index(finding.severity),
            finding not in beside,
            -edited.get((finding.program, finding.target), 0),
        )

    return sorted(view.every_finding(), key=rank)


def _commands(kind: str, groups: Sequence[list[FindingView]], view: ReportView) -> Iterable[str]:
    few = len(groups) <= MOST_OF_A_KIND
    for group in groups if few else groups[: MOST_OF_A_KIND - 1]:
        first = group[0]
        label = first.label if len(group) == 1 else many(len(group), "program")
        about = [] if len(group) == 1 else [_labels(group)]
        message = "\n".join([*about, _message(first, view)])
        found = line_in_repository(first.where, view.folder)
        yield _command(
            kind, {"file": found[0], "line": str(found[1])} if found else {}, f"{label}: {first.rule}", message
        )
    if not few:
        left = [finding for group in groups[MOST_OF_A_KIND - 1 :] for finding in group]
        yield _command(kind, {}, many(len(left), "more finding"), _labels(left))


def _labels(findings: Sequence[FindingView]) -> str:
    labels = list(dict.fromkeys(finding.label for finding in findings))
    return ", ".join(labels[:_MOST_LABELS]) + (" and others" if len(labels) > _MOST_LABELS else "")


def _message(finding: FindingView, view: ReportView) -> str:
    """The finding, the headline of its program, and the advice."""
    about = (p for p in view.programs if (p.name, p.target) == (finding.program, finding.target))
    headlines = [
        (f"{STAGE_NAMES[program.stage]}: {program.headline}")
        for program in about
        if program.status == "changed" and program.edited
    ]
    verdict = view.verdict_on(finding) if headlines else ""
    parts = [finding.what, verdict, *headlines, *finding.details, f"hint: {finding.advice}" if finding.advice else ""]
    return "\n".join(filter(None, parts))


def _command(kind: str, place: dict[str, str], title: str, message: str) -> str:
    properties = {**place, "title": clip(title, 200)}
    words = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {words}::{_data(clip(message, _LONGEST))}"


def _data(text: str) -> str:
    """A message, escaped for the runner: nothing in it can end it or begin another command."""
    plain = unordered(printable(text, lines=True))
    return plain.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")
