"""Module -> networkx graph, and fingerprints.

networkx serves structure, traversal and components. Its Weisfeiler-Lehman hash is not used: on a directed graph it
gives a graph and its reverse the same hash, and it loses operand order. Fingerprints are our own (`ir.content`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx

from hlodiff.ir.content import fingerprint
from hlodiff.ir.model import Computation, Module

if TYPE_CHECKING:
    Graph = nx.MultiDiGraph[Any]

__all__ = ["call_graph", "fingerprint", "to_networkx"]


def to_networkx(computation: Computation) -> Graph:
    """One computation as a graph.

    Args:
        computation: any computation.

    Returns:
        A MultiDiGraph: one node for each instruction, its index, with the `instruction` itself; one edge from operand
        to user for each use with its `position` among the operands and the `result` used; the edges of control
        predecessors hold `control=True`. An operand used twice is one node with two edges.

    Example:
        >>> from hlodiff.ir.hlo_reader import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[] parameter(0)\\n  ROOT a = f32[] add(p, p)\\n}"
        >>> sorted(to_networkx(read_hlo(text).entry_computation).edges(data="position"))
        [(0, 1, 0), (0, 1, 1)]
    """
    graph: Graph = nx.MultiDiGraph()
    for index, it in enumerate(computation.instructions):
        graph.add_node(index, instruction=it, root=index == computation.root)
    for index, it in enumerate(computation.instructions):
        results = it.results or (0,) * len(it.operands)
        for position, (operand, result) in enumerate(zip(it.operands, results, strict=True)):
            graph.add_edge(operand, index, position=position, result=result, control=False)
        for before in it.control_predecessors:
            graph.add_edge(before, index, control=True)
    return graph


def call_graph(module: Module) -> Graph:
    """Which computation calls which: nodes are indices into `module.computations`, one edge for each call site.

    Edges hold the calling `instruction`'s index and the `attribute` it calls through.
    """
    graph: Graph = nx.MultiDiGraph()
    for index, computation in enumerate(module.computations):
        graph.add_node(index, name=computation.name, entry=index == module.entry)
        for position, it in enumerate(computation.instructions):
            for attribute, group in it.calls:
                for callee in group:
                    graph.add_edge(index, callee, instruction=position, attribute=attribute)
    return graph
