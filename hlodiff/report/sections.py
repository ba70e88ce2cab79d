"""What is said of one changed program, section by section, before any layout: shared by terminal and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hlodiff.diff.compared import Compared
from hlodiff.ir.model import Stage
from hlodiff.report.edits import EditRow, edit_row, fusion_lines, placement_lines
from hlodiff.report.headline import headline
from hlodiff.report.numbers import bytes_in_words, change_in_words, count_in_words

# Metrics that have a section of their own, or whose parts the op counts say already.
_ELSEWHERE = ("instructions", "ops", "transposes", "converts", "broadcasts", "loops", "custom_calls", "fusions")
_BYTES = ("bytes",)
_MOST_OPS = 10
_MOST_LINES = 6

# (title, what), in the order of the report.
Section = tuple[str, list[str]]


def sections(program: Compared) -> list[Section]:
    """Op counts, fusions, placement, other metrics, memory and cost of a changed program; only what changed.

    Args:
        program: one with both sides.

    Returns:
        titles and lines without markup, not yet escaped.

    Example:
        >>> sections(Compared("f", "cpu", "compiled", "identical"))
        []
    """
    diff = program.diff
    if diff is None:
        return []
    metrics = program.metrics()
    found = [
        ("ops", [_op_counts(program.op_count_pairs())]),
        ("fusions", [_fusion_counts(metrics), *_cut(fusion_lines(diff.fusions))]),
        ("placement", _cut(placement_lines(diff.edits))),
        ("counts", [_pairs(_others(metrics))]),
        ("memory", [_pairs(_prefixed(metrics, "memory."), all_bytes=True)]),
        ("cost", [_pairs(_prefixed(metrics, "cost."))]),
        ("limits", list(diff.limits)),
    ]
    kept = [(title, [line for line in lines if line]) for title, lines in found]
    return [(title, lines) for title, lines in kept if lines]


@dataclass(frozen=True, slots=True)
class Story:
    """What is said of programs that changed alike: StableHLO is often the same for every target.

    Args:
        stage: their stage.
        targets: those it holds for; () where targets are not known.
        headline: kind and size of the change.
        sections: see `sections`.
        edits: all edits in words.
    """

    stage: Stage
    targets: tuple[str, ...]
    headline: str
    sections: tuple[Section, ...]
    edits: tuple[EditRow, ...]


def stories(programs: Iterable[Compared]) -> tuple[Story, ...]:
    """The stories of compared programs of one name, StableHLO first: what was written, then what became of it.

    Args:
        programs: those without both sides are left out.

    Returns:
        equal stories once, with all their targets.

    Example:
        >>> stories([Compared("f", "cpu", "compiled", "added")])
        ()
    """
    found: dict[object, tuple[Story, list[str]]] = {}
    for program in sorted(programs, key=lambda p: p.stage != "stablehlo"):
        if program.diff is not None or program.status == "identical":
            edits = tuple(map(edit_row, program.diff.edits)) if program.diff else ()
            story = Story(program.stage, (), headline(program), tuple(sections(program)), edits)
            targets = found.setdefault(repr(story), (story, []))[1]
            targets += [program.target] if program.target else []
    return tuple(replace(story, targets=tuple(targets)) for story, targets in found.values())


def _op_counts(pairs: Mapping[str, tuple[int, int]]) -> str:
    changed = [(name, old, new) for name, (old, new) in pairs.items() if old != new]
    changed.sort(key=lambda row: (-abs(row[2] - row[1]), row[0]))
    words = [f"{name} {old} -> {new}" for name, old, new in changed[:_MOST_OPS]]
    more = [f"and {len(changed) - _MOST_OPS} more opcodes"] if len(changed) > _MOST_OPS else []
    return ", ".join(words + more)


def _fusion_counts(metrics: Mapping[str, tuple[float, float]]) -> str:
    changed = {name: pair for name, pair in metrics.items() if name.startswith("fusions.") and pair[0] != pair[1]}
    total = metrics.get("fusions", (0, 0))
    if total[0] != total[1]:
        changed = {"fusions": total, **changed}
    words = [f"{name.removeprefix('fusions.')} {old:.0f} -> {new:.0f}" for name, (old, new) in changed.items()]
    return ", ".join(words).replace("fusions ", "", 1)


def _others(metrics: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    found = {}
    for name, pair in metrics.items():
        own_section = name.startswith(("memory.", "cost.", "fusions.", "ops.", "ops_")) or name in _ELSEWHERE
        if pair[0] != pair[1] and not own_section:
            found[name] = pair
    return found


def _prefixed(metrics: Mapping[str, tuple[float, float]], prefix: str) -> dict[str, tuple[float, float]]:
    chosen = {n.removeprefix(prefix): pair for n, pair in metrics.items() if n.startswith(prefix)}
    return {name: pair for name, pair in chosen.items() if pair[0] != pair[1]}


def _pairs(pairs: Mapping[str, tuple[float, float]], all_bytes: bool = False) -> str:
    words = []
    for name, (old, new) in pairs.items():
        show = bytes_in_words if all_bytes or any(part in name for part in _BYTES) else count_in_words
        words.append(f"{name.replace('_', ' ')} {show(old)} -> {show(new)} ({change_in_words(old, new)})")
    return ", ".join(words)


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], f"... and {len(lines) - _MOST_LINES} more, see --format json"]
