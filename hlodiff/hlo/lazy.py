"""A program whose computations are read when somebody looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from hlodiff.hlo.grammar import Span
from hlodiff.hlo.model import Computation

Lines = Sequence[str] | None


class LazyComputations(Sequence[Computation]):
    """The computations of a text in canonical form, each read when it is first asked for.

    Args:
        text: the whole text.
        spans: where each computation lies in it.
        read: reads the computation of that index, from other lines where they are given.
    """

    __slots__ = ("_parsed", "_read", "spans", "text")

    def __init__(self, text: str, spans: tuple[Span, ...], read: Callable[[int, Lines], Computation]) -> None:
        self.text = text
        self.spans = spans
        self._read = read
        self._parsed: dict[int, Computation] = {}

    @property
    def parsed(self) -> tuple[int, ...]:
        """Indices of the computations that were read so far."""
        return tuple(self._parsed)

    def read_lines(self, index: int, lines: Sequence[str]) -> Computation:
        """Read the computation of that index as if these were its instructions."""
        return self._read(index, lines)

    def __len__(self) -> int:
        return len(self.spans)

    @overload
    def __getitem__(self, index: int) -> Computation: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Computation, ...]: ...

    def __getitem__(self, index: int | slice) -> Computation | tuple[Computation, ...]:
        if isinstance(index, slice):
            return tuple(self[n] for n in range(*index.indices(len(self))))
        position = range(len(self.spans))[index]
        computation = self._parsed.get(position)
        if computation is None:
            computation = self._parsed[position] = self._read(position, None)
        return computation

    def __iter__(self) -> Iterator[Computation]:
        return (self[n] for n in range(len(self.spans)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self.text)
