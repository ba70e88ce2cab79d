"""`aliasing_operands` of TPU kernels counts operands, and outputs after them: numbers that shift with the operands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hlodiff.ir.model import Instruction

_KEY = "aliasing_operands"


def only_renumbered(old: Instruction, new: Instruction, through: Sequence[tuple[int, int]] | None) -> bool:
    """True where two configurations differ only by what the same aliases are numbered.

    Args:
        old, new: a paired call.
        through: pairs of operand numbers that correspond; None where they correspond by position.
    """
    ours, theirs = (_parse(it.attribute("backend_config")) for it in (old, new))
    if ours is None or theirs is None or _KEY not in ours or _KEY not in theirs:
        return False
    counts = len(old.operands), len(new.operands)
    number = dict(through) if through is not None else {n: n for n in range(counts[0])}
    number |= {counts[0] + n: counts[1] + n for n in range(max(1, len(new.shape.tuple_shapes)))}
    mine, other = ours.pop(_KEY), theirs.pop(_KEY)
    translated = [[number.get(index, -1) for index in group] for group in _groups(mine)]
    return ours == theirs and sorted(map(sorted, translated)) == sorted(map(sorted, _groups(other)))


def _parse(text: str | None) -> dict[str, Any] | None:
    try:
        config = json.loads(text or "")
    except ValueError:
        return None
    return config if isinstance(config, dict) else None


def _groups(value: Any) -> list[list[int]]:
    try:
        return [[int(index) for index in entry["indices"]] for entry in value["lists"]]
    except (KeyError, TypeError, ValueError):
        return []
