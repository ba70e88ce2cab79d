"""`hlodiff record`: runs a command and writes what it compiled as a folder that `hlodiff diff` reads."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from hlodiff.capture import RawProgram, TemporaryFolder, read_raw
from hlodiff.capture.run_reader import RawRun
from hlodiff.capture.supervision import adopt_orphans, bound_to_parent, end_adopted
from hlodiff.config import process_environment, shown_path
from hlodiff.errors import UsageError, expected_error
from hlodiff.interrupts import SIGNALS, deferred
from hlodiff.progress import progress
from hlodiff.report.wording import many
from hlodiff.snapshots import Key, Snapshot, is_safe, write_new_snapshot, writing
from hlodiff.snapshots.paths import refuse_links
from hlodiff.snapshots.records import RecordedTraces, write_traces
from hlodiff.snapshots.write import place_beside, put_in_place
from hlodiff.tracing.counts import TraceCounts, count_traces
from hlodiff.tracing.records import Compilation, Leaf, Trace
from hlodiff.workflows.build_snapshot import snapshot_of

_UNSAFE = re.compile(r"[^A-Za-z0-9_.]+")
_LONGEST = 60
_LOG = logging.getLogger(__name__)
_BOOTSTRAP = Path(__file__).resolve().parent.parent / "capture" / "bootstrap"
_COULD_NOT = 2
_ENOUGH = 3  # this many signals kill the command
_GRACE = 5.0  # seconds that its child processes may take to end


class RecordNames:
    """Names functions and their programs, in order of request.

    Example:
        >>> names = RecordNames()
        >>> names.key("Trainer.step", "train.py:12", "cpu", [Leaf("x", "array", "f32[64]")]).folder
        'step/cpu'
        >>> names.key("Trainer.step", "train.py:12", "cpu", [Leaf("x", "array", "f32[3,64]")]).folder
        'step/x-f32-3x64/cpu'
    """

    def __init__(self) -> None:
        self._functions: dict[tuple[str, str], str] = {}
        self._first: dict[tuple[str, str], Sequence[Leaf]] = {}
        self._taken: set[tuple[str, ...]] = set()

    def key(self, function: str, place: str, target: str, leaves: Sequence[Leaf] | None) -> Key:
        """The key of the next program.

        Args:
            function: qualified name of its function.
            place: `file:line` of the function's definition; "" if unknown.
            target: target it was compiled for.
            leaves: leaves of its arguments; None if compiled outside of any call, such as a backward pass.

        Returns:
            a key that no other program has.
        """
        name = self.function(function, place)
        first = self._first.get((name, target))
        case = "" if first is None and (name.lower(), target, "") not in self._taken else "no-call"
        if leaves is not None:
            first = self._first.setdefault((name, target), leaves)
            case = "" if first is leaves and not case else difference(first, leaves)
        return Key(name, self._free((name.lower(), target), case), target)

    def function(self, function: str, place: str) -> str:
        """The name of a function: its own if unique, else with its file and enclosing scope."""
        file = place.rpartition(":")[0]
        known = self._functions.get((function, file))
        if known is None:
            short = safe(function.rpartition(".")[2])
            stem = PurePosixPath(file).stem
            whole = safe(".".join(filter(None, [stem, function.replace("<locals>.", "")])))
            taken = {name.lower() for name in self._functions.values()}
            names = itertools.chain((short, whole), (f"{whole}-{number}" for number in itertools.count(2)))
            known = next(name for name in names if name.lower() not in taken)
            self._functions[function, file] = known
        return known

    def _free(self, within: tuple[str, ...], case: str) -> str:
        names = (_numbered(case, number) for number in itertools.count(1))
        found = next(name for name in names if (*within, name.lower()) not in self._taken)
        self._taken.add((*within, found.lower()))
        return found


def _numbered(case: str, number: int) -> str:
    if number == 1:
        return case
    return f"{case}-{number}" if case else f"again-{number}"


_SHAPE = re.compile(r"\[([\d,]*)\]")


def difference(first: Sequence[Leaf], leaves: Sequence[Leaf]) -> str:
    """How a call differs from the first one of its function, in array types or static values.

    Example:
        >>> difference([Leaf("n", "value", "4")], [Leaf("n", "value", "8")])
        'n-8'
    """
    texts: list[dict[str, str]] = []
    for side in (first, leaves):  # containers and None leaves show in the paths of the others
        values = [leaf for leaf in side if leaf.path and leaf.kind not in ("node", "none")]
        words = {leaf.path: ("weak" if leaf.weak else "", leaf.text, leaf.sharding) for leaf in values}
        texts.append({path: " ".join(filter(None, each)) for path, each in words.items()})
    before, now = texts
    # `f32[3,64]` as `f32-3x64`.
    shown = {
        path: _SHAPE.sub(lambda m: "-" + m[1].replace(",", "x") if m[1] else "", text) for path, text in now.items()
    }
    parts = [f"{path}-{shown[path]}" for path, text in now.items() if before.get(path) != text]
    parts += [f"no-{path}" for path in before if path not in now]
    case = safe("_".join(parts)) if parts else ""
    # A case must not look like a target, because both are subfolders of one function.
    return f"with-{case}" if case.startswith(("cpu", "attached")) else case


def safe(name: str) -> str:
    """A folder name that is valid on every system; one that is too long ends in a digest of the whole.

    Example:
        >>> safe("<lambda>"), safe("model.layers[0].weight-f32-3x64")
        ('lambda', 'model.layers_0_.weight-f32-3x64')
    """
    plain = re.sub(r"_+", "_", "-".join(_UNSAFE.sub("_", part) for part in name.split("-"))).strip("_.-")
    if len(plain) > _LONGEST:
        plain = f"{plain[:_LONGEST].rstrip('_.-')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return plain if is_safe(plain) else f"{plain}_" if is_safe(f"{plain}_") else "program"


FORMAT_VERSION = 1
INDEX = "recording.json"
WHOLE = "whole_run"


@dataclass(slots=True)
class RecordedProgram:
    """One program of a recording, however often it was compiled.

    Args:
        key: its name.
        program: its first compile.
        compiles: how often the same program was compiled.
        calls: how often it was launched; None if not counted.
    """

    key: Key
    program: RawProgram
    compiles: int = 1
    calls: int | None = None


@dataclass(slots=True)
class RunRecording:
    """A recorded run: its programs in order, and their names by compile file."""

    programs: list[RecordedProgram] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)  # program names by the file of each compile


def write_recording(folder: Path, raw: RawRun, root: str, step: Callable[[str, int], None]) -> RunRecording:
    """Normalize, name and write all programs of a run.

    Args:
        folder: folder to write the snapshots to.
        raw: raw files of the run.
        root: the folder that Python files are named relative to.
        step: called with each program.

    Returns:
        the written recording.
    """
    names, found = RecordNames(), RunRecording(problems=list(raw.problems))
    by_bytes: dict[tuple[Any, ...], RecordedProgram] = {}
    by_program: dict[tuple[Any, ...], RecordedProgram] = {}
    for program in raw.programs:
        step(program.function, 0)
        try:
            digest = sha256()
            for part in program.bytes():
                digest.update(sha256(part).digest())
            same = (program.function, program.place, program.target, digest.hexdigest())
            known = by_bytes.get(same)
            if known is None:
                known = _one_more(folder, program, root, names, by_program)
                by_bytes[same] = known
                if known.program is program:
                    found.programs.append(known)
                    known.compiles = 0
            known.compiles += 1
            found.names[program.record["file"]] = known.key.folder
            if raw.calls is not None:
                known.calls = (known.calls or 0) + raw.calls.get(program.record["file"], 0)
        except Exception as error:
            found.problems.append(f"{program.function}: {expected_error(error).what}")
        step(program.function, 1)
    return found


def _one_more(
    folder: Path, program: RawProgram, root: str, names: RecordNames, known: dict[tuple[Any, ...], RecordedProgram]
) -> RecordedProgram:
    """Write a program, unless the function already has one with the same normalized text."""
    captured = program.captured("program", "")
    snapshot = snapshot_of(captured, root)
    same = (program.function, program.place, program.target, *snapshot.summary["fingerprints"].values())
    if same not in known:
        key = names.key(program.function, program.place, program.target, program.leaves if program.called else None)
        known[same] = RecordedProgram(key, program)
        head: dict[str, Any] = {"format_version": snapshot.summary["format_version"], "function": key.function}
        head |= {"case": key.case} if key.case else {}
        rest = {name: value for name, value in snapshot.summary.items() if name not in ("function", "case")}
        texts = snapshot.stablehlo, snapshot.compiled, snapshot.source
        write_new_snapshot(folder, Snapshot(key.function, key.case, key.target, head | rest, *texts))
    return known[same]


def write_accounts(folder: Path, raw: RawRun, found: RunRecording, root: str) -> None:
    """Write what each process traced and compiled as a scenario record, so that two recordings can be compared.

    Programs appear by name, not by fingerprint; their contents are compared program by program.

    Args:
        folder: the recording.
        raw: raw files of the run.
        found: the recorded programs.
        root: the folder of the run.
    """
    accounts = [_own_functions(count_traces(_compiled(events, found)), root) for events in raw.events if events]
    for number, counts in enumerate(accounts, 1):
        if counts.functions:
            toolchain = raw.programs[0].record["toolchain"] if raw.programs else {}
            name = WHOLE if number == 1 else f"{WHOLE}-{number}"
            write_traces(folder, RecordedTraces(name, str(toolchain.get("jax", "")), counts))


def _own_functions(counts: TraceCounts, root: str) -> TraceCounts:
    """Drop functions that libraries trace inside other functions: there are many, and users cannot change them."""
    own = [
        one for one in counts.functions if one.compiles or Path(root, one.function.place.rpartition(":")[0]).is_file()
    ]
    return TraceCounts(tuple(own), counts.eager)


def _compiled(events: Sequence[Trace | RawProgram], found: RunRecording) -> Iterator[Trace | Compilation]:
    for event in events:
        if isinstance(event, Trace):
            yield event
        elif name := found.names.get(event.record["file"], ""):
            record = event.record
            yield Compilation(
                record["order"], record["name"], event.known, event.called, record["traced"], name,
                record["platform"], record.get("place", ""), "", event.under,
            )  # fmt: skip


def write_index(folder: Path, raw: RawRun, found: RunRecording, command: Sequence[str], code: int) -> None:
    """Write recording.json: what ran, what it compiled, how often, and what was skipped."""
    index = {
        "format_version": FORMAT_VERSION,
        "command": list(command),
        "exit_code": code,
        "processes": raw.processes,
        "programs": [_row(each) for each in found.programs],
        "functions": _functions(raw, found),
        "eager": {"compiled": sum(raw.eager.values()), "operations": dict(sorted(raw.eager.items()))},
        "failed": dict(sorted(raw.failed.items())),
        "problems": found.problems,
    }
    text = json.dumps(index, indent=1, ensure_ascii=False) + "\n"
    (folder / INDEX).write_text(text, encoding="utf-8")


def _row(each: RecordedProgram) -> dict[str, Any]:
    program = each.program
    return {
        "name": each.key.name,
        "target": each.key.target,
        "function": program.function,
        "defined": program.place or None,
        "called": (program.called.place or None) if program.called else None,
        "arguments": [f"{leaf.path} {leaf.text}".strip() for leaf in program.leaves if leaf.kind == "array"],
        "compiles": each.compiles,
        "calls": each.calls,
    }


def _functions(raw: RawRun, found: RunRecording) -> list[dict[str, Any]]:
    """How often each function was traced, by itself and inside others, and how many programs it has."""
    traces: dict[tuple[str, str], Counter[str]] = {}
    for trace in raw.traces:
        function = trace.call.function
        traces.setdefault(function.key, Counter())["inside" if trace.nested else "traces"] += 1
    for each in found.programs:
        key = (each.program.function, each.program.place)
        traces.setdefault(key, Counter())["programs"] += 1
    return [
        {"function": name, "defined": place or None, "traces": counts["traces"],
         "traces_inside_others": counts["inside"], "programs": counts["programs"]}
        for (name, place), counts in traces.items()
    ]  # fmt: skip


@contextlib.contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yield a new folder that atomically replaces `folder` if the block raises no exception.

    Args:
        folder: missing, empty, or an earlier recording.

    Yields:
        the folder to write into.

    Raises:
        UsageError: the folder is not a recording.
        StoreError: the path goes through a link of the project.
    """
    check_replaceable(folder)
    refuse_links(folder)  # of a project: the target would be deleted
    folder = folder.resolve()  # any other link is kept, and its target replaced
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryFolder(place_beside(folder)) as scratch:
        part = Path(scratch, "new")
        with writing(part):
            yield part
        with deferred():
            put_in_place(part, folder)


