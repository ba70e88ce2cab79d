"""Formats numbers and source locations: 12.5 KiB, +17 %, model.py:31 (loss)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from hlodiff.hlo.metadata import is_library, package_frame, shown_file
from hlodiff.hlo.model import Frame

# --- Human-readable numbers: 12.5 KiB, 1.2 M, +17 %.

Unit = Literal["count", "bytes"]

_MOST = 10**300


def format_bytes(count: float) -> str:
    """Bytes with a binary unit.

    Example:
        >>> format_bytes(512), format_bytes(12800), format_bytes(3 * 1024**3)
        ('512 B', '12.5 KiB', '3.0 GiB')
    """
    size = _bounded(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB" if abs(size) < 1e6 else f"{size:.3g} TiB"


def format_count(count: float) -> str:
    """A count: exact up to a million, then with a unit.

    Example:
        >>> format_count(12), format_count(123456), format_count(2.5e9)
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


FORMATS: dict[Unit, Callable[[float], str]] = {"count": format_count, "bytes": format_bytes}
"""How to show a number of each unit."""


def _bounded(count: float) -> float:
    """A count as a float, bounded: shapes of an untrusted file may have more elements than a float can hold."""
    return float(min(max(count, -_MOST), _MOST)) if count == count else 0.0


def format_sides(old: float, new: float, show: Callable[[float], str]) -> tuple[str, str]:
    """Both sides of a number; different numbers get different text: 40,962 B and 40,960 B are both 40.0 KiB.

    Example:
        >>> format_sides(40962, 40960, format_bytes), format_sides(8, 8, format_count)
        (('40,962 B', '40,960 B'), ('8', '8'))
    """
    before, after = show(old), show(new)
    if before == after and old != new:
        end = " B" if show is format_bytes else ""
        before, after = f"{old:,.15g}{end}", f"{new:,.15g}{end}"
    return before, after


ARROW = " -> "
"""Between both sides of anything, in every report."""

OF_LOOPS = " of unknown length"
"""Suffix of loops with an unknown trip count."""
FIRST_LINE = 80
"""Characters of a first line; longer text belongs in the list."""


def format_pair(old: object, new: object) -> str:
    """Both sides of anything.

    Example:
        >>> format_pair("tanh", "exp")
        'tanh -> exp'
    """
    return f"{old}{ARROW}{new}"


def format_arrow(old: float, new: float, show: Callable[[float], str]) -> str:
    """Both sides of a number with an arrow between them, or one number if equal.

    Example:
        >>> format_arrow(2, 3, format_count), format_arrow(40962, 40960, format_bytes), format_arrow(8, 8, format_bytes)
        ('2 -> 3', '40,962 B -> 40,960 B', '8 B')
    """
    before, after = format_sides(old, new, show)
    return format_pair(before, after) if old != new else before


def format_change(old: float, new: float) -> str:
    """The relative change of a number.

    Example:
        >>> format_change(100, 117), format_change(0, 3), format_change(4, 0)
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


def many_are(count: int, one: str) -> str:
    """A count, its noun and the verb.

    Example:
        >>> many_are(1, "edit"), many_are(3, "edit")
        ('1 edit is', '3 edits are')
    """
    return f"{many(count, one)} {'is' if count == 1 else 'are'}"


def format_names(names: Sequence[str], most: int = 3) -> str:
    """`f, g, h and 3 more`.

    Example:
        >>> format_names("fghij")
        'f, g, h and 2 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


_CONDITION = re.compile(r"(.*), (once [a-z ]+)")


def split_next(following: str) -> tuple[str, str]:
    """The next command and the label before it, with its condition; the command comes last, so it can be copied.

    Args:
        following: a command, optionally followed by a condition: `hlodiff check f, once within limits`.

    Example:
        >>> split_next("hlodiff check f, once within limits")
        ('next, once within limits', 'hlodiff check f')
    """
    found = _CONDITION.fullmatch(following)
    return (f"next, {found[2]}", found[1]) if found else ("next", following)


def format_next(following: str) -> str:
    """The label and the next command as one line.

    Example:
        >>> format_next("hlodiff review"), format_next("hlodiff check f, once it is repaired")
        ('next: hlodiff review', 'next, once it is repaired: hlodiff check f')
    """
    return ": ".join(split_next(following))


_MOST_TYPED = 3  # names: nobody types a command with more


