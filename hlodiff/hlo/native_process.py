"""Parses untrusted MLIR and HLO protos in a child process.

jaxlib's parsers are native code: a type of 3 GB, regions nested 8,000 deep or damaged bytecode crash the process. Here
a child process parses, with limits on memory and processor time in proportion to the file, and if it dies, only that
file fails. One child serves many files. It starts when the first file is read, and takes as long to start as importing
jaxlib, which the parent then need not do.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

from hlodiff.errors import HlodiffError, ReadError

# Memory beyond what the child uses before it reads: 256 MiB, plus the memory of a program per byte of its text.
_MEMORY, _MEMORY_PER_BYTE = 256 * 1024**2, 150
# Processor time in seconds; 1 MB of text takes about 2 s, a short text some milliseconds.
_SECONDS, _SECONDS_PER_BYTE = 1.0, 20e-6
_START = "import sys; sys.path[:] = sys.argv[1:]; from hlodiff.hlo.native_process import serve; serve()"
_LENGTH = struct.Struct("<Q")
# Windows has neither, and no limits.
_TIME_IS_OVER, _KILLED = getattr(signal, "SIGPROF", 0), getattr(signal, "SIGKILL", 0)


def call(what: str, data: str | bytes, path: str = "") -> Any:
    """Run one of the parsers in the child.

    Args:
        what: `stablehlo`, `proto`, `kernel` or `without_locations`.
        data: the file's content.
        path: the file as the user named it, for errors.

    Returns:
        the result of the parser.

    Raises:
        ReadError: the file is invalid, or reading it took too much memory or time, or crashed the child.
        HlodiffError: jaxlib is missing.
    """
    with _LOCK:
        if not _children or not _children[0].is_usable:
            _children[:] = [_Child()]
        found = _children[0].call(what, data, path)
    if isinstance(found, HlodiffError):
        raise found
    return found


class _Child:
    """A process that parses one file after another."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, *(entry or str(Path.cwd()) for entry in sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def call(self, what: str, data: str | bytes, path: str) -> Any:
        reader, writer = self.process.stdout, self.process.stdin
        assert reader is not None and writer is not None
        timer = threading.Timer(60 + 4 * _seconds(len(data)), self.process.kill)  # sleeping uses no processor time
        timer.daemon = True
        timer.start()
        try:
            _send(writer, pickle.dumps((what, data, path)))
            return _receive(reader)
        except (OSError, EOFError):
            return self.death(path)
        finally:
            timer.cancel()

    def death(self, path: str) -> ReadError:
        """The error that explains why the child died."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5)  # the child closed its end: it is dead or about to exit
        self.stop()
        code = self.process.returncode
        reason = "took too much memory or is damaged"
        if code in (-_TIME_IS_OVER, -_KILLED):
            reason = "took too long"
        what = f"reading the file {reason}: the parser of jaxlib ended ({_end(code)})"
        return ReadError(what, path=path, hint="dump or capture the program again")

    def stop(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        if self.owner == os.getpid():
            self.process.kill()
            self.process.wait()

    @property
    def is_usable(self) -> bool:
        stream = self.process.stdin
        return self.owner == os.getpid() and self.process.poll() is None and stream is not None and not stream.closed


def _end(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


_LOCK = threading.Lock()
_children: list[_Child] = []


@atexit.register
def stop() -> None:
    """Stop the child, if there is one; the next call starts a new one."""
    for child in _children:
        if child.owner == os.getpid():
            child.stop()


def _send(stream: BinaryIO | Any, data: bytes) -> None:
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def _receive(stream: BinaryIO | Any) -> Any:
    return pickle.loads(_exactly(stream, _LENGTH.unpack(_exactly(stream, _LENGTH.size))[0]))  # written by our own child


def _exactly(stream: BinaryIO | Any, size: int) -> bytes:
    data: bytes = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _seconds(size: int) -> float:
    return _SECONDS + size * _SECONDS_PER_BYTE


# --- In the child.


def serve() -> None:
    """Parse requests from stdin until it ends. Output of native code is discarded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and then closes stdin
    reader = io.BufferedReader(io.FileIO(os.dup(0), "rb"))
    writer = io.BufferedWriter(io.FileIO(os.dup(1), "wb"))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)
    while True:
        try:
            what, data, path = _receive(reader)
        except EOFError:
            return
        answer = _answer(what, data, path)
        _limit_time(0)
        _send(writer, answer)


def _answer(what: str, data: Any, path: str) -> bytes:
    try:
        parser = _parser(what)
        _limit(len(data))
        return pickle.dumps(parser(data, path))
    except HlodiffError as error:
        wrong = error
    except RecursionError:
        wrong = ReadError("types or regions are nested too deep", path=path, hint="is the file damaged?")
    except MemoryError:
        wrong = ReadError("reading the file took too much memory", path=path, hint="is it damaged?")
    except Exception as error:  # raised by jaxlib's bindings: a name that is not UTF-8, a bound that is not a number
        words = (str(error).splitlines() or [""])[0][:200]
        wrong = ReadError(f"jaxlib cannot read the file: {type(error).__name__}: {words}", path=path)
    return pickle.dumps(wrong)


def _parser(what: str) -> Any:
    from hlodiff.hlo import mlir
    from hlodiff.hlo.proto import proto_text
    from hlodiff.hlo.stablehlo_parser import read_stablehlo

    if what == "stablehlo":
        mlir.context()  # loaded once, so not charged to the file
        return lambda data, path: read_stablehlo(data, path=path)
    if what == "proto":
        mlir.load_hlo()
        return lambda data, path: proto_text(data, path=path)
    if what == "kernel":
        mlir.load_kernels()
        return lambda data, path: mlir.kernel_text(data)
    mlir.context()
    return mlir.without_locations


def _limit(size: int) -> None:
    """Limit memory and processor time for the next request."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    memory: int | None = None  # the address space in bytes, if the system reports its current size
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        memory = pages * os.sysconf("SC_PAGE_SIZE") + _MEMORY + _MEMORY_PER_BYTE * size
    for what, limit in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory)):
        hard = resource.getrlimit(what)[1]
        if limit is not None and (hard == resource.RLIM_INFINITY or limit <= hard):
            resource.setrlimit(what, (limit, hard))
    _limit_time(_seconds(size))


def _limit_time(seconds: float) -> None:
    """Kill this process after that much processor time; 0 for no limit. RLIMIT_CPU takes whole seconds."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
