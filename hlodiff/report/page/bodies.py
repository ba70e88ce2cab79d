"""What a page shows of each program when it is opened: equal accounts once, all of them bounded."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field

from hlodiff.diff.compared import Compared
from hlodiff.report.page.body import Subject, body_of, size_of
from hlodiff.report.page.bounds import PageLimits
from hlodiff.report.page.excerpt import Sources
from hlodiff.report.record import Report

_SHARE = 8  # how much more than its equal share a program may take
_LEAST = 100_000
_PACKED = 20_000  # characters of JSON from which on it is packed
_SMALLER = 6  # by what listings and drawings become smaller then, with room to spare
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Stored:
    """What is shown of one program, as it stands in the page.

    Args:
        type: of the `script` element: "application/json", or "application/zlib" for the same, packed, in base64.
        text: which can stand inside of such an element.
    """

    type: str
    text: str


@dataclass(slots=True)
class Bodies:
    """What is stored, and for each program of the report which of it is its own; -1 for none."""

    stored: list[Stored] = field(default_factory=list)
    of_program: list[int] = field(default_factory=list)


def bodies_of(report: Report, limits: PageLimits) -> Bodies:
    """Everything that a page shows of single programs.

    Small programs come first in taking room, so that a single large one does not leave nothing for the others, and
    unchanged ones last.

    Args:
        report: what a command found out.
        limits: how much goes into a page.
    """
    sources = Sources(report.root, limits.excerpt)
    numbers = [number for number, program in enumerate(report.programs) if has_body(program)]
    numbers.sort(key=lambda n: (report.programs[n].status == "identical", size_of(report.programs[n]), n))
    known: dict[Stored, int] = {}
    found = [-1] * len(report.programs)
    room = limits.page_bytes
    for at, number in enumerate(numbers):
        share = min(room, max(room // (len(numbers) - at) * _SHARE, _LEAST))
        body = _fitting(Subject(report.programs[number], report.root, sources, limits), share)
        room -= len(body.text) if body not in known else 0
        found[number] = known.setdefault(body, len(known))
    return Bodies(list(known), found)


def _fitting(subject: Subject, room: int) -> Stored:
    """The longest account that fits as it stands in the page."""
    most = room * _SMALLER if room * _SMALLER > _PACKED else room
    while True:
        body = stored(body_of(subject, most))
        if len(body.text) <= room or most <= room:
            return body
        most = max(room, most * room // len(body.text) * 9 // 10)


def has_body(program: Compared) -> bool:
    """Whether there is more to say of a program than its row of the table does."""
    return program.diff is not None or bool(program.op_count_pairs()) or bool(program.log)


def stored(text: str) -> Stored:
    """JSON as it stands in the page: it cannot end its element, and holds no line end that JavaScript does not know.

    Args:
        text: JSON.

    Example:
        >>> stored('"</script>"')
        Stored(type='application/json', text='"\\u003c/script\\u003e"')
    """
    if len(text) <= _PACKED:
        return Stored("application/json", text.translate(_ESCAPES))
    packed = zlib.compress(text.encode("utf-8", "backslashreplace"), 6)
    return Stored("application/zlib", base64.b64encode(packed).decode())
