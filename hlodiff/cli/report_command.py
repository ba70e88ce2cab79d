"""`hlodiff report`: a result that was saved as JSON, in another form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hlodiff.cli import options
from hlodiff.cli.output import LINK, emit_forms, window
from hlodiff.config import shown_path
from hlodiff.report.forms import SAVED_FORM_NAMES, saved_to_form

# What people ask for too, and what to type instead.
_OTHERS = {
    "html": "a page shows the programs themselves, and a saved result holds only what is said of them",
    "json": "a saved result is JSON already",
}


def _instead(form: str) -> str:
    """Why a form cannot be made here, and what makes it; "" where nothing is known of it."""
    if form not in _OTHERS:
        return ""
    made = "; make it in the run itself: `hlodiff check` or `hlodiff diff` with --report html=FILE"
    return _OTHERS[form] + (made if form == "html" else "")


class _SavedForm(click.Choice):  # type: ignore[type-arg]  # generic since click 8.2
    """One of the forms; what is made elsewhere is answered with the command that makes it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if words := _instead(str(value)):
            self.fail(words, param, ctx)
        return super().convert(value, param, ctx)


@click.command("report")
@click.argument("result", metavar="RESULT.json", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=_SavedForm(SAVED_FORM_NAMES), default="text", show_default=True, help="Form of the report."
)
@options.further_forms(SAVED_FORM_NAMES, _instead)
@options.output
def command(result: Path, form: str, output: str | None) -> int:
    """Show a result that `check` or `diff` has saved with `--format json`, in another form.

    Nothing is compiled and no project is needed. The file need not be trusted: a workflow that may write comments can
    show what the workflow of a pull request from a fork has found. It is checked value by value, and names and messages
    in it stay text, whatever they hold.

    Exits 0 whatever the result says, and 2 where it cannot be read.
    """
    from hlodiff.report.untrusted_result import read_result, read_untrusted_view

    view = read_untrusted_view(read_result(result), str(shown_path(result)))
    link = click.get_current_context().meta.get(LINK, "")

    def shown(one: str, where: str | None) -> str:
        columns, colored = window(where)
        return saved_to_form(view, one, link=link, width=columns, color=colored)

    emit_forms(form, output, shown)
    return 0
