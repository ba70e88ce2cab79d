"""What `list`, `check`, `accept` and `update` say of snapshots that a merge has left stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlodiff.store import marked_stale
from tests.test_cli_check import EXP, Ask, Compiler, compiler  # noqa: F401  # the fixture


def mark(*folders: str, how: str) -> None:
    """Leave these snapshots as a merge does, with the driver or without."""
    for folder in folders:
        path = Path("snapshots", folder, "summary.yaml")
        text = path.read_bytes()
        path.write_bytes(marked_stale(text) if how == "driver" else b"<<<<<<< HEAD\n" + text)


@pytest.mark.parametrize("how", ["driver", "markers"])
def test_a_stale_snapshot_is_told_and_healed(how: str, compiler: Compiler, said: Ask) -> None:  # noqa: F811
    said("update")
    whole = Path("snapshots/f/cpu/summary.yaml").read_bytes()
    mark("f/cpu", "g/small/cpu", how=how)
    code, out, _ = said("list")
    assert code == 0
    assert "  cpu stale, tpu-v5e-2x2 recorded\n" in out
    assert out.endswith("2 recorded, 2 stale since a merge; next: hlodiff update\n")
    compiler.compiled.clear()
    code, out, _ = said("check")
    words = {"driver": "is stale: both sides of a merge had changed it", "markers": "holds git conflict markers"}
    assert code == 2
    assert "could not be judged: f on cpu\n" in out
    assert words[how] in out
    assert "hint: hlodiff update f --target cpu\n" in out
    assert out.endswith("; next: hlodiff update f g/small\n")
    code, out, _ = said("update", "f", "g/small")
    assert (code, out) == (
        0,
        "f  cpu          recorded anew: a merge had left it stale\n"
        "g/small  cpu    recorded anew: a merge had left it stale\n"
        "2 recorded anew, 1 unchanged; next: git add snapshots\n",
    )
    assert Path("snapshots/f/cpu/summary.yaml").read_bytes() == whole
    assert said("check")[0] == 0


def test_what_was_captured_before_a_merge_does_not_heal(compiler: Compiler, said: Ask) -> None:  # noqa: F811
    said("update")
    compiler.answers["f", "", "cpu"] = EXP
    said("check")
    mark("f/cpu", how="driver")
    code, out, _ = said("accept", "f", "--target", "cpu")
    assert code == 2
    assert out.startswith(
        "f  cpu  refused\n"
        "  a merge has left its snapshot stale, and this was captured before\n"
        "  hint: hlodiff update f --target cpu\n"
    )
