"""Proves that a diff is complete: its edits, applied to the old program, give the new program.

This file shares no code with the matcher and the pruner. The edit script contains the matches, so there is no search:
applying the known mapping and comparing proves the two programs isomorphic.

From top to bottom:

1. Rows: instructions without names, and their normal form. Rows are the nodes of a dataflow graph, operands its edges.
2. Applying a script: each kept instruction gets its place in the new computation, then each step of the script changes
   rows.
3. Comparing: rows that differ from the new computation before any step, or that a step touches, become a graph per side
   (`nx.utils.graphs_equal`; for all instructions that would take 20 times as long). Where they differ, the differences
   are named.
4. As printed: computations that were not parsed for the diff are compared line by line, without parsing.
5. Rewired operands: a rewired operand must follow from an added or removed instruction on its path.
6. Loop elements: the numbers of loop-carried tuple elements shift only together, at every place of a loop.
7. The whole program: calls, channels, execution threads, schedule, header (donation, entry layout).
8. The reported edits: each of their sites was applied, and their counts are right.

What `diff` ignores is ignored here: names, the order of unscheduled instructions, provenance and noise.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx

from hlodiff.differ.script import (
    AddStep,
    ArriveStep,
    Calls,
    ChangeStep,
    ComputationStep,
    EditReference,
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
from hlodiff.graph import add_edges
from hlodiff.hlo.grammar import (
    LineParts,
    Unbalanced,
    called_names_by_attribute,
    closing,
    donated_parts,
    opcode_of,
    parts_of_lines,
    print_shape,
    references,
    root_reference,
    split_commas,
    without_comments,
    without_metadata,
    without_references,
)
from hlodiff.hlo.json_text import aliased_buffers, load_json
from hlodiff.hlo.model import (
    BINDS,
    Computation,
    Instruction,
    Layout,
    Module,
    Shape,
    is_commutative_opcode,
    operand_names,
)

if TYPE_CHECKING:
    Graph = nx.MultiDiGraph[int]

MOST_FAILURES = 5
_ROOT = -1  # the `user` of a rewiring that changes what a computation returns
_SILENT = "and no edit says so"


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of a proof.

    Args:
        steps: how many steps were applied.
        edits: how many edits they belong to.
        failures: the first differences between the result and the new program, in words; () where there are none.
        missing: the number of all differences.
        unknown: constants and header attributes that are missing from the files; nothing is proved about them.
    """

    steps: int
    edits: int
    failures: tuple[str, ...] = ()
    missing: int = 0
    unknown: int = 0

    @property
    def complete(self) -> bool:
        """True if the edits turn the old program into the new one and all values of both are known."""
        return not self.missing and not self.unknown


