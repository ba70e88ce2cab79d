"""What `check` does not lower again, what makes it lower after all, and where that is kept."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hlodiff
from hlodiff.capture import CapturedProgram, Inputs, Outcome, Request, file_digest
from hlodiff.config import Config
from tests.test_cli_check import EXP, Compiler, compiler

__all__ = ["compiler"]
Ask = Callable[..., tuple[int, str, str]]
SPARED = "4 of 4 programs were not lowered again"


class Lowering:
    """Answers as the stand-in for the compiler does, says what a program was made from, and counts what was asked."""

    def __init__(self, compiler: Compiler) -> None:
        self.compiler = compiler
        self.asked: list[str] = []

    def capture(self, config: Config, requests: Any, **_: Any) -> Iterator[Outcome]:
        for request in requests:
            yield self.answer(request)

    def answer(self, request: Request) -> Outcome:
        self.asked.append(request.function)
        outcome = self.compiler.answer(request)
        if not isinstance(outcome, CapturedProgram):
            return outcome
        files = {name: file_digest(Path(name)) for name in ("m.py", f"{request.function}.txt")}
        return replace(outcome, inputs=Inputs(files, {"pytest": pytest.__version__}))

    def count(self) -> int:
        found = len(self.asked)
        self.asked.clear()
        return found


@pytest.fixture
def lowering(compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Lowering:
    for name in ("m.py", "f.txt", "g.txt"):
        Path(name).write_text("one\n")
    stand_in = Lowering(compiler)
    monkeypatch.setattr("hlodiff.workflows.capture_side.capture", stand_in.capture)
    monkeypatch.setenv("HLODIFF_CACHE", str(tmp_path_factory.mktemp("cache")))
    return stand_in


def test_what_nothing_has_changed_for_is_not_lowered_again(lowering: Lowering, said: Ask) -> None:
    assert said("update")[0] == 0 and lowering.count() == 4
    code, out, _ = said("check")
    assert (code, lowering.count()) == (0, 0), "the update was the last run"
    assert SPARED in out and "4 unchanged" in out
    assert said("check", "--fresh")[0] == 0 and lowering.count() == 4
    note = json.loads(said("check", "--format", "json")[1])["notes"][-1]
    assert SPARED in note
    assert f"    note: {note}\n" in (Path(__file__).parent.parent / "docs/accepting.md").read_text()
    assert said("update")[0] == 0 and lowering.count() == 4, "an update never rests on what is kept"
    assert said("check", "--timings")[0] == 0 and lowering.count() == 4
    assert said("check", "--stage", "stablehlo")[0] == 0 and lowering.count() == 0


def edit_a_file() -> None:
    Path("f.txt").write_text("two\n")


def set_a_variable() -> None:
    os.environ["JAX_ENABLE_X64"] = "1"


def change_the_configuration() -> None:
    Path("pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["m.py"]\nx64 = true\n')


def edit_the_snapshot() -> None:
    path = Path("snapshots/f/cpu/summary.yaml")
    path.write_text(path.read_text().replace("flops: 8", "flops: 9"))


def lose_the_cache() -> None:
    for file in Path(os.environ["HLODIFF_CACHE"]).iterdir():
        file.write_text("{")


@pytest.mark.parametrize(
    ("change", "lowered"),
    [
        (edit_a_file, 2),
        (set_a_variable, 4),
        (change_the_configuration, 4),
        (edit_the_snapshot, 1),
        (lose_the_cache, 4),
    ],
)
def test_what_makes_check_lower_again(
    change: Callable[[], None], lowered: int, lowering: Lowering, said: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_ENABLE_X64", "0")  # so that it is as before afterwards
    monkeypatch.delenv("JAX_ENABLE_X64")
    said("update")
    said("check")
    lowering.count()
    change()
    said("check")
    assert lowering.count() == lowered


def test_another_version_of_a_package(lowering: Lowering, said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    said("update")
    monkeypatch.setattr("hlodiff.workflows.staleness.package_version", lambda name: "0")
    lowering.count()
    said("check")
    assert lowering.count() == 4


def test_a_changed_program_is_looked_at_until_it_is_settled(lowering: Lowering, said: Ask) -> None:
    said("update")
    lowering.count()
    edit_a_file()
    lowering.compiler.answers["f", "", "cpu"] = EXP
    for _ in range(2):
        assert said("check")[0] == 1
    assert lowering.asked.count("f") == 3, "its other target is unchanged, and known after the first"
    Path("f.txt").write_text("one\n")
    lowering.compiler.answers["f", "", "cpu"] = lowering.compiler.answers["g", "small", "cpu"]
    said("check")
    lowering.count()
    assert said("check")[0] == 0 and lowering.count() == 0
    assert not list(Path(".hlodiff/pending").glob("**/pending.json")), "what was captured before is no longer pending"


def test_a_function_can_say_that_it_hangs_on_more(
    lowering: Lowering, said: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = lowering.compiler.discover

    def discover(config: Config) -> Any:
        known = found(config)
        return replace(known, functions=tuple(replace(one, cache=one.name != "g") for one in known.functions))

    monkeypatch.setattr("hlodiff.workflows.check.discover", discover)
    said("update")
    lowering.count()
    assert "2 of 4 programs were not lowered again" in said("check")[1]
    assert set(lowering.asked) == {"g"}


def test_nothing_is_kept_in_ci_unless_a_folder_is_named(
    lowering: Lowering, said: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    said("update")
    lowering.count()
    monkeypatch.setenv("CI", "true")
    assert said("check")[0] == 0 and lowering.count() == 0, "a folder is named"
    monkeypatch.delenv("HLODIFF_CACHE")
    for _ in range(2):
        assert said("check")[0] == 0 and lowering.count() == 4
    assert list(home.iterdir()) == []
    monkeypatch.delenv("CI")
    said("check")
    lowering.count()
    assert said("check")[0] == 0 and lowering.count() == 0
    assert [path.parent for path in home.rglob("*.json")] == [home / "hlodiff"]
    assert not any("cache" in str(path) for path in Path().rglob("*")), "nothing in the work tree"


def test_checkouts_do_not_share_what_is_kept(
    lowering: Lowering, said: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said("update")
    other = tmp_path / "other"
    other.mkdir()
    for name in ("pyproject.toml", "m.py", "f.txt", "g.txt"):
        (other / name).write_text(Path(name).read_text())
    Path("snapshots").rename(other / "snapshots")
    monkeypatch.chdir(other)
    lowering.count()
    assert said("check")[0] == 0 and lowering.count() == 4


@pytest.mark.slow
def test_a_real_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("HLODIFF_CACHE", str(tmp_path_factory.mktemp("cache")))
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\njobs = 1\n')
    (tmp_path / "helper.py").write_text("def twice(x):\n    return x + x\n")
    (tmp_path / "programs.py").write_text(
        "import hlodiff\nimport helper\n\n\n@hlodiff.register\ndef f():\n"
        "    return hlodiff.Case(helper.twice, hlodiff.abstract((8,), 'float32'))\n\n\n"
        "@hlodiff.register(cache=False)\ndef g():\n    return hlodiff.Case(lambda x: x - 1, 1.0)\n"
    )
    hlodiff.update(root=tmp_path)
    shutil.rmtree(os.environ["HLODIFF_CACHE"])
    assert hlodiff.check(root=tmp_path).report.notes == (), "as in a new checkout"
    assert "1 of 2 programs was not lowered again" in hlodiff.check(root=tmp_path).report.notes[-1]
    (tmp_path / "helper.py").write_text("def twice(x):\n    return x * x\n")
    changed = hlodiff.check(root=tmp_path)
    assert (changed.verdict, changed.report.notes) == ("failed", ())
    assert [one.rule for one in changed.report.findings] == ["changed"]
