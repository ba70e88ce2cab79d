"""Capturing programs: the only room that knows JAX and Equinox, and only in worker processes."""

from hlodiff.capture.availability import targets
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
from hlodiff.capture.pool import capture, discover

__all__ = [
    "Captured",
    "Discovered",
    "Discovery",
    "Event",
    "Failed",
    "NotChecked",
    "Outcome",
    "Request",
    "TargetStatus",
    "capture",
    "discover",
    "targets",
]
