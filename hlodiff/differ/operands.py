"""Whether the operands of matched instructions changed, or something was only added or removed on the way to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hlodiff.differ.instruction_matches import InstructionMap, MatchGraph
from hlodiff.differ.result import FieldChange
from hlodiff.differ.subsequence import longest_common_subsequence
from hlodiff.hlo.fingerprint import shape_text
from hlodiff.hlo.model import Instruction, Module

Slot = tuple[int, int]
"""An operand: the instruction's index and which of its results."""
OrderFree = Callable[[Sequence[int]], bool]
"""Whether the callee computes the same with its operands in another order."""


def operands_changed(
    old: MatchGraph,
    new: MatchGraph,
    pairing: InstructionMap,
    position: int,
    through: Sequence[tuple[int, int]] | None,
    interchangeable: OrderFree | None,
) -> bool:
    """True where an operand was swapped or rewired.

    An operand that differs only because an instruction was inserted or removed between the two is no change.

    Args:
        old, new, pairing: two matched computations.
        position: a matched old instruction.
        through: for calls the pairs of parameter numbers of what they call, so that arguments may come, go and be
            permuted with the parameters; None pairs operands by position.
        interchangeable: whether the callee, equal on both sides, computes the same with its operands in another order;
            None if not.
    """
    matched = pairing.old[position]
    ours, theirs = old.operands[position], new.operands[matched]
    pairing.steps += len(ours) + len(theirs)
    if through is not None:
        pairs = [(ours[a], theirs[b]) for a, b in through if a < len(ours) and b < len(theirs)]
        return not all(same_value(old, new, pairing, a, b) for a, b in pairs)
    if len(ours) != len(theirs):
        # Only added or removed operands may be missing on either side.
        kept_old = [slot for slot in ours if pairing.old[slot[0]] >= 0 or old.names[slot[0]]]
        kept_new = [slot for slot in theirs if pairing.new[slot[0]] >= 0 or new.names[slot[0]]]
        if len(kept_old) != len(kept_new):
            return True
        return not all(same_value(old, new, pairing, a, b) for a, b in zip(kept_old, kept_new, strict=True))
    if _same_values(old, new, pairing, ours, theirs):
        return False
    if interchangeable is not None:
        order = _permutation(old, new, pairing, ours, theirs)
        if order is not None and interchangeable(order):
            return False
    if _is_commutative(old, position) and _is_commutative(new, matched):
        return not _same_values(old, new, pairing, ours, theirs[::-1])
    return True


def _same_values(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, ours: Sequence[Slot], theirs: Sequence[Slot]
) -> bool:
    for one, other in zip(ours, theirs, strict=True):
        if (pairing.old[one[0]] != other[0] or one[1] != other[1]) and not same_value(old, new, pairing, one, other):
            return False
    return True


def _is_commutative(side: MatchGraph, position: int) -> bool:
    """Whether both operands are in slot 0; see `MatchGraph.uses`."""
    slots = side.operand_edges[position]
    return len(slots) == 2 and slots[1][1] == 0


def same_operands_in_any_order(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, position: int) -> bool:
    """True if a matched call has the same operands in any order; arguments may be added or removed.

    Each operand of the side with fewer takes the first free one of the other side with the same value.
    """
    ours, theirs = old.operands[position], new.operands[pairing.old[position]]
    which = int(len(ours) > len(theirs))
    fewer, more = (theirs, ours) if which else (ours, theirs)
    there, back = (pairing.new, pairing.old) if which else (pairing.old, pairing.new)
    names = (new.names, old.names) if which else (old.names, new.names)
    sides = (old, new)
    below, above = pairing.reach(sides, which), pairing.reach(sides, 1 - which)
    pairing.steps += len(ours) + len(theirs)
    places: dict[Slot, list[int]] = {}
    unpaired: list[tuple[int, int]] = []  # by place, ascending, with what each reaches
    for n in range(len(more) - 1, -1, -1):
        if back[more[n][0]] >= 0:
            places.setdefault(more[n], []).append(n)
        else:
            unpaired.append((n, above.below(more[n][0])))
    unpaired.reverse()
    found = 0  # by any unmatched operand
    for _, bits in unpaired:
        found |= bits
    for one, result in fewer:
        matched = there[one]
        if matched >= 0:
            first = places.get((matched, result))
            before = first[-1] if first else len(more)
            free = _first_that_leads_to(matched, unpaired, before) if found >> matched & 1 else -1
        else:
            bits = below.below(one)
            first = min(
                (each for slot, each in places.items() if each and bits >> back[slot[0]] & 1), key=_last, default=None
            )
            named = names[0][one]
            free = next((k for k, (n, _) in enumerate(unpaired) if not (named and names[1][more[n][0]])), -1)
            pairing.steps += len(places)
        if first and (free < 0 or first[-1] < unpaired[free][0]):
            first.pop()
        elif free >= 0:
            del unpaired[free]
        else:
            return False
    return True


