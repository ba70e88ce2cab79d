"""`accept` and `review` refuse what was captured before the project changed: its files, configuration or packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hlodiff.capture import CapturedProgram, Inputs, file_digest, package_version
from hlodiff.capture.imports import ImportedInputs
from tests.test_cli_accept import (
    changed,  # noqa: F401  # the fixture
    pending,  # the fixture
)
from tests.test_cli_check import (
    Ask,  # the fixture
    Compiler,  # the fixture
    compiler,  # noqa: F401  # the fixture
)
from tests.test_cli_pending_records import (
    Grower,  # the fixture
    grower,  # noqa: F401  # the fixture
)
from tests.test_cli_review import review
from tests.test_cli_scenarios import (
    Runner,  # the fixture
    runner,  # noqa: F401  # the fixture
)
from tests.typed import typed

TABLE = '[tool.hlodiff]\nmodules = ["m.py"]\n'
FILES = ("m.py", "pkg/model.py")
INSTALLED = {"click": "8.0", "acme": "1.0"}


def inputs() -> Inputs:
    """What a worker would have imported just now."""
    return Inputs({name: file_digest(Path(name)) for name in FILES}, dict(INSTALLED))


@pytest.fixture
def project(changed: Compiler, monkeypatch: pytest.MonkeyPatch, said: Ask) -> Compiler:  # noqa: F811
    """A project of two files, whose captures know what they were made from; the check was a moment ago."""

    def capture(*arguments: Any, **options: Any) -> Iterator[Any]:
        for outcome in changed.capture(*arguments, **options):
            yield replace(outcome, inputs=inputs()) if isinstance(outcome, CapturedProgram) else outcome

    Path("pkg").mkdir()
    for name in FILES:
        Path(name).write_text("x = 1\ny = 2\n")
    monkeypatch.setattr("hlodiff.workflows.capture_side.capture", capture)
    monkeypatch.setattr("hlodiff.workflows.staleness.package_version", lambda name: INSTALLED.get(name, ""))
    assert said("check")[0] == 1
    assert pending() == ["f/cpu", "f/tpu-v5e-2x2", "g/small/cpu", "h/cpu"]
    return changed


def edit(name: str, text: str) -> Callable[[pytest.MonkeyPatch], object]:
    return lambda _: Path(name).write_text(text)


def configure(line: str) -> Callable[[pytest.MonkeyPatch], object]:
    return edit("pyproject.toml", TABLE + line)


def install(**versions: str) -> Callable[[pytest.MonkeyPatch], object]:
    def change(patch: pytest.MonkeyPatch) -> None:
        for name in list(INSTALLED):
            if name in versions:
                patch.setitem(INSTALLED, name, versions[name])
            else:
                patch.delitem(INSTALLED, name)

    return change


CHANGES: dict[str, tuple[Callable[[pytest.MonkeyPatch], object], str]] = {
    "a file": (edit("pkg/model.py", "x = 2\n"), "pkg/model.py has changed since this was captured"),
    "a file gone": (lambda _: Path("m.py").unlink(), "m.py is gone since this was captured"),
    "flags": (configure('xla_flags = ["--xla_a=1"]\n'), "`xla_flags` in [tool.hlodiff] has changed since"),
    "environment": (configure('env = {SIZE = "3"}\n'), "`env` in [tool.hlodiff] has changed since"),
    "x64": (configure("x64 = true\n"), "`x64` in [tool.hlodiff] has changed since"),
    "a package": (install(click="8.0", acme="2.0"), "acme was 1.0 when this was captured, and is 2.0"),
    "no package": (install(click="8.0"), "acme was 1.0 when this was captured, and is gone"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_captures_from_before_a_change_are_refused(
    project: Compiler, said: Ask, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    make, words = CHANGES[change]
    make(monkeypatch)
    before = {path: path.read_bytes() for path in Path("snapshots").rglob("*") if path.is_file()}
    for arguments in (("--all",), ("f",), ("--class", "structure"), ("--target", "cpu")):
        code, out, _ = said("accept", *arguments)
        assert code == 2, out
        assert f"refused\n  {words}" in out and "accepted" not in out
        hint = "hint: hlodiff check f --target cpu; --stale accepts what was captured all the same\n"
        assert hint in out
    assert {path: path.read_bytes() for path in Path("snapshots").rglob("*") if path.is_file()} == before
    assert len(pending()) == 4
    code, out, _ = said("accept", "f", "--stale")
    assert code == 0 and "f  tpu-v5e-2x2  accepted (changed)" in out
    assert said("check")[0] == 1, "the rest is captured again, and fresh"
    assert said("accept", "--everything")[0] == 0


def test_a_pattern_is_refused_too(project: Compiler, said: Ask) -> None:
    patterns = json.loads(said("check", "--format", "json")[1])["patterns"]
    pattern = next(one for one in patterns if "exponential" in one["what"])["id"]
    Path("m.py").write_text("changed\n")
    code, out, _ = said("accept", "--pattern", pattern)
    assert code == 2 and out.count("m.py has changed since this was captured") == 2


def test_review_asks_for_nothing_that_is_refused(project: Compiler, said: Ask) -> None:
    Path("m.py").write_text("changed\n")
    code, out = review("aaa", "--target", "cpu")
    assert code == 2 and "a accept" not in out
    assert out.count("m.py has changed since this was captured") == 3
    assert len(pending()) == 4
    code, out = review("ssa", "--target", "cpu", "--stale")
    assert code == 0 and "1 accepted" in out


@pytest.mark.parametrize(
    "change",
    [
        edit("m.py", "x = 1\r\ny = 2\r\n"),
        edit("unrelated.py", "x = 3\n"),
        configure('fail_on = []\njobs = 2\n[[tool.hlodiff.budgets]]\ntemp_bytes = "1 MiB"\n'),
    ],
    ids=["line ends", "another file", "policy"],
)
def test_what_decides_nothing_of_a_capture_makes_none_out_of_date(
    project: Compiler, said: Ask, monkeypatch: pytest.MonkeyPatch, change: Callable[[pytest.MonkeyPatch], object]
) -> None:
    change(monkeypatch)
    code, out, err = said("accept", "--everything")
    assert code == 0 and "4 accepted" in out, out + err


def test_a_check_of_some_drops_what_is_out_of_date_of_others(project: Compiler, said: Ask) -> None:
    Path("m.py").write_text("changed\n")
    out = said("check", "g*")[1]
    note = "note: no longer pending, because what it was captured from has changed: f on cpu, f on tpu-v5e-2x2"
    assert note in " ".join(out.split())
    assert pending() == ["g/small/cpu"]
    assert "no longer pending" not in said("check", "g*")[1]
    code, out, _ = said("accept", "--everything")
    assert code == 0 and "1 accepted" in out


def test_a_check_leaves_what_still_applies(project: Compiler, said: Ask) -> None:
    said("check", "g*")
    assert len(pending()) == 4
    note = Path(".hlodiff/pending/f/cpu/pending.json")
    note.write_text("{")
    said("check", "g*")
    assert note.exists(), "what cannot be read is for `accept` to name"


@pytest.mark.parametrize("name", ["XLA_FLAGS", "LIBTPU_INIT_ARGS", "JAX_ENABLE_X64", "JAX_DEFAULT_PRNG_IMPL"])
def test_other_variables_of_the_shell_are_another_configuration(
    name: str, project: Compiler, said: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "1")
    code, out, _ = said("accept", "--everything")
    assert code == 2 and f"the environment variable {name} has changed since this was captured\n" in out
    monkeypatch.delenv(name)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")  # which workers set by themselves
    assert said("accept", "--everything")[0] == 0


def test_a_note_that_says_nothing_of_it_is_refused(project: Compiler, said: Ask) -> None:
    note = Path(".hlodiff/pending/f/cpu/pending.json")
    table = json.loads(note.read_text())
    assert str(Path.cwd()) not in note.read_text(), "no path of this machine"
    note.write_text(json.dumps({name: value for name, value in table.items() if name != "origin"}))
    assert "it does not record what it was captured from" in said("accept", "f", "--target", "cpu")[1]
    wrong: list[Any] = [1, {"files": {}}, {"files": {"m.py": 1}, "settings": {}, "packages": {}}, []]
    for origin in wrong:
        note.write_text(json.dumps(table | {"origin": origin}))
        code, out, _ = said("accept", "f", "--target", "cpu")
        assert code == 2 and "does not hold what hlodiff writes there" in out


# --- of another machine ----------------------------------------------------------------------------------------------


def test_ci_captured_other_files(project: Compiler, said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(".hlodiff/pending", "from ci")
    install()(monkeypatch)
    whole = Path("m.py").read_text()
    Path("m.py").write_text("changed\n")
    code, out, _ = said("accept", "--from", "from ci")
    assert code == 2 and "accepted" not in out
    assert "it was captured from other content of m.py than is here, perhaps of a merge commit\n" in out
    assert "--stale accepts what was captured all the same" in out
    Path("m.py").write_text(whole)
    assert said("accept", "--from", "from ci", "f")[0] == 0, "another machine has packages of its own"
    Path("m.py").write_text("changed\n")
    code, out, _ = said("accept", "--from", "from ci", "--stale")
    assert code == 0 and "2 accepted, 2 recorded already" in out


def test_hostile_names_are_not_looked_at(project: Compiler, said: Ask) -> None:
    os.mkfifo("pipe")
    shutil.copytree(".hlodiff/pending", "from ci")
    note = Path("from ci/f/cpu/pending.json")
    table = json.loads(note.read_text())
    table["origin"]["files"] = {"/etc/passwd": "", "../../../etc/passwd": "", "a\0b": "", "pipe": "", "/dev/zero": ""}
    note.write_text(json.dumps(table))
    code, out, err = said("accept", "--from", "from ci", "f", "--target", "cpu")
    assert code == 0, out + err


# --- traces and growth -----------------------------------------------------------------------------------------------


def test_traces_from_before_a_change_are_refused(runner: Runner, said: Ask) -> None:  # noqa: F811
    said("update")
    Path("m.py").write_text("x = 1\n")
    runner.now("one", 3, 5)
    runner.outcomes["one"] = replace(runner.outcomes["one"], inputs=Inputs({"m.py": file_digest(Path("m.py"))}))
    said("check")
    Path("m.py").write_text("x = 2\n")
    code, out, _ = said("accept", "one")
    assert code == 2 and "one  traces  refused\n  m.py has changed since this was captured\n" in out
    assert "hint: hlodiff check one; --stale" in out
    assert said("accept", "one", "--stale")[0] == 0


def test_growth_from_before_a_change_is_refused(grower: Grower, said: Ask) -> None:  # noqa: F811
    grower.counts = (50, 90, 170)
    said("check")
    table = Path("pyproject.toml")
    table.write_text(table.read_text() + 'matmul_precision = "highest"\n')
    code, out, _ = said("accept", "--everything")
    assert code == 2 and "`matmul_precision` in [tool.hlodiff] has changed since this was captured" in out


# --- what a worker has imported --------------------------------------------------------------------------------------


def test_data_that_a_module_reads_is_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "project"
    for name in ("data.json", "snapshots/f.yaml", ".cache/x", "written", "../beside.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("1")
    follower = ImportedInputs(root, root / "snapshots")
    monkeypatch.chdir(root)
    for name in ("data.json", "snapshots/f.yaml", ".cache/x", "../beside.json"):
        Path(name).read_text()
    Path("written").write_text("2")
    Path("link").symlink_to("../beside.json")
    Path("link").read_bytes()
    found = follower.now().files
    assert found["data.json"] == file_digest(Path("data.json"))
    assert not {"written", "snapshots/f.yaml", ".cache/x", "../beside.json", "link"} & found.keys()


def test_packages_of_another_name_have_a_version_too() -> None:
    assert package_version("yaml").startswith("content ")
    assert package_version("Python").count(".") == 2 and package_version("hlodiff")
    assert package_version("no_such_package_at_all") == ""


def test_files_are_read_when_they_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "one_of_mine.py").write_text("x = 1\n")
    (tmp_path / "beside_mine.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(root)
    monkeypatch.syspath_prepend(tmp_path)
    follower = ImportedInputs(root)
    __import__("one_of_mine")
    follower.follow()
    digest = file_digest(root / "one_of_mine.py")
    (root / "one_of_mine.py").write_text("x = 2\n")
    __import__("beside_mine")
    found = follower.now()
    assert found.files["one_of_mine.py"] == digest != file_digest(root / "one_of_mine.py")
    assert "../beside_mine.py" in found.files
    assert not any("site-packages" in name or name.startswith("hlodiff") for name in found.files)
    assert found.packages["jaxlib"] and found.packages["pytest"]
    for name in ("one_of_mine", "beside_mine"):
        del sys.modules[name]


PROGRAMS = """
import hlodiff

