"""How often each computation of a module runs, counted at call sites, and as what: entry, fusion, loop body, ...

One pass over the call graph, callers first. The order is the one that programs are printed in, not networkx's
`topological_sort`: budgets, rules, `show` and `log` count programs that did not change, and would import networkx for
nothing else. Where two programs are compared, networkx counts the matched call sites (`computation_matches`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hlodiff.hlo.model import Instruction, Module
from hlodiff.hlo.traversal import callees_first

KINDS = ("entry", "fusion", "loop", "branch", "reduction", "other")
# Ops whose computation is applied to elements: reducers, comparators, updates.
_APPLYING = frozenset(
    ["reduce", "reduce-window", "reduce_window", "scatter", "select-and-scatter", "select_and_scatter", "sort", "map"]
)
# Calls that are nothing but a name for what they call.
_TRANSPARENT = frozenset(["call", "func.call", "composite", "sdy.manual_computation", "async-start"])
# Sharing may nest: a hostile file of 60 lines can call one computation 2**60 times.
_MOST = 10**15


@dataclass(slots=True)
class Multiplicity:
    """Of one computation: at how many call sites it runs, how many of them lie in a loop, and as what it runs."""

    total: int = 0
    in_loop: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    def add(self, caller: Multiplicity, kind: str) -> None:
        """One more call site in `caller`, of a computation that runs as `kind` ("" for what the caller is)."""
        self.total = min(self.total + caller.total, _MOST)
        self.in_loop = min(self.in_loop + (caller.total if kind == "loop" else caller.in_loop), _MOST)
        for name, count in caller.kinds.items() if not kind else ((kind, caller.total),):
            self.kinds[name] = min(self.kinds.get(name, 0) + count, _MOST)


def multiplicities(module: Module) -> tuple[Multiplicity, ...]:
    """The weight of every computation, so that counts do not depend on equal computations being stored once.

    Args:
        module: a program of either stage.

    Returns:
        one weight for each computation; 0 for those that the entry never reaches.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> multiplicities(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}"))[0].kinds
        {'entry': 1}
    """
    weights = tuple(Multiplicity() for _ in module.computations)
    if not weights:
        return ()
    weights[module.entry].total = 1
    weights[module.entry].kinds["entry"] = 1
    for index in reversed(callees_first(module)):
        if weights[index].total:
            for instruction in module.computations[index].instructions:
                for attribute, callees in instruction.calls if not is_continuation(instruction.opcode) else ():
                    for callee in callees:
                        if callee != index:
                            weights[callee].add(weights[index], _kind(instruction, attribute))
    return weights


def is_continuation(opcode: str) -> bool:
    """Whether an op only finishes what another one began, as `all-reduce-done` does.

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
    if opcode in ("conditional", "case", "if"):
        return "branch"
    if opcode in _TRANSPARENT:
        return ""
    if attribute == "to_apply" or opcode in _APPLYING or opcode in ("all_reduce", "reduce_scatter"):
        return "reduction"
    return "" if attribute in ("calls", "called_computation") and opcode.endswith("-start") else "other"
