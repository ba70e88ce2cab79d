"""Findings that belong to no compared program: told with their details in every form, and counted."""

from __future__ import annotations

import json

from hlodiff.differ import ProgramComparison
from hlodiff.policy import FAILED, UNJUDGED, Finding
from hlodiff.report import Report, to_json, to_markdown, to_terminal
from hlodiff.workflows.check import following

FOUND = Finding(
    "error", "growth", "solve", None, "instructions are linear in `length`", "hlodiff update solve", ("33, 65, 129",)
)
SAME = ProgramComparison("solve", "cpu", "compiled", "identical")
REPORT = Report("check", "snapshots", "this work tree", (SAME,), (FOUND,), next="hlodiff update solve")


def test_text_tells_the_finding_its_details_and_what_to_type() -> None:
    assert to_terminal(REPORT, width=100).split("\n")[:4] == [
        "solve  growth: instructions are linear in `length`",
        "  33, 65, 129",
        "  hint: hlodiff update solve",
        "",
    ]
    assert to_terminal(REPORT).endswith("1 unchanged, 1 growth finding; next: hlodiff update solve\n")


def test_markdown_and_json_hold_the_same() -> None:
    told = "- fails: **solve** growth: instructions are linear in \\`length\\`\n  - 33, 65, 129\n"
    assert told in to_markdown(REPORT)
    (finding,) = json.loads(to_json(REPORT))["findings"]
    assert finding["details"] == ["33, 65, 129"]


def test_names_of_others_cannot_write_markup_or_colours() -> None:
    hostile = Finding("error", "growth", "<b>\x1b[31m", None, "|x|", "", ("\x07`y`",))
    report = Report("check", "a", "b", (SAME,), (hostile,))
    assert "\x1b" not in to_terminal(report) + to_markdown(report)
    assert "<b>" not in to_markdown(report)


def test_what_to_type_next() -> None:
    assert following((SAME,), FAILED, (FOUND,)) == "hlodiff update solve"
    assert (
        following((ProgramComparison("f", "cpu", "compiled", "removed"),), FAILED, (FOUND,)) == "hlodiff update --prune"
    )
    broken = Finding("broken", "growth", "solve", None, "it raises")
    assert following((SAME,), UNJUDGED, (broken,)) == "hlodiff check solve, once it is repaired"
