"""Reports stay short where one rule or budget fails in fifty functions, and say how much they leave out."""

from __future__ import annotations

import json

import pytest

from hlodiff.differ import ProgramComparison
from hlodiff.hlo import Frame
from hlodiff.policy import Finding
from hlodiff.report import Report, build_view, to_comment, to_json, to_markdown, to_sarif, to_terminal

NAMES = tuple(f"f{n:02}" for n in range(50))


def _report(findings: tuple[Finding, ...], everything: bool = False) -> Report:
    programs = tuple(ProgramComparison(name, "cpu", "compiled", "identical") for name in NAMES)
    return Report("check", "snapshots", "this work tree", programs, findings, all=everything)


def _budget(name: str, what: str, line: int = 7) -> Finding:
    return Finding("error", "budget", name, "cpu", what, "raise it", (), (Frame("model.py", line, "loss"),), "copies")


def test_one_budget_over_in_fifty_functions_is_said_once() -> None:
    report = _report(tuple(_budget(name, "copies is 1; at most 0") for name in NAMES))
    lines = to_terminal(report).split("\n")
    assert lines[:4] == [
        "50 programs  budget: copies is 1; at most 0",
        "  f00 on cpu, f01 on cpu, f02 on cpu and 47 more",
        "  at model.py:7 (loss)",
        "  hint: raise it",
    ]
    assert len(lines) <= 8
    assert "50 over budget" in lines[-2]
    for text in (to_comment(build_view(report)), to_markdown(report), to_terminal(report)):
        assert text.count("at most 0") == 1
        assert "50 programs" in text
    assert len(json.loads(to_json(report))["findings"]) == 50


def test_lines_that_differ_are_counted() -> None:
    report = _report(tuple(_budget(name, "copies is 1; at most 0", n + 1) for n, name in enumerate(NAMES)))
    assert "  at model.py:1 (loss) and 49 other places\n" in to_terminal(report)


def test_many_that_differ_are_cut_and_counted() -> None:
    findings = tuple(_budget(name, f"copies is {n + 1}; at most 0") for n, name in enumerate(NAMES))
    text = to_terminal(_report(findings))
    assert text.count("at most 0") == 10
    assert "... and 40 more findings, --all lists everything\n" in text
    assert to_terminal(_report(findings, everything=True)).count("at most 0") == 50


@pytest.mark.parametrize("severity, word", [("error", ""), ("warning", "warning: "), ("info", "note: ")])
def test_what_does_not_fail_says_so_without_colour(severity: str, word: str) -> None:
    found = Finding(severity, "no-f64", "f00", "cpu", "tanh is of double precision")  # type: ignore[arg-type]
    assert to_terminal(_report((found,))).startswith(f"f00 on cpu  {word}no-f64: tanh is of double precision\n")


def test_one_function_does_not_push_out_another() -> None:
    doubles = tuple(Finding("error", "no-f64", "f00", "cpu", f"%{n} is of double precision") for n in range(12))
    other = Finding("error", "no-f64", "f01", "cpu", "%x is of double precision")
    report = _report((*doubles, other))
    text = to_terminal(report)
    assert "f00 on cpu  no-f64: %0 is of double precision\n  and 11 more findings of this rule, --all lists" in text
    assert "f01 on cpu  no-f64: %x is of double precision\n" in text
    assert to_terminal(_report((*doubles, other), everything=True)).count("double precision") == 13


def test_code_scanning_is_told_why_a_rule_is_there() -> None:
    found = Finding("error", "no-f64", "f00", "cpu", "tanh is of double precision")
    log = json.loads(to_sarif(build_view(_report((found, _budget("f01", "copies is 1; at most 0"))))))
    texts = {rule["id"]: rule["shortDescription"]["text"] for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert texts["no-f64"].startswith("No f64: one Python float")
    assert texts["budget"].startswith("The program needs more than")
