"""Errors that nobody foresaw, in the form of those that somebody did: one program's trouble is not the run's."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

from hlodiff.errors import HlodiffError


def foreseen(error: Exception) -> HlodiffError:
    """An error of ours as it is, and any other one as a bug in hlodiff.

    Args:
        error: what was caught while one program was worked on.

    Returns:
        an error to tell of that program.

    Raises:
        Exception: the error itself, where HLODIFF_TRACEBACK is set and it is a bug.

    Example:
        >>> foreseen(HlodiffError("no such thing")).what, foreseen(KeyError("x")).what
        ('no such thing', "internal error: KeyError: 'x'")
    """
    if isinstance(error, HlodiffError):
        return error
    if os.environ.get("HLODIFF_TRACEBACK"):
        raise error
    frames = traceback.extract_tb(error.__traceback__)
    at = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    words = str(error).split("\n")[0][:300]
    hint = "this is a bug in hlodiff; HLODIFF_TRACEBACK=1 shows where, please report it"
    return HlodiffError(f"internal error: {type(error).__name__}: {words}{at}", hint=hint)
