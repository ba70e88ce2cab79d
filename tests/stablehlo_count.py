"""A second way to every number of a StableHLO program: MLIR's own walk, a run of its control flow, and plain counts.

Nothing here uses hlodiff but to hand text to MLIR's parser (`hlo.mlir`). Two runs count: `run` turns loops on plain
integers and knows no data, and `reference_run` lets StableHLO's reference interpreter compute everything
(`stablehlo.eval_module`), with a probe in each block that leaves a line for each time it is passed.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from hlodiff.hlo import mlir

_DIRECTION = {"LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge, "EQ": operator.eq,
              "NE": operator.ne}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "maximum": max, "minimum": min,
}  # fmt: skip
_PASSED_ON = {"convert", "reshape", "broadcast_in_dim", "sdy.sharding_constraint"}
_ELEMENTWISE = {
    "abs", "add", "atan2", "cbrt", "ceil", "clamp", "cosine", "divide", "erf", "exponential", "exponential_minus_one",
    "floor", "log", "log_plus_one", "logistic", "maximum", "minimum", "multiply", "negate", "power", "remainder",
    "round_nearest_afz", "round_nearest_even", "rsqrt", "sign", "sine", "sqrt", "subtract", "tan", "tanh",
    "and", "count_leading_zeros", "not", "or", "popcnt", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "xor",
    "chlo.acos", "chlo.acosh", "chlo.asin", "chlo.asinh", "chlo.atan", "chlo.atanh", "chlo.bessel_i1e", "chlo.cosh",
    "chlo.digamma", "chlo.erf", "chlo.erf_inv", "chlo.erfc", "chlo.lgamma", "chlo.polygamma", "chlo.sinh",
    "chlo.square", "chlo.tan", "chlo.zeta",
}  # fmt: skip
_COLLECTIVES = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute",
                "collective_broadcast"}  # fmt: skip
_NO_OPERATION = {"return", "func.return", "func.call", "sdy.return", "sdy.manual_computation", "composite"}
_FLOW = {"while", "case", "if", "sdy.manual_computation"}


@dataclass(frozen=True)
class Type:
    element: str
    dimensions: tuple[int, ...]

    @property
    def elements(self) -> int:
        return prod(self.dimensions)

    @property
    def bytes(self) -> int:
        bits = {"i1": 8, "index": 64}.get(self.element) or int("".join(re.findall(r"\d+", self.element)[:1]))
        return (self.elements * bits + 7) // 8


@dataclass(eq=False)
class Op:
    """An operation: values are numbers, `inside` its regions' blocks."""

    name: str
    operands: list[int]
    results: list[int]
    types: list[Type]
    given: list[Type]
    attributes: dict[str, str]
    inside: list[Block]
    constant: int | bool | None = None

    @property
    def target(self) -> str:
        return self.attributes.get("call_target_name", "").strip('"')


@dataclass(eq=False)
class Block:
    arguments: list[int]
    ops: list[Op] = field(default_factory=list)


def parse(text: str) -> dict[str, Block]:
    """The functions of a program as MLIR parses it, loops with their printed names."""
    with mlir.context():
        module = mlir.mlir().Module.parse(text)
        numbers: dict[Any, int] = {}
        functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
        program = {
            op.attributes["sym_name"].value: _block(next(iter(op.regions[0].blocks)), numbers)
            for op in functions
            if len(list(op.regions[0].blocks))
        }
    loops = [op for block in program.values() for op in _everything(block) if op.name == "while"]
    for op, printed in zip(loops, re.findall(r"%([\w.]+)(?::\d+)? = \"?stablehlo\.while", text), strict=True):
        op.attributes["printed"] = printed  # MLIR forgets the names of values
    return program


def _everything(block: Block) -> Iterator[Op]:
    """All operations in the order of the text."""
    for op in block.ops:
        yield op
        for inside in op.inside:
            yield from _everything(inside)


