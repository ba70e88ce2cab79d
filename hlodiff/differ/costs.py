"""The roofline quantities of each edit, computed from shapes: operations, bytes read and written, how often it runs.

How often a computation runs is summed over its callers in topological order of the call graph, loops by their turns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hlodiff.differ.computation_matches import ComputationMatch, Place, ProgramMatch, is_embedded, matched_calls
from hlodiff.differ.edits import RawEdit
from hlodiff.differ.multiplicity import is_continuation
from hlodiff.differ.placement import format_memory_space, platform_of
from hlodiff.differ.result import Cost
from hlodiff.differ.trip_counts import trip_counts
from hlodiff.graph import call_sites
from hlodiff.hlo.collectives import collective_result
from hlodiff.hlo.grammar import KNOWN_TRIP_COUNT
from hlodiff.hlo.model import Computation, Instruction, Module, Shape

if TYPE_CHECKING:
    import networkx as nx

_CONTRACTED = re.compile(
    r"lhs_contracting_dimensions\"?\s*[=:]\s*\[([\d,\s\"]*)\]|^lhs_contracting_dims=\{([\d,]*)\}$", re.MULTILINE
)
_LABELS = re.compile(r"(?P<lhs>[\dbf?]+)_(?P<rhs>[\dio?]+)->(?P<out>[\dbf?]+)")
_CONV = re.compile(r"\[(?P<lhs>[^\]]*)\]x\[(?P<rhs>[^\]]*)\]->\[(?P<out>[^\]]*)\]")
_DIMENSION = re.compile(r"(\w+)=([-\dx_]+)")
# Looking at more places of a kernel takes longer than an estimate is worth.
_MOST_PLACES = 10**6
# One operation for each element of the result. Comparisons, selections and casts are none.
_ELEMENTWISE = frozenset(
    ["abs", "add", "atan2", "cbrt", "ceil", "cosine", "divide", "erf", "exponential", "exponential-minus-one", "floor",
     "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate", "power", "remainder",
     "round-nearest-afz", "round-nearest-even", "rsqrt", "sign", "sine", "sqrt", "subtract", "tan", "tanh"]
)  # fmt: skip
_REDUCING = frozenset(["reduce", "reduce-window"])
_REDUCING_DEVICES = frozenset(["all-reduce", "reduce-scatter"])


def flops_of(it: Instruction, operands: Sequence[Shape]) -> int:
    """Operations of one run of one instruction; what it calls is not counted.

    Args:
        it: an instruction of either stage.
        operands: the shapes of its operands.

    Returns:
        two for each multiplication with its addition; 0 where nothing is computed, or we do not know what.

    Example:
        >>> dot = Instruction("d", "dot", Shape("f32", (4, 2)), (0, 1), attributes=(("lhs_contracting_dims", "{1}"),))
        >>> flops_of(dot, (Shape("f32", (4, 8)), Shape("f32", (8, 2))))
        128
    """
    try:
        return _flops(it, operands)
    except (ValueError, LookupError, ArithmeticError):  # attributes that do not fit together: an estimate, so no error
        return 0


def _flops(it: Instruction, operands: Sequence[Shape]) -> int:
    opcode = it.opcode.replace("_", "-").removesuffix("-start")
    if opcode in _ELEMENTWISE:
        return it.shape.elements
    if it.opcode in ("dot", "dot_general") or "gemm" in (it.attribute("custom_call_target") or ""):
        return _dot(it, operands)
    if it.opcode == "convolution":
        return _convolution(it, operands)
    if opcode in _REDUCING:
        return sum(shape.elements for shape in operands[: max(len(operands) // 2, 1)])
    if opcode in _REDUCING_DEVICES:
        return sum(leaf.elements for shape in operands for leaf in shape.leaves())
    return 0


def _dot(it: Instruction, operands: Sequence[Shape]) -> int:
    found = _CONTRACTED.search("\n".join(f"{name}={value}" for name, value in it.attributes))
    if found is None or not operands:
        return 0
    dimensions = [int(n) for n in re.findall(r"\d+", found.group(1) or found.group(2) or "")]
    contracted = 1
    for dimension in dimensions:
        contracted *= operands[0].dimensions[dimension] if dimension < len(operands[0].dimensions) else 0
    return 2 * next(it.shape.leaves(), it.shape).elements * contracted


def _convolution(it: Instruction, operands: Sequence[Shape]) -> int:
    labels = _labels(it)
    if labels is None or len(operands) < 2:
        return 0
    lhs, rhs, out = labels
    if any("?" in group for group in labels):  # XLA's word for dimensions whose part in the convolution it does not say
        return 0
    ours, kernel, result = operands[0].dimensions, operands[1].dimensions, it.shape.dimensions
    if (len(lhs), len(rhs), len(out)) != (len(ours), len(kernel), len(result)):
        return 0
    positions = 1
    for number, window in enumerate(_windows(it, sum(label.isdigit() for label in lhs))):
        place = str(number)
        positions *= _valid(ours[lhs.index(place)], kernel[rhs.index(place)], result[out.index(place)], *window)
    groups = int((it.attribute("batch_group_count") or "1").partition(" ")[0])
    return 2 * positions * kernel[rhs.index("i")] * result[out.index("f")] * ours[lhs.index("b")] // groups


def _labels(it: Instruction) -> tuple[Sequence[str], Sequence[str], Sequence[str]] | None:
    for _, value in it.attributes:
        match = _LABELS.fullmatch(value)
        if match:
            return tuple(match["lhs"]), tuple(match["rhs"]), tuple(match["out"])
        listed = _CONV.search(value)
        if listed:
            lhs, rhs, out = (tuple(part.strip() for part in group.split(",")) for group in listed.groups())
            return lhs, rhs, out
    return None


def _windows(it: Instruction, rank: int) -> list[tuple[int, int, int, int]]:
    """For each spatial dimension (stride, padding in front, dilation of the input, dilation of the kernel)."""
    text = it.attribute("window")
    if text is None:
        return [_stablehlo_window(it, n) for n in range(rank)]
    parts = {name: value.split("x") for name, value in _DIMENSION.findall(text)}
    rows = []
    for n in range(rank):
        pad = parts["pad"][n].split("_")[0] if n < len(parts.get("pad", ())) else "0"
        stride, base, inside = (
            int(parts[name][n]) if n < len(parts.get(name, ())) else 1
            for name in ("stride", "lhs_dilate", "rhs_dilate")
        )
        rows.append((stride, int(pad), base, inside))
    return rows


def _stablehlo_window(it: Instruction, n: int) -> tuple[int, int, int, int]:
    values = []
    for name, usual in (("window_strides", 1), ("padding", 0), ("lhs_dilation", 1), ("rhs_dilation", 1)):
        text = (it.attribute(name) or "").partition("<")[2].partition(">")[0].removeprefix("i64:")
        numbers = [int(number) for number in re.findall(r"-?\d+", text)]
        place = 2 * n if name == "padding" else n
        values.append(numbers[place] if place < len(numbers) else numbers[0] if len(numbers) == 1 else usual)
    return values[0], values[1], values[2], values[3]


def _valid(size: int, kernel: int, result: int, stride: int, pad: int, base: int, inside: int) -> int:
    """Pairs of a place in the result and one in the kernel that meet an element of the input and no padding."""
    reach = (size - 1) * base  # the last element that is no hole
    if kernel * (1 if base == 1 else result) > _MOST_PLACES:
        return kernel * result // max(base, 1)  # without a look at the padding
    if base == 1:
        count = 0
        for place in range(kernel):
            first = -((place * inside - pad) // stride)
            last = (reach - place * inside + pad) // stride
            count += max(0, min(last, result - 1) - max(first, 0) + 1)
        return count
    places = ((out * stride + k * inside - pad) for k in range(kernel) for out in range(result))
    return sum(0 <= place <= reach and place % base == 0 for place in places)


# They name, take apart or hand on what others wrote.
_FREE = frozenset(
    ["parameter", "tuple", "get-tuple-element", "get_tuple_element", "bitcast", "return", "sdy.return", "while",
     "call", "func.call", "conditional", "case", "if", "constant", "after-all", "optimization-barrier",
     "optimization_barrier", "opt-barrier", "domain", "partition-id", "replica-id", "sdy.sharding_constraint",
     "async-start", "func.declaration", "composite", "sdy.manual_computation"]
)  # fmt: skip
_FUSIONS = frozenset(["fusion", "fusion-start"])
_APPLYING = frozenset(
    ["reduce", "reduce-window", "reduce_window", "scatter", "select-and-scatter", "select_and_scatter", "sort", "map",
     "all-reduce", "all_reduce", "reduce-scatter", "reduce_scatter"]
)  # fmt: skip
# They read of their first operand only as much as they write.
_SLICING = frozenset(["slice", "dynamic-slice", "dynamic_slice", "gather"])
_UPDATING = frozenset(["dynamic-update-slice", "dynamic_update_slice"])
_MOST = 10**15  # sharing may nest: a short file can call one computation 2**60 times
_Node = tuple[str, int, int]


LoopTurns = Mapping[tuple[str, str], int]
"""How often loops turn whose trip count is known, by the names of computation and loop."""
Turns = tuple[LoopTurns, LoopTurns]


def turns_by_name(module: Module) -> dict[tuple[str, str], int]:
    """How often each loop turns, by the names of its computation and its own; one that may end sooner has no entry.

    Compiled programs state their trip counts, but for those of TPUs, whose loops count as one turn in the costs of
    edits: pruning may have left out what says how often they turn.
    """
    found: dict[tuple[str, str], int] = {}
    if module.stage == "compiled":
        return found
    for (index, position), known in trip_counts(module).items():
        if known.exact:
            computation = module.computations[index]
            found[computation.name, computation.instructions[position].name] = known.turns
    return found


def with_costs(old: Module, new: Module, found: ProgramMatch, edits: Sequence[RawEdit]) -> None:
    """Say of each edit what its instruction costs on either side, all its runs together.

    Args:
        old, new: the programs as they were paired.
        found: which computations correspond; only those that were opened are looked at.
        edits: single edits of the program channel; their `cost` is set.

    Example:
        >>> with_costs(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0), ProgramMatch((), {}, {}), [])
    """
    if not edits:
        return
    runs = _runs(old, new, found, (turns_by_name(old), turns_by_name(new)))
    inside = _fused(old, found, 0), _fused(new, found, 1)
    applied = applied_bodies(old), applied_bodies(new)
    for edit in edits:
        if edit.old is None and edit.new is None:
            continue
        node = _node(edit)
        times = runs.get(node, edit.count)
        sides = [
            _cost(module, place, times, place[0] in fused, place[0] in counted) if place else None
            for module, place, fused, counted in zip((old, new), (edit.old, edit.new), inside, applied, strict=True)
        ]
        edit.cost = sides[0], sides[1]


def trips_of(it: Instruction, owner: str, turns: LoopTurns) -> int:
    """How often a loop's body runs each time the loop is reached, 1 where that is not known.

    Example:
        >>> config = ("backend_config", '{"known_trip_count":{"n":"6"}}')
        >>> trips_of(Instruction("w", "while", Shape("tuple"), attributes=(config,)), "main", {})
        6
    """
    if it.opcode != "while":
        return 1
    found = KNOWN_TRIP_COUNT.search(it.attribute("backend_config") or "")
    return int(found.group(1)) if found else turns.get((owner, it.name), 1)


def _node(edit: RawEdit) -> _Node:
    if edit.kind == "changed" and edit.old and edit.new:
        return "pair", edit.old[0], edit.new[0]
    if edit.new:  # moved ones run as often as where they are now
        return "new", edit.new[0], -1
    assert edit.old is not None
    return "old", edit.old[0], -1


def instruction_flops(module: Module, place: Place) -> int:
    """Operations of one run of one instruction, see `flops_of`."""
    computation = module.computations[place[0]]
    it = computation.instructions[place[1]]
    return flops_of(it, [computation.instructions[operand].shape for operand in it.operands])


def instruction_bytes(module: Module, place: Place) -> tuple[int, int]:
    """Bytes that one run of an instruction reads and writes, on one device.

    Slices count as what they take or put, alone and in a fusion. Bytes are bytes of values, without padding.

    Args:
        module: a compiled program.
        place: of an instruction that stands in no fusion.
    """
    read, written = _traffic(module, place)
    return sum(size for _, size in read), sum(size for _, size in written)


def is_launched(it: Instruction) -> bool:
    """Whether a device is asked to run an instruction of its own: it neither names nor hands on what others wrote.

    Example:
        >>> is_launched(Instruction("f", "fusion", Shape("f32"))), is_launched(Instruction("t", "tuple", Shape("f32")))
        (True, False)
    """
    return it.opcode not in _FREE and not is_continuation(it.opcode)


_Sizes = list[tuple[Shape, int]]


def _cost(module: Module, place: Place, times: int, fused: bool, counted: bool = False) -> Cost:
    """What all runs of an instruction cost; one that is applied to elements is `counted` where it is applied."""
    it = module.computations[place[0]].instructions[place[1]]
    flops = 0 if counted else instruction_flops(module, place) * times
    if fused or not is_launched(it):
        return Cost(times, flops)
    read, written = _traffic(module, place)
    read, written = [(shape, size * times) for shape, size in read], [(shape, size * times) for shape, size in written]
    return Cost(
        times, flops, sum(size for _, size in read), sum(size for _, size in written),
        _elsewhere([*read, *written], module),
    )  # fmt: skip


def _traffic(module: Module, place: Place) -> tuple[_Sizes, _Sizes]:
    """What one run reads and writes."""
    computation = module.computations[place[0]]
    it = computation.instructions[place[1]]
    operands = [computation.instructions[operand].shape for operand in it.operands]
    if it.opcode in _FUSIONS and len(it.called) == 1:
        return _traffic_of_fusion(module.computations[it.called[0]], it, operands)
    return _read(it, operands), _written(it, operands)


def _traffic_of_fusion(body: Computation, it: Instruction, operands: Sequence[Shape]) -> tuple[_Sizes, _Sizes]:
    """Of a fusion: of a parameter that is only sliced the slices, of one that is updated in place the update."""
    users = body.users()
    places = body.parameters()
    read: _Sizes = []
    for number, shape in enumerate(operands):
        whole = [(leaf, leaf.bytes) for leaf in shape.leaves()]
        sliced = _bytes_taken(body, users, places[number]) if number < len(places) and len(whole) == 1 else None
        read += whole if sliced is None else [(shape, min(sliced, shape.bytes))]
    root = body.instructions[body.root]
    results = root.operands if root.opcode == "tuple" else (body.root,)
    shapes = list(it.shape.leaves())
    if it.opcode != "fusion" or len(shapes) != len(results):
        return read, _written(it, operands)
    written = [(shape, _bytes_put(body, result, shape)) for shape, result in zip(shapes, results, strict=True)]
    return read, written


def _bytes_taken(body: Computation, users: Sequence[Sequence[int]], place: int) -> int | None:
    """Bytes that slices take of a parameter; None where something else reads it."""
    total = 0
    waiting = [place]
    for value in waiting:
        for user in users[value]:
            it = body.instructions[user]
            if it.opcode == "bitcast":
                waiting.append(user)
            elif it.opcode in _SLICING and it.operands.count(value) == 1 and it.operands[0] == value:
                total += it.shape.bytes
            elif it.opcode in _UPDATING and it.operands.count(value) == 1 and it.operands[0] == value:
                continue
            else:
                return None
    return total


def _bytes_put(body: Computation, result: int, shape: Shape) -> int:
    """Bytes that a fusion writes of one result: those of the update where it updates a parameter in place."""
    it = body.instructions[_through_bitcasts(body, result)]
    if it.opcode not in _UPDATING or len(it.operands) < 2:
        return shape.bytes
    base = body.instructions[_through_bitcasts(body, it.operands[0])]
    return body.instructions[it.operands[1]].shape.bytes if base.opcode == "parameter" else shape.bytes


def _through_bitcasts(body: Computation, place: int) -> int:
    while body.instructions[place].opcode == "bitcast" and body.instructions[place].operands:
        place = body.instructions[place].operands[0]
    return place


def _read(it: Instruction, operands: Sequence[Shape]) -> _Sizes:
    if it.opcode.removesuffix("-start") in _SLICING:
        return [(shape, min(_result(it).bytes, shape.bytes)) for shape in operands[:1]]
    if it.opcode in _UPDATING:
        return [(shape, shape.bytes) for shape in operands[1:2]]
    return [(leaf, leaf.bytes) for shape in operands for leaf in shape.leaves()]


def _written(it: Instruction, operands: Sequence[Shape]) -> _Sizes:
    if it.opcode in _UPDATING:
        return [(it.shape, shape.bytes) for shape in operands[1:2]]
    return [(leaf, leaf.bytes) for leaf in _result(it).leaves()]


def _result(it: Instruction) -> Shape:
    """What an instruction hands over: the tuple of a `-start` names operands and contexts too."""
    if not it.opcode.endswith("-start") or not it.shape.tuple_shapes:
        return it.shape
    if it.opcode == "copy-start":
        return it.shape.tuple_shapes[0]
    return collective_result(it)


def _elsewhere(parts: Iterable[tuple[Shape, int]], module: Module) -> tuple[tuple[str, int], ...]:
    """Bytes in other memories than the device's main one, by memory."""
    found: dict[str, int] = {}
    for shape, size in parts:
        space = shape.layout.memory_space if shape.layout else 0
        if space:
            word = format_memory_space(space, platform_of(module))
            found[word] = found.get(word, 0) + size
    return tuple(sorted(found.items()))


