"""Whether what calls a computation gives it the operands that its parameters ask for.

A text in which their numbers differ is damaged: nobody could tell which value a parameter stands for, so it is refused.
So is a tuple for an array. Other types are not compared: which value is which can be told, and a type is an edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hlodiff.hlo.grammar import print_shape
from hlodiff.hlo.model import Instruction, Shape

# Each operand is the parameter of the same number.
_BINDS = frozenset(["fusion", "call", "while", "async-start", "call-start", "custom-call-start", "fusion-start"])
# A single element of each operand is the parameter of the same number.
_ELEMENT_OF_EACH = frozenset(["reduce", "reduce-window", "map"])
_COLLECTIVES = frozenset(["all-reduce", "all-reduce-start", "reduce-scatter", "reduce-scatter-start"])


def call_error(
    caller: Sequence[Instruction],
    it: Instruction,
    parameters: Callable[[int], Sequence[Shape]],
) -> tuple[int, str] | None:
    """What is wrong between the operands of an instruction and the parameters of what it calls.

    Args:
        caller: the instructions of the computation that holds it.
        it: an instruction with calls. One whose convention is not known, such as a `custom-call`, is never wrong.
        parameters: the shapes of the parameters of a computation, by its index in the module.

    Returns:
        the computation, and what it is given: "2 operands for 1 parameter"; None for nothing.
    """
    shapes = [caller[n].shape for n in it.operands]
    for branch, callee in enumerate(it.called):
        wanted = parameters(callee)
        if it.opcode in _BINDS:
            wrong = _compare(shapes, wanted)
        elif it.opcode == "conditional":  # the first operand chooses, each branch takes one of those that follow
            wrong = _compare(shapes[branch + 1 : branch + 2], wanted)
        else:
            wrong = _elements(it.opcode, len(shapes), wanted)
        if wrong:
            return callee, wrong
    return None


def _compare(given: Sequence[Shape], wanted: Sequence[Shape]) -> str:
    if len(given) != len(wanted):
        return f"{_count(len(given), 'operand')} for {_count(len(wanted), 'parameter')}"
    for n, (one, other) in enumerate(zip(given, wanted, strict=True)):
        if len(one.tuple_shapes) != len(other.tuple_shapes):
            return f"{print_shape(one)} for parameter {n}, a {print_shape(other)},"
    return ""


def _elements(opcode: str, given: int, wanted: Sequence[Shape]) -> str:
    counts = tuple(_reducer_parameters(opcode, given))
    if not counts:
        return ""
    if len(wanted) not in counts:
        return f"{_count(counts[0], 'value')} for {_count(len(wanted), 'parameter')}"
    return ""


def _reducer_parameters(opcode: str, operands: int) -> Iterator[int]:
    """How many parameters a reducer or comparator may have."""
    if opcode in _ELEMENT_OF_EACH:
        yield operands
    elif opcode == "sort":
        yield 2 * operands
    elif opcode == "scatter":  # arrays, indices, updates: as many updates as arrays
        yield operands - 1
    elif opcode == "select-and-scatter":
        yield 2
    elif opcode in _COLLECTIVES:  # one reducer for each operand, or one for all of them together
        yield 2
        yield 2 * operands


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
