"""Rule `sets`: attributes that are sets, in one order."""

from __future__ import annotations

import re

from hlodiff.ir.model import Module
from hlodiff.normalize.rewrite import map_attribute

_NAMES = re.compile(r'"(?:[^"\\]|\\.)*"')


def sort_sets(module: Module) -> tuple[Module, int]:
    """Sort `manual_axes` of `sdy.manual_computation` by name."""
    return map_attribute(module, "manual_axes", _sorted)


def _sorted(text: str) -> str:
    names = iter(sorted(_NAMES.findall(text)))
    return _NAMES.sub(lambda _: next(names), text)
