"""Matches the parameters of two computations.

A parameter's number alone is weak evidence: an argument added in front shifts all others. Callers are stronger evidence
(whose operand it is). An argument of the program with the same number, type and users is the same, whatever its JAX
name; otherwise names decide, and then the number if both sides have equally many.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from hlodiff.differ.elements import match_elements
from hlodiff.differ.instruction_matches import (
    OWN,
    STRUCTURE,
    VALUE,
    Elements,
    InstructionMap,
    MatchGraph,
    op_name_of,
)
from hlodiff.hlo.model import Shape

Slots = tuple[Sequence[int], Sequence[int]]
"""For the callee on either side, the operand that each parameter names; -1 if its number has a meaning."""
Operands = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""For a matched call: old operands, new operands, and the match of every old instruction of the caller."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """How a pair of computations was reached, which determines what their parameters are.

    Args:
        operands: of the matched call.
        same: whether an old and a new operand, by number, are the same value.
        slots: the operand that each parameter names; a reducer's name none, nor does the index of a branch.
        unedited: how many calls of it have no edit yet.
        elements: for a loop, the matches of loop-carried elements whose numbers changed.
        returned: the same for what it returns.
    """

    operands: Operands
    same: Callable[[int, int], bool]
    slots: Slots
    unedited: int
    elements: Elements | None = None
    returned: Elements | None = None

    @property
    def numbers(self) -> Elements | None:
        """In StableHLO, the new numbers of a loop's own parameters by old ones; None if nothing is known of them."""
        return self.elements if self.elements is not None and len(self.slots[0]) != 1 else None


