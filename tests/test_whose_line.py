"""Which line of Python a change is of: the call's own where JAX traced a helper before, or an edited one."""

from __future__ import annotations

import pytest

from hlodiff import diff
from hlodiff.differ import ProgramComparison
from hlodiff.hlo import Frame, read_hlo
from hlodiff.report import Report, ToolchainChange
from tests.shown import line_of


def frames(*rows: str) -> tuple[Frame, ...]:
    """`cell:14` is a frame; outermost first, as a stack is written down."""
    return tuple(Frame("model.py", int(line), name) for name, line in (row.split(":") for row in reversed(rows)))


@pytest.mark.parametrize(
    ("stack", "line"),
    [
        # `sigmoid` is called at 13 and at 14, and was traced for 13.
        (("turn:20", "cell:14", "turn:20", "cell:13"), 14),
        (("step:5", "step:4"), 5),
        (("step:34", "run:24", "step:34", "run:24", "turn:20", "cell:14", "turn:20", "cell:13"), 14),
        # A helper of the user's own: the line in the helper, whoever called it first.
        (("main:10", "main:9", "helper:3"), 3),
        (("main:10", "block:20", "main:9", "block:19", "helper:3"), 3),
        # A scan repeats the whole stack, and goes on from there.
        (("step:34", "run:24", "step:34", "run:24", "turn:20", "cell:13"), 13),
        # A function that calls itself again and again; methods of which the class is not said; lambdas.
        (("apply:4", "apply:4", "apply:6"), 6),
        (("step:1", "apply:4", "apply:4", "apply:6"), 6),
        (("__call__:50", "__call__:30", "__call__:12"), 12),
        (("step.<locals>.<lambda>:35", "norm:3", "step.<locals>.<lambda>:36"), 36),
        (("<module>:50", "step:34", "<module>:50", "step:33"), 34),
    ],
)
def test_a_helper_that_was_traced_before_has_the_line_of_this_call(stack: tuple[str, ...], line: int) -> None:
    assert line_of(frames(*stack))[1] == line


PROGRAM = """HloModule m, entry_computation_layout={{(f32[{size}]{{0}})->f32[{size}]{{0}}}}
ENTRY e {{
  x = f32[{size}]{{0}} parameter(0), metadata={{op_name="x"}}
  s = f32[{size}]{{0}} sine(x), metadata={{op_name="jit(f)/sin" source_file="app/model.py" source_line=1}}
  {body}
}}"""
LINES = (["y = jnp.sin(x)", "y = y + 1", "return jnp.cos(y)"], ["y = jnp.sin(x)", "y = y + 1", "return jnp.exp(y)"])


class Sources:
    """The lines of app/model.py on both sides."""

    def __init__(self, known: bool = True, more: int = 0) -> None:
        both = LINES if known else ([], [])
        self.lines = tuple([*lines, *(f"z{n} = {side}" for n in range(more))] for side, lines in enumerate(both))

    def __call__(self, name: str, target: str | None, side: int, file: str, line: int) -> str:
        return self.lines[side][line - 1] if line <= len(self.lines[side]) else ""

    def has(self, name: str, target: str | None, side: int, file: str, text: str) -> bool:
        return text in self.lines[side] if self.lines[side] else True

    def edited_files(self, name: str, target: str | None) -> list[str]:
        return []

    def lost_files(self, name: str, target: str | None) -> list[tuple[int, str]]:
        return []

    def file_lines(self, name: str, target: str | None, side: int, file: str) -> list[str]:
        return self.lines[side]


def shown(old: tuple[int, str], new: tuple[int, str], sources: Sources | None = None) -> str:
    programs = [read_hlo(PROGRAM.format(size=size, body=body)) for size, body in (old, new)]
    for_stage = [ProgramComparison("f", "cpu", "stablehlo", "changed", diff(*programs))]
    return str(Report("diff", "a", "b", tuple(for_stage), source_line=sources))


def unary(opcode: str, line: int, size: int = 8) -> str:
    where = f'metadata={{op_name="jit(f)/{opcode}" source_file="app/model.py" source_line={line}}}'
    return f"ROOT r = f32[{size}]{{0}} {opcode}(s), {where}"


def test_a_change_of_an_edited_line_is_of_that_line() -> None:
    assert "app/model.py:3" in shown((8, unary("cosine", 3)), (8, unary("exponential", 3)), Sources()).splitlines()[0]


def test_an_argument_that_changed_is_the_cause_where_nobody_changed_a_line() -> None:
    text = shown((8, unary("cosine", 3)), (16, unary("cosine", 3, 16)), Sources(known=False))
    assert text.splitlines()[0].endswith("; 1 argument of another shape: x f32[8] -> f32[16]")


