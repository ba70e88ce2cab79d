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
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain, count, pairwise, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx

from hlodiff.differ.script import (
    AddStep,
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
from hlodiff.hlo import grammar
from hlodiff.hlo.model import BINDS, Computation, Instruction, Layout, Shape, is_commutative_opcode, operand_names

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
    program = _ReplayedProgram(script)
    program.computations = [_ReplayedComputation(program, n, pair) for n, pair in enumerate(script.pairs)]
    for step in script.steps:
        if not isinstance(step, HeaderStep):
            program.computations[step.pair].steps.append(step)
    _compare_printed(program)
    opened = [made for made in program.computations if not made.is_printed]
    for made in opened:
        _apply_steps(made)
    program.connect()
    for made in opened:
        yield from made.failures
        yield from _compare(made)
        yield from _check_calls(made)
        yield from _check_rewirings(made)
        yield from _check_elements(made)
        yield from _check_attributes(made)
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
        opcode, shape, literal, attributes: as in `Instruction`.
        calls: by the indices of computations of the new program.
        reads: what each operand reads, by places in the new computation; `~place` of the old one for removed
            instructions.
        control: by the same places.
    """

    opcode: str
    shape: Shape = Shape("")
    literal: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    calls: Calls = ()
    reads: tuple[Value, ...] = ()
    control: tuple[int, ...] = ()

    def setting(self, name: str, text: str | None) -> Row:
        """The row with an attribute set; None removes it."""
        kept = {key: value for key, value in self.attributes if key != name}
        return self._replace(attributes=tuple((kept if text is None else kept | {name: text}).items()))


def row_of(it: Instruction) -> Row:
    """The row of an instruction at its current place."""
    return Row(it.opcode, it.shape, it.literal, it.attributes, it.calls, it.reads, it.control_predecessors)


def normal(row: Row) -> Row:
    """The normal form of a row: two instructions are equivalent if theirs are equal.

    Layouts are explicit; attributes and the operands of commutative operations are sorted. Numbers of parameters and
    channels are dropped, because they only name an operand of the callers and the instructions that share a channel:
    both are checked over the whole program.
    """
    directions = [text for name, text in row.attributes if name in ("direction", "comparison_direction")]
    is_commutative = len(row.reads) == 2 and is_commutative_opcode(row.opcode, directions[0] if directions else "")
    return row._replace(
        shape=_explicit(row.shape),
        literal=None if row.opcode == "parameter" else row.literal,
        attributes=tuple(sorted((name, _normal_attribute(name, text)) for name, text in row.attributes)),
        reads=tuple(sorted(row.reads)) if is_commutative else row.reads,
        control=tuple(sorted(row.control)),
    )


def _normal_attribute(name: str, text: str) -> str:
    if name == "channel_id":
        return "any"
    if name == "backend_config" and text.startswith("{"):
        with suppress(ValueError, RecursionError):
            config = grammar.load_json(text)
            for group in (groups := grammar.aliased_buffers(config)):
                group["indices"] = sorted(group["indices"], key=int)
            groups.sort(key=json.dumps)
            return json.dumps(config, sort_keys=True)
    return text


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
        before: the instruction there; None for an added one, and in a computation that was compared as printed.
        calls: its callees, as indices of pairs.
        is_copy: whether it was an instruction of the old program, kept or moved here.
        is_rewired: whether a step replaced all of its operands.
        settings: the fields that steps set, with the new values.
        positions: old and new positions of the kept operands; None if all keep their positions.
        names: by callee, as an index of pairs, the operand that each of its parameters is bound to on either side, -1
            for none.
        exchanged: the attributes through which it calls computations with exchanged parameters.
        is_renumbered: whether a loop's operands follow parameters that have other numbers than before.
    """

    row: Row
    old: int = -1
    before: Instruction | None = None
    calls: Calls = ()
    is_copy: bool = False
    is_rewired: bool = False
    settings: dict[str, str | None] = field(default_factory=dict)
    positions: dict[int, int] | None = None
    names: dict[int, tuple[Sequence[int], Sequence[int]]] = field(default_factory=dict)
    exchanged: list[str] = field(default_factory=list)
    is_renumbered: bool = False

    @property
    def kept(self) -> dict[int, int]:
        """Old and new positions of the operands that it had and still has."""
        same = range(len(self.before.operands) if self.before else 0)
        return dict(zip(same, same, strict=True)) if self.positions is None else self.positions


_NOTHING = Computation("", (), -1)  # where only one side has a computation


@dataclass
class _ReplayedComputation:
    """A pair of computations, with the result of the steps on the old one.

    Args:
        program, index, pair: the program that it belongs to, and the pair in its script.
        steps: those of the pair.
        nodes: the result, by places in the new computation; for a pair that was compared as printed, only its calls.
        root: the place of the root.
        opened: places of rows that are not known to be equal without any step.
        channels: name, old and new number of each channel that is used.
        failures: steps that could not be applied, in words.
        parameters: the number of parameters of a pair that was compared as printed; -1 if the pair was parsed.
    """

    program: _ReplayedProgram
    index: int
    pair: InstructionPair
    steps: list[Step] = field(default_factory=list)
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

    @property
    def is_paired(self) -> bool:
        """Whether both programs have the computation."""
        return self.pair.old >= 0 and self.pair.new >= 0

    @cached_property
    def old(self) -> Computation:
        """The old computation."""
        return self.program.script.old.computations[self.pair.old] if self.pair.old >= 0 else _NOTHING

    @cached_property
    def new(self) -> Computation:
        """The new computation."""
        return self.program.script.new.computations[self.pair.new] if self.pair.new >= 0 else _NOTHING

    @cached_property
    def places(self) -> list[int]:
        """For each old instruction its new place, or `~place` of the old one if it has none."""
        return [matched if matched >= 0 else ~place for place, matched in enumerate(self.pair.mapping)]

    @cached_property
    def numbers(self) -> dict[int, int]:
        """Old and new numbers of the parameters that both computations have."""
        if self.is_printed:
            return {n: n for n in range(self.parameters)}
        number_of = {place: n for n, place in enumerate(self.new.parameters)}
        places = [self.places[place] for place in self.old.parameters]
        return {n: number_of[place] for n, place in enumerate(places) if place in number_of}

    @cached_property
    def elements(self) -> dict[int, dict[int, int]]:
        """By new place, old and new numbers of renumbered elements."""
        return {place: dict(pairs) for place, pairs in self.pair.elements}

    @property
    def is_stablehlo(self) -> bool:
        """Whether operands say which result of an instruction they read."""
        return self.program.script.old.stage == "stablehlo"

    def callers(self) -> Iterator[tuple[_ReplayedComputation, int, _ResultNode]]:
        """Its call sites: the caller, the place of the call and its node."""
        edges = self.program.calls.in_edges(self.index, keys=True)
        for caller, place in sorted({(caller, key[0]) for caller, _, key in edges}):
            made = self.program.computations[caller]
            yield made, place, made.nodes[place]

    def result_now(self, place: int, result: int) -> int:
        """The number of a result that StableHLO instructions read; a negative one if it is not there."""
        return self.elements[place].get(result, ~result) if self.is_stablehlo and place in self.elements else result

    def name(self, place: int) -> str:
        """An instruction of the result, or the result itself, for messages."""
        if place == _ROOT:
            return "the result"
        if place in self.nodes and self.nodes[place].old >= 0:
            return _name(self.old, self.nodes[place].old)
        return _name(self.new, place)

    def is_rewired(self, place: int) -> bool:
        """Whether a step replaced all operands of the instruction at a place."""
        return place in self.nodes and self.nodes[place].is_rewired


def _name(owner: Computation, place: int) -> str:
    """`%tanh.3 (tanh) of %fused`."""
    it = owner.instructions[place]
    return f"%{it.name} ({it.opcode}) of %{owner.name}"


def _apply_steps(made: _ReplayedComputation) -> None:
    """Apply the steps of one pair of computations to its old computation."""
    rewirings: dict[int, list[OperandRewiring]] = {}
    of_steps = (step.rewirings for step in made.steps if isinstance(step, RemoveStep | AddStep))
    for rewiring in chain(made.pair.arguments, *of_steps):
        rewirings.setdefault(rewiring.user, []).append(rewiring)
    made.root = made.places[made.old.root] if made.pair.old >= 0 else made.pair.root
    made.root = next((rewiring.reads[0] for rewiring in rewirings.get(_ROOT, ()) if rewiring.reads), made.root)
    _keep(made, rewirings)
    for place, it in made.pair.added:
        _add(made, place, _ResultNode(Row(it.opcode, it.shape, it.literal, it.attributes)))
    for step in made.steps:
        if isinstance(step, AddStep):
            it, source = step.instruction, step.source
            row = row_of(made.program.script.old.computations[source[0]].instructions[source[1]] if source else it)
            calls = made.program.new_calls(step.calls)
            row = row._replace(calls=calls, reads=it.reads, control=it.control_predecessors)
            node = _ResultNode(row, calls=step.calls, is_copy=source is not None)
            for setting in step.settings:
                _set(made, node, setting)
            _add(made, step.new, node)
    for step in made.steps:
        if isinstance(step, ChangeStep):
            _change(made, step)
    # Old and new channel of each instruction that was in the old program, unless a step set the channel.
    for place, node in made.nodes.items():
        for name, before in node.row.attributes:
            after = made.new.instructions[place].attribute(name) if name == "channel_id" else None
            if after is not None and node.is_copy and name not in node.settings:
                made.channels.append((made.name(place), before, after))
            elif after is not None and before != after:
                made.failures.append(f"{made.name(place)}: {name} is {before}, in the new program it is {after}")


def _keep(made: _ReplayedComputation, rewirings: Mapping[int, Sequence[OperandRewiring]]) -> None:
    """Put each kept instruction at its new place, before any step changes its fields."""
    places, calls, elements = made.places, dict(made.pair.calls), made.elements
    for place, (before, matched) in enumerate(zip(made.old.instructions, made.pair.mapping, strict=True)):
        if matched < 0:
            continue
        after, called = made.new.instructions[matched], calls.get(matched, ())
        row = row_of(before)
        row = row._replace(
            calls=made.program.new_calls(called),
            reads=tuple([(places[operand], made.result_now(places[operand], result)) for operand, result in row.reads]),
            control=tuple([places[predecessor] for predecessor in row.control]),
        )
        if before.opcode == after.opcode == "constant" and (_lacks_value(before) or _lacks_value(after)):
            known = [each for each in before.attributes if not _is_hash(each)]
            given = [each for each in after.attributes if _is_hash(each)]
            row = row._replace(literal=after.literal, attributes=(*known, *given))  # see `Replay.unknown`
        elif elements and before.opcode == "get-tuple-element" and before.operands:
            # It takes the same element, whatever its new number.
            index = before.attribute("index")
            numbers = {str(n): str(now) for n, now in elements.get(places[before.operands[0]], {}).items()}
            row = row.setting("index", numbers.get(index, index) if index else None)
        if matched in elements:
            row = _with_elements(row, elements[matched])
        if matched in made.nodes:
            made.failures.append(f"two old instructions are one new one: {_name(made.old, place)}")
        node = made.nodes[matched] = _ResultNode(row, place, before, called, is_copy=True)
        bound = _bind(made.program, node, before, after) if called else None
        if bound is not None:
            is_other = bool(node.exchanged) or any(n != m for n, m in bound.items())
            node.is_renumbered = before.opcode == "while" and is_other
        if matched in elements and before.opcode in _RETURNS:
            bound = elements[matched]
        if matched in rewirings or bound is not None:
            _rearrange(made, node, rewirings.get(matched, ()), bound)
        theirs = row_of(after)
        if node.row != theirs and normal(node.row) != normal(theirs):
            made.opened.add(matched)


def _with_elements(row: Row, elements: Mapping[int, int]) -> Row:
    """A row with the types and attributes of its elements under their new numbers, if none was added or removed."""
    shapes = row.shape.tuple_shapes
    if sorted(elements) == sorted(elements.values()) == list(range(len(shapes))):
        back = {now: number for number, now in elements.items()}
        row = row._replace(shape=replace(row.shape, tuple_shapes=tuple(shapes[back[n]] for n in range(len(shapes)))))
    attributes = []
    for name, text in row.attributes:
        first, dot, rest = name.partition(".")
        number = first.removeprefix("result")
        if first != number and number.isdigit() and int(number) in elements:
            name = f"result{elements[int(number)]}{dot}{rest}"
        attributes.append((name, text))
    return row._replace(attributes=tuple(attributes))


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
    kept = [(slot, value) for slot, value in enumerate(node.row.reads) if slot not in cut]
    if bound is None:
        free = (n for n in count() if n not in placed)
    else:  # after all others if the parameter was removed, so that the comparison finds one operand too many
        free = (bound.get(slot, len(node.row.reads) + slot) for slot, _ in kept)
    placed |= dict(zip(free, kept, strict=False))
    ordered = [placed[n] for n in sorted(placed)]
    node.row = node.row._replace(reads=tuple(value for _, value in ordered))
    node.positions = {slot: n for n, (slot, _) in enumerate(ordered) if slot is not None}


def _bind(
    program: _ReplayedProgram, node: _ResultNode, before: Instruction, after: Instruction
) -> dict[int, int] | None:
    """New positions of a call's operands by the parameters they are bound to; None if they keep their order.

    Parameters of its callees have the numbers of the operands that they are bound to. Those that are not bound to
    operands (a reducer's) keep their numbers.
    """
    callees = [(name, inner) for name, inner in program.callees(node) if inner.is_paired]
    parsed = [inner for _, inner in callees if not inner.is_printed]
    of_both = [
        operand_names(it, module) if parsed else {}
        for it, module in zip((before, after), (program.script.old, program.script.new), strict=True)
    ]
    found: dict[int, int] = {}
    is_bound = False
    for _, inner in callees:
        if inner.is_printed:
            ours = theirs = tuple(range(inner.parameters)) if before.opcode in BINDS else (-1,) * inner.parameters
        else:  # a wrong script may have another call there
            ours = of_both[0].get(inner.pair.old, (-1,) * len(inner.old.parameters))
            theirs = of_both[1].get(inner.pair.new, (-1,) * len(inner.new.parameters))
        node.names[inner.index] = ours, theirs
        is_bound |= max(ours) >= 0 if ours else before.opcode in BINDS
        for n, m in inner.numbers.items():
            if ours[n] >= 0 and theirs[m] >= 0:
                found.setdefault(ours[n], theirs[m])
    for name, inner in callees:
        names = node.names[inner.index]
        slots = {n: (names[0][n], names[1][m]) for n, m in inner.numbers.items()}
        named = dict(both for both in slots.values() if min(both) >= 0)
        own = {n: inner.numbers[n] for n, both in slots.items() if min(both) < 0}
        kept = {n: n for side in names for n, slot in enumerate(side) if slot < 0}
        if named != {n: m for n, m in found.items() if n in names[0]} or own != kept:
            node.exchanged.append(name)
    # Operands that no parameter is bound to, such as the index of a branch, keep their order.
    used = [{slot for names in node.names.values() for slot in names[side]} for side in (0, 1)]
    left = [
        [n for n in range(len(it.operands)) if n not in names] for it, names in zip((before, after), used, strict=True)
    ]
    return found | dict(zip(*left, strict=False)) if is_bound else None


def _lacks_value(it: Instruction) -> bool:
    """Whether it is a constant with neither a value nor a hash in the file."""
    literal = it.literal or ""
    return ("..." in literal or "__elided__" in literal) and not any(map(_is_hash, it.attributes))


def _is_hash(attribute: tuple[str, str]) -> bool:
    """Whether an attribute is the hash that snapshots store instead of a large constant."""
    return any("hlodiff_literal" in text or "hlodiff.constant" in text for text in attribute)


def _add(made: _ReplayedComputation, place: int, node: _ResultNode) -> None:
    if place >= len(made.new.instructions):
        made.failures.append("an instruction is listed as added that the new program does not have")
        return
    if place in made.nodes and made.nodes[place].old >= 0:
        made.failures.append(f"an instruction is listed as added where one survives: {made.name(place)}")
    made.nodes[place] = node
    made.opened.add(place)


def _change(made: _ReplayedComputation, step: ChangeStep) -> None:
    node = made.nodes.get(step.new)
    if node is None:
        made.failures.append(f"nothing is there to be changed in %{made.old.name}")
        return
    made.opened.add(step.new)
    before = normal(node.row), node.settings.get("number", node.row.literal)
    for setting in step.settings:
        _set(made, node, setting)
    if step.operands is not None:
        node.row = node.row._replace(reads=step.operands)
        node.is_rewired = True
    of_program = {name.partition(":")[0] for name in node.settings} & {"thread", "donation", "channel_id", "root"}
    after = normal(node.row), node.settings.get("number", before[1])
    # Where a loop takes its values in another order than it returns them, its operands are edited whatever they are.
    is_about_order = step.operands is not None and node.is_renumbered
    if after == before and not of_program and not is_about_order:
        made.failures.append(f"an edit of {made.name(step.new)} changes nothing")


def _set(made: _ReplayedComputation, node: _ResultNode, setting: SettingChange) -> None:
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
    layout = leaf.layout and replace(leaf.layout, memory_space=shape.memory_space)
    if what == "layout":
        return replace(shape, layout=layout)
    if what == "dimensions":
        same = leaf.dimensions == shape.dimensions
        return replace(leaf, element_type=shape.element_type, layout=shape.layout if same else layout)
    return replace(shape, layout=shape.layout and replace(shape.layout, memory_space=leaf.memory_space))


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
        if made.index == 0 or made.old.instructions[place].opcode != "parameter":
            yield f"{_name(made.old, place)} went without an edit"
    if made.pair.new < 0:
        return
    if made.root != made.new.root:
        yield f"%{made.new.name} returns {_name(made.new, made.new.root)}, {_SILENT}"
    for place in range(len(made.new.instructions)):
        if place not in made.nodes:
            yield f"{_name(made.new, place)} is not there after all edits: none adds it"
    opened = sorted(made.opened)
    ours = {place: normal(_renumber_aliasing(made.nodes[place])) for place in opened}
    theirs = {place: normal(row_of(made.new.instructions[place])) for place in opened}
    if opened and not nx.utils.graphs_equal(dataflow_graph(ours), dataflow_graph(theirs)):
        named = [
            f"{made.name(place)}: {what} is {our}, in the new program it is {their}, {_SILENT}"
            for place in opened
            for what, our, their in _differences(ours[place], theirs[place])
        ]
        yield from named or [f"%{made.new.name} is another graph, {_SILENT}"]


def _renumber_aliasing(node: _ResultNode) -> Row:
    """A row whose config numbers operands, and results after them, as the new instruction does."""
    before, text = node.before, dict(node.row.attributes).get("backend_config", "")
    if before is None or "aliasing_operands" not in text or "backend_config" in node.settings:
        return node.row
    try:
        config = grammar.load_json(text)
    except ValueError:
        return node.row
    kept = node.kept
    results = range(max(1, len(node.row.shape.tuple_shapes)))
    numbers = kept | {len(before.operands) + n: len(node.row.reads) + n for n in results}
    for group in grammar.aliased_buffers(config):
        group["indices"] = [str(numbers.get(int(n), -1)) for n in group["indices"]]
    return node.row.setting("backend_config", json.dumps(config))


def _differences(ours: Row, theirs: Row) -> Iterator[tuple[str, str, str]]:
    """Name, old and new value of each field in which two rows in normal form differ."""
    fields = [
        {"opcode": row.opcode, "shape": row.shape.text, "literal": row.literal} | dict(row.attributes)
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
    reads = zip_longest(ours.reads, theirs.reads)
    for number, both in [(n, both) for n, both in enumerate(reads) if both[0] != both[1]][:1]:
        before, after = ("none" if v is None else "gone" if v[0] < 0 else f"new instruction {v[0]}" for v in both)
        yield f"operand {number} of {len(ours.reads)}", before, after


# 4. As printed

# Most of two large programs is equal on both sides and was not parsed for the diff. Its lines are compared as printed,
# under the known mapping, which takes a tenth of the time of parsing. Computations that it cannot read, or that differ,
# are parsed and compared like the rest.


def _compare_printed(program: _ReplayedProgram) -> None:
    """Compare all pairs that were not parsed; those that differ as printed are parsed later."""
    printed = program.script.printed
    if printed is None:
        return
    indices = [{span.name: n for n, span in enumerate(text.spans)} for text in printed]
    for made in program.computations:
        if made.pair.is_printed and not made.steps:
            _compare_as_printed(made, printed, indices)
    for made in program.computations:  # a parsed computation may have its parameters in a different order
        refs = {ref for node in made.nodes.values() for _, refs in node.calls for ref in refs}
        for inner in (program.computations[ref] for ref in refs if not program.computations[ref].is_printed):
            most = max(len(inner.old.parameters), len(inner.new.parameters))
            if inner.numbers != {n: n for n in range(most)}:
                made.parameters = -1
                made.nodes.clear()


_OWN_CHANNEL = re.compile(r"(?<=, channel_id=)(\d+)(?=,|$)")


def _compare_as_printed(
    made: _ReplayedComputation, printed: tuple[PrintedText, PrintedText], indices: Sequence[Mapping[str, int]]
) -> None:
    """Fill in the result if both computations are equal as printed.

    Args:
        made: the pair of computations.
        printed: both programs as printed.
        indices: the indices of their computations by name.
    """
    pair = made.pair
    spans = [text.spans[n] for text, n in zip(printed, (pair.old, pair.new), strict=True)]
    ours, theirs = (grammar.parts_of_lines(each.text, span) for each, span in zip(printed, spans, strict=True))
    if not ours or len(ours) != len(theirs) or sorted(pair.mapping) != list(range(len(ours))):
        return
    if spans[0].closing != spans[1].closing or pair.elements or pair.added or pair.removed or pair.arguments:
        return
    lines = [(line, theirs[matched]) for line, matched in zip(ours, pair.mapping, strict=True)]
    names = {line[0]: other[0] for line, other in lines}
    roots = [grammar.root_reference(each.text, span) for each, span in zip(printed, spans, strict=True)]
    if len(names) != len(ours) or names[roots[0]] != roots[1] or not _read_the_same(lines, names):
        return
    calls = dict(pair.calls)
    channels: list[tuple[str, str, str]] = []
    nodes: dict[int, _ResultNode] = {}
    for place, (line, other) in enumerate(lines):
        bare = grammar.without_metadata(line[3]), grammar.without_metadata(other[3])
        if "%" in bare[0] and grammar.without_references(bare[0]) != bare[0]:  # else it is in a string
            called = calls.pop(pair.mapping[place], ())
            if not _is_same_call(made.program, bare, called, indices):
                return
            nodes[pair.mapping[place]] = _ResultNode(Row(grammar.opcode_of(line[1])), place, calls=called, is_copy=True)
            bare = grammar.without_references(bare[0]), grammar.without_references(bare[1])
        if found := _OWN_CHANNEL.findall(bare[0]):
            name = f"{line[0]} of %{spans[0].name}"
            channels += [(name, *both) for both in zip(found, _OWN_CHANNEL.findall(bare[1]), strict=False)]
            bare = _OWN_CHANNEL.sub("any", bare[0]), _OWN_CHANNEL.sub("any", bare[1])
        if bare[0] != bare[1] and (line[1].endswith(" constant") or not _have_same_attributes(*bare)):
            return
    if not calls:
        made.nodes, made.channels = nodes, channels
        made.parameters = sum(line[1].endswith(" parameter") for line in ours)


def _is_same_call(
    program: _ReplayedProgram, attributes: tuple[str, str], calls: Calls, indices: Sequence[Mapping[str, int]]
) -> bool:
    """Whether two lines call what the script says and refer to nothing else."""
    pairs = [(name, [program.script.pairs[ref] for ref in refs]) for name, refs in calls]
    wanted = [{name: [pair.old for pair in its] for name, its in pairs}, {n: [p.new for p in its] for n, its in pairs}]
    for text, index, callees in zip(attributes, indices, wanted, strict=True):
        named = grammar.called_names_by_attribute(text)
        if text.count("%") != sum(map(len, named.values())) or "control-predecessors" in named:
            return False
        if {name: [index.get(callee, -2) for callee in its] for name, its in named.items()} != callees:
            return False
    return True


@lru_cache(maxsize=1_000)
def _have_same_attributes(ours: str, theirs: str) -> bool:
    """Whether the attributes of two lines are equal in normal form."""
    try:
        split = [[part.partition("=") for part in grammar.split_commas(text[1:])] for text in (ours, theirs)]
    except grammar.Unbalanced:
        return False
    one, other = (sorted((name, _normal_attribute(name, value)) for name, _, value in each) for each in split)
    return one == other


def _read_the_same(lines: Iterable[tuple[grammar.LineParts, grammar.LineParts]], names: Mapping[str, str]) -> bool:
    """Whether lines are equal apart from attributes: shape, opcode, literal, operands under the mapping."""
    for (_, what, inside, attributes), (_, others_what, others_inside, _) in lines:
        if what != others_what:
            return False
        if inside[:1] != "%":
            if inside != others_inside or "%" in inside:
                return False
        elif names.get(inside) != others_inside:
            read, wanted = (grammar.references(text) for text in (inside, others_inside))
            read = [names.get(operand, "") for operand in read]
            direction = attributes.partition("direction=")[2][:2]
            may_swap = len(read) == 2 and is_commutative_opcode(grammar.opcode_of(what), direction)
            if read != wanted and not (may_swap and read[::-1] == wanted):
                return False
    return True


# 5. Rewired operands


def _check_rewirings(made: _ReplayedComputation) -> Iterator[str]:
    """A step may rewire an operand only if it lies on the path between the old and the new operand."""
    if not made.is_paired:
        return
    for step in made.steps:
        if isinstance(step, RemoveStep | AddStep):
            for rewiring in step.rewirings:
                if not _is_on_the_way(made, step, rewiring):
                    yield f"{made.name(rewiring.user)} reads something else, and nothing on the way to it came or went"
    # Operands come and go only together with parameters of the callee.
    for rewiring in made.pair.arguments:
        names = made.nodes[rewiring.user].names if rewiring.user in made.nodes else {}
        if not any(_is_bound(made.program.computations[ref], both, rewiring) for ref, both in names.items()):
            yield f"{made.name(rewiring.user)} has other operands without other parameters, {_SILENT}"
    # Parameters come with a reader and go with their readers; an edit reports an operand that nothing reads. If an edit
    # changes the operands of a caller, unread parameters may be added and removed.
    if not (made.pair.added or made.pair.removed) or any(each.is_rewired for *_, each in made.callers()):
        return
    read = {made.root, *(source for node in made.nodes.values() for source, _ in node.row.reads)}
    for place, it in made.pair.added:
        if place not in read:
            yield f"parameter %{it.name} of %{made.old.name} came and nothing reads it, {_SILENT}"
    read = {made.old.root, *(operand for it in made.old.instructions for operand in it.operands)}
    for place in made.pair.removed:
        if place not in read:
            yield f"{_name(made.old, place)}, which nothing read, went, {_SILENT}"


def _is_on_the_way(made: _ReplayedComputation, step: RemoveStep | AddStep, rewiring: OperandRewiring) -> bool:
    """Whether a step removed the old operand or added the new one, and the other is below that or new too."""
    before = made.nodes[rewiring.user].before if rewiring.user in made.nodes else None
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
    inner: _ReplayedComputation, names: tuple[Sequence[int], Sequence[int]], rewiring: OperandRewiring
) -> bool:
    """Whether an added or removed operand belongs to an added or removed parameter of a callee."""
    if rewiring.reads is None:
        slots, place, parameters = names[0], rewiring.slot, [inner.old.instructions[n] for n in inner.pair.removed]
    else:
        slots, place, parameters = names[1], rewiring.place, [it for _, it in inner.pair.added]
    return any(it.number < len(slots) and slots[it.number] == place for it in parameters)


# 6. Loop elements

# A loop, or a call of a computation that only contains a loop.
_CARRIERS = ("while", "call")
_RETURNS = ("tuple", "return")


def _check_elements(made: _ReplayedComputation) -> Iterator[str]:
    """Elements are renumbered only together: where they are made, handed on, returned and taken."""
    callers = list(made.callers()) if made.elements else []
    for place, elements in made.elements.items():
        node = made.nodes.get(place)
        inner = [each for _, each in made.program.callees(node)] if node else []
        if node is None or node.before is None:
            agrees = False
        elif node.row.opcode in _RETURNS:
            agrees = node.is_rewired or _consists_of(made, place, elements)
        elif node.row.opcode == "parameter":
            of_callers = [caller.elements.get(at) for caller, at, each in callers if each.row.opcode in _CARRIERS]
            agrees = bool(callers) and of_callers == [elements] * len(callers)
        elif node.row.opcode == "while" or (node.row.opcode == "call" and _hands_on(node, inner, elements)):
            agrees = _loop_agrees(made, node, inner, elements)
        else:
            agrees = bool(inner) and all(each.elements.get(each.root) == elements for each in inner)
        if node and place == made.root and made.index == 0:  # the results of the program
            agrees &= "shape" in node.settings
        elif place == made.root:
            agrees &= all(caller.elements.get(at) == elements for caller, at, each in callers if each.before)
        if not (agrees and _takes_only(made, place, elements)):
            yield f"the elements of {made.name(place)} are renumbered, and not everywhere in a loop"
    for place, node in made.nodes.items() if made.is_stablehlo and made.is_paired else ():
        is_kept = node.before is not None and node.row.opcode == node.before.opcode and not node.is_rewired
        if is_kept and node.row.opcode == "while" and not _returns_what_it_takes(made.program, node):
            yield f"{made.name(place)} takes its values in another order than it returns them, {_SILENT}"


def _hands_on(node: _ResultNode, inner: Sequence[_ReplayedComputation], elements: Mapping[int, int]) -> bool:
    """Whether a call gives the tuple that it is given to a callee with these elements."""
    given = [[each.elements.get(parameter) for parameter in each.new.parameters] for each in inner]
    return len(node.row.reads) == 1 and all(elements in each for each in given)


def _returns_what_it_takes(program: _ReplayedProgram, node: _ResultNode) -> bool:
    """Whether a loop of StableHLO returns each kept value under the number that it has as a parameter of the body."""
    body = [inner for _, inner in program.callees(node)][-1:]
    root = body[0].nodes.get(body[0].root) if body and body[0].is_paired and not body[0].is_printed else None
    if root is None or root.before is None or root.is_rewired:
        return True
    return all(body[0].numbers.get(n, m) == m for n, m in root.kept.items())


def _loop_agrees(
    made: _ReplayedComputation, node: _ResultNode, inner: Sequence[_ReplayedComputation], elements: Mapping[int, int]
) -> bool:
    """Whether a loop has these elements throughout.

    An edit that names all operands of a tuple is enough for either the initial or the final tuple, but not for both.
    """
    if not inner or not all(each.is_paired and not each.is_printed for each in inner):
        return False
    if made.is_stablehlo:
        numbers = [(n, m) for each in inner for n, m in each.numbers.items() if n in elements or m in elements.values()]
        body = inner[-1]
        is_returned_so = body.is_rewired(body.root) or _consists_of(body, body.root, elements)
        return is_returned_so and all(elements.get(n) == m for n, m in numbers)
    ((begin, _),) = node.row.reads
    tuples = [
        (made, begin),
        *((each, each.root) for each in inner if each.new.instructions[each.new.root].shape.tuple_shapes),
    ]
    if any(each.elements.get(parameter) != elements for each in inner for parameter in each.new.parameters):
        return False
    named = [one.is_rewired(place) for one, place in tuples]
    if begin in made.nodes and made.nodes[begin].row.opcode == "parameter":  # passed by callers
        named[0] |= any(
            caller.is_rewired(source) for caller, _, each in made.callers() for source, _ in each.row.reads[:1]
        )
    fits = (is_named or _consists_of(*each, elements) for each, is_named in zip(tuples, named, strict=True))
    return all(fits) and not all(named)


def _consists_of(made: _ReplayedComputation, place: int, elements: Mapping[int, int]) -> bool:
    """Whether a tuple keeps exactly these elements. Other values with elements are checked on their own."""
    node = made.nodes.get(place)
    before = node.before if node else None
    if node is None or before is None:
        return False
    if before.opcode not in _RETURNS or before.opcode != node.row.opcode:
        return made.elements.get(place) == elements
    return node.kept == elements


def _takes_only(made: _ReplayedComputation, place: int, elements: Mapping[int, int]) -> bool:
    """Whether what reads a renumbered tuple takes an element that is there before and after, or hands all of them on.

    In StableHLO each operand says which result it reads, so a wrong one differs from the new program.
    """
    if made.is_stablehlo:
        return True
    numbers = set(map(str, elements))
    for at, node in made.nodes.items():
        it = node.before
        if it is None or all(made.places[operand] != place for operand in it.operands):
            continue
        if it.opcode == "get-tuple-element":
            if it.attribute("index") not in numbers and "index" not in node.settings:
                return False
        elif not (it.opcode in _CARRIERS and made.elements.get(at) == elements) and not node.is_rewired:
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
    """

    script: EditScript
    computations: Sequence[_ReplayedComputation] = ()
    calls: Graph = field(default_factory=nx.MultiDiGraph)

    def connect(self) -> None:
        """Make the call graph."""
        self.calls.add_nodes_from(range(len(self.computations)))
        for made in self.computations:
            for place, node in made.nodes.items():
                for name, refs in node.calls:
                    for number, ref in enumerate(refs):
                        self.calls.add_edge(made.index, ref, key=(place, name, number))

    def callees(self, node: _ResultNode) -> Iterator[tuple[str, _ReplayedComputation]]:
        """What an instruction of the result calls, each with its attribute."""
        return ((name, self.computations[ref]) for name, refs in node.calls for ref in refs)

    def new_calls(self, calls: Calls) -> Calls:
        """Calls by the indices of computations of the new program, as an instruction has them."""
        return tuple((name, tuple(self.script.pairs[ref].new for ref in refs)) for name, refs in calls)


def _check_calls(made: _ReplayedComputation) -> Iterator[str]:
    """A kept instruction has the same callees; an edit reports added and removed ones."""
    pairs, computations = made.program.script.pairs, made.program.computations
    for place, node in made.nodes.items():
        before = node.before
        if before is None or not (node.calls or before.calls):
            continue
        where, now = made.name(place), dict(node.calls)
        for name in node.exchanged if not node.is_rewired else ():
            yield f"{where}: the parameters of what it calls through {name} are exchanged, {_SILENT}"
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


_THREAD = "execution_thread"


def _check_attributes(made: _ReplayedComputation) -> Iterator[str]:
    """A computation keeps its attributes, including the execution thread, unless an edit changes them.

    A changed thread is reported by an edit of a caller.
    """
    if not made.is_paired:
        return
    ours = dict[str, str | None](made.old.attributes) | {_THREAD: made.old.execution_thread}
    theirs = dict[str, str | None](made.new.attributes) | {_THREAD: made.new.execution_thread}
    for step in made.steps:
        if isinstance(step, ComputationStep):
            if ours.get(step.name) == step.value:
                yield f"an edit of the attributes of %{made.old.name} changes nothing"
            ours[step.name] = step.value
    changed = {name for name in ours | theirs if ours.get(name) != theirs.get(name)}
    callers = (node for _, _, node in made.callers()) if _THREAD in changed else ()
    if _THREAD in changed and not any("thread" in node.settings or node.old < 0 for node in callers):
        yield f"%{made.old.name} runs on another thread, {_SILENT}"
    if changed - {_THREAD}:
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
        if all(a < b for a, b in pairwise(made.pair.mapping)) or not made.is_paired:
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
        if (before := node.before) is not None
        and before.opcode == (after := new.entry_computation.instructions[place]).opcode == "parameter"
    ]
    yield from _check_numbers(arguments)
    donated = grammar.donated_results(old.attributes), grammar.donated_results(new.attributes)
    for before, after, node in arguments:
        now: dict[str, str | None] = {**donated[0].get(before.number, {})}
        now |= {name[9:]: text for name, text in node.settings.items() if name.startswith("donation:")}
        if {k: v for k, v in now.items() if v is not None} != donated[1].get(after.number, {}):
            yield f"the donation of argument {after.literal} (%{after.name}) changed, {_SILENT}"
    # The entry layout repeats the shapes: if those are equal, so is the layout.
    layouts = [grammar.layout_parts(module.attribute(_LAYOUT) or "") for module in (old, new)]
    (olds, our_result), (news, their_result) = layouts
    if _LAYOUT not in settings and our_result and their_result:
        for before, after, _ in arguments:
            if before.shape == after.shape and olds.get(before.number) != news.get(after.number):
                yield f"the header gives argument {after.literal} (%{after.name}) another layout, {_SILENT}"
        roots = [module.entry_computation.instructions[module.entry_computation.root] for module in (old, new)]
        if roots[0].shape == roots[1].shape and our_result != their_result:
            yield f"the header gives the result another layout, {_SILENT}"


def _check_numbers(arguments: Sequence[tuple[Instruction, Instruction, _ResultNode]]) -> Iterator[str]:
    """An argument of the program has the number that an edit sets, its old one, or its rank among those kept."""
    ranks = {number: rank for rank, number in enumerate(sorted(after.number for _, after, _ in arguments))}
    for rank, (before, after, node) in enumerate(sorted(arguments, key=lambda each: each[0].number)):
        if "number" in node.settings:
            if int(node.settings["number"] or 0) != after.number:
                yield f"%{before.name} is listed as argument {node.settings['number']} and is argument {after.number}"
        elif before.number != after.number and ranks[after.number] != rank:
            yield f"%{before.name} was argument {before.number} and is argument {after.number}, {_SILENT}"


# 8. The reported edits


def _check_reported(script: EditScript) -> Iterator[str]:
    """Every site of a reported edit was applied, and its count is the number of call sites that lead there."""
    # How many call sites lead to each site of an edit. Several edits may share the call sites of one instruction, for
    # example if it moved for some call sites and was removed for the others. A move has as many as it has on its other
    # side; the other edits have the rest.
    counts: dict[EditReference, int] = {}
    pairs: dict[_ChangedPlace, set[int]] = {}
    told: dict[_ChangedPlace, dict[EditReference, None]] = {}
    for step in script.steps:
        pair = None if isinstance(step, HeaderStep) else script.pairs[step.pair]
        count = pair.count if pair and step.reference.channel != "schedule" else 1
        counts[step.reference] = min(count, counts.get(step.reference, count))
        if pair and isinstance(step, RemoveStep | AddStep):
            place = (False, pair.old, step.old) if isinstance(step, RemoveStep) else (True, pair.new, step.new)
            pairs.setdefault(place, set()).add(step.pair)
            told.setdefault(place, {})[step.reference] = None
    totals = {place: sum(script.pairs[pair].count for pair in found) for place, found in pairs.items()}
    moves = {step.reference for step in script.steps if isinstance(step, AddStep) and step.source}
    alone: dict[EditReference, int] = {}
    for place, (reference, *others) in told.items():
        if reference in moves and not others:
            alone[reference] = min(totals[place], alone.get(reference, totals[place]))
    counts |= alone
    for place, those in told.items():
        others = [reference for reference in those if reference not in moves]
        left = totals[place] - sum(counts[reference] for reference in those if reference in moves)
        is_shared = len(those) > 1 or len(pairs[place]) > 1
        if is_shared and len({(reference.channel, reference.edit) for reference in others}) == 1:
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
