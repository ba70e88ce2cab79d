"""What a report lists: equal changes from one line of Python as one entry, in whatever shapes, layers and programs.

Two edits are one entry where the change is the same and it comes from the same line. Shapes, names, operands and
layouts of the single instructions may differ: an entry names them only as far as there are few.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from hlodiff.diff.costs import added_up
from hlodiff.diff.patterns import weight_of
from hlodiff.diff.result import Cost, Edit, Site
from hlodiff.report.edits import change_in_words, edit_in_words, told_changes, told_fields
from hlodiff.report.instructions import attributes_in_words, shape_in_words
from hlodiff.report.numbers import many
from hlodiff.report.places import place, shown_stack

Key = tuple[object, ...]
Sides = tuple[Cost | None, Cost | None]
# Their values belong to the single instruction: an entry has many of them.
_OWN = frozenset(["shape", "layout", "operands", "backend_config", "computation", "schedule", "attribute:root"])
_OWN_ATTRIBUTES = ("dim", "slice", "window", "indices", "permutation", "frontend_attributes", "iota", "padding")
_MOST_SHAPES = 3
_MOST_FOLLOWERS = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """One change, however often it was made.

    Args:
        key: equal for equal changes of one stage, in this program and in others.
        kind: added, removed, changed or moved.
        count: of instructions (or module-level facts), without those that merely follow.
        what: in words, without markup and not yet escaped.
        where: the innermost line of the user's own code.
        stack: the whole call stack of the first one, innermost first, one line each.
        follows: opcodes of what merely follows, with how many there are, most frequent first.
        cost: on the old and the new side; of what follows only what came, went or changed its cost in the same way.
        weight: what a reviewer wants to see first is 0.
        group: the same for entries that a digest tells together: kind, opcode and names of the changed fields.
        edits: (number of the program, index of the edit) for each edit that stands for itself.
    """

    key: Key
    kind: str
    count: int
    what: str
    where: str
    stack: tuple[str, ...] = ()
    follows: tuple[tuple[str, int], ...] = ()
    cost: Sides = (None, None)
    weight: int = 1
    group: Key = ()
    edits: tuple[tuple[int, int], ...] = ()

    @property
    def id(self) -> str:
        """What `hlodiff accept --pattern` calls this change: the same for the same change in any set of programs."""
        return sha256(repr(self.key).encode()).hexdigest()[:8]

    @property
    def following(self) -> int:
        """How many instructions merely follow."""
        return sum(count for _, count in self.follows)

    @property
    def size(self) -> int:
        """Bytes that the change is about: what the larger side reads and writes."""
        return max(cost.bytes if cost else 0 for cost in self.cost)


@dataclass(frozen=True, slots=True)
class Member:
    """One edit with its number in its program, the number of the program, and the edits that follow from it."""

    program: int
    index: int
    edit: Edit
    followers: tuple[Edit, ...]


def members_of(edits: Sequence[Edit], program: int = 0) -> list[Member]:
    """The edits that stand for themselves, each with what follows from it.

    Example:
        >>> [len(one.followers) for one in members_of((Edit("added"), Edit("added", cause=0)))]
        [1]
    """
    followers: dict[int, list[Edit]] = {}
    for edit in edits:
        if edit.cause is not None:
            followers.setdefault(edit.cause, []).append(edit)
    return [
        Member(program, index, edit, tuple(followers.get(index, ())))
        for index, edit in enumerate(edits)
        if edit.cause is None
    ]


def grouped(members: Iterable[Member], stage: str, root: str = "") -> dict[Key, list[Member]]:
    """Members by what they have in common, in order of appearance.

    Args:
        members: edits of one or several programs.
        stage: of all of them.
        root: the project's folder.
    """
    found: dict[Key, list[Member]] = {}
    for member in members:
        found.setdefault(_key(member.edit, stage, root), []).append(member)
    return found


def entry_of(key: Key, members: Sequence[Member], root: str = "") -> Entry:
    """One entry of edits with that key.

    Example:
        >>> entry_of((), members_of((Edit("removed", count=3),))).count
        3
    """
    edits = [member.edit for member in members]
    followers = [edit for member in members for edit in member.followers]
    first = edits[0]
    # What came along is part of what came; of what changed in turn only what costs something else now says anything.
    along = [edit for edit in followers if edit.kind == first.kind and edit.cost and edit.cost[0] != edit.cost[1]]
    costs = [edit.cost for edit in (*edits, *along) if edit.cost]
    old, new = (added_up(cost[side] for cost in costs) for side in (0, 1))
    return Entry(
        key,
        first.kind,
        sum(edit.count for edit in edits),
        edit_in_words(first) if len(edits) == 1 else _together(edits),
        place(first.source, root),
        shown_stack(first.source, root),
        _follows(first.kind, followers),
        (old, new),
        min(map(weight_of, edits)),
        (first.kind, *_opcodes(first), told_fields(first)),
        tuple((member.program, member.index) for member in members),
    )


def entries_of(edits: Sequence[Edit], stage: str, root: str = "") -> tuple[Entry, ...]:
    """The entries of one program, what a reviewer wants to see first in front, then by count."""
    groups = grouped(members_of(edits), stage, root)
    return in_order(entry_of(key, members, root) for key, members in groups.items())


def in_order(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Sorted for a reader: by weight, then largest count first, else as they are."""
    return tuple(sorted(entries, key=lambda entry: (entry.weight, -entry.count - entry.following)))


