"""`hlodiff diff` by its command line: files, folders, dumps, revisions, formats, exit codes."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hlodiff.cli import run
from hlodiff.snapshots import Snapshot, write_snapshot

ONE = "HloModule m\n\nENTRY e {\n  %p = f32[8]{0} parameter(0)\n  ROOT %n = f32[8]{0} tanh(%p)\n}\n"
TWO = ONE.replace("tanh", "exponential")
STABLEHLO = (
    "module {\n  func.func public @main(%a: tensor<f32>) -> tensor<f32> {\n    return %a : tensor<f32>\n  }\n}\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def write(name: str, text: str | bytes) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def result(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The JSON of one comparison; nothing else may stand on stdout."""
    code = run(["diff", *arguments, "--format", "json"])
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {**value, "code": code}


def statuses(value: dict[str, Any]) -> dict[str, str]:
    return {program["name"]: program["status"] for program in value["programs"]}


def test_two_files(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.hlo", ONE)
    write("b.hlo", TWO)
    assert run(["diff", "a.hlo", "b.hlo"]) == 0
    assert capsys.readouterr().out == (
        "b  = same cost; tanh -> exponential\n"
        "  changed: structure\n"
        "  compiled (executed numbers)\n"
        "    no executed number changed\n"
        "    changed tanh -> exponential  (8 flops, 64 B)\n"
        "▲ costs more, ▼ less, per call and device; below 1 % is not listed\n"
        "structure: other operations, results may differ\n"
        "1 changed; next: hlodiff diff a.hlo b.hlo --format html -o diff.html\n"
    )


def test_the_next_command_is_one_that_works(capsys: pytest.CaptureFixture[str]) -> None:
    write("my old.hlo", ONE)
    write("new.hlo", TWO)
    assert run(["diff", "my old.hlo", "new.hlo", "--brief", "--name", "n*"]) == 0
    following = capsys.readouterr().out.partition("next: ")[2]
    assert following == "hlodiff diff 'my old.hlo' new.hlo --name 'n*'\n"
    assert run(shlex.split(following)[1:]) == 0
    following = capsys.readouterr().out.rpartition("next: ")[2]
    assert following == "hlodiff diff 'my old.hlo' new.hlo --name 'n*' --format html -o diff.html\n"
    assert run(shlex.split(following)[1:]) == 0
    page = Path("diff.html").read_text()
    assert "tanh -&gt; exponential" in page and "hlodiff diff" not in page
    capsys.readouterr()
    assert run(["diff", "new.hlo", "new.hlo"]) == 0
    assert "next" not in capsys.readouterr().out


@pytest.mark.parametrize(("other", "code"), [(ONE, 0), (TWO, 1)])
def test_exit_code(other: str, code: int) -> None:
    write("a.hlo", ONE)
    write("b.hlo", other)
    assert run(["diff", "a.hlo", "b.hlo", "--exit-code"]) == code
    assert run(["diff", "a.hlo", "b.hlo"]) == 0


def test_json_of_two_files(capsys: pytest.CaptureFixture[str]) -> None:
    write("x/old.txt", ONE)
    write("y/new.txt", TWO)
    value = result(capsys, "x/old.txt", "y/new.txt")
    program = value["programs"][0]
    assert (program["name"], program["target"], program["stage"], program["status"]) == (
        "new",
        None,
        "compiled",
        "changed",
    )
    assert program["summary"] == {"added": 0, "removed": 0, "changed": 1, "moved": 0}
    assert value["totals"]["changed"] == 1


def test_output_goes_to_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.hlo", ONE)
    assert run(["diff", "a.hlo", "a.hlo", "-o", "out.md", "--format", "markdown"]) == 0
    assert capsys.readouterr().out == ""
    assert Path("out.md").read_text().endswith("1 unchanged\n")
    assert sorted(p.name for p in Path().iterdir()) == ["a.hlo", "out.md"]
    assert run(["diff", "a.hlo", "a.hlo", "-o", "no/such/folder/out"]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_folders_pair_by_relative_name(capsys: pytest.CaptureFixture[str]) -> None:
    for side, text in (("old", ONE), ("new", TWO)):
        write(f"{side}/sub/changed.hlo", text)
        write(f"{side}/same.txt", ONE)
        write(f"{side}/same.mlir", STABLEHLO)
        write(f"{side}/packed.hlo.gz", gzip.compress(ONE.encode()))
        write(f"{side}/readme.txt", "words")
    write("old/gone.hlo", ONE)
    write("new/come.hlo", ONE)
    value = result(capsys, "old", "new")
    assert [(p["name"], p["stage"], p["status"]) for p in value["programs"]] == [
        ("come", "compiled", "added"),
        ("gone", "compiled", "removed"),
        ("packed", "compiled", "identical"),
        ("same", "compiled", "identical"),
        ("same", "stablehlo", "identical"),
        ("sub/changed", "compiled", "changed"),
    ]
    assert value["notes"] == [
        f"{side}: 1 .txt files do not start with `HloModule` and were skipped" for side in ("old", "new")
    ]
    back = result(capsys, "new", "old")
    assert statuses(back) == {**statuses(value), "come": "removed", "gone": "added"}
    only = result(capsys, "old", "new", "--name", "sub/*")
    assert statuses(only) == {"sub/changed": "changed"}


def test_one_broken_program_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    for side, text in (("old", ONE), ("new", TWO)):
        write(f"{side}/good.hlo", text)
        write(f"{side}/broken.hlo", text[:-20])
        write(f"{side}/empty.hlo", "")
    assert run(["diff", "old", "new"]) == 2
    out, err = capsys.readouterr()
    assert "good  = same cost" in out
    assert "could not be judged: broken" in out
    assert "old/broken.hlo:" in out
    assert out.endswith("1 changed, 2 could not be judged\n")
    assert "Traceback" not in out + err
    assert statuses(result(capsys, "old", "new")) == {
        "good": "changed",
        "broken": "not_checked",
        "empty": "not_checked",
    }


def test_an_xla_dump(capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers shift between runs, and one function compiled for two shapes is two programs of one name."""
    layout = "HloModule m, entry_computation_layout={(f32[8]{0})->f32[8]{0}}, num_partitions=1"
    eight, four = ONE.replace("HloModule m", layout), ONE.replace("HloModule m", layout).replace("[8]", "[4]")
    write("old/module_0001.jit_f.cpu_after_optimizations.txt", ONE)
    write("old/module_0001.jit_f.before_optimizations.txt", ONE)
    write("old/module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt", "BufferAssignment:")
    write("old/module_0003.jit_g.sm_9.0_gpu_after_optimizations.txt", eight)
    write("old/module_0005.jit_g.sm_9.0_gpu_after_optimizations.txt", four)
    write("new/module_0011.jit_g.sm_9.0_gpu_after_optimizations.txt", four)
    write("new/module_0012.jit_g.sm_9.0_gpu_after_optimizations.txt", eight)
    write("new/module_0019.jit_f.cl_77.cpu_after_optimizations.txt", TWO)
    value = result(capsys, "old", "new")
    assert statuses(value) == {
        "jit_f": "changed",
        "jit_f.before_optimizations": "removed",
        "jit_g#1": "identical",
        "jit_g#2": "identical",
    }


def snapshot(root: str, function: str, target: str, compiled: str, jax: str = "0.10.2", temp: int = 8) -> None:
    summary = {
        "format_version": 1,
        "toolchain": {"jax": jax},
        "metrics": {"compiled": {"ops": 1}},
        "memory": {"temp": temp},
    }
    write_snapshot(Path(root), Snapshot(function, "", target, summary, STABLEHLO, compiled))


def test_snapshot_folders_from_the_root_down_to_one(capsys: pytest.CaptureFixture[str]) -> None:
    snapshot("a/snapshots", "f", "cpu", ONE, jax="0.9.2", temp=8)
    snapshot("b/snapshots", "f", "cpu", TWO, temp=16)
    snapshot("b/snapshots", "f", "tpu-v5e-2x2", ONE)
    value = result(capsys, "a/snapshots", "b/snapshots")
    assert [(p["name"], p["target"], p["stage"], p["status"]) for p in value["programs"]] == [
        ("f", "cpu", "compiled", "changed"),
        ("f", "cpu", "stablehlo", "identical"),
        ("f", "tpu-v5e-2x2", "compiled", "added"),
        ("f", "tpu-v5e-2x2", "stablehlo", "added"),
    ]
    assert value["programs"][0]["metrics"]["memory.temp"] == [8, 16]
    assert value["toolchain"] == [{"what": "jax", "old": "0.9.2", "new": "0.10.2", "targets": ["cpu"]}]
    assert len(result(capsys, "a/snapshots", "b/snapshots", "--target", "tpu*")["programs"]) == 2
    assert result(capsys, "a/snapshots/f", "b/snapshots/f")["totals"] == value["totals"]
    one = result(capsys, "b/snapshots/f/cpu", "b/snapshots/f/tpu-v5e-2x2")
    assert [(p["stage"], p["status"]) for p in one["programs"]] == [("compiled", "changed"), ("stablehlo", "identical")]


def test_a_snapshot_from_the_future_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    for root in ("a", "b"):
        snapshot(root, "f", "cpu", ONE)
        snapshot(root, "g", "cpu", ONE)
    path = Path("b/g/cpu/summary.yaml")
    path.write_text(path.read_text().replace("format_version: 1", "format_version: 9"))
    value = result(capsys, "a", "b")
    assert value["code"] == 2
    assert statuses(value) == {"f": "identical", "g": "not_checked"}
    assert "format version 9 is newer" in value["programs"][-1]["reason"]


def git(*arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True, capture_output=True)


def test_git_revisions(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    git("init", "-q", "-b", "main")
    snapshot("snapshots", "f", "cpu", ONE)
    git("add", "-A")
    git("commit", "-qm", "1")
    git("tag", "v1")
    snapshot("snapshots", "f", "cpu", TWO)
    git("add", "-A")
    git("commit", "-qm", "2")
    for old, new in (
        ("HEAD~1", "main"),
        ("v1", "snapshots"),
        ("v1:snapshots", "HEAD"),
        ("v1:snapshots/f", "snapshots/f"),
    ):
        assert [p["status"] for p in result(capsys, old, new)["programs"]] == ["changed", "identical"], (old, new)
    (folder / "deeper").mkdir()
    os.chdir("deeper")
    assert result(capsys, "HEAD~1", "HEAD", "--project", "..")["totals"]["changed"] == 1


def forked(folder: Path) -> None:
    """`main` goes from ONE to TWO; `side` leaves it before that and records a program of its own."""
    (folder / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["m"]\n')
    git("init", "-q", "-b", "main")
    snapshot("snapshots", "f", "cpu", ONE)
    git("add", "-A")
    git("commit", "-qm", "1")
    git("checkout", "-qb", "side")
    snapshot("snapshots", "g", "cpu", ONE)
    git("add", "-A")
    git("commit", "-qm", "2")
    git("checkout", "-q", "main")
    snapshot("snapshots", "f", "cpu", TWO)
    git("commit", "-qam", "3")
    git("checkout", "-q", "side")


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("main..side", {"f": "changed", "g": "added"}),
        ("main..", {"f": "changed", "g": "added"}),
        ("..main", {"f": "changed", "g": "removed"}),
        ("main...side", {"f": "identical", "g": "added"}),
        ("main...", {"f": "identical", "g": "added"}),
        ("side...main", {"f": "changed"}),
        ("main", {"f": "changed", "g": "added"}),  # against the work tree
    ],
)
def test_a_range_names_both_sides(
    capsys: pytest.CaptureFixture[str], folder: Path, spec: str, found: dict[str, str]
) -> None:
    forked(folder)
    value = result(capsys, spec)
    compiled = [program for program in value["programs"] if program["stage"] == "compiled"]
    assert {program["name"]: program["status"] for program in compiled} == found
    (folder / "deeper").mkdir()
    os.chdir("deeper")
    assert result(capsys, spec, "--project", "../pyproject.toml")["totals"] == value["totals"]


def test_a_range_without_a_common_commit(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    forked(folder)
    git("checkout", "-q", "--orphan", "other")
    git("commit", "-qm", "4")
    assert run(["diff", "main...other"]) == 2
    assert capsys.readouterr().err == (
        "error: main...other: main and other have no commit in common\n"
        "hint: compare the two themselves: `hlodiff diff main other`\n"
    )
    git("clone", "-q", "--depth", "1", "--no-single-branch", f"file://{folder}", "shallow")
    os.chdir("shallow")
    assert run(["diff", "origin/main...origin/side"]) == 2
    assert "hint: this clone is shallow and may lack it: `git fetch --unshallow`" in capsys.readouterr().err


def test_the_folder_of_a_project_stands_for_its_snapshots(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["m"]\n')
    snapshot("snapshots", "f", "cpu", ONE)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    for old in ("HEAD", "snapshots"):
        assert [p["status"] for p in result(capsys, old, ".")["programs"]] == ["identical", "identical"], old


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.hlo", "nowhere.hlo"], "nowhere.hlo: no such file, folder or git revision"),
        (["a.hlo", "nonsense"], "nonsense: neither a file, a folder nor a git revision"),
        (["a.hlo"], "a.hlo: NEW is missing"),
        (["nowhere.hlo"], "nowhere.hlo is compared with the snapshots of the work tree, and there are none"),
        (["a..b", "a.hlo"], "a..b: is a range of revisions, which names both sides\nhint: hlodiff diff a..b\n"),
        (["../nowhere", "a.hlo"], "../nowhere: no such file, folder or git revision"),
        (["a.hlo", "a.hlo", "--format", "yaml"], "Invalid value for '--format'"),
        (["old", "old", "--name", "x*"], "no program of these names and targets"),
    ],
)
def test_usage_errors(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    write("a.hlo", ONE)
    write("old/a.hlo", ONE)
    assert run(["diff", *arguments]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert (out, "Traceback" in err) == ("", False)


def test_more_programs_than_a_report_holds_are_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hlodiff.workflows.diff.MOST_PROGRAMS", 3)
    for name in ("a1", "a2", "b1", "b2"):
        write(f"old/{name}.hlo", ONE)
    assert run(["diff", "old", "old"]) == 2
    out, err = capsys.readouterr()
    assert (
        out == "" and "these are 4 programs, and one report holds at most 3\nhint: choose some of them: --name" in err
    )
    assert run(["diff", "old", "old", "--name", "a*"]) == 0


def test_stages_do_not_mix(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.hlo", ONE)
    write("a.mlir", STABLEHLO)
    assert run(["diff", "a.hlo", "a.mlir"]) == 2
    assert "a.hlo is compiled HLO, a.mlir is StableHLO" in capsys.readouterr().out


def test_an_empty_folder_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("old").mkdir()
    write("new/a.hlo", ONE)
    value = result(capsys, "old", "new")
    assert value["notes"] == ["old holds no snapshot and no program file (.hlo, .txt, .mlir, .pb)"]
    assert statuses(value) == {"a": "added"}


def command(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hlodiff", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def test_diff_of_compiled_programs_imports_no_jax() -> None:
    write("a.hlo", ONE)
    write("b.hlo", TWO)
    code = (
        "import sys; from hlodiff.cli import run; run(['diff', 'a.hlo', 'b.hlo']); "
        "print([m for m in ('jax', 'jaxlib', 'rich', 'equinox') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("-o diff.html\n[]\n")


def test_help_is_light_and_names_every_command() -> None:
    code = (
        "import sys; from hlodiff.cli import run; run(['--help']); "
        "print([m for m in ('jax', 'networkx', 'rich', 'yaml', 'numpy', 'hlodiff.diff') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name in ("init", "list", "update", "check", "diff", "show"):
        assert f"  {name} " in done.stdout
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("name", ["init", "list", "update", "check", "diff", "show"])
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: hlodiff {name} ")


def test_a_mistyped_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dif"]) == 2
    assert "Did you mean `diff`?" in capsys.readouterr().err


def test_a_reader_that_leaves_is_no_error() -> None:
    """`hlodiff diff ... | head -1`."""
    write("a.hlo", ONE)
    write("old/x.hlo", ONE)
    ask = f"{sys.executable} -m hlodiff diff a.hlo a.hlo --format json 2>err | true; cat err"
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == ""


def test_no_colour_and_colour() -> None:
    write("a.hlo", ONE)
    write("b.hlo", TWO)
    environment = {**os.environ, "FORCE_COLOR": "1"}
    assert "\x1b[" in command("diff", "a.hlo", "b.hlo", env=environment).stdout
    assert "\x1b[" not in command("diff", "a.hlo", "b.hlo", env={**environment, "NO_COLOR": "1"}).stdout
    assert "\x1b[" not in command("diff", "a.hlo", "b.hlo").stdout


def test_the_same_bytes_in_another_process_and_hash_seed() -> None:
    for side, text in (("old", ONE), ("new", TWO)):
        for name in "abc":
            write(f"{side}/{name}.hlo", text)
    outs = {
        command("diff", "old", "new", "--format", form, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("0", "1", "77")
        for form in ("json",)
    }
    assert len(outs) == 1


def test_an_internal_error_is_one_sentence(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("boom\x1b[31m")

    monkeypatch.setattr("hlodiff.workflows.sides.open_side", fail)
    assert run(["diff", "a", "b"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: internal error: RuntimeError: boom\\x1b[31m (test_cli_diff.py:")
    assert "Traceback" not in err
