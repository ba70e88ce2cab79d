"""Loops of the program itself and how often they run, where the program says it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hlodiff.anatomy.frames import Lines, own_line
from hlodiff.anatomy.labels import sizes_of
from hlodiff.diff.weights import weigh
from hlodiff.ir.model import Computation, Instruction, Module

_COMPILED = re.compile(r'"known_trip_count":\{"n":"?(\d+)')
_INTEGER = re.compile(r"(?:dense<)?(-?\d+)>?")
_THROUGH = frozenset(["convert", "reshape", "broadcast_in_dim", "broadcast", "bitcast", "copy"])
_MIRRORED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE"}

Known = Literal["exactly", "at most"]


@dataclass(frozen=True, slots=True)
class Loop:
    """A `while` whose number of turns is known.

    Args:
        where: the user's line that made it; None where it is not known.
        turns: how often the body runs.
        known: "exactly", or "at most" where another condition may end it sooner.
        body: operations in one turn.
        times: at how many call sites it stands.
    """

    where: Lines | None
    turns: int
    known: Known
    body: int
    times: int = 1


def loops(module: Module) -> tuple[Loop, ...]:
    """All loops of a program whose number of turns is known, in the order of the program.

    Args:
        module: a program of either stage.

    Returns:
        one record for each `while`. Those that end when the numbers say so are left out.
    """
    sizes, weights = sizes_of(module), weigh(module)
    found: list[Loop] = []
    for computation, weight in zip(module.computations, weights, strict=True):
        for it in computation.instructions if weight.total else ():
            turns = _turns(module, computation, it) if it.opcode == "while" else None
            if turns is not None:
                body = sizes[_called(it, "body")]
                found.append(Loop(own_line(module, it.frame), *turns, body, weight.total))
    return tuple(found)


def _called(it: Instruction, name: str) -> int:
    names = {"cond": "condition", "condition": "cond", "body": "body"}
    return next(group[0] for key, group in it.calls if key in (name, names[name]))


def _turns(module: Module, owner: Computation, it: Instruction) -> tuple[int, Known] | None:
    stated = _COMPILED.search(it.attribute("backend_config") or "")
    if stated:
        return int(stated[1]), "exactly"
    try:
        condition, body = module.computations[_called(it, "cond")], module.computations[_called(it, "body")]
    except StopIteration:
        return None
    bounds = [_bound(owner, it, condition, body, test, through) for test, through in _tests(condition)]
    known = [(turns, exactly) for turns, exactly in bounds if turns is not None]
    if not known:
        return None
    turns, exactly = min(known)
    return turns, "exactly" if exactly and len(bounds) == 1 else "at most"


def _tests(condition: Computation) -> Iterator[tuple[int, bool]]:
    """The comparisons that all must hold for another turn, and whether the root is nothing else."""
    root = condition.instructions[condition.root]
    waiting = list(root.operands) if root.opcode == "return" else [condition.root]
    alone = True
    for position in waiting:
        it = condition.instructions[position]
        if it.opcode == "and":
            alone = False
            waiting += it.operands
        elif _is_handed_on(condition, it):
            waiting.append(it.operands[0])
        else:
            yield position, alone and it.opcode == "compare"


def _is_handed_on(computation: Computation, it: Instruction) -> bool:
    """Whether an operation only passes on one truth value."""
    if it.opcode == "compare":
        return _is_given(computation, it)
    return it.opcode in _THROUGH or (it.opcode == "reduce" and it.shape.elements == 1)


def _is_given(computation: Computation, it: Instruction) -> bool:
    """Whether a comparison only asks whether a truth value is not false, as Equinox's loops do."""
    if _direction(it) != "NE" or computation.instructions[it.operands[0]].shape.element_type != "pred":
        return False
    other = _behind(computation, it.operands[1])
    return other.literal in ("dense<false>", "false")


def _direction(it: Instruction) -> str:
    text = it.attribute("comparison_direction") or it.attribute("direction") or ""
    return next((word for word in ("LT", "LE", "GT", "GE", "NE", "EQ") if word in text), "")


def _behind(computation: Computation, position: int) -> Instruction:
    """What a value is, seen through conversions."""
    it = computation.instructions[position]
    while it.opcode in _THROUGH and it.operands:
        it = computation.instructions[it.operands[0]]
    return it


def _bound(
    owner: Computation, it: Instruction, condition: Computation, body: Computation, test: int, alone: bool
) -> tuple[int | None, bool]:
    """How many turns one comparison of a counter with a number allows."""
    compare = condition.instructions[test]
    if compare.opcode != "compare":
        return None, alone
    left, right = (_behind(condition, operand) for operand in compare.operands)
    direction = _direction(compare)
    if right.opcode == "parameter":
        left, right, direction = right, left, _MIRRORED.get(direction, "")
    limit = _number(right) if right.opcode == "constant" else None
    if left.opcode != "parameter" or limit is None:
        return None, alone
    counter = int(left.literal or 0)
    start, step = _start(owner, it, counter), _step(body, counter)
    if start is None or not step:
        return None, alone
    return _count(start, limit, step, direction), alone


def _number(it: Instruction) -> int | None:
    found = _INTEGER.fullmatch(it.literal or "")
    return int(found[1]) if found else None


def _start(owner: Computation, it: Instruction, counter: int) -> int | None:
    if counter >= len(it.operands):
        return None
    start = _behind(owner, it.operands[counter])
    return _number(start) if start.opcode == "constant" else None


def _step(body: Computation, counter: int) -> int | None:
    """By how much a turn moves the counter."""
    root = body.instructions[body.root]
    if root.opcode not in ("return", "tuple") or counter >= len(root.operands):
        return None
    it = body.instructions[root.operands[counter]]
    if it.opcode not in ("add", "subtract") or len(it.operands) != 2:
        return None
    left, right = (_behind(body, operand) for operand in it.operands)
    if right.opcode == "parameter" and it.opcode == "add":
        left, right = right, left
    if left.opcode != "parameter" or int(left.literal or -1) != counter or right.opcode != "constant":
        return None
    step = _number(right)
    return -step if step is not None and it.opcode == "subtract" else step


def _count(start: int, limit: int, step: int, direction: str) -> int | None:
    if step < 0:
        start, limit, step, direction = -start, -limit, -step, _MIRRORED.get(direction, "")
    way = limit - start
    if direction == "LE":
        way += 1
    elif (direction == "NE" and (way < 0 or way % step)) or direction not in ("LT", "NE"):
        return None
    return max(0, -(-way // step))
