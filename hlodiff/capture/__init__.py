"""Capturing programs: the only room that knows JAX and Equinox, and only in worker processes."""

from hlodiff.capture.availability import targets
from hlodiff.capture.growth_outcomes import Grown, GrowthRequest, Sized
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
from hlodiff.capture.parity_outcomes import Called, CalledProgram, ParityRequest
from hlodiff.capture.pool import Answer, Job, capture, discover
from hlodiff.capture.scenario_runs import ran
from hlodiff.capture.spare import one_worker_for_both

__all__ = [
    "Answer",
    "Called",
    "CalledProgram",
    "Captured",
    "Discovered",
    "Discovery",
    "Event",
    "Failed",
    "FoundScenario",
    "Grown",
    "GrowthRequest",
    "Job",
    "NotChecked",
    "Outcome",
    "ParityRequest",
    "Ran",
    "Request",
    "Sized",
    "TargetStatus",
    "capture",
    "discover",
    "one_worker_for_both",
    "ran",
    "targets",
]
