"""Each graph rule by its fixture: a program that keeps it, one that breaks it, and what is said of that one."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from hlodiff.config import Config, RuleUse
from hlodiff.config import rules as read_rules
from hlodiff.differ import ProgramComparison, diff
from hlodiff.hlo import Module, read, read_text
from hlodiff.policy import RULES_BY_NAME, Finding, judge, over_programs
from tests.shown import headline, line_of

FOLDER = Path(__file__).parent / "fixtures" / "policy"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "policy.md"
USED: dict[str, object] = {
    "no-collective": {"kind": "all-gather", "axis": "model"},
    "custom-calls": {"only": ["__cublas*"]},
}


def use_of(rule: str) -> RuleUse:
    return read_rules({rule: USED.get(rule, "error")}, "pyproject.toml: [tool.hlodiff] rules", RULES_BY_NAME)[0]


def compared(old: Module, new: Module) -> ProgramComparison:
    found = diff(old, new)
    return ProgramComparison("step", "cpu", new.stage, "identical" if found.identical else "changed", found)


def broken(rule: str, old: str, new: str, use: RuleUse | None = None) -> tuple[Finding, ...]:
    """What the rule alone has to say of a fixture."""
    programs = [compared(*(read(FOLDER / rule / f"{side}.hlo") for side in (old, new)))]
    lowered = FOLDER / rule / "stablehlo.mlir"
    if lowered.is_file():
        programs.insert(0, compared(read(lowered), read(lowered)))
    config = Config(root=FOLDER, fail_on=(), rules=(use or use_of(rule),))
    return tuple(found for found in judge(programs, config) if found.rule != "changed")


def text(findings: tuple[Finding, ...]) -> str:
    lines = []
    for found in findings:
        file, line, function, _ = line_of(found.source)
        place = f"  {Path(file).name}:{line} ({function})" if file else ""
        lines += [f"{found.severity} {found.rule}: {found.what}{place}", f"  subject: {found.subject}"]
        lines += [f"  {detail}" for detail in found.details]
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("rule", RULES_BY_NAME)
def test_a_fixture_that_breaks_the_rule_and_one_that_keeps_it(rule: str) -> None:
    found = broken(rule, "old", "new")
    golden = FOLDER / rule / "golden.txt"
    assert text(found) == golden.read_text(encoding="utf-8")
    assert found and {each.rule for each in found} == {rule}
    assert len(over_programs(found)) == 1
    assert broken(rule, "old", "old") == (), "what keeps it"


@pytest.mark.parametrize("rule", [rule for rule in RULES_BY_NAME if rule != "no-lost-placement"])
def test_what_is_no_worse_than_before_breaks_no_rule_of_change(rule: str) -> None:
    back = broken(rule, "new", "old")
    assert back == (), "an improvement never fails"


@pytest.mark.parametrize("rule", ["no-widened-type", "no-entry-copy", "no-lost-placement"])
def test_rules_of_change_say_nothing_of_a_program_that_is_new_or_unchanged(rule: str) -> None:
    assert broken(rule, "new", "new") == ()
    new = read(FOLDER / rule / "new.hlo")
    alone = ProgramComparison("step", "cpu", "compiled", "added", module=new)
    found = judge([alone], Config(root=FOLDER, rules=(use_of(rule),)))
    assert [each.rule for each in found] == ["new"]


@pytest.mark.parametrize(
    "rule", ["no-f64", "no-host-callback", "no-collective", "donation-aliases", "no-dynamic-shape", "custom-calls"]
)
def test_rules_of_state_judge_unchanged_programs_too(rule: str) -> None:
    assert broken(rule, "new", "new")


def test_every_rule_has_a_row_in_the_documentation_that_names_its_options() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \| .* \|$", page.partition("\n## Rules\n")[2], re.MULTILINE)
    assert [name for name, _ in rows] == [rule.name for rule in RULES_BY_NAME.values()]
    told = dict(rows)
    assert [f"{rule.name}.{option.name}" for rule in RULES_BY_NAME.values() for option in fields(rule)
            if f"`{option.name}`" not in told[rule.name]] == []  # fmt: skip


def test_severity_and_patterns_are_those_of_the_use() -> None:
    warned = RuleUse("no-f64", functions=("st*",), targets=("cpu",), severity="warn")
    assert {found.severity for found in broken("no-f64", "old", "new", warned)} == {"warning"}
    for other in (RuleUse("no-f64", functions=("train*",)), RuleUse("no-f64", targets=("tpu-*",))):
        assert broken("no-f64", "old", "new", other) == ()


def test_the_other_axis_may_be_gathered_over_and_an_unknown_one_is_said() -> None:
    data = RuleUse("no-collective", options=(("kind", "all-gather"), ("axis", "data")))
    assert broken("no-collective", "old", "new", data) == ()
    assert len(broken("no-collective", "old", "old", data)) == 1
    wrong = RuleUse("no-collective", options=(("kind", "all-gather"), ("axis", "modle")))
    (found,) = broken("no-collective", "old", "old", wrong)
    assert found.what == "whether a collective works over `modle` is not known: the mesh has the axis `model`"
    fsdp = RuleUse("no-collective", options=(("kind", "all-gather"), ("axis", "fsdp")))
    assert broken("no-collective", "old", "old", fsdp) == (), "a mesh without the axis has no collective over it"


def test_a_fingerprint_stays_where_lines_move() -> None:
    (one,) = {found.fingerprint for found in broken("no-host-callback", "old", "new")}
    moved = (FOLDER / "no-host-callback" / "new.hlo").read_text(encoding="utf-8").replace("line=12", "line=99")

    program = ProgramComparison("step", "cpu", "compiled", "identical", module=read_text(moved))
    found = judge([program], Config(root=FOLDER, rules=(use_of("no-host-callback"),)))
    assert [each.fingerprint for each in found] == [one]
    assert "model.py:99" in text(found)


ON_HOST = """module @m {
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @wave(%x) {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.tanh %0 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @wave(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.sine %x {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""
ON_DEVICE = """module @m {
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.sine %x : tensor<8xf32>
    %1 = stablehlo.tanh %0 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
"""


def test_work_that_went_on_the_host_and_came_on_the_device_lost_its_placement() -> None:
    """Without `compute_on` JAX writes no call at all: nothing pairs, and the numbers stay the same."""
    config = Config(root=FOLDER, rules=(use_of("no-lost-placement"),))
    for old, new, places in ((ON_HOST, ON_DEVICE, ("device", "host")), (ON_DEVICE, ON_HOST, ("host", "device"))):
        program = compared(read_text(old), read_text(new))
        assert program.classes == ("placement", "structure")
        words = f"placement, structure: 1 operation now runs on the {places[0]} instead of the {places[1]}; "
        assert headline(program).startswith(words)
        found = [one.what for one in judge([program], config) if one.rule == "no-lost-placement"]
        assert len(found) == 1
        assert re.fullmatch(rf"sine %\S+ runs on the {places[0]}, it ran on the {places[1]}", found[0])
    gone = compared(read_text(ON_HOST), read_text(ON_DEVICE.replace("sine", "cosine")))
    assert "placement" not in gone.classes, "other work is done, and none of it was elsewhere"
