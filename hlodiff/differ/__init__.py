"""Comparing programs as graphs: matches, edits, channels, patterns, and the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlodiff.lazy_names import lazy_names

if TYPE_CHECKING:
    from hlodiff.differ.classify import CLASSES as CLASSES
    from hlodiff.differ.classify import classes_of as classes_of
    from hlodiff.differ.comparison import STATUSES as STATUSES
    from hlodiff.differ.comparison import ProgramComparison as ProgramComparison
    from hlodiff.differ.comparison import Status as Status
    from hlodiff.differ.comparison import donated_parameters as donated_parameters
    from hlodiff.differ.comparison import flat_facts as flat_facts
    from hlodiff.differ.comparison import with_compiler as with_compiler
    from hlodiff.differ.growth import QUANTITIES as QUANTITIES
    from hlodiff.differ.growth import GrowingLine as GrowingLine
    from hlodiff.differ.growth import GrownRepeat as GrownRepeat
    from hlodiff.differ.growth import Growth as Growth
    from hlodiff.differ.growth import growth_series as growth_series
    from hlodiff.differ.limits import LimitHit as LimitHit
    from hlodiff.differ.limits import Limits as Limits
    from hlodiff.differ.loops import UncountedLoop as UncountedLoop
    from hlodiff.differ.loops import format_loops as format_loops
    from hlodiff.differ.metrics import ExecutedCount as ExecutedCount
    from hlodiff.differ.metrics import count as count
    from hlodiff.differ.metrics import executed as executed
    from hlodiff.differ.metrics import executed_table as executed_table
    from hlodiff.differ.metrics import metrics_by_kind as metrics_by_kind
    from hlodiff.differ.metrics import metrics_of as metrics_of
    from hlodiff.differ.metrics import op_counts as op_counts
    from hlodiff.differ.metrics import raw_metrics as raw_metrics
    from hlodiff.differ.metrics import runs as runs
    from hlodiff.differ.metrics import static_costs as static_costs
    from hlodiff.differ.pipeline import diff as diff
    from hlodiff.differ.placement import donations as donations
    from hlodiff.differ.placement import format_memory_space as format_memory_space
    from hlodiff.differ.placement import format_partition as format_partition
    from hlodiff.differ.placement import format_sharding as format_sharding
    from hlodiff.differ.placement import placements as placements
    from hlodiff.differ.placement import platform_of as platform_of
    from hlodiff.differ.program_analysis import ProgramAnalysis as ProgramAnalysis
    from hlodiff.differ.program_analysis import Table as Table
    from hlodiff.differ.program_analysis import analyze_program as analyze_program
    from hlodiff.differ.program_analysis import part_costs as part_costs
    from hlodiff.differ.repeats import FrameTree as FrameTree
    from hlodiff.differ.repeats import Repeat as Repeat
    from hlodiff.differ.result import Cost as Cost
    from hlodiff.differ.result import Edit as Edit
    from hlodiff.differ.result import FieldChange as FieldChange
    from hlodiff.differ.result import FusionChange as FusionChange
    from hlodiff.differ.result import ModuleDiff as ModuleDiff
    from hlodiff.differ.result import Site as Site
    from hlodiff.differ.result import summarize as summarize
    from hlodiff.differ.script import AddStep as AddStep
    from hlodiff.differ.script import ChangeStep as ChangeStep
    from hlodiff.differ.script import EditReference as EditReference
    from hlodiff.differ.script import EditScript as EditScript
    from hlodiff.differ.script import InstructionPair as InstructionPair
    from hlodiff.differ.script import OperandRewiring as OperandRewiring
    from hlodiff.differ.script import RemoveStep as RemoveStep
    from hlodiff.differ.subsequence import longest_common_subsequence as longest_common_subsequence
    from hlodiff.differ.verify import Replay as Replay
    from hlodiff.differ.verify import replay as replay


if not TYPE_CHECKING:
    # Import a name on first access, so that counting operations does not load the differ.
    __getattr__ = lazy_names(__spec__)
