"""What a list says of collectives that a compiler combines: which arrays they carry, not which tuple they are in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from hlodiff.differ import Cost, Edit, FieldChange, ProgramComparison, Site, diff
from hlodiff.hlo import Frame, Module, read_text
from hlodiff.report import Report, build_view, to_terminal
from tests.shown import changes, words

ADD = """%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}
"""
GRADIENTS = ("f32[256,128]", "f32[128,256]", "f32[256]", "f32[]")
DEVICES = "replica_groups={{0,2},{1,3}}"


def reduced(*combined: Sequence[str], devices: Sequence[str] = (), suffix: str = "") -> Module:
    """A program that reduces arrays of these shapes over devices, each group of them in one operation."""
    lines, results = [], []
    for number, shapes in enumerate(combined):
        names = [f"%p{number}_{n}" for n in range(len(shapes))]
        for n, (name, shape) in enumerate(zip(names, shapes, strict=True)):
            place = sum(map(len, combined[:number])) + n
            argument = shape.replace("bf16", "f32")
            lines.append(f"  {name}a = {argument} parameter({place})")
            lines.append(f"  {name}{'n' if argument != shape else ''} = {argument} negate({name}a)")
            if argument != shape:
                lines.append(f"  {name} = {shape} convert({name}n)")
        result = f"({', '.join(shapes)})" if len(shapes) > 1 else shapes[0]
        among = devices[number] if devices else DEVICES
        attributes = f"channel_id={number + 1}, {among}, use_global_device_ids=true, to_apply=%add"
        lines.append(f"  %r{number} = {result} all-reduce{suffix}({', '.join(names)}), {attributes}")
        if suffix:
            lines.append(f"  %d{number} = {result} all-reduce-done(%r{number})")
        results.append((f"%{'d' if suffix else 'r'}{number}", result))
    root = f"  ROOT %t = ({', '.join(shape for _, shape in results)}) tuple({', '.join(name for name, _ in results)})"
    body = "\n".join([*lines, root])
    return read_text(f"HloModule m, num_partitions=4\n\n{ADD}\nENTRY %main {{\n{body}\n}}\n")


def listed(old: Module, new: Module) -> list[str]:
    """The collectives in the list of a function's changes, with their costs."""
    compared = ProgramComparison("f", "cpu-4", "compiled", "changed", diff(old, new))
    (function,) = build_view(Report("diff", "a", "b", (compared,))).functions
    found = [change for stage in function.stages for line in stage.lines for change in line.changes]
    return [f"{one.kind} {one.what} ({one.cost})" for one in found if "all-reduce" in one.what]


def test_an_array_more_of_a_combined_collective_is_what_is_listed() -> None:
    (only,) = listed(reduced(GRADIENTS), reduced((*GRADIENTS, "f32[64,64]", "f32[64]")))
    what = "6 arrays instead of 4, with f32[64,64], f32[64]"
    assert only == f"changed all-reduce %r0: {what} (65,793 -> 69,953 flops, 257.0 KiB -> 273.3 KiB)"


def test_an_array_less_of_a_combined_collective_is_what_is_listed() -> None:
    (only,) = listed(reduced((*GRADIENTS, "f32[64]")), reduced(GRADIENTS[1:]))
    assert only.startswith("changed all-reduce %r0: 3 arrays instead of 5, without f32[256,128], f32[64] (")


def test_one_that_carries_more_arrays_and_one_that_carries_fewer_are_two_changes() -> None:
    """In two functions, of one line: the text of a shared change is true of both, or it is not shared."""
    more = diff(reduced(GRADIENTS), reduced((*GRADIENTS, "f32[64]")))
    fewer = diff(reduced((*GRADIENTS, "f32[64]")), reduced(GRADIENTS))
    programs = [
        ProgramComparison(name, "cpu-4", "compiled", "changed", one) for name, one in (("f", more), ("g", fewer))
    ]
    text = " ".join(to_terminal(Report("diff", "a", "b", tuple(programs))).split())
    assert "5 arrays instead of 4, with f32[64]" in text and "4 arrays instead of 5, without f32[64]" in text
    assert "the same in several programs" not in text


