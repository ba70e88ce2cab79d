"""docs/tutorial.md is true: a reader who types every file and command of it sees what it shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/tutorial.md"
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def ran(line: str, folder: Path) -> str:
    """What a line prints to stdout."""
    words = shlex.split(line)
    command = [sys.executable, "-m", "hlodiff", *words[1:]] if words[0] == "hlodiff" else words
    who = {f"GIT_{role}_{key}": "reader" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    env |= {"HLODIFF_CACHE": "off", **who}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def page_played(text: str, folder: Path) -> str:
    """The page with what its commands really print, its files written to a folder on the way."""

    def block(match: re.Match[str]) -> str:
        kind, name, body = match.groups()
        if name:
            (folder / name).write_text(body, encoding="utf-8")
        if kind != "console":
            return match[0]
        lines = re.findall(r"^\$ (.*)$", body, re.MULTILINE)
        return "```console\n" + "".join(f"$ {line}\n{ran(line, folder)}" for line in lines) + "```"

    return _BLOCK.sub(block, text)


@pytest.mark.slow
def test_the_tutorial_shows_what_its_commands_print(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("$ hlodiff ") > 8
    assert page_played(text, tmp_path) == text


if __name__ == "__main__":  # what the commands print, written into the page
    with TemporaryDirectory() as name:
        PAGE.write_text(page_played(PAGE.read_text(encoding="utf-8"), Path(name)), encoding="utf-8")
