"""What must be read of a pruned pair after all: an edit is in a shared copy or touches a call that needs pruned ones.

Pruning explains why that is enough. The pair is compared again with these parts read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from hlodiff.differ.computation_matches import at, matched_calls
from hlodiff.differ.edits import RawEdit
from hlodiff.differ.kept_matches import BodyMatch
from hlodiff.differ.prepare import CONDITIONALS, ORDER
from hlodiff.differ.prune import PLACEHOLDER, PrunedPair, is_pruned
from hlodiff.hlo.grammar import Span, called_names
from hlodiff.hlo.model import Module, is_embedded
from hlodiff.hlo.traversal import preorder


def expand(
    pruned: PrunedPair, edits: Iterable[RawEdit], apart: Iterable[RawEdit], matches: BodyMatch
) -> PrunedPair | None:
    """The pair with more of it opened; itself if nothing must be opened, None if everything must.

    A callee must be opened if a call was added, removed or has different operands: reordered operands are no edit if
    the callee is operand-symmetric. So must the callees of users of an edited instruction: an operand-symmetric callee
    may take a different operand in its place. An added or removed reducer still exists if unchanged computations call
    it, so all of these are needed to decide. And if a call was added or removed, which one it was depends on all
    computations with equal content, in any order of parameters.

    Args:
        pruned: what was compared.
        edits: single edits, with places in its modules.
        apart: edits of the other channels.
        matches: which computations and instructions correspond.
    """
    edits = list(edits)
    # A conditional with reordered branches has reordered operands too, equal ones included.
    exchanges_branches = any(change.field == f"attribute:{ORDER}" for edit in edits for change in edit.changes)
    if any(_must_expand_everywhere(pruned, side, edits) for side in (0, 1)) or exchanges_branches:
        return None
    keys: set[int] = set()
    indistinguishable = _Indistinguishable(pruned, 0), _Indistinguishable(pruned, 1)
    users = _Users(pruned.sides[0].module), _Users(pruned.sides[1].module)
    for edit in edits:
        for side, place in enumerate((edit.old, edit.new)):
            if place is None:
                continue
            module = pruned.sides[side].module
            it = at(module, place)
            if it.opcode == PLACEHOLDER and it.attributes:
                return None  # a placeholder in a call skeleton: not equal after all
            if it.opcode == PLACEHOLDER or (it.calls and _is_about_calls(edit)):
                keys |= set(_with_pruned(pruned, side, (place[0],) if it.opcode == PLACEHOLDER else it.called))
            if _is_about_calls(edit):
                keys.update(
                    key for called in users[side].called_with(place) for key in _with_pruned(pruned, side, called)
                )
            if it.calls and edit.kind != "changed":
                keys.update(indistinguishable[side].of(it.called))
    is_in_skeleton = any(
        place is not None and place[0] in pruned.sides[side].lines
        for edit in (*edits, *apart)
        for side, place in enumerate((edit.old, edit.new))
    )
    if pruned.ignores_counts and (keys or is_in_skeleton):
        # Calls that a skeleton omits may determine which copies are edited.
        copies = None if any(one.lines for one in pruned.sides) else _edited_copies(pruned, [*edits, *apart], matches)
        return pruned.wider(keys, copies or ())
    copies = _edited_copies(pruned, [*edits, *apart], matches)
    if copies is None:
        return None
    return pruned.wider(keys, copies) if keys or copies else pruned


def _edited_copies(pruned: PrunedPair, edits: Iterable[RawEdit], matches: BodyMatch) -> set[tuple[int, str]] | None:
    """Sides and names of copies that must not be shared, because an edit is in one or depends on which one it is.

    None if that cannot be decided.
    """
    # Shared computations that hold an edit, are called by added or removed calls, or have several matches.
    touched: tuple[set[int], set[int]] = (set(), set())
    for edit in edits:
        for side, place in enumerate((edit.old, edit.new)):
            if place is not None:
                called = at(pruned.sides[side].module, place).called if edit.kind != "changed" else ()
                touched[side].update(n for n in (place[0], *called) if n in pruned.sides[side].shared)
    mapping: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for key in matches.counts:
        for side, here in enumerate(key):
            if here in pruned.sides[side].shared and (
                key in matches.opened or mapping[side].setdefault(here, key[1 - side]) != key[1 - side]
            ):
                touched[side].add(here)
    if not any(touched):
        return set()
    found: set[tuple[int, int]] = set()
    for key in matches.counts:
        if any(here in pruned.sides[side].shared for side, here in enumerate(key)):
            continue  # it is read on its own first
        for side, here, callee, is_alone in _told_apart(pruned, key, matches.opened.get(key)):
            if here in touched[side]:  # added and removed computations come with all their callees
                found.update((side, n) for n in (pruned.shared_below(side, callee) if is_alone else (callee,)))
    return {(side, pruned.name(side, callee)) for side, callee in found} or None


def _told_apart(
    pruned: PrunedPair, key: tuple[int, int], mapping: Sequence[int] | None
) -> Iterator[tuple[int, int, int, bool]]:
    """Callees of a matched pair whose calls lead to different computations or are unmatched.

    Yields the side, the callee's index here and in the whole program, and whether the call is unmatched.
    """
    bodies = [pruned.sides[side].read[n].instructions if n >= 0 else () for side, n in enumerate(key)]
    alone = [[it for it in its if it.calls] for its in bodies]
    if mapping is None and key[0] >= 0 and key[1] >= 0:
        return  # equal: its instructions were not matched
    if mapping is not None:
        kept = [(n, matched) for n, matched in enumerate(mapping) if matched >= 0]
        calls = [(bodies[0][n], bodies[1][matched]) for n, matched in kept if bodies[0][n].calls]
        alone[0] = [it for n, it in enumerate(bodies[0]) if it.calls and mapping[n] < 0]
        there = {matched for _, matched in kept}
        alone[1] = [it for n, it in enumerate(bodies[1]) if it.calls and n not in there]
        for one, other in calls:
            pairs = [pair for pair, _ in matched_calls(one, other)]
            if one.opcode in CONDITIONALS or len(pairs) != len(one.called) or len(pairs) != len(other.called):
                alone[0].append(one)  # branches may have been reordered
                alone[1].append(other)
                continue
            for pair in pairs:
                here = pruned.sides[0].positions[pair[0]], pruned.sides[1].positions[pair[1]]
                if not all(n in pruned.sides[side].shared for side, n in enumerate(here)) or (
                    pruned.key(0, pair[0]) != pruned.key(1, pair[1])
                ):
                    yield from ((side, here[side], pair[side], False) for side in (0, 1))
    for side in (0, 1):
        for it in alone[side]:
            yield from ((side, pruned.sides[side].positions[callee], callee, True) for callee in it.called)


def _is_about_calls(edit: RawEdit) -> bool:
    return edit.kind != "changed" or any(change.field == "operands" for change in edit.changes)


def _with_pruned(pruned: PrunedPair, side: int, called: Iterable[int]) -> Iterator[int]:
    """Keys of the pruned computations that these stand for."""
    computations = pruned.sides[side].module.computations
    for index in preorder(called, lambda n: [c for it in computations[n].instructions for c in it.called]):
        if is_pruned(computations[index]):
            key = pruned.fingerprints[side].keys[computations[index].name]
            assert key is not None  # only computations with a key were pruned
            yield key


class _Users:
    """Users of the instructions of a module; computed once for each computation."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._found: dict[int, Sequence[Sequence[int]]] = {}

    def called_with(self, place: tuple[int, int]) -> Iterator[tuple[int, ...]]:
        """Callees of fusions that have an instruction and another of the same shape as operands."""
        owner = self._module.computations[place[0]]
        if place[0] not in self._found:
            self._found[place[0]] = owner.users()
        it = owner.instructions[place[1]]
        for position in self._found[place[0]][place[1]]:
            user = owner.instructions[position]
            if user.opcode == "fusion" and any(
                operand != place[1] and owner.instructions[operand].shape == it.shape for operand in user.operands
            ):
                yield user.called