def fused_bodies(module: Module) -> Mapping[int, None]:
    """Computations whose values never reach memory: bodies of fusions, and what is applied to elements."""
    return _bodies(module, range(len(module.computations)))


def _fused(module: Module, found: ProgramMatch, which: int) -> dict[int, None]:
    return _bodies(module, _opened(found, which))


def _bodies(module: Module, callers: Iterable[int]) -> dict[int, None]:
    inside: dict[int, None] = {}
    for index in callers:
        for it in module.computations[index].instructions:
            for name, group in it.calls:
                if it.opcode in _FUSIONS or (is_embedded(it, name) and it.opcode != "func.call"):
                    inside.update(dict.fromkeys(group))
    return inside


def is_applied(it: Instruction, attribute: str) -> bool:
    """Whether what an instruction calls is applied to elements: a reducer, a comparator, an update.

    Example:
        >>> is_applied(Instruction("r", "reduce", Shape("f32")), "to_apply")
        True
    """
    return it.opcode.removesuffix("-start") in _APPLYING or (attribute == "to_apply" and it.opcode != "call")


def applied_bodies(module: Module) -> set[int]:
    """Computations that are applied to elements: the instruction that applies them counts for them."""
    return {
        callee
        for computation in module.computations
        for it in computation.instructions
        for name, group in it.calls
        if is_applied(it, name)
        for callee in group
    }


