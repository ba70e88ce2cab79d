"""Matches computations top-down through the call graph: from the entries along matched calls, callers first.

Computations of equal content are never opened. A computation reached through two calls is matched once per different
match; its edits are counted by actual call sites (`ComputationMatch.count`), so that a program in which equal
computations are stored once and one in which they are printed many times give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from hlodiff.differ import parameters
from hlodiff.differ.elements import (
    CARRIERS,
    RETURNS,
    are_all_known,
    hands_on,
    keeps_elements,
    match_elements,
    of_tuple,
)
from hlodiff.differ.instruction_matches import (
    EXACT,
    OWN,
    Elements,
    InstructionMap,
    Intern,
    MatchGraph,
    assign,
    match,
    pair_collectives,
    pair_ends,
)
from hlodiff.differ.limits import Limits
from hlodiff.differ.local_search import REPAIR, Bodies, CostModel, PairCosts, SearchBudget, local_search
from hlodiff.differ.operands import OrderFree, keeps_operands, same_operands_in_any_order, same_value
from hlodiff.differ.placement import platform_of
from hlodiff.differ.prepare import HashedModule
from hlodiff.graph import call_graph, dataflow
from hlodiff.hlo.fingerprint import Content, idle_parameters, renumbered_hash
from hlodiff.hlo.model import BINDS, Computation, Instruction, Module, Place, at, is_embedded, operand_names

if TYPE_CHECKING:
    import networkx as nx

    from hlodiff.differ.element_matches import ElementContext, Roles


# Fused computations hold tens of instructions, large ones a thousand; one that is larger after flattening stays nested.
_LARGEST = 4000


def flattened(module: Module, index: int) -> Computation:
    """A computation without nested fusions; the computation itself if there are none, or the result is too large.

    Each instruction keeps in an attribute which kinds of fusion it came from, so that equal operations in different
    fusions stay different.

    Args:
        module: the program.
        index: of the computation.
    """
    owner = module.computations[index]
    if not any(it.opcode == "fusion" for it in owner.instructions):
        return owner
    written: list[Instruction] = []
    root = _write(module, index, None, (), written)
    return owner if root < 0 else replace(owner, instructions=tuple(written), root=root)


def _write(
    module: Module, index: int, arguments: tuple[int, ...] | None, path: tuple[str, ...], written: list[Instruction]
) -> int:
    """Append the inlined instructions of a computation; return its root's place, -1 if too large."""
    owner = module.computations[index]
    numbers = {p: n for n, p in enumerate(owner.parameters)}
    places: dict[int, int] = {}
    for position, it in enumerate(owner.instructions):
        if len(written) > _LARGEST or len(path) > 8 or any(o not in places for o in it.operands):
            return -1
        operands = tuple(places[o] for o in it.operands)
        if position in numbers and arguments is not None:
            places[position] = arguments[numbers[position]]
            continue
        if it.opcode == "fusion" and len(it.called) == 1:
            kind = repr(sorted(it.attributes))
            places[position] = _write(module, it.called[0], operands, (*path, kind), written)
            if places[position] < 0:
                return -1
            continue
        marks = tuple((f"in_fusion_{n}", kind) for n, kind in enumerate(path))
        places[position] = len(written)
        fresh = replace(it, operands=operands, attributes=(*it.attributes, *marks), control_predecessors=())
        written.append(fresh)
    return places[owner.root]


# Edits: operands are no arguments of what is applied to elements, and none of them could tell of its parameters.
_NEVER = 1000