def test_a_collective_of_parts_of_a_fusion_has_the_line_of_what_computes_the_first() -> None:
    """XLA gives all results of a fusion the line of one, and collectives that it combines on GPUs have none."""
    head = (
        'HloModule m\n\nFileNames\n1 "/srv/model.py"\n\nFunctionNames\n1 "call"\n\nFileLocations\n'
        + "".join(
            f"{n} {{file_name_id=1 function_name_id=1 line={line} end_line={line} column=4 end_column=20}}\n"
            for n, line in ((1, 41), (2, 58))
        )
        + "\nStackFrames\n1 {file_location_id=1 parent_frame_id=0}\n2 {file_location_id=2 parent_frame_id=0}\n\n"
    )

    def program(count: int) -> Module:
        names = [f"%b{n}" for n in range(count)]
        lines = ["%x = f32[8] parameter(0)", "%f = (f32[1], f32[1]) fusion(%x), kind=kLoop, calls=%both"]
        for n, name in enumerate(names):
            line = ", metadata={stack_frame_id=1}"  # of the fusion that this one was merged with
            lines += [f"%e{n} = f32[1] get-tuple-element(%f), index={n}{line}", f"{name} = f32[1] bitcast(%e{n})"]
        given = f"f32[{count}] concatenate({', '.join(names)}), dimensions={{0}}"
        lines += [f"%c = {given}", f"ROOT %r = f32[{count}] all-reduce(%c), {DEVICES}, channel_id=1, to_apply=%add"]
        both = (
            "%both {\n  %p = f32[8] parameter(0)\n  %s = f32[1] slice(%p), slice={[0:1]}, metadata={stack_frame_id=2}\n"
            "  %t = f32[1] slice(%p), slice={[1:2]}, metadata={stack_frame_id=1}\n"
            "  ROOT %o = (f32[1], f32[1]) tuple(%s, %t)\n}\n\n"
        )
        return read_text(f"{head}{ADD}\n{both}ENTRY %main {{\n  " + "\n  ".join(lines) + "\n}\n")

    edits = diff(program(1), program(2)).reported
    (edit,) = (one for one in edits if one.new is not None and one.new.opcode == "all-reduce")
    assert [frame.line for frame in edit.source] == [58]


def test_arrays_of_another_type_are_counted() -> None:
    shapes = (", ".join(GRADIENTS), ", ".join([*(one.replace("f32", "bf16") for one in GRADIENTS[:3]), GRADIENTS[3]]))
    old, new = (Site(0, 0, "main", "r", "all-reduce", f"%r = ({one}) all-reduce(%a, %b, %c, %d)") for one in shapes)
    changed = FieldChange("element_type", "f32", "bf16")
    what = words(Edit("changed", ("element_type",), sites=((old, new),), changes=(changed,)))
    assert what == "all-reduce %r: 3 of 4 arrays bf16 instead of f32"


@pytest.mark.parametrize("suffix", ["", "-start"])
def test_arrays_that_are_combined_apart_from_others_are_no_new_ones(suffix: str) -> None:
    """A compiler combines arrays of one type: those that are rounded now leave the tuple of the others."""
    old = reduced(GRADIENTS, suffix=suffix)
    new = reduced(GRADIENTS[2:], [shape.replace("f32", "bf16") for shape in GRADIENTS[:2]], suffix=suffix)
    (only,) = listed(old, new)
    what = "2 of 4 arrays bf16 instead of f32, in 2 operations instead of 1"
    assert only == f"changed all-reduce: {what} (65,793 flops, 257.0 KiB -> 129.0 KiB)"


def test_arrays_that_all_grew_by_one_ratio_are_compared_in_order() -> None:
    """An array may be as large as another one was."""
    shapes = "f32[256]", "f32[256,128]", "f32[64,256]", "f32[]"
    wider = "f32[512]", "f32[512,128]", "f32[64,512]", "f32[]"
    (only,) = listed(reduced(shapes), reduced(wider, devices=("replica_groups={{0,1,2,3}}",)))
    what = "over 4 devices instead of 2; 3 of 4 arrays twice as large (f32[256,128] -> f32[512,128], 2 more)"
    assert only.startswith(f"changed all-reduce %r0: {what} (")


def test_the_same_arrays_in_fewer_operations_are_combined_differently() -> None:
    (only,) = listed(reduced(GRADIENTS[:2], GRADIENTS[2:3], GRADIENTS[3:]), reduced(GRADIENTS))
    what = "4 arrays combined differently, in 1 operation instead of 3"
    assert only == f"changed all-reduce: {what} (65,793 flops, 257.0 KiB)"


