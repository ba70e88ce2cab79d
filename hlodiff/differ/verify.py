"""Proves that a diff is complete: its edits, applied to the old program, give the new program.

This file shares no code with the matcher and the pruner. The edit script says which instruction is which, so nothing is
searched for: two programs are proved isomorphic by applying the known mapping and comparing.

From top to bottom:

1. Dataflow graphs: one node for each instruction, one edge for each operand, its position as the key of the edge. Both
   come from `hlodiff.graph`; no matcher made them.
2. Applying a script: the graph of an old computation is relabelled to the places of the new computation, and each step
   of the script changes it.
3. Comparing: the result is compared with the graph of the new computation (`nx.utils.graphs_equal`). Where they differ,
   the differences are named. Computations and instructions that no step touches are compared one by one, without
   graphs: networkx takes 20 times as long for 12,000 instructions of which 40 were edited.
4. As printed: what nobody read for the diff is compared line by line, without reading it.
5. Wires: an operand that reads something else has to follow from an added or removed instruction on its way.
6. Loop elements: the numbers of loop-carried tuple elements shift only together, at every place of a loop.
7. The whole program: channels, execution threads, schedule, header (donation, entry layout).
8. The reported edits: each of their sites was carried out, and their counts are right.

What `diff` ignores is ignored here: names, the order of instructions where nothing is scheduled, provenance and noise.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import networkx as nx

from hlodiff.differ.script import (
    AddStep,
    ArriveStep,
    Calls,
    ChangeStep,
    ComputationStep,
    EditScript,
    HeaderStep,
    InstructionPair,
    OperandRewiring,
    PrintedText,
    RemoveStep,
    ReorderStep,
    SettingChange,
    Step,
    Value,
)
from hlodiff.graph import add_control, dataflow
from hlodiff.hlo.grammar import (
    LineParts,
    Unbalanced,
    called_names_by_attribute,
    parts_of_lines,
    root_reference,
    split_commas,
    without_metadata,
    without_references,
)
from hlodiff.hlo.json_text import load_json
from hlodiff.hlo.model import BINDS, Computation, Instruction, Layout, Module, Shape

if TYPE_CHECKING:
    Graph = nx.MultiDiGraph[int]

MOST_FAILURES = 5
_ROOT = -1  # the `user` of a wire that changes what a computation returns
_SILENT = "and no edit says so"


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of a proof.

    Args:
        steps: how many steps were applied.
        edits: how many edits they belong to.
        failures: the first differences between the result and the new program, in words; () where there are none.
        missing: how many differences there are in all.
        unknown: constants and header attributes that are not in the files, so that nothing is proved about them.
    """

    steps: int
    edits: int
    failures: tuple[str, ...] = ()
    missing: int = 0
    unknown: int = 0

    @property
    def complete(self) -> bool:
        """True where the edits turn the old program into the new one and all values of both are known."""
        return not self.missing and not self.unknown


def replay(script: EditScript, unknown: int = 0) -> Replay:
    """Apply a script to the old program and compare the result with the new program.

    Args:
        script: of a diff.
        unknown: constants of the programs whose values are not known.

    Returns:
        whether the result is the new program, and where it is not.

    Example:
        >>> from hlodiff.hlo.model import Computation, Instruction, Module, Shape
        >>> from hlodiff.differ.script import InstructionPair
        >>> one, two = (Instruction("a", opcode, Shape("f32")) for opcode in ("sine", "cosine"))
        >>> old, new = (Module("m", "compiled", (Computation("e", (it,), 0),), 0) for it in (one, two))
        >>> replay(EditScript(old, new, (InstructionPair(0, 0, (0,)),), (), ())).failures
        ('%a (sine) of %e: opcode is sine, in the new program it is cosine, and no edit says so',)
    """
    failures = list(_failures(script))
    edits = {(step.reference.channel, step.reference.edit) for step in script.steps}
    return Replay(len(script.steps), len(edits), tuple(failures[:MOST_FAILURES]), len(failures), unknown)


def _failures(script: EditScript) -> Iterator[str]:
    if not script.pairs or (script.pairs[0].old, script.pairs[0].new) != (script.old.entry, script.new.entry):
        yield "the entries of the two programs do not correspond"
        return
    steps: list[list[Step]] = [[] for _ in script.pairs]
    for step in script.steps:
        if not isinstance(step, HeaderStep):
            steps[step.pair].append(step)
    script, printed = _compare_printed(script, steps)
    computations = [
        printed[index] if index in printed else _apply_steps(script, index, its) for index, its in enumerate(steps)
    ]
    program = _ReplayedProgram(script, computations, _call_graph(script, computations))
    for each in computations:
        if each.is_opened:
            yield from each.failures
            yield from _compare(program, each)
            yield from _check_wires(program, each)
            yield from _check_elements(program, each)
    yield from _check_threads(program)
    yield from _check_channels(program)
    yield from _check_header(program)
    yield from _check_order(program)
    yield from _check_reported(script)


# 1. Dataflow graphs


def dataflow_graph(computation: Computation, places: Iterable[int] | None = None) -> Graph:
    """One computation as a graph of what a step can change.

    Args:
        computation: any computation.
        places: of the instructions that are wanted, None for all.

    Returns:
        The dataflow of `hlodiff.graph`, in which a node has `opcode`, `shape`, `literal`, `attributes` and `calls`
        instead of its instruction, and the graph has its `root`. Names and metadata are left out.
    """
    graph = dataflow(computation, places)
    graph.graph = {"root": computation.root}
    for _, data in graph.nodes(data=True):
        if "instruction" in data:
            data.update(_fields(data.pop("instruction")))
    return graph


def _fields(it: Instruction) -> dict[str, Any]:
    attributes = dict(it.attributes)
    return {"opcode": it.opcode, "shape": it.shape, "literal": it.literal, "attributes": attributes, "calls": it.calls}


def _values(it: Instruction) -> tuple[Value, ...]:
    return tuple(zip(it.operands, it.results or (0,) * len(it.operands), strict=True))


def _operands(graph: Graph, place: int) -> list[Value]:
    """What an instruction reads, in order."""
    edges: Iterable[tuple[int, int, int, int]] = graph.in_edges(place, keys=True, data="result")
    found = sorted((position, source, result) for source, _, position, result in edges if position >= 0)
    return [(source, result) for _, source, result in found]


def _set_operands(graph: Graph, place: int, values: Iterable[Value]) -> None:
    graph.remove_edges_from([edge for edge in graph.in_edges(place, keys=True) if edge[2] >= 0])
    for position, (source, result) in enumerate(values):
        graph.add_edge(source, place, key=position, result=result, control=False)


def _control(graph: Graph, place: int) -> list[int]:
    """The control predecessors of an instruction, sorted."""
    return sorted(source for source, _, key in graph.in_edges(place, keys=True) if key < 0)


def _set_control(graph: Graph, place: int, predecessors: Iterable[int]) -> None:
    graph.remove_edges_from([edge for edge in graph.in_edges(place, keys=True) if edge[2] < 0])
    add_control(graph, place, predecessors)


# 2. Applying a script


@dataclass(slots=True)
class _Record:
    """How an instruction of the result came about.

    Args:
        old: its place in the old computation, -1 for an added one.
        calls: what it calls, as indices of pairs.
        is_copy: it was an instruction of the old program, kept in its computation or moved here.
        is_rewired: a step gave it all of its operands again.
        settings: names of what steps set.
        facts: what steps say about the program at this instruction: donation, thread of what it calls.
        positions: old and new positions of the operands that it kept, None where all stay where they were.
    """

    old: int = -1
    calls: Calls = ()
    is_copy: bool = False
    is_rewired: bool = False
    settings: set[str] = field(default_factory=set)
    facts: dict[str, str | None] = field(default_factory=dict)
    positions: dict[int, int] | None = None


