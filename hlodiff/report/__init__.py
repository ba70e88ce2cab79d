"""Reports: render one record as text. Nothing here prints or depends on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlodiff.lazy_names import lazy_names

if TYPE_CHECKING:
    from hlodiff.report.comment import to_comment as to_comment
    from hlodiff.report.edits import format_cost as format_cost
    from hlodiff.report.edits import format_edit as format_edit
    from hlodiff.report.edits import format_field_change as format_field_change
    from hlodiff.report.forms import FORM_NAMES as FORM_NAMES
    from hlodiff.report.forms import FORMS as FORMS
    from hlodiff.report.forms import SAVED_FORM_NAMES as SAVED_FORM_NAMES
    from hlodiff.report.forms import saved_to_form as saved_to_form
    from hlodiff.report.forms import to_form as to_form
    from hlodiff.report.function_view import ChangedLine as ChangedLine
    from hlodiff.report.function_view import ChangeView as ChangeView
    from hlodiff.report.function_view import Mark as Mark
    from hlodiff.report.function_view import Number as Number
    from hlodiff.report.grouping import EditGroup as EditGroup
    from hlodiff.report.grouping import edit_groups_of as edit_groups_of
    from hlodiff.report.growth import growing_tables as growing_tables
    from hlodiff.report.growth import growth_json as growth_json
    from hlodiff.report.growth import growth_markdown as growth_markdown
    from hlodiff.report.growth import growth_text as growth_text
    from hlodiff.report.headline import format_checked as format_checked
    from hlodiff.report.headline import format_totals as format_totals
    from hlodiff.report.json_form import to_json as to_json
    from hlodiff.report.lines import Line as Line
    from hlodiff.report.lines import json_text as json_text
    from hlodiff.report.lines import lay_out as lay_out
    from hlodiff.report.lines import printable as printable
    from hlodiff.report.lines import unordered as unordered
    from hlodiff.report.markdown import to_markdown as to_markdown
    from hlodiff.report.net_work import NetWork as NetWork
    from hlodiff.report.numbers import by_how_much as by_how_much
    from hlodiff.report.numbers import format_number as format_number
    from hlodiff.report.parity import explained as explained
    from hlodiff.report.parity import parity_markdown as parity_markdown
    from hlodiff.report.parity import parity_text as parity_text
    from hlodiff.report.parts import build_view as build_view
    from hlodiff.report.passes import edit_words as edit_words
    from hlodiff.report.program_analysis import AnalysisNote as AnalysisNote
    from hlodiff.report.program_analysis import analysis_notes as analysis_notes
    from hlodiff.report.program_analysis import listed as listed
    from hlodiff.report.program_analysis import program_analysis_json as program_analysis_json
    from hlodiff.report.report import Report as Report
    from hlodiff.report.report import Timing as Timing
    from hlodiff.report.report import ToolchainChange as ToolchainChange
    from hlodiff.report.report import toolchain_changes as toolchain_changes
    from hlodiff.report.sarif import to_sarif as to_sarif
    from hlodiff.report.text import to_terminal as to_terminal
    from hlodiff.report.untrusted_result import read_result as read_result
    from hlodiff.report.untrusted_result import read_untrusted_view as read_untrusted_view
    from hlodiff.report.upgrade_table import upgrade_json as upgrade_json
    from hlodiff.report.upgrade_table import upgrade_markdown as upgrade_markdown
    from hlodiff.report.upgrade_table import upgrade_text as upgrade_text
    from hlodiff.report.view import ReportView as ReportView
    from hlodiff.report.wording import format_bytes as format_bytes
    from hlodiff.report.wording import format_count as format_count


if not TYPE_CHECKING:
    # Import a name on first use: git drivers render one file each, and escaping text needs no differ.
    __getattr__ = lazy_names(__spec__)
