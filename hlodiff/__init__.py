"""Records what JAX functions compile to, and tells what a change did to the compiled programs.

The one door: every public name stands in `_HOME`. A name is imported when it is first used, so that
`import hlodiff` costs milliseconds and imports neither jax, jaxlib, networkx, rich nor click.

Example:
    >>> import hlodiff
    >>> change = hlodiff.diff(hlodiff.read("old.hlo"), hlodiff.read("new.hlo"))  # doctest: +SKIP
    >>> change.summary  # doctest: +SKIP
    {'added': 0, 'removed': 0, 'changed': 1, 'moved': 0}
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` does the same, later
    from hlodiff.capture.devices import Target as Target
    from hlodiff.diff import diff as diff
    from hlodiff.diff.limits import LimitHit as LimitHit
    from hlodiff.diff.limits import Limits as Limits
    from hlodiff.diff.result import Edit as Edit
    from hlodiff.diff.result import FusionChange as FusionChange
    from hlodiff.diff.result import ModuleDiff as ModuleDiff
    from hlodiff.errors import HlodiffError as HlodiffError
    from hlodiff.ir import read as read
    from hlodiff.ir import read_text as read_text
    from hlodiff.ir.model import Module as Module
    from hlodiff.normalize import normalize as normalize
    from hlodiff.policy.assertions import Program as Program
    from hlodiff.programs import capture_program as capture_program
    from hlodiff.registry import Case as Case
    from hlodiff.registry import abstract as abstract
    from hlodiff.registry import register as register
    from hlodiff.registry import variants as variants
    from hlodiff.scenarios import scenario as scenario
    from hlodiff.watching import watch as watch

__version__ = "0.1.0"

_HOME = {
    "Case": "hlodiff.registry",
    "Edit": "hlodiff.diff.result",
    "FusionChange": "hlodiff.diff.result",
    "HlodiffError": "hlodiff.errors",
    "LimitHit": "hlodiff.diff.limits",
    "Limits": "hlodiff.diff.limits",
    "Module": "hlodiff.ir.model",
    "ModuleDiff": "hlodiff.diff.result",
    "Program": "hlodiff.policy.assertions",
    "Target": "hlodiff.capture.devices",
    "abstract": "hlodiff.registry",
    "capture_program": "hlodiff.programs",
    "diff": "hlodiff.diff",
    "normalize": "hlodiff.normalize",
    "read": "hlodiff.ir",
    "read_text": "hlodiff.ir",
    "register": "hlodiff.registry",
    "scenario": "hlodiff.scenarios",
    "variants": "hlodiff.registry",
    "watch": "hlodiff.watching",
}


if not TYPE_CHECKING:  # else a type checker would take every misspelt name for one that exists

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'hlodiff' has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])


class _Door(ModuleType):
    """Keeps `hlodiff.diff` the function: importing any part of the room `hlodiff.diff` would bind the room here."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Door
