"""HLO in every layout that XLA's parser reads: the same program, with lines of the text as it is; damage is refused."""

from __future__ import annotations

import pytest

from hlodiff.errors import ReadError
from hlodiff.hlo import Instruction, Module, contents, mlir, read_bytes, read_text

PLAIN = """HloModule m, is_scheduled=true

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

ENTRY %main (p: f32[2,3]) -> f32[2] {
  %p = f32[2,3]{1,0} parameter(0)
  %zero = f32[] constant(0)
  ROOT %r = f32[2]{0} reduce(%p, %zero), dimensions={1}, to_apply=%sum
}
"""
TABLE = '{\n  {"a"} : {"b"},\n  "\n    ENTRY x {\n      ROOT q = f32[] parameter(0)\n    }\n"\n}'
FORMS = {
    "indented": "\n".join("    " + line for line in PLAIN.split("\n")),
    "no percent signs": PLAIN.replace("%", ""),
    "CR LF": PLAIN.replace("\n", "\r\n"),
    "CR": PLAIN.replace("\n", "\r"),
    "one line": " ".join(PLAIN.split()),
    "blanks in layouts": PLAIN.replace("{1,0}", "{1, 0}").replace("[2,3]", "[2, 3]"),
    "comments": PLAIN.replace("f32[2]{0} reduce", "/* kept */ f32[2]{0} reduce").replace("(0)\n", "(0) // it\n"),
    "an instruction over several lines": PLAIN.replace(", ", ",\n      ").replace("HloModule m,\n", "HloModule m,"),
    "shapes of operands": PLAIN.replace("add(%a, %b)", "add(f32[] %a, f32[] %b)"),
    "no shapes of results": PLAIN.replace("f32[] add(", "add(").replace("f32[2]{0} reduce(", "reduce("),
    "an operand written where it is used": PLAIN.replace("  %zero = f32[] constant(0)\n", "").replace(
        "%zero", "f32[] constant(0)"
    ),
    "a computation written where it is called": PLAIN.replace(PLAIN[PLAIN.index("%sum") : PLAIN.index("ENTRY")], "")
    .replace("%sum", "{ x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }"),
    "no ENTRY": PLAIN.replace("ENTRY ", ""),
    "no header": PLAIN.partition("\n")[2],
    "header over several lines": PLAIN.replace(
        "is_scheduled=true", f"is_scheduled=true, origin_recovery_table={TABLE}"
    ),
    "indented heads and ends": PLAIN.replace("\n%", "\n %").replace("\n}", "\n  }").replace("\nENTRY", "\n  ENTRY"),
    "absl's log": "".join(
        f"I0000 00:00:1700000000.123456    4711 hlo_module.cc:58] {line}\n" for line in PLAIN.rstrip().split("\n")
    ),
    "a log with other lines": "starting\n"
    + "".join(f"2026-02-03 04:05:06.789012: I xla/a.cc:7] {line}\n" for line in PLAIN.rstrip().split("\n"))
    + "2026-02-03 04:05:07.000001: W xla/b.cc:9] } done\n",
}  # fmt: skip


def entry_hash(module: Module) -> object:
    return contents(module)[module.entry].hash


def shapes(module: Module) -> set[tuple[str, str, tuple[int, ...]]]:
    return {
        (it.opcode, it.shape.element_type, it.shape.dimensions) for c in module.computations for it in c.instructions
    }


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_the_same_program(form: str) -> None:
    text, plain = FORMS[form], read_text(PLAIN)
    module = read_bytes(text.encode())
    assert shapes(module) == shapes(plain)
    if "shapes of results" not in form:  # an inferred shape has no layout
        assert entry_hash(module) == entry_hash(plain)
    if "log" not in form and form != "no header":  # XLA wants ENTRY or no signature then
        xla = read_text(mlir.hlo_text(mlir.hlo_from_text(text)))
        assert shapes(xla) == shapes(module)


def test_lines_are_those_of_the_text() -> None:
    module = read_text(FORMS["an operand written where it is used"].replace("ENTRY", "\n\n  ENTRY"))
    lines = {it.opcode: it.line for it in module.entry_computation.instructions}
    assert lines == {"parameter": 12, "constant": 13, "reduce": 13}
    with pytest.raises(ReadError) as error:
        read_text("  HloModule m\n  ENTRY e {\n    a = f32[2] parameter(0)\n    ROOT b = add(a,\n      q)\n  }\n")
    assert (error.value.line, error.value.column) == (5, 7) and "operand %q is not defined" in error.value.what


@pytest.mark.parametrize(
    "text",
    ["ROOT s = f32[4] add(f32[4] x, f32[4] y)", "f32[4] add(f32[4] %x, f32[4] %y)", "s = f32[4] add(f32[4], f32[4])"],
)
def test_one_instruction_is_a_program(text: str) -> None:
    body = read_text(text).entry_computation.instructions
    assert [it.opcode for it in body] == ["parameter", "parameter", "add"] and body[-1].operands == (0, 1)


def test_an_element_of_a_tuple() -> None:
    text = "ENTRY e { p = (f32[2], s32[]) parameter(0) a = add(p#0, p#0) ROOT t = tuple(a, p#1) }"
    body = read_text(text).entry_computation.instructions
    assert [it.opcode for it in body] == ["parameter", "get-tuple-element", "add", "get-tuple-element", "tuple"]
    assert [part.element_type for part in body[-1].shape.tuple_shapes] == ["f32", "s32"]


