"""Changes of a program that mean nothing, made at random: what the normalizer must be blind to."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from hlodiff.hlo import Computation, Frame, Instruction, Module

Noise = Callable[[Module, random.Random], Module]


def rename(module: Module, chance: random.Random) -> Module:
    """Other names everywhere, the module's own among them."""

    def name(index: int) -> str:
        return f"{chance.choice(['dot', 'clone.1', 'p0', 'x'])}.{index}_{chance.randrange(10**6)}"

    computations = [
        replace(c, name=name(n), instructions=tuple(replace(it, name=name(k)) for k, it in enumerate(c.instructions)))
        for n, c in enumerate(module.computations)
    ]
    return replace(module, name="jit_other", computations=tuple(computations))


def shuffle_computations(module: Module, chance: random.Random) -> Module:
    """Computations in any order: what stands where is the printer's affair."""
    order = list(range(len(module.computations)))
    chance.shuffle(order)
    new = {old: index for index, old in enumerate(order)}

    def calling(it: Instruction) -> Instruction:
        return replace(it, calls=tuple((name, tuple(new[c] for c in group)) for name, group in it.calls))

    moved = each(module, calling)
    return replace(moved, computations=tuple(moved.computations[old] for old in order), entry=new[module.entry])


def reorder_instructions(module: Module, chance: random.Random) -> Module:
    """Another legal order wherever there is no schedule."""
    in_steps = scheduled(module)
    computations = [
        c if index in in_steps else reordered(c, legal(c, chance)) for index, c in enumerate(module.computations)
    ]
    return replace(module, computations=tuple(computations))


def scheduled(module: Module) -> set[int]:
    """Computations that run in the order in which they are printed: not bodies of fusions, and no reducers."""
    found: set[int] = set()
    waiting = [module.entry] if module.attribute("is_scheduled") == "true" else []
    while waiting:
        index = waiting.pop()
        if index not in found:
            found.add(index)
            for it in module.computations[index].instructions:
                for name, group in it.calls:
                    if it.opcode != "fusion" and (name != "to_apply" or it.opcode == "call"):
                        waiting += group
    return found


def reordered(computation: Computation, order: Sequence[int]) -> Computation:
    """The computation with its instructions in another order, given by their old positions."""
    new = {old: position for position, old in enumerate(order)}

    def moved(it: Instruction) -> Instruction:
        before = tuple(new[o] for o in it.control_predecessors)
        return replace(it, operands=tuple(new[o] for o in it.operands), control_predecessors=before)

    instructions = tuple(moved(computation.instructions[old]) for old in order)
    return replace(computation, instructions=instructions, root=new[computation.root])


def legal(computation: Computation, chance: random.Random) -> list[int]:
    """A random order in which operands and control predecessors stand first."""
    before = [{*it.operands, *it.control_predecessors} for it in computation.instructions]
    after: list[list[int]] = [[] for _ in before]
    for position, needed in enumerate(before):
        for other in sorted(needed):
            after[other].append(position)
    missing = [len(needed) for needed in before]
    ready = [n for n, count in enumerate(missing) if not count]
    order = []
    while ready:
        position = ready.pop(chance.randrange(len(ready)))
        order.append(position)
        for user in after[position]:
            missing[user] -= 1
            if not missing[user]:
                ready.append(user)
    return order


def metadata(module: Module, chance: random.Random) -> Module:
    """Other scopes, frames and lines."""

    def change(it: Instruction) -> Instruction:
        return replace(it, op_name=f"jit(g)/{chance.random()}", frame=chance.choice([-1, 0]), metadata="other=1")

    frames = (Frame("/elsewhere/model.py", chance.randrange(99), "g"),)
    return replace(each(module, change), frames=frames)


def renumber_channels(module: Module, chance: random.Random) -> Module:
    """Other channel numbers, the same for all who share one."""
    numbers = sorted(
        {int(n) for c in module.computations for it in c.instructions if (n := it.attribute("channel_id"))}
    )
    new = dict(zip(numbers, chance.sample(range(1, 5000), len(numbers)), strict=True))
    return values(module, "channel_id", lambda value: str(new[int(value)]))


def shuffle_json(module: Module, chance: random.Random) -> Module:
    """Keys of backend configurations in another order, other estimates."""

    def shuffled(value: object) -> object:
        if isinstance(value, list):
            return [shuffled(part) for part in value]
        if not isinstance(value, dict):
            return value
        pairs = [(k, str(chance.random()) if k == "estimated_cycles" else shuffled(v)) for k, v in value.items()]
        chance.shuffle(pairs)
        return dict(pairs)

    def change(text: str) -> str:
        try:
            return json.dumps(shuffled(json.loads(text)), indent=chance.choice([None, 1])).replace("\n", "")
        except ValueError:
            return text

    return values(module, "backend_config", change)


def permute_fusion_parameters(module: Module, chance: random.Random) -> Module:
    """Parameters of fusions in another order, operands of all their call sites alike."""
    orders: dict[int, list[int]] = {}
    for index, computation in enumerate(module.computations):
        calls = [it for c in module.computations for it in c.instructions if index in it.called]
        plain = all(it.attribute("output_to_operand_aliasing") is None for it in calls)
        plain = plain and all("aliasing_operands" not in (it.attribute("backend_config") or "") for it in calls)
        if calls and all(it.opcode == "fusion" for it in calls) and plain and index != module.entry:
            orders[index] = chance.sample(range(len(computation.parameters)), len(computation.parameters))

    def change(it: Instruction, owner: int) -> Instruction:
        if it.opcode == "parameter" and owner in orders:
            return replace(it, literal=str(orders[owner].index(int(it.literal or 0))))
        if it.opcode == "fusion" and it.called[0] in orders:
            return replace(it, operands=tuple(it.operands[old] for old in orders[it.called[0]]))
        return it

    computations = [
        replace(c, instructions=tuple(change(it, n) for it in c.instructions))
        for n, c in enumerate(module.computations)
    ]
    return replace(module, computations=tuple(computations))


def copy_computations(module: Module, chance: random.Random) -> Module:
    """A second copy of a computation that fusions call, for one of its call sites."""
    computations = list(module.computations)
    calls = Counter(callee for c in computations for it in c.instructions for callee in it.called)
    sites = [
        (n, k)
        for n, c in enumerate(computations)
        for k, it in enumerate(c.instructions)
        if it.opcode == "fusion" and calls[it.called[0]] > 1
    ]
    if not sites:
        return module
    owner, position = chance.choice(sites)
    it = computations[owner].instructions[position]
    copied = computations[it.called[0]]
    instructions = list(computations[owner].instructions)
    instructions[position] = replace(it, calls=(("calls", (len(computations),)),))
    computations[owner] = replace(computations[owner], instructions=tuple(instructions))
    return replace(module, computations=(*computations, replace(copied, name=copied.name + ".copy")))


def each(module: Module, change: Callable[[Instruction], Instruction]) -> Module:
    computations = [replace(c, instructions=tuple(map(change, c.instructions))) for c in module.computations]
    return replace(module, computations=tuple(computations))


def values(module: Module, name: str, change: Callable[[str], str]) -> Module:
    def changed(it: Instruction) -> Instruction:
        return replace(it, attributes=tuple((k, change(v) if k == name else v) for k, v in it.attributes))

    return each(module, changed)


ALL: Sequence[Noise] = (
    rename,
    shuffle_computations,
    reorder_instructions,
    metadata,
    renumber_channels,
    shuffle_json,
    permute_fusion_parameters,
    copy_computations,
)
