"""Parses compiled HLO text into a Module: every backend and XLA version; unknown opcodes and attributes stay verbatim.

The parser works on lines. A line that starts in column 0 and ends in `{` opens a computation, `}` closes it, and
between them there is one instruction per line (a literal may take several).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, overload

from hlodiff.errors import ReadError
from hlodiff.hlo.damage import is_damaged
from hlodiff.hlo.grammar import (
    ATTRIBUTE_KEY,
    ATTRIBUTE_START,
    CALLING_ATTRIBUTES,
    COMPUTATION_HEAD,
    DEBUG_TABLES,
    HEADER_DEFAULTS,
    INSTRUCTION_START,
    METADATA,
    OPCODE,
    PLAIN_INSTRUCTION,
    STRING,
    TRUNCATED,
    NotOperands,
    Span,
    Unbalanced,
    UnknownType,
    attribute_texts,
    canonical_attribute,
    canonical_literal,
    closing,
    computation_spans,
    has_long_number,
    header_end,
    is_compatible,
    is_header_value,
    lacks_value,
    literal_error,
    load_json,
    open_brackets,
    open_string,
    operand_names,
    parts_or_whole,
    read_shape,
    split_commas,
    without_comments,
)
from hlodiff.hlo.metadata import FrameTable, read_metadata
from hlodiff.hlo.model import Computation, Instruction, Module, Shape, without_garbage_collection
from hlodiff.hlo.traversal import CYCLE_HINT, call_cycle, calls_later, operand_cycle

if TYPE_CHECKING:
    from hlodiff.hlo.free_form import Places

Called = tuple[tuple[str, tuple[int, ...]], ...]


class NotAttributes(ValueError):
    """Malformed attributes, the attribute `repeated` given twice, or a call of the undefined computation `missing`.

    No version of XLA reads an attribute that is given twice, because its value would be ambiguous.
    """

    def __init__(self, *, repeated: str = "", missing: str = "") -> None:
        super().__init__(repeated, missing)
        self.repeated, self.missing = repeated, missing


class Tail(NamedTuple):
    """The text after the operands, parsed; metadata as text."""

    attributes: tuple[tuple[str, str], ...] = ()
    calls: Called = ()
    predecessors: tuple[str, ...] = ()
    metadata: str = ""


@dataclass(slots=True)
class AttributeReader:
    """Parses the attributes of one program.

    Args:
        computations: index of each computation by name.
        frames: the frame table of metadata.
        known: parsed attributes by text: most instructions repeat those of another one.
    """

    computations: Mapping[str, int]
    frames: FrameTable
    _tails: dict[str, Tail] = field(default_factory=lambda: {"": Tail()})
    _metadata: dict[str, tuple[str, int, str]] = field(default_factory=lambda: {"": ("", -1, "")})
    known: dict[str, tuple[Tail, tuple[str, int, str]]] = field(default_factory=dict)
    _attributes: dict[str, tuple[str, Tail]] = field(default_factory=dict)

    def read(self, text: str) -> tuple[Tail, tuple[str, int, str]]:
        """Parse the text after the `)` of the operands.

        Args:
            text: any number of `, attribute=value`.

        Returns:
            The attributes; scope, frame and rest of the metadata.

        Raises:
            Unbalanced: a bracket or quote has no partner.
            NotAttributes: malformed attributes, two with one name, or a call of an undefined computation.
        """
        known = self.known.get(text)
        if known is not None:
            return known
        rest, metadata = text, ""
        at = text.find(", metadata={")
        before = text[:at] if at >= 0 else ""
        if at >= 0 and (before in self._tails or _is_plain(before)) and (found := METADATA.match(text, at)):
            rest, metadata = before + text[found.end() :], found[1]
        tail = self._tails.get(rest)
        if tail is None:
            tail = self._tails[rest] = self._read(rest.strip())
        if tail.metadata and metadata:
            raise NotAttributes(repeated="metadata")
        metadata = tail.metadata or metadata
        origin = self._metadata.get(metadata)
        if origin is None:
            origin = self._metadata[metadata] = read_metadata(metadata, self.frames)
        self.known[text] = tail, origin
        return tail, origin

    def _read(self, body: str) -> Tail:
        if not body:
            return Tail()
        if not body.startswith(",") or has_long_number(body):
            raise NotAttributes
        each = self._known_attributes(body) if body.startswith(", ") else None
        if each is None:
            parts = attribute_texts(without_comments(body[1:]))
            each = [self._attribute(part, _attribute_key(part)) for part in parts]
        given: set[str] = set()
        attributes: list[tuple[str, str]] = []
        calls: list[tuple[str, tuple[int, ...]]] = []
        predecessors: tuple[str, ...] = ()
        metadata = ""
        for name, one in each:
            if name in given:
                raise NotAttributes(repeated=name)
            given.add(name)
            attributes += one.attributes
            calls += one.calls
            predecessors = one.predecessors or predecessors
            metadata = one.metadata or metadata
        if [name for name, _ in calls] in (["body", "condition"], ["false_computation", "true_computation"]):
            calls.reverse()  # XLA prints them in one order and reads them in any
        return Tail(tuple(attributes), tuple(calls), predecessors, metadata)

    def _known_attributes(self, body: str) -> list[tuple[str, Tail]] | None:
        """Parse attributes, each after `, `; None if some text is not certainly one whole attribute."""
        each: list[tuple[str, Tail]] = []
        text = ""
        for part in body.split(", ")[1:]:
            text = f"{text}, {part}" if text else part
            found = _shared_attributes.get(text) or self._attributes.get(text)
            if found is None:
                if len(text) < _LONG and not _is_plain(text):
                    continue  # this comma is inside of the value
                found = self._read_attribute(text)
                if found is None:
                    return None
            each.append(found)
            text = ""
        return None if text else each

    def _read_attribute(self, text: str) -> tuple[str, Tail] | None:
        """Parse one attribute; returns its name and content, or None if the text is not one whole attribute."""
        call = _ONE_CALL.fullmatch(text)
        if call is not None:
            return call[1], Tail(calls=((call[1], self._called([call[2]])),))
        key = ATTRIBUTE_KEY.match(text)
        if key is not None and text.startswith('{"', key.end()) and _is_json(text[key.end() :]):
            found = self._attribute(text, key)
        elif _is_whole(text):
            found = self._attribute(text, _attribute_key(text))
        else:
            return None
        if "%" not in text and found[0] != "backend_config":  # else hardly any instruction shares it
            is_shared = found[0] not in CALLING_ATTRIBUTES and len(text) < _SHORT and '"' not in text
            is_shared = is_shared and len(_shared_attributes) < _MOST_SHARED
            (_shared_attributes if is_shared else self._attributes)[text] = found
        return found

    def _attribute(self, text: str, key: re.Match[str] | None) -> tuple[str, Tail]:
        if key is None:
            return text, Tail(((text, ""),))  # a bare flag
        name, value = key.group(1), text[key.end() :]
        if name == "metadata":
            return name, Tail(metadata=value)
        if name in CALLING_ATTRIBUTES and value.startswith("{") and "=" in value:
            raise NotAttributes  # a computation written inline where it is called
        if name in CALLING_ATTRIBUTES and (names := self._called_names(value)):
            return name, Tail(calls=((name, self._called(names)),))
        if name == "control-predecessors":
            return name, Tail(predecessors=tuple(_names(value.strip("{}"))))
        spelled = canonical_attribute(name, value)
        return name, Tail(((name, spelled),)) if spelled is not None else Tail()

    def _called_names(self, value: str) -> list[str]:
        """Names of called computations. Short forms omit the `%`; in those, only existing names are computations."""
        names = _names(value.strip().removeprefix("{").removesuffix("}"))
        return names if "%" in value or all(name in self.computations for name in names) else []

    def _called(self, names: list[str]) -> tuple[int, ...]:
        try:
            return tuple(self.computations[name] for name in names)
        except KeyError as missing:
            raise NotAttributes(missing=str(missing.args[0])) from None


def _is_json(text: str) -> bool:
    """Whether a value is a JSON object, as backend configurations are: then nothing is missing in it or follows it."""
    try:
        return isinstance(load_json(text), dict)
    except ValueError:
        return False


# Attributes that name no computation mean the same in every program, and both sides of a diff have mostly the same.
_shared_attributes: dict[str, tuple[str, Tail]] = {}
_MOST_SHARED, _SHORT = 10_000, 200
# A longer value is not put together from the parts between commas: each would be searched again from its start.
_LONG = 1_000
# The usual form of a call: (1) the attribute, (2) the name of the computation.
_ONE_CALL = re.compile(r"(calls|to_apply|condition|body)=%([\w.\-]++)")
_MARKS = re.compile(r'["{}()\[\],/]')


def _is_whole(text: str) -> bool:
    """Whether a text between two commas is certainly one attribute in any context; False means unknown."""
    if not ATTRIBUTE_START.match(text) or text.startswith("device_ids="):
        return False
    if not _MARKS.search(text):
        return True
    try:
        return "/*" not in text and "//" not in text and split_commas(text) == [text]
    except Unbalanced:
        return False


def _attribute_key(part: str) -> re.Match[str] | None:
    """Name and `=` of an attribute; None for a bare flag. Other words would belong to the value before them."""
    found = ATTRIBUTE_KEY.match(part)
    if found is None and not ATTRIBUTE_START.fullmatch(part):
        raise NotAttributes
    if found is not None and lacks_value(part[found.end() :]):
        raise NotAttributes  # a value is missing
    return found


def _names(text: str) -> list[str]:
    try:
        return operand_names(text)
    except NotOperands:
        raise NotAttributes from None


_STRING = re.compile(STRING, re.DOTALL)


def _is_plain(text: str) -> bool:
    """Whether no string or bracket is open at the end of a text, as far as counting can tell."""
    if '"' in text and "/*" not in text and "//" not in text and not text.count('"') % 2:
        text = _STRING.sub("", text)
    if '"' in text or text.count("{") != text.count("}"):
        return False
    return text.count("[") == text.count("]") and text.count("(") == text.count(")")


_CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ", "||||||| ")
_VERBATIM = frozenset(["constant", "parameter"])


@dataclass(slots=True)
class _OpenComputation:
    """A computation while its lines are read."""

    name: str
    line: int
    instructions: list[Instruction] = field(default_factory=list)
    index: dict[str, int] = field(default_factory=dict)
    root: int = -1
    # Operands and control predecessors used before their definition, which XLA also accepts.
    late: list[tuple[int, list[str], tuple[str, ...]]] = field(default_factory=list)


@dataclass(slots=True)
class _TextReader:
    path: str
    lines: list[str]
    tails: AttributeReader
    # If only part of a text is read: the number of lines and computations before it.
    lines_before: int = 0
    computations_before: int = 0
    # If a text was rewritten: the original places of its lines.
    places: Places | None = None
    # Whether each computation must have its root where its text says; False if only some of its lines are read.
    checks_result: bool = True
    done: list[Computation] = field(default_factory=list)
    entry: int = -1
    # The parameter shapes of each parsed computation, by its index.
    parameters: dict[int, tuple[Shape, ...]] = field(default_factory=dict)

    def error(self, what: str, line: int, column: int = 0, hint: str = "") -> ReadError:
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        number = line + self.lines_before if line else 0
        if self.places is not None and number:
            number, column = self.places.place(number, column)
            text = self.places.original(number)
        return ReadError(what, path=self.path, line=number, column=column, text=text, hint=hint)


# Below this many characters, parsing everything takes a few milliseconds, and errors are reported immediately.
_READ_AT_ONCE = 50_000


def read_hlo(text: str, *, path: str = "", at_once: bool | None = None, check_calls: bool = True) -> Module:
    """Parse the text form of a compiled HLO module.

    Args:
        text: the output of `compiled.as_text()`, or an XLA dump.
        path: the file's name, used only in errors.
        at_once: whether to parse every computation now or when it is first used; None decides by size.
        check_calls: whether operands must match the parameters of the called computation. If not, as when lines are
            read without their program, the text is parsed at once.

    Returns:
        The module; computations and instructions in the order of the text.

    Raises:
        ReadError: with line, column and a caret under the place. An error inside a computation that is parsed later is
            raised when it is first used.

    Example:
        >>> module = read_hlo("HloModule m\\n\\nENTRY e {\\n  ROOT p = f32[2]{0} parameter(0)\\n}\\n")
        >>> module.entry_computation.instructions[0].opcode
        'parameter'
    """
    with without_garbage_collection():
        try:
            return _read_lines(text, path, at_once if check_calls else True, check_calls=check_calls)
        except ReadError as error:
            return _read_free_form(text, path, at_once, error, check_calls)


def _read_lines(
    text: str, path: str, at_once: bool | None, places: Places | None = None, check_calls: bool = True
) -> Module:
    """Parse a text with one instruction per line; `places` is given if it was rewritten into that form."""
    if not (len(text) < _READ_AT_ONCE if at_once is None else at_once):
        later = _read_later(text, path, places)
        if later is not None:
            return later
    lines = text.split("\n")
    names: dict[str, int] = {}
    for line in lines:
        if line[:1] not in _NO_HEAD and line.rstrip().endswith(("{", "*/")) and (head := COMPUTATION_HEAD.match(line)):
            names.setdefault(head[2], len(names))
    reader = _TextReader(path, lines, AttributeReader(names, FrameTable()), places=places)
    name, attributes, number = _read_head(reader)
    while number <= len(lines):
        line = lines[number - 1]
        if not line.strip() or line.startswith("//"):
            number += 1
            continue
        number = _read_computation(reader, number)
    if not reader.done:
        raise reader.error("the file ends before the first computation", len(lines), hint=TRUNCATED)
    if reader.entry < 0:
        if len(reader.done) > 1:
            raise reader.error("no computation is marked ENTRY", 1, hint=TRUNCATED)
        reader.entry = 0
    if cycle := call_cycle(reader.done):
        raise reader.error(*cycle, hint=CYCLE_HINT)
    for computation in reader.done if check_calls else ():
        _check_calls(reader, computation, reader.parameters.__getitem__)
    done = reader.done if places is None else [_with_places(computation, places) for computation in reader.done]
    return Module(name, "compiled", tuple(done), reader.entry, attributes, reader.tails.frames.frames())


def _read_free_form(text: str, path: str, at_once: bool | None, error: ReadError, check_calls: bool = True) -> Module:
    """Parse a text that is not one instruction per line; if that fails too, raise the error that lies further on."""
    from hlodiff.hlo.free_form import MAX_CHARACTERS, rewrite

    if len(text) > MAX_CHARACTERS or not error.line:
        raise error
    try:
        rewritten, places = rewrite(text, path)
        return _read_lines(rewritten, path, at_once, places, check_calls)
    except ReadError as other:
        if error.what == _NO_HEADER or (other.line > error.line and other.hint != TRUNCATED):
            raise other from None
        raise error from None


def _with_places(computation: Computation, places: Places) -> Computation:
    """Map its lines to those of the original text."""
    instructions = tuple([replace(it, line=places.place(it.line)[0]) for it in computation.instructions])
    return replace(computation, instructions=instructions, line=places.place(computation.line)[0])


def _read_later(text: str, path: str, places: Places | None) -> Module | None:
    """A module whose computations are parsed on first use; None if the text is not in canonical form."""
    if "source_file=" in text:  # older frames, only known once all instructions are read
        return None
    reader, name, attributes, spans = _head_of(text, path, places)
    if not spans:
        return None
    tails = AttributeReader({span.name: n for n, span in enumerate(spans)}, reader.tails.frames)
    whole: list[Module] = []
    known: dict[int, tuple[Shape, ...]] = {}

    def parameters(index: int) -> tuple[Shape, ...]:
        if index not in known:
            try:
                known[index] = _parameters_of(text, spans[index])
            except ValueError:  # damaged: parsing it reports the place
                body = read(index, None)
                known[index] = tuple(body.instructions[n].shape for n in body.parameters)
        return known[index]

    def read(index: int, instructions: Sequence[str] | None) -> Computation:
        span = spans[index]
        whole_body = instructions is None
        if instructions is None:
            instructions = text[span.body : span.end - 1].split("\n")
        lines = [text[span.start : span.body - 1], *instructions, "}" + span.closing]
        part = _TextReader(path, lines, tails, span.line, index, places, whole_body)
        try:
            _read_computation(part, 1)
            _check_calls(part, part.done[0], parameters)
        except ReadError as error:
            if not whole_body:
                read(index, None)  # names the line: some were left out here
            if places is not None:
                raise
            module = _read_free_form(text, path, True, error)  # not every instruction has a line of its own
            if [computation.name for computation in module.computations] != [span.name for span in spans]:
                raise  # some are inline where they are called: their indices were not counted before
            return module.computations[index]
        if whole_body:
            known.update(part.parameters)
        if not whole and calls_later(index, part.done[0]):  # not XLA's order: are calls acyclic?
            whole.append(_read_lines(text, path, True, places))
        return part.done[0] if places is None else _with_places(part.done[0], places)

    entry = next(n for n, span in enumerate(spans) if span.is_entry)
    return Module(
        name, "compiled", LazyComputations(text, spans, read), entry, attributes, reader.tails.frames.frames()
    )


def spans_of(text: str) -> tuple[Span, ...] | None:
    """The span of each computation in HLO text, without parsing it.

    Args:
        text: HLO text, as for `read_hlo`.

    Returns:
        all spans in text order; None if the text is damaged or not in canonical form.

    Raises:
        ReadError: the text before the first computation cannot be parsed.
    """
    *_, spans = _head_of(text, "", None)
    return None if not spans or is_damaged(text[spans[0].start - 1 :], sum(span.lines for span in spans)) else spans


def _head_of(
    text: str, path: str, places: Places | None
) -> tuple[_TextReader, str, tuple[tuple[str, str], ...], tuple[Span, ...]]:
    """Parse the text before the first computation: name and attributes of the module; then locate each computation."""
    header = header_end(text, max(text.find("HloModule"), 0))
    start = text.find("\n}", header)
    head = text[: start if start >= 0 else header]
    reader = _TextReader(path, head.split("\n"), AttributeReader({}, FrameTable()), places=places)
    name, attributes, number = _read_head(reader)
    first = sum(len(line) + 1 for line in reader.lines[: number - 1])
    spans = computation_spans(text, first, number - 1)
    return reader, name, attributes, spans or ()


_PARAMETER = " parameter("


# Prefixes that never begin the first line of a computation.
_NO_HEAD = ("", " ", "\t", "}", "/")


_NO_NAME = re.compile(r"[\s=]")
_NO_HEADER = "expected `HloModule NAME`"


def _read_head(reader: _TextReader) -> tuple[str, tuple[tuple[str, str], ...], int]:
    """Parse what is above the first computation: name and attributes of the module, and the debug tables.

    Returns the line of the first computation too.
    """
    for number, line in enumerate(reader.lines, 1):
        if not line.strip() or line.startswith("//"):
            continue
        if not line.startswith("HloModule"):
            _refuse_conflict(reader, number, line)
            raise reader.error(_NO_HEADER, number, 1, "is this compiled HLO text?")
        last = number
        try:
            parts = split_commas(without_comments(line[len("HloModule") :]))
        except Unbalanced as at:
            text = "\n".join(reader.lines[number - 1 :])
            whole = text[: header_end(text, 0)]  # tables span several lines
            last += whole.count("\n")
            parts = [] if last == number else parts_or_whole(without_comments(whole[len("HloModule") :]))
            if len(parts) < 2:
                what = "bracket or quote without its partner"
                raise reader.error(what, number, at.position + 10, TRUNCATED) from None
        if not parts or _NO_NAME.search(parts[0]):
            raise reader.error("expected a module name, and `,` before each attribute", number, len("HloModule") + 1)
        pairs = (part.partition("=") for part in parts[1:])
        attributes = [(key.strip(), value.strip()) for key, _, value in pairs]
        if any(has_long_number(value) for _, value in attributes):
            raise reader.error("a number of more than 400 digits", number)
        _refuse_repeated(reader, attributes, number)
        for key, value in attributes:
            if not is_header_value(key, value):
                raise reader.error(f"`{key}` has a malformed value", number, line.find(key) + 1, TRUNCATED)
        kept = tuple(pair for pair in attributes if HEADER_DEFAULTS.get(pair[0]) != pair[1])
        break
    else:
        raise reader.error("the file is empty", 0, hint="expected compiled HLO text that starts with `HloModule`")
    table = ""
    for number, line in enumerate(map(str.rstrip, reader.lines[last:]), last + 1):
        if line in DEBUG_TABLES:
            table = line
        elif table and line[:1].isdigit():
            if not reader.tails.frames.add(table, line):
                raise reader.error(f"not a row of the table {table}", number, 1)
        elif line:
            last = number - 1
            break
    else:
        last = len(reader.lines)
    return parts[0].removeprefix("%"), kept, last + 1


def _repeated(reader: _TextReader, name: str, number: int) -> ReadError:
    return reader.error(f"the attribute `{name}` is given twice", number, reader.lines[number - 1].rfind(name) + 1)


def _refuse_repeated(reader: _TextReader, attributes: Sequence[tuple[str, str]], number: int) -> None:
    given: set[str] = set()
    for name, _ in attributes:
        if name in given:
            raise _repeated(reader, name, number)
        given.add(name)


def _refuse_conflict(reader: _TextReader, number: int, line: str) -> None:
    if line.startswith(_CONFLICT):
        hint = "settle the merge, then record the program again with `hlodiff update`"
        raise reader.error("merge conflict marker: this program is neither side", number, 1, hint)


def _read_computation(reader: _TextReader, number: int) -> int:
    line = reader.lines[number - 1]
    match = COMPUTATION_HEAD.match(line) if line[:1] not in _NO_HEAD else None
    if match is None:
        _refuse_conflict(reader, number, line)
        raise reader.error("expected the head of a computation: `%name (parameters) -> shape {`", number, 1)
    if reader.tails.computations[match.group(2)] != reader.computations_before + len(reader.done):
        raise reader.error(f"computation %{match.group(2)} is defined twice", number, match.start(2) + 1)
    open_ = _OpenComputation(match.group(2), number + reader.lines_before)
    if match.group(1):
        if reader.entry >= 0:
            raise reader.error("a second ENTRY computation", number, 1)
        reader.entry = len(reader.done)
    number += 1
    lines = reader.lines
    while True:
        if number > len(lines):
            raise reader.error(f"the file ends inside computation %{open_.name}", len(lines), hint=TRUNCATED)
        line = lines[number - 1]
        if line.startswith("}"):
            reader.done.append(_close(reader, open_, number))
            return number + 1
        if line.startswith("  %") or (line.strip() and not line.lstrip().startswith("//")):
            number = _read_instruction(reader, open_, number)
        number += 1


def _close(reader: _TextReader, open_: _OpenComputation, number: int) -> Computation:
    """Finish the computation that ends in line `number`, resolving operands and root to indices."""
    instructions = open_.instructions
    if not instructions:
        raise reader.error(f"computation %{open_.name} has no instruction", number, 1)
    reader.parameters[reader.computations_before + len(reader.done)] = _read_parameters(reader, open_)
    for position, operands, predecessors in open_.late:
        old = instructions[position]
        place = old.line - reader.lines_before
        instructions[position] = Instruction(
            old.name, old.opcode, old.shape, _indices(reader, open_, operands, place), (), old.attributes,
            old.calls, _indices(reader, open_, predecessors, place), old.literal, old.op_name, old.frame,
            old.metadata, old.line,
        )  # fmt: skip
    if open_.late and (cycle := operand_cycle(instructions)):
        raise reader.error(cycle[0], cycle[1] - reader.lines_before, hint=CYCLE_HINT)
    line = reader.lines[number - 1]
    behind = line[1:].lstrip()
    if behind and not behind.startswith((",", "/")):
        raise reader.error("expected `, attribute=value`", number, len(line) - len(behind) + 1)
    try:
        parts = split_commas(without_comments(behind).removeprefix(",")) if behind else []
    except Unbalanced as at:
        raise reader.error("bracket or quote without its partner", number, at.position + 2) from None
    attributes: list[tuple[str, str]] = []
    for part in parts:
        key = ATTRIBUTE_KEY.match(part)
        if key is not None and not lacks_value(part[key.end() :]):
            attributes.append((key[1], part[key.end() :]))
        elif key is None and ATTRIBUTE_START.fullmatch(part):
            attributes.append((part, ""))  # a bare flag
        else:
            raise reader.error("expected `, attribute=value`", number, line.find(part or ",") + 1)
    _refuse_repeated(reader, attributes, number)
    thread = dict(attributes).get("execution_thread", "").strip('"')
    root = open_.root if open_.root >= 0 else len(instructions) - 1
    place = open_.line - reader.lines_before
    head, shape = reader.lines[place - 1], instructions[root].shape
    if reader.checks_result and (arrow := head.rfind("->")) >= 0:  # the signature must match the shape of the root
        result = without_comments(head[arrow + 2 : head.rfind("{")]).strip()
        try:
            signed = read_shape(result) if result else shape
        except (Unbalanced, UnknownType):
            signed = Shape(result, is_array=False)
        if not is_compatible(signed, shape):
            what = f"%{open_.name} should give {result}, and its root gives {shape.text}"
            raise reader.error(what, place, arrow + 1)
    return Computation(
        open_.name,
        tuple(instructions),
        root,
        "" if thread == "main" else thread,
        tuple(pair for pair in attributes if pair[0] != "execution_thread"),
        open_.line,
    )


def _read_parameters(reader: _TextReader, open_: _OpenComputation) -> tuple[Shape, ...]:
    """The shapes of the parameters, in order.

    Two parameters with the same number, or a missing number below another, are refused as ambiguous.
    """
    found: dict[str, Instruction] = {}
    for it in open_.instructions:
        if it.opcode == "parameter":
            number = it.literal or ""
            if number in found:
                line = it.line - reader.lines_before
                column = reader.lines[line - 1].find(f"parameter({number})") + 1
                raise reader.error(f"parameter {number} of %{open_.name} is defined twice", line, column)
            found[number] = it
    for number, it in found.items():
        if int(number) >= len(found):
            line = it.line - reader.lines_before
            column = reader.lines[line - 1].find(f"parameter({number})") + 1
            what = f"parameter {number} of %{open_.name}, which has {len(found)}: they count from 0"
            raise reader.error(what, line, column)
    return tuple([it.shape for it in sorted(found.values(), key=lambda it: it.number)])


def _parameters_of(text: str, span: Span) -> tuple[Shape, ...]:
    """The shapes of the parameters of a computation, in order, without parsing it."""
    found: dict[int, Shape] = {}
    at = text.find(_PARAMETER, span.body, span.end)
    while at >= 0:
        begin = text.rfind("\n", 0, at) + 1
        line, here = text[begin : text.find("\n", at)], at - begin
        start = INSTRUCTION_START.match(line)
        if start is not None:
            position = start.end()
            end = closing(line, position) + 1 if line[position : position + 1] == "(" else line.find(" ", position)
            if end == here:  # and no string contains this text
                found[int(line[here + len(_PARAMETER) : line.find(")", here)])] = read_shape(line[position:end])
        at = text.find(_PARAMETER, at + 1, span.end)
    return tuple(found[number] for number in sorted(found))


def _check_calls(reader: _TextReader, computation: Computation, parameters: Callable[[int], tuple[Shape, ...]]) -> None:
    """Refuse a call whose operands do not match the parameters of the computation."""
    for it in computation.instructions:
        if not it.calls:
            continue
        shapes = [computation.instructions[n].shape for n in it.operands]
        for branch, callee in enumerate(it.called):
            # The first operand of a conditional selects; each branch takes one of the others.
            given = shapes[branch + 1 : branch + 2] if it.opcode == "conditional" else shapes
            if wrong := _misfit(it.opcode, given, parameters(callee)):
                name = next(name for name, index in reader.tails.computations.items() if index == callee)
                line = it.line - reader.lines_before
                column = reader.lines[line - 1].rfind(name) + 1
                raise reader.error(f"%{it.name} gives {wrong} of %{name}", line, column)


def _indices(reader: _TextReader, open_: _OpenComputation, names: Sequence[str], line: int) -> tuple[int, ...]:
    try:
        return tuple([open_.index[name] for name in names])
    except KeyError as missing:
        name = str(missing.args[0])
        column = reader.lines[line - 1].find(name) + 1
        column = column or reader.lines[line - 1].find("(") + 1
        raise reader.error(f"operand %{name} is not defined in %{open_.name}", line, column) from None


def _read_instruction(reader: _TextReader, open_: _OpenComputation, number: int) -> int:
    """Parse the instruction that starts in line `number`; returns the line it ends in."""
    line = reader.lines[number - 1]
    start = PLAIN_INSTRUCTION.match(line) or INSTRUCTION_START.match(line)
    if start is None:
        _refuse_conflict(reader, number, line)
        raise reader.error(
            "expected an instruction: `%name = shape opcode(operands)`", number, len(line) - len(line.lstrip()) + 1
        )
    name = start.group(2)
    if name in open_.index:
        raise reader.error(f"instruction %{name} is defined twice in %{open_.name}", number, start.start(2) + 1)
    last = number
    try:
        instruction = _parse(reader, open_, line, start, number)
    except (Unbalanced, ReadError):
        # A literal may span several lines; checking every line first costs a third of the parsing time.
        parts, depth = [line], open_brackets(line)
        while last < len(reader.lines) and not reader.lines[last].startswith("}"):
            if opened := open_string(parts[-1]):
                raise reader.error("a string has to end on its line", last, opened, TRUNCATED) from None
            if depth <= 0:
                break
            parts.append(reader.lines[last])
            depth += open_brackets(parts[-1])
            last += 1
        line = "\n".join(parts)
        try:
            instruction = _parse(reader, open_, line, start, number)
        except Unbalanced:
            what = "bracket or quote without its partner"
            column = (INSTRUCTION_START.match(line) or start).end() + 1
            raise reader.error(what, number, column, TRUNCATED) from None
    if start.group(1):
        if open_.root >= 0:
            raise reader.error(f"a second ROOT in %{open_.name}", number, start.start(1) + 1)
        open_.root = len(open_.instructions)
    open_.index[name] = len(open_.instructions)
    open_.instructions.append(instruction)
    return last


def _parse(reader: _TextReader, open_: _OpenComputation, line: str, start: re.Match[str], number: int) -> Instruction:
    names: str | None = None
    if start.re is PLAIN_INSTRUCTION:
        _, _, printed, opcode, names, arguments = start.groups()
        end = start.end() - 1
    else:
        printed, opcode, arguments, end = _split(reader, line, start.end(), number)
    try:
        shape = read_shape(printed)
    except UnknownType as unknown:
        column = line.find(unknown.name, line.find("=")) + 1
        raise reader.error(str(unknown), number, column) from None
    literal: str | None = None
    operands: list[str] = []
    if opcode in _VERBATIM:
        arguments = arguments if names is None else f"%{names}"
        literal, wrong = arguments.strip(), ""
        if opcode == "parameter" and not (literal.isdecimal() and literal.isascii() and len(literal) < 10):
            wrong = "expected the number of the parameter"
        elif opcode == "constant" and not (wrong := literal_error(arguments, shape)):
            literal = canonical_literal(arguments, shape.element_type).strip()
        if wrong:
            raise reader.error(wrong, number, end - len(arguments) + 1)
    elif names is not None:
        operands = names.split(", %") if "," in names else [names]
    else:
        try:
            operands = operand_names(arguments)
        except NotOperands:
            what = "expected operands: `%name, %name`"
            raise reader.error(what, number, end - len(arguments) + 1) from None
    behind = line[end + 1 :]
    known_tail = reader.tails.known.get(behind)
    tail, (op_name, frame, rest) = known_tail or _read_tail(reader, behind, number, end + 2)
    index = open_.index
    before: tuple[int, ...] = ()
    try:
        known = tuple(map(index.__getitem__, operands))
        if tail.predecessors:
            before = tuple([index[name] for name in tail.predecessors])
    except KeyError:
        known = before = ()
        open_.late.append((len(open_.instructions), operands, tail.predecessors))
    return Instruction(
        start[2], opcode, shape, known, (), tail.attributes, tail.calls, before,
        literal, op_name, frame, rest, number + reader.lines_before,
    )  # fmt: skip


def _split(reader: _TextReader, line: str, position: int, number: int) -> tuple[str, str, str, int]:
    """Shape, opcode and arguments of an instruction whose shape begins at `position`, and the end of the arguments."""
    end = closing(line, position) + 1 if line.startswith("(", position) else line.find(" ", position)
    if end < 0:
        end = len(line)
    head = OPCODE.match(line, end)
    if head is None:
        raise reader.error("expected `opcode(`", number, end + 1)
    inside = head.end()
    last = line.find(")", inside)
    arguments = line[inside:last]
    if last < 0 or "(" in arguments or '"' in arguments:
        last = closing(line, inside - 1)
        arguments = line[inside:last]
    return line[position:end], head[1], arguments, last


def _read_tail(reader: _TextReader, text: str, number: int, column: int) -> tuple[Tail, tuple[str, int, str]]:
    try:
        return reader.tails.read(text)
    except NotAttributes as wrong:
        if wrong.repeated:
            raise _repeated(reader, wrong.repeated, number) from None
        if wrong.missing:
            column = reader.lines[number - 1].find(wrong.missing) + 1
            raise reader.error(f"computation %{wrong.missing} is not defined", number, column, TRUNCATED) from None
        raise reader.error("expected `, attribute=value`", number, column) from None


Lines = Sequence[str] | None


class LazySequence(Sequence[Computation]):
    """Computations made on first use, each once.

    Args:
        size: number of computations.
        make: makes the computation with an index.
    """

    __slots__ = ("_made", "_make", "_size")

    def __init__(self, size: int, make: Callable[[int], Computation]) -> None:
        self._size, self._make = size, make
        self._made: dict[int, Computation] = {}

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Computation: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Computation, ...]: ...

    def __getitem__(self, index: int | slice) -> Computation | tuple[Computation, ...]:
        if isinstance(index, slice):
            return tuple(self[n] for n in range(*index.indices(self._size)))
        computation = self._made.get(index)
        if computation is None:
            position = range(self._size)[index]  # -1 is the last one, and out of range raises
            computation = self._made.get(position)
            if computation is None:
                computation = self._made[position] = self._make(position)
        return computation

    def __iter__(self) -> Iterator[Computation]:
        return (self[n] for n in range(self._size))


class LazyComputations(LazySequence):
    """The computations of a text in canonical form, each parsed on first use.

    Args:
        text: the whole text.
        spans: location of each computation in the text.
        read: parses the computation with an index, from other lines if given.
    """

    __slots__ = ("_read", "spans", "text")

    def __init__(self, text: str, spans: tuple[Span, ...], read: Callable[[int, Lines], Computation]) -> None:
        super().__init__(len(spans), lambda index: read(index, None))
        self.text = text
        self.spans = spans
        self._read = read

    @property
    def parsed(self) -> tuple[int, ...]:
        """Indices of the computations parsed so far."""
        return tuple(self._made)

    def naming(self, name: str) -> list[int]:
        """Indices of the computations whose lines contain a name, ascending, found without parsing."""
        word = re.escape(name)
        # Search for the name first: a search for the text before it would stop at every character.
        whole_name = re.compile(rf"{word}(?<![\w.-]{word})(?![\w.-])")
        return [n for n, span in enumerate(self.spans) if whole_name.search(self.text, span.body, span.end)]

    def read_lines(self, index: int, lines: Sequence[str]) -> Computation:
        """Parse the computation with that index as if these were its instructions."""
        return self._read(index, lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self.text)


# --- Whether the operands of a call match the parameters of the called computation.
#
# A text in which the number of operands differs from the number of parameters is damaged, because parameters cannot be
# assigned to values, and is refused. So is one that passes a tuple for an array. Other type mismatches are accepted:
# the assignment is still clear, and a different type is an edit.

# Each operand of the call is the parameter with the same number.
_BINDS = frozenset(
    ["fusion", "call", "while", "conditional", "async-start", "call-start", "custom-call-start", "fusion-start"]
)
# One element of each operand is the parameter with the same number.
_ELEMENT_OF_EACH = frozenset(["reduce", "reduce-window", "map"])
_COLLECTIVES = frozenset(["all-reduce", "all-reduce-start", "reduce-scatter", "reduce-scatter-start"])


def _misfit(opcode: str, given: Sequence[Shape], wanted: Sequence[Shape]) -> str:
    """What is wrong with the operands of a call; "" if nothing is, or if the expected operands are unknown."""
    if opcode in _BINDS:
        if len(given) != len(wanted):
            return f"{_count(len(given), 'operand')} for {_count(len(wanted), 'parameter')}"
        for n, (one, other) in enumerate(zip(given, wanted, strict=True)):
            if len(one.tuple_shapes) != len(other.tuple_shapes):
                return f"{one.text} for parameter {n}, a {other.text},"
        return ""
    # A reducer or comparator takes elements of the operands.
    counts: tuple[int, ...] = ()
    if opcode in _ELEMENT_OF_EACH:
        counts = (len(given),)
    elif opcode == "sort":
        counts = (2 * len(given),)
    elif opcode == "scatter":  # arrays, indices, updates: as many updates as arrays
        counts = (len(given) - 1,)
    elif opcode == "select-and-scatter":
        counts = (2,)
    elif opcode in _COLLECTIVES:  # one reducer for each operand, or one for all of them together
        counts = (2, 2 * len(given))
    if not counts or len(wanted) in counts:
        return ""
    return f"{_count(counts[0], 'value')} for {_count(len(wanted), 'parameter')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
