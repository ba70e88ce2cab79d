"""Frames of Python as a tree: which lines an instruction comes from, whichever way they were numbered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hlodiff.ir.frames import is_library
from hlodiff.ir.model import Frame, Module

# Whether a line lies in a Python loop or comprehension; None where its file cannot be read.
InLoop = Callable[[str, int], bool | None]


def unknown(file: str, line: int) -> bool | None:
    """What is known of a line whose file is not looked at."""
    return None


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one function of Python.

    Args:
        file: as the program names it.
        first, last: 1-based.
        function: its name; "" where it is not known.
    """

    file: str
    first: int
    last: int
    function: str

    def frame(self) -> Frame:
        """The first line as a frame."""
        return Frame(self.file, self.first, self.function)


def chain(module: Module, frame: int) -> Iterator[int]:
    """A frame and its callers, innermost first, as indices; a cycle in a damaged table ends it."""
    seen: set[int] = set()
    while 0 <= frame < len(module.frames) and frame not in seen:
        seen.add(frame)
        yield frame
        frame = module.frames[frame].parent


def own_line(module: Module, frame: int) -> Lines | None:
    """The innermost line of the user's own code; the innermost of all where every one is a library's."""
    indices = list(chain(module, frame))
    for index in indices:
        if not is_library(module.frames[index].file):
            return line_of(module, index)
    return line_of(module, indices[0]) if indices else None


def line_of(module: Module, frame: int) -> Lines:
    """One frame as lines."""
    found = module.frames[frame]
    return Lines(found.file, found.line, found.line, found.function)