@dataclass
class _ReplayedComputation:
    """A pair of computations and what the steps made of the old one.

    Args:
        script, index: the script, and the pair in it.
        steps: those of the pair.
        is_opened: False where no step touches it and it was seen to be the same.
        same: new places of kept instructions that no step touches and that are seen to be the same.
        removed: graph of what is read by the old instructions that are not kept.
        graph: the result, all but the insides of `same`. Nodes are places in the new computation; what has no place
            there, an instruction that was removed or should have been, is the node `~place` of its old place.
        records: by the nodes that are in the new computation.
        failures: steps that could not be applied, in words.
        lines: of a pair that was compared as printed, what is asked of it over the whole program.
    """

    script: EditScript
    index: int
    steps: Sequence[Step]
    is_opened: bool = True
    same: set[int] = field(default_factory=set)
    removed: Graph = field(default_factory=nx.MultiDiGraph)
    graph: Graph = field(default_factory=nx.MultiDiGraph)
    records: dict[int, _Record] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    lines: _PrintedLines | None = None

    @property
    def pair(self) -> InstructionPair:
        """The pair of the script."""
        return self.script.pairs[self.index]

    @cached_property
    def old(self) -> Computation | None:
        """The old computation, None where there is none."""
        return self.script.old.computations[self.pair.old] if self.pair.old >= 0 else None

    @cached_property
    def new(self) -> Computation | None:
        """The new computation, None where there is none."""
        return self.script.new.computations[self.pair.new] if self.pair.new >= 0 else None

    def name(self, place: int) -> str:
        """An instruction of the result, for messages."""
        record = self.records.get(place, _Record())
        if record.old >= 0:
            return _name(self.old, record.old)
        return _name(self.new, place)

    def before_edits(self, place: int) -> Instruction | None:
        """The old instruction that is kept at a place of the new computation, None for an added one."""
        record = self.records.get(place)
        return self.old.instructions[record.old] if self.old and record and record.old >= 0 else None

    def positions(self, place: int) -> dict[int, int]:
        """Old and new positions of the operands that a kept instruction kept; none of one that moved here."""
        before, kept = self.before_edits(place), self.records[place].positions
        return kept if kept is not None else {n: n for n in range(len(before.operands) if before else 0)}

    def opcode(self, place: int) -> str:
        """Opcode of an instruction of the result."""
        if self.lines is not None and place in self.lines.opcodes:
            return self.lines.opcodes[place]
        if self.new and (place in self.same or self.lines is not None):
            return self.new.instructions[place].opcode
        return str(self.graph.nodes[place]["opcode"])


def _name(owner: Computation | None, place: int) -> str:
    """`%tanh.3 (tanh) of %fused`."""
    if owner is None:
        return "nothing"
    it = owner.instructions[place]
    return f"%{it.name} ({it.opcode}) of %{owner.name}"


def _apply_steps(script: EditScript, index: int, steps: Sequence[Step]) -> _ReplayedComputation:
    """Apply the steps of one pair of computations to the graph of its old computation."""
    made = _ReplayedComputation(script, index, steps)
    pair, old, new = made.pair, made.old, made.new
    wires: dict[int, list[OperandRewiring]] = {}
    for wire in (
        *pair.arguments,
        *(w for s in steps if isinstance(s, RemoveStep | AddStep | ArriveStep) for w in s.wires),
    ):
        wires.setdefault(wire.user, []).append(wire)
    _find_same(script, made, {*wires, *(s.new for s in steps if isinstance(s, AddStep | ArriveStep | ChangeStep))})
    touched = steps or pair.added or pair.removed or pair.arguments
    if old and new and not touched and len(made.same) == len(old.instructions) == len(new.instructions):
        made.is_opened = pair.partners[old.root] != new.root
    if not made.is_opened and old:  # what is not local to it is asked for: calls and channels
        calls = dict(pair.calls)
        for place, partner in enumerate(pair.partners):
            if partner in calls or old.instructions[place].attributes:
                made.records[partner] = _Record(place, calls.get(partner, ()), is_copy=True)
        return made
    _keep(script, made)
    _add(script, made)
    for place, record in made.records.items():
        if record.old >= 0 and place not in made.same:
            _rearrange(script, made, place, wires.get(place, []))
    made.graph.graph["root"] = next((w.reads[0] for w in wires.get(_ROOT, ()) if w.reads), made.graph.graph["root"])
    for step in steps:
        if isinstance(step, ChangeStep):
            _change(made, step)
    _remove(made)
    return made


def _find_same(script: EditScript, made: _ReplayedComputation, touched: set[int]) -> None:
    """Find the instructions that need not become a part of the graphs; most are the same where few were edited.

    Arguments of the program and computations with loop elements are looked at more closely, on the graphs. Where
    anything differs, `_compare` names it.
    """
    if made.old is None or made.new is None or made.pair.elements:
        return
    calls = dict(made.pair.calls)
    for before, place in zip(made.old.instructions, made.pair.partners, strict=True):
        if place < 0 or place in touched or (made.index == 0 and before.opcode == "parameter"):
            continue
        if _is_same_instruction(script, made.pair, before, made.new.instructions[place], calls.get(place, ())):
            made.same.add(place)


def _keep(script: EditScript, made: _ReplayedComputation) -> None:
    """Relabel the old graph: what is kept gets its new place, everything else `~place`."""
    if made.old is None:
        made.graph.graph["root"] = made.pair.root
        return
    mapping: dict[int, int] = {}
    calls = dict(made.pair.calls)
    for place, partner in enumerate(made.pair.partners):
        mapping[place] = partner if partner >= 0 else ~place
        if partner >= 0:
            if partner in made.records:
                made.failures.append(f"two old instructions are one new one: {_name(made.old, place)}")
            made.records[partner] = _Record(place, calls.get(partner, ()), is_copy=True)
    kept = [place for place, partner in enumerate(made.pair.partners) if partner not in made.same]
    made.removed = dataflow(made.old, [place for place in kept if made.pair.partners[place] < 0])
    made.graph = nx.relabel_nodes(dataflow_graph(made.old, kept), mapping)
    made.graph.graph["root"] = mapping[made.old.root]
    for place, record in made.records.items():
        if place not in made.same:
            made.graph.nodes[place]["calls"] = _new_calls(script, record.calls)
    # A get-tuple-element takes the element that it took, whatever the number of that element is now.
    for place, elements in made.pair.elements:
        for user in made.graph.successors(place):
            it, data = made.before_edits(user), made.graph.nodes[user]
            number = data["attributes"].get("index", "")
            takes = it is not None and it.opcode == "get-tuple-element" and mapping[it.operands[0]] == place
            if takes and number.isdigit() and int(number) in dict(elements):
                data["attributes"] = data["attributes"] | {"index": str(dict(elements)[int(number)])}


def _new_calls(script: EditScript, calls: Calls) -> Calls:
    """Calls by the indices of computations of the new program, as an instruction has them."""
    return tuple((name, tuple(script.pairs[ref].new for ref in refs)) for name, refs in calls)


def _add(script: EditScript, made: _ReplayedComputation) -> None:
    """Add instructions: parameters that come with a reader, new instructions, and those from other computations."""
    for place, it in made.pair.added:
        _put(made, place, _fields(it) | {"calls": ()}, (), (), _Record())
    for step in made.steps:
        if not isinstance(step, AddStep | ArriveStep):
            continue
        if step.new in made.records and made.records[step.new].old >= 0:
            made.failures.append(f"an instruction is listed as added where one survives: {made.opcode(step.new)}")
        record = _Record(calls=step.calls)
        if isinstance(step, AddStep):
            it = step.instruction
            operands, control = _values(it), it.control_predecessors
        else:
            owner, place = step.source
            it = script.old.computations[owner].instructions[place]
            operands, control = step.operands, step.control
            record.is_copy = True
        _put(made, step.new, _fields(it) | {"calls": _new_calls(script, step.calls)}, operands, control, record)
        for setting in step.settings if isinstance(step, ArriveStep) else ():
            _set(made, step.new, setting)


