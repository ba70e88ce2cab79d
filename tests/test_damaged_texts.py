"""Texts that are not HLO are refused with line and caret, however large they are and however they are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import hlodiff
from hlodiff.differ import diff
from hlodiff.errors import HlodiffError
from hlodiff.hlo import LazyComputations, Module, read_hlo
from hlodiff.report import Report, to_form, to_terminal
from tests.test_turns import compared

TEXT = (Path(__file__).resolve().parent.parent / "snapshots/stack_unrolled/cpu/compiled.hlo").read_text()
SPARE = "%spare (a: f32[8]) -> f32[8] {\n  %a = f32[8]{0} parameter(0)\n  ROOT %b = f32[8]{0} exponential(%a)\n}\n\n"
GATHER = "  %ag = f32[8]{0} all-gather(%p0), dimensions={0}"
HEAD, ENTRY = TEXT.split("ENTRY", 1)


def in_entry(old: str, new: str) -> str:
    assert old in ENTRY
    return f"{HEAD}ENTRY{ENTRY.replace(old, new, 1)}"


def padded(text: str) -> str:
    """The same with computations that nothing calls, so that it is read lazily."""
    more = "".join(SPARE.replace("%spare", f"%spare{n}") for n in range(700))
    head, entry = text.split("ENTRY", 1)
    return f"{head}{more}ENTRY{entry}"


DAMAGED = [
    ("a parameter without a number", TEXT.replace("parameter(0)", "parameter()", 1), "expected the number"),
    ("a negative parameter", TEXT.replace("parameter(0)", "parameter(-5)", 1), "expected the number"),
    ("one of the entry", in_entry("parameter(0)", "parameter(x)"), "expected the number"),
    ("two parameters of one number", in_entry("parameter(1)", "parameter(0)"), "is defined twice"),
    ("a parameter without those before it", in_entry("parameter(0)", "parameter(99)"), "they count from 0"),
    ("a call of what is not there", re.sub(r"(calls=%[\w.]+)", r"\1e400", TEXT, count=1), "is not defined"),
    ("two roots", re.sub(r"^  (%[\w.]+ = \S+ multiply)", r"  ROOT \1", TEXT, count=1, flags=re.M), "a second ROOT"),
    ("an instruction between computations", TEXT.replace("}\n\n", f"}}\n{GATHER}\n\n", 2), "expected the head"),
    ("an instruction behind the entry", f"{TEXT.rstrip()}\n{GATHER}\n", "expected the head"),
    ("words between computations", TEXT.replace("}\n\n", "}\nhello\n\n", 2), "expected the head"),
    ("% inside an operand", re.sub(r"multiply\(%(\w)", r"multiply(%\1%", TEXT, count=1), "is not defined"),
    ("% inside an opcode", TEXT.replace(" multiply(", " multipl%y(", 1), "expected `opcode(`"),
    ("a bracket for a name", re.sub(r"ROOT %[\w.]+ =", "ROOT [ =", TEXT, count=1), "expected an instruction"),
    (
        "a comma for the name of a computation",
        re.sub(r"ENTRY %[\w.]+ ", "ENTRY , ", TEXT, count=1),
        "expected the head",
    ),
    ("a bracket inside a name", re.sub(r"ROOT %([\w.]+) =", r"ROOT %\1} =", TEXT, count=1), "expected an instruction"),
    ("% inside a name", re.sub(r"%multiply(\.\w+) =", r"%multipl%y\1 =", TEXT, count=1), "expected an instruction"),
    ("a size that is missing", in_entry("= f32[16,64]", "= f32[16,,64]"), "a size is missing"),
    ("a layout without a number", in_entry("[16,64]{1,0}", "[16,64]{1,,0}"), "malformed layout"),
    ("a layout without a comma", in_entry("[16,64]{1,0}", "[16,64]{1,0 0}"), "expected `opcode(`"),
    ("a size in the header", TEXT.replace("f32[16,64]", "f32[16,,64]", 1), "has a malformed value"),
    ("operands with another bracket", re.sub(r"(multiply\([^)]*)\)", r"\1}", TEXT, count=1), "without its partner"),
    (
        "a module without a comma",
        TEXT.replace("HloModule program, ", "HloModule program ", 1),
        "expected a module name",
    ),
    ("a module with two names", TEXT.replace("HloModule program", "HloModule one two", 1), "expected a module name"),
    ("% inside the name of a computation", TEXT.replace("ENTRY %main", "ENTRY %ma%in", 1), "expected"),
    ("a root without a name", re.sub(r"ROOT %[\w.]+ =", "ROOT =", TEXT, count=1), "expected an instruction"),
    ("two operands without a comma", in_entry(", %p2)", " %p2)"), "expected operands"),
    ("an operand that is missing", re.sub(r"(multiply\([^)]*)\)", r"\1,)", TEXT, count=1), "expected operands"),
    ("an attribute with two signs", TEXT.replace("kind=", "kind==", 1), "expected `, attribute=value`"),
    ("a list without a comma", TEXT.replace("dims={1}", "dims={1 0}", 1), "expected `, attribute=value`"),
    ("groups without a comma", TEXT.replace("dims={1}", "dims={{1}{0}}", 1), "expected `, attribute=value`"),
    ("a negative size", in_entry("= f32[16,64]", "= f32[16,-64]"), "a size is negative"),
    ("a layout of other dimensions", in_entry("[16,64]{1,0}", "[16,64]{2,0}"), "orders each of the 2 dimensions once"),
    ("a layout of more dimensions", in_entry("[16,64]{1,0}", "[16,64]{1,0,2}"), "orders each of the 2 dimensions"),
    ("an entry without a name", TEXT.replace("ENTRY %main", "ENTRY", 1), "expected"),
    (
        "attributes of a computation without a comma",
        TEXT.replace("\n}\n", '\n} execution_thread="host"\n', 1),
        "expected `, attribute=value`",
    ),
    (
        "attributes of a computation behind two commas",
        TEXT.replace("\n}\n", '\n},, execution_thread="host"\n', 1),
        "expected `, attribute=value`",
    ),
    ("an attribute behind a word", TEXT.replace(", kind=kLoop", " kind=kLoop", 1), "attribute=value`"),
    ("an index behind a number", TEXT.replace("dims={1}", "dims={1}, channel_id=1 index=0", 1), "attribute=value`"),
    ("ranges without a comma", TEXT.replace("dims={1}", "dims={1}, slice={[0:4] [0:32]}", 1), "attribute=value`"),
    ("ranges without a blank", TEXT.replace("dims={1}", "dims={1}, slice={[0:4][0:32]}", 1), "attribute=value`"),
    ("attributes of a module without a comma", TEXT.replace("}}, is_", "}} is_", 1), "a malformed value"),
    ("a list without an item", TEXT.replace("dims={1}", "dims={1,,0}", 1), "expected `, attribute=value`"),
    ("a string over two lines", TEXT.replace("kind=kLoop", 'kind=kLoop, backend_config="a\nb"', 1), "has to end on"),
    ("an indented one", TEXT.replace("kind=kLoop", 'kind=kLoop, backend_config="a\n  b"', 1), "has to end on"),
]


@pytest.mark.parametrize("enlarge", [str, padded], ids=["small", "large"])
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(("text", "what"), [row[1:] for row in DAMAGED], ids=[row[0] for row in DAMAGED])
def test_a_damaged_text_is_refused(text: str, what: str, at_once: bool, enlarge: Callable[[str], str]) -> None:
    text = enlarge(text)

    def read() -> Module:
        return read_hlo(text, at_once=at_once)

    assert text != enlarge(TEXT)
    with pytest.raises(HlodiffError) as error:
        diff(read(), read())  # also where both sides have the same damage
    shown = error.value.render()
    assert what in shown and re.search(r"<text>:\d+:\d+: ", shown) and "^" in shown


def test_an_attribute_without_a_comma_before_it_is_no_part_of_the_value_before() -> None:
    with pytest.raises(HlodiffError, match="expected `, attribute=value`"):
        read_hlo(TEXT.replace("dims={1}", "dims={1} foo={2}", 1), at_once=True)


CALLS = """HloModule calls

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

