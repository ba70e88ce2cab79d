"""Costs of one run of an instruction, from shapes: operations, bytes read and written, launches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from hlodiff.hlo.collectives import begins_collective, collective_result, is_later_step
from hlodiff.hlo.grammar import unquote
from hlodiff.hlo.model import Computation, Instruction, Module, Shape, is_embedded
from hlodiff.hlo.traversal import is_continuation, preorder

_CONTRACTED = re.compile(
    r"lhs_contracting_dimensions\"?\s*[=:]\s*\[([\d,\s\"]*)\]|^lhs_contracting_dims=\{([\d,]*)\}$", re.MULTILINE
)
_LABELS = re.compile(r"(?P<lhs>[\dbf?]+)_(?P<rhs>[\dio?]+)->(?P<out>[\dbf?]+)")
_CONV = re.compile(r"\[(?P<lhs>[^][]*)\]x\[(?P<rhs>[^][]*)\]->\[(?P<out>[^][]*)\]")
# Targets of cuDNN: (1) the convolution itself, or its gradient with respect to one operand.
_CUDNN = re.compile(r"__cudnn\$conv(BackwardInput|BackwardFilter|Forward|BiasActivationForward)")
_DIMENSION = re.compile(r"(?<!\w)(\w++)=([-\dx_]+)")
# Visiting more kernel positions takes longer than an estimate is worth.
_MOST_PLACES = 10**6
# One operation for each element of the result, as XLA's cost analysis counts them. It also counts comparisons (and
# `is-finite`), logic on booleans, selections, casts and the parts of complex numbers, which do not count here.
_ELEMENTWISE = frozenset(
    ["abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "cosine", "count-leading-zeros", "divide", "erf",
     "exponential", "exponential-minus-one", "floor", "log", "log-plus-one", "logistic", "maximum", "minimum",
     "multiply", "negate", "not", "or", "popcnt", "power", "remainder", "round-nearest-afz", "round-nearest-even",
     "rsqrt", "shift-left", "shift-right-arithmetic", "shift-right-logical", "sign", "sine", "sqrt", "subtract", "tan",
     "tanh", "xor",
     # What JAX leaves to the compiler to write out: `chlo.square` is a multiplication, `chlo.erfc` forty operations.
     "acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel-i1e", "cosh", "digamma", "erf-inv", "erfc", "lgamma",
     "polygamma", "sinh", "square", "zeta"]
)  # fmt: skip
# In a computation that is applied to elements these count too: of a selection in a window they are all of the work.
_CHOOSING = frozenset(["compare", "select"])
_NUMBER = re.compile(r"-?\d+")
_REDUCING_DEVICES = frozenset(["all-reduce", "reduce-scatter"])


def flops_of(it: Instruction, operands: Sequence[Shape], applied: Sequence[int] = ()) -> int:
    """Operations of one run of one instruction, without its callees except those that it applies to elements.

    As XLA's cost analysis counts them (`hlo_cost_analysis.cc`), but for a reduction all elements count that it takes.

    Args:
        it: an instruction of either stage.
        operands: the shapes of its operands.
        applied: the operations of each computation that it applies, for one element.

    Returns:
        two per multiply-add; 0 if nothing is computed, or the operation is unknown.

    Example:
        >>> dot = Instruction("d", "dot", Shape("f32", (4, 2)), (0, 1), attributes=(("lhs_contracting_dims", "{1}"),))
        >>> flops_of(dot, (Shape("f32", (4, 8)), Shape("f32", (8, 2))))
        128
    """
    try:
        opcode = it.opcode.removeprefix("chlo.").replace("_", "-").removesuffix("-start")
        if opcode in _ELEMENTWISE:
            return it.shape.elements if it.shape.element_type != "pred" else 0
        if it.opcode in ("dot", "dot_general"):
            return _dot(it, operands)
        if it.opcode == "convolution":
            return _convolution(it, operands, it.shape)
        if opcode == "custom-call":
            target = it.attribute("custom_call_target") or ""
            if "gemm" in target:
                return _dot(it, operands)
            found = _CUDNN.search(target)
            return _cudnn_convolution(it, found[1], operands) if found else 0
        if opcode == "reduce":
            return sum(shape.elements for shape in operands[: max(len(operands) // 2, 1)])
        if opcode in _OF_ELEMENTS:
            return _OF_ELEMENTS[opcode](it, operands, applied)
        if opcode in _REDUCING_DEVICES:
            return sum(leaf.elements for shape in operands for leaf in shape.leaves)
        return 0
    except (ValueError, LookupError, ArithmeticError):  # inconsistent attributes: this is an estimate, so no error
        return 0


def applied_flops(computation: Computation) -> int:
    """Operations of a computation that is applied to elements, each time; comparisons and selections count too."""
    its = computation.instructions
    return sum(
        it.shape.elements if it.opcode in _CHOOSING else flops_of(it, [its[operand].shape for operand in it.operands])
        for it in its
    )


def _scatter(_: Instruction, operands: Sequence[Shape], applied: Sequence[int]) -> int:
    return operands[len(operands) // 2 + 1].elements * applied[0]  # arrays, indices, as many updates


def _map(it: Instruction, _: Sequence[Shape], applied: Sequence[int]) -> int:
    return it.shape.elements * applied[0]


def _sort(_: Instruction, operands: Sequence[Shape], applied: Sequence[int]) -> int:
    """n log n, whatever the comparison does."""
    elements = operands[0].elements
    return elements * max(elements - 1, 0).bit_length()


def _fft(it: Instruction, operands: Sequence[Shape], _: Sequence[int]) -> int:
    factors = 1
    for length in _numbers(it.attribute("fft_length") or ""):
        factors *= length.bit_length() - 1
    return 8 * factors * operands[0].elements  # four multiply-adds for each product of complex numbers


def _cholesky(_: Instruction, operands: Sequence[Shape], applied: Sequence[int]) -> int:
    return operands[0].dimensions[-1] * operands[0].elements // 3


def _triangular_solve(_: Instruction, operands: Sequence[Shape], applied: Sequence[int]) -> int:
    return 2 * operands[0].dimensions[-1] * operands[1].elements


def _select_and_scatter(it: Instruction, operands: Sequence[Shape], applied: Sequence[int]) -> int:
    """For each element that is scattered one choice less than its window has elements, and one update."""
    window = 1
    for size, _ in _windows_of(it):
        window *= size
    return operands[1].elements * ((window - 1) * applied[0] + applied[1])


def _reduce_window(it: Instruction, _: Sequence[Shape], applied: Sequence[int]) -> int:
    """One application less than a window has elements; one pass where each window has all of a dimension."""
    result, windows = next(iter(it.shape.leaves), it.shape), _windows_of(it)
    window = 1
    for size, _pad in windows:
        window *= size
    reduced = [n for n, (size, _pad) in enumerate(windows) if size != 1]
    padded = [n for n, (_size, pad) in enumerate(windows) if any(pad)]
    if len(reduced) == 1 and reduced == padded and not it.shape.tuple_shapes:
        size, (low, high) = windows[reduced[0]]
        span = result.dimensions[reduced[0]]
        if low == high == span - 1 and size == 2 * low + 1:
            return applied[0] * (result.elements // span) * (span - 1)  # XLA adds the two factors
    return applied[0] * (window - 1) * result.elements


_OF_ELEMENTS: Mapping[str, Callable[[Instruction, Sequence[Shape], Sequence[int]], int]] = {
    "scatter": _scatter,
    "map": _map,
    "sort": _sort,
    "fft": _fft,
    "cholesky": _cholesky,
    "triangular-solve": _triangular_solve,
    "select-and-scatter": _select_and_scatter,
    "reduce-window": _reduce_window,
}


def _windows_of(it: Instruction) -> list[tuple[int, tuple[int, int]]]:
    """For each dimension the size of a window, and the padding on both sides."""
    text = it.attribute("window")
    if text is not None:
        parts = {name: value.split("x") for name, value in _DIMENSION.findall(text)}
        sizes = [int(size) for size in parts["size"]]
        pads = [tuple(map(int, pad.split("_"))) for pad in parts["pad"]] if "pad" in parts else [(0, 0)] * len(sizes)
        return [(size, (pad[0], pad[1])) for size, pad in zip(sizes, pads, strict=True)]
    sizes = _numbers(it.attribute("window_dimensions") or "")
    flat = _numbers(it.attribute("padding") or "") or [0]
    flat = flat * 2 * len(sizes) if len(flat) == 1 else flat  # one number for all
    return [(size, (flat[2 * n], flat[2 * n + 1])) for n, size in enumerate(sizes)]


def _numbers(text: str) -> list[int]:
    """The numbers of a list of either stage: `{2,3}`, `array<i64: 2, 3>`, `dense<[[0, 0]]> : tensor<1x2xi64>`."""
    return [int(number) for number in _NUMBER.findall(text.partition(" : tensor")[0].rpartition("i64:")[2])]


def _dot(it: Instruction, operands: Sequence[Shape]) -> int:
    found = _CONTRACTED.search("\n".join(f"{name}={value}" for name, value in it.attributes))
    if not operands or (found is None and it.opcode == "custom-call"):
        return 0
    # An outer product contracts nothing, and may not name it.
    dimensions = [int(n) for n in re.findall(r"\d+", found.group(1) or found.group(2) or "")] if found else []
    contracted = 1
    for dimension in dimensions:
        contracted *= operands[0].dimensions[dimension] if dimension < len(operands[0].dimensions) else 0
    return 2 * next(iter(it.shape.leaves), it.shape).elements * contracted


def _cudnn_convolution(it: Instruction, kind: str, operands: Sequence[Shape]) -> int:
    """Operations of a convolution or its gradient: labels and window always describe the convolution."""
    if len(operands) < 2:
        return 0
    result, (one, other) = next(iter(it.shape.leaves), it.shape), operands[:2]
    if kind == "BackwardInput":
        return _convolution(it, (result, other), one)
    if kind == "BackwardFilter":
        return _convolution(it, (one, result), other)
    return _convolution(it, (one, other), result)


def _convolution(it: Instruction, operands: Sequence[Shape], made: Shape) -> int:
    labels = _labels(it)
    if labels is None or len(operands) < 2:
        return 0
    lhs, rhs, out = labels
    if any("?" in group for group in labels):  # XLA's mark for dimensions with unspecified role
        return 0
    ours, kernel, result = operands[0].dimensions, operands[1].dimensions, made.dimensions
    if (len(lhs), len(rhs), len(out)) != (len(ours), len(kernel), len(result)):
        return 0
    positions = 1
    for number, window in enumerate(_windows(it, sum(label.isdigit() for label in lhs))):
        place = str(number)
        positions *= _valid(ours[lhs.index(place)], kernel[rhs.index(place)], result[out.index(place)], *window)
    groups = int((it.attribute("batch_group_count") or "1").partition(" ")[0])
    return 2 * positions * kernel[rhs.index("i")] * result[out.index("f")] * ours[lhs.index("b")] // groups


def _labels(it: Instruction) -> tuple[Sequence[str], Sequence[str], Sequence[str]] | None:
    for _, value in it.attributes:
        match = _LABELS.fullmatch(value)
        if match:
            return tuple(match["lhs"]), tuple(match["rhs"]), tuple(match["out"])
        listed = _CONV.search(value)
        if listed:
            lhs, rhs, out = (tuple(part.strip() for part in group.split(",")) for group in listed.groups())
            return lhs, rhs, out
    return None


def _windows(it: Instruction, rank: int) -> list[tuple[int, int, int, int]]:
    """For each spatial dimension (stride, padding in front, dilation of the input, dilation of the kernel)."""
    text = it.attribute("window")
    if text is None:
        return [_stablehlo_window(it, n) for n in range(rank)]
    parts = {name: value.split("x") for name, value in _DIMENSION.findall(text)}
    rows = []
    for n in range(rank):
        pad = parts["pad"][n].split("_")[0] if n < len(parts.get("pad", ())) else "0"
        stride, base, inside = (
            int(parts[name][n]) if n < len(parts.get(name, ())) else 1
            for name in ("stride", "lhs_dilate", "rhs_dilate")
        )
        rows.append((stride, int(pad), base, inside))
    return rows


def _stablehlo_window(it: Instruction, n: int) -> tuple[int, int, int, int]:
    values = []
    for name, usual in (("window_strides", 1), ("padding", 0), ("lhs_dilation", 1), ("rhs_dilation", 1)):
        text = (it.attribute(name) or "").partition("<")[2].partition(">")[0].removeprefix("i64:")
        numbers = [int(number) for number in re.findall(r"-?\d+", text)]
        place = 2 * n if name == "padding" else n
        values.append(numbers[place] if place < len(numbers) else numbers[0] if len(numbers) == 1 else usual)
    return values[0], values[1], values[2], values[3]


def _valid(size: int, kernel: int, result: int, stride: int, pad: int, base: int, inside: int) -> int:
    """Pairs of a result and a kernel position that meet an input element and not padding."""
    reach = (size - 1) * base  # the last element that is not a dilation hole
    if kernel * (1 if base == 1 else result) > _MOST_PLACES:
        return kernel * result // max(base, 1)  # ignores padding
    if base == 1:
        count = 0
        for place in range(kernel):
            first = -((place * inside - pad) // stride)
            last = (reach - place * inside + pad) // stride
            count += max(0, min(last, result - 1) - max(first, 0) + 1)
        return count
    places = ((out * stride + k * inside - pad) for k in range(kernel) for out in range(result))
    return sum(0 <= place <= reach and place % base == 0 for place in places)


# They name, unpack or pass on what others wrote.
_FREE = frozenset(
    ["parameter", "tuple", "get-tuple-element", "get_tuple_element", "bitcast", "return", "sdy.return", "while",
     "call", "func.call", "conditional", "case", "if", "constant", "after-all", "optimization-barrier",
     "optimization_barrier", "opt-barrier", "domain", "partition-id", "replica-id", "sdy.sharding_constraint",
     "async-start", "func.declaration", "composite", "sdy.manual_computation"]
)  # fmt: skip
FUSIONS = frozenset(["fusion", "fusion-start"])
_RESERVING = "AllocateBuffer"
_JOINING = "ConcatBitcast"  # a TPU's name for slices that were prefetched to places side by side
# They read of their first operand only as much as they write.
_SLICING = frozenset(["slice", "dynamic-slice", "dynamic_slice", "gather"])
_UPDATING = frozenset(["dynamic-update-slice", "dynamic_update_slice"])
# Of their operands of the same size a fusion reads only the elements of which it needs the result.
_ONE_TO_ONE = _ELEMENTWISE | _CHOOSING | {"bitcast", "convert", "copy", "reshape", "reverse", "transpose"}
# A fusion without these, and without buffers that operands and results share, moves whole values.
_IN_PART = _SLICING | _UPDATING | {"fusion", "bitcast"}
_TRIANGULAR = frozenset(["cholesky", "triangular-solve"])  # they read half of their first operand
_MOST_NESTED = 8  # fusions in fusions
_ALIASED = re.compile(r"\{(\d*)\}: \(")  # the number of a result that is in the buffer of an operand

Sizes = list[tuple[Shape, int]]
"""Bytes read or written, by value."""


def operand_shapes(module: Module, place: tuple[int, int]) -> list[Shape]:
    """The shapes of the values that one instruction takes: of an operation with several results, those that it uses."""
    computation = module.computations[place[0]]
    it = computation.instructions[place[1]]
    made = [(computation.instructions[operand].shape, result) for operand, result in it.reads]
    if module.stage == "compiled":
        return [shape for shape, _ in made]
    return [one.tuple_shapes[n] if len(one.tuple_shapes) > n else one for one, n in made]


def instruction_flops(module: Module, place: tuple[int, int]) -> int:
    """Operations of one run of one instruction, see `flops_of`."""
    it = module.computations[place[0]].instructions[place[1]]
    is_applying = it.calls and it.opcode.replace("_", "-") in _OF_ELEMENTS
    applied = [applied_flops(module.computations[n]) for n in it.called] if is_applying else ()
    return flops_of(it, operand_shapes(module, place), applied)


def instruction_bytes(module: Module, place: tuple[int, int]) -> tuple[int, int]:
    """Bytes that one run of an instruction reads and writes, on one device.

    A slice counts only the bytes that it takes or writes, also in a fusion. Bytes are those of values, without padding.

    Args:
        module: a compiled program.
        place: of an instruction outside of fusions.
    """
    read, written = traffic(module, place)
    return sum(size for _, size in read), sum(size for _, size in written)


def is_launched(it: Instruction) -> bool:
    """Whether an instruction is a launch of its own, rather than naming or passing on what others wrote.

    Example:
        >>> is_launched(Instruction("f", "fusion", Shape("f32"))), is_launched(Instruction("t", "tuple", Shape("f32")))
        (True, False)
    """
    if it.opcode in _FREE or is_continuation(it.opcode):
        return False
    return not reserves_memory(it) and not names_slices(it)


def reserves_memory(it: Instruction) -> bool:
    """Whether an instruction only reserves the memory that another one writes.

    Example:
        >>> target = ("custom_call_target", '"AllocateBuffer"')
        >>> reserves_memory(Instruction("r", "custom-call", Shape("f32"), attributes=(target,)))
        True
    """
    return _has_target(it, _RESERVING)


def names_slices(it: Instruction) -> bool:
    """Whether an instruction only names slices that a TPU prefetched side by side.

    Example:
        >>> target = ("custom_call_target", '"ConcatBitcast"')
        >>> names_slices(Instruction("c", "custom-call", Shape("f32"), attributes=(target,)))
        True
    """
    return _has_target(it, _JOINING)


def _has_target(it: Instruction, target: str) -> bool:
    return it.opcode == "custom-call" and unquote(it.attribute("custom_call_target") or "") == target


def traffic(module: Module, place: tuple[int, int]) -> tuple[Sizes, Sizes]:
    """Bytes that one run of an instruction reads and writes, by value; see `instruction_bytes`."""
    computation = module.computations[place[0]]
    it = computation.instructions[place[1]]
    operands = [computation.instructions[operand].shape for operand in it.operands]
    if it.opcode in FUSIONS and len(it.called) == 1:
        body = module.computations[it.called[0]]
        is_read = all(body.users[parameter] or parameter == body.root for parameter in body.parameters)
        is_whole = is_read and _IN_PART.isdisjoint([one.opcode for one in body.instructions])
        if not is_whole or any(name == "output_to_operand_aliasing" for name, _ in it.attributes):
            return _FusionTraffic(module).of(it, operands)
    return _read(it, operands), _written(it, operands)


class _FusionTraffic:
    """Bytes that a fusion reads and writes, including nested fusions: TPUs nest the slice of a loop's weights.

    A fusion in which a TPU takes a step of a collective hands the buffers through: a result in the buffer of
    an operand that is a parameter of the fusion is neither read nor written. The first step moves all of the data.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.taken: dict[tuple[int, int], int | None] = {}
        self.aliased: set[str] = set()

    def of(self, it: Instruction, operands: Sequence[Shape]) -> tuple[Sizes, Sizes]:
        """Reads and writes of a fusion: only the slices of a sliced parameter, the update of one updated in place."""
        index = it.called[0]
        self.aliased = set(_ALIASED.findall(it.attribute("output_to_operand_aliasing") or ""))
        body = self.module.computations[index]
        places = body.parameters
        read: Sizes = []
        for number, shape in enumerate(operands):
            whole = [(leaf, leaf.bytes) for leaf in shape.leaves]
            is_array = number < len(places) and len(whole) == 1
            sliced = self._elements_taken(index, places[number], 0) if is_array else None
            part = 0 if sliced is None else shape.bytes * sliced // max(shape.elements, 1)
            read += whole if sliced is None else [(shape, min(part, shape.bytes))]
        root = body.instructions[body.root]
        results = root.operands if root.opcode == "tuple" else (body.root,)
        shapes = result_of(it).leaves
        if len(shapes) != len(results):
            kept = self.aliased if begins_collective(root) else ()
            return read, [size for n, size in enumerate(_written(it, operands)) if str(n) not in kept]
        written = []
        for number, (shape, result) in enumerate(zip(shapes, results, strict=True)):
            put = self._in_place(index, result, 0)
            is_handed_through = body.instructions[result].opcode == "parameter" or is_later_step(body, result)
            if not (is_handed_through and (str(number) if root.opcode == "tuple" else "") in self.aliased):
                written.append((shape, shape.bytes if put is None else put[1]))
        return read, written

    def _elements_taken(self, index: int, place: int, depth: int) -> int | None:
        """Elements that slices take from a parameter; None if something else reads it."""
        if (index, place) in self.taken:
            return self.taken[index, place]
        self.taken[index, place] = None
        body = self.module.computations[index]
        users, size = body.users, body.instructions[place].shape.elements

        def is_one_to_one(user: int) -> bool:
            it = body.instructions[user]
            return it.opcode in _ONE_TO_ONE and it.shape.elements == size

        total = 0
        for value in preorder([place], lambda n: filter(is_one_to_one, users[n])):
            if value == body.root:
                return None
            for user in users[value]:
                is_free = is_one_to_one(user) or self._is_handed_through(body, value, user)
                taken = 0 if is_free else self._elements_taken_by(body.instructions[user], value, depth)
                if taken is None:
                    return None
                total += taken
        self.taken[index, place] = total
        return total

    def _is_handed_through(self, body: Computation, value: int, user: int) -> bool:
        """Whether a user of a value only leaves it in its buffer."""
        it = body.instructions[user]
        if it.opcode == "tuple":
            return self.aliased.issuperset(str(n) for n, operand in enumerate(it.operands) if operand == value)
        return bool(self.aliased) and is_later_step(body, user)

    def _elements_taken_by(self, it: Instruction, value: int, depth: int) -> int | None:
        """Elements that one instruction of a fusion takes from a value."""
        if it.opcode == "fusion" and len(it.called) == 1 and depth < _MOST_NESTED:
            places = self.module.computations[it.called[0]].parameters
            total = 0
            for number, operand in enumerate(it.operands):
                if operand == value:
                    known = number < len(places)
                    taken = self._elements_taken(it.called[0], places[number], depth + 1) if known else None
                    if taken is None:
                        return None
                    total += taken
            return total
        if it.operands.count(value) != 1 or it.operands[0] != value:
            return None
        return it.shape.elements if it.opcode in _SLICING else 0 if it.opcode in _UPDATING else None

    def _in_place(self, index: int, result: int, depth: int) -> tuple[int, int] | None:
        """The place of the parameter that a result updates in place, and the bytes written; None if it does not."""
        body = self.module.computations[index]
        it = body.instructions[through_bitcasts(body, result)]
        if it.opcode == "fusion" and len(it.called) == 1 and not it.shape.tuple_shapes and depth < _MOST_NESTED:
            callee = self.module.computations[it.called[0]]
            inner = self._in_place(it.called[0], callee.root, depth + 1)
            if inner is None:
                return None
            number = callee.instructions[inner[0]].number
            base, size = (it.operands[number] if number < len(it.operands) else -1), inner[1]
        elif it.opcode in _UPDATING and len(it.operands) >= 2:
            base, size = it.operands[0], body.instructions[it.operands[1]].shape.bytes
        else:
            return None
        base = through_bitcasts(body, base)
        return (base, size) if base >= 0 and body.instructions[base].opcode == "parameter" else None


