"""Summarises a changed program in a few words for the first line of a report, if one change explains it.

Uses the first of these that exists: a replaced name (`gelu -> silu`), a sentence about the whole program, added or
removed loops, text added to or deleted from the line (`* scale added`), a replaced subgraph, the only kind of operation
that was added or removed, and the only field that changed. Several changes give the numbers of added and removed
operations and the most frequent one; the list has the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from hlodiff.differ.loops import LOOPS
from hlodiff.differ.regions import PRODUCTS
from hlodiff.differ.result import Edit
from hlodiff.hlo.collectives import FAMILIES, stem
from hlodiff.hlo.model import CALLS
from hlodiff.report.edits import callee_of, custom_call_target
from hlodiff.report.function_view import ChangedLine
from hlodiff.report.grouping import ELEMENT_TYPES, HANDED_ON, REPLACED, EditGroup
from hlodiff.report.sentences import CONNECTED_DIFFERENTLY, REMATERIALISATION
from hlodiff.report.wording import ARROW, FIRST_LINE, format_pair, many

_FEW = 3  # kinds of operations that are listed
_ONE_FOR_ANOTHER = re.compile(r"[\w.-]+ -> [\w.-]+")
# Arguments and results follow from the operations that use or produce them.
_FOLLOWS = re.compile(
    r"\d+ (?:new (?:argument|result)s?|(?:argument|result)s? gone|results? (?:instead of|now depends?)|"
    r"loops? (?:added|gone) \()"
)
# Callers need to know it, but it does not explain the change.
_AT_ANOTHER_PATH = re.compile(r"\d+ (?:argument|result)s? at another path\b")
_MEAN = re.compile(r"means? (?:is|are) over (?P<new>\d+) elements instead of (?P<old>\d+)")
_TYPES = re.compile(r"(?:at least )?\d+ values? now (?:bf|[fcsu])\d\w*+ instead of")
_BUFFER = "a buffer is written"
_FUNCTION = re.compile(r"(?<=\.py:)(\d+(?:-\d+)?) \([^()]*\)")  # after its line numbers
_MANY = 10  # times as many knock-on edits as others: then the summary names them


@dataclass(frozen=True, slots=True)
class OperationCounts:
    """How often each operation was added and removed; knock-on edits are counted apart, in `following`."""

    added: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    following: Counter[str] = field(default_factory=Counter)


_NOTHING = OperationCounts()


def new_and_gone(edits: Iterable[Edit]) -> OperationCounts:
    """Counts added and removed operations; calls are counted by callee.

    Example:
        >>> new_and_gone([]).added.total()
        0
    """
    found = OperationCounts()
    for edit in edits:
        site = edit.new or edit.old
        if site is not None and edit.kind in ("added", "removed"):
            name = f"{site.opcode} {callee_of(edit)}" if site.opcode in CALLS else site.opcode
            counts = found.following if edit.cause is not None else found.added if edit.new else found.removed
            counts[name.strip()] += edit.count
    return found


def main_edit(
    sentence: str,
    sentences: Sequence[str],
    lines: Sequence[ChangedLine],
    edit_groups: Sequence[EditGroup],
    counts: OperationCounts = _NOTHING,
    op_counts: Mapping[str, tuple[int, int]] = MappingProxyType({}),
) -> str:
    """Summarises a change in at most 80 characters; "" if only the list shows it.

    Args:
        sentence: the verdict; the summary does not repeat it.
        sentences: sentences about the StableHLO if it changed, else about the compiled program.
        lines: lines of Python that the changes of that stage come from.
        edit_groups: the changes of that stage.
        counts: added and removed operations, see `new_and_gone`.
        op_counts: how often each opcode occurs in that stage, before and after.

    Example:
        >>> groups = [EditGroup((), "added", 1, "exponential f32[8]", "", group=("added", "", "exponential", ()))]
        >>> main_edit("worse: flops +2.9 %", (), (), groups)
        'exponential added'
        >>> sentences = ("1 loop gone (of unknown length)",)  # it went with a call or branch
        >>> main_edit("worse: flops +2.9 %", sentences, (), groups), main_edit("same", sentences, (), ())
        ('exponential added', '1 loop gone (of unknown length)')
        >>> line = ChangedLine("net.py:4", "", "y = jax.nn.gelu(x)", "y = jax.nn.silu(x)")
        >>> main_edit("worse: flops +2.9 %", (), (line,), groups)
        'jax.nn.gelu -> jax.nn.silu'
    """
    edited = [line for line in lines if line.is_edited]
    name = text = in_call = attribute = ""
    if edited:  # a comparison of two files knows no lines of Python
        from hlodiff.report.line_text import exchanged_calls, in_brackets, replaced_name, written

        if any(sides := _edited_sources(edited)):
            name, text, in_call = replaced_name(*sides), written(*sides), in_brackets(*sides)
            text = text or ("" if name else exchanged_calls(edited[0].old_sources, edited[0].new_sources))
        moved = {line.edit: line for line in edited if line.is_moved}
        if len(moved) == 1 and all(line.is_moved for line in edited):
            name = _moved_line(*moved.values())
        name = name or _moved_call(edited) or _of_two_lines(edited)
        text = text or (written_name(edited[0]) if _are_two_lines(edited) else "")
        attribute = _attribute(lines, edit_groups)
    if _BUFFER in sentence:  # the verdict explains the change already; only the cause is missing
        return name
    sentences = [words for words in sentences if not _AT_ANOTHER_PATH.match(words) and _is_of_first(words, lines)]
    if text:  # it shows how they are connected
        sentences = [words for words in sentences if words != CONNECTED_DIFFERENTLY]
    causes = [words for words in sentences if not _FOLLOWS.match(words)]
    # What computes again follows from an argument that says something else, as the adjoint of a solver.
    if text and not any(_CHECKPOINTS.search(f"{line.old_source}{line.new_source}") for line in edited):
        causes = [words for words in causes if REMATERIALISATION not in words]
    # Whether only the returned values changed.
    is_returned = all(one.kind == "changed" and {*map(str, one.group[1:3])} == {"return"} for one in edit_groups)
    cause = _short(next(iter(causes), ""))
    cause = cause if len(cause) <= FIRST_LINE else ""  # what was written may be shorter
    loops = _loops(edit_groups, lines, op_counts)
    both = f"{text}, {loops}"
    if loops and text and len(both) <= FIRST_LINE:
        loops = both
    replaced = [f"{REPLACED} {one.what.partition(' (was ')[0]}" for one in edit_groups if one.kind == REPLACED]
    # Changes of other lines follow from those of edited lines, if these have any.
    places = [line.edit[0] for line in edited if not line.is_elsewhere]
    # The first line names one place: what it says is of that place.
    at_edited = [group for group in edit_groups if group.where.partition(" (")[0] in places[:1]] or edit_groups
    words = (
        name
        or (text if _TYPES.match(cause) else "")  # `.astype(...) added`: the list has the counts
        or cause
        or loops
        or (attribute if len(attribute) <= FIRST_LINE else "")  # the text of the line may be shorter
        or in_call
        or text
        or _loop_moves(lines)
        or (replaced[0] if len(replaced) == 1 and len(replaced[0]) <= FIRST_LINE else "")
        or _conversions(at_edited)
        or _operations(at_edited, sentence, op_counts)
        or (next(iter(sentences), "") if is_returned else "")
        or _field(edit_groups)
        or next(iter(sentences), "")
        or _amount(_net(counts, op_counts), edit_groups)
    )
    words = _short(words)
    return words if len(words) <= FIRST_LINE and words not in sentence else ""


_CHECKPOINTS = re.compile(r"checkpoint|remat|policy", re.IGNORECASE)


def _short(words: str) -> str:
    """Without what the list shows too, if it is too long for a first line."""
    if len(words) > FIRST_LINE:
        words = _FUNCTION.sub(r"\1", words)
    if len(words) > FIRST_LINE and words.endswith(")") and words.count(" (") == 1:
        words = words.partition(" (")[0]  # which argument is kept; the list shows before and after
    return words.partition(": ")[0] if len(words) > FIRST_LINE else words


def _is_of_first(words: str, lines: Sequence[ChangedLine]) -> bool:
    """Whether a sentence about a mean is about the first line itself; else it follows, as from another array size."""
    found = _MEAN.search(words.replace(",", ""))
    if found is None or not (lines and lines[0].where):
        return True
    numbers = format_pair(found["old"], found["new"])
    return any(re.search(rf"literal: {numbers}(?![\d.])", change.what) for change in lines[0].changes)


def written_name(line: ChangedLine) -> str:
    """What was written in a line: the name, number or argument that was replaced, or any other edit; "" if too long.

    Example:
        >>> written_name(ChangedLine("net.py:4", "", "WIDTH, DEPTH = 64, 2", "WIDTH, DEPTH = 96, 2"))
        'WIDTH: 64 -> 96'
    """
    from hlodiff.report.line_text import in_brackets, replaced_name, written

    if line.is_moved:
        return _moved_line(line)
    sides = _edited_sources((line,))
    return replaced_name(*sides) or in_brackets(*sides) or written(*sides)


def _moved_line(line: ChangedLine) -> str:
    """`grads = clip(grads) moved into step`; `a line moved into step` if that is too long."""
    old, new = (place.partition(" (")[2].removesuffix(")") for place in (line.was or line.where, line.where))
    way = ""
    if new.startswith(inside := f"{old}." if old else "") and old != new:
        way = f" into {new.removeprefix(inside)}"
    elif old.startswith(inside := f"{new}." if new else "") and old != new:
        way = f" out of {old.removeprefix(inside)}"
    return words if len(words := f"{line.new_source} moved{way}") <= FIRST_LINE else f"a line moved{way}"


def _edited_sources(lines: Sequence[ChangedLine]) -> tuple[str, str]:
    """Both sides of the only edit of edited lines, even if several functions use it; ("", "") if there are more."""
    edits = {line.edit for line in lines}
    _, old, new = next(iter(edits), ("", "", ""))
    return (old, new) if len(edits) == 1 else ("", "")


def _are_two_lines(lines: Sequence[ChangedLine]) -> bool:
    """Whether two lines were edited, and are those of the operations themselves."""
    return len({line.edit for line in lines}) == 2 and not any(line.is_elsewhere for line in lines)


def _of_two_lines(lines: Sequence[ChangedLine]) -> str:
    """What was written in one of two edited lines, and where the other one is; "" if that is too long."""
    if not _are_two_lines(lines):
        return ""
    edited = {line.edit: line for line in lines}
    places = [place for place, *_ in edited]
    named = zip(map(written_name, edited.values()), places, places[::-1], strict=True)
    name, place, other = next((one for one in named if one[0]), ("", "", ""))
    words = f"{name} at {place}, and an edit at {other}"
    return words if name and len(words) <= FIRST_LINE else ""


_CALL = re.compile(r"[\w.]++")


def _moved_call(lines: Sequence[ChangedLine]) -> str:
    """`self.head moved from net.py:9 to net.py:4`, where it was taken from one of two edited lines; "" for others.

    Example:
        >>> edits = ("net.py:4", "q = f(x)", "q = f(x) * c"), ("net.py:7", "s = q @ k * c", "s = q @ k")
        >>> lines = [ChangedLine(where, "", *texts) for where, *texts in edits]
        >>> _moved_call(lines)
        '* c moved from net.py:7 to net.py:4'
    """
    if not _are_two_lines(lines):
        return ""
    both = {line.edit: line for line in lines}
    for line, other in zip(both.values(), reversed(both.values()), strict=True):
        words, others = written_name(line), written_name(other)
        what = words.removesuffix(" added")
        if what != words and others == f"{what} gone":  # a term or a factor
            moved = f"{what} moved from {other.edit[0]} to {line.edit[0]}"
            return moved if len(moved) <= FIRST_LINE else ""
        found = _CALL.match(words) if words.endswith((" added", " gone")) else None
        if found is None or "." not in found[0]:  # a common word may be on both lines
            continue
        name, (here, *_), (there, *_) = re.compile(rf"(?<![\w.]){re.escape(found[0])}(?![\w.])"), line.edit, other.edit
        is_in = [[bool(name.search(text)) for text in (one.old_source, one.new_source)] for one in (line, other)]
        if is_in in ([[False, True], [True, False]], [[True, False], [False, True]]):
            places = (there, here) if is_in[0][1] else (here, there)
            words = f"{found[0]} moved from {places[0]} to {places[1]}"
            return words if len(words) <= FIRST_LINE else ""
    return ""


_GOES_WITH = frozenset(["shape", "operands", "literal", "layout", "element_type"])

# --- what it made of the program -------------------------------------------------------------------------------------


def _loops(
    edit_groups: Iterable[EditGroup], lines: Sequence[ChangedLine], op_counts: Mapping[str, tuple[int, int]]
) -> str:
    """How many loops the program has more or fewer, with the line of the first one if no line is known to be edited."""
    found = [
        (group, 1 if group.kind == "added" else -1)
        for group in edit_groups
        if len(group.group) > 2 and group.kind in ("added", "removed") and {*group.group[1:3]} & {*LOOPS}
    ]
    counts = [op_counts[opcode] for opcode in LOOPS if opcode in op_counts]
    # Where few of its operations are the same, a loop may be listed as removed, and the new one follows from another.
    net = sum(new - old for old, new in counts) if counts else sum(way * group.count for group, way in found)
    net = net if found else 0
    where = next((at for group, _ in found if (at := group.where.partition(" (")[0])), "")
    is_edited = bool(lines) and lines[0].is_edited
    return f"{many(abs(net), 'loop')} {_status(net)}{f' at {where}' if where and not is_edited else ''}" if net else ""


_LOOP_MOVE = re.compile(r"[:;] ((?:out of|into) (?:the|a) loop(?:(?: that was)? at [^;]+)?)")


def _loop_moves(lines: Iterable[ChangedLine]) -> str:
    """`2 dot, add moved out of the loop at net.py:7`; "" if nothing moved, or out of several loops."""
    ways: dict[str, Counter[str]] = {}
    for change in (one for line in lines for one in line.changes if one.kind == "moved"):
        if found := _LOOP_MOVE.search(change.what):
            ways.setdefault(found[1], Counter())[change.what.partition(" ")[0]] += change.count
    ((way, counts),) = ways.items() if len(ways) == 1 else (("", Counter[str]()),)
    return f"{_listed(counts)} moved {way}" if way else ""


def _status(net: int) -> str:
    return "added" if net > 0 else "gone"


def _operations(edit_groups: Iterable[EditGroup], sentence: str, op_counts: Mapping[str, tuple[int, int]]) -> str:
    """The only kind of operation that was added, the only one that was removed, or both; "" if the verdict names it."""
    counts: dict[str, Counter[str]] = {"added": Counter(), "removed": Counter()}
    places: dict[str, set[str]] = {}
    for group in edit_groups:
        if group.kind in counts and len(group.group) > 2:
            opcode = str(group.group[2] if group.kind == "added" else group.group[1])
            # A custom call says nothing, its target does.
            opcode = (custom_call_target(group.what) if opcode.startswith("custom") else "") or opcode
            counts[group.kind][opcode] += group.count
            places.setdefault(opcode, set()).add(group.where)
    kinds = [_of_work(counts[kind]) for kind in ("removed", "added")]
    if max(map(len, kinds)) > 1 or kinds[0].keys() & kinds[1].keys():
        return ""
    # A fusion of one operation is counted as that operation.
    kinds = [_of_net(one, op_counts, way, ("fusion",)) for way, one in zip((-1, 1), kinds, strict=True)]
    if not any(kinds):
        return ""
    (old, fewer), (new, more) = (next(iter(one.items()), ("", 0)) for one in kinds)
    if any(_family(opcode) in sentence for opcode in (old, new) if opcode):
        return ""
    if old and new and places[old].isdisjoint(places[new]):
        return f"{_times(new, more)} added, {_times(old, fewer)} gone"
    if old and new:
        same = format_pair(_shown(old), _shown(new))
        return same if fewer == more else f"{_times(new, more)} added, {_times(old, fewer)} gone"
    return f"{_times(old or new, fewer or more)} {_status(more - fewer)}"


def _conversions(edit_groups: Iterable[EditGroup]) -> str:
    """`4 conversions to bf16 instead of f32`, if other conversions are all that came and went; else ""."""
    counts: dict[str, Counter[str]] = {"added": Counter(), "removed": Counter()}
    for group in edit_groups:
        if group.kind in counts and not HANDED_ON.issuperset(map(str, group.group[1:3])):
            types = {*ELEMENT_TYPES.findall(group.what)}
            if "convert" not in group.group[1:3] or len(types) != 1:
                return ""
            counts[group.kind][types.pop()] += group.count
    if any(len(one) != 1 for one in counts.values()):
        return ""
    (new, more), (old, fewer) = (*counts["added"].items(), *counts["removed"].items())
    if new == old:
        return ""
    return f"{many(more, 'conversion')} to {new} instead of {f'{fewer:,} to ' if more != fewer else ''}{old}"


def _times(opcode: str, count: int) -> str:
    opcode = _shown(opcode)
    return f"{count:,}x {opcode}" if count > 1 else opcode


def _shown(opcode: str) -> str:
    """An opcode, or a call's callee if known: `silu()`."""
    call, _, name = opcode.partition(" ")
    return f"{name}()" if name and call in CALLS else opcode.removeprefix("chlo.")


