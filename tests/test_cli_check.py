"""`hlodiff update`, `check`, `list` and `show` around a stand-in for the compiler: what is written, said and returned.

The real compiler is asked in test_cli_capture.py.
"""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hlodiff.capture import (
    CapturedProgram,
    CaptureFailure,
    DiscoveredFunction,
    Discovery,
    Event,
    NotChecked,
    Outcome,
    Request,
    TargetStatus,
)
from hlodiff.config import Config
from hlodiff.errors import RegistryError
from tests.test_limits import CASES as LIMITED

TANH = "HloModule jit_f\n\nENTRY e {\n  %p.1 = f32[8]{0} parameter(0)\n  ROOT %n.2 = f32[8]{0} tanh(%p.1)\n}\n"
EXP = TANH.replace("tanh", "exponential")
STABLEHLO = """module @jit_f {
  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}
"""
FIRST = (("f", "", "cpu"), ("f", "", "tpu-v5e-2x2"), ("g", "small", "cpu"), ("g", "large", "cpu"))

Answer = str | Outcome | BaseException


class Compiler:
    """Answers requests: a compiled program as text, an outcome, or an exception that is raised."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str, str], Answer] = dict.fromkeys(FIRST, TANH)
        self.toolchain: dict[str, Any] = {"jax": "0.10.2", "x64": False}
        self.arguments: list[dict[str, Any]] = []
        self.compiled: list[str] = []
        self.problems: dict[str, str] = {}

    def discover(self, config: Config) -> Discovery:
        functions = []
        for name in dict.fromkeys(key[0] for key in self.answers):
            targets: dict[str, list[str]] = {}
            for function, case, target in self.answers:
                if function == name:
                    targets.setdefault(target, []).append(case)
            programs = tuple((target, tuple(cases)) for target, cases in targets.items())
            functions.append(DiscoveredFunction(name, "m", "m.py", 3, programs, self.problems.get(name, "")))
        return Discovery(tuple(functions))

    def capture(
        self, config: Config, requests: Any, *, jobs: int | None = None, on_event: Callable[[Event], None] | None = None
    ) -> Iterator[Outcome]:
        for request in requests:
            yield self.answer(request)

    def answer(self, request: Request) -> Outcome:
        where = (request.function, request.case, request.target)
        answer = self.answers[where]
        if isinstance(answer, BaseException):
            raise answer
        if not isinstance(answer, str):
            return answer
        facts = {"toolchain": self.toolchain, "arguments": self.arguments, "results": [], "devices": 1}
        if request.known_stablehlo and request.known_toolchain == self.toolchain and answer == TANH:
            return CapturedProgram(*where, STABLEHLO, None, facts, {}, unchanged=True)
        self.compiled.append("/".join(filter(None, where)))
        facts |= {"memory": {"temp": 8 if answer == TANH else 24, "alias": None}, "cost": {"flops": 8.0}}
        return CapturedProgram(*where, STABLEHLO, answer, facts, {})


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Compiler:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["m.py"]\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    stand_in = Compiler()
    for name in ("workflows.check", "workflows.update", "cli.list_command"):
        monkeypatch.setattr(f"hlodiff.{name}.discover", stand_in.discover)
    monkeypatch.setattr("hlodiff.workflows.capture_side.capture", stand_in.capture)
    return stand_in


Ask = Callable[..., tuple[int, str, str]]


def files() -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in sorted(Path("snapshots").rglob("*")) if p.is_file()}


def findings(out: str) -> list[tuple[str, str, str]]:
    return [(f["rule"], f["program"], f["target"]) for f in json.loads(out)["findings"]]


# --- update ----------------------------------------------------------------------------------------------------------


def test_update_records_and_then_leaves_alone(compiler: Compiler, said: Ask) -> None:
    assert said("update") == (
        0,
        "f  cpu          new\n"
        "f  tpu-v5e-2x2  new\n"
        "g/small  cpu    new\n"
        "g/large  cpu    new\n"
        "4 new; next: git add snapshots\n",
        "",
    )
    before = files()
    assert sorted({str(Path(name).parent) for name in before}) == [
        "snapshots/f/cpu",
        "snapshots/f/tpu-v5e-2x2",
        "snapshots/g/large/cpu",
        "snapshots/g/small/cpu",
    ]
    compiler.compiled.clear()
    assert said("update") == (0, "4 unchanged; next: hlodiff check\n", "")
    assert files() == before
    assert compiler.compiled == [], "nothing is compiled where StableHLO and toolchain are the same"


def test_update_says_what_changed(compiler: Compiler, said: Ask) -> None:
    said("update")
    before = files()
    compiler.answers["f", "", "cpu"] = EXP
    assert said("update") == (
        0,
        "f  cpu          changed\n"
        "  StableHLO: the same program\n"
        "  compiled: structure: 1 changed of 2 instructions\n"
        "1 changed, 3 unchanged; next: git add snapshots\n",
        "",
    )
    changed = sorted(name for name, stamp in files().items() if before[name] != stamp)
    assert {str(Path(name).parent) for name in changed} == {"snapshots/f/cpu"}


def test_a_new_toolchain_with_the_same_program_changes_the_summary_alone(compiler: Compiler, said: Ask) -> None:
    said("update")
    before = files()
    compiler.toolchain = {"jax": "0.11.0", "x64": False}
    code, out, _ = said("update", "f", "--target", "cpu")
    assert (code, out.split("\n")[0]) == (0, "f  cpu  same program, other toolchain, figures or paths")
    assert [name for name, stamp in files().items() if before[name] != stamp] == ["snapshots/f/cpu/summary.yaml"]


def test_other_paths_of_arguments_change_the_summary_alone_and_nothing_is_compiled(
    compiler: Compiler, said: Ask
) -> None:
    argument = {"path": "params['w']", "shape": [2], "dtype": "float32", "donated": False}
    compiler.arguments = [argument]
    said("update")
    before = files()
    summary = Path("snapshots/f/cpu/summary.yaml").read_text()
    compiler.compiled.clear()
    compiler.arguments = [{**argument, "path": "weights['w']", "donated": True}]
    code, out, _ = said("check", "f", "--target", "cpu")
    note = "same program, other paths or donations of arguments or results: f on cpu; `hlodiff update f` records them"
    assert code == 0 and f"note: {note}" in " ".join(out.split()), out
    code, out, _ = said("update", "f", "--target", "cpu")
    assert (code, out.split("\n")[0]) == (0, "f  cpu  same program, other toolchain, figures or paths")
    assert [name for name, stamp in files().items() if before[name] != stamp] == ["snapshots/f/cpu/summary.yaml"]
    changed = summary.replace("params", "weights").replace("donated: false", "donated: true")
    assert Path("snapshots/f/cpu/summary.yaml").read_text() == changed != summary
    assert compiler.compiled == []
    assert "note:" not in said("check", "f", "--target", "cpu")[1]
    assert "1 unchanged" in said("update", "f", "--target", "cpu")[1]


def aged(folder: str) -> None:
    """What an older hlodiff would have written, which counted 13 where there is 1."""
    path = Path(folder, "summary.yaml")
    text = path.read_text()
    assert "format_version: 3\n" in text and "tanh: 1\n" in text
    text = text.replace("format_version: 3\n", "format_version: 1\n").replace("tanh: 1\n", "tanh: 13\n")
    path.write_text(text.replace("    ops: 1\n", "    ops: 13\n"))


def contents() -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(Path("snapshots").rglob("*")) if p.is_file()}


def test_rewrite_touches_summaries_and_sources_alone(compiler: Compiler, said: Ask) -> None:
    said("update")
    wanted = contents()
    for folder in ("snapshots/f/cpu", "snapshots/g/small/cpu"):
        aged(folder)
        Path(folder, "source.json").write_text("{}\n")
    before = contents()
    assert said("update") == (0, "4 unchanged; next: hlodiff check\n", "")
    assert contents() == before, "an ordinary update leaves what an older hlodiff has counted"
    assert said("update", "--rewrite", "f") == (
        0,
        "f  cpu          same program, summary and sources rewritten\n"
        "1 rewritten, 1 unchanged; next: git add snapshots\n",
        "",
    )
    changed = {name for name, content in contents().items() if content != before[name]}
    assert changed == {"snapshots/f/cpu/summary.yaml", "snapshots/f/cpu/source.json"}
    assert said("update", "--rewrite")[1].endswith("1 rewritten, 3 unchanged; next: git add snapshots\n")
    assert contents() == wanted
    assert said("update", "--rewrite")[1] == "4 unchanged; next: hlodiff check\n"


def test_rewrite_leaves_programs_that_changed_are_new_or_broken(compiler: Compiler, said: Ask) -> None:
    said("update", "f", "g/small")
    compiler.answers["f", "", "cpu"] = EXP
    Path("snapshots/f/tpu-v5e-2x2/compiled.hlo").write_text(TANH[:60])
    before = contents()
    code, out, _ = said("update", "--rewrite", "--format", "json")
    assert code == 2 and contents() == before
    rows = {(row["name"], row["target"]): row for row in json.loads(out)["programs"]}
    assert {where: row["status"] for where, row in rows.items()} == {
        ("f", "cpu"): "failed",
        ("f", "tpu-v5e-2x2"): "failed",
        ("g/small", "cpu"): "unchanged",
        ("g/large", "cpu"): "not_checked",
    }
    assert rows["f", "cpu"]["what"] == [
        "the program is not the recorded one any more, so nothing was rewritten",
        "hint: hlodiff update f --target cpu",
    ]
    assert rows["g/large", "cpu"]["what"][0] == "there is no snapshot to rewrite"
    assert said("update", "--rewrite", "--prune")[0] == 2


def test_rewrite_keeps_compressed_programs(compiler: Compiler, said: Ask) -> None:
    text = Path("pyproject.toml").read_text()
    Path("pyproject.toml").write_text(f"{text}max_file_bytes = 100\n")
    said("update", "f", "--target", "cpu")
    wanted = contents()
    aged("snapshots/f/cpu")
    Path("pyproject.toml").write_text(text)
    assert said("update", "--rewrite", "f", "--target", "cpu")[0] == 0
    assert contents() == wanted and "snapshots/f/cpu/compiled.hlo.gz" in wanted


@pytest.mark.parametrize("toolchain", ["0.10.2", "0.11.0"])
def test_a_summary_that_counts_differently_is_no_change(toolchain: str, compiler: Compiler, said: Ask) -> None:
    text = Path("pyproject.toml").read_text()
    Path("pyproject.toml").write_text(f'{text}[[tool.hlodiff.budgets]]\n"op.tanh" = 1\nops = {{ratchet = true}}\n')
    said("update")
    for folder in ("snapshots/f/cpu", "snapshots/g/small/cpu", "snapshots/g/large/cpu", "snapshots/f/tpu-v5e-2x2"):
        aged(folder)
    compiler.toolchain = {"jax": toolchain, "x64": False}  # another one is compiled, the same is known without
    code, out, _ = said("check", "--format", "json")
    value = json.loads(out)
    assert code == 0 and value["findings"] == []
    assert {program["status"] for program in value["programs"]} == {"identical"}


def test_a_changed_program_is_held_against_what_its_snapshot_holds_not_says(compiler: Compiler, said: Ask) -> None:
    said("update")
    aged("snapshots/f/cpu")
    compiler.answers["f", "", "cpu"] = TANH.replace("ROOT %n.2", "%n.2").replace(
        "tanh(%p.1)\n", "tanh(%p.1)\n  ROOT %m = f32[8]{0} tanh(%n.2)\n"
    )
    code, _, _ = said("check")
    assert code == 1 and "tanh 1 -> 2" in said("check", "--all")[1]


def test_what_an_older_hlodiff_captured_is_not_accepted(compiler: Compiler, said: Ask) -> None:
    said("update")
    compiler.answers["f", "", "cpu"] = EXP
    said("check")
    path = Path(".hlodiff/pending/f/cpu/summary.yaml")
    path.write_text(path.read_text().replace("format_version: 3", "format_version: 1"))
    code, out, err = said("accept", "f")
    assert code == 2 and "was captured by another version of hlodiff, which counts differently" in out + err


def test_a_target_that_is_missing_keeps_its_snapshot(compiler: Compiler, said: Ask) -> None:
    said("update")
    before = files()
    tpu = ("f", "", "tpu-v5e-2x2")
    compiler.answers[tpu] = NotChecked(*tpu, "libtpu is not installed", "pip install libtpu")
    code, out, _ = said("update", "--prune")
    assert code == 0
    assert out == (
        "not checked: f on tpu-v5e-2x2\n"
        "  libtpu is not installed\n"
        "  hint: pip install libtpu\n"
        "3 unchanged, 1 not checked; next: hlodiff check\n"
    )
    assert files() == before


def test_one_failed_compile_does_not_stop_the_others(compiler: Compiler, said: Ask) -> None:
    compiler.answers["f", "", "cpu"] = CaptureFailure(
        "f", "", "cpu", "the worker was ended by SIGKILL", "first\nlast words"
    )
    code, out, _ = said("update")
    assert code == 2
    assert "the worker was ended by SIGKILL" in out
    assert "    | last words" in out
    assert out.endswith("3 new, 1 failed; next, once it is repaired: hlodiff update f\n")
    assert len(files()) == 12


def test_one_line_that_fails_many_functions_is_told_once(compiler: Compiler, said: Ask) -> None:
    said("update")
    for where in (("f", "", "cpu"), ("g", "small", "cpu"), ("g", "large", "cpu")):
        compiler.answers[where] = CaptureFailure(
            *where, "layers.py:3: KeyError: 'w'", f"layers.py:3 in layer\nof {where[0]}"
        )
    for command, said_of in (("update", 1), ("check", 1)):
        out = said(command)[1]
        assert (out.count("KeyError"), out.count("    | layers.py:3 in layer")) == (said_of, said_of), command
    assert "could not be judged: f on cpu, g/small on cpu, g/large on cpu\n" in out


def test_update_repairs_broken_snapshots(compiler: Compiler, said: Ask) -> None:
    said("update")
    whole = Path("snapshots/f/cpu/compiled.hlo").read_text()
    Path("snapshots/f/cpu/compiled.hlo").write_text(whole[:40])
    Path("snapshots/g/small/cpu/summary.yaml").write_text("<<<<<<< HEAD\n")
    Path("snapshots/g/large/cpu/summary.yaml").unlink()
    code, out, _ = said("update")
    assert code == 0
    assert out.count("recorded again: the old one was broken") == 2
    assert out.count("recorded again: a merge had left it stale") == 1
    assert Path("snapshots/f/cpu/compiled.hlo").read_text() == whole
    assert said("check")[0] == 0


def test_prune_deletes_orphans_among_what_was_asked_for(compiler: Compiler, said: Ask) -> None:
    said("update")
    del compiler.answers["f", "", "tpu-v5e-2x2"]
    del compiler.answers["g", "small", "cpu"]
    code, out, _ = said("update", "f", "--prune")
    assert code == 0
    assert "deleted" in out
    assert not Path("snapshots/f/tpu-v5e-2x2").exists()
    assert Path("snapshots/g/small/cpu").exists(), "a run with a pattern does not touch what it did not look at"
    assert "1 orphaned; next: hlodiff update --prune" in said("update")[1]
    assert said("update", "--prune")[1].startswith("g/small  cpu  deleted")
    assert not Path("snapshots/g/small").exists()


def test_ctrl_c_keeps_what_was_recorded(compiler: Compiler, said: Ask) -> None:
    compiler.answers["g", "small", "cpu"] = KeyboardInterrupt()
    code, out, err = said("update")
    assert (code, out) == (130, "")
    assert "2 programs recorded; `hlodiff update` continues with the others" in err
    assert len(files()) == 8
    compiler.answers["g", "small", "cpu"] = TANH
    assert said("update")[1].endswith("2 new, 2 unchanged; next: git add snapshots\n")


def test_update_as_json(compiler: Compiler, said: Ask) -> None:
    value = json.loads(said("update", "f", "--format", "json")[1])
    assert value["programs"][0] == {"name": "f", "target": "cpu", "status": "new", "what": []}
    assert value["totals"]["new"] == 2


def test_an_unwritable_folder(compiler: Compiler, said: Ask) -> None:
    Path("snapshots").write_text("a file")
    code, out, err = said("update")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert "snapshots: cannot be written: " in err


def test_a_folder_that_cannot_be_written_is_told_before_compiling(compiler: Compiler, said: Ask) -> None:
    said("update")
    compiler.compiled.clear()
    compiler.answers["f", "", "cpu"] = EXP
    Path("snapshots/.partial").write_text("in the way")
    code, out, err = said("update")
    assert (code, out) == (2, "")
    assert "snapshots/.partial: cannot be written: " in err
    assert compiler.compiled == []


# --- check -----------------------------------------------------------------------------------------------------------


def test_a_clean_check(compiler: Compiler, said: Ask) -> None:
    said("update")
    before = files()
    assert said("check") == (
        0,
        "checked 4 programs: 2 functions on cpu, tpu-v5e-2x2, StableHLO and compiled HLO of each\n4 unchanged\n",
        "",
    )
    assert files() == before


def test_a_changed_program_fails(compiler: Compiler, said: Ask) -> None:
    said("update")
    before = files()
    compiler.answers["f", "", "cpu"] = EXP
    code, out, err = said("check")
    assert (code, err) == (1, "")
    assert out == (
        "f  ▲ worse on cpu: temp +200 %; tanh -> exponential\n"
        "  changed on cpu (827623de): structure\n"
        "  StableHLO is the same\n"
        "  compiled (executed numbers)\n"
        "    cpu  ▲ worse: temp 8 B -> 24 B (+200 %)\n"
        "    changed tanh -> exponential  (8 flops, 64 B)\n"
        "▲ costs more, ▼ less, per call and device; below 1 % is not listed\n"
        "structure: other operations, results may differ\n"
        "checked 4 programs: 2 functions on cpu, tpu-v5e-2x2, StableHLO and compiled HLO of each\n"
        "1 changed, 3 unchanged; next: hlodiff accept f\n"
    )
    assert files() == before
    assert findings(said("check", "--format", "json")[1]) == [("changed", "f", "cpu")]


def test_new_and_orphaned_fail_and_recorded_but_not_checked_is_no_pass(compiler: Compiler, said: Ask) -> None:
    said("update")
    tpu = ("f", "", "tpu-v5e-2x2")
    compiler.answers[tpu] = NotChecked(*tpu, "libtpu is not installed", "pip install libtpu")
    code, out, _ = said("check")
    assert code == 2
    assert "libtpu is not installed" in out
    assert out.endswith("1 not checked, 3 unchanged; next: pip install libtpu\n")
    assert said("check", "--target", "cpu")[0] == 0, "looking at one target only is a choice"
    compiler.answers["h", "", "cpu"] = TANH
    code, out, _ = said("check", "--format", "json")
    assert (code, findings(out)) == (1, [("not-checked", "f", "tpu-v5e-2x2"), ("new", "h", "cpu")])
    del compiler.answers["h", "", "cpu"]
    del compiler.answers["g", "large", "cpu"]
    code, out, _ = said("check")
    assert code == 1
    assert "g/large  orphaned: no longer registered on cpu" in out
    assert out.endswith("1 orphaned, 1 not checked, 2 unchanged; next: hlodiff update --prune\n")
    assert said("check", "h")[0] == 2, "a pattern that matches nothing"
    assert said("check", "f", "--target", "cpu")[0] == 0, "a filtered run does not blame what it did not look at"


def test_what_never_had_a_snapshot_and_cannot_be_checked_is_only_told(compiler: Compiler, said: Ask) -> None:
    tpu = ("f", "", "tpu-v5e-2x2")
    compiler.answers[tpu] = NotChecked(*tpu, "it has a host callback", "EQX_ON_ERROR=nan")
    said("update")
    code, out, _ = said("check")
    assert (code, "it has a host callback" in out) == (0, True)


def test_cases_that_cannot_be_listed_are_no_orphans(compiler: Compiler, said: Ask) -> None:
    said("update")
    del compiler.answers["g", "small", "cpu"]
    del compiler.answers["g", "large", "cpu"]
    compiler.answers["g", "", "cpu"] = CaptureFailure("g", "", "cpu", "m.py:7: no such file", "")
    compiler.problems["g"] = "m.py:7: no such file"
    code, out, _ = said("check")
    assert code == 2
    assert "orphaned" not in out
    assert "m.py:7: no such file" in out


def damage(how: str) -> str:
    """Break the snapshot of f on cpu; returns what must be said."""
    folder = Path("snapshots/f/cpu")
    compiled, summary = folder / "compiled.hlo", folder / "summary.yaml"
    if how == "truncated":
        compiled.write_text(compiled.read_text()[:60])
        return "snapshots/f/cpu/compiled.hlo:"
    if how == "conflict":
        compiled.write_text("<<<<<<< HEAD\n" + compiled.read_text())
        return "compiled.hlo:1: holds git conflict markers"
    if how == "future":
        summary.write_text(summary.read_text().replace("format_version: 3", "format_version: 99"))
        return "format version 99 is newer than this hlodiff reads (up to 3)"
    if how == "tags":
        summary.write_text("format_version: !!python/object/apply:os.system [exit]\n")
        return "tags (`!name`) are not allowed"
    (folder / "stablehlo.mlir").unlink()
    return "stablehlo.mlir: is missing"


@pytest.mark.parametrize("how", ["truncated", "conflict", "future", "tags", "missing"])
def test_a_broken_snapshot_is_said_and_the_others_are_judged(how: str, compiler: Compiler, said: Ask) -> None:
    said("update")
    words = damage(how)
    compiler.answers["g", "small", "cpu"] = EXP
    code, out, err = said("check")
    assert (code, err) == (2, "")
    assert words in out
    assert "could not be judged: f on cpu\n" in out
    assert "g/small  ▲ worse on cpu: temp +200 %; tanh -> exponential\n" in out
    assert "hint: " in out
    assert out.split("\n")[-2].startswith("1 changed, 1 could not be judged, 2 unchanged")
    if how == "future":  # somebody with a newer hlodiff has recorded it: an old one must not overwrite it
        assert said("update")[0] == 2
        assert "format_version: 99" in Path("snapshots/f/cpu/summary.yaml").read_text()
    else:
        assert out.count("next: hlodiff update f --target cpu\n") == 1
        assert said("update")[0] == 0
        assert said("check")[0] == 0


def test_an_edited_snapshot_is_compiled_again(compiler: Compiler, said: Ask) -> None:
    """Equal StableHLO and toolchain prove nothing where somebody has touched the stored program."""
    said("update")
    path = Path("snapshots/f/cpu/compiled.hlo")
    path.write_text(path.read_text().replace("tanh(", "sine("))
    compiler.compiled.clear()
    code, out, _ = said("check")
    assert (code, compiler.compiled) == (1, ["f/cpu"])
    assert "sine -> tanh" in out


def test_another_toolchain_is_said_first(compiler: Compiler, said: Ask) -> None:
    said("update")
    compiler.toolchain = {"jax": "0.11.0", "x64": False}
    code, out, _ = said("check")
    assert code == 0
    assert out.startswith("toolchain differs: jax 0.10.2 -> 0.11.0 (cpu, tpu-v5e-2x2)\n")
    assert out.endswith("4 unchanged\n")


def test_a_failed_compile_is_no_verdict(compiler: Compiler, said: Ask) -> None:
    said("update")
    compiler.answers["f", "", "cpu"] = CaptureFailure("f", "", "cpu", "XLA gave up", "\x1b[31mthe end of the log")
    code, out, _ = said("check")
    assert code == 2
    assert "XLA gave up" in out
    assert "    | \\x1b[31mthe end of the log" in out


def test_formats_and_files(compiler: Compiler, said: Ask) -> None:
    said("update")
    compiler.answers["f", "", "cpu"] = EXP
    assert said("check", "--format", "markdown", "-o", "report.md") == (1, "", "")
    assert Path("report.md").read_text().endswith("\n1 changed, 3 unchanged\n")
    assert "\nnext: `hlodiff accept f`\n" in Path("report.md").read_text()
    value = json.loads(said("check", "--format", "json")[1])
    assert value["totals"]["changed"] == 1
    assert value["totals"]["identical"] == 3


@pytest.mark.parametrize(
    ("arguments", "programs"),
    [
        (["f"], {"f"}),
        (["g"], {"g/small", "g/large"}),
        (["g/small"], {"g/small"}),
        (["g/*", "f"], {"g/small", "g/large", "f"}),
        (["--target", "tpu-*"], {"f"}),
    ],
)
def test_selection(arguments: list[str], programs: set[str], compiler: Compiler, said: Ask) -> None:
    said("update")
    value = json.loads(said("check", *arguments, "--format", "json")[1])
    assert {program["name"] for program in value["programs"]} == programs


@pytest.mark.parametrize("command", ["check", "update", "list"])
def test_a_pattern_that_matches_nothing(command: str, compiler: Compiler, said: Ask) -> None:
    code, out, err = said(command, "g/smal")
    assert (code, out) == (2, "")
    assert (
        err == "error: no function matches `g/smal`\nhint: did you mean `g/small`? `hlodiff list` shows what there is\n"
    )
    assert "no target matches `gpu-*`" in said(command, "--target", "gpu-*")[2]


def test_errors_of_registering_and_configuring(compiler: Compiler, said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(config: Config) -> Discovery:
        raise RegistryError("m.py raises ValueError: oh no", where="m.py:3", hint="repair it")

    monkeypatch.setattr("hlodiff.workflows.check.discover", fail)
    assert said("check") == (2, "", "error: m.py:3: m.py raises ValueError: oh no\nhint: repair it\n")
    Path("pyproject.toml").write_text('[tool.hlodiff]\ntagets = ["cpu"]\n')
    code, _, err = said("check")
    assert (code, err) == (
        2,
        "error: pyproject.toml: unknown key `tagets` in [tool.hlodiff]\nhint: did you mean `targets`?\n",
    )


# --- list and show ---------------------------------------------------------------------------------------------------


def test_list(compiler: Compiler, said: Ask) -> None:
    said("update", "f")
    del compiler.answers["f", "", "tpu-v5e-2x2"]
    assert said("list")[1] == (
        "f  (m.py:3)\n"
        "  cpu recorded, tpu-v5e-2x2 orphaned\n"
        "g  (m.py:3)\n"
        "  small: cpu new\n"
        "  large: cpu new\n"
        "2 functions, 1 recorded, 2 new, 1 orphaned; next: hlodiff update\n"
    )
    rows = json.loads(said("list", "--format", "json", "g/small")[1])["programs"]
    assert rows == [{"function": "g", "case": "small", "target": "cpu", "snapshot": "new", "registered_at": "m.py:3"}]


def test_show(compiler: Compiler, said: Ask) -> None:
    said("update")
    out = said("show", "f", "--target", "cpu")[1]
    assert out == (
        "f  cpu\n"
        "  toolchain           jax 0.10.2\n"
        "  StableHLO counts    functions 1, instructions 2\n"
        "  compiled ops        tanh 1\n"
        "  compiled counts     instructions 2, ops 1\n"
        "  compiled executed   flops 8, bytes accessed 64 B, bytes read 32 B, bytes written 32 B, launches 1\n"
        "  compiled placement  1 ops on device, 2 values, 64 B in device\n"
        "  memory              temp 8 B\n"
        "  XLA's cost          flops 8\n"
    )
    value = json.loads(said("show", "g/*", "--format", "json")[1])
    assert [program["case"] for program in value["programs"]] == ["large", "small"]
    assert "no function matches `h`" in said("show", "h")[2]


def test_show_of_a_program_file(compiler: Compiler, said: Ask) -> None:
    Path("a.hlo").write_text(TANH)
    code, out, _ = said("show", "a.hlo")
    assert code == 0
    assert "  compiled ops        tanh 1\n" in out


SCOPED = TANH.replace("tanh(%p.1)", 'tanh(%p.1), metadata={op_name="jit(f)/tanh" source_file="m.py" source_line=4}')


def test_show_prints_the_text_of_a_program(
    compiler: Compiler, said: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler.answers["f", "", "cpu"] = SCOPED
    said("update")
    stored = (tmp_path / "snapshots/f/cpu/compiled.hlo").read_text()
    assert said("show", "f", "--stage", "compiled", "-t", "cpu")[:2] == (0, stored)
    code, out, _ = said("show", "f", "--stage", "compiled", "-t", "cpu", "--scopes")
    assert code == 0 and "tanh(%p0)  // jit(f)/tanh  m.py:4\n" in out
    assert [line.partition("  // ")[0] for line in out.splitlines()] == stored.splitlines()

    code, _, err = said("show", "f", "--stage", "compiled")
    assert code == 2 and "cpu, tpu-v5e-2x2\nhint: hlodiff show f --stage compiled -t cpu\n" in err
    assert (
        "--stage prints one program, and these match: g/large, g/small" in said("show", "g", "--stage", "compiled")[2]
    )
    assert "hint: hlodiff show f --stage compiled\n" in said("show", "f", "--scopes")[2]

    monkeypatch.setattr("hlodiff.capture.discover", compiler.discover)
    compiler.answers["f", "", "cpu"] = EXP
    assert said("show", "f", "--stage", "compiled", "--fresh", "-t", "cpu")[1] == EXP
    assert "exponential(%p0)\n" in said("show", "f", "--stage", "compiled", "--fresh", "--normalized", "-t", "cpu")[1]
    assert said("show", "f", "--stage", "stablehlo", "--fresh", "-t", "cpu")[1].startswith("module @jit_f")
    compiler.answers["f", "", "cpu"] = NotChecked("f", "", "cpu", "no compiler here", "install one")
    code, _, err = said("show", "f", "--stage", "compiled", "--fresh", "-t", "cpu")
    assert code == 2 and "f on cpu: no compiler here\nhint: install one\n" in err


def test_show_reads_files_and_folders_without_a_project(
    compiler: Compiler, said: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said("update")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (tmp_path / "pyproject.toml").unlink()
    (elsewhere / "a.hlo").write_text(SCOPED)
    assert said("show", "a.hlo", "--stage", "compiled")[1] == SCOPED
    assert "}  // jit(f)/tanh  m.py:4\n" in said("show", "a.hlo", "--stage", "compiled", "--scopes")[1]
    assert "hint: hlodiff show a.hlo --stage compiled\n" in said("show", "a.hlo", "--stage", "stablehlo")[2]
    assert "tanh(%p0)" in said("show", "../snapshots", "g/small", "--stage", "compiled")[1]
    assert said("show", "../snapshots", "g/small")[1].startswith("g/small  cpu\n")
    assert "holds no `h`\nhint: it holds f, g/large, g/small\n" in said("show", "../snapshots", "h")[2]
    # In a recorded run the first program of a function has its plain name, and further ones are cases of it.
    shutil.copytree(tmp_path / "snapshots/f/cpu", tmp_path / "snapshots/g/cpu")
    stored = (tmp_path / "snapshots/f/cpu/compiled.hlo").read_text()
    assert said("show", "../snapshots", "g", "--stage", "compiled")[:2] == (0, stored)
    assert "there is no such folder" in said("show", "nowhere", "h")[2]


def test_show_without_snapshots(compiler: Compiler, said: Ask) -> None:
    code, _, err = said("show", "f")
    assert (code, err.endswith("there are no snapshots\nhint: hlodiff update\n")) == (2, True)


def test_targets(compiler: Compiler, said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    found = (
        TargetStatus("cpu", True, "jaxlib 0.10.2", ""),
        TargetStatus("tpu-v5e-2x2", False, "libtpu is not installed", "pip install libtpu"),
    )
    monkeypatch.setattr("hlodiff.capture.targets", lambda config: found)
    assert said("list", "--targets") == (
        0,
        "cpu          yes  jaxlib 0.10.2\n"
        "tpu-v5e-2x2  no   libtpu is not installed\n"
        "                  install: pip install libtpu\n"
        "1 of 2 targets available; next: hlodiff list\n",
        "",
    )
    assert [
        row["name"] for row in json.loads(said("list", "--targets", "-t", "tpu*", "--format", "json")[1])["targets"]
    ] == ["tpu-v5e-2x2"]
    Path("pyproject.toml").unlink()
    assert said("list", "--targets")[0] == 0, "what a machine can compile for is not a matter of a project"


def test_ctrl_c_outside_of_a_capture(compiler: Compiler, said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlodiff.workflows.check.discover", lambda config: signal.raise_signal(signal.SIGINT))
    code, _, err = said("check")
    assert code == 130
    assert "interrupted: every snapshot is whole" in err


def test_check_heeds_the_limits_of_the_configuration(compiler: Compiler, said: Ask) -> None:
    old, new = (f"HloModule m\n\n{text}\n" for text in LIMITED["search"])
    compiler.answers["f", "", "cpu"] = old
    said("update")
    compiler.answers["f", "", "cpu"] = new
    for table, hit in (("", []), ("[tool.hlodiff.limits]\nsearch = 1\n", ["search"])):
        Path("pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["m.py"]\n' + table)
        code, out, _ = said("check", "f", "--target", "cpu", "--format", "json")
        assert code == 1
        assert [each["name"] for program in json.loads(out)["programs"] for each in program["limits_hit"]] == hit


def test_a_renamed_function_is_recognized(compiler: Compiler, said: Ask) -> None:
    compiler.answers["f", "", "cpu"] = EXP
    said("update")
    compiler.answers["h", "", "cpu"] = compiler.answers.pop(("f", "", "cpu"))
    code, out, _ = said("check")
    assert code == 1
    assert "note: f was probably renamed to h (identical program); to move its snapshot: `hlodiff update " in out
    assert out.endswith("1 new, 1 orphaned, 3 unchanged; next: hlodiff accept h\n")
    assert said("update", "--prune", "h", "f")[0] == 0
    assert said("check") == (0, said("check")[1], "") and not Path("snapshots/f/cpu").exists()
