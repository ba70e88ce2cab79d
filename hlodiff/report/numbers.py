"""The numbers of a changed program that a reviewer reads, their format, and the sections of those that differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf, log2

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.costs import program_bytes
from hlodiff.differ.loops import UncountedLoop
from hlodiff.differ.metrics import OUTSIDE, ZERO, ExecutedCount, LoopTurn
from hlodiff.differ.result import ModuleDiff
from hlodiff.hlo.model import STAGE_NAMES, Module, Shape
from hlodiff.report.edits import fusion_lines, placement_lines
from hlodiff.report.function_view import Number, Section
from hlodiff.report.lines import printable
from hlodiff.report.report import Report
from hlodiff.report.wording import (
    FORMATS,
    OF_LOOPS,
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
        >>> words = [f"{count} per turn of the loop at model.py:9" for count in (4, 9)]
        >>> format_number(Number("copies", 4, 9, "count", 0, 0, "", False, *words))
        '4 -> 9 per turn of the loop at model.py:9'
    """
    words = format_arrow(number.old, number.new, FORMATS[number.unit])
    if is_expression(number):
        words = printable("".join(part_of(number)) or format_pair(number.old_words, number.new_words))
    if number.old_bytes or number.new_bytes:
        sizes = [
            size for count, size in ((number.old, number.old_bytes), (number.new, number.new_bytes)) if count or size
        ]
        words += f" ({format_arrow(sizes[0], sizes[-1], format_bytes)})"
    return words + (f" ({printable(number.per).strip()})" if number.per else "")


def by_how_much(number: Number) -> str:
    """The change of a number: `+17 %`; of its bytes if the count is the same; "" if the sides cannot be compared.

    Of work that depends on data it is the change of the part that is shown, if it has a direction.
    """
    has_direction = number.mark or (number.relevant and number.least)
    if not number.comparable and not (has_direction and any(part_of(number))):
        return ""
    if number.old != number.new:
        return format_change(number.old, number.new)
    return format_change(number.old_bytes, number.new_bytes)


def format_by(number: Number) -> str:
    """What `by_how_much` shows, and the change of what the number leaves out.

    Example:
        >>> format_by(Number("flops", 100, 25, besides="outside of the loops +67 %"))
        '-75 %, outside of the loops +67 %'
    """
    return ", ".join(filter(None, (by_how_much(number), printable(number.besides))))


def change_size(number: Number) -> tuple[float, float]:
    """Sort key: the ratio that `by_how_much` shows, largest for what only one side has, then the difference.

    Example:
        >>> change_size(Number("flops", 100, 25)), change_size(Number("copies", 0, 2))
        ((2.0, 75), (inf, 2))
        >>> change_size(Number("flops", 100, 25, comparable=False))
        (0.0, 75)
    """
    old, new = (number.old, number.new) if number.old != number.new else (number.old_bytes, number.new_bytes)
    if not number.comparable and not by_how_much(number):
        return 0.0, abs(new - old)
    return abs(log2(new / old)) if old > 0 < new else inf, abs(new - old)


MOST_ROWS = 12
"""Further rows are only counted in text and folded in Markdown: a reviewer reads about twenty lines."""


# --- Numbers of one call: exact, a range, or per iteration of a loop whose trip count is unknown.

PER_CALL = " executed"
"""Suffix of a number that differs from the count in the program text because of a loop."""


def format_executed(number: ExecutedCount, unit: Unit = "count") -> str:
    """A number with its unit; see `ExecutedCount.words`.

    Example:
        >>> format_executed(ExecutedCount(0, 2048), "bytes")
        'at most 2.0 KiB'
    """
    return number.words(FORMATS[unit])


