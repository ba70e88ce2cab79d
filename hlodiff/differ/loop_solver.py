"""Trip counts that XLA does not state: from the condition of a loop, where its counter starts, and its step.

The trip count of a `while` is known if its condition compares a counter with a number, the counter starts at a number
and each iteration adds a number to it. Values are followed through copies, conversions, tuples, fusions, calls and
loops that pass them on unchanged, so the same answer comes from StableHLO and from XLA for TPUs as XLA states for CPUs
and GPUs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from hlodiff.hlo.model import CALLS, Computation, Instruction, Module, Place
from hlodiff.hlo.parser import LazyComputations
from hlodiff.hlo.traversal import call_sites, condition_and_body

_INTEGER = re.compile(r"(?:dense<)?(-?\d+)>?")
_VALUE_PRESERVING = frozenset(
    ["convert", "reshape", "broadcast_in_dim", "broadcast", "bitcast", "copy", "copy-start", "copy-done", "domain",
     "optimization_barrier", "opt-barrier", "sdy.sharding_constraint"]
)  # fmt: skip
_TUPLES = frozenset(["tuple", "return", "sdy.return", "func.return"])
_BODIES = CALLS | {"fusion"}
_MIRRORED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE"}
# An untrusted file may nest calls as it likes; real counters are a dozen steps away.
_MOST_STEPS = 2_000
_MOST_CALLERS = 8
_MOST_NUMBERS = 4  # that one counter may start from
_MOST_NESTED = 64

_Path = tuple[int, ...]
_State = tuple[int, ...]  # which loop-carried value: number of the parameter, then the elements of its tuple
# A loop-carried value plus a number, or a number alone; several numbers if a condition chooses one of them.
_Linear = tuple[_State | None, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _CallFrame:
    """One computation where it is entered from: a call site, or any of those that there are (`caller` is None)."""

    computation: int
    caller: _CallFrame | None = None
    site: int = -1
    is_loop: bool = False


_Value = tuple[_CallFrame, int, _Path]


class _OutOfStepsError(Exception):
    """A value was followed farther than any real counter needs."""


class LoopSolver:
    """Finds trip counts of single loops. Of a program that is read on demand, it reads only the computations it needs.

    Args:
        module: a program of either stage.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.steps = self.depth = 0
        self.asked: set[tuple[_CallFrame, int, _State]] = set()
        self._sites: dict[int, list[Place]] = {}
        self._known: dict[Place, tuple[int, int] | None] = {}

    def bounds(self, index: int, position: int) -> tuple[int, int] | None:
        """How often the body of a loop runs at most and at least, each time it is reached; None if unknown.

        Args:
            index, position: of a `while`: of its computation, and its place there.
        """
        if (index, position) not in self._known:
            self.steps = self.depth = 0
            self.asked.clear()
            try:
                self._known[index, position] = self._bounds(_CallFrame(index), position)
            except _OutOfStepsError:
                self._known[index, position] = None
        return self._known[index, position]

    def _bounds(self, owner: _CallFrame, position: int) -> tuple[int, int] | None:
        computations = condition_and_body(self._computation(owner).instructions[position])
        if computations is None:
            return None
        condition = _CallFrame(computations[0], owner, position, is_loop=True)
        bounds = [self._bound(owner, position, value) for value in self._conjuncts(condition)]
        known = [bound for bound in bounds if bound is not None]
        if not known:
            return None
        least, turns = (min(bound[side] for bound in known) for side in (0, 1))
        return turns, least if len(known) == len(bounds) else 0

    def _sites_of(self, callee: int) -> list[Place]:
        computations = self.module.computations
        if isinstance(computations, LazyComputations):
            if callee not in self._sites:
                self._sites[callee] = [
                    (index, position)
                    for index in computations.naming(computations.spans[callee].name)
                    for position, it in enumerate(computations[index].instructions)
                    if callee in it.called
                ]
        elif not self._sites:
            sites = enumerate(call_sites(self.module))
            self._sites |= {index: list(dict.fromkeys(one[:2] for one in its)) for index, its in sites}
        return self._sites.get(callee, [])

    def _computation(self, frame: _CallFrame) -> Computation:
        return self.module.computations[frame.computation]

    def _instruction(self, value: _Value) -> Instruction:
        return self._computation(value[0]).instructions[value[1]]

    def _conjuncts(self, condition: _CallFrame) -> Iterator[_Value]:
        """The values that must all be true for another iteration."""
        worklist: list[_Value] = [(condition, self._computation(condition).root, ())]
        for value in worklist:
            self._step()
            it, followed = self._instruction(value), None
            if it.opcode == "and":
                worklist += [self._operand(value, number) for number in range(len(it.operands))]
            elif self._asks_whether_true(value) or (it.opcode == "reduce" and it.shape.elements == 1):
                worklist.append(self._operand(value, 0))
            elif (followed := self._followed(value)) is not None:
                worklist.append(followed)
            else:
                yield value

    def _asks_whether_true(self, value: _Value) -> bool:
        """Whether a comparison only asks whether a truth value is not false, as Equinox's loops do."""
        it = self._instruction(value)
        if it.opcode != "compare" or _direction(it) != "NE" or len(it.operands) != 2:
            return False
        if self._instruction(self._operand(value, 0)).shape.element_type != "pred":
            return False
        other: _Value | None = self._operand(value, 1)
        last = None
        while other is not None:
            last, other = other, self._followed(other)
        return last is not None and self._instruction(last).literal in ("dense<false>", "false")

    def _bound(self, owner: _CallFrame, position: int, test: _Value) -> tuple[int, int] | None:
        """The smallest and the largest trip count that one comparison of a counter with a number allows."""
        it = self._instruction(test)
        if it.opcode != "compare" or len(it.operands) != 2:
            return None
        left, right = (self._linear(self._operand(test, number)) for number in (0, 1))
        direction = _direction(it)
        if left is None or right is None:
            return None
        if left[0] is None:
            left, right, direction = right, left, _MIRRORED.get(direction, "")
        state, offsets = left
        if state is None or right[0] is not None:
            return None
        starts, step = self._starts(owner, position, state), self._step_of(owner, position, state)
        if starts is None or not step:
            return None
        unsigned = self._instruction(self._operand(test, 0)).shape.element_type.startswith("u")
        if unsigned and step < 0:
            return None  # it may wrap around below 0
        numbers = itertools.product(starts, right[1], offsets)
        counts = [_count(start, limit - offset, step, direction) for start, limit, offset in numbers]
        known = [count for count in counts if count is not None]
        return (min(known), max(known)) if len(known) == len(counts) else None

    def _starts(self, owner: _CallFrame, position: int, state: _State) -> tuple[int, ...] | None:
        """The numbers that a counter may start from; None if unknown."""
        it = self._computation(owner).instructions[position]
        if state[0] >= len(it.operands):
            return None
        first, *path = state
        found = self._linear(self._at((owner, position, ()), first, tuple(path)))
        return found[1] if found is not None and found[0] is None else None

    def _step_of(self, owner: _CallFrame, position: int, state: _State) -> int | None:
        """The change of a loop-carried value per iteration; 0 if none, None if unknown."""
        computations = condition_and_body(self._computation(owner).instructions[position])
        if computations is None:
            return None
        body = _CallFrame(computations[1], owner, position, is_loop=True)
        root = self._computation(body).root
        path = state if self.module.stage == "stablehlo" else state[1:]
        found = self._linear((body, root, path), kept=False)
        return found[1][0] if found is not None and found[0] == state and len(found[1]) == 1 else None

    def _linear(self, value: _Value, kept: bool = True) -> _Linear | None:
        """A value as a loop-carried value plus a number.

        Args:
            value: of the loop's condition or body, or outside of it.
            kept: whether a value that each turn hands on as it is counts as what it was before the loop.
        """
        if self.depth >= _MOST_NESTED:
            return None
        self.depth += 1
        try:
            return self._linear_at(value, kept)
        finally:
            self.depth -= 1

    def _linear_at(self, value: _Value, kept: bool) -> _Linear | None:
        following: _Value | None = value
        while following is not None:
            self._step()
            value, following = following, self._followed(following)
        frame, _, path = value
        it = self._instruction(value)
        if it.opcode == "constant" and not path:
            found = _INTEGER.fullmatch(it.literal or "")
            return (None, (int(found[1]),)) if found else None
        if it.opcode == "select" and len(it.operands) == 3 and not path:
            one, other = (self._linear(self._operand(value, n), kept) for n in (1, 2))
            if one is None or other is None or one[0] != other[0]:
                return None
            return _limited(one[0], {*one[1], *other[1]})
        if it.opcode in ("add", "subtract") and len(it.operands) == 2 and not path:
            left, right = (self._linear(self._operand(value, n), kept) for n in (0, 1))
            if left is None or right is None or (right[0] is not None and (left[0] or it.opcode == "subtract")):
                return None
            sign = 1 if it.opcode == "add" else -1
            numbers = {one + sign * other for one, other in itertools.product(left[1], right[1])}
            return _limited(left[0] if left[0] is not None else right[0], numbers)
        if it.opcode == "while" and path:
            return self._kept(frame, value[1], path if self.module.stage == "stablehlo" else (0, *path))
        if it.opcode != "parameter":
            return None
        if frame.caller is None:
            return self._from_callers(value, kept)
        state = (it.number, *path)
        if not kept:
            return state, (0,)
        before = self._kept(frame.caller, frame.site, state)
        return before if before is not None else (state, (0,))

    def _kept(self, owner: _CallFrame, position: int, state: _State) -> _Linear | None:
        """The initial value of a loop-carried value, if every iteration passes it on unchanged."""
        question = owner, position, state
        if question in self.asked:
            return None
        self.asked.add(question)
        first, *path = state
        try:
            is_kept = self._step_of(owner, position, state) == 0
            if not is_kept or first >= len(self._computation(owner).instructions[position].operands):
                return None
            found = self._linear(self._at((owner, position, ()), first, tuple(path)))
            return found if found is not None and found[0] is None else None
        finally:
            self.asked.discard(question)

    def _from_callers(self, value: _Value, kept: bool) -> _Linear | None:
        """A parameter of a computation that may be called from several places: one number if all give the same."""
        frame, position, path = value
        sites = self._sites_of(frame.computation)
        if not 0 < len(sites) <= _MOST_CALLERS:
            return None
        found: set[_Linear | None] = set()
        for index, site in sites:
            it = self.module.computations[index].instructions[site]
            if it.opcode not in _BODIES and it.opcode != "while":
                return None
            inner = _CallFrame(frame.computation, _CallFrame(index), site, is_loop=it.opcode == "while")
            found.add(self._linear((inner, position, path), kept))
        only = found.pop() if len(found) == 1 else None
        return only if only is not None and only[0] is None else None

    def _followed(self, value: _Value) -> _Value | None:
        """The same value one step closer to its origin; None if it is made here."""
        frame, _, path = value
        it = self._instruction(value)
        if it.opcode in _VALUE_PRESERVING and it.operands:
            if len(it.operands) == 1:
                return self._at(value, 0, path)
            return self._at(value, path[0], path[1:]) if path and path[0] < len(it.operands) else None
        if it.opcode in ("get-tuple-element", "get_tuple_element") and it.operands:
            index = (it.attribute("index") or "").partition(" ")[0]
            return (frame, it.operands[0], (int(index), *path)) if index.isdigit() else None
        if it.opcode in _TUPLES:
            if path and path[0] < len(it.operands):
                return self._at(value, path[0], path[1:])
            return self._at(value, 0, path) if len(it.operands) == 1 and it.opcode != "tuple" else None
        if it.opcode in _BODIES and it.called:
            callee = it.called[0]
            return _CallFrame(callee, frame, value[1]), self.module.computations[callee].root, path
        if it.opcode == "parameter" and frame.caller is not None:
            return self._argument(value)
        return None

    def _argument(self, value: _Value) -> _Value | None:
        """The operand that a call site passes for a parameter; None for loop-carried values."""
        frame, _, path = value
        assert frame.caller is not None
        it, site = self._instruction(value), self._computation(frame.caller).instructions[frame.site]
        number = it.number
        if frame.is_loop:
            if it.attribute("captured") is None:
                return None
            number = self._captured(site, frame, number)
        if not 0 <= number < len(site.operands):
            return None
        return self._at((frame.caller, frame.site, ()), number, path)

    def _captured(self, site: Instruction, frame: _CallFrame, number: int) -> int:
        """Which operand of a StableHLO loop a captured parameter is: after the state come those of the condition."""
        computations = condition_and_body(site)
        if computations is None or frame.computation == computations[0]:
            return number
        parameters = self.module.computations[computations[0]].instructions
        return number + sum(it.opcode == "parameter" and it.attribute("captured") is not None for it in parameters)

    def _operand(self, value: _Value, number: int) -> _Value:
        return self._at(value, number, ())

    def _at(self, value: _Value, number: int, path: _Path) -> _Value:
        """An operand; of a StableHLO operation with several results, which of them."""
        frame, position, _ = value
        it = self._computation(frame).instructions[position]
        operand = it.operands[number]
        if self.module.stage == "stablehlo":
            several = self._computation(frame).instructions[operand].shape.tuple_shapes
            if len(several) > 1:
                return frame, operand, ((it.results[number] if it.results else 0), *path)
        return frame, operand, path

    def _step(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise _OutOfStepsError


def _limited(state: _State | None, numbers: set[int]) -> _Linear | None:
    return (state, tuple(sorted(numbers))) if len(numbers) <= _MOST_NUMBERS else None


def _direction(it: Instruction) -> str:
    text = it.attribute("comparison_direction") or it.attribute("direction") or ""
    return next((word for word in ("LT", "LE", "GT", "GE", "NE", "EQ") if word in text), "")


def _count(start: int, limit: int, step: int, direction: str) -> int | None:
    if step < 0:
        start, limit, step, direction = -start, -limit, -step, _MIRRORED.get(direction, "")
    way = limit - start
    if direction == "LE":
        way += 1
    elif (direction == "NE" and (way < 0 or way % step)) or direction not in ("LT", "NE"):
        return None
    return max(0, -(-way // step))
