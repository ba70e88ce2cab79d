"""What a change costs, in words: operations and bytes from shapes, XLA's estimated cycles where it prints them."""

from __future__ import annotations

from collections.abc import Callable

from hlodiff.diff.result import Cost
from hlodiff.report.numbers import bytes_in_words, count_in_words

_MEASURES: tuple[tuple[Callable[[Cost], float], Callable[[float], str], str], ...] = (
    (lambda cost: cost.flops, count_in_words, " flops"),
    (lambda cost: cost.bytes, bytes_in_words, ""),
    (lambda cost: cost.cycles or 0, count_in_words, " cycles"),
)


def cost_in_words(old: Cost | None, new: Cost | None) -> str:
    """What both sides cost: `+40,960 flops`, `64.0 KiB -> 32.0 KiB`, or one number where they cost the same.

    Args:
        old, new: None for a side on which nothing stands.

    Returns:
        words in the order operations, bytes read and written, cycles, bytes in the host's memory; "" for nothing.

    Example:
        >>> cost_in_words(None, Cost(1, 128, 512, 512)), cost_in_words(Cost(1, 128), Cost(1, 128))
        ('+128 flops, +1.0 KiB', '128 flops')
    """
    words = []
    for measure, show, unit in _MEASURES:
        before, after = (None if cost is None else measure(cost) for cost in (old, new))
        words.append(_change(before, after, show, unit))
    for space in dict.fromkeys(name for cost in (old, new) if cost for name, _ in cost.elsewhere):
        before, after = (None if cost is None else dict(cost.elsewhere).get(space, 0) for cost in (old, new))
        if before != after and space == "host":  # what moves between other memories is told by the fields; JSON has all
            words.append(_change(before, after, bytes_in_words, f" in {space}"))
    return ", ".join(filter(None, words))


def _change(old: float | None, new: float | None, show: Callable[[float], str], unit: str) -> str:
    if not old and not new:
        return ""
    if old is None or new is None:
        return f"+{show(new or 0)}{unit}" if old is None else f"-{show(old)}{unit}"
    return f"{show(new)}{unit}" if old == new else f"{show(old)} -> {show(new)}{unit}"
