"""The verdict on a collective of one kind that took over from one of another kind."""

from dataclasses import replace

import pytest

import hlodiff
from hlodiff.differ import Cost, ExecutedCount, ProgramComparison
from hlodiff.report import Number, Report, build_view, to_terminal
from hlodiff.report.verdict import (
    decisive_numbers,
    format_legend,
    format_numbers,
    judged,
    unlisted,
    verdict_of,
)


def program(*collectives: tuple[str, int]) -> str:
    """Collectives one after another, with so many bytes each as their result."""
    lines = ["  %p0 = f32[64] parameter(0)"]
    for n, (kind, size) in enumerate(collectives):
        shape = f"f32[{size // 4}]"
        lines += [f"  %x{n} = {shape} parameter({n + 1})"]
        if kind == "all-reduce":
            lines += [
                f"  %c{n} = {shape} all-reduce(%x{n}), channel_id={n + 1}, replica_groups={{{{0,1}}}}, to_apply=%add"
            ]
        elif kind == "collective-permute":
            lines += [f"  %c{n} = {shape} {kind}(%x{n}), channel_id={n + 1}, source_target_pairs={{{{0,1}},{{1,0}}}}"]
        else:
            lines[-1] = f"  %x{n} = f32[{size // 8}] parameter({n + 1})"
            lines += [
                f"  %c{n} = {shape} all-gather(%x{n}), channel_id={n + 1}, replica_groups={{{{0,1}}}}, dimensions={{0}}"
            ]
    names = ", ".join(f"%c{n}" for n in range(len(collectives)))
    shapes = ", ".join(f"f32[{size // 4}]" for _, size in collectives)
    add = ["%add (a: f32[], b: f32[]) -> f32[] {", "  %a = f32[] parameter(0)", "  %b = f32[] parameter(1)"]
    add += ["  ROOT %s = f32[] add(%a, %b)", "}"]
    root = f"  ROOT %r = ({shapes}) tuple({names})"
    return "\n".join(["HloModule m, num_partitions=2", "", *add, "", "ENTRY %e {", *lines, root, "}", ""])


def headline(old: list[tuple[str, int]], new: list[tuple[str, int]]) -> str:
    modules = [hlodiff.read_text(program(*side)) for side in (old, new)]
    compared = ProgramComparison("f", "cpu-2", "compiled", "changed", hlodiff.diff(*modules))
    (shown,) = build_view(Report("check", "a", "b", (compared,))).programs
    return shown.verdict


KEPT = [("all-reduce", 65536)] * 10
SMALL = [("all-reduce", 8192)] * 2


def test_a_collective_that_became_one_of_another_kind_is_neither_better_nor_worse() -> None:
    """Of all-reduces there were ten, so one more is a tenth; the only all-gather is gone, which is all of them."""
    gathers, reduces = [*KEPT, ("all-gather", 65536)], [*KEPT, ("all-reduce", 65536)]
    assert headline(gathers, reduces) == "mixed"
    assert headline(reduces, gathers) == "mixed"


def test_many_collectives_of_a_new_kind_are_worse_though_a_few_of_another_are_gone() -> None:
    assert headline(KEPT, [*KEPT[1:], *[("all-gather", 65536)] * 9]) == "worse"
    assert headline([*KEPT[1:], *[("all-gather", 65536)] * 9], KEPT) == "better"


@pytest.mark.parametrize(("size", "verdict"), [(98304, "worse"), (61440, "mixed")])
def test_kinds_of_collectives_that_came_count_together(size: int, verdict: str) -> None:
    """Each is a part of the bytes of all, and none is left out that counts more than what is gone."""
    new = [*KEPT[2:], *[("all-gather", size)] * 2, *[("collective-permute", size)] * 2]
    assert headline(KEPT, new) == verdict
    old_text, new_text = program(*KEPT), program(*new)
    compared = ProgramComparison(
        "f", "cpu-2", "compiled", "changed", hlodiff.diff(*map(hlodiff.read_text, (old_text, new_text)))
    )
    (view,) = build_view(Report("check", "a", "b", (compared,))).functions
    came = "-2 all-reduces (128.0 KiB), +2 all-gathers (120.0 KiB), all collectives 640.0 KiB -> 752.0 KiB"
    assert verdict == "worse" or view.sentence.startswith(f"mixed on cpu-2: {came}")


