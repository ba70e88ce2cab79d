"""The order of a fusion's parameters: by first use from its root, operands of every call site alike."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from hashlib import blake2b

from hlodiff.ir.content import context, is_commutative
from hlodiff.ir.hlo_printer import callees_first
from hlodiff.ir.model import Computation, Instruction, Module
from hlodiff.normalize.backend_config import parse_config, print_config
from hlodiff.normalize.loose import down, loose_hashes
from hlodiff.normalize.rewrite import with_attribute, with_computations, with_instructions
from hlodiff.normalize.roles import call_sites, fused_only

_ALIAS = re.compile(r"(\{[\d,\s]*\}:\s*\()(\d+)")


def fusion_parameters(module: Module, kept: Container[int] = (), *, see_callers: bool = True) -> tuple[Module, int]:
    """Number the parameters of computations that only fusions call by first use, and permute the call operands.

    `subtract(p0,p1)` called with (a,b) and `subtract(p1,p0)` called with (b,a) come out the same. The computations of
    the indices in `kept` stay as they are. With `see_callers` parameters that nothing inside tells apart are put in
    order by what callers pass; else they stay as they are.
    """
    fused = fused_only(module)
    if all(n in kept for n, is_fused in enumerate(fused) if is_fused):
        return module, 0
    hashes = loose_hashes(module, fused, None if see_callers else [n for n, is_fused in enumerate(fused) if is_fused])
    sites = call_sites(module)
    orders: dict[int, list[int]] = {}
    bodies = list(module.computations)
    for index in callees_first(module):  # a fusion in a fusion first: its operands are what the outer walk follows
        if fused[index] and index not in kept:
            bodies[index] = _with_permuted_calls(bodies[index], orders)
            order = _parameter_order(module, bodies[index], hashes[index], sites[index], hashes, fused, see_callers)
            if order is not None and order != sorted(order):
                orders[index] = order
                bodies[index] = _renumbered(bodies[index], order)
    if not orders:
        return module, 0
    others = [
        body if fused[n] and n not in kept else _with_permuted_calls(body, orders) for n, body in enumerate(bodies)
    ]
    return with_computations(module, others), len(orders)


def _with_permuted_calls(computation: Computation, orders: dict[int, list[int]]) -> Computation:
    if not any(it.opcode == "fusion" and it.called[0] in orders for it in computation.instructions if it.calls):
        return computation
    return with_instructions(computation, [_permuted(it, orders) for it in computation.instructions])


_Sites = Sequence[tuple[int, int, str]]


def _passed(module: Module, sites: _Sites, hashes: Sequence[Sequence[bytes]]) -> list[list[bytes]]:
    """For each call site the hashes of the operands it passes."""
    return [[hashes[c][o] for o in module.computations[c].instructions[position].operands] for c, position, _ in sites]


def _passed_outlines(module: Module, sites: _Sites) -> list[list[bytes]]:
    """The same with the opcodes of the operands: another number in a constant does not change these."""
    bodies = [(module.computations[c], position) for c, position, _ in sites]
    return [[_outline(body, o, _LEVELS).encode() for o in body.instructions[at].operands] for body, at in bodies]


def _parameter_order(
    module: Module,
    computation: Computation,
    hashes: Sequence[bytes],
    sites: _Sites,
    all_hashes: Sequence[Sequence[bytes]],
    fused: Sequence[bool],
    see_callers: bool,
) -> list[int] | None:
    """Old parameter numbers in their new order; None where numbers and call operands do not fit together."""
    parameters = computation.parameters()
    count = len(parameters)
    if count < 2 or any(computation.instructions[p].literal != str(n) for n, p in enumerate(parameters)):
        return None
    if any(len(module.computations[caller].instructions[at].operands) != count for caller, at, _ in sites):
        return None
    deep: list[Sequence[bytes]] = [hashes]
    if _has_tie(computation, hashes):
        # First by who uses them inside, so that equal bodies stay equal whatever their callers pass.
        deep.append(context(computation, hashes))
        if see_callers:
            deep.append(_coloured(computation, hashes, _passed_outlines(module, sites), fused))
            deep.append(_coloured(computation, hashes, _passed(module, sites, all_hashes), fused))
    return _first_uses(computation, parameters, deep)


def _has_tie(computation: Computation, hashes: Sequence[bytes]) -> bool:
    return any(
        is_commutative(it) and it.operands[0] != it.operands[1] and hashes[it.operands[0]] == hashes[it.operands[1]]
        for it in computation.instructions
    )


def _coloured(
    computation: Computation, hashes: Sequence[bytes], passed: Sequence[Sequence[bytes]], fused: Sequence[bool]
) -> list[bytes]:
    """Hashes in which a parameter is also what its callers pass: tells twins under a commutative operation apart."""
    labels = list(hashes)
    for number, parameter in enumerate(computation.parameters()):
        below = sorted(operands[number] for operands in passed)
        labels[parameter] = blake2b(labels[parameter] + b"".join(below), digest_size=12).digest()
    return down(computation, labels, fused)


# Levels of operands that are looked at before hashes of everything below: an edit far down then seldom flips the
# order of two operands, and with it the numbers of all parameters. Measured in names.py.
_LEVELS = 3


def _first_uses(computation: Computation, parameters: Sequence[int], deep: Sequence[Sequence[bytes]]) -> list[int]:
    """Depth first from the root, then from the rest; commutative operands by content, twins in printed order."""
    number = {position: n for n, position in enumerate(parameters)}
    order: list[int] = []
    seen: set[int] = set()
    for start in (computation.root, *parameters):
        stack = [start]
        while stack:
            position = stack.pop()
            if position in seen:
                continue
            seen.add(position)
            if position in number:
                order.append(number[position])
            it = computation.instructions[position]
            below: Sequence[int] = it.operands
            if len(below) == 2 and is_commutative(it):
                below = _in_order_of_content(computation, below, deep, number)
            stack.extend(reversed(below))
    return order


def _in_order_of_content(
    computation: Computation, both: Sequence[int], deep: Sequence[Sequence[bytes]], number: dict[int, int]
) -> Sequence[int]:
    """Two operands by the opcodes near them, then by all that is below; a step further only where that is equal."""
    one, other = both
    for level in range(_LEVELS):
        first, second = _outline(computation, one, level), _outline(computation, other, level)
        if first != second:
            return both if first < second else (other, one)
    keys = [(*(key[n] for key in deep), number.get(n, 0)) for n in both]
    return both if keys[0] <= keys[1] else (other, one)


def _outline(computation: Computation, position: int, levels: int) -> str:
    """The opcodes under an instruction down to some level, operands of bags sorted: `add(multiply,tanh)`."""
    it = computation.instructions[position]
    if not levels or not it.operands:
        return it.opcode
    below = [_outline(computation, operand, levels - 1) for operand in it.operands]
    if is_commutative(it) or it.opcode == "fusion":
        below.sort()
    return f"{it.opcode}({','.join(below)})"


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


def _permuted(it: Instruction, orders: dict[int, list[int]]) -> Instruction:
    if it.opcode != "fusion" or len(it.called) != 1 or it.called[0] not in orders:
        return it
    order = orders[it.called[0]]
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
