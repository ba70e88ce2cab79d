r"""What a line of HLO text looks like: shapes, each regular expression, and each function that cuts or rewrites a line.

Two readers use this file. The parser (`hlo/parser.py`) accepts every form that some version of XLA prints. The text
fingerprints (`hlo/text_fingerprint.py`) accept only the *canonical form*, which is what XLA prints today: two spaces
fingerprints (`hlo/text_fingerprint.py`) accept only the *canonical form*, which is what XLA prints today: two spaces
before each instruction, `}` in column 0, `%` before each name. Any other form is left to the parser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

# --- Commas, brackets, strings and comments. A regular expression that stops at the first `}` is the classic bug of HLO
# tools: backend configurations, frontend attributes and op names hold braces, commas and escaped quotes in strings.

# A string up to its end, or up to the end of the text. It avoids a choice per character, which is slow, and is
# possessive: one backtracking step per character would take 150 bytes of memory. An escaped quote begins no string:
# otherwise the search for an end would be repeated at each of many such quotes.
OPEN_STRING = r'(?<!\\)"[^"\\]*+(?:\\.[^"\\]*+)*+'
STRING = OPEN_STRING + '"'
# An unclosed string is one token up to the end: searching again at each quote would take quadratic time.
_TOKEN = re.compile(OPEN_STRING + r'"?|[{}()\[\],]|/\*(?:.*?\*/|.*)', re.DOTALL)
_OPENING, _CLOSING = frozenset("{(["), frozenset("})]")
_CLOSED_BY = {"{": "}", "(": ")", "[": "]"}
_COMMENT = re.compile(rf'({OPEN_STRING}"?)|/\*(?:.*?\*/|.*)|//[^\n]*', re.DOTALL)
# XLA's tokens: (1) a word (`%` and colon included), a string or a punctuation mark; otherwise whitespace or a comment.
FREE_TOKEN = re.compile(
    rf"""\s*+(?:/\*(?:.*?\*/|.*)|//[^\n]*+
    |(%?(?:[\w.?~+]|-(?!>))++|{STRING}|(?<!\\)'(?:[^'\\\n]|\\.)*+'|->|[^\s]))""",
    re.DOTALL | re.VERBOSE,
)
# The tables before the first computation.
DEBUG_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
TRUNCATED = "the file may be cut off: HLO prints ENTRY last; capture or dump it again"
"""Hint of errors for a text that ends too early."""


class Unbalanced(ValueError):
    """A bracket or quote at character `position` that is never closed."""

    def __init__(self, position: int) -> None:
        super().__init__(f"unbalanced at {position}")
        self.position = position


class NotOperands(ValueError):
    """The text is not a list of operands."""


def split_commas(text: str) -> list[str]:
    """Split at commas outside brackets and strings, parts stripped: `split_commas('a={1,2}, b="x,y"')` has 2 parts."""
    parts: list[str] = []
    start = 0
    open_: list[str] = []
    for token in _TOKEN.finditer(text):
        kind = token[0]
        if kind == ",":
            if not open_:
                parts.append(text[start : token.start()].strip())
                start = token.end()
        elif kind in _OPENING:
            open_.append(kind)
        elif kind in _CLOSING:
            if not open_ or _CLOSED_BY[open_.pop()] != kind:
                raise Unbalanced(token.start())
        elif kind[0] == '"' and not _closes(kind):
            raise Unbalanced(token.start())
    if open_:
        raise Unbalanced(len(text))
    last = text[start:].strip()
    return [*parts, last] if last or parts else []


def parts_or_whole(text: str) -> list[str]:
    """Like `split_commas`, but a value that cannot be split because it is damaged is one part."""
    try:
        return split_commas(text)
    except Unbalanced:
        return [text]


def closing(text: str, opening: int) -> int:
    """Index of the bracket that closes the one at `opening`; raises Unbalanced if there is none."""
    open_: list[str] = []
    for token in _TOKEN.finditer(text, opening):
        kind = text[token.start()]
        if kind in "{([":
            open_.append(kind)
        elif kind in "})]":
            if not open_ or _CLOSED_BY[open_.pop()] != kind:
                raise Unbalanced(token.start())
            if not open_:
                return token.start()
        elif kind == '"' and not _closes(token[0]):
            raise Unbalanced(token.start())
    raise Unbalanced(opening)


def _closes(string: str) -> bool:
    """Whether a token that begins with a quote is a complete string."""
    return (
        len(string) > 1 and string[-1] == '"' and (string[-2] != "\\" or _STRING_IN_LINE.fullmatch(string) is not None)
    )


_HEADER_TOKEN = re.compile(OPEN_STRING + r'"?|[{}()\[\]\n]', re.DOTALL)


def header_end(text: str, start: int) -> int:
    """Where the header that begins at `start` ends: the first line break outside brackets and strings.

    XLA prints the table `origin_recovery_table` there, with line breaks and with computations in strings.
    """
    depth = 0
    for token in _HEADER_TOKEN.finditer(text, start):
        kind = text[token.start()]
        if kind == "\n":
            if depth <= 0:
                return token.start()
        elif kind in _OPENING:
            depth += 1
        elif kind in _CLOSING:
            depth -= 1
    return len(text)


def open_brackets(line: str) -> int:
    """Number of brackets that a line leaves open; if any, the instruction continues on the next line."""
    kinds = [token[0] for token in _TOKEN.finditer(line)]
    return sum(kind in _OPENING for kind in kinds) - sum(kind in _CLOSING for kind in kinds)


_STRING_IN_LINE = re.compile(STRING, re.DOTALL)


def open_string(line: str) -> int:
    """Column of a string that does not end on its line; 0 if every string does.

    Example:
        >>> open_string('a="b"'), open_string('a="b", c="d')
        (0, 10)
    """
    place = 0
    while (place := line.find('"', place)) >= 0:
        found = _STRING_IN_LINE.match(line, place)
        if found is None:
            return place + 1
        place = found.end()
    return 0


def without_comments(text: str) -> str:
    """Remove comments (`/*index=5*/`, `// to the end of the line`) outside strings."""
    return _COMMENT.sub(lambda m: m.group(1) or "", text) if "/*" in text or "//" in text else text


