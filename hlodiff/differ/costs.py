"""Roofline quantities of each edit: the cost of its instruction times its runs in one call.

How often a computation runs is summed over its callers in topological order of the call graph, loops by their trip
counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, TypeVar

from hlodiff.differ.computation_matches import ComputationMatch, ProgramMatch, matched_calls
from hlodiff.differ.edits import RawEdit
from hlodiff.differ.instruction_costs import (
    FUSIONS,
    applied_bodies,
    fused_bodies,
    instruction_bytes,
    instruction_flops,
    is_launched,
    traffic,
)
from hlodiff.differ.loops import (
    TripCount,
    UncountedLoop,
    condition_runs,
    scan_length,
    stated_trip_count,
    uncounted_loop,
)
from hlodiff.differ.placement import format_memory_space, platform_of
from hlodiff.differ.result import Cost
from hlodiff.graph import CallSite, call_graph
from hlodiff.hlo.collectives import collectives
from hlodiff.hlo.model import CALLS, CONDITIONALS, Instruction, Module, Place, at, is_embedded
from hlodiff.hlo.parser import LazyComputations
from hlodiff.hlo.traversal import postorder

if TYPE_CHECKING:
    import networkx as nx

    from hlodiff.differ.loop_solver import LoopSolver

_MOST = 10**15  # sharing can nest: a short file can call one computation 2**60 times


class LoopTurns:
    """Trip counts of a program's loops; computed on demand where XLA does not state them.

    Args:
        whole: the whole program, because a pruned one may lack what determines its trip counts.
    """

    def __init__(self, whole: Module) -> None:
        self._whole = whole

    @cached_property
    def _solver(self) -> LoopSolver:
        from hlodiff.differ.loop_solver import LoopSolver

        return LoopSolver(self._whole)

    @cached_property
    def _indices(self) -> dict[str, int]:
        computations = self._whole.computations
        if isinstance(computations, LazyComputations):
            return {span.name: index for index, span in enumerate(computations.spans)}
        return {computation.name: index for index, computation in enumerate(computations)}

    def in_one_run(self, module: Module, index: int, it: Instruction, called: str) -> TripCount | UncountedLoop:
        """How often one run of an instruction runs a callee; the loop itself if data may end it at once.

        Args:
            module: the program, or what pruning left of it.
            index: of the computation with the instruction.
            it: the instruction.
            called: the attribute it is called by: the condition of a loop runs as often as `condition_runs` says.
        """
        if it.opcode != "while":
            length = scan_length(it, module.computations[index])
            return _ONE_CALL if length is None else TripCount(length, length)
        stated = stated_trip_count(it)
        bounds = None if stated is None else (stated, stated)
        if bounds is None:
            # The place of the loop in the whole program; a pruned program has different indices.
            owner = self._indices.get(module.computations[index].name)
            instructions = self._whole.computations[owner].instructions if owner is not None else ()
            position = next(
                (n for n, one in enumerate(instructions) if (one.opcode, one.name) == ("while", it.name)), None
            )
            if owner is None or position is None:
                return UncountedLoop("", it.name)
            bounds = self._solver.bounds(owner, position)
            if bounds is None or bounds[0] > bounds[1] == 0:
                return uncounted_loop(self._whole, (owner, position))
        most, least = (condition_runs(it, n) if called in ("condition", "cond") else n for n in bounds)
        return TripCount(most, least)


_ONE_CALL = TripCount(1, 1)


def with_costs(
    old: Module, new: Module, found: ProgramMatch, edits: Sequence[RawEdit], whole: tuple[Module, Module]
) -> None:
    """Set the cost of each edit: its instruction on either side, all runs together.

    Args:
        old, new: the programs as they were paired.
        found: which computations correspond; only opened ones are used.
        edits: single edits of the program channel; their `cost` is set.
        whole: both programs as they were read, including pruned computations.

    Example:
        >>> empty = Module("m", "compiled", (), 0)
        >>> with_costs(empty, empty, ProgramMatch((), {}, {}), [], (empty, empty))
    """
    if not edits:
        return
    for side, module in enumerate((old, new)):
        sited = [(edit, place) for edit in edits if (place := (edit.old, edit.new)[side])]
        if sited:
            moved = {place for edit, place in sited if edit.kind == "moved"}
            turns, of_one_side = LoopTurns(whole[side]), (found.removed, found.added)[side]
            runs = _EditRuns((old, new), found, side, turns, moved)
            nodes = [runs.node(edit, place[0]) for edit, place in sited]
            known = runs.of(list(dict.fromkeys(nodes)))
            opened = [(pair.old, pair.new)[side] for pair in found.pairs if pair.pairing is not None]
            opened += of_one_side
            inside, applied = fused_bodies(module, list(dict.fromkeys(opened))), applied_bodies(module)
            alone = {place for edit, place in sited if edit.kind == ("removed", "added")[side]}
            calls = _FunctionCalls(module, turns, alone, {place for _, place in sited}, of_one_side)
            carried = {
                (one.computation, one.instruction): one
                for one in (collectives(module) if module.stage == "compiled" else ())
            }
            for (edit, place), node in zip(sited, nodes, strict=True):
                times = known.get(node) or _Runs(edit.count)
                if place in alone and place[0] in calls.inside:
                    cost = _of_runs(times)  # in the cost of the calls
                elif place in alone and calls.callee(place) is not None:
                    cost = calls.cost(place, times)
                else:
                    cost = _cost(module, place, times, place[0] in inside, place[0] in applied)
                    if edit.kind == "moved" and at(module, place).opcode in FUSIONS:  # all that it does moves along
                        cost = replace(cost, flops=times.times * flops_inside(module, place))
                if one := carried.get(place):
                    cost = replace(cost, collective=one.bytes * times.times, family=one.family)
                edit.cost = (cost, edit.cost[1]) if side == 0 else (edit.cost[0], cost)
    _set_costs_of_users((old, new), found, edits)


def _set_costs_of_users(modules: tuple[Module, Module], found: ProgramMatch, edits: Sequence[RawEdit]) -> None:
    """Set the cost of unedited instructions that depends on the shape of an edited operand, with the first of these."""
    pairs = {(pair.old, pair.new): pair for pair in found.pairs}
    known = {(edit.pair, edit.new) for edit in edits}
    for edit in edits:
        pair = pairs.get(edit.pair) if edit.pair else None
        is_resized = any(change.field == "shape" for change in edit.changes)
        if pair is None or pair.pairing is None or edit.new is None or not is_resized:
            continue
        index, position = edit.new
        for user in modules[1].computations[index].users[position]:
            places = (pair.old, pair.pairing.new[user]), (index, user)
            if places[0][1] >= 0 and (edit.pair, places[1]) not in known:
                known.add((edit.pair, places[1]))
                flops = [instruction_flops(*one) for one in zip(modules, places, strict=True)]
                if flops[0] != flops[1]:
                    both = [
                        Cost(cost.runs, n * cost.runs, loops=cost.loops, is_partly_in_loops=cost.is_partly_in_loops)
                        for n, cost in zip(flops, edit.cost, strict=True)
                        if cost
                    ]
                    costs = [added_up(one) for one in zip(edit.users_cost, both, strict=True)]
                    edit.users_cost = costs[0], costs[1]


@dataclass(frozen=True, slots=True)
class _Runs:
    """How often something runs, counting one iteration of each of these loops, and whether also outside of them.

    Every branch of a conditional is counted, and all turns of a loop that turns 6 or 7 times: `is_in_branches` and
    `is_at_most` say that one call may run it less often.
    """

    times: int
    loops: tuple[UncountedLoop, ...] = ()
    is_partly: bool = False
    is_in_branches: bool = False
    is_at_most: bool = False


_ONCE = _Runs(1)


@lru_cache  # most instructions of a fusion run as often, and have no floating-point operations of their own
def _of_runs(runs: _Runs, flops: int = 0) -> Cost:
    return Cost(
        runs.times, flops, loops=runs.loops, is_partly_in_loops=runs.is_partly, is_in_branches=runs.is_in_branches,
        is_at_most=runs.is_at_most,
    )  # fmt: skip


def _cost(module: Module, place: Place, runs: _Runs, fused: bool, counted: bool = False) -> Cost:
    """The cost of all runs of an instruction; one applied to elements is `counted` where it is applied."""
    it, times = module.computations[place[0]].instructions[place[1]], runs.times
    flops = 0 if counted else instruction_flops(module, place) * times
    if fused or not is_launched(it):
        return _of_runs(runs, flops)
    read, written = traffic(module, place)
    elsewhere: dict[str, int] = {}  # in memories other than the device's main one
    for shape, size in [*read, *written]:
        if shape.memory_space:
            word = format_memory_space(shape.memory_space, platform_of(module))
            elsewhere[word] = elsewhere.get(word, 0) + size * times
    taken, given = (sum([size for _, size in some]) * times for some in (read, written))
    # Not `replace`, which takes three times as long.
    return Cost(
        times, flops, taken, given, tuple(sorted(elsewhere.items())), loops=runs.loops,
        is_partly_in_loops=runs.is_partly, is_in_branches=runs.is_in_branches, is_at_most=runs.is_at_most,
    )  # fmt: skip


def flops_inside(module: Module, place: Place) -> int:
    """Floating-point operations of one run of a fusion, with those of the fusions in it.

    Args:
        module: a compiled program.
        place: of the fusion.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> body = "%b {\\n  p = f32[8] parameter(0)\\n  ROOT s = f32[8] add(p, p)\\n}\\n"
        >>> main = "ENTRY e {\\n  x = f32[8] parameter(0)\\n  ROOT f = f32[8] fusion(x), kind=kLoop, calls=%b\\n}"
        >>> flops_inside(read_hlo(f"HloModule m\\n{body}{main}"), (1, 1))
        8
    """

    def called(n: int) -> list[int]:
        return [one for _, it in module.computations[n].calling if it.opcode in _HOLDING for one in it.called]

    found: dict[int, int] = {}
    for n in postorder(at(module, place).called, called):
        own = sum(instruction_flops(module, (n, k)) for k in range(len(module.computations[n].instructions)))
        found[n] = min(own + sum(found.get(one, 0) for one in called(n)), _MOST)
    return sum(found[n] for n in at(module, place).called)


_HOLDING = FUSIONS | CALLS


_Node = tuple[int, int]  # a pair of computations by index; -1 for the side that has none


class _EditRuns:
    """How often the edits of one side run in one call of its program.

    A computation that several fusions share may be matched for some of its call sites and added or removed with others:
    an edit runs as often as those call sites. A function or a reducer is one, however many call it. The callees of a
    moved call moved along.
    """

    def __init__(
        self, modules: tuple[Module, Module], found: ProgramMatch, side: int, turns: LoopTurns, moved: Container[Place]
    ) -> None:
        self._modules, self._found, self._side, self._turns, self._moved = modules, found, side, turns, moved
        self._module = modules[side]
        self._pairs: dict[int, list[ComputationMatch]] = {}
        for pair in found.pairs:
            self._pairs.setdefault((pair.old, pair.new)[side], []).append(pair)

    def node(self, edit: RawEdit, computation: int) -> _Node:
        """Where an edit counts: in a pair of computations, or with the computation as a whole."""
        if edit.pair is not None:
            return edit.pair
        whole = self._whole(computation)
        alone = (self._found.removed, self._found.added)[self._side]
        known = self._pairs.get(computation, [])
        pairs = [pair for pair in known if pair.pairing is not None]
        if not pairs and edit.kind == "changed":  # another channel in equal computations, which nobody opened
            pairs = [
                pair for pair in known if edit.old and edit.new and (pair.old, pair.new) == (edit.old[0], edit.new[0])
            ]
        if not pairs or (edit.kind in ("added", "removed") and computation in alone):
            return whole
        if alone.get(computation) == edit.count and all(pair.count != edit.count for pair in pairs):
            return whole
        best = next((pair for pair in pairs if pair.count == edit.count), pairs[0])
        return best.old, best.new

    def of(self, nodes: Sequence[_Node]) -> dict[_Node, _Runs]:
        """How often each node runs."""
        import networkx as nx

        # Calls in opened pairs and in one-sided computations: caller, its index, call, pairs that it leads to.
        side = self._side
        sites: list[tuple[_Node, int, Instruction, list[_Node]]] = []
        for pair in self._found.pairs:
            if pair.pairing is None:
                continue
            index, other = (pair.old, pair.new)[side], (pair.new, pair.old)[side]
            theirs = self._modules[1 - side].computations[other].instructions
            mapping = (pair.pairing.old, pair.pairing.new)[side]
            for n, it in self._module.computations[index].calling:
                matched = mapping[n]
                if (index, n) not in self._moved:
                    both = (it, theirs[matched]) if side == 0 else (theirs[matched], it)
                    shared = [key for key, _ in matched_calls(*both)] if matched >= 0 else []
                    sites.append(((pair.old, pair.new), index, it, shared))
        for index in (self._found.removed, self._found.added)[side]:
            for n, it in self._module.computations[index].calling:
                if (index, n) not in self._moved:
                    sites.append((self._whole(index), index, it, []))
        calls: nx.DiGraph[_Node] = nx.DiGraph()
        for caller, index, it, left in sites:
            for name, callee in ((name, callee) for name, group in it.calls for callee in group):
                key = next((key for key in left if key[side] == callee), None)
                if key is not None:
                    left.remove(key)
                node = key if key is not None else self._whole(callee)
                if not calls.has_edge(caller, node):
                    calls.add_edge(caller, node, sites=[], embedded=False)
                edge = calls.adj[caller][node]
                edge["sites"].append((index, it, name))
                edge["embedded"] |= is_embedded(it, name)
        calls.add_nodes_from(nodes)
        entry = self._modules[0].entry, self._modules[1].entry
        found = _summed(calls, entry, nodes, partial(self._turns.in_one_run, self._module))
        embedded = {callee for _, callee, edge in calls.edges(data=True) if edge["embedded"]}
        # A function of which some calls now call another one runs as often as those calls.
        once = [node for node in dict.fromkeys(nodes) if node in embedded and len(self._pairs.get(node[side], ())) < 2]
        if once:
            everything = _runs(self._module, self._turns, [node[side] for node in once])
            found |= {node: everything[node[side]] for node in once if node[side] in everything}
        return found

    def _whole(self, index: int) -> _Node:
        return (index, -1) if self._side == 0 else (-1, index)


class _FunctionCalls:
    """The costs of StableHLO calls that only one side has: of all that their functions do.

    A function is one computation, however many lines call it, and may still have other calls on the other side. What
    only one call brings keeps its own cost.

    Args:
        module, turns: of that side.
        alone: the instructions that only this side has.
        edited: all edited instructions.
        of_one_side: the computations that only this side has.
    """

    def __init__(
        self,
        module: Module,
        turns: LoopTurns,
        alone: Collection[Place],
        edited: Collection[Place],
        of_one_side: Container[int],
    ) -> None:
        import networkx as nx

        self._module, self._turns = module, turns
        called = Counter(callee for place in alone if (callee := self.callee(place)) is not None)
        self.inside: set[int] = set()
        """Functions that several calls brought, and what they call: these calls have the cost."""
        if called:
            several = [callee for callee, count in called.items() if count > 1]
            whole = call_graph(module)
            apart = {place for place in edited if place not in alone or place[0] not in of_one_side}
            calls = _call_sites(module, whole, apart)
            below = several + [callee for layer in nx.bfs_layers(calls, several) for callee in layer] if several else []
            self.inside = {callee for callee in below if callee in of_one_side}
            self._apart = {place for place in edited if place not in alone or place[0] not in self.inside}
            self._graph, self._applied = _call_sites(module, whole, self._apart), applied_bodies(module)

    def callee(self, place: Place) -> int | None:
        """The function that an instruction calls."""
        it = at(self._module, place)
        return it.called[0] if it.opcode in CALLS and self._module.stage == "stablehlo" else None

    def cost(self, place: Place, times: _Runs) -> Cost:
        """Of all runs of a call."""
        import networkx as nx

        (callee,) = at(self._module, place).called
        below = [callee, *nx.descendants(self._graph, callee)]
        ran = _summed(self._graph, callee, below, partial(self._turns.in_one_run, self._module), times)
        costs = [
            _cost(self._module, (index, n), ran[index], False, index in self._applied)
            for index in below
            for n in range(len(self._module.computations[index].instructions))
            if (index, n) not in self._apart
        ]
        return replace(added_up(costs) or Cost(0, 0), runs=times.times)


def _call_sites(module: Module, whole: nx.DiGraph[int], apart: Container[Place] = ()) -> nx.DiGraph[int]:
    """The call graph of a module for `_summed`, without the calls of some instructions."""
    import networkx as nx

    calls: nx.DiGraph[int] = nx.DiGraph()
    calls.add_nodes_from(range(len(module.computations)))
    for caller, callee, edge in whole.edges(data=True):
        sites: Sequence[CallSite] = edge["sites"]
        instructions = module.computations[caller].instructions
        left = [site for site in sites if (caller, site.instruction) not in apart]
        if left:
            calls.add_edge(
                caller, callee, sites=[(caller, instructions[site.instruction], site.attribute) for site in left]
            )
    return calls


def _runs(module: Module, turns: LoopTurns, wanted: Iterable[int]) -> dict[int, _Runs]:
    """How often computations run in one call of the program, over all callers."""
    return _summed(_call_sites(module, call_graph(module)), module.entry, wanted, partial(turns.in_one_run, module))


_Any = TypeVar("_Any", bound=Hashable)


def _summed(
    calls: nx.DiGraph[_Any],
    entry: _Any,
    wanted: Iterable[_Any],
    turns: Callable[[int, Instruction, str], TripCount | UncountedLoop],
    of_entry: _Runs = _ONCE,
) -> dict[_Any, _Runs]:
    """How often nodes of a call graph run, callers first.

    Args:
        calls: edges with `sites`, each the index of a computation, the calling instruction, and the attribute.
        entry: of the program.
        wanted: the nodes of interest. Only the trip counts of loops around them are needed: where XLA does not state
            one, the whole program is read.
        turns: how often a call site calls.
        of_entry: how often the entry runs.
    """
    import networkx as nx

    asked, callers_first = set(wanted), list(nx.topological_sort(calls))
    for node in reversed(callers_first):
        if not asked.isdisjoint(calls.adj[node]):
            asked.add(node)
    runs = {entry: of_entry}
    for caller in callers_first:
        outer = runs.get(caller)
        for callee, edge in calls.adj[caller].items() if outer is not None else ():
            if callee in asked and outer is not None:
                known = runs.get(callee, _Runs(0))
                found = [turns(*site) for site in edge["sites"]]
                times = sum(1 if isinstance(one, UncountedLoop) else one.turns for one in found)
                loops = dict.fromkeys([*known.loops, *outer.loops])
                loops |= {one: None for one in found if isinstance(one, UncountedLoop)}
                inside = {bool(outer.loops) or isinstance(one, UncountedLoop) for one in found}
                inside |= {bool(known.loops)} if known.times else set()
                is_partly = known.is_partly or outer.is_partly or len(inside) > 1
                is_in_branches = any(it.opcode in CONDITIONALS for _, it, _ in edge["sites"])
                is_in_branches |= known.is_in_branches or outer.is_in_branches
                is_at_most = known.is_at_most or outer.is_at_most
                is_at_most |= any(isinstance(one, TripCount) and not one.exact for one in found)
                times = min(known.times + outer.times * times, _MOST)
                runs[callee] = _Runs(times, tuple(loops), is_partly, is_in_branches, is_at_most)
    return runs


def added_up(costs: Iterable[Cost | None]) -> Cost | None:
    """The sum of several costs; None if there are none.

    Example:
        >>> total = added_up([Cost(1, 8), None, Cost(2, 16)])
        >>> (total.runs, total.flops) if total else None
        (3, 24)
    """
    known = [cost for cost in costs if cost is not None]
    if len(known) < 2:
        return known[0] if known else None
    elsewhere: dict[str, int] = {}
    for cost in known:
        for name, size in cost.elsewhere:
            elsewhere[name] = elsewhere.get(name, 0) + size
    cycles = [cost.cycles for cost in known if cost.cycles is not None]
    loops = tuple(dict.fromkeys(loop for cost in known for loop in cost.loops))
    return Cost(
        sum([cost.runs for cost in known]),
        sum([cost.flops for cost in known]),
        sum([cost.read for cost in known]),
        sum([cost.written for cost in known]),
        tuple(sorted(elsewhere.items())),
        sum(cycles) if cycles else None,
        sum([cost.collective for cost in known]),
        loops,
        any(cost.is_partly_in_loops or len(cost.loops) != len(loops) for cost in known),
        any(cost.is_in_branches for cost in known),
        known[0].family if len({cost.family for cost in known}) == 1 else "",
        any(cost.is_at_most for cost in known),
    )


def program_bytes(module: Module) -> tuple[int, int]:
    """Bytes that a whole program reads and writes in one call, with one iteration of loops with unknown trip count.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> program_bytes(read_hlo(text))
        (8, 8)
    """
    inside = fused_bodies(module)
    stored = [index for index in range(len(module.computations)) if index not in inside]
    read = written = 0
    for index, times in computation_runs(module, stored).items() if stored else ():
        for position, it in enumerate(module.computations[index].instructions if index not in inside else ()):
            if is_launched(it):
                sizes = instruction_bytes(module, (index, position))
                read, written = read + times * sizes[0], written + times * sizes[1]
    return read, written


def computation_runs(module: Module, wanted: Iterable[int]) -> dict[int, int]:
    """How often computations run in one call of the program, with one turn of each loop that data ends, as in a `Cost`.

    Args:
        module: a program of either stage.
        wanted: indices of computations.

    Returns:
        times by index, of the wanted computations that run and of those that they are called from.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> computation_runs(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}"), [0])
        {0: 1}
    """
    return {index: runs.times for index, runs in _runs(module, LoopTurns(module), wanted).items()}
