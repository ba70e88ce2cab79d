"""The program model: frozen records that all programs are read into.

Compiled HLO, StableHLO and HLO protos have the same records.

Terms are XLA's. References are indices: an operand is an index into its computation's `instructions`, a called
computation an index into its module's `computations`. Names are never compared.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import is_not
from typing import Any, Literal

from hlodiff.hlo.grammar import KnownOnce
from hlodiff.hlo.grammar import Layout as Layout
from hlodiff.hlo.grammar import Shape as Shape

Stage = Literal["compiled", "stablehlo"]
STAGES: tuple[Stage, ...] = ("stablehlo", "compiled")
"""In the order in which programs pass through them."""

STAGE_NAMES: dict[str, str] = {"stablehlo": "StableHLO", "compiled": "compiled"}
"""Display name of each stage."""
PROGRAM_NAMES: dict[str, str] = {**STAGE_NAMES, "compiled": "compiled HLO"}
"""The same as a noun: the language of a program at that stage."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One Python frame; `parent` is the index of the calling frame in `Module.frames`, -1 at the top."""

    file: str
    line: int
    function: str
    parent: int = -1


class _Draft:
    """An instruction under construction, see `Instruction.__new__`.

    `called` is not a field. It lists all called computations in order, as indices into `Module.computations`, derived
    from `calls`.
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
        results: which result of each operand is used (StableHLO ops with several results); () if all are 0.
        attributes: (name, verbatim value) in printed order, without calls, control predecessors and metadata.
        calls: (attribute name, computations called through it) in printed order.
        control_predecessors: indices into the computation's instructions.
        literal: verbatim text between the parentheses of a constant; the number of a parameter; None otherwise.
        op_name: the scope given by JAX, e.g. `jit(f)/jvp()/dot_general`.
        frame: innermost Python frame as an index into `Module.frames`; -1 if unknown.
        metadata: the rest of `metadata={...}`, verbatim; never compared.
        line: 1-based line in the text; 0 if it was not read from text.
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
        """Fill in a draft, then freeze it: constructing a frozen record takes four times as long."""
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

    @property
    def number(self) -> int:
        """The number of a parameter."""
        return int(self.literal or 0)

    @property
    def reads(self) -> tuple[tuple[int, int], ...]:
        """What each operand uses: an index into the computation's instructions, and which of its results."""
        if self.results:
            return tuple(zip(self.operands, self.results, strict=True))
        return tuple([(operand, 0) for operand in self.operands])

    def attribute(self, name: str) -> str | None:
        """Verbatim value of an attribute; None if the instruction lacks it."""
        for key, value in self.attributes:
            if key == name:
                return value
        return None


@dataclass(frozen=True, slots=True)
class Computation(KnownOnce):
    """A list of instructions with one root; in StableHLO a function or a region of an operation.

    A StableHLO region that uses values from outside gets one more `parameter` for each, with the attribute
    `("captured", "true")`, and the operation that owns the region gets the same values as additional operands. A
    region's terminator (`return`) is its root. `execution_thread` is "" for the main thread; `attributes` are (name,
    verbatim value) pairs of the computation.
    """

    name: str
    instructions: tuple[Instruction, ...]
    root: int
    execution_thread: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    line: int = 0

    @cached_property
    def parameters(self) -> tuple[int, ...]:
        """Indices of the parameters, ordered by parameter number."""
        found = [(i.number, n) for n, i in enumerate(self.instructions) if i.opcode == "parameter"]
        return tuple([n for _, n in sorted(found)])

    @cached_property
    def calling(self) -> tuple[tuple[int, Instruction], ...]:
        """The instructions that call computations, each with its index; most fused computations have none."""
        return tuple([(n, it) for n, it in enumerate(self.instructions) if it.calls])

    @cached_property
    def callees(self) -> tuple[int, ...]:
        """The computations that its instructions call, each once."""
        return tuple(dict.fromkeys([callee for _, it in self.calling for callee in it.called]))

    @cached_property
    def attribute_names(self) -> frozenset[str]:
        """The names of all attributes of its instructions."""
        return frozenset([key for it in self.instructions if it.attributes for key, _ in it.attributes])

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """For each instruction the instructions that use it, ascending and without duplicates."""
        users: list[list[int]] = [[] for _ in self.instructions]
        for index, instruction in enumerate(self.instructions):
            for operand in dict.fromkeys(instruction.operands):
                users[operand].append(index)
        return tuple(map(tuple, users))