@dataclass(frozen=True)
class ProgramSide:
    """One side of a diff: the module without noise and tuning, and the content of its computations.

    `copies` has, for a computation that represents several equal ones, how many those are.
    """

    module: Module
    contents: tuple[Content, ...]
    hashes: tuple[str, ...]
    bodies: Bodies
    copies: Mapping[int, int] = field(default_factory=dict)
    _operand_symmetric: dict[tuple[int, tuple[int, ...]], bool] = field(default_factory=dict)
    _functions: dict[int, str] = field(default_factory=dict)

    @cached_property
    def calls(self) -> nx.DiGraph[int]:
        """The call graph."""
        return call_graph(self.module)

    @cached_property
    def roles(self) -> Roles:
        """What it does with the values that its computations are given and return."""
        from hlodiff.differ.element_matches import Roles

        return Roles(self.module)

    def functions(self, frame: int) -> str:
        """The Python functions through which a frame was called, with their files; lines come and go."""
        found = self._functions.get(frame)
        if found is None:
            stack = self.module.stack(frame)
            names = [f"{one.file.rpartition('/')[2]}:{one.function}" for one in stack]
            found = self._functions[frame] = " ".join(names)
        return found

    @cached_property
    def platform(self) -> str:
        """The backend that compiled the program, as far as it shows."""
        return platform_of(self.module)

    def call_sites(self, index: int) -> int:
        """The number of calls of a computation."""
        callers = self.calls.pred[index].items()
        return sum(len(edge["sites"]) * self.copies.get(caller, 1) for caller, edge in callers)

    def operand_symmetric(self, one: Instruction, other: Instruction) -> OrderFree | None:
        """A test whether a fusion computes the same with its operands permuted; None if the two are not fusions.

        `one` is a fusion of this side, `other` an equal one. `xor(p0, p1)` called with (b, a) passes. An operand that
        the fused computation does not read must keep its position: a different operand there is a different program.
        """
        if one.opcode != "fusion" or other.opcode != "fusion" or len(one.called) != 1:
            return None
        return partial(self._is_operand_symmetric, one.called[0])

    def _is_operand_symmetric(self, callee: int, order: Sequence[int]) -> bool:
        key = (callee, tuple(order))
        if key not in self._operand_symmetric:
            self._operand_symmetric[key] = self._is_same_in_order(*key)
        return self._operand_symmetric[key]

    def _is_same_in_order(self, callee: int, order: Sequence[int]) -> bool:
        body = self.module.computations[callee]
        if len(body.parameters) != len(order):  # not opened yet, so unknown
            return False
        flat = flattened(self.module, callee)
        if any(number != order[number] for number in idle_parameters(flat)):
            return False
        if self.hashes[callee] == renumbered_hash(body, self.hashes, order):
            return True
        plain = renumbered_hash(flat, self.hashes, range(len(order)))
        return flat is not body and plain == renumbered_hash(flat, self.hashes, order)

    @staticmethod
    def of(
        hashed: HashedModule,
        whole: Callable[[int], Computation] | None = None,
        copies: Mapping[int, int] | None = None,
    ) -> ProgramSide:
        """Prepare a side for matching; `whole` reads the computation behind a placeholder."""
        module, found = hashed.module, hashed.contents
        hashes = tuple(content.hash for content in found)
        bodies = Bodies(whole or module.computations.__getitem__, hashes)
        return ProgramSide(module, found, hashes, bodies, copies or {})


@dataclass(slots=True)
class ComputationMatch:
    """Two matched computations, with the matches of their instructions.

    Args:
        old, new: indices into the modules' computations.
        old_side, new_side: the matcher's graphs; None if the two are equal by content and were never opened.
        pairing: the matches of instructions; None if equal.
        held: their context for the elements of tuples; None if nothing in them has elements that may be renumbered.
        count: how many call sites lead here on both sides.
        callers: the pairs that call this one, and whether they apply it to elements.
        limits_hit: names of the limits that cut the search for the shortest script short.
        elements: of tuples, loops and calls with several results, by old position, the matches of elements whose
            numbers changed.
    """

    old: int
    new: int
    old_side: MatchGraph | None = None
    new_side: MatchGraph | None = None
    pairing: InstructionMap | None = None
    held: ElementContext | None = None
    count: int = 0
    callers: list[tuple[int, int, bool]] = field(default_factory=list)
    limits_hit: list[str] = field(default_factory=list)
    elements: dict[int, Elements] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProgramMatch:
    """All matched computations, callers first, and the computations that only one side reaches.

    `removed` and `added` map a computation's index to the number of unmatched call sites that lead to it.
    """

    pairs: tuple[ComputationMatch, ...]
    removed: dict[int, int]
    added: dict[int, int]


def match_arguments(old: ProgramSide, new: ProgramSide) -> ProgramMatch:
    """Match the arguments of two programs and nothing else."""
    pair = ComputationMatch(old.module.entry, new.module.entry, count=1)
    sides = _freeze(old, new, pair, Intern(), entry=True)
    parameters.pair_first(*sides, None)
    parameters.pair_rest(*sides, entry=True)
    return ProgramMatch((pair,), _alone(old, new.module, (pair,), 0), _alone(new, old.module, (pair,), 1))


# Pairs of parameters of computations that are called that are asked what the caller says of them.
_MOST_ASKED = 4096


@dataclass(frozen=True, slots=True)
class _Start:
    """All that decides what a search in two computations finds, apart from the limits.

    Args:
        sides: the two computations.
        pairing: the matches before the search.
        fitting: parameters that are each other as far as the caller knows.
        outside: what else the callers contribute.
    """

    sides: tuple[MatchGraph, MatchGraph]
    pairing: list[int]
    fitting: list[tuple[int, int]]
    outside: tuple[object, ...]

    def is_like(self, other: _Start) -> bool:
        """Whether both are the same; of labels that know the content of what is called, only which are equal."""
        for one, two in zip(self.sides, other.sides, strict=True):
            if one.labels[EXACT + 1 :] != two.labels[EXACT + 1 :] or one.operands != two.operands:
                return False
            if one.computation.root != two.computation.root:
                return False
        ours, theirs = ((*old.labels[EXACT], *new.labels[EXACT]) for old, new in (self.sides, other.sides))
        if ours != theirs and not len(set(ours)) == len(set(theirs)) == len({*zip(ours, theirs, strict=True)}):
            return False
        return (self.pairing, self.fitting, self.outside) == (other.pairing, other.fitting, other.outside)


@dataclass(frozen=True, slots=True)
class _Search:
    """A search: the matches that it found, whether no limit ended it, and what it counts against the budget."""

    start: _Start
    found: tuple[list[int], list[int], dict[int, str]]
    is_whole: bool
    spent: int


