"""An instruction that left one computation and appears in another is `moved`, not removed and added.

The evidence is its neighbourhood with transparent borders: a parameter of a fusion is the operand it is called with, a
fusion is the root of its callee. GumTree finds moves as equal subtrees with other parents; here a
neighbourhood takes the place of the subtree.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hlodiff.differ.computation_matches import ProgramMatch, ProgramSide, equal_below, paired_places
from hlodiff.differ.edits import RawEdit
from hlodiff.differ.fields import in_order, reported_changes
from hlodiff.differ.limits import Limits
from hlodiff.differ.metrics import BOOKKEEPING
from hlodiff.differ.placement import compute_place
from hlodiff.differ.result import Edit, FieldChange, ModuleDiff
from hlodiff.graph import BORDERS, WITH_CONTENTS, InlinedView, inlined_view
from hlodiff.hlo.model import Instruction, Module, Place, at


def with_moves(
    before: ProgramSide, after: ProgramSide, found: ProgramMatch, edits: list[RawEdit], limits: Limits
) -> tuple[list[RawEdit], ProgramMatch, dict[str, int]]:
    """Replace removed and added instructions that are the same by a move.

    Args:
        before, after: the programs as they were paired.
        found: which computations correspond; within them nothing moves.
        edits: the single edits; their order is kept, a move takes the place of the removal.
        limits: how much work is allowed; moves not found stay removed and added.

    Returns:
        the edits; the matches, with the remaining unmatched calls; and for each limit that was hit the number of
        computations.
    """
    old, new = before.module, after.module
    old_places = (edit.old for edit in edits if edit.kind == "removed" and edit.old)
    new_places = (edit.new for edit in edits if edit.kind == "added" and edit.new)
    removed = dict.fromkeys(place for place in old_places if _may_move(at(old, place)))
    added = dict.fromkeys(place for place in new_places if _may_move(at(new, place)))
    if not removed or not added:
        return edits, found, {}
    homes = {(pair.old, pair.new) for pair in found.pairs}
    # Groups with possible moves within the limit, and the number of computations of the other groups.
    across = [
        g
        for g in _groups((before, after), removed, added)
        if any((a, b) not in homes for a in _inside(g[0]) for b in _inside(g[1]))
    ]
    small = [g for g in across if len(g[0]) * len(g[1]) <= limits.moves]
    large = [g for g in across if len(g[0]) * len(g[1]) > limits.moves]
    groups, computations = small, _holders(large)
    if not groups:
        return edits, found, {"moves": computations}
    equal = [(pair.old, pair.new) for pair in found.pairs if pair.pairing is None]
    asked = [{place for group in groups for place in group[side]} for side in (0, 1)]
    sides = (inlined_view(old, {a for a, _ in equal}, asked[0]), inlined_view(new, {b for _, b in equal}, asked[1]))
    known = paired_places(found)
    moves: dict[Place, Place] = {}
    while True:  # a fusion or a loop moves with its contents, which are then known too
        more, left = _followed(sides, groups, known, homes, limits.move_rounds)
        calls = {a: b for a, b in more.items() if at(old, a).opcode in WITH_CONTENTS}
        moves |= calls or more
        if not calls:
            break
        known |= calls
        for a, b, _ in [inner for pair in calls.items() for inner in equal_below(before, after, pair)]:
            orders = zip(before.contents[a].order, after.contents[b].order, strict=True)
            known |= {(a, c): (b, d) for c, d in orders}
    threads = ((old, threads_of(before)), (new, threads_of(after)))
    # The count of each move. A computation may be matched with several others: all edits of a place add up.
    gone, came = Counter[Place | None](), Counter[Place | None]()
    for edit in edits:
        gone[edit.old] += edit.count if edit.kind == "removed" else 0
        came[edit.new] += edit.count if edit.kind == "added" else 0
    counts = {a: min(gone[a], came[b]) for a, b in moves.items()}
    along = _moved_along(before, after, moves, counts)
    edits = list(_without(edits, along))
    # How many unmatched calls lead to a computation; unchanged if all moved, since it then has no edit.
    removed_calls, added_calls = (
        {n: count - moved if (moved := along[which, n]) < count else count for n, count in calls.items()}
        for which, calls in enumerate((found.removed, found.added))
    )
    found = replace(found, removed=removed_calls, added=added_calls)
    hit = {"moves": computations, "move_rounds": left}
    return list(_replaced(threads, lambda: after.platform or before.platform, edits, moves, counts)), found, hit


def _may_move(it: Instruction) -> bool:
    return it.opcode in WITH_CONTENTS or it.opcode not in BORDERS


def _followed(
    sides: tuple[InlinedView, InlinedView],
    groups: list[_Group],
    known: Mapping[Place, Place],
    homes: set[tuple[int, int]],
    rounds: int,
) -> tuple[dict[Place, Place], int]:
    """The moves, and how many computations have more of them if the rounds did not suffice.

    A chain is followed from both ends, one neighbour per round.
    """
    mapping = dict(known)
    taken = set(mapping.values())
    for done in range(rounds + 1):
        groups = [([a for a in old if a not in mapping], [b for b in new if b not in taken]) for old, new in groups]
        fresh = [p for g in groups for p in _best(sides, g, mapping, homes)]
        if done == rounds or not fresh:
            break
        for a, b in fresh:
            if a not in mapping and b not in taken:
                mapping[a] = b
                taken.add(b)
    left = _holders([([a for a, _ in fresh], [b for _, b in fresh])]) if fresh else 0
    return {a: b for a, b in mapping.items() if a not in known}, left


_ALL = 10**15
"""The count of a computation applied to elements: added or removed once, and moved with any applying instruction."""


def _moved_along(
    old: ProgramSide,
    new: ProgramSide,
    moves: Mapping[Place, Place],
    counts: Mapping[Place, int],
) -> Counter[tuple[int, int]]:
    """Computations, with their side (0 old, 1 new), that moved along with their calls, and how often."""
    moved_along: Counter[tuple[int, int]] = Counter()
    for one, other in moves.items():
        count = counts[one]
        for a, b, embedded in equal_below(old, new, (one, other)):
            moved_along[0, a] += _ALL if embedded else count
            moved_along[1, b] += _ALL if embedded else count
    return moved_along


def _without(edits: Iterable[RawEdit], moved_along: Mapping[tuple[int, int], int]) -> Iterator[RawEdit]:
    for edit in edits:
        if edit.pair is not None:  # a matched call leads there, and no moved one
            yield edit
            continue
        count = min(moved_along[which, place[0]] for which, place in enumerate((edit.old, edit.new)) if place)
        if edit.count > count:
            yield replace(edit, count=edit.count - count) if count else edit


_Group = tuple[list[Place], list[Place]]


def _groups(
    programs: tuple[ProgramSide, ProgramSide], removed: Iterable[Place], added: Iterable[Place]
) -> list[_Group]:
    """Removed and added instructions that are equal but for layouts; fusions and loops with all of their contents."""
    groups: dict[tuple[object, ...], _Group] = {}
    for program, places, which in ((programs[0], removed, 0), (programs[1], added, 1)):
        for place in places:
            it = at(program.module, place)
            inside = tuple(program.hashes[callee] for callee in it.called) if it.opcode in WITH_CONTENTS else ()
            what = (it.opcode, it.shape.bare.text, it.literal, inside)
            key = (*what, len(it.operands), tuple(sorted(it.attributes)))
            groups.setdefault(key, ([], []))[which].append(place)
    return [(olds, news) for olds, news in groups.values() if olds and news]


def _inside(places: Sequence[Place]) -> dict[int, None]:
    return dict.fromkeys(computation for computation, _ in places)


def _holders(groups: Sequence[_Group]) -> int:
    """How many computations of both programs have instructions of the groups."""
    return sum(len(_inside([place for group in groups for place in group[side]])) for side in (0, 1))


def _best(
    sides: tuple[InlinedView, InlinedView], group: _Group, mapping: dict[Place, Place], homes: set[tuple[int, int]]
) -> Iterator[tuple[Place, Place]]:
    """Pairs of one group with a common neighbour, the most common neighbours first, each place once."""
    olds, news = group
    # The new places by neighbour: operand or user, and slot.
    places: dict[tuple[int, Place, int], list[int]] = {}
    for n, place in enumerate(news):
        for kind, neighbours in enumerate((sides[1].operands, sides[1].users)):
            for neighbour, slot in dict.fromkeys(neighbours.get(place, ())):
                places.setdefault((kind, neighbour, slot), []).append(n)
    scored = []
    for i, a in enumerate(olds):
        for j, score in _in_common(sides[0], a, mapping, places).items():
            if (a[0], news[j][0]) not in homes:
                scored.append((-score, i + j, i, j))
    used_old: set[int] = set()
    used_new: set[int] = set()
    for _, _, i, j in sorted(scored):
        if i not in used_old and j not in used_new:
            used_old.add(i)
            used_new.add(j)
            yield olds[i], news[j]


def _in_common(
    around: InlinedView, a: Place, mapping: Mapping[Place, Place], places: Mapping[tuple[int, Place, int], list[int]]
) -> dict[int, int]:
    """For each of some places the number of its neighbours that match neighbours of `a`."""
    scores: dict[int, int] = {}
    for kind, neighbours in enumerate((around.operands, around.users)):
        for neighbour, slot in neighbours.get(a, ()):
            if neighbour in mapping:
                for n in places.get((kind, mapping[neighbour], slot), ()):
                    scores[n] = scores.get(n, 0) + 1
    return scores


_Side = tuple[Module, dict[int, str]]


def _replaced(
    sides: tuple[_Side, _Side],
    platform: Callable[[], str],
    edits: Iterable[RawEdit],
    moves: Mapping[Place, Place],
    counts: Mapping[Place, int],
) -> Iterator[RawEdit]:
    removed, added = dict(counts), {new: counts[old] for old, new in moves.items()}
    for edit in edits:
        left, place = (removed, edit.old) if edit.kind == "removed" else (added, edit.new)
        if edit.kind not in ("removed", "added") or place is None or place not in left:
            yield edit
            continue
        if edit.kind == "removed" and left[place] == counts[place] > 0:  # a move takes the place of the first removal
            (old, ours), (new, theirs) = sides
            target = moves[place]
            names = old.computations[place[0]].name, new.computations[target[0]].name
            changes = reported_changes(at(old, place), at(new, target), platform)
            threads = ours.get(place[0], "device"), theirs.get(target[0], "device")
            if threads[0] != threads[1]:
                changes = in_order([*changes, FieldChange("compute_type", *threads)])
            changes = [FieldChange("computation", *names), *changes]
            yield RawEdit("moved", place, target, changes, counts[place], "moved")
        count = min(edit.count, left[place])
        left[place] -= count
        if edit.count > count:
            yield replace(edit, count=edit.count - count)


def threads_of(side: ProgramSide) -> dict[int, str]:
    """Computations that do not run on the device's main thread, including their callees, with their thread."""
    threads = {n: c.execution_thread for n, c in enumerate(side.module.computations) if c.execution_thread}
    if not threads:
        return {}
    import networkx as nx

    inherited = side.calls.copy()  # without calls of computations that name their own thread
    inherited.remove_edges_from([*side.calls.in_edges(threads)])
    for caller, thread in list(threads.items()):
        for callee in nx.descendants(inherited, caller):
            threads.setdefault(callee, thread)
    return threads


