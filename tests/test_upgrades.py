"""The report of `hlodiff upgrade`: verdicts, numbers and totals from compared programs, in all forms alike."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from pathlib import Path

from hlodiff.differ import ProgramComparison, diff
from hlodiff.hlo import read_text
from hlodiff.report import (
    Report,
    ToolchainChange,
    build_view,
    to_form,
    to_markdown,
    to_terminal,
    upgrade_json,
    upgrade_markdown,
    upgrade_text,
)
from hlodiff.workflows.source_lines import WORK_TREE, SourceLines, SourceSide, library_lines
from tests.page_parts import parsed

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


def test_verdicts() -> None:
    value = json.loads(upgrade_json(REPORT))
    assert {one["name"]: one["verdict"] for one in value["programs"]} == {
        "same": "identical", "compiler": "compiler", "memory": "compiler", "lowering": "lowering", "new": "added",
        "gpu|x": "not_checked", "bad": "broken",
    }  # fmt: skip
    assert list(value["totals"].items()) == [
        ("identical", 1), ("compiler", 2), ("lowering", 1), ("added", 1), ("removed", 0), ("broken", 1),
        ("not_checked", 1),
    ]  # fmt: skip


def test_the_same_code_on_both_sides_is_not_blamed() -> None:
    text = upgrade_text(replace(REPORT, same_code=True), width=120, details=True)
    assert "1 program differs in StableHLO too: this jax lowers it differently\n" in text
    assert "  on cpu: StableHLO differs too: this jax lowers it differently\n" in text
    assert "your code changed" not in text and "your code changed" in upgrade_text(REPORT, width=120, details=True)


def test_text() -> None:
    text = upgrade_text(REPORT, width=120)
    lines = text.split("\n")
    assert lines[0] == "jax 0.9.2 -> 0.10.2 (cpu)"
    verdict = "▲ 3 functions changed: 1 worse, 1 better, 1 at the same cost; mainly compiler, temp +100 %"
    assert lines[2] == f"{verdict}; tanh -> exponential"
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
        "1 not checked\n"
    )
    narrow = upgrade_text(REPORT, width=70).split("\n")
    at = next(n for n, line in enumerate(narrow) if line.startswith("compiler  cpu"))
    assert narrow[at + 1].startswith("    temp 1.0 KiB -> 2.0 KiB"), "no number that moved is cut off"
    assert all(len(line) <= 50 for line in upgrade_text(REPORT, width=50).split("\n")[5:14])
    assert "tanh -> exponential" in upgrade_text(REPORT, details=True)
    assert not any("tanh" in line for line in lines[3:]), "the first line has the change of the worst, no other has one"


def test_other_memory_of_the_same_program_is_told_in_every_form() -> None:
    one = replace(program("f", "compiled"), target="cpu", status="identical")
    alone = replace(one, diff=diff(one.diff.old, one.diff.old)) if one.diff else one
    more = replace(alone, old_facts={"memory.temp": 1024.0}, new_facts={"memory.temp": 2048.0})
    little = replace(alone, name="g", old_facts={"memory.temp": 102400.0}, new_facts={"memory.temp": 102410.0})
    report = Report("diff", "a", "b", (more, little))
    text, markdown, page = to_terminal(report), to_markdown(report), to_form(report, "html")
    first = "worse on cpu: temp +100 %; the program is the same"
    assert text.startswith(f"f  ▲ {first}\n") and "2 unchanged" in text and "g " not in text
    assert "| `f` | `cpu` | 🔴 worse | temp 1.0 KiB" in markdown and "`g`" not in markdown
    assert html.escape(first) in page
    quiet = to_terminal(replace(report, programs=(little,)))
    assert quiet == "1 unchanged\n"


def test_other_forms_have_the_same_numbers() -> None:
    value = json.loads(upgrade_json(REPORT))
    numbers = {one["name"]: one["numbers"] for one in value["programs"]}
    assert numbers["memory"]["memory.temp"] == [1024, 512]
    assert set(numbers["memory"]) <= {"memory.temp", "fusions", "copies", "instructions"}
    assert {one["name"]: one["verdict"] for one in value["programs"]}["memory"] == "compiler"
    assert value["report"]["command"] == "diff"
    text = upgrade_markdown(REPORT)
    assert "| `compiler` | `cpu` | 🔴 worse | the same | structure |" in text
    assert "temp 1.0 KiB -&gt; 2.0 KiB" in text
    assert {one["name"]: one["cost"] for one in value["programs"]}["memory"] == "better"
    assert "gpu\\|x" in text and "\x1b" not in text
    assert "2 changed by the compiler alone" in text.rstrip().split("\n")[-1]
    assert "<details>" in upgrade_markdown(REPORT, details=True)
    page = parsed(to_form(REPORT, "html"))
    verdicts = {row["data-name"]: row["data-verdict"] for row in page.rows() if row["data-verdict"]}
    assert verdicts == {"compiler": "worse", "lowering": "same cost", "memory": "better"}
    assert "temp 1.0 KiB -> 2.0 KiB (+100 %)" in {element.text for element in page.all("td")}


def test_the_next_command_of_an_upgrade_can_be_typed() -> None:
    command = "hlodiff upgrade 'jax>=0.10' --details"
    told = replace(REPORT, next=command)
    assert f"next: {command}" in upgrade_text(told, width=120).split("\n")[:10]
    assert f"\nnext: `{command}`\n" in upgrade_markdown(told)
    assert "next" not in upgrade_text(replace(told, programs=REPORT.programs[:2]))


TABLES = """HloModule m, entry_computation_layout={{(f32[8]{{0}})->f32[8]{{0}}}}

