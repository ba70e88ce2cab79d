"""Analysis of a single program: unrolled loops, repeated work, large constants, costs of its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from hlodiff.differ.instruction_costs import (
    applied_bodies,
    fused_bodies,
    instruction_bytes,
    instruction_flops,
    is_launched,
)
from hlodiff.differ.loops import TripCount, trip_counts
from hlodiff.differ.metrics import LARGE_LITERAL_BYTES, ExecutedCount, runs
from hlodiff.differ.repeats import (
    FrameTree,
    InLoop,
    Repeat,
    is_operation,
    own_line,
    repeats,
    size_of,
    sizes_of,
    unknown,
)
from hlodiff.hlo.fingerprint import computation_hashes, digest
from hlodiff.hlo.model import Computation, Instruction, Module
from hlodiff.hlo.traversal import (
    callees_first,
    condition_and_body,
    is_continuation,
    multiplicities,
    preorder,
    source_through,
)

_HEX = re.compile(r'dense<"0x([0-9A-Fa-f]*)">')
_SHAPE_ONLY = frozenset(["convert", "reshape", "broadcast_in_dim", "broadcast", "bitcast", "copy", "transpose"])
_PASSED_ON = frozenset(["while", "call", "func.call", "fusion", "if", "case", "conditional", "composite"])
_FARTHEST = 64


@dataclass(frozen=True, slots=True)
class Table:
    """A large constant.

    Args:
        shape: as `f32[4,1000]`.
        bytes: of its numbers.
        where: the user's line that reads it; None if unknown.
        digest: a hash of its bytes; "" if the text does not have them.
        times: the number of call sites.
    """

    shape: str
    bytes: int
    where: FrameTree | None
    digest: str
    times: int = 1


def tables(module: Module, least: int = LARGE_LITERAL_BYTES) -> tuple[Table, ...]:
    """The large constants of a program, largest first.

    Args:
        module: a program of either stage.
        least: the size in bytes of a large constant. One repeated number is never large.

    Returns:
        one record for each constant.
    """
    found: list[Table] = []
    for index, weight in enumerate(multiplicities(module)):
        for position, it in enumerate(module.computations[index].instructions if weight.total else ()):
            if it.opcode == "constant" and it.shape.bytes >= least and not _is_splat(it):
                where = own_line(module, _reader(module, index, position))
                shape = it.shape.text.partition("{")[0]
                data = _HEX.fullmatch(it.literal or "")
                digest = sha256(bytes.fromhex(data[1])).hexdigest() if data else ""
                found.append(Table(shape, it.shape.bytes, where, digest, weight.total))
    return tuple(sorted(found, key=lambda table: (-table.bytes * table.times, table.shape, table.digest)))


def _is_splat(it: Instruction) -> bool:
    """Whether one number in the text stands for all elements; False for hashed or elided constants."""
    literal = it.literal or ""
    if it.attribute("hlodiff.constant") or it.attribute("frontend_attributes"):
        return False
    return literal.startswith("dense<") and not literal.startswith(('dense<"', "dense<["))


def _reader(module: Module, index: int, position: int) -> int:
    """The frame of the first operation that uses a value, wherever the value is passed on to."""
    nearest = -1
    worklist = [(index, position)]
    for owner, value in worklist[:]:
        nearest = module.computations[owner].instructions[value].frame
    for owner, value in worklist:
        if len(worklist) > _FARTHEST:
            break
        for user, it in enumerate(module.computations[owner].instructions):
            if value not in it.operands:
                continue
            if it.opcode in _PASSED_ON:
                nearest = it.frame if nearest < 0 else nearest
                for callee in it.called:  # the parameters that the value is bound to
                    parameters = module.computations[callee].parameters
                    taken = [n for n, operand in enumerate(it.operands) if operand == value and n < len(parameters)]
                    worklist += [(callee, parameters[n]) for n in taken]
            elif it.opcode in _SHAPE_ONLY:
                worklist.append((owner, user))
            elif it.frame >= 0 and it.opcode not in ("return", "tuple"):
                return it.frame
    return nearest


_NUMBERED = re.compile(r"_\d+$")
_EFFECTS = frozenset(
    ["custom_call", "custom-call", "rng", "rng_bit_generator", "rng-bit-generator", "infeed", "outfeed", "send", "recv",
     "after_all", "create_token", "optimization_barrier", "opt-barrier", "while", "sdy.manual_computation"]
)  # fmt: skip
# Nearly free: two equal broadcasts are not reported.
_CHEAP = frozenset(
    ["constant", "iota", "broadcast_in_dim", "broadcast", "reshape", "convert", "transpose", "slice", "bitcast",
     "compare", "select", "concatenate", "dynamic_slice", "pad", "reverse", "get_dimension_size"]
)  # fmt: skip
LEAST_OPERATIONS = 3


@dataclass(frozen=True, slots=True)
class RepeatedComputation:
    """A value that is computed several times from the same inputs.

    Args:
        what: opcode and shape of the last operation.
        lines: the user's lines that compute it, each once.
        times: how often it is computed.
        operations: how many operations one computation takes.
    """

    what: str
    lines: tuple[FrameTree, ...]
    times: int
    operations: int


@dataclass(frozen=True, slots=True)
class LoweredAgain:
    """An inner function that the program contains several times with the same content.

    Args:
        name: without JAX's number.
        lines: the user's lines that call it, each once.
        times: how many equal functions there are.
        operations: in one of them.
    """

    name: str
    lines: tuple[FrameTree, ...]
    times: int
    operations: int


def computed_twice(module: Module) -> tuple[RepeatedComputation, ...]:
    """Values that are computed several times from the same inputs in one computation, costliest first.

    Args:
        module: a StableHLO program. XLA finds most of these itself; in a compiled program none is expected.

    Returns:
        one record for each value used elsewhere; intermediate values are not listed separately.
    """
    sizes = dict(enumerate(sizes_of(module)))
    hashes = computation_hashes(module)
    found: list[RepeatedComputation] = []
    for computation, weight in zip(module.computations, multiplicities(module), strict=True):
        if weight.total:
            found += _twice(module, computation, hashes, sizes)
    return tuple(sorted(found, key=lambda one: (-one.operations * (one.times - 1), one.what, repr(one.lines))))


def _twice(
    module: Module, computation: Computation, hashes: Sequence[str], sizes: Mapping[int, int]
) -> list[RepeatedComputation]:
    values = _values(computation, hashes)
    groups: dict[bytes, list[int]] = {}
    for position, value in enumerate(values):
        groups.setdefault(value, []).append(position)
    doubled = {position for group in groups.values() if len(group) > 1 for position in group}
    inner = {o for n, it in enumerate(computation.instructions) if n in doubled for o in it.operands}
    found = []
    for group in groups.values():
        tops = [position for position in group if position not in inner]
        if len(tops) < 2:
            continue
        # The operation that a reader recognizes.
        it = computation.instructions[source_through(computation, tops[0], _CHEAP)]
        # Recomputing it costs everything that is duplicated on the way to it, except cheap operations.
        counted = preorder(tops[:1], lambda position: doubled.intersection(computation.instructions[position].operands))
        costly = [one for one in map(computation.instructions.__getitem__, counted) if one.opcode not in _CHEAP]
        operations = sum(size_of(one, sizes) for one in costly if is_operation(one))
        if operations >= LEAST_OPERATIONS:
            shape = it.shape.text.partition("{")[0]
            found.append(
                RepeatedComputation(
                    f"{it.opcode} {shape}",
                    _distinct(module, [computation.instructions[position].frame for position in tops]),
                    len(tops),
                    operations,
                )
            )
    return found


def _values(computation: Computation, hashes: Sequence[str]) -> list[bytes]:
    """Value numbering: equal for the same operation on equal values without side effects."""
    values: list[bytes] = []
    for position, it in enumerate(computation.instructions):
        if it.opcode in ("parameter", "return", "tuple") or it.opcode in _EFFECTS:
            values.append(b"%d" % position)
            continue
        inputs = [values[o] for o in it.operands]
        results = ",".join(map(str, it.results))
        own = f"{it.opcode} {it.shape.text} {it.attributes} {it.literal} {results}"
        values.append(digest([own.encode(), *(hashes[c].encode() for c in it.called), *inputs]))
    return values


def lowered_again(module: Module) -> tuple[LoweredAgain, ...]:
    """Inner functions that a program contains several times with the same content, costliest first.

    Args:
        module: a StableHLO program as JAX printed it; normalizing keeps one of each.

    Returns:
        one record for each function of three operations or more: JAX's own small ones are often there twice.
    """
    if module.stage != "stablehlo":
        return ()
    hashes, sizes = computation_hashes(module), sizes_of(module)
    groups: dict[str, list[int]] = {}
    for index, computation in enumerate(module.computations):
        if ("visibility", "private") in computation.attributes:
            groups.setdefault(hashes[index], []).append(index)
    found = []
    for group in groups.values():
        if len(group) > 1 and sizes[group[0]] >= LEAST_OPERATIONS:
            names = sorted({_NUMBERED.sub("", module.computations[index].name) for index in group})
            found.append(LoweredAgain(", ".join(names), _callers(module, group), len(group), sizes[group[0]]))
    return tuple(sorted(found, key=lambda one: (-one.operations * one.times, one.name)))


def _callers(module: Module, functions: Sequence[int]) -> tuple[FrameTree, ...]:
    wanted = set(functions)
    frames = [
        it.frame
        for computation in module.computations
        for it in computation.instructions
        if wanted.intersection(it.called)
    ]
    return _distinct(module, frames)


def _distinct(module: Module, frames: Sequence[int]) -> tuple[FrameTree, ...]:
    found = dict.fromkeys(own_line(module, frame) for frame in frames)
    return tuple(line for line in found if line is not None)


Known = Literal["exactly", "at most"]


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A `while` with known trip count.

    Args:
        where: the user's line that made it; None if unknown.
        turns: how often the body runs.
        known: "exactly", or "at most" if another condition may end it early.
        body: operations in one iteration.
        times: the number of call sites.
    """

    where: FrameTree | None
    turns: int
    known: Known
    body: int
    times: int = 1