def test_a_collective_alone_of_its_kind_counts_as_before() -> None:
    assert headline(KEPT, [*KEPT, ("all-gather", 1024)]) == "worse"
    assert headline([*KEPT, ("all-gather", 1024)], KEPT) == "better"


def test_a_collective_that_was_added_while_all_of_its_kind_carry_less_says_so() -> None:
    old, new = (program(*side) for side in ([("all-reduce", 65536)] * 2, [("all-reduce", 65536), *SMALL]))
    compared = ProgramComparison("f", "cpu-2", "compiled", "changed", hlodiff.diff(*map(hlodiff.read_text, (old, new))))
    text = to_terminal(Report("diff", "a", "b", (compared,)), width=200)
    assert (
        "added all-reduce f32[2048]" in text and "(+2,048 flops, +8.0 KiB; all-reduce bytes in all -48.0 KiB)" in text
    )


def test_how_a_collective_is_started_is_listed_after_what_is_computed() -> None:
    def text(opcode: str, config: str) -> str:
        return f"""HloModule m
%add (a: f32[], b: f32[]) -> f32[] {{
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}}

ENTRY %e {{
  %p = f32[64] parameter(0)
  %t = f32[64] {opcode}(%p)
  %s = f32[64] all-reduce-start(%t), channel_id=1, replica_groups={{{{0,1}}}}, to_apply=%add{config}
  ROOT %d = f32[64] all-reduce-done(%s)
}}
"""

    waits = ', backend_config={"collective_backend_config":{"is_sync":true}}'
    modules = hlodiff.read_text(text("tanh", waits)), hlodiff.read_text(text("exponential", ""))
    compared = ProgramComparison("f", "cuda-h100-x2", "compiled", "changed", hlodiff.diff(*modules))
    listed = to_terminal(Report("check", "a", "b", (compared,)))
    assert listed.index("changed tanh -> exponential") < listed.index("asynchronous: no -> yes")


def test_collectives_of_a_group_count_their_results_though_some_are_in_fusions() -> None:
    """What is in a fusion stores nothing."""
    assert Cost(4, 0, 96, 192, collective=320).shown_bytes == 320


def test_a_mixed_verdict_names_the_collectives_that_came_for_those_that_went() -> None:
    went = Number("all-reduce", 5, 2, mark="better", rank=3)
    came, launches = Number("all-gather", 0, 4, mark="worse", rank=1), Number("launches", 8, 9, mark="worse", rank=2)
    assert decisive_numbers([went, came, launches], "mixed") == (went, came)
    flops = Number("flops", 9, 8, mark="better", rank=3)
    assert decisive_numbers([flops, came, launches], "mixed") == (flops, came)  # they are among the launches
    assert decisive_numbers([flops, launches], "mixed") == (flops, launches)


def test_small_collectives_beside_large_ones_weigh_little() -> None:
    """Three all-reduces of 512 bytes more are listed, and do not outweigh less memory."""
    large, small = ("all-reduce", 4 << 20), ("all-reduce", 512)
    old, new = (hlodiff.read_text(program(*some)) for some in ([large] * 4, [large] * 4 + [small] * 3))
    facts = {"memory.temp": 8e7}, {"memory.temp": 4e7}
    one = ProgramComparison("f", "cpu", "compiled", "changed", hlodiff.diff(old, new), *facts)
    (view,) = build_view(Report("diff", "a", "b", (one,))).functions
    (number,) = (number for number in view.targets[0].numbers if number.name == "all-reduce")
    assert number.mark == "worse" and number.rank < 1


def test_a_verdict_adds_up_what_speaks_for_it() -> None:
    """A wider state: more flops and more bytes, and the compiler makes a few launches less of it."""
    more = [Number(name, 100, 150, mark="worse", rank=0.8) for name in ("flops", "bytes accessed")]
    assert verdict_of([*more, Number("launches", 100, 80, mark="better", rank=0.3)]) == "worse"
    assert verdict_of([*more[:1], Number("launches", 100, 80, mark="better", rank=0.3)]) == "mixed"


