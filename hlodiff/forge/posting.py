"""One comment that is changed in place: made where there is something to say, left alone where it says so already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from hlodiff.report.sheet import Sheet

Act = Literal["added", "changed", "left as it is", "not needed"]


@dataclass(frozen=True, slots=True)
class Posted:
    """A comment that is there."""

    id: int
    body: str


class Comments(Protocol):
    """The comments of one pull or merge request."""

    @property
    def name(self) -> str:
        """What the request is called: `owner/project#7`."""

    def mine(self) -> list[Posted]:
        """Those that the same account has written, oldest first."""

    def add(self, body: str) -> None:
        """Write a comment."""

    def change(self, id: int, body: str) -> None:
        """Write another text into one."""


def is_quiet(sheet: Sheet) -> bool:
    """Whether there is nothing that anybody has to know.

    Example:
        >>> is_quiet(Sheet("check", "snapshots", "this work tree", ()))
        True
    """
    counts = sheet.totals()
    changed = counts["changed"] + counts["added"] + counts["removed"]
    return not changed and all(finding.severity == "info" for finding in sheet.findings)


def named(body: str, name: str) -> str:
    """A comment for one of several projects: a marker of its own, and the name in its heading.

    Example:
        >>> named("<!-- hlodiff -->\\n### hlodiff: check\\n", "models")
        '<!-- hlodiff models -->\\n### hlodiff: check (`models`)\\n'
    """
    marker, heading, rest = body.split("\n", 2)
    return f"{marker.removesuffix(' -->')} {name} -->\n{heading} (`{name}`)\n{rest}"


def post(comments: Comments, body: str, quiet: bool, write: bool = True) -> Act:
    """Say something once, in one place.

    Args:
        comments: of the pull request.
        body: what to say; its first line is the marker by which it is found again.
        quiet: whether there is nothing to say: then only a comment that says something else is changed.
        write: whether it is done, or only told.

    Returns:
        what was done.

    Raises:
        ForgeError: the forge refuses.
    """
    found = next((one for one in comments.mine() if _first(one.body) == _first(body)), None)
    if found is None:
        if quiet:
            return "not needed"
        if write:
            comments.add(body)
        return "added"
    if _plain(found.body) == _plain(body):
        return "left as it is"
    if write:
        comments.change(found.id, body)
    return "changed"


def with_command(body: str, command: str) -> str:
    """A comment that also says how to record what CI captured, above the totals, which stay its last line.

    Example:
        >>> with_command("a\\n\\n1 changed\\n", "do this")
        'a\\n\\nMeant? Record what CI captured: `do this`\\n\\n1 changed\\n'
    """
    head, _, last = body.rstrip("\n").rpartition("\n")
    return f"{head}\nMeant? Record what CI captured: `{command}`\n\n{last}\n"


def _first(body: str) -> str:
    return _plain(body).split("\n", 1)[0]


def _plain(body: str) -> str:
    """Forges change line ends and drop what is blank at the end."""
    return body.replace("\r\n", "\n").strip()
