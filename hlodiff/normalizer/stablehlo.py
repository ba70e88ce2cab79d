"""StableHLO passes: merge private functions and name them by content; name values, sort sets, drop labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256

from hlodiff.hlo.fingerprint import computation_hashes
from hlodiff.hlo.grammar import STRING
from hlodiff.hlo.model import (
    Computation,
    Instruction,
    Module,
    is_captured,
    is_function,
    map_attribute,
    map_instructions,
    region_title,
    shared_names,
    split_operands,
    with_attributes,
    with_computations,
)
from hlodiff.hlo.traversal import preorder
from hlodiff.normalizer.attributes import sorted_pairs


def text_order(module: Module) -> Iterator[tuple[int, int]]:
    """(computation, position) of every instruction: functions as first called, regions at their operation.

    Uncalled functions come last, in the module's order, and so do regions whose operations are not in the module.
    """
    known = [computation for function in called_order(module) for computation in owned(module, function)]
    for computation in dict.fromkeys((*known, *range(len(module.computations)))):
        for position in range(len(module.computations[computation].instructions)):
            yield computation, position


def called_order(module: Module) -> list[int]:
    """Indices of the functions: the entry, then each at its first call, then the uncalled ones."""
    others = [n for n, c in enumerate(module.computations) if is_function(c) and n != module.entry]
    return preorder((module.entry, *others), lambda function: functions_called(module, function))


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

    How many copies of a function JAX prints depends on what it traced before.
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
        target: for each function the one to call instead.
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
    """Name private functions after their result opcode and a hash of their own instructions: `@select_3fa2c1`.

    The name does not depend on callees, so an edit in one function does not rename its callers.
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
                kept = it.opcode, it.shape, it.operands, it.results, it.attributes, it.literal
                state.update(repr((*kept, [key for key, _ in it.calls])).encode())
        state.update(b"|")
    return state.hexdigest()


# --- The pass `value_names`: SSA names derived from content, by colour refinement.
#
# An operation is named after its opcode if its function has only one of them, otherwise after the smallest
# neighbourhood (opcodes of operands and users, then theirs, ...) that no other has. So an edit renames its neighbours
# and no distant line. Shapes and attributes are not in the names: changing one changes one line.

RADIUS = 8  # reaches the weights from every operation of one transformer layer; beyond it, equal ones are numbered
# Regions that compute one element or compare two: their names are separate and may repeat from region to region.
_SMALL = frozenset(
    ["reduce", "reduce_window", "scatter", "select_and_scatter", "sort", "map", "all_reduce", "reduce_scatter"]
)
_SPLAT = re.compile(r"dense<([-+.\w]+)>")
_OUTSIDE = (-1, 0)


@dataclass(slots=True)
class _Node:
    """One operation or argument of a function or of a region in it."""

    computation: int
    position: int
    prefix: str
    operands: list[tuple[int, int]]


def name_values(module: Module) -> tuple[Module, int]:
    """Name the operations and arguments of every function and region."""
    names: dict[tuple[int, int], str] = {}
    for index, computation in enumerate(module.computations):
        if is_function(computation):
            # The first list is the function, each further one a small region of it; a captured value is its outer
            # value.
            scopes: list[list[_Node]] = [[]]
            _collect(module, index, "", {}, [], scopes, scopes[0])
            for nodes in scopes:
                for node, name in zip(nodes, _unique_names(nodes), strict=True):
                    it = module.computations[node.computation].instructions[node.position]
                    # An operation without results has no SSA name; reports show its opcode.
                    names[node.computation, node.position] = name if node.prefix else it.opcode.rpartition(".")[2]
    computations = list(module.computations)
    for index, computation in enumerate(module.computations):
        if is_function(computation):
            _apply(module, index, computation.name, computations, names, {})
    count = sum(
        new.name != old.name
        for c, d in zip(computations, module.computations, strict=True)
        for new, old in zip(c.instructions, d.instructions, strict=True)
    )
    same = all(c.name == d.name for c, d in zip(computations, module.computations, strict=True))
    return (module, 0) if same and not count else (with_computations(module, computations), count)


