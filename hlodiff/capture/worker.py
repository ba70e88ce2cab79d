"""The code of a worker process: it imports the user's modules once, then captures one program after another.

Started by `hlodiff.capture.pool`. All output goes to a log file; requests and results use a separate connection. The
user's code may kill the process, so the parent knows each module and function before it runs, and can name the one
responsible.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from importlib.machinery import SourceFileLoader
from multiprocessing.connection import Connection
from types import CodeType
from typing import TYPE_CHECKING, Any

from hlodiff.capture.cache_folder import CacheFolder
from hlodiff.capture.environment import Purpose
from hlodiff.capture.imports import (
    ImportedInputs,
    Inputs,
    files_behind,
    import_modules,
    imported_files,
    is_own,
    one_line,
    one_line_at,
    relative,
)
from hlodiff.capture.messages import (
    CapturedProgram,
    DiscoveredFunction,
    DiscoveredScenario,
    Discovery,
    GrowthRequest,
    GrowthResult,
    ParityRequest,
    ScenarioRun,
)
from hlodiff.capture.supervision import adopt_orphans, die_with_parent, prefer_to_be_killed
from hlodiff.capture.targets import TargetName, parse_target
from hlodiff.config import Config, process_environment
from hlodiff.errors import CaptureError, HlodiffError, RegistryError, UsageError
from hlodiff.registry import Registration, registrations, scenarios, varied

if TYPE_CHECKING:
    from hlodiff.capture.cases import BuiltCases
    from hlodiff.capture.compile_case import Bench


def main(descriptor: int, parent: int) -> None:
    """Serve requests until the parent sends None.

    Args:
        descriptor: file descriptor of the connection to the parent.
        parent: the parent's process id.
    """
    die_with_parent()
    prefer_to_be_killed()
    adopt_orphans()
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    _compile_as_cached()
    os.set_inheritable(descriptor, False)  # otherwise a process started by the user's code would keep it open
    log = os.dup(1)
    with Connection(descriptor) as connection:
        send = _sender(connection)
        config, purpose, folder = connection.recv()
        gc.disable()  # imports make no garbage, and searching for it takes a tenth of their time
        try:
            server = _Server(config, purpose, send, folder)
            locations = server.locations()
        except HlodiffError as error:
            send("error", _plain(error))
            return
        except Exception as error:
            traceback.print_exc()
            send("error", CaptureError(f"JAX cannot be started: {one_line(error)}"))
            return
        gc.enable()
        state = ProcessState(log)
        send("ready", locations)
        last: str | None = None
        while (message := connection.recv()) is not None:
            what, payload = message
            own = what in _OURS
            # Cases of a function are built once, and may set what they are traced with: so it has one state. A request
            # is a name, a name with a number, a record, or a record in a record.
            first = payload[0] if isinstance(payload, tuple) else getattr(payload, "request", payload)
            function = None if own else str(getattr(first, "function", first))
            if own or function != last:
                state.restore()
            last = function
            try:
                answer = "result", getattr(server, what)(payload)
            except HlodiffError as error:
                answer = "error", _plain(error)
            if own:
                state.keep()
            elif left := state.left_threads():
                send("left", {function: left})
            send(*answer)
    sys.stdout.flush()
    os._exit(0)  # nothing is left to do, and unloading plugins takes up to a second


# Requests that run no user function.
_OURS = ("has_devices", "start", "discover", "probe", "variants", "imported")


def _plain(error: HlodiffError) -> HlodiffError:
    """An error of ours; a user's subclass, which the parent cannot import, becomes the nearest class of ours."""
    if is_own(error):
        return error
    return RegistryError(str(error.what), where=str(error.where), hint=str(error.hint))


def _compile_as_cached() -> None:
    """Make a freshly compiled module equal to one that Python reads from its cache.

    A set literal is a constant of the code. Python's cache stores its elements sorted, the compiler keeps their order,
    and if hashes collide, iteration follows insertion order: the first run of a project would give a different program
    than the second.
    """
    compiled = SourceFileLoader.source_to_code

    def source_to_code(self: SourceFileLoader, *args: Any, **kwargs: Any) -> CodeType:
        code: CodeType = marshal.loads(marshal.dumps(compiled(self, *args, **kwargs)))
        return code

    SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign, assignment]


def _sender(connection: Connection[Any, Any]) -> Callable[[str, Any], None]:
    """A function that sends to the parent. In a fork of this process, made by the user's code, it exits instead."""
    own = os.getpid()
    os.register_at_fork(after_in_child=connection.close)  # else the parent would not notice the end of this process

    def send(kind: str, payload: Any) -> None:
        if os.getpid() != own:
            os._exit(0)
        connection.send((kind, payload))

    return send


