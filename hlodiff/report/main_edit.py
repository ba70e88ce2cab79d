"""Summarises a changed program in a few words for the first line of a report, if one change explains it.

Uses the first of these that exists: a replaced name (`gelu -> silu`), a sentence about the whole program, added or
removed loops, text added to or deleted from the line (`* scale added`), a replaced subgraph, the only kind of operation
that was added or removed, and the only field that changed. Several changes give the numbers of added and removed
operations and the most frequent one; the list has the rest.
"""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from hlodiff.differ.metrics import BOOKKEEPING
from hlodiff.differ.result import Edit
from hlodiff.differ.subsequence import common_ends
from hlodiff.hlo.collectives import FAMILIES, stem
from hlodiff.hlo.model import CALLS
from hlodiff.report.edits import callee_of
from hlodiff.report.grouping import REPLACED, EditGroup
from hlodiff.report.sentences import CONNECTED_DIFFERENTLY
from hlodiff.report.view import ChangedLine
from hlodiff.report.wording import many
from hlodiff.report.written import OPENING, bracket_end, nesting, written

_FEW = 3  # kinds of operations that are listed
_LONGEST = 40  # characters of an argument
_MOST = 80  # characters; longer text belongs in the list, not in a first line
_ONE_FOR_ANOTHER = re.compile(r"[\w.-]+ -> [\w.-]+")
HANDED_ON = BOOKKEEPING | {"constant", "reshape", "broadcast", "broadcast_in_dim", "return"}
_LOOPS = ("while", "stablehlo.while")
# Arguments and results follow from the operations that use or produce them.
_FOLLOWS = re.compile(r"\d+ (?:new arguments?|arguments? gone|results? instead of)\b")
# Callers need to know it, but it does not explain the change.
_AT_ANOTHER_PATH = re.compile(r"\d+ arguments? at another path\b")
_MEAN = re.compile(r"means? (?:is|are) over (?P<new>\d+) elements instead of (?P<old>\d+)")
_TYPES = re.compile(r"\d+ values? now (?:bf|[fcsu])\d\w*+ instead of")
_BUFFER = "a buffer is written"
_FUNCTION = re.compile(r"(?<=\.py:)(\d+) \([^()]*\)")  # after its line number
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
        >>> line = ChangedLine("net.py:4", "", "y = jax.nn.gelu(x)", "y = jax.nn.silu(x)")
        >>> main_edit("worse: flops +2.9 %", (), (line,), groups)
        'jax.nn.gelu -> jax.nn.silu'
    """
    if _BUFFER in sentence:  # the verdict explains the change already; only the cause is missing
        return _names(lines)
    text = written(*_edited_sources(lines))
    sentences = [words for words in sentences if not _AT_ANOTHER_PATH.match(words) and _is_of_first(words, lines)]
    if text:  # it shows how they are connected
        sentences = [words for words in sentences if words != CONNECTED_DIFFERENTLY]
    causes = [words for words in sentences if not _FOLLOWS.match(words)]
    # Whether only the returned values changed.
    is_returned = all(one.kind == "changed" and {*map(str, one.group[1:3])} == {"return"} for one in edit_groups)
    cause = next(iter(causes), "")
    attribute = _attribute(lines, edit_groups)
    words = (
        _names(lines)
        or (text if _TYPES.match(cause) else "")  # `.astype(...) added`: the list has the counts
        or cause
        or _with_text(_loops(edit_groups, lines), text)
        or (attribute if len(attribute) <= _MOST else "")  # the text of the line may be shorter
        or _in_brackets(*_edited_words(lines))
        or text
        or _replaced(edit_groups)
        or _operations(_at_edited_lines(lines, edit_groups), sentence, op_counts)
        or (next(iter(sentences), "") if is_returned else "")
        or _field(edit_groups)
        or next(iter(sentences), "")
        or _amount(counts, edit_groups)
    )
    if len(words) > _MOST:
        words = _FUNCTION.sub(r"\1", words)
    if len(words) > _MOST:  # keep which argument; the list shows before and after
        words = words.partition(" (")[0]
    return words if len(words) <= _MOST and words not in sentence else ""


def _is_of_first(words: str, lines: Sequence[ChangedLine]) -> bool:
    """Whether a sentence about a mean is about the first line itself; else it follows, as from another array size."""
    found = _MEAN.search(words.replace(",", ""))
    if found is None or not (lines and lines[0].where):
        return True
    numbers = f"{found['old']} -> {found['new']}"
    return any(re.search(rf"literal: {numbers}(?![\d.])", change.what) for change in lines[0].changes)


def written_name(line: ChangedLine) -> str:
    """The name, number or argument that was replaced in a line; "" for any other edit.

    Example:
        >>> written_name(ChangedLine("net.py:4", "", "WIDTH, DEPTH = 64, 2", "WIDTH, DEPTH = 96, 2"))
        'WIDTH: 64 -> 96'
    """
    return _names((line,))


# --- what was written ------------------------------------------------------------------------------------------------


def _names(lines: Sequence[ChangedLine]) -> str:
    """The replaced name, number, argument or call, if only one line was edited and nothing else in it."""
    old, new = _edited_words(lines)
    if old == new:
        return ""
    if len(old) != len(new):
        return _argument(old, new) or _value(old, new) or _calls(old, new) or _other_argument(old, new)
    places = [number for number, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]]
    pairs = {(old[number], new[number]) for number in places}
    if len(pairs) == 2 and pairs == {(other, one) for one, other in pairs} and all(map(_is_name, *pairs)):
        return f"{old[places[0]]} and {new[places[0]]} exchanged"
    if len(pairs) != 1:
        return ""
    one, other = old[places[0]], new[places[0]]
    if not all(_IS_VALUE.match(word) for word in (one, other)):
        return ""
    before = _without_annotation(["", "", *old[: places[0]]])
    is_argument = _depth(before) > 0 or old[-1] == ","  # an argument on its own line
    is_number = any(word.removeprefix("-")[0].isdigit() for word in (one, other))
    name = _unpacked_name(old, places[0]) or (before[-2] if before[-1] == "=" else "")
    if name.isidentifier() and (is_argument or is_number):
        return _shortest(f"{name}: ", one, other)  # a bare number says nothing; `axis: 0 -> 1` does
    if is_argument and all(word[-1] in "\"'" for word in (one, other)):
        return f"{one} -> {other}"
    if not all(word[0].isalpha() or word[0] == "_" for word in (one, other)):
        return ""
    called = all(f"{word}(" in "".join(side) for word, side in ((one, old), (other, new)))
    ends = "()" if called and "." not in one + other else ""
    return f"{one}{ends} -> {other}{ends}"


def _shortest(before: str, one: str, other: str) -> str:
    """Both names, without their common module if that is too long."""
    module = one.rpartition(".")[0]
    if module == other.rpartition(".")[0] and len(before + one + other) + len(" -> ") > _MOST:
        one, other = (name.removeprefix(f"{module}.") for name in (one, other))
    return f"{before}{one} -> {other}"


def _unpacked_name(words: Sequence[str], place: int) -> str:
    """The name that a value of `a, b = 1, 2` is assigned to; "" if the line has another form."""
    at = words.index("=") if "=" in words else 0
    names, values = words[:at:2], words[at + 1 :: 2]
    commas = {*words[1:at:2], *words[at + 2 :: 2]}
    is_one_each = len(names) == len(values) > 1 and commas == {","} and all(map(str.isidentifier, names))
    return names[(place - at - 1) // 2] if is_one_each and place > at and (place - at) % 2 else ""


def _without_annotation(words: list[str]) -> list[str]:
    """The tokens before a default, without the argument's annotation: `base =` for `base: float =`."""
    depth = 0
    for number in range(len(words) - 2 if words[-1] == "=" else 0, 0, -1):
        depth -= nesting(words[number])
        if depth < 0 or (not depth and words[number] in (",", "=")):
            break
        if not depth and words[number] == ":":
            is_declared = words[number - 2] in ("", "(", ",") and not keyword.iskeyword(words[number - 1])
            return [*words[:number], "="] if is_declared else words
    return words