def test_results_that_are_donated_arguments_are_named_behind_other_memory() -> None:
    """An optimizer's state in bfloat16: what is returned is in the buffers that came, and the peak is less."""
    found = hlodiff.diff(*(hlodiff.read_text(program(("all-reduce", size))) for size in (512, 1024)))

    def ranked(alias: tuple[float, float]) -> list[str]:
        sizes = {
            "argument": (4e6, 3e6),
            "output": (4e6, 3e6),
            "temp": (5e6, 5e6),
            "peak": (9.6e6, 8.6e6),
            "alias": alias,
        }
        old, new = ({f"memory.{name}": pair[side] for name, pair in sizes.items()} for side in (0, 1))
        numbers = judged(
            one := ProgramComparison("f", "cuda-h100", "compiled", "changed", found, old, new),
            [
                Number(name, *sizes[of], "bytes")
                for name, of in (("arguments", "argument"), ("results", "output"), ("peak", "peak"))
            ],
        )
        assert one.metrics()["memory.alias"] == alias and {number.mark for number in numbers} == {"better"}
        return [number.name for number in sorted(numbers, key=lambda number: -number.rank)]

    assert ranked((3.9e6, 2.9e6)) == ["arguments", "peak", "results"]
    assert ranked((0.0, 0.0)) == ["arguments", "results", "peak"]


def test_temporary_memory_that_takes_back_what_arguments_save_is_in_the_row() -> None:
    """Unless the peak, which has both, is known, or it is too little to say."""
    less = Number("arguments", 1000, 800, "bytes", mark="better", rank=0.3)
    temp = Number("temp", 2000, 2100, "bytes")
    assert "; temp 2.0 KiB -> 2.1 KiB (+5.0 %)" in format_numbers([less, temp], 0)
    assert "temp" not in format_numbers([less, replace(temp, new=2040)], 0)
    assert "temp" not in format_numbers([less, replace(temp, least="temp and peak below 3 %")], 0)
    assert "temp" not in format_numbers([less, temp, Number("peak", 3000, 2900, "bytes", mark="better", rank=0.1)], 0)


def test_more_memory_for_fewer_kernels_is_a_trade() -> None:
    """An unrolled loop holds more and starts fewer kernels; copies that go with a lost donation are no gain."""
    more = [Number("temp", 100, 125, "bytes", mark="worse", rank=0.64)]
    assert verdict_of([*more, Number("launches", 100, 91, mark="better", rank=0.14)]) == "mixed"
    assert verdict_of([*more, Number("launches", 100, 97, mark="better", rank=0.04)]) == "worse"
    lost = [Number("aliased", 100, 0, "bytes", mark="worse", rank=4)]
    assert verdict_of([*lost, Number("launches", 100, 91, mark="better", rank=0.14)]) == "worse"


@pytest.mark.parametrize(
    ("target", "new", "mark"),
    [("cuda-h100", 101, ""), ("cuda-h100", 102, "worse"), ("cpu-2", 104, ""), ("cpu-2", 106, "worse")],
)
def test_a_few_launches_of_many_have_no_direction(target: str, new: int, mark: str) -> None:
    """`psum` became `pmean`: one division of a scalar more. Where they start no kernels, more are needed."""
    compared = ProgramComparison("f", target, "compiled", "changed")
    (one,) = judged(compared, (Number("launches", 100, new),))
    assert (one.mark, one.relevant) == (mark, True)


def said(old: list[tuple[str, int]], new: list[tuple[str, int]], width: int = 200) -> list[str]:
    modules = [hlodiff.read_text(program(*side)) for side in (old, new)]
    compared = ProgramComparison("f", "cpu-2", "compiled", "changed", hlodiff.diff(*modules))
    return to_terminal(Report("diff", "a", "b", (compared,)), width=width).splitlines()


def test_what_is_left_of_bytes_that_came_and_went_is_not_said_of_what_came() -> None:
    """Two all-reduces of 32 KiB came, and an old one carries so much less."""
    first, *_ = said(
        [("all-reduce", 131072), ("all-reduce", 8192)], [("all-reduce", 66560), *[("all-reduce", 8192)] * 9]
    )
    assert "all-reduces 2 -> 10 (136.0 KiB -> 137.0 KiB" in first and "+8 all-reduces" not in first
    first, *_ = said([("all-reduce", 8192)], [("all-reduce", 8192)] * 3)
    assert "+2 all-reduces (16.0 KiB)" in first


def test_collectives_that_carry_half_are_better_though_one_more_runs() -> None:
    """Gradients in bfloat16; the loss is added up on its own."""
    lines = said([("all-reduce", 65540)], [("all-reduce", 32768), ("all-reduce", 4)])
    assert lines[0].startswith("f  ▼ better on cpu-2: all-reduce bytes 64.0 KiB -> 32.0 KiB")
    assert any("▼ better: all-reduce 1 -> 2 (64.0 KiB -> 32.0 KiB)" in line for line in lines)


