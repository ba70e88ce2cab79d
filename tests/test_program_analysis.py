"""What one program says about itself, read from texts."""

from __future__ import annotations

import pytest

import hlodiff
from hlodiff.differ import FrameTree, analyze_program
from hlodiff.hlo import Module
from hlodiff.report import analysis_notes, listed, program_analysis_json
from hlodiff.snapshots import numbered, restored
from tests.shown import happened

V, S = "tensor<4xf32>", "tensor<i32>"


def stablehlo(body: str, more: str = "", locations: str = "") -> Module:
    text = (
        f"module @jit_f {{\n  func.func public @main(%x: {V}, %y: {V}) -> {V} {{\n{body}\n  }}\n{more}\n}}\n{locations}"
    )
    return hlodiff.read_text(text, path="program.mlir")


LOCATIONS = """
#f1 = loc("model.py":12:4 to :20)
#f2 = loc("model.py":13:4 to :20)
#f3 = loc("model.py":30:4 to :20)
#main = loc("main"(#f3))
#body1 = loc("walk"(#f1))
#body2 = loc("walk"(#f2))
#one = loc("jit(f)/mul"(callsite(#body1 at #main)))
#two = loc("jit(f)/tanh"(callsite(#body2 at #main)))
#last = loc("jit(f)/add"(callsite(#body2 at #main)))
"""


def unrolled(copies: int, chained: bool = True) -> Module:
    """`copies` turns of two lines of Python, with what comes before and after them in other lines."""
    lines, value = [f"    %s = stablehlo.sine %x : {V} loc(#main)"], "%s"
    for n in range(copies):
        read = value if chained else "%s"
        lines += [
            f"    %m{n} = stablehlo.multiply {read}, %y : {V} loc(#one)",
            f"    %a{n} = stablehlo.add %m{n}, %x : {V} loc(#one)",
            f"    %t{n} = stablehlo.tanh %a{n} : {V} loc(#two)",
        ]
        value = f"%t{n}"
    return stablehlo("\n".join([*lines, f"    return {value} : {V}"]), locations=LOCATIONS)


def in_loop(file: str, line: int) -> bool | None:
    return file == "model.py" and line in (12, 13)


@pytest.mark.parametrize("copies", [3, 8, 24])
def test_copies_of_a_body_over_two_lines_are_counted_and_named(copies: int) -> None:
    (found,) = analyze_program(unrolled(copies), in_loop).repeats
    assert (found.copies, found.body, found.order) == (copies, 3, "chained")
    assert found.where == FrameTree("model.py", 12, 13, "walk")
    assert found.callers == (FrameTree("model.py", 30, 30, "main"),)


def test_copies_that_do_not_need_one_another_are_not_told() -> None:
    assert analyze_program(unrolled(8, chained=False), in_loop).repeats == ()


def test_without_a_loop_in_python_equal_groups_are_no_copies() -> None:
    assert analyze_program(unrolled(8)).repeats == (), "a sum of products is equal groups of operations too"
    assert analyze_program(unrolled(24), lambda file, line: False).repeats == ()
    assert analyze_program(unrolled(2), in_loop).repeats == ()


def test_a_recorded_program_says_the_same_under_other_names_and_in_another_order() -> None:
    module = unrolled(6)
    recorded = restored(hlodiff.normalize(numbered(module)), module)
    assert [it.name for it in recorded.entry_computation.instructions] != [
        it.name for it in module.entry_computation.instructions
    ]
    assert analyze_program(recorded, in_loop).repeats == analyze_program(module, in_loop).repeats


def test_a_compiled_program_says_nothing_of_copies() -> None:
    turns = "".join(
        f'  %m.{n} = f32[4]{{0}} multiply(%t.{n}, %y), metadata={{op_name="m" stack_frame_id=1}}\n'
        f'  %a.{n} = f32[4]{{0}} add(%m.{n}, %y), metadata={{op_name="a" stack_frame_id=1}}\n'
        f'  %t.{n + 1} = f32[4]{{0}} tanh(%a.{n}), metadata={{op_name="t" stack_frame_id=1}}\n'
        for n in range(5)
    )
    text = (
        'HloModule jit_f\n\nFileNames\n1 "model.py"\n\nFunctionNames\n1 "walk"\n\nFileLocations\n'
        "1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=4 end_column=20}\n\nStackFrames\n"
        "1 {file_location_id=1 parent_frame_id=0}\n\nENTRY %main {\n  %t.0 = f32[4]{0} parameter(0)\n"
        f"  %y = f32[4]{{0}} parameter(1)\n{turns}  ROOT %n = f32[4]{{0}} negate(%t.5)\n}}\n"
    )
    assert analyze_program(hlodiff.read_text(text, path="program.hlo"), in_loop).repeats == (), (
        "XLA splits and merges copies"
    )


