"""How much of the code one small diff executes: `python -m benchmarks.walk`; `--list` names all of it.

A reader who follows one program from text to report opens every file and function on the way. This runs `hlodiff diff`
on the pair of docs/internals.md under `sys.setprofile` and counts the files and functions of hlodiff that are entered,
and the calls from a function of one file to a function of another. Python also runs the body of each class, once, when
it imports the file; these are counted as functions, and apart.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from dataclasses import dataclass
from inspect import CO_NEWLOCALS
from pathlib import Path
from types import CodeType, FrameType

import hlodiff

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGE = str(Path(hlodiff.__file__).resolve().parent)
_PROGRAM = re.compile(r"```hlo (old|new)\.hlo\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Walk:
    """Functions and bodies of classes of hlodiff that a command entered, and calls from one file into another."""

    entered: frozenset[CodeType]
    crossings: int

    @property
    def files(self) -> dict[str, list[str]]:
        """By file, what was entered."""
        found: dict[str, list[str]] = {}
        for code in sorted(self.entered, key=lambda code: (code.co_filename, code.co_firstlineno)):
            found.setdefault(code.co_filename.removeprefix(f"{_PACKAGE}/"), []).append(code.co_qualname)
        return found

    @property
    def classes(self) -> int:
        """How many of them are bodies of classes."""
        return sum(not code.co_flags & CO_NEWLOCALS for code in self.entered)


def pair(page: str) -> dict[str, str]:
    """The two programs of docs/internals.md by name, `old` and `new`."""
    return dict(_PROGRAM.findall(page))


def walk(arguments: list[str]) -> Walk:
    """Run one hlodiff command in this process and count the files, functions and calls that it enters.

    Module-level code and comprehensions do not count as functions. Modules are imported during the run, as for a user.
    """
    import hlodiff.cli

    entered: set[CodeType] = set()
    crossings = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal crossings
        if event != "call" or not frame.f_code.co_filename.startswith(_PACKAGE) or frame.f_code.co_name.startswith("<"):
            return
        entered.add(frame.f_code)
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith(_PACKAGE):
            crossings += caller.f_code.co_filename != frame.f_code.co_filename

    with contextlib.redirect_stdout(io.StringIO()):
        sys.setprofile(note)
        try:
            hlodiff.cli.run(arguments)  # imports the command, as for a user
        finally:
            sys.setprofile(None)
    return Walk(frozenset(entered), crossings)


def main() -> None:
    programs = pair((_ROOT / "docs" / "internals.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{name}.hlo") for name in ("old", "new")]
        for path in paths:
            path.write_text(programs[path.stem], encoding="utf-8")
        found = walk(["diff", *map(str, paths)])
    for file, names in found.files.items() if "--list" in sys.argv[1:] else ():
        print(f"{file}: {', '.join(names)}")
    functions = f"{len(found.entered)} functions ({found.classes} of them bodies of classes)"
    print(f"{len(found.files)} files, {functions}, {found.crossings:,} calls from one file into another")


if __name__ == "__main__":
    main()
