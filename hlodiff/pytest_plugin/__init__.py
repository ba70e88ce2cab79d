"""The pytest plugin: fixtures `hlodiff_watch`, `hlodiff_case` and `hlodiff_program`, and explanations of counts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from hlodiff.pytest_plugin.fixtures import hlodiff_case as hlodiff_case
from hlodiff.pytest_plugin.fixtures import hlodiff_program as hlodiff_program
from hlodiff.pytest_plugin.suite import pytest_addoption as pytest_addoption
from hlodiff.pytest_plugin.suite import pytest_configure as pytest_configure

if TYPE_CHECKING:
    from hlodiff.tracing.watch import WatchResult


@pytest.fixture
def hlodiff_watch(pytestconfig: pytest.Config) -> Iterator[WatchResult]:
    """Records what the test's calls make JAX trace and compile; clears JAX's caches first.

    Example:
        >>> def test_step_is_traced_once(hlodiff_watch):
        ...     step(model, x), step(model, x)
        ...     assert hlodiff_watch.traces("step") == 1
    """
    from hlodiff.tracing.watch import watch  # local: a run of pytest without our fixtures must not import jax

    with watch(fresh=True, root=pytestconfig.rootpath) as seen:
        yield seen


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain a number of traces or programs below a failed comparison."""
    watching = sys.modules.get("hlodiff.tracing.watch")
    if watching is None:
        return None
    counts = [side for side in (left, right) if isinstance(side, watching.ExpectedCount)]
    if not counts:
        return None
    return [f"{left!r} {op} {right!r}", *(line for count in counts for line in count.why.split("\n"))]
