"""HLO text in any layout that XLA's parser reads, rewritten in the form that XLA prints.

XLA's parser works on tokens and ignores whitespace, line breaks and comments. Hand-written HLO and XLA's own tests rely
on that: indented text, an instruction over several lines, a computation written where it is called, an instruction
written where it is used, omitted shapes, no `HloModule` line. The parser (`hlo/parser.py`) works on lines, because that
is what XLA prints and it is fast. A text that it refuses is first rewritten here: one instruction per line, each name
with its `%`. So there is one reader, and this file only handles tokens.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hlodiff.errors import ReadError
from hlodiff.hlo.grammar import (
    CALLING_ATTRIBUTES,
    DEBUG_TABLES,
    FREE_TOKEN,
    TRUNCATED,
    Unbalanced,
    UnknownType,
    read_shape,
    squeeze,
)
from hlodiff.hlo.model import Shape

# Rewriting takes about 1 us per character. Hand-written texts are small, and what XLA prints is not rewritten; a larger
# text that is not in XLA's form is damaged.
MAX_CHARACTERS = 32 * 1024**2
# Nesting of tuples, instructions in operands, and computations in attributes. XLA's parser has a similar limit.
_MAX_DEPTH = 100
# Characters of inferred shapes: tuples of tuples double in size with each instruction.
_LARGEST_INFERRED, _INFERRED_PER_CHARACTER = 1024**2, 32
_NUMBER = re.compile(r"-?\d+$")
_VERBATIM = frozenset(["constant", "parameter"])
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, string or punctuation mark and its offset; "" at the end of the text."""

    text: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        """Whether it is a name, a number or a keyword."""
        return (
            self.text[:1].isalnum() or self.text[:1] == "_" or (self.text[:1] in ("%", "-", ".") and len(self.text) > 1)
        )

    @property
    def name(self) -> str:
        """The name without its `%` or trailing colon."""
        return self.text.removeprefix("%")


@dataclass(slots=True)
class Places:
    """Maps a line and column of the rewritten text to the original text.

    Args:
        text: the original text.
        rows: for each rewritten line the (column, offset in the original text) of its parts.
    """

    text: str
    rows: list[list[tuple[int, int]]] = field(default_factory=list)
    _breaks: list[int] | None = None

    def offset(self, line: int, column: int) -> int:
        """Offset in the original text of a 1-based line and column."""
        row = self.rows[line - 1] if 0 < line <= len(self.rows) else []
        known = max(bisect_right(row, (max(column - 1, 0), len(self.text))) - 1, 0)
        return row[known][1] if row else 0

    def place(self, line: int, column: int = 1) -> tuple[int, int]:
        """1-based line and column in the original text."""
        return self.line_and_column(self.offset(line, column))

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """1-based line and column of an offset."""
        if self._breaks is None:
            self._breaks = [0, *(found.end() for found in re.finditer("\n", self.text))]
        line = bisect_right(self._breaks, offset)
        return line, offset - self._breaks[line - 1] + 1

    def original(self, line: int) -> str:
        """A 1-based line of the original text."""
        _, column = self.line_and_column(0)
        breaks = self._breaks or [0]
        if not 0 < line <= len(breaks):
            return ""
        end = breaks[line] - 1 if line < len(breaks) else len(self.text)
        return self.text[breaks[line - 1] : end] if column else ""


def rewrite(text: str, path: str = "") -> tuple[str, Places]:
    """Rewrite HLO text in the form that XLA prints.

    Args:
        text: a module, computations without a header, or one instruction.
        path: the file as the user named it, for errors.

    Returns:
        the text with one instruction per line, and the original location of its parts.

    Raises:
        ReadError: the text is not HLO, with the place in the original text.

    Example:
        >>> print(rewrite("ENTRY e { p = f32[2] parameter(0)  ROOT s = sine(p) }")[0])
        HloModule module_e
        <BLANKLINE>
        ENTRY %e {
          %p = f32[2] parameter(0)
          ROOT %s = f32[2] sine(%p)
        }
        <BLANKLINE>
    """
    writer = _Rewriter(text, path)
    writer.module()
    places = Places(text, [row for _, row in writer.lines])
    return "\n".join(line for line, _ in writer.lines) + "\n", places


Row = list[tuple[int, int]]


