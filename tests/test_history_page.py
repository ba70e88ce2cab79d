"""docs/history.md is true: its commands are run in a repository made for it, and all that they print is compared."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.past import Past

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/history.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ID = re.compile(r"\b[0-9a-f]{7}\b")  # hangs on every byte of the repository


def make(top: Path) -> Past:
    """The history that the page tells of."""
    past = Past(top)
    past.record("train_step", "sine", "negate", temp=655360)
    past.scenario("warm_start", 1)
    past.commit("Record train_step")
    past.record("train_step", "sine", "copy", "negate", temp=655360, jax="0.10.2", source=["sine", "negate"])
    past.commit("Use the fused loss")
    past.record("train_step", "sine", "copy", "copy", "negate", temp=786432, jax="0.10.3", source=["sine", "negate"])
    past.commit("Upgrade to jax 0.10.3")
    past.record("train_step", "sine", "copy", "copy", "negate", "tanh", temp=3145728, jax="0.10.3")
    past.scenario("warm_start", 3)
    past.commit("Keep activations for the backward pass (#41)")
    past.record("train_step", "sine", "negate", "tanh", temp=3145728, jax="0.10.3")
    past.commit("Transpose weights once")
    return past


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Past:
    return make(tmp_path_factory.mktemp("page") / "repository")


def commands() -> list[tuple[str, str]]:
    """The `$` lines of the page, each with what stands below it."""
    texts = [text for kind, text in _BLOCK.findall(PAGE.read_text()) if kind == "console"]
    parts = [part for text in texts for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]
    return [(line, expected) for line, _, expected in (part.partition("\n") for part in parts)]


@pytest.mark.parametrize(("line", "expected"), commands(), ids=[line for line, _ in commands()])
def test_what_the_page_shows(past: Past, line: str, expected: str) -> None:
    words = f'PYTHONPATH="{ROOT}" "{sys.executable}" -m hlodiff'
    command = re.sub(r"^hlodiff", words.replace("\\", "/"), line)
    env = {"PATH": "/usr/bin:/bin", "COLUMNS": "116", "PYTHONUTF8": "1"}
    done = subprocess.run(["sh", "-c", command], cwd=past.project, env=env, capture_output=True, text=True, check=False)
    assert _ID.sub("ID", done.stdout) == _ID.sub("ID", expected), done.stderr


def test_the_example_of_json_has_every_key(past: Past) -> None:
    command = [sys.executable, "-m", "hlodiff", "log", "train_step", "-m", "temp_bytes", "--format", "json"]
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=past.project, env=env, capture_output=True, text=True, check=True)
    (shown,) = [json.loads(text) for kind, text in _BLOCK.findall(PAGE.read_text()) if kind == "json"]
    printed = json.loads(done.stdout)
    assert shown.keys() == printed.keys()
    assert shown["histories"][0].keys() == printed["histories"][0].keys()
    assert shown["histories"][0]["commits"][0].keys() == printed["histories"][0]["commits"][0].keys()


def test_the_page_has_commands() -> None:
    assert len(commands()) >= 4
