"""Prints a module as StableHLO text: valid MLIR in its pretty form, with the model's names as SSA names.

The printer writes MLIR's generic form with a name location on every operation and argument, and lets MLIR verify it and
print it with locations as names. So the text is MLIR's own, and only the names are ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hlodiff.hlo import mlir
from hlodiff.hlo.model import (
    Computation,
    Instruction,
    Module,
    Shape,
    is_captured,
    is_function,
    shared_names,
    split_operands,
)
from hlodiff.hlo.stablehlo_parser import return_of, type_text

_BARE = re.compile(r"[A-Za-z_][\w.$]*")
_RESULT = re.compile(r"result(\d+)\.(.+)", re.DOTALL)


def print_stablehlo(module: Module) -> str:
    """Print a StableHLO module.

    Args:
        module: a module with `stage == "stablehlo"`.

    Returns:
        MLIR text that `read_stablehlo` reads into an equal module, except for names, lines, scopes and frames.

    Raises:
        ReadError: the module is not a valid program; the line refers to MLIR's generic form.

    Example:
        >>> from hlodiff.hlo.stablehlo_parser import read_stablehlo
        >>> text = "func.func @f(%a: tensor<i1>) -> tensor<i1> {return %a : tensor<i1>}"
        >>> print(print_stablehlo(read_stablehlo(text)))
        module {
          func.func @f(%a: tensor<i1>) -> tensor<i1> {
            return %a : tensor<i1>
          }
        }
        <BLANKLINE>
    """
    return mlir.pretty_text(mlir.parse_mlir(generic_form(module), "<generic form>"))


def generic_form(module: Module) -> str:
    """The module in MLIR's generic form, with names as locations."""
    printer = _Printer(module)
    header = {k: v for k, v in module.attributes if " @" not in k and k != "dialect_resources"}
    properties = {"sym_name": quote(module.name)} if module.name else {}
    printer.lines.append('"builtin.module"() ({')
    for name, text in module.attributes:
        if " @" in name:
            printer.lines.append(f"{name} = {text}" if name.startswith("sdy.mesh ") else text)
    for computation in module.computations:
        if is_function(computation):
            printer.function(computation)
    printer.lines.append(f"}}) {_dictionary({**properties, **header})} : () -> ()")
    resources = [text for name, text in module.attributes if name == "dialect_resources"]
    return "\n".join([*printer.lines, *resources])