_BLANKS = re.compile(rf'({OPEN_STRING}"?)|(?:\s|/\*(?:.*?\*/|.*)|//[^\n]*)++', re.DOTALL)
_AT_BRACKET = re.compile(rf'({OPEN_STRING}"?)|(?<=[{{(\[]) | (?=[}})\]])', re.DOTALL)


def squeeze(text: str) -> str:
    """Remove comments and insignificant whitespace outside strings: `{ 0,\n 1 }` becomes `{0, 1}`."""
    plain = _BLANKS.sub(lambda m: m[1] or " ", text).strip()
    return _AT_BRACKET.sub(lambda m: m[1] or "", plain)


_LONG_DIGITS = re.compile(r"\d{400}")
_LONG_NUMBER = re.compile(OPEN_STRING + r'"?|(\d{400})', re.DOTALL)


def has_long_number(text: str) -> bool:
    """Whether a text outside strings contains a number that Python would take long to convert."""
    return (
        len(text) > 400
        and _LONG_DIGITS.search(text) is not None
        and any(found[1] for found in _LONG_NUMBER.finditer(text))
    )


def unquote(text: str) -> str:
    r"""Content of a C-escaped string: `unquote(r'"a\"b"') == 'a"b'`; anything else is returned unchanged."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    return _ESCAPE.sub(_unescape, text[1:-1]) if "\\" in text else text[1:-1]


_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_NAMED = {"n": "\n", "t": "\t", "r": "\r"}


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    if code[0] == "x" and len(code) == 3:
        return chr(int(code[1:], 16))
    return _NAMED.get(code, code)


# --- Shapes: `f32[64,<=8]{1,0:T(8,128)(2,1)S(1)}`, tuples, tokens; records, reading and printing.

# XLA's integers have 64 bits.
_DIGITS = 19
_ARRAY = re.compile(r"([a-z][a-z0-9]*)\[([^\]]*)\](?:\{(.*)\})?$", re.DOTALL)
_TILES = re.compile(r"T((?:\([^)]*\))+)")
_SPACE = re.compile(r"S\((\d{1,9})\)")
_NO_ARRAY = ("token", "opaque")
# Also matches types that XLA does not have yet: `f8e5m3`, `s3`.
_ELEMENT_TYPE = re.compile(r"pred|token|opaque|(?:s|u|f|bf|c)\d{1,3}[a-z0-9]*")


# Bits per element. Unknown element types count 0 bytes and are still kept and compared.
_BITS = {
    "pred": 8, "s2": 2, "u2": 2, "s4": 4, "u4": 4, "s8": 8, "u8": 8, "s16": 16, "u16": 16, "s32": 32, "u32": 32,
    "s64": 64, "u64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "c64": 64, "c128": 128, "f4e2m1fn": 4,
    "s1": 1, "u1": 1,
}  # fmt: skip


def bits_of(element_type: str) -> int:
    """Bits of one element: `bits_of("bf16") == 16`; 0 for tokens, tuples and unknown types."""
    if element_type.startswith("f8"):
        return 8
    return _BITS.get(element_type, 0)


class KnownOnce:
    """What is worked out once of a record, when first asked: its cached properties, and what functions find for all.

    These are not fields, so they are neither compared nor sent to other processes.
    """

    __slots__ = ("__dict__",)


@dataclass(frozen=True, slots=True)
class Layout:
    """How an array lies in memory: `{1,0:T(8,128)S(1)}` is minor_to_major (1, 0), tiling "(8,128)", memory space 1.

    `other` keeps what we do not interpret (element size, dimension level types) verbatim, without loss.
    """

    minor_to_major: tuple[int, ...] = ()
    tiling: str = ""
    memory_space: int = 0
    other: str = ""


@dataclass(frozen=True, slots=True)
class Shape(KnownOnce):
    """An array shape, a tuple of shapes, a token, or a type kept verbatim in `element_type`.

    Args:
        element_type: XLA's name ("f32", "s32", "pred"), "tuple", "token", or verbatim text of an unknown type.
        dimensions: sizes; the bound for a bounded dynamic dimension, -1 for an unbounded one.
        layout: None if the text has none.
        tuple_shapes: the elements of a tuple.
        dynamic: indices of the dynamic dimensions.
        is_array: False for tuples, tokens and other types without dimensions.
    """

    element_type: str
    dimensions: tuple[int, ...] = ()
    layout: Layout | None = None
    tuple_shapes: tuple[Shape, ...] = ()
    dynamic: tuple[int, ...] = ()
    is_array: bool = True

    @cached_property
    def _hash(self) -> int:
        parts = self.element_type, self.dimensions, self.layout, self.tuple_shapes, self.dynamic, self.is_array
        return hash(parts)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def text(self) -> str:
        """The shape in a form that XLA prints and can read: `f32[8,4]{1,0}`."""
        if self.element_type == "tuple":
            return "(" + ", ".join([part.text for part in self.tuple_shapes]) + ")"
        if not self.is_array and self.element_type not in _NO_ARRAY:
            return self.element_type
        sizes = ["?" if size < 0 else str(size) for size in self.dimensions]
        for index in self.dynamic:
            if self.dimensions[index] >= 0:
                sizes[index] = "<=" + sizes[index]
        layout = "" if self.layout is None else "{" + print_layout(self.layout) + "}"
        return f"{self.element_type}[{','.join(sizes)}]{layout}"

    @cached_property
    def bare(self) -> Shape:
        """The same shape, without layouts at any depth: `f32[8,4]`."""
        return replace(self, layout=None, tuple_shapes=tuple([part.bare for part in self.tuple_shapes]))

    @cached_property
    def elements(self) -> int:
        """Number of elements of an array, 0 for everything else."""
        if not self.is_array:
            return 0
        count = 1
        for size in self.dimensions:
            count *= max(size, 0)
        return count

    @cached_property
    def bytes(self) -> int:
        """Bytes of the array or of all leaves of the tuple, without padding."""
        if self.tuple_shapes:
            return sum(part.bytes for part in self.tuple_shapes)
        return (self.elements * bits_of(self.element_type) + 7) // 8

    @property
    def memory_space(self) -> int:
        """The memory space of an array; 0, the default, if the text has no layout."""
        return self.layout.memory_space if self.layout else 0

    @cached_property
    def leaves(self) -> tuple[Shape, ...]:
        """The arrays and tokens of a tuple in order, or the shape itself."""
        if self.element_type != "tuple":
            return (self,)
        return tuple([leaf for part in self.tuple_shapes for leaf in part.leaves])


class UnknownType(ValueError):
    """A shape that no version of XLA has; `name` is the part that is not understood."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(what)
        self.name = name


