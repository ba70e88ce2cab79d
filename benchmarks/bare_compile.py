"""Plain JAX on the functions of a project: lowers and compiles each for each target, nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def main(folder: Path, part: int, parts: int) -> None:
    """Compile every `parts`-th program, starting at `part`."""
    import jax
    from jax.sharding import SingleDeviceSharding

    from hlodiff.capture.devices import open_target
    from hlodiff.capture.imports import import_modules
    from hlodiff.capture.targets import parse_target
    from hlodiff.registry import Case, registrations
    from hlodiff.workflows.configuration import load

    config = load(folder)
    import_modules(config)
    work = [(one, name) for one in registrations() for name in config.targets][part::parts]
    devices: dict[str, Any] = {}
    for registration, name in work:
        if name not in devices:
            devices[name] = open_target(parse_target(name)).devices[0]
        case = registration.build()
        assert isinstance(case, Case) and not isinstance(case.donate, str)
        sharding = SingleDeviceSharding(devices[name])
        placed = jax.tree.map(lambda a, s=sharding: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=s), case.args)
        jax.jit(case.fn, donate_argnums=() if case.donate is None else case.donate).lower(*placed).compile()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
