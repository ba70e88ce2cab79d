"""What a capture took, beside how large its programs are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlodiff.report.timings import Timing
from hlodiff.store import Key

if TYPE_CHECKING:
    from hlodiff.capture import Captured


def timing(key: Key, captured: Captured) -> Timing:
    """What one capture took.

    Args:
        key: which program.
        captured: what came back from the worker.

    Returns:
        seconds and instructions; no seconds of XLA where it was not asked.
    """
    seconds = captured.seconds
    compiled = None if captured.compiled is None else instructions(captured.compiled)
    stablehlo = instructions(captured.stablehlo)
    times = (seconds.get("trace", 0.0), seconds.get("lower", 0.0), seconds.get("compile"))
    return Timing(key.name, key.target, *times, stablehlo, compiled)


def instructions(text: str) -> int:
    """How many instructions a program has, counted as reports and summaries count them.

    Args:
        text: StableHLO or compiled HLO.

    Returns:
        the number of instructions; a computation that is called from three places counts three times.
    """
    from hlodiff.diff.metrics import count
    from hlodiff.ir import read_text

    return int(count(read_text(text)).plain["instructions"])
