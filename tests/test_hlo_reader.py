"""Reading compiled HLO text: the traps of real output, debug tables, and XLA's own parser as a second opinion."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlodiff.differ import diff
from hlodiff.errors import HlodiffError, ReadError
from hlodiff.hlo import Layout, Module, print_hlo, read, read_bytes, read_hlo, read_text

ROOT = Path(__file__).parents[1]


def entry(body: str, before: str = "") -> Module:
    return read_hlo(f"HloModule m\n\n{before}ENTRY main {{\n{body}\n}}\n")


def test_tiled_layouts_with_a_memory_space() -> None:
    shape = entry("  ROOT p = bf16[8,128]{1,0:T(8,128)(2,1)S(1)} parameter(0)").entry_computation.instructions[0].shape
    assert shape.layout == Layout((1, 0), "(8,128)(2,1)", 1)
    assert (shape.elements, shape.bytes) == (1024, 2048)


@pytest.mark.parametrize(
    "text",
    [
        "f32[]",
        "f32[]{:T(128)}",
        "f32[2,3]{1,0}",
        "s4[8]{0:T(8,128)E(4)S(5)}",
        "f32[128,128]{1,0:T(1)L(1024)}",
        "f32[<=8,4]{1,0}",
        "f32[?,4]",
        "pred[0]{0}",
        "token[]",
        "opaque[]",
        "(f32[2]{0}, (s32[], token[]), bf16[4]{0:T(128)(2,1)S(1)})",
        "()",
        "c128[2]{0}",
        "f8e4m3fn[16]{0}",
        "f32[2]{0:D(D)T(8)SC(0:1)}",
    ],
)
def test_shapes_print_as_they_were_read(text: str) -> None:
    assert f" p = {text} parameter(0)" in print_hlo(entry(f"  ROOT p = {text} parameter(0)")).replace("%", "")


def test_index_comments_in_long_tuples() -> None:
    module = entry(
        "  p = f32[] parameter(0)\n"
        "  ROOT t = (f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[]) tuple(p, p, p, p, p, /*index=5*/p)"
    )
    root = module.entry_computation.instructions[1]
    assert root.operands == (0,) * 6
    assert len(root.shape.tuple_shapes) == 6


def test_braces_quotes_and_commas_in_strings() -> None:
    module = entry(
        "  p = f32[2]{0} parameter(0)\n"
        '  ROOT c = f32[2]{0} custom-call(p), custom_call_target="a,b){%x", operand_layout_constraints={f32[2]{0}}, '
        'frontend_attributes={note="}, kind=kLoop, metadata={op_name=\\"no\\"}"}, '
        'metadata={op_name="jit(f)/a{b}\\"c" source_file="/x y/z.py" source_line=7}, '
        'backend_config={"a":"}\\"{","b":[1,{"c":2}]}'
    )
    root = module.entry_computation.instructions[1]
    assert dict(root.attributes) == {
        "custom_call_target": '"a,b){%x"',
        "operand_layout_constraints": "{f32[2]{0}}",
        "frontend_attributes": '{note="}, kind=kLoop, metadata={op_name=\\"no\\"}"}',
        "backend_config": '{"a":"}\\"{","b":[1,{"c":2}]}',
    }
    assert root.op_name == 'jit(f)/a{b}"c'
    assert [(f.file, f.line) for f in module.stack(root.frame)] == [("/x y/z.py", 7)]


def test_older_metadata_with_and_without_columns_is_read_alike() -> None:
    rows = ['op_name="a" source_file="f.py" source_line=7', 'source_file="f.py" op_name="a" source_line=7']
    rows += [f"{rows[0]} source_end_line=7 source_column=4 source_end_column=9"]
    module = entry("\n".join(f"  p{n} = f32[] parameter({n}), metadata={{{row}}}" for n, row in enumerate(rows)))
    its = module.entry_computation.instructions
    assert {(it.op_name, it.frame) for it in its} == {("a", 0)}
    assert [it.metadata for it in its] == ["", "", "source_end_line=7 source_column=4 source_end_column=9"]
    assert [(f.file, f.line) for f in module.frames] == [("f.py", 7)]


def test_an_attribute_names_a_computation_only_where_the_program_has_it() -> None:
    text = "  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=work"
    work = "work {\n  q = f32[] parameter(0)\n  ROOT n = f32[] negate(q)\n}\n\n"
    for _ in range(2):  # attributes are kept for the next program
        assert dict(entry(text).entry_computation.instructions[1].attributes) == {"to_apply": "work"}
        assert entry(text, work).entry_computation.instructions[1].called == (0,)


def test_what_follows_the_closing_brace_of_a_computation() -> None:
    module = entry(
        "  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=work",
        'work {\n  q = f32[] parameter(0)\n  ROOT n = f32[] negate(q)\n}, execution_thread="host"\n\n',
    )
    assert [c.execution_thread for c in module.computations] == ["host", ""]
    assert 'execution_thread="host"' in print_hlo(module)


def test_a_name_is_never_an_opcode() -> None:
    module = entry("  %dot_general.3 = f32[] parameter(0)\n  ROOT %add = f32[] negate(%dot_general.3)")
    assert [it.opcode for it in module.entry_computation.instructions] == ["parameter", "negate"]


def test_debug_tables_give_whole_stacks() -> None:
    module = read_hlo(
        "HloModule m\n\n"
        'FileNames\n1 "a.py"\n2 "b.py"\n\n'
        'FunctionNames\n1 "main"\n2 "step"\n\n'
        "FileLocations\n1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=1 end_column=2}\n"
        "2 {file_name_id=2 function_name_id=2 line=9 end_line=9 column=1 end_column=2}\n\n"
        "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=2 parent_frame_id=2}\n\n\n"
        'ENTRY main {\n  ROOT p = f32[] parameter(0), metadata={op_name="x" stack_frame_id=2}\n}\n'
    )
    stack = module.stack(module.entry_computation.instructions[0].frame)
    assert [(f.file, f.line, f.function) for f in stack] == [("b.py", 9, "step"), ("a.py", 3, "main")]


def test_operands_may_be_named_before_they_are_defined_and_carry_shapes() -> None:
    module = entry("  ROOT n = f32[2]{0} negate(f32[2]{0} %p), control-predecessors={%k}\n"
                   "  p = f32[2]{0} parameter(0)\n  k = s32[] constant(1)")  # fmt: skip
    root = module.entry_computation.instructions[0]
    assert (root.operands, root.control_predecessors) == ((1,), (2,))


def test_literals_that_run_over_lines_and_hold_parentheses() -> None:
    module = entry("  a = f32[2,2]{1,0} constant({\n    { 1, 2 },\n    { 3, 4 }\n  })\n"
                   "  b = c64[1]{0} constant({(1, -2)})\n  ROOT t = (f32[2,2], c64[1]) tuple(a, b)")  # fmt: skip
    literals = [it.literal for it in module.entry_computation.instructions]
    assert literals == ["{\n    { 1, 2 },\n    { 3, 4 }\n  }", "{(1, -2)}", None]


def test_unknown_opcodes_attributes_and_flags_are_kept() -> None:
    line = "ROOT %z = f32[2]{0} frobnicate-start(%p), new_flag, weird=<[1],{2}>, other={a={b}}"
    module = entry(f"  %p = f32[2]{{0}} parameter(0)\n  {line}")
    assert line in print_hlo(module)


def test_files_of_any_kind_go_through_one_door(tmp_path: Path) -> None:
    import gzip

    text = "HloModule m\n\nENTRY main {\n  ROOT p = f32[] parameter(0)\n}\n"
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.hlo.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "c.mlir").write_text(
        "func.func public @main(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }"
    )
    assert read(tmp_path / "a.txt").stage == read(tmp_path / "b.hlo.gz").stage == "compiled"
    assert read(tmp_path / "c.mlir").stage == "stablehlo"
    assert read_bytes(text.replace("\n", "\r\n").encode()).instruction_count() == 1
    assert read_text("// a comment\n" + text).stage == "compiled"


ENDLESS = """HloModule m