def follows_in_words(entry: Entry) -> str:
    """`and 16 that follow: 8 constant, 8 broadcast`; "" where nothing does.

    Example:
        >>> follows_in_words(Entry((), "added", 1, "", "", follows=(("constant", 2),)))
        'and 2 that follow: 2 constant'
    """
    if not entry.follows:
        return ""
    words = [f"{count:,} {opcode}" for opcode, count in entry.follows[:_MOST_FOLLOWERS]]
    rest = sum(count for _, count in entry.follows[_MOST_FOLLOWERS:])
    words += [f"{rest:,} more"] if rest else []
    return f"and {entry.following:,} that {'follows' if entry.following == 1 else 'follow'}: {', '.join(words)}"


def _key(edit: Edit, stage: str, root: str) -> Key:
    where = place(edit.source, root)
    if not edit.sites or edit.fields == ("alias",):  # facts of the module and of its arguments stay single
        return stage, edit.kind, edit.op_name, tuple((c.field, c.old, c.new) for c in edit.changes), where
    changes = tuple((c.field,) if _is_own(c.field) else (c.field, c.old, c.new) for c in edit.changes)
    return stage, edit.kind, *_opcodes(edit), _literal(edit.new or edit.old), changes, where


def _is_own(field: str) -> bool:
    return field in _OWN or (field.startswith("attribute:") and any(word in field for word in _OWN_ATTRIBUTES))


def _opcodes(edit: Edit) -> tuple[str, str]:
    return edit.old.opcode if edit.old else "", edit.new.opcode if edit.new else ""


def _literal(site: Site | None) -> str:
    """A constant that came or went is told by its value."""
    return site.text.partition(" constant(")[2] if site and site.opcode == "constant" else ""


def _together(edits: Sequence[Edit]) -> str:
    """What several edits of one entry have in common: opcode, the few shapes, the fields with equal values."""
    first = edits[0]
    opcodes = [opcode for opcode in dict.fromkeys(_opcodes(first)) if opcode]
    shapes = list(dict.fromkeys(shape_in_words(site) for edit in edits if (site := edit.new or edit.old)))
    told = [shape for shape in shapes if len(shape) <= 24][:_MOST_SHAPES]
    more = [many(len(shapes) - len(told), "other shape" if told else "shape")] if len(shapes) > len(told) else []
    head = " ".join(filter(None, [" -> ".join(opcodes), ", ".join([*told, *more])]))
    if first.kind in ("added", "removed"):
        attributes = list(dict.fromkeys(", ".join(attributes_in_words(s)) for e in edits if (s := e.new or e.old)))
        return ", ".join([head, *attributes]) if len(attributes) == 1 and attributes[0] else head
    words = []
    for change in told_changes(first):
        same = all(any(c == change for c in edit.changes) for edit in edits)
        words.append(change_in_words(change, first) if same else change_in_words(change, first).partition(":")[0])
    return f"{head}: {'; '.join(words)}" if words else head


def _follows(kind: str, followers: Sequence[Edit]) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for edit in followers:
        site = edit.new or edit.old
        word = site.opcode if site else edit.kind
        word = word if edit.kind == kind else f"{word} {edit.kind}"
        counts[word] = counts.get(word, 0) + edit.count
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