@dataclass(slots=True)
class KnownSearches:
    """Cached search results of pairs of computations, by their labels and by their names.

    The layers of a model are computations of one content, and an edit in all of them is searched once. Two programs
    are matched again when something that was pruned must be read: what was read before is then mostly the same, except
    for the hashes of callees, and is not searched again.

    Args:
        intern: numbers of labels, so that equal labels have equal numbers in every matching of the programs.
    """

    intern: Intern = field(default_factory=Intern)
    _found: dict[tuple[object, object], _Search] = field(default_factory=dict)

    def run(
        self, model: CostModel, limits: Limits, budget: SearchBudget, expected: Callable[[int, int], bool] | None
    ) -> bool:
        """Search, or reuse the result of an equal search; False if a limit ended it.

        Args:
            model: the matching of two computations, changed in place.
            limits, budget: see `local_search`.
            expected: whether the caller says that two parameters are each other; None for the entries.
        """
        old, new, pairing, size = model.old, model.new, model.pairing, model.old.size + model.new.size
        if not model.total or (expected and len(old.parameters) * len(new.parameters) > _MOST_ASKED):
            return local_search(model, limits, budget)
        fitting = [(a, b) for a in old.parameters for b in new.parameters if expected(a, b)] if expected else []
        start = _Start((old, new), pairing.old.copy(), fitting, model.outside)
        labels, names = (old.labels[EXACT], new.labels[EXACT]), (old.computation.name, new.computation.name)
        for key in (labels, names):
            known = self._found.get(key)
            # Of another computation only what this budget would have found too.
            is_within = known is not None and known.is_whole and known.spent <= budget.share(size)
            if known is not None and (is_within or key is names) and known.start.is_like(start):
                mapping, back, matchers = known.found
                kept = pairing.matchers
                pairing.exchange(
                    mapping, back, {n: name if name == REPAIR else kept[n] for n, name in matchers.items()}
                )
                budget.left -= known.spent
                budget.pending -= size
                return known.is_whole
        before = budget.left
        is_whole = local_search(model, limits, budget)
        result = pairing.old.copy(), pairing.new.copy(), pairing.matchers.copy()
        self._found[labels] = self._found[names] = _Search(start, result, is_whole, before - budget.left)
        return is_whole


def match_programs(
    old: ProgramSide, new: ProgramSide, limits: Limits, search: KnownSearches | None = None
) -> ProgramMatch:
    """Match two programs from the entries along calls, within the limits.

    Args:
        old, new: the programs.
        limits: how much work is allowed.
        search: cached results of matching the same programs with less of them read.
    """
    search = search or KnownSearches()
    costs: PairCosts = {}
    budget = SearchBudget.of(limits)
    pairs: dict[tuple[int, int], ComputationMatch] = {}
    start = (old.module.entry, new.module.entry)
    pairs[start] = ComputationMatch(*start, count=1)
    budget.pending = _size(old, new, pairs[start])
    worklist: list[tuple[tuple[int, int], parameters.CallContext | None]] = [(start, None)]
    for key, reached in worklist:
        pair = pairs[key]
        if old.hashes[pair.old] == new.hashes[pair.new] and not (reached and reached.elements):
            continue
        _open(old, new, pair, reached, search, costs, limits, budget)
        for child, call, embedded in _callees(old, new, pair, reached.elements if reached else None):
            if child not in pairs:
                pairs[child] = ComputationMatch(*child)
                worklist.append((child, call))
                if old.hashes[child[0]] != new.hashes[child[1]]:
                    budget.pending += _size(old, new, pairs[child])
            pairs[child].callers.append((*key, embedded))
    # The call sites of every pair: the sum over its callers, 1 if it is embedded.
    if calls := [((a, b), key) for key, pair in pairs.items() for a, b, _ in pair.callers]:
        import networkx as nx

        for key in nx.topological_sort(nx.DiGraph(calls)):
            callers = pairs[key].callers
            if callers:
                pairs[key].count = max(sum(0 if embedded else pairs[a, b].count for a, b, embedded in callers), 1)
    _agree_on_elements(old, pairs)
    ordered = tuple(pairs.values())
    return ProgramMatch(ordered, _alone(old, new.module, ordered, 0), _alone(new, old.module, ordered, 1))


def _size(old: ProgramSide, new: ProgramSide, pair: ComputationMatch) -> int:
    sides = (old, pair.old), (new, pair.new)
    return sum(len(side.module.computations[index].instructions) for side, index in sides)