def _opened(found: ProgramMatch, which: int) -> list[int]:
    alone = (found.removed, found.added)[which]
    return list(dict.fromkeys([*((p.old, p.new)[which] for p in found.pairs if p.pairing is not None), *alone]))


def _runs(old: Module, new: Module, found: ProgramMatch, turns: Turns) -> dict[_Node, int]:
    """How often each opened pair, and each computation that only one side has, runs in one call of the program."""
    import networkx as nx

    calls: nx.DiGraph[_Node] = nx.DiGraph()
    for pair in found.pairs:
        if pair.pairing is not None:
            _add_calls(calls, ("pair", pair.old, pair.new), _calls(old, new, pair, pair.pairing.old, turns))
    for name, module, which in (("old", old, 0), ("new", new, 1)):
        for index in _opened(found, which):
            _add_calls(calls, (name, index, -1), _own_calls(name, module, index, turns[which]))
    return _times(calls, [("pair", old.entry, new.entry), ("old", old.entry, -1), ("new", new.entry, -1)])


def _add_calls(graph: nx.DiGraph[_Node], caller: _Node, calls: Iterable[tuple[_Node, int]]) -> None:
    for callee, times in calls:
        known = graph.edges[caller, callee]["times"] if graph.has_edge(caller, callee) else 0
        graph.add_edge(caller, callee, times=known + times)


