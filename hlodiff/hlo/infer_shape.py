"""Infers omitted shapes. XLA's parser infers them too, and its printer always writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hlodiff.hlo.grammar import print_shape, read_shape
from hlodiff.hlo.model import Shape

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
    return print_shape(shape) if shape is not None else ""


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
    """The real or imaginary part."""
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