@hlodiff.register
def step():
    def traced(x):
        from pkg import late
        return x * late.FACTOR
    return hlodiff.Case(traced, hlodiff.abstract((4,), "float32"))
"""


@pytest.mark.slow
def test_with_the_real_command(tmp_path: Path) -> None:
    """Also a module that is imported only while a function is traced."""

    def hlodiff(*arguments: str) -> tuple[int, str]:
        done = typed(tmp_path, *arguments)
        return done.returncode, done.stdout + done.stderr

    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\n')
    (tmp_path / "programs.py").write_text(PROGRAMS)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("")
    late = tmp_path / "pkg/late.py"
    late.write_text("FACTOR = 2.0\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert hlodiff("update")[0] == 0
    late.write_text("FACTOR = 3.0\n")
    assert hlodiff("check")[0] == 1
    late.write_text("FACTOR = 4.0\n")
    code, out = hlodiff("accept", "step")
    assert code == 2 and "pkg/late.py has changed since this was captured" in out, out
    code, out = hlodiff("accept", "--from", ".hlodiff/pending")
    assert code == 2 and "other content of pkg/late.py than is here" in out, out
    assert hlodiff("check", "step")[0] == 1
    assert hlodiff("accept", "step")[0] == 0
    assert hlodiff("check")[0] == 0