def _first_that_leads_to(matched: int, unpaired: Sequence[tuple[int, int]], before: int) -> int:
    """The first unmatched operand, by place, that reaches an instruction; -1 if none before a place does."""
    for number, (place, bits) in enumerate(unpaired):
        if place > before:
            return -1
        if bits >> matched & 1:
            return number
    return -1


def _last(places: Sequence[int]) -> int:
    return places[-1]


def _permutation(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, ours: Sequence[Slot], theirs: Sequence[Slot]
) -> list[int] | None:
    """For each old operand its position in the new instruction; None if the operands differ."""
    free = list(range(len(theirs)))
    order = []
    for slot in ours:
        at = next((n for n, place in enumerate(free) if same_value(old, new, pairing, slot, theirs[place])), None)
        pairing.steps += len(free) if at is None else at + 1
        if at is None:
            return None
        order.append(free.pop(at))
    return order


def same_value(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, ours: Slot, theirs: Slot) -> bool:
    """True if two operands match, or only unmatched instructions are between them."""
    (a, a_result), (b, b_result) = ours, theirs
    matched, back = pairing.old[a], pairing.new[b]
    if matched == b:
        return a_result == b_result
    if matched >= 0:
        return back < 0 and bool(pairing.reach((old, new), 1).below(b) >> matched & 1)
    if back >= 0:
        return bool(pairing.reach((old, new), 0).below(a) >> back & 1)
    # One was removed and another added: both have their own edits, unless they name a caller's operands.
    return not (old.names[a] and new.names[b])


def keeps_operands(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, position: int) -> bool:
    """True if all operands of a matched instruction are kept, except those added or removed by an edit."""
    ours = old.computation.instructions[position].reads
    theirs = new.computation.instructions[pairing.old[position]].reads
    kept = [slot for slot in ours if pairing.old[slot[0]] >= 0], [slot for slot in theirs if pairing.new[slot[0]] >= 0]
    return len(kept[0]) == len(kept[1]) and all(same_value(old, new, pairing, a, b) for a, b in zip(*kept, strict=True))


