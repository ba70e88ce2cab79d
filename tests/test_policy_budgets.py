"""Budgets: which limit holds, what is said where one does not, and for which programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hlodiff import config as config_module
from hlodiff.config import Budget, Config, budgets, measured_as
from hlodiff.differ import CLASSES, ProgramComparison, diff, metrics
from hlodiff.errors import ConfigError
from hlodiff.hlo import collectives, read_text
from hlodiff.policy import CLEAN, FAILED, Finding, exit_code, judge, over_programs

HEAD = "HloModule jit_step, entry_computation_layout={(f32[8]{0})->f32[8]{0}}\n\n"
TABLE = (
    'FileNames\n1 "/srv/project/model.py"\n\nFunctionNames\n1 "step"\n\nFileLocations\n'
    "1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=4 end_column=20}\n\n"
    "StackFrames\n1 {file_location_id=1 parent_frame_id=0}\n\n"
)
META = ", metadata={stack_frame_id=1}"


def program(converts: int) -> str:
    """A fusion with so many casts in it."""
    lines, last = [], "q"
    for number in range(converts):
        to = "bf16" if number % 2 == 0 else "f32"
        lines.append(f"  %c{number} = {to}[8]{{0}} convert(%{last}){META}\n")
        last = f"c{number}"
    body = "".join(lines)
    return (
        f"{HEAD}{TABLE}%fused {{\n  %q = f32[8]{{0}} parameter(0)\n{body}  ROOT %t = f32[8]{{0}} tanh(%{last})\n}}\n\n"
        "ENTRY %main {\n  %x = f32[8]{0} parameter(0)\n"
        "  ROOT %f = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused\n}\n"
    )


def compared(
    old: int, new: int, before: Mapping[str, float] | None = None, after: Mapping[str, float] | None = None
) -> ProgramComparison:
    found = diff(read_text(program(old)), read_text(program(new)))
    status = "identical" if found.identical else "changed"
    return ProgramComparison("train/big", "tpu-v5e-2x2", "compiled", status, found, before or {}, after or {})  # type: ignore[arg-type]


def judged(one: ProgramComparison, **table: object) -> tuple[Finding, ...]:
    config = Config(root=Path(), fail_on=(), budgets=budgets([table], "pyproject.toml: [tool.hlodiff] budgets"))
    return tuple(found for found in judge([one], config) if found.rule == "budget")


def said(one: ProgramComparison, **table: object) -> list[str]:
    return [found.what for found in judged(one, **table)]


MEMORY = ({"memory.temp": 2**20}, {"memory.temp": 1.5 * 2**20})


@pytest.mark.parametrize(
    ("limit", "what"),
    [
        (2, "converts is 4; at most 2"),
        ({"max": 4}, ""),
        ({"min": 5}, "converts is 4; at least 5"),
        ({"ratchet": True}, "converts grew from 2 to 4 (+100.0 %); it may only fall"),
        ({"max_increase": 1}, "converts grew from 2 to 4 (+100.0 %); at most +1"),
        ({"max_increase": 2}, ""),
        ({"max_increase": "50%"}, "converts grew from 2 to 4 (+100.0 %); at most +50 %"),
        ({"max_increase": "100%"}, ""),
    ],
)
def test_limits_of_what_is_counted_also_inside_fusions(limit: object, what: str) -> None:
    assert said(compared(2, 4), converts=limit) == ([what] if what else [])


@pytest.mark.parametrize(
    ("limit", "what"),
    [
        ("1 MiB", "temp_bytes is 1.5 MiB; at most 1.0 MiB"),
        ("2MiB", ""),
        ({"max_increase": "2%"}, "temp_bytes grew from 1.0 MiB to 1.5 MiB (+50.0 %); at most +2 %"),
        ({"max_increase": "1KiB"}, "temp_bytes grew from 1.0 MiB to 1.5 MiB (+50.0 %); at most +1.0 KiB"),
    ],
)
def test_limits_of_memory_have_units(limit: object, what: str) -> None:
    assert said(compared(2, 4, *MEMORY), temp_bytes=limit) == ([what] if what else [])


@pytest.mark.parametrize("limit", [{"ratchet": True}, {"max_increase": 0}, {"max_increase": "0%"}, {"max": 2}])
def test_an_improvement_never_fails(limit: object) -> None:
    assert said(compared(4, 2), converts=limit) == []


def test_a_ratchet_holds_for_a_program_that_had_none_at_all() -> None:
    assert said(compared(0, 2), converts={"ratchet": True}) == ["converts grew from 0 to 2; it may only fall"]


def test_absolute_limits_hold_for_unchanged_and_new_programs() -> None:
    module = read_text(program(4))
    for status in ("identical", "added"):
        one = ProgramComparison("f", "cpu", "compiled", status, module=module)
        table: dict[str, object] = {"converts": 2, "fusions": {"ratchet": True}, "fusion.converts": 3, "op.tanh": 0}
        assert said(one, **table) == [
            "converts is 4; at most 2", "fusion.converts is 4; at most 3", "op.tanh is 1; at most 0"
        ]  # fmt: skip
    assert said(ProgramComparison("f", "cpu", "compiled", "removed", module=module), converts=0) == []
    assert said(ProgramComparison("f", "cpu", "compiled", "not_checked"), converts=0) == []


def test_what_nobody_knows_is_said_and_decides_nothing() -> None:
    (found,) = judged(compared(2, 2), temp_bytes=0)
    assert (found.severity, found.what) == (
        "info", "temp_bytes is not known here: the compiler for this target does not report it"
    )  # fmt: skip
    assert exit_code([found]) == CLEAN


@pytest.mark.parametrize(
    ("scope", "fits"),
    [
        ({"functions": ["train*"]}, True),
        ({"functions": ["train"]}, True),
        ({"functions": ["train/small"]}, False),
        ({"functions": ["eval*"]}, False),
        ({"targets": ["tpu-*"]}, True),
        ({"targets": ["cpu", "cuda-*"]}, False),
        ({"functions": ["eval*", "train/b*"], "targets": ["tpu-v5e-?x?"]}, True),
        ({"stage": "stablehlo"}, False),
    ],
)
def test_budgets_are_for_the_programs_that_their_patterns_match(scope: dict[str, object], fits: bool) -> None:
    assert len(said(compared(2, 4), **scope, converts=0)) == int(fits)


def test_a_finding_has_the_line_the_advice_and_a_fingerprint() -> None:
    (found,) = judged(compared(2, 4), converts=2, severity="warn")
    assert (found.severity, found.rule, found.program, found.target) == (
        "warning",
        "budget",
        "train/big",
        "tpu-v5e-2x2",
    )
    assert found.advice == "if it is meant, raise converts in [tool.hlodiff] budgets 1"
    assert (found.source[0].file, found.source[0].line) == ("/srv/project/model.py", 12)
    assert found.details and found.details[0].startswith("added ")
    assert found.fingerprint == judged(compared(1, 8), converts=2)[0].fingerprint, "another number, the same limit"
    assert exit_code([found]) == CLEAN and over_programs([found]) == frozenset()
    (error,) = judged(compared(2, 4), converts=2)
    assert exit_code([error]) == FAILED and len(over_programs([error])) == 1


def test_fail_on_says_which_classes_fail() -> None:
    one = compared(2, 4)
    assert one.classes[0] == "numerics"
    for names, severity in ((("numerics",), "error"), (("interface", "placement"), "info"), ((), "info")):
        (found,) = judge([one], Config(root=Path(), fail_on=names))
        assert (found.rule, found.severity) == ("changed", severity)
    assert "only in numerics" in judge([one], Config(root=Path(), fail_on=("cost",)))[0].what
    stablehlo = replace(one, stage="stablehlo")
    both = judge([stablehlo, one], Config(root=Path(), fail_on=("numerics",)))
    assert [found.severity for found in both] == ["error"], "once for both stages"


EVERY_KIND = """HloModule m

