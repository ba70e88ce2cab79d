"""Orders and cycles for the readers, printers, hashes and passes, which run before anything is known to differ.

Where programs differ, graphs are networkx graphs (`hlodiff.graph`) and its algorithms walk them. Importing it takes a
fifth of a second, a sixth of a `check` of one unchanged function, so here are the two depth-first orders
that networkx calls `dfs_preorder_nodes` and `dfs_postorder_nodes`. Committed snapshots are printed in postorder, so the
order of successors counts; `graphlib` of the standard library has an order of its own and is used for cycles alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def preorder(starts: Iterable[Node], successors: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """All that can be reached, each node before what it leads to, depth first.

    Example:
        >>> preorder([0], lambda node: [[1, 2], [3], [3], []][node])
        [0, 1, 3, 2]
    """
    found: dict[Node, None] = {}
    stack = [*starts][::-1]
    while stack:
        node = stack.pop()
        if node not in found:
            found[node] = None
            stack.extend([n for n in successors(node) if n not in found][::-1])
    return list(found)


def postorder(
    starts: Iterable[Node], successors: Callable[[Node], Iterable[Node]], before: Iterable[Node] = ()
) -> list[Node]:
    """All that can be reached, each node after what it leads to, depth first; on a cycle this cannot hold for all.

    Args:
        starts: where to begin.
        successors: the nodes that one leads to, in the order in which they are visited.
        before: nodes that stand first and are not followed.

    Example:
        >>> postorder([0], lambda node: [[1, 2], [3], [3], []][node])
        [3, 1, 2, 0]
    """
    done = dict.fromkeys(before)
    opened: set[Node] = set()
    for start in starts:
        stack = [start]
        while stack:
            node = stack[-1]
            if node in done or node in opened:
                done.setdefault(stack.pop())
                continue
            opened.add(node)
            stack.extend(
                [further for further in successors(node) if further not in done and further not in opened][::-1]
            )
    return list(done)


def first_cycle(edges: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The first cycle that depth-first search finds.

    Args:
        edges: for each node the nodes it leads to.

    Returns:
        The nodes of one cycle in order, each once; () where there is none.

    Example:
        >>> first_cycle([[1], [2], [1]]), first_cycle([[1, 1], []])
        ((1, 2), ())
    """
    sorter: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(range(len(edges)), ()))
    for node, further in enumerate(edges):
        for one in further:
            sorter.add(one, node)
    try:
        sorter.prepare()
    except CycleError as error:
        return tuple(error.args[1][:-1])
    return ()
