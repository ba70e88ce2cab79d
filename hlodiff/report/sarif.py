"""SARIF 2.1.0: the findings, each with a fingerprint by which code scanning recognizes it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from hlodiff import __version__
from hlodiff.policy import RULES_BY_NAME
from hlodiff.report.headline import format_totals
from hlodiff.report.lines import json_text, printable
from hlodiff.report.view import FindingView, ReportView
from hlodiff.report.wording import Place, line_in_repository

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"broken": "error", "error": "error", "warning": "warning", "info": "note"}
_FINGERPRINT = "hlodiffFinding/v1"
_MOST_RESULTS = 25_000  # GitHub rejects files with more in one run, and shows 5,000
# Descriptions of the rules; other findings (growth, parity, traces) are described by their name.
_RULES = {
    "changed": "The function no longer compiles to the recorded program.",
    "new": "The function has no recorded program.",
    "orphaned": "A recorded program belongs to no registered function.",
    "not-checked": "The program could not be compiled here, so it is not known whether it changed.",
    "broken": "The program could not be judged because something is broken.",
    "budget": "The program needs more than the project allows it, or less than it asks for.",
    **{name: rule.reason for name, rule in RULES_BY_NAME.items()},
}


def to_sarif(view: ReportView, link: str = "") -> str:
    """The findings as SARIF.

    Args:
        view: the report's view.
        link: address of the whole report.

    Returns:
        one JSON object, ending in a newline.

    Example:
        >>> '"results": []' in to_sarif(ReportView("check", "a", "b", ()))
        True
    """
    every = view.every_finding()
    findings = every[:_MOST_RESULTS]  # sorted worst first
    rules = list(dict.fromkeys(finding.rule for finding in findings))
    driver = {"name": "hlodiff", "semanticVersion": __version__, "rules": [_rule(name) for name in rules]}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"hlodiff/{view.command}/"},
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The top of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, rules.index(finding.rule), view) for finding in findings],
        "properties": {"totals": view.totals(), "summary": printable(format_totals(view))},
    }
    if len(findings) < len(every):
        run["properties"]["leftOut"] = len(every) - len(findings)
    if link:
        run["properties"]["link"] = link
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(log)


def _rule(name: str) -> dict[str, Any]:
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name).split()
    pascal = "".join(word[:1].upper() + word[1:] for word in words) or "Finding"  # `NotChecked`, as SARIF requires
    return {
        "id": printable(name),
        "name": pascal,
        "shortDescription": {"text": _RULES.get(name) or _message(name) or "A finding."},
    }


def _result(finding: FindingView, index: int, view: ReportView) -> dict[str, Any]:
    verdict = view.verdict_on(finding)
    text = "\n".join([f"{finding.label}: {finding.what}", *([verdict] if verdict else []), *finding.details])
    text += f"\nhint: {finding.advice}" if finding.advice else ""
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": printable(finding.label) or "?"}]}
    physical = _physical(finding.where, view.folder)
    return {
        "ruleId": printable(finding.rule),
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(text)},
        "locations": [{"physicalLocation": physical, **location} if physical else location],
        "partialFingerprints": {_FINGERPRINT: printable(finding.fingerprint)},
        "properties": {"program": finding.program, "target": finding.target, "severity": finding.severity},
    }


def _message(text: str) -> str:
    """A plain message, escaped because SARIF reads `[words](address)` as a link even there."""
    return printable(text, lines=True).replace("](", "]\u200b(")


def _physical(where: Place | None, folder: str) -> dict[str, Any] | None:
    found = line_in_repository(where, folder)
    if found is None:
        return None
    uri = quote(found[0].replace("\\", "/"), safe="/-._~", errors="replace")
    return {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}, "region": {"startLine": found[1]}}
