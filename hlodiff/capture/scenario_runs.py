"""Runs scenarios: `run_scenario` inside a worker, `ran` in the parent, which starts a worker for each."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from hlodiff.capture.environment import Setting
from hlodiff.capture.imports import message, one_line_at, relative, user_traceback
from hlodiff.capture.messages import DiscoveredScenario, ScenarioRun
from hlodiff.capture.pool import WorkerDeath, WorkerPool
from hlodiff.config import Config
from hlodiff.errors import CaptureError, HlodiffError
from hlodiff.registry import scenarios
from hlodiff.tracing.stable_repr import without_addresses

# Messages of JAX, and what to do about them.
_HASHABLE = "make static arguments hashable: a tuple for a list, a frozen dataclass for a dict or a class of your own"
_ADVICE = (("Non-hashable static argument", _HASHABLE), ("unhashable type", _HASHABLE))


def run_scenario(name: str, root: Path) -> ScenarioRun:
    """Run one scenario in this process, which must not have run another one.

    Args:
        name: name of the scenario.
        root: the folder that source locations are relative to.

    Returns:
        its traces and compilations, or the exception that it raised.

    Raises:
        CaptureError: no scenario has this name, or JAX has moved a private function that is observed.
    """
    import jax

    from hlodiff.tracing.observer import observing, plain_events

    found = next((one for one in scenarios() if one.name == name), None)
    if found is None:
        raise CaptureError(f"no scenario is registered as `{name}`", hint="hlodiff list")
    with observing(executables=False, root=root) as seen:
        try:
            found.run()
        except HlodiffError as error:
            return ScenarioRun(name, what=error.what, advice=error.hint)
        except BaseException as error:  # also SystemExit: nothing else runs in this process
            what = f"{one_line_at(error, root)} (`{name}` is registered at {relative(found.where, root)})"
            advice = next((advice for text, advice in _ADVICE if text in message(error)), "")
            log = without_addresses(user_traceback(error, root))
            return ScenarioRun(name, what=without_addresses(what), advice=advice, log=log)
    return ScenarioRun(name, tuple(plain_events(seen.events)), jax.__version__)


def ran(
    config: Config, wanted: Sequence[DiscoveredScenario], jobs: int | None = None
) -> Generator[ScenarioRun, None, None]:
    """Run scenarios, each in its own worker process, so that none finds the traces of another.

    Args:
        config: the project's.
        wanted: the scenarios.
        jobs: maximum number of concurrent workers; None for the configured number.

    Returns:
        outcomes in order of completion. Closing the iterator stops the workers.
    """
    pools = {found.name: WorkerPool(config) for found in wanted}

    def one(found: DiscoveredScenario) -> ScenarioRun:
        with pools[found.name] as pool:
            try:
                outcome = pool.ask(Setting(False, found.devices), "scenario", found.name)
            except WorkerDeath as error:
                outcome = ScenarioRun(found.name, what=error.describe(found.name), log=error.log)
            except CaptureError as error:
                outcome = ScenarioRun(found.name, what=error.what, advice=error.hint)
        assert isinstance(outcome, ScenarioRun)
        return outcome

    with ThreadPoolExecutor(jobs or config.jobs) as threads:
        try:
            for done in as_completed([threads.submit(one, found) for found in wanted]):
                yield done.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for pool in pools.values():
                pool.kill()