def test_sums_over_another_axis_of_the_mesh_are_not_joined() -> None:
    """A sum over one axis went; over the other axis an array of that size is summed besides."""
    other = "replica_groups={{0,1},{2,3}}"
    gone, changed = sorted(
        listed(
            reduced(GRADIENTS, ("f32[64,64]",), devices=(DEVICES, other)),
            reduced((*GRADIENTS, "f32[64,64]"), devices=(DEVICES,)),
        ),
        reverse=True,
    )
    assert gone.startswith("removed all-reduce %r1 f32[64,64], replica_groups={{0,1},{2,3}} (")
    assert changed.startswith("changed all-reduce %r0: 5 arrays instead of 4, with f32[64,64] (")


def test_arrays_that_a_gpu_puts_together_are_counted() -> None:
    """A GPU reduces one long array, which it puts together from others."""

    def program(*combined: Sequence[str], devices: str = DEVICES) -> Module:
        lines, results, number = [], [], 0
        for group, shapes in enumerate(combined):
            names = []
            for shape in shapes:
                argument = shape.replace("bf16", "f32")
                lines.append(f"  %p{number}a = {argument} parameter({number})")
                lines.append(f"  %p{number} = {shape} {'convert' if argument != shape else 'negate'}(%p{number}a)")
                names.append(f"%p{number}")
                number += 1
            kind = shapes[0].partition("[")[0]
            whole = f"{kind}[{sum(int(shape.partition('[')[2][:-1]) for shape in shapes)}]"
            lines.append(f"  %c{group} = {whole} concatenate({', '.join(names)}), dimensions={{0}}")
            attributes = f"channel_id={group + 1}, {devices}, use_global_device_ids=true, to_apply=%add"
            lines.append(f"  %r{group} = {whole} all-reduce-start(%c{group}), {attributes}")
            lines.append(f"  %d{group} = {whole} all-reduce-done(%r{group})")
            results.append((f"%d{group}", whole))
        root = (
            f"  ROOT %t = ({', '.join(shape for _, shape in results)}) tuple({', '.join(name for name, _ in results)})"
        )
        return read_text("\n".join(["HloModule m, num_partitions=4", "", ADD, "ENTRY %main {", *lines, root, "}", ""]))

    old = program(("f32[32768]", "f32[16384]", "f32[8192]", "f32[4096]"))
    (fewer,) = listed(old, program(("f32[32768]", "f32[16384]", "f32[4096]")))
    what = "3 arrays instead of 4, without f32[8192]"
    assert fewer == f"changed all-reduce: {what} (61,440 -> 53,248 flops, 240.0 KiB -> 208.0 KiB)"
    larger = tuple(f"f32[{n}]" for n in (65536, 32768, 16384, 8192))
    (four,) = listed(old, program(larger, devices="replica_groups={{0,1,2,3}}"))
    what = "over 4 devices instead of 2; all 4 arrays twice as large (f32[32768] -> f32[65536], 3 more)"
    assert four == f"changed all-reduce: {what} (61,440 -> 122,880 flops, 240.0 KiB -> 480.0 KiB)"
    new = program(("f32[8192]", "f32[4096]"), ("bf16[32768]", "bf16[16384]"))
    (only,) = listed(old, new)
    what = "2 of 4 arrays bf16 instead of f32, in 2 operations instead of 1"
    assert only == f"changed all-reduce: {what} (61,440 flops, 240.0 KiB -> 144.0 KiB)"


@pytest.mark.parametrize(
    ("start", "old", "new"),
    [
        ("all-gather-start", "({}, f32[256,64])", "({}, f32[512,64])"),
        ("collective-permute-start", "({}, f32[256,64], u32[], u32[])", "({}, f32[512,64], u32[], u32[])"),
        ("slice-start", "(({}), f32[256,64], s32[])", "(({}), f32[512,64], s32[])"),
        ("copy-start", "(f32[256,64], {}, u32[])", "(f32[512,64], {}, u32[])"),
    ],
)
def test_the_result_of_an_asynchronous_operation_is_compared_with_the_result(start: str, old: str, new: str) -> None:
    """The new operand may be as large as the old result was."""
    program = "HloModule m\n\nENTRY %main {{\n  %x = {} parameter(0)\n  ROOT %s = {} {}(%x)\n}}\n"
    sides = (("f32[128,64]", old), ("f32[256,64]", new))
    modules = [read_text(program.format(operand, shape.format(operand), start)) for operand, shape in sides]
    changed = [edit for edit in diff(*modules).edits if edit.new is not None and edit.new.opcode == start]
    assert [(one.field, one.old, one.new) for one in changed[0].changes] == [("shape", "f32[256,64]", "f32[512,64]")]


