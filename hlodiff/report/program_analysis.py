"""Notes on one program: copies, duplicate computations, large constants, loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hlodiff.differ.program_analysis import CountedLoop, LoweredAgain, ProgramAnalysis, RepeatedComputation, Table
from hlodiff.differ.repeats import FrameTree, Repeat
from hlodiff.hlo.metadata import is_library, shown_file
from hlodiff.report.wording import format_bytes, many

MOST = 10
"""The most notes listed of each kind, costliest first; JSON has all."""


@dataclass(frozen=True, slots=True)
class AnalysisNote:
    """One note on a program.

    Args:
        kind: "copies", "computed twice", "lowered again", "large constant" or "loop".
        what: one line.
        advice: what to do about it; "" if nothing is wrong.
    """

    kind: str
    what: str
    advice: str = ""


def analysis_notes(
    found: ProgramAnalysis, root: str = "", tables: Mapping[str, tuple[str, str]] | None = None
) -> Iterator[AnalysisNote]:
    """All notes on a program.

    Args:
        found: the analysis of the program.
        root: the project's folder, which file paths are relative to.
        tables: variable and source location of known constants, by the hash of their bytes.

    Returns:
        the notes, kind by kind.

    Example:
        >>> list(analysis_notes(ProgramAnalysis()))
        []
    """
    yield from (AnalysisNote("copies", format_copies(one, root), advice_for(one)) for one in found.repeats)
    yield from (_lowered_again(one, root) for one in found.lowered_again)
    yield from (_twice(one, root) for one in found.twice)
    yield from (_table(one, root, tables or {}) for one in found.tables)
    yield from (_loop(one, root) for one in found.loops)


def listed(everything: Sequence[AnalysisNote]) -> Iterator[AnalysisNote]:
    """The first notes of each kind, and the number of others."""
    for kind in dict.fromkeys(one.kind for one in everything):
        group = [one for one in everything if one.kind == kind]
        yield from group[:MOST]
        if len(group) > MOST:
            yield AnalysisNote(kind, f"... and {len(group) - MOST} more, --format json lists them")


def place_of(lines: FrameTree, root: str = "") -> str:
    """Lines of a function: `model.py:31 (loss)`, `model.py:31-34 (loss)`.

    Example:
        >>> place_of(FrameTree("model.py", 31, 34, "make.<locals>.loss"))
        'model.py:31-34 (make.loss)'
    """
    function = lines.function.replace("<locals>.", "")
    last = f"-{lines.last}" if lines.last != lines.first else ""
    return f"{shown_file(lines.file, root)}:{lines.first}{last}" + (f" ({function})" if function else "")


def format_copies(repeat: Repeat, root: str = "", copies: str = "") -> str:
    """Copies of a body: `model.py:31 (loss): 24 copies of 30 operations, each fed by the one before`.

    Args:
        repeat: the copies.
        root: the project's folder.
        copies: the count as text, if it is more than one number.
    """
    times = f", at {repeat.times} places" if repeat.times > 1 else ""
    # A library's loop is listed with the user's line that calls it.
    library = is_library(repeat.where.file)
    callers = [caller for caller in repeat.callers if not (library and is_library(caller.file))]
    called = f", called from {place_of(callers[0], root)}" if callers else ""
    count = copies or f"{repeat.copies:,}"
    body = f"{count} copies of {many(repeat.body, 'operation')}, each fed by the one before"
    return f"{place_of(repeat.where, root)}: {body}{times}{called}"


def advice_for(repeat: Repeat) -> str:
    """Advice on how to compile the copied body once."""
    whose = "a library's Python loop" if is_library(repeat.where.file) else "a Python loop"
    return f"{whose}, which JAX unrolls; jax.lax.scan or jax.lax.fori_loop compiles the body once"


def _places(lines: Sequence[FrameTree], root: str) -> str:
    words = [place_of(one, root) for one in lines[:3]]
    more = [f"{len(lines) - 3} more"] if len(lines) > 3 else []
    return " and ".join([", ".join([*words, *more][:-1]), [*words, *more][-1]]) if len(words) > 1 else "".join(words)


def _twice(one: RepeatedComputation, root: str) -> AnalysisNote:
    at = f" at {_places(one.lines, root)}" if one.lines else ""
    what = (
        f"{one.what} is computed {one.times} times from the same inputs{at}, {many(one.operations, 'operation')} each"
    )
    return AnalysisNote(
        "computed twice", what, "compute it once and pass it on; XLA finds equal ones only after you traced both"
    )


def _lowered_again(one: LoweredAgain, root: str) -> AnalysisNote:
    at = f", called at {_places(one.lines, root)}" if one.lines else ""
    what = f"{one.name}: {one.times} equal functions of {many(one.operations, 'operation')}{at}"
    return AnalysisNote("lowered again", what, "make the function and its jit once, outside of what calls it")


def _table(one: Table, root: str, tables: Mapping[str, tuple[str, str]]) -> AnalysisNote:
    name, _ = tables.get(one.digest, ("", ""))
    at = f", read at {place_of(one.where, root)}" if one.where else ""
    times = f", {one.times} times" if one.times > 1 else ""
    what = f"{f'`{name}` ' if name else ''}{one.shape}, {format_bytes(one.bytes)}{times}{at}"
    return AnalysisNote("large constant", what, "its numbers are part of the program; an argument is not")


def _loop(one: CountedLoop, root: str) -> AnalysisNote:
    at = f"{place_of(one.where, root)}: " if one.where else ""
    turns = f"{'at most ' if one.known == 'at most' else ''}{many(one.turns, 'turn')}"
    times = f", at {one.times} places" if one.times > 1 else ""
    return AnalysisNote("loop", f"{at}{turns} of {many(one.body, 'operation')}{times}")


def program_analysis_json(
    found: ProgramAnalysis, root: str = "", tables: Mapping[str, tuple[str, str]] | None = None
) -> dict[str, Any]:
    """All notes on a program as JSON values.

    Args:
        found, root, tables: see `analysis_notes`.

    Returns:
        plain values by kind.
    """
    return {
        "copies": [
            {"source": _line_json(r.where, root), "called_from": [_line_json(c, root) for c in r.callers],
             "copies": r.copies, "operations": r.body, "order": r.order, "times": r.times, "python_loop": r.in_loop}
            for r in found.repeats
        ],
        "lowered_again": [
            {"function": one.name, "times": one.times, "operations": one.operations,
             "source": [_line_json(line, root) for line in one.lines]}
            for one in found.lowered_again
        ],
        "computed_twice": [
            {"what": one.what, "times": one.times, "operations": one.operations,
             "source": [_line_json(line, root) for line in one.lines]}
            for one in found.twice
        ],
        "large_constants": [
            {"shape": one.shape, "bytes": one.bytes, "times": one.times,
             "variable": (tables or {}).get(one.digest, ("", ""))[0], "source": _line_json(one.where, root)}
            for one in found.tables
        ],
        "loops": [
            {"turns": one.turns, "known": one.known, "operations": one.body, "times": one.times,
             "source": _line_json(one.where, root)}
            for one in found.loops
        ],
    }  # fmt: skip


def _line_json(lines: FrameTree | None, root: str) -> dict[str, Any] | None:
    if lines is None:
        return None
    file = shown_file(lines.file, root)
    return {"file": file, "line": lines.first, "last_line": lines.last, "function": lines.function}
