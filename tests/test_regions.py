"""Regions of edits: what replaced what, pairs on weak evidence, and the classes that rest on neither."""

import re
from dataclasses import replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
import pytest
from jax.nn import gelu

import hlodiff
from hlodiff.differ import Cost, Edit, FieldChange, ModuleDiff, ProgramComparison, Site, classes_of
from hlodiff.differ.edits import RawEdit
from hlodiff.differ.regions import number_by_line, opcode_counts, reported_edits
from hlodiff.hlo import Frame, Stage
from hlodiff.report import Report, build_view, to_terminal
from tests.scenarios import compare, module
from tests.shown import PROGRAM, changes, headline
from tests.work import calls_of

TABLES = """FileNames
1 "/srv/model.py"
2 "/srv/loss.py"

FunctionNames
1 "feed_forward"
2 "loss"

FileLocations
1 {file_name_id=1 function_name_id=1 line=36 end_line=36 column=4 end_column=20}
2 {file_name_id=2 function_name_id=2 line=8 end_line=8 column=4 end_column=20}

StackFrames
1 {file_location_id=1 parent_frame_id=0}
2 {file_location_id=2 parent_frame_id=0}

"""
HERE = ', metadata={op_name="jit(f)/mul" stack_frame_id=1}'


def program(body: str, scope: str = "mul") -> hlodiff.Module:
    """An entry with two arguments; `@` marks what comes from the line of the edit."""
    mark = HERE.replace("mul", scope)
    lines = "\n".join("  " + line.replace("@", mark) for line in body.strip().splitlines())
    return hlodiff.read_text(f"HloModule m\n\n{TABLES}ENTRY %e {{\n  %x = f32[8] parameter(0)\n{lines}\n}}\n")


GELU = """%c = f32[] constant(0.044715)
%b = f32[8] broadcast(%c), dimensions={}
%m1 = f32[8] multiply(%x, %x)@
%m2 = f32[8] multiply(%m1, %b)@
%t = f32[8] tanh(%m2)@
%m3 = f32[8] multiply(%x, %t)@
ROOT %r = f32[8] negate(%m3)"""
SILU = """%c = f32[] constant(1)
%b = f32[8] broadcast(%c), dimensions={}
%n = f32[8] negate(%x)@
%e = f32[8] exponential(%n)@
%a = f32[8] add(%e, %b)@
%d = f32[8] divide(%x, %a)@
ROOT %r = f32[8] negate(%d)"""


def test_an_activation_that_became_another_one_is_one_replaced_subgraph() -> None:
    found = hlodiff.diff(program(GELU), program(SILU, "jit(silu)/exp"))
    removed, added = _replaced(found)
    assert removed == {"multiply": 3, "tanh": 1}
    assert added == {"negate": 1, "exponential": 1, "add": 1, "divide": 1}
    (group,) = changes(found)
    assert group.kind == "replaced"
    assert group.what == "3 multiply, tanh by silu (add, divide, exponential, negate)"
    assert group.where == "model.py:36 (feed_forward)"
    assert all(edit.kind != "changed" for edit in found.reported)


def test_no_class_rests_on_a_literal_whose_users_are_others() -> None:
    found = hlodiff.diff(program(GELU), program(SILU))
    assert any("literal" in edit.fields for edit in found.edits)  # the shortest script keeps the pair
    assert ProgramComparison("f", "cpu", "compiled", "changed", found).classes == ("structure",)


def test_the_script_and_its_numbers_stay_those_of_the_shortest_script() -> None:
    found = hlodiff.diff(program(GELU), program(SILU))
    assert found.replay().complete
    counts = {kind: sum(e.count for e in found.edits if e.kind == kind) for kind in ("added", "removed", "changed")}
    assert {kind: found.summary[kind] for kind in counts} == counts
    told = {kind: sum(e.count for e in found.reported if e.kind == kind) for kind in counts}
    weak = sum(edit.count for edit in found.edits if edit.is_weak)
    assert weak
    assert told == {
        "added": counts["added"] + weak, "removed": counts["removed"] + weak, "changed": counts["changed"] - weak
    }  # fmt: skip
    assert {found.reported_from[n] for n in range(len(found.reported))} == set(range(len(found.edits)))


def test_the_other_direction_is_the_mirror() -> None:
    there, back = (_replaced(hlodiff.diff(*pair)) for pair in (_pair(), _pair()[::-1]))
    assert there == back[::-1]


def _replaced(found: hlodiff.ModuleDiff) -> tuple[dict[str, int], dict[str, int]]:
    """Opcodes that left the one replaced region, and those that came to it."""
    assert {edit.region for edit in found.reported if edit.is_replaced} == {0}
    removed, added = (
        dict(opcode_counts(edit for edit in found.reported if edit.is_replaced and edit.kind == kind))
        for kind in ("removed", "added")
    )
    return removed, added


def _pair() -> tuple[hlodiff.Module, hlodiff.Module]:
    return program(GELU), program(SILU)


def test_one_operation_that_became_another_stays_a_changed_one() -> None:
    body = "%t = f32[8] tanh(%x)@\nROOT %r = f32[8] multiply(%t, %t)"
    found = hlodiff.diff(program(body), program(body.replace("tanh", "exponential")))
    assert [(edit.kind, edit.fields) for edit in found.reported] == [("changed", ("opcode",))]
    assert found.reported == found.edits


def test_what_hands_values_on_is_never_changed_into_an_operation() -> None:
    old = "%b = s32[8] bitcast-convert(%x)@\n%d = f32[8] bitcast(%x)@\nROOT %r = f32[8] tanh(%d)"
    new = old.replace("%d = f32[8] bitcast(%x)", "%d = f32[8] multiply(%x, %x)")
    found = hlodiff.diff(program(old), program(new)).reported
    assert [edit.old.opcode for edit in found if edit.kind == "removed" and edit.old] == ["bitcast"]
    assert [edit.new.opcode for edit in found if edit.kind == "added" and edit.new] == ["multiply"]
    assert len(found) == 2


def test_a_literal_of_the_same_user_is_a_changed_literal() -> None:
    body = "%c = f32[] constant(0.1)\n%b = f32[8] broadcast(%c), dimensions={}\n%m = f32[8] multiply(%x, %b)@\n"
    old = program(body + "ROOT %r = f32[8] negate(%m)")
    new = program(body.replace("0.1", "0.2") + "%t = f32[8] tanh(%m)@\nROOT %r = f32[8] negate(%t)")
    found = hlodiff.diff(old, new)
    assert sorted(edit.kind for edit in found.reported) == ["added", "changed"]
    assert "numerics" in ProgramComparison("f", "cpu", "compiled", "changed", found).classes


def test_edits_of_other_lines_are_no_part_of_a_replaced_subgraph() -> None:
    other = ', metadata={op_name="jit(f)/max" stack_frame_id=2}'
    more = "ROOT %r = f32[8] negate({})"
    old = program(GELU.replace(more.format("%m3"), f"%z = f32[8] abs(%m3){other}\n" + more.format("%z")))
    new = program(SILU.replace(more.format("%d"), f"%z = f32[8] sine(%d){other}\n" + more.format("%z")))
    groups = changes(hlodiff.diff(old, new))
    assert {group.where for group in groups} == {"model.py:36 (feed_forward)", "loss.py:8 (loss)"}
    (group,) = (group for group in groups if group.kind == "replaced" and "model.py" in group.where)
    assert "abs" not in group.what and "sine" not in group.what


def test_casts_that_go_with_an_operation_are_no_change_of_precision() -> None:
    cast = "%u = f32[8] convert(%h)@\n"
    old = program("%h = bf16[8] convert(%x)\n" + cast + "%s = f32[8] sine(%u)@\nROOT %n = f32[8] negate(%s)", "sin")
    new = program("%h = bf16[8] convert(%x)\nROOT %n = bf16[8] negate(%h)")
    assert hlodiff.diff(old, new).edits  # the negation is of another type: that is numerics
    kept = program("%h = bf16[8] convert(%x)\n" + cast + "%s = f32[8] sine(%u)@\n%o = f32[8] cosine(%s)@\n"
                   "%d = bf16[8] convert(%o)@\nROOT %n = bf16[8] negate(%d)", "sin")  # fmt: skip
    bare = program("%h = bf16[8] convert(%x)\nROOT %n = bf16[8] negate(%h)", "sin")
    assert ProgramComparison("f", "cpu", "compiled", "changed", hlodiff.diff(kept, bare)).classes == ("structure",)


def test_the_same_operation_in_another_type_is_a_change_of_precision() -> None:
    old = program("%h = bf16[8] convert(%x)\n%m = bf16[8] multiply(%h, %h)@\n%a = bf16[8] abs(%m)@\n"
                  "ROOT %n = bf16[8] negate(%a)")  # fmt: skip
    new = program("%h = bf16[8] convert(%x)\n%u = f32[8] convert(%h)@\n%m = f32[8] multiply(%u, %u)@\n"
                  "%a = f32[8] abs(%m)@\n%d = bf16[8] convert(%a)@\nROOT %n = bf16[8] negate(%d)")  # fmt: skip
    assert "numerics" in ProgramComparison("f", "tpu", "compiled", "changed", hlodiff.diff(old, new)).classes


FUSED_LITERAL = """%f {
  %q = f32[8] parameter(0)
  %c = f32[] constant(0.1)
  %b = f32[8] broadcast(%c), dimensions={}
  %m = f32[8] multiply(%q, %b), metadata={op_name="jit(f)/mul" stack_frame_id=1}
  ROOT %n = f32[8] negate(%m), metadata={op_name="jit(f)/neg" stack_frame_id=2}
}

ENTRY %e {
  %x = f32[8] parameter(0)
  ROOT %r = f32[8] fusion(%x), kind=kLoop, calls=%f, metadata={op_name="jit(f)/neg" stack_frame_id=2}
}
"""


def test_a_literal_without_a_frame_has_the_line_of_what_uses_it_and_not_of_its_fusion() -> None:
    old, new = (hlodiff.read_text(f"HloModule m\n\n{TABLES}{text}") for text in
                (FUSED_LITERAL, FUSED_LITERAL.replace("0.1", "0.2")))  # fmt: skip
    (edit,) = hlodiff.diff(old, new).reported
    assert [(frame.file, frame.line) for frame in edit.source] == [("/srv/model.py", 36)]


def test_what_has_no_frame_has_the_line_of_what_uses_it_and_not_of_its_fusion() -> None:
    """XLA writes a sum over windows out without a frame; the fusion around it has the line of its root."""
    text = FUSED_LITERAL.replace("multiply(%q, %b)", "multiply(%s, %b)").replace(
        "  %m =", "  %t = f32[8] tanh(%q)\n  %s = f32[8] copy(%t)\n  %m ="
    )
    old, new = (hlodiff.read_text(f"HloModule m\n\n{TABLES}{each}") for each in (text, text.replace("tanh", "sine")))
    (edit,) = hlodiff.diff(old, new).reported
    assert [(frame.file, frame.line) for frame in edit.source] == [("/srv/model.py", 36)]


def test_a_fusion_without_a_frame_has_the_line_of_what_it_computes_last() -> None:
    """As two casts that XLA fused, the second of which it made itself: not the line of the loop around them."""
    text = FUSED_LITERAL.replace(', metadata={op_name="jit(f)/neg" stack_frame_id=2}', "")
    old = hlodiff.read_text(f"HloModule m\n\n{TABLES}ENTRY %e {{\n  ROOT %x = f32[8] parameter(0)\n}}\n")
    added = hlodiff.diff(old, hlodiff.read_text(f"HloModule m\n\n{TABLES}{text}")).reported
    lines = {edit.new.opcode: [frame.line for frame in edit.source] for edit in added if edit.new}
    assert lines["fusion"] == [36]
    assert all(line == [36] for line in lines.values())


def test_a_literal_and_its_broadcast_with_the_line_of_a_loop_have_that_of_what_uses_them() -> None:
    tables = TABLES.replace("2 {file_location_id=2 parent_frame_id=0}", "2 {file_location_id=2 parent_frame_id=0}\n"
                            "3 {file_location_id=1 parent_frame_id=2}")  # fmt: skip
    text = FUSED_LITERAL.replace("stack_frame_id=1", "stack_frame_id=3")
    for line in ("constant(0.1)", "dimensions={}"):
        text = text.replace(line, line + ', metadata={op_name="jit(f)/while" stack_frame_id=2}')
    old, new = (hlodiff.read_text(f"HloModule m\n\n{tables}{each}") for each in (text, text.replace("0.1", "0.2")))
    (edit,) = hlodiff.diff(old, new).reported
    assert [(frame.file, frame.line) for frame in edit.source] == [("/srv/model.py", 36), ("/srv/loss.py", 8)]


