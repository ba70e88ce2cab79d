"""The same result in every form: the same numbers, and nothing that others wrote breaks out of any of them."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree as ET

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from hlodiff.differ import STATUSES, Edit, ExecutedCount, FieldChange, ModuleDiff, ProgramComparison, Status, diff
from hlodiff.hlo import Frame, Stage
from hlodiff.policy import Finding, judge
from hlodiff.report import (
    FORM_NAMES,
    FORMS,
    SAVED_FORM_NAMES,
    Report,
    ReportView,
    ToolchainChange,
    build_view,
    by_how_much,
    format_number,
    format_totals,
    read_untrusted_view,
    saved_to_form,
    to_comment,
    to_form,
    to_json,
    to_terminal,
)
from tests.test_report import HOSTILE, NEW, OLD

FACTS = {"memory.temp": 1024.0, "memory.alias": 512.0}
NEW_FACTS = {"memory.temp": 4096.0, "memory.alias": 0.0}
METRICS = {
    "ops": (10, 14), "copies_in_loops": (0, 3), "collectives.all-gather": (0, 2),
    "collective_bytes.all-gather": (0, 24576), "fusions": (4, 4),
}  # fmt: skip


def executed_of(metrics: Mapping[str, tuple[float, float]]) -> dict[str, tuple[ExecutedCount, ExecutedCount]]:
    """The executed numbers of a program without loops: those of its text."""
    return {
        name: (ExecutedCount(int(old), int(old)), ExecutedCount(int(new), int(new)))
        for name, (old, new) in metrics.items()
        if not name.startswith("memory.")
    }


def edit(file: str = "model.py", line: int = 31, count: int = 1, what: str = "1", op_name: str = "jit(f)/a/b") -> Edit:
    change = FieldChange("literal", "0", what)
    return Edit("changed", ("literal",), count, (), (change,), op_name, (Frame(file, line, "loss"),))


def hand_made(edits: tuple[Edit, ...], metrics: Mapping[str, tuple[float, float]]) -> ModuleDiff:
    """The difference of two programs, told as somebody else might."""
    script = diff(OLD, NEW).write_script
    return ModuleDiff(OLD, NEW, edits, metrics=metrics, executed=executed_of(metrics), write_script=script)


def changed(name: str = "f", target: str | None = "cpu", *edits: Edit) -> ProgramComparison:
    found = hand_made(edits or (edit(),), METRICS)
    return ProgramComparison(name, target, "compiled", "changed", found, FACTS, NEW_FACTS)


def same(name: str = "f", target: str | None = "cpu") -> ProgramComparison:
    return ProgramComparison(name, target, "stablehlo", "identical", diff(OLD, OLD))


def report(*programs: ProgramComparison, **more: Any) -> Report:
    findings = (*judge(programs), *more.pop("findings", ()))
    return Report("check", "snapshots", "this work tree", programs, findings, **more)


def every_kind(name: str = "f") -> Report:
    """One program of each status, and findings of each severity."""
    programs = (
        changed(name),
        same(name),
        ProgramComparison("g", "cpu", "compiled", "added", op_counts={"add": 2}),
        ProgramComparison("h", "cpu", "compiled", "removed", op_counts={"add": 2}),
        ProgramComparison("i", "tpu-v5e", "compiled", "not_checked", reason="no libtpu", advice="pip install libtpu"),
        ProgramComparison("j", "tpu-v5e", "compiled", "not_checked", reason="no libtpu", recorded=True),
        ProgramComparison("k", "cpu", "compiled", "not_checked", reason="damaged", broken=True),
    )
    findings = (
        Finding("error", "growth", name, "cpu", "instructions are linear in `length`", "roll the loop", ("33, 65",)),
        Finding("info", "growth", name, None, "constants are constant"),
    )
    return report(*programs, findings=findings, next="hlodiff update f")


# --- what a reviewer reads -------------------------------------------------------------------------------------------


def test_a_comment() -> None:
    told = report(changed(), same(), next="hlodiff update f")
    assert to_form(told, "comment", link="https://ci.example/run/7") == (
        "<!-- hlodiff -->\n"
        "### 🔴 hlodiff: worse on cpu\\: \\+2 all-gathers \\(24.0 KiB\\), aliased 512 B -&gt; 0 B; "
        "literal\\: 0 -&gt; 1 at model.py\\:31\n"
        "\n"
        "`f`: numerics\\: changed literal\\: 0 -&gt; 1\n"
        "\n"
        "next: `hlodiff update f`\n"
        "\n"
        "| function | target | verdict | main change | line | link |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| `f` | `cpu` | 🔴 worse | all-gather 0 -&gt; 2 \\(24.0 KiB\\) | `model.py:31` "
        "| [details](https://ci.example/run/7) |\n"
        "\n"
        "<details open><summary>🔴 f: worse on cpu: +2 all-gathers (24.0 KiB), aliased 512 B -&#62; 0 B; "
        "literal: 0 -&#62; 1 at model.py:31</summary>\n"
        "\n"
        "changed on cpu\\: numerics\n"
        "\n"
        "| target | number | before | after | change |\n"
        "| --- | --- | ---: | ---: | --- |\n"
        "| `cpu` | all-gather | 0 (0 B) | 2 (24.0 KiB) | was 0 🔴 worse |\n"
        "| `cpu` | aliased | 512 B | 0 B | now 0 🔴 worse |\n"
        "| `cpu` | temp | 1.0 KiB | 4.0 KiB | +300 % 🔴 worse |\n"
        "| `cpu` | compiled ops | 10 | 14 | +40 % |\n"
        "| `cpu` | copies in loops | 0 | 3 | was 0 |\n"
        "\n"
        "**compiled** on cpu\n"
        "\n"
        "- changed `literal: 0 -> 1` at `model.py:31 (loss)`\n"
        "\n"
        "</details>\n"
        "\n"
        "▲ costs more, ▼ less, per call and device; below 1 % is not listed. numerics\\: constants, types, precision\n"
        "\n"
        "checked 1 program\\: 1 function on cpu, StableHLO and compiled HLO of each\n"
        "\n"
        "1 changed ([details](https://ci.example/run/7))\n"
    )


def test_lines_of_a_comment_lead_to_the_files_of_its_commit() -> None:
    view = replace(build_view(report(changed(), same())), folder="packages/my (ml)")
    source = "https://code.example/owner/project/blob/0123abc/"
    line = "[`model.py:31`](https://code.example/owner/project/blob/0123abc/packages/my%20%28ml%29/model.py#L31)"
    assert f"| {line} |" in to_comment(view, source=source)
    assert "](https" not in to_comment(view)


def test_annotations() -> None:
    lines = to_form(every_kind(), "github").split("\n")
    assert lines == [
        "::error title=k on cpu%3A broken::damaged",
        "::error file=model.py,line=31,title=f on cpu%3A growth::instructions are linear in `length`%0A"
        "worse on cpu: +2 all-gathers (24.0 KiB), aliased 512 B -> 0 B; literal: 0 -> 1 at model.py:31%0A"
        "compiled: numerics: 2 all-gathers added (24.0 KiB); 1 changed of 3 instructions, model.py:31 (loss)%0A"
        "33, 65%0A"
        "hint: roll the loop",
        "::error file=model.py,line=31,title=f on cpu%3A changed::no longer matches its snapshot%0A"
        "worse on cpu: +2 all-gathers (24.0 KiB), aliased 512 B -> 0 B; literal: 0 -> 1 at model.py:31%0A"
        "compiled: numerics: 2 all-gathers added (24.0 KiB); 1 changed of 3 instructions, model.py:31 (loss)",
        "::error title=g on cpu%3A new::has no snapshot%0Ahint: hlodiff update g",
        "::error title=h on cpu%3A orphaned::has a snapshot, but nothing of this name is registered for this target "
        "any more%0Ahint: hlodiff update --prune",
        "::warning title=j on tpu-v5e%3A not-checked::no libtpu",
        "::notice title=f%3A growth::constants are constant",
        "::notice title=i on tpu-v5e%3A not-checked::no libtpu%0Ahint: pip install libtpu",
        "1 changed, 1 new, 1 orphaned, 1 could not be judged, 2 not checked, 1 growth finding; next: hlodiff update f",
        "",
    ]


@pytest.mark.parametrize("form", ["github", "sarif", "codequality"])
def test_what_a_diff_cannot_read_is_said_with_the_reason(form: str) -> None:
    """`diff` judges nothing, so it has no findings: only the number was printed."""
    broken = ProgramComparison("f", "cpu", "compiled", "not_checked", reason="no HLO\n::error::x", broken=True)
    text = to_form(Report("diff", "a", "b", (broken,)), form)
    assert "no HLO" in text
    assert "\n::error::x" not in text


def test_at_most_ten_annotations_of_a_kind_the_most_edited_first() -> None:
    programs = [changed(f"f{n}", "cpu", edit(line=n + 1, count=n + 1)) for n in range(30)]
    lines = to_form(report(*programs), "github").splitlines()
    assert len(lines) == 11
    assert "title=f29 on cpu" in lines[0]
    assert lines[9] == "::error title=21 more findings::f20 on cpu, f19 on cpu, f18 on cpu and others"


def test_junit() -> None:
    root = ET.fromstring(to_form(every_kind(), "junit"))
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "8",  # six programs and two findings beside them
        "failures": "4",
        "errors": "2",
        "skipped": "1",
    }
    case = root.find("testsuite[@name='f']/testcase[@name='on cpu']")
    assert case is not None
    assert [child.tag for child in case] == ["properties", "failure", "system-out"]
    assert case.find("properties/property[@name='compiled all-gather']").get("value") == "0 -> 2 (24.0 KiB)"  # type: ignore[union-attr]
    assert case.find("failure").get("message", "").startswith("compiled: numerics: 2 all-gathers added")  # type: ignore[union-attr]


def test_what_a_policy_only_notes_fails_no_test_case() -> None:
    quiet = Report("check", "a", "b", (changed(),), (Finding("info", "changed", "f", "cpu", "changed"),))
    assert ET.fromstring(to_form(quiet, "junit")).get("failures") == "0"
    assert ET.fromstring(to_form(replace(quiet, command="diff", findings=()), "junit")).get("failures") == "1"


def test_the_files_of_a_project_below_the_top_of_its_repository() -> None:
    assert "::error file=packages/ml/model.py,line=31," in to_form(report(changed()), "github", folder="packages/ml")
    (result,) = json.loads(to_form(report(changed()), "sarif", folder="packages/ml"))["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "packages/ml/model.py"


def test_code_scanning_and_code_quality_say_the_verdict_on_the_function() -> None:
    told = report(changed())
    (verdict,) = (view.sentence for view in build_view(told).functions)
    (result,) = json.loads(to_form(told, "sarif"))["runs"][0]["results"]
    (issue,) = json.loads(to_form(told, "codequality"))
    assert verdict in result["message"]["text"].split("\n") and f"; {verdict}" in issue["description"]


@pytest.mark.parametrize("file", ["/opt/site-packages/jax/nn.py", "<stdin>", "/usr/lib/python3.11/functools.py"])
def test_a_line_that_is_not_in_the_repository_is_annotated_nowhere(file: str) -> None:
    told = report(changed("f", "cpu", edit(file)))
    assert to_form(told, "github").startswith("::error title=f on cpu")
    (result,) = json.loads(to_form(told, "sarif"))["runs"][0]["results"]
    assert "physicalLocation" not in result["locations"][0]


# --- a repository of fifty functions ---------------------------------------------------------------------------------

FIFTY = report(*(changed(f"function_{n}", "cpu", edit(line=n + 1, what=str(n))) for n in range(50)))


def test_fifty_changed_functions_are_decided_from_twenty_lines() -> None:
    text = to_terminal(FIFTY, width=80).split("\n")
    assert text[:2] == [
        "▲ 50 functions changed: 50 worse; mainly function_0, +2 all-gathers (24.0 KiB);",
        "  literal: 0 -> 0 at model.py:1",
    ]
    assert text[4] == "function_0   cpu     ▲ worse  +2 all-gathers (24.0 KiB)  model.py:1"
    assert text[16:18] == ["... and 38 more functions", ""]
    unfolded = re.sub(r"<details>.*?</details>\n", "", to_form(FIFTY, "comment"), flags=re.DOTALL)
    assert len([line for line in unfolded.split("\n") if line]) <= 24


def test_what_one_line_did_to_many_functions_is_one_row_and_one_annotation() -> None:
    told = report(*(changed(f"function_{n}") for n in range(50)), changed("other", "cpu", edit(line=9)))
    text = to_terminal(told, width=200).split("\n")
    assert text[2:5] == [
        "function                target  verdict  main change                line",
        "function_0 and 49 more  cpu     ▲ worse  +2 all-gathers (24.0 KiB)  model.py:31",
        "other                   cpu     ▲ worse  +2 all-gathers (24.0 KiB)  model.py:9",
    ]
    assert "| `function_0`, `function_1`, `function_2` and 47 more | `cpu` | 🔴 worse |" in to_form(told, "comment")
    lines = to_form(told, "github").splitlines()
    assert lines[0].startswith(
        "::error file=model.py,line=31,title=50 programs%3A changed::function_0 on cpu, function_1 on cpu, "
        "function_2 on cpu and others%0Ano longer matches its snapshot"
    )
    assert len(lines) == 3


def test_a_quiet_repository_is_two_lines() -> None:
    told = report(*(same(f"f{n}") for n in range(50)))
    assert to_terminal(told) == "checked 50 programs: 50 functions on cpu, StableHLO of each\n50 unchanged\n"
    assert to_form(told, "github") == "50 unchanged\n"


# --- sizes -----------------------------------------------------------------------------------------------------------


def large(functions: int, edits: int, width: int = 8) -> Report:
    programs = [
        changed(f"f{n}", "cpu", *(edit(line=e + 1, what=f"{n}-{e}-{'x' * width}") for e in range(edits)))
        for n in range(functions)
    ]
    return report(*programs)


@pytest.mark.parametrize(
    ("functions", "edits", "width"),
    [(60, 12, 60), (900, 1, 8), (3, 12, 3000), pytest.param(2000, 1, 8, marks=pytest.mark.slow)],
)
def test_a_comment_fits_whatever_happened(functions: int, edits: int, width: int) -> None:
    sheet = build_view(large(functions, edits, width))
    text = saved_to_form(sheet, "comment", link="https://ci.example/7")
    assert len(text) < 60_000
    assert text.startswith("<!-- hlodiff -->\n")
    assert text.rstrip("\n").split("\n")[-1].startswith(f"{functions:,} changed")
    assert len(saved_to_form(sheet, "summary").encode()) < 900 * 1024


@pytest.mark.parametrize("character", ["x", "😀"])
def test_each_step_of_leaving_out_keeps_the_limit(character: str) -> None:
    """From few to many functions with long names: details, rows and totals fit in characters and bytes."""
    one = build_view(large(1, 1, 40))
    place = one.programs[0].where
    assert place
    said = set()
    for functions in (5, 60, 140, 400, 1500):
        names = [f"{character * 100}{n}" for n in range(functions)]
        places = [replace(place, file="m.py", line=n + 1) for n in range(functions)]
        programs = (replace(one.programs[0], name=n, where=at) for n, at in zip(names, places, strict=True))
        functions_ = (replace(one.functions[0], name=n, where=at) for n, at in zip(names, places, strict=True))
        sheet = replace(one, programs=tuple(programs), functions=tuple(functions_))
        text, summary = saved_to_form(sheet, "comment"), saved_to_form(sheet, "summary")
        assert len(text.encode("utf-16-le")) // 2 < 60_000
        assert len(summary.encode()) < 900 * 1024
        assert last_line(text) == last_line(summary) == f"{functions:,} changed"
        said.add((text.count("<details>") > 0, "more function" in text, "not fit" in text))
    assert len(said) >= 3, "whole, without some details, without details and rows"


def test_details_go_first_then_rows_then_all_but_the_totals() -> None:
    def comment(functions: int, **more: Any) -> str:
        sheet = build_view(large(1, 1))
        one = sheet.programs[0]
        assert one.where
        places = [replace(one.where, line=n) for n in range(functions)]
        programs = tuple(replace(one, name=f"f{n}", edited=n, where=at) for n, at in enumerate(places))
        views = tuple(replace(sheet.functions[0], name=f"f{n}", where=at) for n, at in enumerate(places))
        sheet = replace(sheet, programs=programs, functions=views, **more)
        return saved_to_form(sheet, "comment", link="https://ci.example/7")

    few, many, most, all_of_it = comment(3), comment(250), comment(3000), comment(2, command="diff", old="x" * 70_000)
    assert (few.count("<details"), "do not fit" in few) == (3, False)
    assert 10 < many.count("<details") < 250
    assert re.search(r"Details of \d+ more functions do not fit here \(\[all of it\]\(https://ci.example/7\)\)", many)
    assert "| `f249` |" in many, "every function has its row"
    assert most.count("<details") == 0
    assert re.search(r"^\.\.\. and \d,\d+ more functions \(\[all of it\]", most, re.MULTILINE)
    assert all_of_it == "<!-- hlodiff -->\n### hlodiff\n\n2 changed ([details](https://ci.example/7))\n"


# --- the same numbers ------------------------------------------------------------------------------------------------

FRAGMENTS = [
    *HOSTILE,
    "::set-output name=x::y",
    "\n::error::x",
    "##[error]x",
    "]]>",
    "<!--",
    "-->",
    "&lt;",
    "\\|",
    "\\",
    "`",
    "``",
    "\x00\x08\x0b\x85\u2028\ufffe\ud800",
    "\u202e\u2066\u200f",
    "%0A::error::x",
    "www.evil.example",
    "https://evil.example",
    "#1 GH-1 @you",
    "$x$",
    "x" * 5000,
    "| --- |",
    "\t- [ ] a\r\n",
    "../../etc/passwd",
    "a,line=1::b",
]
TEXT = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=6), min_size=1, max_size=4).map("".join)
NUMBERS = st.integers(0, 2**40)
TARGETS = st.none() | st.sampled_from(["cpu", "tpu-v5e"]) | TEXT


@st.composite
def compared(draw: st.DrawFn) -> ProgramComparison:
    status: Status = draw(st.sampled_from(STATUSES))
    stage: Stage = draw(st.sampled_from(("stablehlo", "compiled")))
    bare = ProgramComparison(draw(TEXT), draw(TARGETS), stage, status)
    if status == "changed":
        text = draw(TEXT)
        edits = tuple(edit(draw(TEXT), draw(st.integers(0, 99)), draw(st.integers(1, 9)), text, text) for _ in range(2))
        metrics = {name: (draw(NUMBERS), draw(NUMBERS)) for name in METRICS}
        found = hand_made(edits, metrics)
        return replace(bare, diff=found, old_facts=FACTS, new_facts={"memory.temp": draw(NUMBERS)})
    if status == "not_checked":
        why = replace(bare, reason=draw(TEXT), advice=draw(TEXT), log=draw(TEXT))
        return replace(why, broken=draw(st.booleans()), recorded=draw(st.booleans()))
    return replace(bare, op_counts={draw(TEXT): draw(NUMBERS)})


@st.composite
def reports(draw: st.DrawFn) -> Report:
    programs = tuple(draw(st.lists(compared(), max_size=5)))
    severities: Any = st.sampled_from(["broken", "error", "warning", "info"])
    further = tuple(
        Finding(draw(severities), draw(TEXT), draw(TEXT), draw(TARGETS), draw(TEXT), draw(TEXT), (draw(TEXT),))
        for _ in range(draw(st.integers(0, 3)))
    )
    toolchain = tuple(ToolchainChange(draw(TEXT), draw(TEXT), draw(TEXT), (draw(TEXT),)) for _ in range(1))
    findings = (*judge(programs), *further)
    command: Any = draw(st.sampled_from(["check", "diff"]))
    return Report(command, draw(TEXT), draw(TEXT), programs, findings, toolchain, (draw(TEXT),), draw(TEXT))


SLOWLY = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def last_line(text: str) -> str:
    assert text.endswith("\n")
    return text[:-1].split("\n")[-1]


def statuses_of_xml(text: str) -> list[str]:
    root = ET.fromstring(text)
    return [str(one.get("value")) for one in root.iterfind(".//property[@name='status']")]


@SLOWLY
@given(reports())
def test_every_form_has_the_same_numbers(told: Report) -> None:
    sheet = build_view(told)
    totals = told.totals()
    assert json.loads(to_json(told))["totals"] == totals == sheet.totals()
    assert format_totals(told) == format_totals(sheet)
    found = statuses_of_xml(to_form(told, "junit"))
    assert {key: found.count(key) for key in STATUSES} == {key: totals[key] for key in STATUSES}
    assert totals["programs"] == len(found)
    run = json.loads(to_form(told, "sarif"))["runs"][0]
    assert run["properties"]["totals"] == totals
    assert len(run["results"]) == len(told.findings) == len(json.loads(to_json(told))["findings"])
    # The head of the totals holds all numbers of programs, and no text of others.
    head = re.split(r", \d+ [^,]* finding|; next: ", format_totals(replace(told, next="")))[0]
    head = head.split(", 1 ")[0] if told.further_findings() else head
    for form in ("markdown", "summary", "comment", "github"):
        assert last_line(to_form(told, form)).startswith(head), form
    assert head.split(",")[0] in to_terminal(told, width=10_000)


@SLOWLY
@given(reports())
def test_numbers_of_a_program_are_the_same_in_tables_tests_and_json(told: Report) -> None:
    sheet = build_view(told)
    root = ET.fromstring(to_form(told, "junit"))
    properties = [
        (one.get("name"), one.get("value"))
        for one in root.iterfind("testsuite/testcase/properties/property")
        if one.get("name") not in ("status", "verdict") and not str(one.get("name")).endswith((" change", " where"))
    ]
    words = {"stablehlo": "StableHLO", "compiled": "compiled"}
    known = [
        (f"{words[p.stage]} {number.name.removeprefix(words[p.stage] + ' ')}", format_number(number))
        for p in sheet.programs
        for number in p.numbers
    ]
    assert sorted(properties) == sorted(known)  # suites gather programs of one name
    value = json.loads(to_json(told))
    for program, plain in zip(sheet.programs, value["programs"], strict=True):
        for number in program.numbers:
            if number.name == "all-gather":
                assert plain["metrics"]["collectives.all-gather"] == [number.old, number.new]
            if number.name == "temp":
                assert plain["metrics"]["memory.temp"] == [number.old, number.new]
    comment = to_form(told, "comment")
    for function in sheet.functions[:1]:
        numbers = [number for one in function.targets for number in one.numbers]
        assert all(f"| {by_how_much(number)} " in comment for number in numbers)


def test_a_number_that_stayed_with_other_bytes() -> None:
    (known, *_) = build_view(report(changed())).programs[0].numbers
    number = replace(known, name="all-reduce", old=2, new=2, unit="count", old_bytes=69632, new_bytes=32768)
    assert (format_number(number), by_how_much(number)) == ("2 (68.0 KiB -> 32.0 KiB)", "-53 %")


# --- what others wrote -----------------------------------------------------------------------------------------------

PARSER = MarkdownIt("commonmark").enable("table")
TAGS = re.compile(r"</?details(?: open)?>|</?summary>|<br>|<!-- hlodiff -->")
COMMAND = re.compile(r"::(error|warning|notice)(?: ([^:]*))?::(.*)")


def tokens(text: str) -> list[Token]:
    found = PARSER.parse(text)
    return [*found, *(child for token in found for child in token.children or ())]


@SLOWLY
@given(reports())
@pytest.mark.parametrize("form", ["markdown", "summary", "comment"])
def test_nothing_breaks_out_of_markdown(form: str, told: Report) -> None:
    text = to_form(told, form)
    assert all(c.isprintable() or c in "\n\u200b" for c in text)
    for token in tokens(text):
        assert token.type not in ("link_open", "image", "heading_close") or token.tag == "h3", token
        if token.type in ("html_block", "html_inline"):
            rest = TAGS.sub("", token.content)
            assert "<" not in rest and ">" not in rest, token.content
    told_folds = [tag for token in tokens(text) for tag in TAGS.findall(token.content) if token.type == "html_block"]
    assert [told_folds.count(tag) for tag in ("</details>", "<summary>", "</summary>")] == [
        sum(tag.startswith("<details") for tag in told_folds)
    ] * 3
    shown = [html.unescape(t.content) for t in tokens(text) if t.type in ("text", "html_block", "html_inline")]
    assert not [one for one in shown if re.search(r"@(?!\u200b)\w|(?<!&)#(?=\d)|www\.", one)]
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        cells = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in table.strip().split("\n")}
        assert len(cells) == 1, table


@SLOWLY
@given(reports())
def test_every_line_of_annotations_is_ours(told: Report) -> None:
    sheet = build_view(told)
    *lines, last = to_form(told, "github").splitlines()
    kinds = [match[1] for line in lines if (match := COMMAND.fullmatch(line))]
    assert len(kinds) == len(lines), "every line is one whole command"
    assert kinds == sorted(kinds) or kinds == sorted(kinds, key=["error", "warning", "notice"].index)
    assert all(kinds.count(kind) <= 10 for kind in kinds)
    assert len(lines) <= len(sheet.findings)
    for line in [*lines, last]:
        assert all(c.isprintable() for c in line)
        assert "##[" not in line
        match = COMMAND.fullmatch(line)
        for one in (match[2] or "").split(",") if match else ():
            name, _, value = one.partition("=")
            assert name in ("file", "line", "title")
            assert re.fullmatch(r"[^:,\n]*", value)
            assert name != "file" or (".." not in value.split("/") and not value.startswith("/"))
    assert not last.lstrip().startswith("::")


@SLOWLY
@given(reports(), st.sampled_from([40, 80, 160]))
def test_no_line_of_a_text_report_is_a_command(told: Report, width: int) -> None:
    for text in (to_terminal(told, width=width), saved_to_form(build_view(told), "text", width=width)):
        for line in text.split("\n"):
            assert line.isprintable()
            assert not line.lstrip().startswith("::")
            assert "##[" not in line


@SLOWLY
@given(reports())
def test_xml_and_sarif_read_back(told: Report) -> None:
    root = ET.fromstring(to_form(told, "junit"))
    assert {element.tag for element in root.iter()} <= {
        "testsuites", "testsuite", "testcase", "properties", "property", "failure", "error", "skipped", "system-out",
    }  # fmt: skip
    cases = list(root.iter("testcase"))
    assert root.get("tests") == str(len(cases)) == str(told.totals()["programs"] + len(told.further_findings()))
    assert_sarif(json.loads(to_form(told, "sarif")))


def assert_sarif(log: dict[str, Any]) -> None:
    """What the schema of SARIF 2.1.0 asks of the parts that stand there."""
    assert set(log) == {"$schema", "version", "runs"} and log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "hlodiff" and re.fullmatch(r"\d+\.\d+\.\d+\S*", driver["semanticVersion"])
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        assert all(isinstance(value, str) and value for value in result["partialFingerprints"].values())
        (location,) = result["locations"]
        assert location["logicalLocations"][0]["fullyQualifiedName"]
        if "physicalLocation" in location:
            where = location["physicalLocation"]
            uri = where["artifactLocation"]["uri"]
            assert urllib.parse.urlsplit(uri).scheme == "" and uri.isascii() and not uri.startswith("/")
            assert ".." not in urllib.parse.unquote(uri).split("/")
            assert where["region"]["startLine"] >= 1
            assert where["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]


def test_code_scanning_takes_what_is_worst() -> None:
    """GitHub refuses a run with more than 25,000 results."""
    sheet = build_view(every_kind())
    worst, least = sheet.findings[0], replace(sheet.findings[-1], severity="info")
    log = json.loads(saved_to_form(replace(sheet, findings=(worst, *[least] * 25_000)), "sarif"))
    assert_sarif(log)
    run = log["runs"][0]
    assert (len(run["results"]), run["properties"]["leftOut"]) == (25_000, 1)
    assert run["results"][0]["level"] == "error"
    assert "leftOut" not in json.loads(to_form(every_kind(), "sarif"))["runs"][0]["properties"]


def test_a_finding_without_a_line_stands_where_its_function_is_registered() -> None:
    gone = report(ProgramComparison("f/small", "cpu", "compiled", "added"), registered={"f": ("programs.py", 7)})
    assert to_form(gone, "github").startswith("::error file=programs.py,line=7,title=f/small on cpu%3A new::")
    (result,) = json.loads(to_form(gone, "sarif"))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}


def test_fingerprints_stay_while_numbers_and_lines_move() -> None:
    def prints(line: int, count: int) -> list[Any]:
        told = report(changed("f", "cpu", edit(line=line, count=count)), changed("g"))
        results = json.loads(to_form(told, "sarif"))["runs"][0]["results"]
        return [result["partialFingerprints"] for result in results]

    first = prints(3, 1)
    assert first == prints(90, 7)
    assert first[0] != first[1]


# --- results that were saved -----------------------------------------------------------------------------------------


def _all_but_hints(text: str, names: object) -> str:
    """What tests/test_hostile_result.py looks at is left out here."""
    return "[withheld]" if text.lstrip().startswith("hint:") else text


def without_advice(told: Report) -> Report:
    """What a file says to type is never shown again."""
    programs = tuple(replace(one, advice="") for one in told.programs)
    return replace(told, programs=programs, findings=tuple(replace(one, advice="") for one in told.findings))


@SLOWLY
@given(reports())
def test_a_saved_result_gives_the_same_forms(told: Report) -> None:
    text = json.dumps(json.loads(to_json(told)))  # as any JSON writer would write it, surrogates escaped
    with patch("hlodiff.report.untrusted_result.known_text", _all_but_hints):
        sheet = read_untrusted_view(text)
    assert sheet.next in ("", told.next)
    told = without_advice(replace(told, next=sheet.next))
    for form in SAVED_FORM_NAMES:
        direct = to_terminal(told) if form == "text" else to_form(told, form)
        assert saved_to_form(sheet, form) == direct, form


def altered(change: Callable[[dict[str, Any]], None]) -> str:
    value = json.loads(to_json(every_kind()))
    change(value)
    return json.dumps(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 200_000, "no JSON"),
        ('{"format_version": NaN}', "NaN is not a number"),
        ("[]", "an object was expected"),
        ('{"format_version": "9.0"}', "reads '1.2'"),
        ('{"format_version": "1.0"}', "it has no `sheet`"),
        (altered(lambda v: v["sheet"].pop("programs")), "sheet.programs is missing"),
        (altered(lambda v: v["sheet"].update(programs={})), "sheet.programs is not a list"),
        (
            altered(lambda v: v["sheet"]["programs"][0].update(status="fine")),
            "sheet.programs.0.status is 'fine', not one",
        ),
        (
            altered(lambda v: v["sheet"]["programs"][0].update(edited=-1)),
            "edited is not a whole number",
        ),
        (
            altered(lambda v: v["sheet"]["programs"][0].update(edited=True)),
            "edited is not a whole number",
        ),
        (altered(lambda v: v["sheet"]["programs"][0].update(name=7)), "sheet.programs.0.name is not a string"),
        (altered(lambda v: v["sheet"]["programs"][0]["numbers"][0].update(old=1e308)), "old is not a number"),
        (altered(lambda v: v["sheet"]["findings"][0].update(severity="x")), "severity is 'x', not one of"),
        (altered(lambda v: v["sheet"].update(folder="../..")), "sheet.folder"),
    ],
)
def test_what_is_no_result_is_refused(text: str, words: str) -> None:
    from hlodiff.errors import UsageError

    with pytest.raises(UsageError, match=re.escape(words)):
        read_untrusted_view(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.data())
def test_a_result_of_an_enemy_is_refused_or_harmless(data: st.DataObject) -> None:
    """Any value anywhere: either it is refused with words, or every form is as safe as ever."""
    from hlodiff.errors import UsageError

    value = json.loads(to_json(every_kind()))
    at = value["sheet"]
    while isinstance(at, (dict, list)) and at:
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        if not isinstance(at[key], (dict, list)) or not at[key] or data.draw(st.integers(0, 3)) == 0:
            at[key] = data.draw(JSON)
            break
        at = at[key]
    try:
        sheet = read_untrusted_view(json.dumps(value))
    except UsageError:
        return
    assert isinstance(sheet, ReportView)
    ET.fromstring(saved_to_form(sheet, "junit"))
    assert_sarif(json.loads(saved_to_form(sheet, "sarif")))
    for line in saved_to_form(sheet, "github").splitlines()[:-1]:
        assert COMMAND.fullmatch(line)
    for token in tokens(saved_to_form(sheet, "comment")):
        assert token.type not in ("link_open", "image")
    assert_nothing_to_obey(saved_to_form(sheet, "text"))


def assert_nothing_to_obey(text: str) -> None:
    """No colour, link or direction for a terminal, and no command for a runner."""
    assert all(line.isprintable() for line in text.split("\n"))
    assert not re.search(r"^\s*::|##\[", text, re.MULTILINE)


def test_lines_of_an_enemy_are_laid_out_like_any_other() -> None:
    line = {
        "indent": 2**52,
        "text": "a\x1b[31m\u202e",
        "ends": ["::b"],
        "style": "link https://evil.example",
        "title": "\x1b",
    }
    lines = [line, {**line, "title": None}, {"indent": 0, "text": "::error::x"}, {"indent": 0, "text": "x" * 15_000}]
    sheet = read_untrusted_view(altered(lambda value: value["sheet"].update(text=lines)))
    text = saved_to_form(sheet, "text", width=80)
    assert_nothing_to_obey(text)
    assert max(map(len, text.splitlines())) <= 80
    colored = saved_to_form(sheet, "text", width=80, color=True)
    assert "\x1b]" not in colored, "no link"
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == text


def test_the_command_line_offers_every_form_of_the_table() -> None:
    for module, names in (("check", FORM_NAMES), ("diff", FORM_NAMES)):
        command: click.Command = import_module(f"hlodiff.cli.{module}_command").command
        (choice,) = (one.type for one in command.params if one.name == "form")
        assert isinstance(choice, click.Choice)
        assert tuple(choice.choices) == names


def test_the_table_of_forms_imports_no_renderer() -> None:
    renderers = sorted({form.renderer.partition(":")[0] for form in FORMS})
    code = f"import sys, hlodiff.report.forms; print([name for name in {renderers} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert all(callable(form.load()) for form in FORMS)


# --- scopes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op_name", "scope"),
    [
        (None, ""),
        ("jit(step)/add", ""),
        ("jit(step)/jit(main)/transpose(jvp(model))/attention/mul", "transpose(jvp(model))/attention"),
        ("jit(step)/while/body/checkpoint(a/b)/dot_general", "while/body/checkpoint(a/b)"),
        ("jit(step)/a/mul;jit(step)/b/add", "a"),
        ("x[1]", ""),
    ],
)
def test_the_scope_of_an_operation(op_name: str | None, scope: str) -> None:
    found = ModuleDiff(OLD, NEW, (replace(edit(), op_name=op_name),))
    assert scopes_of(found) == ([(scope, 1)] if scope else [])


def test_layers_that_differ_in_a_number_are_one_scope_where_there_are_many() -> None:
    few = with_scopes(*(f"jit(f)/layer_{n}/mul" for n in range(3)), "jit(f)/loss/add")
    assert scopes_of(few) == [("layer_0", 1), ("layer_1", 1), ("layer_2", 1), ("loss", 1)]
    many = with_scopes(*(f"jit(f)/layer_{n}/mul" for n in range(24)), "jit(f)/loss/add")
    assert scopes_of(many) == [("layer_*", 24), ("loss", 1)]


def scopes_of(found: ModuleDiff) -> list[tuple[str, int]]:
    (program,) = build_view(report(ProgramComparison("f", "cpu", "compiled", "changed", found))).programs
    return [(scope.name, scope.edited) for scope in program.scopes]


def with_scopes(*names: str) -> ModuleDiff:
    return hand_made(tuple(edit(op_name=name) for name in names), {})
