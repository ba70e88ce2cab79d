"""The folder of programs that the StableHLO tests share, lowered once for all of them in a process of its own."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

_PROGRAMS = Path(__file__).with_name("stablehlo_programs.py")


def lower_programs(folder: Path, *flags: str, script: Path = _PROGRAMS, seed: str = "0") -> Path:
    """Run `stablehlo_programs.py` (or a copy of it) in a fresh process that writes into `folder`."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, str(script), str(folder), *flags]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return folder


@functools.cache
def shared_programs() -> Path:
    """The programs, lowered once in this test process."""
    folder = Path(tempfile.mkdtemp(prefix="stablehlo-programs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return lower_programs(folder)


@pytest.fixture
def programs() -> Path:
    """A folder with one `.mlir` file for each program of `stablehlo_programs.py`."""
    return shared_programs()
