"""What can be counted in one program: ops, fusions, copies, collectives, custom calls, literals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hlodiff.differ.instruction_costs import FUSIONS, result_of, through_bitcasts
from hlodiff.hlo import collectives as ir_collectives
from hlodiff.hlo.model import Computation, Instruction, Module, Shape
from hlodiff.hlo.traversal import KINDS, called_by, is_continuation, multiplicities

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


def module_metrics(module: Module) -> dict[str, float]:
    """All metrics of a program; the same for its raw and its normalized text.

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
    """The metrics of counts by name; see `module_metrics`."""
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
    leaves = it.shape.leaves()
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
    return next(iter(shape.leaves()), shape).memory_space
