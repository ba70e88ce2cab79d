"""Keeps compiled HLO in a folder, so that CI jobs and branches do not recompile the same programs.

An entry is text with XLA's figures, without executables or pickles, in a file named by the hash of all inputs of the
compiler: the program, JAX's own key (compiler options, devices, versions, flags), the toolchain, the libraries by
content, environment variables, and for CPUs the processor. Python lines are not part of the key: an entry has numbers
in their place, and gets the lines of the requested program.

Anyone with write access to the folder decides what counts as compiled, so only trusted jobs may have it. Entries are
still read as untrusted files: bounded, plain values, bound to their key. If anything is wrong with an entry, the
program is compiled.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import platform
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from hlodiff import __version__
from hlodiff.capture import facts, jax_private
from hlodiff.capture.cache_folder import CacheFolder
from hlodiff.capture.environment import compiled_by
from hlodiff.capture.imports import COMPILERS, file_digest
from hlodiff.capture.literals import compiled_text
from hlodiff.capture.targets import TargetName

FORMAT = 1
"""Version of the format; increase it whenever the content of entries or keys changes."""

LARGEST_ENTRY = 64 * 1024**2
"""Maximum size of an entry in bytes; a larger one is neither written nor read."""
LARGEST_TEXT = 256 * 1024**2
"""Maximum unpacked size in bytes, the same as for a program of a snapshot."""
_SMALL, _MOST_PACKED = 16 * 1024**2, 100  # programs compress to a tenth, blank lines to a thousandth


# Environment variables that compilers and their libraries read, besides XLA_FLAGS, LIBTPU_INIT_ARGS and JAX_*.
_READ = re.compile(r"(XLA|LIBTPU|TPU|TF|CUDA|NVIDIA|TRITON|OMP|MKL|ONEDNN|DNNL|EIGEN|LLVM)_|NPROC$")
_DUMPS = "--xla_dump_"
_PROCESSOR = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features", "CPU implementer",
              "CPU architecture", "CPU variant", "CPU part")  # fmt: skip

_PLACE = re.compile(r'^(#loc\d*) = loc\("([^"\\]*)":(\d+):(\d+)( to (?:(\d+))?:(\d+))?\)$', re.MULTILINE)
_NAME = re.compile(r"\s*(?:#loc.*\n\s*)*module @([\w.$-]+)")
_NUMBERED = "@"


@dataclass(frozen=True, slots=True)
class XlaResult:
    """The parts of a compiled program that hlodiff uses.

    Args:
        text: compiled HLO, with constants.
        memory, cost: the compiler's figures, see `hlodiff.capture.facts`.
        cached: whether it came from the cache.
    """

    text: str
    memory: Mapping[str, int | None]
    cost: Mapping[str, float | None]
    cached: bool = False


@dataclass(slots=True)
class CompileCache:
    """The cache entries in a folder, for programs of this process.

    Args:
        folder: location of the entries, and whether to write new ones.
        environment: the process environment when its compilers started.
    """

    folder: CacheFolder
    environment: Mapping[str, str]
    _settings: dict[str, str] = field(default_factory=dict)

    def compile(self, lowered: Any, stablehlo: str, target: TargetName, toolchain: Mapping[str, Any]) -> XlaResult:
        """The compiled program, from the cache or from XLA.

        Args:
            lowered: the `jax.stages.Lowered`.
            stablehlo: its text with locations.
            target: the target to compile for.
            toolchain: the compiler's toolchain, see `hlodiff.capture.facts.toolchain`.
        """
        if target.kind == "attached" or (target.kind == "cpu" and not processor()):
            return xla_result(lowered.compile(), lowered)  # the key does not cover the driver, or what it measures
        places, program = numbered_places(stablehlo)
        keys: list[str] = []

        def known(own: str) -> XlaResult | None:
            keys.append(self._key(own, program, target, toolchain))
            return read_entry(self.folder.file(keys[0]), keys[0], stablehlo, places)

        compiled = jax_private.compile_unless_known(lowered, known)
        if isinstance(compiled, XlaResult):
            if self.folder.write:
                with contextlib.suppress(OSError):
                    os.utime(self.folder.file(keys[0]), follow_symlinks=False)  # trim() deletes the oldest
            return compiled
        result = xla_result(compiled, lowered)
        if keys and self.folder.write:
            write_entry(self.folder.file(keys[0]), keys[0], result, stablehlo, places)
        return result

    def _key(self, own: str, program: str, target: TargetName, toolchain: Mapping[str, Any]) -> str:
        if target.kind not in self._settings:
            self._settings[target.kind] = json.dumps(settings(target, self.environment), sort_keys=True)
        parts = [FORMAT, __version__, _own_files(), target.name, own, dict(toolchain), self._settings[target.kind]]
        digest = sha256(json.dumps(parts, sort_keys=True).encode())
        digest.update(program.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def xla_result(compiled: Any, lowered: Any) -> XlaResult:
    """Extract the result from a `jax.stages.Compiled` and its lowering."""
    return XlaResult(compiled_text(compiled, lowered), facts.memory(compiled), facts.cost(compiled))


# ---- the key


def settings(target: TargetName, environment: Mapping[str, str]) -> dict[str, Any]:
    """Inputs of the compiler besides the program and the toolchain of its snapshot.

    Args:
        target: the target to compile for.
        environment: environment variables of the process.
    """
    read = {name: value for name, value in environment.items() if _READ.match(name)} | compiled_by(environment)
    for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS"):
        read[name] = " ".join(flag for flag in environment.get(name, "").split() if not flag.startswith(_DUMPS))
    found: dict[str, Any] = {"variables": read, "libraries": {name: files_of(name) for name in COMPILERS}}
    if target.kind == "cpu":
        found["processor"] = processor()
    if target.kind == "cuda":
        ptxas = shutil.which("ptxas", path=environment.get("PATH"))
        found["ptxas"] = file_digest(Path(ptxas)) if ptxas else ""
    return found


@functools.cache
def files_of(package: str) -> str:
    """A hash of an installed package's files, as listed by its wheel; "" if it is not installed."""
    try:
        installed = distribution(package)
    except (PackageNotFoundError, ValueError):
        return ""
    lines = (installed.read_text("RECORD") or "").splitlines()
    kept = sorted(line for line in lines if ",sha256=" in line and ".dist-info/" not in line)
    return sha256("\n".join([installed.version, *kept]).encode()).hexdigest()


