"""Programs with loops: what counts once for a body that turns often is not held against copies of that body."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from hlodiff.config import Config, budgets
from hlodiff.differ import ProgramComparison, diff
from hlodiff.differ.loop_turns import ONE_TURN, Turns, trip_counts, turns_of
from hlodiff.hlo import Module, read, read_hlo, read_text
from hlodiff.policy import judge
from hlodiff.report import Report, by_how_much, format_number, to_form, to_terminal, upgrade_text
from hlodiff.report.headline import headline
from hlodiff.report.html.overview import tables_of
from hlodiff.report.rows import key_numbers
from tests.past import Past
from tests.test_history import history, told

ROOT = Path(__file__).resolve().parent.parent
OLD_FACTS = {"cost.flops": 2000.0, "cost.bytes_accessed": 4000.0, "memory.temp": 1000.0}
NEW_FACTS = {"cost.flops": 1100.0, "cost.bytes_accessed": 2200.0, "memory.temp": 1500.0}
SUM = """%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}
"""


def all_reduces(count: int, first: str, name: str = "r") -> tuple[str, str]:
    """So many of them, one after the other; their text and the name of the last."""
    lines, last = [], first
    for number in range(count):
        told = f"all-reduce(%{last}), replica_groups={{{{0,1}}}}, to_apply=%sum"
        lines.append(f"  %{name}{number} = f32[8]{{0}} {told}\n")
        last = f"{name}{number}"
    return "".join(lines), last


def copies(count: int) -> str:
    lines, last = all_reduces(count, "p")
    body = f"  %p = f32[8]{{0}} parameter(0)\n{lines}  ROOT %n = f32[8]{{0}} negate(%{last})\n"
    return f"HloModule m\n\n{SUM}\nENTRY %main (p: f32[8]) -> f32[8] {{\n{body}}}\n"


def loop(inside: int = 1, outside: int = 2, turns: int = 2, known: bool = True) -> str:
    """A loop with some all-reduces in its body, and some behind it."""
    lines, last = all_reduces(inside, "a", "i")
    after, end = all_reduces(outside, "o", "r")
    config = f', backend_config={{"known_trip_count":{{"n":"{turns}"}}}}' if known else ""
    return (
        f"HloModule m\n\n{SUM}\n"
        "%cond (c: (s32[], f32[8])) -> pred[] {\n  %c = (s32[], f32[8]{0}) parameter(0)\n"
        "  %i = s32[] get-tuple-element(%c), index=0\n"
        f"  %n = s32[] constant({turns})\n  ROOT %l = pred[] compare(%i, %n), direction=LT\n}}\n\n"
        "%body (b: (s32[], f32[8])) -> (s32[], f32[8]) {\n  %b = (s32[], f32[8]{0}) parameter(0)\n"
        "  %k = s32[] get-tuple-element(%b), index=0\n  %one = s32[] constant(1)\n  %next = s32[] add(%k, %one)\n"
        f"  %a = f32[8]{{0}} get-tuple-element(%b), index=1\n{lines}"
        f"  %t = f32[8]{{0}} tanh(%{last})\n  ROOT %z = (s32[], f32[8]{{0}}) tuple(%next, %t)\n}}\n\n"
        "ENTRY %main (p: f32[8]) -> f32[8] {\n  %p = f32[8]{0} parameter(0)\n  %zero = s32[] constant(0)\n"
        "  %start = (s32[], f32[8]{0}) tuple(%zero, %p)\n"
        f"  %w = (s32[], f32[8]{{0}}) while(%start), condition=%cond, body=%body{config}\n"
        f"  %o = f32[8]{{0}} get-tuple-element(%w), index=1\n{after}  ROOT %n = f32[8]{{0}} negate(%{end})\n}}\n"
    )


def compared(old: str | Module, new: str | Module) -> ProgramComparison:
    before, after = (read_hlo(side) if isinstance(side, str) else side for side in (old, new))
    found = diff(before, after)
    return ProgramComparison("f", "cpu", found.new.stage, "changed", found, OLD_FACTS, NEW_FACTS)


def told_in_every_form(program: ProgramComparison) -> dict[str, str]:
    report = Report("diff", "a", "b", (program,))
    forms = {form: to_form(report, form) for form in ("markdown", "html", "comment", "junit")}
    return {**forms, "text": to_terminal(report)}


def test_a_loop_is_not_held_against_its_copies() -> None:
    program = compared(copies(4), loop())
    assert turns_of(program) == Turns(old=False, new=True, same=False)
    assert "fewer" not in headline(program) and "all-reduce" not in headline(program)
    numbers = {number.name: number for number in key_numbers(program)}
    assert format_number(numbers["all-reduce"]) == f"4 -> 3 (128 B -> 96 B) (after: {ONE_TURN})"
    assert format_number(numbers["flops"]) == f"2,000 -> 1,100 (after: {ONE_TURN})"
    changes = {name: by_how_much(number) for name, number in numbers.items()}
    assert changes.pop("temp") == "+50 %" and set(changes.values()) == {""}
    for form, text in told_in_every_form(program).items():
        assert ONE_TURN in text, form
        assert "-45 %" not in text and "-25 %" not in text and "1 all-reduce fewer" not in text, form
        assert "+50 %" in text or form == "junit", form


def test_the_other_way_round_and_with_several_loops() -> None:
    back = compared(loop(), copies(4))
    assert turns_of(back) == Turns(old=True, new=False, same=False)
    assert "more" not in headline(back)
    assert format_number(next(n for n in key_numbers(back) if n.name == "flops")).endswith(f"(before: {ONE_TURN})")


SAME = [
    ("more in the body", loop(), loop(inside=2)),
    ("more behind the loop", loop(), loop(outside=4)),
    ("turns that nobody knows", loop(known=False), loop(inside=2, known=False)),
]
DIFFERENT = [
    ("another trip count", loop(turns=2), loop(turns=3, inside=2)),
    ("another condition", loop(known=False).replace("LT", "LE"), loop(known=False, inside=2).replace("LT", "NE")),
    ("moved out of the loop", loop(inside=3, outside=2), loop(inside=1, outside=3)),
    ("moved into the loop", loop(inside=1, outside=3), loop(inside=2, outside=1)),
]


@pytest.mark.parametrize(("old", "new"), [(old, new) for _, old, new in SAME], ids=[name for name, _, _ in SAME])
def test_equal_loops_compare_turn_by_turn(old: str, new: str) -> None:
    program = compared(old, new)
    assert turns_of(program) == Turns(old=True, new=True, same=True)
    assert "all-reduce" in headline(program) and f"({ONE_TURN})" in headline(program)
    for form, text in told_in_every_form(program).items():
        assert ONE_TURN in text and ("-45 %" in text or form == "junit"), form


@pytest.mark.parametrize(
    ("old", "new"), [(old, new) for _, old, new in DIFFERENT], ids=[name for name, _, _ in DIFFERENT]
)
def test_different_loops_do_not_compare(old: str, new: str) -> None:
    program = compared(old, new)
    assert turns_of(program) == Turns(old=True, new=True, same=False)
    assert "fewer" not in headline(program) and "more" not in headline(program)
    for form, text in told_in_every_form(program).items():
        assert ONE_TURN in text and "-45 %" not in text, form


def test_what_only_one_side_has_came_or_went_whatever_loops_do() -> None:
    assert f"3 all-reduces added (96 B) (after: {ONE_TURN})" in headline(compared(copies(0), loop()))
    assert f"3 all-reduces gone (96 B) (before: {ONE_TURN})" in headline(compared(loop(), copies(0)))


def test_programs_without_loops_say_nothing_of_turns() -> None:
    program = compared(copies(4), copies(3))
    assert turns_of(program) == Turns() and "1 all-reduce fewer (4 -> 3)" in headline(program)
    for form, text in told_in_every_form(program).items():
        assert ONE_TURN not in text and ("-45 %" in text or form == "junit"), form


@pytest.mark.parametrize("stage", ["compiled.hlo", "stablehlo.mlir"])
@pytest.mark.parametrize("target", ["cpu", "tpu-v5e-2x2", "cuda-h100-x4"])
def test_real_layers_as_a_scan_and_as_copies(target: str, stage: str) -> None:
    one, many = (read(ROOT / "snapshots" / name / target / stage) for name in ("stack_scanned", "stack_unrolled"))
    assert turns_of(compared(many, one)) == Turns(old=False, new=True, same=False)
    assert turns_of(compared(one, many)) == Turns(old=True, new=False, same=False)
    assert turns_of(compared(one, one)).same
    for form, text in told_in_every_form(compared(many, one)).items():
        assert "-45 %" not in text and not re.search(r"\b(fewer|more) \(\d", text), form


def test_json_says_it_beside_its_numbers() -> None:
    report = Report("diff", "a", "b", (compared(copies(4), loop()), compared(copies(4), copies(3))))
    first, second = json.loads(to_form(report, "json"))["programs"]
    assert first["per"] == ONE_TURN and first["loops"] == {"old": False, "new": True, "same": False}
    assert second["per"] is None and second["loops"] == {"old": False, "new": False, "same": True}
    assert first["metrics"]["collectives.all-reduce"] == [4, 3]


def budget_says(program: ProgramComparison, **table: object) -> list[str]:
    config = Config(root=Path(), fail_on=(), budgets=budgets([table], "pyproject.toml: [tool.hlodiff] budgets"))
    return [found.what for found in judge([program], config) if found.rule == "budget"]


def test_a_budget_says_what_it_counts() -> None:
    worse = replace(compared(copies(2), loop()), old_facts=NEW_FACTS, new_facts=OLD_FACTS)
    assert budget_says(worse, **{"collectives.all-reduce": 2}) == [
        f"collectives.all-reduce is 3; at most 2 ({ONE_TURN})"
    ]
    assert budget_says(worse, flops={"max_increase": "5 %"}) == [
        f"flops grew from 1,100 to 2,000; at most +5 % ({ONE_TURN})"
    ]
    assert budget_says(replace(worse, new_facts=OLD_FACTS | {"memory.temp": 4000}), temp_bytes=1000) == [
        "temp_bytes is 3.9 KiB; at most 1,000 B"
    ]
    same = compared(loop(), loop(outside=3))
    assert budget_says(same, **{"collectives": {"ratchet": True}}) == [
        f"collectives grew from 3 to 4 (+33.3 %); it may only fall ({ONE_TURN})"
    ]
    alone = ProgramComparison("f", "cpu", "compiled", "identical", module=read_hlo(loop()))
    assert budget_says(alone, **{"collectives.all-reduce": 2}) == [
        f"collectives.all-reduce is 3; at most 2 ({ONE_TURN})"
    ]
    assert budget_says(compared(copies(2), copies(3)), collectives=2) == ["collectives is 3; at most 2"]


def test_how_often_loops_turn() -> None:
    assert trip_counts(read_text(loop(turns=5))) == ["5"]
    assert trip_counts(read_text(loop(turns=5, known=False).replace("LT", "EQ"))) == ["unknown"]
    assert trip_counts(read_text(copies(1))) == []
    places = read(ROOT / "snapshots/ode_solve/cpu/stablehlo.mlir")
    assert trip_counts(places) == ["unknown", "unknown x unknown (2 loops)"]


def test_histories_take_no_share_of_programs_with_other_loops(tmp_path: Path) -> None:
    past = Past(tmp_path / "repository")
    for number, (subject, turns) in enumerate([("copies", ()), ("a loop", ("6",)), ("larger", ("6",))]):
        folder = past.record("step", *["sine"] * (number + 1), version=2)
        file = folder / "summary.yaml"
        file.write_text(f"{file.read_text()}turns:\n  compiled: {list(turns)}\n")
        past.commit(subject)
    one = history(past, "step", "flops")
    assert [row.comparable("flops") for row in one.rows] == [True, False, True]
    assert one.rows[1].comparable("temp_bytes")
    notes = {subject: said for subject, _, said in told(past, one, "flops")}
    assert notes["a loop"] == f"other loops than before; numbers are of {ONE_TURN}"
    assert notes["larger"] == ""


def test_tables_of_a_page_have_no_share_but_of_memory() -> None:
    tables = {table["title"]: table["rows"] for table in tables_of(compared(copies(4), loop()))}
    assert f"Cost (after: {ONE_TURN})" in tables and "Memory" in tables
    assert [row[-1] for row in tables["Memory"]] == ["+50 %"]
    assert {row[-1] for title, rows in tables.items() if title != "Memory" for row in rows} == {""}
    same = {table["title"]: table["rows"] for table in tables_of(compared(loop(), loop(inside=2)))}
    assert [row[-1] for row in same[f"Cost ({ONE_TURN})"]] == ["-45 %", "-45 %"]


def test_sums_of_an_upgrade_take_no_share_of_different_loops() -> None:
    def last(program: ProgramComparison) -> str:
        lines = upgrade_text(Report("diff", "a", "b", (program,))).split("\n")
        return next(line for line in lines if "together" in line)

    assert "instructions 18 -> 14 (-22.2 %)" in last(compared(copies(4), copies(3)))
    different = last(compared(copies(4), loop()))
    assert "temp 1000 B -> 1.5 KiB (+50.0 %)" in different and "instructions 18 -> " in different
    assert different.count("%") == 1


def test_loops_behind_calls_that_nest_are_counted_and_not_listed() -> None:
    """A short text that calls one loop 2**60 times."""
    calls = "".join(
        f"%c{n} (x: f32[8]) -> f32[8] {{\n  %x = f32[8]{{0}} parameter(0)\n"
        f"  %a = f32[8]{{0}} call(%x), to_apply=%{f'c{n - 1}' if n else 'inner'}\n"
        f"  ROOT %b = f32[8]{{0}} call(%a), to_apply=%{f'c{n - 1}' if n else 'inner'}\n}}\n\n"
        for n in range(60)
    )
    entry = (
        "ENTRY %top (p: f32[8]) -> f32[8] {\n  %p = f32[8]{0} parameter(0)\n"
        "  ROOT %r = f32[8]{0} call(%p), to_apply=%c59\n}\n"
    )
    text = loop().replace("ENTRY %main", "%inner") + f"\n{calls}{entry}"
    assert trip_counts(read_text(text)) == [f"2 ({2**60} loops)"]
    assert turns_of(compared(text, text)).same
