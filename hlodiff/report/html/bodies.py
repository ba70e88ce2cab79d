"""What a page shows of each program when it is opened: equal accounts once, all of them bounded."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.grouping import Origins
from hlodiff.differ.result import Edit, ModuleDiff
from hlodiff.hlo.metadata import is_library, own_frame, portable_file
from hlodiff.hlo.model import Frame
from hlodiff.report.addresses import edit_address
from hlodiff.report.edits import format_edit, format_field_change, listed_changes
from hlodiff.report.grouping import EditGroup, edit_groups_of, format_follows
from hlodiff.report.html.drawing import drawings_of
from hlodiff.report.html.limits import PageLimits
from hlodiff.report.html.listing import Listing, Matching, Place, listing_of, place_of
from hlodiff.report.html.overview import tables_of
from hlodiff.report.lines import clip, printable
from hlodiff.report.report import Report, SourceLine
from hlodiff.report.wording import ARROW, is_python, many, shown_place

_LARGEST = 1 << 20
_WIDEST = 200
_ABSOLUTE = ("/", "\\")


@dataclass(slots=True)
class Sources:
    """Python files of a project, each read once.

    Snapshots and programs name files, and anybody may have written them: only `.py` files inside the project are
    opened, none that is hidden, and none that a link leads out of it to.

    Args:
        root: the project's folder; "" where there is none.
        around: lines before and after.
        source_line: gives the lines of either side, see `Report`; None where they are not known.
        packages: libraries whose own line is shown, see `shown_place`.
    """

    root: str
    around: int
    source_line: SourceLine | None = None
    packages: Sequence[str] = ()
    _files: dict[str, list[str]] = field(default_factory=dict)

    def excerpt(self, source: Sequence[Frame]) -> dict[str, Any] | None:
        """The lines around the innermost frame of the user's own code; None where they are not at hand."""
        frame = own_frame(source)
        if frame is None or not self.root or is_library(frame.file):
            return None
        name = portable_file(frame.file, self.root)
        # A file of another folder is known by its bare name, and the project's file of that name is another one.
        if (frame.file.startswith(_ABSOLUTE) or ":" in frame.file) and not frame.file.startswith(
            self.root.rstrip("/") + "/"
        ):
            return None
        if name not in self._files:
            self._files[name] = self._read(name)
        lines = self._files[name]
        first = max(frame.line - self.around, 1)
        shown = [printable(line[:_WIDEST]) for line in lines[first - 1 : frame.line + self.around]]
        return (
            {"file": printable(name), "line": frame.line, "first": first, "lines": shown}
            if (0 < frame.line <= len(lines))
            else None
        )

    def both(self, program: ProgramComparison, stacks: Sequence[Sequence[Frame]]) -> list[dict[str, Any]]:
        """The lines around a change on the old and on the new side; one where they are the same.

        Args:
            program: whose change it is.
            stacks: for both sides the frames of the first instruction, () for none.

        Returns:
            excerpts with "side": "old", "new", "both", or "now" for a file as it is now, where the side's is not known.
        """
        found = [self._of_side(program, side, stack) for side, stack in enumerate(stacks)]
        if not any(found):
            now = next((one for stack in reversed(stacks) if (one := self.excerpt(stack))), None)
            return [{"side": "now"} | now] if now else []
        old, new = found
        if old and new and old["lines"] == new["lines"] and old["line"] - old["first"] == new["line"] - new["first"]:
            return [{"side": "both"} | new]
        return [{"side": name} | one for name, one in zip(("old", "new"), found, strict=True) if one]

    def _of_side(self, program: ProgramComparison, side: int, stack: Sequence[Frame]) -> dict[str, Any] | None:
        place = shown_place(tuple(stack), self.root, self.packages)
        if place is None or (place.library and not self.packages) or self.source_line is None:
            return None
        ask = partial(self.source_line, program.name, program.target, side, place.stored)
        if not ask(place.line):
            return None
        first = max(place.line - self.around, 1)
        lines = [printable(ask(n).expandtabs(4)[:_WIDEST]) for n in range(first, place.line + self.around + 1)]
        while not lines[-1]:
            lines.pop()
        return {"file": printable(place.file), "line": place.line, "first": first, "lines": lines}

    def _read(self, name: str) -> list[str]:
        if not is_python(name):
            return []
        try:
            top = Path(self.root).resolve()
            path = (top / name).resolve()
            if not path.is_relative_to(top) or not path.is_file() or path.stat().st_size > _LARGEST:
                return []
            return path.read_text(encoding="utf-8").expandtabs(4).splitlines()
        except (OSError, ValueError, RuntimeError):
            return []