FileNames
1 "/env/lib/python3.11/site-packages/optax/_src/base.py"
2 "/project/net.py"

FunctionNames
1 "update"
2 "step"

FileLocations
1 {{file_name_id=1 function_name_id=1 line={line} end_line={line} column=1 end_column=9}}
2 {{file_name_id=2 function_name_id=2 line=9 end_line=9 column=1 end_column=9}}

StackFrames
1 {{file_location_id=2 parent_frame_id=1}}
2 {{file_location_id=1 parent_frame_id=2}}

ENTRY e {{
  p = f32[8]{{0}} parameter(0)
  ROOT r = f32[8]{{0}} {opcode}(p), metadata={{op_name="jit(step)/{opcode}" stack_frame_id=2}}
}}
"""
OPTAX = (ToolchainChange("optax", "0.2.5", "0.2.8", ()),)


def of_a_library(lines: SourceLines | None, costs: tuple[float, float] = (8, 1024)) -> Report:
    old, new = (read_text(TABLES.format(line=n, opcode=opcode)) for n, opcode in ((2, "sine"), (3, "tanh")))
    facts = tuple({"memory.temp": cost * 1024} for cost in costs)
    programs = tuple(
        ProgramComparison("train", "cpu", stage, "changed", diff(old, new), *facts)  # type: ignore[arg-type]
        for stage in ("stablehlo", "compiled")
    )
    return Report(
        "diff", "optax 0.2.5", "optax 0.2.8", programs, toolchain=OPTAX, root="/project", same_code=True,
        packages=("optax",), source_line=lines,
    )  # fmt: skip


def test_a_library_is_told_at_its_line_with_your_own_as_the_caller_and_with_both_texts(tmp_path: Path) -> None:
    file = "site-packages/optax/_src/base.py"
    texts = ({file: ["import jax", "    y = jnp.sin(x)"]}, {file: ["import jax", "", "    y = jnp.tanh(x)"]})
    side = SourceSide(WORK_TREE)
    text = upgrade_text(of_a_library(SourceLines(tmp_path, (side, side), texts)), width=120)
    assert " at optax/_src/base.py:3, called from net.py:9\n" in text.split("\n\n")[1] + "\n"
    rows = [row.strip() for row in text.splitlines()]
    at = rows.index("optax/_src/base.py:3 (update), called from net.py:9 (step) (was optax/_src/base.py:2 (update))")
    assert rows[at + 1 : at + 3] == ["- y = jnp.sin(x)", "+ y = jnp.tanh(x)"]
    assert any(row.startswith("what to do: keep 'optax==0.2.5' while the cost of train counts") for row in rows)
    assert "for its maintainers: hlodiff upgrade 'optax==0.2.8' --name 'train' --details --format markdown" in rows
    assert "    + y = jnp.tanh(x)" in upgrade_markdown(of_a_library(SourceLines(tmp_path, (side, side), texts)))
    value = json.loads(upgrade_json(of_a_library(None)))
    assert value["report"]["sheet"]["functions"][0]["where"]["caller"] == "net.py:9 (step)"


def test_a_library_is_named_at_the_same_line_in_all_forms(tmp_path: Path) -> None:
    file = "site-packages/optax/_src/base.py"
    texts = ({file: ["import jax", "    y = jnp.sin(x)"]}, {file: ["import jax", "", "    y = jnp.tanh(x)"]})
    side = SourceSide(WORK_TREE)
    report = of_a_library(SourceLines(tmp_path, (side, side), texts))
    line = "optax/_src/base.py:3 (update), called from net.py:9 (step)"
    assert f"changed sine -> tanh  (8 flops, 64 B)  {line}" in upgrade_text(report, width=120, details=True)
    assert "optax/_src/base.py:3, called from net.py:9" in to_markdown(report).replace("\\", "")
    value = json.loads(upgrade_json(report))["report"]
    assert {pattern["where"] for pattern in value["patterns"]} == {line}
    assert all(f"1 changed of 2 instructions, {line}" in one.headline for one in build_view(report).programs)
    pages = parsed(to_form(report, "html")).bodies()
    for page in pages:
        (change,) = page["changes"]["edits"]["list"]
        assert change["where"] == line and line in page["listing"]["wheres"]
        assert [one["side"] for one in change["sources"]] == ["old", "new"]
        assert [one["lines"][-1].strip() for one in change["sources"]] == ["y = jnp.sin(x)", "y = jnp.tanh(x)"]
    (plain,) = {
        pattern["where"] for pattern in json.loads(upgrade_json(replace(report, packages=())))["report"]["patterns"]
    }
    assert plain == "net.py:9 (step)"


def test_what_costs_no_more_is_to_be_installed_and_another_jax_gets_no_such_advice() -> None:
    words = "what to do: no compared program costs more; install 'optax==0.2.8', then hlodiff check\n"
    assert words in upgrade_text(of_a_library(None, (1024, 8)))
    assert "what to do" not in upgrade_text(REPORT)
    jax = ToolchainChange("jax", "0.9.2", "0.10.2", ("cpu",))
    assert "what to do" not in upgrade_text(replace(of_a_library(None), toolchain=(jax, *OPTAX)))


def test_a_library_whose_version_is_the_same_is_told_at_your_line(tmp_path: Path) -> None:
    text = upgrade_text(replace(of_a_library(None), packages=("flax",)), width=120)
    assert " at net.py:9\n" in text.split("\n\n")[1] + "\n"
    assert "called from" not in text and "base.py" not in text


ROWS = """HloModule m

