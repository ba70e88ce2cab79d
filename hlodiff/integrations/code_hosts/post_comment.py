"""Maintains one comment: created when there is something to report, unchanged if it is current."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from hlodiff.report.view import ReportView

Act = Literal["added", "changed", "left as it is", "not needed"]


@dataclass(frozen=True, slots=True)
class PostedComment:
    """An existing comment."""

    id: int
    body: str


class Comments(Protocol):
    """The comments of one pull or merge request."""

    @property
    def name(self) -> str:
        """Display name of the request: `owner/project#7`."""

    def mine(self) -> list[PostedComment]:
        """Comments written by this account, oldest first."""

    def add(self, body: str) -> None:
        """Write a comment."""

    def change(self, id: int, body: str) -> None:
        """Replace the text of a comment."""


def is_quiet(view: ReportView) -> bool:
    """Whether there is nothing to report.

    Example:
        >>> is_quiet(ReportView("check", "snapshots", "this work tree", ()))
        True
    """
    counts = view.totals()
    changed = counts["changed"] + counts["added"] + counts["removed"]
    return not changed and all(finding.severity == "info" for finding in view.findings)


def named(body: str, name: str) -> str:
    """A comment for one of several projects, with its own marker and its name in the heading.

    Example:
        >>> named("<!-- hlodiff -->\\n### hlodiff: check\\n", "models")
        '<!-- hlodiff models -->\\n### hlodiff: check (`models`)\\n'
    """
    marker, heading, rest = body.split("\n", 2)
    return f"{marker.removesuffix(' -->')} {name} -->\n{heading} (`{name}`)\n{rest}"


def post(comments: Comments, body: str, quiet: bool, write: bool = True) -> Act:
    """Post one comment, or update the existing one.

    Args:
        comments: comments of the pull request.
        body: the text; its first line is the marker that identifies the comment.
        quiet: whether there is nothing to report: then an existing comment is updated, but none is added.
        write: False for a dry run.

    Returns:
        the action taken.

    Raises:
        CodeHostError: the code host refuses the request.
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


def above_totals(body: str, sentence: str) -> str:
    """A comment with one more paragraph above the totals, which remain its last line.

    Example:
        >>> above_totals("a\\n\\n1 changed\\n", "Of commit 0123abc.")
        'a\\n\\nOf commit 0123abc.\\n\\n1 changed\\n'
    """
    head, _, last = body.rstrip("\n").rpartition("\n")
    return f"{head}\n{sentence}\n\n{last}\n"


def _first(body: str) -> str:
    return _plain(body).split("\n", 1)[0]


def _plain(body: str) -> str:
    """Normalize text: code hosts change line endings and strip trailing whitespace."""
    return body.replace("\r\n", "\n").strip()