_CHANNELS = ("edits", "schedule", "tuning")
_MOST_FRAMES = 60
_LONGEST = 600


def changes_of(subject: Subject, diff: ModuleDiff, listing: Listing | None) -> dict[str, Any]:
    """All changes of a program, by channel.

    Args:
        subject: the program, and how much is listed.
        diff: its difference.
        listing: where the instructions are shown; None where they are not.

    Returns:
        for each channel with changes its list; "more" counts the edit groups that are not listed.
    """
    found: dict[str, Any] = {}
    known: Counter[str] = Counter()
    limits = subject.limits
    for channel in _CHANNELS:
        edits: tuple[Edit, ...] = diff.reported if channel == "edits" else getattr(diff, channel)
        edit_groups = edit_groups_of(edits, subject.program.stage, subject.root, subject.packages)
        shown = []
        for edit_group in edit_groups[: limits.changes]:
            address = edit_address(edit_group)
            known[address] += 1
            again = f"-{known[address]}" if known[address] > 1 else ""
            shown.append({"id": address + again} | _change(edit_group, edits, listing, subject))
        found[channel] = {"list": shown, "more": max(len(edit_groups) - limits.changes, 0)}
    return found


def places_of(diff: ModuleDiff) -> tuple[set[Place], set[Place]]:
    """Where both programs were edited, in any channel."""
    found: tuple[set[Place], set[Place]] = (set(), set())
    for edit in (*diff.edits, *diff.schedule, *diff.tuning):
        for pair in edit.sites:
            for side, site in zip(found, pair, strict=True):
                if site:
                    side.add((site.computation, site.instruction))
    return found