ENTRY e {{
  p = f32[64,64]{{1,0}} parameter(0)
  s = f32[64,64]{{1,0}} {opcode}(p), metadata={{source_file="/x/site-packages/optax/a.py" source_line=1}}
  ROOT r = f32[64,64]{{1,0}} {work}, metadata={{source_file="/x/site-packages/optax/a.py" source_line=2}}
}}
"""


def test_in_a_library_the_line_that_costs_most_comes_first_whatever_else_was_edited(tmp_path: Path) -> None:
    works = "negate(s)", "dot(s, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    old, new = (read_text(ROWS.format(opcode=o, work=w)) for o, w in zip(("sine", "tanh"), works, strict=True))
    programs = (ProgramComparison("train", "cpu", "stablehlo", "changed", diff(old, new)),)
    texts = [{"site-packages/optax/a.py": [line, "loop(x)"]} for line in ("sin(x)", "tanh(x)")]
    side = SourceSide(WORK_TREE)
    lines = SourceLines(tmp_path, (side, side), (texts[0], texts[1]))
    report = replace(of_a_library(lines), programs=programs)
    for packages, first in ((("optax",), "optax/a.py:2"), ((), "optax/a.py:1")):
        view = build_view(replace(report, packages=packages)).functions[0]
        assert view.stages[0].lines[0].where == first


def test_only_python_of_the_library_itself_is_read(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    for file in ("optax/a.py", "optax/secret.txt", "flax/b.py"):
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).write_text("first\nsecond\n")
    (tmp_path / "outside.py").write_text("secret\n")
    (site / "optax" / "link.py").symlink_to(tmp_path / "outside.py")
    names = ["optax/a.py", "optax/secret.txt", "flax/b.py", "optax/link.py", "optax/../../outside.py", "optax/none.py"]
    files = [*(f"site-packages/{name}" for name in names), "optax/a.py", str(site / "optax/a.py")]
    assert library_lines(files, ["optax"], site) == {"site-packages/optax/a.py": ["first", "second"]}
    assert library_lines(files, ["optax"], tmp_path) == {}
    assert library_lines(files, [], site) == {}
    # What no library is known of is no file of the project either.
    side = SourceSide(WORK_TREE)
    assert SourceLines(tmp_path, (side, side))("f", "cpu", 1, "site-packages/optax/a.py", 1) == ""


def test_nothing_to_compare() -> None:
    assert upgrade_text(Report("diff", "a", "b", ())) == "nothing to compare\n"
