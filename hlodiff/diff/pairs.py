"""Walks two modules from their entries along paired calls, and pairs the instructions of every pair of computations.

Computations of equal content are never opened. A computation reached through two calls is paired once for each
different partner; how often it is really called counts its edits (`PairedComputations.count`), so that a program in
which equal computations are stored once and one in which they are printed many times give the same numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from hlodiff.diff import parameters
from hlodiff.diff.elements import CARRIERS, Elements, Held, are_all_known, carried, of_tuple, pair_elements, pair_twins
from hlodiff.diff.features import OWN, Intern, Pairing, Side, side_of
from hlodiff.diff.flatten import flattened
from hlodiff.diff.ledger import Bodies, Ledger
from hlodiff.diff.leftovers import assign
from hlodiff.diff.limits import Limits
from hlodiff.diff.matching import match
from hlodiff.diff.operands import Blind, keeps_operands, same_operands_in_any_order, same_value, slots_of
from hlodiff.diff.prepare import Hashed
from hlodiff.diff.repair import repair
from hlodiff.diff.script import BINDS
from hlodiff.ir.content import Content, idle_parameters, renumbered_hash
from hlodiff.ir.model import Computation, Instruction, Module

# Called for each element, not as a step of the program: XLA prints one or many of them as it pleases.
_EMBEDDED = frozenset(["to_apply", "select", "scatter", "callee", "called_computations"])

# Edits: operands are no arguments of what is applied to elements, and none of them could tell of its parameters.
_NEVER = 1000


@dataclass(frozen=True, slots=True)
class Program:
    """One side of a diff: the module without noise and tuning, and the content of its computations."""

    module: Module
    contents: tuple[Content, ...]
    hashes: tuple[str, ...]
    bodies: Bodies
    _sites: dict[int, int] = field(default_factory=dict)
    _blind: dict[tuple[int, tuple[int, ...]], bool] = field(default_factory=dict)

    def call_sites(self, index: int) -> int:
        """How many calls of a computation there are."""
        if not self._sites:
            called = (callee for owner in self.module.computations for it in owner.instructions for callee in it.called)
            self._sites.update(Counter(called))
        return self._sites.get(index, 0)

    def blind(self, one: Instruction, other: Instruction) -> Blind | None:
        """Asks whether a fusion of this side, equal to another, computes the same with its operands in an order.

        `xor(p0, p1)` called with (b, a) does. What nothing reads has no value that could be the same, only a place:
        there another operand is another program. None for all but fusions: they can tell.
        """
        if one.opcode != "fusion" or other.opcode != "fusion" or len(one.called) != 1:
            return None
        return partial(self._cannot_tell, one.called[0])

    def _cannot_tell(self, callee: int, order: Sequence[int]) -> bool:
        key = (callee, tuple(order))
        if key not in self._blind:
            self._blind[key] = self._is_blind(*key)
        return self._blind[key]

    def _is_blind(self, callee: int, order: Sequence[int]) -> bool:
        body = self.module.computations[callee]
        if len(body.parameters()) != len(order):  # it was not opened: in doubt, until it is
            return False
        flat = flattened(self.module, callee)
        if any(number != order[number] for number in idle_parameters(flat)):
            return False
        if self.hashes[callee] == renumbered_hash(body, self.hashes, order):
            return True
        plain = renumbered_hash(flat, self.hashes, range(len(order)))
        return flat is not body and plain == renumbered_hash(flat, self.hashes, order)

    @staticmethod
    def of(hashed: Hashed, whole: Callable[[int], Computation] | None = None) -> Program:
        """Make ready for pairing; `whole` reads a computation that one instruction stands for."""
        module, found = hashed.module, hashed.contents
        hashes = tuple(content.hash for content in found)
        return Program(module, found, hashes, Bodies(whole or module.computations.__getitem__, hashes))


@dataclass(slots=True)
class PairedComputations:
    """Two computations that correspond, and which of their instructions do.

    Args:
        old, new: indices into the modules' computations.
        old_side, new_side: what the matcher saw; None where the two are equal by content and were never opened.
        pairing: the pairs of instructions; None where equal.
        count: how many call sites lead here on both sides.
        callers: the pairs that call this one, and whether it is applied to elements there.
        limits_hit: names of the limits that kept from looking for the shortest script.
        elements: of tuples that loops carry, by their old positions, which element is which where numbers changed.
    """

    old: int
    new: int
    old_side: Side | None = None
    new_side: Side | None = None
    pairing: Pairing | None = None
    count: int = 0
    callers: list[tuple[int, int, bool]] = field(default_factory=list)
    limits_hit: list[str] = field(default_factory=list)
    elements: dict[int, Elements] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Correspondence:
    """All pairs of computations, callers first, and the computations that only one side reaches.

    `removed` and `added` map a computation's index to how many call sites that have no partner lead to it.
    """

    pairs: tuple[PairedComputations, ...]
    removed: dict[int, int]
    added: dict[int, int]


def correspond(old: Program, new: Program, limits: Limits) -> Correspondence:
    """Pair two programs, from the entries along calls, with no more effort than the limits allow."""
    intern: Intern = {}
    pairs: dict[tuple[int, int], PairedComputations] = {}
    start = (old.module.entry, new.module.entry)
    pairs[start] = PairedComputations(*start, count=1)
    waiting: list[tuple[tuple[int, int], parameters.Call | None]] = [(start, None)]
    for key, reached in waiting:
        pair = pairs[key]
        if old.hashes[pair.old] == new.hashes[pair.new]:
            continue
        _open(old, new, pair, reached, intern, limits)
        for child, call, embedded in _callees(old, new, pair, reached.elements if reached else None):
            if child not in pairs:
                pairs[child] = PairedComputations(*child)
                waiting.append((child, call))
            pairs[child].callers.append((*key, embedded))
    _count(pairs)
    _find_elements(pairs, old, new)
    ordered = tuple(pairs.values())
    modules = (old.module, new.module)
    return Correspondence(ordered, _alone(modules, ordered, 0), _alone(modules, ordered, 1))


def _open(
    old: Program,
    new: Program,
    pair: PairedComputations,
    call: parameters.Call | None,
    intern: Intern,
    limits: Limits,
) -> None:
    entry = call is None
    pair.old_side = side_of(old.module.computations[pair.old], old.hashes, intern, entry=entry)
    pair.new_side = side_of(new.module.computations[pair.new], new.hashes, intern, entry=entry)
    pair.pairing = Pairing.empty(pair.old_side.size, pair.new_side.size)
    parameters.pair_first(pair.old_side, pair.new_side, pair.pairing, call)
    match(pair.old_side, pair.new_side, pair.pairing, intern)
    parameters.pair_rest(pair.old_side, pair.new_side, pair.pairing, entry=entry)
    if not assign(pair.old_side, pair.new_side, pair.pairing, limits):
        pair.limits_hit.append("assignment")
    held = _held(old, new, pair)
    pair_twins(pair.old_side, pair.new_side, pair.pairing, held)
    elements = carried(pair.old_side, pair.new_side, pair.pairing, held, call.elements if call else None)
    for source, which in elements.items():
        pair_elements(pair.old_side, pair.new_side, pair.pairing, source, which)
    if call and call.elements is not None:
        elements[pair.old_side.computation.parameters()[0]] = call.elements
    expected = parameters.expectation(pair.old_side, pair.new_side, call)
    ledger = Ledger(pair.old_side, pair.new_side, pair.pairing, (old.bodies, new.bodies), expected, elements, old.blind)
    if not repair(ledger, limits):
        pair.limits_hit.append("search")
    if entry:
        parameters.exchange(pair.old_side, pair.new_side, pair.pairing)


def _held(old: Program, new: Program, pair: PairedComputations) -> Held:
    return Held((old.module, new.module), (old.contents[pair.old].down, new.contents[pair.new].down))


_Child = tuple[tuple[int, int], parameters.Call, bool]


_Known = dict[tuple[tuple[int, int], int], Elements]
"""Elements by pair of computations and old position."""


def _find_elements(pairs: dict[tuple[int, int], PairedComputations], old: Program, new: Program) -> None:
    """Number the elements of tuples that loops carry, where the loop is begun, run and asked alike."""
    for key, pair in pairs.items():
        if pair.pairing is None or pair.old_side is None or pair.new_side is None:
            continue
        both = pair.old_side, pair.new_side, pair.pairing
        for position, elements in carried(*both, _held(old, new, pair)).items():
            if position not in pair.elements:
                for (holder, place), known in (_handed_on(pairs, key, position, elements) or {}).items():
                    pairs[holder].elements[place] = known


def _handed_on(
    pairs: dict[tuple[int, int], PairedComputations],
    key: tuple[int, int],
    position: int,
    elements: Elements,
    is_begun_so: bool = True,
) -> _Known | None:
    """Where all that a loop runs, or a call leads to, is numbered so; None where something is not."""
    pair = pairs[key]
    assert pair.pairing and pair.old_side and pair.new_side
    one = pair.old_side.computation.instructions[position]
    other = pair.new_side.computation.instructions[pair.pairing.old[position]]
    called = [child for child, _ in paired_calls(one, other)]
    if len(called) != len(one.called) or not are_all_known(
        pair.old_side, pair.new_side, pair.pairing, position, elements
    ):
        return None
    is_begun_so = is_begun_so and keeps_operands(pair.old_side, pair.new_side, pair.pairing, one.operands[0])
    found: _Known = {(key, position): elements}
    for child in called:
        inside = _inside(pairs, child, elements, is_begun_so) if pairs[child].callers == [(*key, False)] else None
        if inside is None:
            return None
        found |= inside
    return found


def _inside(
    pairs: dict[tuple[int, int], PairedComputations], key: tuple[int, int], elements: Elements, is_begun_so: bool
) -> _Known | None:
    """Where what is called takes a tuple of these elements, and returns one if it returns any; None where it does not.

    An edit tells of a tuple that is made of other values; one of both, where the loop begins or here, must be told by
    what came and went.
    """
    pair = pairs[key]
    if pair.pairing is None or pair.old_side is None or pair.new_side is None:
        return None
    both = pair.old_side, pair.new_side, pair.pairing
    parameters_, root = pair.old_side.computation.parameters(), pair.old_side.computation.root
    if len(parameters_) != 1 or pair.pairing.old[parameters_[0]] < 0:
        return None
    if not are_all_known(*both, parameters_[0], elements):
        return None
    found: _Known = {(key, parameters_[0]): elements}
    returned = pair.old_side.computation.instructions[root]
    if not returned.shape.tuple_shapes:
        return found
    if pair.pairing.old[root] != pair.new_side.computation.root:
        return None
    if returned.opcode in CARRIERS and returned.operands == (parameters_[0],):
        further = _handed_on(pairs, key, root, elements, is_begun_so)
        return None if further is None else found | further
    if is_begun_so and not keeps_operands(*both, root):
        return found
    return found if of_tuple(*both, root, pair.new_side.computation.root) == elements else None


def _callees(old: Program, new: Program, pair: PairedComputations, given: Elements | None) -> list[_Child]:
    assert pair.pairing and pair.old_side and pair.new_side
    found: list[_Child] = []
    loops = carried(pair.old_side, pair.new_side, pair.pairing, _held(old, new, pair), given)
    for position, partner in enumerate(pair.pairing.old):
        if partner < 0:
            continue
        one = pair.old_side.computation.instructions[position]
        other = pair.new_side.computation.instructions[partner]
        for key, embedded in paired_calls(one, other):
            sites = min(old.call_sites(key[0]), new.call_sites(key[1])) if embedded else 1
            price = sites if one.opcode in BINDS else _NEVER
            by_number = embedded or one.opcode not in BINDS
            elements = loops.get(position) if not embedded else None
            found.append((key, _call(pair, position, by_number, price, elements), embedded))
    return found


def _call(
    pair: PairedComputations, position: int, by_number: bool, sites: int, elements: Elements | None
) -> parameters.Call:
    assert pair.pairing and pair.old_side and pair.new_side
    both = pair.old_side, pair.new_side, pair.pairing
    partner = pair.pairing.old[position]
    one, other = pair.old_side.computation.instructions[position], pair.new_side.computation.instructions[partner]
    ours, theirs = slots_of(one), slots_of(other)
    operands = (one.operands, other.operands, pair.pairing.old)
    edited = pair.old_side.labels[OWN][position] != pair.new_side.labels[OWN][partner]
    edited = edited or not same_operands_in_any_order(*both, position)
    return parameters.Call(
        operands, lambda a, b: same_value(*both, ours[a], theirs[b]), by_number, sites - edited, elements
    )


def paired_calls(one: Instruction, other: Instruction) -> list[tuple[tuple[int, int], bool]]:
    """Which computations of two paired instructions correspond, by attribute and position; with "embedded" or not."""
    theirs = dict(other.calls)
    found = []
    for name, group in one.calls:
        embedded = is_embedded(one, name)
        found += [((a, b), embedded) for a, b in zip(group, theirs.get(name, ()), strict=False)]
    return found


def is_embedded(it: Instruction, attribute: str) -> bool:
    """True where the computation is applied to elements (a reducer) or shared by nature (a function)."""
    return attribute in _EMBEDDED and it.opcode != "call"


def _count(pairs: dict[tuple[int, int], PairedComputations]) -> None:
    """Call sites of every pair: the sum over its callers, 1 where it is embedded."""
    order = _callers_first(pairs)
    for key in order:
        pair = pairs[key]
        if not pair.callers:
            continue
        total = sum(0 if embedded else pairs[(a, b)].count for a, b, embedded in pair.callers)
        pair.count = max(total, 1)


def _callers_first(pairs: dict[tuple[int, int], PairedComputations]) -> list[tuple[int, int]]:
    waiting = {key: len(pair.callers) for key, pair in pairs.items()}
    children: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for key, pair in pairs.items():
        for a, b, _ in pair.callers:
            children.setdefault((a, b), []).append(key)
    order = [key for key, count in waiting.items() if count == 0]
    for key in order:
        for child in children.get(key, ()):
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    return order


def _alone(modules: tuple[Module, Module], pairs: tuple[PairedComputations, ...], which: int) -> dict[int, int]:
    """Computations behind calls that have no partner, and how many such calls there are."""
    module = modules[which]
    paired = _still_called(module, pairs, which)
    alone: dict[int, int] = {}
    waiting: list[tuple[int, int, bool]] = []
    for pair in pairs:
        if pair.pairing is None:
            continue
        partners = (pair.pairing.old, pair.pairing.new)[which]
        mine = module.computations[(pair.old, pair.new)[which]].instructions
        theirs = modules[1 - which].computations[(pair.new, pair.old)[which]].instructions
        for position, partner in enumerate(partners):
            it = mine[position]
            if it.calls:
                met = _met(it, theirs[partner]) if partner >= 0 else set()
                waiting += _behind(it, pair.count, paired, met)
    shared: set[int] = set()
    for callee, count, embedded in waiting:
        if embedded and callee in shared:
            continue  # a function or reducer came or went once, however many call it
        if embedded:
            shared.add(callee)
        alone[callee] = alone.get(callee, 0) + count
        for it in module.computations[callee].instructions:
            waiting += _behind(it, count, paired, set())
    return alone


def _still_called(module: Module, pairs: tuple[PairedComputations, ...], which: int) -> set[int]:
    """Computations that have a partner, and all that is called from those that have an equal one."""
    found = dict.fromkeys((pair.old, pair.new)[which] for pair in pairs)
    waiting = [(pair.old, pair.new)[which] for pair in pairs if pair.pairing is None]
    for index in waiting:
        for it in module.computations[index].instructions:
            for callee in it.called if it.calls else ():
                if callee not in found:
                    found[callee] = None
                    waiting.append(callee)
    return set(found)


def _met(it: Instruction, partner: Instruction) -> set[tuple[str, int]]:
    """Which calls of an instruction, by attribute and position, have a counterpart in its partner."""
    theirs = {name: len(group) for name, group in partner.calls}
    return {(name, n) for name, group in it.calls for n in range(min(len(group), theirs.get(name, 0)))}


def _behind(it: Instruction, count: int, paired: set[int], met: set[tuple[str, int]]) -> list[tuple[int, int, bool]]:
    """What an instruction calls and its partner does not; a reducer that others still use stays."""
    found = []
    for name, group in it.calls:
        embedded = is_embedded(it, name)
        for number, callee in enumerate(group):
            if (name, number) not in met and not (embedded and callee in paired):
                found.append((callee, 1 if embedded else count, embedded))
    return found
