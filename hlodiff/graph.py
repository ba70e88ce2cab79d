"""Programs as networkx graphs: the call graph of a module and the dataflow graph of one computation.

The third view is a table: the neighbours of instructions where calls and fusions are no borders (`inlined_view`).

networkx is imported by the functions that make or walk a graph, not by their files: its import takes a fifth of a
second, and comparing equal programs, counting operations or `--help` needs no graph. Its Weisfeiler-Lehman hash is not
used for fingerprints: on a directed graph it gives a graph and its reverse the same hash, and it loses the order of
operands. The hashes of `hlo.fingerprint` keep both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hlodiff.hlo.model import (
    CALLS,
    CONDITIONALS,
    Computation,
    Instruction,
    Module,
    Place,
    at,
    is_commutative,
    operand_names,
)

if TYPE_CHECKING:
    import networkx as nx


class CallSite(NamedTuple):
    """One call of a computation: the calling instruction, its attribute, and the index in that attribute's list."""

    instruction: int
    attribute: str
    branch: int


def call_graph(module: Module) -> nx.DiGraph[int]:
    """The call graph of a module.

    Args:
        module: any program.

    Returns:
        A DiGraph: one node for each computation, its index, with its `name`; one edge from caller to callee with all
        `sites` of the calls, in program order. Callees are in the order of their first call.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> inner = "f {\\n  x = f32[] parameter(0)\\n  ROOT y = f32[] sine(x)\\n}\\n"
        >>> entry = "ENTRY e {\\n  p = f32[] parameter(0)\\n  ROOT c = f32[] call(p), to_apply=f\\n}"
        >>> list(call_graph(read_hlo("HloModule m\\n" + inner + entry)).edges(data="sites"))
        [(1, 0, [CallSite(instruction=1, attribute='to_apply', branch=0)])]
    """
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph()
    for index, computation in enumerate(module.computations):  # `add_nodes_from` raises and catches for each attribute
        graph.add_node(index, name=computation.name)
    for caller, computation in enumerate(module.computations):
        for callee, sites in calls_by_callee(computation).items():
            graph.add_edge(caller, callee, sites=sites)
    return graph


def calls_by_callee(computation: Computation) -> dict[int, list[CallSite]]:
    """Call sites of one computation by callee, in the order of the first calls."""
    found: dict[int, list[CallSite]] = {}
    for position, it in computation.calling:
        for attribute, group in it.calls:
            for branch, callee in enumerate(group):
                found.setdefault(callee, []).append(CallSite(position, attribute, branch))
    return found


def dataflow(computation: Computation) -> nx.MultiDiGraph[int]:
    """The dataflow graph of one computation.

    Args:
        computation: any computation.

    Returns:
        A MultiDiGraph of this `computation`: one node for each instruction, its position, in printed order; one edge
        from operand to user for each use. Its key is the operand's number, `result` says which of the operand's results
        is used; an operand used twice is one node with two edges. Control edges have negative keys, which count those
        between the same two, and `control` is True.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[] parameter(0)\\n  ROOT a = f32[] add(p, p)\\n}"
        >>> sorted(dataflow(read_hlo(text).entry_computation).edges(keys=True))
        [(0, 1, 0), (0, 1, 1)]
    """
    import networkx as nx

    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph(computation=computation)
    graph.add_nodes_from(range(len(computation.instructions)))
    for position, it in enumerate(computation.instructions):
        add_edges(graph, position, it.reads, it.control_predecessors)
    return graph


def add_edges(
    graph: nx.MultiDiGraph[int], position: int, operands: Iterable[tuple[int, int]], predecessors: Iterable[int]
) -> None:
    """Add the edges of one instruction: from its operands (position, result) and from its control predecessors.

    A predecessor that is listed twice has two edges.
    """
    for number, (operand, result) in enumerate(operands):
        graph.add_edge(operand, position, number, result=result, control=False)
    for before, times in Counter(predecessors).items() if predecessors else ():
        for number in range(times):
            graph.add_edge(before, position, -1 - number, result=0, control=True)


# --- What follows from what.

START = -1
"""A node before the roots of a search that begins at several."""


