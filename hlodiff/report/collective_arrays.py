"""The arrays that a collective carries, as text: a compiler combines those of many operations into one collective.

Nobody reads a tuple of fourteen shapes, and their order is the compiler's choice. What counts is how many arrays of
each type and size came or went.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import lru_cache

from hlodiff.differ.result import Site
from hlodiff.hlo.collectives import FAMILIES, result_shape, stem
from hlodiff.hlo.grammar import UnknownType, read_shape
from hlodiff.hlo.model import Shape
from hlodiff.report.wording import format_pair, many

_WRITTEN_OUT = 3  # arrays that are listed as a tuple
_MOST_SHAPES = 2


def arrays_of(site: Site | None) -> tuple[Shape, ...]:
    """The arrays that a collective gives, without layouts; () for another operation.

    Example:
        >>> text = "%g = (f32[4]{0}, f32[8]{0}) all-gather-start(%p), dimensions={0}"
        >>> [shape.text for shape in arrays_of(Site(0, 0, "main", "g", "all-gather-start", text))]
        ['f32[8]']
    """
    if site is None or stem(site.opcode) not in FAMILIES:
        return ()
    return _arrays_of_result(site.opcode, site.text.partition(f" {site.opcode}(")[0].partition(" = ")[2])


@lru_cache(1024)  # a report asks for those of a change several times
def _arrays_of_result(opcode: str, shape: str) -> tuple[Shape, ...]:
    try:
        return result_shape(opcode, read_shape(shape)).bare.leaves
    except UnknownType:
        return ()


def format_arrays(arrays: Sequence[Shape]) -> str:
    """Several arrays of a collective: a short tuple, or the largest.

    Example:
        >>> pair, many_ = ("f32[8]", "f32[4]"), ("f32[8]", "f32[4]", "f32[4]", "f32[8,8]", "f32[2]", "f32[2]")
        >>> format_arrays([read_shape(one) for one in pair]), format_arrays([read_shape(one) for one in many_])
        ('(f32[8], f32[4])', '(f32[8,8], f32[8], 4 more)')
        >>> format_arrays([read_shape("f32[8,8]")] * 4)
        '(4x f32[8,8])'
    """
    if len(arrays) <= _WRITTEN_OUT:
        return f"({', '.join(shape.text for shape in arrays)})"
    return f"({_listed(arrays)})"


def format_other_arrays(old: Sequence[Shape], new: Sequence[Shape]) -> str:
    """Which arrays of a collective came, went, or have another type or size; "" if both sides have at most one.

    Example:
        >>> def other(old, new):
        ...     return format_other_arrays(*([read_shape(one) for one in side.split()] for side in (old, new)))
        >>> other("f32[8] f32[4] f32[8,8]", "f32[8,8]")
        '1 array instead of 3, without f32[8], f32[4]'
        >>> other("f32[8] f32[4] f32[]", "bf16[4] f32[] bf16[8]")
        '2 of 3 arrays bf16 instead of f32'
        >>> other("f32[8,4] f32[4]", "f32[4,8] f32[4] f32[2]")
        '3 arrays instead of 2, with f32[2]'
        >>> other("f32[8] f32[4] f32[]", "f32[16] f32[8] f32[]")
        '2 of 3 arrays twice as large (f32[8] -> f32[16], 1 more)'
        >>> other("f32[8] f32[4] f32[]", "f32[16] f32[32] f32[]")
        '2 of 3 arrays of another size: f32[32], f32[16] instead of f32[8], f32[4]'
        >>> other("f32[8] f32[4]", "f32[8] f32[6]"), other("f32[8] f32[4]", "f32[4] f32[12]")
        ('1 of 2 arrays 1.5 times as large (f32[4] -> f32[6])', '1 of 2 arrays of another size (f32[8] -> f32[12])')
        >>> other("f32[8] f32[4]", "f32[4] f32[8]"), other("f32[8] f32[4,2]", "f32[8] f32[2,4]")
        ('arrays of the same types in another order', '1 of 2 arrays transposed')
        >>> other("f32[8] f32[4,6]", "f32[8] f32[8,3]")
        '1 of 2 arrays of another shape (f32[4,6] -> f32[8,3])'
    """
    if max(len(old), len(new)) < 2:
        return ""
    if grown := _grown_alike(old, new):
        first, second = max(grown, key=lambda pair: pair[1].bytes)
        rest = f", {len(grown) - 1} more" if len(grown) > 1 else ""
        size = _times(Fraction(second.elements, first.elements))
        return f"{_of_all(len(grown), len(new))} {size} as large ({format_pair(first.text, second.text)}{rest})"
    gone, came, transposed, types = _other_arrays(old, new)
    words = []
    if len(old) != len(new):
        sides = [f"{word} {_listed(side)}" for word, side in (("without", gone), ("with", came)) if side]
        words.append(", ".join([f"{many(len(new), 'array')} instead of {len(old)}", *sides]))
    elif gone:
        which = f": {_listed(came)} instead of {_listed(gone)}"  # of several, nothing says which became which
        which = f" ({format_pair(gone[0].text, came[0].text)})" if len(gone) == 1 else which
        is_reshaped = sorted(shape.elements for shape in gone) == sorted(shape.elements for shape in came)
        words.append(f"{_of_all(len(gone), len(new))} of another {'shape' if is_reshaped else 'size'}{which}")
    words += [f"{_of_all(count, len(new))} {now} instead of {was}" for (was, now), count in types.items()]
    others = (
        f"{_of_all(transposed, len(new))} transposed" if transposed else "arrays of the same types in another order"
    )
    return "; ".join(words) or others


def retyped_arrays(old: Sequence[Shape], new: Sequence[Shape]) -> Counter[tuple[str, str]]:
    """How many arrays of a collective have another element type, by both types.

    Example:
        >>> retyped_arrays([read_shape("f32[8]"), read_shape("f32[]")], [read_shape("bf16[8]"), read_shape("f32[]")])
        Counter({('f32', 'bf16'): 1})
    """
    return Counter() if _grown_alike(old, new) else _other_arrays(old, new)[3]


def _grown_alike(old: Sequence[Shape], new: Sequence[Shape]) -> list[tuple[Shape, Shape]]:
    """The arrays that differ, in order, if all of them grew or shrank by one ratio; else []."""
    pairs = [(a, b) for a, b in zip(old, new, strict=False) if a != b] if len(old) == len(new) else []
    is_alike = all((a.element_type, len(a.dimensions)) == (b.element_type, len(b.dimensions)) for a, b in pairs)
    ratios = {Fraction(b.elements, a.elements) if a.elements else Fraction(0) for a, b in pairs}
    return pairs if is_alike and len(ratios) == 1 and ratios.isdisjoint((0, 1)) else []


def _times(ratio: Fraction) -> str:
    """`twice`, `half`, `8 times`, `1.5 times`, `1/3`: so large is the one compared with the other."""
    words = {2: "twice", Fraction(1, 2): "half"}.get(ratio)
    return words or (str(ratio) if ratio.numerator == 1 else f"{float(ratio):.3g} times")


def _other_arrays(
    old: Sequence[Shape], new: Sequence[Shape]
) -> tuple[list[Shape], list[Shape], int, Counter[tuple[str, str]]]:
    """The arrays of one side alone, the number of transposed ones, and how many have another element type."""
    gone, came = list((Counter(old) - Counter(new)).elements()), list((Counter(new) - Counter(old)).elements())
    transposed = len(_paired(gone, came, lambda shape: (shape.element_type, *sorted(shape.dimensions))))
    reshaped = _paired(gone, came, lambda shape: (shape.element_type, shape.elements))
    retyped = _paired(gone, came, lambda shape: shape.dimensions) + _paired(gone, came, lambda shape: shape.elements)
    gone, came = gone + [old for old, _ in reshaped], came + [new for _, new in reshaped]
    return gone, came, transposed, Counter((a.element_type, b.element_type) for a, b in retyped)


def _paired(gone: list[Shape], came: list[Shape], key_of: Callable[[Shape], Hashable]) -> list[tuple[Shape, Shape]]:
    """Takes arrays with equal keys off both lists; returns the pairs."""
    pairs = []
    for shape in [*gone]:
        other = next((one for one in came if key_of(one) == key_of(shape)), None)
        if other is not None:
            gone.remove(shape)
            came.remove(other)
            pairs.append((shape, other))
    return pairs


def _of_all(count: int, total: int) -> str:
    every = "both" if total == 2 else f"all {total}"
    return f"{every} arrays" if count == total > 1 else f"{count} of {many(total, 'array')}"


def _bytes(shape: Shape) -> int:
    return shape.bytes


def _listed(arrays: Sequence[Shape]) -> str:
    """The largest of several arrays: `2x f32[8,8], f32[8], 3 more`."""
    counts = Counter(sorted(arrays, key=_bytes, reverse=True))
    shown = [(shape, counts[shape]) for shape in [*counts][:_MOST_SHAPES]]
    rest = len(arrays) - sum(count for _, count in shown)
    words = [f"{count}x {shape.text}" if count > 1 else shape.text for shape, count in shown]
    return ", ".join([*words, *([f"{rest} more"] if rest else [])])
