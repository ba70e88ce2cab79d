"""SARIF 2.1.0: the findings alone, each with a fingerprint by which code scanning knows it again."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from hlodiff import __version__
from hlodiff.policy import REASONS
from hlodiff.report.annotations import inside
from hlodiff.report.escape import json_text, printable
from hlodiff.report.sheet import Place, Said, Sheet
from hlodiff.report.totals import totals_in_words

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"broken": "error", "error": "error", "warning": "warning", "info": "note"}
_FINGERPRINT = "hlodiffFinding/v1"
_MOST_RESULTS = 25_000  # GitHub takes no file with more in one run, and shows 5,000
# What the rules mean; what else was found (growth, parity, traces) is told by its name.
_RULES = {
    "changed": "The function compiles to another program than the recorded one.",
    "new": "The function has no recorded program.",
    "orphaned": "A recorded program belongs to no registered function.",
    "not-checked": "The program could not be compiled here, so nobody knows whether it changed.",
    "broken": "The program could not be judged because something is broken.",
    "budget": "The program needs more than the project allows it, or less than it asks for.",
    **REASONS,
}


def to_sarif(sheet: Sheet, link: str = "") -> str:
    """The findings as SARIF.

    Args:
        sheet: what a report says.
        link: where all of it can be read.

    Returns:
        one JSON object, ending in a newline.

    Example:
        >>> '"results": []' in to_sarif(Sheet("check", "a", "b", ()))
        True
    """
    told = sheet.findings[:_MOST_RESULTS]  # the worst ones stand first
    rules = list(dict.fromkeys(finding.rule for finding in told))
    driver = {"name": "hlodiff", "semanticVersion": __version__, "rules": [_rule(name) for name in rules]}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"hlodiff/{sheet.command}/"},
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The top of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, rules.index(finding.rule), sheet) for finding in told],
        "properties": {"totals": sheet.totals(), "summary": printable(totals_in_words(sheet))},
    }
    if len(told) < len(sheet.findings):
        run["properties"]["leftOut"] = len(sheet.findings) - len(told)
    if link:
        run["properties"]["link"] = link
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(log)


def _rule(name: str) -> dict[str, Any]:
    rule = {"id": printable(name), "name": _pascal(name)}
    return {**rule, "shortDescription": {"text": _RULES.get(name) or printable(name) or "A finding."}}


def _pascal(name: str) -> str:
    """`not-checked` as `NotChecked`, the form that SARIF asks for."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name).split()
    return "".join(word[:1].upper() + word[1:] for word in words) or "Finding"


def _result(finding: Said, index: int, sheet: Sheet) -> dict[str, Any]:
    text = "\n".join([f"{finding.label}: {finding.what}", *finding.details])
    text += f"\nhint: {finding.advice}" if finding.advice else ""
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": printable(finding.label) or "?"}]}
    physical = _physical(finding.where, sheet.folder)
    return {
        "ruleId": printable(finding.rule),
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": printable(text, lines=True)},
        "locations": [{"physicalLocation": physical, **location} if physical else location],
        "partialFingerprints": {_FINGERPRINT: printable(finding.fingerprint)},
        "properties": {"program": finding.program, "target": finding.target, "severity": finding.severity},
    }


def _physical(where: Place | None, folder: str) -> dict[str, Any] | None:
    """A line of the repository; what is a library's has no place in it."""
    if where is None or where.library or not inside(where.file):
        return None
    file = f"{folder}/{where.file}" if folder else where.file
    uri = quote(file.replace("\\", "/"), safe="/-._~", errors="replace")
    return {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}, "region": {"startLine": max(where.line, 1)}}