def replay(script: EditScript, unknown: int = 0) -> Replay:
    """Apply a script to the old program and compare the result with the new program.

    Args:
        script: of a diff.
        unknown: constants of the programs whose values are not known.

    Returns:
        whether the result is the new program, and where it differs.

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
    pairs = enumerate(zip(script.pairs, steps, strict=True))
    program = _ReplayedProgram(script, [_ReplayedComputation(script, n, pair, its) for n, (pair, its) in pairs])
    _compare_printed(program)
    opened = [made for made in program.computations if not made.is_printed]
    for made in opened:
        _apply_steps(program, made)
    program.connect()
    for made in opened:
        yield from made.failures
        yield from _compare(made)
        yield from _check_calls(program, made)
        yield from _check_rewirings(program, made)
        yield from _check_elements(program, made)
        yield from _check_attributes(program, made)
    # Channel numbers mean nothing, but instructions that shared a channel must still share one.
    numbers: dict[str, str] = {}
    back: dict[str, str] = {}
    for made in program.computations:
        for name, before, after in made.channels:
            if numbers.setdefault(before, after) != after or back.setdefault(after, before) != before:
                yield f"{name} meets others on its channel than before, {_SILENT}"
    yield from _check_header(program)
    yield from _check_order(program)
    yield from _check_reported(script)


# 1. Rows


class Row(NamedTuple):
    """An instruction without its name and metadata.

    Args:
        opcode, shape, literal, attributes, results: as in `Instruction`.
        calls: by the indices of computations of the new program.
        operands, control: by places in the new computation; `~place` of the old one for removed instructions.
    """

    opcode: str
    shape: Shape = Shape("")
    literal: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    calls: Calls = ()
    operands: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    control: tuple[int, ...] = ()

    @property
    def reads(self) -> tuple[Value, ...]:
        """What each operand reads."""
        return tuple(zip(self.operands, self.results or (0,) * len(self.operands), strict=True))

    def reading(self, values: Iterable[Value]) -> Row:
        """The row with different operands."""
        values = tuple(values)
        results = tuple(result for _, result in values)
        return self._replace(operands=tuple(place for place, _ in values), results=results if any(results) else ())

    def setting(self, name: str, text: str | None) -> Row:
        """The row with an attribute set; None removes it."""
        kept = {key: value for key, value in self.attributes if key != name}
        return self._replace(attributes=tuple((kept if text is None else kept | {name: text}).items()))


def row_of(it: Instruction) -> Row:
    """The row of an instruction at its current place."""
    return Row(*_fields_of(it))


def _fields_of(it: Instruction) -> tuple[Any, ...]:
    """The fields of its row as a tuple: equal to the row, and three times as fast to make."""
    results, control = it.results, it.control_predecessors
    return it.opcode, it.shape, it.literal, it.attributes, it.calls, it.operands, results, control


def normal(row: Row) -> Row:
    """The normal form of a row: two instructions are equivalent if theirs are equal.

    Layouts are explicit; attributes and the operands of commutative operations are sorted. Numbers of parameters and
    channels are dropped, because they only name an operand of the callers and the instructions that share a channel:
    both are checked over the whole program.
    """
    attributes = [(name, _normal_attribute(name, text)) for name, text in row.attributes]
    row = row._replace(
        shape=_explicit(row.shape),
        literal=None if row.opcode == "parameter" else row.literal,
        attributes=tuple(sorted(attributes)),
        control=tuple(sorted(row.control)),
    )
    return row.reading(sorted(row.reads)) if _is_commutative(row) else row


def _normal_attribute(name: str, text: str) -> str:
    if name == "channel_id":
        return "any"
    if name == "backend_config" and text.startswith("{"):
        try:
            config = load_json(text)
            for group in (groups := aliased_buffers(config)):
                group["indices"] = sorted(group["indices"], key=int)
            groups.sort(key=json.dumps)
            return json.dumps(config, sort_keys=True)
        except (ValueError, RecursionError):
            return text
    return text


def _is_commutative(row: Row) -> bool:
    if len(row.operands) != 2:
        return False
    directions = [text for name, text in row.attributes if name in ("direction", "comparison_direction")]
    return is_commutative_opcode(row.opcode, directions[0] if directions else "")


def _explicit(shape: Shape) -> Shape:
    """A shape with the default layout for arrays without one."""
    if shape.tuple_shapes:
        return replace(shape, tuple_shapes=tuple(map(_explicit, shape.tuple_shapes)), layout=None)
    if shape.layout is None and shape.is_array:
        return replace(shape, layout=Layout(tuple(range(len(shape.dimensions)))[::-1]))
    return shape


def dataflow_graph(rows: Mapping[int, Row]) -> Graph:
    """Rows as a graph: one node per row, one edge per operand, keyed by its position as in `hlodiff.graph`.

    Args:
        rows: by their places. Operands outside of the rows become nodes without attributes.
    """
    graph: Graph = nx.MultiDiGraph()
    for place, row in rows.items():
        graph.add_node(place, row=row[:5])
        add_edges(graph, place, row.reads, row.control)
    return graph


def _below(rows: Mapping[int, Row], start: int) -> set[int]:
    """The rows that the row at `start` reads, directly or transitively."""
    graph = dataflow_graph({place: row._replace(control=()) for place, row in rows.items()})
    return set(nx.ancestors(graph, start)) if start in graph else set()


# 2. Applying a script


@dataclass(slots=True)
class _ResultNode:
    """An instruction of the result.

    Args:
        row: its current row.
        old: its place in the old computation, -1 for an added one.
        calls: its callees, as indices of pairs.
        is_copy: whether it was an instruction of the old program, kept or moved here.
        is_rewired: whether a step replaced all of its operands.
        settings: the fields that steps set, with the new values.
        positions: old and new positions of the kept operands; None if all keep their positions.
    """

    row: Row
    old: int = -1
    calls: Calls = ()
    is_copy: bool = False
    is_rewired: bool = False
    settings: dict[str, str | None] = field(default_factory=dict)
    positions: dict[int, int] | None = None


@dataclass
class _ReplayedComputation:
    """A pair of computations, with the result of the steps on the old one.

    Args:
        script, index, pair: the script, and the pair in it.
        steps: those of the pair.
        nodes: the result, by places in the new computation; for a pair that was compared as printed, only its calls.
        root: the place of the root.
        opened: places of rows that are not known to be equal without any step.
        channels: name, old and new number of each channel that is used.
        failures: steps that could not be applied, in words.
        parameters: the number of parameters of a pair that was compared as printed; -1 if the pair was parsed.
    """

    script: EditScript
    index: int
    pair: InstructionPair
    steps: Sequence[Step]
    nodes: dict[int, _ResultNode] = field(default_factory=dict)
    root: int = -1
    opened: set[int] = field(default_factory=set)
    channels: list[tuple[str, str, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    parameters: int = -1

    @property
    def is_printed(self) -> bool:
        """Whether both computations were compared as printed."""
        return self.parameters >= 0

    @cached_property
    def old(self) -> Computation | None:
        """The old computation, None if there is none."""
        return self.script.old.computations[self.pair.old] if self.pair.old >= 0 else None

    @cached_property
    def new(self) -> Computation | None:
        """The new computation, None if there is none."""
        return self.script.new.computations[self.pair.new] if self.pair.new >= 0 else None

    @cached_property
    def places(self) -> list[int]:
        """For each old instruction its new place, or `~place` of the old one if it has none."""
        return [matched if matched >= 0 else ~place for place, matched in enumerate(self.pair.mapping)]

    def name(self, place: int) -> str:
        """An instruction of the result, for messages."""
        if place in self.nodes and self.nodes[place].old >= 0:
            return _name(self.old, self.nodes[place].old)
        return _name(self.new, place)

    def before(self, node: _ResultNode) -> Instruction | None:
        """The old instruction behind a node, None for an added one."""
        return self.old.instructions[node.old] if self.old and node.old >= 0 else None

    def is_rewired(self, place: int) -> bool:
        """Whether a step replaced all operands of the instruction at a place."""
        return place in self.nodes and self.nodes[place].is_rewired


def _name(owner: Computation | None, place: int) -> str:
    """`%tanh.3 (tanh) of %fused`."""
    if owner is None:
        return "nothing"
    it = owner.instructions[place]
    return f"%{it.name} ({it.opcode}) of %{owner.name}"


def _apply_steps(program: _ReplayedProgram, made: _ReplayedComputation) -> None:
    """Apply the steps of one pair of computations to its old computation."""
    rewirings: dict[int, list[OperandRewiring]] = {}
    of_steps = (step.rewirings for step in made.steps if isinstance(step, RemoveStep | AddStep | ArriveStep))
    for rewiring in chain(made.pair.arguments, *of_steps):
        rewirings.setdefault(rewiring.user, []).append(rewiring)
    made.root = made.places[made.old.root] if made.old else made.pair.root
    made.root = next((rewiring.reads[0] for rewiring in rewirings.get(_ROOT, ()) if rewiring.reads), made.root)
    if made.old and made.new:
        _keep(program, made, made.old, made.new, rewirings)
    for place, it in made.pair.added:
        _add(made, place, _ResultNode(row_of(it)._replace(calls=(), operands=(), results=(), control=())))
    for step in made.steps:
        if isinstance(step, AddStep):
            row = row_of(step.instruction)._replace(calls=program.new_calls(step.calls))
            _add(made, step.new, _ResultNode(row, calls=step.calls))
        elif isinstance(step, ArriveStep):
            row = row_of(program.script.old.computations[step.source[0]].instructions[step.source[1]])
            row = row.reading(step.operands)._replace(calls=program.new_calls(step.calls), control=step.control)
            node = _ResultNode(row, calls=step.calls, is_copy=True)
            for setting in step.settings:
                _set(made, node, setting)
            _add(made, step.new, node)
    for step in made.steps:
        if isinstance(step, ChangeStep):
            _change(made, step)
    # Old and new channel of each instruction that was in the old program, unless a step set the channel.
    for place, node in made.nodes.items():
        for name, before in node.row.attributes:
            after = made.new.instructions[place].attribute(name) if name == "channel_id" and made.new else None
            if after is not None and node.is_copy and name not in node.settings:
                made.channels.append((made.name(place), before, after))
            elif after is not None and before != after:
                made.failures.append(f"{made.name(place)}: {name} is {before}, in the new program it is {after}")


def _keep(
    program: _ReplayedProgram,
    made: _ReplayedComputation,
    old: Computation,
    new: Computation,
    rewirings: Mapping[int, Sequence[OperandRewiring]],
) -> None:
    """Put each kept instruction at its new place, before any step changes its fields."""
    places, calls, elements = made.places, dict(made.pair.calls), dict(made.pair.elements)
    for place, (before, matched) in enumerate(zip(old.instructions, made.pair.mapping, strict=True)):
        if matched < 0:
            continue
        after, called = new.instructions[matched], calls.get(matched, ())
        operands, control = before.operands, before.control_predecessors
        row = Row(
            before.opcode,
            before.shape,
            before.literal,
            before.attributes,
            program.new_calls(called) if called else (),
            tuple([places[operand] for operand in operands]) if operands else (),
            before.results,
            tuple([places[predecessor] for predecessor in control]) if control else (),
        )
        if before.opcode == after.opcode == "constant" and (_lacks_value(before) or _lacks_value(after)):
            known = [each for each in before.attributes if not _is_hash(each)]
            given = [each for each in after.attributes if _is_hash(each)]
            row = row._replace(literal=after.literal, attributes=(*known, *given))  # see `Replay.unknown`
        elif elements and before.opcode == "get-tuple-element" and before.operands:
            # It takes the same element, whatever its new number.
            number = before.attribute("index") or ""
            now = dict(elements.get(places[before.operands[0]], ())).get(int(number) if number.isdigit() else -1)
            row = row if now is None else row.setting("index", str(now))
        if matched in made.nodes:
            made.failures.append(f"two old instructions are one new one: {_name(old, place)}")
        node = made.nodes[matched] = _ResultNode(row, place, called, is_copy=True)
        bound = program.bound_positions(before, after, called) if called else None
        if matched in rewirings or bound is not None:
            _rearrange(made, node, rewirings.get(matched, ()), bound)
        if node.row != _fields_of(after) and normal(node.row) != normal(row_of(after)):
            made.opened.add(matched)


def _rearrange(
    made: _ReplayedComputation, node: _ResultNode, rewirings: Sequence[OperandRewiring], bound: Mapping[int, int] | None
) -> None:
    """Set the operands of a kept instruction: rewirings change them, those of a call follow its parameters."""
    if any(rewiring.place is not None and rewiring.reads is None for rewiring in rewirings):
        made.failures.append(f"an operand of {_name(made.old, node.old)} is there and reads nothing")
    cut = {rewiring.slot for rewiring in rewirings}
    placed: dict[int, tuple[int | None, Value]] = {
        rewiring.place: (rewiring.slot, rewiring.reads)
        for rewiring in rewirings
        if rewiring.place is not None and rewiring.reads is not None
    }
    unplaced: list[tuple[int | None, Value]] = []
    values = node.row.reads
    for slot, value in enumerate(values):
        if slot in cut:
            continue
        if bound is None:
            unplaced.append((slot, value))
        else:  # after all others if the parameter was removed, so that the comparison finds one operand too many
            placed[bound.get(slot, len(values) + slot)] = (slot, value)
    free = (n for n in range(len(placed) + len(unplaced)) if n not in placed)
    placed |= dict(zip(free, unplaced, strict=False))
    ordered = [placed[n] for n in sorted(placed)]
    node.row = node.row.reading(value for _, value in ordered)
    node.positions = {slot: n for n, (slot, _) in enumerate(ordered) if slot is not None}


def _lacks_value(it: Instruction) -> bool:
    """Whether it is a constant with neither a value nor a hash in the file."""
    literal = it.literal or ""
    return ("..." in literal or "__elided__" in literal) and not any(map(_is_hash, it.attributes))


def _is_hash(attribute: tuple[str, str]) -> bool:
    """Whether an attribute is the hash that snapshots store instead of a large constant."""
    return any("hlodiff_literal" in text or "hlodiff.constant" in text for text in attribute)


def _add(made: _ReplayedComputation, place: int, node: _ResultNode) -> None:
    if made.new is None or place >= len(made.new.instructions):
        made.failures.append("an instruction is listed as added that the new program does not have")
        return
    if place in made.nodes and made.nodes[place].old >= 0:
        made.failures.append(f"an instruction is listed as added where one survives: {made.name(place)}")
    made.nodes[place] = node
    made.opened.add(place)


def _change(made: _ReplayedComputation, step: ChangeStep) -> None:
    node = made.nodes.get(step.new)
    if node is None:
        made.failures.append(f"nothing is there to be changed in %{made.old.name if made.old else ''}")
        return
    made.opened.add(step.new)
    before = normal(node.row), node.settings.get("number", node.row.literal)
    for setting in step.settings:
        _set(made, node, setting)
    if step.operands is not None:
        node.row = node.row.reading(step.operands)
        node.is_rewired = True
    of_program = {name.partition(":")[0] for name in node.settings} & {"thread", "donation", "channel_id", "root"}
    after = normal(node.row), node.settings.get("number", before[1])
    if after == before and not of_program:
        made.failures.append(f"an edit of {made.name(step.new)} changes nothing")


def _set(made: _ReplayedComputation, node: _ResultNode, setting: SettingChange) -> None:
    """Set one field only."""
    what, _, name = setting.what.partition(":")
    if what == "attribute":
        node.row = node.row.setting(name, setting.text)
    elif what == "opcode":
        node.row = node.row._replace(opcode=setting.text or "")
    elif what == "literal":
        node.row = node.row._replace(literal=setting.text)
    elif what == "control":
        node.row = node.row._replace(control=setting.places)
    elif what == "shape":
        node.row = node.row._replace(shape=setting.leaves[0])
    elif what in ("element_type", "dimensions", "layout", "memory_space") and setting.leaves:
        node.row = node.row._replace(shape=_with_leaves(_explicit(node.row.shape), what, iter(setting.leaves)))
    elif what == "root":
        made.root = setting.places[0]
    # The rest concerns the whole program: donation, execution thread, number of an argument.
    node.settings[name if what == "attribute" else setting.what] = setting.text


def _with_leaves(shape: Shape, what: str, leaves: Iterator[Shape]) -> Shape:
    """A shape with one field of each leaf replaced."""
    if shape.element_type == "tuple":
        return replace(shape, tuple_shapes=tuple(_with_leaves(part, what, leaves) for part in shape.tuple_shapes))
    leaf = next(leaves)
    if what == "element_type":
        return replace(shape, element_type=leaf.element_type)
    # The memory space is part of the layout, but is not set together with dimensions and layouts.
    layout = leaf.layout and replace(leaf.layout, memory_space=shape.layout.memory_space if shape.layout else 0)
    if what == "layout":
        return replace(shape, layout=layout)
    if what == "dimensions":
        same = leaf.dimensions == shape.dimensions
        return replace(leaf, element_type=shape.element_type, layout=shape.layout if same else layout)
    space = leaf.layout.memory_space if leaf.layout else 0
    return replace(shape, layout=shape.layout and replace(shape.layout, memory_space=space))


# 3. Comparing


def _compare(made: _ReplayedComputation) -> Iterator[str]:
    """Name the differences between the result and the new computation."""
    # Each old instruction is kept, or an edit removes it, or it is a parameter that was removed with its readers.
    removed = {step.old for step in made.steps if isinstance(step, RemoveStep)} | set(made.pair.removed)
    for place, matched in enumerate(made.pair.mapping):
        if matched < 0 and place not in removed:
            yield f"{_name(made.old, place)} is not in the new program, and no edit removes it"
        if matched >= 0 and place in removed:
            yield f"{_name(made.old, place)} is listed as removed and is in the new program"
    for place in made.pair.removed:
        if made.old and (made.index == 0 or made.old.instructions[place].opcode != "parameter"):
            yield f"{_name(made.old, place)} went without an edit"
    if made.new is None:
        return
    if made.root != made.new.root:
        yield f"%{made.new.name} returns {_name(made.new, made.new.root)}, {_SILENT}"
    for place in range(len(made.new.instructions)):
        if place not in made.nodes:
            yield f"{_name(made.new, place)} is not there after all edits: none adds it"
    opened = sorted(made.opened)
    ours = {place: normal(_renumber_aliasing(made, made.nodes[place])) for place in opened}
    theirs = {place: normal(row_of(made.new.instructions[place])) for place in opened}
    if opened and not nx.utils.graphs_equal(dataflow_graph(ours), dataflow_graph(theirs)):
        for place in opened:
            for what, our, their in _differences(ours[place], theirs[place]):
                yield f"{made.name(place)}: {what} is {our}, in the new program it is {their}, {_SILENT}"


def _renumber_aliasing(made: _ReplayedComputation, node: _ResultNode) -> Row:
    """A row whose config numbers operands, and results after them, as the new instruction does."""
    before, text = made.before(node), dict(node.row.attributes).get("backend_config", "")
    if before is None or "aliasing_operands" not in text or "backend_config" in node.settings:
        return node.row
    try:
        config = load_json(text)
    except ValueError:
        return node.row
    kept = node.positions if node.positions is not None else {n: n for n in range(len(before.operands))}
    results = range(max(1, len(node.row.shape.tuple_shapes)))
    numbers = kept | {len(before.operands) + n: len(node.row.operands) + n for n in results}
    for group in aliased_buffers(config):
        group["indices"] = [str(numbers.get(int(n), -1)) for n in group["indices"]]
    return node.row.setting("backend_config", json.dumps(config))


def _differences(ours: Row, theirs: Row) -> Iterator[tuple[str, str, str]]:
    """Name, old and new value of each field in which two rows in normal form differ."""
    fields = [
        {"opcode": row.opcode, "shape": print_shape(row.shape), "literal": row.literal} | dict(row.attributes)
        for row in (ours, theirs)
    ]
    for name in dict.fromkeys([*fields[0], *sorted(fields[1])]):
        before, after = (each.get(name) for each in fields)
        if before != after:
            yield name, "none" if before is None else before, "none" if after is None else after
    if ours.calls != theirs.calls:
        yield "what it calls", str(ours.calls), str(theirs.calls)
    if ours.control != theirs.control:
        yield "the list of control predecessors", str(len(ours.control)), str(len(theirs.control))
    reads = ours.reads, theirs.reads
    if reads[0] != reads[1]:
        pairs = enumerate(zip(*reads, strict=False))
        number = next((n for n, (a, b) in pairs if a != b), min(map(len, reads)))
        places = [[place for place, _ in each[number : number + 1]] for each in reads]
        before, after = (
            "none" if not some else "gone" if some[0] < 0 else f"new instruction {some[0]}" for some in places
        )
        yield f"operand {number} of {len(reads[0])}", before, after


# 4. As printed

# Most of two large programs is equal on both sides and was not parsed for the diff. Its lines are compared as printed,
# under the known mapping, which takes a tenth of the time of parsing. Computations that it cannot read, or that differ,
# are parsed and compared like the rest.


def _compare_printed(program: _ReplayedProgram) -> None:
    """Compare all pairs that were not parsed; those that differ as printed are parsed later."""
    if program.script.printed is None:
        return
    texts = _PrintedTexts(program.script, program.script.printed)
    for made in program.computations:
        if made.pair.is_printed and not made.steps:
            texts.compare(made)
    for made in program.computations:  # a parsed computation may have its parameters in a different order
        refs = {ref for node in made.nodes.values() for _, refs in node.calls for ref in refs}
        numbers = (program.parameters(ref) for ref in refs if not program.computations[ref].is_printed)
        if any(kept != {n: n for n in range(max(counts))} for kept, counts in numbers):
            made.parameters = -1
            made.nodes.clear()


_OWN_CHANNEL = re.compile(r"(?<=, channel_id=)(\d+)(?=,|$)")


class _PrintedTexts:
    """Compares the lines of computations of two programs."""

    def __init__(self, script: EditScript, printed: tuple[PrintedText, PrintedText]) -> None:
        self._script, self._printed = script, printed
        self._index = [{span.name: n for n, span in enumerate(program.spans)} for program in printed]
        self._same: dict[tuple[str, str], bool] = {}

    def compare(self, made: _ReplayedComputation) -> None:
        """Fill in the result if both computations are equal as printed."""
        pair, mapping = made.pair, made.pair.mapping
        spans = [program.spans[n] for program, n in zip(self._printed, (pair.old, pair.new), strict=True)]
        ours, theirs = (parts_of_lines(each.text, span) for each, span in zip(self._printed, spans, strict=True))
        if not ours or not len(ours) == len(theirs) == len(mapping) or sorted(mapping) != list(range(len(ours))):
            return
        if spans[0].closing != spans[1].closing or pair.elements or pair.added or pair.removed or pair.arguments:
            return
        lines = [(line, theirs[matched]) for line, matched in zip(ours, mapping, strict=True)]
        names = {line[0]: other[0] for line, other in lines}
        roots = [root_reference(each.text, span) for each, span in zip(self._printed, spans, strict=True)]
        if len(names) != len(ours) or names[roots[0]] != roots[1] or not _read_the_same(lines, names):
            return
        calls = dict(pair.calls)
        channels: list[tuple[str, str, str]] = []
        nodes: dict[int, _ResultNode] = {}
        for place, (line, other) in enumerate(lines):
            if line[3] or other[3]:
                bare = without_metadata(line[3]), without_metadata(other[3])
                if "%" in bare[0] and without_references(bare[0]) != bare[0]:  # else it is in a string
                    called = calls.pop(mapping[place], ())
                    if not self._is_same_call(bare, called):
                        return
                    nodes[mapping[place]] = _ResultNode(Row(opcode_of(line[1])), place, called, is_copy=True)
                    bare = without_references(bare[0]), without_references(bare[1])
                if found := _OWN_CHANNEL.findall(bare[0]):
                    name = f"{line[0]} of %{spans[0].name}"
                    channels += [(name, *both) for both in zip(found, _OWN_CHANNEL.findall(bare[1]), strict=False)]
                    bare = _OWN_CHANNEL.sub("any", bare[0]), _OWN_CHANNEL.sub("any", bare[1])
                if bare[0] != bare[1] and (line[1].endswith(" constant") or not self._has_same_attributes(bare)):
                    return
        if not calls:
            made.nodes, made.channels = nodes, channels
            made.parameters = sum(line[1].endswith(" parameter") for line in ours)

    def _is_same_call(self, attributes: tuple[str, str], calls: Calls) -> bool:
        """Whether two lines call what the script says and refer to nothing else."""
        named = [called_names_by_attribute(text) for text in attributes]
        if [text.count("%") for text in attributes] != [sum(map(len, each.values())) for each in named]:
            return False
        pairs = [self._script.pairs[ref] for _, refs in calls for ref in refs]
        wanted = [{name: len(refs) for name, refs in calls}] * 2
        if "control-predecessors" in named[0] or [{n: len(g) for n, g in each.items()} for each in named] != wanted:
            return False
        indices = [
            [index.get(callee, -2) for name, _ in calls for callee in each[name]]
            for index, each in zip(self._index, named, strict=True)
        ]
        return indices == [[pair.old for pair in pairs], [pair.new for pair in pairs]]

    def _has_same_attributes(self, attributes: tuple[str, str]) -> bool:
        """Whether the attributes of two lines are equal in normal form."""
        if attributes not in self._same:
            try:
                split = [[part.partition("=") for part in split_commas(text[1:])] for text in attributes]
                ours, theirs = (
                    sorted((name, _normal_attribute(name, value)) for name, _, value in each) for each in split
                )
                self._same[attributes] = ours == theirs
            except Unbalanced:
                self._same[attributes] = False
        return self._same[attributes]


def _read_the_same(lines: Iterable[tuple[LineParts, LineParts]], names: Mapping[str, str]) -> bool:
    """Whether lines are equal apart from attributes: shape, opcode, literal, operands under the mapping."""
    for (_, what, inside, attributes), (_, others_what, others_inside, _) in lines:
        if what != others_what:
            return False
        if inside[:1] != "%":
            if inside != others_inside or "%" in inside:
                return False
        elif names.get(inside) != others_inside:
            read, wanted = [names.get(operand) for operand in references(inside)], references(others_inside)
            if read != wanted:
                direction = attributes.partition("direction=")[2][:2]
                if read[::-1] != wanted or len(read) != 2 or not is_commutative_opcode(opcode_of(what), direction):
                    return False
    return True


# 5. Rewired operands


def _check_rewirings(program: _ReplayedProgram, made: _ReplayedComputation) -> Iterator[str]:
    """A step may rewire an operand only if it lies on the path between the old and the new operand."""
    if made.old is None or made.new is None:
        return
    for step in made.steps:
        if isinstance(step, RemoveStep | AddStep | ArriveStep):
            for rewiring in step.rewirings:
                if not _is_on_the_way(made, step, rewiring):
                    yield f"{_user(made, rewiring)} reads something else, and nothing on the way to it came or went"
    # Operands come and go only together with parameters of the callee.
    for rewiring in made.pair.arguments:
        node = made.nodes.get(rewiring.user)
        refs = [ref for _, refs in node.calls for ref in refs] if node else []
        before = made.before(node) if node else None
        if before is None or not any(
            _is_bound(program, program.names(before, made.new.instructions[rewiring.user], ref), ref, rewiring)
            for ref in refs
        ):
            yield f"{_user(made, rewiring)} has other operands without other parameters, {_SILENT}"
    yield from _check_parameters(program, made, made.old)


def _check_parameters(program: _ReplayedProgram, made: _ReplayedComputation, old: Computation) -> Iterator[str]:
    """Parameters come with a reader and go with their readers; an edit reports an operand that nothing reads."""
    if not (made.pair.added or made.pair.removed) or any(each.is_rewired for *_, each in program.callers(made.index)):
        return  # an edit changes the operands of a caller, so unread parameters may be added and removed
    read = {made.root, *(source for node in made.nodes.values() for source in node.row.operands)}
    for place, it in made.pair.added:
        if place not in read:
            yield f"parameter %{it.name} of %{old.name} came and nothing reads it, {_SILENT}"
    read = {old.root, *(operand for it in old.instructions for operand in it.operands)}
    for place in made.pair.removed:
        if place not in read:
            yield f"{_name(old, place)}, which nothing read, went, {_SILENT}"


def _user(made: _ReplayedComputation, rewiring: OperandRewiring) -> str:
    return "the result" if rewiring.user == _ROOT else made.name(rewiring.user)


def _is_on_the_way(
    made: _ReplayedComputation, step: RemoveStep | AddStep | ArriveStep, rewiring: OperandRewiring
) -> bool:
    """Whether a step removed the old operand or added the new one, and the other is below that or new too."""
    assert made.old is not None
    user = made.nodes.get(rewiring.user)
    before = made.before(user) if user else None
    old = before.operands[rewiring.slot] if before and rewiring.slot is not None else -1
    old = made.old.root if rewiring.user == _ROOT else old
    new = rewiring.reads[0] if rewiring.reads else -1
    if (old != step.old) if isinstance(step, RemoveStep) else (new != step.new):
        return False
    is_removed = old < 0 or made.pair.mapping[old] < 0
    is_added = new < 0 or (new in made.nodes and made.nodes[new].old < 0)
    if is_removed and is_added:
        return True
    if is_added:
        added = {place: node.row for place, node in made.nodes.items() if node.old < 0}
        return made.pair.mapping[old] in _below(added, new)
    mapping, instructions = made.pair.mapping, made.old.instructions
    removed = {place: row_of(instructions[place]) for place, matched in enumerate(mapping) if matched < 0}
    return is_removed and new in made.nodes and made.nodes[new].old in _below(removed, old)


def _is_bound(
    program: _ReplayedProgram, names: tuple[Sequence[int], Sequence[int]], ref: int, rewiring: OperandRewiring
) -> bool:
    """Whether an added or removed operand belongs to an added or removed parameter."""
    inner = program.computations[ref]
    if inner.old is None or inner.new is None:
        return False
    if rewiring.reads is None:
        gone = (int(inner.old.instructions[place].literal or 0) for place in inner.pair.removed)
        return any(n < len(names[0]) and names[0][n] == rewiring.slot for n in gone)
    come = (int(it.literal or 0) for _, it in inner.pair.added)
    return any(n < len(names[1]) and names[1][n] == rewiring.place for n in come)


# 6. Loop elements

# A loop, or a call of a computation that only contains a loop.
_CARRIERS = ("while", "call")


def _check_elements(program: _ReplayedProgram, made: _ReplayedComputation) -> Iterator[str]:
    """Tuple elements are renumbered only if the whole loop agrees: initial value, body and result."""
    for place, pairs in made.pair.elements:
        elements, node = dict(pairs), made.nodes[place]
        if node.row.opcode in _CARRIERS and len(node.row.operands) == 1:
            agrees = _loop_agrees(program, made, node, elements)
        else:
            callers = list(program.callers(made.index)) if node.row.opcode == "parameter" else []
            agrees = bool(callers) and all(
                dict(caller.pair.elements).get(at) == pairs and each.row.opcode in _CARRIERS
                for caller, at, each in callers
            )
        if not agrees or not _takes_only(made, place, elements):
            yield f"the elements of {made.name(place)} are renumbered, and not everywhere in a loop"


def _loop_agrees(
    program: _ReplayedProgram, made: _ReplayedComputation, node: _ResultNode, elements: Mapping[int, int]
) -> bool:
    """Whether a loop has these elements throughout.

    An edit that names all operands of a tuple is enough for either the initial or the final tuple, but not for both.
    """
    begin = node.row.operands[0]
    tuples = [(made, begin)]
    for inner in (program.computations[ref] for _, refs in node.calls for ref in refs):
        if inner.old is None or inner.new is None:
            return False
        known = dict(inner.pair.elements)
        if any(dict(known.get(parameter, ())) != elements for parameter in inner.new.parameters()):
            return False
        if inner.new.instructions[inner.new.root].shape.tuple_shapes:
            tuples.append((inner, inner.root))
    named = [one.is_rewired(place) for one, place in tuples]
    if begin in made.nodes and made.nodes[begin].row.opcode == "parameter":  # passed by callers
        passed = ((caller, each.row.operands[:1]) for caller, _, each in program.callers(made.index))
        named[0] |= any(caller.is_rewired(source) for caller, reads in passed for source in reads)
    fits = (is_named or _consists_of(*each, elements) for each, is_named in zip(tuples, named, strict=True))
    return all(fits) and not all(named)


def _consists_of(made: _ReplayedComputation, place: int, elements: Mapping[int, int]) -> bool:
    """Whether a tuple keeps exactly these elements. A tuple with elements of its own is checked on its own."""
    if dict(dict(made.pair.elements).get(place, ())) == elements:
        return True
    node = made.nodes.get(place)
    before = made.before(node) if node else None
    if node is None or before is None or not before.opcode == node.row.opcode == "tuple":
        return False
    return (node.positions or {n: n for n in range(len(before.operands))}) == elements


def _takes_only(made: _ReplayedComputation, place: int, elements: Mapping[int, int]) -> bool:
    """Whether every kept instruction takes an element that is there before and after."""
    for node in made.nodes.values():
        it = made.before(node)
        if it and it.opcode == "get-tuple-element" and made.places[it.operands[0]] == place:
            number = it.attribute("index") or ""
            if "index" not in node.settings and not (number.isdigit() and int(number) in elements):
                return False
    return True


# 7. The whole program


@dataclass(slots=True)
class _ReplayedProgram:
    """The result of all steps.

    Args:
        script: the script that is applied.
        computations: one for each pair of the script.
        calls: the call graph of the result. Nodes are indices of pairs; each callee of each call site is an edge, whose
            key begins with the place of the call.
        numbers: cache of `parameters`.
        names_of: cache of `operand_names`: by an instruction's id, the instruction and the result.
        bound: cache of `bound_positions`, by the ids of both instructions and their callees.
    """

    script: EditScript
    computations: Sequence[_ReplayedComputation]
    calls: Graph = field(default_factory=nx.MultiDiGraph)
    numbers: dict[int, tuple[dict[int, int], tuple[int, int]]] = field(default_factory=dict)
    names_of: dict[int, tuple[Instruction, dict[int, tuple[int, ...]]]] = field(default_factory=dict)
    bound: dict[tuple[int, int, Calls], dict[int, int] | None] = field(default_factory=dict)

    def connect(self) -> None:
        """Make the call graph."""
        self.calls.add_nodes_from(range(len(self.computations)))
        for made in self.computations:
            for place, node in made.nodes.items():
                for name, refs in node.calls:
                    for number, ref in enumerate(refs):
                        self.calls.add_edge(made.index, ref, key=(place, name, number))

    def callers(self, index: int) -> Iterator[tuple[_ReplayedComputation, int, _ResultNode]]:
        """Call sites of a computation: the caller, the place of the call and its node."""
        for caller, place in sorted({(caller, key[0]) for caller, _, key in self.calls.in_edges(index, keys=True)}):
            made = self.computations[caller]
            yield made, place, made.nodes[place]

    def new_calls(self, calls: Calls) -> Calls:
        """Calls by the indices of computations of the new program, as an instruction has them."""
        return tuple((name, tuple(self.script.pairs[ref].new for ref in refs)) for name, refs in calls)

    def parameters(self, ref: int) -> tuple[dict[int, int], tuple[int, int]]:
        """Old and new numbers of the parameters that two computations share, and how many parameters each has."""
        made = self.computations[ref]
        if made.is_printed:
            return {n: n for n in range(made.parameters)}, (made.parameters, made.parameters)
        if ref in self.numbers:
            return self.numbers[ref]
        olds, news = made.old.parameters() if made.old else (), made.new.parameters() if made.new else ()
        place_of = {place: n for n, place in enumerate(news)}
        numbers = {n: place_of[made.places[place]] for n, place in enumerate(olds) if made.places[place] in place_of}
        self.numbers[ref] = numbers, (len(olds), len(news))
        return self.numbers[ref]

    def names(self, before: Instruction, after: Instruction, ref: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """For each parameter of the callee the operand that it is bound to, on either side; -1 for none."""
        pair, made = self.script.pairs[ref], self.computations[ref]
        if made.is_printed:
            own = tuple(range(made.parameters)) if before.opcode in BINDS else (-1,) * made.parameters
            return own, own
        counts = self.parameters(ref)[1]  # a wrong script may have another call there
        ours, theirs = self._operand_names(before, self.script.old), self._operand_names(after, self.script.new)
        return ours.get(pair.old, (-1,) * counts[0]), theirs.get(pair.new, (-1,) * counts[1])

    def _operand_names(self, it: Instruction, module: Module) -> dict[int, tuple[int, ...]]:
        """`operand_names`, cached; the cache keeps the instruction alive, so that its id is not reused."""
        known = self.names_of.get(id(it))
        if known is None:
            known = self.names_of[id(it)] = it, operand_names(it, module)
        return known[1]

    def bound_positions(self, before: Instruction, after: Instruction, calls: Calls) -> Mapping[int, int] | None:
        """New positions of a call's operands by the parameters they are bound to; None if they keep their order."""
        key = id(before), id(after), calls
        if key in self.bound:
            return self.bound[key]
        found: dict[int, int] = {}
        named: tuple[set[int], set[int]] = (set(), set())
        is_bound = False
        for ref in (ref for _, refs in calls for ref in refs):
            pair = self.script.pairs[ref]
            if pair.old >= 0 and pair.new >= 0:
                ours, theirs = self.names(before, after, ref)
                is_bound |= max(ours) >= 0 if ours else before.opcode in BINDS
                named[0].update(ours)
                named[1].update(theirs)
                for n, m in self.parameters(ref)[0].items():
                    if ours[n] >= 0 and theirs[m] >= 0:
                        found.setdefault(ours[n], theirs[m])
        # Operands that no parameter is bound to, such as the index of a branch, keep their order.
        own = [
            [n for n in range(len(it.operands)) if n not in used]
            for it, used in zip((before, after), named, strict=True)
        ]
        self.bound[key] = found | dict(zip(*own, strict=False)) if is_bound else None
        return self.bound[key]