def _open(
    old: ProgramSide,
    new: ProgramSide,
    pair: ComputationMatch,
    call: parameters.CallContext | None,
    search: KnownSearches,
    costs: PairCosts,
    limits: Limits,
    budget: SearchBudget,
) -> None:
    entry = call is None
    pair.old_side, pair.new_side, pair.pairing = _freeze(old, new, pair, search.intern, entry=entry)
    parameters.pair_first(pair.old_side, pair.new_side, pair.pairing, call)
    match(pair.old_side, pair.new_side, pair.pairing)
    parameters.pair_rest(pair.old_side, pair.new_side, pair.pairing, entry=entry)
    if not assign(pair.old_side, pair.new_side, pair.pairing, limits):
        pair.limits_hit.append("assignment")
    calling = (it for _, it in pair.old_side.computation.calling)
    if any(it.shape.tuple_shapes or it.opcode in CARRIERS for it in calling):  # whose elements have numbers
        from hlodiff.differ.element_matches import ElementContext, match_indistinguishable

        down = old.contents[pair.old].operand_hashes, new.contents[pair.new].operand_hashes
        pair.held = ElementContext((old.roles, new.roles), down, (old.hashes, new.hashes))
        match_indistinguishable(pair.old_side, pair.new_side, pair.pairing, pair.held)
    elements = _likely_elements(old, pair, call.elements if call else None)
    for source, which in elements.items():
        match_elements(pair.old_side, pair.new_side, pair.pairing, source, which)
    of_search = dict(elements)
    if call and call.elements is not None and len(pair.old_side.parameters) == 1:
        of_search[pair.old_side.parameters[0]] = call.elements
    root = pair.old_side.computation.root
    if call and call.returned is not None and pair.old_side.computation.instructions[root].opcode in RETURNS:
        of_search[root] = call.returned
    for position, which in elements.items():
        it = pair.old_side.computation.instructions[position]
        begin = it.operands[0] if it.operands else position
        if pair.old_side.computation.instructions[begin].opcode == "tuple" and hands_on(pair.old_side, it):
            of_search[begin] = which
    expected = parameters.expectation(pair.old_side, pair.new_side, pair.pairing, call)
    both = pair.old_side, pair.new_side, pair.pairing
    model = CostModel(*both, (old.bodies, new.bodies), expected, of_search, old.operand_symmetric, costs)
    if not search.run(model, limits, budget, None if entry else expected.fits):
        pair.limits_hit.append("search")
    pair_collectives(pair.old_side, pair.new_side, pair.pairing)
    pair_ends(pair.old_side, pair.new_side, pair.pairing)
    if entry:
        parameters.exchange(pair.old_side, pair.new_side, pair.pairing)
        parameters.pair_unchanged(pair.old_side, pair.new_side, pair.pairing)


def _freeze(
    old: ProgramSide, new: ProgramSide, pair: ComputationMatch, intern: Intern, *, entry: bool
) -> tuple[MatchGraph, MatchGraph, InstructionMap]:
    """Open both computations of a pair, without any matches yet."""
    both = old.module.computations[pair.old], new.module.computations[pair.new]
    # One result more shifts the numbers of those behind it: another leaf of the same shape would look like the same.
    roots = [one.instructions[one.root] for one in both]
    numbered = len({len(it.operands) for it in roots}) == 1 or any(it.opcode not in RETURNS for it in roots)
    first, second = (
        MatchGraph.from_networkx(
            dataflow(computation), side.hashes, intern, entry=entry, numbered_results=numbered, functions=side.functions
        )
        for side, computation in zip((old, new), both, strict=True)
    )
    pair.old_side, pair.new_side, pair.pairing = first, second, InstructionMap.empty(first.size, second.size)
    return first, second, pair.pairing


_Child = tuple[tuple[int, int], parameters.CallContext, bool]


_Known = dict[tuple[tuple[int, int], int], Elements]
"""Elements by pair of computations and old position."""


def _likely_elements(old: ProgramSide, pair: ComputationMatch, given: Elements | None) -> dict[int, Elements]:
    """The renumbered elements of loops and calls in two computations, as far as these two show them.

    Args:
        old: the old program.
        pair: the two computations.
        given: the elements of their parameters, if those were renumbered.
    """
    assert pair.pairing and pair.old_side and pair.new_side
    pair.pairing.results.clear()
    if pair.held is None:
        return {}
    from hlodiff.differ.element_matches import carried_elements, result_elements

    both, held = (pair.old_side, pair.new_side, pair.pairing), pair.held
    is_numbered = old.module.stage == "stablehlo"
    found: dict[int, Elements] = {}
    for elements in (result_elements(*both, held), carried_elements(*both, held, given)):
        for position, which in elements.items():
            found[position] = which
            if is_numbered:
                pair.pairing.results[position, pair.pairing.old[position]] = which
    return found


def _agree_on_elements(old: ProgramSide, pairs: dict[tuple[int, int], ComputationMatch]) -> None:
    """Keep the renumbered elements on which all of a loop agrees, or all calls of a computation and what it returns."""
    likely: _Known = {}
    for key, pair in pairs.items():
        if pair.pairing is not None:
            found = _likely_elements(old, pair, None)
            likely |= {(key, position): elements for position, elements in found.items()}
    while True:
        agreed: _Known = {}
        wrong: list[tuple[tuple[int, int], int]] = []
        for (key, position), elements in likely.items():
            known = None if _is_returned(pairs[key], position) else _handed_on(pairs, likely, key, position, elements)
            if known is None:
                wrong.append((key, position))
            else:
                agreed |= known
        if not wrong:
            break
        for key, position in wrong:  # others may rest on it
            del likely[key, position]
            pairing = pairs[key].pairing
            assert pairing
            pairing.results.pop((position, pairing.old[position]), None)
    for (key, position), elements in agreed.items():
        pairs[key].elements[position] = elements