@dataclass(frozen=True, slots=True)
class Module(KnownOnce):
    """One program at one stage: computations, the entry among them, header attributes and Python frames.

    Args:
        not_held: header attributes that the file format cannot hold, so that they are unknown.
        result_paths: the paths of the results in what the function returns, where its snapshot has them.
    """

    name: str
    stage: Stage
    computations: Sequence[Computation]
    entry: int
    attributes: tuple[tuple[str, str], ...] = ()
    frames: tuple[Frame, ...] = ()
    not_held: tuple[str, ...] = ()
    result_paths: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def entry_computation(self) -> Computation:
        """The computation that runs when the program is called."""
        return self.computations[self.entry]

    @cached_property
    def words(self) -> frozenset[str]:
        """Every opcode and every name of an attribute that occurs in the program, its header included."""
        found = {name for name, _ in self.attributes}
        for computation in self.computations:
            found.update([it.opcode for it in computation.instructions])
            found |= computation.attribute_names
            if any(it.control_predecessors for it in computation.instructions):
                found.add("control-predecessors")
        return frozenset(found)

    @cached_property
    def result_shapes(self) -> tuple[Shape, ...]:
        """The arrays and tokens that the program returns, in order.

        In compiled HLO the root is the result itself. In StableHLO the root is `return`, whose operands are the
        results; an operand may be one element of an op's tuple shape.
        """
        root = self.entry_computation.instructions[self.entry_computation.root]
        if root.opcode != "return":
            return tuple(root.shape.leaves)
        returned = [(self.entry_computation.instructions[operand], number) for operand, number in root.reads]
        shapes = [
            it.shape.tuple_shapes[number] if it.shape.tuple_shapes and it.opcode != "tuple" else it.shape
            for it, number in returned
        ]
        return tuple(leaf for shape in shapes for leaf in shape.leaves)

    def result_names(self) -> tuple[str, ...]:
        """The results by their paths as far as they are known, else by number: `result[0]['bias']`, `result 1`."""
        shapes = self.result_shapes
        if len(self.result_paths) == len(shapes):
            return self.result_paths
        root = self.entry_computation.instructions[self.entry_computation.root]
        labels = {name: value.strip('"') for name, value in root.attributes if name.endswith("jax.result_info")}
        given = ((n, labels.get(f"result{n}.jax.result_info", "")) for n in range(len(shapes)))
        return tuple(f"result{path.removeprefix('result')}" if path else f"result {n}" for n, path in given)

    def attribute(self, name: str) -> str | None:
        """Verbatim value of a header attribute; None if the module lacks it."""
        for key, value in self.attributes:
            if key == name:
                return value
        return None

    def instruction_count(self) -> int:
        """Number of instructions in all computations."""
        return sum(len(c.instructions) for c in self.computations)

    def stack(self, frame: int) -> tuple[Frame, ...]:
        """The Python call stack of a frame, innermost first; () for -1. A cycle in a damaged table ends the stack.

        It is cut at 250 frames: a table may chain as many frames as it has lines, and each instruction may refer to the
        last.
        """
        seen: dict[int, Frame] = {}
        while 0 <= frame < len(self.frames) and frame not in seen and len(seen) < _DEEPEST_STACK:
            seen[frame] = self.frames[frame]
            frame = self.frames[frame].parent
        return tuple(seen.values())


_DEEPEST_STACK = 250

# XLA stores these in the module's configuration, which a proto does not contain.
_OF_CONFIG = ("alias_passthrough_params", "num_partitions", "replica_count")


Place = tuple[int, int]
"""An instruction: index of its computation, index in it."""


def at(module: Module, place: Place) -> Instruction:
    """The instruction at a place."""
    return module.computations[place[0]].instructions[place[1]]


def without_config(module: Module) -> Module:
    """Mark a program read from a proto: it lacks the attributes that belong to the configuration.

    Example:
        >>> without_config(Module("m", "compiled", (), 0)).not_held
        ('alias_passthrough_params', 'num_partitions', 'replica_count')
    """
    return replace(module, not_held=_OF_CONFIG)


