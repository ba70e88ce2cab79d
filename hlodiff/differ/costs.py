"""The roofline quantities of each edit: what its instruction costs, as often as it runs in one call.

How often a computation runs is summed over its callers in topological order of the call graph, loops by their turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hlodiff.differ.computation_matches import ComputationMatch, Place, ProgramMatch, is_embedded, matched_calls
from hlodiff.differ.edits import RawEdit
from hlodiff.differ.instruction_costs import FUSIONS, instruction_flops, is_launched, traffic
from hlodiff.differ.placement import format_memory_space, platform_of
from hlodiff.differ.result import Cost
from hlodiff.differ.trip_counts import trip_counts
from hlodiff.graph import call_sites
from hlodiff.hlo.grammar import KNOWN_TRIP_COUNT
from hlodiff.hlo.model import Instruction, Module, Shape

if TYPE_CHECKING:
    import networkx as nx

_APPLYING = frozenset(
    ["reduce", "reduce-window", "reduce_window", "scatter", "select-and-scatter", "select_and_scatter", "sort", "map",
     "all-reduce", "all_reduce", "reduce-scatter", "reduce_scatter"]
)  # fmt: skip
_MOST = 10**15  # sharing may nest: a short file can call one computation 2**60 times
_Node = tuple[str, int, int]


LoopTurns = Mapping[tuple[str, str], int]
"""How often loops turn whose trip count is known, by the names of computation and loop."""
Turns = tuple[LoopTurns, LoopTurns]


def turns_by_name(module: Module) -> dict[tuple[str, str], int]:
    """How often each loop turns, by the names of its computation and its own; one that may end sooner has no entry.

    Compiled programs state their trip counts, but for those of TPUs, whose loops count as one turn in the costs of
    edits: pruning may have left out what says how often they turn.
    """
    found: dict[tuple[str, str], int] = {}
    if module.stage == "compiled":
        return found
    for (index, position), known in trip_counts(module).items():
        if known.exact:
            computation = module.computations[index]
            found[computation.name, computation.instructions[position].name] = known.turns
    return found


def with_costs(old: Module, new: Module, found: ProgramMatch, edits: Sequence[RawEdit]) -> None:
    """Say of each edit what its instruction costs on either side, all its runs together.

    Args:
        old, new: the programs as they were paired.
        found: which computations correspond; only those that were opened are looked at.
        edits: single edits of the program channel; their `cost` is set.

    Example:
        >>> with_costs(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0), ProgramMatch((), {}, {}), [])
    """
    if not edits:
        return
    runs = _runs(old, new, found, (turns_by_name(old), turns_by_name(new)))
    inside = _fused(old, found, 0), _fused(new, found, 1)
    applied = applied_bodies(old), applied_bodies(new)
    for edit in edits:
        if edit.old is None and edit.new is None:
            continue
        node = _node(edit)
        times = runs.get(node, edit.count)
        sides = [
            _cost(module, place, times, place[0] in fused, place[0] in counted) if place else None
            for module, place, fused, counted in zip((old, new), (edit.old, edit.new), inside, applied, strict=True)
        ]
        edit.cost = sides[0], sides[1]


def trips_of(it: Instruction, owner: str, turns: LoopTurns) -> int:
    """How often a loop's body runs each time the loop is reached, 1 where that is not known.

    Example:
        >>> config = ("backend_config", '{"known_trip_count":{"n":"6"}}')
        >>> trips_of(Instruction("w", "while", Shape("tuple"), attributes=(config,)), "main", {})
        6
    """
    if it.opcode != "while":
        return 1
    found = KNOWN_TRIP_COUNT.search(it.attribute("backend_config") or "")
    return int(found.group(1)) if found else turns.get((owner, it.name), 1)


def _node(edit: RawEdit) -> _Node:
    if edit.kind == "changed" and edit.old and edit.new:
        return "pair", edit.old[0], edit.new[0]
    if edit.new:  # moved ones run as often as where they are now
        return "new", edit.new[0], -1
    assert edit.old is not None
    return "old", edit.old[0], -1


def _cost(module: Module, place: Place, times: int, fused: bool, counted: bool = False) -> Cost:
    """What all runs of an instruction cost; one that is applied to elements is `counted` where it is applied."""
    it = module.computations[place[0]].instructions[place[1]]
    flops = 0 if counted else instruction_flops(module, place) * times
    if fused or not is_launched(it):
        return Cost(times, flops)
    read, written = traffic(module, place)
    read, written = [(shape, size * times) for shape, size in read], [(shape, size * times) for shape, size in written]
    return Cost(
        times, flops, sum(size for _, size in read), sum(size for _, size in written),
        _elsewhere([*read, *written], module),
    )  # fmt: skip


def _elsewhere(parts: Iterable[tuple[Shape, int]], module: Module) -> tuple[tuple[str, int], ...]:
    """Bytes in other memories than the device's main one, by memory."""
    found: dict[str, int] = {}
    for shape, size in parts:
        space = shape.layout.memory_space if shape.layout else 0
        if space:
            word = format_memory_space(space, platform_of(module))
            found[word] = found.get(word, 0) + size
    return tuple(sorted(found.items()))


