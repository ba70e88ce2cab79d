"""A program as linked nodes, which can be edited and shuffled while each node keeps its identity.

`take_apart` and `put_together` convert a Module to a Workpiece and back. Names and positions may all change in between:
true edits refer to the old place of a node (`Node.old`) and to its new place (returned by `put_together`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hlodiff.hlo.model import Computation, Frame, Instruction, Module, Shape, Stage, is_captured

Place = tuple[int, int]  # index of the computation, index of the instruction


@dataclass(slots=True, eq=False)
class Node:
    """One instruction. Its operands, calls and control predecessors are links; those of `record` are ignored."""

    record: Instruction
    operands: list[Node] = field(default_factory=list)
    control: list[Node] = field(default_factory=list)
    calls: list[tuple[str, list[Body]]] = field(default_factory=list)
    old: Place | None = None

    @property
    def opcode(self) -> str:
        return self.record.opcode

    @property
    def shape(self) -> Shape:
        return self.record.shape

    @property
    def callees(self) -> list[Body]:
        return [body for _, group in self.calls for body in group]

    def set_attribute(self, name: str, value: str | None) -> None:
        """Replace, add or (None) drop an attribute."""
        pairs = [(k, value if k == name else v) for k, v in self.record.attributes]
        if value is not None and self.record.attribute(name) is None:
            pairs.append((name, value))
        kept = tuple((k, v) for k, v in pairs if v is not None)
        self.record = replace(self.record, attributes=kept)

    def __repr__(self) -> str:
        return f"<{self.record.name} {self.opcode}>"


@dataclass(slots=True, eq=False)
class Body:
    """One computation."""

    record: Computation
    nodes: list[Node]
    root: Node

    def users(self, node: Node) -> list[Node]:
        """Nodes that have `node` among their operands, in order."""
        return [user for user in self.nodes if any(operand is node for operand in user.operands)]

    def parameters(self) -> list[Node]:
        """The parameters, sorted by number."""
        found = [node for node in self.nodes if node.opcode == "parameter"]
        return sorted(found, key=lambda node: int(node.record.literal or 0))


@dataclass(slots=True, eq=False)
class Workpiece:
    """One program as linked nodes."""

    name: str
    stage: Stage
    bodies: list[Body]
    entry: Body
    attributes: list[tuple[str, str]]
    frames: tuple[Frame, ...] = ()
    sizes: int = 0  # the number of nodes made so far, for fresh names

    def walk(self) -> Iterator[tuple[Body, Node]]:
        """Every node with its body, in order."""
        for body in self.bodies:
            for node in body.nodes:
                yield body, node

    def call_sites(self, body: Body) -> list[tuple[Body, Node]]:
        """The nodes that call a body, each with its own body."""
        return [(owner, node) for owner, node in self.walk() if any(callee is body for callee in node.callees)]

    def all_call_sites(self) -> dict[int, list[Node]]:
        """The callers of each body by its `id`, for functions that need those of all bodies."""
        sites: dict[int, list[Node]] = {id(body): [] for body in self.bodies}
        for _, node in self.walk():
            for body in {id(callee): callee for callee in node.callees}.values():
                sites[id(body)].append(node)
        return sites

    def fresh(self, stem: str) -> str:
        """An unused name."""
        self.sizes += 1
        return f"{stem}.fresh{self.sizes}"

    def attribute(self, name: str) -> str | None:
        """Verbatim value of a header attribute."""
        return dict(self.attributes).get(name)

    def set_attribute(self, name: str, value: str | None) -> None:
        """Replace, add or (None) drop a header attribute."""
        pairs = [(k, value if k == name else v) for k, v in self.attributes]
        if value is not None and name not in dict(pairs):
            pairs.append((name, value))
        self.attributes = [(k, v) for k, v in pairs if v is not None]


def take_apart(module: Module) -> Workpiece:
    """Convert a module to nodes; each node keeps its place in `module` as `old`."""
    bodies = []
    for index, computation in enumerate(module.computations):
        nodes = [Node(it, old=(index, n)) for n, it in enumerate(computation.instructions)]
        bodies.append(Body(computation, nodes, nodes[computation.root]))
    for body in bodies:
        for node in body.nodes:
            it = node.record
            node.operands = [body.nodes[n] for n in it.operands]
            node.control = [body.nodes[n] for n in it.control_predecessors]
            node.calls = [(name, [bodies[n] for n in group]) for name, group in it.calls]
    return Workpiece(module.name, module.stage, bodies, bodies[module.entry], list(module.attributes), module.frames)


def drop_unread_captures(piece: Workpiece) -> None:
    """Drop captures of StableHLO regions that are no longer read: the text has no place for them."""
    for body in reversed(piece.bodies):  # an inner region may have been the only reader
        for node in body.nodes:
            slot = len(node.operands) - sum(is_captured(one.record) for region in node.callees for one in region.nodes)
            for region in node.callees:
                for parameter in region.parameters():
                    if not is_captured(parameter.record):
                        continue
                    if region.users(parameter) or parameter is region.root:
                        slot += 1
                    else:
                        del node.operands[slot]
                        region.nodes = [one for one in region.nodes if one is not parameter]
                for number, parameter in enumerate(region.parameters()):
                    parameter.record = replace(parameter.record, literal=str(number))


def put_together(piece: Workpiece) -> tuple[Module, dict[int, Place]]:
    """Convert nodes to a module, with computations and instructions in the order of the lists.

    Returns:
        The module, and the place of each node by its `id`.
    """
    numbers = {id(body): n for n, body in enumerate(piece.bodies)}
    places: dict[int, Place] = {}
    for index, body in enumerate(piece.bodies):
        places.update({id(node): (index, n) for n, node in enumerate(body.nodes)})
    computations = []
    for body in piece.bodies:
        instructions = tuple(_record(node, places, numbers) for node in body.nodes)
        computations.append(replace(body.record, instructions=instructions, root=places[id(body.root)][1]))
    attributes = tuple(piece.attributes)
    module = Module(piece.name, piece.stage, tuple(computations), numbers[id(piece.entry)], attributes, piece.frames)
    return module, places


def _record(node: Node, places: dict[int, Place], numbers: dict[int, int]) -> Instruction:
    return replace(
        node.record,
        operands=tuple(places[id(operand)][1] for operand in node.operands),
        control_predecessors=tuple(places[id(before)][1] for before in node.control),
        calls=tuple((name, tuple(numbers[id(body)] for body in group)) for name, group in node.calls),
        results=node.record.results if len(node.record.results) == len(node.operands) else (),
    )


def descendants(body: Body, start: Node) -> set[int]:
    """`id`s of `start` and of all nodes that depend on it, control edges included."""
    found = {id(start)}
    for node in topological(body):
        if any(id(before) in found for before in (*node.operands, *node.control)):
            found.add(id(node))
    return found


def topological(body: Body) -> list[Node]:
    """The nodes in list order, except that operands and control predecessors precede their users."""
    done: dict[int, Node] = {}
    for start in body.nodes:
        stack = [start]
        while stack:
            node = stack[-1]
            waiting = [before for before in (*node.operands, *node.control) if id(before) not in done]
            if waiting and id(node) not in done:
                stack.extend(waiting)
            else:
                done.setdefault(id(node), node)
                stack.pop()
    return list(done.values())


def colours(module: Module, rounds: int = 4) -> dict[Place, str]:
    """A hash of the neighbourhood of each place, independent of names and order.

    Places of equal colour are indistinguishable within `rounds` steps, so an edit at either is the same edit. Plain
    colour refinement that shares no code with the hashes of the differ.
    """
    from hashlib import md5

    found: dict[Place, str] = {}
    for index, computation in enumerate(module.computations):
        now = [_plain(it) for it in computation.instructions]
        users = computation.users
        for _ in range(rounds):
            rows = []
            for n, it in enumerate(computation.instructions):
                below = sorted(now[o] for o in it.operands)
                above = sorted(now[u] for u in users[n])
                rows.append(md5("|".join([now[n], *below, "^", *above]).encode()).hexdigest())
            now = rows
        found.update({(index, n): colour for n, colour in enumerate(now)})
    return found


def _plain(it: Instruction) -> str:
    literal = "" if it.opcode == "parameter" else it.literal or ""
    return f"{it.opcode} {it.shape.element_type} {it.shape.dimensions} {literal}"
