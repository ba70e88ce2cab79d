"""The command as a user types it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def typed(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `hlodiff` in a folder; an error that it does not explain is a failure of the test.

    Args:
        folder: the current folder of the command.
        arguments: what is typed after `hlodiff`.
        environment: variables beside those of this process.
    """
    done = subprocess.run(
        [sys.executable, "-m", "hlodiff", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return done