def check_replaceable(folder: Path) -> None:
    """Refuse to replace anything but a recording.

    Raises:
        UsageError: it is a file, or a folder with other content.
    """
    if not folder.exists() or (folder / INDEX).is_file():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        hint = "name a folder that is not there, or an earlier recording: -o FOLDER"
        raise UsageError("already exists and is not a recording", where=str(folder), hint=hint)


def record_run(arguments: Sequence[str], output: Path, calls: bool) -> int:
    """Run a command and record every program that JAX compiles in it.

    Args:
        arguments: the command; if it begins with `-` or names a Python file, this Python runs it.
        output: the folder to write; an earlier recording there is replaced.
        calls: whether to also count calls, which slows them down.

    Returns:
        the exit code of the command (128 + N if signal N ended it); 2 if it exited with 0 but nothing could be written.

    Raises:
        UsageError: there is no such command, or the folder is not a recording.
    """
    check_replaceable(output)
    refuse_links(output)
    with TemporaryFolder() as raw:
        code = _run(_command(arguments), Path(raw), calls)
        try:
            found = _finish(Path(raw), output, arguments, code)
        except OSError as error:
            _LOG.error("error: %s: cannot be written: %s", output, error.strerror or error)
            return code or _COULD_NOT
    return code if found.programs or code or not found.problems else _COULD_NOT


