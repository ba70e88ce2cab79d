"""Programs of a side that are captured now: each one's StableHLO and compiled HLO as `update` would record them."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from typing import Any, cast

from hlodiff.capture import Answer, CapturedProgram, Event, Job, NotChecked, Outcome, capture
from hlodiff.config import Config
from hlodiff.hlo.model import Module
from hlodiff.progress import progress
from hlodiff.snapshots import Key, Snapshot, attach_source, name_arguments, source_of
from hlodiff.workflows.build_snapshot import build_snapshot, normalized
from hlodiff.workflows.select import requests_for
from hlodiff.workflows.sides import Side, SideFailure, SideProgram, failed_programs, failure_of, snapshot_programs


def capture_programs(
    config: Config, requests: Sequence[Job], jobs: int | None, activity: str = "capturing", then: str = "comparing"
) -> Generator[tuple[Key, Any], None, None]:
    """Capture programs and report what is being done with which one.

    Args:
        config: the project's.
        requests: which programs, or what else is to be done with which cases.
        jobs: how many workers; None for the configuration's.
        activity: what workers do, where they say nothing more exact.
        then: what the caller does with each outcome before it takes the next.

    Returns:
        outcomes as they come, each with its key. Closing the iterator ends the workers.
    """
    with progress(len(requests), activity) as step:

        def on_event(event: Event) -> None:
            key = Key(event.function, event.case, event.target)
            item = f"{key.name} on {key.target}" if event.function else ""
            step(item, 0, event.phase or (then if event.kind == "finished" else activity))

        # A generator, so that leaving early, by Ctrl-C too, ends the workers.
        running = cast(Generator[Answer, None, None], capture(config, requests, jobs=jobs, on_event=on_event))
        with closing(running) as outcomes:
            for outcome in outcomes:
                key = Key(outcome.function, outcome.case, outcome.target)
                yield key, outcome
                step(f"{key.name} on {key.target}", 1, then)


def captured_programs(config: Config, key: Key, outcome: Outcome, known: Snapshot | None) -> list[SideProgram]:
    """What a worker has made of one function, case and target, as programs of a side.

    Args:
        config: of the project it is registered in.
        key: which one.
        outcome: the worker's result.
        known: the snapshot that was sent along: the program itself, where the worker found it unchanged.

    Returns:
        both stages, or StableHLO alone where it was only lowered.
    """
    if isinstance(outcome, NotChecked):
        return failed_programs(key, SideFailure(outcome.reason, outcome.advice))
    if not isinstance(outcome, CapturedProgram):
        return failed_programs(key, SideFailure(outcome.what, "", True, outcome.log_tail))
    try:
        if outcome.unchanged and known is not None:
            return snapshot_programs(known, key.folder)
        if outcome.compiled is None:
            return [_lowered_program(config, key, outcome)]
        return snapshot_programs(build_snapshot(outcome, str(config.root), config.large_constants), key.folder)
    except Exception as error:
        return failed_programs(key, failure_of(error))


def _lowered_program(config: Config, key: Key, captured: CapturedProgram) -> SideProgram:
    from hlodiff.hlo import read_text
    from hlodiff.normalizer import to_text

    label = f"{captured.function} on {captured.target}"

    def load() -> Module:
        raw = read_text(captured.stablehlo, path=f"{label}: stablehlo.mlir", trusted=True)
        module = normalized(raw, config.large_constants)
        # Through text, as the stored side came.
        stored = attach_source(
            read_text(to_text(module), path=label, trusted=True), source_of(module, str(config.root))
        )
        return name_arguments(stored, captured.facts.get("arguments"))

    return SideProgram(key.name, key.target, "stablehlo", load, toolchain=captured.facts.get("toolchain") or None)


def capture_side(
    config: Config,
    keys: Sequence[Key],
    jobs: int | None,
    known: Mapping[Key, Snapshot] | None = None,
    *,
    label: str = "",
    called: str = "",
) -> Side:
    """Capture programs.

    Args:
        config: of the project they are registered in.
        keys: which programs.
        jobs: how many workers; None for the configuration's.
        known: programs of the other side: where StableHLO and toolchain are the same, XLA is not asked again.
        label, called: its name in reports and in failures.

    Returns:
        all of them, in the order of `keys`.
    """
    known = known or {}
    found: dict[Key, list[SideProgram]] = {}
    with closing(capture_programs(config, requests_for(keys, known), jobs)) as outcomes:
        for key, outcome in outcomes:
            found[key] = captured_programs(config, key, outcome, known.get(key))
    return Side(label, [program for key in keys for program in found.get(key, ())], called)


def snapshots_of(side: Side) -> dict[Key, Snapshot]:
    """The snapshots of a side that was captured."""
    return {one.snapshot.key: one.snapshot for one in side.programs if one.snapshot is not None}


def instructions(text: str) -> int:
    """How many instructions a program has, counted as reports and summaries count them.

    Args:
        text: StableHLO or compiled HLO.

    Returns:
        the number of instructions; a computation that is called from three places counts three times.
    """
    from hlodiff.differ.metrics import count
    from hlodiff.hlo import read_text

    return int(count(read_text(text, trusted=True)).plain["instructions"])