def _put(
    made: _ReplayedComputation,
    place: int,
    fields: dict[str, Any],
    operands: Iterable[Value],
    control: Iterable[int],
    record: _Record,
) -> None:
    made.graph.add_node(place, **fields)
    made.records[place] = record
    _set_operands(made.graph, place, operands)
    _set_control(made.graph, place, control)


def _rearrange(script: EditScript, made: _ReplayedComputation, place: int, wires: Sequence[OperandRewiring]) -> None:
    """Operands of a kept instruction: wires change them, those of a call follow its parameters, others keep order."""
    record, before = made.records[place], made.before_edits(place)
    assert before is not None
    bound = _bound_positions(script, before, record.calls)
    if not wires and bound is None:
        return
    values = _operands(made.graph, place)
    if any(wire.place is not None and wire.reads is None for wire in wires):
        made.failures.append(f"an operand of {made.name(place)} is there and reads nothing")
    cut = {wire.slot for wire in wires if wire.slot is not None}
    placed: dict[int, tuple[int | None, Value]] = {
        wire.place: (wire.slot, wire.reads) for wire in wires if wire.place is not None and wire.reads is not None
    }
    unplaced: list[tuple[int | None, Value]] = []
    for slot, value in enumerate(values):
        if slot in cut:
            continue
        if bound is None:
            unplaced.append((slot, value))
        else:  # a position behind all others where the parameter is gone: the comparison sees one operand too many
            placed[bound.get(slot, len(values) + slot)] = (slot, value)
    free = (n for n in range(len(placed) + len(unplaced)) if n not in placed)
    placed |= dict(zip(free, unplaced, strict=False))
    ordered = [placed[n] for n in sorted(placed)]
    _set_operands(made.graph, place, [value for _, value in ordered])
    record.positions = {slot: n for n, (slot, _) in enumerate(ordered) if slot is not None}


def _bound_positions(script: EditScript, before: Instruction, calls: Calls) -> dict[int, int] | None:
    """New positions of the operands of a call by the parameters they are bound to; None where they keep their order."""
    for ref in (ref for _, refs in calls for ref in refs) if before.opcode in BINDS else ():
        pair = script.pairs[ref]
        if pair.old >= 0 and pair.new >= 0:
            numbers, counts = _parameter_numbers(script, pair)
            if counts[0] == len(before.operands):
                return numbers
    return None


def _parameter_numbers(script: EditScript, pair: InstructionPair) -> tuple[dict[int, int], tuple[int, int]]:
    """Old and new numbers of the parameters that two computations share, and how many parameters each has."""
    if pair.is_printed:
        return {n: n for n in range(pair.parameters)}, (pair.parameters, pair.parameters)
    olds, news = script.old.computations[pair.old].parameters(), script.new.computations[pair.new].parameters()
    place_of = {place: n for n, place in enumerate(news)}
    numbers = {n: place_of[pair.partners[place]] for n, place in enumerate(olds) if pair.partners[place] in place_of}
    return numbers, (len(olds), len(news))


def _remove(made: _ReplayedComputation) -> None:
    """Remove instructions; one that is still read stays as a node that the new computation does not have."""
    removed = [~step.old for step in made.steps if isinstance(step, RemoveStep)]
    removed += [~place for place in made.pair.removed]
    removed = [node for node in removed if node in made.graph]
    made.graph.remove_edges_from([edge for node in removed for edge in made.graph.in_edges(node, keys=True)])
    made.graph.remove_nodes_from([node for node in removed if made.graph.out_degree(node) == 0])
    made.graph.remove_nodes_from([node for node in [*nx.isolates(made.graph)] if node in made.same])


def _change(made: _ReplayedComputation, step: ChangeStep) -> None:
    record = made.records.get(step.new)
    if record is None:
        made.failures.append(f"nothing is there to be changed in %{made.old.name if made.old else ''}")
        return
    before = _state(made, step.new)
    for setting in step.settings:
        _set(made, step.new, setting)
    if step.operands is not None:
        _set_operands(made.graph, step.new, step.operands)
        record.is_rewired = True
    if _state(made, step.new) == before and record.settings.isdisjoint(("thread", "donation", "channel_id", "root")):
        made.failures.append(f"an edit of {made.name(step.new)} changes nothing")


def _state(made: _ReplayedComputation, place: int) -> object:
    """All that a step may set."""
    return dict(made.graph.nodes[place]), _operands(made.graph, place), _control(made.graph, place)


def _set(made: _ReplayedComputation, place: int, setting: SettingChange) -> None:
    """Set one field and nothing else."""
    data, record = made.graph.nodes[place], made.records[place]
    what, _, name = setting.what.partition(":")
    if what == "opcode":
        data["opcode"] = setting.text or ""
    elif what in ("literal", "number"):
        data["literal"] = setting.text
    elif what == "control":
        _set_control(made.graph, place, setting.places)
    elif what == "attribute":
        kept = {key: text for key, text in data["attributes"].items() if key != name}
        data["attributes"] = kept if setting.text is None else kept | {name: setting.text}
    elif what == "shape":
        (data["shape"],) = setting.leaves
    elif setting.leaves:
        data["shape"] = _with_leaves(data["shape"], what, iter(setting.leaves))
    elif what == "root":
        made.graph.graph["root"] = setting.places[0]
    else:
        record.facts[setting.what] = setting.text  # of the program: donation, execution thread
    record.settings.add(name if what == "attribute" else what)


def _with_leaves(shape: Shape, what: str, leaves: Iterator[Shape]) -> Shape:
    """A shape with one part of each of its leaves replaced."""
    if shape.element_type == "tuple":
        return replace(shape, tuple_shapes=tuple(_with_leaves(part, what, leaves) for part in shape.tuple_shapes))
    leaf = next(leaves)
    space = shape.layout.memory_space if shape.layout else 0
    if what == "element_type":
        return replace(shape, element_type=leaf.element_type)
    if what == "dimensions":
        layout = leaf.layout and replace(leaf.layout, memory_space=space)
        if leaf.dimensions == shape.dimensions:
            layout = shape.layout
        return replace(leaf, element_type=shape.element_type, layout=layout)
    if what == "layout":
        return replace(shape, layout=None if leaf.layout is None else replace(leaf.layout, memory_space=space))
    layout = shape.layout or _default_layout(shape)
    return replace(shape, layout=replace(layout, memory_space=leaf.layout.memory_space if leaf.layout else 0))


def _default_layout(shape: Shape) -> Layout:
    return Layout(tuple(range(len(shape.dimensions)))[::-1])


# 3. Comparing


def _is_same_instruction(
    script: EditScript, pair: InstructionPair, before: Instruction, after: Instruction, calls: Calls
) -> bool:
    if not _has_same_fields(before, after):
        return False
    bound = None
    if before.calls or after.calls or calls:
        callees = tuple((name, tuple(script.pairs[ref].old for ref in refs)) for name, refs in calls)
        if callees != before.calls or _new_calls(script, calls) != after.calls:
            return False
        if any(True for _ in _exchanged_parameters(script, before, calls)):
            return False
        bound = _bound_positions(script, before, calls)
    if before.control_predecessors or after.control_predecessors:
        control = sorted(pair.partners[place] for place in before.control_predecessors)
        if control != sorted(after.control_predecessors):
            return False
    ours_read = [(pair.partners[place], result) for place, result in _values(before)]
    if bound is not None:
        if len(bound) != len(ours_read):
            return False
        ours_read = [ours_read[slot] for slot in sorted(bound, key=bound.__getitem__)]
    theirs_read = list(_values(after))
    return ours_read == theirs_read or (_is_commutative(after) and ours_read[::-1] == theirs_read)