def _is_name(*words: str) -> bool:
    return all(_ELEMENT.fullmatch(word) or word[0] in "\"'" for word in words)


def _edited_words(lines: Sequence[ChangedLine]) -> tuple[list[str], list[str]]:
    """Tokens of both sides of the only edited line; ([], []) if there is no such line."""
    old, new = _edited_sources(lines)
    return _words(old), _words(new)


def _edited_sources(lines: Sequence[ChangedLine]) -> tuple[str, str]:
    """Both sides of the only edited line, even if several functions use it; ("", "") if there is no such line."""
    edited = {
        (line.where.partition(" (")[0], line.old_source, line.new_source)
        for line in lines
        if line.old_source != line.new_source
    }
    _, old, new = next(iter(edited), ("", "", ""))
    return (old, new) if len(edited) == 1 and old and new else ("", "")


def _calls(old: Sequence[str], new: Sequence[str]) -> str:
    """The call that was replaced by one with other arguments, if nothing else in the line changed."""
    start, _ = common_ends(old, new)
    names = [side[start] for side in (old, new) if side[start : start + 1]]
    ends = [_call_end(side, start) for side in (old, new)]
    if len(names) != 2 or 0 in ends or old[ends[0] :] != new[ends[1] :]:
        return ""
    one, other = names
    if one in new[start : ends[1]] or other in old[start : ends[0]]:  # one call wraps the other
        return ""
    return f"{one} -> {other}" if "." in one + other else f"{one}() -> {other}()"


