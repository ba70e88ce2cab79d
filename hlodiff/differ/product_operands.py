"""Who takes a value in the end: a TPU rounds what a matrix product takes anyway, so a cast before that says nothing."""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.hlo.model import Module
from hlodiff.hlo.traversal import preorder

Place = tuple[int, int]
HANDED_OVER = frozenset(
    ["bitcast", "copy", "copy-start", "copy-done", "reshape", "transpose", "slice", "dynamic-slice", "tuple",
     "get-tuple-element", "all-gather", "all-gather-start", "all-gather-done", "collective-permute",
     "collective-permute-start", "collective-permute-done", "all-to-all"]
)  # fmt: skip
"""They give the numbers that they take, in other places or on other devices."""
_ELSEWHERE: Place = (-1, -1)


def only_products_take(module: Module, place: Place) -> bool:
    """Whether nothing but matrix products of the default precision take a value, by whatever way.

    XLA for TPUs makes every matrix product a convolution and rounds operands in float32 to bfloat16, unless a precision
    was asked for. It may do so where the value is made.

    Args:
        module: a compiled program.
        place: an instruction, by computation and position.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT a = f32[2] add(p, p)\\n}"
        >>> only_products_take(read_hlo(text), (0, 0))
        False
    """
    callers: dict[int, list[Place]] = {}
    for number, computation in enumerate(module.computations):
        for position, it in enumerate(computation.instructions):
            for callee in it.called:
                callers.setdefault(callee, []).append((number, position))
    users = {}

    def takers(at: Place) -> Iterator[Place]:
        number, position = at
        computation = module.computations[number]
        if number not in users:
            users[number] = computation.users()
        for user in users[number][position]:
            it = computation.instructions[user]
            if it.opcode == "fusion":
                for callee in it.called:
                    inside = module.computations[callee]
                    numbers = {n for n, operand in enumerate(it.operands) if operand == position}
                    given = (n for n in inside.parameters() if int(inside.instructions[n].literal or 0) in numbers)
                    yield from ((callee, parameter) for parameter in given)
            elif it.opcode in HANDED_OVER:
                yield number, user
            elif it.opcode != "convolution" or "high" in (it.attribute("operand_precision") or ""):
                yield _ELSEWHERE
        if position == computation.root:
            outside = callers.get(number, [])
            is_fused = all(module.computations[n].instructions[p].opcode == "fusion" for n, p in outside)
            yield from outside if outside and is_fused else [_ELSEWHERE]

    return _ELSEWHERE not in preorder([place], lambda at: () if at == _ELSEWHERE else takers(at))
