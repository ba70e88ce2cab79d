"""Captures programs. The only package that uses JAX and Equinox, and only in worker processes."""

from hlodiff.capture.cache_folder import COMPILE_CACHE, CacheFolder
from hlodiff.capture.imports import Inputs, file_digest, package_version
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
    Executable,
    GrowthRequest,
    GrowthResult,
    NotChecked,
    Outcome,
    ParityRequest,
    PassTime,
    Request,
    ScenarioRun,
    SizedProgram,
    TargetStatus,
    VariantRun,
    VariantsResult,
)
from hlodiff.capture.pool import Answer, Job, discover, targets, worker_reuse
from hlodiff.capture.run_reader import RawProgram, read_raw
from hlodiff.capture.scenario_runs import ran
from hlodiff.capture.targets import is_target
from hlodiff.capture.temporary import TemporaryFolder

__all__ = [
    "COMPILE_CACHE",
    "Answer",
    "CacheFolder",
    "CallResult",
    "CalledProgram",
    "CaptureFailure",
    "CapturedProgram",
    "DiscoveredFunction",
    "DiscoveredScenario",
    "Discovery",
    "Event",
    "Executable",
    "GrowthRequest",
    "GrowthResult",
    "Inputs",
    "Job",
    "NotChecked",
    "Outcome",
    "ParityRequest",
    "PassTime",
    "RawProgram",
    "Request",
    "ScenarioRun",
    "SizedProgram",
    "TargetStatus",
    "TemporaryFolder",
    "VariantRun",
    "VariantsResult",
    "capture",
    "discover",
    "file_digest",
    "is_target",
    "package_version",
    "ran",
    "read_raw",
    "targets",
    "worker_reuse",
]
