"""The dataflow graph of one computation, frozen into tuples, with labels from strong to weak for every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from hlodiff.differ.reachability import Reach
from hlodiff.hlo.fingerprint import is_commutative, operands_first, shape_text
from hlodiff.hlo.model import Computation, Instruction

if TYPE_CHECKING:
    import networkx as nx

# Labels from strong to weak. An instruction pairs at the strongest level at which its neighbourhood agrees.
EXACT, SIGNED, OWN, VALUE, STRUCTURE, TYPE, ANY = range(7)
LEVELS = ("exact", "signed", "own", "value", "structure", "type", "any")

CALLS = frozenset(["fusion", "while", "conditional", "call", "async-start", "func.call"])

Intern = dict[Any, int]
_Users = Mapping[int, Mapping[int, Mapping[str, Any]]]
"""Of one node of a dataflow graph: each user, and the edges to it by key."""


@dataclass(frozen=True, slots=True)
class MatchGraph:
    """One computation prepared for matching; sequences are indexed like its instructions.

    Args:
        computation: the computation.
        labels: for each level one number per instruction; equal numbers mean equal labels, on both sides.
        uses: for each instruction its (user, operand slot, result) triples; slot 0 for commutative users.
        users: for each instruction its users, each once.
        slots: for each instruction its (operand, slot, result) triples.
        operands: for each instruction its (operand, result) pairs.
        order: positions, operands before users.
        is_entry: its parameters are the program's; those of other computations are names for operands of the caller.
        names: which instructions are such names.
    """

    computation: Computation
    labels: tuple[tuple[int, ...], ...]
    uses: tuple[tuple[tuple[int, int, int], ...], ...]
    users: tuple[tuple[int, ...], ...]
    slots: tuple[tuple[tuple[int, int, int], ...], ...]
    operands: tuple[tuple[tuple[int, int], ...], ...]
    order: tuple[int, ...]
    is_entry: bool
    names: tuple[bool, ...]

    @property
    def size(self) -> int:
        """Number of instructions."""
        return len(self.computation.instructions)

    @staticmethod
    def from_networkx(graph: nx.MultiDiGraph[int], hashes: Sequence[str], intern: Intern, *, entry: bool) -> MatchGraph:
        """Freeze one computation into tuples, which the inner loops of the matchers walk seven times as fast.

        Args:
            graph: the dataflow of a computation without noise and tuning, as `hlodiff.graph.dataflow` makes it.
            hashes: content hash of every computation of its module.
            intern: shared by both sides, so that equal labels become equal numbers.
            entry: True for the entry, whose arguments may become constants; other parameters come and go with their
                call.
        """
        computation: Computation = graph.graph["computation"]
        instructions = computation.instructions
        kinds = [shape_text(it.shape, False) for it in instructions]
        rows = [_labels(it, hashes, intern, entry, tuple([kinds[o] for o in it.operands])) for it in instructions]
        ordered = [not is_commutative(it) for it in instructions]
        uses: list[tuple[tuple[int, int, int], ...]] = []
        slots: list[list[tuple[int, int, int]]] = [[(-1, -1, -1)] * len(it.operands) for it in instructions]
        for operand in graph:
            triples = []
            for user, edges in cast("_Users", graph.adj[operand]).items():
                for number, edge in edges.items():
                    if number >= 0:  # else a control edge, which hands on no value
                        slot, result = number if ordered[user] else 0, edge["result"]
                        triples.append((user, slot, result))
                        slots[user][number] = (operand, slot, result)
            uses.append(tuple(triples))
        return MatchGraph(
            computation,
            tuple(zip(*rows, strict=True)),
            tuple(uses),
            tuple(tuple(dict.fromkeys([user for user, _, _ in triples])) for triples in uses),
            tuple(map(tuple, slots)),
            tuple(tuple([(operand, result) for operand, _, result in triples]) for triples in slots),
            tuple(operands_first(computation)),
            entry,
            tuple(not entry and it.opcode == "parameter" for it in instructions),
        )


def _labels(
    it: Instruction, hashes: Sequence[str], intern: Intern, entry: bool, operand_kinds: tuple[str, ...]
) -> tuple[int, ...]:
    """A parameter's number is no part of any label: parameters pair by their callers, uses and names."""
    literal = None if it.opcode == "parameter" else it.literal
    kind = shape_text(it.shape, False)
    attributes = tuple(sorted(it.attributes))
    called = tuple((name, *(hashes[callee] for callee in group)) for name, group in it.calls)
    # A call and an operation that stands alone are never each other: what is inside would be lost from sight.
    call = it.opcode if it.calls and it.opcode in CALLS else ""
    if it.opcode == "parameter" or (it.opcode == "constant" and entry):
        call = "argument" if entry else "parameter"
    own = (it.opcode, shape_text(it.shape), literal, attributes)
    rows: tuple[Any, ...] = (
        (EXACT, *own, called),
        (SIGNED, *own, operand_kinds),
        (OWN, *own),
        (VALUE, it.opcode, kind, literal, len(it.operands)),
        (STRUCTURE, it.opcode),
        (TYPE, kind, call),
        (ANY, call),
    )
    return tuple(intern.setdefault(row, len(intern)) for row in rows)


@dataclass(slots=True)
class InstructionMap:
    """Which old instruction is which new one, and which matcher said so. Grows while matchers run.

    `steps` counts operands that were compared one by one; see `walked`.
    """

    old: list[int]
    new: list[int]
    matchers: dict[int, str]
    steps: int = 0
    _reaches: list[Reach | None] = field(default_factory=lambda: [None, None])

    @staticmethod
    def empty(old_size: int, new_size: int) -> InstructionMap:
        """Nothing paired yet; -1 stands for no partner."""
        return InstructionMap([-1] * old_size, [-1] * new_size, {})

    def add(self, old: int, new: int, matcher: str) -> None:
        """Pair two instructions that are both still free."""
        self.old[old] = new
        self.new[new] = old
        self.matchers[old] = matcher
        self._changed(old, new)

    def remove(self, old: int) -> None:
        """Undo a pair."""
        new = self.old[old]
        self.new[new] = -1
        self.old[old] = -1
        del self.matchers[old]
        self._changed(old, new)

    def _changed(self, old: int, new: int) -> None:
        first, second = self._reaches
        if first is not None:
            first.changed(old)
        if second is not None:
            second.changed(new)

    def reach(self, sides: tuple[MatchGraph, MatchGraph], which: int) -> Reach:
        """What free instructions of one side (0 old, 1 new) are computed from; the sides are always the same two."""
        found = self._reaches[which]
        if found is None:
            partners = (self.old, self.new)[which]
            found = self._reaches[which] = Reach(sides[which].operands, sides[which].users, partners)
        return found

    @property
    def walked(self) -> int:
        """All operands that were looked at to compare those of pairs: the effort beside prices."""
        return self.steps + sum(reach.steps for reach in self._reaches if reach is not None)

    def free_old(self) -> list[int]:
        """Old instructions without a partner, ascending."""
        return [n for n, partner in enumerate(self.old) if partner < 0]

    def free_new(self) -> list[int]:
        """New instructions without a partner, ascending."""
        return [n for n, partner in enumerate(self.new) if partner < 0]


def op_name_of(side: MatchGraph, position: int) -> str:
    """JAX's scope of an instruction: evidence among instructions that are otherwise equal."""
    return side.computation.instructions[position].op_name
