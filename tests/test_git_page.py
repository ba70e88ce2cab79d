"""docs/git.md: every console block is played in a repository of its own, and what it prints compared."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

from tests.git_projects import ROOT, Project, project
from tests.test_docs import blocks

PAGE = ROOT / "docs" / "git.md"


def changed(made: Project) -> None:
    made.commit("drivers")
    made.git("branch", "side")
    made.record("step", "sine", 4096)


def committed(made: Project) -> None:
    made.commit("use a sine")


def forked(made: Project) -> None:
    made.git("checkout", "-q", "side")
    made.record("step", "cosine")
    made.commit("use a cosine")
    made.git("checkout", "-q", "main")


def nothing(made: Project) -> None:
    pass


BEFORE: tuple[Callable[[Project], None], ...] = (nothing, changed, committed, forked, nothing)


def test_the_page_is_played(tmp_path: Path) -> None:
    made = project(tmp_path, function="step")
    texts = [text for _, text in blocks(PAGE, "console")]
    assert len(texts) == len(BEFORE)
    for prepare, text in zip(BEFORE, texts, strict=True):
        prepare(made)
        played = ""
        for line in re.findall(r"^\$ (.*)$", text, flags=re.MULTILINE):
            words = shlex.split(line)
            ask = made.hlodiff if words[0] == "hlodiff" else made.git
            played += f"$ {line}\n{ask(*words[1:], code=None).rstrip()}\n"
        assert played == text
