"""What happened, in JAX's words: sentences of the headline."""

import pytest

import hlodiff
from hlodiff.report.report import Report, ToolchainChange
from hlodiff.report.sections import format_causes
from hlodiff.report.stories import stories


def program(body: str, header: str = "") -> hlodiff.Module:
    lines = "\n".join("  " + line for line in body.strip().splitlines())
    return hlodiff.read_text(f"HloModule m{header}\n\nENTRY %e {{\n{lines}\n}}\n")


def said(old: hlodiff.Module, new: hlodiff.Module) -> list[str]:
    return list(stories(hlodiff.diff(old, new)))


DONATED = """%p0 = f32[8]{0} parameter(0), metadata={op_name="cache[\\'keys\\']"}
%p1 = f32[8]{0} parameter(1), metadata={op_name="x"}
ROOT %r = f32[8]{0} add(%p0, %p1)"""


def test_arguments_that_are_no_longer_donated_are_named_by_their_paths() -> None:
    old = program(DONATED, ", input_output_alias={ {}: (0, {}, may-alias) }")
    assert said(old, program(DONATED)) == ["1 argument is no longer donated: cache['keys']"]
    assert said(program(DONATED), old) == ["1 argument is donated now: cache['keys']"]


AGAIN = 'metadata={op_name="jit(f)/transpose(jvp())/checkpoint/rematted_computation/tanh"}'


@pytest.mark.parametrize("back", [False, True])
def test_rematerialisation_is_called_so(back: bool) -> None:
    old = program("%p = f32[8]{0} parameter(0)\n%t = f32[8]{0} tanh(%p)\nROOT %r = f32[8]{0} add(%p, %t)")
    new = program(
        "%p = f32[8]{0} parameter(0)\n%t = f32[8]{0} tanh(%p)\n"
        f"%u = f32[8]{{0}} tanh(%p), {AGAIN}\n%a = f32[8]{{0}} add(%p, %t)\nROOT %r = f32[8]{{0}} multiply(%a, %u)"
    )
    pair = (new, old) if back else (old, new)
    words = "no longer computed" if back else "computed"
    assert said(*pair) == [f"1 operation is {words} again in the backward pass (rematerialisation)"]


def test_another_generator_of_random_numbers() -> None:
    threefry = 'metadata={op_name="jit(f)/jit(_uniform)/threefry2x32/xor"}'
    old = program(f"%p = u32[8]{{0}} parameter(0)\n%x = u32[8]{{0}} xor(%p, %p), {threefry}\n"
                  "ROOT %r = u32[8]{0} negate(%x)")  # fmt: skip
    generate = "%x = u32[8]{0} rng-bit-generator(%p), algorithm=rng_default"
    new = program(f"%p = u32[8]{{0}} parameter(0)\n{generate}\nROOT %r = u32[8]{{0}} negate(%x)")
    assert said(old, new) == ["random numbers come from rng_bit_generator instead of threefry2x32"]


def test_weights_that_became_a_constant_are_told_with_their_bytes() -> None:
    weight = '%w = f32[512]{0} parameter(1), metadata={op_name="model.weight"}'
    old = program(f"%p = f32[512]{{0}} parameter(0)\n{weight}\nROOT %r = f32[512]{{0}} add(%p, %w)")
    values = ",".join(str(n) for n in range(512))
    new = program(f"%p = f32[512]{{0}} parameter(0)\n%w = f32[512]{{0}} constant({{{values}}})\n"
                  "ROOT %r = f32[512]{0} add(%p, %w)")  # fmt: skip
    assert said(old, new) == ["1 large constant added (2.0 KiB), 1 argument gone: model.weight"]


@pytest.mark.parametrize("opcode", ["dynamic-update-slice", "fusion"])
def test_a_written_buffer_in_another_layout_is_a_sentence_of_its_own(opcode: str) -> None:
    write = "dynamic-update-slice(%b, %u, %i, %i)"
    inside = ""
    if opcode == "fusion":
        inside = (
            "%f {\n  %b = f32[8,4]{1,0} parameter(0)\n  %u = f32[1,4]{1,0} parameter(1)\n  %i = s32[] parameter(2)\n"
            f"  ROOT %d = f32[8,4]{{1,0}} {write}\n}}\n\n"
        )
    call = "fusion(%b, %u, %i), kind=kLoop, calls=%f" if inside else write
    text = (
        f"HloModule m\n\n{inside}ENTRY %e {{\n  %b = f32[8,4]{{1,0}} parameter(0)\n"
        f"  %u = f32[1,4]{{1,0}} parameter(1)\n  %i = s32[] parameter(2)\n  ROOT %d = f32[8,4]{{1,0}} {call}\n}}\n"
    )
    old, new = hlodiff.read_text(text), hlodiff.read_text(text.replace("f32[8,4]{1,0}", "f32[8,4]{0,1}"))
    assert said(old, new) == [f"the buffer that {opcode} writes has another layout ({{1,0}} -> {{0,1}})"]


def test_a_setting_is_named_and_not_your_code() -> None:
    from hlodiff.differ.comparison import ProgramComparison

    text = "HloModule m\n\nENTRY %e {\n  %p = f32[] parameter(0)\n  ROOT %r = f32[] tanh(%p)\n}\n"
    diff = hlodiff.diff(hlodiff.read_text(text), hlodiff.read_text(text.replace("tanh", "exponential")))
    programs = (ProgramComparison("f", "cpu", "stablehlo", "changed", diff, other_toolchain=True),)
    setting = (ToolchainChange("matmul_precision", "default", "highest", ("cpu",)),)
    (line,) = format_causes(Report("diff", "a", "b", programs, toolchain=setting))
    assert line.endswith("in StableHLO too: the configuration changed (matmul_precision default -> highest)")
    (line,) = format_causes(Report("diff", "a", "b", programs, toolchain=(ToolchainChange("jax", "1", "2"),)))
    assert "your code changed" in line
