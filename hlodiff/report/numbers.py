"""Numbers as people read them: 12.5 KiB, 1.2 M, +17 %."""

from __future__ import annotations

_MOST = 10**300


def bytes_in_words(count: float) -> str:
    """Bytes with a binary unit.

    Example:
        >>> bytes_in_words(512), bytes_in_words(12800), bytes_in_words(3 * 1024**3)
        ('512 B', '12.5 KiB', '3.0 GiB')
    """
    size = _bounded(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB" if abs(size) < 1e6 else f"{size:.3g} TiB"


def count_in_words(count: float) -> str:
    """A count: exact up to a million, then with a unit.

    Example:
        >>> count_in_words(12), count_in_words(123456), count_in_words(2.5e9)
        ('12', '123,456', '2.50 G')
    """
    count = _bounded(count)
    if abs(count) < 1e6:
        return f"{count:,.0f}" if float(count).is_integer() else f"{count:,.2f}"
    for unit in ("M", "G", "T"):
        count /= 1e3 if unit != "M" else 1e6
        if abs(count) < 1e3:
            return f"{count:.2f} {unit}"
    return f"{count:.3g} T"


def _bounded(count: float) -> float:
    """As a float; shapes of a file that nobody vouches for may have more elements than a float can count."""
    return float(min(max(count, -_MOST), _MOST)) if count == count else 0.0


def change_in_words(old: float, new: float) -> str:
    """By how much a number changed.

    Example:
        >>> change_in_words(100, 117), change_in_words(0, 3), change_in_words(4, 0)
        ('+17 %', 'was 0', 'now 0')
    """
    old, new = _bounded(old), _bounded(new)
    if not old:
        return "was 0"
    if not new:
        return "now 0"
    percent = 100 * (new - old) / abs(old)
    if abs(percent) < 0.05:
        return f"{new - old:+g}"
    return f"{percent:+.1f} %" if abs(percent) < 10 else f"{percent:+.0f} %"


def many(count: int, one: str, several: str = "") -> str:
    """A count and its noun.

    Example:
        >>> many(1, "edit"), many(3, "edit"), many(0, "copy", "copies")
        ('1 edit', '3 edits', '0 copies')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def seconds_in_words(seconds: float) -> str:
    """A duration with three digits.

    Example:
        >>> seconds_in_words(0.000123), seconds_in_words(0.0421), seconds_in_words(0.25), seconds_in_words(83.2)
        ('0.12 ms', '42.1 ms', '250 ms', '83.2 s')
    """
    if seconds >= 0.9995:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    milliseconds = seconds * 1e3
    digits = 0 if milliseconds >= 99.95 else 1 if milliseconds >= 9.995 else 2
    return f"{milliseconds:.{digits}f} ms"
