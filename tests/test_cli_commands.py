"""The command line as a whole: its groups, its help, the names that commands had before, and completion."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from hlodiff.cli import COMMANDS, FORMER, program, run

Ask = Callable[..., tuple[int, str, str]]
TEXT = "HloModule m\n\nENTRY %e {{\n  %p = f32[8]{{0}} parameter(0)\n  ROOT %r = f32[8]{{0}} {}(%p)\n}}\n"


def every_command(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))
        elif not command.hidden:
            yield (*path, name), command


EVERY = dict(every_command(program))


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two programs and a saved result."""
    monkeypatch.chdir(tmp_path)
    for name, opcode in (("old", "tanh"), ("new", "negate")):
        Path(f"{name}.hlo").write_text(TEXT.format(opcode))
    assert run(["diff", "old.hlo", "new.hlo", "--format", "json", "-o", "result.json"]) == 0
    return tmp_path


def test_help_has_a_line_for_each_command_and_none_for_former_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in {*COMMANDS, *FORMER}]
    assert rows == list(COMMANDS), "each once, on one line"
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Options:", "Daily:", "History:", "Look closer:", "Integration:"]


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_help_has_an_example_that_calls_the_command(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*path, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"\n    hlodiff {' '.join(path)}" in shown


def test_one_option_has_one_meaning() -> None:
    """A short option stands for one long one, and a long one takes a value everywhere or nowhere."""
    long_of: dict[str, set[str]] = {}
    takes: dict[str, set[bool]] = {}
    for path, command in EVERY.items():
        for one in command.params:
            if not isinstance(one, click.Option) or one.hidden:
                continue
            longs = [name for name in one.opts if name.startswith("--")]
            assert longs, path
            for name in one.opts:
                if not name.startswith("--"):
                    long_of.setdefault(name, set()).add(longs[0])
            takes.setdefault(longs[0], set()).add(not one.is_flag)
    assert {name: longs for name, longs in long_of.items() if len(longs) > 1} == {}
    assert {name for name, values in takes.items() if len(values) > 1} == set()


@pytest.mark.parametrize(
    ("former", "now"),
    [
        (["report", "result.json"], ["diff", "result.json"]),
        (["report", "result.json", "--format", "markdown"], ["diff", "result.json", "--format", "markdown"]),
        (["report", "none"], ["diff", "--saved", "none"]),
        (["targets", "-t", "cpu*"], ["list", "--targets", "-t", "cpu*"]),
        (["targets", "--format", "json"], ["list", "--targets", "--format", "json"]),
        (["reject", "--all"], ["review", "--reject", "--all"]),
        (["bisect", "step", "copies"], ["log", "step", "copies", "HEAD"]),
        (["growth", "f"], ["inspect", "growth", "f"]),
        (["parity", "f"], ["inspect", "parity", "f"]),
        (["profile"], ["inspect", "profile"]),
        (["jit-report", "--calls", "0"], ["inspect", "variants", "--calls", "0"]),
    ],
    ids=" ".join,
)
def test_former_names_do_the_same_and_say_the_new_one(
    former: list[str], now: list[str], two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    code = run(former)
    out, err = capsys.readouterr()
    first, *rest = err.splitlines(keepends=True)
    assert first.startswith(f"note: `hlodiff {former[0]}` is now `hlodiff ")
    assert run(now) == code
    assert capsys.readouterr() == (out, "".join(rest))


def test_a_slip_in_a_former_name_is_answered_with_the_new_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bisekt"]) == 2
    assert "Did you mean `log NAME METRIC`?" in capsys.readouterr().err


def test_a_saved_result_is_not_compared(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "result.json", "--verify", "--target", "cpu"]) == 2
    assert "error: --verify, --target compare, and result.json alone is a saved result" in capsys.readouterr().err


def test_targets_are_listed_whatever_the_configuration_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("[tool.hlodiff]\ntagets = ['cpu']\n")
    assert run(["list", "--targets", "-t", "cpu"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("cpu  yes") and "unknown key `tagets`" in err


def test_a_target_that_is_none_is_answered_with_what_targets_look_like(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (two / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["hlodiff_programs.py"]\n')
    (two / "hlodiff_programs.py").write_text(
        "import hlodiff\n\n@hlodiff.register\ndef f():\n    return hlodiff.Case(abs, 1.0)\n"
    )
    assert run(["list", "--target", "gpu"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "targets look like cpu, tpu-v5e-2x2 or cuda-h100, or a pattern such as 'tpu-*'; registered: cpu" in said
    assert "did you mean" not in said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_with_one_command(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert run(["init", "--completion", shell]) == 0
    wrote, following = capsys.readouterr().out.splitlines()
    script = Path(wrote.removeprefix("wrote "))
    assert script.is_relative_to(tmp_path) and f"_HLODIFF_COMPLETE={shell}_complete" in script.read_text()
    assert following.startswith("next: ")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [script]


def test_names_and_targets_are_completed_without_importing_the_project() -> None:
    asked = {
        "hlodiff check attent": ["attention"],
        "hlodiff accept -t cuda": ["cuda-h100-x4"],
        "hlodiff log mlp_": ["mlp_gradient"],
        "hlodiff inspect profile --target cp": ["cpu", "cpu-4"],
        "hlodiff inspect or": ["origin"],
    }
    for words, found in asked.items():
        assert _completed(words) == found


def _completed(words: str) -> list[str]:
    *given, incomplete = words.split()[1:]
    completer = ShellComplete(program, {}, "hlodiff", "_HLODIFF_COMPLETE")
    return [item.value for item in completer.get_completions(given, incomplete)]


def test_completion_through_a_shell() -> None:
    words = {"COMP_WORDS": "hlodiff re", "COMP_CWORD": "1", "_HLODIFF_COMPLETE": "bash_complete"}
    command = [str(Path(sys.executable).parent / "hlodiff")]
    done = subprocess.run(command, env={**os.environ, **words}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["plain,review", "plain,record"]
