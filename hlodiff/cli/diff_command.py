"""`hlodiff diff OLD NEW`: compare files, folders or git revisions, or show a saved result in another form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import LINK, PAGE, REPORTS, emit_forms, emit_report, window
from hlodiff.errors import UsageError
from hlodiff.report.forms import SAVED_FORM_NAMES, saved_to_form
from hlodiff.workflows.diff import diff_exit_code, diff_sides, following_diff


@click.command(
    "diff",
    epilog="""\b
Examples:
  hlodiff diff old.hlo new.hlo
  hlodiff diff main                       main against the snapshots here
  hlodiff diff result.json --format markdown
""",
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@click.option("-n", "--name", "names", multiple=True, metavar="GLOB", help="Only programs of these names.")
@options.target
@options.form
@options.output
@options.detail
@click.option("--exit-code", is_flag=True, help="Exit 1 if the programs differ.")
@click.option("--verify", is_flag=True, help="Prove that the edits are complete: apply them and compare.")
@click.option(
    "--passes", is_flag=True, help="Report which of XLA's passes did it; OLD and NEW are folders of pass dumps."
)
@click.option("--module", "modules", multiple=True, metavar="REGEX", help="With --passes, only these modules.")
@click.option("--saved", is_flag=True, hidden=True)
@options.project
def command(
    old: str,
    new: str | None,
    names: tuple[str, ...],
    targets: tuple[str, ...],
    form: str,
    output: str | None,
    everything: bool,
    stacks: bool,
    brief: bool,
    exit_code: bool,
    verify: bool,
    passes: bool,
    modules: tuple[str, ...],
    saved: bool,
    project: Path,
) -> int:
    """Compare the programs of OLD with those of NEW.

    \b
    Each is one of
      a program file      old.hlo, dump.txt, program.mlir, module.pb
      a folder            of snapshots, of an XLA dump (--xla_dump_to), or of program files
      a git revision      main, HEAD~3, v1.2:snapshots
    or both together
      a range, as in git  main..HEAD, main...HEAD (since HEAD left main)
      a revision alone    main (against the snapshots as they are here)
    or a saved result alone
                          result.json, of `check` or `diff` with --format json

    With --passes both are folders that XLA wrote with --xla_dump_hlo_pass_re=.*, of two versions or two flags; the
    passes of each module are aligned, and each edit names the pass that made it.

    Programs in folders are paired by their relative names. Exits 0 even if programs differ (see --exit-code), and 2 if
    a program could not be read or, with --verify, applying the edits does not give the new program.

    A saved result is shown in another form: nothing is compared and no project is needed. The file may be untrusted: a
    workflow that may write comments can show what the workflow of a fork's pull request found. Every value in it is
    checked, and names and messages stay plain text.
    """
    if saved or (new is None and old.endswith(".json") and not Path(old).is_dir()):
        further = {"--exit-code": exit_code, "--verify": verify, "--passes": passes, "--name": names,
                   "--target": targets, "--all": everything, "--stacks": stacks}  # fmt: skip
        show_saved(Path(old), form, output, [option for option, is_given in further.items() if is_given])
        return 0
    report = diff_sides(
        old, new, names, targets,
        project=project, verify=verify, everything=everything, passes=passes, modules=modules,
    )  # fmt: skip
    given = (("--name", names), ("--target", targets), ("--module", modules))
    typed = ["hlodiff", "diff", old, *([new] if new else [])]
    typed += [word for option, values in given for value in values for word in (option, value)]
    typed += ["--passes"] if passes else []
    typed += ["--project", str(project)] if project != Path() else []
    following = following_diff(report.programs, typed, form, brief)
    emit_report(replace(report, stacks=stacks, brief=brief, next=following), form, output)
    return diff_exit_code(report, exit_code)


# --- `hlodiff diff RESULT.json`: a JSON result of `check` or `diff`, shown in another form.

# Forms that a saved result cannot take, and what to type instead.
_OTHERS = {
    "html": "a page needs the programs, and a saved result has only their differences; "
    "make it in the run itself: `hlodiff check` or `hlodiff diff` with --report html=FILE",
    "json": "a saved result is JSON already",
}


def show_saved(result: Path, form: str, output: str | None, further: Sequence[str]) -> None:
    """Show a saved result, which may be untrusted: every value is checked, and text is never markup.

    Args:
        result: the file.
        form: the form to show it in.
        output: a file, or None or "-" for stdout.
        further: given options that only apply to a comparison.

    Raises:
        UsageError: the form needs the programs, or an option needs a comparison.
        ReadError: the file is not a result.
    """
    from hlodiff.config import shown_path

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
