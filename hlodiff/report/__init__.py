"""Reports: one record in, text out. Nothing here prints, and nothing here knows a terminal."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlodiff.report.forms import FORM_NAMES as FORM_NAMES
    from hlodiff.report.forms import to_form as to_form
    from hlodiff.report.json_form import to_json as to_json
    from hlodiff.report.markdown import to_markdown as to_markdown
    from hlodiff.report.report import Report as Report
    from hlodiff.report.report import ToolchainChange as ToolchainChange
    from hlodiff.report.report import toolchain_changes as toolchain_changes
    from hlodiff.report.text import to_terminal as to_terminal
    from hlodiff.report.view_builder import build_view as build_view


_HOME = {
    "build_view": "view_builder", "FORM_NAMES": "forms", "to_form": "forms", "to_json": "json_form",
    "to_markdown": "markdown", "Report": "report", "ToolchainChange": "report", "toolchain_changes": "report",
    "to_terminal": "text",
}  # fmt: skip


if not TYPE_CHECKING:  # else a type checker would take every misspelt name for one that exists

    def __getattr__(name: str) -> object:
        """What was asked for, imported then: git asks for one list a file, and escaping text takes no differ."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
