"""What left one computation and came up in another is `moved`, not removed and added.

Evidence is what stands around an instruction when borders are transparent: a parameter of a fusion is the operand it is
called with, a fusion is the root of what it calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from hlodiff.diff.edits import Place, RawEdit
from hlodiff.diff.fields import in_order, told_changes
from hlodiff.diff.limits import Limits
from hlodiff.diff.pairs import Correspondence, Program
from hlodiff.diff.result import FieldChange
from hlodiff.diff.transparent import BORDERS, Around, around
from hlodiff.diff.walk import at, equal_below, paired_places
from hlodiff.diff.words import platform_of
from hlodiff.ir.content import shape_text
from hlodiff.ir.model import Instruction, Module


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
    homes = {(pair.old, pair.new) for pair in found.pairs}
    groups, computations = _small(_groups((before, after), removed, added), homes, limits)
    equal = [(pair.old, pair.new) for pair in found.pairs if pair.pairing is None]
    sides = (around(old, {a for a, _ in equal}), around(new, {b for _, b in equal}))
    known = paired_places(found)
    moves: dict[Place, Place] = {}
    while True:  # a fusion moves with all that is in it, which then is known too
        more, left = _followed(sides, groups, known, homes, limits.move_rounds)
        calls = {a: b for a, b in more.items() if at(old, a).opcode == "fusion"}
        moves |= calls or more
        if not calls:
            break
        known |= calls | dict(_inner_pairs(before, after, calls))
    threads = ((old, threads_of(old)), (new, threads_of(new)))
    edits = list(_without(edits, _carried(before, after, moves, removed, added)))
    platform = platform_of(new) or platform_of(old)
    hit = {"moves": computations, "move_rounds": left}
    return list(_replaced(threads, platform, edits, removed, added, moves)), hit


def _may_move(it: Instruction) -> bool:
    return it.opcode == "fusion" or it.opcode not in BORDERS


def _followed(
    sides: tuple[Around, Around],
    groups: list[_Group],
    known: Mapping[Place, Place],
    homes: set[tuple[int, int]],
    rounds: int,
) -> tuple[dict[Place, Place], int]:
    """What moved, and how many computations hold more of it where the rounds did not suffice.

    A chain is followed from both ends, one neighbour a round.
    """
    partners = dict(known)
    taken = set(partners.values())
    for done in range(rounds + 1):
        groups = [([a for a in old if a not in partners], [b for b in new if b not in taken]) for old, new in groups]
        fresh = [p for g in groups for p in _best(sides, g, partners, homes)]
        if done == rounds or not fresh:
            break
        for a, b in fresh:
            if a not in partners and b not in taken:
                partners[a] = b
                taken.add(b)
    left = _holders([([a for a, _ in fresh], [b for _, b in fresh])]) if fresh else 0
    return {a: b for a, b in partners.items() if a not in known}, left


def _inner_pairs(old: Program, new: Program, calls: Mapping[Place, Place]) -> Iterator[tuple[Place, Place]]:
    """Instructions inside of what moved."""
    for pair in calls.items():
        for a, b, _ in equal_below(old, new, pair):
            for c, d in zip(old.contents[a].order, new.contents[b].order, strict=True):
                yield (a, c), (b, d)


_ALL = 10**15
"""Of what is applied to elements: it came or went once, and moved along with any of those that apply it."""


def _carried(
    old: Program,
    new: Program,
    moves: Mapping[Place, Place],
    removed: Mapping[Place, RawEdit],
    added: Mapping[Place, RawEdit],
) -> Counter[tuple[int, int]]:
    """Computations, with their side (0 old, 1 new), that moved along with their calls, and how often."""
    carried: Counter[tuple[int, int]] = Counter()
    for one, other in moves.items():
        count = min(removed[one].count, added[other].count)
        for a, b, embedded in equal_below(old, new, (one, other)):
            carried[0, a] += _ALL if embedded else count
            carried[1, b] += _ALL if embedded else count
    return carried


def _without(edits: Iterable[RawEdit], carried: Mapping[tuple[int, int], int]) -> Iterator[RawEdit]:
    for edit in edits:
        count = max(carried[which, place[0]] for which, place in enumerate((edit.old, edit.new)) if place)
        if edit.count > count:
            yield replace(edit, count=edit.count - count) if count else edit


_Group = tuple[list[Place], list[Place]]


def _groups(programs: tuple[Program, Program], removed: Iterable[Place], added: Iterable[Place]) -> list[_Group]:
    """Removed and added instructions that are equal but for their layouts; fusions only with all that is in them."""
    groups: dict[tuple[object, ...], _Group] = {}
    for program, places, which in ((programs[0], removed, 0), (programs[1], added, 1)):
        for place in places:
            it = at(program.module, place)
            inside = tuple(program.hashes[callee] for callee in it.called) if it.opcode == "fusion" else ()
            what = (it.opcode, shape_text(it.shape, False), it.literal, inside)
            key = (*what, len(it.operands), tuple(sorted(it.attributes)))
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
    sides: tuple[Around, Around], group: _Group, partners: dict[Place, Place], homes: set[tuple[int, int]]
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


def _by_neighbour(around: Around, places: Sequence[Place]) -> dict[tuple[int, Place, int], list[int]]:
    """Which of the places have an operand, or a user, in a slot."""
    found: dict[tuple[int, Place, int], list[int]] = {}
    for n, place in enumerate(places):
        for kind, neighbours in enumerate((around.operands, around.users)):
            for neighbour, slot in dict.fromkeys(neighbours.get(place, ())):
                found.setdefault((kind, neighbour, slot), []).append(n)
    return found


def _in_common(
    around: Around, a: Place, partners: Mapping[Place, Place], places: Mapping[tuple[int, Place, int], list[int]]
) -> dict[int, int]:
    """With how many partners of its neighbours each of some places stands together."""
    scores: dict[int, int] = {}
    for kind, neighbours in enumerate((around.operands, around.users)):
        for neighbour, slot in neighbours.get(a, ()):
            if neighbour in partners:
                for n in places.get((kind, partners[neighbour], slot), ()):
                    scores[n] = scores.get(n, 0) + 1
    return scores


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
    changes = told_changes(at(old, source), at(new, target), platform)
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
