"""What a rule of the normalizer is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hlodiff.ir.model import Module, Stage


@dataclass(frozen=True, slots=True)
class Rule:
    """One named step of the normalizer.

    Args:
        name: what `normalize_counted` counts it under; also the name of its fixture folder.
        stages: the stages it is applied to.
        apply: the step itself; returns the module and how many places it changed.
        drops: one sentence: what it takes away.
        hides: one sentence: what real change it could hide.
    """

    name: str
    stages: tuple[Stage, ...]
    apply: Callable[[Module], tuple[Module, int]]
    drops: str
    hides: str