def test_a_line_that_only_one_side_has_is_new_and_one_of_both_is_not() -> None:
    added = "exponential(s), " + unary("x", 3).partition("), ")[2]
    sources = Sources(more=2)  # edited too, elsewhere
    for line, mark in ((3, "+ return jnp.exp(y)"), (2, "| y = y + 1")):
        body = (
            f"t = f32[8]{{0}} {added.replace('source_line=3', f'source_line={line}')}\n  ROOT r = f32[8]{{0}} sine(t)"
        )
        text = shown((8, "ROOT r = f32[8]{0} sine(s)"), (8, body), sources)
        assert mark in [row.strip() for row in text.splitlines()], text


def test_a_line_that_was_rewritten_is_shown_with_both_texts_where_one_side_has_no_instruction_of_it() -> None:
    gone = "t = f32[8]{0} cosine(s), " + unary("x", 3).partition("), ")[2] + "\n  ROOT r = f32[8]{0} sine(t)"
    rows = [row.strip() for row in shown((8, gone), (8, "ROOT r = f32[8]{0} sine(s)"), Sources()).splitlines()]
    assert rows[rows.index("- return jnp.cos(y)") + 1] == "+ return jnp.exp(y)"


def test_a_setting_that_changed_the_program_is_named_in_the_place_of_a_line() -> None:
    old, new = (read_hlo(PROGRAM.format(size=8, body=unary(opcode, 2))) for opcode in ("cosine", "tanh"))
    programs = (ProgramComparison("f", "cpu", "stablehlo", "changed", diff(old, new)),)
    setting = ToolchainChange("env.ACTIVATION", "cos", "tanh", ("cpu",))
    text = str(Report("check", "a", "b", programs, toolchain=(setting,), source_line=Sources()))
    (verdict,) = [row for row in text.splitlines() if row.startswith("f ")]
    assert verdict.endswith("; the configuration changed (env.ACTIVATION cos -> tanh)")


@pytest.mark.parametrize(("sum_of", "line"), [("add", None), ("multiply", 3)])
def test_what_several_lines_apply_has_the_line_of_none(sum_of: str, line: int | None) -> None:
    """XLA keeps equal computations once, with the line of any that it merged."""
    applied = "c" if sum_of == "add" else "d"
    at = 'metadata={{op_name="jit(f)/{}" source_file="app/model.py" source_line={}}}'
    text = (
        "HloModule m\n\n%c {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
        f"  ROOT %r = f32[] add(%a, %b), {at.format('other', 9)}\n}}\n\n"
        "%d {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n  ROOT %r = f32[] multiply(%a, %b)\n}\n\n"
        "ENTRY %e {\n  %x = f32[8]{0} parameter(0)\n  %z = f32[] constant(0)\n"
        f"  %s = f32[] reduce(%x, %z), dimensions={{0}}, to_apply=%{applied}, {at.format('one', 2)}\n"
        f"  ROOT %t = f32[] reduce(%x, %s), dimensions={{0}}, to_apply=%c, {at.format('two', 3)}\n}}\n"
    )
    other = text.replace("ROOT %r = f32[] add", "ROOT %r = f32[] maximum")
    (edit,) = diff(read_hlo(text), read_hlo(other)).edits
    assert [frame.line for frame in edit.source] == ([line] if line else [])
    assert edit.op_name == ("jit(f)/two" if line else None)


@pytest.mark.parametrize(("other", "lines"), [(3, []), (2, [2])])
def test_a_constant_that_several_lines_use_has_the_line_of_none(other: int, lines: list[int]) -> None:
    """XLA keeps one of equal constants, with the line of any of them, and folds one of two lines into one."""
    at = 'metadata={{op_name="jit(f)/mul" source_file="app/model.py" source_line={}}}'
    text = (
        f"HloModule m\n\nENTRY %e {{\n  %x = f32[8]{{0}} parameter(0)\n  %c = f32[] constant(0.5), {at.format(2)}\n"
        "  %b = f32[8]{0} broadcast(%c), dimensions={}\n"
        f"  %y = f32[8]{{0}} multiply(%x, %b), {at.format(2)}\n"
        f"  ROOT %z = f32[8]{{0}} multiply(%y, %b), {at.format(other)}\n}}\n"
    )
    (edit,) = diff(read_hlo(text), read_hlo(text.replace("0.5", "0.25"))).edits
    assert edit.fields == ("literal",) and [frame.line for frame in edit.source] == lines


def test_a_constant_of_a_fusion_has_the_line_of_what_takes_it_or_none() -> None:
    """A fusion has the line of what it computes last."""
    at = ', metadata={{op_name="jit(f)/mul" source_file="app/model.py" source_line={}}}'

    def lines(of_user: str) -> list[int]:
        text = (
            "HloModule m\n\n%fused {\n  %p = f32[8]{0} parameter(0)\n  %c = f32[] constant(0.5)\n"
            f"  %b = f32[8]{{0}} broadcast(%c), dimensions={{}}\n  %y = f32[8]{{0}} multiply(%p, %b){of_user}\n"
            f"  ROOT %z = f32[8]{{0}} sine(%y){at.format(3)}\n}}\n\n"
            "ENTRY %e {\n  %x = f32[8]{0} parameter(0)\n"
            f"  ROOT %f = f32[8]{{0}} fusion(%x), kind=kLoop, calls=%fused{at.format(3)}\n}}\n"
        )
        (edit,) = diff(read_hlo(text), read_hlo(text.replace("0.5", "0.25"))).edits
        return [frame.line for frame in edit.source]

    assert (lines(at.format(2)), lines("")) == ([2], [])


