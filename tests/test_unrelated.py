"""Programs that have little in common are listed, not matched; groups of equals pair as groups."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from hlodiff import Limits, ModuleDiff, diff
from hlodiff.differ import ProgramComparison, classes_of
from hlodiff.hlo import Module, read_text
from hlodiff.report import Report, build_view
from tests.scenarios import module

_UNARY = ["sine", "cosine", "tanh", "exponential", "log", "sqrt", "floor", "ceil"]


def program(
    opcodes: list[str], element_type: str, seed: int, unused: int = 0, first: str = "", size: int = 8
) -> Module:
    """40 fusions, one after another, of 16 instructions each; and arguments that nothing uses.

    The first fusion may hold one kind of operation.
    """
    chance = Random(seed)
    fusions, calls = [], ["  c0 = f32[8]{0} parameter(0)"]
    for number in range(40):
        rows = ["  v0 = f32[8]{0} parameter(0)", f"  v1 = {element_type}[8]{{0}} convert(v0)"]
        rows += [
            f"  v{n + 1} = {element_type}[8]{{0}} {chance.choice(opcodes if number or not first else [first])}(v{n})"
            for n in range(1, 14)
        ]
        rows.append("  ROOT v15 = f32[8]{0} convert(v14)")
        fusions.append("\n".join([f"fused{number} {{", *rows, "}\n"]))
        calls.append(f"  c{number + 1} = f32[8]{{0}} fusion(c{number}), kind=kLoop, calls=fused{number}")
    calls[1:1] = [f"  unused{n} = s32[{n}]{{0}} parameter({n})" for n in range(1, unused + 1)]
    calls[-1] = calls[-1].replace("  c", "  ROOT c", 1)
    return module("\n".join([*fusions, "ENTRY main {", *calls, "}"]).replace("[8]", f"[{size}]"))


OLD, NEW = program(_UNARY[:4], "f16", 1), program(_UNARY[4:], "bf16", 2)


@pytest.fixture(scope="module")
def found() -> ModuleDiff:
    return diff(OLD, NEW)


def test_unrelated_programs_are_listed_and_said_to_be(found: ModuleDiff) -> None:
    (hit,) = found.limit_hits
    assert hit.name == "unrelated"
    assert hit.words.startswith("only 0 % in common; all but the arguments is listed as removed and added")
    # 40 calls, and 15 instructions in each fusion; the argument of the program is paired.
    assert found.summary == {"added": 640, "removed": 640, "changed": 0, "moved": 0}
    assert found.op_counts["tanh"][0] > 0 == found.op_counts["tanh"][1]
    assert found.metrics["bytes_accessed"][0] > 0 < found.metrics["bytes_accessed"][1]


def test_below_changed_stablehlo_a_list_of_all_says_nothing_of_unrelated_programs(found: ModuleDiff) -> None:
    written = [
        read_text(
            "module @m {\n  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
            f"    %b = stablehlo.{opcode} %a : tensor<8xf32>\n    return %b : tensor<8xf32>\n  }}\n}}\n"
        )
        for opcode in ("sine", "tanh")
    ]
    both = [ProgramComparison("f", "cpu", one.new.stage, "changed", one) for one in (diff(*written), found)]
    report = Report("diff", "a", "b", tuple(both))
    (function,) = build_view(report).functions
    compiled = [stage for stage in function.stages if stage.stage == "compiled"]
    assert not any(stage.lines for stage in compiled) and sum(stage.left for stage in compiled) > 3
    assert [note[:26] for stage in compiled for note in stage.notes] == ["limits: only 0 % in common"]
    whole = build_view(replace(report, all=True)).functions[0].stages
    assert any(stage.lines for stage in whole if stage.stage == "compiled")


def test_the_script_of_unrelated_programs_replays_both_ways(found: ModuleDiff) -> None:
    back = diff(NEW, OLD)
    assert found.replay().complete and back.replay().complete
    assert back.limit_hits == found.limit_hits
    turned = {(edit.new, edit.old, edit.count) for edit in back.edits}
    assert turned == {(edit.old, edit.new, edit.count) for edit in found.edits}


def test_what_both_hold_of_unrelated_programs_is_no_change_of_numbers() -> None:
    """It is listed as removed and added, with all the rest, and rounds as it did."""
    same = diff(*(program(ops, "f32", n, first="sign") for n, ops in enumerate((_UNARY[:4], _UNARY[4:]))))
    assert [hit.name for hit in same.limit_hits] == ["unrelated"]
    assert classes_of(same) == ("structure",)
    cast = diff(*(program(ops, t, n, first="sign") for n, (t, ops) in enumerate((("f32", ["log"]), ("f16", ["sine"])))))
    assert classes_of(cast) == ("numerics", "structure")


def test_a_lower_limit_matches_them_all_the_same(found: ModuleDiff) -> None:
    one, other = program(_UNARY[:4], "f16", 1), program(_UNARY[:5], "f16", 2, unused=3)
    matched = diff(one, other)
    assert "unrelated" not in [hit.name for hit in matched.limit_hits]
    listed = diff(one, other, limits=Limits(unrelated=100))
    assert [hit.name for hit in listed.limit_hits] == ["unrelated"]
    assert listed.replay().complete
    assert sum(listed.summary.values()) > sum(matched.summary.values())


def test_programs_that_take_and_return_the_same_are_related_at_a_third_of_the_limit() -> None:
    """As one function for two targets, of which no compiler leaves more in common."""
    half = _UNARY[2:6]
    old, new, elsewhere = (program(ops, "f16", n, unused=more) for n, (ops, more) in enumerate(
        ((_UNARY[:4], 0), (half, 0), (half, 3))
    ))  # fmt: skip
    assert "unrelated" not in [hit.name for hit in diff(old, new).limit_hits]
    assert [hit.name for hit in diff(old, elsewhere).limit_hits] == ["unrelated"]


@pytest.mark.parametrize("count", [50, 210])
def test_equals_that_became_others_pair_as_a_group(count: int) -> None:
    def unary(opcode: str) -> Module:
        rows = [f"  t{n} = f32[8]{{0}} {opcode}(p)" for n in range(count)]
        return module("\n".join(["  p = f32[8]{0} parameter(0)", *rows, "  ROOT r = f32[8]{0} add(t3, t17)"]))

    found = diff(unary("tanh"), unary("exponential"))
    assert found.summary == {"added": 0, "removed": 0, "changed": count, "moved": 0}
    assert not found.limit_hits
    assert found.replay().complete


def test_a_program_whose_arrays_all_have_another_size_is_the_same_one() -> None:
    """One number in Python, such as a width, changes every shape and no operation."""
    wider = program(_UNARY, "bf16", 3, size=12)
    found = diff(program(_UNARY, "bf16", 3), wider)
    assert not found.limit_hits
    assert {edit.kind for edit in found.edits} == {"changed"}
    assert found.replay().complete
    others = diff(program(_UNARY[:2], "f16", 1), wider)
    assert [hit.name for hit in others.limit_hits] == ["unrelated"]