def _apply(
    module: Module, index: int, title: str, out: list[Computation], names: dict[tuple[int, int], str],
    outer: dict[int, str],
) -> None:  # fmt: skip
    """Name one computation and the regions in it; `outer` are the names of captured values by parameter position."""
    computation = module.computations[index]
    found = [outer.get(n, names.get((index, n), it.name)) for n, it in enumerate(computation.instructions)]
    found[computation.root] = names[index, computation.root]  # the only operation of a reducer without an SSA name
    for position, it in enumerate(computation.instructions):
        regions = [n for n in it.called if not is_function(module.computations[n])]
        if not regions:
            continue
        inside, _ = split_operands(module, it)
        values = [_value_name(computation, found, operand, result) for operand, result in it.reads]
        captured = iter(values[inside:])
        named = replace(it, name=found[position])
        for number, region in enumerate(regions):
            region_name = region_title(it.opcode, number, len(regions))
            below = module.computations[region]
            free = {n: next(captured) for n in below.parameters if is_captured(below.instructions[n])}
            renamed = [_with_names(module.computations[n], n, names) for n in regions]
            _apply(
                module, region, f"{title}.{found[position]}.{region_name}", out, names,
                {**shared_names(named, renamed, number), **free},
            )  # fmt: skip
    instructions = tuple(
        it if it.name == name else replace(it, name=name)
        for it, name in zip(computation.instructions, found, strict=True)
    )
    out[index] = replace(computation, name=title, instructions=instructions)


def _with_names(computation: Computation, index: int, names: dict[tuple[int, int], str]) -> Computation:
    instructions = (replace(it, name=names.get((index, n), it.name)) for n, it in enumerate(computation.instructions))
    return replace(computation, instructions=tuple(instructions))


def _value_name(computation: Computation, found: Sequence[str], operand: int, result: int) -> str:
    several = len(computation.instructions[operand].shape.tuple_shapes) > 1
    return f"{found[operand]}.{result}" if several else found[operand]


def _collect(
    module: Module, index: int, owner: str, captured: dict[int, tuple[int, int]],
    initial: Sequence[tuple[int, int]], scopes: list[list[_Node]], nodes: list[_Node],
) -> None:  # fmt: skip
    """Append the nodes of one computation; `initial` are the initial values of a loop's arguments."""
    computation = module.computations[index]
    place: dict[int, tuple[int, int]] = dict(captured)
    for position, it in enumerate(computation.instructions):
        if position in place:
            continue
        own: list[tuple[int, int]] = []
        if it.opcode == "parameter":
            number = it.number
            own = [initial[number]] if number < len(initial) else []
        else:
            own = [(place[operand][0], place[operand][1] or result) for operand, result in it.reads]
        place[position] = (len(nodes), 0)
        inside, _ = split_operands(module, it)
        silent = it.shape.element_type == "tuple" and not it.shape.tuple_shapes
        known = [value for value in own[:inside] if value != _OUTSIDE]
        nodes.append(_Node(index, position, "" if silent else _prefix(module, it, owner), known))
        outer = iter(own[inside:])
        for region in (n for n in it.called if not is_function(module.computations[n])):
            below = module.computations[region]
            free = {n: next(outer) for n in below.parameters if is_captured(below.instructions[n])}
            if it.opcode in _SMALL:
                scopes.append([])
                _collect(module, region, it.opcode, dict.fromkeys(free, _OUTSIDE), [], scopes, scopes[-1])
            else:
                starts = own[:inside] if it.opcode == "while" else []
                _collect(module, region, it.opcode, free, starts, scopes, nodes)