# Other parts of a layout: `D(D,C)`, `E(4)`, `#(u8)`, `SC(0:2)`, and ones that XLA does not have yet.
_INSIDE = r"\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\)"
_LAYOUT_ITEMS = re.compile(rf"\s*+(?:[A-Za-z#*]{{1,3}}{_INSIDE}\s*+)*+")


_MAX_DEPTH = 50


def _is_deep(text: str) -> bool:
    depth = 0
    for bracket in re.findall(r"[()]", text):
        depth += 1 if bracket == "(" else -1
        if depth > _MAX_DEPTH:
            return True
    return False


@lru_cache(maxsize=100_000)  # programs use few distinct shapes; the bound protects against hostile files
def read_shape(text: str) -> Shape:
    """Read one shape; an unknown one is kept verbatim as the element type of a non-array.

    Example:
        >>> read_shape("bf16[8,128]{1,0:T(8,128)(2,1)S(1)}").layout
        Layout(minor_to_major=(1, 0), tiling='(8,128)(2,1)', memory_space=1, other='')
    """
    if "((" in text and _is_deep(text):
        raise UnknownType("((", f"a tuple nested more than {_MAX_DEPTH} deep")
    text = without_comments(text).strip()
    if text.startswith("(") and text.endswith(")") and closing(text, 0) == len(text) - 1:
        parts = tuple(read_shape(part) for part in split_commas(text[1:-1]))
        return Shape("tuple", tuple_shapes=parts, is_array=False)
    match = _ARRAY.match(text)
    if match is None:
        if text.count("{") != text.count("}") or text.count("[") != text.count("]"):
            raise UnknownType(text, "a bracket of this shape has no partner")
        return Shape(text, is_array=False)
    element_type, sizes, layout = match.groups()
    if not _ELEMENT_TYPE.fullmatch(element_type):
        raise UnknownType(element_type, f"`{element_type}` is not an element type of XLA")
    dimensions: list[int] = []
    dynamic: list[int] = []
    given = [size.strip() for size in sizes.split(",")] if sizes.strip() else []
    if "" in given:
        raise UnknownType(f"[{sizes}]", "a size is missing")
    if any(size.startswith("-") for size in given):
        raise UnknownType(f"[{sizes}]", "a size is negative")
    for index, size in enumerate(given):
        if size.startswith("<=") or size == "?":
            dynamic.append(index)
            size = size.removeprefix("<=")
        if size != "?" and (not size.isdecimal() or len(size) > _DIGITS):
            return Shape(text, is_array=False)
        dimensions.append(-1 if size == "?" else int(size))
    order = None if layout is None else read_layout(layout)
    if order is not None and order.minor_to_major and sorted(order.minor_to_major) != list(range(len(dimensions))):
        what = f"a layout orders each of the {len(dimensions)} dimensions once"
        raise UnknownType(f"{{{layout}}}", what if len(dimensions) != 1 else "a layout of one dimension is {0}")
    return Shape(
        element_type,
        tuple(dimensions),
        order,
        dynamic=tuple(dynamic),
        is_array=element_type not in _NO_ARRAY,
    )


def read_layout(text: str) -> Layout:
    """Read the text between the braces of a layout: `1,0:T(8,128)S(5)`."""
    order, _, rest = text.partition(":")
    tiles = _TILES.search(rest)
    space = _SPACE.search(rest)
    other = _SPACE.sub("", _TILES.sub("", rest, count=1), count=1)
    numbers = [n.strip() for n in order.split(",")] if order.strip() else []
    if not _LAYOUT_ITEMS.fullmatch(other) or not all(n.isdecimal() and len(n) <= _DIGITS for n in numbers):
        raise UnknownType(text, "malformed layout")
    return Layout(
        tuple(map(int, numbers)),
        tiles.group(1) if tiles else "",
        int(space.group(1)) if space else 0,
        other,
    )


# XLA accepts the parts of a layout only in a fixed order.
_BEFORE_TILES = re.compile(r"D\([^)]*\)")
_AFTER_SPACE = re.compile(r"(?:SC|P|M)\(.*", re.DOTALL)


def print_layout(layout: Layout) -> str:
    """The text between the braces of a layout: `1,0:T(8,128)S(5)`."""
    head = _BEFORE_TILES.match(layout.other)
    tail = _AFTER_SPACE.search(layout.other)
    start, end = head.end() if head else 0, tail.start() if tail else len(layout.other)
    tiles = f"T{layout.tiling}" if layout.tiling else ""
    space = f"S({layout.memory_space})" if layout.memory_space else ""
    rest = layout.other[:start] + tiles + layout.other[start:end] + space + layout.other[end:]
    order = ",".join(map(str, layout.minor_to_major))
    return f"{order}:{rest}" if rest else order


# --- Every form that XLA has ever printed, for the parser.

# The first line of a computation: (1) ENTRY, (2) the name; a signature, a layout and a comment may follow.
COMPUTATION_HEAD = re.compile(
    r"(ENTRY\s+)?%?(?!ENTRY[\s({])([^\s({%)}\[\],=\"]+)\s*(?:\(.*)?\{\s*(?:/\*.*\*/\s*)?$", re.DOTALL
)
# The start of an instruction: (1) ROOT, (2) the name, up to its shape.
INSTRUCTION_START = re.compile(r"\s*(?!ROOT\s*=)(ROOT\s+)?%?([^\s=%,{}()\[\]\"]+)\s*=\s*")
# What follows the shape: (1) the opcode, and the opening bracket of the operands.
OPCODE = re.compile(r"\s*([A-Za-z_][\w\-.]*)\(")
# An instruction up to its attributes, for lines that need no bracket matching, which are most: (1) ROOT, (2) the name,
# (3) a non-tuple shape, (4) the opcode, and between its brackets (5) names, or (6) anything else without brackets.
PLAIN_INSTRUCTION = re.compile(
    r"""\s*+(?!ROOT\s*=)(ROOT\s++)?%?(?!/)([^\s=%,{}()\[\]"]++)\s*+=\s*+([^ (][^ ]*+)\s++([A-Za-z_][\w\-.]*+)
    \((?:%((?:[^\s,%()"/]++(?:,[ ]%(?=[^,)]))?)++)|([^()"]*+))\)""",
    re.VERBOSE,
)
# The name of an attribute (1) and its `=`.
ATTRIBUTE_KEY = re.compile(r"([A-Za-z_][\w\-.]*)\s*=\s*", re.DOTALL)
# Whether the text after a comma begins an attribute; if not, it belongs to the previous value.
ATTRIBUTE_START = re.compile(r"[A-Za-z_][\w\-.]*\s*(?:=|$)")
# `, metadata={...}` followed by another attribute or the end: (1) the value. Values with nested braces do not match and
# take the slow path through `split_commas`.
METADATA = re.compile(rf', metadata=(\{{[^"{{}}]*(?:{STRING}[^"{{}}]*)*\}})(?=, [A-Za-z_][\w\-.]*=|$)')