def fused_bodies(module: Module) -> Mapping[int, None]:
    """Computations whose values never reach memory: bodies of fusions, and what is applied to elements."""
    return _bodies(module, range(len(module.computations)))


def _fused(module: Module, found: ProgramMatch, which: int) -> dict[int, None]:
    return _bodies(module, _opened(found, which))


def _bodies(module: Module, callers: Iterable[int]) -> dict[int, None]:
    inside: dict[int, None] = {}
    for index in callers:
        for it in module.computations[index].instructions:
            for name, group in it.calls:
                if it.opcode in FUSIONS or (is_embedded(it, name) and it.opcode != "func.call"):
                    inside.update(dict.fromkeys(group))
    return inside


def is_applied(it: Instruction, attribute: str) -> bool:
    """Whether what an instruction calls is applied to elements: a reducer, a comparator, an update.

    Example:
        >>> is_applied(Instruction("r", "reduce", Shape("f32")), "to_apply")
        True
    """
    return it.opcode.removesuffix("-start") in _APPLYING or (attribute == "to_apply" and it.opcode != "call")


def applied_bodies(module: Module) -> set[int]:
    """Computations that are applied to elements: the instruction that applies them counts for them."""
    return {
        callee
        for computation in module.computations
        for it in computation.instructions
        for name, group in it.calls
        if is_applied(it, name)
        for callee in group
    }


def _opened(found: ProgramMatch, which: int) -> list[int]:
    alone = (found.removed, found.added)[which]
    return list(dict.fromkeys([*((p.old, p.new)[which] for p in found.pairs if p.pairing is not None), *alone]))


def _runs(old: Module, new: Module, found: ProgramMatch, turns: Turns) -> dict[_Node, int]:
    """How often each opened pair, and each computation that only one side has, runs in one call of the program."""
    import networkx as nx

    calls: nx.DiGraph[_Node] = nx.DiGraph()
    for pair in found.pairs:
        if pair.pairing is not None:
            _add_calls(calls, ("pair", pair.old, pair.new), _calls(old, new, pair, pair.pairing.old, turns))
    for name, module, which in (("old", old, 0), ("new", new, 1)):
        for index in _opened(found, which):
            _add_calls(calls, (name, index, -1), _own_calls(name, module, index, turns[which]))
    return _times(calls, [("pair", old.entry, new.entry), ("old", old.entry, -1), ("new", new.entry, -1)])


def _add_calls(graph: nx.DiGraph[_Node], caller: _Node, calls: Iterable[tuple[_Node, int]]) -> None:
    for callee, times in calls:
        known = graph.edges[caller, callee]["times"] if graph.has_edge(caller, callee) else 0
        graph.add_edge(caller, callee, times=known + times)


def _times(calls: nx.DiGraph[_Node], entries: Iterable[_Node]) -> dict[_Node, int]:
    """How often everything runs that is called from the entries, each of which runs once."""
    import networkx as nx

    runs = dict.fromkeys(entries, 1)
    for node in nx.topological_sort(calls):
        for callee, edge in calls.adj[node].items():
            runs[callee] = min(runs.get(callee, 0) + runs.get(node, 0) * edge["times"], _MOST)
    return runs


def _calls(
    old: Module, new: Module, pair: ComputationMatch, partners: Sequence[int], turns: Turns
) -> list[tuple[_Node, int]]:
    found: list[tuple[_Node, int]] = []
    before, after = old.computations[pair.old].instructions, new.computations[pair.new].instructions
    for position, partner in enumerate(partners):
        if partner >= 0 and before[position].calls:
            times = max(
                trips_of(before[position], old.computations[pair.old].name, turns[0]),
                trips_of(after[partner], new.computations[pair.new].name, turns[1]),
            )
            found += [(("pair", a, b), times) for (a, b), _ in matched_calls(before[position], after[partner])]
    return found


def _own_calls(name: str, module: Module, index: int, turns: LoopTurns) -> list[tuple[_Node, int]]:
    computation = module.computations[index]
    return [
        (
            (name, callee, -1),
            sum(trips_of(computation.instructions[site.instruction], computation.name, turns) for site in sites),
        )
        for callee, sites in call_sites(computation).items()
    ]


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
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> program_cost(read_hlo(text))
        Cost(runs=2, flops=0, read=8, written=8, elsewhere=(), cycles=None)
    """
    import networkx as nx

    everything = range(len(module.computations))
    calls: nx.DiGraph[_Node] = nx.DiGraph()
    turns = turns_by_name(module)
    for index in everything:
        _add_calls(calls, ("new", index, -1), _own_calls("new", module, index, turns))
    runs = _times(calls, [("new", module.entry, -1)])
    inside = _bodies(module, everything)
    costs = [
        _cost(module, (index, position), times, index in inside)
        for index in everything
        if (times := runs.get(("new", index, -1), 0))
        for position in range(len(module.computations[index].instructions))
    ]
    return added_up(costs) or Cost(0, 0)