def loops(module: Module) -> tuple[CountedLoop, ...]:
    """All loops of a program with known trip count, in program order.

    Args:
        module: a program of either stage.

    Returns:
        one record for each `while`, without data-dependent loops.
    """
    sizes = sizes_of(module)
    return tuple(
        CountedLoop(
            own_line(module, it.frame), known.turns, "exactly" if known.exact else "at most", sizes[body], times
        )
        for it, known, body, times in _counted(module)
    )


def turning(module: Module) -> Iterator[tuple[Instruction, int, int]]:
    """Every `while` with exactly known trip count, with that count and the index of its body."""
    return ((it, known.turns, body) for it, known, body, _ in _counted(module) if known.exact)


def _counted(module: Module) -> Iterator[tuple[Instruction, TripCount, int, int]]:
    """Every `while` with known trip count that is called, with that count, its body and how often it is called."""
    weights = multiplicities(module)
    for (index, position), known in trip_counts(module).items():
        it = module.computations[index].instructions[position]
        computations = condition_and_body(it)
        if weights[index].total and computations is not None:
            yield it, known, computations[1], weights[index].total


@dataclass(frozen=True, slots=True)
class ProgramAnalysis:
    """What one program contains more often, or larger, than necessary.

    Args:
        repeats: bodies with several copies: loops of Python that JAX unrolled.
        twice: values computed several times from the same inputs.
        lowered_again: inner functions contained several times.
        tables: large constants.
        loops: loops of the program with known trip count.
    """

    repeats: tuple[Repeat, ...] = ()
    twice: tuple[RepeatedComputation, ...] = ()
    lowered_again: tuple[LoweredAgain, ...] = ()
    tables: tuple[Table, ...] = ()
    loops: tuple[CountedLoop, ...] = ()


