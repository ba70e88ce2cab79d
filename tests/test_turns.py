"""Programs with loops: what counts once for a body that turns often is not held against copies of that body."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from hlodiff.config import Config, budgets
from hlodiff.differ import Cost, ExecutedCount, ProgramComparison, UncountedLoop, diff, format_loops
from hlodiff.hlo import Module, read, read_hlo, read_text
from hlodiff.policy import Finding, judge
from hlodiff.report import Number, Report, build_view, format_cost, to_form, to_json, to_terminal, upgrade_text
from hlodiff.report.numbers import format_executed_pair, key_numbers, of_which_turns
from hlodiff.report.verdict import has_unknown, judged
from hlodiff.workflows.check import following
from tests.page_parts import parsed
from tests.past import Past
from tests.shown import headline, marks, numbers
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


def loops_of(program: ProgramComparison) -> dict[str, bool]:
    """Which sides have loops, and whether they are the same, as JSON has it."""
    (found,) = json.loads(to_json(Report("diff", "a", "b", (program,))))["programs"]
    loops: dict[str, bool] = found["loops"]
    return loops


def words_of(program: ProgramComparison) -> dict[str, tuple[str, str]]:
    return numbers(program)


def test_a_loop_is_compared_with_its_copies_by_what_one_call_does() -> None:
    """Two all-reduces in the text of the loop, and one in its body, which turns twice: four, as before."""
    program = compared(copies(4), loop())
    assert "fewer" not in headline(program) and "all-reduce" not in headline(program)
    words = words_of(program)
    assert "all-reduce" not in words
    assert words["flops"] == ("40 -> 58 (executed)", "+45 %")
    assert words["bytes accessed"] == ("320 B -> 472 B (executed)", "+48 %")
    assert words["temp"] == ("1000 B -> 1.5 KiB", "+50 %")
    for form, text in told_in_every_form(program).items():
        assert "-45 %" not in text and "-25 %" not in text and "1 all-reduce fewer" not in text, form
        assert ("executed" in text and "+48 %" in text) or form == "junit", form


def test_turns_multiply_what_grew() -> None:
    more = compared(loop(), loop(inside=2))
    assert "2 all-reduces more (4 -> 6, executed)" in headline(more)
    assert words_of(more)["all-reduce"] == ("4 -> 6 (128 B -> 192 B) (executed)", "+50 %")
    longer = compared(loop(), loop(turns=3))
    assert "1 all-reduce more (4 -> 5, executed)" in headline(longer)
    moved_out = compared(loop(inside=3, outside=2), loop(inside=1, outside=3))
    assert "3 all-reduces fewer (8 -> 5, executed)" in headline(moved_out)
    behind = compared(loop(), loop(outside=4))
    assert "2 all-reduces more (4 -> 6, executed)" in headline(behind)


def open_loop(inside: int = 1, outside: int = 2) -> str:
    """A loop that ends when its counter meets a number that a step of two may miss: nobody knows how often it turns."""
    return loop(inside, outside, known=False).replace("direction=LT", "direction=EQ")


def test_an_unknown_trip_count_is_compared_turn_by_turn_or_not_at_all() -> None:
    same = compared(open_loop(), open_loop(inside=2))
    turn = "per turn of the loop %w"
    assert f"all-reduces 1 {turn} -> 2 {turn}" in headline(same)
    assert words_of(same)["all-reduce"] == (f"1 -> 2 {turn} (executed)", "+100 %")
    other = compared(copies(4), open_loop())
    assert f"all-reduces 4 -> 2 + 1 {turn}" in headline(other)
    assert words_of(other)["all-reduce"][1] == ""
    for program in (same, other):
        for form, whole in told_in_every_form(program).items():
            text = re.sub(r"<script.*?</script>", "", whole, flags=re.S)
            assert "more (" not in text and "fewer" not in text and "per turn of" in text, form


def test_more_outside_of_a_loop_of_unknown_length_than_there_was_is_more() -> None:
    """However often the loop turns; and a number that may be more or less has no direction."""
    for old, new, mark in ((copies(4), open_loop(outside=6), "worse"), (open_loop(outside=6), copies(4), "better")):
        program = compared(old, new)
        assert marks(program)["all-reduce"] == mark
    program = compared(copies(4), open_loop(outside=3))
    assert marks(program)["all-reduce"] == ""


DATA = loop(known=False, turns=9).replace(
    "ROOT %l = pred[] compare(%i, %n), direction=LT",
    "%l = pred[] compare(%i, %n), direction=LT\n  %f = f32[8]{0} get-tuple-element(%c), index=1\n"
    "  %s = f32[1]{0} slice(%f), slice={[0:1]}\n  %v = f32[] reshape(%s)\n  %e = f32[] constant(1)\n"
    "  %g = pred[] compare(%v, %e), direction=GT\n  ROOT %q = pred[] and(%l, %g)",
)


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        ("%e = f32[] constant(1)", "%e = f32[] constant(2)", "same cost on cpu at equal trip counts"),
        ("tanh(%i0)\n", "cosine(%y)\n  %y = f32[8]{0} tanh(%i0)\n", "worse on cpu at equal trip counts: more"),
    ],
)
def test_a_verdict_says_that_data_may_end_a_loop_after_other_turns(was: str, now: str, words: str) -> None:
    assert was in DATA
    program = replace(compared(DATA, DATA.replace(was, now)), old_facts={}, new_facts={})
    assert words in to_terminal(Report("diff", "a", "b", (program,)))
    known = replace(compared(loop(), loop().replace("tanh", "cosine")), old_facts={}, new_facts={})
    assert "= same cost on cpu; tanh" in to_terminal(Report("diff", "a", "b", (known,)))


def first_line(program: ProgramComparison) -> str:
    return " ".join(to_terminal(Report("diff", "a", "b", (program,)), width=400).split("\n")[0].split())


def test_a_condition_that_is_printed_in_another_order_is_the_same() -> None:
    index, number = "  %i = s32[] get-tuple-element(%c), index=0\n", "  %n = s32[] constant(2)\n"
    turned = open_loop(inside=2).replace(index + number, number + index)
    assert turned != open_loop(inside=2)
    program = compared(open_loop(), turned)
    assert marks(program)["all-reduce"] == "worse"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            copies(4), open_loop(),
            "worse on cpu: temp +50 %, total work cannot be judged (all-reduce 4 -> 2 + 1 per turn of the loop %w);",
        ),
        (loop(), loop(inside=3), "worse on cpu: +4 all-reduces (128 B), bytes accessed +54 %;"),
    ],
)  # fmt: skip
def test_memory_says_nothing_of_work_that_hangs_on_unknown_turns(old: str, new: str, words: str) -> None:
    assert words in first_line(compared(old, new))


def test_the_same_memory_says_nothing_of_it_either() -> None:
    program = replace(compared(copies(4), open_loop()), old_facts={}, new_facts={})
    known = "total work cannot be judged (all-reduce 4 -> 2 + 1 per turn of the loop %w)"
    assert f"mixed on cpu: {known}" in first_line(program)


def test_a_loop_with_another_tolerance_is_compared_at_equal_trip_counts() -> None:
    other = open_loop(inside=3).replace("constant(2)", "constant(3)")
    program = replace(compared(open_loop(), other), old_facts={}, new_facts={})
    words = "worse on cpu at equal trip counts: more all-reduces (1 -> 3 per turn of the loop %w), "
    assert f"{words}more bytes accessed (149 B -> 277 B per turn)" in first_line(program)


def test_work_outside_of_a_loop_that_data_ends_weighs_little() -> None:
    """One operation more before the loop is half a turn; the turn itself has the threshold of its own."""
    more = DATA.replace("constant(9)", "constant(900)")
    before = more.replace(
        "ROOT %n = f32[8]{0} negate(%r1)", "%m = f32[8]{0} sine(%r1)\n  ROOT %n = f32[8]{0} negate(%m)"
    )
    assert words_of(compared(more, before))["flops"] == ("24 -> 32 outside of the loop %w (executed)", "+33 %")
    assert marks(compared(more, before))["flops"] == ""
    assert "same cost on cpu at equal trip counts" in first_line(
        replace(compared(more, before), old_facts={}, new_facts={})
    )
    turn = more.replace("tanh(%i0)\n", "cosine(%y)\n  %y = f32[8]{0} tanh(%i0)\n")
    assert "more flops" in first_line(replace(compared(more, turn), old_facts={}, new_facts={}))


def judged_numbers(program: ProgramComparison) -> tuple[Number, ...]:
    return build_view(Report("diff", "a", "b", (program,))).programs[0].numbers


def two_loops(bounded: str, unbounded: str) -> str:
    """One that data ends after nine turns at most, then one that turns nobody knows how often."""
    first, second = DATA.replace("tanh(%i0)", bounded), open_loop(outside=0).replace("tanh(%i0)", unbounded)
    inner = second[second.index("%cond") : second.index("ENTRY")]
    inner = inner.replace("%cond ", "%cond2 ").replace("%body ", "%body2 ")
    head, _, end = first.replace("ENTRY", f"{inner}ENTRY").rpartition("  ROOT")
    return (
        f"{head}  %start2 = (s32[], f32[8]{{0}}) tuple(%zero, %o)\n"
        "  %w2 = (s32[], f32[8]{0}) while(%start2), condition=%cond2, body=%body2\n"
        f"  %o2 = f32[8]{{0}} get-tuple-element(%w2), index=1\n  ROOT{end.replace('negate(%r1)', 'add(%r1, %o2)')}"
    )


def around(program: str, turns: int, known: bool = True, then: str = "negate") -> str:
    """A program in the body of a loop, which also does something else."""
    config = f', backend_config={{"known_trip_count":{{"n":"{turns}"}}}}' if known else ""
    state = "(s32[], f32[8]{0})"
    return program.replace("ENTRY %main", "%each") + (
        f"\n%test (c: (s32[], f32[8])) -> pred[] {{\n  %c = {state} parameter(0)\n"
        "  %i = s32[] get-tuple-element(%c), index=0\n"
        f"  %n = s32[] constant({turns})\n"
        f"  ROOT %l = pred[] compare(%i, %n), direction={'LT' if known else 'EQ'}\n}}\n\n"
        f"%turn (b: (s32[], f32[8])) -> (s32[], f32[8]) {{\n  %b = {state} parameter(0)\n"
        "  %k = s32[] get-tuple-element(%b), index=0\n  %step = s32[] constant(2)\n  %next = s32[] add(%k, %step)\n"
        "  %a = f32[8]{0} get-tuple-element(%b), index=1\n  %e = f32[8]{0} call(%a), to_apply=%each\n"
        f"  %m = f32[8]{{0}} {then}(%e)\n  ROOT %z = {state} tuple(%next, %m)\n}}\n\n"
        "ENTRY %all (p: f32[8]) -> f32[8] {\n  %p = f32[8]{0} parameter(0)\n  %one = s32[] constant(1)\n"
        f"  %start = {state} tuple(%one, %p)\n  %v = {state} while(%start), condition=%test, body=%turn{config}\n"
        "  ROOT %o = f32[8]{0} get-tuple-element(%v), index=1\n}\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (open_loop(2), around(open_loop(), 8), " (loops of unknown length are entered 8 times instead of once)"),
        (around(open_loop(2), 4), around(open_loop(), 8), " (loops of unknown length are entered 8 times instead of"),
        (around(open_loop(), 8), open_loop(2), " (loops of unknown length are entered once instead of 8 times)"),
        (open_loop(2), around(open_loop(), 8, known=False), " (all-reduce 2 + 2 per turn of the loop %w -> 3 with"),
    ],
)
def test_a_turn_of_a_loop_that_is_entered_more_often_is_not_compared(old: str, new: str, why: str) -> None:
    """As `jax.lax.map` in place of `jax.vmap`: each turn does less, and there are more of them."""
    program = replace(compared(old, new), old_facts={}, new_facts={})
    assert f"mixed on cpu: total work cannot be judged{why}" in first_line(program)
    (found,) = findings(program, collectives={"ratchet": True})
    assert "could not judge how collectives grew" in found.what


def test_a_loop_in_a_loop_is_counted_apart_and_said_to_be() -> None:
    steps = "".join(f"sine(%y{n})\n  %y{n} = f32[8]{{0}} " for n in range(30))
    twice = around(open_loop(), 9, known=False, then=f"{steps}cosine")
    program = replace(compared(around(open_loop(), 9, known=False), twice), old_facts={}, new_facts={})
    assert "per turn, without inner loops of unknown length, of the loop %v" in first_line(program)
    assert "inner loops" not in first_line(compared(open_loop(), open_loop(inside=3)))


def test_what_a_turn_leaves_out_is_said_if_it_changed() -> None:
    """Less in each turn, more outside of the loop."""
    program = compared(open_loop(inside=3), open_loop(inside=1, outside=5))
    rows = to_terminal(Report("diff", "a", "b", (program,)), width=400)
    assert "bytes accessed 277 B -> 149 B per turn (-46 %, outside of the loop +96 %)" in rows
    alone = to_terminal(Report("diff", "a", "b", (compared(open_loop(3), open_loop()),)), width=400)
    assert "bytes accessed 277 B -> 149 B per turn (-46 %)" in alone


def test_a_wide_range_is_not_in_the_first_line() -> None:
    """Every turn of a loop that a condition may skip, and one turn of a loop of unknown length."""
    skipped = around(loop(turns=90), 8).replace(
        "call(%a), to_apply=%each", "conditional(%q, %a, %a), true_computation=%each, false_computation=%keep"
    )
    skipped = skipped.replace(
        "  %a = f32[8]{0} get-tuple-element(%b), index=1\n  %e =",
        "  %a = f32[8]{0} get-tuple-element(%b), index=1\n  %f = f32[1]{0} slice(%a), slice={[0:1]}\n"
        "  %h = f32[] reshape(%f)\n  %q = pred[] compare(%h, %h), direction=NE\n  %e =",
    )
    keep = "%keep (s: f32[8]) -> f32[8] {\n  ROOT %s = f32[8]{0} parameter(0)\n}\n\n%test (c:"
    program = replace(
        compared(open_loop(), skipped.replace("%test (c:", keep)), old_facts={}, new_facts={"memory.temp": 1.0}
    )
    assert "total work cannot be judged; " in first_line(program)
    rows = to_terminal(Report("diff", "a", "b", (program,)), width=400)
    assert "all-reduce 2 + 1 per turn of the loop %w -> at most 736" in rows


LESS, MORE = "tanh(%i0)", "cosine(%y)\n  %y = f32[8]{0} tanh(%i0)"


@pytest.mark.parametrize(
    ("old", "new", "mark"),
    [
        ((LESS, LESS), (MORE, LESS), "worse"),
        ((LESS, LESS), (LESS, MORE), "worse"),
        ((LESS, LESS), (MORE, MORE), "worse"),
        ((LESS, MORE), (MORE, LESS), ""),
    ],
)
def test_more_in_one_loop_and_less_in_another_is_neither_more_nor_less(
    old: tuple[str, str], new: tuple[str, str], mark: str
) -> None:
    program = replace(compared(two_loops(*old), two_loops(*new)), old_facts={}, new_facts={})
    assert marks(program)["flops"] == mark
    assert ("mixed on cpu: total work cannot be judged" in first_line(program)) is (mark == "")


@pytest.mark.parametrize(("turns", "words"), [(9, "worse on cpu"), (900, "same cost on cpu")])
def test_a_little_more_of_what_may_be_much_is_below_the_threshold(turns: int, words: str) -> None:
    """Eight more operations are many after the first turn and few after 900; both ends of the range are shown."""
    old = DATA.replace("constant(9)", f"constant({turns})")
    new = old.replace("ROOT %n = f32[8]{0} negate(%r1)", "%m = f32[8]{0} sine(%r1)\n  ROOT %n = f32[8]{0} negate(%m)")
    program = replace(compared(old, new), old_facts={}, new_facts={})
    assert f"{words} at equal trip counts" in first_line(program)


def test_loops_that_another_condition_ends_do_the_same_work_per_turn() -> None:
    """Another tolerance: each number is the same on both sides, and how often the loop turns nobody knows."""
    other = open_loop().replace("constant(2)", "constant(3)")
    program = replace(compared(open_loop(), other), old_facts={}, new_facts={})
    assert not numbers(program)
    assert "same cost on cpu at equal trip counts;" in first_line(program)


BOUNDED = DATA.replace("%e = f32[] constant(1)", "%e = f32[] constant(0)")


def test_more_turns_at_most_are_more_where_each_turn_does_more_too() -> None:
    """A solver of more stages has a longer inner loop over larger tables; a raised `max_steps` alone costs nothing."""
    raised = BOUNDED.replace("constant(9)", "constant(18)")
    assert raised != BOUNDED
    found = marks(compared(BOUNDED, raised))
    assert not {"flops", "bytes accessed"} & found.keys(), "one turn does the same"
    more = raised.replace("tanh(%i0)\n", "cosine(%y)\n  %y = f32[8]{0} tanh(%i0)\n")
    assert marks(compared(BOUNDED, more))["bytes accessed"] == "worse"
    assert marks(compared(more, BOUNDED))["bytes accessed"] == "better"


@pytest.mark.parametrize("turns", [3990, 3000])
def test_a_limit_that_fell_leaves_no_doubt(turns: int) -> None:
    """Two copies more outside of a loop, and ten or a thousand of up to 4,000 fewer in it."""
    old = DATA.replace("constant(9)", "constant(4000)").replace("tanh(%i0)", "copy(%i0)")
    old = old.replace(
        "%i0 = f32[8]{0} all-reduce(%a), replica_groups={{0,1}}, to_apply=%sum", "%i0 = f32[8]{0} sine(%a)"
    )
    new = old.replace("constant(4000)", f"constant({turns})").replace("while(%start)", "while(%first)")
    new = new.replace(
        "  %w =", "  %moved = (s32[], f32[8]{0}) copy(%start)\n  %first = (s32[], f32[8]{0}) copy(%moved)\n  %w ="
    )
    less = {"memory.temp": 8000.0}, {"memory.temp": 4000.0}
    program = replace(compared(old, new), old_facts=less[0], new_facts=less[1])
    assert (
        "better on cpu at equal trip counts: temp -50 %, but more bytes accessed (229 B -> 373 B outside of the loop"
        in first_line(program)
    )


CHOSEN = loop(known=False, turns=4, inside=0).replace(
    "  %zero = s32[] constant(0)\n",
    "  %zeros = s32[] constant(0)\n  %ones = s32[] constant(1)\n  %first = f32[1]{0} slice(%p), slice={[0:1]}\n"
    "  %value = f32[] reshape(%first)\n  %jumped = pred[] compare(%value, %value), direction=NE\n"
    "  %zero = s32[] select(%jumped, %zeros, %ones)\n",
)


def test_an_edit_in_a_loop_of_a_known_range_costs_at_most_all_of_its_turns() -> None:
    """It is no loop of unknown length: the numbers of the program count its turns too."""
    new = CHOSEN.replace("%t = f32[8]{0} tanh(%a)", "%y = f32[8]{0} tanh(%a)\n  %t = f32[8]{0} sine(%y)")
    (edit,) = (edit for edit in diff(read_text(CHOSEN), read_text(new)).edits if edit.kind == "added")
    assert edit.cost and edit.cost[1] and (edit.cost[1].runs, edit.cost[1].flops) == (4, 32)
    assert edit.cost[1].to_json()["counts_most_turns"] and not edit.cost[1].loops
    assert format_cost(*edit.cost) == "+32 flops, +256 B at most"
    assert words_of(compared(CHOSEN, new))["flops"][0] == "51 to 60 -> 75 to 92 (executed)"


def test_more_stages_of_a_solver_are_more_work() -> None:
    """A Runge-Kutta method that may begin with the last stage of the previous step has one stage less to compute."""
    program = replace(compared(CHOSEN, CHOSEN.replace("constant(4)", "constant(7)")), old_facts={}, new_facts={})
    sizes = "more bytes accessed (494 B to 579 B -> 749 B to 834 B), more flops (51 to 60 -> 78 to 87)"
    assert f"worse on cpu at equal trip counts: {sizes}; a loop turns 6-7 times instead of 3-4" in first_line(program)
    assert words_of(program)["flops"][0] == "51 to 60 -> 78 to 87 (executed)"


def ended(turns: int, by_data: bool) -> str:
    """A loop in a loop; data may end the outer one."""
    inner = DATA if by_data else loop(known=False, turns=9)
    return inner.replace("constant(9)", f"constant({turns})")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            ended(9, True), ended(9, False),
            "worse on cpu: more all-reduces (2 + 1 per turn of the loop %w -> 11), more flops (24 + 17 per turn of",
        ),
        (ended(9, False), ended(9, True), "a loop turns at most 9 times instead of 9"),
        (
            ended(9, True), ended(4, False),
            "mixed on cpu: total work cannot be judged (all-reduce 2 + 1 per turn of the loop %w -> 6); "
            "a loop turns 4 times instead of at most 9",
        ),
        (ended(9, True), open_loop(), "a loop may turn any number of times instead of at most 9"),
        (open_loop(), ended(9, True), "a loop turns at most 9 times instead of any number of times"),
        (ended(9, True), ended(4, True), "a loop turns at most 4 times instead of at most 9"),
    ],
)  # fmt: skip
def test_a_loop_that_data_no_longer_ends_does_as_much_as_it_did_at_most(old: str, new: str, words: str) -> None:
    program = replace(compared(old, new), old_facts={}, new_facts={})
    assert words in f"{first_line(program)} {headline(program)}"


def test_more_work_in_each_turn_is_said_with_its_size_once_for_one_loop() -> None:
    more = open_loop().replace("tanh(%i0)\n", "cosine(%y)\n  %y = f32[8]{0} tanh(%i0)\n")
    program = replace(compared(open_loop(), more), old_facts={}, new_facts={})
    assert "more bytes accessed" in first_line(program)
    assert first_line(program).count("per turn of the loop %w") == 1


def on(target: str, old: str, new: str, temp: float) -> ProgramComparison:
    return replace(compared(old, new), target=target, old_facts={"memory.temp": 8e6}, new_facts={"memory.temp": temp})


def test_work_that_cannot_be_judged_on_one_target_stands_beside_no_number_of_another() -> None:
    """One target does more in each turn; of the other only memory is known, because it had no loop."""
    more = open_loop().replace("tanh(%i0)\n", "cosine(%y)\n  %y = f32[8]{0} tanh(%i0)\n")
    programs = on("cpu", open_loop(), more, 8e6), on("gpu", copies(4), open_loop(), 4e7)
    text = " ".join(to_terminal(Report("diff", "a", "b", programs), width=400).split())
    assert "worse on 2 targets" in text and "more bytes accessed" in text
    assert "cannot be judged" not in text
    programs = on("cpu", more, open_loop(), 8e6), on("gpu", copies(4), open_loop(), 4e6)
    text = " ".join(to_terminal(Report("diff", "a", "b", programs), width=400).split())
    known = "total work cannot be judged (all-reduce 4 -> 2 + 1 per turn of the loop %w)"
    assert f"mixed on gpu: temp -50 %, {known}" in text
    assert "better on cpu" in text


def test_each_target_of_a_verdict_has_one_of_its_numbers_and_each_number_names_its_target() -> None:
    more = open_loop().replace("tanh(%i0)\n", "cosine(%y)\n  %y = f32[8]{0} tanh(%i0)\n")
    other = open_loop().replace("tanh(%i0)", "cosine(%i0)")
    programs = on("cpu", open_loop(), more, 8e6), on("gpu", open_loop(), other, 4e7)
    text = " ".join(to_terminal(Report("diff", "a", "b", programs), width=400).split())
    head = text.partition(" changed on ")[0]
    assert "worse on 2 targets" in head and "temp +400 % (gpu), more bytes accessed (149 B -> 213 B per turn" in head
    assert "of the loop %w on cpu)" in head


def test_a_number_of_a_verdict_is_that_of_the_target_where_it_is_largest() -> None:
    programs = (
        replace(on("cpu", open_loop(), open_loop(), 8e6), new_facts={"memory.temp": 4e7, "memory.argument": 2e6}),
        replace(on("gpu", open_loop(), open_loop(), 8e6), new_facts={"memory.temp": 2e7, "memory.argument": 4e6}),
    )
    both = tuple(replace(one, old_facts={"memory.temp": 8e6, "memory.argument": 8e5}) for one in programs)
    (view,) = build_view(Report("diff", "a", "b", both)).functions
    assert view.sentence.startswith("worse on 2 targets: temp +400 % (cpu), arguments +400 % (gpu)")


def test_memory_that_is_padded_more_says_against_fewer_bytes() -> None:
    """A TPU stores 129 elements along the axis of its lanes as 256, and moves as many."""

    def program(lanes: int, copied: int) -> str:
        array = f"f32[512,{lanes}]{{1,0:T(8,128)}}"
        copies = "".join(f"  %c{n + 1} = {array} copy(%c{n})\n" for n in range(copied))
        return (
            f"HloModule m\n\nENTRY %main {{\n  %p = {array} parameter(0)\n  %c0 = {array} tanh(%p)\n{copies}"
            f"  ROOT %n = {array} negate(%c{copied})\n}}\n"
        )

    sides = [{"memory.argument": size, "memory.output": size, "memory.temp": 0.0} for size in (262144.0, 524288.0)]
    padded = replace(compared(program(128, 3), program(129, 2)), old_facts=sides[0], new_facts=sides[1])
    assert marks(padded)["bytes accessed"] == "" and marks(padded)["arguments"] == "worse"
    text = to_terminal(Report("diff", "a", "b", (padded,)), width=200)
    assert "memory: padding of arguments 0 B -> 254.0 KiB and of results 0 B -> 254.0 KiB" in text
    plain = replace(padded, new_facts={**sides[1], "memory.argument": 264192.0, "memory.output": 264192.0})
    assert marks(plain)["bytes accessed"] == "better"
    assert "padding" not in to_terminal(Report("diff", "a", "b", (plain,)))


def test_a_launch_more_per_turn_of_many_decides_nothing() -> None:
    """Nobody knows how often the loop turns, and one launch of 41 is one launch more each time."""
    lines = [f"%u{n + 1} = f32[8]{{0}} negate(%{f'u{n}' if n else 'a'})\n  " for n in range(40)]
    last = "%t = f32[8]{0} tanh("
    many, more = (open_loop().replace(last, f"{''.join(lines[:n])}{last}") for n in (39, 40))
    program = replace(compared(many, more), target="cuda-h100", old_facts={}, new_facts={})
    assert marks(program)["launches"] == ""
    assert "single launches below 5 %" in to_terminal(Report("diff", "a", "b", (program,)), width=200)


def test_memory_that_each_side_states_differently_is_said_not_to_be_compared() -> None:
    program = compared(open_loop(), open_loop(inside=2))
    sides = {"memory.argument": 32.0, "memory.peak": 4096.0}, {"memory.argument": 32.0, "memory.temp": 2048.0}
    unlike = replace(program, old_facts=sides[0], new_facts=sides[1])
    words = "memory: temp and peak cannot be compared: before, XLA's temp is too small for its peak of 4.0 KiB; after,"
    assert words in to_terminal(Report("diff", "a", "b", (unlike,)), width=200)
    assert "temp and peak cannot be compared" in to_form(Report("diff", "a", "b", (unlike,)), "markdown")
    assert "cannot be compared" not in to_terminal(Report("diff", "a", "b", (program,)))


def moved_product(inside: bool) -> str:
    """Two products, the smaller or the larger one in a fusion with an addition."""
    small, large = "f32[32,8]{1,0} %x, f32[8,64]{1,0} %u", "f32[32,48]{1,0} %y, f32[48,64]{1,0} %v"
    first, second = (large, small) if inside else (small, large)

    def parameters(of: str) -> str:
        shapes = [part.rsplit(" ", 1)[0] for part in of.split(", ")]
        return "".join(f"  %p{n} = {shape} parameter({n})\n" for n, shape in enumerate(shapes))

    names = [", ".join(part.rsplit(" ", 1)[1] for part in of.split(", ")) for of in (first, second)]
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    return (
        "HloModule m\n\n"
        "%fused {\n" + parameters(first) + "  %p2 = f32[32,64]{1,0} parameter(2)\n"
        f"  %d = f32[32,64]{{1,0}} dot(%p0, %p1), {dims}\n"
        "  ROOT %s = f32[32,64]{1,0} add(%d, %p2)\n}\n\n"
        "ENTRY %main {\n"
        "  %x = f32[32,8]{1,0} parameter(0)\n  %u = f32[8,64]{1,0} parameter(1)\n"
        "  %y = f32[32,48]{1,0} parameter(2)\n  %v = f32[48,64]{1,0} parameter(3)\n"
        f"  %dot = f32[32,64]{{1,0}} dot({names[1]}), {dims}\n"
        f"  ROOT %f = f32[32,64]{{1,0}} fusion({names[0]}, %dot), kind=kLoop, calls=%fused\n}}\n"
    )


def test_work_that_only_moved_to_another_fusion_is_not_told_as_new() -> None:
    program = replace(compared(moved_product(inside=False), moved_product(inside=True)), old_facts={}, new_facts={})
    text = to_terminal(Report("diff", "a", "b", (program,)), width=200)
    assert "(196,608 -> 32,768 flops, 26.0 KiB -> 11.0 KiB; flops in all unchanged)" in text
    assert text.count("in all") == 1


def test_a_number_whose_two_sides_read_the_same_is_not_listed() -> None:
    """Loops of unknown length that are behind "2 other loops" do other work, of which a reader sees nothing."""
    program = compared(open_loop(), open_loop(inside=2))
    same = Number("copies", 1, 2, comparable=False, old_words="27 to 28", new_words="27 to 28")
    (unread,) = judged(program, (same,))
    (read_,) = judged(program, (replace(same, new_words="27 to 29"),))
    assert (unread.relevant, read_.relevant) == (False, True)
    assert unread.least == "equal as printed", "how much it changed is not known"


def several_loops(*turns: int, outside: int = 0) -> ExecutedCount:
    """So much per turn of loops at lines 1, 2, ... of a file."""
    loops = [UncountedLoop(str(line), "w", "model.py", line) for line in range(1, len(turns) + 1)]
    return ExecutedCount(outside, outside, tuple(zip(loops, turns, turns, strict=True)))


def test_what_changed_by_more_than_the_threshold_is_not_counted_as_below_it() -> None:
    def number(
        name: str, old: ExecutedCount, new: ExecutedCount, **others: tuple[ExecutedCount, ExecutedCount]
    ) -> Number:
        program = compared(open_loop(), open_loop(inside=2))
        assert program.diff is not None
        executed = {**others, name: (old, new)}
        program = replace(program, target="cpu", diff=replace(program.diff, executed=executed))
        found = [one for one in judged(program, key_numbers(program)) if one.name == name]
        assert not has_unknown(found), "launches leave no doubt about the work"
        return found[0]

    once = [ExecutedCount(n, n) for n in (4, 6, 1000, 1100, 1_000_000)]
    by_chance = number("launches", several_loops(40), several_loops(41))
    assert (by_chance.relevant, by_chance.mark, by_chance.least) == (True, "", "launches below 5 % off GPUs")
    unknown = number("launches", several_loops(40, 10), several_loops(30, 30))
    assert (unknown.relevant, unknown.mark, unknown.least) == (True, "", "")
    copies = number("copies", *once[:2], copy_bytes=(once[2], once[3]), bytes_accessed=(once[4], once[4]))
    assert (copies.relevant, copies.least) == (False, "copies below 1 % of all bytes")


def test_of_several_loops_of_unknown_length_the_one_that_changed_is_named_or_a_turn_of_each_counted() -> None:
    """A differential equation and its adjoint have three; what a turn of each does fills four lines."""
    old, new = several_loops(10, 20, 30), several_loops(10, 22, 90)
    each = "with one turn of each loop of unknown length"
    assert format_executed_pair(old, new) == (f"60 {each}", f"122 {each}")
    only = several_loops(10, 20, 90)
    assert format_executed_pair(old, only)[1] == "90 per turn of the loop at model.py:3"
    more = several_loops(10, 20, 30, outside=4)
    outside = "outside of the 3 loops of unknown length"
    assert format_executed_pair(old, more) == (f"0 {outside}", f"4 {outside}")
    loops = several_loops(1, 1).per_turn
    cost = Cost(1, 128, 512, 512, loops=tuple(loop for loop, _, _ in loops))
    assert format_cost(None, cost).endswith(", counting one turn of each of 2 loops")


def test_a_loop_that_came_beside_others_is_counted_with_them() -> None:
    """A solver that saves at several times has a loop in its loop: a turn of one is no turn of the other."""
    each = "with one turn of each loop of unknown length"
    saves = format_executed_pair(several_loops(30), several_loops(30, 2))
    assert saves == (f"30 {each}", f"32 {each}")
    assert format_executed_pair(several_loops(30, 2), several_loops(30)) == saves[::-1]
    moved = format_executed_pair(several_loops(30), several_loops(20, 10))
    assert moved == ("30 per turn of the loop at model.py:1", f"30 {each}")


def test_a_turn_that_may_do_less_is_counted_as_at_most_so_much() -> None:
    """The first step of a solver has a stage more than the others, and a branch may do nothing."""
    loop = UncountedLoop("1", "w", "model.py", 1)
    old, new = (ExecutedCount(0, 0, ((loop, least, most),)) for least, most in ((25, 30), (12, 17)))
    assert format_executed_pair(old, new)[1] == "17 at most per turn of the loop at model.py:1"
    exact = ExecutedCount(0, 0, ((loop, 17, 17),))
    assert (
        format_executed_pair(exact, ExecutedCount(0, 0, ((loop, 30, 30),)))[1]
        == "30 per turn of the loop at model.py:1"
    )


def test_what_only_one_side_has_came_or_went() -> None:
    assert "4 all-reduces added (128 B, executed)" in headline(compared(copies(0), loop()))
    assert "4 all-reduces gone (128 B, executed)" in headline(compared(loop(), copies(0)))
    assert "all-reduces added (2 + 1 per turn of the loop %w)" in headline(compared(copies(0), open_loop()))


def test_programs_without_loops_say_nothing_of_turns() -> None:
    program = compared(copies(4), copies(3))
    assert loops_of(program) == {"old": False, "new": False, "same": True}
    assert "1 all-reduce fewer (4 -> 3)" in headline(program)
    for form, text in told_in_every_form(program).items():
        assert form == "html" or ("each loop body once" not in text and "executed)" not in text), form


@pytest.mark.parametrize("stage", ["compiled.hlo", "stablehlo.mlir"])
@pytest.mark.parametrize("target", ["cpu", "tpu-v5e-2x2", "cuda-h100-x4"])
def test_real_layers_as_a_scan_and_as_copies(target: str, stage: str) -> None:
    one, many = (read(ROOT / "snapshots" / name / target / stage) for name in ("stack_scanned", "stack_unrolled"))
    assert loops_of(compared(many, one)) == {"old": False, "new": True, "same": False}
    assert loops_of(compared(one, one))["same"]
    flops = words_of(compared(many, one))["flops"]
    assert flops[0].startswith("872,7") or flops[0].startswith(("872,9", "906,"))
    assert not flops[1] or abs(float(flops[1].removesuffix(" %"))) < 10


def test_json_says_it_beside_its_numbers() -> None:
    report = Report("diff", "a", "b", (compared(copies(4), loop()), compared(copies(4), copies(3))))
    first, second = json.loads(to_form(report, "json"))["programs"]
    assert first["per"] == "one turn of each loop" and first["loops"] == {"old": False, "new": True, "same": False}
    assert second["per"] is None and second["loops"] == {"old": False, "new": False, "same": True}
    assert first["metrics"]["collectives.all-reduce"] == [4, 3]
    assert first["metrics_executed"]["collectives.all-reduce"] == [4, 4]
    unknown = Report("diff", "a", "b", (compared(copies(4), open_loop()),))
    (program,) = json.loads(to_form(unknown, "json"))["programs"]
    new = {"at_least": 2, "at_most": None, "per_turn": {"w": 1}}
    assert program["metrics_executed"]["collectives.all-reduce"] == [4, new]


def findings(program: ProgramComparison, **table: object) -> list[Finding]:
    config = Config(root=Path(), fail_on=(), budgets=budgets([table], "pyproject.toml: [tool.hlodiff] budgets"))
    return [found for found in judge([program], config) if found.rule == "budget"]


def budget_says(program: ProgramComparison, **table: object) -> list[str]:
    return [found.what for found in findings(program, **table)]


def test_a_budget_is_about_one_call() -> None:
    worse = compared(copies(2), loop())
    assert budget_says(worse, **{"collectives.all-reduce": 2}) == ["collectives.all-reduce is 4; at most 2 (executed)"]
    assert budget_says(worse, **{"collectives.all-reduce": {"max": 2, "static": True}}) == [
        "collectives.all-reduce is 3; at most 2 (static)"
    ]
    assert budget_says(worse, static=True, **{"collectives.all-reduce": 3}) == []
    assert budget_says(worse, collectives={"ratchet": True}) == [
        "collectives grew from 2 to 4 (+100.0 %); it may only fall (executed)"
    ]
    assert budget_says(replace(worse, new_facts=OLD_FACTS | {"memory.temp": 4000}), temp_bytes=1000) == [
        "temp_bytes is 3.9 KiB; at most 1,000 B"
    ]
    alone = ProgramComparison("f", "cpu", "compiled", "identical", module=read_hlo(loop()))
    assert budget_says(alone, **{"collectives.all-reduce": 4}) == []
    assert budget_says(compared(copies(2), copies(3)), collectives=2) == ["collectives is 3; at most 2"]


def test_a_budget_whose_verdict_loops_change_says_both_numbers() -> None:
    both = compared(copies(4), loop())
    assert budget_says(both, **{"collectives.all-reduce": 3}) == [
        "collectives.all-reduce is 4; at most 3 (executed; in the text, it is 3, for which the limit holds)"
    ]
    grown = replace(compared(loop(), loop(turns=5)), old_facts=NEW_FACTS, new_facts=NEW_FACTS)
    assert budget_says(grown, flops={"max_increase": "5 %"}) == [
        "flops grew from 58 to 109 (+87.9 %); at most +5 % (executed; by XLA, which counts each loop once, it is 1,100,"
        " for which the limit holds)"
    ]
    (found,) = findings(compared(loop(), copies(4)), **{"collectives.all-reduce": {"ratchet": True}})
    assert found.severity == "info" and found.what == (
        "collectives.all-reduce is 4 in one call, which holds; in the text, it is 4, for which it would not"
    )


def test_a_budget_that_takes_an_unknown_trip_count_is_neither_passed_nor_failed() -> None:
    (found,) = findings(compared(copies(2), open_loop()), **{"collectives.all-reduce": 3})
    assert found.severity == "broken" and found.what == (
        "could not judge whether collectives.all-reduce is at most 3: it is 2 + 1 per turn of the loop %w, whose trip"
        " count is not known"
    )
    assert "static = true" in found.advice
    assert budget_says(compared(copies(2), open_loop()), **{"collectives.all-reduce": 1}) == [
        "collectives.all-reduce is 2 + 1 per turn of the loop %w; at most 1 (executed)"
    ], "over the limit whatever the loop does"
    assert budget_says(compared(open_loop(), open_loop()), collectives={"ratchet": True}) == []
    assert budget_says(compared(open_loop(), open_loop(inside=2)), collectives={"ratchet": True}) == [
        "collectives grew from 2 + 1 per turn of the loop %w to 2 + 2 per turn of the loop %w; it may only fall"
        " (executed)"
    ]
    assert budget_says(compared(open_loop(inside=2), open_loop()), collectives={"ratchet": True}) == []
    (found,) = findings(compared(copies(2), open_loop()), collectives={"ratchet": True})
    assert found.severity == "broken" and "could not judge how collectives grew" in found.what
    (found,) = findings(compared(copies(2), open_loop()), severity="warn", collectives={"ratchet": True})
    assert found.severity == "warning"


def test_what_could_not_be_judged_is_counted_as_that_and_not_as_unchanged() -> None:
    alone = ProgramComparison("f", "cpu", "compiled", "identical", module=read_hlo(open_loop()))
    stuck = tuple(findings(alone, collectives=3))
    report = Report("check", "a", "b", (alone,), findings=stuck)
    assert report.totals()["broken"] == report.totals()["not_checked"] == 1 and not report.totals()["identical"]
    assert following((alone,), 2, stuck) == "hlodiff check f, once it can be judged"
    assert "1 could not be judged" in to_terminal(report, width=100) and "unchanged" not in to_terminal(
        report, width=100
    )


def test_how_often_loops_turn() -> None:
    assert format_loops(read_text(loop(turns=5))) == ["5"]
    assert format_loops(read_text(loop(turns=5, known=False).replace("LT", "EQ"))) == ["unknown"]
    assert format_loops(read_text(copies(1))) == []
    places = read(ROOT / "snapshots/ode_solve/cpu/stablehlo.mlir")
    assert format_loops(places) == ["unknown", "unknown x 6-7", "unknown x unknown"]


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
    assert notes["a loop"] == "other loops than before: flops counts each loop body once"
    assert notes["larger"] == ""


def test_tables_of_a_page_have_both_numbers() -> None:
    (body,) = parsed(to_form(Report("diff", "a", "b", (compared(copies(4), loop()),)), "html")).bodies()
    tables = {table["title"]: table["rows"] for table in body["tables"]}
    assert [row[-2:] for row in tables["Memory"]] == [["+50 %", "worse"]]
    executed = {row[0]: row[3:] for row in tables["One call of the program (executed)"]}
    assert executed["collectives.all-reduce"] == ["4", "4", "", ""]
    assert executed["flops"] == ["40", "58", "+45 %", "worse"]
    static = {row[0]: row[3:5] for row in tables["Collectives (in the program's text)"]}
    assert static["collectives.all-reduce"] == ["4", "3"]
    assert {row[-2] for row in tables["XLA's cost (after: each loop body once)"]} == {""}


def test_an_upgrade_counts_programs_and_never_adds_up_functions_and_targets() -> None:
    def last(*programs: ProgramComparison) -> str:
        lines = upgrade_text(Report("diff", "a", "b", programs)).split("\n")
        return next(line for line in lines if line.startswith("of "))

    fewer, different = compared(copies(4), copies(3)), compared(copies(4), loop())
    assert last(fewer) == "of 1 compared program: temp higher in 1, instructions lower in 1"
    assert last(fewer, replace(different, name="g")) == (
        "of 2 compared programs: temp higher in 2, instructions lower in 1 and higher in 1"
    )


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
    assert format_loops(read_text(text)) == [f"2 ({2**60} loops)"]
    assert loops_of(compared(text, text))["same"]


def test_what_runs_once_and_in_a_loop_is_not_counted_per_turn() -> None:
    """The same function before a loop that data ends, as the first token of a decoder, and in it."""
    text = """HloModule m

