"""Comparing programs as graphs: pairing, edits, channels, patterns."""

from hlodiff.diff.differ import diff
from hlodiff.diff.limits import LimitHit, Limits
from hlodiff.diff.replay import Replay
from hlodiff.diff.result import Edit, FieldChange, FusionChange, ModuleDiff, Site, summarize

__all__ = [
    "Edit",
    "FieldChange",
    "FusionChange",
    "LimitHit",
    "Limits",
    "ModuleDiff",
    "Replay",
    "Site",
    "diff",
    "summarize",
]
