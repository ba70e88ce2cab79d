"""A few of the kills of `make kill`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kill import kill


@pytest.mark.slow
def test_killed_runs_leave_whole_snapshots_and_nothing_else(tmp_path: Path) -> None:
    seen = kill(tmp_path / "ground", 12, seed=1, commands=("update", "check", "accept", "record"))
    assert sum(seen.values()) == 12
