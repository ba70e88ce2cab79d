"""`hlodiff record -- COMMAND`: every program that JAX compiles in an unmodified run, as a folder of snapshots."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from hlodiff.capture.recorded_programs import read_raw
from hlodiff.cli.output import tell
from hlodiff.config import process_environment, shown_path
from hlodiff.errors import UsageError
from hlodiff.report.wording import many
from hlodiff.workflows.progress import progress
from hlodiff.workflows.record_run import (
    INDEX,
    RunRecording,
    check_replaceable,
    replacing,
    write_accounts,
    write_index,
    write_recording,
)

_BOOTSTRAP = Path(__file__).resolve().parent.parent / "capture" / "bootstrap"
_COULD_NOT = 2


@click.command("record", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("recording"),
    show_default=True,
    metavar="FOLDER",
    help="Where the recording goes; an earlier recording there is replaced.",
)
@click.option("--calls", is_flag=True, help="Count calls too. JAX's fast path is closed for that: calls get slower.")
@click.argument("arguments", nargs=-1, required=True, metavar="-- COMMAND [ARG]...", type=click.UNPROCESSED)
def command(output: Path, calls: bool, arguments: tuple[str, ...]) -> int:
    """Run a command and record every program that JAX compiles in it.

    \b
      hlodiff record -- python train.py --steps 10
      hlodiff record -o after -- -m pytest tests/test_model.py
      hlodiff diff before after

    COMMAND is anything that starts Python, now or later; what begins with `-` or ends in `.py` is given to this Python.
    It runs as it would without hlodiff, with its own input and output; processes that it starts or forks are recorded
    too. The recording is a folder of snapshots, which `hlodiff diff` reads; recording.json in it counts compiles and
    traces.

    Exits with the exit code of the command (128 + N where signal N ended it); with 2 where it could not be started, or
    nothing could be written although the command ended with 0.
    """  # fmt: skip
    check_replaceable(output)
    with tempfile.TemporaryDirectory(prefix="hlodiff-", ignore_cleanup_errors=True) as raw:
        code = _run(_command(arguments), Path(raw), calls)
        try:
            found = _finish(Path(raw), output, arguments, code)
        except OSError as error:
            tell(f"error: {output}: cannot be written: {error.strerror or error}")
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
    with _signals_are_the_commands(process := _start(words, raw, calls)):
        code = process.wait()
    return 128 - code if code < 0 else code


def _start(words: Sequence[str], raw: Path, calls: bool) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(words, env=_environment(process_environment(), raw, calls))
    except OSError as error:
        raise UsageError(f"cannot be started: {error.strerror or error}", where=words[0]) from None


def _environment(outside: Mapping[str, str], raw: Path, calls: bool) -> dict[str, str]:
    before = outside.get("PYTHONPATH", "")
    return {
        **outside,
        "PYTHONPATH": f"{_BOOTSTRAP}{os.pathsep}{before}" if before else str(_BOOTSTRAP),
        "HLODIFF_RECORD": str(raw),
        "HLODIFF_RECORD_ROOT": str(Path.cwd()),
        "HLODIFF_RECORD_CALLS": "1" if calls else "",
    }


@contextmanager
def _signals_are_the_commands(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ctrl-C reaches the command by itself; what is sent to this process alone is handed on."""

    def hand_on(number: int, _: object) -> None:
        process.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _finish(raw_folder: Path, output: Path, arguments: Sequence[str], code: int) -> RunRecording:
    raw = read_raw(raw_folder)
    tell(f"hlodiff record: the command ended with exit code {code}; {many(len(raw.programs), 'compile')} to look at")
    with replacing(output) as part:
        with progress(len(raw.programs), "normalizing") as step:
            found = write_recording(part, raw, str(Path.cwd()), step)
        write_accounts(part, raw, found, str(Path.cwd()))
        write_index(part, raw, found, arguments, code)
    for problem in found.problems[:10]:
        tell(f"hlodiff record: not recorded: {problem}")
    for what, times in sorted(raw.failed.items())[:10]:
        tell(f"hlodiff record: not kept: {what}" + (f" ({times} times)" if times > 1 else ""))
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
    tell(f"hlodiff record: {words} in {shown_path(output.absolute())}{again}{eager}")
    if not raw.processes:
        tell(
            "hlodiff record: no process imported jax (python -I and -E leave PYTHONPATH out, and with it the recorder)"
        )
    else:
        tell(
            f"hlodiff record: counts are in {shown_path(output.absolute()) / INDEX}; next: hlodiff diff OTHER {output}"
        )
    return found
