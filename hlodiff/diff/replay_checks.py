"""Is a replayed computation the new one? Every field, every edge, and what it calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from hlodiff.diff.rebuilt import Node, Rebuilt, named, through
from hlodiff.diff.script import BINDS, Script, Value
from hlodiff.ir.model import Computation, Instruction, Layout, Shape

_COMMUTATIVE = frozenset(["add", "multiply", "maximum", "minimum", "and", "or", "xor"])
_SILENT = "and no edit says so"


def check(script: Script, made: Rebuilt, others: Sequence[Rebuilt]) -> Iterator[str]:
    """Where a replayed computation is another one than the new program has.

    Args:
        script: the script.
        made: the replayed computation.
        others: all replayed computations, by pair.

    Yields:
        one sentence for each place.
    """
    yield from _check_accounted(made)
    if made.pair.new < 0:
        return
    new = script.new.computations[made.pair.new]
    if made.root != new.root:
        yield f"%{new.name} returns {named(new, new.root)}, {_SILENT}"
    for place, it in enumerate(new.instructions):
        node = made.nodes.get(place)
        if node is None:
            yield f"{named(new, place)} is not there after all edits: none adds it"
            continue
        where = made.name(node.old) if node.old >= 0 else named(new, place)
        for what, ours, theirs in _differences(script, node, it):
            yield f"{where}: {what} is {ours}, in the new program it is {theirs}, {_SILENT}"
        yield from _check_calls(script, made, node, it, where, others)
    if made.index == 0:
        yield from _check_numbers(made, new)


def _check_accounted(made: Rebuilt) -> Iterator[str]:
    """Every old instruction survives, or an edit took it away, or it is a parameter that went with its readers."""
    if made.old is None:
        return
    went = set(made.pair.went)
    for place, partner in enumerate(made.pair.partners):
        if partner < 0 and place not in made.removed and place not in went:
            yield f"{made.name(place)} is not in the new program, and no edit removes it"
    for place in made.pair.went:
        if made.index == 0 or made.old.instructions[place].opcode != "parameter":
            yield f"{made.name(place)} went without an edit"


def _differences(script: Script, node: Node, it: Instruction) -> Iterator[tuple[str, str, str]]:
    if node.opcode != it.opcode:
        yield "opcode", node.opcode, it.opcode
    if node.shape != it.shape and _spelled_out(node.shape) != _spelled_out(it.shape):
        yield "shape", _words(node.shape), _words(it.shape)
    if it.opcode != "parameter" and node.literal != it.literal:
        yield "literal", node.literal or "none", it.literal or "none"
    yield from _attribute_differences(node, it)
    if sorted(node.control) != sorted(it.control_predecessors):
        yield "the list of control predecessors", str(len(node.control)), str(len(it.control_predecessors))
    results = it.results or (0,) * len(it.operands)
    theirs: list[Value] = list(zip(it.operands, results, strict=True))
    ours = node.operands
    if ours != theirs and not (is_commutative(it) and ours[::-1] == theirs):
        number = next(
            (n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs))
        )
        yield f"operand {number} of {len(ours)}", _reads(ours, number), _reads(theirs, number)


def _reads(operands: Sequence[Value | None], number: int) -> str:
    if number >= len(operands):
        return "none"
    value = operands[number]
    return "gone" if value is None else f"new instruction {value[0]}"


def is_commutative(it: Instruction) -> bool:
    """Where two operands in the other order are no difference, as the differ states it."""
    if len(it.operands) != 2:
        return False
    if it.opcode == "compare":
        direction = it.attribute("direction") or it.attribute("comparison_direction") or ""
        return direction.rstrip(">")[-2:] in ("EQ", "NE")
    return it.opcode in _COMMUTATIVE


def _spelled_out(shape: Shape) -> object:
    """A shape in which arrays without a layout have the one that they have by default."""
    if shape.tuple_shapes:
        return (shape.element_type, *map(_spelled_out, shape.tuple_shapes))
    layout = shape.layout
    if layout is None and shape.is_array:
        layout = Layout(tuple(range(len(shape.dimensions)))[::-1])
    return (shape.element_type, shape.dimensions, shape.dynamic, shape.is_array, layout)


def _words(shape: Shape) -> str:
    if shape.tuple_shapes:
        return "(" + ", ".join(map(_words, shape.tuple_shapes)) + ")"
    layout = shape.layout
    tail = "" if layout is None else f"{{{','.join(map(str, layout.minor_to_major))}:{layout.tiling}{layout.other}"
    space = f"S({layout.memory_space})}}" if layout is not None else ""
    return f"{shape.element_type}[{','.join(map(str, shape.dimensions))}]{tail}{space}"


def _attribute_differences(node: Node, it: Instruction) -> Iterator[tuple[str, str, str]]:
    theirs = dict(it.attributes)
    ours = node.attributes
    if ours == theirs:
        return
    for name in sorted({*ours, *theirs}):
        a, b = ours.get(name), theirs.get(name)
        if a == b:
            continue
        if name == "channel_id" and a and b and name not in node.settled and node.is_copy:
            continue  # a number means nothing; who shares it is looked at for the whole module
        if name == "backend_config" and a and b and _same_but_numbers(node, it, a, b):
            continue
        yield name, a if a is not None else "none", b if b is not None else "none"


def _same_but_numbers(node: Node, it: Instruction, ours: str, theirs: str) -> bool:
    """Configurations that count operands, and results after them, by other numbers than before."""
    configs: list[Any] = []
    for text in (ours, theirs):
        try:
            configs.append(json.loads(text))
        except ValueError:
            return False
    if not all(isinstance(config, dict) and isinstance(config.get("aliasing_operands"), dict) for config in configs):
        return False
    lists = [config.pop("aliasing_operands") for config in configs]
    if configs[0] != configs[1]:
        return False
    slots = dict(node.moved)
    results = max(1, len(it.shape.tuple_shapes))
    slots |= {node.slots + n: len(it.operands) + n for n in range(results)}
    groups = [[[int(n) for n in entry["indices"]] for entry in one["lists"]] for one in lists]
    return sorted(sorted(slots.get(n, -1) for n in group) for group in groups[0]) == sorted(map(sorted, groups[1]))


def _check_calls(
    script: Script, made: Rebuilt, node: Node, it: Instruction, where: str, others: Sequence[Rebuilt]
) -> Iterator[str]:
    """What is called is what the new program calls, and each pair of computations is proved on its own."""
    if not node.calls and not it.calls and (made.old is None or node.old < 0):
        return
    found = tuple((name, tuple(script.pairs[ref].new for ref in refs)) for name, refs in node.calls)
    if found != it.calls:
        yield f"{where} calls other computations than in the new program"
        return
    if made.old is None or node.old < 0:
        return
    before = made.old.instructions[node.old]
    if node.calls or before.calls:
        yield from _check_bindings(script, made, node, before, where)
        yield from _check_continuity(script, node, before, where, others)


def _check_bindings(script: Script, made: Rebuilt, node: Node, before: Instruction, where: str) -> Iterator[str]:
    """Parameters are numbered as the operands of their caller are, or as they were."""
    if node.is_rewired:
        return
    numbers = through(script, before, node.calls)
    for name, refs in node.calls:
        for pair in (script.pairs[ref] for ref in refs):
            if pair.old < 0:
                continue
            olds, news = (
                module.computations[index].parameters()
                for module, index in ((script.old, pair.old), (script.new, pair.new))
            )
            place = {p: n for n, p in enumerate(news)}
            bound = {n: place[pair.partners[p]] for n, p in enumerate(olds) if pair.partners[p] in place}
            binds = before.opcode in BINDS and len(olds) == len(before.operands)
            if (bound != numbers) if binds else (bound != {n: n for n in range(max(len(olds), len(news)))}):
                yield f"{where}: the parameters of what it calls through {name} are exchanged, {_SILENT}"


def _check_continuity(
    script: Script, node: Node, before: Instruction, where: str, others: Sequence[Rebuilt]
) -> Iterator[str]:
    """A survivor calls what it called; what it calls besides, or no longer, an edit must tell of."""
    theirs = dict(node.calls)
    for name, group in before.calls:
        refs = theirs.get(name, ())
        if any(script.pairs[ref].old not in (callee, -1) for callee, ref in zip(group, refs, strict=False)):
            yield f"{where} calls another computation through {name}, {_SILENT}"
        if len(refs) < len(group) and node.opcode == before.opcode and "opcode" not in node.settled:
            gone = [one for one in others if one.pair.new < 0 and one.pair.old in group[len(refs) :]]
            if not any(one.removed for one in gone):
                yield f"{where} calls less than it did through {name}, {_SILENT}"
    for name, refs in node.calls:
        for ref in refs:
            if script.pairs[ref].old < 0 and not any(n.opcode != "parameter" for n in others[ref].nodes.values()):
                yield f"{where} calls more than it did through {name}, {_SILENT}"


def _check_numbers(made: Rebuilt, new: Computation) -> Iterator[str]:
    """Arguments have the number that an edit gives them, or that they had, or their rank among those that survive."""
    assert made.old is not None
    kept = [(made.pair.partners[p], made.old.instructions[p]) for p in made.old.parameters()]
    kept = [(place, it) for place, it in kept if place >= 0 and made.nodes[place].opcode == "parameter"]
    ranks = {
        place: n for n, place in enumerate(sorted((p for p, _ in kept), key=lambda p: _number(new.instructions[p])))
    }
    for rank, (place, it) in enumerate(kept):
        wanted = _number(new.instructions[place])
        if "number" in made.nodes[place].settled:
            if int(made.nodes[place].literal or 0) != wanted:
                yield f"%{it.name} is said to be argument {made.nodes[place].literal} and is argument {wanted}"
        elif _number(it) != wanted and ranks[place] != rank:
            yield f"%{it.name} was argument {_number(it)} and is argument {wanted}, {_SILENT}"


def _number(parameter: Instruction) -> int:
    return int(parameter.literal or 0)
