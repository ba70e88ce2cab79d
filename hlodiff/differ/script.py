"""The edits of a diff as steps that a program can apply: frozen records, made by `build_script`, applied by `verify`.

Two kinds of places occur. Instructions of the old program go by their old place. Instructions of the program that comes
out of it go by their place in the new one, survivors too: a pair's `mapping` says which old one stands where.
"""

from __future__ import annotations

from dataclasses import dataclass

from hlodiff.hlo.grammar import Span
from hlodiff.hlo.model import Instruction, Module, Shape

Value = tuple[int, int]
"""What an operand reads: an instruction by its new place, and which of its results."""
Channel = str
"""Which edits: "edits", "schedule" or "tuning", as `ModuleDiff` calls them."""


@dataclass(frozen=True, slots=True)
class EditReference:
    """The reported edit that a step belongs to: channel and index in it, and which of its sites."""

    channel: Channel
    edit: int
    site: int


@dataclass(frozen=True, slots=True)
class OperandRewiring:
    """One operand of a surviving instruction that reads something else, was added or removed.

    Args:
        user: the new place of the instruction; -1 for what the computation returns.
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
        text: the new value; None where there is none any more.
        leaves: for parts of the shape what each leaf has now, and nothing but that part; for "shape" the whole shape.
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
    """An old instruction goes; `rewirings` are survivors that read it and now read something that was there before."""

    reference: EditReference
    pair: int
    old: int
    rewirings: tuple[OperandRewiring, ...] = ()


@dataclass(frozen=True, slots=True)
class AddStep:
    """A new instruction comes, whole; `instruction.operands` and control predecessors are new places.

    `rewirings` are the survivors that read it.
    """

    reference: EditReference
    pair: int
    new: int
    instruction: Instruction
    calls: Calls = ()
    rewirings: tuple[OperandRewiring, ...] = ()


@dataclass(frozen=True, slots=True)
class ArriveStep:
    """An instruction that left another computation comes: the old one at `source`, with these settings.

    Args:
        source: computation and place in the old program.
        operands, control: new places.
        rewirings: the survivors that read it.
    """

    reference: EditReference
    pair: int
    new: int
    source: tuple[int, int]
    settings: tuple[SettingChange, ...]
    operands: tuple[Value, ...]
    control: tuple[int, ...]
    calls: Calls = ()
    rewirings: tuple[OperandRewiring, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeStep:
    """A survivor, by its new place, gets these settings and, where its `operands` are named, all operands anew."""

    reference: EditReference
    pair: int
    new: int
    settings: tuple[SettingChange, ...]
    operands: tuple[Value, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReorderStep:
    """A computation of a scheduled program runs in the new program's order."""

    reference: EditReference
    pair: int


@dataclass(frozen=True, slots=True)
class HeaderStep:
    """An attribute of the module; None where it has none of that name any more."""

    reference: EditReference
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ComputationStep:
    """An attribute of a computation; None where it has none of that name any more. `""` is a flag."""

    reference: EditReference
    pair: int
    name: str
    value: str | None


Step = RemoveStep | AddStep | ArriveStep | ChangeStep | ReorderStep | HeaderStep | ComputationStep


@dataclass(frozen=True, slots=True)
class InstructionPair:
    """Two computations that correspond.

    Parameters of called computations are names for operands of their callers: they come and go with what reads them,
    and are no edits.

    Args:
        old, new: indices into the modules' computations; -1 where only one side has it.
        mapping: for each old instruction its new place, -1 for none.
        calls: for each surviving caller, by its new place, what it calls now.
        added: parameters that were added with a reader, by their new places.
        removed: parameters that were removed with their readers, by their old places.
        arguments: operands of survivors that were added or removed with a parameter of what they call.
        count: how many call sites lead here.
        root: the new place of the root of a computation that is new as a whole.
        elements: of tuples that loops carry, by their new places, old and new numbers of the elements that stayed where
            others were added or removed.
        is_printed: whether nobody read either of them: no edit is in them, and they are compared as they are printed.
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
class PrintedText:
    """A program as it is printed, one instruction a line, and where its computations lie in the text."""

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
        printed: both programs as they are printed, where some of their computations were not read.
    """

    old: Module
    new: Module
    pairs: tuple[InstructionPair, ...]
    steps: tuple[Step, ...]
    reported: tuple[tuple[Channel, str, int, int], ...]
    printed: tuple[PrintedText, PrintedText] | None = None