def test_what_went_from_one_function_is_not_replaced_by_what_came_to_another() -> None:
    line = ', metadata={op_name="jit(f)/add" stack_frame_id=2}'
    body = "%a = f32[8] abs(%x)@\n%b = f32[8] negate(%a)@\nROOT %r = f32[8] tanh(%b)"
    other = f"%a = f32[8] sine(%x){line}\n%b = f32[8] cosine(%a){line}\nROOT %r = f32[8] tanh(%b)"
    groups = changes(hlodiff.diff(program(body), program(other)))
    assert "replaced" not in {group.kind for group in groups}, "two functions of Python"


def noted(*notes: str) -> hlodiff.Module:
    """Operations of two lines, with a configuration each."""
    lines = [
        f"%o{n} = f32[8] {opcode}(%{f'o{n - 1}' if n else 'x'}), "
        f'metadata={{op_name="jit(f)/op" stack_frame_id={1 + n % 2}}}, backend_config={{"outer":"1"{note}}}'
        for n, (opcode, note) in enumerate(zip(("tanh", "tanh", "sine"), notes, strict=True))
    ]
    return program("\n".join([*lines[:-1], "ROOT " + lines[-1]]))


def test_what_a_compiler_notes_everywhere_is_one_pattern_whatever_lines_and_opcodes_it_is_at() -> None:
    new = noted(*(f',"aliasing_operands":{{"lists":[{{"indices":["{n}","3"]}}]}}' for n in range(3)))
    (group,) = changes(hlodiff.diff(noted("", "", ""), new))
    assert (group.count, group.what) == (3, "tanh, sine: backend config: aliasing_operands")
    assert group.where == "model.py:36 (feed_forward) and 1 more line"


def test_what_came_under_a_wide_tuple_is_joined_once() -> None:
    """Not each that went with each that came: thousands of values of one tuple would be millions of joins."""

    def tuple_of(call: str, start: int, count: int) -> str:
        types = [f"f32[{2 * n + start}]" for n in range(count)]
        rows = [f"  x{n} = {kind} {call}" for n, kind in enumerate(types)]
        names = ", ".join(f"x{n}" for n in range(count))
        return "\n".join(["  p = f32[] parameter(0)", *rows, f"  ROOT r = ({', '.join(types)}) tuple({names})"])

    def work(count: int) -> int:
        old = module(tuple_of("broadcast(p), dimensions={}", 1, count))
        new = module(tuple_of("iota(), iota_dimension=0", 2, count))
        found = hlodiff.diff(old, new)
        assert found.summary["added"] == found.summary["removed"] == count
        return calls_of(lambda: hlodiff.diff(old, new))

    assert work(400) < 6 * work(100), "4 times as much work in fact; each with each would be 8 times as much"


PREFETCH = """%w = f32[4,8] parameter(1)
%s = (f32[4,8], f32[4,8], u32[]) copy-start(%w)
%d = f32[4,8] copy-done(%s)
%t = s32[4] parameter(2)
ROOT %r = (f32[8], f32[4,8], s32[4]) tuple(%x, %d, %t)"""


def test_a_copy_of_another_argument_is_another_copy() -> None:
    new = PREFETCH.replace("copy-start(%w)", "copy-start(%t)").replace("%t = s32[4] parameter(2)\n", "")
    new = new.replace("%s = (f32[4,8], f32[4,8], u32[])", "%t = s32[4] parameter(2)\n%s = (s32[4], s32[4], u32[])")
    new = new.replace("%d = f32[4,8]", "%d = s32[4]").replace(
        "(f32[8], f32[4,8], s32[4])", "(f32[8], f32[4,8], s32[4])"
    )
    new = new.replace("tuple(%x, %d, %t)", "tuple(%x, %w, %d)")
    found = hlodiff.diff(program(PREFETCH), program(new))
    assert {edit.kind for edit in found.reported if "copy-start" in {s.opcode for s in (edit.old, edit.new) if s}} == {
        "added",
        "removed",
    }
    assert found.replay().complete


def test_a_sum_of_numbers_is_no_sum_of_indices() -> None:
    old = "%i = s32[8] iota(), iota_dimension=0\n%a = s32[8] add(%i, %i)\n%n = f32[8] negate(%x)\n"
    new = "%i = s32[8] iota(), iota_dimension=0\n%n = f32[8] negate(%x)\n%a = f32[8] add(%n, %n)\n"
    end = "ROOT %r = (s32[8], f32[8]{}) tuple(%i, %n{})"
    found = hlodiff.diff(
        program(old + end.format(", s32[8]", ", %a")), program(new + end.format(", f32[8]", ", %a"))
    ).reported
    assert [edit.fields for edit in found if edit.kind == "changed" and edit.new and edit.new.opcode == "add"] == []


@pytest.mark.parametrize(
    ("made", "value", "is_changed"),
    [("%k = s32[8] multiply(%i, %i)\n", "%k", False), ("%k = f32[8] tanh(%x)\n%c = s32[8] convert(%k)\n", "%c", True)],
)
def test_a_value_of_other_operands_in_another_kind_of_numbers_is_another_value(
    made: str, value: str, is_changed: bool
) -> None:
    """One that was cast on the way is the same value."""
    body = "%i = s32[8] iota(), iota_dimension=0\n"
    ends = [
        (
            f"%b = {kind}[8,4] broadcast({operand}), dimensions={{0}}\n"
            '%s = f32[8,4] custom-call(%b), custom_call_target="sign"\n'
            "ROOT %r = (s32[8], f32[8,4]) tuple(%i, %s)"
        )
        for kind, operand in (("f32", "%t"), ("s32", value))
    ]
    found = hlodiff.diff(program(f"{body}%t = f32[8] tanh(%x)\n{ends[0]}"), program(body + made + ends[1]))
    kinds = {edit.kind for edit in found.reported for s in (edit.old, edit.new) if s and s.opcode == "broadcast"}
    assert kinds == ({"changed"} if is_changed else {"added", "removed"})
    assert found.replay().complete


SUM = """%sum {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

"""


def test_a_collective_of_another_value_is_another_collective() -> None:
    """Neither operand nor shape nor groups are as they were: nobody changed the groups of the one."""
    old = "%t = f32[8] tanh(%x)@\n%r = f32[8] all-reduce(%t), replica_groups={{0,1},{2,3}}, to_apply=%sum@\n"
    new = (
        "%c = f32[4] slice(%x), slice={[0:4]}@\n%t = f32[4] sine(%c)@\n"
        "%q = f32[4] all-reduce(%t), replica_groups={{0,2},{1,3}}, to_apply=%sum@\n"
        "%r = f32[8] concatenate(%q, %c), dimensions={0}@\n"
    )
    found = hlodiff.diff(
        *(
            hlodiff.read_text(
                f"HloModule m\n\n{TABLES}{SUM}ENTRY %e {{\n  %x = f32[8] parameter(0)\n"
                + (body + "ROOT %n = f32[8] negate(%r)").replace("@", HERE)
                + "\n}\n"
            )
            for body in (old, new)
        )
    )
    assert not [edit for edit in found.reported if edit.kind == "changed" and "replica_groups" in edit.fields]
    assert found.replay().complete


@pytest.mark.parametrize(("shape", "name", "is_changed"), [("f32[]", "f/sum", False), ("f32[4,4]", "f/dot", True)])
def test_a_collective_of_other_groups_and_size_is_the_same_one_where_the_mesh_has_other_sizes(
    shape: str, name: str, is_changed: bool
) -> None:
    """Matched through its operand: a mesh of other sizes changes groups and sizes, and a sum of a loss is another."""

    def reduced(shape: str, groups: str, name: str) -> hlodiff.Module:
        return hlodiff.read_text(
            f"HloModule m\n\n{SUM}ENTRY %e {{\n  %x = f32[16] parameter(0)\n"
            f'  %k = {shape} custom-call(%x), custom_call_target="k"\n'
            f"  %r = {shape} all-reduce(%k), replica_groups={groups}, to_apply=%sum, "
            f'metadata={{op_name="jit(f)/{name}"}}\n'
            f'  ROOT %n = f32[16] custom-call(%r), custom_call_target="n"\n}}\n'
        )

    found = hlodiff.diff(reduced("f32[8,4]", "{{0,1},{2,3}}", "f/dot"), reduced(shape, "{{0,1,2,3}}", name))
    kinds = {edit.kind for edit in found.reported for s in (edit.old, edit.new) if s and s.opcode == "all-reduce"}
    assert kinds == ({"changed"} if is_changed else {"added", "removed"})
    assert found.replay().complete


FUSED = """HloModule m

%inner {{
  %p0 = {0} parameter(0)
  %p1 = {1} parameter(1)
  {2}
  ROOT %r = (f32[8,2], bf16[8]) tuple(%a, %b)
}}

ENTRY %e {{
  %x = f32[8,2] parameter(0)
  %y = bf16[8] parameter(1)
  ROOT %f = (f32[8,2], bf16[8]) fusion({3}), kind=kLoop, calls=%inner
}}
"""


def test_parameters_that_hand_other_values_on_are_no_values_of_another_type() -> None:
    old = FUSED.format("f32[8,2]", "bf16[8]", "%a = f32[8,2] tanh(%p0)\n  %b = bf16[8] negate(%p1)", "%x, %y")
    new = FUSED.format("bf16[8]", "f32[8,2]", "%a = f32[8,2] sine(%p1)\n  %b = bf16[8] cosine(%p0)", "%y, %x")
    found = ProgramComparison("f", "tpu-v5e", "compiled", "changed", hlodiff.diff(*map(hlodiff.read_text, (old, new))))
    assert "instead of" not in headline(found)
    assert found.classes == ("structure",)


def replaced_by(count: int, line: int, both: int = 1) -> list[str]:
    """The kinds of groups where operations of line 36 made room for more of another line or of the same one."""

    def edit(kind: Literal["added", "removed"], opcode: str, row: int) -> Edit:
        site = Site(0, row, "main", opcode, opcode, f"%{opcode} = f32[8]{{0}} {opcode}(%x)")
        sites = ((site, None),) if kind == "removed" else ((None, site),)
        stack = (Frame("model.py", row, "f"),)
        return Edit(kind, count=both if kind == "removed" else count, sites=sites, source=stack, region=1,
                    is_replaced=True)  # fmt: skip

    edits = [edit("removed", "tanh", 36), edit("added", "sine", line)]
    return sorted({group.kind for group in changes(ModuleDiff(PROGRAM, PROGRAM, tuple(edits)), "stablehlo")})


@pytest.mark.parametrize(
    ("count", "line", "both", "is_one"),
    [(4, 40, 1, True), (5, 40, 1, False), (8, 36, 1, True), (9, 36, 1, False), (8, 40, 2, True), (9, 40, 2, False)],
)
def test_an_operation_of_another_line_is_replaced_by_at_most_four(
    count: int, line: int, both: int, is_one: bool
) -> None:
    """Where another line computes more than that, it was written for something else too."""
    assert replaced_by(count, line, both) == (["replaced"] if is_one else ["added", "removed"])


@pytest.mark.parametrize(("fewer", "is_one"), [("subtract", False), ("func.call", True)])
def test_many_operations_are_replaced_by_few_only_if_those_are_calls(fewer: str, is_one: bool) -> None:
    """A call on the side of the many says nothing about what the few do."""

    def edit(kind: Literal["added", "removed"], opcode: str, count: int) -> Edit:
        site = Site(0, 1, "main", opcode, opcode, f"%{opcode} = f32[8]{{0}} {opcode}(%x)")
        sites = ((site, None),) if kind == "removed" else ((None, site),)
        stack = (Frame("model.py", 36, "f"),)
        return Edit(kind, count=count, sites=sites, source=stack, region=1, is_replaced=True)

    edits = [edit("removed", "add", 90), edit("removed", "func.call", 2), edit("added", fewer, 5)]
    kinds = {group.kind for group in changes(ModuleDiff(PROGRAM, PROGRAM, tuple(edits)), "stablehlo")}
    assert kinds == ({"replaced"} if is_one else {"added", "removed"})