def test_results_in_the_memory_of_the_host_are_counted() -> None:
    rows = """HloModule m
ENTRY e {{
  x = f32[8]{{0}} parameter(0)
  a = f32[8]{{0{0}}} sine(x)
  b = f32[8]{{0{0}}} cosine(x)
  ROOT t = (f32[8]{{0{0}}}, f32[8]{{0{0}}}, f32[8]{{0}}) tuple(a, b, x)
}}"""
    found = diff(*(read_hlo(rows.format(space)) for space in ("", ":S(5)")))
    text = str(Report("diff", "a", "b", (ProgramComparison("f", "cpu", "compiled", "changed", found),)))
    assert "2 results now in host memory instead of device memory" in text


def test_values_of_other_types_and_shapes_are_no_pair_in_a_report() -> None:
    """A loop element, a constant or a broadcast in the place of another one is removed and added."""
    rows = "HloModule m\nENTRY e {{\n  x = f32[8]{{0}} parameter(0)\n  n = s32[2,2]{{1,0}} parameter(1)\n  {}\n}}"
    old = "c = f32[] constant(0.5)\n  b = f32[8]{0} broadcast(c), dimensions={}\n  ROOT m = f32[8]{0} multiply(x, b)"
    new = "c = s32[] constant(3)\n  b = s32[2,2]{1,0} broadcast(c), dimensions={}\n  ROOT m = s32[2,2]{1,0} add(n, b)"
    found = diff(*(read_hlo(rows.format(body)) for body in (old, new)))
    assert not [
        edit for edit in found.reported if edit.kind == "changed" and {"element_type", "shape"} <= set(edit.fields)
    ]
    assert found.replay().complete


@pytest.mark.parametrize("name", ["x", ""])
def test_an_argument_of_one_number_and_type_is_not_called_new_and_gone(name: str) -> None:
    """Also where most of its users differ, so that the shorter script would part the two."""
    known = f', metadata={{op_name="{name}"}}' if name else ""
    rows = f"HloModule m\nENTRY e {{\n  x = f32[8]{{0}} parameter(0){known}\n  ROOT r = f32[8]{{0}} OPCODE(x)\n}}"
    found = diff(*(read_hlo(rows.replace("OPCODE", opcode)) for opcode in ("sine", "cosine")))
    assert [(edit.kind, edit.fields) for edit in found.edits] == [("changed", ("opcode",))]
    assert found.script.pairs[0].mapping[0] == 0


LOOP = """HloModule m
body {{
  s = (s32[], f32[8]{{0}}) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  v = f32[8]{{0}} get-tuple-element(s), index=1
  one = s32[] constant(1)
  m = s32[] add(n, one)
  w = f32[8]{{0}} {work}(v)
  ROOT t = (s32[], f32[8]{{0}}) tuple(m, w)
}}
cond {{
  s = (s32[], f32[8]{{0}}) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  v = f32[8]{{0}} get-tuple-element(s), index=1
  most = s32[] constant({most})
  few = pred[] compare(n, most), direction=LT
  first = f32[1]{{0}} slice(v), slice={{[0:1]}}
  f = f32[] reshape(first)
  limit = f32[] constant(9)
  small = pred[] compare(f, limit), direction=LT
  ROOT both = pred[] and(few, small)
}}
ENTRY e {{
  x = f32[8]{{0}} parameter(0)
  zero = s32[] constant(0)
  i = (s32[], f32[8]{{0}}) tuple(zero, x)
  w = (s32[], f32[8]{{0}}) while(i), condition=cond, body=body
  ROOT r = f32[8]{{0}} get-tuple-element(w), index=1
}}"""


@pytest.mark.parametrize(("new", "verdict"), [((4096, "negate"), "= same cost"), ((256, "convert"), "fewer flops")])
def test_a_higher_bound_of_a_loop_is_not_more_work(new: tuple[int, str], verdict: str) -> None:
    """`max_steps` of a solver: nobody knows whether it turns more often."""
    found = diff(*(read_hlo(LOOP.format(most=most, work=work)) for most, work in ((256, "negate"), new)))
    text = str(Report("diff", "a", "b", (ProgramComparison("f", "cpu", "compiled", "changed", found),)))
    assert verdict in text.splitlines()[0]
    assert found.executed["flops"][0].most != found.executed["flops"][1].most
