"""MLIR type text to `Shape` and back, without loss."""

from __future__ import annotations

import functools
import re

from hlodiff.hlo.model import Layout, Shape

_TENSOR = re.compile(r"tensor<((?:(?:\d+|\?)x)*)(.*)>", re.DOTALL)
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
    element, _, encoding = _partition(match[2])
    sizes = match[1].split("x")[:-1]
    dynamic = tuple(n for n, size in enumerate(sizes) if size == "?")
    bounds = _bounds(encoding, len(sizes))
    dimensions = tuple(bounds[n] if size == "?" else int(size) for n, size in enumerate(sizes))
    layout = Layout(other=encoding) if encoding and not _BOUNDS.fullmatch(encoding) else None
    return Shape(_TO_XLA.get(element, element), dimensions, layout, dynamic=dynamic)


def _partition(text: str) -> tuple[str, str, str]:
    parts = split(text)
    return parts[0], ",", ", ".join(parts[1:])


def _bounds(encoding: str, rank: int) -> list[int]:
    """The bound of each dimension, -1 where there is none."""
    match = _BOUNDS.fullmatch(encoding)
    if match is None:
        return [-1] * rank
    return [-1 if part.strip() == "?" else int(part) for part in match[1].split(",")]


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
    sizes = ["?" if n in shape.dynamic else str(size) for n, size in enumerate(shape.dimensions)]
    element = _TO_MLIR.get(shape.element_type, shape.element_type)
    encoding = shape.layout.other if shape.layout else ""
    if any(shape.dimensions[n] >= 0 for n in shape.dynamic):
        bounds = [str(size) if n in shape.dynamic and size >= 0 else "?" for n, size in enumerate(shape.dimensions)]
        encoding = f"#stablehlo.bounds<{', '.join(bounds)}>"
    return f"tensor<{'x'.join([*sizes, element])}{', ' + encoding if encoding else ''}>"


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|->|>=|[<>(){}\[\],]', re.DOTALL)


def split(text: str) -> list[str]:
    """Parts of MLIR text between its top-level commas; commas in strings and brackets do not count.

    Example:
        >>> split('a = "x,y", b = [1, 2]')
        ['a = "x,y"', 'b = [1, 2]']
    """
    parts, depth, start = [], 0, 0
    for match in _TOKEN.finditer(text):
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