def _is_returned(pair: ComputationMatch, position: int) -> bool:
    """Whether a tuple is returned as a whole: callers take its elements by their numbers, and so does who runs it."""
    assert pair.pairing and pair.old_side and pair.new_side
    if position != pair.old_side.computation.root:
        return False
    shapes = (
        pair.old_side.computation.instructions[position].shape,
        pair.new_side.computation.instructions[pair.pairing.old[position]].shape,
    )
    is_wider = len(shapes[0].tuple_shapes) != len(shapes[1].tuple_shapes)  # its own edit
    return bool(pair.callers) or not is_wider


def _handed_on(
    pairs: dict[tuple[int, int], ComputationMatch],
    likely: _Known,
    key: tuple[int, int],
    position: int,
    elements: Elements,
    is_begun_so: bool = True,
) -> _Known | None:
    """Every site of a loop, or of a call, that uses this renumbering of elements; None if any disagrees."""
    pair = pairs[key]
    assert pair.pairing and pair.old_side and pair.new_side
    both = pair.old_side, pair.new_side, pair.pairing
    one = pair.old_side.computation.instructions[position]
    other = pair.new_side.computation.instructions[pair.pairing.old[position]]
    called = [child for child, _ in matched_calls(one, other)]
    if len(called) != len(one.called) or not are_all_known(*both, position, elements):
        return None
    found: _Known = {(key, position): elements}
    if not hands_on(pair.old_side, one):
        for child in called:
            inside = _results_of(pairs, likely, child, elements)
            if inside is None:
                return None
            found |= inside
        return found
    begin = position
    if one.operands and pair.old_side.computation.instructions[one.operands[0]].shape == one.shape:
        begin = one.operands[0]
    if begin == position or pair.old_side.computation.instructions[begin].opcode in RETURNS:
        is_kept = keeps_elements(*both, begin, elements)  # else an edit names its operands
        if begin != position and of_tuple(*both, begin, pair.pairing.old[begin]) != elements:
            if len(pair.old_side.uses[begin]) > 1:
                return None
            found[key, begin] = elements
    else:
        is_kept = keeps_operands(*both, begin)
    for number, child in enumerate(called):
        is_alone = pairs[child].callers == [(*key, False)]
        is_body = one.opcode != "while" or number == len(called) - 1
        inside = _inside(pairs, likely, child, elements, is_begun_so and is_kept, is_body) if is_alone else None
        if inside is None:
            return None
        found |= inside
    return found


def _results_of(
    pairs: dict[tuple[int, int], ComputationMatch], likely: _Known, key: tuple[int, int], elements: Elements
) -> _Known | None:
    """The root of a callee that returns its results under these numbers; None if it or another call does not."""
    pair = pairs[key]
    if pair.pairing is None or pair.old_side is None or pair.new_side is None:
        return None
    root = pair.old_side.computation.root
    if pair.old_side.computation.instructions[root].opcode not in RETURNS or pair.pairing.old[root] < 0:
        return None
    if pair.pairing.old[root] != pair.new_side.computation.root:
        return None
    for a, b, _ in pair.callers:
        caller = pairs[a, b]
        assert caller.pairing and caller.old_side
        for position, it in enumerate(caller.old_side.computation.instructions):
            is_kept = caller.pairing.old[position] >= 0 and key[0] in it.called
            if is_kept and likely.get(((a, b), position)) != elements:
                return None
    if not keeps_elements(pair.old_side, pair.new_side, pair.pairing, root, elements):
        return None
    return {(key, root): elements}


def _inside(
    pairs: dict[tuple[int, int], ComputationMatch],
    likely: _Known,
    key: tuple[int, int],
    elements: Elements,
    is_begun_so: bool,
    is_body: bool,
) -> _Known | None:
    """Sites in a callee that use this renumbering: its parameters and, in a body, what it returns.

    None if either disagrees. A tuple made of different values is reported by an edit of its own. That excuses either
    the loop's initial tuple or the callee's result; added and removed elements must explain the other one.
    """
    pair = pairs[key]
    if pair.pairing is None or pair.old_side is None or pair.new_side is None:
        return None
    both = pair.old_side, pair.new_side, pair.pairing
    found: _Known = {}
    olds, root = pair.old_side.parameters, pair.old_side.computation.root
    returned = pair.old_side.computation.instructions[root]
    if len(olds) == 1 and pair.old_side.computation.instructions[olds[0]].shape.tuple_shapes:
        if pair.pairing.old[olds[0]] < 0 or not are_all_known(*both, olds[0], elements):
            return None
        found[key, olds[0]] = elements
        if not returned.shape.tuple_shapes:
            return found
    else:
        news = {place: number for number, place in enumerate(pair.new_side.parameters)}
        numbers = {n: news.get(pair.pairing.old[place], -1) for n, place in enumerate(olds)}
        back = {b: a for a, b in elements.items()}
        for n, m in numbers.items():
            if (n in elements or m in back) and m >= 0 and elements.get(n) != m:
                return None
            if n in elements and m < 0 and pair.old_side.uses[olds[n]]:
                return None
        is_begun_so = True  # its parameters show which is which, whatever it begins with
    if not is_body:
        return found
    if pair.pairing.old[root] != pair.new_side.computation.root:
        return None
    if returned.opcode in CARRIERS and returned.operands == olds:
        further = _handed_on(pairs, likely, key, root, elements, is_begun_so)
        return None if further is None else found | further
    if returned.opcode not in RETURNS:
        return None
    if not is_begun_so and not keeps_elements(*both, root, elements):
        return None
    if of_tuple(*both, root, pair.new_side.computation.root) != elements:
        found[key, root] = elements
    return found


