"""From what a run has left to a folder that `hlodiff diff` reads: named, normalized, counted."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from hlodiff.capture.recorded import Raw, RawProgram
from hlodiff.cli.program_names import Names
from hlodiff.cli.recording import record
from hlodiff.cli.trouble import foreseen
from hlodiff.errors import UsageError
from hlodiff.store import Key, Snapshot, write_snapshot
from hlodiff.store.recorded_traces import RecordedTraces, write_traces
from hlodiff.store.writing import PARTIAL
from hlodiff.traces.counted import Account, count
from hlodiff.traces.records import Compiled, Trace

FORMAT_VERSION = 1
INDEX = "recording.json"
WHOLE = "whole_run"


@dataclass(slots=True)
class Recorded:
    """One program of a recording, however often it was compiled.

    Args:
        key: its name.
        program: as it was compiled first.
        compiles: how often the same program was compiled.
        calls: how often it was launched; None where that was not counted.
    """

    key: Key
    program: RawProgram
    compiles: int = 1
    calls: int | None = None


@dataclass(slots=True)
class Recording:
    """What became of a run: the programs in order, and what is known beside them."""

    programs: list[Recorded] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)  # of programs, by the file of each compile


def write_recording(folder: Path, raw: Raw, root: str, step: Callable[[str, int], None]) -> Recording:
    """Normalize, name and write all programs of a run.

    Args:
        folder: where the snapshots go.
        raw: what the run has left.
        root: the folder that Python files are named relative to.
        step: told of each program that is looked at.

    Returns:
        what was written.
    """
    names, found = Names(), Recording(problems=list(raw.problems))
    by_bytes: dict[tuple[Any, ...], Recorded] = {}
    by_program: dict[tuple[Any, ...], Recorded] = {}
    for program in raw.programs:
        step(program.function, 0)
        try:
            same = (program.function, program.place, program.target, _digest(program))
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
            found.problems.append(f"{program.function}: {foreseen(error).what}")
        step(program.function, 1)
    return found


def _one_more(
    folder: Path, program: RawProgram, root: str, names: Names, known: dict[tuple[Any, ...], Recorded]
) -> Recorded:
    """Write a program, unless the same function has one already that is the same once it is normalized."""
    captured = program.captured("program", "")
    snapshot = record(captured, root)
    same = (program.function, program.place, program.target, *snapshot.summary["fingerprints"].values())
    if same not in known:
        key = names.key(program.function, program.place, program.target, program.leaves if program.called else None)
        known[same] = Recorded(key, program)
        write_snapshot(folder, _named(snapshot, key))
    return known[same]


def _named(snapshot: Snapshot, key: Key) -> Snapshot:
    head: dict[str, Any] = {"format_version": snapshot.summary["format_version"], "function": key.function}
    head |= {"case": key.case} if key.case else {}
    rest = {name: value for name, value in snapshot.summary.items() if name not in ("function", "case")}
    return Snapshot(
        key.function, key.case, key.target, head | rest, snapshot.stablehlo, snapshot.compiled, snapshot.source
    )


def _digest(program: RawProgram) -> str:
    digest = sha256()
    for part in program.bytes():
        digest.update(sha256(part).digest())
    return digest.hexdigest()


def write_accounts(folder: Path, raw: Raw, found: Recording, root: str) -> None:
    """Write what each process traced and compiled, in the form of a scenario, so that two recordings can be compared.

    Programs stand there under their names, not as fingerprints: what is in them is compared program by program.

    Args:
        folder: the recording.
        raw: what the run has left.
        found: its programs.
        root: the folder of the run.
    """
    accounts = [_told(count(_compiled(events, found)), root) for events in raw.events if events]
    for number, account in enumerate(accounts, 1):
        if account.functions:
            toolchain = raw.programs[0].record["toolchain"] if raw.programs else {}
            name = WHOLE if number == 1 else f"{WHOLE}-{number}"
            write_traces(folder, RecordedTraces(name, str(toolchain.get("jax", "")), account))


def _told(account: Account, root: str) -> Account:
    """Without what libraries trace inside of other functions: it is theirs, and there is much of it."""
    told = [
        one for one in account.functions if one.compiles or Path(root, one.function.place.rpartition(":")[0]).is_file()
    ]
    return Account(tuple(told), account.eager)


def _compiled(events: Sequence[Trace | RawProgram], found: Recording) -> Iterator[Trace | Compiled]:
    for event in events:
        if isinstance(event, Trace):
            yield event
        elif name := found.names.get(event.record["file"], ""):
            record = event.record
            yield Compiled(
                record["order"], record["name"], event.known, event.called, record["traced"], name,
                record["platform"],
            )  # fmt: skip


def write_index(folder: Path, raw: Raw, found: Recording, command: Sequence[str], code: int) -> None:
    """Write recording.json: what ran, what it compiled, how often, and what was left out."""
    index = {
        "format_version": FORMAT_VERSION,
        "command": list(command),
        "exit_code": code,
        "processes": raw.processes,
        "programs": [_row(each) for each in found.programs],
        "functions": _functions(raw, found),
        "eager": {"compiled": sum(raw.eager.values()), "operations": dict(sorted(raw.eager.items()))},
        "problems": found.problems,
    }
    text = json.dumps(index, indent=1, ensure_ascii=False) + "\n"
    (folder / INDEX).write_text(text, encoding="utf-8")


def _row(each: Recorded) -> dict[str, Any]:
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


def _functions(raw: Raw, found: Recording) -> list[dict[str, Any]]:
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
    """A new folder that takes the place of `folder` in one step when the block is left without an exception.

    Args:
        folder: missing, empty, or an earlier recording.

    Yields:
        the folder to write into.

    Raises:
        UsageError: something else stands there.
    """
    check_replaceable(folder)
    part = folder.absolute().with_name(f".{folder.absolute().name}.{os.getpid()}.part")
    part.mkdir(parents=True)
    try:
        yield part
        shutil.rmtree(part / PARTIAL, ignore_errors=True)
        old = part.with_suffix(".old")
        if folder.exists():
            folder.rename(old)
        part.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def check_replaceable(folder: Path) -> None:
    """Never replace what is no recording.

    Raises:
        UsageError: a file, or a folder with other things in it.
    """
    if not folder.exists() or (folder / INDEX).is_file():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        hint = "name a folder that is not there, or an earlier recording: -o FOLDER"
        raise UsageError("stands there already and is no recording", where=str(folder), hint=hint)
