"""Running a scenario inside a worker, and asking for it from the parent."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from hlodiff.capture.crew import Crew
from hlodiff.capture.environment import Setting
from hlodiff.capture.imports import one_line, relative, user_frame, user_traceback
from hlodiff.capture.outcomes import FoundScenario, Ran
from hlodiff.capture.spoken import without_addresses
from hlodiff.config import Config
from hlodiff.errors import CaptureError, HlodiffError
from hlodiff.scenarios import Scenario, scenarios

# What JAX says, and what to do about it.
_HASHABLE = "make static arguments hashable: a tuple for a list, a frozen dataclass for a dict or a class of your own"
_ADVICE = (("Non-hashable static argument", _HASHABLE), ("unhashable type", _HASHABLE))


def run_scenario(name: str, root: Path) -> Ran:
    """Run one scenario in this process, which must not have run another.

    Args:
        name: which one.
        root: the folder that files are named relative to.

    Returns:
        what it traced and compiled, or what it raised.

    Raises:
        CaptureError: no scenario has this name, or JAX keeps what is watched in another place.
    """
    import jax

    from hlodiff.capture.accounts import plain_events
    from hlodiff.capture.observing import observing

    found = next((one for one in scenarios() if one.name == name), None)
    if found is None:
        raise CaptureError(f"no scenario is registered as `{name}`", hint="hlodiff list")
    with observing(executables=False, root=root) as seen:
        try:
            found.run()
        except HlodiffError as error:
            return Ran(name, what=error.what, advice=error.hint)
        except Exception as error:
            return _raised(found, error, root)
    return Ran(name, tuple(plain_events(seen.events)), jax.__version__)


def _raised(found: Scenario, error: BaseException, root: Path) -> Ran:
    place = user_frame(error, root)
    what = f"{place}: {one_line(error)}" if place else one_line(error)
    what += f" (`{found.name}` is registered at {relative(found.where, root)})"
    advice = next((advice for said, advice in _ADVICE if said in str(error)), "")
    log = without_addresses(user_traceback(error, root))
    return Ran(found.name, what=without_addresses(what), advice=advice, log=log)


def ran(config: Config, wanted: Sequence[FoundScenario], jobs: int | None = None) -> Generator[Ran, None, None]:
    """Run scenarios, each in a worker process of its own: what one traced must not be there for the next.

    Args:
        config: the project's.
        wanted: which scenarios.
        jobs: how many workers at once; None for the configuration's.

    Returns:
        outcomes as they come. Closing the iterator ends the workers.
    """
    crews = {found.name: Crew(config) for found in wanted}

    def one(found: FoundScenario) -> Ran:
        with crews[found.name] as crew:
            try:
                outcome = crew.ask(Setting(False, found.devices), "scenario", found.name)
            except CaptureError as error:
                head, _, log = error.what.partition("; the end of its log:\n")
                outcome = Ran(found.name, what=head, advice=error.hint, log=log)
        assert isinstance(outcome, Ran)
        return outcome

    with ThreadPoolExecutor(jobs or config.jobs) as threads:
        try:
            for done in as_completed([threads.submit(one, found) for found in wanted]):
                yield done.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for crew in crews.values():
                crew.end()