# `==`, or a missing item of a list; strings may contain anything.
_LACKING = re.compile(r'=|(?:[^",]|,(?!\s*,)|"(?:[^"\\]|\\.)*+")*+,\s*,', re.DOTALL)


def _has_words_behind(text: str) -> bool:
    """Whether words follow the bracket that closes a value without a comma between."""
    try:
        return closing(text, 0) != len(text.rstrip()) - 1
    except Unbalanced:
        return True


_TWO_ITEMS = re.compile(r"\d\s+\d|\}\s*\{|\]\s*\[")
# A value without brackets, followed by another attribute.
_ATTRIBUTE_BEHIND = re.compile(r'(?:[^\s"{}()\[\]]|"(?:[^"\\]|\\.)*+")++\s+[A-Za-z_][\w\-.]*\s*=', re.DOTALL)


def lacks_value(text: str) -> bool:
    """Whether an attribute's value begins with a second `=`, or a list lacks an item or a comma in or after it.

    Example:
        >>> [lacks_value(text) for text in ("=1", "{0,,1}", "{0 1}", "{{0}{1}}", "{0} dims={1}", "1 dims={1}")]
        [True, True, True, True, True, True]
        >>> [lacks_value(text) for text in ("{0,1}", '"a,,b 1 2"', "{size=3 pad=1_1}")]
        [False, False, False]
    """
    doubtful = ",," in text or ", ," in text or text.startswith("=")
    if doubtful and _LACKING.match(text):
        return True
    if text.startswith("{") and ("} " in text or text[-1] != "}") and _has_words_behind(text):
        return True
    if _ATTRIBUTE_BEHIND.match(text):
        return True
    # Two items without a comma. Whitespace is removed later, which would join two numbers into one.
    found = _TWO_ITEMS.search(text)
    return found is not None and ('"' not in text or _TWO_ITEMS.search(_STRING_IN_LINE.sub('""', text)) is not None)


# Attributes whose values name computations. Async ops and fusions both use `calls`.
CALLING_ATTRIBUTES = frozenset(
    ["calls", "to_apply", "condition", "body", "branch_computations", "true_computation", "false_computation",
     "called_computations", "select", "scatter"]
)  # fmt: skip


def operand_names(text: str) -> list[str]:
    """Names in a list of operands; older printers put a shape before each: `f32[2]{0} %x`.

    Raises:
        NotOperands: a name is missing, or two names have no comma between them.
    """
    if not text:
        return []
    if "/*" in text:
        text = without_comments(text)
    commas = text.count(",")
    if text.count(" ") == commas == text.count(", %") == text.count("%") - text.startswith("%"):  # only names
        return text.replace("%", "").split(", ")
    if not text.strip():
        return []
    parts = split_commas(text) if "{" in text or "[" in text else text.split(",")
    words = [part.split() for part in parts]
    if not all(words) or any(len(one) > 1 and one[0].startswith("%") for one in words) or text.rstrip().endswith(","):
        raise NotOperands
    return [one[-1].removeprefix("%") for one in words]


def attribute_texts(text: str) -> list[str]:
    """The attributes of an instruction; text after a comma that begins no attribute belongs to the previous value."""
    parts: list[str] = []
    for part in split_commas(text):
        inside_mesh = part.startswith("device_ids=") and parts and "=mesh[" in parts[-1]
        if parts and (inside_mesh or not ATTRIBUTE_START.match(part)):
            parts[-1] += ("," if part[:1] in "{[(" else ", ") + part
        else:
            parts.append(part)
    return parts


# --- Spellings: XLA omits defaults, and prints numbers and lists in one form.

# Attributes that XLA prints only if they differ from their default.
_DEFAULTS = {
    "feature_group_count": "1", "batch_group_count": "1", "indices_are_sorted": "false", "unique_indices": "false",
    "is_stable": "false", "custom_call_has_side_effect": "false", "is_host_transfer": "false",
    "use_global_device_ids": "false", "constrain_layout": "false",
    "api_version": "API_VERSION_ORIGINAL", "schedule": "SCHEDULE_NONE", "async_execution_thread": "main",
}  # fmt: skip
HEADER_DEFAULTS = {
    "is_scheduled": "false", "replica_count": "1", "num_partitions": "1", "alias_passthrough_params": "false",
}  # fmt: skip
_INTEGERS = re.compile(r"[\s\d,{}\-]*")
_WINDOW = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal")
_WINDOW_DEFAULT = {
    "stride": re.compile(r"1(?:x1)*"), "lhs_dilate": re.compile(r"1(?:x1)*"), "rhs_dilate": re.compile(r"1(?:x1)*"),
    "pad": re.compile(r"0_0(?:x0_0)*"), "rhs_reversal": re.compile(r"0(?:x0)*"),
}  # fmt: skip
_RANGE = re.compile(r"\[\s*(\d+)\s*:\s*(\d+)\s*(?::\s*(\d+)\s*)?\]")


