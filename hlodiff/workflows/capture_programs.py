"""Running a capture that reports its progress."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any, cast

from hlodiff.capture import Answer, Event, Job, capture
from hlodiff.config import Config
from hlodiff.snapshots import Key
from hlodiff.workflows.progress import progress


def capture_programs(
    config: Config, requests: Sequence[Job], jobs: int | None, activity: str = "compiling"
) -> Generator[tuple[Key, Any], None, None]:
    """Capture programs and report which one is being compiled.

    Args:
        config: the project's.
        requests: which programs, or what else is to be done with which cases.
        jobs: how many workers; None for the configuration's.
        activity: one word for progress.

    Returns:
        outcomes as they come, each with its key. Closing the iterator ends the workers.
    """
    with progress(len(requests), activity) as step:

        def on_event(event: Event) -> None:
            key = Key(event.function, event.case, event.target)
            step(f"{key.name} on {key.target}", event.kind == "finished")

        # A generator, so that leaving early, by Ctrl-C too, ends the workers.
        running = cast(Generator[Answer, None, None], capture(config, requests, jobs=jobs, on_event=on_event))
        with closing(running) as outcomes:
            for outcome in outcomes:
                yield Key(outcome.function, outcome.case, outcome.target), outcome
