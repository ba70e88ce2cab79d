"""Compiles with a text after each XLA pass, in a worker."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hlodiff.errors import CaptureError
from hlodiff.hlo.proto import unwrap

MOST_BYTES = 4 * 1024**3
"""Maximum size of a dump in bytes: 80 texts of a program of 100,000 instructions take about 1 GB."""
_SECONDS = 0.2
_OPTIMIZED = "after_optimizations"


def dump_options(folder: Path) -> dict[str, bool | str]:
    """Options of `Lowered.compile` that make XLA write a text after each pass that changed the module.

    As options of one compilation they affect no other program of the process, and the toolchain stays the same. CPU,
    GPU and TPU compilers accept them.

    Args:
        folder: output folder for XLA.

    Example:
        >>> dump_options(Path("dump"))["xla_dump_hlo_pass_re"]
        '.*'
    """
    return {"xla_dump_to": str(folder), "xla_dump_hlo_pass_re": ".*", "xla_dump_hlo_as_text": True}


def compile_with_dump(lowered: Any, folder: Path, most: int = MOST_BYTES) -> Any:
    """Compile a lowered program and leave its pass dump in a folder.

    Args:
        lowered: the result of `jax.jit(f).lower()`.
        folder: an empty folder.
        most: maximum size of the folder in bytes.

    Returns:
        the compiled program, the same as without a dump.

    Raises:
        CaptureError: the dump grew too large, and the folder was removed.
    """
    # A compiler that ignores the folder must not litter the project.
    with contextlib.chdir(folder), _watched(folder, most) as stopped:
        compiled = lowered.compile(compiler_options=dump_options(folder))
    if stopped.is_set() or folder_bytes(folder) > most:
        shutil.rmtree(folder, ignore_errors=True)
        hint = "ask for a smaller case of the function: passes treat it alike"
        raise CaptureError(f"XLA's pass dump grew larger than {most >> 20:,} MiB", hint=hint)
    return compiled


def written_text(lowered: Any) -> tuple[str, bytes | None]:
    """Compile a lowered program and let XLA write it, for programs that JAX compiles but cannot print.

    Args:
        lowered: the result of `jax.jit(f).lower()`.

    Returns:
        the optimized program as XLA prints it, and as an `HloModuleProto`.

    Raises:
        CaptureError: XLA wrote none.
    """
    with tempfile.TemporaryDirectory(prefix="hlodiff-") as name, contextlib.chdir(name):
        options = {"xla_dump_to": name, "xla_dump_hlo_as_text": True, "xla_dump_hlo_as_proto": True}
        lowered.compile(compiler_options=options)
        texts = sorted(Path(name).glob(f"*{_OPTIMIZED}.txt"))
        if not texts:
            raise CaptureError("XLA compiled the program, and neither JAX nor XLA printed it")
        proto = texts[-1].with_suffix(".hlo.pb")
        return texts[-1].read_text(), unwrap(proto.read_bytes()) if proto.is_file() else None


@contextlib.contextmanager
def _watched(folder: Path, most: int) -> Iterator[threading.Event]:
    """Remove the folder if it grows too large while XLA writes; XLA then continues without it."""
    ended, stopped = threading.Event(), threading.Event()

    def watch() -> None:
        while not ended.wait(_SECONDS):
            if folder_bytes(folder) > most:
                stopped.set()
                shutil.rmtree(folder, ignore_errors=True)
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield stopped
    finally:
        ended.set()
        thread.join()


def folder_bytes(folder: Path) -> int:
    """Total size of the files directly in a folder; 0 if it no longer exists."""
    try:
        with os.scandir(folder) as entries:
            return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
    except OSError:
        return 0
