"""Computation kinds: what a computation is for, by its callers, and which computations have a schedule."""

from __future__ import annotations

from hlodiff.hlo.model import Module

# Callers whose computations run instruction by instruction and so have a schedule, and the kind of each.
_KIND_BY_CALLER = {"call": "called", "while": "loop", "conditional": "branch", "custom-call": "called"}


def call_sites(module: Module) -> list[list[tuple[int, int, str]]]:
    """For each computation its call sites: caller, position of the calling instruction, attribute name."""
    sites: list[list[tuple[int, int, str]]] = [[] for _ in module.computations]
    for caller, computation in enumerate(module.computations):
        for position, it in enumerate(computation.instructions):
            for name, group in it.calls:
                for callee in group:
                    sites[callee].append((caller, position, name))
    return sites


def computation_kind(opcode: str, attribute: str) -> str:
    """The kind of a computation that an instruction of this opcode calls through this attribute."""
    if opcode == "while":
        return "cond" if attribute == "condition" else "body"
    if opcode in ("fusion", "fusion-start"):
        return "fused"
    if opcode.startswith("async-"):
        return "async"
    return _KIND_BY_CALLER.get(opcode.removesuffix("-start"), "apply")


def scheduled(module: Module) -> list[bool]:
    """For each computation whether the printed order of its instructions is a schedule.

    Bodies of fusions and reducers have none: one kernel holds them.
    """
    found = [False] * len(module.computations)
    if (module.attribute("is_scheduled") or "").lower() != "true":
        return found
    found[module.entry] = True
    stack = [module.entry]
    while stack:
        for it in module.computations[stack.pop()].instructions:
            for name, group in it.calls:
                if computation_kind(it.opcode, name) in ("fused", "apply"):
                    continue
                for callee in group:
                    if not found[callee]:
                        found[callee] = True
                        stack.append(callee)
    return found


def fused_only(module: Module) -> list[bool]:
    """For each computation whether fusions, and nothing else, call it."""
    sites = call_sites(module)
    return [
        n != module.entry
        and bool(calls)
        and all(module.computations[caller].instructions[position].opcode == "fusion" for caller, position, _ in calls)
        for n, calls in enumerate(sites)
    ]
