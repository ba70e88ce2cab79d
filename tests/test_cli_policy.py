"""A project's policy and the real command: what fails, what passes, and what is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hlodiff.capture import CapturedProgram, Discovery
from hlodiff.config import Config
from tests.test_cli_check import EXP, STABLEHLO, TANH, Ask, Compiler
from tests.test_cli_check import compiler as compiler

BUDGET = '[[tool.hlodiff.budgets]]\ntargets = ["cpu"]\n'


def policy(text: str) -> None:
    Path("pyproject.toml").write_text(f'[tool.hlodiff]\nmodules = ["m.py"]\n{text}')


def found(out: str) -> list[tuple[str, str, str]]:
    findings = json.loads(out)["findings"]
    return [(f["severity"], f["rule"], f["what"]) for f in findings]


def test_an_unchanged_program_over_an_absolute_limit_fails(compiler: Compiler, said: Ask) -> None:
    said("update")
    policy(BUDGET + 'functions = ["f"]\ntemp_bytes = { max = "7 B" }\n')
    code, out, _ = said("check")
    assert code == 1
    assert "temp_bytes is 8 B; at most 7 B" in out
    assert out.endswith("1 over budget, 3 unchanged; next, once within limits: hlodiff check f\n")
    assert compiler.compiled[4:] == [], "the recorded program is judged, not a new one"
    assert found(said("check", "--format", "json")[1]) == [("error", "budget", "temp_bytes is 8 B; at most 7 B")]


def test_growth_is_judged_and_a_warning_decides_nothing(compiler: Compiler, said: Ask) -> None:
    said("update")
    compiler.answers["f", "", "cpu"] = EXP
    policy("fail_on = []\n" + BUDGET + 'temp_bytes = { max_increase = "100%" }\n')
    code, out, _ = said("check")
    assert code == 1
    assert "temp_bytes grew from 8 B to 24 B (+200.0 %); at most +100 %" in out
    policy("fail_on = []\n" + BUDGET + 'severity = "warn"\ntemp_bytes = { max_increase = "100%" }\n')
    code, out, _ = said("check")
    assert code == 0
    assert out.endswith("\n1 changed (passes), 3 unchanged, 1 warning\n") and "\n  next: hlodiff accept f\n" in out
    policy("fail_on = []\n" + BUDGET + 'temp_bytes = { max_increase = "200%" }\n')
    assert said("check")[0] == 0


def test_how_much_of_a_budget_a_changed_program_uses(compiler: Compiler, said: Ask) -> None:
    said("update")
    compiler.answers["f", "", "cpu"] = EXP
    policy(BUDGET + 'temp_bytes = { max = "30 B" }\nflops = { max = 100 }\n')
    words = "temp_bytes at 80 % of its budget (24 B of 30 B, cpu)"
    out = said("check")[1]
    assert f"\n  closest budget: {words}\n" in out and f"closest budget: {words}" in said("check", "--all")[1]
    said("check", "--report", "comment=comment.md", "--report", "html=page.html", "--report", "json=result.json")
    comment = Path("comment.md").read_text().replace("\\", "")
    row = next(line for line in comment.splitlines() if line.startswith("| `f` |"))
    assert f"| temp 8 B -&gt; 24 B (+200 %); {words} |" in row and row.count("|") <= 7, "at most six columns"
    assert f"\nClosest budget: {words}.\n" in comment
    assert f"Closest budget: {words}" in Path("page.html").read_text()
    assert said("diff", "result.json", "--format", "comment")[1] == Path("comment.md").read_text()
    policy(BUDGET + 'temp_bytes = { max = "24 B" }\n')
    assert "temp_bytes at 100 % of its budget (24 B of 24 B, cpu)" in said("check")[1]
    policy(BUDGET + 'temp_bytes = { max = "23 B" }\n')
    out = said("check")[1]
    assert "of its budget" not in out and "temp_bytes is 24 B; at most 23 B" in out


def test_fail_on_lets_other_classes_pass_and_still_tells_them(compiler: Compiler, said: Ask) -> None:
    said("update")
    compiler.answers["f", "", "cpu"] = EXP
    assert said("check")[0] == 1
    policy('fail_on = ["interface", "numerics"]\n')
    code, out, _ = said("check")
    assert code == 0
    assert "): structure\n" in out and "    changed tanh -> exponential  (8 flops, 64 B)\n" in out
    assert "  passes on cpu: no longer matches its snapshot, but only in structure, which" in out
    assert out.endswith("\n1 changed (passes), 3 unchanged\n") and "\n  next: hlodiff accept f\n" in out
    assert "1 changed \\(passes\\), 3 unchanged" in said("check", "--format", "markdown")[1]
    totals = json.loads(said("check", "--format", "json")[1])["totals"]
    assert (totals["programs"], totals["changed"], totals["passing"], totals["identical"]) == (4, 1, 1, 3)
    assert found(said("check", "--format", "json")[1])[0][:2] == ("info", "changed")
    policy('fail_on = ["structure"]\n')
    assert said("check")[0] == 1


def test_classes_fail_by_function_and_target(compiler: Compiler, said: Ask) -> None:
    said("update")
    for key in compiler.answers:
        compiler.answers[key] = EXP
    tables = (
        'fail_on = []\n[[tool.hlodiff.changes]]\nfunctions = ["g"]\nfail_on = ["structure"]\n'
        '[[tool.hlodiff.changes]]\nfunctions = ["g/large"]\nfail_on = ["interface"]\n'
        '[[tool.hlodiff.changes]]\ntargets = ["tpu-*"]\nfail_on = ["structure"]\n'
    )
    policy(tables)
    code, out, _ = said("check", "--format", "json")
    told = {(f["program"], f["target"]): f["severity"] for f in json.loads(out)["findings"]}
    assert code == 1
    failing = [label for label, severity in told.items() if severity == "error"]
    assert failing == [("f", "tpu-v5e-2x2"), ("g/small", "cpu")] and set(told.values()) == {"error", "info"}
    assert said("check", "--target", "cpu", "g/large")[0] == 0
    out = said("check")[1]
    assert "  [1] changed  tanh -> exponential  8 flops, 64 B" in out
    assert out.endswith("\n4 changed (2 pass)\n") and "\nnext: hlodiff accept f g/small g/large\n" in out


def test_a_pattern_that_fits_nothing_is_told(compiler: Compiler, said: Ask) -> None:
    said("update")
    policy(
        '[[tool.hlodiff.changes]]\nfunctions = ["ff"]\nfail_on = []\n'
        '[tool.hlodiff.rules]\nno-f64 = { functions = ["g/*"], targets = ["tpus-*"] }\n' + BUDGET + "flops = 99\n"
    )
    code, out, _ = said("check")
    assert code == 0
    assert "note: [tool.hlodiff] changes 1: no function fits `ff`" in out
    assert "note: [tool.hlodiff] rules.no-f64: no target fits `tpus-*`" in out
    assert out.count("note: ") == 2
    assert "note: " not in said("check", "f")[1], "a run of some programs says nothing of the others"


def test_a_new_program_fails_whatever_may_change_and_is_judged(compiler: Compiler, said: Ask) -> None:
    policy("fail_on = []\n" + BUDGET + "op.tanh = 0\nfusions = { ratchet = true }\n")
    code, out, _ = said("check", "f", "--target", "cpu", "--format", "json")
    assert code == 1
    assert found(out) == [("error", "new", "has no snapshot"), ("error", "budget", "op.tanh is 1; at most 0")]


def test_rules_and_mistakes_in_them(compiler: Compiler, said: Ask) -> None:
    said("update")
    policy('[tool.hlodiff.rules]\ncustom-calls = { only = ["x"] }\nno-f64 = "error"\n')
    assert said("check")[0] == 0
    policy('[tool.hlodiff.rules]\nno-f46 = "error"\n')
    code, _, err = said("check")
    assert code == 2
    assert "pyproject.toml: unknown key `no-f46` in [tool.hlodiff.rules]\nhint: did you mean `no-f64`?" in err


def test_a_finding_is_told_with_its_line(compiler: Compiler, said: Ask) -> None:
    folder = Path(__file__).parent / "fixtures" / "policy" / "no-host-callback"
    compiler.answers["f", "", "cpu"] = (folder / "new.hlo").read_text(encoding="utf-8")
    policy('[tool.hlodiff.rules]\nno-host-callback = "error"\n')
    out = said("check", "f", "--target", "cpu")[1]
    assert (
        "xla_ffi_python_cpu_callback calls back to Python on the host\n  at model.py:12 (step)\n  hint: take out" in out
    )
    findings = json.loads(said("check", "f", "--target", "cpu", "--format", "json")[1])["findings"]
    told = next(f for f in findings if f["rule"] == "no-host-callback")
    assert told["source"][0] == {"file": "model.py", "line": 12, "function": "step"}
    assert len(told["fingerprint"]) == 16


def test_a_function_brings_its_own_budget(compiler: Compiler, said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    said("update")
    plain = compiler.discover

    def discover(config: Config) -> Discovery:
        found = plain(config)
        return replace(found, functions=tuple(replace(f, budget={"op.tanh": 0}) for f in found.functions[:1]))

    monkeypatch.setattr("hlodiff.workflows.check.discover", discover)
    code, out, _ = said("check", "f", "--target", "cpu")
    assert code == 1
    assert "budget: op.tanh is 1; at most 0\n  hint: if it is meant, raise op.tanh in the budget at m.py:3" in out


def test_what_another_compiler_did_is_called_so_and_can_be_let_pass(compiler: Compiler, said: Ask) -> None:
    said("update")
    compiler.answers["f", "", "cpu"] = EXP
    compiler.toolchain = {"jax": "0.11.0", "x64": False}
    code, out, _ = said("check", "f", "--target", "cpu")
    assert code == 1
    assert "): toolchain, structure\n" in out and "\n  on cpu: StableHLO is the same, so the compiler did this\n" in out
    (program,) = (p for p in json.loads(said("check", "f", "--target", "cpu", "--format", "json")[1])["programs"]
                  if p["stage"] == "compiled")  # fmt: skip
    assert (program["class"], program["classes"]) == ("toolchain", ["toolchain", "structure"])
    policy('fail_on = ["interface"]\n')
    assert said("check", "f", "--target", "cpu")[0] == 0
    policy('fail_on = ["toolchain"]\n')
    assert said("check", "f", "--target", "cpu")[0] == 1


def test_many_programs_that_the_compiler_changed_are_accepted_as_that(compiler: Compiler, said: Ask) -> None:
    for name in ("h", "i"):
        compiler.answers[name, "", "cpu"] = TANH
    said("update")
    for key in compiler.answers:
        compiler.answers[key] = EXP
    assert "\nnext: hlodiff review\n" in said("check")[1]
    compiler.toolchain = {"jax": "0.11.0", "x64": False}
    assert "\nnext: hlodiff accept --class toolchain\n" in said("check")[1]
    assert "6 accepted" in said("accept", "--class", "toolchain")[1]


def lowered_otherwise(compiler: Compiler, *where: str) -> CapturedProgram:
    """A program whose StableHLO is another one too."""
    negated = STABLEHLO.replace("    return %a", "    %b = stablehlo.negate %a : tensor<8xf32>\n    return %b")
    facts = {"toolchain": compiler.toolchain, "arguments": [], "results": [], "devices": 1}
    function, case, target = where
    return CapturedProgram(function, case, target, negated, EXP, facts, {})


def test_your_code_or_the_compiler_is_said_first_and_of_each_program(compiler: Compiler, said: Ask) -> None:
    said("update")
    compiler.toolchain = {"jax": "0.11.0", "x64": False}
    compiler.answers["g", "large", "cpu"] = EXP  # recorded by the compiler of now, and changed by another hand
    said("update", "g/large")
    compiler.answers["g", "large", "cpu"] = EXP.replace("exponential", "cosine")
    compiler.answers["f", "", "cpu"] = EXP
    compiler.answers["g", "small", "cpu"] = lowered_otherwise(compiler, "g", "small", "cpu")
    _, out, _ = said("check")
    assert out.split("\n")[:4] == [
        "▲ 3 functions changed: 1 worse, 2 at the same cost; mainly f, temp +200 % (cpu); tanh -> exponential",
        "toolchain differs: jax 0.10.2 -> 0.11.0 (cpu, tpu-v5e-2x2)",
        "the compiler changed 1 program whose StableHLO is the same",
        "1 program differs in StableHLO too: your code changed, or the way jax lowers it",
    ]
    told = {block.split("  ")[0]: block for block in out.split("\n\n") if "\n  changed on" in block}
    assert "  on cpu: StableHLO is the same, so the compiler did this\n" in told["f"]
    assert "  on cpu: StableHLO differs too: your code changed, or the way jax lowers it\n" in told["g/small"]
    assert "compiler did this" not in told["g/large"] and "differs too" not in told["g/large"]
    programs = json.loads(said("check", "--format", "json")[1])["programs"]
    made = {one["name"]: one["class"] for one in programs if one["stage"] == "compiled" and one["status"] == "changed"}
    assert made == {"f": "toolchain", "g/small": "structure", "g/large": "structure"}
