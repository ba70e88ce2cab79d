"""Where the computations of HLO text stand, found without reading them: a program of 100,000 instructions in 20 ms.

Only text in the form that XLA prints is outlined: two spaces before each instruction, `}` in column 0. Everything else
is for the reader, which takes any form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from hlodiff.ir.model import Computation

# Lines that begin or end a computation, and what is in neither form.
_BORDER = re.compile(r"\n(?!  )([^\n]*)")
_HEAD = re.compile(r"(ENTRY )?%?([^\s({%]+) (?:\(.*)?\{")


@dataclass(frozen=True, slots=True)
class Chunk:
    """The text of one computation, not yet read.

    Args:
        name: of the computation, without `%`.
        is_entry: whether it is marked ENTRY.
        start, body, end: where its head, its first instruction and its closing `}` begin in the text.
        closing: what stands behind the `}` on its line.
        line: lines before the head.
        lines: from the head to the `}`; each is an instruction in XLA's own form.
    """

    name: str
    is_entry: bool
    start: int
    body: int
    end: int
    closing: str
    line: int
    lines: int


def outline(text: str, start: int, line: int) -> tuple[Chunk, ...] | None:
    """Find the computations of a module.

    Args:
        text: HLO text.
        start: where the first computation's head begins, behind a line break.
        line: lines before it.

    Returns:
        All computations in the order of the text; None where the text is not in XLA's own form, or has no single
        entry, or two computations of one name.

    Example:
        >>> [c.name for c in outline("\\n%a (p: f32[]) -> f32[] {\\n  x\\n}\\n\\nENTRY %b {\\n  y\\n}\\n", 1, 1)]
        ['a', 'b']
    """
    chunks: list[Chunk] = []
    head: re.Match[str] | None = None  # of the computation that is open
    for border in _BORDER.finditer(text, start - 1):
        words = border[1]
        if head is not None:
            lines = text.count("\n", start, border.start(1))
            if not lines or not words.startswith("}"):
                return None
            places = (start - 1 - len(head[0]), start, border.start(1))
            chunks.append(Chunk(head[2], head[1] is not None, *places, words[1:].strip(), line, lines))
            line += lines + 2
            head = None
        elif words:
            head, start = _HEAD.fullmatch(words), border.end() + 1
            if head is None:
                return None
        else:
            line += 1
    if head is not None:
        return None
    if sum(chunk.is_entry for chunk in chunks) != 1 or len({chunk.name for chunk in chunks}) != len(chunks):
        return None
    return tuple(chunks)


Lines = Sequence[str] | None


class Unread(Sequence[Computation]):
    """Computations that are read when somebody looks at them.

    Args:
        text: the whole text.
        chunks: where they stand.
        read: reads the computation of that index, or other lines in its place.
    """

    __slots__ = ("_found", "_read", "chunks", "text")

    def __init__(self, text: str, chunks: tuple[Chunk, ...], read: Callable[[int, Lines], Computation]) -> None:
        self.text = text
        self.chunks = chunks
        self._read = read
        self._found: dict[int, Computation] = {}

    @property
    def looked_at(self) -> tuple[int, ...]:
        """Indices of what was read so far."""
        return tuple(self._found)

    def read_lines(self, index: int, lines: Sequence[str]) -> Computation:
        """Read the computation of that index as if these were its instructions."""
        return self._read(index, lines)

    def __len__(self) -> int:
        return len(self.chunks)

    @overload
    def __getitem__(self, index: int) -> Computation: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Computation, ...]: ...

    def __getitem__(self, index: int | slice) -> Computation | tuple[Computation, ...]:
        if isinstance(index, slice):
            return tuple(self[n] for n in range(*index.indices(len(self))))
        position = range(len(self.chunks))[index]
        found = self._found.get(position)
        if found is None:
            found = self._found[position] = self._read(position, None)
        return found

    def __iter__(self) -> Iterator[Computation]:
        return (self[n] for n in range(len(self.chunks)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self.text)