def format_executed_pair(old: ExecutedCount, new: ExecutedCount, unit: Unit = "count") -> tuple[str, str]:
    """Both sides of a number; where data ends loops, only the part that changed, see `changed_part`.

    Pages and `metrics_executed` in JSON have the numbers per iteration of every loop.

    Example:
        >>> loops = [UncountedLoop(str(line), "w", "model.py", line) for line in (3, 9)]
        >>> old, new = (ExecutedCount(4, 4, ((loops[0], 1, 1), (loops[1], n, n))) for n in (2, 5))
        >>> format_executed_pair(old, new)
        ('2 per turn of the loop at model.py:9', '5 per turn of the loop at model.py:9')
        >>> format_executed_pair(old, ExecutedCount(9, 9, old.per_turn))[1]
        '9 outside of the 2 loops of unknown length'
        >>> loops = [UncountedLoop(str(number), "w", "model.py", 3) for number in range(2)]
        >>> old, new = (ExecutedCount(4, 4, ((loops[0], 1, 1), (loops[1], n, n))) for n in (2, 5))
        >>> format_executed_pair(old, new)[1]
        '5 per turn of the 2nd of 2 loops of unknown length at model.py:3'
        >>> format_executed_pair(old, ExecutedCount(9, 9))
        ('7 with one turn of each loop of unknown length', '9')
    """
    if found := changed_part(old, new):
        before, after = format_sides(*found[:2], FORMATS[unit])
        return f"{before}{found[2]}", f"{after}{found[2]}"
    words = [_with_turns(one, unit) for one in (old, new)]
    return words[0], words[1]


def changed_part(old: ExecutedCount, new: ExecutedCount) -> tuple[int, int, str] | None:
    """The part of a number that changed, on both sides, and where it is, as ` per turn of the loop at model.py:9`.

    One iteration of each loop together if several changed; None if no loop is ended by data, if the loops of both sides
    differ, or if nothing changed.
    """
    parts = old.parts(new)
    changed = [pair for pair in parts if pair[0].work != pair[1].work]
    if len(parts) < 2 or not changed:
        return None
    chosen = max(changed, key=_by)
    rest = [pair for pair in changed if pair is not chosen and OUTSIDE not in (pair[0].loop, pair[1].loop)]
    before, after = (sum(pair[side].work * pair[side].reached for pair in parts) for side in (0, 1))
    came_or_went = bool(chosen[0].reached) != bool(chosen[1].reached)
    is_net = abs(after - before) >= _LEAST_CHANGE * max(before, 1)  # else more in one loop makes up for less in another
    if came_or_went or (is_net and any(_share(pair) >= _LEAST_CHANGE for pair in rest)):
        return before, after, _at_most(chain(*parts)) + EACH_TURN
    inner = _WITHOUT_INNER if any(one.has_inner for one in chosen) else ""
    where = f"{_at_most(chosen)} per turn{inner} of {_which_loop(chosen[1].loop, new)}"
    if chosen[1].loop == OUTSIDE:
        every = {turn.loop.words() for _, turn in parts[1:]}
        loops = every.pop() if len(every) == 1 else f"the {len(parts) - 1:,} loops{OF_LOOPS}"
        where = f"{_at_most(chosen)} outside of {loops}"
    return chosen[0].work, chosen[1].work, where


def _besides(old: ExecutedCount, new: ExecutedCount, shown: tuple[int, int, str] | None) -> str:
    """The change outside of the loops beside that of one iteration, if it is the other way and not small."""
    if shown is None or " per turn" not in shown[2]:
        return ""
    parts = old.parts(new)
    before, after = parts[0]
    by, once = after.work - before.work, sum(one.work * one.reached for one, _ in parts)
    if by * (shown[1] - shown[0]) >= 0 or min(_share(parts[0]), abs(by) / max(once, 1)) < _LEAST_CHANGE:
        return ""
    return f"outside of the loop{'s' if len(parts) > 2 else ''} {format_change(before.work, after.work)}"