%a (p: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  ROOT %c = f32[] call(%p), to_apply=%b
}

%b (p: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  ROOT %c = f32[] call(%p), to_apply=%a
}

ENTRY %e (p: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  ROOT %c = f32[] call(%p), to_apply=%a
}
"""


@pytest.mark.parametrize("callee", ["a", "b"])
@pytest.mark.parametrize("at_once", [True, False])
def test_computations_that_call_one_another_in_a_circle_are_refused(at_once: bool, callee: str) -> None:
    text = ENDLESS.replace("to_apply=%b", f"to_apply=%{callee}", 1)
    with pytest.raises(ReadError, match=r"(?s)<text>:5: computation %a calls (itself|%b calls %a).*hint: "):
        for computation in read_hlo(text, at_once=at_once).computations:
            assert computation.instructions
    straight = ENDLESS.replace("to_apply=%a", "to_apply=%z", 1).replace("ENTRY", "%z (p: f32[]) -> f32[] {\n  ROOT %p ="
                                                                     " f32[] parameter(0)\n}\n\nENTRY")  # fmt: skip
    assert len(tuple(read_hlo(straight, at_once=at_once).computations)) == 4


@pytest.mark.parametrize("line", ["ROOT p = f32[] add(p, p)", "q = f32[] sine(r)\n  ROOT r = f32[] sine(q)"])
def test_an_instruction_that_needs_its_own_result_is_refused(line: str) -> None:
    with pytest.raises(ReadError, match=r"<text>:\d: instruction %. needs (itself|%r needs %q)"):
        read_hlo(f"HloModule m\n\nENTRY e {{\n  {line}\n}}\n")


def test_text_that_lost_characters_is_compared_or_refused_with_a_sentence() -> None:
    line = '  p = f32[2]{0} parameter(0), frontend_attributes={a="{}",b=1}, metadata={op_name="p"}, sharding={{a}}'
    text = f"HloModule m\n\nENTRY e {{\n{line}\n  ROOT r = f32[2]{{0}} sine(p)\n}}\n"
    whole = read_text(text)
    compared = 0
    for start in range(len(text)):
        for length in (1, 3, 6, 9):
            try:
                diff(whole, read_text(text[:start] + text[start + length :]))
            except HlodiffError as error:
                assert error.what
            else:
                compared += 1
    assert compared > 50


def test_a_place_that_calls_itself_is_one_frame() -> None:
    """JAX 0.11 names a call of `scan` twice for what its body does; the frames of the loop and of its body are one."""
    head = 'HloModule m\n\nFileNames\n1 "net.py"\n\nFunctionNames\n1 "train"\n2 "layer"\n\nFileLocations\n'
    head += "1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=4 end_column=9}\n"
    head += "2 {file_name_id=1 function_name_id=2 line=3 end_line=3 column=4 end_column=9}\n\nStackFrames\n"
    twice = "1 {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=1 parent_frame_id=2}\n"
    twice += "3 {file_location_id=2 parent_frame_id=3}\n"
    body = '\nENTRY e {\n  p = f32[2] parameter(0)\n  l = f32[2] tanh(p), metadata={op_name="l" stack_frame_id=2}\n'
    body += '  ROOT b = f32[2] sine(l), metadata={op_name="b" stack_frame_id=3}\n}\n'
    module = read_hlo(head + twice + body)
    _, loop, inside = module.entry_computation.instructions
    assert [frame.line for frame in module.stack(inside.frame)] == [3, 7]
    assert module.frames[inside.frame].parent == loop.frame
    place = '"net.py":7:4 to :9'
    text = f"""module @m {{
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {{
    %0 = stablehlo.tanh %arg0 : tensor<2xf32> loc(#loc4)
    %1 = stablehlo.sine %0 : tensor<2xf32> loc(#loc5)
    return %1 : tensor<2xf32>
  }}
}}
#loc1 = loc({place})
#loc2 = loc("train"(#loc1))
#loc3 = loc("layer"("net.py":3:4 to :9))
#loc4 = loc(callsite(#loc2 at #loc2))
#loc5 = loc(callsite(#loc3 at #loc4))
"""
    lowered = read_text(text, path="m.mlir")
    loop, inside = lowered.entry_computation.instructions[1:3]
    assert [(f.function, f.line) for f in lowered.stack(inside.frame)] == [("layer", 3), ("train", 7)]
    assert lowered.frames[inside.frame].parent == loop.frame