def _has_same_fields(before: Instruction, after: Instruction) -> bool:
    if before.opcode != after.opcode or (before.literal != after.literal and after.opcode != "parameter"):
        return False
    if before.shape != after.shape and _explicit(before.shape) != _explicit(after.shape):
        return False
    if before.attributes == after.attributes:
        return True
    ours, theirs = dict(before.attributes), dict(after.attributes)
    if "channel_id" in ours and "channel_id" in theirs:
        ours["channel_id"] = theirs["channel_id"]  # who shares it is checked over the whole program
    return ours == theirs


def _compare(program: _ReplayedProgram, made: _ReplayedComputation) -> Iterator[str]:
    """Name the differences between the result and the new computation."""
    unaccounted = list(_check_accounted(made))
    yield from unaccounted
    if made.new is None:
        return
    wanted = dataflow_graph(made.new, [n for n in range(len(made.new.instructions)) if n not in made.same])
    found = made.graph.copy()
    _adopt_spelling(made, found, wanted)
    if not nx.utils.graphs_equal(found, wanted):
        named = list(_differences(made, found, wanted))
        yield from named
        if not named and not unaccounted:
            yield f"%{made.new.name} is another computation than in the new program"
    for place, record in made.records.items():
        before = made.before_edits(place)
        if before is not None and place not in made.same and (record.calls or before.calls):
            if not record.is_rewired:
                for name in _exchanged_parameters(program.script, before, record.calls):
                    yield f"{made.name(place)}: the parameters of what it calls through {name} are exchanged, {_SILENT}"
            yield from _check_calls(program, made, place, before)
    if made.index == 0:
        yield from _check_arguments(made)


def _check_accounted(made: _ReplayedComputation) -> Iterator[str]:
    """Each old instruction is kept, or an edit removes it, or it is a parameter that went with its readers."""
    removed = {step.old for step in made.steps if isinstance(step, RemoveStep)} | set(made.pair.removed)
    for node in made.graph:
        if node < 0 and ~node not in removed:
            yield f"{_name(made.old, ~node)} is not in the new program, and no edit removes it"
    for place in made.pair.removed:
        if made.old and (made.index == 0 or made.old.instructions[place].opcode != "parameter"):
            yield f"{_name(made.old, place)} went without an edit"


def _lacks_value(it: Instruction) -> bool:
    """Whether it is a constant that the file holds neither with its value nor with a hash of it."""
    literal = it.literal or ""
    is_elided = it.opcode == "constant" and ("..." in literal or "__elided__" in literal)
    return is_elided and not any(_is_hash(name) or _is_hash(text) for name, text in it.attributes)


def _is_hash(attribute: str) -> bool:
    """Whether it is what snapshots hold in the place of a large constant."""
    return "hlodiff_literal" in attribute or "hlodiff.constant" in attribute


def _adopt_spelling(made: _ReplayedComputation, found: Graph, wanted: Graph) -> None:
    """Write the result as the new computation does where both mean the same; then every difference means something."""
    assert made.new is not None
    for place, it in enumerate(made.new.instructions):
        record = made.records.get(place)
        if record is None or place in made.same:
            continue
        ours, theirs = found.nodes[place], wanted.nodes[place]
        if ours["shape"] != it.shape and _explicit(ours["shape"]) == _explicit(it.shape):
            ours["shape"] = it.shape
        if it.opcode == "parameter":
            ours["literal"] = it.literal  # numbers of parameters are checked at the callers
        before = made.before_edits(place)
        if before is not None and it.opcode == "constant" and (_lacks_value(before) or _lacks_value(it)):
            ours["literal"] = it.literal  # counted as unknown, see `Replay.unknown`
            known = {name: text for name, text in ours["attributes"].items() if not _is_hash(name)}
            given = {name: text for name, text in theirs["attributes"].items() if _is_hash(name)}
            ours["attributes"] = known | given
        if ours["attributes"] != theirs["attributes"]:
            ours["attributes"] = {
                name: theirs["attributes"][name] if _is_same_attribute(made, place, name, text) else text
                for name, text in ours["attributes"].items()
            }
        if _is_commutative(it) and _operands(found, place)[::-1] == list(_values(it)):
            _set_operands(found, place, _values(it))


_COMMUTATIVE = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def _is_commutative(it: Instruction) -> bool:
    """Where the order of two operands makes no difference, as the differ has it."""
    if len(it.operands) != 2:
        return False
    if it.opcode == "compare":
        direction = it.attribute("direction") or it.attribute("comparison_direction") or ""
        return direction.rstrip(">")[-2:] in ("EQ", "NE")
    return it.opcode in _COMMUTATIVE


def _explicit(shape: Shape) -> Shape:
    """A shape in which arrays without a layout have the default layout."""
    if shape.tuple_shapes:
        return replace(shape, tuple_shapes=tuple(map(_explicit, shape.tuple_shapes)), layout=None)
    return replace(shape, layout=_default_layout(shape)) if shape.layout is None and shape.is_array else shape


def _is_same_attribute(made: _ReplayedComputation, place: int, name: str, ours: str) -> bool:
    assert made.new is not None
    record, theirs = made.records[place], made.new.instructions[place].attribute(name)
    if not ours or not theirs:
        return False
    if name == "channel_id":  # the number means nothing; who shares it is checked over the whole program
        return record.is_copy and name not in record.settings
    return name == "backend_config" and ours != theirs and _is_same_aliasing(made, place, ours, theirs)


def _is_same_aliasing(made: _ReplayedComputation, place: int, ours: str, theirs: str) -> bool:
    """Whether two configurations differ only in the numbers by which they count operands, and results after them."""
    configs: list[Any] = []
    for text in (ours, theirs):
        try:
            configs.append(load_json(text))
        except ValueError:
            return False
    if not all(isinstance(config, dict) and isinstance(config.get("aliasing_operands"), dict) for config in configs):
        return False
    aliasing = [config.pop("aliasing_operands") for config in configs]
    if configs[0] != configs[1]:
        return False
    assert made.new is not None
    before, after = made.before_edits(place), made.new.instructions[place]
    counts = len(before.operands) if before else 0, len(after.operands)
    results = range(max(1, len(after.shape.tuple_shapes)))
    numbers = made.positions(place) | {counts[0] + n: counts[1] + n for n in results}
    groups = [[[int(n) for n in entry["indices"]] for entry in one["lists"]] for one in aliasing]
    return sorted(sorted(numbers.get(n, -1) for n in group) for group in groups[0]) == sorted(map(sorted, groups[1]))


def _differences(made: _ReplayedComputation, found: Graph, wanted: Graph) -> Iterator[str]:
    assert made.new is not None
    if found.graph["root"] != made.new.root:
        yield f"%{made.new.name} returns {_name(made.new, made.new.root)}, {_SILENT}"
    for place, it in enumerate(made.new.instructions):
        if place not in made.records:
            yield f"{_name(made.new, place)} is not there after all edits: none adds it"
        if place not in made.records or place in made.same:
            continue
        for what, ours, theirs in _field_differences(found, wanted, place):
            yield f"{made.name(place)}: {what} is {ours}, in the new program it is {theirs}, {_SILENT}"
        if found.nodes[place]["calls"] != it.calls:
            yield f"{made.name(place)} calls other computations than in the new program"


_FIELDS = ("opcode", "shape", "literal")