def entered_otherwise(old: ExecutedCount, new: ExecutedCount) -> str:
    """That all loops which data ends are entered more or less often than before; "" if not, or if not all alike.

    Example:
        >>> sides = [ExecutedCount(turns=(LoopTurn(OUTSIDE, 8, n),), outside=0) for n in (1, 4)]
        >>> entered_otherwise(*sides)
        'loops of unknown length are entered 4 times instead of once'
    """
    times = [{turn.reached for turn in one.loop_turns()[1:]} for one in (old, new)]
    if len(times[0]) != 1 or len(times[1]) != 1 or times[0] == times[1]:
        return ""
    before, after = ("once" if n == 1 else many(n, "time") for (n,) in times)
    return f"loops{OF_LOOPS} are entered {after} instead of {before}"


def _which_loop(loop: UncountedLoop, number: ExecutedCount) -> str:
    """A loop that data ends, and which one it is where its line made several, as one that JAX differentiates."""
    words = loop.words()
    alike = [turn.loop for turn in number.loop_turns() if turn.loop.words() == words]
    if len(alike) < 2 or loop not in alike:
        return words
    place = alike.index(loop) + 1
    ending = {1: "st", 2: "nd", 3: "rd"}.get(place % 10 if place % 100 // 10 != 1 else 0, "th")
    return f"the {place}{ending} of {len(alike):,} loops{OF_LOOPS}{words.removeprefix('the loop')}"


_WITHOUT_INNER = f", without inner loops{OF_LOOPS},"
EACH_TURN = f" with one turn of each loop{OF_LOOPS}"
"""What is counted of a number that has some work in several loops of unknown length."""
_AT_MOST = " at most"
_LEAST_CHANGE = 0.01  # of the work per iteration: a smaller one looks like none


def _at_most(turns: Iterable[LoopTurn]) -> str:
    """Whether some of this work may be less: a bound is no number."""
    return _AT_MOST if any(turn.least is not None for turn in turns) else ""


def _by(pair: tuple[LoopTurn, LoopTurn]) -> int:
    return abs(pair[1].work - pair[0].work) * min(one.runs for one in pair)


def _share(pair: tuple[LoopTurn, LoopTurn]) -> float:
    """The change per iteration, as a share of the smaller side."""
    return abs(pair[1].work - pair[0].work) / max(min(one.work for one in pair), 1)


def of_which_turns(old: ExecutedCount, new: ExecutedCount) -> str:
    """Where the work changed that counts one iteration of each loop: in the loops, outside of them, or in both."""
    parts = [one.work != other.work for one, other in old.parts(new)]
    if len(parts) < 2:  # other loops, or none that data ends
        has_loops = max(len(one.loop_turns()) for one in (old, new)) > 1
        return _COUNTING_EACH if has_loops else ""
    if not any(parts[1:]):
        return ""
    return _COUNTING_EACH if parts[0] else " per turn"


_COUNTING_EACH = ", counting one turn of each loop"


def _with_turns(one: ExecutedCount, unit: Unit) -> str:
    """A number with one iteration of each loop that data ends."""
    outside, *turns = one.loop_turns()
    if not turns:
        return format_executed(one, unit)
    if len(turns) == 1:
        turn = f"{FORMATS[unit](turns[0].work)}{_at_most(turns)} per turn of {turns[0].loop.words()}"
        return f"{FORMATS[unit](outside.work)} + {turn}" if outside.work else turn
    whole = sum(turn.work * turn.reached for turn in (outside, *turns))
    return f"{FORMATS[unit](whole)}{_at_most((outside, *turns))}{EACH_TURN}"


_OF_PART = re.compile(
    r"(?P<number>[^ ]+(?: [KMGT]i?B?| B)?)(?P<where>(?: at most)? (?:per turn,? |outside of |with one turn ).*)"
)


def part_of(number: Number) -> tuple[str, str]:
    """Both sides of a number that is a part of the work, and which: `("404 -> 812", " per turn of ...")`.

    Example:
        >>> words = [f"{n} per turn of the loop at model.py:9" for n in (2, 5)]
        >>> part_of(Number("flops", 2, 5, "count", 0, 0, "", False, *words))
        ('2 -> 5', ' per turn of the loop at model.py:9')
        >>> part_of(Number("flops", 2, 5))
        ('', '')
    """
    sides = [_OF_PART.fullmatch(words) for words in (number.old_words, number.new_words)]
    if not (sides[0] and sides[1]) or sides[0]["where"] != sides[1]["where"]:
        return "", ""
    return format_pair(*(side["number"] for side in sides if side)), printable(sides[0]["where"])


def short_part(which: str, told: str) -> str:
    """A part of the work in short if a number before it was about the same part.

    Example:
        >>> short_part(" per turn of the loop at model.py:9", " per turn of the loop at model.py:9")
        ' per turn'
    """
    if which.removeprefix(_AT_MOST) != told.removeprefix(_AT_MOST):
        return which
    bound, where = (_AT_MOST if which.startswith(_AT_MOST) else ""), which.removeprefix(_AT_MOST)
    short = next((words for words in (" per turn", " outside") if where.startswith(words)), "")
    return f"{bound}{short}"


def executed_pair(program: ProgramComparison, metric: str) -> tuple[ExecutedCount, ExecutedCount]:
    """A metric of both sides; 0 for a side that does not have it, or is missing."""
    return _both_sides(program.executed(), metric)


def _both_sides(
    executed: Mapping[str, tuple[ExecutedCount | None, ExecutedCount | None]], metric: str
) -> tuple[ExecutedCount, ExecutedCount]:
    old, new = executed.get(metric, (ZERO, ZERO))
    return old or ZERO, new or ZERO


def executed_change(program: ProgramComparison, metric: str) -> int:
    """By how much a metric differs, with one iteration of each loop of unknown length."""
    old, new = executed_pair(program, metric)
    return (new.once or 0) - (old.once or 0)


def most_executed(program: ProgramComparison, metric: str) -> int:
    """A metric of the side that has more of it, with one iteration of each loop of unknown length."""
    return max(one.once or 0 for one in executed_pair(program, metric))


def differs_from_text(program: ProgramComparison, metric: str) -> bool:
    """Whether loops make an executed number differ from the count in the program text."""
    return _differs(program.metrics(), metric, executed_pair(program, metric))


def _differs(metrics: Mapping[str, tuple[float, float]], metric: str, sides: tuple[ExecutedCount, ...]) -> bool:
    return tuple(one.exact for one in sides) != metrics.get(metric, (0, 0))


def _is_as_much(old: ExecutedCount, new: ExecutedCount) -> bool:
    """Whether the work outside of loops and per iteration of each loop is the same, whatever ends the loops."""
    if old == new:
        return True
    parts = old.parts(new)
    return len(parts) > 1 and all(before.work == after.work for before, after in parts)


def has_expanded(program: ProgramComparison) -> bool:
    """Whether operations came or went that XLA writes out as many others: their flops in StableHLO are not known.

    Example:
        >>> counts = {"chlo.erf": 1}
        >>> has_expanded(ProgramComparison("f", "cpu", "stablehlo", "added", op_counts=counts))
        True
    """
    counts = program.op_count_pairs() if program.stage == "stablehlo" else {}
    return any(old != new for name, (old, new) in counts.items() if name.startswith("chlo.") and name != _NOT_EXPANDED)


_NOT_EXPANDED = "chlo.square"  # a multiplication


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
            is_known = metric != "flops" or not has_expanded(program)
            yield metric, Number(name, old.least, new.least, unit, *carried, per, is_known)
        else:
            words = format_executed_pair(old, new, unit)
            shown = changed_part(old, new)
            pair, besides = (shown or (old.least, new.least))[:2], _besides(old, new, shown)
            yield metric, Number(name, *pair, unit, *carried, per, False, *words, besides=besides)


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


def uncompared_memory(program: ProgramComparison) -> str:
    """Which of temporary memory and peak only one side has, and why the other has not; "" if there is none.

    XLA states an impossible peak or temporary memory of some programs, which is not shown.

    Example:
        >>> old = {"memory.argument": 8.0, "memory.temp": 1024.0, "memory.peak": 4096.0}
        >>> new = {"memory.argument": 8.0, "memory.temp": 2048.0}
        >>> uncompared_memory(ProgramComparison("f", "cpu", "compiled", "changed", None, old, new))
        "peak cannot be compared: after, XLA's peak is too small for its temp of 2.0 KiB"
    """
    sides = program.old_facts, program.new_facts
    if program.status != "changed" or not all("memory.argument" in facts for facts in sides):
        return ""
    missing = [[name for name in _SHOWN_BY if f"memory.{name}" not in facts] for facts in sides]
    names = [name for name in _SHOWN_BY if (name in missing[0]) != (name in missing[1])]
    reasons = []
    for when, facts, own in zip(("before", "after"), sides, missing, strict=True):
        for name in [name for name in own if name in names]:
            other = _SHOWN_BY[name]
            stated = facts.get(f"memory.{other}")
            why = f"XLA's {name} is too small for its {other} of {format_bytes(stated or 0)}"
            reasons.append(f"{when}, {why if stated is not None else f'no {name} is stated'}")
    return f"{' and '.join(names)} cannot be compared: {'; '.join(reasons)}" if reasons else ""


_LEAST_PADDING = 16_384  # bytes: each array takes a multiple of 512 bytes
_OF_PADDED = 0.1  # of arguments or results, what they take more or less by padding to be worth a note


def changed_padding(program: ProgramComparison) -> dict[str, tuple[float, float]]:
    """By how much the arguments and results of a compiled program are padded, on either side, where that changed much.

    A TPU stores arrays in tiles: 129 elements along the axis of 128 lanes take the memory of 256, and are moved as
    such. Bytes accessed are counted without padding.

    Args:
        program: the program; only its compiled stage has memory.

    Returns:
        bytes of padding before and after, by "arguments" and "results".

    Example:
        >>> changed_padding(ProgramComparison("f", "tpu-v5e-2x2", "compiled", "identical"))
        {}
    """
    diff, metrics = program.diff, program.metrics()
    if diff is None or diff.new.stage != "compiled" or not all((diff.old.computations, diff.new.computations)):
        return {}
    found: dict[str, tuple[float, float]] = {}
    for name, metric, shapes in (
        ("arguments", "memory.argument", _argument_shapes),
        ("results", "memory.output", lambda module: module.result_shapes),
    ):
        stated = metrics.get(metric)
        if stated is None:
            continue
        old, new = (
            size - sum(shape.bytes for shape in shapes(module))
            for size, module in zip(stated, (diff.old, diff.new), strict=True)
        )
        if min(old, new) >= 0 and abs(new - old) >= max(_LEAST_PADDING, _OF_PADDED * max(stated)):
            found[name] = old, new
    return found


def _argument_shapes(module: Module) -> list[Shape]:
    entry = module.entry_computation
    return [entry.instructions[position].shape for position in entry.parameters]


def memory_note(program: ProgramComparison) -> str:
    """What arguments and results take by padding, where that changed much, and memory that cannot be compared, and why.

    Example:
        >>> memory_note(ProgramComparison("f", "tpu-v5e-2x2", "compiled", "identical"))
        ''
    """
    parts = [f"of {name} {format_arrow(*sides, format_bytes)}" for name, sides in changed_padding(program).items()]
    padding = f"padding {' and '.join(parts)}" if parts else ""
    return "; ".join(filter(None, (padding, uncompared_memory(program))))


_SHOWN_BY = {"temp": "peak", "peak": "temp"}  # that one is impossible


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
        by = format_by(number) if metric in ("flops", "bytes_accessed", "launches") else ""
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
