"""The HTML page: whole in itself, the same numbers as JSON, harmless whatever it is told, and bounded."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlodiff.cli import run
from hlodiff.differ import ModuleDiff, ProgramComparison, diff
from hlodiff.hlo import Frame, Module, print_instruction, read_hlo
from hlodiff.report import Report, build_view, format_totals, to_form, to_json
from hlodiff.report.html import PageLimits, to_page
from tests.page_parts import Page, long_program, parsed
from tests.test_report import NEW, OLD
from tests.test_report_forms import SLOWLY, changed, every_kind, reports

ROOT = Path(__file__).resolve().parent.parent
REAL = diff(OLD, NEW)


def real(name: str = "f", **more: Any) -> Report:
    facts = {"memory.temp": 1024.0}, {"memory.temp": 4096.0}
    return Report("diff", "old", "new", (ProgramComparison(name, "cpu", "compiled", "changed", REAL, *facts),), **more)


# --- one file, and nothing from anywhere else ------------------------------------------------------------------------


def hash_of(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def assert_closed(page: Page) -> None:
    """It holds no element, attribute or address that could load or run anything but its own style and script."""
    (style,), scripts = page.all("style"), [e for e in page.all("script") if "type" not in e.attributes]
    (script,) = scripts
    rules = dict(rule.partition(" ")[::2] for rule in page.policy().split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'{hash_of(script.text)}'"
    assert rules["style-src"] == f"'{hash_of(style.text)}'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert {e.tag for e in page.elements} <= {
        "html", "head", "meta", "title", "style", "body", "a", "header", "b", "span", "p", "code", "button", "aside",
        "dl", "div", "dt", "dd", "kbd", "main", "section", "h1", "h2", "h3", "svg", "rect", "ul", "li", "ol", "table",
        "thead", "tbody", "tr", "th", "td", "label", "input", "select", "option", "details", "summary", "noscript",
        "script", "pre",
    }  # fmt: skip
    names = {name for e in page.elements for name in e.attributes}
    assert not {name for name in names if name.startswith("on") or name in ("src", "style", "action", "srcdoc")}
    addresses = [e.attributes["href"] for e in page.elements if "href" in e.attributes]
    assert all(re.fullmatch(r"#[\w%/.~,@+=:-]*", address, re.ASCII) for address in addresses)
    assert "url(" not in style.text
    assert "@import" not in style.text


def test_the_page_is_whole_in_itself() -> None:
    for report in (real(), every_kind(), Report("diff", "a", "b", ())):
        assert_closed(parsed(to_page(report)))


def test_the_first_view_says_what_all_reports_say() -> None:
    report = every_kind()
    page, sheet = parsed(to_page(report)), build_view(report)
    (title,) = [e.text for e in page.all("p", id="totals")]
    (verdict,) = [e.text for e in page.all("h1", id="verdict")]
    assert verdict.endswith(sheet.verdict) and "worse on cpu" in verdict, "the verdict first"
    assert f"{title}; next: {sheet.next}" == format_totals(sheet)
    both = {(program.name, program.target or "") for program in sheet.programs}
    assert {(row["data-name"], row["data-target"]) for row in page.rows()} == both
    counts = sheet.totals()
    words = {"could not be judged": "broken", "orphaned": "removed", "new": "added", "unchanged": "identical"}
    tiles = {
        e.attributes["data-status"]: int(e.attributes["data-count"])
        for e in page.all("button")
        if "data-status" in e.attributes
    }
    for tile, count in tiles.items():
        assert count == counts[words.get(tile, tile.replace(" ", "_"))] - (tile == "not checked") * counts["broken"]
    assert sum(tiles.values()) == counts["programs"] == len(both)
    shown = [e.text for e in page.all("b") if e.attributes.get("class", "").startswith("badge ")]
    assert sorted(shown) == sorted(finding.severity for finding in sheet.findings)
    labels = [e.text for e in page.all("code", class_="quiet")]
    assert labels[:3] == ["broken", "growth", "growth"]  # what the table does not say comes first


def test_nothing_to_compare() -> None:
    page = parsed(to_page(Report("diff", "a", "b", ())))
    assert [e.text for e in page.all("h1", id="totals")] == ["nothing to compare"]
    assert page.rows() == []
    assert page.bodies() == []


# --- the same numbers ------------------------------------------------------------------------------------------------


def test_numbers_are_those_of_json() -> None:
    report = real()
    (program,) = json.loads(to_json(report))["programs"]
    (body,) = parsed(to_page(report)).bodies()
    tables = {table["title"]: {row[0]: row[1:3] for row in table["rows"]} for table in body["tables"]}
    assert tables["Operations"] == program["op_counts"]
    assert tables["Memory"] == {"temp": [1024.0, 4096.0]}
    counted = {name: pair for title, table in tables.items() if title != "Operations" for name, pair in table.items()}
    for name, pair in program["metrics"].items():
        short = name.removeprefix("memory.").removeprefix("cost.").removeprefix("custom_calls.")
        assert counted[short.replace("_", " ")] == pair
    edits = body["changes"]["edits"]["list"]
    assert sum(edit["count"] + sum(f["count"] for f in edit["followers"]) for edit in edits) == sum(
        program["summary"].values()
    )


def test_a_change_says_all_there_is_to_know(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("\n".join(f"line {n}" for n in range(1, 60)))
    (body,) = parsed(to_page(real(root=str(tmp_path)))).bodies()
    (change,) = body["changes"]["edits"]["list"]
    assert (change["kind"], change["count"], change["where"]) == ("changed", 1, "model.py:31 (loss)")
    assert change["what"] == "tanh -> exponential: memory space: device -> host"
    assert change["fields"] == [["opcode", "tanh", "exponential"], ["memory space", "device", "host"]]
    assert change["stack"] == ["model.py:31 (loss)"]
    (source,) = change["sources"]
    assert (source["side"], source["first"]) == ("now", 27)
    assert source["lines"][4] == "line 31"
    assert change["sites"] == [[1, 1]]
    assert body["listing"]["old"][1].startswith("%t = f32[8]{0} tanh(%p)")
    assert body["listing"]["new"] == [0, body["listing"]["new"][1], 0]


def test_programs_that_changed_alike_are_held_once() -> None:
    one = real().programs[0]
    report = Report("diff", "a", "b", (one, replace(one, target="tpu"), replace(one, name="g")))
    page = parsed(to_page(report))
    assert [stage["data-body"] for stage in page.stages()] == ["0", "0", "0"]
    assert len(page.bodies()) == 1


# --- which line is which ---------------------------------------------------------------------------------------------


def body_of(found: ModuleDiff, **more: Any) -> dict[str, Any]:
    """What a page shows of one program that changed."""
    program = ProgramComparison("f", "cpu", "compiled", "changed", found)
    (body,) = parsed(to_page(Report("diff", "a", "b", (program,), **more))).bodies()
    return body


def scheduled(rows: Sequence[int]) -> Module:
    """Arrays of different sizes in this order, all of which are returned."""
    lines = [f"  %c{n} = f32[{n + 1}] constant({{...}})" for n in rows]
    shapes, names = ", ".join(f"f32[{n + 1}]" for n in sorted(rows)), ", ".join(f"%c{n}" for n in sorted(rows))
    returned = f"  ROOT %r = ({shapes}) tuple({names})"
    return read_hlo("\n".join(["HloModule m, is_scheduled=true\n\nENTRY %e {", *lines, returned, "}\n"]))


@settings(deadline=None)
@given(st.lists(st.integers(-1, 7), max_size=9), st.integers(0, 3))
def test_rows_use_up_both_sides_and_pair_what_is_paired(wanted: list[int], more: int) -> None:
    used: set[int] = set()
    places = [p if p >= 0 and not (p in used or used.add(p)) else -1 for p in wanted]  # type: ignore[func-returns-value]
    size = max([p + 1 for p in places], default=0) + more
    kept = {p: n for n, p in enumerate(places) if p >= 0}
    found = diff(scheduled(range(len(places))), scheduled([kept.get(p, 100 + p) for p in range(size)]))
    (pair,) = found.script.pairs
    partners = list(pair.mapping)
    if found.identical:
        return
    listing = body_of(found)["listing"]
    (block,) = listing["blocks"]
    names = [[it.name for it in module.entry_computation.instructions] for module in (found.old, found.new)]
    matched = {names[0][at]: names[1][p] for at, p in enumerate(partners) if p >= 0}
    old = new = pairs = 0
    for sign, count in block["r"]:
        for _ in range(count):
            if sign == "=":
                line = listing["old"][old]
                one, other = (text.split("%")[1].split(" ")[0] for text in (line, listing["new"][new] or line))
                assert matched[one] == other
                pairs += 1
            old, new = old + (sign != "+"), new + (sign != "-")
    assert (old, new) == (len(partners), size + 1)
    # Where few could stand side by side, the old side is listed in the order of the new one.
    assert pairs == (len(matched) if block["sorted"] else longest(partners))
    assert bool(block["sorted"]) == (longest(partners) < 0.7 * len(matched))


def longest(partners: list[int]) -> int:
    """Length of the longest ascending list, the slow way."""
    best: list[int] = []
    for at, partner in enumerate(partners):
        before = [n for n, other in zip(best, partners[:at], strict=True) if other < partner]
        best.append(1 + max(before, default=0) if partner >= 0 else 0)
    return max(best, default=0)


def shuffled(text: str) -> str:
    """The same program with its layers' constants first, in another order."""
    head, _, body = text.partition("  %x = ")
    lines = body.splitlines()
    fed = [pair for number in range(len(lines) // 5) for pair in (lines[5 * number + 2], lines[5 * number + 1])]
    others = [line for line in lines[1:] if line not in fed]
    return "\n".join([head + "  %x = " + lines[0], *fed[::-1], *others]) + "\n"


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_every_instruction_stands_in_the_listing_beside_its_partner(is_shuffled: bool) -> None:
    text = long_program(40)
    before = read_hlo(shuffled(text) if is_shuffled else text)
    found = diff(before, read_hlo(long_program(40, 20, "sine", more=1)))
    body = body_of(found)
    listing = body["listing"]
    shown = Counter((listing["old"][old], listing["new"][new] or listing["old"][old]) for old, new in pairs_of(listing))
    assert shown == Counter(
        (print_instruction(found.old, pair.old, old), print_instruction(found.new, pair.new, new))
        for pair in found.script.pairs
        for old, new in enumerate(pair.mapping)
        if new >= 0
    )
    assert bool(listing["blocks"][0]["sorted"]) == is_shuffled
    again = sum(sum(block["size"]) for block in listing["blocks"] if block["again"])
    assert again == 3  # the fused computation that one more fusion calls
    assert len(listing["old"]) == found.old.instruction_count()
    assert len(listing["new"]) == found.new.instruction_count() + again
    for change in body["changes"]["edits"]["list"]:
        for side, name in enumerate(("old", "new")):
            lines = [listing[name][site[side]] for site in change["sites"] if site[side] >= 0]
            assert (change["texts"][side] in lines) == bool(lines)


def pairs_of(value: dict[str, Any]) -> Iterable[tuple[int, int]]:
    """Which line stands beside which."""
    found = dict(value["twins"])
    for block in value["blocks"]:
        old, new = block["s"]
        for sign, count in block["r"]:
            for _ in range(count):
                if sign == "=":
                    found[old] = new
                old, new = old + (sign != "+"), new + (sign != "-")
    return found.items()


# --- bounds ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_report() -> Report:
    found = diff(read_hlo(long_program(400)), read_hlo(long_program(400, 200, "sine", more=200)))
    return Report("diff", "old", "new", (ProgramComparison("long", None, "compiled", "changed", found),))


@pytest.mark.parametrize(
    ("room", "says", "shows"),
    [
        (10**7, [], {"listing", "drawings", "changes"}),
        (20_000, ["Only lines near an edit"], {"listing", "drawings", "changes"}),
        (5_200, ["The programs are not shown line by line"], {"drawings", "changes"}),
        (4_000, ["The programs are not shown line by line", "Changes are not listed"], set()),
        (300, ["Nothing of this program"], set()),
    ],
)
def test_what_does_not_fit_is_left_out_and_said(
    long_report: Report, room: int, says: list[str], shows: set[str]
) -> None:
    page = parsed(to_page(long_report, limits=PageLimits(page_bytes=room)))
    (body,) = page.bodies()
    (element,) = page.all("script", id="body-0")
    assert len(element.text) <= room
    said = [words for words in body["left_out"] if not re.match(r"\d+ drawing", words)]
    assert [words[: len(start)] for words, start in zip(said, says, strict=True)] == says
    assert {name for name in ("listing", "drawings", "changes") if name in body} == shows
    for change in body["changes"]["edits"]["list"] if "listing" in shows else ():
        if change["what"] == "tanh -> sine":
            ((_, line),) = change["sites"]
            assert " sine(" in body["listing"]["new"][line]


def test_too_many_instructions_and_too_many_programs_are_said(long_report: Report) -> None:
    (body,) = parsed(to_page(long_report, limits=PageLimits(instructions=100))).bodies()
    assert body["left_out"][0] == "The programs are not shown line by line: 2,405 instructions are more than 100."
    many = Report("diff", "a", "b", tuple(ProgramComparison(f"f{n}", None, "compiled", "identical") for n in range(20)))
    page = parsed(to_page(many, limits=PageLimits(programs=5)))
    assert len(page.rows()) == 5
    assert "15 programs are left out of this table; JSON has all." in [e.text for e in page.all("p", class_="note")]


# --- what others wrote -----------------------------------------------------------------------------------------------


@SLOWLY
@given(reports())
def test_nothing_breaks_out(report: Report) -> None:
    text = to_page(report).encode("utf-8", "backslashreplace").decode()
    page = parsed(text)
    assert_closed(page)
    assert all(c == "\n" or c.isprintable() for c in text)
    assert len(page.rows()) == len({(program.name, program.target) for program in report.programs})
    assert all(isinstance(body, dict) for body in page.bodies())


HOSTILE = "</script><!--&"


@pytest.mark.parametrize(("count", "kind"), [(1, "application/json"), (2_000, "application/zlib")])
def test_data_cannot_end_its_element(count: int, kind: str) -> None:
    rows = "".join(f"  %t{n} = f32[8]{{0}} sine(%p)\n" for n in range(count))
    text = f"HloModule m\n\nENTRY e {{\n  %p = f32[8]{{0}} parameter(0)\n{rows}"
    text += f'  ROOT %r = f32[8]{{0}} custom-call(%t0), custom_call_target="{HOSTILE}"\n}}\n'
    found = diff(read_hlo(text), read_hlo(text.replace("sine(%p)", "tanh(%p)")))
    page = parsed(to_page(Report("diff", "a", "b", (ProgramComparison("f", None, "compiled", "changed", found),))))
    (element,) = (one for one in page.all("script") if one.attributes.get("type", "") == kind)
    assert not set(element.text) & set("<>&\u2028")
    assert kind == "application/json" or re.fullmatch(r"[\w+/]+=*", element.text)
    (body,) = page.bodies()
    assert any(HOSTILE in str(line) for line in body["listing"]["old"])


def test_only_python_of_the_project_is_shown(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    for name in ("model.py", "secret.env", ".git/hook.py", ".hidden.py", "../outside.py"):
        (root / name).write_text("secret\nsecret\nsecret\n")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    body = "  p = f32[8]{0} parameter(0)\n  ROOT r = f32[8]{0} sine(p)"
    text = f"HloModule m\n\nENTRY e {{\n{body}\n}}\n"
    old, new = read_hlo(text), read_hlo(text.replace("sine", "tanh"))

    def shown(file: str, line: int, top: str = str(root)) -> list[dict[str, Any]]:
        """The lines of Python beside a change of this line."""
        sides = []
        for module in (old, new):
            entry = module.computations[0]
            placed = tuple(replace(it, frame=0) for it in entry.instructions)
            sides.append(
                replace(module, computations=(replace(entry, instructions=placed),), frames=(Frame(file, line, "f"),))
            )
        (change,) = body_of(diff(*sides), root=top)["changes"]["edits"]["list"]
        return [{name: one[name] for name in ("file", "line", "first", "lines")} for one in change["sources"]]

    assert shown("model.py", 2) == [{"file": "model.py", "line": 2, "first": 1, "lines": ["secret"] * 3}]
    assert shown(str(root / "model.py"), 3)
    refused = ["secret.env", ".git/hook.py", ".hidden.py", "../outside.py", "link.py", str(tmp_path / "outside.py")]
    refused += ["/else/model.py", "C:\\else\\model.py", "nowhere.py", "site-packages/jax/nn.py", "\0.py"]
    assert [name for name in refused if shown(name, 2)] == []
    assert [line for line in (0, -1, 4, 10**9) if shown("model.py", line)] == []
    assert shown("model.py", 2, "") == []


# --- the command line ------------------------------------------------------------------------------------------------


def test_diff_writes_the_page_and_it_is_the_same_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "a.hlo").write_text(long_program(30))
    (tmp_path / "b.hlo").write_text(long_program(30, 7, "sine", more=2))
    pages = []
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "hlodiff", "diff", "a.hlo", "b.hlo", "--format", "html", "-o", f"{seed}.html"]
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, cwd=tmp_path, env=env, check=True, timeout=120)
        pages.append((tmp_path / f"{seed}.html").read_text())
    assert pages[0] == pages[1]
    assert pages[0].count("<!DOCTYPE html>") == 1


def test_the_page_beside_another_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.hlo").write_text(long_program(3))
    Path("b.hlo").write_text(long_program(3, 1, "sine"))
    assert run(["diff", "a.hlo", "b.hlo", "--report", "html=page.html", "--format", "json"]) == 0
    value = json.loads(capsys.readouterr().out)
    page = parsed(Path("page.html").read_text())
    assert [(row["data-name"], row["data-kind"]) for row in page.rows()] == [
        (program["name"], program["status"]) for program in value["programs"]
    ]
    assert run(["diff", "a.hlo", "b.hlo", "--format", "html"]) == 0
    # Who made the page already is told nothing about how to make it.
    next_command = '<p class="then">next: <code>hlodiff diff a.hlo b.hlo --format html -o diff.html</code></p>'
    assert capsys.readouterr().out == Path("page.html").read_text().replace(next_command, "")


def test_check_has_the_page_too() -> None:
    text = to_form(every_kind(), "html")
    assert text == to_page(every_kind())
    assert changed().name in text
