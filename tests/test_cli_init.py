"""`hlodiff init`: what it writes, what it leaves alone, what it refuses."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from hlodiff.cli import run
from hlodiff.workflows import load


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tree() -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in Path().iterdir()}


def test_an_empty_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init"]) == 0
    assert capsys.readouterr().out == (
        "wrote [tool.hlodiff] in pyproject.toml\n"
        "wrote hlodiff_programs.py\n"
        "wrote .gitattributes\n"
        "next: hlodiff update\n"
    )
    assert sorted(tree()) == [".gitattributes", "hlodiff_programs.py", "pyproject.toml"]
    assert load(Path()).modules == ("hlodiff_programs.py",)
    compile(Path("hlodiff_programs.py").read_text(), "hlodiff_programs.py", "exec")


def test_every_commented_key_is_a_key(folder: Path) -> None:
    run(["init"])
    text = Path("pyproject.toml").read_text()
    options = [line.removeprefix("# ") for line in text.split("\n") if line.startswith("# ") and " = " in line]
    assert len(options) >= 5
    Path("pyproject.toml").write_text(text + "\n".join(options) + "\n")
    assert load(folder).max_file_bytes == 1048576


@pytest.mark.parametrize(
    "text",
    [
        '[project]\nname = "x"  # mine\n',
        '[project]\nname = "x"',
        '[project]\r\nname = "x"\r\n[tool.ruff]\r\nline-length = 99\r\n',
        "",
    ],
)
def test_an_existing_pyproject_keeps_every_byte(text: str) -> None:
    Path("pyproject.toml").write_bytes(text.encode())
    assert run(["init"]) == 0
    after = Path("pyproject.toml").read_bytes()
    assert after.startswith(text.encode())
    assert (b"\r\n" in text.encode()) == (b"\r\n" in after)
    assert after.count(b"\n") == after.count(b"\r\n") or b"\r\n" not in after
    assert tomllib.loads(after.decode())["tool"]["hlodiff"]["targets"] == ["cpu"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("pyproject.toml", "[tool.hlodiff]\n", "has a [tool.hlodiff] table already"),
        ("pyproject.toml", "[tool\n", "cannot be read"),
        ("pyproject.toml", "tool = {ruff = {x = 1}}\n", "a table cannot be added to it"),
        ("hlodiff_programs.py", "mine\n", "already exists, and nothing is overwritten"),
    ],
)
def test_what_is_refused_leaves_everything_as_it_was(
    name: str, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_text(text)
    before = tree()
    assert run(["init"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {name}: ")
    assert said in err
    assert "hint: " in err
    assert tree() == before


def test_git_attributes_are_added_once() -> None:
    Path(".gitattributes").write_text("*.png binary")
    run(["init"])
    lines = Path(".gitattributes").read_text().split("\n")
    assert lines[0] == "*.png binary"
    assert "snapshots/**/source.json text eol=lf -diff linguist-generated=true" in lines
    Path("pyproject.toml").unlink()
    Path("hlodiff_programs.py").unlink()
    before = Path(".gitattributes").read_text()
    run(["init"])
    assert Path(".gitattributes").read_text() == before


def test_another_folder(folder: Path) -> None:
    (folder / "my project").mkdir()
    assert run(["init", "my project"]) == 0
    assert (folder / "my project/pyproject.toml").exists()
    assert run(["init", "nowhere"]) == 2