def _change(edit_group: EditGroup, edits: Sequence[Edit], listing: Listing | None, subject: Subject) -> dict[str, Any]:
    limits = subject.limits
    own = [edits[number] for _, number in edit_group.edits]
    roots = {number for _, number in edit_group.edits}
    followers = [edit for edit in edits if edit.cause in roots]
    first = own[0]
    rows = []  # field, old and new value, in words
    for change in first.changes:
        if change.field in ("opcode", "computation") or change in listed_changes(first):
            words = format_field_change(change, first)
            name, colon, values = words.partition(": ")
            before, arrow, after = values.partition(ARROW)
            rows.append([*map(_plain, (name, before, after) if colon and arrow else (words, "", ""))])
    value: dict[str, Any] = {
        "kind": edit_group.kind,
        "count": edit_group.count,
        "what": _plain(edit_group.what),
        "where": _plain(edit_group.where),
        "cost": edit_group.cost_words,
        "scope": _plain(first.op_name or ""),
        "fields": rows,
        "texts": [_plain(site.text) if site else "" for site in (first.old, first.new)],
        "stack": [_plain(frame) for frame in edit_group.stack[:_MOST_FRAMES]],
        "sources": subject.sources.both(subject.program, subject.stacks(own)),
        "follows": format_follows(edit_group),
    }
    value["sites"] = _sites(own, listing, limits)
    value["followers"] = [
        {"kind": edit.kind, "count": edit.count, "what": _plain(format_edit(edit)),
         "sites": _sites([edit], listing, limits)}
        for edit in followers[: limits.changes // 4]
    ]  # fmt: skip
    value["more"] = max(len(followers) - limits.changes // 4, 0)
    return value


def _sites(edits: Iterable[Edit], listing: Listing | None, limits: PageLimits) -> list[list[int]]:
    """Lines of the old and of the new side, -1 for none."""
    found: list[list[int]] = []
    for edit in edits:
        for old, new in edit.sites if listing else ():
            lines = listing.site(place_of(old), place_of(new)) if listing else [-1]
            if max(lines) >= 0:
                found.append(lines)
    return found[: limits.sites]


def _plain(text: str) -> str:
    return clip(printable(text), _LONGEST)


_TOO_MANY = "The programs are not shown line by line: {size:,} instructions are more than {most:,}."
_NO_ROOM = "The programs are not shown line by line: {} do not fit into the page."
_NO_DRAWINGS = "Nothing is drawn: it does not fit into the page."
_NO_CHANGES = "Changes are not listed: they do not fit into the page. JSON has all."
_NOTHING = "Nothing of this program fits into the page. JSON has all."
# Parts of a program's room: lines of listings, and drawings.
_LINES, _DRAWN = 0.6, 0.25
_FEWER = (60, 6)


@dataclass(frozen=True)
class Subject:
    """One program, and what its report needs."""

    program: ProgramComparison
    root: str
    packages: Sequence[str]
    sources: Sources
    limits: PageLimits
    threshold: float

    def stacks(self, edits: Sequence[Edit]) -> tuple[tuple[Frame, ...], tuple[Frame, ...]]:
        """The frames of the first instruction of edits on the old and on the new side."""
        old, new = (
            next((site for edit in edits for pair in edit.sites if (site := pair[side])), None) for side in (0, 1)
        )
        return (
            self.origins[0].stack(old.computation, old.instruction).frames if old else (),
            self.origins[1].stack(new.computation, new.instruction).frames if new else () if old else edits[0].source,
        )

    @cached_property
    def origins(self) -> tuple[Origins, Origins]:
        """Scopes and frames of both sides."""
        assert self.program.diff
        return Origins(self.program.diff.old), Origins(self.program.diff.new)

    @cached_property
    def matching(self) -> Matching:
        """Which instruction is which, worked out once for all accounts that are tried."""
        assert self.program.diff
        return Matching.of(self.program.diff)


def size_of(program: ProgramComparison) -> int:
    """Instructions of the larger side; 0 if nothing is shown of them."""
    diff = program.diff
    if diff is None or program.status == "identical":
        return 0
    return max(diff.old.instruction_count(), diff.new.instruction_count())


def body_of(subject: Subject, room: int) -> str:
    """The first of ever shorter accounts of a program that fits.

    Args:
        subject: the program.
        room: for how many characters, before they are packed.

    Returns:
        JSON; the shortest account says that nothing fits.
    """
    text = ""
    for value in _accounts(subject, room):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if len(text) <= room:
            break
    return text


def _accounts(subject: Subject, room: int) -> Iterator[dict[str, Any]]:
    """Everything, then without lines, without drawings, with fewer and fewer changes, with numbers alone."""
    program, diff = subject.program, subject.program.diff
    bare: dict[str, Any] = {"tables": tables_of(program, subject.threshold), "left_out": [], "limits": []}
    if program.log:
        bare["log"] = printable(program.log[-20_000:], lines=True)
    if diff is None or not (diff.edits or diff.schedule or diff.tuning):
        yield bare
    else:
        bare["limits"] = list(diff.limits)
        words = _NO_ROOM.format(many(size_of(program), "instruction"))
        if size_of(program) > subject.limits.instructions:
            words = _TOO_MANY.format(size=size_of(program), most=subject.limits.instructions)
        else:
            yield from _with_both_sides(subject, diff, bare, room, words)
        yield bare | {"left_out": [words, _NO_DRAWINGS], "changes": changes_of(subject, diff, None)}
        for most in _FEWER:
            fewer = replace(subject, limits=replace(subject.limits, changes=most, sites=most))
            yield bare | {"left_out": [words, _NO_DRAWINGS], "changes": changes_of(fewer, diff, None)}
        yield bare | {"left_out": [words, _NO_CHANGES]}
    yield {"tables": [], "left_out": [_NOTHING], "limits": []}


def _with_both_sides(
    subject: Subject, diff: ModuleDiff, bare: dict[str, Any], room: int, words: str
) -> Iterator[dict[str, Any]]:
    matching = subject.matching
    lines = subject.root, subject.packages
    listing = listing_of(matching.script, diff, places_of(diff), *lines, int(room * _LINES), subject.limits)
    for shown in (listing, None) if listing else (None,):
        drawings, missing = drawings_of(
            diff, subject.program.stage, *lines, matching, shown, subject.limits, int(room * _DRAWN)
        )
        notes = list(shown.left_out) if shown else [words]
        notes += [f"{many(missing, 'drawing')} not shown: the page has no room for more."] if missing else []
        value = bare | {"left_out": notes, "changes": changes_of(subject, diff, shown), "drawings": drawings}
        yield value | ({"cut": shown.cut, "listing": shown.value | _remarks(subject.program, shown)} if shown else {})


def _remarks(program: ProgramComparison, listing: Listing) -> dict[str, Any]:
    """What is said of each line when it is chosen, equal words once; nothing where nobody says anything."""
    if program.remarks is None:
        return {}
    texts: dict[str, int] = {}
    found = []
    for side in (0, 1):
        places = {number: place for place, numbers in listing.lines[side].items() for number in numbers}
        numbers = []
        for number in range(max(places, default=-1) + 1):
            words = program.remarks(side, places[number]) if number in places else ""
            text = "\n".join(_plain(line) for line in words.split("\n"))
            numbers.append(texts.setdefault(text, len(texts)) if words else -1)
        found.append(numbers)
    return {"remarks": {"texts": list(texts), "of": found}}


_SHARE = 8  # how much more than its equal share a program may take
_LEAST = 100_000
_PACKED = 20_000  # characters of JSON from which on it is packed
_SMALLER = 6  # by what listings and drawings become smaller then, with room to spare
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class StoredBody:
    """What is shown of one program, as it stands in the page.

    Args:
        type: of the `script` element: "application/json", or "application/zlib" for the same, packed, in base64.
        text: which can stand inside of such an element.
    """

    type: str
    text: str


@dataclass(slots=True)
class BodyStore:
    """What is stored, and for each program of the report which of it is its own; -1 for none."""

    stored: list[StoredBody] = field(default_factory=list)
    of_program: list[int] = field(default_factory=list)


def bodies_of(report: Report, limits: PageLimits) -> BodyStore:
    """Everything that a page shows of single programs.

    Small programs come first in taking room, so that a single large one does not leave nothing for the others, and
    unchanged ones last.

    Args:
        report: what a command found out.
        limits: how much goes into a page.
    """
    sources = Sources(report.root, limits.excerpt, report.source_line, report.packages)
    numbers = [number for number, program in enumerate(report.programs) if has_body(program)]
    numbers.sort(key=lambda n: (report.programs[n].status == "identical", size_of(report.programs[n]), n))
    known: dict[StoredBody, int] = {}
    found = [-1] * len(report.programs)
    room = limits.page_bytes
    for at, number in enumerate(numbers):
        share = min(room, max(room // (len(numbers) - at) * _SHARE, _LEAST))
        program = report.programs[number]
        subject = Subject(program, report.root, report.packages, sources, limits, report.threshold)
        body = _fitting(subject, share)
        room -= len(body.text) if body not in known else 0
        found[number] = known.setdefault(body, len(known))
    return BodyStore(list(known), found)


def _fitting(subject: Subject, room: int) -> StoredBody:
    """The most detailed text that fits into the page."""
    most = room * _SMALLER if room * _SMALLER > _PACKED else room
    while True:
        body = stored(body_of(subject, most))
        if len(body.text) <= room or most <= room:
            return body
        most = max(room, most * room // len(body.text) * 9 // 10)


def has_body(program: ProgramComparison) -> bool:
    """Whether there is more to say of a program than its row of the table does."""
    return program.diff is not None or bool(program.op_count_pairs()) or bool(program.log)


def stored(text: str) -> StoredBody:
    """JSON as it stands in the page: it cannot end its element, and holds no line end that JavaScript does not know.

    Args:
        text: JSON.

    Example:
        >>> stored('"</script>"')
        StoredBody(type='application/json', text='"\\\\u003c/script\\\\u003e"')
    """
    if len(text) <= _PACKED:
        return StoredBody("application/json", text.translate(_ESCAPES))
    packed = zlib.compress(text.encode("utf-8", "backslashreplace"), 6)
    return StoredBody("application/zlib", base64.b64encode(packed).decode())
