"""Better or worse: which numbers of a changed program cost more or less, by how much, and the verdict.

Memory, bytes, operations, collectives, copies, launches and transfers between host and device have a direction; other
numbers have none. A change below the threshold is counted but not listed. Nothing here decides whether a check passes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, log2, nan, sqrt
from operator import sub
from typing import Literal

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.instruction_costs import instruction_flops
from hlodiff.differ.loops import has_data_loop
from hlodiff.differ.metrics import ASSUMED, OUTSIDE, ExecutedCount, LoopTurn
from hlodiff.differ.placement import donations
from hlodiff.differ.regions import PRODUCTS
from hlodiff.differ.result import ModuleDiff, Site
from hlodiff.hlo.collectives import FAMILIES, parse_groups, stem
from hlodiff.hlo.model import Instruction, Module
from hlodiff.hlo.traversal import multiplicities
from hlodiff.report.function_view import Mark, Number, Verdict
from hlodiff.report.lines import printable
from hlodiff.report.numbers import (
    MEMORY,
    by_how_much,
    changed_padding,
    changed_part,
    executed_pair,
    format_number,
    has_expanded,
    memory_numbers,
    part_of,
    short_part,
)
from hlodiff.report.wording import format_arrow, format_bytes, format_change, format_count, many

THRESHOLD = 0.01
"""The default share of a number below which its change is not listed."""

MARKS: dict[str, str] = {"worse": "▲", "better": "▼", "mixed": "◆", "same": "="}
"""The symbol of each verdict: up costs more, down costs less. Always used with the word."""
VERDICT_NAMES: dict[str, str] = {"worse": "worse", "mixed": "mixed", "better": "better", "same": "same cost"}
"""The name of each verdict in a table."""
STYLES: dict[str, str] = {"worse": "bold red", "better": "bold green", "mixed": "bold yellow", "same": "bold"}
_ALWAYS = frozenset(["host transfers", "host callbacks"])  # each one waits for the host
_MOST_DOUBLINGS = 3.0
_DOMINATES = 4  # the heavier side decides if it weighs this many times the other
# Ranks of a tenth more flops and of 7 % more launches on a GPU, which less memory does not make up for.
_TRADED = {"flops": 0.2, "launches": 0.1}
_OF_NO_KERNEL = 0.5  # a GPU starts a kernel for each launch, which takes microseconds
_OF_ONE_LAUNCH = 0.05  # of all launches: one more or less than 20 or more costs what a compiler may choose
# Times the threshold up to which numbers are listed and decide nothing, see `_is_by_chance`; of launches on a GPU none.
_UNCERTAIN = {"temp": 3.0, "peak": 3.0, "launches": 5.0}
_TIMES = 2.0  # flops that change by so many times are what an edit is about
_WAITS_FOR = 1.25  # so many times more doublings of the number of collectives leave open what fewer bytes are worth
_EACH_WAITS = 0.125  # weight of the number of collectives against that of their bytes
_OF_COUNT = 0.1  # share of the change of a count below which that of its bytes is what is left of more and of less
_OF_LOOPS = 0.5  # share of the threshold by which the work of one iteration must change all work
_TAKEN_BACK = 0.25  # share of what arguments or results save that makes more temporary memory worth a word
_LARGE = 0.1  # share by which temp or peak must change to be listed beside many collectives
_OF_TEMPORARIES = ("peak", "temp")
_OF_WHOLE = 0.1  # share of the threshold by which a part of the memory must change all of it
_OFFSET = 0.5  # share of the change of a part of the memory that all of it has where other parts offset most of it
_MORE_AND_LESS = 2.0  # times the threshold up to which more in one loop and less in another is little
_SMALL = 0.25
_ALMOST = 0.95  # the share of the largest number that counts as the largest
_MANY_TIMES = 10  # above this a percentage is unclear: +3188 %


@dataclass(frozen=True, slots=True)
class _Weight:
    """The relative importance of a number, and what it is part of: "memory", "bytes", or "" for nothing."""

    weight: float
    whole: str = ""
    more_is_better: bool = False


_WEIGHTS = {
    "host transfers": _Weight(4),
    "host callbacks": _Weight(4),
    "temp": _Weight(2, "memory"),
    "peak": _Weight(1.9, "memory"),
    "arguments": _Weight(1.5, "memory"),
    "results": _Weight(1, "memory"),
    "aliased": _Weight(2, "memory", more_is_better=True),
    "bytes accessed": _Weight(2),
    "flops": _Weight(1.5),
    "launches": _Weight(1),
    "copies": _Weight(1, "bytes"),
}
_COLLECTIVE = _Weight(4, "bytes")
# Executed metrics by the names of their numbers; families of collectives use their own name.
_METRICS = {
    "copies": "copies", "host transfers": "host_transfers", "host callbacks": "host_callbacks", "launches": "launches",
    "flops": "flops", "bytes accessed": "bytes_accessed",
}  # fmt: skip
# Bytes of collectives, counted once more for those that send twice what they result in.
_SENT_IN_ALL = ("collective_bytes", "collective_bytes.all-reduce", "collective_bytes.reduce-scatter")
_SIZES = {"copies": "copy_bytes"}
# Numbers whose difference says more than a percentage, with the noun for one.
_COUNTED = {"host transfers": "host transfer", "host callbacks": "host callback", "copies": "copy"}


def judged(program: ProgramComparison, numbers: Iterable[Number], threshold: float = THRESHOLD) -> tuple[Number, ...]:
    """Numbers with their marks.

    Args:
        program: their program.
        numbers: changed numbers.
        threshold: the share of a number below which its change does not count, such as 0.01.

    Returns:
        the same in the same order, each with `mark`, `relevant`, `rank` and `least`.

    Example:
        >>> judged(ProgramComparison("f", "cpu", "compiled", "changed"), [Number("flops", 100, 150)])[0].mark
        'worse'
    """
    numbers = tuple(numbers)
    if not numbers:
        return ()
    # Memory: bytes of arguments, results and temporaries of the larger side.
    pairs = [pair for name, pair in program.metrics().items() if name in _PARTS]
    wholes = {
        "memory": max(sum(pair[side] for pair in pairs) for side in (0, 1)) if pairs else 0,
        "bytes": max(_assumed(one) for one in executed_pair(program, "bytes_accessed")),
    }
    ways = [_way(program, number, threshold) for number in numbers]
    if {1, -1} <= {way for number, (way, _, _) in zip(numbers, ways, strict=True) if number.name in FAMILIES}:
        # One kind of collective may have replaced another: each kind counts by its share of the bytes of all.
        wholes["exchanged"] = max(_assumed(one) for one in executed_pair(program, "collective_bytes"))
        wholes["more in all"] = _are_more_in_all(program, threshold)
    needed = _needed_memory(program)
    is_donated_otherwise = _is_donated_otherwise(program)
    more = sum(new - old for old, new in changed_padding(program).values())
    padded: Mark = "worse" if more > 0 else "better" if more < 0 else ""

    old, new = (one.exact for one in executed_pair(program, "bytes_accessed"))
    accessed = new - old if old is not None and new is not None else -inf

    def has_no_direction(number: Number) -> bool:
        # What is no longer donated stays in memory after the call, whatever the call itself needs.
        is_kept = number.name == "aliased" and is_donated_otherwise
        moved = {"bytes accessed": number.new - number.old, "copies": number.new_bytes - number.old_bytes}
        if padded and number.mark != padded and abs(moved.get(number.name, inf)) <= abs(more):
            return True  # counted without the padding, which is moved too, and makes up for it
        if number.name == "copies" and number.mark == "better" and 2 * accessed > moved["copies"]:
            return True  # others move what they no longer do
        return (not is_kept and _is_moved_memory(number, needed, threshold)) or _is_prefetched(program, number)

    found = [_judged(program, *one, wholes, threshold, is_donated_otherwise) for one in zip(numbers, ways, strict=True)]
    marked = [replace(one, mark="", rank=0.0) if has_no_direction(one) else one for one in found]
    return tuple(replace(one, rank=one.rank * _SMALL) if _is_returned(program, one, marked) else one for one in marked)


def _is_returned(program: ProgramComparison, number: Number, numbers: Iterable[Number]) -> bool:
    """Whether results are larger or smaller as donated arguments are: they are the same buffers."""
    metrics = program.metrics()
    if number.name != "results" or not number.mark or not metrics.keys() >= {"memory.alias", "memory.output"}:
        return False
    donated = [alias >= _ALMOST * all_of_it for alias, all_of_it in zip(*map(metrics.get, _RETURNED), strict=True)]
    arguments = [one for one in numbers if one.name == "arguments" and one.mark == number.mark]
    change = number.new - number.old
    return all(donated) and any(abs(one.new - one.old) >= _ALMOST * abs(change) for one in arguments)


_RETURNED = ("memory.alias", "memory.output")


def _is_donated_otherwise(program: ProgramComparison) -> bool:
    """Whether more or fewer arguments are donated than before."""
    diff = program.diff
    return diff is not None and len(donations(diff.old)) != len(donations(diff.new))


def _is_prefetched(program: ProgramComparison, number: Number) -> bool:
    """Whether launches changed only by moves between memories of the device.

    A TPU prefetches into its fast memory while it computes, in as many pieces as the compiler chooses.
    """
    moves = [one.exact for one in executed_pair(program, "memory_moves")]
    if number.name != "launches" or not number.mark or not number.comparable or None in moves or not any(moves):
        return False
    old, new = (n - (moved or 0) for n, moved in zip((number.old, number.new), moves, strict=True))
    return new <= old if number.mark == "worse" else old <= new


def _needed_memory(program: ProgramComparison) -> tuple[float, float] | None:
    """Total memory of one device: the peak, else all parts together; None if unknown."""
    metrics = program.metrics()
    if "memory.peak" in metrics:
        return metrics["memory.peak"]
    if not metrics.keys() >= {*_PARTS, "memory.alias"}:
        return None
    old, new = (sum(metrics[name][side] for name in _PARTS) - metrics["memory.alias"][side] for side in (0, 1))
    return old, new


def _is_moved_memory(number: Number, needed: tuple[float, float] | None, threshold: float) -> bool:
    """Whether a change of one part of memory is offset by another part.

    For example, a buffer that is no longer donated is no longer temporary memory, if the compiler used it as such. Less
    than the threshold of all may be left over: parts are padded. Of smaller arguments and results that is a saving, as
    they stay in memory between calls.
    """
    weight = _WEIGHTS.get(number.name)
    if weight is None or weight.whole != "memory" or not number.mark or needed is None:
        return False
    part, whole = abs(number.new - number.old), needed[1] - needed[0]
    kept = whole if number.mark == "worse" else -whole
    least = threshold * _UNCERTAIN.get(number.name, 1) * needed[0]
    is_padding = number.name in _OF_TEMPORARIES and kept < least and kept < _OFFSET * part
    return kept <= 0 or is_padding


def other_memory(program: ProgramComparison, threshold: float = THRESHOLD) -> tuple[Number, ...]:
    """Memory numbers of a program that is the same on both sides but needs different memory; () if below the threshold.

    Example:
        >>> facts = {"memory.temp": 800.0}, {"memory.temp": 1200.0}
        >>> other_memory(ProgramComparison("f", "cpu", "compiled", "identical", None, *facts))[0].mark
        'worse'
    """
    numbers = memory_numbers(program)
    return tuple(one for one in judged(program, numbers, threshold) if one.relevant) if numbers else ()


def _judged(
    program: ProgramComparison,
    number: Number,
    change: _Change,
    wholes: dict[str, float],
    threshold: float,
    is_donated_otherwise: bool,
) -> Number:
    weight = _COLLECTIVE if number.name in FAMILIES else _WEIGHTS.get(number.name)
    if number.name == "aliased" and _follows_results(program, number):
        weight = None
    way, doublings, by = change
    if number.name == "launches" and by < _OF_ONE_LAUNCH and _is_of_one(program, number):
        words = _below("single launches", _OF_ONE_LAUNCH)
        return replace(number, relevant=True, least=words) if by >= threshold else replace(number, relevant=False)
    always = number.name in FAMILIES or number.name in _ALWAYS
    is_of_donation = is_donated_otherwise and number.name in MEMORY
    if way and by >= threshold and not is_of_donation and _is_by_chance(program, number, by, threshold):
        of, off = ("temp and peak", "") if number.name in MEMORY else (number.name, " off GPUs")
        return replace(number, relevant=True, least=_below(of, threshold * _UNCERTAIN[number.name]) + off)
    if way and by < threshold and number.name in FAMILIES and number.old == number.new:
        return replace(number, relevant=True, least=_below("bytes of as many collectives", threshold))
    visible = threshold * (1 if number.name in _WORK else _UNCERTAIN.get(number.name, 0))
    if way and by < threshold and visible and _changed_outside(program, number) >= visible:
        words = f"{_below('work outside of loops', threshold)} of all in {ASSUMED} turns"
        return replace(number, relevant=True, least=words)
    if weight is None or not way:
        # An unknown change is not below a threshold, unless a reader sees the same on both sides.
        is_same = bool(number.old_words) and number.old_words == number.new_words
        is_unknown = bool(weight) and not (number.comparable or _is_slight(program, number, threshold))
        relevant = always or by >= threshold or (is_unknown and not is_same)
        return replace(number, relevant=relevant, least="" if relevant or not is_unknown else "equal as printed")
    whole = wholes.get(weight.whole, 0)
    difference = abs(number.new - number.old)
    if weight.whole == "bytes":
        size = _SIZES.get(number.name, f"collective_bytes.{number.name}")
        difference = abs(sub(*map(_assumed, executed_pair(program, size))))
    share = difference / whole if whole else 1.0
    if not number.comparable and not weight.whole:  # the work of one iteration may be a small part of all
        old, new = map(_assumed, executed_pair(program, metric_of(number)))
        share = abs(new - old) / max(old, new, 1)
    least = threshold * (_OF_WHOLE if weight.whole == "memory" else 1) if weight.whole else 0.0
    relevant = always or (by >= threshold and share >= least)
    if relevant and number.name in ("arguments", "results") and share < threshold and not is_of_donation:
        return replace(number, relevant=True, least=f"{_below('arguments and results', threshold)} of all memory")
    words = ""
    if by >= threshold and not relevant:
        name, all_ = (number.name, "all bytes") if weight.whole == "bytes" else ("parts of the memory", "all of it")
        words = f"{_below(name, least)} of {all_}"
    mark: Mark = "better" if (way < 0) != weight.more_is_better else "worse"
    if number.name == "copies" and whole:  # copies cost time in proportion to their bytes
        doublings = min(doublings, log2(1 + share))
    if number.name in FAMILIES and number.comparable:
        carried = wholes.get("exchanged")
        doublings = _MOST_DOUBLINGS * difference / carried if carried else _of_all_collectives(program, number)
    rank = weight.weight * min(doublings, _MOST_DOUBLINGS) * (1 if share >= threshold else _SMALL)
    if number.name in FAMILIES and way < 0 and wholes.get("more in all"):  # what came in its place costs more
        rank *= _SMALL
    if number.name == "launches" and not starts_kernels(program):
        rank *= _OF_NO_KERNEL
    return replace(number, mark=mark, relevant=relevant, rank=round(rank, 4), least=words)


def _changed_outside(program: ProgramComparison, number: Number) -> float:
    """The change outside of loops that data ends as a share of the work with one turn of each; 0 if loops changed."""
    old, new = executed_pair(program, metric_of(number))
    parts = old.parts(new)
    if len(parts) < 2 or any(one.work != other.work for one, other in parts[1:]):
        return 0.0
    (before, after), *turns = parts
    return abs(after.work - before.work) / max(before.work + sum(one.work * one.reached for one, _ in turns), 1)


def _is_of_one(program: ProgramComparison, number: Number) -> bool:
    """Whether a count is one more or one fewer; in one turn of a loop if data decides on the number of turns."""
    if number.comparable:
        return abs(number.new - number.old) == 1
    part = changed_part(*executed_pair(program, metric_of(number))) if starts_kernels(program) else None
    return part is not None and abs(part[1] - part[0]) == 1


def _below(what: str, share: float) -> str:
    return f"{what} below {100 * share:g} %"


def _is_by_chance(program: ProgramComparison, number: Number, by: float, threshold: float) -> bool:
    """Whether so small a change says nothing about the edit.

    How tightly XLA packs temporaries depends on the order of everything else, and where a launch starts no kernel, how
    it cuts the work costs little.
    """
    if number.name == "launches" and starts_kernels(program):
        return False
    return by < _UNCERTAIN.get(number.name, 0) * threshold


def starts_kernels(program: ProgramComparison) -> bool:
    """Whether each launch starts a kernel, which takes a GPU microseconds.

    Example:
        >>> starts_kernels(ProgramComparison("f", "cuda-h100", "compiled", "changed"))
        True
    """
    return (program.target or "cuda").startswith("cuda")


def _are_more_in_all(program: ProgramComparison, threshold: float) -> bool:
    """Whether collectives of all kinds are more and carry more. That fewer carry less is no proof of the reverse.

    Bytes are those of results: an all-reduce sends about twice as many, and a reduce-scatter at least.
    """
    fewer, more = map(_assumed, executed_pair(program, "collectives"))
    pairs = [executed_pair(program, metric) for metric in _SENT_IN_ALL]
    before, after = (sum(_assumed(pair[side]) for pair in pairs) for side in (0, 1))
    return more > fewer and after > (1 + threshold) * before


def _of_all_collectives(program: ProgramComparison, number: Number) -> float:
    """By how many doublings one kind changed the collectives of all kinds: their bytes, or far less so their number.

    Each waits for all devices, whatever it carries.
    """
    found = []
    for metric, weight, old, new in (
        ("collective_bytes", 1.0, number.old_bytes, number.new_bytes),
        ("collectives", _EACH_WAITS, number.old, number.new),
    ):
        before = _assumed(executed_pair(program, metric)[0])
        after = before + new - old
        found.append(weight * abs(log2(after / before)) if before > 0 < after else _MOST_DOUBLINGS)
    return max(found)


def _follows_results(program: ProgramComparison, number: Number) -> bool:
    """Whether less is aliased only because less is returned: results need hardly more memory of their own than before.

    The table of the results, of one address each, is not aliased.
    """
    old, new = program.metrics().get("memory.output", (0, 0))
    own, hardly = (new - number.new) - (old - number.old), _HARDLY * abs(number.new - number.old)
    return own <= hardly if number.new < number.old else own >= -hardly


_HARDLY = 0.01
_PARTS = ("memory.argument", "memory.output", "memory.temp")
_Change = tuple[int, float, float]  # see `_way`


def _assumed(count: ExecutedCount) -> float:
    """A number if data decides on so many iterations of each loop, see `LoopTurn.runs`."""
    return float(sum(turn.work * turn.runs for turn in count.loop_turns()))


def _way(program: ProgramComparison, number: Number, threshold: float) -> _Change:
    """The direction (1 is more), the number of doublings, and the change as a share of the old number."""
    pairs = [(number.old, number.new)]
    if number.name == "flops" and has_expanded(program):
        return 0, 0.0, 0.0
    if not number.comparable:
        sides = executed_pair(program, metric_of(number))
        if len(parts := sides[0].parts(sides[1])) > 1:
            return _way_of_parts(parts, changed_part(*sides), threshold)
        pairs = _ranges(*sides)
        if number.name in FAMILIES and any(before == after for before, after in pairs):
            return 0, 0.0, 0.0  # in one branch as many as before: how often that is taken is not known
    elif _is_by_bytes(number):
        if _is_more_by_count(number):
            return 0, 0.0, abs(number.new - number.old) / number.old if number.old else 1.0
        pairs = [(number.old_bytes, number.new_bytes)]
    ways = {_sign(pair) for pair in pairs} - {0}
    if len(ways) != 1:
        return 0, 0.0, 0.0
    # Of equal changes that of the upper bounds, which are last.
    old, new = max(reversed(pairs), key=lambda pair: abs(pair[1] - pair[0]))
    doublings = abs(log2(new / old)) if old > 0 and new > 0 else _MOST_DOUBLINGS
    return ways.pop(), doublings, abs(new - old) / abs(old) if old else 1.0


def _way_of_parts(
    parts: Sequence[tuple[LoopTurn, LoopTurn]], shown: tuple[int, int, str] | None, threshold: float
) -> _Change:
    """The change of work that data decides on, at equal trip counts.

    Work outside of the loops weighs little against that of a loop, which may run many times. The part that is shown, as
    the work of one iteration, has the threshold of its own, unless its change is a very small part of all.
    """
    runs = [min(old.runs, new.runs) for old, new in parts]
    change = [(new.work - old.work) * n for n, (old, new) in zip(runs, parts, strict=True)]
    way = _dominating(change)
    turns = [(old, new) for old, new in parts if new.loop != OUTSIDE]
    once = _dominating([(new.work - old.work) * new.reached for old, new in turns])
    if not way or once not in (way, 0) or (not once and any(old.work != new.work for old, new in turns)):
        return 0, 0.0, 0.0  # more in one loop and less in another: that depends on how often each runs
    whole = [sum(n * pair[side].work for n, pair in zip(runs, parts, strict=True)) for side in (0, 1)]
    share = abs(sum(change)) / whole[0] if whole[0] else 1.0
    doublings = abs(log2(whole[1] / whole[0])) if all(whole) else _MOST_DOUBLINGS
    before, after, where = shown or (0, 0, "")
    if " outside of " not in where:
        share = abs(after - before) / max(before, 1) if share >= threshold * _OF_LOOPS else 0.0
    return way, doublings, share


def _dominating(changes: Sequence[float]) -> int:
    """The direction of most of some changes; 0 if neither direction has far more, or nothing changed."""
    more, less = (sum(max(way * by, 0) for by in changes) for way in (1, -1))
    return 0 if min(more, less) * _DOMINATES > max(more, less) else _sign((less, more))


def _is_net(number: Number) -> bool:
    """Whether the bytes of what came and of what went nearly cancel: their difference says nothing of either."""
    if not number.old or not number.new:
        return False
    counted, carried = abs(number.new / number.old - 1), abs(number.new_bytes - number.old_bytes)
    return carried < _OF_COUNT * counted * number.old_bytes


def _is_by_bytes(number: Number) -> bool:
    """Whether bytes matter more than the count: the count is the same, or more instances transfer less."""
    by, size = number.new - number.old, number.new_bytes - number.old_bytes
    return by == 0 or by * size < 0


def _is_more_by_count(number: Number) -> bool:
    """Whether something occurs more often with slightly fewer bytes in all, or less often with slightly more.

    A collective waits for all devices and a copy is started, whatever its bytes, so which takes longer is unknown.
    """
    pairs = (number.old, number.new), (number.old_bytes, number.new_bytes)
    counted, carried = (abs(log2(new / old)) if old > 0 < new else _MOST_DOUBLINGS for old, new in pairs)
    return counted > _WAITS_FOR * carried


def metric_of(number: Number) -> str:
    """The executed metric behind a number; "" for others.

    Example:
        >>> metric_of(Number("bytes accessed", 1, 2))
        'bytes_accessed'
    """
    return f"collectives.{number.name}" if number.name in FAMILIES else _METRICS.get(number.name, "")


def _is_slight(program: ProgramComparison, number: Number, threshold: float) -> bool:
    """Whether a range, or work that data decides on, changed by less than the threshold of its maximum."""
    old, new = executed_pair(program, metric_of(number))
    if len(parts := old.parts(new)) > 1:
        runs = [min(pair[0].runs, pair[1].runs) for pair in parts]
        whole = sum(n * before.work for n, (before, _) in zip(runs, parts, strict=True))
        by = [n * (after.work - before.work) for n, (before, after) in zip(runs, parts, strict=True)]
        both = threshold * (_MORE_AND_LESS if number.name in _WORK else _DOMINATES)
        return abs(sum(by)) < threshold * whole and sum(map(abs, by)) < both * whole
    (least, most), (fewest, highest) = old.bounds, new.bounds
    if most is None or highest is None:
        return False
    return max(abs(fewest - least), abs(highest - most)) < threshold * max(most, highest)


def _ranges(old: ExecutedCount, new: ExecutedCount) -> list[tuple[float, float]]:
    """Both sides of a number that is a range, or that depends on different loops; [] if the sides do not compare."""
    if all(len(one.loop_turns()) < 2 for one in (old, new)):  # ranges of branches
        return [(old.least, new.least), (_assumed(old), _assumed(new))]
    for (_, most), (least, _), way in ((old.bounds, new.bounds, 1), (new.bounds, old.bounds, -1)):
        if most is not None and least > most:  # whatever the trip counts
            return [(most, least) if way > 0 else (least, most)]
        if most is not None and least >= _ALMOST * most:  # a loop now always does about what it did at most
            return [(_middle(old), _middle(new))]
    return []


def _middle(count: ExecutedCount) -> float:
    """The geometric mean of one iteration of each loop and of as many as possible: data decides how many run."""
    return sqrt((_assumed(count) if count.once is None else count.once) * _assumed(count))


def _sign(pair: tuple[float, float]) -> int:
    return (pair[1] > pair[0]) - (pair[1] < pair[0])


def verdict_of(numbers: Sequence[Number], doubtful: bool = False, others: Iterable[OtherWork] = ()) -> Verdict:
    """The verdict on the numbers of one program.

    Args:
        numbers: numbers with marks.
        doubtful: whether something without a number may cost more, such as a buffer written in another order; then
            nothing is certainly "better".
        others: changes that no number shows, see `other_work`.

    Returns:
        "mixed" if some cost more and some less, and neither side is more than four times the other, or if memory was
        traded for a tenth of the flops, or if only less memory is certainly better, or if no direction is known of what
        changed, or if products are faster and kernels more; "same" if none is relevant.

    Example:
        >>> verdict_of([Number("temp", 8, 4, mark="better", rank=2), Number("flops", 8, 9, mark="worse", rank=0.1)])
        'better'
    """
    found = {"better": 0.0, "worse": 0.0}
    memory = dict(found)  # its parts are parts of each other
    for number in numbers:
        if number.relevant and number.mark:
            if number.name in MEMORY:
                memory[number.mark] = max(memory[number.mark], number.rank)
            else:
                found[number.mark] += number.rank
    for work in others:
        if work.is_known:
            found[work.way] += work.rank
    better, worse = (found[mark] + memory[mark] for mark in ("better", "worse"))
    doubtful = doubtful or (better > worse and _hides_work(numbers))
    if not better and not worse:
        return "mixed" if doubtful or has_unknown(numbers) else "same"
    if min(better, worse) * _DOMINATES > max(better, worse) or (doubtful and better > worse):
        return "mixed"
    verdict: Verdict = "better" if better > worse else "worse"
    # A small product takes no longer than the start of a kernel, whatever its precision.
    is_faster = any(work.is_known and work.way == "better" for work in others)
    is_slower = any(number.name == "launches" and number.relevant and number.mark == "worse" for number in numbers)
    return "mixed" if _is_trade(numbers, verdict) or (is_faster and is_slower and verdict == "better") else verdict


def is_unknown_work(diff: ModuleDiff | None, numbers: Iterable[Number]) -> bool:
    """Whether work cannot be compared because only one side has loops whose trip counts depend on data.

    Example:
        >>> is_unknown_work(None, [])
        False
    """
    return has_unknown(numbers) and diff is not None and has_data_loop(diff.old) != has_data_loop(diff.new)


def has_unknown(numbers: Iterable[Number]) -> bool:
    """Whether some listed numbers have no direction because trip counts are unknown and may have changed.

    Example:
        >>> has_unknown([Number("flops", 8, 9, comparable=False)]), has_unknown([Number("flops", 8, 9)])
        (True, False)
    """
    # Launches leave no doubt about the work.
    unknown = (one for one in numbers if one.relevant and not one.comparable and one.name != "launches")
    return any(not (one.mark or one.least) for one in unknown)


def _is_trade(numbers: Sequence[Number], verdict: Verdict) -> bool:
    """Whether flops or launches speak against a verdict on memory.

    A checkpoint saves memory by computing again, and an unrolled loop holds more for fewer and larger kernels; the
    copies that go with a donation are no gain. Where collectives speak for the verdict too, it is not on memory.
    """
    marked = [one for one in numbers if one.relevant and one.mark]
    alike = {one.name for one in marked if one.mark == verdict}
    is_of_memory = not alike.isdisjoint(MEMORY) and alike.isdisjoint(FAMILIES)
    against = [one for one in marked if one.mark != verdict and not (one.name == "launches" and "aliased" in alike)]
    return is_of_memory and any(one.rank >= _TRADED.get(one.name, inf) for one in against)


def _hides_work(numbers: Sequence[Number]) -> bool:
    """Whether only memory and ranges are better while other work is unknown: a step may do more than before."""
    better = decisive_numbers(numbers, "better")
    # Bytes of copies are part of all bytes accessed: if those are known to be fewer, copies hide nothing.
    fewer = any(one.name == "bytes accessed" and one.mark == "better" for one in numbers)
    others = [one for one in numbers if not (fewer and one.name == "copies")]
    return has_unknown(others) and all(one.name in MEMORY or not one.comparable for one in better)


def decisive_numbers(numbers: Sequence[Number], verdict: Verdict) -> tuple[Number, ...]:
    """The two numbers that decide a verdict, most important first; for a mixed one the first of each side.

    The work itself comes before memory if it is at least twice or half of what it was. A mixed verdict of collectives
    alone has the memory too, if that is a tenth more or less. It has the second number too if that is another kind of
    collective and counts more than the other side does. If its first one is a collective, one of the other side comes
    before other numbers: the one came for the other.
    Launches come behind collectives of their side, which are among them.

    Example:
        >>> [number.name for number in decisive_numbers([Number("flops", 8, 9, mark="worse", rank=1)], "worse")]
        ['flops']
        >>> both = [Number("all-reduce", 2, 1, mark="better", rank=4), Number("temp", 8, 1, mark="better", rank=3)]
        >>> less = Number("flops", 8, 2, mark="better", rank=1)
        >>> [number.name for number in decisive_numbers([*both, less], "better")]
        ['all-reduce', 'flops']
        >>> traded = [both[0], Number("all-gather", 2, 3, mark="worse", rank=3), Number("temp", 8, 9, mark="worse")]
        >>> [number.name for number in decisive_numbers(traded, "mixed")]
        ['all-reduce', 'all-gather', 'temp']
    """
    ranked = sorted((one for one in numbers if one.relevant and one.mark), key=lambda one: -one.rank)
    if any(one.name == "temp" for one in ranked):  # the peak includes it
        ranked = [one for one in ranked if one.name != "peak"]
    if verdict == "mixed":
        other = next((n for n, one in enumerate(ranked) if one.mark != ranked[0].mark), len(ranked))
        is_second = other < len(ranked) and other > 1 and ranked[1].name in FAMILIES
        against = [one for one in ranked if one.mark != ranked[0].mark] if ranked else []
        if ranked and ranked[0].name in FAMILIES:
            against.sort(key=lambda one: one.name not in FAMILIES)
        elif any(one.name in FAMILIES for one in against):
            against.sort(key=lambda one: one.name == "launches")
        both = (*ranked[: 1 + is_second], *against[:1])
        beside = [one for one in ranked if one.name in MEMORY and _times(one) >= 1 + _LARGE]
        return (*both, *beside[:1]) if all(one.name in FAMILIES for one in both) else both
    own = [one for one in ranked if one.mark == verdict]
    chosen = own[:2]
    if all(one.name != "flops" for one in chosen) and (work := [one for one in own if _is_another_amount(one)]):
        chosen = [*(one for one in chosen if one.name not in MEMORY), *work]
    return tuple(sorted(chosen, key=lambda one: one.name not in FAMILIES))  # launches follow from a collective


def _is_another_amount(number: Number) -> bool:
    """Whether twice as many floating-point operations are done, or half as many."""
    return number.name == "flops" and number.comparable and _times(number) >= _TIMES


def _times(number: Number) -> float:
    """How many times the smaller side of a number the larger one is."""
    least, most = sorted((number.old, number.new))
    return most / least if least > 0 else inf


def format_short(number: Number, on: str = "") -> str:
    """A number as in a verdict: `+1 all-gather (32.0 KiB)`, `bytes accessed +68 %`.

    Args:
        number: a changed number.
        on: the target, if it is to be named.

    Example:
        >>> format_short(Number("all-gather", 0, 1, "count", 0, 32768))
        '+1 all-gather (32.0 KiB)'
        >>> format_short(Number("all-reduce", 2, 5, "count", 1245188, 1246212))
        'all-reduces 2 -> 5 (1,245,188 B -> 1,246,212 B)'
        >>> format_short(Number("all-reduce", 2, 2, "count", 32768, 128))
        'all-reduce bytes 32.0 KiB -> 128 B'
        >>> format_short(Number("flops", 100, 168)), format_short(Number("temp", 0, 2048, "bytes"))
        ('flops +68 %', 'temp 0 B -> 2.0 KiB')
    """
    words, size = _words_and_size(number)
    inside = ", ".join(filter(None, (size, on)))
    return f"{words} ({inside})" if inside else words


def _words_and_size(number: Number) -> tuple[str, str]:
    by = number.new - number.old
    one = number.name if number.name in FAMILIES else _COUNTED.get(number.name, "")
    if not number.comparable:
        several = f"{number.name}s" if number.name in FAMILIES else number.name
        is_more = (number.mark == "worse") != (number.name == "aliased")
        return f"{'more' if is_more else 'fewer'} {several}", ""
    if one and not _is_by_bytes(number):
        size = abs(number.new_bytes - number.old_bytes)
        several = "copies" if one == "copy" else f"{one}s"
        if size and _is_net(number):
            counted = format_arrow(number.old, number.new, format_count)
            return f"{several} {counted}", format_arrow(number.old_bytes, number.new_bytes, format_bytes)
        words = many(int(abs(by)), one, several)
        return f"{'+' if by > 0 else '-'}{words}", format_bytes(size) if size else ""
    if one:
        name = f"{number.name} bytes" if number.name in FAMILIES else number.name  # of all of them: one may be new
        return f"{name} {format_arrow(number.old_bytes, number.new_bytes, format_bytes)}", ""
    if not number.old or not number.new:
        show = format_bytes if number.unit == "bytes" else format_count
        return f"{number.name} {format_arrow(number.old, number.new, show)}", ""
    if not 1 / _MANY_TIMES < number.new / number.old < _MANY_TIMES:
        show = format_bytes if number.unit == "bytes" else format_count
        return f"{number.name} {format_arrow(number.old, number.new, show)}", ""
    return f"{number.name} {format_change(number.old, number.new)}", ""


_MOST_OF_A_TARGET = 3
_WORK = ("flops", "bytes accessed")  # they say more than counts of copies and launches


def format_numbers(
    numbers: Sequence[Number], below: int, others: Iterable[OtherWork] = (), verdict: Verdict = "same"
) -> str:
    """The numbers of one target: higher costs, lower costs, no direction, each with how many are not listed.

    Args:
        numbers: numbers to list, most important first.
        below: how many changed too little to list; shown if no number is listed, as the legend counts them all.
        others: changes that no number shows.
        verdict: the verdict on them; what decides it is listed.

    Example:
        >>> format_numbers([Number("temp", 8, 4, "bytes", mark="better", rank=1)], 2)
        '▼ better: temp 8 B -> 4 B (-50 %)'
        >>> format_numbers([], 2)
        '2 numbers changed too little to list'
    """
    shown = _listed(numbers, verdict)
    by_mark = {mark: [one for one in numbers if one.mark == mark] for mark in ("worse", "better", "")}
    work: dict[str, list[str]] = {"": []}
    for other in others:
        if other.is_known:
            work.setdefault(other.way, []).append(other.words)
    parts: list[str] = []
    before = ""
    for mark, alike in sorted(by_mark.items(), key=lambda item: -max((one.rank for one in item[1]), default=0.0)):
        listed: list[str] = []
        of_mark = sorted((one for one in shown if one.mark == mark), key=_is_of_text)
        for one in of_mark:
            which = part_of(one)[1]
            is_first_of_text = _is_of_text(one) and not any(map(_is_of_text, of_mark[: len(listed)]))
            listed.append(f"{'in the text: ' if is_first_of_text else ''}{both_sides(one, told=before)}")
            before = which or before
        if (left := len(alike) - len(listed)) and (mark or listed):
            listed.append(f"{left} more" if listed else many(left, "number"))
        words = ", ".join([*work.get(mark, ()), *listed])
        parts += [f"{MARKS[mark]} {mark}: {words}" if mark else words] if words else []
    none = f"{many(below, 'number')} changed too little to list" if below else "no executed number changed"
    return "; ".join(parts) or none


def _is_of_text(number: Number) -> bool:
    """Whether a number counts operations in the text of the program, wherever they are: the others are executed."""
    return number.name not in _WEIGHTS and number.name not in FAMILIES


def unlisted(numbers: Sequence[Number]) -> list[Number]:
    """The executed numbers without a mark that a row of others neither lists nor counts.

    Example:
        >>> [one.name for one in unlisted([Number("flops", 8, 9, mark="worse"), Number("launches", 100, 102)])]
        ['launches']
    """
    if not all(one.mark for one in _listed(numbers)):
        return []
    return [one for one in numbers if not one.mark and not _is_of_text(one)]


def _listed(numbers: Sequence[Number], verdict: Verdict = "same") -> list[Number]:
    """The numbers that a row has: what decides, all collectives, as one kind comes for another, flops, the largest."""
    collective = [one for one in numbers if one.mark and one.name in FAMILIES]
    rest = [one for one in numbers if one not in collective]
    costs, saved = ([one for one in rest if one.mark == mark] for mark in ("worse", "better"))
    most = max(_MOST_OF_A_TARGET - len(collective), 0)
    costly = costs[: max(most - bool(saved), min(most, 1))]  # each side has its largest: less memory for more work
    shown = [*collective, *costly, *saved[: most - len(costly)]]
    shown += [side[0] for side in (costs, saved) if side and all(one.mark != side[0].mark for one in shown)]
    for one in [one for one in rest if one.name == "flops" and one.mark]:  # not before what counts more
        first = (costs if one.mark == "worse" else saved)[0]
        shown += [each for each in dict.fromkeys((first, one)) if each not in shown]
    shown += [one for one in decisive_numbers(numbers, verdict) if one not in shown]
    large = [
        one for one in rest if one.name in _OF_TEMPORARIES and one.mark and abs(one.new - one.old) >= _LARGE * one.old
    ]
    if collective and not any(one in shown for one in large):
        shown += large[:1]
    # A range or per iteration; collectives are named even if more of them transfer less.
    is_open = (one for one in numbers if has_unknown((one,)) or (one.name in _WORK and one.least))
    open_ = sorted(is_open, key=lambda one: one.name not in _WORK)
    kept = open_[: max(_MOST_OF_A_TARGET - len(shown), 1)]
    # So are parts of the memory that callers keep, though the device needs as much in all, and temporary memory that
    # takes back much of what they save.
    named = {*FAMILIES, "arguments", "results"}
    less = max((one.old - one.new for one in numbers if one.name in named and one.mark == "better"), default=0)
    if all(one.name != "peak" for one in numbers):  # which has both
        temps = (one for one in numbers if one.name == "temp" and not one.least)
        named |= {one.name for one in temps if one.new - one.old >= _TAKEN_BACK * less > 0}
    shown += [one for one in numbers if one in kept or (not one.mark and one.name in named)]
    return shown or sorted(numbers, key=lambda one: one.name not in _WEIGHTS)[:2]


def both_sides(number: Number, on: str = "", told: str = "") -> str:
    """A number with both sides and the change: `temp 1.0 KiB -> 3.0 KiB (+200 %)`.

    Args:
        number: a changed number.
        on: the target, if it is to be named.
        told: the part of the work that a number before it was about, see `part_of`; the same is not repeated.

    Example:
        >>> both_sides(Number("flops", 100, 150))
        'flops 100 -> 150 (+50 %)'
    """
    by = by_how_much(number) if number.old and number.new and not (number.old_bytes or number.new_bytes) else ""
    if by and not 1 / _MANY_TIMES < number.new / number.old < _MANY_TIMES:
        by = ""  # both sides are clearer than +273913698 %
    pair, which = part_of(number)
    shown = f"{pair}{short_part(which, told)}" if pair else format_number(replace(number, per=""))
    beside = ", ".join(filter(None, (by, printable(number.besides))))
    words = f"{number.name} {shown}" + (f" ({beside})" if beside else "")
    return f"{words} on {on}" if on else words


def format_legend(
    threshold: float,
    below: int = 0,
    small: Iterable[str] = (),
    neither: Iterable[Number] = (),
    unmarked: Iterable[str] = (),
) -> str:
    """Explains marks and numbers in one line.

    Args:
        threshold: the share of a number below which its change is not listed.
        below: how many numbers changed by less.
        small: the thresholds of their own that others are below.
        neither: others that are left out, see `unlisted`; each by why it has no mark.
        unmarked: the thresholds below which numbers are listed without a mark.

    Example:
        >>> format_legend(0.01)
        '▲ costs more, ▼ less, per call and device; below 1 % is not listed'
        >>> format_legend(0.01, 3)
        '▲ costs more, ▼ less, per call and device; not listed: 3 below 1 %'
        >>> format_legend(0.01, 3, ["copies below 1 % of all bytes"], [Number("copies", 4, 5)])
        '▲ costs more, ▼ less, per call and device; not listed: 3 below 1 %, copies below 1 % of all bytes, 1 unmarked'
        >>> format_legend(0.01, unmarked=["launches below 5 % off GPUs"])
        '▲ costs more, ▼ less, per call and device; below 1 % is not listed; no mark: launches below 5 % off GPUs'
    """
    least = f"below {100 * threshold:g} %"
    neither = tuple(neither)
    own = dict.fromkeys((*(one.least for one in neither if one.least), *small))
    others = sum(not one.least for one in neither)
    left = [f"{below:,} {least}" if below else least, *own]
    left += [f"{others:,} unmarked"] if others else []
    listed = f"not listed: {', '.join(left)}" if below or left[1:] else f"{least} is not listed"
    no_mark = ", ".join(words for words in dict.fromkeys(unmarked) if words not in own)
    return "; ".join(
        ["▲ costs more, ▼ less, per call and device", listed, *([f"no mark: {no_mark}"] if no_mark else [])]
    )


# --- Costs that no number of a program shows: bytes and flops stay the same.


@dataclass(frozen=True, slots=True)
class OtherWork:
    """The change of a cost that no number shows.

    Args:
        old, new: relative work of each side; 0 if unknown.
        words: text for the report; "" for none.
        weight: its relative importance.
    """

    old: float
    new: float
    words: str = ""
    weight: float = _WEIGHTS["flops"].weight

    @property
    def is_known(self) -> bool:
        """Whether both sides are known."""
        return bool(self.old and self.new)

    @property
    def rank(self) -> float:
        """How much it weighs in a verdict, as `Number.rank`."""
        return self.weight * min(abs(log2(self.new / self.old)), _MOST_DOUBLINGS) if self.is_known else 0.0

    @property
    def way(self) -> Literal["worse", "better"]:
        """Whether the new side costs more."""
        return "worse" if self.old < self.new else "better"


def other_work(program: ProgramComparison) -> tuple[OtherWork, ...]:
    """The changed costs of a program that none of its numbers shows.

    Example:
        >>> other_work(ProgramComparison("f", "tpu-v5e-2x2", "compiled", "changed"))
        ()
    """
    diff = program.diff
    if diff is None or diff.new.stage != "compiled":
        return ()
    known = program.memo.get("other_work")
    if known is None or known[0] is not diff:
        found = tuple(filter(None, (_product_work(diff, program.target), _group_work(diff))))
        known = program.memo["other_work"] = (diff, found)
    work: tuple[OtherWork, ...] = known[1]
    return work


# Bytes that a device sends for each byte of its result, among n devices; of others the groups say nothing.
_SENT: dict[str, Callable[[int], float]] = {
    "all-reduce": lambda n: 2 * (n - 1) / n,
    "reduce-scatter": lambda n: n - 1,
    "all-gather": lambda n: (n - 1) / n,
    "all-to-all": lambda n: (n - 1) / n,
}


def _group_work(diff: ModuleDiff) -> OtherWork | None:
    """The work of collectives over more or fewer devices than before, if it is an edit of their groups.

    As in a ring, which is optimal in bytes (Patarasuk and Yuan 2009). Each step also waits for one more device.
    """
    found: Counter[tuple[str, int, int]] = Counter()
    for edit in diff.reported:
        if edit.kind != "changed" or "replica_groups" not in edit.fields or not (edit.old and edit.new and edit.cost):
            continue
        name, carried = stem(edit.new.opcode), [cost.collective if cost else 0 for cost in edit.cost]
        sizes = [_group_size(site, module) for site, module in ((edit.old, diff.old), (edit.new, diff.new))]
        is_same = name == stem(edit.old.opcode) and min(carried) >= _ALMOST * max(carried)  # else numbers show it
        if name in _SENT and is_same and min(sizes) > 1:
            found[name, sizes[0], sizes[1]] += carried[1]
    found = Counter({key: size for key, size in found.items() if key[1] != key[2]})
    if len({before < after for _, before, after in found}) != 1:
        return None
    (name, before, after), size = found.most_common(1)[0]
    others = max(_assumed(diff.executed["collective_bytes"][1]) - found.total(), 0)
    sent = [sum(_SENT[one](sizes[side]) * n for (one, *sizes), n in found.items()) for side in (0, 1)]
    by = (others + sent[1]) / (others + sent[0])
    if abs(by - 1) < THRESHOLD:
        return None
    words = f"{name} over {after} devices instead of {before} ({format_bytes(size)})"
    return OtherWork(1, by, words, _COLLECTIVE.weight)


def _group_size(site: Site, module: Module) -> int:
    groups = parse_groups(site.instruction_in(module).attribute("replica_groups") or "")
    return len(groups[0]) if groups else 0


# The work of products by what they multiply, relative to bfloat16. A TPU multiplies bfloat16: `jax.lax.Precision.HIGH`
# splits each operand into two such values and adds three products, `HIGHEST` takes three values and six products. A GPU
# with TF32, as all targets have, multiplies TF32 by default and float32 with `HIGHEST`, outside of its matrix units:
# NVIDIA states 989, 495 and 67 TFLOP/s for an H100. How much longer float32 takes depends on the product. With `HIGH`,
# cuBLAS uses TF32 and Triton float32. A CPU has no cheaper products of narrow types.

_ON_TPU = {"1 pass": 1.0, "3 passes": 3.0, "6 passes": 6.0}
_ON_GPU = {"bfloat16": 1.0, "float16": 1.0, "TF32": 2.0, "float32": 4.0}
_PASSES = {"high": "3 passes", "highest": "6 passes"}
_NARROW = {"bf16": "bfloat16", "f16": "float16"}
_BY_WORD = {"default": "TF32", "highest": "float32", "dot_tf32_tf32_f32": "TF32", "dot_f32_f32_f32": "float32"}
_WORDS = re.compile(r"\w+")
_OF_LIBRARIES = re.compile(r"__cublas\$gemm|__cudnn\$conv")


def _product_work(diff: ModuleDiff, target: str | None) -> OtherWork | None:
    """The work of matrix products if some multiply other values than before; None if only others were added.

    Of unknown work if the library decides what it multiplies.
    """
    device = (target or "").partition("-")[0]
    if device not in ("tpu", "cuda"):
        return None
    kind_of, rates = (_kind_on_tpu, _ON_TPU) if device == "tpu" else (_kind_on_gpu, _ON_GPU)
    sides = [_products(diff, side, kind_of) for side in (0, 1)]
    kinds = dict.fromkeys([*sides[0], *sides[1]])
    by = {kind: sides[1][kind].count - sides[0][kind].count for kind in kinds}
    gone, came = ([kind for kind in kinds if way * by[kind] > 0] for way in (-1, 1))
    if len(gone) != 1 or len(came) != 1 or by[gone[0]] + by[came[0]]:
        return None
    if not {gone[0], came[0]} <= rates.keys():
        return OtherWork(0, 0)
    moved = (sides[1][came[0]].flops - sides[0][came[0]].flops) * (rates[came[0]] - rates[gone[0]])
    old = sum(sides[0][kind].flops * rates.get(kind, 1) for kind in kinds)
    if old and abs(moved) < THRESHOLD * old:
        return None
    part, count, total = "", by[came[0]], sum(one.count for one in sides[1].values())
    if count < total:
        more, fewer = (sides[1][kind].runs - sides[0][kind].runs for kind in (came[0], gone[0]))
        of_all = sum(one.runs for one in sides[1].values())
        is_known = more == -fewer and of_all > 0
        part = f"{more:,.0f} of {of_all:,.0f} " if is_known else f"in the text {count:,} of {total:,} "
    before = gone[0].partition(" ")[0]  # `6 passes instead of 1`
    words = f"{part}matrix products in {came[0]} instead of {before}"
    return OtherWork(old, max(old + moved, 1), words) if old and moved else None


@dataclass(slots=True)
class _Products:
    """Products of one kind: how many the text has, how many one call runs, nan if data decides, and its operations."""

    count: int = 0
    runs: float = 0.0
    flops: float = 0.0


_KindOf = Callable[[Instruction, set[str], bool], str]
"""What a product multiplies, by its operands' types and whether Triton compiles it."""


