"""StableHLO text to the program model, through jaxlib's MLIR bindings.

How MLIR maps to the model (the printer inverts all of it):

- `func.func` is a Computation with the attribute `visibility`; a region is a Computation called by its operation.
- A function reference (`callee`, `called_computations`, `decomposition`) becomes a call and no attribute.
- Argument attributes stand on the parameter, result attributes on the `return` as `result0.sdy.sharding`.
- A value from outside a region is one more parameter with `("captured", "true")`; the operation that owns the regions
  has the captured values of its regions, in order, as its last operands. The order is that in which they are defined:
  the order of uses inside is another one as soon as two operands are exchanged there.
- `sdy.mesh` and other module-level operations are module attributes: `("sdy.mesh @mesh", '<["x"=2]>')`.
- An operation with no or several results has a tuple shape; one result of MLIR type `tuple` is a tuple of one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from hlodiff.errors import ReadError
from hlodiff.ir import bindings
from hlodiff.ir.cycles import HINT, endless_calls
from hlodiff.ir.model import Computation, Instruction, Module, Shape
from hlodiff.ir.stablehlo_locations import read_locations
from hlodiff.ir.stablehlo_types import shape_of

_REGION_NAMES = {
    "while": ("cond", "body"),
    "if": ("true", "false"),
    "select_and_scatter": ("select", "scatter"),
}
_FUNCTION_KEYS = ("sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs")
_RESOURCES = re.compile(r"^\{-#.*^#-\}", re.MULTILINE | re.DOTALL)
_SYMBOLS = re.compile(r'@(?:"(?:[^"\\]|\\.)*"|[\w.$-]+)')
_DEBUG = re.compile(r'\bloc\((?:"|#loc\d*\)|callsite\(|fused[<\[]|unknown\))')
_NAME = re.compile(r"\s*%([\w.$-]+)")
CAPTURED = ("captured", "true")


def read_stablehlo(text: str, *, path: str = "") -> Module:
    """Read one StableHLO module.

    Args:
        text: MLIR text, with or without debug info.
        path: the file as the user named it, for errors.

    Returns:
        The module with `stage == "stablehlo"`.

    Raises:
        ReadError: the text is no valid StableHLO module; says where.
        HlodiffError: jaxlib is missing or of a version that hlodiff does not know.

    Example:
        >>> read_stablehlo("func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }").entry
        0
    """
    parsed = bindings.parse_mlir(text, path)
    return _Reader(text, path, parsed).read()


@dataclass(slots=True)
class _Scope:
    """One function or region while it is read."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)
    values: dict[Any, tuple[int, int]] = field(default_factory=dict)
    parameters: int = 0
    captures: list[Any] = field(default_factory=list)

    def parameter(self, value: Any, instruction: Instruction) -> None:
        self.values[value] = (len(self.instructions), 0)
        self.instructions.append(instruction)
        self.parameters += 1