def test_all_says_that_the_line_of_what_was_removed_is_an_old_one() -> None:
    sites = tuple(
        Site(0, 1, "main", opcode, opcode, f"%{opcode} = f32[8]{{0}} {opcode}(%x)") for opcode in ("tanh", "add")
    )
    stacks = (Frame("model.py", 36, "f"),), (Frame("model.py", 40, "f"),)
    removed = Edit("removed", sites=((sites[0], None),), source=stacks[0])
    added = Edit("added", sites=((None, sites[1]),), source=stacks[1])
    found = ModuleDiff(PROGRAM, PROGRAM, (removed, added))
    program = ProgramComparison("f", "cpu", "stablehlo", "changed", found)
    text = to_terminal(Report("diff", "a", "b", (program,), all=True))
    assert "was model.py:36" in text and "was model.py:40" not in text and "model.py:40" in text


def test_constants_with_the_scope_of_the_whole_program_give_a_replaced_subgraph_no_name() -> None:
    """`jit(step)` around 3 constants is not a jitted function in which a sign was computed."""

    def edit(kind: Literal["added", "removed"], opcode: str, row: int, scope: str, count: int) -> Edit:
        site = Site(0, row, "main", opcode, opcode, f"%{opcode} = f32[8]{{0}} {opcode}(%x)")
        sites = ((site, None),) if kind == "removed" else ((None, site),)
        stack = (Frame("model.py", 36, "f"),)
        return Edit(kind, (), count, sites, op_name=scope, source=stack, region=1, is_replaced=True)

    edits = (
        edit("removed", "sign", 0, "jit(step)/sign", 2),
        edit("removed", "constant", 1, "jit(step)", 3),
        edit("added", "sqrt", 2, "jit(step)/sqrt", 2),
    )
    listed = [change.what for change in changes(ModuleDiff(PROGRAM, PROGRAM, edits), "stablehlo")]
    assert listed == ["2 sign by 2 sqrt"]


def test_of_changes_of_one_kind_the_one_with_most_work_is_listed_first() -> None:
    """By bytes or flops, whatever is larger: a product reads little and computes much."""

    def edit(kind: Literal["added", "removed", "changed"], opcode: str, cost: Cost, **region: Any) -> Edit:
        site = Site(0, 0, "main", opcode, opcode, f"%{opcode} = f32[8]{{0}} {opcode}(%x)")
        old, new = (None if kind == "added" else site), (None if kind == "removed" else site)
        changed = (FieldChange("shape", "f32[8]", "f32[9]"),) if kind == "changed" else ()
        costs = (cost if old else None, cost if new else None)
        return Edit(kind, tuple(c.field for c in changed), 1, ((old, new),), changed, cost=costs, **region)

    edits = (
        edit("changed", "add", Cost(1, 10**9, 0, 0)),
        edit("added", "sine", Cost(1, 50, 400, 400)),
        edit("added", "dot", Cost(1, 10_000, 64, 64)),
        edit("removed", "copy", Cost(1, 0, 3000, 3000)),
        edit("removed", "tanh", Cost(1, 1, 8, 8), region=1, is_replaced=True),
        edit("added", "fusion", Cost(1, 1, 8, 8), region=1, is_replaced=True),
        edit("added", "all-reduce", Cost(1, 1, 8, 8)),
    )
    program = ProgramComparison("f", "cpu", "compiled", "changed", ModuleDiff(PROGRAM, PROGRAM, edits))
    ((stage,),) = (view.stages for view in build_view(Report("check", "a", "b", (program,), all=True)).functions)
    ranked = [change.what.split()[0] for line in stage.lines for change in line.changes]
    assert ranked == ["all-reduce", "tanh", "dot", "copy", "sine", "add"], "the fusion replaces tanh"


def half(kind: Literal["added", "removed"], opcode: str, shape: str, scope: str, cost: Cost) -> Edit:
    site = Site(0, 0, "main", opcode, opcode, f"%{opcode}.3 = {shape} {opcode}(%x)")
    is_new = kind == "added"
    sites, costs = ((None, site), (None, cost)) if is_new else ((site, None), (cost, None))
    return Edit(kind, (), 1, (sites,), op_name=scope, cost=costs)


@pytest.mark.parametrize("stage", ["stablehlo", "compiled"])
def test_what_was_removed_and_added_of_one_operation_is_one_change(stage: Stage) -> None:
    """A product of another size that no match joins is neither new work nor saved work, and so is a collective."""
    edits = (
        half("removed", "all-reduce-start", "f32[32,64]", "f/psum", Cost(1, 0, 0, 8192, collective=8192)),
        half("removed", "dot", "f32[384,10]", "f/loss", Cost(1, 368_640)),
        half("added", "dot", "f32[768,10]", "f/loss", Cost(1, 737_280)),
        half("removed", "tanh", "f32[8]", "f/loss", Cost(1, 8)),
        half("added", "tanh", "f32[8]", "f/layer", Cost(1, 8)),
        half("removed", "add", "f32[8]", "f/layer", Cost(1, 8)),
        half("added", "add", "f32[8]", "f/layer", Cost(1, 8)),
        half("added", "all-reduce", "bf16[32,64]", "f/psum", Cost(1, 0, 0, 4096, collective=4096)),
    )
    empty = replace(PROGRAM, stage=stage)
    program = ProgramComparison("f", "cpu", stage, "changed", ModuleDiff(empty, empty, edits))
    text = to_terminal(Report("check", "a", "b", (program,)), width=200)
    collective = "replaced all-reduce-start f32[32,64] by all-reduce bf16[32,64]"
    collective += "  (-4.0 KiB)" if stage == "compiled" else ""
    listed = [line.strip() for line in text.splitlines() if line.strip().startswith(("added", "removed", "replaced"))]
    product = "replaced dot f32[384,10] by dot f32[768,10]  (+368,640 flops)"
    assert listed == [collective, product, "removed tanh f32[8]  (-8 flops)", "added tanh f32[8]  (+8 flops)"]
    assert "changed add %add f32[8]: operands  (8 flops)" in text, "one that takes other values"


def test_of_one_operation_in_another_layout_only_the_difference_went() -> None:
    tiled = "f32[8,4]{1,0:T(8,128)S(1)}"
    edits = (
        *(half("removed", "subtract", shape, "f/loss", Cost(1, 32)) for shape in ("f32[8,4]{1,0}", tiled)),
        half("added", "subtract", tiled, "f/loss", Cost(1, 32)),
    )
    empty = replace(PROGRAM, stage="stablehlo")  # in compiled programs, what they have as many of is taken out before
    program = ProgramComparison("f", "cpu", "stablehlo", "changed", ModuleDiff(empty, empty, edits))
    text = to_terminal(Report("check", "a", "b", (program,)), width=200)
    assert "removed subtract f32[8,4]{1,0:T(8,128)S(1)}  (-32 flops)" in text


def test_a_broadcast_along_other_dimensions_with_other_users_is_another_one() -> None:
    """The vector that a loop begins with, and a number in a product: nothing but the result's type is the same."""
    old = """
ENTRY e {
x = f32[8,4] parameter(0)
%c = f32[4] constant({1,2,3,4})
%b = f32[8,4] broadcast(%c), dimensions={1}
%t = f32[8,4] atan2(%x, %b)
ROOT %r = (f32[8,4], f32[8,4]) tuple(%t, %x)
}
"""
    new = """
ENTRY e {
x = f32[8,4] parameter(0)
%c = f32[] constant(3)
%b = f32[8,4] broadcast(%c), dimensions={}
%t = f32[8,4] multiply(%b, %x)
%s = f32[8,4] sine(%t)
ROOT %r = (f32[8,4], f32[8,4]) tuple(%s, %x)
}
"""
    found = compare(old, new)
    kinds = {edit.kind for edit in found.reported for s in (edit.old, edit.new) if s and s.opcode == "broadcast"}
    assert kinds == {"added", "removed"}


def test_what_follows_from_either_side_of_what_was_replaced_is_part_of_its_cost() -> None:
    """A product that a call has too is reported as removed and added, and follows from the call."""

    def edit(kind: Literal["added", "removed"], opcode: str, cause: int | None = None, flops: int = 64) -> Edit:
        site, cost = Site(0, 0, "main", opcode, opcode, f"%{opcode} = f32[64] {opcode}(%x)"), Cost(1, flops, 0, 0)
        removed = kind == "removed"
        return Edit(
            kind, sites=((site, None),) if removed else ((None, site),), cost=(cost, None) if removed else (None, cost),
            cause=cause, region=1, is_replaced=True,
        )  # fmt: skip

    edits = [edit("removed", "tanh"), edit("added", "func.call", flops=0), edit("removed", "multiply", 1),
             edit("added", "multiply", 1), edit("added", "negate", 1, flops=96)]  # fmt: skip
    (group,) = changes(ModuleDiff(PROGRAM, PROGRAM, tuple(edits)), "stablehlo")
    assert group.cost == "+32 flops"


CUBED = """%c = f32[] constant(0.044715)
%b = f32[8] broadcast(%c), dimensions={}
%m0 = f32[8] multiply(%x, %x)@
%m1 = f32[8] multiply(%m0, %x)@
%m2 = f32[8] multiply(%m1, %b)@
%m3 = f32[8] multiply(%m2, %x)@
ROOT %r = f32[8] tanh(%m3)"""
SCALED = """%c = f32[] constant(0.7071)
%b = f32[8] broadcast(%c), dimensions={}
%n = f32[8] negate(%x)@
%m2 = f32[8] multiply(%n, %b)@
%m3 = f32[8] multiply(%m2, %x)@
ROOT %r = f32[8] tanh(%m3)"""


def test_a_literal_beside_other_operands_is_another_literal() -> None:
    """The product is no edit: what it is of was exchanged. Its literal is of the line of what was exchanged."""
    found = hlodiff.diff(program(CUBED), program(SCALED))
    assert found.replay().complete
    assert {edit.region for edit in found.reported} == {0}
    assert not [edit for edit in found.reported if "literal" in edit.fields]
    assert "numerics" not in ProgramComparison("f", "cpu", "compiled", "changed", found).classes


def test_a_literal_of_what_takes_the_same_is_a_changed_literal() -> None:
    found = hlodiff.diff(program(CUBED), program(CUBED.replace("0.044715", "0.05")))
    assert [edit.fields for edit in found.reported] == [("literal",)]


SAVED = """%v = f32[1,4] parameter(1)
%w = bf16[1,#] $
%i = s32[] constant(0)
%k = f32[] constant(0)
%j = bf16[] constant(0)
%z = f32[8,4] broadcast(%k), dimensions={}
%y = bf16[8,#] broadcast(%j), dimensions={}
ROOT %d = @"""


@pytest.mark.parametrize(
    ("size", "made", "word"),
    [
        ("4", "convert(%v)", "changed"),
        ("4", "parameter(2)", "added"),
        ("2", "parameter(2)", "added"),
    ],
)
def test_a_saved_value_of_another_type_is_another_value_unless_it_was_cast(size: str, made: str, word: str) -> None:
    """What a loop saves for the backward pass: another array took the place of one."""
    saved = [f"f32[8,4] dynamic-update-slice({text})" for text in ("%z, %v, %i, %i", "%y, %w, %i, %i")]
    saved[1] = saved[1].replace("f32[8,4]", f"bf16[8,{size}]")
    old, new = (program(SAVED.replace("#", size).replace("$", made).replace("@", text)) for text in saved)
    found = hlodiff.diff(old, new)
    kinds = {edit.kind for edit in found.reported for site in [edit.new] if site and site.opcode.startswith("dynamic")}
    assert kinds == {word} and found.replay().complete


KEPT = """%a = f32[4] parameter(1)
%b = f32[4] parameter(2)
%n = s32[] parameter(3)
%p = pred[] parameter(4)
%u = f32[] sine(%s)
%w = f32[] cosine(%t)
%s = f32[] parameter(5)
%t = f32[] parameter(6)
%f = TYPE[1] dynamic-slice(ARRAY, %n), dynamic_slice_sizes={1}
%g = TYPE[] bitcast(%f)
%k = TYPE[] select(%p, VALUE, %g)
%l = TYPE[1] bitcast(%k)
%m = TYPE[4] dynamic-update-slice(ARRAY, %l, %n)
ROOT %r = (f32[], f32[], TYPE[4]) tuple(%u, %w, %m)"""


