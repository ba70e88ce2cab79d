"""A second way to every number of a compiled program: XLA's parse, a run of its control flow, and plain counts.

Nothing here uses hlodiff but to hand text to XLA's parser (`hlo.mlir`): instructions are read from XLA's own proto,
loops are turned one by one on plain integers, and what is counted is written down again from docs/numbers.md.

XLA's proto has no opcode for `X-start` where X is no collective: there is an `async-start` that calls a computation of
X alone. It is read here as the text has it.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

from hlodiff.hlo import mlir
from tests.oracle import _TYPES, _numbers, _one, fields

_BITS = {"pred": 8, "s4": 4, "u4": 4, "s2": 2, "u2": 2, "bf16": 16, "c64": 64, "c128": 128, "token": 0, "opaque": 0}
_DIRECTION = {"LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge, "EQ": operator.eq,
              "NE": operator.ne}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "maximum": max, "minimum": min,
}  # fmt: skip
_PASSED_ON = {"copy", "convert", "bitcast", "reshape", "broadcast", "opt-barrier", "optimization-barrier", "domain",
              "copy-start", "copy-done"}  # fmt: skip
_COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all", "collective-permute",
                "collective-broadcast")  # fmt: skip
# Nothing runs for them: they name values, or call what is counted itself.
_NO_OPERATION = {"parameter", "tuple", "get-tuple-element", "bitcast", "call", "async-start", "after-all", "domain"}
_NO_LAUNCH = _NO_OPERATION | {"constant", "while", "conditional", "optimization-barrier", "opt-barrier", "partition-id",
                              "replica-id"}  # fmt: skip
ELEMENTWISE = {
    "abs", "add", "atan2", "cbrt", "ceil", "clamp", "cosine", "divide", "erf", "exponential", "exponential-minus-one",
    "floor", "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate", "power", "remainder",
    "round-nearest-afz", "round-nearest-even", "rsqrt", "sign", "sine", "sqrt", "subtract", "tan", "tanh",
    "and", "count-leading-zeros", "not", "or", "popcnt", "shift-left", "shift-right-arithmetic",
    "shift-right-logical", "xor", "acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh",
}  # fmt: skip
_SLICES = {"slice", "dynamic-slice", "gather"}
_ONE_TO_ONE = ELEMENTWISE | {"bitcast", "compare", "convert", "copy", "reshape", "reverse", "select", "transpose"}
_HOST = 5


@dataclass(frozen=True)
class Type:
    """A shape: its element type, dimensions, parts of a tuple, and the number of the memory that it lies in."""

    kind: str
    dimensions: tuple[int, ...] = ()
    parts: tuple[Type, ...] = ()
    memory: int = 0
    physical: tuple[int, ...] = ()  # its dimensions as they lie in memory, the fastest last, padded to tiles

    @property
    def leaves(self) -> tuple[Type, ...]:
        return tuple(leaf for part in self.parts for leaf in part.leaves) if self.kind == "tuple" else (self,)

    @property
    def elements(self) -> int:
        return prod(self.dimensions)

    @property
    def bytes(self) -> int:
        bits = (leaf.elements * _bits(leaf.kind) for leaf in self.leaves)
        return sum((number + 7) // 8 for number in bits)

    @property
    def padded_bytes(self) -> int:
        return (prod(self.physical) * _bits(self.kind) + 7) // 8


def _bits(kind: str) -> int:
    return _BITS[kind] if kind in _BITS else int("".join(c for c in kind[1:3] if c.isdigit()))


@dataclass
class Op:
    """One instruction of XLA's proto."""

    name: str
    opcode: str
    type: Type
    operands: list[int]  # positions in its body
    called: list[str]
    proto: dict[int, list[Any]]
    literal: int | bool | None = None

    def text(self, number: int) -> str:
        value: bytes = self.proto.get(number, [b""])[0]
        return value.decode(errors="replace")

    @property
    def target(self) -> str:
        return self.text(28)

    @property
    def config(self) -> str:
        return self.text(43)

    @property
    def plain(self) -> str:
        """The opcode without `-start`."""
        return self.opcode.removesuffix("-start")