def nearest_causes(candidates: Sequence[Iterable[int]]) -> list[int | None]:
    """For each edit the cause on a shortest path from a root.

    Args:
        candidates: for each edit those that it may follow from.

    Returns:
        One of the candidates of each edit, None for a root. Roots are the edits without candidates, and the first of
        edits in a cycle that follow only from each other. An edit that follows from both kinds is listed under the
        first kind: which edit of a cycle started it is unknown.

    Example:
        >>> nearest_causes([[1], [], [4], [4], [3]])
        [1, None, 4, None, 3]
    """
    import networkx as nx

    # Edges from a cause to edits that may follow from it; most edits have none.
    graph: nx.DiGraph[int] = nx.DiGraph(
        (cause, index) for index, causes in enumerate(candidates) for cause in causes if cause != index
    )
    rings = nx.condensation(graph)
    sources = [min(rings.nodes[ring]["members"]) for ring, causes in rings.in_degree() if not causes]
    found: list[int | None] = [None] * len(candidates)
    _follow(graph, found, sorted(index for index in sources if not graph.in_degree(index)))
    _follow(graph, found, sorted(index for index in sources if index in graph))
    return found


def _follow(graph: nx.DiGraph[int], found: list[int | None], roots: Sequence[int]) -> None:
    """Assign the nearest cause to everything reached from these roots, and remove both from the graph."""
    import networkx as nx

    graph.add_edges_from((START, root) for root in roots)
    reached = list(nx.bfs_edges(graph, START)) if roots else []
    for cause, follower in reached:
        found[follower] = cause if cause != START else None
    graph.remove_nodes_from([START, *(follower for _, follower in reached)])


# --- A program without borders between its computations.

_HANDING_ON = frozenset(["parameter", "bitcast", "copy-start", "get-tuple-element"])
BORDERS = frozenset(["parameter", "fusion", "call", "while", "conditional", "func.call", "return"])
# They move with all of their contents, and are nodes of the view too.
WITH_CONTENTS = CONDITIONALS | {"fusion", "while"}
_NO_NODES = BORDERS - WITH_CONTENTS


@dataclass(frozen=True, slots=True)
class InlinedView:
    """A module without borders: resolved operands and users of every instruction, and of fusions as a whole."""

    operands: dict[Place, tuple[tuple[Place, int], ...]]
    users: dict[Place, tuple[tuple[Place, int], ...]]


def inlined_view(module: Module, unopened: Container[int], only: Collection[Place] | None = None) -> InlinedView:
    """Neighbours of instructions; computations equal on both sides are unopened and count as one instruction.

    Args:
        module: the program.
        unopened: computations that count as one instruction.
        only: the places whose neighbours are needed; None for all.
    """
    # For each computation called as a step of the program, or by a loop, from a single place, that place.
    sites: dict[int, Place | None] = {}
    for index, computation in enumerate(module.computations):
        for position, it in computation.calling:
            for callee in it.called:
                fits = (_is_step(it) or it.opcode == "while") and callee not in sites and callee not in unopened
                sites[callee] = (index, position) if fits else None
    operands: dict[Place, tuple[tuple[Place, int], ...]] = {}
    users: dict[Place, list[tuple[Place, int]]] = {}
    # A fusion has the users of the value that it resolves to.
    roots = {_resolve(module, sites, place) for place in only or () if at(module, place).opcode in WITH_CONTENTS}
    for index, computation in enumerate(module.computations):
        if index in unopened:
            continue
        instructions = computation.instructions
        itself = [(index, n) if _is_itself(it) else None for n, it in enumerate(instructions)]
        # Instructions whose users are needed: those that are asked for, and those that only pass a value on.
        near = {n for n, place in enumerate(itself) if place is None or only is None or place in only or place in roots}
        for position, it in enumerate(instructions):
            is_asked = only is None or (index, position) in only
            if it.opcode in _NO_NODES or (it.opcode == "fusion" and not is_asked):
                continue
            if not is_asked and near.isdisjoint(it.operands):
                continue
            numbers: Sequence[int] = (0, 0) if is_commutative(it) else range(len(it.operands))
            resolved: list[tuple[Place, int]] = []
            for (operand, result), number in zip(it.reads, numbers, strict=True):
                source = itself[operand] or _resolve(module, sites, (index, operand), result)
                if not result:
                    itself[operand] = source
                resolved.append((source, number))
            if is_asked:
                operands[index, position] = tuple(resolved)
            for place, slot in resolved if it.opcode != "fusion" else ():
                if only is None or place in only or place in roots:
                    users.setdefault(place, []).append(((index, position), slot))
    for place in operands:
        if at(module, place).opcode in WITH_CONTENTS:
            users[place] = users.get(_resolve(module, sites, place), [])
    return InlinedView(operands, {place: tuple(found) for place, found in users.items()})