def _argument(old: Sequence[str], new: Sequence[str]) -> str:
    """The keyword argument that was added or deleted, if nothing else in the line changed: `reverse=True`."""
    short, long = sorted((old, new), key=len)
    start, _ = common_ends(short, long)
    end = start + len(long) - len(short)
    if short[start:] != long[end:] or max(len(long[end:]), start) == 0:
        return ""
    while start and long[start - 1] == long[end - 1] and long[start] != ",":  # `, b=1` of `f(a, b=1)`
        start, end = start - 1, end - 1
    words = list(long[start:end])
    words = words[1:] if words[:1] == [","] else words[:-1] if words[-1:] == [","] else words
    if len(words) < 3 or words[1] != "=" or not words[0].isidentifier() or _depth(words):
        return ""
    is_inside = _depth(long[:start]) or short[-1:] == [","]
    shown = _joined(words)
    shown = shown if len(shown) <= _LONGEST else f"{words[0]}=..."
    return f"{shown} {'added' if long is new else 'gone'}" if is_inside else ""


def _other_argument(old: Sequence[str], new: Sequence[str]) -> str:
    """The keyword argument that was replaced by one with another name: `t1=True -> ts=times`."""
    start, behind = common_ends(old, new)
    while behind and _depth(new[start : len(new) - behind]):  # the shared closing bracket belongs to both arguments
        behind -= 1
    sides = [list(side[start : len(side) - behind]) for side in (old, new)]
    around = [*old[start - 1 : start], *old[len(old) - behind :][:1]]
    if not start or around[0] not in "(," or around[-1] not in "),":
        return ""
    if not all(_is_argument(side) for side in sides) or sides[0][0] == sides[1][0]:
        return ""
    shown = [words if len(words := _joined(side)) <= _LONGEST else f"{side[0]}=..." for side in sides]
    return " -> ".join(shown)


def _is_argument(words: Sequence[str]) -> bool:
    """Whether this is one keyword argument."""
    at_the_top = (not _depth(words[:number]) and word == "," for number, word in enumerate(words))
    return len(words) > 2 and words[1] == "=" and words[0].isidentifier() and not (_depth(words) or any(at_the_top))


def _value(old: Sequence[str], new: Sequence[str]) -> str:
    """The name, element or number that was replaced as an argument, if nothing else changed."""
    start, behind = common_ends(old, new)
    one, other = ("".join(side[start : len(side) - behind]) for side in (old, new))
    around = [*old[start - 1 : start], *old[len(old) - behind :][:1]]
    if not (start and around[0] in "(," and around[-1] in "),") or not _depth(old[:start]):
        return ""
    return f"{one} -> {other}" if _ELEMENT.fullmatch(one) and _ELEMENT.fullmatch(other) else ""


def _in_brackets(old: Sequence[str], new: Sequence[str]) -> str:
    """The call or tuple in which plain values were replaced, added or deleted, because a bare number says nothing.

    If that is too long for one line, the operation that takes the value: `root**2 -> root**1.5`.
    """
    start, behind = common_ends(old, new)
    if old == new:
        return ""
    inside = [side[start : len(side) - behind] for side in (old, new)]
    words = *inside[0], *inside[1]
    if not all(word == "," or (_IS_VALUE.match(word) and word not in _NO_VALUES) for word in words):
        return ""
    first = next((n for n in range(start - 1, -1, -1) if old[n] in OPENING and _depth(old[n:start]) > 0), None)
    if first is None:
        return ""
    first -= old[first] == "(" and first > 0 and old[first - 1][0].isidentifier()
    ends = [_call_end(side, first) or bracket_end(side, first) for side in (old, new)]
    if 0 in ends or old[ends[0] :] != new[ends[1] :]:
        return ""
    found = " -> ".join(_joined(side[first:end]) for side, end in zip((old, new), ends, strict=True))
    is_operand = len(inside[0]) == len(inside[1]) == 1 and start > 1 and old[start - 1] in _OPERATORS
    if len(found) > _MOST and is_operand and old[start - 2][0].isidentifier():
        return " -> ".join("".join(side[start - 2 : start + 1]) for side in (old, new))
    return found


