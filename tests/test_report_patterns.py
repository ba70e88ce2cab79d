"""Equal changes are one line of a report; what is too long to list is told as a digest. Goldens to be read."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from hlodiff.cli import run
from hlodiff.differ import Edit, FieldChange, ModuleDiff, ProgramComparison, diff
from hlodiff.hlo import read_hlo, read_text
from hlodiff.report import Report, build_view, format_edit, format_field_change, to_json, to_markdown, to_terminal
from tests.shown import changes, ranks
from tests.test_classes import all_reduced

LAYERS = Path(__file__).parent / "fixtures/report/layers"

HEAD = """HloModule m

FileNames
1 "model.py"
2 "/opt/site-packages/jax/nn.py"

FunctionNames
1 "loss"
2 "gelu"

FileLocations
1 {file_name_id=1 function_name_id=1 line=31 end_line=31 column=1 end_column=2}
2 {file_name_id=2 function_name_id=2 line=9 end_line=9 column=1 end_column=2}
3 {file_name_id=1 function_name_id=1 line=32 end_line=32 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=0}
2 {file_location_id=2 parent_frame_id=1}
3 {file_location_id=3 parent_frame_id=0}

"""


def program(*lines: str, result: str = "") -> str:
    """An entry computation of a parameter, these lines, and a tuple of what they call %r0, %r1, ..."""
    results = [name for line in lines for name in re.findall(r"^(%r\d+) =", line)]
    shapes = [line.split(" = ")[1].split(" ")[0] for line in lines if line.startswith("%r")]
    body = "".join(f"  {line}\n" for line in lines)
    root = f"  ROOT %t = ({', '.join(shapes)}) tuple({', '.join(results)})\n"
    return f"{HEAD}ENTRY e {{\n  %p = f32[8]{{0}} parameter(0)\n{body}{root}}}\n{result}"


def compared(old: str, new: str, name: str = "f", target: str | None = "cpu") -> ProgramComparison:
    found = diff(read_hlo(old), read_hlo(new))
    return ProgramComparison(name, target, "compiled", "changed", found)


def tanh(number: int, frame: int = 1, opcode: str = "tanh", shape: str = "f32[8]{0}") -> str:
    return f"%r{number} = {shape} {opcode}(%p), metadata={{stack_frame_id={frame}}}"


def test_one_line_changed_in_24_layers_on_two_targets_is_one_entry(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(LAYERS)
    assert run(["diff", "old", "new"]) == 0
    assert capsys.readouterr().out == (
        "▲ 2 programs changed: 2 worse; mainly cpu, flops +2.2 %; 24x multiply added at model.py:6\n"
        "next: hlodiff diff old new --format html -o diff.html\n"
        "\n"
        "the same in several programs\n"
        "  [1] added    24x multiply f32[8,32], f32[8,16]  +4,608 flops  model.py:6 (layer)\n"
        "               + 48 knock-on edits: 24 broadcast, 24 constant\n"
        "               compiled of 2 programs: cpu, tpu-v5e; counted in cpu, 6x in tpu-v5e\n"
        "\n"
        "cpu  ▲ worse: flops +2.2 %; 24x multiply added at model.py:6\n"
        "  changed: structure\n"
        "  compiled (executed numbers)\n"
        "    ▲ worse: flops 205,824 -> 210,432 (+2.2 %)\n"
        "  shared with other functions: [1]\n"
        "\n"
        "tpu-v5e  ▲ worse: flops +2.2 %; 6x multiply added at model.py:6\n"
        "  changed: structure\n"
        "  compiled (executed numbers)\n"
        "    ▲ worse: flops 51,456 -> 52,608 (+2.2 %)\n"
        "  shared with other functions: [1]\n"
        "\n"
        "▲ costs more, ▼ less, per call and device; below 1 % is not listed\n"
        "structure: other operations, results may differ\n"
        "2 changed\n"
    )
    assert run(["diff", str(LAYERS / "old"), str(LAYERS / "new"), "--format", "json"]) == 0
    value = json.loads(capsys.readouterr().out)
    (pattern,) = value["patterns"]
    assert (pattern["kind"], pattern["count"], pattern["programs"]) == ("added", 30, [0, 1])
    assert pattern["follows"] == {"broadcast": 30, "constant": 30}
    assert pattern["source"][0] == {"file": "model.py", "line": 6, "function": "layer"}
    assert pattern["cost"] == {"old": None, "new": {"runs": 90, "flops": 5760, "read": 0, "written": 0}}
    for number, index in pattern["edits"]:
        assert value["programs"][number]["edits"][index]["follows"] is None


def test_changes_that_follow_each_other_name_their_programs_once() -> None:
    old, new = program(tanh(0), tanh(1, 3)), program(tanh(0, 1, "exponential"), tanh(1, 3, "sine"))
    text = to_terminal(Report("diff", "a", "b", (compared(old, new), compared(old, new, "g", "tpu"))), width=120)
    assert (
        "  [1] changed  tanh -> exponential  8 flops, 64 B  model.py:31 (loss)\n"
        "  [2] changed  tanh -> sine  8 flops, 64 B  model.py:32 (loss)\n"
        "               [1] and [2]: compiled of 2 functions: f on cpu; g on tpu\n"
    ) in text


def test_what_several_functions_share_stands_first_and_what_is_special_stays() -> None:
    first = compared(program(tanh(0), tanh(1, 3)), program(tanh(0, 1, "exponential"), tanh(1, 3, "sine")))
    second = compared(program(tanh(0)), program(tanh(0, 1, "exponential")), "g", "tpu")
    text = to_terminal(Report("diff", "a", "b", (first, second)), width=120)
    assert text == (
        "= 2 functions changed: 2 at the same cost\n"
        "\n"
        "the same in several programs\n"
        "  [1] changed  tanh -> exponential  8 flops, 64 B  model.py:31 (loss)\n"
        "               compiled of 2 functions: f on cpu; g on tpu\n"
        "\n"
        "f  = same cost on cpu; model.py:32\n"
        "  changed on cpu: structure\n"
        "  compiled (executed numbers)\n"
        "    cpu  no executed number changed\n"
        "    changed tanh -> sine  (8 flops, 64 B)  model.py:32 (loss)\n"
        "  shared with other functions: [1]\n"
        "\n"
        "g  = same cost on tpu; tanh -> exponential at model.py:31\n"
        "  changed on tpu: structure\n"
        "  compiled (executed numbers)\n"
        "    tpu  no executed number changed\n"
        "  shared with other functions: [1]\n"
        "\n"
        "▲ costs more, ▼ less, per call and device; below 1 % is not listed\n"
        "structure: other operations, results may differ\n"
        "2 changed\n"
    )


def test_what_targets_of_one_function_share_is_listed_once() -> None:
    first = compared(program(tanh(0), tanh(1, 3)), program(tanh(0, 1, "exponential"), tanh(1, 3, "sine")))
    second = compared(program(tanh(0)), program(tanh(0, 1, "exponential")), "f", "tpu")
    report = Report("diff", "a", "b", (first, second))
    text = to_terminal(report, width=120)
    assert "    changed tanh -> exponential  (8 flops, 64 B)  model.py:31 (loss)\n" in text
    assert text.count("tanh -> exponential") == 1
    assert "    on cpu: changed tanh -> sine" in text
    summary, _, changes = to_markdown(report).partition("<details")
    assert "changed tanh -&gt; exponential" in summary and changes.count("tanh -> exponential") == 1


@pytest.mark.parametrize(
    ("old", "new", "entries"),
    [
        (program(tanh(0, 1, "tanh", "f32[4]{0}")), program(tanh(0, 1, "exponential", "f32[4]{0}")), 2),
        (program(tanh(0), tanh(1, 1)), program(tanh(0, 1, "exponential"), tanh(1, 1, "exponential")), 2),
        (program(tanh(0, 1, "tanh", "f32[8]{0:T(256)}")), program(tanh(0, 1, "exponential", "f32[8]{0:T(256)}")), 1),
    ],
    ids=["of another size", "made twice", "in another layout"],
)
def test_a_change_that_is_of_another_size_on_another_target_is_told_for_each(old: str, new: str, entries: int) -> None:
    first = compared(program(tanh(0)), program(tanh(0, 1, "exponential")))
    text = to_terminal(Report("diff", "a", "b", (first, compared(old, new, "f", "tpu"))), width=120)
    assert text.count("tanh -> exponential") == entries + 1, "the verdict too"
    assert ("    on tpu: changed" in text) == (entries == 2)


@pytest.mark.parametrize(
    ("second", "entries"),
    [
        pytest.param(tanh(1, 1, "exponential"), 1, id="same change, same line"),
        pytest.param(tanh(1, 1, "exponential", "f32[4]{0}"), 1, id="another shape"),
        pytest.param(tanh(1, 3, "exponential"), 2, id="another line"),
        pytest.param(tanh(1, 1, "sine"), 2, id="another change"),
        pytest.param(tanh(1, 3, "sine"), 2, id="another line and another change"),
        pytest.param(tanh(1, 2, "exponential"), 1, id="through a library, from the same line"),
    ],
)
def test_what_is_one_entry(second: str, entries: int) -> None:
    old = program(tanh(0), re.sub(r"exponential|sine", "tanh", second))
    found = diff(read_hlo(old), read_hlo(program(tanh(0, 1, "exponential"), second)))
    assert len(changes(found)) == entries


def test_constants_of_one_line_have_their_value() -> None:
    constants = [
        f"%r{n} = {shape} constant(64), metadata={{stack_frame_id=1}}" for n, shape in ((1, "f32[]"), (2, "s32[]"))
    ]
    found = diff(read_hlo(program(tanh(0))), read_hlo(program(tanh(0), *constants)))
    assert "constant f32[], s32[] (64)" in [group.what for group in changes(found)]


def test_what_follows_is_folded_into_words() -> None:
    lines = [
        "%c = f32[] constant(2)",
        "%b = f32[8]{0} broadcast(%c), dimensions={}",
        "%r0 = f32[8]{0} add(%p, %b)",
    ]
    found = diff(read_hlo(program("%r0 = f32[8]{0} add(%p, %p)")), read_hlo(program(*lines)))
    assert [entry.follows for entry in changes(found)] == ["+ 2 knock-on edits: 1 broadcast added, 1 constant added"]


def test_whole_call_stacks_on_demand() -> None:
    one = compared(program(tanh(0, 2)), program(tanh(0, 2, "exponential")))
    plain = to_terminal(Report("diff", "a", "b", (one,)))
    assert "model.py:31 (loss)\n" in plain
    assert "nn.py" not in plain
    whole = to_terminal(Report("diff", "a", "b", (one,), stacks=True))
    assert "        at jax/nn.py:9 (gelu)\n        at model.py:31 (loss)\n" in whole
    assert "<br>" in to_markdown(Report("diff", "a", "b", (one,), stacks=True))


OPCODES = (
    "abs", "cosine", "sine", "negate", "exponential", "log", "sqrt", "rsqrt", "cbrt", "floor", "ceil", "sign", "erf",
    "tan",
)  # fmt: skip


def rewritten() -> tuple[str, str]:
    """Fourteen different changes, one of them twice as large, and twenty instructions that stay."""
    same = [tanh(100 + n) for n in range(20)]
    old = [tanh(n) for n in range(len(OPCODES))]
    new = [tanh(n, 1, opcode) for n, opcode in enumerate(OPCODES)]
    return program(*same, *old, tanh(50)), program(*same, *new, tanh(50, 1, "tan"))


def test_of_many_changes_of_one_program_the_first_are_listed() -> None:
    one = compared(*rewritten(), target=None)
    text = to_terminal(Report("diff", "a", "b", (one,)), width=110)
    listed = [line for line in text.split("\n") if line.startswith("    changed ")]
    assert len(listed) == 8
    assert listed[0] == "    changed 2x tanh -> tan  (16 flops, 128 B)  model.py:31 (loss)", "the largest first"
    assert "    ... and 6 more changes, --all lists everything\n" in text
    whole = to_terminal(Report("diff", "a", "b", (one,), all=True), width=110)
    assert whole.count("      changed  ") == 14


def test_too_many_programs_become_an_overview_in_every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tuple(compared(*rewritten(), name=f"function{n:02}") for n in range(40))
    report = Report("diff", "a", "b", programs)
    text = to_terminal(report, width=140)
    assert text.count("\n") < 300
    assert text.count("\n") < 50
    assert "the same in several programs\n" in text, "40 equal changes are one each"
    different = tuple(
        ProgramComparison(one.name, "cpu", "compiled", "changed", diff(*map(read_hlo, _moved(rewritten(), n))))
        for n, one in enumerate(programs)
    )
    report = Report("diff", "a", "b", different)
    text = to_terminal(report, width=140)
    assert text.count("\n") < 150
    assert "compiled: 40 programs changed\n    same         59 % of the instructions, 57 % of the bytes" in text
    assert "      changed  80x tanh -> tan  640 flops, 5.0 KiB  model.py:131 (loss) and 39 more lines\n" in text
    assert "               40 functions on cpu: function00, function01, function02 and 37 more\n" in text
    assert "  function07 on cpu  compiled  59 %  57 %  structure: 15 changed of 37 instructions, model.py:" in text
    assert "too long to list every change here (more than 300 lines), --all lists everything" in text
    alike = replace(report, programs=(*programs[:2], *different[2:]))
    assert "shared with" not in to_terminal(alike, width=140), "an overview does not list what is shared"
    monkeypatch.setattr("hlodiff.report.markdown._MOST_CHARACTERS", 1000)
    assert "Details would be longer" in to_markdown(alike)
    assert "shared" not in to_markdown(alike)
    monkeypatch.undo()
    markdown = to_markdown(report)
    assert len(markdown) < 65_000
    value = json.loads(to_json(report))
    assert len(value["patterns"]) == 40 * 14
    assert value["programs"][0]["same"]["instructions"] == pytest.approx(44 / 74, abs=0.0001)


def _moved(sides: tuple[str, str], number: int) -> tuple[str, str]:
    """The same programs written on other lines of Python."""
    old, new = (side.replace("line=31", f"line={131 + number}") for side in sides)
    return old, new


def test_the_same_report_in_every_order_of_equal_work() -> None:
    programs = tuple(compared(*rewritten(), name=name) for name in ("f", "g"))
    report = Report("diff", "a", "b", programs)
    assert to_terminal(report) == to_terminal(Report("diff", "a", "b", programs))
    assert to_json(report) == to_json(Report("diff", "a", "b", programs))


@pytest.mark.parametrize("width", [40, 60, 80])
def test_one_line_of_24_layers_fits_on_one_screen(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.chdir(LAYERS)
    assert run(["diff", "old", "new"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) <= 40
    assert max(map(len, lines)) <= width
    assert any("model.py:6 (layer)" in line for line in lines)


def test_a_class_that_some_targets_have_is_said_with_them() -> None:
    rounded = ["%b = bf16[8]{0} convert(%p)", "%r0 = f32[8]{0} convert(%b)"]
    first = compared(program(tanh(0)), program(tanh(0, 1, "exponential")), "f", "cpu")
    second = compared(program("%r0 = f32[8]{0} negate(%p)"), program(*rounded), "f", "tpu-v5e")
    report = Report("diff", "a", "b", (first, second))
    assert "changed on cpu, tpu-v5e: numerics (tpu-v5e), structure\n" in to_terminal(report)
    assert "changed on cpu, tpu-v5e\\: numerics \\(tpu-v5e\\), structure\n" in to_markdown(report)


def test_a_target_whose_compiled_program_is_the_same_is_named() -> None:
    """Another spelling of the same work, which XLA for one of two targets sees."""
    old, new = program(tanh(0)), program(tanh(0, 1, "sine"))
    written = """module @m {
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""
    both = diff(read_text(written), read_text(written.replace("tanh", "sine")))
    programs = [ProgramComparison("f", target, "stablehlo", "changed", both) for target in ("cpu", "tpu")]
    programs += [compared(old, new, "f", "cpu"), ProgramComparison("f", "tpu", "compiled", "identical")]
    lines = to_terminal(Report("diff", "a", "b", tuple(programs)), width=120).splitlines()
    assert "    cpu  no executed number changed" in lines
    assert "    tpu  the same program" in lines


def test_a_collective_is_among_the_numbers_of_a_target() -> None:
    """An unrolled loop has fewer launches and copies by far; what its devices wait for is listed too."""

    def unrolled(copies: int, permutes: int, *more: str) -> str:
        pairs = "source_target_pairs={{0,1}}"
        lines = [f"%c{n} = f32[8]{{0}} copy(%p)" for n in range(copies)]
        lines += [f"%m{n} = f32[8]{{0}} collective-permute(%p), {pairs}, channel_id={n + 1}" for n in range(permutes)]
        return program(*lines, *more)

    def first_row(*more: str) -> str:
        found = diff(read_hlo(unrolled(64, 8)), read_hlo(unrolled(2, 7, *more)))
        one = ProgramComparison("f", "cpu", "compiled", "changed", found, {"memory.temp": 8e3}, {"memory.temp": 4e3})
        ranked = ranks(one)
        assert ranked["collective-permute"] < min(ranked[name] for name in ("bytes accessed", "launches", "temp"))
        return to_terminal(Report("diff", "a", "b", (one,)), width=200).partition("\n    cpu  ")[2].partition("\n")[0]

    assert "bytes accessed 4.5 KiB -> 576 B" in first_row() and "collective-permute 8 -> 7" in first_row()
    worse = first_row("%h = f32[8]{0} tanh(%p)")
    assert all(name in worse for name in ("bytes accessed 4.5 KiB", "collective-permute 8 -> 7", "flops 0 -> 8"))


def test_what_was_written_once_is_listed_once_though_targets_lower_it_to_other_work() -> None:
    old = """module {
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %t = stablehlo.tanh %x : tensor<8xf32>
    return %t : tensor<8xf32>
  }
}
"""
    new = old.replace("    return %t", "    %c = call @g(%t) : (tensor<8xf32>) -> tensor<8xf32>\n    return %c", 1)
    programs = []
    for target, times in (("cpu", 2), ("tpu-v5e", 1)):
        body = "".join(f"    %y{n + 1} = stablehlo.sine %y{n} : tensor<8xf32>\n" for n in range(times))
        callee = f"  func.func private @g(%y0: tensor<8xf32>) -> tensor<8xf32> {{\n{body}"
        text = f"{new.rstrip()[:-1]}{callee}    return %y{times} : tensor<8xf32>\n  }}\n}}\n"
        found = diff(read_text(old, path="a.mlir"), read_text(text, path="a.mlir"))
        programs.append(ProgramComparison("f", target, "stablehlo", "changed", found))
    text = to_terminal(Report("diff", "a", "b", tuple(programs)), width=120)
    assert "  StableHLO\n    added func.call f32[8]  (+16 flops on cpu, + 3 knock-on edits)\n" in text
    assert text.count("func.call") == 2, "in the first line, and in the list"


def test_an_argument_that_is_donated_to_a_result_with_another_number_follows_from_the_results() -> None:
    def text(first: str, shapes: str, number: int) -> str:
        return (
            f"HloModule m, input_output_alias={{ {{{number}}}: (0, {{}}, may-alias) }}\n\nENTRY e {{\n"
            '  %x = f32[8]{0} parameter(0), metadata={op_name="x"}\n  %n = f32[8]{0} negate(%x)\n'
            f"  %t = f32[8]{{0}} tanh(%x)\n  ROOT %r = ({shapes}) tuple({first}%t, %n)\n}}\n"
        )

    two, three = "f32[8]{0}, f32[8]{0}", "f32[8]{0}, f32[8]{0}, f32[8]{0}"
    fewer = compared(text("%n, ", three, 2), text("", two, 1))
    listed = to_terminal(Report("diff", "a", "b", (fewer,)), width=120)
    assert "2 results instead of 3" in listed and "donated" not in listed
    other = compared(text("", two, 1), text("", two, 0))
    assert "argument 0 (x) is donated to output {0}" in to_terminal(Report("diff", "a", "b", (other,)), width=120)


def test_a_cast_comes_before_the_constants_that_have_another_type_because_of_it() -> None:
    """A constant, a broadcast or a call of a helper has the type of what takes it or of what it is given."""
    body = """module @m {{
  func.func public @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {{
    {cast}
    %low = stablehlo.constant dense<-1.0> : tensor<{type}>
    %all = stablehlo.broadcast_in_dim %low, dims = [] : (tensor<{type}>) -> tensor<8x{type}>
    %m = stablehlo.maximum {given}, %all : tensor<8x{type}>
    {back}
    return %r : tensor<8xf32>
  }}
}}
"""
    old = body.format(cast="", type="f32", given="%x", back="%r = stablehlo.multiply %m, %y : tensor<8xf32>")
    new = body.format(
        cast="%c = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8xbf16>", type="bf16", given="%c",
        back="%d = stablehlo.convert %m : (tensor<8xbf16>) -> tensor<8xf32>\n"
        "    %r = stablehlo.multiply %d, %y : tensor<8xf32>",
    )  # fmt: skip
    found = diff(*map(read_text, (old, new)))
    sites = [edit.new or edit.old for edit in found.edits if edit.cause is None]
    assert sites[0] and sites[0].opcode == "convert"
    assert found.replay().complete


def test_another_type_is_not_listed_first_where_nothing_rounds_differently() -> None:
    """A TPU may write a value that only a product takes in the type in which products are computed."""
    layout = 'metadata={op_name="jit(f)/a"}'
    text = f"""HloModule m

ENTRY e {{
  %x = f32[64,64]{{1,0}} parameter(0)
  %t = f32[64,64]{{1,0}} tanh(%x), {layout}
  ROOT %r = f32[64,64]{{1,0}} convolution(%t, %x), dim_labels=bf_io->bf, {layout}
}}
"""
    new = text.replace("%t = f32", "%t = bf16").replace(
        "  ROOT %r = f32[64,64]{1,0} convolution(%t, %x)",
        f"  %a = f32[64,64]{{1,0}} convolution(%x, %x), dim_labels=bf_io->bf, {layout}\n"
        "  ROOT %r = f32[64,64]{1,0} convolution(%t, %a)",
    )
    program = ProgramComparison("m", "tpu-v5e", "compiled", "changed", diff(read_hlo(text), read_hlo(new)))
    assert "numerics" not in program.classes
    listed = [line.strip() for line in to_terminal(Report("diff", "a", "b", (program,)), width=200).splitlines()]
    first = next(line for line in listed if line.startswith(("added", "changed tanh")))
    assert first.startswith("added convolution")


def test_arguments_of_other_shapes_are_not_the_same_change() -> None:
    def pair(name: str, old: str, new: str) -> ProgramComparison:
        text = "HloModule m\n\nENTRY e {\n  %p = SHAPE parameter(0)\n  ROOT %t = SHAPE tanh(%p)\n}\n"
        return compared(text.replace("SHAPE", old), text.replace("SHAPE", new), name)

    one, other = pair("f", "f32[16,64]", "f32[32,64]"), pair("g", "f32[8,32,16]", "f32[32,16,8]")
    text = to_terminal(Report("diff", "a", "b", (one, other)))
    assert "the same in several programs" not in text
    assert "shape: f32[16,64] -> f32[32,64]" in text and "shape: f32[8,32,16] -> f32[32,16,8]" in text
    alike = replace(one, name="h")
    assert "the same in several programs" in to_terminal(Report("diff", "a", "b", (one, alike)))


def test_the_number_of_a_channel_is_listed_alone_or_not_at_all() -> None:
    """A compiler numbers channels as it likes: beside another shape or opcode, the number says nothing."""
    number, shape = FieldChange("attribute:channel_id", "7", "3"), FieldChange("shape", "f32[8]", "f32[16]")
    opcode = FieldChange("opcode", "reduce-scatter", "all-reduce")
    for all_of_them, shown in (
        ((number,), "channel_id: 7 -> 3"),
        ((shape, number), "shape: f32[8] -> f32[16]"),
        ((opcode, number), "reduce-scatter -> all-reduce"),
    ):
        edit = Edit("changed", tuple(change.field for change in all_of_them), changes=all_of_them)
        assert format_edit(edit) == shown


def test_a_long_table_is_other_numbers() -> None:
    numbers = [", ".join(f"0.{n + k}" for n in range(40)) for k in (100, 200)]
    tables = [f"dense<[{one}]>" for one in numbers]
    assert format_field_change(FieldChange("literal", *tables)) == "literal: other numbers"
    assert format_field_change(FieldChange("literal", "dense<[1, 2]>", "dense<[1, 3]>")) == "literal: [1, 2] -> [1, 3]"


FUSED = """HloModule m

%%f (a: f32[%(n)d]) -> f32[%(n)d] {
  %%a = f32[%(n)d] parameter(0)
  ROOT %%r = f32[%(n)d] %(inside)s(%%a), metadata={op_name="x" source_file="m.py" source_line=3}
}

ENTRY %%e (p: f32[%(n)d]) -> f32[%(n)d] {
  %%p = f32[%(n)d] parameter(0)
  %(added)s
  ROOT %%t = f32[%(n)d] tanh(%%%(last)s)
}
"""


def fused(n: int, inside: str) -> ModuleDiff:
    line = 'metadata={op_name="x" source_file="m.py" source_line=3}'
    fusion = f"%u = f32[{n}] fusion(%p), kind=kLoop, calls=%f, {line}"
    new = FUSED % {"n": n, "inside": inside, "added": fusion, "last": "u"}
    old = FUSED % {"n": n, "inside": inside, "added": "", "last": "p"}
    return diff(*map(read_text, (old[: old.index("%f")] + old[old.index("ENTRY") :], new)))


@pytest.mark.parametrize(("second", "is_shared"), [((16, "exponential"), True), ((8, "sine"), False)])
def test_fusions_of_several_programs_are_one_change_only_if_the_same_is_in_them(
    second: tuple[int, str], is_shared: bool
) -> None:
    found = [fused(8, "exponential"), fused(*second)]
    programs = tuple(ProgramComparison(f"f{n}", "cpu", "compiled", "changed", one) for n, one in enumerate(found))
    shared = build_view(Report("diff", "a", "b", programs)).shared
    assert bool(shared) is is_shared
    if shared:
        assert "f32[8]," in shared[0].what and "; counted in f0" in shared[0].of, "with the shape of one"


def test_shared_compiled_changes_that_explain_nothing_are_counted_below_changed_stablehlo() -> None:
    def written(opcode: str) -> str:
        line = f"%0 = stablehlo.{opcode} %a : tensor<8xf32>\n  return %0 : tensor<8xf32>"
        return f"func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {{\n  {line}\n}}\n"

    compiled = (
        "HloModule m\n\nENTRY %e {\n  %p = f32[8]{0} parameter(0)\n  %q = f32[256,256]{1,0} parameter(1)\n"
        "  %d = f32[256,256]{1,0} dot(%q, %q), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  %n = f32[8]{0} #(%p)\n  ROOT %t = (f32[256,256]{1,0}, f32[8]{0}) tuple(%d, %n)\n}\n"
    )
    small = diff(*(read_text(compiled.replace("#", opcode)) for opcode in ("negate", "abs")))
    own = {
        name: diff(read_text(written("tanh")), read_text(written(new)))
        for name, new in (("f", "sine"), ("g", "cosine"))
    }
    programs = [ProgramComparison(name, "cpu", "compiled", "changed", small) for name in own]

    def shown(*programs: ProgramComparison) -> str:
        return to_terminal(Report("diff", "a", "b", programs)).partition("the same in several programs\n")[2]

    assert shown(*programs).startswith("  [1] "), "the compiler alone: it is all there is"
    both = [*(ProgramComparison(name, "cpu", "stablehlo", "changed", one) for name, one in own.items()), *programs]
    assert shown(*both).startswith("      1 change, --all lists everything\n"), shown(*both)


def terminal(*programs: ProgramComparison) -> str:
    return to_terminal(Report("diff", "a", "b", programs), width=160)


def chain(*operations: str) -> str:
    """StableHLO of some operations on eight values, one after the other; a scope may stand before an operation."""
    rows = ""
    for n, (within, _, opcode) in enumerate(one.rpartition("/") for one in operations):
        line = f'loc("jit(f)/{within and within + "/"}{opcode}"("net.py":4:1))'
        rows += f"    %{n + 1} = stablehlo.{opcode} %{n} : tensor<8xf32> {line}\n"
    return (
        "module @f {\n  func.func public @main(%0: tensor<8xf32>) -> tensor<8xf32> {\n"
        f"{rows}    return %{len(operations)} : tensor<8xf32>\n  }}\n}}\n"
    )


def lowered(old: str, new: str, name: str = "f") -> ProgramComparison:
    return ProgramComparison(name, "cpu", "stablehlo", "changed", diff(read_text(old), read_text(new)))


def test_of_shared_compiled_changes_the_collectives_with_most_bytes_are_listed() -> None:
    sizes = (8, 16, 1024, 32, 2048, 512)
    gathers = [
        f"%r{n} = f32[{size}]{{0}} all-gather(%p), channel_id={n}, replica_groups=[1,{size // 8}]<=[{size // 8}], "
        f'dimensions={{0}}, metadata={{op_name="a" source_file="net.py" source_line={n}}}'
        for n, size in enumerate((2 * size for size in sizes), 1)
    ]
    old, new = program(tanh(0)), program(tanh(0), *gathers)
    names = ("f", "sine"), ("g", "cosine")
    own = [lowered(chain("tanh"), chain(opcode), name) for name, opcode in names]
    text = terminal(*own, *(compared(old, new, name) for name, _ in names))
    found = re.findall(r"^  \[(\d)\] added    all-gather f32\[(\d+)\]", text, re.MULTILINE)
    assert [size for _, size in found] == ["2048", "4096", "1024"], "of 8, 16 and 4 KiB"
    assert [number for number, _ in found] == sorted(number for number, _ in found)
    assert "      ... and 3 more, --all lists everything\n" in text


def test_a_function_whose_targets_have_other_counts_of_a_shared_change_gives_both() -> None:
    def changed(count: int, name: str, target: str) -> ProgramComparison:
        old, new = ([tanh(n, 1, opcode) for n in range(count)] for opcode in ("tanh", "exponential"))
        return compared(program(tanh(90, 3), *old), program(tanh(90, 3), *new), name, target)

    others = changed(2, "g", "cpu"), changed(3, "g", "tpu")
    assert "; counted in f, 2x to 3x in g\n" in terminal(changed(4, "f", "cpu"), *others)
    both = changed(4, "f", "cpu"), changed(1, "f", "tpu")
    assert "; counted in f on cpu, 1x in f on tpu, 2x to 3x in g\n" in terminal(*both, *others)


def test_products_that_others_of_their_line_undo_say_so_beside_the_bytes_of_the_program() -> None:
    """Three products went and a smaller one came in the backward pass; transpositions read and write as much."""
    line = 'metadata={op_name="jit(f)/#" source_file="net.py" source_line=4}'
    square, wide, dims = "f32[64,64]", "f32[64,58]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    here, back = (line.replace("#", f"{scope}dot_general") for scope in ("", "transpose(jvp())/"))
    names = ["h", "a", "b", "c"]
    products = (f"  %{new} = {square} dot(%{old}, %x), {dims}, {here}\n" for old, new in pairwise(names))
    text = (
        f"HloModule m\n\nENTRY %e {{\n  %x = {square} parameter(0)\n  %y = {wide} parameter(1)\n"
        f"  %v = f32[64,2] parameter(3)\n  %z = f32[8] parameter(2)\n  %n = f32[8] OPCODE(%z)\n"
        f"  %h = {square} sine(%x)\nROWS"
        f'  %r = {square} subtract(%x, %OTHER)\n  %k = f32[8] custom-call(%c, %nKEPT), custom_call_target="keep"\n'
        f"  ROOT %t = (f32[8], {square}) tuple(%k, %r)\n}}\n"
    )
    small = f"  %w = f32[64,2] dot(%x, %v), {dims}, {here.replace('=4', '=9')}\n"
    old = text.replace("OPCODE", "abs").replace("ROWS", "".join(products) + small).replace("OTHER", "x")
    old, text = old.replace("KEPT", ", %w"), text.replace("KEPT", "")
    turned = [f"  %{new} = {square} transpose(%{old}), dimensions={{1,0}}\n" for old, new in pairwise("xpo")]
    rows = f"  %c = {wide} dot(%h, %y), {dims}, {back}\n{''.join(turned)}"
    new = text.replace("OPCODE", "tanh").replace("OTHER", "o").replace("ROWS", rows)
    found = terminal(lowered(chain("tanh"), chain("cosine")), compared(old, new))
    assert (
        "    removed 3x dot f32[64,64]  (-1.57 M flops, -144.0 KiB; bytes in all -54.0 KiB; dot here in all " in found
    )
    assert "; dot here in all -1.10 M flops)  net.py:4\n" in found


def test_shared_halves_of_one_change_are_listed_as_one() -> None:
    """An all-reduce of another type is removed and added; what is not listed counts no half that is."""

    def summed(kind: str, *opcodes: str) -> str:
        """A sum over two devices of what some operations compute, each of another line."""
        rows = "".join(
            f'    %{n} = stablehlo.{one} %{n - 1} : tensor<8xf32> loc("jit(f)/a"("net.py":{n + 10}:1))\n'
            for n, one in enumerate(opcodes, 1)
        )
        return all_reduced(kind, rows.replace("%0 ", "%x "), f"%{len(opcodes)}")

    def shown(old: str, new: str) -> str:
        found = terminal(*(lowered(old, new, name) for name in "fg")).partition("the same in several programs\n")[2]
        return found.partition("\n\nf  ")[0]

    alone = shown(summed("f32", "tanh"), summed("bf16", "tanh"))
    one = "  [1] changed  all_reduce bf16[8]: element type: f32 -> bf16  8 flops  net.py:7\n"
    assert alone.startswith(one) and "[2]" not in alone and "more, --all" not in alone
    others = ("tanh", "exponential", "sine", "cosine"), ("abs", "negate", "floor", "ceil")
    several = shown(summed("f32", *others[0]), summed("bf16", *others[1]))
    assert several.startswith(one)
    listed, left = len(re.findall(r"^  \[", several, re.MULTILINE)), re.search(r"and (\d+) more, --all", several)
    assert left is not None and listed + int(left[1]) == 1 + 8, "four operations that went and four that came"


@pytest.mark.parametrize(
    ("last", "words"),
    [("jit(log_softmax)/sine", "log_softmax (exponential, log, sine)"), ("sine", "exponential, log, sine")],
)
def test_a_function_is_named_only_if_all_operations_are_in_it(last: str, words: str) -> None:
    inside = [f"jit(log_softmax)/{opcode}" for opcode in ("exponential", "log")]
    text = terminal(lowered(chain("tanh"), chain(*inside, last)))
    assert f"      replaced tanh by {words}  (+16 flops)\n" in text


def test_of_a_shared_change_all_that_the_program_runs_of_an_operation_is_counted() -> None:
    """One of its calls was rewritten; a function that is called three times computes it now."""

    def calling(opcode: str, inside: str) -> str:
        line = 'loc("jit(f)/h"("net.py":{}:1))'
        one = "tensor<8xf32>"
        calls = "".join(f"    %{n} = call @h(%{n - 1}) : ({one}) -> {one} {line.format(5)}\n" for n in (2, 3, 4))
        helper = (
            f"  func.func private @h(%x: {one}) -> {one} {{\n"
            f"    %h = stablehlo.{inside} %x : {one} {line.format(20)}\n    return %h : {one}\n  }}\n}}\n"
        )
        text = chain(opcode).replace("    return %1 :", f"{calls}    return %4 :")
        return text.removesuffix("}\n") + helper

    old, new = calling("tanh", "sine"), calling("cosine", "tanh")
    text = terminal(*(lowered(old, new, name) for name in "fg"))
    assert "  [1] changed  tanh -> cosine  8 flops; tanh in all +2  net.py:4\n" in text
    assert "  [2] changed  sine -> tanh  24 flops  net.py:20\n" in text


def test_an_all_reduce_of_a_function_that_is_no_longer_called_is_not_named_as_new() -> None:
    line = 'loc("jit(f)/a"("net.py":7:1))'
    one, square = "tensor<8xf32>", "tensor<8x8xf32>"

    def summed(value: str) -> str:
        return (
            f'    %r = "stablehlo.all_reduce"({value}) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> ({{\n'
            "    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n      %s = stablehlo.add %a, %b : tensor<f32>\n"
            f"      stablehlo.return %s : tensor<f32>\n    }}) : ({one}) -> {one} {line}\n"
        )

    def program(rows: str, functions: str = "") -> str:
        return (
            "module @m attributes {mhlo.num_partitions = 2 : i32} {\n"
            f"  func.func public @main(%x: {one}, %w: {square}) -> {one} {{\n{rows}    return %r : {one}\n  }}\n"
            f"{functions}}}\n"
        )

    takes = f"    %r = call @_take(%x) : ({one}) -> {one} {line}\n"
    inside = f"    %t = stablehlo.tanh %y : {one} {line}\n{summed('%t')}    return %r : {one}\n"
    old = program(takes, f"  func.func private @_take(%y: {one}) -> {one} {{\n{inside}  }}\n")
    products = "".join(
        f"    %{new} = stablehlo.dot_general %{taken}, %w, contracting_dims = [0] x [0] : "
        f"({one}, {square}) -> {one} {line}\n"
        for new, taken in (("d", "x"), ("v", "d"))
    )
    new = program(products + summed("%v"))
    assert "      replaced func.call by 2 dot_general  (+248 flops, " in terminal(lowered(old, new))
    assert "      replaced 2 dot_general by func.call  (-248 flops, " in terminal(lowered(new, old))
