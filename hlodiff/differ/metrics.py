"""What can be counted in one program: ops, fusions, copies, collectives, custom calls, literals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hlodiff.differ.instruction_costs import FUSIONS, result_of, through_bitcasts
from hlodiff.hlo import collectives as ir_collectives
from hlodiff.hlo.model import Computation, Instruction, Module, Shape
from hlodiff.hlo.traversal import KINDS, Multiplicity, is_continuation, multiplicities

# Moves no data and computes nothing; counted apart from the ops that cost.
BOOKKEEPING = frozenset(
    ["parameter", "tuple", "get-tuple-element", "get_tuple_element", "bitcast", "return", "call", "func.call",
     "func.declaration", "composite", "sdy.manual_computation", "sdy.return", "async-start", "after-all", "domain"]
)  # fmt: skip
LARGE_LITERAL_BYTES = 1024
_HOST = 5
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

    A computation that is called from three places counts three times, so the counts are the same whether equal
    computations are stored once or often. Bytes are bytes of values, without padding.

    Args:
        ops: by opcode, bookkeeping left out. Async pairs count once, one-op fusions as their op.
        bookkeeping: tuples, get-tuple-elements, bitcasts, parameters, calls.
        fusions: by XLA's fusion kind, one-op fusions included: on a GPU each is a launch.
        collectives: by family, each with `count`, how many are `async`, and the `bytes` of their results on one device.
        custom_calls: by target.
        plain: the other metrics by name.
        kinds: the same apart for entry, fusions, loop bodies, ...; together they are the whole.
    """

    ops: Counter[str] = field(default_factory=Counter)
    bookkeeping: Counter[str] = field(default_factory=Counter)
    fusions: Counter[str] = field(default_factory=Counter)
    collectives: dict[str, Counter[str]] = field(default_factory=dict)
    custom_calls: Counter[str] = field(default_factory=Counter)
    plain: Counter[str] = field(default_factory=Counter)
    kinds: dict[str, Counts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """What has to be known of a program to count its parts.

    Args:
        collectives: by the computation they start in.
        later: places of instructions that only go on with a collective which is counted already.
        fused: computations that fusions call, whose values are stored only where they are a fusion's results.
    """

    collectives: Mapping[int, Sequence[ir_collectives.Collective]]
    later: frozenset[tuple[int, int]]
    fused: frozenset[int]

    @classmethod
    def of(cls, module: Module) -> Context:
        """The context of a whole program."""
        found: dict[int, list[ir_collectives.Collective]] = {}
        for one in ir_collectives.collectives(module) if module.stage == "compiled" else ():
            found.setdefault(one.computation, []).append(one)
        fused = frozenset(
            callee
            for computation in module.computations
            for it in computation.instructions
            if it.opcode in FUSIONS
            for callee in it.called
        )
        return cls(found, ir_collectives.continued_steps(module) if found else frozenset(), fused)


def count(module: Module) -> Counts:
    """Count everything in a program of either stage in one walk; the functions below give its parts.

    Example:
        >>> count(Module("m", "compiled", (), 0)).ops
        Counter()
    """
    weights = multiplicities(module)
    context = Context.of(module)
    whole = Counts()
    for kind in KINDS:
        ours = [_as_kind(weight, kind) for weight in weights]
        if any(weight.total for weight in ours):
            whole.kinds[kind] = part = _count(module, ours, context)
            for total, counted in _tables(whole, part):
                total.update(counted)
    return whole


def _as_kind(weight: Multiplicity, kind: str) -> Multiplicity:
    """As much of a weight as one kind has of it; call sites in loops go to the kinds in their order."""
    before = sum(weight.kinds.get(other, 0) for other in KINDS[: KINDS.index(kind)])
    total = weight.kinds.get(kind, 0)
    return Multiplicity(total, min(max(weight.in_loop - before, 0), total), {kind: total})


def _tables(whole: Counts, part: Counts) -> Iterator[tuple[Counter[str], Counter[str]]]:
    for name in ("ops", "bookkeeping", "fusions", "custom_calls", "plain"):
        yield getattr(whole, name), getattr(part, name)
    for family, record in part.collectives.items():
        yield whole.collectives.setdefault(family, Counter()), record


def metrics_by_kind(counts: Counts) -> dict[str, dict[str, float]]:
    """What is counted in a program, apart for the kinds of computations it stands in.

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


def _count(module: Module, weights: Sequence[Multiplicity], context: Context) -> Counts:
    """Count every computation as often as its weight says."""
    counts = Counts()
    for index, weight in enumerate(weights):
        if weight.total:
            counts.plain["instructions"] += weight.total * len(module.computations[index].instructions)
            _count_computation(counts, module, index, context, weight)
    return counts


def count_computation(module: Module, index: int, context: Context) -> Counts:
    """Count one run of one computation, without what it calls.

    Args:
        module: a program of either stage.
        index: of the computation.
        context: of the program.
    """
    counts = Counts()
    _count_computation(counts, module, index, context, Multiplicity(1))
    return counts


def _count_computation(counts: Counts, module: Module, index: int, context: Context, weight: Multiplicity) -> None:
    computation, stored = module.computations[index], index not in context.fused
    for position, it in enumerate(computation.instructions):
        if (index, position) in context.later:
            continue
        _count_instruction(counts, module, computation, it, weight)
        if stored and it.opcode in _MAY_MOVE:
            for moving, into, out_of in _moving(module, computation, it):
                _count_moving(counts, moving, into, out_of, weight)
    for one in context.collectives.get(index, ()):
        _count_collective(counts, one.family, one.bytes, one.asynchronous, weight)


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


def bookkeeping_counts(module: Module) -> dict[str, int]:
    """How many tuples, get-tuple-elements, bitcasts, parameters and calls a program has, sorted by opcode."""
    return dict(sorted(count(module).bookkeeping.items()))


def fusions_by_kind(module: Module) -> dict[str, int]:
    """Fusions of a compiled program by XLA's fusion kind ("kLoop", "kInput", ...), sorted by kind."""
    return dict(sorted(count(module).fusions.items()))


def collectives(module: Module) -> dict[str, dict[str, int]]:
    """Collectives by family ("all-reduce"), whatever their spelling: `count`, `async` and `bytes` of each."""
    return {family: dict(record) for family, record in sorted(count(module).collectives.items())}


def custom_calls(module: Module) -> dict[str, int]:
    """Custom calls by target, sorted by target."""
    return dict(sorted(count(module).custom_calls.items()))


def module_metrics(module: Module) -> dict[str, float]:
    """Everything that is counted in a program itself; the same for its raw and its normalized text.

    Args:
        module: a program of either stage.

    Returns:
        whole numbers by name: fixed names first, then one for each fusion kind, collective family and custom call
        target, as `fusions.kLoop`.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> module_metrics(read_hlo(text))["copy_bytes"]
        8
    """
    return metrics_of(count(module))


def metrics_of(counts: Counts) -> dict[str, float]:
    """The metrics by name of what was counted; see `module_metrics`."""
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
    """What only the program as the compiler printed it shows: normalizing drops it, so it stands in summary.yaml.

    Args:
        module: a program before normalizing.

    Returns:
        `functions` for StableHLO (equal ones are stored once, but each is compiled); for compiled programs
        `rematerialized` (XLA's own) and, where the compiler says so, the sum of `estimated_cycles`.
    """
    if module.stage == "stablehlo":
        return {"functions": sum(any(k == "visibility" for k, _ in c.attributes) for c in module.computations)}
    metrics: dict[str, float] = {"rematerialized": 0}
    for computation, weight in zip(module.computations, multiplicities(module), strict=True):
        for instruction in computation.instructions:
            metrics["rematerialized"] += weight.total * bool(_REMAT.search(instruction.name))
            cycles = cycles_of(instruction)
            if cycles is not None:
                metrics["estimated_cycles"] = metrics.get("estimated_cycles", 0) + weight.total * cycles
    return metrics


def cycles_of(it: Instruction) -> int | None:
    """XLA's own estimate for one run, which TPU programs state as they are printed; None where there is none.

    Example:
        >>> cycles_of(Instruction("f", "fusion", Shape("f32")))
    """
    found = _CYCLES.search(it.attribute("backend_config") or "")
    return int(found.group(1)) if found else None


def counted_as(module: Module, instruction: Instruction) -> str:
    """The opcode that an instruction counts as, "" where it is bookkeeping or another instruction counts for it.

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


def _count_instruction(
    counts: Counts, module: Module, computation: Computation, instruction: Instruction, weight: Multiplicity
) -> None:
    if instruction.opcode in BOOKKEEPING:
        counts.bookkeeping[instruction.opcode] += weight.total
        return
    if instruction.opcode == "fusion":
        counts.fusions[instruction.attribute("kind") or "unknown"] += weight.total
    name = counted_as(module, instruction)
    if not name:
        return
    counts.ops[name] += weight.total
    counts.plain["ops"] += weight.total
    counts.plain["ops_in_loops"] += weight.in_loop
    for kind, number in weight.kinds.items():
        counts.plain[f"ops.{kind}"] += number
    special = _SPECIAL.get(name)
    if special:
        special(counts, computation, instruction, weight)


def _moving(module: Module, computation: Computation, it: Instruction) -> Iterator[tuple[str, Shape, Shape | None]]:
    """What an instruction copies or slices in memory: the opcode, what it writes, and the value it takes that from.

    A fusion does it where its result is a copy or a slice of a parameter. In a fusion nothing is stored: a copy there
    moves no bytes, and no value has a memory.
    """
    if it.opcode not in FUSIONS:
        operand = computation.instructions[it.operands[0]].shape if it.operands else None
        yield it.opcode.removesuffix("-start"), result_of(it), operand
        return
    leaves = list(it.shape.leaves())
    body = module.computations[it.called[0]] if len(it.called) == 1 else None
    if body is None or it.opcode != "fusion":
        return
    root = body.instructions[body.root]
    results = root.operands if root.opcode == "tuple" else (body.root,)
    for leaf, result in zip(leaves, results, strict=False):
        inner = body.instructions[through_bitcasts(body, result)]
        if inner.opcode in _MOVING and inner.operands:
            taken = body.instructions[through_bitcasts(body, inner.operands[0])]
            number = int(taken.literal or 0) if taken.opcode == "parameter" else len(it.operands)
            known = number < len(it.operands)
            yield inner.opcode, leaf, computation.instructions[it.operands[number]].shape if known else None


def _count_moving(counts: Counts, opcode: str, into: Shape, out_of: Shape | None, weight: Multiplicity) -> None:
    if opcode == "copy":
        counts.plain["copies"] += weight.total
        counts.plain["copies_in_loops"] += weight.in_loop
        counts.plain["copy_bytes"] += weight.total * into.bytes
    spaces = {_space(into), _space(out_of if out_of is not None else into)}
    if len(spaces) > 1:
        counts.plain["memory_moves"] += weight.total
        counts.plain["memory_move_bytes"] += weight.total * into.bytes
        counts.plain["host_transfers"] += weight.total * (_HOST in spaces)


def _count_custom_call(counts: Counts, _: Computation, it: Instruction, weight: Multiplicity) -> None:
    target = custom_call_target(it)
    counts.custom_calls[target] += weight.total
    counts.plain["host_callbacks"] += weight.total * ("callback" in target)
    moves = ("MoveToHost", "MoveToDevice", "annotate_device_placement")
    counts.plain["host_transfers"] += weight.total * (target in moves)


def _count_literal(counts: Counts, _: Computation, it: Instruction, weight: Multiplicity) -> None:
    if it.shape.bytes >= LARGE_LITERAL_BYTES:
        counts.plain["large_literals"] += weight.total
        counts.plain["large_literal_bytes"] += weight.total * it.shape.bytes


def _count_channel(counts: Counts, _: Computation, it: Instruction, weight: Multiplicity) -> None:
    to_host = it.opcode in ("infeed", "outfeed") or it.attribute("is_host_transfer") == "true"
    counts.plain["host_transfers"] += weight.total * to_host


def _count_stablehlo_collective(counts: Counts, _: Computation, it: Instruction, weight: Multiplicity) -> None:
    _count_collective(counts, it.opcode.replace("_", "-"), it.shape.bytes, False, weight)


def _count_collective(counts: Counts, family: str, size: int, asynchronous: bool, weight: Multiplicity) -> None:
    if weight.total:
        record = counts.collectives.setdefault(family, Counter(count=0, bytes=0, **{"async": 0}))
        record["count"] += weight.total
        record["async"] += weight.total * asynchronous
        record["bytes"] += weight.total * size


def _counting(metric: str) -> Callable[[Counts, Computation, Instruction, Multiplicity], None]:
    def count_one(counts: Counts, _: Computation, __: Instruction, weight: Multiplicity) -> None:
        counts.plain[metric] += weight.total

    return count_one


_SPECIAL: dict[str, Callable[[Counts, Computation, Instruction, Multiplicity], None]] = {
    **dict.fromkeys(["custom-call", "custom_call"], _count_custom_call),
    **dict.fromkeys(["send", "recv", "infeed", "outfeed"], _count_channel),
    **dict.fromkeys([name.replace("-", "_") for name in ir_collectives.FAMILIES], _count_stablehlo_collective),
    "constant": _count_literal,
    "transpose": _counting("transposes"),
    "convert": _counting("converts"),
    **dict.fromkeys(["broadcast", "broadcast_in_dim"], _counting("broadcasts")),
    "while": _counting("loops"),
}


def _space(shape: Shape) -> int:
    leaf = next(shape.leaves(), shape)
    return leaf.layout.memory_space if leaf.layout else 0
