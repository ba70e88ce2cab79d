"""Reports: one record in, text out. Nothing here prints, and nothing here knows a terminal."""

from hlodiff.report.filling import sheet_of as sheet_of
from hlodiff.report.forms import FORMS as FORMS
from hlodiff.report.forms import to_form as to_form
from hlodiff.report.json_report import to_json as to_json
from hlodiff.report.markdown_report import to_markdown as to_markdown
from hlodiff.report.record import Report as Report
from hlodiff.report.record import ToolchainChange as ToolchainChange
from hlodiff.report.record import toolchain_changes as toolchain_changes
from hlodiff.report.terminal import to_terminal as to_terminal
