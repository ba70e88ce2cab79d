"""The pass dumps in tests/fixtures/passes: small functions, compiled by several versions of JAX for several targets.

`matmul` is the gradient of `jnp.sum(jnp.tanh(x @ w))`, `scatter` a `segment_sum` under `vmap`, `donated` an `exp` of a
donated argument that a loop reads and that is then multiplied. `gelu-fusion` has only
the texts before and after a fusion of `jax.nn.gelu`, `gelu-normalized` those around float normalization.
"""

from __future__ import annotations

import tarfile
from functools import cache
from pathlib import Path

from hlodiff.differ.passes import Dump, PassStep, dumps_of, pass_steps
from hlodiff.hlo import Module, read_bytes

FOLDER = Path(__file__).parent / "fixtures/passes"


@cache
def files(name: str) -> dict[str, bytes]:
    """The files of a dump by their names."""
    with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def unpack(name: str, folder: Path) -> Path:
    """Write the files of a dump into a new folder below this one."""
    made = folder / name
    made.mkdir()
    for file, data in files(name).items():
        (made / file).write_bytes(data)
    return made


@cache
def dump(name: str) -> Dump:
    """The module that went through all passes."""
    found = files(name)
    (whole,) = (one for one in dumps_of(found, found.__getitem__) if one.is_whole)
    return whole


def compiled(dumped: Dump) -> Module:
    """What a module was after all of its passes."""
    last = dumped.stages[-1]
    return read_bytes(dumped.read(last.file), path=dumped.path(last))


@cache
def steps(name: str) -> tuple[PassStep, ...]:
    """The texts that differ from those before them."""
    return tuple(pass_steps(dump(name)))