def _check_calls(program: _ReplayedProgram, made: _ReplayedComputation) -> Iterator[str]:
    """A kept instruction has the same callees; an edit reports added and removed ones."""
    pairs, computations = program.script.pairs, program.computations
    for place, node in made.nodes.items():
        before = made.before(node)
        if before is None or not (node.calls or before.calls):
            continue
        where, now = made.name(place), dict(node.calls)
        if not node.is_rewired:
            after = made.new.instructions[place] if made.new else before
            yield from _exchanged_parameters(program, node, before, after, where)
        for name, group in before.calls:
            refs = now.get(name, ())
            if any(pairs[ref].old not in (callee, -1) for callee, ref in zip(group, refs, strict=False)):
                yield f"{where} calls another computation through {name}, {_SILENT}"
            if len(refs) < len(group) and node.row.opcode == before.opcode and "opcode" not in node.settings:
                left = group[len(refs) :]
                removed = [each for each in computations if each.pair.new < 0 and each.pair.old in left]
                if not any(isinstance(step, RemoveStep) for each in removed for step in each.steps):
                    yield f"{where} calls less than it did through {name}, {_SILENT}"
        for name, refs in node.calls:
            for inner in (computations[ref] for ref in refs if pairs[ref].old < 0):
                if {each.row.opcode for each in inner.nodes.values()} <= {"parameter"}:
                    yield f"{where} calls more than it did through {name}, {_SILENT}"


