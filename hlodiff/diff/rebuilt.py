"""One computation of the replayed program: what survives of the old one, and what the script does to it.

Knows nothing of how the script was found. Instructions go by their places in the new computation, which is only a way
to name them: what stands there is never looked at while rebuilding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hlodiff.diff.script import BINDS, Added, Arrived, Calls, Changed, Pair, Removed, Script, Setting, Step, Value, Wire
from hlodiff.ir.model import Computation, Instruction, Layout, Shape

ROOT = -1


@dataclass(slots=True)
class Node:
    """One instruction of the replayed program.

    Args:
        opcode, shape, literal, attributes: its fields; a parameter's number is `number`.
        operands: what it reads; None where something that is gone is still read.
        control: control predecessors, -1 for one that is gone.
        calls: what it calls, as indices of pairs.
        old: the old place of a survivor, -1 for what came.
        settled: attributes that a step has set.
        facts: what a step says of the module at this instruction: donation, the thread of what is called.
        moved: (old, new) numbers of operands that were there before.
        slots: how many operands there were.
        is_copy: it is an old instruction, surviving or moved, with what steps have set.
        is_rewired: a step gave it all operands anew.
    """

    opcode: str
    shape: Shape
    literal: str | None
    attributes: dict[str, str]
    operands: list[Value | None] = field(default_factory=list)
    control: list[int] = field(default_factory=list)
    calls: Calls = ()
    old: int = -1
    settled: list[str] = field(default_factory=list)
    facts: dict[str, str | None] = field(default_factory=dict)
    moved: list[tuple[int, int]] = field(default_factory=list)
    slots: int = 0
    is_copy: bool = False
    is_rewired: bool = False


@dataclass(slots=True)
class Rebuilt:
    """A computation after all steps that concern it.

    Args:
        pair: which one; `index` in the script.
        nodes: by place in the new computation.
        root: place of what it returns, None where that is gone.
        removed: old places that edits took away.
        failures: steps that could not be carried out, in words.
    """

    index: int
    pair: Pair
    old: Computation | None
    nodes: dict[int, Node] = field(default_factory=dict)
    root: int | None = None
    removed: set[int] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    def name(self, place: int) -> str:
        """An old instruction, for messages."""
        return named(self.old, place) if self.old else "nothing"


def named(owner: Computation, place: int) -> str:
    """`%tanh.3 (tanh) of %fused`."""
    it = owner.instructions[place]
    return f"%{it.name} ({it.opcode}) of %{owner.name}"


def rebuild(script: Script, index: int, steps: Sequence[Step]) -> Rebuilt:
    """Carry out the steps of one pair of computations.

    Args:
        script: the script, for the old program and for the pairs that are called.
        index: which pair.
        steps: its steps.
    """
    pair = script.pairs[index]
    made = Rebuilt(index, pair, script.old.computations[pair.old] if pair.old >= 0 else None)
    wires = _wires(pair, steps)
    _survive(script, made)
    _arrive(script, made, steps)
    made.removed.update(step.old for step in steps if isinstance(step, Removed))
    for place, node in made.nodes.items():
        if node.old >= 0:
            _connect(script, made, place, node, wires.get(place, []))
    made.root = _root(made, wires.get(ROOT, []))
    for step in steps:
        if isinstance(step, Changed):
            _change(made, step)
            made.root = next((s.places[0] for s in step.settings if s.what == "root"), made.root)
    return made


def _wires(pair: Pair, steps: Iterable[Step]) -> dict[int, list[Wire]]:
    found: dict[int, list[Wire]] = {}
    for wire in (*pair.arguments, *(w for s in steps if isinstance(s, Removed | Added | Arrived) for w in s.wires)):
        found.setdefault(wire.user, []).append(wire)
    return found


def _survive(script: Script, made: Rebuilt) -> None:
    calls, elements = dict(made.pair.calls), dict(made.pair.elements)
    for one, other in enumerate(made.pair.partners):
        if other < 0 or made.old is None:
            continue
        it = made.old.instructions[one]
        if other in made.nodes:
            made.failures.append(f"two old instructions are one new one: {made.name(one)}")
        made.nodes[other] = _node(it, [made.pair.partners[p] for p in it.control_predecessors])
        made.nodes[other].old = one
        _renumber(
            made.nodes[other], {} if not it.operands else dict(elements.get(made.pair.partners[it.operands[0]], ()))
        )
        made.nodes[other].calls = calls.get(other, ())
        made.nodes[other].is_copy = True
        made.nodes[other].slots = len(it.operands)


def _renumber(node: Node, elements: dict[int, int]) -> None:
    """What takes a tuple apart takes the element that it took, whatever its number is now."""
    number = node.attributes.get("index", "")
    if node.opcode == "get-tuple-element" and number.isdigit() and int(number) in elements:
        node.attributes["index"] = str(elements[int(number)])


def _node(it: Instruction, control: Iterable[int]) -> Node:
    return Node(it.opcode, it.shape, it.literal, dict(it.attributes), control=list(control))


def _arrive(script: Script, made: Rebuilt, steps: Iterable[Step]) -> None:
    for place, it in made.pair.came:
        made.nodes[place] = _node(it, ())
    for step in steps:
        if isinstance(step, Added):
            node = _node(step.instruction, step.instruction.control_predecessors)
            results = step.instruction.results or (0,) * len(step.instruction.operands)
            node.operands = list(zip(step.instruction.operands, results, strict=True))
        elif isinstance(step, Arrived):
            node = _node(script.old.computations[step.source[0]].instructions[step.source[1]], step.control)
            node.operands = list(step.operands)
            node.is_copy = True
            for setting in step.settings:
                apply(node, setting)
        else:
            continue
        node.calls = step.calls
        if step.new in made.nodes and made.nodes[step.new].old >= 0:
            made.failures.append(f"an instruction is said to have come where one survives: {node.opcode}")
        made.nodes[step.new] = node


def _connect(script: Script, made: Rebuilt, place: int, node: Node, wires: Sequence[Wire]) -> None:
    """Operands of a survivor: those that it had, in order or as its parameters are numbered now, but for the wires."""
    assert made.old is not None
    it = made.old.instructions[node.old]
    results = it.results or (0,) * len(it.operands)
    numbers = through(script, it, node.calls)
    cut = {wire.slot for wire in wires if wire.slot is not None}
    placed: dict[int, tuple[int | None, Value | None]] = {
        wire.place: (wire.slot, wire.reads) for wire in wires if wire.place is not None
    }
    loose: list[tuple[int, Value | None]] = []
    for slot, (operand, result) in enumerate(zip(it.operands, results, strict=True)):
        if slot in cut:
            continue
        partner = made.pair.partners[operand]
        value = (partner, result) if partner >= 0 else None
        if numbers is None:
            loose.append((slot, value))
        else:
            placed[numbers.get(slot, len(it.operands) + slot)] = (slot, value)  # too many: it shows when compared
    free = [n for n in range(len(placed) + len(loose)) if n not in placed]
    placed.update(zip(free, loose, strict=False))
    ordered = [placed[n] for n in sorted(placed)]
    node.operands = [value for _, value in ordered]
    node.moved = [(slot, n) for n, (slot, _) in enumerate(ordered) if slot is not None]


def through(script: Script, it: Instruction, calls: Calls) -> dict[int, int] | None:
    """New numbers of operands by the parameters they are bound to; None where they stay in order."""
    for ref in (ref for _, refs in calls for ref in refs) if it.opcode in BINDS else ():
        pair = script.pairs[ref]
        if pair.old >= 0 and pair.new >= 0:
            olds = script.old.computations[pair.old].parameters()
            if len(olds) == len(it.operands):
                number = {place: n for n, place in enumerate(script.new.computations[pair.new].parameters())}
                return {n: number[pair.partners[p]] for n, p in enumerate(olds) if pair.partners[p] in number}
    return None


def _root(made: Rebuilt, wires: Sequence[Wire]) -> int | None:
    if made.old is None:
        return made.pair.root
    for wire in wires:
        if wire.reads is not None:
            return wire.reads[0]
    partner = made.pair.partners[made.old.root]
    return partner if partner >= 0 else None


def _change(made: Rebuilt, step: Changed) -> None:
    node = made.nodes.get(step.new)
    if node is None:
        made.failures.append(f"nothing is there to be changed in %{made.old.name if made.old else ''}")
        return
    before = _state(node)
    for setting in step.settings:
        apply(node, setting)
    if step.operands is not None:
        node.operands = list(step.operands)
        node.is_rewired = True
    if _state(node) == before and not any(
        name in node.settled for name in ("thread", "donation", "channel_id", "root")
    ):
        made.failures.append(f"an edit of {made.name(node.old)} changes nothing")


def _state(node: Node) -> tuple[object, ...]:
    """What a step may set."""
    fields = (node.opcode, node.shape, node.literal, tuple(node.attributes.items()))
    return (*fields, tuple(node.control), tuple(node.operands))


def apply(node: Node, setting: Setting) -> None:
    """Set one field and nothing else."""
    what, _, name = setting.what.partition(":")
    if what == "opcode":
        node.opcode = setting.text or ""
    elif what in ("literal", "number"):
        node.literal = setting.text
        node.settled.append(what)
    elif what == "control":
        node.control = list(setting.places)
    elif what == "attribute":
        if setting.text is None:
            node.attributes.pop(name, None)
        else:
            node.attributes[name] = setting.text
        node.settled.append(name)
    elif what == "shape":
        (node.shape,) = setting.leaves
    elif setting.leaves:
        node.shape = _with_leaves(node.shape, what, iter(setting.leaves))
    else:
        node.settled.append(what)  # facts of the module: donation, execution thread
        node.facts[setting.what] = setting.text


def _with_leaves(shape: Shape, what: str, leaves: Iterator[Shape]) -> Shape:
    if shape.element_type == "tuple":
        return replace(shape, tuple_shapes=tuple(_with_leaves(part, what, leaves) for part in shape.tuple_shapes))
    leaf = next(leaves)
    space = shape.layout.memory_space if shape.layout else 0
    if what == "element_type":
        return replace(shape, element_type=leaf.element_type)
    if what == "dimensions":
        layout = leaf.layout and replace(leaf.layout, memory_space=space)
        if leaf.dimensions == shape.dimensions:
            layout = shape.layout
        return replace(shape, dimensions=leaf.dimensions, dynamic=leaf.dynamic, layout=layout)
    if what == "layout":
        return replace(shape, layout=None if leaf.layout is None else replace(leaf.layout, memory_space=space))
    kept = shape.layout or Layout(tuple(range(len(shape.dimensions)))[::-1])
    return replace(shape, layout=replace(kept, memory_space=leaf.layout.memory_space if leaf.layout else 0))
