"""Neither better nor worse: what a TPU fetches beside what it computes, one collective more of fewer bytes."""

from dataclasses import replace

import pytest

import hlodiff
from hlodiff.differ import ProgramComparison, classes_of
from hlodiff.report import Number, format_edit
from hlodiff.report.verdict import judged, verdict_of
from tests.shown import headline, marks, ranks


def program(fetched: int, computed: int) -> str:
    """So many arguments go to fast memory first, and so many results are computed."""
    lines = ["  %p = f32[1024]{0:T(1024)} parameter(0)"]
    lines += [f"  %m{n} = f32[1024]{{0:T(1024)S(1)}} copy(%p)" for n in range(fetched)]
    lines += [f"  %t{n} = f32[1024]{{0:T(1024)}} tanh(%{f'm{n}' if n < fetched else 'p'})" for n in range(computed)]
    names = ", ".join(f"%t{n}" for n in range(computed))
    shapes = ", ".join(["f32[1024]{0:T(1024)}"] * computed)
    return "\n".join(["HloModule m\n\nENTRY %e {", *lines, f"  ROOT %r = ({shapes}) tuple({names})", "}\n"])


def mark(old: tuple[int, int], new: tuple[int, int]) -> str:
    modules = [hlodiff.read_text(program(*side)) for side in (old, new)]
    compared = ProgramComparison("f", "tpu-v5e", "compiled", "changed", hlodiff.diff(*modules))
    return marks(compared)["launches"]


def test_fetches_alone_are_neither_better_nor_worse() -> None:
    assert mark((1, 8), (4, 8)) == ""
    assert mark((4, 8), (1, 8)) == ""


def test_launches_that_compute_have_a_mark_whatever_is_fetched() -> None:
    assert mark((1, 8), (1, 12)) == "worse"
    assert mark((4, 8), (1, 12)) == "worse"
    assert mark((1, 12), (4, 8)) == "better"
    assert mark((0, 8), (0, 12)) == "worse"


def test_copies_of_a_few_bytes_do_not_come_before_the_bytes_of_all() -> None:
    """Three small copies more, and every result twice as large: the bytes are what matters."""

    def text(copies: int, size: int) -> str:
        lines = ["  %s = f32[16]{0} parameter(0)", f"  %x = f32[{size}]{{0}} parameter(1)"]
        lines += [f"  %c{n} = f32[16]{{0}} copy(%s)" for n in range(copies)]
        lines += [f"  %t = f32[{size}]{{0}} tanh(%x)"]
        shapes = ", ".join(["f32[16]{0}"] * copies + [f"f32[{size}]{{0}}"])
        names = ", ".join([f"%c{n}" for n in range(copies)] + ["%t"])
        return "\n".join(["HloModule m\n\nENTRY %e {", *lines, f"  ROOT %r = ({shapes}) tuple({names})", "}\n"])

    modules = [hlodiff.read_text(text(*side)) for side in ((1, 4096), (4, 8192))]
    compared = ProgramComparison("f", "cpu", "compiled", "changed", hlodiff.diff(*modules))
    rank = ranks(compared)
    assert 0 < rank["copies"] < rank["bytes accessed"]


def test_one_collective_or_copy_more_with_few_bytes_less_is_neither_better_nor_worse() -> None:
    def marked(name: str, old: int, new: int, before: int, after: int) -> str:
        (found,) = judged(
            ProgramComparison("f", "cpu", "compiled", "changed"), [Number(name, old, new, "count", before, after)]
        )
        assert found.relevant
        return found.mark

    assert marked("all-reduce", 3, 4, 1536, 1280) == ""
    assert marked("all-reduce", 4, 3, 1280, 1536) == ""
    assert marked("all-reduce", 3, 4, 1536, 512) == "better"
    assert marked("all-gather", 4, 3, 512, 1536) == "worse"
    assert marked("all-reduce", 3, 3, 1536, 1280) == "better"
    assert marked("copies", 289, 163, 3530784, 3595808) == ""  # each is started by itself
    assert marked("copies", 4, 3, 512, 1536) == "worse"


def test_less_memory_is_not_better_where_nobody_knows_how_much_work_there_is() -> None:
    less = Number("temp", 800, 400, "bytes", mark="better", rank=3)
    work = Number("flops", 10, 10, comparable=False)
    assert verdict_of([less]) == "better"
    assert verdict_of([less, work]) == "mixed"
    assert verdict_of([less, work, Number("launches", 9, 4, comparable=False, mark="better", rank=4)]) == "mixed"
    assert verdict_of([less, work, Number("launches", 9, 4, mark="better", rank=2)]) == "better"


def test_a_tenth_more_flops_is_not_made_up_for_by_less_memory() -> None:
    """A checkpoint around the body of a scan: temp -80 %, flops +16 %, and "better" said nothing of the flops."""
    temp, little, much = Number("temp", 500, 100), Number("flops", 100, 105), Number("flops", 100, 116)
    old = ProgramComparison("f", "cpu", "compiled", "changed", None)
    verdicts = [verdict_of(judged(old, [temp, flops])) for flops in (little, much)]
    assert verdicts == ["better", "mixed"]