@dataclass(slots=True)
class _Printer:
    module: Module
    lines: list[str] = field(default_factory=list)
    counter: int = 0

    def fresh(self) -> str:
        self.counter += 1
        return f"%v{self.counter}"

    def function(self, computation: Computation) -> None:
        instructions = computation.instructions
        parameters = [instructions[n] for n in computation.parameters]
        root = instructions[computation.root]
        attributes = {k: v for k, v in computation.attributes if k != "visibility"}
        attributes["sym_name"] = quote(computation.name)
        if visibility := dict(computation.attributes)["visibility"]:
            attributes["sym_visibility"] = quote(visibility)
        if root.opcode == "func.declaration":
            attributes["function_type"] = root.attribute("function_type") or "() -> ()"
            self.lines.append(f'"func.func"() ({{}}) {_dictionary(attributes)} : () -> ()')
            return
        results = self.operand_types(computation, root)
        attributes["function_type"] = f"({', '.join(type_text(p.shape) for p in parameters)}) -> ({', '.join(results)})"
        if any(p.attributes for p in parameters):
            attributes["arg_attrs"] = f"[{', '.join(_dictionary(dict(p.attributes)) for p in parameters)}]"
        of_results: list[dict[str, str]] = [{} for _ in results]
        for name, value in root.attributes:
            if match := _RESULT.match(name):
                of_results[int(match[1])][match[2]] = value
        if any(of_results):
            attributes["res_attrs"] = f"[{', '.join(map(_dictionary, of_results))}]"
        self.lines.append('"func.func"() ({')
        self.block(computation, {}, "func.func", {})
        self.lines.append(f"}}) {_dictionary(attributes)} : () -> ()")

    def block(self, computation: Computation, captured: dict[int, str], owner: str, names: dict[int, str]) -> None:
        """Print one block: `captured` maps captured parameters to SSA values, `names` replaces parameter names."""
        values: dict[int, str] = dict(captured)
        arguments = []
        for index in computation.parameters:
            if index not in captured:
                values[index] = self.fresh()
                parameter = computation.instructions[index]
                name = names.get(index, parameter.name)
                arguments.append(f"{values[index]}: {type_text(parameter.shape)} loc({quote(name)})")
        self.lines.append(f"^bb0({', '.join(arguments)}):" if arguments else "^bb0:")
        for index, instruction in enumerate(computation.instructions):
            if instruction.opcode != "parameter":
                values[index] = self.fresh()
                self.operation(computation, instruction, values, values[index], owner, names.get(index))

    def operation(
        self, scope: Computation, op: Instruction, values: dict[int, str], result: str, owner: str, name: str | None
    ) -> None:
        opcode = mlir_name(op.opcode, owner)
        inside, _ = split_operands(self.module, op)
        operands = [self.reference(scope, op, n, values) for n in range(len(op.operands))]
        types = self.operand_types(scope, op)
        location = quote(op.name if name is None else name)
        shapes = result_shapes(op.shape)
        head = f"{result}:{len(shapes)} = " if len(shapes) > 1 else f"{result} = " if shapes else ""
        regions = [self.module.computations[n] for n in op.called if not is_function(self.module.computations[n])]
        self.lines.append(f'{head}"{opcode}"({", ".join(operands[:inside])})' + (" ({" if regions else ""))
        position = inside
        for number, region in enumerate(regions):
            free = [n for n in region.parameters if is_captured(region.instructions[n])]
            bound = dict(zip(free, operands[position : position + len(free)], strict=True))
            position += len(free)
            if number:
                self.lines.append("}, {")
            self.block(region, bound, opcode, shared_names(op, regions, number))
        attributes = {k: v for k, v in op.attributes if not _RESULT.match(k)}
        if op.opcode == "constant" and op.literal is not None:
            attributes["value"] = f"{op.literal} : {type_text(op.shape)}"
        attributes |= self.symbols(op)
        signature = f"({', '.join(types[:inside])}) -> ({', '.join(map(type_text, shapes))})"
        tail = f"{_dictionary(attributes)} : {signature} loc({location})"
        self.lines.append(f"}}) {tail}" if regions else tail)

    def reference(self, scope: Computation, op: Instruction, number: int, values: dict[int, str]) -> str:
        operand = op.operands[number]
        result = op.results[number] if op.results else 0
        several = len(result_shapes(scope.instructions[operand].shape)) > 1
        return f"{values[operand]}#{result}" if several else values[operand]

    def operand_types(self, scope: Computation, op: Instruction) -> list[str]:
        return [type_text(result_shapes(scope.instructions[operand].shape)[result]) for operand, result in op.reads]

    def symbols(self, op: Instruction) -> dict[str, str]:
        """Calls of functions as MLIR attributes."""
        out = {}
        for name, called in op.calls:
            functions = [self.module.computations[n] for n in called]
            if all(map(is_function, functions)):
                text = ", ".join(f"@{symbol(f.name)}" for f in functions)
                out[name] = f"[{text}]" if name == "called_computations" else text
        return out


def result_shapes(shape: Shape) -> tuple[Shape, ...]:
    """The MLIR results of a model shape: none, one or several."""
    return shape.tuple_shapes if shape.element_type == "tuple" else (shape,)


def mlir_name(opcode: str, owner: str) -> str:
    """The MLIR operation of an opcode: `mlir_name("add", "func.func") == "stablehlo.add"`."""
    if opcode == "return":
        return return_of(owner)
    return opcode if "." in opcode else f"stablehlo.{opcode}"


def _dictionary(attributes: dict[str, str]) -> str:
    items = (f"{k if _BARE.fullmatch(k) else quote(k)} = {v}" for k, v in attributes.items())
    return f"{{{', '.join(items)}}}"


def symbol(name: str) -> str:
    """A symbol name as written after `@`; quoted unless it is a bare word."""
    return name if re.fullmatch(r"[A-Za-z_][\w.$-]*", name) else quote(name)


def quote(text: str) -> str:
    """An MLIR string."""
    out = []
    for byte in text.encode():
        char = chr(byte)
        out.append(char if 0x20 <= byte < 0x7F and char not in '"\\' else f"\\{byte:02X}")
    return f'"{"".join(out)}"'
