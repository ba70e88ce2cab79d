"""Debug information of HLO text: the four tables before the first computation, and `metadata={...}`.

Both forms are read: tables with `stack_frame_id`, and the older inline `source_file=`/`source_line=`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from hlodiff.ir.hlo_tokens import unquote
from hlodiff.ir.model import Frame

_ROW = re.compile(r"(\d+) (.*)")
_PAIR = re.compile(r'([A-Za-z_]\w*)=("(?:[^"\\]|\\.)*"|\{[^{}]*\}|[^\s{}"]+)')
_NUMBER = re.compile(r"(\w+)=(\d+)")


@dataclass(slots=True)
class FrameTable:
    """The tables `FileNames`, `FunctionNames`, `FileLocations`, `StackFrames` while they are read."""

    NAMES: ClassVar[tuple[str, ...]] = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")

    names: dict[str, dict[int, str]] = field(default_factory=dict)
    numbers: dict[str, dict[int, dict[str, int]]] = field(default_factory=dict)
    inline: dict[tuple[str, int], int] = field(default_factory=dict)
    _position: dict[int, int] | None = None

    def add(self, table: str, line: str) -> bool:
        """Take one row; False where it is none."""
        row = _ROW.match(line)
        if row is None:
            return False
        if table in ("FileNames", "FunctionNames"):
            self.names.setdefault(table, {})[int(row.group(1))] = unquote(row.group(2).strip())
        else:
            numbers = {key: int(value) for key, value in _NUMBER.findall(row.group(2))}
            self.numbers.setdefault(table, {})[int(row.group(1))] = numbers
        return True

    def frame_of_id(self, frame_id: int) -> int:
        """Index of a stack frame in `frames()`, -1 where the table has none of that id."""
        if self._position is None:
            self._position = {key: n for n, key in enumerate(self.numbers.get("StackFrames", {}))}
        return self._position.get(frame_id, -1)

    def frame_of_place(self, file: str, line: int) -> int:
        """Index of the frame of an inline `source_file`, `source_line`."""
        first = len(self.numbers.get("StackFrames", {}))
        return self.inline.setdefault((file, line), first + len(self.inline))

    def frames(self) -> tuple[Frame, ...]:
        """All frames, those of the tables first.

        XLA prints a frame's parent as its id plus one, so that 1 is "none" (seen in jaxlib 0.9 and 0.10: frame 1 has
        parent 1, frame 2 has parent 2). Where frame 1 has parent 0 or none the ids are plain.
        """
        stack = self.numbers.get("StackFrames", {})
        files, functions = self.names.get("FileNames", {}), self.names.get("FunctionNames", {})
        shift = 1 if any(key == row.get("parent_frame_id") for key, row in stack.items()) else 0
        frames = []
        for row in stack.values():
            place = self.numbers.get("FileLocations", {}).get(row.get("file_location_id", 0), {})
            frames.append(
                Frame(
                    files.get(place.get("file_name_id", 0), ""),
                    place.get("line", 0),
                    functions.get(place.get("function_name_id", 0), ""),
                    self.frame_of_id(row.get("parent_frame_id", 0) - shift),
                )
            )
        return (*frames, *(Frame(file, line, "") for file, line in self.inline))


def read_metadata(text: str, table: FrameTable) -> tuple[str, int, str]:
    """Read `{op_name="..." stack_frame_id=5 ...}`: scope, frame index, and what else was in it, verbatim."""
    if not text:
        return "", -1, ""
    op_name, file, line, frame = "", "", 0, -1
    rest: list[str] = []
    for key, value in _PAIR.findall(text):
        if key == "op_name":
            op_name = unquote(value)
        elif key == "stack_frame_id" and value.isdigit():
            frame = table.frame_of_id(int(value))
        elif key == "source_file":
            file = unquote(value)
        elif key == "source_line" and value.isdigit():
            line = int(value)
        else:
            rest.append(f"{key}={value}")
    if frame < 0 and file:
        frame = table.frame_of_place(file, line)
    return op_name, frame, " ".join(rest)