def with_each_other(old: Module, new: Module) -> tuple[Module, Module, tuple[str, ...]]:
    """Complete two programs: each gets the other's header attributes that its own file format cannot hold.

    Args:
        old, new: two programs.

    Returns:
        both programs, and the names of the copied attributes.

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


# --- The kind of a computation, by its callers.

# Callers that run their computations instruction by instruction, so that these have a schedule, and the kind of each.
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


# Called per element, not as a step of the program: XLA prints one or many copies, arbitrarily.
_EMBEDDED = frozenset(["to_apply", "select", "scatter", "callee", "called_computations"])


def is_embedded(it: Instruction, attribute: str) -> bool:
    """Whether the computation is applied to elements (a reducer) or shared by nature (a function)."""
    return attribute in _EMBEDDED and it.opcode != "call"


# Opcodes that pass their own operands to a computation, so that a parameter is a name for an operand. Elsewhere (a
# reducer, a branch) the number of a parameter matters.
BINDS = frozenset(["fusion", "call", "func.call", "while", "async-start"])


# Opcodes that only call a function, in compiled HLO and in StableHLO.
CALLS = frozenset(["call", "func.call"])
# Opcodes that run one of several computations, in both.
CONDITIONALS = frozenset(["conditional", "case", "if"])
# Opcodes that repeat a value along new dimensions, in both.
BROADCASTS = frozenset(["broadcast", "broadcast_in_dim"])
# Opcodes that copy a value, or begin to.
COPIES = frozenset(["copy", "copy-start"])


# Binary operations whose operands may be swapped.
COMMUTATIVE = frozenset(["add", "multiply", "maximum", "minimum", "and", "or", "xor"])


def is_commutative(instruction: Instruction) -> bool:
    """Whether the two operands may be swapped: add, multiply, and, or, xor, maximum, minimum, EQ, NE."""
    if instruction.opcode != "compare":
        return instruction.opcode in COMMUTATIVE and len(instruction.operands) == 2
    direction = instruction.attribute("direction") or instruction.attribute("comparison_direction") or ""
    return len(instruction.operands) == 2 and is_commutative_opcode("compare", direction)


def is_commutative_opcode(opcode: str, direction: str) -> bool:
    """Like `is_commutative`, for an instruction with two operands.

    Args:
        opcode: an opcode of either stage.
        direction: the direction of a comparison: `EQ`, or `#stablehlo<comparison_direction EQ>`.
    """
    if opcode == "compare":
        return direction.rstrip(">").endswith(("EQ", "NE"))
    return opcode in COMMUTATIVE


def is_function(computation: Computation) -> bool:
    """Whether the computation is a `func.func`, not a region of an operation."""
    return any(name == "visibility" for name, _ in computation.attributes)


def is_captured(instruction: Instruction) -> bool:
    """Whether a parameter stands for a value from outside its region."""
    return instruction.opcode == "parameter" and CAPTURED in instruction.attributes


def split_operands(module: Module, op: Instruction) -> tuple[int, int]:
    """Number of the operation's own operands, and of those that its regions capture.

    Example:
        a `while` over two values whose body uses one value from outside: `(2, 1)`
    """
    captured = 0
    for index in op.called:
        computation = module.computations[index]
        captured += 0 if is_function(computation) else sum(map(is_captured, computation.instructions))
    return len(op.operands) - captured, captured


def operand_names(op: Instruction, module: Module) -> dict[int, tuple[int, ...]]:
    """For each callee, the operand that each parameter names; -1 if the parameter's number matters.

    Captured operands have no order of their own: the parameters inside name them.

    Example:
        a `case` whose two branches, computations 4 and 5, capture three values: `{4: (1, 2), 5: (3,)}`
    """
    found: dict[int, tuple[int, ...]] = {}
    captured: dict[int, list[bool]] = {}
    for callee in op.called:
        computation = module.computations[callee]
        inside = computation.instructions
        captured[callee] = [CAPTURED in inside[n].attributes for n in computation.parameters]
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
    """Parameter names that MLIR's pretty form shares between regions.

    The pretty `while` writes its arguments once for both regions, so both must use the same names. The pretty `reduce
    ... applies stablehlo.add` is only used if everything inside has the location of the reduce itself.
    """
    region = regions[number]
    if op.opcode == "while" and len(regions) == 2:
        own = [n for n in region.parameters if not is_captured(region.instructions[n])]
        body = [regions[1].instructions[n] for n in regions[1].parameters]
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
    """The last part of a region's name, unique per region: `region_title("case", 1, 3) == "branches1"`."""
    attribute = region_name(opcode, number, count)
    return f"{attribute}{number}" if attribute == "branches" else attribute


# --- Garbage collection is paused while programs are read and compared.
#
# A program is hundreds of thousands of small records that live until the comparison ends. The collector would walk them
# repeatedly in search of cycles that do not exist, which takes a seventh of the time of a comparison. Reference
# counting frees intermediate objects as usual.


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause the collection of cycles inside the block, and restore it afterwards, also after an error.

    Objects made inside count as old afterwards: otherwise the first collection would walk all of them. A later
    collection of old objects includes them. If several threads run this at once, collections resume when the thread
    that began first ends.

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
        if not gc.get_freeze_count():  # keep frozen what somebody else froze
            gc.freeze()
            gc.unfreeze()
        gc.enable()