def _block(block: Any, numbers: dict[Any, int]) -> Block:
    found = Block([numbers.setdefault(value, len(numbers)) for value in block.arguments])
    for each in block.operations:
        op = each.operation
        name = op.name.removeprefix("stablehlo.")
        attributes = {} if name == "constant" else {key: str(value) for key, value in mlir.attributes_of(op)}
        found.ops.append(
            Op(
                "return" if name.endswith("return") else name,
                [numbers.setdefault(value, len(numbers)) for value in op.operands],
                [numbers.setdefault(value, len(numbers)) for value in op.results],
                [_type(value) for value in op.results],
                [_type(value) for value in op.operands],
                attributes,
                [_block(inner, numbers) for region in op.regions for inner in region.blocks],
                _constant(op) if name == "constant" else None,
            )
        )
    return found


def _type(value: Any) -> Type:
    found = re.fullmatch(r"tensor<((?:\d+x)*)([a-z]\w*)(?:,.*)?>", str(value.type))
    assert found, value.type
    return Type(found[2], tuple(int(n) for n in found[1].split("x") if n))


def _constant(op: Any) -> int | bool | None:
    found = re.match(r"dense<(-?\d+|true|false)> : tensor<(u?i\d+)>", str(op.attributes["value"]))
    return None if found is None else found[1] == "true" if found[1].isalpha() else int(found[1])


@dataclass
class Run:
    """How often everything ran, and turns of loops that only data can end."""

    ops: Counter[Op] = field(default_factory=Counter)
    forced: Counter[str] = field(default_factory=Counter)
    guessed: bool = False


def run(program: dict[str, Block], turns: int = 3, branch: int = 0) -> Run:
    """Run a program on integers that it holds itself; see `hlo_count.run`."""
    machine = _Machine(program, turns, branch)
    main = program["main"]
    machine.block(main, [None] * len(main.arguments))
    return machine.run


class _Machine:
    def __init__(self, program: dict[str, Block], turns: int, branch: int) -> None:
        self.program, self.turns, self.branch, self.run = program, turns, branch, Run()
        self.values: dict[int, Any] = {}

    def block(self, block: Block, given: list[Any]) -> list[Any]:
        self.values.update(zip(block.arguments, given, strict=True))
        for op in block.ops:
            self.run.ops[op] += 1
            values = [self.values.get(operand) for operand in op.operands]
            if op.name == "return":
                return values
            self.values.update(zip(op.results, self.value(op, values), strict=True))
        return []

    def value(self, op: Op, given: list[Any]) -> list[Any]:
        nothing: list[Any] = [None] * len(op.results)
        if op.name == "while":
            return self.loop(op, given)
        if op.name in ("case", "if"):
            return self.block(self.chosen(op, given[0]), [])
        if op.name == "func.call":
            return self.block(self.program[op.attributes["callee"].removeprefix("@")], given)
        if op.name == "sdy.manual_computation":
            return self.block(op.inside[0], given)
        if op.name == "constant":
            return [op.constant]
        if op.name == "optimization_barrier":
            return given
        if op.name in _PASSED_ON:
            return given[:1]
        if op.name == "and" and False in given:
            return [False]
        if not given or not all(isinstance(one, int) for one in given):
            return nothing
        if op.name == "compare":
            return [
                next(act for word, act in _DIRECTION.items() if word in op.attributes["comparison_direction"])(*given)
            ]
        if op.name == "select":
            return [given[1] if given[0] else given[2]]
        return [_ARITHMETIC[op.name](*given)] if op.name in _ARITHMETIC else nothing

    def loop(self, op: Op, state: list[Any]) -> list[Any]:
        condition, body = op.inside
        done = 0
        while True:
            going = self.block(condition, state)[0]
            if going is None:
                self.run.guessed, going = True, done < self.turns
                self.run.forced[op.attributes["printed"]] += going
            if not going:
                return state
            state, done = self.block(body, state), done + 1

    def chosen(self, op: Op, asked: Any) -> Block:
        if asked is None:
            self.run.guessed, asked = True, self.branch
        elif isinstance(asked, bool):
            asked = 0 if asked else 1
        return op.inside[asked if 0 <= asked < len(op.inside) else -1]


