"""What stands behind the operands of an instruction: attributes, calls, control edges, metadata.

Lines of one program are alike there: of 10,000 instructions 2,000 say something new, and each of that is read once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hlodiff.ir.hlo_tables import FrameTable, read_metadata
from hlodiff.ir.hlo_tokens import split_commas, without_comments

_KEY = re.compile(r"([A-Za-z_][\w\-.]*)\s*=\s*", re.DOTALL)
_ATTRIBUTE = re.compile(r"[A-Za-z_][\w\-.]*\s*(?:=|$)")
_METADATA = re.compile(r', metadata=(\{[^"{}]*(?:"(?:[^"\\]|\\.)*"[^"{}]*)*\})(?=, [A-Za-z_][\w\-.]*=|$)')
# Attributes whose values name computations. `calls` of an async op and of a fusion are the same word.
_CALLING = frozenset(
    ["calls", "to_apply", "condition", "body", "branch_computations", "true_computation", "false_computation",
     "called_computations", "select", "scatter"]
)  # fmt: skip

Called = tuple[tuple[str, tuple[int, ...]], ...]


class NotAttributes(ValueError):
    """Text that does not begin with a comma."""


class UnknownComputation(ValueError):
    """A call of something that the program does not hold."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True)
class Tail:
    """What stands behind operands, metadata as text."""

    attributes: tuple[tuple[str, str], ...] = ()
    calls: Called = ()
    predecessors: tuple[str, ...] = ()
    metadata: str = ""


@dataclass(slots=True)
class AttributeReader:
    """Reads the attributes of one program.

    Args:
        computations: index by name.
        frames: where metadata points to.
    """

    computations: Mapping[str, int]
    frames: FrameTable
    _tails: dict[str, Tail] = field(default_factory=lambda: {"": Tail()})
    _metadata: dict[str, tuple[str, int, str]] = field(default_factory=lambda: {"": ("", -1, "")})

    def read(self, text: str) -> tuple[Tail, tuple[str, int, str]]:
        """Read what follows the `)` of the operands.

        Args:
            text: `, attribute=value` any number of times, or nothing.

        Returns:
            What is said there; scope, frame and rest of the metadata.

        Raises:
            Unbalanced: a bracket or quote has no partner.
            NotAttributes: something else than an attribute.
            UnknownComputation: a call leads nowhere.
        """
        metadata = ""
        at = text.find(", metadata={")
        if at >= 0 and _is_plain(text[:at]) and (found := _METADATA.match(text, at)):
            metadata = found[1]
            text = text[:at] + text[found.end() :]
        tail = self._tails.get(text)
        if tail is None:
            tail = self._tails[text] = self._read(text.strip())
        metadata = tail.metadata or metadata
        known = self._metadata.get(metadata)
        if known is None:
            known = self._metadata[metadata] = read_metadata(metadata, self.frames)
        return tail, known

    def _read(self, body: str) -> Tail:
        if not body:
            return Tail()
        if not body.startswith(","):
            raise NotAttributes
        attributes: list[tuple[str, str]] = []
        calls: list[tuple[str, tuple[int, ...]]] = []
        predecessors: list[str] = []
        metadata = ""
        for part in _parts(body[1:]):
            key = _KEY.match(part)
            if key is None:
                attributes.append((part, ""))  # a bare flag
                continue
            name, value = key.group(1), part[key.end() :]
            if name == "metadata":
                metadata = value
            elif name in _CALLING and (names := self._called_names(value)):
                calls.append((name, self._called(names)))
            elif name == "control-predecessors":
                predecessors = operand_names(value.strip("{}"))
            else:
                attributes.append((name, without_comments(value)))
        return Tail(tuple(attributes), tuple(calls), tuple(predecessors), metadata)

    def _called_names(self, value: str) -> list[str]:
        """Names of computations; short forms leave out the `%`, and then only names that exist are ones."""
        names = operand_names(value.strip().removeprefix("{").removesuffix("}"))
        return names if "%" in value or all(name in self.computations for name in names) else []

    def _called(self, names: list[str]) -> tuple[int, ...]:
        try:
            return tuple(self.computations[name] for name in names)
        except KeyError as missing:
            raise UnknownComputation(str(missing.args[0])) from None


def operand_names(text: str) -> list[str]:
    """Operand names; older printers put a shape before each: `f32[2]{0} %x`."""
    if not text:
        return []
    if "/*" in text:
        text = without_comments(text)
    if text.count(" ") == text.count(",") == text.count(", %"):  # nothing but names
        return text.replace("%", "").split(", ")
    parts = split_commas(text) if "{" in text or "[" in text else text.split(",")
    return [part.split()[-1].removeprefix("%") for part in parts if part.strip()]


def _is_plain(text: str) -> bool:
    """Whether no string and no bracket is open at the end of a text, as far as counting tells."""
    return '"' not in text and "[" not in text and "(" not in text and text.count("{") == text.count("}")


def _parts(text: str) -> list[str]:
    """The attributes of an instruction; a comma that no attribute follows belongs to the value before it."""
    parts: list[str] = []
    for part in split_commas(text):
        inside_mesh = part.startswith("device_ids=") and parts and "=mesh[" in parts[-1]
        if parts and (inside_mesh or not _ATTRIBUTE.match(part)):
            parts[-1] += ("," if part[:1] in "{[(" else ", ") + part
        else:
            parts.append(part)
    return parts