# --- Rebuilding a module instruction by instruction; untouched parts stay the same objects.

Attributes = tuple[tuple[str, str], ...]


def map_instructions(
    module: Module,
    change: Callable[[Instruction], Instruction],
    *,
    with_attributes: bool = False,
    holding: str | None = None,
) -> tuple[Module, int]:
    """Apply `change` to every instruction and count the instructions that it replaced.

    Args:
        module: any program.
        change: gives the instruction itself where nothing changes.
        with_attributes: whether to skip instructions without attributes: they are half of all, and the calls dominate
            the time.
        holding: an attribute without which a computation stays as it is.
    """
    count = 0
    computations = []
    for computation in module.computations:
        if holding is not None and holding not in computation.attribute_names:
            computations.append(computation)
            continue
        old = computation.instructions
        new = [change(it) if it.attributes else it for it in old] if with_attributes else [*map(change, old)]
        changed = sum(map(is_not, new, old))
        count += changed
        computations.append(with_instructions(computation, new) if changed else computation)
    return (with_computations(module, computations), count) if count else (module, 0)


def map_attribute(module: Module, name: str, change: Callable[[str], str | None]) -> tuple[Module, int]:
    """Apply `change` to every attribute of that name; None drops it. `change` is called once for each value."""
    known: dict[str, str | None] = {}

    def rewrite(it: Instruction) -> Instruction:
        for key, value in it.attributes:
            if key == name:
                if value not in known:
                    known[value] = change(value)
                new = known[value]
                return it if new == value else with_attribute(it, name, new)
        return it

    return map_instructions(module, rewrite, with_attributes=True, holding=name)


def with_attribute(it: Instruction, name: str, value: str | None) -> Instruction:
    """The instruction with one attribute replaced in place, appended if it was missing, or dropped (None)."""
    pairs: list[tuple[str, str]] = []
    found = False
    for pair in it.attributes:
        if pair[0] != name:
            pairs.append(pair)
        elif value is not None and not found:
            pairs.append((name, value))
        found = found or pair[0] == name
    if not found and value is not None:
        pairs.append((name, value))
    return with_attributes(it, tuple(pairs))


# Plain constructor calls instead of dataclasses.replace: a third of its time, and this runs for every instruction.
def with_attributes(it: Instruction, attributes: Attributes) -> Instruction:
    """The instruction with other attributes."""
    return Instruction(
        it.name, it.opcode, it.shape, it.operands, it.results, attributes, it.calls, it.control_predecessors,
        it.literal, it.op_name, it.frame, it.metadata, it.line,
    )  # fmt: skip


def with_literal(it: Instruction, literal: str) -> Instruction:
    """The instruction with a different literal."""
    return Instruction(
        it.name, it.opcode, it.shape, it.operands, it.results, it.attributes, it.calls, it.control_predecessors,
        literal, it.op_name, it.frame, it.metadata, it.line,
    )  # fmt: skip


def with_instructions(computation: Computation, instructions: Sequence[Instruction]) -> Computation:
    """The computation with other instructions in the same places."""
    return Computation(
        computation.name,
        tuple(instructions),
        computation.root,
        computation.execution_thread,
        computation.attributes,
        computation.line,
    )


def with_computations(module: Module, computations: Sequence[Computation]) -> Module:
    """The module with other computations in the same places."""
    return Module(module.name, module.stage, tuple(computations), module.entry, module.attributes, module.frames)


def with_header(module: Module, attributes: Attributes) -> Module:
    """The module with other header attributes."""
    return Module(module.name, module.stage, module.computations, module.entry, attributes, module.frames)


def reordered(computation: Computation, order: Sequence[int]) -> Computation:
    """The computation with its instructions reordered: `order` holds their old positions."""
    new = [0] * len(order)
    for position, old in enumerate(order):
        new[old] = position
    instructions = [_moved(computation.instructions[old], new) for old in order]
    return Computation(
        computation.name,
        tuple(instructions),
        new[computation.root],
        computation.execution_thread,
        computation.attributes,
        computation.line,
    )


def _moved(it: Instruction, new: Sequence[int]) -> Instruction:
    return Instruction(
        it.name, it.opcode, it.shape, tuple([new[o] for o in it.operands]), it.results, it.attributes, it.calls,
        tuple([new[o] for o in it.control_predecessors]), it.literal, it.op_name, it.frame, it.metadata, it.line,
    )  # fmt: skip
