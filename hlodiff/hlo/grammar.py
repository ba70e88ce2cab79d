r"""What a line of HLO text looks like: each regular expression, and each function that cuts or rewrites a printed line.

Two readers use this file. The parser (`hlo/parser.py`) accepts every form that some version of XLA prints. The text
fingerprints (`hlo/text_fingerprint.py`) accept only the *canonical form*, which is what XLA prints today: two spaces
before each instruction, `}` in column 0, `%` before each name. What is not in that form is left to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hlodiff.hlo.tokens import parts_or_whole, split_commas, without_comments

_STRING = r'"(?:[^"\\]|\\.)*"'

# --- Every form that XLA has printed: for the parser.

# The first line of a computation: (1) ENTRY, (2) the name; a signature, a layout and a comment may follow.
COMPUTATION_HEAD = re.compile(r"(ENTRY\s+)?%?([^\s({]+)\s*(?:\(.*)?\{\s*(?:/\*.*\*/\s*)?$", re.DOTALL)
# The start of an instruction: (1) ROOT, (2) the name, up to its shape.
INSTRUCTION_START = re.compile(r"\s*(ROOT\s+)?%?([^\s=%,]+)\s*=\s*")
# What follows the shape: (1) the opcode, and the bracket that opens the operands.
OPCODE = re.compile(r"\s*([A-Za-z_][\w\-.]*)\(")
# The name of an attribute (1) and its `=`.
ATTRIBUTE_KEY = re.compile(r"([A-Za-z_][\w\-.]*)\s*=\s*", re.DOTALL)
# Whether a text between two commas begins an attribute; if not, it belongs to the value before it.
ATTRIBUTE_START = re.compile(r"[A-Za-z_][\w\-.]*\s*(?:=|$)")
# `, metadata={...}` where another attribute or the end follows: (1) the value. Values with nested braces do not match;
# they take the slow way through `split_commas`.
METADATA = re.compile(rf', metadata=(\{{[^"{{}}]*(?:{_STRING}[^"{{}}]*)*\}})(?=, [A-Za-z_][\w\-.]*=|$)')

# Attributes whose values name computations. `calls` of an async op and of a fusion are the same word.
CALLING_ATTRIBUTES = frozenset(
    ["calls", "to_apply", "condition", "body", "branch_computations", "true_computation", "false_computation",
     "called_computations", "select", "scatter"]
)  # fmt: skip


def operand_names(text: str) -> list[str]:
    """Names in a list of operands; older printers put a shape before each: `f32[2]{0} %x`."""
    if not text:
        return []
    if "/*" in text:
        text = without_comments(text)
    if text.count(" ") == text.count(",") == text.count(", %"):  # nothing but names
        return text.replace("%", "").split(", ")
    parts = split_commas(text) if "{" in text or "[" in text else text.split(",")
    return [part.split()[-1].removeprefix("%") for part in parts if part.strip()]


def attribute_texts(text: str) -> list[str]:
    """The attributes of an instruction; a comma that no attribute follows belongs to the value before it."""
    parts: list[str] = []
    for part in split_commas(text):
        inside_mesh = part.startswith("device_ids=") and parts and "=mesh[" in parts[-1]
        if parts and (inside_mesh or not ATTRIBUTE_START.match(part)):
            parts[-1] += ("," if part[:1] in "{[(" else ", ") + part
        else:
            parts.append(part)
    return parts


# --- Computations in canonical form.

# A line that is no instruction: the first or last line of a computation, a blank line, or another form.
_BORDER = re.compile(r"\n(?!  )([^\n]*)")
_CANONICAL_HEAD = re.compile(r"(ENTRY )?%?([^\s({%]+) (?:\(.*)?\{")


@dataclass(frozen=True, slots=True)
class Span:
    """Where the text of one computation lies.

    Args:
        name: of the computation, without `%`.
        is_entry: whether it is marked ENTRY.
        start, body, end: where its head, its first instruction and its closing `}` begin in the text.
        closing: what follows the `}` on its line.
        line: lines before the head.
        lines: from the head to the `}`; each is an instruction in canonical form.
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
        """The lines of the instructions in the text of the program."""
        return text[self.body : self.end]