def _exchanged_parameters(
    program: _ReplayedProgram, node: _ResultNode, before: Instruction, after: Instruction, where: str
) -> Iterator[str]:
    """Parameters of a callee have the numbers of the operands that they are bound to.

    Parameters that are not bound to operands (a reducer's) keep their numbers.
    """
    bound = program.bound_positions(before, after, node.calls) or {}
    for name, refs in node.calls:
        for ref in refs:
            if program.script.pairs[ref].old < 0:
                continue
            numbers, _ = program.parameters(ref)
            ours, theirs = program.names(before, after, ref)
            named = {ours[n]: theirs[m] for n, m in numbers.items() if ours[n] >= 0 and theirs[m] >= 0}
            own = {n: m for n, m in numbers.items() if ours[n] < 0 or theirs[m] < 0}
            kept = {n: n for names in (ours, theirs) for n, slot in enumerate(names) if slot < 0}
            if named != {n: m for n, m in bound.items() if n in ours} or own != kept:
                yield f"{where}: the parameters of what it calls through {name} are exchanged, {_SILENT}"


_THREAD = "execution_thread"


def _check_attributes(program: _ReplayedProgram, made: _ReplayedComputation) -> Iterator[str]:
    """A computation keeps its attributes, including the execution thread, unless an edit changes them.

    A changed thread is reported by an edit of a caller.
    """
    if made.old is None or made.new is None:
        return
    ours = dict(made.old.attributes) | {_THREAD: made.old.execution_thread}
    theirs = dict(made.new.attributes) | {_THREAD: made.new.execution_thread}
    for step in made.steps:
        if isinstance(step, ComputationStep):
            if ours.get(step.name) == step.value:
                yield f"an edit of the attributes of %{made.old.name} changes nothing"
            ours.pop(step.name, None)
            if step.value is not None:
                ours[step.name] = step.value
    if ours.pop(_THREAD, None) != theirs.pop(_THREAD) and not any(
        "thread" in node.settings or node.old < 0 for _, _, node in program.callers(made.index)
    ):
        yield f"%{made.old.name} runs on another thread, {_SILENT}"
    if ours != theirs:
        yield f"the attributes of %{made.old.name} changed, {_SILENT}"


