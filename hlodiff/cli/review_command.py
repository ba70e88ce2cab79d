"""`hlodiff review`: walk through what an earlier `check` captured, and decide one function after the other."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from hlodiff.capture.temporary import TemporaryFolder
from hlodiff.cli import options
from hlodiff.cli.output import color, emit, width
from hlodiff.config import refuse_in_ci, shown_path
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.errors import UsageError
from hlodiff.report.forms import to_form
from hlodiff.report.lines import printable
from hlodiff.report.report import Report
from hlodiff.report.text import to_terminal
from hlodiff.report.wording import many
from hlodiff.snapshots import PendingRecord
from hlodiff.workflows.accept import (
    Selection,
    classes_of_program,
    decisions_json,
    decisions_text,
    find,
    pending_folder_of,
    reject,
)
from hlodiff.workflows.configuration import load
from hlodiff.workflows.pending import (
    PendingProgram,
    base_record,
    list_pending,
    record_summary,
    standing_record,
)
from hlodiff.workflows.pending_writer import pending_folder
from hlodiff.workflows.review import PendingReview
from hlodiff.workflows.staleness import Freshness

_EACH_TARGET = "t each target   "
_KEYS = f"a accept   r reject   s skip   {_EACH_TARGET}m more   o page   ? help   q quit"
_REST = {"A": "a", "R": "r", "S": "s"}
_MOST_LINES = 15
_HELP = """
  a  accept: record what was captured        A  accept this and everything that is left
  r  reject: forget the capture              R  reject this and everything that is left
  s  skip: decide later                      S  skip everything that is left
  t  decide for each target                  m  every change and number, in a pager
  k  whole Python call stacks, on and off    o  open the page of this function in a browser
  q  quit; what was decided stays decided
"""
_QUIT = ("q", "\x04", "")  # Ctrl-D; Ctrl-C interrupts as everywhere


@click.command(
    "review",
    epilog="""\b
Examples:
  hlodiff review                          all that check left
  hlodiff review 'train*' --target cpu
  hlodiff review --reject train_step