def _exit_with_parent(parent: int) -> None:
    """Exit if the parent was killed before `die_with_parent` took effect, or if the kernel does not support it."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


class _Server:
    """Answers requests, one method each."""

    def __init__(
        self, config: Config, purpose: Purpose, send: Callable[[str, Any], None], folder: CacheFolder | None
    ) -> None:
        self.config = config
        self.folder = folder
        self.seen: set[str] = set()  # modules already reported to the parent
        self.inputs = ImportedInputs(config.root, config.snapshots)
        if purpose != "probe":
            import_modules(config, lambda module: send("importing", module))
            self.inputs.follow()  # reads the files now: they may change while programs compile
            send("importing", "")
        self.on_phase = lambda phase: send("phase", phase)
        self.bench = self._bench()  # after the user's modules, which may configure JAX before it starts
        if purpose == "capture":
            self.start(None)

    def locations(self) -> dict[str, str]:
        """Where each function is registered; empty if two share a name, which `discover` reports."""
        try:
            return {name: relative(found.where, self.config.root) for name, found in self.registered.items()}
        except RegistryError:
            return {}

    @cached_property
    def registered(self) -> dict[str, Registration]:
        return {registration.name: registration for registration in registrations()}

    def start(self, _: None) -> None:
        """Start XLA. Unknown flags kill the process here, before a program can be blamed."""
        import jax

        if self.bench.environment.get("JAX_PLATFORMS") == "cpu":
            jax.devices("cpu")

    def has_devices(self, wanted: str) -> bool:
        """Whether XLA will start with this many CPU devices; for discovery the worker was started with more."""
        import jax

        name = "JAX_NUM_CPU_DEVICES"
        if str(getattr(jax.config, name.lower())) != os.environ.get(name):
            return False  # the user's modules set the number
        try:
            jax.config.update("jax_num_cpu_devices", int(wanted))
        except (RuntimeError, ValueError):  # XLA has started
            return False
        os.environ[name] = wanted
        self.bench = self._bench()
        return True

    def _bench(self) -> Bench:
        from hlodiff.capture.compile_cache import CompileCache
        from hlodiff.capture.compile_case import Bench

        environment = process_environment()
        bench = Bench(self.config.root, environment, self.config.large_constants, worker=True)
        bench.on_phase = self.on_phase
        bench.compile_cache = CompileCache(self.folder, environment) if self.folder else None
        return bench

    def capture(self, request: Any) -> Any:
        from hlodiff.capture.compile_case import capture_growth, capture_program, failed

        outcome: Any
        try:
            if isinstance(request, GrowthRequest):
                outcome = capture_growth(self.bench, request)
            elif isinstance(request, ParityRequest):
                from hlodiff.capture.parity import capture_call

                outcome = capture_call(self.bench, request)
            else:
                outcome = capture_program(self.bench, request)
        except Exception:
            raise
        except BaseException as error:  # also SystemExit and KeyboardInterrupt: Ctrl-C is for the parent
            return failed(self.bench, request, error)
        is_made = isinstance(outcome, GrowthResult | CapturedProgram)
        return replace(outcome, inputs=self.inputs.now()) if is_made else outcome

    def profile(self, request: Any) -> Any:
        from hlodiff.capture.profile import profile_program

        return profile_program(self.bench, request)

    def variants(self, _: None) -> tuple[str, ...]:
        return tuple(registration.name for registration in varied())

    def vary(self, wanted: tuple[str, int]) -> Any:
        from hlodiff.capture.variants import vary

        return vary(self.config.root, *wanted)

    def probe(self, name: str) -> str:
        from hlodiff.capture.compile_case import cannot_open

        target = parse_target(name)
        try:
            opened = self.bench.target(target)
        except Exception as error:
            return cannot_open(target, error)[0]
        if target.kind == "attached" and opened.devices[0].platform == "cpu":
            return "this machine has no accelerator that JAX can use"
        return ""

    def discover(self, _: None) -> Discovery:
        """Everything registered, each function as if it had one case."""
        found = tuple(map(self._listed, registrations()))
        runs = []
        for one in scenarios():
            file, line = relative(one.where, self.config.root).rsplit(":", 1)
            runs.append(DiscoveredScenario(one.name, file, int(line), one.max_traces, one.max_programs, one.devices))
        return Discovery(found, tuple(runs), imported_files(self.seen))

    def imported(self, _: None) -> Inputs:
        """The inputs of the registered modules."""
        return self.inputs.now()

    def cases(self, name: str) -> tuple[DiscoveredFunction, tuple[str, ...]]:
        """A function with its cases, and the files that were imported since the last request."""
        registration = self.registered.get(name)
        if registration is None:  # an earlier worker listed it
            raise RegistryError(f"`{name}` is registered in one import of its module and not in the next")
        return self._discovered(registration), imported_files(self.seen)

    def scenario(self, name: str) -> ScenarioRun:
        from hlodiff.capture.scenario_runs import run_scenario

        return replace(run_scenario(name, self.config.root), inputs=self.inputs.now())

    def _listed(self, registration: Registration) -> DiscoveredFunction:
        names = registration.targets if registration.targets is not None else self.config.targets
        where = relative(registration.where, self.config.root)
        file, _, line = where.rpartition(":")
        programs = tuple((name, ("",)) for name in names)
        problem = next((wrong for name in names if (wrong := _target_problem(name))), "")
        files = files_behind(registration.module, registration.file)
        return DiscoveredFunction(
            registration.name, registration.module, file, int(line), programs, problem, budget=registration.budget,
            cache=registration.cache,
            imports=None if files is None else tuple(relative(file, self.config.root) for file in files),
        )  # fmt: skip

    def _discovered(self, registration: Registration) -> DiscoveredFunction:
        listed = self._listed(registration)
        names = listed.targets
        if registration.takes_target:
            from hlodiff.capture.cases import BuiltCases

            nothing = BuiltCases({}, {}, ())
            built = [
                (name, *((nothing, "") if _target_problem(name) else self._cases(registration, parse_target(name))))
                for name in names
            ]
        else:
            cases = self._cases(registration, None)
            built = [(name, *cases) for name in names]
        # A target with too few devices to build the cases uses those of the other targets.
        elsewhere = tuple(dict.fromkeys(case for _, found, _ in built for case in found.names)) or ("",)
        programs = tuple((name, found.names or elsewhere) for name, found, _ in built)
        every = {name: case for _, found, _ in reversed(built) for name, case in found.sound.items()}
        wrong = {name: error.what for _, found, _ in reversed(built) for name, error in found.wrong.items()}
        grown = tuple(name for name in elsewhere if name in every and every[name].grow)
        parity = tuple(name for name in elsewhere if name in every and every[name].parity)
        problem = next((why for _, _, why in built if why), listed.problem)
        return replace(
            listed, programs=programs, problem=problem, grown=grown, parity=parity, wrong=tuple(wrong.items())
        )

    def _cases(self, registration: Registration, name: TargetName | None) -> tuple[BuiltCases, str]:
        """The cases, for their names, built on CPU devices instead of the target's; and why they cannot be built."""
        import jax

        from hlodiff.capture.cases import BuiltCases, build_each_case
        from hlodiff.capture.devices import Target, TooFewDevices

        nothing = BuiltCases({}, {}, ())
        target = None
        if name is not None:
            devices = jax.devices("cpu")
            target = Target(name, devices[: name.devices] if name.devices else devices)
        try:
            return build_each_case(registration, target, self.config.root), ""
        except TooFewDevices as error:
            return nothing, str(error)
        except BaseException as error:  # also SystemExit and KeyboardInterrupt: Ctrl-C is for the parent
            if is_own(error):
                return nothing, str(error)
            return nothing, one_line_at(error, self.config.root)