def computation_spans(text: str, start: int, line: int) -> tuple[Span, ...] | None:
    """Find the computations of a module without reading them: 20 ms for 100,000 instructions.

    Args:
        text: HLO text.
        start: where the first computation's head begins, behind a line break.
        line: lines before it.

    Returns:
        All computations in the order of the text; None where the text is not in canonical form, or has no single
        entry, or two computations of one name.

    Example:
        >>> text = "\\n%a (p: f32[]) -> f32[] {\\n  x\\n}\\n\\nENTRY %b {\\n  y\\n}\\n"
        >>> [span.name for span in computation_spans(text, 1, 1)]
        ['a', 'b']
    """
    spans: list[Span] = []
    head: re.Match[str] | None = None  # of the computation that is open
    for border in _BORDER.finditer(text, start - 1):
        words = border[1]
        if head is not None:
            lines = text.count("\n", start, border.start(1))
            if not lines or not words.startswith("}"):
                return None
            places = (start - 1 - len(head[0]), start, border.start(1))
            spans.append(Span(head[2], head[1] is not None, *places, words[1:].strip(), line, lines))
            line += lines + 2
            head = None
        elif words:
            head, start = _CANONICAL_HEAD.fullmatch(words), border.end() + 1
            if head is None:
                return None
        else:
            line += 1
    if head is not None:
        return None
    if sum(span.is_entry for span in spans) != 1 or len({span.name for span in spans}) != len(spans):
        return None
    return tuple(spans)


# --- Instructions in canonical form.

# One line: (1) name with `%`, (2) shape and opcode, (3) operands with `%` or a literal, (4) attributes. It searches
# only for the character that ends each part, which is fastest; text_fingerprint.py checks what a part holds.
_LINE = re.compile(
    r"""^  (?:ROOT )?+(%[^ ]++) = ((?:[^ (][^ ]*+|\([^"%/\n]*?\)) [^(]++)\(([^)]*+)\)(.*+)$""", re.MULTILINE
)
LineParts = tuple[str, str, str, str]
"""Name, shape and opcode, operands (with `%`) or else a literal, and attributes of one line."""

_INDEX_COMMENT = re.compile(r"/\*index=\d+\*/")
# Strings, so that a name inside one is skipped, and (1) names without their `%`.
_STRING_OR_NAME = re.compile(rf'{_STRING}|%([^\s,{{}}()"]+)')
_NAME = re.compile(r'%[^\s,{}()"]+')
# Names in the values of attributes that name computations: `=%a`, `={%a, %b}`.
_CALLED = re.compile(r"=(%[^\s,{}]+|\{%[^{}]*\})")
# Everything before the first `, metadata={` that is not part of a string.
_BEFORE_METADATA = re.compile(rf'(?:[^",]|{_STRING}|,(?! metadata=\{{))*')
_METADATA_START = ", metadata={"
# METADATA for canonical form: a `{` in the value and whatever follows it are allowed, because what is wrong there is
# wrong in the rest of the line too, which is compared as text.
_CANONICAL_METADATA = re.compile(rf', metadata=\{{[^"}}]*(?:{_STRING}[^"}}]*)*\}}')
# Instructions whose callees run one instruction at a time, so that their printed order is a schedule.
_CONTROL_FLOW = re.compile(r" (?:while|conditional|call)\([^\n]*")


def parts_of_lines(text: str, span: Span) -> list[LineParts]:
    """The parts of each line of a computation; [] where a line is not in canonical form."""
    lines: list[LineParts] = _LINE.findall(text, span.body, span.end)
    if len(lines) != span.lines:
        lines = _LINE.findall(_INDEX_COMMENT.sub("", span.body_of(text)))
    return lines if len(lines) == span.lines else []


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
    """`, metadata={...}` of a line, "" where it has none."""
    start, end = _metadata_range(parts[3])
    return parts[3][start:end]


def without_metadata(attributes: str) -> str:
    """The attributes of a line except `metadata`."""
    start, end = _metadata_range(attributes)
    return attributes[:start] + attributes[end:] if end else attributes


def _metadata_range(attributes: str) -> tuple[int, int]:
    """Where `, metadata={...}` lies outside of strings; (0, 0) where there is none."""
    at = attributes.find(_METADATA_START)
    if at < 0:
        return 0, 0
    if attributes.find('"', 0, at) >= 0:
        before = _BEFORE_METADATA.match(attributes)
        if before is None or not attributes.startswith(_METADATA_START, before.end()):
            return 0, 0
        at = before.end()
    found = _CANONICAL_METADATA.match(attributes, at)
    return (at, found.end()) if found else (0, 0)