def test_a_collective_is_shown_by_its_results() -> None:
    """The tuple of an asynchronous one also has its operands and its state."""
    start = "(f32[64,32], f32[128,32], u32[], u32[])"
    taken, given = (f"({', '.join([shape] * 4)})" for shape in ("f32[8,4]", "f32[16,4]"))

    def program(*lines: str) -> Module:
        arguments = ["  %x = f32[64,32] parameter(0)", *(f"  %a{n} = f32[8,4] parameter({n + 1})" for n in range(4))]
        return read_text("\n".join(["HloModule m, num_partitions=2", "", "ENTRY %main {", *arguments, *lines, "}", ""]))

    root = "  ROOT %n = f32[64,32] negate(%x)"
    ends = ", dimensions={0}, replica_groups={{0,1}}"
    one = f"  %s = {start} all-gather-start(%x){ends}", "  %d = f32[128,32] all-gather-done(%s)"
    four = (
        f"  %s = ({taken}, {given}) all-gather-start(%a0, %a1, %a2, %a3){ends}",
        f"  %d = {given} all-gather-done(%s)",
    )
    for lines, shown in ((one, "f32[128,32]"), (four, "(4x f32[16,4])")):
        found = changes(diff(program(root), program(*lines, root)))
        assert f"all-gather-start %s {shown}{ends}" in [change.what for change in found]


def test_what_waits_for_a_collective_follows_from_it() -> None:
    """Among other devices too, where other arrays are combined."""
    other = "replica_groups={{0,1},{2,3}}"
    old = reduced(GRADIENTS, ("f32[64,64]", "f32[8]"), suffix="-start", devices=(DEVICES, other))
    rounded = [shape.replace("f32", "bf16") for shape in GRADIENTS[:2]]
    combined = GRADIENTS[2:], rounded, ("f32[64,64]",)
    combined_apart, fewer = listed(old, reduced(*combined, suffix="-start", devices=(DEVICES, DEVICES, other)))
    assert combined_apart.startswith("changed all-reduce: 2 of 4 arrays bf16 instead of f32, in 2 operations instead")
    assert fewer.startswith("changed all-reduce-start %r2: 1 array instead of 2, without f32[8] (")


def in_a_loop(inside: Sequence[str], after: Sequence[str], turns: int = 3) -> Module:
    """Two all-reduces of a program, one of these shapes in the body of a loop and one behind it."""

    def reduce(name: str, shapes: Sequence[str]) -> tuple[list[str], str]:
        lines, values = [], [f"%{name}{n}" for n in range(len(shapes))]
        for value, shape in zip(values, shapes, strict=True):
            lines.append(f"  {value}i = {shape.replace('bf16', 'f32')} iota(), iota_dimension=0")
            lines.append(f"  {value} = {shape} {'convert' if shape.startswith('bf16') else 'negate'}({value}i)")
        attributes = f"channel_id={1 + (name == 'a')}, {DEVICES}, use_global_device_ids=true, to_apply=%add"
        lines.append(f"  %r{name} = ({', '.join(shapes)}) all-reduce({', '.join(values)}), {attributes}")
        lines.append(f"  %l{name} = {shapes[-1]} get-tuple-element(%r{name}), index={len(shapes) - 1}")
        return lines, shapes[-1]

    (body, last), (behind, end) = reduce("b", inside), reduce("a", after)
    state = f"(s32[], {last})"
    loop = [
        *[f"%condition (c: {state}) -> pred[] {{", f"  %c = {state} parameter(0)"],
        *["  %i = s32[] get-tuple-element(%c), index=0", f"  %n = s32[] constant({turns})"],
        *["  ROOT %l = pred[] compare(%i, %n), direction=LT", "}", "", f"%body (b: {state}) -> {state} {{"],
        *[f"  %b = {state} parameter(0)", "  %j = s32[] get-tuple-element(%b), index=0", "  %one = s32[] constant(1)"],
        *["  %k = s32[] add(%j, %one)", *body, f"  ROOT %t = {state} tuple(%k, %lb)", "}", "", "ENTRY %main {"],
    ]
    known = f'backend_config={{"known_trip_count":{{"n":"{turns}"}}}}'
    entry = [
        *["  %z = s32[] constant(0)", f"  %y = {last} iota(), iota_dimension=0", f"  %s = {state} tuple(%z, %y)"],
        f"  %w = {state} while(%s), condition=%condition, body=%body, {known}",
        *[f"  %g = {last} get-tuple-element(%w), index=1", *behind, f"  ROOT %t = ({last}, {end}) tuple(%g, %la)", "}"],
    ]
    return read_text("\n".join(["HloModule m, num_partitions=4", "", ADD, *loop, *entry, ""]))