class _Indistinguishable:
    """Computations pruned from one side of a pair although something with equal content is present."""

    def __init__(self, pruned: PrunedPair, side: int) -> None:
        self._pruned, self._side = pruned, side
        self._spans: list[Span | None] = []
        self._placeholders: list[tuple[int, Span]] = []

    def of(self, called: Iterable[int]) -> Iterator[int]:
        """Keys of pruned ones with the same opcodes and shapes as one of these computations."""
        module, fingerprint = self._pruned.sides[self._side].module, self._pruned.fingerprints[self._side]
        if not self._spans:
            self._spans = [fingerprint.spans.get(computation.name) for computation in module.computations]
            numbered = enumerate(self._spans)
            self._placeholders = [(n, span) for n, span in numbered if span and is_pruned(module.computations[n])]
        for index in called:
            ours = self._spans[index]
            if ours is None or is_pruned(module.computations[index]):
                continue
            for n, theirs in self._placeholders:
                if theirs.lines == ours.lines and self._held(n) == self._held(index):
                    key = fingerprint.keys[theirs.name]
                    assert key is not None  # only computations with a key were pruned
                    yield key

    def _held(self, index: int) -> Counter[object]:
        return Counter((it.opcode, it.shape) for it in self._pruned.body(self._side, index).instructions)


def _must_expand_everywhere(pruned: PrunedPair, side: int, edits: Iterable[RawEdit]) -> bool:
    """Whether an edit adds or removes something in an applied computation that pruned computations apply too."""
    places = ((edit.old, edit.new)[side] for edit in edits if edit.kind != "changed")
    module, fingerprint = pruned.sides[side].module, pruned.fingerprints[side]
    touched = {place[0] for place in places if place is not None}
    if not touched:
        return False
    calls = ((it, name, to) for c in module.computations for it in c.instructions for name, to in it.calls)
    applied = {index for it, name, to in calls if is_embedded(it, name) for index in to}
    names = {module.computations[index].name for index in touched & applied}
    if not names:
        return False
    left_out = (span for span in fingerprint.program.spans if fingerprint.keys[span.name] in pruned.pruned_keys)
    return any(not names.isdisjoint(called_names(span.body_of(fingerprint.program.text))) for span in left_out)
