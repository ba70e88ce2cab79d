"""Which computations of two HLO texts are equal as printed, names and order aside: a good microsecond an instruction.

Each line is taken apart by one regular expression, and gets a number: equal numbers mean equal opcode, shape,
attributes and literal, and operands of equal numbers. Where no two instructions of a computation have the same number,
the set of numbers says which computation it is, in whatever order it was printed. Nothing here knows what an attribute
means: what is spelled in another way is another number, and has to be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from hlodiff.ir.content import COMMUTATIVE
from hlodiff.ir.hlo_tokens import Unbalanced, split_commas
from hlodiff.ir.outline import Chunk, Unread

# Nothing but what ends a part is looked for, which is fastest; `_unordered` and `_in_order` know what a part may be.
_ROW = re.compile(
    r"""^  (?:ROOT )?+(%[^ ]++) = ((?:[^ (][^ ]*+|\([^"%/\n]*?\)) [^(]++)\(([^)]*+)\)(.*+)$""", re.MULTILINE
)
_BEFORE_METADATA = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*"|,(?! metadata=\{))*')
_METADATA = re.compile(r', metadata=\{[^"}]*(?:"(?:[^"\\]|\\.)*"[^"}]*)*\}')
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|%([^\s,{}()"]+)')
_PLAIN_NAME = re.compile(r'%[^\s,{}()"]+')
_COMMENT = re.compile(r"/\*index=\d+\*/")
_CALLED = re.compile(r"=(%[^\s,{}]+|\{%[^{}]*\})")
_COMMUTATIVE = re.compile(f" ({'|'.join(sorted((*COMMUTATIVE, 'compare')))})$")
_STEP = re.compile(r" (?:while|conditional|call)\([^\n]*")
_SYMMETRIC = ("direction=EQ", "direction=NE")
# What is numbered across the whole program, where equal numbers may mean other partners; edges that are no operands.
_PROGRAM_WIDE = re.compile("channel|rendezvous|callback|control-predecessors")

Numbers = dict[Hashable, int]
# Name, shape and opcode, operands (with `%`) or else a literal, and the rest.
Row = tuple[str, str, str, str]


class _Unclear(Exception):
    """Something that a sketch cannot say for sure: the computation has to be read."""


class _Alike(dict[Hashable, int]):
    """Lines that are alike but for their operands, or their literal: by those, the number of each."""

    __slots__ = ("_fresh", "commutative")

    def __init__(self, commutative: bool, fresh: Iterator[int]) -> None:
        super().__init__()
        self.commutative = commutative
        self._fresh = fresh

    def __missing__(self, what: Hashable) -> int:
        self[what] = number = next(self._fresh)
        return number


class _Kinds(dict[str, _Alike]):
    """Lines of one tail, by shape and opcode."""

    def __init__(self, tail: str, fresh: Iterator[int]) -> None:
        super().__init__()
        self._tail = tail
        self._fresh = fresh

    def __missing__(self, head: str) -> _Alike:
        found = _COMMUTATIVE.search(head)
        commutative = found is not None and _is_symmetric(found[1], self._tail)
        self[head] = alike = _Alike(commutative, self._fresh)
        return alike


class _Tails(dict[str, _Kinds]):
    """By what stands behind the operands: lines that mean the same there, worked out once each.

    Metadata means nothing, nor does the order of attributes; what is called is its key, or left out where masked.
    """

    def __init__(self, kinds: dict[str, _Kinds], fresh: Iterator[int], masked: bool = False) -> None:
        super().__init__()
        self._fresh = fresh  # numbers of lines
        self.keys_by_name: dict[str, int | None] = {}
        self._masked = masked
        self._kinds = kinds
        self._sorted: dict[str, str] = {}

    def __missing__(self, tail: str) -> _Kinds:
        text = tail
        at = _metadata_start(tail)
        if at >= 0 and (metadata := _METADATA.match(tail, at)):
            text = tail[:at] + tail[metadata.end() :]
        if "%" in text:
            text = _PLAIN_NAME.sub("%", text) if self._masked and '"' not in text else _NAME.sub(self._key, text)
        if text not in self._sorted:
            self._sorted[text] = _in_order_of_names(text)
        text = self._sorted[text]
        if text not in self._kinds:
            self._kinds[text] = _Kinds(text, self._fresh)
        self[tail] = kinds = self._kinds[text]
        return kinds

    def _key(self, name: re.Match[str]) -> str:
        if name[1] is None:  # a string
            return name[0]
        if self._masked:
            return "%"
        key = self.keys_by_name.get(name[1])
        if key is None:
            raise _Unclear
        return f"%{key}"


@dataclass(frozen=True, slots=True)
class Sketch:
    """One side of a comparison.

    Args:
        program: its computations as text.
        keys, chunks: by the name of each computation its key (None where only reading tells) and its place.
        ordered: names of the computations whose printed order counts.
    """

    program: Unread
    keys: dict[str, int | None]
    chunks: dict[str, Chunk]
    ordered: frozenset[str]
    _rows: dict[str, list[Row]] = field(default_factory=dict)

    def rows(self, name: str) -> list[Row]:
        """The lines of a computation, taken apart and kept; see `rows_of`."""
        if name not in self._rows:
            self._rows[name] = rows_of(self.program.text, self.chunks[name])
        return self._rows[name]


@dataclass(slots=True)
class Sketcher:
    """Gives the computations of programs their keys; keys of one sketcher can be compared.

    Args:
        numbers: grows; equal keys mean equal computations only within one of these.
        scheduled: whether the printed order is part of computations that run step by step.
    """

    numbers: Numbers
    scheduled: bool
    _kinds: dict[str, _Kinds] = field(default_factory=dict)
    _fresh: Iterator[int] = field(default_factory=count)
    _tails: _Tails = field(init=False)

    def sketch(self, program: Unread, entry: int, by_name: Container[str] = ()) -> Sketch:
        """Give every computation its key.

        Args:
            program: one side.
            entry: index of its entry computation.
            by_name: computations that are known to be the same on both sides and unlike all others; see `same_names`.
        """
        keys: dict[str, int | None] = {}
        self._tails = _Tails(self._kinds, self._fresh)
        self._tails.keys_by_name = keys
        chunks = {chunk.name: chunk for chunk in program.chunks}
        ordered = _steps(program.text, chunks, program.chunks[entry].name) if self.scheduled else frozenset()
        for n, (name, chunk) in enumerate(chunks.items()):
            if n == entry:
                keys[name] = None  # always looked at: its parameters are the program's
            elif name in by_name:
                keys[name] = self._number(("same", name))
            else:
                keys[name] = self._key(program.text, chunk, name in ordered)
        return Sketch(program, keys, chunks, ordered)

    def _key(self, text: str, chunk: Chunk, ordered: bool) -> int | None:
        rows = rows_of(text, chunk)
        if not rows:
            return None
        root = root_of(text, chunk)
        try:
            if not ordered:
                number = self._unordered(rows)
                found = frozenset(number.values())
                if len(found) == len(rows):
                    return self._number((chunk.closing, number[root], found))
            return self._number((chunk.closing, self._in_order(rows, root)))
        except (KeyError, Unbalanced, _Unclear):
            return None

    def twins(self, old: Sketch, new: Sketch, name: str, other: str) -> list[tuple[int, int]] | None:
        """Which lines of two computations correspond, where they are the same but for what they call.

        Args:
            old, new: both sides.
            name, other: a computation of each.

        Returns:
            Pairs of line numbers, those of the old side ascending; None where the two differ in more, or where it
            takes more than a sketch to tell.
        """
        self._tails = _Tails({}, self._fresh, masked=True)
        chunks = (old.chunks[name], new.chunks[other])
        texts = (old.program.text, new.program.text)
        rows, others = old.rows(name), new.rows(other)
        roots = tuple(map(root_of, texts, chunks))
        if not rows or len(rows) != len(others) or chunks[0].closing != chunks[1].closing:
            return None
        try:
            if name in old.ordered or other in new.ordered:
                same = self._in_order(rows, roots[0]) == self._in_order(others, roots[1])
                return [(n, n) for n in range(len(rows))] if same else None
            one, two = self._unordered(rows), self._unordered(others)
        except (KeyError, Unbalanced, _Unclear):
            return None
        place = {two[row[0]]: n for n, row in enumerate(others)}
        numbers = set(one.values())
        if len(numbers) != len(rows) or numbers != place.keys() or one[roots[0]] != two[roots[1]]:
            return None
        return [(n, place[one[row[0]]]) for n, row in enumerate(rows)]

    def _number(self, what: Hashable) -> int:
        return self.numbers.setdefault(what, len(self.numbers))

    def _unordered(self, rows: Sequence[Row]) -> dict[str, int]:
        # This loop is where the time goes.
        tails = self._tails
        number: dict[str, int] = {}
        number_of = number.__getitem__
        for name, head, inside, tail in rows:
            alike = tails[tail][head]
            if inside in number:  # one operand
                number[name] = alike[number[inside]]
            elif inside[:1] != "%":  # none, or a literal
                if "%" in inside:  # older printers put a shape before each operand
                    raise _Unclear
                number[name] = alike[inside]
            else:
                first, _, second = inside.partition(", ")
                if second not in number:
                    number[name] = alike[tuple(map(number_of, _names(inside)))]
                elif alike.commutative and number[first] > number[second]:
                    number[name] = alike[number[second], number[first]]
                else:
                    number[name] = alike[number[first], number[second]]
        return number

    def _in_order(self, rows: Sequence[Row], root: str) -> tuple[int, ...]:
        """One number for each line; operands are the positions of lines, so that what is shared is seen."""
        position: dict[str, int] = {}
        found: list[int] = []
        for row in rows:
            name, head, inside, tail = row
            alike = self._tails[tail][head]
            below = [position[operand] for operand in operand_names(row)]
            if not below and "%" in inside:  # see `_unordered`
                raise _Unclear
            if len(below) == 2 and alike.commutative:
                below.sort()
            what = ("in order", *below) if below else inside
            position[name] = len(position)
            found.append(alike[what])
        if len(position) != len(found):
            raise _Unclear
        return (position[root], *found)


def same_names(old: Unread, new: Unread) -> set[str]:
    """Computations that have one name and one text on both sides, and cannot be equal to any other.

    A name is no evidence: where another computation has as many lines as one that differs, or is called by one that
    has, it may be its equal, and only taking both apart will tell.
    """
    ours = {chunk.name: chunk for chunk in old.chunks}
    callees: dict[str, list[str]] = {}
    for chunk in new.chunks:
        twin = ours.get(chunk.name)
        if twin is not None and _is_same(old.text, twin, new.text, chunk):
            names = [name for name in called_names(new.text[chunk.body : chunk.end]) if name in ours]
            if all(name in callees for name in names):
                callees[chunk.name] = names
    lengths = {chunk.lines for program in (old, new) for chunk in program.chunks if chunk.name not in callees}
    while True:
        doubtful = [name for name in callees if ours[name].lines in lengths]
        more = {ours[callee].lines for name in doubtful for callee in callees[name]} - lengths
        if not more:
            return callees.keys() - doubtful
        lengths |= more


def _is_same(text: str, one: Chunk, others: str, other: Chunk) -> bool:
    if one.lines != other.lines or one.closing != other.closing or one.end - one.body != other.end - other.body:
        return False
    return text[one.body : one.end] == others[other.body : other.end]


def rows_of(text: str, chunk: Chunk) -> list[Row]:
    """The lines of a computation, taken apart; [] where one has another form."""
    rows: list[Row] = _ROW.findall(text, chunk.body, chunk.end)
    if len(rows) != chunk.lines:
        rows = _ROW.findall(_COMMENT.sub("", text[chunk.body : chunk.end]))
    return rows if len(rows) == chunk.lines else []


def operand_names(row: Row) -> list[str]:
    """Names of the operands of a line, with `%`."""
    return _names(row[2]) if row[2].startswith("%") else []


def _names(operands: str) -> list[str]:
    return (_COMMENT.sub("", operands) if "*" in operands else operands).split(", ")


def metadata_of(row: Row) -> str:
    """`, metadata={...}` of a line, "" where it has none."""
    at = _metadata_start(row[3])
    found = _METADATA.match(row[3], at) if at >= 0 else None
    return found[0] if found else ""


def _metadata_start(tail: str) -> int:
    """Where `, metadata={` begins outside of strings, -1 where it does not."""
    at = tail.find(", metadata={")
    if at < 0 or tail.find('"', 0, at) < 0:
        return at
    before = _BEFORE_METADATA.match(tail)
    return before.end() if before and tail.startswith(", metadata={", before.end()) else -1


def _in_order_of_names(attributes: str) -> str:
    if _PROGRAM_WIDE.search(attributes):
        raise _Unclear
    return ", ".join(sorted(map(_in_key_order, split_commas(attributes.removeprefix(",")))))


def _steps(text: str, chunks: Mapping[str, Chunk], entry: str) -> frozenset[str]:
    """Computations that run step by step: reached from the entry through loops, branches and calls, not fusions."""
    found = {entry: None}
    waiting = [entry]
    for name in waiting:
        for line in _STEP.findall(text, chunks[name].body, chunks[name].end):
            callees = [callee for callee in called_names(line) if callee in chunks and callee not in found]
            found |= dict.fromkeys(callees)
            waiting += dict.fromkeys(callees)
    return frozenset(found)


def root_of(text: str, chunk: Chunk) -> str:
    """The root's name, with `%`: what is marked ROOT, else the last line."""
    at = text.rfind("\n  ROOT ", chunk.body - 1, chunk.end) + 8
    if at < 8:
        at = text.rfind("\n  ", chunk.body - 1, chunk.end) + 3
    return text[at : text.find(" ", at)]


def _in_key_order(attribute: str) -> str:
    """Backend configurations are JSON, whose keys stand in any order."""
    name, _, value = attribute.partition("=")
    if name != "backend_config" or not value.startswith("{"):
        return attribute
    try:
        return f"{name}={json.dumps(json.loads(value), sort_keys=True)}"
    except (ValueError, RecursionError):
        return attribute


def _is_symmetric(opcode: str, attributes: str) -> bool:
    return opcode != "compare" or any(word in attributes for word in _SYMMETRIC)


def called_names(body: str) -> list[str]:
    """Names in the places of attributes that name computations: `calls=%a`, `branch_computations={%a, %b}`."""
    names: list[str] = []
    for group in _CALLED.findall(body):
        if group.startswith("%"):
            names.append(group[1:])
        else:
            names += [name for name in _NAME.findall(group) if name]
    return names


def renamed_calls(line: str, names: Mapping[str, str]) -> str:
    """The text of an instruction with other names for what it calls."""
    return _CALLED.sub(lambda group: _NAME.sub(lambda one: f"%{names.get(one[1], one[1])}", group[0]), line)
