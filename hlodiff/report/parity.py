"""Report on how what a call compiles differs from what is compiled ahead of time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from hlodiff.differ.placement import placements
from hlodiff.differ.result import Edit, ModuleDiff
from hlodiff.hlo.metadata import shown_file
from hlodiff.hlo.model import Module
from hlodiff.policy.parity import Parity, ParityProgram
from hlodiff.report.lines import clip, escape_markdown, json_text, printable
from hlodiff.report.wording import format_memory_space, many, place

FORMAT_VERSION = "1.0"
_AHEAD = "when compiled ahead of time"
_MOST = 6
_WIDEST = 100
_MLIR = re.compile(r"#stablehlo<\w+ (\w+)>")


def parity_text(parities: Sequence[Parity], root: str = "") -> str:
    """The report for a terminal, ending in a newline."""
    return "\n".join("".join(printable(line) + "\n" for line in _text(parity, root)) for parity in parities)


def _text(parity: Parity, root: str) -> Iterator[str]:
    yield f"{parity.name}  called on {parity.target}: {_summary(parity)}"
    for program in parity.programs:
        at = f", called at {program.called_at}" if program.called_at else ""
        verdict = "differs" if program.differs else "has no counterpart" if program.diff is None else "the same"
        yield f"  {program.name}  {program.place}{at}: {verdict}"
        yield from (f"    {line}" for line in explained(program, parity, root))
    if not parity.programs and not parity.eager:
        yield "  what it calls was compiled before, by `.lower().compile()`, and runs as it is"
    if parity.jitted_here:
        yield "  the function has no jit of its own, so it was called through jax.jit, as for snapshots"
    if parity.eager:
        names = ", ".join(f"{name} {n}" if n > 1 else name for name, n in Counter(parity.eager).most_common(_MOST))
        ran = many(len(parity.eager), "operation")
        yield f"  {ran} outside of every jitted function, with no counterpart ahead of time: {names}"


def _summary(parity: Parity) -> str:
    alone = sum(program.diff is None for program in parity.programs)
    differing = sum(program.differs for program in parity.programs)
    same = len(parity.programs) - differing - alone
    counts = ((differing, "other than ahead of time"), (same, "the same"), (alone, "without a counterpart"))
    words = ", ".join(f"{count} {what}" for count, what in counts if count)
    return f"{many(len(parity.programs), 'program')} compiled{': ' if words else ''}{words}"


def explained(program: ParityProgram, parity: Parity, root: str = "") -> Iterator[str]:
    """What differs between the called and the ahead-of-time program, why, and what to do.

    Args:
        program: a program of the call.
        parity: the call.
        root: the project's folder.

    Returns:
        lines of text; none if both are the same.
    """
    if program.problem:
        yield program.problem
    if program.numbers and program.differs:
        yield program.numbers
    if program.diff is not None:
        yield from _sentences(program.diff, root)
    if program.compiled is not None:
        yield from _compiled(program.compiled, parity.compiled_for)
    if program.differs or (program.problem and program.context):
        yield from _reasons(program)


def _sentences(diff: ModuleDiff, root: str) -> Iterator[str]:
    """Distinct differences, with their lines."""
    groups: dict[str, list[Edit]] = {}
    for edit in diff.reported:
        for words in _words(edit):
            groups.setdefault(words, []).append(edit)
    for words, edits in groups.items():
        count = sum(edit.count for edit in edits)
        lines = list(dict.fromkeys(filter(None, (place(edit.source, root) for edit in edits))))
        more = f" and {len(lines) - 3} more lines" if len(lines) > 3 else ""
        at = f": {', '.join(lines[:3])}{more}" if lines else ""
        text = words.replace("run on", "runs on").replace("have their", "has its") if count == 1 else words
        yield f"{many(count, 'operation')} {text}{at}"


def _words(edit: Edit) -> Iterator[str]:
    """What differs, as clauses that follow "operations"."""
    if edit.kind == "removed" and edit.old:
        yield f"only when called ({edit.old.opcode})"
    elif edit.kind == "added" and edit.new:
        yield f"only {_AHEAD} ({edit.new.opcode})"
    for change in edit.changes:
        if change.field == "compute_type":
            yield f"run on the {change.old or 'device'} when called and on the {change.new or 'device'} {_AHEAD}"
        elif change.field == "memory_space":
            old, new = format_memory_space(change.old), format_memory_space(change.new)
            yield f"have their result in {old} when called and in {new} {_AHEAD}"
        else:
            old, new = (clip(_MLIR.sub(r"\1", value), _WIDEST) or "none" for value in (change.old, change.new))
            field = change.field.removeprefix("attribute:").replace("_", " ")
            yield f"with {field} {old} when called and {new} {_AHEAD}"


def _compiled(diff: ModuleDiff, target: str) -> Iterator[str]:
    called, ahead = (_on_host(module) for module in (diff.old, diff.new))
    if called or ahead:
        ran = f"{many(called, 'operation')} in the host's thread (HostExecute) when called, {ahead:,} {_AHEAD}"
        yield f"compiled for {target}: {ran}"
    elif diff.edits:
        yield f"compiled for {target}: {many(sum(edit.count for edit in diff.edits), 'difference')}"
    else:
        yield f"compiled for {target}: the same"


def _on_host(module: Module) -> int:
    compute = placements(module).get("compute", {})
    return int(compute.get("host", 0))


def _reasons(program: ParityProgram) -> Iterator[str]:
    """The context of the call, and how to reproduce it for `.lower()`."""
    for name, value in program.context:
        if name == "compute_on":
            yield f'compute_on("{value}") surrounds the call, and `.lower()` outside of it does not see it'
            yield "put compute_on inside of the function that is jitted, and jax.jit outside"
        elif name == "jax_default_matmul_precision":
            yield f'jax.default_matmul_precision("{value}") surrounds the call but not `.lower()`'
            yield "put it inside of the jitted function, or give precision= to the operation"
        else:
            yield f"{name.replace('jax_', '')} {value} surrounds the call but not `.lower()`"
            yield "put it inside of the jitted function, or around `.lower()` too"
    if not program.context:
        yield "nothing known surrounds the call: check whether the function reads something that changes"


def parity_markdown(parities: Sequence[Parity], root: str = "") -> str:
    """The report as Markdown; untrusted names are escaped."""
    lines = []
    for parity in parities:
        head, *rest = _text(parity, root)
        lines += [f"### {escape_markdown(head)}", "", *(f"- {escape_markdown(line.strip())}" for line in rest), ""]
    return "\n".join(lines) + "\n"


def parity_json(parities: Sequence[Parity], root: str = "") -> str:
    """The complete report as JSON."""
    value = {"format_version": FORMAT_VERSION, "parities": [_json(parity, root) for parity in parities]}
    return json_text(value)


def _json(parity: Parity, root: str) -> dict[str, Any]:
    return {
        "name": parity.name,
        "called_on": parity.target,
        "compiled_for": parity.compiled_for,
        "jitted_here": parity.jitted_here,
        "eager": dict(sorted(Counter(parity.eager).items())),
        "programs": [
            {
                "name": program.name,
                "place": program.place,
                "called_at": program.called_at,
                "differs": program.differs,
                "problem": program.problem,
                "context": dict(program.context),
                "numbers": program.numbers,
                "what": list(explained(program, parity, root)),
                "stablehlo": _diff_json(program.diff, root),
                "compiled": _diff_json(program.compiled, root),
                "operations_on_host": [_on_host(program.compiled.old), _on_host(program.compiled.new)]
                if program.compiled
                else None,
            }
            for program in parity.programs
        ],
    }


def _diff_json(diff: ModuleDiff | None, root: str) -> dict[str, Any] | None:
    if diff is None:
        return None
    edits = [edit.to_json() for edit in diff.edits]
    for edit in edits:
        edit["source"] = [{**frame, "file": shown_file(frame["file"], root)} for frame in edit["source"]]
    return {"summary": dict(diff.summary), "edits": edits}