def root_changed(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> int | None:
    """The matched old instruction that is now returned or no longer returned; None if the root is unchanged."""
    before, after = old.computation.root, new.computation.root
    if same_value(old, new, pairing, (before, 0), (after, 0)):
        return None
    return pairing.new[after] if pairing.new[after] >= 0 else before


# --- Loop-carried tuple elements: one more or less shifts the numbers of all others, which is not an edit.
#
# The initial elements of the loop identify them: the surviving ones, in order. They have the same numbers in the loop's
# result, in the parameters of body and condition, and in the body's root; likewise if the loop is in a computation of
# its own that is called with the tuple.
#
# If equal values were added or removed among them, the longest common subsequence decides, weighted by how the loop
# uses an element.

Elements = Mapping[int, int]
"""New numbers of a tuple's elements by old ones, without added and removed elements."""
_ELEMENT = "get-tuple-element"
_INDEX = "attribute:index"
CARRIERS = frozenset(["while", "call"])
"""Opcodes that may pass on the tuple they are given."""


@dataclass(frozen=True, slots=True)
class CarriedElement:
    """The context of two computations.

    Args:
        modules: the modules that contain them, for the loop bodies.
        down: for each side, each instruction with everything that it is computed from.
    """

    modules: tuple[Module, Module]
    down: tuple[Sequence[bytes], Sequence[bytes]]


def carried_elements(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, held: CarriedElement, given: Elements | None = None
) -> dict[int, Elements]:
    """For each matched loop, by old position, the matches of its elements if their numbers changed.

    Args:
        old, new, pairing: two computations.
        held: their context.
        given: the elements of the only parameter, if their numbers changed.
    """
    found: dict[int, Elements] = {}
    known = dict.fromkeys(old.parameters[:1], given) if given is not None else {}
    for position in old.order:
        it, matched = old.computation.instructions[position], pairing.old[position]
        if it.opcode not in CARRIERS or matched < 0:
            continue
        other = new.computation.instructions[matched]
        if other.opcode != it.opcode or not (_hands_on(old, it) and _hands_on(new, other)):
            continue
        one, two = it.operands[0], other.operands[0]
        elements = known.get(one) if pairing.old[one] == two else None
        if elements is None and len(it.shape.tuple_shapes) != len(other.shape.tuple_shapes):
            elements = of_tuple(old, new, pairing, one, two)
            if elements is None:
                elements = _in_order(old, new, pairing, held, (position, matched))
        if elements is not None:
            found[position] = known[position] = elements
    return found


def _hands_on(side: MatchGraph, it: Instruction) -> bool:
    """Whether an instruction takes one tuple and yields one with the same elements."""
    return len(it.operands) == 1 and (
        it.opcode == "while" or it.shape == side.computation.instructions[it.operands[0]].shape
    )


def of_tuple(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, one: int, other: int) -> Elements | None:
    """Matches of the elements of two matched tuples if operands were added and removed with edits of their own.

    The kept operands are the same elements. None if they are not tuples, or have other values.
    """
    ours, theirs = old.computation.instructions[one], new.computation.instructions[other]
    if ours.opcode != "tuple" or theirs.opcode != "tuple" or pairing.old[one] != other:
        return None
    if not keeps_operands(old, new, pairing, one):
        return None
    before = [n for n, operand in enumerate(ours.operands) if pairing.old[operand] >= 0]
    after = [n for n, operand in enumerate(theirs.operands) if pairing.new[operand] >= 0]
    return dict(zip(before, after, strict=True))


_MOST = 100


def _in_order(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, held: CarriedElement, loop: tuple[int, int]
) -> Elements | None:
    """Matches of elements if existing values are now carried as well.

    The longest common subsequence of the operands, with equal ones interchangeable; among several the one in which the
    loops use elements most like before. None if compiled loops do not begin with matched tuples.
    """
    one, other = old.computation.instructions[loop[0]], new.computation.instructions[loop[1]]
    before, after = one, other  # in StableHLO a loop takes each element as an operand of its own
    if len(one.operands) == len(other.operands) == 1:
        before, after = old.computation.instructions[one.operands[0]], new.computation.instructions[other.operands[0]]
        if before.opcode != "tuple" or after.opcode != "tuple" or pairing.old[one.operands[0]] != other.operands[0]:
            return None
    # The matches of its equals, for one left unmatched among them.
    became = {held.down[0][a]: held.down[1][b] for a in before.operands if (b := pairing.old[a]) >= 0}
    ours = [
        held.down[1][pairing.old[a]] if pairing.old[a] >= 0 else became.get(held.down[0][a], b"")
        for a in before.operands
    ]
    theirs = [held.down[1][operand] for operand in after.operands]
    # Similarity of elements, by number: how a loop uses them.
    inner_uses: list[dict[int, Counter[object]]] = []

    def alike(a: int, b: int) -> int:
        if not inner_uses:
            inner_uses.extend(_inner_uses(module, it) for module, it in zip(held.modules, (one, other), strict=True))
        ours, theirs = inner_uses[0].get(a, Counter()), inner_uses[1].get(b, Counter())
        return min((ours & theirs).total(), _MOST)

    return dict(longest_common_subsequence(ours, theirs, alike))


def match_indistinguishable(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, held: CarriedElement) -> None:
    """Match equal initial values of a loop by element, replacing earlier matches.

    A loop may begin with ten arrays of zeros. Slots alone would match them off by one if another was added in front.
    """
    for position, matched in enumerate(pairing.old):
        it = old.computation.instructions[position]
        if it.opcode not in CARRIERS or matched < 0 or not it.operands:
            continue
        other = new.computation.instructions[matched]
        if other.opcode != it.opcode or len(it.shape.tuple_shapes) == len(other.shape.tuple_shapes):
            continue
        one, two = position, matched
        if len(it.operands) == len(other.operands) == 1:
            one, two = it.operands[0], other.operands[0]
            if pairing.old[one] != two or of_tuple(old, new, pairing, one, two) is not None:
                continue
        elif it.opcode != "while":
            continue
        ours, theirs = old.operand_edges[one], new.operand_edges[two]
        elements = _in_order(old, new, pairing, held, (position, matched)) or {}
        wanted = {ours[a][0]: theirs[b][0] for a, b in elements.items()}
        for a, b in [*wanted.items()]:  # and what they are computed from: a broadcast and its constant
            while len(old.operand_edges[a]) == len(new.operand_edges[b]) == 1:
                a, b = old.operand_edges[a][0][0], new.operand_edges[b][0][0]
                if pairing.old[a] < 0 or held.down[1][pairing.old[a]] != held.down[1][b]:
                    break
                wanted.setdefault(a, b)
        _exchange(old, new, pairing, held, wanted)


def _exchange(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, held: CarriedElement, wanted: Mapping[int, int]
) -> None:
    """Give old instructions the wanted matches, if all instructions that change theirs are equal."""
    moves = {a: b for a, b in wanted.items() if pairing.old[a] != b and len(old.uses[a]) == len(new.uses[b]) == 1}
    while True:  # no instruction loses its match
        olds, news = {*moves, -1}, {*moves.values(), -1}
        kept = {a: b for a, b in moves.items() if pairing.old[a] in news and pairing.new[b] in olds}
        if len(kept) == len(moves):
            break
        moves = kept
    holders = {a: pairing.new[b] for a, b in moves.items() if pairing.new[b] >= 0}
    if any(held.down[0][a] != held.down[0][other] for a, other in holders.items()):
        return
    for a in moves:
        if pairing.old[a] >= 0:
            pairing.remove(a)
    for a, b in moves.items():
        pairing.add(a, b, "tuple:element")


def _inner_uses(module: Module, it: Instruction) -> dict[int, Counter[object]]:
    """For each element its readers in the callee, and what is returned in its place."""
    inner_uses: dict[int, Counter[object]] = {}
    for rank, callee in enumerate(it.called):
        owner = module.computations[callee]
        root = owner.instructions[owner.root]
        if root.opcode == "while":
            for number, inner in _inner_uses(module, root).items():
                inner_uses.setdefault(number, Counter()).update(inner)
        # The instructions that take each element, with opcode, type and slot.
        for taker in owner.instructions:
            for slot, operand in enumerate(taker.operands if taker.opcode != "tuple" else ()):
                if (taken := _carried(owner.instructions[operand])) is not None:
                    role = rank, taker.opcode, shape_text(taker.shape, False), slot
                    inner_uses.setdefault(taken, Counter())[role] += 1
        is_body = root.opcode == "tuple" or (root.opcode == "return" and len(root.operands) == len(owner.parameters()))
        for number, operand in enumerate(root.operands if is_body else ()):
            returned = owner.instructions[operand]
            what = returned.opcode, shape_text(returned.shape, False), _carried(returned) == number
            inner_uses.setdefault(number, Counter())["returned", *what] += 1
    return inner_uses


def _carried(it: Instruction) -> int | None:
    """The number of the element that an instruction in a loop takes: of the only parameter, or as a parameter."""
    return it.number if it.opcode == "parameter" and not it.shape.tuple_shapes else element_of(it)


def match_elements(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, source: int, elements: Elements) -> None:
    """Match get-tuple-elements of a tuple by element, replacing earlier matches.

    Args:
        old, new, pairing: two computations.
        source: the old position of the matched tuple.
        elements: its elements.
    """
    ours, theirs = _element_users(old, source), _element_users(new, pairing.old[source])
    for number, positions in ours.items():
        for one, other in zip(positions, theirs.get(elements.get(number, -1), ()), strict=False):
            if pairing.old[one] != other:
                if pairing.old[one] >= 0:
                    pairing.remove(one)
                if pairing.new[other] >= 0:
                    pairing.remove(pairing.new[other])
                pairing.add(one, other, "tuple:element")


def _element_users(side: MatchGraph, source: int) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for user, _, _ in side.uses[source]:
        number = element_of(side.computation.instructions[user])
        if number is not None:
            found.setdefault(number, []).append(user)
    return found


def are_all_known(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, source: int, elements: Elements) -> bool:
    """Whether all matched get-tuple-elements of a tuple take one of these elements, on both sides."""
    back = {after: before for before, after in elements.items()}
    sides = (old, new, source, pairing.old, elements), (new, old, pairing.old[source], pairing.new, back)
    for side, others, tuple_, mapping, known in sides:
        for number, positions in _element_users(side, tuple_).items():
            for matched in (mapping[one] for one in positions):
                theirs = element_of(others.computation.instructions[matched]) if matched >= 0 else None
                if theirs is not None and (number not in known or theirs not in known.values()):
                    return False
    return True


def element_of(it: Instruction) -> int | None:
    """The number of the element that a get-tuple-element takes; None for other instructions."""
    text = it.attribute("index") if it.opcode == _ELEMENT else None
    return int(text) if text is not None and text.isdigit() else None


def with_elements(
    changes: list[FieldChange], one: Instruction, other: Instruction, elements: Elements
) -> list[FieldChange]:
    """Changes of two matched get-tuple-elements, without a changed number of the same element.

    Args:
        changes: the changes by number.
        one, other: a get-tuple-element and its match.
        elements: of the tuple.
    """
    kept = [change for change in changes if change.field != _INDEX]
    before, after = element_of(one), element_of(other)
    if before is None or after is None:
        return changes
    if elements.get(before) == after:
        return kept
    return [*kept, FieldChange(_INDEX, str(before), str(after))]
