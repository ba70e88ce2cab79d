"""What a page shows of each program when it is opened: equal accounts once, all of them bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hlodiff.diff.compared import Compared
from hlodiff.report.page.body import Subject, body_of, size_of
from hlodiff.report.page.bounds import PageLimits
from hlodiff.report.page.excerpt import Sources
from hlodiff.report.record import Report

_SHARE = 8  # how much more than its equal share a program may take
_LEAST = 100_000


@dataclass(slots=True)
class Bodies:
    """Texts of JSON, and for each program of the report which of them is its own; -1 for none."""

    texts: list[str] = field(default_factory=list)
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
    texts: dict[str, int] = {}
    found = [-1] * len(report.programs)
    room = limits.page_bytes
    for at, number in enumerate(numbers):
        share = min(room, max(room // (len(numbers) - at) * _SHARE, _LEAST))
        text = body_of(Subject(report.programs[number], report.root, sources, limits), share)
        room -= len(text) if text not in texts else 0
        found[number] = texts.setdefault(text, len(texts))
    return Bodies(list(texts), found)


def has_body(program: Compared) -> bool:
    """Whether there is more to say of a program than its row of the table does."""
    return program.diff is not None or bool(program.op_count_pairs()) or bool(program.log)


def embedded(texts: Sequence[str]) -> list[str]:
    """JSON that can stand inside of a `script` element, and holds no line end that JavaScript does not know.

    Example:
        >>> embedded(['"</script>"'])
        ['"\\\\u003c/script\\\\u003e"']
    """
    escapes = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
    return [text.translate(escapes) for text in texts]