@pytest.mark.parametrize("array", ["%a", "%b"])
@pytest.mark.parametrize(("value", "word"), [("%u", "changed"), ("%w", "added")])
def test_an_array_of_which_a_loop_keeps_one_value_is_what_that_value_is(value: str, word: str, array: str) -> None:
    """All such arrays have one index, and one condition under which a value is kept."""
    old = KEPT.replace("TYPE", "f32").replace("ARRAY", "%a").replace("VALUE", "%u")
    new = KEPT.replace("TYPE", "bf16").replace("ARRAY", array).replace("VALUE", "%h")
    new = new.replace(f"{array} = f32", f"{array} = bf16").replace("%k =", f"%h = bf16[] convert({value})\n%k =")
    found = hlodiff.diff(program(old), program(new))
    kinds = {e.kind for e in found.reported for site in [e.new] if site and site.opcode == "dynamic-update-slice"}
    assert kinds == {word} and found.replay().complete


def test_a_mask_that_is_saved_in_the_place_of_numbers_begins_with_a_constant_of_its_own() -> None:
    lines = SAVED.replace("bf16[1,#] $", "pred[1,4] parameter(2)").splitlines()
    text = "\n".join(line for line in lines if not line.startswith(("%j", "%y")))
    old = text.replace("@", "f32[8,4] dynamic-update-slice(%z, %v, %i, %i)")
    new = text.replace("f32[] constant(0)", "pred[] constant(false)").replace("%z = f32", "%z = pred")
    found = hlodiff.diff(program(old), program(new.replace("@", "pred[8,4] dynamic-update-slice(%z, %w, %i, %i)")))
    kinds = {edit.kind for edit in found.reported for site in [edit.new] if site and site.opcode == "constant"}
    assert kinds == {"added"} and found.replay().complete


def test_a_literal_beside_a_broadcast_value_is_one_of_another_division() -> None:
    """A mean of means became one mean: the second division went, and the first has another number."""
    lines = """%r = f32[] parameter(1)
%y = f32[8] broadcast(%r), dimensions={}
%n = f32[8] sine(%y)@
%k = f32[] constant(2)
%b = f32[8] broadcast(%k), dimensions={}
ROOT %q = f32[8] divide(%n, %b)@"""
    other = lines.replace("%n = f32[8] sine(%y)@\n", "").replace("divide(%n", "divide(%y")
    for pair in ((lines, other.replace("constant(2)", "constant(64)")), (other.replace("(2)", "(64)"), lines)):
        found = hlodiff.diff(*map(program, pair))
        assert not [edit for edit in found.reported if "literal" in edit.fields] and found.replay().complete


CLIPPED = """%v = f32[64] parameter(1)
%w = f32[6,16] parameter(2)
%z = f32[] constant(0)
%b = f32[@] broadcast(%z), dimensions={}
%c = pred[@] compare(%#, %b), direction=GT
%m = f32[@] select(%c, %#, %b)
ROOT %d = (f32[@]) tuple(%$)"""


def test_the_same_number_beside_it_is_no_evidence_for_a_value_of_another_size() -> None:
    old = CLIPPED.replace("@", "64").replace("#", "v").replace("ROOT", "%n = f32[64] negate(%m)\nROOT")
    new = CLIPPED.replace("@", "6,16").replace("#", "w")
    found = hlodiff.diff(program(old.replace("$", "n")), program(new.replace("$", "m")))
    kinds = {(edit.kind, site.opcode) for edit in found.reported for site in [edit.old or edit.new] if site}
    work = {(kind, opcode) for kind in ("removed", "added") for opcode in ("compare", "select", "broadcast")}
    assert work <= kinds and not {("changed", "select"), ("changed", "broadcast")} & kinds
    assert found.replay().complete


OF_ONE_FUSION = """HloModule m

fused (p: f32[8,64]) -> {type} {{
  p = f32[8,64]{{1,0}} parameter(0)
  {body}
}}

ENTRY e (x: f32[8,64]) -> {type} {{
  x = f32[8,64]{{1,0}} parameter(0), metadata={{op_name="x"}}
  n = f32[8,64]{{1,0}} negate(x)
  ROOT f = {type} fusion(n), kind={kind}, calls=fused
}}
"""
HALF = "s = f32[8,2]{1,0} slice(t), slice={[0:8], [0:2]}\n  ROOT c = bf16[8,2]{1,0} convert(s)"


@pytest.mark.parametrize(
    ("new", "kinds"),
    [
        (("bf16[8,2]{1,0}", f"t = f32[8,64]{{1,0}} sine(p)\n  {HALF}", "kLoop"), {"removed", "added"}),
        (("bf16[8,2]{1,0}", f"t = f32[8,64]{{1,0}} tanh(p)\n  {HALF}", "kLoop"), {"changed"}),
        (("bf16[8,64]{1,0}", "ROOT c = bf16[8,64]{1,0} convert(p)", "kLoop"), {"changed"}),
        (("f32[64,8]{1,0}", "ROOT c = f32[64,8]{1,0} transpose(p), dimensions={1,0}", "kLoop"), {"changed"}),
    ],
)
def test_a_fusion_of_another_type_and_size_that_computes_something_else_is_another_one(
    new: tuple[str, str, str], kinds: set[str]
) -> None:
    sides = ("f32[8,64]{1,0}", "ROOT c = f32[8,64]{1,0} tanh(p)", "kLoop"), new
    texts = [OF_ONE_FUSION.format(type=each[0], body=each[1], kind=each[2]) for each in sides]
    found = hlodiff.diff(*map(hlodiff.read_text, texts))
    sites = [(edit.kind, edit.old or edit.new) for edit in found.reported]
    assert {kind for kind, site in sites if site and site.opcode == "fusion"} == kinds
    assert found.replay().complete


_NORM = "m = f32[8,64]{1,0} multiply(p, p)\n  n = f32[8,64]{1,0} subtract(m, p)\n  "
_PRODUCT = (
    f"{_NORM}d = f32[2,64,64]{{2,1,0}} dot(n, p), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}\n"
    "  ROOT r = f32[2,64,64]{2,1,0} negate(d)"
)


@pytest.mark.parametrize(("size", "kinds"), [("8,64,1", {"removed", "added"}), ("8,64", {"removed", "added"})])
def test_a_fusion_of_what_another_one_multiplied_is_not_that_one(size: str, kinds: set[str]) -> None:
    """The norm of a layer is computed in each fusion that takes it, and its casts make a fusion of its own of it."""
    rounded = f"{_NORM}ROOT c = bf16[{size}] convert(n)"
    old = OF_ONE_FUSION.format(type="f32[2,64,64]{2,1,0}", body=_PRODUCT, kind="kCustom")
    new = OF_ONE_FUSION.format(type=f"bf16[{size}]", body=rounded, kind="kCustom")
    found = hlodiff.diff(hlodiff.read_text(old), hlodiff.read_text(new))
    sites = [(edit.kind, edit.old or edit.new) for edit in found.reported]
    assert {kind for kind, site in sites if site and site.opcode == "fusion"} == kinds
    assert found.replay().complete


def test_a_line_that_took_the_place_of_itself_did_not_take_that_of_another_one() -> None:
    """A value of the next line that is computed once less goes with the replaced operation that it was fused with."""
    own, next_line = ("a.py", 14), ("a.py", 15)
    edits = [
        RawEdit("removed", (0, 0), None),
        RawEdit("added", None, (0, 0)),
        RawEdit("changed", (1, 0), (1, 0), is_weak=True),
    ]
    for edit, region in zip(edits, (0, 0, 1), strict=True):
        edit.region = region
    lines = [(own, None), (None, own), (next_line, own)]
    assert number_by_line(edits, lines) == [0, 0, 0]
    moved = [(next_line, None), (None, own), (next_line, own)]
    assert number_by_line(edits, moved) == [0, 0, 0]
    apart = [(own, None), (None, own), (next_line, next_line)]
    assert number_by_line(edits, apart) == [0, 0, 1]


@pytest.mark.parametrize(
    ("fields", "new", "place"),
    [
        (("memory_space",), "vmem", "last"),
        (("memory_space", "layout"), "vmem", "last"),
        (("memory_space", "operands"), "vmem", "with other operands"),
        (("memory_space", "element_type"), "vmem", "with other types"),
        (("memory_space",), "host", "with other types"),
    ],
)
def test_where_on_a_chip_a_value_is_kept_is_listed_last(fields: tuple[str, ...], new: str, place: str) -> None:
    def edit(fields: tuple[str, ...], new: str) -> Edit:
        site = Site(0, 0, "main", "a", "add", "%a = f32[8] add(%x, %x)")
        values = {"element_type": ("f32", "bf16")}
        changed = tuple(FieldChange(f, *values.get(f, ("device", new))) for f in fields)
        return Edit("changed", fields, 1, ((site, site),), changed)

    one, other = edit(("operands",), "vmem"), edit(("operands", "layout"), "vmem")
    edits = (one, edit(fields, new), other, edit(("element_type",), "bf16"))
    listed = [change.what for change in changes(ModuleDiff(PROGRAM, PROGRAM, edits))]
    own = next(n for n, what in enumerate(listed) if "memory space" in what)
    assert own == {"with other types": 0, "with other operands": 2, "last": 3}[place], listed


def test_who_else_has_a_channel_is_listed_last() -> None:
    """Otherwise collectives come first."""

    def edit(opcode: str, field: str) -> Edit:
        site = Site(0, 0, "main", "a", opcode, f"%a = f32[8] {opcode}(%x)")
        return Edit("changed", (field,), 1, ((site, site),), (FieldChange(field, "1", "2"),))

    edits = (edit("all-gather", "attribute:channel_id"), edit("tanh", "operands"), edit("all-reduce", "replica_groups"))
    program = ProgramComparison("f", "cpu", "compiled", "changed", ModuleDiff(PROGRAM, PROGRAM, edits))
    text = to_terminal(Report("diff", "a", "b", (program,)))
    assert text.index("all-reduce") < text.index("changed tanh") < text.index("channel_id")


def test_operations_that_changed_their_places_are_what_they_were() -> None:
    """A norm before a layer and behind it: the shortest script makes a gather an add, and an add a gather."""
    lines = {"gather": 45, "add": 55, "multiply": 21}

    def site(row: int, opcode: str, operands: str) -> Site:
        return Site(0, row, "main", opcode, opcode, f"%{opcode}.{row} = f32[8]{{0}} {opcode}({operands})")

    def frames(opcode: str) -> tuple[Frame, ...]:
        return (Frame("model.py", lines[opcode], "call"),)

    def weak(old: Site, new: Site) -> Edit:
        changes = (FieldChange("opcode", old.opcode, new.opcode), FieldChange("operands", "", ""))
        fields, cost = ("opcode", "operands"), (Cost(1, 8, 0, 0), Cost(1, 8, 0, 0))
        return Edit("changed", fields, 1, ((old, new),), changes, source=frames(new.opcode), is_weak=True, cost=cost)

    old = [site(0, "gather", "%w, %i"), site(1, "multiply", "%gather.0, %s"), site(2, "add", "%dot, %b")]
    new = [site(0, "gather", "%w, %i"), site(1, "add", "%dot, %b"), site(2, "multiply", "%add.1, %s")]
    edits = [weak(old[0], new[1]), weak(old[1], new[0]), weak(old[2], new[2])]
    # A tanh went, where only its own line knows: nothing came for it.
    edits.append(Edit("removed", (), 1, ((site(3, "tanh", "%x"), None),), source=(Frame("model.py", 9, "call"),)))

    def describe(side: int, computation: int, row: int) -> tuple[str | None, tuple[Frame, ...], bool]:
        return None, frames((old, new)[side][row].opcode), False

    reported, origins = reported_edits(edits, describe, lambda *_: ((), False))
    assert [(edit.kind, edit.fields, edit.source[0].line) for edit in reported] == [
        ("changed", ("operands",), 21),
        ("removed", (), 9),
    ]
    assert reported[0].changes == (FieldChange("operands", "%gather.0, %s", "%add.1, %s"),)
    assert reported[0].sites == ((old[1], new[2]),)
    assert reported[0].cost == (Cost(1, 8, 0, 0), Cost(1, 8, 0, 0))
    assert len(origins) == 2 and origins[-1] == 3
    lines["maximum"] = 21
    edits[2] = weak(old[2], site(2, "maximum", "%add.1, %s"))  # another operation of that line: the one went, it came
    reported, _ = reported_edits(edits, describe, lambda *_: ((), False))
    kinds = {(edit.kind, site.opcode) for edit in reported for site in (edit.new or edit.old,) if site}
    assert {("added", "maximum"), ("removed", "multiply")} <= kinds


