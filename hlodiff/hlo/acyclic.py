"""Cycle detection: no instruction needs its own result, no computation calls itself."""

from __future__ import annotations

from collections.abc import Sequence

from hlodiff.hlo.model import Computation, Instruction

HINT = "programs of XLA hold no circle: the text was damaged or edited; dump or capture the program again"


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
    done = [False] * len(edges)
    for start in range(len(edges)):
        path = [] if done[start] else [start]
        waiting = [iter(edges[node]) for node in path]
        places = dict.fromkeys(path, 0)
        while path:
            node = next(waiting[-1], None)
            if node is None:
                done[path[-1]] = True
                del places[path.pop()]
                waiting.pop()
            elif node in places:
                return tuple(path[places[node] :])
            elif not done[node]:
                places[node] = len(path)
                path.append(node)
                waiting.append(iter(edges[node]))
    return ()


def operand_cycle(instructions: Sequence[Instruction]) -> tuple[str, int] | None:
    """The error for a cycle of instructions in one computation, and its line; None if it is acyclic."""
    cycle = first_cycle([(*it.operands, *it.control_predecessors) for it in instructions])
    if not cycle:
        return None
    return f"instruction {format_cycle([instructions[n].name for n in cycle], 'needs')}", instructions[cycle[0]].line


def call_cycle(computations: Sequence[Computation]) -> tuple[str, int] | None:
    """The error for a cycle of calls, and the line of one; None if the call graph is acyclic."""
    if not any(calls_later(index, computation) for index, computation in enumerate(computations)):
        return None  # callees come first, as XLA prints them
    cycle = first_cycle([[n for it in computation.instructions for n in it.called] for computation in computations])
    if not cycle:
        return None
    line = next(it.line for it in computations[cycle[0]].instructions if cycle[1 % len(cycle)] in it.called)
    return f"computation {format_cycle([computations[n].name for n in cycle], 'calls')}", line


def calls_later(index: int, computation: Computation) -> bool:
    """Whether a computation calls itself or a later one."""
    return any(n >= index for it in computation.instructions if it.calls for n in it.called)


def format_cycle(names: Sequence[str], verb: str) -> str:
    """A cycle in words.

    Example:
        >>> format_cycle(["a"], "calls"), format_cycle(["a", "b"], "calls")
        ('%a calls itself', '%a calls %b calls %a')
    """
    if len(names) == 1:
        return f"%{names[0]} {verb} itself"
    shown = names if len(names) < 6 else [*names[:2], *names[-2:]]
    gap = "" if len(names) < 6 else f" {verb} {len(names) - 4} others"
    steps = [f"%{name}" + (gap if n == 1 else "") for n, name in enumerate(shown)]
    return f" {verb} ".join([*steps, f"%{names[0]}"])