def _command(arguments: Sequence[str]) -> list[str]:
    first = arguments[0]
    if first.startswith("-") or (first.endswith(".py") and not os.access(first, os.X_OK)):
        return [sys.executable, *arguments]
    return list(arguments)


def _run(words: Sequence[str], raw: Path, calls: bool) -> int:
    if shutil.which(words[0]) is None:
        raise UsageError("there is no such command", where=words[0], hint="hlodiff record -- python script.py")
    with _signals_are_the_commands() as signals:
        signals.process = process = _start(words, raw, calls)
        for number in signals.arrived:  # arrived before the command ran
            process.send_signal(number)
        code = process.wait()
        if signals.arrived:
            end_adopted(_GRACE)
    return 128 - code if code < 0 else code


def _start(words: Sequence[str], raw: Path, calls: bool) -> subprocess.Popen[bytes]:
    try:
        outside = process_environment()
        environment = {
            **outside,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(_BOOTSTRAP), outside.get("PYTHONPATH")))),
            "HLODIFF_RECORD": str(raw),
            "HLODIFF_RECORD_ROOT": str(Path.cwd()),
            "HLODIFF_RECORD_CALLS": "1" if calls else "",
        }
        return subprocess.Popen(words, env=environment, preexec_fn=bound_to_parent(signal.SIGTERM))
    except OSError as error:
        raise UsageError(f"cannot be started: {error.strerror or error}", where=words[0]) from None


