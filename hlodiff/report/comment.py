"""The body of a pull request's comment, and a job's summary: as much as fits, most important first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from hlodiff.report import markdown
from hlodiff.report.functions import verdict_rows
from hlodiff.report.headline import format_totals
from hlodiff.report.lines import clip, escape_markdown
from hlodiff.report.markdown import Links, all_of_it, closing
from hlodiff.report.view import ReportView
from hlodiff.report.wording import many

MARKER = "<!-- hlodiff -->"
"""The first line of a comment, by which a workflow finds its own comment and updates it."""

_COMMENT = 60_000  # UTF-16 units, the largest way to count; GitHub accepts 65,536
_SUMMARY = 900 * 1024  # bytes; GitHub accepts 1 MiB per step
_MOST_FINDINGS = 10
_FEW = 3  # reasons and findings shown if not even the table fits
_LONGEST_LINE = 2_000
_UNFOLDED = 2  # up to this many details are shown unfolded


def to_comment(view: ReportView, link: str = "", page: str = "", source: str = "") -> str:
    """The body of a comment, under 60,000 characters.

    Args:
        view: the report's view.
        link: address of the whole report; "" if there is none.
        page: address of the HTML page of the same result; the row of each function links to its program there.
        source: address of the commit's files, ending in a slash; each Python line links to it.

    Returns:
        Markdown ending in a newline, with the totals as its last line. If too long, details are dropped first, then
        rows of the table, then everything but the totals.

    Example:
        >>> print(to_comment(ReportView("diff", "a", "b", ())), end="")
        <!-- hlodiff -->
        ### hlodiff: `a` -> `b`
        <BLANKLINE>
        nothing to compare
    """
    links = Links(link or page, page, source)
    return _fitted(view, links, [MARKER], lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2 < _COMMENT)


def to_summary(view: ReportView, link: str = "", page: str = "") -> str:
    """A job's summary, under 900 KiB; otherwise like `to_comment`.

    Example:
        >>> to_summary(ReportView("check", "a", "b", ())).split("\\n")[0]
        '### hlodiff: check'
    """
    return _fitted(view, Links(link or page, page), [], lambda text: len(text.encode("utf-8", "replace")) < _SUMMARY)


def _fitted(view: ReportView, links: Links, head: list[str], fits: Callable[[str], bool]) -> str:
    """The longest form that fits."""
    details = [] if view.brief else markdown.folds(view, unfolded=len(view.functions) <= _UNFOLDED)
    rows = verdict_rows(view.functions, view.programs, view.command)

    def with_details(count: int) -> str:
        """Everything, with the first `count` details."""
        left = len(details) - count
        lines = [*head, *markdown.title(view), *markdown.findings(view.further_findings(), _MOST_FINDINGS)]
        lines += [
            *markdown.table(rows, view, links),
            *markdown.numbers_table(view),
            *markdown.not_checked(view, _MOST_FINDINGS),
        ]
        lines += markdown.shared(view) if (count or not left) and not view.brief else []
        lines += [line for detail in details[:count] for line in detail]
        more = f"Details of {many(left, 'more function')} do not fit here{all_of_it(links.details)}."
        lines += [more, ""] if left else []
        return _text([*lines, *closing(view), markdown.totals(view, links.details)])

    def with_rows(count: int) -> str:
        """No details, and `count` rows."""
        lines = [*head, *markdown.title(view), *markdown.findings(view.further_findings(), _FEW)]
        lines += markdown.table(rows, view, links, count)
        lines += [*markdown.not_checked(view, _FEW), f"Details do not fit here{all_of_it(links.details)}.", ""]
        return _text([*lines, _last(view, links.details)])

    for form, most in ((with_details, len(details)), (with_rows, len(rows))):
        if fits(form(0)):
            return form(_largest(most, lambda count, form=form: fits(form(count))))  # type: ignore[misc]
    least = _text([*head, "### hlodiff", "", _last(replace(view, verdict=""), links.details)])
    return least if fits(least) else _text([*head, f"hlodiff: the report does not fit here{all_of_it(links.details)}"])


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest count up to `most` that fits; 0 always fits."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _last(view: ReportView, link: str) -> str:
    if len(format_totals(view)) <= _LONGEST_LINE:
        return markdown.totals(view, link)
    return f"{escape_markdown(clip(format_totals(view), _LONGEST_LINE))}{all_of_it(link)}"


def _text(lines: Iterable[str]) -> str:
    return "\n".join(markdown.without_blank_items(lines)) + "\n"