%fused {
  ROOT %q = f32[8]{0} parameter(0)
}

%sum {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%more {
  %v = f32[8]{0} parameter(0)
  ROOT %p = pred[] constant(true)
}

%turn {
  ROOT %w = f32[8]{0} parameter(0)
}

%one {
  ROOT %o = f32[8]{0} parameter(0)
}

%called {
  ROOT %c = f32[8]{0} parameter(0)
}

ENTRY %main {
  %x = f32[8]{0} parameter(0)
  %zero = f32[] constant(0)
  %f = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused
  %l = f32[8]{0} while(%f), condition=%more, body=%turn
  %total = f32[] reduce(%l, %zero), dimensions={0}, to_apply=%sum
  %n = s32[] parameter(1)
  %k = f32[8]{0} conditional(%n, %l), branch_computations={%one}
  ROOT %r = f32[8]{0} custom-call(%k), custom_call_target="t", called_computations={%called}
}
"""


def test_the_configuration_knows_what_is_counted() -> None:
    fixed = [name for name in metrics._FIXED if not name.startswith("ops.")]
    assert sorted(config_module.COUNTED) == sorted([*fixed, "launches"])
    assert config_module.FAMILIES == collectives.FAMILIES
    assert [*diff(read_text(EVERY_KIND), read_text(EVERY_KIND)).kinds] == [*config_module.KINDS]
    assert set(config_module.FAIL_ON) == set(CLASSES) - {"schedule", "identical"}


def test_every_metric_has_a_value() -> None:
    one = ProgramComparison("f", "cpu", "compiled", "identical", module=read_text(program(2)))
    names = [*config_module.COUNTED, *(f"collectives.{f}.bytes" for f in config_module.FAMILIES), "custom_calls.x"]
    names += [
        f"{kind}.{name}" for kind in config_module.KINDS for name in ("copies", "op.add", "collectives.all-gather")
    ]
    assert all(measured_as(name) for name in names)
    assert said(one, **dict.fromkeys(names, 10**9)) == []


def test_a_budget_without_a_place_has_no_advice() -> None:
    config = Config(root=Path(), fail_on=(), budgets=(Budget((config_module.Limit("converts", most=0),)),))
    assert [f.advice for f in judge([compared(2, 4)], config) if f.rule == "budget"] == [""]


def test_the_budget_of_a_function_is_for_it_alone_and_says_where_it_stands() -> None:
    budget = config_module.budget_of("train", {"converts": 2, "targets": ["tpu-*"]}, "m.py:7")
    found = [f for f in judge([compared(2, 4)], Config(root=Path(), budgets=(budget,))) if f.rule == "budget"]
    assert [f.advice for f in found] == ["if it is meant, raise converts in the budget at m.py:7"]
    other = config_module.budget_of("eval", {"converts": 2}, "m.py:9")
    assert [f.rule for f in judge([compared(2, 4)], Config(root=Path(), fail_on=(), budgets=(other,)))] == ["changed"]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"convrts": 2}, "m.py:7: budget: unknown metric `convrts`\nhint: did you mean `converts`?"),
        ({}, "m.py:7: budget: has no limit"),
        ({"functions": ["f"], "converts": 1}, "m.py:7: expected a budget of this function"),
        ([("converts", 2)], "m.py:7: expected a budget of this function"),
    ],
)
def test_a_mistake_in_the_budget_of_a_function(table: object, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_module.budget_of("f", table, "m.py:7")
    assert caught.value.render().startswith(says)
