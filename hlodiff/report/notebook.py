"""Renders differences and reports for `print` and notebook cells."""

from __future__ import annotations

from hlodiff.differ.comparison import ProgramComparison, Status
from hlodiff.differ.result import ModuleDiff
from hlodiff.report.lines import lay_out, lay_out_html
from hlodiff.report.report import Report
from hlodiff.report.text import whole_lines

WIDTH = 110


def report_of(diff: ModuleDiff) -> Report:
    """A report on two programs that were compared in Python.

    Args:
        diff: their difference.

    Example:
        >>> from hlodiff.hlo.model import Module
        >>> report_of(ModuleDiff(Module("step", "compiled", (), 0), Module("step", "compiled", (), 0))).programs[0].name
        'step'
    """
    status: Status = "identical" if diff.identical else "changed"
    return Report("diff", "old", "new", (ProgramComparison(diff.new.name, None, diff.new.stage, status, diff),))


def show_text(value: ModuleDiff | Report) -> str:
    """The short text, as printed by commands, without a trailing newline.

    Example:
        >>> show_text(Report("diff", "a", "b", ()))
        'nothing to compare'
    """
    report = report_of(value) if isinstance(value, ModuleDiff) else value
    return lay_out(whole_lines(report, WIDTH), width=WIDTH).rstrip("\n")


def show_html(value: ModuleDiff | Report) -> str:
    """The short text as HTML for a notebook cell.

    Example:
        >>> "nothing to compare" in show_html(Report("diff", "a", "b", ()))
        True
    """
    report = report_of(value) if isinstance(value, ModuleDiff) else value
    return lay_out_html(whole_lines(report, WIDTH), width=WIDTH)
