"""Which edited line a change is of, where the operations come from lines that nobody edited."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import hlodiff
from hlodiff.differ import ProgramComparison
from hlodiff.hlo import STAGES
from hlodiff.report import Report, build_view, read_untrusted_view, to_form, to_terminal
from hlodiff.workflows.source_lines import WORK_TREE, SourceLines, SourceSide, of_snapshots

MODEL = '''"""A model."""

RATE = 0.1


def layer(x):
    return jnp.sin(x)


def forward(x):
    for _ in range(2):
        x = layer(x)
    return combine(
        x,
        axis=0,
    )


def build():
    return forward, 8
'''.splitlines()
# Innermost first: `layer` at line 7, called at line 12.
LAYER, CALL = (("layer", 7), ("forward", 12)), (("forward", 13),)


def debug_tables(stack: tuple[tuple[str, int], ...], file: str = "model.py") -> str:
    """The debug tables of one stack of Python frames, all in one file."""
    names = "\n".join(f'{n} "{name}"' for n, (name, _) in enumerate(stack, 1))
    places = "\n".join(
        f"{n} {{file_name_id=1 function_name_id={n} line={line} end_line={line} column=1 end_column=9}}"
        for n, (_, line) in enumerate(stack, 1)
    )
    last = len(stack)
    frames = "\n".join(
        f"{n} {{file_location_id={n} parent_frame_id={0 if n == last else n + 1}}}" for n in range(1, last + 1)
    )
    return f'FileNames\n1 "{file}"\n\nFunctionNames\n{names}\n\nFileLocations\n{places}\n\nStackFrames\n{frames}\n'


def program(opcode: str, stack: tuple[tuple[str, int], ...], file: str = "model.py") -> hlodiff.Module:
    """One operation with its Python frames, all in one file."""
    return hlodiff.read_text(
        f"HloModule m\n\n{debug_tables(stack, file)}\nENTRY %e {{\n  %x = f32[8] parameter(0)\n"
        f'  ROOT %r = f32[8] {opcode}(%x), metadata={{op_name="jit(f)/a" stack_frame_id=1}}\n}}\n'
    )


class Sources:
    """model.py before and after an edit, and which files were edited."""

    def __init__(self, new: list[str], edited: tuple[str, ...] = ("model.py",), old: list[str] = MODEL) -> None:
        self.sides, self.edited = (old, new), edited

    def __call__(self, name: str, target: str | None, side: int, file: str, line: int) -> str:
        return self.sides[side][line - 1]

    def has(self, name: str, target: str | None, side: int, file: str, text: str) -> bool:
        return any(text == line.strip() for line in self.sides[side])

    def file_lines(self, name: str, target: str | None, side: int, file: str) -> list[str]:
        return self.sides[side] if file == "model.py" else []

    def edited_files(self, name: str, target: str | None) -> tuple[str, ...]:
        return self.edited

    def lost_files(self, name: str, target: str | None) -> list[tuple[int, str]]:
        return []


def edited(number: int, text: str) -> list[str]:
    return [*MODEL[: number - 1], text, *MODEL[number:]]


def report(
    sources: Sources, stack: tuple[tuple[str, int], ...], new_stack: tuple[tuple[str, int], ...] = ()
) -> list[str]:
    stacks = stack, new_stack or stack
    old, new = (program(opcode, one) for opcode, one in zip(("sine", "cosine"), stacks, strict=True))
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(old, new))
    text = str(Report("check", "a", "b", (compared,), source_line=sources))
    return [line.strip() for line in text.splitlines()]


def test_an_argument_of_a_call_over_several_lines_is_the_line_of_the_change() -> None:
    lines = report(Sources(edited(15, "        axis=1,")), CALL)
    assert lines[0].endswith("model.py:15")
    assert lines[lines.index("model.py:15 (forward)") + 1 :][:2] == ["- axis=0,", "+ axis=1,"]


def test_a_loop_around_a_call_is_the_line_of_the_change_and_each_operation_names_its_own() -> None:
    lines = report(Sources(edited(11, "    for _ in range(3):")), LAYER)
    assert lines[0].endswith("model.py:11")
    at = lines.index("model.py:11 (forward)")
    assert lines[at + 1 : at + 3] == ["- for _ in range(2):", "+ for _ in range(3):"]
    assert lines[at + 3].endswith("model.py:7 (layer)")


def test_a_statement_that_was_wrapped_is_one_edit_at_its_first_line() -> None:
    old = ["STEP = chain(", "    clip(1.0),", "    adam(0.1),", ")", "def f(x):", "    return STEP(x)", "OTHER = 1"]
    new = ["STEP = every(chain(", *old[1:3], "), 4)", *old[4:6], "OTHER = 2"]
    lines = report(Sources(new, old=old), (("f", 6),))
    assert lines[0].endswith("model.py:1")
    assert lines[lines.index("model.py:1") + 1 :][:2] == ["- STEP = chain(", "+ STEP = every(chain("]
    new = [*old[:2], "    adam(0.2),", ")", "def g(x):", "    return x", "def f(x):", "    return g(STEP(x))"]
    two_definitions = report(Sources(new, old=old[:-1]), (("f", 6),), (("f", 8),))
    assert two_definitions[0].endswith("model.py:8")


def test_a_removed_operation_names_its_line_by_the_number_that_it_has_now() -> None:
    """The edit that removed it deleted a line further up."""
    head = f"HloModule m\n\n{debug_tables(LAYER)}\nENTRY %e {{\n  %x = f32[8] parameter(0)\n"
    removed = "  %s = f32[8] sine(%x), metadata={stack_frame_id=1}\n"
    old, new = (
        hlodiff.read_text(f"{head}{more}  ROOT %r = f32[8] negate(%{of})\n}}\n")
        for more, of in ((removed, "s"), ("", "x"))
    )
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(old, new))
    found = str(Report("check", "a", "b", (compared,), source_line=Sources([*MODEL[:2], *MODEL[3:]])))
    (line,) = (line for line in found.splitlines() if line.strip().startswith("removed sine"))
    assert line.endswith("model.py:6 (layer)")


def test_an_edited_line_comes_before_lines_that_nobody_edited() -> None:
    """Two edits, of which one changed an operation of another line; the update before it only follows."""
    model = [*MODEL, "", "", "def update(x):", "    return x * 2"]
    stack = (*LAYER, ("update", len(model)))
    old, new = (
        hlodiff.read_text(
            f"HloModule m\n\n{debug_tables(stack)}\nENTRY %e {{\n  %x = f32[8] parameter(0)\n"
            f"  %u = f32[8] {first}(%x), metadata={{stack_frame_id=3}}\n"
            f"  ROOT %r = f32[8] {second}(%u), metadata={{stack_frame_id=1}}\n}}\n"
        )
        for first, second in (("negate", "sine"), ("abs", "cosine"))
    )
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(old, new))
    after = [*model[:2], "RATE = 0.2", *model[3:10], "    for _ in range(3):", *model[11:]]
    text = str(Report("check", "a", "b", (compared,), source_line=Sources(after, old=model)))
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0].endswith("model.py:11")
    assert lines.index("model.py:11 (forward)") < lines.index("model.py:24 (update)")


def test_of_two_edited_lines_the_one_that_changed_most_operations_comes_first_and_both_are_shown() -> None:
    pairs = [
        ("sine", "cosine"), ("abs", "negate"), ("exponential", "log"), ("tanh", "sqrt"),
        ("floor", "ceil"), ("sign", "cbrt"), ("rsqrt", "logistic"), ("exponential-minus-one", "log-plus-one"),
    ]  # fmt: skip
    tables = re.sub(r"parent_frame_id=.", "parent_frame_id=0", debug_tables((("layer", 7), ("forward", 13))))
    sides = []
    for side in (0, 1):
        rows = [
            f"  {'ROOT ' if n == len(pairs) - 1 else ''}%y{n} = f32[8] {pair[side]}(%{f'y{n - 1}' if n else 'x'}), "
            f"metadata={{stack_frame_id={2 if n else 1}}}"
            for n, pair in enumerate(pairs)
        ]
        head = f"HloModule m\n\n{tables}\nENTRY %e {{\n  %x = f32[8] parameter(0)\n"
        sides.append(hlodiff.read_text(head + "\n".join(rows) + "\n}\n"))
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(*sides))
    new = edited(7, "    return jnp.cos(x)")
    new[12] = "    return joined("
    text = to_terminal(Report("check", "a", "b", (compared,), source_line=Sources(new)))
    lines = [line.strip() for line in text.splitlines()]
    assert "combine() -> joined() at model.py:13, and an edit at model.py:7" in " ".join(lines[:2])
    assert lines.index("model.py:13 (forward)") < lines.index("model.py:7 (layer)")
    assert lines[lines.index("+ return jnp.cos(x)") + 1].startswith("changed sine -> cosine")


def two_operations(lines: tuple[tuple[str, int], ...], first: str, second: str) -> hlodiff.Module:
    """Two operations, one after the other, each of the function and line of one of two."""
    return hlodiff.read_text(
        f"HloModule m\n\n{re.sub(r'parent_frame_id=.', 'parent_frame_id=0', debug_tables(lines))}\n"
        "ENTRY %e {\n  %x = f32[8] parameter(0)\n"
        f"  %u = f32[8] {first}(%x), metadata={{stack_frame_id=1}}\n"
        f"  ROOT %r = f32[8] {second}(%u), metadata={{stack_frame_id=2}}\n}}\n"
    )


@pytest.mark.parametrize(
    ("number", "first"), [("0.05", ["removed constant", "added constant"]), ("0.0", ["added constant"])]
)
def test_a_number_that_came_for_another_is_listed_before_the_work_that_went_with_it(
    number: str, first: list[str]
) -> None:
    def stepped(*lines: str) -> hlodiff.Module:
        body = "".join(f"    {line} : tensor<f32> loc(#line)\n" for line in lines)
        return hlodiff.read_text(f"""#line = loc("jit(f)/a"("model.py":15:0))
