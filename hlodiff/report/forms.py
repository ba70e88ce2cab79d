"""The forms of a report: one table with the renderer of each. All forms have the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `--help` lists the forms and renders none
    from hlodiff.report.parts import ReportParts
    from hlodiff.report.report import Report
    from hlodiff.report.view import ReportView


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a report.

    Args:
        name: its name for `--format` and `--report`.
        renderer: module and function, `module:function`, imported when the form is made. A renderer of a view takes the
            view and a link to the whole report; one of a report takes the report and its `parts`.
        of_view: whether it is rendered from the view alone.
        of_saved: whether it can also be rendered from a saved result, which has the view and the lines of the text.
        links_to_page: whether its renderer also takes the address of the HTML page.
    """

    name: str
    renderer: str
    of_view: bool = True
    of_saved: bool = True
    links_to_page: bool = False

    def load(self) -> Callable[..., str]:
        """Import the renderer."""
        module, _, function = self.renderer.partition(":")
        found: Callable[..., str] = getattr(import_module(module), function)
        return found


FORMS = (
    Form("text", "hlodiff.report.text:to_terminal", of_view=False),
    Form("json", "hlodiff.report.json_form:to_json", of_view=False, of_saved=False),
    Form("markdown", "hlodiff.report.markdown:view_to_markdown"),
    Form("html", "hlodiff.report.html:to_page", of_view=False, of_saved=False),
    Form("junit", "hlodiff.report.junit:to_junit"),
    Form("sarif", "hlodiff.report.sarif:to_sarif"),
    Form("codequality", "hlodiff.report.codequality:to_codequality"),
    Form("github", "hlodiff.report.annotations:to_annotations"),
    Form("summary", "hlodiff.report.comment:to_summary", links_to_page=True),
    Form("comment", "hlodiff.report.comment:to_comment", links_to_page=True),
)
"""Every form. A new one needs a row here and its renderer."""

FORM_NAMES = tuple(form.name for form in FORMS)
SAVED_FORM_NAMES = tuple(form.name for form in FORMS if form.of_saved)
_BY_NAME = {form.name: form for form in FORMS}


def to_form(
    report: Report,
    form: str,
    *,
    link: str = "",
    page: str = "",
    folder: str = "",
    width: int = 100,
    color: bool = False,
    parts: ReportParts | None = None,
) -> str:
    """A report in one form.

    Args:
        report: the report.
        form: one of FORM_NAMES.
        link: address of the whole report, for forms that are truncated.
        page: address of the HTML page, for forms that link to its programs.
        folder: the project's folder below the top of the repository, see `ReportView`.
        width: columns of the window, for text.
        color: whether text may have colours.
        parts: those of the report, to share them among several forms.

    Returns:
        text ending in a newline.

    Example:
        >>> from hlodiff.report import Report
        >>> to_form(Report("diff", "a", "b", ()), "github")
        'nothing to compare\\n'
    """
    from hlodiff.report.parts import ReportParts

    renderer, parts = _BY_NAME[form].load(), parts or ReportParts(report, folder)
    if form == "text":
        return renderer(report, width=width, color=color, parts=parts)
    if not _BY_NAME[form].of_view:
        return renderer(report, parts=parts)
    links = (link, page) if _BY_NAME[form].links_to_page else (link,)
    return renderer(parts.view, *links)


def saved_to_form(
    view: ReportView, form: str, *, link: str = "", page: str = "", width: int = 100, color: bool = False
) -> str:
    """A saved view in one form.

    Args:
        view: the saved view, which includes the report's text.
        form: one of SAVED_FORM_NAMES.
        link: address of the whole report, for forms that are truncated.
        page: address of the HTML page, for forms that link to its programs.
        width: columns of the window, for text.
        color: whether text may have colours.

    Returns:
        text ending in a newline.

    Example:
        >>> from hlodiff.report.view import ReportView
        >>> saved_to_form(ReportView("diff", "a", "b", ()), "text")
        'nothing to compare\\n'
    """
    if form == "text":
        from hlodiff.report.text import saved_to_terminal

        return saved_to_terminal(view, width=width, color=color)
    return _BY_NAME[form].load()(view, *((link, page) if _BY_NAME[form].links_to_page else (link,)))