def _is_step(it: Instruction) -> bool:
    return it.opcode == "fusion" or it.opcode in CALLS or it.opcode.startswith(("custom-call", "async-start"))


def _resolve(module: Module, sites: dict[int, Place | None], place: Place, result: int = 0) -> Place:
    """Resolve a value through borders, see `_behind`; `result` selects one of several results."""
    for _ in range(1000):  # nesting is shallow in real programs; this ends a hostile call cycle
        behind = _behind(module, sites, place)
        if behind is None:
            return place
        place = behind
        it = at(module, place)
        if it.opcode == "return":  # of a StableHLO function
            if result >= len(it.operands):
                return place
            place, result = (place[0], it.operands[result]), it.results[result] if it.results else 0
    return place


def _is_itself(it: Instruction) -> bool:
    """Whether a value resolves to itself, see `_behind`: most do."""
    return not it.calls and it.opcode not in _HANDING_ON and not it.opcode.endswith("-done")


def _behind(module: Module, sites: dict[int, Place | None], place: Place) -> Place | None:
    """One step behind a value: a parameter's operand at the call, a call's callee root, an element's tuple operand."""
    it = at(module, place)
    if _is_itself(it):
        return None
    site = sites.get(place[0])
    if it.opcode == "parameter" and site is not None:
        if at(module, site).opcode == "while":
            return _before_loop(module, site, place, None)
        operands = at(module, site).operands
        number = it.number
        return (site[0], operands[number]) if number < len(operands) else None
    if it.opcode in ("bitcast", "copy-start", "copy-done") or (it.opcode.endswith("-done") and it.operands):
        return place[0], it.operands[0]
    if it.calls and len(it.called) == 1 and _is_step(it) and sites.get(it.called[0]) is not None:
        return it.called[0], module.computations[it.called[0]].root
    if it.opcode == "get-tuple-element" and (it.attribute("index") or "").isdigit():
        source = _resolve(module, sites, (place[0], it.operands[0]))
        made = at(module, source)
        index = int(it.attribute("index") or 0)
        if made.opcode == "parameter" and (loop := sites.get(source[0])) and at(module, loop).opcode == "while":
            return _before_loop(module, loop, source, index)
        return (source[0], made.operands[index]) if made.opcode == "tuple" and index < len(made.operands) else None
    return None


def _before_loop(module: Module, loop: Place, parameter: Place, element: int | None) -> Place | None:
    """What a value in a loop is before the loop, if each turn of it hands the value on as it was; None for others.

    Args:
        module: the program.
        loop: the loop.
        parameter: a parameter of its body or condition.
        element: which element of the parameter, if it is a tuple; None if it is an array.
    """
    it = at(module, loop)
    number = at(module, parameter).number if element is None else element
    if element is None:
        names = operand_names(it, module).get(parameter[0], ())
        place = names[number] if number < len(names) else -1
        is_carried = place < len(it.shape.tuple_shapes or (it.shape,))
    else:
        begin = at(module, (loop[0], it.operands[0]))
        place = begin.operands[number] if begin.opcode == "tuple" and number < len(begin.operands) else -1
        is_carried = True
    if place < 0 or (is_carried and not _is_handed_on(module.computations[it.called[-1]], number, element is None)):
        return None
    return loop[0], place


def _is_handed_on(body: Computation, number: int, is_array: bool) -> bool:
    """Whether the body of a loop returns what it was given under a number."""
    root = body.instructions[body.root]
    if root.opcode not in ("tuple", "return") or number >= len(root.operands):
        return False
    returned = body.instructions[root.operands[number]]
    if is_array:
        return returned.opcode == "parameter" and returned.number == number
    is_element = returned.opcode == "get-tuple-element" and returned.attribute("index") == str(number)
    return is_element and body.instructions[returned.operands[0]].opcode == "parameter"
