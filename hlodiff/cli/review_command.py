"""`hlodiff review`: walk through what an earlier `check` captured, and decide on each function."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from hlodiff.capture import TemporaryFolder
from hlodiff.cli import options
from hlodiff.cli.output import color, emit, width
from hlodiff.config import refuse_in_ci, shown_path
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.errors import StoreError, UsageError
from hlodiff.report.forms import to_form
from hlodiff.report.headline import class_meanings
from hlodiff.report.lines import Line, lay_out, printable
from hlodiff.report.parts import ReportParts
from hlodiff.report.report import Report
from hlodiff.report.text import to_terminal
from hlodiff.report.wording import format_names, many
from hlodiff.snapshots import PendingRecord
from hlodiff.workflows import Freshness, PendingReview, Selection, decisions_json, load, pending_folder
from hlodiff.workflows.accept import classes_of_program, decisions_text, find_pending, pending_folder_of, reject
from hlodiff.workflows.pending import PendingProgram, base_record, list_pending, record_summary, standing_record

_EACH_TARGET = "t each target   "
_UNDO = "u undo   "
_KEYS = f"a accept   r reject   s skip   {_EACH_TARGET}m more   o page   {_UNDO}? help   q quit"
_AT_THE_END = "all decided: u undo the last decision   any other key ends"
_REST = {"A": "a", "R": "r", "S": "s"}
_MOST_LINES = 15
_MOST_NAMES = 3
_HELP = """
  a  accept: record what was captured        A  accept this and everything that is left
  r  reject: forget the capture              R  reject this and everything that is left
  s  skip: decide later                      S  skip everything that is left
  t  decide for each target                  m  every change and number, in a pager
  k  whole Python call stacks, on and off    o  open the page of this function in a browser
  u  undo: back to what was decided last, as it was before, with its snapshot
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
@options.captured_elsewhere("Review what another machine captured, such as CI.")
@click.option(
    "--reject", "rejects", is_flag=True, help="Do not ask: forget these captures. Snapshots stay as they are."
)
@options.every_pending("With --reject, all that is pending.")
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
    decide on everything that is left, t asks for each target, m shows everything, o opens the page, u undoes the last
    decision, ? explains, q quits. Decisions made before you quit are kept. Without a terminal, `hlodiff accept NAME`
    and `hlodiff review --reject NAME` do the same.

    Programs are named as for `hlodiff accept`. --reject forgets a capture; as long as the code stays the same, the next
    check captures it again.
    """
    if rejects:
        if folder is not None or any_age:
            raise UsageError("--reject forgets what check left here", hint="hlodiff review --reject NAME")
        _forget(Selection(words, targets, patterns, classes, everything), form, output, project)
        return 0
    if everything or form != "text" or output:
        what = "--everything, --format and --output go with --reject; a review walks through all of it in a terminal"
        raise UsageError(what, hint="hlodiff review")
    refuse_in_ci(ci_write, "review")
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()):
        hint = "hlodiff accept NAME, or hlodiff review --reject NAME; `hlodiff check` prints the report"
        raise UsageError("review asks for keys, and this is not a terminal", hint=hint)
    config = load(project)
    root = pending_folder_of(config, folder)
    selection = Selection(words, targets, patterns, classes)
    found = find_pending(config, root, selection or Selection(everything=True))
    freshness = Freshness(config, folder is not None, any_age)
    with TemporaryFolder() as pages, TemporaryFolder() as copies:
        review = PendingReview(config, root, freshness, Path(copies))
        _ReviewWalk(review, pages).walk(found.programs, found.records)
    decisions = [*review.decisions, *found.broken, *found.left]
    accepted = any(one.status == "accepted" for one in decisions)
    remaining = 0 if folder else len(list_pending(root))
    refused = any(one.status == "refused" for one in decisions)  # out of date: capture again
    following = "hlodiff review" if remaining and not refused else "hlodiff check"
    if accepted:
        following = f"git add {shown_path(config.snapshots)}"
    click.echo("\n" + decisions_text(decisions, remaining, following), nl=False)
    return 2 if refused else 0


def _forget(selection: Selection, form: str, output: str | None, project: Path) -> None:
    """Drop captures without asking."""
    config = load(project)
    root = pending_folder(config)
    found = find_pending(config, root, selection)
    selected = [(one.key, one.id) for one in found.programs] + [(one.key, "") for one in found.broken]
    selected += [(one.key, one.id) for one in found.records]
    decisions = [*(reject(key, root, own) for key, own in selected), *found.left]
    remaining = len(list_pending(root))
    text = decisions_json(decisions, remaining)
    emit(text if form == "json" else decisions_text(decisions, remaining, "hlodiff check"), output)


@dataclass(frozen=True, slots=True)
class _Question:
    """One question: the programs of one name, all unchanged programs (no name), or a record."""

    head: str
    name: str = ""
    programs: tuple[PendingProgram, ...] = ()
    record: PendingRecord | None = None


@dataclass(slots=True)
class _ReviewWalk:
    """A walk through pending programs in a terminal, name by name.

    Args:
        review: applies the decisions.
        pages: a temporary folder for pages opened in a browser.
        rest: the decision on all remaining questions, after A, R or S.
        stacks: whether reports list whole call stacks.
        answered: index of each answered question, and whether it was decided rather than skipped; `u` goes back to the
            last one.
        explained: the classes whose meaning was shown, as text; each is shown once.
    """

    review: PendingReview
    pages: str
    rest: str = ""
    stacks: bool = False
    answered: list[tuple[int, bool]] = field(default_factory=list)
    explained: set[str] = field(default_factory=set)

    def walk(self, programs: Sequence[PendingProgram], records: Sequence[PendingRecord]) -> None:
        """Ask one question after the other until the last one, or until the user quits."""
        groups = self.review.groups(programs)
        last = len(groups) + len(records)
        questions = [
            *(_Question(f"[{n}/{last}]", name, tuple(group)) for n, (name, group) in enumerate(groups, 1)),
            *(_Question(f"[{n}/{last}]", record=one) for n, one in enumerate(records, len(groups) + 1)),
        ]
        at = 0
        while at < len(questions) or self.goes_back():
            if at == len(questions):
                key = "u"
            elif questions[at].record is None:
                key = self.decide(at, questions[at])
            else:
                key = self.decide_record(at, questions[at])
            if key in _QUIT:
                return
            if key == "u":
                at = self.back(at)
            elif key == "t":
                questions[at : at + 1] = [replace(questions[at], programs=(one,)) for one in questions[at].programs]
            else:
                at += 1

    def goes_back(self) -> bool:
        """After the last question, ask whether to undo the last decision; nothing to undo if it was skipped."""
        if not (self.answered and self.answered[-1][1]):
            return False
        click.echo(f"\n{_AT_THE_END} ", nl=False)
        key = _key()
        click.echo(key if key.isprintable() else "")
        return key == "u"

    def back(self, at: int) -> int:
        """Undo the last answer and return its index; if that fails, print the reason and return `at`."""
        try:
            keys = self.review.undo()
        except StoreError as error:
            click.echo(f"\n{error.render()}")
            return at
        if keys:
            names = format_names([f"{key.name} on {key.target}" for key in keys], _MOST_NAMES)
            click.echo(printable(f"undone: {names}"))
        self.rest = ""
        return self.answered.pop()[0]

    def answer(self, at: int, key: str, before: int) -> None:
        """Begin an undo step. After A, R or S it covers all remaining questions."""
        if key in ("a", "r", "s"):
            self.review.begin(before)
            self.answered.append((at, key != "s"))

    def decide(self, at: int, question: _Question) -> str:
        """Show one name and apply the decision. Returns the key, or "s" if there was nothing to ask."""
        before, name = len(self.review.decisions), question.name
        ready = self.review.ready(question.programs)
        if not ready:
            return "s"
        key = self.rest
        if not key:
            shown = self.review.report(ready) if name else None
            title = _title(name, shown.programs) if shown else "all of them"
            head = f"{question.head} "
            click.echo(f"\n{head}{self.summary(shown, len(head)) if shown else _same(ready)}", nl=False)
            targets = len({one.key.target for one in ready})
            key = self.asked(title, shown, several=bool(name) and targets > 1)
            self.answer(at, key, before)
        if key == "a":
            self.review.accept(ready)
        elif key == "r":
            self.review.reject((one.key, one.id) for one in ready)
        return key

    def summary(self, report: Report, taken: int) -> str:
        """The first lines of a report, and what its classes mean if that was not shown before."""
        parts = ReportParts(report)
        meanings = [f"{name}: {words}" for name, words in class_meanings(parts.functions[0]).items()]
        fresh = [words for words in meanings if words not in self.explained]
        self.explained.update(fresh)
        text = _summary(_text(report, taken, parts))
        return text + (lay_out([Line(0, "; ".join(fresh), wrap=True)], width=width()) if fresh else "")

    def decide_record(self, at: int, question: _Question) -> str:
        """`decide` for traces or growth."""
        before, one = len(self.review.decisions), question.record
        assert one is not None
        base = base_record(self.review.config, one.key)
        if standing_record(one, base) != "ready" or self.review.freshness.refusal(one.key, one.origin):
            self.review.accept_record(one)  # reports it as recorded already, or refuses it as stale
            return "s"
        key = self.rest
        if not key:
            click.echo(f"\n{question.head} {_record_text(one, base.text)}", nl=False)
            title = printable(f"{one.key.name} ({one.key.target})")
            key = self.asked(title, None, _record_text(one, base.text, everything=True))
            self.answer(at, key, before)
        if key == "a":
            self.review.accept_record(one)
        elif key == "r":
            self.review.reject([(one.key, one.id)])
        return key

    def asked(self, title: str, shown: Report | None, more: str = "", several: bool = False) -> str:
        """Ask until a deciding key is pressed and return it; other keys show more and ask again."""
        keys = _KEYS if several else _KEYS.replace(_EACH_TARGET, "")
        keys = keys if self.answered else keys.replace(_UNDO, "")
        keys = keys if shown else keys.replace("o page   ", "")
        while True:
            click.echo(_prompt(title, keys, width()), nl=False)
            key = _key()
            click.echo(key if key.isprintable() else "")
            if key in _REST:
                self.rest = _REST[key]
                return self.rest
            if key.lower() in ("a", "r", "s", *_QUIT) or (key == "t" and several) or (key == "u" and self.answered):
                return key.lower()
            if key == "?":
                click.echo(_HELP)
            elif key == "o" and shown:
                _open_page(shown, self.pages)
            elif key in ("m", "k") and (shown or more):
                self.stacks ^= key == "k"
                if key == "k":
                    click.echo(f"call stacks {'on' if self.stacks else 'off'}")
                text = _text(replace(shown, all=key == "m", stacks=self.stacks)) if shown else more
                _page("\n" + text)
            elif key == "u":
                click.echo("nothing is decided yet")
            else:
                known = f": {key}" if key.strip() and key.isprintable() else ""
                click.echo(f"unknown key{known}; ? explains the keys")


def _prompt(title: str, keys: str, columns: int) -> str:
    """The title and the keys; in a narrow window the keys get their own line, with less space.

    Example:
        >>> _prompt("f (structure)", "a accept   q quit", 80)
        'f (structure): a accept   q quit '
        >>> _prompt("f (structure)", "a accept   q quit", 30)
        'f (structure):\\na accept   q quit '
    """
    if len(title) + len(keys) + 3 <= columns:
        return f"{title}: {keys} "
    if len(keys) >= columns:
        keys = keys.replace("   ", "  ").replace("each target", "targets")
    return f"{title}:\n{keys} "


def _summary(text: str) -> str:
    """The first lines of a report, and how many more there are."""
    lines = text.split("\n")[:-1]
    if len(lines) <= _MOST_LINES:
        return text
    return "\n".join(lines[: _MOST_LINES - 1]) + f"\n  ... and {len(lines) - _MOST_LINES + 1} more lines: m\n"


def _page(text: str) -> None:
    """Print text, through a pager if it is longer than the window."""
    if text.count("\n") < shutil.get_terminal_size((80, 24)).lines:
        click.echo(text, nl=False)
    else:
        # With None, click lets `less` show colours and strips them for other pagers.
        click.echo_via_pager(text, color=None if color() else False)


def _open_page(report: Report, folder: str) -> None:
    """Open the report as a page in a browser."""
    with tempfile.NamedTemporaryFile("w", suffix=".html", dir=folder, delete=False, encoding="utf-8") as file:
        file.write(to_form(report, "html"))
    click.echo(f"page, until the review ends: {file.name}")
    # Without a browser, the desktop's error message would land in the prompt; the path is printed above.
    with _without_errors():
        click.launch(file.name)


@contextlib.contextmanager
def _without_errors() -> Iterator[None]:
    """Start programs inside the block with stderr closed."""
    own, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)
        os.close(nowhere)


def _record_text(one: PendingRecord, old: str | None, everything: bool = False) -> str:
    """What changed in traces or growth, as `check` shows it."""
    summary = record_summary(one.key, old, one.text, everything)
    lines = [
        f"{one.key.name}  {one.key.target} ({one.id}): {summary.headline}",
        *(f"  {line}" for line in summary.details),
    ]
    return "".join(printable(line) + "\n" for line in lines)


def _text(report: Report, taken: int = 0, parts: ReportParts | None = None) -> str:
    """The report for this window, narrower by the `taken` columns before its first line."""
    columns, ends = width() - taken, report.all
    return to_terminal(report, width=columns, color=color(), footer=False, legend=ends, meanings=ends, parts=parts)


def _same(group: Sequence[PendingProgram]) -> str:
    are = "is the same program" if len(group) == 1 else "are the same programs"
    names = ", ".join(dict.fromkeys(one.key.name for one in group))
    return (
        printable(f"{many(len(group), 'program')} {are}, with another toolchain, other figures or paths: {names}")
        + "\n"
    )


def _title(name: str, programs: Sequence[ProgramComparison]) -> str:
    """The name and the classes of its change on all targets: `train_step (structure, cost)`."""
    found: dict[str, None] = {}
    for target in dict.fromkeys(program.target for program in programs):
        own = [program for program in programs if program.target == target]
        found |= dict.fromkeys(classes_of_program(own) or ("new",))
    return printable(f"{name} ({', '.join(found)})")


def _key() -> str:
    """One key press; "" at the end of input."""
    try:
        return click.getchar()
    except EOFError:
        return ""