@dataclass(slots=True)
class _FreeLine:
    text: str = ""
    row: Row = field(default_factory=list)

    def add(self, text: str, offset: int) -> None:
        self.row.append((len(self.text), offset))
        self.text += text


@dataclass(slots=True)
class _Body:
    """A computation under construction: its lines, and the shape of each instruction by name."""

    lines: list[tuple[str, Row]] = field(default_factory=list)
    shapes: dict[str, str] = field(default_factory=dict)
    elements: dict[tuple[str, int], str] = field(default_factory=dict)
    root: str = ""
    last: str = ""
    # When the whole text is one instruction, undefined operands become parameters.
    adds_parameters: bool = False
    parameters: int = 0


class _Rewriter:
    def __init__(self, text: str, path: str) -> None:
        self.text, self.path = text, path
        self.at = 0
        self.depth = 0
        self.lines: list[tuple[str, Row]] = []
        self.names: set[str] = set()
        self.roots: dict[str, str] = {}  # the shape of each computation's root
        self.inferred_size = 0
        self.token = self.read_token(0)

    # --- Tokens.

    def read_token(self, at: int) -> Token:
        while True:
            found = FREE_TOKEN.match(self.text, at)
            if found is None:
                return Token("", len(self.text), len(self.text))
            at = found.end()
            if found[1] is not None:
                if found[1] == '"':
                    raise self.error("bracket or quote without its partner", found.start(1))
                return Token(found[1], found.start(1), at)

    def peek(self) -> Token:
        return self.read_token(self.token.end)

    def advance(self) -> Token:
        old = self.token
        self.token = self.read_token(old.end)
        self.at = old.end
        return old

    def expect(self, text: str, what: str) -> Token:
        if self.token.text != text:
            raise self.error(what)
        return self.advance()

    def error(self, what: str, offset: int = -1, hint: str = "") -> ReadError:
        places = Places(self.text)
        line, column = places.line_and_column(self.token.start if offset < 0 else offset)
        return ReadError(what, path=self.path, line=line, column=column, text=places.original(line), hint=hint)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.error(f"nested more than {_MAX_DEPTH} deep")

    def until(self, start: int, end: int) -> str:
        return squeeze(self.text[start:end])

    def brackets(self) -> Token:
        """Skip a bracket and its contents; returns its last token."""
        open_: list[Token] = []
        while True:
            token = self.advance()
            if token.text in _CLOSING:
                open_.append(token)
            elif token.text in ("", *_CLOSING.values()):
                if not open_ or token.text != _CLOSING[open_[-1].text]:
                    raise self.error("bracket or quote without its partner", open_[-1].start if open_ else token.start)
                open_.pop()
            if not open_:
                return token

    def any(self) -> Token:
        """Skip one token, or a bracket and its contents; returns the last token."""
        if self.token.text in _CLOSING:
            return self.brackets()
        if self.token.text in _CLOSING.values():
            raise self.error("bracket or quote without its partner")
        return self.advance()

    # --- The module.

    def module(self) -> None:
        header = _FreeLine()
        if self.token.text == "HloModule":
            start = self.advance()
            if not self.token.is_word:
                raise self.error("expected a module name")
            header.add("HloModule ", start.start)
            name = self.advance()
            header.add(name.name, name.start)
            if self.token.text == ":":
                self.advance()
            self.header_attributes(header)
        elif not (self.token.text == "ENTRY" or (self.token.is_word and self.peek().text in ("{", "("))):
            if not self.begins_instruction() and not self.begins_shape():
                raise self.error("expected `HloModule NAME`", hint="is this compiled HLO text?")
            self.single_instruction()
            return
        self.lines.append((header.text, header.row))
        self.tables()
        entry, title, head = "", "", 0
        while self.token.text:
            is_entry, title, head = self.computation()
            entry = title if is_entry else entry
        if not head:
            raise self.error("the file ends before the first computation", hint=TRUNCATED)
        if not entry and "entry_computation_layout" in header.text:  # XLA printed this, and it always prints ENTRY
            raise self.error("no computation is marked ENTRY", 0, TRUNCATED)
        if not entry:  # then the last computation is the entry
            line, row = self.lines[head]
            self.lines[head] = (f"ENTRY {line}", [(column + 6, offset) for column, offset in row])
        if not header.text:
            self.lines[0] = (f"HloModule module_{entry or title}", [(0, 0)])

    def header_attributes(self, line: _FreeLine) -> None:
        """Read any number of `, attribute=value`, up to a table or a computation."""
        while self.token.text == ",":
            start = end = self.advance().start
            while self.token.text and (end == start or not (self.token.text == "," or self.begins_computation())):
                end = self.any().end
            line.add(f", {self.until(start + 1, end)}", start)

    def begins_computation(self) -> bool:
        token = self.token
        if token.text == "ENTRY" or token.text in DEBUG_TABLES:
            return True
        return token.is_word and self.peek().text in ("{", "(") and self.text[token.end - 1] != "="

    def tables(self) -> None:
        while self.token.text in DEBUG_TABLES and self.peek().text != "{":
            title = self.advance()
            self.lines += [("", []), (title.text, [(0, title.start)])]
            while self.token.is_word and _NUMBER.match(self.token.text):
                number = self.advance()
                start = self.token.start
                end = self.any().end
                row = f"{number.text} {self.until(start, end)}"
                self.lines.append((row, [(0, number.start)]))

    def computation(self) -> tuple[bool, str, int]:
        """Read a computation; returns whether it is the ENTRY, its name, and the line of its head."""
        line = _FreeLine()
        is_entry = self.token.text == "ENTRY"
        if is_entry:
            line.add("ENTRY ", self.advance().start)
        if not self.token.is_word or self.peek().text not in ("{", "("):
            raise self.error("expected the head of a computation: `%name (parameters) -> shape {`")
        name = self.advance()
        line.add(f"%{name.name} ", name.start)
        if self.token.text == "(":
            start = self.token.start
            self.brackets()
            self.expect("->", "expected `-> shape` after the parameters")
            shape = self.shape()
            line.add(f"{self.until(start, self.text.rindex('->', start, self.at) + 2)} {shape} ", start)
        line.add("{", self.token.start)
        body = _Body()
        self.instructions(body)
        self.names.add(name.name)
        self.roots[name.name] = body.shapes[body.root or body.last]
        close = self.token
        self.expect("}", "expected an instruction: `%name = shape opcode(operands)`")
        end = _FreeLine()
        end.add("}", close.start)
        self.header_attributes(end)
        head = len(self.lines) + 1  # computations written inline come before it
        self.lines += [("", []), (line.text, line.row), *body.lines, (end.text, end.row)]
        return is_entry, name.name, head

    # --- Instructions.

    def begins_instruction(self) -> bool:
        if self.token.text == "ROOT":
            return True
        return self.token.is_word and self.peek().text == "="

    def instructions(self, body: _Body) -> None:
        self.expect("{", "expected `{`")
        if self.token.text == "}":
            raise self.error("a computation without an instruction")
        while self.token.text and self.token.text != "}":
            self.instruction(body)
        if not self.token.text:
            raise self.error("the file ends inside a computation", hint=TRUNCATED)

    def instruction(self, body: _Body) -> None:
        line = _FreeLine()
        start = self.token
        root = start.text == "ROOT"
        if root:
            self.advance()
        if not self.token.is_word or self.peek().text != "=":
            raise self.error("expected an instruction: `%name = shape opcode(operands)`")
        name = self.advance()
        self.advance()
        line.add("  ", start.start)
        if root:
            line.add("ROOT ", start.start)
            if body.root:
                raise self.error("a second ROOT", start.start)
            body.root = name.name
        self.right_side(body, line, name.name, name.start)

    def right_side(self, body: _Body, line: _FreeLine, name: str, start: int) -> str:
        """`shape opcode(operands), attributes`, written as the line of instruction `name`.

        An inline operand has no name and no attributes; it gets a generated name, which is returned.
        """
        if name in body.shapes:
            raise self.error(f"instruction %{name} is defined twice", start)
        shape_start = self.token.start
        shape = self.known_shape() if self.begins_shape() else ""
        opcode = self.token
        if not opcode.is_word or self.peek().text != "(":
            raise self.error("expected `opcode(`")
        self.advance()
        bracket = self.token
        if opcode.text in _VERBATIM:
            end = self.brackets()
            operands: list[tuple[str, int]] = []
            inside = self.until(bracket.end, end.start)
        else:
            operands = self.operands(body)
            inside = ""
        attributes = _FreeLine()
        if name:
            self.attributes(attributes)
        else:
            name = self.unused(f"{opcode.text}.anon", body)
        shape = shape or self.inferred(body, name, opcode, operands, attributes.text)
        line.add(f"%{name}", start)
        line.add(" = ", start)
        line.add(shape, shape_start)
        line.add(f" {opcode.text}", opcode.start)
        line.add("(", bracket.start)
        line.text += inside
        for number, (operand, offset) in enumerate(operands):
            line.add(f", %{operand}" if number else f"%{operand}", offset)
        line.text += ")"
        line.row += [(column + len(line.text), offset) for column, offset in attributes.row]
        line.text += attributes.text
        body.lines.append((line.text, line.row))
        body.shapes[name] = shape
        body.last = name
        return name

    def inferred(self, body: _Body, name: str, opcode: Token, operands: list[tuple[str, int]], attributes: str) -> str:
        """Infer an omitted shape."""
        known = [body.shapes.get(operand, "") for operand, _ in operands]
        try:
            shape = infer_shape(opcode.text, known, attributes, self.roots)
        except UnknownType as error:  # nested tuples, one level deeper with each instruction
            raise self.error(f"the shape that is left out is {error}", opcode.start) from None
        if shape:
            self.inferred_size += len(shape)
            if self.inferred_size > _LARGEST_INFERRED + _INFERRED_PER_CHARACTER * len(self.text):
                raise self.error("the shapes that are left out would be far longer than the text", opcode.start)
            return shape
        for operand, offset in operands:
            if operand not in body.shapes:
                raise self.error(f"operand %{operand} is not defined, and the shape of %{name} is missing", offset)
        raise self.error(f"the shape of %{name} ({opcode.text}) is missing", opcode.start)

    def operands(self, body: _Body) -> list[tuple[str, int]]:
        """Names of the operands, and the offset of each."""
        self.deeper()
        self.expect("(", "expected `(`")
        found: list[tuple[str, int]] = []
        while self.token.text != ")":
            if found:
                self.expect(",", "expected `,` or `)`")
            offset = self.token.start
            found.append((self.operand(body), offset))
        self.advance()
        self.depth -= 1
        return found

    def operand(self, body: _Body) -> str:
        """Name of an operand; an inline instruction becomes a line of its own."""
        back = self.token
        shape = self.known_shape() if self.begins_shape() else ""
        if shape and body.adds_parameters and self.token.text in (",", ")"):
            return self.parameter(body, "", shape, back.start)
        if not self.token.is_word:
            raise self.error("expected an operand")
        if self.peek().text == "(":
            self.token = back
            line = _FreeLine()
            line.add("  ", back.start)
            return self.right_side(body, line, "", back.start)
        name = self.advance().name
        while self.token.text == "#":
            self.advance()
            name = self.element(body, name, self.advance())
        if shape and body.adds_parameters and name not in body.shapes:
            return self.parameter(body, name, shape, back.start)
        return name

    def parameter(self, body: _Body, name: str, shape: str, offset: int) -> str:
        name = self.unused(name or "arg", body)
        text = f"  %{name} = {shape} parameter({body.parameters})"
        body.lines.append((text, [(0, offset)]))
        body.shapes[name] = shape
        body.parameters += 1
        return name

    def element(self, body: _Body, name: str, index: Token) -> str:
        """`%name#2` denotes an element of a tuple."""
        key = name, int(index.text) if index.text.isdigit() and len(index.text) < 10 else -1
        if key not in body.elements:
            parts = read_shape(body.shapes.get(name, "")).tuple_shapes
            if not 0 <= key[1] < len(parts):
                raise self.error(f"%{name} has no element {index.text}", index.start)
            shape = infer_shape("get-tuple-element", [body.shapes[name]], f", index={key[1]}", {})
            new = self.unused(f"{name}_{key[1]}", body)
            body.lines.append((f"  %{new} = {shape} get-tuple-element(%{name}), index={key[1]}", [(0, index.start)]))
            body.shapes[new] = shape
            body.elements[key] = new
        return body.elements[key]

    @staticmethod
    def unused(name: str, body: _Body) -> str:
        if name not in body.shapes:
            return name
        return next(new for n in range(1, len(body.shapes) + 2) if (new := f"{name}.{n}") not in body.shapes)

    def attributes(self, line: _FreeLine) -> None:
        """What follows the operands, up to the next instruction or the end of the computation."""
        start = self.token.start
        end = start
        after_comma = True
        if self.token.text != ",":
            if self.token.text in ("", "}") or self.begins_instruction():
                return
            raise self.error("expected `, attribute=value`")
        key, before = "", self.token
        while self.token.text and self.token.text not in ("}", ")"):
            if not after_comma and self.begins_instruction():
                break
            self.refuse_stray(before)
            after_comma = self.token.text == ","
            if self.token.is_word and self.peek().text == "=":
                key = self.token.name
            elif self.token.text == "{" and key in CALLING_ATTRIBUTES and self.holds_computations():
                self.add(line, start, self.token.start)
                offset = self.token.start
                line.add(self.computations_inside(), offset)
                start = end = self.at
                before = self.token
                continue
            before = self.any()
            end = before.end
        self.add(line, start, end)

    def refuse_stray(self, before: Token) -> None:
        """Raise if neither a comma nor an instruction follows a complete value, as in a stray line.

        Args:
            before: the last token read.
        """
        apart = self.token.start > before.end and before.text not in (",", "=")
        if (self.token.is_word and apart) or (self.token.text == "=" and not before.is_word):
            raise self.error("expected `, attribute=value` or the next instruction")

    def add(self, line: _FreeLine, start: int, end: int) -> None:
        text = self.until(start, end)
        if text.startswith(","):
            text = ", " + text[1:].lstrip()
        line.add(text, start)

    def holds_computations(self) -> bool:
        """Whether the next bracket holds instructions, or a list of computations with instructions."""
        inside = self.read_token(self.token.end)
        while inside.text == "{":
            inside = self.read_token(inside.end)
        if inside.text == "ROOT":
            return True
        return inside.is_word and self.read_token(inside.end).text == "="

    def computations_inside(self) -> str:
        """Write the computations of `{ instructions }` or `{{ ... }, name}` before this one; returns their names."""
        if self.peek().text != "{":
            return f"%{self.computation_inside()}"
        self.advance()
        names: list[str] = []
        while self.token.text != "}":
            if names:
                self.expect(",", "expected `,` or `}`")
            names.append(self.computation_inside() if self.token.text == "{" else self.advance().name)
        self.advance()
        return f"{{{', '.join(f'%{name}' for name in names)}}}"

    def computation_inside(self) -> str:
        self.deeper()
        start, body = self.token.start, _Body()
        name = next(new for n in range(len(self.names) + 1) if (new := f"_.{n}" if n else "_") not in self.names)
        self.names.add(name)
        self.instructions(body)
        end = self.advance()
        self.roots[name] = body.shapes[body.root or body.last]
        self.lines += [("", []), (f"%{name} {{", [(0, start)]), *body.lines, ("}", [(0, end.start)])]
        self.depth -= 1
        return name

    def single_instruction(self) -> None:
        """Read one instruction as a program: its operands become parameters."""
        body = _Body(adds_parameters=True)
        self.lines.append(("HloModule module", [(0, 0)]))
        if self.begins_instruction():
            self.instruction(body)
        else:
            line = _FreeLine()
            line.add("  ", self.token.start)
            self.right_side(body, line, "result", self.token.start)
        if self.token.text:
            raise self.error("expected the end of the text", hint="a module begins with `HloModule NAME`")
        self.lines += [("", []), ("ENTRY %main {", [(0, 0)]), *body.lines, ("}", [(0, len(self.text))])]

    # --- Shapes.

    def begins_shape(self) -> bool:
        token = self.token
        if token.text == "(":
            return True
        if not token.is_word or token.text.startswith("%"):
            return False
        return self.text[token.end : token.end + 1] == "[" or (token.text == "b" and self.peek().text == "(")

    def known_shape(self) -> str:
        """A shape of XLA's types."""
        start = self.token.start
        shape = self.shape()
        try:
            read_shape(shape)
        except UnknownType as unknown:
            raise self.error(str(unknown), start) from None
        except Unbalanced:
            raise self.error("bracket or quote without its partner", start) from None
        return shape

    def shape(self) -> str:
        """A shape without whitespace and comments; tuple elements are separated as XLA prints them."""
        if self.token.text == "(":
            return self.tuple_shape()
        start = self.token
        if start.text == "b" and self.peek().text == "(":
            self.advance()
            return f"b{self.tuple_shape()}"
        if not start.is_word or self.peek().text != "[":
            raise self.error("expected a shape")
        self.advance()
        text = start.text + self.solid()
        if self.token.text == "{":
            inside = self.peek()
            if _NUMBER.match(inside.text) or inside.text == ":" or (self.token.start == self.at and inside.text == "}"):
                text += self.solid()
        return text

    def solid(self) -> str:
        """A bracket without whitespace and comments."""
        start = self.token.start
        text = self.until(start, self.brackets().end)
        if re.search(r"\w\s+\w", text):
            raise self.error("expected `,` between two sizes", start)
        return re.sub(r"\s+", "", text)

    def tuple_shape(self) -> str:
        self.deeper()
        self.advance()
        parts: list[str] = []
        while self.token.text != ")":
            if parts:
                self.expect(",", "expected `,` or `)`")
            parts.append(self.shape())
        self.advance()
        self.depth -= 1
        return f"({', '.join(parts)})"


