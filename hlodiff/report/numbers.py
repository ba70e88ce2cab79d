"""The numbers of a changed program that a reviewer reads, their format, and the sections of those that differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.costs import program_bytes
from hlodiff.differ.loops import UncountedLoop, have_same_bounds
from hlodiff.differ.metrics import ZERO, ExecutedCount
from hlodiff.differ.result import ModuleDiff
from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.report.edits import fusion_lines, placement_lines
from hlodiff.report.lines import printable
from hlodiff.report.report import Report
from hlodiff.report.view import Number, Section
from hlodiff.report.wording import (
    FORMATS,
    Unit,
    format_arrow,
    format_bytes,
    format_change,
    format_count,
    format_pair,
    format_sides,
    many,
)

Row = tuple[str, str, Unit, str]

# (metric, label, unit), in the order of the table; collectives come between `_BEFORE` and the rest. Each stage has its
# own number of operations, with its own label.
_BEFORE: dict[str, tuple[tuple[str, str, Unit], ...]] = {
    stage: (("ops", f"{name} ops", "count"), ("fusions", "fusions", "count")) for stage, name in STAGE_NAMES.items()
}
_MEMORY: tuple[tuple[str, str, Unit], ...] = (
    ("memory.temp", "temp", "bytes"),
    ("memory.peak", "peak", "bytes"),
    ("memory.argument", "arguments", "bytes"),
    ("memory.output", "results", "bytes"),
    ("memory.alias", "aliased", "bytes"),
)
MEMORY = frozenset(name for _, name, _ in _MEMORY)
"""Labels of memory numbers, which do not depend on trip counts."""
_IN_LOOPS: tuple[tuple[str, str, Unit], ...] = (("copies_in_loops", "copies in loops", "count"),)
# (metric, label, unit, metric of its bytes) of one call.
_COPIES: tuple[tuple[str, str, Unit, str], ...] = (("copies", "copies", "count", "copy_bytes"),)
_OF_HOST: tuple[tuple[str, str, Unit, str], ...] = (
    ("host_transfers", "host transfers", "count", ""),
    ("host_callbacks", "host callbacks", "count", ""),
)
_LAUNCHES: tuple[tuple[str, str, Unit, str], ...] = (("launches", "launches", "count", ""),)
_ARITHMETIC: tuple[tuple[str, str, Unit, str], ...] = (
    ("flops", "flops", "count", ""),
    ("bytes_accessed", "bytes accessed", "bytes", ""),
)
_EXECUTED = (*_OF_HOST, *_LAUNCHES, *_ARITHMETIC)


def key_numbers(program: ProgramComparison) -> tuple[Number, ...]:
    """The changed numbers: op counts, collectives by kind with bytes, temp and aliased bytes, copies, work.

    Op counts, fusions and memory are counted in the program text; the others are for one call of the program.

    Args:
        program: any program; one on one side only has just op counts.

    Returns:
        changed numbers in a fixed order.

    Example:
        >>> key_numbers(ProgramComparison("f", "cpu", "compiled", "added", op_counts={"add": 2}))[0].new
        2
    """
    before = _BEFORE[program.stage]
    if program.diff is None:
        pairs = program.op_count_pairs().values()
        return tuple(_static({"ops": (sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs))}, before))
    metrics, collectives = program.metrics(), families(program)
    executed = dict(executed_numbers(program, [*collectives, *_COPIES, *_EXECUTED]))
    carried, copied, worked = (
        [executed[metric] for metric, *_ in rows if metric in executed] for rows in (collectives, _COPIES, _EXECUTED)
    )
    static = [list(_static(metrics, names)) for names in (before, _MEMORY, _IN_LOOPS)]
    return (*static[0], *carried, *static[1], *copied, *static[2], *worked)


def memory_numbers(program: ProgramComparison) -> tuple[Number, ...]:
    """Changed memory, as reported by the compiler, of a program that is the same on both sides.

    Another version of XLA may assign buffers differently for the same text.

    Example:
        >>> facts = {"memory.temp": 8.0}, {"memory.temp": 12.0}
        >>> memory_numbers(ProgramComparison("f", "cpu", "compiled", "identical", None, *facts))[0].new
        12.0
    """
    if program.status != "identical" or program.old_facts == program.new_facts:
        return ()
    return tuple(_static(program.facts(), _MEMORY))


def _static(metrics: Mapping[str, tuple[float, float]], names: Iterable[tuple[str, str, Unit]]) -> Iterator[Number]:
    for metric, words, unit in names:
        old, new = metrics.get(metric, (0, 0))
        if old != new:
            yield Number(words, old, new, unit)


def families(program: ProgramComparison) -> list[Row]:
    """Collectives of a program by kind, with the bytes that they transfer."""
    names = [name.removeprefix("collectives.") for name in program.executed() if name.startswith("collectives.")]
    return [(f"collectives.{name}", name, "count", f"collective_bytes.{name}") for name in names]


_IN_WORDS = re.compile(r"(?:at (?:least|most) )?\d")


def is_expression(number: Number) -> bool:
    """Whether a side is a range or per loop iteration; text that does not begin with a number is from a forged result.

    Example:
        >>> is_expression(Number("copies", 4, 2, old_words="4", new_words="2 + 1 per turn of the loop at model.py:3"))
        True
    """
    return all(_IN_WORDS.match(words) for words in (number.old_words, number.new_words))


def format_number(number: Number) -> str:
    """Both sides of a number with their bytes: `4 -> 2 (48.0 KiB -> 24.0 KiB)`; a count of 0 has no bytes.

    Example:
        >>> format_number(Number("all-gather", 0, 2, "count", 0, 24576))
        '0 -> 2 (24.0 KiB)'
        >>> words = [f"{count} + 3 loops of unknown length" for count in (4, 9)]
        >>> format_number(Number("copies", 4, 9, "count", 0, 0, "", False, *words))
        '4 -> 9, + 3 loops of unknown length'
    """
    words = format_arrow(number.old, number.new, FORMATS[number.unit])
    if is_expression(number):
        (old, _, rest), (new, _, others) = number.old_words.rpartition(" + "), number.new_words.rpartition(" + ")
        words = format_pair(number.old_words, number.new_words)
        if old and new and rest == others and rest.endswith(OF_LOOPS):  # an equal number of other loops
            words = f"{format_pair(old, new)}, + {rest}"
        words = printable(words)
    if number.old_bytes or number.new_bytes:
        sizes = [
            size for count, size in ((number.old, number.old_bytes), (number.new, number.new_bytes)) if count or size
        ]
        words += f" ({format_arrow(sizes[0], sizes[-1], format_bytes)})"
    return words + (f" ({printable(number.per).strip()})" if number.per else "")


def by_how_much(number: Number) -> str:
    """The change of a number: `+17 %`; of its bytes if the count is the same; "" if the sides cannot be compared."""
    if not number.comparable:
        return ""
    if number.old != number.new:
        return format_change(number.old, number.new)
    return format_change(number.old_bytes, number.new_bytes)


MOST_ROWS = 12
"""Further rows are only counted in text and folded in Markdown: a reviewer reads about twenty lines."""


# --- Numbers of one call: exact, a range, or per iteration of a loop whose trip count is unknown.

PER_CALL = " executed"
"""Suffix of a number that differs from the count in the program text because of a loop."""
OF_LOOPS = " of unknown length"
"""Suffix of the number of loops with an unknown trip count."""


def format_executed(number: ExecutedCount, unit: Unit = "count", root: str = "") -> str:
    """A number with its unit; see `ExecutedCount.words`.

    Example:
        >>> format_executed(ExecutedCount(0, 2048), "bytes")
        'at most 2.0 KiB'
    """
    return number.words(FORMATS[unit], root)


def format_executed_pair(old: ExecutedCount, new: ExecutedCount, unit: Unit = "count") -> tuple[str, str]:
    """Both sides of a number; of several loops with unknown trip counts only the one that changed most.

    Pages and `metrics_executed` in JSON have the numbers per iteration of every loop.

    Example:
        >>> loops = [UncountedLoop(str(line), "w", "model.py", line) for line in (3, 9)]
        >>> old, new = (ExecutedCount(4, 4, ((loops[0], 1, 1), (loops[1], n, n))) for n in (2, 5))
        >>> format_executed_pair(old, new)[1]
        '4 + 5 per turn of the loop at model.py:9 + 1 other loop of unknown length'
        >>> format_executed_pair(old, ExecutedCount(9, 9, old.per_turn))
        ('4 + 2 loops of unknown length', '9 + 2 loops of unknown length')
    """
    if max(len(one.per_turn) for one in (old, new)) < 2:
        return format_executed(old, unit), format_executed(new, unit)
    chosen = None
    if (old.least, old.most) == (new.least, new.most) and len(old.per_turn) == len(new.per_turn):
        changes = [_by(pair) for pair in zip(old.per_turn, new.per_turn, strict=True)]
        chosen = changes.index(max(changes))
    before, after = (_with_one_loop(one, chosen, unit) for one in (old, new))
    return before, after


_LEAST_CHANGE = 0.01  # of the work per iteration: a smaller one looks like none
_PerTurn = tuple[UncountedLoop, int, int | None]


def _by(pair: tuple[_PerTurn, _PerTurn]) -> float:
    """The change per iteration, as a share of the smaller side."""
    one, other = ((most if most is not None else least) for _, least, most in pair)
    return abs(other - one) / max(min(one, other), 1)


def _with_one_loop(one: ExecutedCount, chosen: int | None, unit: Unit) -> str:
    """A number with the work per iteration of one loop or none; the other loops are only counted."""
    listed = () if chosen is None else (one.per_turn[chosen],)
    left = len(one.per_turn) - len(listed)
    outside = format_executed(ExecutedCount(one.least, one.most), unit) if one.most != 0 or not listed else ""
    turn = format_executed(ExecutedCount(0, 0, listed), unit) if listed else ""
    others = f"{many(left, 'other loop' if listed else 'loop')}{OF_LOOPS}" if left else ""
    return " + ".join(filter(None, (outside, turn, others)))


def format_per_turn(program: ProgramComparison, root: str = "") -> str:
    """Both sides of the work per iteration, for the first number and the loop that changed most.

    Args:
        program: a program with both sides.
        root: the project's folder.

    Returns:
        `flops 404 -> 812 per turn of the loop at model.py:14`; "" if no loop on both sides changed its work.

    Example:
        >>> format_per_turn(ProgramComparison("f", "cpu", "compiled", "identical"))
        ''
    """
    for metric, name, unit, _ in (*families(program), *_EXECUTED[::-1]):
        if found := _one_turn(*executed_pair(program, metric), unit, root):
            return f"{name} {found}"
    return ""


def _one_turn(old: ExecutedCount, new: ExecutedCount, unit: Unit, root: str) -> str:
    """Both sides of the work per iteration of the loop that changed most; "" if none did."""
    pair = _turn_that_changed(old, new, root)
    return _turn_words(pair, unit, root) if pair else ""


def _turn_words(pair: tuple[_PerTurn, _PerTurn], unit: Unit, root: str) -> str:
    sides = (ExecutedCount(*one[1:]).words(FORMATS[unit]) for one in pair)
    return f"{format_pair(*sides)} per turn of {pair[1][0].words(root)}"


def _turn_that_changed(old: ExecutedCount, new: ExecutedCount, root: str) -> tuple[_PerTurn, _PerTurn] | None:
    """The loop on both sides whose work per iteration changed most; None if none did."""
    if len(old.per_turn) != len(new.per_turn):
        return None
    pairs = [
        pair
        for pair in zip(old.per_turn, new.per_turn, strict=True)
        if _by(pair) >= _LEAST_CHANGE and pair[0][0].words(root) == pair[1][0].words(root)
    ]
    return max(pairs, key=_by, default=None)


def format_range_change(number: Number, program: ProgramComparison, root: str = "") -> str:
    """By how much a number changed that is a range or per iteration; "" if that is unknown.

    Args:
        number: a number of the program.
        program: a program with both sides.
        root: the project's folder.

    Returns:
        `at most 4.10 M -> 8.19 M`, or `404 -> 812 per turn of the loop at model.py:14`.

    Example:
        >>> format_range_change(Number("flops", 1, 1), ProgramComparison("f", "cpu", "compiled", "identical"))
        ''
    """
    metrics = (
        (metric, unit) for metric, name, unit, _ in (*families(program), *_COPIES, *_EXECUTED) if name == number.name
    )
    metric, unit = next(metrics, ("", "count"))
    old, new = executed_pair(program, metric)
    loops, by_turn = len(new.per_turn), ""
    least = 0
    if turn := _turn_that_changed(old, new, root):
        by_turn, least = _turn_words(turn, unit, root), abs(turn[1][1] - turn[0][1])
    if old.most is None or new.most is None or len(old.per_turn) != loops:
        return by_turn
    if program.diff is not None and not have_same_bounds(program.diff.old, program.diff.new):
        return by_turn
    # A loop that ends after so many turns at most may do more than one turn of a loop of which nothing is known.
    if abs(new.most - old.most) <= least or (old.most < new.most) != (number.mark == "worse"):
        return by_turn
    which, before, after = "at most ", old.most, new.most
    if (old.least, new.least) == (before, after):
        which = ""
    elif abs(after - before) < _LEAST_CHANGE * before and abs(new.least - old.least) >= _LEAST_CHANGE * old.least:
        which, before, after = "at least ", old.least, new.least
    pair = format_pair(*format_sides(before, after, FORMATS[unit]))
    return f"{which}{pair}" + (f", + {many(loops, 'loop')}{OF_LOOPS}" if loops else "")


def executed_pair(program: ProgramComparison, metric: str) -> tuple[ExecutedCount, ExecutedCount]:
    """A metric of both sides; 0 for a side that does not have it, or is missing."""
    return _both_sides(program.executed(), metric)


def _both_sides(
    executed: Mapping[str, tuple[ExecutedCount | None, ExecutedCount | None]], metric: str
) -> tuple[ExecutedCount, ExecutedCount]:
    old, new = executed.get(metric, (ZERO, ZERO))
    return old or ZERO, new or ZERO


def differs_from_text(program: ProgramComparison, metric: str) -> bool:
    """Whether loops make an executed number differ from the count in the program text."""
    return _differs(program.metrics(), metric, executed_pair(program, metric))


def _differs(metrics: Mapping[str, tuple[float, float]], metric: str, sides: tuple[ExecutedCount, ...]) -> bool:
    return tuple(one.exact for one in sides) != metrics.get(metric, (0, 0))


def _is_as_much(old: ExecutedCount, new: ExecutedCount) -> bool:
    """Whether the work outside of loops and per iteration of each loop is the same, whatever ends the loops."""
    if old == new or (old.least, old.most) != (new.least, new.most):
        return old == new
    return Counter((low, high) for _, low, high in old.per_turn) == Counter(
        (low, high) for _, low, high in new.per_turn
    )


def executed_numbers(program: ProgramComparison, rows: Iterable[Row]) -> Iterator[tuple[str, Number]]:
    """Executed metrics that differ, for a table.

    Args:
        program: a program with both sides.
        rows: metric, label, unit, and metric of the bytes ("" for none) of each number.

    Returns:
        pairs of metric and number.
    """
    metrics, executed = program.metrics(), program.executed()
    for metric, name, unit, size in rows:
        old, new = sides = _both_sides(executed, metric)
        sizes = _both_sides(executed, size)
        if _is_as_much(*sides) and _is_as_much(*sizes):
            continue
        per = PER_CALL if _differs(metrics, metric, sides) else ""
        are_known = all(one.exact is not None for one in sizes)
        carried = (sizes[0].least, sizes[1].least) if are_known else (0, 0)
        if old.exact is not None and new.exact is not None:
            yield metric, Number(name, old.least, new.least, unit, *carried, per)
        else:
            words = format_executed_pair(old, new, unit)
            yield metric, Number(name, old.least, new.least, unit, *carried, per, False, *words)


# --- How much of a pair of programs is the same.


@dataclass(frozen=True, slots=True)
class Share:
    """How much of two programs is unchanged: instructions and bytes written, both sides added up.

    Args:
        instructions, bytes: (unchanged, all), counted on both sides, each computation once per call.
    """

    instructions: tuple[int, int]
    bytes: tuple[int, int]

    def plus(self, other: Share) -> Share:
        """The combined share of several programs."""
        pairs = zip((self.instructions, self.bytes), (other.instructions, other.bytes), strict=True)
        instructions, size = ((a[0] + b[0], a[1] + b[1]) for a, b in pairs)
        return Share(instructions, size)

    def to_json(self) -> dict[str, float | None]:
        """Fractions between 0 and 1; None if there is nothing to compare."""
        return {"instructions": _fraction(self.instructions), "bytes": _fraction(self.bytes)}


NOTHING = Share((0, 0), (0, 0))


def share_of(diff: ModuleDiff) -> Share:
    """The share of a pair of programs that no edit touches.

    Args:
        diff: difference of any two programs.

    Returns:
        instructions and bytes written (from shapes, multiplied by trip counts) on both sides together.

    Example:
        >>> from hlodiff.differ import diff
        >>> from hlodiff.hlo.parser import read_hlo
        >>> module = read_hlo("HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}")
        >>> share_of(diff(module, module)).to_json()
        {'instructions': 1.0, 'bytes': 1.0}
    """
    count = int(sum(diff.metrics.get("instructions", (0, 0))))
    size = program_bytes(diff.old)[1] + program_bytes(diff.new)[1]
    edited = sum(edit.count * (1 if edit.kind in ("added", "removed") else 2) for edit in diff.edits)
    written = sum(cost.written for edit in diff.edits for cost in edit.cost or () if cost is not None)
    return Share((max(count - edited, 0), count), (max(size - written, 0), size))


def share(report: Report, numbers: Iterable[int]) -> Share:
    """The share of several programs of a report; programs without both sides are skipped.

    Example:
        >>> share(Report("diff", "a", "b", ()), ())
        Share(instructions=(0, 0), bytes=(0, 0))
    """
    total = NOTHING
    for number in numbers:
        diff = report.programs[number].diff
        total = total.plus(share_of(diff)) if diff else total
    return total


def _fraction(pair: tuple[int, int]) -> float | None:
    return round(pair[0] / pair[1], 4) if pair[1] else None


def format_share(share: Share) -> str:
    """`81 % of the instructions, 77 % of the bytes written`.

    Example:
        >>> format_share(Share((3, 4), (0, 0)))
        '75 % of the instructions'
    """
    parts = ((share.instructions, "instructions"), (share.bytes, "bytes written"))
    return ", ".join(f"{_percent(pair)} of the {word}" for pair, word in parts if pair[1])


def format_shares(share: Share) -> tuple[str, str]:
    """Both shares as percentages; "" if there is nothing to compare.

    Example:
        >>> format_shares(Share((3, 4), (0, 0)))
        ('75 %', '')
    """
    instructions, size = (_percent(pair) if pair[1] else "" for pair in (share.instructions, share.bytes))
    return instructions, size


def _percent(pair: tuple[int, int]) -> str:
    percent = 100 * pair[0] / pair[1]
    return f"{percent:.0f} %" if percent <= 99 or pair[0] == pair[1] else f"{min(percent, 99.99):.2f} %"


# --- The numbers of one changed program that differ, in sections, before any layout: for text, Markdown and the page.

_MOST_OPS = 10
_MOST_LINES = 6

Metrics = Mapping[str, tuple[float, float]]
# Numbers of one call that a reviewer reads: metric, label, unit and metric of the bytes.
_MOVES: tuple[tuple[str, str, Unit, str], ...] = (
    *_COPIES,
    ("memory_moves", "memory moves", "count", "memory_move_bytes"),
    *_OF_HOST,
)
_COPIES_IN_LOOPS = (("copies_in_loops", ""),)
_WORK = (*_ARITHMETIC, *_LAUNCHES)
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
    loops = program.loops()
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
        ("moves", [", ".join(filter(None, (_executed(executed, _MOVES), _counted(metrics, _COPIES_IN_LOOPS))))]),
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
