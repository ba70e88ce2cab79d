"""Text fingerprints: which computations of two HLO texts are equal as printed, apart from names and order.

Value numbering on text, about 1 us per instruction. One regular expression splits each line, and the line gets a
number: equal numbers mean equal opcode, shape, attributes and literal, and operands with equal numbers. If no two
instructions of a computation share a number, the set of numbers identifies the computation, whatever its printed order.
This file does not interpret attributes: a different spelling gets a different number, and such a computation must be
parsed.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from hlodiff.hlo.damage import is_damaged
from hlodiff.hlo.grammar import (
    LineParts,
    Span,
    Unbalanced,
    called_in_control_flow,
    called_names,
    has_undefined_name,
    kept_lines,
    load_json,
    opcode_of,
    parts_of_lines,
    parts_without_metadata,
    references,
    root_reference,
    split_commas,
    with_references,
    without_metadata,
    without_references,
)
from hlodiff.hlo.model import is_commutative_opcode
from hlodiff.hlo.parser import LazyComputations

# Numbered across the whole program: in another computation, an equal number may mean other partners. A channel that
# occurs once in the program needs no such number: its partners are the same instruction on the other devices.
_NUMBERED = ("channel", "rendezvous", "callback")
_CHANNEL = re.compile(r"\bchannel_id=(\d+)")
# The same, and edges that are not operands: a line with one of these has no number of its own.
_NOT_LOCAL = (*_NUMBERED, "control-predecessors")

Numbers = dict[Hashable, int]


class _NeedsParsing(Exception):
    """The text does not suffice to decide: the computation must be parsed."""


class _LineNumbers(defaultdict[Hashable, int]):
    """Numbers of lines with equal opcode, shape and attributes, by operands or literal."""

    __slots__ = ("commutative",)

    def __init__(self, commutative: bool, fresh: Iterator[int]) -> None:
        super().__init__(fresh.__next__)
        self.commutative = commutative


class _ByOpcode(dict[str, _LineNumbers]):
    """Lines with equal attributes, by shape and opcode."""

    def __init__(self, attributes: str, fresh: Iterator[int]) -> None:
        super().__init__()
        self._attributes = attributes
        self._fresh = fresh

    def __missing__(self, shape_and_opcode: str) -> _LineNumbers:
        commutative = is_commutative_opcode(opcode_of(shape_and_opcode), _direction(self._attributes))
        self[shape_and_opcode] = numbers = _LineNumbers(commutative, self._fresh)
        return numbers


class _ByAttributes(dict[str, _ByOpcode]):
    """Lines by their attributes as printed; equivalent texts share one value, and each is read once.

    Metadata and the order of attributes are ignored. The name of a callee is replaced by the key of that computation,
    or removed if `masked`.
    """

    def __init__(
        self,
        canonical: dict[str, _ByOpcode],
        fresh: Iterator[int],
        masked: bool = False,
        own_channels: Container[str] = (),
    ) -> None:
        super().__init__()
        self._fresh = fresh  # line numbers
        self._own_channels = own_channels  # channels that no other instruction uses
        self.keys_by_name: dict[str, int | None] = {}
        self._masked = masked
        self._canonical = canonical
        self._sorted: dict[str, str] = {}
        self._without_metadata: dict[str, _ByOpcode] = {}

    def __missing__(self, attributes: str) -> _ByOpcode:
        text = without_metadata(attributes)
        by_opcode = self._without_metadata.get(text)
        if by_opcode is None:
            by_opcode = self._without_metadata[text] = self._read(text)
        self[attributes] = by_opcode
        return by_opcode

    def _read(self, text: str) -> _ByOpcode:
        if text and not text.startswith(", "):
            raise _NeedsParsing
        if "%" in text:
            text = without_references(text) if self._masked else with_references(text, self._key)
        checked = text
        if "channel_id=" in text and (found := _CHANNEL.search(text)) and found[1] in self._own_channels:
            before, after = text[: found.start()], text[found.end() :]
            if (before.count('"') - before.count('\\"')) % 2 == 0:  # otherwise it is a word inside a string
                text, checked = f"{before}channel_id=own{after}", before + after
        if text not in self._sorted:
            if any(word in checked for word in _NOT_LOCAL):
                raise _NeedsParsing
            self._sorted[text] = ", ".join(sorted(map(_in_key_order, split_commas(text.removeprefix(",")))))
        text = self._sorted[text]
        if text not in self._canonical:
            self._canonical[text] = _ByOpcode(text, self._fresh)
        return self._canonical[text]

    def texts(self) -> Collection[str]:
        """Each text read, with keys in place of callees."""
        return self._sorted.keys()

    def _key(self, name: str) -> str:
        key = self.keys_by_name.get(name)
        if key is None:
            raise _NeedsParsing
        return f"%{key}"


@dataclass(frozen=True, slots=True)
class TextFingerprint:
    """The text fingerprints of one side of a comparison.

    Args:
        program: its computations as text.
        keys, spans: key (None if only parsing can decide) and text span of each computation, by name.
        scheduled: names of the computations whose printed order counts.
        own_channels: numbers of channels that only one instruction of the program uses.
        numbers: the number of each line, for computations in which all lines have distinct numbers.
        attributes: those of all numbered lines, each text once, with keys in place of callees.
        by_name: computations known to be equal on both sides, whose lines were not read.
    """

    program: LazyComputations
    keys: dict[str, int | None]
    spans: dict[str, Span]
    scheduled: frozenset[str]
    own_channels: OwnChannels
    numbers: dict[str, list[int]]
    attributes: Collection[str]
    by_name: frozenset[str]
    _lines: dict[str, list[LineParts]] = field(default_factory=dict)

    def equal_lines(self, name: str, others: TextFingerprint, other: str) -> list[tuple[int, int]] | None:
        """Match the lines of two computations with the same key.

        Args:
            name: a computation of this side.
            others, other: a fingerprint with comparable keys, and a computation of it.

        Returns:
            Pairs of line numbers, ascending on this side; None if the two differ after all.
        """
        ours, theirs = self.numbers.get(name), others.numbers.get(other)
        if ours is None or theirs is None:  # the printed order was part of the key
            lines = self.spans[name].lines
            return [(n, n) for n in range(lines)] if lines == others.spans[other].lines else None
        place = {number: n for n, number in enumerate(theirs)}
        if place.keys() != set(ours):
            return None
        return [(n, place[number]) for n, number in enumerate(ours)]

    def lines(self, name: str) -> list[LineParts]:
        """The parts of a computation's lines, split once; see `parts_of_lines`."""
        if name not in self._lines:
            self._lines[name] = parts_of_lines(self.program.text, self.spans[name])
        return self._lines[name]

    def body(self, name: str) -> str:
        """The text of a computation's instructions."""
        return self.spans[name].body_of(self.program.text)

    def root(self, name: str) -> str:
        """The name of a computation's root, with `%`."""
        return root_reference(self.program.text, self.spans[name])

    def kept_lines(self, name: str, kept: Sequence[int], marks: Mapping[int, int], opcode: str) -> list[str]:
        """Selected lines of a computation; those with a mark become placeholders. See `hlo.grammar.kept_lines`."""
        return kept_lines(self.program.text, self.spans[name], self.lines(name), kept, marks, opcode)


