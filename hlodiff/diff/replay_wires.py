"""May an edit say what its steps say? An operand changes with what came or went on the way to it, nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hlodiff.diff.rebuilt import ROOT, Rebuilt
from hlodiff.diff.script import Added, Arrived, Removed, Step, Wire


def check_wires(made: Rebuilt, steps: Sequence[Step], others: Sequence[Rebuilt]) -> Iterator[str]:
    """Where a step rewires a survivor though it does not stand between what that read and what it reads.

    Args:
        made: the replayed computation.
        steps: its steps.
        others: all replayed computations, by pair.

    Yields:
        one sentence for each such operand.
    """
    if made.old is None or made.pair.new < 0:
        return
    for step in steps:
        if isinstance(step, Removed):
            for wire in step.wires:
                if not _goes(made, step, wire):
                    yield f"{_user(made, wire)} reads something else than what was left by {made.name(step.old)}"
        elif isinstance(step, Added | Arrived):
            for wire in step.wires:
                if not _comes(made, step, wire):
                    yield f"{_user(made, wire)} reads what came elsewhere than on the way to what it read before"
    yield from _check_parameters(made, others)
    yield from _check_arguments(made, others)


def _user(made: Rebuilt, wire: Wire) -> str:
    return "the result" if wire.user == ROOT else made.name(made.nodes[wire.user].old)


def _before(made: Rebuilt, wire: Wire) -> int:
    """The old instruction that was read there, -1 for an operand that came."""
    assert made.old is not None
    if wire.user == ROOT:
        return made.old.root
    return -1 if wire.slot is None else made.old.instructions[made.nodes[wire.user].old].operands[wire.slot]


def _goes(made: Rebuilt, step: Removed, wire: Wire) -> bool:
    """It was read, and what is read now stood below it."""
    if _before(made, wire) != step.old:
        return False
    if wire.reads is None:
        return True
    node = made.nodes.get(wire.reads[0])
    if node is None:
        return False
    return node.old < 0 or node.old in _below_old(made, step.old)


def _comes(made: Rebuilt, step: Added | Arrived, wire: Wire) -> bool:
    """It is read, and what was read before stands below it or is gone."""
    if wire.reads is None or wire.reads[0] != step.new:
        return False
    before = _before(made, wire)
    if before < 0:
        return True
    partner = made.pair.partners[before]
    return partner < 0 or partner in _below_new(made, step.new)


def _below_old(made: Rebuilt, start: int) -> set[int]:
    """What survives below an old instruction, reached through what does not."""
    assert made.old is not None
    seen = {start}
    waiting = [start]
    for place in waiting:
        fresh = [o for o in made.old.instructions[place].operands if o not in seen]
        seen.update(fresh)
        waiting += [o for o in dict.fromkeys(fresh) if made.pair.partners[o] < 0]
    return seen - {start}


def _below_new(made: Rebuilt, start: int) -> set[int]:
    """What was there before below an instruction that came, reached through what came."""
    seen = {start}
    waiting = [start]
    for place in waiting:
        node = made.nodes.get(place)
        fresh = [value[0] for value in (node.operands if node else ()) if value and value[0] not in seen]
        seen.update(fresh)
        waiting += [o for o in dict.fromkeys(fresh) if o in made.nodes and made.nodes[o].old < 0]
    return seen - {start}


def _check_parameters(made: Rebuilt, others: Sequence[Rebuilt]) -> Iterator[str]:
    """Parameters come with a reader and go with their readers; an operand that nothing reads is an edit of its own."""
    assert made.old is not None
    if _is_called_anew(made, others):
        return
    read = {value[0] for node in made.nodes.values() for value in node.operands if value} | {made.root}
    for place, it in made.pair.came:
        if place not in read:
            yield f"parameter %{it.name} of %{made.old.name} came and nothing reads it, and no edit says so"
    was_read = {o for it in made.old.instructions for o in it.operands} | {made.old.root}
    for place in made.pair.went:
        if place not in was_read:
            yield f"{made.name(place)}, which nothing read, went, and no edit says so"


def _is_called_anew(made: Rebuilt, others: Sequence[Rebuilt]) -> bool:
    """Whether a caller is said to have other operands: then parameters may come and go without being read."""
    if not made.pair.came and not made.pair.went:
        return False
    rewired = (node for one in others for node in one.nodes.values() if node.is_rewired)
    return any(made.index in refs for node in rewired for _, refs in node.calls)


def _check_arguments(made: Rebuilt, others: Sequence[Rebuilt]) -> Iterator[str]:
    """Operands come and go with parameters only."""
    calls = {place: [ref for _, refs in node.calls for ref in refs] for place, node in made.nodes.items()}
    for wire in made.pair.arguments:
        if not any(_is_bound(others[ref], wire) for ref in calls.get(wire.user, ())):
            yield f"{_user(made, wire)} has other operands without other parameters, and no edit says so"


def _is_bound(inner: Rebuilt, wire: Wire) -> bool:
    """The operand that came or went is that of a parameter that came or went."""
    if inner.old is None or inner.pair.new < 0:
        return False
    if wire.reads is None:
        return any(inner.old.instructions[p].literal == str(wire.slot) for p in inner.pair.went)
    came: Iterable[str | None] = (it.literal for _, it in inner.pair.came)
    return str(wire.place) in came
