"""StableHLO text to the program model, through jaxlib's MLIR bindings.

How MLIR maps to the model (the printer inverts all of it):

- `func.func` is a Computation with the attribute `visibility`; a region is a Computation called by its operation.
- A function reference (`callee`, `called_computations`, `decomposition`) becomes a call and no attribute.
- Argument attributes are on the parameter, result attributes on the `return` as `result0.sdy.sharding`.
- A value from outside a region is one more parameter with `("captured", "true")`; the operation that owns the regions
  has the captured values of its regions, in order, as its last operands. They are ordered by definition: the order of
  uses inside would change when two operands are swapped there.
- `sdy.mesh` and other module-level operations are module attributes: `("sdy.mesh @mesh", '<["x"=2]>')`.
- An operation with no or several results has a tuple shape; one result of MLIR type `tuple` is a tuple of one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from hlodiff.errors import ReadError
from hlodiff.hlo import mlir
from hlodiff.hlo.grammar import STRING
from hlodiff.hlo.model import (
    CAPTURED,
    Computation,
    Frame,
    Instruction,
    Layout,
    Module,
    Shape,
    region_name,
    region_title,
)
from hlodiff.hlo.traversal import CYCLE_HINT, call_cycle
from hlodiff.interrupts import deferred

_TENSOR = re.compile(r"tensor<((?:(?:\d++|\?)x)*+)(.*)>", re.DOTALL)
_CHANNEL_TYPE = re.compile(r"type = ([02-9]\d*|1\d+)")
_BOUNDS = re.compile(r"#stablehlo\.bounds<(.*)>")
_FLOATS = (
    "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2",
    "f8E5M2FNUZ", "f8E8M0FNU",
)  # fmt: skip
_TO_XLA = {
    "i1": "pred",
    "complex<f32>": "c64",
    "complex<f64>": "c128",
    **{name: name.lower() for name in _FLOATS},
    **{f"i{bits}": f"s{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"ui{bits}": f"u{bits}" for bits in (2, 4, 8, 16, 32, 64)},
}
_TO_MLIR = {xla: mlir for mlir, xla in _TO_XLA.items()}


@functools.lru_cache(maxsize=4096)
def shape_of(text: str) -> Shape:
    """The shape of an MLIR type; an unknown type is kept verbatim in `element_type`.

    Example:
        >>> shape_of("tensor<2x?xi32, #stablehlo.bounds<?, 8>>")
        Shape(element_type='s32', dimensions=(2, 8), layout=None, tuple_shapes=(), dynamic=(1,), is_array=True)
    """
    if text == "!stablehlo.token":
        return Shape("token", is_array=False)
    if text.startswith("tuple<"):
        return Shape("tuple", tuple_shapes=tuple(map(shape_of, split(text[6:-1]))), is_array=False)
    match = _TENSOR.fullmatch(text)
    if match is None or match[2].startswith("*"):
        return Shape(text, is_array=False)
    parts = split(match[2])
    element, encoding = parts[0], ", ".join(parts[1:])
    sizes = match[1].split("x")[:-1]
    dynamic = tuple(n for n, size in enumerate(sizes) if size == "?")
    bounded = _BOUNDS.fullmatch(encoding)
    bounds = bounded[1].split(",") if bounded else ["?"] * len(sizes)
    given = (bounds[n].strip() if size == "?" else size for n, size in enumerate(sizes))
    dimensions = tuple(-1 if size == "?" else int(size) for size in given)
    layout = Layout(other=encoding) if encoding and not bounded else None
    return Shape(_TO_XLA.get(element, element), dimensions, layout, dynamic=dynamic)


def type_text(shape: Shape) -> str:
    """The MLIR type of a shape, the inverse of `shape_of`.

    Example:
        >>> type_text(Shape("pred", (4,)))
        'tensor<4xi1>'
    """
    if shape.element_type == "token":
        return "!stablehlo.token"
    if shape.element_type == "tuple":
        return f"tuple<{', '.join(map(type_text, shape.tuple_shapes))}>"
    if not shape.is_array:
        return shape.element_type
    dynamic = set(shape.dynamic)
    sizes = ["?" if n in dynamic else str(size) for n, size in enumerate(shape.dimensions)]
    element = _TO_MLIR.get(shape.element_type, shape.element_type)
    encoding = shape.layout.other if shape.layout else ""
    if any(shape.dimensions[n] >= 0 for n in shape.dynamic):
        bounds = [str(size) if n in dynamic and size >= 0 else "?" for n, size in enumerate(shape.dimensions)]
        encoding = f"#stablehlo.bounds<{', '.join(bounds)}>"
    return f"tensor<{'x'.join([*sizes, element])}{', ' + encoding if encoding else ''}>"


_TYPE_TOKEN = re.compile(STRING + r"|->|>=|[<>(){}\[\],]", re.DOTALL)


def split(text: str) -> list[str]:
    """Split MLIR text at its top-level commas, ignoring those in strings and brackets.

    Example:
        >>> split('a = "x,y", b = [1, 2]')
        ['a = "x,y"', 'b = [1, 2]']
    """
    parts, depth, start = [], 0, 0
    for match in _TYPE_TOKEN.finditer(text):
        token = match[0]
        if token in ("<", "(", "{", "["):
            depth += 1
        elif token in (">", ")", "}", "]"):
            depth -= 1
        elif token == "," and depth == 0:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    last = text[start:].strip()
    return [*parts, last] if last or parts else []


_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_TRAILING = re.compile(r" loc\((#loc\d*)\)$")
_STRING_OR_LOC = re.compile(STRING + r"| loc\(")
_TOKEN = re.compile(rf"\s*({STRING}|#loc\d*|callsite|fused|unknown|at\b|to\b|[A-Za-z_]+|\d+|.)", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")
_SCOPE = re.compile(r"[/(]")  # occurs in names that are scopes of JAX


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    line: int
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    child: _Location


@dataclass(frozen=True, slots=True)
class _CallLocation:
    callee: _Location
    caller: _Location


@dataclass(frozen=True, slots=True)
class _Alias:
    name: str


_Location = _File | _Name | _CallLocation | _Alias | None


@dataclass(slots=True)
class LocationTable:
    """All locations of a printed module, resolved on demand into shared frames.

    Two calls in one line are two frames that differ only in their columns, which are not kept. A place that calls
    itself is one frame.

    Args:
        aliases: location text by alias, such as `#loc7`.
    """

    aliases: dict[str, str]
    frames: list[Frame] = field(default_factory=list)
    _parsed: dict[str, _Location] = field(default_factory=dict)
    _index: dict[tuple[Frame, tuple[str, ...]], int] = field(default_factory=dict)
    _resolved: dict[str, tuple[str, int]] = field(default_factory=dict)
    _stacks: dict[tuple[str, int], int] = field(default_factory=dict)
    _columns: list[tuple[str, ...]] = field(default_factory=list)

    def resolve(self, text: str) -> tuple[str, int]:
        """Scope and innermost frame index of a location, given as the text between `loc(` and `)`."""
        if text not in self._resolved:
            location = self._expand(_parse(text))
            name = ""
            # `"io_callback:"("jit(f)/io_callback"(...))`: a name with a colon is the kind of operation, not its scope
            while isinstance(location, _Name) and location.text.endswith(":"):
                location = self._expand(location.child)
            # A name around a file that is not a JAX scope: an operation without a scope has only its Python function.
            if isinstance(location, _Name) and (
                _SCOPE.search(location.text) or not isinstance(self._expand(location.child), _File)
            ):
                name = location.text
            self._resolved[text] = (name, self._stack(location, -1))
        return self._resolved[text]

    def place(self, text: str) -> tuple[int, int] | None:
        """Line and column if the location is a place in the parsed text, else None."""
        match = re.fullmatch(r'"-":(\d+):(\d+)(?: to .*)?', text)
        return (int(match[1]), int(match[2])) if match else None

    def _expand(self, location: _Location) -> _Location:
        while isinstance(location, _Alias):
            if location.name not in self._parsed:
                self._parsed[location.name] = _parse(self.aliases.get(location.name, "unknown"))
            location = self._parsed[location.name]
        return location

    def _stack(self, location: _Location, parent: int) -> int:
        """Index of the innermost frame of `location` when called from frame `parent`."""
        if isinstance(location, _Alias):
            key = (location.name, parent)
            if key not in self._stacks:
                self._stacks[key] = self._stack(self._expand(location), parent)
            return self._stacks[key]
        if isinstance(location, _CallLocation):
            return self._stack(location.callee, self._stack(location.caller, parent))
        if isinstance(location, _File):
            return self._frame(location, "", parent)
        if isinstance(location, _Name):
            child = self._expand(location.child)
            if isinstance(child, _File):
                return self._frame(child, "" if _SCOPE.search(location.text) else location.text, parent)
            return self._stack(location.child, parent)
        return parent

    def _frame(self, file: _File, function: str, parent: int) -> int:
        if file.name == "-":  # a place in the MLIR text, not a Python frame
            return parent
        frame = Frame(file.name, file.line, function, parent)
        if (
            parent >= 0
            and replace(self.frames[parent], parent=parent) == frame
            and self._columns[parent] == file.columns
        ):
            return parent  # JAX 0.11 names a call of `scan` once more for what its body does
        if (frame, file.columns) not in self._index:
            self._index[frame, file.columns] = len(self.frames)
            self.frames.append(frame)
            self._columns.append(file.columns)
        return self._index[frame, file.columns]


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
        if match := _TRAILING.search(line):
            order.append(match[1])
        elif starts := [match.end() for match in _STRING_OR_LOC.finditer(line) if match[0] == " loc("]:
            order.append(line[starts[-1] : -1])  # a location without an alias; other lines end no operation
    return LocationTable(aliases), order


def _parse(text: str) -> _Location:
    tokens = [match[1] for match in _TOKEN.finditer(text)]
    return _parse_tokens(tokens, 0)[0]


def _parse_tokens(tokens: list[str], at: int) -> tuple[_Location, int]:
    """Parse one location from `tokens[at]`; returns it and the index after it."""
    token = tokens[at] if at < len(tokens) else "unknown"
    if token.startswith("#loc"):
        return _Alias(token), at + 1
    if token.startswith('"'):
        return _parse_named(tokens, at)
    if token == "callsite":
        callee, at = _parse_tokens(tokens, at + 2)
        caller, at = _parse_tokens(tokens, at + 1)
        return _CallLocation(callee, caller), at + 1
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
    start, line, at = at + 3, int(tokens[at + 2]), at + 5
    if at < len(tokens) and tokens[at] == "to":
        at += 1
        while at < len(tokens) and (tokens[at] == ":" or tokens[at].isdigit()):
            at += 1
    return _File(name, line, tuple(tokens[start:at])), at


def _parse_fused(tokens: list[str], at: int) -> tuple[_Location, int]:
    """`<metadata>[first, ...]`: the first named part represents all."""
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


_FUNCTION_KEYS = ("sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs")
_RESOURCES = re.compile(r"^\{-#.*^#-\}", re.MULTILINE | re.DOTALL)
_SYMBOLS = re.compile(rf"@(?:{STRING}|[\w.$-]+)")
_DEBUG = re.compile(r'\bloc\((?:"|#loc\d*\)|callsite\(|fused[<\[]|unknown\))')
_NAME = re.compile(r"\s*%([\w.$-]+)")


@deferred()  # jaxlib's bindings lose exceptions that a signal raises while they convert values
def read_stablehlo(text: str, *, path: str = "") -> Module:
    """Read one StableHLO module.

    Args:
        text: MLIR text, with or without debug info.
        path: the file as the user named it, for errors.

    Returns:
        The module with `stage == "stablehlo"`.

    Raises:
        ReadError: the text is not a valid StableHLO module; the error gives the location.
        HlodiffError: jaxlib is missing or of a version that hlodiff does not know.

    Example:
        >>> read_stablehlo("func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }").entry
        0
    """
    parsed = mlir.parse_mlir(text, path)
    return _ModuleReader(text, path, parsed).read()


@dataclass(slots=True)
class _RegionScope:
    """A function or region while it is read."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)
    values: dict[Any, tuple[int, int]] = field(default_factory=dict)
    parameters: int = 0
    captures: list[Any] = field(default_factory=list)

    def parameter(self, value: Any, instruction: Instruction) -> None:
        self.values[value] = (len(self.instructions), 0)
        self.instructions.append(instruction)
        self.parameters += 1