def _callees(old: ProgramSide, new: ProgramSide, pair: ComputationMatch, given: Elements | None) -> list[_Child]:
    assert pair.pairing and pair.old_side and pair.new_side
    found: list[_Child] = []
    renumbered = _likely_elements(old, pair, given)
    for position, one in pair.old_side.computation.calling:
        matched = pair.pairing.old[position]
        if matched < 0:
            continue
        other = pair.new_side.computation.instructions[matched]
        calls = matched_calls(one, other)
        elements = renumbered.get(position)
        is_loop = elements is not None and hands_on(pair.old_side, one)
        is_equal = not is_loop and all(old.hashes[a] == new.hashes[b] for (a, b), _ in calls)  # never opened
        bound = ({}, {}) if is_equal else (operand_names(one, old.module), operand_names(other, new.module))
        for key, embedded in calls:
            sites = min(old.call_sites(key[0]), new.call_sites(key[1])) if embedded else 1
            slots = bound[0].get(key[0], ()), bound[1].get(key[1], ())
            if embedded and one.opcode in BINDS and sites > 1:  # others call it too, with operands of their own
                slots = (-1,) * len(slots[0]), (-1,) * len(slots[1])
            has_names = one.opcode in BINDS or max((*slots[0], *slots[1]), default=-1) >= 0
            cost = sites if has_names else _NEVER
            given_so = elements if is_loop and not embedded else None
            returned = elements if one.opcode != "while" or key == calls[-1][0] else None
            found.append((key, _call(pair, position, slots, cost, given_so, returned), embedded))
    return found


def _call(
    pair: ComputationMatch,
    position: int,
    slots: parameters.Slots,
    sites: int,
    elements: Elements | None,
    returned: Elements | None,
) -> parameters.CallContext:
    assert pair.pairing and pair.old_side and pair.new_side
    both = pair.old_side, pair.new_side, pair.pairing
    matched = pair.pairing.old[position]
    one, other = pair.old_side.computation.instructions[position], pair.new_side.computation.instructions[matched]
    ours, theirs = one.reads, other.reads
    operands = (one.operands, other.operands, pair.pairing.old)
    edited = pair.old_side.labels[OWN][position] != pair.new_side.labels[OWN][matched]
    edited = edited or not same_operands_in_any_order(*both, position)
    return parameters.CallContext(
        operands, lambda a, b: same_value(*both, ours[a], theirs[b]), slots, sites - edited, elements, returned
    )


def matched_calls(one: Instruction, other: Instruction) -> list[tuple[tuple[int, int], bool]]:
    """Which computations of two paired instructions correspond, by attribute and position; with "embedded" or not."""
    theirs = dict(other.calls)
    found = []
    for name, group in one.calls:
        embedded = is_embedded(one, name)
        found += [((a, b), embedded) for a, b in zip(group, theirs.get(name, ()), strict=False)]
    return found


_START = -1


def _alone(side: ProgramSide, other: Module, pairs: tuple[ComputationMatch, ...], which: int) -> dict[int, int]:
    """Computations behind unmatched calls, with the number of such calls."""
    # Calls without a counterpart, how often they are reached, and which callees have one, by attribute and position.
    left: list[tuple[Instruction, int, set[tuple[str, int]]]] = []
    for pair in pairs:
        if pair.pairing is None:
            continue
        theirs = other.computations[(pair.new, pair.old)[which]].instructions
        mapping = (pair.pairing.old, pair.pairing.new)[which]
        for position, it in side.module.computations[(pair.old, pair.new)[which]].calling:
            matched = mapping[position]
            others = {name: len(group) for name, group in theirs[matched].calls} if matched >= 0 else {}
            if any(len(group) > others.get(name, 0) for name, group in it.calls):
                met = {(name, n) for name, group in it.calls for n in range(min(len(group), others.get(name, 0)))}
                left.append((it, pair.count, met))
    if not left:
        return {}
    import networkx as nx

    # Matched computations, and everything called from those with an equal match.
    matched_ones = {(pair.old, pair.new)[which] for pair in pairs}
    equal = {(pair.old, pair.new)[which] for pair in pairs if pair.pairing is None}
    unopened = nx.restricted_view(side.calls, matched_ones - equal, [])
    paired = matched_ones.union(*nx.bfs_layers(unopened, equal))
    calls: nx.DiGraph[int] = nx.DiGraph()
    for it, count, met in left:
        _add_calls(calls, _START, it, count, paired, met)
    if not calls:
        return {}
    below = nx.bfs_layers(side.calls, calls.adj[_START])
    for caller in sorted(set[int]().union(*below)):
        for _, it in side.module.computations[caller].calling:
            _add_calls(calls, caller, it, 1, paired, set())
    reached = [callee for _, callee in nx.bfs_edges(calls, _START)]
    counts = {_START: 1}
    for callee in nx.topological_sort(calls):
        callers = [(caller, data) for caller, data in calls.pred[callee].items() if caller in counts]
        if callers:  # a function or reducer is added or removed once, however many call it
            once = any(data["embedded"] for _, data in callers)
            counts[callee] = sum(counts[caller] * data["times"] for caller, data in callers) + once
    return {callee: counts[callee] for callee in reached}


