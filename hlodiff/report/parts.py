"""What the forms of a report are made from: its groups of edits, its functions, and the view of all of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hlodiff.report.functions import ChangedFunctions, changed_functions
from hlodiff.report.report import Report
from hlodiff.report.shared_text import ReportTexts, texts_of

if TYPE_CHECKING:
    from hlodiff.report.view import ReportView


@dataclass(frozen=True)
class ReportParts:
    """A report with what its forms need, computed on first use and once for all of them.

    Args:
        report: the report.
        folder: the project's folder below the top of the repository, with `/`; "" if they are the same.

    Example:
        >>> ReportParts(Report("diff", "a", "b", ())).texts.program_texts
        ()
    """

    report: Report
    folder: str = ""

    @cached_property
    def texts(self) -> ReportTexts:
        """Its edits in groups."""
        return texts_of(self.report)

    @cached_property
    def functions(self) -> ChangedFunctions:
        """Its programs, changed functions and edited lines."""
        return changed_functions(self.texts)

    @cached_property
    def view(self) -> ReportView:
        """Its view."""
        from hlodiff.report.view_builder import view_of  # a text lists functions and needs no view of all

        return view_of(self.texts, self.functions, self.folder)


def build_view(report: Report, folder: str = "") -> ReportView:
    """Build the view of a report: plain values, the same for the same report.

    Args:
        report: the report.
        folder: see `ReportParts`.

    Example:
        >>> build_view(Report("diff", "a", "b", ())).totals()["programs"]
        0
    """
    return ReportParts(report, folder).view
