"""Device lists in every spelling that XLA prints: explicit, iota (`[2,2]<=[4]T(1,0)`), mesh and axes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, product
from math import prod

_IOTA = re.compile(r"<=\[([\d,]+)\](?:T\(([\d,]+)\))?$")
_SHAPED_IOTA = re.compile(r"\[([\d,]+)\](<=.*)$")
_AXIS = re.compile(r"""\s*(['"]?)(?P<name>.+?)\1\s*=\s*(?P<size>\d+)\s*$""")
_AXIS_USE = re.compile(r"""\s*(?P<quote>['"]?)(?P<name>[^'":]+)(?P=quote)(?::\((?P<pre>\d+)\)(?P<size>\d+))?\s*$""")
_MESH = re.compile(r"mesh\[(?P<axes>[^\]]*)\](?:,\s*device_ids=\((?P<ids>.*?)\))?\s*\{(?P<used>[^}]*)\}$")
_MESH_IOTA = re.compile(r"\[([\d,]+)\](T\([\d,]+\))?\s*$")

Groups = tuple[tuple[int, ...], ...]
# A program for more devices than there are is a damaged file: expanding it would not end.
_MAX_DEVICES = 1 << 20


def numbers(text: str) -> list[int]:
    """Integers between commas: `numbers("2, 1") == [2, 1]`."""
    return [int(part) for part in text.split(",") if part.strip()]


def iota(text: str) -> list[int] | None:
    """Devices of `<=[2,2]T(1,0)` in order: 0..n-1 shaped, transposed and laid flat again; None where it is no iota."""
    match = _IOTA.match(text.strip())
    if match is None:
        return None
    sizes = numbers(match.group(1))
    axes = numbers(match.group(2) or "") or list(range(len(sizes)))
    if sorted(axes) != list(range(len(sizes))) or not 0 < prod(sizes) <= _MAX_DEVICES:
        return None
    strides = [prod(sizes[n + 1 :]) for n in range(len(sizes))]
    return [
        sum(index * strides[axis] for index, axis in zip(place, axes, strict=True))
        for place in product(*(range(sizes[axis]) for axis in axes))
    ]


def parse_groups(text: str) -> Groups | None:
    """The replica groups of any spelling, each in its own order; None where the text is none we know.

    Example:
        >>> parse_groups("[2,2]<=[2,2]T(1,0)")
        ((0, 2), (1, 3))
    """
    text = text.strip()
    if text.startswith("{"):
        return _explicit(text)
    if text.startswith("mesh["):
        return _mesh_groups(text)
    match = _SHAPED_IOTA.match(text)
    devices = iota(match.group(2)) if match else None
    if match is None or devices is None:
        return None
    sizes = numbers(match.group(1))
    return _rows(devices, sizes[-1]) if prod(sizes) == len(devices) else None


def canonical_groups(text: str) -> str:
    """Replica groups spelled out, ordered by their first member; a spelling we do not know stays.

    Example:
        >>> canonical_groups("[2,2]<=[4]")
        '{{0,1},{2,3}}'
    """
    groups = parse_groups(text)
    if groups is None:
        return text
    return "{" + ",".join("{" + ",".join(map(str, group)) + "}" for group in sorted(groups)) + "}"


def _rows(devices: Sequence[int], size: int) -> Groups:
    return tuple(tuple(devices[n : n + size]) for n in range(0, len(devices), size))


def _explicit(text: str) -> Groups | None:
    inner = text[1:-1].strip()
    if not re.fullmatch(r"[\d,{}\s]*", text) or (inner and inner[0] != "{"):
        return None
    return tuple(tuple(numbers(part)) for part in re.findall(r"\{([\d,\s]*)\}", inner))


def _mesh_groups(text: str) -> Groups | None:
    match = _MESH.match(text)
    if match is None:
        return None
    axes = [_AXIS.match(part) for part in match.group("axes").split(",")]
    used = [_AXIS_USE.match(part) for part in match.group("used").split(",") if part.strip()]
    if None in axes or None in used:
        return None
    sizes = {axis["name"]: int(axis["size"]) for axis in axes if axis}
    devices = _mesh_devices(match.group("ids"), list(sizes.values()))
    parts = _sub_axes(sizes, [(use["name"], int(use["pre"] or 1), int(use["size"] or 0)) for use in used if use])
    if devices is None or parts is None:
        return None
    dimensions, chosen = parts
    return _grouped(devices, dimensions, chosen)


def _mesh_devices(ids: str | None, sizes: list[int]) -> list[int] | None:
    if ids is None:
        return list(range(prod(sizes))) if 0 < prod(sizes) <= _MAX_DEVICES else None
    shaped = _MESH_IOTA.match(ids)
    devices = iota(f"<=[{shaped.group(1)}]{shaped.group(2) or ''}") if shaped else numbers(ids)
    return devices if devices is not None and len(devices) == prod(sizes) else None


def _sub_axes(sizes: dict[str, int], used: list[tuple[str, int, int]]) -> tuple[list[int], list[int]] | None:
    """Cut every axis where a used sub-axis `name:(pre)size` starts or ends.

    Returns the sizes of the pieces in mesh order and the pieces that are used, in the order of use.
    """
    cuts: dict[str, set[int]] = {name: {1, size} for name, size in sizes.items()}
    for name, pre, size in used:
        if name not in sizes:
            return None
        cuts[name] |= {pre, pre * (size or sizes[name] // pre)}
    pieces: list[tuple[str, int, int]] = []
    for name in sizes:
        edges = sorted(cuts[name])
        if any(after % before for before, after in pairwise(edges)):
            return None
        pieces += [(name, before, after // before) for before, after in pairwise(edges)]
    chosen: list[int] = []
    for name, pre, size in used:
        end = pre * (size or sizes[name] // pre)
        chosen += [n for n, (owner, start, _) in enumerate(pieces) if owner == name and pre <= start < end]
    return [size for _, _, size in pieces], chosen


def _grouped(devices: list[int], sizes: list[int], chosen: list[int]) -> Groups:
    strides = [prod(sizes[n + 1 :]) for n in range(len(sizes))]
    outer = [n for n in range(len(sizes)) if n not in chosen]

    def offsets(axes: list[int]) -> list[int]:
        return [
            sum(index * strides[axis] for index, axis in zip(place, axes, strict=True))
            for place in product(*(range(sizes[axis]) for axis in axes))
        ]

    return tuple(tuple(devices[start + step] for step in offsets(chosen)) for start in offsets(outer))
