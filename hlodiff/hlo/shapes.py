"""Shapes of HLO text: `f32[64,<=8]{1,0:T(8,128)(2,1)S(1)}`, tuples, tokens; reading and printing."""

from __future__ import annotations

import re

from hlodiff.hlo.model import Layout, Shape
from hlodiff.hlo.tokens import closing, split_commas, without_comments

_ARRAY = re.compile(r"([a-z][a-z0-9]*)\[([^\]]*)\](?:\{(.*)\})?$", re.DOTALL)
_TILES = re.compile(r"T((?:\([^)]*\))+)")
_SPACE = re.compile(r"S\((\d+)\)")
_NO_ARRAY = ("token", "opaque")
_CACHE: dict[str, Shape] = {}


def read_shape(text: str) -> Shape:
    """Read one shape; what is not understood is kept verbatim as the element type of a non-array.

    Example:
        >>> read_shape("bf16[8,128]{1,0:T(8,128)(2,1)S(1)}").layout
        Layout(minor_to_major=(1, 0), tiling='(8,128)(2,1)', memory_space=1, other='')
    """
    shape = _CACHE.get(text)
    if shape is None:
        shape = _read(without_comments(text).strip())
        if len(_CACHE) < 100_000:  # programs use few different shapes; the bound is against hostile files
            _CACHE[text] = shape
    return shape


def _read(text: str) -> Shape:
    if text.startswith("(") and text.endswith(")") and closing(text, 0) == len(text) - 1:
        parts = tuple(read_shape(part) for part in split_commas(text[1:-1]))
        return Shape("tuple", tuple_shapes=parts, is_array=False)
    match = _ARRAY.match(text)
    if match is None:
        return Shape(text, is_array=False)
    element_type, sizes, layout = match.groups()
    dimensions: list[int] = []
    dynamic: list[int] = []
    for index, size in enumerate(s.strip() for s in sizes.split(",") if s.strip()):
        if size.startswith("<=") or size == "?":
            dynamic.append(index)
            size = size.removeprefix("<=")
        if size != "?" and not size.isdigit():
            return Shape(text, is_array=False)
        dimensions.append(-1 if size == "?" else int(size))
    return Shape(
        element_type,
        tuple(dimensions),
        None if layout is None else read_layout(layout),
        dynamic=tuple(dynamic),
        is_array=element_type not in _NO_ARRAY,
    )


def read_layout(text: str) -> Layout:
    """Read what is between the braces of a layout: `1,0:T(8,128)S(5)`."""
    order, _, rest = text.partition(":")
    tiles = _TILES.search(rest)
    space = _SPACE.search(rest)
    other = _SPACE.sub("", _TILES.sub("", rest, count=1), count=1)
    numbers = [n.strip() for n in order.split(",")]
    if not all(n.isdigit() for n in numbers if n):
        return Layout(other=text)
    return Layout(
        tuple(int(n) for n in numbers if n),
        tiles.group(1) if tiles else "",
        int(space.group(1)) if space else 0,
        other,
    )


def print_shape(shape: Shape) -> str:
    """The shape as XLA prints it and reads it again."""
    if shape.element_type == "tuple":
        return "(" + ", ".join(map(print_shape, shape.tuple_shapes)) + ")"
    if not shape.is_array and shape.element_type not in _NO_ARRAY:
        return shape.element_type
    sizes = []
    for index, size in enumerate(shape.dimensions):
        text = "?" if size < 0 else str(size)
        sizes.append("<=" + text if index in shape.dynamic and size >= 0 else text)
    layout = "" if shape.layout is None else "{" + print_layout(shape.layout) + "}"
    return f"{shape.element_type}[{','.join(sizes)}]{layout}"


# XLA reads the parts of a layout in one fixed order only.
_BEFORE_TILES = re.compile(r"D\([^)]*\)")
_AFTER_SPACE = re.compile(r"(?:SC|P|M)\(.*", re.DOTALL)


def print_layout(layout: Layout) -> str:
    """What is between the braces: `1,0:T(8,128)S(5)`."""
    head = _BEFORE_TILES.match(layout.other)
    tail = _AFTER_SPACE.search(layout.other)
    start, end = head.end() if head else 0, tail.start() if tail else len(layout.other)
    tiles = f"T{layout.tiling}" if layout.tiling else ""
    space = f"S({layout.memory_space})" if layout.memory_space else ""
    rest = layout.other[:start] + tiles + layout.other[start:end] + space + layout.other[end:]
    order = ",".join(map(str, layout.minor_to_major))
    return f"{order}:{rest}" if rest else order
