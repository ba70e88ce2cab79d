"""A short form of many changes: the first of each kind, and the others counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hlodiff.differ.costs import added_up
from hlodiff.report.grouping import EditGroup, Key, format_lines
from hlodiff.report.wording import ARROW

_MOST_OF_EACH = 5


@dataclass(frozen=True, slots=True)
class Digest:
    """The largest groups of changes, and the number of unlisted ones.

    Args:
        by_bytes, by_count: merged edit groups, each group once.
        others: number of unlisted groups.
        unlisted: number of instructions in them, including knock-on edits.
    """

    by_bytes: tuple[EditGroup, ...]
    by_count: tuple[EditGroup, ...]
    others: int = 0
    unlisted: int = 0


def digest_of(edit_groups: Sequence[EditGroup], most: int = _MOST_OF_EACH) -> Digest:
    """Edit groups merged: the `most` largest groups by bytes, then as many by count.

    Example:
        >>> digest_of([EditGroup((), "added", 2, "add", "")]).by_count[0].count
        2
    """
    groups: dict[Key, list[EditGroup]] = {}
    for edit_group in edit_groups:
        groups.setdefault(edit_group.group, []).append(edit_group)
    merged = [_merged_group(members) for members in groups.values()]
    by_bytes = [one for one in sorted(merged, key=lambda one: -one.size) if one.size][:most]
    rest = [one for one in merged if one not in by_bytes]
    by_count = sorted(rest, key=lambda one: -one.count - one.following)[:most]
    left = [one for one in rest if one not in by_count]
    return Digest(tuple(by_bytes), tuple(by_count), len(left), sum(one.count + one.following for one in left))


def _merged_group(edit_groups: Sequence[EditGroup]) -> EditGroup:
    """Merge edit groups that differ in line, literals and values of fields."""
    first = edit_groups[0]
    if len(edit_groups) == 1:
        return first
    follows: dict[str, int] = {}
    places: Counter[str] = Counter()
    for edit_group in edit_groups:
        places[edit_group.where] += edit_group.count + edit_group.following
        for word, count in edit_group.follows:
            follows[word] = follows.get(word, 0) + count
    del places[""]
    _, *opcodes, fields = first.group
    what = ARROW.join(dict.fromkeys(word for word in map(str, opcodes) if word))
    words = [str(name).removeprefix("attribute:").replace("_", " ") for name in fields if name != "opcode"]  # type: ignore[attr-defined]
    old, new = (added_up(edit_group.cost[side] for edit_group in edit_groups) for side in (0, 1))
    return replace(
        first,
        key=first.group,
        count=sum(edit_group.count for edit_group in edit_groups),
        what=f"{what}: {', '.join(words)}" if words and len(words) <= 4 else what,
        where=format_lines(places),
        stack=(),
        follows=tuple(sorted(follows.items(), key=lambda item: (-item[1], item[0]))),
        cost=(old, new),
        edits=tuple(edit for edit_group in edit_groups for edit in edit_group.edits),
    )