def format_command(command: str, names: Collection[str], otherwise: str = "") -> str:
    """A command with its names, if they are few.

    Args:
        command: `hlodiff update`.
        names: functions, cases or scenarios.
        otherwise: the command if they are many; "" for the command without names.

    Example:
        >>> format_command("hlodiff update", ["f", "g"]), format_command("hlodiff update", ["f", "g", "h", "i"])
        ('hlodiff update f g', 'hlodiff update')
    """
    return " ".join([command, *names]) if len(names) <= _MOST_TYPED else otherwise or command


def format_seconds(seconds: float) -> str:
    """A duration with three digits.

    Example:
        >>> format_seconds(0.000123), format_seconds(0.0421), format_seconds(0.25), format_seconds(83.2)
        ('0.12 ms', '42.1 ms', '250 ms', '83.2 s')
    """
    if seconds >= 0.9995:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    milliseconds = seconds * 1e3
    digits = 0 if milliseconds >= 99.95 else 1 if milliseconds >= 9.995 else 2
    return f"{milliseconds:.{digits}f} ms"


_BLOCKS = "▁▂▃▄▅▆▇█"
# For terminals without block characters: by height and amount of ink.
_ASCII = "_.-~=+*#"
_GAP = " "


def sparkline(values: Sequence[float | None], *, width: int = 40, ascii_only: bool = False) -> str:
    """Values as characters of eight heights, the lowest value lowest.

    Args:
        values: values, oldest first; None (unknown) leaves a gap.
        width: maximum number of characters; with more values, each character shows the largest of several.
        ascii_only: whether the terminal shows only ASCII.

    Returns:
        one character for each value or group of values; all the lowest if the value never changes.

    Example:
        >>> sparkline([1, 2, None, 8]), sparkline([1, 2, None, 8], ascii_only=True), sparkline([5, 5])
        ('▁▂ █', '_. #', '▁▁')
        >>> sparkline(list(range(100)), width=4)
        '▃▄▆█'
    """
    marks = _ASCII if ascii_only else _BLOCKS
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)

    def mark(value: float | None) -> str:
        if value is None:
            return _GAP
        return marks[round((value - low) / (high - low) * (len(marks) - 1))] if high > low else marks[0]

    width = max(width, 1)
    if len(values) > width:  # the largest of each group
        bounds = [number * len(values) // width for number in range(width + 1)]
        groups = [values[start:end] for start, end in pairwise(bounds)]
        values = [max((value for value in group if value is not None), default=None) for group in groups]
    return "".join(map(mark, values)).rstrip()


# --- Locations: Python frames without the machine's paths, memory spaces without quotes.

_SPACES = {"device": "device memory", "host": "host memory"}


def place(source: tuple[Frame, ...], root: str = "", packages: Sequence[str] = ()) -> str:
    """The source location of an instruction, `model.py:31 (loss)`; see `shown_place`.

    Example:
        >>> place((Frame("/opt/site-packages/jax/_src/nn.py", 9, "gelu"), Frame("model.py", 31, "loss")))
        'model.py:31 (loss)'
    """
    return format_place(shown_place(source, root, packages))


def shown_place(source: tuple[Frame, ...], root: str, packages: Sequence[str] = ()) -> Place | None:
    """The user's line of a call stack; a library's line if there is no other, or if requested.

    Args:
        source: the stack, innermost first.
        root: the project's folder.
        packages: libraries whose own line is shown, with the user's line as its caller.

    Example:
        >>> shown_place((Frame("model.py", 31, "loss"),), "").line
        31
    """
    frame, caller = package_frame(source, packages)
    if frame is None:
        return None
    function = frame.function.replace("<locals>.", "")
    called = _shown(caller, root) if caller else ""
    return Place(shown_file(frame.file, root), frame.line, function, is_library(frame.file), called)


def shown_stack(source: tuple[Frame, ...], root: str = "") -> tuple[str, ...]:
    """A whole Python call stack, innermost first: `jax/nn.py:9 (gelu)`, `model.py:31 (loss)`.

    Example:
        >>> shown_stack((Frame("/opt/site-packages/jax/_src/nn.py", 9, "gelu"), Frame("model.py", 31, "loss")))
        ('jax/_src/nn.py:9 (gelu)', 'model.py:31 (loss)')
    """
    return tuple(_shown(frame, root) for frame in source)


def _shown(frame: Frame, root: str) -> str:
    function = frame.function.replace("<locals>.", "")
    return f"{shown_file(frame.file, root)}:{frame.line}" + (f" ({function})" if function else "")


def format_place(where: Place | None) -> str:
    """`model.py:31 (loss)`; "" for no place.

    Example:
        >>> format_place(Place("model.py", 31, "loss"))
        'model.py:31 (loss)'
        >>> format_place(Place("optax/_a.py", 3, "update", library=True, caller="model.py:31 (loss)"))
        'optax/_a.py:3 (update), called from model.py:31 (loss)'
    """
    if where is None:
        return ""
    function = f" ({where.function})" if where.function else ""
    return f"{where.at}{function}" + (f", called from {where.caller}" if where.caller else "")


def format_targets(targets: Sequence[str]) -> str:
    """` on cpu, tpu-v5e`; "" if targets are unknown.

    Example:
        >>> format_targets(("cpu", "tpu-v5e")), format_targets(())
        (' on cpu, tpu-v5e', '')
    """
    return f" on {', '.join(targets)}" if any(targets) else ""


def format_classes(changed: Iterable[tuple[str | None, Iterable[str]]], order: Sequence[str] = ()) -> str:
    """Classes of a change, each with its targets unless all have it: `numerics (tpu-v5e), structure`.

    Args:
        changed: the target of each changed program, and its classes.
        order: order of classes; others follow in order of appearance.

    Example:
        >>> format_classes([("cpu", ["structure"]), ("tpu-v5e", ["numerics", "structure"])], ["numerics", "structure"])
        'numerics (tpu-v5e), structure'
    """
    classes: dict[str, list[str]] = {}
    for target, found in changed:
        classes.setdefault(target or "", []).extend(found)
    known = dict.fromkeys(one for found in classes.values() for one in found if one)
    ranked = [*(one for one in order if one in known), *(one for one in known if one not in order)]
    on = {one: [target for target, found in classes.items() if one in found] for one in ranked}
    return ", ".join(one if len(on[one]) == len(classes) else f"{one} ({', '.join(on[one])})" for one in ranked)


def inside(file: str) -> bool:
    """Whether a path stays inside its starting folder.

    Example:
        >>> inside("pkg/model.py"), inside("../x"), inside("/etc/passwd"), inside("<stdin>")
        (True, False, False, False)
    """
    parts = file.replace("\\", "/").split("/")
    return bool(file) and ".." not in parts and parts[0] != "" and ":" not in parts[0] and not file.startswith("<")


def is_python(file: str) -> bool:
    """Whether a path is a Python file inside the folder and not hidden; the path may be untrusted.

    Example:
        >>> is_python("pkg/model.py"), is_python(".env"), is_python(".git/hook.py"), is_python("../x.py")
        (True, False, False, False)
    """
    parts = file.replace("\\", "/").split("/")
    return inside(file) and file.endswith(".py") and not any(part.startswith(".") for part in parts)


def line_in_repository(where: Place | None, folder: str) -> tuple[str, int] | None:
    """The file relative to the top of the repository, and the line; None if it is outside of the repository.

    Args:
        where: a line of the project or of a library.
        folder: the project's folder below the top, see `ReportView`.

    Example:
        >>> line_in_repository(Place("model.py", 31), "packages/ml"), line_in_repository(Place("../x.py", 1), "")
        (('packages/ml/model.py', 31), None)
    """
    if where is None or where.library or not inside(where.file):
        return None
    return f"{folder}/{where.file}" if folder else where.file, max(where.line, 1)


def format_memory_space(space: str) -> str:
    """A memory space: `vmem`, `device memory`, `pinned_host`.

    Example:
        >>> format_memory_space("host"), format_memory_space('"pinned_host"'), format_memory_space("")
        ('host memory', 'pinned_host', 'device memory')
    """
    word = space.strip('"') or "device"
    return _SPACES.get(word, word)


@dataclass(frozen=True, slots=True)
class Place:
    """A Python line: the file relative to the project, or to a library's folder if `library` is set.

    Args:
        file, line, function: the location.
        library: whether it is in a library instead of the user's code.
        caller: the user's line that called the library, `net.py:12 (step)`; "" if not shown.
    """

    file: str
    line: int
    function: str = ""
    library: bool = False
    caller: str = ""

    @property
    def at(self) -> str:
        """The file and the line: `model.py:31`."""
        return f"{self.file}:{self.line}"

    @property
    def stored(self) -> str:
        """Its file name in programs."""
        return f"site-packages/{self.file}" if self.library else self.file
