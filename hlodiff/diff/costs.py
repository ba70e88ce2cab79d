"""What each edit costs, computed from shapes: operations, bytes read and written, how often it runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hlodiff.diff.edits import Place, RawEdit
from hlodiff.diff.flops import flops_of
from hlodiff.diff.pairs import Correspondence, is_embedded, paired_calls
from hlodiff.diff.result import Cost
from hlodiff.diff.words import memory_space_in_words, platform_of
from hlodiff.ir.model import Instruction, Module, Shape

# They name, take apart or hand on what others wrote.
_FREE = frozenset(
    ["parameter", "tuple", "get-tuple-element", "get_tuple_element", "bitcast", "return", "sdy.return", "while",
     "call", "func.call", "conditional", "case", "if", "constant", "after-all", "optimization-barrier",
     "optimization_barrier", "domain", "partition-id", "replica-id", "sdy.sharding_constraint"]
)  # fmt: skip
# They read of their first operand only as much as they write.
_SLICING = frozenset(["slice", "dynamic-slice", "dynamic_slice", "gather"])
_UPDATING = frozenset(["dynamic-update-slice", "dynamic_update_slice"])
_TRIPS = re.compile(r'"known_trip_count":\{"n":"?(\d+)')
_MOST = 10**15  # sharing may nest: a short file can call one computation 2**60 times
_Node = tuple[str, int, int]


def with_costs(old: Module, new: Module, found: Correspondence, edits: Sequence[RawEdit]) -> None:
    """Say of each edit what its instruction costs on either side, all its runs together.

    Args:
        old, new: the programs as they were paired.
        found: which computations correspond; only those that were opened are looked at.
        edits: single edits of the program channel; their `cost` is set.

    Example:
        >>> with_costs(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0), Correspondence((), {}, {}), [])
    """
    if not edits:
        return
    runs = _runs(old, new, found)
    inside = _fused(old, found, 0), _fused(new, found, 1)
    for edit in edits:
        if edit.old is None and edit.new is None:
            continue
        node = _node(edit)
        times = runs.get(node, edit.count)
        sides = [
            _cost(module, place, times, place[0] in fused) if place else None
            for module, place, fused in zip((old, new), (edit.old, edit.new), inside, strict=True)
        ]
        edit.cost = sides[0], sides[1]


def trips_of(it: Instruction) -> int:
    """How often a loop's body runs each time the loop is reached, 1 where that is not known.

    Example:
        >>> config = ("backend_config", '{"known_trip_count":{"n":"6"}}')
        >>> trips_of(Instruction("w", "while", Shape("tuple"), attributes=(config,)))
        6
    """
    found = _TRIPS.search(it.attribute("backend_config") or "") if it.opcode == "while" else None
    return int(found.group(1)) if found else 1


def _node(edit: RawEdit) -> _Node:
    if edit.kind == "changed" and edit.old and edit.new:
        return "pair", edit.old[0], edit.new[0]
    if edit.new:  # moved ones run as often as where they are now
        return "new", edit.new[0], -1
    assert edit.old is not None
    return "old", edit.old[0], -1


def _cost(module: Module, place: Place, times: int, fused: bool) -> Cost:
    computation = module.computations[place[0]]
    it = computation.instructions[place[1]]
    operands = [computation.instructions[operand].shape for operand in it.operands]
    flops = flops_of(it, operands) * times
    if fused or it.opcode in _FREE or it.opcode.endswith("-done"):
        return Cost(times, flops)
    read = [(shape, size * times) for shape, size in _read(it, operands)]
    written = [(shape, size * times) for shape, size in _written(it, operands)]
    return Cost(
        times, flops, sum(size for _, size in read), sum(size for _, size in written),
        _elsewhere([*read, *written], module),
    )  # fmt: skip


def _read(it: Instruction, operands: Sequence[Shape]) -> list[tuple[Shape, int]]:
    if it.opcode in _SLICING:
        return [(shape, min(it.shape.bytes, shape.bytes)) for shape in operands[:1]]
    if it.opcode in _UPDATING:
        return [(shape, shape.bytes) for shape in operands[1:2]]
    return [(leaf, leaf.bytes) for shape in operands for leaf in shape.leaves()]


def _written(it: Instruction, operands: Sequence[Shape]) -> list[tuple[Shape, int]]:
    if it.opcode in _UPDATING:
        return [(it.shape, shape.bytes) for shape in operands[1:2]]
    leaves = list(it.shape.leaves())
    if it.opcode.endswith("-start") and leaves:  # its tuple names operands and contexts too
        largest = max(leaves, key=lambda leaf: leaf.bytes)
        return [(leaves[0] if it.opcode == "copy-start" else largest, largest.bytes)]
    return [(leaf, leaf.bytes) for leaf in leaves]


def _elsewhere(parts: Iterable[tuple[Shape, int]], module: Module) -> tuple[tuple[str, int], ...]:
    """Bytes in other memories than the device's main one, by memory."""
    found: dict[str, int] = {}
    for shape, size in parts:
        space = shape.layout.memory_space if shape.layout else 0
        if space:
            word = memory_space_in_words(space, platform_of(module))
            found[word] = found.get(word, 0) + size
    return tuple(sorted(found.items()))