def _of_work(counts: Counter[str]) -> Counter[str]:
    """Without operations that only pass values on, unless there are no others."""
    return Counter({opcode: n for opcode, n in counts.items() if opcode not in HANDED_ON}) or counts


def _family(opcode: str) -> str:
    """The word by which a verdict names an operation."""
    name = stem(opcode)
    return name if name in FAMILIES else "cop" if name == "copy" else f" {opcode} "


def _net(counts: OperationCounts, op_counts: Mapping[str, tuple[int, int]]) -> OperationCounts:
    """Without operations that the program has as often as before: they are in a function of their own now."""
    called = [name for name in (*counts.added, *counts.removed) if name.partition(" ")[0] in CALLS]
    if not called or not op_counts:
        return counts
    added, removed = (_of_net(one, op_counts, way, called) for way, one in ((1, counts.added), (-1, counts.removed)))
    return OperationCounts(added, removed, counts.following)


def _of_net(
    counted: Counter[str], op_counts: Mapping[str, tuple[int, int]], way: int, kept: Container[str]
) -> Counter[str]:
    """Without operations that another change cancels: the program has no more of them (`way` 1), or no fewer (-1)."""
    by = {name: way * (op_counts[name][1] - op_counts[name][0]) for name in counted if name in op_counts}
    return Counter({name: n for name, n in counted.items() if name in kept or by.get(name, 1) > 0})