def pair_first(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, call: CallContext | None) -> None:
    """Match parameters before anything else: by the caller's operands, by argument name, or by number."""
    olds, news = old.parameters, new.parameters
    if call:
        for number, other in (call.numbers or {}).items():
            if number < len(olds) and other < len(news):
                pairing.add(olds[number], news[other], "parameter:element")
        places: dict[int, list[int]] = {}
        for parameter, slot in zip(news, call.slots[1], strict=True):
            if slot >= 0 and pairing.new[parameter] < 0:
                places.setdefault(call.operands[1][slot], []).append(parameter)
        for parameter, slot in zip(olds, call.slots[0], strict=True):
            is_free = slot >= 0 and pairing.old[parameter] < 0
            free = places.get(call.operands[2][call.operands[0][slot]]) if is_free else None
            if free:
                pairing.add(parameter, free.pop(0), "parameter:caller")
        if call.elements is not None and len(olds) == 1 and pairing.old[olds[0]] >= 0:
            match_elements(old, new, pairing, olds[0], call.elements)
        olds, news = (
            tuple([p for p, slot in zip(*some, strict=True) if slot < 0])
            for some in zip((olds, news), call.slots, strict=True)
        )
        if len(olds) == len(news):
            for one, other in zip(olds, news, strict=True):
                pairing.add(one, other, "parameter:number")
            return
    if call is None and len(olds) == len(news):
        _by_place(old, new, pairing, olds, news)
    named = [_names(side, positions) for side, positions in ((old, olds), (new, news))]
    for name, positions in named[0].items():
        others = named[1].get(name, ())
        if len(positions) == 1 and len(others) == 1 and pairing.old[positions[0]] < 0 and pairing.new[others[0]] < 0:
            pairing.add(positions[0], others[0], "parameter:name")
    if len(olds) == len(news):
        _by_number(old, new, pairing, olds, news)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the callers imply about parameters.

    Args:
        fits: whether a match of two parameters agrees with the callers; if not, it takes an edit.
        edits: how many edits that takes, however many do not fit: each call has one list of operands. None if each
            parameter has an edit of its own.
    """

    fits: Callable[[int, int], bool]
    edits: int | None


def expectation(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, call: CallContext | None) -> Expectation:
    """What is known about the parameters of two computations before looking inside.

    Args:
        old, new: the two computations.
        pairing: their matches; `pair_first` has been at them.
        call: how they were reached; None for the entries.
    """
    olds, news = old.parameters, new.parameters
    before, after = ({p: n for n, p in enumerate(positions)} for positions in (olds, news))
    edits = None if call is None else call.unedited
    if call and (numbers := call.numbers):
        back = {b: a for a, b in numbers.items()}
        return Expectation(
            lambda one, other: (
                numbers[before[one]] == after[other]
                if before[one] in numbers
                else after[other] not in back and _is_same_operand(call, before[one], after[other])
            ),
            edits,
        )
    if call and max((*call.slots[0], *call.slots[1]), default=-1) >= 0:
        return Expectation(lambda one, other: _is_same_operand(call, before[one], after[other]), edits)
    if len(olds) == len(news):
        # An argument has its number, unless its name was found at another one.
        due = dict(zip(olds, news, strict=True))
        named = {p: pairing.old[p] for p in olds if pairing.matchers.get(p) == "parameter:name"} if call is None else {}
        taken = set(named.values())
        due = {p: named.get(p, -1 if due[p] in taken else due[p]) for p in olds}
        return Expectation(lambda one, other: due[one] == other, edits)
    if call is None:
        of_old, of_new = _same_names(old, new)
        return Expectation(lambda one, other: of_old.get(one, other) == other and of_new.get(other, one) == one, edits)
    return Expectation(lambda one, other: True, edits)


def _is_same_operand(call: CallContext, one: int, other: int) -> bool:
    slots = call.slots[0][one], call.slots[1][other]
    if min(slots) < 0:
        return max(slots) < 0 and one == other
    return call.same(*slots)


def pair_rest(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, *, entry: bool) -> None:
    """Match the parameters left over by uses and names, equal ones in order.

    Arguments of the entry are matched even if different, provided the counts agree; others come and go with calls.
    """
    ours, theirs = old.parameters, new.parameters
    for level in (OWN, VALUE, STRUCTURE) if entry else (OWN, VALUE):
        olds = [p for p in ours if pairing.old[p] < 0]
        news = [p for p in theirs if pairing.new[p] < 0]
        if not olds or not news:
            return
        if level == STRUCTURE and len(olds) != len(news):
            return
        groups: dict[int, list[int]] = {}
        for position in news:
            groups.setdefault(new.labels[level][position], []).append(position)
        for position in olds:
            group = groups.get(old.labels[level][position])
            if group:
                pairing.add(position, group.pop(0), "parameter:order")


def pair_unchanged(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> None:
    """Match program arguments of equal type and equal name or number that the search has separated.

    If most of their users differ, removing and adding one may be the shorter script, but no argument was added or
    removed. If arguments were added or removed, matching another one of the same type and uses may be shorter too.
    """
    olds, news = old.parameters, new.parameters
    matched = _same_names(old, new)[0]
    if len(olds) != len(news):
        for one, other in matched.items():
            if pairing.old[one] != other:
                for position in {one, pairing.new[other]} - {-1}:
                    if pairing.old[position] >= 0:
                        pairing.remove(position)
    for one, other in matched.items():
        if pairing.old[one] < 0 and pairing.new[other] < 0:
            pairing.add(one, other, "parameter:name")
    if len(olds) == len(news):
        _by_number(old, new, pairing, olds, news)


def _same_names(old: MatchGraph, new: MatchGraph) -> tuple[dict[int, int], dict[int, int]]:
    """Arguments of one name and type, donated or not and sharded in any way: the new one of each old one, and back."""
    ours, theirs = (
        {name: group[0] for name, group in _names(side, side.parameters).items() if len(group) == 1}
        for side in (old, new)
    )
    both = {ours[name]: theirs[name] for name in ours if name in theirs}
    matched = {one: other for one, other in both.items() if _shape(old, one) == _shape(new, other)}
    return matched, {other: one for one, other in matched.items()}


def _shape(side: MatchGraph, position: int) -> Shape:
    return side.computation.instructions[position].shape


# Users and their users: further down most arguments look the same, and any edit there would change it.
_FAR = 2
_FARTHEST = 8


def _by_place(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, olds: Sequence[int], news: Sequence[int]
) -> None:
    """Match by number the parameters with the same uses: operations, operand slots, and uses of the results.

    A model and its moments in an optimizer are used alike. So where arguments have other numbers than before, by their
    names, the names decide if more arguments keep their uses by name than by number. Two gains of one layer differ only
    further down, so what decides is the nearest use that differs. Donated arguments and results may have changed their
    order together, so there the output and the slot say nothing.
    """
    numbers: dict[Hashable, int] = {}
    known: dict[tuple[int, int, int, bool], int] = {}
    parameters = set(olds), set(news)

    def used(which: int, position: int, far: int, ordered: bool) -> int:
        key = which, position, far, ordered
        if key not in known:
            side = (old, new)[which]
            root = side.computation.root
            uses = [
                (used(which, user, far - 1, ordered), slot if ordered or user != root else -1, result)
                for user, slot, result in side.uses[position]
                if far
            ]
            level = OWN if ordered or position not in parameters[which] else VALUE
            label = side.labels[level][position], position == root
            known[key] = numbers.setdefault((label, *sorted(uses)), len(numbers))
        return known[key]

    def alike(pairs: Iterable[tuple[int, int]], far: int = _FAR, ordered: bool = True) -> list[tuple[int, int]]:
        return [
            (one, other)
            for one, other in pairs
            if old.uses[one] and used(0, one, far, ordered) == used(1, other, far, ordered)
        ]

    by_number, by_name = list(zip(olds, news, strict=True)), _same_names(old, new)[0]
    placed = alike(by_number)
    if any(by_name.get(one, other) != other for one, other in placed):
        for far in range(_FAR, _FARTHEST):
            kept, named = (len(alike(pairs, far, ordered=False)) for pairs in (by_number, by_name.items()))
            if named > kept:
                return
            if named < kept:
                break
    for one, other in placed:
        pairing.add(one, other, "parameter:place")


def _names(side: MatchGraph, positions: Sequence[int]) -> dict[str, list[int]]:
    names: dict[str, list[int]] = {}
    for position in positions:
        if name := op_name_of(side, position):
            names.setdefault(name, []).append(position)
    return names


def _by_number(
    old: MatchGraph,
    new: MatchGraph,
    pairing: InstructionMap,
    olds: Sequence[int],
    news: Sequence[int],
) -> None:
    for one, other in zip(olds, news, strict=True):
        free = pairing.old[one] < 0 and pairing.new[other] < 0
        if free and old.labels[OWN][one] == new.labels[OWN][other]:
            names = op_name_of(old, one), op_name_of(new, other)
            if names[0] == names[1] or not all(names):  # different names on both sides are evidence against it
                pairing.add(one, other, "parameter:number")


_BY_NUMBER = ("parameter:number", "parameter:place")


def exchange(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> None:
    """Detect two parameters that swapped their numbers and their places in the text, with users untouched.

    subtract(p0, p1) of exchanged parameters is the same graph as an exchanged subtract(p1, p0). If the text also has
    the parameters in the other order, by their names, and the exchange explains every user, the parameters changed.
    That is two edits: without names, order alone proves nothing, and one changed user is the better list.
    """
    parameters = [p for p in old.parameters if pairing.matchers.get(p) in _BY_NUMBER]
    touched = {p: sorted({u for u, _, _ in old.uses[p]}) for p in parameters}
    suspects = [p for p in parameters if any(_disagrees(old, new, pairing, u) for u in touched[p])]
    for index, one in enumerate(suspects):
        for two in suspects[index + 1 :]:
            if old.labels[OWN][one] == old.labels[OWN][two] and _explained(old, new, pairing, one, two, touched):
                first, second = pairing.old[one], pairing.old[two]
                pairing.remove(one)
                pairing.remove(two)
                pairing.add(one, second, "parameter:exchange")
                pairing.add(two, first, "parameter:exchange")


def _disagrees(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, user: int) -> bool:
    matched = pairing.old[user]
    if matched < 0 or len(old.operand_edges[user]) != len(new.operand_edges[matched]):
        return False
    return any(
        pairing.old[o] != n
        for (o, *_), (n, *_) in zip(old.operand_edges[user], new.operand_edges[matched], strict=True)
    )


def _explained(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, one: int, two: int, touched: dict[int, list[int]]
) -> bool:
    first, second = pairing.old[one], pairing.old[two]
    if (one < two) == (first < second):  # the text has them in the same order: the users changed
        return False
    if not (_has_its_name(old, new, one, second) and _has_its_name(old, new, two, first)):
        return False
    mapping = {one: second, two: first}
    for user in {*touched[one], *touched[two]}:
        matched = pairing.old[user]
        if matched < 0 or len(old.operand_edges[user]) != len(new.operand_edges[matched]):
            return False
        for (o, *_), (n, *_) in zip(old.operand_edges[user], new.operand_edges[matched], strict=True):
            if mapping.get(o, pairing.old[o]) != n:
                return False
    return True


def _has_its_name(old: MatchGraph, new: MatchGraph, one: int, other: int) -> bool:
    """Whether two parameters share a name in the text that is not just a number."""
    names = old.computation.instructions[one].name, new.computation.instructions[other].name
    return names[0] == names[1] and names[0].rstrip("0123456789._-") not in ("parameter", "param", "Arg", "arg", "")
