"""The report of `hlodiff upgrade`: verdicts, numbers and totals from compared programs, in all forms alike."""

from __future__ import annotations

import json
from dataclasses import replace

from hlodiff.differ import ProgramComparison, diff
from hlodiff.hlo import read_text
from hlodiff.report import Report, ToolchainChange, upgrade_text
from hlodiff.report.upgrade_table import sums, totals, upgrade_changes, upgrade_json, upgrade_markdown

TANH = "HloModule m\n\nENTRY e {\n  %p.1 = f32[8]{0} parameter(0)\n  ROOT %n.2 = f32[8]{0} tanh(%p.1)\n}\n"


def program(name: str, stage: str, new: str = TANH, temp: float = 8) -> ProgramComparison:
    found = diff(read_text(TANH), read_text(new))
    status = "identical" if found.identical else "changed"
    facts = {"memory.temp": 1024.0}, {"memory.temp": temp}
    other = status == "changed"
    return ProgramComparison(name, "cpu", stage, status, found, *facts, other_toolchain=other)  # type: ignore[arg-type]


EXP = TANH.replace("tanh", "exponential")
CUDA = "JAX's CUDA plugin is not installed"
REPORT = Report(
    "diff",
    "jax 0.9.2",
    "jax 0.10.2",
    (
        *(program("same", stage, temp=1024) for stage in ("stablehlo", "compiled")),
        program("compiler", "stablehlo", temp=1024),
        program("compiler", "compiled", EXP, temp=2048),
        program("memory", "stablehlo", temp=1024),
        program("memory", "compiled", temp=512),
        program("lowering", "stablehlo", EXP, temp=1024),
        program("lowering", "compiled", EXP, temp=1024),
        *(ProgramComparison("new", "cpu", stage, "added") for stage in ("stablehlo", "compiled")),
        *(
            ProgramComparison("gpu|x", "cuda", stage, "not_checked", reason=CUDA, advice="pip install it")
            for stage in ("stablehlo", "compiled")
        ),
        *(
            ProgramComparison("bad", "cpu", stage, "not_checked", reason="it\x1b[31m raised", broken=True)
            for stage in ("stablehlo", "compiled")
        ),
    ),
    toolchain=(ToolchainChange("jax", "0.9.2", "0.10.2", ("cpu",)),),
)


def test_verdicts_and_sums() -> None:
    rows = upgrade_changes(REPORT)
    assert {row.name: row.verdict for row in rows} == {
        "same": "identical", "compiler": "compiler", "memory": "compiler", "lowering": "lowering", "new": "added",
        "gpu|x": "not_checked", "bad": "broken",
    }  # fmt: skip
    assert list(totals(rows).items()) == [
        ("identical", 1), ("compiler", 2), ("lowering", 1), ("added", 1), ("removed", 0), ("broken", 1),
        ("not_checked", 1),
    ]  # fmt: skip
    assert {title: (old, new) for title, _, old, new in sums(rows)}["temp"] == (4096, 4608)


def test_the_same_code_on_both_sides_is_not_blamed() -> None:
    text = upgrade_text(replace(REPORT, same_code=True), width=120, details=True)
    assert "1 program differs in StableHLO too: this jax lowers it differently\n" in text
    assert "  on cpu: StableHLO differs too: this jax lowers it differently\n" in text
    assert "your code changed" not in text and "your code changed" in upgrade_text(REPORT, width=120, details=True)


def test_text() -> None:
    text = upgrade_text(REPORT, width=120)
    lines = text.split("\n")
    assert lines[0] == "jax 0.9.2 -> 0.10.2 (cpu)"
    assert lines[2] == "▲ 2 functions changed: 1 worse, 1 at the same cost; worst: compiler, temp +100 %"
    assert lines[4].split() == ["program", "target", "verdict", "StableHLO", "compiled", "numbers", "that", "changed"]
    rows = {line.split()[0]: line for line in lines[5:10]}
    assert list(rows) == ["compiler", "memory", "lowering", "new", "same"], "worst first, the unchanged last"
    assert "▲ worse" in rows["compiler"] and "the same    structure  " in rows["compiler"]
    assert "temp 1.0 KiB -> 2.0 KiB (+100 %)" in rows["compiler"]
    assert "▼ better" in rows["memory"] and "the same    the same, other memory" in rows["memory"]
    assert "temp 1.0 KiB -> 512 B (-50 %)" in rows["memory"]
    assert "differs" in rows["lowering"] and "only there" in rows["new"]
    assert f"not checked: gpu|x on cuda\n  {CUDA}\n  hint: pip install it\n" in text
    assert "could not be judged: bad on cpu\n  it\\x1b[31m raised\n" in text and "\x1b" not in text
    assert "of 4 compared programs: temp lower in 1 and higher in 1" in text
    assert text.endswith(
        "1 the same, 2 changed by the compiler alone, 1 with other StableHLO, 1 only there, 1 could not be judged, "
        "1 not checked; next: the same with --details\n"
    )
    narrow = upgrade_text(REPORT, width=70).split("\n")
    at = next(n for n, line in enumerate(narrow) if line.startswith("compiler  cpu"))
    assert narrow[at + 1].startswith("    temp 1.0 KiB -> 2.0 KiB"), "no number that moved is cut off"
    assert all(len(line) <= 50 for line in upgrade_text(REPORT, width=50).split("\n")[5:14])
    assert "tanh -> exponential" in upgrade_text(REPORT, details=True)
    assert "tanh" not in text


def test_other_forms_have_the_same_numbers() -> None:
    value = json.loads(upgrade_json(REPORT))
    assert value["totals"] == totals(upgrade_changes(REPORT))
    assert value["sums"]["temp"] == [4096, 4608]
    assert {one["name"]: one["verdict"] for one in value["programs"]}["memory"] == "compiler"
    assert value["report"]["command"] == "diff"
    text = upgrade_markdown(REPORT)
    assert "| `compiler` | `cpu` | 🔴 worse | the same | structure |" in text
    assert "temp 1.0 KiB -&gt; 2.0 KiB" in text
    assert {one["name"]: one["cost"] for one in value["programs"]}["memory"] == "better"
    assert "gpu\\|x" in text and "\x1b" not in text
    assert "2 changed by the compiler alone" in text.rstrip().split("\n")[-1]
    assert "<details>" in upgrade_markdown(REPORT, details=True)


def test_nothing_to_compare() -> None:
    assert upgrade_text(Report("diff", "a", "b", ())) == "nothing to compare\n"
