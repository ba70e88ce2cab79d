"""The numbers that authors of performance pull requests write into a table by hand, and how they look there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hlodiff.diff.compared import Compared
from hlodiff.report.numbers import bytes_in_words, change_in_words, count_in_words
from hlodiff.report.sheet import Number, Unit

# (metric, its words, unit, metric of the bytes that belong to it), in the order of the table; collectives stand apart.
_BEFORE: tuple[tuple[str, str, Unit, str], ...] = (("ops", "ops", "count", ""), ("fusions", "fusions", "count", ""))
_AFTER: tuple[tuple[str, str, Unit, str], ...] = (
    ("memory.temp", "temp", "bytes", ""),
    ("memory.alias", "aliased", "bytes", ""),
    ("copies", "copies", "count", "copy_bytes"),
    ("copies_in_loops", "copies in loops", "count", ""),
    ("host_transfers", "host transfers", "count", ""),
    ("cost.flops", "flops", "count", ""),
    ("cost.bytes_accessed", "bytes accessed", "bytes", ""),
)


def key_numbers(program: Compared) -> tuple[Number, ...]:
    """The numbers that changed: op counts, collectives by kind with bytes, temp and aliased bytes, copies.

    Args:
        program: any; one with one side only has op counts alone.

    Returns:
        changed numbers in a fixed order.

    Example:
        >>> key_numbers(Compared("f", "cpu", "compiled", "added", op_counts={"add": 2}))
        (Number(name='ops', old=0, new=2, unit='count', old_bytes=0, new_bytes=0),)
    """
    metrics: Mapping[str, tuple[float, float]] = program.metrics()
    if program.diff is None:
        pairs = program.op_count_pairs().values()
        metrics = {"ops": (sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs))}
    found = [*_numbers(metrics, _BEFORE), *_collectives(metrics), *_numbers(metrics, _AFTER)]
    return tuple(n for n in found if (n.old, n.old_bytes) != (n.new, n.new_bytes))


def _numbers(
    metrics: Mapping[str, tuple[float, float]], names: Iterable[tuple[str, str, Unit, str]]
) -> Iterator[Number]:
    for metric, words, unit, size in names:
        old, new = metrics.get(metric, (0, 0))
        yield Number(words, old, new, unit, *metrics.get(size, (0, 0)))


def _collectives(metrics: Mapping[str, tuple[float, float]]) -> Iterator[Number]:
    for name, (old, new) in metrics.items():
        family = name.removeprefix("collectives.")
        if family != name:
            yield Number(family, old, new, "count", *metrics.get(f"collective_bytes.{family}", (0, 0)))


def arrow(old: float, new: float, unit: Unit) -> str:
    """Both sides of a number; numbers that differ look different: 40,962 B and 40,960 B are 40.0 KiB both.

    Example:
        >>> arrow(2, 3, "count"), arrow(40962, 40960, "bytes"), arrow(8, 8, "bytes")
        ('2 -> 3', '40,962 B -> 40,960 B', '8 B')
    """
    show = bytes_in_words if unit == "bytes" else count_in_words
    before, after = show(old), show(new)
    if before == after and old != new:
        end = " B" if unit == "bytes" else ""
        before, after = f"{old:,.15g}{end}", f"{new:,.15g}{end}"
    return f"{before} -> {after}" if old != new else before


def number_in_words(number: Number) -> str:
    """A number with both sides: `0 -> 2 (0 B -> 24.0 KiB)`.

    Example:
        >>> number_in_words(Number("all-gather", 0, 2, "count", 0, 24576))
        '0 -> 2 (0 B -> 24.0 KiB)'
    """
    words = arrow(number.old, number.new, number.unit)
    if number.old_bytes or number.new_bytes:
        words += f" ({arrow(number.old_bytes, number.new_bytes, 'bytes')})"
    return words


def by_how_much(number: Number) -> str:
    """The change of a number: `+17 %`; of its bytes where the count stayed."""
    if number.old != number.new:
        return change_in_words(number.old, number.new)
    return change_in_words(number.old_bytes, number.new_bytes)