@dataclass
class Body:
    """A computation."""

    name: str
    ops: list[Op]
    root: int

    def operands(self, op: Op) -> list[Type]:
        return [self.ops[o].type for o in op.operands]

    def users(self, position: int) -> list[Op]:
        return [op for op in self.ops if position in op.operands]

    def parameters(self) -> dict[int, int]:
        """Positions by parameter number."""
        return {_one(op.proto, 9): n for n, op in enumerate(self.ops) if op.opcode == "parameter"}


@dataclass
class Program:
    bodies: dict[str, Body]
    entry: str

    @cached_property
    def not_stored(self) -> set[str]:
        """Bodies whose values stay in registers: of fusions, of what is applied to elements, of calls of the host."""
        return _called_by(self, lambda op: op.plain == "fusion" or op.opcode == "custom-call-start" or _applies(op))


def parse(text: str) -> Program:
    """A program as XLA's parser reads it."""
    message = fields(mlir.hlo_from_text(text).as_serialized_hlo_module_proto())
    protos = [fields(data) for data in message[3]]
    names = {_one(c, 5): c[1][0].decode() for c in protos}
    bodies = {}
    for proto in protos:
        ops = [fields(data) for data in proto[2]]
        places = {_one(op, 35): n for n, op in enumerate(ops)}
        bodies[names[_one(proto, 5)]] = Body(
            names[_one(proto, 5)],
            [
                Op(
                    op[1][0].decode(), op[2][0].decode(), _type(op[3][0]), [places[n] for n in _numbers(op, 36)],
                    [names[n] for n in _numbers(op, 38)], op, _literal(op),
                )
                for op in ops
            ],
            places[_one(proto, 6)],
        )  # fmt: skip
    return _as_printed(Program(bodies, names[_one(message, 6)]))