# --- Infers omitted shapes. XLA's parser infers them too, and its printer always writes them.

Roots = Mapping[str, str]
Rule = Callable[[Sequence[Shape], str, Roots], Shape | None]

_OF_COMPLEX = {"c64": "f32", "c128": "f64"}
_COMPLEX_OF = {real: number for number, real in _OF_COMPLEX.items()}


def infer_shape(opcode: str, operands: Sequence[str], attributes: str, roots: Roots) -> str:
    """Infer the shape of an instruction from its operands.

    Args:
        opcode: XLA's word.
        operands: shapes of the operands as printed; "" if unknown.
        attributes: the text after the operands.
        roots: the shape of each computation's root, by name.

    Returns:
        the shape as XLA prints it; "" if it cannot be inferred.

    Example:
        >>> infer_shape("compare", ["f32[2]", "f32[2]"], ", direction=LT", {})
        'pred[2]'
    """
    rule = _RULES.get(opcode, _as_operands if opcode in _ELEMENTWISE else None)
    if rule is None or "" in operands:
        return ""
    shape = rule([read_shape(text) for text in operands], attributes, roots)
    return shape.text if shape is not None else ""


def _numbers(attributes: str, name: str) -> list[int] | None:
    found = re.search(rf"\b{name}=\{{?([\d, ]*)", attributes)
    return None if found is None else [int(n) for n in found[1].split(",") if n.strip() and len(n) < 10]