def _field_differences(found: Graph, wanted: Graph, place: int) -> Iterator[tuple[str, str, str]]:
    ours, theirs = (
        {"opcode": node["opcode"], "shape": node["shape"], "literal": node["literal"]} | node["attributes"]
        for node in (found.nodes[place], wanted.nodes[place])
    )
    for name in dict.fromkeys([*_FIELDS, *sorted({*ours, *theirs})]):
        if ours.get(name) != theirs.get(name):
            yield name, _format_field(ours.get(name)), _format_field(theirs.get(name))
    controls = _control(found, place), _control(wanted, place)
    if controls[0] != controls[1]:
        yield "the list of control predecessors", str(len(controls[0])), str(len(controls[1]))
    reads = _operands(found, place), _operands(wanted, place)
    if reads[0] != reads[1]:
        pairs = enumerate(zip(*reads, strict=False))
        number = next((n for n, (a, b) in pairs if a != b), min(map(len, reads)))
        yield (
            f"operand {number} of {len(reads[0])}",
            _format_operand(reads[0], number),
            _format_operand(reads[1], number),
        )


def _format_field(value: Shape | str | None) -> str:
    return _format_shape(value) if isinstance(value, Shape) else "none" if value is None else value


def _format_operand(operands: Sequence[Value], number: int) -> str:
    if number >= len(operands):
        return "none"
    place = operands[number][0]
    return "gone" if place < 0 else f"new instruction {place}"


def _format_shape(shape: Shape) -> str:
    if shape.tuple_shapes:
        return "(" + ", ".join(map(_format_shape, shape.tuple_shapes)) + ")"
    layout = shape.layout
    tail = "" if layout is None else f"{{{','.join(map(str, layout.minor_to_major))}:{layout.tiling}{layout.other}"
    space = f"S({layout.memory_space})}}" if layout is not None else ""
    return f"{shape.element_type}[{','.join(map(str, shape.dimensions))}]{tail}{space}"


def _exchanged_parameters(script: EditScript, before: Instruction, calls: Calls) -> Iterator[str]:
    """Attributes through which a computation is called whose parameters are numbered unlike the operands of the call.

    Where parameters are no names for operands (a reducer, a branch), they keep their numbers.
    """
    bound = _bound_positions(script, before, calls)
    for name, refs in calls:
        for pair in (script.pairs[ref] for ref in refs):
            if pair.old < 0:
                continue
            numbers, counts = _parameter_numbers(script, pair)
            binds = before.opcode in BINDS and counts[0] == len(before.operands)
            if numbers != (bound if binds else {n: n for n in range(max(counts))}):
                yield name


def _check_calls(
    program: _ReplayedProgram, made: _ReplayedComputation, place: int, before: Instruction
) -> Iterator[str]:
    """A kept instruction calls what it called; an edit reports what it calls in addition or no longer."""
    pairs, record, where = program.script.pairs, made.records[place], made.name(place)
    if _new_calls(program.script, record.calls) != (made.new.instructions[place].calls if made.new else ()):
        return
    now = dict(record.calls)
    for name, group in before.calls:
        refs = now.get(name, ())
        if any(pairs[ref].old not in (callee, -1) for callee, ref in zip(group, refs, strict=False)):
            yield f"{where} calls another computation through {name}, {_SILENT}"
        kept_opcode = made.opcode(place) == before.opcode and "opcode" not in record.settings
        if len(refs) < len(group) and kept_opcode:
            removed = [
                each for each in program.computations if each.pair.new < 0 and each.pair.old in group[len(refs) :]
            ]
            if not any(isinstance(step, RemoveStep) for each in removed for step in each.steps):
                yield f"{where} calls less than it did through {name}, {_SILENT}"
    for name, refs in record.calls:
        for inner in (program.computations[ref] for ref in refs):
            opcodes = (inner.opcode(node) for node in inner.records)
            if inner.pair.old < 0 and all(opcode == "parameter" for opcode in opcodes):
                yield f"{where} calls more than it did through {name}, {_SILENT}"


def _check_arguments(made: _ReplayedComputation) -> Iterator[str]:
    """An argument of the program has the number an edit gives it, or the one it had, or its rank among those kept."""
    assert made.old is not None and made.new is not None
    kept = [(made.pair.partners[place], made.old.instructions[place]) for place in made.old.parameters()]
    kept = [(place, it) for place, it in kept if place >= 0 and made.opcode(place) == "parameter"]
    numbers = {place: int(made.new.instructions[place].literal or 0) for place, _ in kept}
    ranks = {place: rank for rank, place in enumerate(sorted(numbers, key=numbers.__getitem__))}
    for rank, (place, it) in enumerate(kept):
        ours, number = made.graph.nodes[place]["literal"], numbers[place]
        if "number" in made.records[place].settings:
            if int(ours or 0) != number:
                yield f"%{it.name} is listed as argument {ours} and is argument {number}"
        elif int(it.literal or 0) != number and ranks[place] != rank:
            yield f"%{it.name} was argument {int(it.literal or 0)} and is argument {number}, {_SILENT}"


# 4. As printed

# Most of two large programs is the same on both sides, and nobody read it for the diff. Its lines are compared as they
# are printed, under the known mapping, which takes a tenth of the time that reading them takes. What this does not
# understand or finds different is read and compared like all others.


@dataclass(frozen=True, slots=True)
class _PrintedLines:
    """What the whole program asks of two computations that are the same as printed.

    Args:
        opcodes: of what calls others, by its new place.
        channels: name, old and new channel of what is on one.
        are_in_order: whether the lines stand in the same order on both sides.
        parameters: how many both have.
    """

    opcodes: dict[int, str]
    channels: list[tuple[str, str, str]]
    are_in_order: bool
    parameters: int


def _compare_printed(
    script: EditScript, steps: Sequence[Sequence[Step]]
) -> tuple[EditScript, dict[int, _ReplayedComputation]]:
    """Compare all pairs that were not read; the script that says of which only that this was done, and those."""
    pairs = [replace(pair, is_printed=False, parameters=-1) for pair in script.pairs]
    found: dict[int, _PrintedLines] = {}
    if script.printed is not None:
        text = _PrintedTexts(script, script.printed)
        for index, pair in enumerate(script.pairs):
            if pair.is_printed and not steps[index]:
                lines = text.compare(pair)
                if lines is not None:
                    found[index] = lines
                    pairs[index] = replace(pair, parameters=lines.parameters)
    script = replace(script, pairs=tuple(pairs))
    for index in [*found]:  # what was read may have its parameters in another order
        refs = {ref for _, calls in pairs[index].calls for _, refs in calls for ref in refs}
        numbers = (_parameter_numbers(script, pairs[ref]) for ref in refs if ref not in found)
        if any(kept != {n: n for n in range(max(counts))} for kept, counts in numbers):
            del found[index]
            pairs[index] = replace(pairs[index], is_printed=False)
    script = replace(script, pairs=tuple(pairs))
    computations: dict[int, _ReplayedComputation] = {}
    for index, lines in found.items():
        made = computations[index] = _ReplayedComputation(script, index, (), is_opened=False, lines=lines)
        back = {new: old for old, new in enumerate(made.pair.partners)}
        made.records = {place: _Record(back[place], calls, is_copy=True) for place, calls in made.pair.calls}
    return script, computations


_OWN_CHANNEL = re.compile(r"(?<=, channel_id=)(\d+)(?=,|$)")
_CHANNEL = "any"  # the number means nothing; who shares it is checked over the whole program
_CONTROL = "control-predecessors"


