"""Lines of Python around the one that made a change, where the file lies in the project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from hlodiff.ir.frames import is_library, own_frame, portable_file
from hlodiff.ir.model import Frame
from hlodiff.report.escape import printable

_LARGEST = 1 << 20
_WIDEST = 200
_ABSOLUTE = ("/", "\\")


@dataclass(slots=True)
class Sources:
    """Python files of a project, each read once.

    Snapshots and programs name files, and anybody may have written them: only `.py` files inside the project are
    opened, none that is hidden, and none that a link leads out of it to.

    Args:
        root: the project's folder; "" where there is none.
        around: lines before and after.
    """

    root: str
    around: int
    _files: dict[str, list[str]] = field(default_factory=dict)

    def excerpt(self, source: Sequence[Frame]) -> dict[str, Any] | None:
        """The lines around the innermost frame of the user's own code; None where they are not at hand."""
        frame = own_frame(source)
        if frame is None or not self.root or is_library(frame.file):
            return None
        name = portable_file(frame.file, self.root)
        # A file of another folder is known by its bare name, and the project's file of that name is another one.
        if (frame.file.startswith(_ABSOLUTE) or ":" in frame.file) and not frame.file.startswith(
            self.root.rstrip("/") + "/"
        ):
            return None
        lines = self._lines(name)
        first = max(frame.line - self.around, 1)
        shown = [printable(line[:_WIDEST]) for line in lines[first - 1 : frame.line + self.around]]
        return (
            {"file": printable(name), "line": frame.line, "first": first, "lines": shown}
            if (0 < frame.line <= len(lines))
            else None
        )

    def _lines(self, name: str) -> list[str]:
        if name not in self._files:
            self._files[name] = self._read(name)
        return self._files[name]

    def _read(self, name: str) -> list[str]:
        parts = PurePosixPath(name).parts
        if not name.endswith(".py") or any(part.startswith(".") for part in parts):
            return []
        try:
            top = Path(self.root).resolve()
            path = (top / name).resolve()
            if not path.is_relative_to(top) or not path.is_file() or path.stat().st_size > _LARGEST:
                return []
            return path.read_text(encoding="utf-8").expandtabs(4).splitlines()
        except (OSError, ValueError, RuntimeError):
            return []
