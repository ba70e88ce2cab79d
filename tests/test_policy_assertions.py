"""Assertions on a program: each holds for one text, fails for another, and says which instruction it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hlodiff import Program
from hlodiff.errors import ConfigError
from hlodiff.hlo import read, read_text

FOLDER = Path(__file__).parent / "fixtures" / "policy"
LOWERED = read(FOLDER / "no-collective" / "stablehlo.mlir")
TABLE = (
    'FileNames\n1 "/srv/project/model.py"\n\nFunctionNames\n1 "step"\n\nFileLocations\n'
    "1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=4 end_column=20}\n\n"
    "StackFrames\n1 {file_location_id=1 parent_frame_id=0}\n\n"
)
META = ", metadata={stack_frame_id=1}"
LOOP = """HloModule m, input_output_alias={{ {{0}}: (0, {{}}, may-alias) }}

{table}%fused {{
  %q = f32[64]{{0}} parameter(0)
  ROOT %c = f32[64]{{0}} {inner}(%q){meta}
}}

%body {{
  %s = (f32[64]{{0}}, s32[]) parameter(0)
  %x = f32[64]{{0}} get-tuple-element(%s), index=0
  %i = s32[] get-tuple-element(%s), index=1
  %f = f32[64]{{0}} fusion(%x), kind=kLoop, calls=%fused
  ROOT %t = (f32[64]{{0}}, s32[]) tuple(%f, %i)
}}

%condition {{
  %s2 = (f32[64]{{0}}, s32[]) parameter(0)
  ROOT %p = pred[] constant(false)
}}

