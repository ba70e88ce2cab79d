"""GitLab's code quality report: the findings as a list, which a merge request shows with its changes."""

from __future__ import annotations

from hashlib import md5

from hlodiff.report.lines import clip, json_text, printable
from hlodiff.report.view import FindingView, ReportView
from hlodiff.report.wording import line_in_repository

_SEVERITIES = {"broken": "blocker", "error": "major", "warning": "minor", "info": "info"}
_LONGEST = 1_000  # of a description
_NOWHERE = "pyproject.toml"  # location of findings without a line in the repository; GitLab drops findings without one


def to_codequality(view: ReportView, link: str = "") -> str:
    """The findings in the format of GitLab's code quality report.

    Args:
        view: the report's view.
        link: not used in this form.

    Returns:
        a JSON list, ending in a newline; [] if there are no findings. It has no totals.

    Example:
        >>> to_codequality(ReportView("check", "a", "b", ()))
        '[]\\n'
    """
    return json_text([_finding(one, view) for one in view.every_finding()])


def _finding(finding: FindingView, view: ReportView) -> dict[str, object]:
    file, line = line_in_repository(finding.where, view.folder) or (f"{view.folder}/{_NOWHERE}".lstrip("/"), 1)
    text = "; ".join(filter(None, (f"{finding.label}: {finding.what}", view.verdict_on(finding))))
    text += f" ({finding.advice})" if finding.advice else ""
    return {
        "description": printable(clip(text, _LONGEST)),
        "check_name": printable(finding.rule),
        "fingerprint": md5(f"{finding.label}\0{finding.fingerprint}".encode("utf-8", "replace")).hexdigest(),
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": printable(file), "lines": {"begin": line}},
    }
