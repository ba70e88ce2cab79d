"""Capturing programs: the only room that knows JAX and Equinox, and only in worker processes."""

from hlodiff.capture.imports import Inputs
from hlodiff.capture.jobs import capture
from hlodiff.capture.messages import (
    CalledProgram,
    CallResult,
    CapturedProgram,
    CaptureFailure,
    DiscoveredFunction,
    DiscoveredScenario,
    Discovery,
    Event,
    GrowthRequest,
    GrowthResult,
    NotChecked,
    Outcome,
    ParityRequest,
    Request,
    ScenarioRun,
    SizedProgram,
    TargetStatus,
)
from hlodiff.capture.pool import Answer, Job, discover, targets, worker_reuse
from hlodiff.capture.scenario_runs import ran

__all__ = [
    "Answer",
    "CallResult",
    "CalledProgram",
    "CaptureFailure",
    "CapturedProgram",
    "DiscoveredFunction",
    "DiscoveredScenario",
    "Discovery",
    "Event",
    "GrowthRequest",
    "GrowthResult",
    "Inputs",
    "Job",
    "NotChecked",
    "Outcome",
    "ParityRequest",
    "Request",
    "ScenarioRun",
    "SizedProgram",
    "TargetStatus",
    "capture",
    "discover",
    "ran",
    "targets",
    "worker_reuse",
]
