"""Another Python environment: an existing one, or a temporary one with other versions on top of this one."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from hlodiff.capture import TemporaryFolder
from hlodiff.capture.availability import OLDEST_JAX, installed_version, is_too_old
from hlodiff.capture.supervision import die_with_parent, run_child
from hlodiff.config import Config, process_environment
from hlodiff.errors import CaptureError, HlodiffError, UsageError, one_line
from hlodiff.interrupts import install
from hlodiff.snapshots import FolderTree, Key, list_snapshots, read_snapshot, write_snapshot
from hlodiff.workflows.capture_side import capture_side, snapshots_of
from hlodiff.workflows.configuration import load
from hlodiff.workflows.passes import dump_all
from hlodiff.workflows.select import selected
from hlodiff.workflows.sides import Side, SideFailure, failed_programs, snapshot_programs

_LOG = logging.getLogger(__name__)
_PACKAGE = Path(__file__).resolve().parent.parent
# Pure Python packages, linked into an environment that lacks them. The others are compiled for one Python and jax.
_LENT = ("click", "networkx", "yaml")
_NEEDED = ("jax", "jaxlib", "numpy", "equinox")
# Libraries whose versions are reported if they differ: what they trace affects what is compiled.
_LIBRARIES = (
    "equinox", "optax", "flax", "dm-haiku", "diffrax", "optimistix", "lineax", "numpyro", "blackjax", "distrax",
)  # fmt: skip
_EXACT = re.compile(r"\s*+([A-Za-z0-9._-]++)\s*+(\[[^\]]*\])?\s*+==\s*+([A-Za-z0-9.+!_-]++)\s*")
_PROBE = """
import json, sys, importlib.util as u, importlib.metadata as m
def v(n):
    try: return m.version(n)
    except m.PackageNotFoundError: return None
names = json.loads(sys.argv[1])
print(json.dumps({"python": list(sys.version_info[:3]), "found": {n: bool(u.find_spec(n)) for n in names["modules"]},
                  "versions": {n: v(n) for n in names["packages"]},
                  "places": {n: str(m.distribution(n).locate_file("")) for n in names["packages"] if v(n)}}))