ENTRY %main {{
  %a = f32[64]{{0}} parameter(0)
  %n = s32[] parameter(1)
  %k = f32[64]{{0}} copy(%a)
  %w = (f32[64]{{0}}, s32[]) tuple(%k, %n)
  ROOT %l = (f32[64]{{0}}, s32[]) while(%w), condition=%condition, body=%body
}}
"""


def loop(inner: str = "tanh", temp: float = 100) -> Program:
    module = read_text(LOOP.format(table=TABLE, inner=inner, meta=META))
    return Program("step", "cpu", LOWERED, module, {"memory.temp": temp}, "/srv/project")


def gathering(side: str = "new") -> Program:
    return Program("step", "cpu-4", LOWERED, read(FOLDER / "no-collective" / f"{side}.hlo"), {}, "/srv/project")


def failure(check: Callable[[], None]) -> str:
    with pytest.raises(AssertionError) as caught:
        check()
    return str(caught.value)


def test_no_copy_in_a_loop_also_not_in_its_fusions() -> None:
    loop().assert_no_copy_in_loop()
    assert failure(loop("copy").assert_no_copy_in_loop) == (
        "step on cpu:\n  copy %c f32[64] of 256 B is in a loop (model.py:12, step)"
    )
    loop("copy").assert_no_copy_in_loop(min_bytes=257)


def test_no_collective_of_a_kind_of_a_size_or_over_an_axis() -> None:
    program = gathering()
    program.assert_no_collective("all-reduce")
    program.assert_no_collective("all-gather", min_dimension=9)
    program.assert_no_collective("all-gather", min_bytes=33)
    program.assert_no_collective("all-gather", axis="data")
    line = "all-gather %g f32[8] is of the kind all-gather over dimension 0 of 8 (model.py:12, step)"
    for check in (
        lambda: program.assert_no_collective("all-gather", min_dimension=8),
        lambda: program.assert_no_collective("all-gather", min_bytes=32),
        lambda: program.assert_no_collective("all-gather", axis="model"),
        lambda: program.assert_no_collective(),
    ):
        assert failure(check) == f"step on cpu-4:\n  {line}"
    assert "is not known: the mesh has the axis `model`" in failure(lambda: program.assert_no_collective(axis="modle"))
    with pytest.raises(ConfigError, match=r"unknown collective `all-gathr`(.|\n)*did you mean `all-gather`"):
        program.assert_no_collective("all-gathr")


def test_aliased_bytes() -> None:
    loop().assert_aliased_bytes(256)
    assert failure(lambda: loop().assert_aliased_bytes(300)) == (
        "step on cpu:\n  256 B are aliased; at least 300 B. Aliased arguments: 0"
    )
    lost = Program("f", "cpu", LOWERED, read(FOLDER / "donation-aliases" / "new.hlo"))
    assert failure(lambda: lost.assert_aliased_bytes(1)).splitlines()[1:] == [
        "  0 B are aliased; at least 1 B. Aliased arguments: none",
        "  argument 0 (x), f32[8], is donated, but no result takes its buffer",
    ]


def test_growth_from_a_smaller_case() -> None:
    small = loop(temp=100)
    loop(temp=400).assert_grows_at_most(4, small)
    loop(temp=50).assert_grows_at_most(1, small)
    assert failure(lambda: loop(temp=401).assert_grows_at_most(4, small)) == (
        "step on cpu:\n  temp_bytes grew 4.01 times, from 100 B to 401 B; at most 4 times"
    )
    loop().assert_grows_at_most(1, loop(), "loops")


def test_budgets_and_rules_of_the_configuration() -> None:
    program = loop("copy")
    assert (program.metric("copies"), program.metric("copies_in_loops"), program.metric("temp_bytes")) == (2, 1, 100)
    program.assert_budget(copies={"max": 2, "static": True}, temp_bytes="1 KiB")
    turn = "1 + 1 per turn of the loop %l"
    said = failure(lambda: program.assert_budget(copies=2))
    assert said.startswith(
        f"step on cpu:\n  could not judge whether copies is at most 2: it is {turn}, whose trip count"
    )
    assert failure(lambda: program.assert_budget(copies=0)).startswith(f"step on cpu:\n  copies is {turn}; at most 0")
    said = failure(lambda: program.assert_budget(copies={"max": 1, "static": True}, temp_bytes=10))
    assert said.startswith(
        "step on cpu:\n  copies is 2; at most 1 (static) (model.py:12, step)\n  temp_bytes is 100 B; at most 10 B"
    )
    program.assert_rule("no-f64")
    gathering("old").assert_rule("no-collective", kind="all-gather", axis="model")
    assert "works over `model`" in failure(
        lambda: gathering().assert_rule("no-collective", kind="all-gather", axis="model")
    )
    with pytest.raises(ConfigError, match="unknown metric `copiez`"):
        program.metric("copiez")
    with pytest.raises(ConfigError, match="no earlier value"):
        program.assert_budget(copies={"ratchet": True})
    with pytest.raises(ConfigError, match="`flops` is not known for cpu"):
        program.assert_budget(flops=3)
    with pytest.raises(ConfigError, match="unknown key `no-f46`"):
        program.assert_rule("no-f46")


def test_placement_is_kept() -> None:
    here, there = (
        Program("step", "cpu", LOWERED, read(FOLDER / "no-lost-placement" / f"{side}.hlo"), {}, "/srv/project")
        for side in ("old", "new")
    )
    here.assert_placement_kept(here)
    assert failure(lambda: there.assert_placement_kept(here)) == (
        "step on cpu:\n  compute type of multiply %m is device, it was host (model.py:12, step)"
    )


def test_a_long_failure_is_cut() -> None:
    program = Program("step", "cpu", LOWERED, read_text(many_copies(12)))
    assert failure(program.assert_no_copy_in_loop).splitlines()[-1] == "  and 4 more"


def many_copies(count: int) -> str:
    text = LOOP.format(table=TABLE, inner="copy", meta=META)
    lines = "".join(f"  %c{n} = f32[64]{{0}} copy(%{'q' if n == 0 else f'c{n - 1}'})\n" for n in range(count - 1))
    return text.replace("  ROOT %c = f32[64]{0} copy(%q)", f"{lines}  ROOT %c = f32[64]{{0}} copy(%c{count - 2})")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda program: program.assert_budget(temp_byte="1 KiB"), "assert_budget: unknown metric `temp_byte`"),
        (lambda program: program.assert_budget(temp_bytes="much"), "assert_budget: temp_bytes: "),
        (lambda program: program.assert_rule("custom-calls", onli=["x"]), "assert_rule: custom-calls: unknown key"),
    ],
)
def test_what_was_typed_wrong_is_said_where_it_was_typed(call: Callable[[Any], None], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        call(loop())
    assert caught.value.render().startswith(words)
    own = [entry for entry in caught.traceback if not entry.frame.f_locals.get("__tracebackhide__")]
    assert {str(entry.path).rpartition("/")[2] for entry in own} == {"test_policy_assertions.py"}, (
        "a test shows no frame of ours"
    )