def _amount(counts: OperationCounts, edit_groups: Sequence[EditGroup]) -> str:
    """How many operations were added and removed, and which; knock-on edits do not count, but are named if most."""
    kinds = [_of_work(one) for one in (counts.added, counts.removed)]
    # The only newly called function; JAX's own (`_where`) are ignored because their names say nothing.
    called: dict[str, set[str]] = {"added": set(), "removed": set()}
    for group in edit_groups:
        if group.kind in called and len(group.group) > 2:
            opcode, _, name = str(group.group[2] or group.group[1]).partition(" ")
            if opcode in CALLS:
                called[group.kind].add(name)
    names = [name for name in called["added"] if name and not name.startswith("_")]
    callee = names[0] if len(names) == 1 and not called["removed"] else ""
    added, removed = (one.total() for one in kinds)
    if added + removed < _FEW - 1:
        return ""
    noun = "operation" if (added or removed) == 1 else "operations"
    if counts.following.total() > _MANY * (added + removed):
        parts = [f"{count:,} {word}" for count, word in ((added, "added"), (removed, "gone")) if count]
        most = _by_count(counts.following)[0][0]
        what = ", ".join(parts).replace(" ", f" {noun} ", 1)
        return f"{what}, {counts.following.total():,} knock-on edits, mostly {_shown(most)}"
    if not (added and removed):
        amount = f"{added or removed:,} {noun} {_status(added - removed)}"
        return f"{amount}: {_listed(kinds[0] or kinds[1], callee)}"
    lines = {group.where.partition(" (")[0] for group in edit_groups if group.kind != "changed"}
    came, went = kinds[0] - kinds[1], kinds[1] - kinds[0]
    for few in range(_FEW, 0, -1) if came or went else ():
        words = [_listed(went, few=few), _listed(came, callee, few)]
        if came and went and len(lines) == 1:
            whole = format_pair(*words)
        else:
            both = zip(words[::-1], ("added", "gone"), strict=True)
            whole = " and ".join(f"{one} {status}" for one, status in both if one)
        if len(whole) <= FIRST_LINE:
            return whole
    most, count = _by_count(kinds[0] + kinds[1])[0]
    is_most = count * 2 > added + removed
    last = f", with {callee}()" if callee else f", mostly {_shown(most)}" if is_most else ""
    return f"{added:,} {noun} added, {removed:,} gone{last}"


