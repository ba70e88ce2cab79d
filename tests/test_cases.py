"""The gallery of regressions: its pages quote the reports of the programs that are committed beside the scripts.

`python -m tests.test_cases` quotes as many lines of each report anew.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

from examples.cases.__main__ import PROGRAMS, names, unpack
from examples.cases.__main__ import _copied as copied
from hlodiff.cli import run
from hlodiff.differ import diff
from hlodiff.hlo import read
from hlodiff.registry import registrations
from tests.scenarios import lines, mirrored

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "cases"
_MOST_BYTES = 2 * 1024**2
_TOTALS = re.compile(r"\d+ changed")
_QUOTED = re.compile(r"(?<=^```text\n).*?(?=\n```$)", re.MULTILINE | re.DOTALL)


@pytest.fixture(params=names())
def case(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_page_of_a_case_quotes_its_report(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unpack(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    assert run(["diff", "old", "new"]) == 0
    printed = capsys.readouterr().out
    first = printed.splitlines()[:10]
    verdict = " ".join(" ".join(first).partition("  changed on ")[0].split())
    assert "; " in verdict, "good or bad; what happened"
    assert any("next: hlodiff diff old new " in line for line in first)
    page = (PAGES / f"{case}.md").read_text()
    quoted = _QUOTED.findall(page)
    assert len(quoted) == 1 and len(quoted[0]) > 100
    assert quoted[0] in printed
    assert f"python -m examples.cases {case}" in page


def test_the_programs_of_a_case_replay_in_both_directions(case: str, tmp_path: Path) -> None:
    unpack(case, tmp_path)
    programs = [file for name in ("compiled.hlo", "stablehlo.mlir") for file in (tmp_path / "old").rglob(name)]
    assert len(programs) >= 2
    for file in programs:
        old, new = read(file), read(tmp_path / "new" / file.relative_to(tmp_path / "old"))
        found, mirror = diff(old, new), diff(new, old)
        assert [*found.replay().failures, *mirror.replay().failures] == []
        assert mirrored(found) == sorted(lines(mirror))


def test_a_case_names_what_it_compares(case: str) -> None:
    module = importlib.import_module(f"examples.cases.{case}")
    assert module.OLD != module.NEW and module.TARGET in ("cpu", "cuda-h100")
    assert case in {registration.name for registration in registrations()}
    page = (PAGES / f"{case}.md").read_text()
    for requirement in {*module.OLD} ^ {*module.NEW}:
        package, _, version = requirement.partition("==")
        assert version in page, f"{package} {version}"
    issue = re.match(r"([\w-]+/[\w-]+)#(\d+)", module.__doc__ or "")
    assert issue is not None and issue[0] in page


def test_every_case_is_listed_and_all_are_small() -> None:
    index = (PAGES / "index.md").read_text()
    assert sorted(re.findall(r"\]\((\w+)\.md\)", index)) == sorted([*names(), "invisible"])
    assert {file.name for file in PROGRAMS.iterdir()} == {f"{name}.tar.xz" for name in names()}
    assert sum(file.stat().st_size for file in PROGRAMS.iterdir()) < _MOST_BYTES


def test_the_command_lists_the_cases_and_compares_recorded_programs() -> None:
    command = [sys.executable, "-m", "examples.cases"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in listed.stdout.splitlines()] == names()
    done = subprocess.run([*command, "donated", "--recorded"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "temp 196 B -> 512.0 MiB" in done.stdout


def test_hlodiff_is_built_from_a_copy_that_has_all_that_building_needs(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    project = tomllib.loads((copy / "pyproject.toml").read_text())["project"]
    assert (copy / project["readme"]).is_file() and (copy / "hlodiff" / "__main__.py").is_file()
    assert not list(copy.rglob("__pycache__"))


def quote_anew() -> None:
    for case in names():
        page = PAGES / f"{case}.md"
        with tempfile.TemporaryDirectory() as folder:
            unpack(case, Path(folder))
            command = [sys.executable, "-m", "hlodiff", "diff", "old", "new"]
            surroundings = {**os.environ, "COLUMNS": "110"}
            done = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=True)
        text = page.read_text()
        (quoted,) = _QUOTED.findall(text)
        if quoted not in done.stdout:
            lines = done.stdout.splitlines()
            if not _TOTALS.match(quoted.splitlines()[-1]):  # only the beginning of a long report
                lines = lines[: len(quoted.splitlines())]
            page.write_text(text.replace(quoted, "\n".join(lines)))


if __name__ == "__main__":
    quote_anew()