def test_a_row_always_has_its_flops() -> None:
    names = ("temp", "peak", "bytes accessed", "launches", "flops")
    numbers = [Number(name, 100, 80, mark="better", rank=5 - n) for n, name in enumerate(names)]
    assert format_numbers(numbers, 0) == (
        "▼ better: temp 100 -> 80 (-20 %), peak 100 -> 80 (-20 %), bytes accessed 100 -> 80 (-20 %), "
        "flops 100 -> 80 (-20 %), 1 more"
    )


def test_flops_do_not_come_before_the_number_that_counts_more() -> None:
    """Of a row that three collectives fill."""
    kinds = ("all-gather", "all-reduce", "all-to-all")
    gone = [Number(kind, 2, 1, mark="better", rank=9) for kind in kinds]
    others = [Number("bytes accessed", 100, 57, mark="better", rank=4), Number("flops", 100, 98, mark="better", rank=1)]
    assert format_numbers([*gone, *others], 0).endswith("bytes accessed 100 -> 57 (-43 %), flops 100 -> 98 (-2.0 %)")
    assert format_numbers([*gone, others[0]], 0).endswith(", 1 more")


def test_a_row_lists_what_decides_the_verdict() -> None:
    costs = [Number(name, 100, 104, mark="worse", rank=0.1) for name in ("temp", "results")]
    saved = [
        Number("bytes accessed", 100, 60, mark="better", rank=1),
        Number("launches", 9, 7, mark="better", rank=0.4),
    ]
    words = format_numbers([*saved, *costs], 0, verdict="better")
    assert words == (
        "▼ better: bytes accessed 100 -> 60 (-40 %), launches 9 -> 7 (-22 %); "
        "▲ worse: temp 100 -> 104 (+4.0 %), results 100 -> 104 (+4.0 %)"
    )
    assert format_numbers([*saved, *costs], 0).startswith("▼ better: bytes accessed 100 -> 60 (-40 %), 1 more; ")


def test_counts_of_the_text_are_told_as_such() -> None:
    counts = [Number("compiled ops", 8, 9), Number("fusions", 2, 3)]
    assert format_numbers(counts, 0) == "in the text: compiled ops 8 -> 9 (+12 %), fusions 2 -> 3 (+50 %)"
    assert format_numbers([Number("temp", 8, 4, "bytes", mark="better", rank=1), *counts], 0).count("text") == 0


def test_the_legend_has_each_threshold_that_left_a_number_out() -> None:
    left = [
        Number("launches", 100, 104, least="launches below 5 % off GPUs"),
        Number("temp", 1000, 1015, least="temp and peak below 3 %"),
        Number("aliased", 8, 4),
    ]
    assert unlisted([Number("flops", 8, 9, mark="worse", rank=1), *left, Number("fusions", 2, 3)]) == left
    assert unlisted([Number("launches", 4, 5), Number("fusions", 2, 3)]) == [], "a row lists or counts them"
    legend = format_legend(0.01, 2, ["copies below 1 % of all bytes"], left)
    assert legend.partition("not listed: ")[2] == (
        "2 below 1 %, launches below 5 % off GPUs, temp and peak below 3 %, copies below 1 % of all bytes, 1 unmarked"
    )


def test_a_table_of_numbers_names_the_program_where_one_changed_most_whatever_it_weighs_there() -> None:
    """A launch weighs less on a CPU than on a GPU."""

    diff = hlodiff.diff(*(hlodiff.read_text(program((kind, 64))) for kind in ("all-reduce", "all-gather")))

    def changed(name: str, target: str, new: int) -> ProgramComparison:
        launches = ExecutedCount(100, 100), ExecutedCount(new, new)
        return ProgramComparison(name, target, "compiled", "changed", replace(diff, executed={"launches": launches}))

    view = build_view(Report("diff", "a", "b", (changed("f", "cuda-h100", 80), changed("g", "cpu", 70))))
    assert [(one.name, one.better, one.most_better) for one in view.numbers] == [("launches", 2, "-30 %, g on cpu")]


