"""What is counted in one program: ops, fusions, copies, collectives, custom calls, literals.

Each is counted in the text, and, where it means work, in what one call executes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hlodiff.differ.instruction_costs import FUSIONS, own_costs, result_of, through_bitcasts
from hlodiff.differ.loops import (
    LoopPlace,
    TripCount,
    UncountedLoop,
    condition_fingerprint,
    condition_runs,
    scan_length,
    trip_counts,
    uncounted_loop,
)
from hlodiff.hlo import collectives as ir_collectives
from hlodiff.hlo.model import CONDITIONALS, Computation, Instruction, Module, Shape
from hlodiff.hlo.traversal import KINDS, called_by, callees_first, condition_and_body, is_continuation, multiplicities

# Moves no data and computes nothing; counted separately from the ops that cost.
BOOKKEEPING = frozenset(
    ["parameter", "tuple", "get-tuple-element", "get_tuple_element", "bitcast", "return", "call", "func.call",
     "func.declaration", "composite", "sdy.manual_computation", "sdy.return", "async-start", "after-all", "domain"]
)  # fmt: skip
LARGE_LITERAL_BYTES = 1024
_HOST = 5
_COUNTED = {
    "transpose": "transposes",
    "convert": "converts",
    "broadcast": "broadcasts",
    "broadcast_in_dim": "broadcasts",
    "while": "loops",
}
_STABLEHLO_COLLECTIVES = frozenset(name.replace("-", "_") for name in ir_collectives.FAMILIES)
_MOVING = frozenset(["copy", "slice", "dynamic-slice", "dynamic-update-slice"])
_MAY_MOVE = frozenset(["fusion", *_MOVING, *(f"{name}-start" for name in _MOVING)])
_CYCLES = re.compile(r'"estimated_cycles":"?(\d{1,18})')
_REMAT = re.compile(r"\.remat\d*(?:\.|$)")
_FIXED = (
    "instructions", "ops", *(f"ops.{kind}" for kind in KINDS), "ops_in_loops", "fusions", "transposes", "copies",
    "copies_in_loops", "copy_bytes", "memory_moves", "memory_move_bytes", "converts", "broadcasts", "loops",
    "collectives", "async_collectives", "collective_bytes", "custom_calls", "host_callbacks", "host_transfers",
    "large_literals", "large_literal_bytes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Counts:
    """Everything counted in one walk over a program.

    A computation that is called from three places counts three times, so it does not matter whether equal computations
    are stored once or several times. Bytes are bytes of values, without padding.

    Args:
        ops: by opcode, bookkeeping left out. Async pairs count once, one-op fusions as their op.
        bookkeeping: tuples, get-tuple-elements, bitcasts, parameters, calls.
        fusions: by XLA's fusion kind, one-op fusions included: on a GPU each is a launch.
        collectives: by family, each with `count`, how many are `async`, and the `bytes` of their results on one device.
        custom_calls: by target.
        plain: the other metrics by name.
        kinds: the same separately for entry, fusions, loop bodies, ...; together they are the whole.
    """

    ops: Counter[str] = field(default_factory=Counter)
    bookkeeping: Counter[str] = field(default_factory=Counter)
    fusions: Counter[str] = field(default_factory=Counter)
    collectives: dict[str, Counter[str]] = field(default_factory=dict)
    custom_calls: Counter[str] = field(default_factory=Counter)
    plain: Counter[str] = field(default_factory=Counter)
    kinds: dict[str, Counts] = field(default_factory=dict)

    def add(self, part: Counts, times: int) -> None:
        """Add the counts of another part, multiplied; its kinds are not added."""
        for name in ("ops", "bookkeeping", "fusions", "custom_calls", "plain"):
            total: Counter[str] = getattr(self, name)
            for key, number in getattr(part, name).items():
                total[key] += times * number
        for family, record in part.collectives.items():
            total = self.collectives.setdefault(family, Counter())
            for key, number in record.items():
                total[key] += times * number

    def add_collective(self, family: str, size: int, asynchronous: bool) -> None:
        """Add a collective, with the bytes of its results."""
        record = self.collectives.setdefault(family, Counter(count=0, bytes=0, **{"async": 0}))
        record["count"] += 1
        record["async"] += asynchronous
        record["bytes"] += size


def own_counts(module: Module) -> list[Counts]:
    """Counts of one run of each computation, without callees; `instructions` are those of its text.

    Args:
        module: a program of either stage.
    """
    beginning: dict[int, list[ir_collectives.Collective]] = {}
    for collective in ir_collectives.collectives(module) if module.stage == "compiled" else ():
        beginning.setdefault(collective.computation, []).append(collective)
    # Continued steps of a collective are counted at its first step.
    later = ir_collectives.continued_steps(module) if beginning else frozenset()
    fused = called_by(module, FUSIONS)  # values in fusions are stored only if they are results of the fusion
    found = []
    for index, computation in enumerate(module.computations):
        counts = Counts()
        for position, it in enumerate(computation.instructions):
            if (index, position) in later:
                continue
            _count_instruction(counts, module, it)
            may_move = index not in fused and it.opcode in _MAY_MOVE
            for opcode, into, out_of in _moving(module, computation, it) if may_move else ():
                if opcode == "copy":
                    counts.plain["copies"] += 1
                    counts.plain["copy_bytes"] += into.bytes
                spaces = {_space(into), _space(out_of if out_of is not None else into)}
                if len(spaces) > 1:
                    counts.plain["memory_moves"] += 1
                    counts.plain["memory_move_bytes"] += into.bytes
                    counts.plain["host_transfers"] += _HOST in spaces
        for one in beginning.get(index, ()):
            counts.add_collective(one.family, one.bytes, one.asynchronous)
        counts.plain["instructions"] = len(computation.instructions)
        found.append(counts)
    return found


def count(module: Module, own: Sequence[Counts] | None = None) -> Counts:
    """Count everything in a program of either stage, each computation as often as its text calls it.

    Args:
        module: a program of either stage.
        own: its `own_counts`, if known.

    Example:
        >>> count(Module("m", "compiled", (), 0)).ops
        Counter()
    """
    parts: dict[str, Counts] = {}
    for weight, one in zip(multiplicities(module), own_counts(module) if own is None else own, strict=True):
        in_loops = weight.in_loop  # order of the kinds
        for kind in KINDS:
            times = weight.kinds.get(kind, 0)
            if times:
                part = parts.setdefault(kind, Counts())
                part.add(one, times)
                part.plain[f"ops.{kind}"] += times * one.plain["ops"]
                for name in ("ops", "copies"):
                    part.plain[f"{name}_in_loops"] += max(min(in_loops, times), 0) * one.plain[name]
            in_loops -= times
    whole = Counts(kinds={kind: parts[kind] for kind in KINDS if kind in parts})
    for part in whole.kinds.values():
        whole.add(part, 1)
    return whole


def metrics_by_kind(counts: Counts) -> dict[str, dict[str, float]]:
    """The counts of a program, separately for each kind of computation.

    Args:
        counts: of a whole program.

    Returns:
        for each of the kinds entry, fusion, loop, branch, reduction and other that the program has, those of its
        metrics that are not 0, and its ops as `op.<opcode>`.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> metrics_by_kind(count(read_hlo(text)))["entry"]["copy_bytes"]
        8
    """
    found: dict[str, dict[str, float]] = {}
    for kind, part in counts.kinds.items():
        shown = {n: v for n, v in metrics_of(part).items() if v and not n.startswith("ops.")}
        found[kind] = {**shown, **{f"op.{opcode}": number for opcode, number in sorted(part.ops.items())}}
    return found


def op_counts(module: Module) -> dict[str, int]:
    """How many ops of each kind a program has, bookkeeping left out.

    Args:
        module: a program of either stage.

    Returns:
        counts by opcode, sorted by opcode.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> op_counts(read_hlo("HloModule m\\nENTRY e {\\n  p = f32[] parameter(0)\\n  ROOT a = f32[] add(p, p)\\n}"))
        {'add': 1}
    """
    return dict(sorted(count(module).ops.items()))


def metrics_of(counts: Counts) -> dict[str, float]:
    """All metrics of a program; the same for its raw and its normalized text.

    Args:
        counts: of a program of either stage, see `count`.

    Returns:
        whole numbers by name: fixed names first, then one for each fusion kind, collective family and custom call
        target, as `fusions.kLoop`.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> metrics_of(count(read_hlo(text)))["copy_bytes"]
        8
    """
    metrics: dict[str, float] = {name: counts.plain[name] for name in _FIXED}
    metrics["fusions"] = counts.fusions.total()
    metrics["custom_calls"] = counts.custom_calls.total()
    for name, part in (("collectives", "count"), ("async_collectives", "async"), ("collective_bytes", "bytes")):
        metrics[name] = sum(record[part] for record in counts.collectives.values())
    metrics |= {f"fusions.{kind}": number for kind, number in sorted(counts.fusions.items())}
    for family, record in sorted(counts.collectives.items()):
        metrics[f"collectives.{family}"] = record["count"]
        metrics[f"collective_bytes.{family}"] = record["bytes"]
    metrics |= {f"custom_calls.{target}": number for target, number in sorted(counts.custom_calls.items())}
    return metrics


def raw_metrics(module: Module) -> dict[str, float]:
    """Metrics that only the program as printed has: normalizing drops them, so summary.yaml records them.

    Args:
        module: a program before normalizing.

    Returns:
        `functions` for StableHLO (equal ones are stored once, but each is compiled); for compiled programs
        `rematerialized` (XLA's own) and, if the compiler prints them, the sum of `estimated_cycles`.
    """
    if module.stage == "stablehlo":
        return {"functions": sum(any(k == "visibility" for k, _ in c.attributes) for c in module.computations)}
    metrics: dict[str, float] = {"rematerialized": 0}
    for computation, weight in zip(module.computations, multiplicities(module), strict=True):
        for instruction in computation.instructions:
            metrics["rematerialized"] += bool(_REMAT.search(instruction.name))
            cycles = cycles_of(instruction)
            if cycles is not None:
                metrics["estimated_cycles"] = metrics.get("estimated_cycles", 0) + weight.total * cycles
    return metrics


def cycles_of(it: Instruction) -> int | None:
    """XLA's own estimate for one run, which TPU programs print; None if there is none.

    Example:
        >>> cycles_of(Instruction("f", "fusion", Shape("f32")))
    """
    found = _CYCLES.search(it.attribute("backend_config") or "") if it.attributes else None
    return int(found.group(1)) if found else None


def counted_as(module: Module, instruction: Instruction) -> str:
    """The opcode that an instruction counts as, "" if it is bookkeeping or another instruction counts for it.

    `all-reduce-start` counts as `all-reduce` and its `-done` not at all; a fusion of one op counts as that op.

    Example:
        >>> module = Module("m", "compiled", (), 0)
        >>> counted_as(module, Instruction("c", "copy-start", Shape("token", is_array=False)))
        'copy'
    """
    opcode = instruction.opcode
    if opcode in BOOKKEEPING or is_continuation(opcode):
        return ""
    if opcode == "fusion" and is_wrapper(module, instruction):
        return ""
    if opcode.endswith("-start"):
        return "" if instruction.calls and instruction.calls[0][0] != "to_apply" else opcode.removesuffix("-start")
    return opcode


def is_wrapper(module: Module, fusion: Instruction) -> bool:
    """Whether a fusion wraps one op, or none that costs anything.

    Example:
        >>> is_wrapper(Module("m", "compiled", (), 0), Instruction("f", "fusion", Shape("f32")))
        True
    """
    found = 0
    for index in fusion.called:
        for instruction in module.computations[index].instructions:
            found += instruction.opcode not in BOOKKEEPING
            if found > 1:
                return False
    return True


def custom_call_target(instruction: Instruction) -> str:
    """The target of a custom call of either stage, without quotes; "" for other instructions."""
    value = instruction.attribute("custom_call_target") or instruction.attribute("call_target_name") or ""
    return value.strip('"')


def _count_instruction(counts: Counts, module: Module, it: Instruction) -> None:
    """Count one instruction, except memory moves and compiled collectives, which span several instructions."""
    if it.opcode in BOOKKEEPING:
        counts.bookkeeping[it.opcode] += 1
        return
    plain = counts.plain
    if it.opcode == "fusion":
        counts.fusions[it.attribute("kind") or "unknown"] += 1
    name = counted_as(module, it)
    if not name:
        return
    counts.ops[name] += 1
    plain["ops"] += 1
    if name in _COUNTED:
        plain[_COUNTED[name]] += 1
    elif name in ("custom-call", "custom_call"):
        target = custom_call_target(it)
        counts.custom_calls[target] += 1
        plain["host_callbacks"] += "callback" in target
        plain["host_transfers"] += target in ("MoveToHost", "MoveToDevice", "annotate_device_placement")
    elif name in ("send", "recv", "infeed", "outfeed"):
        to_host = it.opcode in ("infeed", "outfeed") or it.attribute("is_host_transfer") == "true"
        plain["host_transfers"] += to_host
    elif name in _STABLEHLO_COLLECTIVES:
        counts.add_collective(it.opcode.replace("_", "-"), it.shape.bytes, False)
    elif name == "constant" and it.shape.bytes >= LARGE_LITERAL_BYTES:
        plain["large_literals"] += 1
        plain["large_literal_bytes"] += it.shape.bytes


def _moving(module: Module, computation: Computation, it: Instruction) -> Iterator[tuple[str, Shape, Shape | None]]:
    """Copies and slices in memory of an instruction: the opcode, the shape written, and the source.

    A fusion does it if its result is a copy or a slice of a parameter. Inside a fusion nothing is stored: a copy there
    moves no bytes, and no value has a memory.
    """
    if it.opcode not in FUSIONS:
        operand = computation.instructions[it.operands[0]].shape if it.operands else None
        yield it.opcode.removesuffix("-start"), result_of(it), operand
        return
    leaves = it.shape.leaves
    body = module.computations[it.called[0]] if len(it.called) == 1 else None
    if body is None or it.opcode != "fusion":
        return
    root = body.instructions[body.root]
    results = root.operands if root.opcode == "tuple" else (body.root,)
    for leaf, result in zip(leaves, results, strict=False):
        inner = body.instructions[through_bitcasts(body, result)]
        if inner.opcode in _MOVING and inner.operands:
            taken = body.instructions[through_bitcasts(body, inner.operands[0])]
            number = taken.number if taken.opcode == "parameter" else len(it.operands)
            known = number < len(it.operands)
            yield inner.opcode, leaf, computation.instructions[it.operands[number]].shape if known else None


def _space(shape: Shape) -> int:
    return next(iter(shape.leaves), shape).memory_space


# --- Counts of what one call of a program executes: multiplied by trip counts along the call graph.
#
# One run of a computation does what its own instructions do, plus what its callees do as often as each is called: the
# body of a loop once per iteration, its condition as `condition_runs` says, one of the branches of a conditional. Where
# branches differ, or a loop may end early, the number is a range. Work in a loop with unknown trip count is counted
# separately, per iteration.

EXECUTED = (
    "flops", "bytes_accessed", "bytes_read", "bytes_written", "launches", "collectives", "async_collectives",
    "collective_bytes", "copies", "copy_bytes", "memory_moves", "memory_move_bytes", "custom_calls", "host_transfers",
    "host_callbacks",
)  # fmt: skip
"""Metrics that are counted per execution; further ones are named by family or target."""
COMPILED_ONLY = ("bytes_accessed", "bytes_read", "bytes_written", "launches")
"""Metrics of compiled programs only: StableHLO does not determine which values are stored."""
_TABLES = ("collectives.", "collective_bytes.", "custom_calls.")
# Counts outside of loops are exact up to here; a short file can call one computation 2**60 times.
_MOST = 10**15


ASSUMED = 64
"""Iterations of a loop whose trip count data decides, unless it has a lower limit, where parts of work are weighed."""
_SHORTER = 8  # how many times fewer iterations a loop in such a loop is assumed to have, as stages of a solver
# The share of a part that may change as well where a loop came or went without having moved there.
_MOST_MOVED = 0.01
OUTSIDE = UncountedLoop("", "")
"""In place of a loop: the work outside of all loops that data ends."""


@dataclass(frozen=True, slots=True)
class LoopTurn:
    """What one iteration of a loop does, without loops in it that data ends too.

    Args:
        loop: the loop, or `OUTSIDE`.
        work: of one iteration.
        reached: how often the loop is entered in one call, with one iteration of each such loop around it.
        runs: how often it iterates in one call, if data decides on `ASSUMED` iterations.
        test: a digest of its condition without numbers; equal for a loop with another tolerance or limit.
        least: what an iteration does at least: branches, and inner loops that turn 6 or 7 times, may do less. None if
            it always does the same.
        depth: how many such loops are around it.
        has_inner: whether such loops in it do work, which is not part of `work`.
    """

    loop: UncountedLoop
    work: int
    reached: int = 1
    runs: int = 1
    test: str = ""
    least: int | None = None
    depth: int = 0
    has_inner: bool = False

    @property
    def entered(self) -> tuple[int, int]:
        """How often it is entered, and in how many such loops: otherwise equal iterations are other work in all."""
        return self.depth, self.reached


@dataclass(frozen=True, slots=True)
class ExecutedCount:
    """A count of what one call of a program does.

    Args:
        least, most: bounds of what happens outside of loops with unknown trip counts; equal if exact; `most` is None if
            it is too large to count.
        per_turn: for each loop with unknown trip count what one iteration does, as (loop, least, most).
        outside: what happens outside of all loops that data ends, also of those with a known limit; None if unknown.
        turns: those loops, each with one iteration of it.
        outside_least: the lower bound of `outside` if it is a bound.
    """

    least: int = 0
    most: int | None = 0
    per_turn: tuple[tuple[UncountedLoop, int, int | None], ...] = ()
    outside: int | None = field(default=None, compare=False, repr=False)
    turns: tuple[LoopTurn, ...] = field(default=(), compare=False, repr=False)
    outside_least: int | None = field(default=None, compare=False, repr=False)

    @property
    def once(self) -> int | None:
        """With one iteration of each loop that data ends, and all of the others; None if unknown."""
        return None if self.outside is None else self.outside + sum(one.work * one.reached for one in self.turns)

    def parts(self, other: ExecutedCount) -> list[tuple[LoopTurn, LoopTurn]]:
        """Work outside of loops that data ends, then one iteration of each, on both sides; [] if there are other loops.

        Loops whose conditions compare the same, with whatever numbers, are the same; others are paired in their order.
        Both of a pair are entered as often and in as many such loops: a loop that now runs for each element of a batch
        does less in an iteration, and more often.
        A loop that came or went beside one that stayed is one that the other side never enters, unless work may have
        moved into it or out of it.
        """
        (first, *old), (second, *new) = self.loop_turns(), other.loop_turns()
        found, left = [(first, second)], []
        for turn in old:
            same = (turn.test, turn.entered)
            place = next((n for n, one in enumerate(new) if (one.test, one.entered) == same), None)
            if place is not None:
                found.append((turn, new.pop(place)))
            else:
                left.append(turn)
        if len(left) == len(new):
            pairs = list(zip(*(sorted(side, key=lambda one: one.entered) for side in (left, new)), strict=True))
            return [*found, *pairs] if all(one.entered == two.entered for one, two in pairs) else []
        if len(found) == 1 or (left and new):
            return []
        moved = (one.work - two.work if new else two.work - one.work for one, two in found)
        if any(by > _MOST_MOVED * max(one.work, two.work) for by, (one, two) in zip(moved, found, strict=True)):
            return []
        found += [(turn, replace(turn, work=0, reached=0, least=None)) for turn in left]
        return found + [(replace(turn, work=0, reached=0, least=None), turn) for turn in new]

    def loop_turns(self) -> list[LoopTurn]:
        """Work outside of loops that data ends, then one iteration of each; a range counts as its upper bound."""
        if self.outside is not None:
            return [LoopTurn(OUTSIDE, self.outside, least=self.outside_least), *self.turns]
        turns = [(OUTSIDE, self.least, self.most, 1), *((*one, ASSUMED) for one in self.per_turn)]
        return [
            LoopTurn(loop, least if most is None else most, 1, runs, least=least if most not in (None, least) else None)
            for loop, least, most, runs in turns
        ]

    @property
    def exact(self) -> int | None:
        """The number; None if only a range or a number per iteration is known.

        Example:
            >>> ExecutedCount(3, 3).exact, ExecutedCount(0, 3).exact
            (3, None)
        """
        return self.least if self.least == self.most and not self.per_turn else None

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The lower and the upper bound; the upper one is None if a loop has no known limit.

        Example:
            >>> ExecutedCount(2, 2, ((UncountedLoop("", "w"), 1, 1),)).bounds
            (2, None)
        """
        return self.least, None if self.per_turn else self.most

    @property
    def is_wide(self) -> bool:
        """Whether it may be more than twice its lower bound, and no loop is ended by data.

        Example:
            >>> ExecutedCount(6, 7).is_wide, ExecutedCount(0, 9).is_wide
            (False, True)
        """
        return len(self.loop_turns()) < 2 and (self.most is None or self.most > 2 * self.least)

    def words(self, show: Callable[[float], str], root: str = "") -> str:
        """The number as people read it.

        Args:
            show: of one number.
            root: the project's folder; files of loops in it are named relative to it.

        Example:
            >>> ExecutedCount(4, 4).words(str), ExecutedCount(0, 12).words(str), ExecutedCount(2, 12).words(str)
            ('4', 'at most 12', '2 to 12')
            >>> ExecutedCount(2, 2, ((UncountedLoop("", "w", "model.py", 12), 3, 3),)).words(str)
            '2 + 3 per turn of the loop at model.py:12'
        """
        parts = [_range(self.least, self.most, show)] if self.most != 0 or not self.per_turn else []
        for loop, least, most in self.per_turn:
            parts.append(f"{_range(least, most, show)} per turn of {loop.words(root)}")
        return " + ".join(parts)

    def to_json(self) -> object:
        """The number, or `at_least`, `at_most` and `per_turn` by loop where it is not known.

        Example:
            >>> ExecutedCount(3, 3).to_json(), ExecutedCount(0, 3).to_json()
            (3, {'at_least': 0, 'at_most': 3})
        """
        if self.exact is not None:
            return self.exact
        least, most = self.bounds
        value: dict[str, object] = {"at_least": least, "at_most": most}
        if self.per_turn:
            value["per_turn"] = {loop.name: low if low == high else [low, high] for loop, low, high in self.per_turn}
        return value

    def is_same(self, other: ExecutedCount) -> bool:
        """Whether both are equal counts over the same loops, entered as often, whatever their names."""
        ours, theirs = (
            (one.least, one.most, sorted((*loop, low, high or -1) for *loop, low, high in one._with_entered()))
            for one in (self, other)
        )
        return ours == theirs

    def compares_with(self, other: ExecutedCount) -> bool:
        """Whether two counts can be compared: both exact, or with the same loops unknown, entered as often.

        Example:
            >>> [ExecutedCount(3, 3).compares_with(other) for other in (ExecutedCount(4, 4), ExecutedCount(0, 4))]
            [True, False]
        """
        if self.exact is not None and other.exact is not None:
            return True
        loops = [sorted(found[:2] for found in one._with_entered()) for one in (self, other)]
        ranges = [(low, high) for one in (self, other) for _, low, high in one.per_turn]
        ranges += [(one.least, one.most) for one in (self, other)]
        return loops[0] == loops[1] and bool(loops[0]) and all(low == high for low, high in ranges)

    def _with_entered(self) -> Iterator[tuple[str, tuple[int, int], int, int | None]]:
        """`per_turn` with each loop's condition, and how it is entered, as far as that is known."""
        known = {turn.loop: turn.entered for turn in self.turns}
        for loop, least, most in self.per_turn:
            yield loop.condition, known.get(loop, (0, 1)), least, most


def _range(least: int, most: int | None, show: Callable[[float], str]) -> str:
    if most is None:
        return f"at least {show(least)}"
    shown = show(least), show(most)
    if shown[0] == shown[1]:
        return shown[0]
    return " to ".join(shown) if least else f"at most {shown[1]}"


ZERO = ExecutedCount()
"""The count of something that does not happen."""


def executed_table(module: Module) -> dict[str, object]:
    """What one call of a program does, as plain values without zeros, see `ExecutedCount.to_json`.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> executed_table(read_hlo(text))["copies"]
        1
    """
    return {name: number.to_json() for name, number in executed(module).items() if not number.is_same(ZERO)}


def executed(
    module: Module, costs: Sequence[Mapping[str, int]] | None = None, counts: Sequence[Counts] | None = None
) -> dict[str, ExecutedCount]:
    """What one call of a program does, by metric.

    Args:
        module: a program of either stage.
        costs, counts: its `own_costs` and `own_counts`, if known.

    Returns:
        the metrics of `EXECUTED` that the stage has, then one for each collective family and custom call target. Bytes
        and operations are computed from shapes, on one device.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> found = executed(read_hlo(text))
        >>> found["copies"].exact, found["bytes_accessed"].exact
        (1, 16)
    """
    names = [name for name in EXECUTED if module.stage == "compiled" or name not in COMPILED_ONLY]
    if not module.computations:
        return dict.fromkeys(names, ZERO)
    own: list[Mapping[str, int]] = []
    for counted, cost in zip(counts or own_counts(module), costs or own_costs(module), strict=True):
        figures = metrics_of(counted).items()
        named = {name: int(n) for name, n in figures if n and (name in EXECUTED or name.startswith(_TABLES))}
        own.append({**named, **cost})
    turns = trip_counts(module)
    totals = [_Total() for _ in module.computations]
    for index in callees_first(module):
        total = totals[index]
        for part in (total.least, total.most, total.outside, total.outside_least):
            _add(part, own[index], 1)
        for position, it in enumerate(module.computations[index].instructions):
            if not it.calls or is_continuation(it.opcode):
                continue
            if it.opcode in CONDITIONALS and len(it.called) > 1:
                totals[index].add(_one_of([totals[callee] for callee in it.called]), _Times())
                continue
            for callee, times in _calls(module, (index, position), turns):
                totals[index].add(totals[callee], times)
    total = totals[module.entry]
    loops = {place: uncounted_loop(module, place) for place in sorted(total.turns)}
    whiles = {place: module.computations[place[0]].instructions[place[1]] for place in loops}
    tests = {place: condition_fingerprint(module, it, numbers=False) for place, it in whiles.items()}
    parts = [total.most, *(most for _, most in total.per_turn.values())]
    tables = {name for part in parts for name in part if name.startswith(_TABLES)}
    return {name: _number(total, name, loops, tests) for name in [*names, *sorted(tables)]}


def static_costs(module: Module, costs: Sequence[Mapping[str, int]] | None = None) -> dict[str, int]:
    """Operations, bytes and launches of a program, each computation as often as it is called in its text.

    Args:
        module: a program of either stage.
        costs: its `own_costs`, if known.

    Returns:
        `flops`, and of a compiled program `bytes_accessed`, `bytes_read`, `bytes_written` and `launches`.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> static_costs(read_hlo(text))["launches"]
        1
    """
    found = dict.fromkeys(("flops", *(COMPILED_ONLY if module.stage == "compiled" else ())), 0)
    for weight, own in zip(multiplicities(module), own_costs(module) if costs is None else costs, strict=True):
        for name, number in own.items():
            found[name] += weight.total * number
    return found


def runs(module: Module) -> tuple[ExecutedCount, ...]:
    """How often each computation runs in one call of a program.

    Args:
        module: a program of either stage.

    Returns:
        one count for each computation. A computation applied to elements (a reducer, a comparator) counts once for each
        run of the applying instruction.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> runs(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}"))
        (ExecutedCount(least=1, most=1, per_turn=()),)
    """
    turns = trip_counts(module)
    found = [_Total() for _ in module.computations]
    if not found:
        return ()
    found[module.entry] = _Total(Counter(runs=1), Counter(runs=1))
    for index in reversed(callees_first(module)):
        for position, it in enumerate(module.computations[index].instructions):
            if it.calls and not is_continuation(it.opcode):
                for callee, times in _calls(module, (index, position), turns):
                    if callee != index:
                        found[callee].add_runs(found[index], times)
    loops = {place: uncounted_loop(module, place) for place in dict.fromkeys(p for one in found for p in one.per_turn)}
    return tuple(_number(one, "runs", loops, {}) for one in found)


@dataclass(frozen=True, slots=True)
class _Times:
    """How often one call site calls; `most` is None for a loop without known limit, `ended` a loop that data ends."""

    least: int = 1
    most: int | None = 1
    ended: LoopPlace | None = None

    @property
    def loop(self) -> LoopPlace | None:
        """The loop, if its trip count has no known limit."""
        return self.ended if self.most is None else None


@dataclass(slots=True)
class _Turn:
    """One iteration of a loop that data ends; see `LoopTurn`."""

    work: Counter[str] = field(default_factory=Counter)
    least: Counter[str] = field(default_factory=Counter)
    reached: int = 1
    runs: int = 1
    depth: int = 0
    inner: set[LoopPlace] = field(default_factory=set)


@dataclass(slots=True)
class _Total:
    """What one run of a computation does: at least, at most, and per iteration of loops with unknown trip count.

    `outside`, an upper bound with its lower one, and `turns` are about loops that data may end, also before a limit.
    """

    least: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    outside: Counter[str] = field(default_factory=Counter)
    outside_least: Counter[str] = field(default_factory=Counter)
    turns: dict[LoopPlace, _Turn] = field(default_factory=dict)
    per_turn: dict[LoopPlace, tuple[Counter[str], Counter[str]]] = field(default_factory=dict)

    def add(self, callee: _Total, times: _Times) -> None:
        """Add a callee as often as it is called; what it does per iteration of a loop stays per iteration."""
        self._add(callee, times)
        self._add_turns(callee, times)
        if times.loop is not None:
            self._add_per_turn(times.loop, callee.least, callee.most, _Times())
        if times.loop is not None or times.most:
            self.per_turn |= callee.per_turn

    def add_runs(self, caller: _Total, times: _Times) -> None:
        """Add the runs of a callee: the runs of its caller, times the calls of this call site."""
        self._add(caller, times)
        if times.loop is not None:
            self._add_per_turn(times.loop, Counter(runs=1), Counter(runs=1), _Times())
            return
        for loop, (least, most) in caller.per_turn.items() if times.most else ():
            self._add_per_turn(loop, least, most, times)

    def _add(self, other: _Total, times: _Times) -> None:
        # In a loop without known limit the condition runs at least once; all else is known for one iteration only.
        _add(self.least, other.least, times.least)
        _add(self.most, other.most, times.least if times.loop is not None else times.most or 0)

    def _add_turns(self, callee: _Total, times: _Times) -> None:
        """Add the parts of a callee; those of a loop that data ends are parts of an iteration."""
        reached = runs = times.most or 0
        if times.ended is not None:
            reached, runs = 1, ASSUMED if times.most is None else min(times.most, ASSUMED)
            body = self.turns.setdefault(times.ended, _Turn(runs=runs))
            _add(body.work, callee.outside, 1)
            _add(body.least, callee.outside_least, 1)
            body.inner |= callee.turns.keys()
            runs = -(-runs // _SHORTER)
        _add(self.outside, callee.outside, times.least if times.ended is not None else reached)
        _add(self.outside_least, callee.outside_least, times.least)
        for place, inner in callee.turns.items():
            turn = self.turns.setdefault(place, _Turn(inner.work, inner.least, 0, 0, 0, inner.inner))
            turn.depth = max(turn.depth, inner.depth + (times.ended is not None))
            turn.reached = min(turn.reached + inner.reached * reached, _MOST)
            turn.runs = min(turn.runs + inner.runs * runs, _MOST)

    def _add_per_turn(self, loop: LoopPlace, least: Mapping[str, int], most: Mapping[str, int], times: _Times) -> None:
        low, high = self.per_turn.setdefault(loop, (Counter(), Counter()))
        _add(low, least, times.least)
        _add(high, most, times.most or 0)


def _add(total: Counter[str], part: Mapping[str, int], times: int) -> None:
    if times:
        for name, number in part.items():
            total[name] = min(total[name] + number * times, _MOST)


def _calls(module: Module, place: LoopPlace, turns: Mapping[LoopPlace, TripCount]) -> list[tuple[int, _Times]]:
    """The computations that one instruction calls and how often; each branch at most once."""
    owner = module.computations[place[0]]
    it = owner.instructions[place[1]]
    if it.opcode == "while":
        computations, known = condition_and_body(it), turns.get(place)
        if computations is None:
            return []
        condition, body = computations
        if known is None:
            return [(condition, _Times(1, None, place)), (body, _Times(0, None, place))]
        ended = place if known.turns > known.least == 0 else None
        least, most = (condition_runs(it, n) for n in (known.least, known.turns))
        return [(condition, _Times(least, most, ended)), (body, _Times(known.least, known.turns, ended))]
    if (length := scan_length(it, owner)) is not None:
        return [(callee, _Times(length, length)) for callee in it.called]
    called = it.called
    if it.opcode in CONDITIONALS and len(called) > 1:
        return [(callee, _Times(0)) for callee in called]
    return [(callee, _Times()) for callee in called]


def _one_of(branches: Sequence[_Total]) -> _Total:
    """One of several branches: for each metric the least and the most that any branch does."""
    names = dict.fromkeys(name for branch in branches for name in branch.most)
    found = _Total(
        Counter({name: min(branch.least[name] for branch in branches) for name in names}),
        Counter({name: max(branch.most[name] for branch in branches) for name in names}),
        Counter({name: max(branch.outside[name] for branch in branches) for name in names}),
        Counter({name: min(branch.outside_least[name] for branch in branches) for name in names}),
    )
    for branch in branches:
        found.per_turn |= branch.per_turn
        found.turns |= branch.turns
    return found


def _number(
    total: _Total, name: str, loops: Mapping[LoopPlace, UncountedLoop], tests: Mapping[LoopPlace, str]
) -> ExecutedCount:
    most = total.most[name]
    per_turn = tuple(
        (loops[place], low[name], high[name] if high[name] < _MOST else None)
        for place, (low, high) in sorted(total.per_turn.items())
        if high[name]
    )
    turns = tuple(
        LoopTurn(
            loops[place],
            work,
            one.reached,
            one.runs,
            tests[place],
            one.least[name] if one.least[name] < work else None,
            one.depth,
            any(total.turns[inner].work[name] for inner in one.inner),
        )
        for place, one in sorted(total.turns.items())
        for work in (one.work[name],)
    )
    outside = total.outside[name] if total.outside else None
    outside_least = total.outside_least[name] if outside is not None and total.outside_least[name] < outside else None
    return ExecutedCount(total.least[name], most if most < _MOST else None, per_turn, outside, turns, outside_least)
