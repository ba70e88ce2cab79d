"""Orders, cycles and call sites for readers, printers, hashes and passes, which run before programs are compared.

The differ uses networkx graphs (`hlodiff.graph`) and algorithms. Importing networkx takes a fifth of a second, a sixth
of a `check` of one unchanged function, so this file has the two depth-first orders that networkx calls
`dfs_preorder_nodes` and `dfs_postorder_nodes`. Committed snapshots are printed in postorder, so the order of successors
matters; the standard library's `graphlib` has an order of its own and is used only to find cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from hlodiff.hlo.model import CONDITIONALS, Computation, Instruction, Module, computation_kind

Node = TypeVar("Node", bound=Hashable)


def preorder(starts: Iterable[Node], successors: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """All reachable nodes, each before its successors, depth first.

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
    """All reachable nodes, each after its successors, depth first; impossible for every node of a cycle.

    Args:
        starts: where to begin.
        successors: the successors of a node in visiting order.
        before: nodes that come first and are not followed.

    Example:
        >>> postorder([0], lambda node: [[1, 2], [3], [3], []][node])
        [3, 1, 2, 0]
    """
    done = dict.fromkeys(before)
    opened: set[Node] = set()
    for start in starts:
        stack = [start] if start not in done else []
        while stack:
            node = stack[-1]
            if node in done or node in opened:
                done.setdefault(stack.pop())
                continue
            opened.add(node)
            below = [further for further in successors(node) if further not in done and further not in opened]
            if below:
                stack.extend(below[::-1])
            else:
                done[stack.pop()] = None
    return list(done)