def _target_problem(name: str) -> str:
    try:
        parse_target(name)
    except UsageError as error:
        return error.what
    return ""


# --- Process state that a registered function may change, restored before the next function runs.

_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


class ProcessState:
    """The state of a process after importing its modules.

    Each function finds the process as the imports left it, whichever functions ran before: the folder, environment
    variables, JAX's configuration, signal handlers and timers, stdout and stderr, the recursion limit and the file mode
    mask.

    Args:
        log: a file descriptor of the log for stdout and stderr.
    """

    def __init__(self, log: int) -> None:
        self._log = log
        self._threads = set(threading.enumerate())
        self.keep()

    def keep(self) -> None:
        """Save the current state as that after the imports."""
        self._folder = os.getcwd()  # noqa: PTH109 - exactly what chdir takes back
        self._variables = dict(os.environ)
        self._jax = _jax_values()
        self._handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
        self._recursion = sys.getrecursionlimit()
        self._streams = {"stdout": sys.stdout, "stderr": sys.stderr}
        self._mask = os.umask(0)
        os.umask(self._mask)

    def restore(self) -> None:
        """Restore everything that has changed since."""
        with contextlib.suppress(OSError):  # the folder no longer exists: whatever needs it reports that
            os.chdir(self._folder)
        if dict(os.environ) != self._variables:
            os.environ.clear()
            os.environ.update(self._variables)
        for timer in _TIMERS:
            signal.setitimer(timer, 0)
        for number, handler in self._handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        sys.setrecursionlimit(self._recursion)
        os.umask(self._mask)
        for name, value in _jax_values().items():
            if self._jax.get(name, value) != value:
                with contextlib.suppress(Exception):  # a setting that JAX no longer allows to change
                    sys.modules["jax"].config.update(name, self._jax[name])
        self._open_output()

    def _open_output(self) -> None:
        """Redirect stdout and stderr to the log again if the user's code closed or redirected them."""
        for descriptor, name in ((1, "stdout"), (2, "stderr")):
            if not _same_file(descriptor, self._log):
                os.dup2(self._log, descriptor)
            stream = self._streams[name]
            if stream is None or stream.closed:
                stream = open(descriptor, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
                self._streams[name] = stream
            setattr(sys, name, stream)

    def left_threads(self) -> str:
        """Names of the Python threads started since the last call that still run; "" if there are none."""
        new = [thread for thread in threading.enumerate() if thread not in self._threads]
        self._threads.update(new)
        return ", ".join(f"the thread {thread.name}" for thread in new)


def _same_file(one: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(one, other)
    except OSError:
        return False


def _jax_values() -> dict[str, Any]:
    jax = sys.modules.get("jax")
    return dict(jax.config.values) if jax is not None else {}