%fused (f0: f32[8], f1: f32[8]) -> f32[8] {
  %f0 = f32[8]{0} parameter(0)
  %f1 = f32[8]{0} parameter(1)
  ROOT %f2 = f32[8]{0} multiply(%f0, %f1)
}

%wide (w0: f32[9], w1: f32[8]) -> f32[8] {
  %w0 = f32[9]{0} parameter(0)
  ROOT %w1 = f32[8]{0} parameter(1), metadata={op_name="a parameter(7)"}
}

%body (b0: (s32[], f32[8])) -> (s32[], f32[8]) {
  ROOT %b0 = (s32[], f32[8]{0}) parameter(0)
}

%condition (c0: (s32[], f32[8])) -> pred[] {
  %c0 = (s32[], f32[8]{0}) parameter(0)
  ROOT %c1 = pred[] constant(false)
}

%yes (y0: f32[8]) -> f32[8] {
  ROOT %y0 = f32[8]{0} parameter(0)
}

%no (n0: f32[]) -> f32[8] {
  %n0 = f32[] parameter(0)
  ROOT %n1 = f32[8]{0} broadcast(%n0), dimensions={}
}

%less (l0: f32[], l1: f32[]) -> pred[] {
  %l0 = f32[] parameter(0)
  %l1 = f32[] parameter(1)
  ROOT %l2 = pred[] compare(%l0, %l1), direction=LT
}

