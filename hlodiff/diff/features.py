"""What the matcher looks at: one computation of one side, with labels from strong to weak for every instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hlodiff.ir.content import is_commutative, operands_first, shape_text
from hlodiff.ir.model import Computation, Instruction

# Labels from strong to weak. An instruction pairs at the strongest level at which its neighbourhood agrees.
EXACT, SIGNED, OWN, VALUE, STRUCTURE, TYPE, ANY = range(7)
LEVELS = ("exact", "signed", "own", "value", "structure", "type", "any")

CALLS = frozenset(["fusion", "while", "conditional", "call", "async-start", "func.call"])

Intern = dict[Any, int]


@dataclass(frozen=True, slots=True)
class Side:
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


def side_of(computation: Computation, hashes: Sequence[str], intern: Intern, *, entry: bool) -> Side:
    """Prepare one computation.

    Args:
        computation: without noise and tuning.
        hashes: content hash of every computation of its module.
        intern: shared by both sides, so that equal labels become equal numbers.
        entry: True for the entry, whose arguments may become constants; other parameters come and go with their call.
    """
    instructions = computation.instructions
    kinds = [shape_text(it.shape, False) for it in instructions]
    rows = [_labels(it, hashes, intern, entry, tuple([kinds[o] for o in it.operands])) for it in instructions]
    uses: list[list[tuple[int, int, int]]] = [[] for _ in instructions]
    slots: list[tuple[tuple[int, int, int], ...]] = []
    for position, it in enumerate(instructions):
        numbers: Sequence[int] = (0, 0) if is_commutative(it) else range(len(it.operands))
        results = it.results or (0,) * len(it.operands)
        triples = tuple(zip(it.operands, numbers, results, strict=True))
        slots.append(triples)
        for operand, slot, result in triples:
            uses[operand].append((position, slot, result))
    return Side(
        computation,
        tuple(zip(*rows, strict=True)),
        tuple(map(tuple, uses)),
        tuple(tuple(dict.fromkeys([user for user, _, _ in triples])) for triples in uses),
        tuple(slots),
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
class Pairing:
    """Which old instruction is which new one, and which matcher said so. Grows while matchers run."""

    old: list[int]
    new: list[int]
    matchers: dict[int, str]

    @staticmethod
    def empty(old_size: int, new_size: int) -> Pairing:
        """Nothing paired yet; -1 stands for no partner."""
        return Pairing([-1] * old_size, [-1] * new_size, {})

    def add(self, old: int, new: int, matcher: str) -> None:
        """Pair two instructions that are both still free."""
        self.old[old] = new
        self.new[new] = old
        self.matchers[old] = matcher

    def remove(self, old: int) -> None:
        """Undo a pair."""
        self.new[self.old[old]] = -1
        self.old[old] = -1
        del self.matchers[old]

    def free_old(self) -> list[int]:
        """Old instructions without a partner, ascending."""
        return [n for n, partner in enumerate(self.old) if partner < 0]

    def free_new(self) -> list[int]:
        """New instructions without a partner, ascending."""
        return [n for n, partner in enumerate(self.new) if partner < 0]


def op_name_of(side: Side, position: int) -> str:
    """JAX's scope of an instruction: evidence among instructions that are otherwise equal."""
    return side.computation.instructions[position].op_name
