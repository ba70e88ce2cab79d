"""Reports: one record in, text out. Nothing here prints, and nothing here knows a terminal."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlodiff.report.filling import sheet_of as sheet_of
    from hlodiff.report.forms import FORMS as FORMS
    from hlodiff.report.forms import to_form as to_form
    from hlodiff.report.json_report import to_json as to_json
    from hlodiff.report.markdown_report import to_markdown as to_markdown
    from hlodiff.report.record import Report as Report
    from hlodiff.report.record import ToolchainChange as ToolchainChange
    from hlodiff.report.record import toolchain_changes as toolchain_changes
    from hlodiff.report.terminal import to_terminal as to_terminal

_HOME = {
    "sheet_of": "filling", "FORMS": "forms", "to_form": "forms", "to_json": "json_report",
    "to_markdown": "markdown_report", "Report": "record", "ToolchainChange": "record", "toolchain_changes": "record",
    "to_terminal": "terminal",
}  # fmt: skip


if not TYPE_CHECKING:  # else a type checker would take every misspelt name for one that exists

    def __getattr__(name: str) -> object:
        """What was asked for, imported then: git asks for one list a file, and escaping text takes no differ."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