INFERRED = {
    "compare(a, a), direction=LT": "pred[2,3]", "tuple(a, s)": "(f32[2,3], f32[])", "replica-id()": "u32[]",
    "transpose(a), dimensions={1,0}": "f32[3,2]", "concatenate(a, a), dimensions={1}": "f32[2,6]",
    "pad(a, s), padding=0_1x1_1_1": "f32[3,7]", "pad(a, s), padding=-1_1x2_-1": "f32[2,4]",
    "dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}": "f32[3,3]", "complex(a, a)": "c64[2,3]",
    "after-all()": "token[]", "clamp(s, a, s)": "f32[2,3]", "select(q, a, a)": "f32[2,3]", "is-finite(a)": "pred[2,3]",
}  # fmt: skip


@pytest.mark.parametrize("right", INFERRED)
def test_shapes_are_inferred_as_xla_does(right: str) -> None:
    text = (
        "HloModule m\nENTRY e {\n  a = f32[2,3] parameter(0)\n  s = f32[] parameter(1)\n"
        f"  q = pred[2,3] parameter(2)\n  ROOT r = {right}\n}}\n"
    )
    ours, theirs = (read_text(t) for t in (text, mlir.hlo_text(mlir.hlo_from_text(text))))
    assert shapes(ours) == shapes(theirs)
    assert shapes(ours) == shapes(read_text(text.replace("r = ", f"r = {INFERRED[right]} ")))


DAMAGED = {
    "f32[2]{0} constant({1, 2)": "without its partner",
    "f32[2]{0} constant({{1, 2})": "without its partner",
    "f32[2]{0} constant({1, 2]})": "without its partner",
    "f32[3]{0} constant({1, 2})": "3 elements, and here are 2",
    "q32[2]{0} parameter(0)": "`q32` is not an element type",
    "float[2]{0} parameter(0)": "`float` is not an element type",
    "f32[3]{0} parameter(0)": "should give f32[2], and its root gives f32[3]{0}",
    "gather(a)": "not defined",
}


@pytest.mark.parametrize("right", DAMAGED)
def test_damage_is_refused(right: str) -> None:
    text = f"HloModule m\n\nENTRY %e (p: f32[2]) -> f32[2] {{\n  ROOT %r = {right}\n}}\n"
    with pytest.raises(ReadError) as error:
        read_text(text)
    assert DAMAGED[right] in error.value.what or right.startswith("gather")
    assert error.value.line in (3, 4) and error.value.column


@pytest.mark.parametrize("table", ["{ {0} }", "{ {0}: (0, {}, may-alias }", "{ {0}: 7 }", "{ {x}: (0, {}) }"])
def test_a_malformed_alias_table_is_refused(table: str) -> None:
    text = f"HloModule m, input_output_alias={table}\nENTRY e {{\n  ROOT p = f32[2] parameter(0)\n}}\n"
    with pytest.raises(ReadError, match=r"input_output_alias|partner"):
        read_text(text)


def test_deep_nesting_is_refused() -> None:
    deep = "ENTRY e { ROOT r = " + "sqrt(" * 5000 + "f32[] constant(1)" + ")" * 5000 + " }"
    with pytest.raises(ReadError, match="deep"):
        read_text(deep)


def root_of(right: str) -> Instruction:
    return read_text(f"HloModule m\nENTRY e {{\n  ROOT r = {right}\n}}\n").entry_computation.instructions[0]


def attribute_of(name: str, value: str) -> str | None:
    return root_of(f'f32[] custom-call(), custom_call_target="t", {name}={value}').attribute(name)


def literal_of(element_type: str, value: str) -> str | None:
    return root_of(f"{element_type}[{value.count(',') + 1 if '{' in value else ''}] constant({value})").literal


def test_defaults_and_spellings_are_equal() -> None:
    same = [
        ("window", "{pad=1_1x1_1 size=3x3 stride=1x1}", "{size=3x3 pad=1_1x1_1}"),
        ("slice", "{[0:3:1], [2:8:1]}", "{[0:3], [2:8]}"),
        ("slice", "{[0:3], [2:8:2]}", "{[0:3:1], [2:8:2]}"),
        ("dimensions", "{0, 1}", "{0,1}"),
    ]
    for name, value, other in same:
        assert attribute_of(name, value) == other == attribute_of(name, other)
    defaults = {"feature_group_count": "1", "is_stable": "false", "operand_precision": "{default,default}"}
    for name, value in defaults.items():
        assert attribute_of(name, value) is None
    for value, other in [("3e+2", "300"), ("{0.50, 1e7}", "{0.5, 1e+07}"), ("1e-05", "1e-05"), ("nan", "nan")]:
        assert literal_of("f32", value) == other == literal_of("f32", other)
    assert literal_of("s32", "{010}") == "{010}"
    loop = "HloModule m\nb { ROOT p = f32[] parameter(0) }\nc { p = f32[] parameter(0) ROOT t = pred[] constant(true) }"
    hashes = {
        entry_hash(read_text(f"{loop}\nENTRY e {{\n  p = f32[] parameter(0)\n  ROOT w = f32[] while(p), {end}\n}}\n"))
        for end in ("condition=c, body=b", "body=b, condition=c")
    }
    assert len(hashes) == 1


@pytest.mark.parametrize("attributes", [', metadata={op_name="x"}', ", sharding={replicated}", ", channel_id=1"])
@pytest.mark.parametrize("stray", ["garbage", "garbage x y", "  1", "= 3"])
def test_a_line_that_belongs_nowhere_is_refused_behind_attributes_too(attributes: str, stray: str) -> None:
    text = f"""HloModule m

ENTRY %e (p: f32[2]) -> f32[2] {{
  %a = f32[2]{{0}} parameter(0)
  %b = f32[2]{{0}} add(%a, %a){attributes}
{stray}
  %c = f32[2]{{0}} add(%a, %b)
  ROOT %d = f32[2]{{0}} add(%b, %c)
}}
"""
    with pytest.raises(ReadError, match=r"^<text>:6:"):
        read_text(text)
