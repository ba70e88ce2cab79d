"""What one line of a shared helper did to many functions is told once, and of each function a row is left."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from hlodiff.differ import Edit, FieldChange, LimitHit, ProgramComparison, diff
from hlodiff.hlo import read_hlo
from hlodiff.report import Report, read_untrusted_view, to_form, to_terminal
from tests.shown import words as words_of
from tests.test_report_patterns import HEAD, compared, program, tanh


def helped(name: str, times: int = 1, target: str = "cpu") -> ProgramComparison:
    """A program that calls the helper of model.py:31 so often, and has something of its own beside it."""
    rest = tanh(times, 3, "sine")
    old = program(*(tanh(n) for n in range(times)), rest)
    return compared(old, program(*(tanh(n, 1, "exponential") for n in range(times)), rest), name, target)


def fifty(*others: ProgramComparison) -> Report:
    changed = (helped(f"f{n:02}", 1 + n // 9, target) for n in range(12) for target in ("cpu", "tpu-v5e"))
    same = (ProgramComparison(f"g{n:02}", "cpu", "compiled", "identical") for n in range(38))
    return Report("check", "snapshots", "this work tree", (*changed, *same, *others), next="hlodiff review")


WHOLE = """\
= 12 functions changed: 12 at the same cost; tanh -> exponential at model.py:31
next: hlodiff review

function         target        verdict      line
f00 and 11 more  cpu, tpu-v5e  = same cost  model.py:31

the same in several programs
  [1] changed  2x tanh -> exponential  16 flops, 128 B  model.py:31 (loss)
               compiled of 12 functions on 2 targets: f00, f01, f02 and 9 more; counted in f09, 1x
                 in 9 others

only the shared changes: f00, f01, f02, f03, f04, f05, f06, f07, f08, f09, f10, f11; --all lists
  each