_NO_VALUES = frozenset(keyword.kwlist) - {"None", "True", "False"}
_OPERATORS = frozenset(["**", "*", "+", "-", "/", "//", "%", "@", "<", ">", "<=", ">=", "==", "!="])


def _joined(words: Sequence[str]) -> str:
    return "".join(f"{word} " if word == "," else word for word in words)


def _depth(words: Sequence[str]) -> int:
    """How many brackets are open."""
    return sum(map(nesting, words))


def _call_end(words: Sequence[str], start: int) -> int:
    """The index after a call that begins at `start`; 0 if none does or it does not end on this line."""
    if not (words[start : start + 1] and words[start][0].isidentifier() and words[start + 1 : start + 2] == ["("]):
        return 0
    return bracket_end(words, start + 1)


_IS_VALUE = re.compile(r"-?\w|[rb]?[\"']")
_GOES_WITH = frozenset(["shape", "operands", "literal", "layout", "element_type"])
_ELEMENT = re.compile(r"-?[\w.]+(?:\[[^\[\]()]*\])*")
_BEFORE_A_SIGN = frozenset("=([{,:+-*/")


def _words(source: str) -> list[str]:
    """Tokens of a line; a dotted name is one token, and so is a number with its sign."""
    found: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            text = token.string.strip()
            if not text:
                continue
            if (text[0].isdigit() and found[-1:] == ["-"] and (len(found) == 1 or found[-2] in _BEFORE_A_SIGN)) or (
                found
                and found[-1] != "..."
                and (text == "." or found[-1].endswith("."))
                and (found[-1][-1:].isidentifier() or text != ".")
            ):
                found[-1] += text
            else:
                found.append(text)
    except (tokenize.TokenError, SyntaxError):  # one line of a longer statement: the tokens read so far are correct
        pass
    return found


# --- what it made of the program -------------------------------------------------------------------------------------


def _loops(edit_groups: Iterable[EditGroup], lines: Sequence[ChangedLine]) -> str:
    """The net number of added or removed loops, with the first one's line if no line is known to have been edited."""
    net, where = 0, ""
    for group in edit_groups:
        if len(group.group) > 2 and group.kind in ("added", "removed") and {*group.group[1:3]} & {*_LOOPS}:
            net += group.count if group.kind == "added" else -group.count
            where = where or group.where.partition(" (")[0]
    is_edited = bool(lines) and lines[0].old_source != lines[0].new_source
    return f"{many(abs(net), 'loop')} {_status(net)}{f' at {where}' if where and not is_edited else ''}" if net else ""


def _with_text(words: str, text: str) -> str:
    """`text, words` if the text is one added or deleted piece and both fit; else the words."""
    both = f"{text}, {words}"
    is_one_piece = text.endswith((" added", " gone"))
    return both if words and is_one_piece and len(both) <= _MOST else words


def _at_edited_lines(lines: Iterable[ChangedLine], edit_groups: Sequence[EditGroup]) -> Sequence[EditGroup]:
    """The changes of edited lines, or all if there are none: changes of other lines follow from these."""
    edited = {line.where for line in lines if line.old_source != line.new_source and not line.is_elsewhere}
    return [group for group in edit_groups if group.where in edited] or edit_groups


def _status(net: int) -> str:
    return "added" if net > 0 else "gone"


def _replaced(edit_groups: Iterable[EditGroup]) -> str:
    """The only replaced subgraph, if its description is short enough."""
    groups = [one for one in edit_groups if one.kind == REPLACED]
    words = f"{REPLACED} {groups[0].what.partition(' (was ')[0]}" if len(groups) == 1 else ""
    return words if len(words) <= _MOST else ""


def _operations(edit_groups: Iterable[EditGroup], sentence: str, op_counts: Mapping[str, tuple[int, int]]) -> str:
    """The only kind of operation that was added, the only one that was removed, or both; "" if the verdict names it."""
    counts: dict[str, Counter[str]] = {"added": Counter(), "removed": Counter()}
    places: dict[str, set[str]] = {}
    for group in edit_groups:
        if group.kind in counts and len(group.group) > 2:
            opcode = str(group.group[2] if group.kind == "added" else group.group[1])
            counts[group.kind][opcode] += group.count
            places.setdefault(opcode, set()).add(group.where)
    kinds = [_of_work(counts[kind]) for kind in ("removed", "added")]
    if max(map(len, kinds)) > 1 or kinds[0].keys() & kinds[1].keys():
        return ""
    for opcode, (before, after) in op_counts.items():  # not added or removed if another change cancels it
        for counted, net in zip(kinds, (before - after, after - before), strict=True):
            if net <= 0 and opcode != "fusion":  # a fusion of one operation is counted as that operation
                del counted[opcode]
    if not any(kinds):
        return ""
    (old, fewer), (new, more) = (next(iter(one.items()), ("", 0)) for one in kinds)
    if any(_family(opcode) in sentence for opcode in (old, new) if opcode):
        return ""
    if old and new and places[old].isdisjoint(places[new]):
        return f"{_times(new, more)} added, {_times(old, fewer)} gone"
    if old and new:
        same = f"{_shown(old)} -> {_shown(new)}"
        return same if fewer == more else f"{_times(new, more)} added, {_times(old, fewer)} gone"
    return f"{_times(old or new, fewer or more)} {_status(more - fewer)}"


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