"""


@dataclass(frozen=True, slots=True)
class OtherEnvironment:
    """Another environment, ready to run hlodiff.

    Args:
        python: its interpreter.
        env: environment variables with which that Python finds hlodiff.
        versions: versions of the requested packages, by name; None if not installed.
        places: the folder where each of them is installed.
    """

    python: Path
    env: dict[str, str]
    versions: dict[str, str | None]
    places: dict[str, str]

    @property
    def label(self) -> str:
        """Its name in reports: `jax 0.10.2, jaxlib 0.10.2, optax 0.2.8`."""
        return label_of(self.versions, installed_versions(self.versions))


def installed_versions(names: Iterable[str]) -> dict[str, str | None]:
    """The versions of packages in this environment; None if not installed."""
    return {name: installed_version(name) for name in names}


def imported_as(package: str) -> tuple[str, ...]:
    """The import names of an installed package; () if it is not installed here.

    Example:
        >>> imported_as("PyYAML")
        ('yaml',)
    """
    try:
        files = distribution(package).files or ()
    except PackageNotFoundError:
        return ()
    heads = {file.parts[0] for file in files if len(file.parts) > 1 and file.suffix == ".py"}
    return tuple(sorted(head for head in heads if head.isidentifier() and not head.startswith("_")))


def installed_in(package: str) -> Path | None:
    """The folder where a package is installed here; None if it is not."""
    try:
        return Path(str(distribution(package).locate_file("")))
    except PackageNotFoundError:
        return None


def label_of(versions: Mapping[str, str | None], others: Mapping[str, str | None]) -> str:
    """The name of an environment in reports: jax, jaxlib, and libraries that have another version in `others`.

    Args:
        versions: versions in the environment.
        others: versions in the environment it is compared with.

    Example:
        >>> label_of({"jax": "0.10.2", "optax": "0.2.5"}, {"jax": "0.10.2", "optax": "0.2.8"})
        'jax 0.10.2, optax 0.2.5'
    """
    shown = [name for name in versions if name in ("jax", "jaxlib") or versions[name] != others.get(name)]
    return ", ".join(f"{name} {versions[name]}" for name in shown if versions[name])


@contextlib.contextmanager
def other_environment(
    requirements: Sequence[str], python: Path | None, folder: Path | None
) -> Iterator[OtherEnvironment]:
    """Another environment; a temporary one is removed afterwards.

    Args:
        requirements: what pip installs into a temporary one (`jax==0.10.2`), or what an existing one must have.
        python: the interpreter of an existing one.
        folder: the folder of an existing virtual environment.

    Returns:
        the environment.

    Raises:
        UsageError: it does not exist, lacks what hlodiff needs, has different versions than requested, or pip fails.
    """
    held = TemporaryFolder()
    temporary = Path(held.name).resolve()
    try:
        existing = _existing(python, folder)
        interpreter = existing or _made(temporary / "env", requirements)
        env = _variables(temporary)
        found = _probed(interpreter, env, [_name(requirement) for requirement in requirements])
        if existing:
            _refuse_others(requirements, found["versions"], interpreter)
        _lend(temporary / "lent", found)
        yield OtherEnvironment(interpreter, env, found["versions"], found["places"])
    finally:
        held.cleanup()


def _existing(python: Path | None, folder: Path | None) -> Path | None:
    if python and folder:
        raise UsageError("--python and --env exclude each other", hint="give one of them")
    if not python and not folder:
        return None
    if folder:
        found = next((folder / name for name in ("bin/python", "Scripts/python.exe") if (folder / name).exists()), None)
        if found is None:
            hint = "give the folder of a virtual environment, or its interpreter with --python"
            raise UsageError("no virtual environment", where=str(folder), hint=hint)
        return found.absolute()
    assert python is not None
    if not (python.is_file() and os.access(python, os.X_OK)):
        raise UsageError("not an executable program", where=str(python), hint="give a Python interpreter")
    return python.absolute()  # not resolved: the interpreter of a virtual environment is a link to its base interpreter


def _made(folder: Path, requirements: Sequence[str]) -> Path:
    """Create a virtual environment with these versions; everything else comes from this environment."""
    _LOG.info("installing %s into a temporary environment", one_line(" ".join(requirements)))
    venv.EnvBuilder(symlinks=True).create(folder)
    interpreter = folder / "bin" / "python"
    site = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    # Folders of this environment come after the new one's own, with what their .pth files add.
    here = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    lines = [f"import site; site.addsitedir({place!r})\n" for place in here]
    Path(site, "hlodiff_behind.pth").write_text("".join(lines))
    pip = [sys.executable, "-m", "pip", "--python", str(interpreter), "install", "--no-input", "--quiet", *requirements]
    if importlib.util.find_spec("pip") is None:
        hint = "install pip here, or make the environment yourself and give it with --env"
        raise UsageError("this environment has no pip to install with", hint=hint)
    done = run_child(pip)
    if done.returncode:
        printed = (done.stderr or done.stdout).decode(errors="replace")
        errors = [line for line in printed.splitlines() if line.startswith("ERROR")]
        words = "; ".join(line.removeprefix("ERROR: ") for line in errors) or "it printed nothing"
        hint = "an environment of your own can be given with --env"
        raise UsageError(f"pip could not install {' '.join(requirements)}: {words[:600]}", hint=hint)
    return interpreter


def _variables(temporary: Path) -> dict[str, str]:
    """Environment variables with which the other Python finds this hlodiff and nothing else of this environment."""
    site = temporary / "hlodiff"
    shutil.copytree(_PACKAGE, site / "hlodiff", ignore=shutil.ignore_patterns("*.tmp"))
    (temporary / "lent").mkdir()
    outside = {
        name: value
        for name, value in process_environment().items()
        if name not in ("PYTHONHOME", "__PYVENV_LAUNCHER__")
    }
    paths = [str(site), outside.get("PYTHONPATH", ""), str(temporary / "lent")]
    return outside | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _probed(interpreter: Path, env: dict[str, str], packages: Sequence[str]) -> dict[str, Any]:
    asked = dict.fromkeys(["jax", "jaxlib", *packages, *_LIBRARIES])
    names = {"modules": [*_NEEDED, *_LENT], "packages": list(asked)}
    try:
        done = run_child([str(interpreter), "-P", "-c", _PROBE, json.dumps(names)], env=env, timeout=120)
        found: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        hint = "hlodiff needs Python 3.11 or later there"
        raise UsageError("is not a working Python", where=str(interpreter), hint=hint) from None
    if tuple(found["python"]) < (3, 11):
        hint = "hlodiff needs Python 3.11 or later there"
        raise UsageError(f"is Python {'.'.join(map(str, found['python']))}", where=str(interpreter), hint=hint)
    missing = [name for name in _NEEDED if not found["found"][name]]
    if missing:
        hint = f"{interpreter} -m pip install {' '.join(missing)}"
        raise UsageError(f"lacks {', '.join(missing)}, which capturing needs", where=str(interpreter), hint=hint)
    return found


def _refuse_others(requirements: Sequence[str], versions: dict[str, str | None], interpreter: Path) -> None:
    for requirement in requirements:
        match = _EXACT.fullmatch(requirement)
        if match is None:
            hint = "leave it out: the environment has the versions it has"
            raise UsageError(
                f"`{requirement}` is not NAME==VERSION, which an environment can be checked against", hint=hint
            )
        found = versions[_name(requirement)]
        if found != match[3]:
            what = f"has {_name(requirement)} {found or 'not installed'}, not {match[3]}"
            raise UsageError(what, where=str(interpreter), hint="leave the requirement out, or install it there")


def _lend(folder: Path, found: dict[str, Any]) -> None:
    """Link our pure Python packages that the other environment lacks."""
    for name in _LENT:
        spec = None if found["found"][name] else importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            (folder / name).symlink_to(next(iter(spec.submodule_search_locations)))


def _name(requirement: str) -> str:
    match = re.match(r"\s*([A-Za-z0-9._-]+)", requirement)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else requirement


def with_plugins(requirements: Sequence[str], kinds: Sequence[str]) -> tuple[str, ...]:
    """The requirements and, with an exact version of jax, the plugins that are installed here and that targets need.

    Args:
        requirements: as typed.
        kinds: first words of the targets to compile for: "tpu", "cuda".

    Returns:
        what pip must install for TPU and GPU targets to be compiled as after an upgrade.

    Example:
        >>> with_plugins(["optax==0.2.8"], ["tpu"])
        ('optax==0.2.8',)
    """
    wanted = list(requirements)
    exact = next((m for m in map(_EXACT.fullmatch, requirements) if m and _name(m[1]) == "jax" and not m[2]), None)
    if exact is None:
        return tuple(wanted)
    given = {_name(requirement) for requirement in requirements}
    if "tpu" in kinds and installed_version("libtpu") and "libtpu" not in given:
        wanted = [f"jax[tpu]=={exact[3]}" if _name(one) == "jax" else one for one in wanted]
    if "cuda" in kinds:
        parts = [f"jax-cuda{number}-{part}" for number in (12, 13) for part in ("plugin", "pjrt")]
        wanted += [f"{part}=={exact[3]}" for part in parts if installed_version(part) and part not in given]
    return tuple(wanted)


def refuse_unsupported(requirements: Sequence[str]) -> None:
    """Refuse, before anything is installed, a jax that hlodiff cannot capture with.

    Args:
        requirements: requirements for pip.

    Raises:
        UsageError: jax is too old; the message has the oldest version that works.

    Example:
        >>> refuse_unsupported(["jax==0.10.2", "optax>=0.2"])
    """
    for requirement in requirements:
        match = _EXACT.fullmatch(requirement)
        if match is None or _name(requirement) not in ("jax", "jaxlib"):
            continue
        if is_too_old(match[3]):
            what = f"{_name(requirement)} {match[3]} is too old to capture with"
            raise UsageError(what, hint=f"name jax {OLDEST_JAX} or a later version; nothing was installed")


_START = "from hlodiff.workflows.temporary_environment import main; main()"
_ANSWER = "answer.json"


def capture_elsewhere(
    config: Config, other: OtherEnvironment, names: Sequence[str], targets: Sequence[str], jobs: int | None
) -> Side:
    """Capture the project's programs in another environment.

    Args:
        config: the project's.
        other: the environment.
        names, targets: patterns; all if empty.
        jobs: number of workers.

    Returns:
        the captured side.

    Raises:
        CaptureError: hlodiff could not run there, or the project cannot be imported there.
    """
    with TemporaryFolder() as folder:
        job = {"names": list(names), "targets": list(targets), **_job(config, jobs, folder)}
        return _answered(_asked(job, other), Path(folder), other)


def dump_elsewhere(config: Config, other: OtherEnvironment, folders: Mapping[Key, Path], jobs: int | None) -> None:
    """Compile programs in another environment, each with a text after each of XLA's passes.

    Args:
        config: the project's.
        other: the environment.
        folders: an empty folder for each program.
        jobs: number of workers.

    Raises:
        CaptureError: hlodiff could not run there, or the project cannot be imported there.
    """
    with TemporaryFolder() as folder:
        dumps = [[_parts(key), str(place)] for key, place in folders.items()]
        job = {"dumps": dumps, **_job(config, jobs, folder)}
        _check_answer(_asked(job, other), other)


def _job(config: Config, jobs: int | None, out: str) -> dict[str, Any]:
    return {"project": str(config.root), "jobs": jobs, "timeout": config.timeout, "out": out}


def _asked(job: Mapping[str, Any], other: OtherEnvironment) -> dict[str, Any]:
    """Run a job of hlodiff in another environment and return its answer."""
    # -P, so that nothing is imported from the current folder; PYTHONPATH leads to this copy of hlodiff.
    done = run_child([str(other.python), "-P", "-c", _START], env=other.env, given=json.dumps(job).encode())
    answer = Path(job["out"], _ANSWER)
    if not answer.is_file():
        tail = "\n".join(done.stderr.decode(errors="replace").strip().splitlines()[-12:])
        raise CaptureError(f"hlodiff could not run with {other.label}; the end of its output:\n{tail}")
    found: dict[str, Any] = json.loads(answer.read_text())
    return found


def _check_answer(answer: Mapping[str, Any], other: OtherEnvironment) -> None:
    if "error" in answer:
        error = answer["error"]
        where = f"with {other.label}" + (f", {error['where']}" if error["where"] else "")
        raise CaptureError(error["what"], where=where, hint=error["hint"])


def _answered(answer: dict[str, Any], folder: Path, other: OtherEnvironment) -> Side:
    _check_answer(answer, other)
    tree = FolderTree(folder)
    there = dict.fromkeys(list_snapshots(tree).keys)
    order = [Key(*parts) for parts in answer["keys"]]
    failures = {Key(*one["key"]): SideFailure(**one["failure"]) for one in answer["failures"]}
    side = Side(other.label, called=f"with {other.label}")
    for key in order:
        if key in there:
            side.programs += snapshot_programs(read_snapshot(tree, key), key.folder)
        elif key in failures:
            side.programs += failed_programs(key, failures[key])
    return side


def main() -> None:
    """Run the job on stdin in this environment, and write snapshots and an answer to a folder."""
    install()
    die_with_parent(signal.SIGTERM)
    job = json.loads(sys.stdin.read())
    out = Path(job["out"])
    try:
        answer = _answer(job, out)
    except HlodiffError as error:
        answer = {"error": {"what": error.what, "where": error.where, "hint": error.hint}}
    (out / _ANSWER).write_text(json.dumps(answer))


def _answer(job: dict[str, Any], out: Path) -> dict[str, Any]:
    from hlodiff.capture import discover, worker_reuse

    config = replace(load(Path(job["project"])), timeout=job["timeout"])
    if "dumps" in job:
        dump_all(config, {Key(*parts): Path(folder) for parts, folder in job["dumps"]}, job["jobs"])
        return {}
    with worker_reuse():
        keys = [Key(r.function, r.case, r.target) for r in discover(config).requests()]
        chosen = [key for key in keys if selected(key, job["names"], job["targets"])]
        side = capture_side(config, chosen, job["jobs"])
    for snapshot in snapshots_of(side).values():
        write_snapshot(out, snapshot)
    failures = [
        {"key": _parts(key), "failure": asdict(one.failure)}
        for key in chosen
        for one in side.programs
        if one.failure and (one.name, one.target, one.stage) == (key.name, key.target, "stablehlo")
    ]
    return {"keys": [_parts(key) for key in chosen], "failures": failures}


def _parts(key: Key) -> list[str]:
    return [key.function, key.case, key.target]