def site_of(module: Module, name: str) -> Site:
    """An instruction of a program as reports name it."""
    places = [
        (c, n)
        for c, owner in enumerate(module.computations)
        for n, it in enumerate(owner.instructions)
        if it.name == name
    ]
    ((computation, position),) = places
    it = module.computations[computation].instructions[position]
    shapes = ", ".join(shape.text for shape in it.shape.leaves)
    return Site(
        computation, position, "", name, it.opcode, f"%{name} = ({shapes}) all-reduce(%x), {DEVICES}, to_apply=%add"
    )


def test_arrays_of_a_loop_and_of_what_is_behind_it_are_all_counted() -> None:
    """Two of one line are gone, of which one was in the loop: their arrays are in one in the loop and one behind it."""
    old = in_a_loop(("f32[64,64]", "f32[64]"), ("f32[128]", "f32[4]"))
    new = in_a_loop(("bf16[64,64]", "f32[64]"), ("f32[128]", "f32[4]"))
    before, after = ([site_of(module, name) for name in ("rb", "ra")] for module in (old, new))
    costs = Cost(3, 12480, 49920, 49920, collective=49920), Cost(1, 132, 528, 528, collective=528)
    edits = (
        Edit(
            "removed",
            count=2,
            sites=tuple((one, None) for one in before),
            cost=(Cost(4, 12612, 50448, 50448, collective=50448), None),
        ),
        *(
            Edit("added", sites=((None, one),), cost=(None, cost), source=(Frame("net.py", line, "f"),))
            for one, cost, line in zip(after, costs, (4, 9), strict=True)
        ),
    )
    found = replace(diff(old, new), edits=edits, reported=edits)
    compared = ProgramComparison("f", "cpu-4", "compiled", "changed", found)
    (function,) = build_view(Report("diff", "a", "b", (compared,))).functions
    listed_ = [change for stage in function.stages for line in stage.lines for change in line.changes]
    assert [one.what for one in listed_] == ["all-reduce: 1 of 4 arrays bf16 instead of f32"]


def test_arrays_that_devices_still_sum_are_not_gone_where_others_sum_the_rest() -> None:
    """Two of four arrays are summed over all devices now; the others have an operation of their own."""
    old = reduced(GRADIENTS)
    new = reduced(GRADIENTS[:2], GRADIENTS[2:], devices=("replica_groups={{0,1,2,3}}", DEVICES))
    found = diff(old, new)
    changed, added = (next(one for one in found.edits if one.kind == kind) for kind in ("changed", "added"))
    assert added.new and changed.new and added.new.name == "r0" and added.cost and changed.cost
    fields = [FieldChange("shape", "", ""), FieldChange("replica_groups", "{{0,2},{1,3}}", "{{0,1,2,3}}")]
    others = (
        replace(
            changed,
            fields=("shape", "replica_groups"),
            changes=tuple(fields),
            sites=((changed.old, added.new),),
            cost=(changed.cost[0], added.cost[1]),
        ),
        replace(added, sites=((None, changed.new),), cost=(None, changed.cost[1])),
    )
    compared = ProgramComparison("f", "cpu-4", "compiled", "changed", replace(found, edits=others, reported=others))
    (function,) = build_view(Report("diff", "a", "b", (compared,))).functions
    listed_ = [change for stage in function.stages for line in stage.lines for change in line.changes]
    what = "2 of 4 arrays over 4 devices instead of 2; 4 arrays combined differently, in 2 operations instead of 1"
    assert [(one.what, one.cost) for one in listed_] == [(f"all-reduce: {what}", "65,793 flops, 257.0 KiB")]