_STEP_BY_STEP = ("while", "conditional", "call")
# These take no time, and the printer puts them anywhere.
_NOT_SCHEDULED = frozenset(["parameter", "constant", "get-tuple-element", "tuple", "bitcast"])


def _check_order(program: _ReplayedProgram) -> Iterator[str]:
    """In scheduled programs, instructions that run one after the other keep their order unless an edit reports it."""
    if any(module.attribute("is_scheduled") != "true" for module in (program.script.old, program.script.new)):
        return
    reordered = {step.pair for step in program.script.steps if isinstance(step, ReorderStep)}

    def runs_steps(caller: int, _: int, key: Any) -> bool:
        return program.computations[caller].nodes[key[0]].row.opcode in _STEP_BY_STEP

    sequential = nx.subgraph_view(program.calls, filter_edge=runs_steps)
    for index in sorted({0, *nx.descendants(sequential, 0)} - reordered):
        made = program.computations[index]
        if all(a < b for a, b in pairwise(made.pair.mapping)) or made.old is None or made.new is None:
            continue
        places = [
            place
            for before, place in zip(made.old.instructions, made.pair.mapping, strict=True)
            if place >= 0
            and before.opcode not in _NOT_SCHEDULED
            and (made.is_printed or made.nodes[place].row.opcode not in _NOT_SCHEDULED)
        ]
        if places != sorted(places):
            yield f"the instructions of %{made.old.name} run in another order, {_SILENT}"


