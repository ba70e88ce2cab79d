"""A snapshot that an enemy has written: no command prints anything that a terminal or a CI's log would obey."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hlodiff.report import format_bytes, format_count, json_text, read_untrusted_view, unordered
from hlodiff.snapshots import Snapshot, write_snapshot
from tests.shown import in_words as by_how_much

Said = Callable[..., tuple[int, str, str]]
ONE = "HloModule m\n\nENTRY e {\n  %p = f32[8]{0} parameter(0)\n  ROOT %n = f32[8]{0} tanh(%p)\n}\n"
MLIR = """module @m {
  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}
"""
EVIL = "\x1b]8;;https://evil\x1b\\\x1b[31m\u202e\u200b<script>alert(1)</script>|`a`|]]>\n::error::x\n##[error]x"
PROGRAMS = "import hlodiff\n@hlodiff.register\ndef f(): ...\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project with one function and its snapshot, and another snapshot to compare with."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\n')
    Path("programs.py").write_text(PROGRAMS)
    for root, opcode in (("snapshots", "tanh"), ("other", "exponential")):
        summary = {"format_version": 1, "function": "f", "target": "cpu", "memory": {"temp": 8}}
        write_snapshot(Path(root), Snapshot("f", "", "cpu", summary, MLIR, ONE.replace("tanh", opcode)))


def change(file: str, old: str, new: str) -> None:
    path = Path("snapshots/f/cpu", file)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def assert_harmless(text: str) -> None:
    for line in text.split("\n"):
        assert line.isprintable(), repr(line)
        assert not re.match(r"\s*::", line), line
    assert "##[" not in text


COMMANDS = [
    ("list",), ("list", "--format", "json"), ("show", "f"), ("show", "f", "--format", "json"), ("show", "f", "--why"),
    ("diff", "snapshots", "other"), ("diff", "other", "snapshots", "--format", "json"),
    ("diff", "snapshots", "other", "--format", "sarif"), ("diff", "snapshots", "other", "--format", "junit"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_a_summary_is_obeyed(command: tuple[str, ...], said: Said) -> None:
    change("summary.yaml", "function: f", f"function: {json.dumps(EVIL)}\ntoolchain: {{jax: {json.dumps(EVIL)}}}")
    change("summary.yaml", "temp: 8", f"temp: {json.dumps(EVIL)}")
    code, out, err = said(*command)
    assert code in (0, 1, 2)
    assert_harmless(out.replace("\u200b", ""))
    assert_harmless(err)


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_a_program_is_obeyed(command: tuple[str, ...], said: Said) -> None:
    evil = EVIL.replace("\n", "").replace("\\", "")
    change("compiled.hlo", "tanh(%p)", f'tanh(%p), metadata={{op_name="{evil}" source_file="../{evil}"}}, a="{evil}"')
    code, out, err = said(*command)
    assert code in (0, 1, 2)
    assert_harmless(out.replace("\u200b", ""))
    assert_harmless(err)


@pytest.mark.parametrize("command", [("list",), ("diff", "snapshots", "other"), ("diff", "snapshots", "nowhere")])
def test_nothing_of_a_folder_s_name_is_obeyed(command: tuple[str, ...], said: Said) -> None:
    for name in ("\n::error::pwn", "##[error]x", "\x1b[31mred", "\u202eevil", "<img src=x>"):
        write_snapshot(Path("made"), Snapshot("f", "", "cpu", {"format_version": 1}, MLIR, ONE))
        Path("made/f").rename(Path("snapshots", name))
    _, out, err = said(*command)
    assert_harmless(out)
    assert_harmless(err)


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "1e400", "9" * 4000, "[true]", "true", "'8'"])
def test_figures_that_no_compiler_gives_are_none(value: str, said: Said) -> None:
    change("summary.yaml", "temp: 8", f"temp: {value}")
    code, out, _ = said("diff", "snapshots", "other", "--format", "json")
    assert code == 0
    assert "memory.temp" not in json.loads(out)["programs"][-1]["metrics"]
    read_untrusted_view(out)
    shown = said("show", "f", "--format", "json")[1]
    json.loads(shown, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_a_shape_beyond_all_numbers(said: Said) -> None:
    change("compiled.hlo", "f32[8]{0}", "f32[8]")
    change("compiled.hlo", "f32[8]", f"f32[{','.join(['9' * 18] * 30)}]")
    for form in ("text", "markdown", "junit", "json"):
        code, out, err = said("diff", "snapshots", "other", "--format", form)
        assert (code, err) == (0, ""), form
        assert max(map(len, out.splitlines())) < 3000 or form == "json"


def test_zero_bytes_are_refused_at_once(said: Said) -> None:
    with Path("snapshots/f/cpu/compiled.hlo").open("ab") as file:
        file.truncate(20 * 1024**2)
    code, out, err = said("diff", "snapshots", "other")
    assert code == 2
    assert "is not text: it contains zero bytes" in out + err


@pytest.mark.parametrize("name", ["compiled.hlo", "stablehlo.mlir"])
@pytest.mark.parametrize("line", [b"\n", b" \t\n", b"//\n"], ids=["blank", "spaces", "comments"])
def test_millions_of_empty_lines_are_refused_at_once(name: str, line: bytes, said: Said) -> None:
    path = Path("snapshots/f/cpu", name)
    path.write_bytes(path.read_bytes() + line * (20 * 1024**2 // len(line)))
    code, out, err = said("diff", "snapshots", "other")
    assert code == 2
    assert "lines of fewer than 16 characters on average" in out + err


def test_numbers_without_bounds() -> None:
    huge = 10**400
    assert (format_bytes(huge), format_count(huge)) == ("9.09e+287 TiB", "1e+288 T")
    assert by_how_much(1, huge).endswith(" %")
    assert by_how_much(float("nan"), 3) == "was 0"
    assert format_count(float("-inf")) == "-1e+288 T"


def test_json_is_shown_as_harmless_as_text() -> None:
    text = json_text({"a": EVIL, "b": [float("nan"), (float("inf"), 1.5)], "\x1b": "ü 漢"})
    assert_harmless(text)
    assert json.loads(text) == {"a": EVIL, "b": [None, [None, 1.5]], "\x1b": "ü 漢"}
    assert "ü 漢" in text


def test_every_line_of_a_text_is_looked_at() -> None:
    assert unordered("a\n  ::error::b\n\n::c ##[d]\n") == "a\n  \\x3a:error::b\n\n\\x3a:c #\\x23[d]\n"
