"""Traces of jitted functions: the arguments of each call, and why JAX traced or compiled it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlodiff.lazy_names import lazy_names

if TYPE_CHECKING:
    from hlodiff.tracing.counts import FunctionCounts as FunctionCounts
    from hlodiff.tracing.counts import TraceCounts as TraceCounts
    from hlodiff.tracing.counts import count_traces as count_traces
    from hlodiff.tracing.counts import counts_from_plain as counts_from_plain
    from hlodiff.tracing.counts import format_counts as format_counts
    from hlodiff.tracing.observer import Observer as Observer
    from hlodiff.tracing.observer import observing as observing
    from hlodiff.tracing.records import Call as Call
    from hlodiff.tracing.records import CapturedValue as CapturedValue
    from hlodiff.tracing.records import Compilation as Compilation
    from hlodiff.tracing.records import Function as Function
    from hlodiff.tracing.records import Leaf as Leaf
    from hlodiff.tracing.records import Trace as Trace
    from hlodiff.tracing.records import call_of as call_of
    from hlodiff.tracing.records import call_row as call_row


if not TYPE_CHECKING:
    # Import a record on first use.
    __getattr__ = lazy_names(__spec__)
