"""Parameters that a computation does not tell apart: each call may pass them in its own order.

`add(p0,p1)` called with (a,b) computes what it does called with (b,a). Which order XLA prints hangs on which equal
computations it stores once, and that is noise; so each call decides for itself, by what it passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from hlodiff.ir.content import renumbered_hash
from hlodiff.ir.model import Computation
from hlodiff.normalize.first_uses import first_uses, has_tie
from hlodiff.normalize.loose import down
from hlodiff.normalize.near import LEVELS, Neighbourhood, ranked

# The computation that calls, and the position of the calling instruction.
Place = tuple[int, int]


def call_orders(
    bodies: Sequence[Computation],
    index: int,
    order: list[int],
    inside: Sequence[Sequence[bytes]],
    places: Sequence[Place],
    hashes: Sequence[Sequence[bytes]],
    fused: Sequence[bool],
    twins: Twins,
) -> dict[Place, list[int]]:
    """For each call that passes twins in another order than that of the parameters: its own order.

    Args:
        bodies: all computations.
        index: the computation that is called.
        order: old numbers of its parameters in their new order.
        inside: hashes of its instructions that leave twins equal.
        places: its calls.
        hashes: `loose_hashes` of the module.
        fused: for each computation whether only fusions call it.
        twins: what is known of all of them.

    Returns:
        Old numbers of the operands in the order in which the call passes them; the computation is the same in either.
    """
    computation = bodies[index]
    if not has_tie(computation, inside[-1]):
        return {}
    found: dict[Place, list[int]] = {}
    for caller, at in places:
        owner = bodies[caller]
        operands = owner.instructions[at].operands
        below = twins.neighbourhood(caller).below
        near = [[below(operand, levels) for operand in operands] for levels in range(LEVELS + 1)]
        passed = [hashes[caller][operand] for operand in operands]
        deep = [
            *inside,
            *(ranked(computation, those) for those in near),
            _coloured(computation, inside[0], passed, fused),
        ]
        own = first_uses(computation, deep, by_number=False)
        if own != order and twins.same(index, order, own):
            found[caller, at] = own
    return found


def _coloured(
    computation: Computation, hashes: Sequence[bytes], passed: Sequence[bytes], fused: Sequence[bool]
) -> list[bytes]:
    """Hashes in which a parameter is also what a call passes for it."""
    labels = list(hashes)
    for number, parameter in enumerate(computation.parameters()):
        labels[parameter] = blake2b(labels[parameter] + passed[number], digest_size=12).digest()
    return down(computation, labels, fused)


class Twins:
    """Which parameters are twins: content of computations with other numbers, each worked out once.

    Args:
        bodies: all computations; what is called is asked for only after it got its final form.
        fused: for each computation whether only fusions call it.
    """

    def __init__(self, bodies: Sequence[Computation], fused: Sequence[bool]) -> None:
        self._bodies, self._fused = bodies, fused
        self._near: dict[int, Neighbourhood] = {}
        self._found: dict[int, str] = {}
        self._known: dict[tuple[str, tuple[int, ...]], bool] = {}

    def neighbourhood(self, caller: int) -> Neighbourhood:
        """What stands below the operands of calls in a computation."""
        if caller not in self._near:
            self._near[caller] = Neighbourhood(self._bodies[caller], self._fused[caller])
        return self._near[caller]

    def same(self, index: int, order: Sequence[int], other: Sequence[int]) -> bool:
        """Whether the computation is the same with its parameters numbered in either order."""
        key = (self._renumbered(index, order), tuple([order.index(n) for n in other]))
        if key not in self._known:
            self._known[key] = key[0] == self._renumbered(index, other)
        return self._known[key]

    def _renumbered(self, index: int, order: Sequence[int]) -> str:
        body = self._bodies[index]
        return renumbered_hash(body, self._called(body), [order.index(n) for n in range(len(order))])

    def _called(self, computation: Computation) -> dict[int, str]:
        """Hashes by index, of all that this computation calls at least."""
        for callee in dict.fromkeys(c for it in computation.instructions if it.calls for c in it.called):
            if callee not in self._found:
                self._found[callee] = "cycle"
                body = self._bodies[callee]
                self._found[callee] = renumbered_hash(body, self._called(body), range(len(body.parameters())))
        return self._found