ENTRY %main (x: f32[8], p: pred[], n: s32[]) -> (f32[8], (s32[], f32[8]), f32[8], f32[8], f32[], f32[8]) {
  %x = f32[8]{0} parameter(0)
  %p = pred[] parameter(1)
  %n = s32[] parameter(2)
  %zero = f32[] constant(0)
  %state = (s32[], f32[8]{0}) tuple(%n, %x)
  %fusion = f32[8]{0} fusion(%x, %x), kind=kLoop, calls=%fused
  %while = (s32[], f32[8]{0}) while(%state), condition=%condition, body=%body
  %branch = f32[8]{0} conditional(%p, %x, %zero), true_computation=%yes, false_computation=%no
  %sort = f32[8]{0} sort(%x), dimensions={0}, to_apply=%less
  %sum = f32[] reduce(%x, %zero), dimensions={0}, to_apply=%add
  %every = f32[8]{0} all-reduce(%x), channel_id=1, replica_groups={{0,1}}, to_apply=%add
  ROOT %all = (f32[8]{0}, (s32[], f32[8]{0}), f32[8]{0}, f32[8]{0}, f32[], f32[8]{0})
    tuple(%fusion, %while, %branch, %sort, %sum, %every)
}
""".replace(")\n    tuple", ") tuple")
WRONG_CALLS = [
    (
        "%f1 = f32[8]{0} parameter(1)",
        "%f1 = f32[8]{0} constant({1, 2, 3, 4, 5, 6, 7, 8})",
        "2 operands for 1 parameter of",
    ),
    ("calls=%fused", "calls=%yes", "2 operands for 1 parameter of %yes"),
    ("body=%body", "body=%yes", "(s32[], f32[8]) for parameter 0, a f32[8], of %yes"),
    ("condition=%condition", "condition=%less", "1 operand for 2 parameters of %less"),
    ("false_computation=%no", "false_computation=%add", "1 operand for 2 parameters of %add"),
    ("to_apply=%less", "to_apply=%no", "2 values for 1 parameter of %no"),
    ("dimensions={0}, to_apply=%add", "dimensions={0}, to_apply=%no", "2 values for 1 parameter of %no"),
    (
        "replica_groups={{0,1}}, to_apply=%add",
        "replica_groups={{0,1}}, to_apply=%no",
        "2 values for 1 parameter of %no",
    ),
    ("%b = f32[] parameter(1)", "%b = f32[] constant(3)", "2 values for 1 parameter of %add"),
]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("wrong", ["%f1\0= f32", "%f1=\tf32"], ids=repr)
def test_a_name_that_runs_on_is_no_definition(wrong: str, at_once: bool) -> None:
    """Both sides hold it, so nobody parses it: the proof ended in an IndexError."""
    text = padded(CALLS.replace("%f1 = f32", wrong, 1))
    try:
        assert diff(read_hlo(text, at_once=at_once), read_hlo(text, at_once=at_once)).replay().complete
    except HlodiffError as error:
        assert "%f1 is not defined" in error.render()


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("wrong", ["f32[8]{0:T(1{{,8)}} parameter(0)", "f32[8]{0} parameter(" + "9" * 5000 + ")"])
def test_a_damaged_parameter_of_what_is_called_is_refused_with_its_place(wrong: str, at_once: bool) -> None:
    text = padded(CALLS.replace("f32[8]{0} parameter(0)", wrong, 1))
    with pytest.raises(HlodiffError) as error:
        assert read_hlo(text, at_once=at_once).entry_computation.instructions
    assert re.search(r"<text>:\d+:\d+: ", error.value.render())


@pytest.mark.parametrize("enlarge", [str, padded], ids=["small", "large"])
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(("old", "new", "what"), WRONG_CALLS, ids=[row[1] for row in WRONG_CALLS])
def test_operands_that_do_not_fit_what_is_called_are_refused(
    old: str, new: str, what: str, at_once: bool, enlarge: Callable[[str], str]
) -> None:
    assert old in CALLS
    good, wrong = enlarge(CALLS), enlarge(CALLS.replace(old, new, 1))
    diff(read_hlo(good, at_once=at_once), read_hlo(good.replace("add(", "subtract("), at_once=at_once))
    with pytest.raises(HlodiffError) as error:
        diff(read_hlo(good, at_once=at_once), read_hlo(wrong, at_once=at_once))
    shown = error.value.render()
    assert what in re.sub(r"\{[\d,]*\}", "", shown) and re.search(r"<text>:\d+:\d+: ", shown) and "^" in shown


@pytest.mark.parametrize("at_once", [True, False])
def test_an_operand_of_another_type_than_the_parameter_is_compared_and_proven(at_once: bool) -> None:
    one, other = CALLS, CALLS.replace("calls=%fused", "calls=%wide")
    assert diff(read_hlo(one, at_once=at_once), read_hlo(other, at_once=at_once)).replay().complete


@pytest.mark.parametrize("at_once", [True, False])
def test_a_layout_that_does_not_close_is_refused(at_once: bool) -> None:
    damaged = re.sub(r"\{0\} multiply\(", "{0 multiply(", TEXT, count=1)
    assert damaged != TEXT
    with pytest.raises(HlodiffError, match="has no partner"):
        diff(read_hlo(TEXT, at_once=at_once), read_hlo(damaged, at_once=at_once))


def test_a_line_is_named_by_its_number_where_others_are_not_read() -> None:
    """Of an entry that differs in what it calls, only the calls that matter are read."""
    damaged = padded(in_entry("calls=%fused_bitcast", "calls=%no_bitcast"))
    (line,) = [n for n, text in enumerate(damaged.splitlines(), 1) if "%no_bitcast" in text]
    with pytest.raises(HlodiffError, match=rf"<text>:{line}:\d+: computation %no_bitcast\.\w+ is not defined"):
        diff(read_hlo(padded(TEXT), at_once=False), read_hlo(damaged, at_once=False))


@pytest.mark.parametrize("damaged", ["%p1", "%slice.mxx8", "%fused_bitcast.u7ka"])
def test_an_undefined_operand_that_both_sides_hold_is_refused(damaged: str) -> None:
    """The two have one text, so neither is parsed for anything else; all that differs is in another computation."""
    text = padded(TEXT)
    old = text.replace("bitcast(%slice.dx8j)", f"bitcast({damaged})", 1)
    new = old.replace(" multiply(", " add(", 1)
    assert text != old != new
    for other in (old, new):
        with pytest.raises(HlodiffError, match=r"operand .* is not defined in %fused_bitcast.u7ka\b"):
            diff(read_hlo(old), read_hlo(other))


COPY = """%copyN (pN: f32[8], qN: f32[8]) -> f32[8] {
  %pN = f32[8]{0} parameter(0), metadata={op_name="x"}
  %qN = f32[8]{0} parameter(1)
  %mN = f32[8]{0} multiply(%pN, %qN), metadata={op_name="jit(f)/mul" stack_frame_id=3}
  ROOT %rN = f32[8]{0} reverse(%mN), dimensions={0}, metadata={op_name="jit(f)/rev" stack_frame_id=4}
}

