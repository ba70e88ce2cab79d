"""Comparing programs as graphs: matches, edits, channels, patterns, and the proof."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlodiff.differ.classify import classes_of as classes_of
    from hlodiff.differ.comparison import STATUSES as STATUSES
    from hlodiff.differ.comparison import ProgramComparison as ProgramComparison
    from hlodiff.differ.comparison import Status as Status
    from hlodiff.differ.comparison import with_compiler as with_compiler
    from hlodiff.differ.growth import QUANTITIES as QUANTITIES
    from hlodiff.differ.growth import Growth as Growth
    from hlodiff.differ.growth import growth_series as growth_series
    from hlodiff.differ.limits import LimitHit as LimitHit
    from hlodiff.differ.limits import Limits as Limits
    from hlodiff.differ.metrics import count as count
    from hlodiff.differ.metrics import metrics_by_kind as metrics_by_kind
    from hlodiff.differ.metrics import metrics_of as metrics_of
    from hlodiff.differ.metrics import module_metrics as module_metrics
    from hlodiff.differ.metrics import op_counts as op_counts
    from hlodiff.differ.metrics import raw_metrics as raw_metrics
    from hlodiff.differ.pipeline import diff as diff
    from hlodiff.differ.placement import donations as donations
    from hlodiff.differ.placement import placements as placements
    from hlodiff.differ.repeats import FrameTree as FrameTree
    from hlodiff.differ.result import Cost as Cost
    from hlodiff.differ.result import Edit as Edit
    from hlodiff.differ.result import FieldChange as FieldChange
    from hlodiff.differ.result import FusionChange as FusionChange
    from hlodiff.differ.result import ModuleDiff as ModuleDiff
    from hlodiff.differ.result import Site as Site
    from hlodiff.differ.result import summarize as summarize
    from hlodiff.differ.subsequence import longest_common_subsequence as longest_common_subsequence
    from hlodiff.differ.verify import Replay as Replay
    from hlodiff.differ.verify import replay as replay


_HOME = {
    "Cost": "result",
    "Edit": "result",
    "FieldChange": "result",
    "FrameTree": "repeats",
    "FusionChange": "result",
    "Growth": "growth",
    "LimitHit": "limits",
    "Limits": "limits",
    "ModuleDiff": "result",
    "ProgramComparison": "comparison",
    "QUANTITIES": "growth",
    "Replay": "verify",
    "STATUSES": "comparison",
    "Site": "result",
    "Status": "comparison",
    "classes_of": "classify",
    "count": "metrics",
    "diff": "pipeline",
    "donations": "placement",
    "growth_series": "growth",
    "longest_common_subsequence": "subsequence",
    "metrics_by_kind": "metrics",
    "metrics_of": "metrics",
    "module_metrics": "metrics",
    "op_counts": "metrics",
    "placements": "placement",
    "raw_metrics": "metrics",
    "replay": "verify",
    "summarize": "result",
    "with_compiler": "comparison",
}


if not TYPE_CHECKING:  # otherwise a type checker would accept every misspelt name

    def __getattr__(name: str) -> object:
        """Import a name on first access, so that counting operations does not load the differ."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
