"""Single edits of a program, made at random: what one line of a diff should show."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from hlodiff.hlo import Computation, Instruction, Module

UNARY = ("tanh", "sine", "cosine", "negate", "exponential", "abs")
BINARY = ("add", "subtract", "multiply", "divide", "maximum")
Edit = Callable[[Computation, int, random.Random], Computation | None]


def literal(owner: Computation, position: int, chance: random.Random) -> Computation | None:
    it = owner.instructions[position]
    if it.opcode != "constant" or it.shape.dimensions or it.shape.element_type == "pred":
        return None
    return put(owner, position, replace(it, literal=str(chance.randrange(100, 1000))))


def opcode(owner: Computation, position: int, chance: random.Random) -> Computation | None:
    it = owner.instructions[position]
    kinds = [kind for kind in (UNARY, BINARY) if it.opcode in kind]
    others = [other for kind in kinds for other in kind if other != it.opcode]
    return put(owner, position, replace(it, opcode=chance.choice(others))) if others else None


def shape(owner: Computation, position: int, chance: random.Random) -> Computation | None:
    it = owner.instructions[position]
    if it.opcode == "parameter" or not it.shape.dimensions:
        return None
    sizes = (it.shape.dimensions[0] + chance.randrange(1, 9), *it.shape.dimensions[1:])
    return put(owner, position, replace(it, shape=replace(it.shape, dimensions=sizes)))


def layout(owner: Computation, position: int, chance: random.Random) -> Computation | None:
    it = owner.instructions[position]
    if it.opcode == "parameter" or it.shape.layout is None or not it.shape.dimensions:
        return None
    space = replace(it.shape.layout, memory_space=it.shape.layout.memory_space + 1)
    return put(owner, position, replace(it, shape=replace(it.shape, layout=space)))


def swap(owner: Computation, position: int, chance: random.Random) -> Computation | None:
    it = owner.instructions[position]
    if len(it.operands) < 2 or it.operands[0] == it.operands[1] or it.calls:
        return None
    return put(owner, position, replace(it, operands=(it.operands[1], it.operands[0], *it.operands[2:])))


def insert(owner: Computation, position: int, chance: random.Random) -> Computation | None:
    it = owner.instructions[position]
    if not it.operands or not owner.instructions[it.operands[0]].shape.is_array:
        return None
    moved = [at(it, lambda n: n + (n >= position)) for it in owner.instructions]
    below = moved[position].operands[0]
    added = Instruction("added", chance.choice(UNARY), owner.instructions[it.operands[0]].shape, (below,))
    moved[position] = replace(moved[position], operands=(position, *moved[position].operands[1:]))
    moved.insert(position, added)
    return replace(owner, instructions=tuple(moved), root=owner.root + (owner.root >= position))


def delete(owner: Computation, position: int, chance: random.Random) -> Computation | None:
    it = owner.instructions[position]
    if it.opcode not in (*UNARY, *BINARY, "convert", "bitcast") or position == owner.root:
        return None

    def place(old: int) -> int:
        old = it.operands[0] if old == position else old
        return old - (old > position)

    kept = [at(other, place) for n, other in enumerate(owner.instructions) if n != position]
    return replace(owner, instructions=tuple(kept), root=place(owner.root))


def at(it: Instruction, place: Callable[[int], int]) -> Instruction:
    """The instruction with its operands in other places."""
    control = tuple(place(n) for n in it.control_predecessors)
    return replace(it, operands=tuple(place(n) for n in it.operands), control_predecessors=control)


def put(owner: Computation, position: int, it: Instruction) -> Computation:
    instructions = list(owner.instructions)
    instructions[position] = it
    return replace(owner, instructions=tuple(instructions))


ALL: tuple[Edit, ...] = (literal, opcode, shape, layout, swap, insert, delete)


def edited(module: Module, edit: Edit, chance: random.Random) -> Module | None:
    """The module with one edit of that kind in a random place; None where no place was found."""
    places = [(c, n) for c, owner in enumerate(module.computations) for n in range(len(owner.instructions))]
    for index, position in chance.sample(places, len(places)):
        new = edit(module.computations[index], position, chance)
        if new is not None:
            computations = list(module.computations)
            computations[index] = new
            return replace(module, computations=tuple(computations))
    return None
