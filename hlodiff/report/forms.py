"""The forms of a report by name. All are made from one record, so all have the same numbers."""

from __future__ import annotations

from collections.abc import Callable

from hlodiff.report.annotations import to_annotations
from hlodiff.report.codequality import to_codequality
from hlodiff.report.comment import to_comment, to_summary
from hlodiff.report.filling import sheet_of
from hlodiff.report.json_report import to_json
from hlodiff.report.junit import to_junit
from hlodiff.report.lines import laid_out
from hlodiff.report.markdown_report import sheet_to_markdown
from hlodiff.report.record import Report
from hlodiff.report.sarif import to_sarif
from hlodiff.report.sheet import Sheet
from hlodiff.report.terminal import totals_line

# Made from a sheet alone, so that they can also be made of a result that was saved.
OF_SHEET: dict[str, Callable[[Sheet, str], str]] = {
    "junit": to_junit,
    "sarif": to_sarif,
    "codequality": to_codequality,
    "github": to_annotations,
    "summary": to_summary,
    "comment": to_comment,
}
FORMS = ("text", "json", "markdown", "html", *OF_SHEET)
FORMS_OF_SAVED = ("text", "markdown", *OF_SHEET)


def to_form(report: Report, form: str, *, link: str = "", folder: str = "") -> str:
    """A report in one of FORMS but "text", which asks for a window's width: see `to_terminal`.

    Args:
        report: what a command found out.
        form: one of FORMS.
        link: where all of it can be read, for forms that are cut.
        folder: the project's folder below the top of the repository, see `Sheet`.

    Returns:
        text ending in a newline.

    Example:
        >>> to_form(Report("diff", "a", "b", ()), "github")
        'nothing to compare\\n'
    """
    if form == "json":
        return to_json(report, folder)
    if form == "html":
        from hlodiff.report.page import to_page  # what draws and fills it is imported only where a page is made

        return to_page(report)
    return saved_to_form(sheet_of(report, folder), form, link=link)


def saved_to_form(sheet: Sheet, form: str, *, link: str = "", width: int = 100, color: bool = False) -> str:
    """A sheet in one of FORMS_OF_SAVED.

    Args:
        sheet: what a report says; as text it says what it was saved with.
        form: one of FORMS_OF_SAVED.
        link: where all of it can be read, for forms that are cut.
        width: columns of the window, for text.
        color: whether text may have colours.

    Returns:
        text ending in a newline.

    Example:
        >>> saved_to_form(Sheet("diff", "a", "b", ()), "text")
        'nothing to compare\\n'
    """
    if form == "text":
        return laid_out([*sheet.text, totals_line(sheet)], width=width, color=color)
    return sheet_to_markdown(sheet) if form == "markdown" else OF_SHEET[form](sheet, link)
