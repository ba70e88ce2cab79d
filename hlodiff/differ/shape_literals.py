"""Constants that only follow from the shapes of arguments, such as the number of elements that a mean divides by."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import product

from hlodiff.hlo.model import Computation, Module

_SCALAR = re.compile(r"(?:dense<)?([-+]?\d[\d.]*(?:[eE][-+]?\d+)?)>?")
# A mean divides by the number of elements, its gradient and that of a sum of squares hold twice or half of that.
_FACTORS = (1, 2, 0.5)
# Arrays of more dimensions have too many products of sizes to mean anything.
_MOST_DIMENSIONS = 6


def follows_from_shapes(old: str, new: str, modules: tuple[Module, Module]) -> bool:
    """Whether a number changed exactly as the elements of an argument did that has another shape.

    Args:
        old, new: a literal on either side, as it is printed.
        modules: the two programs.

    Returns:
        True where both are the number of elements of the argument, or along some of its dimensions; or one divided by
        that; or twice or half of either. False for arrays of numbers.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  ROOT p = f32[12,8] parameter(0)\\n}"
        >>> pair = read_hlo(text), read_hlo(text.replace("12", "16"))
        >>> follows_from_shapes("96", "128", pair), follows_from_shapes("0.1", "0.2", pair)
        (True, False)
    """
    before, after = _SCALAR.fullmatch(old), _SCALAR.fullmatch(new)
    if before is None or after is None:
        return False
    pair = abs(float(before[1])), abs(float(after[1]))
    if 0 in pair or before[1].startswith("-") != after[1].startswith("-"):
        return False
    return any(
        math.isclose(pair[0] * factor, counts[0] ** power, rel_tol=1e-6)
        and math.isclose(pair[1] * factor, counts[1] ** power, rel_tol=1e-6)
        for counts in _element_counts(modules)
        for factor, power in product(_FACTORS, (1, -1))
    )


def _element_counts(modules: tuple[Module, Module]) -> Iterator[tuple[int, int]]:
    """The products of sizes that differ, old and new, of arguments that have another shape."""
    arguments = [[entry.instructions[n].shape for n in entry.parameters()] for entry in _entries(modules)]
    if len(arguments[0]) != len(arguments[1]):
        return
    pairs = {(one.dimensions, other.dimensions) for one, other in zip(*arguments, strict=True)}
    for one, other in sorted(pairs):
        if one == other or len(one) != len(other) or len(one) > _MOST_DIMENSIONS or min((*one, *other)) < 1:
            continue
        for chosen in product((False, True), repeat=len(one)):
            sizes = [math.prod(n for n, taken in zip(shape, chosen, strict=True) if taken) for shape in (one, other)]
            if sizes[0] != sizes[1]:
                yield sizes[0], sizes[1]


def _entries(modules: tuple[Module, Module]) -> Iterator[Computation]:
    return (module.entry_computation for module in modules)