def _prefix(module: Module, it: Instruction, owner: str) -> str:
    """The readable part of a name: arguments by position, loop arguments `carry`, constants by value."""
    if it.opcode == "parameter":
        return {"": f"arg{it.literal}", "while": "carry"}.get(
            owner, f"{'a' if owner in _SMALL else 'local'}{it.literal}"
        )
    if owner in _SMALL:
        return f"in_{it.opcode.rpartition('.')[2]}"
    if it.opcode == "constant":
        return f"c_{_value(it.literal or '')}"
    if it.opcode == "reduce" and it.called:
        body = module.computations[it.called[0]].instructions
        return f"reduce_{body[2].opcode}" if len(body) == 4 else "reduce"
    target = it.attribute("call_target_name") if it.opcode == "custom_call" else None
    return re.sub(r"\W+", "_", target.strip('"')).strip("_") if target else it.opcode.rpartition(".")[2]


def _value(literal: str) -> str:
    splat = _SPLAT.fullmatch(literal)
    if splat is None:
        return "table"
    try:
        return f"{float(splat[1]):.6g}".replace("+", "") if not splat[1].startswith("0x") else splat[1]
    except ValueError:
        return splat[1]


def _unique_names(nodes: Sequence[_Node]) -> list[str]:
    names = [""] * len(nodes)
    labels = [_hash(node.prefix.encode()) for node in nodes]  # the prefix of operations without results is empty
    users: list[list[tuple[int, int]]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        for slot, (operand, _) in enumerate(node.operands):
            users[operand].append((number, slot))
    open_ = list(range(len(nodes)))
    for radius in range(RADIUS + 1):
        groups: dict[tuple[str, bytes], list[int]] = {}
        for n in open_:
            groups.setdefault((nodes[n].prefix, labels[n]), []).append(n)
        for (prefix, label), group in groups.items():
            if len(group) == 1:
                names[group[0]] = f"{prefix}_{label.hex()[:4]}" if radius else prefix
        open_ = [n for n in open_ if not names[n]]
        if not open_ or radius == RADIUS:
            break
        out = []
        for number, node in enumerate(nodes):
            parts = [labels[number], b"o"]
            parts += [labels[o] + result.to_bytes(2, "little") for o, result in node.operands]
            parts.append(b"u")
            parts += sorted(labels[u] + slot.to_bytes(2, "little") for u, slot in users[number])
            out.append(_hash(b"".join(parts)))
        labels = out
    counts: dict[tuple[str, bytes], int] = {}
    for n in open_:
        key = (nodes[n].prefix, labels[n])
        number = counts[key] = counts.get(key, 0) + 1
        names[n] = f"{nodes[n].prefix}_{labels[n].hex()[:4]}_{number}"
    # Add a letter to later names where four hex digits coincide. Names inside reducers may repeat.
    used: dict[str, int] = {}
    for number, name in enumerate(names):
        if name in used:
            names[number] = f"{name}{chr(ord('a') + used[name] % 26)}{used[name] // 26 or ''}"
        used[name] = used.get(name, 0) + 1
    return names


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=8).digest()


_NAMES = re.compile(STRING)


def sort_sets(module: Module) -> tuple[Module, int]:
    """Sort `manual_axes` of `sdy.manual_computation` by name, and the pairs of a `collective_permute`."""
    sorted_axes, axes = map_attribute(module, "manual_axes", _sorted)
    found, pairs = map_attribute(sorted_axes, "source_target_pairs", sorted_pairs)
    return found, axes + pairs


def _sorted(text: str) -> str:
    names = iter(sorted(_NAMES.findall(text)))
    return _NAMES.sub(lambda _: next(names), text)


_LABELS = frozenset(["jax.result_info", "jax.arg_info"])


def drop_labels(module: Module) -> tuple[Module, int]:
    """Drop `jax.result_info` and `jax.arg_info`; the positions of arguments and results stay."""
    return map_instructions(module, _without_labels)


def _without_labels(it: Instruction) -> Instruction:
    keys = [key.partition(".")[2] if key.startswith("result") else key for key, _ in it.attributes]
    kept = tuple(pair for pair, key in zip(it.attributes, keys, strict=True) if key not in _LABELS)
    return it if len(kept) == len(it.attributes) else with_attributes(it, kept)
