"""Programs as networkx graphs: the call graph of a module and the dataflow graph of one computation.

networkx is imported by the functions that make or walk a graph, not by their files: its import takes a fifth of a
second, and comparing equal programs, counting operations or `--help` needs no graph. Its Weisfeiler-Lehman hash is not
used for fingerprints: on a directed graph it gives a graph and its reverse the same hash, and it loses the order of
operands. The hashes of `hlo.fingerprint` keep both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from hlodiff.hlo.model import Computation, Module

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
