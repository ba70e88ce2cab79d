"""The order of a fusion's parameters: by first use from its root, operands of every call alike."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from hlodiff.ir.content import context
from hlodiff.ir.hlo_printer import callees_first
from hlodiff.ir.model import Computation, Instruction, Module
from hlodiff.normalize.backend_config import parse_config, print_config
from hlodiff.normalize.first_uses import first_uses, has_tie
from hlodiff.normalize.loose import loose_hashes
from hlodiff.normalize.rewrite import with_attribute, with_computations, with_instructions
from hlodiff.normalize.roles import call_sites, fused_only
from hlodiff.normalize.twins import Place, Twins, call_orders

_ALIAS = re.compile(r"(\{[\d,\s]*\}:\s*\()(\d+)")


def fusion_parameters(module: Module, kept: Container[int] = (), *, see_callers: bool = True) -> tuple[Module, int]:
    """Number the parameters of computations that only fusions call by first use, and permute the call operands.

    `subtract(p0,p1)` called with (a,b) and `subtract(p1,p0)` called with (b,a) come out the same. The computations of
    the indices in `kept` stay as they are. With `see_callers` each call puts operands in order that the computation
    does not tell apart; else what nothing inside tells apart stays as it is.
    """
    fused = fused_only(module)
    if all(n in kept for n, is_fused in enumerate(fused) if is_fused):
        return module, 0
    hashes = loose_hashes(module, fused, None if see_callers else [n for n, is_fused in enumerate(fused) if is_fused])
    sites = call_sites(module)
    passed: dict[Place, list[int]] = {}
    changed: dict[int, None] = {}
    bodies = list(module.computations)
    twins = Twins(bodies, fused)
    for index in callees_first(module):  # a fusion in a fusion first: its operands are what the outer walk follows
        if not fused[index] or index in kept:
            continue
        bodies[index] = _with_permuted_calls(index, bodies[index], passed)
        places = [(caller, at) for caller, at, _ in sites[index]]
        if not _fit(module, bodies[index], places):
            continue
        inside = _inside(bodies[index], hashes[index])
        order = first_uses(bodies[index], inside, by_number=not see_callers)
        orders = dict.fromkeys(places, order)
        if see_callers and len(inside) > 1:
            orders |= call_orders(bodies, index, order, inside, places, hashes, fused, twins)
        passed |= {place: new for place, new in orders.items() if new != sorted(new)}
        if order != sorted(order):
            bodies[index] = _renumbered(bodies[index], order)
        if order != sorted(order) or any(place in passed for place in places):
            changed[index] = None
    if not changed:
        return module, 0
    others = [
        body if fused[n] and n not in kept else _with_permuted_calls(n, body, passed) for n, body in enumerate(bodies)
    ]
    return with_computations(module, others), len(changed)


def _with_permuted_calls(index: int, computation: Computation, passed: dict[Place, list[int]]) -> Computation:
    if not any((index, at) in passed for at, it in enumerate(computation.instructions) if it.calls):
        return computation
    permuted = [
        _permuted(it, passed[index, at]) if it.calls and (index, at) in passed else it
        for at, it in enumerate(computation.instructions)
    ]
    return with_instructions(computation, permuted)


def _fit(module: Module, computation: Computation, places: Sequence[Place]) -> bool:
    """Whether there is something to put in order, and numbers and call operands fit together."""
    parameters = computation.parameters()
    count = len(parameters)
    if count < 2 or any(computation.instructions[p].literal != str(n) for n, p in enumerate(parameters)):
        return False
    return all(len(module.computations[caller].instructions[at].operands) == count for caller, at in places)


def _inside(computation: Computation, hashes: Sequence[bytes]) -> list[Sequence[bytes]]:
    """By who uses a parameter inside, so that equal bodies stay equal whatever their callers pass."""
    return [hashes, context(computation, hashes)] if has_tie(computation, hashes) else [hashes]


def _renumbered(computation: Computation, order: Sequence[int]) -> Computation:
    new = {old: n for n, old in enumerate(order)}
    instructions = [
        _with_literal(it, str(new[int(it.literal or 0)])) if it.opcode == "parameter" else it
        for it in computation.instructions
    ]
    return with_instructions(computation, instructions)


def _with_literal(it: Instruction, literal: str) -> Instruction:
    return Instruction(
        it.name, it.opcode, it.shape, it.operands, it.results, it.attributes, it.calls, it.control_predecessors,
        literal, it.op_name, it.frame, it.metadata, it.line,
    )  # fmt: skip


def _permuted(it: Instruction, order: Sequence[int]) -> Instruction:
    permuted = Instruction(
        it.name, it.opcode, it.shape, tuple([it.operands[old] for old in order]), it.results, it.attributes, it.calls,
        it.control_predecessors, it.literal, it.op_name, it.frame, it.metadata, it.line,
    )  # fmt: skip
    new = {old: n for n, old in enumerate(order)}
    aliasing = permuted.attribute("output_to_operand_aliasing")
    if aliasing is not None:
        moved = _ALIAS.sub(lambda m: m.group(1) + str(new.get(int(m.group(2)), int(m.group(2)))), aliasing)
        permuted = with_attribute(permuted, "output_to_operand_aliasing", moved)
    config = permuted.attribute("backend_config")
    if config is not None and "aliasing_operands" in config:
        permuted = with_attribute(permuted, "backend_config", _moved_aliases(config, new))
    return permuted


def _moved_aliases(text: str, new: dict[int, int]) -> str:
    """TPU: lists of buffers that share memory, by operand number; the number after the last operand is the result."""
    config = parse_config(text)
    if config is None or not isinstance(config.get("aliasing_operands"), dict):
        return text
    lists = config["aliasing_operands"].get("lists", [])
    for one in lists:
        one["indices"] = sorted((str(new.get(int(n), int(n))) for n in one.get("indices", [])), key=int)
    lists.sort(key=lambda one: [int(n) for n in one.get("indices", [])])
    return print_config(config)
