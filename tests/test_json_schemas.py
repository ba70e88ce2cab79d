"""Every format of JSON against its published schema, in which each field is explained."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hlodiff.cli import run
from tests.json_schemas import PAGE, ROOT, names, page, schema, validated
from tests.pass_dumps import unpack
from tests.past import Past
from tests.test_cli_check import EXP, Compiler, compiler
from tests.test_cli_log import past

__all__ = ["compiler", "past"]
Ask = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("name", names())
def test_schemas_are_schemas_and_explain_every_field(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["required"][0] == "format_version"
    assert [row for row in page().splitlines() if row.endswith(("|  |", "; |"))] == []


def test_the_page_is_made_from_the_schemas() -> None:
    assert PAGE.read_text() == page(), "python -m tests.json_schemas"


@pytest.mark.parametrize("path", sorted((ROOT / "tests/pinned").glob("*.json")), ids=lambda path: path.stem)
def test_reports(path: Path) -> None:
    assert validated("report", path.read_text())["format_version"]


def test_what_commands_on_a_project_print(compiler: Compiler, said: Ask) -> None:
    validated("update", said("update", "--format", "json")[1])
    validated("list", said("list", "--format", "json")[1])
    validated("targets", said("list", "--targets", "--format", "json")[1])
    compiler.answers["f", "", "cpu"] = EXP
    assert validated("report", said("check", "--timings", "--format", "json")[1])["findings"]
    assert validated("decisions", said("review", "--reject", "f", "--format", "json")[1])["programs"]
    said("check")
    assert validated("decisions", said("accept", "f", "--format", "json")[1])["programs"]
    validated("show", said("show", "f", "--format", "json")[1])
    subprocess.run(["git", "init", "-q"], check=True)
    validated("git-status", said("git", "status", "--format", "json")[1])
    validated("reasons", said("show", "f", "--why", "--format", "json")[1])


def test_histories(past: Past, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(past.project)
    for name, words in (
        ("history", ["log"]),
        ("history", ["log", "step"]),
        ("change", ["log", "step", "fusions"]),
        ("change", ["log", "step", "fusions", "--above", "1000"]),
    ):
        run([*words, "--format", "json"])
        out, err = capsys.readouterr()
        assert out, err
        validated(name, out)


def test_passes_and_origins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (unpack(f"donated-cpu-jax-0.7.{n}", tmp_path) for n in (1, 2))
    for name, words in (
        ("passes", ["inspect", "passes", str(old)]),
        ("origin", ["inspect", "origin", str(old), "copy.1"]),
        ("origin", ["inspect", "origin", str(old), "nothing"]),
        ("report", ["diff", str(old), str(new), "--passes"]),
    ):
        run([*words, "--format", "json"])
        out, err = capsys.readouterr()
        assert out, err
        validated(name, out)