def _fused(module: Module, found: Correspondence, which: int) -> dict[int, None]:
    """Computations whose values never reach memory: bodies of fusions, and what is applied to elements."""
    return _bodies(module, _opened(found, which))


def _bodies(module: Module, callers: Iterable[int]) -> dict[int, None]:
    inside: dict[int, None] = {}
    for index in callers:
        for it in module.computations[index].instructions:
            for name, group in it.calls:
                if it.opcode == "fusion" or (is_embedded(it, name) and it.opcode != "func.call"):
                    inside.update(dict.fromkeys(group))
    return inside


def _opened(found: Correspondence, which: int) -> list[int]:
    alone = (found.removed, found.added)[which]
    return list(dict.fromkeys([*((p.old, p.new)[which] for p in found.pairs if p.pairing is not None), *alone]))


def _runs(old: Module, new: Module, found: Correspondence) -> dict[_Node, int]:
    """How often each opened pair, and each computation that only one side has, runs in one call of the program."""
    edges: dict[_Node, list[tuple[_Node, int]]] = {}
    for pair in found.pairs:
        if pair.pairing is not None:
            edges[("pair", pair.old, pair.new)] = _calls(old, new, pair.old, pair.new, pair.pairing.old)
    for name, module, which in (("old", old, 0), ("new", new, 1)):
        for index in _opened(found, which):
            edges[(name, index, -1)] = _own_calls(name, module, index)
    runs: dict[_Node, int] = {("pair", old.entry, new.entry): 1, ("old", old.entry, -1): 1, ("new", new.entry, -1): 1}
    return _times(edges, runs)


def _times(edges: dict[_Node, list[tuple[_Node, int]]], runs: dict[_Node, int]) -> dict[_Node, int]:
    """How often everything runs that is called from what `runs` begins with."""
    for node in _callers_first(edges):
        for callee, times in edges.get(node, ()):
            runs[callee] = min(runs.get(callee, 0) + runs.get(node, 0) * times, _MOST)
    return runs


def _calls(old: Module, new: Module, one: int, other: int, partners: Sequence[int]) -> list[tuple[_Node, int]]:
    found: list[tuple[_Node, int]] = []
    before, after = old.computations[one].instructions, new.computations[other].instructions
    for position, partner in enumerate(partners):
        if partner >= 0 and before[position].calls:
            times = max(trips_of(before[position]), trips_of(after[partner]))
            found += [(("pair", a, b), times) for (a, b), _ in paired_calls(before[position], after[partner])]
    return found


def _own_calls(name: str, module: Module, index: int) -> list[tuple[_Node, int]]:
    return [
        ((name, callee, -1), trips_of(it)) for it in module.computations[index].instructions for callee in it.called
    ]


def _callers_first(edges: dict[_Node, list[tuple[_Node, int]]]) -> list[_Node]:
    waiting: dict[_Node, int] = dict.fromkeys(edges, 0)
    for callees in edges.values():
        for callee, _ in callees:
            waiting[callee] = waiting.get(callee, 0) + 1
    order = [node for node, count in waiting.items() if count == 0]
    for node in order:
        for callee, _ in edges.get(node, ()):
            waiting[callee] -= 1
            if waiting[callee] == 0:
                order.append(callee)
    return order


def added_up(costs: Iterable[Cost | None]) -> Cost | None:
    """The costs of several instructions together; None where there is none.

    Example:
        >>> added_up([Cost(1, 8), None, Cost(2, 16)])
        Cost(runs=3, flops=24, read=0, written=0, elsewhere=(), cycles=None)
    """
    total: Cost | None = None
    for cost in costs:
        total = cost if total is None else total if cost is None else _sum(total, cost)
    return total


def _sum(one: Cost, other: Cost) -> Cost:
    elsewhere = dict(one.elsewhere)
    for name, size in other.elsewhere:
        elsewhere[name] = elsewhere.get(name, 0) + size
    cycles = None if one.cycles is None and other.cycles is None else (one.cycles or 0) + (other.cycles or 0)
    return replace(
        one, runs=one.runs + other.runs, flops=one.flops + other.flops, read=one.read + other.read,
        written=one.written + other.written, elsewhere=tuple(sorted(elsewhere.items())), cycles=cycles,
    )  # fmt: skip


def program_cost(module: Module) -> Cost:
    """What a whole program costs in one call; `runs` are all runs of all its instructions.

    Args:
        module: a program of either stage.

    Returns:
        the sum over its instructions; loops count as often as XLA knows that they turn.

    Example:
        >>> from hlodiff.ir.hlo_reader import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> program_cost(read_hlo(text))
        Cost(runs=2, flops=0, read=8, written=8, elsewhere=(), cycles=None)
    """
    everything = range(len(module.computations))
    edges = {("new", index, -1): _own_calls("new", module, index) for index in everything}
    runs = _times(edges, {("new", module.entry, -1): 1})
    inside = _bodies(module, everything)
    costs = [
        _cost(module, (index, position), times, index in inside)
        for index in everything
        if (times := runs.get(("new", index, -1), 0))
        for position in range(len(module.computations[index].instructions))
    ]
    return added_up(costs) or Cost(0, 0)
