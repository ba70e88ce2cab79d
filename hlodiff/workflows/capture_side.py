"""Captures the programs of a side: StableHLO and compiled HLO as `update` would record them."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from typing import Any, cast

from hlodiff.capture import Answer, CapturedProgram, Event, Job, NotChecked, Outcome, capture
from hlodiff.config import Config
from hlodiff.hlo.model import Module
from hlodiff.progress import progress
from hlodiff.snapshots import Key, Snapshot, attach_source, name_arguments, name_results, source_of
from hlodiff.workflows.build_snapshot import normalized, snapshot_of, with_facts_of
from hlodiff.workflows.select import requests_for
from hlodiff.workflows.sides import Side, SideFailure, SideProgram, failed_programs, failure_of, snapshot_programs


def capture_programs(
    config: Config, requests: Sequence[Job], jobs: int | None, activity: str = "capturing", then: str = "comparing"
) -> Generator[tuple[Key, Any], None, None]:
    """Capture programs and report progress on each.

    Args:
        config: the project's.
        requests: programs to capture, or other worker requests.
        jobs: number of workers; None for the configured number.
        activity: shown while workers report nothing more exact.
        then: shown while the caller handles an outcome, before it takes the next.

    Returns:
        outcomes with their keys, in order of completion. Closing the iterator ends the workers.
    """
    with progress(len(requests), activity) as step:

        def on_event(event: Event) -> None:
            key = Key(event.function, event.case, event.target)
            item = f"{key.name} on {key.target}" if event.function else ""
            step(item, 0, event.phase or (then if event.kind == "finished" else activity))

        # A generator, so that leaving early (also by Ctrl-C) ends the workers.
        running = cast(Generator[Answer, None, None], capture(config, requests, jobs=jobs, on_event=on_event))
        with closing(running) as outcomes:
            for outcome in outcomes:
                key = Key(outcome.function, outcome.case, outcome.target)
                yield key, outcome
                step(f"{key.name} on {key.target}", 1, then)


def captured_programs(config: Config, key: Key, outcome: Outcome, known: Snapshot | None) -> list[SideProgram]:
    """Programs of a side from a worker's outcome for one function, case and target.

    Args:
        config: the project's.
        key: which one.
        outcome: the worker's result.
        known: the snapshot that the worker was given; it is the program if the worker found no change.

    Returns:
        both stages, or StableHLO alone if it was only lowered.
    """
    if isinstance(outcome, NotChecked):
        return failed_programs(key, SideFailure(outcome.reason, outcome.advice))
    if not isinstance(outcome, CapturedProgram):
        return failed_programs(key, SideFailure(outcome.what, "", True, outcome.log_tail))
    try:
        if outcome.unchanged and known is not None:
            return snapshot_programs(with_facts_of(known, outcome), key.folder)
        if outcome.compiled is None:
            return [_lowered_program(config, key, outcome)]
        return snapshot_programs(snapshot_of(outcome, str(config.root), config.large_constants), key.folder)
    except Exception as error:
        return failed_programs(key, failure_of(error))


def _lowered_program(config: Config, key: Key, captured: CapturedProgram) -> SideProgram:
    from hlodiff.hlo import read_text
    from hlodiff.normalizer import to_text

    label = f"{captured.function} on {captured.target}"

    def load() -> Module:
        raw = read_text(captured.stablehlo, path=f"{label}: stablehlo.mlir", trusted=True)
        module = normalized(raw, config.large_constants)
        # Through text, like the stored side.
        stored = attach_source(
            read_text(to_text(module), path=label, trusted=True), source_of(module, str(config.root))
        )
        stored = name_arguments(stored, captured.facts.get("arguments"))
        return name_results(stored, captured.facts.get("results"))

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
        config: the project's.
        keys: which programs.
        jobs: number of workers; None for the configured number.
        known: programs of the other side; XLA is skipped for those with the same StableHLO and toolchain.
        label, called: name of the side in reports and in failures.

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
    """The snapshots of a captured side."""
    return {one.snapshot.key: one.snapshot for one in side.programs if one.snapshot is not None}


def instructions(text: str) -> int:
    """The number of instructions of a program, as in reports and summaries.

    Args:
        text: StableHLO or compiled HLO.

    Returns:
        the number of instructions; a computation with three call sites counts three times.
    """
    from hlodiff.differ.metrics import count
    from hlodiff.hlo import read_text

    return int(count(read_text(text, trusted=True)).plain["instructions"])