def _callee(edit_groups: Iterable[EditGroup]) -> str:
    """The only newly called function; JAX's own (`_where`) are ignored because their names say nothing."""
    names: dict[str, set[str]] = {"added": set(), "removed": set()}
    for group in edit_groups:
        if group.kind in names and len(group.group) > 2:
            opcode, _, name = str(group.group[2] or group.group[1]).partition(" ")
            if opcode in CALLS:
                names[group.kind].add(name)
    found = {name for name in names["added"] if name and not name.startswith("_")}
    return found.pop() if len(found) == 1 and not names["removed"] else ""


def _amount(counts: OperationCounts, edit_groups: Sequence[EditGroup]) -> str:
    """How many operations were added and removed, and which; knock-on edits do not count, but are named if most."""
    kinds = [_of_work(one) for one in (counts.added, counts.removed)]
    callee = _callee(edit_groups)
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
    if not kinds[0].keys() & kinds[1].keys() and len(lines) == 1:
        words = f"{_listed(kinds[1])} -> {_listed(kinds[0], callee)}"
        if len(words) <= _MOST:
            return words
    most, count = _by_count(kinds[0] + kinds[1])[0]
    is_most = count * 2 > added + removed
    last = f", with {callee}()" if callee else f", mostly {_shown(most)}" if is_most else ""
    return f"{added:,} {noun} added, {removed:,} gone{last}"


def _listed(counts: Counter[str], callee: str = "") -> str:
    """`4 multiply, 2 divide, tanh, 2 more`: the new callee first, then the most frequent operations."""
    found = sorted(_by_count(counts), key=lambda one: _shown(one[0]) != f"{callee}()")
    words = [f"{count:,} {_shown(opcode)}" if count > 1 else _shown(opcode) for opcode, count in found[:_FEW]]
    rest = sum(count for _, count in found[_FEW:])
    return ", ".join([*words, f"{rest:,} more"] if rest else words)


def _by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def _field(edit_groups: Sequence[EditGroup]) -> str:
    """The only change of a field: `dot_general precision: default -> highest`."""
    found: Counter[str] = Counter()
    for group in [one for one in edit_groups if not _hands_on(one)] or edit_groups:
        opcodes = " -> ".join(filter(None, dict.fromkeys(map(str, group.group[1:3]))))
        fields = group.group[-1:]
        if group.kind != "changed" or len(fields) != 1 or not isinstance(fields[0], tuple):
            return ""
        words = group.what.partition(": ")[2] if opcodes and fields[0] else group.what
        if " -> " in opcodes:
            found[opcodes] += group.count
        elif len(fields[0]) > 1:
            return ""
        elif fields[0] == ("operands",):
            found[f"{opcodes} has other operands"] += group.count
        else:
            words = f"{opcodes} {words.removeprefix('literal: ')}" if opcodes else words
            if len(words) > _MOST and opcodes:
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
    if first is None or first.is_elsewhere or not first.where or first.old_source == first.new_source:
        return ""
    found: dict[str, None] = {}
    for group in [one for one in edit_groups if not _hands_on(one)] or edit_groups:
        if group.kind == "changed" and group.where == first.where and isinstance(group.group[-1], tuple):
            opcodes = dict.fromkeys(map(str, group.group[1:3]))
            fields = [str(one).removeprefix("attribute:") for one in group.group[-1] if one not in _GOES_WITH]
            for words in group.what.partition(": ")[2].split("; "):
                if len(opcodes) == 1 and words.partition(": ")[0] in fields and " -> " in words:
                    found[f"{next(iter(opcodes))} {words}"] = None
    return next(iter(found)) if len(found) == 1 else ""


def _hands_on(group: EditGroup) -> bool:
    """Whether the changed operation computes nothing: its shape follows from its operand's."""
    return group.kind == "changed" and {*map(str, group.group[1:3])} <= HANDED_ON
