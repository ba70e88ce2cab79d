"""Finds loops of one program version that are unrolled copies, or operations on all turns at once, in the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from hlodiff.differ.program_analysis import turning
from hlodiff.differ.repeats import COUNTING, FrameTree, Repeat, computed, copies_of, labels_of, own_line
from hlodiff.hlo.model import CALLS, Computation, Frame, Module
from hlodiff.hlo.traversal import multiplicities

_SHARED = 0.75  # gradients of a scan and of its copies differ in a few operations: 0.88 is the least observed
_MOST_FUNCTIONS = 20


@dataclass(frozen=True, slots=True)
class Unrolling:
    """Copies in one program that are a loop in another.

    Args:
        loop: the line of the loop.
        copies: of its body.
    """

    loop: FrameTree
    copies: Repeat


@dataclass(frozen=True, slots=True)
class _LoopBody:
    where: FrameTree
    turns: int
    body: Mapping[bytes, int]

    @property
    def content(self) -> tuple[int, frozenset[tuple[bytes, int]]]:
        return self.turns, frozenset(self.body.items())


def unrolling(looped: Module, unrolled: Module) -> Unrolling | None:
    """The loop of one program that the other one holds as copies of its body.

    Args:
        looped: the program with the loop.
        unrolled: the program with the copies.

    Returns:
        the loop and its copies: one per iteration, chained, computing the same as its body, from the same Python
        function or file, and not in the looped program too; None if no loop has such copies.
    """
    if looped.stage != "stablehlo" or unrolled.stage != "stablehlo":
        return None
    before, after = labels_of(looped), labels_of(unrolled)
    loops, left = list(_loops(looped, before)), list(_loops(unrolled, after))
    kept = Counter(loop.content for loop in left)
    fewer = Counter(loop.turns for loop in loops) - Counter(loop.turns for loop in left)
    removed: dict[tuple[FrameTree, int], Counter[bytes]] = {}
    for loop in loops:
        if kept[loop.content]:
            kept[loop.content] -= 1
        elif fewer[loop.turns]:  # forward and backward loop of one line are one Python loop
            removed.setdefault((loop.where, loop.turns), Counter()).update(loop.body)
    more = _held(unrolled, after) - _held(looped, before) if removed else Counter[bytes]()
    for (where, turns), body in removed.items():
        if not any(more[label] >= turns - 1 for label in body):  # copies of what was there once
            continue
        # Iterations of a Python loop come from the same lines; copies written out by hand do not.
        for function, by_line in product(_functions(where, unrolled), (True, False)):
            own = [
                one
                for one in _copies(unrolled, after, where.file, function, by_line)
                if one.copies == turns and _shared(one.computed, body) >= _SHARED
            ]
            known = (
                [dict(one.computed) for one in _copies(looped, before, where.file, function, by_line)] if own else []
            )
            fresh = [one for one in own if dict(one.computed) not in known]
            if fresh:
                return Unrolling(where, fresh[0])
    return None


@dataclass(frozen=True, slots=True)
class PartialUnrolling:
    """The loops of a line with fewer iterations that do more each, or the reverse.

    Args:
        loop: the line.
        turns: their trip counts, old and new.
        copies: how many copies of the shorter body an iteration does, old and new: one of them is 1.
        loops: how many loops of that line both programs have: two where one is differentiated.
    """

    loop: FrameTree
    turns: tuple[int, int]
    copies: tuple[int, int]
    loops: int


def partial_unrolling(old: Module, new: Module) -> PartialUnrolling | None:
    """The first line with loops whose iteration does several of the other program's, as `scan(..., unroll=3)` does.

    Args:
        old, new: programs; only StableHLO is looked at.

    Returns:
        a line whose loops have one known trip count on each side and the same total work; otherwise None.
    """
    if old.stage != "stablehlo" or new.stage != "stablehlo":
        return None
    sides: list[dict[FrameTree, tuple[Counter[int], Counter[bytes]]]] = []
    for module in (old, new):
        found: dict[FrameTree, tuple[Counter[int], Counter[bytes]]] = {}
        for loop in _loops(module, labels_of(module)):
            turns, body = found.setdefault(loop.where, (Counter(), Counter()))
            turns[loop.turns] += 1
            body.update(loop.body)
        sides.append(found)
    for where, (turns, body) in sides[0].items():
        others, larger = sides[1].get(where, (Counter[int](), Counter[bytes]()))
        if len(turns) != 1 or len(others) != 1 or turns.keys() == others.keys():
            continue
        before, after = next(iter(turns)), next(iter(others))
        times = max(before, after) // max(1, min(before, after))
        one, several = (body, larger) if before > after else (larger, body)
        if times * min(before, after) != max(before, after) or times < 2:
            continue
        if _shared({label: times * count for label, count in one.items()}, several) >= _SHARED:
            loops = min(turns.total(), others.total())
            return PartialUnrolling(where, (before, after), (1, times) if before > after else (times, 1), loops)
    return None


@dataclass(frozen=True, slots=True)
class Batching:
    """A loop of one program whose turns, which need nothing of each other, are done at once in the other.

    Args:
        loop: its line.
        turns: its trip count.
        copies: whether each turn is a copy of its body, as in a list of calls, and not all together one operation, as
            `vmap` does what `lax.map` did.
    """

    loop: FrameTree
    turns: int
    copies: bool


def batching(looped: Module, batched: Module) -> Batching | None:
    """The first loop of one program that the other one does not have, but its operations on arrays of all turns.

    Args:
        looped: the program with the loop.
        batched: the other one.

    Returns:
        None unless three quarters of what the loop does is new there in the same Python functions, with one dimension
        more or that many times.
    """
    if looped.stage != "stablehlo" or batched.stage != "stablehlo":
        return None
    kept = {(where.function, turns) for where, turns, _ in _turning_lines(batched)}
    loops: dict[tuple[FrameTree, int], list[int]] = {}
    for where, turns, body in _turning_lines(looped):
        if (where.function, turns) not in kept:
            loops.setdefault((where, turns), []).append(body)
    if not loops:
        return None
    labels = _sized(looped), _sized(batched)
    here, there = (
        sum((computed(c.instructions, own, module, each) for c, own in _plain(module, each)), Counter[bytes]())
        for module, each in zip((looped, batched), labels, strict=True)
    )
    fresh = there - here
    for (where, turns), bodies in loops.items():
        for each, times in ((_sized(looped, turns), 1), (labels[0], turns)):
            parts = (computed(looped.computations[n].instructions, each[n], looped, each) for n in bodies)
            work = sum(parts, Counter[bytes]())
            if work and _shared({label: times * count for label, count in work.items()}, fresh) >= _SHARED:
                return Batching(where, turns, times > 1)
    return None


def _turning_lines(module: Module) -> Iterator[tuple[FrameTree, int, int]]:
    """Loops with exactly known trip counts: their lines, these counts, and their bodies."""
    for it, turns, body in turning(module):
        where = own_line(module, it.frame)
        if where is not None and turns > 1 and not _needs_the_last(module, module.computations[body]):
            yield where, turns, body


def _needs_the_last(module: Module, body: Computation) -> bool:
    """Whether a turn computes with numbers of the turn before: not where it writes into an array or adds to a sum."""
    users = body.users
    for parameter, value in zip(body.parameters, body.instructions[body.root].operands, strict=False):
        it = owner = body.instructions[value]
        if value == parameter or it.shape.element_type in COUNTING:
            continue
        if it.opcode in CALLS and it.called:
            callee = module.computations[it.called[0]]
            owner = callee.instructions[callee.instructions[callee.root].operands[0]]
        is_sum = it.opcode == "add" and parameter in it.operands and len(users[parameter]) == 1
        if not is_sum and owner.opcode != "dynamic_update_slice":
            return True
    return False


def _plain(module: Module, labels: Sequence[Sequence[bytes]]) -> Iterator[tuple[Computation, Sequence[bytes]]]:
    """Computations that are no functions: what a function does is counted at its calls."""
    called = {n for one in module.computations for it in one.instructions if it.opcode in CALLS for n in it.called}
    return ((one, own) for n, (one, own) in enumerate(zip(module.computations, labels, strict=True)) if n not in called)


def _sized(module: Module, turns: int = 1) -> list[list[bytes]]:
    """What each operation does: opcode, Python function, type and sizes in any order, for so many turns at once."""
    found = []
    for one in module.computations:
        row = []
        for it in one.instructions:
            where, sizes = (
                own_line(module, it.frame),
                sorted([*it.shape.dimensions, turns][: None if turns > 1 else -1]),
            )
            row.append(f"{it.opcode} {where and where.function} {it.shape.element_type}{sizes}".encode())
        found.append(row)
    return found


def _loops(module: Module, labels: Sequence[Sequence[bytes]]) -> Iterator[_LoopBody]:
    """Loops with exactly known trip counts, with what their bodies compute."""
    for it, turns, body in turning(module):
        where = own_line(module, it.frame)
        if where is not None:
            instructions = module.computations[body].instructions
            yield _LoopBody(where, turns, computed(instructions, labels[body], module, labels))


def _held(module: Module, labels: Sequence[Sequence[bytes]]) -> Counter[bytes]:
    """How often a program holds an operation, with those of functions at each call."""
    found = Counter[bytes]()
    for weight, own in zip(multiplicities(module), labels, strict=True):
        for label in own:
            found[label] += weight.total
    return found


def _functions(where: FrameTree, module: Module) -> list[str]:
    """The function of a loop, then the others of its file: a Python loop may have been moved to its own function."""
    named = dict.fromkeys(frame.function for frame in module.frames if frame.file == where.file)
    others = [name for name in named if name != where.function]
    return [where.function, *others[:_MOST_FUNCTIONS]] if where.function in named else others[:_MOST_FUNCTIONS]


def _copies(
    module: Module, labels: Sequence[Sequence[bytes]], file: str, function: str, by_line: bool
) -> tuple[Repeat, ...]:
    def looping(frame: Frame) -> Sequence[int]:
        return (0,) if (frame.file, frame.function) == (file, function) else ()

    return copies_of(module, looping, least=2, labels=labels, by_line=by_line)


def _shared(copy: Mapping[bytes, int], body: Mapping[bytes, int]) -> float:
    """The share of a copy's operations that a loop's body has too."""
    common = sum(min(count, body.get(label, 0)) for label, count in copy.items())
    return common / max(1, sum(copy.values()))