def through_bitcasts(body: Computation, place: int) -> int:
    """The instruction that made a value, looking through bitcasts.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> module = read_hlo("HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT b = f32[2] bitcast(p)\\n}")
        >>> through_bitcasts(module.entry_computation, 1)
        0
    """
    while place >= 0 and body.instructions[place].opcode == "bitcast" and body.instructions[place].operands:
        place = body.instructions[place].operands[0]
    return place


def _read(it: Instruction, operands: Sequence[Shape]) -> Sizes:
    if it.opcode.removesuffix("-start") in _SLICING:
        taken = [(shape, min(result_of(it).bytes, shape.bytes)) for shape in operands[:1]]
        return taken + [(shape, shape.bytes) for shape in operands[1:]]
    if it.opcode in _UPDATING:
        return [(shape, shape.bytes) for shape in operands[1:]]
    if it.opcode == "scatter":  # of its arrays it reads what it updates
        count = len(operands) // 2
        updated = zip(operands[:count], operands[count + 1 :], strict=True)
        return [(shape, update.bytes) for shape, update in updated] + [
            (shape, shape.bytes) for shape in operands[count:]
        ]
    if it.opcode in _TRIANGULAR:
        return [(shape, shape.bytes // 2 if n == 0 else shape.bytes) for n, shape in enumerate(operands)]
    return [(leaf, leaf.bytes) for shape in operands for leaf in shape.leaves]


def _written(it: Instruction, operands: Sequence[Shape]) -> Sizes:
    if it.opcode in _UPDATING:
        return [(it.shape, shape.bytes) for shape in operands[1:2]]
    if it.opcode == "scatter":
        updates = operands[len(operands) // 2 + 1 :]
        return [(leaf, update.bytes) for leaf, update in zip(it.shape.leaves, updates, strict=True)]
    if it.opcode == "cholesky":
        return [(it.shape, it.shape.bytes // 2)]
    return [(leaf, leaf.bytes) for leaf in result_of(it).leaves]


def result_of(it: Instruction) -> Shape:
    """The result shape of an instruction: the tuple of a `-start` also lists operands and contexts.

    Example:
        >>> result_of(Instruction("s", "sine", Shape("f32", (2,)))).bytes
        8
    """
    if not it.opcode.endswith("-start") or not it.shape.tuple_shapes:
        return it.shape
    if it.opcode == "copy-start":
        return it.shape.tuple_shapes[0]
    return collective_result(it)


# --- What one run of a computation costs, without callees.

_APPLYING = frozenset(
    ["reduce", "reduce-window", "reduce_window", "scatter", "select-and-scatter", "select_and_scatter", "sort", "map",
     "all-reduce", "all_reduce", "reduce-scatter", "reduce_scatter"]
)  # fmt: skip


def fused_bodies(module: Module, callers: Iterable[int] | None = None) -> dict[int, None]:
    """Computations whose values never reach memory: bodies of fusions, and those applied to elements.

    Args:
        module: any program.
        callers: the computations whose calls are considered; None for all.
    """
    inside: dict[int, None] = {}
    for index in range(len(module.computations)) if callers is None else callers:
        for _, it in module.computations[index].calling:
            for name, group in it.calls:
                if it.opcode in FUSIONS or (is_embedded(it, name) and it.opcode != "func.call"):
                    inside.update(dict.fromkeys(group))
    return inside


def applied_bodies(module: Module) -> set[int]:
    """Computations applied to elements (reducers, comparators, updates); the applying instruction counts for them."""
    return {
        callee
        for computation in module.computations
        for _, it in computation.calling
        for name, group in it.calls
        if it.opcode.removesuffix("-start") in _APPLYING or (name == "to_apply" and it.opcode != "call")
        for callee in group
    }


def own_costs(module: Module) -> list[Mapping[str, int]]:
    """Operations, bytes and launches of one run of each computation, without callees and without zeros."""
    inside, applied = fused_bodies(module), applied_bodies(module)
    found: list[Mapping[str, int]] = []
    for index, computation in enumerate(module.computations):
        flops = read = written = launches = 0
        stored = module.stage == "compiled" and index not in inside
        for position, it in enumerate(computation.instructions if index not in applied else ()):
            if it.opcode in _FREE:
                continue
            flops += instruction_flops(module, (index, position))
            if stored and is_launched(it):
                launches += 1
                sizes = instruction_bytes(module, (index, position))
                read, written = read + sizes[0], written + sizes[1]
        figures = {"flops": flops, "bytes_read": read, "bytes_written": written, "bytes_accessed": read + written}
        found.append({name: number for name, number in (figures | {"launches": launches}).items() if number})
    return found
