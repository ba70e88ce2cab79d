"""How often a TPU passes over a matrix product of float32: once, or more often where its precision is higher.

A TPU multiplies bfloat16. `jax.lax.Precision.HIGH` splits each operand of float32 into two such values and adds three
products, `HIGHEST` takes three values and six products. No number of a program says so: flops stay what they were.
"""

from __future__ import annotations

import re
from collections import Counter

from hlodiff.differ.result import ModuleDiff, Site
from hlodiff.hlo.model import Module

_PRODUCTS = frozenset(["dot", "convolution"])
_PASSES = {"default": 1, "high": 3, "highest": 6}
_WORDS = re.compile(r"\w+")


def product_passes(diff: ModuleDiff | None, target: str | None) -> tuple[int, int] | None:
    """The passes over each matrix product whose precision was edited, before and after.

    Args:
        diff: of two compiled programs.
        target: what they are compiled for; only TPUs work so.

    Returns:
        those of most products; None where no product takes more or fewer, or some more and others fewer.

    Example:
        >>> product_passes(None, "tpu-v5e-2x2") is None
        True
    """
    if diff is None or diff.new.stage != "compiled" or not (target or "").startswith("tpu"):
        return None
    found: Counter[tuple[int, int]] = Counter()
    for edit in diff.reported:
        if "precision" in edit.fields and edit.old and edit.new and edit.new.opcode in _PRODUCTS:
            found[_passes(edit.old, diff.old), _passes(edit.new, diff.new)] += edit.count
    moved = Counter({(old, new): count for (old, new), count in found.items() if old != new})
    if len({old < new for old, new in moved}) != 1:
        return None
    return moved.most_common(1)[0][0]


def _passes(site: Site, module: Module) -> int:
    it, instructions = site.instruction_in(module), module.computations[site.computation].instructions
    if not any(instructions[n].shape.element_type == "f32" for n in it.operands):
        return 1
    return max((_PASSES.get(word, 1) for word in _WORDS.findall(it.attribute("operand_precision") or "")), default=1)
