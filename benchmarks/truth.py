"""The true edits of a program: the records that edit functions return and the scorer compares with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from benchmarks.workbench import Body, Node, Place, Workpiece


@dataclass(frozen=True, slots=True)
class TrueEdit:
    """One true edit.

    Args:
        kind: added, removed, changed or moved.
        fields: the fields that changed, sorted.
        old: place in the old program; None for added and for facts of the module.
        node: the node of the new program; None for removed and for facts of the module.
        elsewhere: other nodes at which the same change may correctly be reported (swapping operands outside or inside a
            fusion is equivalent).
        channel: program, schedule or tuning.
        anywhere: True if equal layers make the place ambiguous: opcode and shape must match, the place need not.
    """

    kind: str
    fields: tuple[str, ...] = ()
    old: Place | None = None
    node: Node | None = None
    elsewhere: tuple[Node, ...] = ()
    channel: str = "program"
    anywhere: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """An edit that was made.

    Args:
        edits: the true script.
        touched: nodes that no other edit of the same program may touch.
        halves: instead of `edits` for a split or merged fusion, the alternative sets of instructions that moved.
        fusion_change: the kind of `FusionChange` that must be reported, "" for none.
    """

    edits: tuple[TrueEdit, ...]
    touched: tuple[Node, ...] = ()
    halves: tuple[tuple[TrueEdit, ...], ...] = ()
    fusion_change: str = ""


@dataclass(slots=True)
class Bench:
    """A workpiece during editing, with the random generator and the nodes already touched."""

    piece: Workpiece
    chance: Random
    busy: set[int] = field(default_factory=set)

    def free(self, *nodes: Node) -> bool:
        """Whether no earlier edit touched any of the nodes."""
        return not any(id(node) in self.busy for node in nodes)

    def shuffled(self, only: Callable[[Node], bool]) -> list[tuple[Body, Node]]:
        """Free nodes that satisfy a condition, in random order."""
        found = [(body, node) for body, node in self.piece.walk() if self.free(node) and only(node)]
        self.chance.shuffle(found)
        return found


Maker = Callable[[Bench], Made | None]


def changed(node: Node, *fields: str, channel: str = "program", elsewhere: tuple[Node, ...] = ()) -> TrueEdit:
    """The true edit for a node whose record changed in place."""
    return TrueEdit("changed", tuple(sorted(fields)), node.old, node, elsewhere, channel)


def around(body: Body, *nodes: Node) -> tuple[Node, ...]:
    """The nodes with their operands and users: a second edit must not touch them."""
    near: dict[int, Node] = {}
    for node in nodes:
        for other in (node, *node.operands, *body.users(node)):
            near[id(other)] = other
    return tuple(near.values())