def test_work_that_no_number_shows_counts_in_the_order_of_functions() -> None:
    text = """HloModule m

ENTRY %e (a: f32[64,64], b: f32[64,64]) -> f32[64,64] {
  %a = f32[64,64] parameter(0)
  %b = f32[64,64] parameter(1)
  ROOT %d = f32[64,64] dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
    highest = text.replace("rhs_contracting_dims={0}", "rhs_contracting_dims={0}, operand_precision={highest,highest}")
    compared = hlodiff.diff(*map(hlodiff.read_text, (text, highest)))
    facts = {"memory.temp": 1000.0}, {"memory.temp": 1100.0}
    memory = hlodiff.diff(*map(hlodiff.read_text, (text, text.replace("f32[64,64] dot", "f32[64,64]{0,1} dot"))))
    programs = (
        ProgramComparison("f", "tpu-v5e", "compiled", "changed", memory, *facts),
        ProgramComparison("g", "tpu-v5e", "compiled", "changed", compared),
    )
    view = build_view(Report("diff", "a", "b", programs))
    assert "; mainly g, matrix products in 6 passes instead of 1;" in view.verdict


def norm(is_scattered: bool, is_asynchronous: bool) -> str:
    """A sum over devices that each keeps whole, or of which each keeps a part and sums over the devices once more."""

    def collective(name: str, kind: str, shapes: tuple[str, str], operand: str, line: int, more: str = "") -> list[str]:
        at = f', metadata={{op_name="jit(f)/x" source_file="net.py" source_line={line}}}' if line else ""
        ends = f"channel_id={line + 1}, replica_groups={{{{0,1}}}}{more}{at}"
        if not is_asynchronous:
            return [f"  %{name} = {shapes[1]} {kind}({operand}), {ends}"]
        both = shapes[1] if kind == "all-reduce" else f"(({shapes[0]}), {shapes[1]})"
        start = f"  %{name}_start = {both} {kind}-start({operand}), {ends}"
        return [start, f"  %{name} = {shapes[1]} {kind}-done(%{name}_start){at}"]

    whole, part, row, sums = "f32[32,128]", "f32[32,64]", "f32[32]", ", to_apply=%add"
    lines = [f"  %x = {whole} parameter(0)", "  %c = f32[] constant(0)", f"  %t = {whole} tanh(%x)"]
    if is_scattered:
        lines += collective("r", "reduce-scatter", (whole, part), "%t", 0, f", dimensions={{1}}{sums}")
        lines += [f"  %k = {part} sine(%r)", f"  %s = {row} reduce(%k, %c), dimensions={{1}}, to_apply=%add"]
        lines += collective("n", "all-reduce", (row, row), "%s", 7, sums)
        lines += collective("g", "all-gather", (part, whole), "%k", 6, ", dimensions={1}")
        lines += [f"  %l = {row} log(%n)", f"  ROOT %o = ({whole}, {row}) tuple(%g, %l)"]
    else:
        lines += collective("r", "all-reduce", (whole, whole), "%t", 5, sums)
        lines += [f"  %k = {whole} sine(%r)", f"  %s = {row} reduce(%k, %c), dimensions={{1}}, to_apply=%add"]
        lines += [f"  %l = {row} log(%s)", f"  ROOT %o = ({whole}, {row}) tuple(%k, %l)"]
    add = ["%add (a: f32[], b: f32[]) -> f32[] {", "  %a = f32[] parameter(0)", "  %b = f32[] parameter(1)"]
    add += ["  ROOT %s = f32[] add(%a, %b)", "}"]
    return "\n".join(["HloModule m, num_partitions=2", "", *add, "", "ENTRY %e {", *lines, "}", ""])


@pytest.mark.parametrize("is_asynchronous", [False, True])
def test_a_collective_that_is_of_another_kind_now_is_not_taken_for_one_that_was_added(is_asynchronous: bool) -> None:
    """The compiler scatters a sum, and adds a small one of what follows: the first one did not shrink to that."""
    sides = [hlodiff.read_text(norm(is_scattered, is_asynchronous)) for is_scattered in (False, True)]
    suffix = "-start" if is_asynchronous else ""
    for way, kinds, sizes in (
        (1, ("all-reduce", "reduce-scatter"), ("16.0 KiB", "8.0 KiB")),
        (-1, ("reduce-scatter", "all-reduce"), ("8.0 KiB", "16.0 KiB")),
    ):
        found = hlodiff.diff(*sides[::way])
        assert found.replay().complete
        compared = ProgramComparison("f", "tpu-2", "compiled", "changed", found)
        (view,) = build_view(Report("diff", "a", "b", (compared,))).functions
        listed = [(line.where, one) for stage in view.stages for line in stage.lines for one in line.changes]
        (other,) = [one for _, one in listed if one.kind == "changed"]
        assert other.what.startswith(f"{kinds[0]}{suffix} -> {kinds[1]}{suffix}: shape: f32[32,")
        assert other.cost == f"4,096 flops, {' -> '.join(sizes)}"
        (where,) = [where for where, one in listed if one.what.startswith(f"all-reduce{suffix} %n")]
        assert where == "net.py:7", "the one that came or went at its own line"


def test_a_fused_sum_of_which_each_device_keeps_its_part_is_a_reduce_scatter() -> None:
    """XLA for TPUs writes it as an all-reduce and a slice."""
    fused = """HloModule m, num_partitions=2

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%fused {
  %p = f32[32,128] parameter(0)
  %r = f32[32,128] all-reduce(%p), channel_id=1, replica_groups={{0,1}}, to_apply=%add
  %n = u32[] partition-id()
  %i = s32[] convert(%n)
  %z = s32[] constant(0)
  ROOT %o = f32[16,128] dynamic-slice(%r, %i, %z), dynamic_slice_sizes={16,128}
}

