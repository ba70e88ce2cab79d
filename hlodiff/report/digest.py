"""A program that changed too much to list: how much of it is the same, then the largest groups of change.

A list of more than `MOST_ENTRIES` entries (stories.py) is told as a digest unless everything was asked for: entries of
one kind, opcode and set of fields together, the largest by bytes, then the largest by count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hlodiff.diff.costs import added_up, program_cost
from hlodiff.diff.result import ModuleDiff
from hlodiff.report.entries import Entry, Key
from hlodiff.report.numbers import many
from hlodiff.report.record import Report

_MOST_OF_EACH = 5


@dataclass(frozen=True, slots=True)
class Share:
    """How much of two programs is the same: instructions and bytes written, each of both sides together.

    Args:
        instructions, bytes: (same, all), counted on both sides, equal computations as often as they are called.
    """

    instructions: tuple[int, int]
    bytes: tuple[int, int]

    def plus(self, other: Share) -> Share:
        """The share of several programs together."""
        pairs = zip((self.instructions, self.bytes), (other.instructions, other.bytes), strict=True)
        instructions, size = ((a[0] + b[0], a[1] + b[1]) for a, b in pairs)
        return Share(instructions, size)

    def to_json(self) -> dict[str, float | None]:
        """Fractions between 0 and 1; None where there is nothing to compare."""
        return {"instructions": _fraction(self.instructions), "bytes": _fraction(self.bytes)}


NOTHING = Share((0, 0), (0, 0))


def share_of(diff: ModuleDiff) -> Share:
    """How much of a pair of programs no edit touches.

    Args:
        diff: of any two programs.

    Returns:
        instructions and bytes written (from shapes, loops as often as XLA knows that they turn) on both sides together.

    Example:
        >>> from hlodiff.diff import diff
        >>> from hlodiff.ir.hlo_reader import read_hlo
        >>> module = read_hlo("HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}")
        >>> share_of(diff(module, module)).to_json()
        {'instructions': 1.0, 'bytes': 1.0}
    """
    count = int(sum(diff.metrics.get("instructions", (0, 0))))
    size = program_cost(diff.old).written + program_cost(diff.new).written
    edited = sum(edit.count * (1 if edit.kind in ("added", "removed") else 2) for edit in diff.edits)
    written = sum(cost.written for edit in diff.edits for cost in edit.cost or () if cost is not None)
    return Share((max(count - edited, 0), count), (max(size - written, 0), size))


def share(report: Report, numbers: Iterable[int]) -> Share:
    """The share of several programs of a report, those without both sides left out.

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


def share_in_words(share: Share) -> str:
    """`81 % of the instructions, 77 % of the bytes written`.

    Example:
        >>> share_in_words(Share((3, 4), (0, 0)))
        '75 % of the instructions'
    """
    parts = ((share.instructions, "instructions"), (share.bytes, "bytes written"))
    return ", ".join(f"{_percent(pair)} of the {word}" for pair, word in parts if pair[1])


def shares_in_words(share: Share) -> tuple[str, str]:
    """Both shares as percentages, "" where there is nothing to compare.

    Example:
        >>> shares_in_words(Share((3, 4), (0, 0)))
        ('75 %', '')
    """
    instructions, size = (_percent(pair) if pair[1] else "" for pair in (share.instructions, share.bytes))
    return instructions, size


def _percent(pair: tuple[int, int]) -> str:
    percent = 100 * pair[0] / pair[1]
    return f"{percent:.0f} %" if percent <= 99 or pair[0] == pair[1] else f"{min(percent, 99.99):.2f} %"


@dataclass(frozen=True, slots=True)
class Digest:
    """The largest groups of change, and how much is not told.

    Args:
        by_bytes, by_count: groups as entries, each group once.
        others: how many groups are not told.
        untold: instructions in them, what follows included.
    """

    by_bytes: tuple[Entry, ...]
    by_count: tuple[Entry, ...]
    others: int = 0
    untold: int = 0


def digest_of(entries: Sequence[Entry], most: int = _MOST_OF_EACH) -> Digest:
    """Entries told together: the `most` largest groups by bytes, then as many by count.

    Example:
        >>> digest_of([Entry((), "added", 2, "add", "")]).by_count[0].count
        2
    """
    groups: dict[Key, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.group, []).append(entry)
    told = [_group(members) for members in groups.values()]
    by_bytes = [entry for entry in sorted(told, key=lambda entry: -entry.size) if entry.size][:most]
    rest = [entry for entry in told if entry not in by_bytes]
    by_count = sorted(rest, key=lambda entry: -entry.count - entry.following)[:most]
    left = [entry for entry in rest if entry not in by_count]
    return Digest(tuple(by_bytes), tuple(by_count), len(left), sum(entry.count + entry.following for entry in left))


def _group(entries: Sequence[Entry]) -> Entry:
    """One entry for several that differ in the line they come from, in literals and in values of fields."""
    first = entries[0]
    if len(entries) == 1:
        return first
    follows: dict[str, int] = {}
    for entry in entries:
        for word, count in entry.follows:
            follows[word] = follows.get(word, 0) + count
    old, new = (added_up(entry.cost[side] for entry in entries) for side in (0, 1))
    return replace(
        first,
        key=first.group,
        count=sum(entry.count for entry in entries),
        what=_what(first),
        where=_lines(entries),
        stack=(),
        follows=tuple(sorted(follows.items(), key=lambda item: (-item[1], item[0]))),
        cost=(old, new),
        edits=tuple(edit for entry in entries for edit in entry.edits),
    )


def _what(entry: Entry) -> str:
    _, old, new, fields = entry.group
    head = " -> ".join(dict.fromkeys(word for word in (str(old), str(new)) if word))
    words = [str(name).removeprefix("attribute:").replace("_", " ") for name in fields if name != "opcode"]  # type: ignore[attr-defined]
    return f"{head}: {', '.join(words)}" if words and len(words) <= 4 else head


def _lines(entries: Sequence[Entry]) -> str:
    """The line that most come from, and how many more there are."""
    counts: dict[str, int] = {}
    for entry in entries:
        if entry.where:
            counts[entry.where] = counts.get(entry.where, 0) + entry.count + entry.following
    ranked = sorted(counts, key=lambda where: -counts[where])
    more = f" and {many(len(ranked) - 1, 'more line')}" if len(ranked) > 1 else ""
    return ranked[0] + more if ranked else ""