@pytest.mark.parametrize(
    ("shapes", "is_one"),
    [
        (("f32[4,8]", "f32[16,8]"), True),
        (("f32[4,8]", "f32[4,1]"), False),  # that is repeated along a dimension
        (("f32[8]", "f32[]"), False),
        (("f32[4,8]", "f32[16,2,8]"), False),
    ],
)
def test_an_operation_of_a_line_in_other_sizes_is_one_change(shapes: tuple[str, str], is_one: bool) -> None:
    """The shortest script makes the old product a sum of its size, and the new product came."""
    old = Site(0, 1, "main", "m", "multiply", f"%m = {shapes[0]} multiply(%x, %y)")
    new = Site(0, 2, "main", "m", "multiply", f"%m = {shapes[1]} multiply(%x, %y)")
    other = Site(0, 1, "main", "a", "add", f"%a = {shapes[0]} add(%x, %y)")
    frames = (Frame("model.py", 6, "call"),)
    weak = Edit("changed", ("opcode",), 1, ((old, other),), (FieldChange("opcode", "", ""),), "mul", is_weak=True)
    edits = [weak, Edit("added", (), 1, ((None, new),), (), "mul", frames)]
    reported, _ = reported_edits(edits, lambda *_: ("mul", frames, False), lambda *_: ((), False))
    changed = [edit for edit in reported if edit.kind == "changed"]
    assert [edit.changes for edit in changed] == ([(FieldChange("shape", *shapes),)] if is_one else [])
    assert len(reported) == (2 if is_one else 3)


def test_an_operation_that_went_to_another_fusion_is_no_change() -> None:
    """The shortest script makes a product of one fusion a sum, and a sum of the other one the product."""

    def site(row: int, opcode: str, operands: str = "%p0, %p1") -> Site:
        return Site(row, 2, f"fused.{row}", opcode, opcode, f"%{opcode} = f32[8]{{0}} {opcode}({operands})")

    def weak(old: Site, new: Site) -> Edit:
        changes = (FieldChange("opcode", old.opcode, new.opcode),)
        source = (Frame("model.py", {"dot": 4, "add": 5, "multiply": 6}[new.opcode], "call"),)
        return Edit("changed", ("opcode",), 1, ((old, new),), changes, source=source, is_weak=True)

    def describe(side: int, computation: int, row: int) -> tuple[str | None, tuple[Frame, ...], bool]:
        return None, (Frame("model.py", {0: 4, 1: 6}[computation], "call"),), False

    edits = [weak(site(0, "dot"), site(2, "add")), weak(site(1, "multiply"), site(3, "dot"))]
    reported, origins = reported_edits(edits, describe, lambda *_: ((), True))
    assert [(edit.kind, site.opcode) for edit in reported for site in (edit.new or edit.old,) if site] == [
        ("added", "add"),
        ("removed", "multiply"),
    ]
    assert origins == (0, 1)
    edits[1] = weak(site(1, "multiply"), site(3, "dot", "%p1, %p2"))  # of other values
    reported, _ = reported_edits(edits, describe, lambda *_: ((), True))
    dots = [edit for edit in reported if "dot" in {s.opcode for s in (edit.old, edit.new) if s}]
    assert [edit.kind for edit in dots] == ["removed", "added"]


@pytest.mark.parametrize(("opcode", "kinds"), [("multiply", ["changed"]), ("convert", ["removed", "added"])])
def test_a_cast_of_another_value_to_another_type_is_another_cast(opcode: str, kinds: list[str]) -> None:
    """A product in another type is the same product."""
    old, new = (
        Site(0, 0, "main", opcode, opcode, f"%{opcode} = {kind}[8]{{0}} {opcode}({operand})")
        for kind, operand in (("f32", "%g"), ("bf16", "%s"))
    )
    changes = FieldChange("element_type", "f32", "bf16"), FieldChange("operands", "%g", "%s")
    where = (Frame("model.py", 3, "call"),)
    fields = ("element_type", "operands")
    edit = Edit("changed", fields, 1, ((old, new),), changes, op_name="f/x", source=where, is_weak=True)
    reported, _ = reported_edits([edit], lambda *_: ("f/x", where, False), lambda *_: ((), False))
    assert [one.kind for one in reported] == kinds


PRODUCTS = """%w = f32[8,8] parameter(1)
%d = f32[8] dot(%x, %w), lhs_contracting_dims={0}, rhs_contracting_dims={0}
@BODY
%e = f32[8] dot(%m, %w), lhs_contracting_dims={0}, rhs_contracting_dims={0}
%f = f32[8] dot(%e, %w), lhs_contracting_dims={0}, rhs_contracting_dims={0}
@SECOND
ROOT %r = f32[8] dot(%m_2, %w), lhs_contracting_dims={0}, rhs_contracting_dims={0}"""
TANH = """%c1 = f32[] constant(0.044715)
%b1 = f32[8] broadcast(%c1), dimensions={}
%c2 = f32[] constant(0.7978846)
%b2 = f32[8] broadcast(%c2), dimensions={}
%c3 = f32[] constant(1)
%b3 = f32[8] broadcast(%c3), dimensions={}
%c4 = f32[] constant(0.5)
%b4 = f32[8] broadcast(%c4), dimensions={}
%m1 = f32[8] multiply(%d, %d)
%m2 = f32[8] multiply(%m1, %d)
%m3 = f32[8] multiply(%b1, %m2)
%a1 = f32[8] add(%d, %m3)
%m4 = f32[8] multiply(%b2, %a1)
%t = f32[8] tanh(%m4)
%a2 = f32[8] add(%b3, %t)
%m5 = f32[8] multiply(%b4, %a2)
%m = f32[8] multiply(%d, %m5)"""
ERF = """%c2 = f32[] constant(0.70710677)
%b2 = f32[8] broadcast(%c2), dimensions={}
%c4 = f32[] constant(0.5)
%b4 = f32[8] broadcast(%c4), dimensions={}
%m1 = f32[8] multiply(%b4, %d)
%n = f32[8] negate(%d)
%m2 = f32[8] multiply(%n, %b2)
%t = f32[8] erf(%m2)
%m = f32[8] multiply(%m1, %t)"""


def two_layers(body: str) -> hlodiff.Module:
    """The body after one product, and again after another one."""
    second = re.sub(r"%(\w+)", lambda name: "%f" if name[1] == "d" else f"{name[0]}_2", body)
    return program(PRODUCTS.replace("@BODY", body).replace("@SECOND", second))


@pytest.mark.parametrize("back", [False, True])
def test_an_operation_that_stayed_is_neither_removed_nor_added(back: bool) -> None:
    """A short script makes an erf of a product, and that product of the tanh."""
    old, new = map(two_layers, (ERF, TANH) if back else (TANH, ERF))
    found = hlodiff.diff(old, new)
    assert any("dot" in (site.opcode for site in (edit.old, edit.new) if site) for edit in found.edits)
    reported = {(edit.kind, site.opcode) for edit in found.reported for site in (edit.new or edit.old,) if site}
    assert not [opcode for _, opcode in reported if opcode == "dot"]
    assert {("added", "erf"), ("removed", "tanh")} <= {
        (kind if not back else "added" if kind == "removed" else "removed", opcode) for kind, opcode in reported
    }
    assert found.replay().complete


GATHERED = """HloModule m, num_partitions=4

%divide {
  %a = f32[32,32]{1,0} parameter(0)
  %b = f32[32]{0} parameter(1)
  %c = f32[32,32]{1,0} broadcast(%b), dimensions={0}
  ROOT %d = f32[32,32]{1,0} multiply(%a, %c)
}

%norm {
  %n = f32[128,32]{1,0} parameter(0)
  %s = f32[128,32]{1,0} multiply(%n, %n)
  %z = f32[] constant(0)
  ROOT %r = f32[] reduce(%s, %z), dimensions={0,1}, to_apply=%sum
}

%sum {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %t = f32[] add(%x, %y)
}

ENTRY e {
  %p = f32[32,32]{1,0} parameter(0)
  %q = f32[32]{0} parameter(1)
  %f = f32[32,32]{1,0} fusion(%p, %q), kind=kLoop, calls=%divide
  %g = f32[128,32]{1,0} all-gather(%f), channel_id=1, replica_groups={{0,1,2,3}}, dimensions={0}
  %h = f32[] fusion(%g), kind=kCustom, calls=%norm
  %i = f32[] sqrt(%h)
  ROOT %o = (f32[32,32]{1,0}, f32[]) tuple(%f, %i)
}
"""


def test_a_gather_along_another_axis_is_one_changed_collective() -> None:
    """With another layout, so that XLA makes copies on both sides of it: none of its neighbours is the same."""
    copied = GATHERED.split("%norm")[0].partition("%divide")[2].replace("%divide", "%copied")
    copied = "%copied" + re.sub(r"(%[abcd])\\b", r"\\1.1", copied).replace(
        "ROOT %d.1 = f32[32,32]{1,0} multiply(%a.1, %c.1)",
        "%d.1 = f32[32,32]{1,0} multiply(%a.1, %c.1)\n  ROOT %k = f32[32,32]{0,1} copy(%d.1)",
    )
    back = "%back {\n  %v = f32[32,128]{0,1} parameter(0)\n  ROOT %w = f32[32,128]{1,0} copy(%v)\n}\n\n"
    gather = "%l = f32[32,32]{0,1} fusion(%p, %q), kind=kLoop, calls=%copied\n  %g = f32[32,128]{0,1} all-gather(%l)"
    new = GATHERED.replace("f32[128,32]", "f32[32,128]").replace("%norm {", f"{copied}{back}%norm {{")
    new = new.replace("%g = f32[32,128]{1,0} all-gather(%f)", gather).replace(
        "dimensions={0}\n  %h", "dimensions={1}\n  %h"
    )
    new = new.replace("fusion(%g)", "fusion(%u)").replace(
        "  %h =", "  %u = f32[32,128]{1,0} fusion(%g), kind=kLoop, calls=%back\n  %h ="
    )
    for one, other in ((GATHERED, new), (new, GATHERED)):
        assert gathers(one, other) == [("changed", True)]
    assert "changed" not in dict(gathers(GATHERED, new.replace("{{0,1,2,3}}", "{{0,1},{2,3}}")))


def gathers(old: str, new: str) -> list[tuple[str, bool]]:
    """The kind of each edit of an all-gather, and whether it gathers along another axis."""
    found = hlodiff.diff(hlodiff.read_text(old), hlodiff.read_text(new)).reported
    sites = [(edit, edit.new or edit.old) for edit in found]
    own = [edit for edit, site in sites if site is not None and site.opcode == "all-gather"]
    return [(edit.kind, {"shape", "attribute:dimensions"} <= set(edit.fields)) for edit in own]


def test_a_broadcast_that_fills_a_buffer_is_listed_before_arithmetic_of_indices() -> None:
    old = """HloModule m

ENTRY e {
  %x = f32[65536]{0} parameter(0)
  %i = s32[] parameter(1)
  ROOT %r = (f32[65536]{0}, s32[]) tuple(%x, %i)
}
"""
    new = old.replace(
        "  ROOT %r = (f32[65536]{0}, s32[]) tuple(%x, %i)",
        "  %z = f32[] constant(0)\n  %b = f32[65536]{0} broadcast(%z), dimensions={}\n"
        "  %j = s32[] add(%i, %i)\n  ROOT %r = (f32[65536]{0}, s32[]) tuple(%b, %j)",
    )
    found = hlodiff.diff(hlodiff.read_text(old), hlodiff.read_text(new))
    shown = to_terminal(Report("diff", "a", "b", (ProgramComparison("m", "tpu-v5e", "compiled", "changed", found),)))
    assert 0 < shown.index("added broadcast f32[65536]") < shown.index("added add s32[]")