def _times(calls: nx.DiGraph[_Node], entries: Iterable[_Node]) -> dict[_Node, int]:
    """How often everything runs that is called from the entries, each of which runs once."""
    import networkx as nx

    runs = dict.fromkeys(entries, 1)
    for node in nx.topological_sort(calls):
        for callee, edge in calls.adj[node].items():
            runs[callee] = min(runs.get(callee, 0) + runs.get(node, 0) * edge["times"], _MOST)
    return runs


def _calls(
    old: Module, new: Module, pair: ComputationMatch, partners: Sequence[int], turns: Turns
) -> list[tuple[_Node, int]]:
    found: list[tuple[_Node, int]] = []
    before, after = old.computations[pair.old].instructions, new.computations[pair.new].instructions
    for position, partner in enumerate(partners):
        if partner >= 0 and before[position].calls:
            times = max(
                trips_of(before[position], old.computations[pair.old].name, turns[0]),
                trips_of(after[partner], new.computations[pair.new].name, turns[1]),
            )
            found += [(("pair", a, b), times) for (a, b), _ in matched_calls(before[position], after[partner])]
    return found


def _own_calls(name: str, module: Module, index: int, turns: LoopTurns) -> list[tuple[_Node, int]]:
    computation = module.computations[index]
    return [
        (
            (name, callee, -1),
            sum(trips_of(computation.instructions[site.instruction], computation.name, turns) for site in sites),
        )
        for callee, sites in call_sites(computation).items()
    ]


