"""Hashes that do not see the order of fusion parameters: ground to stand on while that order is being decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from hlodiff.ir.content import is_commutative, operands_first, shape_text, with_callees
from hlodiff.ir.hlo_printer import callees_first
from hlodiff.ir.model import Computation, Instruction, Module

# Attributes that count operands or parameters, or tell partners apart by a number.
_POSITIONAL = frozenset(["output_to_operand_aliasing", "backend_config", "channel_id"])


def loose_hashes(module: Module, fused: Sequence[bool], only: Iterable[int] | None = None) -> list[list[bytes]]:
    """For each instruction of each computation a hash of what it is computed from.

    A parameter of a fusion is its shape alone, a fusion sees its operands as a bag, so the result is the same
    whatever order the parameters of fusions stand in. With `only` those of the others are left empty, but for what
    these call.
    """
    wanted = None if only is None else with_callees(module, only)
    found: list[list[bytes]] = [[] for _ in module.computations]
    roots: dict[int, bytes] = {}
    for index in callees_first(module):
        if wanted is not None and index not in wanted:
            continue
        computation = module.computations[index]
        labels = [label(it, roots, unnumbered=fused[index]) for it in computation.instructions]
        found[index] = down(computation, labels, fused)
        roots[index] = found[index][computation.root]
    return found


def label(it: Instruction, roots: dict[int, bytes], *, unnumbered: bool) -> bytes:
    """What an instruction is by itself, with what it calls."""
    literal = "" if it.literal is None or (unnumbered and it.opcode == "parameter") else it.literal
    parts = [it.opcode, shape_text(it.shape), literal]
    parts += [f"{k}={v}" for k, v in it.attributes if k not in _POSITIONAL]
    state = blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=12)
    for _, group in it.calls:
        for callee in group:
            state.update(roots.get(callee, b"cycle"))
    return state.digest()


def down(computation: Computation, labels: Sequence[bytes], fused: Sequence[bool]) -> list[bytes]:
    """Labels with everything below them; fusions and commutative operations see their operands as a bag."""
    found: list[bytes] = [b""] * len(labels)
    for position in operands_first(computation):
        it = computation.instructions[position]
        below = [found[operand] for operand in it.operands]
        if len(below) > 1 and (is_commutative(it) or (it.opcode == "fusion" and all(fused[c] for c in it.called))):
            below.sort()
        found[position] = (
            blake2b(labels[position] + b"".join(below), digest_size=12).digest() if below else labels[position]
        )
    return found
