"""Capturing programs: the only room that knows JAX and Equinox, and only in worker processes."""

from hlodiff.capture.availability import targets
from hlodiff.capture.growth_outcomes import Grown, GrowthRequest, Sized
from hlodiff.capture.outcomes import (
    Captured,
    Discovered,
    Discovery,
    Event,
    Failed,
    NotChecked,
    Outcome,
    Request,
    TargetStatus,
)
from hlodiff.capture.pool import Answer, Job, capture, discover

__all__ = [
    "Answer",
    "Captured",
    "Discovered",
    "Discovery",
    "Event",
    "Failed",
    "Grown",
    "GrowthRequest",
    "Job",
    "NotChecked",
    "Outcome",
    "Request",
    "Sized",
    "TargetStatus",
    "capture",
    "discover",
    "targets",
]
