"""MLIR locations to scopes (`op_name`) and Python frames.

JAX nests them as `loc("jit(f)/jvp()/dot"(callsite("inner"("f.py":3:1) at callsite("outer"("f.py":9:1) at ...))))`:
the outermost name is the scope, a name around a file is the Python function, and `callsite(callee at caller)` is one
step of the stack. Locations are read from one printed text with aliases, because printing them one by one repeats the
whole stack for each operation (5 kB each in a deep program).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hlodiff.ir.model import Frame

_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_TRAILING = re.compile(r" loc\((#loc\d*)\)$")
_STRING_OR_LOC = re.compile(r'"(?:[^"\\]|\\.)*"| loc\(')
_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|#loc\d*|callsite|fused|unknown|at\b|to\b|[A-Za-z_]+|\d+|.)', re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    child: _Location


@dataclass(frozen=True, slots=True)
class _Call:
    callee: _Location
    caller: _Location


@dataclass(frozen=True, slots=True)
class _Alias:
    name: str


_Location = _File | _Name | _Call | _Alias | None


@dataclass(slots=True)
class LocationTable:
    """All locations of one printed module, resolved on demand into shared frames.

    Args:
        aliases: `#loc7` to the text it stands for.
    """

    aliases: dict[str, str]
    frames: list[Frame] = field(default_factory=list)
    _parsed: dict[str, _Location] = field(default_factory=dict)
    _index: dict[Frame, int] = field(default_factory=dict)
    _resolved: dict[str, tuple[str, int]] = field(default_factory=dict)
    _stacks: dict[tuple[str, int], int] = field(default_factory=dict)

    def resolve(self, text: str) -> tuple[str, int]:
        """Scope and index of the innermost frame of a location, text as between `loc(` and `)`."""
        if text not in self._resolved:
            location = self._expand(_parse(text))
            name = ""
            # `"io_callback:"("jit(f)/io_callback"(...))`: a name with a colon is the kind of operation, not its scope
            while isinstance(location, _Name) and location.text.endswith(":"):
                location = self._expand(location.child)
            if isinstance(location, _Name) and not self._is_function(location):
                name = location.text
            self._resolved[text] = (name, self._stack(location, -1))
        return self._resolved[text]

    def place(self, text: str) -> tuple[int, int] | None:
        """Line and column where the location is a place in the text that was parsed, else None."""
        match = re.fullmatch(r'"-":(\d+):(\d+)(?: to .*)?', text)
        return (int(match[1]), int(match[2])) if match else None

    def _expand(self, location: _Location) -> _Location:
        while isinstance(location, _Alias):
            if location.name not in self._parsed:
                self._parsed[location.name] = _parse(self.aliases.get(location.name, "unknown"))
            location = self._parsed[location.name]
        return location

    def _is_function(self, location: _Name) -> bool:
        """A name around a file that is no JAX scope: an operation without a scope has only its Python function."""
        return isinstance(self._expand(location.child), _File) and not re.search(r"[/(]", location.text)

    def _stack(self, location: _Location, parent: int) -> int:
        """Index of the innermost frame of `location` when called from frame `parent`."""
        if isinstance(location, _Alias):
            key = (location.name, parent)
            if key not in self._stacks:
                self._stacks[key] = self._stack(self._expand(location), parent)
            return self._stacks[key]
        if isinstance(location, _Call):
            return self._stack(location.callee, self._stack(location.caller, parent))
        if isinstance(location, _File):
            return self._frame(location, "", parent)
        if isinstance(location, _Name):
            child = self._expand(location.child)
            if isinstance(child, _File):
                return self._frame(child, "" if re.search(r"[/(]", location.text) else location.text, parent)
            return self._stack(location.child, parent)
        return parent

    def _frame(self, file: _File, function: str, parent: int) -> int:
        if file.name == "-":  # a place in the MLIR text, no Python frame
            return parent
        frame = Frame(file.name, file.line, function, parent)
        if frame not in self._index:
            self._index[frame] = len(self.frames)
            self.frames.append(frame)
        return self._index[frame]


def read_locations(generic: str) -> tuple[LocationTable, list[str]]:
    """The location table of a module in generic form, and the location of each operation in post-order.

    Args:
        generic: MLIR's generic form with debug info: every operation ends one line with ` loc(...)`, an operation
            with regions after them.

    Example:
        >>> table, order = read_locations('"f.return"() : () -> () loc(#loc1)\\n#loc1 = loc("jit(f)/add"("a.py":3:1))')
        >>> table.resolve(order[0]), table.frames
        (('jit(f)/add', 0), [Frame(file='a.py', line=3, function='', parent=-1)])
    """
    aliases = {match[1]: match[2] for match in _ALIAS.finditer(generic)}
    order = []
    for line in generic.splitlines():
        if line.startswith("#") or not line.endswith(")") or line.lstrip().startswith("^"):
            continue
        match = _TRAILING.search(line)
        found = match[1] if match else _inline(line)
        if found:
            order.append(found)
    return LocationTable(aliases), order


def _inline(line: str) -> str:
    """The location that ends a line where it has no alias, "" where the line ends no operation."""
    starts = [match.end() for match in _STRING_OR_LOC.finditer(line) if match[0] == " loc("]
    return line[starts[-1] : -1] if starts else ""


def _parse(text: str) -> _Location:
    tokens = [match[1] for match in _TOKEN.finditer(text)]
    return _parse_tokens(tokens, 0)[0]


def _parse_tokens(tokens: list[str], at: int) -> tuple[_Location, int]:
    """One location from `tokens[at]` and the index behind it."""
    token = tokens[at] if at < len(tokens) else "unknown"
    if token.startswith("#loc"):
        return _Alias(token), at + 1
    if token.startswith('"'):
        return _parse_named(tokens, at)
    if token == "callsite":
        callee, at = _parse_tokens(tokens, at + 2)
        caller, at = _parse_tokens(tokens, at + 1)
        return _Call(callee, caller), at + 1
    if token == "fused":
        return _parse_fused(tokens, at + 1)
    return None, at + 1


def _parse_named(tokens: list[str], at: int) -> tuple[_Location, int]:
    """`"file":line:column [to [line]:column]` or `"name"` or `"name"(child)`."""
    name = _unescape(tokens[at][1:-1])
    following = tokens[at + 1] if at + 1 < len(tokens) else ""
    if following == "(":
        child, at = _parse_tokens(tokens, at + 2)
        return _Name(name, child), at + 1
    if following != ":":
        return _Name(name, None), at + 1
    line, at = int(tokens[at + 2]), at + 5
    if at < len(tokens) and tokens[at] == "to":
        at += 1
        while at < len(tokens) and (tokens[at] == ":" or tokens[at].isdigit()):
            at += 1
    return _File(name, line), at


def _parse_fused(tokens: list[str], at: int) -> tuple[_Location, int]:
    """`<metadata>[first, ...]`: the first part with a name stands for all."""
    while tokens[at] != "[":
        at += 1
    parts: list[_Location] = []
    while tokens[at] != "]":
        part, at = _parse_tokens(tokens, at + 1)
        parts.append(part)
    named = [part for part in parts if not isinstance(part, _File) and part is not None]
    return (named or parts or [None])[0], at + 1


def _unescape(text: str) -> str:
    r"""MLIR string escapes: `\22` is a byte in hex, `\\` itself."""
    if "\\" not in text:
        return text
    simple = {"n": b"\n", "t": b"\t", "\\": b"\\", '"': b'"'}
    out, end = b"", 0
    for match in _ESCAPE.finditer(text):
        out += text[end : match.start()].encode()
        out += bytes.fromhex(match[1]) if len(match[1]) == 2 else simple.get(match[1], match[1].encode())
        end = match.end()
    return (out + text[end:].encode()).decode(errors="replace")