_LAYOUT = "entry_computation_layout"


def _check_header(program: _ReplayedProgram) -> Iterator[str]:
    """Compare the attributes of the module; donation, numbers and layouts argument by argument."""
    old, new, entry = program.script.old, program.script.new, program.computations[0]
    settings = {step.name: step.value for step in program.script.steps if isinstance(step, HeaderStep)}
    ours, theirs = dict(old.attributes) | settings, dict(new.attributes)
    apart = {"input_output_alias", "buffer_donor"} | (set() if _LAYOUT in settings else {_LAYOUT})
    for name in sorted({*ours, *theirs} - apart):
        if ours.get(name) != theirs.get(name):
            yield f"the header says {name}={ours.get(name)}, in the new program {theirs.get(name)}, {_SILENT}"
    # Arguments that are kept: before, after, and their node. An added one brings its donation along.
    arguments = [
        (before, after, node)
        for place, node in entry.nodes.items()
        if (before := entry.before(node)) is not None
        and before.opcode == (after := new.entry_computation.instructions[place]).opcode == "parameter"
    ]
    yield from _check_numbers(arguments)
    donations = _donations(old), _donations(new)
    for before, after, node in arguments:
        donated: dict[str, str | None] = {**donations[0].get(before.literal or "0", {})}
        donated |= {name[9:]: text for name, text in node.settings.items() if name.startswith("donation:")}
        left = {inside: text for inside, text in donated.items() if text is not None}
        if left != donations[1].get(after.literal or "0", {}):
            yield f"the donation of argument {after.literal} (%{after.name}) changed, {_SILENT}"
    layouts = [_layout_parts(module.attribute(_LAYOUT)) for module in (old, new)]
    if _LAYOUT not in settings and all(layouts):  # it repeats the shapes: if those are equal, so is the layout
        for before, after, _ in arguments:
            parts = [each.get(it.literal or "0") for each, it in zip(layouts, (before, after), strict=True)]
            if before.shape == after.shape and parts[0] != parts[1]:
                yield f"the header gives argument {after.literal} (%{after.name}) another layout, {_SILENT}"
        roots = [module.entry_computation.instructions[module.entry_computation.root] for module in (old, new)]
        if roots[0].shape == roots[1].shape and layouts[0]["result"] != layouts[1]["result"]:
            yield f"the header gives the result another layout, {_SILENT}"