class _PrintedTexts:
    """Compares the lines of computations of two programs."""

    def __init__(self, script: EditScript, printed: tuple[PrintedText, PrintedText]) -> None:
        self._script, self._printed = script, printed
        self._index = [{span.name: n for n, span in enumerate(program.spans)} for program in printed]
        self._same: dict[tuple[str, str], bool] = {}

    def compare(self, pair: InstructionPair) -> _PrintedLines | None:
        """What is asked of a pair of computations, None where they are not the same as printed."""
        spans = [program.spans[n] for program, n in zip(self._printed, (pair.old, pair.new), strict=True)]
        texts = [program.text for program in self._printed]
        ours, theirs = (parts_of_lines(text, span) for text, span in zip(texts, spans, strict=True))
        partners = pair.partners
        if not ours or not len(ours) == len(theirs) == len(partners) or sorted(partners) != list(range(len(ours))):
            return None
        if spans[0].closing != spans[1].closing or pair.elements or pair.added or pair.removed or pair.arguments:
            return None
        lines = [(line, theirs[partner]) for line, partner in zip(ours, partners, strict=True)]
        names = {line[0]: other[0] for line, other in lines}
        roots = [root_reference(text, span) for text, span in zip(texts, spans, strict=True)]
        if len(names) != len(ours) or names[roots[0]] != roots[1] or not self._read_the_same(lines, names):
            return None
        calls = dict(pair.calls)
        parameters = sum(line[1].endswith(" parameter") for line in ours)
        found = _PrintedLines({}, [], all(a < b for a, b in pairwise(partners)), parameters)
        for (line, other), partner in zip(lines, partners, strict=True):
            if line[3] or other[3]:
                bare = without_metadata(line[3]), without_metadata(other[3])
                if "%" in bare[0] and without_references(bare[0]) != bare[0]:  # else it stands in a string
                    if not self._is_same_call(bare, calls.pop(partner, ())):
                        return None
                    found.opcodes[partner] = line[1].rpartition(" ")[2]
                    bare = without_references(bare[0]), without_references(bare[1])
                if _OWN_CHANNEL.search(bare[0]):
                    channels = [_OWN_CHANNEL.findall(text) for text in bare]
                    found.channels.extend(
                        [(f"{line[0]} of %{spans[0].name}", *both) for both in zip(*channels, strict=False)]
                    )
                    bare = _OWN_CHANNEL.sub(_CHANNEL, bare[0]), _OWN_CHANNEL.sub(_CHANNEL, bare[1])
                if bare[0] != bare[1] and (line[1].endswith(" constant") or not self._has_same_attributes(bare)):
                    return None
        return None if calls else found

    @staticmethod
    def _read_the_same(lines: Iterable[tuple[LineParts, LineParts]], names: Mapping[str, str]) -> bool:
        """Whether lines are the same but for their attributes: shape, opcode, literal, operands under the mapping."""
        for (_, what, inside, attributes), (_, others_what, others_inside, _) in lines:
            if what != others_what:
                return False
            if inside[:1] != "%":
                if inside != others_inside or "%" in inside:
                    return False
            elif names.get(inside) != others_inside:
                read, wanted = [names.get(operand) for operand in inside.split(", ")], others_inside.split(", ")
                if read != wanted and (len(read) != 2 or read[::-1] != wanted or not _commutes(what, attributes)):
                    return False
        return True

    def _is_same_call(self, attributes: tuple[str, str], calls: Calls) -> bool:
        """Whether two lines call what the script says that they call, and name nothing else."""
        ours, theirs = map(called_names_by_attribute, attributes)
        counts = [sum(map(len, each.values())) for each in (ours, theirs)]
        if [text.count("%") for text in attributes] != counts or not ours.keys() == theirs.keys() == dict(calls).keys():
            return False
        for name, refs in calls:
            pairs = [(self._script.pairs[ref].old, self._script.pairs[ref].new) for ref in refs]
            olds = [self._index[0].get(callee, -2) for callee in ours[name]]
            news = [self._index[1].get(callee, -2) for callee in theirs[name]]
            if not len(olds) == len(news) == len(pairs) or list(zip(olds, news, strict=True)) != pairs:
                return False
        return _CONTROL not in ours

    def _has_same_attributes(self, attributes: tuple[str, str]) -> bool:
        """The same in another order, also the keys of a configuration."""
        if attributes not in self._same:
            try:
                ours, theirs = (sorted(map(_attribute, split_commas(text.removeprefix(",")))) for text in attributes)
                self._same[attributes] = ours == theirs
            except Unbalanced:
                self._same[attributes] = False
        return self._same[attributes]


def _commutes(shape_and_opcode: str, attributes: str) -> bool:
    opcode = shape_and_opcode.rpartition(" ")[2]
    if opcode == "compare":
        return re.match(r", direction=(EQ|NE)\b", attributes) is not None
    return opcode in _COMMUTATIVE


def _attribute(text: str) -> str:
    name, _, value = text.strip().partition("=")
    if name == "backend_config" and value.startswith("{"):
        try:
            return f"{name}={json.dumps(load_json(value), sort_keys=True)}"
        except (ValueError, RecursionError):
            return text
    return f"{name}={value}"


# 5. Wires


def _check_wires(program: _ReplayedProgram, made: _ReplayedComputation) -> Iterator[str]:
    """A step may rewire an operand only where it is on the way between what was read and what is read now."""
    if made.old is None or made.new is None:
        return
    for step in made.steps:
        if isinstance(step, RemoveStep):
            for wire in step.wires:
                if not _follows_removal(made, step, wire):
                    it = _name(made.old, step.old)
                    yield f"{_user(made, wire)} reads something else than what was left by {it}"
        elif isinstance(step, AddStep | ArriveStep):
            for wire in step.wires:
                if not _follows_addition(made, step, wire):
                    yield f"{_user(made, wire)} reads what came elsewhere than on the way to what it read before"
    # Operands come and go only together with parameters of what is called.
    calls = {place: [ref for _, refs in record.calls for ref in refs] for place, record in made.records.items()}
    for wire in made.pair.arguments:
        if not any(_is_bound(program.computations[ref], wire) for ref in calls.get(wire.user, ())):
            yield f"{_user(made, wire)} has other operands without other parameters, {_SILENT}"
    yield from _check_parameters(program, made)


def _user(made: _ReplayedComputation, wire: OperandRewiring) -> str:
    return "the result" if wire.user == _ROOT else made.name(wire.user)


def _read_before(made: _ReplayedComputation, wire: OperandRewiring) -> int:
    """The old place that was read there, -1 for an operand that came."""
    assert made.old is not None
    if wire.user == _ROOT:
        return made.old.root
    before = made.before_edits(wire.user)
    return -1 if wire.slot is None or before is None else before.operands[wire.slot]


def _follows_removal(made: _ReplayedComputation, step: RemoveStep, wire: OperandRewiring) -> bool:
    """What was removed was read there, and what is read now was below it."""
    if _read_before(made, wire) != step.old:
        return False
    if wire.reads is None:
        return True
    record = made.records.get(wire.reads[0])
    if record is None:
        return False
    if record.old < 0:
        return True
    return record.old in _below(made.removed, step.old, lambda place: made.pair.partners[place] < 0)


def _follows_addition(made: _ReplayedComputation, step: AddStep | ArriveStep, wire: OperandRewiring) -> bool:
    """What was added is read there, and what was read before is below it or no longer there."""
    if wire.reads is None or wire.reads[0] != step.new:
        return False
    before = _read_before(made, wire)
    if before < 0 or made.pair.partners[before] < 0:
        return True
    below = _below(made.graph, step.new, lambda place: made.records.get(place, _Record(0)).old < 0)
    return made.pair.partners[before] in below


def _below(graph: Graph, start: int, is_inner: Callable[[int], bool]) -> set[int]:
    """What an instruction reads, directly or through inner instructions."""

    def is_followed(_: int, user: int, key: int) -> bool:
        return key >= 0 and (user == start or is_inner(user))

    between = nx.subgraph_view(graph, filter_edge=is_followed)
    below: set[int] = nx.ancestors(between, start)
    return below