def added_up(costs: Iterable[Cost | None]) -> Cost | None:
    """The costs of several instructions together; None where there is none.

    Example:
        >>> added_up([Cost(1, 8), None, Cost(2, 16)])
        Cost(runs=3, flops=24, read=0, written=0, elsewhere=(), cycles=None)
    """
    total: Cost | None = None
    for cost in costs:
        total = cost if total is None else total if cost is None else _sum(total, cost)
    return total


def _sum(one: Cost, other: Cost) -> Cost:
    elsewhere = dict(one.elsewhere)
    for name, size in other.elsewhere:
        elsewhere[name] = elsewhere.get(name, 0) + size
    cycles = None if one.cycles is None and other.cycles is None else (one.cycles or 0) + (other.cycles or 0)
    return replace(
        one, runs=one.runs + other.runs, flops=one.flops + other.flops, read=one.read + other.read,
        written=one.written + other.written, elsewhere=tuple(sorted(elsewhere.items())), cycles=cycles,
    )  # fmt: skip


def program_cost(module: Module) -> Cost:
    """What a whole program costs in one call; `runs` are all runs of all its instructions.

    Args:
        module: a program of either stage.

    Returns:
        the sum over its instructions; loops count as often as XLA knows that they turn.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> program_cost(read_hlo(text))
        Cost(runs=2, flops=0, read=8, written=8, elsewhere=(), cycles=None)
    """
    import networkx as nx

    everything = range(len(module.computations))
    calls: nx.DiGraph[_Node] = nx.DiGraph()
    turns = turns_by_name(module)
    for index in everything:
        _add_calls(calls, ("new", index, -1), _own_calls("new", module, index, turns))
    runs = _times(calls, [("new", module.entry, -1)])
    inside = _bodies(module, everything)
    costs = [
        _cost(module, (index, position), times, index in inside)
        for index in everything
        if (times := runs.get(("new", index, -1), 0))
        for position in range(len(module.computations[index].instructions))
    ]
    return added_up(costs) or Cost(0, 0)