@dataclass(slots=True)
class TextFingerprinter:
    """Assigns keys to the computations of programs; keys of one fingerprinter are comparable.

    Args:
        numbers: grows; keys are comparable only if they come from the same one.
        scheduled: whether printed order is part of the key of computations that run one instruction at a time.
    """

    numbers: Numbers
    scheduled: bool
    _by_opcode: dict[str, _ByOpcode] = field(default_factory=dict)
    _fresh: Iterator[int] = field(default_factory=count)
    _by_attributes: _ByAttributes = field(init=False)

    def fingerprint(self, program: LazyComputations, entry: int, by_name: Collection[str] = ()) -> TextFingerprint:
        """Assign every computation its key.

        Args:
            program: one side.
            entry: index of its entry computation.
            by_name: computations known to be equal on both sides and different from all others; see `same_names`.
        """
        keys: dict[str, int | None] = {}
        numbers: dict[str, list[int]] = {}
        own_channels = OwnChannels(program.text)
        self._by_attributes = _ByAttributes(self._by_opcode, self._fresh, own_channels=own_channels)
        self._by_attributes.keys_by_name = keys
        spans = {span.name: span for span in program.spans}
        scheduled = _in_schedule(program.text, spans, program.spans[entry].name) if self.scheduled else frozenset()
        numbered = [span for n, span in enumerate(program.spans) if n != entry and span.name not in by_name]
        parts = parts_without_metadata(program.text, numbered)
        for n, (name, span) in enumerate(spans.items()):
            if n == entry:
                keys[name] = None  # always parsed: its parameters are the program's
            elif name in by_name:
                keys[name] = self._number(("same", name))
            else:
                keys[name] = self._key(next(parts), program.text, span, name in scheduled, numbers)
        return TextFingerprint(
            program, keys, spans, scheduled, own_channels, numbers, self._by_attributes.texts(), frozenset(by_name)
        )

    def are_damaged(self, fingerprints: Sequence[TextFingerprint], looked_at: Sequence[Container[str]]) -> bool:
        """Whether the parser would refuse something in the compared programs, most of which is never parsed.

        Args:
            fingerprints: both sides, made by this fingerprinter.
            looked_at: for each side, names of computations that need no check.
        """
        # If each line has a number, it is a name plus pieces that other lines share: each piece is checked once.
        lines = {
            f"f32[] x(){text}, metadata={{}}": None for fingerprint in fingerprints for text in fingerprint.attributes
        }
        for by_opcode in self._by_opcode.values():
            for shape_and_opcode, numbers in by_opcode.items():
                literals = [what for what in numbers if isinstance(what, str)] or [""]
                lines.update(dict.fromkeys([f"{shape_and_opcode}({literal})" for literal in literals]))
        pieces = ["\n", *[f"  %x = {line}\n" for line in lines]]
        rows = len(lines)
        known: set[str] = set()
        borders: set[tuple[str, str]] = set()
        for fingerprint, others in zip(fingerprints, looked_at, strict=True):
            text = fingerprint.program.text
            for name, span in fingerprint.spans.items():
                is_text = fingerprint.keys[name] is None or (name in fingerprint.by_name and name not in known)
                if is_text and name not in others:
                    pieces.append(text[span.body : span.end])
                    rows += span.lines
                at = text.rfind("->", span.start, span.body)
                borders.add((text[at : span.body] if at >= 0 else "{\n", span.closing))
            known |= fingerprint.by_name
        pieces += [f"{result}}}{closing}\n" for result, closing in sorted(borders)]
        return is_damaged("".join(pieces), rows)

    def _key(
        self, lines: Sequence[LineParts], text: str, span: Span, scheduled: bool, numbers: dict[str, list[int]]
    ) -> int | None:
        if not lines:
            return None
        root = root_reference(text, span)
        try:
            if not scheduled:
                number = self._unordered(lines)
                found = frozenset(number.values())
                if len(found) == len(lines):
                    numbers[span.name] = list(number.values())
                    return self._number((span.closing, number[root], found))
            return self._number((span.closing, self._in_order(lines, root)))
        except (KeyError, Unbalanced, _NeedsParsing):
            return None

    def matching_lines(
        self, old: TextFingerprint, new: TextFingerprint, name: str, other: str
    ) -> list[tuple[int, int]] | None:
        """Match the lines of two computations that differ only in their callees.

        Args:
            old, new: both sides.
            name, other: a computation of each.

        Returns:
            Pairs of line numbers, ascending on the old side; None if the two differ in more, or if the text does not
            suffice to decide.
        """
        canonical: dict[str, _ByOpcode] = {}
        self._by_attributes = _ByAttributes(canonical, self._fresh, masked=True, own_channels=old.own_channels)
        ours, theirs = old.lines(name), new.lines(other)
        roots = old.root(name), new.root(other)
        if not ours or len(ours) != len(theirs) or old.spans[name].closing != new.spans[other].closing:
            return None
        try:
            if name in old.scheduled or other in new.scheduled:
                in_order = self._in_order(ours, roots[0])
                self._by_attributes = _ByAttributes(canonical, self._fresh, True, new.own_channels)
                same = in_order == self._in_order(theirs, roots[1])
                return [(n, n) for n in range(len(ours))] if same else None
            one = self._unordered(ours)
            self._by_attributes = _ByAttributes(canonical, self._fresh, True, new.own_channels)
            two = self._unordered(theirs)
        except (KeyError, Unbalanced, _NeedsParsing):
            return None
        place = {two[line[0]]: n for n, line in enumerate(theirs)}
        numbers = set(one.values())
        if len(numbers) != len(ours) or numbers != place.keys() or one[roots[0]] != two[roots[1]]:
            return None
        return [(n, place[one[line[0]]]) for n, line in enumerate(ours)]

    def _number(self, what: Hashable) -> int:
        return self.numbers.setdefault(what, len(self.numbers))

    def _unordered(self, lines: Sequence[LineParts]) -> dict[str, int]:
        """Value numbering: the number of each line, by its name. This is the hot loop."""
        by_attributes = self._by_attributes
        number: dict[str, int] = {}
        number_of, known = number.__getitem__, number.get
        for name, shape_and_opcode, inside, attributes in lines:
            numbers = by_attributes[attributes][shape_and_opcode]
            if "%" not in inside:  # no operand, or a literal
                number[name] = numbers[inside]
            elif "," not in inside:  # one operand; with a shape before it, as older printers write, the name is unknown
                number[name] = numbers[number[inside]]
            else:
                first, _, second = inside.partition(", ")
                two = known(second)
                if two is None:
                    number[name] = numbers[tuple(map(number_of, references(inside)))]
                else:
                    one = number[first]
                    number[name] = numbers[(two, one) if one > two and numbers.commutative else (one, two)]
        return number

    def _in_order(self, lines: Sequence[LineParts], root: str) -> tuple[int, ...]:
        """One number for each line; operands are line positions, so that sharing counts."""
        position: dict[str, int] = {}
        found: list[int] = []
        for name, shape_and_opcode, inside, attributes in lines:
            numbers = self._by_attributes[attributes][shape_and_opcode]
            if inside[:1] == "%":
                operands = [position[operand] for operand in references(inside)]
                if len(operands) == 2 and numbers.commutative:
                    operands.sort()
                found.append(numbers["in order", *operands])
            elif "%" in inside:  # a shape before each operand
                raise _NeedsParsing
            else:
                found.append(numbers[inside])
            position[name] = len(position)
        if len(position) != len(found):
            raise _NeedsParsing
        return (position[root], *found)