def _listed(counts: Counter[str], callee: str = "", few: int = _FEW) -> str:
    """`2 dot, 4 multiply, tanh, 2 more`: the new callee first, then products, then the most frequent operations."""
    found = sorted(_by_count(counts), key=lambda one: (_shown(one[0]) != f"{callee}()", one[0] not in PRODUCTS))
    words = [f"{count:,} {_shown(opcode)}" if count > 1 else _shown(opcode) for opcode, count in found[:few]]
    rest = sum(count for _, count in found[few:])
    return ", ".join([*words, f"{rest:,} more"] if rest else words)


def _by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def _field(edit_groups: Sequence[EditGroup]) -> str:
    """The only change of a field: `dot_general precision: default -> highest`."""
    found: Counter[str] = Counter()
    for group in [one for one in edit_groups if not _hands_on(one)] or edit_groups:
        opcodes = ARROW.join(filter(None, dict.fromkeys(map(str, group.group[1:3]))))
        fields = group.group[-1:]
        if group.kind != "changed" or len(fields) != 1 or not isinstance(fields[0], tuple):
            return ""
        words = group.what.partition(": ")[2] if opcodes and fields[0] else group.what
        if ARROW in opcodes:
            found[opcodes] += group.count
        elif len(fields[0]) > 1:
            return ""
        elif fields[0] == ("operands",):
            found[f"{opcodes} has other operands"] += group.count
        else:
            words = f"{opcodes} {words.removeprefix('literal: ')}" if opcodes else words
            if len(words) > FIRST_LINE and opcodes:
                words = f"{opcodes} has other {words[len(opcodes) + 1 :].partition(':')[0]}"
            found[words] += group.count
    is_of_one_line = len({group.where for group in edit_groups}) == 1
    if 1 < len(found) <= _FEW and is_of_one_line and all(_ONE_FOR_ANOTHER.fullmatch(words) for words in found):
        return ", ".join(found)
    if len(found) > 1 and all(words.endswith(" has other operands") for words in found):
        return f"{found.total():,} operations have other operands"
    if len(found) != 1:
        return ""
    ((words, count),) = found.items()
    opcodes, has_other, what = words.partition(" has other ")
    return f"{count:,} {opcodes} operations have other {what}" if count > 1 and has_other else words