@functools.cache
def _own_files() -> str:
    """A hash of the source files that extract results from compiled programs."""
    here = Path(__file__).parent
    files = [here / name for name in ("compile_cache.py", "facts.py", "jax_private.py", "literals.py")]
    files.append(here.parent / "hlo" / "metadata.py")
    return sha256("".join(map(file_digest, files)).encode()).hexdigest()


@functools.cache
def processor() -> str:
    """What CPU programs depend on: processor model, features and count; "" if unknown."""
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
        count = len(os.sched_getaffinity(0))
    except (OSError, AttributeError):
        return ""
    lines = (line.partition(":") for line in first.splitlines())
    found = {name.strip(): value.strip() for name, _, value in lines}
    return json.dumps([platform.machine(), count, {name: found.get(name, "") for name in _PROCESSOR}])


# ---- Python locations: the same program, compiled from lines that have moved

_FILES = re.compile(r'^FileNames\n((?:\d+ ".*"\n)*)', re.MULTILINE)
_FILE = re.compile(r'^(\d+) "([^"\\]*)"$', re.MULTILINE)
_PLACES = re.compile(r"^FileLocations\n((?:\d+ \{.*\}\n)*)", re.MULTILINE)
_PLACED = re.compile(
    r"^(\d+) \{file_name_id=(\d+)( function_name_id=\d+)? line=(\d+) end_line=(\d+)(?: column=(\d+))?"
    r"(?: end_column=(\d+))?\}$"
)