@dataclass(slots=True)
class _Signals:
    """Forwards signals to the command; the third one kills it.

    Args:
        process: the running command.
        arrived: signals received so far.
        typed: whether Ctrl-C was typed.
    """

    process: subprocess.Popen[bytes] | None = None
    arrived: list[int] = field(default_factory=list)
    typed: bool = False

    def __call__(self, number: int, _: object) -> None:
        if number == signal.SIGINT and not self.typed and _is_in_foreground():
            self.typed = True
            if self.process is None:
                raise KeyboardInterrupt
            return  # the terminal sends Ctrl-C to the command too
        self.arrived.append(number)
        if self.process is not None:
            self.process.send_signal(number if len(self.arrived) < _ENOUGH else signal.SIGKILL)


def _is_in_foreground() -> bool:
    """Whether a terminal sends Ctrl-C to this process and its children."""
    for stream in (0, 1, 2):
        with contextlib.suppress(OSError):
            return os.tcgetpgrp(stream) == os.getpgrp()
    return False


@contextlib.contextmanager
def _signals_are_the_commands() -> Iterator[_Signals]:
    """Forward signals sent to this process alone to the command and to the processes it leaves behind."""
    signals = _Signals()
    before = {number: signal.signal(number, signals) for number in SIGNALS}
    adopt_orphans()
    try:
        yield signals
    finally:
        adopt_orphans(False)
        for number, handler in before.items():
            signal.signal(number, handler)