def first_cycle(edges: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The first cycle found by depth-first search.

    Args:
        edges: the successors of each node.

    Returns:
        The nodes of one cycle in order, each once; () if there is none.

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


# --- The order of calls, and cycles: no instruction may need its own result, no computation may call itself.


def callees_first(module: Module) -> tuple[int, ...]:
    """All computations, each after its callees, in the order of calls from the entry; unreachable ones first."""
    called = [computation.callees for computation in module.computations]
    roots = [n for n in range(len(called)) if n != module.entry]
    somewhere = set[int]().union(*called)
    starts = [*(n for n in roots if n not in somewhere), module.entry, *roots]
    return (*(n for n in postorder(starts, called.__getitem__) if n != module.entry), module.entry)


def called_by(module: Module, opcodes: Collection[str]) -> frozenset[int]:
    """Computations called by instructions with the given opcodes.

    Example:
        >>> called_by(Module("m", "compiled", (), 0), ("fusion",))
        frozenset()
    """
    return frozenset(
        [c for one in module.computations for _, it in one.calling if it.opcode in opcodes for c in it.called]
    )


def operands_first(owner: Computation) -> Sequence[int]:
    """Positions in topological order, operands before users; the printed order if it already is one."""
    known: dict[str, Sequence[int]] = owner.__dict__
    if "operands_first" not in known:
        instructions = owner.instructions
        order: Sequence[int] = range(len(instructions))
        for n, it in enumerate(instructions):  # a loop: a generator takes three times as long
            if it.operands and max(it.operands) >= n:
                order = postorder(order, lambda n: instructions[n].operands)
                break
        known["operands_first"] = order
    return known["operands_first"]


def source_through(owner: Computation, position: int, through: Collection[str]) -> int:
    """The source of a value, skipping operations that only pass one operand on.

    Args:
        owner: the computation.
        position: position of the value's instruction.
        through: opcodes to skip if they have one operand.

    Returns:
        the position of the first instruction upstream with another opcode.
    """
    it = owner.instructions[position]
    while it.opcode in through and len(it.operands) == 1:
        position = it.operands[0]
        it = owner.instructions[position]
    return position


CYCLE_HINT = "XLA programs are acyclic: the text was damaged or edited; dump or capture the program again"


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
    cycle = first_cycle([[n for _, it in computation.calling for n in it.called] for computation in computations])
    if not cycle:
        return None
    line = next(it.line for it in computations[cycle[0]].instructions if cycle[1 % len(cycle)] in it.called)
    return f"computation {format_cycle([computations[n].name for n in cycle], 'calls')}", line


def calls_later(index: int, computation: Computation) -> bool:
    """Whether a computation calls itself or a later one."""
    return any(n >= index for _, it in computation.calling for n in it.called)


def format_cycle(names: Sequence[str], verb: str) -> str:
    """Format a cycle for an error.

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


# --- Callers, and which computations have a schedule.


def without_callers(module: Module) -> list[int]:
    """Computations without callers, except the entry."""
    called = {c for computation in module.computations for _, it in computation.calling for c in it.called}
    return [n for n in range(len(module.computations)) if n not in called and n != module.entry]


def condition_and_body(it: Instruction) -> tuple[int, int] | None:
    """The computations of a `while`, as indices into the module; None if it does not have both.

    Example:
        >>> from hlodiff.hlo.model import Shape
        >>> condition_and_body(Instruction("w", "while", Shape("s32"), calls=(("body", (1,)), ("condition", (0,)))))
        (0, 1)
    """
    groups = {name: group for name, group in it.calls if group}
    condition, body = groups.get("condition") or groups.get("cond"), groups.get("body")
    return (condition[0], body[0]) if condition and body else None


def call_sites(module: Module) -> list[list[tuple[int, int, str]]]:
    """For each computation its call sites: caller, position of the calling instruction, attribute name."""
    sites: list[list[tuple[int, int, str]]] = [[] for _ in module.computations]
    for caller, computation in enumerate(module.computations):
        for position, it in computation.calling:
            for name, group in it.calls:
                for callee in group:
                    sites[callee].append((caller, position, name))
    return sites


def scheduled(module: Module) -> list[bool]:
    """For each computation, whether its printed order is a schedule.

    Bodies of fusions and reducers have none: they run inside one kernel.
    """
    found = [False] * len(module.computations)
    if (module.attribute("is_scheduled") or "").lower() != "true":
        return found

    def run_in_steps(index: int) -> Iterator[int]:
        for _, it in module.computations[index].calling:
            for name, group in it.calls:
                if computation_kind(it.opcode, name) not in ("fused", "apply"):
                    yield from group

    for index in preorder([module.entry], run_in_steps):
        found[index] = True
    return found


def fused_only(module: Module) -> list[bool]:
    """For each computation, whether only fusions call it."""
    by_fusions: set[int] = set()
    by_others = {module.entry}
    for computation in module.computations:
        for _, it in computation.calling:
            (by_fusions if it.opcode == "fusion" else by_others).update(it.called)
    return [n in by_fusions and n not in by_others for n in range(len(module.computations))]


# --- How often each computation runs, counted at call sites, and its kind: entry, fusion, loop body, ...
#
# This uses the order in which programs are printed, not networkx's `topological_sort`: budgets, rules, `show` and `log`
# count unchanged programs and would import networkx for nothing else. When two programs are compared, networkx counts
# the matched call sites (`differ/computation_matches.py`).

KINDS = ("entry", "fusion", "loop", "branch", "reduction", "other")
# Ops that apply their computation to elements: reducers, comparators, updates.
_APPLYING = frozenset(
    ["reduce", "reduce-window", "reduce_window", "scatter", "select-and-scatter", "select_and_scatter", "sort", "map"]
)
# Calls that only name what they call.
_TRANSPARENT = frozenset(["call", "func.call", "composite", "sdy.manual_computation", "async-start"])
# Sharing may nest: a hostile file of 60 lines can call one computation 2**60 times.
_MOST = 10**15


@dataclass(slots=True)
class Multiplicity:
    """Multiplicity of one computation: its call sites, how many of them are in a loop, and the kinds it runs as."""

    total: int = 0
    in_loop: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    def add(self, caller: Multiplicity, kind: str) -> None:
        """Add a call site in `caller`, for a computation of kind `kind` ("" for the caller's kind)."""
        self.total = min(self.total + caller.total, _MOST)
        self.in_loop = min(self.in_loop + (caller.total if kind == "loop" else caller.in_loop), _MOST)
        for name, count in caller.kinds.items() if not kind else ((kind, caller.total),):
            self.kinds[name] = min(self.kinds.get(name, 0) + count, _MOST)


def multiplicities(module: Module) -> tuple[Multiplicity, ...]:
    """The multiplicity of every computation, so that counts do not depend on equal computations being stored once.

    Args:
        module: a program of either stage.

    Returns:
        one for each computation; 0 for those that the entry never reaches.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> multiplicities(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}"))[0].kinds
        {'entry': 1}
    """
    known: dict[str, tuple[Multiplicity, ...]] = module.__dict__
    if "multiplicities" in known:
        return known["multiplicities"]
    weights = known["multiplicities"] = tuple(Multiplicity() for _ in module.computations)
    if not weights:
        return ()
    weights[module.entry].total = 1
    weights[module.entry].kinds["entry"] = 1
    for index in reversed(callees_first(module)):
        if weights[index].total:
            for _, instruction in module.computations[index].calling:
                for attribute, callees in instruction.calls if not is_continuation(instruction.opcode) else ():
                    for callee in callees:
                        if callee != index:
                            weights[callee].add(weights[index], _kind(instruction, attribute))
    return weights


def is_continuation(opcode: str) -> bool:
    """Whether an op only finishes another one, as `all-reduce-done` does.

    Example:
        >>> is_continuation("all-reduce-done"), is_continuation("dot")
        (True, False)
    """
    return opcode.endswith("-done") or opcode == "async-update"


def _kind(instruction: Instruction, attribute: str) -> str:
    opcode = instruction.opcode
    if opcode == "while":
        return "loop"
    if opcode == "fusion":
        return "fusion"
    if opcode in CONDITIONALS:
        return "branch"
    if opcode in _TRANSPARENT:
        return ""
    if attribute == "to_apply" or opcode in _APPLYING or opcode in ("all_reduce", "reduce_scatter"):
        return "reduction"
    return "" if attribute in ("calls", "called_computation") and opcode.endswith("-start") else "other"