def test_copies_hide_nothing_where_all_bytes_are_known_to_be_fewer() -> None:
    fewer = [Number(name, 9, 4, comparable=False, mark="better", rank=2) for name in ("launches", "bytes accessed")]
    copies = Number("copies", 9, 4, comparable=False)
    assert verdict_of([*fewer, copies]) == "better"
    assert verdict_of([fewer[0], copies]) == "mixed"
    assert verdict_of([*fewer, replace(copies, name="flops")]) == "mixed"


@pytest.mark.parametrize(
    ("name", "target", "new", "verdict"),
    [
        ("temp", "cuda-h100", 1025, "same"),
        ("peak", "tpu-v5e-2x2", 975, "same"),
        ("temp", "cuda-h100", 1035, "worse"),
        ("bytes accessed", "cuda-h100", 1015, "worse"),
        ("launches", "cpu", 1015, "same"),
        ("launches", "cuda-h100", 1015, "worse"),
        ("launches", "cpu", 975, "same"),
        ("launches", "cpu", 940, "better"),
    ],
)
def test_how_tightly_temporaries_are_packed_decides_nothing(name: str, target: str, new: int, verdict: str) -> None:
    found = judged(ProgramComparison("f", target, "compiled", "changed"), [Number(name, 1000, new, "bytes")])
    assert verdict_of(found) == verdict
    assert found[0].relevant, "it is listed"


PREFETCHED = """HloModule m

ENTRY %e {
  %p = f32[64,64]{1,0:T(8,128)} parameter(0)
  %q = f32[64,64]{1,0:T(8,128)} parameter(1)
  %s = (f32[64,64]{1,0:T(8,128)S(1)}, f32[64,64]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(%p)
  %d = f32[64,64]{1,0:T(8,128)S(1)} copy-done(%s)
  %t = f32[64,64]{1,0:T(8,128)} tanh(%d)
  %m = f32[64,64]{1,0:T(8,128)} multiply(%t, %q)
  ROOT %a = f32[64,64]{1,0:T(8,128)} add(%m, %d)
}
"""


def test_what_reads_its_value_from_another_copy_computes_the_same() -> None:
    """The first user of a prefetched argument reads the argument; that another one is read is another computation."""
    found = hlodiff.diff(hlodiff.read_text(PREFETCHED), hlodiff.read_text(PREFETCHED.replace("tanh(%d)", "tanh(%p)")))
    assert [(edit.kind, edit.fields, edit.changes[0].of_copies) for edit in found.edits] == [
        ("changed", ("operands",), True)
    ]
    assert classes_of(found) == ("cost",)
    assert format_edit(found.edits[0]).endswith(": operands: other copies of the same values")
    other = hlodiff.diff(hlodiff.read_text(PREFETCHED), hlodiff.read_text(PREFETCHED.replace("tanh(%d)", "tanh(%q)")))
    assert classes_of(other) == ("structure",)


FUSED = """HloModule m

%fused {
  %p = f32[64,64]{1,0:T(8,128)} parameter(0)
  ROOT %m = f32[64,64]{1,0:T(8,128)S(1)} multiply(%p, %p)
}

ENTRY %e {
  %x = f32[64,64]{1,0:T(8,128)} parameter(0)
  %f = f32[64,64]{1,0:T(8,128)S(1)} fusion(%x), kind=kLoop, calls=%fused
  ROOT %t = f32[64,64]{1,0:T(8,128)} tanh(%f)
}
"""


def test_a_memory_inside_a_fusion_says_nothing_of_where_its_result_is() -> None:
    """XLA writes it at results: the product is none any more, but its bitcast, which is in the same memory."""
    inside = "%m = f32[32,128]{1,0:T(8,128)} multiply(%q, %q)\n  ROOT %b = f32[64,64]{1,0:T(8,128)S(1)} bitcast(%m)"
    new = FUSED.replace("ROOT %m = f32[64,64]{1,0:T(8,128)S(1)} multiply(%p, %p)", inside)
    new = new.replace("  %m =", "  %q = f32[32,128]{1,0:T(8,128)} bitcast(%p)\n  %m =")
    found = hlodiff.diff(hlodiff.read_text(FUSED), hlodiff.read_text(new))
    (product,) = (edit for edit in found.edits if edit.new and edit.new.opcode == "multiply")
    assert format_edit(product) == "multiply %m f32[32,128]: shape: f32[64,64] -> f32[32,128]"
    assert "memory_space" not in {name for edit in found.edits for name in edit.fields}
    assert found.replay().complete
    moved = hlodiff.diff(hlodiff.read_text(FUSED), hlodiff.read_text(FUSED.replace("S(1)", "")))
    assert [edit.fields for edit in moved.edits] == [("memory_space",)] * 2, "of the result, inside and outside"
    compared = ProgramComparison("f", "tpu-v5e", "compiled", "changed", moved)
    assert "cost: 1 value now in device memory instead of vmem" in headline(compared)
