"""GitLab's code quality report: the findings as a list, which a merge request shows beside its changes."""

from __future__ import annotations

from hashlib import md5

from hlodiff.report.annotations import inside
from hlodiff.report.escape import clip, json_text, printable
from hlodiff.report.sheet import Said, Sheet

_SEVERITIES = {"broken": "blocker", "error": "major", "warning": "minor", "info": "info"}
_LONGEST = 1_000  # of a description
_NOWHERE = ("pyproject.toml", 1)  # a finding without a line of the repository; GitLab leaves out what has no place


def to_codequality(sheet: Sheet, link: str = "") -> str:
    """The findings as GitLab's code quality report reads them.

    Args:
        sheet: what a report says.
        link: has no place in this form.

    Returns:
        a JSON list, ending in a newline; [] where there is nothing to say. It has no totals.

    Example:
        >>> to_codequality(Sheet("check", "a", "b", ()))
        '[]\\n'
    """
    return json_text([_finding(one, sheet.folder) for one in sheet.findings])


def _finding(finding: Said, folder: str) -> dict[str, object]:
    where = finding.where
    known = where is not None and not where.library and inside(where.file)
    file, line = (where.file, max(where.line, 1)) if where is not None and known else _NOWHERE
    text = f"{finding.label}: {finding.what}" + (f" ({finding.advice})" if finding.advice else "")
    return {
        "description": printable(clip(text, _LONGEST)),
        "check_name": printable(finding.rule),
        "fingerprint": md5(f"{finding.label}\0{finding.fingerprint}".encode("utf-8", "replace")).hexdigest(),
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": printable(f"{folder}/{file}" if folder else file), "lines": {"begin": line}},
    }