def _add_calls(
    graph: nx.DiGraph[int], caller: int, it: Instruction, count: int, paired: set[int], met: set[tuple[str, int]]
) -> None:
    """Add the callees of an instruction that its match does not call; a reducer still used elsewhere stays."""
    for name, group in it.calls:
        embedded = is_embedded(it, name)
        for number, callee in enumerate(group):
            if (name, number) in met or (embedded and callee in paired):
                continue
            if not graph.has_edge(caller, callee):
                graph.add_edge(caller, callee, times=0, embedded=False)
            edge = graph.edges[caller, callee]
            if embedded:
                edge["embedded"] = True
            else:
                edge["times"] += count


# --- How the operands of a call correspond to the parameters of its callee.

Pairs = Mapping[tuple[int, int], ComputationMatch]
_Slots = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Called:
    """A callee of a matched call, and the operands that its parameters name.

    Args:
        inner: None if it is equal on both sides, with its parameters in the same order.
        slots: see `operand_names`, for either side.
    """

    inner: ComputationMatch | None
    slots: tuple[_Slots, _Slots]

    def binds(self, call: Instruction) -> bool:
        """Whether parameters are names for operands, on both sides where there are any."""
        if any(slots and max(slots) < 0 for slots in self.slots):
            return False
        return any(self.slots) or call.opcode in BINDS

    def numbers(self) -> dict[int, int]:
        """New numbers of parameters by old ones."""
        if self.inner is None or self.inner.pairing is None:
            return {n: n for n in range(min(map(len, self.slots)))}
        olds, news = (side.parameters for side in _sides(self.inner))
        number = {p: n for n, p in enumerate(news)}
        mapping = self.inner.pairing.old
        return {n: number[mapping[p]] for n, p in enumerate(olds) if mapping[p] in number}

    def operands(self) -> dict[int, int]:
        """New operands by old ones, of parameters that are names for them."""
        ours, theirs = self.slots
        pairs = ((ours[n], theirs[m]) for n, m in self.numbers().items())
        return {a: b for a, b in pairs if a >= 0 and b >= 0}


def through(
    one: Instruction, other: Instruction, pairs: Pairs, modules: tuple[Module, Module]
) -> list[tuple[int, int]] | None:
    """Pairs of operand numbers of a call whose callee was opened; None if operands correspond by position.

    Args:
        one, other: a paired call.
        pairs: the pairs of computations.
        modules: both programs.
    """
    called = _called(one, other, pairs, modules)
    if not any(each.inner is not None and each.binds(one) for each in called):
        return None
    found: dict[int, int] = {}
    for each in called:
        for n, m in each.operands().items():
            found.setdefault(n, m)
    bound = [{slot for each in called for slot in each.slots[side]} for side in (0, 1)]
    own = [[n for n in range(len(it.operands)) if n not in bound[side]] for side, it in enumerate((one, other))]
    if len(own[0]) != len(own[1]):
        return None
    return sorted([*found.items(), *zip(*own, strict=True)])


def is_misbound(
    one: Instruction,
    other: Instruction,
    pairs: Pairs,
    modules: tuple[Module, Module],
    operands_through: Sequence[tuple[int, int]] | None,
) -> bool:
    """True if operands were added, removed or exchanged although the callee reads the same.

    An unread parameter concerns only the call; a loop's condition and body take the same operands; and the parameters
    of a reducer or a branch are identified by number.

    Args:
        one, other: a paired call.
        pairs: the pairs of computations.
        modules: both programs.
        operands_through: the result of `through` for the two; None if it is None, or nothing was opened.
    """
    bound = dict(operands_through or ())
    for each in _called(one, other, pairs, modules):
        if each.inner is None:
            continue
        operands = each.operands()
        if any(bound.get(n) != operands.get(n) for n in each.slots[0] if n >= 0):
            return True
        if each.binds(one) and _has_idle(each.inner):
            return True
        own = {n for slots in each.slots for n, slot in enumerate(slots) if slot < 0}
        if {n: m for n, m in each.numbers().items() if n in own or m in own} != {n: n for n in own}:
            return True
    return False