ENTRY %e {
  %x = f32[32,128] parameter(0)
  %t = f32[32,128] tanh(%x)
  ROOT %f = @
}
"""
    plain, scattered = "f32[32,128] negate(%t)", "f32[16,128] fusion(%t), kind=kCustom, calls=%fused"
    sides = [hlodiff.read_text(fused.replace("@", root)) for root in (plain, scattered)]
    compared = ProgramComparison("f", "tpu-2", "compiled", "changed", hlodiff.diff(*sides))
    text = to_terminal(Report("diff", "a", "b", (compared,)), width=200)
    assert "with all-reduce" not in text
    (row,) = [line for line in text.splitlines() if "with reduce-scatter" in line]
    assert "fusion with reduce-scatter of f32[32,128]" in row and row.endswith("(+8.0 KiB)"), (
        "what else the fusion computes was elsewhere before"
    )


@pytest.mark.parametrize(("size", "mark"), [(100_004, ""), (102_000, "worse")])
def test_as_many_collectives_that_carry_a_number_more_are_no_worse(size: int, mark: str) -> None:
    compared = ProgramComparison("f", "tpu-2", "compiled", "changed")
    (one,) = judged(compared, (Number("all-reduce", 8, 8, old_bytes=100_000, new_bytes=size),))
    assert (one.mark, one.relevant) == (mark, True)


def test_a_first_line_without_a_place_for_each_kind_has_the_bytes_of_all_and_their_target() -> None:
    """Only where targets differ does the number name its target."""
    came = [("all-gather", 65536)] * 9 + [("collective-permute", 65536)] * 9

    def first_line(*more: list[tuple[str, int]]) -> str:
        programs = []
        for n, each in enumerate(more):
            old, new = (hlodiff.read_text(program(*side)) for side in (KEPT, [*KEPT[1:], *each]))
            programs.append(ProgramComparison("f", f"cpu-{n}", "compiled", "changed", hlodiff.diff(old, new)))
        return to_terminal(Report("check", "a", "b", tuple(programs)), width=400).splitlines()[0]

    assert ", all collectives 640.0 KiB -> 1.7 MiB, but -1 all-reduce" in first_line(came)
    alike = first_line(came, came)
    assert "all collectives 640.0 KiB -> 1.7 MiB" in alike and "MiB (cpu-" not in alike
    assert "all collectives 640.0 KiB -> 2.2 MiB (cpu-1)" in first_line(
        came, came + [("collective-permute", 65536)] * 8
    )
    exchanged = [("all-gather", 32768), ("collective-permute", 16384), ("all-to-all", 16384)]
    assert "all collectives 640.0 KiB as before" in first_line(exchanged)


def test_collectives_whose_place_dearer_ones_took_are_no_gain() -> None:
    """Fewer bytes of one kind do not speak for a program whose collectives are more and carry more in all."""
    dearer = [("all-gather", 65536)] * 2 + [("collective-permute", 90000)] * 14

    def verdict(*others: tuple[str, int]) -> str:
        old, new = (hlodiff.read_text(program(*side)) for side in (KEPT, [*KEPT[6:], *others]))
        compared = ProgramComparison("f", "cpu-4", "compiled", "changed", hlodiff.diff(old, new))
        return to_terminal(Report("diff", "a", "b", (compared,)), width=400).splitlines()[0]

    assert "worse" in verdict(*dearer) and ", but " in verdict(*dearer)
    assert "mixed" in verdict(*dearer[:6])
