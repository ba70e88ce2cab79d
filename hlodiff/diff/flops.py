"""How many floating point operations one instruction does, counted from shapes as XLA's cost analysis counts them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hlodiff.ir.model import Instruction, Shape

_CONTRACTED = re.compile(
    r"lhs_contracting_dimensions\"?\s*[=:]\s*\[([\d,\s\"]*)\]|^lhs_contracting_dims=\{([\d,]*)\}$", re.MULTILINE
)
_LABELS = re.compile(r"(?P<lhs>[\dbf?]+)_(?P<rhs>[\dio?]+)->(?P<out>[\dbf?]+)")
_CONV = re.compile(r"\[(?P<lhs>[^\]]*)\]x\[(?P<rhs>[^\]]*)\]->\[(?P<out>[^\]]*)\]")
_DIMENSION = re.compile(r"(\w+)=([-\dx_]+)")
# One operation for each element of the result. Comparisons, selections and casts are none.
_ELEMENTWISE = frozenset(
    ["abs", "add", "atan2", "cbrt", "ceil", "cosine", "divide", "erf", "exponential", "exponential-minus-one", "floor",
     "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate", "power", "remainder",
     "round-nearest-afz", "round-nearest-even", "rsqrt", "sign", "sine", "sqrt", "subtract", "tan", "tanh"]
)  # fmt: skip
_REDUCING = frozenset(["reduce", "reduce-window", "reduce_window", "all-reduce", "all_reduce", "reduce-scatter"])


def flops_of(it: Instruction, operands: Sequence[Shape]) -> int:
    """Operations of one run of one instruction; what it calls is not counted.

    Args:
        it: an instruction of either stage.
        operands: the shapes of its operands.

    Returns:
        two for each multiplication with its addition; 0 where nothing is computed, or we do not know what.

    Example:
        >>> dot = Instruction("d", "dot", Shape("f32", (4, 2)), (0, 1), attributes=(("lhs_contracting_dims", "{1}"),))
        >>> flops_of(dot, (Shape("f32", (4, 8)), Shape("f32", (8, 2))))
        128
    """
    if it.opcode.replace("_", "-") in _ELEMENTWISE:
        return it.shape.elements
    if it.opcode in ("dot", "dot_general") or "gemm" in (it.attribute("custom_call_target") or ""):
        return _dot(it, operands)
    if it.opcode == "convolution":
        return _convolution(it, operands)
    if it.opcode in _REDUCING:
        return sum(shape.elements for shape in operands[: max(len(operands) // 2, 1)])
    return 0


def _dot(it: Instruction, operands: Sequence[Shape]) -> int:
    found = _CONTRACTED.search("\n".join(f"{name}={value}" for name, value in it.attributes))
    if found is None or not operands:
        return 0
    dimensions = [int(n) for n in re.findall(r"\d+", found.group(1) or found.group(2) or "")]
    contracted = 1
    for dimension in dimensions:
        contracted *= operands[0].dimensions[dimension] if dimension < len(operands[0].dimensions) else 0
    return 2 * _first(it.shape).elements * contracted


def _first(shape: Shape) -> Shape:
    return next(shape.leaves(), shape)


def _convolution(it: Instruction, operands: Sequence[Shape]) -> int:
    labels = _labels(it)
    if labels is None or len(operands) < 2:
        return 0
    lhs, rhs, out = labels
    ours, kernel, result = operands[0].dimensions, operands[1].dimensions, it.shape.dimensions
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
    """Pairs of a place in the result and one in the kernel that meet an element of the input and no padding."""
    reach = (size - 1) * base  # the last element that is no hole
    if base == 1:
        count = 0
        for place in range(kernel):
            first = -((place * inside - pad) // stride)
            last = (reach - place * inside + pad) // stride
            count += max(0, min(last, result - 1) - max(first, 0) + 1)
        return count
    places = ((out * stride + k * inside - pad) for k in range(kernel) for out in range(result))
    return sum(0 <= place <= reach and place % base == 0 for place in places)