# The derivatives of gelu: its approximation by tanh, and the exact one.
APPROXIMATE = """%half = f32[] constant(0.5)
%halves = f32[8] broadcast(%half), dimensions={}
%product = f32[8] multiply(%x, %g)@
%a = f32[8] multiply(%halves, %product)@
%square = f32[8] multiply(%x, %x)@
%cube = f32[8] multiply(%square, %x)@
%c = f32[] constant(0.044715)
%cs = f32[8] broadcast(%c), dimensions={}
%scaled = f32[8] multiply(%cs, %cube)@
%z = f32[8] add(%x, %scaled)@
%t = f32[8] tanh(%z)@
%o = f32[] constant(1)
%ones = f32[8] broadcast(%o), dimensions={}
%s = f32[8] subtract(%ones, %t)@
ROOT %r = f32[8] multiply(%a, %s)@"""
EXACT = """%root = f32[] constant(0.707106769)
%roots = f32[8] broadcast(%root), dimensions={}
%y = f32[8] multiply(%x, %roots)@
%product = f32[8] multiply(%y, %g)@
%c = f32[] constant(-1.12837923)
%cs = f32[8] broadcast(%c), dimensions={}
%a = f32[8] multiply(%cs, %product)@
%square = f32[8] multiply(%y, %y)@
%n = f32[8] negate(%square)@
%e = f32[8] exponential(%n)@
ROOT %r = f32[8] multiply(%a, %e)@"""


@pytest.mark.parametrize("names", [(APPROXIMATE, EXACT), (EXACT, APPROXIMATE)])
def test_a_number_of_the_same_operation_amid_other_work_is_another_number(names: tuple[str, str]) -> None:
    old, new = (program("%g = f32[8] parameter(1)\n" + body) for body in names)
    found = hlodiff.diff(old, new)
    assert found.replay().failures == ()
    assert all("literal" not in edit.fields and not any(c.literals for c in edit.changes) for edit in found.reported)
    assert ProgramComparison("f", "cpu", "compiled", "changed", found).classes == ("structure",)


BODIES = """%inner (p0: f32[8], p1: f32[8]) -> f32[8] {{
  %p0 = f32[8] parameter(0)
  %p1 = f32[8] parameter(1)
{body}
}}

ENTRY %e {{
  %x = f32[8] parameter(0)
  %y = f32[8] parameter(1)
  %s = f32[8] sine(%x)
  %f = f32[8] fusion(%s, %y), kind={kind}, calls=%inner
  ROOT %r = f32[8] cosine(%f)
}}
"""


@pytest.mark.parametrize(
    ("body", "edits"),
    [
        ("%a = f32[8] tanh(%p0)\n  ROOT %b = f32[8] multiply(%a, %p1)", [("changed", "fusion")]),
        ("%a = f32[8] tanh(%p0)\n  ROOT %b = f32[8] subtract(%a, %p1)", [("changed", "fusion")]),
        ("%a = f32[8] sqrt(%p1)\n  ROOT %b = f32[8] subtract(%p0, %a)", [("added", "fusion"), ("removed", "fusion")]),
    ],
)
def test_a_fusion_in_the_place_of_another_one_is_not_the_same_one(body: str, edits: list[tuple[str, str]]) -> None:
    first = "%a = f32[8] tanh(%p0)\n  ROOT %b = f32[8] multiply(%a, %p1)"
    old, new = BODIES.format(body=first, kind="kLoop"), BODIES.format(body=body, kind="kInput")
    found = hlodiff.diff(*(hlodiff.read_text("HloModule m\n\n" + text) for text in (old, new)))
    assert found.replay().failures == ()
    sites = [(edit.kind, site.opcode) for edit in found.reported if (site := edit.new or edit.old)]
    assert sorted(one for one in sites if one[1] == "fusion") == edits


def test_a_mask_from_the_same_position_is_no_index_of_another_type() -> None:
    """A loop that keeps an index and a mask of each step: the position in both arrays is the same."""
    body = (
        "%a = s32[4] parameter(1)\n%b = pred[4] parameter(2)\n%n = s32[] parameter(3)\n"
        "%f = TYPE[1] dynamic-slice(ARRAY, %n), dynamic_slice_sizes={1}\n"
        "ROOT %r = (TYPE[1], s32[4], pred[4]) tuple(%f, %a, %b)"
    )
    old, new = (
        program(body.replace("TYPE", kind).replace("ARRAY", of)) for kind, of in (("s32", "%a"), ("pred", "%b"))
    )
    found = hlodiff.diff(old, new)
    kinds = {edit.kind for edit in found.reported for s in (edit.old, edit.new) if s and s.opcode == "dynamic-slice"}
    assert kinds == {"added", "removed"} and found.replay().complete


def test_a_comparison_of_other_shape_and_direction_amid_other_work_is_another_one() -> None:
    """An index that was compared with 0 is now checked against the last one."""
    start = "%n = s32[] parameter(1)\n%w = f32[9,4] parameter(2)\n%z = s32[] constant(0)\n"
    end = (
        "%k = s32[] constant(9)\n%a = s32[] add(%n, %k)@\n%i = s32[] select(MASK, %a, %n)@\n"
        "%s = f32[1,4] dynamic-slice(%w, %i, %z), dynamic_slice_sizes={1,4}@\nROOT %r = f32[1,4] negate(%s)"
    )
    old = "%c = pred[] compare(%n, %z), direction=LT@\n" + end.replace("MASK", "%c")
    new = (
        "%v = s32[1] reshape(%n)@\n%l = s32[1] reshape(%z)@\n%c = pred[1] compare(%v, %l), direction=LE@\n"
        "%p = pred[] reshape(%c)@\n" + end.replace("MASK", "%p")
    )
    found = hlodiff.diff(program(start + old), program(start + new))
    kinds = {edit.kind for edit in found.reported for s in (edit.old, edit.new) if s and s.opcode == "compare"}
    assert kinds == {"added", "removed"} and found.replay().complete


def test_a_comparison_of_other_direction_where_a_subgraph_is_replaced_is_another_one() -> None:
    """A solver asks whether something is not 0, another one whether it is."""
    head = "%z = f32[] constant(0)\n%zs = f32[8] broadcast(%z), dimensions={}\n"
    old = (
        "%c = pred[8] compare(%x, %zs), direction=NE@\n%a = f32[8] sine(%x)@\n%b = f32[8] cosine(%a)@\n"
        "%d = f32[8] sqrt(%b)@\n%e = f32[8] floor(%d)@\n%r = f32[8] select(%c, %e, %x)@\n"
        "ROOT %s = f32[8] subtract(%r, %b)"
    )
    new = (
        "%c = pred[8] compare(%x, %zs), direction=EQ@\n%a = f32[8] tanh(%x)@\n%b = f32[8] multiply(%a, %x)@\n"
        "%d = f32[8] add(%b, %a)@\n%e = f32[8] divide(%d, %b)@\n%f = f32[8] maximum(%e, %d)@\n"
        "%r = f32[8] select(%c, %f, %x)@\n%s = f32[8] add(%r, %x)@\nROOT %t = f32[8] multiply(%s, %f)"
    )
    found = hlodiff.diff(program(head + old), program(head + new))
    kinds = {edit.kind for edit in found.reported for s in (edit.old, edit.new) if s and s.opcode == "compare"}
    assert kinds == {"added", "removed"} and found.replay().complete
    alone = hlodiff.diff(program(head + old), program(head + old.replace("NE", "EQ")))
    assert [edit.kind for edit in alone.reported] == ["changed"]


def test_a_transpose_of_other_dimensions_amid_other_work_is_another_one() -> None:
    """A scan transposes the sequence that it slices; without the loop, results of products are transposed."""
    import jax
    import jax.numpy as jnp

    def lowered(*, is_scan: bool) -> hlodiff.Module:
        def states(w: jax.Array, v: jax.Array, series: jax.Array) -> jax.Array:
            def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
                h = jnp.tanh(w @ x + v @ h)
                return h, h

            if is_scan:
                return jax.lax.scan(step, jnp.zeros(4), series)[1]
            first = step(jnp.zeros(4), series[0])[0]
            return jnp.stack([first, step(first, series[1])[0]])

        def loss(w: jax.Array, v: jax.Array, batch: jax.Array) -> jax.Array:
            return jnp.sum(jax.vmap(lambda series: states(w, v, series))(batch) ** 2)

        shapes = [jax.ShapeDtypeStruct(sizes, jnp.float32) for sizes in ((4, 3), (4, 4), (6, 2, 3))]
        traced = jax.jit(jax.grad(loss, (0, 1))).trace(*shapes)
        return hlodiff.read_text(traced.lower(lowering_platforms=("cpu",)).as_text(debug_info=True))

    scan, written_out = lowered(is_scan=True), lowered(is_scan=False)
    for old, new in ((scan, written_out), (written_out, scan)):
        found = hlodiff.diff(old, new)
        kinds = {e.kind for e in found.reported for s in (e.old, e.new) if s and s.opcode == "transpose"}
        assert kinds == {"added", "removed"} and found.replay().complete


def test_a_combined_collective_with_one_value_more_is_one_changed_collective() -> None:
    """Neither its type nor the number of any of its results is what it was."""

    def text(sizes: list[int]) -> str:
        names = [f"%v{size}" for size in sizes]
        shapes = ", ".join(f"f32[{size}]{{0}}" for size in sizes)
        lines = [
            *(f"%p{size} = f32[{size}]{{0}} parameter({n})" for n, size in enumerate((8, 16, 32, 4))),
            *(f"%v{size} = f32[{size}]{{0}} exponential(%p{size})" for size in sizes),
            f"%all = ({shapes}) all-reduce({', '.join(names)}), replica_groups={{{{0,1}}}}, to_apply=%sum",
            *(f"%g{n} = f32[{size}]{{0}} get-tuple-element(%all), index={n}" for n, size in enumerate(sizes)),
            *(f"%t{size} = f32[{size}]{{0}} tanh(%g{n})" for n, size in enumerate(sizes)),
        ]
        kept = [f"%t{size}" if size in sizes else f"%p{size}" for size in (8, 16, 32, 4)]
        lines.append(f"ROOT %r = (f32[8]{{0}}, f32[16]{{0}}, f32[32]{{0}}, f32[4]{{0}}) tuple({', '.join(kept)})")
        added = "%sum {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n  ROOT %c = f32[] add(%a, %b)\n}\n\n"
        body = "".join(f"  {line}\n" for line in lines)
        return f"HloModule m, num_partitions=2\n\n{added}ENTRY e {{\n{body}}}\n"

    few, more = text([8, 16, 32]), text([4, 8, 16, 32])
    for old, new in ((few, more), (more, few)):
        found = hlodiff.diff(hlodiff.read_text(old), hlodiff.read_text(new))
        sites = [(edit.kind, edit.new or edit.old) for edit in found.reported]
        assert [kind for kind, site in sites if site is not None and site.opcode == "all-reduce"] == ["changed"]
        assert found.replay().complete


@pytest.mark.parametrize("is_reversed", [False, True])
def test_zeros_in_the_place_of_a_computed_gradient_are_no_changed_broadcast(is_reversed: bool) -> None:
    computed = """%zero = f32[] constant(0)
%s = f32[4,8] sine(%x)
%sum = f32[8] reduce(%s, %zero), dimensions={0}, to_apply=%add
%wide = f32[1,8] broadcast(%sum), dimensions={1}
%gradient = f32[8] reduce(%wide, %zero), dimensions={0}, to_apply=%add
ROOT %r = (f32[4,8], f32[8]) tuple(%x, %gradient)"""
    zeros = """%zero = f32[] constant(0)
%zeros = f32[8] broadcast(%zero), dimensions={}
ROOT %r = (f32[4,8], f32[8]) tuple(%x, %zeros)"""
    add = "%add {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n  ROOT %c = f32[] add(%a, %b)\n}\n\n"
    head = "HloModule m\n\n{}ENTRY %e {{\n%x = f32[4,8] parameter(0)\n{}\n}}\n"
    sides = [hlodiff.read_text(head.format(add, computed)), hlodiff.read_text(head.format("", zeros))]
    found = hlodiff.diff(*(sides[::-1] if is_reversed else sides))
    assert found.replay().failures == ()
    changed = [edit for edit in found.reported if edit.kind == "changed"]
    assert not any(site and site.opcode == "broadcast" for edit in changed for site in (edit.old, edit.new))


