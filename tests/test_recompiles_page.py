"""docs/recompiles.md is true: every file on it is written and every command is run, in a fresh folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from hlodiff.tracing.causes import ADVICE

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/recompiles.md"
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLES = re.compile(r"^##+ ", re.MULTILINE)


def parts() -> list[str]:
    """The page cut at its titles, each with what it needs: those with commands only."""
    return [part for part in _TITLES.split(PAGE.read_text()) if "```console" in part]


# Another JAX makes other programs, so that what is pending has another id.
_ID = re.compile(r"(?<=hint: hlodiff accept )[0-9a-f]{8}$", re.MULTILINE)


def run(line: str, folder: Path) -> str:
    words = shlex.split(line)
    commands = {"hlodiff": [sys.executable, "-m", "hlodiff"], "python": [sys.executable]}
    env = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "COLUMNS": "200", "PYTHONHASHSEED": "7"}
    command = [*commands.get(words[0], [words[0]]), *words[1:]]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("part", parts(), ids=lambda part: part.partition("\n")[0])
def test_each_trouble_is_caused_named_and_cured(part: str, tmp_path: Path) -> None:
    for kind, name, text in _BLOCK.findall(part):
        if name:
            (tmp_path / name).write_text(text)
        elif kind == "console":
            for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, expected = command.partition("\n")
                assert _ID.sub("ID", run(line, tmp_path)) == _ID.sub("ID", expected), line


def test_the_page_has_parts() -> None:
    assert len(parts()) == 7


def test_every_kind_of_cause_has_advice() -> None:
    source = (ROOT / "hlodiff/tracing/causes.py").read_text() + (ROOT / "hlodiff/tracing/counts.py").read_text()
    kinds = set(re.findall(r'Cause\("(\w+)"', source)) | set(re.findall(r'ADVICE\["(\w+)"\]', source))
    assert kinds <= set(ADVICE) and len(kinds) > 8
