"""The report for a terminal: a headline for each changed program, what it means, then the edits."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlodiff.diff.compared import Compared
from hlodiff.report.edits import EditRow
from hlodiff.report.escape import clip, printable
from hlodiff.report.record import Report
from hlodiff.report.sections import Story, differs, stories
from hlodiff.report.totals import checked_in_words, totals_in_words

if TYPE_CHECKING:
    from rich.text import Text

_MOST_EDITS = 12
_MOST_MORE_EDITS = 6  # of each further story: what was written comes first, then what each compiler made of it
_MOST_GROUPS = 50
_MOST_LINES_OF_LOG = 12
_MORE = "see --format json"
_TITLES = 13
_STYLES = {"added": "green", "removed": "red", "changed": "yellow", "moved": "cyan"}
_WORDS = {"added": "new: no snapshot", "removed": "orphaned: no such function any more"}
_STAGES = {"stablehlo": "StableHLO", "compiled": "compiled"}


@dataclass(frozen=True, slots=True)
class _Line:
    """One line: indentation, text that may be cut at the window's edge, text that stays at its end, a style.

    A line with a `title`, "" included, stands in the column beside the titles.
    """

    indent: int
    text: str
    end: str = ""
    style: str = ""
    wrap: bool = False
    title: str | None = None


def to_terminal(report: Report, *, width: int = 100, color: bool = False) -> str:
    """The report as text.

    Args:
        report: what a command found out.
        width: columns of the window; long lines are cut or wrapped to it, at least 40.
        color: whether terminal colours may be used. No meaning rests on them.

    Returns:
        text ending in a newline; its last line is always the totals.

    Example:
        >>> print(to_terminal(Report("diff", "a", "b", ())), end="")
        nothing to compare
    """
    width = max(width, 40)
    lines = list(_lines(report))
    if not color:
        return "".join(text + "\n" for line in lines for text in _plain(line, width))
    return _colored(lines, width)


def _lines(report: Report) -> Iterator[_Line]:
    for change in report.toolchain:
        on = f" ({', '.join(change.targets)})" if change.targets else ""
        yield _Line(0, f"toolchain differs: {change.what} {change.old} -> {change.new}{on}", style="bold", wrap=True)
    if report.toolchain:
        yield _Line(0, "")
    shown = {name: programs for name, programs in report.by_name().items() if any(map(_is_told, programs))}
    for name, programs in list(shown.items())[:_MOST_GROUPS]:
        yield from _one(name, programs, report)
        yield _Line(0, "")
    if len(shown) > _MOST_GROUPS:
        yield _Line(0, f"... and {len(shown) - _MOST_GROUPS} more, {_MORE}")
    yield from _not_checked(report)
    for note in report.notes:
        yield _Line(0, f"note: {note}", wrap=True)
    if report.command == "check" and any(program.status != "not_checked" for program in report.programs):
        yield _Line(0, f"checked {checked_in_words(report)}", wrap=True)
    yield _Line(0, totals_in_words(report), style="bold", wrap=True)


def _is_told(program: Compared) -> bool:
    return program.status in ("changed", "added", "removed") or differs(program)


def _one(name: str, programs: list[Compared], report: Report) -> Iterator[_Line]:
    """One function or file: what became of it on which targets, then the stories."""
    targets: dict[str, dict[str, None]] = {}
    for program in programs:
        if program.status in _STYLES:
            targets.setdefault(program.status, {})[program.target or ""] = None
    said = []
    for status, on in targets.items():
        word = _WORDS.get(status, status) if report.command == "check" else status
        said.append(f"{word} on {', '.join(on)}" if any(on) else word)
    style = _STYLES[next(iter(targets))] if targets else ""
    yield _Line(0, f"{name}  {'; '.join(said)}", style=f"bold {style}", wrap=True)
    for number, story in enumerate(stories(programs, report.root)):
        yield from _story(story, _MOST_EDITS if number == 0 else _MOST_MORE_EDITS)


def _story(story: Story, most: int) -> Iterator[_Line]:
    on = f" on {', '.join(story.targets)}" if story.targets else ""
    yield _Line(2, f"{_STAGES[story.stage]}{on}: {story.headline}", wrap=True)
    for title, lines in story.sections:
        for number, line in enumerate(lines):
            yield _Line(4, line, title="" if number else title, wrap=True)
    if story.edits:
        yield _Line(4, "edits")
    for row in story.edits[:most]:
        yield _edit(row)
    if len(story.edits) > most:
        yield _Line(6, f"... and {len(story.edits) - most} more, {_MORE}")


def _edit(row: EditRow) -> _Line:
    times = f"{row.count}x " if row.count > 1 else ""
    return _Line(6, f"{row.kind:<8} {times}{row.what}", f"  {row.where}" if row.where else "", _STYLES[row.kind])


def _not_checked(report: Report) -> Iterator[_Line]:
    """Reasons with the programs they hold for; one reason often holds for all programs of a target."""
    reasons: dict[tuple[bool, str, str, str], list[Compared]] = {}
    for program in report.programs:
        if program.status == "not_checked":
            key = (not program.broken, program.reason, program.advice, program.log)
            reasons.setdefault(key, []).append(program)
    for (fine, reason, advice, log), programs in sorted(reasons.items(), key=lambda item: item[0][0]):
        labels = list(dict.fromkeys(program.label for program in programs))
        many = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        head = "not checked" if fine else "could not be judged"
        yield _Line(0, f"{head}: {', '.join(labels[:3])}{many}", style="" if fine else "bold red", wrap=True)
        for part in reason.split("\n"):
            yield _Line(2, part, wrap=True)
        if advice:
            yield _Line(2, f"hint: {advice}", wrap=True)
        for part in log.rstrip().split("\n")[-_MOST_LINES_OF_LOG:] if log else []:
            yield _Line(4, f"| {part}")
        yield _Line(0, "")


def _plain(line: _Line, width: int) -> list[str]:
    """The line, cut or wrapped to the width; what stands at its end is kept whole."""
    text, end = printable(line.text), printable(line.end)
    room = width - line.indent
    if line.title is not None:
        heads = [f"{line.title:<{_TITLES}}"]
        parts = _wrapped(text, room - _TITLES)
        heads += [" " * _TITLES] * (len(parts) - 1)
        return [" " * line.indent + head + part for head, part in zip(heads, parts, strict=True)]
    if line.wrap:
        return [" " * line.indent + part for part in _wrapped(text + end, room)]
    if len(end) > room // 2 and len(text) + len(end) > room:
        # The place in Python is what a reviewer goes to: it gets a line of its own before any of it is lost.
        return [" " * line.indent + clip(text, room), " " * line.indent + end]
    return [(" " * line.indent + clip(text, room - len(end)) + end).rstrip()]


def _wrapped(text: str, width: int) -> list[str]:
    """Wrapped at spaces, further lines indented; a word longer than the width, such as a path, stays whole."""
    lines = [""]
    for word in text.split(" ") if len(text) > width else [text]:
        if lines[-1].strip() and len(lines[-1]) + len(word) > width:
            lines[-1] = lines[-1].rstrip()
            lines.append("  ")
        lines[-1] += word + " "
    lines[-1] = lines[-1].rstrip()
    return lines


def _colored(lines: list[_Line], width: int) -> str:
    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", width=width, highlight=False)
    for line in lines:
        for text in _plain(line, width):
            styled: Text = Text(text, style=line.style)
            console.print(styled, soft_wrap=True)
    return out.getvalue()
