"""A worker process: imports the user's modules once, then captures one program after the other.

Started by `hlodiff.capture.pool`. What it and everything in it prints goes to a log file; requests and results travel
over a connection of their own.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hlodiff.capture.environment import Purpose
from hlodiff.capture.growth_outcomes import GrowthRequest
from hlodiff.capture.imports import import_modules, imported_files, one_line, relative, user_frame
from hlodiff.capture.outcomes import Discovered, Discovery, FoundScenario, Ran
from hlodiff.capture.parity_outcomes import ParityRequest
from hlodiff.capture.targets import TargetName, parse
from hlodiff.config import Config, process_environment
from hlodiff.errors import CaptureError, HlodiffError, RegistryError, UsageError
from hlodiff.registry import Case, Registration, registrations, varied
from hlodiff.scenarios import Scenario, scenarios


def main(descriptor: int) -> None:
    """Serve requests until there are no more.

    Args:
        descriptor: file descriptor of the connection to the parent.
    """
    threading.Thread(target=_leave_with_parent, args=(os.getppid(),), daemon=True).start()
    with Connection(descriptor) as connection:
        config, purpose = connection.recv()
        gc.disable()  # while modules are imported nothing is garbage; looking for it takes a tenth of the time
        try:
            server = _Server(config, purpose)
        except HlodiffError as error:
            connection.send(("error", error))
            return
        except Exception as error:
            traceback.print_exc()
            connection.send(("error", CaptureError(f"JAX cannot be started: {one_line(error)}")))
            return
        gc.enable()
        connection.send(("ready", None))
        while (message := connection.recv()) is not None:
            connection.send(_answer(server, *message))
    sys.stdout.flush()
    os._exit(0)  # plugins take up to a second to be unloaded, and nothing is left to do


def _answer(server: _Server, what: str, payload: Any) -> tuple[str, Any]:
    try:
        return "result", getattr(server, what)(payload)
    except HlodiffError as error:
        return "error", error


def _leave_with_parent(parent: int) -> None:
    """A parent that is killed cannot tell: without this, a long compile would go on for nobody."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


class _Server:
    """Answers requests, one method each."""

    def __init__(self, config: Config, purpose: Purpose) -> None:
        self.config = config
        if purpose != "probe":
            import_modules(config)
        # After the user's modules: they may set JAX's configuration before it starts.
        from hlodiff.capture.program import Bench

        self.bench = Bench(config.root, process_environment(), config.large_constants)
        if purpose == "capture":
            self.start(None)

    def start(self, _: None) -> None:
        """Flags that XLA does not know end the process: here, before any program is blamed for it."""
        import jax

        if self.bench.environment.get("JAX_PLATFORMS") == "cpu":
            jax.devices("cpu")

    def has_devices(self, wanted: str) -> bool:
        """Whether XLA will start with so many CPU devices; a worker that discovers is started with more."""
        import jax

        from hlodiff.capture.program import Bench

        name = "JAX_NUM_CPU_DEVICES"
        if str(getattr(jax.config, name.lower())) != os.environ.get(name):
            return False  # the user's modules have chosen
        try:
            jax.config.update("jax_num_cpu_devices", int(wanted))
        except (RuntimeError, ValueError):  # it has started
            return False
        os.environ[name] = wanted
        self.bench = Bench(self.config.root, process_environment(), self.config.large_constants)
        return True

    def capture(self, request: Any) -> Any:
        if isinstance(request, GrowthRequest):
            from hlodiff.capture.growing import capture_growth

            return capture_growth(self.bench, request)
        if isinstance(request, ParityRequest):
            from hlodiff.capture.calling import capture_call

            return capture_call(self.bench, request)
        from hlodiff.capture.program import capture_program

        return capture_program(self.bench, request)

    def profile(self, request: Any) -> Any:
        from hlodiff.capture.profiling import profile_program

        return profile_program(self.bench, request)

    def variants(self, _: None) -> tuple[str, ...]:
        return tuple(registration.name for registration in varied())

    def vary(self, wanted: tuple[str, int]) -> Any:
        from hlodiff.capture.varying import vary

        return vary(self.config.root, *wanted)

    def probe(self, name: str) -> str:
        from hlodiff.capture.refusals import cannot_open

        target = parse(name)
        try:
            opened = self.bench.target(target)
        except Exception as error:
            return cannot_open(target, error)[0]
        if target.kind == "attached" and opened.devices[0].platform == "cpu":
            return "this machine has no accelerator that JAX can use"
        return ""

    def discover(self, _: None) -> Discovery:
        found = tuple(self._discovered(registration) for registration in registrations())
        return Discovery(found, tuple(map(self._scenario, scenarios())), imported_files())

    def _scenario(self, found: Scenario) -> FoundScenario:
        file, _, line = relative(found.where, self.config.root).rpartition(":")
        return FoundScenario(found.name, file, int(line), found.max_traces, found.max_programs, found.devices)

    def scenario(self, name: str) -> Ran:
        from hlodiff.capture.scenario_runs import run_scenario

        return run_scenario(name, self.config.root)

    def _discovered(self, registration: Registration) -> Discovered:
        root = self.config.root
        names = registration.targets if registration.targets is not None else self.config.targets
        place = relative(registration.where, root)
        for name in names:
            _check_target(registration, name, place)
        if registration.takes_target:
            listed = [(name, *self._cases(registration, parse(name))) for name in names]
        else:
            once = self._cases(registration, None)
            listed = [(name, *once) for name in names]
        # Where one target has too few devices to tell, the cases of the others are what it would have.
        elsewhere = tuple(dict.fromkeys(case for _, cases, _ in listed for case in cases)) or ("",)
        programs = tuple((name, tuple(cases) or elsewhere) for name, cases, _ in listed)
        every = {name: case for _, cases, _ in reversed(listed) for name, case in cases.items()}
        grown = tuple(name for name in elsewhere if name in every and every[name].grow)
        parity = tuple(name for name in elsewhere if name in every and every[name].parity)
        problem = next((wrong for _, _, wrong in listed if wrong), "")
        file, _, line = place.rpartition(":")
        return Discovered(
            registration.name, registration.module, file, int(line), programs, problem, grown, parity,
            registration.budget,
        )  # fmt: skip

    def _cases(self, registration: Registration, name: TargetName | None) -> tuple[dict[str, Case], str]:
        """The cases, for their names: this machine's CPU stands in for devices of the target that need not be here."""
        import jax

        from hlodiff.capture.cases import build_cases
        from hlodiff.capture.devices import Target, TooFewDevices

        target = None
        if name is not None:
            devices = jax.devices("cpu")
            target = Target(name, devices[: name.devices] if name.devices else devices)
        try:
            return build_cases(registration, target, self.config.root), ""
        except HlodiffError:
            raise
        except TooFewDevices as error:
            return {}, str(error)
        except Exception as error:
            frame = user_frame(error, self.config.root)
            return {}, f"{frame}: {one_line(error)}" if frame else one_line(error)


def _check_target(registration: Registration, name: str, place: str) -> None:
    try:
        parse(name)
    except UsageError as error:
        raise RegistryError(f"`{registration.name}`: {error.what}", where=place, hint=error.hint) from None


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
    main(int(sys.argv[1]))