def _check_numbers(arguments: Sequence[tuple[Instruction, Instruction, _ResultNode]]) -> Iterator[str]:
    """An argument of the program has the number that an edit sets, its old one, or its rank among those kept."""
    ranks = {number: rank for rank, number in enumerate(sorted(int(after.literal or 0) for _, after, _ in arguments))}
    in_order = sorted(arguments, key=lambda each: int(each[0].literal or 0))
    for rank, (before, after, node) in enumerate(in_order):
        was, number = int(before.literal or 0), int(after.literal or 0)
        if "number" in node.settings:
            if int(node.settings["number"] or 0) != number:
                yield f"%{before.name} is listed as argument {node.settings['number']} and is argument {number}"
        elif was != number and ranks[number] != rank:
            yield f"%{before.name} was argument {was} and is argument {number}, {_SILENT}"


def _donations(module: Module) -> dict[str, dict[str, str]]:
    """For each argument its donated parts ("" for all of it), and the result that each is donated to."""
    found: dict[str, dict[str, str]] = {}
    for part in donated_parts(module):
        result = "any" if part.result is None else f"{{{part.result}}} {part.kind}".strip()
        found.setdefault(str(part.parameter), {})[part.inside] = result
    return found


def _layout_parts(text: str | None) -> dict[str, str]:
    """`{(f32[8]{0}, s32[])->f32[8]{0}}` split by argument, and the result."""
    plain = without_comments(text or "").strip()
    if not plain.startswith("{(") or not plain.endswith("}"):
        return {}
    end = closing(plain, 1)
    arguments = {str(number): part for number, part in enumerate(split_commas(plain[2:end]))}
    return arguments | {"result": plain[end + 1 : -1].strip().removeprefix("->").strip()}