%f {
  %p = f32[8]{0} parameter(0)
  ROOT %t = f32[8]{0} tanh(%p)
}

%cond {
  %c = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %n = s32[] constant(7)
  ROOT %l = pred[] compare(%i, %n), direction=EQ
}

%body {
  %b = (s32[], f32[8]{0}) parameter(0)
  %j = s32[] get-tuple-element(%b), index=0
  %k = s32[] constant(2)
  %next = s32[] add(%j, %k)
  %v = f32[8]{0} get-tuple-element(%b), index=1
  %inside = f32[8]{0} call(%v), to_apply=%f
  ROOT %both = (s32[], f32[8]{0}) tuple(%next, %inside)
}

ENTRY %main {
  %x = f32[8]{0} parameter(0)
  %zero = s32[] constant(0)
  %first = f32[8]{0} call(%x), to_apply=%f
  %start = (s32[], f32[8]{0}) tuple(%zero, %first)
  %w = (s32[], f32[8]{0}) while(%start), condition=%cond, body=%body
  ROOT %r = f32[8]{0} get-tuple-element(%w), index=1
}
"""
    more = text.replace("ROOT %t = f32[8]{0} tanh(%p)", "%a = f32[8]{0} tanh(%p)\n  ROOT %t = f32[8]{0} cosine(%a)")
    shown = to_terminal(Report("diff", "a", "b", (compared(text, more),)), width=200)
    assert "(+16 flops, +128 B, counting one turn of the loop %w)" in shown


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (several_loops(3, 1, outside=5), " per turn"),
        (several_loops(1, 1, outside=9), ""),
        (several_loops(3, 1, outside=9), ", counting one turn of each loop"),
    ],
)
def test_the_change_of_all_work_says_of_which_turns_it_is(new: ExecutedCount, words: str) -> None:
    assert of_which_turns(several_loops(1, 1, outside=5), new) == words


def test_both_sides_of_the_work_of_a_turn_never_read_the_same() -> None:
    old, new = (several_loops(1, size) for size in (1_126_757, 1_140_917))
    before, after = format_executed_pair(old, new, "bytes")
    assert before.startswith("1,126,757 B per turn of") and after.startswith("1,140,917 B per turn of")


def test_flops_of_what_xla_writes_out_decide_nothing_in_stablehlo() -> None:
    """`erf` is one operation for each element there, and dozens in the compiled program; `tanh` twice is two."""
    text = """module @m {
  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %0 = chlo.erf %a : tensor<8xf32> -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""
    twice = text.replace(
        "%0 = chlo.erf %a : tensor<8xf32> -> tensor<8xf32>",
        "%1 = stablehlo.tanh %a : tensor<8xf32>\n    %0 = stablehlo.tanh %1 : tensor<8xf32>",
    )
    found = diff(*(read_text(one) for one in (text, twice)))
    shown = to_terminal(Report("diff", "a", "b", (ProgramComparison("f", None, "stablehlo", "changed", found),)))
    assert shown.startswith("f  ◆ mixed: total work cannot be judged (flops 8 -> 16)") and "%)" not in shown


BRANCHES = """HloModule m

%%first {
  %%a = f32[%s] parameter(0)
  ROOT %%b = f32[%s] tanh(%%a)
}

%%second {
  %%c = f32[%s] parameter(0)
  %%d = f32[%s] tanh(%%c)
  %%x = f32[%s] tanh(%%d)
  ROOT %%e = f32[%s] tanh(%%x)
}

ENTRY %%main {
  %%w = pred[] parameter(0)
  %%p = f32[%s] parameter(1)
  ROOT %%r = f32[%s] conditional(%%w, %%p, %%p), true_computation=%%first, false_computation=%%second
}
"""


def tanhs(count: int) -> Module:
    """A program without branches."""
    lines = [f"  %t{n + 1} = f32[64] tanh(%t{n})" for n in range(count)]
    lines[-1] = f"  ROOT {lines[-1].strip()}"
    return read_text("\n".join(["HloModule m", "", "ENTRY %main {", "  %t0 = f32[64] parameter(0)", *lines, "}", ""]))


@pytest.mark.parametrize(
    ("before", "mark"), [(1, "worse"), (2, ""), (3, "better")], ids=["as much or more", "between", "less either way"]
)
def test_branches_are_more_or_less_only_if_both_are(before: int, mark: str) -> None:
    """Which branch is taken is not known: from so many bytes to one of two numbers."""
    branches, wide = (read_text(BRANCHES % ((size,) * 8)) for size in ("64", "640"))
    assert marks(compared(tanhs(before), branches)).get("bytes accessed", "") == mark
    assert marks(compared(branches, wide))["bytes accessed"] == "worse"