def canonical_attribute(name: str, value: str) -> str | None:
    """An attribute as XLA prints it; None for a default, which XLA omits.

    Example:
        >>> canonical_attribute("slice", "{[0:3:1], [0:8:1]}"), canonical_attribute("feature_group_count", "1")
        ('{[0:3], [0:8]}', None)
        >>> canonical_attribute("window", "{pad=1_1x1_1 size=3x3 stride=1x1}")
        '{size=3x3 pad=1_1x1_1}'
    """
    if name in _DEFAULTS and value.strip('"') == _DEFAULTS[name]:
        return None
    if name == "window":
        if not (value.startswith("{") and value.endswith("}")):
            return value
        parts = [part.partition("=") for part in value[1:-1].split()]
        given = {key: dims for key, _, dims in parts}
        if len(given) != len(parts) or not given.keys() <= set(_WINDOW) or "" in given.values():
            return value
        kept = [
            f"{key}={given[key]}"
            for key in _WINDOW
            if key in given and not (key in _WINDOW_DEFAULT and _WINDOW_DEFAULT[key].fullmatch(given[key]))
        ]
        return "{" + " ".join(kept) + "}" if kept else None
    if name == "operand_precision" and set(value.strip("{} ").replace(" ", "").split(",")) == {"default"}:
        return None
    if name == "slice":
        found = _RANGE.findall(value)
        if not found or len(found) != value.count("["):
            return value
        strides = any(stride not in ("", "1") for _, _, stride in found)  # XLA prints all of them or none
        ranges = [f"[{start}:{end}:{stride or 1}]" if strides else f"[{start}:{end}]" for start, end, stride in found]
        return "{" + ", ".join(ranges) + "}"
    return "".join(value.split()) if _INTEGERS.fullmatch(value) else value


# (1) result, (2) number and (3) part of an argument, (4) kind; and (1) number and (2) part.
_ALIAS = re.compile(r"\{([\d,\s]*)\}\s*:\s*\(\s*(\d+)\s*,\s*\{([\d,\s]*)\}\s*(?:,\s*(m(?:ay|ust)[-_]alias)\s*)?\)")
_DONOR = re.compile(r"\(\s*(\d+)\s*,\s*\{([\d,\s]*)\}\s*\)")


@dataclass(frozen=True, slots=True)
class DonatedPart:
    """One entry of a compiled module's header: part `inside` of a parameter ("" for all of it) is donated.

    `result` is the index of the result that reuses its buffer ("" for the only result), None if any may; `kind` is
    XLA's "may-alias" or "must-alias", "" for a mere donor.
    """

    parameter: int
    inside: str
    result: str | None
    kind: str


def donated_parts(header: Iterable[tuple[str, str]]) -> list[DonatedPart]:
    """Entries of a header's `buffer_donor`, then of its `input_output_alias`."""
    attributes = dict(header)
    donors = _DONOR.findall(attributes.get("buffer_donor", ""))
    aliases = _ALIAS.findall(attributes.get("input_output_alias", ""))
    found = [DonatedPart(int(number), _without_blanks(inside), None, "") for number, inside in donors]
    return found + [
        DonatedPart(int(number), _without_blanks(inside), _without_blanks(out), kind)
        for out, number, inside, kind in aliases
    ]


def donated_results(header: Iterable[tuple[str, str]]) -> dict[int, dict[str, str]]:
    """For each donated argument its donated parts ("" for all of it), and the result that each is donated to.

    Example:
        >>> donated_results([("input_output_alias", "{ {1}: (0, {}, may-alias) }")])
        {0: {'': '{1} may-alias'}}
    """
    found: dict[int, dict[str, str]] = {}
    for one in donated_parts(header):
        target = "any" if one.result is None else f"{{{one.result}}} {one.kind}".strip()
        found.setdefault(one.parameter, {})[one.inside] = target
    return found


def layout_parts(text: str) -> tuple[dict[int, str], str]:
    """An `entry_computation_layout` as arguments by number, and the result.

    Example:
        >>> layout_parts("{(f32[8]{0}, s32[])->f32[8]{0}}")
        ({0: 'f32[8]{0}', 1: 's32[]'}, '->f32[8]{0}}')
    """
    text = without_comments(text).strip()
    end = closing(text, 1) if text.startswith("{(") else 0
    parts = split_commas(text[2:end]) if end else []
    return {n: part.strip() for n, part in enumerate(parts)}, text[end + 1 :]


def _without_blanks(index: str) -> str:
    return index.replace(" ", "")


_FLAG, _COUNT = re.compile(r"true|false"), re.compile(r"\d{1,18}")
_HEADER_VALUES = {
    "is_scheduled": _FLAG, "alias_passthrough_params": _FLAG, "replica_count": _COUNT, "num_partitions": _COUNT,
}  # fmt: skip


def is_header_value(name: str, value: str) -> bool:
    """Whether a flag, number or alias table of a header is well-formed; True for any other value."""
    if name in _HEADER_VALUES:
        return _HEADER_VALUES[name].fullmatch(value) is not None
    entry = {"input_output_alias": _ALIAS, "buffer_donor": _DONOR}.get(name)
    if entry is None:
        return not lacks_value(value)
    if not (value.startswith("{") and value.endswith("}")):
        return False
    try:
        return all(entry.fullmatch(part) for part in split_commas(without_comments(value[1:-1])))
    except Unbalanced:
        return False


def is_compatible(one: Shape, other: Shape) -> bool:
    """Whether two shapes are equal apart from layouts and dynamic dimensions."""
    if one is other:
        return True
    if one.element_type != other.element_type or one.dimensions != other.dimensions:
        return False
    if len(one.tuple_shapes) != len(other.tuple_shapes):
        return False
    return all(map(is_compatible, one.tuple_shapes, other.tuple_shapes))