def _is_bound(inner: _ReplayedComputation, wire: OperandRewiring) -> bool:
    """Whether the operand that came or went belongs to a parameter that came or went."""
    if inner.old is None or inner.new is None:
        return False
    if wire.reads is None:
        return any(inner.old.instructions[place].literal == str(wire.slot) for place in inner.pair.removed)
    return any(it.literal == str(wire.place) for _, it in inner.pair.added)


def _check_parameters(program: _ReplayedProgram, made: _ReplayedComputation) -> Iterator[str]:
    """Parameters come with a reader and go with their readers; an edit reports an operand that nothing reads."""
    assert made.old is not None
    if any(record.is_rewired for _, _, record in program.callers(made.index)):
        return  # an edit gives a caller other operands, so parameters may come and go unread
    for place, it in made.pair.added:
        if place != made.graph.graph["root"] and not any(
            key >= 0 for *_, key in made.graph.out_edges(place, keys=True)
        ):
            yield f"parameter %{it.name} of %{made.old.name} came and nothing reads it, {_SILENT}"
    read = {made.old.root, *(n for it in made.old.instructions for n in it.operands)} if made.pair.removed else set()
    for place in made.pair.removed:
        if place not in read:
            yield f"{_name(made.old, place)}, which nothing read, went, {_SILENT}"


# 6. Loop elements

# A loop, and the call of a computation that is nothing but a loop.
_CARRIERS = ("while", "call")


def _check_elements(program: _ReplayedProgram, made: _ReplayedComputation) -> Iterator[str]:
    """Elements of a tuple get other numbers only where a whole loop agrees: where it begins, runs and ends."""
    for place, pairs in made.pair.elements:
        elements, opcode = dict(pairs), made.opcode(place)
        if opcode in _CARRIERS and len(_operands(made.graph, place)) == 1:
            reason = _loop_objection(program, made, place, elements)
        elif opcode == "parameter":
            callers = list(program.callers(made.index))
            fits = all(
                dict(caller.pair.elements).get(at) == pairs and caller.opcode(at) in _CARRIERS
                for caller, at, _ in callers
            )
            reason = "" if callers and fits else "no loop numbers them so"
        else:
            reason = "it is no loop"
        if not reason and not _takes_only(made, place, elements):
            reason = "an element that is none of them is taken"
        if reason:
            yield f"the elements of {made.name(place)} are renumbered, but {reason}"


def _loop_objection(
    program: _ReplayedProgram, made: _ReplayedComputation, place: int, elements: Mapping[int, int]
) -> str:
    """Why a loop does not have these elements everywhere; "" where it has.

    Where an edit names all operands of a tuple, that is enough; but not of both tuples, at the beginning and the end.
    """
    begin = _operands(made.graph, place)[0][0]
    tuples = [(made, begin)]
    for inner in (program.computations[ref] for _, refs in made.records[place].calls for ref in refs):
        if inner.old is None or inner.new is None:
            return "it runs something else"
        known = dict(inner.pair.elements)
        if any(dict(known.get(parameter, ())) != elements for parameter in inner.new.parameters()):
            return "what it runs takes others"
        if inner.new.instructions[inner.new.root].shape.tuple_shapes:
            tuples.append((inner, inner.graph.graph.get("root", -1)))
    named = [node in one.records and one.records[node].is_rewired for one, node in tuples]
    named[0] = named[0] or _is_passed_named(program, made, begin)
    fits = (is_named or _consists_of(*each, elements) for each, is_named in zip(tuples, named, strict=True))
    return "" if all(fits) and not all(named) else "what it begins with or returns is not"


def _is_passed_named(program: _ReplayedProgram, made: _ReplayedComputation, place: int) -> bool:
    """Whether an edit names all operands of the tuple that callers pass as this parameter."""
    if place not in made.records or made.opcode(place) != "parameter":
        return False
    passed = ((caller, _operands(caller.graph, at)[:1]) for caller, at, _ in program.callers(made.index))
    return any(
        source in caller.records and caller.records[source].is_rewired
        for caller, reads in passed
        for source, _ in reads
    )


def _consists_of(made: _ReplayedComputation, place: int, elements: Mapping[int, int]) -> bool:
    """Whether a tuple keeps exactly these elements. A tuple with elements of its own is checked on its own."""
    if dict(dict(made.pair.elements).get(place, ())) == elements:
        return True
    before = made.before_edits(place)
    if before is None or not before.opcode == made.opcode(place) == "tuple":
        return False
    return made.positions(place) == elements


def _takes_only(made: _ReplayedComputation, place: int, elements: Mapping[int, int]) -> bool:
    """Whether every kept instruction takes an element that is there before and after."""
    assert made.old is not None
    for record in made.records.values():
        if record.old < 0 or "index" in record.settings:
            continue
        it = made.old.instructions[record.old]
        if it.opcode == "get-tuple-element" and made.pair.partners[it.operands[0]] == place:
            number = it.attribute("index") or ""
            if not number.isdigit() or int(number) not in elements:
                return False
    return True


# 7. The whole program


@dataclass(frozen=True, slots=True)
class _ReplayedProgram:
    """The result of all steps.

    Args:
        script: what was applied.
        computations: one for each pair of the script.
        calls: the call graph of the result. Nodes are indices of pairs; each callee of each call site is an edge, whose
            key begins with the place of the call.
    """

    script: EditScript
    computations: Sequence[_ReplayedComputation]
    calls: Graph

    def callers(self, index: int) -> Iterator[tuple[_ReplayedComputation, int, _Record]]:
        """Call sites of a computation: the caller, the place of the call and its record."""
        places = {(caller, key[0]) for caller, _, key in self.calls.in_edges(index, keys=True)}
        for caller, place in sorted(places):
            made = self.computations[caller]
            yield made, place, made.records.get(place, _Record(place))


def _call_graph(script: EditScript, computations: Sequence[_ReplayedComputation]) -> Graph:
    graph: Graph = nx.MultiDiGraph()
    for made in computations:
        graph.add_node(made.index)
        for place, record in made.records.items():
            for name, refs in record.calls:
                for number, ref in enumerate(refs):
                    graph.add_edge(made.index, ref, key=(place, name, number))
    return graph


_THREAD = "execution_thread"


def _check_threads(program: _ReplayedProgram) -> Iterator[str]:
    """A computation has the attributes that it had, the thread among them, unless an edit, of a caller for the thread,
    says otherwise.
    """
    for made in program.computations:
        if made.lines is not None or made.old is None or made.new is None:
            continue
        ours = dict(made.old.attributes) | {_THREAD: made.old.execution_thread}
        theirs = dict(made.new.attributes) | {_THREAD: made.new.execution_thread}
        for step in made.steps:
            if isinstance(step, ComputationStep):
                if ours.get(step.name) == step.value:
                    yield f"an edit of the attributes of %{made.old.name} changes nothing"
                ours.pop(step.name, None)
                if step.value is not None:
                    ours[step.name] = step.value
        if ours[_THREAD] != theirs[_THREAD] and not any(
            "thread" in record.facts or record.old < 0 for _, _, record in program.callers(made.index)
        ):
            yield f"%{made.old.name} runs on another thread, {_SILENT}"
        if {**ours, _THREAD: ""} != {**theirs, _THREAD: ""}:
            yield f"the attributes of %{made.old.name} changed, {_SILENT}"


def _check_channels(program: _ReplayedProgram) -> Iterator[str]:
    """Numbers of channels mean nothing, but instructions that shared a channel still share one."""
    numbers: dict[str, str] = {}
    back: dict[str, str] = {}
    for made in program.computations:
        for name, before, after in _channels(made):
            if numbers.setdefault(before, after) != after or back.setdefault(after, before) != before:
                yield f"{name} meets others on its channel than before, {_SILENT}"


