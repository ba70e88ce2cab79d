"""Branches that changed their places: a conditional that takes them in another order is one edit, not many.

`lax.cond(p, f, g)` became `lax.cond(p, g, f)`. Both programs are brought into one order of branches before anything is
paired, and the conditional says which order it had: that is a field like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hlodiff.ir.model import Computation, Instruction, Module

ORDER = "branch_order"
_CONDITIONALS = frozenset(["conditional", "case", "if"])
Branches = tuple[str, ...]
"""What a conditional can do: its opcode and the content of each branch, in order."""


def in_one_order(modules: tuple[Module, Module], hashes: Sequence[Sequence[str]]) -> tuple[Module, Module]:
    """Both modules with their conditionals' branches in one order where that makes more of them the same.

    Args:
        modules: two programs without noise.
        hashes: content of the computations of each, by index.

    Returns:
        the modules, which are the same objects where nothing changed its place. Of two orders content decides which one
        both get, so that swapped sides give the same two modules.
    """
    places = [list(_conditionals(module)) for module in modules]
    if not places[0] or not places[1]:
        return modules
    known = [
        Counter(_branches(module.computations[c].instructions[n], own) for c, n in found)
        for module, own, found in zip(modules, hashes, places, strict=True)
    ]
    orders: dict[Branches, list[int]] = {}
    for one, other in _exchanged(list(known[0] - known[1]), list(known[1] - known[0])):
        for branches in (one, other):
            orders[branches] = _order(branches, min(one, other))
    if not orders:
        return modules
    first, second = (
        _reordered(module, own, found, orders) for module, own, found in zip(modules, hashes, places, strict=True)
    )
    return first, second


def _conditionals(module: Module) -> Iterator[tuple[int, int]]:
    for index, computation in enumerate(module.computations):
        for position, it in enumerate(computation.instructions):
            if it.opcode in _CONDITIONALS and len(it.called) > 1 and _starts(it, module.computations) is not None:
                yield index, position


def _branches(it: Instruction, hashes: Sequence[str]) -> Branches:
    return (it.opcode, *(hashes[callee] for callee in it.called))


def _exchanged(olds: Sequence[Branches], news: Sequence[Branches]) -> list[tuple[Branches, Branches]]:
    """What one side has more of, paired where more branches are the same in another order than in their own."""
    holders: dict[str, list[Branches]] = {}
    for branches in news:
        for content in dict.fromkeys(branches[1:]):
            holders.setdefault(content, []).append(branches)
    found: set[tuple[int, Branches, Branches, Branches, Branches]] = set()
    for one in olds:
        for other in (b for content in dict.fromkeys(one[1:]) for b in holders.get(content, ())):
            gain = _in_common(one, other) - sum(a == b for a, b in zip(one, other, strict=False))
            if one[0] == other[0] and len(one) == len(other) and gain > 0:
                found.add((-gain, min(one, other), max(one, other), one, other))
    pairs: list[tuple[Branches, Branches]] = []
    for *_, one, other in sorted(found):
        if {one, other}.isdisjoint(branches for pair in pairs for branches in pair):
            pairs.append((one, other))
    return pairs


def _in_common(one: Branches, other: Branches) -> int:
    left = list(other)
    for content in one:
        if content in left:
            left.remove(content)
    return len(other) - len(left)


def _order(branches: Branches, target: Branches) -> list[int]:
    """For each place of the target the branch that goes there; those it does not know fill up in order."""
    free = list(range(len(branches) - 1))
    order = [-1] * len(free)
    for place, content in enumerate(target[1:]):
        same = next((n for n in free if branches[n + 1] == content), -1)
        if same >= 0:
            free.remove(same)
        order[place] = same
    return [free.pop(0) if n < 0 else n for n in order]


def _starts(it: Instruction, computations: Sequence[Computation]) -> list[int] | None:
    """Where the operands of each branch begin, and the end; None where they are not one for each parameter.

    Compiled branches take one operand each; those of StableHLO, which is never narrowed, what they capture.
    """
    starts = [1]
    for callee in it.called:
        starts.append(starts[-1] + (1 if it.opcode == "conditional" else len(computations[callee].parameters())))
    return starts if starts[-1] == len(it.operands) else None


def _reordered(
    module: Module, hashes: Sequence[str], places: Sequence[tuple[int, int]], orders: dict[Branches, list[int]]
) -> Module:
    computations = list(module.computations)
    for index, position in places:
        it = computations[index].instructions[position]
        order = orders.get(_branches(it, hashes))
        if order is not None:
            inside = list(computations[index].instructions)
            inside[position] = _with_order(it, order, module.computations)
            computations[index] = replace(computations[index], instructions=tuple(inside))
    return replace(module, computations=tuple(computations))


def _with_order(it: Instruction, order: Sequence[int], computations: Sequence[Computation]) -> Instruction:
    starts = _starts(it, computations)
    assert starts is not None
    slots = [0, *(slot for n in order for slot in range(starts[n], starts[n + 1]))]
    called = iter([it.called[n] for n in order])
    said = "{" + ",".join(map(str, order)) + "}"
    return replace(
        it,
        operands=tuple(it.operands[slot] for slot in slots),
        results=tuple(it.results[slot] for slot in slots) if it.results else it.results,
        calls=tuple((name, tuple(next(called) for _ in group)) for name, group in it.calls),
        attributes=(*it.attributes, (ORDER, said)),
    )
