"""The fixture `hlodiff_program`: what a case compiles to, to assert things of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from hlodiff.registry import Case

if TYPE_CHECKING:
    from hlodiff.policy.assertions import Program


@pytest.fixture
def hlodiff_program(request: pytest.FixtureRequest) -> Callable[..., Program]:
    """Compiles a case; the test is skipped where this machine cannot compile for the target, and in CI it fails.

    Example:
        >>> def test_step(hlodiff_program):
        ...     program = hlodiff_program(hlodiff.Case(step, hlodiff.abstract((32, 64), "float32")), target="tpu-v5e")
        ...     program.assert_no_copy_in_loop()
    """

    def captured(case: Case | Callable[..., Case], *, target: str = "cpu", name: str = "") -> Program:
        __tracebackhide__ = True
        from hlodiff.config import in_ci
        from hlodiff.errors import HlodiffError
        from hlodiff.workflows.capture_program import NotAvailableHere, capture_program

        try:
            return capture_program(case, target=target, name=name or request.node.name, root=request.config.rootpath)
        except HlodiffError as error:
            if isinstance(error, NotAvailableHere) and not in_ci():
                pytest.skip(error.render())
            message = f"{type(error).__name__}: {error.render()}"
        pytest.fail(message, pytrace=False)  # outside, so that the error is not shown twice

    return captured
