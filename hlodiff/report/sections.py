"""The numbers of one changed program that differ, in sections, before any layout: for text, Markdown and the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.loops import compare_loops
from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.report.edits import fusion_lines, placement_lines
from hlodiff.report.numbers import Row, by_how_much, executed_numbers, families, format_number
from hlodiff.report.view import Number, Section
from hlodiff.report.wording import (
    Unit,
    format_arrow,
    format_bytes,
    format_change,
    format_count,
    format_pair,
    many,
)

_MOST_OPS = 10
_MOST_LINES = 6

Metrics = Mapping[str, tuple[float, float]]
# Numbers of one call that a reviewer reads: metric, label, unit and metric of the bytes.
_MOVES: tuple[tuple[str, str, Unit, str], ...] = (
    ("copies", "copies", "count", "copy_bytes"),
    ("memory_moves", "memory moves", "count", "memory_move_bytes"),
    ("host_transfers", "host transfers", "count", ""),
    ("host_callbacks", "host callbacks", "count", ""),
)
_IN_LOOPS = (("copies_in_loops", ""),)
_WORK: tuple[tuple[str, str, Unit, str], ...] = (
    ("flops", "flops", "count", ""),
    ("bytes_accessed", "bytes accessed", "bytes", ""),
    ("launches", "launches", "count", ""),
)
# Counted separately for entry, fusions, loop bodies, ...; JSON also has every opcode.
_BY_KIND = (
    "ops",
    "transposes",
    "copies",
    "converts",
    "broadcasts",
    "host_transfers",
    "host_callbacks",
    "large_literals",
)
_SIZES = {"copies": "copy_bytes", "large_literals": "large_literal_bytes"}
_KIND_WORDS = {"fusion": "fusions", "loop": "loop bodies", "branch": "branches", "reduction": "reductions"}
_OTHERS = (("loops", ""), ("large_literals", "large_literal_bytes"), ("rematerialized", ""))


def sections(program: ProgramComparison) -> list[Section]:
    """Op counts, fusions, placement, other metrics, memory and cost of a changed program; only what changed.

    Args:
        program: a program with both sides.

    Returns:
        sections in the order of the report; lines without markup, not yet escaped.

    Example:
        >>> sections(ProgramComparison("f", "cpu", "compiled", "identical"))
        []
    """
    diff = program.diff
    if diff is None:
        return []
    metrics = program.metrics()
    loops = compare_loops(program)
    cycles = {name: pair for name, pair in metrics.items() if name == "estimated_cycles" and pair[0] != pair[1]}
    costs = _pairs({**_prefixed(metrics, "cost."), **cycles}, comparable=loops.same)
    lines = fusion_lines(diff.fusions)
    collectives = [*families(program), ("async_collectives", "asynchronous", "count", "")]
    executed = dict(executed_numbers(program, [*collectives, *_MOVES, *_WORK]))
    found = [
        (f"{STAGE_NAMES[program.stage]} ops", [_op_counts(program.op_count_pairs())]),
        ("by kind", _by_kind(program)),
        ("fusions", ["; ".join(filter(None, (_fusion_counts(metrics), *lines[:1]))), *_cut(lines[1:])]),
        ("placement", _cut(placement_lines(diff.reported))),
        ("collectives", [_executed(executed, collectives)]),
        ("moves", [", ".join(filter(None, (_executed(executed, _MOVES), _counted(metrics, _IN_LOOPS))))]),
        ("other", [_counted(metrics, _OTHERS), _pairs(_prefixed(metrics, "custom_calls."), str)]),
        ("memory", [_pairs(_prefixed(metrics, "memory."), format_bytes)]),
        ("work", [_executed(executed, _WORK)]),
        ("XLA's cost", [costs and costs + loops.words()]),
    ]
    found += [("passes", list(pass_lines(program))), ("limits", list(diff.limits))]
    kept = [Section(title, tuple(line for line in lines if line)) for title, lines in found]
    return [section for section in kept if section.lines]


def pass_lines(program: ProgramComparison) -> tuple[str, ...]:
    """The passes that made a program's changes, if requested.

    Example:
        >>> pass_lines(ProgramComparison("f", "cpu", "compiled", "identical"))
        ()
    """
    if program.passes is None:
        return ()
    from hlodiff.report.passes import blame_lines

    return tuple(line for line in blame_lines(program.passes) if line)


def _op_counts(pairs: Mapping[str, tuple[int, int]]) -> str:
    changed = [(name, old, new) for name, (old, new) in pairs.items() if old != new]
    changed.sort(key=lambda row: (-abs(row[2] - row[1]), row[0]))
    words = [f"{name} {format_pair(old, new)}" for name, old, new in changed[:_MOST_OPS]]
    more = [f"and {many(len(changed) - _MOST_OPS, 'more opcode')}"] if len(changed) > _MOST_OPS else []
    return ", ".join(words + more)


def _by_kind(program: ProgramComparison) -> list[str]:
    """Changes by kind of computation (entry, fusions, loop bodies, ...); none if there is only one kind."""
    kinds = program.metrics_by_kind()
    if len(kinds) < 2:
        return []
    lines = []
    for kind, metrics in kinds.items():
        counted = [(name, metrics.get(name, (0, 0))) for name in _BY_KIND]
        counted += [item for item in metrics.items() if item[0].startswith(("collectives.", "custom_calls."))]
        words = []
        for name, pair in counted:
            if pair[0] == pair[1]:
                continue
            short = name.removeprefix("collectives.").removeprefix("custom_calls.").replace("_", " ")
            if name == "ops":  # each stage has its own number
                short = f"{STAGE_NAMES[program.stage]} ops"
            has_size = name in _SIZES or name.startswith("collectives.")
            size = metrics.get(_SIZES.get(name, name.replace("collectives.", "collective_bytes.")), (0, 0))
            carried = f" ({format_arrow(*size, format_bytes)})" if has_size and any(size) else ""
            words.append(f"{short} {_count(pair)}{carried}")
        if words:
            lines.append(f"{_KIND_WORDS.get(kind, kind)}: {', '.join(words)}")
    return lines


def _fusion_counts(metrics: Metrics) -> str:
    changed = {name: pair for name, pair in metrics.items() if name.startswith("fusions.") and pair[0] != pair[1]}
    total = metrics.get("fusions", (0, 0))
    if total[0] != total[1]:
        changed = {"fusions": total, **changed}
    words = [
        f"{name.removeprefix('fusions.')} {format_pair(round(old), round(new))}" for name, (old, new) in changed.items()
    ]
    return ", ".join(words).replace("fusions ", "", 1)


def _executed(executed: Mapping[str, Number], rows: Sequence[Row]) -> str:
    """Numbers of one call, with their bytes if any: `copies 3 -> 10 (40.0 KiB -> 104.1 KiB)`."""
    words = []
    for metric, number in [(metric, executed[metric]) for metric, *_ in rows if metric in executed]:
        by = by_how_much(number) if metric in ("flops", "bytes_accessed", "launches") else ""
        words.append(f"{number.name} {format_number(number)}" + (f" ({by})" if by else ""))
    return ", ".join(words)


def _counted(metrics: Metrics, names: Sequence[tuple[str, str]]) -> str:
    """Changed counts, with their bytes if any: `copies 3 -> 10 (40.0 KiB -> 104.1 KiB)`."""
    words = []
    for name, size_name in names:
        pair, size = metrics.get(name, (0, 0)), metrics.get(size_name, (0, 0))
        if pair[0] != pair[1] or size[0] != size[1]:
            carried = f" ({format_arrow(*size, format_bytes)})" if any(size) else ""
            words.append(f"{name.replace('_', ' ')} {_count(pair)}{carried}")
    return ", ".join(words)


def _count(pair: tuple[float, float]) -> str:
    return format_arrow(*pair, format_count)


def _prefixed(metrics: Metrics, prefix: str) -> dict[str, tuple[float, float]]:
    chosen = {n.removeprefix(prefix): pair for n, pair in metrics.items() if n.startswith(prefix)}
    return {name: pair for name, pair in chosen.items() if pair[0] != pair[1]}


def _pairs(pairs: Metrics, show: Callable[[float], str] | None = None, comparable: bool = True) -> str:
    words = []
    for name, pair in pairs.items():
        each = show or (format_bytes if "bytes" in name else format_count)
        by = "" if each is str or not comparable else f" ({format_change(*pair)})"
        words.append(f"{name if each is str else name.replace('_', ' ')} {format_arrow(*pair, each)}{by}")
    return ", ".join(words)


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], f"... and {len(lines) - _MOST_LINES} more, see --format json"]
