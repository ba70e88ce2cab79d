"""The corpus: real programs compiled on demand (cached under .hlodiff/bench), and committed snapshots."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlodiff.capture.environment import LIBTPU

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".hlodiff" / "bench"
TARGETS = ("cpu", "tpu-v5e", "cuda-h100")
# Our short names for what hlodiff.capture compiles for; four devices each, for the sharded functions.
_FULL_NAMES = {"cpu": "cpu-4", "tpu-v5e": "tpu-v5e-2x2", "cuda-h100": "cuda-h100-x4"}
_SHAPE = re.compile(r"(\w+)\[([\d,]*)\](?:@(.*))?")
_DTYPES = {"f32": "float32", "bf16": "bfloat16", "s32": "int32", "u32": "uint32", "s8": "int8"}
_SUFFIX = {"compiled": "hlo", "stablehlo": "mlir"}


@dataclass(frozen=True, slots=True)
class Program:
    """One program of the corpus: raw text as the compiler (or JAX) printed it, including debug tables."""

    name: str
    target: str
    stage: str
    path: Path

    def text(self) -> str:
        """The whole text."""
        return self.path.read_text()


def corpus(
    names: Iterable[str] | None = None,
    targets: Sequence[str] = TARGETS,
    stage: str = "compiled",
    folder: Path = CACHE,
) -> list[Program]:
    """Programs of the corpus in a fixed order; missing ones are compiled first.

    Args:
        names: of functions in `benchmarks/functions.py`; None for all but the large ones.
        targets: of TARGETS.
        stage: "compiled" or "stablehlo".
        folder: the cache of compiled programs.

    Returns:
        The programs. Programs that a target cannot compile are skipped; a `.missing.txt` in its folder has the reason.
    """
    asked = None if names is None else list(names)
    found = []
    for target in targets:
        here = folder / target
        wanted = asked if asked is not None else _known(here)
        if wanted is None or any(not _settled(here, name) for name in wanted):
            _compile_elsewhere(asked, target, folder)
        for name in sorted(wanted if wanted is not None else _known(here) or []):
            path = here / f"{name}.{_SUFFIX[stage]}"
            if path.exists():
                found.append(Program(name, target, stage, path))
    return found


def _known(folder: Path) -> list[str] | None:
    """The functions that a complete run compiled; None if there was no complete run."""
    listing = folder / "all.txt"
    return listing.read_text().split() if listing.exists() else None


def _settled(folder: Path, name: str) -> bool:
    return (folder / f"{name}.hlo").exists() or (folder / f"{name}.missing.txt").exists()


def snapshots(stage: str = "compiled", folder: Path = ROOT / "snapshots") -> list[Program]:
    """The programs of committed snapshots, sorted by path."""
    paths = sorted(folder.glob(f"**/{stage}.{_SUFFIX[stage]}"))
    return [Program("/".join(p.relative_to(folder).parts[:-2]), p.parts[-2], stage, p) for p in paths]


def _compile_elsewhere(names: list[str] | None, target: str, folder: Path) -> None:
    """Compile in a separate process: platforms and device counts are process-wide, and libtpu prints messages."""
    settings = {
        "JAX_PLATFORMS": "cpu",
        **LIBTPU,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TPU_MIN_LOG_LEVEL": "3",
    }
    command = [sys.executable, "-m", "benchmarks.programs", str(folder), target, *(names or [])]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"compiling the corpus for {target} failed:\n{done.stderr[-3000:]}")


def compile_corpus(folder: Path, target: str, names: Sequence[str]) -> None:
    """Compile functions for one target and write them under `folder`; only run in a separate process."""
    import jax

    from benchmarks.functions import JOBS, LARGE
    from hlodiff.capture.devices import open_target
    from hlodiff.capture.targets import parse_target

    jax.config.update("jax_num_cpu_devices", 4)
    devices = open_target(parse_target(_FULL_NAMES[target]))
    here = folder / target
    here.mkdir(parents=True, exist_ok=True)
    for name in names or JOBS:
        if _settled(here, name):
            continue
        job = {**JOBS, **LARGE}[name]
        try:
            arguments = jax.tree.map(lambda text: _abstract(text, devices), job.arguments)
            lowered = jax.jit(job.run, donate_argnums=job.donate).lower(*arguments)
            _write(here / f"{name}.mlir", lowered.as_text(debug_info=True))
            _write(here / f"{name}.hlo", str(lowered.compile().as_text()))
        except Exception as error:  # whatever a compiler raises; the reason is written next to the programs
            _write(here / f"{name}.missing.txt", f"{type(error).__name__}: {error}\n")
    if not names:
        _write(here / "all.txt", "\n".join(JOBS) + "\n")


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(text)
    part.replace(path)


def _abstract(text: str, target: Any) -> Any:
    """The argument for `f32[64,256]@dm`: sharded along axes d and m of a 2x2 mesh; without @ on one device."""
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

    match = _SHAPE.fullmatch(text)
    assert match is not None, text
    element_type, sizes, axes = match.groups()
    sharding: Any = SingleDeviceSharding(target.devices[0])
    if axes:
        mesh = Mesh(np.array(target.devices[:4]).reshape(2, 2), ("d", "m"))
        sharding = NamedSharding(mesh, PartitionSpec(*(None if a == "." else a for a in axes)))
    shape = tuple(int(n) for n in sizes.split(",") if n)
    return jax.ShapeDtypeStruct(shape, _DTYPES[element_type], sharding=sharding)


if __name__ == "__main__":
    compile_corpus(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
