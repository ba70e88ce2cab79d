"""The program model: frozen records that all programs are read into.

Compiled HLO, StableHLO and HLO protos have the same records.

Words are XLA's. Positions are integers: an operand is an index into its computation's `instructions`, a
called computation an index into its module's `computations`, so no name is ever evidence of anything.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

Stage = Literal["compiled", "stablehlo"]
STAGES: tuple[Stage, ...] = ("stablehlo", "compiled")
"""In the order in which a program passes through them."""

STAGE_NAMES: dict[str, str] = {"stablehlo": "StableHLO", "compiled": "compiled"}
"""What reports call each stage."""
PROGRAM_NAMES: dict[str, str] = {**STAGE_NAMES, "compiled": "compiled HLO"}
"""The same as nouns: what language a program of the stage is in."""

# Bits per element. An element type that is not here counts 0 bytes and is still kept and compared.
_BITS = {
    "pred": 8, "s2": 2, "u2": 2, "s4": 4, "u4": 4, "s8": 8, "u8": 8, "s16": 16, "u16": 16, "s32": 32, "u32": 32,
    "s64": 64, "u64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "c64": 64, "c128": 128, "f4e2m1fn": 4,
    "s1": 1, "u1": 1,
}  # fmt: skip


def bits_of(element_type: str) -> int:
    """Bits of one element: `bits_of("bf16") == 16`; 0 for tokens, tuples and unknown types."""
    if element_type.startswith("f8"):
        return 8
    return _BITS.get(element_type, 0)


@dataclass(frozen=True, slots=True)
class Layout:
    """How an array lies in memory: `{1,0:T(8,128)S(1)}` is minor_to_major (1, 0), tiling "(8,128)", memory space 1.

    `other` keeps what we do not interpret (element size, dimension level types) verbatim, without loss.
    """

    minor_to_major: tuple[int, ...] = ()
    tiling: str = ""
    memory_space: int = 0
    other: str = ""


class _WorkedOutOnce:
    """Room for what a shape is asked for most: its hash and how it is printed, with and without layouts.

    These are no fields, so that no other process gets them: hashes differ there.
    """

    __slots__ = ("_bare_text", "_hash", "_text")
    _hash: int
    _text: str
    _bare_text: str


@dataclass(frozen=True, slots=True)
class Shape(_WorkedOutOnce):
    """An array shape, a tuple of shapes, a token, or a type kept verbatim in `element_type`.

    Args:
        element_type: XLA's name ("f32", "s32", "pred"), "tuple", "token", or verbatim text of an unknown type.
        dimensions: sizes; a bounded dynamic dimension has its bound, an unbounded one -1.
        layout: None where the text has none.
        tuple_shapes: the parts of a tuple.
        dynamic: indices of the dynamic dimensions.
        is_array: False for tuples, tokens and other types without dimensions.
    """

    element_type: str
    dimensions: tuple[int, ...] = ()
    layout: Layout | None = None
    tuple_shapes: tuple[Shape, ...] = ()
    dynamic: tuple[int, ...] = ()
    is_array: bool = True

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            parts = self.element_type, self.dimensions, self.layout, self.tuple_shapes, self.dynamic, self.is_array
            object.__setattr__(self, "_hash", hash(parts))
            return self._hash

    @property
    def elements(self) -> int:
        """Number of elements of an array, 0 for everything else."""
        if not self.is_array:
            return 0
        count = 1
        for size in self.dimensions:
            count *= max(size, 0)
        return count

    @property
    def bytes(self) -> int:
        """Bytes of the array or of all leaves of the tuple, without padding."""
        if self.tuple_shapes:
            return sum(part.bytes for part in self.tuple_shapes)
        return (self.elements * bits_of(self.element_type) + 7) // 8

    def leaves(self) -> tuple[Shape, ...]:
        """The arrays and tokens of a tuple in order, or the shape itself."""
        if self.element_type != "tuple":
            return (self,)
        return tuple([leaf for part in self.tuple_shapes for leaf in part.leaves()])


@dataclass(frozen=True, slots=True)
class Frame:
    """One Python frame; `parent` is the index of the calling frame in `Module.frames`, -1 at the top."""

    file: str
    line: int
    function: str
    parent: int = -1


class _Draft:
    """An instruction while it is made, see `Instruction.__new__`.

    `called` is no field: all called computations in order, as indices into `Module.computations`, from `calls`.
    """

    __slots__ = (
        "attributes", "called", "calls", "control_predecessors", "frame", "line", "literal", "metadata", "name",
        "op_name", "opcode", "operands", "results", "shape",
    )  # fmt: skip
    called: tuple[int, ...]


@dataclass(frozen=True, slots=True, init=False)
class Instruction(_Draft):
    """One instruction (HLO) or operation (StableHLO).

    Args:
        name: as printed, without `%`; for people only, never compared.
        opcode: XLA's word ("dot", "fusion", "all-reduce-start"). StableHLO ops drop their `stablehlo.` prefix
            and keep underscores ("dot_general"); other dialects keep theirs ("func.call", "sdy.sharding_constraint").
        shape: the result; several results of a StableHLO op are a tuple.
        operands: indices into the computation's instructions.
        results: which result of each operand is used (StableHLO ops with several results); () when all are 0.
        attributes: (name, verbatim value) in printed order, without calls, control predecessors and metadata.
        calls: (attribute name, computations called through it) in printed order.
        control_predecessors: indices into the computation's instructions.
        literal: verbatim text between the parentheses of a constant, the number of a parameter; else None.
        op_name: the scope that JAX gave, e.g. `jit(f)/jvp()/dot_general`.
        frame: innermost Python frame, an index into `Module.frames`, -1 where unknown.
        metadata: what else is in `metadata={...}`, verbatim; never compared.
        line: 1-based line in the text it was read from, 0 where it was not read from text.
    """

    name: str
    opcode: str
    shape: Shape
    operands: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    calls: tuple[tuple[str, tuple[int, ...]], ...] = ()
    control_predecessors: tuple[int, ...] = ()
    literal: str | None = None
    op_name: str = ""
    frame: int = -1
    metadata: str = ""
    line: int = 0

    def __new__(
        cls,
        name: str,
        opcode: str,
        shape: Shape,
        operands: tuple[int, ...] = (),
        results: tuple[int, ...] = (),
        attributes: tuple[tuple[str, str], ...] = (),
        calls: tuple[tuple[str, tuple[int, ...]], ...] = (),
        control_predecessors: tuple[int, ...] = (),
        literal: str | None = None,
        op_name: str = "",
        frame: int = -1,
        metadata: str = "",
        line: int = 0,
    ) -> Instruction:
        """Fill in a draft and freeze it: a program has thousands, and a frozen record takes four times as long."""
        made: Any = _Draft()
        made.name = name
        made.opcode = opcode
        made.shape = shape
        made.operands = operands
        made.results = results
        made.attributes = attributes
        made.calls = calls
        made.called = () if not calls else tuple([index for _, group in calls for index in group])
        made.control_predecessors = control_predecessors
        made.literal = literal
        made.op_name = op_name
        made.frame = frame
        made.metadata = metadata
        made.line = line
        made.__class__ = cls
        instruction: Instruction = made
        return instruction

    def __reduce__(self) -> tuple[type[Instruction], tuple[Any, ...]]:
        return Instruction, tuple([getattr(self, field.name) for field in fields(self)])

    def attribute(self, name: str) -> str | None:
        """Verbatim value of an attribute, None where the instruction has none of that name."""
        for key, value in self.attributes:
            if key == name:
                return value
        return None


class _CountedOnce:
    """Room for what is asked of a computation again and again: its parameters, and which attributes there are."""

    __slots__ = ("_attribute_names", "_parameters")
    _attribute_names: frozenset[str]
    _parameters: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Computation(_CountedOnce):
    """A list of instructions with one root; in StableHLO a function or a region of an operation.

    A StableHLO region that uses values from outside gets one more `parameter` for each of them, with the attribute
    `("captured", "true")`, and the operation that owns the region the same values as further operands.
    A region's terminator (`return`) is its root.
    `execution_thread` is "" for the main thread; `attributes` are (name, verbatim value) pairs of the computation.
    """

    name: str
    instructions: tuple[Instruction, ...]
    root: int
    execution_thread: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    line: int = 0

    def parameters(self) -> tuple[int, ...]:
        """Indices of the parameters, ordered by parameter number."""
        try:
            return self._parameters
        except AttributeError:
            found = [(int(i.literal or 0), n) for n, i in enumerate(self.instructions) if i.opcode == "parameter"]
            object.__setattr__(self, "_parameters", tuple([n for _, n in sorted(found)]))
            return self._parameters

    def attribute_names(self) -> frozenset[str]:
        """The names of all attributes of its instructions."""
        try:
            return self._attribute_names
        except AttributeError:
            found = frozenset([key for it in self.instructions if it.attributes for key, _ in it.attributes])
            object.__setattr__(self, "_attribute_names", found)
            return found

    def users(self) -> tuple[tuple[int, ...], ...]:
        """For each instruction the instructions that use it, ascending, each once."""
        users: list[list[int]] = [[] for _ in self.instructions]
        for index, instruction in enumerate(self.instructions):
            for operand in dict.fromkeys(instruction.operands):
                users[operand].append(index)
        return tuple(map(tuple, users))


@dataclass(frozen=True, slots=True)
class Module:
    """One program at one stage: computations, the entry among them, header attributes and Python frames.

    Args:
        not_held: header attributes that its file cannot hold, so that nobody knows them.
    """

    name: str
    stage: Stage
    computations: Sequence[Computation]
    entry: int
    attributes: tuple[tuple[str, str], ...] = ()
    frames: tuple[Frame, ...] = ()
    not_held: tuple[str, ...] = ()

    @property
    def entry_computation(self) -> Computation:
        """The computation that runs when the program is called."""
        return self.computations[self.entry]

    def result_shapes(self) -> tuple[Shape, ...]:
        """The arrays and tokens that the program returns, in order.

        Compiled HLO ends in the result itself. StableHLO ends in `return`, whose operands are the results; one of an
        op with several results is a part of its shape.
        """
        root = self.entry_computation.instructions[self.entry_computation.root]
        if root.opcode != "return":
            return tuple(root.shape.leaves())
        made = [self.entry_computation.instructions[operand] for operand in root.operands]
        numbers = root.results or (0,) * len(made)
        shapes = [
            it.shape.tuple_shapes[number] if it.shape.tuple_shapes and it.opcode != "tuple" else it.shape
            for it, number in zip(made, numbers, strict=True)
        ]
        return tuple(leaf for shape in shapes for leaf in shape.leaves())

    def attribute(self, name: str) -> str | None:
        """Verbatim value of a header attribute, None where there is none of that name."""
        for key, value in self.attributes:
            if key == name:
                return value
        return None

    def instruction_count(self) -> int:
        """Instructions in all computations together."""
        return sum(len(c.instructions) for c in self.computations)

    def stack(self, frame: int) -> tuple[Frame, ...]:
        """The Python call stack of a frame, innermost first; () for -1. A cycle in a damaged table ends it.

        Beyond 250 frames it is cut: a table may chain as many as it has lines, and each instruction may name the last.
        """
        seen: dict[int, Frame] = {}
        while 0 <= frame < len(self.frames) and frame not in seen and len(seen) < _DEEPEST_STACK:
            seen[frame] = self.frames[frame]
            frame = self.frames[frame].parent
        return tuple(seen.values())


_DEEPEST_STACK = 250

# In XLA these belong to the configuration of a module, of which its proto holds nothing.
_OF_CONFIG = ("alias_passthrough_params", "num_partitions", "replica_count")


def without_config(module: Module) -> Module:
    """A program that was read from a proto: what belongs to the configuration is not held there.

    Example:
        >>> without_config(Module("m", "compiled", (), 0)).not_held
        ('alias_passthrough_params', 'num_partitions', 'replica_count')
    """
    return replace(module, not_held=_OF_CONFIG)


def with_each_other(old: Module, new: Module) -> tuple[Module, Module, tuple[str, ...]]:
    """Two programs, each with those header attributes of the other one that its own file cannot hold.

    Args:
        old, new: two programs.

    Returns:
        both, and the names of these attributes.

    Example:
        >>> text = Module("m", "compiled", (), 0, (("replica_count", "4"),))
        >>> with_each_other(without_config(Module("m", "compiled", (), 0)), text)[2]
        ('replica_count',)
    """
    if not old.not_held and not new.not_held:
        return old, new, ()
    given: list[tuple[tuple[str, str], ...]] = [
        tuple((name, value) for name, value in other.attributes if name in one.not_held and not one.attribute(name))
        for one, other in ((old, new), (new, old))
    ]
    sides = [replace(one, attributes=(*one.attributes, *more)) for one, more in zip((old, new), given, strict=True)]
    return sides[0], sides[1], tuple(sorted({name for more in given for name, _ in more}))


# --- What a computation is for, by its callers.

# Callers whose computations run instruction by instruction and so have a schedule, and the kind of each.
_KIND_BY_CALLER = {"call": "called", "while": "loop", "conditional": "branch", "custom-call": "called"}


def computation_kind(opcode: str, attribute: str) -> str:
    """The kind of a computation that an instruction of this opcode calls through this attribute."""
    if opcode == "while":
        return "cond" if attribute == "condition" else "body"
    if opcode in ("fusion", "fusion-start"):
        return "fused"
    if opcode.startswith("async-"):
        return "async"
    return _KIND_BY_CALLER.get(opcode.removesuffix("-start"), "apply")


# Called for each element, not as a step of the program: XLA prints one or many of them as it pleases.
_EMBEDDED = frozenset(["to_apply", "select", "scatter", "callee", "called_computations"])


def is_embedded(it: Instruction, attribute: str) -> bool:
    """True where the computation is applied to elements (a reducer) or shared by nature (a function)."""
    return attribute in _EMBEDDED and it.opcode != "call"


# What calls a computation with its own operands: there a parameter is a name for an operand. Elsewhere (a reducer, a
# branch) the number of a parameter means something.
BINDS = frozenset(["fusion", "call", "func.call", "while", "async-start"])


# What only calls a function, in compiled HLO and in StableHLO.
CALLS = frozenset(["call", "func.call"])


# Operations of two operands that may be swapped.
COMMUTATIVE = frozenset(["add", "multiply", "maximum", "minimum", "and", "or", "xor"])


def is_commutative(instruction: Instruction) -> bool:
    """True where swapping the two operands means nothing: add, multiply, and, or, xor, maximum, minimum, EQ, NE."""
    if instruction.opcode != "compare":
        return instruction.opcode in COMMUTATIVE and len(instruction.operands) == 2
    direction = instruction.attribute("direction") or instruction.attribute("comparison_direction") or ""
    return len(instruction.operands) == 2 and is_commutative_opcode("compare", direction)


def is_commutative_opcode(opcode: str, direction: str) -> bool:
    """The same for an instruction with two operands.

    Args:
        opcode: of either stage.
        direction: of a comparison: `EQ`, or `#stablehlo<comparison_direction EQ>`.
    """
    if opcode == "compare":
        return direction.rstrip(">").endswith(("EQ", "NE"))
    return opcode in COMMUTATIVE


def is_function(computation: Computation) -> bool:
    """Whether the computation is a `func.func`, not a region of an operation."""
    return any(name == "visibility" for name, _ in computation.attributes)


def is_captured(instruction: Instruction) -> bool:
    """Whether a parameter is a value from outside its region."""
    return instruction.opcode == "parameter" and CAPTURED in instruction.attributes


def split_operands(module: Module, op: Instruction) -> tuple[int, int]:
    """How many operands are the operation's own, and how many are captured by its regions.

    Example:
        a `while` over two values whose body uses one value from outside: `(2, 1)`
    """
    captured = 0
    for index in op.called:
        computation = module.computations[index]
        captured += 0 if is_function(computation) else sum(map(is_captured, computation.instructions))
    return len(op.operands) - captured, captured


def operand_names(op: Instruction, module: Module) -> dict[int, tuple[int, ...]]:
    """By what an instruction calls, of which operand each parameter is the name; -1 where its number means something.

    Operands that a region captures have no order of their own: the parameters inside name them.

    Example:
        a `case` whose two branches, computations 4 and 5, capture three values: `{4: (1, 2), 5: (3,)}`
    """
    found: dict[int, tuple[int, ...]] = {}
    captured: dict[int, list[bool]] = {}
    for callee in op.called:
        computation = module.computations[callee]
        inside = computation.instructions
        captured[callee] = [CAPTURED in inside[n].attributes for n in computation.parameters()]
    place = own = len(op.operands) - sum(map(sum, captured.values()))
    for callee, flags in captured.items():
        binds = op.opcode in BINDS and len(flags) - sum(flags) == own
        if True not in flags:
            found[callee] = tuple(range(own)) if binds else (-1,) * len(flags)
            continue
        numbers = []
        for number, flag in enumerate(flags):
            numbers.append(place if flag else number if binds else -1)
            place += flag
        found[callee] = tuple(numbers)
    return found


def shared_names(op: Instruction, regions: list[Computation], number: int) -> dict[int, str]:
    """Names that MLIR's pretty form takes from elsewhere.

    The pretty `while` writes its arguments once, for both regions: they must have the same names in both. The pretty
    `reduce ... applies stablehlo.add` is only used where everything inside has the location of the reduce itself.
    """
    region = regions[number]
    if op.opcode == "while" and len(regions) == 2:
        own = [n for n in region.parameters() if not is_captured(region.instructions[n])]
        body = [regions[1].instructions[n] for n in regions[1].parameters()]
        return dict(zip(own, (p.name for p in body if not is_captured(p)), strict=True))
    if op.opcode == "reduce" and len(region.instructions) == 4:
        return dict.fromkeys(range(4), op.name)
    return {}


_REGION_NAMES = {
    "while": ("cond", "body"),
    "if": ("true", "false"),
    "select_and_scatter": ("select", "scatter"),
}

CAPTURED = ("captured", "true")


def region_name(opcode: str, number: int, count: int) -> str:
    """The call attribute of a region: `region_name("while", 1, 2) == "body"`."""
    if opcode in _REGION_NAMES:
        return _REGION_NAMES[opcode][number]
    if opcode == "case":
        return "branches"
    return "body" if count == 1 else f"region{number}"


def region_title(opcode: str, number: int, count: int) -> str:
    """The last part of a region's name, one for each region: `region_title("case", 1, 3) == "branches1"`."""
    attribute = region_name(opcode, number, count)
    return f"{attribute}{number}" if attribute == "branches" else attribute


# --- Python's garbage collector waits while programs are read and compared.
#
# A program is hundreds of thousands of small records that live until the comparison ends, and the collector walks them
# again and again for cycles that are not there: a seventh of the time of a comparison. What is dropped on the way is
# freed by its reference count as ever.


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """No collections of cycles inside; afterwards they are as they were, also after an error.

    What was made inside counts as old afterwards: else the first collection would walk all of it. A later collection of
    what is old finds it. Where this runs at once in several threads, the one that began decides: collections are on
    again when it ends.

    Example:
        >>> with without_garbage_collection():
        ...     gc.isenabled()
        False
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # what somebody froze stays frozen
            gc.freeze()
            gc.unfreeze()
        gc.enable()