def _channels(made: _ReplayedComputation) -> Iterator[tuple[str, str, str]]:
    """Old and new channel of each instruction that was in the old program, unless a step set the channel."""
    if made.lines is not None:
        yield from made.lines.channels
        return
    if made.new is None:
        return
    for place, it in enumerate(made.new.instructions):
        after = it.attribute("channel_id") if it.attributes else None
        record = made.records.get(place)
        if after is None or record is None or not record.is_copy or "channel_id" in record.settings:
            continue
        if place in made.same and (kept := made.before_edits(place)):
            before = kept.attribute("channel_id")
        else:
            before = made.graph.nodes[place]["attributes"].get("channel_id")
        if before is not None:
            yield made.name(place), before, after


_STEP_BY_STEP = ("while", "conditional", "call")
# These take no time, and the printer puts them anywhere.
_NOT_SCHEDULED = frozenset(["parameter", "constant", "get-tuple-element", "tuple", "bitcast"])


def _check_order(program: _ReplayedProgram) -> Iterator[str]:
    """In scheduled programs the instructions that run one after the other keep their order, unless an edit says so."""
    if any(module.attribute("is_scheduled") != "true" for module in (program.script.old, program.script.new)):
        return
    reordered = {step.pair for step in program.script.steps if isinstance(step, ReorderStep)}

    def runs_steps(caller: int, _: int, key: Any) -> bool:
        return program.computations[caller].opcode(key[0]) in _STEP_BY_STEP

    sequential = nx.subgraph_view(program.calls, filter_edge=runs_steps)
    for index in sorted({0, *nx.descendants(sequential, 0)}):
        made = program.computations[index]
        if made.lines is not None and made.lines.are_in_order:
            continue
        if made.old is None or made.new is None or index in reordered:
            continue
        places = [
            place
            for before, place in zip(made.old.instructions, made.pair.partners, strict=True)
            if place >= 0 and _NOT_SCHEDULED.isdisjoint((before.opcode, made.opcode(place)))
        ]
        if places != sorted(places):
            yield f"the instructions of %{made.old.name} run in another order, {_SILENT}"


_LAYOUT = "entry_computation_layout"
_ALIASES = ("input_output_alias", "buffer_donor")
_ALIAS = re.compile(r"\{([\d,\s]*)\}\s*:\s*\((\d+),\s*\{([\d,\s]*)\}(?:,\s*([\w-]+))?\)")
_DONOR = re.compile(r"\((\d+),\s*\{([\d,\s]*)\}\)")


def _check_header(program: _ReplayedProgram) -> Iterator[str]:
    """The attributes of the module; donation and entry layout are compared argument by argument."""
    old, new, entry = program.script.old, program.script.new, program.computations[0]
    settings = {step.name: step.value for step in program.script.steps if isinstance(step, HeaderStep)}
    ours, theirs = dict(old.attributes) | settings, dict(new.attributes)
    for name in sorted({*ours, *theirs} - {_LAYOUT, *_ALIASES}):
        if ours.get(name) != theirs.get(name):
            yield f"the header says {name}={ours.get(name)}, in the new program {theirs.get(name)}, {_SILENT}"
    arguments = [
        (before, after, record)
        for place, record in entry.records.items()
        if (before := entry.before_edits(place)) is not None
        and before.opcode == (after := new.entry_computation.instructions[place]).opcode == "parameter"
    ]
    yield from _check_donations(old, new, arguments)
    if _LAYOUT not in settings:
        yield from _check_entry_layout(old, new, arguments)
    elif settings[_LAYOUT] != theirs.get(_LAYOUT):
        yield f"the header's {_LAYOUT} is another one"


Arguments = Sequence[tuple[Instruction, Instruction, _Record]]
"""Arguments of the program that are kept: before, after, and their record. An added one brings its donation along."""


def _check_donations(old: Module, new: Module, arguments: Arguments) -> Iterator[str]:
    ours, theirs = _donations(old), _donations(new)
    for before, after, record in arguments:
        donated: dict[str, str | None] = {**ours.get(int(before.literal or 0), {})}
        donated |= {name.partition(":")[2]: text for name, text in record.facts.items() if name.startswith("donation:")}
        result = {inside: text for inside, text in donated.items() if text is not None}
        if result != theirs.get(int(after.literal or 0), {}):
            yield f"the donation of argument {after.literal} (%{after.name}) changed, {_SILENT}"


def _donations(module: Module) -> dict[int, dict[str, str]]:
    """For each argument the parts that are given away ("" for all of it), and for which result."""
    found: dict[int, dict[str, str]] = {}
    for number, inside in _DONOR.findall(module.attribute("buffer_donor") or ""):
        found.setdefault(int(number), {})[inside.replace(" ", "")] = "any"
    for out, number, inside, kind in _ALIAS.findall(module.attribute("input_output_alias") or ""):
        words = f"{{{out.replace(' ', '')}}} {kind}".strip()
        found.setdefault(int(number), {})[inside.replace(" ", "")] = words
    return found


def _check_entry_layout(old: Module, new: Module, arguments: Arguments) -> Iterator[str]:
    """The entry layout repeats the shapes of arguments and root: where those are the same, so is the layout."""
    parts = [_layout_parts(module.attribute(_LAYOUT)) for module in (old, new)]
    if parts[0] is None or parts[1] is None:
        return
    (olds, old_result), (news, new_result) = parts[0], parts[1]
    for before, after, _ in arguments:
        numbers = int(before.literal or 0), int(after.literal or 0)
        ours, theirs = "".join(olds[numbers[0] :][:1]), "".join(news[numbers[1] :][:1])
        if before.shape == after.shape and ours != theirs:
            yield f"the header gives argument {after.literal} (%{after.name}) another layout, {_SILENT}"
    roots = [module.entry_computation.instructions[module.entry_computation.root] for module in (old, new)]
    if roots[0].shape == roots[1].shape and old_result != new_result:
        yield f"the header gives the result another layout, {_SILENT}"


def _layout_parts(text: str | None) -> tuple[list[str], str] | None:
    """`{(f32[8]{0}, s32[])->f32[8]{0}}` as its arguments and its result."""
    plain = re.sub(r"/\*.*?\*/", "", text or "").strip()
    if not plain.startswith("{(") or not plain.endswith("}"):
        return None
    arguments: list[str] = []
    depth, start = 0, 2
    for at, letter in enumerate(plain):
        depth += (letter in "({[") - (letter in ")}]")
        if (letter == "," and depth == 2) or (letter == ")" and depth == 1):
            arguments.append(plain[start:at].strip())
            start = at + 1
            if letter == ")":
                return arguments, plain[start:-1].strip().removeprefix("->").strip()
    return [*arguments, plain[start:].strip()], ""


# 8. The reported edits


def _check_reported(script: EditScript) -> Iterator[str]:
    """Every site of a reported edit was carried out, and its count is the number of call sites that lead there."""
    counts: dict[tuple[str, int], dict[int, int]] = {}
    for step in script.steps:
        once = isinstance(step, HeaderStep) or step.reference.channel == "schedule"
        count = 1 if isinstance(step, HeaderStep) or once else script.pairs[step.pair].count
        sites = counts.setdefault((step.reference.channel, step.reference.edit), {})
        sites[step.reference.site] = min(count, sites.get(step.reference.site, count))
    numbers: Counter[str] = Counter()
    for channel, kind, total, count in script.reported:
        done = counts.get((channel, numbers[channel]), {})
        numbers[channel] += 1
        where = f"edit {numbers[channel]} of {channel} ({kind})"
        missing = sum(site not in done for site in range(total))
        if missing:
            yield f"{where}: {missing} of its {total} sites are nowhere to be done"
        if sum(done.values()) != count:
            yield f"{where} counts {count} and is reached {sum(done.values())} times"
