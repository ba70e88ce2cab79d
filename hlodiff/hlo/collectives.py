"""Collectives of a compiled module, one record each, in any spelling.

XLA writes one all-reduce as `all-reduce`, as `all-reduce-start` with its `-done`, as `async-start` around it, as
`fusion-start` (TPU) around it, or as a `-start` that its backend configuration calls synchronous (`"is_sync":true`).
TPUs also split one collective into steps so that matrix products run in between: a fusion that ends in
`AsyncCollectiveStart` begins it, and each fusion up to the one with `AsyncCollectiveDone` contains the whole
instruction again. Channels do not identify a collective: all collectives of a `jax.shard_map` have channel 1. Where XLA
partitions a program for TPUs, a reduce-scatter is a fusion of an all-reduce and a slice, which picks the device's part
by its `partition-id`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod

from hlodiff.hlo.grammar import parts_or_whole, unquote
from hlodiff.hlo.model import Computation, Instruction, Module, Shape
from hlodiff.hlo.traversal import called_by

_IOTA = re.compile(r"<=\[([\d,]+)\](?:T\(([\d,]+)\))?$")
_SHAPED_IOTA = re.compile(r"\[([\d,]+)\](<=.*)$")
_AXIS = re.compile(r"""(['"]?)(?P<name>.+)\1=(?P<size>\d+)""")
_AXIS_USE = re.compile(r"""\s*(?P<quote>['"]?)(?P<name>[^'":]+)(?P=quote)(?::\((?P<pre>\d+)\)(?P<size>\d+))?\s*$""")
_MESH = re.compile(r"mesh\[(?P<axes>[^\]]*)\](?:,\s*device_ids=\((?P<ids>.*?)\))?\s*\{(?P<used>[^}]*)\}$")
_GAP = re.compile(r"\d\s+\d")  # two numbers without a comma between them
_DEVICES = re.compile(r"\s*(?:\d+\s*(?:,\s*\d+\s*)*)?")
_DENSE = re.compile(r"dense<(?:(\[[\d,\s\[\]]*\])> ?:|(\d+)> ?: ?tensor<1x1x)")
_BRACES = str.maketrans("[]", "{}")
_MESH_IOTA = re.compile(r"\[([\d,]+)\](T\([\d,]+\))?\s*$")

Groups = tuple[tuple[int, ...], ...]
# A program for more devices than exist is a damaged file: expanding its groups would not end.
_MAX_DEVICES = 1 << 20


def numbers(text: str) -> list[int]:
    """Integers between commas: `numbers("2, 1") == [2, 1]`."""
    return [int(part) for part in text.split(",") if part.strip()]


def iota(text: str) -> list[int] | None:
    """The devices of `<=[2,2]T(1,0)` in order: 0..n-1 reshaped, transposed, flattened; None if the text is no iota."""
    match = _IOTA.match(text.strip())
    if match is None:
        return None
    sizes = numbers(match.group(1))
    axes = numbers(match.group(2) or "") or list(range(len(sizes)))
    if sorted(axes) != list(range(len(sizes))) or not 0 < prod(sizes) <= _MAX_DEVICES:
        return None
    return _offsets(sizes, axes)


def _offsets(sizes: Sequence[int], axes: Sequence[int]) -> list[int]:
    """Flat (row-major) offsets of the elements along some axes of an array, the last axis varying fastest."""
    strides = [prod(sizes[n + 1 :]) for n in range(len(sizes))]
    return [
        sum(index * strides[axis] for index, axis in zip(place, axes, strict=True))
        for place in product(*(range(sizes[axis]) for axis in axes))
    ]


def parse_groups(text: str) -> Groups | None:
    """Parse replica groups in any spelling, members in their own order; None if the spelling is unknown.

    Example:
        >>> parse_groups("[2,2]<=[2,2]T(1,0)"), parse_groups("dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>")
        (((0, 2), (1, 3)), ((0, 2), (1, 3)))
    """
    text = text.strip()
    if listed := _DENSE.match(text):  # of StableHLO
        text = (listed[1] or f"[[{listed[2]}]]").translate(_BRACES)
    if text.startswith("{"):
        inner = text[1:-1].strip()
        if not re.fullmatch(r"[\d,{}\s]*", text) or (inner and inner[0] != "{") or _GAP.search(inner):
            return None
        return tuple(tuple(numbers(part)) for part in re.findall(r"\{([\d,\s]*)\}", inner))
    if text.startswith("mesh["):
        return _mesh_groups(text)
    match = _SHAPED_IOTA.match(text)
    devices = iota(match.group(2)) if match else None
    if match is None or devices is None:
        return None
    sizes = numbers(match.group(1))
    if prod(sizes) != len(devices):
        return None
    return tuple(tuple(devices[n : n + sizes[-1]]) for n in range(0, len(devices), sizes[-1]))


def canonical_groups(text: str) -> str:
    """Replica groups written out and sorted by their first member; an unknown spelling is returned unchanged.

    Example:
        >>> canonical_groups("[2,2]<=[4]")
        '{{0,1},{2,3}}'
    """
    groups = parse_groups(text)
    if groups is None:
        return text
    return "{" + ",".join("{" + ",".join(map(str, group)) + "}" for group in sorted(groups)) + "}"


def _mesh_groups(text: str) -> Groups | None:
    match = _MESH.match(text)
    if match is None:
        return None
    axes = [_AXIS.fullmatch("=".join(map(str.strip, part.split("=")))) for part in match.group("axes").split(",")]
    used = [_AXIS_USE.match(part) for part in match.group("used").split(",") if part.strip()]
    if None in axes or None in used:
        return None
    sizes = {axis["name"]: int(axis["size"]) for axis in axes if axis}
    if not all(sizes.values()):
        return None
    devices = _mesh_devices(match.group("ids"), list(sizes.values()))
    parts = _sub_axes(sizes, [(use["name"], int(use["pre"] or 1), int(use["size"] or 0)) for use in used if use])
    if devices is None or parts is None:
        return None
    dimensions, chosen = parts
    outer = _offsets(dimensions, [n for n in range(len(dimensions)) if n not in chosen])
    inner = _offsets(dimensions, chosen)
    return tuple(tuple(devices[start + step] for step in inner) for start in outer)


def _mesh_devices(ids: str | None, sizes: list[int]) -> list[int] | None:
    if ids is None:
        return list(range(prod(sizes))) if 0 < prod(sizes) <= _MAX_DEVICES else None
    shaped = _MESH_IOTA.match(ids)
    if shaped is None and not _DEVICES.fullmatch(ids):
        return None
    devices = iota(f"<=[{shaped.group(1)}]{shaped.group(2) or ''}") if shaped else numbers(ids)
    return devices if devices is not None and len(devices) == prod(sizes) else None


def _sub_axes(sizes: dict[str, int], used: list[tuple[str, int, int]]) -> tuple[list[int], list[int]] | None:
    """Cut every axis where a used sub-axis `name:(pre)size` starts or ends.

    Returns the sizes of the pieces in mesh order and the pieces that are used, in the order of use.
    """
    cuts: dict[str, set[int]] = {name: {1, size} for name, size in sizes.items()}
    for name, pre, size in used:
        if (
            name not in sizes
            or not pre
            or not sizes[name]
            or sizes[name] % (end := _end(sizes[name], pre, size) or pre)
        ):
            return None  # no such part of that axis
        cuts[name] |= {pre, end}
    pieces: list[tuple[str, int, int]] = []
    for name in sizes:
        edges = sorted(cuts[name])
        if any(after % before for before, after in pairwise(edges)):
            return None
        pieces += [(name, before, after // before) for before, after in pairwise(edges)]
    chosen: list[int] = []
    for name, pre, size in used:
        end = _end(sizes[name], pre, size)
        chosen += [n for n, (owner, start, _) in enumerate(pieces) if owner == name and pre <= start < end]
    if len(set(chosen)) < len(chosen):
        return None
    return [size for _, _, size in pieces], chosen


def _end(whole: int, pre: int, size: int) -> int:
    """Where the part `(pre)size` of an axis ends; without a size, the end of the axis."""
    return pre * (size or whole // pre)


FAMILIES = (
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all", "collective-permute",
    "collective-broadcast",
)  # fmt: skip
_OPCODES = frozenset([*FAMILIES, *(f"{name}-start" for name in FAMILIES)])
# How libtpu marks an instruction that is one step of a collective, and the targets that take the first and last result.
_STEP = "async_collective_fusion_config"
_CHANNEL = re.compile(r"\bchannel_id=(\d+)")
_BEGIN, _END = "AsyncCollectiveStart", "AsyncCollectiveDone"
_WRAPPERS = frozenset(["async-start", "fusion-start"])
_OWN_NUMBER = frozenset(["partition-id", "replica-id"])
_CHAIN_ID = re.compile(r'chain_id="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective.

    Args:
        family: XLA's name without `-start` ("all-reduce").
        bytes: of the result on one device; of all parts where several arrays are combined into one collective.
        dimension: the dimension that is gathered, scattered or split; None if there is none.
        groups: replica groups in one spelling, or source-target pairs as they are.
        asynchronous: whether it has a start and a done, so that other work can run in between.
        computation: index of the computation it starts in (for an async wrapper, the wrapper's caller).
        instruction: position of the instruction that starts it.
    """

    family: str
    bytes: int
    dimension: int | None
    groups: str
    asynchronous: bool
    computation: int
    instruction: int


def collectives(module: Module) -> tuple[Collective, ...]:
    """All collectives of a compiled module, each once, in order of computations and instructions.

    Args:
        module: a compiled module as read; a normalized module lists collectives of equal computations only once.

    Returns:
        One record per collective; a `-done` and the body of an async wrapper get no record of their own.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> gather = "  ROOT g = f32[8]{0} all-gather(p), dimensions={0}, replica_groups={{0,1}}"
        >>> module = read_hlo("HloModule m\\nENTRY e {\\n  p = f32[4]{0} parameter(0)\\n" + gather + "\\n}")
        >>> [(c.family, c.bytes, c.dimension) for c in collectives(module)]
        [('all-gather', 32, 0)]
    """
    opcodes = {it.opcode for computation in module.computations for it in computation.instructions}
    if opcodes.isdisjoint(_OPCODES) and opcodes.isdisjoint(_WRAPPERS):
        return ()
    # The contents of an asynchronous wrapper are counted at the wrapper.
    wrapped, fused, later = called_by(module, _WRAPPERS), called_by(module, ("fusion",)), continued_steps(module)
    found = []
    for index, computation in enumerate(module.computations):
        if index in wrapped:
            continue
        for position, it in enumerate(computation.instructions):
            if (it.opcode in _OPCODES or it.opcode in _WRAPPERS) and (index, position) not in later:
                slices = _slices(computation, position) if index in fused and it.opcode == "all-reduce" else ()
                records = _records(module, index, position, it)
                found += [_as_reduce_scatter(record, it, slices) for record in records] if slices else records
    return tuple(found)


def continued_steps(module: Module) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Instructions that only continue a collective begun by an earlier fusion.

    Args:
        module: a compiled module.

    Returns:
        the (computation, position) of each, with that of the step that begins the collective, or those of several where
        a module has no channels to tell them apart. If the start of a chain is missing (part of a program), its first
        step counts as the start.
    """
    chains: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    begun: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for index, computation in enumerate(module.computations):
        for position, it in enumerate(computation.instructions):
            if is_step(it):
                found = _CHAIN_ID.search(it.attribute("frontend_attributes") or "")
                groups = it.attribute("replica_groups") or it.attribute("source_target_pairs") or ""
                chain = family(it.opcode) or "", it.attribute("channel_id") or "", found[1] if found else "", groups
                chains.setdefault(chain, []).append((index, position))
                if not is_later_step(computation, position):
                    begun.setdefault(chain, []).append((index, position))
    starts = {chain: begun.get(chain, steps[:1]) for chain, steps in chains.items()}
    first = {place for places in starts.values() for place in places}
    return {place: starts[chain] for chain, steps in chains.items() for place in steps if place not in first}


def is_step(it: Instruction) -> bool:
    """Whether an instruction is one of the steps in which a TPU takes a collective."""
    if it.opcode not in _OPCODES:
        return False
    return _STEP in (it.attribute("backend_config") or "") or "chain_id=" in (it.attribute("frontend_attributes") or "")


def chain_of_step(text: str) -> str:
    """What the steps of one collective of a TPU share, from the text of one of them; "" for another instruction.

    Example:
        >>> chain_of_step('%g = f32[8] all-gather(%p), channel_id=3, frontend_attributes={chain_id="7"}')
        '3, 7'
        >>> chain_of_step("%g = f32[8] all-gather(%p), channel_id=3")
        ''
    """
    chain, channel = _CHAIN_ID.search(text), _CHANNEL.search(text)
    if chain is None and _STEP not in text:
        return ""
    return f"{channel[1] if channel else ''}, {chain[1] if chain else ''}"


def is_later_step(computation: Computation, position: int) -> bool:
    """Whether an instruction continues a collective that an earlier fusion began, or waits for its end."""
    it = computation.instructions[position]
    if it.opcode == "custom-call":
        return _END in (it.attribute("custom_call_target") or "")
    return is_step(it) and not any(
        map(begins_collective, (user for user in computation.instructions if position in user.operands))
    )


def begins_collective(it: Instruction) -> bool:
    """Whether an instruction takes the result of the first step of a collective, and makes its buffers."""
    return _BEGIN in (it.attribute("custom_call_target") or "")


def stem(opcode: str) -> str:
    """An opcode as in compiled text, without `-start` and `-done`: `all-reduce` for StableHLO's `all_reduce`."""
    return opcode.replace("_", "-").removesuffix("-start").removesuffix("-done")


def family(opcode: str) -> str | None:
    """The family of a collective opcode, plain or `-start`; None for everything else, including `-done`."""
    plain = opcode.removesuffix("-start")
    return plain if plain in FAMILIES else None


def _records(module: Module, index: int, position: int, it: Instruction) -> list[Collective]:
    if is_step(it):
        return [_record(it, index, position, asynchronous=True)]
    if it.opcode in _WRAPPERS:
        inside = [one for callee in it.called for one in module.computations[callee].instructions]
        return [_record(one, index, position, asynchronous=not _is_sync(it)) for one in inside if family(one.opcode)]
    if family(it.opcode) is None:
        return []
    asynchronous = it.opcode.endswith("-start") and not _is_sync(it)
    return [_record(it, index, position, asynchronous=asynchronous)]


def _slices(computation: Computation, position: int) -> tuple[Instruction, ...]:
    """The slices by which each device takes its part of an all-reduce, if nothing else reads the result; else none."""
    if not any(it.opcode in _OWN_NUMBER for it in computation.instructions):
        return ()
    users = computation.users
    slices: list[Instruction] = []
    worklist = [position]
    for value in worklist:
        if value == computation.root:
            return ()
        for user in users[value]:
            it = computation.instructions[user]
            if it.opcode in ("get-tuple-element", "bitcast"):
                worklist.append(user)
            elif it.opcode == "dynamic-slice" and it.operands[0] == value:
                slices.append(it)
            else:
                return ()
    return tuple(slices)


def _as_reduce_scatter(record: Collective, it: Instruction, slices: Sequence[Instruction]) -> Collective:
    """The all-reduce as the reduce-scatter that it implements: its results are the slices."""
    whole = it.shape.leaves[0].dimensions
    taken = slices[0].shape.dimensions
    smaller = [n for n, (a, b) in enumerate(zip(whole, taken, strict=False)) if a != b]
    dimension = smaller[0] if len(smaller) == 1 and len(whole) == len(taken) else None
    size = sum(one.shape.bytes for one in slices)
    return replace(record, family="reduce-scatter", bytes=size, dimension=dimension)


def _record(it: Instruction, index: int, position: int, *, asynchronous: bool) -> Collective:
    replicas, ids = it.attribute("replica_groups"), it.attribute("device_ids")
    if replicas is not None and ids is not None and not replicas.endswith("}"):
        replicas = f"{replicas}, device_ids={ids}"
    groups = canonical_groups(replicas) if replicas is not None else it.attribute("source_target_pairs") or ""
    name = family(it.opcode) or it.opcode
    value = it.attribute("dimensions") or it.attribute("split_dimension") or ""
    numbers = [part for part in parts_or_whole(value.strip("{} ")) if part.isdigit()]
    return Collective(
        name, collective_result(it).bytes, int(numbers[0]) if numbers else None, groups, asynchronous, index, position
    )


def collective_result(it: Instruction) -> Shape:
    """The result of a collective, see `result_shape`."""
    return result_shape(it.opcode, it.shape)


def result_shape(opcode: str, shape: Shape) -> Shape:
    """The result of a collective or copy. The shape of a start may also hold operands and contexts.

    all-reduce-start: the result alone. all-gather-start: (operands, results). collective-permute-start:
    (operands, results, contexts...). copy-start: (result, operand, context). A pair of operands and results holds
    tuples where there are several.
    """
    parts = shape.tuple_shapes
    if not opcode.endswith("-start") or opcode == "all-reduce-start" or len(parts) < 2:
        return shape
    return parts[0 if opcode == "copy-start" else 1]


def _is_sync(it: Instruction) -> bool:
    config = unquote(it.attribute("backend_config") or "").replace(" ", "")
    return '"is_sync":true' in config