""",
)
@options.pending_words
@options.target
@options.pattern
@options.change_class
@click.option(
    "--from",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Review what another machine captured, such as CI.",
)
@click.option(
    "--reject", "rejects", is_flag=True, help="Do not ask: forget these captures. Snapshots stay as they are."
)
@click.option("--all", "everything", is_flag=True, help="With --reject, everything that is pending.")
@options.any_age
@options.plain_form
@options.output
@options.ci_write
@options.project
def command(
    words: tuple[str, ...],
    targets: tuple[str, ...],
    patterns: tuple[str, ...],
    classes: tuple[str, ...],
    folder: Path | None,
    rejects: bool,
    everything: bool,
    any_age: bool,
    form: str,
    output: str | None,
    ci_write: bool,
    project: Path,
) -> int:
    """Walk through what `hlodiff check` captured, in a terminal.

    Each function is shown with the first lines of its report; one key decides: a accept, r reject, s skip; A, R and S
    decide on everything that is left, t asks for each target, m shows everything, o opens the page, ? explains, q
    quits. Decisions made before you quit are kept. Without a terminal, `hlodiff accept NAME` and `hlodiff review
    --reject NAME` do the same.

    Programs are named as for `hlodiff accept`. --reject forgets a capture; as long as the code stays the same, the next
    check captures it again.
    """
    if rejects:
        if folder is not None or any_age:
            raise UsageError("--reject forgets what check left here", hint="hlodiff review --reject NAME")
        _forget(Selection(words, targets, patterns, classes, everything), form, output, project)
        return 0
    if everything or form != "text" or output:
        what = "--all, --format and --output go with --reject; a review walks through everything, in a terminal"
        raise UsageError(what, hint="hlodiff review")
    refuse_in_ci(ci_write, "review")
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()):
        hint = "hlodiff accept NAME, or hlodiff review --reject NAME; `hlodiff check` prints the report"
        raise UsageError("review asks for keys, and this is no terminal", hint=hint)
    config = load(project)
    root = pending_folder_of(config, folder)
    selection = Selection(words, targets, patterns, classes)
    found = find(config, root, selection or Selection(everything=True))
    review = PendingReview(config, root, Freshness(config, folder is not None, any_age))
    with TemporaryFolder() as pages:
        _ReviewWalk(review, pages).walk(found.programs, found.records)
    decisions = [*review.decisions, *found.broken, *found.left]
    accepted = any(one.status == "accepted" for one in decisions)
    remaining = 0 if folder else len(list_pending(root))
    following = f"git add {shown_path(config.snapshots)}" if accepted else "hlodiff check"
    if remaining and not accepted:
        following = "hlodiff review"
    click.echo("\n" + decisions_text(decisions, remaining, following), nl=False)
    return 2 if any(one.status == "refused" for one in decisions) else 0


def _forget(selection: Selection, form: str, output: str | None, project: Path) -> None:
    """Forget captures without asking."""
    config = load(project)
    root = pending_folder(config)
    found = find(config, root, selection)
    selected = [(one.key, one.id) for one in found.programs] + [(one.key, "") for one in found.broken]
    selected += [(one.key, one.id) for one in found.records]
    decisions = [*(reject(key, root, own) for key, own in selected), *found.left]
    remaining = len(list_pending(root))
    text = decisions_json(decisions, remaining)
    emit(text if form == "json" else decisions_text(decisions, remaining, "hlodiff check"), output)


@dataclass(slots=True)
class _ReviewWalk:
    """A walk through pending programs in a terminal, name by name.

    Args:
        review: takes the decisions.
        pages: a temporary folder for what is opened in a browser.
        rest: the decision on everything that is left, once somebody pressed A, R or S.
        stacks: whether reports list whole call stacks.
    """

    review: PendingReview
    pages: str
    rest: str = ""
    stacks: bool = False

    def walk(self, programs: Sequence[PendingProgram], records: Sequence[PendingRecord]) -> None:
        """Show one name after the other until the last one, or until somebody leaves."""
        groups = self.review.groups(programs)
        last = len(groups) + len(records)
        for number, (name, group) in enumerate(groups, 1):
            if not self.decide(f"[{number}/{last}]", name, group):
                return
        for number, record in enumerate(records, len(groups) + 1):
            if not self.decide_record(f"[{number}/{last}]", record):
                return

    def decide(self, head: str, name: str, group: Sequence[PendingProgram]) -> bool:
        """Show one name and do what is asked for; False where somebody leaves."""
        ready = self.review.ready(group)
        if not ready:
            return True
        shown = self.review.report(ready) if name else None
        title = _title(name, shown.programs) if shown else "all of them"
        key = self.rest
        if not key:
            click.echo(f"\n{head} {_summary(_text(shown)) if shown else _same(ready)}", nl=False)
            targets = len({one.key.target for one in ready})
            key = self.asked(title, shown, several=bool(name) and targets > 1)
        if key == "t":
            return all(self.decide(head, name, [one]) for one in ready)
        if key == "a":
            self.review.accept(ready)
        elif key == "r":
            self.review.reject((one.key, one.id) for one in ready)
        return key not in _QUIT

    def decide_record(self, head: str, one: PendingRecord) -> bool:
        """Show traces or growth and do what is asked for; False where somebody leaves."""
        base = base_record(self.review.config, one.key)
        if standing_record(one, base) != "ready" or self.review.freshness.refusal(one.key, one.origin):
            self.review.accept_record(one)  # settles what is recorded already, refuses what is stale
            return True
        key = self.rest
        if not key:
            click.echo(f"\n{head} {_record_text(one, base.text)}", nl=False)
            title = printable(f"{one.key.name} ({one.key.target})")
            key = self.asked(title, None, _record_text(one, base.text, everything=True))
        if key == "a":
            self.review.accept_record(one)
        elif key == "r":
            self.review.reject([(one.key, one.id)])
        return key not in _QUIT

    def asked(self, title: str, shown: Report | None, more: str = "", several: bool = False) -> str:
        """The key that decides; other keys show something and ask again."""
        keys = _KEYS if several else _KEYS.replace(_EACH_TARGET, "")
        while True:
            click.echo(f"{title}: {keys} ", nl=False)
            key = _key()
            click.echo(key if key.isprintable() else "")
            if key in _REST:
                self.rest = _REST[key]
                return self.rest
            if key.lower() in ("a", "r", "s", *_QUIT) or (key == "t" and several):
                return key.lower()
            if key == "?":
                click.echo(_HELP)
            elif key == "o" and shown:
                _open_page(shown, self.pages)
            elif key in ("m", "k") and (shown or more):
                self.stacks ^= key == "k"
                text = _text(replace(shown, all=key == "m", stacks=self.stacks)) if shown else more
                _page("\n" + text)


def _summary(text: str) -> str:
    """The first lines of a report, and how many more there are."""
    lines = text.split("\n")[:-1]
    if len(lines) <= _MOST_LINES:
        return text
    return "\n".join(lines[: _MOST_LINES - 1]) + f"\n  ... and {len(lines) - _MOST_LINES + 1} more lines: m\n"


def _page(text: str) -> None:
    """Through a pager where it is longer than the window."""
    if text.count("\n") < shutil.get_terminal_size((80, 24)).lines:
        click.echo(text, nl=False)
    else:
        click.echo_via_pager(text, color=color())


def _open_page(report: Report, folder: str) -> None:
    """The page of what is asked about, in a browser."""
    with tempfile.NamedTemporaryFile("w", suffix=".html", dir=folder, delete=False, encoding="utf-8") as file:
        file.write(to_form(report, "html"))
    click.echo(f"page, until the review ends: {file.name}")
    click.launch(file.name)


def _record_text(one: PendingRecord, old: str | None, everything: bool = False) -> str:
    """What changed in traces or growth, as `check` shows it."""
    summary = record_summary(one.key, old, one.text, everything)
    lines = [
        f"{one.key.name}  {one.key.target} ({one.id}): {summary.headline}",
        *(f"  {line}" for line in summary.details),
    ]
    return "".join(printable(line) + "\n" for line in lines)


def _text(report: Report) -> str:
    return to_terminal(report, width=width(), color=color(), footer=False, legend=report.all)


def _same(group: Sequence[PendingProgram]) -> str:
    are = "is the same program" if len(group) == 1 else "are the same programs"
    names = ", ".join(dict.fromkeys(one.key.name for one in group))
    return printable(f"{many(len(group), 'program')} {are}, with another toolchain or figures: {names}") + "\n"


def _title(name: str, programs: Sequence[ProgramComparison]) -> str:
    """The name and the classes of its change on all targets: `train_step (structure, cost)`."""
    found: dict[str, None] = {}
    for target in dict.fromkeys(program.target for program in programs):
        own = [program for program in programs if program.target == target]
        found |= dict.fromkeys(classes_of_program(own) or ("new",))
    return printable(f"{name} ({', '.join(found)})")


def _key() -> str:
    """One key; "" where there will be no more."""
    try:
        return click.getchar()
    except EOFError:
        return ""