def _type(data: bytes) -> Type:
    message = fields(data)
    layout = fields(message[5][0]) if 5 in message else {}
    sizes = _numbers(message, 3)
    physical = [sizes[n] for n in reversed(_numbers(layout, 1))]
    tile = _numbers(fields(layout[6][0]), 1) if 6 in layout else []
    physical = [1] * (len(tile) - len(physical)) + physical
    for n, size in enumerate(reversed(tile), 1):
        physical[-n] = -(-physical[-n] // size) * size
    parts = tuple(_type(part) for part in message.get(4, []))
    return Type(_TYPES[_one(message, 2)], tuple(sizes), parts, _one(layout, 8), tuple(physical))


def _literal(op: dict[int, list[Any]]) -> int | bool | None:
    """The value of an integer or boolean scalar."""
    if 8 not in op:
        return None
    literal = fields(op[8][0])
    if _type(literal[1][0]).dimensions:
        return None
    if 2 in literal:
        return bool(literal[2][0] != b"\0" if isinstance(literal[2][0], bytes) else literal[2][0])
    for number in (4, 5, 6, 7):
        if number in literal:
            value = _numbers(literal, number)[0]
            return value - (1 << 64) if value >> 63 else value
    return None


def _as_printed(program: Program) -> Program:
    """`X-start` instead of an `async-start` that calls a computation with X alone, as XLA prints it."""
    for body in program.bodies.values():
        starts: dict[int, Op] = {}
        for position, op in enumerate(body.ops):
            inner = program.bodies[op.called[0]] if op.opcode == "async-start" else None
            if inner and all(n == inner.root or one.opcode == "parameter" for n, one in enumerate(inner.ops)):
                starts[position] = root = inner.ops[inner.root]
                proto = {**op.proto, **{n: value for n, value in root.proto.items() if n in (28, 43, 49)}}
                body.ops[position] = Op(op.name, f"{root.opcode}-start", op.type, op.operands, root.called, proto)
            elif op.opcode in ("async-update", "async-done") and op.operands[0] in starts:
                starts[position] = begun = starts[op.operands[0]]
                body.ops[position] = Op(
                    op.name, op.opcode.replace("async", begun.opcode), op.type, op.operands, [], op.proto
                )
    return program


@dataclass
class Run:
    """How often everything ran: instructions by body and position, bodies, turns of loops that only data can end."""

    ops: Counter[tuple[str, int]] = field(default_factory=Counter)
    bodies: Counter[str] = field(default_factory=Counter)
    forced: Counter[str] = field(default_factory=Counter)
    guessed: bool = False


def run(program: Program, turns: int = 3, branch: int = 0) -> Run:
    """Run a program on integers that it holds itself; nothing else is computed.

    Args:
        program: as parsed.
        turns: how often to turn a loop that asks for data.
        branch: which branch to take of a conditional that asks for data.
    """
    machine = _Machine(program, turns, branch)
    machine.call(program.entry, [None] * len(program.bodies[program.entry].parameters()))
    return machine.run


class _Machine:
    def __init__(self, program: Program, turns: int, branch: int) -> None:
        self.program, self.turns, self.branch, self.run = program, turns, branch, Run()
        self.is_counted = True

    def call(self, name: str, given: list[Any]) -> Any:
        self.run.bodies[name] += self.is_counted
        body = self.program.bodies[name]
        values: list[Any] = []
        for position, op in enumerate(body.ops):
            self.run.ops[name, position] += self.is_counted
            if op.opcode == "parameter":
                values.append(given[_one(op.proto, 9)])
            else:
                values.append(self.value(op, [values[o] for o in op.operands]))
        return values[body.root]

    def value(self, op: Op, given: list[Any]) -> Any:
        if op.opcode == "while":
            return self.loop(op, given[0])
        if op.opcode == "conditional":
            return self.choose(op, given)
        if op.opcode in ("fusion", "call", "async-start", "fusion-start", "custom-call-start"):
            return self.call(op.called[0], given) if op.called else None
        if op.opcode == "tuple":
            return tuple(given)
        if op.opcode == "get-tuple-element":
            return given[0][_one(op.proto, 13)] if isinstance(given[0], tuple) else None
        if op.opcode == "constant":
            return op.literal
        if op.opcode in _PASSED_ON and given:
            return given[0]
        if op.opcode == "and" and False in given:
            return False
        if not given or not all(isinstance(one, int) for one in given):
            return None
        if op.opcode == "compare":
            return _DIRECTION[op.text(63)](*given)
        if op.opcode == "select":
            return given[1] if given[0] else given[2]
        return _ARITHMETIC[op.opcode](*given) if op.opcode in _ARITHMETIC else None

    def loop(self, op: Op, state: Any) -> Any:
        body, condition = op.called
        done = 0
        # XLA's runtimes run a body as often as the program states, and its condition never.
        stated = re.search(r'"known_trip_count":\{"n":"?(\d+)', op.text(43))
        counted = self.is_counted
        while True:
            self.is_counted = counted and not stated
            going = self.call(condition, [state])
            self.is_counted = counted
            if going is None:
                self.run.guessed, going = True, done < self.turns
                self.run.forced[op.name] += going
            if not going:
                assert stated is None or int(stated[1]) == done, (op.name, stated, done)
                return state
            state, done = self.call(body, [state]), done + 1

    def choose(self, op: Op, given: list[Any]) -> Any:
        asked = given[0]
        if asked is None:
            self.run.guessed, asked = True, self.branch
        elif isinstance(asked, bool):
            asked = 0 if asked else 1
        number = min(max(int(asked), 0), len(op.called) - 1)
        return self.call(op.called[number], [given[1 + number]])


def in_text(program: Program) -> Run:
    """Every body as often as it is called in the text, whatever calls it: loops once, all branches."""
    seen = Run()
    stack = [program.entry]
    while stack:
        name = stack.pop()
        seen.bodies[name] += 1
        for position, op in enumerate(program.bodies[name].ops):
            seen.ops[name, position] += 1
            stack += op.called
    return seen


def numbers(program: Program, counted: Run) -> Counter[str]:
    """All numbers of docs/numbers.md that the program itself holds.

    Args:
        program: as parsed.
        counted: how often its instructions are counted.
    """
    found: Counter[str] = Counter()
    not_stored = program.not_stored
    applied, later = _called_by(program, _applies), _further_steps(program)
    for (name, position), times in counted.ops.items():
        body = program.bodies[name]
        op = body.ops[position]
        found["instructions"] += times
        for metric, number in _of_one(program, op).items() if (name, position) not in later else ():
            found[metric] += times * number
        if name not in applied:
            found["flops"] += times * (flops(body, op) + of_elements(program, body, op))
        if name not in not_stored:
            for metric, number in _moved(program, body, op).items():
                found[metric] += times * number
        if name not in not_stored and is_launched(op):
            read, written = traffic(program, body, op)
            found["launches"] += times
            found["bytes_read"] += times * read
            found["bytes_written"] += times * written
            found["bytes_accessed"] += times * (read + written)
    return found + _collectives(program, counted, later)


def everything_in(program: Program, op: Op) -> Iterator[Op]:
    """All instructions that one calls, and what they call."""
    for name in op.called:
        for inner in program.bodies[name].ops:
            yield inner
            yield from everything_in(program, inner)


def casts_a_slice(program: Program, op: Op) -> bool:
    """Whether a fusion takes a part of an array in another element type, as TPUs do with weights."""
    return op.plain == "fusion" and any(
        (inner.opcode in _SLICES and body.ops[inner.operands[0]].type.kind != inner.type.kind)
        or casts_a_slice(program, inner)
        for body in (program.bodies[name] for name in op.called)
        for inner in body.ops
    )


def _called_by(program: Program, wanted: Callable[[Op], bool]) -> set[str]:
    return {name for body in program.bodies.values() for op in body.ops if wanted(op) for name in op.called}


def _applies(op: Op) -> bool:
    """Whether what it calls is applied to elements."""
    return op.plain in ("reduce", "reduce-window", "scatter", "select-and-scatter", "sort", "map", "all-reduce",
                        "reduce-scatter")  # fmt: skip


def _of_one(program: Program, op: Op) -> Counter[str]:
    found: Counter[str] = Counter()
    if op.opcode == "fusion":
        found["fusions"] = found[f"fusions.{op.text(11)}"] = 1
    if op.opcode in _NO_OPERATION or op.opcode.endswith(("-done", "-update")):
        return found
    if op.plain == "fusion" and _operations(program, op) <= 1:
        return found  # it counts as the operation in it
    if op.opcode.endswith("-start") and op.called and not _applies(op):
        return found
    found["ops"] = found[f"op.{op.plain}"] = 1
    if op.plain == "custom-call":
        found["custom_calls"] = found[f"custom_calls.{op.target}"] = 1
        found["host_callbacks"] = int("callback" in op.target)
        found["host_transfers"] = int(op.target in ("MoveToHost", "MoveToDevice"))
    if op.plain in ("send", "recv", "infeed", "outfeed"):
        found["host_transfers"] = int("feed" in op.plain or bool(_one(op.proto, 47)))
    if op.opcode == "constant" and op.type.bytes >= 1024:
        found["large_literals"], found["large_literal_bytes"] = 1, op.type.bytes
    for opcode, metric in (("transpose", "transposes"), ("convert", "converts"), ("broadcast", "broadcasts"),
                           ("while", "loops")):  # fmt: skip
        found[metric] = int(op.plain == opcode)
    return found


def _moved(program: Program, body: Body, op: Op) -> Counter[str]:
    """Copies, and copies and slices into another memory: of an instruction, and of each result of a fusion."""
    found: Counter[str] = Counter()
    given = body.operands(op)
    moves: list[tuple[str, Type, Type | None]] = []  # opcode, to, from
    if op.plain in ("copy", "slice", "dynamic-slice", "dynamic-update-slice"):
        moves = [(op.plain, _result(op), given[0])]
    elif op.opcode == "fusion":
        inner = program.bodies[op.called[0]]
        root = inner.ops[inner.root]
        places = root.operands if root.opcode == "tuple" else [inner.root]
        for place, leaf in zip(places, op.type.leaves, strict=False):
            one = inner.ops[_behind_bitcasts(inner, place)]
            if one.opcode in ("copy", "slice", "dynamic-slice", "dynamic-update-slice"):
                source = inner.ops[_behind_bitcasts(inner, one.operands[0])]
                is_given = source.opcode == "parameter"
                moves.append((one.opcode, leaf, given[_one(source.proto, 9)] if is_given else None))
    for opcode, to, taken in moves:
        if opcode == "copy":
            found["copies"] += 1
            found["copy_bytes"] += to.bytes
        if taken is not None and taken.leaves[0].memory != to.leaves[0].memory:
            found["memory_moves"] += 1
            found["memory_move_bytes"] += to.bytes
            found["host_transfers"] += _HOST in (taken.leaves[0].memory, to.leaves[0].memory)
    return found


def _operations(program: Program, fusion: Op) -> int:
    return sum(op.opcode not in _NO_OPERATION for op in program.bodies[fusion.called[0]].ops)


def _collectives(program: Program, counted: Run, later: set[tuple[str, int]]) -> Counter[str]:
    """Collectives by family, as often as counted, and the bytes of their results on one device."""
    found: Counter[str] = Counter()
    for (name, position), times in counted.ops.items():
        op = program.bodies[name].ops[position]
        if op.plain in _COLLECTIVES and (name, position) not in later:
            family, size = op.plain, _result(op).bytes
            slices = _own_slices(program, name, op)
            if slices:
                family, size = "reduce-scatter", sum(one.type.bytes for one in slices)
            found["collectives"] += times
            found[f"collectives.{family}"] += times
            found["collective_bytes"] += times * size
            found[f"collective_bytes.{family}"] += times * size
    return found


def _own_slices(program: Program, name: str, op: Op) -> list[Op]:
    """What a TPU's fusion keeps of its all-reduce, where all that is read of it is sliced by the device's number."""
    body = program.bodies[name]
    in_fusion = any(
        name in one.called for each in program.bodies.values() for one in each.ops if one.opcode == "fusion"
    )
    if op.opcode != "all-reduce" or not in_fusion or not any(one.opcode == "partition-id" for one in body.ops):
        return []
    parts = [one for one in body.users(body.ops.index(op)) if one.opcode == "get-tuple-element"]
    read = [user for part in parts or [op] for user in body.users(body.ops.index(part))]
    return read if all(user.opcode == "dynamic-slice" for user in read) else []


def _further_steps(program: Program) -> set[tuple[str, int]]:
    """All steps but the first of each collective that a TPU takes in steps.

    The fusions of one collective hand its state from one to the next, from the one that holds `AsyncCollectiveStart` to
    the one that holds `AsyncCollectiveDone`: a step is a further one if its fusion has no start, and another does.
    """
    steps: dict[tuple[str, str], list[tuple[str, int, bool]]] = {}
    for name, body in program.bodies.items():
        starts = any(op.target == "AsyncCollectiveStart" for op in body.ops)
        for position, op in enumerate(body.ops):
            attributes = b"".join(op.proto.get(68, []))
            if op.plain in _COLLECTIVES and ("async_collective_fusion" in op.config or b"chain_id" in attributes):
                steps.setdefault((op.plain, f"{attributes!r} {op.proto.get(26)}"), []).append((name, position, starts))
    found = set()
    for places in steps.values():
        begun = [place for place in places if place[2]] or places[:1]
        found |= {place[:2] for place in places if place not in begun}
    return found


def _result(op: Op) -> Type:
    """What it hands over: the tuple of a start also names its operands."""
    if not op.opcode.endswith("-start") or not op.type.parts:
        return op.type
    if op.opcode == "copy-start":
        return op.type.parts[0]
    return op.type if op.opcode == "all-reduce-start" else op.type.parts[1]


def is_launched(op: Op) -> bool:
    """Whether the device is asked to do something."""
    only_names = op.target in ("AllocateBuffer", "ConcatBitcast")
    return op.opcode not in _NO_LAUNCH and not op.opcode.endswith(("-done", "-update")) and not only_names


def flops(body: Body, op: Op) -> int:
    """Operations of arithmetic on elements; matrix products by their shapes."""
    given = body.operands(op)
    if op.opcode in ELEMENTWISE:
        return op.type.elements if op.type.kind != "pred" else 0
    if op.opcode == "reduce":
        return sum(one.elements for one in given[: len(given) // 2])
    if op.plain in ("all-reduce", "reduce-scatter"):
        return sum(leaf.elements for one in given for leaf in one.leaves)
    if op.opcode == "dot":
        contracted = _numbers(fields(op.proto[30][0]), 1)
        return 2 * op.type.elements * prod(given[0].dimensions[n] for n in contracted)
    return convolution(op, *given) if op.opcode == "convolution" else 0


def of_elements(program: Program, body: Body, op: Op) -> int:
    """Operations of what an instruction applies to elements: for each update, and for each further one in a window."""
    times = 0
    if op.opcode == "scatter":
        times = body.operands(op)[-1].elements
    elif op.opcode == "reduce-window":
        windows = [fields(one) for one in fields(op.proto[15][0]).get(1, [])]
        result = op.type.leaves[0]
        times = (prod(_one(window, 1) for window in windows) - 1) * result.elements
        over = [(_one(w, 1), _signed(_one(w, 3)), n) for w, n in zip(windows, result.dimensions, strict=True)]
        reduced = [(size, low, n) for size, low, n in over if size != 1]
        if [(2 * n - 1, n - 1, n) for _, _, n in reduced[:1]] == reduced:  # each has all of the dimension
            times = result.elements // reduced[0][2] * (reduced[0][2] - 1)
    assert op.opcode not in ("sort", "map", "fft", "cholesky", "triangular-solve", "select-and-scatter"), "no example"
    applied = [program.bodies[name] for name in op.called] if times else []
    return times * sum(flops(inner, one) for inner in applied for one in inner.ops)


def convolution(op: Op, image: Type, kernel: Type) -> int:
    """2 for each multiplication of a convolution that meets an element, place by place."""
    labels, windows = fields(op.proto[16][0]), [fields(one) for one in fields(op.proto[15][0]).get(1, [])]
    pairs = 1
    for window, at, inside, out in zip(
        windows, _numbers(labels, 11), _numbers(labels, 6), _numbers(labels, 12), strict=True
    ):
        stride, low, step, base = _one(window, 2), _signed(_one(window, 3)), _one(window, 5), _one(window, 6)
        reach = (image.dimensions[at] - 1) * base
        places = (
            o * stride + k * step - low
            for o in range(op.type.dimensions[out])
            for k in range(kernel.dimensions[inside])
        )
        pairs *= sum(0 <= place <= reach and place % base == 0 for place in places)
    features = kernel.dimensions[_one(labels, 3)] * op.type.dimensions[_one(labels, 10)]
    return 2 * pairs * features * image.dimensions[_one(labels, 7)] // (_one(op.proto, 58) or 1)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def traffic(program: Program, body: Body, op: Op) -> tuple[int, int]:
    """Bytes that an instruction reads and writes; a slice and an update in place count as the slice."""
    given = body.operands(op)
    if op.plain == "fusion":
        return _fusion_traffic(program, program.bodies[op.called[0]], op, given)
    if op.opcode == "dynamic-update-slice":
        return sum(one.bytes for one in given[1:]), given[1].bytes
    written = _result(op).bytes
    if op.plain in _SLICES:
        return min(written, given[0].bytes) + sum(one.bytes for one in given[1:]), written
    return sum(one.bytes for one in given), written


def _fusion_traffic(program: Program, inner: Body, op: Op, given: list[Type]) -> tuple[int, int]:
    places = inner.parameters()
    root = inner.ops[inner.root]
    results = root.operands if root.opcode == "tuple" else [inner.root]
    parts = op.type.parts or (op.type,)
    kept = list(keeps(op))
    held = [place for number, place in enumerate(results) if number in kept and root.opcode == "tuple"]
    read = 0
    for number, one in enumerate(given):
        place = places[number]
        users = [user for user in inner.users(place) if not (kept and _goes_on(inner, user))]
        if place in held and users == [root]:
            continue
        if users or place == inner.root:
            taken = list(_taken(program, inner, place)) if one.kind != "tuple" else [None]
            share = Fraction(sum(part or 0 for part in taken), max(one.elements, 1))
            read += one.bytes if None in taken else min(one.bytes, int(one.bytes * share))
    if root.target == "AsyncCollectiveStart":
        return read, sum(part.bytes for number, part in enumerate(parts) if number not in kept)
    if op.opcode != "fusion" or len(parts) != len(results):
        return read, _result(op).bytes
    written = 0
    for number, (place, part) in enumerate(zip(results, parts, strict=True)):
        made = inner.ops[place]
        if number not in kept or not (made.opcode == "parameter" or _goes_on(inner, made)):
            written += _put(program, inner, place, part)
    return read, written


def keeps(op: Op) -> Iterator[int]:
    """The results of an instruction that lie in the buffer of an operand; 0 is a whole result too."""
    for pair in op.proto.get(74, []):
        yield next(iter(_numbers(fields(pair), 1)), 0)


def _goes_on(inner: Body, op: Op) -> bool:
    """Whether it is a further step of a collective of a TPU, or its end."""
    if op.target:
        return op.target == "AsyncCollectiveDone"
    is_first = any(user.target == "AsyncCollectiveStart" for user in inner.users(inner.ops.index(op)))
    return op.plain in _COLLECTIVES and "async_collective_fusion" in op.config and not is_first


def _taken(program: Program, inner: Body, place: int) -> Iterator[int | None]:
    """The elements that each user of a parameter takes, None where that is all; fusions in fusions are looked into."""
    if place == inner.root:
        yield None
    for user in inner.users(place):
        first = user.operands.count(place) == 1 and user.operands[0] == place
        if user.opcode in _ONE_TO_ONE and user.type.elements == inner.ops[place].type.elements:
            yield from _taken(program, inner, inner.ops.index(user))
        elif user.opcode == "fusion":
            callee = program.bodies[user.called[0]]
            for number, operand in enumerate(user.operands):
                if operand == place:
                    yield from _taken(program, callee, callee.parameters()[number])
        elif user.opcode in _SLICES and first:
            yield user.type.elements
        elif user.opcode == "dynamic-update-slice" and first:
            yield 0
        else:
            yield None


def _put(program: Program, inner: Body, place: int, whole: Type) -> int:
    """What a fusion writes of one result."""
    op = inner.ops[_behind_bitcasts(inner, place)]
    if op.opcode == "fusion" and not op.type.parts:
        callee = program.bodies[op.called[0]]
        given = {n: inner.ops[_behind_bitcasts(inner, o)].opcode for n, o in enumerate(op.operands)}
        root = callee.ops[_behind_bitcasts(callee, callee.root)]
        if root.opcode == "dynamic-update-slice":
            base = callee.ops[_behind_bitcasts(callee, root.operands[0])]
            if base.opcode == "parameter" and given[_one(base.proto, 9)] == "parameter":
                return callee.ops[root.operands[1]].type.bytes
        return whole.bytes
    if op.opcode != "dynamic-update-slice":
        return whole.bytes
    base = inner.ops[_behind_bitcasts(inner, op.operands[0])]
    return inner.ops[op.operands[1]].type.bytes if base.opcode == "parameter" else whole.bytes


def _behind_bitcasts(body: Body, place: int) -> int:
    while body.ops[place].opcode == "bitcast":
        place = body.ops[place].operands[0]
    return place
