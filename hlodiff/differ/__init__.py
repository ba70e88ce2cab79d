"""Comparing programs as graphs: pairing, edits, channels, patterns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlodiff.differ.limits import LimitHit, Limits
    from hlodiff.differ.pipeline import diff
    from hlodiff.differ.result import Edit, FieldChange, FusionChange, ModuleDiff, Site, summarize
    from hlodiff.differ.verify import Replay


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
_HOME = {"diff": "pipeline", "LimitHit": "limits", "Limits": "limits", "Replay": "verify"}


if not TYPE_CHECKING:  # else a type checker would take every misspelt name for one that exists

    def __getattr__(name: str) -> object:
        """What was asked for, imported then: counting the operations of a program takes no differ."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME.get(name, 'result')}"), name)