def in_text(program: dict[str, Block]) -> Run:
    """Every block as often as it is called in the text: loops once, all branches."""
    seen = Run()
    stack = [program["main"]]
    while stack:
        for op in stack.pop().ops:
            seen.ops[op] += 1
            if op.name == "func.call":
                stack.append(program[op.attributes["callee"].removeprefix("@")])
            elif op.name in _FLOW:
                stack += op.inside
    return seen


def applied(op: Op) -> Iterator[Op]:
    """What is applied to elements inside a reduction, a scatter or a sort."""
    for block in op.inside if op.name not in _FLOW else ():
        for inner in block.ops:
            yield inner
            yield from applied(inner)


def numbers(counted: Run) -> Counter[str]:
    """The numbers of docs/numbers.md that StableHLO has."""
    found: Counter[str] = Counter()
    for op, times in counted.ops.items():
        found["flops"] += times * flops(op)
        for one in (op, *applied(op)):
            if one.name not in _NO_OPERATION:
                found["ops"] += times
                found[f"op.{one.name}"] += times
        if op.name in _COLLECTIVES:
            family = op.name.replace("_", "-")
            for name, number in (("collectives", 1), ("collective_bytes", sum(one.bytes for one in op.types))):
                found[name] += times * number
                found[f"{name}.{family}"] += times * number
        if op.name == "custom_call":
            found["custom_calls"] += times
            found[f"custom_calls.{op.target}"] += times
            found["host_callbacks"] += times * ("callback" in op.target)
            found["host_transfers"] += times * (op.target == "annotate_device_placement")
        if op.name == "constant" and op.types[0].bytes >= 1024:
            found["large_literals"] += times
            found["large_literal_bytes"] += times * op.types[0].bytes
        for name, metric in (("transpose", "transposes"), ("convert", "converts"), ("broadcast_in_dim", "broadcasts"),
                             ("while", "loops")):  # fmt: skip
            found[metric] += times * (op.name == name)
    return found