def _finish(raw_folder: Path, output: Path, arguments: Sequence[str], code: int) -> RunRecording:
    raw = read_raw(raw_folder)
    _LOG.info(
        f"hlodiff record: the command ended with exit code {code}; {many(len(raw.programs), 'compile')} to look at"
    )
    with replacing(output) as part:
        with progress(len(raw.programs), "normalizing") as step:
            found = write_recording(part, raw, str(Path.cwd()), step)
        write_accounts(part, raw, found, str(Path.cwd()))
        write_index(part, raw, found, arguments, code)
    for problem in found.problems[:10]:
        _LOG.info(f"hlodiff record: not recorded: {problem}")
    for what, times in sorted(raw.failed.items())[:10]:
        _LOG.info(f"hlodiff record: not kept: {what}" + (f" ({times} times)" if times > 1 else ""))
    compiles = sum(each.compiles for each in found.programs)
    words = (
        f"{many(len(found.programs), 'program')} of {many(len({e.key.function for e in found.programs}), 'function')}"
    )
    again = (
        f", {many(compiles - len(found.programs), 'compile')} of the same again"
        if compiles > len(found.programs)
        else ""
    )
    eager = f"; {many(sum(raw.eager.values()), 'eager operation')} compiled and not kept" if raw.eager else ""
    _LOG.info(f"hlodiff record: {words} in {shown_path(output.absolute())}{again}{eager}")
    if not raw.processes:
        _LOG.info(
            "hlodiff record: no process imported jax (python -I and -E leave PYTHONPATH out, and with it the recorder)"
        )
    else:
        _LOG.info(f"hlodiff record: counts are in {shown_path(output.absolute()) / INDEX}; {_next(found, output)}")
    return found


def _next(found: RunRecording, output: Path) -> str:
    """The next commands: compare this recording, and show a program of it."""
    if not found.programs:
        return f"next: hlodiff diff OTHER {output}"
    key = found.programs[0].key
    several = len({each.key.target for each in found.programs if each.key.name == key.name}) > 1
    shown = shlex.join(["hlodiff", "show", str(output), key.name]) + (f" -t {key.target}" if several else "")
    return f"next: hlodiff diff OTHER {output}, or see a program: {shown} --stage compiled"