class _Reader:
    """State of one reading: symbols, cached texts, locations in the post-order in which operations end."""

    def __init__(self, text: str, path: str, module: Any) -> None:
        self.text, self.path, self.module = text, path, module
        self.lines = text.splitlines()
        self.names = bindings.mlir().AsmState(module.operation)
        self.debug = _DEBUG.search(text) is not None
        self.locations, order = read_locations(bindings.generic_text(module) if self.debug else "")
        self.order = iter(order)
        self.functions: dict[str, int] = {}
        self.computations: list[Computation | None] = []
        self.shapes: dict[Any, Shape] = {}
        self.texts: dict[Any, str] = {}
        self.value_names: dict[Any, str] = {}
        self.defined: dict[Any, int] = {}  # which one it was, counted through the whole text

    def read(self) -> Module:
        operations = [op.operation for op in self.module.body.operations]
        for op in operations:
            if op.name == "func.func":
                self.functions[_symbol(op)] = len(self.functions)
        self.computations.extend(None for _ in self.functions)
        attributes = [(key, self.attr_text(value)) for key, value in self.header()]
        for op in operations:
            if op.name == "func.func":
                self.function(op)
            else:
                attributes.append(self.module_level(op))
                for _ in range(bindings.count_operations(op)):
                    next(self.order, None)
        if resources := _RESOURCES.search(self.text):
            attributes.append(("dialect_resources", resources[0]))
        computations = tuple(c for c in self.computations if c is not None)
        if not computations:
            raise ReadError("the module holds no function", path=self.path)
        if endless := endless_calls(computations):
            raise ReadError(endless[0], path=self.path, line=endless[1], hint=HINT)
        frames = tuple(self.locations.frames)
        return Module(self.module_name(), "stablehlo", computations, self.entry(), tuple(attributes), frames)

    def header(self) -> list[tuple[str, Any]]:
        return [(k, v) for k, v in bindings.attributes_of(self.module.operation) if k != "sym_name"]

    def module_name(self) -> str:
        found = dict(bindings.attributes_of(self.module.operation)).get("sym_name")
        return found.value if found is not None else ""

    def entry(self) -> int:
        if "main" in self.functions:
            return self.functions["main"]
        public = [n for n, c in enumerate(self.computations) if c and ("visibility", "public") in c.attributes]
        return public[0] if public else 0

    def module_level(self, op: Any) -> tuple[str, str]:
        """A mesh or another operation beside the functions, verbatim."""
        if op.name == "sdy.mesh":
            head, _, rest = str(op).partition(" = ")
            return head, rest
        return f"{op.name} @{_symbol(op)}", op.get_asm(print_generic_op_form=True)

    def function(self, op: Any) -> None:
        name = _symbol(op)
        attributes = dict(bindings.attributes_of(op))
        scope = _Scope(name)
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
            self.result_attributes(scope, list(attributes.get("res_attrs", ())))
        visibility = attributes["sym_visibility"].value if "sym_visibility" in attributes else ""
        others = [(k, self.attr_text(v)) for k, v in attributes.items() if k not in _FUNCTION_KEYS]
        _, _, line = self.place(op)
        self.computations[self.functions[name]] = Computation(
            name, tuple(scope.instructions), len(scope.instructions) - 1,
            attributes=(("visibility", visibility), *others), line=line[0],
        )  # fmt: skip

    def arguments(self, scope: _Scope, block: Any, attributes: list[Any], owner: str = "") -> None:
        """The block arguments as parameters; a function's argument location is the user's name for it.

        `owner` names the arguments that the text does not show (`stablehlo.reduce ... applies stablehlo.add`).
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

    def result_attributes(self, scope: _Scope, attributes: list[Any]) -> None:
        own = tuple((f"result{n}.{a.name}", self.attr_text(a.attr)) for n, d in enumerate(attributes) for a in d)
        if own:
            last = scope.instructions[-1]
            scope.instructions[-1] = replace(last, attributes=(*last.attributes, *own))

    def operation(self, scope: _Scope, op: Any, owner: str) -> None:
        """Append one operation to `scope`, its regions to the computations."""
        results = list(op.results)
        opcode = opcode_of(op.name, owner)
        name = self.name_results(results, op) if results else opcode.rpartition(".")[2]
        operands = [self.lookup(scope, value) for value in op.operands]
        calls, captured = self.regions(scope, op, opcode, name)
        operands += [self.lookup(scope, value) for value in captured]
        attributes, literal = [], None
        for key, value in bindings.attributes_of(op):
            if (called := self.called(value)) is not None:
                calls.append((key, called))
            elif opcode == "constant" and (own := self.literal(key, value, results[0])) is not None:
                literal = own
            else:
                attributes.append((key, self.attr_text(value)))
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
        """The SSA name of an operation; MLIR's own numbering where the text's names are out of sight."""
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
        self, scope: _Scope, op: Any, opcode: str, name: str
    ) -> tuple[list[tuple[str, tuple[int, ...]]], list[Any]]:
        """The calls of an operation through its regions and the outer values that the regions use."""
        regions = list(op.regions)
        calls: list[tuple[str, tuple[int, ...]]] = []
        captured: list[Any] = []
        for number, region in enumerate(regions):
            attribute = region_name(opcode, number, len(regions))
            inner = _Scope(f"{scope.name}.{name}.{region_title(opcode, number, len(regions))}")
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

    def in_order(self, scope: _Scope) -> list[Any]:
        """The captured values of a region as they are defined outside, its parameters numbered so."""
        found = sorted(scope.captures, key=self.defined.__getitem__)
        for number, value in enumerate(found, scope.parameters - len(found)):
            place = scope.values[value][0]
            scope.instructions[place] = replace(scope.instructions[place], literal=str(number))
        return found

    def lookup(self, scope: _Scope, value: Any) -> tuple[int, int]:
        """Index and result number of a value, captured from outside where the scope does not define it."""
        if value not in scope.values:
            number = str(scope.parameters)
            name = self.value_names[value]
            shape = self.shape(value.type)
            scope.captures.append(value)
            scope.parameter(value, Instruction(name, "parameter", shape, attributes=(CAPTURED,), literal=number))
        return scope.values[value]

    def called(self, attribute: Any) -> tuple[int, ...] | None:
        """The functions that an attribute refers to, None where it is no (list of) function references."""
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
        """The SSA name as the text has it; MLIR forgets names when it parses."""
        if not line or line > len(self.lines):
            return ""
        match = _NAME.match(self.lines[line - 1], max(0, column - 1))
        return match[1] if match else ""

    def literal(self, key: str, value: Any, result: Any) -> str | None:
        """The text of a constant's value without its type, where that is the type of the result."""
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

    def unsupported(self, what: str, op: Any) -> ReadError:
        _, _, (line, column) = self.place_of(_location_text(op.location))
        offending = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return ReadError(
            f"{what} ({op.name}) is no StableHLO", path=self.path, line=line, column=column, text=offending
        )


def _symbol(op: Any) -> str:
    found = dict(bindings.attributes_of(op)).get("sym_name")
    return found.value if found is not None else ""


def _location_text(location: Any) -> str:
    return str(location).removeprefix("loc(").removesuffix(")")


def _results(shapes: list[Shape]) -> Shape:
    if len(shapes) == 1 and shapes[0].element_type != "tuple":
        return shapes[0]
    return Shape("tuple", tuple_shapes=tuple(shapes), is_array=False)


def return_of(owner: str) -> str:
    """The terminator that belongs into a region of `owner`: `return_of("func.func") == "func.return"`."""
    dialect = owner.partition(".")[0]
    return f"{dialect}.return"


def opcode_of(name: str, owner: str) -> str:
    """The model's opcode of an MLIR operation: without `stablehlo.`, and `return` for a region's own terminator."""
    if name == return_of(owner):
        return "return"
    return name.removeprefix("stablehlo.")


def region_name(opcode: str, number: int, count: int) -> str:
    """The call attribute of a region: `region_name("while", 1, 2) == "body"`."""
    if opcode in _REGION_NAMES:
        return _REGION_NAMES[opcode][number]
    if opcode == "case":
        return "branches"
    return "body" if count == 1 else f"region{number}"


def region_title(opcode: str, number: int, count: int) -> str:
    """The last part of a region's name, one for each region: `region_title("case", 1, 3) == "branches1"`."""
    attribute = region_name(opcode, number, count)
    return f"{attribute}{number}" if attribute == "branches" else attribute
