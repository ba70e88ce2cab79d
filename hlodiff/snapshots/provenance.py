"""source.json: the scope and Python frame of each instruction, and how to attach them to a module again."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from hlodiff.hlo.metadata import is_library, portable_file
from hlodiff.hlo.model import Computation, Frame, Instruction, Module


def source_of(module: Module, root: str) -> dict[str, Any]:
    """The provenance of a module as a JSON table.

    Args:
        module: a program whose instructions have scopes and frames.
        root: the project's folder; files below it are named relative to it.

    Returns:
        `frames` (file, line, function, parent), `op_names`, and for each computation and instruction name the indices
        of its scope and frame (-1 if unknown).

    Example:
        >>> source_of(Module("m", "compiled", (), 0), "/project")
        {'frames': [], 'op_names': [], 'instructions': {}}
    """
    scopes: dict[str, int] = {}
    table: dict[str, dict[str, list[int]]] = {}
    for computation in module.computations:
        rows = {}
        for key, instruction in _keyed(computation):
            if instruction.op_name or instruction.frame >= 0:
                scope = scopes.setdefault(instruction.op_name, len(scopes)) if instruction.op_name else -1
                rows[key] = [scope, instruction.frame]
        if rows:
            table[computation.name] = rows
    frames = [[portable_file(f.file, root), f.line, f.function, f.parent] for f in module.frames]
    return {"frames": frames, "op_names": list(scopes), "instructions": table}


def content_id(content: bytes) -> str:
    """The name that git gives to the content of a file, with line ends as git stores them.

    Example:
        >>> content_id(b"x = 1\\n") == content_id(b"x = 1\\r\\n"), content_id(b"")
        (True, 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391')
    """
    content = content.replace(b"\r\n", b"\n")
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def contents_of_files(modules: Iterable[Module], root: str) -> dict[str, str]:
    """The project's Python files that programs came from, each with git's name for its current content.

    The lines of a program are those of these contents; a file may change, and the program stay the same.

    Args:
        modules: programs with frames.
        root: the project's folder.

    Example:
        >>> contents_of_files([Module("m", "compiled", (), 0)], "/project")
        {}
    """
    files = {portable_file(frame.file, root) for module in modules for frame in module.frames}
    found: dict[str, str] = {}
    for file in sorted(file for file in files if file and not is_library(file)):
        path = Path(root, file)
        if path.is_file():
            found[file] = content_id(path.read_bytes())
    return found


_FILES = re.compile(rb'\{"files":(\{[^{}]*\})[,}]')
_MOST_BYTES_OF_FILES = 256 * 1024


def recorded_files(source: bytes) -> dict[str, str]:
    """The files that a source.json names with their contents; {} if an older version wrote it, or if it is damaged.

    Args:
        source: the file's content; only the beginning is read.

    Example:
        >>> recorded_files(b'{"files":{"net.py":"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"},"stablehlo":{}}')
        {'net.py': 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'}
        >>> recorded_files(b'{"stablehlo":{}}')
        {}
    """
    found = _FILES.match(source[:_MOST_BYTES_OF_FILES])
    try:
        table = json.loads(found[1]) if found else {}
    except ValueError:
        return {}
    return {file: name for file, name in table.items() if isinstance(name, str) and re.fullmatch("[0-9a-f]{40}", name)}


def _keyed(computation: Computation) -> Iterator[tuple[str, Instruction]]:
    """Instructions by name; `custom_call#2` is the second of a name.

    An operation of StableHLO without results has no name of its own, only that of its opcode.
    """
    seen: Counter[str] = Counter()
    for it in computation.instructions:
        seen[it.name] += 1
        yield it.name if seen[it.name] == 1 else f"{it.name}#{seen[it.name]}", it


def numbered(module: Module) -> Module:
    """Set every instruction's `line` to its serial number, so that it can be found again after normalizing.

    StableHLO with debug info has no lines of its own: its locations refer to Python.
    """
    serial = count()
    computations = tuple(
        replace(c, instructions=tuple([_with(i, i.op_name, i.frame, next(serial)) for i in c.instructions]))
        for c in module.computations
    )
    return replace(module, computations=computations)


def restored(normalized: Module, raw: Module) -> Module:
    """Restore the scopes and frames that normalizing dropped.

    Args:
        normalized: the result of `normalize(numbered(raw))`.
        raw: the program as the compiler printed it.

    Returns:
        the normalized program with provenance; it prints the same text.

    Example:
        >>> restored(numbered(Module("m", "compiled", (), 0)), Module("m", "compiled", (), 0)).frames
        ()
    """
    known = [instruction for computation in raw.computations for instruction in computation.instructions]

    def put_back(instruction: Instruction) -> Instruction:
        origin = known[instruction.line] if 0 <= instruction.line < len(known) else instruction
        return _with(instruction, origin.op_name, origin.frame, instruction.line)

    computations = tuple(replace(c, instructions=tuple(map(put_back, c.instructions))) for c in normalized.computations)
    return replace(normalized, computations=computations, frames=raw.frames)


def attach_source(module: Module, source: Mapping[str, Any] | None) -> Module:
    """Attach the scopes and frames of a source.json table to a module.

    Args:
        module: a program read from a snapshot.
        source: the table that `source_of` returned when it was recorded. If it is None or does not fit, the module is
            returned unchanged, because provenance serves reports only.

    Returns:
        the same program with provenance.

    Example:
        >>> module = Module("m", "compiled", (), 0)
        >>> attach_source(module, None) is module
        True
    """
    if not source:
        return module
    try:
        frames = tuple(Frame(str(a), _whole(b), str(c), _whole(d)) for a, b, c, d in source["frames"])
        scopes = [str(scope) for scope in source["op_names"]]
        table: Mapping[str, Mapping[str, list[int]]] = source["instructions"]
        computations = []
        for computation in module.computations:
            rows = table.get(computation.name, {})
            instructions = list(computation.instructions)
            for place, (key, it) in enumerate(_keyed(computation)):
                if (row := rows.get(key)) is not None:
                    scope, frame = map(_whole, row)
                    op_name = scopes[scope] if 0 <= scope < len(scopes) else ""
                    instructions[place] = _with(it, op_name, frame if 0 <= frame < len(frames) else -1, it.line)
            computations.append(replace(computation, instructions=tuple(instructions)) if rows else computation)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return module
    return replace(module, computations=tuple(computations), frames=frames)


def _whole(number: object) -> int:
    """An integer of a line or a row; anything else is invalid."""
    if type(number) is not int or number.bit_length() > _BITS:
        raise ValueError(number)
    return number


_BITS = 60


def name_arguments(module: Module, arguments: object) -> Module:
    """Name a module's arguments by their paths in a summary.

    An already jitted function may pass its arguments on under other names: `eqx.filter_jit` calls all of them
    `dynamic_nodonate['first'][6]`, and differently once they are donated.

    Args:
        module: a program read from a snapshot.
        arguments: the list in its summary; if it does not fit, the module stays unchanged, and an invalid path keeps
            its name.

    Example:
        >>> module = Module("m", "compiled", (), 0)
        >>> name_arguments(module, None) is module
        True
    """
    rows = [one for one in arguments if isinstance(one, Mapping)] if isinstance(arguments, list) else []
    paths = [one.get("path") for one in rows if one.get("unused") is not True]
    positions = module.entry_computation.parameters if module.computations else ()
    named = any(module.entry_computation.instructions[position].op_name for position in positions)
    if not named or len(paths) != len(positions):
        return module
    instructions = list(module.entry_computation.instructions)
    for position, path in zip(positions, paths, strict=True):
        if isinstance(path, str) and path and instructions[position].op_name:
            instructions[position] = replace(instructions[position], op_name=path)
    entry = replace(module.entry_computation, instructions=tuple(instructions))
    computations = list(module.computations)
    computations[module.entry] = entry
    return replace(module, computations=tuple(computations))


def name_results(module: Module, results: object) -> Module:
    """Name a module's results by their paths in a summary; a list that does not fit leaves the module unchanged.

    Example:
        >>> name_results(Module("m", "stablehlo", (), 0), [{"path": "result[0]"}]).result_paths
        ('result[0]',)
    """
    rows = [one for one in results if isinstance(one, Mapping)] if isinstance(results, list) else []
    paths = [path for row in rows if isinstance(path := row.get("path"), str) and path]
    return replace(module, result_paths=tuple(paths)) if len(paths) == len(rows) and paths else module


# A plain constructor call instead of `dataclasses.replace`: a third of its time, and this runs for every instruction.
def _with(it: Instruction, op_name: str, frame: int, line: int) -> Instruction:
    """The instruction with a different scope, frame and line."""
    return Instruction(
        it.name, it.opcode, it.shape, it.operands, it.results, it.attributes, it.calls, it.control_predecessors,
        it.literal, op_name, frame, it.metadata, line,
    )  # fmt: skip
