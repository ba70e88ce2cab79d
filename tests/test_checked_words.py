"""What reports say was looked at, and who changed it, where some programs are gone, not compiled, or made otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hlodiff.capture import CaptureFailure
from hlodiff.config import Config
from hlodiff.differ import Edit, FieldChange, ProgramComparison, Site, Status, diff, with_compiler
from hlodiff.hlo import read_text
from hlodiff.policy import Finding
from hlodiff.report import Report, ToolchainChange, build_view, format_checked, to_terminal
from tests.shown import words
from tests.test_cli_check import EXP, TANH, Compiler
from tests.test_cli_check import compiler as compiler
from tests.test_worktree import git

Ask = Callable[..., tuple[int, str, str]]
PROGRAM = "HloModule m\n\nENTRY e {\n  ROOT %p = f32[8]{0} parameter(0)\n}\n"


def both(name: str, stablehlo: Status, compiled: Status | None = None) -> tuple[ProgramComparison, ...]:
    stages = (
        ProgramComparison(name, "cpu", "stablehlo", stablehlo),
        ProgramComparison(name, "cpu", "compiled", compiled or stablehlo),
    )
    return stages if compiled else stages[:1]


GONE = both("gone", "removed", "removed")


@pytest.mark.parametrize(
    ("programs", "words"),
    [
        (
            (*both("f", "identical", "identical"), *both("g", "added", "added"), *GONE),
            "2 programs: 2 functions on cpu, StableHLO and compiled HLO of each",
        ),
        (both("f", "identical"), "1 program: 1 function on cpu, StableHLO of each"),
        (
            (*both("f", "identical", "identical"), *both("g", "changed")),
            "2 programs: 2 functions on cpu, StableHLO of 2 and compiled HLO of 1",
        ),
        (GONE, "0 programs"),
    ],
    ids=["orphaned", "lowered", "some lowered", "nothing"],
)
def test_only_what_was_captured_was_checked(programs: tuple[ProgramComparison, ...], words: str) -> None:
    assert format_checked(Report("check", "snapshots", "this work tree", programs)) == words


def test_orphans_alone_are_not_called_checked() -> None:
    text = to_terminal(Report("check", "snapshots", "this work tree", GONE))
    assert "checked" not in text and text.endswith("1 orphaned\n")


def test_a_file_is_no_function_and_has_one_stage(tmp_path: Path, said: Ask) -> None:
    for name in ("a.hlo", "b.hlo"):
        (tmp_path / name).write_text(PROGRAM)
    out = said("diff", str(tmp_path / "a.hlo"), str(tmp_path / "b.hlo"), "--format", "json")[1]
    assert json.loads(out)["sheet"]["checked"] == "1 program, compiled HLO of each"


def test_whose_change_it_is_hangs_on_each_program_s_own_toolchain() -> None:
    """One snapshot of two was made by the old jax; the other one was made today, and its code changed."""
    upgraded = ("old", "compiler")
    programs = with_compiler(
        (
            *both("old", "changed", "changed"),
            *both("today", "changed", "changed"),
            *both("compiler", "identical", "changed"),
        ),
        lambda program: program.name in upgraded,
    )
    report = Report("check", "a", "b", programs, toolchain=(ToolchainChange("jax", "1", "2", ("cpu",)),))
    assert build_view(report).causes == (
        "the compiler changed 1 program whose StableHLO is the same",
        "1 program differs in StableHLO too: your code changed, or the way jax lowers it",
    )
    text = to_terminal(report)
    lines = {name: text.partition(f"\n{name}  ")[2].partition("\n\n")[0] for name in ("old", "today", "compiler")}
    assert "StableHLO" not in lines["today"]
    assert "on cpu: StableHLO differs too: your code changed, or the way jax lowers it" in lines["old"]
    assert "on cpu: StableHLO is the same, so the compiler did this" in lines["compiler"]


def test_that_stablehlo_is_the_same_is_said_once() -> None:
    negated = PROGRAM.replace(
        "  ROOT %p = f32[8]{0} parameter(0)", "  %p = f32[8]{0} parameter(0)\n  ROOT %n = f32[8]{0} negate(%p)"
    )
    stages = (("stablehlo", PROGRAM), ("compiled", negated))
    pairs = [(stage, diff(read_text(PROGRAM), read_text(new))) for stage, new in stages]
    programs = tuple(
        ProgramComparison("f", "cpu", stage, "identical" if found.identical else "changed", found)  # type: ignore[arg-type]
        for stage, found in pairs
    )
    assert "  StableHLO is the same\n" in to_terminal(Report("check", "a", "b", programs))
    text = to_terminal(Report("check", "a", "b", with_compiler(programs, lambda program: True)))
    assert "on cpu: StableHLO is the same, so the compiler did this\n" in text and "the same program" not in text


def finding(severity: str, rule: str) -> Finding:
    return Finding(severity, rule, "f", "cpu", "what")  # type: ignore[arg-type]


@pytest.fixture
def at_revision(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """What the revision compiles to: at first `f` alone, as in the work tree."""
    old, here = Compiler(), Path.cwd()
    for side in (compiler, old):
        side.answers = {("f", "", "cpu"): TANH}

    def side_of(config: Config) -> Compiler:
        return compiler if config.root == here else old

    monkeypatch.setattr("hlodiff.workflows.against.discover", lambda config: side_of(config).discover(config))
    captured = "hlodiff.workflows.capture_side.capture"
    monkeypatch.setattr(captured, lambda config, *rest, **more: side_of(config).capture(config, *rest, **more))
    for arguments in (
        ("init", "-q"),
        ("add", "-A"),
        ("commit", "-qm", "one"),
        ("commit", "-qm", "two", "--allow-empty"),
    ):
        git(here, *arguments)
    return old


def next_of(said: Ask, revision: str = "HEAD@{1}") -> str:
    return str(json.loads(said("check", "--against", revision, "--format", "json")[1])["sheet"]["next"])


def test_what_follows_a_comparison_with_a_revision(compiler: Compiler, at_revision: Compiler, said: Ask) -> None:
    assert next_of(said) == ""
    compiler.answers["new", "", "cpu"] = TANH
    assert next_of(said) == ""
    compiler.answers["f", "", "cpu"] = EXP
    assert next_of(said) == "hlodiff check --against 'HEAD@{1}' f --stacks"
    assert next_of(said, "HEAD~1") == "hlodiff check --against HEAD~1 f --stacks"
    Path("snapshots").mkdir()
    assert next_of(said) == "hlodiff check f"
    for name in "ghi":
        at_revision.answers[name, "", "cpu"], compiler.answers[name, "", "cpu"] = TANH, EXP
    assert next_of(said) == "hlodiff check"


def test_what_follows_where_a_budget_is_exceeded(compiler: Compiler, at_revision: Compiler, said: Ask) -> None:
    table = '[[tool.hlodiff.budgets]]\ntargets = ["cpu"]\ntemp_bytes = 7\n'
    Path("pyproject.toml").write_text(Path("pyproject.toml").read_text() + table)
    Path("snapshots").mkdir()
    compiler.answers["f", "", "cpu"] = EXP
    assert next_of(said) == "hlodiff check --against 'HEAD@{1}' f, once within limits"


def test_what_the_revision_did_wrong_is_not_to_be_repaired(
    compiler: Compiler,
    at_revision: Compiler,
    said: Ask,
) -> None:
    Path("snapshots").mkdir()
    at_revision.answers["f", "", "cpu"] = CaptureFailure("f", "", "cpu", "it raised", "")
    at_revision.answers["g", "", "cpu"], compiler.answers["g", "", "cpu"] = TANH, EXP
    assert next_of(said, "HEAD~1") == "hlodiff check g"
    compiler.answers["f", "", "cpu"] = CaptureFailure("f", "", "cpu", "it raised", "")
    assert next_of(said, "HEAD~1") == "hlodiff check --against HEAD~1 f, once it is repaired"


def test_a_saved_result_names_no_command_with_a_revision_of_its_own(tmp_path: Path, said: Ask) -> None:
    from hlodiff.report import to_json

    report = Report("diff", "a", "b", both("f", "changed"), next="hlodiff check --against HEAD~3^ f --stacks")
    (tmp_path / "r.json").write_text(to_json(report))
    assert "next:" not in said("diff", str(tmp_path / "r.json"))[1]
    (tmp_path / "r.json").write_text(to_json(replace(report, next="hlodiff check; rm x")))
    assert "rm x" not in said("diff", str(tmp_path / "r.json"))[1]


@pytest.mark.parametrize(
    ("numbers", "ranges"),
    [((2, 1), "1, 2"), ((1, 2, 3), "1 to 3"), ((9, 0, 4, 3, 5, 8), "0, 3 to 5, 8, 9")],
)
def test_numbers_of_arguments_are_ranges(numbers: tuple[int, ...], ranges: str) -> None:
    sites = [Site(0, n, "main", f"p{n}", "parameter", f"%p{n} = f32[8]{{0}} parameter({n})") for n in numbers]
    change = FieldChange("alias", "any output", "not donated")
    edit = Edit("changed", ("alias",), len(sites), tuple((site, site) for site in sites), (change,))
    assert f"arguments {ranges} are no longer donated" in words(edit)


def test_what_has_one_line_stands_together() -> None:
    programs = (*both("a", "added"), *both("b", "removed"), *both("c", "added"))
    lines = to_terminal(Report("check", "a", "b", programs)).split("\n")
    assert lines[:4] == [
        "a  new: no snapshot on cpu",
        "b  orphaned: no longer registered on cpu",
        "c  new: no snapshot on cpu",
        "",
    ]


def test_two_functions_in_one_row_are_both_named() -> None:
    sizes = [("f", 8), ("g", 8), ("h", 16), ("i", 16), ("j", 16), *((f"k{n}", 100 + n) for n in range(20))]
    programs = []
    for name, size in sizes:
        old = PROGRAM.replace("f32[8]", f"f32[{size}]")
        new = old.replace("ROOT %p", "%p").replace("\n}", f"\n  ROOT %n = f32[{size}]{{0}} copy(%p)\n}}")
        found = diff(read_text(old), read_text(new))
        programs.append(ProgramComparison(name, "cpu", "compiled", "changed", found))
    text = to_terminal(Report("check", "a", "b", tuple(programs), brief=True))
    assert "\nf, g          cpu  " in text and "\nh and 2 more  cpu  " in text


def test_a_function_that_was_renamed_since_a_revision(compiler: Compiler, at_revision: Compiler, said: Ask) -> None:
    compiler.answers = {("g", "", "cpu"): at_revision.answers["f", "", "cpu"]}
    notes = json.loads(said("check", "--against", "HEAD~1", "--format", "json")[1])["notes"]
    assert "f was probably renamed to g (identical program)" in notes, "there is no snapshot that a command could move"