def test_what_a_written_out_call_did_has_moved_whatever_came_beside_it() -> None:
    """JAX 0.11 writes out what a scan does, where 0.10 calls it."""
    body = "    %1 = stablehlo.multiply %a, %w : M\n    %2 = stablehlo.tanh %1 : M\n    %3 = stablehlo.sine %2 : M\n"
    called = (
        "    %0 = func.call @f(%a, %w) : (M, M) -> M\n    %9 = func.call @g(%0) : (M) -> M\n    return %9 : M\n  }\n"
    )
    called += f"  func.func private @f(%a: M, %w: M) -> M {{\n{body}    return %3 : M\n  }}\n"
    called += "  func.func private @g(%a: M) -> M {\n    %1 = stablehlo.exponential %a : M\n    return %1 : M\n"
    written = body + "    %4 = stablehlo.exponential %3 : M\n    %5 = stablehlo.cosine %4 : M\n"
    written += "    %6 = stablehlo.abs %5 : M\n    return %6 : M\n"
    sides = []
    for text in (called, written):
        whole = f"module @m {{\n  func.func public @main(%a: M, %w: M) -> M {{\n{text}  }}\n}}\n"
        sides.append(hlodiff.read_text(whole.replace("M", "tensor<8xf32>"), path="m.mlir"))
    found = {change.what: change.cost for change in changes(hlodiff.diff(*sides), "stablehlo")}
    gone = next(what for what in found if what.startswith("func.call"))
    assert found.pop(gone) == "" and set(found.values()) == {"+8 flops"}, "the work of the calls stayed"


def test_another_precision_of_a_product_of_other_values_is_another_product() -> None:
    """Products of one backward pass share an operand, so one shared operand does not make two of them one."""

    def products(left: str, right: str, user: str, precision: str = "") -> hlodiff.Module:
        end = f", lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}{precision}"
        return program(f"""%y = f32[8] sine(%x)
%z = f32[8] cosine(%x)
%d = f32[] dot({left}, {right}){end}@
%b = f32[8] broadcast(%d), dimensions={{}}
ROOT %r = f32[8] {user}(%b)""")

    highest = ", operand_precision={highest,highest}"
    plain = products("%y", "%z", "tanh")
    for new, is_one in (
        (products("%y", "%z", "tanh", highest), True),
        (products("%y", "%y", "tanh", highest), True),  # one operand and the user are as they were
        (products("%x", "%x", "tanh", highest), False),
    ):
        found = hlodiff.diff(plain, new)
        assert found.replay().complete
        assert any("precision" in edit.fields for edit in found.edits)
        assert any("precision" in edit.fields for edit in found.reported) is is_one


def test_a_product_that_sums_along_others_of_other_values_is_another_product() -> None:
    def products(operands: str, dimension: int) -> hlodiff.Module:
        ends = f"lhs_contracting_dims={{{dimension}}}, rhs_contracting_dims={{{dimension}}}"
        return program(f"""%b = f32[8,8] broadcast(%x), dimensions={{0}}
%y = f32[8,8] sine(%b)
%z = f32[8,8] cosine(%b)
%d = f32[8,8] dot({operands}), {ends}@
%e = f32[8,8] tanh(%d)
%p = f32[8,8] power(%e, %y)
ROOT %r = f32[8] slice(%p), slice={{[0:1], [0:8]}}""")

    for operands, is_one in (("%y, %y", True), ("%b, %b", False)):
        found = hlodiff.diff(products("%y, %z", 0), products(operands, 1))
        assert found.replay().complete
        fields = "attribute:lhs_contracting_dims"
        assert any(fields in edit.fields for edit in found.edits)
        assert any(fields in edit.fields for edit in found.reported) is is_one


def test_a_product_that_sums_along_others_and_has_another_size_is_another_product() -> None:
    def product(dimension: int, size: int) -> hlodiff.Module:
        ends = f"lhs_contracting_dims={{{dimension}}}, rhs_contracting_dims={{{dimension}}}"
        return program(f"""%y = f32[8,4] broadcast(%x), dimensions={{0}}
%d = f32[{size},{size}] dot(%y, %y), {ends}@
ROOT %r = f32[1,{size}] slice(%d), slice={{[0:1], [0:{size}]}}""")

    found = hlodiff.diff(product(0, 4), product(1, 8))
    assert found.replay().complete
    assert {
        edit.kind for edit in found.reported for site in (edit.new or edit.old,) if site and site.opcode == "dot"
    } == {
        "removed",
        "added",
    }


@pytest.mark.parametrize(("sizes", "kinds"), [((4, 2, 8), {"removed", "added"}), ((4, 16), {"changed"})])
def test_slices_in_a_function_that_gets_an_array_of_another_rank_are_two(
    sizes: tuple[int, ...], kinds: set[str]
) -> None:
    def module(*sizes: int) -> hlodiff.Module:
        array, part = ("x".join(map(str, (*of, "f32"))) for of in (sizes, (1, *sizes[1:])))
        starts = ", ".join(["%i", *["%z"] * (len(sizes) - 1)])
        types = ", ".join(["tensor<i32>"] * len(sizes))
        return hlodiff.read_text(
            f"module @m {{\n  func.func public @main(%a: tensor<{array}>, %i: tensor<i32>) -> tensor<{part}> {{\n"
            f"    %s = stablehlo.sine %a : tensor<{array}>\n"
            f"    %r = call @pick(%s, %i) : (tensor<{array}>, tensor<i32>) -> tensor<{part}>\n"
            f"    return %r : tensor<{part}>\n  }}\n"
            f"  func.func private @pick(%a: tensor<{array}>, %i: tensor<i32>) -> tensor<{part}> {{\n"
            "    %z = stablehlo.constant dense<0> : tensor<i32>\n"
            f"    %d = stablehlo.dynamic_slice %a, {starts}, sizes = [{', '.join(map(str, (1, *sizes[1:])))}] : "
            f"(tensor<{array}>, {types}) -> tensor<{part}>\n    return %d : tensor<{part}>\n  }}\n}}\n"
        )

    found = hlodiff.diff(module(4, 8), module(*sizes))
    assert found.replay().complete
    slices = [edit for edit in found.reported for it in (edit.new or edit.old,) if it and it.opcode == "dynamic_slice"]
    assert {edit.kind for edit in slices} == kinds


def test_another_direction_of_a_comparison_of_other_values_is_another_comparison() -> None:
    def compared(left: str, right: str, direction: str) -> hlodiff.Module:
        return program(f"""%y = f32[8] sine(%x)
%z = f32[8] cosine(%x)
%p = pred[8] compare({left}, {right}), direction={direction}@
ROOT %r = f32[8] select(%p, %y, %z)""")

    for new, is_one in ((("%y", "%x", "LT"), True), (("%x", "%z", "LT"), True), (("%x", "%x", "LT"), False)):
        found = hlodiff.diff(compared("%y", "%z", "GT"), compared(*new))
        assert found.replay().complete
        assert any("attribute:direction" in edit.fields for edit in found.reported) is is_one


OF_TWO_RESULTS = """HloModule m

fused (p: f32[8], q: bf16[8]) -> (bf16[8], {type}) {{
  p = f32[8]{{0}} parameter(0)
  q = bf16[8]{{0}} parameter(1)
  s = f32[8]{{0}} sqrt(p)
  d = f32[8]{{0}} multiply(s, s)
  a = bf16[8]{{0}} negate(q)
  b = {body}
  ROOT t = (bf16[8]{{0}}, {type}) tuple(a, b)
}}

ENTRY e (x: f32[8], y: bf16[8]) -> (bf16[8], {type}) {{
  x = f32[8]{{0}} parameter(0), metadata={{op_name="x"}}
  y = bf16[8]{{0}} parameter(1), metadata={{op_name="y"}}
  ROOT f = (bf16[8]{{0}}, {type}) fusion(x, y), kind=kLoop, calls=fused
}}
"""


@pytest.mark.parametrize(
    ("type", "body", "kinds"),
    [
        ("f32[8]{0}", "f32[8]{0} negate(d)", {"removed", "added"}),
        ("bf16[8]{0}", "bf16[8]{0} convert(d)", set()),
        ("f16[8]{0}", "f16[8]{0} convert(d)", {"changed"}),
    ],
)
def test_a_fusion_that_returns_another_value_beside_the_same_one_rounds_nothing(
    type: str, body: str, kinds: set[str]
) -> None:
    old = OF_TWO_RESULTS.format(type="bf16[8]{0}", body="bf16[8]{0} convert(d)")
    found = hlodiff.diff(hlodiff.read_text(old), hlodiff.read_text(OF_TWO_RESULTS.format(type=type, body=body)))
    assert {e.kind for e in found.reported for site in [e.new or e.old] if site and site.opcode == "fusion"} == kinds
    assert found.replay().complete


def test_two_copies_of_values_of_other_types_and_shapes_are_two() -> None:
    old = "%s = f32[8] sine(%x)@\n%c = f32[8] copy(%s)@\nROOT %r = (f32[8], f32[8]) tuple(%s, %c)"
    new = old.replace(
        "%c = f32[8] copy(%s)@\n",
        """%d = f32[2] constant({1, 2})
%k = (f32[2], f32[2], u32[]) copy-start(%d)@
%c = f32[2] copy-done(%k)@
""",
    ).replace("(f32[8], f32[8])", "(f32[8], f32[2])")
    same = old.replace(
        "%c = f32[8] copy(%s)@\n", "%k = (f32[8], f32[8], u32[]) copy-start(%s)@\n%c = f32[8] copy-done(%k)@\n"
    )
    for text, is_one in ((new, False), (same, True)):
        found = hlodiff.diff(program(old), program(text))
        assert found.replay().complete
        assert any("attribute:asynchronous" in edit.fields for edit in found.reported) is is_one


def test_products_in_another_type_are_changed_products_however_the_script_pairs_them() -> None:
    """Without the cast of the weights, the shortest script makes a product out of a cast and of another product."""
    import jax
    import jax.numpy as jnp

    def lowered(*, is_cast: bool) -> hlodiff.Module:
        def block(x: jax.Array, w: jax.Array) -> jax.Array:
            parts = jnp.tanh(x).astype(jnp.bfloat16).reshape(2, 3, 2, 4)
            return x + jnp.einsum("btnk,nkd->btd", parts, w.astype(jnp.bfloat16) if is_cast else w).astype(jnp.float32)

        def loss(x: jax.Array, w: jax.Array) -> jax.Array:
            return jnp.sum(jax.checkpoint(block)(x, w) ** 2)

        shapes = [jax.ShapeDtypeStruct(sizes, jnp.float32) for sizes in ((2, 3, 8), (2, 4, 8))]
        traced = jax.jit(jax.grad(loss, (0, 1))).trace(*shapes)
        return hlodiff.read_text(traced.lower(lowering_platforms=("tpu",)).as_text(debug_info=True))

    cast, uncast = lowered(is_cast=True), lowered(is_cast=False)
    for old, new, types in ((cast, uncast, ("bf16", "f32")), (uncast, cast, ("f32", "bf16"))):
        found = hlodiff.diff(old, new)
        assert found.replay().complete
        products = [edit for edit in found.reported if "dot_general" in str(edit.old or edit.new)]
        assert sum(edit.count for edit in products) == 3
        assert {(one.field, one.old, one.new) for edit in products for one in edit.changes} == {
            ("element_type", *types)
        }


def test_what_both_sides_are_inside_of_is_not_what_was_replaced() -> None:
    found = hlodiff.diff(program(GELU, "jit(solve)/mul"), program(SILU, "jit(solve)/jit(silu)/exp"))
    (group,) = changes(found)
    assert group.what == "3 multiply, tanh by silu (add, divide, exponential, negate)"


