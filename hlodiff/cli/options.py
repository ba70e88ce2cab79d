"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hlodiff.cli.output import LINK, PAGE, REPORTS
from hlodiff.report.forms import FORM_NAMES
from hlodiff.report.lines import is_link, printable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])


def _names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from hlodiff.cli.completion import complete_names

    return complete_names(context, parameter, incomplete)


def _targets(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from hlodiff.cli.completion import complete_targets

    return complete_targets(context, parameter, incomplete)


def words(metavar: str, required: bool = False) -> Callable[[F], F]:
    """Positional words, one of them a name."""
    return click.argument("words", nargs=-1, required=required, metavar=metavar, shell_complete=_names)


def required_names(metavar: str = "NAME...") -> Callable[[F], F]:
    """Positional names or globs, at least one."""
    return click.argument("names", nargs=-1, required=True, metavar=metavar, shell_complete=_names)


names = click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=_names)
pending_words = words("[NAME|ID]...")
pattern = click.option(
    "--pattern", "patterns", multiple=True, metavar="ID", help="Programs with this change and no other."
)
change_class = click.option(
    "--class",
    "classes",
    multiple=True,
    metavar="WORD",
    help="Programs that changed in this class only, e.g. cost or traces.",
)


class _RenamedOption(click.Option):
    """An option whose former name still works and is not in the help."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        names = self.opts
        self.opts = names[:1]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


def every_pending(what: str) -> Callable[[F], F]:
    """`--everything`. `--all` means how much a report lists; it is still accepted here for old scripts."""
    return click.option("--everything", "--all", "everything", is_flag=True, cls=_RenamedOption, help=what)


def captured_elsewhere(what: str) -> Callable[[F], F]:
    """`--from`: the pending folder of another machine."""
    kind = click.Path(exists=True, file_okay=False, path_type=Path)
    return click.option("--from", "folder", type=kind, metavar="FOLDER", help=what)


any_age = click.option(
    "--stale",
    "any_age",
    is_flag=True,
    help="Also captures from before the project's files, configuration or packages changed.",
)
target = click.option(
    "-t",
    "--target",
    "targets",
    multiple=True,
    metavar="GLOB",
    help="Only these targets, e.g. cpu or 'tpu-*'.",
    shell_complete=_targets,
)
stage = click.option(
    "--stage",
    type=click.Choice(["compiled", "stablehlo"]),
    default="compiled",
    show_default=True,
    help="Which of the two recorded programs.",
)


def form(command: F) -> F:
    """`--format` for the report, `--report` for more forms of the same run, `--link` and `--page`."""
    command = click.option(
        "--page", metavar="URL", expose_value=False, callback=_keep_address,
        help="Where the HTML page will be; a comment links each function to its place there.",
    )(command)  # fmt: skip
    command = click.option(
        "--link", metavar="URL", expose_value=False, callback=_keep_address,
        help="Address of the full report, for forms that are cut.",
    )(command)  # fmt: skip
    what = "Write the report in this form too; repeatable, e.g. junit=out.xml. Compiles only once."
    command = click.option(
        "--report", multiple=True, metavar="FORM=FILE", expose_value=False, callback=_keep_reports, help=what
    )(command)
    return click.option(
        "--format", "form", type=click.Choice(FORM_NAMES), default="text", show_default=True, help="Form of the report."
    )(command)


# Stored in click's context, where `output.emit_report` finds them.


def _keep_reports(context: click.Context, _: click.Parameter, values: tuple[str, ...]) -> None:
    forms_and_files = []
    for value in values:
        form, equals, file = value.partition("=")
        if not equals or not file or form not in FORM_NAMES:
            raise click.BadParameter(f"`{printable(value)}` is not FORM=FILE with FORM one of {', '.join(FORM_NAMES)}")
        # A run may compile for minutes, so report a file that cannot be written before it starts.
        if file != "-" and not Path(file).absolute().parent.is_dir():
            raise click.BadParameter(f"the folder of {printable(file)} does not exist")
        forms_and_files.append((form, file))
    context.meta[REPORTS] = tuple(forms_and_files)


def _keep_address(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    context.meta[PAGE if parameter.name == "page" else LINK] = address(context, value)


def address(context: click.Context, value: str | None) -> str:
    """An address that is safe to put in a report; "" for none."""
    if value and not is_link(value):
        raise click.BadParameter(f"{printable(value)} is not an address that a report can link to", context)
    return value or ""


plain_form = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form."
)
output = click.option("-o", "--output", metavar="FILE", help="Write the result to a file instead of stdout.")
jobs = click.option(
    "-j", "--jobs", type=click.IntRange(1, 256), metavar="N", help="Worker processes; by default as configured."
)
executor = click.option(
    "--executor",
    metavar="ADDRESS",
    help="Capture on the machines behind a scheduler: dask://HOST:PORT; HLODIFF_EXECUTOR by default.",
)
compile_cache = click.option(
    "--compile-cache",
    metavar="DIR",
    help="Take compiled HLO from this folder and keep it there; DIR:ro only reads. HLODIFF_COMPILE_CACHE by default.",
)


def timeout(command: F) -> F:
    """`--timeout SECONDS`, for every configuration that the command loads."""

    def hold(context: click.Context, _: click.Parameter, seconds: float | None) -> None:
        if seconds is not None:
            if not seconds < float("inf"):
                raise click.BadParameter(f"{seconds} is not a number of seconds; 0 means no limit.")
            from hlodiff.workflows.configuration import timeout_of

            context.with_resource(timeout_of(seconds))

    return click.option(
        "--timeout",
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        expose_value=False,
        callback=hold,
        help="Time limit of one task of a worker; by default as configured.",
    )(command)


def workers(command: F) -> F:
    """`--jobs` and `--timeout`, for commands that start workers."""
    return jobs(timeout(command))


def capturing(command: F) -> F:
    """Options of `workers`, and `--executor` and `--compile-cache`."""
    return jobs(executor(compile_cache(timeout(command))))


ci_write = click.option("--ci-write", is_flag=True, help="Write snapshots although this is CI (variable CI).")
project = click.option(
    "--project",
    type=click.Path(exists=True, path_type=Path),
    default=Path(),
    metavar="FOLDER",
    help="Where to look for pyproject.toml; this folder by default.",
)


def detail(command: F) -> F:
    """`--brief`, `--all` and `--stacks`: how much a report lists."""
    command = click.option("--brief", is_flag=True, help="Only the verdicts: one screen.")(command)
    command = click.option(
        "--stacks", is_flag=True, help="List the whole Python call stack of each change, innermost line first."
    )(command)
    return click.option("--all", "everything", is_flag=True, help="List every change and every number.")(command)