module @m {{
  func.func public @main(%x: tensor<f32>) -> tensor<f32> {{
{body}    %r = stablehlo.minimum %x, %s : tensor<f32> loc(#line)
    return %r : tensor<f32>
  }}
}}
""")

    old = stepped(
        f"%c = stablehlo.constant dense<{number}>", "%i = stablehlo.sign %x", "%s = stablehlo.multiply %c, %i"
    )
    found = hlodiff.diff(old, stepped("%s = stablehlo.constant dense<0.01>"))
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", found)
    sources = Sources(edited(15, "        axis=1,"))
    text = str(Report("diff", "a", "b", (compared,), source_line=sources))
    told = [line.split(" f32")[0].strip() for line in text.splitlines() if " f32" in line]
    assert told[: len(first)] == first


def test_an_edit_that_made_one_line_of_two_is_shown_once() -> None:
    """As a Python loop that became a scan: operations of both lines became those of one."""
    stacks = (("forward", 11), ("forward", 12)), (("forward", 11), ("forward", 11))
    old, new = two_operations(stacks[0], "negate", "sine"), two_operations(stacks[1], "abs", "cosine")
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(old, new))
    sources = Sources([*MODEL[:10], "    x = layers(x)", *MODEL[12:]])
    lines = [
        line.strip() for line in to_terminal(Report("check", "a", "b", (compared,), source_line=sources)).split("\n")
    ]
    assert lines.count("+ x = layers(x)") == 1
    at = lines.index("+ x = layers(x)")
    assert lines[at + 1].startswith("changed negate -> abs")
    assert lines[at + 2].startswith("changed sine -> cosine")


def test_of_collectives_that_of_the_edited_line_is_listed_first() -> None:
    """The compiler combines others in another way: a larger one came at a line that nobody edited."""
    tables = re.sub(r"parent_frame_id=.", "parent_frame_id=0", debug_tables((("layer", 7), ("forward", 13))))
    reduced = (
        "%sum {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n  ROOT %c = f32[] add(%a, %b)\n}\n\n"
        "ENTRY %e {\n  %x = f32[1024] parameter(0)\n  %y = f32[] parameter(1)\n"
    )
    added = (
        "  %u = f32[1024] all-reduce(%x), to_apply=%sum, replica_groups={{0,1}}, metadata={stack_frame_id=1}\n"
        "  %v = f32[] all-reduce(%y), to_apply=%sum, replica_groups={{0,1}}, metadata={stack_frame_id=2}\n"
    )
    old, new = (
        hlodiff.read_text(
            f"HloModule m\n\n{tables}\n{reduced}{body}  ROOT %r = (f32[1024], f32[]) tuple({given})\n}}\n"
        )
        for body, given in (("", "%x, %y"), (added, "%u, %v"))
    )
    written = ProgramComparison(
        "f", "cpu", "stablehlo", "changed", hlodiff.diff(*(program(o, CALL) for o in ("sine", "tanh")))
    )
    compiled = ProgramComparison("f", "cpu", "compiled", "changed", hlodiff.diff(old, new))
    sources = Sources(edited(13, "    return combined("))
    text = to_terminal(Report("check", "a", "b", (written, compiled), source_line=sources))
    listed = [line.strip() for line in text.splitlines() if "added all-reduce" in line]
    assert listed[0].split("added ")[1].startswith("all-reduce f32[],")


@pytest.mark.parametrize("opcode", ["sine", "cosine"])
@pytest.mark.parametrize("gathered", [False, True], ids=["alone", "gathered"])
def test_the_products_of_a_layer_more_come_before_its_small_operations(opcode: str, gathered: bool) -> None:
    """One layer more, each operation on its own line: none of them is the cause of the others, nor a small change."""
    small = ["add(%x, %x)", "multiply(%s0, %x)", "subtract(%s1, %x)", "tanh(%s2)", "negate(%s3)", "exponential(%s4)"]
    if gathered:  # what devices wait for comes first
        small[2] = "all-gather(%s1), dimensions={0}, replica_groups={{0},{1}}"
    last = "dot(%s5, %s5), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    rows = [
        f'  %s{n} = f32[8,8] {words}, metadata={{op_name="jit(f)/a" stack_frame_id={n + 1}}}'
        for n, words in enumerate([*small, last])
    ]
    tables = debug_tables(tuple((f"step{n}", 7 + n) for n in range(len(rows))))
    tables = re.sub(r"parent_frame_id=\d+", "parent_frame_id=0", tables)  # none is called by another
    old, new = (
        hlodiff.read_text(
            f"HloModule m\n\n{tables}\nENTRY %e {{\n  %x = f32[8,8] parameter(0)\n"
            + "\n".join(side)
            + f"\n  ROOT %r = f32[8,8] {last}({given})\n}}\n"
        )
        for side, given, last in (((), "%x", opcode), (rows, "%s6", "sine"))
    )
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(old, new))
    for sources in (Sources(edited(3, "RATE = 0.2")), None):
        text = str(Report("check", "a", "b", (compared,), source_line=sources)).splitlines()
        listed = [line.strip() for line in text if line.strip().startswith("added")]
        assert len(listed) > 1
        first = [line.split()[1] for line in listed if not line.startswith("added all-gather")]
        assert (first[0], listed[0].startswith("added all-gather")) == ("dot", gathered)


@pytest.mark.parametrize(("name", "line", "was"), [("a", 3, "c = 3"), ("b", 5, ""), ("c", 1, "a = 1")])
def test_of_two_lines_that_were_exchanged_those_between_them_stay(name: str, line: int, was: str) -> None:
    old, body = ["a = 1", "b = 2", "c = 3"], ["def f(x):", f"    return jnp.sin(x + {name})"]
    lines = report(Sources([*reversed(old), *body], old=[*old, *body]), (("f", 5),))
    assert lines[0].endswith(f"model.py:{line}")
    assert [text.removeprefix("- ") for text in lines if text.startswith("- ")] == ([was] if was else [])


def test_a_line_that_only_moved_is_not_said_to_be_added() -> None:
    old = ["def f(x):", "    x = clip(x)", "    x = mean(x)", "    return jnp.sin(x)"]
    new = [old[0], old[2], old[1], old[3]]
    lines = report(Sources(new, old=old), (("f", 4),))
    assert "x = clip(x) moved" in lines[0] or "x = mean(x) moved" in lines[0]
    (gone,), (came,) = ([text[2:] for text in lines if text.startswith(sign)] for sign in ("- ", "+ "))
    assert gone == came and not lines[0].endswith("added")


@pytest.mark.parametrize("is_back", [False, True], ids=["into", "out of"])
def test_a_line_that_was_moved_into_a_function_is_not_said_to_be_added(is_back: bool) -> None:
    old = [
        "def f(x):",
        "    b = bucket(x)",
        "",
        "    def layer(x):",
        "        return jnp.sin(x + b)",
        "    return layer(x)",
    ]
    new = [old[0], "", old[3], "        b = bucket(x)", *old[4:]]
    places = ["model.py:2 (f)", "model.py:4 (f.layer)"]
    sides = (new, old) if is_back else (old, new)
    lines = report(Sources(sides[1], old=sides[0]), (("layer", 5), ("f", 6)))
    way, (was, where) = ("out of", places[::-1]) if is_back else ("into", places)
    assert f"b = bucket(x) moved {way} layer at {where.partition(' (')[0]}" in lines[0]
    at = lines.index("- b = bucket(x)")
    assert lines[at - 1 : at + 2] == [f"{where} (was {was})", "- b = bucket(x)", "+ b = bucket(x)"]


@pytest.mark.parametrize("line", [3, 4, None])
def test_lines_that_were_deleted_together_are_shown_and_the_one_with_operations_is_named(line: int | None) -> None:
    """The operation that takes something else now is of a line that nobody edited."""
    old = ["def f(x):", "    keys = names(x)", "    b = zeros(keys)", "    x = x + b", "    return x * x"]
    head = f"HloModule m\n\n{debug_tables((('f', line or 5),))}\nENTRY %e {{\n  %x = f32[8] parameter(0)\n"
    at = ', metadata={op_name="jit(f)/a" stack_frame_id=1}' if line else ""
    filled = f"  %z = f32[] constant(0){at}\n  %b = f32[8] broadcast(%z), dimensions={{}}{at}\n"
    last = '  ROOT %m = f32[8] multiply(%x, %{}), metadata={{op_name="jit(f)/mul"}}\n}}\n'
    programs = [hlodiff.read_text(head + more + last.format(of)) for more, of in ((filled, "b"), ("", "x"))]
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(*programs))
    known = Report("check", "a", "b", (compared,), source_line=Sources([old[0], old[4]], old=old))
    lines = [row.strip() for row in to_terminal(known).splitlines()]
    named = line or 4
    assert f"{old[named - 1].strip()} gone at model.py:{named}" in " ".join(lines[:2])
    at_place = lines.index(f"was model.py:{named} (f)")
    assert lines[at_place + 1 : at_place + 4] == [f"- {source.strip()}" for source in old[1:4]]
    assert "\n".join(f"- was `{source.strip()}`" for source in old[1:4]) in to_form(known, "markdown")
    assert [f"<pre>{source.strip()}</pre>" in to_form(known, "html") for source in old[1:4]] == [True] * 3
    ((shown,),) = (stage.lines for stage in read_untrusted_view(to_form(known, "json")).functions[0].stages)
    assert shown.old_lines == tuple(source.strip() for source in old[1:4])


def test_lines_that_were_edited_together_are_shown_where_nothing_tells_them_apart() -> None:
    """The places of arguments come from a function that no operation has on its stack."""
    old = ["def specs():", "    up = P('a', 'b')", "    down = P('b', 'a')", "    return up, down"]
    new = [old[0], "    up = P(None, 'b')", "    down = P('b', None)", old[3]]
    compared = ProgramComparison(
        "f", "cpu", "stablehlo", "changed", hlodiff.diff(program("sine", ()), program("cosine", ()))
    )
    known = Report("check", "a", "b", (compared,), source_line=Sources(new, old=old))
    lines = [row.strip() for row in to_terminal(known).splitlines()]
    at = lines.index("model.py:2 (specs)")
    shown = [f"{sign} {text.strip()}" for sign, side in (("-", old), ("+", new)) for text in side[1:3]]
    assert lines[at + 1 : at + 5] == shown
    assert "\n".join(f"- is `{text.strip()}`" for text in new[1:3]) in to_form(known, "markdown")
    assert to_form(known, "html").count('<pre class="is">') == 2


@pytest.mark.parametrize("runs", [1, 7])
def test_a_line_says_how_often_its_operations_run(runs: int) -> None:
    """The number comes with the line, if all of its operations run equally often, and more than once."""
    sides = []
    for opcode in ("sine", "cosine"):
        at = 'metadata={op_name="jit(f)/while/body/a" stack_frame_id=1}'
        sides.append(
            hlodiff.read_text(
                f"HloModule m\n\n{debug_tables((('layer', 7),))}\n"
                "%body (t: (s32[], f32[8])) -> (s32[], f32[8]) {\n  %t = (s32[], f32[8]) parameter(0)\n"
                "  %i = s32[] get-tuple-element(%t), index=0\n  %x = f32[8] get-tuple-element(%t), index=1\n"
                f"  %r = f32[8] {opcode}(%x), {at}\n"
                "  %one = s32[] constant(1)\n  %j = s32[] add(%i, %one)\n"
                "  ROOT %u = (s32[], f32[8]) tuple(%j, %r)\n}\n\n"
                "%more (s: (s32[], f32[8])) -> pred[] {\n  %s = (s32[], f32[8]) parameter(0)\n"
                f"  %k = s32[] get-tuple-element(%s), index=0\n  %n = s32[] constant({runs})\n"
                "  ROOT %c = pred[] compare(%k, %n), direction=LT\n}\n\n"
                "ENTRY %e {\n  %x0 = f32[8] parameter(0)\n  %zero = s32[] constant(0)\n"
                "  %start = (s32[], f32[8]) tuple(%zero, %x0)\n"
                "  ROOT %w = (s32[], f32[8]) while(%start), condition=%more, body=%body, "
                f'backend_config={{"known_trip_count":{{"n":"{runs}"}}}}\n}}\n'
            )
        )
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(*sides))
    new = edited(7, "    return jnp.cos(x)")
    known = Report("check", "a", "b", (compared,), source_line=Sources(new))
    place = "model.py:7 (layer)"
    words = f", runs {runs} times" if runs > 1 else ""
    assert f"{place}{words}" in [row.strip() for row in to_terminal(known).splitlines()]
    assert f"`{place}`{words}\n" in to_form(known, "markdown")
    assert f"<code>{place}</code>{words}</p>" in to_form(known, "html")


PRODUCT = (
    "%d = f32[{rows},8] dot(%{of}, %{by}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, "
    'metadata={{op_name="jit(f)/{scope}dot" stack_frame_id=1}}\n  '
)
LOOP = """HloModule m

{tables}
%body (t: (s32[], f32[8,8])) -> (s32[], f32[8,8]) {{
  %t = (s32[], f32[8,8]) parameter(0)
  %i = s32[] get-tuple-element(%t), index=0
  %x = f32[8,8] get-tuple-element(%t), index=1
  {inside}%n = f32[8,8] tanh(%{taken})
  %one = s32[] constant(1)
  %j = s32[] add(%i, %one)
  ROOT %u = (s32[], f32[8,8]) tuple(%j, %n)
}}

%more (s: (s32[], f32[8,8])) -> pred[] {{
  %s = (s32[], f32[8,8]) parameter(0)
  %k = s32[] get-tuple-element(%s), index=0
  %m = s32[] constant(9)
  ROOT %c = pred[] compare(%k, %m), direction=LT
}}

ENTRY %e {{
  %p = f32[9,8,8] parameter(0)
  %w = f32[8,8] parameter(1)
  {before}%zero = s32[] constant(0)
  %start = (s32[], f32[8,8]) tuple(%zero, %{start})
  ROOT %l = (s32[], f32[8,8]) while(%start), condition=%more, body=%body, backend_config={config}, {where}
}}
"""


@pytest.mark.parametrize(
    ("more", "place"),
    [
        (["    e = 1", "    g = 2", "    return scan(d)"], "at model.py:5"),
        (["    return scan(d, reverse=True)"], "at model.py:3"),
        (["    e = 1", "    g = 2", "    return 1"], "that was at model.py:3"),
    ],
    ids=["moved", "edited", "gone"],
)
def test_a_loop_that_something_left_has_the_number_that_its_line_has_now(more: list[str], place: str) -> None:
    """A loop whose line is gone has the old number."""
    old = ["def f(p):", "    d = p @ p", "    return scan(d)"]
    new = [*old[:2], *more]
    sides = []
    for line, is_inside in ((3, True), (len(new), False)):
        tables = re.sub(r"parent_frame_id=.", "parent_frame_id=0", debug_tables((("f", 2), ("f", line))))
        all_steps = "%q = f32[72,8] reshape(%p)\n  " + PRODUCT.format(rows=72, of="q", by="w", scope="")
        slots = {
            "tables": tables,
            "inside": PRODUCT.format(rows=8, of="x", by="x", scope="while/body/") if is_inside else "",
            "before": "" if is_inside else f"{all_steps}%h = f32[8,8] slice(%d), slice={{[0:8], [0:8]}}\n  ",
            "taken": "d" if is_inside else "x",
            "start": "w" if is_inside else "h",
            "config": '{"known_trip_count":{"n":"9"}}',
            "where": "metadata={stack_frame_id=2}",
        }
        sides.append(hlodiff.read_text(LOOP.format_map(slots)))
    program_ = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(*sides))
    words = " ".join(to_terminal(Report("diff", "a", "b", (program_,), source_line=Sources(new, old=old))).split())
    assert f"out of the loop {place}; runs once" in words, words


SCANS = (
    """def f(x):
    def join(left, right):
        return left + right
    return jax.lax.associative_scan(join, (steps, x))
""",
    """def f(x):
    def advance(x, now):
        x = x + now
        return x, x
    return jax.lax.scan(advance, jnp.zeros_like(x[0]), (steps, x))
""",
)


@pytest.mark.parametrize(
    ("stack", "place", "source"),
    [
        ((("f.join", 3), ("f", 4)), "was model.py:3 (f.join)", "- return left + right"),
        ((("f", 4),), "model.py:5 (f) (was model.py:4 (f))", "- return jax.lax.associative_scan(join, (steps, x))"),
    ],
)
def test_a_removed_operation_of_a_rewritten_function_has_the_old_number_and_text_of_its_own_line(
    stack: tuple[tuple[str, int], ...], place: str, source: str
) -> None:
    """Its number is that of another line now."""
    head = f"HloModule m\n\n{debug_tables(stack)}\nENTRY %e {{\n  %x = f32[8] parameter(0)\n"
    texts = [
        f"{head}{more}  ROOT %r = f32[8] negate(%{of})\n}}\n"
        for more, of in (("  %s = f32[8] sine(%x), metadata={stack_frame_id=1}\n", "s"), ("", "x"))
    ]
    compared = [
        ProgramComparison("f", target, stage, "changed", hlodiff.diff(*map(hlodiff.read_text, sides)))
        for target, opcode in (("cpu", "sine"), ("tpu-v5e", "cosine"))
        for stage in STAGES
        for sides in [[text.replace("sine", opcode if stage == "compiled" else "sine") for text in texts]]
    ]
    sources = Sources(SCANS[1].splitlines(), old=SCANS[0].splitlines())
    text = to_terminal(Report("check", "a", "b", tuple(compared), source_line=sources), width=160)
    lines = [line.strip() for line in text.splitlines()]
    at = lines.index(place)
    assert lines[at + 1] == source
    assert (lines[at + 2] == "+ return jax.lax.scan(advance, jnp.zeros_like(x[0]), (steps, x))") is (len(stack) == 1)
    compiled = [line for line in lines if re.match(r"on (cpu|tpu-v5e): removed", line)]
    assert len(compiled) == 2
    assert all(line.endswith(f"was model.py:{stack[0][1]} ({stack[0][0]})") for line in compiled)


@pytest.mark.parametrize("lines", [(12, 13), (13, 12)])
def test_a_line_that_nobody_edited_is_not_shown_in_the_place_of_one_that_was(lines: tuple[int, int]) -> None:
    """The matcher may pair an operation of the edited line with one of the next."""
    old, new = (program(opcode, (("forward", line),)) for opcode, line in zip(("sine", "cosine"), lines, strict=True))
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(old, new))
    sources = Sources(edited(12, "        x = layer(jnp.abs(x))"))
    text = [line.strip() for line in str(Report("check", "a", "b", (compared,), source_line=sources)).splitlines()]
    assert text[0].endswith("model.py:12")
    at = text.index("model.py:12 (forward)")
    assert text[at + 1 : at + 3] == ["- x = layer(x)", "+ x = layer(jnp.abs(x))"]


class WithTraining(Sources):
    """train.py beside it, which nobody edited."""

    training = ("def step(x):", "    value = grad(forward)(x)")

    def __call__(self, name: str, target: str | None, side: int, file: str, line: int) -> str:
        return self.training[line - 1] if file == "train.py" else super().__call__(name, target, side, file, line)

    def has(self, name: str, target: str | None, side: int, file: str, text: str) -> bool:
        known = self.training if file == "train.py" else self.sides[side]
        return any(text == line.strip() for line in known)

    def file_lines(self, name: str, target: str | None, side: int, file: str) -> list[str]:
        return list(self.training) if file == "train.py" else super().file_lines(name, target, side, file)


@pytest.mark.parametrize("is_new_elsewhere", [True, False])
def test_a_line_of_another_file_that_nobody_edited_is_not_shown_in_the_place_of_one_that_was(
    is_new_elsewhere: bool,
) -> None:
    """An operation of the backward pass takes the place of one of an edited line."""
    texts = ["sine", "cosine"]
    modules = [program(opcode, (("layer", 7),)) for opcode in texts]
    modules[is_new_elsewhere] = program(texts[is_new_elsewhere], (("step", 2),), "train.py")
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(*modules))
    sources = WithTraining(edited(7, "    return jnp.cos(x)"))
    lines = [line.strip() for line in str(Report("check", "a", "b", (compared,), source_line=sources)).splitlines()]
    assert lines[0].endswith("model.py:7")
    assert lines[lines.index("model.py:7 (layer)") + 1 :][:2] == ["- return jnp.sin(x)", "+ return jnp.cos(x)"]


@pytest.mark.parametrize(
    ("number", "text", "where"), [(3, "RATE = 0.2", ""), (20, "    return forward, 9", " (build)")]
)
def test_the_only_edit_of_the_project_is_the_line_of_the_change(number: int, text: str, where: str) -> None:
    lines = report(Sources(edited(number, text)), LAYER)
    assert lines[0].endswith(f"model.py:{number}")
    assert f"model.py:{number}{where}" in lines


def test_no_line_is_blamed_where_several_may_have_done_it_or_a_comment_alone_was_edited() -> None:
    two = edited(3, "RATE = 0.2")
    two[19] = "    return forward, 9"
    two_of_a_function = edited(11, "    for _ in range(3):")
    two_of_a_function[13] = "        x + 1,"
    for sources in (
        Sources(two),
        Sources(two_of_a_function),
        Sources(edited(3, "RATE = 0.2"), ("model.py", "sizes.py")),  # nobody knows what is in the other one
        Sources(edited(3, "RATE = 0.1  # per step")),
        Sources(edited(1, '"""The model."""')),
        Sources(edited(3, "RATE = (")),
    ):
        assert report(sources, LAYER)[0].endswith("model.py:7")


# Two edits elsewhere, the first of which moves all lines below it by two.
HEAD, MOVED, TAIL = ["A = 2", "import math"], ["A = 3", "", "B = 4", "import math"], ["", "C = 5"]
RULES = """@jax.custom_vjp
def clipped(x, least=-1.0):
    return shifted(x)


def forward(x):
    return shifted(x), x


def backward(x, g):
    return (jnp.sign(x) * g,)


clipped.defvjp(forward, backward)


@jax.jit
def shifted(x):
    return x + OFFSET


OFFSET = 1.0


def loss(x):
    for scale in (1.0, 2.0):
        x = clipped(x) * scale
    y = jnp.exp(x)
    return (
        jnp.sin(y)
    )
""".splitlines()
_CALL = "        x = clipped(x) * scale"


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (_CALL, "    return (jnp.sign(x) * g,)", "    return (g,)"),  # its operations have the line of the call
        (_CALL, "@jax.custom_vjp", "@jax.custom_jvp"),
        (_CALL, "def clipped(x, least=-1.0):", "def clipped(x, least=-2.0):"),
        (_CALL, "    for scale in (1.0, 2.0):", "    for scale in (1.0, 3.0):"),
        (_CALL, "    return shifted(x), x", "    return shifted(x), -x"),
        (_CALL, "OFFSET = 1.0", "OFFSET = 2.0"),
        (_CALL, "@jax.jit", "@jax.checkpoint"),
        ("    y = jnp.exp(x)", "    for scale in (1.0, 2.0):", "    for scale in (1.0, 3.0):"),
        ("    return (", "        jnp.sin(y)", "        jnp.cos(y)"),
    ],
)
def test_the_edit_that_a_line_depends_on_by_names_is_found_among_others(line: str, old: str, new: str) -> None:
    before, after = [*HEAD, *RULES], [*MOVED, *RULES, *TAIL]
    after[after.index(old)] = new
    stacks = [(("loss", side.index(line) + 1),) for side in (before, after)]
    lines = report(Sources(after, old=before), *stacks)
    assert lines[0].endswith(f"model.py:{after.index(new) + 1}")


def test_where_two_edits_are_as_many_names_away_none_is_blamed() -> None:
    before, after = [*HEAD, *RULES], [*MOVED, *RULES, *TAIL]
    after[after.index("@jax.jit")] = "@jax.checkpoint"
    after[after.index("    return (jnp.sign(x) * g,)")] = "    return (g,)"
    stacks = [(("loss", side.index(_CALL) + 1),) for side in (before, after)]
    assert report(Sources(after, old=before), *stacks)[0].endswith(f"model.py:{after.index(_CALL) + 1}")


@pytest.mark.parametrize(
    ("opcodes", "old", "new"),
    [
        (("sine", "copy"), "    y = jnp.exp(x)", "    y = x"),
        (("copy", "sine"), "    y = jnp.exp(x)", "    y = jnp.sin(jnp.exp(x))"),
        (("sine", "copy"), "        jnp.sin(y)", "        y"),
    ],
)
def test_what_is_gone_has_the_number_of_its_line_now(opcodes: tuple[str, str], old: str, new: str) -> None:
    before, after = [*HEAD, *RULES], [*MOVED, *RULES, *TAIL]
    after[after.index(old)] = new
    programs = [
        program(opcode, (("loss", side.index(text) + 1),))
        for opcode, side, text in zip(opcodes, (before, after), (old, new), strict=True)
    ]
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(*programs))
    sources = Sources(after, old=before)
    text = [line.strip() for line in str(Report("check", "a", "b", (compared,), source_line=sources)).splitlines()]
    assert text[0].endswith(f"model.py:{after.index(new) + 1}")
    at = text.index(f"- {old.strip()}")
    assert text[at + 1] == f"+ {new.strip()}"


REGISTERED = """step = jax.jit(train, donate_argnums=0)


@hlodiff.register
def case():
    x = hlodiff.abstract(SIZE)
    return hlodiff.Case(
        step,
        x,
        donate=0,
    )


SIZE = 8
""".splitlines()


def donated(*arguments: int) -> hlodiff.Module:
    """Two arguments that are returned, some of them donated."""
    types = ", ".join(
        f"%arg{n}: tensor<4xf32>{f' {{tf.aliasing_output = {n} : i32}}' if n in arguments else ''}" for n in range(2)
    )
    return hlodiff.read_text(
        f"module @m {{\n  func.func public @main({types}) -> (tensor<4xf32>, tensor<4xf32>) {{\n"
        "    return %arg0, %arg1 : tensor<4xf32>, tensor<4xf32>\n  }\n}\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("        donate=0,", "        donate=(),", 14),
        ("        donate=0,", "", 12),  # gone, and its number was that
        ("step = jax.jit(train, donate_argnums=0)", "step = jax.jit(train)", 5),
        ("SIZE = 8", "SIZE = 9", 18),
        ("", "", 14),  # nothing that is known was edited: what says which are donated
    ],
)
def test_a_lost_donation_has_the_line_that_donated(old: str, new: str, line: int) -> None:
    before = [*HEAD, *REGISTERED]
    after = [*MOVED, *REGISTERED, *TAIL]
    if old:
        after[after.index(old)] = new
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(donated(0, 1), donated(1)))
    at = after.index("@hlodiff.register") + 1
    known = Report(
        "check", "a", "b", (compared,), source_line=Sources(after, old=before), registered={"f": ("model.py", at)}
    )
    first = str(known).splitlines()[0]
    assert "1 argument is no longer donated" in first
    assert first.endswith(f"; model.py:{line}")
    assert str(replace(known, source_line=None)).splitlines()[0].endswith(f"; model.py:{at}")
    if old:  # two revisions are compared without importing what they register
        named = {"@hlodiff.register": '@register(name="f")'}, {"def case():": "def f():"}
        for words in named:
            sides = [[words.get(line, line) for line in side] for side in (before, after)]
            sources = Sources(sides[1], old=sides[0])
            first = str(replace(known, command="diff", registered={}, source_line=sources)).splitlines()[0]
            assert first.endswith(f"; model.py:{line}")


def test_arguments_of_another_shape_have_the_size_that_was_written_for_another() -> None:
    old, new = (
        hlodiff.read_text(
            f'module @m {{\n  func.func public @main(%arg0: tensor<{n}xf32> loc("x")) -> tensor<{n}xf32> {{\n'
            f"    %0 = stablehlo.sine %arg0 : tensor<{n}xf32>\n    return %0 : tensor<{n}xf32>\n  }}\n}}\n"
        )
        for n in (8, 9)
    )
    before = [*HEAD, *REGISTERED]
    after = [line.replace("SIZE = 8", "SIZE = 9") for line in before]
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(old, new))
    at = after.index("@hlodiff.register") + 1
    sources, registered = Sources(after, old=before), {"f": ("model.py", at)}
    first = str(Report("check", "a", "b", (compared,), source_line=sources, registered=registered)).splitlines()[0]
    assert "1 argument of another shape" in first
    assert first.endswith(f"; SIZE: 8 -> 9 at model.py:{after.index('SIZE = 9') + 1}")


@pytest.mark.parametrize(("registered", "line"), [(6, 2), (8, 5)])
def test_what_registers_one_function_says_nothing_about_another_one(registered: int, line: int) -> None:
    """Both decorators are attributes of the same module; each donation has its own line."""
    old = """import hlodiff
@jit
def one(x):
    return x
@partial(jit, donate_argnums=0)
def two(x): return x
@hlodiff.register
def first(): return hlodiff.Case(one, X)
@hlodiff.register
def second(): return hlodiff.Case(two, X)
""".splitlines()
    new = [old[0], old[4], *old[2:4], old[1], *old[5:]]
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(donated(0, 1), donated(1)))
    at = {"f": ("model.py", registered + 1)}
    known = Report("check", "a", "b", (compared,), source_line=Sources(new, old=old), registered=at)
    assert str(known).splitlines()[0].endswith(f"; model.py:{line}")


class WithOtherFile(Sources):
    """A second file beside model.py, edited too."""

    def __init__(self, new: list[str], old: list[str], name: str, others: tuple[list[str], list[str]]) -> None:
        super().__init__(new, ("model.py", name), old)
        self.name, self.others = name, others

    def __call__(self, name: str, target: str | None, side: int, file: str, line: int) -> str:
        return self.file_lines(name, target, side, file)[line - 1]

    def file_lines(self, name: str, target: str | None, side: int, file: str) -> list[str]:
        return self.others[side] if file == self.name else super().file_lines(name, target, side, file)


@pytest.mark.parametrize(
    ("line", "where"), [(3, "; rate: 1 -> 2 at lib/nets.py:1"), (5, "sine -> cosine at model.py:5")]
)
def test_names_are_followed_into_other_files_and_not_out_of_their_scope(line: int, where: str) -> None:
    model = ["from nets import rate as r", "def f(x):", "    return r * x", "def g(r):", "    return r"]
    kept = ["y = 0"]
    sources = WithOtherFile(model, model, "lib/nets.py", (["rate = 1", *kept, "x = 2"], ["rate = 2", *kept, "x = 3"]))
    assert report(sources, (("f", line),))[0].endswith(where)


@pytest.mark.parametrize(("other", "where"), [("B = 1", "model.py:3"), ("B = 2", "model.py:7")])
def test_two_edits_of_two_files_are_not_the_only_one(other: str, where: str) -> None:
    sources = WithOtherFile(edited(3, "RATE = 0.2"), MODEL, "sizes.py", (["B = 1"], [other]))
    assert report(sources, LAYER)[0].endswith(where)


def test_the_files_that_were_edited_are_asked_of_git(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    for name, text in (("a.py", "A = 1\n"), ("b.py", "B = 1\n"), ("c.txt", "1\n")):
        (tmp_path / name).write_text(text)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    for name, text in (("a.py", "A = 2\n"), ("c.txt", "2\n"), ("new.py", "")):
        (tmp_path / name).write_text(text)
    lines = SourceLines(tmp_path, (SourceSide("HEAD"), SourceSide(WORK_TREE)))
    assert lines.edited_files("f", "cpu") == ["a.py", "new.py"]
    assert lines.file_lines("f", "cpu", 0, "a.py") == ["A = 1"]
    assert SourceLines(tmp_path, (None, SourceSide(WORK_TREE))).edited_files("f", "cpu") == ()


def test_every_function_of_a_large_project_has_the_lines_that_its_snapshot_was_made_from(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    names = [f"f{number}" for number in range(45)]
    for name in names:
        folder = tmp_path / "snapshots" / name / "cpu"
        folder.mkdir(parents=True)
        (folder / "summary.yaml").write_text("format: 1\n")
    (tmp_path / "model.py").write_text("A = 1\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    (tmp_path / "model.py").write_text("A = 2\n")
    lines = of_snapshots(tmp_path, tmp_path / "snapshots")
    assert {lines(name, "cpu", 0, "model.py", 1) for name in names} == {"A = 1"}
    assert {lines(name, "cpu", 1, "model.py", 1) for name in names} == {"A = 2"}


def helped(names: str) -> Report:
    """Functions on two targets that all call the helper at line 7, in which `sin` became `cos`."""
    old, new = (program(opcode, LAYER) for opcode in ("sine", "cosine"))
    found = hlodiff.diff(old, new)
    programs = [
        ProgramComparison(name, target, stage, "changed", found)
        for name in names
        for stage in STAGES
        for target in ("cpu", "tpu-v5e")
    ]
    return Report("check", "a", "b", tuple(programs), source_line=Sources(edited(7, "    return jnp.cos(x)")))


@pytest.mark.parametrize(("names", "rows"), [("fg", 2), ("fghij", 1)])
def test_an_edited_line_that_changed_several_functions_is_shown_once_with_numbers_of_each(
    names: str, rows: int
) -> None:
    known = helped(names)
    text = to_terminal(known).splitlines()
    assert text[1:4] == ["  model.py:7 (layer)", "    - return jnp.sin(x)", "    + return jnp.cos(x)"]
    assert sum("return jnp" in line for line in text) == 2
    assert (
        text[0] == f"= {len(names)} functions changed: {len(names)} at the same cost; jnp.sin -> jnp.cos at model.py:7"
    )
    assert sum("same cost" in line for line in text[1:]) == rows
    assert sum("cpu, tpu-v5e  no executed number changed" in line for line in text) == (2 if names == "fg" else 0)
    assert not any("StableHLO is the same" in line for line in text)
    assert "only the shared changes: " in " ".join(text) or names == "fg"
    written = "`model.py:7 (layer)`\n\n- was `return jnp.sin(x)`\n- is `return jnp.cos(x)`\n"
    assert to_form(known, "comment").count(written) == 1
    assert "return jnp" not in "\n".join(to_terminal(replace(known, brief=True)).splitlines())
    page = re.sub(r"</?mark>", "", to_form(known, "html"))
    assert page.count("</span>return jnp.cos(x)</pre>") == 1
    assert read_untrusted_view(to_form(known, "json")).written[0].new_source == "return jnp.cos(x)"


def test_a_line_that_changed_one_function_is_shown_with_it() -> None:
    known = helped("f")
    assert "      - return jnp.sin(x)" in to_terminal(known).splitlines()
    assert build_view(known).written == ()


def test_of_compiled_changes_those_that_the_stablehlo_does_not_explain_are_listed() -> None:
    """A sine is new at line 4; at lines 10 to 13 the compiler now computes more, a hundred times as much."""

    def text(sine: bool, others: tuple[str, ...]) -> str:
        at = 'metadata={{op_name="jit(f)/a" source_file="net.py" source_line={}}}'.format
        lines = [f"  %b = f32[8] sine(%x), {at(4)}"] if sine else []
        lines += [f"  %{opcode} = f32[800] {opcode}(%y), {at(n)}" for n, opcode in enumerate(others, 10)]
        results = ["%b" if sine else "%x", "%y", *(f"%{opcode}" for opcode in others)]
        shapes = ["f32[8]", *["f32[800]"] * (1 + len(others))]
        return "HloModule m\n\nENTRY %e {\n  %x = f32[8] parameter(0)\n  %y = f32[800] parameter(1)\n" + "\n".join(
            [*lines, f"  ROOT %r = ({', '.join(shapes)}) tuple({', '.join(results)})\n}}\n"]
        )

    old, others = hlodiff.read_text(text(False, ())), ("cosine", "log", "sqrt", "floor")
    news = [hlodiff.read_text(text(True, more)) for more in ((), others)]
    programs = [
        ProgramComparison("f", "cpu", stage, "changed", hlodiff.diff(old, new))
        for stage, new in zip(STAGES, news, strict=True)
    ]
    listed = to_terminal(Report("diff", "a", "b", tuple(programs)), width=160).partition("compiled (executed")[2]
    assert "added cosine f32[800]" in listed and "2 more changes" in listed
    assert "sine f32[8]" not in listed.replace("cosine", ""), "the StableHLO says it"


def test_the_line_of_a_function_and_its_lambda_is_shown_once() -> None:
    stack = ("forward.<lambda>", 13), ("forward", 13)
    old, new = two_operations(stack, "negate", "sine"), two_operations(stack, "abs", "cosine")
    compared = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(old, new))
    text = to_terminal(Report("check", "a", "b", (compared,), source_line=Sources(edited(13, "    return mix("))))
    lines = [line.strip() for line in text.splitlines()]
    assert lines.count("+ return mix(") == 1


DECODER = '''"""A decoder."""
import jax
import jax.numpy as jnp


def decode(x):
    def step(h, _):
        return jnp.tanh(h), h.sum()

    return jax.lax.scan(step, x, None, length=48)[1]


def batch(x):
    return jax.vmap(decode)(x)


def gradient(x):
    return jax.grad(lambda x: decode(x).sum())(x)
'''


def of_decoder(written: str, instead: str, shape: tuple[int, ...], function: str = "batch") -> str:
    """The report of the decoder after an edit of its text."""
    sides = DECODER, DECODER.replace(written, instead)
    texts = []
    for source in sides:
        names: dict[str, Any] = {}
        exec(compile(source, "model.py", "exec"), names)
        lowered = jax.jit(names[function]).lower(jax.ShapeDtypeStruct(shape, jnp.float32))
        texts.append(hlodiff.read_text(lowered.as_text(debug_info=True)))
    found = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(*texts))
    old, new = (source.splitlines() for source in sides)
    return to_terminal(Report("diff", "a", "b", (found,), source_line=Sources(new, old=old)), width=200)


def test_what_moved_to_another_loop_of_an_edited_line_is_shown_with_both_its_sides() -> None:
    words = of_decoder("length=48)", "length=48, reverse=True)", (4,), "gradient")
    assert "reverse=True added at model.py:10" in words.partition("next:")[0] and "moved" in words, words
    assert "- return jax.lax.scan(step, x, None, length=48)[1]" in words, words


def test_the_length_of_a_loop_is_not_that_of_the_loop_around_it() -> None:
    """The old loop is paired with the new one around it, and a loop of 48 steps is inside of that now."""
    words = of_decoder("jax.vmap(decode)(x)", "jax.lax.map(decode, x)", (12, 4))
    assert "jax.lax.map(decode, x)" in words and "48 -> 12" not in words, words


SPECS = '''"""A sharded sum."""
import jax
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.AbstractMesh((4,), ("data",))


def loss(x, y):
    @jax.shard_map(
        mesh=mesh,
        in_specs=(P("data"), P("data")),
        out_specs=P("data"),
    )
    def local(x, y):
        whole = jax.lax.all_gather(y, "data", tiled=True)
        return jax.numpy.sin(x) * whole.sum()

    return local(x, y)
'''


def test_inputs_of_shard_map_that_are_sharded_differently_have_the_line_of_the_specs() -> None:
    """Its operation has the line of the call, and the body was edited too."""
    new = SPECS.replace('(P("data"), P("data"))', '(P("data"), P())')
    new = new.replace('        whole = jax.lax.all_gather(y, "data", tiled=True)\n', "").replace("whole.sum", "y.sum")
    texts = []
    for source in (SPECS, new):
        names: dict[str, Any] = {}
        exec(compile(source, "model.py", "exec"), names)
        array = jax.ShapeDtypeStruct((8,), jnp.float32)
        texts.append(
            hlodiff.read_text(
                jax.jit(names["loss"]).trace(array, array).lower(lowering_platforms=("cpu",)).as_text(debug_info=True)
            )
        )
    found = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(*texts))
    sources = Sources(new.splitlines(), old=SPECS.splitlines())
    words = to_terminal(Report("diff", "a", "b", (found,), source_line=sources), width=160)
    assert "inputs of shard_map are sharded differently (P('data',) -> replicated) at model.py:11" in words
    lines = [line.strip() for line in words.splitlines()]
    at = lines.index('- in_specs=(P("data"), P("data")),')
    assert lines[at + 1] == '+ in_specs=(P("data"), P()),'
    at = lines.index('- whole = jax.lax.all_gather(y, "data", tiled=True)')
    assert lines[at - 1] == "was model.py:15 (loss.local)"


SCALED = '''"""Attention scores."""
import jax.numpy as jnp


def scores(q, k):
    scale = q.shape[-1] ** -0.5
    turned = jnp.sin(q)
    return jnp.einsum("bqh,bkh->bqk", turned, k) * scale
'''


def test_a_factor_that_went_from_one_line_to_another_moved_and_both_lines_are_shown() -> None:
    """The multiplications have other sizes, but neither line's took the place of the other's."""
    new = SCALED.replace("jnp.sin(q)", "jnp.sin(q) * scale").replace(" turned, k) * scale", " turned, k)")
    texts = []
    for source in (SCALED, new):
        names: dict[str, Any] = {}
        exec(compile(source, "model.py", "exec"), names)
        arrays = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((2, 8, 16), (2, 32, 16)))
        lowered = jax.jit(names["scores"]).trace(*arrays).lower(lowering_platforms=("cpu",))
        texts.append(hlodiff.read_text(lowered.as_text(debug_info=True)))
    found = ProgramComparison("f", "cpu", "stablehlo", "changed", hlodiff.diff(*texts))
    sources = Sources(new.splitlines(), old=SCALED.splitlines())
    words = to_terminal(Report("diff", "a", "b", (found,), source_line=sources), width=160)
    assert "* scale moved from model.py:8 to model.py:7" in words.partition("next:")[0], words
    lines = [line.strip() for line in words.splitlines()]
    assert "+ turned = jnp.sin(q) * scale" in lines and '+ return jnp.einsum("bqh,bkh->bqk", turned, k)' in lines