def _called(attributes: str, *names: str) -> str:
    found = re.search(rf"\b(?:{'|'.join(names)})=\{{?%?([\w.-]+)", attributes)
    return found[1] if found else ""


def _array(element_type: str, dimensions: Sequence[int]) -> Shape:
    return Shape(element_type, tuple(dimensions))


def _tuple(parts: Sequence[Shape]) -> Shape:
    return Shape("tuple", tuple_shapes=tuple(parts), is_array=False)


def _as_operands(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    """Elementwise: the shape of the operand with the most dimensions; the others are broadcast."""
    return max(operands, key=lambda shape: len(shape.dimensions), default=None)


def _first(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    return operands[0] if operands else None


def _second(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    return operands[1] if len(operands) > 1 else None


def _predicate(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    shape = _as_operands(operands, attributes, roots)
    return replace(shape, element_type="pred") if shape else None


def _complex(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    shape = _as_operands(operands, attributes, roots)
    return replace(shape, element_type=_COMPLEX_OF.get(shape.element_type, shape.element_type)) if shape else None


def _part(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    shape = _first(operands, attributes, roots)
    return replace(shape, element_type=_OF_COMPLEX.get(shape.element_type, shape.element_type)) if shape else None


def _make_tuple(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    return _tuple(operands)


def _all_operands(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    return operands[0] if len(operands) == 1 else _tuple(operands)


def _element(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    index = _numbers(attributes, "index")
    parts = operands[0].tuple_shapes if operands else ()
    return parts[index[0]] if index and index[0] < len(parts) else None


def _result_of_call(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    names = ("to_apply", "branch_computations", "true_computation", "calls")
    text = roots.get(_called(attributes, *names))
    return read_shape(text) if text else None


def _mapped(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    result = _result_of_call(operands, attributes, roots)
    return _array(result.element_type, operands[0].dimensions) if result and operands else None


def _dot(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    if len(operands) < 2:
        return None
    left, right = operands[:2]
    batch, other_batch = (_numbers(attributes, f"{side}_batch_dims") or [] for side in ("lhs", "rhs"))
    inner, other_inner = (_numbers(attributes, f"{side}_contracting_dims") or [] for side in ("lhs", "rhs"))
    sizes = [left.dimensions[n] for n in batch if n < len(left.dimensions)]
    sizes += [size for n, size in enumerate(left.dimensions) if n not in (*batch, *inner)]
    sizes += [size for n, size in enumerate(right.dimensions) if n not in (*other_batch, *other_inner)]
    return _array(left.element_type, sizes)


def _transpose(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    order = _numbers(attributes, "dimensions")
    if not operands or order is None or sorted(order) != list(range(len(operands[0].dimensions))):
        return None
    return _array(operands[0].element_type, [operands[0].dimensions[n] for n in order])


def _concatenate(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    along = _numbers(attributes, "dimensions")
    if not operands or not along or any(along[0] >= len(shape.dimensions) for shape in operands):
        return None
    sizes = list(operands[0].dimensions)
    sizes[along[0]] = sum(shape.dimensions[along[0]] for shape in operands)
    return _array(operands[0].element_type, sizes)


def _reduce(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    away = _numbers(attributes, "dimensions")
    if away is None or not operands:
        return None
    values = operands[: len(operands) // 2]
    parts = [_array(v.element_type, [s for n, s in enumerate(v.dimensions) if n not in away]) for v in values]
    return parts[0] if len(parts) == 1 else _tuple(parts)


_PAD = re.compile(r"\bpadding=({0}(?:x{0})*)(?![-\w])".format(r"-?\d{1,9}(?:_-?\d{1,9}){1,2}"))


def _pad(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    found = _PAD.search(attributes)
    if found is None or not operands:
        return None
    rows = [[int(n) for n in row.split("_")] for row in found[1].split("x")]
    if len(rows) != len(operands[0].dimensions):
        return None
    sizes = []
    for size, (low, high, *inside) in zip(operands[0].dimensions, rows, strict=True):
        sizes.append(size + low + high + max(size - 1, 0) * (inside[0] if inside else 0))
    return _array(operands[0].element_type, sizes)


def _token(operands: Sequence[Shape], attributes: str, roots: Roots) -> Shape | None:
    return Shape("token", is_array=False)


def _scalar(element_type: str) -> Rule:
    return lambda operands, attributes, roots: _array(element_type, ())


# fmt: off
_ELEMENTWISE = frozenset(
    ["abs", "acos", "acosh", "add", "and", "asin", "asinh", "atan2", "atanh", "cbrt", "ceil", "clamp", "cosine", "cosh",
     "count-leading-zeros", "divide", "erf", "exponential", "exponential-minus-one", "floor", "log", "log-plus-one",
     "logistic", "maximum", "minimum", "multiply", "multiply-high", "negate", "not", "or", "popcnt", "power",
     "remainder", "round-nearest-afz", "round-nearest-even", "rsqrt", "shift-left", "shift-right-arithmetic",
     "shift-right-logical", "sign", "sine", "sinh", "sqrt", "subtract", "tan", "tanh", "xor"]
)
# fmt: on
_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        [
            "add-dependency",
            "cholesky",
            "copy",
            "domain",
            "opt-barrier",
            "reduce-window",
            "reverse",
            "scatter",
            "select-and-scatter",
            "set-dimension-size",
            "while",
        ],
        _first,
    ),
    **dict.fromkeys(["select", "triangular-solve"], _second),
    **dict.fromkeys(["compare", "is-finite"], _predicate),
    **dict.fromkeys(["real", "imag"], _part),
    **dict.fromkeys(["call", "conditional"], _result_of_call),
    **dict.fromkeys(["partition-id", "replica-id"], _scalar("u32")),
    "get-dimension-size": _scalar("s32"),
    "complex": _complex,
    "tuple": _make_tuple,
    "sort": _all_operands,
    "get-tuple-element": _element,
    "map": _mapped,
    "dot": _dot,
    "transpose": _transpose,
    "concatenate": _concatenate,
    "reduce": _reduce,
    "pad": _pad,
    "after-all": _token,
}  # fmt: skip