def _attribute(lines: Sequence[ChangedLine], edit_groups: Sequence[EditGroup]) -> str:
    """The only attribute that changed at the first edited line; shapes, operands and the like follow from it."""
    first = next(iter(lines), None)
    if first is None or first.is_elsewhere or not (first.where and first.is_edited):
        return ""
    # Where the line has one more or fewer of an operation, a mean of means for a mean, the others differ by that.
    here = [group for group in edit_groups if group.where == first.where and group.kind in ("added", "removed")]
    counted = {str(opcode) for group in here for opcode in group.group[1:3] if opcode}
    found: dict[str, None] = {}
    for group in [one for one in edit_groups if not _hands_on(one)] or edit_groups:
        if group.kind == "changed" and group.where == first.where and isinstance(group.group[-1], tuple):
            opcodes = dict.fromkeys(map(str, group.group[1:3]))
            fields = [str(one).removeprefix("attribute:") for one in group.group[-1] if one not in _GOES_WITH]
            for words in group.what.partition(": ")[2].split("; "):
                is_kept = len(opcodes) == 1 and opcodes.keys().isdisjoint(counted)
                if is_kept and words.partition(": ")[0] in fields and ARROW in words:
                    found[f"{next(iter(opcodes))} {words}"] = None
    return next(iter(found)) if len(found) == 1 else ""


def _hands_on(group: EditGroup) -> bool:
    """Whether the changed operation computes nothing: its shape follows from its operand's."""
    return group.kind == "changed" and {*map(str, group.group[1:3])} <= HANDED_ON
