"""The numbers of a changed program that a reviewer reads, and their format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.costs import program_bytes
from hlodiff.differ.metrics import ZERO, ExecutedCount
from hlodiff.differ.result import ModuleDiff
from hlodiff.differ.trip_counts import UncountedLoop
from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.report.lines import printable
from hlodiff.report.report import Report
from hlodiff.report.view import Number
from hlodiff.report.wording import (
    FORMATS,
    Unit,
    format_arrow,
    format_bytes,
    format_change,
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
_EXECUTED: tuple[tuple[str, str, Unit, str], ...] = (
    ("host_transfers", "host transfers", "count", ""),
    ("host_callbacks", "host callbacks", "count", ""),
    ("launches", "launches", "count", ""),
    ("flops", "flops", "count", ""),
    ("bytes_accessed", "bytes accessed", "bytes", ""),
)


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
    if len(old.per_turn) != len(new.per_turn):
        return ""
    pairs = [
        pair
        for pair in zip(old.per_turn, new.per_turn, strict=True)
        if _by(pair) >= _LEAST_CHANGE and pair[0][0].words(root) == pair[1][0].words(root)
    ]
    if not pairs:
        return ""
    before, after = max(pairs, key=_by)
    sides = (ExecutedCount(*one[1:]).words(FORMATS[unit]) for one in (before, after))
    return f"{format_pair(*sides)} per turn of {after[0].words(root)}"


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
    if old.per_turn or new.per_turn:
        return _one_turn(old, new, unit, root)
    if old.most is None or new.most is None or (old.most < new.most) != (number.mark == "worse"):
        return ""
    before, after = format_sides(old.most, new.most, FORMATS[unit])
    return f"at most {before} -> {after}" if old.most != new.most else ""


def executed_pair(program: ProgramComparison, metric: str) -> tuple[ExecutedCount, ExecutedCount]:
    """A metric of both sides; 0 for a side that does not have it, or is missing."""
    old, new = program.executed().get(metric, (ZERO, ZERO))
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
    metrics = program.metrics()
    for metric, name, unit, size in rows:
        old, new = sides = executed_pair(program, metric)
        sizes = executed_pair(program, size) if size else (ZERO, ZERO)
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