def loop(condition: str, step: str, start: int = 0, limit: int = 8) -> Module:
    return stablehlo(f"""
    %i = stablehlo.constant dense<{start}> : {S}
    %r:2 = stablehlo.while(%n = %i, %c = %x) : {S}, {V}
    cond {{
      %limit = stablehlo.constant dense<{limit}> : {S}
      {condition}
      stablehlo.return %again : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<{step}> : {S}
      %next = stablehlo.add %n, %one : {S}
      %d = stablehlo.add %c, %y : {V}
      stablehlo.return %next, %d : {S}, {V}
    }}
    return %r#1 : {V}""")


BELOW = f"%again = stablehlo.compare LT, %n, %limit, SIGNED : ({S}, {S}) -> tensor<i1>"


@pytest.mark.parametrize(
    ("module", "turns"),
    [
        (loop(BELOW, "1"), 8),
        (loop(BELOW, "3"), 3),
        (loop(BELOW, "1", start=5), 3),
        (loop(BELOW, "1", start=9), 0),
        (loop(BELOW.replace("LT", "LE"), "1"), 9),
        (loop(BELOW.replace("LT, %n, %limit", "GT, %limit, %n"), "1"), 8),
        (loop(BELOW.replace("LT", "GE"), "-1", start=4, limit=1), 4),
        (loop(BELOW.replace("LT", "NE"), "2"), 4),
    ],
)
def test_turns_of_a_loop(module: Module, turns: int) -> None:
    (found,) = analyze_program(module).loops
    assert (found.turns, found.known, found.body) == (turns, "exactly", 2)


def test_a_loop_that_another_condition_may_end_sooner() -> None:
    also = (
        f"%low = stablehlo.compare LT, %n, %limit, SIGNED : ({S}, {S}) -> tensor<i1>\n"
        f"      %e = stablehlo.reshape %c : ({V}) -> tensor<4xf32>\n"
        "      %f = stablehlo.slice %e [0:1] : (tensor<4xf32>) -> tensor<1xf32>\n"
        "      %g = stablehlo.reshape %f : (tensor<1xf32>) -> tensor<f32>\n"
        "      %h = stablehlo.is_finite %g : (tensor<f32>) -> tensor<i1>\n"
        "      %again = stablehlo.and %low, %h : tensor<i1>"
    )
    (found,) = analyze_program(loop(also, "1")).loops
    assert (found.turns, found.known) == (8, "at most")


@pytest.mark.parametrize("direction", ["GE", "EQ", "GT"])
def test_a_loop_that_does_not_count_up_to_its_limit_is_not_guessed(direction: str) -> None:
    assert analyze_program(loop(BELOW.replace("LT", direction), "1")).loops == ()
    assert analyze_program(loop(BELOW.replace("LT", "NE"), "3")).loops == (), "it would step over its limit"


def test_turns_of_a_compiled_loop() -> None:
    text = """HloModule m

body {
  p = (s32[], f32[4]{0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4]{0} get-tuple-element(p), index=1
  t = f32[4]{0} tanh(x)
  ROOT r = (s32[], f32[4]{0}) tuple(i, t)
}

cond {
  q = (s32[], f32[4]{0}) parameter(0)
  ROOT c = pred[] constant(true)
}

ENTRY e {
  a = (s32[], f32[4]{0}) parameter(0)
  ROOT w = (s32[], f32[4]{0}) while(a), condition=cond, body=body, backend_config={"known_trip_count":{"n":"8"}}
}
"""
    (found,) = analyze_program(hlodiff.read_text(text, path="program.hlo")).loops
    assert (found.turns, found.body) == (8, 1)


def test_values_that_are_computed_twice() -> None:
    cone = "\n".join(
        f"""    %s{n} = stablehlo.sine %x : {V}
    %t{n} = stablehlo.tanh %s{n} : {V}
    %e{n} = stablehlo.exponential %t{n} : {V}"""
        for n in "ab"
    )
    module = stablehlo(f"{cone}\n    %r = stablehlo.subtract %ea, %eb : {V}\n    return %r : {V}")
    (found,) = analyze_program(module).twice
    assert (found.what, found.times, found.operations) == ("exponential f32[4]", 2, 3)


def test_random_numbers_drawn_twice_are_not_the_same() -> None:
    draw = "".join(
        f"""    %r{n} = "stablehlo.custom_call"(%x) {{call_target_name = "draw", has_side_effect = true}} : ({V}) -> {V}
    %s{n} = stablehlo.sine %r{n} : {V}
    %t{n} = stablehlo.tanh %s{n} : {V}
    %e{n} = stablehlo.exponential %t{n} : {V}
"""
        for n in "ab"
    )
    assert analyze_program(stablehlo(f"{draw}    %r = stablehlo.add %ea, %eb : {V}\n    return %r : {V}")).twice == ()


FUNCTION = """  func.func private @NAME(%a: tensor<4xf32>) -> tensor<4xf32> {
    %b = stablehlo.OPCODE %a : tensor<4xf32>
    %c = stablehlo.cosine %b : tensor<4xf32>
    %d = stablehlo.add %c, %b : tensor<4xf32>
    return %d : tensor<4xf32>
  }
"""


def functions(*opcodes: str) -> Module:
    texts = [FUNCTION.replace("NAME", f"act_{n}").replace("OPCODE", op) for n, op in enumerate(opcodes)]
    calls = "\n".join(f"    %c{n} = call @act_{n}(%x) : ({V}) -> {V}" for n in range(len(opcodes)))
    return stablehlo(f"{calls}\n    return %c0 : {V}", "".join(texts))


