"""What left one computation and came up in another is `moved`, not removed and added.

Evidence is what stands around an instruction when borders are transparent: a parameter of a fusion is the operand it is
called with, a fusion is the root of what it calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hlodiff.diff.edits import Place, RawEdit
from hlodiff.diff.fields import field_changes, in_order
from hlodiff.diff.limits import Limits
from hlodiff.diff.pairs import Correspondence, Program
from hlodiff.diff.result import FieldChange
from hlodiff.diff.walk import at, equal_callees, outside, paired_places
from hlodiff.diff.words import platform_of
from hlodiff.ir.content import is_commutative, shape_text
from hlodiff.ir.model import Instruction, Module

_BORDERS = frozenset(["parameter", "fusion", "call", "while", "conditional", "func.call", "return"])


@dataclass(frozen=True, slots=True)
class _Around:
    """One module seen without borders: resolved operands and users of every instruction."""

    operands: dict[Place, tuple[tuple[Place, int], ...]]
    users: dict[Place, tuple[tuple[Place, int], ...]]


def with_moves(
    before: Program, after: Program, found: Correspondence, edits: list[RawEdit], limits: Limits
) -> tuple[list[RawEdit], dict[str, int]]:
    """Replace removed and added instructions that are one and the same by a move.

    Args:
        before, after: the programs as they were paired.
        found: which computations correspond; within them nothing moves.
        edits: the single edits; their order is kept, a move stands where the removal stood.
        limits: how much may be tried; what it leaves unseen stays removed and added.

    Returns:
        the edits, and for each limit that was hit in how many computations.
    """
    old, new = before.module, after.module
    removed = {e.old: e for e in edits if e.kind == "removed" and e.old and _may_move(at(old, e.old))}
    added = {e.new: e for e in edits if e.kind == "added" and e.new and _may_move(at(new, e.new))}
    if not removed or not added:
        return edits, {}
    partners = paired_places(found)
    homes = {(pair.old, pair.new) for pair in found.pairs}
    groups, computations = _small(_groups(old, new, removed, added), homes, limits)
    hit = {"moves": computations}
    equal = [(pair.old, pair.new) for pair in found.pairs if pair.pairing is None]
    sides = (_around(old, {a for a, _ in equal}), _around(new, {b for _, b in equal}))
    moves: dict[Place, Place] = {}
    taken = set(partners.values())
    for done in range(limits.move_rounds + 1):  # a chain is followed from both ends, one neighbour a round
        fresh = [p for g in groups for p in _best(sides, g, partners, homes)]
        if done == limits.move_rounds and fresh:
            hit["move_rounds"] = _holders([([a for a, _ in fresh], [b for _, b in fresh])])
            break
        if not fresh:
            break
        for a, b in fresh:
            if a not in moves and b not in taken:
                moves[a] = partners[a] = b
                taken.add(b)
        groups = [([a for a in olds if a not in moves], [b for b in news if b not in taken]) for olds, news in groups]
    threads = ((old, threads_of(old)), (new, threads_of(new)))
    edits = outside(edits, equal_callees(before, after, moves.items()))
    platform = platform_of(new) or platform_of(old)
    return list(_replaced(threads, platform, edits, removed, added, moves)), hit


def _may_move(it: Instruction) -> bool:
    return it.opcode not in _BORDERS


_Group = tuple[list[Place], list[Place]]


def _groups(old: Module, new: Module, removed: dict[Place, RawEdit], added: dict[Place, RawEdit]) -> list[_Group]:
    """Removed and added instructions that are equal but for their layouts."""
    groups: dict[tuple[object, ...], _Group] = {}
    for module, places, which in ((old, removed, 0), (new, added, 1)):
        for place in places:
            it = at(module, place)
            key = (it.opcode, shape_text(it.shape, False), it.literal, len(it.operands), tuple(sorted(it.attributes)))
            groups.setdefault(key, ([], []))[which].append(place)
    return [(olds, news) for olds, news in groups.values() if olds and news]


def _small(groups: list[_Group], homes: set[tuple[int, int]], limits: Limits) -> tuple[list[_Group], int]:
    """Groups that may be looked at, and in how many computations the others are, where there was something to find."""
    small = [g for g in groups if len(g[0]) * len(g[1]) <= limits.moves]
    large = [g for g in groups if len(g[0]) * len(g[1]) > limits.moves]
    missed = [g for g in large if any((a, b) not in homes for a in _inside(g[0]) for b in _inside(g[1]))]
    return small, _holders(missed)


def _inside(places: Sequence[Place]) -> dict[int, None]:
    """The computations that hold the places."""
    return dict.fromkeys(computation for computation, _ in places)


def _holders(groups: Sequence[_Group]) -> int:
    """How many computations of both programs hold instructions of the groups."""
    return sum(len(_inside([place for group in groups for place in group[side]])) for side in (0, 1))


def _best(
    sides: tuple[_Around, _Around], group: _Group, partners: dict[Place, Place], homes: set[tuple[int, int]]
) -> Iterator[tuple[Place, Place]]:
    """Pairs of one group with a common neighbour, most in common first, each place once."""
    olds, news = group
    places = _by_neighbour(sides[1], news)
    scored = []
    for i, a in enumerate(olds):
        for j, score in _in_common(sides[0], a, partners, places).items():
            if (a[0], news[j][0]) not in homes:
                scored.append((-score, i + j, i, j))
    used_old: set[int] = set()
    used_new: set[int] = set()
    for _, _, i, j in sorted(scored):
        if i not in used_old and j not in used_new:
            used_old.add(i)
            used_new.add(j)
            yield olds[i], news[j]


def _by_neighbour(around: _Around, places: Sequence[Place]) -> dict[tuple[int, Place, int], list[int]]:
    """Which of the places have an operand, or a user, in a slot."""
    found: dict[tuple[int, Place, int], list[int]] = {}
    for n, place in enumerate(places):
        for kind, neighbours in enumerate((around.operands, around.users)):
            for neighbour, slot in dict.fromkeys(neighbours.get(place, ())):
                found.setdefault((kind, neighbour, slot), []).append(n)
    return found


def _in_common(
    around: _Around, a: Place, partners: Mapping[Place, Place], places: Mapping[tuple[int, Place, int], list[int]]
) -> Counter[int]:
    """With how many partners of its neighbours each of some places stands together."""
    scores: Counter[int] = Counter()
    for kind, neighbours in enumerate((around.operands, around.users)):
        for neighbour, slot in neighbours.get(a, ()):
            if neighbour in partners:
                scores.update(places.get((kind, partners[neighbour], slot), ()))
    return scores


def _around(module: Module, closed: Container[int]) -> _Around:
    """Neighbours of every instruction; what is equal on both sides was never opened and stands as one instruction."""
    sites = _single_sites(module, closed)
    operands: dict[Place, tuple[tuple[Place, int], ...]] = {}
    users: dict[Place, list[tuple[Place, int]]] = {}
    for index, computation in enumerate(module.computations):
        for position, it in enumerate(computation.instructions if index not in closed else ()):
            if it.opcode in _BORDERS:
                continue
            numbers: Sequence[int] = (0, 0) if is_commutative(it) else range(len(it.operands))
            results = it.results or (0,) * len(it.operands)
            resolved = [
                (_resolve(module, sites, (index, operand), result), number)
                for operand, number, result in zip(it.operands, numbers, results, strict=True)
            ]
            operands[index, position] = tuple(resolved)
            for place, slot in resolved:
                users.setdefault(place, []).append(((index, position), slot))
    return _Around(operands, {place: tuple(found) for place, found in users.items()})


def _single_sites(module: Module, closed: Container[int]) -> dict[int, Place | None]:
    """For each computation called as a step of the program from one place only, that place."""
    sites: dict[int, Place | None] = {}
    for index, computation in enumerate(module.computations):
        for position, it in enumerate(computation.instructions):
            for callee in it.called:
                fits = _is_step(it) and callee not in sites and callee not in closed
                sites[callee] = (index, position) if fits else None
    return sites


def _is_step(it: Instruction) -> bool:
    return it.opcode in ("fusion", "call", "func.call") or it.opcode.startswith(("custom-call", "async-start"))


def _resolve(module: Module, sites: dict[int, Place | None], place: Place, result: int = 0) -> Place:
    """Through borders to what a value really is, see `_behind`; `result` of an operation that has several."""
    for _ in range(1000):  # nesting is shallow in real programs; a hostile call cycle ends here
        behind = _behind(module, sites, place)
        if behind is None:
            return place
        place = behind
        it = at(module, place)
        if it.opcode == "return":  # of a StableHLO function
            if result >= len(it.operands):
                return place
            place, result = (place[0], it.operands[result]), it.results[result] if it.results else 0
    return place


def _behind(module: Module, sites: dict[int, Place | None], place: Place) -> Place | None:
    """A parameter is its caller's operand, a call the root of what it calls, an element what the tuple was made of."""
    it = at(module, place)
    site = sites.get(place[0])
    if it.opcode == "parameter" and site is not None:
        operands = at(module, site).operands
        number = int(it.literal or 0)
        return (site[0], operands[number]) if number < len(operands) else None
    if it.opcode in ("bitcast", "copy-done") or (it.opcode.endswith("-done") and it.operands):
        return place[0], it.operands[0]
    if it.opcode == "copy-start":
        return place[0], it.operands[0]
    if len(it.called) == 1 and _is_step(it) and sites.get(it.called[0]) is not None:
        return it.called[0], module.computations[it.called[0]].root
    if it.opcode == "get-tuple-element" and (it.attribute("index") or "").isdigit():
        source = _resolve(module, sites, (place[0], it.operands[0]))
        made = at(module, source)
        index = int(it.attribute("index") or 0)
        return (source[0], made.operands[index]) if made.opcode == "tuple" and index < len(made.operands) else None
    return None


