"""Cost of finding the pass that made two compilations differ, next to the diff of their final programs."""

from __future__ import annotations

import time
from collections.abc import Callable

from hlodiff.differ.passes.blame import blame
from hlodiff.differ.passes.dumps import Dump
from hlodiff.differ.passes.steps import Texts
from hlodiff.differ.pipeline import diff
from hlodiff.differ.result import ModuleDiff
from tests.pass_dumps import dump

MOST = 10
_PAIRS = (
    ("scatter-cuda-h100-jax-0.9.1", "scatter-cuda-h100-jax-0.9.2"),
    ("donated-cpu-jax-0.7.1", "donated-cpu-jax-0.7.2"),
    ("matmul-cuda-h100", "scatter-cuda-h100-jax-0.9.2"),  # nothing in common
)


def main() -> int:
    """Print one line for each pair."""
    for names in _PAIRS:
        sides = dump(names[0]), dump(names[1])
        whole, walked = _best(lambda pair=sides: _final(*pair)), _best(lambda pair=sides: blame(*pair))  # type: ignore[misc]
        texts = " and ".join(str(len(side.stages)) for side in sides)
        print(
            f"passes of {names[0]} and {names[1]}, {texts} texts: {walked / whole:.1f} times the diff of the last, "
            f"{1000 * whole:.0f} ms (wanted: at most {MOST})"
        )
    return 0


def _final(*sides: Dump) -> ModuleDiff:
    old, new = (Texts(side).module(side.stages[-1], side.read(side.stages[-1].file)) for side in sides)
    return diff(old, new)


def _best(work: Callable[[], object], times: int = 9) -> float:
    found = []
    for _ in range(times):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


if __name__ == "__main__":
    raise SystemExit(main())