def returns_apart(one: Instruction, other: Instruction, pairs: Pairs, modules: tuple[Module, Module]) -> bool:
    """True if a loop of StableHLO returns its values in another order than it takes them.

    Its parameters are names for its operands, but each is also what the body returned in its place.

    Args:
        one, other: a paired loop whose elements are not renumbered.
        pairs: the pairs of computations.
        modules: both programs.
    """
    if modules[0].stage != "stablehlo" or one.opcode != "while" or other.opcode != "while":
        return False
    called = _called(one, other, pairs, modules)
    each = called[-1] if called else _Called(None, ((), ()))
    if each.inner is None or each.inner.pairing is None:
        return False
    (old, new), pairing = _sides(each.inner), each.inner.pairing
    if pairing.old[old.computation.root] != new.computation.root:
        return False
    ours, theirs = (side.operands[side.computation.root] for side in (old, new))
    returned: Elements | None = {n: n for n in range(len(ours))}
    if len(ours) != len(theirs):
        returned = of_tuple(old, new, pairing, old.computation.root, new.computation.root)
    numbers = each.numbers()
    return returned is not None and any(numbers[n] != m for n, m in returned.items() if n in numbers)


def _called(one: Instruction, other: Instruction, pairs: Pairs, modules: tuple[Module, Module]) -> list[_Called]:
    """The callees of a matched call, if any was opened."""
    calls = [key for key, _ in matched_calls(one, other)] if one.calls and other.calls else []
    opened = {key: inner for key in calls if (inner := pairs.get(key)) is not None and inner.pairing is not None}
    if not opened:
        return []
    ours, theirs = (operand_names(it, module) for it, module in zip((one, other), modules, strict=True))
    return [_Called(opened.get((a, b)), (ours[a], theirs[b])) for a, b in calls]


def _sides(inner: ComputationMatch) -> tuple[MatchGraph, MatchGraph]:
    assert inner.old_side and inner.new_side
    return inner.old_side, inner.new_side


def _has_idle(inner: ComputationMatch) -> bool:
    """Whether an unmatched parameter has no readers, on either side."""
    assert inner.pairing
    return any(
        mapping[p] < 0 and not side.uses[p] and p != side.computation.root
        for side, mapping in zip(_sides(inner), (inner.pairing.old, inner.pairing.new), strict=True)
        for p in side.parameters
    )


# --- Walking matches: instructions of matched computations, and pairs inside equal ones.


Mapped = tuple[ComputationMatch, Mapping[int, int]]
"""Two matched computations, and the new position of each matched old instruction."""


def every_mapping(old: ProgramSide, new: ProgramSide, pairs: Sequence[ComputationMatch]) -> list[Mapped]:
    """All pairs of computations, and those inside of equal ones: equal content corresponds along its canonical walk."""
    seen = {(pair.old, pair.new) for pair in pairs}
    worklist, found = list(pairs), list[Mapped]()
    for pair in worklist:
        if pair.pairing is not None:
            found.append((pair, {n: matched for n, matched in enumerate(pair.pairing.old) if matched >= 0}))
            continue
        mapping = dict(zip(old.contents[pair.old].order, new.contents[pair.new].order, strict=True))
        found.append((pair, mapping))
        calls = dict(old.module.computations[pair.old].calling)
        after = new.module.computations[pair.new].instructions
        for position, matched in mapping.items() if calls else ():
            for a, b in zip(calls[position].called, after[matched].called, strict=True) if position in calls else ():
                if (a, b) not in seen:
                    seen.add((a, b))
                    worklist.append(ComputationMatch(a, b, count=pair.count))
    return found


def paired_places(found: ProgramMatch) -> dict[Place, Place]:
    """Old to new places in all opened computations; the first match of a place counts."""
    mapping: dict[Place, Place] = {}
    for pair in found.pairs:
        for position, matched in enumerate(pair.pairing.old if pair.pairing else ()):
            if matched >= 0:
                mapping.setdefault((pair.old, position), (pair.new, matched))
    return mapping


def equal_callees(old: ProgramSide, new: ProgramSide, pairs: Iterable[tuple[Place, Place]]) -> set[tuple[int, int]]:
    """Equal computations, with their side (0 old, 1 new), that matched instructions call."""
    same: set[tuple[int, int]] = set()
    for a, b in pairs:
        for c, d in zip(at(old.module, a).called, at(new.module, b).called, strict=False):
            if old.hashes[c] == new.hashes[d]:
                same |= {(0, c), (1, d)}
    return same


def equal_below(old: ProgramSide, new: ProgramSide, pair: tuple[Place, Place]) -> Iterator[tuple[int, int, bool]]:
    """Computations of equal content below two calls, transitively, and whether they are embedded."""
    worklist = [(at(old.module, pair[0]), at(new.module, pair[1]), False)]
    seen: set[tuple[int, int]] = set()
    for one, other, inside in worklist:
        for (a, b), embedded in matched_calls(one, other):
            if (a, b) not in seen and old.hashes[a] == new.hashes[b]:
                seen.add((a, b))
                yield a, b, embedded or inside
                walks = zip(old.contents[a].order, new.contents[b].order, strict=True)
                pairs = ((at(old.module, (a, c)), at(new.module, (b, d))) for c, d in walks)
                worklist += [(*both, embedded or inside) for both in pairs if both[0].calls]
