"""Records what JAX functions compile to, and shows what a change did to the compiled programs.

The one door: every public name is listed below as an import. It is imported when it is first used, so that `import
hlodiff` costs milliseconds and imports neither jax, jaxlib, networkx, rich nor click.

Example:
    >>> import hlodiff
    >>> change = hlodiff.diff(hlodiff.read("old.hlo"), hlodiff.read("new.hlo"))  # doctest: +SKIP
    >>> change.summary  # doctest: +SKIP
    {'added': 0, 'removed': 0, 'changed': 1, 'moved': 0}
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from hlodiff.lazy_names import exports
from hlodiff.renderers import RENDERERS

if TYPE_CHECKING:
    from hlodiff.capture.devices import Target as Target
    from hlodiff.differ import diff as diff
    from hlodiff.differ.limits import LimitHit as LimitHit
    from hlodiff.differ.limits import Limits as Limits
    from hlodiff.differ.result import Edit as Edit
    from hlodiff.differ.result import FusionChange as FusionChange
    from hlodiff.differ.result import ModuleDiff as ModuleDiff
    from hlodiff.errors import HlodiffError as HlodiffError
    from hlodiff.hlo import read as read
    from hlodiff.hlo import read_text as read_text
    from hlodiff.hlo.model import Module as Module
    from hlodiff.normalizer import normalize as normalize
    from hlodiff.policy.assertions import Program as Program
    from hlodiff.progress import Progress as Progress
    from hlodiff.registry import Case as Case
    from hlodiff.registry import abstract as abstract
    from hlodiff.registry import register as register
    from hlodiff.registry import scenario as scenario
    from hlodiff.registry import variants as variants
    from hlodiff.tracing.watch import watch as watch
    from hlodiff.workflows.accept import AcceptResult as AcceptResult
    from hlodiff.workflows.accept import accept as accept
    from hlodiff.workflows.capture_program import capture_program as capture_program
    from hlodiff.workflows.check import CheckResult as CheckResult
    from hlodiff.workflows.check import check as check
    from hlodiff.workflows.update import UpdateResult as UpdateResult
    from hlodiff.workflows.update import update as update


__version__ = "0.1.0"

_HOME = exports(__spec__)
__all__ = list(_HOME)


if not TYPE_CHECKING:  # a type checker would accept every misspelt name

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'hlodiff' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value


def _shown(form: str, value: object) -> str:
    """How `print` and notebooks show a difference or a report: the renderer is imported when somebody looks."""
    shown: str = getattr(import_module("hlodiff.report.text"), f"show_{form}")(value)
    return shown


RENDERERS.update({form: partial(_shown, form) for form in ("text", "html")})


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