def analyze_program(module: Module, in_loop: InLoop = unknown) -> ProgramAnalysis:
    """Analyze one program.

    Args:
        module: a program of either stage, best as JAX printed it: normalizing merges equal functions.
        in_loop: whether a line of a file lies in a loop of Python.

    Returns:
        everything found, each kind with the costliest first.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> analyze_program(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}"))
        ProgramAnalysis(repeats=(), twice=(), lowered_again=(), tables=(), loops=())
    """
    stablehlo = module.stage == "stablehlo"
    return ProgramAnalysis(
        repeats(module, in_loop),
        computed_twice(module) if stablehlo else (),
        lowered_again(module),
        tables(module),
        loops(module),
    )


# --- What each part of one program costs.


@dataclass(frozen=True, slots=True)
class PartCost:
    """What one instruction costs.

    Args:
        runs: how often it runs in one call of the program.
        read, written: bytes of one run on one device; 0 in fusions and StableHLO, where memory traffic is unknown.
        flops: of one run, without callees.
    """

    runs: ExecutedCount
    read: int = 0
    written: int = 0
    flops: int = 0

    @property
    def bytes(self) -> int:
        """Bytes that one run reads and writes."""
        return self.read + self.written

    @property
    def times(self) -> int:
        """Runs for ranking: the upper bound, with one iteration of loops with unknown trip count."""
        most = self.runs.most if self.runs.most is not None else self.runs.least
        return most + sum(high if high is not None else low for _, low, high in self.runs.per_turn)