def with_references(attributes: str, replacement: Callable[[str], str]) -> str:
    """Attributes with something else in place of each `%name`; names inside strings stay.

    Args:
        attributes: of one line.
        replacement: from `name` to what is printed.
    """
    return _STRING_OR_NAME.sub(lambda found: found[0] if found[1] is None else replacement(found[1]), attributes)


def without_references(attributes: str) -> str:
    """Attributes with a bare `%` in place of each `%name`; names inside strings stay."""
    if '"' not in attributes:
        return _NAME.sub("%", attributes)
    return _STRING_OR_NAME.sub(lambda found: found[0] if found[1] is None else "%", attributes)


def called_names(text: str) -> list[str]:
    """Names in the values of attributes that name computations: `calls=%a`, `branch_computations={%a, %b}`."""
    names: list[str] = []
    for group in _CALLED.findall(text):
        if group.startswith("%"):
            names.append(group[1:])
        else:
            names += [name for name in _STRING_OR_NAME.findall(group) if name]
    return names


def called_names_by_attribute(attributes: str) -> dict[str, list[str]]:
    """The same of one line, by the name of the attribute."""
    parts = [part for part in parts_or_whole(attributes.removeprefix(",")) if "%" in part and '"' not in part]
    return {part.partition("=")[0]: called_names(part) for part in parts}


def called_in_control_flow(text: str, span: Span) -> list[str]:
    """Names of what the loops, conditionals and calls of a computation call, once for each call."""
    return [name for line in _CONTROL_FLOW.findall(text, span.body, span.end) for name in called_names(line)]


def renamed_calls(line: str, names: Mapping[str, str]) -> str:
    """The text of an instruction with other names for what it calls."""
    return _CALLED.sub(lambda group: _STRING_OR_NAME.sub(lambda one: f"%{names.get(one[1], one[1])}", group[0]), line)


def placeholder_line(line: str, parts: LineParts, opcode: str, mark: int) -> str:
    """A line with another opcode, without operands and attributes: what is left is its name, shape and metadata.

    Args:
        line: an instruction in canonical form.
        parts: the same, see `parts_of_lines`.
        opcode: the opcode to print.
        mark: a number to tell placeholders apart.

    Returns:
        The new line; a parameter stays as it is.
    """
    shape, _, old_opcode = parts[1].rpartition(" ")
    if old_opcode == "parameter":
        return line
    root = "ROOT " if line.startswith("  ROOT ") else ""
    return f"  {root}{parts[0]} = {shape} {opcode}(), kept={mark}{metadata_of(parts)}"


def kept_lines(
    text: str, span: Span, parts: Sequence[LineParts], kept: Sequence[int], marks: Mapping[int, int], opcode: str
) -> list[str]:
    """Some lines of a computation, those with a mark as placeholders.

    Args:
        text, span: the computation.
        parts: its lines, see `parts_of_lines`.
        kept: numbers of the lines that are wanted.
        marks: the mark of each placeholder, by the number of its line.
        opcode: the opcode of placeholders.
    """
    lines = text[span.body : span.end - 1].split("\n")
    return [placeholder_line(lines[n], parts[n], opcode, marks[n]) if n in marks else lines[n] for n in kept]


# --- What a text holds somewhere, found without taking it apart.

# Strings that only programs for CUDA hold, in backend configurations and names of libraries.
CUDA_SIGNS = ('"operation_queue_id"', '"gpu_backend_config"', '"fusion_backend_config"', "__cublas", "__cudnn")
# A constant whose values are elided, with its attributes: `constant({...})`, from eleven elements on.
ELIDED_CONSTANT = re.compile(r" constant\([^()\n]*\.\.\.[^\n]*")


def has_tiled_layout(text: str) -> bool:
    """Whether some layout is tiled, as only TPUs have them: `{1,0:T(8,128)}`."""
    return ":T(" in text


def has_memory_space(text: str, span: Span) -> bool:
    """Whether something in a computation lies in a memory space: `{1,0:S(5)}`."""
    return text.find("S(", span.body, span.end) >= 0


def cuda_sign(text: str) -> str:
    """The first of CUDA_SIGNS that a text holds; "" for none."""
    return next((sign for sign in CUDA_SIGNS if sign in text), "")