class _ModuleReader:
    """Parser state: symbols, cached texts, and locations in the post-order in which operations end."""

    def __init__(self, text: str, path: str, module: Any) -> None:
        self.text, self.path, self.module = text, path, module
        self.lines = text.splitlines()
        self.names = mlir.mlir().AsmState(module.operation)
        self.debug = _DEBUG.search(text) is not None
        self.locations, order = read_locations(mlir.generic_text(module) if self.debug else "")
        self.order = iter(order)
        self.functions: dict[str, int] = {}
        self.computations: list[Computation | None] = []
        self.shapes: dict[Any, Shape] = {}
        self.texts: dict[Any, str] = {}
        self.value_names: dict[Any, str] = {}
        self.defined: dict[Any, int] = {}  # the definition's number, counted through the whole text

    def read(self) -> Module:
        operations = [op.operation for op in self.module.body.operations]
        for op in operations:
            if op.name == "func.func":
                self.functions[_symbol(op)] = len(self.functions)
        self.computations.extend(None for _ in self.functions)
        if len(operations) - len(self.functions) > mlir.MOST_BESIDE:
            what = f"the module has more than {mlir.MOST_BESIDE:,} operations beside its functions"
            raise ReadError(what, path=self.path, hint="is the file damaged?")
        header = dict(self.attributes(self.module.operation))
        name = header.pop("sym_name").value if "sym_name" in header else ""
        attributes = [(key, self.attr_text(value)) for key, value in header.items()]
        for op in operations:
            if op.name == "func.func":
                self.function(op)
            else:
                attributes.append(self.module_level(op))
                for _ in range(mlir.count_operations(op)):
                    next(self.order, None)
        if resources := _RESOURCES.search(self.text):
            attributes.append(("dialect_resources", resources[0]))
        computations = tuple(c for c in self.computations if c is not None)
        if not computations:
            raise ReadError("the module holds no function", path=self.path)
        if cycle := call_cycle(computations):
            raise ReadError(cycle[0], path=self.path, line=cycle[1], hint=CYCLE_HINT)
        public = (n for n, c in enumerate(self.computations) if c and ("visibility", "public") in c.attributes)
        entry = self.functions["main"] if "main" in self.functions else next(public, 0)
        return Module(name, "stablehlo", computations, entry, tuple(attributes), tuple(self.locations.frames))

    def module_level(self, op: Any) -> tuple[str, str]:
        """A mesh or another operation beside the functions, verbatim."""
        if op.name == "sdy.mesh":
            head, _, rest = op.get_asm(assume_verified=True).partition(" = ")  # else MLIR verifies the whole module
            return head, rest
        return f"{op.name} @{_symbol(op)}", op.get_asm(print_generic_op_form=True, assume_verified=True)

    def function(self, op: Any) -> None:
        name = _symbol(op)
        attributes = dict(self.attributes(op))
        scope = _RegionScope(name)
        blocks = list(op.regions[0].blocks)
        if len(blocks) > 1:
            raise self.unsupported("a function with several blocks", op)
        argument_attributes = list(attributes.get("arg_attrs", ()))
        if not blocks:
            text = (("function_type", self.attr_text(attributes["function_type"])),)
            scope.instructions.append(Instruction("declaration", "func.declaration", _results([]), attributes=text))
        else:
            self.arguments(scope, blocks[0], argument_attributes)
            for child in blocks[0].operations:
                self.operation(scope, child.operation, owner="func.func")
            of_results = list(attributes.get("res_attrs", ()))
            own = tuple((f"result{n}.{a.name}", self.attr_text(a.attr)) for n, d in enumerate(of_results) for a in d)
            if own:
                last = scope.instructions[-1]
                scope.instructions[-1] = replace(last, attributes=(*last.attributes, *own))
        visibility = attributes["sym_visibility"].value if "sym_visibility" in attributes else ""
        others = [(k, self.attr_text(v)) for k, v in attributes.items() if k not in _FUNCTION_KEYS]
        _, _, line = self.place(op)
        self.computations[self.functions[name]] = Computation(
            name, tuple(scope.instructions), len(scope.instructions) - 1,
            attributes=(("visibility", visibility), *others), line=line[0],
        )  # fmt: skip

    def arguments(self, scope: _RegionScope, block: Any, attributes: list[Any], owner: str = "") -> None:
        """Add the block arguments as parameters; a function argument's location is the user's name for it.

        `owner` names arguments that the text does not show (`stablehlo.reduce ... applies stablehlo.add`).
        """
        for number, value in enumerate(block.arguments):
            own = tuple((a.name, self.attr_text(a.attr)) for a in attributes[number]) if attributes else ()
            label, frame, (line, column) = self.place_of(_location_text(value.location))
            unseen = owner if not self.debug else ""
            name = self.source_name(line, column) or unseen or value.get_name(state=self.names)[1:]
            self.value_names[value] = name
            self.defined[value] = len(self.defined)
            shape = self.shape(value.type)
            scope.parameter(
                value,
                Instruction(
                    name, "parameter", shape, attributes=own, literal=str(number), op_name=label, frame=frame, line=line
                ),
            )

    def operation(self, scope: _RegionScope, op: Any, owner: str) -> None:
        """Append one operation to `scope` and its regions to the computations."""
        results = list(op.results)
        opcode = opcode_of(op.name, owner)
        name = self.name_results(results, op) if results else opcode.rpartition(".")[2]
        operands = [self.lookup(scope, value) for value in op.operands]
        calls, captured = self.regions(scope, op, opcode, name)
        operands += [self.lookup(scope, value) for value in captured]
        attributes, literal = [], None
        for key, value in self.attributes(op):
            if (called := self.called(value)) is not None:
                calls.append((key, called))
            elif opcode == "constant" and (own := self.literal(key, value, results[0])) is not None:
                literal = own
            else:
                attributes.append((key, self.attr_text(value)))
                if key == "channel_handle" and (kind := _CHANNEL_TYPE.search(attributes[-1][1])):
                    # The number may change, the endpoints (device, host) may not. JAX's collectives have type 1.
                    attributes.append(("channel_type", kind[1]))
        op_name, frame, (line, _) = self.place(op)
        found = tuple(result for _, result in operands)
        instruction = Instruction(
            name, opcode,
            _results([self.shape(result.type) for result in results]),
            tuple(index for index, _ in operands), found if any(found) else (), tuple(attributes), tuple(calls),
            literal=literal, op_name=op_name, frame=frame, line=line,
        )  # fmt: skip
        for number, result in enumerate(results):
            scope.values[result] = (len(scope.instructions), number)
        scope.instructions.append(instruction)

    def name_results(self, results: list[Any], op: Any) -> str:
        """The SSA name of an operation; MLIR's own numbering if the names of the text are unknown."""
        name = ""
        if not self.debug:
            _, _, (line, _) = self.place_of(_location_text(op.location))
            name = self.source_name(line, 0)
        name = name or results[0].get_name(state=self.names)[1:].partition("#")[0]
        for number, result in enumerate(results):
            self.value_names[result] = f"{name}.{number}" if len(results) > 1 else name
            self.defined[result] = len(self.defined)
        return name

    def regions(
        self, scope: _RegionScope, op: Any, opcode: str, name: str
    ) -> tuple[list[tuple[str, tuple[int, ...]]], list[Any]]:
        """The region calls of an operation, and the outer values that its regions use."""
        regions = list(op.regions)
        calls: list[tuple[str, tuple[int, ...]]] = []
        captured: list[Any] = []
        for number, region in enumerate(regions):
            attribute = region_name(opcode, number, len(regions))
            inner = _RegionScope(f"{scope.name}.{name}.{region_title(opcode, number, len(regions))}")
            blocks = list(region.blocks)
            if len(blocks) != 1:
                raise self.unsupported(f"a region with {len(blocks)} blocks", op)
            self.arguments(inner, blocks[0], [], name)
            for child in blocks[0].operations:
                self.operation(inner, child.operation, owner=op.name)
            captured += self.in_order(inner)
            line = inner.instructions[-1].line
            computation = Computation(inner.name, tuple(inner.instructions), len(inner.instructions) - 1, line=line)
            if calls and calls[-1][0] == attribute:
                calls[-1] = (attribute, (*calls[-1][1], len(self.computations)))
            else:
                calls.append((attribute, (len(self.computations),)))
            self.computations.append(computation)
        return calls, captured

    def in_order(self, scope: _RegionScope) -> list[Any]:
        """The captured values of a region in order of definition; renumbers its parameters accordingly."""
        found = sorted(scope.captures, key=self.defined.__getitem__)
        for number, value in enumerate(found, scope.parameters - len(found)):
            place = scope.values[value][0]
            scope.instructions[place] = replace(scope.instructions[place], literal=str(number))
        return found

    def lookup(self, scope: _RegionScope, value: Any) -> tuple[int, int]:
        """Index and result number of a value; a value that the scope does not define is captured."""
        if value not in scope.values:
            number = str(scope.parameters)
            name = self.value_names[value]
            shape = self.shape(value.type)
            scope.captures.append(value)
            scope.parameter(value, Instruction(name, "parameter", shape, attributes=(CAPTURED,), literal=number))
        return scope.values[value]

    def called(self, attribute: Any) -> tuple[int, ...] | None:
        """The functions that an attribute refers to; None if it is no function reference or list of them."""
        text = self.attr_text(attribute)
        if not text.startswith(("@", "[@")):
            return None
        symbols = [s[1:].strip('"') for s in _SYMBOLS.findall(text)]
        if not symbols or any(s not in self.functions for s in symbols):
            return None
        return tuple(self.functions[s] for s in symbols)

    def place(self, op: Any) -> tuple[str, int, tuple[int, int]]:
        """Scope, frame, and (line, column) of an operation."""
        if self.debug:
            return self.place_of(next(self.order, "unknown"))
        return self.place_of(_location_text(op.location))

    def place_of(self, location: str) -> tuple[str, int, tuple[int, int]]:
        if place := self.locations.place(location):
            return "", -1, place
        return (*self.locations.resolve(location), (0, 0))

    def source_name(self, line: int, column: int) -> str:
        """The SSA name in the text, because MLIR drops names when it parses."""
        if not line or line > len(self.lines):
            return ""
        match = _NAME.match(self.lines[line - 1], max(0, column - 1))
        return match[1] if match else ""

    def literal(self, key: str, value: Any, result: Any) -> str | None:
        """The text of a constant's value; its type is dropped if it equals the type of the result."""
        text, suffix = self.attr_text(value), f" : {result.type}"
        return text.removesuffix(suffix) if key == "value" and text.endswith(suffix) else None

    def shape(self, type_: Any) -> Shape:
        if type_ not in self.shapes:
            self.shapes[type_] = shape_of(str(type_))
        return self.shapes[type_]

    def attr_text(self, attribute: Any) -> str:
        if isinstance(attribute, str):
            return attribute
        if attribute not in self.texts:
            self.texts[attribute] = str(attribute)
        return self.texts[attribute]

    def attributes(self, op: Any) -> Iterator[tuple[str, Any]]:
        """Name and value of each attribute of an operation."""
        if len(op.attributes) > mlir.MOST_ATTRIBUTES:
            raise self.unsupported(f"an operation with more than {mlir.MOST_ATTRIBUTES:,} attributes", op)
        return mlir.attributes_of(op)

    def unsupported(self, what: str, op: Any) -> ReadError:
        _, _, (line, column) = self.place_of(_location_text(op.location))
        offending = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return ReadError(
            f"{what} ({op.name}) is not StableHLO", path=self.path, line=line, column=column, text=offending
        )


def _symbol(op: Any) -> str:
    return op.attributes["sym_name"].value if "sym_name" in op.attributes else ""


def _location_text(location: Any) -> str:
    return str(location).removeprefix("loc(").removesuffix(")")


def _results(shapes: list[Shape]) -> Shape:
    if len(shapes) == 1 and shapes[0].element_type != "tuple":
        return shapes[0]
    return Shape("tuple", tuple_shapes=tuple(shapes), is_array=False)


def return_of(owner: str) -> str:
    """The terminator of regions of `owner`: `return_of("func.func") == "func.return"`."""
    dialect = owner.partition(".")[0]
    return "stablehlo.return" if dialect == "chlo" else f"{dialect}.return"  # CHLO has regions and no terminator


def opcode_of(name: str, owner: str) -> str:
    """The model's opcode of an MLIR operation: without `stablehlo.`, and `return` for the terminator of its region."""
    if name == return_of(owner):
        return "return"
    return name if name == "stablehlo.return" else name.removeprefix("stablehlo.")