@dataclass(frozen=True, slots=True)
class ProgramParts:
    """All parts of a program.

    Args:
        parts: for each computation its instructions.
        bytes, flops: for each computation its cost with all callees in one call of the program.
        callers: for each computation the instructions that call it, in order.
        fused: computations whose values are never stored.
        applied: computations that are applied to elements.
    """

    parts: tuple[tuple[PartCost, ...], ...]
    bytes: tuple[int, ...]
    flops: tuple[int, ...]
    callers: tuple[tuple[tuple[int, int], ...], ...]
    fused: frozenset[int]
    applied: frozenset[int]


def part_costs(module: Module) -> ProgramParts:
    """What each part of a program costs.

    Args:
        module: a program of either stage.

    Returns:
        the costs; those of a computation with several callers are summed over all calls.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> found = part_costs(read_hlo(text))
        >>> found.parts[0][1].bytes, found.bytes
        (16, (16,))
    """
    fused, applied, counts = frozenset(fused_bodies(module)), frozenset(applied_bodies(module)), runs(module)
    parts: list[tuple[PartCost, ...]] = []
    callers: list[list[tuple[int, int]]] = [[] for _ in module.computations]
    for index, computation in enumerate(module.computations):
        stored = module.stage == "compiled" and index not in fused
        own = []
        for position, it in enumerate(computation.instructions):
            place = index, position
            for callee in it.called if it.calls and not is_continuation(it.opcode) else ():
                callers[callee].append(place)
            sizes = instruction_bytes(module, place) if stored and is_launched(it) else (0, 0)
            flops = 0 if index in applied else instruction_flops(module, place)
            own.append(PartCost(counts[index], *sizes, flops))
        parts.append(tuple(own))
    total_bytes, total_flops = [0] * len(parts), [0] * len(parts)
    for index in callees_first(module):
        called = {callee for callee in module.computations[index].callees if callee != index}
        total_bytes[index] = sum(one.bytes * one.times for one in parts[index]) + sum(total_bytes[c] for c in called)
        total_flops[index] = sum(one.flops * one.times for one in parts[index]) + sum(total_flops[c] for c in called)
    return ProgramParts(
        tuple(parts), tuple(total_bytes), tuple(total_flops), tuple(map(tuple, callers)), fused, applied
    )
