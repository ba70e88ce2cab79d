"""The passes `instruction_order`, `computation_order` and `equal_computations`: an order decided by content."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from hlodiff.hlo.fingerprint import Content, computation_hashes, contents
from hlodiff.hlo.model import Computation, Instruction, Module, reordered, with_computations
from hlodiff.hlo.traversal import callees_first, postorder, scheduled, without_callers


def instruction_order(module: Module) -> tuple[Module, int]:
    """Order unscheduled computations depth first from the root: parameters by number, then operands before users."""
    hashes: tuple[str, ...] = ()
    count = 0
    computations = list(module.computations)
    for index, has_schedule in enumerate(scheduled(module)):
        if has_schedule:
            continue
        if not hashes and len(_sinks(computations[index])) > 1:
            hashes = computation_hashes(module)
        order = legal_order(computations[index], hashes)
        if order != list(range(len(order))):
            computations[index] = reordered(computations[index], order)
            count += 1
    return (with_computations(module, computations), count) if count else (module, 0)


def legal_order(computation: Computation, hashes: Sequence[str] = ()) -> list[int]:
    """Positions, operands and control predecessors first: the root's tree, then what nothing uses, by content.

    Args:
        computation: any computation.
        hashes: of what it calls; only used if several instructions have no user.
    """

    def needed(position: int) -> Sequence[int]:
        it = computation.instructions[position]
        return (*it.operands, *it.control_predecessors) if it.control_predecessors else it.operands

    order = postorder((computation.root,), needed, before=computation.parameters)
    if len(order) < len(computation.instructions):
        sinks = _by_content(computation, _sinks(computation), hashes)
        order = postorder((*sinks, *range(len(computation.instructions))), needed, before=order)
    return order


def _sinks(computation: Computation) -> list[int]:
    used = {o for it in computation.instructions for o in (*it.operands, *it.control_predecessors)}
    return [
        n
        for n, it in enumerate(computation.instructions)
        if n not in used and n != computation.root and it.opcode != "parameter"
    ]


def _by_content(computation: Computation, sinks: Sequence[int], hashes: Sequence[str]) -> list[int]:
    """Sort by instruction and two levels of operands; ties keep their printed order.

    One level where two would visit too much, as for thousands of elements of a wide tuple.
    """
    instructions = computation.instructions
    own: dict[int, tuple[str, ...]] = {}

    def looked_at(position: int) -> int:
        operands = instructions[position].operands
        return 1 + len(operands) + sum(len(instructions[o].operands) for o in operands)

    levels = 2 if sum(map(looked_at, sinks)) <= _MOST_LOOKED_AT else 1

    def key(position: int) -> tuple[str, ...]:
        operands = instructions[position].operands
        further = [o for operand in operands for o in instructions[operand].operands] if levels == 2 else []
        near = (position, *operands, *further)
        for one in near:
            if one not in own:
                it = instructions[one]
                calls = [hashes[c] for c in it.called] if hashes else []
                own[one] = (it.opcode, it.shape.text, it.literal or "", repr(it.attributes), *calls)
        return tuple(part for one in near for part in own[one])

    return sorted(sinks, key=key)


_MOST_LOOKED_AT = 2_000_000


def computation_order(module: Module) -> tuple[Module, int]:
    """Computations in the order of calls from the entry, callees first; before them the uncalled ones, by content."""
    order = _canonical(module)
    if order == list(range(len(order))):
        return module, 0
    return renumbered(module, order), 1


def _canonical(module: Module) -> list[int]:
    uncalled = without_callers(module)
    if not uncalled:
        return list(callees_first(module))
    hashes = computation_hashes(module)
    uncalled.sort(key=lambda n: hashes[n])
    first = dict.fromkeys(uncalled)
    rest = [n for n in range(len(module.computations)) if n not in first]
    return [[*uncalled, *rest][n] for n in callees_first(renumbered(module, [*uncalled, *rest]))]


def renumbered(module: Module, order: Sequence[int]) -> Module:
    """The module with its computations in another order (old indices), calls following."""
    new = [0] * len(module.computations)
    for index, old in enumerate(order):
        new[old] = index
    moved = [redirected(module.computations[old], new) for old in order]
    return Module(module.name, module.stage, tuple(moved), new[module.entry], module.attributes, module.frames)


def redirected(computation: Computation, new: Sequence[int]) -> Computation:
    """The computation calling `new[c]` wherever it called c."""
    instructions = [
        Instruction(
            it.name, it.opcode, it.shape, it.operands, it.results, it.attributes,
            tuple([(name, tuple([new[c] for c in group])) for name, group in it.calls]), it.control_predecessors,
            it.literal, it.op_name, it.frame, it.metadata, it.line,
        )
        if it.calls else it
        for it in computation.instructions
    ]  # fmt: skip
    return Computation(
        computation.name, tuple(instructions), computation.root, computation.execution_thread, computation.attributes,
        computation.line,
    )  # fmt: skip


def equal_computations(module: Module) -> tuple[Module, int]:
    """Keep one of several computations of equal content (and schedule, if any), and redirect calls to it."""
    found = contents(module)
    has_schedule = scheduled(module)
    groups: dict[Hashable, list[int]] = {}
    for index, computation in enumerate(module.computations):
        if index != module.entry:
            groups.setdefault(_key(computation, found[index], has_schedule[index]), []).append(index)
    new = list(range(len(module.computations)))
    for group in groups.values():
        # Equal content may still print commutative operands in either order: the smaller spelling is kept.
        chosen = (
            min(group, key=lambda n: tuple(it.operands for it in module.computations[n].instructions))
            if len(group) > 1
            else group[0]
        )
        for index in group:
            new[index] = chosen
    kept = sorted(set(new))
    if len(kept) == len(new):
        return module, 0
    place = {old: n for n, old in enumerate(kept)}
    moved = [place[n] for n in new]
    computations = tuple(redirected(module.computations[old], moved) for old in kept)
    merged = Module(module.name, module.stage, computations, place[module.entry], module.attributes, module.frames)
    return merged, len(new) - len(kept)


def _key(computation: Computation, content: Content, has_schedule: bool) -> Hashable:
    number = {position: n for n, position in enumerate(content.order)}
    control = sorted(
        (number[n], *sorted(number[p] for p in it.control_predecessors))
        for n, it in enumerate(computation.instructions)
        if it.control_predecessors
    )
    return content.hash, tuple(control), content.order if has_schedule else ()