@dataclass(frozen=True, slots=True)
class Relocation:
    """An operation removed in one place and added in another: "host", "device" or an XLA thread."""

    removed: Edit
    added: Edit
    old: str
    new: str

    @property
    def count(self) -> int:
        """How many such operations there are on both sides."""
        return min(self.removed.count, self.added.count)


def relocations(diff: ModuleDiff) -> tuple[Relocation, ...]:
    """Pairs of a removed and an added operation of one opcode and type that run in different places.

    Args:
        diff: two programs.

    Returns:
        in the order of the edits, each edit in at most one pair.

    Example:
        >>> relocations(ModuleDiff(Module("m", "stablehlo", (), 0), Module("m", "stablehlo", (), 0)))
        ()
    """
    # By opcode and type, then by place: the first one at any other place is taken.
    candidates: dict[tuple[str, str], dict[str, deque[tuple[int, Edit]]]] = {}
    for number, (edit, kind, place) in enumerate(_whole(diff, "added")):
        candidates.setdefault(kind, {}).setdefault(place, deque()).append((number, edit))
    found = []
    for edit, kind, place in _whole(diff, "removed"):
        elsewhere = [(left[0][0], there) for there, left in candidates.get(kind, {}).items() if left and there != place]
        if elsewhere:
            _, there = min(elsewhere)
            found.append(Relocation(edit, candidates[kind][there].popleft()[1], place, there))
    return tuple(found)


def _whole(diff: ModuleDiff, kind: str) -> Iterator[tuple[Edit, tuple[str, str], str]]:
    """Operations that were added or removed, with opcode and type, and where they run."""
    for edit in diff.reported:
        site = edit.new if kind == "added" else edit.old
        if edit.kind != kind or site is None or site.computation < 0 or site.opcode in BOOKKEEPING:
            continue
        computation = (diff.new if kind == "added" else diff.old).computations[site.computation]
        it = computation.instructions[site.instruction]
        yield edit, (it.opcode, it.shape.bare.text), compute_place(computation, it)