"""
CALLS_OF_COPIES = """ENTRY %main (x: f32[8], y: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %y = f32[8]{0} parameter(1)
  %one = f32[8]{0} fusion(%x, %y), kind=kLoop, calls=%copyA
  %two = f32[8]{0} fusion(%one, %y), kind=kLoop, calls=%copyB
  ROOT %sine = f32[8]{0} sine(%two)
}
"""


@pytest.mark.parametrize(
    "wrong",
    [
        ("%pB", "%p%B"), ("%qB", "%q(B"), ("%qB", '%q"B'), (" stack_frame_id=4}", "}}"), ("}\n\n", "} 1\n\n"),
        (", dimensions={0}", " dimensions={0}"), ("/rev", '/rev"}\n  x'),
        (', metadata={op_name="jit(f)/rev', '=, metadata={op_name="jit(f)/rev'),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("renamed", [False, True])
def test_damage_in_a_copy_of_what_both_sides_hold_is_refused(wrong: tuple[str, str], renamed: bool) -> None:
    """The first copy is well-formed, and nobody parses either."""
    copies = [COPY.replace("N", name) for name in "AB"]
    old, damaged = ("".join(["HloModule copies\n\n", *copies, CALLS_OF_COPIES]) for _ in "12")
    damaged = damaged.replace(copies[1], copies[1].replace(*wrong))
    assert damaged != old

    def other(text: str) -> str:
        text = text.replace("ROOT %sine = f32[8]{0} sine(", "ROOT %sine = f32[8]{0} cosine(")
        return re.sub(r"%(copy|[pqmr])(?=[%(\"]?[AB])", r"%\1_", text) if renamed else text

    assert diff(read_hlo(old, at_once=False), read_hlo(other(old), at_once=False)).edits
    for texts in ((damaged, other(damaged)), (old, other(damaged)), (damaged, other(old))):
        with pytest.raises(HlodiffError):
            diff(*(read_hlo(text, at_once=False) for text in texts))


@pytest.mark.parametrize("at_once", [True, False])
def test_what_nobody_calls_is_said_when_it_comes_or_goes(at_once: bool) -> None:
    more = TEXT.replace("ENTRY", f"{SPARE}ENTRY", 1)
    one, other = (read_hlo(text, at_once=at_once) for text in (TEXT, more))
    words = "1 computation that nothing calls is only in the {} program (%spare); it runs nowhere and is not an edit"
    assert diff(one, other).limits == (words.format("new"),)
    assert diff(other, one).limits == (words.format("old"),)
    assert diff(other, other).limits == () and diff(one, other).identical
    report = Report("diff", "a", "b", (compared(one, other),))
    for text in (to_terminal(report), to_form(report, "markdown"), to_form(report, "json")):
        assert "computation that nothing calls" in " ".join(text.split())


def assert_refused_lazily(text: str) -> None:
    """Where both sides have the damage, and nobody parses what they have in common."""
    assert text.count(" tanh(") > 1
    other = text[::-1].replace(" tanh("[::-1], " sine("[::-1], 1)[::-1]
    with pytest.raises(HlodiffError):
        diff(read_hlo(text, at_once=False), read_hlo(other, at_once=False))


def test_the_text_itself_is_read() -> None:
    assert hlodiff.diff(*(read_hlo(padded(TEXT), at_once=at_once) for at_once in (True, False))).identical


@pytest.mark.parametrize(
    "words", ["](", "}", "a%b, parameters (,)", r"\"(", r"\\\" == ,,", r"\\", "{" * 7], ids=lambda words: repr(words)
)
def test_what_strings_hold_is_no_damage(words: str) -> None:
    text = padded(TEXT.replace("kind=kLoop", f'kind=kLoop, backend_config="{words}"', 1))
    lazy = read_hlo(text, at_once=False)
    assert isinstance(lazy.computations, LazyComputations) and lazy == read_hlo(text, at_once=True)
    assert_refused_lazily(text.replace("dims={1}", "dims={1", 1))


def test_brackets_of_strings_do_not_stand_for_those_that_are_missing() -> None:
    text = TEXT.replace("dims={1}", "dims={1", 1).replace("kind=kLoop", 'kind=kLoop, backend_config="}"', 1)
    assert_refused_lazily(padded(text))