_Side = tuple[Module, dict[int, str]]


def _replaced(
    sides: tuple[_Side, _Side],
    platform: str,
    edits: list[RawEdit],
    removed: dict[Place, RawEdit],
    added: dict[Place, RawEdit],
    moves: dict[Place, Place],
) -> Iterator[RawEdit]:
    taken = {b: removed[a].count for a, b in moves.items()}
    for edit in edits:
        if edit.kind == "removed" and edit.old in moves:
            target = moves[edit.old]
            yield _move(sides, platform, edit.old, target, min(edit.count, added[target].count))
            if edit.count > added[target].count:
                yield replace(edit, count=edit.count - added[target].count)
        elif edit.kind == "added" and edit.new in taken:
            if edit.count > taken[edit.new]:
                yield replace(edit, count=edit.count - taken[edit.new])
        else:
            yield edit


def _move(sides: tuple[_Side, _Side], platform: str, source: Place, target: Place, count: int) -> RawEdit:
    (old, ours), (new, theirs) = sides
    names = old.computations[source[0]].name, new.computations[target[0]].name
    changes = field_changes(at(old, source), at(new, target), platform)
    threads = ours.get(source[0], "device"), theirs.get(target[0], "device")
    if threads[0] != threads[1]:
        changes = in_order([*changes, FieldChange("compute_type", *threads)])
    return RawEdit("moved", source, target, [FieldChange("computation", *names), *changes], count, "moved")


def threads_of(module: Module) -> dict[int, str]:
    """Computations that do not run on the device's main thread, those called from them included, and where they run."""
    threads = {n: c.execution_thread for n, c in enumerate(module.computations) if c.execution_thread}
    for caller in list(threads):
        waiting = [caller]
        for index in waiting:
            fresh = [c for it in module.computations[index].instructions for c in it.called if c not in threads]
            threads.update(dict.fromkeys(fresh, threads[caller]))
            waiting += fresh
    return threads
