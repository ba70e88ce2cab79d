"""Constants that follow from shapes, such as the number of elements that a mean divides by."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product

from hlodiff.hlo.collectives import parse_groups, stem
from hlodiff.hlo.model import Computation, Instruction, Module
from hlodiff.hlo.traversal import source_through

Pair = tuple[int, int]
"""A number on the old and on the new side."""
Place = tuple[int, int]
"""The numbers of a computation and of an instruction in it."""

_SCALAR = re.compile(r"(?:dense<)?([-+]?\d[\d.]*(?:[eE][-+]?\d+)?)>?")
_DENSE_GROUP = re.compile(r"\[(\d[\d,\s]*)\]")  # of devices, in StableHLO
# A mean divides by the number of elements, its gradient and that of a sum of squares hold twice or half of that.
_FACTORS = (1, 2, 0.5)
# Arrays of more dimensions have too many products of sizes to mean anything.
_MOST_DIMENSIONS = 6
_MOST_COUNTS = 16  # of differing reductions; with more, any two numbers may match by chance
_KEEPING = frozenset(["broadcast", "broadcast_in_dim", "reshape", "bitcast", "convert", "copy"])


def number_in(literal: str | None) -> float | None:
    """The value of a literal that is one number, in HLO or StableHLO; None for others.

    Example:
        >>> number_in("8"), number_in("dense<2.500000e-01>"), number_in("{1, 2}"), number_in(None)
        (8.0, 0.25, None, None)
    """
    found = _SCALAR.fullmatch(literal or "")
    return float(found[1]) if found else None


def follows_from_shapes(old: str, new: str, counts: Iterable[Pair]) -> bool:
    """Whether a number changed exactly as a number of elements did.

    Args:
        old, new: a literal on either side, as it is printed.
        counts: of elements, as `element_counts` gives them.

    Returns:
        True where both are such a number, or one divided by it; or twice or half of either. False for arrays.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  ROOT p = f32[12,8] parameter(0)\\n}"
        >>> counts = element_counts(read_hlo(text), read_hlo(text.replace("12", "16")), ((), ()), ())
        >>> follows_from_shapes("96", "128", counts), follows_from_shapes("0.1", "0.2", counts)
        (True, False)
    """
    before, after = number_in(old), number_in(new)
    if not before or not after or (before < 0) != (after < 0):
        return False
    pair = abs(before), abs(after)
    return any(
        math.isclose(pair[0] * factor, count[0] ** power, rel_tol=1e-6)
        and math.isclose(pair[1] * factor, count[1] ** power, rel_tol=1e-6)
        for count in counts
        for factor, power in product(_FACTORS, (1, -1))
    )


def element_counts(
    old: Module, new: Module, touched: tuple[Iterable[int], Iterable[int]], changed: Iterable[tuple[Place, Place]]
) -> tuple[Pair, ...]:
    """Numbers of elements that differ: of arguments of another shape, and how many each reduction combines.

    Args:
        old, new: the programs.
        touched: the computations in which something was edited, on either side; reductions elsewhere are the same.
        changed: instructions that were changed, old and new.
    """
    found = dict.fromkeys(_of_arguments((old, new)))
    for places in changed:
        one, other = (_reduced_at(module, *place) for module, place in zip((old, new), places, strict=True))
        if one != other and min(one, other) > 0:
            found[one, other] = None
    one_side, other_side = (Counter(_reduced(*each)) for each in zip((old, new), touched, strict=True))
    fewer, more = one_side - other_side, other_side - one_side
    if len(fewer) <= _MOST_COUNTS >= len(more):
        found.update(dict.fromkeys(product(fewer, more)))
    return tuple(found)


def means(module: Module, touched: Iterable[int]) -> Counter[int]:
    """Over how many elements the means of some computations are taken: sums that are divided by as many as they add.

    Args:
        module: StableHLO.
        touched: the computations.
    """
    found: Counter[int] = Counter()
    for number in touched:
        body = module.computations[number]
        for it in body.instructions:
            if it.opcode != "divide" or len(it.operands) != 2:
                continue
            total, count = (_source(body, operand) for operand in it.operands)
            divisor = number_in(count.literal) if count.opcode == "constant" else None
            if divisor is not None and total.opcode == "reduce" and _is_sum(module, total):
                size = _reduced_by(body, total)
                if size > 1 and divisor == size:
                    found[size] += 1
    return found


def _source(body: Computation, place: int) -> Instruction:
    """The source of a value, before broadcasts, casts and reshapes."""
    return body.instructions[source_through(body, place, _KEEPING)]


def _is_sum(module: Module, it: Instruction) -> bool:
    callees = [module.computations[number] for number in it.called]
    roots = [body.instructions[body.root] for body in callees]
    made = [_source(body, root.operands[0]) for body, root in zip(callees, roots, strict=True) if root.operands]
    return "add" in {each.opcode for each in (*roots[:1], *made[:1])}


def _reduced(module: Module, touched: Iterable[int]) -> Iterator[int]:
    """How many elements each reduction of some computations combines; several in a row also as one."""
    for number in touched:
        body = module.computations[number]
        for it in body.instructions:
            if it.opcode == "reduce" and it.operands:
                size = _reduced_by(body, it)
                before = _source(body, it.operands[0])
                yield size
                if before.opcode == "reduce" and before.operands:
                    yield size * _reduced_by(body, before)


def _reduced_at(module: Module, computation: int, instruction: int) -> int:
    """How many elements a reduction combines, and one over devices of each; 0 for other instructions."""
    body = module.computations[computation]
    it = body.instructions[instruction]
    if stem(it.opcode) in ("all-reduce", "reduce-scatter"):
        text = it.attribute("replica_groups") or ""
        groups = parse_groups(text) or [one.split(",") for one in _DENSE_GROUP.findall(text)]
        return len(groups[0]) if groups else 0
    return _reduced_by(body, it) if it.opcode == "reduce" and it.operands else 0


def _reduced_by(body: Computation, it: Instruction) -> int:
    result = next(iter(it.shape.leaves), it.shape)
    given = body.instructions[it.operands[0]].shape
    if given.tuple_shapes:  # of a call with several results
        given = given.tuple_shapes[it.results[0] if it.results else 0]
    return given.elements // max(result.elements, 1)


def _of_arguments(modules: tuple[Module, Module]) -> Iterator[Pair]:
    """The products of sizes that differ, old and new, of arguments that have another shape."""
    if not all(module.computations for module in modules):
        return
    entries = (module.entry_computation for module in modules)
    arguments = [[entry.instructions[n].shape for n in entry.parameters] for entry in entries]
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
