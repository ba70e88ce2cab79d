"""How often something happens in one call of a program: exactly, within bounds, or per turn of a loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hlodiff.hlo.metadata import shown_file


@dataclass(frozen=True, slots=True)
class UncountedLoop:
    """A loop whose number of turns is not known.

    Args:
        condition: a digest of what its condition does, without names; equal for the same loop of two programs.
        name: of the `while` in the program.
        file, line: the user's line that made it; "" and 0 where it is not known.
    """

    condition: str
    name: str
    file: str = ""
    line: int = 0

    def words(self, root: str = "") -> str:
        """`the loop at model.py:12`, or its name in the program where no line is known.

        Example:
            >>> UncountedLoop("", "while.3", "model.py", 12).words(), UncountedLoop("", "while.3").words()
            ('the loop at model.py:12', 'the loop %while.3')
        """
        return f"the loop at {shown_file(self.file, root)}:{self.line}" if self.line else f"the loop %{self.name}"


@dataclass(frozen=True, slots=True)
class ExecutedCount:
    """A count of what one call of a program does.

    Args:
        least, most: how much is known to happen outside of loops with unknown trip counts; equal where it is exact,
            `most` is None where it is more than can be counted.
        per_turn: for each loop with an unknown trip count how much one turn does, as (loop, least, most).
    """

    least: int = 0
    most: int | None = 0
    per_turn: tuple[tuple[UncountedLoop, int, int | None], ...] = ()

    @property
    def exact(self) -> int | None:
        """The number, None where only a range or a number per turn is known.

        Example:
            >>> ExecutedCount(3, 3).exact, ExecutedCount(0, 3).exact
            (3, None)
        """
        return self.least if self.least == self.most and not self.per_turn else None

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The fewest and the most there can be; the most is None where a loop may turn any number of times.

        Example:
            >>> ExecutedCount(2, 2, ((UncountedLoop("", "w"), 1, 1),)).bounds
            (2, None)
        """
        return self.least, None if self.per_turn else self.most

    def words(self, show: Callable[[float], str], root: str = "") -> str:
        """The number as people read it.

        Args:
            show: of one number.
            root: the project's folder; files of loops below it are named relative to it.

        Example:
            >>> ExecutedCount(4, 4).words(str), ExecutedCount(0, 12).words(str), ExecutedCount(2, 12).words(str)
            ('4', 'at most 12', '2 to 12')
            >>> ExecutedCount(2, 2, ((UncountedLoop("", "w", "model.py", 12), 3, 3),)).words(str)
            '2 + 3 per turn of the loop at model.py:12'
        """
        parts = [_range(self.least, self.most, show)] if self.most != 0 or not self.per_turn else []
        for loop, least, most in self.per_turn:
            parts.append(f"{_range(least, most, show)} per turn of {loop.words(root)}")
        return " + ".join(parts)

    def to_json(self) -> object:
        """The number, or `at_least`, `at_most` and `per_turn` by loop where it is not known.

        Example:
            >>> ExecutedCount(3, 3).to_json(), ExecutedCount(0, 3).to_json()
            (3, {'at_least': 0, 'at_most': 3})
        """
        if self.exact is not None:
            return self.exact
        least, most = self.bounds
        value: dict[str, object] = {"at_least": least, "at_most": most}
        if self.per_turn:
            value["per_turn"] = {loop.name: low if low == high else [low, high] for loop, low, high in self.per_turn}
        return value

    def is_same(self, other: ExecutedCount) -> bool:
        """Whether both are equal counts of the same loops, whatever these are called."""
        ours, theirs = (
            (one.least, one.most, sorted((loop.condition, low, high or -1) for loop, low, high in one.per_turn))
            for one in (self, other)
        )
        return ours == theirs

    def compares_with(self, other: ExecutedCount) -> bool:
        """Whether a difference of two counts means something: both exact, or equally unknown of the same loops.

        Example:
            >>> [ExecutedCount(3, 3).compares_with(other) for other in (ExecutedCount(4, 4), ExecutedCount(0, 4))]
            [True, False]
        """
        if self.exact is not None and other.exact is not None:
            return True
        loops = [sorted(loop.condition for loop, _, _ in one.per_turn) for one in (self, other)]
        ranges = [(low, high) for one in (self, other) for _, low, high in one.per_turn]
        ranges += [(one.least, one.most) for one in (self, other)]
        return loops[0] == loops[1] and bool(loops[0]) and all(low == high for low, high in ranges)


def _range(least: int, most: int | None, show: Callable[[float], str]) -> str:
    if most is None:
        return f"at least {show(least)}"
    if least == most:
        return show(least)
    return f"{show(least)} to {show(most)}" if least else f"at most {show(most)}"


ZERO = ExecutedCount()
"""Of something that does not happen."""
