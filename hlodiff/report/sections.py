"""What is said of one changed program, section by section, before any layout: shared by terminal and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hlodiff.diff.compared import Compared
from hlodiff.report.edits import fusion_lines, placement_lines
from hlodiff.report.numbers import bytes_in_words, change_in_words, count_in_words

_MOST_OPS = 10
_MOST_LINES = 6

# (title, what), in the order of the report.
Section = tuple[str, list[str]]
Metrics = Mapping[str, tuple[float, float]]
# What a reviewer asks for: a metric and its bytes. JSON has all; the others say again what the op counts say.
_MOVES = (
    ("copies", "copy_bytes"), ("copies_in_loops", ""), ("memory_moves", "memory_move_bytes"), ("host_transfers", ""),
    ("host_callbacks", ""),
)  # fmt: skip
# What is told apart for entry, fusions, loop bodies, ...: JSON has every opcode too.
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
    lines = fusion_lines(diff.fusions)
    found = [
        ("ops", [_op_counts(program.op_count_pairs())]),
        ("by kind", _by_kind(program)),
        ("fusions", ["; ".join(filter(None, (_fusion_counts(metrics), *lines[:1]))), *_cut(lines[1:])]),
        ("placement", _cut(placement_lines(diff.edits))),
        ("collectives", [_collectives(metrics)]),
        ("moves", [_counted(metrics, _MOVES)]),
        ("other", [_counted(metrics, _OTHERS), _pairs(_prefixed(metrics, "custom_calls."), str)]),
        ("memory", [_pairs(_prefixed(metrics, "memory."), bytes_in_words)]),
        ("cost", [_pairs(_costs(metrics))]),
        ("limits", list(diff.limits)),
    ]
    kept = [(title, [line for line in lines if line]) for title, lines in found]
    return [(title, lines) for title, lines in kept if lines]


def _op_counts(pairs: Mapping[str, tuple[int, int]]) -> str:
    changed = [(name, old, new) for name, (old, new) in pairs.items() if old != new]
    changed.sort(key=lambda row: (-abs(row[2] - row[1]), row[0]))
    words = [f"{name} {old} -> {new}" for name, old, new in changed[:_MOST_OPS]]
    more = [f"and {len(changed) - _MOST_OPS} more opcodes"] if len(changed) > _MOST_OPS else []
    return ", ".join(words + more)


def _by_kind(program: Compared) -> list[str]:
    """Where it changed: entry, fusions, loop bodies, branches, reductions; nothing where there is one kind alone."""
    kinds = program.metrics_by_kind()
    if len(kinds) < 2:
        return []
    lines = []
    for kind, metrics in kinds.items():
        counted = [(name, metrics.get(name, (0, 0))) for name in _BY_KIND]
        counted += [item for item in metrics.items() if item[0].startswith(("collectives.", "custom_calls."))]
        words = [
            f"{_short(name)} {_count(pair)}{_carried(name, metrics)}" for name, pair in counted if pair[0] != pair[1]
        ]
        if words:
            lines.append(f"{_KIND_WORDS.get(kind, kind)}: {', '.join(words)}")
    return lines


def _short(name: str) -> str:
    return name.removeprefix("collectives.").removeprefix("custom_calls.").replace("_", " ")


def _carried(name: str, metrics: Metrics) -> str:
    size = metrics.get(_SIZES.get(name, name.replace("collectives.", "collective_bytes.")), (0, 0))
    has_size = name in _SIZES or name.startswith("collectives.")
    return f" ({_arrow(size, bytes_in_words)})" if has_size and any(size) else ""


def _fusion_counts(metrics: Metrics) -> str:
    changed = {name: pair for name, pair in metrics.items() if name.startswith("fusions.") and pair[0] != pair[1]}
    total = metrics.get("fusions", (0, 0))
    if total[0] != total[1]:
        changed = {"fusions": total, **changed}
    words = [f"{name.removeprefix('fusions.')} {old:.0f} -> {new:.0f}" for name, (old, new) in changed.items()]
    return ", ".join(words).replace("fusions ", "", 1)


def _collectives(metrics: Metrics) -> str:
    """Each kind with how many there are and what they carry: `all-reduce 2 -> 1 (68.0 KiB -> 32.0 KiB)`."""
    words = []
    for name, pair in metrics.items():
        family = name.removeprefix("collectives.")
        size = metrics.get(f"collective_bytes.{family}", (0, 0))
        if family != name and (pair[0] != pair[1] or size[0] != size[1]):
            words.append(f"{family} {_count(pair)} ({_arrow(size, bytes_in_words)})")
    asynchronous = metrics.get("async_collectives", (0, 0))
    if asynchronous[0] != asynchronous[1]:
        words.append(f"asynchronous {_count(asynchronous)}")
    return ", ".join(words)


def _counted(metrics: Metrics, names: Sequence[tuple[str, str]]) -> str:
    """Counts that changed, each with its bytes where it has any: `copies 3 -> 10 (40.0 KiB -> 104.1 KiB)`."""
    words = []
    for name, size_name in names:
        pair, size = metrics.get(name, (0, 0)), metrics.get(size_name, (0, 0))
        if pair[0] != pair[1] or size[0] != size[1]:
            carried = f" ({_arrow(size, bytes_in_words)})" if any(size) else ""
            words.append(f"{name.replace('_', ' ')} {_count(pair)}{carried}")
    return ", ".join(words)


def _count(pair: tuple[float, float]) -> str:
    return _arrow(pair, count_in_words)


def _arrow(pair: tuple[float, float], show: Callable[[float], str]) -> str:
    old, new = show(pair[0]), show(pair[1])
    if old == new and pair[0] != pair[1]:  # 40,962 B and 40,960 B are 40.0 KiB both
        end = " B" if show is bytes_in_words else ""
        old, new = f"{pair[0]:,.15g}{end}", f"{pair[1]:,.15g}{end}"
    return f"{old} -> {new}" if pair[0] != pair[1] else old


def _costs(metrics: Metrics) -> dict[str, tuple[float, float]]:
    cycles = {name: pair for name, pair in metrics.items() if name == "estimated_cycles" and pair[0] != pair[1]}
    return {**_prefixed(metrics, "cost."), **cycles}


def _prefixed(metrics: Metrics, prefix: str) -> dict[str, tuple[float, float]]:
    chosen = {n.removeprefix(prefix): pair for n, pair in metrics.items() if n.startswith(prefix)}
    return {name: pair for name, pair in chosen.items() if pair[0] != pair[1]}


def _pairs(pairs: Metrics, show: Callable[[float], str] | None = None) -> str:
    words = []
    for name, pair in pairs.items():
        each = show or (bytes_in_words if "bytes" in name else count_in_words)
        by = "" if each is str else f" ({change_in_words(*pair)})"
        words.append(f"{name.replace('_', ' ') if by else name} {_arrow(pair, each)}{by}")
    return ", ".join(words)


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], f"... and {len(lines) - _MOST_LINES} more, see --format json"]