# 8. The reported edits


def _check_reported(script: EditScript) -> Iterator[str]:
    """Every site of a reported edit was applied, and its count is the number of call sites that lead there."""
    # How many call sites lead to each site of an edit. Several edits may share the call sites of one instruction, for
    # example if it moved for some call sites and was removed for the others. A move has as many as it has on its other
    # side; the other edits have the rest.
    counts: dict[EditReference, int] = {}
    pairs: dict[_ChangedPlace, set[int]] = {}
    told: dict[_ChangedPlace, dict[EditReference, None]] = {}
    places: dict[EditReference, dict[_ChangedPlace, None]] = {}
    for step in script.steps:
        is_of_program = isinstance(step, HeaderStep) or step.reference.channel == "schedule"
        count = 1 if isinstance(step, HeaderStep) or is_of_program else script.pairs[step.pair].count
        counts[step.reference] = min(count, counts.get(step.reference, count))
        if isinstance(step, RemoveStep | AddStep | ArriveStep):
            pair = script.pairs[step.pair]
            place = (False, pair.old, step.old) if isinstance(step, RemoveStep) else (True, pair.new, step.new)
            pairs.setdefault(place, set()).add(step.pair)
            told.setdefault(place, {})[step.reference] = None
            places.setdefault(step.reference, {})[place] = None
    totals = {place: sum(script.pairs[pair].count for pair in found) for place, found in pairs.items()}
    shared = {place for place, references in told.items() if len(references) > 1 or len(pairs[place]) > 1}
    moves = {step.reference for step in script.steps if isinstance(step, ArriveStep)}
    for reference in moves:
        alone = [totals[place] for place in places[reference] if len(told[place]) == 1]
        counts[reference] = min(alone, default=counts[reference])
    for place in shared:
        others = [reference for reference in told[place] if reference not in moves]
        left = totals[place] - sum(counts[reference] for reference in told[place] if reference in moves)
        if len({(reference.channel, reference.edit) for reference in others}) == 1:
            counts |= dict.fromkeys(others, 1) | {others[0]: left - len(others) + 1}
    sites: dict[tuple[str, int], dict[int, int]] = {}
    for reference, count in counts.items():
        sites.setdefault((reference.channel, reference.edit), {})[reference.site] = count
    numbers: Counter[str] = Counter()
    for channel, kind, total, count in script.reported:
        done = sites.get((channel, numbers[channel]), {})
        numbers[channel] += 1
        where = f"edit {numbers[channel]} of {channel} ({kind})"
        missing = sum(site not in done for site in range(total))
        if missing:
            yield f"{where}: {missing} of its {total} sites are nowhere to be done"
        if sum(done.values()) != count:
            yield f"{where} counts {count} and is reached {sum(done.values())} times"


_ChangedPlace = tuple[bool, int, int]
"""Whether it is in the new program, its computation and its instruction."""