@dataclass(frozen=True, slots=True)
class PythonRange:
    """A range of a Python file."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


def _placed(compiled: str, places: Mapping[PythonRange, PythonRange]) -> str | None:
    """Replace the Python locations in compiled HLO.

    Args:
        compiled: the HLO text.
        places: the new location of each.

    Returns:
        the text; None if it has a location that is not in `places`, or writes locations in another form.
    """
    tables = _FILES.findall(compiled), _PLACES.findall(compiled)
    if (len(tables[0]), len(tables[1])) not in ((0, 0), (1, 1)) or "source_file=" in compiled:
        return None
    if not tables[0]:
        return compiled
    files = dict(_FILE.findall(tables[0][0]))
    if len(files) != tables[0][0].count("\n"):
        return None
    names: dict[str, int] = {}
    lines = []
    for line in tables[1][0].splitlines():
        match = _PLACED.match(line)
        if match is None or match[2] not in files:
            return None
        own, file, function, first, last, column, end_column = match.groups(default="0")
        place = places.get(PythonRange(files[file], int(first), int(column), int(last), int(end_column)))
        if place is None:
            return None
        number = names.setdefault(place.file, len(names) + 1)
        function = function if function != "0" else ""
        lines.append(
            f"{own} {{file_name_id={number}{function} line={place.line} end_line={place.end_line}"
            f" column={place.column} end_column={place.end_column}}}\n"
        )
    named = "".join(f'{number} "{name}"\n' for name, number in names.items())
    compiled = _FILES.sub(lambda _: f"FileNames\n{named}", compiled, count=1)
    return _PLACES.sub(lambda _: "FileLocations\n" + "".join(lines), compiled, count=1)


def numbered_places(stablehlo: str) -> tuple[tuple[PythonRange, ...], str]:
    """The Python locations in a program, and the program with numbers in their place.

    Args:
        stablehlo: text with locations.

    Example:
        >>> numbered_places('#loc1 = loc("m.py":3:11 to :22)')
        ((PythonRange(file='m.py', line=3, column=11, end_line=3, end_column=22),), '#loc1 = loc(@-)')
    """
    places: list[PythonRange] = []

    def number(match: re.Match[str]) -> str:
        _, file, line, column, range_, end_line, end_column = match.groups()
        ends = (int(end_line or line), int(end_column)) if range_ else (int(line), int(column))
        places.append(PythonRange(file, int(line), int(column), *ends))
        return f"{match[1]} = loc({_NUMBERED}{'-' if range_ else ''})"

    program = _PLACE.sub(number, stablehlo)
    return tuple(places), program


def _numbers(places: tuple[PythonRange, ...]) -> dict[PythonRange, PythonRange]:
    """A number for each location, encoded as a location."""
    return {place: PythonRange(_NUMBERED, number, 0, number, 0) for number, place in enumerate(places, 1)}


# ---- entries


def write_entry(path: Path, key: str, result: XlaResult, stablehlo: str, places: tuple[PythonRange, ...]) -> bool:
    """Write a cache entry. If the folder cannot be written, that costs time but is no error.

    Args:
        path: file of the entry.
        key: hash of the compiler's inputs.
        result: the compiled program.
        stablehlo: the program, in the form that `read_entry` receives.
        places: the Python locations in it.

    Returns:
        whether it was written.
    """
    numbers = _numbers(places)
    text = _placed(result.text, numbers) if len(numbers) == len(places) else None
    value = {"format": FORMAT, "key": key, "memory": dict(result.memory), "cost": dict(result.cost), "compiled": text}
    if text is None or len(text) > LARGEST_TEXT // 2 or _result(value, key, stablehlo) is None:
        return False
    content = zlib.compress(json.dumps(value).encode(), 6)
    if len(content) > LARGEST_ENTRY:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.is_symlink():
            return False
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".new", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError:
        return False
    return True


def read_entry(path: Path, key: str, stablehlo: str, places: tuple[PythonRange, ...]) -> XlaResult | None:
    """Read a compiled program from the cache.

    Args:
        path: file of the entry.
        key: hash of the compiler's inputs, which the entry must match.
        stablehlo: the requested program.
        places: the Python locations in it.

    Returns:
        the program with these locations; None if there is no valid entry.
    """
    try:
        content = _content(path)
        value = json.loads(content, parse_constant=_refuse) if content else None
        found = _result(value, key, stablehlo)
        if found is None:
            return None
        text = _placed(found.text, {number: place for place, number in _numbers(places).items()})
        return None if text is None else XlaResult(text, found.memory, found.cost, cached=True)
    except Exception:  # entries are untrusted
        return None


def _content(path: Path) -> bytes | None:
    """The bytes of an entry; None for a link, a pipe, or an entry that is too large, packed or unpacked."""
    if path.parent.is_symlink():
        return None
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        about = os.fstat(stream.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST_ENTRY:
            return None
        packed = stream.read(LARGEST_ENTRY + 1)
    reader = zlib.decompressobj()
    content = reader.decompress(packed, min(LARGEST_TEXT, _SMALL + _MOST_PACKED * len(packed)))
    return content if reader.eof and not reader.unused_data else None


def _refuse(constant: str) -> float:
    raise ValueError(constant)


def _result(value: Any, key: str, stablehlo: str) -> XlaResult | None:
    """The program of an entry, if the entry holds a program for this key and nothing else."""
    if not isinstance(value, dict) or set(value) != {"format", "key", "memory", "cost", "compiled"}:
        return None
    text = value["compiled"]
    if (value["format"], value["key"]) != (FORMAT, key) or not isinstance(text, str) or not _fits(text, stablehlo):
        return None
    memory = _figures(value["memory"], facts.MEMORY_FIGURES, int)
    cost = _figures(value["cost"], facts.COST_FIGURES, int | float)
    return None if memory is None or cost is None else XlaResult(text, memory, cost)


def _figures(value: Any, names: tuple[str, ...], kind: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict) or tuple(value) != names:
        return None
    plain = all(
        one is None or (isinstance(one, kind) and not isinstance(one, bool) and math.isfinite(one) and abs(one) < 2**63)
        for one in value.values()
    )
    return value if plain else None


def _fits(text: str, stablehlo: str) -> bool:
    """Whether a text is a program with the name of the one that it should be compiled from."""
    from hlodiff.hlo.parser import read_hlo

    name = _NAME.match(stablehlo)
    if name is None or re.match(rf"HloModule {re.escape(name[1])}[, \n]", text) is None:
        return False
    read_hlo(text, at_once=True)
    return True
