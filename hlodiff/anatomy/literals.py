"""Large constants: tables that Python computed, or took from a closure, while the function was traced."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from hlodiff.anatomy.frames import Lines, own_line
from hlodiff.diff.metrics import LARGE_LITERAL_BYTES
from hlodiff.diff.weights import weigh
from hlodiff.ir.hlo_shapes import print_shape
from hlodiff.ir.model import Instruction, Module

_HEX = re.compile(r'dense<"0x([0-9A-Fa-f]*)">')
_THROUGH = frozenset(["convert", "reshape", "broadcast_in_dim", "broadcast", "bitcast", "copy", "transpose"])
_PASSED_ON = frozenset(["while", "call", "func.call", "fusion", "if", "case", "conditional", "composite"])
_FARTHEST = 64


@dataclass(frozen=True, slots=True)
class Table:
    """A large constant.

    Args:
        shape: as `f32[4,1000]`.
        bytes: of its numbers.
        where: the user's line that reads it; None where it is not known.
        digest: a hash of its bytes; "" where the text does not hold them.
        times: at how many call sites it stands.
    """

    shape: str
    bytes: int
    where: Lines | None
    digest: str
    times: int = 1


def tables(module: Module, least: int = LARGE_LITERAL_BYTES) -> tuple[Table, ...]:
    """The large constants of a program, largest first.

    Args:
        module: a program of either stage.
        least: bytes from which on a constant is large. One number repeated is none, however large.

    Returns:
        one record for each constant.
    """
    found: list[Table] = []
    for index, weight in enumerate(weigh(module)):
        for position, it in enumerate(module.computations[index].instructions if weight.total else ()):
            if it.opcode == "constant" and it.shape.bytes >= least and not _is_splat(it):
                where = own_line(module, _reader(module, index, position))
                shape = print_shape(it.shape).partition("{")[0]
                found.append(Table(shape, it.shape.bytes, where, _digest(it), weight.total))
    return tuple(sorted(found, key=lambda table: (-table.bytes * table.times, table.shape, table.digest)))


def _is_splat(it: Instruction) -> bool:
    """One number in the text stands for all elements; what is hashed or left out is none."""
    literal = it.literal or ""
    if it.attribute("hlodiff.constant") or it.attribute("frontend_attributes"):
        return False
    return literal.startswith("dense<") and not literal.startswith(('dense<"', "dense<["))


def _digest(it: Instruction) -> str:
    data = _HEX.fullmatch(it.literal or "")
    return sha256(bytes.fromhex(data[1])).hexdigest() if data else ""


def _reader(module: Module, index: int, position: int) -> int:
    """The frame of the first operation that does something with a value, wherever it is handed on to."""
    nearest = -1
    waiting = [(index, position)]
    for owner, value in waiting[:]:
        nearest = module.computations[owner].instructions[value].frame
    for owner, value in waiting:
        if len(waiting) > _FARTHEST:
            break
        for user, it in _users(module, owner, value):
            if it.opcode in _PASSED_ON:
                nearest = it.frame if nearest < 0 else nearest
                waiting += _inside(module, it, value)
            elif it.opcode in _THROUGH:
                waiting.append((owner, user))
            elif it.frame >= 0 and it.opcode not in ("return", "tuple"):
                return it.frame
    return nearest


def _users(module: Module, owner: int, value: int) -> Iterator[tuple[int, Instruction]]:
    for position, it in enumerate(module.computations[owner].instructions):
        if value in it.operands:
            yield position, it


def _inside(module: Module, it: Instruction, value: int) -> Iterator[tuple[int, int]]:
    """The parameters of called computations that a value becomes."""
    for callee in it.called:
        parameters = module.computations[callee].parameters()
        for number, operand in enumerate(it.operands):
            if operand == value and number < len(parameters):
                yield callee, parameters[number]