▲ costs more, ▼ less, per call and device; below 1 % is not listed
structure: other operations, results may differ
checked 62 programs: 50 functions on cpu, tpu-v5e, compiled HLO of each
24 changed, 38 unchanged
"""


def test_one_edit_in_twelve_functions_of_fifty_is_one_entry_and_their_rows() -> None:
    assert to_terminal(fifty(), width=100) == WHOLE
    listed = to_terminal(replace(fifty(), all=True), width=100)
    assert listed.count("shared       [1]") == 12
    assert "--all" not in listed


@pytest.mark.parametrize("width", [40, 50, 80, 110, 160])
def test_it_fits_on_half_a_screen_of_any_width(width: int) -> None:
    lines = to_terminal(fifty(), width=width).splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("form", ["markdown", "comment", "summary"])
def test_markdown_folds_the_same(form: str) -> None:
    text = to_form(fifty(), form)
    assert len(text.splitlines()) <= 24
    assert "<details" not in text
    assert "| `f00`, `f01`, `f02` and 9 more | `cpu`, `tpu-v5e` | ⚪ same cost | `model.py:31` |" in text
    assert "Nothing but this changed in `f00`, `f01`," in text
    assert to_form(replace(fifty(), all=True), form).count("<details") == 12


def test_machines_are_told_of_each() -> None:
    root = ET.fromstring(to_form(fifty(), "junit"))
    assert len(root.findall(".//testcase")) == 62
    told = [one.text or "" for one in root.iter("system-out")]
    assert sum("the same in several programs:\nchanged 2x tanh -> exponential" in one for one in told) == 24
    value = json.loads(to_form(fifty(), "json"))
    assert [one["count"] for one in value["patterns"]] == [30]
    assert sum(detail["folded"] for detail in value["sheet"]["details"]) == 12


def test_a_function_with_a_change_of_its_own_is_told() -> None:
    own = compared(program(tanh(0), tanh(1, 3)), program(tanh(0, 1, "exponential"), tanh(1, 3, "sine")), "own")
    text = to_terminal(fifty(own), width=100)
    assert "\nown  = same cost on cpu; model.py:32\n" in text
    assert "    changed tanh -> sine  (8 flops, 64 B)  model.py:32 (loss)\n" in text
    assert "f00  changed" not in text
    assert to_form(fifty(own), "comment").count("<details") == 1


def test_two_functions_are_told_as_they_are() -> None:
    text = to_terminal(Report("diff", "a", "b", (helped("f"), helped("g"))))
    assert text.count("  shared with other functions: [1]\n") == 2
    assert "main change" not in text, "two functions need no table"


def test_a_program_that_is_new_on_another_target_is_told() -> None:
    new = ProgramComparison("f00", "cuda-h100", "compiled", "added", op_counts={"add": 2})
    assert "  changed on cpu, tpu-v5e; new: no snapshot on cuda-h100: structure\n" in to_terminal(fifty(new))


def test_a_limit_of_several_targets_is_said_once() -> None:
    programs = []
    for target, opcode, count in (("cpu", "sine", 1), ("tpu-v5e", "cosine", 3)):
        cut = LimitHit("search", 1, count, f"matching was cut short in {count} computations")
        one = compared(program(tanh(0), tanh(1, 3)), program(tanh(0), tanh(1, 3, opcode)), "f")
        assert one.diff is not None
        programs.append(replace(one, target=target, diff=replace(one.diff, limit_hits=(cut,))))
    text = to_terminal(Report("diff", "a", "b", tuple(programs)), width=200)
    assert "tanh -> sine" in text and "tanh -> cosine" in text
    assert text.count("limits: matching was cut short") == 1
    assert "limits: matching was cut short in up to 3 computations" in text


def test_a_limit_is_said_also_of_what_is_folded() -> None:
    told = fifty()
    found = told.programs[0].diff
    assert found is not None
    cut = LimitHit("search", 1, 1, "matching was cut short in 1 computation")
    hit = replace(told.programs[0], diff=replace(found, limit_hits=(cut,)))
    told = replace(told, programs=(hit, *told.programs[1:]))
    assert "\nlimits: f00: matching was cut short in 1 computation: " in to_terminal(told)
    sheet = read_untrusted_view(to_form(told, "json"))
    assert [words.partition(": the edits")[0] for words in sheet.limits] == [
        "f00: matching was cut short in 1 computation"
    ]
    assert "- limits: f00\\: matching was cut short in 1 computation\\: " in to_form(told, "comment")


CALLED = """ENTRY e {
  %c = f32[] constant(1e-06), metadata={stack_frame_id=FRAME}
  %b = f32[8]{0} broadcast(%c), dimensions={}, metadata={stack_frame_id=2}
  %d = f32[] constant(2), metadata={stack_frame_id=FRAME}
  ROOT %t = (f32[8]{0}, f32[]) tuple(%b, %d)
}
"""


@pytest.mark.parametrize(("frame", "line"), [(0, 9), (1, 9), (3, 32)])
def test_a_literal_comes_from_the_line_that_uses_it(frame: int, line: int) -> None:
    """JAX makes a literal once: it has no line, or that of the loop; a line of another place is its own."""
    old = HEAD + CALLED.replace("FRAME", str(frame))

    def lines(literal: str, other: str) -> list[int]:
        (edit,) = diff(read_hlo(old), read_hlo(old.replace(literal, other))).edits
        return [frame.line for frame in edit.source]

    assert lines("constant(1e-06)", "constant(2e-06)")[0] == line
    assert lines("constant(2)", "constant(3)") == {0: [], 1: [31], 3: [32]}[frame], "its user has no line"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("dense<9.99999974E-6>", "1e-05"), ("dense<3.40282347E+38>", "3.4028235e+38"),
        ("dense<-5.000000e-01>", "-0.5"),
        ("dense<0.10000000000000001>", "0.1"), ("dense<0.30000000000000004>", "0.30000000000000004"),
        ("1e-06", "1e-06"),
        ("dense<0x7FC00000>", "nan"), ("dense<16>", "16"), ('dense<"0xAB">', 'dense<"0xAB">'), ("nan", "nan"),
        ("dense<0.000000e+00>", "0"), ("dense<1.0E+300>", "1e+300"),
    ],
)  # fmt: skip
def test_literals_are_written_as_people_do(value: str, words: str) -> None:
    edit = Edit("changed", ("literal",), changes=(FieldChange("literal", value, "7"),))
    assert words_of(edit) == f"literal: {words} -> 7"