# A number that XLA would print differently: `3e+2`, `+1`, `2.50`, `.5`, `1.`, `1E5`.
_ODD_NUMBER = re.compile(
    r"(?<![\w.+-])[+-]?(?:\d+\.\d*0|\d+\.|\.\d+|\+[\d.]+|[\d.]+(?:E[+-]?\d+|e(?:\d+|[+-]\d)))(?![\w.])"
)
_SIMPLE_NUMBER = re.compile(r"(?<![\w.+-])[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
# Longer literals are printed by programs, always in one form.
_BY_HAND = 2000


def canonical_literal(text: str, element_type: str) -> str:
    """The numbers of a constant as XLA prints them.

    Example:
        >>> canonical_literal("{3e+2, 0.50}", "f32"), canonical_literal("1e-05", "f32")
        ('{300, 0.5}', '1e-05')
    """
    if len(text) > _BY_HAND or element_type[:1] not in "fbc" or not _ODD_NUMBER.search(text):
        return text
    return _SIMPLE_NUMBER.sub(lambda found: _shortest(found[0]), text)


def _shortest(number: str) -> str:
    """The shortest decimal that reads back as the same number, formatted as C's `%g`."""
    value = float(number)
    return next((text for digits in range(6, 18) if float(text := f"{value:.{digits}g}") == value), number)


def literal_error(text: str, shape: Shape) -> str:
    """What is wrong with the values of a constant: unbalanced brackets or too many values; "" if nothing."""
    if "..." in text:
        return ""
    depth: list[str] = []
    for token in _TOKEN.finditer(text) if len(text) < _BY_HAND else ():
        kind = token[0]
        if kind in _OPENING:
            depth.append("})]"["{([".index(kind)])
        elif kind in _CLOSING and (not depth or depth.pop() != kind):
            return "bracket or quote without its partner"
    if depth or text.count("{") != text.count("}"):
        return "bracket or quote without its partner"
    if not shape.is_array or not shape.elements or "(" in text or "/*" in text or "{" not in text:
        return ""
    found = text.count(",") + 1
    return "" if found in (1, shape.elements) else f"the shape has {shape.elements} elements, and here are {found}"


# --- Computations in canonical form.

# A line that is not an instruction: the first or last line of a computation, a blank line, or another form.
_BORDER = re.compile(r"\n(?!  (?:%|ROOT %))([^\n]*)")
_CANONICAL_HEAD = re.compile(r"(ENTRY )?%?([^\s({%)}\[\],=\"]+) (?:\(.*)?\{")


class Span(NamedTuple):
    """Location of a computation in the text.

    Args:
        name: name without `%`.
        is_entry: whether it is marked ENTRY.
        start, body, end: offsets of its head, its first instruction and its closing `}`.
        closing: what follows the `}` on its line.
        line: number of lines before the head.
        lines: number of lines from the head to the `}`; each is an instruction in canonical form.
    """

    name: str
    is_entry: bool
    start: int
    body: int
    end: int
    closing: str
    line: int
    lines: int

    def body_of(self, text: str) -> str:
        """The lines of its instructions."""
        return text[self.body : self.end]


def computation_spans(text: str, start: int, line: int) -> tuple[Span, ...] | None:
    """Find the computations of a module without parsing them: 15 ms for 100,000 instructions.

    Args:
        text: HLO text.
        start: offset of the first computation's head, after a line break.
        line: number of lines before it.

    Returns:
        All computations in text order; None if the text is not in canonical form with one line per instruction, has no
        single entry, two computations of the same name, or one with two roots.

    Example:
        >>> text = "\\n%a (p: f32[]) -> f32[] {\\n  %x\\n}\\n\\nENTRY %b {\\n  ROOT %y\\n}\\n"
        >>> [span.name for span in computation_spans(text, 1, 1)]
        ['a', 'b']
    """
    spans: list[Span] = []
    head: re.Match[str] | None = None  # of the open computation
    closed = start - 1  # where the last computation ended, or the text before the first one did
    for border in _BORDER.finditer(text, start - 1):
        words, place = border[1], border.start()
        if head is not None:
            lines = text.count("\n", start, place + 1)
            if not lines or not words.startswith("}") or text.count("\n  ROOT ", start - 1, place) > 1:
                return None
            places = (start - 1 - len(head[0]), start, place + 1)
            spans.append(Span(head[2], head[1] is not None, *places, words[1:].rstrip(), line, lines))
            line += lines + 2
            head, closed = None, border.end()
        elif not words or words.isspace():
            line += 1
        else:
            if text[closed:place].strip():
                return None  # lines between two computations
            head, start = _CANONICAL_HEAD.fullmatch(words), border.end() + 1
            if head is None:
                return None
    if head is not None or text[closed:].strip():
        return None
    if sum(span.is_entry for span in spans) != 1 or len({span.name for span in spans}) != len(spans):
        return None
    return tuple(spans)


# --- Instructions in canonical form.

# One line: (1) name with `%`, (2) shape and opcode, (3) operands with `%` or a literal, (4) attributes. It only
# searches for the character that ends each part, which is fastest; damage.py checks the contents of the parts.
_LINE = re.compile(
    r"""^  (?:ROOT )?+(%[A-Za-z0-9_.\-]++) = ((?:[^ (][^ ]*+|\([^"%/\n]*?\)) [^(]++)\(([^)]*+)\)(.*+)$""", re.MULTILINE
)
LineParts = tuple[str, str, str, str]
"""Name, shape and opcode, operands (with `%`) or literal, and attributes of one line."""

_INDEX_COMMENT = re.compile(r"/\*index=\d+\*/")
# Strings, so that names inside them are skipped, and (1) names without `%`.
_STRING_OR_NAME = re.compile(rf'{STRING}|%([^\s,{{}}()"]+)')
_NAME = re.compile(r'%[^\s,{}()"]+')
# Names in attributes that call computations: `=%a`, `={%a, %b}`.
_CALLED = re.compile(r"=(%[^\s,{}]+|\{%[^{}]*\})")
# Everything before the first `, metadata={` outside strings.
_BEFORE_METADATA = re.compile(rf'(?:[^",]|{STRING}|,(?! metadata=\{{))*')
_METADATA_START = ", metadata={"
# METADATA for canonical form. It allows a `{` in the value and anything after it, because an error there shows in the
# rest of the line, which is compared as text.
_CANONICAL_METADATA = re.compile(rf', metadata=\{{[^"}}]*(?:{STRING}[^"}}]*)*\}}')
# Well-formed metadata, the only kind that may be dropped unread: any number of key-value pairs.
_PLAIN_METADATA = re.compile(
    rf", metadata=\{{(?:[a-z_]++=(?:{STRING}|\{{[\w, ]*+\}}|[\w.+\-]++)(?: (?=[a-z_])|(?=\}})))*+\}}(?=, |\Z)"
)
# The same at the end of most lines; finds nothing if a string contains a quote.
_SCOPE_AT_END = re.compile(r', metadata=\{op_name="[^"]*+"(?: stack_frame_id=\d++)?+\}$', re.MULTILINE)
# The same at the end of any line; the first `"` must be the first of the line.
_METADATA_AT_END = re.compile(
    r', metadata=\{(?:[a-z_]++=(?:"[^"\\\n]*+"|[\w.+\-]++)(?: (?=[a-z_])|(?=\})))*+\}$', re.MULTILINE
)
# Instructions whose callees run one instruction at a time, so that printed order is a schedule.
_CONTROL_FLOW = re.compile(r" (?:while|conditional|call)\([^\n]*")


def parts_of_lines(text: str, span: Span) -> list[LineParts]:
    """The parts of each line of a computation; [] if a line is not in canonical form."""
    lines: list[LineParts] = _LINE.findall(text, span.body, span.end)
    if len(lines) != span.lines:
        lines = _LINE.findall(_INDEX_COMMENT.sub("", span.body_of(text)))
    return lines if len(lines) == span.lines else []


# Characters of computations split at once: each call has a high fixed cost.
_TOGETHER = 1 << 16


def parts_without_metadata(text: str, spans: Iterable[Span]) -> Iterator[list[LineParts]]:
    """Like `parts_of_lines` for several computations in turn, mostly without `metadata`.

    Metadata differs from line to line and is often the longer part.
    """
    group: list[Span] = []
    length = 0
    for span in spans:
        group.append(span)
        length += span.end - span.body
        if length > _TOGETHER:
            yield from _parts_of_group(text, group)
            group, length = [], 0
    yield from _parts_of_group(text, group)


def _parts_of_group(text: str, group: Sequence[Span]) -> Iterable[list[LineParts]]:
    lines = _bare_parts("".join([text[span.body : span.end] for span in group]))
    ends = list(accumulate([span.lines for span in group], initial=0))
    if len(lines) == ends[-1]:  # every line matched
        return [lines[first:last] for first, last in pairwise(ends)]
    if len(group) > 1:
        return [lines for span in group for lines in _parts_of_group(text, [span])]
    return [parts_of_lines(text, span) for span in group]


def _bare_parts(body: str) -> list[LineParts]:
    """The parts of lines without metadata; [] if other strings remain, which may contain anything."""
    if "\\" in body and ('\\"' in body or "\\\\" in body):  # an escaped quote may not end a string
        return []
    bare = _SCOPE_AT_END.sub("", body)
    if '"' in bare or _METADATA_START in bare:
        bare = _METADATA_AT_END.sub("", bare)
        if '"' in bare or _METADATA_START in bare:
            return []
    lines: list[LineParts] = _LINE.findall(bare)
    return lines


def root_reference(text: str, span: Span) -> str:
    """The root's name, with `%`: the instruction marked ROOT, else the last line."""
    at = text.rfind("\n  ROOT ", span.body - 1, span.end) + 8
    if at < 8:
        at = text.rfind("\n  ", span.body - 1, span.end) + 3
    return text[at : text.find(" ", at)]


def opcode_of(shape_and_opcode: str) -> str:
    """The opcode in the second part of a line."""
    return shape_and_opcode.rpartition(" ")[2]


def operand_references(parts: LineParts) -> list[str]:
    """Names of the operands of a line, with `%`."""
    return references(parts[2]) if parts[2].startswith("%") else []


def references(operands: str) -> list[str]:
    """Names in a list of operands that holds nothing else, with `%`."""
    return (_INDEX_COMMENT.sub("", operands) if "*" in operands else operands).split(", ")


def metadata_of(parts: LineParts) -> str:
    """`, metadata={...}` of a line; "" if it has none."""
    start, end = _metadata_range(parts[3])
    return parts[3][start:end]


def without_metadata(attributes: str) -> str:
    """The attributes of a line except well-formed `metadata`."""
    at = attributes.find(_METADATA_START)
    if at >= 0 and attributes.find('"', 0, at) >= 0:
        at = _metadata_range(attributes)[0] or -1
    found = _PLAIN_METADATA.match(attributes, at) if at >= 0 else None
    return attributes[:at] + attributes[found.end() :] if found else attributes


def _metadata_range(attributes: str) -> tuple[int, int]:
    """Range of `, metadata={...}` outside strings; (0, 0) if there is none."""
    at = attributes.find(_METADATA_START)
    if at < 0:
        return 0, 0
    is_last = attributes.find("}", at) == len(attributes) - 1  # usually, and then no regular expression is needed
    if is_last and "\\" not in attributes and attributes.find('"', 0, at) < 0 and attributes.count('"', at) % 2 == 0:
        return at, len(attributes)
    if attributes.find('"', 0, at) >= 0:
        before = _BEFORE_METADATA.match(attributes)
        if before is None or not attributes.startswith(_METADATA_START, before.end()):
            return 0, 0
        at = before.end()
    found = _CANONICAL_METADATA.match(attributes, at)
    return (at, found.end()) if found else (0, 0)


def with_references(attributes: str, replacement: Callable[[str], str]) -> str:
    """Replace each `%name` outside strings.

    Args:
        attributes: the attributes of one line.
        replacement: returns the new text for a `name`.
    """
    before, quote, behind = attributes.partition('"')
    if "%" not in behind:  # usually no string contains one
        return _NAME.sub(lambda found: replacement(found[0][1:]), before) + quote + behind
    return _STRING_OR_NAME.sub(lambda found: found[0] if found[1] is None else replacement(found[1]), attributes)


def without_references(attributes: str) -> str:
    """Replace each `%name` outside strings by a bare `%`."""
    before, quote, behind = attributes.partition('"')
    if "%" not in behind:
        return _NAME.sub("%", before) + quote + behind
    return _STRING_OR_NAME.sub(lambda found: found[0] if found[1] is None else "%", attributes)


def called_names(text: str) -> list[str]:
    """Names in attributes that call computations: `calls=%a`, `branch_computations={%a, %b}`."""
    names: list[str] = []
    for group in _CALLED.findall(text):
        if group.startswith("%"):
            names.append(group[1:])
        else:
            names += [name for name in _STRING_OR_NAME.findall(group) if name]
    return names


def has_undefined_name(body: str, lines: int, called: Iterable[str]) -> bool:
    """Whether a computation uses a name that no line defines. Found by counting: 0.5 us per line.

    Args:
        body: the instructions in canonical form.
        lines: number of instructions.
        called: the computations they call.

    Example:
        >>> body = "  %p = f32[] parameter(0)\\n  ROOT %r = f32[] add(%p, %q)\\n"
        >>> has_undefined_name(body, 2, []), has_undefined_name(body.replace("%q", "%p"), 2, [])
        (True, False)
    """
    names = set(_NAME.findall(body))
    others = {f"%{name}" for name in called}
    names |= others
    return len(names) > lines + sum(f" {name} = " not in body for name in others)


def called_names_by_attribute(attributes: str) -> dict[str, list[str]]:
    """Names of the computations that one line calls, by attribute."""
    parts = [part for part in parts_or_whole(attributes.removeprefix(",")) if "%" in part and '"' not in part]
    return {part.partition("=")[0]: called_names(part) for part in parts}


def called_in_control_flow(text: str, span: Span) -> list[str]:
    """Names of the computations called by loops, conditionals and calls, once per call."""
    return [name for line in _CONTROL_FLOW.findall(text, span.body, span.end) for name in called_names(line)]


def renamed_calls(line: str, names: Mapping[str, str]) -> str:
    """The text of an instruction with its callees renamed."""
    return _CALLED.sub(lambda group: _STRING_OR_NAME.sub(lambda one: f"%{names.get(one[1], one[1])}", group[0]), line)


def placeholder_line(line: str, parts: LineParts, opcode: str, mark: int) -> str:
    """A line with another opcode and without operands and attributes; name, shape and metadata stay.

    Args:
        line: an instruction in canonical form.
        parts: the parts of the line, see `parts_of_lines`.
        opcode: the opcode to print.
        mark: a number that distinguishes placeholders.

    Returns:
        The new line; a parameter is returned unchanged.
    """
    shape, _, old_opcode = parts[1].rpartition(" ")
    if old_opcode == "parameter":
        return line
    root = "ROOT " if line.startswith("  ROOT ") else ""
    return f"  {root}{parts[0]} = {shape} {opcode}(), kept={mark}{metadata_of(parts)}"


def kept_lines(
    text: str, span: Span, parts: Sequence[LineParts], kept: Sequence[int], marks: Mapping[int, int], opcode: str
) -> list[str]:
    """Selected lines of a computation; those with a mark become placeholders.

    Args:
        text, span: the computation.
        parts: its lines, see `parts_of_lines`.
        kept: numbers of the selected lines.
        marks: mark of each placeholder, by line number.
        opcode: the opcode of placeholders.
    """
    lines = text[span.body : span.end - 1].split("\n")
    return [placeholder_line(lines[n], parts[n], opcode, marks[n]) if n in marks else lines[n] for n in kept]


# --- What a text contains anywhere, found without splitting it.

# Strings that occur only in programs for CUDA, in backend configurations and library names.
CUDA_SIGNS = ('"operation_queue_id"', '"gpu_backend_config"', '"fusion_backend_config"', "__cublas", "__cudnn")
# A constant with elided values and its attributes: `constant({...})`, from eleven elements on.
ELIDED_CONSTANT = re.compile(r" constant\([^()\n]*\.\.\.[^\n]*")
# The same, matched from the start of its line: (1) the name, (2) the element type, (3) the sizes.
ELIDED_CONSTANT_LINE = re.compile(r"%([^\s%]+) = (\w+)\[([0-9,]*)\]\S* constant\(\{\.\.\.\}\)")
# (1) the name of the module, in the first line of a file.
MODULE_NAME = re.compile(r"HloModule\s+([^\s,]+)")
# A debug table with its rows.
DEBUG_TABLE = re.compile(rf"^(?:{'|'.join(DEBUG_TABLES)})\n(?:\d.*\n)*".encode(), re.MULTILINE)
# (1) the layouts of arguments and result in the first line of a file.
ENTRY_LAYOUT = re.compile(rb"entry_computation_layout=(\{\((?:(?!\)->).)*+\)->(?:(?!\}, ).)*+\}), ")
# (1) the trip count of a loop, in the backend configuration of a `while`.
KNOWN_TRIP_COUNT = re.compile(r'"known_trip_count":\{"n":"?(\d{1,18})(?!\d)')


def has_tiled_layout(text: str) -> bool:
    """Whether some layout is tiled, which only TPUs have: `{1,0:T(8,128)}`."""
    return ":T(" in text


def has_memory_space(text: str, span: Span) -> bool:
    """Whether a computation uses a memory space: `{1,0:S(5)}`."""
    return text.find("S(", span.body, span.end) >= 0


def cuda_sign(text: str) -> str:
    """The first of CUDA_SIGNS that occurs in a text; "" if none does."""
    return next((sign for sign in CUDA_SIGNS if sign in text), "")


# --- Untrusted JSON inside programs (backend configurations).

_MOST_NESTED = 100
_BRACKETS = re.compile(STRING + r"?|[\[{]+|[\]}]+", re.DOTALL)


def load_json(text: str) -> Any:
    """Read JSON nested at most 100 levels deep, so that callers may recurse over the value.

    Raises:
        ValueError: not JSON, nested deeper, or a number with more digits than Python converts.

    Example:
        >>> load_json('{"a": [1]}')
        {'a': [1]}
    """
    if text.count("{") + text.count("[") > _MOST_NESTED:
        depth = 0
        for found in _BRACKETS.finditer(text):
            first = text[found.start()]
            if first in "[{":
                depth += found.end() - found.start()
                if depth > _MOST_NESTED:
                    raise ValueError(f"nested more than {_MOST_NESTED} deep")
            elif first in "]}":
                depth -= found.end() - found.start()
    return json.loads(text)


def aliased_buffers(config: Any) -> list[dict[str, Any]]:
    """Groups of operands and results of a custom call that share memory, as XLA for TPU writes them.

    Args:
        config: a backend configuration.

    Returns:
        its groups, each with numbers as text under "indices"; [] if they are not as XLA writes them.

    Example:
        >>> aliased_buffers({"aliasing_operands": {"lists": [{"indices": ["0", "1"]}]}}), aliased_buffers([1])
        ([{'indices': ['0', '1']}], [])
    """
    operands = config.get("aliasing_operands") if isinstance(config, dict) else None
    lists = operands.get("lists") if isinstance(operands, dict) else None
    return lists if isinstance(lists, list) and all(map(_is_group, lists)) else []


def _is_group(group: Any) -> bool:
    """Accepts numbers of at most 9 digits: Python does not convert those of thousands."""
    indices = group.get("indices") if isinstance(group, dict) else None
    return isinstance(indices, list) and all(
        isinstance(index, str) and len(index) < 10 and index.isascii() and index.removeprefix("-").isdecimal()
        for index in indices
    )
