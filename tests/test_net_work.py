"""What is listed first of a compiled program: what came or went, and not what the compiler arranged differently."""

from __future__ import annotations

from hlodiff.differ import ProgramComparison, diff
from hlodiff.hlo import Module, read_text
from hlodiff.report import Report, build_view
from tests.test_turns import compared, copies, loop

WIDE = "f32[32,64]{1,0}"


def listed(*programs: ProgramComparison) -> list[str]:
    """The listed changes of the compiled program, in order."""
    (function,) = build_view(Report("diff", "a", "b", programs)).functions
    stages = [stage for stage in function.stages if stage.stage == "compiled"]
    return [f"{one.kind} {one.count} {one.what}" for stage in stages for line in stage.lines for one in line.changes]


def both(old: Module, new: Module) -> ProgramComparison:
    return ProgramComparison("f", "cpu", new.stage, "changed", diff(old, new))


def fused(body: str, main: str) -> Module:
    """A program with one fusion of some operations on `%p`, and operations on its result `%f`."""
    return read_text(
        f"HloModule m\n\n%fused {{\n  %p = {WIDE} parameter(0)\n{body}}}\n\n"
        f"ENTRY %main {{\n  %x = {WIDE} parameter(0)\n"
        f"  %f = {WIDE} fusion(%x), kind=kLoop, calls=%fused\n{main}}}\n"
    )


def test_collectives_that_left_a_loop_are_not_the_first_change() -> None:
    """A loop with an all-reduce in it became copies of its body: one call does as many."""
    first, *_ = listed(compared(loop(), copies(4)))
    assert first.startswith("removed 1 while")


def test_conversions_are_first_where_values_are_rounded_to_another_type() -> None:
    """A CPU multiplies no bfloat16: it converts before and after. A conversion costs no flops, unlike a negation."""

    def lowered(element: str) -> Module:
        here = f"tensor<32x64x{element}>"
        cast = f"    %c = stablehlo.convert %a : (tensor<32x64xf32>) -> {here}\n" if element != "f32" else ""
        back = f"    %w = stablehlo.convert %m : ({here}) -> tensor<32x64xf32>\n" if element != "f32" else ""
        value = "%c" if cast else "%a"
        return read_text(
            "module @f {\n  func.func public @main(%a: tensor<32x64xf32>) -> tensor<32x64xf32> {\n"
            f"{cast}    %m = stablehlo.multiply {value}, {value} : {here}\n{back}"
            f"    return {'%w' if back else '%m'} : tensor<32x64xf32>\n  }}\n}}\n"
        )

    product = "%d = f32[64,64]{1,0} dot(%f, %f), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    casts = "  %b = bf16[32,64]{1,0} convert(%p)\n  %w = f32[32,64]{1,0} convert(%b)\n"
    old = fused(f"  %n = {WIDE} negate(%p)\n  ROOT %m = {WIDE} multiply(%n, %p)\n", f"  ROOT {product}\n")
    new = fused(f"{casts}  ROOT %m = {WIDE} multiply(%w, %w)\n", f"  ROOT {product}\n")
    first, *_ = listed(both(lowered("f32"), lowered("bf16")), both(old, new))
    assert "convert" in first
