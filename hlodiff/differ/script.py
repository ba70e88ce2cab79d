"""Edit scripts: the edits of a diff as steps that a program can apply, made by `build_script`, applied by `verify`.

Two kinds of places occur. Instructions of the old program have their old place. Instructions of the result have their
place in the new program, kept ones too: a pair's `mapping` gives the new place of each old one.
"""

from __future__ import annotations

from dataclasses import dataclass

from hlodiff.hlo.grammar import Span
from hlodiff.hlo.model import Instruction, Module, Shape

Value = tuple[int, int]
"""What an operand reads: an instruction by its new place, and which of its results."""
Channel = str
"""The channel of an edit: "edits", "schedule" or "tuning", as in `ModuleDiff`."""


@dataclass(frozen=True, slots=True)
class EditReference:
    """The reported edit that a step belongs to: channel, index in it, and site."""

    channel: Channel
    edit: int
    site: int


@dataclass(frozen=True, slots=True)
class OperandRewiring:
    """One operand of a kept instruction that was rewired, added or removed.

    Args:
        user: the new place of the instruction; -1 for the root of the computation.
        slot: the number that the operand had, None for one that was added.
        place: the number that it has now, None for one that was removed.
        reads: what it reads now, None for one that was removed.
    """

    user: int
    slot: int | None
    place: int | None
    reads: Value | None


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One part of an instruction set to a new value.

    Args:
        what: "opcode", "literal", "number" (of a parameter), "thread" (of what is called), "control" (predecessors),
            "root" (of its computation), "donation:INSIDE" (of an entry parameter), "attribute:NAME", or a part of the
            shape: "element_type", "dimensions", "layout", "memory_space", "shape" (all of them).
        text: the new value; None if it was removed.
        leaves: for parts of the shape, that part only of each leaf; for "shape" the whole shape.
        places: for "control" the predecessors, for "root" what is returned, by their new places.
    """

    what: str
    text: str | None = None
    leaves: tuple[Shape, ...] = ()
    places: tuple[int, ...] = ()


Calls = tuple[tuple[str, tuple[int, ...]], ...]
"""What an instruction calls, by attribute: indices into `EditScript.pairs`."""


@dataclass(frozen=True, slots=True)
class RemoveStep:
    """Remove an old instruction; `rewirings` are kept readers of it that now read something that existed before."""

    reference: EditReference
    pair: int
    old: int
    rewirings: tuple[OperandRewiring, ...] = ()


@dataclass(frozen=True, slots=True)
class AddStep:
    """Add a new instruction, or move one here from another computation.

    Args:
        instruction: the new instruction; its operands and control predecessors are new places. Of a moved one only
            these count.
        rewirings: the kept instructions that read it.
        source: computation and place of a moved instruction in the old program; None for a new one.
        settings: what changes in a moved instruction.
    """

    reference: EditReference
    pair: int
    new: int
    instruction: Instruction
    calls: Calls = ()
    rewirings: tuple[OperandRewiring, ...] = ()
    source: tuple[int, int] | None = None
    settings: tuple[SettingChange, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeStep:
    """Change a kept instruction, by its new place: apply settings and, if `operands` is given, replace all operands."""

    reference: EditReference
    pair: int
    new: int
    settings: tuple[SettingChange, ...]
    operands: tuple[Value, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReorderStep:
    """Reorder a computation of a scheduled program as in the new program."""

    reference: EditReference
    pair: int


@dataclass(frozen=True, slots=True)
class HeaderStep:
    """Set an attribute of the module; None removes it."""

    reference: EditReference
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ComputationStep:
    """Set an attribute of a computation; None removes it. `""` is a flag."""

    reference: EditReference
    pair: int
    name: str
    value: str | None


Step = RemoveStep | AddStep | ChangeStep | ReorderStep | HeaderStep | ComputationStep


@dataclass(frozen=True, slots=True)
class InstructionPair:
    """Two matched computations.

    Parameters of callees are names for operands of their callers: they come and go with their readers and are not
    edits.

    Args:
        old, new: indices into the modules' computations; -1 where only one side has it.
        mapping: for each old instruction its new place, -1 for none.
        calls: for each kept caller, by its new place, its callees now.
        added: parameters that were added with a reader, by their new places.
        removed: parameters that were removed with their readers, by their old places.
        arguments: operands of kept instructions that were added or removed with a parameter of their callee.
        count: how many call sites lead here.
        root: the new place of the root of a computation that is new as a whole.
        elements: of loop-carried tuples, by new place, old and new numbers of kept elements if others were added or
            removed.
        is_printed: whether neither was parsed: they have no edits, and are compared as printed.
    """

    old: int
    new: int
    mapping: tuple[int, ...] = ()
    calls: tuple[tuple[int, Calls], ...] = ()
    added: tuple[tuple[int, Instruction], ...] = ()
    removed: tuple[int, ...] = ()
    arguments: tuple[OperandRewiring, ...] = ()
    count: int = 1
    root: int = -1
    elements: tuple[tuple[int, tuple[tuple[int, int], ...]], ...] = ()
    is_printed: bool = False


@dataclass(frozen=True, slots=True)
class PrintedPair:
    """Two computations that were not parsed for a diff, by their lines.

    Args:
        mapping: for each old line the new one.
        calls: by new line, the callees by attribute, as pairs of computation indices.
        parameters: how many both have.
    """

    mapping: tuple[int, ...]
    calls: tuple[tuple[int, tuple[tuple[str, tuple[tuple[int, int], ...]], ...]], ...]
    parameters: int


@dataclass(frozen=True, slots=True)
class PrintedText:
    """A program as printed, one instruction per line, with the spans of its computations."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class EditScript:
    """What turns the old program into the new one.

    Args:
        old, new: the programs as they are compared: without noise, attributes one by one and in order.
        pairs: computations that correspond, the entries first.
        steps: what is done, each step with a reference to one site of one reported edit.
        reported: for every reported edit its channel, kind, number of sites and count.
        printed: both programs as printed, if some of their computations were not parsed.
    """

    old: Module
    new: Module
    pairs: tuple[InstructionPair, ...]
    steps: tuple[Step, ...]
    reported: tuple[tuple[Channel, str, int, int], ...]
    printed: tuple[PrintedText, PrintedText] | None = None
