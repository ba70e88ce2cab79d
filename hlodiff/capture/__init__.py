"""Capturing programs: the only room that knows JAX and Equinox, and only in worker processes."""

from hlodiff.capture.availability import targets
from hlodiff.capture.outcomes import (
    Captured,
    Discovered,
    Discovery,
    Event,
    Failed,
    FoundScenario,
    NotChecked,
    Outcome,
    Ran,
    Request,
    TargetStatus,
)
from hlodiff.capture.pool import capture, discover
from hlodiff.capture.scenario_runs import ran

__all__ = [
    "Captured",
    "Discovered",
    "Discovery",
    "Event",
    "Failed",
    "FoundScenario",
    "NotChecked",
    "Outcome",
    "Ran",
    "Request",
    "TargetStatus",
    "capture",
    "discover",
    "ran",
    "targets",
]
