"""JUnit XML: one test case for each program, and one for each finding without a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.report.function_view import ProgramView
from hlodiff.report.headline import format_totals
from hlodiff.report.lines import printable
from hlodiff.report.numbers import format_number
from hlodiff.report.report import outcomes
from hlodiff.report.view import Detail, FindingView, Group, ReportView
from hlodiff.report.wording import format_place

_FAILING = {"broken": "error", "error": "failure"}


def to_junit(view: ReportView, link: str = "") -> str:
    """The report as JUnit XML, which CI systems read.

    A program fails if a finding fails it, or, in a `diff`, which judges nothing, if it differs. A program that could
    not be judged is an error, and so is an unchecked program with a snapshot; without one it is skipped.

    Args:
        view: the report's view.
        link: address of the whole report.

    Returns:
        XML ending in a newline; the totals are its last suite, which has no tests.

    Example:
        >>> to_junit(ReportView("diff", "a", "b", ())).split("\\n")[1][:30]
        '<testsuites name="hlodiff" tes'
    """
    root = ET.Element("testsuites", name="hlodiff")
    details: dict[tuple[str, str, str], Detail] = {}
    for detail in view.details:
        for target in detail.targets or ("",):
            details[detail.name, detail.stage, target] = detail
    suites: dict[str, ET.Element] = {}
    programs: dict[tuple[str, str | None], list[ProgramView]] = {}
    for stage in view.programs:
        programs.setdefault((stage.name, stage.target), []).append(stage)
    for (name, _), stages in programs.items():
        known = [details.get((one.name, one.stage, one.target or "")) for one in stages]
        _program(_suite(suites, root, name), stages, view, [detail for detail in known if detail])
    for finding in view.further_findings():
        _finding(_suite(suites, root, finding.program), finding)
    for suite in suites.values():
        _counted(suite, [suite])
    _counted(root, suites.values())
    last = ET.SubElement(root, "testsuite", name="totals", tests="0", failures="0", errors="0", skipped="0")
    _text(last, "system-out", f"{format_totals(view)}\n{link}".rstrip("\n"))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(suites: dict[str, ET.Element], root: ET.Element, name: str) -> ET.Element:
    if name not in suites:
        suites[name] = ET.SubElement(root, "testsuite", name=printable(name))
    return suites[name]


def _program(suite: ET.Element, stages: Sequence[ProgramView], view: ReportView, details: Sequence[Detail]) -> None:
    """One test case for all stages of a program: they are judged together."""
    first = stages[0]
    where = next((one.where for one in stages if one.where), None)
    case = _case(suite, first.name, f"on {first.target}" if first.target else "program", where.file if where else "")
    (status,) = outcomes(stages).values()
    properties = ET.SubElement(case, "properties")
    verdict = next((one.sentence for one in view.functions if one.name == first.name), "")
    first_words = (("status", status), ("verdict", verdict))
    for name, value in (*first_words, *(pair for one in stages for pair in _properties(one))):
        if value:
            ET.SubElement(properties, "property", name=printable(name), value=printable(value))
    found = [f for f in view.findings if (f.program, f.target) == (first.name, first.target)]
    _outcome(case, next(one for one in stages if one.status == status), stages, view, found)
    if details:
        _text(case, "system-out", "\n".join(line for detail in details for line in _lines(detail, view)))


def _properties(stage: ProgramView) -> Iterable[tuple[str, str]]:
    word = STAGE_NAMES[stage.stage]
    yield f"{word} change", stage.word
    yield f"{word} where", format_place(stage.where)
    yield from ((f"{word} {number.name.removeprefix(f'{word} ')}", format_number(number)) for number in stage.numbers)


def _case(suite: ET.Element, name: str, what: str, file: str = "") -> ET.Element:
    case = ET.SubElement(suite, "testcase", classname=printable(name), name=printable(what), time="0")
    if file:
        case.set("file", printable(file))
    return case


def _outcome(
    case: ET.Element,
    program: ProgramView,
    stages: Sequence[ProgramView],
    view: ReportView,
    findings: list[FindingView],
) -> None:
    """Add why a case did not pass; `program` is the stage that decides."""
    worst = next((f for f in findings if f.severity in _FAILING), None)  # findings are sorted worst first
    changed = [
        f"{STAGE_NAMES[one.stage]}: {one.headline}" for one in stages if one.status == "changed" and one.headline
    ]
    if program.status == "not_checked":
        kind = "error" if program.broken or program.recorded else "skipped"
        _add_outcome(case, kind, "broken" if program.broken else "not-checked", program.reason, program.advice)
    elif worst and program.status != "identical":
        _add_outcome(case, _FAILING[worst.severity], worst.rule, "; ".join(changed) or worst.what, worst.advice)
    elif view.command == "diff" and program.status != "identical":
        _add_outcome(case, "failure", program.status, "; ".join(changed) or program.status, "")


def _finding(suite: ET.Element, finding: FindingView) -> None:
    on = f" on {finding.target}" if finding.target else ""
    where = finding.where.file if finding.where else ""
    case = _case(suite, finding.program, f"{finding.rule}{on}: {finding.what}", where)
    if finding.severity in _FAILING:
        words = "\n".join([*finding.details, finding.advice]).strip()
        _add_outcome(case, _FAILING[finding.severity], finding.rule, finding.what, words)
    elif finding.details:
        _text(case, "system-out", "\n".join(finding.details))


def _add_outcome(case: ET.Element, kind: str, rule: str, what: str, more: str) -> None:
    attributes = {"message": printable(what)} if kind == "skipped" else {"message": printable(what), "type": rule}
    element = ET.SubElement(case, kind, {name: printable(value) for name, value in attributes.items()})
    element.text = printable(f"{what}\n{more}".rstrip("\n"), lines=True)


def _text(parent: ET.Element, tag: str, text: str) -> None:
    ET.SubElement(parent, tag).text = printable(text, lines=True)


def _lines(detail: Detail, view: ReportView) -> Iterable[str]:
    yield f"{STAGE_NAMES[detail.stage]}: {detail.headline}"
    for section in detail.sections:
        yield from (f"{section.title}: {line}" for line in section.lines)
    marks = detail.shared.split()
    shared = [change for change in view.shared if change.mark in marks]
    for group in [*([Group("the same in several programs", tuple(shared))] if shared else []), *detail.groups]:
        yield from ([f"{group.title}:"] if group.title else [])
        for change in group.changes:
            words = [f"{change.kind} {change.count:,}x {change.what}", change.cost, *change.where]
            yield "  ".join(filter(None, words))
    yield from ([detail.more] if detail.more else [])


def _counted(element: ET.Element, suites: Iterable[ET.Element]) -> None:
    cases = [case for suite in suites for case in suite.iter("testcase")]
    counts = {"tests": len(cases)}
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        counts[attribute] = sum(case.find(tag) is not None for case in cases)
    for attribute, count in counts.items():
        element.set(attribute, str(count))