def _products(diff: ModuleDiff, side: int, kind_of: _KindOf) -> defaultdict[str, _Products]:
    found: defaultdict[str, _Products] = defaultdict(_Products)
    module = (diff.old, diff.new)[side]
    times = multiplicities(module)
    calls = [it for computation in module.computations for _, it in computation.calling]
    in_triton = {index for it in calls if "triton" in (it.attribute("backend_config") or "") for index in it.called}
    for index, computation in enumerate(module.computations):
        for position, it in enumerate(computation.instructions):
            target = it.attribute("custom_call_target") if it.opcode == "custom-call" else None
            if it.opcode in PRODUCTS or _OF_LIBRARIES.search(target or ""):
                often = diff.runs[side][index]
                types = {computation.instructions[n].shape.element_type for n in it.operands[:2]}
                one = found[kind_of(it, types, index in in_triton)]
                one.count += times[index].total
                one.runs += nan if often.exact is None else often.exact
                one.flops += _assumed(often) * max(instruction_flops(module, (index, position)), 1)
    return found


def _kind_on_tpu(it: Instruction, types: set[str], _: bool) -> str:
    words = _WORDS.findall(it.attribute("operand_precision") or "") if "f32" in types else []
    return max((_PASSES.get(word, "1 pass") for word in words), default="1 pass")


def _kind_on_gpu(it: Instruction, types: set[str], in_triton: bool) -> str:
    """What a product multiplies; its precision if that is uncertain. XLA's own code computes in float32."""
    if types != {"f32"}:
        return _NARROW.get(next(iter(types)), "") if len(types) == 1 else ""
    if it.opcode == "custom-call" and (precision := it.attribute("operand_precision")):  # of cuDNN
        words = _WORDS.findall(precision)
    elif it.opcode == "custom-call":
        config = re.search(r'"precision_config":(\{[^{}]*\})', it.attribute("backend_config") or "")
        words = _WORDS.findall(config[1].lower()) if config else []
        words = [word for word in words if word not in ("operand_precision", "algorithm", "alg_unset")]
    elif it.opcode == "dot" and in_triton:
        words = _WORDS.findall(it.attribute("algorithm") or it.attribute("operand_precision") or "")
    else:
        return f"? {it.attribute('algorithm') or it.attribute('operand_precision') or ''}"
    found = {_BY_WORD.get(word.removeprefix("alg_"), "") for word in words or ["default"]}
    return max(found, key=lambda kind: _ON_GPU.get(kind, 0.0)) if "" not in found else f"? {words}"
