"""Limits of effort: whatever they are the edits are complete, and those that were hit are said in every output."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from random import Random

import pytest

from benchmarks.bodies import unlike_fusions
from hlodiff import LimitHit, Limits, diff
from hlodiff.cli import run
from hlodiff.config import LIMITS
from hlodiff.differ import Edit, FieldChange, ModuleDiff, ProgramComparison, Site
from hlodiff.differ.local_search import CostModel, SearchBudget, local_search
from hlodiff.hlo import read_hlo
from hlodiff.report import Report, build_view, to_terminal
from tests.scenarios import module
from tests.shown import PROGRAM

OPCODES = ["sine", "cosine", "tanh", "exponential", "log", "sqrt", "floor", "ceil"]


def chain(opcodes: list[str], *ends: int) -> str:
    """Unary instructions one after another, in fusions that end where it says."""
    fusions, calls, start = [], [], 0
    for number, end in enumerate([*ends, len(opcodes)]):
        rows = ["  v0 = f32[8]{0} parameter(0)"]
        rows += [f"  v{n} = f32[8]{{0}} {opcode}(v{n - 1})" for n, opcode in enumerate(opcodes[start:end], 1)]
        rows[-1] = rows[-1].replace("  v", "  ROOT v", 1)
        fusions.append("\n".join([f"fused{number} {{", *rows, "}\n"]))
        calls.append(f"  f{number + 1} = f32[8]{{0}} fusion(f{number}), kind=kLoop, calls=fused{number}")
        start = end
    calls[-1] = calls[-1].replace("  f", "  ROOT f", 1)
    return "\n".join([*fusions, "ENTRY main {", "  f0 = f32[8]{0} parameter(0)", *calls, "}"])


def growing(opcode: str, *operands: int) -> str:
    """Instructions of which each has a type of its own, and the number of its operand."""
    steps = [f"  x{n} = f32[{n + 1}] {opcode}(x{operand})" for n, operand in enumerate(operands, 1)]
    return "\n".join(["  x0 = f32[1] parameter(0)", *steps, f"  ROOT r = f32[] negate(x{len(steps)})"])


CASES = {
    "assignment": (growing("sine", 0, 0, 1, 0, 1), growing("cosine", 0, 1, 2, 3, 4)),
    "search": (chain(OPCODES[:4]), chain(OPCODES[3::-1])),
    "moves": (chain(["tanh", *OPCODES[1:]]), chain(["tanh", *OPCODES[1:]], 3)),
    "move_rounds": (chain(OPCODES), chain(OPCODES, 3)),
}
HIT = LimitHit(
    "search",
    1,
    1,
    "matching was cut short in 1 computation: the edits are correct but may not be the fewest; "
    "to search longer, raise limits.search (now 1) in [tool.hlodiff]",
)


@pytest.mark.parametrize("name", CASES)
def test_a_low_limit_is_said_and_leaves_the_edits_complete(name: str) -> None:
    old, new = map(module, CASES[name])
    best = diff(old, new)
    found, back = (diff(*pair, limits=Limits(**{name: 1})) for pair in ((old, new), (new, old)))
    assert best.limit_hits == () == best.limits
    (hit,) = found.limit_hits
    assert (hit.name, hit.value) == (name, 1)
    assert f"raise limits.{name} (now 1) in [tool.hlodiff]" in hit.words
    assert found.limits == (hit.words,)
    assert back.limit_hits == found.limit_hits
    assert found.replay().complete and back.replay().complete
    lengths = [sum(one.summary.values()) for one in (best, found)]
    assert lengths[0] <= lengths[1]
    assert (lengths[0] < lengths[1]) == (name != "assignment"), "what is not assigned, the search finds here"


def test_between_unlike_programs_the_search_ends_early_and_says_so() -> None:
    chance = Random(1)
    old, new = (module(chain(chance.choices(opcodes, k=130))) for opcodes in (OPCODES[:5], OPCODES[3:]))
    found, searched = diff(old, new, limits=Limits(search=20)), diff(old, new)
    assert [hit.name for hit in found.limit_hits] == ["search"]
    assert not searched.limit_hits
    assert sum(found.summary.values()) >= sum(searched.summary.values())
    assert found.replay().complete


def test_all_computations_together_get_one_budget_and_keep_what_they_have_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left: list[int] = []
    spent = changed_after = 0

    def watched(model: CostModel, limits: Limits, budget: SearchBudget) -> bool:
        nonlocal spent, changed_after
        before, is_spent = list(model.pairing.old), not budget.share(model.old.size + model.new.size)
        left.append(budget.left)
        done = local_search(model, limits, budget)
        spent += is_spent
        changed_after += is_spent and model.pairing.old != before
        return done

    monkeypatch.setattr("hlodiff.differ.computation_matches.local_search", watched)
    old, new = (read_hlo(unlike_fusions(200, seed)) for seed in (1, 2))
    limits = Limits(search=10)
    found = diff(old, new, limits=limits)
    assert left[0] == SearchBudget.of(limits).left > left[1] and left == sorted(left, reverse=True)
    assert 190 < len(left) <= 201 and 100 < spent < len(left) and not changed_after
    hits = {hit.name: hit.computations for hit in found.limit_hits}
    assert spent - 20 < hits["search"] <= 201, "but where the first matching needs no search"
    back = diff(new, old, limits=limits)
    assert back.limit_hits == found.limit_hits
    assert [back.summary[kind] for kind in ("added", "removed", "changed")] == [
        found.summary[kind] for kind in ("removed", "added", "changed")
    ]
    assert found.replay().complete and back.replay().complete


def test_equal_instructions_that_stay_where_they_were_hit_no_limit() -> None:
    """Nothing moves within a computation, however many were added and removed there."""
    old, new = (
        module("\n".join(["  p = f32[8] parameter(0)", *rows, "  ROOT r = f32[8] negate(p)"]))
        for rows in (
            [f"  x{n} = f32[8] sine(p)" for n in range(9)],
            [f"  c{n} = f32[8] constant({{{n}}})\n  x{n} = f32[8] sine(c{n})" for n in range(9)],
        )
    )
    assert "moves" not in [hit.name for hit in diff(old, new, limits=Limits(moves=1)).limit_hits]


def test_the_configuration_knows_every_limit() -> None:
    assert [each.name for each in fields(Limits)] == list(LIMITS)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for side, text in zip(("old", "new"), CASES["search"], strict=True):
        (tmp_path / f"{side}.hlo").write_text(f"HloModule m\n\n{text}\n")
    (tmp_path / "pyproject.toml").write_text("[tool.hlodiff.limits]\nsearch = 1\n")
    return tmp_path


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_reports_say_which_limit_was_hit(form: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "old.hlo", "new.hlo", "--verify", "--format", form]) == 0
    text = " ".join(capsys.readouterr().out.replace("\\", "").split())
    assert HIT.words in text


def test_json_says_which_limit_was_hit(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "old.hlo", "new.hlo", "--format", "json"]) == 0
    (program,) = json.loads(capsys.readouterr().out)["programs"]
    assert program["limits"] == [HIT.words]
    assert program["limits_hit"] == [{"name": "search", "value": 1, "computations": 1, "words": HIT.words}]


def test_outside_a_project_the_defaults_hold(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "pyproject.toml").unlink()
    assert run(["diff", "old.hlo", "new.hlo", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["programs"][0]["limits_hit"] == []


def test_a_mistake_in_the_limits_is_no_default(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "pyproject.toml").write_text("[tool.hlodiff.limits]\nserch = 1\n")
    assert run(["diff", "old.hlo", "new.hlo"]) == 2
    assert "did you mean `search`?" in capsys.readouterr().err


def test_a_report_says_once_in_how_many_computations_a_search_was_cut_short() -> None:
    (moves,) = diff(*map(module, CASES["moves"]), limits=Limits(moves=1)).limit_hits
    site = Site(0, 0, "e", "r", "tanh", "r = f32[1] tanh(x)")
    edit = Edit("changed", ("shape",), 1, ((site, site),), (FieldChange("shape", "f32[1]", "f32[2]"),))
    programs = [
        ProgramComparison(name, "cpu", "compiled", "changed", ModuleDiff(PROGRAM, PROGRAM, (edit,), limit_hits=hits))
        for name, hits in (
            ("f", (HIT,)),
            ("g", (replace(HIT, computations=1200),)),
            ("h", (replace(HIT, computations=7), replace(moves, computations=2))),
            *((f"k{n}", ()) for n in range(20)),
        )
    ]
    cut, moved = build_view(Report("diff", "a", "b", tuple(programs))).limits
    assert cut.startswith("f, g, h: matching was cut short in up to 1,200 computations: ")
    assert moved.startswith("h: in 2 computations some moved instructions may be listed as removed and added; ")


def test_limits_that_mean_the_same_are_one_sentence() -> None:
    site = Site(0, 0, "e", "r", "tanh", "r = f32[1] tanh(x)")
    edit = Edit("changed", ("shape",), 1, ((site, site),), (FieldChange("shape", "f32[1]", "f32[2]"),))
    hits = (LimitHit("assignment", 200, 2, "not these words"), replace(HIT, computations=68))
    changed = ModuleDiff(PROGRAM, PROGRAM, (edit,), limit_hits=hits)
    text = to_terminal(Report("diff", "a", "b", (ProgramComparison("f", "cpu", "compiled", "changed", changed),)))
    (words,) = (line for line in " ".join(text.split()).split("limits: ")[1:])
    assert words.startswith("matching was cut short in up to 68 computations: the edits are correct but may not be")
    assert "raise limits.assignment (now 200) and limits.search (now 1) in [tool.hlodiff]" in words
