"""How the operands of a call are the parameters of what it calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hlodiff.differ.computation_matches import ComputationMatch, matched_calls
from hlodiff.differ.match_graph import MatchGraph
from hlodiff.differ.script import BINDS
from hlodiff.hlo.model import Instruction

Pairs = Mapping[tuple[int, int], ComputationMatch]


def through(one: Instruction, other: Instruction, pairs: Pairs) -> list[tuple[int, int]] | None:
    """Pairs of operand numbers of a call whose computation was opened; None where operands pair by position.

    Args:
        one, other: a paired call.
        pairs: the pairs of computations.
    """
    for inner in _opened(one, other, pairs):
        if _binds(one, other, inner):
            return list(_numbers(inner).items())
    return None


def is_misbound(one: Instruction, other: Instruction, pairs: Pairs) -> bool:
    """True where operands came, went or were exchanged though what is called does not read them otherwise.

    A parameter that nothing reads is the call's own affair; a loop's condition and body take the same operands; and the
    parameters of a reducer or a branch are known by their numbers.

    Args:
        one, other: a paired call.
        pairs: the pairs of computations.
    """
    bound = through(one, other, pairs)
    for inner in _opened(one, other, pairs):
        numbers = _numbers(inner)
        if _binds(one, other, inner):
            if list(numbers.items()) != bound or any(map(_has_idle, *_free(inner))):
                return True
        elif numbers != {n: n for n in range(max(len(side.computation.parameters()) for side in _sides(inner)))}:
            return True
    return False


def _opened(one: Instruction, other: Instruction, pairs: Pairs) -> Iterator[ComputationMatch]:
    for key, _ in matched_calls(one, other):
        inner = pairs.get(key)
        if inner is not None and inner.pairing is not None:
            yield inner


def _sides(inner: ComputationMatch) -> tuple[MatchGraph, MatchGraph]:
    assert inner.old_side and inner.new_side
    return inner.old_side, inner.new_side


def _binds(one: Instruction, other: Instruction, inner: ComputationMatch) -> bool:
    """Whether operand n of the call is parameter n of what it calls, on both sides."""
    olds, news = (side.computation.parameters() for side in _sides(inner))
    return one.opcode in BINDS and len(olds) == len(one.operands) and len(news) == len(other.operands)


def _numbers(inner: ComputationMatch) -> dict[int, int]:
    """New numbers of parameters by old ones."""
    assert inner.pairing
    olds, news = (side.computation.parameters() for side in _sides(inner))
    number = {p: n for n, p in enumerate(news)}
    partners = inner.pairing.old
    return {n: number[partners[p]] for n, p in enumerate(olds) if partners[p] in number}


def _free(inner: ComputationMatch) -> tuple[tuple[MatchGraph, MatchGraph], tuple[list[int], list[int]]]:
    assert inner.pairing
    return _sides(inner), (inner.pairing.old, inner.pairing.new)


def _has_idle(side: MatchGraph, partners: list[int]) -> bool:
    """Whether a parameter without a partner is read by nothing."""
    root = side.computation.root
    return any(partners[p] < 0 and not side.uses[p] and p != root for p in side.computation.parameters())
