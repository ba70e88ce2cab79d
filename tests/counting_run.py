"""A run that counts: it follows control flow and counters of a program, and counts what it passes.

It knows no trip counts: loops are turned and conditions asked, on plain integers. It is a second way to every executed
number. A program whose control flow depends on data that it does not know raises `UnknownError`.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from hlodiff.hlo.model import Instruction, Module

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "maximum": max, "minimum": min,
}  # fmt: skip
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
    "EQ": operator.eq,
    "NE": operator.ne,
}
_SAME = {"convert", "copy", "reshape", "bitcast", "broadcast_in_dim", "broadcast", "copy-start", "copy-done"}
_NUMBER = re.compile(r"(?:dense<)?(-?\d+|true|false)>?$")


class UnknownError(Exception):
    """A loop or branch asks for a number that nobody computed."""


def counting_run(module: Module) -> tuple[Counter[int], Counter[tuple[int, int]]]:
    """Run a program.

    Returns:
        how often each computation ran, and each instruction by computation and position.
    """
    machine = _Machine(module)
    machine.call(module.entry, [None] * len(module.entry_computation.parameters()))
    return machine.computations, machine.instructions


class _Machine:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.computations: Counter[int] = Counter()
        self.instructions: Counter[tuple[int, int]] = Counter()

    def call(self, index: int, arguments: list[Any]) -> Any:
        self.computations[index] += 1
        computation = self.module.computations[index]
        values: list[Any] = []
        for position, it in enumerate(computation.instructions):
            self.instructions[index, position] += 1
            if it.opcode == "parameter":
                values.append(arguments[int(it.literal or 0)])
                continue
            given = [
                self.one(values[o], computation.instructions[o], it.results[n] if it.results else 0)
                for n, o in enumerate(it.operands)
            ]
            values.append(self.value(it, given))
        return values[computation.root]

    def one(self, value: Any, made_by: Instruction, result: int) -> Any:
        several = self.module.stage == "stablehlo" and len(made_by.shape.tuple_shapes) > 1
        return (value[result] if isinstance(value, tuple) else None) if several else value

    def value(self, it: Instruction, given: list[Any]) -> Any:
        if it.opcode == "while":
            return self.loop(it, given)
        if it.opcode in ("conditional", "case", "if"):
            return self.branch(it, given)
        if it.opcode in ("fusion", "call", "func.call", "async-start", "sdy.manual_computation"):
            return self.call(it.called[0], given)
        if it.opcode in ("tuple", "return", "sdy.return"):
            return tuple(given) if it.opcode == "tuple" or len(given) != 1 else given[0]
        if it.opcode in ("get-tuple-element", "get_tuple_element"):
            index = int((it.attribute("index") or "0").partition(" ")[0])
            return given[0][index] if isinstance(given[0], tuple) else None
        if it.opcode == "constant":
            found = _NUMBER.match(it.literal or "")
            if found is None:
                return None
            return found[1] == "true" if found[1].isalpha() else int(found[1])
        if it.opcode in ("optimization_barrier", "opt-barrier"):
            return given[0] if len(given) == 1 else tuple(given)
        if it.opcode in _SAME and given:
            return given[0]
        return self.scalar(it, given)

    def scalar(self, it: Instruction, given: list[Any]) -> Any:
        if it.opcode == "and" and False in given:
            return False
        if any(not isinstance(value, (int, bool)) for value in given) or not given:
            return None
        if it.opcode == "compare":
            text = it.attribute("comparison_direction") or it.attribute("direction") or ""
            return next(_COMPARED[name] for name in _COMPARED if name in text)(*given)
        if it.opcode == "select":
            return given[1] if given[0] else given[2]
        if it.opcode == "and":
            return given[0] and given[1] if isinstance(given[0], bool) else None
        return _ARITHMETIC[it.opcode](*given) if it.opcode in _ARITHMETIC else None

    def loop(self, it: Instruction, given: list[Any]) -> Any:
        groups = {name: group[0] for name, group in it.calls}
        condition, body = groups.get("condition", groups.get("cond", -1)), groups["body"]
        outside = [self.captured(condition), self.captured(body)]
        state, rest = given[: len(given) - sum(outside)], given[len(given) - sum(outside) :]
        seen, closed = rest[: outside[0]], rest[outside[0] :]
        while True:
            going = self.call(condition, [*state, *seen])
            if not isinstance(going, (bool, int)):
                raise UnknownError(it.name)
            if not going:
                break
            after = self.call(body, [*state, *closed])
            state = list(after) if self.module.stage == "stablehlo" and isinstance(after, tuple) else [after]
        return tuple(state) if self.module.stage == "stablehlo" and len(state) != 1 else state[0]

    def branch(self, it: Instruction, given: list[Any]) -> Any:
        chosen = given[0]
        if not isinstance(chosen, (bool, int)):
            raise UnknownError(it.name)
        number = (0 if chosen else 1) if isinstance(chosen, bool) else min(max(chosen, 0), len(it.called) - 1)
        if self.module.stage == "compiled":
            return self.call(it.called[number], [given[1 + number]])
        before = 1 + sum(self.captured(callee) for callee in it.called[:number])
        return self.call(it.called[number], given[before : before + self.captured(it.called[number])])

    def captured(self, index: int) -> int:
        return sum(it.attribute("captured") is not None for it in self.module.computations[index].instructions)
