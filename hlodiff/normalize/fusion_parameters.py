"""The order of a fusion's parameters: by first use from its root, operands of every call site alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

from hlodiff.ir.content import is_commutative
from hlodiff.ir.model import Computation, Instruction, Module
from hlodiff.normalize.backend_config import parse_config, print_config
from hlodiff.normalize.loose import down, loose_hashes
from hlodiff.normalize.rewrite import map_instructions, with_attribute, with_computations, with_instructions
from hlodiff.normalize.roles import call_sites, fused_only

_ALIAS = re.compile(r"(\{[\d,\s]*\}:\s*\()(\d+)")


def fusion_parameters(module: Module) -> tuple[Module, int]:
    """Number the parameters of computations that only fusions call by first use, and permute the call operands.

    `subtract(p0,p1)` called with (a,b) and `subtract(p1,p0)` called with (b,a) come out the same.
    """
    fused = fused_only(module)
    if not any(fused):
        return module, 0
    hashes = loose_hashes(module, fused)
    sites = call_sites(module)
    orders: dict[int, list[int]] = {}
    for index, is_fused in enumerate(fused):
        if is_fused:
            order = _parameter_order(module, index, hashes, sites[index], fused)
            if order is not None and order != sorted(order):
                orders[index] = order
    if not orders:
        return module, 0
    bodies = [
        _renumbered(computation, orders[index]) if index in orders else computation
        for index, computation in enumerate(module.computations)
    ]
    called = with_computations(module, bodies)
    return map_instructions(called, lambda it: _permuted(it, orders))[0], len(orders)


def _parameter_order(
    module: Module,
    index: int,
    hashes: Sequence[Sequence[bytes]],
    sites: Sequence[tuple[int, int, str]],
    fused: Sequence[bool],
) -> list[int] | None:
    """Old parameter numbers in their new order; None where numbers and call operands do not fit together."""
    computation = module.computations[index]
    parameters = computation.parameters()
    count = len(parameters)
    if count < 2 or [computation.instructions[p].literal for p in parameters] != [str(n) for n in range(count)]:
        return None
    calls = [module.computations[caller].instructions[position].operands for caller, position, _ in sites]
    if any(len(operands) != count for operands in calls):
        return None
    keys: list[Sequence[bytes]] = [hashes[index]]
    if _has_tie(computation, hashes[index]):
        keys.append(_coloured(computation, index, hashes, sites, calls, fused))
    return _first_uses(computation, parameters, keys)


def _has_tie(computation: Computation, hashes: Sequence[bytes]) -> bool:
    return any(
        is_commutative(it) and it.operands[0] != it.operands[1] and hashes[it.operands[0]] == hashes[it.operands[1]]
        for it in computation.instructions
    )


def _coloured(
    computation: Computation,
    index: int,
    hashes: Sequence[Sequence[bytes]],
    sites: Sequence[tuple[int, int, str]],
    calls: Sequence[tuple[int, ...]],
    fused: Sequence[bool],
) -> list[bytes]:
    """Hashes in which a parameter is also what its callers pass: tells twins under a commutative operation apart."""
    labels = list(hashes[index])
    for number, parameter in enumerate(computation.parameters()):
        passed = sorted(hashes[caller][operands[number]] for (caller, _, _), operands in zip(sites, calls, strict=True))
        labels[parameter] = blake2b(labels[parameter] + b"".join(passed), digest_size=12).digest()
    return down(computation, labels, fused)


def _first_uses(computation: Computation, parameters: Sequence[int], keys: Sequence[Sequence[bytes]]) -> list[int]:
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
                below = sorted(below, key=lambda n: (*(key[n] for key in keys), number.get(n, 0)))
            stack.extend(reversed(below))
    return order


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
