"""Which line of Python a change is of: the call's own where JAX traced a helper before, or an edited one."""

from __future__ import annotations

import pytest

from hlodiff import diff
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.hlo.metadata import own_frame
from hlodiff.hlo.model import Frame
from hlodiff.hlo.parser import read_hlo
from hlodiff.report.report import Report


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
    frame = own_frame(frames(*stack))
    assert frame is not None
    assert frame.line == line


PROGRAM = """HloModule m, entry_computation_layout={{(f32[{size}]{{0}})->f32[{size}]{{0}}}}
ENTRY e {{
  x = f32[{size}]{{0}} parameter(0), metadata={{op_name="x"}}
  s = f32[{size}]{{0}} sine(x), metadata={{op_name="jit(f)/sin" source_file="app/model.py" source_line=1}}
  {body}
}}"""
LINES = (["y = jnp.sin(x)", "y = y + 1", "return jnp.cos(y)"], ["y = jnp.sin(x)", "y = y + 1", "return jnp.exp(y)"])


class Sources:
    """The lines of app/model.py on both sides."""

    def __init__(self, known: bool = True) -> None:
        self.lines = LINES if known else ([], [])

    def __call__(self, name: str, target: str | None, side: int, file: str, line: int) -> str:
        return self.lines[side][line - 1] if line <= len(self.lines[side]) else ""

    def has(self, name: str, target: str | None, side: int, file: str, text: str) -> bool:
        return text in self.lines[side] if self.lines[side] else True


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
    for line, mark in ((3, "+ return jnp.exp(y)"), (2, "| y = y + 1")):
        body = (
            f"t = f32[8]{{0}} {added.replace('source_line=3', f'source_line={line}')}\n  ROOT r = f32[8]{{0}} sine(t)"
        )
        text = shown((8, "ROOT r = f32[8]{0} sine(s)"), (8, body), Sources())
        assert mark in [row.strip() for row in text.splitlines()], text