def test_a_buffer_for_a_mask_is_not_the_one_for_numbers() -> None:
    old = """%b = f32[8] custom-call(), custom_call_target="AllocateBuffer"
%s = f32[8] sine(%x)
%z = s32[] constant(0)
%u = f32[8] dynamic-update-slice(%b, %s, %z)
ROOT %r = (f32[8], f32[8]) tuple(%u, %s)"""
    new = (
        old.replace("%b = f32", "%b = pred")
        .replace("%u = f32", "%u = pred")
        .replace("(f32[8], f32[8])", "(pred[8], f32[8])")
    )
    new = new.replace("%z =", "%m = pred[8] compare(%x, %s), direction=GT\n%z =").replace("%b, %s", "%b, %m")
    found = hlodiff.diff(program(old), program(new))
    assert found.replay().complete
    kinds = {e.kind for e in found.reported for site in [e.new or e.old] if site and site.opcode == "custom-call"}
    assert kinds == {"removed", "added"}


def test_a_spelling_of_a_value_of_another_type_and_rank_is_another_value() -> None:
    body = "%s = f32[8] sine(%x)\n%h = TYPE[8] convert(%s)\n%b = RESULT\nROOT %r = (TYPE[8], SHAPE) tuple(%h, %b)"
    old = body.replace("RESULT", "bf16[2,4] bitcast(%h)").replace("SHAPE", "bf16[2,4]").replace("TYPE", "bf16")
    new = body.replace("RESULT", "f16[2,1,4] reshape(%h)").replace("SHAPE", "f16[2,1,4]").replace("TYPE", "f16")
    same = body.replace("RESULT", "bf16[2,4] reshape(%h)").replace("SHAPE", "bf16[2,4]").replace("TYPE", "bf16")
    for text, is_one in ((new, False), (same, True)):
        found = hlodiff.diff(program(old), program(text))
        assert found.replay().complete
        assert any("opcode" in edit.fields for edit in found.reported) is is_one


def test_a_broadcast_number_of_another_shape_without_a_common_user_is_another_one() -> None:
    old = program("""%z = f32[] constant(0)
%b = f32[8,1] broadcast(%z), dimensions={}
%y = f32[8,1] reshape(%x)
%m = f32[8,1] maximum(%y, %b)@
%t = f32[8,1] tanh(%m)@
%s = f32[8,1] sine(%t)@
%f = f32[8] reshape(%s)
ROOT %r = f32[8] negate(%f)""")
    new = program("""%z = f32[] constant(0)
%b = f32[8,5] broadcast(%z), dimensions={}
%y = f32[8,5] broadcast(%x), dimensions={0}
%e = f32[8,5] exponential(%y)@
%c = f32[8,5] cosine(%e)@
%p = f32[8,5] power(%b, %c)@
%q = f32[8,1] slice(%p), slice={[0:8], [0:1]}
%f = f32[8] reshape(%q)
ROOT %r = f32[8] negate(%f)""")
    for one, other in ((old, new), (new, old)):
        edits = hlodiff.diff(one, other).reported
        assert not [edit for edit in edits if edit.kind == "changed" and edit.old and edit.old.opcode == "broadcast"]


def test_work_on_an_argument_that_was_removed_is_not_work_on_another_one() -> None:
    """The second moment is gone and the first one is scaled twice; the shortest script takes one for the other."""
    old = """
  g = f32[4]{0} parameter(0), metadata={op_name="grads"}
  m = f32[4]{0} parameter(1), metadata={op_name="state.mu"}
  v = f32[4]{0} parameter(2), metadata={op_name="state.nu"}
  c = f32[] constant(0.9)
  cs = f32[4]{0} broadcast(c), dimensions={}
  d = f32[] constant(0.99)
  ds = f32[4]{0} broadcast(d), dimensions={}
  sm = f32[4]{0} multiply(cs, m)
  sv = f32[4]{0} multiply(ds, v)
  nm = f32[4]{0} add(sm, g)
  nv = f32[4]{0} subtract(sv, g)
  ROOT all = (f32[4]{0}, f32[4]{0}) tuple(nm, nv)
"""
    gone = '  v = f32[4]{0} parameter(2), metadata={op_name="state.nu"}\n'
    found = compare(old, old.replace(gone, "").replace("multiply(ds, v)", "multiply(ds, m)"))
    assert ["operands"] in [list(edit.fields) for edit in found.edits]
    shown = sorted((edit.kind, site.opcode) for edit in found.reported if (site := edit.new or edit.old))
    assert shown == [("added", "multiply"), ("removed", "multiply"), ("removed", "parameter")]


def test_a_number_that_is_shared_is_no_evidence_for_operations_on_other_values() -> None:
    """One less the square of a `tanh` is nothing that one less a `logistic` was."""
    head = """
  x = f32[4]{0} parameter(0)
  g = f32[4]{0} parameter(1)
  c = f32[] constant(1)
  one = f32[4]{0} broadcast(c), dimensions={}
"""
    old = """
  t = f32[4]{0} tanh(x)
  q = f32[4]{0} multiply(t, t)
  s = f32[4]{0} subtract(one, q)
  v = f32[4]{0} add(s, g)
  w = f32[4]{0} add(v, t)
  ROOT r = f32[4]{0} multiply(g, w)
"""
    new = """
  t = f32[4]{0} logistic(x)
  q = f32[4]{0} add(t, t)
  s = f32[4]{0} subtract(one, q)
  v = f32[4]{0} multiply(s, t)
  w = f32[4]{0} multiply(v, t)
  u = f32[4]{0} cosine(w)
  ROOT r = f32[4]{0} multiply(g, u)
"""
    found = compare(head + old, head + new)
    assert [edit.fields for edit in found.edits if edit.old and edit.old.opcode == "subtract"] == [("operands",)]
    kinds = [edit.kind for edit in found.reported if (site := edit.new or edit.old) and site.opcode == "subtract"]
    assert sorted(kinds) == ["added", "removed"]


def _fused_update(rows: str, arrays: str) -> hlodiff.Module:
    """The step of one weight in a fusion, with its moments; a row is a name, an opcode or a number, and operands."""
    arguments = [f'  {n} = f32[8] parameter({k}), metadata={{op_name="{n}"}}' for k, n in enumerate(arrays + "g")]
    lines = arguments.copy()
    for name, opcode, *operands in (row.split() for row in rows.split(", ")):
        if opcode[0] == "0":
            lines += [f"  c{name} = f32[] constant({opcode})", f"  {name} = f32[8] broadcast(c{name}), dimensions={{}}"]
        else:
            lines.append(f"  {name} = f32[8] {opcode}({', '.join(operands)})")
    types = ", ".join(["f32[8]"] * len(arrays))
    body = "\n".join([*lines, f"  ROOT r = ({types}) tuple({', '.join('new_' + n for n in arrays)})"])
    call = f"  ROOT step = ({types}) fusion({', '.join(arrays + 'g')}), kind=kLoop, calls=fused"
    return module(f"fused {{\n{body}\n}}\nENTRY main {{\n" + "\n".join([*arguments, call]) + "\n}")


ADAM = (
    "a 0.9, b 0.1, c 0.95, d 0.05, m1 multiply m a, m2 multiply g b, new_m add m1 m2, v1 multiply v c, "
    "gg multiply g g, v2 multiply gg d, new_v add v1 v2, root sqrt new_v, u divide new_m root, new_w subtract w u"
)
LION = (
    "a 0.9, b 0.1, c 0.99, d 0.01, m1 multiply m a, m2 multiply g b, sum add m1 m2, v1 multiply m c, "
    "v2 multiply g d, new_m add v1 v2, u sign sum, new_w subtract w u"
)


def test_work_on_one_moment_does_not_become_work_on_another_one() -> None:
    found = hlodiff.diff(_fused_update(ADAM, "wmv"), _fused_update(LION, "wm"))
    assert found.replay().complete
    changed = [edit.new.opcode for edit in found.reported if edit.kind == "changed" and edit.new]
    assert set(changed) == {"fusion", "tuple"}


def test_operations_that_rest_on_each_other_alone_were_removed_and_added() -> None:
    """The derivative of a tanh and that of an erfc are products of products, none of which is one of the other's."""
    old, new = (
        hlodiff.read_text(jax.jit(jax.grad(function, (0, 1, 2))).lower(*[jnp.ones((8, 8), jnp.bfloat16)] * 3).as_text())
        for function in (lambda x, w, y: (gelu(x @ w) @ y).sum(), lambda x, w, y: (gelu(x @ w, False) @ y).sum())
    )
    found = hlodiff.diff(old, new)
    assert found.replay().complete
    assert not [edit for edit in found.reported if edit.kind == "changed" and edit.cause is None]


LOOP = "jvp()/while/body/"
BACKWARD = "transpose(jvp())/while/body/"


@pytest.mark.parametrize(
    ("halves", "kinds"),
    [
        (((LOOP, "f32[8]"), (LOOP, "f32[4,2]")), ["replaced"]),
        (((LOOP, "f32[8]"), (BACKWARD, "f32[4,2]")), ["added", "removed"]),
        (((BACKWARD, "f32[8]"), (BACKWARD + "rematted_computation/", "f32[4,2]")), ["added", "removed"]),
        (((LOOP, "f32[8]"), ("jvp()/", "f32[4,2]")), ["added", "removed"]),
        (((LOOP, "f32[8]"), (LOOP, "s32[4,2]")), ["added", "removed"]),
    ],
)
def test_halves_in_other_parts_of_a_program_or_of_other_types_are_two_changes(
    halves: tuple[tuple[str, str], tuple[str, str]], kinds: list[str]
) -> None:
    sides = [
        hlodiff.read_text(
            f"HloModule m\n\n{TABLES}ENTRY %e {{\n  %x = {shape} parameter(0)\n"
            f'  ROOT %d = {shape} negate(%x), metadata={{op_name="jit(f)/{scope}neg" stack_frame_id=1}}\n}}\n'
        )
        for scope, shape in halves
    ]
    sites = [Site(0, 1, "e", "d", "negate", f"%d = {shape} negate(%x)") for _, shape in halves]
    frames = (Frame("/srv/model.py", 36, "feed_forward"),)
    edits = (
        Edit("removed", (), 1, ((sites[0], None),), op_name="neg", source=frames),
        Edit("added", (), 1, ((None, sites[1]),), op_name="neg", source=frames),
    )
    found = ProgramComparison("f", "cpu", "compiled", "changed", ModuleDiff(sides[0], sides[1], edits))
    (function,) = build_view(Report("diff", "a", "b", (found,))).functions
    shown = [change.kind for stage in function.stages for line in stage.lines for change in line.changes]
    assert sorted(shown) == kinds


def test_other_work_that_a_compiler_does_in_another_type_rounds_nothing_where_the_source_rounds_as_before() -> None:
    """`erf` has no arithmetic in bfloat16 on a GPU, where `tanh` has one."""
    old = """%h = bf16[8] convert(%x)
%m = bf16[8] multiply(%h, %h)@
%t = bf16[8] tanh(%m)@
%a = bf16[8] multiply(%t, %m)@
ROOT %r = bf16[8] subtract(%a, %h)"""
    new = """%h = bf16[8] convert(%x)
%c = f32[8] convert(%h)@
%q = f32[8] exponential(%c)@
%l = f32[8] log(%q)@
%m = f32[8] multiply(%l, %q)@
%d = f32[8] divide(%m, %l)@
%a = bf16[8] convert(%d)@
ROOT %r = bf16[8] subtract(%a, %h)"""
    found = hlodiff.diff(program(old), program(new))
    assert {edit.region for edit in found.reported} == {0}
    assert "numerics" in classes_of(found)
    assert classes_of(found, has_folded_constants=True) == ("structure",)


def test_a_compiled_sum_that_is_paired_with_a_maximum_is_another_reduction() -> None:
    """Where a compiler has several reductions of one array, the shortest script may pair any two of them."""
    text = """HloModule m

%add {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

ENTRY %main {
  %x = f32[8,16] parameter(0)
  %z = f32[] parameter(1)
  ROOT %r = f32[8] reduce(%x, %z), dimensions={1}, to_apply=%add
}
"""
    other = text.replace("f32[] add(%a, %b)", "f32[] maximum(%a, %b)")
    for old, new in ((text, other), (other, text)):
        found = hlodiff.diff(hlodiff.read_text(old), hlodiff.read_text(new))
        kinds = {(edit.kind, site.opcode) for edit in found.reported for site in (edit.new or edit.old,) if site}
        assert ("changed", "reduce") not in kinds and not any(edit.kind == "changed" for edit in found.reported), kinds
