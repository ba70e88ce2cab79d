"""Nothing is written in CI unless somebody says so."""

from __future__ import annotations

from hlodiff.config import in_ci
from hlodiff.errors import UsageError


def refuse_in_ci(ci_write: bool, command: str) -> None:
    """Stop before snapshots are written in CI, where nobody sees what was accepted.

    Args:
        ci_write: whether writing in CI was allowed.
        command: the command to name in the hint.

    Raises:
        UsageError: this is CI, and writing was not allowed.
    """
    if in_ci() and not ci_write:
        hint = f"run it on your machine and commit what it wrote, or say `hlodiff {command} --ci-write`"
        raise UsageError("snapshots are not written in CI (the variable CI is set)", hint=hint)