class OwnChannels:
    """Numbers of channels that occur once in a program, in whatever context; counted on first use."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _found(self) -> frozenset[str]:
        return frozenset(number for number, times in Counter(_CHANNEL.findall(self._text)).items() if times == 1)

    def __contains__(self, number: object) -> bool:
        return number in self._found


def same_names(old: LazyComputations, new: LazyComputations) -> set[str]:
    """Computations with the same name and text on both sides that cannot be equal to any other.

    Names prove nothing: a computation with as many lines as a changed one, or called by such a computation, may be
    equal to it, and only splitting both can decide. Nor does text prove equality if it has numbers that are unique in
    the program: the same channel may have other partners elsewhere. Such a computation and its callers are always
    parsed. If a computation uses an undefined name, all are split, and that one is refused.
    """
    ours = {span.name: span for span in old.spans}
    callees: dict[str, list[str]] = {}
    for span in new.spans:
        match = ours.get(span.name)
        if match is not None and _is_same(old.text, match, new.text, span):
            names = [name for name in called_names(span.body_of(new.text)) if name in ours]
            if all(name in callees for name in names):
                callees[span.name] = names
    lengths = {span.lines for program in (old, new) for span in program.spans if span.name not in callees}
    while True:
        doubtful = [name for name in callees if ours[name].lines in lengths]
        more = {ours[callee].lines for name in doubtful for callee in callees[name]} - lengths
        if not more:
            same = callees.keys() - doubtful
            damaged = (
                has_undefined_name(ours[name].body_of(old.text), ours[name].lines, callees[name]) for name in same
            )
            return set() if any(damaged) else same
        lengths |= more


def _is_same(text: str, one: Span, others: str, other: Span) -> bool:
    if one.lines != other.lines or one.closing != other.closing or one.end - one.body != other.end - other.body:
        return False
    body = one.body_of(text)
    return body == other.body_of(others) and not any(word in body for word in _NUMBERED)


def _in_schedule(text: str, spans: Mapping[str, Span], entry: str) -> frozenset[str]:
    """Computations that run one instruction at a time: reached from the entry through loops, branches and calls."""
    found = {entry: None}
    worklist = [entry]
    for name in worklist:
        callees = dict.fromkeys(
            callee for callee in called_in_control_flow(text, spans[name]) if callee in spans and callee not in found
        )
        found |= callees
        worklist += callees
    return frozenset(found)


def _direction(attributes: str) -> str:
    """The direction of a comparison; "" for other instructions."""
    if "direction=" not in attributes:
        return ""
    parts = (part.partition("=") for part in split_commas(attributes))
    return next((value for name, _, value in parts if name == "direction"), "")


def _in_key_order(attribute: str) -> str:
    """Backend configurations are JSON, whose keys may be in any order."""
    name, _, value = attribute.partition("=")
    if name != "backend_config" or not value.startswith("{"):
        return attribute
    try:
        return f"{name}={json.dumps(load_json(value), sort_keys=True)}"
    except (ValueError, RecursionError):
        return attribute