def test_an_inner_function_that_was_lowered_again() -> None:
    (found,) = analyze_program(functions("tanh", "tanh", "sine", "tanh")).lowered_again
    assert (found.name, found.times, found.operations) == ("act", 3, 3)
    assert analyze_program(functions("tanh", "sine")).lowered_again == ()


def test_a_large_constant_is_told_with_the_line_that_reads_it() -> None:
    numbers = "".join(f"{n:08X}" for n in range(512))
    constant = f'    %t = stablehlo.constant dense<"0x{numbers}"> : tensor<512xf32>'
    read = f"    %s = stablehlo.slice %t [0:4] : (tensor<512xf32>) -> {V} loc(#two)\n    return %s : {V}"
    (found,) = analyze_program(stablehlo(f"{constant}\n{read}", locations=LOCATIONS)).tables
    assert (found.shape, found.bytes, found.where) == ("f32[512]", 2048, FrameTree("model.py", 13, 13, "walk"))
    same = stablehlo(f"    %t = stablehlo.constant dense<1.0> : tensor<512xf32>\n{read}", locations=LOCATIONS)
    assert analyze_program(same).tables == (), "one number that repeats is one number"


def test_a_constant_that_is_handed_into_a_loop_is_read_there() -> None:
    numbers = "".join(f"{n:08X}" for n in range(512))
    module = stablehlo(
        f"""    %t = stablehlo.constant dense<"0x{numbers}"> : tensor<512xf32>
    %i = stablehlo.constant dense<0> : {S}
    %r:2 = stablehlo.while(%n = %i, %c = %t) : {S}, tensor<512xf32>
    cond {{
      %l = stablehlo.constant dense<8> : {S}
      %a = stablehlo.compare LT, %n, %l, SIGNED : ({S}, {S}) -> tensor<i1> loc(#main)
      stablehlo.return %a : tensor<i1> loc(#main)
    }} do {{
      %o = stablehlo.constant dense<1> : {S}
      %m = stablehlo.add %n, %o : {S} loc(#main)
      %s = stablehlo.sine %c : tensor<512xf32> loc(#one)
      stablehlo.return %m, %s : {S}, tensor<512xf32> loc(#main)
    }} loc(#main)
    %z = stablehlo.slice %r#1 [0:4] : (tensor<512xf32>) -> {V} loc(#main)
    return %z : {V}""",
        locations=LOCATIONS,
    )
    (found,) = analyze_program(module).tables
    assert found.where == FrameTree("model.py", 12, 12, "walk")


def test_words_and_json_of_everything() -> None:
    found = analyze_program(unrolled(24), in_loop)
    (words,) = listed(list(analysis_notes(found)))
    assert words.what == (
        "model.py:12-13 (walk): 24 copies of 3 operations, each fed by the one before, called from model.py:30 (main)"
    )
    assert words.advice.startswith("a Python loop, which JAX unrolls; jax.lax.scan")
    (copies,) = program_analysis_json(found)["copies"]
    assert (copies["copies"], copies["operations"], copies["python_loop"]) == (24, 3, True)


def scanned(turns: int) -> Module:
    """The same two lines of Python as `unrolled`, in one loop of the program at line 30."""
    return stablehlo(
        f"""    %i = stablehlo.constant dense<0> : {S}
    %s = stablehlo.sine %x : {V} loc(#main)
    %r:2 = stablehlo.while(%n = %i, %c = %s) : {S}, {V}
    cond {{
      %l = stablehlo.constant dense<{turns}> : {S}
      %a = stablehlo.compare LT, %n, %l, SIGNED : ({S}, {S}) -> tensor<i1> loc(#main)
      stablehlo.return %a : tensor<i1> loc(#main)
    }} do {{
      %o = stablehlo.constant dense<1> : {S}
      %k = stablehlo.add %n, %o : {S} loc(#main)
      %m = stablehlo.multiply %c, %y : {V} loc(#one)
      %b = stablehlo.add %m, %x : {V} loc(#one)
      %t = stablehlo.tanh %b : {V} loc(#two)
      stablehlo.return %k, %t : {S}, {V} loc(#main)
    }} loc(#main)
    return %r#1 : {V}""",
        locations=LOCATIONS,
    )


def sentences(old: Module, new: Module) -> list[str]:
    return [one for one in happened(hlodiff.diff(old, new)) if "copies of its body" in one]


def test_a_diff_says_that_a_loop_became_copies_and_the_reverse() -> None:
    assert sentences(scanned(6), unrolled(6)) == [
        "the loop of model.py:30 (main) became 6 copies of its body (model.py:12-13 (walk))"
    ]
    assert sentences(unrolled(6), scanned(6)) == [
        "the loop of model.py:30 (main) was 6 copies of its body (model.py:12-13 (walk))"
    ]
    assert sentences(unrolled(6), unrolled(7)) == []
    assert sentences(scanned(6), scanned(7)) == []
