"""What an instruction without a partner is computed from: the paired instructions that it leads to through free ones.

A search asks this of thousands of pairings that differ in a few pairs, so each answer is kept until a pair near it
comes or goes. The work is counted: a search that walks far ends at its limit like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# Answers have one bit for each instruction: beyond so many of these they are not kept, or they would take gigabytes.
_KEPT = 10_000


class Reach:
    """One side of a pairing.

    Args:
        operands: for each instruction its (operand, result) pairs.
        users: for each instruction its users.
        partners: for each instruction its partner, negative where it is free; changed from outside.

    `steps` counts the operands looked at and the answers that were dropped.
    """

    __slots__ = ("_found", "_operands", "_partners", "_users", "steps")

    def __init__(
        self,
        operands: Sequence[Sequence[tuple[int, int]]],
        users: Sequence[Sequence[int]],
        partners: Sequence[int],
    ) -> None:
        self._operands, self._users, self._partners = operands, users, partners
        self._found: dict[int, int] = {}
        self.steps = 0

    def below(self, start: int) -> int:
        """The paired instructions that are reached from a free one through free ones, one bit each."""
        found = self._found.get(start)
        if found is not None:
            return found
        return self._work_out(start) if len(self._partners) <= _KEPT else self._walk(start)

    def changed(self, position: int) -> None:
        """An instruction was paired or freed: forget what was found through it."""
        if not self._found:
            return
        self._found.pop(position, None)
        waiting = [position]
        for one in waiting:
            for user in self._users[one]:
                # What is known of a user was found through this one: above what is not known nothing is.
                if self._found.pop(user, None) is not None:
                    waiting.append(user)
        self.steps += len(waiting)

    def _work_out(self, start: int) -> int:
        """The answer for one and for all free ones on the way, operands first."""
        found, partners = self._found, self._partners
        waiting = [start]
        opened: set[int] = set()
        while waiting:
            position = waiting[-1]
            if position in found:
                waiting.pop()
                continue
            below = self._operands[position]
            further = [n for n, _ in below if partners[n] < 0 and n not in found and n not in opened]
            self.steps += 1 + len(below)
            opened.add(position)
            if further:
                waiting += further
                continue
            bits = 0
            for operand, _ in below:
                bits |= 1 << operand if partners[operand] >= 0 else found.get(operand, 0)
            found[position] = bits
            waiting.pop()
        return found[start]

    def _walk(self, start: int) -> int:
        partners, reached = self._partners, set[int]()
        waiting, seen = [start], {start}
        for position in waiting:
            below = self._operands[position]
            self.steps += 1 + len(below)
            for operand, _ in below:
                if partners[operand] >= 0:
                    reached.add(operand)
                elif operand not in seen:
                    seen.add(operand)
                    waiting.append(operand)
        return _bits(reached)


def _bits(positions: Iterable[int]) -> int:
    """A number with these bits set."""
    positions = list(positions)
    found = bytearray(max(positions, default=0) // 8 + 1)
    for position in positions:
        found[position // 8] |= 1 << position % 8
    return int.from_bytes(found, "little")