def flops(op: Op) -> int:
    """Operations of arithmetic on elements; what a reduction applies counts where it is applied."""
    if op.name in _ELEMENTWISE:
        return op.types[0].elements if op.types[0].element != "i1" else 0
    if op.name == "reduce":
        return sum(one.elements for one in op.given[: len(op.given) // 2])
    if op.name == "scatter":
        return op.given[-1].elements * sum(flops(one) for block in op.inside for one in block.ops)
    if op.name == "triangular_solve":
        return 2 * op.given[0].dimensions[-1] * op.given[1].elements
    assert op.name not in ("reduce_window", "sort", "map", "fft", "cholesky", "select_and_scatter"), "no example"
    if op.name in ("all_reduce", "reduce_scatter"):
        return sum(one.elements for one in op.given)
    assert op.name != "convolution", "no example has one"
    if op.name != "dot_general":
        return 0
    listed = re.search(r"lhs_contracting_dimensions = \[([\d, ]*)\]", op.attributes["dot_dimension_numbers"])
    contracted = [int(n) for n in listed[1].split(",")] if listed and listed[1] else []
    return 2 * op.types[0].elements * prod(op.given[0].dimensions[n] for n in contracted)


def has_reference_run(text: str) -> bool:
    """Whether the reference interpreter has all operations of a program, and its probes reach all of its loops."""
    program = parse(text)

    def reached(block: Block, in_branch: bool) -> Iterator[bool]:
        for op in block.ops:
            is_flow = op.name in ("while", "case")
            yield not (
                op.name in _COLLECTIVES | {"custom_call"} or op.name.startswith("sdy.") or (in_branch and is_flow)
            )
            if op.name == "func.call":
                yield from reached(program[op.attributes["callee"].removeprefix("@")], in_branch)
            for inside in op.inside if is_flow else ():
                yield from reached(inside, in_branch or op.name == "case")

    return all(reached(program["main"], False))


def reference_run(text: str, folder: Path) -> Run:
    """What happens when StableHLO's reference interpreter computes the whole program, on small numbers.

    A probe stands in each condition and body of a loop, and one on the index of each `case`: the interpreter has none
    inside of its branches, so a program with loops there cannot be counted.

    Args:
        text: a program without collectives, custom calls or shardings, which the interpreter does not have.
        folder: an empty one, for what the probes leave.
    """
    ir = mlir.mlir()
    stablehlo = mlir._load("jaxlib.mlir.dialects.stablehlo")
    with mlir.context() as context:
        stablehlo.register_interpreter_dialect(context, True)
        module = ir.Module.parse(text)
        with ir.Location.unknown():
            _add_probes(module, ir)
            main = next(op for op in module.body.operations if op.operation.attributes["sym_name"].value == "main")
            arguments = [_argument(value.type, ir) for value in next(iter(main.regions[0].blocks)).arguments]
        stablehlo.register_stablehlo_passes()
        legalize = mlir._load("jaxlib.mlir.passmanager").PassManager.parse(
            "builtin.module(func.func(chlo-legalize-to-stablehlo))"
        )
        legalize.run(module.operation)
        stablehlo.eval_module(module, arguments, str(folder))
    passed: dict[int, list[int]] = {}
    index = folder / "index.csv"
    for line in index.read_text().splitlines() if index.exists() else ():
        number, _, file = line.split(",")
        passed.setdefault(int(number), []).append(int(np.load(file)))
    return _counted(parse(text), passed)


def _add_probes(module: Any, ir: Any) -> None:
    """Probes are numbered as `_probed` numbers what they stand in: in the order of the text."""
    number = 0
    zero = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0)

    def probe(op: Any) -> Any:
        nonlocal number
        op = op.operation
        if op.name == "stablehlo.case":
            with ir.InsertionPoint(op):
                name = {"probe_id": ir.StringAttr.get(str(number))}
                ir.Operation.create("interpreter.probe", [op.operands[0].type], [op.operands[0]], name)
            number += 1
        for region in op.regions if op.name == "stablehlo.while" else ():
            with ir.InsertionPoint(next(iter(next(iter(region.blocks)).operations))):
                value = ir.DenseElementsAttr.get_splat(ir.RankedTensorType.get([], zero.type), zero)
                one = ir.Operation.create("stablehlo.constant", [value.type], [], {"value": value}).result
                name = {"probe_id": ir.StringAttr.get(str(number))}
                ir.Operation.create("interpreter.probe", [one.type], [one], name)
            number += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(probe, ir.WalkOrder.PRE_ORDER)


def _counted(program: dict[str, Block], passed: dict[int, list[int]]) -> Run:
    """Runs of every operation from what the probes saw; a function runs as often as its call sites."""
    probes = _probed(program)
    found = Run()

    def ran(block: Block, times: int) -> None:
        for op in block.ops:
            found.ops[op] += times
            if op.name == "func.call":
                ran(program[op.attributes["callee"].removeprefix("@")], times)
            elif op.name == "case":
                seen = [n if 0 <= n < len(op.inside) else len(op.inside) - 1 for n in passed.get(probes[op], [])]
                for number, branch in enumerate(op.inside):
                    ran(branch, seen.count(number))
            elif op.name == "while":
                for number, inside in enumerate(op.inside):
                    ran(inside, len(passed.get(probes[op] + number, [])))

    ran(program["main"], 1)
    return found


def _probed(program: dict[str, Block]) -> dict[Op, int]:
    """The number of the probe on each `case`, and of the first of the two in each loop."""
    found: dict[Op, int] = {}
    number = 0
    for block in program.values():
        for op in _everything(block):
            if op.name in ("case", "while"):
                found[op] = number
                number += 1 if op.name == "case" else 2
    return found


def _argument(kind: Any, ir: Any) -> Any:
    element = kind.element_type
    number = ir.FloatAttr.get(element, 0.01) if "f" in str(element) else ir.IntegerAttr.get(element, 1)
    return ir.DenseElementsAttr.get_splat(kind, number)
