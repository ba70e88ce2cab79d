"""The passes `equal_functions` and `function_names`: private functions are merged and named by content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

from hlodiff.hlo.fingerprint import computation_hashes
from hlodiff.hlo.model import Computation, Instruction, Module
from hlodiff.hlo.stablehlo_printer import is_captured, is_function
from hlodiff.normalizer.rewrite import with_computations


def text_order(module: Module) -> Iterator[tuple[int, int]]:
    """(computation, position) of every instruction: functions as first called, regions at their operation.

    Uncalled functions come last, in the module's order.
    """
    for function in called_order(module):
        for computation in owned(module, function):
            for position in range(len(module.computations[computation].instructions)):
                yield computation, position


def called_order(module: Module) -> list[int]:
    """Indices of the functions: the entry, then each at its first call, then the uncalled ones."""
    order: dict[int, None] = {}
    others = [n for n, c in enumerate(module.computations) if is_function(c) and n != module.entry]
    for start in (module.entry, *others):
        stack = [start]
        while stack:
            function = stack.pop()
            if function not in order:
                order[function] = None
                stack.extend(reversed(list(functions_called(module, function))))
    return list(order)


def functions_called(module: Module, function: int) -> Iterator[int]:
    """The functions that a function and its regions call, in text order, with repetitions."""
    for computation in owned(module, function):
        for it in module.computations[computation].instructions:
            yield from (n for n in it.called if is_function(module.computations[n]))


def owned(module: Module, function: int) -> Iterator[int]:
    """A function and all regions in it, each owner before its regions."""
    yield function
    for it in module.computations[function].instructions:
        for called in it.called:
            if not is_function(module.computations[called]):
                yield from owned(module, called)


def merge_functions(module: Module) -> tuple[Module, int]:
    """Keep one of each group of equal private functions, in the order of first calls.

    How often a function is printed depends on what JAX had traced before.
    """
    hashes = computation_hashes(module)
    first: dict[str, int] = {}
    target: dict[int, int] = {}
    order = called_order(module)
    for index in order:
        target[index] = first.setdefault(hashes[index], index) if _is_private(module, index) else index
    kept = [index for index in order if target[index] == index]
    if kept == [n for n, c in enumerate(module.computations) if is_function(c)]:
        return module, 0
    return arranged(module, kept, target), len(order) - len(kept)


def arranged(module: Module, functions: list[int], target: dict[int, int]) -> Module:
    """The module with these functions in this order, then their regions as the reader numbers them.

    Args:
        module: a StableHLO module.
        functions: indices of the functions to keep, in order.
        target: for each function the one to call in its place.
    """
    new = {index: number for number, index in enumerate(functions)}
    for function in functions:
        for region in _regions_inner_first(module, function):
            new[region] = len(new)
    computations: list[Computation | None] = [None] * len(new)
    for old, number in new.items():
        computation = module.computations[old]
        instructions = tuple(
            replace(it, calls=tuple((k, tuple(new[target.get(c, c)] for c in group)) for k, group in it.calls))
            if it.calls
            else it
            for it in computation.instructions
        )
        computations[number] = replace(computation, instructions=instructions)
    found = with_computations(module, [c for c in computations if c is not None])
    return replace(found, entry=new[module.entry])


def _regions_inner_first(module: Module, computation: int) -> list[int]:
    found = []
    for it in module.computations[computation].instructions:
        for called in it.called:
            if not is_function(module.computations[called]):
                found += [*_regions_inner_first(module, called), called]
    return found


def name_functions(module: Module) -> tuple[Module, int]:
    """Name private functions after their result and a hash of their own instructions: `@select_3fa2c1`.

    What a callee does is not in the name, so that an edit in one function does not rename all that call it.
    """
    private = [n for n in range(len(module.computations)) if _is_private(module, n)]
    names = {n: f"{_result_opcode(module.computations[n])}_{_own_hash(module, n)[:6]}" for n in private}
    taken: dict[str, list[int]] = {}
    for index, name in names.items():
        taken.setdefault(name, []).append(index)
    if clashes := [group for group in taken.values() if len(group) > 1]:
        hashes = computation_hashes(module)
        for group in clashes:
            for index in group:
                names[index] += f"_{hashes[index][:6]}"
    named = [replace(c, name=names[n]) if n in names else c for n, c in enumerate(module.computations)]
    count = sum(new.name != old.name for new, old in zip(named, module.computations, strict=True))
    return (with_computations(module, named) if count else module), count


def _is_private(module: Module, index: int) -> bool:
    computation = module.computations[index]
    return index != module.entry and ("visibility", "private") in computation.attributes


def _result_opcode(computation: Computation) -> str:
    root = computation.instructions[computation.root]
    if not root.operands:
        return "nothing"
    opcode = computation.instructions[root.operands[0]].opcode
    return {"parameter": "identity"}.get(opcode, opcode.rpartition(".")[2])


def _own_hash(module: Module, function: int) -> str:
    state = sha256()
    for index in owned(module, function):
        for it in module.computations[index].instructions:
            if not is_captured(it):
                state.update(repr(_own(it)).encode())
        state.update(b"|")
    return state.hexdigest()


def _own(it: Instruction) -> tuple[object, ...]:
    return it.opcode, it.shape, it.operands, it.results, it.attributes, it.literal, [key for key, _ in it.calls]
