"""`hlodiff diff RESULT.json`: what `check` or `diff` has saved as JSON, in another form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from hlodiff.cli.output import LINK, PAGE, REPORTS, emit_forms, window
from hlodiff.config import shown_path
from hlodiff.errors import UsageError
from hlodiff.report.forms import SAVED_FORM_NAMES, saved_to_form

# What people ask for too, and what to type instead.
_OTHERS = {
    "html": "a page needs the programs, and a saved result has only their differences; "
    "make it in the run itself: `hlodiff check` or `hlodiff diff` with --report html=FILE",
    "json": "a saved result is JSON already",
}


def show_saved(result: Path, form: str, output: str | None, further: Sequence[str]) -> None:
    """Show a saved result, which need not be trusted: every value is checked, and every text stays text.

    Args:
        result: the file.
        form: the form to show it in.
        output: a file, or None or "-" for stdout.
        further: options that were given and are about a comparison.

    Raises:
        UsageError: a form that needs the programs, or an option that needs a comparison.
        ReadError: the file is no result.
    """
    context = click.get_current_context()
    if further:
        raise UsageError(f"{', '.join(further)} compare, and {shown_path(result)} alone is a saved result")
    for one in (form, *(one for one, _ in context.meta.get(REPORTS, ()))):
        if one not in SAVED_FORM_NAMES:
            raise UsageError(_OTHERS[one])
    from hlodiff.report.untrusted_result import read_result, read_untrusted_view

    view = read_untrusted_view(read_result(result), str(shown_path(result)))

    def shown(one: str, where: str | None) -> str:
        columns, colored = window(where)
        links = {"link": context.meta.get(LINK, ""), "page": context.meta.get(PAGE, "")}
        return saved_to_form(view, one, **links, width=columns, color=colored)

    emit_forms(form, output, shown)
